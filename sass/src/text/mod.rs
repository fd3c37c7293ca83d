//! The text of instructions and programs, as NVIDIA's disassembler spells it, and the way back.
//!
//! ```
//! use ptxc_machine::Arch;
//! use ptxc_sass::text::parse_inst;
//!
//! let line = "@!P0 IMAD.IADD R5, R0.reuse, 0x1, -R2";
//! let (inst, reuse) = parse_inst(line, Arch::Sm90).unwrap();
//! assert_eq!(inst.op, ptxc_sass::Op::IMAD);
//! assert_eq!(reuse, 0b001);
//! assert_eq!(inst.to_string(), "@!P0 IMAD.IADD R5, R0, 0x1, -R2");
//! ```

mod alias;
mod attribute;
mod data;
mod data_read;
mod debug;
mod directive;
mod error;
mod float;
mod forms;
mod inst;
mod kernel;
mod line;
mod notation;
pub mod number;
mod operand;
mod parse;
mod plan;
mod program;
mod read;
pub mod source;
mod symbol;

pub use attribute::write_module_attributes;
pub use data::write_variables;
pub use debug::write_debug;
pub use error::{ErrorCode, TextError};
pub use forms::form;
pub use inst::{is_shown, push_inst, write_inst, write_loaded, write_operand};
pub use kernel::Kernel;
pub use kernel::counted_resources;
pub use notation::{Notation, NotationError};
pub use parse::{ParseError, parse_inst, parse_inst_over};
pub use program::{Style, write_program};
pub use read::{Module, ReadOptions, parse_module, parse_programs};
pub use symbol::is_name;
