//! The modifiers of a row.

use ptxc_machine::{Arch, Archs};

use super::place::Bits;
use super::slot::Slot;

/// The chosen value of each of a row's modifiers, in the row's order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mods([u8; 8]);

impl Mods {
    /// The first value of each.
    pub(crate) const FIRST: Mods = Mods([0; 8]);

    /// The choice for the modifier at a position of the row.
    pub const fn get(&self, position: usize) -> u8 {
        self.0[position]
    }

    /// The choices for all modifiers, and zeros after them.
    pub(crate) const fn all(self) -> [u8; 8] {
        self.0
    }

    /// The choices for these modifiers only, and zeros for the others. All bits of the modifiers
    /// are set in `own`.
    pub(crate) const fn only(self, own: Mods) -> Mods {
        Mods((u64::from_ne_bytes(self.0) & u64::from_ne_bytes(own.0)).to_ne_bytes())
    }

    /// Makes these choices for modifiers that are at their first value so far.
    pub(crate) const fn add(&mut self, others: Mods) {
        self.0 = (u64::from_ne_bytes(self.0) | u64::from_ne_bytes(others.0)).to_ne_bytes();
    }

    /// Makes the choice for the modifier at a position of the row.
    pub const fn set(&mut self, position: usize, value: u8) {
        self.0[position] = value;
    }
}

/// The kind of a modifier. Rows name their modifiers by kind, so that a program can ask for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ModKind {
    /// Access size: empty for 32 bits, `.U8`, `.S8`, `.U16`, `.S16`, `.64`, `.128`; for matrices,
    /// their number.
    Size,
    /// A comparison: `.LT`, `.GE`, ….
    Compare,
    /// How a predicate is combined with the source predicate: `.AND`, `.OR`, `.XOR`.
    Combine,
    /// Signed or unsigned reading of operands.
    Sign,
    /// Flush to zero.
    Ftz,
    /// Rounding.
    Round,
    /// The power of two by which a result is multiplied or divided.
    Scale,
    /// Saturation: to 0 through 1, to finite numbers, and of negative numbers to zero.
    Sat,
    /// Memory order: `.STRONG`, `.CONSTANT`, ….
    Order,
    /// Memory scope: `.SM`, `.GPU`, `.SYS`.
    Scope,
    /// Eviction and other cache hints.
    Cache,
    /// The amount that the second-level cache fetches with the access: `.LTC64B`, `.LTC128B`,
    /// `.LTC256B`.
    Prefetch,
    /// Whether the descriptor is that of a cache policy, in instructions that tell.
    Policy,
    /// 64-bit addresses: `.E`.
    Extended,
    /// The operation of an atomic.
    Atomic,
    /// The operand type of an atomic or conversion.
    DataType,
    /// The source type of a conversion.
    SourceType,
    /// The mode of a shuffle, vote, barrier, funnel shift or MUFU.
    Mode,
    /// A second mode: direction, high half, wrap.
    Variant,
    /// The part of a barrier: `.DEFER_BLOCKING`.
    Defer,
    /// The reduction of a barrier.
    Reduction,
    /// The shape of matrices, or the number of dimensions of a tensor.
    Shape,
    /// The element type of the second matrix, if it may differ from that of the first.
    SecondType,
    /// The sign of the first matrix that a descriptor names.
    NegativeA,
    /// The same of the second.
    NegativeB,
    /// The layout of the first matrix: by rows or columns, or transposed.
    LayoutA,
    /// The same of the second.
    LayoutB,
    /// The group of asynchronous instructions that ends here: `gsb0`.
    Group,
    /// The components of a texel that are wanted or stored: `0x8`, a bit each, or `.RG`.
    Components,
    /// The sources of a texture access beyond coordinates and level: `.AOFFI`, `.DC`.
    Sources,
    /// Further demands on the texture unit, or exemptions from its duties: `.NODEP`, `.NDV`, `.MS`.
    Hint,
}

/// The place of a modifier in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stand {
    /// After the mnemonic and the earlier modifiers.
    Mnemonic,
    /// After the operand of that slot.
    Operand(&'static str),
    /// As the last operand.
    Last,
}

/// One modifier of a row: its values in the order of their encoding.
#[derive(Clone, Copy, Debug)]
pub struct Modifier {
    /// Its kind.
    pub kind: ModKind,
    /// The text of each value, dot included; empty where the value prints nothing.
    pub values: &'static [&'static str],
    /// The index of the default.
    pub default: u8,
    /// The values that exist on some of the row's architectures only.
    pub limits: &'static [(&'static str, Archs)],
    /// The values that are written differently on some architectures: the value, the architectures,
    /// the text there.
    pub spellings: &'static [(&'static str, Archs, &'static str)],
    /// The field of its code; empty if it has only one value or belongs to a
    /// [`Joint`](super::place::Joint).
    pub bits: Bits,
    /// The fields of further, higher bits of its code; the lower ones first.
    pub high: [Bits; 2],
    /// The codes of the values; empty if they count from 0.
    pub codes: &'static [u16],
    /// The codes on some architectures, if they differ there.
    pub codes_on: Option<(Archs, &'static [u16])>,
    /// Its place in the text.
    pub stand: Stand,
}

impl Modifier {
    /// A modifier whose first value is the default.
    pub const fn new(kind: ModKind, values: &'static [&'static str]) -> Modifier {
        Modifier {
            kind,
            values,
            default: 0,
            limits: &[],
            spellings: &[],
            bits: Bits::NONE,
            high: [Bits::NONE; 2],
            codes: &[],
            codes_on: None,
            stand: Stand::Mnemonic,
        }
    }

    /// The same at another place of the text.
    pub const fn stand(mut self, stand: Stand) -> Modifier {
        self.stand = stand;
        self
    }

    /// Whether it follows the operand of that slot.
    pub fn follows(&self, slot: &Slot) -> bool {
        matches!(self.stand, Stand::Operand(name) if name == slot.name)
    }

    /// The same with the value of that index as the default.
    pub const fn default_to(mut self, index: u8) -> Modifier {
        self.default = index;
        self
    }

    /// The same, where those values exist on those architectures only.
    pub const fn limited(mut self, limits: &'static [(&'static str, Archs)]) -> Modifier {
        self.limits = limits;
        self
    }

    /// The same, where those values are written differently on those architectures.
    pub const fn spelled(mut self, spellings: &'static [(&'static str, Archs, &'static str)]) -> Modifier {
        self.spellings = spellings;
        self
    }

    /// The architectures on which the value exists, if the row does.
    pub fn archs(&self, value: &str) -> Archs {
        let limits = self.limits.iter().filter(|(limited, _)| *limited == value);
        limits.fold(super::UNLIMITED, |all, &(_, archs)| all.and(archs))
    }

    /// Whether the value exists on the architecture.
    pub fn exists(&self, value: &str, arch: Arch) -> bool {
        self.archs(value).contains(arch)
    }

    /// The text of a value on the architecture.
    pub fn text(&self, value: &'static str, arch: Arch) -> &'static str {
        let other = self.spellings.iter().find(|(name, archs, _)| *name == value && archs.contains(arch));
        other.map_or(value, |(_, _, text)| text)
    }

    /// The same at that place of the encoding.
    pub const fn at(mut self, lo: u8, len: u8) -> Modifier {
        self.bits = Bits::new(lo, len);
        self
    }

    /// The same with `len` more bits of the code from bit `lo` on.
    pub const fn and_at(mut self, lo: u8, len: u8) -> Modifier {
        let place = if self.high[0].is_none() { 0 } else { 1 };
        self.high[place] = Bits::new(lo, len);
        self
    }

    /// The same with those codes, one per value.
    pub const fn codes(mut self, codes: &'static [u16]) -> Modifier {
        self.codes = codes;
        self
    }

    /// The same with those codes on those architectures.
    pub const fn codes_on(mut self, archs: Archs, codes: &'static [u16]) -> Modifier {
        self.codes_on = Some((archs, codes));
        self
    }

    /// The code of the value of that index on the architecture.
    pub fn code(&self, value: usize, arch: Arch) -> u16 {
        match self.codes_on {
            Some((archs, codes)) if archs.contains(arch) => codes[value],
            _ if self.codes.is_empty() => value as u16,
            _ => self.codes[value],
        }
    }
}
