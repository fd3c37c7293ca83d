//! Diagnostics as data: the error, its place, the rule, and the fix.
//!
//! Places are [`NodeId`]s of the function's syntax tree, not byte offsets. A diagnostic, and every
//! query result that contains one, therefore stays equal when comments or spaces move the text. The
//! driver turns nodes into spans when it prints. [`ptxc_ir::SourceLoc`] numbers are nodes of the
//! same tree.
//!
//! | codes | content | source |
//! |---|---|---|
//! | E0001–E0099 | syntax | `ptxc_syntax::codes` |
//! | E0100–E0199 | forms of instructions | [`check`](crate::check) |
//! | E0200–E0299 | names and types | [`check`](crate::check) |
//! | E0300–E0399 | behaviour of a function, warnings | [`barriers`](crate::barriers), [`flow`](crate::flow) |
//! | E0900–E0999 | correct, but not compiled: not supported yet, or too large for the machine | the passes after SSA is built |

use ptxc_ir::SourceLoc;
use ptxc_syntax::NodeId;
pub use ptxc_syntax::codes::Code;

/// Correct PTX that can't be lowered yet.
pub const UNSUPPORTED: Code = Code(900);

/// The kernel's static shared memory is larger than a CTA may have.
pub const TOO_MUCH_SHARED: Code = Code(904);

/// The severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// No code is written.
    Error,
    /// The code is written, but is probably not what its author wants.
    Warning,
    /// The code is written and correct; the note adds information.
    Note,
}

/// A place with a label.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Label {
    /// The node of the function's syntax tree.
    pub node: NodeId,
    /// The text of the label; may be empty.
    pub message: String,
}

/// One finding in a function.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Diagnostic {
    /// The code of the broken rule.
    pub code: Code,
    /// The severity.
    pub severity: Severity,
    /// One sentence without a full stop: the error.
    pub message: String,
    /// The place, with what was found there.
    pub primary: Label,
    /// Other relevant places.
    pub secondary: Vec<Label>,
    /// The rule, and its source.
    pub notes: Vec<String>,
    /// The fix.
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
