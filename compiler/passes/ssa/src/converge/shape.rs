//! Blocks that regions need: one before a loop that lanes leave in different iterations, and one at
//! the end of its iterations.
//!
//! ```text
//! block1: brif v1, block2, block9        block1: brif v1, block7, block9
//!                                        block7: jump block2                   // the region of the loop begins here
//! block2: …                              block2: …
//! block3: brif v2, block2, block4        block3: brif v2, block8, block4
//! block4: jump block2                    block4: jump block8
//!                                        block8: jump block2                   // lanes of one iteration meet here
//! ```

use cranelift_entity::{EntitySet, SecondaryMap};
use ptxc_ir::{Block, BlockCall, Function, InstData, Loop, Op, Type};

use super::region::Flow;

/// A block to insert before another one.
pub(super) struct Front {
    header: Block,
    sources: Vec<Block>,
}

/// The blocks that are missing.
pub(super) fn missing(flow: &Flow<'_>) -> Vec<Front> {
    // Loops in which lanes diverge, and loops in which such lanes do not meet again.
    let (mut parted, mut left): (EntitySet<Loop>, EntitySet<Loop>) = Default::default();
    // For each loop, the outermost of the loops from it outwards that are marked as left.
    let mut outermost_left: SecondaryMap<Loop, Option<Loop>> = SecondaryMap::new();
    for &block in flow.cfg.rpo() {
        ptxc_interrupt::poll();
        let Some(innermost) = flow.loops.innermost(block).filter(|_| flow.parts(block)) else { continue };
        let mut around = Some(innermost);
        while let Some(this) = around.filter(|&this| parted.insert(this)) {
            around = flow.loops.parent(this);
        }
        let meet = flow.postdominators.immediate(block);
        let is_left = |this: Loop| meet.is_none_or(|meet| !flow.loops.contains(this, meet));
        let mut around = Some(innermost);
        while let Some(this) = around.filter(|&this| is_left(this)) {
            left.insert(this);
            let last = outermost_left[this].unwrap_or(this);
            outermost_left[innermost] = Some(last);
            around = if is_left(last) { flow.loops.parent(last) } else { None };
        }
    }
    let mut fronts = Vec::new();
    for this in flow.loops.iter() {
        ptxc_interrupt::poll();
        if !parted.contains(this) {
            continue;
        }
        let header = flow.loops.header(this);
        let mut ways: Vec<Block> = flow.cfg.preds(header).to_vec();
        ways.dedup();
        let (back, into): (Vec<Block>, Vec<Block>) =
            ways.into_iter().partition(|&way| flow.loops.contains(this, way));
        let is_front = matches!(into[..], [only] if flow.cfg.succs(only).len() == 1);
        if left.contains(this) && !is_front && !into.is_empty() {
            fronts.push(Front { header, sources: into });
        }
        if back.len() > 1 {
            fronts.push(Front { header, sources: back });
        }
    }
    fronts
}

/// Adds the blocks.
pub(super) fn add(func: &mut Function, fronts: Vec<Front>) {
    let mut new: SecondaryMap<Block, Vec<Block>> = SecondaryMap::new();
    for Front { header, sources } in fronts {
        ptxc_interrupt::poll();
        let front = func.blocks.push(Default::default());
        let mut params = Vec::new();
        for param in func.blocks[header].params.clone() {
            let ty = func.ty(param);
            params.push(func.add_block_param(front, ty));
        }
        for block in sources {
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
        new[header].push(front);
    }
    for block in std::mem::take(&mut func.layout) {
        func.layout.append(&mut new[block]);
        func.layout.push(block);
    }
}
