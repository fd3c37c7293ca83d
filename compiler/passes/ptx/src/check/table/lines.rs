//! Groups the lines of the table's files by instruction.

use super::read::{Definitions, mnemonics};
use super::row::Row;

/// The rows of files, each file with its name and its text. The rows are sorted by instruction, in
/// the order in which the files first name each instruction.
///
/// # Errors
/// The error in the first unreadable line, with file and line number.
pub fn rows(files: &[(&'static str, &'static str)]) -> Result<Vec<Row>, String> {
    let mut found: Vec<Row> = Vec::new();
    for &(name, text) in files {
        let lines = (1..).zip(text.lines().map(str::trim));
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let (definitions, lines): (Vec<_>, Vec<_>) = lines.partition(|(_, line)| Definitions::is_one(line));
        let place = |number: u32, wrong: String| format!("{name}.txt:{number}: {wrong}");
        let mut known = Definitions::default();
        for (number, line) in definitions {
            known.read(line).map_err(|wrong| place(number, wrong))?;
        }
        for (number, line) in lines {
            let (mnemonics, rest) = mnemonics(line).map_err(|wrong| place(number, wrong))?;
            for mnemonic in mnemonics.split(',').map(str::trim) {
                found.push(known.row(name, mnemonic, rest).map_err(|wrong| place(number, wrong))?);
            }
        }
    }
    // Sorts by the first row of the instruction; the rows of one instruction keep their order.
    let mut order: Vec<&str> = Vec::new();
    for row in &found {
        if !order.contains(&row.mnemonic) {
            order.push(row.mnemonic);
        }
    }
    found.sort_by_key(|row| order.iter().position(|&mnemonic| mnemonic == row.mnemonic));
    Ok(found)
}
