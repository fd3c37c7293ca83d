//! The list of shapes and their witnesses.
//!
//! `witnesses.txt` has a section for each file whose code from ptxas has shapes that our code has
//! too, and a section of encodings:
//!
//! ```text
//! [lit/select/bit-fields]
//! sm_75 sm_80 sm_86 sm_89 sm_90 | BMSK R, R, R
//!
//! [nvdisasm]
//! sm_80 sm_86 sm_89 | ISETP.EQ.AND.EX P, P, R, imm, P, P | 000fe40003f42330 000000ff0300780c
//! ```
//!
//! ptxas emits a `BMSK` with three registers for `tests/lit/select/bit-fields.ptx` on all five
//! architectures. A shape that it never chooses, because another form does the same, is shown by an
//! encoding (its high and its low word) that nvdisasm reads as that shape on those architectures.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use ptxc_machine::ByNumber;

/// The section of encodings.
const ENCODINGS: &str = "nvdisasm";

/// Shapes and their witnesses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Witnesses {
    /// For each file, by its [name](crate::source::Source::name), the shapes in ptxas's code and
    /// their architectures.
    pub files: BTreeMap<String, BTreeMap<String, BTreeSet<ByNumber>>>,
    /// Encodings of shapes, and the architectures on which nvdisasm reads them so.
    pub encodings: BTreeMap<String, BTreeMap<u128, BTreeSet<ByNumber>>>,
}

impl Witnesses {
    /// Reads the list.
    ///
    /// # Errors
    /// A line that is malformed.
    pub fn parse(text: &str) -> Result<Witnesses, String> {
        let mut list = Witnesses::default();
        let mut section = None;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                section = Some(name);
            } else {
                let entry = section.and_then(|section| list.entry(section, line));
                entry.ok_or_else(|| format!("line {}: `{line}` is not an entry", number + 1))?;
            }
        }
        Ok(list)
    }

    /// Adds an entry.
    fn entry(&mut self, section: &str, line: &str) -> Option<()> {
        let mut parts = line.split(" | ");
        let (archs, shape, code) = (parts.next()?, parts.next()?, parts.next());
        let archs =
            archs.split(' ').map(|name| name.parse().ok().map(ByNumber)).collect::<Option<BTreeSet<_>>>()?;
        match code {
            Some(code) if section == ENCODINGS => {
                let (high, low) = code.split_once(' ')?;
                let word = |text| u64::from_str_radix(text, 16).ok();
                let code = u128::from(word(high)?) << 64 | u128::from(word(low)?);
                self.encodings.entry(shape.to_string()).or_default().entry(code).or_default().extend(archs);
            }
            None if section != ENCODINGS => {
                let shapes = self.files.entry(section.to_string()).or_default();
                shapes.entry(shape.to_string()).or_default().extend(archs);
            }
            _ => return None,
        }
        parts.next().is_none().then_some(())
    }

    /// The text of the list, without the text before the first section.
    pub fn write(&self) -> String {
        let names =
            |archs: &BTreeSet<ByNumber>| archs.iter().map(ByNumber::to_string).collect::<Vec<_>>().join(" ");
        let mut text = String::new();
        // Writing to a string cannot fail.
        for (name, shapes) in &self.files {
            let _ = writeln!(text, "\n[{name}]");
            for (shape, archs) in shapes {
                let _ = writeln!(text, "{} | {shape}", names(archs));
            }
        }
        let _ = writeln!(text, "\n[{ENCODINGS}]");
        for (shape, codes) in &self.encodings {
            for (code, archs) in codes {
                let (high, low) = (code >> 64, *code as u64);
                let _ = writeln!(text, "{} | {shape} | {high:016x} {low:016x}", names(archs));
            }
        }
        text
    }

    /// The shapes that are known to exist.
    pub fn known(&self) -> BTreeSet<(ByNumber, &str)> {
        let of_files = self.files.values().flatten();
        let of_codes =
            self.encodings.iter().flat_map(|(shape, codes)| codes.values().map(move |archs| (shape, archs)));
        let all = of_files.chain(of_codes);
        all.flat_map(|(shape, archs)| archs.iter().map(move |&arch| (arch, shape.as_str()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use ptxc_machine::Arch;

    use super::*;

    #[test]
    fn the_list_survives() {
        let text = "\n[lit/a]\nsm_75 sm_90 | BMSK R, R, R\n\n[nvdisasm]\nsm_80 | EXIT | 000fea0003800000 000000000000794d\n";
        let list = Witnesses::parse(text).expect("it is well-formed");
        assert_eq!(list.write(), text);
        let known: Vec<_> = list.known().into_iter().collect();
        let [turing, ampere, hopper] = [Arch::Sm75, Arch::Sm80, Arch::Sm90].map(ByNumber);
        assert_eq!(known, [(turing, "BMSK R, R, R"), (ampere, "EXIT"), (hopper, "BMSK R, R, R")]);
        assert!(Witnesses::parse("sm_75 | EXIT").is_err() && Witnesses::parse("[a]\nsm_75 EXIT").is_err());
    }
}
