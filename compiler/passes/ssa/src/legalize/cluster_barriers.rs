//! The barrier of a cluster, for launches without clusters.
//!
//! ```text
//! cluster_arrive.release     =>    v1 = sreg.b32 is_explicit_cluster
//!                                  v3 = icmp.ne.b32 v1, 0
//!                                  brif.uni v3, block1, block2
//!                              block1:
//!                                  cluster_arrive.release
//!                                  jump block2
//!                              block2:
//!
//! cluster_wait.acquire       =>    …, and where there is no cluster
//!                                  barrier.sync 0
//! ```
//!
//! Without clusters each CTA is a cluster of its own, and the hardware barrier of the cluster is
//! not set up. Its threads then skip the arrival and meet at CTA barrier 0 when they wait, with
//! `.aligned` if the wait has it; ptxas does the same on sm_90. A kernel with `.explicitcluster` is
//! always launched with clusters and is left unchanged. Linear.

use ptxc_ir::{BarrierKind, Function, IntCond, Op, SpecialReg, Type};
use ptxc_machine::Arch;

use super::emitter::rewrite;
use crate::runtime::warp::is_warp_routine;

/// Guards barriers of the cluster with a test whether there is a cluster.
pub fn cluster_barriers(func: &mut Function, _arch: Arch) -> bool {
    // In a warp routine the test has been done before the call.
    if func.bounds.explicit_cluster || is_warp_routine(&func.name) {
        return false;
    }
    rewrite(func, |emitter, inst| {
        let op = emitter.func.insts[inst].op;
        let waits = match op {
            Op::ClusterArrive { .. } => None,
            Op::ClusterWait { aligned, .. } => Some(aligned),
            _ => return false,
        };
        let flag = emitter.value(Op::SpecialReg(SpecialReg::ExplicitCluster), Type::B32, &[]);
        let zero = emitter.constant(Type::B32, 0);
        let is_cluster = emitter.value(Op::Icmp(IntCond::Ne), Type::B32, &[flag, zero]);
        emitter.either(
            is_cluster,
            |emitter| emitter.keep(inst),
            |emitter| {
                if let Some(aligned) = waits {
                    let name = emitter.constant(Type::B32, 0);
                    emitter.inst(
                        Op::Barrier { kind: BarrierKind::Sync, aligned, packed: false },
                        Type::B32,
                        &[name],
                    );
                }
            },
        );
        true
    })
}
