//! The instructions of PTX: what each is allowed to look like, one row a form.
//!
//! The rows are text, in `check/instructions/*.txt`, one file a family:
//!
//! ```text
//! set rounding = rn, rz, rm, rp
//! range barrier = 0..15 "a barrier number"
//! range copy = 4..16 by 4 but 12 "a copy size in bytes"
//!
//! add   .rnd:{$rounding}? .ftz? .sat? .f32             | >f32, f32, f32
//! mul.wide  .t:{u16,s16,u32,s32}                       | >wide-t, t, t
//! ld    .weak? .space:{const,global}? .v:{v2,v4}? .t:{b32,f32} | >t~*v, [space]
//! bar.sync                                             | u32:barrier, u32:threads?
//! elect.sync                                           | >b32_|pred, b32  | ptx 8.0 sm_90
//! ```
//!
//! A row has up to three columns: opcode, operands, conditions.
//!
//! **Opcode.** The mnemonic, or several with the same forms as in `{vmin,vmax}`; modifiers attached to it stand directly behind it in that order; the others,
//! behind a space, in any order, as ptxas takes them (types, state spaces and layouts among themselves in theirs).
//!
//! | written | means |
//! |---|---|
//! | `.x` | `.x` has to be there |
//! | `.{x,y}` | one of them has to be there |
//! | `.x?`, `.{x,y}?` | may be left out |
//! | `.{x,y}=x` | left out, `.x` is meant |
//! | `.x?t` | has to be there if the modifier `t` is, and only then |
//! | `.t:{x,y}` | the same as `.{x,y}`, and operands call it `t` |
//! | `$set` inside braces | the members of the set |
//! | `x@7.8@sm_90a/sm_100f` | `.x` needs PTX 7.8, and sm_90a or the family of sm_100 |
//!
//! Modifiers of one group exclude each other. Types, state spaces and layouts keep their order; of two groups with the same members, such
//! as the two types of `cvt`, the left one is filled first.
//!
//! **Operands**, separated by commas.
//!
//! | written | means |
//! |---|---|
//! | `t`, `u32`, `wide-t` | a register or constant of the type that `.t:` stands for, of type `.u32`, twice as wide as `t` |
//! | `>t` | a register that is written |
//! | `t~` | the register may be wider (`ld`, `st`, `cvt`) |
//! | `t%`, `t&` | a special register, the address of a variable or function may stand there |
//! | `t_` | `_` may stand there |
//! | `t.` | a part may be selected, `a.b0`, and `-a` written |
//! | `!pred` | may be negated |
//! | `t*shape/2` | a vector with half as many elements as the shape `shape` has columns |
//! | `t*v`, `t*2v`, `t*4`, `t*` | a vector with as many elements as the modifier `v` says (none without it), twice as many, of 4, of any size |
//! | `t\|pred`, `t\|pred?` | two destinations; the second may be left out |
//! | `u32:barrier` | a constant there lies in the range `barrier`; a rule and a help of the range stand in what is said of others |
//! | `#`, `#barrier` | a constant |
//! | `{t}` | a vector whose elements together are as wide as `t` |
//! | `[space]`, `[shared]`, `[any]`, `[tensor]`, `[texture]` | an address in the space that the modifier `space` says, in `.shared`, in any, in tensor memory; texture and coordinates |
//! | `label`, `list`, `call` | a label, a `.branchtargets` list, the operands of a call |
//! | `>_`, `any` | `_` alone, anything |
//! | `t?`, `t?hint` | may be left out; is there exactly if the modifier `hint` is |
//!
//! **Conditions.** `ptx 6.0 sm_30`: the least version and target; `until 6.4 sm_70`: gone from PTX 6.4 on
//! for sm_70 and later; `split` at the end: earlier targets get it too, split into what they have, unless
//! the caller is strict.
//!
//! Adding an instruction is adding a row; a test reads every row, and another asks ptxas about it where
//! ptxas is at hand.

mod read;
mod row;

use std::sync::{LazyLock, OnceLock};

use read::Definitions;
pub use row::{
    AddressSpace, Choice, Group, Kind, Lanes, Needs, Operand, OperandPresence, Presence, Range, Row, TypeOf,
    Value, columns_of,
};
use rustc_hash::FxHashMap;

/// The files of the table with their names.
const FILES: &[(&str, &str)] = &[
    ("integer", include_str!("../instructions/integer.txt")),
    ("float", include_str!("../instructions/float.txt")),
    ("compare", include_str!("../instructions/compare.txt")),
    ("logic", include_str!("../instructions/logic.txt")),
    ("move", include_str!("../instructions/move.txt")),
    ("memory", include_str!("../instructions/memory.txt")),
    ("atomic", include_str!("../instructions/atomic.txt")),
    ("warp", include_str!("../instructions/warp.txt")),
    ("synchronize", include_str!("../instructions/synchronize.txt")),
    ("control", include_str!("../instructions/control.txt")),
    ("async", include_str!("../instructions/async.txt")),
    ("matrix", include_str!("../instructions/matrix.txt")),
    ("tensor", include_str!("../instructions/tensor.txt")),
    ("texture", include_str!("../instructions/texture.txt")),
    ("video", include_str!("../instructions/video.txt")),
];

/// The rows, found by mnemonic. Those of an instruction are read when it is first asked for: a file of PTX has few of them, and
/// reading all takes longer than lowering a small kernel.
#[derive(Default)]
pub struct Table {
    files: Vec<File>,
    lines: Vec<Line>,
    /// The instructions in the order of the files.
    instructions: Vec<Instruction>,
    by_mnemonic: FxHashMap<&'static str, u32>,
}

/// A file of the table.
struct File {
    name: &'static str,
    text: &'static str,
    /// What its rows refer to.
    definitions: OnceLock<Result<Definitions, String>>,
}

/// An instruction.
struct Instruction {
    mnemonic: &'static str,
    /// Its first line; each names the next.
    first: u32,
    last: u32,
    rows: OnceLock<Vec<Row>>,
}

/// A line, for one of its mnemonics.
struct Line {
    /// What stands behind the mnemonics.
    rest: &'static str,
    /// The index of its file.
    file: u16,
    /// Its number, from 1.
    number: u16,
    /// The next line of the same instruction.
    next: Option<u32>,
}

/// The table of this compiler.
pub static TABLE: LazyLock<Table> =
    LazyLock::new(|| Table::index(FILES).unwrap_or_else(|wrong| panic!("the instruction table: {wrong}")));

impl File {
    /// The lines that say something, with their numbers.
    fn lines(&self) -> impl Iterator<Item = (u16, &'static str)> {
        let lines = (1..).zip(self.text.lines().map(str::trim));
        lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
    }

    fn place(&self, number: u16, wrong: String) -> String {
        format!("{}.txt:{number}: {wrong}", self.name)
    }

    fn definitions(&self) -> Result<&Definitions, String> {
        let read = || {
            let mut definitions = Definitions::default();
            for (number, line) in self.lines().filter(|(_, line)| Definitions::is_one(line)) {
                definitions.read(line).map_err(|wrong| self.place(number, wrong))?;
            }
            Ok(definitions)
        };
        self.definitions.get_or_init(read).as_ref().map_err(String::clone)
    }
}

impl Table {
    /// An empty table with room for a number of lines.
    fn with_capacity(lines: usize) -> Table {
        Table {
            lines: Vec::with_capacity(lines),
            instructions: Vec::with_capacity(lines / 2),
            by_mnemonic: FxHashMap::with_capacity_and_hasher(lines / 2, Default::default()),
            ..Table::default()
        }
    }

    /// Finds out which lines are about which instruction. An error names file and line.
    fn index(files: &[(&'static str, &'static str)]) -> Result<Table, String> {
        let mut table = Table::with_capacity(1000);
        for (index, &(name, text)) in files.iter().enumerate() {
            let file = File { name, text, definitions: OnceLock::new() };
            for (number, line) in file.lines().filter(|(_, line)| !Definitions::is_one(line)) {
                let (mnemonics, rest) = read::mnemonics(line).map_err(|wrong| file.place(number, wrong))?;
                for mnemonic in mnemonics.split(',').map(str::trim) {
                    let new = table.lines.len() as u32;
                    let at = *table.by_mnemonic.entry(mnemonic).or_insert_with(|| {
                        let (first, last, rows) = (new, new, OnceLock::new());
                        table.instructions.push(Instruction { mnemonic, first, last, rows });
                        table.instructions.len() as u32 - 1
                    });
                    let last = std::mem::replace(&mut table.instructions[at as usize].last, new);
                    table.lines.push(Line { rest, file: index as u16, number, next: None });
                    if last != new {
                        table.lines[last as usize].next = Some(new);
                    }
                }
            }
            table.files.push(file);
        }
        Ok(table)
    }

    /// Reads the rows of an instruction. An error names file and line.
    fn read(&self, instruction: &Instruction) -> Result<Vec<Row>, String> {
        let line = |at: u32| &self.lines[at as usize];
        let lines = std::iter::successors(Some(line(instruction.first)), |before| before.next.map(line));
        let rows = lines.map(|line| {
            let file = &self.files[usize::from(line.file)];
            let row = file.definitions()?.row(instruction.mnemonic, line.rest);
            row.map_err(|wrong| file.place(line.number, wrong))
        });
        rows.collect()
    }

    fn rows_of<'a>(&'a self, instruction: &'a Instruction) -> &'a [Row] {
        let read = || self.read(instruction).unwrap_or_else(|wrong| panic!("the instruction table: {wrong}"));
        instruction.rows.get_or_init(read)
    }

    /// The forms of an instruction in the order of the table; none if there is no such instruction.
    pub fn forms(&self, mnemonic: &str) -> impl Iterator<Item = &Row> {
        let found = self.by_mnemonic.get(mnemonic).map(|&at| &self.instructions[at as usize]);
        found.into_iter().flat_map(|instruction| self.rows_of(instruction))
    }

    /// Every mnemonic, in the order of the table.
    pub fn mnemonics(&self) -> impl Iterator<Item = &'static str> {
        self.instructions.iter().map(|instruction| instruction.mnemonic)
    }

    /// Every row, instruction by instruction.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.instructions.iter().flat_map(|instruction| self.rows_of(instruction))
    }
}

#[cfg(test)]
mod tests;
