//! The effect on places of an instruction that the allocator added, decoded from the instruction
//! alone.

use ptxc_sass::{
    Inst, ModKind, Op, Operand, OperandKind, PReg, RegFile, Register, SlotName, SpecialReg, slot_name, value,
};
use smallvec::SmallVec;

use super::state::{Place, State, Value, Values};
use crate::mir::MInst;

/// The frame of a function.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    /// The place in constant bank 0 where the driver leaves the stack pointer.
    pub stack_top: u32,
    /// Bytes of the frame.
    pub bytes: u32,
    /// Bytes at its end that belong to the function instead of spilled registers.
    pub own: u32,
    /// Bytes at its start that belong to the functions that it calls.
    pub outgoing: u32,
}

fn plain(inst: &Inst<PReg>, name: SlotName) -> Option<OperandKind<PReg>> {
    let operand = inst.get(name)?;
    (operand.flags == Default::default()).then_some(operand.kind)
}

fn register(inst: &Inst<PReg>, name: SlotName) -> Option<PReg> {
    match plain(inst, name)? {
        OperandKind::Reg(reg) => Some(reg),
        _ => None,
    }
}

/// The words of the frame that a spill access covers.
fn slot(inst: &Inst<PReg>, state: &State, frame: Frame) -> Result<SmallVec<[Place; 4]>, String> {
    let Some(OperandKind::Mem(address)) = plain(inst, slot_name!("addr")) else {
        return Err("no address".into());
    };
    let Some(base) = address.base else { return Err("a spill without the stack pointer".into()) };
    let base = Place::register(base);
    // Before the stack pointer is moved, the frame lies below it.
    let start = if state.has(base, Value::Frame) {
        0
    } else if state.has(base, Value::Stack) {
        i64::from(frame.bytes)
    } else {
        return Err("the base of a spill is not the stack pointer".into());
    };
    if address.wide || address.uniform.is_some() {
        return Err("a spill with another address than the stack pointer".into());
    }
    let words = match inst.modifier(ModKind::Size) {
        ".64" => 2,
        ".128" => 4,
        "" => 1,
        other => return Err(format!("a spill of size {other}")),
    };
    let offset = start + i64::from(address.offset);
    let fits = offset >= frame.outgoing.into()
        && offset + i64::from(4 * words) + i64::from(frame.own) <= frame.bytes.into();
    if !fits {
        return Err(format!("slot {offset:#x} is outside of the frame"));
    }
    let offset = offset as u32;
    if !offset.is_multiple_of(4 * words) {
        return Err(format!("slot {offset:#x} is not aligned"));
    }
    Ok((0..words).map(|word| Place::word(offset + 4 * word)).collect())
}

fn neighbours(reg: PReg, count: usize) -> Result<SmallVec<[Place; 4]>, String> {
    (0..count as u8)
        .map(|n| reg.offset(n).map(Place::register).ok_or_else(|| format!("{reg} has no neighbour {n}")))
        .collect()
}

/// The result of a `PLOP3` by its truth table, if it is a constant or one of the operands.
fn plop3(inst: &Inst<PReg>, lut: SlotName, state: &State) -> Option<Values> {
    let Some(OperandKind::Imm(lut)) = plain(inst, lut) else { return None };
    let (pa, pb, pc) =
        (inst.get(slot_name!("pa"))?, inst.get(slot_name!("pb"))?, inst.get(slot_name!("pc"))?);
    // Evaluate the table for both values of each register; an operand that equals the result in all
    // cases is the result.
    let registers: SmallVec<[PReg; 3]> = [pa, pb, pc].into_iter().filter_map(Operand::as_reg).collect();
    let evaluate = |truth: &dyn Fn(PReg) -> bool| {
        let of = |operand: &Operand<PReg>| match operand.kind {
            OperandKind::Reg(reg) => truth(reg) != operand.flags.not,
            _ => !operand.flags.not,
        };
        lut >> (usize::from(of(pa)) * 4 + usize::from(of(pb)) * 2 + usize::from(of(pc))) & 1 == 1
    };
    let cases = 0..1u32 << registers.len();
    let truth_in = |case: u32| {
        let registers = registers.clone();
        move |reg: PReg| registers.iter().position(|&other| other == reg).is_some_and(|n| case >> n & 1 == 1)
    };
    let results: Vec<bool> = cases.clone().map(|case| evaluate(&truth_in(case))).collect();
    if results.iter().all(|&result| result == results[0]) {
        return Some(Values::from_slice(&[Value::Imm(u32::from(results[0]))]));
    }
    let same = |reg: PReg| cases.clone().all(|case| truth_in(case)(reg) == results[case as usize]);
    registers.iter().find(|&&reg| same(reg)).map(|&reg| state.get(Place::register(reg)))
}

/// Applies an added instruction. `rest` are the instructions after it; returns the number of those
/// that were applied together with it.
pub(super) fn apply(
    inst: &Inst<PReg>,
    rest: &[MInst<PReg>],
    state: &mut State,
    frame: Frame,
) -> Result<usize, String> {
    let unknown = || Err(format!("{inst} is nothing that an allocator adds"));
    if inst.guard.is_some() {
        return unknown();
    }
    match inst.op {
        Op::MOV | Op::UMOV | Op::R2UR => {
            let source = if inst.op == Op::R2UR { slot_name!("a") } else { slot_name!("b") };
            let (Some(dst), Some(src)) = (register(inst, slot_name!("d")), plain(inst, source)) else {
                return unknown();
            };
            let values = match src {
                OperandKind::Reg(src) => state.get(Place::register(src)),
                OperandKind::Imm(bits) => Values::from_slice(&[Value::Imm(bits)]),
                OperandKind::Zero(_) => Values::from_slice(&[Value::Imm(0)]),
                _ => return unknown(),
            };
            state.write(Place::register(dst), &values);
        }
        Op::CS2R => {
            let (Some(dst), Some(OperandKind::Special(SpecialReg::Zero))) =
                (register(inst, slot_name!("d")), plain(inst, slot_name!("sr")))
            else {
                return unknown();
            };
            if dst.index() % 2 != 0 {
                return Err(format!("{dst} does not begin a pair"));
            }
            for place in neighbours(dst, 2)? {
                state.write(place, &[Value::Imm(0)]);
            }
        }
        Op::PLOP3 => {
            let results = [(slot_name!("pd"), slot_name!("lut")), (slot_name!("pe"), slot_name!("lut2"))]
                .map(|(dst, lut)| {
                    register(inst, dst).map(|dst| (dst, plop3(inst, lut, state).unwrap_or_default()))
                });
            for (dst, values) in results.into_iter().flatten() {
                state.write(Place::register(dst), &values);
            }
        }
        Op::SEL => {
            let select =
                inst.get(slot_name!("ps")).filter(|operand| operand.flags.not).and_then(Operand::as_reg);
            let (Some(dst), Some(from)) = (register(inst, slot_name!("d")), select) else { return unknown() };
            let zero = plain(inst, slot_name!("a")) == Some(OperandKind::Zero(RegFile::Gpr));
            if !zero || plain(inst, slot_name!("b")) != Some(OperandKind::Imm(1)) {
                return unknown();
            }
            let values: Values = state
                .get(Place::register(from))
                .into_iter()
                .filter_map(|value| match value {
                    Value::Component(c) => Some(Value::Truth(c)),
                    Value::Imm(bits) => Some(Value::Imm(bits)),
                    _ => None,
                })
                .collect();
            state.write(Place::register(dst), &values);
        }
        Op::ISETP => {
            let (Some(dst), Some(from)) = (register(inst, slot_name!("pd")), register(inst, slot_name!("a")))
            else {
                return unknown();
            };
            let plain_test = plain(inst, slot_name!("b")) == Some(OperandKind::Zero(RegFile::Gpr))
                && inst.get(slot_name!("ps")) == Some(&Operand::pt())
                && inst.get(slot_name!("pe")) == Some(&Operand::pt())
                && inst.is(value!(Compare = ".NE"))
                && inst.is(value!(Combine = ".AND"));
            if !plain_test {
                return unknown();
            }
            let values: Values = state
                .get(Place::register(from))
                .into_iter()
                .filter_map(|value| match value {
                    Value::Truth(c) => Some(Value::Component(c)),
                    Value::Imm(bits) => Some(Value::Imm(u32::from(bits != 0))),
                    _ => None,
                })
                .collect();
            state.write(Place::register(dst), &values);
        }
        Op::LOP3 | Op::ULOP3 => return exchange(inst, rest, state),
        Op::LDL => {
            let Some(dst) = register(inst, slot_name!("d")) else { return unknown() };
            let words = slot(inst, state, frame)?;
            if usize::from(dst.index()) % words.len() != 0 {
                return Err(format!("{dst} is not aligned"));
            }
            for (place, word) in neighbours(dst, words.len())?.into_iter().zip(words) {
                state.write(place, &state.get(word));
            }
        }
        Op::STL => {
            let Some(src) = register(inst, slot_name!("data")) else { return unknown() };
            let words = slot(inst, state, frame)?;
            if usize::from(src.index()) % words.len() != 0 {
                return Err(format!("{src} is not aligned"));
            }
            for (place, word) in neighbours(src, words.len())?.into_iter().zip(words) {
                state.write(word, &state.get(place));
            }
        }
        Op::LDC => {
            let top = OperandKind::Const { bank: 0, offset: frame.stack_top };
            let (Some(dst), Some(src)) = (register(inst, slot_name!("d")), plain(inst, slot_name!("src")))
            else {
                return unknown();
            };
            if dst != PReg::r(1) || src != top || !inst.modifier(ModKind::Size).is_empty() {
                return unknown();
            }
            state.write(Place::register(dst), &[Value::Stack]);
        }
        Op::IADD3 => {
            let r1 = PReg::r(1);
            let moved = |bytes: u32| {
                let (reg, bytes) = (Operand::reg(r1), Operand::imm(bytes));
                Inst::new(Op::IADD3).ops([reg, reg, bytes, Operand::rz()])
            };
            let (from, to) = if *inst == moved(frame.bytes.wrapping_neg()) {
                (Value::Stack, Value::Frame)
            } else if *inst == moved(frame.bytes) {
                (Value::Frame, Value::Stack)
            } else {
                return unknown();
            };
            if !state.has(Place::register(r1), from) {
                return unknown();
            }
            state.write(Place::register(r1), &[to]);
        }
        _ => return unknown(),
    }
    Ok(0)
}

/// Three exclusive ors that exchange two registers.
fn exchange(inst: &Inst<PReg>, rest: &[MInst<PReg>], state: &mut State) -> Result<usize, String> {
    let (Some(a), Some(b)) = (register(inst, slot_name!("a")), register(inst, slot_name!("b"))) else {
        return Err(format!("{inst} does not exchange registers"));
    };
    let zero = Operand::zero(a.file());
    let xor = |dst: PReg| {
        let operands = [Operand::reg(dst), Operand::reg(a), Operand::reg(b), zero, Operand::imm(0x3c)];
        Inst::new(inst.op).ops(operands)
    };
    if a == b || *inst != xor(a) || rest.len() < 2 || rest[0].inst != xor(b) || rest[1].inst != xor(a) {
        return Err(format!("{inst} does not begin an exchange"));
    }
    let (a, b) = (Place::register(a), Place::register(b));
    let (in_a, in_b) = (state.get(a), state.get(b));
    state.write(a, &in_b);
    state.write(b, &in_a);
    Ok(2)
}
