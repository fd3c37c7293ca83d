//! Versions and targets of PTX, and the requirements of features.

/// A PTX language version, `.version 9.0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PtxVersion(pub u32, pub u32);

impl PtxVersion {
    /// The newest version that this compiler knows.
    pub const NEWEST: PtxVersion = PtxVersion(9, 5);

    /// Whether this version exists: a known major number, with a minor number up to the last one.
    pub fn is_known(self) -> bool {
        let last = match self.0 {
            1 => 5,
            2 | 4 => 3,
            3 => 2,
            5 => 0,
            6 => 5,
            7 | 8 => 8,
            9 => PtxVersion::NEWEST.1,
            _ => return false,
        };
        self.1 <= last
    }
}

impl std::fmt::Display for PtxVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// The features that a target has beyond its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TargetKind {
    /// `sm_90`: code runs on later ones too.
    Baseline,
    /// `sm_100f`: the features that a family of architectures shares.
    Family,
    /// `sm_90a`: the features of one architecture alone.
    Specific,
}

/// A target architecture of PTX, `.target sm_90a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PtxTarget {
    /// 90 for `sm_90a`.
    pub number: u32,
    /// The suffix.
    pub kind: TargetKind,
}

impl PtxTarget {
    /// Reads `sm_90`, `sm_90a`, `sm_100f`.
    pub fn parse(name: &str) -> Option<PtxTarget> {
        let rest = name.strip_prefix("sm_").or_else(|| name.strip_prefix("compute_"))?;
        let digits = rest.trim_end_matches(['a', 'f']);
        let kind = match &rest[digits.len()..] {
            "" => TargetKind::Baseline,
            "f" => TargetKind::Family,
            "a" => TargetKind::Specific,
            _ => return None,
        };
        if digits.is_empty() || digits.len() > 4 {
            return None;
        }
        Some(PtxTarget { number: digits.parse().ok()?, kind })
    }
}

impl std::fmt::Display for PtxTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let suffix = match self.kind {
            TargetKind::Baseline => "",
            TargetKind::Family => "f",
            TargetKind::Specific => "a",
        };
        write!(f, "sm_{}{suffix}", self.number)
    }
}

/// The PTX version and the targets that something exists from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// The oldest version, if any is stated.
    pub version: Option<PtxVersion>,
    /// Any of these targets; if none is stated, every target.
    pub targets: &'static [PtxTarget],
}

impl Needs {
    /// Whether a module's `.version` suffices.
    pub fn has_version(&self, present: PtxVersion) -> bool {
        self.version.is_none_or(|needed| needed <= present)
    }

    /// Whether a module's `.target` suffices.
    pub fn has_target(&self, present: PtxTarget) -> bool {
        self.targets.is_empty() || self.targets.iter().any(|&needed| runs(needed, present))
    }
}

/// Whether a feature of the first target may be used on the second. Later targets keep the features
/// of a baseline. The features of a family are shared by the targets from the first that has them
/// on, as long as only the last digit of the number differs. The features of one target are its
/// own.
fn runs(needed: PtxTarget, present: PtxTarget) -> bool {
    // PTX 9.0 renamed sm_101.
    let present = PtxTarget { number: if present.number == 101 { 110 } else { present.number }, ..present };
    match needed.kind {
        TargetKind::Baseline => present.number >= needed.number,
        TargetKind::Family => {
            present.kind != TargetKind::Baseline
                && present.number / 10 == needed.number / 10
                && present.number >= needed.number
        }
        TargetKind::Specific => present == needed,
    }
}
