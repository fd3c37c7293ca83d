//! Diagnostics as data: what is wrong, where, which rule says so, and what would help.
//!
//! Places are [`NodeId`]s of the function's syntax tree, not byte offsets: a diagnostic, and every query
//! result that contains one, stays equal when comments or spaces move the text around. The driver turns
//! nodes into spans when it prints. [`ptxc_ir::SourceLoc`] numbers are nodes of the same tree.
//!
//! | codes | what | where |
//! |---|---|---|
//! | E0001–E0099 | syntax | `ptxc_syntax::codes` |
//! | E0100–E0199 | what an instruction may look like | [`check`](crate::check) |
//! | E0200–E0299 | names and types | [`check`](crate::check) |
//! | E0300–E0399 | what a function does, warnings | [`barriers`](crate::barriers) |
//! | E0900–E0999 | correct, but not compiled: not supported yet, or too large for the machine | the passes after SSA is built |

use ptxc_ir::SourceLoc;
use ptxc_syntax::NodeId;
pub use ptxc_syntax::codes::Code;

/// What is correct PTX, but can't be lowered yet.
pub const UNSUPPORTED: Code = Code(900);

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing is written.
    Error,
    /// The code is written all the same, but is not what its author is likely to want.
    Warning,
    /// The code is written and right; there is something to know about it.
    Note,
}

/// A place with a remark.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Label {
    /// The node of the function's syntax tree.
    pub node: NodeId,
    /// What is to be said about it; may be empty.
    pub message: String,
}

/// One finding in a function.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Diagnostic {
    /// Which rule is broken.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// One sentence without a final stop: what was expected.
    pub message: String,
    /// The place, with what is there.
    pub primary: Label,
    /// Other places that matter.
    pub secondary: Vec<Label>,
    /// The rule, and where it comes from.
    pub notes: Vec<String>,
    /// What would repair it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at a node.
    pub fn error(code: Code, node: NodeId, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code,
            severity: Severity::Error,
            message: message.into(),
            primary: Label { node, message: String::new() },
            secondary: Vec::new(),
            notes: Vec::new(),
            help: None,
        }
    }

    /// A warning at a node.
    pub fn warning(code: Code, node: NodeId, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, node, message) }
    }

    /// A note at a node.
    pub fn remark(code: Code, node: NodeId, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Note, ..Diagnostic::error(code, node, message) }
    }

    /// An instruction that is correct but can't be lowered yet; `what` names it as written.
    pub fn unsupported(node: NodeId, what: impl std::fmt::Display) -> Diagnostic {
        Diagnostic::error(UNSUPPORTED, node, format!("{what} is not supported yet"))
    }

    /// The same with a remark at the place.
    pub fn label(mut self, message: impl Into<String>) -> Diagnostic {
        self.primary.message = message.into();
        self
    }

    /// The same with another place.
    pub fn also(mut self, node: NodeId, message: impl Into<String>) -> Diagnostic {
        self.secondary.push(Label { node, message: message.into() });
        self
    }

    /// The same with a note.
    pub fn note(mut self, note: impl Into<String>) -> Diagnostic {
        self.notes.push(note.into());
        self
    }

    /// The same with a help.
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }
}

/// The source location of what a node became.
pub fn source_loc(node: NodeId) -> SourceLoc {
    SourceLoc(node.0)
}

/// The node that an instruction came from, if it came from one.
pub fn source_node(loc: SourceLoc) -> Option<NodeId> {
    (loc != SourceLoc::NONE).then_some(NodeId(loc.0))
}
