//! The check that the architecture has all instructions.

use ptxc_machine::Arch;
use ptxc_sass::{Inst, Register};

use crate::Halt;
use crate::halt::internal;

/// Checks that the architecture has all instructions, with their modifiers and kinds of operands.
pub(crate) fn exists<'a, R: Register + 'a>(
    pass: &str,
    insts: impl Iterator<Item = &'a Inst<R>>,
    arch: Arch,
) -> Result<(), Halt> {
    let lacking: Vec<String> = insts.filter_map(|inst| inst.check_arch(arch).err()).take(1).collect();
    if lacking.is_empty() { Ok(()) } else { Err(internal(pass, lacking)) }
}
