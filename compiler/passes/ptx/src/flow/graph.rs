//! The blocks of a function's text: their successors, and the registers that each reads and writes.
//!
//! A block begins at a label or after a branch, and ends before the next block. A function has no
//! graph if it branches to places that its text does not name.

use ptxc_syntax::ast::{Function, Ident, Instruction, Space, Statement, StatementKind};
use ptxc_syntax::{Name, NodeId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::check::Checked;
use crate::check::accesses::{Access, Accesses, visit};
use crate::check::resolved::Resolved;
use crate::check::scope::{Meaning, Register, Scopes};
use crate::check::table::Mnemonic;

/// A stretch of text that control enters only at its start.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    /// The label before it: its place and name.
    pub label: Option<(NodeId, Name)>,
    /// Its instructions, as a range of [`Graph::instructions`].
    pub instructions: std::ops::Range<usize>,
    /// Whether control continues after its last instruction if no branch is taken.
    pub goes_on: bool,
}

/// An instruction of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub node: NodeId,
    /// The instruction.
    pub mnemonic: Option<Mnemonic>,
}

/// The blocks of a function.
pub(super) struct Graph<'a> {
    /// In the order of the text; control enters at the first.
    pub blocks: Vec<Block>,
    pub edges: Vec<(u32, u32)>,
    pub instructions: Vec<Place>,
    /// Whether a block can be reached.
    pub reached: Vec<bool>,
    /// The number of registers.
    pub registers: usize,
    function: &'a Function,
    accesses: &'a Accesses,
    /// Parameters in registers; they have values from the start.
    given: FxHashSet<Register>,
}

impl<'a> Graph<'a> {
    /// The blocks of a function without errors.
    pub fn of(function: &'a Function, checked: &'a Checked) -> Option<Graph<'a>> {
        let body = function.body.as_deref()?;
        let has_given = function.parameters.iter().any(|parameter| parameter.specifiers.space == Space::Reg);
        let given = if has_given { given(function) } else { FxHashSet::default() };
        let mut builder = Builder {
            graph: Graph {
                blocks: vec![Block { goes_on: true, ..Block::default() }],
                edges: Vec::new(),
                instructions: Vec::new(),
                reached: Vec::new(),
                registers: checked.resolved.register_count() as usize,
                function,
                accesses: &checked.accesses,
                given,
            },
            labels: Labels::of(function, body),
            starts: FxHashMap::default(),
            branches: Vec::new(),
            targets: lists_of_targets(body),
            has_unknown_targets: false,
            resolved: &checked.resolved,
        };
        for (index, statement) in body.iter().enumerate() {
            ptxc_interrupt::poll();
            if let Labels::Nested(scopes) = &mut builder.labels {
                scopes.statement(index, statement);
            }
            match &statement.kind {
                StatementKind::Label(name) => {
                    builder.begin(Some((statement.id, name.clone())));
                    builder.starts.insert(index, builder.current());
                }
                StatementKind::Instruction(instruction) => {
                    builder.instruction(statement.id, instruction);
                }
                _ => {}
            }
        }
        builder.finish()
    }

    /// The accesses of a block; in each instruction, reads before writes.
    pub fn accesses_in(&self, block: usize) -> impl Iterator<Item = &'a Access> {
        self.accesses_of(self.blocks[block].instructions.clone())
    }

    /// All accesses, in the order of the text.
    pub fn all_accesses(&self) -> impl Iterator<Item = &'a Access> {
        self.accesses_of(0..self.instructions.len())
    }

    fn accesses_of(&self, instructions: std::ops::Range<usize>) -> impl Iterator<Item = &'a Access> {
        self.accesses.of_all(instructions).iter().filter(|access| !self.given.contains(&access.register))
    }

    /// The names of registers that are accessed.
    pub fn names(&self, registers: &FxHashSet<Register>) -> FxHashMap<Register, &'a Name> {
        let mut scopes = Scopes::new(self.function);
        let mut names = FxHashMap::default();
        for (index, statement) in self.function.body.iter().flatten().enumerate() {
            ptxc_interrupt::poll();
            scopes.statement(index, statement);
            let StatementKind::Instruction(instruction) = &statement.kind else { continue };
            let mut see = |name: &'a Name| {
                if let Some(Meaning::Register { register, .. }) = scopes.lookup(name)
                    && registers.contains(&register)
                {
                    names.entry(register).or_insert(name);
                }
            };
            instruction.guard.iter().for_each(|guard| see(&guard.register));
            instruction
                .operands
                .iter()
                .for_each(|operand| visit(operand, false, &mut |name, _, _| see(name)));
        }
        names
    }
}

/// The parameters in registers.
fn given(function: &Function) -> FxHashSet<Register> {
    let scopes = Scopes::new(function);
    let register = |(_, meaning): &(usize, Meaning)| match meaning {
        Meaning::Register { register, .. } => Some(*register),
        _ => None,
    };
    scopes.in_registers[0].iter().filter_map(register).collect()
}

/// The meaning of labels, each as the number of its statement.
enum Labels<'a> {
    /// A body without nested blocks, as compilers write it for kernels: label names are unique.
    Plain(FxHashMap<&'a str, usize>),
    /// The meaning of a label depends on the place that names it.
    Nested(Scopes),
}

impl<'a> Labels<'a> {
    fn of(function: &'a Function, body: &'a [Statement]) -> Labels<'a> {
        let mut labels = FxHashMap::default();
        for (index, statement) in body.iter().enumerate() {
            match &statement.kind {
                StatementKind::Label(name) => {
                    labels.insert(name.as_str(), index);
                }
                StatementKind::Open => return Labels::Nested(Scopes::new(function)),
                _ => {}
            }
        }
        Labels::Plain(labels)
    }

    /// The statement of a label that is named at this place.
    fn get(&self, name: &str) -> Option<usize> {
        match self {
            Labels::Plain(labels) => labels.get(name).copied(),
            Labels::Nested(scopes) => match scopes.lookup(name)? {
                Meaning::Label(index) => Some(index),
                _ => None,
            },
        }
    }
}

/// The labels that `brx.idx` may go to, by the name of their list.
fn lists_of_targets(body: &[Statement]) -> FxHashMap<&str, &[Ident]> {
    let lists = body.iter().filter_map(|statement| match &statement.kind {
        StatementKind::BranchTargets(list) => Some((list.name.name.as_str(), &list.targets[..])),
        _ => None,
    });
    lists.collect()
}

/// The blocks that are reachable from the first.
fn reached(blocks: usize, edges: &[(u32, u32)]) -> Vec<bool> {
    let mut next: Vec<Vec<u32>> = vec![Vec::new(); blocks];
    for &(from, to) in edges {
        next[from as usize].push(to);
    }
    let mut reached = vec![false; blocks];
    let mut work = vec![0];
    while let Some(block) = work.pop() {
        ptxc_interrupt::poll();
        if !std::mem::replace(&mut reached[block as usize], true) {
            work.extend(&next[block as usize]);
        }
    }
    reached
}

struct Builder<'a> {
    graph: Graph<'a>,
    labels: Labels<'a>,
    /// The block that each label begins, by the number of its statement.
    starts: FxHashMap<usize, u32>,
    /// The edges of branches, with the number of the label's statement.
    branches: Vec<(u32, usize)>,
    targets: FxHashMap<&'a str, &'a [Ident]>,
    has_unknown_targets: bool,
    resolved: &'a Resolved,
}

impl<'a> Builder<'a> {
    fn current(&self) -> u32 {
        self.graph.blocks.len() as u32 - 1
    }

    /// Begins a block after the current one.
    fn begin(&mut self, label: Option<(NodeId, Name)>) {
        let (last, at) = (self.current(), self.graph.instructions.len());
        let goes_on = self.graph.blocks.last().is_some_and(|block| block.goes_on);
        if goes_on {
            self.graph.edges.push((last, last + 1));
        }
        self.graph.blocks.push(Block { label, instructions: at..at, goes_on: true });
    }

    fn instruction(&mut self, node: NodeId, instruction: &'a Instruction) {
        let number = self.graph.instructions.len();
        let mnemonic = self.resolved.opcode(number).map(|opcode| opcode.instruction);
        self.graph.instructions.push(Place { node, mnemonic });
        if let Some(block) = self.graph.blocks.last_mut() {
            block.instructions.end += 1;
        }
        match (mnemonic, &instruction.operands[..]) {
            (Some(Mnemonic::Bra), [target]) => match target.as_symbol() {
                Some(name) => self.branch(name),
                None => self.has_unknown_targets = true,
            },
            (Some(Mnemonic::BrxIdx), [_, list]) => {
                match list.as_symbol().and_then(|name| self.targets.get(name.as_str()).copied()) {
                    Some(targets) => targets.iter().for_each(|target| self.branch(&target.name)),
                    None => self.has_unknown_targets = true,
                }
            }
            _ => {}
        }
        use Mnemonic::{Bra, BrxIdx, Exit, Ret, Trap};
        if matches!(mnemonic, Some(Bra | BrxIdx | Ret | Exit | Trap)) {
            if let Some(block) = self.graph.blocks.last_mut() {
                block.goes_on = instruction.guard.is_some();
            }
            self.begin(None);
        }
    }

    /// A branch from here to a label.
    fn branch(&mut self, name: &Name) {
        match self.labels.get(name) {
            Some(index) => self.branches.push((self.current(), index)),
            None => self.has_unknown_targets = true,
        }
    }

    /// The graph, if the targets of all branches are known.
    fn finish(self) -> Option<Graph<'a>> {
        let mut graph = self.graph;
        if self.has_unknown_targets {
            return None;
        }
        for (from, label) in self.branches {
            graph.edges.push((from, *self.starts.get(&label)?));
        }
        graph.reached = reached(graph.blocks.len(), &graph.edges);
        Some(graph)
    }
}
