//! One instruction as text.
//!
//! `@!P0 IMAD.WIDE R2, R5.reuse, 0x4, R6`: guard, mnemonic with the modifiers that print something,
//! operands in slot order. Operands that a row hides at their default are omitted, special cases
//! have their [other names](super::alias), and a register whose value the operand cache keeps is
//! marked `.reuse`.

use std::fmt::{self, Write};

use ptxc_machine::{Arch, Feature};

use super::line::{Line, Sink, Writer};
use super::plan::{ModText, Plan, SlotText};
use super::symbol::SymbolText;
use super::{alias, float};
use crate::inst::Inst;
use crate::operand::{Address, FunctionIndex, Operand, OperandFlags, OperandKind};
use crate::program::{Coded, Program, ProgramFunction};
use crate::register::{RegFile, Register};
use crate::symbol::CodeRelocation;
use crate::table::Mods;
use crate::table::{Halves, ImmFormat, Op};

impl<R: Register> fmt::Display for Inst<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_inst(f, self, 0, &[], Arch::DEFAULT)
    }
}

/// Writes an instruction; `reuse` has a bit for each of the operands a, b, c, as in
/// [`Control::reuse`](crate::Control::reuse). Functions have the names from the list, or `$` and
/// their number if the list is too short. The architecture decides on names: `VIMNMX` is `IMNMX`
/// before sm_90.
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
    write(&mut Writer(out), inst, reuse, functions, arch, None)
}

/// The same for an instruction of a program, with the operand that a loader fills in.
///
/// # Errors
/// If the writer fails.
pub fn write_loaded(
    out: &mut impl fmt::Write,
    coded: &Coded,
    program: &Program,
    loaded: Option<&CodeRelocation>,
) -> fmt::Result {
    write(&mut Writer(out), &coded.inst, coded.control.reuse, &program.functions, program.arch, loaded)
}

/// Adds an instruction to the bytes of a text, as [`write_inst`] does.
pub fn push_inst<R: Register>(
    out: &mut Vec<u8>,
    inst: &Inst<R>,
    reuse: u8,
    functions: &[ProgramFunction],
    arch: Arch,
) {
    // Writing to a vector cannot fail.
    let _ = write(out, inst, reuse, functions, arch, None);
}

/// Adds an instruction of a program to a line, with the operand that a loader fills in.
pub(super) fn add_loaded<W: Sink>(
    line: &mut Line<'_, W>,
    coded: &Coded,
    program: &Program,
    loaded: Option<&CodeRelocation>,
) {
    add(line, &coded.inst, coded.control.reuse, &program.functions, program.arch, loaded);
}

fn write<R: Register>(
    out: &mut impl Sink,
    inst: &Inst<R>,
    reuse: u8,
    functions: &[ProgramFunction],
    arch: Arch,
    loaded: Option<&CodeRelocation>,
) -> fmt::Result {
    let mut line = Line::new(out);
    add(&mut line, inst, reuse, functions, arch, loaded);
    line.finish()
}

fn add<W: Sink, R: Register>(
    line: &mut Line<'_, W>,
    inst: &Inst<R>,
    reuse: u8,
    functions: &[ProgramFunction],
    arch: Arch,
    loaded: Option<&CodeRelocation>,
) {
    let plan = Plan::of(inst.op, arch);
    if inst.op.row().never {
        line.str(never(plan.row.guard));
    } else if let Some(guard) = inst.guard {
        line.str(if guard.negated { "@!" } else { "@" });
        register(line, guard.reg);
        line.str(" ");
    }
    line.text(&plan.mnemonic);
    if inst.op == Op::IMAD {
        line.str(alias::suffix(inst));
    }
    mods(line, &plan.mods, inst.mods);
    let mut is_first = true;
    for (index, (slot, operand)) in plan.slots.iter().zip(inst.operands.iter()).enumerate() {
        if let Some(one) = loaded.filter(|one| usize::from(one.slot) == index) {
            line.separator(is_first || slot.slot.spaced);
            is_first = false;
            // The end of the line reports a failure.
            let _ = write!(line, "{}", SymbolText(&one.symbol));
            line.str(slot.slot.suffix);
            self::mods(line, &slot.after, inst.mods);
            continue;
        }
        if !slot.is_always_shown && is_hidden(plan, slot, inst, operand) {
            continue;
        }
        line.separator(is_first || slot.slot.spaced);
        is_first = false;
        let reused = slot.slot.reuse.is_some_and(|index| reuse >> index & 1 != 0);
        let is_bare = slot.is_plain && operand.flags == OperandFlags::default();
        match operand.kind {
            // Most operands are plain registers.
            OperandKind::Reg(reg) if is_bare => {
                register(line, reg);
                if reused && reg.file() == RegFile::Gpr {
                    line.str(".reuse");
                }
            }
            OperandKind::Zero(file) if is_bare && !reused => line.register(file, file.count()),
            _ => operand_text(line, inst, plan, slot, operand, reused, Names { functions, arch }),
        }
    }
    for modifier in &plan.last {
        if let Some(text) = modifier.get(inst.mods).filter(|text| !text.is_empty()) {
            line.separator(is_first);
            line.text(text);
        }
    }
    if inst.is_indexed_branch() && inst.labels().next().is_some() {
        line.str(TARGETS_BEGIN);
        for (index, label) in inst.labels().enumerate() {
            line.str(if index == 0 { ".L_x_" } else { ",.L_x_" });
            line.decimal(label.0);
        }
        line.str(TARGETS_END);
    }
}

/// Whether the text of an instruction omits an operand.
fn is_hidden<R: Register>(plan: &Plan, slot: &SlotText, inst: &Inst<R>, operand: &Operand<R>) -> bool {
    slot.slot.repeated
        || (slot.is_left_out(operand, inst.mods)
            && (slot.has_substitute || !slot.keeps_a_place(&plan.slots, &inst.operands)))
}

/// Whether the text of an instruction shows the operand in a slot.
pub fn is_shown<R: Register>(inst: &Inst<R>, slot: usize, arch: Arch) -> bool {
    let plan = Plan::of(inst.op, arch);
    let both = plan.slots.get(slot).zip(inst.operands.get(slot));
    both.is_some_and(|(shown, operand)| !is_hidden(plan, shown, inst, operand))
}

/// Writes the operand in a slot as in the text of its instruction, without `.reuse`.
///
/// # Errors
/// If the writer fails.
pub fn write_operand<R: Register>(
    out: &mut impl fmt::Write,
    inst: &Inst<R>,
    slot: usize,
    functions: &[ProgramFunction],
    arch: Arch,
) -> fmt::Result {
    let mut writer = Writer(out);
    let mut line = Line::new(&mut writer);
    let plan = Plan::of(inst.op, arch);
    if let Some((shown, operand)) = plan.slots.get(slot).zip(inst.operands.get(slot)) {
        operand_text(&mut line, inst, plan, shown, operand, false, Names { functions, arch });
    }
    line.finish()
}

/// Writes the modifiers of one place in the text.
fn mods<W: Sink>(line: &mut Line<'_, W>, texts: &[ModText], mods: Mods) {
    for text in texts.iter().filter_map(|modifier| modifier.get(mods)) {
        line.text(text);
    }
}

/// The guard of an instruction that is never executed, by the file of the row's guards.
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

/// The text around the targets of an indexed branch.
pub(super) const TARGETS_BEGIN: &str = " (*\"BRANCH_TARGETS ";
pub(super) const TARGETS_END: &str = "\"*)";

/// The suffix of a register that is added to a uniform pair as 32 bits without sign.
pub(super) const LOW_WORD: &str = "U32";

/// The suffix of a pair of registers beside a descriptor or a uniform register. A pair alone is
/// written without it: its width is that of the instruction.
pub(super) const PAIR: &str = "64";

/// The suffix of the register part of an address, and whether `RZ` has the suffix, too, if the
/// address has no register part. `RZ` has it beside a descriptor, and beside a pair of uniform
/// registers if the architecture writes it ([`Feature::ZeroBaseIsWritten`]). Otherwise `RZ` has a
/// suffix only if its bit says that it is not a pair.
fn address_suffix<R: Register>(slot: &SlotText, address: &Address<R>, arch: Arch) -> (&'static str, bool) {
    match (address.descriptor.is_some(), address.uniform.is_some() || slot.slot.names_uniform) {
        (false, true) if address.base.is_none() && address.wide => (LOW_WORD, true),
        _ if slot.slot.wide && address.wide => (PAIR, false),
        (true, _) => (PAIR, true),
        (false, true) if address.wide => (PAIR, false),
        (false, true) if slot.may_extend => (LOW_WORD, arch.has(Feature::ZeroBaseIsWritten)),
        _ => ("", false),
    }
}

/// The context that names depend on.
#[derive(Clone, Copy)]
struct Names<'a> {
    functions: &'a [ProgramFunction],
    arch: Arch,
}

fn operand_text<W: Sink, R: Register>(
    line: &mut Line<'_, W>,
    inst: &Inst<R>,
    plan: &Plan,
    shown: &SlotText,
    operand: &Operand<R>,
    reused: bool,
    names: Names<'_>,
) {
    let (flags, slot) = (operand.flags, shown.slot);
    if flags.neg {
        line.str("-");
    }
    if flags.not {
        let is_word = match operand.kind {
            OperandKind::Reg(reg) => !reg.file().is_predicate(),
            OperandKind::Zero(file) => !file.is_predicate(),
            _ => true,
        };
        line.str(if is_word { "~" } else { "!" });
    }
    if flags.abs {
        line.str("|");
    }
    if !slot.prefix.is_empty() {
        line.str(slot.prefix);
    }
    let mut is_general = false;
    match operand.kind {
        OperandKind::Zero(file) if slot.bracketed => {
            line.str("[");
            line.register(file, file.count());
            line.str("]");
        }
        OperandKind::Zero(file) => {
            is_general = file == RegFile::Gpr;
            line.register(file, file.count());
        }
        OperandKind::Reg(reg) if slot.bracketed => {
            line.str("[");
            register(line, reg);
            line.str("]");
        }
        OperandKind::Reg(reg) => {
            is_general = reg.file() == RegFile::Gpr;
            register(line, reg);
        }
        OperandKind::Imm(bits) => immediate(line, slot.imm.resolve(inst), bits),
        OperandKind::Const { bank, offset } => {
            constant_bank(line, bank);
            line.str(if shown.selects_part(inst.mods) { "] [" } else { "][" });
            match offset {
                0 if inst.op == Op::LDC => line.str("RZ"),
                // nvdisasm's sign: the upper half of a bank counts backwards from its end.
                0x8000..0x1_0000 => line.signed_hex(offset as i32 - 0x1_0000),
                _ => line.prefixed_hex(offset),
            }
            line.str("]");
        }
        OperandKind::IndexedConst { bank, index, offset } => {
            constant_bank(line, bank);
            line.str("][");
            register(line, index);
            if offset != 0 {
                line.str("+");
                line.signed_hex(offset);
            }
            line.str("]");
        }
        OperandKind::Mem(address) => {
            let suffix = address_suffix(shown, &address, names.arch);
            let names_uniform = slot.names_uniform || plan.names_uniform.any(inst.mods);
            let unsigned_len = || shown.unsigned_len(inst.op, names.arch);
            address_text(line, &address, suffix, names_uniform, unsigned_len);
        }
        OperandKind::Label(label) => {
            line.str("`(.L_x_");
            line.decimal(label.0);
            line.str(")");
        }
        OperandKind::Code(offset) => line.signed_hex(offset),
        OperandKind::Function(FunctionIndex(index)) => {
            line.str("`(");
            match names.functions.get(index as usize) {
                Some(function) => line.str(&function.name),
                None => {
                    line.str("$");
                    line.decimal(index);
                }
            }
            line.str(")");
        }
        OperandKind::SharedEnd(align) => {
            line.str("`(shared:");
            line.decimal(align);
            line.str(")");
        }
        OperandKind::Special(reg) => match reg.name(names.arch) {
            "" => {
                line.str("SR");
                line.decimal(u32::from(reg.code()));
            }
            name => line.str(name),
        },
        OperandKind::Convergence(index) => {
            line.str("B");
            line.decimal(u32::from(index));
        }
        OperandKind::Predicates if plan.row.guard.is_uniform() => line.str(UNIFORM_PREDICATES),
        OperandKind::Predicates => line.str(PREDICATES),
    }
    let part = slot.halves.text(flags.half);
    // The bars enclose only the register. They enclose the whole operand if it is anything else, or
    // one half.
    let is_within =
        flags.abs && (!is_general || matches!(slot.halves, Halves::Upper | Halves::LowOrHigh | Halves::High));
    if is_within {
        line.str(part);
    }
    if flags.abs {
        line.str("|");
    }
    if reused && is_general {
        line.str(".reuse");
    }
    if !part.is_empty() && !is_within {
        line.str(part);
    }
    if !slot.suffix.is_empty() {
        line.str(slot.suffix);
    }
    mods(line, &shown.after, inst.mods);
}

/// A register by its name. Physical ones are known by their numbers; virtual ones print themselves.
fn register<W: Sink, R: Register>(line: &mut Line<'_, W>, reg: R) {
    match reg.number() {
        Some(number) => line.register(reg.file(), number),
        // The end of the line reports a failure.
        None => drop(write!(line, "{reg}")),
    }
}

/// `c[0x3`: the text before the closing bracket of a bank's number.
fn constant_bank<W: Sink>(line: &mut Line<'_, W>, bank: u8) {
    line.str("c[");
    line.prefixed_hex(u32::from(bank));
}

fn immediate<W: Sink>(line: &mut Line<'_, W>, format: ImmFormat, bits: u32) {
    // The end of the line reports a failure.
    let _ = match format {
        ImmFormat::Float | ImmFormat::OfFunction | ImmFormat::OfSource => float::print_f32(line, bits),
        ImmFormat::Half => float::print_f16(line, bits as u16),
        ImmFormat::Brain => float::print_bf16(line, bits as u16),
        ImmFormat::DoubleHigh => float::print_f64_high(line, bits),
        ImmFormat::HalfPair => {
            let _ = float::print_f16(line, (bits >> 16) as u16);
            line.str(", ");
            float::print_f16(line, bits as u16)
        }
        ImmFormat::BrainPair => {
            let _ = float::print_bf16(line, (bits >> 16) as u16);
            line.str(", ");
            float::print_bf16(line, bits as u16)
        }
        other => {
            integer(line, other, bits);
            Ok(())
        }
    };
}

/// An immediate other than a float.
fn integer<W: Sink>(line: &mut Line<'_, W>, format: ImmFormat, bits: u32) {
    match format {
        ImmFormat::Signed => line.signed_hex(bits as i32),
        ImmFormat::Named(names) => match names.get(bits as usize) {
            Some(name) => line.str(name),
            None => line.prefixed_hex(bits),
        },
        ImmFormat::Scoreboard => {
            line.str("SB");
            line.decimal(bits);
        }
        ImmFormat::GroupScoreboard => {
            line.str("gsb");
            line.decimal(bits);
        }
        ImmFormat::Scoreboards => {
            let mut separator = "{";
            for index in (0..32).rev().filter(|index| bits >> index & 1 == 1) {
                line.str(separator);
                line.decimal(index);
                separator = ",";
            }
            line.str(if bits == 0 { "{}" } else { "}" });
        }
        ImmFormat::Swizzle => (0..4).rev().for_each(|pair| {
            line.str(match bits >> (2 * pair) & 3 {
                0 => "PP",
                1 => "PN",
                2 => "NP",
                _ => "ZP",
            });
        }),
        ImmFormat::LaneMask => line.str(LANE_MASKS[(bits & 3) as usize]),
        ImmFormat::ReturnHalf => line.str(RETURN_HALVES[(bits & 1) as usize]),
        ImmFormat::Hex | ImmFormat::OfInteger => line.prefixed_hex(bits),
        // These are floats.
        ImmFormat::Float | ImmFormat::OfFunction | ImmFormat::OfSource => {}
        ImmFormat::Half | ImmFormat::Brain | ImmFormat::DoubleHigh => {}
        ImmFormat::HalfPair | ImmFormat::BrainPair => {}
    }
}

fn address_text<W: Sink, R: Register>(
    line: &mut Line<'_, W>,
    address: &Address<R>,
    (suffix, names_zero): (&str, bool),
    names_uniform: bool,
    unsigned_len: impl Fn() -> Option<u8>,
) {
    if let Some(descriptor) = address.descriptor {
        line.str("desc[");
        register(line, descriptor);
        line.str("]");
    }
    line.str("[");
    let mut is_alone = true;
    if let Some(base) = address.base {
        register(line, base);
        match address.scale {
            1 if suffix.is_empty() => {}
            1 => {
                line.str(".");
                line.str(suffix);
            }
            scale => {
                line.str(".X");
                line.decimal(u32::from(scale));
            }
        }
        is_alone = false;
    } else if names_zero {
        line.register(RegFile::Gpr, RegFile::Gpr.count());
        line.str(".");
        line.str(suffix);
        is_alone = false;
    }
    if address.uniform.is_some() || names_uniform {
        if !is_alone {
            line.str("+");
        }
        match address.uniform {
            Some(uniform) => register(line, uniform),
            None => line.register(RegFile::Ugpr, RegFile::Ugpr.count()),
        }
        is_alone = false;
    }
    if address.offset == 0 && is_alone {
        line.register(RegFile::Gpr, RegFile::Gpr.count());
    } else if is_alone && let Some(len) = unsigned_len() {
        // An offset that is the whole address has no sign.
        line.prefixed_hex(address.offset as u32 & ((1u64 << len) - 1) as u32);
    } else if address.offset != 0 {
        if !is_alone {
            line.str("+");
        }
        line.signed_hex(address.offset);
    }
    line.str("]");
}
