//! The verifier: the invariants of a function, and their check.
//!
//! In: a function and the [`Level`] that it has reached. Out: nothing, or every place that breaks a
//! rule. These are the invariants of the IR; each is a [`Rule`], which the error names.
//!
//! Always:
//!
//! - **layout**: The layout lists existing blocks, each once, and at least one. An instruction is
//!   in only one place. Edges lead to blocks of the layout.
//! - **entry**: The first block has no predecessors. A kernel's has no parameters.
//! - **terminator**: The last instruction of each block is a terminator, and no other is.
//! - **targets**: A terminator has as many edges as its operation requires, other instructions have
//!   none.
//! - **edge**: An edge has an argument of the right type for each parameter of its target.
//! - **type**: The controlling type, the number and types of arguments and of results are those of the
//!   operation's row in [`signature`](crate::signature).
//! - **address**: An address has the type of its space: `b64` for generic and global, `b32` otherwise.
//! - **access**: An access touches 1, 2, 4 or 8 elements and at most 32 bytes; values are at least
//!   as wide as elements; loads do not release, stores do not acquire, fences and atomics are not
//!   weak. No operation writes constants or parameters, and sums that keep subnormals are of `f32`.
//! - **constant**: The bits of a constant fit into its type.
//! - **definition**: The definition stored for each result and parameter is its actual definition.
//! - **dominance**: A definition dominates each of its uses; an argument of an edge is used at the
//!   end of the edge's source. Unreachable code is free to use any value.
//! - **symbol**: Names of symbols are unique. The content of a symbol fits into it and names
//!   symbols that exist. An address is that of a symbol that exists and has the type of the
//!   symbol's space, and a `param` reads bytes of a declared parameter.
//!
//! - **call**: Names of callees are unique. The callee of a call exists and has the kind that the
//!   call requires. A call has the arguments and results of its callee, and a `ret` has the results
//!   of the function. A kernel returns nothing.
//!
//! - **flight**: Values that are [lent](crate::op) to products of a warpgroup are only for products,
//!   `settle`, `release` and parameters. An arrival comes between `lend` and a product, and a wait
//!   for the product's group before `settle` and `release`. Nothing is under way at the end of the
//!   function, or where a lent value has no name.
//!
//! By level:
//!
//! - **level**: From [`Level::Legal`] on there is no PTX `bar`, only `barrier`; a `barrier` whose
//!   name and count are both not constants has them packed. Up to `Legal` there is no `bssy`,
//!   `bsync` or `break`.
//! - **convergence** (at [`Level::Converged`]): Along every path `bssy` and `bsync` nest like
//!   brackets, each barrier from B0 to B15 open at most once; paths that meet have the same
//!   barriers open; `break` closes a barrier that is open, and those inside it. No function returns
//!   with a barrier open, but a thread may exit. The block of a `bsync` jumps to the block that its
//!   `bssy` names.
//!
//! Linear except for the dominator tree, O(edges × log blocks).

mod convergence;
mod dominance;
mod flight;
mod operations;
mod structure;

use std::fmt;

use crate::entities::{Block, Inst, Value};
use crate::function::Function;
use crate::text::print_inst;

/// How far a function has been compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Built from PTX, and simplified.
    Built,
    /// Every operation exists on the target.
    Legal,
    /// Divergent regions have their `bssy` and `bsync`.
    Converged,
}

/// An invariant; the module's documentation explains each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Rule {
    Layout,
    Entry,
    Terminator,
    Targets,
    Edge,
    Type,
    Address,
    Access,
    Constant,
    Definition,
    Dominance,
    Symbol,
    Call,
    Flight,
    Level,
    Convergence,
}

impl Rule {
    /// The name in the list of invariants.
    pub const fn name(self) -> &'static str {
        match self {
            Rule::Layout => "layout",
            Rule::Entry => "entry",
            Rule::Terminator => "terminator",
            Rule::Targets => "targets",
            Rule::Edge => "edge",
            Rule::Type => "type",
            Rule::Address => "address",
            Rule::Access => "access",
            Rule::Constant => "constant",
            Rule::Definition => "definition",
            Rule::Dominance => "dominance",
            Rule::Symbol => "symbol",
            Rule::Call => "call",
            Rule::Flight => "flight",
            Rule::Level => "level",
            Rule::Convergence => "convergence",
        }
    }
}

/// The subject of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// The function as a whole.
    Function,
    /// A block.
    Block(Block),
    /// An instruction of a block.
    Inst(Block, Inst),
    /// A value.
    Value(Value),
}

/// A place that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifierError {
    /// The place.
    pub place: Place,
    /// The rule.
    pub rule: Rule,
    /// The problem, with the instruction's text.
    pub message: String,
}

impl fmt::Display for VerifierError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rule = self.rule.name();
        match self.place {
            Place::Function => write!(f, "[{rule}] {}", self.message),
            Place::Block(block) | Place::Inst(block, _) => write!(f, "[{rule}] {block}: {}", self.message),
            Place::Value(value) => write!(f, "[{rule}] {value}: {}", self.message),
        }
    }
}

impl std::error::Error for VerifierError {}

/// Checks all invariants of a function at a level.
///
/// # Errors
/// Every place that breaks a rule. A function with a broken graph is not checked for dominance and
/// convergence.
pub fn verify(func: &Function, level: Level) -> Result<(), Vec<VerifierError>> {
    let mut report = Report { func, errors: Vec::new() };
    if structure::check(func, &mut report) {
        operations::check(func, level, &mut report);
        dominance::check(func, &mut report);
        flight::check(func, &mut report);
        if level == Level::Converged {
            convergence::check(func, &mut report);
        }
    }
    if report.errors.is_empty() { Ok(()) } else { Err(report.errors) }
}

/// The errors so far.
struct Report<'a> {
    func: &'a Function,
    errors: Vec<VerifierError>,
}

impl Report<'_> {
    fn function(&mut self, rule: Rule, message: String) {
        self.errors.push(VerifierError { place: Place::Function, rule, message });
    }

    fn block(&mut self, block: Block, rule: Rule, message: String) {
        self.errors.push(VerifierError { place: Place::Block(block), rule, message });
    }

    fn value(&mut self, value: Value, rule: Rule, message: String) {
        self.errors.push(VerifierError { place: Place::Value(value), rule, message });
    }

    fn inst(&mut self, block: Block, inst: Inst, rule: Rule, message: String) {
        let message = format!("`{}`: {message}", print_inst(self.func, inst));
        self.errors.push(VerifierError { place: Place::Inst(block, inst), rule, message });
    }
}

#[cfg(test)]
mod tests;
