//! The special registers of PTX.
//!
//! Each special register has a type and a least PTX version and target. `%tid` and similar
//! registers are vectors of four; their elements `.x`, `.y`, `.z` are separate names, as the lexer
//! reads them.

use ptxc_syntax::ast::Instruction;

use super::codes::TARGET_TOO_OLD;
use super::env::{ModuleEnv, PtxTarget, PtxVersion, TargetKind};
use super::names::{Names, Thing};
use super::requirements::version_too_old;
use super::types::Scalar;
use crate::diagnostic::Diagnostic;

/// A special register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecialRegister {
    /// The type of the register, or of an element.
    pub ty: Scalar,
    /// Whether it is a vector of four, named without an element.
    pub vector: bool,
    /// The least PTX version.
    pub version: PtxVersion,
    /// The number of the least target.
    pub target: u32,
}

/// Names with type, least version and least target. A name with `*` is a vector with elements `x`,
/// `y`, `z`, `w`; a name with a range stands for one register for each number.
const ROWS: &[(&str, &str, &str, u32)] = &[
    ("%tid*", "u32", "1.0", 0),
    ("%ntid*", "u32", "1.0", 0),
    ("%ctaid*", "u32", "1.0", 0),
    ("%nctaid*", "u32", "1.0", 0),
    ("%laneid", "u32", "1.3", 0),
    ("%warpid", "u32", "1.3", 0),
    ("%nwarpid", "u32", "2.0", 20),
    ("%smid", "u32", "1.3", 0),
    ("%nsmid", "u32", "2.0", 20),
    ("%gridid", "u64", "1.0", 0),
    ("%is_explicit_cluster", "pred", "7.8", 90),
    ("%clusterid*", "u32", "7.8", 90),
    ("%nclusterid*", "u32", "7.8", 90),
    ("%cluster_ctaid*", "u32", "7.8", 90),
    ("%cluster_nctaid*", "u32", "7.8", 90),
    ("%cluster_ctarank", "u32", "7.8", 90),
    ("%cluster_nctarank", "u32", "7.8", 90),
    ("%lanemask_eq", "u32", "2.0", 20),
    ("%lanemask_le", "u32", "2.0", 20),
    ("%lanemask_lt", "u32", "2.0", 20),
    ("%lanemask_ge", "u32", "2.0", 20),
    ("%lanemask_gt", "u32", "2.0", 20),
    ("%clock", "u32", "1.0", 0),
    ("%clock_hi", "u32", "5.0", 20),
    ("%clock64", "u64", "2.0", 20),
    ("%globaltimer", "u64", "3.1", 30),
    ("%globaltimer_lo", "u32", "3.1", 30),
    ("%globaltimer_hi", "u32", "3.1", 30),
    ("%total_smem_size", "u32", "4.1", 20),
    ("%aggr_smem_size", "u32", "8.1", 90),
    ("%dynamic_smem_size", "u32", "4.1", 20),
    ("%current_graph_exec", "u64", "8.0", 50),
    ("%reserved_smem_offset_begin", "b32", "7.6", 80),
    ("%reserved_smem_offset_end", "b32", "7.6", 80),
    ("%reserved_smem_offset_cap", "b32", "7.6", 80),
    ("%reserved_smem_offset_0", "b32", "7.6", 80),
    ("%reserved_smem_offset_1", "b32", "7.6", 80),
];

/// Families of registers that differ in a number: prefix, suffix, count, type, least version and
/// target.
const NUMBERED: &[(&str, &str, u32, &str, &str, u32)] = &[
    ("%envreg", "", 32, "b32", "1.0", 0),
    ("%pm", "", 4, "u32", "1.3", 0),
    ("%pm", "", 8, "u32", "3.0", 20),
    ("%pm", "_64", 8, "u64", "4.0", 50),
];

/// The special register of that name.
pub fn find(name: &str) -> Option<SpecialRegister> {
    let (base, element) = name.split_once('.').map_or((name, None), |(base, element)| (base, Some(element)));
    let make = |ty, version: &str, target, vector| {
        let (major, minor) = version.split_once('.')?;
        let version = PtxVersion(major.parse().ok()?, minor.parse().ok()?);
        Some(SpecialRegister { ty: Scalar::parse(ty)?, vector, version, target })
    };
    for &(row, ty, version, target) in ROWS {
        if let Some(vector) = row.strip_suffix('*') {
            if vector == base && element.is_none_or(|element| matches!(element, "x" | "y" | "z" | "w")) {
                return make(ty, version, target, element.is_none());
            }
        } else if row == name {
            return make(ty, version, target, false);
        }
    }
    for &(prefix, suffix, count, ty, version, target) in NUMBERED {
        let number = name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(suffix));
        if number.and_then(|number| number.parse().ok()).is_some_and(|number: u32| number < count) {
            return make(ty, version, target, false);
        }
    }
    None
}

/// Checks that the module's version and target have the special registers that an instruction reads.
pub(super) fn check(instruction: &Instruction, names: &Names, env: &ModuleEnv, out: &mut Vec<Diagnostic>) {
    let elements = instruction.operands.iter().flat_map(|operand| match operand.elements() {
        Some(elements) => elements,
        None => std::slice::from_ref(operand),
    });
    for operand in elements {
        let Some(name) = operand.as_symbol().filter(|name| name.starts_with('%')) else { continue };
        let Some(Thing::Special(register)) = names.find_at(operand.id, name) else { continue };
        let what = format!("`{name}`");
        let needed = PtxTarget { number: register.target, kind: TargetKind::Baseline };
        if env.version < register.version {
            out.push(version_too_old(&what, register.version, env.version, operand.id));
        } else if env.target.number < register.target {
            let message = format!("{what} needs {needed} or later");
            out.push(
                Diagnostic::error(TARGET_TOO_OLD, operand.id, message)
                    .label(format!("the module has `.target {}`", env.target))
                    .help(format!("write `.target {needed}` if the code need not run on older machines")),
            );
        }
    }
}

/// Every special register that is not a vector; of a vector, each element.
pub fn scalars() -> Vec<String> {
    let rows = ROWS.iter().flat_map(|row| match row.0.strip_suffix('*') {
        Some(vector) => ["x", "y", "z", "w"].map(|element| format!("{vector}.{element}")).to_vec(),
        None => vec![row.0.to_string()],
    });
    let numbered = NUMBERED.iter().flat_map(|&(prefix, suffix, count, ..)| {
        (0..count).map(move |number| format!("{prefix}{number}{suffix}"))
    });
    let mut all: Vec<String> = rows.chain(numbered).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The names to suggest, elements of vectors among them.
pub fn names() -> impl Iterator<Item = &'static str> {
    const ELEMENTS: &[&str] = &[
        "%tid.x",
        "%tid.y",
        "%tid.z",
        "%ntid.x",
        "%ntid.y",
        "%ntid.z",
        "%ctaid.x",
        "%ctaid.y",
        "%ctaid.z",
        "%nctaid.x",
        "%nctaid.y",
        "%nctaid.z",
    ];
    ELEMENTS.iter().copied().chain(ROWS.iter().map(|row| row.0.trim_end_matches('*')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sound_and_found() {
        for name in names().map(String::from).chain(scalars()) {
            let name = name.as_str();
            assert!(find(name).is_some(), "{name}");
        }
        assert!(find("%tid").unwrap().vector && !find("%tid.x").unwrap().vector);
        assert_eq!(find("%pm3_64").unwrap().ty.bits(), 64);
        assert_eq!(find("%envreg31").unwrap().ty.name(), "b32");
        for name in ["%tid.q", "%laneid.x", "%envreg32", "%pm8", "%foo", "tid.x", ""] {
            assert_eq!(find(name), None, "{name}");
        }
    }
}
