//! Brings the lanes of a mask together for the operations that need them: `shfl.sync`, votes,
//! matches, reductions, elections, `bar.warp.sync`, operations on matrices, and barriers of the CTA
//! and the cluster.
//!
//! In: a converged function, in which each of these operations waits for the lanes of its mask
//! wherever they are. Out: a function in which the present lanes execute the operations, with
//! explicit waits for lanes that may be elsewhere.
//!
//! | block | operation | becomes |
//! |---|---|---|
//! | the warp runs together | all of them | itself, without its mask |
//! | the same | `warpsync` | `warp_fence`: memory keeps its order, no lane waits |
//! | it may not, sm_90 | an operation that does not [pair](pairs) | a `warpsync` of its mask before it, once for each block and mask |
//! | the same | an operation that pairs | the two ways below; lanes meet in a `WARPSYNC.COLLECTIVE` |
//! | it may not, before sm_90 | all of them | the two ways below; lanes meet in a routine that is called |
//! | it may not | a barrier with `.aligned`, an operation on matrices | `warpsync` before it |
//!
//! ```text
//! v5, v6 = shfl.bfly v1, v2, v3, v4    =>       brtogether v4, block7, block8
//!                                           block7:
//!                                               v7, v8 = shfl.bfly v1, v2, v3
//!                                               jump block9(v7, v8)
//!                                           block8:
//!                                               v9, v10 = call @warp.shfl.bfly, v1, v2, v3, v4
//!                                               jump block9(v9, v10)
//!                                           block9(v5: b32, v6: pred):
//! ```
//!
//! Lanes may also be at such an operation in another function. The function lists the kinds of
//! these operations (`elsewhere`), and all of its own operations of such a kind count as paired.
//!
//! `brtogether` is `BRA.DIV`: it costs one instruction if no lane is elsewhere. It needs its mask
//! in a uniform register, so only constant masks are tested; for other masks the routine is called
//! without a test. The [routine](crate::runtime::warp) is a single place for all operations of a
//! kind, so lanes from both arms of a branch meet there. Before sm_90 NVIDIA's compiler calls it
//! even if there is no other such operation, since a `WARPSYNC` would wait only for lanes at the
//! same instruction; ptxc does the same.
//!
//! If threads that run together may name different masks, votes, matches and reductions keep their
//! masks: see `select/lane_groups.rs` of codegen. Linear, with one walk to rename the results of
//! split operations.
#![deny(clippy::wildcard_enum_match_arm)]

mod pairs;

use std::collections::BTreeMap;

use cranelift_entity::{EntitySet, SecondaryMap};
use ptxc_ir::{Block, BlockCall, Function, FunctionKind, Inst, InstData, Op, SourceLoc, Type, Value};
use ptxc_machine::{Arch, Feature};
use smallvec::SmallVec;

use crate::analyses::Analyses;
use crate::lanes::{Mask, is_aligned, is_for_warp, mask_of};
use crate::runtime;
use crate::uniformity::Uniformity;
pub(crate) use pairs::equivalent_blocks;

/// An operation that waits for lanes that may be elsewhere.
struct Site {
    inst: Inst,
    block: Block,
    mask: Mask,
    /// The name of the routine in which these lanes can meet.
    routine: String,
}

/// Whether an architecture brings lanes from different places together by `WARPSYNC.COLLECTIVE`.
pub fn has_collectives(arch: Arch) -> bool {
    arch.has(Feature::Collectives)
}

/// The results of the pass.
#[derive(Debug)]
pub struct Gathered {
    /// Whether the function changed.
    pub(crate) changed: bool,
    /// The uniformity of the function, if it is known.
    pub uniformity: Option<Uniformity>,
}

/// Makes waits for lanes explicit; returns whether the function changed.
pub fn gather(func: &mut Function, arch: Arch) -> bool {
    gather_in(func, arch, &mut Analyses::default(), None).changed
}

/// Does the same with cached analyses of the function's graph and uniformity, which stay valid.
pub fn gather_in(
    func: &mut Function,
    arch: Arch,
    known: &mut Analyses,
    uniformity: Option<Uniformity>,
) -> Gathered {
    // In a routine of this kind the lanes are brought together by the routine itself.
    if func.kind == FunctionKind::Device && runtime::warp::is_warp_routine(&func.name) {
        return Gathered { changed: false, uniformity };
    }
    if !has_sites(func) {
        return Gathered { changed: false, uniformity };
    }
    let uniformity = uniformity.unwrap_or_else(|| Uniformity::compute_converged_in(func, known));
    let mut changed = false;
    // Whether the uniformity is still valid. Without its mask an operation is as uniform as with
    // it, unless the mask made its results divergent.
    let mut holds = true;
    let mut sites = Vec::new();
    for block in func.layout.clone() {
        for inst in func.blocks[block].insts.clone() {
            ptxc_interrupt::poll();
            let data = &func.insts[inst];
            let Some(mask) = mask_of(func, data) else { continue };
            if uniformity.is_convergent_block(block) {
                let is_uniform = |&mask: &Value| uniformity.is_uniform(mask);
                holds &= is_for_warp(data.op) || data.args.last().is_none_or(is_uniform);
                changed |= stays(func, inst, arch, &uniformity);
            } else {
                let routine = routine_for(func, inst);
                sites.push(Site { inst, block, mask, routine });
            }
        }
    }
    if sites.is_empty() {
        return Gathered { changed, uniformity: (holds || !changed).then_some(uniformity) };
    }
    let meeting = meeting(func, &mut sites, arch);
    let used = used_values(func);
    let mut split = Splitter {
        func,
        arch,
        uniformity: &uniformity,
        used,
        names: BTreeMap::new(),
        after: SecondaryMap::new(),
    };
    let mut at = 0;
    while at < sites.len() {
        let block = sites[at].block;
        let count = sites[at..].iter().take_while(|site| site.block == block).count();
        split.block(block, &sites[at..at + count], &meeting);
        at += count;
    }
    let Splitter { names, mut after, .. } = split;
    for block in std::mem::take(&mut func.layout) {
        func.layout.push(block);
        func.layout.append(&mut after[block]);
    }
    if !names.is_empty() {
        func.rewrite_uses(|value| names.get(&value).copied().unwrap_or(value));
    }
    known.forget();
    Gathered { changed: true, uniformity: None }
}

/// Whether a function has an operation that waits for lanes wherever they are.
pub fn has_sites(func: &Function) -> bool {
    let waits = |&inst: &Inst| mask_of(func, &func.insts[inst]).is_some();
    func.layout.iter().any(|&block| func.blocks[block].insts.iter().any(waits))
}

/// The name of the routine for an operation. It contains the name and count of a CTA barrier if
/// both are known.
pub(crate) fn routine_for(func: &Function, inst: Inst) -> String {
    let data = &func.insts[inst];
    let numbers = if let Op::Barrier { kind, packed: false, .. } = data.op {
        let numbers = &data.args[..data.args.len() - usize::from(kind.is_reduction())];
        numbers.iter().map(|&number| func.constant(number)).collect::<Option<Vec<u64>>>()
    } else {
        None
    };
    runtime::warp::routine_name(data, numbers.as_deref()).unwrap_or_default()
}

/// The kinds of a function's operations that wait for lanes, with the number of places of each.
/// They decide whether lanes may have to meet in different functions.
pub fn kinds(func: &Function) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for &inst in func.layout.iter().flat_map(|&block| &func.blocks[block].insts) {
        let data = &func.insts[inst];
        if mask_of(func, data).is_some()
            && !is_aligned(data.op)
            && let Some(kind) = runtime::warp::kind(data)
        {
            *found.entry(kind).or_default() += 1;
        }
    }
    found
}

/// Whether lanes may meanwhile execute operations of this kind in other functions.
fn is_elsewhere(func: &Function, inst: Inst) -> bool {
    !func.elsewhere.is_empty()
        && runtime::warp::kind(&func.insts[inst]).is_some_and(|kind| func.elsewhere.contains(&kind))
}

/// The operations whose lanes meet in a routine. Barriers with known numbers may equal others of
/// their kind and share a routine.
fn meeting(func: &Function, sites: &mut [Site], arch: Arch) -> EntitySet<Inst> {
    let mut open: BTreeMap<&'static str, bool> = BTreeMap::new();
    let kind_of = |site: &Site| {
        let Op::Barrier { kind, aligned: false, .. } = func.insts[site.inst].op else { return None };
        Some(kind.name())
    };
    for site in sites.iter() {
        if let Some(kind) = kind_of(site) {
            *open.entry(kind).or_default() |=
                !site.routine.ends_with(|last: char| last.is_ascii_digit()) || is_elsewhere(func, site.inst);
        }
    }
    for site in sites.iter_mut() {
        let data = &func.insts[site.inst];
        let is_packed = matches!(data.op, Op::Barrier { packed: true, .. });
        if kind_of(site).is_some_and(|kind| open[kind]) && !is_packed {
            site.routine = runtime::warp::routine_name(data, None).unwrap_or_default();
        }
    }
    let mut meet = EntitySet::new();
    if has_collectives(arch) {
        meet = pairs::paired(func, sites);
        meet.extend(sites.iter().map(|site| site.inst).filter(|&inst| is_elsewhere(func, inst)));
    } else {
        meet.extend(sites.iter().map(|site| site.inst));
    }
    for site in sites.iter().filter(|site| is_aligned(func.insts[site.inst].op)) {
        meet.remove(site.inst);
    }
    meet
}

/// Handles an operation that the whole warp executes, so that it need not wait; returns whether it
/// changed.
fn stays(func: &mut Function, inst: Inst, arch: Arch, uniformity: &Uniformity) -> bool {
    let data = func.insts[inst].clone();
    if is_for_warp(data.op) {
        return false;
    }
    if data.op == Op::WarpSync {
        func.replace(inst, Op::WarpFence, Type::B32, &[]);
        return true;
    }
    if keeps_mask(func, &data, arch, uniformity) {
        return false;
    }
    let args = &data.args[..data.args.len() - 1];
    func.replace(inst, data.op, data.ty, args);
    true
}

/// Whether the result depends on the mask even if the mask's lanes are together: other lanes may be
/// there as well.
fn keeps_mask(func: &Function, data: &InstData, arch: Arch, uniformity: &Uniformity) -> bool {
    if !matches!(data.op, Op::Vote(_) | Op::Match(_) | Op::Redux(_)) {
        return false;
    }
    match data.args.get(1) {
        Some(&mask) => match func.constant(mask) {
            // `BRA.DIV` on such architectures only tests whether the whole warp is together.
            Some(bits) => !arch.has(Feature::MaskedDivergenceTest) && bits as u32 != u32::MAX,
            None => !uniformity.is_uniform(mask),
        },
        None => false,
    }
}

/// Rewrites blocks that contain operations that wait.
struct Splitter<'a> {
    func: &'a mut Function,
    arch: Arch,
    uniformity: &'a Uniformity,
    /// The values that are read.
    used: EntitySet<Value>,
    /// The values that replace the results of removed operations.
    names: BTreeMap<Value, Value>,
    /// For each split block the new blocks, in order.
    after: SecondaryMap<Block, Vec<Block>>,
}

impl Splitter<'_> {
    /// Rewrites the operations of one block, which are in order.
    fn block(&mut self, block: Block, sites: &[Site], meeting: &EntitySet<Inst>) {
        let mut rest: std::collections::VecDeque<Inst> =
            std::mem::take(&mut self.func.blocks[block].insts).into();
        let mut current = block;
        // The mask whose lanes this block has brought together, while they have not diverged since.
        let mut together = None;
        for site in sites {
            while let Some(inst) = rest.pop_front().filter(|&inst| inst != site.inst) {
                self.func.blocks[current].insts.push(inst);
            }
            if meeting.contains(site.inst) {
                let new = self.meet(current, site);
                self.after[block].extend(new.iter().flatten());
                current = new.map_or(current, |[.., after]| after);
                together = None;
                continue;
            }
            let data = self.func.insts[site.inst].clone();
            if together != Some(site.mask) {
                let mask = self.mask_value(current, site.mask, data.loc);
                self.func.append(current, InstData::new(Op::WarpSync, Type::B32, &[mask]).at(data.loc));
                together = Some(site.mask);
            }
            if data.op != Op::WarpSync {
                self.without_mask(site.inst);
                self.func.blocks[current].insts.push(site.inst);
            }
        }
        self.func.blocks[current].insts.extend(rest);
    }

    fn without_mask(&mut self, inst: Inst) {
        let data = self.func.insts[inst].clone();
        let keeps = is_for_warp(data.op) || keeps_mask(self.func, &data, self.arch, self.uniformity);
        if !keeps {
            self.func.replace(inst, data.op, data.ty, &data.args[..data.args.len() - 1]);
        }
    }

    /// The mask as a value.
    fn mask_value(&mut self, block: Block, mask: Mask, loc: SourceLoc) -> Value {
        match mask {
            Mask::Value(value) => value,
            Mask::Lanes(lanes) => {
                let data = InstData::new(Op::Const(lanes.into()), Type::B32, &[]).at(loc);
                let inst = self.func.append(block, data);
                self.func.result(inst)
            }
        }
    }

    /// Ends a block with the two ways of an operation; returns the new blocks, with the block after
    /// both ways last. `None` if only one way is possible.
    fn meet(&mut self, block: Block, site: &Site) -> Option<[Block; 3]> {
        let data = self.func.insts[site.inst].clone();
        let results: SmallVec<[Value; 2]> = SmallVec::from_slice(self.func.results(site.inst));
        let used: SmallVec<[bool; 2]> = results.iter().map(|&result| self.used.contains(result)).collect();
        let callee = self.func.callee(&runtime::callee(&site.routine));
        let takes = self.func.callees[callee].params.len();
        // Numbers that are part of the routine's name come first and are not arguments.
        let args: SmallVec<[Value; 4]> = SmallVec::from_slice(&data.args[data.args.len() - takes..]);
        let call = InstData::new(Op::Call { callee, pure: false }, Type::B32, &args).at(data.loc);
        if !self.can_test(site.mask) {
            let called = self.func.append(block, call);
            for (&result, &value) in results.iter().zip(&self.func.results(called).to_vec()) {
                self.names.insert(result, value);
            }
            return None;
        }
        let mask = self.mask_value(block, site.mask, data.loc);
        let blocks: [Block; 3] = std::array::from_fn(|_| self.func.blocks.push(Default::default()));
        let [here, apart, after] = blocks;
        let mut test = InstData::new(Op::BranchTogether, Type::B32, &[mask]).at(data.loc);
        test.targets = [here, apart].map(|target| BlockCall::new(target, &[])).into_iter().collect();
        self.func.append(block, test);

        let mut values = Vec::new();
        if data.op != Op::WarpSync {
            let copy = self.func.append(here, data.clone());
            self.without_mask(copy);
            values = wanted(self.func.results(copy), &used);
        }
        self.jump(here, after, &values, data.loc);
        let called = self.func.append(apart, call);
        let values = wanted(self.func.results(called), &used);
        self.jump(apart, after, &values, data.loc);
        for result in wanted(&results, &used) {
            let ty = self.func.ty(result);
            let param = self.func.add_block_param(after, ty);
            self.names.insert(result, param);
        }
        Some(blocks)
    }

    fn jump(&mut self, from: Block, to: Block, args: &[Value], loc: SourceLoc) {
        let mut jump = InstData::new(Op::Jump, Type::B32, &[]).at(loc);
        jump.targets.push(BlockCall::new(to, args));
        self.func.append(from, jump);
    }

    /// Whether an instruction can test that the lanes of a mask are together. It takes the mask in
    /// a uniform register, and called functions have no uniform registers.
    fn can_test(&self, mask: Mask) -> bool {
        match mask {
            Mask::Lanes(u32::MAX) if self.arch.has(Feature::UnmaskedDivergenceTest) => true,
            Mask::Lanes(_) if !self.arch.has(Feature::MaskedDivergenceTest) => true,
            Mask::Lanes(_) => self.func.kind == FunctionKind::Entry,
            Mask::Value(_) => false,
        }
    }
}

/// The results of an operation that are read.
fn wanted(results: &[Value], used: &[bool]) -> Vec<Value> {
    results.iter().zip(used).filter(|(_, used)| **used).map(|(&result, _)| result).collect()
}

/// The values that instructions or edges read.
fn used_values(func: &Function) -> EntitySet<Value> {
    let mut used = EntitySet::new();
    for &inst in func.layout.iter().flat_map(|&block| &func.blocks[block].insts) {
        ptxc_interrupt::poll();
        let data = &func.insts[inst];
        used.extend(data.args.iter().copied());
        used.extend(data.targets.iter().flat_map(|target| &target.args).copied());
    }
    used
}

#[cfg(test)]
mod tests;
