//! PTX text to and from a syntax tree.
mod error;
mod lexer;
mod name;
mod parser;
mod span;

pub mod ast;
pub mod codes;
pub mod items;

pub use error::{Parsed, SyntaxError};
pub use name::Name;
pub use parser::{parse_function, parse_item, parse_module, parse_signature};
pub use span::{ModuleSpans, NodeId, Span, SpanMap};
