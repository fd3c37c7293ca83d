//! The architecture that a module is written for.

use ptxc_machine::Arch;
use ptxc_passes::TARGETS;

use super::header;
use crate::db::Db;
use crate::input::SourceFile;

/// The architecture that a `.target` is compiled for: the oldest one with code generation that runs
/// code for the target. A target that is newer than all of them gets the newest architecture, with
/// a finding (see [`unsupported_target`](crate::output::unsupported_target)).
pub fn arch_of_target(number: u32) -> Arch {
    let runs = TARGETS.iter().find(|arch| arch.number() >= number);
    *runs.or(TARGETS.last()).unwrap_or(&Arch::DEFAULT)
}

/// The place of the parameter block in its constant bank, in bytes, on the architecture that the module
/// is written for. The layout of parameters does not depend on the options: code for later
/// architectures shares the SSA form.
pub(super) fn parameter_base(db: &dyn Db, file: SourceFile) -> u32 {
    arch_of_target(header(db, file).target.number).facts().banks.param_base
}
