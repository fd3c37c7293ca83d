//! Operations for which there is a runtime routine become calls of it.
//!
//! ```text
//! v3 = udiv.b64 v1, v2     =>    v3 = call.pure @u64.div, v1, v2
//! ```

use ptxc_ir::{Function, Op, Type};
use ptxc_sass::Arch;

use super::emitter::rewrite;
use crate::runtime;

/// The routine that computes an operation.
fn routine_of(op: Op, ty: Type) -> Option<&'static str> {
    match (op, ty) {
        (Op::Udiv, Type::B64) => Some("u64.div"),
        _ => None,
    }
}

/// Calls the routines.
pub fn routines(func: &mut Function, _arch: Arch) -> bool {
    rewrite(func, |emitter, inst| {
        let data = &emitter.func.insts[inst];
        let Some(name) = routine_of(data.op, data.ty) else { return false };
        let args = data.args.clone();
        let callee = emitter.func.callee(&runtime::callee(name));
        emitter.become_op(inst, Op::Call(callee, true), Type::B32, &args);
        true
    })
}
