//! Parses PTX text to a syntax tree, and prints it.
//!
//! The crate covers the whole grammar of PTX up to version 9.5, but not its meaning: any
//! instruction parses, as a guard, a mnemonic with modifiers, and operands. This crate does not
//! depend on a target or an incremental database.
//!
//! ```
//! use ptxc_syntax::ast::{Item, OperandKind, StatementKind};
//!
//! let text = "
//! .version 9.0
//! .target sm_90
//! .entry scale(.param .u64 x)
//! {
//!     @%p1 ld.global.f32 %f1, [%rd1+-4];   // before x
//! }";
//! let parsed = ptxc_syntax::parse_module(text);
//! assert!(parsed.errors.is_empty());
//!
//! let Item::Function(kernel) = &parsed.value.items[2] else { panic!() };
//! let statement = &kernel.body.as_ref().unwrap()[0];
//! let StatementKind::Instruction(load) = &statement.kind else { panic!() };
//! assert_eq!(load.opcode.mnemonic(), "ld");
//! assert!(load.opcode.has("global"));
//! assert_eq!(load.guard.as_ref().unwrap().register, "%p1");
//! let OperandKind::Address(address) = &load.operands[1].kind else { panic!() };
//! assert_eq!(address.to_string(), "[%rd1+-4]");
//! assert_eq!(&text[parsed.spans.get(2, load.operands[1].id).range()], "[%rd1+-4]");
//! ```
//!
//! # Functions
//!
//! | step | function | out |
//! |---|---|---|
//! | split a file into items, without parsing | [`items::split`] | kinds, names, byte ranges |
//! | parse one item | [`parse_item`], [`parse_function`], [`parse_signature`] | a tree, its spans, errors |
//! | parse a file | [`parse_module`] | all items |
//! | look only for errors | [`item_errors`] | errors |
//! | find the lines that a preprocessor renumbers | [`line_markers`] | a [`LineMarker`] for each |
//! | compare texts as a parser sees them | [`same_but_layout`] | whether an edit changes the tree |
//! | evaluate a constant expression | [`ast::Expr::evaluate`](const_eval) | a [`const_eval::Constant`] |
//! | print | [`print_module`], [`print_function`], `Display` of every part | canonical text |
//!
//! A parse never fails: it returns the parts that it understood, and a [`SyntaxError`] for each
//! mistake, at most one for each statement. Trees hold no positions, so that `==` ignores layout; a
//! separate [`SpanMap`] holds them, relative to the item. Printing and parsing again gives an equal
//! tree.
//!
//! Everything is linear in the length of the text, and no text exhausts the stack: blocks are a flat list of
//! statements, and expressions have a limited height. A file of 20 MB takes less than a second.

mod error;
mod layout;
mod lexer;
mod name;
mod parser;
mod print;
mod search;
mod span;

pub mod ast;
pub mod codes;
pub mod const_eval;
pub mod items;

pub use error::{Parsed, SyntaxError};
pub use layout::same_but_layout;
pub use lexer::{LineMarker, line_markers, tokens};
pub use name::Name;
pub use parser::{item_errors, parse_function, parse_item, parse_module, parse_signature};
pub use print::{print_function, print_module};
pub use span::{ModuleSpans, NodeId, Span, SpanMap};
