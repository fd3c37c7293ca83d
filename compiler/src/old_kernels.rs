//! Kernels of PTX before 1.4, which declare their parameters in their bodies.
//!
//! ```text
//! .entry k                     .entry k (.param .u64 out)
//! {                            {
//!     .param .u64 out;    =>
//!     …                            …
//! }                            }
//! ```
//!
//! Lists of parameters exist since PTX 1.4, and variables in `.param` for calls since PTX 2.0. In
//! between, a kernel has no such declaration.

use ptxc_ptx::check::env::PtxVersion;
use ptxc_syntax::ast::{Declaration, Function, FunctionKind, Parameter, Space, StatementKind};

/// The first version with lists of parameters.
pub(crate) const PARAMETER_LISTS: PtxVersion = PtxVersion(1, 4);

/// Whether a kernel without a list of parameters declares variables in the `.param` space outside
/// of inner blocks.
pub(crate) fn declares_parameters(function: &Function) -> bool {
    if function.kind != FunctionKind::Entry || !function.parameters.is_empty() {
        return false;
    }
    let mut depth = 0usize;
    function.body.iter().flatten().any(|statement| declared_at(&mut depth, &statement.kind).is_some())
}

/// Makes a list of the parameters that the body of a kernel declares.
pub(crate) fn list_parameters(function: &mut Function) {
    let Some(body) = &mut function.body else { return };
    let (mut depth, mut found) = (0usize, Vec::new());
    body.retain(|statement| {
        let Some(declaration) = declared_at(&mut depth, &statement.kind) else { return true };
        found.extend(declaration.declarators.iter().map(|declarator| Parameter {
            hidden: false,
            id: declarator.name.id,
            specifiers: declaration.specifiers.clone(),
            name: declarator.name.name.clone(),
            dimensions: declarator.dimensions.clone(),
        }));
        false
    });
    function.parameters = found;
}

/// The declaration of parameters that a statement is. `depth` is the number of blocks around the
/// statement, and then around the next one.
fn declared_at<'a>(depth: &mut usize, statement: &'a StatementKind) -> Option<&'a Declaration> {
    match statement {
        StatementKind::Open => *depth += 1,
        StatementKind::Close => *depth = depth.saturating_sub(1),
        StatementKind::Declaration(declaration) if *depth == 0 => {
            let is_plain = declaration
                .declarators
                .iter()
                .all(|declarator| declarator.range.is_none() && declarator.initialiser.is_none());
            return (declaration.specifiers.space == Space::Param && is_plain).then_some(declaration);
        }
        _ => {}
    }
    None
}
