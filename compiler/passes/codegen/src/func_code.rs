//! The code of one function, and the facts about it that its callers need.

use std::collections::BTreeMap;
use std::sync::Arc;

use ptxc_sass::Program;

use crate::explain::Explain;
use crate::mir::RegSet;

/// A finished function: a kernel with what it calls, or a device function or routine alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FuncCode {
    /// The program.
    pub program: Program,
    /// What forced each instruction's control field.
    pub explain: Explain,
    /// What a caller has to know of a device function or routine; a kernel has none.
    pub summary: Option<Summary>,
}

/// Compiled functions by symbol: those that a function calls, those that they call, and so on.
pub type Callees = BTreeMap<String, Arc<FuncCode>>;

/// What callers know of functions, by symbol.
pub type Summaries = BTreeMap<String, Summary>;

/// The summaries of compiled functions.
pub fn summaries(callees: &Callees) -> Summaries {
    callees.iter().filter_map(|(symbol, code)| Some((symbol.clone(), code.summary?))).collect()
}

/// What a caller must know of a compiled function, with all that it calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The registers that it may write.
    pub clobbers: RegSet,
    /// Bytes of local memory that it needs below the stack pointer.
    pub stack: u32,
    /// Whether it may need more, as it may call itself or what is not known.
    pub open_stack: bool,
}
