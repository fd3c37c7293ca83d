//! The operations for each instruction, and the effect of a guard on it.
//!
//! There is one arm for each instruction of the [table](crate::check::table), without a wildcard: a
//! new instruction in the table does not compile before it has an arm here.

#![deny(clippy::wildcard_enum_match_arm)]

use ptxc_ir::op::{MbarrierUpdate, MbarrierWait};
use ptxc_ir::{Approx, BarrierKind, LineAction, Op, PairFunction};

use super::carry::Term;
use super::control::Target;
use super::form::{Form, Translated};
use super::sync::{BAR, BARRIER};
use super::translator::Translator;
use super::video::{Lane, Operation};
use super::{
    arith, asynchronous, bits, cache_line, cache_policy, calls, carry, cluster, control, convert, fence,
    float, image_query, logic, matrix, mbarrier, memory, moves, multimem, stack, surface, sync, tensor_copy,
    tensor_map, texture, video, warpgroup, wmma,
};
use crate::check::decoded::Decoded;
use crate::check::table::{Mnemonic as M, Modifier};

/// Translates an instruction.
pub(super) type Translate = fn(&mut Translator, &mut Form) -> Translated;

/// The lowering of an instruction to operations.
pub(super) struct Lowering {
    pub translate: Translate,
    pub guarded: Guarded,
}

/// The effect of a guard on an instruction.
pub(super) enum Guarded {
    /// The instruction computes a result only from registers, constants and parameters. It may run
    /// even if its guard fails, and a select chooses between the new and the old result.
    Selects,
    /// The guard is the condition of a branch to that block.
    Branches(Target),
    /// The instruction gets a block of its own.
    Skips,
}

fn pure(translate: Translate) -> Option<Lowering> {
    Some(Lowering { translate, guarded: Guarded::Selects })
}

fn effect(translate: Translate) -> Option<Lowering> {
    Some(Lowering { translate, guarded: Guarded::Skips })
}

fn branch(translate: Translate, target: Target) -> Option<Lowering> {
    Some(Lowering { translate, guarded: Guarded::Branches(target) })
}

/// The lowering of an opcode; `None` if it can't be lowered yet.
pub(super) fn lowering(opcode: &Decoded) -> Option<Lowering> {
    // `cvt.pack` makes elements of types that no register has, matrices and tensor maps have such
    // elements, and `istypep` asks about such types.
    let of_matrices = matches!(
        opcode.instruction,
        M::Mma | M::WmmaLoad | M::WmmaMma | M::WmmaStore | M::WgmmaMmaAsync | M::WgmmaMmaAsyncSp
    );
    let names_others =
        of_matrices || matches!(opcode.instruction, M::CvtPack | M::Istypep | M::TensormapReplace);
    if !names_others && !opcode.types.iter().all(|scalar| scalar.is_translated()) {
        return None;
    }
    let is_float = opcode.types.iter().all(|scalar| scalar.is_float());
    let is_pair = opcode.types.iter().any(|scalar| scalar.is_integer_pair());
    let carries = opcode.has(Modifier::Cc);
    match opcode.instruction {
        // Integer and floating-point arithmetic.
        M::Add if carries => pure(|t, form| carry::sum(t, form, Term::Plus, false)),
        M::Add if is_float => pure(|t, form| float::arithmetic(t, form, Op::Fadd, 2)),
        M::Add if is_pair => pure(|t, form| arith::pairs(t, form, PairFunction::Add, PairFunction::Add)),
        M::Add => pure(|t, form| arith::add_or_subtract(t, form, Op::Iadd)),
        M::Addc => pure(|t, form| carry::sum(t, form, Term::Plus, true)),
        M::Sub if carries => pure(|t, form| carry::sum(t, form, Term::Minus, false)),
        M::Sub if is_float => pure(|t, form| float::arithmetic(t, form, Op::Fsub, 2)),
        M::Sub => pure(|t, form| arith::add_or_subtract(t, form, Op::Isub)),
        M::Subc => pure(|t, form| carry::sum(t, form, Term::Minus, true)),
        M::Mul if is_float => pure(|t, form| float::arithmetic(t, form, Op::Fmul, 2)),
        M::Mul => pure(|t, form| arith::multiply(t, form, false)),
        M::Mad if carries => pure(|t, form| carry::sum(t, form, Term::Product, false)),
        M::Mad if is_float => pure(float::multiply_add),
        M::Mad => pure(|t, form| arith::multiply(t, form, true)),
        M::Madc => pure(|t, form| carry::sum(t, form, Term::Product, true)),
        M::Mul24 => pure(|t, form| arith::multiply_24(t, form, false)),
        M::Mad24 => pure(|t, form| arith::multiply_24(t, form, true)),
        M::Fma => pure(float::multiply_add),
        M::Div if is_float => pure(float::divide),
        M::Div => pure(|t, form| arith::binary(t, form, Op::Sdiv, Op::Udiv)),
        M::Rem => pure(|t, form| arith::binary(t, form, Op::Srem, Op::Urem)),
        M::Min if is_float => {
            pure(|t, form| float::extreme(t, form, |ftz, nan, xorsign| Op::Fmin { ftz, nan, xorsign }))
        }
        M::Min if is_pair => pure(|t, form| arith::pairs(t, form, PairFunction::Smin, PairFunction::Umin)),
        M::Min => pure(|t, form| arith::extreme(t, form, Op::Smin, Op::Umin)),
        M::Max if is_float => {
            pure(|t, form| float::extreme(t, form, |ftz, nan, xorsign| Op::Fmax { ftz, nan, xorsign }))
        }
        M::Max if is_pair => pure(|t, form| arith::pairs(t, form, PairFunction::Smax, PairFunction::Umax)),
        M::Max => pure(|t, form| arith::extreme(t, form, Op::Smax, Op::Umax)),
        M::Sad => pure(arith::sum_of_difference),
        M::Abs if is_float => pure(|t, form| float::simple(t, form, |ftz| Op::Fabs { ftz }, 1)),
        M::Abs => pure(|t, form| arith::unary(t, form, Op::Iabs)),
        M::Neg if is_float => pure(|t, form| float::simple(t, form, |ftz| Op::Fneg { ftz }, 1)),
        M::Neg => pure(|t, form| arith::unary(t, form, Op::Ineg)),
        M::Dp4a => pure(bits::dot_product_4),
        M::Dp2a => pure(bits::dot_product_2),
        M::Rcp => pure(float::reciprocal),
        M::Rsqrt => pure(|t, form| float::approximate(t, form, Approx::Rsq)),
        M::Sqrt => pure(float::square_root),
        M::Sin => pure(|t, form| float::approximate(t, form, Approx::Sin)),
        M::Cos => pure(|t, form| float::approximate(t, form, Approx::Cos)),
        M::Lg2 => pure(|t, form| float::approximate(t, form, Approx::Lg2)),
        M::Ex2 => pure(|t, form| float::approximate(t, form, Approx::Ex2)),
        M::Tanh => pure(|t, form| float::approximate(t, form, Approx::Tanh)),
        M::Copysign => pure(float::copy_sign),
        M::Testp => pure(float::test),

        // Bits, comparisons and selections.
        M::And => pure(|t, form| logic::bitwise(t, form, Op::And)),
        M::Or => pure(|t, form| logic::bitwise(t, form, Op::Or)),
        M::Xor => pure(|t, form| logic::bitwise(t, form, Op::Xor)),
        M::Not => pure(logic::complement),
        M::Cnot => pure(logic::is_zero),
        M::Lop3 => pure(bits::logic),
        M::Shl => pure(|t, form| logic::shift(t, form, Op::Shl, Op::Shl)),
        M::Shr => pure(|t, form| logic::shift(t, form, Op::Sar, Op::Shr)),
        M::Shf => pure(logic::funnel),
        M::Popc => pure(|t, form| arith::unary(t, form, Op::Popc)),
        M::Clz => pure(|t, form| arith::unary(t, form, Op::Clz)),
        M::Brev => pure(|t, form| arith::unary(t, form, Op::Brev)),
        M::Bfind => pure(bits::find),
        M::Bfe => pure(bits::extract_field),
        M::Bfi => pure(bits::insert_field),
        M::Bmsk => pure(bits::mask),
        M::Szext => pure(bits::extend),
        M::Fns => pure(bits::nth_set),
        M::Prmt => pure(bits::permute),
        M::Setp => pure(logic::set_predicate),
        M::Set => pure(logic::set),
        M::Selp => pure(logic::select),
        M::Slct => pure(logic::select_by_sign),

        // Video instructions.
        M::Vadd => pure(|t, form| video::arithmetic(t, form, Operation::Plus)),
        M::Vsub => pure(|t, form| video::arithmetic(t, form, Operation::Minus)),
        M::Vabsdiff => pure(|t, form| video::arithmetic(t, form, Operation::Distance)),
        M::Vmin => pure(|t, form| video::arithmetic(t, form, Operation::Min)),
        M::Vmax => pure(|t, form| video::arithmetic(t, form, Operation::Max)),
        M::Vshl => pure(|t, form| video::shift(t, form, true)),
        M::Vshr => pure(|t, form| video::shift(t, form, false)),
        M::Vmad => pure(video::multiply_add),
        M::Vset => pure(video::set),
        M::Vadd2 => pure(|t, form| video::lanes(t, form, Lane::Scalar(Operation::Plus), 2)),
        M::Vadd4 => pure(|t, form| video::lanes(t, form, Lane::Scalar(Operation::Plus), 4)),
        M::Vsub2 => pure(|t, form| video::lanes(t, form, Lane::Scalar(Operation::Minus), 2)),
        M::Vsub4 => pure(|t, form| video::lanes(t, form, Lane::Scalar(Operation::Minus), 4)),
        M::Vabsdiff2 => pure(|t, form| video::lanes(t, form, Lane::Scalar(Operation::Distance), 2)),
        M::Vabsdiff4 => pure(|t, form| video::lanes(t, form, Lane::Scalar(Operation::Distance), 4)),
        M::Vmin2 => pure(|t, form| video::lanes(t, form, Lane::Scalar(Operation::Min), 2)),
        M::Vmin4 => pure(|t, form| video::lanes(t, form, Lane::Scalar(Operation::Min), 4)),
        M::Vmax2 => pure(|t, form| video::lanes(t, form, Lane::Scalar(Operation::Max), 2)),
        M::Vmax4 => pure(|t, form| video::lanes(t, form, Lane::Scalar(Operation::Max), 4)),
        M::Vavrg2 => pure(|t, form| video::lanes(t, form, Lane::Average, 2)),
        M::Vavrg4 => pure(|t, form| video::lanes(t, form, Lane::Average, 4)),
        M::Vset2 => pure(|t, form| video::lanes(t, form, Lane::Set, 2)),
        M::Vset4 => pure(|t, form| video::lanes(t, form, Lane::Set, 4)),

        // Moves, conversions and addresses.
        M::Mov => pure(moves::mov),
        M::Cvt => pure(convert::convert),
        M::CvtPack => pure(convert::pack_integers),
        M::Cvta => pure(|t, form| convert::convert_address(t, form, false)),
        M::CvtaTo => pure(|t, form| convert::convert_address(t, form, true)),
        M::Isspacep => pure(convert::ask_space),
        M::Mapa => pure(cluster::map_address),
        M::Getctarank => pure(cluster::rank_of_address),

        // Memory. Kernel parameters are constants.
        M::Ld if opcode.has(Modifier::Param) => pure(memory::load),
        M::Ld => effect(memory::load),
        // A load whose address is the same for all threads of the warp; since sm_70 hardware gains
        // nothing from that.
        M::Ldu => effect(memory::load),
        M::St => effect(memory::store),
        M::Atom => effect(|t, form| memory::atomic(t, form, true)),
        M::Red => effect(|t, form| memory::atomic(t, form, false)),
        M::Prefetch | M::Prefetchu => effect(cache_line::prefetch),
        M::Applypriority => effect(|t, form| cache_line::whole(t, form, LineAction::Demote)),
        M::Discard => effect(|t, form| cache_line::whole(t, form, LineAction::Discard)),
        M::Pmevent => effect(control::event),
        M::CreatepolicyCvt => effect(cache_policy::convert),
        M::CreatepolicyFractional => effect(cache_policy::of_fraction),
        M::CreatepolicyRange => effect(cache_policy::of_range),

        // Textures and surfaces.
        M::Tex => effect(texture::read),
        M::Tld4 => effect(texture::gather),
        M::Txq => effect(|t, form| image_query::query(t, form, false, false)),
        M::TxqLevel => effect(|t, form| image_query::query(t, form, false, true)),
        M::Suq => effect(|t, form| image_query::query(t, form, true, false)),
        M::Istypep => pure(texture::is_kind),
        M::SuldB => effect(surface::load),
        M::SustB => effect(|t, form| surface::store(t, form, false)),
        M::SustP => effect(|t, form| surface::store(t, form, true)),
        M::SuredB => effect(|t, form| surface::update(t, form, false)),
        M::SuredP => effect(|t, form| surface::update(t, form, true)),

        // Operations of several threads together.
        M::Shfl => effect(sync::shuffle),
        M::Vote => effect(sync::vote),
        M::Match => effect(sync::match_lanes),
        M::Redux => effect(sync::reduce),
        M::Activemask => effect(sync::active_mask),
        M::Elect => effect(sync::elect),
        M::BarSync => effect(|t, form| sync::barrier(t, form, BAR, BarrierKind::Sync)),
        M::BarArrive => effect(|t, form| sync::barrier(t, form, BAR, BarrierKind::Arrive)),
        M::BarRed => effect(|t, form| sync::reducing_barrier(t, form, BAR)),
        M::BarWarp => effect(sync::warp_barrier),
        M::BarrierSync => effect(|t, form| sync::barrier(t, form, BARRIER, BarrierKind::Sync)),
        M::BarrierArrive => effect(|t, form| sync::barrier(t, form, BARRIER, BarrierKind::Arrive)),
        M::BarrierRed => effect(|t, form| sync::reducing_barrier(t, form, BARRIER)),
        M::BarrierClusterArrive => effect(cluster::arrive),
        M::BarrierClusterWait => effect(cluster::wait),
        M::Membar => effect(fence::memory_barrier),
        M::MembarProxy | M::FenceProxy => effect(fence::proxy_fence),
        M::Fence => effect(fence::fence),
        M::Griddepcontrol => effect(fence::grid_dependency),
        M::Nanosleep => effect(sync::sleep),
        M::Setmaxnreg => effect(sync::change_registers),
        M::MbarrierInit => effect(mbarrier::initialise),
        M::MbarrierInval => effect(mbarrier::invalidate),
        M::MbarrierExpectTx => effect(|t, form| mbarrier::update(t, form, MbarrierUpdate::ExpectTx)),
        M::MbarrierCompleteTx => effect(|t, form| mbarrier::update(t, form, MbarrierUpdate::CompleteTx)),
        M::MbarrierArrive => effect(|t, form| mbarrier::arrive(t, form, false, false)),
        M::MbarrierArriveExpectTx => effect(|t, form| mbarrier::arrive(t, form, false, true)),
        M::MbarrierArriveDrop => effect(|t, form| mbarrier::arrive(t, form, true, false)),
        M::MbarrierArriveDropExpectTx => effect(|t, form| mbarrier::arrive(t, form, true, true)),
        M::MbarrierTestWait => effect(|t, form| mbarrier::ask(t, form, MbarrierWait::Test, false)),
        M::MbarrierTestWaitParity => effect(|t, form| mbarrier::ask(t, form, MbarrierWait::Test, true)),
        M::MbarrierTryWait => effect(|t, form| mbarrier::ask(t, form, MbarrierWait::Try, false)),
        M::MbarrierTryWaitParity => effect(|t, form| mbarrier::ask(t, form, MbarrierWait::Try, true)),
        M::MbarrierPendingCount => effect(mbarrier::pending_count),

        // Matrices.
        M::Ldmatrix => effect(matrix::load),
        M::Stmatrix => effect(matrix::store),
        M::Movmatrix => effect(matrix::transpose),
        M::WgmmaFence => effect(warpgroup::fence),
        M::WgmmaMmaAsync => effect(|t, form| warpgroup::multiply(t, form, false)),
        M::WgmmaMmaAsyncSp => effect(|t, form| warpgroup::multiply(t, form, true)),
        M::WgmmaCommitGroup => effect(warpgroup::commit),
        M::WgmmaWaitGroup => effect(warpgroup::wait),
        M::Mma => effect(matrix::multiply),
        M::WmmaLoad => effect(wmma::load),
        M::WmmaStore => effect(wmma::store),
        M::WmmaMma => effect(wmma::multiply),

        // Asynchronous copies.
        M::CpAsync => effect(asynchronous::element),
        M::CpAsyncCommitGroup => effect(|t, form| asynchronous::plain(t, form, Op::AsyncCommit)),
        M::CpAsyncWaitAll => effect(|t, form| asynchronous::plain(t, form, Op::AsyncWaitAll)),
        M::CpAsyncWaitGroup => effect(|t, form| asynchronous::wait_group(t, form, Op::AsyncWait)),
        M::CpAsyncMbarrierArrive => effect(asynchronous::arrive),
        M::CpAsyncBulk => effect(asynchronous::bulk),
        M::CpAsyncBulkPrefetch => effect(asynchronous::prefetch),
        M::CpReduceAsyncBulk => effect(|t, form| asynchronous::bulk_update(t, form, false)),
        M::CpAsyncBulkTensor => effect(tensor_copy::copy),
        M::CpReduceAsyncBulkTensor => effect(tensor_copy::update),
        M::CpAsyncBulkPrefetchTensor => effect(tensor_copy::prefetch),
        M::TensormapReplace => effect(tensor_map::replace),
        M::TensormapCpFenceproxy => effect(tensor_map::publish),
        M::MultimemCpAsyncBulk => effect(asynchronous::bulk),
        M::MultimemCpReduceAsyncBulk => effect(|t, form| asynchronous::bulk_update(t, form, true)),
        M::MultimemLdReduce => effect(multimem::load),
        M::MultimemRed => effect(multimem::update),
        M::MultimemSt => effect(multimem::store),
        M::StAsync => effect(asynchronous::store),
        M::RedAsync => effect(asynchronous::update),
        M::CpAsyncBulkCommitGroup => effect(|t, form| asynchronous::plain(t, form, Op::BulkCommit)),
        M::CpAsyncBulkWaitGroup => effect(asynchronous::wait_bulk_group),

        // Control flow.
        M::Bra => branch(control::branch, control::label),
        M::Ret => branch(control::leave, control::end),
        M::Exit => branch(|t, _| control::stop(t, Op::Exit), control::exit_block),
        M::BrxIdx => effect(control::branch_indexed),
        M::Call => effect(calls::call),
        M::Alloca => effect(stack::alloca),
        M::Stacksave => pure(stack::save),
        M::Stackrestore => effect(stack::restore),
        M::Trap => effect(|t, _| control::stop(t, Op::Trap)),
        M::Brkpt => effect(control::breakpoint),

        // Instructions that can't be lowered yet.
        M::ClusterlaunchcontrolQueryCancelGetFirstCtaid
        | M::ClusterlaunchcontrolQueryCancelGetFirstCtaidX
        | M::ClusterlaunchcontrolQueryCancelGetFirstCtaidY
        | M::ClusterlaunchcontrolQueryCancelGetFirstCtaidZ
        | M::ClusterlaunchcontrolQueryCancelIsCanceled
        | M::ClusterlaunchcontrolTryCancelAsync
        | M::MultimemRedAsync
        | M::MultimemStAsync
        | M::StBulk
        | M::Tcgen05
        | M::Tcgen05Alloc
        | M::Tcgen05Commit
        | M::Tcgen05Cp
        | M::Tcgen05Dealloc
        | M::Tcgen05Ld
        | M::Tcgen05LdRed
        | M::Tcgen05Mma
        | M::Tcgen05MmaWs
        | M::Tcgen05RelinquishAllocPermit
        | M::Tcgen05Shift
        | M::Tcgen05St => None,
    }
}
