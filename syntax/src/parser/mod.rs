//! PTX text to a syntax tree, by recursive descent with one token of lookahead.
//!
//! A parse always gives a tree. Text that does not fit is reported once and skipped, up to the next
//! `;`, the end of its scope, or a line that clearly starts a statement; then parsing continues. A
//! mistake therefore costs one error and at most its own statement. The time is linear in the
//! length of the text, and no recursion is deeper than
//! [`MAX_EXPRESSION_HEIGHT`](crate::ast::expression::MAX_EXPRESSION_HEIGHT).
//!
//! Files: `cursor` reads tokens and reports errors, `literal` reads numbers; `expression`,
//! `operand`, `declaration`, `body`, `section` and `function` parse what their names say; `plain`
//! is a faster path for most statements, and `module` connects them to the splitter.

mod body;
mod cursor;
mod declaration;
mod expression;
mod function;
mod literal;
mod module;
mod operand;
mod plain;
mod section;

pub use function::{parse_function, parse_signature};
pub use module::{item_errors, parse_item, parse_module};
