//! The passes of ptxc: pure functions over PTX syntax, SSA IR and machine IR.
//!
//! One file or folder a pass, in the order in which a kernel travels through them. A pass knows neither
//! the incremental database nor files.

pub mod diagnostic;
pub mod interrupt;

pub mod check;
pub mod flow;
pub mod split_notes;

pub mod analyses;
pub mod build_ssa;
pub mod simplify;

pub mod frequency;
pub mod together;
pub mod uniformity;

pub mod barriers;

pub mod abi;
pub mod runtime;

pub mod converge;
pub mod gather;
pub mod legalize;

pub mod mir;

pub mod combine;
pub mod select;

pub mod allocate;
pub mod schedule;

pub mod layout;

pub mod control;
pub mod encodable;

pub mod limits;
pub mod link;

pub mod pipeline;
pub mod register_limit;
