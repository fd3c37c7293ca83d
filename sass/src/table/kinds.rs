//! The properties of operands: kinds, widths, formats of constants, and the halves that are read.

use crate::operand::{HalfSelect, Operand, OperandKind};
use crate::register::{RegFile, Register};

/// A set of operand kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kinds(u16);

impl Kinds {
    /// General registers and RZ.
    pub const R: Kinds = Kinds(1);
    /// Uniform registers and URZ.
    pub const UR: Kinds = Kinds(2);
    /// Predicates and PT.
    pub const P: Kinds = Kinds(4);
    /// Uniform predicates and UPT.
    pub const UP: Kinds = Kinds(8);
    /// Immediates.
    pub const IMM: Kinds = Kinds(16);
    /// Constant bank words.
    pub const CONST: Kinds = Kinds(32);
    /// Memory addresses without a uniform part.
    pub const MEM: Kinds = Kinds(64);
    /// Branch targets.
    pub const LABEL: Kinds = Kinds(128);
    /// Special registers.
    pub const SPECIAL: Kinds = Kinds(256);
    /// Convergence barriers.
    pub const CONVERGENCE: Kinds = Kinds(512);
    /// Constant bank words at an offset in a general register.
    pub const CONST_AT_R: Kinds = Kinds(1024);
    /// Constant bank words at an offset in a uniform register.
    pub const CONST_AT_UR: Kinds = Kinds(2048);
    /// Memory addresses with a uniform part.
    pub const MEM_AT_UR: Kinds = Kinds(4096);
    /// Functions.
    pub const FUNCTION: Kinds = Kinds(8192);
    /// Memory addresses whose register part is multiplied: `[R0.X4]`.
    pub const MEM_SCALED: Kinds = Kinds(16384);

    /// All predicates together, `PR`; the slot `mask` chooses among them.
    pub const PREDICATES: Kinds = Kinds(32768);

    /// Operands whose registers are read, whether the slot is read or written.
    pub(crate) const ADDRESSES: Kinds =
        Kinds::MEM.or(Kinds::MEM_AT_UR).or(Kinds::MEM_SCALED).or(Kinds::CONST_AT_R).or(Kinds::CONST_AT_UR);

    /// The union.
    pub const fn or(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    /// Whether it contains all of `other`.
    pub const fn contains(self, other: Kinds) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether the two sets have a kind in common.
    pub const fn meets(self, other: Kinds) -> bool {
        self.0 & other.0 != 0
    }

    /// The kind of a register of that file.
    pub const fn of_file(file: RegFile) -> Kinds {
        match file {
            RegFile::Gpr => Kinds::R,
            RegFile::Ugpr => Kinds::UR,
            RegFile::Pred => Kinds::P,
            RegFile::Upred => Kinds::UP,
        }
    }

    /// The kind of an operand.
    pub fn of<R: Register>(operand: &Operand<R>) -> Kinds {
        match operand.kind {
            OperandKind::Zero(file) => Kinds::of_file(file),
            OperandKind::Reg(reg) => Kinds::of_file(reg.file()),
            OperandKind::Imm(_) => Kinds::IMM,
            OperandKind::Const { .. } => Kinds::CONST,
            OperandKind::IndexedConst { index, .. } => match index.file() {
                RegFile::Ugpr => Kinds::CONST_AT_UR,
                _ => Kinds::CONST_AT_R,
            },
            OperandKind::Mem(address) => match (address.scale > 1, address.uniform.is_some()) {
                (false, false) => Kinds::MEM,
                (false, true) => Kinds::MEM_AT_UR,
                (true, false) => Kinds::MEM_SCALED,
                (true, true) => Kinds::MEM_SCALED.or(Kinds::MEM_AT_UR),
            },
            OperandKind::Label(_) | OperandKind::Code(_) => Kinds::LABEL,
            // No instruction of a program takes the end of shared memory.
            OperandKind::Function(_) | OperandKind::SharedEnd(_) => Kinds::FUNCTION,
            OperandKind::Special(_) => Kinds::SPECIAL,
            OperandKind::Convergence(_) => Kinds::CONVERGENCE,
            OperandKind::Predicates => Kinds::PREDICATES,
        }
    }
}

/// An operand of an access to a texture or a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImageOperand {
    /// The first two components of the result of a texture access.
    Low,
    /// The other components of the result of a texture access.
    High,
    /// The first source: coordinates.
    First,
    /// The second source.
    Second,
    /// The coordinates in a surface.
    Place,
    /// The components of a formatted store to a surface.
    Texel,
}

/// A matrix of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Matrix {
    /// The result, and the matrix that is added.
    Accumulator,
    /// The first factor.
    First,
    /// The first factor, with only every second element stored.
    SparseFirst,
    /// The second factor.
    Second,
}

/// The number of 32-bit registers that an operand covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    /// Always this number.
    Fixed(u8),
    /// By the `.64`/`.128` (`.2`/`.4` matrices) of the [`ModKind::Size`](super::ModKind::Size)
    /// modifier, or by a [`ModKind::DataType`](super::ModKind::DataType) of 64 or 128 bits; 1 for
    /// all others.
    Size,
    /// A lane's share of a matrix; its elements have this number of bits if no modifier tells.
    Share(Matrix, u8),
    /// The number of dimensions of the tensor plus this number.
    Dimensions(u8),
    /// The width of this operand of a texture or surface access.
    Image(ImageOperand),
}

/// How an immediate is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImmFormat {
    /// `0xff`; all 32 bits.
    Hex,
    /// `-0x1`: hexadecimal with a sign.
    Signed,
    /// `4`, `0.5`, `+INF`: the bits are a binary32.
    Float,
    /// As [`ImmFormat::Float`], the bits being the upper half of a binary64 whose lower half is
    /// zero.
    DoubleHigh,
    /// `{5,4,3,2,1,0}`: a set of scoreboards, a bit each.
    Scoreboards,
    /// `SB0`: a scoreboard.
    Scoreboard,
    /// `gsb0`: a scoreboard of groups of asynchronous products.
    GroupScoreboard,
    /// `1, 0.5`: two binary16, the high one first.
    HalfPair,
    /// The same of two bfloat16.
    BrainPair,
    /// As [`ImmFormat::Signed`] in conversions of integers with a sign, else as [`ImmFormat::Hex`].
    OfInteger,
    /// By the source type of a conversion: as [`ImmFormat::Half`], [`ImmFormat::Brain`] or
    /// [`ImmFormat::Float`].
    OfSource,
    /// As [`ImmFormat::Float`], or by the modifiers: the upper half of a binary64 for a function of
    /// one (`.RCP64H`), a binary16 or bfloat16 for a function of that.
    OfFunction,
    /// `ZPPP…`: for each of eight bits, the highest first, `P`, or `N` if it is set; `ZP` for a
    /// pair with both bits set.
    Swizzle,
    /// `MACTIVE`: one of four masks of a warp's lanes.
    LaneMask,
    /// `Rpc.LO`, `Rpc.HI`: a half of a return address.
    ReturnHalf,
    /// `1`: the lower half is a binary16.
    Half,
    /// The same of a bfloat16.
    Brain,
    /// `TEX_HEADER_DIMENSION`: the name with this number.
    Named(&'static [&'static str]),
}

/// The halves of a register that a slot takes, and their text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Halves {
    /// The slot is not a pair of halves.
    #[default]
    None,
    /// Both halves, or one for both: no text, `.H0_H0`, `.H1_H1`.
    Any,
    /// One half: `.H0_H0`, `.H1_H1`.
    One,
    /// One half: no text for the low one, `.H1` for the high one.
    Upper,
    /// The low half, for which the register stands, or the high one: no text, `.H1`.
    LowOrHigh,
    /// The high half of an integer: `.H1`.
    High,
    /// No half: the register is a binary32, `.F32`.
    Single,
    /// A byte other than the lowest: `.B1`, `.B2`, `.B3`.
    Bytes,
}

impl Halves {
    /// Whether a slot takes these halves of a register.
    pub const fn takes(self, half: HalfSelect) -> bool {
        match self {
            Halves::None => matches!(half, HalfSelect::Both),
            Halves::Any => matches!(half, HalfSelect::Both | HalfSelect::Low | HalfSelect::High),
            Halves::One | Halves::Upper => matches!(half, HalfSelect::Low | HalfSelect::High),
            Halves::LowOrHigh => matches!(half, HalfSelect::Both | HalfSelect::High),
            Halves::High => matches!(half, HalfSelect::High),
            Halves::Single => matches!(half, HalfSelect::Single),
            Halves::Bytes => matches!(half, HalfSelect::Byte1 | HalfSelect::Byte2 | HalfSelect::Byte3),
        }
    }

    /// The halves that a slot takes by default.
    pub const fn default_half(self) -> HalfSelect {
        match self {
            Halves::None | Halves::Any | Halves::LowOrHigh => HalfSelect::Both,
            Halves::One | Halves::Upper => HalfSelect::Low,
            Halves::High => HalfSelect::High,
            Halves::Single => HalfSelect::Single,
            Halves::Bytes => HalfSelect::Byte1,
        }
    }

    /// The code of these halves in the field of [`Signs::half`](super::place::Signs::half).
    pub const fn code(self, half: HalfSelect) -> u8 {
        match (self, half) {
            (_, HalfSelect::Both) | (Halves::Upper | Halves::High, HalfSelect::Low) => 0,
            (_, HalfSelect::Single | HalfSelect::Byte1)
            | (Halves::Upper | Halves::LowOrHigh | Halves::High, HalfSelect::High) => 1,
            (_, HalfSelect::Low | HalfSelect::Byte2) => 2,
            (_, HalfSelect::High | HalfSelect::Byte3) => 3,
        }
    }

    /// The halves with that code that a slot takes.
    pub fn of_code(self, code: u64) -> Option<HalfSelect> {
        let fits = |half: &HalfSelect| self.takes(*half) && u64::from(self.code(*half)) == code;
        HalfSelect::ALL.into_iter().find(fits)
    }

    /// The suffix of the register in the text.
    pub const fn text(self, half: HalfSelect) -> &'static str {
        match (self, half) {
            (Halves::Any | Halves::One, HalfSelect::Low) => ".H0_H0",
            (Halves::Any | Halves::One, HalfSelect::High) => ".H1_H1",
            (Halves::Upper | Halves::LowOrHigh | Halves::High, HalfSelect::High) => ".H1",
            (Halves::Single, HalfSelect::Single) => ".F32",
            (Halves::Bytes, HalfSelect::Byte1) => ".B1",
            (Halves::Bytes, HalfSelect::Byte2) => ".B2",
            (Halves::Bytes, HalfSelect::Byte3) => ".B3",
            _ => "",
        }
    }

    /// Strips the suffix of a register from a text. A text without a suffix stands for the halves
    /// that are printed without one.
    pub fn strip(self, text: &str) -> (&str, HalfSelect) {
        let written = HalfSelect::ALL.into_iter().find_map(|half| {
            let suffix = self.text(half);
            text.strip_suffix(suffix).filter(|_| !suffix.is_empty()).map(|rest| (rest, half))
        });
        let unwritten = if self == Halves::Upper { HalfSelect::Low } else { HalfSelect::Both };
        written.unwrap_or((text, unwritten))
    }
}
