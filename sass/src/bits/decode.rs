//! Decodes bits to an instruction.

use ptxc_machine::Arch;
use smallvec::SmallVec;

use super::GUARD;
use super::encode::{SCOREBOARDS, zero_is_wide};
use super::error::DecodeError;
use super::field::SlotField;
use super::pattern::{ByCode, Pattern};
use crate::control::{Control, Illegal};
use crate::inst::{Guard, Inst};
use crate::operand::{Address, HalfSelect, Operand, OperandFlags, OperandKind};
use crate::program::{Coded, Program};
use crate::register::{PReg, RegFile};
use crate::special::SpecialReg;
use crate::table::Mods;
use crate::table::{AddressPlace, Bits, ImmFormat, Op, Place, Shape, Slot};

/// Decodes a word. `offset` is the place of the word in its section, in bytes: branch targets are
/// relative to it and are decoded to [places in the code](OperandKind::Code).
///
/// # Errors
/// If the architecture has no such instruction, or the control field is not legal.
pub fn decode(word: u128, offset: u32, arch: Arch) -> Result<Coded, DecodeError> {
    let mut coded = blank();
    decode_into(word, offset, arch, &mut coded)?;
    Ok(coded)
}

/// An instruction for [`decode_into`].
pub fn blank() -> Coded {
    let inst = Inst { op: Op::NOP, guard: None, mods: Mods::default(), operands: SmallVec::new() };
    Coded { inst, control: Control::plain(), loc: u32::MAX }
}

/// The same as [`decode`], but overwrites an existing instruction, so that a caller that decodes
/// many instructions need not move each of them. The source location stays as it is.
///
/// # Errors
/// As for [`decode`]; after an error the instruction holds arbitrary content.
pub fn decode_into(word: u128, offset: u32, arch: Arch, coded: &mut Coded) -> Result<(), DecodeError> {
    let opcode = (word & 0xfff) as u16;
    let mut is_known = false;
    for pattern in ByCode::of(arch).get(opcode) {
        is_known = true;
        if word & pattern.constant == pattern.value
            && read(pattern, word, offset, arch, &mut coded.inst).is_some()
        {
            if pattern.has_clashing_signs(word) {
                return Err(DecodeError::Signs(pattern.op));
            }
            let mut control = Control::of_word((word >> 64) as u64).map_err(DecodeError::Control)?;
            match pattern.kept.is_none() {
                true => {}
                // If the word holds the last reuse flag, the highest bit of the control field has
                // no meaning.
                false if control.reuse & Control::LAST_REUSE != 0 => {
                    return Err(DecodeError::Control(Illegal::ReuseFlags(Control::LAST_REUSE)));
                }
                false if pattern.kept.get(word) != 0 => control.reuse |= Control::LAST_REUSE,
                false => {}
            }
            pattern.check_control(&control, coded.inst.mods).map_err(DecodeError::Control)?;
            coded.control = control;
            return Ok(());
        }
    }
    Err(if is_known { DecodeError::Fields(opcode, arch) } else { DecodeError::Opcode(opcode, arch) })
}

/// Reads the fields of a pattern into an instruction and overwrites its old content; `None` if the
/// word does not have these fields.
fn read(pattern: &Pattern, word: u128, offset: u32, arch: Arch, inst: &mut Inst<PReg>) -> Option<()> {
    let row = pattern.row;
    inst.op = pattern.op;
    inst.mods = Mods::default();
    inst.operands.clear();
    for field in &pattern.mods {
        field.read(word, &mut inst.mods)?;
    }
    inst.guard = if pattern.has_guard { guard(word, row.guard)? } else { None };
    for (slot, field) in row.slots.iter().zip(&pattern.slots) {
        // Each kind of operand is pushed by its own statement, which writes the parts to their
        // final place. An operand that has just been written in parts is slow to copy.
        let operands = &mut inst.operands;
        let mut push = |kind| operands.push(Operand { kind, flags: OperandFlags::default() });
        match field.place {
            Place::Number(bits, _) if field.is_register => {
                let index = bits.get(word) as u8;
                match index < field.file.count() {
                    true => push(OperandKind::Reg(PReg::new(field.file, index))),
                    false => push(OperandKind::Zero(field.file)),
                }
            }
            Place::Number(bits, _) => push(number(slot, field, bits, word)?),
            Place::Complement(bits, _) => {
                push(register(u64::from(field.file.count()).checked_sub(bits.get(word))?, field.file));
            }
            Place::Split(low, high) => {
                push(OperandKind::Imm((low.get(word) | high.get(word) << low.len) as u32));
            }
            Place::Constant { index, offset, bank } if index.is_none() => {
                push(OperandKind::Const { bank: bank.get(word) as u8, offset: offset.get(word) as u32 });
            }
            Place::Constant { index, offset, bank } => {
                push(indexed_constant(slot, field, word, [index, offset, bank])?);
            }
            Place::Absent => push(slot.default_operand().kind),
            Place::Address(place) => {
                let mut address = address(place, field.shape, word);
                if let Some(name) = place.follows {
                    address.descriptor = Some(next_uniform(operands.get(row.slot(name)?)?)?);
                }
                let is_extended = pattern.is_extended(inst.mods);
                let zero_is_wide = zero_is_wide(arch, is_extended);
                address.wide = match place.wide.get(word) {
                    _ if place.wide.is_none() || field.shape != Shape::AddressUniform => {
                        slot.address_is_wide(is_extended) && address.base.is_some()
                    }
                    wide if address.base.is_some() => wide != 0,
                    0 => zero_is_wide,
                    _ if zero_is_wide => false,
                    _ => return None,
                };
                let lacks = match field.shape {
                    Shape::AddressDescribed => address.descriptor.is_none(),
                    Shape::AddressUniform => address.uniform.is_none() && !slot.names_uniform,
                    _ => false,
                };
                let needs_base = place.needs_base.contains(arch);
                if lacks
                    || (address.base.is_none() && needs_base)
                    || (address.base.is_none() && address.scale != 1)
                {
                    return None;
                }
                let kind = OperandKind::Mem(address);
                operands.push(Operand { kind, flags: OperandFlags::default() });
            }
            Place::Target { bits, low, shift } => {
                let distance = (bits.get_signed(word) << low.len | low.get(word) as i64) << shift;
                if field.shape == Shape::Immediate {
                    push(OperandKind::Imm(i32::try_from(distance).ok()? as u32));
                } else {
                    let target = distance + i64::from(offset) + i64::from(Program::INST_BYTES);
                    push(OperandKind::Code(i32::try_from(target).ok()?));
                }
            }
            Place::Repeats(name) => {
                let first = operands.get(row.slot(name)?)?.kind;
                operands.push(Operand { kind: first, flags: OperandFlags::default() });
            }
            Place::Source(..) | Place::Nowhere => return None,
        }
        if field.has_signs {
            inst.operands.last_mut()?.flags = flags(slot, field, word)?;
        }
        if !field.is_free && !field.takes(inst.operands.last()?, inst.mods) {
            return None;
        }
    }
    Some(())
}

/// The guard of a word: `Some(None)` for `@PT`. `@!PT`, which never holds, belongs to rows of its
/// own.
fn guard(word: u128, file: RegFile) -> Option<Option<Guard<PReg>>> {
    let index = (word >> GUARD & 7) as u8;
    let negated = word >> (GUARD + 3) & 1 != 0;
    match index < file.count() {
        true => Some(Some(Guard { reg: PReg::new(file, index), negated })),
        false => (!negated).then_some(None),
    }
}

fn register(number: u64, file: RegFile) -> OperandKind<PReg> {
    match number as u8 {
        index if index >= file.count() => OperandKind::Zero(file),
        index => OperandKind::Reg(PReg::new(file, index)),
    }
}

fn optional_register(number: u64, file: RegFile) -> Option<PReg> {
    let index = number as u8;
    (index < file.count()).then(|| PReg::new(file, index))
}

fn number(slot: &Slot, field: &SlotField, bits: Bits, word: u128) -> Option<OperandKind<PReg>> {
    let value = bits.get(word);
    Some(match field.shape {
        Shape::Immediate if slot.imm == ImmFormat::Scoreboard && value >= u64::from(SCOREBOARDS) => {
            return None;
        }
        Shape::Immediate if matches!(slot.imm, ImmFormat::Named(names) if value >= names.len() as u64) => {
            return None;
        }
        Shape::Immediate if slot.imm == ImmFormat::Signed => OperandKind::Imm(bits.get_signed(word) as u32),
        Shape::Immediate => OperandKind::Imm(u32::try_from(value).ok()?),
        Shape::Other if slot.kinds.contains(crate::table::Kinds::SPECIAL) => {
            OperandKind::Special(SpecialReg::from_code(value as u8))
        }
        Shape::Other => OperandKind::Convergence(value as u8),
        _ => register(value, field.file),
    })
}

fn indexed_constant(
    slot: &Slot,
    field: &SlotField,
    word: u128,
    [index, offset, bank]: [Bits; 3],
) -> Option<OperandKind<PReg>> {
    let bank = bank.get(word) as u8;
    let byte = offset.get_signed(word);
    match optional_register(index.get(word), field.file_of_index(slot)) {
        Some(index) => Some(OperandKind::IndexedConst { bank, index, offset: byte as i32 }),
        None => Some(OperandKind::Const { bank, offset: u32::from(byte as u16) }),
    }
}

fn address(place: AddressPlace, shape: Shape, word: u128) -> Address<PReg> {
    let uniform = optional_register(place.uniform.get(word), RegFile::Ugpr);
    let is_described = shape == Shape::AddressDescribed;
    Address {
        base: optional_register(place.base.get(word), RegFile::Gpr).filter(|_| !place.base.is_none()),
        wide: false,
        scale: [1, 4, 8, 16][place.scale.get(word) as usize & 3],
        uniform: uniform.filter(|_| shape == Shape::AddressUniform),
        offset: place.offset.get_signed(word) as i32,
        descriptor: uniform.filter(|_| is_described),
    }
}

/// The register after the uniform register of an address.
pub(super) fn next_uniform(operand: &Operand<PReg>) -> Option<PReg> {
    match operand.kind {
        OperandKind::Mem(Address { uniform: Some(uniform), .. }) => uniform.offset(1),
        _ => None,
    }
}

fn flags(slot: &Slot, field: &SlotField, word: u128) -> Option<OperandFlags> {
    let is_set = |bits: Bits| bits.get(word) != 0;
    let signs = field.signs;
    let turned = is_set(signs.neg);
    let half = match signs.half.is_none() {
        true => HalfSelect::Both,
        false => slot.halves.of_code(signs.half.get(word))?,
    };
    Some(OperandFlags { neg: turned && slot.neg, abs: is_set(signs.abs), not: turned && slot.not, half })
}
