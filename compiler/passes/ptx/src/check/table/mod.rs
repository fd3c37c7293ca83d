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
//! | `.t:{x}` directly after the mnemonic | `.x` has to be there, and is no part of the [instruction's name](Row::is_name) |
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
//! The build script reads the rows (`lines.rs`, `read.rs`) and writes them as data of the program (`compiler/passes/build.rs`), which
//! has nothing left to do but to find them. What is wrong with a row is an error of the build, with file and line.
//! It also makes [enums](names) of the instructions and of the modifiers.
//!
//! Adding an instruction is adding a row; a test looks at every row, and another asks ptxas about it where
//! ptxas is at hand.

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
    /// The first row of each instruction and the one behind its last, sorted by mnemonic.
    instructions: &'static [(&'static str, u16, u16)],
}

/// The table of this compiler.
pub static TABLE: Table = Table { rows: &rows::ROWS, instructions: &rows::INSTRUCTIONS };

impl Table {
    /// The forms of an instruction in the order of the table; none if there is no such instruction.
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
