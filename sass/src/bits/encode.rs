//! Encodes an instruction to bits.

use ptxc_machine::{Arch, Feature};

use super::GUARD;
use super::decode::next_uniform;
use super::error::EncodeError;
use super::field::SlotField;
use super::pattern::{self, Pattern};
use crate::control::Control;
use crate::inst::{Guard, Inst};
use crate::operand::{Address, Label, Operand, OperandFlags, OperandKind};
use crate::program::{Coded, Program};
use crate::register::{PReg, RegFile, Register};
use crate::table::{AddressPlace, Bits, Halves, ImmFormat, Place, Shape, Slot};

/// The bits of an instruction.
///
/// `offset` is the place of the instruction in its section, in bytes; branch targets are relative
/// to it. `label` gives the places of labels in the section. A [function](OperandKind::Function) is
/// encoded as the instruction's own place: a relocation, or the code that lays out the program,
/// fills in the real one.
///
/// # Errors
/// If the architecture has no such instruction, or something does not fit its field.
pub fn encode(
    coded: &Coded,
    offset: u32,
    arch: Arch,
    label: impl Fn(Label) -> Option<u32>,
) -> Result<u128, EncodeError> {
    let inst = &coded.inst;
    let (row, name) = (inst.row(), inst.row().mnemonic_on(arch));
    let pattern = pattern_of(inst, arch)?;
    pattern.check_control(&coded.control, inst.mods).map_err(EncodeError::Control)?;
    let mut control = coded.control;
    let mut word = pattern.value;
    if !pattern.kept.is_none() && control.reuse & Control::LAST_REUSE != 0 {
        control.reuse &= !Control::LAST_REUSE;
        word |= pattern.kept.mask();
    }
    word |= u128::from(control.to_word().map_err(EncodeError::Control)?) << 64;
    word |= guard(pattern, inst.guard, row.guard).ok_or(EncodeError::Guard(name))?;
    for field in &pattern.mods {
        let position = usize::from(field.first);
        let text = || row.mods[position].values[usize::from(inst.mods.get(position))];
        word |= field.put(inst.mods).ok_or_else(|| EncodeError::Modifier(name, text()))?;
    }
    let is_extended = pattern.is_extended(inst.mods);
    for ((slot, field), operand) in row.slots.iter().zip(&pattern.slots).zip(&inst.operands) {
        let bits = match operand.kind {
            OperandKind::Label(place) => {
                let target = label(place).ok_or(EncodeError::Label(place))?;
                target_bits(field.place, i64::from(target), offset)
            }
            OperandKind::Code(target) => target_bits(field.place, i64::from(target), offset),
            OperandKind::Function(_) => target_bits(field.place, i64::from(offset), offset),
            kind if let Place::Repeats(name) = field.place => {
                let first = row.slot(name).and_then(|index| inst.operands.get(index));
                first.filter(|first| first.kind == kind).map(|_| 0)
            }
            _ => operand_bits(slot, field, operand, (arch, is_extended)),
        };
        let bits = bits.and_then(|bits| Some(bits | sign_bits(field, slot.halves, operand.flags)?));
        word |= bits.ok_or(EncodeError::Operand(name, slot.name))?;
        // A descriptor without a field of its own is in the register after the other address's.
        if let (Place::Address(AddressPlace { follows: Some(first), .. }), OperandKind::Mem(address)) =
            (field.place, operand.kind)
        {
            let other = row.slot(first).and_then(|index| inst.operands.get(index));
            if other.and_then(next_uniform) != address.descriptor {
                return Err(EncodeError::Operand(name, slot.name));
            }
        }
        // An address without a width of its own has the width of the instruction.
        if let (Place::Address(place), OperandKind::Mem(address)) = (field.place, operand.kind)
            && (place.wide.is_none() || field.shape != Shape::AddressUniform)
            && address.base.is_some()
            && address.wide != slot.address_is_wide(is_extended)
        {
            return Err(EncodeError::Operand(name, slot.name));
        }
    }
    if pattern.has_clashing_signs(word) { Err(EncodeError::Signs(inst.op)) } else { Ok(word) }
}

/// The pattern of an instruction. If no pattern for its operands fits its modifiers, the first
/// pattern for its operands, which then tells what is wrong.
fn pattern_of(inst: &Inst<PReg>, arch: Arch) -> Result<&'static Pattern, EncodeError> {
    let mut fitting = pattern::fitting(inst.op, arch, &inst.operands);
    let Some(first) = fitting.next() else {
        let name = inst.row().mnemonic_on(arch);
        let is_known = pattern::of_op(inst.op, arch).next().is_some();
        return Err(if is_known { EncodeError::Form(name, arch) } else { EncodeError::Row(name, arch) });
    };
    // Most instructions have one fitting pattern.
    let Some(second) = fitting.next() else { return Ok(first) };
    let mut patterns = [first, second].into_iter().chain(fitting);
    Ok(patterns.find(|pattern| pattern.has_codes(inst.mods)).unwrap_or(first))
}

fn guard(pattern: &Pattern, guard: Option<Guard<PReg>>, file: RegFile) -> Option<u128> {
    match guard {
        None if pattern.has_guard => Some(7 << GUARD),
        None => Some(0),
        Some(Guard { reg, negated }) => {
            let bits = u128::from(reg.index()) | u128::from(negated) << 3;
            (pattern.has_guard && reg.file() == file).then_some(bits << GUARD)
        }
    }
}

/// The bits of the distance from the end of an instruction to a place in the code.
fn target_bits(place: Place, target: i64, offset: u32) -> Option<u128> {
    distance_bits(place, target - i64::from(offset) - i64::from(Program::INST_BYTES))
}

fn distance_bits(place: Place, distance: i64) -> Option<u128> {
    let Place::Target { bits, low, shift } = place else { return None };
    let scaled = distance >> shift;
    let lower = low.put(scaled as u64 & ((1 << low.len) - 1))?;
    (scaled << shift == distance).then_some(lower | bits.put_signed(scaled >> low.len)?)
}

/// The number of a register in its field.
fn number(reg: Option<PReg>, file: RegFile) -> Option<u64> {
    match reg {
        Some(reg) => (reg.file() == file).then(|| u64::from(reg.index())),
        None => Some(u64::from(file.count())),
    }
}

/// An operand's bits, given the architecture and whether the instruction's addresses are pairs.
fn operand_bits(
    slot: &Slot,
    field: &SlotField,
    operand: &Operand<PReg>,
    (arch, is_extended): (Arch, bool),
) -> Option<u128> {
    match (field.place, operand.kind) {
        (_, OperandKind::Zero(_)) if slot.never_zero.contains(arch) => None,
        (Place::Complement(bits, _), OperandKind::Reg(reg)) if reg.file() == field.file => {
            bits.put(u64::from(field.file.count() - reg.index()))
        }
        (Place::Complement(..), OperandKind::Zero(file)) if file == field.file => Some(0),
        (Place::Number(bits, _), OperandKind::Reg(reg)) => bits.put(number(Some(reg), field.file)?),
        (Place::Number(bits, _), OperandKind::Zero(file)) if file == field.file => {
            bits.put(number(None, field.file)?)
        }
        (Place::Number(bits, _), OperandKind::Imm(value)) if field.shape == Shape::Immediate => {
            match slot.imm {
                ImmFormat::Scoreboard if value >= SCOREBOARDS => None,
                ImmFormat::Named(names) if value as usize >= names.len() => None,
                ImmFormat::Signed => bits.put_signed(i64::from(value as i32)),
                _ => bits.put(u64::from(value)),
            }
        }
        (Place::Target { .. }, OperandKind::Imm(value)) => {
            distance_bits(field.place, i64::from(value as i32))
        }
        (Place::Split(low, high), OperandKind::Imm(value)) => {
            let value = u64::from(value);
            Some(low.put(value & ((1 << low.len) - 1))? | high.put(value >> low.len)?)
        }
        (Place::Absent, _) => (*operand == slot.default_operand()).then_some(0),
        (Place::Number(bits, _), OperandKind::Special(reg)) => bits.put(u64::from(reg.code())),
        (Place::Number(bits, _), OperandKind::Convergence(index)) => bits.put(u64::from(index)),
        (Place::Constant { index, offset, bank }, kind) => {
            let (register, byte, number_of_bank) = match kind {
                OperandKind::Const { bank, offset } => (None, i64::from(offset), bank),
                OperandKind::IndexedConst { bank, index, offset } => (Some(index), i64::from(offset), bank),
                _ => return None,
            };
            if index.is_none() {
                let byte = u64::try_from(byte).ok().filter(|_| register.is_none())?;
                return Some(offset.put(byte)? | bank.put(u64::from(number_of_bank))?);
            }
            let file = field.file_of_index(slot);
            let base = index.put(number(register, file)?)?;
            // Without a register, the upper half of a bank counts backwards from its end.
            let byte = if register.is_none() { i64::from(u16::try_from(byte).ok()? as i16) } else { byte };
            Some(base | offset.put_signed(byte)? | bank.put(u64::from(number_of_bank))?)
        }
        (Place::Address(place), OperandKind::Mem(address))
            if address.base.is_none() && place.needs_base.contains(arch) =>
        {
            None
        }
        (Place::Address(place), OperandKind::Mem(address)) => {
            address_bits(place, field.shape, &address, zero_is_wide(arch, is_extended))
        }
        _ => None,
    }
}

fn address_bits(
    place: AddressPlace,
    shape: Shape,
    address: &Address<PReg>,
    zero_is_wide: bool,
) -> Option<u128> {
    let mut bits = place.offset.put_signed(i64::from(address.offset))?;
    match address.base {
        None if place.base.is_none() => {}
        base => bits |= place.base.put(number(base, RegFile::Gpr)?)?,
    }
    if shape == Shape::AddressUniform && !place.wide.is_none() {
        let is_wide = match address.base {
            Some(_) => address.wide,
            None if address.wide && !zero_is_wide => return None,
            None => zero_is_wide && !address.wide,
        };
        bits |= place.wide.put(u64::from(is_wide))?;
    }
    let scale = match address.scale {
        1 => 0,
        4 => 1,
        8 => 2,
        16 => 3,
        _ => return None,
    };
    bits |= place.scale.put(scale)?;
    let uniform = match shape {
        Shape::Address => return Some(bits),
        Shape::AddressDescribed if place.follows.is_some() => return Some(bits),
        Shape::AddressDescribed if address.uniform.is_none() => address.descriptor,
        Shape::AddressDescribed => return None,
        _ => address.uniform,
    };
    Some(bits | place.uniform.put(number(uniform, RegFile::Ugpr)?)?)
}

/// The number of scoreboards.
pub(super) const SCOREBOARDS: u32 = 6;

/// Whether RZ beside a uniform register counts as a pair.
pub(super) fn zero_is_wide(arch: Arch, is_extended: bool) -> bool {
    is_extended && arch.has(Feature::ZeroBaseIsPair)
}

fn sign_bits(field: &SlotField, halves: Halves, flags: OperandFlags) -> Option<u128> {
    if !(field.has_signs || flags.neg || flags.not || flags.abs) {
        return Some(0);
    }
    let signs = field.signs;
    let one = |place: Bits, is_set: bool| place.put(u64::from(is_set));
    let half = if signs.half.is_none() { 0 } else { u64::from(halves.code(flags.half)) };
    Some(one(signs.neg, flags.neg || flags.not)? | one(signs.abs, flags.abs)? | signs.half.put(half)?)
}
