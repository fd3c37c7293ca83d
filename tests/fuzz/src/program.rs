//! A kernel as a tree of statements.
//!
//! The tree knows what may be taken out of it: between any two statements, inside any body, a word at a time in a
//! [`Statement`]. What is left is well-defined whenever the whole was, which is what the [reducer](mod@crate::reduce)
//! lives on. [`Program::text`](crate::text) writes it down.

use crate::launch::Shape;

/// Registers of each pool that a kernel may use as variables: prefix, type, number. `%u…` are the same in all threads of a
/// CTA, `%w…` in all threads of a warp.
pub const POOLS: &[(&str, &str, usize)] = &[
    ("%r", ".b32", 6),
    ("%ur", ".b32", 3),
    ("%wr", ".b32", 3),
    ("%d", ".b64", 4),
    ("%ud", ".b64", 2),
    ("%wd", ".b64", 1),
    ("%h", ".b16", 4),
    ("%uh", ".b16", 1),
    ("%wh", ".b16", 1),
    ("%f", ".f32", 4),
    ("%e", ".f64", 3),
    ("%p", ".pred", 4),
    ("%up", ".pred", 2),
    ("%wp", ".pred", 2),
];

/// Number of loops that a kernel may have: each counts with a register of its own.
pub const LOOPS: usize = 8;
/// Bytes that each thread has of its own in global, in shared and in local memory.
pub const OWN_BYTES: u32 = 64;
/// Bytes of each thread's dump of its registers.
pub const DUMP_BYTES: u32 = 256;

/// A part of a statement's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// What has to be so.
    Text(String),
    /// One of several words, and the one that stands for the simplest of them.
    Choice {
        /// What was chosen.
        chosen: String,
        /// What may replace it.
        simplest: String,
    },
    /// An operand that is read.
    Read {
        /// A register or a constant.
        operand: String,
        /// What may replace it: constants where the form takes them, another register.
        simpler: Vec<String>,
    },
    /// A register that is written.
    Write(String),
}

impl Piece {
    /// The text.
    pub fn text(&self) -> &str {
        match self {
            Piece::Text(text) | Piece::Choice { chosen: text, .. } | Piece::Read { operand: text, .. } => {
                text
            }
            Piece::Write(register) => register,
        }
    }
}

/// Instructions that stay together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statement {
    /// The guard of the last of them, such as `!%p1`: those before it make its operands.
    pub guard: Option<String>,
    /// The text.
    pub pieces: Vec<Piece>,
}

impl Statement {
    /// The instructions, a line each.
    pub fn text(&self) -> String {
        let mut text: String = self.pieces.iter().map(Piece::text).collect();
        if let Some(guard) = &self.guard {
            let last = text.rfind('\n').map_or(0, |end| end + 1);
            text.insert_str(last, &format!("@{guard} "));
        }
        text.push(';');
        text
    }

    /// The registers that it writes.
    pub fn writes(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Write(register) => Some(register.as_str()),
            _ => None,
        })
    }
}

/// A node of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// Instructions.
    Statement(Statement),
    /// Two arms, either may be empty.
    If {
        /// A predicate.
        condition: String,
        /// Where it holds.
        then: Vec<Node>,
        /// Where it does not.
        otherwise: Vec<Node>,
    },
    /// A body for some lanes of the warp.
    Lanes {
        /// The lanes, a bit each.
        mask: u32,
        /// What they do.
        body: Vec<Node>,
    },
    /// A loop of at most three turns (four if it is tested at the bottom).
    Loop {
        /// The number of its counter.
        counter: usize,
        /// A word that bounds it.
        bound: String,
        /// Whether it is tested at the top.
        at_top: bool,
        /// What it does.
        body: Vec<Node>,
    },
    /// A loop with two entries, of three turns.
    Irreducible {
        /// The number of its counter.
        counter: usize,
        /// Where it holds the loop is entered in the middle.
        condition: String,
        /// In front of the middle.
        first: Vec<Node>,
        /// Behind it.
        second: Vec<Node>,
    },
    /// A choice between arms.
    Switch {
        /// The word that chooses.
        index: String,
        /// Whether it chooses by `brx.idx`, not by comparisons.
        table: bool,
        /// The arms, a power of two of them; whether each goes on into the next one.
        arms: Vec<(bool, Vec<Node>)>,
    },
    /// Blocks that go to one another in any way, until a counter says that it is enough.
    Graph {
        /// The number of its counter.
        counter: usize,
        /// A word that chooses the first block and the targets of switches.
        selector: String,
        /// The blocks.
        blocks: Vec<GraphBlock>,
    },
    /// Leaves the loop around it, under a guard.
    Break(String),
    /// Goes on with the next turn of the loop around it, under a guard.
    Continue(String),
    /// Ends the thread, which leaves a value behind, under a guard.
    Return {
        /// The guard.
        guard: String,
        /// The value.
        value: String,
    },
}

/// A block of a [`Node::Graph`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphBlock {
    /// What it does.
    pub body: Vec<Node>,
    /// If this holds it goes to the first target; without a condition it chooses among all by `brx.idx`.
    pub condition: Option<String>,
    /// Where it goes; a power of two.
    pub targets: Vec<usize>,
}

/// A kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The statements.
    pub body: Vec<Node>,
    /// The registers that the kernel shows in the end, by pool and number.
    pub shown: Vec<(usize, usize)>,
    /// What registers begin with, pool by pool.
    pub starts: Vec<Vec<String>>,
    /// Performance directives of the entry.
    pub directives: Vec<String>,
    /// The launch that it is for.
    pub shape: Shape,
    /// Whether products and sums may be fused without it being said, so that the compiler must be told not to.
    pub contracts: bool,
    /// Whether there are functions of which only bounds are known.
    pub approximates: bool,
    /// Whether ptxas is known to do something in it otherwise than the PTX ISA says.
    pub disputed: bool,
}

impl Node {
    /// The bodies in it.
    pub fn bodies(&self) -> Vec<&Vec<Node>> {
        match self {
            Node::If { then, otherwise, .. } => vec![then, otherwise],
            Node::Irreducible { first, second, .. } => vec![first, second],
            Node::Loop { body, .. } | Node::Lanes { body, .. } => vec![body],
            Node::Switch { arms, .. } => arms.iter().map(|(_, arm)| arm).collect(),
            Node::Graph { blocks, .. } => blocks.iter().map(|block| &block.body).collect(),
            Node::Statement(_) | Node::Break(_) | Node::Continue(_) | Node::Return { .. } => Vec::new(),
        }
    }

    /// The bodies in it, to change them.
    pub fn bodies_mut(&mut self) -> Vec<&mut Vec<Node>> {
        match self {
            Node::If { then, otherwise, .. } => vec![then, otherwise],
            Node::Irreducible { first, second, .. } => vec![first, second],
            Node::Loop { body, .. } | Node::Lanes { body, .. } => vec![body],
            Node::Switch { arms, .. } => arms.iter_mut().map(|(_, arm)| arm).collect(),
            Node::Graph { blocks, .. } => blocks.iter_mut().map(|block| &mut block.body).collect(),
            Node::Statement(_) | Node::Break(_) | Node::Continue(_) | Node::Return { .. } => Vec::new(),
        }
    }
}

/// Number of nodes in a body, nested ones included.
pub fn count(body: &[Node]) -> usize {
    body.iter().map(|node| 1 + node.bodies().into_iter().map(|body| count(body)).sum::<usize>()).sum()
}
