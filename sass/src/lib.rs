//! The machine: what SASS instructions exist, how they are written, and how long they take.
//!
//! Every fact about an instruction stands in one [`Row`](table::Row) of the [`table`]: mnemonic, operand
//! slots, modifiers, functional unit, latency class, how its completion is tracked, side effects. An
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

pub mod arch;
pub mod control;
pub mod inst;
pub mod issue;
pub mod latency;
pub mod memory_order;
pub mod operand;
pub mod program;
pub mod register;
pub mod table;
pub mod text;
pub mod variable;
pub mod verify;

pub use arch::Arch;
pub use control::Control;
pub use inst::{Access, AccessRole, Guard, Inst};
pub use operand::{Address, FunctionIndex, HalfSelect, Label, Operand, OperandFlags, OperandKind};
pub use program::{Coded, JUMP_TABLE_BANK, JumpTable, ParamInfo, Program, ProgramFunction, Resources};
pub use register::{PReg, RegFile, Register};
pub use table::{
    Archs, BarrierResult, Completion, Effects, Halves, ImmFormat, Kinds, LatencyClass, ModKind, Modifier, Op,
    Pipe, Role, Row, Slot, SpecialReg, Spelling, Width,
};
