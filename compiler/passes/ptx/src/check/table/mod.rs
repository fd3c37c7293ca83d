//! The instructions of PTX: the allowed forms of each, one row for each form.
//!
//! The rows are text, in `check/instructions/*.txt`, one file for each family:
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
//! **Opcode.** The mnemonic, or several mnemonics with the same forms, as in `{vmin,vmax}`.
//! Modifiers attached to the mnemonic must directly follow it in that order. The other modifiers,
//! after a space, may come in any order, as in ptxas; types, state spaces and layouts keep their
//! order among themselves.
//!
//! | written | means |
//! |---|---|
//! | `.x` | `.x` is required |
//! | `.{x,y}` | one of them is required |
//! | `.x?`, `.{x,y}?` | optional |
//! | `.{x,y}=x` | optional, with `.x` as the default |
//! | `.x?t` | required if the modifier `t` is present, and forbidden otherwise |
//! | `.t:{x,y}` | the same as `.{x,y}`, and operands call it `t` |
//! | `.t:{x}` directly after the mnemonic | `.x` is required, and is not part of the [instruction's name](Row::is_name) |
//! | `$set` inside braces | the members of the set |
//! | `x@7.8@sm_90a/sm_100f` | `.x` needs PTX 7.8, and sm_90a or the family of sm_100 |
//! Modifiers of one group exclude each other. Types, state spaces and layouts keep their order. If
//! two groups have the same members, such as the two types of `cvt`, the left group is filled
//! first.
//!
//! **Operands**, separated by commas.
//!
//! | written | means |
//! |---|---|
//! | `t`, `u32`, `wide-t` | a register or constant of the type that `.t:` stands for, of type `.u32`, twice as wide as `t` |
//! | `>t` | a register that is written |
//! | `t~` | the register may be wider (`ld`, `st`, `cvt`) |
//! | `t%`, `t&` | a special register, or the address of a variable or function, is allowed |
//! | `t_` | `_` is allowed |
//! | `t.` | a part may be selected, as in `a.b0`, and `-a` is allowed |
//! | `!pred` | may be negated |
//! | `t*shape/2` | a vector with half as many elements as the shape `shape` has columns |
//! | `t*v`, `t*2v`, `t*4`, `t*` | a vector with as many elements as the modifier `v` says (no vector without it), twice as many, of 4, of any size |
//! | `t\|pred`, `t\|pred?` | two destinations; with `?` the second is optional |
//! | `u32:barrier` | a constant here must be in the range `barrier`; findings quote the rule and the help of the range |
//! | `#`, `#barrier` | a constant |
//! | `{t}` | a vector whose elements together are as wide as `t` |
//! | `[space]`, `[shared]`, `[any]`, `[tensor]`, `[texture]` | an address in the space that the modifier `space` says, in `.shared`, in any space, in tensor memory; a texture with coordinates |
//! | `label`, `list`, `call` | a label, a `.branchtargets` list, the operands of a call |
//! | `>_`, `any` | only `_`; anything |
//! | `t?`, `t?hint` | optional; present exactly if the modifier `hint` is |
//!
//! **Conditions.** `ptx 6.0 sm_30`: the least version and target. `until 6.4 sm_70`: removed in PTX
//! 6.4 for sm_70 and later. `before 3.2 sm_20`: modules of PTX 3.2 and later for sm_20 and later do
//! not see the row; `before 1.4 sm_10` holds for every target. `split` at the end: earlier targets get the instruction too, split into
//! what they have, unless the check is strict.
//!
//! The build script reads the rows (`lines.rs`, `read.rs`) and writes them as data of the program
//! (`compiler/passes/build.rs`), so the program only looks them up. An error in a row fails the
//! build, with file and line number. The build script also makes [enums](names) of the instructions
//! and of the modifiers.
//!
//! To add an instruction, add a row. One test reads every row, and another asks ptxas about every
//! row if ptxas is available.

#[cfg(test)]
mod lines;
pub mod names;
#[cfg(test)]
mod read;
mod row;

pub use row::{
    AddressSpace, Choice, Group, Kind, Lanes, Operand, OperandPresence, Presence, Range, Row, TypeOf, Value,
    columns_of, trace,
};

pub use super::needs::Needs;
pub use names::{Mnemonic, Modifier, modifiers};

/// The rows as the build script wrote them.
mod rows {
    use super::super::needs::{Needs, PtxTarget, PtxVersion, TargetKind::*};
    use super::super::scalar::Scalar::*;
    use super::names::{Mnemonic, Modifier};
    use super::row::*;

    include!(concat!(env!("OUT_DIR"), "/rows.rs"));
}

/// The rows, found by mnemonic.
pub struct Table {
    /// Instruction by instruction.
    rows: &'static [Row],
    /// The first row of each instruction and the row after its last, sorted by mnemonic.
    instructions: &'static [(&'static str, u16, u16)],
}

/// The table of this compiler.
pub static TABLE: Table = Table { rows: &rows::ROWS, instructions: &rows::INSTRUCTIONS };

impl Table {
    /// The forms of an instruction in the order of the table; empty if there is no such
    /// instruction.
    pub fn forms(&self, mnemonic: &str) -> &'static [Row] {
        match self.instructions.binary_search_by_key(&mnemonic, |entry| entry.0) {
            Ok(at) => &self.rows[usize::from(self.instructions[at].1)..usize::from(self.instructions[at].2)],
            Err(_) => &[],
        }
    }

    /// Every mnemonic, in the order of the table.
    pub fn mnemonics(&self) -> impl Iterator<Item = &'static str> {
        self.rows.chunk_by(|one, next| one.mnemonic == next.mnemonic).map(|rows| rows[0].mnemonic)
    }

    /// Every row, instruction by instruction.
    pub fn rows(&self) -> &'static [Row] {
        self.rows
    }
}

#[cfg(test)]
mod tests;
