//! The allocation checker: proves that an allocated function computes what the function with
//! virtual registers does.
//!
//! In: the function before allocation, the [`Allocation`], the options. Out: nothing, or every
//! [`Violation`]. The checker knows nothing of live ranges or classes and shares no code with the
//! passes that assign. It runs the allocated function symbolically: at each point it knows which
//! register and which word of the frame hold which component of the input (the idea of regalloc2's
//! checker and of Rideau and Leroy, "Validating register allocation and spilling", CC 2010). Where
//! paths meet, only the facts of all paths remain. It demands that
//!
//! - each instruction is one of the input with the same operation, modifiers and operands, in the
//!   same order; or a copy, constant, store, load, recomputation or frame instruction whose effect
//!   is known;
//! - each register that is read holds the component that the input reads there, arguments of edges
//!   included;
//! - an instruction of the input that the result lacks has no effect except a result that is not
//!   needed;
//! - the arguments of a call are in the registers that the routine takes them from, and no value
//!   that is read later is in a register that the call destroys;
//! - the old value of a guarded definition is in the register that it defines;
//! - tuples are aligned and within the limits of their file;
//! - spill slots are in the frame, apart from the function's own local memory and from that of the
//!   functions that it calls, and R1 points to the frame;
//! - a called function returns with its original R1, and with the other registers that its convention
//!   preserves;
//! - in blocks whose warp may have diverged, a uniform register has one meaning for all of the
//!   blocks that are connected by such blocks, since arms may run in any order.
//!
//! A constant argument may be put into its register before or after the edge, so constants are
//! values, too. The cost is that of a dataflow analysis whose sets are the contents of the register
//! file: a few visits to each block. To keep the sets that small, facts about components that the
//! input does not read any more are forgotten between blocks. Forgetting can only make the checker
//! reject more.

mod components;
mod crossing;
mod decode;
mod fixpoint;
mod frozen;
mod pending;
mod renamed;
mod state;
mod structure;
mod walk;

use std::collections::BTreeMap;
use std::fmt;

use cranelift_entity::SecondaryMap;
use ptxc_machine::Arch;
use ptxc_sass::table::Role;
use ptxc_sass::{Inst, Op, Operand, OperandKind, PReg, RegFile, Register, SpecialReg, slot_name};

use super::{Allocation, Options, Origin};
use crate::abi;
use crate::mir::liveness::Liveness;
use crate::mir::{MBlockId, MInst, Mir, VReg, for_blocks};
use components::Components;
use decode::Frame;
use fixpoint::Fixpoint;
use renamed::{Match, Matcher};
use state::{Place, Values};

/// An error in an allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The block of the result.
    pub block: MBlockId,
    /// The index of the instruction in the block; the number of instructions for the terminator.
    pub inst: usize,
    /// The error.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, instruction {}: {}", self.block, self.inst, self.what)
    }
}

/// Checks an allocation of a function.
///
/// `live` tells the components that the input still reads after the start of each block. Nothing
/// else is carried from block to block, so a wrong set may make the checker reject a correct
/// allocation, but never accept a wrong one.
pub fn check(
    input: &Mir<VReg>,
    live: &Liveness,
    allocation: &Allocation,
    options: &Options,
) -> Result<(), Vec<Violation>> {
    let mut checker = Checker::new(input, live, allocation, options);
    checker.structure();
    if checker.violations.is_empty() {
        checker.match_instructions();
    }
    if checker.violations.is_empty() {
        let mut fixpoint = Fixpoint::new(&checker);
        fixpoint.run(&BTreeMap::new());
        let writes = fixpoint.uniform_writes();
        if !writes.is_empty() {
            fixpoint.reopen_regions();
            fixpoint.run(&writes);
        }
        let found = fixpoint.found();
        checker.violations.extend(found);
    }
    checker.violations.sort_by_key(|violation| (violation.block, violation.inst));
    checker.violations.dedup();
    if checker.violations.is_empty() { Ok(()) } else { Err(checker.violations) }
}

/// For each region and uniform register that it writes, the values common to all such writes.
type UniformWrites = BTreeMap<(u32, Place), Values>;

struct Checker<'a> {
    input: &'a Mir<VReg>,
    result: &'a Mir<PReg>,
    origins: &'a SecondaryMap<MBlockId, Vec<Origin>>,
    max_regs: u16,
    arch: Arch,
    frame: Frame,
    /// The registers that the function must preserve, as far as it uses registers of such numbers.
    kept: Vec<PReg>,
    components: Components,
    /// By component, the instruction of the input that defines it, if that gives the same value
    /// whenever it runs.
    steady: Vec<Option<&'a MInst<VReg>>>,
    /// The components that the input still reads after the start of each block, except block
    /// parameters.
    live: &'a Liveness,
    /// The registers of all instructions of the result that come from the input.
    matcher: Matcher,
    /// For each instruction of the result, in the order of its layout, its match with the
    /// instruction of the input, or the difference.
    matches: Vec<Result<Match, String>>,
    /// The number of each block's first instruction.
    first_match: SecondaryMap<MBlockId, u32>,
    /// Whether a block of the result writes uniform registers.
    writes_uniform: SecondaryMap<MBlockId, bool>,
    /// The divergent region of each block of the result.
    region: SecondaryMap<MBlockId, Option<u32>>,
    violations: Vec<Violation>,
}

/// The general registers that a function of the platform's convention preserves, up to the highest that the
/// function names. The others have no way to change.
fn kept(input: &Mir<VReg>, allocation: &Allocation) -> Vec<PReg> {
    if !input.header.platform {
        return Vec::new();
    }
    let clobbers = abi::platform::clobbers();
    let end = allocation.statistics.registers[RegFile::Gpr as usize];
    let all = (0..end).map(PReg::r).filter(|&reg| reg != abi::stack_pointer());
    all.filter(|&reg| !clobbers.contains(reg)).collect()
}

impl<'a> Checker<'a> {
    fn new(
        input: &'a Mir<VReg>,
        live: &'a Liveness,
        allocation: &'a Allocation,
        options: &Options,
    ) -> Checker<'a> {
        let result = &allocation.mir;
        let components = Components::new(input);
        let count = result.insts().count();
        let frame = Frame {
            stack_top: options.arch.facts().banks.stack_top,
            bytes: result.header.local_bytes,
            own: input.header.local_bytes.next_multiple_of(16),
            outgoing: input.header.outgoing_bytes,
        };
        let mut checker = Checker {
            input,
            result,
            origins: &allocation.origins,
            max_regs: options.max_regs,
            arch: options.arch,
            frame,
            kept: kept(input, allocation),
            steady: vec![None; components.count() as usize],
            components,
            live,
            matcher: Matcher::with_capacity(count),
            matches: Vec::with_capacity(count),
            first_match: for_blocks(result, 0),
            writes_uniform: for_blocks(result, false),
            region: for_blocks(result, None),
            violations: Vec::new(),
        };
        for &block in &input.layout {
            for inst in &input.blocks[block].insts {
                ptxc_interrupt::poll();
                if gives_the_same(inst) {
                    inst.for_each_def(|reg, width| {
                        let components = checker.components.range(reg, width);
                        checker.steady[components.start as usize..components.end as usize].fill(Some(inst));
                    });
                }
            }
        }
        checker.number_regions();
        checker
    }

    /// Whether the definition of a component gives the same value whenever it runs.
    fn is_steady(&self, component: u32) -> bool {
        self.steady[component as usize].is_some()
    }
}

/// Whether an instruction gives the same value whenever it runs: it reads no register and nothing
/// that changes.
fn gives_the_same(inst: &MInst<VReg>) -> bool {
    let MInst { inst, tied, call, .. } = inst;
    let row = inst.row();
    let reads_nothing_that_changes = |operand: &Operand<VReg>| match operand.kind {
        OperandKind::Reg(_) | OperandKind::Mem(_) | OperandKind::IndexedConst { .. } => false,
        OperandKind::Predicates => false,
        OperandKind::Special(sr) => !(sr.is_clock() || sr == SpecialReg::WarpId),
        _ => true,
    };
    let mut filled = row.slots.iter().zip(inst.operands.as_slice());
    inst.guard.is_none()
        && tied.is_empty()
        && call.is_none()
        && filled.all(|(slot, operand)| slot.role == Role::Def || reads_nothing_that_changes(operand))
        && row.effects.is_none()
}

/// The operands of a plain copy, `(to, from)`. A word may come from a uniform register.
fn copy_operands<R: Register>(inst: &Inst<R>) -> Option<(R, R)> {
    let [to, from] = match inst.op {
        Op::MOV | Op::UMOV => [slot_name!("d"), slot_name!("b")],
        Op::PLOP3 => {
            let all = [slot_name!("pe"), slot_name!("pb"), slot_name!("pc")]
                .into_iter()
                .all(|slot| inst.get(slot) == Some(&Operand::pt()));
            if !all || inst.get(slot_name!("lut")) != Some(&Operand::imm(0x80)) {
                return None;
            }
            [slot_name!("pd"), slot_name!("pa")]
        }
        _ => return None,
    }
    .map(|slot| inst.get(slot).filter(|operand| operand.flags == Default::default())?.as_reg());
    let (to, from) = (to?, from?);
    inst.guard.is_none().then_some((to, from))
}
