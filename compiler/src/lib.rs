//! The incremental compiler from PTX to SASS.
//!
//! This page covers what most users need; each example runs. The crates of the pipeline are
//! re-exported as [`syntax`], [`ir`], [`passes`], [`ptx`], [`ssa`], [`codegen`], [`machine`],
//! [`sass`] and [`object`].
//!
//! # Compile a string and walk the result
//!
//! ```
//! use ptxc_compiler::sass::blocks::{blocks, static_cycles};
//! use ptxc_compiler::{Settings, compile};
//!
//! let text = "
//! .version 9.0
//! .target sm_90
//! .entry scale(.param .u64 p) {
//!     .reg .b64 %rd<3>;
//!     .reg .f32 %f<3>;
//!     ld.param.u64 %rd1, [p];
//!     ld.global.f32 %f1, [%rd1];
//!     mul.f32 %f2, %f1, 0f40000000;
//!     st.global.f32 [%rd1], %f2;
//!     ret;
//! }";
//! let compiled = compile(text, Settings::default()).unwrap();
//! println!("{compiled}");
//!
//! let program = &compiled.kernels[0].program;
//! let waits = program.insts.iter().filter(|coded| coded.control.wait_mask != 0).count();
//! assert!(waits >= 2, "the product waits for the load, and the load for the address");
//!
//! // The figure of merit: the cycles of a warp that waits for no data, of each block and of the whole, by frequency.
//! let blocks = blocks(program);
//! assert_eq!(blocks.len(), static_cycles(program, &blocks).len());
//! println!("{} cycles, {} registers", program.static_cycles(), program.resources.registers);
//! ```
//!
//! [`Compiled::cubin`] gives the same code as bytes that the driver loads.
//!
//! # Edit a file and recompile the affected functions
//!
//! ```
//! use ptxc_compiler::{Session, Settings};
//!
//! let text = ".version 9.0\n.target sm_90\n.entry a() { ret; }\n.entry b() { ret; }\n";
//! let mut session = Session::new("k.ptx", text, Settings::default());
//! session.update()?;
//! let at = text.find("ret").unwrap();
//! session.edit(at..at, "bar.sync 0; ");
//! assert_eq!(session.update()?.lowered, ["a"]);
//! # Ok::<(), ptxc_compiler::Interrupted>(())
//! ```
//!
//! # Run one pass
//!
//! Passes are functions from one form to the next; [`passes::PASSES`] has their order.
//!
//! ```
//! use ptxc_compiler::ir::text::parse_function;
//! use ptxc_compiler::ssa::simplify::{Effort, simplify};
//!
//! let mut function = parse_function(
//!     "func @k entry {\nblock0:\n    v0 = const.b32 0x2\n    v1 = iadd.b32 v0, v0\n    nanosleep v1\n    exit\n}\n",
//! ).unwrap();
//! simplify(&mut function, Effort::Full);
//! assert!(function.to_string().contains("const.b32 0x4"));
//! ```
//!
//! # Build a function without PTX
//!
//! [`ir::Builder`] makes SSA, which [`compile_ir`] compiles.
//!
//! ```
//! use ptxc_compiler::ir::{Builder, FunctionKind, Op, SpecialReg, Type};
//! use ptxc_compiler::machine::Arch;
//! use ptxc_compiler::{Settings, compile_ir};
//!
//! let mut builder = Builder::new("nap", FunctionKind::Entry);
//! let thread = builder.value(Op::SpecialReg(SpecialReg::TidX), Type::B32, &[]);
//! builder.inst(Op::Nanosleep, Type::B32, &[thread]);
//! builder.end(Op::Exit, &[]);
//! let code = compile_ir(builder.finish().unwrap(), Arch::Sm90, &Settings::default()).unwrap();
//! assert!(code.program.insts.iter().any(|coded| coded.inst.to_string().starts_with("NANOSLEEP")));
//! ```
//!
//! # Write a heuristic and compare it with others
//!
//! A heuristic [picks](codegen::schedule::Heuristic::pick) the next instruction among those that
//! are ready. [`compile_with`] schedules by it; the control codes make the code correct for every
//! choice.
//!
//! ```
//! use ptxc_compiler::codegen::schedule::{Cycle, Heuristic, Node, Region};
//! use ptxc_compiler::{Settings, compile_with};
//!
//! struct Oldest;
//!
//! impl Heuristic for Oldest {
//!     fn name(&self) -> &str {
//!         "oldest"
//!     }
//!
//!     fn pick(&mut self, _: &Region, ready: &[Node], _: Cycle) -> Node {
//!         ready[0]
//!     }
//! }
//!
//! let text = ".version 9.0\n.target sm_90\n.entry k() { bar.sync 0; ret; }";
//! let compiled = compile_with(text, Settings::default(), &mut Oldest).unwrap();
//! assert!(compiled.kernels[0].program.static_cycles() > 0);
//! ```
//!
//! `cargo run -p ptxc-compiler --example heuristic` runs the same heuristic as a program, and
//! `--example compare FOLDER` compares heuristics over a folder.
//!
//! # Query graph
//!
//! A [`Database`] holds files, options and all results that were computed from them; [`lower`] and
//! [`diagnostics`] query it. See [`input`], [`module`] and [`stages`] for the query graph.

mod addresses;
mod affected;
mod aliases;
mod causes;
pub mod compile;
pub mod cubin;
pub mod db;
mod declared;
mod directives;
pub mod dot;
pub mod file;
mod header;
mod images;
pub mod input;
pub mod json;
mod known;
mod locate;
pub mod module;
mod old_kernels;
pub mod output;
mod prototypes;
mod redeclared;
pub mod render;
mod sections;
pub mod session;
pub mod settings;
mod shared;
pub mod stages;
mod variables;
pub mod whole;

pub use ptxc_codegen as codegen;
pub use ptxc_interrupt::Interrupted;
pub use ptxc_ir as ir;
pub use ptxc_machine as machine;
pub use ptxc_object as object;
pub use ptxc_passes as passes;
pub use ptxc_ptx as ptx;
pub use ptxc_sass as sass;
pub use ptxc_ssa as ssa;
pub use ptxc_syntax as syntax;

pub use compile::{Compiled, compile, compile_ir, compile_with};
pub use db::{Database, Db};
pub use file::{Change, File};
pub use input::{Options, SourceFile};
pub use output::{compile_function, compile_in_parallel, diagnostics, lower, ssa_diagnostics};
pub use render::Located;
pub use session::{Session, Stop, Update};
pub use settings::Settings;

/// The Rust listings of the book.
#[cfg(doctest)]
mod book {
    #[doc = include_str!("../../docs/write-a-heuristic.md")]
    struct Heuristic;

    #[doc = include_str!("../../docs/tutorial-heuristics.md")]
    struct HeuristicTutorial;

    #[doc = include_str!("../../docs/tutorial-library.md")]
    struct LibraryTutorial;
}
