//! Finds the products of a warpgroup that may be under way at each point.
//!
//! A product is under way from its instruction to a wait for its group. Its sums are in flight; so
//! are parameters that get them. The state at a point has each value in flight with the least
//! number of commits on a path since its product, because a wait for all but `n` groups completes
//! the products with more than `n` commits.
//!
//! Where control flow would take a product to a place where its registers have no name, as around a
//! loop, a block waits for all products at its end.
//!
//! [`Flights::find`] finds nothing where lending registers would need copies of values in flight;
//! then all products have to be performed one after another. Cost: linear, times the number of
//! changes of a state, which has at most [`MOST`] values.

use std::collections::BTreeMap;

use cranelift_entity::SecondaryMap;
use ptxc_ir::{Block, Cfg, Dominators, Function, Inst, InstData, Op, Value, ValueDef};

use super::lending::{Borrowed, borrowed};
use crate::check::scope::Register;

/// The greatest number of registers in flight. Some are left for everything else.
const MOST: usize = 224;

/// The registers that hold the first factor of a product.
const FACTOR: usize = 4;

/// Numbers of commits from here on are not told apart: no wait leaves so many groups.
const FAR: u8 = 8;

/// A value in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sum {
    commits: u8,
    /// Its place among the sums of its product.
    place: u8,
    /// The number of these sums.
    count: u8,
    /// The first of them.
    first: Value,
}

/// Everything that is under way at a point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    sums: BTreeMap<Value, Sum>,
    /// Products that read registers, with their commits.
    products: BTreeMap<Inst, u8>,
}

/// What a wait completes.
#[derive(Default)]
pub(super) struct Landed {
    /// The sums, those of each product in order.
    pub sums: Vec<Vec<Value>>,
    pub products: Vec<Inst>,
}

impl State {
    /// Whether a value is in flight.
    pub fn flies(&self, value: Value) -> bool {
        self.sums.contains_key(&value)
    }

    /// The number of registers that are lent: the sums, and those that each product reads.
    fn registers(&self) -> usize {
        self.sums.len() + FACTOR * self.products.len()
    }

    /// Whether nothing is under way.
    pub fn is_empty(&self) -> bool {
        self.sums.is_empty() && self.products.is_empty()
    }

    /// Goes over an instruction, which was `data` before anything was lent; returns what it
    /// completes.
    pub fn step(&mut self, func: &Function, inst: Inst, data: &InstData) -> Landed {
        match data.op {
            Op::WarpgroupCommit => {
                let sums = self.sums.values_mut().map(|sum| &mut sum.commits);
                sums.chain(self.products.values_mut()).for_each(|commits| *commits = FAR.min(*commits + 1));
            }
            Op::WarpgroupWait { pending } => return self.wait(pending.0.into()),
            op => {
                let Some(Borrowed { sums, read }) = borrowed(op, &data.args) else {
                    return Landed::default();
                };
                for value in &data.args[sums] {
                    self.sums.remove(value);
                }
                let results = func.results(inst);
                let (count, first) = (results.len() as u8, results[0]);
                let sum = |place| Sum { commits: 0, place, count, first };
                self.sums.extend((0..).zip(results).map(|(place, &value)| (value, sum(place))));
                if read.iter().any(|range| !range.is_empty()) {
                    self.products.insert(inst, 0);
                }
            }
        }
        Landed::default()
    }

    /// Whether a product belongs to no group yet.
    pub fn is_open(&self) -> bool {
        self.sums.values().any(|sum| sum.commits == 0) || self.products.values().any(|&commits| commits == 0)
    }

    /// The products that read registers.
    pub fn products(&self) -> impl Iterator<Item = Inst> {
        self.products.keys().copied()
    }

    /// Completes everything.
    pub fn finish(&mut self) -> Landed {
        self.wait(None)
    }

    /// Completes all but that many groups, or everything.
    fn wait(&mut self, pending: Option<u8>) -> Landed {
        let mut landed = Landed::default();
        let stays = |commits: u8| pending.is_some_and(|pending| commits <= pending);
        let mut complete: BTreeMap<Value, Vec<(u8, Value)>> = BTreeMap::new();
        self.sums.retain(|&value, sum| {
            if !stays(sum.commits) {
                complete.entry(sum.first).or_default().push((sum.place, value));
            }
            stays(sum.commits)
        });
        landed.sums.extend(complete.into_values().map(|mut sums| {
            sums.sort_unstable();
            sums.into_iter().map(|(_, value)| value).collect()
        }));
        self.products.retain(|&product, commits| {
            landed.products.extend((!stays(*commits)).then_some(product));
            stays(*commits)
        });
        landed
    }

    /// Adds what another way to the same place brings; returns whether that changes anything.
    /// `None` if a value would be one of different sums.
    fn join(&mut self, other: State) -> Option<bool> {
        let mut has_changed = false;
        for (value, sum) in other.sums {
            let old = self.sums.entry(value).or_insert_with(|| {
                has_changed = true;
                sum
            });
            if (old.place, old.count, old.first) != (sum.place, sum.count, sum.first) {
                return None;
            }
            has_changed |= sum.commits < old.commits;
            old.commits = old.commits.min(sum.commits);
        }
        for (product, commits) in other.products {
            let old = self.products.entry(product).or_insert_with(|| {
                has_changed = true;
                commits
            });
            has_changed |= commits < *old;
            *old = commits.min(*old);
        }
        Some(has_changed)
    }

    /// The state after an edge with arguments to a block.
    fn across(&self, func: &Function, target: Block, args: &[Value]) -> State {
        let mut new = self.clone();
        for arg in args {
            new.sums.remove(arg);
        }
        let passed = || func.blocks[target].params.iter().zip(args);
        let firsts: BTreeMap<Value, Value> = passed().map(|(&param, &arg)| (arg, param)).collect();
        for (&param, arg) in passed() {
            match self.sums.get(arg) {
                Some(&sum) => {
                    let first = firsts.get(&sum.first).copied().unwrap_or(param);
                    new.sums.insert(param, Sum { first, ..sum })
                }
                None => new.sums.remove(&param),
            };
        }
        new
    }
}

/// The states of a function.
pub(super) struct Flights {
    at_start: SecondaryMap<Block, State>,
    /// Whether a block waits for all products at its end.
    waits: SecondaryMap<Block, bool>,
}

/// The number of times that blocks are found that have to wait.
const ROUNDS: usize = 8;

impl Flights {
    /// What is under way at the start of each block; `None` if values in flight are read or copied,
    /// or if the function ends while a product is under way.
    pub fn find(func: &Function) -> Option<Flights> {
        let cfg = Cfg::compute(func);
        let (homes, dominators) = (homes(func), Dominators::compute(&cfg));
        let mut waits: SecondaryMap<Block, bool> = SecondaryMap::new();
        for _ in 0..ROUNDS {
            let flights = Flights::within(func, &cfg, waits)?;
            if !cfg.rpo().iter().all(|&block| flights.suits(func, block)) {
                return None;
            }
            let named = Named { func, dominators: &dominators, homes: &homes };
            let lost: Vec<Block> =
                cfg.rpo().iter().copied().filter(|&block| !flights.goes_on(func, block, &named)).collect();
            if lost.is_empty() {
                return Some(flights);
            }
            waits = flights.waits;
            lost.into_iter().for_each(|block| waits[block] = true);
        }
        None
    }

    /// The states if these blocks wait at their ends.
    fn within(func: &Function, cfg: &Cfg, waits: SecondaryMap<Block, bool>) -> Option<Flights> {
        let mut known: SecondaryMap<Block, bool> = SecondaryMap::new();
        let mut flights = Flights { at_start: SecondaryMap::new(), waits };
        known[func.entry()] = true;
        let mut has_changed = true;
        while has_changed {
            has_changed = false;
            for &block in cfg.rpo() {
                ptxc_interrupt::poll();
                if !known[block] {
                    continue;
                }
                let (state, most) = flights.at_end(func, block);
                if most > MOST {
                    return None;
                }
                for edge in func.edges(block) {
                    has_changed |= !std::mem::replace(&mut known[edge.block], true);
                    let new = state.across(func, edge.block, &edge.args);
                    has_changed |= flights.at_start[edge.block].join(new)?;
                }
            }
        }
        Some(flights)
    }

    /// Whether a block waits for all products at its end.
    pub fn waits(&self, block: Block) -> bool {
        self.waits[block]
    }

    /// What is under way at the start of a block.
    pub fn at_start(&self, block: Block) -> State {
        self.at_start[block].clone()
    }

    /// The numbers of the parameters of a block that may be in flight: those of each product in
    /// order.
    pub fn flying_parameters(&self, block: Block, params: &[Value]) -> Vec<Vec<usize>> {
        let mut products: BTreeMap<Value, Vec<(u8, usize)>> = BTreeMap::new();
        for (index, param) in params.iter().enumerate() {
            if let Some(sum) = self.at_start[block].sums.get(param) {
                products.entry(sum.first).or_default().push((sum.place, index));
            }
        }
        let sorted = products.into_values().map(|mut places| {
            places.sort_unstable();
            places.into_iter().map(|(_, index)| index).collect()
        });
        sorted.collect()
    }

    /// What is under way at the end of a block, and the greatest number of sums in flight in it.
    fn at_end(&self, func: &Function, block: Block) -> (State, usize) {
        let mut state = self.at_start(block);
        let mut most = state.registers();
        for &inst in &func.blocks[block].insts {
            state.step(func, inst, &func.insts[inst]);
            most = most.max(state.registers());
        }
        if self.waits[block] {
            state.finish();
        }
        (state, most)
    }

    /// A number for each value that a wait completes.
    pub fn settled(&self, func: &Function) -> BTreeMap<Value, Register> {
        let mut registers = BTreeMap::new();
        for &block in &func.layout {
            let mut state = self.at_start(block);
            for &inst in &func.blocks[block].insts {
                let landed = match func.insts[inst].op.is_terminator() && self.waits[block] {
                    true => state.finish(),
                    false => state.step(func, inst, &func.insts[inst]),
                };
                for value in landed.sums.into_iter().flatten() {
                    let next = Register(registers.len() as u32);
                    registers.entry(value).or_insert(next);
                }
            }
        }
        registers
    }

    /// Whether registers can be lent in a block without copies of values in flight.
    fn suits(&self, func: &Function, block: Block) -> bool {
        let mut state = self.at_start(block);
        for &inst in &func.blocks[block].insts {
            ptxc_interrupt::poll();
            let data = &func.insts[inst];
            if data.op.is_terminator() && self.waits[block] {
                state.finish();
            }
            let c = borrowed(data.op, &data.args).map_or(&[][..], |borrowed| &data.args[borrowed.sums]);
            let in_flight = c.iter().filter(|&&value| state.flies(value)).count();
            let in_place = (0..).zip(c).all(|(place, value)| {
                let is_it = |sum: &Sum| (sum.place, sum.count, sum.first) == (place, c.len() as u8, c[0]);
                state.sums.get(value).is_some_and(is_it)
            });
            let used = data.args.iter().filter(|&&value| state.flies(value)).count();
            let leaves = matches!(data.op, Op::Return | Op::Exit | Op::Call { .. } | Op::CallIndirect(_));
            if used != in_flight || in_flight != 0 && !in_place || leaves && !state.is_empty() {
                return false;
            }
            state.step(func, inst, data);
        }
        true
    }

    /// Whether everything under way at the end of a block has a name where its edges lead, and the
    /// same on all ways there.
    fn goes_on(&self, func: &Function, block: Block, named: &Named<'_>) -> bool {
        let (state, _) = self.at_end(func, block);
        func.edges(block).iter().all(|edge| {
            let target = &self.at_start[edge.block];
            let params = &func.blocks[edge.block].params;
            let passed = |value: &Value| edge.args.iter().filter(|&arg| arg == value).count();
            // All sums of a product, or none, are parameters.
            let are_whole = params.iter().filter_map(|param| target.sums.get(param)).all(|sum| {
                let same = |other: &&Value| target.sums.get(other).is_some_and(|it| it.first == sum.first);
                params.iter().filter(same).count() == usize::from(sum.count)
            });
            let sums = state.sums.keys().all(|value| match passed(value) {
                0 => named.value(*value, edge.block),
                count => count == 1,
            });
            let products = state.products.keys().all(|&product| named.product(product, edge.block));
            state.is_empty() || are_whole && sums && products
        }) && self.expected(func, block, &state)
    }

    /// Whether what the targets of a block expect in flight under its own name is in flight at its
    /// end, unless it does not have a name there at all.
    fn expected(&self, func: &Function, block: Block, state: &State) -> bool {
        func.edges(block).iter().all(|edge| {
            let target = &self.at_start[edge.block];
            let params = &func.blocks[edge.block].params;
            target.sums.keys().all(|value| params.contains(value) || state.flies(*value))
                && target.products.keys().all(|product| state.products.contains_key(product))
        })
    }
}

/// Where values have names.
struct Named<'a> {
    func: &'a Function,
    dominators: &'a Dominators,
    homes: &'a SecondaryMap<Inst, Option<Block>>,
}

impl Named<'_> {
    fn product(&self, product: Inst, block: Block) -> bool {
        self.homes[product].is_some_and(|home| self.dominators.dominates(home, block))
    }

    fn value(&self, value: Value, block: Block) -> bool {
        match self.func.def(value) {
            ValueDef::Param(home, _) => self.dominators.dominates(home, block),
            ValueDef::Result(inst, _) => self.product(inst, block),
        }
    }
}

/// The blocks of the instructions.
fn homes(func: &Function) -> SecondaryMap<Inst, Option<Block>> {
    let mut homes = SecondaryMap::new();
    for &block in &func.layout {
        for &inst in &func.blocks[block].insts {
            homes[inst] = Some(block);
        }
    }
    homes
}
