//! Combining: simplifies machine IR, still with virtual registers.
//!
//! In: the result of selection. Out: the same function with fewer instructions: short branches are
//! guards, straight lines are one block, copies and dead code are removed, constants of the warp
//! are in uniform registers or operands, neighbours are loaded together.
//!
//! ```text
//!     branch %p0, mb2(0x0), mb1            MOV %r4, 0x0
//! mb1: LDG.E %r3, [...]              =>    @!%p0 LDG.E %r3, [...] tied(%r4)
//!     jump mb2(%r3)
//! ```
//!
//! Each rule has a file and is a pass of its own with a name. [`RULES`] lists the rules in the
//! order in which they run. Each is linear in the function, except for [`predicate()`], which
//! visits merged blocks again.

mod constant_operands;
mod copies;
mod dead;
mod merge;
mod predicate;
#[cfg(test)]
mod tests;
mod tuple_readers;
mod tuples;
mod uniform_datapath;
mod uniform_forms;
mod uniform_operands;
mod uniform_pairs;

use ptxc_machine::Arch;

use crate::mir::{Mir, VReg};
pub use constant_operands::constant_operands;
pub use copies::copies;
pub use dead::dead;
pub use merge::merge;
pub use predicate::predicate;
pub use tuple_readers::tuple_readers;
pub use tuples::tuples;
pub use uniform_datapath::uniform_datapath;
pub use uniform_operands::uniform_operands;
pub use uniform_pairs::uniform_pairs;

/// A rule: changes the function for the architecture and tells whether it did.
pub type Rule = fn(&mut Mir<VReg>, Arch) -> bool;

/// The rules in the order in which [`combine`] applies them.
pub const RULES: &[(&str, Rule)] = &[
    ("merge-blocks", merge),
    ("predicate", predicate),
    ("merge-blocks", merge),
    ("copies", copies),
    ("equal-tuples", tuples),
    ("tuple-readers", tuple_readers),
    ("uniform-operands", uniform_operands),
    ("uniform-datapath", uniform_datapath),
    ("constant-operands", constant_operands),
    ("dead-code", dead),
    ("uniform-pairs", uniform_pairs),
    ("dead-code", dead),
];

/// Applies all [`RULES`] in order. Each rule finds all of its cases in one run, so repeating it is
/// useless until another rule has changed the function.
pub fn combine(mir: &mut Mir<VReg>, arch: Arch) {
    let mut last_change = None;
    for (place, (name, rule)) in RULES.iter().enumerate() {
        let before = RULES[..place].iter().rposition(|(other, _)| other == name);
        if before.is_some_and(|before| last_change.is_none_or(|change| change <= before)) {
            continue;
        }
        ptxc_interrupt::poll();
        if rule(mir, arch) {
            last_change = Some(place);
        }
    }
}
