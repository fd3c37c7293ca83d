//! Traces of timed runs, for tools that draw them.
//!
//! A trace is an [`Observer`](crate::timing::Observer): what it is told it writes down, in the format of its tool. Both
//! may listen to one run as a pair.
//!
//! ```no_run
//! use ptxc_sim::timing::{TimingOptions, run_observed};
//! use ptxc_sim::trace::Perfetto;
//! # fn traced(case: &ptxc_sim::Case, program: &ptxc_sass::Program) -> Result<(), Box<dyn std::error::Error>> {
//! let mut trace = Perfetto::new(std::fs::File::create("saxpy.json")?, program);
//! run_observed(case, program, &Default::default(), &TimingOptions::default(), &mut trace)?;
//! trace.finish()?;
//! # Ok(())
//! # }
//! ```

mod konata;
mod perfetto;

pub use konata::Konata;
pub use perfetto::Perfetto;
