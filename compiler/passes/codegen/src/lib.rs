//! The passes from SSA to machine code: selection, scheduling, allocation, layout, control codes,
//! linking.

pub mod abi;

pub mod mir;
pub mod variables;

pub mod combine;
pub mod select;

pub mod allocate;
pub mod schedule;

pub mod layout;

pub mod control;
pub mod encodable;
pub mod explain;

pub mod func_code;
pub mod link;
