//! The places of an instruction's parts in its 128 bits.
//!
//! ```text
//! bit 127‥105   104 ‥‥‥‥‥‥‥‥‥‥‥ 72  71‥64  63 ‥‥‥ 32  31‥24  23‥16  15‥12  11‥9   8‥0
//!     control   modifiers, signs    c      b         a      d      guard  form   operation
//! ```
//!
//! Most instructions follow this picture. Bits 9 to 11 tell the kinds of b and c. One of the two
//! may be an immediate, a word of a constant bank or a uniform register, which is then in bits 32
//! to 63. If that is c, the register of b moves to the place of c. A [`Form`] is one such choice; a
//! row lists its forms.
//!
//! The facts in this file and the places in the rows come from one experiment: take a word that
//! ptxas made, flip a bit, and disassemble it with nvdisasm (`docs/facts/encoding.md`).

use ptxc_machine::Archs;

use super::row::ModKind;

/// A field of the instruction word: bits `lo` to `lo + len - 1`. The length 0 stands for no place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bits {
    /// The lowest bit.
    pub lo: u8,
    /// The number of bits.
    pub len: u8,
}

impl Bits {
    /// No place.
    pub const NONE: Bits = Bits { lo: 0, len: 0 };

    /// A field.
    pub const fn new(lo: u8, len: u8) -> Bits {
        Bits { lo, len }
    }

    /// Whether it is no place.
    pub const fn is_none(self) -> bool {
        self.len == 0
    }

    /// Its bits in the word, as ones.
    pub const fn mask(self) -> u128 {
        ((1u128 << self.len) - 1) << self.lo
    }

    /// Its value in a word.
    pub const fn get(self, word: u128) -> u64 {
        let ones = if self.len < 64 { (1 << self.len) - 1 } else { u64::MAX };
        (word >> self.lo) as u64 & ones
    }

    /// Its signed value in a word.
    pub const fn get_signed(self, word: u128) -> i64 {
        if self.len == 0 {
            return 0;
        }
        let unused = 64 - self.len as u32;
        ((self.get(word) << unused) as i64) >> unused
    }

    /// A word with the value in this field and zeros elsewhere; `None` if the value has more bits.
    pub const fn put(self, value: u64) -> Option<u128> {
        if self.len < 64 && value >> self.len != 0 { None } else { Some((value as u128) << self.lo) }
    }

    /// The same for a value with sign.
    pub const fn put_signed(self, value: i64) -> Option<u128> {
        let unused = 64 - self.len as u32;
        if self.len == 0 || (value << unused) >> unused != value {
            return if value == 0 { Some(0) } else { None };
        }
        Some((((value as u64) << unused >> unused) as u128) << self.lo)
    }
}

/// Bits that always have one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// The bits.
    pub bits: Bits,
    /// Their value.
    pub value: u64,
    /// The architectures with this value; on others the bits are zero.
    pub archs: Archs,
}

impl Fixed {
    /// On the architectures from Turing to Hopper.
    pub const fn new(lo: u8, len: u8, value: u64) -> Fixed {
        Fixed { bits: Bits::new(lo, len), value, archs: Archs::TURING_TO_HOPPER }
    }

    /// On those architectures only.
    pub const fn on(mut self, archs: Archs) -> Fixed {
        self.archs = archs;
        self
    }
}

/// The places of an operand's signs; no place for a sign that the slot does not take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signs {
    /// `-`, and `~` or `!`: no slot takes both.
    pub neg: Bits,
    /// The bars.
    pub abs: Bits,
    /// The choice of halves; their codes are those of [`Halves::code`](super::Halves::code).
    pub half: Bits,
}

/// The place of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Not known yet.
    Nowhere,
    /// In no bit: the operand stays at its default. For [forms](Form::places) that lack the
    /// operand, and for operands that are the same in all instructions.
    Absent,
    /// A number in one field: of a register, a predicate, a special register, a convergence
    /// barrier; an immediate.
    Number(Bits, Signs),
    /// A register in that field, or anything else in [bits 32 to 63](Self::WIDE): 32 bits of an
    /// immediate, a word of a constant bank, a uniform register. The row's [forms](Form) tell them
    /// apart.
    Source(Bits, Signs),
    /// A number in one field, counted down from that of the constant register: 0 for UPT.
    Complement(Bits, Signs),
    /// An immediate in two fields, the lower part first.
    Split(Bits, Bits),
    /// A memory address.
    Address(AddressPlace),
    /// A constant bank at an offset that may have a register part.
    Constant {
        /// The register part.
        index: Bits,
        /// The offset in bytes, with sign.
        offset: Bits,
        /// The bank.
        bank: Bits,
    },
    /// A place in the code: its distance from the end of the instruction, in bytes, with sign; as
    /// an immediate the distance itself.
    Target {
        /// The field.
        bits: Bits,
        /// Further bits below those, if any.
        low: Bits,
        /// The number of lowest bits of the distance that are in no field; they are zero.
        shift: u8,
    },
    /// In no bits of its own: it repeats the operand of the slot with this name.
    Repeats(&'static str),
}

/// The parts of a memory address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressPlace {
    /// The general register.
    pub base: Bits,
    /// The bit that is set if a uniform register is added and the general register is a pair, or
    /// absent. Without this bit, and without a uniform register, the general register is as wide as
    /// the instruction's addresses.
    pub wide: Bits,
    /// The factor of the general register: 0 to 3 for 1, 4, 8, 16.
    pub scale: Bits,
    /// The uniform register that is added, or the descriptor.
    pub uniform: Bits,
    /// The slot whose uniform register has the descriptor in the next register, instead of a
    /// descriptor with a field of its own. The descriptor is then that one register: only its upper
    /// word is left.
    pub follows: Option<&'static str>,
    /// The offset, with sign.
    pub offset: Bits,
    /// The architectures on which there must be a general register.
    pub needs_base: Archs,
}

impl AddressPlace {
    /// Base and offset where most instructions have them.
    pub const PLAIN: AddressPlace = AddressPlace {
        base: Bits::new(24, 8),
        wide: Bits::NONE,
        scale: Bits::NONE,
        uniform: Bits::NONE,
        follows: None,
        offset: Bits::new(40, 24),
        needs_base: Archs::NONE,
    };

    /// The same, with a general register required on those architectures.
    pub const fn needs_base(mut self, archs: Archs) -> AddressPlace {
        self.needs_base = archs;
        self
    }

    /// The same with a uniform register from bit `lo` on.
    pub const fn uniform(mut self, lo: u8) -> AddressPlace {
        self.uniform = Bits::new(lo, 6);
        self
    }

    /// The same with a descriptor in the register after the uniform register of a slot.
    pub const fn follows(mut self, slot: &'static str) -> AddressPlace {
        (self.uniform, self.follows) = (Bits::NONE, Some(slot));
        self
    }

    /// The same with the width in bit `lo`.
    pub const fn wide(mut self, lo: u8) -> AddressPlace {
        self.wide = Bits::new(lo, 1);
        self
    }

    /// The same with a factor in the two bits from bit `lo` on.
    pub const fn scale(mut self, lo: u8) -> AddressPlace {
        self.scale = Bits::new(lo, 2);
        self
    }
}

impl Place {
    /// The place of operands other than registers, if a [`Source`](Place::Source) takes them.
    pub const WIDE: Bits = Bits::new(32, 32);

    /// The offset of a word of a constant bank in [`WIDE`](Self::WIDE), in bytes. nvdisasm shows it
    /// with a sign: offsets in the upper half of a bank are negative.
    pub const CONSTANT_OFFSET: Bits = Bits::new(38, 16);

    /// The number of the bank in [`WIDE`](Self::WIDE).
    pub const CONSTANT_BANK: Bits = Bits::new(54, 5);

    /// A uniform register in [`WIDE`](Self::WIDE).
    pub const UNIFORM: Bits = Bits::new(32, 6);

    /// The destination.
    pub const D: Place = Place::Number(Bits::new(16, 8), Signs::NONE);

    /// The first source.
    pub const A: Place = Place::Number(Bits::new(24, 8), Signs::A);

    /// The second source, whatever it is.
    pub const B: Place = Place::Source(Bits::new(32, 8), Signs::B);

    /// The third source, whatever it is.
    pub const C: Place = Place::Source(Bits::new(64, 8), Signs::C);

    /// The third source if it is two halves, whatever it is: its signs are elsewhere.
    pub const HALF_C: Place = Place::Source(Bits::new(64, 8), Signs::HALF_C);

    /// The second source if it is one half: a bit tells which.
    pub const UPPER_B: Place = Place::Source(Bits::new(32, 8), Signs { half: Bits::new(60, 1), ..Signs::B });

    /// A number of `len` bits from bit `lo` on, [counted down](Self::Complement); the next bit is
    /// the sign.
    pub const fn complement(lo: u8, len: u8) -> Place {
        let neg = Bits::new(lo + len, 1);
        Place::Complement(Bits::new(lo, len), Signs { neg, abs: Bits::NONE, half: Bits::NONE })
    }

    /// A place in the code whose distance is in 48 bits, in words.
    pub const TARGET: Place = Place::Target { bits: Bits::new(34, 48), low: Bits::NONE, shift: 2 };

    /// The same from sm_90 on, where unused bits of the second operand extend the field downwards.
    pub const LONG_TARGET: Place = Place::Target { bits: Bits::new(34, 48), low: Bits::new(16, 8), shift: 2 };

    /// A number of `len` bits from bit `lo` on; the next bit is the sign of a predicate.
    pub const fn number(lo: u8, len: u8) -> Place {
        let neg = Bits::new(lo + len, 1);
        Place::Number(Bits::new(lo, len), Signs { neg, abs: Bits::NONE, half: Bits::NONE })
    }
}

impl Signs {
    /// No signs.
    pub const NONE: Signs = Signs { neg: Bits::NONE, abs: Bits::NONE, half: Bits::NONE };

    /// The signs of the first source.
    pub const A: Signs = Signs { neg: Bits::new(72, 1), abs: Bits::new(73, 1), half: Bits::new(74, 2) };

    /// The signs of the second source.
    pub const B: Signs = Signs { neg: Bits::new(63, 1), abs: Bits::new(62, 1), half: Bits::new(60, 2) };

    /// The signs of the third source.
    pub const C: Signs = Signs { neg: Bits::new(75, 1), abs: Bits::new(74, 1), half: Bits::NONE };

    /// The signs of the third source if the halves of the first take their place.
    pub const HALF_C: Signs = Signs { neg: Bits::new(84, 1), abs: Bits::new(83, 1), half: Bits::new(81, 2) };
}

/// The shape of an operand, as far as the encoding distinguishes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// A register of the main file of the slot.
    Register,
    /// A uniform register or predicate in a slot whose main file has one per lane.
    Uniform,
    /// An immediate.
    Immediate,
    /// A word of a constant bank.
    Constant,
    /// The same at an offset in a register.
    IndexedConstant,
    /// A memory address without uniform part.
    Address,
    /// A memory address with a uniform part.
    AddressUniform,
    /// A memory address with a descriptor.
    AddressDescribed,
    /// A place in the code, a special register, a convergence barrier, all predicates.
    Other,
    /// Nothing, if the slot [may be empty](super::Slot::may_be_empty): the default, without a
    /// place.
    Absent,
}

/// The operation of a [`Form`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormCode {
    /// The opcode of the row, with these three bits as bits 9 to 11.
    Upper(u8),
    /// All twelve bits.
    Whole(u16),
    /// The opcode of the row.
    Same,
}

/// One way to encode a row, by the shapes of its operands and the values of its modifiers.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// The slots that decide on the form, by name, and their shapes. A slot that the row lacks
    /// decides nothing.
    pub when: &'static [(&'static str, Shape)],
    /// The modifiers that decide on the form, and their values; all others may have any value.
    pub with: &'static [(ModKind, &'static [&'static str])],
    /// The operation.
    pub code: FormCode,
    /// Whether b and c swap places.
    pub swaps: bool,
    /// Bits of this form, beyond those of the row.
    pub fixed: &'static [Fixed],
    /// The slots with other places than in the row, by name.
    pub places: &'static [(&'static str, Place)],
    /// Fields of modifiers with other places than in the row. An instruction whose values have no
    /// code here does not have this form.
    pub joint: &'static [Joint],
    /// The architectures on which it exists.
    pub archs: Archs,
}

/// Bit 91: bits 32 to 37 are a uniform register.
const BY_UNIFORM: &[Fixed] = &[Fixed::new(91, 1, 1)];

impl Form {
    /// A form with bits 9 to 11 of its own.
    pub const fn upper(when: &'static [(&'static str, Shape)], code: u8) -> Form {
        Form { code: FormCode::Upper(code), ..Form::same(when) }
    }

    /// A form with the opcode of the row.
    pub const fn same(when: &'static [(&'static str, Shape)]) -> Form {
        Form {
            when,
            with: &[],
            code: FormCode::Same,
            swaps: false,
            fixed: &[],
            places: &[],
            joint: &[],
            archs: Archs::TURING_TO_HOPPER,
        }
    }

    /// The same with an opcode of its own.
    pub const fn opcode(mut self, code: u16) -> Form {
        self.code = FormCode::Whole(code);
        self
    }

    /// The same with b and c swapped.
    pub const fn swapped(mut self) -> Form {
        self.swaps = true;
        self
    }

    /// The same with these bits.
    pub const fn fixed(mut self, fixed: &'static [Fixed]) -> Form {
        self.fixed = fixed;
        self
    }

    /// The same with those values of modifiers only.
    pub const fn with(mut self, with: &'static [(ModKind, &'static [&'static str])]) -> Form {
        self.with = with;
        self
    }

    /// The same with those slots elsewhere.
    pub const fn places(mut self, places: &'static [(&'static str, Place)]) -> Form {
        self.places = places;
        self
    }

    /// The same with those fields of modifiers.
    pub const fn joint(mut self, joint: &'static [Joint]) -> Form {
        self.joint = joint;
        self
    }

    /// The same on those architectures.
    pub const fn on(mut self, archs: Archs) -> Form {
        self.archs = archs;
        self
    }

    /// The forms of rows whose b may be other than a register.
    pub const B: &'static [Form] = &[
        Form::upper(&[("b", Shape::Register), ("c", Shape::Register)], 1),
        Form::upper(&[("b", Shape::Immediate), ("c", Shape::Register)], 4),
        Form::upper(&[("b", Shape::Constant), ("c", Shape::Register)], 5),
        Form::upper(&[("b", Shape::Uniform), ("c", Shape::Register)], 6).fixed(BY_UNIFORM),
    ];

    /// The forms of rows whose b or c may be other than a register.
    pub const BC: &'static [Form] = &[
        Form::upper(&[("b", Shape::Register), ("c", Shape::Register)], 1),
        Form::upper(&[("b", Shape::Register), ("c", Shape::Immediate)], 2).swapped(),
        Form::upper(&[("b", Shape::Register), ("c", Shape::Constant)], 3).swapped(),
        Form::upper(&[("b", Shape::Immediate), ("c", Shape::Register)], 4),
        Form::upper(&[("b", Shape::Constant), ("c", Shape::Register)], 5),
        Form::upper(&[("b", Shape::Uniform), ("c", Shape::Register)], 6).fixed(BY_UNIFORM),
        Form::upper(&[("b", Shape::Register), ("c", Shape::Uniform)], 7).swapped().fixed(BY_UNIFORM),
    ];

    /// The forms of rows without c whose b is encoded as if it were c: sums of floats.
    pub const B_AS_C: &'static [Form] = &[
        Form::upper(&[("b", Shape::Register)], 1),
        Form::upper(&[("b", Shape::Immediate)], 2),
        Form::upper(&[("b", Shape::Constant)], 3),
        Form::upper(&[("b", Shape::Uniform)], 7).fixed(BY_UNIFORM),
    ];
}

/// One field for several modifiers: a code stands for a combination of their values.
#[derive(Clone, Copy, Debug)]
pub struct Joint {
    /// The modifiers.
    pub kinds: &'static [ModKind],
    /// The field.
    pub bits: Bits,
    /// The values, in the order of `kinds`, and their code.
    pub codes: &'static [(&'static [&'static str], u16)],
    /// The architectures on which the field exists.
    pub archs: Archs,
}

impl Joint {
    /// On the architectures from Turing to Hopper.
    pub const fn new(
        kinds: &'static [ModKind],
        lo: u8,
        len: u8,
        codes: &'static [(&'static [&'static str], u16)],
    ) -> Joint {
        Joint { kinds, bits: Bits::new(lo, len), codes, archs: Archs::TURING_TO_HOPPER }
    }

    /// On those architectures only.
    pub const fn on(mut self, archs: Archs) -> Joint {
        self.archs = archs;
        self
    }
}
