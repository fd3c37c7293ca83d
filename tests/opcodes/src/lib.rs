//! PTX from which ptxas makes every opcode and form.
//!
//! In: only the tables in `tables/`, a text file for each family of instructions. They have some
//! hundred templates, which expand to some thousand instructions on operands of every kind: loaded,
//! from parameters, computed on the uniform datapath, immediate, from constant memory. Out:
//! modules, each a kernel with some dozens of these instructions. Their results are stored, so that
//! no assembler may drop them. The code is for inspection, not for execution.
//!
//! ```
//! use ptxc_opcodes::{FAMILIES, Target, modules};
//! let family = FAMILIES.iter().find(|family| family.name == "bulk").unwrap();
//! assert!(modules(family, Target::Sm80).unwrap().is_empty());
//! let made = modules(family, Target::Sm90).unwrap();
//! assert!(made.iter().any(|module| module.text.contains("cp.async.bulk.tensor.5d")));
//! ```
//!
//! The modules: [`template`] is the language of the tables, [`table`] reads them, [`kernel`] puts
//! instructions into a kernel, [`module`](mod@module) divides them among modules, and [`oracle`]
//! compiles a module and finds the steps that ptxas refuses.

pub mod kernel;
pub mod module;
pub mod oracle;
pub mod table;
pub mod target;
pub mod template;

pub use module::{Module, modules};
pub use oracle::Oracle;
pub use table::{FAMILIES, Family};
pub use target::Target;
