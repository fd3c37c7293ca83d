//! The shape of a row: timing class and effects, and the types of [slots](super::slot),
//! [operands](super::kinds) and [modifiers](super::modifier). Rows import all of them from here.

use ptxc_machine::{Arch, Archs};

use super::Op;
use super::checked::SlotName;
pub use super::kinds::{Halves, ImmFormat, Kinds, Width};
pub use super::modifier::{ModKind, Modifier, Stand};
use super::place::{Fixed, Form, Joint};
pub use super::slot::{Role, Slot};
use crate::operand::OperandFlags;
use crate::register::RegFile;

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
    /// `IMAD.WIDE` and `IMAD.HI`: the two halves of the product arrive at different times.
    ImadWide,
    /// Packed half arithmetic.
    Half,
    /// Sums of halves in single precision, `HADD2.F32`.
    HalfSingle,
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
    /// Tensor cores, for a warpgroup.
    Gmma,
}

/// How the machine tells later instructions that this one is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Completion {
    /// After a fixed number of cycles; operands are read at issue.
    Fixed,
    /// Unknown: results (and, before them, the reading of operands) are announced by a scoreboard.
    Variable,
    /// No register result, but operands are read at an unknown time, announced by a read
    /// scoreboard.
    LateRead,
    /// As [`LateRead`](Self::LateRead), for uniform registers.
    LateUniformRead,
    /// Results are written, and operands in general registers read, at an unknown time that no scoreboard announces: a
    /// later instruction [awaits](GroupRole::Await) the group to which the instruction belongs.
    Group,
}

impl Completion {
    /// Whether results arrive at an unknown time, which a scoreboard or a group announces.
    pub const fn is_unknown(self) -> bool {
        matches!(self, Completion::Variable | Completion::Group)
    }
}

/// Operations whose work continues after their instruction, and which later instructions await by the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Group {
    /// Asynchronous copies of elements.
    Elements,
    /// Asynchronous bulk copies that no mbarrier reports.
    Bulk,
    /// Matrix products of a warpgroup.
    Products,
}

/// What a row has to do with [groups](Group).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GroupRole {
    /// Nothing.
    #[default]
    None,
    /// Its work belongs to the group that is made next.
    Member(Group),
    /// It makes a group of the work so far. A scoreboard in its control field counts the group until its work is done.
    Commit(Group),
    /// It waits until at most a given number of groups is under way.
    Await(Group),
}

impl GroupRole {
    /// Whether it makes asynchronous copies of elements a group, or waits for groups.
    pub const fn counts_copies(self) -> bool {
        matches!(self, GroupRole::Commit(Group::Elements) | GroupRole::Await(Group::Elements))
    }
}

/// The scoreboards that an instruction can name in its control field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scoreboards {
    /// One for results.
    pub write: bool,
    /// One for operands.
    pub read: bool,
    /// Scoreboards that it waits for.
    pub waits: bool,
}

impl Scoreboards {
    /// Both, whether or not the instruction uses them: most instructions.
    pub const BOTH: Scoreboards = Scoreboards { write: true, read: true, waits: true };
    /// Only the one for operands.
    pub const READ: Scoreboards = Scoreboards { write: false, read: true, waits: true };
    /// Only the one for results.
    pub const WRITE: Scoreboards = Scoreboards { write: true, read: false, waits: true };
    /// Neither, but it may wait for some.
    pub const NONE: Scoreboards = Scoreboards { write: false, read: false, waits: true };
    /// Neither, and it cannot wait for any.
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
    /// It ends the thread (if its guard holds).
    pub exit: bool,
    /// It leaves the function for another one: a call, which returns later, or a return.
    pub boundary: bool,
    /// As a fence it orders only earlier accesses: later weak accesses may move before it.
    pub release: bool,
    /// The effect on the barrier result of the warp.
    pub barrier_result: BarrierResult,
}

/// The effect of an instruction on the result that a barrier leaves to a warp. Each warp has one
/// such result, which must be read before the warp's next barrier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BarrierResult {
    /// It leaves the result alone.
    #[default]
    Untouched,
    /// It sets a new result.
    Set,
    /// The result may be lost.
    Lost,
    /// It reads the result.
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

    /// Whether the instruction only computes registers.
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

/// The memory that instructions reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Memory of the whole device.
    Global,
    /// Memory of the CTA.
    Shared,
    /// Memory of the thread.
    Local,
    /// Any of the three, as the address says.
    Generic,
    /// Constant banks; never written while a kernel runs.
    Constant,
}

/// The memory that a row reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Memory {
    /// None, or that of other instructions (fences), or one that is not known.
    #[default]
    None,
    /// One space. A group of copies is in the space to which they copy: what they leave there comes with the wait.
    In(Space),
    /// It reads one space and writes another: an asynchronous copy of elements.
    Copy {
        /// The space that it reads.
        from: Space,
        /// The space that it writes.
        to: Space,
    },
}

/// What a row has to do with the other lanes of a warp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lanes {
    /// Nothing, or no more than its [effects](Effects::convergent) say.
    #[default]
    Apart,
    /// Lanes exchange values: shuffles, votes, matches, reductions.
    Exchange,
    /// Each lane has a share of a matrix: products, and loads and stores of matrices.
    Share,
    /// Lanes part or meet there within a block: the scheduler moves nothing across it.
    Meet,
}

/// Where control goes after a row, if its [branch effect](Effects::branch) does not tell enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transfer {
    /// To the next instruction, or where its operands say.
    #[default]
    Plain,
    /// To the target or the next instruction, as the branch finds which lanes run together: it needs neither guard nor
    /// predicate for that.
    ByLanes,
    /// To a function, which returns to the next instruction.
    Call,
    /// From a function to its caller.
    Return,
}

/// Which instructions of variable latency return their results in the order of issue: see
/// [`return_order`](crate::return_order).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Returns {
    /// In no known order, except that results of the [pipes](Pipe) for transcendentals and double precision are in the
    /// order of their pipe.
    #[default]
    Unordered,
    /// In order with those that come out of shared memory, or by its way.
    Shared,
    /// In order with reads of textures and surfaces and with questions for their kind.
    Texture,
    /// In order with the same instruction.
    Alike,
}

/// Everything about an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The text before the modifiers, dots included where they are fixed (`LOP3.LUT`).
    pub mnemonic: &'static str,
    /// One sentence that says what it computes.
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
    /// The same on some architectures, if it differs there.
    pub min_stalls_on: &'static [(Archs, u8)],
    /// Effects beyond registers.
    pub effects: Effects,
    /// The memory that it reaches. A row that reads or writes memory and is not a fence must name it.
    pub memory: Memory,
    /// What it has to do with the other lanes of the warp.
    pub lanes: Lanes,
    /// Where control goes.
    pub transfer: Transfer,
    /// Whether its guard is `!PT` or `!UPT`, so that it issues and does nothing.
    pub never: bool,
    /// Which instructions its results return in order with.
    pub returns: Returns,
    /// Whether its predicate, which tells whether the address is one of shared memory, is written when the
    /// instruction has read its operands. NVIDIA's assembler branches on it after a wait for the read scoreboard,
    /// while the old value is still under way.
    pub tells_space_early: bool,
    /// What it has to do with groups of asynchronous work.
    pub group: GroupRole,
    /// Whether threads arrive at a CTA barrier, of any kind.
    pub cta_barrier: bool,
    /// Whether it relies on a `FENCE.VIEW.ASYNC` before it to make accesses visible: true for units that access shared
    /// memory by another path, and for barriers, after which other threads use such units.
    pub awaits_view: bool,
    /// Whether a 64-bit address may have a descriptor. It may not if the instruction compares and swaps, queries the
    /// memory that an address lies in, or works on a line of a cache.
    pub takes_descriptor: bool,
    /// Its counterpart on the uniform datapath, which computes the same from uniform operands.
    pub uniform: Option<Op>,
    /// The typical number of cycles until its results are there, for the scheduler; `None` where that of its
    /// [pipe](Pipe) will do.
    pub estimate: Option<u16>,
    /// The architectures on which it exists.
    pub archs: Archs,
    /// Its other names and opcodes, with their architectures.
    pub spellings: &'static [Spelling],
    /// The base opcode, bits 0 to 11 of the form with registers only; 0 if not known yet.
    pub opcode: u16,
    /// The ways to encode it; an empty list stands for one form with the base opcode.
    pub forms: &'static [Form],
    /// Bits that are the same in all forms.
    pub fixed: &'static [Fixed],
    /// Fields that several modifiers share.
    pub joint: &'static [Joint],
    /// The file of the predicate that guards it.
    pub guard: RegFile,
}

impl Row {
    /// The common part of most rows: no operands, no modifiers, fixed latency, one encoding, on the
    /// architectures from Turing to Hopper. A new architecture has a row only after the row names
    /// the architecture.
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
        min_stalls_on: &[],
        effects: Effects::NONE,
        memory: Memory::None,
        lanes: Lanes::Apart,
        transfer: Transfer::Plain,
        never: false,
        returns: Returns::Unordered,
        tells_space_early: false,
        group: GroupRole::None,
        cta_barrier: false,
        awaits_view: false,
        takes_descriptor: true,
        uniform: None,
        estimate: None,
        archs: Archs::TURING_TO_HOPPER,
        spellings: &[],
        opcode: 0,
        forms: &[],
        fixed: &[],
        joint: &[],
        guard: RegFile::Pred,
    };

    /// Whether the slot of that name takes operands of that kind on the architecture: the
    /// legal-form query of selection.
    pub fn accepts(&self, name: SlotName, kinds: Kinds, arch: Arch) -> bool {
        self.slot(name.text()).is_some_and(|index| self.slots[index].accepts(kinds, arch))
    }

    /// Whether the slot of that name takes the signs that an operand has there: negation, magnitude
    /// and complement.
    pub fn takes_signs(&self, name: SlotName, flags: OperandFlags) -> bool {
        self.slot(name.text()).is_some_and(|index| self.slots[index].takes_signs(flags))
    }

    /// The least stall count that follows it on the architecture, in cycles.
    #[inline]
    pub fn min_stall_on(&self, arch: Arch) -> u8 {
        let other = self.min_stalls_on.iter().find(|(archs, _)| archs.contains(arch));
        other.map_or(self.min_stall, |&(_, stall)| stall)
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

/// The name of an instruction on some architectures, if it differs from its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spelling {
    /// The architectures.
    pub archs: Archs,
    /// The text before the modifiers.
    pub mnemonic: &'static str,
    /// The base opcode; 0 if it is that of the row.
    pub opcode: u16,
}
