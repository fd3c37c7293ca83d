//! The code of one function, and the facts about it that its callers need.

use std::collections::BTreeMap;
use std::sync::Arc;

use ptxc_sass::Program;

use crate::explain::Explain;
use crate::mir::RegSet;

/// A finished function: a kernel with its callees, or a device function or routine alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FuncCode {
    /// The program.
    pub program: Program,
    /// The reasons for each instruction's control field.
    pub explain: Explain,
    /// The facts about a device function or routine that its callers need; a kernel has none.
    pub summary: Option<Summary>,
}

/// Compiled functions by symbol: the callees of a function, their callees, and so on.
pub type Callees = BTreeMap<String, Arc<FuncCode>>;

/// The facts about functions that callers need, by symbol.
pub type Summaries = BTreeMap<String, Summary>;

/// The summaries of compiled functions.
pub fn summaries(callees: &Callees) -> Summaries {
    callees.iter().filter_map(|(symbol, code)| Some((symbol.clone(), code.summary?))).collect()
}

/// The facts about a compiled function, including its callees, that a caller needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The registers that it may write.
    pub clobbers: RegSet,
    /// Bytes of local memory that it needs below the stack pointer.
    pub stack: u32,
    /// Whether it may need more, because it may call itself or an unknown function.
    pub open_stack: bool,
    /// Whether lanes that call it together return together.
    pub returns_together: bool,
}
