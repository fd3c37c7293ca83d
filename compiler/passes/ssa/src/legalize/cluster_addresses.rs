//! Turns accesses to shared memory of the cluster into generic ones, for which there are
//! instructions. Accesses to variables that the code names concern the CTA's own memory and become
//! accesses to its shared memory.
//!
//! ```text
//! v2 = load.shared_cluster.b32 [v1]        =>    v3 = to_generic.shared_cluster v1
//!                                                v2 = load.generic.b32 [v3]
//!
//! v1 = symbol.b32 @array
//! v2 = load.shared_cluster.b32 [v1 + 4]    =>    v2 = load.shared.b32 [v1 + 4]
//! ```
//!
//! An address in the cluster's shared memory has the rank of the CTA above its 24 low bits, like
//! the low word of the generic address. A variable's address has the rank of the executing CTA, so
//! the variable has the same address in both spaces; bytes outside the variable may belong to
//! another CTA. ptxas generates the same code for both on sm_90 if the instruction itself names the
//! variable. Linear.

use ptxc_ir::{Access, Function, Op, Space, Type, Value, ValueDef};
use ptxc_machine::Arch;

use super::emitter::rewrite;

/// Turns accesses to shared memory of the cluster into generic and shared ones.
pub fn cluster_addresses(func: &mut Function, _arch: Arch) -> bool {
    rewrite(func, |emitter, inst| {
        let data = &emitter.func.insts[inst];
        let Some(access) = data.op.access().filter(|access| access.space == Space::SharedCluster) else {
            return false;
        };
        let address = data.args[0];
        let (space, address) = if is_inside_variable(emitter.func, address, access) {
            (Space::Shared, address)
        } else {
            (Space::Generic, emitter.value(Op::ToGeneric(Space::SharedCluster), Type::B64, &[address]))
        };
        let data = &mut emitter.func.insts[inst];
        data.args[0] = address;
        if let Some(access) = data.op.access_mut() {
            access.space = space;
        }
        emitter.keep(inst);
        true
    })
}

/// Whether the address is that of a variable plus a constant, and the whole access lies in the
/// variable.
fn is_inside_variable(func: &Function, address: Value, access: &Access) -> bool {
    let op_of = |value| match func.def(value) {
        ValueDef::Result(inst, _) => Some((&func.insts[inst].op, &func.insts[inst].args)),
        ValueDef::Param(..) => None,
    };
    let (variable, above) = match op_of(address) {
        Some((Op::Iadd, args)) => match func.constant(args[1]) {
            Some(constant) => (args[0], i64::from(constant as u32 as i32)),
            None => return false,
        },
        _ => (address, 0),
    };
    let Some((Op::SymbolAddr(symbol), _)) = op_of(variable) else { return false };
    let variable = &func.symbols[*symbol];
    let start = above + i64::from(access.offset);
    variable.space == Space::Shared
        && start >= 0
        && start + i64::from(access.bytes()) <= i64::from(variable.end_from(0))
}
