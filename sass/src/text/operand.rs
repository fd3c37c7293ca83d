//! Reads one operand back from its text, for a slot of a row: a register with its signs, a constant,
//! an address, a place in the code.
//!
//! In: `|R5.reuse|`, `c[0x0][0x210]`, `[R4.64+UR2+0x10]`. Out: the [`Operand`], or nothing if the
//! text has another form than the slot. Linear in the length of the text.

use ptxc_machine::Arch;

use super::parse::{Names, Place};
use super::{float, inst};
use crate::operand::{Address, Operand, OperandFlags, OperandKind};
use crate::register::{RegFile, Register};
use crate::special::SpecialReg;
use crate::table::{ImmFormat, Kinds, Op, Slot};

/// Reads an operand for a slot; also returns whether it is marked `.reuse`.
pub(super) fn operand<R: Register>(
    text: &str,
    slot: &Slot,
    format: ImmFormat,
    arch: Arch,
    names: &mut dyn Names,
) -> Option<(Operand<R>, bool)> {
    if let Some(kind) = place(text, slot, names) {
        return Some((Operand { kind, flags: OperandFlags::default() }, false));
    }
    if let Some(bits) = immediate(text, format) {
        return Some((Operand::imm(bits), false));
    }
    let mut flags = OperandFlags::default();
    let (mut rest, half) = slot.halves.strip(text);
    flags.half = half;
    if let Some(tail) = rest.strip_prefix('-') {
        flags.neg = true;
        rest = tail;
    }
    if let Some(tail) = rest.strip_prefix(['~', '!']) {
        flags.not = true;
        rest = tail;
    }
    if let Some(inner) = rest.strip_prefix('|') {
        flags.abs = true;
        rest = inner;
    }
    let (name, reused) = match rest.strip_suffix(".reuse") {
        Some(name) => (name, true),
        None => (rest, false),
    };
    let name = if flags.abs {
        // The suffix that chooses a part of the register may be between the bars.
        let (name, part) = slot.halves.strip(name.strip_suffix('|')?);
        if !slot.halves.text(part).is_empty() {
            flags.half = part;
        }
        name
    } else {
        name
    };
    if reused && slot.reuse.is_none() {
        return None;
    }
    let name = match slot.bracketed {
        true => name.strip_prefix(slot.prefix)?.strip_prefix('[')?.strip_suffix(']')?,
        false => name,
    };
    let kind = register(name)
        .or_else(|| constant(name))
        .or_else(|| address(name).map(OperandKind::Mem))
        .or_else(|| special(name, arch))
        .or_else(|| convergence(name))
        .or_else(|| {
            let is_all = name == inst::PREDICATES || name == inst::UNIFORM_PREDICATES;
            is_all.then_some(OperandKind::Predicates)
        })?;
    Some((Operand { kind, flags }, reused))
}

pub(super) fn register<R: Register>(name: &str) -> Option<OperandKind<R>> {
    match RegFile::ALL.into_iter().find(|file| file.constant_name() == name) {
        Some(file) => Some(OperandKind::Zero(file)),
        None => R::parse(name).map(OperandKind::Reg),
    }
}

pub(super) fn immediate(text: &str, format: ImmFormat) -> Option<u32> {
    match format {
        ImmFormat::Scoreboards => {
            let set = text.strip_prefix('{')?.strip_suffix('}')?.split(',');
            return set
                .map(|n| n.trim().parse().ok().filter(|&n: &u32| n < 6))
                .try_fold(0, |set, n| Some(set | 1 << n?));
        }
        ImmFormat::Scoreboard => {
            return text.strip_prefix("SB")?.parse().ok().filter(|&n: &u32| n < 6);
        }
        ImmFormat::Named(names) => {
            return names.iter().position(|name| *name == text).map(|index| index as u32);
        }
        ImmFormat::Swizzle => {
            let pairs = text.as_bytes().as_chunks::<2>();
            let code = |pair: &[u8; 2]| [b"PP", b"PN", b"NP", b"ZP"].iter().position(|known| *known == pair);
            let is_whole = pairs.1.is_empty() && pairs.0.len() == 4;
            return pairs
                .0
                .iter()
                .try_fold(0, |set, pair| Some(set << 2 | code(pair)? as u32))
                .filter(|_| is_whole);
        }
        ImmFormat::LaneMask => {
            return inst::LANE_MASKS.iter().position(|mask| *mask == text).map(|mask| mask as u32);
        }
        ImmFormat::ReturnHalf => {
            return inst::RETURN_HALVES.iter().position(|half| *half == text).map(|half| half as u32);
        }
        ImmFormat::GroupScoreboard => return text.strip_prefix("gsb")?.parse().ok(),
        ImmFormat::Float | ImmFormat::OfFunction | ImmFormat::OfSource => return float::parse_f32(text),
        ImmFormat::Half => return float::parse_f16(text).map(u32::from),
        ImmFormat::Brain => return float::parse_bf16(text).map(u32::from),
        ImmFormat::DoubleHigh => return float::parse_f64_high(text),
        _ => {}
    }
    match text.strip_prefix('-') {
        Some(magnitude) => {
            let magnitude = hexadecimal(magnitude)?;
            (magnitude <= 1 << 31).then(|| magnitude.wrapping_neg())
        }
        None => hexadecimal(text),
    }
}

/// One of the two constants of a slot that takes pairs.
pub(super) fn half_constant(format: ImmFormat, text: &str) -> Option<u16> {
    match format {
        ImmFormat::HalfPair => float::parse_f16(text),
        ImmFormat::BrainPair => float::parse_bf16(text),
        _ => None,
    }
}

pub(super) fn hexadecimal(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

fn constant<R: Register>(text: &str) -> Option<OperandKind<R>> {
    let (bank, offset) = text.strip_prefix("c[")?.strip_suffix(']')?.split_once(']')?;
    let offset = offset.trim_start().strip_prefix('[')?;
    let bank = u8::try_from(hexadecimal(bank)?).ok()?;
    if offset == "RZ" {
        return Some(OperandKind::Const { bank, offset: 0 });
    }
    if let Some(offset) = hexadecimal(offset) {
        return Some(OperandKind::Const { bank, offset });
    }
    if let Some(distance) = offset.strip_prefix('-').and_then(hexadecimal) {
        let offset = 0x1_0000u32.checked_sub(distance).filter(|offset| *offset >= 0x8000)?;
        return Some(OperandKind::Const { bank, offset });
    }
    let (index, offset) = offset.split_once('+').unwrap_or((offset, "0x0"));
    let offset = immediate(offset, ImmFormat::Signed)? as i32;
    match register(index)? {
        OperandKind::Reg(index) => Some(OperandKind::IndexedConst { bank, index, offset }),
        _ => None,
    }
}

fn address<R: Register>(text: &str) -> Option<Address<R>> {
    let named = |text: &str, file: RegFile| R::parse(text).filter(|reg| reg.file() == file);
    let (descriptor, text) = match text.strip_prefix("desc[") {
        Some(rest) => {
            let (descriptor, rest) = rest.split_once(']')?;
            (Some(named(descriptor, RegFile::Ugpr)?), rest)
        }
        None => (None, text),
    };
    let mut address = Address { base: None, wide: false, scale: 1, uniform: None, offset: 0, descriptor };
    let mut is_low_word = false;
    for (position, part) in text.strip_prefix('[')?.strip_suffix(']')?.split('+').enumerate() {
        let (name, suffix) = part.split_once('.').unwrap_or((part, ""));
        if let (0, Some(base)) = (position, named(name, RegFile::Gpr)) {
            address.base = Some(base);
            match suffix {
                "" | inst::LOW_WORD => {}
                inst::PAIR => address.wide = true,
                _ => {
                    address.scale =
                        suffix.strip_prefix('X')?.parse().ok().filter(|n| [4, 8, 16].contains(n))?
                }
            }
            is_low_word = suffix == inst::LOW_WORD;
        } else if name == RegFile::Gpr.constant_name()
            && position == 0
            && ["", inst::PAIR, inst::LOW_WORD].contains(&suffix)
        {
            // No register part.
            address.wide = suffix == inst::LOW_WORD;
        } else if part == RegFile::Ugpr.constant_name() && address.uniform.is_none() {
            // The uniform part is named, but absent.
        } else if let (None, Some(uniform)) = (address.uniform, named(part, RegFile::Ugpr)) {
            address.uniform = Some(uniform);
        } else {
            address.offset = immediate(part, ImmFormat::Signed)? as i32;
        }
    }
    // A register is marked as 32 bits only beside a pair.
    (is_low_word <= address.uniform.is_some()).then_some(address)
}

/// A place in the code, or a function, if the slot takes one: `` `(.L_x_3) ``, or an offset in
/// bytes.
fn place<R: Register>(text: &str, slot: &Slot, names: &mut dyn Names) -> Option<OperandKind<R>> {
    let is_label = slot.kinds.contains(Kinds::LABEL);
    if !is_label && !slot.kinds.contains(Kinds::FUNCTION) {
        return None;
    }
    let Some(rest) = text.strip_prefix("`(") else {
        return names.offset(text).and_then(|place| match place {
            Place::Label(label) if is_label => Some(OperandKind::Label(label)),
            Place::Label(_) => names.function_at(hexadecimal(text)?).map(OperandKind::Function),
            Place::Distance(bytes) => Some(OperandKind::Code(bytes)),
        });
    };
    let name = rest.strip_suffix(')')?;
    if is_label {
        names.label(name).map(OperandKind::Label)
    } else {
        names.function(name).map(OperandKind::Function)
    }
}

/// A label, a function, or the end of shared memory, whose address a `MOV` of machine IR takes: linking makes an immediate of it.
/// A program has a [symbol](Symbol) there.
pub(super) fn unlinked<R: Register>(text: &str, op: Op, names: &mut dyn Names) -> Option<OperandKind<R>> {
    if op != Op::MOV || names.has_symbols() {
        return None;
    }
    let name = text.strip_prefix("`(")?.strip_suffix(')')?;
    if let Some(align) = name.strip_prefix("shared:") {
        return align.parse().ok().filter(|align: &u32| align.is_power_of_two()).map(OperandKind::SharedEnd);
    }
    let label = names.label(name).map(OperandKind::Label);
    label.or_else(|| names.function(name).map(OperandKind::Function))
}

fn special<R: Register>(text: &str, arch: Arch) -> Option<OperandKind<R>> {
    let numbered = || Some(SpecialReg::from_code(text.strip_prefix("SR")?.parse().ok()?));
    SpecialReg::named(text, arch).or_else(numbered).map(OperandKind::Special)
}

fn convergence<R: Register>(text: &str) -> Option<OperandKind<R>> {
    let index: u8 = text.strip_prefix('B')?.parse().ok()?;
    (index < 16).then_some(OperandKind::Convergence(index))
}
