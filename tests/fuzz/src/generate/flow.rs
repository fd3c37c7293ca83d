//! Irregular control flow in which lanes of a warp act together.
//!
//! Lanes that act together need a mask that all of them know. [`Generator::known`] says whether the
//! current lanes know each other: at the start, after a choice that a vote has announced
//! ([`Grouping::Told`]), and where all lanes go the same way. Elsewhere lanes act together only at
//! places that each lane passes equally often ([`Node::Meet`], graphs with beats).

use super::{Flow, Generator};
use crate::program::calls::Kind;
use crate::program::{Beat, Departure, GraphBlock, Grouping, LOOPS, Node, Together};

/// A loop around the current place, and the lanes that may leave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Around {
    /// Each lane may leave it.
    Thread,
    /// All lanes leave it together, or none do; with their uniformity.
    Together(Flow),
}

impl Generator<'_> {
    pub(super) fn irregular(&mut self, flow: Flow, depth: usize) -> Node {
        let calls = if self.family.has_functions() { 22 } else { 0 };
        let kind = self.random.below(100 + calls);
        let made = match kind {
            0..9 if depth < 4 => Some(self.told_choice(flow, depth)),
            9..16 if depth < 3 => self.told_loop(flow, depth),
            16..19 if depth < 3 => Some(self.told_switch(flow, depth)),
            19..22 if depth < 2 => self.steps(flow, depth),
            22..26 if depth < 3 => Some(self.cross(flow, depth)),
            26..31 if depth < 3 && self.known => self.meet(flow, depth),
            31..33 if depth < 3 && self.known && flow >= Flow::Warp && self.lanes.is_none() => {
                Some(self.told_lanes(depth))
            }
            33..40 => self.departure(flow),
            40..43 if self.exits => {
                let (guard, value) = (self.rare_guard(), self.register('r', Flow::Thread));
                Some(Node::Exit { guard, value })
            }
            43..46 if self.may_return() => {
                let (guard, value) = (self.rare_guard(), self.register('r', Flow::Thread));
                Some(Node::Return { guard, value })
            }
            46..62 if self.known => {
                // An election also waits for lanes that do not exist.
                let whole = self.shape.whole_warps();
                let template =
                    self.template(&crate::template::GROUP, &|template| whole || !template.everyone);
                Some(Node::Statement(self.fill(template, Flow::Thread, false)))
            }
            100.. => self.call(flow),
            _ => None,
        };
        made.unwrap_or_else(|| Node::Statement(self.statement(flow)))
    }

    fn may_return(&self) -> bool {
        match self.function {
            Some((_, kind)) => kind != Kind::Whole && self.returns,
            None => self.exits,
        }
    }

    /// A guard for a statement that ends a lane's path.
    fn rare_guard(&mut self) -> String {
        self.condition(Flow::Thread)
    }

    /// The grouping of the lanes after a choice as uniform as `inner`.
    fn grouping(&mut self, inner: Flow) -> Grouping {
        match inner {
            Flow::Thread if self.known && self.random.chance(60) => Grouping::Told,
            Flow::Thread => Grouping::Unknown,
            _ => Grouping::Same,
        }
    }

    /// A body after a choice.
    fn part(&mut self, grouping: Grouping, inner: Flow, depth: usize) -> Vec<Node> {
        let known = self.known;
        self.known = known && grouping != Grouping::Unknown;
        let body = self.block(inner, None, depth + 1);
        self.known = known;
        body
    }

    /// A body that lanes leave only at its end, or by `exit`.
    fn closed(&mut self, depth: usize) -> Vec<Node> {
        let (around, returns) = (std::mem::take(&mut self.around), self.returns);
        self.returns = false;
        let body = self.part(Grouping::Unknown, Flow::Thread, depth);
        (self.around, self.returns) = (around, returns);
        body
    }

    fn told_choice(&mut self, flow: Flow, depth: usize) -> Node {
        let inner = self.inner(flow);
        let grouping = self.grouping(inner);
        let condition = self.condition(inner);
        let then = self.part(grouping, inner, depth);
        let otherwise = if self.random.chance(50) { self.part(grouping, inner, depth) } else { Vec::new() };
        Node::If { grouping, condition, then, otherwise }
    }

    fn told_loop(&mut self, flow: Flow, depth: usize) -> Option<Node> {
        let counter = self.counter()?;
        let inner = self.inner(flow);
        let bound = self.register('r', inner);
        if self.random.chance(12) {
            let condition = self.condition(inner);
            self.around.push(Around::Thread);
            let first = self.part(Grouping::Unknown, Flow::Thread, depth);
            let second = self.part(Grouping::Unknown, Flow::Thread, depth);
            self.around.pop();
            return Some(Node::Irreducible { counter, condition, first, second });
        }
        let grouping = self.grouping(inner);
        self.counters.push((counter, inner));
        self.around.push(if inner == Flow::Thread { Around::Thread } else { Around::Together(inner) });
        let body = self.part(grouping, inner, depth);
        self.around.pop();
        self.counters.pop();
        Some(Node::Loop { grouping, counter, bound, at_top: self.random.chance(50), body })
    }

    fn told_switch(&mut self, flow: Flow, depth: usize) -> Node {
        let inner = self.inner(flow);
        let grouping = self.grouping(inner);
        let index = self.register('r', inner);
        let (count, table) = (self.random.pick(&[2, 4, 8]), self.random.chance(50));
        let arms = (0..count).map(|_| (self.random.chance(35), self.part(grouping, inner, depth)));
        Node::Switch { grouping, index, table, arms: arms.collect() }
    }

    fn told_lanes(&mut self, depth: usize) -> Node {
        let masks = [0x0000_ffff, 0xffff_0000, 0x5555_5555, 0x0f0f_0f0f, 0xff, 0x8000_0001, 1, 0x7fff_ffff];
        let mask =
            if self.random.chance(30) { self.random.bits() as u32 | 1 } else { self.random.pick(&masks) };
        self.lanes = Some(mask);
        let body = self.part(Grouping::Told, Flow::Thread, depth);
        self.lanes = None;
        Node::Lanes { mask, body }
    }

    fn cross(&mut self, flow: Flow, depth: usize) -> Node {
        let inner = self.inner(flow).min(Flow::Thread);
        let grouping = self.grouping(inner);
        let (condition, jump) = (self.condition(inner), self.guard(inner));
        let first = self.part(grouping, inner, depth);
        let second = self.part(grouping, inner, depth);
        let shared = self.part(Grouping::Unknown, Flow::Thread, depth);
        Node::Cross { grouping, condition, jump, first, second, shared }
    }

    /// An operation that lanes execute together at several places.
    pub(super) fn together(&mut self, flow: Flow) -> Together {
        let all = [
            Together::Ballot,
            Together::Ballot,
            Together::Any,
            Together::All,
            Together::Uni,
            Together::Match,
            Together::Sum,
            Together::Warp,
        ];
        if flow == Flow::Cta && self.lanes.is_none() && self.random.chance(30) {
            return Together::Cta(self.random.below(16) as u32);
        }
        match self.random.pick(&all) {
            // Older targets have no reductions.
            Together::Sum if self.target < 80 => Together::Match,
            what => what,
        }
    }

    pub(super) fn beat(&mut self, what: Together) -> Beat {
        let arms = self.random.pick(&[0, 0, 0, 1, 2]);
        Beat {
            arms: (0..arms).map(|_| self.condition(Flow::Thread)).collect(),
            what,
            word: self.variable('r', Flow::Thread),
            flag: self.variable('p', Flow::Thread),
            from: self.register('r', Flow::Thread),
            vote: self.condition(Flow::Thread),
        }
    }

    fn meet(&mut self, flow: Flow, depth: usize) -> Option<Node> {
        let number = self.meets;
        if number == LOOPS {
            return None;
        }
        self.meets += 1;
        let grouping = if self.random.chance(50) { Grouping::Told } else { Grouping::Unknown };
        // The operation of the functions that execute one together, so that these may be called
        // instead.
        let called = self.plan.beat.filter(|_| self.random.chance(50));
        let what = called.unwrap_or_else(|| self.together(flow));
        let condition = self.condition(Flow::Thread);
        let beats = [self.beat(what), self.beat(what)];
        let calls = [(); 2].map(|()| {
            let call = called.is_some() && self.random.chance(60);
            call.then(|| self.call_for_beat()).flatten().into_iter().collect()
        });
        let before = [(); 2].map(|()| self.part(grouping, Flow::Thread, depth));
        let after = [(); 2].map(|()| self.part(grouping, Flow::Thread, depth));
        let middle = if self.random.chance(50) { self.closed(depth) } else { Vec::new() };
        Some(Node::Meet { grouping, number, condition, before, beats, calls, after, middle })
    }

    fn steps(&mut self, flow: Flow, depth: usize) -> Option<Node> {
        let counter = self.counter()?;
        let selector = self.register('r', Flow::Thread);
        let count = self.random.pick(&[2, 4, 7]);
        let what = (self.known && self.random.chance(50)).then(|| self.together(flow));
        let blocks = (0..count).map(|_| {
            let beat = what.map(|what| self.beat(what));
            let body = if beat.is_some() {
                self.closed(depth + 1)
            } else {
                self.around.push(Around::Thread);
                let body = self.part(Grouping::Unknown, Flow::Thread, depth + 1);
                self.around.pop();
                body
            };
            let condition = self.random.chance(60).then(|| self.condition(Flow::Thread));
            let ways = self.random.pick(&[1, 2, 4, 8]);
            let targets = (0..ways).map(|_| self.random.below(count)).collect();
            GraphBlock { beat, body, condition, targets }
        });
        let blocks = blocks.collect();
        Some(Node::Graph { counter, selector, blocks })
    }

    fn departure(&mut self, flow: Flow) -> Option<Node> {
        let departure = match self.around.last()? {
            Around::Together(how) if *how == flow => {
                Departure { guard: self.guard(flow), levels: 0, uniform: true }
            }
            Around::Together(_) => return None,
            Around::Thread => {
                let free = self.around.iter().rev().take_while(|around| **around == Around::Thread).count();
                let levels = self.random.below(free);
                Departure { guard: self.guard(Flow::Thread), levels, uniform: false }
            }
        };
        Some(if self.random.chance(65) { Node::Break(departure) } else { Node::Continue(departure) })
    }
}
