//! PTX text to and from a syntax tree.
mod error;
mod lexer;
mod name;
mod parser;
mod print;
mod span;

pub mod ast;
pub mod codes;
pub mod const_eval;
pub mod items;

pub use error::{Parsed, SyntaxError};
pub use name::Name;
pub use parser::{parse_function, parse_item, parse_module, parse_signature};
pub use print::{print_function, print_module};
pub use span::{ModuleSpans, NodeId, Span, SpanMap};
