//! Reports the words of code that are not known instructions.

use ptxc_sass::Program;

/// The number of words of a program that are listed.
const LISTED: usize = 10;

/// A sentence about the words of a program that are not known instructions, if it has any.
pub(crate) fn sentence(program: &Program) -> Option<String> {
    let number = program.unknown.len();
    if number == 0 {
        return None;
    }
    let offset = |inst: u32| format!("{:#06x}", inst * Program::INST_BYTES);
    let mut places: Vec<String> =
        program.unknown.iter().take(LISTED).map(|unknown| offset(unknown.inst)).collect();
    places.extend((number > LISTED).then(|| "…".to_string()));
    let what = match number {
        1 => "1 word is not a known instruction".to_string(),
        _ => format!("{number} words are not known instructions"),
    };
    Some(format!("`{}`: {what}, at {}", program.name, places.join(", ")))
}
