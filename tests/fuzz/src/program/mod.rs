//! A kernel as a tree of statements.
//!
//! The tree knows which parts can be removed: any statement, any body, a single word in a
//! [`Statement`]. If the whole kernel is well-defined, so is the rest, and the
//! [reducer](mod@crate::reduce) relies on this. [`Program::text`](crate::text) writes the tree as
//! PTX.

pub mod calls;

use calls::{Call, Function, Signature};

use crate::shape::Shape;

/// A family of kernels, by the features that the generator emphasizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// All sorts of instructions, structured control flow.
    Plain,
    /// Device functions, and lanes of a warp that act together in them.
    Calls,
    /// Irregular control flow, and lanes of a warp that act together in it.
    Flow,
    /// Instructions on parts of registers: video instructions, halves, bytes, bit fields.
    Packed,
    /// Parameters by address, and accesses to parameters that overlap.
    Parameters,
    /// Texts, the heap and assertions: the services of the driver.
    Services,
    /// Textures and surfaces.
    Images,
    /// Products of matrices.
    Matrices,
}

impl Family {
    /// Every family.
    pub const ALL: [Family; 8] = [
        Family::Plain,
        Family::Calls,
        Family::Flow,
        Family::Packed,
        Family::Parameters,
        Family::Services,
        Family::Images,
        Family::Matrices,
    ];

    /// Its name: `calls`.
    pub const fn name(self) -> &'static str {
        match self {
            Family::Plain => "plain",
            Family::Calls => "calls",
            Family::Flow => "flow",
            Family::Packed => "packed",
            Family::Parameters => "parameters",
            Family::Services => "services",
            Family::Images => "images",
            Family::Matrices => "matrices",
        }
    }

    /// Whether lanes that act together have masks. Otherwise control flow is structured, and they
    /// act together only where control is uniform.
    pub const fn has_masks(self) -> bool {
        !matches!(self, Family::Plain | Family::Packed | Family::Images | Family::Matrices)
    }

    /// Whether it has device functions.
    pub const fn has_functions(self) -> bool {
        matches!(self, Family::Calls | Family::Parameters | Family::Services)
    }
}

/// The registers of each pool that a kernel may use as variables: prefix, type, number. `%u…` are
/// the same in all threads of a CTA, `%w…` in all threads of a warp.
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

/// The number of loops that a kernel may have: each has a counter register of its own.
pub const LOOPS: usize = 8;

/// A part of a statement's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Text that must stay as it is.
    Text(String),
    /// One of several words, and the simplest of them.
    Choice {
        /// The chosen word.
        chosen: String,
        /// Its possible replacement.
        simplest: String,
    },
    /// An operand that is read.
    Read {
        /// A register or a constant.
        operand: String,
        /// Its possible replacements: constants if the form accepts them, another register.
        simpler: Vec<String>,
    },
    /// A register that is written.
    Write(String),
    /// The mask of the current lanes.
    Group,
}

impl Piece {
    /// The text; `group` is the mask of the current lanes.
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
    /// The guard of the last instruction, such as `!%p1`: the earlier ones compute its operands.
    pub guard: Option<String>,
    /// The text.
    pub pieces: Vec<Piece>,
}

impl Statement {
    /// The instructions, one per line; `group` is the mask of the current lanes.
    pub fn text(&self, group: &str) -> String {
        let mut text: String = self.pieces.iter().map(|piece| piece.text(group)).collect();
        if let Some(guard) = &self.guard {
            let last = text.rfind('\n').map_or(0, |end| end + 1);
            text.insert_str(last, &format!("@{guard} "));
        }
        // A block ends with its brace.
        if !text.ends_with(";\n}") {
            text.push(';');
        }
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

/// Whether the lanes that reach a choice together know each other after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// They do not, so they do nothing together in the arms.
    Unknown,
    /// All go the same way.
    Same,
    /// A vote of all lanes announces the path of each lane.
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
    /// `barrier.sync` with this number, by all threads of the CTA.
    Cta(u32),
}

/// A place where lanes execute an operation together with lanes elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    /// The operation; the same at all places.
    pub what: Together,
    /// The word that it writes.
    pub word: String,
    /// The predicate that it writes.
    pub flag: String,
    /// The word that it reads.
    pub from: String,
    /// The predicate that it reads.
    pub vote: String,
    /// The conditions of further arms with the same operation. Lanes for which none holds execute
    /// it after these arms.
    pub arms: Vec<String>,
}

/// A node of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "a kernel has a few hundred nodes")]
pub enum Node {
    /// Instructions.
    Statement(Statement),
    /// Two arms; either may be empty.
    If {
        /// Whether the lanes in an arm know each other.
        grouping: Grouping,
        /// A predicate.
        condition: String,
        /// The arm for lanes where it holds.
        then: Vec<Node>,
        /// The arm for the others.
        otherwise: Vec<Node>,
    },
    /// A body for some lanes of the warp.
    Lanes {
        /// The lanes, one bit each.
        mask: u32,
        /// Their statements.
        body: Vec<Node>,
    },
    /// A loop of at most three iterations (four if it is tested at the bottom).
    Loop {
        /// Whether the lanes in an iteration know each other.
        grouping: Grouping,
        /// The number of its counter.
        counter: usize,
        /// A word that bounds it.
        bound: String,
        /// Whether it is tested at the top.
        at_top: bool,
        /// Its statements.
        body: Vec<Node>,
    },
    /// A loop with two entries and three iterations.
    Irreducible {
        /// The number of its counter.
        counter: usize,
        /// If it holds, the loop is entered in the middle.
        condition: String,
        /// The statements before the middle.
        first: Vec<Node>,
        /// The statements after the middle.
        second: Vec<Node>,
    },
    /// A choice between arms.
    Switch {
        /// Whether the lanes in an arm know each other.
        grouping: Grouping,
        /// The word that selects the arm.
        index: String,
        /// Whether it selects by `brx.idx` instead of comparisons.
        table: bool,
        /// The arms, a power of two of them, and whether each falls through to the next one.
        arms: Vec<(bool, Vec<Node>)>,
    },
    /// Blocks with arbitrary branches to each other, until a counter ends the graph.
    Graph {
        /// The number of its counter.
        counter: usize,
        /// A word that selects the first block and the targets of switches.
        selector: String,
        /// The blocks. If one has a beat, all have.
        blocks: Vec<GraphBlock>,
    },
    /// Two arms, of which the first may end with a jump into the second.
    Cross {
        /// Whether the lanes in the two first parts know each other.
        grouping: Grouping,
        /// If it holds, the first arm is taken.
        condition: String,
        /// If it holds, the first arm continues in the middle of the second.
        jump: String,
        /// The first arm.
        first: Vec<Node>,
        /// The second arm up to the place where the first may enter it.
        second: Vec<Node>,
        /// The rest of the second arm.
        shared: Vec<Node>,
    },
    /// Two places at which the lanes execute the same operation together: some lanes at one place,
    /// the others at the other.
    Meet {
        /// Whether the lanes in an arm know each other.
        grouping: Grouping,
        /// The number of the predicate that holds the condition.
        number: usize,
        /// The lanes for which it holds go to the first place.
        condition: String,
        /// The statements before the places.
        before: [Vec<Node>; 2],
        /// The places.
        beats: [Beat; 2],
        /// For each place, an optional call of a function that executes the operation once, instead
        /// of the place.
        calls: [Vec<Node>; 2],
        /// The statements after them.
        after: [Vec<Node>; 2],
        /// Statements between the two places, for all lanes.
        middle: Vec<Node>,
    },
    /// Leaves an enclosing loop, under a guard.
    Break(Departure),
    /// Continues with the next iteration of an enclosing loop, under a guard.
    Continue(Departure),
    /// Returns from the function, under a guard. In the kernel it ends the thread, which stores a
    /// value.
    Return {
        /// The guard.
        guard: String,
        /// The value.
        value: String,
    },
    /// Ends the thread, under a guard; the thread stores a value.
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
    /// The guard of the lanes that leave.
    pub guard: String,
    /// The number of loops that are left in addition to the innermost one.
    pub levels: usize,
    /// Whether all current lanes leave together, or none.
    pub uniform: bool,
}

/// A block of a [`Node::Graph`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphBlock {
    /// The operation at the start of the block, together with the lanes in other blocks.
    pub beat: Option<Beat>,
    /// Its statements.
    pub body: Vec<Node>,
    /// If this holds, it goes to the first target. Without a condition it selects among all by
    /// `brx.idx`.
    pub condition: Option<String>,
    /// The targets; a power of two of them.
    pub targets: Vec<usize>,
}

/// A kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its family.
    pub family: Family,
    /// The number of its target: 90 for `sm_90`.
    pub target: u32,
    /// The statements of the kernel.
    pub body: Vec<Node>,
    /// The functions. Those with higher numbers call those with lower numbers only for a share of
    /// their fuel.
    pub functions: Vec<Function>,
    /// Parameters and results of the functions.
    pub signatures: Vec<Signature>,
    /// The way to pass parameters: in registers, which allows several results, or else in parameter
    /// space.
    pub in_registers: bool,
    /// The bits of the fuel that the kernel gives to functions: a limit on recursive calls.
    pub fuel: u32,
    /// Whether unguarded branches are marked as uniform, as NVIDIA's compilers do.
    pub uniform_branches: bool,
    /// Whether the mask of all lanes is read from memory.
    pub opaque: bool,
    /// The registers that the kernel stores at the end, by pool and number.
    pub shown: Vec<(usize, usize)>,
    /// The initial values of registers, pool by pool.
    pub starts: Vec<Vec<String>>,
    /// Performance directives of the entry.
    pub directives: Vec<String>,
    /// The launch.
    pub shape: Shape,
    /// Whether products and sums may be fused without a modifier, so that the compiler must be told
    /// not to.
    pub contracts: bool,
    /// Whether it uses functions whose results are only known within bounds.
    pub approximates: bool,
    /// Whether ptxas is known to deviate from the PTX ISA in it.
    pub disputed: bool,
}

impl Node {
    /// The bodies inside it.
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

    /// The bodies inside it, mutably.
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

    /// The same, mutably.
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

/// The number of nodes in a body, including nested ones.
pub fn count(body: &[Node]) -> usize {
    body.iter().map(|node| 1 + node.bodies().into_iter().map(|body| count(body)).sum::<usize>()).sum()
}

/// Whether a lane may leave a body before its end: by a `break` or `continue` of a loop around the
/// body, or by a `return`. `loops` is the number of loops inside the body around the current part.
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
