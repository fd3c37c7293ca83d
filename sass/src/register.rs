//! Register files and physical registers.

use std::fmt;
use std::hash::Hash;

use ptxc_machine::Arch;

/// A register file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RegFile {
    /// 32-bit registers, one per lane: R0–R254, RZ.
    Gpr,
    /// Predicates, one per lane: P0–P6, PT.
    Pred,
    /// 32-bit registers, one per warp: UR0–UR62, URZ.
    Ugpr,
    /// Predicates, one per warp: UP0–UP6, UPT.
    Upred,
}

impl RegFile {
    /// Every file.
    pub const ALL: [RegFile; 4] = [RegFile::Gpr, RegFile::Pred, RegFile::Ugpr, RegFile::Upred];

    /// Number of registers for which the encoding has room; the number after them is the constant
    /// register. An architecture may have [fewer](RegFile::count_on).
    #[inline]
    pub const fn count(self) -> u8 {
        match self {
            RegFile::Gpr => 255,
            RegFile::Ugpr => 63,
            RegFile::Pred | RegFile::Upred => 7,
        }
    }

    /// Number of registers that hold a value on the architecture.
    #[inline]
    pub const fn count_on(self, arch: Arch) -> u8 {
        let registers = &arch.facts().registers;
        match self {
            RegFile::Gpr => registers.general,
            RegFile::Ugpr => registers.uniform,
            RegFile::Pred => registers.predicates,
            RegFile::Upred => registers.uniform_predicates,
        }
    }

    /// Whether its registers exist once per warp.
    #[inline]
    pub const fn is_uniform(self) -> bool {
        matches!(self, RegFile::Ugpr | RegFile::Upred)
    }

    /// Whether its registers hold truth values.
    #[inline]
    pub const fn is_predicate(self) -> bool {
        matches!(self, RegFile::Pred | RegFile::Upred)
    }

    /// The prefix of the number: `R`, `P`, `UR`, `UP`.
    pub const fn prefix(self) -> &'static str {
        match self {
            RegFile::Gpr => "R",
            RegFile::Pred => "P",
            RegFile::Ugpr => "UR",
            RegFile::Upred => "UP",
        }
    }

    /// The register that reads as zero, or true, and ignores writes.
    pub const fn constant_name(self) -> &'static str {
        match self {
            RegFile::Gpr => "RZ",
            RegFile::Pred => "PT",
            RegFile::Ugpr => "URZ",
            RegFile::Upred => "UPT",
        }
    }
}

/// A register that an instruction can name: a virtual one before allocation, a physical one after.
/// Never the constant register of a file, which is [`OperandKind::Zero`](crate::OperandKind::Zero).
pub trait Register: Copy + Eq + Ord + Hash + fmt::Debug + fmt::Display {
    /// The file it lives in.
    fn file(self) -> RegFile;

    /// Its number in the file, if it is a physical register.
    fn number(self) -> Option<u8> {
        None
    }

    /// The register of that name; `None` if there is none. This is the inverse of the text form.
    fn parse(name: &str) -> Option<Self>;

    /// The register of that number in the file, if registers are physical. The file must have that
    /// number.
    fn numbered(_file: RegFile, _number: u8) -> Option<Self> {
        None
    }
}

/// A physical register, or the first of a tuple of neighbours.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PReg {
    file: RegFile,
    index: u8,
}

impl PReg {
    /// A register by file and number; the number is below [`RegFile::count`].
    #[inline]
    pub fn new(file: RegFile, index: u8) -> PReg {
        assert!(index < file.count(), "{}{index} does not exist", file.prefix());
        PReg { file, index }
    }

    /// A general register.
    pub fn r(index: u8) -> PReg {
        PReg::new(RegFile::Gpr, index)
    }

    /// A predicate.
    pub fn p(index: u8) -> PReg {
        PReg::new(RegFile::Pred, index)
    }

    /// A uniform register.
    pub fn ur(index: u8) -> PReg {
        PReg::new(RegFile::Ugpr, index)
    }

    /// A uniform predicate.
    pub fn up(index: u8) -> PReg {
        PReg::new(RegFile::Upred, index)
    }

    /// Its number in the file.
    #[inline]
    pub const fn index(self) -> u8 {
        self.index
    }

    /// A dense number over all files, below [`PReg::COUNT`].
    #[inline]
    pub const fn dense(self) -> usize {
        let base = match self.file {
            RegFile::Gpr => 0,
            RegFile::Ugpr => 256,
            RegFile::Pred => 320,
            RegFile::Upred => 328,
        };
        base + self.index as usize
    }

    /// The register of a [dense](Self::dense) number, if there is one.
    pub fn from_dense(number: usize) -> Option<PReg> {
        let (file, base) = match number {
            0..256 => (RegFile::Gpr, 0),
            256..320 => (RegFile::Ugpr, 256),
            320..328 => (RegFile::Pred, 320),
            328..336 => (RegFile::Upred, 328),
            _ => return None,
        };
        let index = (number - base) as u8;
        (index < file.count()).then_some(PReg { file, index })
    }

    /// One more than the greatest dense number.
    pub const COUNT: usize = 336;

    /// The register `n` places later in the same file, if there is one.
    #[inline]
    pub fn offset(self, n: u8) -> Option<PReg> {
        let index = self.index.checked_add(n)?;
        (index < self.file.count()).then_some(PReg { file: self.file, index })
    }
}

impl Register for PReg {
    #[inline]
    fn file(self) -> RegFile {
        self.file
    }

    #[inline]
    fn number(self) -> Option<u8> {
        Some(self.index)
    }

    fn parse(name: &str) -> Option<PReg> {
        let digits = name.trim_start_matches(|c: char| c.is_ascii_uppercase());
        let prefix = &name[..name.len() - digits.len()];
        let file = RegFile::ALL.into_iter().find(|file| file.prefix() == prefix)?;
        PReg::numbered(file, digits.parse().ok()?)
    }

    fn numbered(file: RegFile, number: u8) -> Option<PReg> {
        (number < file.count()).then_some(PReg { file, index: number })
    }
}

impl fmt::Display for PReg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.file.prefix(), self.index)
    }
}

impl fmt::Debug for PReg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Control;

    #[test]
    fn the_encoding_has_room_for_every_register() {
        for arch in Arch::ALL {
            for file in RegFile::ALL {
                assert!(file.count_on(arch) <= file.count(), "{arch}: {file:?}");
            }
            assert!(arch.facts().registers.scoreboards <= Control::SCOREBOARDS, "{arch}");
            assert!(arch.facts().registers.convergence_barriers <= 16, "{arch}");
        }
    }
}
