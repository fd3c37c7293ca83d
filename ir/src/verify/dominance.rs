//! A definition dominates each of its uses.

use cranelift_entity::SecondaryMap;

use super::{Report, Rule};
use crate::cfg::Cfg;
use crate::dominators::Dominators;
use crate::entities::{Block, Value};
use crate::function::Function;

/// Where a value is defined: before the instruction at that index of the block; parameters precede
/// all instructions.
type Definition = Option<(Block, u32)>;

pub(super) fn check(func: &Function, report: &mut Report<'_>) {
    let cfg = Cfg::compute(func);
    let dominators = Dominators::compute(&cfg);
    let mut definitions: SecondaryMap<Value, Definition> = SecondaryMap::new();
    for &block in &func.layout {
        for &param in &func.blocks[block].params {
            definitions[param] = Some((block, 0));
        }
        for (place, &inst) in func.blocks[block].insts.iter().enumerate() {
            for &result in func.results(inst) {
                definitions[result] = Some((block, place as u32 + 1));
            }
        }
    }
    for &block in cfg.rpo() {
        for (place, &inst) in func.blocks[block].insts.iter().enumerate() {
            let data = &func.insts[inst];
            for &arg in data.args.iter().chain(data.targets.iter().flat_map(|target| &target.args)) {
                let problem = match definitions[arg] {
                    None => "is not defined in any block".to_string(),
                    Some((home, _)) if home != block && !dominators.dominates(home, block) => {
                        format!("is defined in {home}, which does not dominate this")
                    }
                    Some((home, after)) if home == block && after > place as u32 => {
                        "is defined only below".to_string()
                    }
                    Some(_) => continue,
                };
                report.inst(block, inst, Rule::Dominance, format!("{arg} {problem}"));
            }
        }
    }
}
