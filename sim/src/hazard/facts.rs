//! The facts about an instruction that are known before it executes.

use ptxc_machine::Arch;
use ptxc_sass::issue::DRAIN;
use ptxc_sass::latency::{Ahead, Dependence, Latency, Side, reads_at_issue, settled};
use ptxc_sass::return_order::LEAST_BRANCH;
use ptxc_sass::verify::{HazardKind, Order};
use ptxc_sass::{
    Access, AccessRole, Coded, Completion, Group, GroupRole, Inst, Op, OperandKind, PReg, RegFile, Register,
    SlotName, slot_name,
};
use smallvec::SmallVec;

/// A register that an instruction reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Touch {
    /// [`PReg::dense`].
    pub register: u16,
    pub writes: bool,
    pub slot: u8,
    pub component: u8,
}

/// An access that is still in flight when the next instruction may issue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    pub touch: Touch,
    pub end: End,
    /// Whether this is the read of the guard, which all lanes make.
    pub guard: bool,
}

/// The event that ends an access.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    /// From this number of cycles after issue on, no access is too early.
    After(u8),
    /// A wait for one of these scoreboards. An empty mask means that no wait ends it.
    Wait(u8),
}

/// An instruction as the tracker sees it.
#[derive(Debug)]
pub(super) struct Facts {
    pub op: Op,
    /// The waits that the code relies on.
    pub order: Order,
    /// The scoreboard that signals its results, and the one that signals that its operands have
    /// been read, one bit each.
    pub announces: [u8; 2],
    /// Whether it waits for the CTA, even for lanes whose guard is false.
    pub awaits_cta: bool,
    /// The scoreboards that it waits for, one bit each.
    pub waits: u8,
    /// Those among them that it looks at late enough to see all earlier instructions, if the code
    /// relies on that.
    pub waits_late: u8,
    /// A scoreboard, and the greatest number of instructions that it may count afterwards, if the code
    /// relies on the order of returns.
    pub waits_below: Option<(usize, u8)>,
    /// The number of cycles until the next instruction.
    pub stall: u8,
    /// Whether everything that no scoreboard signals has ended when the next instruction issues.
    pub drains: bool,
    pub guard: Option<Touch>,
    /// Operands and results.
    pub touches: SmallVec<[Touch; 8]>,
    /// The accesses among these and the guard that last longer than the stall.
    pub starts: SmallVec<[Start; 4]>,
    /// The registers that it writes.
    pub written: SmallVec<[u16; 4]>,
    /// The number of cycles that must lie between each [`Ahead`] and this instruction, indexed by
    /// the number of the `Ahead`.
    pub least: [u8; Ahead::ALL.len()],
    /// The [`Ahead`] that this instruction is, if any.
    pub ahead: Option<Ahead>,
    /// Whether it leaves the function.
    pub boundary: bool,
    /// The rules that it breaks by itself.
    pub broken: SmallVec<[(HazardKind, Option<PReg>); 1]>,
}

/// The hazard of an unprotected dependence.
pub(super) fn kind(dependence: Dependence) -> HazardKind {
    match dependence {
        Dependence::Raw => HazardKind::Raw,
        Dependence::War => HazardKind::War,
        Dependence::Waw => HazardKind::Waw,
    }
}

impl Facts {
    pub fn new(arch: Arch, coded: &Coded, order: Order) -> Facts {
        let (inst, control) = (&coded.inst, &coded.control);
        let mut facts = Facts {
            op: inst.op,
            order,
            announces: [bit(control.write_barrier), bit(control.read_barrier)],
            awaits_cta: matches!(inst.op, Op::BAR_SYNC | Op::BAR_RED) && inst.guard.is_none(),
            waits: control.wait_mask | counted_down(inst),
            waits_late: if order == Order::InOrder { counted_down(inst) } else { 0 },
            waits_below: counted_below(inst).filter(|_| order == Order::InOrder),
            stall: cycles(coded, order),
            // NVIDIA's assembler uses no scoreboards in unoptimized code.
            drains: control.stall == 0 && order == Order::InOrder,
            guard: None,
            touches: SmallVec::new(),
            starts: SmallVec::new(),
            written: SmallVec::new(),
            least: Ahead::ALL.map(|ahead| ahead.least(arch, inst)),
            ahead: Ahead::of(inst),
            boundary: inst.row().effects.boundary,
            broken: SmallVec::new(),
        };
        for access in inst.accesses() {
            for component in 0..access.width {
                let Some(register) = access.reg.offset(component) else { continue };
                let writes = access.role == AccessRole::Def;
                let register = register.dense() as u16;
                let touch = Touch { register, writes, slot: access.slot, component };
                let guard = access.role == AccessRole::Guard;
                match guard {
                    true => facts.guard = Some(touch),
                    false => facts.touches.push(touch),
                }
                if writes {
                    facts.written.push(register);
                }
                let end = end(arch, coded, &access, component, order);
                if !matches!(end, End::After(life) if life <= facts.stall) {
                    facts.starts.push(Start { touch, end, guard });
                }
            }
        }
        if control.check().is_err() {
            facts.broken.push((HazardKind::Format, None));
        }
        facts.broken.extend(stale(coded).map(|register| (HazardKind::StaleReuse, Some(register))));
        facts
    }
}

/// A scoreboard as a mask.
fn bit(scoreboard: Option<u8>) -> u8 {
    scoreboard.map_or(0, |number| 1u8.checked_shl(number.into()).unwrap_or(0))
}

/// The number of cycles of a stall: 0 drains the warp.
fn cycles(coded: &Coded, order: Order) -> u8 {
    match coded.control.stall {
        0 => DRAIN,
        stall if order == Order::InOrder && coded.inst.row().effects.branch => stall.max(LEAST_BRANCH),
        stall => stall,
    }
}

/// The scoreboards that an instruction waits for until their count is 0.
fn counted_down(inst: &Inst<PReg>) -> u8 {
    let imm = |name: SlotName| match inst.get(name).map(|operand| operand.kind) {
        Some(OperandKind::Imm(bits)) => Some(bits),
        _ => None,
    };
    match (inst.row().group, inst.guard, imm(slot_name!("n"))) {
        (GroupRole::Await(Group::Elements), None, Some(0)) => {
            let also = imm(slot_name!("scoreboards")).map_or(0, |mask| mask as u8);
            imm(slot_name!("scoreboard")).map_or(0, |number| 1u8.checked_shl(number).unwrap_or(0)) | also
        }
        _ => 0,
    }
}

/// The scoreboard that an instruction waits for until it counts at most a number above zero.
fn counted_below(inst: &Inst<PReg>) -> Option<(usize, u8)> {
    let imm = |name: SlotName| match inst.get(name).map(|operand| operand.kind) {
        Some(OperandKind::Imm(bits)) => Some(bits),
        _ => None,
    };
    let is_count = inst.row().group == GroupRole::Await(Group::Elements) && inst.guard.is_none();
    let left = imm(slot_name!("n")).filter(|&left| is_count && left > 0)?;
    Some((imm(slot_name!("scoreboard"))? as usize, u8::try_from(left).ok()?))
}

/// The event that ends an access. A scoreboard signals results of unknown latency, and the reads of
/// operands that are fetched late. A result is available only after the operands have been read.
fn end(arch: Arch, coded: &Coded, access: &Access<PReg>, component: u8, order: Order) -> End {
    let (inst, control) = (&coded.inst, &coded.control);
    let (results, operands) = (bit(control.write_barrier), bit(control.read_barrier));
    let by_read =
        order == Order::InOrder && access.reg.file() == RegFile::Pred && inst.op.row().tells_space_early;
    match access.role {
        AccessRole::Def if by_read => End::Wait(results | operands),
        AccessRole::Def if inst.completion(arch) == Completion::Variable => End::Wait(results),
        // The engine itself notices whether registers of a product of a warpgroup are used too early.
        AccessRole::Use
            if inst.completion(arch) != Completion::Group
                && !reads_at_issue(arch, inst, access.reg.file()) =>
        {
            End::Wait(results | operands)
        }
        role => {
            let side = Side { inst, slot: access.slot, component };
            let most = settled(arch, side, role == AccessRole::Def).legal;
            End::After(most.max(Latency::UNKNOWN.legal))
        }
    }
}

/// The operands that the reuse cache keeps even though the instruction overwrites them.
fn stale(coded: &Coded) -> impl Iterator<Item = PReg> + '_ {
    let inst = &coded.inst;
    let kept = inst.accesses().into_iter().filter(|access| {
        let flag = inst.row().slots.get(usize::from(access.slot)).and_then(|slot| slot.reuse);
        access.role == AccessRole::Use && flag.is_some_and(|bit| coded.control.reuse >> bit & 1 == 1)
    });
    kept.filter(|kept| {
        let overlaps = |def: Access<PReg>| {
            let first = def.reg.dense().max(kept.reg.dense());
            let end = |access: &Access<PReg>| access.reg.dense() + usize::from(access.width);
            first < end(&def).min(end(kept))
        };
        inst.defs().any(overlaps)
    })
    .map(|kept| kept.reg)
}
