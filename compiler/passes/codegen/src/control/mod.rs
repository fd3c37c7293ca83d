//! Control codes: computes stalls, scoreboards, reuse and yield once the order of instructions is
//! fixed.
//!
//! In: [`Code`], in any order that respects its dependences. Out: a [`Program`] with a control
//! field for every instruction, and an [`Explain`] with the reasons for each. Four steps over a
//! flat view of the code (`stream`):
//!
//! 1. `scoreboards`: the scoreboards that each instruction sets and awaits, by dataflow across
//!    blocks.
//! 2. `stalls`: the least distances that satisfy every fixed latency on every path, around loops,
//!    too.
//! 3. `hints`: yield and reuse.
//! 4. Assembly: labels, padding, resources.
//!
//! ```text
//! S2R R0, SR_TID.X            [B------:R-:W0:-:S02]  sets SB0; 2 to the wait for SB0
//! IADD3 R0, R0, 0x1, RZ       [B0-----:R-:W-:Y:S05]  waits SB0: R0; 5 to STG R0
//! STG.E desc[UR4][R2.64], R0  [B------:R-:W-:-:S01]
//! EXIT                        [B------:R-:W-:-:S05]
//! ```
//! With [`Sync::Serial`] every instruction stalls for 15 cycles and waits for all earlier ones,
//! which helps to bisect a wrong schedule. Cost: linear in the instructions for bounded loop
//! nesting.

mod hints;
mod relocate;
mod scoreboards;
mod stalls;
mod stream;
mod units;

use ptxc_ir::Space;
use ptxc_machine::Arch;
use ptxc_sass::latency::Dependence;
use ptxc_sass::program::{ImageKind, ParamInfo, ProgramFunction, Resources};
use ptxc_sass::{Coded, Control, Inst, JumpTable, Op, Operand, Program, RegFile, Register, slot};

use crate::explain::{Awaited, Explain, Note};
use crate::layout::Code;
use scoreboards::Scoreboards;
use stalls::{Cause, Reason, Stalls};
use stream::{ARRIVAL, Stream};

/// The scoreboard that counts the groups of asynchronous copies; ptxas uses the same.
pub(crate) const COPY_GROUPS: u8 = 0;

/// How instructions are kept apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sync {
    /// By the least distances that the dependences allow.
    #[default]
    Dataflow,
    /// Every instruction waits for all earlier ones.
    Serial,
}

/// The options of the control pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// How instructions are kept apart.
    pub sync: Sync,
}

/// Computes the control fields of a kernel.
pub fn assign(code: Code, arch: Arch, options: Options) -> (Program, Explain) {
    let stream = Stream::new(&code, arch);
    let (scoreboards, least) = match options.sync {
        Sync::Dataflow => (scoreboards::assign(&stream), 1),
        Sync::Serial => (scoreboards::serial(&stream), u32::from(Control::MAX_STALL)),
    };
    let stalls = stalls::assign(&stream, &scoreboards, least);
    let fields = control_fields(&stream, &scoreboards, &stalls);
    let explain = explain(&stream, &scoreboards, &stalls);
    let resources = resources(&code, &stream);
    drop(stream);
    (assemble(code, arch, &fields, &stalls.cycles, resources), explain)
}

/// The padding that follows an instruction: the cycles that its own control field can't hold, in
/// NOPs.
fn padding(stall: u32) -> impl Iterator<Item = u32> {
    let most = u32::from(Control::MAX_STALL);
    let over = stall.saturating_sub(most);
    (0..over.div_ceil(most)).map(move |n| (over - n * most).min(most))
}

/// Assembles the program from the instructions and their control fields.
fn assemble(code: Code, arch: Arch, fields: &[Control], stalls: &[u32], resources: Resources) -> Program {
    let count = stalls.iter().map(|&stall| 1 + padding(stall).count()).sum();
    let mut insts: Vec<Coded> = Vec::with_capacity(count);
    let mut frequency = Vec::with_capacity(count);
    let mut labels = Vec::with_capacity(code.blocks.len());
    let mut tables = Vec::new();
    let mut fields = fields.iter().zip(stalls);
    for block in code.blocks {
        labels.push(insts.len() as u32);
        for (minst, (&control, &stall)) in block.insts.into_iter().zip(&mut fields) {
            ptxc_interrupt::poll();
            let loc = minst.loc.0;
            insts.push(Coded { inst: minst.inst, control, loc });
            let branch = insts.len() as u32 - 1;
            if let Some(offset) = block.table
                && let Some(Coded { inst, .. }) =
                    insts.last_mut().filter(|last| last.inst.is_indexed_branch())
            {
                let back = (branch + 1).wrapping_mul(Program::INST_BYTES).wrapping_neg();
                *inst = inst.clone().slot(slot!(BRX | BRXU, "offset"), Operand::imm(back));
                tables.push(JumpTable { offset, branch });
            }
            for stall in padding(stall) {
                let control = Control {
                    stall: stall as u8,
                    yield_hint: hints::yields(stall, true, false),
                    ..Control::plain()
                };
                insts.push(Coded { inst: Inst::new(Op::NOP), control, loc });
            }
        }
        frequency.resize(insts.len(), block.frequency);
    }
    tables.sort_by_key(|table: &JumpTable| table.offset);
    set_return_distances(&mut insts);
    let mut names = code.header.functions;
    let linking = (code.header.relocatable, &code.header.pointed_to[..], arch);
    let (relocations, kept_relocations) = relocate::relocate(&mut insts, &mut names, linking);
    Program {
        functions: names.into_iter().map(unlinked).collect(),
        name: code.header.name,
        arch,
        accelerated: false,
        trap_handler: false,
        device_function: code.header.platform,
        resources,
        insts,
        labels,
        frequency,
        params: code.header.params.into_iter().map(param_info).collect(),
        image_words: code.header.image_words,
        variables: code.header.variables,
        tables,
        literals: Vec::new(),
        relocations,
        kept_relocations,
        unknown: Vec::new(),
        lines: Vec::new(),
        files: Vec::new(),
        kept: Default::default(),
    }
}

/// Sets the distances from each `LEPC` to the end of the call that it precedes, in the sum between
/// them. Padding may be between them, too.
fn set_return_distances(insts: &mut [Coded]) {
    for at in 0..insts.len() {
        if insts[at].inst.op != Op::LEPC {
            continue;
        }
        let after = |op| insts[at..].iter().position(|coded| coded.inst.op == op);
        if let (Some(sum), Some(call)) = (after(Op::IADD3), after(Op::CALL_ABSOLUTE)) {
            let distance = Operand::imm((call as u32 + 1) * Program::INST_BYTES);
            let inst = insts[at + sum].inst.clone();
            insts[at + sum].inst = inst.slot(slot!(IADD3, "b"), distance);
        }
    }
}

/// The control fields of all instructions, except for those of padding.
fn control_fields(stream: &Stream<'_>, scoreboards: &Scoreboards, stalls: &Stalls) -> Vec<Control> {
    let mut fields = Vec::with_capacity(stream.entries.len());
    // The last instruction whose flagged registers were computed, and these registers.
    let mut known: Option<(usize, hints::Flagged)> = None;
    for block in &stream.blocks {
        for index in block.range.clone() {
            ptxc_interrupt::poll();
            let stall = stalls.cycles[index];
            let sets = scoreboards.sets[index];
            let for_dependence =
                stalls.causes[index].is_some_and(|cause| matches!(cause.reason, Reason::Dependence { .. }));
            let yield_hint =
                hints::yields(stall, for_dependence, sets.write.is_some() || sets.read.is_some());
            let next = index + 1;
            let is_next_at_once = next < block.range.end && !yield_hint && scoreboards.mask(next) == 0;
            let mut reuse = 0;
            if is_next_at_once && stream.entries[index].kills && stream.entries[next].kills {
                let (inst, next_inst) = (stream.entries[index].inst, stream.entries[next].inst);
                let others = hints::flagged(next_inst);
                if others != hints::Flagged::default() {
                    let own = known.filter(|&(of, _)| of == index).map(|(_, flagged)| flagged);
                    let own = own.unwrap_or_else(|| hints::flagged(inst));
                    reuse = hints::reuse((inst, &own), (next_inst, &others), stream.arch);
                }
                known = Some((next, others));
            }
            fields.push(Control {
                stall: stall.min(u32::from(Control::MAX_STALL)) as u8,
                yield_hint,
                write_barrier: sets.write,
                read_barrier: sets.read,
                wait_mask: scoreboards.mask(index),
                reuse,
                ..Control::plain()
            });
        }
    }
    fields
}

/// The notes of all instructions.
fn explain(stream: &Stream<'_>, scoreboards: &Scoreboards, stalls: &Stalls) -> Explain {
    let mut final_index = Vec::with_capacity(stream.entries.len());
    let mut next = 0;
    for &stall in &stalls.cycles {
        final_index.push(next);
        next += 1 + padding(stall).count();
    }
    let mut explain = Explain::with_capacity(next);
    for (index, &stall) in stalls.cycles.iter().enumerate() {
        ptxc_interrupt::poll();
        let mask = scoreboards.mask(index);
        if mask != 0 {
            let awaited = awaited(stream, scoreboards, index);
            explain.push(Note::Waits { scoreboards: mask, awaited });
        }
        let sets = scoreboards.sets[index];
        if let Some(scoreboard) = sets.write {
            explain.push(Note::SetsResult(scoreboard));
        }
        if let Some(scoreboard) = sets.read {
            explain.push(Note::SetsRead(scoreboard));
        }
        if let Some(cause) = stalls.causes[index] {
            explain.push(stall_note(stream, cause, index, &final_index));
        }
        explain.finish();
        for _ in padding(stall) {
            explain.push(Note::Padding);
            explain.finish();
        }
    }
    explain
}

/// The reasons of an instruction's waits.
fn awaited(stream: &Stream<'_>, scoreboards: &Scoreboards, index: usize) -> Vec<Awaited> {
    let mut awaited = Vec::new();
    for wait in scoreboards.reasons(index) {
        let touch = stream.touches(index).iter().find(|touch| touch.unit == wait.unit);
        let what = match touch.and_then(|touch| touch.reg()) {
            Some(reg) => Awaited::Register(reg),
            None if wait.unit == ARRIVAL => Awaited::Arrival,
            None => Awaited::Fence,
        };
        if !awaited.contains(&what) {
            awaited.push(what);
        }
    }
    awaited
}

fn stall_note(stream: &Stream<'_>, cause: Cause, index: usize, final_index: &[usize]) -> Note {
    let cycles = cause.cycles;
    match cause.reason {
        Reason::Scoreboard { scoreboard, .. } => Note::Visible { cycles, scoreboard },
        Reason::Gap { ahead } => Note::Gap { cycles, ahead },
        Reason::Boundary { producer } => Note::Settled { cycles, from: final_index[producer] },
        Reason::Dependence { dependence, producer, consumer, slot, reg } => {
            let from = (producer != index).then(|| final_index[producer]);
            let row = stream.entries[consumer].op.row();
            let is_guard = usize::from(slot) == row.slots.len();
            match dependence {
                Dependence::Raw => {
                    Note::Latency { cycles, from, reader: (!is_guard).then_some(row.mnemonic), reg }
                }
                Dependence::War | Dependence::Waw => {
                    Note::Overwrite { cycles, from, writer: row.mnemonic, reg }
                }
            }
        }
    }
}

fn resources(code: &Code, stream: &Stream<'_>) -> Resources {
    let bounds = &code.header.bounds;
    let [cluster_x, cluster_y, cluster_z] = bounds.cluster.unwrap_or_default();
    let [threads_x, threads_y, threads_z] = bounds.required_threads.unwrap_or_default();
    let [max_threads_x, max_threads_y, max_threads_z] = bounds.max_threads.unwrap_or_default();
    let mut resources = Resources {
        cluster_x,
        cluster_y,
        cluster_z,
        explicit_cluster: u32::from(bounds.explicit_cluster),
        threads_x,
        threads_y,
        threads_z,
        max_threads_x,
        max_threads_y,
        max_threads_z,
        max_registers: bounds.max_registers.unwrap_or(0),
        shared_bytes: code.header.shared_bytes,
        dynamic_shared: u32::from(code.header.dynamic_shared),
        local_bytes: code.header.local_bytes,
        open_stack: code.header.open_stack.into(),
        barriers: code.header.barriers,
        spills: code.header.spills,
        launch_registers: code.header.launch_registers,
        ..Resources::default()
    };
    for reg in stream.registers() {
        let end = u32::from(reg.index()) + 1;
        match reg.file() {
            RegFile::Gpr => resources.registers = resources.registers.max(end),
            RegFile::Ugpr => resources.uniform_registers = resources.uniform_registers.max(end),
            RegFile::Pred | RegFile::Upred => {}
        }
    }
    resources
}

fn unlinked(name: String) -> ProgramFunction {
    ProgramFunction { name, start: None }
}

fn param_info(param: ptxc_ir::Param) -> ParamInfo {
    let image = match param.image {
        Some(Space::Texture) => Some(ImageKind::Texture),
        Some(Space::Sampler) => Some(ImageKind::Sampler),
        Some(Space::Surface) => Some(ImageKind::Surface),
        _ => None,
    };
    ParamInfo { name: param.name, size: param.size, offset: param.offset, image }
}

#[cfg(test)]
pub(crate) mod tests;
