//! The checks of the graph and the ownership of its parts: layout, entry, terminators, edges,
//! definitions.

use cranelift_entity::{EntityRef, SecondaryMap};

use super::{Report, Rule};
use crate::entities::{Block, Inst};
use crate::function::{Function, FunctionKind, ValueDef};
use crate::op::Op;

/// Checks the structure; returns false if it is too broken for the other checks.
pub(super) fn check(func: &Function, report: &mut Report<'_>) -> bool {
    if func.layout.is_empty() {
        report.function(Rule::Layout, "the function has no blocks".to_string());
        return false;
    }
    let mut in_layout: SecondaryMap<Block, bool> = SecondaryMap::new();
    for &block in &func.layout {
        if block.index() >= func.blocks.len() {
            report.function(Rule::Layout, format!("{block} of the layout does not exist"));
            return false;
        }
        if std::mem::replace(&mut in_layout[block], true) {
            report.block(block, Rule::Layout, "the layout lists the block twice".to_string());
            return false;
        }
    }
    if !references_exist(func, report) {
        return false;
    }
    let before = report.errors.len();
    let entry = func.entry();
    if func.kind == FunctionKind::Entry && !func.blocks[entry].params.is_empty() {
        report.block(entry, Rule::Entry, "the entry of a kernel has parameters".to_string());
    }
    let mut placed: SecondaryMap<Inst, bool> = SecondaryMap::new();
    for &block in &func.layout {
        definitions(func, block, report);
        let insts = &func.blocks[block].insts;
        if insts.is_empty() {
            report.block(block, Rule::Terminator, "the block is empty".to_string());
        }
        for (i, &inst) in insts.iter().enumerate() {
            if std::mem::replace(&mut placed[inst], true) {
                report.inst(block, inst, Rule::Layout, "the instruction is in two places".to_string());
            }
            let data = &func.insts[inst];
            let terminator = data.op.is_terminator();
            if terminator != (i + 1 == insts.len()) {
                let what =
                    if terminator { "a terminator inside a block" } else { "the block ends without one" };
                report.inst(block, inst, Rule::Terminator, what.to_string());
            }
            let (least, most) = match data.op {
                Op::Jump => (1, 1),
                Op::Branch { .. } | Op::BranchTogether => (2, 2),
                Op::Switch => (1, usize::MAX),
                _ => (0, 0),
            };
            let count = data.targets.len();
            if !(least..=most).contains(&count) {
                report.inst(block, inst, Rule::Targets, format!("{count} edges"));
            }
            for target in &data.targets {
                if !in_layout[target.block] {
                    let what = format!("{} is not in the layout", target.block);
                    report.inst(block, inst, Rule::Layout, what);
                } else if target.block == entry {
                    report.inst(block, inst, Rule::Entry, "an edge to the entry".to_string());
                }
                let params = &func.blocks[target.block].params;
                let fits = params.len() == target.args.len()
                    && params.iter().zip(&target.args).all(|(&param, &arg)| func.ty(param) == func.ty(arg));
                if !fits {
                    let types = |values: &[_]| {
                        let names: Vec<_> = values.iter().map(|&value| func.ty(value).name()).collect();
                        names.join(", ")
                    };
                    let message =
                        format!("{} takes ({}), not ({})", target.block, types(params), types(&target.args));
                    report.inst(block, inst, Rule::Edge, message);
                }
            }
        }
    }
    report.errors.len() == before
}

/// Whether every entity that is mentioned exists, so that indexing cannot fail.
fn references_exist(func: &Function, report: &mut Report<'_>) -> bool {
    for &block in &func.layout {
        for &inst in &func.blocks[block].insts {
            if inst.index() >= func.insts.len() {
                report.block(block, Rule::Layout, format!("{inst} does not exist"));
                return false;
            }
            let data = &func.insts[inst];
            let values = data.args.iter().chain(data.targets.iter().flat_map(|target| &target.args));
            let blocks = data.targets.iter().map(|target| target.block);
            let named = if let Op::Bssy { join: block, .. } = data.op { Some(block) } else { None };
            if let Some(value) = values.copied().find(|&value| !func.is_value(value)) {
                report.block(block, Rule::Definition, format!("{inst} uses {value}, which does not exist"));
                return false;
            }
            if let Some(target) = blocks.chain(named).find(|block| block.index() >= func.blocks.len()) {
                report.block(block, Rule::Layout, format!("{inst} names {target}, which does not exist"));
                return false;
            }
            if let Op::Call { callee, .. } | Op::CallIndirect(callee) | Op::FuncAddr(callee) = data.op
                && callee.index() >= func.callees.len()
            {
                report.block(block, Rule::Call, format!("{inst} names {callee}, which does not exist"));
                return false;
            }
            if let Op::SymbolAddr(symbol) = data.op
                && symbol.index() >= func.symbols.len()
            {
                report.block(block, Rule::Symbol, format!("{inst} names {symbol}, which does not exist"));
                return false;
            }
        }
    }
    true
}

/// The parameters and results of a block store their actual definitions.
fn definitions(func: &Function, block: Block, report: &mut Report<'_>) {
    let params = func.blocks[block].params.iter().enumerate();
    let params = params.map(|(i, &value)| (value, ValueDef::Param(block, i as u32)));
    let insts = func.blocks[block].insts.iter();
    let results = insts.flat_map(|&inst| {
        let results = func.results(inst).iter().enumerate();
        results.map(move |(i, &value)| (value, ValueDef::Result(inst, i as u16)))
    });
    for (value, def) in params.chain(results) {
        if !func.is_value(value) || func.def(value) != def {
            report.value(value, Rule::Definition, format!("its definition in {block} is unknown to it"));
        }
    }
}
