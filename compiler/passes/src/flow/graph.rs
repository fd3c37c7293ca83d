//! The blocks of a function's text: which one goes on where, and what each does to registers.
//!
//! A block begins at a label, or behind a branch, and ends in front of the next. There is no graph of a function whose
//! branches go to places that its text does not name.

use ptxc_syntax::ast::{Function, Instruction, Operand, OperandKind, Statement, StatementKind};
use ptxc_syntax::{Name, NodeId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::check::forms::Forms;
use crate::check::scope::{Meaning, Register, Scopes};
use crate::check::signature::beside;
use crate::check::table::Kind;
use crate::interrupt;

/// A register that an instruction reads or writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    /// Which one; a vector register is its first lane.
    pub register: Register,
    /// The operand.
    pub node: NodeId,
    pub is_write: bool,
}

/// A stretch of text that control enters at its start alone.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    /// The label in front of it: its place and name.
    pub label: Option<(NodeId, Name)>,
    /// Its instructions, as a range of [`Graph::instructions`].
    pub instructions: std::ops::Range<usize>,
    /// Whether control goes on behind its last instruction, where no branch is taken.
    pub goes_on: bool,
}

/// An instruction of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub node: NodeId,
    pub instruction: &'a Instruction,
    /// Where its accesses begin in [`Graph::accesses`]; reads come before writes.
    pub accesses: usize,
}

/// The blocks of a function.
pub(super) struct Graph<'a> {
    /// In the order of the text; control enters at the first.
    pub blocks: Vec<Block>,
    pub edges: Vec<(u32, u32)>,
    pub instructions: Vec<Place<'a>>,
    pub accesses: Vec<Access>,
    /// Whether a block can be reached.
    pub reached: Vec<bool>,
    /// The names of registers that are accessed.
    pub names: FxHashMap<Register, Name>,
    /// How many registers there are.
    pub registers: usize,
}

impl<'a> Graph<'a> {
    /// The blocks of a function without errors.
    pub fn of(function: &'a Function) -> Option<Graph<'a>> {
        let body = function.body.as_deref()?;
        let scopes = Scopes::new(function);
        let given = scopes.in_registers[0].iter().filter_map(|(_, meaning)| match meaning {
            Meaning::Register { register, .. } => Some(*register),
            _ => None,
        });
        let mut builder = Builder {
            given: given.collect(),
            graph: Graph {
                blocks: vec![Block { goes_on: true, ..Block::default() }],
                edges: Vec::new(),
                instructions: Vec::new(),
                accesses: Vec::new(),
                reached: Vec::new(),
                names: FxHashMap::default(),
                registers: 0,
            },
            scopes,
            forms: Forms::default(),
            labels: blocks_of_labels(body),
            targets: lists_of_targets(body),
            has_unknown_targets: false,
        };
        for (index, statement) in body.iter().enumerate() {
            interrupt::poll();
            builder.scopes.statement(index, statement);
            match &statement.kind {
                StatementKind::Label(name) => builder.begin(Some((statement.id, name.clone()))),
                StatementKind::Instruction(instruction) => {
                    builder.instruction(statement.id, instruction);
                }
                _ => {}
            }
        }
        if builder.has_unknown_targets {
            return None;
        }
        let mut graph = builder.graph;
        graph.registers = builder.scopes.register_count() as usize;
        graph.reached = reached(graph.blocks.len(), &graph.edges);
        Some(graph)
    }

    /// The accesses of a block, each instruction's reads before its writes.
    pub fn accesses_in(&self, block: usize) -> &[Access] {
        let range = &self.blocks[block].instructions;
        let at =
            |index: usize| self.instructions.get(index).map_or(self.accesses.len(), |place| place.accesses);
        &self.accesses[at(range.start)..at(range.end)]
    }
}

/// Whether a block ends behind the instruction, and whether control goes on there where it has no guard.
fn ends_block(instruction: &Instruction) -> bool {
    matches!(instruction.opcode.mnemonic(), "bra" | "brx" | "ret" | "exit" | "trap")
}

/// The number of the block that each label begins, by the number of its statement.
fn blocks_of_labels(body: &[Statement]) -> FxHashMap<usize, u32> {
    let mut blocks = FxHashMap::default();
    let mut block = 0;
    for (index, statement) in body.iter().enumerate() {
        interrupt::poll();
        match &statement.kind {
            StatementKind::Label(_) => {
                block += 1;
                blocks.insert(index, block);
            }
            StatementKind::Instruction(instruction) if ends_block(instruction) => block += 1,
            _ => {}
        }
    }
    blocks
}

/// The labels that `brx.idx` may go to, by the name of their list.
fn lists_of_targets(body: &[Statement]) -> FxHashMap<&str, &[ptxc_syntax::ast::Ident]> {
    let lists = body.iter().filter_map(|statement| match &statement.kind {
        StatementKind::BranchTargets(list) => Some((list.name.name.as_str(), &list.targets[..])),
        _ => None,
    });
    lists.collect()
}

/// The blocks that edges lead to from the first.
fn reached(blocks: usize, edges: &[(u32, u32)]) -> Vec<bool> {
    let mut next: Vec<Vec<u32>> = vec![Vec::new(); blocks];
    for &(from, to) in edges {
        next[from as usize].push(to);
    }
    let mut reached = vec![false; blocks];
    let mut work = vec![0];
    while let Some(block) = work.pop() {
        interrupt::poll();
        if !std::mem::replace(&mut reached[block as usize], true) {
            work.extend(&next[block as usize]);
        }
    }
    reached
}

struct Builder<'a> {
    graph: Graph<'a>,
    /// Parameters in registers, which have values from the start.
    given: FxHashSet<Register>,
    scopes: Scopes,
    forms: Forms,
    labels: FxHashMap<usize, u32>,
    targets: FxHashMap<&'a str, &'a [ptxc_syntax::ast::Ident]>,
    has_unknown_targets: bool,
}

impl<'a> Builder<'a> {
    fn current(&self) -> u32 {
        self.graph.blocks.len() as u32 - 1
    }

    /// Begins a block behind the current one.
    fn begin(&mut self, label: Option<(NodeId, Name)>) {
        let (last, at) = (self.current(), self.graph.instructions.len());
        let goes_on = self.graph.blocks.last().is_some_and(|block| block.goes_on);
        if goes_on {
            self.graph.edges.push((last, last + 1));
        }
        self.graph.blocks.push(Block { label, instructions: at..at, goes_on: true });
    }

    fn instruction(&mut self, node: NodeId, instruction: &'a Instruction) {
        self.graph.instructions.push(Place { node, instruction, accesses: self.graph.accesses.len() });
        self.accesses(instruction);
        if let Some(block) = self.graph.blocks.last_mut() {
            block.instructions.end += 1;
        }
        let mnemonic = instruction.opcode.mnemonic();
        match (mnemonic, &instruction.operands[..]) {
            ("bra", [target]) => match target.as_symbol() {
                Some(name) => self.branch(name),
                None => self.has_unknown_targets = true,
            },
            ("brx", [_, list]) => {
                match list.as_symbol().and_then(|name| self.targets.get(name.as_str()).copied()) {
                    Some(targets) => targets.iter().for_each(|target| self.branch(&target.name)),
                    None => self.has_unknown_targets = true,
                }
            }
            _ => {}
        }
        if ends_block(instruction) {
            if let Some(block) = self.graph.blocks.last_mut() {
                block.goes_on = instruction.guard.is_some();
            }
            self.begin(None);
        }
    }

    /// A branch from here to a label.
    fn branch(&mut self, name: &Name) {
        let block = match self.scopes.lookup(name) {
            Some(Meaning::Label(index)) => self.labels.get(&index),
            _ => None,
        };
        match block {
            Some(&block) => self.graph.edges.push((self.current(), block)),
            None => self.has_unknown_targets = true,
        }
    }

    /// Notes what an instruction reads, then what it writes.
    fn accesses(&mut self, instruction: &Instruction) {
        if let Some(guard) = &instruction.guard {
            self.access(&guard.register, guard.id, false);
        }
        let forms = self.forms.of(&instruction.opcode);
        let operands = &instruction.operands[..];
        let is_call = forms.iter().any(|form| form.row.operands.iter().any(|spec| spec.kind == Kind::Call));
        if is_call {
            // Results come first, in parentheses, where another operand follows that is not.
            let has_results = matches!(
                operands,
                [Operand { kind: OperandKind::Arguments(_), .. }, callee, ..]
                    if !matches!(callee.kind, OperandKind::Arguments(_))
            );
            let (results, rest) = operands.split_at(usize::from(has_results));
            rest.iter().for_each(|operand| self.operand(operand, false));
            results.iter().for_each(|operand| self.operand(operand, true));
            return;
        }
        let Some(pairs) = forms.iter().find_map(|form| beside(form, operands).ok()) else {
            // What is not in the table may write any of its operands.
            return operands.iter().for_each(|operand| self.operand(operand, true));
        };
        // The bits that an exclusive or of a register with itself leaves are 0, whatever it held.
        let clears = instruction.opcode.mnemonic() == "xor"
            && matches!(operands, [_, a, b] if a.as_symbol().is_some() && a.as_symbol() == b.as_symbol());
        for writes in [false, true] {
            for (spec, operand) in &pairs {
                if spec.written == writes && (writes || !clears) {
                    self.operand(operand, writes);
                }
            }
        }
    }

    /// The registers of an operand. Those of an address are read, whatever happens to the memory there.
    fn operand(&mut self, operand: &Operand, is_write: bool) {
        let mut rest = vec![(operand, is_write)];
        while let Some((operand, is_write)) = rest.pop() {
            let node = operand.id;
            match &operand.kind {
                OperandKind::Symbol(name) => self.access(name, node, is_write),
                OperandKind::Selected(selected) => self.access(&selected.0, node, is_write),
                OperandKind::SymbolOffset(sum) => {
                    sum.base.iter().for_each(|name| self.access(name, node, is_write));
                }
                OperandKind::Element(element) => {
                    element.1.base.iter().for_each(|name| self.access(name, node, false));
                }
                OperandKind::Address(address) => {
                    address.place.base.iter().for_each(|name| self.access(name, node, false));
                    rest.extend(address.rest.iter().map(|operand| (operand, false)));
                }
                OperandKind::Vector(list) | OperandKind::Arguments(list) => {
                    rest.extend(list.iter().rev().map(|operand| (operand, is_write)));
                }
                OperandKind::Pair(pair) => rest.extend([(&pair.1, is_write), (&pair.0, is_write)]),
                OperandKind::Not(inner) | OperandKind::Minus(inner) => rest.push((inner, is_write)),
                OperandKind::Sink | OperandKind::Immediate(_) | OperandKind::String(_) => {}
            }
        }
    }

    fn access(&mut self, name: &Name, node: NodeId, is_write: bool) {
        let Some(Meaning::Register { register, .. }) = self.scopes.lookup(name) else { return };
        if self.given.contains(&register) {
            return;
        }
        self.graph.names.entry(register).or_insert_with(|| name.clone());
        self.graph.accesses.push(Access { register, node, is_write });
    }
}
