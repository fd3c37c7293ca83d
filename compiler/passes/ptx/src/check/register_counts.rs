//! `setmaxnreg`: a hint that is not followed.
//!
//! ```text
//! setmaxnreg.dec.sync.aligned.u32 40;        // note[E0120]
//! ```
//!
//! A kernel's registers are allocated for all of its code, and each warp keeps them. PTX says of the instruction that it is a hint,
//! and ptxas ignores it, too, where it does not know how many registers a warp begins with.

use ptxc_syntax::ast::Instruction;

use super::codes;
use super::forms::Form;
use super::table::Mnemonic;
use crate::diagnostic::Diagnostic;

/// Says that a hint on the number of registers is not followed.
pub fn check(form: &Form, instruction: &Instruction, out: &mut Vec<Diagnostic>) {
    let opcode = &instruction.opcode;
    if form.row.instruction == Mnemonic::Setmaxnreg {
        let message = format!("`{opcode}` is a hint that ptxc does not follow");
        out.push(
            Diagnostic::remark(codes::REGISTERS_STAY, opcode.part_id(0), message)
                .label("each warp keeps the registers that its kernel is launched with")
                .help("`--max-regs` limits the registers of all warps"),
        );
    }
}
