//! The engine for functions of the SSA IR, before or after legalization.
//!
//! In: a [`Case`], a [`Function`] and the functions that it calls. Out: a [`Report`]. Each warp has
//! its values as vectors of 32 lanes. Lanes that took different paths are separate until they reach
//! the same node again ([`decode`] numbers the nodes so that this happens soon). An operation with
//! a mask of lanes waits until all lanes of the mask that have not exited are there, so it is right
//! without the work of any compiler pass. Therefore `bssy`, `bsync` and `break` do nothing here.
//!
//! A call writes the callee's parameters and continues there; each lane keeps a stack of its calls.
//! The values of a function have one place, so a lane that makes a recursive call saves them in the
//! stack until it returns.
//!
//! Values that PTX leaves undefined depend on the seed (`undef`, or the result of a shuffle from a
//! lane outside the mask), so that a kernel which relies on one is revealed.

mod access;
mod arith;
mod asynchronous;
mod barrier;
mod code;
mod decode;
mod frames;
mod guesses;
mod image;
mod layout;
mod matrix;
mod meeting;
mod special;
mod unwritten;
mod warpgroup;

use ptxc_ir::op::{MbarrierWait, VoteMode};
use ptxc_ir::{Function, SourceLoc};

use crate::case::Case;
use crate::checks::Side;
use crate::cluster;
use crate::collective::{matching, reduce};
use crate::engine::{Engine, Scheduler, Step};
use crate::error::{Fault, SimError};
use crate::generic_atomic;
use crate::interleave;
use crate::launch::{Checks, MOST_LOCAL, Options, STACK, Shape};
use crate::matrix::whole_warp;
use crate::memory::{self, AccessKind};
use crate::module;
use crate::phase::{self, Answer};
use crate::random::Random;
use crate::report::Report;
use crate::services;
use crate::shuffle::source_lane;
use crate::unwritten::Unwritten;
use crate::warp::{BIT, Flow, Joining, LANES, Wait, lanes_of};
use access::{address, load, store};
use code::{Action, Code, Edge, SlotIndex};
use frames::Frame;
pub use guesses::guessed_loads;
use meeting::gather;
use special::special;

/// Runs a kernel on a case. The callees are all functions that it calls, directly or not; they are
/// found by name.
///
/// # Errors
/// A case that does not fit, an unknown operation or callee, a fault of the program, or a deadlock.
pub fn run_ssa(
    case: &Case,
    func: &Function,
    callees: &[Function],
    options: &Options,
) -> Result<Report, SimError> {
    let functions: Vec<&Function> = std::iter::once(func).chain(callees).collect();
    let params = func.params.iter().map(|param| (param.name.as_str(), param.size, param.offset));
    let mut memory = case.place(params)?;
    image::describe(&functions, &mut memory);
    let code_addresses = decode::function_addresses(&functions);
    let mut addresses = module::load_functions(&functions, &code_addresses, &options.constants, &mut memory)?;
    image::bind(&functions, &mut memory, &mut addresses)?;
    let (layouts, shared_bytes) = layout::lay_out(&functions, case.dynamic_smem, &addresses);
    let code = decode::decode(&functions, &layouts, &memory.params, &mut Random::new(options.seed))?;
    let is_open = functions.iter().any(|func| layout::has_open_stack(func));
    // Room for each function once, and for recursion as much as a driver gives.
    let of_callees = layouts[1..].iter().fold(0u32, |sum, layout| sum.saturating_add(layout.local_bytes));
    let most = MOST_LOCAL.saturating_sub(layouts[0].local_bytes);
    let stack = if is_open || of_callees > 0 { of_callees.saturating_add(STACK).min(most) } else { 0 };
    let shape = Shape {
        grid: case.grid,
        cluster: func.bounds.cluster.or(case.cluster),
        block: case.block,
        cooperative: case.cooperative,
        shared_bytes,
        dynamic_shared: case.dynamic_smem,
        local_bytes: layouts[0].local_bytes.saturating_add(stack),
        checks: Checks::of(options),
    };
    shape.check()?;
    let engine = Ssa { functions, code, below: stack };
    let result = interleave::Interleaved { options }.run(&engine, &shape, &mut memory);
    let findings = memory.found.list(|pc| engine.side(pc), |thread| shape.tid(thread));
    Report::of_run(case, memory, result, Vec::new(), findings)
}

struct Ssa<'a> {
    functions: Vec<&'a Function>,
    code: Code,
    /// Bytes of local memory below the kernel's part.
    below: u32,
}

/// The values of a warp.
struct Values {
    words: Vec<[u64; LANES]>,
    /// The sources of an edge's moves, read before any destination is written.
    moving: Vec<[u64; LANES]>,
    /// The source of values that PTX leaves undefined.
    random: Random,
    /// The lower end of the kernel's part of local memory.
    base_of_kernel: u32,
    /// The active calls of each lane.
    frames: Vec<Vec<Frame>>,
    /// For each function and lane, the number of active calls.
    active: Vec<[u32; LANES]>,
    /// The bits of values that come from unwritten memory.
    unwritten: Unwritten,
    /// The products of a warpgroup that are under way.
    groups: warpgroup::Groups,
}

impl Values {
    fn get(&self, slot: SlotIndex, lane: u32) -> u64 {
        self.words[slot as usize][lane as usize]
    }

    fn set(&mut self, slot: SlotIndex, lane: u32, value: u64) {
        self.words[slot as usize][lane as usize] = value;
    }

    /// Writes a word lane by lane.
    #[inline]
    fn write(&mut self, slot: SlotIndex, lanes: u32, value: impl Fn(usize) -> u64) {
        let words = &mut self.words[slot as usize];
        match lanes {
            u32::MAX => (0..LANES).for_each(|lane| words[lane] = value(lane)),
            _ => lanes_of(lanes).for_each(|lane| words[lane as usize] = value(lane as usize)),
        }
    }

    /// The lanes among `lanes` in which a predicate holds.
    fn holds(&self, slot: SlotIndex, lanes: u32) -> u32 {
        let words = &self.words[slot as usize];
        (0..LANES).fold(0, |set, lane| set | if words[lane] & 1 == 1 { BIT[lane] } else { 0 }) & lanes
    }

    /// Takes lanes along an edge, and writes the parameters of its target.
    fn follow(&mut self, edge: &Edge, lanes: u32) {
        self.move_words(&edge.moves, lanes);
    }

    /// Moves words in parallel.
    fn move_words(&mut self, moves: &[(SlotIndex, SlotIndex)], lanes: u32) {
        let mut moving = std::mem::take(&mut self.moving);
        moving.clear();
        moving.extend(moves.iter().map(|&(from, _)| self.words[from as usize]));
        for (&(_, to), source) in moves.iter().zip(&moving) {
            self.write(to, lanes, |lane| source[lane]);
        }
        self.moving = moving;
        if !self.unwritten.is_empty() {
            self.unwritten.copy(moves, lanes);
        }
    }
}

impl Engine for Ssa<'_> {
    type Registers = Values;

    const JOINING: Joining = Joining::Anywhere;

    fn registers(&self, random: &mut Random) -> Values {
        let words = (0..self.code.slots).map(|_| [random.next(); LANES]).collect();
        Values {
            words,
            moving: Vec::new(),
            random: Random::new(random.next()),
            base_of_kernel: self.below,
            frames: (0..LANES).map(|_| Vec::new()).collect(),
            active: vec![[0; LANES]; self.code.functions.len()],
            unwritten: Unwritten::default(),
            groups: warpgroup::Groups::default(),
        }
    }

    fn describe(&self, pc: u32) -> String {
        match self.code.nodes.get(pc as usize) {
            Some(node) => decode::describe(self.functions[node.func], node.inst),
            None => "the end of the function".to_string(),
        }
    }

    #[inline]
    fn step(&self, values: &mut Values, step: &mut Step<'_>) -> Result<Flow, Fault> {
        match values.unwritten.is_empty() {
            true => self.act(values, step),
            false => self.follow(values, step),
        }
    }
}

impl Ssa<'_> {
    /// Executes an operation.
    fn act(&self, values: &mut Values, step: &mut Step<'_>) -> Result<Flow, Fault> {
        let lanes = step.lanes;
        match &self.code.nodes[step.pc as usize].action {
            Action::Fill { d, words } => {
                for (word, &value) in words.iter().enumerate() {
                    values.write(d + word as u32, lanes, |_| value);
                }
            }
            Action::Special { d, register } => {
                for lane in lanes_of(lanes) {
                    values.set(*d, lane, special(*register, step, lane)?.into());
                }
            }
            Action::Compute { d, d2, args: [a, b, c], f } => {
                let mut results = [[0; LANES]; 2];
                f.all([a, b, c].map(|slot| &values.words[*slot as usize]), lanes, &mut results);
                values.write(*d, lanes, |lane| results[0][lane]);
                if let Some(d2) = d2 {
                    values.write(*d2, lanes, |lane| results[1][lane]);
                }
            }
            Action::Copy { words } => {
                for &(from, to) in words {
                    let source = values.words[from as usize];
                    values.write(to, lanes, |lane| source[lane]);
                }
            }
            Action::SelectWide { d, condition, a, b } => {
                for lane in lanes_of(lanes) {
                    let from = if values.get(*condition, lane) & 1 == 1 { a } else { b };
                    for word in 0..2 {
                        values.set(d + word, lane, values.get(from + word, lane));
                    }
                }
            }
            Action::Load { d, place, mask } => {
                load(values, step, place, d, *mask)?;
            }
            Action::Store { values: sources, place } => {
                store(values, step, place, sources)?;
            }
            Action::Atomic { d, args, place, f } => {
                place.announce(step);
                let size = place.elem.bytes() as usize;
                for lane in lanes_of(lanes) {
                    let address = address(values, place, lane);
                    let bytes = (size * args.len()) as u32;
                    let (space, _) = memory::resolve(place.space, address);
                    let f = &f[usize::from(space == memory::Space::Global)];
                    let slice = step.memory.access(place.space, lane, address, bytes, AccessKind::Atomic)?;
                    for (n, (element, &[b, c])) in slice.chunks_mut(size).zip(args).enumerate() {
                        let old = memory::read_le(element);
                        memory::write_le(element, f.one([old, values.get(b, lane), values.get(c, lane)])[0]);
                        if let Some(&d) = d.get(n) {
                            values.set(d, lane, old);
                        }
                    }
                }
            }
            Action::CompareStore { d, args: [expected, new], place } => {
                place.announce(step);
                let size = place.elem.bytes();
                for lane in lanes_of(lanes) {
                    let address = address(values, place, lane);
                    let slice = step.memory.access(place.space, lane, address, size, AccessKind::Atomic)?;
                    let same = memory::read_le(slice) == values.get(*expected, lane);
                    if same {
                        memory::write_le(slice, values.get(*new, lane));
                    }
                    values.set(*d, lane, same.into());
                }
            }
            Action::TryAtomic { d: [d, done], args: [b, c], place, update, f } => {
                place.announce(step);
                let size = place.elem.bytes();
                for lane in lanes_of(lanes) {
                    let address = address(values, place, lane);
                    let (space, _) = memory::resolve(place.space, address);
                    let is_done = generic_atomic::is_done(space, *update, size);
                    let mut old = generic_atomic::NOT_DONE & u64::MAX >> (64 - 8 * size);
                    if is_done {
                        let f = &f[usize::from(space == memory::Space::Global)];
                        let slice =
                            step.memory.access(place.space, lane, address, size, AccessKind::Atomic)?;
                        old = memory::read_le(slice);
                        memory::write_le(slice, f.one([old, values.get(*b, lane), values.get(*c, lane)])[0]);
                    }
                    values.set(*d, lane, old);
                    values.set(*done, lane, is_done.into());
                }
            }
            Action::IsSpace { d, address, space } => {
                for lane in lanes_of(lanes) {
                    let holds = generic_atomic::lies_in(&step.memory, *space, values.get(*address, lane));
                    values.set(*d, lane, holds.into());
                }
            }
            Action::AtomicWide { d, args: [first, second], place, compare } => {
                place.announce(step);
                for lane in lanes_of(lanes) {
                    let address = address(values, place, lane);
                    let slice = step.memory.access(place.space, lane, address, 16, AccessKind::Atomic)?;
                    let (low, high) = slice.split_at_mut(8);
                    let old = [memory::read_le(low), memory::read_le(high)];
                    let [expected, new] =
                        [first, second].map(|slot| [values.get(*slot, lane), values.get(slot + 1, lane)]);
                    if !compare || old == expected {
                        memory::write_le(low, new[0]);
                        memory::write_le(high, new[1]);
                    }
                    if let Some(d) = d {
                        values.set(*d, lane, old[0]);
                        values.set(d + 1, lane, old[1]);
                    }
                }
            }
            Action::Vote { d, mode, .. } => {
                return gather(&self.code, values, step, |values, _, read, together| {
                    let votes = |&lane: &u32| read[0][lane as usize] & 1 != 0;
                    let holds = lanes_of(together).filter(votes).fold(0, |set, lane| set | 1 << lane);
                    let result = match mode {
                        VoteMode::All => u64::from(holds == together),
                        VoteMode::Any => u64::from(holds != 0),
                        VoteMode::Uni => u64::from(holds == together || holds == 0),
                        VoteMode::Ballot => holds.into(),
                    };
                    for lane in lanes_of(together) {
                        values.set(*d, lane, result);
                    }
                    Ok(())
                });
            }
            Action::Shfl { d, p, mode, .. } => {
                return gather(&self.code, values, step, |values, _, read, together| {
                    let source = read[0];
                    for lane in lanes_of(together) {
                        let (b, c) = (read[1][lane as usize] as u32, read[2][lane as usize] as u32);
                        let (from, in_range) = source_lane(*mode, lane, b, c);
                        let value = match together >> from & 1 {
                            1 => source[from as usize],
                            _ => values.random.next() >> 32,
                        };
                        values.set(*d, lane, value);
                        values.set(*p, lane, in_range.into());
                    }
                    Ok(())
                });
            }
            Action::Match { d, all, .. } => {
                return gather(&self.code, values, step, |values, _, read, together| {
                    let found = matching(&read[0], together);
                    for lane in lanes_of(together) {
                        let same = found[lane as usize];
                        match all {
                            None => values.set(*d, lane, same.into()),
                            Some(all) => {
                                let complete = same == together;
                                values.set(*d, lane, if complete { same.into() } else { 0 });
                                values.set(*all, lane, complete.into());
                            }
                        }
                    }
                    Ok(())
                });
            }
            Action::Redux { d, op, .. } => {
                return gather(&self.code, values, step, |values, _, read, together| {
                    let result = reduce(*op, &read[0].map(|word| word as u32), together);
                    for lane in lanes_of(together) {
                        values.set(*d, lane, result.into());
                    }
                    Ok(())
                });
            }
            Action::Elect { d, p, .. } => {
                return gather(&self.code, values, step, |values, _, _, together| {
                    let elected = together.trailing_zeros();
                    for lane in lanes_of(together) {
                        values.set(*d, lane, elected.into());
                        values.set(*p, lane, (lane == elected).into());
                    }
                    Ok(())
                });
            }
            Action::Fence => step.memory.fence(lanes),
            Action::WarpSync { .. } => return gather(&self.code, values, step, |_, _, _, _| Ok(())),
            Action::Matrix { matrix, d, .. } => {
                if let code::Matrix::Group(group, _) = matrix
                    && lanes == step.control.live
                    && group.waits(values, step)?
                {
                    return Ok(Flow::Wait(lanes, Wait::Warpgroup));
                }
                return gather(&self.code, values, step, |values, step, operands, together| {
                    whole_warp(together, matrix.name())?;
                    matrix.run(values, step, d, operands)
                });
            }
            Action::ActiveMask { d } => {
                for lane in lanes_of(lanes) {
                    values.set(*d, lane, lanes.into());
                }
            }
            Action::Barrier { kind, numbers, p } => {
                return barrier::arrive(values, step, *kind, *numbers, *p);
            }
            Action::BarrierResult { d, counts } => {
                for lane in lanes_of(lanes) {
                    // The reduction is the preceding instruction.
                    let result = step.control.reduction[lane as usize].unwrap_or_default();
                    values.set(*d, lane, if *counts { result.into() } else { u64::from(result != 0) });
                }
            }
            Action::Image { op, d, args, bytes } => {
                for lane in lanes_of(lanes) {
                    image::run(values, step, op, d, args, (lane, *bytes))?;
                }
            }
            Action::Asynchronous { op, ty, d, args } => {
                for lane in lanes_of(lanes) {
                    asynchronous::run(values, step, (op, *ty), *d, args, lane)?;
                }
            }
            Action::RemoteStore { args, bytes } => {
                for lane in lanes_of(lanes) {
                    asynchronous::store_remotely(values, step, args, *bytes, lane)?;
                }
            }
            Action::RemoteRed { op, args, bytes } => {
                for lane in lanes_of(lanes) {
                    asynchronous::update_remotely(values, step, (*op, *bytes), args, lane)?;
                }
            }
            Action::Nothing => {}
            Action::ClusterArrive => return cluster::arrive(step),
            Action::ClusterWait => return cluster::wait(step),
            Action::AskPhase { d, address, of, wait, state } => {
                let layout = step.memory.grid.mbarriers;
                let mut odd = 0;
                for lane in lanes_of(lanes) {
                    let of = values.get(*of, lane);
                    let is_odd = match state {
                        true => layout.read(of).map_err(|what| Fault::new(lane, what))?.is_odd(),
                        false => of & 1 == 1,
                    };
                    odd |= u32::from(is_odd) << lane;
                }
                let addresses = values.words[*address as usize];
                let tries = *wait != MbarrierWait::Test;
                match phase::ask(step, &mut values.random, &addresses, odd, tries)? {
                    Answer::Lanes(past) => values.write(*d, lanes, |lane| u64::from(past >> lane & 1)),
                    Answer::Flow(flow) => return Ok(flow),
                }
            }
            Action::SharedAddr { d, offset } => {
                let address = step.memory.shared_address(*offset);
                values.write(*d, lanes, |_| address);
            }
            Action::FrameAddr { d, offset } => {
                for lane in lanes_of(lanes) {
                    let base = values.base(lane);
                    values.set(*d, lane, (base + offset).into());
                }
            }
            Action::Call { callee, moves, stack, .. } => {
                self.enter(values, step.pc, lanes, *callee, *stack)?;
                values.move_words(moves, lanes);
                return Ok(Flow::Branch { taken: lanes, target: self.code.functions[*callee].start });
            }
            Action::CallIndirect { target, moves, stack, .. } => {
                let mut targets = [0; LANES];
                let mut left = lanes;
                while left != 0 {
                    let lane = left.trailing_zeros();
                    let address = values.get(*target, lane);
                    let same = lanes_of(left).filter(|&other| values.get(*target, other) == address);
                    let together = same.fold(0, |set, other| set | 1 << other);
                    left &= !together;
                    let callee = decode::function_at(address);
                    let Some(Some(moves)) = callee.and_then(|callee| moves.get(callee)) else {
                        let why =
                            format!("calls {address:#x}, where there is no function with these parameters");
                        return Err(Fault::new(lane, why));
                    };
                    let callee = callee.unwrap_or(0);
                    self.enter(values, step.pc, together, callee, *stack)?;
                    values.move_words(moves, together);
                    for lane in lanes_of(together) {
                        targets[lane as usize] = self.code.functions[callee].start;
                    }
                }
                return Ok(Flow::Spread(Box::new(targets)));
            }
            Action::Serve { service, words, d } => {
                for lane in lanes_of(lanes) {
                    let arguments: Vec<u64> = words.iter().map(|&word| values.get(word, lane)).collect();
                    let result = services::serve(*service, step, lane, &arguments)?;
                    if let Some(d) = d {
                        values.set(*d, lane, result);
                    }
                }
            }
            Action::Return { words } => return Ok(Flow::Spread(Box::new(self.leave(values, lanes, words)))),
            Action::Jump(edge) => {
                values.follow(edge, lanes);
                return Ok(Flow::Branch { taken: lanes, target: edge.pc });
            }
            Action::Branch(condition, [yes, no]) => {
                let holds = values.holds(*condition, lanes);
                values.follow(yes, holds);
                values.follow(no, lanes & !holds);
                if holds == lanes {
                    return Ok(Flow::Branch { taken: lanes, target: yes.pc });
                }
                if holds == 0 {
                    return Ok(Flow::Branch { taken: lanes, target: no.pc });
                }
                let mut targets = [no.pc; LANES];
                for lane in lanes_of(holds) {
                    targets[lane as usize] = yes.pc;
                }
                return Ok(Flow::Spread(Box::new(targets)));
            }
            Action::BranchTogether(mask, [here, apart]) => {
                let mask = lanes_of(lanes).fold(0, |all, lane| all | values.get(*mask, lane) as u32);
                let edge = if mask & step.control.live & !lanes == 0 { here } else { apart };
                values.follow(edge, lanes);
                return Ok(Flow::Branch { taken: lanes, target: edge.pc });
            }
            Action::Switch(selector, edges) => {
                let mut targets = [0; LANES];
                for lane in lanes_of(lanes) {
                    let number = values.get(*selector, lane);
                    let edge = usize::try_from(number).ok().and_then(|index| edges.get(index));
                    let Some(edge) = edge else {
                        let why = format!("target {number} of a switch with {}", edges.len());
                        return Err(Fault::new(lane, why));
                    };
                    values.follow(edge, 1 << lane);
                    targets[lane as usize] = edge.pc;
                }
                return Ok(Flow::Spread(Box::new(targets)));
            }
            Action::Exit => return Ok(Flow::Exit(lanes)),
            Action::Trap => return Err(Fault::trap(lanes)),
        }
        Ok(Flow::Next)
    }
}

impl Ssa<'_> {
    /// An instruction for a finding.
    fn side(&self, pc: u32) -> Side {
        let node = self.code.nodes.get(pc as usize);
        let source = node.and_then(|node| {
            let func = self.functions[node.func];
            let loc = func.insts[node.inst].loc;
            (loc != SourceLoc::NONE).then(|| (func.name.clone(), loc.0))
        });
        Side { source, ..Side::new(pc, self.describe(pc)) }
    }
}
