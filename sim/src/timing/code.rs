//! The program for the model of time: the demands and the duration of each instruction.

use ptxc_machine::Arch;
use ptxc_sass::issue::Demand;
use ptxc_sass::{Coded, Completion, ModKind, Op, OperandKind, PReg, Pipe, Program, slot_name, value};

use super::memory::Policy;
use super::params::{Params, Range};

/// An instruction.
#[derive(Debug)]
pub(super) struct Node {
    /// The resources of the sub-core that it needs.
    pub demand: Demand,
    /// The scoreboards that it waits for, one bit each.
    pub waits: u8,
    /// The scoreboard that its result releases.
    pub write_barrier: Option<u8>,
    /// The scoreboard that is released when its operands have been read.
    pub read_barrier: Option<u8>,
    /// The time from issue to its result, if memory does not determine it.
    pub latency: Range,
    /// The time from issue until its operands have been read.
    pub read: u64,
    /// Its other effects on the warp.
    pub kind: Kind,
    /// Its cache policy.
    pub policy: Policy,
    /// The line of a constant bank that it reads as an operand of fixed latency.
    pub constant: Option<(u8, u32)>,
    /// Whether it may touch memory, so that its addresses matter.
    pub touches_memory: bool,
}

/// An effect of an instruction, besides its control field, that delays the warp after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing.
    Plain,
    /// May end a phase of a CTA barrier.
    Barrier,
    /// May end a phase of the barrier of the cluster.
    ClusterArrive,
    /// Waits for the end of that phase.
    ClusterWait,
    /// Waits until the CTA can see earlier accesses.
    FenceCta,
    /// Waits until all threads can see earlier accesses.
    FenceGpu,
    /// Empties the first-level cache.
    Invalidate,
    /// Sleeps for this number of cycles, or for the time in a register.
    Sleep(Option<u32>),
    /// Sleeps until an mbarrier changes. It looks for that as often as a barrier would let it go on.
    Doze,
    /// Starts a product of a warpgroup, which takes that many cycles; the last one of its group or
    /// not.
    Product { cycles: u64, ends_group: bool },
    /// Waits until at most that many groups of products are under way.
    Products(u32),
}

/// The instructions of a program.
pub(super) fn nodes(program: &Program, params: &Params) -> Vec<Node> {
    program.insts.iter().map(|coded| node(program.arch, coded, params)).collect()
}

fn node(arch: Arch, coded: &Coded, params: &Params) -> Node {
    let inst = &coded.inst;
    let row = inst.row();
    let effects = row.effects;
    let fixed = inst.completion(arch) == Completion::Fixed;
    let touches = effects.reads_memory || effects.writes_memory;
    let demand = Demand::new(arch, coded);
    let kind = kind(coded, &demand, params);
    Node {
        demand,
        waits: coded.control.wait_mask,
        write_barrier: coded.control.write_barrier,
        read_barrier: coded.control.read_barrier,
        latency: latency(arch, coded, params),
        read: operand_read(coded, params),
        kind,
        policy: Policy {
            coherent: inst.is(value!(Order = ".STRONG"))
                && matches!(inst.modifier(ModKind::Scope), ".GPU" | ".SYS"),
        },
        constant: fixed.then(|| constant_line(coded, params)).flatten(),
        touches_memory: match row.pipe {
            Pipe::Lsu => touches && !effects.fence,
            Pipe::Ldc => true,
            _ => false,
        },
    }
}

fn latency(arch: Arch, coded: &Coded, params: &Params) -> Range {
    let inst = &coded.inst;
    if inst.completion(arch) == Completion::Fixed {
        return params.fixed;
    }
    let reads_special = inst.operands.iter().any(|operand| matches!(operand.kind, OperandKind::Special(_)));
    match inst.row().pipe {
        _ if reads_special => params.special_register,
        Pipe::Lsu => params.shuffle,
        Pipe::Ldc => params.constant_load,
        Pipe::Xu => params.special,
        Pipe::Fp64 => params.double,
        Pipe::Tensor => params.tensor,
        // Only for completeness: the simulator runs no program that reads textures.
        Pipe::Tex => params.shuffle,
        Pipe::Control => params.control,
        Pipe::Alu | Pipe::Fma | Pipe::FmaHeavy | Pipe::Half | Pipe::Udp => params.fixed,
    }
}

/// The time from issue until operands have been read.
fn operand_read(coded: &Coded, params: &Params) -> u64 {
    let effects = coded.inst.row().effects;
    let cycles = match effects.writes_memory && !effects.fence {
        true => {
            params.store_read
                + match coded.inst.modifier(ModKind::Size) {
                    ".64" => params.store_read_64,
                    ".128" => params.store_read_128,
                    _ => 0,
                }
        }
        false => params.load_read,
    };
    cycles.into()
}

fn kind(coded: &Coded, demand: &Demand, params: &Params) -> Kind {
    let inst = &coded.inst;
    match inst.op {
        op if op.row().cta_barrier => Kind::Barrier,
        Op::UCGABAR_ARV => Kind::ClusterArrive,
        Op::UCGABAR_WAIT => Kind::ClusterWait,
        Op::MEMBAR if inst.is(value!(Scope = ".CTA")) => Kind::FenceCta,
        Op::MEMBAR => Kind::FenceGpu,
        Op::CCTL_IVALL => Kind::Invalidate,
        Op::NANOSLEEP if inst.is(value!(Mode = ".SYNCS")) => Kind::Doze,
        Op::NANOSLEEP => Kind::Sleep(match inst.get(slot_name!("a")).map(|operand| operand.kind) {
            Some(OperandKind::Imm(nanoseconds)) => Some(nanoseconds.saturating_mul(params.sleep_cycles)),
            _ => None,
        }),
        Op::WARPGROUP_DEPBAR => Kind::Products(match inst.get(slot_name!("n")).map(|operand| operand.kind) {
            Some(OperandKind::Imm(groups)) => groups,
            _ => 0,
        }),
        op if op.row().completion == Completion::Group => {
            let cycles = demand.interval() + u64::from(params.tensor.typical);
            Kind::Product { cycles, ends_group: inst.is(value!(Group = "gsb0")) }
        }
        _ => Kind::Plain,
    }
}

/// The line of constants that an instruction of fixed latency reads. The launch fills bank 0, which
/// is always present.
fn constant_line(coded: &Coded, params: &Params) -> Option<(u8, u32)> {
    let operand = |operand: &ptxc_sass::Operand<PReg>| match operand.kind {
        OperandKind::Const { bank, offset } if bank != 0 => Some((bank, offset / params.constant_line)),
        _ => None,
    };
    coded.inst.operands.iter().find_map(operand)
}
