//! The shape of a row: slots, modifiers, timing class and effects.

use super::archs::{Archs, Spelling};
use super::image::ImageOperand;
use super::place::{Bits, Fixed, Form, Joint, Place};
use super::share::{Matrix, dimensions};
use crate::arch::Arch;
use crate::inst::Inst;
use crate::operand::{HalfSelect, Operand, OperandFlags, OperandKind};
use crate::register::{RegFile, Register};

macro_rules! pipes {
    ($($(#[$meta:meta])* $name:ident = $text:literal,)*) => {
        /// The functional unit that executes an instruction; it limits the issue rate, see
        /// [`issue`](crate::issue).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Pipe { $($(#[$meta])* $name,)* }

        impl Pipe {
            /// Every pipe.
            pub const ALL: &'static [Pipe] = &[$(Pipe::$name,)*];

            /// Its name in the data files.
            pub const fn name(self) -> &'static str {
                match self { $(Pipe::$name => $text,)* }
            }
        }
    };
}

pipes! {
    /// Integer and logic.
    Alu = "alu",
    /// Single-precision multiply-add.
    Fma = "fma",
    /// Integer multiply-add.
    FmaHeavy = "fma-heavy",
    /// Half precision.
    Half = "half",
    /// Double precision.
    Fp64 = "fp64",
    /// Transcendentals, conversions, bit counts.
    Xu = "xu",
    /// Loads, stores, atomics, shuffles.
    Lsu = "lsu",
    /// Constant loads through the memory pipe.
    Ldc = "ldc",
    /// The uniform datapath.
    Udp = "udp",
    /// Branches and barriers.
    Control = "control",
    /// Tensor cores.
    Tensor = "tensor",
    /// Textures and surfaces.
    Tex = "tex",
}

/// The row and column of the latency table in which an instruction stands; see `docs/facts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LatencyClass {
    /// Integer, logic, comparison, select, votes.
    Alu,
    /// `FFMA` and 32-bit `IMAD`, `VIADD`.
    Fma,
    /// `IMAD.WIDE` and `IMAD.HI`, whose two halves arrive at different times.
    ImadWide,
    /// Packed half arithmetic.
    Half,
    /// Packed half comparison and minimum.
    HalfAlu,
    /// Half arithmetic on the tensor pipe, `HFMA2.MMA`.
    HalfMma,
    /// Double precision.
    Fp64,
    /// Variable-latency units with an early operand read.
    MioFast,
    /// Memory and shuffles.
    MioSlow,
    /// Branches, exits, convergence.
    Branch,
    /// CTA barriers.
    Barrier,
    /// Uniform arithmetic.
    Udp,
    /// `UMOV`, `ULDC`, `VOTEU`.
    Umov,
    /// Moves from general to uniform registers.
    R2ur,
    /// `CS2R`.
    Cs2r,
    /// Tensor cores.
    Mma,
}

/// How the machine lets later instructions know that this one is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Completion {
    /// After a fixed number of cycles; operands are read at issue.
    Fixed,
    /// Unknown: results (and, before them, the reading of operands) are announced by a scoreboard.
    Variable,
    /// No register result, but operands are read at an unknown time, announced by a read scoreboard.
    LateRead,
    /// The same, of uniform registers.
    LateUniformRead,
}

/// Which scoreboards an instruction can name in its control field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scoreboards {
    /// That of results.
    pub write: bool,
    /// That of operands.
    pub read: bool,
    /// Those that it waits for.
    pub waits: bool,
}

impl Scoreboards {
    /// Both, whether or not it does something with them: most instructions.
    pub const BOTH: Scoreboards = Scoreboards { write: true, read: true, waits: true };
    /// That of operands alone.
    pub const READ: Scoreboards = Scoreboards { write: false, read: true, waits: true };
    /// That of results alone.
    pub const WRITE: Scoreboards = Scoreboards { write: true, read: false, waits: true };
    /// None, though it may wait for some.
    pub const NONE: Scoreboards = Scoreboards { write: false, read: false, waits: true };
    /// None at all.
    pub const NO_WAITS: Scoreboards = Scoreboards { write: false, read: false, waits: false };
}

/// Effects beyond registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// It reads memory that may change.
    pub reads_memory: bool,
    /// It writes memory.
    pub writes_memory: bool,
    /// It orders or awaits other threads: nothing in memory moves across it.
    pub fence: bool,
    /// It depends on which threads execute it together.
    pub convergent: bool,
    /// It may go elsewhere than to the next instruction; it ends a block.
    pub branch: bool,
    /// It ends the thread (where its guard holds).
    pub exit: bool,
    /// It leaves the function for another one: a call, which comes back, or a return.
    pub boundary: bool,
    /// As a fence it holds back what comes before it alone: weak accesses behind it may come before it.
    pub release: bool,
    /// What it does to the barrier result of the warp.
    pub barrier_result: BarrierResult,
}

/// What an instruction does to the result that a barrier leaves a warp. There is one such result a warp, and it must
/// be read before the warp's next barrier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BarrierResult {
    /// Nothing.
    #[default]
    Untouched,
    /// A new one is there.
    Set,
    /// It may be lost.
    Lost,
    /// It is read.
    Read,
}

impl Effects {
    /// Registers only.
    pub const NONE: Effects = Effects {
        reads_memory: false,
        writes_memory: false,
        fence: false,
        convergent: false,
        branch: false,
        exit: false,
        boundary: false,
        release: false,
        barrier_result: BarrierResult::Untouched,
    };

    /// Whether it does nothing but compute registers.
    pub const fn is_none(self) -> bool {
        !(self.reads_memory
            || self.writes_memory
            || self.fence
            || self.convergent
            || self.branch
            || self.exit
            || self.boundary
            || !matches!(self.barrier_result, BarrierResult::Untouched))
    }
}

/// Whether a slot is written or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Written.
    Def,
    /// Read.
    Use,
}

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

    /// All predicates together, `PR`, of which the slot `mask` chooses.
    pub const PREDICATES: Kinds = Kinds(32768);

    /// The union.
    pub const fn or(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    /// Whether all of `other` are in it.
    pub const fn contains(self, other: Kinds) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether the two have one in common.
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
            OperandKind::Function(_) => Kinds::FUNCTION,
            OperandKind::Special(_) => Kinds::SPECIAL,
            OperandKind::Convergence(_) => Kinds::CONVERGENCE,
            OperandKind::Predicates => Kinds::PREDICATES,
        }
    }
}

/// How many 32-bit registers an operand covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    /// Always that many.
    Fixed(u8),
    /// As the `.64`/`.128` (`.2`/`.4` matrices) of the [`ModKind::Size`] modifier says, or a [`ModKind::DataType`] of 64 or 128
    /// bits; 1 for all others.
    Size,
    /// A lane's share of a matrix whose elements have that many bits where no modifier tells.
    Share(Matrix, u8),
    /// As many as the tensor has dimensions, and so many more.
    Dimensions(u8),
    /// That of an operand of an access to a texture or a surface.
    Image(ImageOperand),
}

impl Width {
    /// The width in this instruction.
    #[inline]
    pub fn resolve<R: Register>(self, inst: &Inst<R>) -> u8 {
        match self {
            Width::Fixed(width) => width,
            other => other.of_modifiers(inst),
        }
    }

    /// The width where modifiers decide on it.
    fn of_modifiers<R: Register>(self, inst: &Inst<R>) -> u8 {
        match self {
            Width::Fixed(width) => width,
            Width::Share(matrix, bits) => matrix.share(inst, bits),
            Width::Image(operand) => operand.registers(inst),
            Width::Dimensions(more) => more + dimensions(inst.modifier(ModKind::Shape)),
            Width::Size => match inst.modifier(ModKind::Size) {
                ".64" | ".2" => 2,
                ".128" | ".4" => 4,
                _ => match inst.modifier(ModKind::DataType) {
                    ".64" | ".S64" | ".U64" | ".SD64" | ".F64.RN" | ".F32x2.FTZ.RN" | ".F32x2.RN"
                    | ".F16x4.RN" | ".BF16x4.RN" => 2,
                    ".F32x4.FTZ.RN" | ".F32x4.RN" | ".F16x8.RN" | ".BF16x8.RN" => 4,
                    _ => 1,
                },
            },
        }
    }
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
    /// As [`ImmFormat::Float`], the bits being the upper half of a binary64 whose lower half is zero.
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
    /// By the type that a conversion is from: as [`ImmFormat::Half`], [`ImmFormat::Brain`] or [`ImmFormat::Float`].
    OfSource,
    /// As [`ImmFormat::Float`], or by the modifiers: the upper half of a binary64 for a function of one (`.RCP64H`), a
    /// binary16 or bfloat16 for a function of that.
    OfFunction,
    /// `ZPPP…`: for each of eight bits, the highest first, `P`, or `N` where it is set; where both of a pair are, `ZP`.
    Swizzle,
    /// `MACTIVE`: one of four masks of a warp's lanes.
    LaneMask,
    /// `Rpc.LO`, `Rpc.HI`: a half of a return address.
    ReturnHalf,
    /// `1`: the lower half is a binary16.
    Half,
    /// The same of a bfloat16.
    Brain,
    /// `TEX_HEADER_DIMENSION`: the one of these names with that number.
    Named(&'static [&'static str]),
}

impl ImmFormat {
    /// How an immediate is printed in an instruction.
    pub fn resolve<R: Register>(self, inst: &Inst<R>) -> ImmFormat {
        match self {
            ImmFormat::OfFunction => match (inst.modifier(ModKind::Mode), inst.modifier(ModKind::DataType)) {
                (".RCP64H" | ".RSQ64H", _) => ImmFormat::DoubleHigh,
                (_, ".F16") => ImmFormat::Half,
                (_, ".BF16") => ImmFormat::Brain,
                _ => ImmFormat::Float,
            },
            ImmFormat::OfSource => {
                match (inst.modifier(ModKind::SourceType), inst.modifier(ModKind::DataType)) {
                    (".F16", _) | ("", ".F16") => ImmFormat::Half,
                    (".BF16", _) | ("", ".BF16") => ImmFormat::Brain,
                    _ => ImmFormat::Float,
                }
            }
            ImmFormat::OfInteger => match inst.modifier(ModKind::SourceType) {
                ".U32" | ".U64" => ImmFormat::Hex,
                _ => ImmFormat::Signed,
            },
            format => format,
        }
    }
}

/// Which halves of a register a slot takes, and how that is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Halves {
    /// The slot is no pair of halves.
    #[default]
    None,
    /// Both, or one for both: nothing, `.H0_H0`, `.H1_H1`.
    Any,
    /// One: `.H0_H0`, `.H1_H1`.
    One,
    /// One: nothing for the low one, `.H1`.
    Upper,
    /// The high one of an integer: `.H1`.
    High,
    /// None: the register is a binary32, `.F32`.
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
            Halves::High => matches!(half, HalfSelect::High),
            Halves::Single => matches!(half, HalfSelect::Single),
            Halves::Bytes => matches!(half, HalfSelect::Byte1 | HalfSelect::Byte2 | HalfSelect::Byte3),
        }
    }

    /// What a slot takes unless something else is said.
    pub const fn default_half(self) -> HalfSelect {
        match self {
            Halves::None | Halves::Any => HalfSelect::Both,
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
            | (Halves::Upper | Halves::High, HalfSelect::High) => 1,
            (_, HalfSelect::Low | HalfSelect::Byte2) => 2,
            (_, HalfSelect::High | HalfSelect::Byte3) => 3,
        }
    }

    /// The halves with that code that a slot takes.
    pub fn of_code(self, code: u64) -> Option<HalfSelect> {
        let fits = |half: &HalfSelect| self.takes(*half) && u64::from(self.code(*half)) == code;
        HalfSelect::ALL.into_iter().find(fits)
    }

    /// What stands behind the register.
    pub const fn text(self, half: HalfSelect) -> &'static str {
        match (self, half) {
            (Halves::Any | Halves::One, HalfSelect::Low) => ".H0_H0",
            (Halves::Any | Halves::One, HalfSelect::High) => ".H1_H1",
            (Halves::Upper | Halves::High, HalfSelect::High) => ".H1",
            (Halves::Single, HalfSelect::Single) => ".F32",
            (Halves::Bytes, HalfSelect::Byte1) => ".B1",
            (Halves::Bytes, HalfSelect::Byte2) => ".B2",
            (Halves::Bytes, HalfSelect::Byte3) => ".B3",
            _ => "",
        }
    }

    /// Takes what stands behind a register off a text. What is written as nothing is what is left.
    pub fn strip(self, text: &str) -> (&str, HalfSelect) {
        let written = HalfSelect::ALL.into_iter().find_map(|half| {
            let suffix = self.text(half);
            text.strip_suffix(suffix).filter(|_| !suffix.is_empty()).map(|rest| (rest, half))
        });
        let unwritten = if self == Halves::Upper { HalfSelect::Low } else { HalfSelect::Both };
        written.unwrap_or((text, unwritten))
    }
}

/// One operand position of a row, in the order of the text.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// A name for programs: `d`, `a`, `b`, `c`, `pd` (predicate result), `ps` (predicate source), `addr`, ….
    pub name: &'static str,
    /// Written or read.
    pub role: Role,
    /// What may fill it.
    pub kinds: Kinds,
    /// How many registers it covers.
    pub width: Width,
    /// Whether `-` may stand in front.
    pub neg: bool,
    /// Whether it may stand between bars.
    pub abs: bool,
    /// Whether `~` or `!` may stand in front.
    pub not: bool,
    /// The reuse flag of the operand: 0 for a, 1 for b, 2 for c, 3 for the places in a sparse matrix.
    pub reuse: Option<u8>,
    /// Where it has that flag.
    pub reuse_on: Archs,
    /// Whether it has a default, PT, and is then set by name only.
    pub optional: bool,
    /// Whether the default is not printed.
    pub hidden: bool,
    /// Where it is printed all the same.
    pub shown_on: Archs,
    /// Where the constant register cannot fill it.
    pub never_zero: Archs,
    /// The modifier that takes the place of the operand: it is not printed, and stays at its default.
    pub hidden_with: Option<&'static str>,
    /// Whether the default is the complement (`!PT`): the absent carry of an extended addition.
    pub default_not: bool,
    /// How an immediate is printed.
    pub imm: ImmFormat,
    /// Which halves of a register it takes.
    pub halves: Halves,
    /// Whether a space alone, no comma, parts it from the slot in front.
    pub spaced: bool,
    /// Whether an address names its uniform register even if it has none: `[R0+URZ]`.
    pub names_uniform: bool,
    /// Where the offset of an address has its sign even if it stands alone.
    pub signed_alone: Archs,
    /// Whether it stands in brackets: a pair of uniform registers that holds an address.
    pub bracketed: bool,
    /// What stands in front of the brackets: `gdesc`, `desc`.
    pub prefix: &'static str,
    /// What stands behind the operand: `.ROW`.
    pub suffix: &'static str,
    /// Whether it may be [empty](Slot::may_be_empty).
    pub is_empty_at_default: bool,
    /// Whether an address is one of 32 bits though the instruction has `.E`.
    pub narrow: bool,
    /// Whether an address is one of 64 bits, `.64`, though the instruction has no `.E`.
    pub wide: bool,
    /// Whether it may be filled any number of times, and then stands in an annotation behind the operands:
    /// the targets of an indexed branch. Only the last slot of a row.
    pub repeated: bool,
    /// The kinds of operands that fill it on some architectures only; it takes all others everywhere.
    pub limits: &'static [(Kinds, Archs)],
    /// Where it is encoded.
    pub place: Place,
}

impl Slot {
    const fn new(name: &'static str, role: Role, kinds: Kinds) -> Slot {
        Slot {
            name,
            role,
            kinds,
            width: Width::Fixed(1),
            neg: false,
            abs: false,
            not: false,
            reuse: None,
            reuse_on: Archs::ALL,
            optional: false,
            hidden: false,
            shown_on: Archs::NONE,
            never_zero: Archs::NONE,
            hidden_with: None,
            default_not: false,
            imm: ImmFormat::Hex,
            halves: Halves::None,
            spaced: false,
            names_uniform: false,
            signed_alone: Archs::NONE,
            bracketed: false,
            prefix: "",
            suffix: "",
            is_empty_at_default: false,
            narrow: false,
            wide: false,
            repeated: false,
            limits: &[],
            place: Place::Nowhere,
        }
    }

    /// A slot that is written.
    pub const fn def(name: &'static str, kinds: Kinds) -> Slot {
        Slot::new(name, Role::Def, kinds)
    }

    /// A slot that is read.
    pub const fn read(name: &'static str, kinds: Kinds) -> Slot {
        Slot::new(name, Role::Use, kinds)
    }

    /// The same, covering that many registers.
    pub const fn width(mut self, width: Width) -> Slot {
        self.width = width;
        self
    }

    /// The same with those halves of a register.
    pub const fn halves(mut self, halves: Halves) -> Slot {
        self.halves = halves;
        self
    }

    /// The same with `-` allowed.
    pub const fn neg(mut self) -> Slot {
        self.neg = true;
        self
    }

    /// The same with bars allowed.
    pub const fn abs(mut self) -> Slot {
        self.abs = true;
        self
    }

    /// The same with `~` or `!` allowed.
    pub const fn not(mut self) -> Slot {
        self.not = true;
        self
    }

    /// The same with the reuse flag of that number.
    pub const fn reuse(mut self, index: u8) -> Slot {
        self.reuse = Some(index);
        self
    }

    /// The same with PT (or UPT) as default, printed.
    pub const fn optional(mut self) -> Slot {
        self.optional = true;
        self
    }

    /// The same with PT (or UPT) as default, not printed.
    pub const fn hidden(mut self) -> Slot {
        self.optional = true;
        self.hidden = true;
        self
    }

    /// The same with its default, printed unless that modifier is chosen.
    pub const fn hidden_with(mut self, modifier: &'static str) -> Slot {
        self.hidden_with = Some(modifier);
        self
    }

    /// The same with `!PT` as default.
    pub const fn default_not(mut self) -> Slot {
        self.optional = true;
        self.default_not = true;
        self.not = true;
        self
    }

    /// The same with that format of immediates.
    pub const fn imm(mut self, format: ImmFormat) -> Slot {
        self.imm = format;
        self
    }

    /// The same whose register has a reuse flag on those architectures only.
    pub const fn reuse_on(mut self, archs: Archs) -> Slot {
        self.reuse_on = archs;
        self
    }

    /// The same with a space in front, no comma.
    pub const fn spaced(mut self) -> Slot {
        self.spaced = true;
        self
    }

    /// The same for addresses that name URZ where they have no uniform part.
    pub const fn names_uniform(mut self) -> Slot {
        self.names_uniform = true;
        self
    }

    /// The same for addresses whose offset has its sign on those architectures even if it stands alone.
    pub const fn signed_alone(mut self, archs: Archs) -> Slot {
        self.signed_alone = archs;
        self
    }

    /// The same in brackets.
    pub const fn bracketed(mut self) -> Slot {
        self.bracketed = true;
        self
    }

    /// The same in brackets behind that word.
    pub const fn behind(mut self, prefix: &'static str) -> Slot {
        self.prefix = prefix;
        self.bracketed()
    }

    /// The same with that text behind the operand.
    pub const fn marked(mut self, suffix: &'static str) -> Slot {
        self.suffix = suffix;
        self
    }

    /// The same that a program must fill, though it has a default.
    pub const fn required(mut self) -> Slot {
        self.optional = false;
        self
    }

    /// The same whose default is printed on those architectures all the same.
    pub const fn shown_on(mut self, archs: Archs) -> Slot {
        self.shown_on = archs;
        self
    }

    /// The same that the constant register cannot fill on those architectures.
    pub const fn never_zero(mut self, archs: Archs) -> Slot {
        self.never_zero = archs;
        self
    }

    /// The same, where the operand may be missing: the default then, which is not printed and has
    /// [forms](Form) of its own.
    pub const fn may_be_empty(mut self) -> Slot {
        self.is_empty_at_default = true;
        self.hidden()
    }

    /// The same for addresses that are 64 bits whatever the modifiers.
    pub const fn wide(mut self) -> Slot {
        self.wide = true;
        self
    }

    /// Whether an address in the slot has 64 bits, given that of the instruction's [extension](ModKind::Extended).
    pub const fn address_is_wide(&self, is_extended: bool) -> bool {
        self.wide || (is_extended && !self.narrow)
    }

    /// The same for addresses of 32 bits beside a longer one.
    pub const fn narrow(mut self) -> Slot {
        self.narrow = true;
        self
    }

    /// The same, filled any number of times.
    pub const fn repeated(mut self) -> Slot {
        self.repeated = true;
        self
    }

    /// The same, where those kinds of operands fill it on those architectures only.
    pub const fn limited(mut self, limits: &'static [(Kinds, Archs)]) -> Slot {
        self.limits = limits;
        self
    }

    /// Whether operands of that kind fill it on the architecture.
    pub fn accepts(&self, kinds: Kinds, arch: Arch) -> bool {
        self.kinds.contains(kinds) && !self.lacks(kinds, arch)
    }

    /// Whether operands of that kind fill it on other architectures only.
    pub fn lacks(&self, kinds: Kinds, arch: Arch) -> bool {
        self.limits.iter().any(|&(limited, archs)| limited.meets(kinds) && !archs.contains(arch))
    }

    /// The same as a number of so many bits from that one on; the sign of a predicate is the bit behind.
    pub const fn at(mut self, lo: u8, len: u8) -> Slot {
        self.place = Place::number(lo, len);
        self
    }

    /// The same at that place.
    pub const fn place(mut self, place: Place) -> Slot {
        self.place = place;
        self
    }

    /// What fills the slot until something else does: the constant register of the first file that fits,
    /// else an immediate zero; that too where the text leaves it out and it may be an immediate.
    pub fn default_operand<R: Register>(&self) -> Operand<R> {
        let file = if self.kinds.contains(Kinds::P) {
            RegFile::Pred
        } else if self.kinds.contains(Kinds::UP) {
            RegFile::Upred
        } else if self.hidden && self.kinds.contains(Kinds::IMM) {
            return Operand::imm(0);
        } else if self.kinds.contains(Kinds::R) {
            RegFile::Gpr
        } else if self.kinds.contains(Kinds::UR) {
            RegFile::Ugpr
        } else if self.kinds.contains(Kinds::PREDICATES) {
            return Operand::predicates();
        } else {
            return Operand::imm(0);
        };
        let zero = Operand::zero(file);
        let zero = zero.half(self.halves.default_half());
        if self.default_not { zero.not() } else { zero }
    }

    /// Whether an operand may fill the slot; the error says why not.
    pub fn check<R: Register>(&self, operand: &Operand<R>) -> Result<(), String> {
        // A function may be named by where it lies, as any place in the code.
        let is_place = matches!(operand.kind, OperandKind::Code(_)) && self.kinds.contains(Kinds::FUNCTION);
        if !self.kinds.contains(Kinds::of(operand)) && !is_place {
            return Err(format!("cannot be {:?}", operand.kind));
        }
        if matches!(operand.kind, OperandKind::Mem(address) if self.narrow && address.wide) {
            return Err("is an address of 32 bits".to_string());
        }
        if matches!(operand.kind, OperandKind::Mem(address) if self.wide && !address.wide) {
            return Err("is an address of 64 bits".to_string());
        }
        let flags = operand.flags;
        if (flags.neg && !self.neg) || (flags.abs && !self.abs) || (flags.not && !self.not) {
            return Err(format!("does not take the sign of {operand:?}"));
        }
        if matches!(operand.kind, OperandKind::Imm(_)) && flags != OperandFlags::default() {
            return Err("an immediate holds its sign in its bits".to_string());
        }
        if !self.halves.takes(flags.half) && !matches!(operand.kind, OperandKind::Imm(_)) {
            return Err(format!("does not take those halves of {operand:?}"));
        }
        Ok(())
    }
}

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
    /// The values that exist on some architectures only; all others exist everywhere.
    pub limits: &'static [(&'static str, Archs)],
    /// The values that are written differently on some architectures: the value, where, how.
    pub spellings: &'static [(&'static str, Archs, &'static str)],
    /// Where it is encoded; nowhere where it has one value, or a [`Joint`] has it.
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

    /// Whether the value exists on the architecture.
    pub fn exists(&self, value: &str, arch: Arch) -> bool {
        !self.limits.iter().any(|&(limited, archs)| limited == value && !archs.contains(arch))
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

/// Everything about an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The text before the modifiers, dots included where they are fixed (`LOP3.LUT`).
    pub mnemonic: &'static str,
    /// One sentence: what it computes.
    pub summary: &'static str,
    /// The operand slots in text order.
    pub slots: &'static [Slot],
    /// The modifiers in text order; at most eight.
    pub mods: &'static [Modifier],
    /// The functional unit.
    pub pipe: Pipe,
    /// The row and column in the latency table.
    pub latency: LatencyClass,
    /// How its completion is tracked.
    pub completion: Completion,
    /// The scoreboards that its control field can name.
    pub scoreboards: Scoreboards,
    /// The least stall count that follows it, in cycles.
    pub min_stall: u8,
    /// Effects beyond registers.
    pub effects: Effects,
    /// Where it exists.
    pub archs: Archs,
    /// Its other names and opcodes, and where it has them.
    pub spellings: &'static [Spelling],
    /// The base opcode, bits 0 to 11 of the form with registers only; 0 where not settled yet.
    pub opcode: u16,
    /// The ways to encode it; one with the base opcode where the list is empty.
    pub forms: &'static [Form],
    /// Bits that are the same in all forms.
    pub fixed: &'static [Fixed],
    /// Fields that several modifiers share.
    pub joint: &'static [Joint],
    /// The file of the predicate that guards it.
    pub guard: RegFile,
}

impl Row {
    /// What most rows share: no operands, no modifiers, fixed latency, one encoding, on every architecture.
    pub const BASE: Row = Row {
        mnemonic: "",
        summary: "",
        slots: &[],
        mods: &[],
        pipe: Pipe::Alu,
        latency: LatencyClass::Alu,
        completion: Completion::Fixed,
        scoreboards: Scoreboards::BOTH,
        min_stall: 1,
        effects: Effects::NONE,
        archs: Archs::ALL,
        spellings: &[],
        opcode: 0,
        forms: &[],
        fixed: &[],
        joint: &[],
        guard: RegFile::Pred,
    };

    /// The position of the slot of that name.
    pub fn slot(&self, name: &str) -> Option<usize> {
        self.slots.iter().position(|slot| slot.name == name)
    }

    /// Whether the slot of that name takes operands of that kind on the architecture: the legal-form query of
    /// selection.
    pub fn accepts(&self, name: &str, kinds: Kinds, arch: Arch) -> bool {
        self.slot(name).is_some_and(|index| self.slots[index].accepts(kinds, arch))
    }

    /// The base opcode on the architecture.
    pub fn opcode_on(&self, arch: Arch) -> u16 {
        let other = self.spellings.iter().find(|spelling| spelling.archs.contains(arch));
        other.map_or(self.opcode, |spelling| if spelling.opcode == 0 { self.opcode } else { spelling.opcode })
    }

    /// The text before the modifiers on the architecture.
    pub fn mnemonic_on(&self, arch: Arch) -> &'static str {
        let other = self.spellings.iter().find(|spelling| spelling.archs.contains(arch));
        other.map_or(self.mnemonic, |spelling| spelling.mnemonic)
    }
}
