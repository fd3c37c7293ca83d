//! Statements as text.
//!
//! Lanes that act together name each other by a mask. The register `%g0` names the lanes that
//! entered the kernel or function. After a choice that a vote has announced, another register names
//! the lanes that went the same way. A lane may miss the end of an arm or iteration because of a
//! `break` over two levels or a `return`. It then *owes* a vote to each place on its path where the
//! other lanes ask which lanes are still there. The lane casts that vote, against itself, before it
//! jumps. Lanes that have exited owe nothing, because no instruction waits for them.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::program::{Beat, Departure, Grouping, Node, Program, Statement, Together, leaves};

/// A construct around a statement.
struct Scope {
    /// The vote that a lane owes if it does not reach the end, if any.
    owed: Option<String>,
    /// In an iteration of a loop: the labels after the loop and before the next iteration.
    turn: Option<(usize, usize)>,
    /// Whether this is an iteration of a loop in which all current lanes stay together.
    same: bool,
    /// Whether lanes may leave only at the end.
    barred: bool,
}

/// Writes one kernel or function.
pub(super) struct Writer<'a> {
    pub(super) program: &'a Program,
    /// The number of the function.
    pub(super) function: Option<usize>,
    pub(super) text: String,
    labels: &'a mut usize,
    scopes: Vec<Scope>,
    /// The mask of the current lanes, if they know each other.
    pub(super) group: Option<String>,
    /// The number of mask registers.
    pub(super) groups: usize,
    /// The label of the only return.
    pub(super) end: Option<usize>,
    /// The functions that are called.
    pub(super) called: BTreeSet<usize>,
    /// Tables of functions.
    pub(super) tables: BTreeSet<String>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(program: &'a Program, function: Option<usize>, labels: &'a mut usize) -> Writer<'a> {
        let masked = function
            .is_none_or(|number| program.functions[number].kind != crate::program::calls::Kind::Alone);
        Writer {
            program,
            function,
            text: String::new(),
            labels,
            scopes: Vec::new(),
            group: (masked && program.family.has_masks()).then(|| "%g0".to_string()),
            groups: 1,
            end: None,
            called: BTreeSet::new(),
            tables: BTreeSet::new(),
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        if self.program.uniform_branches && line.starts_with("bra L") {
            let _ = writeln!(self.text, "\tbra.uni{}", &line[3..]);
            return;
        }
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "\t{line}");
    }

    pub(super) fn label(&mut self, label: usize) {
        let _ = writeln!(self.text, "L{label}:");
    }

    pub(super) fn fresh(&mut self) -> usize {
        *self.labels += 1;
        *self.labels
    }

    /// A new register for a mask.
    fn mask(&mut self) -> String {
        self.groups += 1;
        format!("%g{}", self.groups - 1)
    }

    pub(super) fn push(&mut self, owed: Option<String>) {
        self.scopes.push(Scope { owed, turn: None, same: false, barred: false });
    }

    pub(super) fn pop(&mut self) {
        self.scopes.pop();
    }

    /// The number of enclosing scopes.
    pub(super) fn depth(&self) -> usize {
        self.scopes.len()
    }

    /// The votes that a lane owes if it leaves `scopes` scopes; `None` if it may not leave them.
    pub(super) fn owed(&self, scopes: usize) -> Option<Vec<String>> {
        let left = self.scopes.iter().rev().take(scopes);
        left.clone().all(|scope| !scope.barred).then(|| left.filter_map(|scope| scope.owed.clone()).collect())
    }

    /// Jumps to the label whose number is in `%t0`.
    fn table(&mut self, labels: &[usize]) {
        let table = self.fresh();
        let list: Vec<String> = labels.iter().map(|label| format!("L{label}")).collect();
        self.line(&format!("T{table}: .branchtargets {};", list.join(", ")));
        self.line(&format!("brx.idx %t0, T{table};"));
    }

    pub(super) fn nodes(&mut self, nodes: &[Node]) {
        for node in nodes {
            self.node(node);
        }
    }

    /// A body for the lanes of a mask, in which a lane that leaves owes a vote.
    fn body(&mut self, nodes: &[Node], group: Option<String>, owed: Option<String>) {
        let around = std::mem::replace(&mut self.group, group);
        self.push(owed);
        self.nodes(nodes);
        self.pop();
        self.group = around;
    }

    /// The votes at the end of a construct with these bodies: that of the lanes that reach the end,
    /// and that of the lanes that do not. `None` if all reach the end, or if the lanes do not know
    /// each other.
    fn gather(&self, bodies: &[&Vec<Node>], loops: usize) -> Option<(String, String)> {
        let group = self.group.as_ref()?;
        // In a kernel, `ret` is an `exit`.
        let leave = bodies.iter().any(|body| leaves(body, loops)) && !self.scopes_end();
        leave.then(|| {
            let vote = |who: &str, to: &str| format!("vote.sync.ballot.b32 {to}, {who}, {group};");
            (vote("%always", group), vote("%never", "%t0"))
        })
    }

    /// Whether no enclosing construct has a place that a lane could leave for.
    fn scopes_end(&self) -> bool {
        self.function.is_none() && !self.scopes.iter().any(|scope| scope.turn.is_some())
    }

    fn come_together(&mut self, gather: Option<(String, String)>) {
        if let Some((vote, _)) = gather {
            self.line(&vote);
        }
    }

    /// The masks of the lanes for which a condition holds, and of the others.
    fn tell(&mut self, grouping: Grouping, condition: &str) -> (Option<String>, Option<String>) {
        match (grouping, self.group.clone()) {
            (Grouping::Told, Some(group)) => {
                let mask = self.mask();
                self.line(&format!("vote.sync.ballot.b32 {mask}, {condition}, {group};"));
                (Some(mask.clone()), Some(mask))
            }
            (Grouping::Same, group) => (group.clone(), group),
            _ => (None, None),
        }
    }

    /// Replaces the mask of some of the current lanes by that of the others.
    fn others(&mut self, grouping: Grouping, mask: Option<&String>) {
        if let (Grouping::Told, Some(mask), Some(group)) = (grouping, mask, self.group.clone()) {
            self.line(&format!("not.b32 {mask}, {mask};"));
            self.line(&format!("and.b32 {mask}, {mask}, {group};"));
        }
    }

    fn statement(&mut self, statement: &Statement) {
        let text = match &self.group {
            Some(group) => statement.text(group),
            None if statement.pieces.contains(&crate::program::Piece::Group) => return,
            None => statement.text(""),
        };
        text.lines().for_each(|line| self.line(line));
    }

    /// Leaves under a guard: the remaining lanes compute their mask, and the leaving lanes cast the
    /// votes that they owe.
    pub(super) fn leave(
        &mut self,
        guard: &str,
        owed: &[String],
        skip: usize,
        go: impl FnOnce(&mut Self) -> String,
    ) {
        let told = self.group.clone();
        if let Some(group) = &told {
            self.line(&format!("vote.sync.ballot.b32 %t1, {guard}, {group};"));
        }
        let not = guard.strip_prefix('!').map_or(format!("!{guard}"), ToString::to_string);
        self.line(&format!("@{not} bra L{skip};"));
        owed.iter().for_each(|vote| self.line(vote));
        let go = go(self);
        self.line(&go);
        self.label(skip);
        if let Some(group) = &told {
            self.line("not.b32 %t1, %t1;");
            self.line(&format!("and.b32 {group}, {group}, %t1;"));
        }
    }

    fn depart(&mut self, departure: &Departure, goes_on: bool) {
        let turns = self.scopes.iter().enumerate().rev().filter(|(_, scope)| scope.turn.is_some());
        let Some((at, scope)) = turns.clone().nth(departure.levels) else { return };
        let Some((end, next)) = scope.turn else { return };
        // The remaining lanes of such a loop rely on all other lanes.
        if scope.same && !departure.uniform {
            return;
        }
        let to = if goes_on { next } else { end };
        let scopes = self.scopes.len() - at - usize::from(goes_on);
        let Some(owed) = self.owed(scopes) else { return };
        if departure.uniform || !self.program.family.has_masks() {
            self.line(&format!("@{} bra L{to};", departure.guard));
            return;
        }
        if owed.is_empty() && self.group.is_none() {
            self.line(&format!("@{} bra L{to};", departure.guard));
            return;
        }
        let skip = self.fresh();
        self.leave(&departure.guard, &owed, skip, |_| format!("bra L{to};"));
    }

    /// The operation that lanes execute together, with a mask.
    pub(super) fn beat(&mut self, beat: &Beat, mask: &str) {
        let end = (!beat.arms.is_empty()).then(|| self.fresh());
        for condition in &beat.arms {
            let other = self.fresh();
            self.line(&format!("@!{condition} bra L{other};"));
            self.together(beat, mask);
            end.iter().for_each(|end| self.line(&format!("bra L{end};")));
            self.label(other);
        }
        self.together(beat, mask);
        end.iter().for_each(|&end| self.label(end));
    }

    /// The operation of a place.
    fn together(&mut self, beat: &Beat, mask: &str) {
        let Beat { what, word, flag, from, vote, .. } = beat;
        self.line(&match what {
            Together::Ballot => format!("vote.sync.ballot.b32 {word}, {vote}, {mask};"),
            Together::Any => format!("vote.sync.any.pred {flag}, {vote}, {mask};"),
            Together::All => format!("vote.sync.all.pred {flag}, {vote}, {mask};"),
            Together::Uni => format!("vote.sync.uni.pred {flag}, {vote}, {mask};"),
            Together::Match => format!("match.any.sync.b32 {word}, {from}, {mask};"),
            Together::Sum => format!("redux.sync.add.u32 {word}, {from}, {mask};"),
            Together::Warp => format!("bar.warp.sync {mask};"),
            Together::Cta(number) => format!("barrier.sync {number};"),
        });
    }

    /// The same operation for a lane that does not reach the place.
    pub(super) fn beat_of_others(&self, what: Together, mask: &str) -> String {
        match what {
            Together::Ballot => format!("vote.sync.ballot.b32 %t0, %never, {mask};"),
            Together::Any => format!("vote.sync.any.pred %q, %never, {mask};"),
            Together::All => format!("vote.sync.all.pred %q, %never, {mask};"),
            Together::Uni => format!("vote.sync.uni.pred %q, %never, {mask};"),
            Together::Match => format!("match.any.sync.b32 %t0, %zero, {mask};"),
            Together::Sum => format!("redux.sync.add.u32 %t0, %zero, {mask};"),
            Together::Warp => format!("bar.warp.sync {mask};"),
            Together::Cta(number) => format!("barrier.sync {number};"),
        }
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Statement(statement) => self.statement(statement),
            Node::If { grouping, condition, then, otherwise } => {
                let (other, end) = (self.fresh(), self.fresh());
                let gather = self.gather(&[then, otherwise], 0).filter(|_| *grouping != Grouping::Same);
                let owed = gather.as_ref().map(|(_, owed)| owed.clone());
                let (here, there) = self.tell(*grouping, condition);
                self.line(&format!("@!{condition} bra L{other};"));
                self.body(then, here, owed.clone());
                if !otherwise.is_empty() {
                    self.line(&format!("bra L{end};"));
                }
                self.label(other);
                if !otherwise.is_empty() {
                    self.others(*grouping, there.as_ref());
                }
                self.body(otherwise, there, owed);
                self.label(end);
                self.come_together(gather);
            }
            Node::Lanes { mask, body } => {
                let end = self.fresh();
                let gather = self.gather(&[body], 0);
                let owed = gather.as_ref().map(|(_, owed)| owed.clone());
                self.line(&format!("shr.u32 %t0, {mask:#x}, %lane;"));
                self.line("and.b32 %t0, %t0, 1;");
                self.line("setp.eq.u32 %q, %t0, 0;");
                let group = self.group.clone().map(|group| match group.as_str() {
                    "%g0" if !leaves(body, 0) && self.function.is_none() => format!("{mask:#x}"),
                    _ => {
                        let inner = self.mask();
                        self.line(&format!("and.b32 {inner}, {group}, {mask:#x};"));
                        inner
                    }
                });
                self.line(&format!("@%q bra L{end};"));
                self.body(body, group, owed);
                self.label(end);
                self.come_together(gather);
            }
            Node::Loop { grouping, counter, bound, at_top, body } => {
                self.repeat(*grouping, *counter, bound, *at_top, body);
            }
            Node::Irreducible { counter, condition, first, second } => {
                let (head, middle, end) = (self.fresh(), self.fresh(), self.fresh());
                let test = self.fresh();
                let gather = self.gather(&[first, second], 1);
                let around = self.group.take();
                self.push(gather.as_ref().map(|(_, owed)| owed.clone()));
                self.line(&format!("mov.u32 %c{counter}, 0;"));
                self.line(&format!("@{condition} bra L{middle};"));
                self.label(head);
                self.turn(None, end, middle, false);
                self.nodes(first);
                self.label(middle);
                self.pop();
                self.line(&format!("add.u32 %c{counter}, %c{counter}, 1;"));
                self.turn(None, end, test, false);
                self.nodes(second);
                self.pop();
                self.label(test);
                self.line(&format!("setp.lt.u32 %q, %c{counter}, 3;"));
                self.line(&format!("@%q bra L{head};"));
                self.label(end);
                self.pop();
                self.group = around;
                self.come_together(gather);
            }
            Node::Switch { grouping, index, table, arms } => self.switch(*grouping, index, *table, arms),
            Node::Graph { counter, selector, blocks } => self.graph(*counter, selector, blocks),
            Node::Cross { grouping, condition, jump, first, second, shared } => {
                let (other, inner, end) = (self.fresh(), self.fresh(), self.fresh());
                let gather = self.gather(&[first, second, shared], 0);
                let owed = gather.as_ref().map(|(_, owed)| owed.clone());
                let (here, there) = self.tell(*grouping, condition);
                self.line(&format!("@!{condition} bra L{other};"));
                self.body(first, here, owed.clone());
                self.line(&format!("@{jump} bra L{inner};"));
                self.line(&format!("bra L{end};"));
                self.label(other);
                self.others(*grouping, there.as_ref());
                self.body(second, there, owed.clone());
                self.label(inner);
                self.body(shared, None, owed);
                self.label(end);
                self.come_together(gather);
            }
            Node::Meet { grouping, number, condition, before, beats, calls, after, middle } => {
                let Some(mask) = self.group.clone() else { return };
                let [first, second] = before;
                let [between, last] = after;
                let (other, end) = (self.fresh(), self.fresh());
                // All of these lanes pass the place, so its mask may not change on the way.
                let all = self.mask();
                self.line(&format!("mov.b32 {all}, {mask};"));
                let gather = self.gather(&[first, &calls[0], second, &calls[1], between, last, middle], 0);
                let owed = gather.as_ref().map(|(_, owed)| owed.clone());
                self.line(&format!("mov.pred %s{number}, {condition};"));
                let (here, there) = self.tell(*grouping, condition);
                self.push(owed);
                let part = self.beat_of_others(beats[0].what, &all);
                self.line(&format!("@!%s{number} bra L{other};"));
                self.body(first, here.clone(), Some(part.clone()));
                self.meet(&beats[0], &calls[0], &all);
                self.body(between, here, None);
                if middle.is_empty() {
                    self.line(&format!("bra L{end};"));
                }
                self.label(other);
                if !middle.is_empty() {
                    self.meet_in_middle(*number, middle, end);
                }
                self.others(*grouping, there.as_ref());
                self.body(second, there.clone(), Some(part));
                self.meet(&beats[1], &calls[1], &all);
                self.body(last, there, None);
                self.label(end);
                self.pop();
                self.come_together(gather);
            }
            Node::Break(departure) => self.depart(departure, false),
            Node::Continue(departure) => self.depart(departure, true),
            Node::Return { guard, value } => match self.function {
                Some(number) => self.give_back(number, guard),
                None => {
                    self.line(&format!("@{guard} st.global.u32 [%own+60], {value};"));
                    self.line(&format!("@{guard} ret;"));
                }
            },
            Node::Exit { guard, value } => {
                self.line(&format!("@{guard} st.global.u32 [%own+60], {value};"));
                self.line(&format!("@{guard} exit;"));
            }
            Node::Call(call) => self.call(call),
        }
    }

    /// One of two places: the operation of the lanes together, or a call of a function that
    /// executes it.
    fn meet(&mut self, beat: &Beat, calls: &[Node], mask: &str) {
        let [Node::Call(call)] = calls else { return self.beat(beat, mask) };
        let group = self.group.replace(mask.to_string());
        self.call(call);
        self.group = group;
    }

    /// Between two places: the lanes that were at the first one skip the second.
    fn meet_in_middle(&mut self, number: usize, middle: &[Node], end: usize) {
        let around = self.group.take();
        // No lane may leave here, because some would owe the operation and some would not.
        self.scopes.push(Scope { owed: None, turn: None, same: false, barred: true });
        self.nodes(middle);
        self.pop();
        self.group = around;
        self.line(&format!("@%s{number} bra L{end};"));
    }

    fn turn(&mut self, owed: Option<String>, end: usize, next: usize, same: bool) {
        self.scopes.push(Scope { owed, turn: Some((end, next)), same, barred: false });
    }

    fn repeat(&mut self, grouping: Grouping, counter: usize, bound: &str, at_top: bool, body: &Vec<Node>) {
        let (head, next, end) = (self.fresh(), self.fresh(), self.fresh());
        let gather = self.gather(&[body], 1).filter(|_| grouping != Grouping::Same);
        self.line(&format!("mov.u32 %c{counter}, 0;"));
        self.line(&format!("and.b32 %b{counter}, {bound}, 3;"));
        let around = self.group.clone();
        // The lanes that are still in the loop, and those that are still in the iteration.
        let masks = match (grouping, &around) {
            (Grouping::Told, Some(group)) => {
                let (turning, here) = (self.mask(), self.mask());
                self.line(&format!("mov.b32 {turning}, {group};"));
                self.line(&format!("mov.b32 {here}, {group};"));
                Some((turning, here))
            }
            _ => None,
        };
        let test = format!("setp.ge.u32 %q, %c{counter}, %b{counter};");
        let ask = |masks: &Option<(String, String)>| {
            masks.as_ref().map(|(turning, _)| format!("vote.sync.ballot.b32 {turning}, !%q, {turning};"))
        };
        let owed = masks.as_ref().map(|(turning, _)| format!("vote.sync.ballot.b32 %t0, %never, {turning};"));
        self.push(gather.as_ref().map(|(_, owed)| owed.clone()));
        self.label(head);
        let renew = |writer: &mut Self| {
            if let Some((turning, here)) = &masks {
                writer.line(&format!("mov.b32 {here}, {turning};"));
            }
        };
        if at_top {
            self.line(&test);
            ask(&masks).into_iter().for_each(|vote| self.line(&vote));
            self.line(&format!("@%q bra L{end};"));
            renew(self);
        } else {
            renew(self);
        }
        self.group = match grouping {
            Grouping::Same => around.clone(),
            _ => masks.as_ref().map(|(_, here)| here.clone()),
        };
        self.turn(owed, end, next, grouping == Grouping::Same);
        self.nodes(body);
        self.pop();
        self.label(next);
        if !at_top {
            self.line(&test);
            ask(&masks).into_iter().for_each(|vote| self.line(&vote));
        }
        self.line(&format!("add.u32 %c{counter}, %c{counter}, 1;"));
        self.line(&if at_top { format!("bra L{head};") } else { format!("@!%q bra L{head};") });
        self.label(end);
        self.pop();
        self.group = around;
        self.come_together(gather);
    }

    fn switch(&mut self, grouping: Grouping, index: &str, table: bool, arms: &[(bool, Vec<Node>)]) {
        let labels: Vec<usize> = arms.iter().map(|_| self.fresh()).collect();
        let end = self.fresh();
        let bodies: Vec<&Vec<Node>> = arms.iter().map(|(_, arm)| arm).collect();
        let gather = self.gather(&bodies, 0).filter(|_| grouping != Grouping::Same);
        let owed = gather.as_ref().map(|(_, owed)| owed.clone());
        self.line(&format!("and.b32 %t0, {index}, {};", arms.len() - 1));
        let group = match (grouping, self.group.clone()) {
            (Grouping::Told, Some(group)) => {
                let mask = self.mask();
                self.line(&format!("match.any.sync.b32 {mask}, %t0, {group};"));
                Some(mask)
            }
            (Grouping::Same, group) => group,
            _ => None,
        };
        if table {
            self.table(&labels);
        } else {
            for (number, label) in labels.iter().enumerate().skip(1) {
                self.line(&format!("setp.eq.u32 %q, %t0, {number};"));
                self.line(&format!("@%q bra L{label};"));
            }
        }
        for (label, (through, arm)) in labels.into_iter().zip(arms) {
            self.label(label);
            self.body(arm, group.clone(), owed.clone());
            if !through {
                self.line(&format!("bra L{end};"));
            }
        }
        self.label(end);
        self.come_together(gather);
    }

    fn graph(&mut self, counter: usize, selector: &str, blocks: &[crate::program::GraphBlock]) {
        let labels: Vec<usize> = blocks.iter().map(|_| self.fresh()).collect();
        let end = self.fresh();
        let bodies: Vec<&Vec<Node>> = blocks.iter().map(|block| &block.body).collect();
        let gather = self.gather(&bodies, 1);
        let around = self.group.take();
        // If each block has a beat, all lanes take the same number of steps.
        let beats = around.is_some() && blocks.iter().all(|block| block.beat.is_some());
        self.scopes.push(Scope {
            owed: gather.as_ref().map(|(_, owed)| owed.clone()),
            turn: None,
            same: false,
            barred: beats,
        });
        self.line(&format!("mov.u32 %c{counter}, 0;"));
        self.line(&format!("and.b32 %t0, {selector}, 1;"));
        self.table(&labels[..2]);
        for (block, &label) in blocks.iter().zip(&labels) {
            let targets: Vec<usize> = block.targets.iter().map(|&target| labels[target]).collect();
            let next = self.fresh();
            self.label(label);
            if let (true, Some(beat), Some(mask)) = (beats, &block.beat, &around) {
                self.beat(beat, mask);
            }
            self.scopes.push(Scope { owed: None, turn: Some((end, next)), same: false, barred: beats });
            self.nodes(&block.body);
            self.pop();
            self.label(next);
            self.line(&format!("add.u32 %c{counter}, %c{counter}, 1;"));
            self.line(&format!("setp.gt.u32 %q, %c{counter}, 9;"));
            self.line(&format!("@%q bra L{end};"));
            match &block.condition {
                Some(condition) => {
                    self.line(&format!("@{condition} bra L{};", targets[0]));
                    self.line(&format!("bra L{};", targets[targets.len() - 1]));
                }
                None => {
                    self.line(&format!("add.u32 %t0, {selector}, %c{counter};"));
                    self.line(&format!("and.b32 %t0, %t0, {};", targets.len() - 1));
                    self.table(&targets);
                }
            }
        }
        self.label(end);
        self.pop();
        self.group = around;
        self.come_together(gather);
    }
}
