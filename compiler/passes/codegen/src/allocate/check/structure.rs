//! The checks that need not follow the contents of registers: blocks and edges are those of the
//! input, and each instruction of the result is one of the input except for its registers, which
//! are aligned and within their files.

use cranelift_entity::{EntityRef, SecondaryMap};
use ptxc_sass::{PReg, RegFile, Register};
use smallvec::SmallVec;

use super::super::Origin;
use super::super::granted::Granted;
use super::renamed::Match;
use super::{Checker, Violation};
use crate::mir::{MBlockId, MInst, Term, VReg, for_blocks};

impl Checker<'_> {
    /// Numbers the sets of divergent blocks that edges connect or that are targets of one branch.
    pub(super) fn number_regions(&mut self) {
        let result = self.result;
        if !result.layout.iter().any(|&block| result.blocks[block].divergent) {
            return;
        }
        let mut neighbours: SecondaryMap<MBlockId, SmallVec<[MBlockId; 4]>> =
            for_blocks(result, SmallVec::new());
        for &block in &result.layout {
            let mut link = |a: MBlockId, b: MBlockId| {
                neighbours[a].push(b);
                neighbours[b].push(a);
            };
            // It is enough to link each target with the next relevant one: there may be thousands.
            let mut last: Option<MBlockId> = None;
            for edge in result.blocks[block].term.edges() {
                link(block, edge.block);
                if result.blocks[edge.block].divergent {
                    last.inspect(|&last| link(last, edge.block));
                    last = Some(edge.block);
                }
            }
        }
        let region = &mut self.region;
        let mut stack = Vec::new();
        let mut count = 0;
        for &root in &result.layout {
            stack.push(root);
            let mut any = false;
            while let Some(block) = stack.pop() {
                if result.blocks[block].divergent && region[block].is_none() {
                    region[block] = Some(count);
                    any = true;
                    stack.extend(&neighbours[block]);
                }
            }
            count += u32::from(any);
        }
    }

    fn structural(&mut self, block: MBlockId, what: String) {
        let inst = self.result.blocks[block].insts.len();
        self.violations.push(Violation { block, inst, what });
    }

    /// Checks that blocks, edges and origins match; needs no dataflow.
    pub(super) fn structure(&mut self) {
        let (input, result) = (self.input, self.result);
        let inputs = input.blocks.len();
        if result.layout.first() != input.layout.first() {
            let block = result.layout.first().copied().unwrap_or(MBlockId::new(0));
            self.violations.push(Violation { block, inst: 0, what: "another entry".into() });
        }
        for &id in &result.layout {
            let block = &result.blocks[id];
            if self.origins[id].len() != block.insts.len() {
                self.structural(id, "origins do not match the instructions".into());
            }
            if !block.params.is_empty() {
                self.structural(id, "it still has parameters".into());
            }
            if id.index() >= inputs {
                if !matches!(block.term, Term::Jump(_)) {
                    self.structural(id, "a block on an edge must jump".into());
                }
                continue;
            }
            let original = &input.blocks[id];
            if block.divergent != original.divergent {
                self.structural(id, "its divergence changed".into());
            }
            let same_kind = match (&original.term, &block.term) {
                (Term::Jump(_), Term::Jump(_)) | (Term::Exit, Term::Exit) | (Term::Return, Term::Return) => {
                    true
                }
                (
                    Term::Branch { negated: a, pred: before, .. },
                    Term::Branch { negated: b, pred: after, .. },
                ) => a == b && before.file() == after.file(),
                (Term::Together { mask: before, .. }, Term::Together { mask: after, .. }) => {
                    before.map(|mask| mask.file()) == after.map(|mask| mask.file())
                }
                (
                    Term::Table { offset: a, address: before, edges },
                    Term::Table { offset: b, address: after, edges: kept },
                ) => a == b && before.file() == after.file() && edges.len() == kept.len(),
                _ => false,
            };
            if !same_kind {
                self.structural(id, "it ends differently".into());
                continue;
            }
            let diverges = original.divergent
                || original.term.edges().iter().any(|edge| input.blocks[edge.block].divergent);
            for (before, after) in original.term.edges().into_iter().zip(block.term.edges()) {
                let mut target = after.block;
                if target.index() >= inputs
                    && let Term::Jump(edge) = &result.blocks[target].term
                {
                    if diverges && !result.blocks[target].divergent {
                        self.structural(target, "it lies on an edge of a divergent branch".into());
                    }
                    target = edge.block;
                }
                if target != before.block {
                    self.structural(id, format!("an edge leads to {target}, not {}", before.block));
                }
                if before.args.len() != input.blocks[before.block].params.len() {
                    self.structural(id, "an edge has not as many arguments as its target parameters".into());
                }
            }
        }
    }

    /// Compares the instructions of the result with their originals in the input, and checks the
    /// numbers of their registers, once for all walks.
    pub(super) fn match_instructions(&mut self) {
        let (input, result) = (self.input, self.result);
        let limits = RegFile::ALL.map(|file| match file {
            RegFile::Gpr => self.max_regs.min(u16::from(file.count_on(self.arch))),
            file => u16::from(file.count_on(self.arch)),
        });
        let granted = Granted::of(result, self.max_regs);
        let mut limits = limits;
        for &id in &result.layout {
            self.first_match[id] = self.matches.len() as u32;
            if let Some(granted) = &granted {
                limits[RegFile::Gpr as usize] = granted.at(id);
            }
            let block = &result.blocks[id];
            let original = input.blocks.get(id);
            let insts: &[MInst<VReg>] = original.map_or(&[], |original| &original.insts);
            for (index, (inst, origin)) in block.insts.iter().zip(&self.origins[id]).enumerate() {
                ptxc_interrupt::poll();
                if let Some(count) = inst.inst.granted_registers() {
                    limits[RegFile::Gpr as usize] = count;
                }
                let mut writes_uniform = false;
                let mut placed = Placed { limits, block: id, inst: index, violations: &mut self.violations };
                let mut written = |placed: &mut Placed<'_>, reg: PReg, width: u8| {
                    placed.check(reg, width);
                    writes_uniform |= reg.file().is_uniform();
                };
                let before = match origin {
                    Origin::Inst(origin) => insts.get(*origin as usize),
                    _ => None,
                };
                let matched = match before {
                    Some(before) => self.matcher.add(before, inst, &self.components),
                    None => Ok(Match::default()),
                };
                match (&matched, before) {
                    (Ok(matched), Some(_)) => {
                        for pair in self.matcher.uses(matched) {
                            placed.check(pair.to, pair.width);
                        }
                        for pair in self.matcher.defs(matched) {
                            written(&mut placed, pair.to, pair.width);
                        }
                    }
                    _ => inst.inst.for_each_def(|def| written(&mut placed, def.reg, def.width)),
                }
                if let Some(call) = &inst.call {
                    call.args.iter().for_each(|fixed| placed.check(fixed.place, fixed.value.width));
                    call.held.iter().for_each(|held| placed.check(held.reg, held.width));
                    let results = call.results.iter().map(|fixed| (fixed.value.reg, fixed.value.width));
                    results.for_each(|(reg, width)| written(&mut placed, reg, width));
                    // A callee may destroy registers that the warp has returned by now: there are none.
                    writes_uniform |= call.clobbers.iter().any(|reg| reg.file().is_uniform());
                }
                self.writes_uniform[id] |= writes_uniform;
                self.matches.push(matched);
            }
            let before = original.and_then(|original| original.term.selector());
            if let (Some((&selector, _)), Some((_, width))) = (block.term.selector(), before) {
                let inst = block.insts.len();
                Placed { limits, block: id, inst, violations: &mut self.violations }.check(selector, width);
            }
        }
    }
}

/// Checks that the register operands of an instruction are aligned and within their files.
struct Placed<'a> {
    /// The number of registers of each file.
    limits: [u16; 4],
    block: MBlockId,
    inst: usize,
    violations: &'a mut Vec<Violation>,
}

impl Placed<'_> {
    fn check(&mut self, reg: PReg, width: u8) {
        let limit = self.limits[reg.file() as usize];
        let aligned = match width {
            1 => true,
            2 => reg.index().is_multiple_of(2),
            _ => reg.index().is_multiple_of(4),
        };
        if !aligned {
            self.wrong(format!("{reg} is not aligned for {width}"));
        }
        if u16::from(reg.index()) + u16::from(width) > limit {
            self.wrong(format!("{reg} with {width} registers is over the limit"));
        }
    }

    fn wrong(&mut self, what: String) {
        self.violations.push(Violation { block: self.block, inst: self.inst, what });
    }
}
