//! `alloca`, `stacksave` and `stackrestore`: memory that a function takes from the stack as it runs.
//!
//! In a function with such instructions, the stack pointer is a variable of the construction, and every
//! call gets it as its last argument.
//!
//! ```text
//!                                     v0 = sreg.b32 local_bottom
//! alloca.u64 %rd1, %rd2, 32;     =>   v2 = isub.b32 v0, v1               // v1 is the size
//!                                     v4 = and.b32 v2, 0xffffffe0        // the stack pointer, and the result
//! call f, (%r1);                      v5 = isub.b32 v4, 16
//!                                     call @f, v3, v5
//! ```
//! All addresses are multiples of 16, which is the alignment that functions rely on. ptxas returns the
//! address in the local window, as here.

use ptxc_ir::{FuncRef, Op, SpecialReg, Type, Value};

use super::form::{Form, Translated, Unsupported};
use super::memory::constant;
use super::translator::Translator;
use crate::check::resolved::Resolved;
use crate::check::table::Mnemonic;

/// The alignment of the stack, in bytes.
const ALIGN: u64 = 16;

/// Whether a function moves its stack pointer.
fn is_dynamic(resolved: &Resolved) -> bool {
    resolved.opcodes().any(|opcode| {
        matches!(opcode.instruction, Mnemonic::Alloca | Mnemonic::Stackrestore | Mnemonic::Stacksave)
    })
}

pub(super) fn alloca(t: &mut Translator, form: &mut Form) -> Translated {
    let scalar = form.ty()?;
    let variable = t.stack_pointer.ok_or(Unsupported)?;
    let size = t.read(form.operand(1)?, scalar)?;
    let size = t.convert(size, Type::B32)?;
    let align = match form.operands.get(2) {
        Some(align) => Some(constant(align)?).filter(|align| align.is_power_of_two()).ok_or(Unsupported)?,
        None => ALIGN,
    };
    let before = t.read_variable(variable, Type::B32);
    let below = t.emit(Op::Isub, Type::B32, &[before, size]);
    let mask = t.constant(Type::B32, u64::from((align.max(ALIGN) as u32).wrapping_neg()));
    let pointer = t.emit(Op::And, Type::B32, &[below, mask]);
    t.write_variable(variable, pointer);
    t.write_extended(form.operand(0)?, pointer, false)
}

pub(super) fn save(t: &mut Translator, form: &mut Form) -> Translated {
    form.ty()?;
    let pointer = t.read_variable(t.stack_pointer.ok_or(Unsupported)?, Type::B32);
    t.write_extended(form.operand(0)?, pointer, false)
}

pub(super) fn restore(t: &mut Translator, form: &mut Form) -> Translated {
    let value = t.read(form.operand(0)?, form.ty()?)?;
    let value = t.convert(value, Type::B32)?;
    t.write_variable(t.stack_pointer.ok_or(Unsupported)?, value);
    Ok(())
}

impl Translator<'_> {
    /// Starts the stack pointer of a function that moves it.
    pub fn start_stack(&mut self) {
        if !is_dynamic(self.resolved) {
            return;
        }
        let variable = self.new_variables(1);
        self.stack_pointer = Some(variable);
        let bottom = self.emit(Op::SpecialReg(SpecialReg::LocalBottom), Type::B32, &[]);
        self.write_variable(variable, bottom);
    }

    /// Adds the stack pointer of the callee to the arguments of a call, if this function moves its own.
    pub fn pass_stack(&mut self, callee: FuncRef, args: &mut Vec<Value>) {
        let Some(variable) = self.stack_pointer else { return };
        self.function.callees[callee].stack.moves = true;
        let pointer = self.read_variable(variable, Type::B32);
        // The caller's own stack pointer is saved above that of the callee.
        let room = self.constant(Type::B32, ALIGN);
        args.push(self.emit(Op::Isub, Type::B32, &[pointer, room]));
    }
}
