//! The number of general registers that a function may have, the reasons for that limit, and the
//! message if they are too few.

use ptxc_codegen::allocate::AllocError;
use ptxc_codegen::mir::{Mir, VReg};
use ptxc_ir::{FunctionKind, LaunchBounds};
use ptxc_machine::Arch;
use ptxc_ptx::diagnostic::{Code, Diagnostic, source_node};
use ptxc_sass::RegFile;
use ptxc_syntax::NodeId;

/// A function needs more registers than it may have.
pub const TOO_FEW_REGISTERS: Code = Code(901);

/// The fewest registers that code can be made with.
const LEAST: u32 = 16;

/// The most general registers of a thread.
fn most(arch: Arch) -> u32 {
    arch.facts().registers.general.into()
}

/// The general registers that a function may use: the least of the number that the options allow,
/// its `.maxnreg`, and the number that a thread gets if the CTAs of its launch bounds share a
/// multiprocessor.
///
/// An SM has 65,536 registers, which warps get in units of 8 for each thread. A CTA of at most `n`
/// threads has `ceil(n / 32)` warps. `.minnctapersm` CTAs (1 if the directive is missing, or if the
/// SM can't hold so many warps) leave `65,536 / 32 / warps` registers for each thread. ptxas uses
/// these numbers too, but lets `.maxnreg` and the launch bounds override its option if they are
/// higher; ptxc never exceeds any limit. Code with fewer than 16 registers can't be made.
pub fn register_limit(bounds: &LaunchBounds, arch: Arch, max_regs: u32) -> u32 {
    let own = by_directives(bounds, arch).into_iter().map(|(limit, _)| limit).min();
    own.unwrap_or(most(arch)).max(LEAST).min(most(arch)).min(max_regs)
}

/// The limits that the directives of a kernel set, each with the name of its directive.
fn by_directives(bounds: &LaunchBounds, arch: Arch) -> Vec<(u32, &'static str)> {
    const WARPS: u64 = 64;
    let by_launch = |shape: [u32; 3]| {
        let threads = shape.iter().map(|&n| u64::from(n.max(1))).fold(1, u64::saturating_mul);
        let warps = threads.div_ceil(32);
        let ctas = bounds.min_ctas.map_or(1, |count| u64::from(count.max(1)));
        let resident = Some(warps.saturating_mul(ctas)).filter(|&all| all <= WARPS).unwrap_or(warps);
        let limits = &arch.facts().limits;
        let unit = u64::from(limits.register_unit);
        let registers = u64::from(limits.registers_a_lane) / resident / unit * unit;
        registers.min(u64::from(most(arch))) as u32
    };
    let launch = match (bounds.required_threads, bounds.max_threads) {
        (Some(shape), _) => Some((by_launch(shape), ".reqntid")),
        (None, Some(shape)) => Some((by_launch(shape), ".maxntid")),
        (None, None) => None,
    };
    bounds.max_registers.map(|limit| (limit, ".maxnreg")).into_iter().chain(launch).collect()
}

/// The message for a function for which the allocator finds too few registers.
pub(crate) fn too_few(error: &AllocError, mir: &Mir<VReg>, arch: Arch, max_regs: u32) -> Diagnostic {
    let (file, loc) = match *error {
        AllocError::TooFewRegisters { file, loc, .. } => (file, Some(loc)),
        AllocError::Tied { loc } | AllocError::UniformPredicateCopy { loc } => (RegFile::Pred, Some(loc)),
        AllocError::Lent { loc } => (RegFile::Gpr, Some(loc)),
        AllocError::SharedPlace { file, .. } => (file, None),
        AllocError::MaxRegs(_) => (RegFile::Gpr, None),
    };
    let node = loc.and_then(source_node).unwrap_or(NodeId(0));
    let finding = Diagnostic::error(TOO_FEW_REGISTERS, node, error.to_string());
    if file != RegFile::Gpr {
        let note = format!(
            "a warp has {} {} registers, independent of the options",
            file.count_on(arch),
            file.prefix()
        );
        return finding.note(note).help("shorten the function, or its code under one divergent branch");
    }
    let within = |&(limit, _): &(u32, &str)| limit.max(LEAST).min(most(arch)) <= max_regs;
    let tightest =
        by_directives(&mir.header.bounds, arch).into_iter().filter(within).min_by_key(|&(limit, _)| limit);
    match tightest {
        Some((_, ".maxnreg")) => finding.help("raise its `.maxnreg`"),
        Some((_, directive)) => {
            let note = format!("its `{directive}` leaves a thread {max_regs} registers");
            finding.note(note).help(format!("lower `{directive}`, or `.minnctapersm` if it has one"))
        }
        None if max_regs >= most(arch) => finding
            .note(format!("a thread has at most {} registers", most(arch)))
            .help("shorten the function, or pass fewer values to the functions that it calls"),
        None if mir.header.kind == FunctionKind::Device => {
            finding.help("allow more with --max-regs, or by the directives of the kernels that call it")
        }
        None => finding.help("allow more with --max-regs"),
    }
}
