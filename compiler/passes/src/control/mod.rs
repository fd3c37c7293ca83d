//! Control codes: stalls, scoreboards, reuse and yield, computed once the order is fixed.
//!
//! In: [`Code`], in any order that respects its dependences. Out: a [`Program`] with a control field behind
//! every instruction, and an [`Explain`] that says what forced each. Four steps over a flat view of the code
//! (`stream`):
//!
//! 1. `scoreboards`: which instruction sets and awaits which of the six, by dataflow across blocks.
//! 2. `stalls`: the least distances that satisfy every fixed latency on every path, around loops too.
//! 3. `hints`: yield and reuse.
//! 4. Assembly: labels, padding, resources.
//!
//! ```text
//! S2R R0, SR_TID.X            [B------:R-:W0:-:S02]  sets SB0; 2 to the wait for SB0
//! IADD3 R0, R0, 0x1, RZ       [B0-----:R-:W-:Y:S05]  waits SB0: R0; 5 to STG R0
//! STG.E desc[UR4][R2.64], R0  [B------:R-:W-:-:S01]
//! EXIT                        [B------:R-:W-:-:S05]
//! ```
//! With [`Sync::Serial`] every instruction stalls for 15 cycles and waits for all that came before: the
//! bisecting aid for a wrong schedule. Cost: linear in the instructions for bounded loop nesting.

mod explain;
mod hints;
mod scoreboards;
mod stalls;
mod stream;
mod units;

pub use explain::{Awaited, Explain, Note};
use ptxc_sass::latency::Dependence;
use ptxc_sass::program::{ParamInfo, ProgramFunction, Resources};
use ptxc_sass::{Arch, Coded, Control, Inst, JumpTable, Op, Operand, Program, RegFile, Register};
use scoreboards::Scoreboards;
use stalls::{Cause, Reason, Stalls};
use stream::{ARRIVAL, Stream};

use crate::interrupt;
use crate::layout::Code;

/// The scoreboard that counts the groups of asynchronous copies: ptxas's, too.
pub(crate) const COPY_GROUPS: u8 = 0;

/// How instructions are kept apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sync {
    /// As little as the dependences allow.
    #[default]
    Dataflow,
    /// Everything waits for everything before it.
    Serial,
}

/// What the control pass is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// How instructions are kept apart.
    pub sync: Sync,
}

/// Computes the control fields of a kernel.
pub fn assign(code: &Code, arch: Arch, options: Options) -> (Program, Explain) {
    let stream = Stream::new(code, arch);
    let (scoreboards, least) = match options.sync {
        Sync::Dataflow => (scoreboards::assign(&stream), 1),
        Sync::Serial => (scoreboards::serial(&stream), u32::from(Control::MAX_STALL)),
    };
    let stalls = stalls::assign(&stream, &scoreboards, least);
    assemble(code, &stream, &scoreboards, &stalls)
}

/// The padding that follows an instruction: the cycles that its own control field can't hold, in NOPs.
fn padding(stall: u32) -> impl Iterator<Item = u32> {
    let most = u32::from(Control::MAX_STALL);
    let over = stall.saturating_sub(most);
    (0..over.div_ceil(most)).map(move |n| (over - n * most).min(most))
}

fn assemble(
    code: &Code,
    stream: &Stream<'_>,
    scoreboards: &Scoreboards,
    stalls: &Stalls,
) -> (Program, Explain) {
    let mut final_index = Vec::with_capacity(stream.entries.len());
    let mut next = 0;
    for &stall in &stalls.cycles {
        final_index.push(next);
        next += 1 + padding(stall).count();
    }

    let mut insts: Vec<Coded> = Vec::with_capacity(next);
    let mut frequency = Vec::with_capacity(next);
    let mut labels = Vec::with_capacity(stream.blocks.len());
    let mut notes = Vec::with_capacity(next);
    let mut tables = Vec::new();
    for (block, code) in stream.blocks.iter().zip(&code.blocks) {
        labels.push(insts.len() as u32);
        for index in block.range.clone() {
            interrupt::poll();
            let entry = &stream.entries[index];
            let follower = (index + 1 < block.range.end).then_some(index + 1);
            let control = control_field(stream, scoreboards, stalls, index, follower);
            let mut inst = entry.inst.clone();
            if let Some(offset) = code.table.filter(|_| inst.is_indexed_branch()) {
                let branch = insts.len() as u32;
                let back = (branch + 1).wrapping_mul(Program::INST_BYTES).wrapping_neg();
                inst = inst.slot("offset", Operand::imm(back));
                tables.push(JumpTable { offset, branch });
            }
            insts.push(Coded { inst, control, loc: entry.loc.0 });
            notes.push(notes_of(stream, scoreboards, stalls, index, &final_index));
            for stall in padding(stalls.cycles[index]) {
                let control = Control {
                    stall: stall as u8,
                    yield_hint: hints::yields(stall, true, false),
                    ..Control::plain()
                };
                insts.push(Coded { inst: Inst::new(Op::NOP), control, loc: entry.loc.0 });
                notes.push(vec![Note::Padding]);
            }
            frequency.resize(insts.len(), block.frequency);
        }
    }
    tables.sort_by_key(|table: &JumpTable| table.offset);
    let program = Program {
        name: code.name.clone(),
        arch: stream.arch,
        accelerated: false,
        trap_handler: false,
        device_function: false,
        resources: resources(code, stream),
        insts,
        labels,
        functions: code.functions.iter().map(|name| unlinked(name)).collect(),
        frequency,
        params: code.params.iter().map(param_info).collect(),
        variables: code.variables.clone(),
        tables,
        literals: Vec::new(),
        relocations: Vec::new(),
    };
    (program, Explain { notes })
}

fn control_field(
    stream: &Stream<'_>,
    scoreboards: &Scoreboards,
    stalls: &Stalls,
    index: usize,
    follower: Option<usize>,
) -> Control {
    let stall = stalls.cycles[index];
    let sets = scoreboards.sets[index];
    let for_dependence =
        stalls.causes[index].is_some_and(|cause| matches!(cause.reason, Reason::Dependence { .. }));
    let yield_hint = hints::yields(stall, for_dependence, sets.write.is_some() || sets.read.is_some());
    let reuse = match follower {
        Some(next) if !yield_hint && scoreboards.masks[next] == 0 => {
            hints::reuse(stream.entries[index].inst, stream.entries[next].inst, stream.arch)
        }
        _ => 0,
    };
    Control {
        stall: stall.min(u32::from(Control::MAX_STALL)) as u8,
        yield_hint,
        write_barrier: sets.write,
        read_barrier: sets.read,
        wait_mask: scoreboards.masks[index],
        reuse,
        ..Control::plain()
    }
}

fn notes_of(
    stream: &Stream<'_>,
    scoreboards: &Scoreboards,
    stalls: &Stalls,
    index: usize,
    final_index: &[usize],
) -> Vec<Note> {
    let sets = scoreboards.sets[index];
    let cause = stalls.causes[index];
    let is_there =
        [scoreboards.masks[index] != 0, sets.write.is_some(), sets.read.is_some(), cause.is_some()];
    let mut notes = Vec::with_capacity(is_there.into_iter().filter(|&is_there| is_there).count());
    if scoreboards.masks[index] != 0 {
        let mut awaited = Vec::new();
        for wait in &scoreboards.waits[index] {
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
        let scoreboards = scoreboards::bits(scoreboards.masks[index]).collect();
        notes.push(Note::Waits { scoreboards, awaited });
    }
    notes.extend(sets.write.map(Note::SetsResult));
    notes.extend(sets.read.map(Note::SetsRead));
    notes.extend(cause.map(|cause| stall_note(stream, cause, index, final_index)));
    notes
}

fn stall_note(stream: &Stream<'_>, cause: Cause, index: usize, final_index: &[usize]) -> Note {
    let cycles = cause.cycles;
    match cause.reason {
        Reason::Scoreboard { scoreboard, .. } => Note::Visible { cycles, scoreboard },
        Reason::Behind { ahead } => Note::Behind { cycles, ahead },
        Reason::Boundary { producer } => Note::Settled { cycles, from: final_index[producer] },
        Reason::Dependence { dependence, producer, consumer, slot, reg } => {
            let from = (producer != index).then(|| final_index[producer]);
            let row = stream.entries[consumer].inst.row();
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
    let bounds = &code.bounds;
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
        shared_bytes: code.shared_bytes,
        local_bytes: code.local_bytes,
        barriers: code.barriers,
        spills: code.spills,
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

fn unlinked(name: &str) -> ProgramFunction {
    ProgramFunction { name: name.to_string(), start: None }
}

fn param_info(param: &ptxc_ir::Param) -> ParamInfo {
    ParamInfo { name: param.name.clone(), size: param.size, offset: param.offset }
}

#[cfg(test)]
pub(crate) mod tests;
