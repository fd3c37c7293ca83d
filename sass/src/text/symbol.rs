//! Operands that a loader fills in, as text.
//!
//! ```text
//! UMOV UR4, 32@lo(list)                     the low word of the address of `list`
//! UMOV UR5, 32@hi(list+0x8)                 the high word of the address of its ninth byte
//! MOV R20, 32@lo((k + .L_x_3@srel))         that of a place in the kernel `k`
//! UMOV UR4, `(table)                        an address of 32 bits; `16@(table)` and `24@(table)` of fewer
//! UMOV UR4, 32@lo(fun@fdesc(f))             that of the descriptor of the function `f`
//! UMOV UR4, 32@lo(fun@unified(f))           its number among the unified functions
//! CALL.ABS.NOINC `(vprintf)
//! ```
//!
//! The spelling is NVIDIA's, except for `16@` and `24@`: its disassembler does not distinguish
//! these from 32 bits. Linear in the text.

use std::fmt;

use super::parse::Names;
use crate::symbol::{Addend, Symbol, SymbolBits, SymbolValue};
use crate::table::Op;

/// An operand as text.
pub(super) struct SymbolText<'a>(pub &'a Symbol);

/// The text before the parenthesis for each choice of bits.
const BITS: [(&str, SymbolBits); 5] = [
    ("32@lo", SymbolBits::Low),
    ("32@hi", SymbolBits::High),
    ("16@", SymbolBits::Short16),
    ("24@", SymbolBits::Short24),
    ("`", SymbolBits::Word),
];

/// The text before the inner parenthesis for values other than addresses.
const VALUES: [(&str, SymbolValue); 2] =
    [("fun@fdesc", SymbolValue::Descriptor), ("fun@unified", SymbolValue::Unified)];

/// The text around the label that is added.
const LABEL: (&str, &str) = (" + ", "@srel");

impl fmt::Display for SymbolText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Symbol { name, addend, value, bits } = self.0;
        let value = VALUES.iter().find(|(_, known)| known == value).map(|(text, _)| *text);
        let bits = match bits {
            // A value other than an address needs no mark.
            SymbolBits::Word | SymbolBits::Target if value.is_some() => None,
            SymbolBits::Target => Some("`"),
            bits => BITS.iter().find(|(_, known)| known == bits).map(|(text, _)| *text),
        };
        let around = [bits, value];
        for text in around.iter().flatten() {
            write!(f, "{text}(")?;
        }
        match addend {
            Addend::Bytes(0) => f.write_str(name)?,
            Addend::Bytes(bytes) => {
                let sign = if *bytes < 0 { '-' } else { '+' };
                write!(f, "{name}{sign}{:#x}", bytes.unsigned_abs())?;
            }
            Addend::Label(label) => write!(f, "({name}{}.L_x_{}{})", LABEL.0, label.0, LABEL.1)?,
        }
        for _ in around.iter().flatten() {
            f.write_str(")")?;
        }
        Ok(())
    }
}

/// Whether a name can be written and read back: letters, digits, and the other characters in
/// symbols of NVIDIA's tools.
pub fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_$.%".contains(&byte);
    !name.is_empty() && name.bytes().all(is_plain)
}

/// Reads an operand of an instruction with the row `op`; `None` if it is not a symbol.
pub(super) fn parse(text: &str, op: Op, names: &mut dyn Names) -> Option<Symbol> {
    let (bits, inner) = BITS.iter().find_map(|&(prefix, bits)| Some((bits, within(text, prefix)?))).unzip();
    let inner = inner.unwrap_or(text);
    let value = VALUES.iter().find_map(|&(prefix, value)| Some((value, within(inner, prefix)?))).unzip();
    let (bits, value, inner) = match (bits, value) {
        (Some(SymbolBits::Word), (None, _)) if matches!(op, Op::CALL_ABSOLUTE | Op::CALL_LOADED) => {
            (SymbolBits::Target, SymbolValue::Address, inner)
        }
        // A value other than an address has no quotation mark.
        (Some(SymbolBits::Word), (Some(_), _)) | (None, (None, _)) => return None,
        (bits, (value, within)) => {
            (bits.unwrap_or(SymbolBits::Word), value.unwrap_or(SymbolValue::Address), within.unwrap_or(inner))
        }
    };
    let (name, addend) = match inner.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        Some(sum) => {
            let (name, label) = sum.split_once(LABEL.0)?;
            (name, Addend::Label(names.label(label.strip_suffix(LABEL.1)?)?))
        }
        None => match inner.find(['+', '-']) {
            Some(at) => {
                let digits = inner.get(at + 1..)?.strip_prefix("0x")?;
                let magnitude = i128::from(u64::from_str_radix(digits, 16).ok()?);
                let is_negative = inner.as_bytes().get(at) == Some(&b'-');
                let bytes = if is_negative { -magnitude } else { magnitude };
                (inner.get(..at)?, Addend::Bytes(i64::try_from(bytes).ok()?))
            }
            None => (inner, Addend::Bytes(0)),
        },
    };
    is_name(name).then(|| Symbol { name: name.to_string(), addend, value, bits })
}

/// The text in parentheses after a prefix.
fn within<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    text.strip_prefix(prefix)?.strip_prefix('(')?.strip_suffix(')')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operand::{FunctionIndex, Label};

    struct Numbered;

    impl Names for Numbered {
        fn label(&mut self, name: &str) -> Option<Label> {
            Some(Label(name.strip_prefix(".L_x_")?.parse().ok()?))
        }

        fn function(&mut self, _: &str) -> Option<FunctionIndex> {
            None
        }
    }

    #[test]
    fn texts_survive() {
        let addends = [Addend::Bytes(0), Addend::Bytes(i64::MIN), Addend::Bytes(8), Addend::Label(Label(7))];
        let values = [SymbolValue::Address, SymbolValue::Descriptor, SymbolValue::Unified];
        let parts = BITS.map(|(_, bits)| bits).into_iter().chain([SymbolBits::Target]);
        for (bits, value, addend) in
            parts.flat_map(|bits| values.map(|value| addends.map(|addend| (bits, value, addend)))).flatten()
        {
            // Calls take only addresses.
            if bits == SymbolBits::Target && value != SymbolValue::Address {
                continue;
            }
            let symbol = Symbol { name: "$k.f_1".to_string(), addend, value, bits };
            let text = SymbolText(&symbol).to_string();
            let op = if bits == SymbolBits::Target { Op::CALL_LOADED } else { Op::UMOV };
            assert_eq!(parse(&text, op, &mut Numbered), Some(symbol), "{text}");
        }
    }

    #[test]
    fn what_is_no_symbol_is_refused() {
        for text in [
            "",
            "`",
            "`()",
            "x",
            "(x)",
            "32@lo",
            "32@lo(",
            "32@lo()",
            "32@lo(x",
            "32@lo(x+8)",
            "32@lo(x+0x)",
            "32@lo(x+0x10000000000000000)",
            "32@lo(x+0x8000000000000000)",
            "32@lo((x))",
            "32@lo((x + .L_x_1))",
            "32@lo((x + y@srel))",
            "32@mid(x)",
            "8@(x)",
            "`(fun@fdesc(x))",
            "fun@fdesc(x",
            "32@lo(a b)",
            "32@lo(é)",
        ] {
            assert_eq!(parse(text, Op::UMOV, &mut Numbered), None, "{text}");
        }
    }
}
