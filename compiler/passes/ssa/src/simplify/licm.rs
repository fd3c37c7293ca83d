//! Hoists loop-invariant computations out of their loops.
//!
//! In: a function. Out: the same function, with each movable instruction in the preheader of the
//! outermost loop around it in which its arguments do not change. A loop without a preheader gets
//! one if it needs one.
//!
//! ```text
//! block1(v3: b32):                   block0:
//!     v4 = imul.b32 v0, v1               v4 = imul.b32 v0, v1
//!     v5 = iadd.b32 v3, v4       =>      jump block1(v9)
//!     brif …, block1(v5), …          block1(v3: b32):
//! ```
//!
//! Pure instructions are movable: no operation traps, so an instruction may run even if the loop
//! body would not. Divisions, hardware approximations and calls cost more than the branch around
//! them, so they move only from blocks that run in each iteration. Loads of read-only memory move
//! only from the header, as their address might be invalid otherwise.
//!
//! A sum of three terms with two invariant terms is first rearranged, so that the two are added
//! before the loop: array addresses are such sums. A sum with a constant stays if only accesses use
//! it, because an access adds the constant for free.
//!
//! A hoisted value occupies a register for the whole loop. [`ROOM`] limits these registers, first
//! come, first served. Beyond the limit cheap computations stay, unless they need no more registers
//! than those of their arguments that nothing else in the loop reads.
//!
//! One walk in reverse postorder, so an argument has moved before its user is visited. Each
//! instruction visits each loop around it once: O(instructions × loop depth).

use cranelift_entity::{EntityRef, SecondaryMap};
use ptxc_ir::{
    Block, BlockCall, BlockData, Cfg, Dominators, Function, Inst, InstData, Loop, Loops, Op, Type, Value,
};

use super::fold::count_uses;
use super::gvn::is_repeatable;
use super::loop_pressure::{LoopPressure, ROOM, is_inside, words_of};
use crate::analyses::Analyses;
use crate::legalize::address_offsets::only_addresses;

/// Name of the pass.
pub const NAME: &str = "licm";

/// Hoists invariants out of loops; returns whether there were any.
pub fn licm(func: &mut Function, known: &mut Analyses) -> bool {
    if known.loops(func).iter().next().is_none() {
        return false;
    }
    let uses = known.take_uses().unwrap_or_else(|| count_uses(func));
    let (cfg, dominators, loops) = (known.cfg(func), known.dominators(func), known.loops(func));
    let mut room = Room::new(func, cfg, loops, &uses);
    let mut moved: SecondaryMap<Loop, Vec<Inst>> = SecondaryMap::new();
    let mut changed = false;
    for &block in cfg.rpo() {
        ptxc_interrupt::poll();
        // Nothing moves outside loops.
        let Some(innermost) = loops.innermost(block) else { continue };
        let mut insts = std::mem::take(&mut func.blocks[block].insts);
        insts.retain(|&inst| {
            if let Some(sum) = rotate_sum(func, loops, &room.pressure.home, &uses, inst, innermost) {
                room.add(func, sum, innermost);
                let place = room.leave(func, dominators, loops, sum, block);
                moved[place.unwrap_or(innermost)].push(sum);
                changed = true;
            }
            let out_of = room.leave(func, dominators, loops, inst, block);
            if let Some(this) = out_of {
                moved[this].push(inst);
                changed = true;
            }
            out_of.is_none()
        });
        func.blocks[block].insts = insts;
    }
    let mut made: SecondaryMap<Block, Option<Block>> = SecondaryMap::new();
    for this in loops.iter() {
        let insts = std::mem::take(&mut moved[this]);
        if insts.is_empty() {
            continue;
        }
        let preheader = match loops.preheader(cfg, this) {
            Some(block) => block,
            None => *made[loops.header(this)].insert(make_preheader(func, cfg, loops, this)),
        };
        let list = &mut func.blocks[preheader].insts;
        let terminator = list.pop();
        list.extend(insts);
        list.extend(terminator);
    }
    if made.values().any(Option::is_some) {
        let layout = std::mem::take(&mut func.layout);
        func.layout = layout.into_iter().flat_map(|block| made[block].into_iter().chain([block])).collect();
        known.forget();
    }
    if !changed {
        known.leave_uses(uses);
    }
    changed
}

/// The state that decides whether there is room to hoist an instruction.
struct Room {
    /// The values that loops read and do not define, updated for the hoisted instructions.
    pressure: LoopPressure,
    /// The number of uses of each value by instructions that have not moved.
    uses: Vec<u32>,
    /// Whether a value is used only by accesses, as their address.
    is_address: Vec<bool>,
}

impl Room {
    fn new(func: &Function, cfg: &Cfg, loops: &Loops, uses: &[u32]) -> Room {
        let is_address = only_addresses(func, uses.to_vec());
        Room { pressure: LoopPressure::new(func, cfg, loops), uses: uses.to_vec(), is_address }
    }

    /// Adds a new instruction with one use.
    fn add(&mut self, func: &Function, inst: Inst, place: Loop) {
        let result = func.result(inst);
        self.pressure.home[result] = Some(place);
        self.uses.resize(func.num_values(), 1);
        self.is_address.resize(func.num_values(), false);
    }

    /// Hoists an instruction out of the outermost loop around its block that it may leave, if there
    /// is one.
    fn leave(
        &mut self,
        func: &Function,
        dominators: &Dominators,
        loops: &Loops,
        inst: Inst,
        block: Block,
    ) -> Option<Loop> {
        let data = &func.insts[inst];
        let mut out_of = None;
        let mut place = loops.innermost(block);
        while let Some(this) = place {
            let invariant =
                data.args.as_slice().iter().all(|&arg| !is_inside(loops, self.pressure.home[arg], this));
            if !invariant || !may_leave(dominators, loops, &data.op, block, this) {
                break;
            }
            out_of = place;
            place = loops.parent(this);
        }
        // An inner loop has less room than the loops around it.
        let out_of = out_of.filter(|&this| self.has_room(func, loops, inst, this))?;
        for &result in func.results(inst) {
            self.pressure.home[result] = loops.parent(out_of);
        }
        let (more, fewer) = (self.needed(func, inst), self.freed(func, inst));
        self.pressure.change(out_of, more, fewer);
        data.args.as_slice().iter().for_each(|arg| self.uses[arg.index()] -= 1);
        Some(out_of)
    }

    /// Whether a loop has room for the results of an instruction that leaves it.
    fn has_room(&self, func: &Function, loops: &Loops, inst: Inst, this: Loop) -> bool {
        let data = &func.insts[inst];
        let is_constant = |value: &Value| func.constant(*value).is_some();
        if data.op == Op::Iadd
            && self.is_address[func.result(inst).index()]
            && data.args.as_slice().iter().any(is_constant)
        {
            return false;
        }
        let (needed, freed) = (self.needed(func, inst), self.freed(func, inst));
        if needed <= freed || data.op.is_expensive() || matches!(data.op, Op::Load(_)) {
            return true;
        }
        self.pressure.of(loops, this) + needed - freed <= ROOM
    }

    /// The words of an instruction's results.
    fn needed(&self, func: &Function, inst: Inst) -> u32 {
        func.results(inst).iter().map(|&result| words_of(func, result)).sum()
    }

    /// The words of an instruction's arguments that have no other use.
    fn freed(&self, func: &Function, inst: Inst) -> u32 {
        let args = func.insts[inst].args.as_slice();
        let is_last = |(n, arg): &(usize, &Value)| {
            let count = args.iter().filter(|other| other == arg).count();
            !args[..*n].contains(arg) && self.uses[arg.index()] as usize == count
        };
        args.iter().enumerate().filter(is_last).map(|(_, &arg)| words_of(func, arg)).sum()
    }
}

/// `x + (z + w)` with only `w` changing in the loop becomes `(x + z) + w`; returns the new sum.
/// Constants stay where they are, as an address adds them for free.
fn rotate_sum(
    func: &mut Function,
    loops: &Loops,
    home: &SecondaryMap<Value, Option<Loop>>,
    uses: &[u32],
    inst: Inst,
    this: Loop,
) -> Option<Inst> {
    let fixed = |value: Value| func.constant(value).is_none() && !is_inside(loops, home[value], this);
    let sum_of = |data: &InstData| matches!(data.op, Op::Iadd).then(|| [data.args[0], data.args[1]]);
    let data = &func.insts[inst];
    let [a, b] = sum_of(data)?;
    let (x, inner) = if fixed(a) { (a, b) } else { (b, a) };
    if !fixed(x) || fixed(inner) || uses[inner.index()] != 1 {
        return None;
    }
    let [p, q] = sum_of(func.def_inst(inner)?)?;
    let (z, w) = if fixed(p) { (p, q) } else { (q, p) };
    if !fixed(z) || fixed(w) || func.constant(w).is_some() {
        return None;
    }
    let (ty, loc) = (data.ty, data.loc);
    let sum = func.make_inst(InstData::new(Op::Iadd, ty, &[x, z]).at(loc));
    let total = func.result(sum);
    func.replace(inst, Op::Iadd, ty, &[total, w]);
    Some(sum)
}

fn may_leave(dominators: &Dominators, loops: &Loops, op: &Op, block: Block, this: Loop) -> bool {
    if !is_repeatable(op) {
        return false;
    }
    match op {
        Op::Load(_) => block == loops.header(this),
        op if op.is_expensive() => {
            loops.latches(this).iter().all(|&latch| dominators.dominates(block, latch))
        }
        _ => true,
    }
}

/// Inserts an empty block on all edges that enter a loop; the caller gives it a place in the
/// layout.
fn make_preheader(func: &mut Function, cfg: &Cfg, loops: &Loops, this: Loop) -> Block {
    let header = loops.header(this);
    let preheader = func.blocks.push(BlockData::default());
    let types: Vec<Type> = func.blocks[header].params.iter().map(|&param| func.ty(param)).collect();
    let params: Vec<Value> = types.into_iter().map(|ty| func.add_block_param(preheader, ty)).collect();
    let mut jump = InstData::new(Op::Jump, Type::B32, &[]);
    jump.targets.push(BlockCall::new(header, &params));
    func.append(preheader, jump);
    for &pred in cfg.preds(header) {
        if loops.contains(this, pred) {
            continue;
        }
        if let Some(terminator) = func.terminator(pred) {
            for target in func.insts[terminator].targets.iter_mut().filter(|target| target.block == header) {
                target.block = preheader;
            }
        }
    }
    preheader
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simplify::testing::{check, check_unchanged};

    #[test]
    fn out_of_a_nest() {
        check(
            licm,
            "block0:\n v0 = param.b32 +0\n v1 = undef.pred\n jump block1(v0)\n\
             block1(v2: b32):\n jump block2\n\
             block2:\n v3 = ineg.b32 v0\n v4 = iadd.b32 v3, v2\n v5 = iadd.b32 v4, v3\n\
             brif v1, block2, block3\n\
             block3:\n brif v1, block1(v5), block4\nblock4:\n exit",
            "block0:\n v0 = param.b32 +0\n v1 = undef.pred\n v3 = ineg.b32 v0\n jump block1(v0)\n\
             block1(v2: b32):\n v4 = iadd.b32 v3, v2\n v5 = iadd.b32 v4, v3\n jump block2\n\
             block2:\n brif v1, block2, block3\n\
             block3:\n brif v1, block1(v5), block4\nblock4:\n exit",
        );
    }

    #[test]
    fn the_invariant_part_of_a_sum() {
        check(
            |func, known| licm(func, known) | super::super::dce(func, known),
            "block0:\n v0 = param.b64 +0\n v1 = param.b64 +8\n v2 = undef.pred\n jump block1(v0)\n\
             block1(v3: b64):\n v4 = iadd.b64 v3, v1\n v5 = iadd.b64 v0, v4\n store.global.b64 [v5], v0\n\
             brif v2, block1(v5), block2\nblock2:\n exit",
            "block0:\n v0 = param.b64 +0\n v1 = param.b64 +8\n v2 = undef.pred\n v6 = iadd.b64 v0, v1\n\
             jump block1(v0)\n\
             block1(v3: b64):\n v5 = iadd.b64 v6, v3\n store.global.b64 [v5], v0\n\
             brif v2, block1(v5), block2\nblock2:\n exit",
        );
    }

    #[test]
    fn a_preheader_is_made() {
        check(
            licm,
            "block0:\n v0 = param.b32 +0\n v1 = undef.pred\n brif v1, block1(v0), block2\n\
             block1(v2: b32):\n v3 = ineg.b32 v0\n v4 = iadd.b32 v2, v3\n brif v1, block1(v4), block2\n\
             block2:\n exit",
            "block0:\n v0 = param.b32 +0\n v1 = undef.pred\n brif v1, block3(v0), block2\n\
             block3(v5: b32):\n v3 = ineg.b32 v0\n jump block1(v5)\n\
             block1(v2: b32):\n v4 = iadd.b32 v2, v3\n brif v1, block1(v4), block2\n\
             block2:\n exit",
        );
    }

    #[test]
    fn expensive_and_convergent_operations_stay() {
        check_unchanged(
            licm,
            "block0:\n v0 = param.b32 +0\n v1 = undef.pred\n v6 = param.b64 +0\n jump block1\n\
             block1:\n v2 = activemask\n v3 = load.global.b32 [v6]\n brif v1, block2, block3\n\
             block2:\n v4 = udiv.b32 v0, v0\n v5 = load.global.nc.b32 [v6]\n store.global.b32 [v6], v4\n\
             jump block3\nblock3:\n brif v1, block1, block4\nblock4:\n exit",
        );
    }
}
