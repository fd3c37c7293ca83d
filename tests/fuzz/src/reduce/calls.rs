//! Simpler versions of a node with the same bodies, and functions with fewer parameters and
//! results.

use crate::program::calls::Callee;
use crate::program::{Grouping, Node, Piece, Program};

/// Simpler versions of a node, the simplest first.
pub(super) fn versions(node: &Node) -> Vec<Node> {
    let mut list = Vec::new();
    let mut with = |change: &dyn Fn(&mut Node)| {
        let mut simpler = node.clone();
        change(&mut simpler);
        if simpler != *node && !list.contains(&simpler) {
            list.push(simpler);
        }
    };
    match node {
        Node::Call(call) => {
            let simpler = |change: &dyn Fn(&mut crate::program::calls::Call)| {
                let mut call = call.clone();
                change(&mut call);
                Node::Call(call)
            };
            for &number in call.callee.all() {
                with(&|node| *node = simpler(&|call| call.callee = Callee::Direct(number)));
            }
            with(&|node| *node = simpler(&|call| call.guard = None));
            with(&|node| *node = simpler(&|call| call.near = "%own".to_string()));
            with(&|node| *node = simpler(&|call| call.around = true));
            with(&|node| *node = simpler(&|call| call.uniform = false));
            with(&|node| {
                *node = simpler(&|call| {
                    for piece in call.takes.iter_mut().flatten() {
                        if let Piece::Read { operand, simpler } = piece
                            && let Some(simplest) = simpler.first()
                        {
                            operand.clone_from(simplest);
                        }
                    }
                });
            });
        }
        Node::If { .. }
        | Node::Loop { .. }
        | Node::Switch { .. }
        | Node::Cross { .. }
        | Node::Meet { .. } => {
            with(&|node| {
                if let Node::If { grouping, .. }
                | Node::Loop { grouping, .. }
                | Node::Switch { grouping, .. }
                | Node::Cross { grouping, .. }
                | Node::Meet { grouping, .. } = node
                    && *grouping == Grouping::Told
                {
                    *grouping = Grouping::Unknown;
                }
            });
            with(&|node| {
                if let Node::Switch { table, .. } = node {
                    *table = false;
                }
            });
        }
        Node::Graph { .. } => with(&|node| {
            if let Node::Graph { blocks, .. } = node {
                blocks.iter_mut().for_each(|block| block.beat = None);
            }
        }),
        Node::Break(_) | Node::Continue(_) => with(&|node| {
            if let Node::Break(departure) | Node::Continue(departure) = node {
                departure.levels = 0;
            }
        }),
        _ => {}
    }
    list
}

pub(super) fn count_versions(body: &[Node]) -> usize {
    let of = |node: &Node| -> usize {
        versions(node).len() + node.bodies().into_iter().map(|body| count_versions(body)).sum::<usize>()
    };
    body.iter().map(of).sum()
}

/// Replaces a node by its version number `left`.
pub(super) fn take_version(body: &mut Vec<Node>, left: &mut usize) -> bool {
    for node in body {
        let own = versions(node);
        if *left < own.len() {
            *node = own[*left].clone();
            return true;
        }
        *left -= own.len();
        if node.bodies_mut().into_iter().any(|body| take_version(body, left)) {
            return true;
        }
    }
    false
}

/// Number of parameters and results of all signatures.
pub(super) fn count_forms(program: &Program) -> usize {
    program.signatures.iter().map(|signature| signature.takes.len() + signature.gives.len()).sum()
}

/// Removes parameter or result number `left` from its signature, and so from functions and calls.
pub(super) fn remove_form(program: &mut Program, mut left: usize) {
    for number in 0..program.signatures.len() {
        let takes = program.signatures[number].takes.len();
        let gives = program.signatures[number].gives.len();
        if left >= takes + gives {
            left -= takes + gives;
            continue;
        }
        let concerned: Vec<bool> =
            program.functions.iter().map(|function| function.signature == number).collect();
        if left < takes {
            program.signatures[number].takes.remove(left);
        } else {
            program.signatures[number].gives.remove(left - takes);
        }
        for function in program.functions.iter_mut().filter(|function| function.signature == number) {
            if left < takes {
                function.takes.remove(left);
            } else {
                function.gives.remove(left - takes);
            }
        }
        for body in program.bodies_mut() {
            cut_calls(body, &concerned, left, takes);
        }
        return;
    }
}

fn cut_calls(body: &mut [Node], concerned: &[bool], left: usize, takes: usize) {
    for node in body {
        if let Node::Call(call) = node
            && call.callee.all().iter().any(|&number| concerned[number])
        {
            if left < takes {
                call.takes.remove(left);
            } else {
                call.gives.remove(left - takes);
            }
        }
        for body in node.bodies_mut() {
            cut_calls(body, concerned, left, takes);
        }
    }
}
