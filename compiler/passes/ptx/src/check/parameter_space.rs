//! The limit on the size of a kernel's parameters, which lie in a constant bank; PTX 8.1 raised it.

use ptxc_syntax::ast::{Function, FunctionKind};

use super::codes::BAD_SIZE;
use super::env::PtxVersion;
use super::scope::ParameterPlace;
use crate::diagnostic::Diagnostic;

/// The first version with the higher limit.
const MORE: PtxVersion = PtxVersion(8, 1);

/// The most bytes of a kernel's parameters.
fn limit(version: PtxVersion) -> u32 {
    if version < MORE { 4352 } else { 32764 }
}

/// Checks that the parameters of a kernel, which lie at these places, fit together.
pub(super) fn check(
    function: &Function,
    parameters: &[ParameterPlace],
    version: PtxVersion,
    out: &mut Vec<Diagnostic>,
) {
    let bytes = parameters.last().map_or(0, |last| last.offset.saturating_add(last.size));
    let limit = limit(version);
    if function.kind != FunctionKind::Entry || bytes <= limit {
        return;
    }
    let message = format!("the parameters of `{}` take {bytes} bytes", function.name.name);
    let finding = Diagnostic::error(BAD_SIZE, function.name.id, message)
        .label(format!("PTX {version} allows {limit} for the parameters of a kernel"));
    out.push(if version < MORE && bytes <= self::limit(MORE) {
        finding.help(format!("write `.version {MORE}`"))
    } else {
        finding.help("pass a pointer to them")
    });
}
