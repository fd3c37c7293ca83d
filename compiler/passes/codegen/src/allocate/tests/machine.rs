//! Runs machine IR, before or after allocation, for one lane.
//!
//! Instructions that the allocator adds have their real meaning; all others give a number that
//! depends on the operation, the modifiers and every operand, so that a wrong operand shows. The
//! values that stores write and calls receive are hashed into a trace. A call leaves noise in the
//! physical registers that it destroys.

use std::hash::{Hash, Hasher};

use ptxc_sass::{AccessRole, Inst, ModKind, Op, Operand, OperandKind, RegFile, Register, slot_name, value};
use rustc_hash::{FxHashMap, FxHasher};

use crate::mir::{EdgeArg, MInst, Mir, Term};

/// The number of branches that run before the machine stops.
const STEPS: usize = 300;

struct Machine<'a, R> {
    /// A number for the component at a distance after a register.
    number: &'a dyn Fn(R, u8) -> u64,
    registers: FxHashMap<u64, u32>,
    memory: FxHashMap<u32, u32>,
    trace: u64,
    /// Whether a failed guard copies the tied register, as in SSA form.
    ssa: bool,
}

/// The trace of a function.
pub(super) fn trace<R: Register>(mir: &Mir<R>, number: impl Fn(R, u8) -> u64, ssa: bool) -> u64 {
    let mut machine = Machine {
        number: &number,
        registers: FxHashMap::default(),
        memory: FxHashMap::default(),
        trace: 0,
        ssa,
    };
    let mut block = mir.entry();
    let mut steps = 0;
    // Only branches count, so that blocks on edges do not matter.
    while steps < STEPS {
        let data = &mir.blocks[block];
        data.insts.iter().for_each(|inst| machine.run(inst));
        let edge = match &data.term {
            Term::Jump(edge) => edge,
            Term::Branch { pred, negated, then, other } => {
                steps += 1;
                if (machine.read(*pred, 0) != 0) != *negated { then } else { other }
            }
            // One thread is always together.
            Term::Together { here, .. } => here,
            Term::Table { address, edges, .. } => {
                steps += 1;
                &edges[machine.read(*address, 0) as usize % edges.len()]
            }
            Term::Exit | Term::Return => break,
        };
        let mut values = Vec::new();
        for (param, arg) in mir.blocks[edge.block].params.iter().zip(&edge.args) {
            for n in 0..param.width {
                let value = match *arg {
                    EdgeArg::Reg(reg) => machine.read(reg, n),
                    EdgeArg::Imm(bits) if n < 2 => (bits >> (32 * n)) as u32,
                    EdgeArg::Imm(_) | EdgeArg::Undef => 0,
                };
                values.push((param.reg, n, value));
            }
        }
        values.into_iter().for_each(|(reg, n, value)| machine.write(reg, n, value));
        block = edge.block;
    }
    machine.trace
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}

impl<R: Register> Machine<'_, R> {
    fn read(&self, reg: R, n: u8) -> u32 {
        self.registers.get(&(self.number)(reg, n)).copied().unwrap_or(0)
    }

    fn write(&mut self, reg: R, n: u8, value: u32) {
        let value = if reg.file().is_predicate() { value & 1 } else { value };
        self.registers.insert((self.number)(reg, n), value);
    }

    fn operand(&self, operand: &Operand<R>) -> u32 {
        let value = match operand.kind {
            OperandKind::Reg(reg) => self.read(reg, 0),
            OperandKind::Zero(file) => u32::from(file.is_predicate()),
            OperandKind::Imm(bits) => bits,
            _ => hash(format!("{:?}", operand.kind)) as u32,
        };
        if operand.flags.not && !matches!(operand.kind, OperandKind::Imm(_)) { value ^ 1 } else { value }
    }

    fn named(&self, inst: &Inst<R>, name: &str) -> u32 {
        let slot = inst.row().slot(name).expect("the row has the slot");
        self.operand(&inst.operands[slot])
    }

    fn run(&mut self, inst: &MInst<R>) {
        let code = &inst.inst;
        if let Some(guard) = code.guard
            && (self.read(guard.reg, 0) != 0) == guard.negated
        {
            for &(slot, old) in if self.ssa { inst.tied.as_slice() } else { &[] } {
                let Some(def) = code.operands[slot as usize].as_reg() else { continue };
                for n in 0..code.slot_width(slot as usize) {
                    let value = self.read(old, n);
                    self.write(def, n, value);
                }
            }
            return;
        }
        let mut inputs = vec![hash((code.op, code.mods))];
        for access in code.accesses() {
            // The guard is not an operand of the operation.
            if access.role == AccessRole::Use {
                inputs.extend((0..access.width).map(|n| u64::from(self.read(access.reg, n))));
            }
        }
        for operand in &code.operands {
            let fixed = match operand.kind {
                OperandKind::Reg(_) => 0,
                OperandKind::Mem(address) => address.offset as u64,
                kind => hash(format!("{kind:?}")),
            };
            inputs.push(fixed);
            inputs.push(hash(operand.flags));
        }
        for arg in inst.call.iter().flat_map(|call| &call.args) {
            inputs.push(arg.place.dense() as u64);
            inputs.extend((0..arg.value.width).map(|n| u64::from(self.read(arg.value.reg, n))));
        }
        let mixed = hash(&inputs);
        if let Some(call) = &inst.call {
            self.trace = hash((self.trace, mixed));
            let destroyed = call.destroyed();
            for (n, reg) in destroyed.iter().enumerate().filter(|_| !self.ssa) {
                self.registers.insert(reg.dense() as u64, hash((mixed, n)) as u32 & 1);
            }
            for result in &call.results {
                for n in 0..result.value.width {
                    let value = hash((mixed, result.place, n)) as u32;
                    self.write(result.value.reg, n, value);
                }
            }
        }
        if code.row().effects.writes_memory && code.op != Op::STL && code.op != Op::BSYNC {
            self.trace = hash((self.trace, mixed));
        }
        let mut results: Vec<(R, u8, u32)> = Vec::new();
        for (index, access) in code.defs().enumerate() {
            for n in 0..access.width {
                let value = self.real(code, index, n).unwrap_or_else(|| hash((mixed, index, n)) as u32);
                results.push((access.reg, n, value));
            }
        }
        if code.op == Op::STL
            && let Some((address, words)) = self.frame_words(code)
            && let Some(data) = code.get(slot_name!("data")).and_then(Operand::as_reg)
        {
            for n in 0..words {
                self.memory.insert(address + 4 * u32::from(n), self.read(data, n));
            }
        }
        results.into_iter().for_each(|(reg, n, value)| self.write(reg, n, value));
    }

    fn frame_words(&self, inst: &Inst<R>) -> Option<(u32, u8)> {
        let OperandKind::Mem(address) = inst.get(slot_name!("addr"))?.kind else { return None };
        let words = match inst.modifier(ModKind::Size) {
            ".64" => 2,
            ".128" => 4,
            _ => 1,
        };
        Some((self.read(address.base?, 0).wrapping_add(address.offset as u32), words))
    }

    /// The result of an instruction that the allocator adds.
    fn real(&self, inst: &Inst<R>, def: usize, n: u8) -> Option<u32> {
        Some(match inst.op {
            Op::MOV | Op::UMOV => self.named(inst, "b"),
            Op::R2UR => self.named(inst, "a"),
            Op::CS2R => 0,
            Op::PLOP3 => {
                let [a, b, c] = ["pa", "pb", "pc"].map(|slot| self.named(inst, slot));
                self.named(inst, ["lut", "lut2"][def]) >> (a * 4 + b * 2 + c) & 1
            }
            Op::SEL => self.named(inst, if self.named(inst, "ps") != 0 { "a" } else { "b" }),
            Op::ISETP if inst.is(value!(Compare = ".NE")) => {
                u32::from(self.named(inst, "a") != self.named(inst, "b")) & self.named(inst, "ps")
            }
            Op::IADD3 => {
                let [a, b, c] =
                    ["a", "b", "c"].map(|slot| match inst.operands[inst.row().slot(slot)?].kind {
                        OperandKind::Zero(RegFile::Gpr) => Some(0),
                        _ => Some(self.named(inst, slot)),
                    });
                a?.wrapping_add(b?).wrapping_add(c?)
            }
            Op::LOP3 | Op::ULOP3 => self.named(inst, "a") ^ self.named(inst, "b"),
            Op::LDL => {
                let (address, _) = self.frame_words(inst)?;
                self.memory.get(&(address + 4 * u32::from(n))).copied().unwrap_or(0)
            }
            _ => return None,
        })
    }
}
