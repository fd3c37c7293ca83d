//! Runs SASS programs and SSA functions on the CPU and compares the content that they leave in
//! memory with the expected content.
//!
//! Two engines execute instructions on one model of the machine: a grid of CTAs, warps of 32 lanes
//! that diverge and reconverge, CTA barriers, and the memory spaces. [`run_ssa`] executes a
//! function of the SSA IR with the semantics of PTX; [`run_sass`] executes the final program with
//! the semantics of the hardware. For the same [`Case`] both must leave the same values.
//!
//! ```no_run
//! use ptxc_sim::{Case, Options, run_ssa};
//! # fn lower(_: &ptxc_sim::Case) -> ptxc_ir::Function { unreachable!() }
//! let case = Case::load("corpus/exec/saxpy.json")?;
//! let report = run_ssa(&case, &lower(&case), &[], &Options::default())?;
//! println!("{report}");
//! assert!(report.passed());
//! # Ok::<(), ptxc_sim::SimError>(())
//! ```
//!
//! The engines are functional: an instruction takes effect before the next one starts, whatever its
//! control codes. With [`Options::hazards`], an instruction that reads a result earlier than the
//! control codes allow sees a random value instead, and the report lists it: see [`hazard`]. Equal
//! seeds give equal runs; other seeds interleave warps differently and fill unwritten places with
//! other values.
//!
//! The modules: [`case`] and [`report`] are the interface. `launch` has the options of a run,
//! `grid` has the state of all threads and executes one instruction, `interleave` decides which
//! warp executes next, `warp` keeps the control flow, `barrier` counts threads, [`memory`] has the
//! data, `access` records which data an instruction touches, and `checks` finds reads of unwritten
//! memory and races. `engine` is the common part of
//! `ssa` and `sass`, which execute instructions.

mod access;
mod asynchronous;
mod barrier;
pub mod case;
mod checks;
mod cluster;
mod collective;
mod copies;
mod cta;
mod element_update;
mod engine;
mod error;
mod generic_atomic;
mod grid;
pub mod hazard;
mod heap;
pub mod images;
mod integer_update;
mod interleave;
mod launch;
mod matrix;
mod mbarrier;
pub mod memory;
mod module;
mod phase;
mod printed;
mod printf;
mod products;
mod random;
pub mod report;
mod sass;
mod services;
mod shuffle;
mod signal;
mod space;
mod ssa;
mod tensor_copy;
pub mod tensor_map;
mod thread;
pub mod timing;
pub mod trace;
mod unwritten;
mod warp;
mod warpgroup;

pub use case::Case;
pub use checks::{Finding, FindingKind, Role, Side};
pub use error::{SimError, Thread, Waiting};
pub use hazard::Hazard;
pub use launch::Options;
pub use report::Report;
pub use sass::{Executed, UNSUPPORTED, run_sass, run_sass_observed};
pub use ssa::{guessed_loads, run_ssa};
