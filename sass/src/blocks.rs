//! The basic blocks of a finished program.
//!
//! In: a [`Program`]. Out: its [blocks](Block) in the order of the code, each with the places where
//! control continues. A call returns to the instruction after it; there is no edge to the function
//! that it calls.
//!
//! ```
//! use ptxc_sass::blocks::{Way, blocks};
//! use ptxc_sass::text::{ReadOptions, parse_programs};
//!
//! let text = ".target sm_90\n.text.k:\n.L_x_0:\n\
//!     [B------:R-:W-:-:S05] @P0 BRA `(.L_x_0) ;\n\
//!     [B------:R-:W-:-:S05] EXIT ;\n";
//! let kernels = parse_programs(text, &ReadOptions::default()).unwrap();
//! let blocks = blocks(&kernels[0].program);
//! assert_eq!(blocks.len(), 2);
//! let ways: Vec<_> = blocks[0].successors.iter().map(|next| (next.block, next.way)).collect();
//! assert_eq!(ways, [(0, Way::Taken), (1, Way::FallsThrough)]);
//! ```

use std::ops::Range;

use smallvec::SmallVec;

use crate::issue;
use crate::operand::Label;
use crate::program::Program;

/// How control comes to a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Way {
    /// By a branch.
    Taken,
    /// By one target of an indexed branch.
    Indexed,
    /// From the instruction before it.
    FallsThrough,
}

/// A place where control goes after a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Successor {
    /// The number of the block.
    pub block: u32,
    /// How control gets there.
    pub way: Way,
}

/// A basic block: control enters only at its first instruction, and leaves only after its last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The first instruction.
    pub start: u32,
    /// The index after the last instruction.
    pub end: u32,
    /// The blocks after it, each way once.
    pub successors: SmallVec<[Successor; 2]>,
}

impl Block {
    /// The indices of its instructions.
    pub fn range(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// The instructions that an instruction may branch to.
fn targets(program: &Program, index: usize) -> SmallVec<[u32; 1]> {
    let inst = &program.insts[index].inst;
    if !inst.jumps() {
        return SmallVec::new();
    }
    let place = |label: Label| program.labels.get(label.0 as usize).copied();
    let mut targets: SmallVec<[u32; 1]> = inst.labels().filter_map(place).collect();
    targets.retain(|target| (*target as usize) < program.insts.len());
    targets.sort_unstable();
    targets.dedup();
    targets
}

/// The blocks of a program. Labels that nothing branches to divide blocks, too, and so do the
/// starts of functions. Cost: linear in the length of the program, plus sorting the starts.
pub fn blocks(program: &Program) -> Vec<Block> {
    let count = program.insts.len() as u32;
    let mut starts: Vec<u32> = vec![0];
    starts.extend(&program.labels);
    starts.extend(program.functions.iter().filter_map(|function| function.start));
    for (index, coded) in program.insts.iter().enumerate() {
        if coded.inst.jumps() || !coded.inst.falls_through() {
            starts.extend(targets(program, index));
            starts.push(index as u32 + 1);
        }
    }
    starts.retain(|&start| start < count);
    starts.sort_unstable();
    starts.dedup();
    let block_at = |place: u32| starts.binary_search(&place).ok().map(|block| block as u32);
    let ends = starts.iter().skip(1).copied().chain([count]);
    let block = |(&start, end): (&u32, u32)| {
        let last = &program.insts[end as usize - 1].inst;
        let way = if last.is_indexed_branch() { Way::Indexed } else { Way::Taken };
        let jumps = targets(program, end as usize - 1).into_iter().map(|target| (target, way));
        let ways = jumps.chain(last.falls_through().then_some((end, Way::FallsThrough)));
        let successors = ways.filter_map(|(place, way)| Some(Successor { block: block_at(place)?, way }));
        Block { start, end, successors: successors.collect() }
    };
    starts.iter().zip(ends).map(block).collect()
}

/// The cycles that a warp takes for one run of each block, if it waits for no scoreboard and no
/// data. Weighted by how often each block runs, they sum to [`Program::static_cycles`], which
/// weights instructions. Cost: linear in the length of the program.
pub fn static_cycles(program: &Program, blocks: &[Block]) -> Vec<u64> {
    let cycles = issue::distances(program.arch, &program.insts);
    blocks.iter().map(|block| cycles[block.range()].iter().sum()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{ReadOptions, parse_programs};

    /// The first instruction of a block, the index after its last, and its ways.
    type Shown = (u32, u32, Vec<(u32, Way)>);

    fn of(text: &str) -> Vec<Shown> {
        let text = format!(".target sm_90\n.text.k:\n{text}");
        let kernels = parse_programs(&text, &ReadOptions::default()).unwrap();
        let ways = |block: &Block| block.successors.iter().map(|next| (next.block, next.way)).collect();
        blocks(&kernels[0].program).iter().map(|block| (block.start, block.end, ways(block))).collect()
    }

    #[test]
    fn arms_meet_and_ends_go_nowhere() {
        let found = of("[B------:R-:W-:-:S05] @P0 BRA `(.L_x_0) ;\n\
             [B------:R-:W-:-:S05] MOV R0, R1 ;\n\
             .L_x_0:\n\
             [B------:R-:W-:-:S05] @!P0 EXIT ;\n\
             [B------:R-:W-:-:S05] EXIT ;\n");
        let (taken, falls) = (Way::Taken, Way::FallsThrough);
        let expected = [(0, 1, vec![(2, taken), (1, falls)]), (1, 2, vec![(2, falls)]), (2, 4, vec![])];
        assert_eq!(found, expected);
    }

    #[test]
    fn an_empty_program_has_no_block() {
        assert_eq!(of(""), []);
    }
}
