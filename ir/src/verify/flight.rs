//! Registers that are lent to the products of a warpgroup.
//!
//! Lent values are the results of `lend` and of products, and parameters that get them. Only
//! products, `settle`, `release` and parameters take them, so no pass can copy or read a register
//! while the hardware uses it. Along every path, an arrival comes between `lend` and the product,
//! and a wait for its group between a product and the `settle` or `release` of its registers; no
//! path ends, and none goes to where a lent value has no name, with a product under way.
//!
//! Cost: linear for functions without products of a warpgroup. Otherwise each block has a list of
//! at most [`MOST`] values, which is visited again while it changes; an entry changes at most
//! [`Flight::FAR`] times.

use std::collections::BTreeMap;

use cranelift_entity::SecondaryMap;

use super::{Report, Rule};
use crate::cfg::Cfg;
use crate::dominators::Dominators;
use crate::entities::{Block, Inst, Value};
use crate::function::{BlockCall, Function};
use crate::op::Op;
use crate::warpgroup::GroupParts;

/// The general registers that a thread can have.
const MOST: usize = 255;

/// What still has to happen to a lent value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Flight {
    /// An arrival, before a product may use it.
    must_arrive: bool,
    /// The least number of commits on a path since a product that uses it, until a wait.
    commits: Option<u8>,
}

impl Flight {
    /// Numbers of commits from here on are not told apart.
    const FAR: u8 = 16;

    fn join(self, other: Flight) -> Flight {
        let commits = match (self.commits, other.commits) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
        Flight { must_arrive: self.must_arrive || other.must_arrive, commits }
    }

    fn is_over(self) -> bool {
        !self.must_arrive && self.commits.is_none()
    }
}

type State = BTreeMap<Value, Flight>;

pub(super) fn check(func: &Function, report: &mut Report<'_>) {
    let is_lending = |&inst: &Inst| matches!(func.insts[inst].op, Op::Lend { .. } | Op::WarpgroupProduct(_));
    if !func.layout.iter().any(|&block| func.blocks[block].insts.iter().any(is_lending)) {
        return;
    }
    let cfg = Cfg::compute(func);
    let check = Check { func, lent: lent(func, &cfg), dominators: Dominators::compute(&cfg) };
    let homes = homes(func);
    let mut at_start: SecondaryMap<Block, Option<State>> = SecondaryMap::new();
    if let Some(&entry) = cfg.rpo().first() {
        at_start[entry] = Some(State::new());
    }
    let mut has_changed = true;
    while has_changed {
        has_changed = false;
        for &block in cfg.rpo() {
            let Some(mut state) = at_start[block].clone() else { continue };
            for &inst in &func.blocks[block].insts {
                check.step(inst, &mut state, &mut |_| {});
            }
            if state.len() > MOST {
                report.block(block, Rule::Flight, format!("more than {MOST} values are lent"));
                return;
            }
            let Some(inst) = func.terminator(block) else { continue };
            for edge in &func.insts[inst].targets {
                let new = check.across(edge.block, &edge.args, &state);
                let old = at_start[edge.block].get_or_insert_with(|| {
                    has_changed = true;
                    State::new()
                });
                for (value, flight) in new {
                    let joined = old.get(&value).map_or(flight, |&old| old.join(flight));
                    has_changed |= old.insert(value, joined) != Some(joined);
                }
            }
        }
    }
    for &block in cfg.rpo() {
        let mut state = at_start[block].clone().unwrap_or_default();
        for &inst in &func.blocks[block].insts {
            check.uses(block, inst, report);
            check.step(inst, &mut state, &mut |message| report.inst(block, inst, Rule::Flight, message));
        }
        let Some(inst) = func.terminator(block) else { continue };
        let in_flight = |(&value, flight): (&Value, &Flight)| flight.commits.map(|_| value);
        let data = &func.insts[inst];
        let ends = matches!(data.op, Op::Return | Op::Exit);
        for value in state.iter().filter_map(in_flight) {
            let is_lost = |edge: &BlockCall| {
                let goes_on = homes[value].is_some_and(|home| check.dominators.dominates(home, edge.block));
                !goes_on && !edge.args.contains(&value)
            };
            if ends || data.targets.iter().any(is_lost) {
                let message = format!("a product with {value} may be under way");
                report.inst(block, inst, Rule::Flight, message);
            }
        }
    }
}

/// The blocks that define the values.
fn homes(func: &Function) -> SecondaryMap<Value, Option<Block>> {
    let mut homes = SecondaryMap::new();
    for &block in &func.layout {
        let results = func.blocks[block].insts.iter().flat_map(|&inst| func.results(inst));
        for &value in func.blocks[block].params.iter().chain(results) {
            homes[value] = Some(block);
        }
    }
    homes
}

/// Whether each value is lent.
fn lent(func: &Function, cfg: &Cfg) -> SecondaryMap<Value, bool> {
    let mut lent: SecondaryMap<Value, bool> = SecondaryMap::new();
    let mut has_changed = true;
    for &block in cfg.rpo() {
        for &inst in &func.blocks[block].insts {
            if matches!(func.insts[inst].op, Op::Lend { .. } | Op::WarpgroupProduct(_)) {
                func.results(inst).iter().for_each(|&result| lent[result] = true);
            }
        }
    }
    // Reverse postorder brings a value to all parameters except those that only loops in loops give
    // it to.
    while has_changed {
        has_changed = false;
        for &block in cfg.rpo() {
            let Some(inst) = func.terminator(block) else { continue };
            for edge in &func.insts[inst].targets {
                for (&param, &arg) in func.blocks[edge.block].params.iter().zip(&edge.args) {
                    if lent[arg] && !lent[param] {
                        lent[param] = true;
                        has_changed = true;
                    }
                }
            }
        }
    }
    lent
}

/// The registers that a product only reads: those of a, and the places of its elements.
fn read(parts: &GroupParts<'_, Value>) -> Vec<Value> {
    let a = if parts.a.len() > 1 { parts.a } else { &[] };
    a.iter().copied().chain(parts.places).collect()
}

struct Check<'a> {
    func: &'a Function,
    lent: SecondaryMap<Value, bool>,
    dominators: Dominators,
}

impl Check<'_> {
    /// The state after an instruction.
    fn step(&self, inst: Inst, state: &mut State, say: &mut impl FnMut(String)) {
        let data = &self.func.insts[inst];
        let in_flight = Flight { must_arrive: false, commits: Some(0) };
        match data.op {
            Op::Lend { .. } => {
                let new = Flight { must_arrive: true, commits: None };
                state.extend(self.func.results(inst).iter().map(|&result| (result, new)));
            }
            Op::WarpgroupArrive => {
                state.values_mut().for_each(|flight| flight.must_arrive = false);
                state.retain(|_, flight| !flight.is_over());
            }
            Op::WarpgroupProduct(product) => {
                let Some(parts) = product.parts(&data.args) else { return };
                let read = read(&parts);
                let unready = |value: &&Value| state.get(value).is_some_and(|flight| flight.must_arrive);
                if let Some(value) = read.iter().chain(parts.c).find(unready) {
                    say(format!("no arrival after {value} was lent"));
                }
                for value in parts.c {
                    state.remove(value);
                }
                state.extend(read.iter().chain(self.func.results(inst)).map(|&value| (value, in_flight)));
            }
            Op::WarpgroupCommit => {
                let commits = state.values_mut().filter_map(|flight| flight.commits.as_mut());
                commits.for_each(|commits| *commits = Flight::FAR.min(*commits + 1));
            }
            Op::WarpgroupWait { pending } => {
                for flight in state.values_mut() {
                    flight.commits = flight.commits.filter(|&commits| commits <= pending.0);
                }
                state.retain(|_, flight| !flight.is_over());
            }
            Op::Settle { .. } | Op::Release { .. } => {
                for value in &data.args {
                    if state.remove(value).is_some_and(|flight| flight.commits.is_some()) {
                        say(format!("no wait for the products with {value}"));
                    }
                }
            }
            _ => {}
        }
    }

    /// The state at the start of the target of an edge.
    fn across(&self, target: Block, args: &[Value], state: &State) -> State {
        let mut new = state.clone();
        for arg in args {
            new.remove(arg);
        }
        for (&param, arg) in self.func.blocks[target].params.iter().zip(args) {
            match state.get(arg) {
                Some(&flight) => new.insert(param, flight),
                None => new.remove(&param),
            };
        }
        new
    }

    /// Lent values have the right users, and products use lent values.
    fn uses(&self, block: Block, inst: Inst, report: &mut Report<'_>) {
        let data = &self.func.insts[inst];
        let mut say = |message: String| report.inst(block, inst, Rule::Flight, message);
        let wrong = match data.op {
            Op::WarpgroupProduct(product) => {
                let Some(parts) = product.parts(&data.args) else { return };
                for value in read(&parts).iter().chain(parts.c).filter(|&&value| !self.lent[value]) {
                    say(format!("{value} is not lent"));
                }
                let others = [Some(parts.b), parts.accumulate];
                others.into_iter().flatten().find(|&value| self.lent[value])
            }
            Op::Settle { .. } | Op::Release { .. } => {
                data.args.iter().copied().find(|&value| !self.lent[value])
            }
            _ => data.args.iter().copied().find(|&value| self.lent[value]),
        };
        match (wrong, data.op) {
            (None, _) => {}
            (Some(value), Op::Settle { .. } | Op::Release { .. }) => say(format!("{value} is not lent")),
            (Some(value), _) => say(format!("{value} is lent to products")),
        }
        for edge in &data.targets {
            for (&param, &arg) in self.func.blocks[edge.block].params.iter().zip(&edge.args) {
                if self.lent[param] && !self.lent[arg] {
                    say(format!("{param} is lent, {arg} is not"));
                }
            }
        }
    }
}
