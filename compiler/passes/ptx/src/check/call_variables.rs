//! Variables in the `.param` space inside kernels. They hold the arguments and results of calls,
//! and exist since PTX 2.0. PTX 1.4 and 1.5 have lists of parameters and no such variables; before
//! that, a kernel declared its parameters in this way, and the caller of the check has made a list
//! of them.

use ptxc_syntax::ast::{Declaration, Function, FunctionKind, Space};

use super::codes::VERSION_TOO_OLD;
use super::env::PtxVersion;
use crate::diagnostic::Diagnostic;

/// The first version with variables in the `.param` space.
const CALL_VARIABLES: PtxVersion = PtxVersion(2, 0);

/// Checks a declaration in the body of a function.
pub(super) fn check(
    function: &Function,
    declaration: &Declaration,
    version: PtxVersion,
    out: &mut Vec<Diagnostic>,
) {
    let is_new = declaration.specifiers.space == Space::Param && version < CALL_VARIABLES;
    if !is_new || function.kind != FunctionKind::Entry {
        return;
    }
    let message = format!("a `.param` variable in the body of a kernel needs PTX {CALL_VARIABLES} or later");
    out.push(
        Diagnostic::error(VERSION_TOO_OLD, declaration.id, message)
            .label(format!("the module has `.version {version}`"))
            .help(format!("declare it in the parameter list of `{}`", function.name.name)),
    );
}
