//! Converts one word to text and back, and removes the numbers from a text.

use std::fmt::Write;

use ptxc_machine::{Arch, Feature};
use ptxc_sass::{bits, text};

/// The failure of an instruction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// No row matches it.
    Decode(String),
    /// Our own text cannot be parsed.
    Parse(String),
    /// The parsed instruction cannot be encoded.
    Encode(String),
    /// The encoded word is different.
    Bits(String),
    /// nvdisasm prints this other text.
    Text(String),
}

impl Failure {
    /// A line for people.
    pub fn describe(&self) -> String {
        match self {
            Failure::Decode(why) => format!("no decoding: {why}"),
            Failure::Parse(why) => format!("our text is not read: {why}"),
            Failure::Encode(why) => format!("no encoding: {why}"),
            Failure::Bits(other) => format!("other bits: {other}"),
            Failure::Text(ours) => format!("we print `{ours}`"),
        }
    }
}

/// Converts a word to text and back, and returns the text if the word is the same.
///
/// # Errors
/// The step that fails.
pub fn survive(word: u128, offset: u32, arch: Arch) -> Result<String, Failure> {
    let coded = bits::decode(word, offset, arch).map_err(|why| Failure::Decode(why.to_string()))?;
    let mut ours = String::new();
    let _ = text::write_inst(&mut ours, &coded.inst, coded.control.reuse, &[], arch);
    let (inst, reuse) =
        text::parse_inst(&ours, arch).map_err(|why| Failure::Parse(format!("{ours}: {why}")))?;
    let mut control = coded.control;
    control.reuse = reuse;
    let back = ptxc_sass::Coded { inst, control, loc: u32::MAX };
    let again = bits::encode(&back, offset, arch, |_| None);
    let again = again.map_err(|why| Failure::Encode(format!("{ours}: {why}")))?;
    if again == word { Ok(ours) } else { Err(Failure::Bits(format!("{again:032x} {ours}"))) }
}

/// Our text as nvdisasm prints it. nvdisasm omits some facts that only the bits hold: the fraction
/// of a NaN; from sm_80 to sm_89 the descriptor of an access, unless it is that of a cache policy
/// (`.POLICY`); before the second carry of an `IADD3` the `PT` for an absent first carry; and the
/// fact that `RZ` next to a pair of uniform registers is not a pair. On sm_75 it omits, only in
/// `LDSM`, the sign of an offset from a uniform register. On sm_90 it omits the reuse flag of the
/// metadata operand of a sparse matrix.
pub fn normal(ours: &str, arch: Arch) -> String {
    let ours = match without_guard(ours).trim_start_matches('U').starts_with("IADD3") {
        true => without_first_carry(ours),
        false => ours.to_string(),
    };
    let ours = without_fractions(&ours);
    let ours = if !arch.has(Feature::ZeroBaseIsWritten) { ours.replacen("[RZ.U32+", "[", 1) } else { ours };
    let ours = if arch == Arch::Sm75 { without_sign(&ours) } else { ours };
    let ours = if arch == Arch::Sm90 { without_kept_places(&ours) } else { ours };
    if !arch.has(Feature::HiddenDescriptors) {
        return ours;
    }
    if ours.contains(".POLICY") {
        return ours.replacen(".POLICY", "", 1);
    }
    let mut text = String::new();
    let mut rest = &ours[..];
    while let Some((before, after)) = rest.split_once("desc[") {
        text.push_str(before);
        rest = after.split_once(']').map_or(after, |(_, rest)| rest);
    }
    text + rest
}

/// A sum without the `PT` of its first carry if a second carry follows, both directly after the
/// result.
fn without_first_carry(text: &str) -> String {
    let Some((result, rest)) = text.split_once(", ") else { return text.to_string() };
    let after = rest.strip_prefix("PT, ").or_else(|| rest.strip_prefix("UPT, "));
    let is_carry = |name: &str| name.trim_start_matches('U').starts_with('P');
    match after.filter(|after| after.split(", ").next().is_some_and(is_carry)) {
        Some(after) => format!("{result}, {after}"),
        None => text.to_string(),
    }
}

/// A product with a sparse matrix, without the reuse flag of its metadata operand, bit 125 on
/// sm_90: nvdisasm reads bit 50 there, which ptxas sets only before sm_90.
fn without_kept_places(text: &str) -> String {
    let plain = without_guard(text);
    let is_sparse = ["HMMA.SP", "IMMA.SP", "QMMA.SP"].iter().any(|name| plain.starts_with(name));
    let flag = text.rfind(".reuse, 0x").filter(|_| is_sparse);
    flag.map_or(text.to_string(), |at| format!("{}{}", &text[..at], &text[at + ".reuse".len()..]))
}

/// A text without its guard.
pub fn without_guard(text: &str) -> &str {
    text.strip_prefix('@').and_then(|rest| rest.split_once(' ')).map_or(text, |(_, rest)| rest)
}

/// A text without its numbers.
pub fn form(text: &str) -> String {
    let text = text.replace(".reuse", "");
    let (mnemonic, operands) = text.split_once(' ').unwrap_or((&text, ""));
    let mut form = mnemonic.to_string();
    let mut word = String::new();
    for c in format!(" {operands} ").chars() {
        if c.is_ascii_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        match word.find(|c: char| c.is_ascii_digit()) {
            Some(0) => form.push('#'),
            Some(at) => {
                let _ = write!(form, "{}#", &word[..at]);
            }
            None if matches!(&word[..], "RZ" | "PT" | "URZ" | "UPT") => {
                let _ = write!(form, "{}#", &word[..word.len() - 1]);
            }
            None => form.push_str(&word),
        }
        word.clear();
        form.push(c);
    }
    form.trim_end().to_string()
}

/// An `LDSM` whose offset has no sign if it is added to a uniform register alone.
fn without_sign(text: &str) -> String {
    let is_load = without_guard(text).starts_with("LDSM");
    let parts = text
        .split_once("[UR")
        .filter(|_| is_load)
        .and_then(|(front, rest)| Some((front, rest.split_once("+-0x")?)));
    let Some((front, (uniform, rest))) = parts else { return text.to_string() };
    let magnitude = rest.strip_suffix(']').and_then(|digits| u32::from_str_radix(digits, 16).ok());
    match magnitude {
        Some(magnitude) => format!("{front}[UR{uniform}+{:#x}]", (1 << 24) - magnitude),
        None => text.to_string(),
    }
}

/// A text without the fractions of immediate NaNs.
fn without_fractions(text: &str) -> String {
    let mut shorter = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("NAN(") {
        let (before, after) = rest.split_at(at + "NAN".len());
        shorter.push_str(before);
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    // A text without digits is followed by a space, except at the end of the line.
    (shorter + rest).trim_end().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_have_no_numbers() {
        assert_eq!(form("LDG.E R7, desc[UR6][R2.64+0x4]"), "LDG.E R#, desc[UR#][R#.#+#]");
        assert_eq!(form("IADD3 R2, R3.reuse, -0x1, RZ"), "IADD3 R#, R#, -#, R#");
        assert_eq!(without_guard("@!P0 EXIT"), "EXIT");
    }

    #[test]
    fn descriptors_are_not_named_before_sm_90() {
        assert_eq!(normal("LDG.E R0, desc[UR4][R2.64]", Arch::Sm80), "LDG.E R0, [R2.64]");
        assert_eq!(normal("LDG.E R0, desc[UR4][R2.64]", Arch::Sm90), "LDG.E R0, desc[UR4][R2.64]");
    }

    #[test]
    fn fractions_of_nans_are_not_named() {
        assert_eq!(normal("FSEL R3, R9, -QNAN(0x780000) , P1", Arch::Sm90), "FSEL R3, R9, -QNAN , P1");
        assert_eq!(normal("FADD R3, R9, +INF ", Arch::Sm90), "FADD R3, R9, +INF");
    }
}
