//! The instruction table: one row an instruction, every fact about it in that row.
//!
//! To add an instruction, write its row in the file of its family and list it in `opcodes!` below. Text,
//! operand checks, register accesses, latencies, scoreboards, and the forms that selection may use all
//! follow from the row.

mod alu;
mod control_flow;
mod float;
mod memory;
mod row;
mod special;
mod sync;
mod uniform;
mod warp;

pub use row::{
    Bits, Completion, Effects, ImmFormat, Kinds, LatencyClass, ModKind, Modifier, Pipe, Role, Row, Slot,
    Width,
};
pub use special::SpecialReg;

/// Declares the enumeration of operations from the rows.
macro_rules! opcodes {
    ($($family:ident { $($name:ident)* })*) => {
        /// An instruction of the machine; [`Op::row`] has everything about it.
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Op {
            $($(#[doc = concat!("`", stringify!($name), "`, a row of the `", stringify!($family), "` family.")] $name,)*)*
        }

        impl Op {
            /// Every operation, in table order.
            pub const ALL: &'static [Op] = &[$($(Op::$name,)*)*];

            /// The row.
            pub fn row(self) -> &'static Row {
                match self { $($(Op::$name => &$family::$name,)*)* }
            }
        }
    };
}

opcodes! {
    alu { IADD3 IADD3_X LOP3 ISETP SHF LEA LEA_HI LEA_HI_X MOV SEL PRMT IABS IMNMX PLOP3 }
    float { FADD FMUL FFMA FSETP FSEL FMNMX I2FP IMAD IMAD_WIDE IMAD_X IMAD_HI VIADD MUFU I2F F2I POPC FLO BREV }
    memory { LDG STG LDS STS LDL STL LDC ULDC ATOMG REDG ATOMS LD ST MEMBAR }
    warp { SHFL VOTE }
    sync { BAR B2R WARPSYNC WARPSYNC_ALL }
    control_flow { BRA EXIT BSSY BSYNC BREAK NOP }
    uniform { S2R S2UR UMOV UIADD3 USHF ULEA ULOP3 UIMAD R2UR CS2R }
}
