//! The values of special registers in the SSA engine.

use ptxc_ir::op::SpecialReg;

use crate::engine::Step;
use crate::error::Fault;
use crate::images;
use crate::launch::WARP_SLOTS;
use crate::memory;

/// The value of a special register in a lane.
///
/// # Errors
/// Registers without a model.
pub(super) fn special(register: SpecialReg, step: &Step<'_>, lane: u32) -> Result<u32, Fault> {
    let below = (1u32 << lane) - 1;
    let own = 1u32 << lane;
    let [x, y, z] = step.tid(lane);
    Ok(match register {
        SpecialReg::TidX => x,
        SpecialReg::TidY => y,
        SpecialReg::TidZ => z,
        SpecialReg::NtidX => step.shape.block[0],
        SpecialReg::NtidY => step.shape.block[1],
        SpecialReg::NtidZ => step.shape.block[2],
        SpecialReg::CtaidX => step.cta[0],
        SpecialReg::CtaidY => step.cta[1],
        SpecialReg::CtaidZ => step.cta[2],
        SpecialReg::NctaidX => step.shape.grid[0],
        SpecialReg::NctaidY => step.shape.grid[1],
        SpecialReg::NctaidZ => step.shape.grid[2],
        SpecialReg::LaneId => lane,
        SpecialReg::WarpId => step.warp,
        SpecialReg::LanemaskEq => own,
        SpecialReg::LanemaskLt => below,
        SpecialReg::LanemaskLe => below | own,
        SpecialReg::LanemaskGt => !(below | own),
        SpecialReg::LanemaskGe => !below,
        SpecialReg::ClusterCtaRank => step.rank,
        SpecialReg::ClusterNctaRank => step.shape.cluster_size(),
        SpecialReg::ClusterCtaidX => step.cta[0] % step.shape.cluster_shape()[0],
        SpecialReg::ClusterCtaidY => step.cta[1] % step.shape.cluster_shape()[1],
        SpecialReg::ClusterCtaidZ => step.cta[2] % step.shape.cluster_shape()[2],
        SpecialReg::ClusterNctaidX => step.shape.cluster_shape()[0],
        SpecialReg::ClusterNctaidY => step.shape.cluster_shape()[1],
        SpecialReg::ClusterNctaidZ => step.shape.cluster_shape()[2],
        SpecialReg::ClusteridX => step.cta[0] / step.shape.cluster_shape()[0],
        SpecialReg::ClusteridY => step.cta[1] / step.shape.cluster_shape()[1],
        SpecialReg::ClusteridZ => step.cta[2] / step.shape.cluster_shape()[2],
        SpecialReg::NclusteridX => step.shape.clusters()[0],
        SpecialReg::NclusteridY => step.shape.clusters()[1],
        SpecialReg::NclusteridZ => step.shape.clusters()[2],
        SpecialReg::ExplicitCluster => step.shape.cluster.is_some().into(),
        SpecialReg::Clock | SpecialReg::GlobalTimer => step.clock as u32,
        SpecialReg::ClockHi | SpecialReg::GlobalTimerHi | SpecialReg::SmId => 0,
        SpecialReg::GridId | SpecialReg::GridIdHigh => 0,
        SpecialReg::SmCount => 1,
        SpecialReg::DynamicShared => step.shape.dynamic_shared,
        // The system reserves nothing here.
        SpecialReg::TotalShared | SpecialReg::AllShared | SpecialReg::AggregateLimit => {
            step.shape.total_shared()
        }
        SpecialReg::GraphExec | SpecialReg::GraphExecHigh => 0,
        SpecialReg::NumWarps => WARP_SLOTS,
        SpecialReg::LocalWindow => memory::LOCAL_WINDOW as u32,
        SpecialReg::LocalWindowHigh => (memory::LOCAL_WINDOW >> 32) as u32,
        SpecialReg::ConstWindow => memory::CONSTANT_WINDOW as u32,
        SpecialReg::ConstWindowHigh => (memory::CONSTANT_WINDOW >> 32) as u32,
        SpecialReg::ParamWindow => memory::PARAMETER_WINDOW as u32,
        SpecialReg::ParamWindowHigh => (memory::PARAMETER_WINDOW >> 32) as u32,
        SpecialReg::ParamEnd => memory::PARAMETER_END as u32,
        SpecialReg::ParamEndHigh => (memory::PARAMETER_END >> 32) as u32,
        SpecialReg::SharedWindow => memory::SHARED_WINDOW as u32,
        SpecialReg::SharedWindowHigh => (memory::SHARED_WINDOW >> 32) as u32,
        SpecialReg::TextureTable => step.memory.image_tables()[0] as u32,
        SpecialReg::TextureTableHigh => (step.memory.image_tables()[0] >> 32) as u32,
        SpecialReg::SamplerTable => step.memory.image_tables()[1] as u32,
        SpecialReg::SamplerTableHigh => (step.memory.image_tables()[1] >> 32) as u32,
        SpecialReg::SurfaceTable => step.memory.image_tables()[2] as u32,
        SpecialReg::SurfaceTableHigh => (step.memory.image_tables()[2] >> 32) as u32,
        SpecialReg::SampledTextureBytes
        | SpecialReg::TextureBytes
        | SpecialReg::SamplerBytes
        | SpecialReg::SurfaceBytes => images::ENTRY_BYTES,
        register => match register.environment() {
            Some(number) => step.memory.grid.environment[usize::from(number) % 32],
            // Nothing counts.
            None if register.counter().is_some() => 0,
            // The offsets in the system's shared memory depend on the architecture.
            None => return Err(Fault::new(lane, format!("%{register} has no model"))),
        },
    })
}
