//! Random kernels whose result does not depend on the order in which threads run.
//!
//! Every register is written before the first statement, every loop ends after a few iterations,
//! and a thread's writes are read by another thread only across a barrier, or are made by
//! operations that commute. So the text stays a valid kernel if statements are removed anywhere.
//!
//! Registers have three flavours: any value (`%r`), the same in all threads of a CTA (`%ur`), the
//! same in all threads of a warp (`%wr`). A uniform register is written only where control is as
//! uniform, and barriers and votes occur only there. In a body for some lanes of a warp, votes and
//! shuffles name these lanes.
//!
//! In the families with calls and irregular flow, lanes know each other by masks instead: see
//! [`flow`]. Functions are as uniform as a thread, except for those that all threads of a CTA call
//! together.

mod calls;
mod flow;
mod statement;

use crate::launch::Shape;
use crate::program::calls::Kind;
use crate::program::{Departure, Family, GraphBlock, Grouping, LOOPS, Node, POOLS, Program};
use crate::random::Random;

/// The uniformity of control: the threads that go the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Flow {
    Thread,
    Warp,
    Cta,
}

/// The kind of statements that a kernel has most of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mix {
    Everything,
    Integer,
    Float,
    Memory,
}

/// Generates one kernel.
struct Generator<'a> {
    random: &'a mut Random,
    family: Family,
    target: u32,
    plan: calls::Plan,
    /// The function that is being generated, and its kind.
    function: Option<(usize, Kind)>,
    /// Whether the current lanes know each other.
    known: bool,
    /// The enclosing loops.
    around: Vec<flow::Around>,
    /// Whether a function may return here.
    returns: bool,
    /// The number of places where lanes meet.
    meets: usize,
    /// The number of statements with a label.
    labels: usize,
    /// The number of statements that may still be generated.
    budget: usize,
    loops: usize,
    /// The counters of the enclosing loops, with their uniformity.
    counters: Vec<(usize, Flow)>,
    /// Whether threads may end early; if so, threads do nothing together.
    exits: bool,
    /// The current lanes, if they are not all lanes of a warp.
    lanes: Option<u32>,
    mix: Mix,
    shape: Shape,
    /// Whether sums and products may be generated that the compiler might fuse.
    may_contract: bool,
    contracts: bool,
    /// Whether functions may be used whose results are only known within bounds.
    may_approximate: bool,
    approximates: bool,
    /// Whether statements may be used for which ptxas is known to deviate from the PTX ISA.
    may_dispute: bool,
    disputed: bool,
}

/// A kernel of a family with about `size` statements, for the target `sm_{target}`.
pub fn program(random: &mut Random, family: Family, target: u32, size: usize) -> Program {
    let exits = random.chance(30);
    let shape = Shape::random(random);
    let mix = random.pick(&[Mix::Everything, Mix::Everything, Mix::Integer, Mix::Float, Mix::Memory]);
    let mut directives = Vec::new();
    if random.chance(20) {
        let [x, y, z] = shape.block;
        let word = random.pick(&["reqntid", "maxntid"]);
        directives.push(format!(".{word} {x}, {y}, {z}"));
        if random.chance(50) {
            directives.push(".minnctapersm 2".to_string());
        }
    }
    let (may_contract, may_approximate, may_dispute) =
        (random.chance(50), random.chance(15), random.chance(10));
    // In the other families nearly every kernel can be compared with ptxas's code.
    let (may_approximate, may_dispute) = match family {
        Family::Plain => (may_approximate, may_dispute),
        Family::Packed | Family::Images | Family::Matrices => (false, random.chance(4)),
        Family::Parameters => (false, random.chance(2)),
        _ => (false, false),
    };
    let mut generator = Generator {
        random,
        family,
        target,
        plan: calls::Plan::default(),
        function: None,
        known: false,
        around: Vec::new(),
        returns: false,
        meets: 0,
        labels: 0,
        budget: size,
        loops: 0,
        counters: Vec::new(),
        exits,
        lanes: None,
        mix,
        shape,
        may_contract,
        contracts: false,
        may_approximate,
        approximates: false,
        may_dispute,
        disputed: false,
    };
    // Statements of functions and calls are written in the disputed way throughout.
    generator.disputed = may_dispute && family == Family::Parameters;
    generator.plan = generator.plan();
    let mut functions = generator.functions();
    let starts =
        POOLS.iter().map(|&(prefix, ty, count)| (0..count).map(|_| generator.start(prefix, ty)).collect());
    let starts = starts.collect();
    (generator.loops, generator.meets) = (0, 0);
    generator.known = family.has_masks();
    let mut body = generator.block(Flow::Cta, None, 0);
    let fuel = generator.thin(&mut body, &mut functions);
    let Generator { contracts, approximates, disputed, plan, .. } = generator;
    let opaque = family.has_masks() && random.chance(40);
    let uniform_branches = family.has_masks() && random.chance(40);
    let mut shown = Vec::new();
    for (pool, &(_, _, count)) in POOLS.iter().enumerate() {
        shown.extend((0..count).map(|index| (pool, index)));
    }
    shown.retain(|_| random.chance(60));
    Program {
        family,
        target,
        body,
        functions,
        signatures: plan.signatures,
        in_registers: plan.in_registers,
        fuel,
        opaque,
        uniform_branches,
        shown,
        starts,
        directives,
        shape,
        contracts,
        approximates,
        disputed,
    }
}

impl Generator<'_> {
    /// The initial value of a register of a pool.
    fn start(&mut self, prefix: &str, ty: &str) -> String {
        let uniform = matches!(prefix.as_bytes()[1], b'u' | b'w');
        let words: &[&str] = match prefix.as_bytes()[1] {
            // In a function the other values are not uniform.
            b'u' | b'w' if self.function.is_some() => &["%cta", "%zero"],
            b'u' => &["%n", "%cta", "%zero"],
            b'w' => &["%n", "%warp", "%cta", "%zero"],
            _ => &["%thread", "%n", "%lane"],
        };
        match ty {
            ".b64" if !(uniform && self.function.is_some()) && self.random.chance(50) => "%m".to_string(),
            ".b64" => format!("{:#x}", self.random.word(64)),
            ".b16" => format!("{:#x}", self.random.word(16)),
            ".f32" if self.random.chance(50) => "%x".to_string(),
            ".f32" => format!("0f{:08x}", self.random.word(32)),
            ".f64" => format!("0d{:016x}", self.random.double()),
            ".b32" if self.random.chance(30) => format!("{:#x}", self.random.word(32)),
            _ => self.random.pick(words).to_string(),
        }
    }

    fn block(&mut self, flow: Flow, in_loop: Option<Flow>, depth: usize) -> Vec<Node> {
        let mut nodes = Vec::new();
        let length = if depth == 0 { usize::MAX } else { self.random.below(6) };
        while nodes.len() < length && self.budget > 0 {
            self.budget -= 1;
            let node = match self.family.has_masks() {
                false => self.node(flow, in_loop, depth),
                true => self.irregular(flow, depth),
            };
            nodes.push(node);
        }
        nodes
    }

    fn condition(&mut self, flow: Flow) -> String {
        self.register('p', flow)
    }

    fn guard(&mut self, flow: Flow) -> String {
        let condition = self.condition(flow);
        if self.random.chance(50) { condition } else { format!("!{condition}") }
    }

    /// A flow that is at most as uniform as the enclosing one.
    fn inner(&mut self, flow: Flow) -> Flow {
        if self.random.chance(40) { flow } else { Flow::Thread }
    }

    fn counter(&mut self) -> Option<usize> {
        let counter = self.loops;
        (counter < LOOPS).then(|| {
            self.loops += 1;
            counter
        })
    }

    fn node(&mut self, flow: Flow, in_loop: Option<Flow>, depth: usize) -> Node {
        let kind = self.random.below(100);
        let made = match kind {
            0..12 if depth < 4 => Some(self.conditional(flow, in_loop, depth)),
            12..18 if depth < 3 => self.repeated(flow, depth),
            18..20 if depth < 3 => Some(self.switch(flow, in_loop, depth)),
            20..22 if depth < 2 => self.graph(depth),
            22..24 if depth < 3 && flow >= Flow::Warp && self.lanes.is_none() && !self.exits => {
                Some(self.some_lanes(depth))
            }
            24..28 if in_loop == Some(flow) => {
                let departure = Departure { guard: self.guard(flow), levels: 0, uniform: true };
                Some(if self.random.chance(60) { Node::Break(departure) } else { Node::Continue(departure) })
            }
            28 if self.exits || flow == Flow::Cta => {
                let inner = if self.exits { Flow::Thread } else { Flow::Cta };
                let (guard, value) = (self.condition(inner), self.register('r', Flow::Thread));
                Some(Node::Return { guard, value })
            }
            _ => None,
        };
        made.unwrap_or_else(|| Node::Statement(self.statement(flow)))
    }

    fn conditional(&mut self, flow: Flow, in_loop: Option<Flow>, depth: usize) -> Node {
        let inner = self.inner(flow);
        let condition = self.condition(inner);
        let then = self.block(inner, in_loop, depth + 1);
        let otherwise =
            if self.random.chance(50) { self.block(inner, in_loop, depth + 1) } else { Vec::new() };
        Node::If { grouping: Grouping::Unknown, condition, then, otherwise }
    }

    fn repeated(&mut self, flow: Flow, depth: usize) -> Option<Node> {
        let counter = self.counter()?;
        let inner = self.inner(flow);
        let bound = self.register('r', inner);
        if self.random.chance(10) {
            let condition = self.condition(inner);
            // The half that the counter counts depends on the entry.
            let first = self.block(Flow::Thread, None, depth + 1);
            let second = self.block(Flow::Thread, None, depth + 1);
            return Some(Node::Irreducible { counter, condition, first, second });
        }
        self.counters.push((counter, inner));
        let body = self.block(inner, Some(inner), depth + 1);
        self.counters.pop();
        Some(Node::Loop { grouping: Grouping::Unknown, counter, bound, at_top: self.random.chance(50), body })
    }

    fn switch(&mut self, flow: Flow, in_loop: Option<Flow>, depth: usize) -> Node {
        let inner = self.inner(flow);
        let index = self.register('r', inner);
        let (count, table) = (self.random.pick(&[2, 4, 8]), self.random.chance(50));
        let arms = (0..count).map(|_| (self.random.chance(25), self.block(inner, in_loop, depth + 1)));
        Node::Switch { grouping: Grouping::Unknown, index, table, arms: arms.collect() }
    }

    fn graph(&mut self, depth: usize) -> Option<Node> {
        let counter = self.counter()?;
        let selector = self.register('r', Flow::Thread);
        let count = self.random.pick(&[2, 4, 7]);
        let blocks = (0..count).map(|_| {
            let body = self.block(Flow::Thread, Some(Flow::Thread), depth + 2);
            let condition = self.random.chance(60).then(|| self.condition(Flow::Thread));
            let ways = self.random.pick(&[1, 2, 4, 8]);
            let targets = (0..ways).map(|_| self.random.below(count)).collect();
            GraphBlock { beat: None, body, condition, targets }
        });
        Some(Node::Graph { counter, selector, blocks: blocks.collect() })
    }

    fn some_lanes(&mut self, depth: usize) -> Node {
        let masks = [0x0000_ffff, 0xffff_0000, 0x5555_5555, 0x0f0f_0f0f, 0xff, 0x8000_0001, 1, 0x7fff_ffff];
        let mask = match self.random.below(3) {
            0 => self.random.bits() as u32 | 1,
            _ => self.random.pick(&masks),
        };
        let warp = if self.shape.whole_warps() { u32::MAX } else { 1 };
        let mask = if mask & warp == mask { mask } else { 1 };
        self.lanes = Some(mask);
        let body = self.block(Flow::Warp, None, depth + 1);
        self.lanes = None;
        Node::Lanes { mask, body }
    }

    /// A register of a class that is at least as uniform as `flow`.
    fn register(&mut self, class: char, flow: Flow) -> String {
        let flow = match self.random.below(4) {
            0 => flow.max(Flow::Cta),
            1 => flow.max(Flow::Warp),
            _ => flow,
        };
        if class == 'r' && self.random.chance(15) {
            let fitting: Vec<usize> =
                self.counters.iter().filter(|(_, how)| *how >= flow).map(|(counter, _)| *counter).collect();
            if !fitting.is_empty() {
                return format!("%c{}", self.random.pick(&fitting));
            }
        }
        self.variable(class, flow)
    }

    fn variable(&mut self, class: char, flow: Flow) -> String {
        let prefix = match flow {
            _ if matches!(class, 'f' | 'e') => format!("%{class}"),
            Flow::Thread => format!("%{class}"),
            Flow::Warp => format!("%w{class}"),
            Flow::Cta => format!("%u{class}"),
        };
        let count = POOLS.iter().find(|(name, ..)| *name == prefix).map_or(1, |pool| pool.2);
        format!("{prefix}{}", self.random.below(count))
    }
}
