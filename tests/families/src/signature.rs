//! The signature of a kernel: its instructions of the families, with registers reduced to their
//! kinds.
//!
//! It is read from text, ours or nvdisasm's, so that both are treated alike:
//!
//! ```text
//!   @P0 ATOMG.E.ADD.STRONG.GPU PT, R5, desc[UR4][R2.64+0x4], R7 ;
//! ```
//!
//! becomes `ATOMG.E.ADD.STRONG.GPU PT, R, desc[UR][R.64+0x4], R`. Guards are omitted: the family
//! does not decide whether a short branch becomes one. Loads and stores of global memory belong to
//! the surrounding kernel; those of shared memory are part of compare-and-swap loops.

use std::fmt;

/// The instructions that are compared: the text before the first dot, or the whole opcode if the
/// entry has a dot.
const LOOKED_AT: &[&str] = &[
    "BAR",
    "B2R",
    "R2B",
    "WARPSYNC",
    "ENDCOLLECTIVE",
    "BRA.DIV",
    "BRA.CONV",
    "SHFL",
    "VOTE",
    "VOTEU",
    "MATCH",
    "REDUX",
    "CREDUX",
    "ELECT",
    "MEMBAR",
    "ERRBAR",
    "CGAERRBAR",
    "CCTL",
    "FENCE",
    "UCGABAR_ARV",
    "UCGABAR_WAIT",
    "ACQBULK",
    "PREEXIT",
    "SYNCS",
    "ARRIVES",
    "UTMACCTL",
    "RED",
    "REDG",
    "ATOM",
    "ATOMG",
    "ATOMS",
    "QSPC",
    "LDS",
    "STS",
    "CALL",
    "NANOSLEEP",
    "LDGDEPBAR",
    "DEPBAR",
];

/// The family instructions of a kernel, in the order of the text.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Signature(pub Vec<String>);

impl Signature {
    /// Reads the instructions of one kernel, each without offset and semicolon.
    pub fn of<'a>(instructions: impl Iterator<Item = &'a str>) -> Signature {
        Signature(instructions.filter_map(normal).collect())
    }

    /// The same in an order that depends only on the instructions: compilers lay out blocks in
    /// different orders.
    pub fn sorted(&self) -> Signature {
        let mut list = self.0.clone();
        list.sort();
        Signature(list)
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str("-") } else { f.write_str(&self.0.join("; ")) }
    }
}

/// An instruction with its registers by kind; `None` if it is not compared.
fn normal(text: &str) -> Option<String> {
    let mut text = text.trim();
    if text.starts_with('@') {
        text = text.split_once(' ')?.1.trim();
    }
    let (opcode, operands) = text.split_once(' ').unwrap_or((text, ""));
    // nvdisasm shows the policy by the descriptor, if at all.
    let opcode = opcode.replace(".POLICY", "");
    let is = |known: &&str| {
        opcode.strip_prefix(*known).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    if !LOOKED_AT.iter().any(is) {
        return None;
    }
    if operands.trim().is_empty() {
        return Some(opcode);
    }
    let goes = ["BRA", "CALL", "WARPSYNC"].iter().any(|op| opcode.starts_with(op));
    let operands =
        operands.trim().split(", ").map(|operand| self::operand(operand, goes)).collect::<Vec<_>>();
    Some(format!("{opcode} {}", operands.join(", ")))
}

/// An operand with its registers by kind. A branch target is `L`.
fn operand(text: &str, goes: bool) -> String {
    let text = text.trim();
    let is_label = text.starts_with(['`', '(', '.']) || (text.starts_with('L') && text.len() > 1);
    if goes && is_label {
        return "L".to_string();
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        if length == 0 {
            out.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let (word, after) = rest.split_at(length);
        out.push_str(kind(word));
        rest = after.strip_prefix(".reuse").unwrap_or(after);
    }
    out
}

/// A register without its number.
fn kind(word: &str) -> &str {
    for prefix in ["UR", "UP", "R", "P", "B"] {
        if let Some(number) = word.strip_prefix(prefix)
            && !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
        {
            return prefix;
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_lose_their_numbers_and_labels_their_names() {
        let of = |text: &str| normal(text).unwrap_or_default();
        assert_eq!(
            of("@!P0 ATOMG.E.ADD.STRONG.GPU PT, R5, desc[UR4][R2.64+0x4], R7.reuse"),
            "ATOMG.E.ADD.STRONG.GPU PT, R, desc[UR][R.64+0x4], R"
        );
        assert_eq!(of("BAR.RED.AND.DEFER_BLOCKING 0x1, !P0"), "BAR.RED.AND.DEFER_BLOCKING 0x1, !P");
        assert_eq!(of("BRA.DIV UR4, `(.L_x_1)"), "BRA.DIV UR, L");
        assert_eq!(of("IADD3 R1, R2, R3, RZ"), "");
    }
}
