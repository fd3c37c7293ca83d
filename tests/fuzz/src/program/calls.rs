//! The functions of a kernel, and calls of them.
//!
//! Every function gets the address of the thread's own memory, the generic address of more of it
//! (which may be the caller's local memory), and its *fuel*. A call of a function whose number is
//! not higher must take from the fuel, so that recursion ends. A function whose lanes act together
//! gets the mask of the lanes that call it together.

use crate::program::{Beat, Node, Piece, count};

/// The type of a parameter, a result, or an element of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Type {
    /// Its declared name: `.b32`.
    pub name: &'static str,
    /// Size in bytes.
    pub bytes: u32,
    /// The class of its registers.
    pub class: char,
}

/// The types of parameters and results. Classes that have several entries are chosen more often.
pub const TYPES: &[Type] = &[
    Type { name: ".b32", bytes: 4, class: 'r' },
    Type { name: ".u32", bytes: 4, class: 'r' },
    Type { name: ".s32", bytes: 4, class: 'r' },
    Type { name: ".b64", bytes: 8, class: 'd' },
    Type { name: ".u64", bytes: 8, class: 'd' },
    Type { name: ".f32", bytes: 4, class: 'f' },
    Type { name: ".f64", bytes: 8, class: 'e' },
    Type { name: ".b16", bytes: 2, class: 'h' },
    Type { name: ".u16", bytes: 2, class: 'h' },
    Type { name: ".s16", bytes: 2, class: 'h' },
    Type { name: ".b8", bytes: 1, class: 'h' },
    Type { name: ".u8", bytes: 1, class: 'h' },
    Type { name: ".s8", bytes: 1, class: 'h' },
];

/// A parameter or result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// Alignment and size of a parameter in bytes that holds several elements; `None` is a scalar,
    /// which has one element.
    pub bytes: Option<(u32, u32)>,
    /// Offsets and types of the elements that are written.
    pub elements: Vec<(u32, Type)>,
    /// Offsets and types of the elements that are read: the same, or other parts of the bytes.
    pub reads: Vec<(u32, Type)>,
}

impl Form {
    /// A scalar.
    pub fn scalar(ty: Type) -> Form {
        Form { bytes: None, elements: vec![(0, ty)], reads: vec![(0, ty)] }
    }
}

/// The parameters and results of a function, except for those that all functions have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signature {
    /// Parameters.
    pub takes: Vec<Form>,
    /// Results; more than one only if they are passed in registers.
    pub gives: Vec<Form>,
}

/// How the lanes that call a function together act in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// They do nothing together.
    Alone,
    /// The mask names the lanes that called, and they act together.
    Group,
    /// The mask also names lanes that called other functions of this kind. Each function executes
    /// the same operation together once.
    Beat,
    /// All threads of the CTA call it together.
    Whole,
}

/// A function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// The number of its signature.
    pub signature: usize,
    /// How lanes act together in it.
    pub kind: Kind,
    /// The statements; in a [`Kind::Beat`] those before the beat.
    pub body: Vec<Node>,
    /// The place where all lanes of the mask execute the same operation together.
    pub beat: Option<Beat>,
    /// The statements after the beat.
    pub after: Vec<Node>,
    /// The initial values of registers, pool by pool.
    pub starts: Vec<Vec<String>>,
    /// For each parameter, the registers that receive its elements.
    pub takes: Vec<Vec<String>>,
    /// For each result, the registers that provide its elements.
    pub gives: Vec<Vec<String>>,
    /// A word that is stored into the first result by its address, if that has several elements:
    /// the index and the value.
    pub stirs: Option<(String, String)>,
    /// Whether there is only one return.
    pub one_return: bool,
}

/// The way to get the address of a function into a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Select {
    /// From a table in global memory.
    Global,
    /// From a table in constant memory.
    Constant,
    /// By selects between two.
    Chosen,
    /// By branches.
    Branches,
}

/// The callee of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Callee {
    /// A function.
    Direct(usize),
    /// One of several with the same signature and kind.
    Indirect {
        /// The functions, a power of two of them.
        among: Vec<usize>,
        /// The word that chooses the function.
        index: String,
        /// The way to get its address.
        select: Select,
        /// Whether the call lists all of them, not only their prototype.
        listed: bool,
    },
}

/// A call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The callee.
    pub callee: Callee,
    /// The predicate of the lanes that call.
    pub guard: Option<String>,
    /// Whether the other lanes jump around the call. Otherwise the call is guarded, unless there
    /// are results.
    pub around: bool,
    /// Whether it takes from the fuel, which is required if the callee may return to this function
    /// by recursion.
    pub deeper: bool,
    /// The generic address of the thread's own memory that is passed to the callee.
    pub near: String,
    /// The fuel that is passed to the callee.
    pub fuel: String,
    /// The arguments, element by element.
    pub takes: Vec<Vec<Piece>>,
    /// The registers that receive the results.
    pub gives: Vec<Vec<String>>,
    /// Whether it is marked as a call that all active threads make alike.
    pub uniform: bool,
}

impl Callee {
    /// All possible callees.
    pub fn all(&self) -> &[usize] {
        match self {
            Callee::Direct(function) => std::slice::from_ref(function),
            Callee::Indirect { among, .. } => among,
        }
    }
}

/// Estimates the number of instructions that a thread executes in a body with `fuel`; `of` returns
/// the cost of a function.
pub fn cost(body: &[Node], fuel: usize, of: &dyn Fn(usize, usize) -> u64) -> u64 {
    let sum = |bodies: Vec<&Vec<Node>>| bodies.into_iter().map(|body| cost(body, fuel, of)).sum::<u64>();
    body.iter()
        .map(|node| match node {
            Node::Call(call) => {
                let fuel = if call.deeper { fuel.checked_sub(1) } else { Some(fuel) };
                let callee = |fuel| call.callee.all().iter().map(move |&callee| of(callee, fuel)).max();
                20 + fuel.and_then(callee).unwrap_or(0)
            }
            Node::Loop { body, .. } => 5 + 4 * cost(body, fuel, of),
            Node::Irreducible { first, second, .. } => 5 + 3 * sum(vec![first, second]),
            Node::Graph { blocks, .. } => 60 + 10 * sum(blocks.iter().map(|block| &block.body).collect()),
            Node::Statement(_) => 3,
            _ => 4 + sum(node.bodies()),
        })
        .sum()
}

/// Estimates the cost of a kernel that gives its functions at most `fuel`.
pub fn whole_cost(body: &[Node], functions: &[Function], fuel: usize) -> u64 {
    let mut costs = vec![vec![0; functions.len()]; fuel + 1];
    for fuel in 0..=fuel {
        for number in (0..functions.len()).rev() {
            let function = &functions[number];
            let of = |callee: usize, fuel: usize| costs[fuel][callee];
            let own = cost(&function.body, fuel, &of) + cost(&function.after, fuel, &of);
            costs[fuel][number] = 10 + own;
        }
    }
    cost(body, fuel, &|callee, fuel| costs[fuel][callee])
}

/// Removes the calls from a body: those in loops, or all.
pub fn without_calls(body: &mut Vec<Node>, in_loop: bool) {
    body.retain(|node| !(in_loop && matches!(node, Node::Call(_))));
    for node in body {
        let looped = matches!(node, Node::Loop { .. } | Node::Graph { .. } | Node::Irreducible { .. });
        node.bodies_mut().into_iter().for_each(|body| without_calls(body, in_loop || looped));
    }
}

/// Whether a body contains calls.
pub fn has_calls(body: &[Node]) -> bool {
    body.iter()
        .any(|node| matches!(node, Node::Call(_)) || node.bodies().into_iter().any(|body| has_calls(body)))
}

/// Number of nodes of a function.
pub fn size(function: &Function) -> usize {
    count(&function.body) + count(&function.after)
}
