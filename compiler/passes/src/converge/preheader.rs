//! A block in front of each cycle that a region has to begin in front of.

use std::collections::BTreeMap;
use std::rc::Rc;

use ptxc_ir::{Block, BlockCall, Cfg, Function, InstData, Op, Type};

use super::region::Cycle;

/// Gives each cycle that a region must begin in front of a block that all ways into the cycle lead through
/// and that goes nowhere else. Two cycles may share a header, such as a spin loop at the start of the body
/// of another loop: then the front of the outer one leads to the front of the inner one.
pub(super) fn insert_preheaders(func: &mut Function, cfg: &Cfg, cycles: BTreeMap<Block, Vec<Rc<Cycle>>>) {
    let mut fronts: BTreeMap<Block, Vec<Block>> = BTreeMap::new();
    for (header, mut around) in cycles {
        // Cycles with one header contain each other; the outermost comes first.
        around.sort_by_key(|cycle| std::cmp::Reverse(cycle.blocks.len()));
        let mut outer: Vec<Block> = Vec::new();
        let mut waiting: Vec<Block> = cfg.preds(header).to_vec();
        for cycle in &around {
            let (stay, enter): (Vec<Block>, Vec<Block>) =
                waiting.into_iter().partition(|&pred| cycle.blocks.contains(&pred));
            waiting = stay;
            let sources: Vec<Block> = enter.into_iter().chain(outer.last().copied()).collect();
            outer.push(add_front(func, header, &sources));
        }
        fronts.insert(header, outer);
    }
    let layout = std::mem::take(&mut func.layout);
    for block in layout {
        func.layout.extend(fronts.remove(&block).unwrap_or_default());
        func.layout.push(block);
    }
}

/// Leads the edges from `sources` to a header through a new block.
fn add_front(func: &mut Function, header: Block, sources: &[Block]) -> Block {
    let front = func.blocks.push(Default::default());
    let mut params = Vec::new();
    for param in func.blocks[header].params.clone() {
        let ty = func.ty(param);
        params.push(func.add_block_param(front, ty));
    }
    for &block in sources {
        let Some(inst) = func.terminator(block) else { continue };
        for target in &mut func.insts[inst].targets {
            if target.block == header {
                target.block = front;
            }
        }
    }
    let mut jump = InstData::new(Op::Jump, Type::B32, &[]);
    jump.targets.push(BlockCall::new(header, &params));
    func.append(front, jump);
    front
}
