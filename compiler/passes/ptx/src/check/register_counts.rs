//! `setmaxnreg`: a hint that ptxc ignores.
//!
//! ```text
//! setmaxnreg.dec.sync.aligned.u32 40;        // note[E0120]
//! ```
//!
//! A kernel's registers are allocated for all of its code, and each warp keeps them. PTX calls the
//! instruction a hint, and ptxas also ignores it if it does not know how many registers a warp
//! starts with.

use ptxc_syntax::ast::Instruction;

use super::codes;
use super::forms::Form;
use super::table::Mnemonic;
use crate::diagnostic::Diagnostic;

/// Reports that a hint on the number of registers is ignored.
pub fn check(form: &Form, instruction: &Instruction, out: &mut Vec<Diagnostic>) {
    let opcode = &instruction.opcode;
    if form.row.instruction == Mnemonic::Setmaxnreg {
        let message = format!("ptxc ignores the hint `{opcode}`");
        out.push(
            Diagnostic::remark(codes::REGISTERS_STAY, opcode.part_id(0), message)
                .label("each warp keeps the registers that its kernel is launched with")
                .help("use `--max-regs` to limit the registers of all warps"),
        );
    }
}
