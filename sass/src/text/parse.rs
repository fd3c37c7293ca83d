//! Reads one instruction back from its text.
//!
//! In: `@!P0 IMAD.WIDE R2, R5.reuse, 0x4, R6`, with or without the semicolon. Out: the [`Inst`] and
//! its reuse flags. The rows of the table that share the first word of the mnemonic are tried, the
//! one with the longest fixed mnemonic first: its modifiers must use up the rest of the mnemonic,
//! its slots the operands. If a row hides operands at their defaults, an operand that fits a hidden
//! slot fills it as long as there are more operands than the other slots need. Linear in the length
//! of the line.

use std::fmt;
use std::sync::LazyLock;

use ptxc_machine::{Arch, Feature, PerArch};
use rustc_hash::FxHashMap;

use super::operand::{half_constant, hexadecimal, immediate, operand, register, unlinked};
use super::{alias, inst, symbol};
use crate::inst::{Inst, sign_rule};
use crate::operand::{FunctionIndex, Label, Operand, OperandFlags, OperandKind};
use crate::register::{PReg, RegFile, Register};
use crate::symbol::Symbol;
use crate::table::Mods;
use crate::table::{ImmFormat, Kinds, Op, Row, Slot, Stand};
use crate::{bits, value};

/// Why a line is not an instruction of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// No row has this mnemonic.
    Mnemonic(String),
    /// The rows of this mnemonic lack these modifiers.
    Modifiers(String),
    /// An operand does not fit the slot of that name.
    Operand {
        /// The mnemonic with its modifiers.
        mnemonic: String,
        /// The slot.
        slot: &'static str,
        /// The operand.
        text: String,
    },
    /// Too few or too many operands.
    Count(String),
    /// The guard is not a predicate.
    Guard(String),
    /// The architecture lacks the instruction.
    Arch(String),
    /// The hardware rejects the signs of the operands.
    Signs(Op),
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParseError::Mnemonic(text) => write!(f, "no instruction is called `{text}`"),
            ParseError::Modifiers(text) => write!(f, "no form has the modifiers of `{text}`"),
            ParseError::Operand { mnemonic, slot, text } => {
                write!(f, "`{text}` cannot be operand {slot} of {mnemonic}")
            }
            ParseError::Count(mnemonic) => write!(f, "wrong number of operands for {mnemonic}"),
            ParseError::Guard(text) => write!(f, "`{text}` is no guard"),
            ParseError::Arch(why) => f.write_str(why),
            ParseError::Signs(op) => f.write_str(&sign_rule(*op)),
        }
    }
}

impl std::error::Error for ParseError {}

/// The rows of an architecture by the first word of their mnemonic.
type Rows = FxHashMap<&'static str, Vec<Op>>;

static ROWS: LazyLock<PerArch<Rows>> = LazyLock::new(|| {
    PerArch::from_fn(|arch| {
        let mut rows = Rows::default();
        for &op in Op::ALL.iter().filter(|op| op.row().archs.contains(arch)) {
            rows.entry(first_word(op.row().mnemonic_on(arch))).or_default().push(op);
        }
        for list in rows.values_mut() {
            list.sort_by_key(|op| std::cmp::Reverse(op.row().mnemonic_on(arch).len()));
        }
        rows
    })
});

/// The rows of an architecture by the first word of their mnemonic, longest mnemonic first.
pub(super) fn rows(arch: Arch) -> &'static Rows {
    ROWS.get(arch)
}

pub(super) fn first_word(mnemonic: &str) -> &str {
    mnemonic.split('.').next().unwrap_or(mnemonic)
}

/// Gives numbers to the places that instructions name.
pub(super) trait Names {
    /// A place in the code: `.L_x_7`, or `0x130`, its offset in bytes. `None` if the name cannot be
    /// one.
    fn label(&mut self, name: &str) -> Option<Label>;

    /// A function. `None` if the name cannot be one.
    fn function(&mut self, name: &str) -> Option<FunctionIndex>;

    /// The function that begins at an offset in bytes. `cuobjdump -sass` prints only the offset.
    fn function_at(&mut self, offset: u32) -> Option<FunctionIndex> {
        self.function(&format!("${offset:#x}"))
    }

    /// Whether an immediate may be a symbol that a loader replaces.
    fn has_symbols(&self) -> bool {
        true
    }

    /// Whether an indexed branch must list its targets.
    fn needs_targets(&self) -> bool {
        true
    }

    /// A place in the code that is written as its offset in bytes, `0x130`: by default a label of
    /// that name.
    fn offset(&mut self, name: &str) -> Option<Place> {
        hexadecimal(name).and_then(|_| self.label(name)).map(Place::Label)
    }
}

/// A place in the code as an operand names it.
pub(super) enum Place {
    /// A label.
    Label(Label),
    /// A distance in bytes.
    Distance(i32),
}

/// Reads names as numbers.
struct Numbered;

impl Names for Numbered {
    fn has_symbols(&self) -> bool {
        false
    }

    fn needs_targets(&self) -> bool {
        false
    }

    fn label(&mut self, name: &str) -> Option<Label> {
        Some(Label(name.strip_prefix(".L_x_")?.parse().ok()?))
    }

    fn function(&mut self, name: &str) -> Option<FunctionIndex> {
        Some(FunctionIndex(name.strip_prefix('$')?.parse().ok()?))
    }

    fn offset(&mut self, name: &str) -> Option<Place> {
        immediate(name, ImmFormat::Signed).map(|bits| Place::Distance(bits as i32))
    }
}

/// Reads an instruction of an architecture: the instruction, and a bit for each operand a, b, c
/// that is marked `.reuse`.
///
/// Labels and functions are numbered by their text: `` `(.L_x_7) `` is [`Label`] 7, and
/// `` `($2) `` is [`FunctionIndex`] 2.
///
/// # Errors
/// If no row of the table takes the text, or the architecture lacks the form.
pub fn parse_inst(line: &str, arch: Arch) -> Result<(Inst<PReg>, u8), ParseError> {
    parse_inst_over(line, arch)
}

/// Like [`parse_inst`], for any type of registers.
///
/// # Errors
/// As [`parse_inst`].
pub fn parse_inst_over<R: Register>(line: &str, arch: Arch) -> Result<(Inst<R>, u8), ParseError> {
    let parsed = parse_named(line, arch, &mut Numbered)?;
    match parsed.loaded {
        None => Ok((parsed.inst, parsed.reuse)),
        Some((slot, _)) => {
            let row = parsed.inst.row();
            let name = row.slots.get(usize::from(slot)).map_or("", |slot| slot.name);
            let (mnemonic, text) = (row.mnemonic.to_string(), line.to_string());
            Err(ParseError::Operand { mnemonic, slot: name, text })
        }
    }
}

/// An instruction as its text describes it.
pub(super) struct Parsed<R> {
    pub inst: Inst<R>,
    /// A bit for each operand a, b, c that is marked `.reuse`.
    pub reuse: u8,
    /// The operand that a loader fills in: its slot, and its symbol.
    pub loaded: Option<(u8, Symbol)>,
}

/// NVIDIA's disassembler marks the accesses of spilled registers with this text.
const SPILL: &str = "(*\"SpillRefill\"*)";

/// The same with other names.
pub(super) fn parse_named<R: Register>(
    line: &str,
    arch: Arch,
    names: &mut dyn Names,
) -> Result<Parsed<R>, ParseError> {
    let line = line.trim().trim_end_matches(';').trim_end();
    let line = line.strip_suffix(SPILL).map_or(line, str::trim_end);
    let never = [RegFile::Pred, RegFile::Upred]
        .into_iter()
        .find_map(|file| Some((file, line.strip_prefix(inst::never(file))?.trim_start())));
    let (never, line) = never.map_or((None, line), |(file, rest)| (Some(file), rest));
    let (guard, line) = match line.strip_prefix('@') {
        Some(rest) => {
            let (guard, rest) = rest.split_once(' ').unwrap_or((rest, ""));
            let (negated, name) = match guard.strip_prefix('!') {
                Some(name) => (true, name),
                None => (false, guard),
            };
            let reg = register(name).filter(|kind| matches!(kind, OperandKind::Reg(r) if is_predicate(*r)));
            let Some(OperandKind::Reg(reg)) = reg.filter(|_| never.is_none()) else {
                return Err(ParseError::Guard(guard.to_string()));
            };
            (Some(crate::Guard { reg, negated }), rest.trim_start())
        }
        None => (None, line),
    };
    let (line, targets) = match line.split_once(inst::TARGETS_BEGIN.trim_start()) {
        Some((line, rest)) => (line.trim_end(), Some(targets(rest, names)?)),
        None => (line, None),
    };
    let (mnemonic, operands) = line.split_once(' ').unwrap_or((line, ""));
    let mnemonic = alias::plain(mnemonic);
    let operands: Vec<&str> = match operands.trim() {
        "" => Vec::new(),
        text => split_operands(text),
    };
    let rows = rows(arch).get(first_word(&mnemonic)).ok_or_else(|| ParseError::Mnemonic(mnemonic.clone()))?;
    let mut error = ParseError::Modifiers(mnemonic.clone());
    let has_guard = |op: &&Op| never == op.row().never.then(|| op.row().guard);
    for &op in rows.iter().filter(has_guard) {
        let rest = mnemonic.strip_prefix(op.row().mnemonic_on(arch));
        let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with('.')) else { continue };
        let mut inst = Inst::new(op);
        if !modifiers(op.row(), arch, rest, &mut inst) {
            continue;
        }
        match fill(&mut inst, arch, &mnemonic, &operands, names) {
            Ok(_)
                if inst.is_indexed_branch() != targets.is_some()
                    && (targets.is_some() || names.needs_targets()) =>
            {
                error = ParseError::Count(mnemonic.clone());
            }
            Ok((reuse, loaded)) => {
                if let Err(why) = inst.check_arch(arch) {
                    error = ParseError::Arch(why);
                    continue;
                }
                if inst.has_clashing_signs() {
                    error = ParseError::Signs(op);
                    continue;
                }
                inst.guard = guard;
                inst.operands.extend(targets.into_iter().flatten().map(Operand::label));
                return Ok(Parsed { inst, reuse, loaded });
            }
            Err(why) => error = why,
        }
    }
    Err(error)
}

/// The operands of a list, split at commas, except those within a set of scoreboards.
fn split_operands(text: &str) -> Vec<&str> {
    let mut is_in_set = false;
    let parts = text.split(|c| {
        is_in_set = (is_in_set || c == '{') && c != '}';
        c == ',' && !is_in_set
    });
    parts.map(str::trim).collect()
}

fn is_predicate(reg: impl Register) -> bool {
    reg.file().is_predicate()
}

/// Chooses the modifiers in text order, for each the longest value that comes next; returns whether
/// this uses up the text.
fn modifiers<R: Register>(row: &Row, arch: Arch, mut rest: &str, inst: &mut Inst<R>) -> bool {
    for (position, modifier) in
        row.mods.iter().enumerate().filter(|(_, modifier)| modifier.stand == Stand::Mnemonic)
    {
        let stands_next = |value: &str| {
            let tail = rest.strip_prefix(value);
            tail.is_some_and(|tail| value.is_empty() || tail.is_empty() || tail.starts_with('.'))
        };
        let texts = modifier.values.iter().map(|value| modifier.text(value, arch));
        let candidates = texts.enumerate().filter(|(_, text)| stands_next(text));
        let Some((index, value)) = candidates.max_by_key(|(_, value)| value.len()) else { return false };
        inst.mods.set(position, index as u8);
        rest = &rest[value.len()..];
    }
    rest.is_empty()
}

fn fill<R: Register>(
    inst: &mut Inst<R>,
    arch: Arch,
    mnemonic: &str,
    texts: &[&str],
    names: &mut dyn Names,
) -> Result<(u8, Option<(u8, Symbol)>), ParseError> {
    let row = inst.row();
    let texts = last_modifiers(inst, arch, texts);
    // `R4 -0x110` is two operands.
    let parted: Vec<&str>;
    let texts = if row.slots.iter().any(|slot| slot.spaced) {
        parted = texts.iter().flat_map(|text| text.split_whitespace()).collect();
        &parted[..]
    } else {
        texts
    };
    let shown = |inst: &Inst<R>, slot: &Slot| !slot.hidden_with.is_some_and(|text| inst.has(text));
    let needed = row.slots.iter().filter(|slot| !slot.hidden && !slot.repeated && shown(inst, slot)).count();
    let mut spare = texts.len().saturating_sub(needed);
    let mut texts = texts.iter().copied();
    let mut next = texts.next();
    let mut reuse = 0;
    let mut loaded = None;
    for (index, slot) in row.slots.iter().enumerate() {
        if !shown(inst, slot) || slot.repeated || (slot.hidden && spare == 0) {
            continue;
        }
        let Some(text) = next else { return Err(ParseError::Count(mnemonic.to_string())) };
        let (text, chosen) = match modifiers_after(inst, slot, arch, text) {
            Some((text, chosen)) => (text, chosen),
            None if slot.hidden => continue,
            None => {
                let (mnemonic, text) = (mnemonic.to_string(), text.to_string());
                return Err(ParseError::Operand { mnemonic, slot: slot.name, text });
            }
        };
        let symbol = match loaded.is_none() && names.has_symbols() && slot.kinds.contains(Kinds::IMM) {
            true => symbol::parse(text, inst.op, names),
            false => None,
        };
        if let Some(kind) = unlinked(text, inst.op, names) {
            inst.operands[index] = Operand { kind, flags: OperandFlags::default() };
            next = texts.next();
            continue;
        }
        let read = match half_constant(slot.imm, text) {
            _ if symbol.is_some() => Some((Operand::imm(0), false)),
            Some(high) => {
                let low = texts.next().ok_or_else(|| ParseError::Count(mnemonic.to_string()))?;
                let low = half_constant(slot.imm, low);
                low.map(|low| (Operand::imm(u32::from(high) << 16 | u32::from(low)), false))
            }
            None => operand(text, slot, slot.imm.resolve(inst), arch, names),
        };
        let read =
            read.and_then(|(operand, reused)| Some((complete_address(inst, slot, arch, operand)?, reused)));
        match read.filter(|(operand, _)| slot.check(operand).is_ok()) {
            Some((operand, reused)) => {
                inst.operands[index] = operand;
                inst.mods = chosen;
                if let Some(symbol) = symbol {
                    loaded = Some((index, symbol));
                }
                if reused {
                    reuse |= 1 << slot.reuse.unwrap_or(0);
                }
                spare = spare.saturating_sub(usize::from(slot.hidden));
                next = texts.next();
            }
            None if slot.hidden => {}
            None => {
                let (mnemonic, text) = (mnemonic.to_string(), text.to_string());
                return Err(ParseError::Operand { mnemonic, slot: slot.name, text });
            }
        }
    }
    if next.is_some() {
        return Err(ParseError::Count(mnemonic.to_string()));
    }
    let Some((index, symbol)) = loaded else { return Ok((reuse, None)) };
    // The numbers of registers make no difference here.
    if bits::loaded_slot(&inst.map(|reg| PReg::new(reg.file(), 0)), arch) != Some(index) {
        let (mnemonic, slot) = (mnemonic.to_string(), row.slots.get(index).map_or("", |slot| slot.name));
        return Err(ParseError::Operand { mnemonic, slot, text: symbol.name });
    }
    Ok((reuse, Some((index as u8, symbol))))
}

/// Removes the modifiers that are written as the last operands.
fn last_modifiers<'a, 'b, R: Register>(
    inst: &mut Inst<R>,
    arch: Arch,
    mut texts: &'a [&'b str],
) -> &'a [&'b str] {
    let mods = inst.row().mods.iter().enumerate().rev();
    for (position, modifier) in mods.filter(|(_, modifier)| modifier.stand == Stand::Last) {
        let Some((last, rest)) = texts.split_last() else { break };
        let value =
            modifier.values.iter().position(|value| !value.is_empty() && modifier.text(value, arch) == *last);
        // A modifier that is not written has the value without text.
        let unwritten = modifier.values.iter().position(|value| value.is_empty());
        if let Some(value) = value.or(unwritten) {
            inst.mods.set(position, value as u8);
        }
        texts = if value.is_some() { rest } else { texts };
    }
    texts
}

/// Removes the modifiers after the operand of a slot from its text; returns the rest, and the
/// chosen modifiers. `None` if a required suffix is missing.
fn modifiers_after<'a, R: Register>(
    inst: &Inst<R>,
    slot: &Slot,
    arch: Arch,
    text: &'a str,
) -> Option<(&'a str, Mods)> {
    let (mut rest, mut mods) = (text, inst.mods);
    for (position, modifier) in inst.row().mods.iter().enumerate().rev().filter(|(_, m)| m.follows(slot)) {
        let ends =
            |value: &&'static str| modifier.exists(value, arch) && rest.ends_with(modifier.text(value, arch));
        let found = modifier.values.iter().copied().filter(ends).max_by_key(|value| value.len())?;
        mods.set(position, modifier.values.iter().position(|value| *value == found)? as u8);
        rest = rest.strip_suffix(modifier.text(found, arch))?;
    }
    Some((rest.strip_suffix(slot.suffix)?, mods))
}

/// Makes the address of an extended access 64 bits wide if its text does not tell, that is, if a
/// register stands alone. A register alone that is marked as wide has a descriptor that nvdisasm
/// does not print until sm_89. In nvdisasm's listings such an address is read as one without a
/// descriptor, elsewhere it is rejected. An address with a descriptor that is not wide is rejected,
/// too.
fn complete_address<R: Register>(
    inst: &Inst<R>,
    slot: &Slot,
    arch: Arch,
    mut operand: Operand<R>,
) -> Option<Operand<R>> {
    if let OperandKind::Mem(address) = &mut operand.kind
        && address.base.is_none()
    {
        // On architectures where RZ never counts as a pair, there is no bit for it.
        address.wide &= arch.has(Feature::ZeroBaseIsPair);
    }
    if let OperandKind::Mem(address) = &mut operand.kind
        && address.base.is_some()
        && !slot.wide
    {
        let is_alone = address.descriptor.is_none() && address.uniform.is_none() && !slot.names_uniform;
        let may_hide = arch.has(Feature::HiddenDescriptors) && inst.op.row().takes_descriptor;
        if is_alone && address.wide && !may_hide || address.descriptor.is_some() && !address.wide {
            return None;
        }
        address.wide |= is_alone && inst.is(value!(Extended = ".E")) && !slot.narrow;
    }
    if let OperandKind::Mem(address) = &mut operand.kind
        && address.base.is_none()
        && address.uniform.is_none()
        && address.descriptor.is_none()
        && !slot.names_uniform
        && !slot.signed_alone.contains(arch)
    {
        // An offset that stands alone is written without its sign.
        let len = u32::from(bits::offset_len(inst.op, slot, arch));
        let offset = i64::from(address.offset);
        if len < 32 && offset >> (len - 1) == 1 {
            address.offset = i32::try_from(offset - (1 << len)).ok()?;
        }
    }
    Some(operand)
}

/// The targets of an indexed branch, given the text after the beginning of the annotation.
fn targets(rest: &str, names: &mut dyn Names) -> Result<Vec<Label>, ParseError> {
    let wrong = || ParseError::Operand {
        mnemonic: "an indexed branch".to_string(),
        slot: "targets",
        text: rest.to_string(),
    };
    let list = rest.strip_suffix(inst::TARGETS_END).ok_or_else(wrong)?;
    list.split(',').map(|name| names.label(name.trim()).ok_or_else(wrong)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_survive() {
        for line in [
            "@!P0 FFMA.FTZ R3, -R1, R2, 0.5",
            "@P2 FADD R3, |R1|, -|R2|",
            "DADD R2, R4, -1.5",
            "HFMA2.MMA R25, -RZ, RZ, 1.6064453125, 0.2354736328125",
            "ATOMG.E.CAS.STRONG.GPU PT, R6, [R6+0x4], R12, R13",
            "IADD3 R0, P0, P1, R1, -0x1, RZ",
            "IADD3 R0, P0, R1, R2, -R3",
            "IADD3.X R9, R3, -0x61c88647, RZ, P0, !PT",
            "LOP3.LUT P1, RZ, R3, 0x3, RZ, 0xc0, !PT",
            "ISETP.GE.U32.AND P0, PT, R7, UR4, !P3",
            "@P1 LDG.E.128.CONSTANT R4, desc[UR4][R2.64+-0x10]",
            "STS.U8 [R1+UR4+0x400], R5",
            "IMAD.MOV.U32 R7, RZ, RZ, -0x1",
            "@!P0 BRA P1, `(.L_x_3)",
            "LDC R5, c[0x0][RZ]",
            "ULDC.64 UR4, c[0x0][0x208]",
            "LDC.U8 R5, c[0x3][R6]",
            "LDC.64 R8, c[0x3][R6+-0x10]",
            "VOTE.ANY P0, !P1",
            "BAR.RED.AND 0x5, !P0",
            "BSSY B1, `(.L_x_2)",
            "@!P2 BRX R4 -0x110 (*\"BRANCH_TARGETS .L_x_20,.L_x_21,.L_x_20\"*)",
            "BRXU UR4 -0xb0 (*\"BRANCH_TARGETS .L_x_7\"*)",
            "CALL.REL.NOINC `($1)",
            "@P0 CALL.REL.NOINC R6 `($0)",
            "RET.REL.NODEC R20 `($0)",
        ] {
            let (inst, reuse) = parse_inst(line, Arch::Sm90).unwrap_or_else(|why| panic!("{line}: {why}"));
            assert_eq!((inst.to_string().as_str(), reuse), (line, 0));
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert_eq!(parse_inst("FROB R1", Arch::Sm90), Err(ParseError::Mnemonic("FROB".into())));
        assert_eq!(
            parse_inst("FADD.U8 R1, R2, R3", Arch::Sm90),
            Err(ParseError::Modifiers("FADD.U8".into()))
        );
        assert_eq!(parse_inst("FADD R1, R2", Arch::Sm90), Err(ParseError::Count("FADD".into())));
        let operand = ParseError::Operand { mnemonic: "FADD".into(), slot: "b", text: "P3".into() };
        assert_eq!(parse_inst("FADD R1, R2, P3", Arch::Sm90), Err(operand));
        assert_eq!(parse_inst("@R1 NOP", Arch::Sm90), Err(ParseError::Guard("R1".into())));
        for junk in [
            "BRX R4 -0x10 (*\"BRANCH_TARGETS ",
            "FADD R1, R2, R3 (*\"BRANCH_TARGETS .L_x_1\"*)",
            "",
            "@",
            "@P0",
            ";",
            "FADD ,,",
            "LDG.E R1, desc[",
            "LDG.E R1, [+]",
            "FADD R256, R1, R2",
        ] {
            assert!(parse_inst(junk, Arch::Sm90).is_err(), "{junk}");
        }
    }
}
