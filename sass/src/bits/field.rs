//! The fields of a pattern: those of modifiers and those of slots. Everything that decoding asks
//! about the field of a slot is computed when the pattern is made.

use std::sync::OnceLock;

use ptxc_machine::Arch;

use super::pattern::main_file;
use crate::operand::{Operand, OperandKind};
use crate::register::{PReg, RegFile};
use crate::table::Mods;
use crate::table::{AddressPlace, Bits, Kinds, Place, Row, Shape, Signs, Slot};

/// One field for one or several modifiers.
pub(crate) struct ModField {
    bits: [Bits; 3],
    /// Whether the field consists of more than one part.
    is_split: bool,
    /// The position of its first modifier in the row.
    pub(crate) first: u8,
    /// Its modifiers: all bits of their values are set, and no others.
    own: Mods,
    /// For each combination of values its code. If a combination has several codes, the first one
    /// wins.
    codes: Vec<(Mods, u16)>,
    /// For each code its values; `None` if the code stands for no values. Only decoding needs it.
    by_code: OnceLock<Vec<Option<Mods>>>,
}

impl ModField {
    /// The field of the modifiers at these positions of the row; at least one.
    pub(super) fn new(bits: [Bits; 3], positions: &[u8], codes: Vec<(Mods, u16)>) -> ModField {
        let is_split = !bits[1].is_none() || !bits[2].is_none();
        let mut own = Mods::FIRST;
        for &position in positions {
            own.set(usize::from(position), u8::MAX);
        }
        ModField { bits, is_split, first: positions[0], own, codes, by_code: OnceLock::new() }
    }

    /// Takes the values of its modifiers from a word; `None` if the bits stand for no values.
    pub(crate) fn read(&self, word: u128, mods: &mut Mods) -> Option<()> {
        let mut code = self.bits[0].get(word);
        if self.is_split {
            let [low, middle, high] = self.bits;
            code |= middle.get(word) << low.len | high.get(word) << (low.len + middle.len);
        }
        let values = self.by_code.get_or_init(|| self.sorted()).get(code as usize)?;
        mods.add((*values)?);
        Some(())
    }

    /// The values of each code.
    fn sorted(&self) -> Vec<Option<Mods>> {
        let mut all = vec![None; 1 << self.bits.iter().map(|bits| bits.len).sum::<u8>()];
        for &(values, code) in &self.codes {
            all[usize::from(code)] = Some(values);
        }
        all
    }

    /// The bits for the values of an instruction; `None` if no code stands for their combination.
    pub(crate) fn put(&self, mods: Mods) -> Option<u128> {
        let values = mods.only(self.own);
        let &(_, code) = self.codes.iter().find(|&&(known, _)| known == values)?;
        self.word(code)
    }

    fn word(&self, code: u16) -> Option<u128> {
        let mut code = u64::from(code);
        if !self.is_split {
            return self.bits[0].put(code);
        }
        let mut word = 0;
        for bits in self.bits {
            word |= bits.put(code & ((1 << bits.len) - 1))?;
            code >>= bits.len;
        }
        (code == 0).then_some(word)
    }

    pub(crate) fn mask(&self) -> u128 {
        self.bits.iter().fold(0, |mask, bits| mask | bits.mask())
    }

    /// The bits of each combination of values.
    #[cfg(test)]
    pub(crate) fn words(&self) -> Vec<u128> {
        self.codes.iter().filter_map(|&(_, code)| self.word(code)).collect()
    }

    /// The mask and the bits of the field, if it has only one combination of values.
    pub(super) fn settled(&self) -> Option<(u128, u128)> {
        let [(_, code)] = self.codes[..] else { return None };
        Some((self.mask(), self.word(code)?))
    }
}

/// The place of a slot in a pattern.
pub(crate) struct SlotField {
    pub(crate) shape: Shape,
    /// The file of a register in it.
    pub(crate) file: RegFile,
    /// The place in this form: never [`Place::Source`].
    pub(crate) place: Place,
    /// The signs that it takes here.
    pub(crate) signs: Signs,
    /// Whether the field takes any signs.
    pub(crate) has_signs: bool,
    /// Whether the field is the number of a register, and nothing else.
    pub(crate) is_register: bool,
    /// Whether the field [takes](Self::takes) every operand.
    pub(crate) is_free: bool,
    /// Whether the constant register cannot fill the field.
    is_never_zero: bool,
    /// Whether another form encodes the default of the slot.
    is_never_default: bool,
    /// The modifiers, by position and value, that keep the slot at its default.
    hidden_with: Vec<(u8, u8)>,
    /// Its default.
    default: Operand<PReg>,
}

impl SlotField {
    /// The field of a slot of the row that has this shape and place on the architecture; `None` if
    /// the place is not known.
    pub(super) fn new(row: &Row, slot: &Slot, shape: Shape, place: Place, arch: Arch) -> Option<SlotField> {
        let main = main_file(slot);
        let file = match (shape, main) {
            (Shape::Uniform, RegFile::Gpr) => RegFile::Ugpr,
            (Shape::Uniform, RegFile::Pred) => RegFile::Upred,
            _ => main,
        };
        let (place, signs) = match place {
            Place::Nowhere => return None,
            _ if shape == Shape::Absent => (Place::Absent, Signs::NONE),
            Place::Number(_, signs) | Place::Complement(_, signs) => (place, signs),
            Place::Source(bits, signs) => {
                let place = match shape {
                    Shape::Register => Place::Number(bits, signs),
                    Shape::Uniform => Place::Number(Place::UNIFORM, signs),
                    Shape::Immediate => Place::Number(Place::WIDE, signs),
                    _ => {
                        let (offset, bank) = (Place::CONSTANT_OFFSET, Place::CONSTANT_BANK);
                        Place::Constant { index: Bits::NONE, offset, bank }
                    }
                };
                (place, signs)
            }
            other => (other, Signs::NONE),
        };
        // The numbers of uniform registers have 6 bits in every place.
        let place = match place {
            Place::Number(bits, signs) if file == RegFile::Ugpr && shape != Shape::Immediate => {
                Place::Number(Bits::new(bits.lo, bits.len.min(6)), signs)
            }
            // Without a multiplied register these bits are zero.
            Place::Address(at) if !slot.accepts(Kinds::MEM_SCALED, arch) => {
                Place::Address(AddressPlace { scale: Bits::NONE, ..at })
            }
            place => place,
        };
        let signs = if shape == Shape::Immediate { Signs::NONE } else { signs };
        let signs = Signs {
            neg: if slot.neg || slot.not { signs.neg } else { Bits::NONE },
            abs: if slot.abs { signs.abs } else { Bits::NONE },
            half: if slot.halves == crate::table::Halves::None { Bits::NONE } else { signs.half },
        };
        let hides = |&(position, value): &(u8, u8)| {
            slot.hidden_with == Some(row.mods[usize::from(position)].values[usize::from(value)])
        };
        let choices = (0u8..).zip(row.mods).flat_map(|(position, modifier)| {
            (0..modifier.values.len()).map(move |value| (position, value as u8))
        });
        let hidden_with =
            if slot.hidden_with.is_some() { choices.filter(hides).collect() } else { Vec::new() };
        let is_own = !matches!(place, Place::Repeats(_));
        let is_never_zero = is_own && slot.never_zero.contains(arch);
        let is_never_default = slot.is_empty_at_default && shape != Shape::Absent;
        Some(SlotField {
            shape,
            file,
            place,
            signs,
            is_register: matches!(shape, Shape::Register | Shape::Uniform),
            has_signs: !(signs.neg.is_none() && signs.abs.is_none() && signs.half.is_none()),
            is_free: !is_never_zero && !is_never_default && slot.hidden_with.is_none(),
            is_never_zero,
            is_never_default,
            hidden_with,
            default: slot.default_operand(),
        })
    }

    /// The reuse flag of a register in this slot.
    pub(super) fn reuse(&self, slot: &Slot, arch: Arch) -> Option<u8> {
        let has_flag = self.shape == Shape::Register && slot.reuse_on.contains(arch);
        slot.reuse.filter(|_| has_flag)
    }

    /// The file of the register part of an indexed constant.
    pub(crate) fn file_of_index(&self, slot: &Slot) -> RegFile {
        if slot.kinds.contains(Kinds::CONST_AT_UR) { RegFile::Ugpr } else { RegFile::Gpr }
    }

    pub(super) fn mask(&self) -> u128 {
        let place = match self.place {
            Place::Nowhere | Place::Absent | Place::Repeats(_) => 0,
            Place::Number(bits, _) | Place::Complement(bits, _) | Place::Source(bits, _) => bits.mask(),
            Place::Target { bits, low, .. } => bits.mask() | low.mask(),
            Place::Split(low, high) => low.mask() | high.mask(),
            Place::Constant { index, offset, bank } => index.mask() | offset.mask() | bank.mask(),
            Place::Address(at) => {
                let uniform = if self.shape == Shape::Address { 0 } else { at.uniform.mask() };
                let wide = if self.shape == Shape::AddressUniform { at.wide.mask() } else { 0 };
                at.base.mask() | wide | at.scale.mask() | at.offset.mask() | uniform
            }
        };
        place | self.signs.neg.mask() | self.signs.abs.mask() | self.signs.half.mask()
    }

    /// Whether a modifier is chosen that takes the operand's place.
    pub(super) fn is_hidden(&self, mods: Mods) -> bool {
        self.hidden_with.iter().any(|&(position, value)| mods.get(usize::from(position)) == value)
    }

    /// Whether the operand can be in the field of an instruction with these modifiers.
    pub(super) fn takes(&self, operand: &Operand<PReg>, mods: Mods) -> bool {
        let is_zero = matches!(operand.kind, OperandKind::Zero(_));
        let is_default = *operand == self.default;
        // An operand that looks like an absent one has the form of the absent one.
        let excluded = (self.is_never_zero && is_zero)
            || (self.is_never_default && is_default)
            || (!is_default && self.is_hidden(mods));
        !excluded
    }
}
