//! The order of the passes of ptxc, as data, and the runner that takes a function through them.
//!
//! [`PASSES`] lists every pass with its stage, its optimization level, its function and the
//! analyses that it needs. [`run`] takes a [`Form`] of a function through a [`Span`] of that list.
//! The compiler's queries, `ptxc opt`, the options that print, time or stop passes, the runtime
//! routines and the library all call it, so the order exists once.
//!
//! The passes themselves live in crates by stage: [`ptxc_ptx`], [`ptxc_ssa`] and [`ptxc_codegen`].
//!
//! ```
//! use ptxc_ir::text::parse_function;
//! use ptxc_passes::{CodeSettings, Context, Form, Silent, Span, run};
//!
//! let text = "func @f entry {\nblock0:\n    v0 = const.b32 1\n    v1 = iadd.b32 v0, v0\n    exit\n}\n";
//! let form = Form::from(parse_function(text).expect("it is a function"));
//! let settings = CodeSettings::default();
//! let form = run(form, Span::SSA, &mut Context::new(&settings), &mut Silent).expect("it compiles");
//! assert!(!form.to_string().contains("iadd"), "nothing reads the sum");
//! ```

mod analysis;
mod build;
mod context;
mod existence;
mod form;
mod halt;
mod limits;
mod missing;
mod module;
mod order;
mod register_limit;
mod routines;
mod run;
mod settings;
mod steps;

pub use analysis::Analysis;
pub use build::build;
pub use context::Context;
pub use form::{Form, Stage};
pub use halt::{HAZARD, Halt, ILLEGAL_ORDER, INTERNAL, WRONG_ALLOCATION, name_unsupported};
pub use missing::{Missing, missing};
pub use module::{Failure, Module};
pub use order::{PASSES, Pass, Span, Step, UnknownPass};
pub use register_limit::{TOO_FEW_REGISTERS, register_limit};
pub use routines::routine_machine;
pub use run::{Observer, Silent, run, run_pass};
pub use settings::{CodeSettings, TARGETS};
pub use steps::{TOO_MUCH_SHARED, UNSUPPORTED_ARCH};
