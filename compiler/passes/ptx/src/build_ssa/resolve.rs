//! Resolves the placeholders of registers: decides which of them are parameters and with which
//! arguments, and which other value each of the rest stands for.
//!
//! For one register, the sources of values are the blocks that write it, the blocks where its
//! values [meet](Meetings::search), and the entry, where it is undefined. A walk over sources and
//! reads in preorder of the dominator tree, with a stack of the sources above, finds the nearest
//! source of each read. Then the placeholders are handled in the order of their creation: a
//! placeholder at a meeting becomes the meeting's parameter, and any other placeholder becomes a
//! name for its source's value. A meeting that only an argument needs gets a new parameter; a
//! meeting that nothing needs gets none.

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use ptxc_ir::{Block, Function, InstData, Op, Type, Value};

use super::meetings::{Meetings, Node, ROOT};
use crate::check::scope::Register;

/// A write of a register, or a placeholder for its value.
#[derive(Clone, Copy)]
pub(super) struct Access {
    pub register: Register,
    pub block: Block,
    /// The last value that the block writes, or the placeholder at its start.
    pub value: Value,
}

/// An access at a node of the dominator tree, by its number in its list.
#[derive(Clone, Copy)]
struct At {
    register: Register,
    node: Node,
    access: u32,
}

impl At {
    /// Sorts accesses by register, and those of one register by node. No two accesses of a register
    /// are at one node.
    fn sort(list: &mut [At]) {
        // Comparing one integer takes a third of the time of comparing two fields.
        list.sort_unstable_by_key(|at| u64::from(at.register.0) << 32 | u64::from(at.node));
    }
}

/// A place where a register has a value of its own.
struct Source {
    node: Node,
    /// The value; `None` for a meeting or the entry until something needs it.
    value: PackedOption<Value>,
    ty: Type,
    /// For a meeting, the start of its arguments' sources.
    arguments: Option<usize>,
}

/// The other names of placeholders.
pub(super) struct Names(SecondaryMap<Value, PackedOption<Value>>);

impl Names {
    /// Whether a value is a name for another value.
    pub fn has(&self, value: Value) -> bool {
        self.0[value].is_some()
    }

    /// The value that a value finally stands for.
    pub fn last(&self, value: Value) -> Value {
        self.0[value].expand().unwrap_or(value)
    }
}

/// The arguments of parameters, one for each edge into their block, in the order of the graph.
pub(super) struct Arguments {
    /// The start of each parameter's arguments.
    first: SecondaryMap<Value, usize>,
    all: Vec<Value>,
}

impl Arguments {
    /// The argument for a parameter on an edge into its block.
    pub fn of(&self, param: Value, edge: usize) -> Value {
        self.all[self.first[param] + edge]
    }
}

/// The resolution of a function's registers.
pub(super) struct Resolver<'a> {
    func: &'a mut Function,
    meetings: Meetings<'a>,
    /// The sources of all registers.
    sources: Vec<Source>,
    /// The nearest source for each placeholder, by number; `None` for unreachable placeholders.
    nearest: Vec<Option<usize>>,
    /// The nearest source for each argument of each meeting.
    arguments: Vec<usize>,
    /// The parameters: each is a meeting that has a value.
    params: Vec<usize>,
}

impl<'a> Resolver<'a> {
    /// A resolution that has not started.
    pub fn new(func: &'a mut Function, meetings: Meetings<'a>) -> Self {
        let (sources, nearest, arguments, params) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Resolver { func, meetings, sources, nearest, arguments, params }
    }

    /// Resolves all placeholders, given the last write of each block to a register.
    pub fn resolve(mut self, writes: &[Access], placeholders: &[Access]) -> (Names, Arguments) {
        self.find_sources(writes, placeholders);
        // A placeholder at a meeting is the parameter of that meeting.
        for (placeholder, source) in placeholders.iter().zip(&self.nearest) {
            let Some(source) = *source else { continue };
            let source = &mut self.sources[source];
            if source.arguments.is_some() && self.meetings.start(placeholder.block) == Some(source.node) {
                source.value = placeholder.value.into();
            }
        }
        let mut names = Names(SecondaryMap::new());
        names.0.resize(self.func.num_values());
        for (number, placeholder) in placeholders.iter().enumerate() {
            ptxc_interrupt::poll();
            let Some(source) = self.nearest[number] else { continue };
            let value = self.value(source);
            if value == placeholder.value {
                self.params.push(source);
            } else {
                names.0[placeholder.value] = value.into();
            }
        }
        for placeholder in placeholders {
            ptxc_interrupt::poll();
            shorten(&mut names.0, placeholder.value);
        }
        (names, self.find_arguments())
    }

    /// Finds the sources of all placeholders, and of the arguments of meetings.
    fn find_sources(&mut self, writes: &[Access], placeholders: &[Access]) {
        let meetings = &self.meetings;
        let wanted = placeholders.iter().zip(0..).filter_map(|(placeholder, access)| {
            let node = meetings.start(placeholder.block)?;
            Some(At { register: placeholder.register, node, access })
        });
        let mut wanted: Vec<At> = wanted.collect();
        At::sort(&mut wanted);
        let registers = wanted.last().map_or(0, |at| at.register.0 as usize + 1);
        let mut is_wanted = vec![false; registers];
        wanted.iter().for_each(|at| is_wanted[at.register.0 as usize] = true);
        let written = writes.iter().zip(0..).filter_map(|(write, access)| {
            is_wanted.get(write.register.0 as usize).filter(|&&wanted| wanted)?;
            let node = meetings.end(write.block)?;
            Some(At { register: write.register, node, access })
        });
        let mut written: Vec<At> = written.collect();
        At::sort(&mut written);
        self.nearest.resize(placeholders.len(), None);
        let mut rest = &written[..];
        for wanted in wanted.chunk_by(|a, b| a.register == b.register) {
            ptxc_interrupt::poll();
            let register = wanted[0].register;
            rest = &rest[rest.partition_point(|at| at.register < register)..];
            let (own, others) = rest.split_at(rest.partition_point(|at| at.register == register));
            rest = others;
            let ty = self.func.ty(placeholders[wanted[0].access as usize].value);
            let value = |at: &At| writes[at.access as usize].value.into();
            let of = |at: &At| Source { node: at.node, value: value(at), ty, arguments: None };
            self.register(own.iter().map(of).collect(), wanted, ty);
        }
    }

    /// Finds the sources for one register. The given sources are its writes; both lists are in
    /// preorder.
    fn register(&mut self, mut sources: Vec<Source>, wanted: &[At], ty: Type) {
        let first = self.sources.len();
        if let ([only], [at, ..], [.., end]) = (&sources[..], wanted, wanted)
            && only.node <= at.node
            && end.node <= self.meetings.last(only.node)
        {
            self.sources.append(&mut sources);
            wanted.iter().for_each(|at| self.nearest[at.access as usize] = Some(first));
            return;
        }
        let written: Vec<Node> = sources.iter().map(|source| source.node).collect();
        let meetings = self.meetings.search(&written, wanted.iter().map(|at| at.node));
        sources.push(Source { node: ROOT, value: None.into(), ty, arguments: None });
        // The places that want a value, first placeholders and then arguments: the node in the
        // upper half, the number in the lower half.
        let ask = |node: Node, number: usize| u64::from(node) << 32 | number as u64;
        let mut asked: Vec<u64> = wanted.iter().zip(0..).map(|(at, number)| ask(at.node, number)).collect();
        for node in meetings {
            ptxc_interrupt::poll();
            let arguments = Some(self.arguments.len() + asked.len() - wanted.len());
            sources.push(Source { node, value: None.into(), ty, arguments });
            for &from in self.meetings.preds(node) {
                asked.push(ask(self.meetings.end(from).unwrap_or(ROOT), asked.len()));
            }
        }
        sources.sort_unstable_by_key(|source| source.node);
        asked.sort_unstable();
        let before = self.arguments.len();
        self.arguments.resize(before + asked.len() - wanted.len(), first);
        let (mut above, mut next) = (Vec::new(), 0);
        for question in asked {
            ptxc_interrupt::poll();
            let (node, number) = ((question >> 32) as Node, question as u32 as usize);
            while let Some(source) = sources.get(next).filter(|source| source.node <= node) {
                self.leave(&sources, &mut above, source.node);
                above.push(next);
                next += 1;
            }
            self.leave(&sources, &mut above, node);
            // The root is above everything.
            let source = first + above.last().copied().unwrap_or(0);
            match wanted.get(number) {
                Some(at) => self.nearest[at.access as usize] = Some(source),
                None => self.arguments[before + number - wanted.len()] = source,
            }
        }
        self.sources.append(&mut sources);
    }

    /// Removes the sources that are not above a node.
    fn leave(&self, sources: &[Source], above: &mut Vec<usize>, node: Node) {
        while above.last().is_some_and(|&top| self.meetings.last(sources[top].node) < node) {
            above.pop();
        }
    }

    /// The value of a source. A meeting without a value gets a parameter.
    fn value(&mut self, number: usize) -> Value {
        let source = &mut self.sources[number];
        if let Some(value) = source.value.expand() {
            return value;
        }
        let value = match source.arguments {
            None => undef(self.func, source.ty),
            Some(_) => {
                self.params.push(number);
                self.func.add_block_param(self.meetings.block(source.node), source.ty)
            }
        };
        source.value = value.into();
        value
    }

    /// The arguments of all parameters. They may need further parameters.
    fn find_arguments(mut self) -> Arguments {
        let mut arguments = Arguments { first: SecondaryMap::new(), all: Vec::new() };
        let mut next = 0;
        while let Some(&param) = self.params.get(next) {
            ptxc_interrupt::poll();
            next += 1;
            let Source { node, value, arguments: Some(first), .. } = self.sources[param] else { continue };
            let Some(value) = value.expand() else { continue };
            arguments.first[value] = arguments.all.len();
            for number in first..first + self.meetings.preds(node).len() {
                let argument = self.value(self.arguments[number]);
                arguments.all.push(argument);
            }
        }
        arguments
    }
}

/// Makes every value on the way to the final value of a value point to it directly.
fn shorten(names: &mut SecondaryMap<Value, PackedOption<Value>>, value: Value) {
    let mut last = value;
    while let Some(next) = names[last].expand() {
        last = next;
    }
    let mut at = value;
    while let Some(next) = names[at].expand() {
        names[at] = last.into();
        at = next;
    }
}

/// An undefined value of the type, which the entry block defines once.
pub(super) fn undef(func: &mut Function, ty: Type) -> Value {
    let entry = func.entry();
    let leading = func.blocks[entry].insts.iter().take_while(|&&inst| func.insts[inst].op == Op::Undef);
    if let Some(&known) = leading.into_iter().find(|&&inst| func.insts[inst].ty == ty) {
        return func.result(known);
    }
    let inst = func.make_inst(InstData::new(Op::Undef, ty, &[]));
    func.blocks[entry].insts.insert(0, inst);
    func.result(inst)
}
