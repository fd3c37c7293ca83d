//! Runs SASS programs and SSA functions on the CPU and compares what they leave in memory with what they
//! should.
//!
//! Two engines execute instructions over one model of the machine: a grid of CTAs, warps of 32 lanes that
//! diverge and meet again, CTA barriers, and the memory spaces. [`run_ssa`] executes a function of the SSA
//! IR with PTX's meaning; [`run_sass`] executes the final program with the hardware's. Given the same
//! [`Case`] both must leave the same values.
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
//! The engines are functional: an instruction takes effect before the next one starts, whatever its control
//! codes say. With [`Options::hazards`] one that its control codes let come too early sees poison instead, and the
//! report lists it: see [`hazard`]. Equal seeds give equal runs; other seeds interleave warps in other ways and fill what nobody
//! has written with other garbage.
//!
//! The rooms: [`case`] and [`report`] are the outside; `launch` says what runs, `grid` has the state of
//! all threads and executes one instruction, `interleave` decides whose turn it is, `warp` keeps control flow,
//! `barrier` counts threads, [`memory`] has their data, `access` says which of it an instruction touches;
//! `engine` is what `ssa` and `sass` have in common, who know instructions.

mod access;
mod asynchronous;
mod barrier;
pub mod case;
mod cluster;
mod collective;
mod copies;
mod cta;
mod engine;
mod error;
mod generic_atomic;
mod grid;
pub mod hazard;
mod interleave;
mod launch;
mod mbarrier;
pub mod memory;
mod module;
mod phase;
mod printed;
mod printf;
mod random;
pub mod report;
mod sass;
mod shuffle;
mod space;
mod ssa;
pub mod timing;
pub mod trace;
mod warp;

pub use case::Case;
pub use error::{SimError, Thread, Waiting};
pub use hazard::Hazard;
pub use launch::Options;
pub use report::Report;
pub use sass::{Executed, UNSUPPORTED, run_sass, run_sass_observed};
pub use ssa::run_ssa;
