//! The modifiers of a row.

use ptxc_machine::{Arch, Archs};

use super::place::Bits;
use super::slot::Slot;

/// What a modifier is about. Rows name their modifiers by kind, so that a program can ask for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ModKind {
    /// Access size: empty for 32 bits, `.U8`, `.S8`, `.U16`, `.S16`, `.64`, `.128`; of matrices their number.
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
    /// Saturation: to 0 through 1, to finite numbers, and of negative numbers to zero.
    Sat,
    /// Memory order: `.STRONG`, `.CONSTANT`, ….
    Order,
    /// Memory scope: `.SM`, `.GPU`, `.SYS`.
    Scope,
    /// Eviction and other cache hints.
    Cache,
    /// How much the second-level cache fetches with it: `.LTC64B`, `.LTC128B`, `.LTC256B`.
    Prefetch,
    /// Whether the descriptor is that of a cache policy, where the instruction says so.
    Policy,
    /// 64-bit addresses: `.E`.
    Extended,
    /// What an atomic does.
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
    /// The element type of the second matrix, where it may differ from that of the first.
    SecondType,
    /// The sign of the first matrix that a descriptor names.
    NegativeA,
    /// The same of the second.
    NegativeB,
    /// How the first matrix lies: by rows or columns, or transposed.
    LayoutA,
    /// The same of the second.
    LayoutB,
    /// The group of asynchronous instructions that ends here: `gsb0`.
    Group,
    /// The components of a texel that are wanted or stored: `0x8`, a bit each, or `.RG`.
    Components,
    /// What a texture access needs beyond coordinates and level: `.AOFFI`, `.DC`.
    Sources,
    /// What the texture unit need not, or shall, do besides: `.NODEP`, `.NDV`, `.MS`.
    Hint,
}

/// Where a modifier stands in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stand {
    /// Behind the mnemonic and the modifiers in front of it.
    Mnemonic,
    /// Behind the operand of that slot.
    Operand(&'static str),
    /// As the last operand.
    Last,
}

/// One modifier of a row: its values in the order of their encoding.
#[derive(Clone, Copy, Debug)]
pub struct Modifier {
    /// What it is about.
    pub kind: ModKind,
    /// The text of each value, dot included; empty where the value prints nothing.
    pub values: &'static [&'static str],
    /// The index of the default.
    pub default: u8,
    /// The values that exist on some of the row's architectures only.
    pub limits: &'static [(&'static str, Archs)],
    /// The values that are written differently on some architectures: the value, where, how.
    pub spellings: &'static [(&'static str, Archs, &'static str)],
    /// Where it is encoded; nowhere where it has one value, or a [`Joint`](super::place::Joint) has it.
    pub bits: Bits,
    /// Where further bits of its code are, above those; the lower ones first.
    pub high: [Bits; 2],
    /// The codes of the values; empty where they count from 0.
    pub codes: &'static [u16],
    /// Their codes on some architectures, if those are others there.
    pub codes_on: Option<(Archs, &'static [u16])>,
    /// Where it stands in the text.
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

    /// Whether it stands behind the operand of that slot.
    pub fn is_behind(&self, slot: &Slot) -> bool {
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

    /// Where the value exists, on those of the row's architectures.
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

    /// The same with so many more bits of the code from that one on.
    pub const fn and_at(mut self, lo: u8, len: u8) -> Modifier {
        let place = if self.high[0].is_none() { 0 } else { 1 };
        self.high[place] = Bits::new(lo, len);
        self
    }

    /// The same with those codes, one a value.
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
