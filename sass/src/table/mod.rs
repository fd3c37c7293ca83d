//! The instruction table: one row per instruction, every fact about it in that row.
//!
//! To add an instruction, write its row in the file of its family and list it in `opcodes!` below.
//! Text, operand checks, register accesses, latencies, scoreboards, and the forms that selection
//! may use all follow from the row.

mod alu;
mod atomic;
mod checked;
mod control_flow;
mod convert;
mod copies;
mod double;
mod fence;
mod float;
mod half;
mod kinds;
mod matrix;
mod mbarrier;
mod memory;
mod modifier;
mod move_uniform;
mod multiply;
mod pack;
mod place;
mod remote;
mod row;
mod slot;
mod surface;
mod sync;
mod tensor;
mod tensor_map;
mod texture;
mod uniform;
mod warp;
mod warpgroup;

use ptxc_machine::Archs;

pub(crate) use alu::SIGN;
pub use checked::{Choice, Choices, ModValue, OpSlot, OpSlots, SlotName};
pub use kinds::{ImageOperand, Matrix};
pub use modifier::Mods;
pub use place::{AddressPlace, Bits, Fixed, Form, FormCode, Joint, Place, Shape, Signs};
pub use row::{
    BarrierResult, Completion, Effects, Group, GroupRole, Halves, ImmFormat, Kinds, Lanes, LatencyClass,
    Memory, ModKind, Modifier, Pipe, Returns, Role, Row, Scoreboards, Slot, Space, Spelling, Stand, Transfer,
    Width,
};

/// The architectures on which a row has the modifier values and operand kinds without a limit:
/// those of the row's own architectures that are in this set. A new architecture joins the set
/// after its values have been compared with the rows'.
const UNLIMITED: Archs = Archs::TURING_TO_HOPPER;

/// Declares the enumeration of operations from the rows.
macro_rules! opcodes {
    ($($family:ident { $($name:ident)* })*) => {
        /// An instruction of the machine; [`Op::row`] has all facts about it.
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Op {
            $($(#[doc = concat!("`", stringify!($name), "`, a row of the `", stringify!($family), "` family.")] $name,)*)*
        }

        impl Op {
            /// Every operation, in table order.
            pub const ALL: &'static [Op] = &[$($(Op::$name,)*)*];

            /// The row.
            #[inline]
            pub const fn row(self) -> &'static Row {
                static ROWS: [&Row; Op::ALL.len()] = [$($(&$family::$name,)*)*];
                ROWS[self as usize]
            }

            /// The family, after which the file of its row is named.
            pub const fn family(self) -> &'static str {
                match self { $($(Op::$name => stringify!($family),)*)* }
            }
        }
    };
}

opcodes! {
    alu {
        IADD3 IADD3_X LOP3 ISETP ISETP_EX SHF LEA LEA_X LEA_HI LEA_HI_X MOV SEL PRMT IABS IMNMX VIMNMX_16X2 VIMNMX3
        VIMNMX3_16X2 VIADDMNMX VIADDMNMX_16X2 VABSDIFF VABSDIFF4 SGXT BMSK PLOP3 PLOP3_SIGN MOV_LANES
        FSWZADD
    }
    float {
        FADD FMUL FFMA FSETP FSET FSEL FMNMX
    }
    multiply { IMAD IMAD_X IMAD_WIDE IMAD_WIDE_X IMAD_HI IMAD_HI_X VIADD VIADD_16X2 IDP_4A IDP_2A }
    half {
        HADD2 HADD2_BF16 HADD2_F32 HADD2_F32_HALVES HADD2_NARROW_A HADD2_NARROW_B HMUL2 HMUL2_BF16 HFMA2 HFMA2_BF16 HFMA2_MMA HFMA2_MMA_BF16 HSETP2 HSETP2_BF16
        HSET2 HSET2_BF16 HMNMX2 HMNMX2_BF16 VHMNMX VHMNMX_BF16
    }
    pack { I2FP F2FP F2FP_MERGE F2FP_TF32 F2FP_BYTES F2FP_BYTES_OF_HALVES F2FP_UNPACK F2IP I2I I2IP I2IP_NARROW }
    double { DADD DMUL DFMA DSETP }
    convert { MUFU FCHK I2F I2F_BYTE I2F_UPPER I2F_F64_BYTE I2F_F64_UPPER I2F_64 I2F_F64 I2F_F64_64 F2I F2I_64 F2I_F64 F2I_F64_64 F2F_NARROW F2F_WIDEN F2F_NARROW_HALF F2F_WIDEN_HALF F2F_HALF FRND FRND_F64 FRND_HALF MUFU_HALF I2F_HALF I2F_HALF_64
        F2I_HALF F2I_UPPER F2I_HALF_64 POPC FLO BREV }
    memory { LDG STG LDS STS LDL STL LDC ULDC LD ST }
    atomic { ATOMG REDG ATOMS ATOM ATOMG_CAS ATOMS_CAS ATOM_CAS ATOM_COUNT ATOM_ARRIVE LDGMC QSPC }
    fence { MEMBAR ERRBAR CGAERRBAR CCTL_IVALL CCTL CCTLL FENCE_VIEW_ASYNC DEPBAR_ALL UTMACCTL_IV UTMACCTL_PF UTMACMDFLUSH }
    copies { LDGSTS LDGDEPBAR DEPBAR_LE UBLKCP_S_G UBLKCP_G_S UBLKCP_S_S UBLKPF_L2 UBLKRED_G_S UBLKRED_S_S LDS_NEVER }
    remote { STAS REDAS }
    mbarrier { SYNCS_EXCH SYNCS_ARRIVE SYNCS_PHASECHK SYNCS_PHASECHK_NEVER SYNCS_CCTL_IV ARRIVES ATOMS_ARRIVE UCGABAR_ARV UCGABAR_WAIT ACQBULK PREEXIT }
    matrix { LDSM STSM MOVM }
    warp { SHFL VOTE MATCH_ANY MATCH_ANY_64 MATCH_ALL MATCH_ALL_64 REDUX ELECT VOTEU }
    sync { BAR_SYNC BAR_ARV BAR_RED BAR_SCAN BAR_SYNCALL B2R R2B WARPSYNC WARPSYNC_EXCLUSIVE WARPSYNC_ALL WARPSYNC_COLLECTIVE WARPSYNC_COLLECTIVE_ALL ENDCOLLECTIVE NANOSLEEP NANOSLEEP_NEVER PMTRIG }
    control_flow { BRA BRA_NEVER BRA_DIV BRA_CONV BRA_DIV_WARP BRA_CONV_WARP BRX BRXU CALL CALL_INDIRECT CALL_ABSOLUTE CALL_LOADED LEPC LEPC_TARGET RET RET_IF RET_ABSOLUTE EXIT EXIT_IF
        BMOV BMOV_CLEAR BMOV_OF_MASK BMOV_TO_MASK RPCMOV RPCMOV_READ BSSY BSYNC BREAK BREAK_NEVER BREAK_IF YIELD NOP BPT }
    tensor { HMMA HMMA_SP HMMA_884 IMMA IMMA_SP IMMA_4 IMMA_4_SP BMMA QMMA QMMA_SP DMMA }
    warpgroup {
        HGMMA HGMMA_R HGMMA_SP HGMMA_SP_R HGMMA_SP_OFFSET HGMMA_SP_R_OFFSET
        IGMMA IGMMA_R IGMMA_SP IGMMA_SP_R IGMMA_SP_OFFSET IGMMA_SP_R_OFFSET
        QGMMA QGMMA_R QGMMA_SP QGMMA_SP_R QGMMA_SP_OFFSET QGMMA_SP_R_OFFSET
        BGMMA BGMMA_R WARPGROUP_ARRIVE WARPGROUP_DEPBAR USETMAXREG_DEALLOC USETMAXREG_TRY_ALLOC USETSHMSZ
    }
    texture { TEX TEX_B TLD TLD_B TLD4 TLD4_B TXD TXD_B TXQ TXQ_B }
    surface { SULD SULD_R SUST SUST_R SUST_P SUST_P_R SURED SURED_R }
    tensor_map { UTMALDG UTMASTG UTMAREDG UTMAPF }
    uniform {
        UMOV UIADD3 UIADD3_X UIADD3_NEVER UIADD3_64 USHF ULEA ULEA_X ULEA_HI ULEA_HI_X ULOP3 UIMAD UIMAD_WIDE UIMAD_WIDE_X UISETP UISETP_EX USEL UPRMT UFLO UPOPC
        UBMSK USGXT UBREV UPLOP3 UPLOP3_SIGN
    }
    move_uniform { P2R R2P S2R S2UR R2UR R2UR_OR UP2UR UR2UP CS2R CS2R_32 }
}

/// An array with what a constant function says of each operation, in table order.
macro_rules! per_op {
    ($of:path) => {{
        let mut all = [$of(Op::ALL[0]); Op::ALL.len()];
        let mut index = 1;
        while index < all.len() {
            all[index] = $of(Op::ALL[index]);
            index += 1;
        }
        all
    }};
}
pub(crate) use per_op;

#[cfg(test)]
mod tests;
