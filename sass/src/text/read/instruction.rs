//! A line with an instruction: its parts, and the errors about them.

use std::ops::Range;

use ptxc_machine::Arch;

use crate::text::error::{ErrorCode, TextError};
use crate::text::forms::{forms, similar};
use crate::text::notation::{Notation, NotationError};
use crate::text::parse::ParseError;
use crate::text::source::Line;

/// The parts of a line that has an instruction.
pub(super) struct Parts<'a> {
    /// The control field in the text: its notation, text and bytes.
    pub(super) control: Option<(Notation, &'a str, Range<usize>)>,
    pub(super) inst: &'a str,
    pub(super) span: Range<usize>,
    /// The text after the semicolon.
    pub(super) rest: Option<Range<usize>>,
}

impl<'a> Parts<'a> {
    pub(super) fn of(line: &Line<'a>) -> Parts<'a> {
        let code = line.code;
        let place = |part: &str| {
            let start = line.start + (part.as_ptr() as usize - code.as_ptr() as usize);
            start..start + part.len()
        };
        let (code, rest) = code.split_once(';').unwrap_or((code, ""));
        let rest = Some(rest.trim()).filter(|rest| !rest.is_empty()).map(place);
        let mut control = None;
        let mut inst = code.trim_end();
        if inst.starts_with('[') {
            let end = inst.find(']').map_or(inst.len(), |end| end + 1);
            let notation = if inst.starts_with("[0x") { Notation::Hex } else { Notation::Bracket };
            control = Some((notation, &inst[..end], place(&inst[..end])));
            inst = inst[end..].trim_start();
        }
        if let Some(at) = [" &", " ?", "\t&", "\t?"].iter().filter_map(|mark| inst.find(mark)).min() {
            let after = inst[at..].trim_start();
            // A second field is one too many; the field before the instruction is kept.
            control = control.or(Some((Notation::Nv, after, place(after))));
            inst = inst[..at].trim_end();
        }
        Parts { control, inst, span: place(inst), rest }
    }
}

/// The error of an instruction that cannot be read.
pub(super) fn unknown_inst(why: &ParseError, arch: Arch, inst: &str, span: Range<usize>) -> TextError {
    match why {
        ParseError::Mnemonic(mnemonic) => {
            let word = mnemonic.split('.').next().unwrap_or(mnemonic);
            let message = format!("`{word}` is no instruction that the table has");
            let error = TextError::new(ErrorCode::Mnemonic, span, message).label("not in the table");
            match similar(mnemonic, arch) {
                Some(known) => error.help(format!("there is `{known}`")),
                None => error,
            }
        }
        ParseError::Signs(_) => TextError::new(ErrorCode::Form, span, why.to_string())
            .label("the hardware raises an illegal instruction"),
        ParseError::Guard(_) => TextError::new(ErrorCode::Form, span, why.to_string())
            .note("a guard is `@P0` to `@P6` or `@UP0` to `@UP6`, negated `@!P0`"),
        _ => {
            let mnemonic = inst.split_whitespace().find(|word| !word.starts_with('@')).unwrap_or(inst);
            let error = TextError::new(ErrorCode::Form, span, why.to_string()).label("no such form");
            forms(mnemonic, arch)
                .into_iter()
                .fold(error, |error, form| error.note(format!("there is {form}")))
        }
    }
}

/// The error of a control field that cannot be read.
pub(super) fn wrong_control(why: &NotationError, notation: Notation, span: Range<usize>) -> TextError {
    let example = match notation {
        Notation::Bracket => "`[B01----:R0:W2:Y:S05]`",
        Notation::Nv => "`&req={0,1} &rd=0x0 &wr=0x2 ?trans5`",
        Notation::Hex | Notation::None => "`[0x0007f1]`, bits 105 to 125",
    };
    let (message, note) = match why {
        NotationError::Malformed(_) => ("this is no control field".to_string(), format!("a control field looks like {example}")),
        NotationError::Illegal(why) => (
            format!("illegal control field: {why}"),
            "a stall of 0, or of 12 and more, needs the yield hint; reuse flags exclude it; scoreboards are 0 to 5".to_string(),
        ),
    };
    TextError::new(ErrorCode::Control, span, message).note(note)
}
