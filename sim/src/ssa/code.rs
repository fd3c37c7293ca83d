//! The flat list of nodes that the engine executes: what [decoding](super::decode) makes of a function and its callees.

use std::ops::Range;

use ptxc_ir::op::{BarrierKind, MbarrierWait, ReduxOp, ShflMode, SpecialReg, VoteMode};
use ptxc_ir::{AtomicOp, Inst, MemType, Op, Type};
use ptxc_semantics::matrix::Multiply;

use super::arith::{Lane, Words};
use super::warpgroup::Group;
use crate::engine::Step;
use crate::generic_atomic::Update;
use crate::memory;
use crate::services::Service;

/// The place of a value: an index of 64-bit words per lane.
pub(super) type SlotIndex = u32;

/// The slots with the numbers of a CTA barrier.
#[derive(Clone, Copy, Debug)]
pub(super) enum Numbers {
    /// A name; the barrier awaits all threads.
    Name(SlotIndex),
    /// A name and a count.
    Both(SlotIndex, SlotIndex),
    /// Both in one word: bits 3:0 and 27:16.
    Packed(SlotIndex),
}

/// An edge: the moves from slot to slot, and the target.
#[derive(Debug)]
pub(super) struct Edge {
    /// The first node of the target.
    pub pc: u32,
    /// Source and destination of each word.
    pub moves: Vec<(SlotIndex, SlotIndex)>,
}

/// A memory access, except for its data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The space.
    pub space: memory::Space,
    /// The slot of the address.
    pub address: SlotIndex,
    /// The significant bits of the address.
    pub address_mask: u64,
    /// The offset, in bytes.
    pub offset: i32,
    /// The element.
    pub elem: MemType,
    /// Whether the access is strong.
    pub strong: bool,
    /// Whether it releases.
    pub releases: bool,
}

impl Place {
    /// The addresses, given those without the offset.
    pub fn addresses(&self, bases: &Words) -> Words {
        bases.map(|base| base.wrapping_add_signed(self.offset.into()) & self.address_mask)
    }

    /// Tells the memory the order of the access.
    pub fn announce(&self, step: &mut Step<'_>) {
        step.memory.instruction.strong = self.strong;
        step.memory.instruction.releases = self.releases;
    }
}

/// The effect of a node.
pub(super) enum Action {
    /// Writes the same words to all lanes.
    Fill { d: SlotIndex, words: Vec<u64> },
    /// Writes a special register.
    Special { d: SlotIndex, register: SpecialReg },
    /// Computes lane by lane; the second result may be absent.
    Compute { d: SlotIndex, d2: Option<SlotIndex>, args: [SlotIndex; 3], f: Lane },
    /// Copies words.
    Copy { words: Vec<(SlotIndex, SlotIndex)> },
    /// Chooses between two values of 128 bits.
    SelectWide { d: SlotIndex, condition: SlotIndex, a: SlotIndex, b: SlotIndex },
    /// Loads elements into slots; the mask truncates a sign-extended element to its type.
    Load { d: Vec<SlotIndex>, place: Place, mask: u64 },
    /// Stores elements.
    Store { values: Vec<SlotIndex>, place: Place },
    /// Updates neighbouring elements, each with its one or two operands. In global memory, whose
    /// units flush subnormals unless told otherwise, it uses the second function, elsewhere the
    /// first.
    Atomic { d: Vec<SlotIndex>, args: Vec<[SlotIndex; 2]>, place: Place, f: [Lane; 2] },
    /// Stores the second operand if the element equals the first, and returns whether it did.
    CompareStore { d: SlotIndex, args: [SlotIndex; 2], place: Place },
    /// Updates an element as [`Action::Atomic`] does, if its memory supports the update, and
    /// returns whether it did.
    TryAtomic { d: [SlotIndex; 2], args: [SlotIndex; 2], place: Place, update: Update, f: [Lane; 2] },
    /// An operation on a texture or surface, with the size of its type in bytes.
    Image { op: Op, d: Vec<SlotIndex>, args: Vec<SlotIndex>, bytes: u32 },
    /// Whether a generic address lies in a space.
    IsSpace { d: SlotIndex, address: SlotIndex, space: memory::Space },
    /// Exchanges 128 bits for the first operand, or for the second operand if they equal the first.
    AtomicWide { d: Option<SlotIndex>, args: [SlotIndex; 2], place: Place, compare: bool },
    /// Vote among the lanes of a mask; without a mask, among the active lanes.
    Vote { d: SlotIndex, mode: VoteMode, p: SlotIndex, mask: Option<SlotIndex> },
    /// Shuffle among the lanes of a mask.
    Shfl { d: SlotIndex, p: SlotIndex, mode: ShflMode, args: [SlotIndex; 3], mask: Option<SlotIndex> },
    /// The lanes of a mask with the same value; with a second slot, all lanes of the mask if all
    /// have the same value, else none.
    Match { d: SlotIndex, all: Option<SlotIndex>, a: SlotIndex, mask: Option<SlotIndex> },
    /// Reduction among the lanes of a mask.
    Redux { d: SlotIndex, op: ReduxOp, a: SlotIndex, mask: Option<SlotIndex> },
    /// The lowest lane of a mask, and whether it is this one.
    Elect { d: SlotIndex, p: SlotIndex, mask: Option<SlotIndex> },
    /// The active lanes.
    ActiveMask { d: SlotIndex },
    /// An operation on matrices by all lanes of the warp.
    Matrix { matrix: Matrix, d: Vec<SlotIndex>, args: Vec<SlotIndex> },
    /// Wait for the lanes of a mask.
    WarpSync { mask: SlotIndex },
    /// Arrive at a CTA barrier, and wait unless the kind says otherwise.
    Barrier { kind: BarrierKind, numbers: Numbers, p: Option<SlotIndex> },
    /// The result of the last barrier reduction: a count, or whether it is not zero.
    BarrierResult { d: SlotIndex, counts: bool },
    /// Writes the address of a byte of the CTA's shared memory.
    SharedAddr { d: SlotIndex, offset: u64 },
    /// Arrive at the barrier of the cluster.
    ClusterArrive,
    /// Wait there.
    ClusterWait,
    /// Whether a phase of an mbarrier is complete: that of a state, or the last one with a given
    /// parity.
    AskPhase { d: SlotIndex, address: SlotIndex, of: SlotIndex, wait: MbarrierWait, state: bool },
    /// An operation on an mbarrier or an asynchronous copy, with its slots.
    Asynchronous { op: Op, ty: Type, d: SlotIndex, args: Vec<SlotIndex> },
    /// An asynchronous store of values of this many bytes to shared memory of the cluster.
    RemoteStore { args: Vec<SlotIndex>, bytes: u32 },
    /// An asynchronous update there.
    RemoteRed { op: AtomicOp, args: Vec<SlotIndex>, bytes: u32 },
    /// A fence, which counts only for race detection.
    Fence,
    /// No effect here: convergence barriers.
    Nothing,
    /// Writes the address of a variable of the running function's frame, which has this offset.
    FrameAddr { d: SlotIndex, offset: u32 },
    /// Call the function of that index; source and destination of each word of the arguments.
    Call {
        callee: usize,
        moves: Vec<(SlotIndex, SlotIndex)>,
        /// The stack pointer of the callee, if it is not the caller's.
        stack: Option<SlotIndex>,
        results: Vec<SlotIndex>,
    },
    /// Call the function at an address. The vector has the moves for each function that can be
    /// called with these parameters.
    CallIndirect {
        target: SlotIndex,
        moves: Vec<Option<Vec<(SlotIndex, SlotIndex)>>>,
        /// The stack pointer of the callee, if it is not the caller's.
        stack: Option<SlotIndex>,
        results: Vec<SlotIndex>,
    },
    /// A service of the driver, with its arguments.
    Serve { service: Service, words: Vec<SlotIndex>, d: Option<SlotIndex> },
    /// Return these words.
    Return { words: Vec<SlotIndex> },
    /// Continue along the edge.
    Jump(Edge),
    /// Follow the first edge if the condition holds, else the second.
    Branch(SlotIndex, [Edge; 2]),
    /// Follow the first edge if all lanes of the mask are active, else the second.
    BranchTogether(SlotIndex, [Edge; 2]),
    /// Follow the edge with that number, or the last one.
    Switch(SlotIndex, Vec<Edge>),
    /// The thread ends.
    Exit,
    /// The grid ends.
    Trap,
}

/// What an operation on matrices does; its operands and results are in slots of their own.
pub(super) enum Matrix {
    /// Loads matrices; the operand is the address of a row.
    Load { place: Place, transposed: bool },
    /// Stores them.
    Store { place: Place, transposed: bool },
    /// Exchanges rows and columns.
    Transpose,
    /// A product; the numbers are those of the components of a and of b.
    Product { multiply: Multiply, of_a: usize, of_b: usize },
    /// An operation on products of a warpgroup, with its name.
    Group(Group, &'static str),
}

impl Matrix {
    /// Its name, for messages and to tell whether lanes execute the same operation.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Matrix::Load { .. } => "matrix_load",
            Matrix::Store { .. } => "matrix_store",
            Matrix::Transpose => "matrix_transpose",
            Matrix::Product { .. } => "matrix_product",
            Matrix::Group(_, name) => name,
        }
    }
}

/// A node and the instruction that it came from.
pub(super) struct Node {
    /// The index of the function.
    pub func: usize,
    /// Its effect.
    pub action: Action,
    /// The instruction, for messages.
    pub inst: Inst,
}

/// A function ready to run.
pub(super) struct Code {
    /// The nodes; execution begins at the first.
    pub nodes: Vec<Node>,
    /// The functions; the first is the kernel.
    pub functions: Vec<Body>,
    /// 64-bit words of values per lane.
    pub slots: usize,
}

/// The data of a function that a call needs.
pub(super) struct Body {
    /// The first node.
    pub start: u32,
    /// The words of its values.
    pub slots: Range<SlotIndex>,
    /// Bytes of its frame in local memory.
    pub frame: u32,
}
