//! One instruction as text.
//!
//! `@!P0 IMAD.WIDE R2, R5.reuse, 0x4, R6`: guard, mnemonic with the modifiers that print something,
//! operands in slot order. Operands that a row hides at their default are left out, special cases carry
//! their [other names](super::alias), and a register whose value the operand cache keeps is marked
//! `.reuse`.

use std::fmt;

use super::{alias, float};
use crate::arch::Arch;
use crate::inst::Inst;
use crate::operand::{Address, FunctionIndex, Operand, OperandKind};
use crate::program::ProgramFunction;
use crate::register::{RegFile, Register};
use crate::table::{ImmFormat, ModKind, Op, Slot};

impl<R: Register> fmt::Display for Inst<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_inst(f, self, 0, &[], Arch::Sm90)
    }
}

/// Writes an instruction; `reuse` has a bit for each of the operands a, b, c, as in
/// [`Control::reuse`](crate::Control::reuse). Functions have the names that the list gives them, and `$` with their
/// number where it is too short. The architecture decides on names: `VIMNMX` is `IMNMX` before sm_90.
///
/// # Errors
/// If the writer fails.
pub fn write_inst<R: Register>(
    out: &mut impl fmt::Write,
    inst: &Inst<R>,
    reuse: u8,
    functions: &[ProgramFunction],
    arch: Arch,
) -> fmt::Result {
    if inst.op.is_never_executed() {
        out.write_str(NEVER)?;
    } else if let Some(guard) = inst.guard {
        write!(out, "@{}{} ", if guard.negated { "!" } else { "" }, guard.reg)?;
    }
    let row = inst.row();
    out.write_str(row.mnemonic_on(arch))?;
    out.write_str(alias::suffix(inst))?;
    for (position, modifier) in row.mods.iter().enumerate() {
        let value = modifier.values[inst.mods.get(position) as usize];
        out.write_str(modifier.text(value, arch))?;
    }
    let mut separator = " ";
    for (slot, operand) in row.slots.iter().zip(&inst.operands).filter(|(slot, _)| !slot.repeated) {
        if is_left_out(inst, slot, operand) {
            continue;
        }
        out.write_str(if slot.spaced { " " } else { separator })?;
        separator = ", ";
        let reused = slot.reuse.is_some_and(|index| reuse >> index & 1 != 0);
        operand_text(out, inst, slot, operand, reused, Names { functions, arch })?;
    }
    if inst.is_indexed_branch() {
        out.write_str(TARGETS_BEGIN)?;
        for (index, label) in inst.labels().enumerate() {
            write!(out, "{}.L_x_{}", if index == 0 { "" } else { "," }, label.0)?;
        }
        out.write_str(TARGETS_END)?;
    }
    Ok(())
}

/// The guard of what is never executed.
pub(super) const NEVER: &str = "@!PT ";

/// What stands around the targets of an indexed branch.
pub(super) const TARGETS_BEGIN: &str = " (*\"BRANCH_TARGETS ";
pub(super) const TARGETS_END: &str = "\"*)";

/// Whether the text does without the operand.
pub(super) fn is_left_out<R: Register>(inst: &Inst<R>, slot: &Slot, operand: &Operand<R>) -> bool {
    (slot.hidden && *operand == slot.default_operand()) || slot.hidden_with.is_some_and(|text| inst.has(text))
}

/// Whether 64-bit addresses have the suffix `.64`: not on sm_75, where an access has no descriptor, nor where an
/// operation has none, nor on sm_90 where an access could have one and has none.
pub(super) fn has_address_suffix(op: Op, arch: Arch, is_described: bool) -> bool {
    arch > Arch::Sm75 && op.takes_descriptor() && (is_described || arch < Arch::Sm90)
}

/// Behind a register that is added to a pair of uniform ones as 32 bits without sign.
pub(super) const LOW_WORD: &str = "U32";

/// What names depend on.
#[derive(Clone, Copy)]
struct Names<'a> {
    functions: &'a [ProgramFunction],
    arch: Arch,
}

fn operand_text<R: Register>(
    out: &mut impl fmt::Write,
    inst: &Inst<R>,
    slot: &Slot,
    operand: &Operand<R>,
    reused: bool,
    names: Names<'_>,
) -> fmt::Result {
    let flags = operand.flags;
    if flags.neg {
        out.write_str("-")?;
    }
    if flags.not {
        let is_word = match operand.kind {
            OperandKind::Reg(reg) => !reg.file().is_predicate(),
            OperandKind::Zero(file) => !file.is_predicate(),
            _ => true,
        };
        out.write_str(if is_word { "~" } else { "!" })?;
    }
    if flags.abs {
        out.write_str("|")?;
    }
    let (op, mut is_general) = (inst.op, false);
    match operand.kind {
        OperandKind::Zero(file) => out.write_str(file.constant_name())?,
        OperandKind::Reg(reg) if slot.bracketed => write!(out, "[{reg}]")?,
        OperandKind::Reg(reg) => {
            is_general = reg.file() == RegFile::Gpr;
            write!(out, "{reg}")?;
        }
        OperandKind::Imm(bits) => immediate(out, slot.imm, bits)?,
        OperandKind::Const { bank, offset: 0 } if op == Op::LDC => write!(out, "c[{bank:#x}][RZ]")?,
        OperandKind::Const { bank, offset } => write!(out, "c[{bank:#x}][{offset:#x}]")?,
        OperandKind::IndexedConst { bank, index, offset: 0 } => write!(out, "c[{bank:#x}][{index}]")?,
        OperandKind::IndexedConst { bank, index, offset } => {
            let sign = if offset < 0 { "-" } else { "" };
            write!(out, "c[{bank:#x}][{index}+{sign}{:#x}]", offset.unsigned_abs())?;
        }
        OperandKind::Mem(address) => {
            let is_described = address.descriptor.is_some();
            let suffix = match (address.wide, address.uniform.is_some()) {
                (true, true) => "64",
                (true, false) if has_address_suffix(op, names.arch, is_described) => "64",
                (false, true) if inst.modifier(ModKind::Extended) == ".E" && address.base.is_some() => {
                    LOW_WORD
                }
                _ => "",
            };
            address_text(out, &address, suffix, slot.names_uniform || inst.has(".POPC.INC.32"))?;
        }
        OperandKind::Label(label) => write!(out, "`(.L_x_{})", label.0)?,
        OperandKind::Function(FunctionIndex(index)) => match names.functions.get(index as usize) {
            Some(function) => write!(out, "`({})", function.name)?,
            None => write!(out, "`(${index})")?,
        },
        OperandKind::Special(reg) => write!(out, "{reg}")?,
        OperandKind::Convergence(index) => write!(out, "B{index}")?,
    }
    if flags.abs {
        out.write_str("|")?;
    }
    if reused && is_general {
        out.write_str(".reuse")?;
    }
    out.write_str(slot.halves.text(flags.half))
}

fn immediate(out: &mut impl fmt::Write, format: ImmFormat, bits: u32) -> fmt::Result {
    match format {
        ImmFormat::Signed if (bits as i32) < 0 => write!(out, "-{:#x}", (bits as i32).unsigned_abs()),
        ImmFormat::Hex | ImmFormat::Signed => write!(out, "{bits:#x}"),
        ImmFormat::Scoreboard => write!(out, "SB{bits}"),
        ImmFormat::Scoreboards => {
            let set: Vec<String> =
                (0..32).rev().filter(|n| bits >> n & 1 == 1).map(|n| n.to_string()).collect();
            write!(out, "{{{}}}", set.join(","))
        }
        ImmFormat::Float => float::print_f32(out, bits),
        ImmFormat::DoubleHigh => float::print_f64_high(out, bits),
        ImmFormat::HalfPair => {
            float::print_f16(out, (bits >> 16) as u16)?;
            out.write_str(", ")?;
            float::print_f16(out, bits as u16)
        }
        ImmFormat::BrainPair => {
            float::print_bf16(out, (bits >> 16) as u16)?;
            out.write_str(", ")?;
            float::print_bf16(out, bits as u16)
        }
    }
}

fn address_text<R: Register>(
    out: &mut impl fmt::Write,
    address: &Address<R>,
    suffix: &str,
    names_uniform: bool,
) -> fmt::Result {
    if let Some(descriptor) = address.descriptor {
        write!(out, "desc[{descriptor}]")?;
    }
    out.write_str("[")?;
    let mut separator = "";
    if let Some(base) = address.base {
        write!(out, "{base}")?;
        match address.scale {
            1 if suffix.is_empty() => {}
            1 => write!(out, ".{suffix}")?,
            scale => write!(out, ".X{scale}")?,
        }
        separator = "+";
    }
    if let Some(uniform) = address.uniform {
        write!(out, "{separator}{uniform}")?;
        separator = "+";
    } else if names_uniform {
        write!(out, "{separator}{}", RegFile::Ugpr.constant_name())?;
        separator = "+";
    }
    if address.offset == 0 && separator.is_empty() {
        out.write_str(RegFile::Gpr.constant_name())?;
    } else if address.offset != 0 {
        let sign = if address.offset < 0 { "-" } else { "" };
        write!(out, "{separator}{sign}{:#x}", address.offset.unsigned_abs())?;
    }
    out.write_str("]")
}
