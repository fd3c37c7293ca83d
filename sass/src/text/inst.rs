//! One instruction as text.
//!
//! `@!P0 IMAD.WIDE R2, R5.reuse, 0x4, R6`: guard, mnemonic with the modifiers that print something,
//! operands in slot order. Operands that a row hides at their default are left out, special cases carry
//! their [other names](super::alias), and a register whose value the operand cache keeps is marked
//! `.reuse`.

use std::fmt;

use super::number::{decimal, prefixed_hex};
use super::{alias, float};
use crate::arch::Arch;
use crate::bits;
use crate::inst::Inst;
use crate::operand::{Address, FunctionIndex, Operand, OperandKind};
use crate::program::ProgramFunction;
use crate::register::{RegFile, Register};
use crate::table::{Halves, ImmFormat, ModKind, Op, Pipe, SIGN, Slot, Stand};

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
        out.write_str(never(inst.row().guard))?;
    } else if let Some(guard) = inst.guard {
        out.write_str(if guard.negated { "@!" } else { "@" })?;
        register(out, guard.reg)?;
        out.write_str(" ")?;
    }
    let row = inst.row();
    out.write_str(row.mnemonic_on(arch))?;
    out.write_str(alias::suffix(inst))?;
    write_mods(out, inst, arch, |stand| stand == Stand::Mnemonic)?;
    let mut separator = " ";
    for (index, (slot, operand)) in row.slots.iter().zip(&inst.operands).enumerate() {
        if slot.repeated
            || (is_left_out(inst, slot, operand, arch)
                && (slot.hidden_with.is_some() || !keeps_a_place(inst, index)))
        {
            continue;
        }
        out.write_str(if slot.spaced { " " } else { separator })?;
        separator = ", ";
        let reused = slot.reuse.is_some_and(|index| reuse >> index & 1 != 0);
        operand_text(out, inst, slot, operand, reused, Names { functions, arch })?;
    }
    for (position, modifier) in row.mods.iter().enumerate() {
        let value = modifier.values[inst.mods.get(position) as usize];
        if modifier.stand == Stand::Last && !value.is_empty() {
            out.write_str(separator)?;
            out.write_str(modifier.text(value, arch))?;
        }
    }
    if inst.is_indexed_branch() && inst.labels().next().is_some() {
        out.write_str(TARGETS_BEGIN)?;
        for (index, label) in inst.labels().enumerate() {
            out.write_str(if index == 0 { ".L_x_" } else { ",.L_x_" })?;
            decimal(out, u64::from(label.0))?;
        }
        out.write_str(TARGETS_END)?;
    }
    Ok(())
}

/// Writes the modifiers that stand in a place.
fn write_mods<R: Register>(
    out: &mut impl fmt::Write,
    inst: &Inst<R>,
    arch: Arch,
    stands_here: impl Fn(Stand) -> bool,
) -> fmt::Result {
    for (position, modifier) in inst.row().mods.iter().enumerate().filter(|(_, m)| stands_here(m.stand)) {
        let value = modifier.values[inst.mods.get(position) as usize];
        out.write_str(modifier.text(value, arch))?;
    }
    Ok(())
}

/// The guard of what is never executed, by the file of the row's guards.
pub(super) const fn never(file: RegFile) -> &'static str {
    if file.is_uniform() { "@!UPT " } else { "@!PT " }
}

/// All predicates together.
pub(super) const PREDICATES: &str = "PR";
/// All uniform predicates together.
pub(super) const UNIFORM_PREDICATES: &str = "UPR";
/// The masks of a warp's lanes.
pub(super) const LANE_MASKS: [&str; 4] = ["MEXITED", "MKILL", "MACTIVE", "MATEXIT"];
/// The halves of a return address.
pub(super) const RETURN_HALVES: [&str; 2] = ["Rpc.LO", "Rpc.HI"];

/// What stands around the targets of an indexed branch.
pub(super) const TARGETS_BEGIN: &str = " (*\"BRANCH_TARGETS ";
pub(super) const TARGETS_END: &str = "\"*)";

/// Whether the text does without the operand.
fn is_left_out<R: Register>(inst: &Inst<R>, slot: &Slot, operand: &Operand<R>, arch: Arch) -> bool {
    let is_hidden = slot.hidden && !slot.shown_on.contains(arch);
    (is_hidden && *operand == slot.default_operand()) || slot.hidden_with.is_some_and(|text| inst.has(text))
}

/// Whether a default that is hidden elsewhere is written, lest reading takes the operand of a later hidden slot
/// for its own.
fn keeps_a_place<R: Register>(inst: &Inst<R>, index: usize) -> bool {
    let slots = inst.row().slots;
    let slot = &slots[index];
    slots.iter().zip(&inst.operands).skip(index + 1).any(|(later, operand)| {
        let is_alike = later.kinds.meets(slot.kinds) && later.prefix == slot.prefix;
        is_alike && later.hidden && *operand != later.default_operand()
    })
}

/// Behind a register that is added to a pair of uniform ones as 32 bits without sign.
pub(super) const LOW_WORD: &str = "U32";

/// Behind a pair of registers beside a descriptor or a uniform register. A pair alone is written as a register, its
/// width being that of the instruction.
pub(super) const PAIR: &str = "64";

/// What stands behind the register part of an address, and whether it stands behind `RZ` where there is none: beside a
/// descriptor, and since sm_90 beside a pair of uniform registers.
fn address_suffix<R: Register>(
    inst: &Inst<R>,
    slot: &Slot,
    address: &Address<R>,
    arch: Arch,
) -> (&'static str, bool) {
    let may_extend =
        !slot.narrow && inst.row().mods.iter().any(|modifier| modifier.kind == ModKind::Extended);
    match (address.descriptor.is_some(), address.uniform.is_some() || slot.names_uniform) {
        _ if slot.wide && address.wide => (PAIR, false),
        (true, _) => (PAIR, true),
        (false, true) if address.wide => (PAIR, false),
        (false, true) if may_extend => (LOW_WORD, arch >= Arch::Sm90),
        _ => ("", false),
    }
}

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
    out.write_str(slot.prefix)?;
    match operand.kind {
        OperandKind::Zero(file) if slot.bracketed => {
            out.write_str("[")?;
            out.write_str(file.constant_name())?;
            out.write_str("]")?;
        }
        OperandKind::Zero(file) => {
            is_general = file == RegFile::Gpr;
            out.write_str(file.constant_name())?;
        }
        OperandKind::Reg(reg) if slot.bracketed => {
            out.write_str("[")?;
            register(out, reg)?;
            out.write_str("]")?;
        }
        OperandKind::Reg(reg) => {
            is_general = reg.file() == RegFile::Gpr;
            register(out, reg)?;
        }
        OperandKind::Imm(bits) => immediate(out, slot.imm.resolve(inst), bits)?,
        OperandKind::Const { bank, offset } => {
            constant_bank(out, bank)?;
            out.write_str(if selects_part(inst, slot) { "] [" } else { "][" })?;
            if offset == 0 && op == Op::LDC { out.write_str("RZ") } else { prefixed_hex(out, offset) }?;
            out.write_str("]")?;
        }
        OperandKind::IndexedConst { bank, index, offset } => {
            constant_bank(out, bank)?;
            out.write_str("][")?;
            register(out, index)?;
            if offset != 0 {
                out.write_str("+")?;
                signed_hex(out, offset)?;
            }
            out.write_str("]")?;
        }
        OperandKind::Mem(address) => {
            let suffix = address_suffix(inst, slot, &address, names.arch);
            let len = match slot.signed_alone.contains(names.arch) {
                true => None,
                false => Some(bits::offset_len(inst.op, slot, names.arch)),
            };
            address_text(out, &address, suffix, slot.names_uniform || inst.has(".POPC.INC.32"), len)?;
        }
        OperandKind::Label(label) => {
            out.write_str("`(.L_x_")?;
            decimal(out, u64::from(label.0))?;
            out.write_str(")")?;
        }
        OperandKind::Code(offset) => signed_hex(out, offset)?,
        OperandKind::Function(FunctionIndex(index)) => match names.functions.get(index as usize) {
            Some(function) => write!(out, "`({})", function.name)?,
            None => write!(out, "`(${index})")?,
        },
        OperandKind::Special(reg) => match reg.name(names.arch) {
            "" => {
                out.write_str("SR")?;
                decimal(out, u64::from(reg.code()))?;
            }
            name => out.write_str(name)?,
        },
        OperandKind::Convergence(index) => {
            out.write_str("B")?;
            decimal(out, u64::from(index))?;
        }
        OperandKind::Predicates if inst.row().guard.is_uniform() => out.write_str(UNIFORM_PREDICATES)?,
        OperandKind::Predicates => out.write_str(PREDICATES)?,
    }
    let part = slot.halves.text(flags.half);
    // The bars are around the register alone, but around all of anything else, and where it is one half.
    let is_within = flags.abs && (!is_general || matches!(slot.halves, Halves::Upper | Halves::High));
    if is_within {
        out.write_str(part)?;
    }
    if flags.abs {
        out.write_str("|")?;
    }
    if reused && is_general {
        out.write_str(".reuse")?;
    }
    out.write_str(if is_within { "" } else { part })?;
    out.write_str(slot.suffix)?;
    write_mods(out, inst, names.arch, |stand| matches!(stand, Stand::Operand(name) if name == slot.name))
}

/// A register by its name. Physical ones are known by their numbers; virtual ones print themselves.
fn register<R: Register>(out: &mut impl fmt::Write, reg: R) -> fmt::Result {
    match reg.number() {
        Some(number) => {
            out.write_str(reg.file().prefix())?;
            decimal(out, u64::from(number))
        }
        None => write!(out, "{reg}"),
    }
}

/// Whether an operand is one of those of which a part may be chosen: halves, and what a conversion reads of less than 32
/// bits.
fn selects_part<R: Register>(inst: &Inst<R>, slot: &Slot) -> bool {
    let row = inst.row();
    let of_conversion = || {
        let kind = if row.mnemonic == "FRND" { ModKind::DataType } else { ModKind::SourceType };
        [".U8", ".S8", ".U16", ".S16", ".F16", ".BF16"].contains(&inst.modifier(kind))
    };
    slot.halves != Halves::None || slot.suffix == SIGN || (row.pipe == Pipe::Xu && of_conversion())
}

/// `c[0x3`, what stands in front of the bracket behind a bank's number.
fn constant_bank(out: &mut impl fmt::Write, bank: u8) -> fmt::Result {
    out.write_str("c[")?;
    prefixed_hex(out, u32::from(bank))
}

/// `0x10`, `-0x10`.
fn signed_hex(out: &mut impl fmt::Write, value: i32) -> fmt::Result {
    if value < 0 {
        out.write_str("-")?;
    }
    prefixed_hex(out, value.unsigned_abs())
}

fn immediate(out: &mut impl fmt::Write, format: ImmFormat, bits: u32) -> fmt::Result {
    match format {
        ImmFormat::Signed => signed_hex(out, bits as i32),
        ImmFormat::Hex | ImmFormat::OfInteger => prefixed_hex(out, bits),
        ImmFormat::Named(names) => match names.get(bits as usize) {
            Some(name) => out.write_str(name),
            None => prefixed_hex(out, bits),
        },
        ImmFormat::Scoreboard => {
            out.write_str("SB")?;
            decimal(out, u64::from(bits))
        }
        ImmFormat::GroupScoreboard => {
            out.write_str("gsb")?;
            decimal(out, u64::from(bits))
        }
        ImmFormat::Scoreboards => {
            let mut separator = "{";
            for index in (0..32).rev().filter(|index| bits >> index & 1 == 1) {
                out.write_str(separator)?;
                decimal(out, index)?;
                separator = ",";
            }
            out.write_str(if bits == 0 { "{}" } else { "}" })
        }
        ImmFormat::Swizzle => (0..4).rev().try_for_each(|pair| {
            out.write_str(match bits >> (2 * pair) & 3 {
                0 => "PP",
                1 => "PN",
                2 => "NP",
                _ => "ZP",
            })
        }),
        ImmFormat::LaneMask => out.write_str(LANE_MASKS[(bits & 3) as usize]),
        ImmFormat::ReturnHalf => out.write_str(RETURN_HALVES[(bits & 1) as usize]),
        ImmFormat::Float | ImmFormat::OfFunction | ImmFormat::OfSource => float::print_f32(out, bits),
        ImmFormat::Half => float::print_f16(out, bits as u16),
        ImmFormat::Brain => float::print_bf16(out, bits as u16),
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
    (suffix, names_zero): (&str, bool),
    names_uniform: bool,
    unsigned_len: Option<u8>,
) -> fmt::Result {
    if let Some(descriptor) = address.descriptor {
        out.write_str("desc[")?;
        register(out, descriptor)?;
        out.write_str("]")?;
    }
    out.write_str("[")?;
    let mut separator = "";
    if let Some(base) = address.base {
        register(out, base)?;
        match address.scale {
            1 if suffix.is_empty() => {}
            1 => {
                out.write_str(".")?;
                out.write_str(suffix)?;
            }
            scale => {
                out.write_str(".X")?;
                decimal(out, u64::from(scale))?;
            }
        }
        separator = "+";
    } else if names_zero {
        out.write_str(RegFile::Gpr.constant_name())?;
        out.write_str(".")?;
        out.write_str(suffix)?;
        separator = "+";
    }
    if let Some(uniform) = address.uniform {
        out.write_str(separator)?;
        register(out, uniform)?;
        separator = "+";
    } else if names_uniform {
        out.write_str(separator)?;
        out.write_str(RegFile::Ugpr.constant_name())?;
        separator = "+";
    }
    if address.offset == 0 && separator.is_empty() {
        out.write_str(RegFile::Gpr.constant_name())?;
    } else if let Some(len) = unsigned_len.filter(|_| separator.is_empty()) {
        // Where it is all there is of the address, it has no sign.
        prefixed_hex(out, address.offset as u32 & ((1u64 << len) - 1) as u32)?;
    } else if address.offset != 0 {
        out.write_str(separator)?;
        signed_hex(out, address.offset)?;
    }
    out.write_str("]")
}
