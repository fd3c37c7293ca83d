//! Accesses to shared memory of the cluster become generic ones: no instruction has that space.
//!
//! ```text
//! v2 = load.shared_cluster.b32 [v1]    =>    v3 = sreg.b32 shared_window_high
//!                                            v4 = pack.b64 v1, v3
//!                                            v2 = load.generic.b32 [v4]
//! ```
//!
//! An address in the cluster's shared memory has the rank of the CTA above its 24 lower bits, as the low word of the
//! generic address has. ptxas does the same on sm_90. Linear.

use ptxc_ir::{Function, Op, Space, Type};
use ptxc_sass::Arch;

use super::emitter::rewrite;

/// Makes generic accesses of those to shared memory of the cluster.
pub fn cluster_addresses(func: &mut Function, _arch: Arch) -> bool {
    rewrite(func, |emitter, inst| {
        let data = &emitter.func.insts[inst];
        if data.op.access().is_none_or(|access| access.space != Space::SharedCluster) {
            return false;
        }
        let address = data.args[0];
        let generic = emitter.value(Op::ToGeneric(Space::SharedCluster), Type::B64, &[address]);
        let data = &mut emitter.func.insts[inst];
        data.args[0] = generic;
        if let Some(access) = data.op.access_mut() {
            access.space = Space::Generic;
        }
        emitter.keep(inst);
        true
    })
}
