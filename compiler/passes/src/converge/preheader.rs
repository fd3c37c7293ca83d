//! Preheaders: a block in front of each loop that holds a divergent branch.

use ptxc_ir::cfg::Cfg;
use ptxc_ir::dominators::Dominators;
use ptxc_ir::loops::Loops;
use ptxc_ir::{Block, BlockCall, Function, InstData, Op, Type};

use crate::uniformity::Uniformity;

/// Gives each loop with a divergent branch in it a block that all ways into the loop lead through and that
/// goes nowhere else. A `bssy` for the whole loop stands there; unused ones vanish in the layout.
pub(super) fn insert_preheaders(func: &mut Function, uniformity: &Uniformity) {
    let cfg = Cfg::compute(func);
    let loops = Loops::compute(&cfg, &Dominators::compute(&cfg));
    let mut fronts: Vec<(Block, Block)> = Vec::new();
    for this in loops.iter() {
        let divergent = loops.blocks(this).iter().any(|&block| uniformity.is_divergent_branch(block));
        if !divergent || loops.preheader(&cfg, this).is_some() {
            continue;
        }
        let header = loops.header(this);
        let outside: Vec<Block> =
            cfg.preds(header).iter().copied().filter(|&pred| !loops.contains(this, pred)).collect();
        fronts.push((header, add_front(func, header, &outside)));
    }
    if fronts.is_empty() {
        return;
    }
    let layout = std::mem::take(&mut func.layout);
    fronts.sort();
    for block in layout {
        if let Ok(found) = fronts.binary_search_by_key(&block, |&(header, _)| header) {
            func.layout.push(fronts[found].1);
        }
        func.layout.push(block);
    }
}

fn add_front(func: &mut Function, header: Block, outside: &[Block]) -> Block {
    let front = func.blocks.push(Default::default());
    let mut params = Vec::new();
    for param in func.blocks[header].params.clone() {
        let ty = func.ty(param);
        params.push(func.add_block_param(front, ty));
    }
    for &block in outside {
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
