//! The slots of a row, which hold its operands.

use ptxc_machine::{Arch, Archs};

use super::kinds::{Halves, ImmFormat, Kinds, Width};
use super::place::Place;
use crate::operand::{Address, Operand, OperandFlags, OperandKind};
use crate::register::{RegFile, Register};

/// Whether a slot is written or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Written.
    Def,
    /// Read.
    Use,
}

/// One operand position of a row, in the order of the text.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// A name for programs: `d`, `a`, `b`, `c`, `pd` (predicate result), `ps` (predicate source),
    /// `addr`, ….
    pub name: &'static str,
    /// Written or read.
    pub role: Role,
    /// The kinds of operands that may fill it.
    pub kinds: Kinds,
    /// The number of registers that it covers.
    pub width: Width,
    /// Whether a `-` may precede the operand.
    pub neg: bool,
    /// Whether the operand may stand between bars.
    pub abs: bool,
    /// Whether `~` or `!` may precede the operand.
    pub not: bool,
    /// Whether the operand may have a `-` or `~` only if those of the row's other such slots have
    /// none.
    pub sole_sign: bool,
    /// The reuse flag of the operand: 0 for a, 1 for b, 2 for c, 3 for the places in a sparse
    /// matrix.
    pub reuse: Option<u8>,
    /// The architectures on which it has that flag.
    pub reuse_on: Archs,
    /// Whether it has a default, PT, and is then set by name only.
    pub optional: bool,
    /// Whether the default is not printed.
    pub hidden: bool,
    /// The architectures on which the default is printed nevertheless.
    pub shown_on: Archs,
    /// The architectures on which the constant register cannot fill it.
    pub never_zero: Archs,
    /// The modifier that takes the place of the operand: the operand is then not printed, and stays
    /// at its default.
    pub hidden_with: Option<&'static str>,
    /// Whether the default is the complement (`!PT`): the absent carry of an extended addition.
    pub default_not: bool,
    /// How an immediate is printed.
    pub imm: ImmFormat,
    /// The halves of a register that it takes.
    pub halves: Halves,
    /// Whether only a space, without a comma, separates it from the previous slot.
    pub spaced: bool,
    /// Whether an address names its uniform register even if it has none: `[R0+URZ]`.
    pub names_uniform: bool,
    /// The architectures on which the offset of an address has a sign even if it stands alone.
    pub signed_alone: Archs,
    /// Whether it stands in brackets: a pair of uniform registers that holds an address.
    pub bracketed: bool,
    /// The text before the brackets: `gdesc`, `desc`.
    pub prefix: &'static str,
    /// The text after the operand: `.ROW`.
    pub suffix: &'static str,
    /// Whether it may be [empty](Slot::may_be_empty).
    pub is_empty_at_default: bool,
    /// Whether an address has 32 bits although the instruction has `.E`.
    pub narrow: bool,
    /// Whether an address has 64 bits, `.64`, although the instruction has no `.E`.
    pub wide: bool,
    /// Whether it may be filled any number of times, in an annotation after the operands: the
    /// targets of an indexed branch. Only the last slot of a row.
    pub repeated: bool,
    /// The kinds of operands that fill it on some of the row's architectures only.
    pub limits: &'static [(Kinds, Archs)],
    /// Its place in the encoding.
    pub place: Place,
}

impl Slot {
    const fn new(name: &'static str, role: Role, kinds: Kinds) -> Slot {
        Slot {
            name,
            role,
            kinds,
            width: Width::Fixed(1),
            neg: false,
            abs: false,
            not: false,
            sole_sign: false,
            reuse: None,
            reuse_on: Archs::TURING_TO_HOPPER,
            optional: false,
            hidden: false,
            shown_on: Archs::NONE,
            never_zero: Archs::NONE,
            hidden_with: None,
            default_not: false,
            imm: ImmFormat::Hex,
            halves: Halves::None,
            spaced: false,
            names_uniform: false,
            signed_alone: Archs::NONE,
            bracketed: false,
            prefix: "",
            suffix: "",
            is_empty_at_default: false,
            narrow: false,
            wide: false,
            repeated: false,
            limits: &[],
            place: Place::Nowhere,
        }
    }

    /// A slot that is written.
    pub const fn def(name: &'static str, kinds: Kinds) -> Slot {
        Slot::new(name, Role::Def, kinds)
    }

    /// A slot that is read.
    pub const fn read(name: &'static str, kinds: Kinds) -> Slot {
        Slot::new(name, Role::Use, kinds)
    }

    /// The same, covering that many registers.
    pub const fn width(mut self, width: Width) -> Slot {
        self.width = width;
        self
    }

    /// The same with those halves of a register.
    pub const fn halves(mut self, halves: Halves) -> Slot {
        self.halves = halves;
        self
    }

    /// The same with `-` allowed.
    pub const fn neg(mut self) -> Slot {
        self.neg = true;
        self
    }

    /// The same with bars allowed.
    pub const fn abs(mut self) -> Slot {
        self.abs = true;
        self
    }

    /// The same with `~` or `!` allowed.
    pub const fn not(mut self) -> Slot {
        self.not = true;
        self
    }

    /// The same with [`sole_sign`](Slot::sole_sign): only one of such slots may have a sign.
    pub const fn sole_sign(mut self) -> Slot {
        self.sole_sign = true;
        self
    }

    /// The same with the reuse flag of that number.
    pub const fn reuse(mut self, index: u8) -> Slot {
        self.reuse = Some(index);
        self
    }

    /// The same with PT (or UPT) as default, printed.
    pub const fn optional(mut self) -> Slot {
        self.optional = true;
        self
    }

    /// The same with PT (or UPT) as default, not printed.
    pub const fn hidden(mut self) -> Slot {
        self.optional = true;
        self.hidden = true;
        self
    }

    /// The same with its default, printed unless that modifier is chosen.
    pub const fn hidden_with(mut self, modifier: &'static str) -> Slot {
        self.hidden_with = Some(modifier);
        self
    }

    /// The same with `!PT` as default.
    pub const fn default_not(mut self) -> Slot {
        self.optional = true;
        self.default_not = true;
        self.not = true;
        self
    }

    /// The same with that format of immediates.
    pub const fn imm(mut self, format: ImmFormat) -> Slot {
        self.imm = format;
        self
    }

    /// The same with the reuse flag on those architectures only.
    pub const fn reuse_on(mut self, archs: Archs) -> Slot {
        self.reuse_on = archs;
        self
    }

    /// The same with a space before it, without a comma.
    pub const fn spaced(mut self) -> Slot {
        self.spaced = true;
        self
    }

    /// The same for addresses that name URZ if they have no uniform part.
    pub const fn names_uniform(mut self) -> Slot {
        self.names_uniform = true;
        self
    }

    /// The same for addresses whose offset has its sign on those architectures even if it stands
    /// alone.
    pub const fn signed_alone(mut self, archs: Archs) -> Slot {
        self.signed_alone = archs;
        self
    }

    /// The same in brackets.
    pub const fn bracketed(mut self) -> Slot {
        self.bracketed = true;
        self
    }

    /// The same in brackets after that word.
    pub const fn after_prefix(mut self, prefix: &'static str) -> Slot {
        self.prefix = prefix;
        self.bracketed()
    }

    /// The same with that text after the operand.
    pub const fn marked(mut self, suffix: &'static str) -> Slot {
        self.suffix = suffix;
        self
    }

    /// The same, but a program must fill it although it has a default.
    pub const fn required(mut self) -> Slot {
        self.optional = false;
        self
    }

    /// The same, with the default printed on those architectures nevertheless.
    pub const fn shown_on(mut self, archs: Archs) -> Slot {
        self.shown_on = archs;
        self
    }

    /// The same, except that the constant register cannot fill it on those architectures.
    pub const fn never_zero(mut self, archs: Archs) -> Slot {
        self.never_zero = archs;
        self
    }

    /// The same, with an operand that may be missing. The default stands for a missing operand; it
    /// is not printed and has [forms](super::place::Form) of its own.
    pub const fn may_be_empty(mut self) -> Slot {
        self.is_empty_at_default = true;
        self.hidden()
    }

    /// The same for addresses whose register is a pair whatever the modifiers, unless a uniform
    /// register is added to it. The width is written.
    pub const fn wide(mut self) -> Slot {
        self.wide = true;
        self
    }

    /// Whether an address in the slot has 64 bits, given the instruction's
    /// [extension](super::modifier::ModKind::Extended).
    pub const fn address_is_wide(&self, is_extended: bool) -> bool {
        self.wide || (is_extended && !self.narrow)
    }

    /// The same for addresses of 32 bits beside a longer one.
    pub const fn narrow(mut self) -> Slot {
        self.narrow = true;
        self
    }

    /// The same, filled any number of times.
    pub const fn repeated(mut self) -> Slot {
        self.repeated = true;
        self
    }

    /// The same, except that those kinds of operands fill it on those architectures only.
    pub const fn limited(mut self, limits: &'static [(Kinds, Archs)]) -> Slot {
        self.limits = limits;
        self
    }

    /// Whether operands of that kind can fill it on the architecture.
    pub fn accepts(&self, kinds: Kinds, arch: Arch) -> bool {
        self.kinds.contains(kinds) && !self.lacks(kinds, arch)
    }

    /// The architectures on which operands of that kind can fill it, if it takes them at all.
    pub fn archs(&self, kinds: Kinds) -> Archs {
        let limits = self.limits.iter().filter(|(limited, _)| limited.meets(kinds));
        limits.fold(super::UNLIMITED, |all, &(_, archs)| all.and(archs))
    }

    /// Whether operands of that kind can fill it on other architectures only.
    pub fn lacks(&self, kinds: Kinds, arch: Arch) -> bool {
        !self.archs(kinds).contains(arch)
    }

    /// The same as a number of `len` bits from bit `lo` on; the next bit is the sign of a
    /// predicate.
    pub const fn at(mut self, lo: u8, len: u8) -> Slot {
        self.place = Place::number(lo, len);
        self
    }

    /// The same at that place.
    pub const fn place(mut self, place: Place) -> Slot {
        self.place = place;
        self
    }

    /// The operand that fills the slot by default: the constant register of the first file that
    /// fits, else an immediate zero. It is an immediate zero, too, if the slot takes immediates and
    /// the text omits the default.
    pub const fn default_operand<R: Register>(&self) -> Operand<R> {
        let file = if self.kinds.contains(Kinds::P) {
            RegFile::Pred
        } else if self.kinds.contains(Kinds::UP) {
            RegFile::Upred
        } else if self.hidden && self.kinds.contains(Kinds::IMM) {
            return Operand::imm(0);
        } else if self.kinds.contains(Kinds::R) {
            RegFile::Gpr
        } else if self.kinds.contains(Kinds::UR) {
            RegFile::Ugpr
        } else if self.kinds.contains(Kinds::PREDICATES) {
            return Operand::predicates();
        } else {
            return Operand::imm(0);
        };
        let zero = Operand::zero(file);
        let zero = zero.half(self.halves.default_half());
        if self.default_not { zero.not() } else { zero }
    }

    /// Whether the slot takes these signs: negation, magnitude and complement.
    pub const fn takes_signs(&self, flags: OperandFlags) -> bool {
        (self.neg || !flags.neg) && (self.abs || !flags.abs) && (self.not || !flags.not)
    }

    /// Checks that an operand may fill the slot; the error says why not.
    pub fn check<R: Register>(&self, operand: &Operand<R>) -> Result<(), String> {
        // A function may be named by its place in the code.
        let is_place = matches!(operand.kind, OperandKind::Code(_)) && self.kinds.contains(Kinds::FUNCTION);
        if !self.kinds.contains(Kinds::of(operand)) && !is_place {
            return Err(format!("cannot be {}", operand.kind.describe()));
        }
        if matches!(operand.kind, OperandKind::Mem(address) if self.narrow && address.wide) {
            return Err("is an address of 32 bits".to_string());
        }
        let is_narrow =
            |address: Address<R>| !address.wide && address.base.is_some() && address.uniform.is_none();
        if matches!(operand.kind, OperandKind::Mem(address) if self.wide && is_narrow(address)) {
            return Err("is an address of 64 bits".to_string());
        }
        let flags = operand.flags;
        if !self.takes_signs(flags) {
            return Err("does not take the operand's sign".to_string());
        }
        if matches!(operand.kind, OperandKind::Imm(_)) && flags != OperandFlags::default() {
            return Err("an immediate holds its sign in its bits".to_string());
        }
        if !self.halves.takes(flags.half) && !matches!(operand.kind, OperandKind::Imm(_)) {
            return Err("does not take those halves of the operand".to_string());
        }
        Ok(())
    }
}
