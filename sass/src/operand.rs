//! Operands: what fills a slot of an instruction.

use crate::register::{RegFile, Register};
use crate::special::SpecialReg;

/// A place in a program or function that branches name. In a [`Program`](crate::Program) it is an
/// index into the list of labels; in machine IR it is the number of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label(pub u32);

/// A function that code names: an index into the [functions](crate::Program::functions) of its
/// program. The first is the program's own. In machine IR, an index into its list of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionIndex(pub u32);

/// A memory address: `desc[UR4][R2.64+0x10]`, `[R8+UR4]`, `[UR4+-0x8]`, `[R0.X4+0x200]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address<R> {
    /// The register part; two neighbours if `wide`.
    pub base: Option<R>,
    /// Whether the register part is 64 bits (`.64`). Without a register part, if the pair of
    /// uniform registers alone is the address, whether `RZ` counts as 64 bits or 32 bits
    /// (`[RZ.U32+UR4]`, until sm_89): a bit encodes it, but it makes no difference.
    pub wide: bool,
    /// The factor of the register part: 1, 4, 8 or 16.
    pub scale: u8,
    /// The uniform part: added to the register part, or alone; two neighbours if the access takes
    /// 64-bit addresses ([extended](crate::ModKind::Extended)).
    pub uniform: Option<R>,
    /// The offset in bytes; 24 bits with sign.
    pub offset: i32,
    /// The uniform pair that holds the descriptor of the access.
    pub descriptor: Option<R>,
}

impl<R> Address<R> {
    /// `[base+offset]` with a 32-bit register.
    pub fn narrow(base: Option<R>, offset: i32) -> Address<R> {
        Address { base, wide: false, scale: 1, uniform: None, offset, descriptor: None }
    }

    /// `desc[descriptor][base.64+offset]`.
    pub fn global(base: R, offset: i32, descriptor: Option<R>) -> Address<R> {
        Address { base: Some(base), wide: true, scale: 1, uniform: None, offset, descriptor }
    }
}

/// The kind of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperandKind<R> {
    /// The constant register of a file: zero or true when read, nothing when written.
    Zero(RegFile),
    /// A register, or the first of as many as the slot is wide.
    Reg(R),
    /// 32 bits; the slot says whether they are printed as a float, signed or plain.
    Imm(u32),
    /// A word of a constant bank: `c[0x0][0x210]`.
    Const {
        /// The bank.
        bank: u8,
        /// The byte offset.
        offset: u32,
    },
    /// A word of a constant bank at an offset that a register holds: `c[0x3][R4+0x10]`.
    IndexedConst {
        /// The bank.
        bank: u8,
        /// The register: general for `LDC`, uniform for `ULDC`.
        index: R,
        /// The offset in bytes; 16 bits.
        offset: i32,
    },
    /// A memory address.
    Mem(Address<R>),
    /// A branch target.
    Label(Label),
    /// A place in the code that has no label yet, in bytes from the start of its section: the
    /// branch target of an instruction that was decoded alone.
    Code(i32),
    /// A function: the target of a call, or the base of a relative address in a register.
    Function(FunctionIndex),
    /// The end of the static shared memory of a kernel and of the functions that it calls, at the
    /// next multiple of this number of bytes: the start of dynamic shared memory. Linking makes an
    /// immediate of it.
    SharedEnd(u32),
    /// A special register, `SR_TID.X`.
    Special(SpecialReg),
    /// A convergence barrier, B0 to B15.
    Convergence(u8),
    /// All predicates P0 to P6 together; the mask of the instruction says which it reads or writes.
    Predicates,
}

impl<R: Register> OperandKind<R> {
    /// The name of the kind, for messages.
    pub fn describe(&self) -> &'static str {
        let of_file = |file: RegFile| match file {
            RegFile::Gpr => "a general register",
            RegFile::Ugpr => "a uniform register",
            RegFile::Pred => "a predicate",
            RegFile::Upred => "a uniform predicate",
        };
        match self {
            OperandKind::Zero(file) => of_file(*file),
            OperandKind::Reg(reg) => of_file(reg.file()),
            OperandKind::Imm(_) => "an immediate",
            OperandKind::Const { .. } => "a word of a constant bank",
            OperandKind::IndexedConst { .. } => "a word of a constant bank at an offset in a register",
            OperandKind::Mem(_) => "an address",
            OperandKind::Label(_) | OperandKind::Code(_) => "a place in the code",
            OperandKind::Function(_) => "a function",
            OperandKind::SharedEnd(_) => "the end of shared memory",
            OperandKind::Special(_) => "a special register",
            OperandKind::Convergence(_) => "a convergence barrier",
            OperandKind::Predicates => "all predicates",
        }
    }
}

/// The part of a register that an instruction on smaller values reads. Most such instructions work
/// on two halves, and this chooses the source of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HalfSelect {
    /// Each half reads its own.
    #[default]
    Both,
    /// Both read the low half: `R1.H0_H0`.
    Low,
    /// Both read the high half: `R1.H1_H1`.
    High,
    /// The register is one binary32 instead: `R1.F32`.
    Single,
    /// Its second byte: `R1.B1`.
    Byte1,
    /// Its third byte: `R1.B2`.
    Byte2,
    /// Its highest byte: `R1.B3`.
    Byte3,
}

impl HalfSelect {
    /// Every choice.
    pub const ALL: [HalfSelect; 7] = [
        HalfSelect::Both,
        HalfSelect::Low,
        HalfSelect::High,
        HalfSelect::Single,
        HalfSelect::Byte1,
        HalfSelect::Byte2,
        HalfSelect::Byte3,
    ];
}

/// Signs and the like on an operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct OperandFlags {
    /// `-R1`: the sign inverted, or the two's complement.
    pub neg: bool,
    /// `|R1|`: the magnitude.
    pub abs: bool,
    /// `~R1` or `!P0`: the complement.
    pub not: bool,
    /// `R1.H0_H0`: one half of it.
    pub half: HalfSelect,
}

impl OperandFlags {
    /// No flags.
    pub const NONE: OperandFlags =
        OperandFlags { neg: false, abs: false, not: false, half: HalfSelect::Both };
}

/// An operand with its flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operand<R> {
    /// Its kind.
    pub kind: OperandKind<R>,
    /// Its signs.
    pub flags: OperandFlags,
}

impl<R: Register> Operand<R> {
    const fn plain(kind: OperandKind<R>) -> Operand<R> {
        Operand { kind, flags: OperandFlags::NONE }
    }

    /// A register.
    pub const fn reg(reg: R) -> Operand<R> {
        Operand::plain(OperandKind::Reg(reg))
    }

    /// The constant register of a file.
    pub const fn zero(file: RegFile) -> Operand<R> {
        Operand::plain(OperandKind::Zero(file))
    }

    /// RZ.
    pub const fn rz() -> Operand<R> {
        Operand::zero(RegFile::Gpr)
    }

    /// PT.
    pub const fn pt() -> Operand<R> {
        Operand::zero(RegFile::Pred)
    }

    /// An immediate.
    pub const fn imm(bits: u32) -> Operand<R> {
        Operand::plain(OperandKind::Imm(bits))
    }

    /// A word of a constant bank.
    pub const fn constant(bank: u8, offset: u32) -> Operand<R> {
        Operand::plain(OperandKind::Const { bank, offset })
    }

    /// A word of a constant bank at an offset that a register holds.
    pub const fn indexed_constant(bank: u8, index: R, offset: i32) -> Operand<R> {
        Operand::plain(OperandKind::IndexedConst { bank, index, offset })
    }

    /// A memory address.
    pub const fn mem(address: Address<R>) -> Operand<R> {
        Operand::plain(OperandKind::Mem(address))
    }

    /// A branch target.
    pub const fn label(label: Label) -> Operand<R> {
        Operand::plain(OperandKind::Label(label))
    }

    /// A place in the code, in bytes.
    pub const fn code(offset: i32) -> Operand<R> {
        Operand::plain(OperandKind::Code(offset))
    }

    /// A function.
    pub const fn function(function: FunctionIndex) -> Operand<R> {
        Operand::plain(OperandKind::Function(function))
    }

    /// The end of shared memory at a multiple of that many bytes.
    pub const fn shared_end(align: u32) -> Operand<R> {
        Operand::plain(OperandKind::SharedEnd(align))
    }

    /// A special register.
    pub const fn special(reg: SpecialReg) -> Operand<R> {
        Operand::plain(OperandKind::Special(reg))
    }

    /// A convergence barrier.
    pub const fn convergence(index: u8) -> Operand<R> {
        Operand::plain(OperandKind::Convergence(index))
    }

    /// All predicates.
    pub const fn predicates() -> Operand<R> {
        Operand::plain(OperandKind::Predicates)
    }

    /// The operand negated; two negations cancel.
    pub const fn neg(mut self) -> Operand<R> {
        self.flags.neg = !self.flags.neg;
        self
    }

    /// Its magnitude.
    pub const fn abs(mut self) -> Operand<R> {
        self.flags = OperandFlags { neg: false, abs: true, ..self.flags };
        self
    }

    /// The operand with a choice of the half that an instruction on two halves reads.
    pub const fn half(mut self, half: HalfSelect) -> Operand<R> {
        self.flags.half = half;
        self
    }

    /// The operand complemented; two complements cancel.
    pub const fn not(mut self) -> Operand<R> {
        self.flags.not = !self.flags.not;
        self
    }

    /// The register, if it is one.
    pub const fn as_reg(&self) -> Option<R> {
        match self.kind {
            OperandKind::Reg(reg) => Some(reg),
            _ => None,
        }
    }

    /// Renames the registers in it.
    pub fn rename(&mut self, mut rename: impl FnMut(R) -> R) {
        match &mut self.kind {
            OperandKind::Reg(reg) | OperandKind::IndexedConst { index: reg, .. } => *reg = rename(*reg),
            OperandKind::Mem(Address { base, uniform, descriptor, .. }) => {
                for reg in [base, uniform, descriptor].into_iter().flatten() {
                    *reg = rename(*reg);
                }
            }
            _ => {}
        }
    }

    /// A copy with each register replaced.
    pub fn map<S: Register>(&self, mut rename: impl FnMut(R) -> S) -> Operand<S> {
        let kind = match self.kind {
            OperandKind::Zero(file) => OperandKind::Zero(file),
            OperandKind::Reg(reg) => OperandKind::Reg(rename(reg)),
            OperandKind::Imm(bits) => OperandKind::Imm(bits),
            OperandKind::Const { bank, offset } => OperandKind::Const { bank, offset },
            OperandKind::IndexedConst { bank, index, offset } => {
                OperandKind::IndexedConst { bank, index: rename(index), offset }
            }
            OperandKind::Mem(address) => OperandKind::Mem(Address {
                base: address.base.map(&mut rename),
                wide: address.wide,
                scale: address.scale,
                uniform: address.uniform.map(&mut rename),
                offset: address.offset,
                descriptor: address.descriptor.map(&mut rename),
            }),
            OperandKind::Label(label) => OperandKind::Label(label),
            OperandKind::Code(offset) => OperandKind::Code(offset),
            OperandKind::Function(function) => OperandKind::Function(function),
            OperandKind::SharedEnd(align) => OperandKind::SharedEnd(align),
            OperandKind::Special(reg) => OperandKind::Special(reg),
            OperandKind::Convergence(index) => OperandKind::Convergence(index),
            OperandKind::Predicates => OperandKind::Predicates,
        };
        Operand { kind, flags: self.flags }
    }
}
