//! Prepares the instruction table of `check`: reads the rows in `src/check/instructions/*.txt` and
//! writes them as Rust, so that the program has them as data. Reading them at startup would take a
//! tenth of the time of a small kernel.
//!
//! `build_names.rs` writes the enums of instructions and modifiers. `check::table` describes the
//! rows; the modules here are those of the crate.

use std::fmt::Write;
use std::path::Path;

use check::needs::Needs;
use check::table::lines::rows;
use check::table::row::{Choice, Kind, Operand, Row, Value};
use names::variant;

#[path = "build_names.rs"]
mod names;

#[path = "src/check"]
#[expect(dead_code, reason = "the crate uses what the build does not")]
mod check {
    pub mod needs;
    pub mod scalar;

    pub mod table {
        /// The names of instructions and modifiers. The build script writes enums from them; the
        /// crate has the enums instead.
        pub mod names {
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub struct Mnemonic(pub &'static str);

            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub struct Modifier(pub &'static str);

            impl Mnemonic {
                pub fn named(name: &str) -> Mnemonic {
                    Mnemonic(name.to_string().leak())
                }
            }

            impl Modifier {
                pub fn named(name: &'static str) -> Option<Modifier> {
                    Some(Modifier(name))
                }
            }
        }

        pub mod lines;
        pub mod read;
        pub mod row;
    }
}

/// The names of the files, in the order of the table.
const FILES: [&str; 15] = [
    "integer",
    "float",
    "compare",
    "logic",
    "move",
    "memory",
    "atomic",
    "warp",
    "synchronize",
    "control",
    "async",
    "matrix",
    "tensor",
    "texture",
    "video",
];

fn main() {
    if let Err(wrong) = generate() {
        println!("cargo::error={wrong}");
    }
}

fn generate() -> Result<(), String> {
    println!("cargo::rerun-if-changed=src/check/instructions");
    for source in
        ["build.rs", "build_names.rs", "src/check/needs.rs", "src/check/scalar.rs", "src/check/table"]
    {
        println!("cargo::rerun-if-changed={source}");
    }
    let folder = Path::new("src/check/instructions");
    let error_at = |path: &Path| {
        let path = path.display().to_string();
        move |error: std::io::Error| format!("{path}: {error}")
    };
    let mut files = Vec::new();
    for name in FILES {
        let path = folder.join(format!("{name}.txt"));
        let text = std::fs::read_to_string(&path).map_err(error_at(&path))?;
        files.push((name, &*text.leak()));
    }
    let there = std::fs::read_dir(folder).map_err(error_at(folder))?.count();
    if there != FILES.len() {
        return Err(format!("{}: {there} files, and {} in `build.rs`", folder.display(), FILES.len()));
    }
    let kinds = Path::new("src/check/table/modifiers.txt");
    let kinds = std::fs::read_to_string(kinds).map_err(error_at(kinds))?;
    let rows = rows(&files)?;
    let out = std::env::var("OUT_DIR").map_err(|error| format!("OUT_DIR: {error}"))?;
    for (name, text) in [("rows.rs", source(&rows)), ("names.rs", names::source(&rows, &kinds)?)] {
        let out = Path::new(&out).join(name);
        std::fs::write(&out, text).map_err(error_at(&out))?;
    }
    Ok(())
}

/// The table as Rust.
fn source(rows: &[Row]) -> String {
    let mut out = String::new();
    let mut lists = Lists::default();
    let list: String = rows.iter().map(|row| format!("    {},\n", lists.row(row))).collect();
    for (number, choices) in lists.choices.iter().enumerate() {
        let choices: Vec<String> = choices.iter().map(choice).collect();
        writeln!(out, "static C{number}: [Choice; {}] = [{}];", choices.len(), choices.join(", "))
            .expect(FITS);
    }
    writeln!(out, "pub(super) static ROWS: [Row; {}] = [\n{list}];", rows.len()).expect(FITS);
    let mut first = 0;
    let mut instructions = Vec::new();
    for rows in rows.chunk_by(|one, next| one.mnemonic == next.mnemonic) {
        instructions.push((rows[0].mnemonic, first, first + rows.len()));
        first += rows.len();
    }
    instructions.sort_unstable();
    let count = instructions.len();
    writeln!(out, "pub(super) static INSTRUCTIONS: [(&str, u16, u16); {count}] = {instructions:?};")
        .expect(FITS);
    out
}

/// The reason that writing text can't fail.
const FITS: &str = "a string takes all";

/// The lists of alternatives so far: most occur in many rows.
#[derive(Default)]
struct Lists {
    choices: Vec<&'static [Choice]>,
}

impl Lists {
    fn row(&mut self, row: &Row) -> String {
        let groups = row.groups.iter().map(|group| {
            let list = match self.choices.iter().position(|&list| list == group.choices) {
                Some(list) => list,
                None => {
                    self.choices.push(group.choices);
                    self.choices.len() - 1
                }
            };
            format!(
                "Group {{ keeps_order: {}, label: {:?}, choices: &C{list}, presence: Presence::{:?} }}",
                group.keeps_order, group.label, group.presence
            )
        });
        let groups: Vec<String> = groups.collect();
        let operands: Vec<String> = row.operands.iter().map(operand).collect();
        format!(
            "Row {{ family: {:?}, mnemonic: {:?}, instruction: Mnemonic::{}, groups: &[{}], traces: {:#x}, demanded: {:?}, leading: {}, operands: &[{}], needs: {}, until: {:?}, before: {:?}, splits: {} }}",
            row.family,
            row.mnemonic,
            variant(row.instruction.0),
            groups.join(", "),
            row.traces,
            row.demanded,
            row.leading,
            operands.join(", "),
            needs(&row.needs),
            row.until,
            row.before,
            row.splits
        )
    }
}

fn needs(needs: &Needs) -> String {
    format!("Needs {{ version: {:?}, targets: &{:?} }}", needs.version, needs.targets)
}

fn choice(choice: &Choice) -> String {
    let needs = needs(&choice.needs);
    let modifier = match choice.modifier {
        Some(modifier) => format!("Some(Modifier::{})", variant(modifier.0)),
        None => "None".to_string(),
    };
    let Choice { text, scalar, .. } = choice;
    format!("Choice {{ text: {text:?}, scalar: {scalar:?}, modifier: {modifier}, needs: {needs} }}")
}

fn operand(operand: &Operand) -> String {
    let kind = match &operand.kind {
        Kind::Value(it) => format!("Value({})", value(it)),
        Kind::Constant(Some(range)) => format!("Constant(Some(&{range:?}))"),
        Kind::Address(space) => format!("Address(AddressSpace::{space:?})"),
        Kind::Pack(ty) => format!("Pack(TypeOf::{ty:?})"),
        kind => format!("{kind:?}"),
    };
    let Operand { written, presence, .. } = operand;
    format!("Operand {{ written: {written}, presence: OperandPresence::{presence:?}, kind: Kind::{kind} }}")
}

fn value(value: &Value) -> String {
    let Value { ty, wider, symbol, special, discard, negated, selected, lanes, second, range } = value;
    let second = match second {
        Some((ty, optional)) => format!("Some((TypeOf::{ty:?}, {optional}))"),
        None => "None".to_string(),
    };
    let range = match range {
        Some(range) => format!("Some(&{range:?})"),
        None => "None".to_string(),
    };
    format!(
        "Value {{ ty: TypeOf::{ty:?}, wider: {wider}, symbol: {symbol}, special: {special}, discard: {discard}, \
         negated: {negated}, selected: {selected}, lanes: Lanes::{lanes:?}, second: {second}, range: {range} }}"
    )
}
