//! The machine: what SASS instructions exist, how they are written, and how long they take.
//!
//! Every fact about an instruction is in one [`Row`] of the [`table`]: mnemonic, operand slots,
//! modifiers, functional unit, latency class, how its completion is tracked, side effects. An
//! [`Inst`] is a row with its slots filled; it is generic over the register type, so that the same
//! instruction exists with virtual registers before allocation and with [`PReg`]s after.
//!
//! ```
//! use ptxc_sass::{Inst, Op, Operand, PReg};
//!
//! let add = Inst::new(Op::FADD).ops([
//!     Operand::reg(PReg::r(3)),
//!     Operand::reg(PReg::r(1)).neg(),
//!     Operand::reg(PReg::r(2)),
//! ]);
//! assert_eq!(add.to_string(), "FADD R3, -R1, R2");
//! ```
//!
//! Machine code is read and written an instruction at a time, without allocation, by [`decode`] and
//! [`encode`]. Both use an [`Instr`]: an [`Inst`] with its [`ControlCode`].
//!
//! ```
//! use ptxc_machine::Arch;
//! use ptxc_sass::{ControlCode, Instr, decode, encode};
//!
//! let word = 0x000f_e400_07ff_e0ff_0000_0004_0302_7210;
//! let add: Instr = decode(word, 0, Arch::Sm90)?;
//! let slower = Instr { control: ControlCode { stall: 9, ..add.control }, ..add };
//! assert_eq!(encode(&slower, 0, Arch::Sm90, |_| None)?, word + (7 << 105));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod bits;
pub mod blocks;
pub mod control;
mod data_file;
pub mod dependences;
mod flow;
mod image_kind;
pub mod inst;
pub mod issue;
pub mod joined;
pub mod kept;
pub mod latency;
pub mod memory_order;
pub mod operand;
pub mod program;
pub mod register;
pub mod return_order;
pub mod special;
pub mod symbol;
pub mod table;
pub mod text;
pub mod variable;
pub mod verify;
pub mod waits;

pub use bits::{decode, encode};
pub use control::{Control, Control as ControlCode};
pub use inst::{Access, AccessRole, Guard, Inst};
pub use operand::{Address, FunctionIndex, HalfSelect, Label, Operand, OperandFlags, OperandKind};
pub use program::{
    Coded, Coded as Instr, JUMP_TABLE_BANK, JumpTable, Literals, ParamInfo, Program, ProgramFunction,
    Resources,
};
pub use register::{PReg, RegFile, Register};
pub use special::SpecialReg;
pub use symbol::{Addend, CodeRelocation, Symbol, SymbolBits, SymbolValue};
pub use table::{
    BarrierResult, Choice, Choices, Completion, Effects, Group, GroupRole, Halves, ImmFormat, Kinds,
    LatencyClass, ModKind, ModValue, Modifier, Op, OpSlot, OpSlots, Pipe, Role, Row, Slot, SlotName,
    Spelling, Width,
};
