//! Names of slots and modifier values that are checked when the code that uses them is compiled.
//!
//! In: an operation and a text. Out: a position in its row. Each macro here expands to a constant, so a name
//! that the table lacks is an error of the compiler:
//!
//! | macro | the name must be in | for |
//! |---|---|---|
//! | [`choice!`](crate::choice) | every row that the macro lists | [`Inst::with`](crate::Inst::with) |
//! | [`slot!`](crate::slot) | every row that the macro lists | [`Inst::slot`](crate::Inst::slot) |
//! | [`value!`](crate::value) | some row | questions about an instruction whose row is not known: [`Inst::is`](crate::Inst::is) |
//! | [`slot_name!`](crate::slot_name) | some row | the same: [`Inst::get`](crate::Inst::get) |

use super::modifier::ModKind;
use super::modifier::Mods;
use super::{Op, Row};

/// A modifier value of a row, made by [`choice!`](crate::choice).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    op: Op,
    /// The position of the modifier in the row.
    position: u8,
    /// The position of the value in the modifier.
    value: u8,
}

/// What [`choice!`](crate::choice) gives: values of one row, or one value of several rows.
pub type Choices = &'static [Choice];

/// A slot of a row, made by [`slot!`](crate::slot).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpSlot {
    op: Op,
    /// The position of the slot in the row.
    index: u8,
}

/// What [`slot!`](crate::slot) gives: one slot of each of the rows.
pub type OpSlots = &'static [OpSlot];

/// A modifier value of at least one row, made by [`value!`](crate::value).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModValue {
    pub(crate) kind: ModKind,
    pub(crate) text: &'static str,
}

/// The name of a slot of at least one row, made by [`slot_name!`](crate::slot_name).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotName(&'static str);

/// Modifier values of a row by their texts, `choice!(SHF, ".L", ".U32")`, or one value of several rows,
/// `choice!(FADD | FMUL, ".FTZ")`.
///
/// If two modifiers of a row share the text, name the [kind](crate::ModKind) too:
/// `choice!(F2F_HALF, DataType = ".F16")`. A text that a row lacks does not compile:
///
/// ```
/// use ptxc_sass::{Inst, Op, PReg, choice};
/// let load: Inst<PReg> = Inst::new(Op::LDG).with(choice!(LDG, ".128"));
/// ```
/// ```compile_fail
/// use ptxc_sass::{Inst, Op, PReg, choice};
/// let load: Inst<PReg> = Inst::new(Op::LDG).with(choice!(LDG, ".182"));
/// ```
#[macro_export]
macro_rules! choice {
    ($($op:ident)|+, $kind:ident = $text:literal) => {
        const {
            const CHOICES: $crate::Choices = &[$($crate::Op::$op.choice_of($crate::ModKind::$kind, $text)),+];
            CHOICES
        }
    };
    ($op:ident, $($text:literal),+) => {
        const {
            const CHOICES: $crate::Choices = &[$($crate::Op::$op.choice($text)),+];
            CHOICES
        }
    };
    ($($op:ident)|+, $text:literal) => {
        const {
            const CHOICES: $crate::Choices = &[$($crate::Op::$op.choice($text)),+];
            CHOICES
        }
    };
}

/// A slot of one or several rows, by its name: `slot!(VOTE, "d")`, `slot!(ISETP | FSETP, "ps")`. A name that a row
/// lacks does not compile:
///
/// ```
/// use ptxc_sass::{Inst, Op, Operand, PReg, slot};
/// let vote: Inst<PReg> = Inst::new(Op::VOTE).slot(slot!(VOTE, "ps"), Operand::pt());
/// ```
/// ```compile_fail
/// use ptxc_sass::{Inst, Op, Operand, PReg, slot};
/// let vote: Inst<PReg> = Inst::new(Op::VOTE).slot(slot!(VOTE, "sp"), Operand::pt());
/// ```
#[macro_export]
macro_rules! slot {
    ($($op:ident)|+, $name:literal) => {
        const {
            const SLOTS: $crate::OpSlots = &[$($crate::Op::$op.slot($name)),+];
            SLOTS
        }
    };
}

/// A modifier value, by kind and text, for questions about an instruction of any row: `value!(Size = ".64")`. A text
/// that no row has for a modifier of that kind does not compile:
///
/// ```
/// use ptxc_sass::{Inst, Op, PReg, value};
/// assert!(!Inst::<PReg>::new(Op::LDG).is(value!(Size = ".64")));
/// ```
/// ```compile_fail
/// use ptxc_sass::{Inst, Op, PReg, value};
/// assert!(!Inst::<PReg>::new(Op::LDG).is(value!(Size = ".46")));
/// ```
#[macro_export]
macro_rules! value {
    ($kind:ident = $text:literal) => {
        const {
            const VALUE: $crate::ModValue = $crate::ModValue::new($crate::ModKind::$kind, $text);
            VALUE
        }
    };
}

/// The name of a slot, for questions about an instruction of any row: `slot_name!("addr")`. A name that no row has
/// does not compile:
///
/// ```
/// use ptxc_sass::{Inst, Op, PReg, slot_name};
/// assert!(Inst::<PReg>::new(Op::LDG).get(slot_name!("addr")).is_some());
/// ```
/// ```compile_fail
/// use ptxc_sass::{Inst, Op, PReg, slot_name};
/// assert!(Inst::<PReg>::new(Op::LDG).get(slot_name!("adr")).is_some());
/// ```
#[macro_export]
macro_rules! slot_name {
    ($name:literal) => {
        const {
            const NAME: $crate::SlotName = $crate::SlotName::new($name);
            NAME
        }
    };
}

impl Op {
    /// The modifier value with that text. Use [`choice!`](crate::choice).
    ///
    /// # Panics
    /// If no modifier of the row has the value, or several have.
    #[doc(hidden)]
    pub const fn choice(self, text: &str) -> Choice {
        let mods = self.row().mods;
        let mut found = None;
        let mut position = 0;
        while position < mods.len() {
            if let Some(value) = position_of(mods[position].values, text) {
                assert!(found.is_none(), "two modifiers of the row have this value: name the kind");
                found = Some(Choice { op: self, position: position as u8, value });
            }
            position += 1;
        }
        found.expect("the row has no modifier with this value")
    }

    /// The value with that text of the modifier of that kind. Use [`choice!`](crate::choice).
    ///
    /// # Panics
    /// If the row has no such modifier, or the modifier no such value.
    #[doc(hidden)]
    pub const fn choice_of(self, kind: ModKind, text: &str) -> Choice {
        let (position, value) =
            self.row().value(kind, text).expect("the row has no modifier of this kind with this value");
        Choice { op: self, position, value }
    }

    /// The slot of that name. Use [`slot!`](crate::slot).
    ///
    /// # Panics
    /// If the row has no such slot.
    #[doc(hidden)]
    pub const fn slot(self, name: &str) -> OpSlot {
        let index = self.row().slot(name).expect("the row has no slot of this name");
        OpSlot { op: self, index: index as u8 }
    }
}

impl Row {
    /// The positions of a modifier, by its kind, and of one of its values.
    const fn value(&self, kind: ModKind, text: &str) -> Option<(u8, u8)> {
        let mut position = 0;
        while position < self.mods.len() {
            if self.mods[position].kind as u8 == kind as u8
                && let Some(value) = position_of(self.mods[position].values, text)
            {
                return Some((position as u8, value));
            }
            position += 1;
        }
        None
    }

    /// The position of the slot of that name.
    pub const fn slot(&self, name: &str) -> Option<usize> {
        let mut index = 0;
        while index < self.slots.len() {
            if are_equal(self.slots[index].name, name) {
                return Some(index);
            }
            index += 1;
        }
        None
    }
}

impl Choice {
    /// Makes those of the choices that are of that row.
    ///
    /// # Panics
    /// If none is.
    #[inline]
    pub(crate) fn make(choices: Choices, op: Op, mods: &mut Mods) {
        let mut is_listed = false;
        for choice in choices.iter().filter(|choice| choice.op == op) {
            mods.set(usize::from(choice.position), choice.value);
            is_listed = true;
        }
        if !is_listed {
            is_not_listed(op);
        }
    }
}

impl OpSlot {
    /// The position of the one of the slots that is of that row.
    ///
    /// # Panics
    /// If none is.
    #[inline]
    pub(crate) fn of(slots: OpSlots, op: Op) -> usize {
        match slots.iter().find(|slot| slot.op == op) {
            Some(slot) => usize::from(slot.index),
            None => is_not_listed(op),
        }
    }
}

impl ModValue {
    /// The value with that text of modifiers of that kind. Use [`value!`](crate::value).
    ///
    /// # Panics
    /// If no row has it.
    #[doc(hidden)]
    pub const fn new(kind: ModKind, text: &'static str) -> ModValue {
        let mut index = 0;
        while index < Op::ALL.len() {
            if Op::ALL[index].row().value(kind, text).is_some() {
                return ModValue { kind, text };
            }
            index += 1;
        }
        panic!("no row has a modifier of this kind with this value")
    }
}

impl SlotName {
    /// The slots of that name. Use [`slot_name!`](crate::slot_name).
    ///
    /// # Panics
    /// If no row has one.
    #[doc(hidden)]
    pub const fn new(name: &'static str) -> SlotName {
        let mut index = 0;
        while index < Op::ALL.len() {
            if Op::ALL[index].row().slot(name).is_some() {
                return SlotName(name);
            }
            index += 1;
        }
        panic!("no row has a slot of this name")
    }

    /// The name.
    pub const fn text(self) -> &'static str {
        self.0
    }
}

/// Reports a macro whose list of rows lacks the row of the instruction at hand.
#[cold]
fn is_not_listed(op: Op) -> ! {
    panic!("`{op:?}` is not among the rows that the macro lists")
}

const fn position_of(texts: &[&str], text: &str) -> Option<u8> {
    let mut index = 0;
    while index < texts.len() {
        if are_equal(texts[index], text) {
            return Some(index as u8);
        }
        index += 1;
    }
    None
}

const fn are_equal(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    let mut index = 0;
    while index < one.len() {
        if one[index] != other[index] {
            return false;
        }
        index += 1;
    }
    true
}
