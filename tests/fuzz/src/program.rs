//! A kernel as a tree of statements.
//!
//! The tree knows what may be taken out of it: between any two statements, inside any body, a word at a time in a
//! [`Statement`]. What is left is well-defined whenever the whole was, which is what the [reducer](mod@crate::reduce)
//! lives on. [`Program::text`](crate::text) writes it down.

use crate::calls::{Call, Function, Signature};
use crate::launch::Shape;

/// A family of kernels: the features that the generator emphasises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// All sorts of instructions, structured control flow.
    Plain,
    /// Device functions, and lanes of a warp that act together in them.
    Calls,
    /// Irregular control flow, and lanes of a warp that act together in it.
    Flow,
}

impl Family {
    /// Every family.
    pub const ALL: [Family; 3] = [Family::Plain, Family::Calls, Family::Flow];

    /// Its name: `calls`.
    pub const fn name(self) -> &'static str {
        match self {
            Family::Plain => "plain",
            Family::Calls => "calls",
            Family::Flow => "flow",
        }
    }
}

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
    /// The mask of the lanes that are here together.
    Group,
}

impl Piece {
    /// The text; `group` is the mask of the lanes that are here.
    pub fn text<'a>(&'a self, group: &'a str) -> &'a str {
        match self {
            Piece::Group => group,
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
    /// The instructions, a line each; `group` is the mask of the lanes that are here.
    pub fn text(&self, group: &str) -> String {
        let mut text: String = self.pieces.iter().map(|piece| piece.text(group)).collect();
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

/// How the lanes that reach a choice together know of each other after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// They do not, so nothing is done together in the arms.
    Unknown,
    /// All go the same way.
    Same,
    /// A vote of all lanes says which lanes go which way.
    Told,
}

/// The operation that lanes execute together in [`Node::Meet`] and [`Node::Graph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Together {
    /// `vote.sync.ballot`
    Ballot,
    /// `vote.sync.any`
    Any,
    /// `vote.sync.all`
    All,
    /// `vote.sync.uni`
    Uni,
    /// `match.any.sync`
    Match,
    /// `redux.sync.add`
    Sum,
    /// `bar.warp.sync`
    Warp,
    /// `barrier.sync` of this number, by all threads of the CTA.
    Cta(u32),
}

/// One place where lanes do something together with others that are elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    /// The operation; the same at all places.
    pub what: Together,
    /// The word that is written.
    pub word: String,
    /// The predicate that is written.
    pub flag: String,
    /// The word that is read.
    pub from: String,
    /// The predicate that is read.
    pub vote: String,
    /// Conditions of further arms that contain the same operation. Lanes for which none holds execute it after them.
    pub arms: Vec<String>,
}

/// A node of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "a kernel has a few hundred nodes")]
pub enum Node {
    /// Instructions.
    Statement(Statement),
    /// Two arms, either may be empty.
    If {
        /// Whether the lanes in an arm know of each other.
        grouping: Grouping,
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
        /// Whether the lanes in a turn know of each other.
        grouping: Grouping,
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
        /// Whether the lanes in an arm know of each other.
        grouping: Grouping,
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
        /// The blocks. If one has a beat all have.
        blocks: Vec<GraphBlock>,
    },
    /// Two arms, of which the first may end with a jump into the second.
    Cross {
        /// Whether the lanes in the two first parts know of each other.
        grouping: Grouping,
        /// Where it holds the first arm is taken.
        condition: String,
        /// Where it holds the first arm goes on in the midst of the second.
        jump: String,
        /// The first arm.
        first: Vec<Node>,
        /// The second up to where the first may enter it.
        second: Vec<Node>,
        /// Its rest.
        shared: Vec<Node>,
    },
    /// Two places at which the lanes do the same together: some are at one of them, the others at the other.
    Meet {
        /// Whether the lanes in an arm know of each other.
        grouping: Grouping,
        /// The number of the predicate that keeps the condition.
        number: usize,
        /// The lanes for which it holds go to the first place.
        condition: String,
        /// The statements before the places.
        before: [Vec<Node>; 2],
        /// The places.
        beats: [Beat; 2],
        /// For each place a call of a function that does the same once, in the place's stead; or nothing.
        calls: [Vec<Node>; 2],
        /// The statements after them.
        after: [Vec<Node>; 2],
        /// Between the two, by all lanes.
        middle: Vec<Node>,
    },
    /// Leaves a loop around it, under a guard.
    Break(Departure),
    /// Goes on with the next turn of a loop around it, under a guard.
    Continue(Departure),
    /// Returns from the function, under a guard. Of the kernel: ends the thread, which leaves a value behind.
    Return {
        /// The guard.
        guard: String,
        /// The value.
        value: String,
    },
    /// Ends the thread, which leaves a value behind, under a guard.
    Exit {
        /// The guard.
        guard: String,
        /// The value.
        value: String,
    },
    /// Calls a function.
    Call(Box<Call>),
}

/// A way out of a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The lanes for which it holds leave.
    pub guard: String,
    /// How many loops around the innermost one are left, too.
    pub levels: usize,
    /// Whether all lanes that are together go, or none.
    pub uniform: bool,
}

/// A block of a [`Node::Graph`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphBlock {
    /// The operation at the beginning of the block, together with the lanes in other blocks.
    pub beat: Option<Beat>,
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
    /// Its family.
    pub family: Family,
    /// The statements of the kernel.
    pub body: Vec<Node>,
    /// The functions. Those with higher numbers do not call those with lower ones, except for a share of their fuel.
    pub functions: Vec<Function>,
    /// Parameters and results of the functions.
    pub signatures: Vec<Signature>,
    /// How parameters are passed: in registers, which allows several results, or else in the space of parameters.
    pub in_registers: bool,
    /// The bits of the fuel that the kernel gives to functions: how often they may call themselves.
    pub fuel: u32,
    /// Whether unguarded branches say that they are uniform, as NVIDIA's compilers have it.
    pub uniform_branches: bool,
    /// Whether the mask of all lanes is read from memory.
    pub opaque: bool,
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
            Node::Cross { first, second, shared, .. } => vec![first, second, shared],
            Node::Meet { before, calls, after, middle, .. } => {
                let [before, other_before] = before;
                let [call, other_call] = calls;
                let [after, other_after] = after;
                vec![before, call, after, middle, other_before, other_call, other_after]
            }
            _ => Vec::new(),
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
            Node::Cross { first, second, shared, .. } => vec![first, second, shared],
            Node::Meet { before, calls, after, middle, .. } => {
                let [before, other_before] = before;
                let [call, other_call] = calls;
                let [after, other_after] = after;
                vec![before, call, after, middle, other_before, other_call, other_after]
            }
            _ => Vec::new(),
        }
    }
}

impl Program {
    /// The bodies of the kernel and of all functions.
    pub fn bodies(&self) -> Vec<&Vec<Node>> {
        let functions = self.functions.iter().flat_map(|function| [&function.body, &function.after]);
        std::iter::once(&self.body).chain(functions).collect()
    }

    /// The same, to change them.
    pub fn bodies_mut(&mut self) -> Vec<&mut Vec<Node>> {
        let functions =
            self.functions.iter_mut().flat_map(|function| [&mut function.body, &mut function.after]);
        std::iter::once(&mut self.body).chain(functions).collect()
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.bodies().into_iter().map(|body| count(body)).sum()
    }
}

/// Number of nodes in a body, nested ones included.
pub fn count(body: &[Node]) -> usize {
    body.iter().map(|node| 1 + node.bodies().into_iter().map(|body| count(body)).sum::<usize>()).sum()
}

/// Whether a lane may leave a body before its end: by a `break` or `continue` of a loop around the body, or by a `return`.
/// `loops` is the number of loops around the current part of the body, within it.
pub fn leaves(body: &[Node], loops: usize) -> bool {
    body.iter().any(|node| {
        let inner = loops
            + usize::from(matches!(node, Node::Loop { .. } | Node::Graph { .. } | Node::Irreducible { .. }));
        match node {
            Node::Break(departure) | Node::Continue(departure) => departure.levels >= loops,
            Node::Return { .. } => true,
            _ => node.bodies().into_iter().any(|body| leaves(body, inner)),
        }
    })
}
