//! The operands that a form takes: paired with the written operands, and in words.
//!
//! ```text
//! mad.lo.u32    =>    a `.u32` result, a `.u32` value, a `.u32` value, a `.u32` value
//! ```

use ptxc_syntax::ast::Operand;
use smallvec::SmallVec;

use super::forms::Form;
use super::table::{self, Kind, Lanes, OperandPresence};

/// Operands, each paired with its description in the form.
pub type Pairs<'o> = SmallVec<[(&'static table::Operand, &'o Operand); 6]>;

/// Pairs each operand with its description in the form; the error is the least and the greatest
/// number of operands, if there are too few or too many.
pub fn beside<'o>(form: &Form, operands: &'o [Operand]) -> Result<Pairs<'o>, (usize, usize)> {
    let there = |spec: &&table::Operand| match spec.presence {
        OperandPresence::With(group) => form.has(group),
        _ => true,
    };
    let expected = form.row.operands.iter().filter(there);
    let (mut least, mut most) = (0, 0);
    for spec in expected.clone() {
        most += 1;
        least += usize::from(spec.presence != OperandPresence::Optional);
    }
    if operands.len() < least || operands.len() > most {
        return Err((least, most));
    }
    // The first of the optional operands are the ones present.
    let mut extra = operands.len() - least;
    let mut written = operands.iter();
    let mut pairs = Pairs::new();
    for spec in expected {
        if spec.presence == OperandPresence::Optional {
            if extra == 0 {
                continue;
            }
            extra -= 1;
        }
        if let Some(operand) = written.next() {
            pairs.push((spec, operand));
        }
    }
    Ok(pairs)
}

/// The operands that the form of an opcode takes, in words.
pub fn in_words(form: &Form, opcode: &str) -> String {
    let words = form.row.operands.iter().filter_map(|spec| {
        let word = word(form, spec)?;
        match spec.presence {
            OperandPresence::With(group) if !form.has(group) => None,
            OperandPresence::Always | OperandPresence::With(_) => Some(word),
            OperandPresence::Optional => Some(format!("optionally {word}")),
        }
    });
    let words: Vec<String> = words.collect();
    match words.is_empty() {
        true => format!("`{opcode}` has no operands"),
        false => format!("operands in order: {}", words.join(", ")),
    }
}

/// One operand in words.
fn word(form: &Form, spec: &table::Operand) -> Option<String> {
    Some(match &spec.kind {
        Kind::Value(value) => {
            let ty = form.scalar(value.ty)?;
            let is_one = match value.lanes {
                Lanes::One => true,
                Lanes::Group(group) => !form.has(group),
                _ => false,
            };
            match (is_one, spec.written) {
                (true, true) => format!("a `{ty}` result"),
                (true, false) => format!("a `{ty}` value"),
                (false, true) => format!("`{ty}` results"),
                (false, false) => format!("`{ty}` values"),
            }
        }
        Kind::Constant(range) => range.map_or("a constant", |range| range.noun).to_string(),
        Kind::Address(_) => "an address in brackets".into(),
        Kind::Texture => "a texture or surface in brackets".into(),
        Kind::Pack(_) => "a vector in braces".into(),
        Kind::Discard => "`_`".into(),
        Kind::Label => "a label".into(),
        Kind::TargetList => "a list of labels".into(),
        Kind::Any | Kind::Call => "an operand".into(),
    })
}
