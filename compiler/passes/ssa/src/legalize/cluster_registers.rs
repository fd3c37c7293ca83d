//! Computes the place of a CTA in its cluster, and of the cluster in the grid, from the CTA's index
//! and the cluster's size.
//!
//! ```text
//! v1 = sreg.b32 clusterid.x        =>    v2 = sreg.b32 ctaid.x
//!                                        v3 = sreg.b32 cluster_nctaid.x
//!                                        v1 = udiv.b32 v2, v3
//! v4 = sreg.b32 cluster_ctaid.x    =>    v4 = urem.b32 v2, v3
//! ```
//!
//! No special register has these values. ptxas divides as well; for y and z it multiplies by a
//! float from the constant bank, which is exact for the existing sizes. ptxc uses the ordinary
//! division. Linear.

use ptxc_ir::{Function, Op, SpecialReg, Type};
use ptxc_machine::Arch;

use super::emitter::rewrite;

/// Computes the indices that no register holds.
pub fn cluster_registers(func: &mut Function, _arch: Arch) -> bool {
    rewrite(func, |emitter, inst| {
        let Op::SpecialReg(register) = emitter.func.insts[inst].op else { return false };
        let (op, index, size) = match register {
            SpecialReg::ClusteridX => (Op::Udiv, SpecialReg::CtaidX, SpecialReg::ClusterNctaidX),
            SpecialReg::ClusteridY => (Op::Udiv, SpecialReg::CtaidY, SpecialReg::ClusterNctaidY),
            SpecialReg::ClusteridZ => (Op::Udiv, SpecialReg::CtaidZ, SpecialReg::ClusterNctaidZ),
            SpecialReg::ClusterCtaidX => (Op::Urem, SpecialReg::CtaidX, SpecialReg::ClusterNctaidX),
            SpecialReg::ClusterCtaidY => (Op::Urem, SpecialReg::CtaidY, SpecialReg::ClusterNctaidY),
            SpecialReg::ClusterCtaidZ => (Op::Urem, SpecialReg::CtaidZ, SpecialReg::ClusterNctaidZ),
            _ => return false,
        };
        let [index, size] =
            [index, size].map(|register| emitter.value(Op::SpecialReg(register), Type::B32, &[]));
        emitter.become_op(inst, op, Type::B32, &[index, size]);
        true
    })
}
