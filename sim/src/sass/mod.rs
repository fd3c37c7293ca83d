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
//! | `outside` | calls by whole addresses, services of the driver |
//! | `uniform` | special registers |
//! | `unwritten` | any, on registers with unwritten bits |
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
mod functions;
mod half;
mod image;
mod matrix;
mod mbarrier;
mod memory;
mod outside;
mod pack;
mod pairs;
mod quads;
mod registers;
mod tensor;
mod tensor_copy;
mod uniform;
mod unwritten;
mod warp;
mod warpgroup;
mod watched;
mod xu;

use std::cell::RefCell;
use std::collections::BTreeMap;

use ptxc_ir::SpecialReg;
use ptxc_machine::Arch;
use ptxc_sass::bits::{self, DecodeError};
use ptxc_sass::{
    Access, AccessRole, Addend, CodeRelocation, Inst, JUMP_TABLE_BANK, Label, ModKind, Op, Operand, PReg,
    Program, RegFile, Register, SymbolValue, slot_name,
};
use smallvec::SmallVec;

use crate::case::Case;
use crate::checks::Side;
use crate::engine::{Engine, Scheduler, Step};
use crate::error::{Fault, SimError};
use crate::hazard::Hazards;
use crate::images;
use crate::interleave;
use crate::launch::{Checks, Options, STACK, Shape};
use crate::mbarrier::Layout;
use ptxc_machine::ParameterWindow;

use crate::memory::{CONSTANT_WINDOW, GridMemory, LOCAL_WINDOW, PARAMETER_END, PARAMETER_WINDOW, write_le};
use crate::module;
use crate::random::Random;
use crate::report::Report;
use crate::services::{NOWHERE, Service};
use crate::warp::{Flow, Joining};
use fields::{Action, Fields};
pub use functions::UNSUPPORTED;
use functions::function;
use registers::{PredSource, Registers};
pub use watched::Executed;

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
    let words = program.image_words.iter();
    memory.number_images(words.map(|word| (word.offset, word.kind, word.name.as_str())))?;
    let mut names = program.relocations.iter().map(|one| one.symbol.name.as_str());
    let has_samplers = names.clone().any(|name| Some(name) == SpecialReg::TextureBytes.loaded_symbol());
    if names.any(images::is_entry_size) {
        memory.describe_images(has_samplers);
    }
    // Sizes too large to be padded are refused.
    let padded = |bytes: u32| bytes.checked_next_multiple_of(16).unwrap_or(u32::MAX);
    let shape = Shape {
        grid: case.grid,
        cluster: program.resources.cluster().or(case.cluster),
        block: case.block,
        cooperative: case.cooperative,
        shared_bytes: padded(program.resources.shared_bytes).saturating_add(case.dynamic_smem),
        dynamic_shared: case.dynamic_smem,
        local_bytes: padded(program.resources.local_bytes)
            .saturating_add(if program.resources.open_stack != 0 { STACK } else { 0 }),
        checks: Checks { guesses_releases: options.strong.is_none(), ..Checks::of(options) },
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
    let findings = memory.found.list(|pc| engine.side(pc), |thread| shape.tid(thread));
    Report::of_run(case, memory, result, hazards, findings)
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
    put(0x2c, 4, shape.dynamic_shared.into());
    put(0x30, 8, 0);
    put(0x10c, 4, 1);
    if let Some(offset) = banks.reserved_shared_size {
        put(offset as usize, 4, 0);
    }
    if let Some(offset) = banks.aggregate_shared_limit {
        put(offset as usize, 4, shape.total_shared().into());
    }
    put(banks.graph_exec as usize, 8, 0);
    for (place, address) in (banks.image_tables as usize..).step_by(8).zip(memory.images.tables()) {
        put(place, 8, address);
    }
    for (number, &value) in memory.environment.iter().enumerate() {
        put(banks.environment as usize + 4 * number, 4, value.into());
    }
    if let Some(places) = banks.cluster {
        put(places.is_explicit as usize, 4, shape.cluster.is_some().into());
        put(places.ranks as usize, 4, shape.cluster_size().into());
        for (n, (&size, &clusters)) in shape.cluster_shape().iter().zip(&shape.clusters()).enumerate() {
            put(places.size as usize + 4 * n, 4, size.into());
            put(places.clusters as usize + 4 * n, 4, clusters.into());
        }
        for (n, &size) in shape.cluster_shape()[1..].iter().enumerate() {
            // Programs truncate the product with an index, so that of the size itself must not be below 1.
            let inverse = 1.0 / size as f32;
            let inverse =
                if f64::from(inverse) * f64::from(size) < 1.0 { inverse.next_up() } else { inverse };
            put(places.inverses as usize + 4 * n, 4, inverse.to_bits().into());
        }
    }
    put(banks.stack_top as usize, 4, shape.local_bytes.into());
    put(banks.local_window as usize, 8, LOCAL_WINDOW);
    put(banks.constant_window as usize, 8, CONSTANT_WINDOW);
    match banks.parameter_window {
        ParameterWindow::OfBank { start, end } => {
            let bank = PARAMETER_WINDOW - u64::from(banks.param_base);
            put(start as usize, 8, bank);
            put(end as usize, 4, PARAMETER_END - bank);
        }
        ParameterWindow::OfParameters { start, end } => {
            put(start as usize, 8, PARAMETER_WINDOW);
            put(end as usize, 8, PARAMETER_END);
        }
    }
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
    /// Whether its accesses are strong.
    strong: bool,
}

/// The registers of an instruction, for the checks and the observer.
struct Touched {
    guard: Option<PReg>,
    uses: SmallVec<[PReg; 6]>,
    defs: SmallVec<[PReg; 4]>,
    /// The operands between which a predicate chooses; a lane reads one of them.
    choice: Option<Choice>,
    /// Whether it does nothing but compute general registers of a lane from those of the lane.
    only_computes: bool,
}

/// A predicate, and the registers that are read where it holds and where it does not.
struct Choice {
    predicate: PredSource,
    registers: [SmallVec<[PReg; 1]>; 2],
    /// Whether they are only copied.
    is_copy: bool,
}

impl Choice {
    /// A choice between two registers, between sums and zeros, or of one register.
    fn of(inst: &Inst<PReg>) -> Option<Choice> {
        let is_copy = matches!(inst.op, Op::SEL | Op::MOV);
        let accesses: Vec<_> =
            inst.accesses().into_iter().filter(|access| access.role == AccessRole::Use).collect();
        let of_slot = |name: &str| {
            let slot = inst.row().slot(name);
            let own = accesses.iter().filter(|access| slot == Some(access.slot.into()));
            own.flat_map(|access| (0..access.width).filter_map(|n| access.reg.offset(n))).collect()
        };
        let (predicate, registers) = match inst.op {
            Op::SEL => (inst.get(slot_name!("ps")), [of_slot("a"), of_slot("b")]),
            Op::MOV => (None, [of_slot("b"), SmallVec::new()]),
            _ => (Some(inst.get(slot_name!("accumulate"))?), [of_slot("c"), SmallVec::new()]),
        };
        let source = |predicate: &Operand<PReg>| PredSource::new(predicate.as_reg(), predicate.flags.not);
        let predicate = predicate.map_or(PredSource::new(None, false), source);
        Some(Choice { predicate, registers, is_copy })
    }
}

impl Touched {
    fn new(inst: &Inst<PReg>) -> Touched {
        let words = |access: Access<PReg>| (0..access.width).filter_map(move |n| access.reg.offset(n));
        let uses = inst.accesses().into_iter().filter(|access| access.role == AccessRole::Use);
        let choice = Choice::of(inst);
        let is_chosen = |reg: &PReg| {
            choice.as_ref().is_some_and(|one| one.registers.iter().flatten().any(|own| own == reg))
        };
        let defs: SmallVec<_> = inst.defs().flat_map(words).collect();
        let is_general = |reg: &PReg| reg.file() == RegFile::Gpr;
        Touched {
            only_computes: inst.row().effects.is_none()
                && inst.op != Op::SHFL
                && !defs.is_empty()
                && defs.iter().all(is_general),
            guard: inst.guard.map(|guard| guard.reg),
            uses: uses.flat_map(words).filter(|reg| !is_chosen(reg)).collect(),
            defs,
            choice,
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
        let address = variables.get(&symbol.name).or_else(|| functions.get(&symbol.name)).copied();
        let number = images::is_entry_size(name).then_some(u64::from(images::ENTRY_BYTES));
        let address = address.or(number);
        let service = || Some(Service::address(name)).filter(|&address| address != NOWHERE);
        let address = match (symbol.value, address.or_else(service)) {
            (SymbolValue::Address, Some(address)) => address,
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
        let loses_saved = options.loses_saved;
        let fields = Fields { inst, arch, program, constants, mufu_error, loses_saved };
        let function = function(inst.op).ok_or_else(|| format!("the instruction {}", inst.row().mnemonic))?;
        let guard = if flow::decides_for_all(inst) { PredSource::new(None, false) } else { fields.guard() };
        let writes_uniform = || inst.defs().any(|def| def.reg.file().is_uniform());
        let holds = options.holds_uniform && writes_uniform();
        Ok(Node { action: function(&fields)?, guard, holds, strong: is_strong(inst) })
    };
    let unsupported = |inst: &Inst<PReg>, what| SimError::Unsupported { at: inst.to_string(), what };
    let mut loaded = loaded.iter().peekable();
    let insts = (0..).zip(&program.insts).map(|(index, coded)| {
        let changed = loaded.next_if(|(place, _)| *place == index);
        changed.map_or(&coded.inst, |(_, inst)| inst)
    });
    let is_kept = |index: u32| {
        let at = u64::from(index) * u64::from(Program::INST_BYTES);
        program.kept_relocations.binary_search_by_key(&at, |one| one.at).is_ok()
    };
    let nodes = (0..).zip(insts).map(|(index, inst)| match program.unknown_word(index) {
        Some(word) => Ok(Node::failing(unknown(word, 16 * index, program.arch))),
        None if is_kept(index) => Ok(Node::failing(unrelocated())),
        None if inst.has_clashing_signs() => Ok(Node::failing(illegal(inst.check_form()))),
        None => node(inst).map_err(|what| unsupported(inst, what)),
    });
    let mut nodes: Vec<Node> = nodes.collect::<Result<_, _>>()?;
    for &pc in options.strong.iter().flatten() {
        if let Some(node) = nodes.get_mut(pc as usize) {
            node.strong = true;
        }
    }
    Ok(nodes)
}

/// Whether the accesses of an instruction are strong.
fn is_strong(inst: &Inst<PReg>) -> bool {
    matches!(inst.modifier(ModKind::Order), ".STRONG" | ".MMIO")
}

/// The action of an instruction whose relocation is not known.
fn unrelocated() -> Action {
    Box::new(|_, step| {
        let what = "executes an instruction with a relocation of an unknown kind";
        Err(Fault::new(step.lanes.trailing_zeros(), what))
    })
}

/// The action of a word that is not a known instruction: the launch fails where it is executed.
fn unknown(word: u128, offset: u32, arch: Arch) -> Action {
    let what = match bits::decode(word, offset, arch) {
        Err(signs @ DecodeError::Signs(_)) => format!("executes the word {word:#034x}: {signs}"),
        _ => format!("executes the word {word:#034x}, which is not a known instruction"),
    };
    Box::new(move |_, step| Err(Fault::new(step.lanes.trailing_zeros(), what.clone())))
}

/// The action of an instruction that the hardware rejects, for the reason in the error.
fn illegal(form: Result<(), String>) -> Action {
    let what = format!("illegal instruction: {}", form.err().unwrap_or_default());
    Box::new(move |_, step| Err(Fault::new(step.lanes.trailing_zeros(), what.clone())))
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

impl Sass<'_> {
    /// An instruction for a finding.
    fn side(&self, pc: u32) -> Side {
        let loc = self.program.insts.get(pc as usize).map(|coded| coded.loc).filter(|&loc| loc != u32::MAX);
        let begun =
            self.program.functions.iter().filter(|function| function.start.is_some_and(|at| at <= pc));
        let function = begun.max_by_key(|function| function.start);
        let name = function.map_or(&self.program.name, |function| &function.name);
        Side { source: loc.map(|loc| (name.clone(), loc)), ..Side::new(pc, self.describe(pc)) }
    }
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
            Some(_) if self.program.unknown_word(pc).is_some() => format!("/*{:04x}*/", 16 * u64::from(pc)),
            Some(coded) => format!("/*{:04x}*/ {}", 16 * u64::from(pc), coded.inst),
            None => format!("/*{:04x}*/ the end of the program", 16 * u64::from(pc)),
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
            _ => self.follow(node, registers, step),
        }
    }
}

impl Node {
    /// A node whose execution fails.
    fn failing(action: Action) -> Node {
        Node { action, guard: PredSource::new(None, false), holds: false, strong: false }
    }

    /// Executes the instruction for the lanes of a step.
    fn execute(&self, registers: &mut Registers, step: &mut Step<'_>) -> Result<Flow, Fault> {
        let lanes = step.lanes;
        step.memory.instruction.strong = self.strong;
        let flow = (self.action)(registers, step)?;
        if self.holds {
            step.control.keep(lanes);
        }
        Ok(flow)
    }
}
