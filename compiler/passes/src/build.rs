//! The first step: a function of the syntax tree becomes SSA.

use ptxc_ir::verify::Level;
use ptxc_ptx::build_ssa::{self, Built};
use ptxc_ptx::check::env::ModuleEnv;
use ptxc_ptx::check::resolved::Resolved;
use ptxc_syntax::ast;

use crate::Halt;
use crate::run::verified_ssa;

/// The SSA form of a function as it was written. `resolved` holds what the check of the same
/// function found about its names.
///
/// # Errors
/// Every construct that has no SSA form yet.
pub fn build(function: &ast::Function, env: &ModuleEnv, resolved: &Resolved) -> Result<Built, Halt> {
    let built = build_ssa::build(function, env, resolved)?;
    if cfg!(debug_assertions) {
        verified_ssa("build-ssa", &built.function, Level::Built)?;
    }
    Ok(built)
}
