//! Removes block parameters that always equal another value.
//!
//! In: a function. Out: the same function without redundant parameters: those that get one value
//! (or themselves) on every edge, and those that get the same arguments as another parameter of
//! their block on every edge. The parameters of the entry belong to the function and stay.
//!
//! ```text
//! block1(v3: b32, v4: b32):            block1(v3: b32):
//!     …                          =>        …
//!     brif v5, block1(v6, v4), …           brif v5, block1(v6), …    // v4 is what the entry passed
//! ```
//!
//! As in Braun et al., "Simple and Efficient Construction of Static Single Assignment Form" (CC
//! 2013): removing a parameter may make other parameters trivial that it was passed to, so these
//! are visited again. Each visit costs the number of edges into the block; a parameter is visited
//! again once for each of its arguments that is renamed.

use cranelift_entity::SecondaryMap;
use ptxc_ir::{Block, BlockCall, Cfg, Function, Value, ValueDef};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::analyses::Analyses;

/// Name of the pass.
pub const NAME: &str = "params";

/// Removes redundant block parameters; returns whether there were any.
pub fn params(func: &mut Function, known: &mut Analyses) -> bool {
    let entry = func.entry();
    if func.layout.iter().all(|&block| block == entry || func.blocks[block].params.is_empty()) {
        return false;
    }
    let cfg = known.cfg(func);
    if has_none(func, cfg) {
        return false;
    }
    let mut incoming: SecondaryMap<Block, Vec<(Block, usize)>> = SecondaryMap::new();
    // The parameters that a value is passed to.
    let mut passed_to: SecondaryMap<Value, Vec<Value>> = SecondaryMap::new();
    let mut work = Vec::new();
    for &block in cfg.rpo() {
        ptxc_interrupt::poll();
        for (number, edge) in func.edges(block).iter().enumerate() {
            incoming[edge.block].push((block, number));
            for (&arg, &param) in edge.args.iter().zip(&func.blocks[edge.block].params) {
                if matches!(func.def(arg), ValueDef::Param(..)) {
                    passed_to[arg].push(param);
                }
            }
        }
        work.extend(func.blocks[block].params.iter().copied());
    }
    work.reverse();

    let mut renamed: SecondaryMap<Value, Option<Value>> = SecondaryMap::new();
    renamed.resize(func.num_values());
    while let Some(param) = work.pop() {
        ptxc_interrupt::poll();
        let ValueDef::Param(block, index) = func.def(param) else { continue };
        if renamed[param].is_some() {
            continue;
        }
        let mut only = None;
        let same = incoming[block].iter().all(|&(source, number)| {
            let arg = resolve(&mut renamed, func.edges(source)[number].args[index as usize]);
            arg == param || *only.get_or_insert(arg) == arg
        });
        if let (true, Some(value)) = (same, only) {
            renamed[param] = Some(value);
            let users = std::mem::take(&mut passed_to[param]);
            work.extend(users.iter().copied());
            passed_to[value].extend(users);
        }
    }
    for &block in cfg.rpo().iter().filter(|&&block| block != entry) {
        ptxc_interrupt::poll();
        if func.blocks[block].params.len() < 2 {
            continue;
        }
        let mut seen: FxHashMap<Vec<Value>, Value> = FxHashMap::default();
        for &param in &func.blocks[block].params {
            let ValueDef::Param(_, index) = func.def(param) else { continue };
            if renamed[param].is_some() {
                continue;
            }
            let args: Vec<Value> = incoming[block]
                .iter()
                .map(|&(source, number)| {
                    resolve(&mut renamed, func.edges(source)[number].args[index as usize])
                })
                .collect();
            let first = *seen.entry(args).or_insert(param);
            if first != param {
                renamed[param] = Some(first);
            }
        }
    }

    let mut changed = false;
    for &block in cfg.rpo() {
        let gone: Vec<bool> =
            func.blocks[block].params.iter().map(|&param| renamed[param].is_some()).collect();
        if !gone.contains(&true) {
            continue;
        }
        changed = true;
        for &(source, number) in &incoming[block] {
            if let Some(terminator) = func.terminator(source) {
                let mut stays = gone.iter().map(|gone| !gone);
                func.insts[terminator].targets[number].args.retain(|_| stays.next().unwrap_or(true));
            }
        }
        func.retain_block_params(block, |index| !gone[index]);
    }
    if changed {
        func.rewrite_uses(|value| resolve(&mut renamed, value));
    }
    changed
}

/// The most parameters of a block that are compared with each other.
const MOST_COMPARED: usize = 64;

/// Whether there is no redundant parameter, so that none can follow from a removal; this is the
/// usual case. May return `true` wrongly if a block has very many parameters.
fn has_none(func: &Function, cfg: &Cfg) -> bool {
    cfg.rpo().iter().skip(1).all(|&block| {
        ptxc_interrupt::poll();
        let params = &func.blocks[block].params;
        if params.is_empty() {
            return true;
        }
        // A block with several edges to this block is listed once for each edge, and these entries
        // are adjacent.
        let sources = cfg.preds(block).chunk_by(|a, b| a == b).map(|same| same[0]);
        let edges = sources.flat_map(|source| func.edges(source).iter().filter(|edge| edge.block == block));
        let edges: SmallVec<[&BlockCall; 8]> = edges.collect();
        params.len() <= MOST_COMPARED
            && params.iter().enumerate().all(|(index, &param)| {
                let mut args = edges.iter().map(|edge| edge.args[index]).filter(|&arg| arg != param);
                let has_two = args.next().is_none_or(|first| args.any(|arg| arg != first));
                let is_twin = |other: usize| edges.iter().all(|edge| edge.args[other] == edge.args[index]);
                has_two && !(0..index).any(is_twin)
            })
    })
}

/// The value that a value is finally renamed to; halves the path to it.
fn resolve(renamed: &mut SecondaryMap<Value, Option<Value>>, mut value: Value) -> Value {
    while let Some(next) = renamed[value] {
        if let Some(after) = renamed[next] {
            renamed[value] = Some(after);
        }
        value = next;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simplify::testing::{check, check_unchanged};

    #[test]
    fn trivial_and_twin_parameters() {
        check(
            params,
            "block0:\n v0 = undef.b32\n v1 = undef.pred\n jump block1(v0, v0, v0)\n\
             block1(v2: b32, v3: b32, v4: b32):\n v5 = ineg.b32 v3\n brif v1, block2(v2), block3\n\
             block2(v6: b32):\n jump block1(v6, v5, v5)\nblock3:\n v7 = iadd.b32 v3, v4\n exit",
            "block0:\n v0 = undef.b32\n v1 = undef.pred\n jump block1(v0)\n\
             block1(v3: b32):\n v5 = ineg.b32 v3\n brif v1, block2, block3\n\
             block2:\n jump block1(v5)\nblock3:\n v7 = iadd.b32 v3, v3\n exit",
        );
    }

    #[test]
    fn exchanged_parameters_stay() {
        check_unchanged(
            params,
            "block0:\n v0 = const.b32 0x0\n v1 = const.b32 0x1\n v2 = undef.pred\n jump block1(v0, v1)\n\
             block1(v3: b32, v4: b32):\n brif v2, block1(v4, v3), block2\nblock2:\n exit",
        );
    }
}
