//! The function under allocation: machine IR with the origin of each instruction.
//!
//! The passes of the allocator add copies, stores and loads. Each instruction carries its
//! [`Origin`], so that the checker can match the result with the original function.

use std::borrow::Cow;

use cranelift_entity::SecondaryMap;
use ptxc_ir::{FunctionKind, SourceLoc};
use ptxc_machine::Feature;
use ptxc_sass::table::Pipe;
use ptxc_sass::{Inst, Op, PReg, RegFile, Register};
use ptxc_ssa::runtime;
use smallvec::SmallVec;

use super::lent;
use super::live::diverges_after;
use crate::abi;
use crate::mir::{Edge, EdgeArg, MBlock, MBlockId, MInst, Mir, RegSet, Term, VReg, VRegId, for_blocks};

/// The arguments of an edge.
type EdgeArgs = SmallVec<[EdgeArg<VReg>; 2]>;

/// The origin of an instruction of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The instruction of that index in the block of the same number before allocation.
    Inst(u32),
    /// A copy, constant, store, load or frame instruction that the allocator added.
    Inserted,
    /// Computes the component (and its neighbours) once more, with the instruction that defined it.
    Remat(VReg),
}

/// The function under allocation.
#[derive(Clone, Debug)]
pub(super) struct Work<'a> {
    /// The function; borrowed until something has to be changed.
    pub mir: Cow<'a, Mir<VReg>>,
    /// One origin for each instruction of a block.
    pub origins: SecondaryMap<MBlockId, Vec<Origin>>,
    /// Stands for the stack pointer R1 if local memory is used; takes no part in allocation.
    pub frame: Option<VReg>,
    /// Bytes of spill slots.
    pub spill_bytes: u32,
    /// By virtual register, whether the allocator made it with a live range that cannot get
    /// shorter, or it is lent.
    pub short: SecondaryMap<VRegId, bool>,
    /// By virtual register, whether it is [lent](super::lent) to products of a warpgroup.
    pub lent: SecondaryMap<VRegId, bool>,
    /// By predicate or uniform register, the general registers that it was spilled to.
    pub general: SecondaryMap<VRegId, Option<VRegId>>,
    /// By virtual register, the register that it must be in: arguments and results of calls.
    pub fixed: SecondaryMap<VRegId, Option<PReg>>,
    /// Whether a routine that it calls needs the stack pointer.
    calls_with_stack: bool,
    /// The uniform registers that no value may be in.
    pub kept_uniform: RegSet,
}

impl<'a> Work<'a> {
    /// Makes a block with code on an edge out of `block`. The edge goes to the new block, which
    /// jumps to the old target.
    pub fn split_edge(
        &mut self,
        block: MBlockId,
        edge: &mut Edge<VReg>,
        args: EdgeArgs,
        code: Rebuilt,
    ) -> MBlockId {
        let (from, target) = (&self.mir.blocks[block], &self.mir.blocks[edge.block]);
        let between = MBlock {
            params: Vec::new(),
            insts: code.insts,
            frequency: from.frequency.min(target.frequency),
            divergent: diverges_after(&self.mir, block),
            term_loc: from.term_loc,
            term: Term::Jump(Edge { block: edge.block, args }),
        };
        let between = self.mir.to_mut().blocks.push(between);
        self.origins[between] = code.origins;
        *edge = Edge { block: between, args: SmallVec::new() };
        between
    }

    pub fn new(mir: &'a Mir<VReg>) -> Work<'a> {
        let mut origins: SecondaryMap<MBlockId, Vec<Origin>> = for_blocks(mir, Vec::new());
        for (id, block) in mir.blocks.iter() {
            origins[id] = (0..block.insts.len()).map(|index| Origin::Inst(index as u32)).collect();
        }
        let insts = mir.layout.iter().flat_map(|&block| &mir.blocks[block].insts);
        let calls_with_stack = insts.filter_map(|inst| inst.call.as_ref()).any(|call| call.uses_stack);
        let kept_uniform =
            abi::kept_uniform_registers(&mir.header, calls_device_functions(mir), calls_copy(mir));
        let fixed = fixed_of_device_function(mir);
        let mut short = SecondaryMap::new();
        let mut is_lent = SecondaryMap::new();
        for id in lent::registers(mir) {
            (short[id], is_lent[id]) = (true, true);
        }
        Work {
            mir: Cow::Borrowed(mir),
            kept_uniform,
            origins,
            frame: None,
            spill_bytes: mir.header.outgoing_bytes,
            short,
            lent: is_lent,
            general: SecondaryMap::new(),
            fixed,
            calls_with_stack,
        }
    }

    /// Takes the instructions of a block, for [`put_body`](Self::put_body) to put others there.
    pub fn take_body(&mut self, block: MBlockId) -> Rebuilt {
        let insts = std::mem::take(&mut self.mir.to_mut().blocks[block].insts);
        Rebuilt { insts, origins: std::mem::take(&mut self.origins[block]) }
    }

    /// Gives a block its instructions.
    pub fn put_body(&mut self, block: MBlockId, body: Rebuilt) {
        self.mir.to_mut().blocks[block].insts = body.insts;
        self.origins[block] = body.origins;
    }

    /// A new virtual register whose live range cannot get shorter: between a reload and its use.
    pub fn new_short(&mut self, file: RegFile, width: u8) -> VReg {
        let reg = self.mir.to_mut().new_vreg(file, width);
        self.short[reg.id()] = true;
        reg
    }

    /// A new virtual register that must be in a register.
    pub fn new_fixed(&mut self, place: PReg, width: u8) -> VReg {
        let reg = self.new_short(place.file(), width);
        self.fixed[reg.id()] = Some(place);
        reg
    }

    /// The stack pointer's number, if there is one.
    pub fn frame_id(&self) -> Option<VRegId> {
        self.frame.map(|frame| frame.id())
    }

    /// Whether R1 is the stack pointer: the function has local memory, or calls a routine that has,
    /// or is itself called, and then R1 belongs to its caller.
    pub fn is_framed(&self) -> bool {
        self.frame.is_some()
            || self.mir.header.local_bytes > 0
            || self.mir.header.outgoing_bytes > 0
            || self.calls_with_stack
            || self.mir.header.kind == FunctionKind::Device
    }

    /// Bytes of the frame: spill slots, `saved` bytes of saved registers, and above them the
    /// function's own local memory. The caller of a function, or the top of a kernel's stack,
    /// determines the place of the latter.
    pub fn frame_bytes(&self, saved: u32) -> u32 {
        match self.mir.header.local_bytes {
            0 => self.spill_bytes + saved,
            own => (self.spill_bytes + saved).next_multiple_of(16) + own.next_multiple_of(16),
        }
    }

    /// The stack pointer.
    pub fn frame(&mut self) -> VReg {
        match self.frame {
            Some(frame) => frame,
            None => {
                let frame = self.mir.to_mut().new_vreg(RegFile::Gpr, 1);
                self.frame = Some(frame);
                frame
            }
        }
    }
}

/// Whether a function calls functions other than routines.
fn calls_device_functions(mir: &Mir<VReg>) -> bool {
    let mut insts = mir.layout.iter().flat_map(|&block| &mir.blocks[block].insts);
    let named = mir.header.callees().any(|symbol| runtime::name_of_symbol(symbol).is_none());
    named || insts.any(|minst| matches!(minst.inst.op, Op::CALL_INDIRECT | Op::CALL_ABSOLUTE))
}

/// Whether a function that is called may make bulk copies. Calls that may leave the module clobber the
/// uniform registers in any case, and nothing is in them meanwhile.
fn calls_copy(mir: &Mir<VReg>) -> bool {
    let may_copy = |minst: &MInst<VReg>| {
        let is_unknown = minst.inst.op == Op::CALL_INDIRECT;
        let clobbers = minst.call.as_ref().map(|call| &call.clobbers);
        clobbers.is_some_and(|set| {
            let writes = is_unknown || abi::bulk_copies().any(|reg| set.contains(reg));
            writes && !set.contains(PReg::ur(0))
        })
    };
    mir.header.arch.has(Feature::OncePerWarpOperations) && mir.insts().any(may_copy)
}

/// A device function has the descriptor of global memory in the same place as all others of its
/// convention. In ptxc's own convention this holds for handles of textures and surfaces too.
fn fixed_of_device_function(mir: &Mir<VReg>) -> SecondaryMap<VRegId, Option<PReg>> {
    let mut fixed = SecondaryMap::new();
    if mir.header.kind != FunctionKind::Device {
        return fixed;
    }
    let [low, _] = if mir.header.platform { abi::platform::descriptor() } else { abi::descriptor() };
    let insts = mir.layout.iter().flat_map(|&block| &mir.blocks[block].insts);
    for loaded in insts.filter(|minst| minst.inst.op == Op::ULDC) {
        loaded.inst.defs().for_each(|def| fixed[def.reg.id()] = Some(low));
    }
    if !mir.header.platform {
        let [handle, _] = abi::handles();
        let insts = mir.layout.iter().flat_map(|&block| &mir.blocks[block].insts);
        let accesses = insts.filter(|minst| minst.inst.row().pipe == Pipe::Tex);
        let uniform =
            accesses.flat_map(|minst| minst.inst.uses()).filter(|used| used.reg.file().is_uniform());
        uniform.for_each(|used| fixed[used.reg.id()] = Some(handle));
    }
    fixed
}

/// A list of instructions with their origins, as a pass rebuilds a block.
#[derive(Default)]
pub(super) struct Rebuilt {
    pub insts: Vec<MInst<VReg>>,
    pub origins: Vec<Origin>,
}

impl Rebuilt {
    pub fn with_capacity(capacity: usize) -> Rebuilt {
        Rebuilt { insts: Vec::with_capacity(capacity), origins: Vec::with_capacity(capacity) }
    }

    pub fn push(&mut self, inst: MInst<VReg>, origin: Origin) {
        self.insts.push(inst);
        self.origins.push(origin);
    }

    pub fn insert(&mut self, inst: Inst<VReg>, loc: SourceLoc) {
        self.push(MInst::new(inst, loc), Origin::Inserted);
    }
}

/// A register operand: the first component and the number of components.
pub(super) type Operand = (VReg, u8);

/// The operands that an instruction reads, including its tied registers and the arguments of a
/// call.
pub(super) fn uses(inst: &MInst<VReg>) -> SmallVec<[Operand; 8]> {
    let mut list = SmallVec::new();
    inst.for_each_use(|reg, width| list.push((reg, width)));
    list
}

/// The operands that an instruction writes, including the results of a call.
pub(super) fn defs(inst: &MInst<VReg>) -> SmallVec<[Operand; 2]> {
    let mut list = SmallVec::new();
    inst.for_each_def(|reg, width| list.push((reg, width)));
    list
}
