//! The engine for SASS programs.
//!
//! In: a [`Case`] and a [`Program`]. Out: a [`Report`]. Each instruction is decoded once into an
//! action on the registers of a warp. The rows are grouped by family, with one function per row:
//!
//! | module | rows |
//! |---|---|
//! | `alu` | integer addition, logic, shifts, comparison, selection, also of the uniform datapath |
//! | `fma` | float arithmetic, integer multiply-add |
//! | `double` | double precision |
//! | `half` | half precision |
//! | `xu` | approximations, bit counts |
//! | `convert`, `pack` | conversions; conversions whose result is a part of a register |
//! | `pairs` | several integers in one register |
//! | `memory`, `atomic` | loads, stores, constants; atomics |
//! | `matrix` | matrices to and from shared memory |
//! | `tensor` | products of matrices |
//! | `mbarrier` | mbarriers, the barrier of the cluster |
//! | `warp` | shuffles, votes, barriers |
//! | `flow` | branches, calls, exits, convergence barriers |
//! | `uniform` | special registers |
//!
//! A guard narrows the lanes of an instruction, so no function sees it. Instructions complete in
//! program order, whatever their control codes. With [`Options::hazards`], instructions that are
//! too early by the control codes read random values (`watched`). Registers start with random
//! content.

mod alu;
mod atomic;
mod convert;
mod copies;
mod double;
mod fields;
mod flow;
mod fma;
mod half;
mod matrix;
mod mbarrier;
mod memory;
mod pack;
mod pairs;
mod registers;
mod tensor;
mod uniform;
mod warp;
mod watched;
mod xu;

use std::cell::RefCell;
use std::collections::BTreeMap;

use ptxc_sass::{
    Access, AccessRole, Addend, CodeRelocation, Inst, JUMP_TABLE_BANK, Label, Op, Operand, PReg, Program,
    Register, SymbolValue,
};
use ptxc_semantics::{BF16, F16};
use smallvec::SmallVec;

use crate::case::Case;
use crate::engine::{Engine, Scheduler, Step};
use crate::error::{Fault, SimError};
use crate::hazard::Hazards;
use crate::interleave;
use crate::launch::{Options, STACK, Shape};
use crate::mbarrier::Layout;
use crate::memory::{CONSTANT_WINDOW, GridMemory, LOCAL_WINDOW, write_le};
use crate::module;
use crate::random::Random;
use crate::report::Report;
use crate::warp::{Flow, Joining};
use fields::{Action, Decoded, Fields};
use registers::{PredSource, Registers};
pub use watched::Executed;

/// Rows without a function here. Their effect depends on the order of arrival, on absolute
/// addresses or on trap handlers; or they read the lanes of a barrier, which the engine does not
/// store. Or they are arithmetic on parts of words, tensor operations beyond plain products of
/// matrices, and copies by tensor maps, which our code does not use.
pub const UNSUPPORTED: &[Op] = &[
    Op::BAR_SCAN,
    Op::BAR_SYNCALL,
    Op::R2B,
    Op::CALL_ABSOLUTE,
    Op::CALL_LOADED,
    Op::RET_ABSOLUTE,
    Op::LEPC,
    Op::LEPC_TARGET,
    Op::BMOV_OF_MASK,
    Op::BMOV_TO_MASK,
    Op::MOV_LANES,
    Op::FSWZADD,
    Op::VIADD_16X2,
    Op::I2IP_NARROW,
    Op::I2F_F64_BYTE,
    Op::I2F_F64_UPPER,
    Op::F2I_UPPER,
    Op::UIADD3_64,
    Op::F2FP_MERGE,
    Op::F2FP_TF32,
    Op::F2FP_BYTES,
    Op::F2FP_BYTES_OF_HALVES,
    Op::F2FP_UNPACK,
    Op::HMMA_SP,
    Op::HMMA_884,
    Op::IMMA_SP,
    Op::ATOM_COUNT,
    Op::ATOM_ARRIVE,
    Op::LDGMC,
    Op::CCTLL,
    Op::UTMACCTL_PF,
    Op::IMMA_4_SP,
    Op::BMMA,
    Op::QMMA,
    Op::QMMA_SP,
    Op::HGMMA,
    Op::HGMMA_R,
    Op::HGMMA_SP,
    Op::HGMMA_SP_R,
    Op::IGMMA,
    Op::IGMMA_R,
    Op::IGMMA_SP,
    Op::IGMMA_SP_R,
    Op::QGMMA,
    Op::QGMMA_R,
    Op::QGMMA_SP,
    Op::QGMMA_SP_R,
    Op::BGMMA,
    Op::BGMMA_R,
    Op::WARPGROUP_ARRIVE,
    Op::WARPGROUP_DEPBAR,
    Op::UBLKRED_G_S,
    Op::UBLKRED_S_S,
    Op::STAS,
    Op::REDAS,
    Op::UTMALDG,
    Op::UTMASTG,
    Op::UTMAREDG,
    Op::UTMAPF,
    Op::R2UR_OR,
    Op::TEX,
    Op::TEX_B,
    Op::TLD,
    Op::TLD_B,
    Op::TLD4,
    Op::TLD4_B,
    Op::TXD,
    Op::TXD_B,
    Op::TXQ,
    Op::TXQ_B,
    Op::SULD,
    Op::SULD_R,
    Op::SUST,
    Op::SUST_R,
    Op::SUST_P,
    Op::SUST_P_R,
    Op::SURED,
    Op::SURED_R,
];

/// The function of a row: converts the fields of an instruction to its action.
fn function(op: Op) -> Option<fn(&Fields<'_>) -> Decoded> {
    Some(match op {
        Op::IADD3 | Op::UIADD3 => alu::iadd3,
        Op::IADD3_X | Op::UIADD3_X => alu::iadd3_x,
        Op::LOP3 | Op::ULOP3 => alu::lop3,
        Op::ISETP | Op::UISETP => alu::isetp,
        Op::ISETP_EX | Op::UISETP_EX => alu::isetp_ex,
        Op::SHF | Op::USHF => alu::shf,
        Op::LEA | Op::ULEA => alu::lea,
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
        Op::HMMA => tensor::hmma,
        Op::IMMA => tensor::imma,
        Op::IMMA_4 => tensor::imma_4,
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
        Op::I2IP => pack::i2ip,
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

        Op::LDGSTS => copies::ldgsts,
        Op::LDGDEPBAR => copies::ldgdepbar,
        Op::DEPBAR_LE => copies::depbar_le,
        Op::UBLKCP_S_G => copies::ublkcp_s_g,
        Op::UBLKCP_G_S => copies::ublkcp_g_s,
        Op::UBLKCP_S_S => copies::ublkcp_s_s,
        // The content of a cache does not change any value.
        Op::UBLKPF_L2 | Op::LDS_NEVER | Op::UIADD3_NEVER | Op::BRA_NEVER | Op::BREAK_NEVER => flow::nop,

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
        Op::R2UR => warp::r2ur,

        Op::BRA => flow::bra,
        Op::BRA_DIV | Op::BRA_DIV_WARP => flow::bra_together::<false>,
        Op::BRA_CONV | Op::BRA_CONV_WARP => flow::bra_together::<true>,
        Op::BRX | Op::BRXU => flow::brx,
        Op::CALL => flow::call,
        Op::CALL_INDIRECT | Op::RET => flow::jump_to_register,
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
        Op::ACQBULK | Op::PREEXIT | Op::UTMACCTL_IV => flow::nop,
        Op::UTMACMDFLUSH => copies::utmacmdflush,
        // Instructions complete in order.
        Op::FENCE_VIEW_ASYNC | Op::DEPBAR_ALL => flow::nop,
        // Memory accesses have one order.
        Op::MEMBAR | Op::ERRBAR | Op::CGAERRBAR | Op::CCTL_IVALL => flow::nop,
        // There are no caches whose effects a program could see.
        Op::CCTL => flow::nop,
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

/// Runs a program on a case.
pub fn run_sass(case: &Case, program: &Program, options: &Options) -> Result<Report, SimError> {
    launch(case, program, options, interleave::Interleaved { options })
}

/// The same with an observer, which is called for each instruction that a warp executes, also
/// before an error.
pub fn run_sass_observed(
    case: &Case,
    program: &Program,
    options: &Options,
    observer: &mut dyn FnMut(Executed),
) -> Result<Report, SimError> {
    launch_observed(case, program, options, interleave::Interleaved { options }, Some(observer))
}

/// Prepares a launch, lets a scheduler run it, and compares the result with the case.
pub(crate) fn launch(
    case: &Case,
    program: &Program,
    options: &Options,
    scheduler: impl Scheduler,
) -> Result<Report, SimError> {
    launch_observed(case, program, options, scheduler, None)
}

fn launch_observed<'a>(
    case: &Case,
    program: &'a Program,
    options: &Options,
    scheduler: impl Scheduler,
    observer: Option<Observer<'a>>,
) -> Result<Report, SimError> {
    let params = program.params.iter().map(|param| (param.name.as_str(), param.size, param.offset));
    let mut memory = case.place(params)?;
    // Sizes too large to be padded are refused.
    let padded = |bytes: u32| bytes.checked_next_multiple_of(16).unwrap_or(u32::MAX);
    let shape = Shape {
        grid: case.grid,
        cluster: program.resources.cluster(),
        block: case.block,
        shared_bytes: padded(program.resources.shared_bytes).saturating_add(case.dynamic_smem),
        local_bytes: padded(program.resources.local_bytes)
            .saturating_add(if program.resources.open_stack != 0 { STACK } else { 0 }),
        check_uninitialised: options.check_uninitialised,
    };
    shape.check()?;
    if let Some(mbarriers) = program.arch.facts().mbarriers {
        memory.mbarriers = Layout::of_machine(mbarriers.layout);
    }
    memory.constants.insert(0, bank0(program, &shape, &memory));
    memory.constants.insert(JUMP_TABLE_BANK, program.table_bank());
    let functions = code_addresses(program);
    let variables = module::load(&program.variables, &functions, &options.constants, &mut memory)?;
    let loaded = loaded(program, &variables, &functions)?;
    let watched = options.check_uninitialised || options.hazards || observer.is_some();
    let engine = Sass {
        program,
        code: decode(program, loaded, &memory, options)?,
        touched: match watched {
            true => program.insts.iter().map(|coded| Touched::new(&coded.inst)).collect(),
            false => Vec::new(),
        },
        check: options.check_uninitialised,
        hazards: options.hazards.then(|| Hazards::new(program, options.order)),
        observer: observer.map(RefCell::new),
    };
    let result = scheduler.run(&engine, &shape, &mut memory);
    let hazards = engine.hazards.as_ref().map(Hazards::report).unwrap_or_default();
    match result {
        Ok(steps) => Ok(Report { hazards, ..Report::new(case, &memory.global, steps) }),
        Err(error) if hazards.is_empty() => Err(error),
        Err(error) => Err(SimError::AfterHazards { hazards, error: Box::new(error) }),
    }
}

/// The addresses of functions in bytes from the start of the program.
fn code_addresses(program: &Program) -> BTreeMap<String, u64> {
    let functions = program.functions.iter().filter_map(|function| Some((function, function.start?)));
    functions
        .map(|(function, start)| (function.name.clone(), u64::from(start * Program::INST_BYTES)))
        .collect()
}

/// Constant bank 0: launch shape, stack top, descriptor, parameters; the rest is a pattern that no
/// program should read.
fn bank0(program: &Program, shape: &Shape, memory: &GridMemory) -> Vec<u8> {
    let banks = &program.arch.facts().banks;
    let base = banks.param_base as usize;
    let mut bank = vec![0xcc; base];
    let mut put =
        |offset: usize, bytes: usize, value: u64| write_le(&mut bank[offset..offset + bytes], value);
    for (n, (&block, &grid)) in shape.block.iter().zip(&shape.grid).enumerate() {
        put(4 * n, 4, block.into());
        put(0xc + 4 * n, 4, grid.into());
    }
    if let Some(places) = banks.cluster {
        put(places.is_explicit as usize, 4, shape.cluster.is_some().into());
        put(places.ranks as usize, 4, shape.cluster_size().into());
        for (n, (&size, &clusters)) in shape.cluster_shape().iter().zip(&shape.clusters()).enumerate() {
            put(places.size as usize + 4 * n, 4, size.into());
            put(places.clusters as usize + 4 * n, 4, clusters.into());
        }
    }
    put(banks.stack_top as usize, 4, shape.local_bytes.into());
    put(banks.local_window as usize, 8, LOCAL_WINDOW);
    put(banks.constant_window as usize, 8, CONSTANT_WINDOW);
    if let Some(offset) = banks.shared_window {
        put(offset as usize, 8, crate::memory::SHARED_WINDOW);
    }
    if let Some(offset) = banks.global_descriptor {
        put(offset as usize, 8, memory::DESCRIPTOR);
    }
    bank.extend(&memory.params);
    bank
}

/// A decoded instruction.
struct Node {
    action: Action,
    guard: PredSource,
    /// Whether the group that executes it has the warp to itself from then on.
    holds: bool,
}

/// The registers of an instruction, for the checks and the observer.
struct Touched {
    guard: Option<PReg>,
    uses: SmallVec<[PReg; 6]>,
    defs: SmallVec<[PReg; 4]>,
}

impl Touched {
    fn new(inst: &Inst<PReg>) -> Touched {
        let words = |access: Access<PReg>| (0..access.width).filter_map(move |n| access.reg.offset(n));
        let uses = inst.accesses().into_iter().filter(|access| access.role == AccessRole::Use);
        Touched {
            guard: inst.guard.map(|guard| guard.reg),
            uses: uses.flat_map(words).collect(),
            defs: inst.defs().flat_map(words).collect(),
        }
    }
}

/// The instructions with operands that a loader fills in, with those operands, by ascending index.
/// The addresses of variables are those in their spaces; the program begins at address zero.
fn loaded(
    program: &Program,
    variables: &BTreeMap<String, u64>,
    functions: &BTreeMap<String, u64>,
) -> Result<Vec<(u32, Inst<PReg>)>, SimError> {
    let mut list = Vec::with_capacity(program.relocations.len());
    for CodeRelocation { inst: index, slot, symbol } in &program.relocations {
        let Some(coded) = program.insts.get(*index as usize) else { continue };
        let mut inst = coded.inst.clone();
        let name = &symbol.name;
        let lacks = |what: String| {
            let at = format!("/*{:04x}*/ {}", u64::from(*index) * 16, coded.inst);
            SimError::Unsupported { at, what }
        };
        let address = variables.get(&symbol.name).or_else(|| functions.get(&symbol.name));
        let address = match (symbol.value, address) {
            (SymbolValue::Address, Some(address)) => *address,
            (SymbolValue::Address, None) => {
                let what =
                    format!("the address of `{name}`, which is neither a variable nor part of the program");
                return Err(lacks(what));
            }
            (SymbolValue::Descriptor, _) => return Err(lacks(format!("the descriptor of `{name}`"))),
            (SymbolValue::Unified, _) => {
                return Err(lacks(format!("the number of `{name}` among the unified functions")));
            }
        };
        let address = match symbol.addend {
            Addend::Bytes(bytes) => address.wrapping_add_signed(bytes),
            Addend::Label(Label(label)) => {
                let place = program.labels.get(label as usize).copied().unwrap_or_default();
                address.wrapping_add(u64::from(place * Program::INST_BYTES))
            }
        };
        let bits = symbol
            .bits
            .of(address)
            .ok_or_else(|| lacks(format!("the address of `{name}`, which has more bits than the operand")))?;
        if let Some(operand) = inst.operands.get_mut(usize::from(*slot)) {
            *operand = Operand::imm(bits);
        }
        list.push((*index, inst));
    }
    list.sort_by_key(|(index, _)| *index);
    Ok(list)
}

/// The actions of the instructions. `loaded` are instructions that replace the program's own.
fn decode(
    program: &Program,
    loaded: Vec<(u32, Inst<PReg>)>,
    memory: &GridMemory,
    options: &Options,
) -> Result<Vec<Node>, SimError> {
    let mufu_error = options.mufu_error;
    let node = |inst: &Inst<PReg>| -> Result<Node, String> {
        inst.check_form()?;
        let (arch, constants) = (program.arch, &memory.constants);
        let fields = Fields { inst, arch, program, constants, mufu_error };
        let function = function(inst.op).ok_or_else(|| format!("the instruction {}", inst.row().mnemonic))?;
        let guard = if flow::decides_for_all(inst) { PredSource::new(None, false) } else { fields.guard() };
        let writes_uniform = || inst.defs().any(|def| def.reg.file().is_uniform());
        Ok(Node { action: function(&fields)?, guard, holds: options.holds_uniform && writes_uniform() })
    };
    let unsupported = |inst: &Inst<PReg>, what| SimError::Unsupported { at: inst.to_string(), what };
    let mut loaded = loaded.iter().peekable();
    let insts = (0..).zip(&program.insts).map(|(index, coded)| {
        let changed = loaded.next_if(|(place, _)| *place == index);
        changed.map_or(&coded.inst, |(_, inst)| inst)
    });
    insts.map(|inst| node(inst).map_err(|what| unsupported(inst, what))).collect()
}

struct Sass<'a> {
    program: &'a Program,
    code: Vec<Node>,
    /// The registers that each instruction touches, if the run is observed or checked in any way;
    /// else empty.
    touched: Vec<Touched>,
    /// Whether reads of unwritten places are faults.
    check: bool,
    hazards: Option<Hazards<'a>>,
    observer: Option<RefCell<Observer<'a>>>,
}

/// Called for each instruction of each warp.
type Observer<'a> = &'a mut dyn FnMut(Executed);

impl Engine for Sass<'_> {
    type Registers = Registers;

    const JOINING: Joining = Joining::Barriers;

    fn registers(&self, random: &mut Random) -> Registers {
        let mut registers = Registers::new(random);
        registers.tracks = self.hazards.as_ref().map(|_| Box::default());
        registers
    }

    fn describe(&self, pc: u32) -> String {
        match self.program.insts.get(pc as usize) {
            Some(coded) => format!("/*{:04x}*/ {}", 16 * pc, coded.inst),
            None => format!("/*{:04x}*/ the end of the program", 16 * pc),
        }
    }

    fn step(&self, registers: &mut Registers, step: &mut Step<'_>) -> Result<Flow, Fault> {
        let Some(node) = self.code.get(step.pc as usize) else {
            return Err(Fault::new(step.lanes.trailing_zeros(), "runs past the end of the program"));
        };
        if let Some(touched) = self.touched.get(step.pc as usize) {
            return self.step_watched(node, touched, registers, step);
        }
        step.lanes &= registers.pred(node.guard);
        match step.lanes {
            0 => Ok(Flow::Next),
            _ => node.execute(registers, step),
        }
    }
}

impl Node {
    /// Executes the instruction for the lanes of a step.
    fn execute(&self, registers: &mut Registers, step: &mut Step<'_>) -> Result<Flow, Fault> {
        let lanes = step.lanes;
        let flow = (self.action)(registers, step)?;
        if self.holds {
            step.control.keep(lanes);
        }
        Ok(flow)
    }
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
