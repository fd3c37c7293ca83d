//! The control field as text, in four notations.
//!
//! | notation | where | looks like |
//! |---|---|---|
//! | [`Bracket`](Notation::Bracket) | before | `[B01----:R0:W2:Y:S05]` |
//! | [`Nv`](Notation::Nv) | after | `&req={0,1} &rd=0x0 &wr=0x2 ?WAIT5_END_GROUP` |
//! | [`Hex`](Notation::Hex) | before | `[0x1ff0a5]`: bits 105 to 125 |
//! | [`None`](Notation::None) | | |
//!
//! In brackets: the scoreboards waited for (each in its own place), the scoreboard for the reading
//! of operands, the scoreboard for results, `Y` for the yield hint, the stall. In `Nv`, `?trans5`
//! stands for a stall of 5 without the yield hint, `?WAIT5_END_GROUP` for one with it, `?DRAIN` for
//! a stall of 0. Reuse flags are part of the operands (`R1.reuse`) in every notation.
//!
//! Rare parts follow: a batch code and the PM bits as `:T5` and `:P1` inside the brackets, in `Nv`
//! as `?BARRIER_EXEMPT` and `?PM1`. The hexadecimal field includes the batch code, so only `:P1` is
//! added to it.

use std::fmt;
use std::str::FromStr;

use crate::control::{Control, Illegal};

/// A way to write the control field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Notation {
    /// `[B01----:R0:W2:Y:S05]`, before the instruction.
    #[default]
    Bracket,
    /// `&req={0,1} &rd=0x0 &wr=0x2 ?trans5`, after the instruction.
    Nv,
    /// `[0x1ff0a5]`, before the instruction.
    Hex,
    /// No control field.
    None,
}

impl Notation {
    /// Every notation.
    pub const ALL: [Notation; 4] = [Notation::Bracket, Notation::Nv, Notation::Hex, Notation::None];

    /// Its name on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            Notation::Bracket => "bracket",
            Notation::Nv => "nv",
            Notation::Hex => "hex",
            Notation::None => "none",
        }
    }

    /// Whether it is written before the instruction.
    pub const fn is_prefix(self) -> bool {
        matches!(self, Notation::Bracket | Notation::Hex)
    }

    /// Writes a control field.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write(self, out: &mut impl fmt::Write, control: &Control) -> fmt::Result {
        match self {
            Notation::Bracket => bracket(out, control),
            Notation::Nv => nv(out, control),
            Notation::Hex => match control.encode() {
                Ok(field) => {
                    write!(out, "[{field:#08x}")?;
                    marked(out, PM, control.pm)?;
                    out.write_str("]")
                }
                Err(_) => out.write_str("[illegal]"),
            },
            Notation::None => Ok(()),
        }
    }

    /// Reads a field that [`write`](Self::write) wrote. Only the hexadecimal notation includes
    /// reuse flags, and [`Notation::None`] stands for the plain field.
    ///
    /// # Errors
    /// If the text is malformed or names a field that the machine does not take.
    pub fn parse(self, text: &str) -> Result<Control, NotationError> {
        let text = text.trim();
        let control = match self {
            Notation::Bracket => parse_bracket(text),
            Notation::Nv => parse_nv(text),
            Notation::Hex => {
                let (field, pm) =
                    parse_hex(text).ok_or_else(|| NotationError::Malformed(text.to_string()))?;
                let control = Control::decode(field).map_err(NotationError::Illegal)?;
                Some(Control { pm, ..control })
            }
            Notation::None if text.is_empty() => Some(Control::plain()),
            Notation::None => None,
        };
        let control = control.ok_or_else(|| NotationError::Malformed(text.to_string()))?;
        control.check().map_err(NotationError::Illegal)?;
        Ok(control)
    }
}

impl FromStr for Notation {
    type Err = String;

    fn from_str(text: &str) -> Result<Notation, String> {
        let found = Notation::ALL.into_iter().find(|notation| notation.name() == text);
        found.ok_or_else(|| format!("`{text}` is no notation: bracket, nv, hex or none"))
    }
}

/// Why a control field could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotationError {
    /// The text does not follow the notation.
    Malformed(String),
    /// The field is not legal.
    Illegal(Illegal),
}

impl fmt::Display for NotationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotationError::Malformed(text) => write!(f, "`{text}` is no control field"),
            NotationError::Illegal(why) => write!(f, "{why}"),
        }
    }
}

impl std::error::Error for NotationError {}

/// A control field in brackets, without the rare parts at its end.
pub(super) fn bracket_head(control: &Control) -> [u8; 20] {
    // Every instruction has such a field, so it is filled into a fixed text.
    let mut field = *b"[B------:R-:W-:-:S00";
    for index in 0..Control::SCOREBOARDS {
        if control.wait_mask >> index & 1 != 0 {
            field[2 + usize::from(index)] = b'0' + index;
        }
    }
    for (place, barrier) in [(10, control.read_barrier), (13, control.write_barrier)] {
        if let Some(index) = barrier {
            field[place] = digit(index);
        }
    }
    if control.yield_hint {
        field[15] = b'Y';
    }
    field[18..].copy_from_slice(&[digit(control.stall / 10), digit(control.stall % 10)]);
    field
}

/// The rest of a control field in brackets.
pub(super) fn bracket_tail(out: &mut impl fmt::Write, control: &Control) -> fmt::Result {
    marked(out, BATCH, control.batch)?;
    marked(out, PM, control.pm)?;
    out.write_str("]")
}

fn bracket(out: &mut impl fmt::Write, control: &Control) -> fmt::Result {
    out.write_str(std::str::from_utf8(&bracket_head(control)).map_err(|_| fmt::Error)?)?;
    bracket_tail(out, control)
}

/// The digit of a small number, or a question mark for a number that no field of the machine holds.
fn digit(value: u8) -> u8 {
    if value < 10 { b'0' + value } else { b'?' }
}

/// The marks before a batch code and the PM bits inside brackets.
const BATCH: char = 'T';
const PM: char = 'P';

/// `:T5`, and nothing for 0.
fn marked(out: &mut impl fmt::Write, mark: char, value: u8) -> fmt::Result {
    if value == 0 { Ok(()) } else { write!(out, ":{mark}{value}") }
}

/// The value after a mark; it is never 0, since a 0 is not written.
fn parse_marked(field: &str, mark: char) -> Option<u8> {
    field.strip_prefix(mark)?.parse().ok().filter(|&value| value != 0)
}

fn parse_hex(text: &str) -> Option<(u32, u8)> {
    let inner = text.strip_prefix("[0x")?.strip_suffix(']')?;
    let (digits, pm) = match inner.split_once(':') {
        Some((digits, pm)) => (digits, parse_marked(pm, PM)?),
        None => (inner, 0),
    };
    Some((u32::from_str_radix(digits, 16).ok()?, pm))
}

fn parse_bracket(text: &str) -> Option<Control> {
    let mut fields = text.strip_prefix('[')?.strip_suffix(']')?.split(':');
    let waits = fields.next()?.strip_prefix('B')?.as_bytes();
    if waits.len() != usize::from(Control::SCOREBOARDS) {
        return None;
    }
    let mut wait_mask = 0;
    for (index, &place) in waits.iter().enumerate() {
        match place {
            b'-' => {}
            digit if usize::from(digit) == usize::from(b'0') + index => wait_mask |= 1 << index,
            _ => return None,
        }
    }
    let mut barrier = |letter| match fields.next()?.strip_prefix(letter)? {
        "-" => Some(None),
        index => index.parse().ok().map(Some),
    };
    let (read_barrier, write_barrier) = (barrier('R')?, barrier('W')?);
    let yield_hint = match fields.next()? {
        "Y" => true,
        "-" => false,
        _ => return None,
    };
    let stall = fields.next()?.strip_prefix('S')?.parse().ok()?;
    let mut control =
        Control { stall, yield_hint, write_barrier, read_barrier, wait_mask, ..Control::plain() };
    let mut rest = fields.next();
    for (mark, value) in [(BATCH, &mut control.batch), (PM, &mut control.pm)] {
        if let Some(field) = rest.filter(|field| field.starts_with(mark)) {
            *value = parse_marked(field, mark)?;
            rest = fields.next();
        }
    }
    rest.is_none().then_some(control)
}

fn nv(out: &mut impl fmt::Write, control: &Control) -> fmt::Result {
    if control.wait_mask != 0 {
        out.write_str("&req={")?;
        for (position, index) in control.waits().enumerate() {
            write!(out, "{}{index}", if position == 0 { "" } else { "," })?;
        }
        out.write_str("} ")?;
    }
    for (name, barrier) in [("rd", control.read_barrier), ("wr", control.write_barrier)] {
        if let Some(index) = barrier {
            write!(out, "&{name}={index:#x} ")?;
        }
    }
    match (control.yield_hint, control.stall) {
        (false, stall) => write!(out, "?trans{stall}"),
        (true, 0) => out.write_str("?DRAIN"),
        (true, stall) => write!(out, "?WAIT{stall}_END_GROUP"),
    }?;
    if let Some(name) = batch_name(control.batch) {
        write!(out, " {name}")?;
    }
    match control.pm {
        0 => Ok(()),
        bits => write!(out, " ?PM{bits}"),
    }
}

/// The names of the batch codes in NVIDIA's disassembler; the third has no name there.
const BATCHES: [&str; 5] = ["?BATCH_START", "?BATCH_START_TILE", "?BATCH_3", "?BATCH_END", "?BARRIER_EXEMPT"];

fn batch_name(code: u8) -> Option<&'static str> {
    BATCHES.get(usize::from(code).checked_sub(1)?).copied()
}

fn parse_nv(text: &str) -> Option<Control> {
    let mut control = Control { stall: 0, yield_hint: true, ..Control::plain() };
    let mut has_stall = false;
    for word in text.split_ascii_whitespace() {
        if let Some(list) = word.strip_prefix("&req={") {
            for index in list.strip_suffix('}')?.split(',') {
                let index: u8 = index.parse().ok()?;
                control.wait_mask |= 1u8.checked_shl(u32::from(index))?;
            }
        } else if let Some(index) = word.strip_prefix("&rd=0x") {
            control.read_barrier = Some(u8::from_str_radix(index, 16).ok()?);
        } else if let Some(index) = word.strip_prefix("&wr=0x") {
            control.write_barrier = Some(u8::from_str_radix(index, 16).ok()?);
        } else if let Some(place) = BATCHES.iter().position(|&name| name == word) {
            control.batch = place as u8 + 1;
        } else if let Some(bits) = word.strip_prefix("?PM") {
            control.pm = bits.parse().ok()?;
        } else {
            has_stall = !has_stall;
            if let Some(stall) = word.strip_prefix("?trans") {
                control.yield_hint = false;
                control.stall = stall.parse().ok()?;
            } else if word != "?DRAIN" {
                let stall = word.strip_prefix("?WAIT")?.strip_suffix("_END_GROUP")?;
                control.stall = stall.parse().ok()?;
            }
        }
    }
    has_stall.then_some(control)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(notation: Notation, control: &Control) -> String {
        let mut out = String::new();
        notation.write(&mut out, control).unwrap();
        out
    }

    #[test]
    fn one_field_in_every_notation() {
        let control = Control {
            stall: 5,
            yield_hint: true,
            write_barrier: Some(2),
            read_barrier: Some(0),
            wait_mask: 0b11,
            ..Control::plain()
        };
        assert_eq!(text(Notation::Bracket, &control), "[B01----:R0:W2:Y:S05]");
        assert_eq!(text(Notation::Nv, &control), "&req={0,1} &rd=0x0 &wr=0x2 ?WAIT5_END_GROUP");
        assert_eq!(text(Notation::Hex, &control), "[0x001845]");
        assert_eq!(text(Notation::Nv, &Control::plain()), "?trans1");
        let rare = Control { batch: 5, pm: 2, ..control };
        assert_eq!(text(Notation::Bracket, &rare), "[B01----:R0:W2:Y:S05:T5:P2]");
        assert_eq!(
            text(Notation::Nv, &rare),
            "&req={0,1} &rd=0x0 &wr=0x2 ?WAIT5_END_GROUP ?BARRIER_EXEMPT ?PM2"
        );
        assert_eq!(text(Notation::Hex, &rare), "[0x0a1845:P2]");
    }

    #[test]
    fn nonsense_is_refused() {
        for notation in [Notation::Bracket, Notation::Nv, Notation::Hex] {
            for junk in [
                "",
                "[",
                "[B:R:W:Y:S]",
                "[B1-----:R-:W-:-:S01]",
                "&req={9} ?trans1",
                "?WAIT",
                "[0xzz]",
                "[B------:R-:W-:Y:S01:T0]",
                "[B------:R-:W-:Y:S01:P1:T1]",
                "[B------:R-:W-:Y:S01:T6]",
                "[0x0007f1:T1]",
                "?trans1 ?BATCH_END",
                "?trans1 ?PM4",
            ] {
                assert!(notation.parse(junk).is_err(), "{notation:?} {junk}");
            }
        }
        let long = Notation::Bracket.parse("[B------:R-:W-:-:S13]");
        assert_eq!(long, Err(NotationError::Illegal(Illegal::StallNeedsYield(13))));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn every_notation_survives(field in 0u32..1 << 20, pm in 0u8..4) {
            if let Ok(mut control) = Control::decode(field) {
                control.pm = pm;
                prop_assert_eq!(Notation::Hex.parse(&text(Notation::Hex, &control)), Ok(control));
                control.reuse = 0;
                for notation in [Notation::Bracket, Notation::Nv] {
                    prop_assert_eq!(notation.parse(&text(notation, &control)), Ok(control));
                }
            }
        }
    }
}
