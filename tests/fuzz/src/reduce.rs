//! Makes a failing trial smaller, as long as it fails in the same way.
//!
//! In: a trial, its failure, and the test. Out: a trial from which nothing more can be removed.
//!
//! The method is delta debugging (Zeller, Hildebrandt: Simplifying and Isolating Failure-Inducing
//! Input, 2002) on the tree of statements. First runs of nodes are removed, half of all nodes
//! first, single nodes last. Then compound statements are replaced by their bodies, statements by
//! moves of zero, operands by constants, and settings and launch by the simplest ones, until
//! nothing changes. Each step leaves a well-defined kernel, for the reasons given in
//! [`generate`](crate::generate). The cost is one test per step, some hundreds in all.

mod calls;

use crate::execute::Failure;
use crate::launch::Shape;
use crate::program::{Node, Piece, Program, Statement, count};
use crate::trial::Trial;

/// Reduces a trial. `test` runs one.
pub fn reduce(
    trial: Trial,
    failure: Failure,
    test: &mut dyn FnMut(&Trial) -> Result<(), Failure>,
) -> (Trial, Failure) {
    let mut reducer = Reducer { trial, failure, test };
    loop {
        let before = reducer.trial.clone();
        reducer.remove_nodes();
        reducer.settings();
        reducer.edit(count_bodies, unwrap_body);
        reducer.edit(calls::count_versions, calls::take_version);
        reducer.forms();
        reducer.shown();
        reducer.edit(count_pieces, simplify_piece);
        reducer.edit(count_statements, replace_statement);
        reducer.starts();
        if reducer.trial == before {
            return (reducer.trial, reducer.failure);
        }
    }
}

struct Reducer<'a> {
    trial: Trial,
    failure: Failure,
    test: &'a mut dyn FnMut(&Trial) -> Result<(), Failure>,
}

impl Reducer<'_> {
    /// Accepts a smaller trial if it still fails in the same way.
    fn accept(&mut self, smaller: Trial) -> bool {
        if smaller == self.trial {
            return false;
        }
        match (self.test)(&smaller) {
            Err(failure) if failure.is_like(&self.failure) => {
                self.trial = smaller;
                self.failure = failure;
                true
            }
            _ => false,
        }
    }

    fn with(&mut self, change: impl FnOnce(&mut Program)) -> bool {
        let mut smaller = self.trial.clone();
        change(&mut smaller.program);
        self.accept(smaller)
    }

    fn remove_nodes(&mut self) {
        let mut size = self.trial.program.nodes().div_ceil(2);
        while size > 0 {
            let mut at = 0;
            while at < self.trial.program.nodes() {
                let removed = self.with(|program| {
                    let mut index = 0;
                    for body in program.bodies_mut() {
                        remove(body, at..at + size, &mut index);
                    }
                });
                if !removed {
                    at += size;
                }
            }
            size /= 2;
        }
    }

    fn settings(&mut self) {
        for settings in self.trial.settings.simpler() {
            self.accept(Trial { settings, ..self.trial.clone() });
        }
        let simpler: Vec<Shape> = self.trial.program.shape.simpler().collect();
        for shape in simpler {
            if self.with(|program| program.shape = shape) {
                break;
            }
        }
        self.with(|program| program.fuel = 0);
        self.with(|program| program.opaque = false);
        self.with(|program| program.uniform_branches = false);
        for number in 0..self.trial.program.functions.len() {
            self.with(|program| program.functions[number].one_return = true);
        }
        for index in (0..self.trial.program.directives.len()).rev() {
            self.with(|program| {
                program.directives.remove(index);
            });
        }
    }

    fn forms(&mut self) {
        let mut at = calls::count_forms(&self.trial.program);
        while at > 0 {
            at -= 1;
            self.with(|program| calls::remove_form(program, at));
        }
    }

    fn shown(&mut self) {
        let mut size = self.trial.program.shown.len();
        while size > 0 {
            let mut at = 0;
            while at < self.trial.program.shown.len() {
                let removed = self.with(|program| {
                    let end = (at + size).min(program.shown.len());
                    program.shown.drain(at..end);
                });
                if !removed {
                    at += size;
                }
            }
            size /= 2;
        }
    }

    fn starts(&mut self) {
        let starts = &self.trial.program.starts;
        let places: Vec<(usize, usize)> = starts
            .iter()
            .enumerate()
            .flat_map(|(pool, list)| (0..list.len()).map(move |index| (pool, index)))
            .collect();
        // Most registers are not in the text at all.
        self.with(|program| places.iter().for_each(|&(pool, index)| zero_start(program, pool, index)));
        let text = self.trial.text();
        for (pool, index) in places {
            let (prefix, ..) = crate::program::POOLS[pool];
            if text.contains(&format!("{prefix}{index},")) {
                self.with(|program| zero_start(program, pool, index));
            }
        }
    }

    /// Tries a number of edits: `number` counts them, and `make` makes one.
    fn edit(&mut self, number: fn(&[Node]) -> usize, make: fn(&mut Vec<Node>, &mut usize) -> bool) {
        let mut at = 0;
        while at < self.trial.program.bodies().into_iter().map(|body| number(body)).sum() {
            let made = self.with(|program| {
                let mut left = at;
                program.bodies_mut().into_iter().any(|body| make(body, &mut left));
            });
            if !made {
                at += 1;
            }
        }
    }
}

fn zero_start(program: &mut Program, pool: usize, index: usize) {
    let zero = match crate::program::POOLS[pool].1 {
        ".f32" => "0f00000000",
        ".f64" => "0d0000000000000000",
        ".pred" => "%zero",
        _ => "0",
    };
    program.starts[pool][index] = zero.to_string();
}

/// Removes the nodes whose numbers, in text order, are in the range.
fn remove(body: &mut Vec<Node>, range: std::ops::Range<usize>, index: &mut usize) {
    body.retain_mut(|node| {
        let number = *index;
        *index += 1;
        if range.contains(&number) {
            *index += node.bodies().into_iter().map(|body| count(body)).sum::<usize>();
            return false;
        }
        for body in node.bodies_mut() {
            remove(body, range.clone(), index);
        }
        true
    });
}

fn count_bodies(body: &[Node]) -> usize {
    let of = |node: &Node| -> usize { node.bodies().into_iter().map(|body| 1 + count_bodies(body)).sum() };
    body.iter().map(of).sum()
}

/// Replaces a compound statement by its body number `left`. The kernel stays well-defined if a
/// conditional body runs unconditionally.
fn unwrap_body(body: &mut Vec<Node>, left: &mut usize) -> bool {
    for index in 0..body.len() {
        // A body for some lanes may name them in its votes.
        let lanes = matches!(&body[index], Node::Lanes { mask, body } if names(body, &format!("{mask:#x}")));
        let mut inner = None;
        for arm in body[index].bodies_mut() {
            if *left == 0 && !lanes {
                inner = Some(std::mem::take(arm));
                break;
            }
            *left = left.saturating_sub(1);
            if unwrap_body(arm, left) {
                return true;
            }
        }
        if let Some(inner) = inner {
            body.splice(index..=index, inner);
            return true;
        }
    }
    false
}

/// Whether a statement of a body contains the word.
fn names(body: &[Node], word: &str) -> bool {
    body.iter().any(|node| match node {
        Node::Statement(statement) => statement.text("").contains(word),
        _ => node.bodies().into_iter().any(|body| names(body, word)),
    })
}

fn count_pieces(body: &[Node]) -> usize {
    let of = |node: &Node| -> usize {
        let own = match node {
            Node::Statement(statement) => edits(statement),
            _ => 0,
        };
        own + node.bodies().into_iter().map(|body| count_pieces(body)).sum::<usize>()
    };
    body.iter().map(of).sum()
}

/// The number of edits of the parts of a statement.
fn edits(statement: &Statement) -> usize {
    let of = |piece: &Piece| match piece {
        Piece::Read { simpler, .. } => simpler.len(),
        Piece::Choice { .. } => 1,
        Piece::Text(_) | Piece::Write(_) | Piece::Group => 0,
    };
    usize::from(statement.guard.is_some()) + statement.pieces.iter().map(of).sum::<usize>()
}

/// Makes edit number `left`: removes a guard, takes the simplest choice or a simpler operand.
fn simplify_piece(body: &mut Vec<Node>, left: &mut usize) -> bool {
    for node in body {
        if let Node::Statement(statement) = node {
            let own = edits(statement);
            if *left < own {
                simplify(statement, *left);
                return true;
            }
            *left -= own;
        }
        if node.bodies_mut().into_iter().any(|body| simplify_piece(body, left)) {
            return true;
        }
    }
    false
}

fn simplify(statement: &mut Statement, mut left: usize) {
    if statement.guard.is_some() {
        if left == 0 {
            statement.guard = None;
            return;
        }
        left -= 1;
    }
    for piece in &mut statement.pieces {
        match piece {
            Piece::Read { operand, simpler } => {
                if left < simpler.len() {
                    // The first replacement is the simplest, so the others need not be tried
                    // afterwards.
                    *operand = simpler[left].clone();
                    simpler.truncate(left);
                    return;
                }
                left -= simpler.len();
            }
            Piece::Choice { chosen, simplest } => {
                if left == 0 {
                    chosen.clone_from(simplest);
                    return;
                }
                left -= 1;
            }
            Piece::Text(_) | Piece::Write(_) | Piece::Group => {}
        }
    }
}

fn count_statements(body: &[Node]) -> usize {
    count(body)
}

/// Replaces a statement by moves of zero to its destinations.
fn replace_statement(body: &mut Vec<Node>, left: &mut usize) -> bool {
    for node in body {
        if *left == 0 {
            if let Node::Statement(statement) = node {
                *statement = moves(statement);
            }
            return true;
        }
        *left -= 1;
        if node.bodies_mut().into_iter().any(|body| replace_statement(body, left)) {
            return true;
        }
    }
    false
}

fn moves(statement: &Statement) -> Statement {
    let moves = statement.writes().map(|register| {
        let (ty, zero) = match register.trim_start_matches(['%', 'u', 'w']).as_bytes().first() {
            Some(b'd') => ("b64", "0"),
            Some(b'h') => ("b16", "0"),
            Some(b'f') => ("f32", "0f00000000"),
            Some(b'e') => ("f64", "0d0000000000000000"),
            Some(b'p') => return format!("setp.ne.u32 {register}, %zero, 0"),
            _ => ("b32", "0"),
        };
        format!("mov.{ty} {register}, {zero}")
    });
    let moves: Vec<String> = moves.collect();
    if moves.is_empty() {
        return statement.clone();
    }
    Statement { guard: None, pieces: vec![Piece::Text(moves.join(";\n"))] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execute::Who;
    use crate::program::Family;

    /// A kernel with functions is reduced to one indirect call of functions without statements,
    /// parameters and results.
    #[test]
    fn a_call_is_left() {
        let mut reduced = 0;
        for seed in 0..60 {
            let trial = Trial::new(Family::Calls, seed);
            let mut test = |trial: &Trial| {
                let failure = Failure { who: Who::Sass, sort: String::new(), what: String::new() };
                if trial.text().contains("%fa, (p_own") { Err(failure) } else { Ok(()) }
            };
            let Err(failure) = test(&trial) else { continue };
            let (small, _) = reduce(trial, failure, &mut test);
            let text = small.text();
            // The indirect call, and the calls that lead to its function.
            assert!(small.program.nodes() <= 3, "{text}");
            assert_eq!(small.program.nodes(), text.matches("call ").count(), "{text}");
            let signatures = &small.program.signatures;
            assert!(signatures.iter().all(|of| of.takes.is_empty() && of.gives.is_empty()), "{text}");
            reduced += 1;
        }
        assert!(reduced > 3, "only {reduced} kernels call indirectly");
    }

    /// A kernel is reduced to the one statement that causes the failure.
    #[test]
    fn the_cause_of_a_failure_is_left() {
        let blamed = "popc.b32";
        let mut reduced = 0;
        for seed in 0..600 {
            let trial = Trial::new(Family::Plain, seed);
            let mut test = |trial: &Trial| {
                let failure = Failure { who: Who::Sass, sort: String::new(), what: String::new() };
                if trial.text().contains(blamed) { Err(failure) } else { Ok(()) }
            };
            let Err(failure) = test(&trial) else { continue };
            let (small, _) = reduce(trial, failure, &mut test);
            assert_eq!(count(&small.program.body), 1, "{}", small.text());
            assert!(small.program.shown.is_empty() && small.program.directives.is_empty());
            assert_eq!((small.settings.max_regs, small.settings.serial), (255, false));
            reduced += 1;
        }
        assert!(reduced > 3, "only {reduced} kernels count bits");
    }
}
