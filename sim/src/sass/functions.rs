//! The function of each row of the instruction table, and the rows that have none.

use ptxc_sass::Op;
use ptxc_semantics::{BF16, F16};

use super::fields::{Decoded, Fields};
use super::{
    alu, atomic, convert, copies, double, flow, fma, half, image, matrix, mbarrier, memory, outside, pack,
    pairs, quads, tensor, tensor_copy, uniform, warp, warpgroup, xu,
};

/// Rows without a function here. Their effect depends on the order of arrival, on absolute
/// addresses or on trap handlers; or they read the lanes of a barrier, which the engine does not
/// store. Or they are arithmetic on parts of words and tensor operations beyond plain products of
/// matrices, which our code does not use.
pub const UNSUPPORTED: &[Op] = &[
    Op::BAR_SCAN,
    Op::BAR_SYNCALL,
    Op::R2B,
    Op::BMOV_OF_MASK,
    Op::BMOV_TO_MASK,
    Op::MOV_LANES,
    Op::FSWZADD,
    Op::I2F_F64_BYTE,
    Op::I2F_F64_UPPER,
    Op::F2I_UPPER,
    Op::F2FP_MERGE,
    Op::ATOM_COUNT,
    Op::ATOM_ARRIVE,
    Op::HGMMA_SP_OFFSET,
    Op::HGMMA_SP_R_OFFSET,
    Op::IGMMA_SP_OFFSET,
    Op::IGMMA_SP_R_OFFSET,
    Op::QGMMA_SP_OFFSET,
    Op::QGMMA_SP_R_OFFSET,
    Op::USETSHMSZ,
];

/// The function of a row: converts the fields of an instruction to its action.
pub(super) fn function(op: Op) -> Option<fn(&Fields<'_>) -> Decoded> {
    Some(match op {
        Op::IADD3 | Op::UIADD3 => alu::iadd3,
        Op::IADD3_X | Op::UIADD3_X => alu::iadd3_x,
        Op::UIADD3_64 => alu::uiadd3_64,
        Op::LOP3 | Op::ULOP3 => alu::lop3,
        Op::ISETP | Op::UISETP => alu::isetp,
        Op::ISETP_EX | Op::UISETP_EX => alu::isetp_ex,
        Op::SHF | Op::USHF => alu::shf,
        Op::LEA | Op::ULEA => alu::lea,
        Op::LEA_X | Op::ULEA_X => alu::lea_x,
        Op::LEA_HI | Op::ULEA_HI => alu::lea_hi,
        Op::LEA_HI_X | Op::ULEA_HI_X => alu::lea_hi_x,
        Op::MOV | Op::UMOV => alu::mov,
        Op::SEL | Op::USEL => alu::sel,
        Op::PRMT | Op::UPRMT => alu::prmt,
        Op::IABS => alu::iabs,
        Op::IMNMX => alu::imnmx,
        Op::VIADD => alu::viadd,
        Op::VIMNMX3 => alu::vimnmx3,
        Op::VIADDMNMX => alu::viaddmnmx,
        Op::VABSDIFF => alu::vabsdiff,
        Op::VIADD_16X2 => pairs::viadd,
        Op::VIMNMX_16X2 => pairs::vimnmx,
        Op::VIMNMX3_16X2 => pairs::vimnmx3,
        Op::VIADDMNMX_16X2 => pairs::viaddmnmx,
        Op::VABSDIFF4 => pairs::vabsdiff4,
        Op::SGXT | Op::USGXT => alu::sgxt,
        Op::BMSK | Op::UBMSK => alu::bmsk,
        Op::PLOP3 | Op::UPLOP3 => alu::plop3,
        Op::PLOP3_SIGN | Op::UPLOP3_SIGN => alu::plop3_sign,
        Op::P2R | Op::UP2UR => alu::p2r,
        Op::R2P | Op::UR2UP => alu::r2p,

        Op::FADD => fma::fadd,
        Op::FMUL => fma::fmul,
        Op::FFMA => fma::ffma,
        Op::FSETP => fma::fsetp,
        Op::FSET => fma::fset,
        Op::FSEL => fma::fsel,
        Op::FMNMX => fma::fmnmx,
        Op::I2FP => fma::i2fp,
        Op::IMAD | Op::UIMAD => fma::imad,
        Op::IMAD_WIDE | Op::UIMAD_WIDE => fma::imad_wide,
        Op::IMAD_WIDE_X | Op::UIMAD_WIDE_X => fma::imad_wide_x,
        Op::IMAD_X => fma::imad_x,
        Op::IMAD_HI => fma::imad_hi,
        Op::IMAD_HI_X => fma::imad_hi_x,
        Op::IDP_4A => fma::idp_4a,
        Op::IDP_2A => fma::idp_2a,

        Op::HADD2 => |i| half::hadd2(F16, i),
        Op::HADD2_BF16 => |i| half::hadd2(BF16, i),
        Op::HADD2_F32 => convert::hadd2_f32,
        Op::HADD2_F32_HALVES => half::hadd2_f32_halves,
        Op::HADD2_NARROW_A => |i| half::hadd2_narrow("a", "b", i),
        Op::HADD2_NARROW_B => |i| half::hadd2_narrow("b", "a", i),
        Op::HMUL2 => |i| half::hmul2(F16, i),
        Op::HMUL2_BF16 => |i| half::hmul2(BF16, i),
        Op::HFMA2 | Op::HFMA2_MMA => |i| half::hfma2(F16, i),
        Op::HFMA2_BF16 | Op::HFMA2_MMA_BF16 => |i| half::hfma2(BF16, i),
        Op::HSETP2 => |i| half::hsetp2(F16, i),
        Op::HSETP2_BF16 => |i| half::hsetp2(BF16, i),
        Op::HSET2 => |i| half::hset2(F16, i),
        Op::HSET2_BF16 => |i| half::hset2(BF16, i),
        Op::HMNMX2 => |i| half::hmnmx2(F16, i),
        Op::HMNMX2_BF16 => |i| half::hmnmx2(BF16, i),

        Op::VHMNMX => |i| half::vhmnmx(F16, i),
        Op::VHMNMX_BF16 => |i| half::vhmnmx(BF16, i),

        Op::DADD => double::dadd,
        Op::DMUL => double::dmul,
        Op::DFMA => double::dfma,
        Op::DSETP => double::dsetp,

        Op::LDSM => matrix::ldsm,
        Op::STSM => matrix::stsm,
        Op::MOVM => matrix::movm,
        Op::HGMMA | Op::HGMMA_R | Op::HGMMA_SP | Op::HGMMA_SP_R => warpgroup::product,
        Op::IGMMA | Op::IGMMA_R | Op::IGMMA_SP | Op::IGMMA_SP_R => warpgroup::product,
        Op::QGMMA | Op::QGMMA_R | Op::QGMMA_SP | Op::QGMMA_SP_R => warpgroup::product,
        Op::BGMMA | Op::BGMMA_R => warpgroup::product,
        Op::WARPGROUP_ARRIVE => warpgroup::arrive,
        Op::WARPGROUP_DEPBAR => warpgroup::wait,
        Op::HMMA => tensor::hmma,
        Op::HMMA_884 => quads::hmma_884,
        Op::HMMA_SP => tensor::hmma_sp,
        Op::IMMA => tensor::imma,
        Op::IMMA_SP => tensor::imma_sp,
        Op::IMMA_4 => tensor::imma_4,
        Op::IMMA_4_SP => tensor::imma_4_sp,
        Op::BMMA => tensor::bmma,
        Op::QMMA => tensor::qmma,
        Op::QMMA_SP => tensor::qmma_sp,
        Op::DMMA => tensor::dmma,

        Op::I2I => convert::i2i,
        Op::MUFU => xu::mufu,
        Op::MUFU_HALF => half::mufu_half,
        Op::FCHK => xu::fchk,
        Op::POPC | Op::UPOPC => xu::popc,
        Op::FLO | Op::UFLO => xu::flo,
        Op::BREV | Op::UBREV => xu::brev,

        Op::I2F => convert::i2f,
        Op::I2F_BYTE | Op::I2F_UPPER => convert::i2f_part,
        Op::I2F_64 => convert::i2f_64,
        Op::I2F_F64 => convert::i2f_f64,
        Op::I2F_F64_64 => convert::i2f_f64_64,
        Op::F2I => convert::f2i,
        Op::F2I_64 => convert::f2i_64,
        Op::F2I_F64 => convert::f2i_f64,
        Op::F2I_F64_64 => convert::f2i_f64_64,
        Op::F2F_NARROW => convert::f2f_narrow,
        Op::F2F_WIDEN => convert::f2f_widen,
        Op::F2F_NARROW_HALF => convert::f2f_narrow_half,
        Op::F2F_WIDEN_HALF => convert::f2f_widen_half,
        Op::F2F_HALF => convert::f2f_half,
        Op::FRND_HALF => convert::frnd_half,
        Op::I2F_HALF => convert::i2f_half,
        Op::I2F_HALF_64 => convert::i2f_half_64,
        Op::F2I_HALF => convert::f2i_half,
        Op::F2I_HALF_64 => convert::f2i_half_64,
        Op::F2FP => convert::f2fp,
        Op::F2IP => pack::f2ip,
        Op::F2FP_TF32 => pack::f2fp_tf32,
        Op::F2FP_BYTES => pack::f2fp_bytes,
        Op::F2FP_BYTES_OF_HALVES => pack::f2fp_bytes_of_halves,
        Op::F2FP_UNPACK => pack::f2fp_unpack,
        Op::I2IP => pack::i2ip,
        Op::I2IP_NARROW => pack::i2ip_narrow,
        Op::FRND => convert::frnd,
        Op::FRND_F64 => convert::frnd_f64,

        Op::LDG => memory::ldg,
        Op::STG => memory::stg,
        Op::LDS => memory::lds,
        Op::STS => memory::sts,
        Op::LDL => memory::ldl,
        Op::STL => memory::stl,
        Op::LD => memory::ld,
        Op::ST => memory::st,
        Op::LDC | Op::ULDC => memory::ldc,

        Op::ATOMG | Op::REDG => atomic::atomg,
        Op::ATOMS => atomic::atoms,
        Op::ATOM => atomic::atom,
        Op::ATOMG_CAS => atomic::atomg_cas,
        Op::ATOMS_CAS => atomic::atoms_cas,
        Op::ATOM_CAS => atomic::atom_cas,
        Op::QSPC => atomic::qspc,
        Op::LDGMC => memory::ldgmc,

        Op::LDGSTS => copies::ldgsts,
        Op::STAS => copies::stas,
        Op::REDAS => copies::redas,
        Op::LDGDEPBAR => copies::ldgdepbar,
        Op::DEPBAR_LE => copies::depbar_le,
        Op::UBLKCP_S_G => copies::ublkcp_s_g,
        Op::UTMALDG => tensor_copy::utmaldg,
        Op::UTMASTG => tensor_copy::utmastg,
        Op::UTMAREDG => tensor_copy::utmaredg,
        Op::UBLKRED_G_S | Op::UBLKRED_S_S => tensor_copy::ublkred,
        Op::UBLKCP_G_S => copies::ublkcp_g_s,
        Op::UBLKCP_S_S => copies::ublkcp_s_s,
        // The content of a cache does not change any value.
        Op::UBLKPF_L2
        | Op::UTMAPF
        | Op::LDS_NEVER
        | Op::UIADD3_NEVER
        | Op::BRA_NEVER
        | Op::BREAK_NEVER
        | Op::NANOSLEEP_NEVER
        | Op::SYNCS_PHASECHK_NEVER => flow::nop,

        Op::TEX | Op::TEX_B | Op::TLD | Op::TLD_B => image::texture,
        Op::TLD4 | Op::TLD4_B | Op::TXD | Op::TXD_B => image::texture,
        Op::TXQ | Op::TXQ_B => image::size,
        Op::SULD | Op::SULD_R => image::load,
        Op::SUST | Op::SUST_R | Op::SUST_P | Op::SUST_P_R => image::store,
        Op::SURED | Op::SURED_R => image::update,

        Op::SHFL => warp::shfl,
        Op::VOTE | Op::VOTEU => warp::vote,
        Op::MATCH_ANY => warp::match_any::<1>,
        Op::MATCH_ANY_64 => warp::match_any::<2>,
        Op::MATCH_ALL => warp::match_all::<1>,
        Op::MATCH_ALL_64 => warp::match_all::<2>,
        Op::REDUX => warp::redux,
        Op::ELECT => warp::elect,
        Op::BAR_SYNC | Op::BAR_ARV | Op::BAR_RED => warp::bar,
        Op::B2R => warp::b2r,
        Op::WARPSYNC => warp::warpsync,
        Op::WARPSYNC_EXCLUSIVE => warp::warpsync_exclusive,
        Op::WARPSYNC_ALL => warp::warpsync_all,
        Op::WARPSYNC_COLLECTIVE => warp::warpsync_collective,
        Op::WARPSYNC_COLLECTIVE_ALL => warp::warpsync_collective_all,
        Op::ENDCOLLECTIVE => warp::endcollective,
        Op::R2UR | Op::R2UR_OR => warp::r2ur,

        Op::BRA => flow::bra,
        Op::BRA_DIV | Op::BRA_DIV_WARP => flow::bra_together::<false>,
        Op::BRA_CONV | Op::BRA_CONV_WARP => flow::bra_together::<true>,
        Op::BRX | Op::BRXU => flow::brx,
        Op::CALL => flow::call,
        Op::CALL_INDIRECT | Op::RET => flow::jump_to_register,
        Op::CALL_ABSOLUTE => outside::call_absolute,
        Op::CALL_LOADED => outside::call_loaded,
        Op::RET_ABSOLUTE => outside::ret_absolute,
        Op::LEPC => outside::lepc,
        Op::LEPC_TARGET => outside::lepc_target,
        Op::RET_IF => flow::return_if,
        Op::EXIT => flow::exit,
        Op::BPT => flow::bpt,
        Op::EXIT_IF => flow::exit_if,
        Op::BMOV_CLEAR => flow::bmov_clear,
        Op::BMOV => flow::bmov,
        Op::RPCMOV => flow::rpcmov,
        Op::RPCMOV_READ => flow::rpcmov_read,
        Op::BSSY => flow::bssy,
        Op::BSYNC => flow::bsync,
        Op::BREAK => flow::break_,
        Op::BREAK_IF => flow::break_if,
        Op::SYNCS_EXCH => mbarrier::exchange,
        Op::SYNCS_ARRIVE => mbarrier::arrive,
        Op::SYNCS_PHASECHK => mbarrier::ask,
        Op::SYNCS_CCTL_IV => mbarrier::invalidate,
        Op::ARRIVES => mbarrier::arrive_after_copies,
        Op::ATOMS_ARRIVE => mbarrier::arrive_by_atomic,
        Op::UCGABAR_ARV => mbarrier::arrive_at_cluster,
        Op::UCGABAR_WAIT => mbarrier::wait_for_cluster,
        // There is one grid, and the engine stores no tensor maps.
        Op::ACQBULK | Op::PREEXIT | Op::UTMACCTL_IV | Op::UTMACCTL_PF => flow::nop,
        Op::UTMACMDFLUSH => copies::utmacmdflush,
        // Instructions complete in order.
        Op::FENCE_VIEW_ASYNC | Op::DEPBAR_ALL => flow::nop,
        // Memory accesses have one order.
        Op::MEMBAR => flow::fence,
        Op::ERRBAR | Op::CGAERRBAR | Op::CCTL_IVALL => flow::nop,
        // There are no caches whose effects a program could see.
        Op::CCTL | Op::CCTLL => flow::nop,
        // The number of registers that a warp may use does not change its results.
        Op::NOP | Op::PMTRIG | Op::USETMAXREG_DEALLOC => flow::nop,
        Op::USETMAXREG_TRY_ALLOC => flow::granted,
        Op::YIELD | Op::NANOSLEEP => flow::yield_,

        Op::S2R | Op::S2UR | Op::CS2R_32 => uniform::s2r,
        Op::CS2R => uniform::cs2r,

        // A new row of the table matches here until it has a function; the test below reports it.
        #[allow(unreachable_patterns)]
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_function_or_is_listed() {
        let is_wrong = |op: &&Op| function(**op).is_none() != UNSUPPORTED.contains(*op);
        let wrong: Vec<&Op> = Op::ALL.iter().filter(is_wrong).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
    }
}
