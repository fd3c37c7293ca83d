//! Machine IR: SASS instructions in a control-flow graph.
//!
//! A [`Mir`] is generic over its registers. `Mir<VReg>` comes out of selection and is in SSA form
//! *by component*: a virtual register is a tuple of 1 to 128 neighbouring 32-bit components (or one
//! predicate), and each component has exactly one definition, either an instruction or a block
//! parameter. So the two halves of a 64-bit value may be written by two instructions without a
//! copy, while `IMAD.WIDE` writes both at once. `Mir<PReg>` comes out of allocation: no block
//! parameters, no parallel copies. The two are different types: code that expects SSA cannot be
//! handed physical registers.
//!
//! Rules that the verifier checks:
//! - Every component is defined once and its definition dominates its uses.
//! - Edges carry one argument for each parameter of their target, of the same file and width.
//! - Instructions in [`MBlock::insts`] neither branch nor exit; control flow is in
//!   [`MBlock::term`].
//! - A guarded instruction that defines a register may name in [`MInst::tied`] the register whose
//!   content remains if the guard fails; both must get the same physical register. Without such a
//!   name the content is then undefined, and no instruction may depend on it.
//! - Operands fit the slots of their row.
//! - A call has a call site ([`MInst::call`]), which names the values that must be in fixed
//!   registers, and the registers that the call clobbers. It has no guard.
//! - Uniform registers are defined where the warp is converged, or hold constants or a result that
//!   the lanes of a mask find together.

mod call;
mod cfg;
mod header;
pub mod liveness;
mod rename;
pub mod text;
mod verify;
mod vreg;

use cranelift_entity::{PrimaryMap, entity_impl};
use ptxc_ir::SourceLoc;
use ptxc_machine::Arch;
use ptxc_sass::{AccessRole, Inst, RegFile, Register};
use smallvec::SmallVec;

pub(crate) use call::is_call;
pub use call::{CallSite, Fixed, RegSet};
pub use cfg::Cfg;
pub(crate) use cfg::for_blocks;
pub use header::{Header, LINKED_BANK, LINKED_STRIDE, is_number};
pub use liveness::Liveness;
pub use rename::Renames;
pub use verify::{MirError, takes_operands, verify};
pub use vreg::{VReg, VRegData, VRegId};

/// A block of machine IR.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MBlockId(u32);
entity_impl!(MBlockId, "mb");

/// A register with a number of components: block parameters, edge arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tuple<R> {
    /// The first component.
    pub reg: R,
    /// The number of components.
    pub width: u8,
}

/// An instruction in a block.
#[derive(Debug, PartialEq, Eq)]
pub struct MInst<R> {
    /// The instruction.
    pub inst: Inst<R>,
    /// The old contents that remain if the guard of a definition fails: (slot of the definition,
    /// register that holds that content). It counts as a use. A guarded definition that is not
    /// listed leaves undefined content if the guard fails.
    pub tied: SmallVec<[(u8, R); 1]>,
    /// The arguments, results and clobbers of the routine that it calls, if it calls one.
    pub call: Option<Box<CallSite<R>>>,
    /// Its source location.
    pub loc: SourceLoc,
}

impl<R: Copy> Clone for MInst<R> {
    /// Like the derived implementation, except that copying a large function stops when the result
    /// is no longer wanted.
    fn clone(&self) -> MInst<R> {
        ptxc_interrupt::poll();
        let MInst { inst, tied, call, loc } = self;
        // Few instructions have any.
        let tied = if tied.is_empty() { SmallVec::new() } else { SmallVec::from_slice(tied) };
        MInst { inst: inst.clone(), tied, call: call.clone(), loc: *loc }
    }
}

impl<R: Register> MInst<R> {
    /// Whether lanes that are elsewhere may have a turn when it is executed. From `R2UR` to such an
    /// instruction, no other lanes of the warp run in between (docs/facts/clusters.md).
    pub fn gives_turn(&self) -> bool {
        let effects = self.inst.row().effects;
        effects.convergent
            || effects.branch
            || effects.exit
            || effects.boundary
            || self.call.is_some()
            || matches!(self.inst.op, ptxc_sass::Op::SYNCS_PHASECHK | ptxc_sass::Op::UCGABAR_WAIT)
    }

    /// An instruction from a source location.
    #[inline]
    pub fn new(inst: Inst<R>, loc: SourceLoc) -> MInst<R> {
        MInst { inst, tied: SmallVec::new(), call: None, loc }
    }

    /// Calls `visit` for each register that it writes, with the number of neighbours: its
    /// definitions and the results of the routine that it calls.
    #[inline]
    pub fn for_each_def(&self, mut visit: impl FnMut(R, u8)) {
        self.inst.for_each_def(|access| visit(access.reg, access.width));
        for result in self.call.iter().flat_map(|call| &call.results) {
            visit(result.value.reg, result.value.width);
        }
    }

    /// Calls `visit` for each register that it reads, with the number of neighbours: operands,
    /// guard, tied old contents, and the arguments of the routine that it calls.
    #[inline]
    pub fn for_each_use(&self, mut visit: impl FnMut(R, u8)) {
        self.inst.for_each_use(|access| visit(access.reg, access.width));
        for &(slot, old) in &self.tied {
            visit(old, self.inst.slot_width(slot as usize));
        }
        for arg in self.call.iter().flat_map(|call| &call.args) {
            visit(arg.value.reg, arg.value.width);
        }
        for held in self.call.iter().flat_map(|call| &call.held) {
            visit(held.reg, held.width);
        }
    }

    /// Calls `visit` for each register that it reads or writes, with the number of neighbours and
    /// whether it writes them: those of [`for_each_use`](Self::for_each_use) and of
    /// [`for_each_def`](Self::for_each_def), in any order.
    #[inline]
    pub fn for_each_access(&self, mut visit: impl FnMut(R, u8, bool)) {
        self.inst.for_each_access(|access| visit(access.reg, access.width, access.role == AccessRole::Def));
        for &(slot, old) in &self.tied {
            visit(old, self.inst.slot_width(slot as usize), false);
        }
        if let Some(call) = &self.call {
            call.args.iter().for_each(|arg| visit(arg.value.reg, arg.value.width, false));
            call.held.iter().for_each(|held| visit(held.reg, held.width, false));
            call.results.iter().for_each(|result| visit(result.value.reg, result.value.width, true));
        }
    }

    /// Renames the registers in place.
    pub fn rename(&mut self, mut rename: impl FnMut(R) -> R) {
        self.inst.rename(&mut rename);
        for (_, old) in self.tied.iter_mut() {
            *old = rename(*old);
        }
        if let Some(call) = &mut self.call {
            let values = call.args.iter_mut().chain(&mut call.results).map(|fixed| &mut fixed.value);
            let held = call.held.iter_mut();
            values.chain(held).for_each(|value| value.reg = rename(value.reg));
        }
    }

    /// The same with other names for registers.
    pub fn map<S: Register>(&self, mut rename: impl FnMut(R) -> S) -> MInst<S> {
        let mut minst = MInst::new(self.inst.map(&mut rename), self.loc);
        for &(slot, reg) in self.tied.iter() {
            minst.tied.push((slot, rename(reg)));
        }
        minst.call = self.call.as_ref().map(|call| Box::new(call.map(&mut rename)));
        minst
    }
}

/// An edge to a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge<R> {
    /// The target.
    pub block: MBlockId,
    /// One argument for each parameter of the target; empty after allocation.
    pub args: SmallVec<[EdgeArg<R>; 2]>,
}

/// The argument of an edge for a block parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EdgeArg<R> {
    /// The content of a register, as wide as the parameter.
    Reg(R),
    /// A constant in every component: 32 bits each for registers, 0 or 1 for a predicate. A
    /// parameter of several components takes the low word first.
    Imm(u64),
    /// Any content.
    Undef,
}

/// The end of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Term<R> {
    /// Continue in the target of the edge.
    Jump(Edge<R>),
    /// Go to the first edge if the predicate (negated if the flag says so) holds, else to the
    /// second.
    Branch {
        /// A predicate, or a uniform predicate.
        pred: R,
        /// Whether the predicate must be false.
        negated: bool,
        /// The edge to take if so.
        then: Edge<R>,
        /// The edge to take if not.
        other: Edge<R>,
    },
    /// Take the first edge if all lanes of a mask are here, else the second; all lanes that are
    /// here take the same edge.
    Together {
        /// The mask, in a uniform register; all lanes without one.
        mask: Option<R>,
        /// The edge to take if so.
        here: Edge<R>,
        /// The edge to take if not.
        apart: Edge<R>,
    },
    /// Go to the target that a jump table gives.
    Table {
        /// The distance of the target from the kernel's first instruction, in bytes: two
        /// components.
        address: R,
        /// The place of the table in its constant bank, in bytes.
        offset: u32,
        /// One edge for each entry of the table.
        edges: Vec<Edge<R>>,
    },
    /// End the thread.
    Exit,
    /// Return to the caller. The last instruction of the block is the `RET`, whose call site has
    /// the results as arguments.
    Return,
}

impl<R> Term<R> {
    /// The edges, in order.
    pub fn edges(&self) -> SmallVec<[&Edge<R>; 2]> {
        match self {
            Term::Jump(edge) => SmallVec::from_buf_and_len([edge; 2], 1),
            Term::Branch { then, other, .. } => SmallVec::from_buf([then, other]),
            Term::Together { here, apart, .. } => SmallVec::from_buf([here, apart]),
            Term::Table { edges, .. } => edges.iter().collect(),
            Term::Exit | Term::Return => SmallVec::new(),
        }
    }

    /// The edge of that number, in the order of [`edges`](Self::edges).
    ///
    /// # Panics
    /// If there is none.
    pub fn edge(&self, index: usize) -> &Edge<R> {
        match (self, index) {
            (Term::Jump(edge), 0) | (Term::Branch { then: edge, .. }, 0) => edge,
            (Term::Branch { other: edge, .. }, 1) => edge,
            (Term::Together { here: edge, .. }, 0) | (Term::Together { apart: edge, .. }, 1) => edge,
            (Term::Table { edges, .. }, index) => &edges[index],
            _ => panic!("there is no edge {index}"),
        }
    }

    /// The edge of that number, as [`edge`](Self::edge) finds it.
    ///
    /// # Panics
    /// If there is none.
    pub fn edge_mut(&mut self, index: usize) -> &mut Edge<R> {
        match (self, index) {
            (Term::Jump(edge), 0) | (Term::Branch { then: edge, .. }, 0) => edge,
            (Term::Branch { other: edge, .. }, 1) => edge,
            (Term::Together { here: edge, .. }, 0) | (Term::Together { apart: edge, .. }, 1) => edge,
            (Term::Table { edges, .. }, index) => &mut edges[index],
            _ => panic!("there is no edge {index}"),
        }
    }

    /// The register that decides on the edge, with the number of its components.
    pub fn selector(&self) -> Option<(&R, u8)> {
        match self {
            Term::Branch { pred, .. } => Some((pred, 1)),
            Term::Together { mask, .. } => mask.as_ref().map(|mask| (mask, 1)),
            Term::Table { address, .. } => Some((address, 2)),
            Term::Jump(_) | Term::Exit | Term::Return => None,
        }
    }

    /// The register that decides on the edge.
    pub fn selector_mut(&mut self) -> Option<&mut R> {
        match self {
            Term::Branch { pred, .. } => Some(pred),
            Term::Together { mask, .. } => mask.as_mut(),
            Term::Table { address, .. } => Some(address),
            Term::Jump(_) | Term::Exit | Term::Return => None,
        }
    }

    /// The edges, in order.
    pub fn edges_mut(&mut self) -> SmallVec<[&mut Edge<R>; 2]> {
        match self {
            Term::Jump(edge) => smallvec::smallvec![edge],
            Term::Branch { then, other, .. } => smallvec::smallvec![then, other],
            Term::Together { here, apart, .. } => smallvec::smallvec![here, apart],
            Term::Table { edges, .. } => edges.iter_mut().collect(),
            Term::Exit | Term::Return => SmallVec::new(),
        }
    }
}

/// A block: parameters, instructions, an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MBlock<R: Copy> {
    /// The parameters; empty after allocation.
    pub params: Vec<Tuple<R>>,
    /// The instructions. They neither branch nor exit. `BSSY` names the block where its lanes
    /// continue after `BSYNC`, by a [`Label`](ptxc_sass::Label) with the number of that block.
    pub insts: Vec<MInst<R>>,
    /// The end.
    pub term: Term<R>,
    /// Source location of the end.
    pub term_loc: SourceLoc,
    /// Its frequency for one run of the entry, in units of 1/1024.
    pub frequency: u64,
    /// Whether its warp may have diverged: its definitions of uniform registers must not depend on
    /// that.
    pub divergent: bool,
}

/// A function of machine IR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mir<R: Copy> {
    /// Name, architecture, and the resources and names that the function uses.
    pub header: Header,
    /// The blocks.
    pub blocks: PrimaryMap<MBlockId, MBlock<R>>,
    /// The blocks in order; the first is the entry.
    pub layout: Vec<MBlockId>,
    /// The virtual registers; after allocation only their number is used.
    pub vregs: PrimaryMap<VRegId, VRegData>,
}

impl Mir<VReg> {
    /// A function without blocks.
    pub fn new(name: impl Into<String>, arch: Arch) -> Mir<VReg> {
        Mir {
            header: Header::new(name, arch),
            blocks: PrimaryMap::new(),
            layout: Vec::new(),
            vregs: PrimaryMap::new(),
        }
    }

    /// A new virtual register of `width` components.
    ///
    /// # Panics
    /// If there are already [`VReg::MOST`] registers. Selection rejects a function that takes a
    /// quarter of them ([`MOST_REGISTERS`](crate::select::MOST_REGISTERS)).
    pub fn new_vreg(&mut self, file: RegFile, width: u8) -> VReg {
        VReg::new(self.vregs.push(VRegData { file, width, agrees: false }), 0, file)
    }
}

impl<R: Copy> Mir<R> {
    /// The entry block. Panics on a function without blocks.
    pub fn entry(&self) -> MBlockId {
        self.layout[0]
    }

    /// The instructions, in the order of the layout.
    pub fn insts(&self) -> impl Iterator<Item = &MInst<R>> {
        self.layout.iter().flat_map(|&block| &self.blocks[block].insts)
    }
}
