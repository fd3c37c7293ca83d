//! The order of the passes, in one place.
//!
//! A kernel goes through three stages, each of them a list of passes:
//!
//! | stage | passes | in → out |
//! |---|---|---|
//! | [`ssa`] | fuse-multiply-add, simplify, rematerialize; [aggregate-atomics](aggregate) | SSA as built → simplified SSA |
//! | [`machine`] | legalize, simplify-legal, converge, gather, select, combine | SSA → machine IR |
//! | [`code`] | schedule-pre-ra, allocate, layout, schedule-post-ra, control, link, hazard-check | machine IR → program |
//!
//! An [`Observer`] sees the code before and after every pass; it is how the driver prints, times and
//! stops; work that nobody wants any more [unwinds](ptxc_interrupt). In debug builds every pass is followed by the verifier of its form; the allocation checker, the
//! check that the architecture has every instruction, and the hazard check run in all builds, since wrong code
//! must never be written.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use ptxc_codegen::control;
use ptxc_codegen::func_code::{Callees, FuncCode, Summaries, summaries};
use ptxc_codegen::link;
use ptxc_codegen::mir::{Liveness, Mir, VReg};
use ptxc_codegen::schedule::{Heuristic, IllegalOrder, heuristic_by_name};
use ptxc_codegen::{allocate, combine, encodable, layout, mir, schedule, select};
use ptxc_ir::verify::{Level, verify};
use ptxc_ir::{Function, FunctionKind, SourceLoc};
use ptxc_machine::Arch;
use ptxc_ptx::build_ssa;
use ptxc_ptx::check::env::ModuleEnv;
use ptxc_ptx::check::resolved::Resolved;
use ptxc_ptx::diagnostic::{Code, Diagnostic, UNSUPPORTED, source_node};
use ptxc_sass::text::{Style, write_program};
use ptxc_sass::{Coded, Inst, Program, Register};
use ptxc_ssa::analyses::Analyses;
use ptxc_ssa::simplify::{Effort, rematerialize, simplify_in};
use ptxc_ssa::together::verify::Apart;
use ptxc_ssa::together::{self, Together};
use ptxc_ssa::uniformity::Uniformity;
use ptxc_ssa::{converge, frequency, gather, legalize, runtime};
use ptxc_syntax::{NodeId, ast};

use crate::limits;
pub use crate::register_limit::{TOO_FEW_REGISTERS, register_limit};

/// The compiler contradicts itself: a check failed that no input should make fail.
pub const INTERNAL: Code = Code(990);

/// The compiler contradicts itself: the allocation checker rejects the allocation.
pub const WRONG_ALLOCATION: Code = Code(991);

/// The compiler contradicts itself: the hazard check rejects the control codes.
pub const HAZARD: Code = Code(992);

/// A heuristic returned an order that breaks a dependence.
pub const ILLEGAL_ORDER: Code = Code(903);

/// The kernel's static shared memory is larger than a CTA may have.
pub const TOO_MUCH_SHARED: Code = Code(904);

/// The architecture has no code generation yet.
pub const UNSUPPORTED_ARCH: Code = Code(902);

/// The architectures that there is code generation for, oldest first.
pub const TARGETS: &[Arch] = &Arch::ALL;

/// Every pass in order, by name.
pub const PASSES: &[&str] = &[
    "fuse-multiply-add",
    "simplify",
    "rematerialize",
    "aggregate-atomics",
    "legalize",
    "simplify-legal",
    "converge",
    "gather",
    "select",
    "combine",
    "schedule-pre-ra",
    "allocate",
    "layout",
    "schedule-post-ra",
    "control",
    "link",
    "hazard-check",
];

/// Sees the code between passes.
pub trait Observer {
    /// Before a pass.
    fn before(&mut self, _pass: &'static str, _code: &dyn fmt::Display) {}

    /// After a pass; `false` stops the pipeline.
    fn after(&mut self, _pass: &'static str, _code: &dyn fmt::Display) -> bool {
        true
    }
}

/// Sees nothing.
#[derive(Debug, Default)]
pub struct Silent;

impl Observer for Silent {}

/// Why a stage has no product: the diagnostics say so; none if the observer stopped it.
pub type Halt = Vec<Diagnostic>;

/// What decides the code beyond the machine IR.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CodeSettings {
    /// The architecture.
    pub arch: Arch,
    /// Whether the code is for that very architecture alone, as `.target sm_90a` has it.
    pub accelerated: bool,
    /// How much to optimise, 0 to 3.
    pub opt: u8,
    /// The name of the scheduling heuristic, see [`heuristic_by_name`].
    pub heuristic: String,
    /// The most general registers a thread, 16 to 255.
    pub max_regs: u32,
    /// Whether every instruction waits for everything.
    pub serial: bool,
}

fn internal(pass: &str, errors: impl IntoIterator<Item = impl fmt::Display>) -> Halt {
    contradiction(INTERNAL, pass, errors)
}

fn contradiction(code: Code, pass: &str, errors: impl IntoIterator<Item = impl fmt::Display>) -> Halt {
    let list: Vec<String> = errors.into_iter().take(3).map(|error| error.to_string()).collect();
    let diagnostic =
        Diagnostic::error(code, NodeId(0), format!("{pass} left wrong code: {}", list.join("; ")));
    vec![diagnostic.note("this is an error in ptxc, not in the kernel; nothing was written")]
}

/// Verifies SSA after a pass, in debug builds.
fn verified(pass: &str, func: &Function, level: Level) -> Result<(), Halt> {
    if cfg!(debug_assertions) { verify(func, level).map_err(|errors| internal(pass, errors)) } else { Ok(()) }
}

fn verified_mir(pass: &str, mir: &Mir<VReg>, arch: Arch) -> Result<(), Halt> {
    if !cfg!(debug_assertions) {
        return Ok(());
    }
    mir::verify(mir).map_err(|errors| internal(pass, errors))?;
    exists(pass, mir.insts().map(|inst| &inst.inst), arch)?;
    let refused = mir.insts().find_map(|inst| encodable::check(&inst.inst, arch).err());
    refused.map_or(Ok(()), |why| Err(internal(pass, [why])))
}

/// Whether the architecture has all instructions, with their modifiers and kinds of operands.
fn exists<'a, R: Register + 'a>(
    pass: &str,
    insts: impl Iterator<Item = &'a Inst<R>>,
    arch: Arch,
) -> Result<(), Halt> {
    let lacking: Vec<String> = insts.filter_map(|inst| inst.check_arch(arch).err()).take(1).collect();
    if lacking.is_empty() { Ok(()) } else { Err(internal(pass, lacking)) }
}

/// What was selected that the architecture lacks.
fn not_there(mir: &Mir<VReg>, arch: Arch) -> Halt {
    let mut halt = Halt::new();
    for inst in mir.insts() {
        ptxc_interrupt::poll();
        if let Err(why) = inst.inst.check_arch(arch) {
            halt.push(unsupported(select::Unsupported { op: inst.inst.to_string(), loc: inst.loc, why }));
        }
    }
    halt.dedup();
    halt
}

fn go_on(observer: &mut dyn Observer, pass: &'static str, code: &dyn fmt::Display) -> Result<(), Halt> {
    ptxc_interrupt::poll();
    if observer.after(pass, code) { Ok(()) } else { Err(Vec::new()) }
}

/// The SSA form of a function as it was written; the check of the same function has found out what it names.
pub fn build(function: &ast::Function, env: &ModuleEnv, resolved: &Resolved) -> Result<Function, Halt> {
    let func = build_ssa::build(function, env, resolved)?;
    verified("build-ssa", &func, Level::Built)?;
    Ok(func)
}

/// Simplifies SSA.
pub fn ssa(
    mut func: Function,
    arch: Arch,
    opt: u8,
    fmad: bool,
    observer: &mut dyn Observer,
) -> Result<Function, Halt> {
    limits::check(&func, limits::WRITTEN)?;
    observer.before("fuse-multiply-add", &func);
    if fmad {
        legalize::fuse_multiply_add(&mut func, arch);
    }
    verified("fuse-multiply-add", &func, Level::Built)?;
    go_on(observer, "fuse-multiply-add", &func)?;

    observer.before("simplify", &func);
    let mut known = Analyses::default();
    simplify_in(&mut func, if opt > 0 { Effort::Full } else { Effort::Clean }, &mut known);
    verified("simplify", &func, Level::Built)?;
    go_on(observer, "simplify", &func)?;

    observer.before("rematerialize", &func);
    if opt > 0 {
        rematerialize(&mut func, &mut known);
    }
    verified("rematerialize", &func, Level::Built)?;
    go_on(observer, "rematerialize", &func)?;
    Ok(func)
}

/// Aggregates the updates that a warp does at one address: `all`, or from `opt` 1 those that would be loops.
pub fn aggregate(
    mut func: Function,
    arch: Arch,
    opt: u8,
    all: bool,
    observer: &mut dyn Observer,
) -> Result<Function, Halt> {
    observer.before("aggregate-atomics", &func);
    if all {
        legalize::aggregate_atomics(&mut func, arch);
    } else if opt > 0 {
        legalize::aggregate_loops(&mut func, arch);
    }
    verified("aggregate-atomics", &func, Level::Built)?;
    go_on(observer, "aggregate-atomics", &func)?;
    Ok(func)
}

/// Whether a lane in a function, and not in what that calls, may wait for lanes of the warp that did not come to the function
/// together with that lane.
pub fn may_wait(func: &Function) -> bool {
    converge::has_waits(func)
}

/// The kinds of a function's operations for which lanes may have to meet in another function, and how many it has of each.
pub fn meeting_kinds(func: &Function) -> BTreeMap<String, usize> {
    gather::kinds(func)
}

/// Brackets divergence, and makes the function say where lanes are waited for. Out comes the uniformity of what is left, or
/// what is not proved of it.
fn together(
    func: &mut Function,
    known: &mut Analyses,
    arch: Arch,
    observer: &mut dyn Observer,
) -> Result<Result<Uniformity, Vec<Apart>>, Halt> {
    observer.before("converge", func);
    let converged = converge::converge_in(func, known);
    verified("converge", func, Level::Converged)?;
    go_on(observer, "converge", func)?;

    observer.before("gather", func);
    let for_anybody = together::verify::for_anybody(func);
    let gathered = gather::gather_in(func, arch, known, converged.uniformity);
    verified("gather", func, Level::Converged)?;
    go_on(observer, "gather", func)?;
    let uniformity = gathered.uniformity.unwrap_or_else(|| Uniformity::compute_converged_in(func, known));
    Ok(together::verify::check_in(func, &uniformity, &for_anybody, known).map(|()| uniformity))
}

/// Legalizes, brackets divergence and selects instructions.
pub fn machine(func: Function, arch: Arch, opt: u8, observer: &mut dyn Observer) -> Result<Mir<VReg>, Halt> {
    if !TARGETS.contains(&arch) {
        let message = format!("code for {arch} is not supported yet");
        let known = TARGETS.iter().map(Arch::to_string).collect::<Vec<_>>().join(", ");
        let gate = Diagnostic::error(UNSUPPORTED_ARCH, NodeId(0), message);
        return Err(vec![gate.help(format!("--arch is one of {known}, or left out: see the .target"))]);
    }
    machine_past_gate(func, arch, opt, observer)
}

/// The same without the question whether the architecture has code generation. A test asks for an
/// architecture that has none.
///
/// # Errors
/// As the stages.
#[doc(hidden)]
pub fn machine_past_gate(
    mut func: Function,
    arch: Arch,
    opt: u8,
    observer: &mut dyn Observer,
) -> Result<Mir<VReg>, Halt> {
    observer.before("legalize", &func);
    legalize::legalize(&mut func, arch);
    limits::check(&func, limits::LEGAL)?;
    verified("legalize", &func, Level::Legal)?;
    go_on(observer, "legalize", &func)?;

    observer.before("simplify-legal", &func);
    let mut known = Analyses::default();
    simplify_in(&mut func, if opt > 0 { Effort::Light } else { Effort::Clean }, &mut known);
    verified("simplify-legal", &func, Level::Legal)?;
    go_on(observer, "simplify-legal", &func)?;

    let uniformity =
        together(&mut func, &mut known, arch, observer)?.map_err(|errors| internal("gather", errors))?;
    observer.before("select", &func);
    ptxc_interrupt::poll();
    let frequency = frequency::block_frequencies_in(&func, &known);
    ptxc_interrupt::poll();
    let mut mir = select::select(&func, arch, &uniformity, &frequency)
        .map_err(|list| list.into_iter().map(unsupported).collect::<Halt>())?;
    mir.returns_together = Together::returns_together(&func, &uniformity, &known);
    let limit = arch.facts().limits.static_shared;
    if mir.shared_bytes > limit {
        let message = format!("{} bytes of static shared memory; a CTA has {limit}", mir.shared_bytes);
        let finding = Diagnostic::error(TOO_MUCH_SHARED, NodeId(0), message);
        return Err(vec![
            finding.help("an `.extern .shared` array gets its size at launch, and may be larger"),
        ]);
    }
    let lacking = not_there(&mir, arch);
    if !lacking.is_empty() {
        return Err(lacking);
    }
    verified_mir("select", &mir, arch)?;
    go_on(observer, "select", &mir)?;

    observer.before("combine", &mir);
    if opt > 0 {
        combine::combine(&mut mir, arch);
    }
    verified_mir("combine", &mir, arch)?;
    go_on(observer, "combine", &mir)?;
    Ok(mir)
}

/// What the finding says that is about no instruction of a function's text, until the function's name is known.
const UNNAMED: &str = "a function like this";

fn unsupported(what: select::Unsupported) -> Diagnostic {
    match source_node(what.loc) {
        // The operation is called as the function's text calls it: see `name_unsupported`.
        Some(node) => Diagnostic::unsupported(node, "this instruction").note(what.why),
        None => Diagnostic::unsupported(NodeId(0), UNNAMED).note(what.why),
    }
}

/// Lets diagnostics about instructions that can't be lowered yet name them as the function's text does,
/// where the pass that found them knew only what has become of them.
pub fn name_unsupported(function: &ast::Function, halt: Halt) -> Halt {
    let mut halt = halt;
    for diagnostic in halt.iter_mut().filter(|diagnostic| diagnostic.code == UNSUPPORTED) {
        let node = diagnostic.primary.node;
        let written = function.body.iter().flatten().find_map(|statement| match &statement.kind {
            ast::StatementKind::Instruction(instruction) if statement.id == node => Some(&instruction.opcode),
            _ => None,
        });
        if let Some(opcode) = written {
            diagnostic.message = format!("`{opcode}` is not supported yet");
        } else if diagnostic.message.starts_with(UNNAMED) {
            diagnostic.message = format!("the function `{}` is not supported yet", function.name.name);
        }
    }
    halt.dedup();
    halt
}

/// Schedules by a built-in heuristic, allocates, lays out, adds control codes, and links a kernel with the
/// functions that it calls.
pub fn code(
    mir: Mir<VReg>,
    callees: &Callees,
    settings: &CodeSettings,
    observer: &mut dyn Observer,
) -> Result<FuncCode, Halt> {
    let mut heuristic = built_in(&settings.heuristic)?;
    code_with(mir, callees, settings, &mut *heuristic, observer)
}

/// The built-in heuristic of that name.
fn built_in(name: &str) -> Result<Box<dyn Heuristic + Send>, Halt> {
    heuristic_by_name(name).ok_or_else(|| {
        vec![Diagnostic::error(INTERNAL, NodeId(0), format!("there is no heuristic `{name}`"))]
    })
}

/// Schedules by any heuristic, allocates, lays out, adds control codes and links. An order that breaks a
/// dependence is an error that names it; every other order becomes correct code.
pub fn code_with(
    mir: Mir<VReg>,
    callees: &Callees,
    settings: &CodeSettings,
    heuristic: &mut dyn Heuristic,
    observer: &mut dyn Observer,
) -> Result<FuncCode, Halt> {
    let own = own_code_with(mir, &summaries(callees), callees, settings, heuristic, observer)?;
    linked(own, callees, settings.arch, observer)
}

/// The same by a built-in heuristic, but for linking: the code of the function by itself, which depends on what it calls
/// by summaries and by the code of the routines that are copied into it.
///
/// # Errors
/// As [`code`].
pub fn own_code(
    mir: Mir<VReg>,
    summaries: &Summaries,
    routines: &Callees,
    settings: &CodeSettings,
) -> Result<FuncCode, Halt> {
    let mut heuristic = built_in(&settings.heuristic)?;
    own_code_with(mir, summaries, routines, settings, &mut *heuristic, &mut Silent)
}

fn own_code_with(
    mut mir: Mir<VReg>,
    summaries: &Summaries,
    routines: &Callees,
    settings: &CodeSettings,
    heuristic: &mut dyn Heuristic,
    observer: &mut dyn Observer,
) -> Result<FuncCode, Halt> {
    let arch = settings.arch;
    let is_kernel = mir.kind == FunctionKind::Entry;
    link::fill_clobbers(&mut mir, summaries, settings.max_regs);
    observer.before("schedule-pre-ra", &mir);
    // An order changes nothing at the borders of blocks.
    let live = Liveness::new(&mir);
    if settings.opt > 1 {
        schedule::pre_ra(&mut mir, &live, arch, settings.max_regs, heuristic)
            .map_err(|error| illegal_order("schedule-pre-ra", &error))?;
    }
    verified_mir("schedule-pre-ra", &mir, arch)?;
    go_on(observer, "schedule-pre-ra", &mir)?;

    observer.before("allocate", &mir);
    let options = allocate::Options { max_regs: settings.max_regs as u16, arch };
    let allocation = allocate::allocate(&mir, &live, &options)
        .map_err(|error| vec![crate::register_limit::too_few(&error, &mir, arch, settings.max_regs)])?;
    allocate::check(&mir, &live, &allocation, &options)
        .map_err(|violations| contradiction(WRONG_ALLOCATION, "allocate", violations))?;
    let allocated = allocation.mir;
    // What came before has done its work; the code to come takes its memory.
    drop((mir, live, allocation.origins));
    go_on(observer, "allocate", &allocated)?;

    observer.before("layout", &allocated);
    let mut laid_out = layout::layout(allocated, arch);
    layout::inline_collectives(&mut laid_out, arch, routines)
        .map_err(|missing| internal("layout", [format!("`{missing}` has no code that can be copied")]))?;
    layout::check_convergence(&laid_out).map_err(|errors| internal("layout", errors))?;
    go_on(observer, "layout", &laid_out)?;

    observer.before("schedule-post-ra", &laid_out);
    if settings.opt > 0 {
        schedule::post_ra(&mut laid_out, arch, heuristic)
            .map_err(|error| illegal_order("schedule-post-ra", &error))?;
    }
    layout::space_copies(&mut laid_out, arch, is_kernel);
    go_on(observer, "schedule-post-ra", &laid_out)?;

    observer.before("control", &laid_out);
    let sync = if settings.serial { control::Sync::Serial } else { control::Sync::Dataflow };
    let (mut program, explain) = control::assign(laid_out, arch, control::Options { sync });
    program.accelerated = settings.accelerated;
    program.number_labels();
    go_on(observer, "control", &ProgramText(&program))?;
    let without_bits = |(index, why): (usize, String)| {
        let Coded { inst, loc, .. } = &program.insts[index];
        unsupported(select::Unsupported { op: inst.to_string(), loc: SourceLoc(*loc), why })
    };
    let refused: Halt = encodable::refused(&program).into_iter().map(without_bits).collect();
    if !refused.is_empty() {
        return Err(refused);
    }

    let mut summary = None;
    if !is_kernel {
        if !link::keeps_warp_registers(&program) {
            return Err(internal("select", ["a function that is called writes uniform registers"]));
        }
        if !program.tables.is_empty() {
            let message = "a jump table in a function that is called";
            return Err(vec![Diagnostic::unsupported(NodeId(0), message)]);
        }
        summary = Some(link::summary(&program, summaries));
    }
    Ok(FuncCode { program, explain, summary })
}

/// Puts a kernel together with what it calls, and checks what came out. A function that is called is checked alone.
///
/// # Errors
/// Code of a callee that is missing, and what the hazard check finds: errors in ptxc.
pub fn linked(
    code: FuncCode,
    callees: &Callees,
    arch: Arch,
    observer: &mut dyn Observer,
) -> Result<FuncCode, Halt> {
    let FuncCode { mut program, mut explain, summary } = code;
    observer.before("link", &ProgramText(&program));
    if summary.is_none() {
        (program, explain) = link::link(program, explain, callees)
            .map_err(|missing| internal("link", [format!("`{missing}` has no code that can be copied")]))?;
    }
    go_on(observer, "link", &ProgramText(&program))?;

    observer.before("hazard-check", &ProgramText(&program));
    exists("link", program.insts.iter().map(|coded| &coded.inst), arch)?;
    hazard_check(&program).map_err(|hazards| internal("control", hazards))?;
    go_on(observer, "hazard-check", &ProgramText(&program))?;
    Ok(FuncCode { program, explain, summary })
}

fn hazard_check(program: &Program) -> Result<(), Vec<ptxc_sass::verify::Hazard>> {
    ptxc_sass::verify::check_polling(program, ptxc_sass::verify::Order::Own, &ptxc_interrupt::poll)
}

/// Compiles a runtime routine: all stages.
///
/// # Errors
/// As the stages; a name that no routine has.
pub fn routine(name: &str, callees: &Callees, settings: &CodeSettings) -> Result<FuncCode, Halt> {
    code(routine_machine(name, settings)?, callees, settings, &mut Silent)
}

/// Machine IR of a runtime routine. Its functions, but for the first, are the symbols of routines that it calls.
///
/// # Errors
/// As the stages; a name that no routine has.
pub fn routine_machine(name: &str, settings: &CodeSettings) -> Result<Mir<VReg>, Halt> {
    let missing = || internal("link", [format!("there is no routine `{name}`")]);
    let func = runtime::routine(name).ok_or_else(missing)?;
    let func = ssa(func, settings.arch, settings.opt, false, &mut Silent)?;
    machine(func, settings.arch, settings.opt, &mut Silent)
}

/// The routines that machine IR calls, and those that they call, compiled: for callers without a database.
///
/// # Errors
/// As [`routine`].
pub fn compile_routines(mir: &Mir<VReg>, settings: &CodeSettings) -> Result<Callees, Halt> {
    let mut callees = Callees::new();
    // A routine is compiled when those that it calls are.
    let mut open: Vec<(String, Mir<VReg>)> = Vec::new();
    let mut wanted: Vec<String> = mir.functions.iter().skip(1).rev().cloned().collect();
    loop {
        while let Some(symbol) = wanted.pop() {
            let Some(name) = runtime::name_of_symbol(&symbol) else { continue };
            if callees.contains_key(&symbol) || open.iter().any(|(known, _)| *known == symbol) {
                continue;
            }
            let mir = routine_machine(name, settings)?;
            wanted.extend(mir.functions.iter().skip(1).cloned());
            open.push((symbol, mir));
        }
        let ready = |(_, mir): &(String, Mir<VReg>)| {
            let compiled = |symbol: &String| callees.contains_key(symbol);
            mir.functions.iter().skip(1).all(compiled)
        };
        let Some(next) = open.iter().position(ready) else { return Ok(callees) };
        let (symbol, mir) = open.remove(next);
        let code = code(mir, &callees, settings, &mut Silent)?;
        callees.insert(symbol, Arc::new(code));
    }
}

fn illegal_order(pass: &str, error: &IllegalOrder) -> Halt {
    let message = format!("{pass}: the heuristic's order is illegal: {error}");
    vec![Diagnostic::error(ILLEGAL_ORDER, NodeId(0), message)]
}

/// A program as text, for printing between passes.
struct ProgramText<'a>(&'a Program);

impl fmt::Display for ProgramText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        write_program(self.0, &Style::default(), None, &mut text)?;
        f.write_str(&text)
    }
}
