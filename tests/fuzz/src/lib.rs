//! Random kernels compute the same results before and after the compiler.
//!
//! In: a seed. It determines a [`Trial`]: a well-defined kernel, a launch, and the options to
//! compile and run the kernel. The SSA form as built from the kernel's text is executed as the
//! reference. The simplified SSA and the final SASS must leave every byte of memory the same,
//! without a fault, a deadlock, a hazard, or a finding of one of the compiler's checks. A trial
//! that fails is reduced to the smallest one that still fails in the same way.
//!
//! ```
//! use ptxc_fuzz::program::Family;
//! use ptxc_fuzz::{Trial, reduce};
//! let trial = Trial::new(Family::Plain, 1);
//! assert!(trial.text().contains(".visible .entry fuzz("));
//! if let Err(failure) = trial.run() {
//!     let (small, failure) = reduce(trial, failure, &mut Trial::run);
//!     panic!("{failure}\n{}\n{}", small.conditions(), small.text());
//! }
//! ```
//!
//! The modules: [`generate`] makes the tree of [`program`] from [`template`]s, [`text`] writes it
//! as PTX, [`launch`] has the launches, [`execute`] compares, [`reduce`](mod@reduce) makes failing
//! trials smaller, and [`campaign`] tries many seeds on many threads.

pub mod campaign;
mod counting;
pub mod execute;
pub mod generate;
mod images;
pub mod launch;
pub mod program;
pub mod random;
pub mod reduce;
mod regions;
mod shape;
pub mod template;
pub mod text;
mod trial;

pub use reduce::reduce;
pub use trial::Trial;
