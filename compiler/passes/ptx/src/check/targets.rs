//! The targets of PTX, and the version that introduced each.
//!
//! A module may have `.target sm_90` from `.version 7.8` on. Source: NVIDIA's ptxas 13.5, tested
//! with a module of one empty kernel for every pair. ptxas no longer knows `sm_101` and its
//! variants; for these the source is the PTX ISA's release notes (renamed to `sm_110` in PTX 9.0).

use super::env::{PtxTarget, PtxVersion, TargetKind};

/// Target number, and the versions of its baseline, its own variant (`a`) and its family's (`f`).
type Line = (u32, PtxVersion, Option<PtxVersion>, Option<PtxVersion>);

const fn since(number: u32, major: u32, minor: u32) -> Line {
    (number, PtxVersion(major, minor), None, None)
}

const fn with_variants(number: u32, base: PtxVersion, own: PtxVersion, family: PtxVersion) -> Line {
    (number, base, Some(own), Some(family))
}

const V86: PtxVersion = PtxVersion(8, 6);
const V87: PtxVersion = PtxVersion(8, 7);
const V88: PtxVersion = PtxVersion(8, 8);
const V90: PtxVersion = PtxVersion(9, 0);
const V94: PtxVersion = PtxVersion(9, 4);

/// In ascending order of the number.
static TARGETS: &[Line] = &[
    since(10, 1, 0),
    since(11, 1, 0),
    since(12, 1, 2),
    since(13, 1, 2),
    since(20, 2, 0),
    since(21, 2, 0),
    since(30, 3, 0),
    since(32, 4, 0),
    since(35, 3, 1),
    since(37, 4, 1),
    since(50, 4, 0),
    since(52, 4, 1),
    since(53, 4, 2),
    since(60, 5, 0),
    since(61, 5, 0),
    since(62, 5, 0),
    since(70, 6, 0),
    since(72, 6, 1),
    since(75, 6, 3),
    since(80, 7, 0),
    since(86, 7, 1),
    since(87, 7, 4),
    since(88, 9, 0),
    since(89, 7, 8),
    (90, PtxVersion(7, 8), Some(PtxVersion(8, 0)), None),
    with_variants(100, V86, V86, V88),
    with_variants(101, V86, V86, V88),
    with_variants(103, V88, V88, V88),
    with_variants(107, V94, V94, V94),
    with_variants(110, V90, V90, V90),
    with_variants(120, V87, V87, V88),
    with_variants(121, V88, V88, V88),
];

/// The option of `.target` that makes instructions in double precision compute in single precision.
pub const MAP_F64_TO_F32: &str = "map_f64_to_f32";

/// The option of `.target` that makes samplers objects of their own.
pub const INDEPENDENT_TEXTURES: &str = "texmode_independent";

/// The option of `.target` that says that a module has debug sections.
pub const DEBUG: &str = "debug";

/// The options that `.target` may have beside an architecture.
pub const OPTIONS: &[&str] = &["texmode_unified", INDEPENDENT_TEXTURES, DEBUG, MAP_F64_TO_F32];

/// The first PTX version in which a module may have that target; `None` if PTX has no such target.
pub fn first_version(target: PtxTarget) -> Option<PtxVersion> {
    let &(_, base, own, family) = TARGETS.iter().find(|line| line.0 == target.number)?;
    match target.kind {
        TargetKind::Baseline => Some(base),
        TargetKind::Specific => own,
        TargetKind::Family => family,
    }
}

/// Every target, in ascending order of the number.
pub fn all() -> impl Iterator<Item = PtxTarget> {
    let kinds = [TargetKind::Baseline, TargetKind::Specific, TargetKind::Family];
    let named = move |line: &Line| kinds.map(|kind| PtxTarget { number: line.0, kind });
    TARGETS.iter().flat_map(named).filter(|&target| first_version(target).is_some())
}

/// The known target whose number is nearest, to suggest for a mistyped one.
pub fn nearest(number: u32) -> PtxTarget {
    let numbers = TARGETS.iter().map(|line| line.0);
    let number = numbers.min_by_key(|known| known.abs_diff(number)).unwrap_or(number);
    PtxTarget { number, kind: TargetKind::Baseline }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version_of(name: &str) -> Option<PtxVersion> {
        first_version(PtxTarget::parse(name).expect(name))
    }

    #[test]
    fn a_target_needs_its_version() {
        assert_eq!(version_of("sm_75"), Some(PtxVersion(6, 3)));
        assert_eq!(version_of("sm_90"), Some(PtxVersion(7, 8)));
        assert_eq!(version_of("sm_90a"), Some(PtxVersion(8, 0)));
        assert_eq!(version_of("sm_100f"), Some(PtxVersion(8, 8)));
        assert_eq!(version_of("sm_80a"), None);
        assert_eq!(version_of("sm_91"), None);
        assert_eq!(nearest(91).to_string(), "sm_90");
    }

    #[test]
    fn targets_are_in_order() {
        assert!(TARGETS.is_sorted_by(|a, b| a.0 < b.0));
    }
}
