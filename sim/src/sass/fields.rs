//! The fields of an instruction, accessed by the names in its row.
//!
//! Each instruction of the program is decoded once: constants are read from their bank, modifiers
//! become values of Rust types, and anything that the engine does not support is an error then, not
//! later.

use std::collections::BTreeMap;

use ptxc_machine::Arch;
use ptxc_sass::{
    FunctionIndex, HalfSelect, Inst, ModKind, ModValue, OperandKind, PReg, Program, RegFile, Register,
    SlotName, SpecialReg, value,
};

use super::registers::{Dest, Lanes, Origin, PredDest, PredIndex, PredSource, Registers, Source};
use crate::engine::Step;
use crate::error::Fault;
use crate::memory::read_le;
use crate::warp::Flow;

/// The effect of an instruction: changes the registers of `step.lanes` and returns where they go.
pub(super) type Action = Box<dyn Fn(&mut Registers, &mut Step<'_>) -> Result<Flow, Fault>>;

/// An action, or the reason why there is none.
pub(super) type Decoded = Result<Action, String>;

/// An instruction to decode, and its context.
pub(super) struct Fields<'a> {
    /// The instruction.
    pub inst: &'a Inst<PReg>,
    /// The architecture.
    pub arch: Arch,
    /// The program, which knows its labels and functions.
    pub program: &'a Program,
    /// The constant banks.
    pub constants: &'a BTreeMap<u8, Vec<u8>>,
    /// The largest error of results of `MUFU`, in units in the last place.
    pub mufu_error: u8,
    /// Whether regions lose their lanes when they are restored from a register.
    pub loses_saved: bool,
}

/// A memory address before registers are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address {
    /// The register part.
    pub base: Source,
    /// Its upper word, if it is 64 bits wide.
    pub base_high: Option<Source>,
    /// The factor of the register part.
    pub scale: u8,
    /// The uniform part.
    pub uniform: Source,
    /// Its upper word, if it is 64 bits wide.
    pub uniform_high: Option<Source>,
    /// The constant part, in bytes.
    pub offset: i32,
    /// The pair that holds the descriptor.
    pub descriptor: Option<[Source; 2]>,
}

fn plain(origin: Origin) -> Source {
    Source { origin, neg: false, abs: false, not: false }
}

impl<'a> Fields<'a> {
    fn operand(&self, name: &str) -> Result<&'a ptxc_sass::Operand<PReg>, String> {
        let slot = self.inst.row().slot(name);
        slot.and_then(|slot| self.inst.operands.get(slot)).ok_or_else(|| format!("no operand {name}"))
    }

    fn register(&self, register: PReg) -> Result<Origin, String> {
        match register.file() {
            RegFile::Gpr => Ok(Origin::Lane(register.index())),
            RegFile::Ugpr => Ok(Origin::Uniform(register.index())),
            _ => Err(format!("{register} does not hold a number")),
        }
    }

    /// The guard.
    pub fn guard(&self) -> PredSource {
        match self.inst.guard {
            Some(guard) => PredSource::new(Some(guard.reg), guard.negated),
            None => PredSource::new(None, false),
        }
    }

    /// A register, read without modifiers.
    pub fn register_source(&self, register: PReg) -> Result<Source, String> {
        self.register(register).map(plain)
    }

    fn constant(&self, bank: u8, offset: u32) -> Result<Origin, String> {
        let bytes = self.constants.get(&bank).map_or(&[][..], |bytes| bytes);
        match bytes.get(offset as usize..offset as usize + 4) {
            Some(word) => Ok(Origin::Value(read_le(word) as u32)),
            None => Err(format!("constant bank {bank} has {:#x} bytes", bytes.len())),
        }
    }

    /// A word of a constant bank.
    pub fn constant_word(&self, bank: u8, offset: u32) -> Result<Source, String> {
        self.constant(bank, offset).map(plain)
    }

    /// The `n` consecutive words of a source operand, with signs applied to each.
    pub fn words<const N: usize>(&self, name: &str) -> Result<[Source; N], String> {
        let words = self.some_words(name, N)?;
        Ok(std::array::from_fn(|n| words[n]))
    }

    /// The same for a number that depends on the instruction.
    pub fn some_words(&self, name: &str, count: usize) -> Result<Vec<Source>, String> {
        let operand = self.operand(name)?;
        let mut words = vec![plain(Origin::Value(0)); count];
        for (n, word) in words.iter_mut().enumerate() {
            let origin = match operand.kind {
                OperandKind::Zero(_) => Origin::Value(0),
                OperandKind::Reg(register) => {
                    let next =
                        register.offset(n as u8).ok_or_else(|| format!("{register} has no neighbour"))?;
                    self.register(next)?
                }
                OperandKind::Imm(bits) if n == 0 => Origin::Value(bits),
                OperandKind::Const { bank, offset } => self.constant(bank, offset + 4 * n as u32)?,
                other => return Err(format!("{name} can't be {}", other.describe())),
            };
            let flags = operand.flags;
            *word = Source { origin, neg: flags.neg, abs: flags.abs, not: flags.not };
        }
        Ok(words)
    }

    /// A 64-bit integer source operand; an immediate is its lower half, with its sign.
    pub fn signed_pair(&self, name: &str) -> Result<[Source; 2], String> {
        match self.operand(name)?.kind {
            OperandKind::Imm(bits) => {
                let low = self.word(name)?;
                let sign = if bits >> 31 == 1 { u32::MAX } else { 0 };
                Ok([low, Source { origin: Origin::Value(sign), ..low }])
            }
            _ => self.words(name),
        }
    }

    /// A 64-bit integer source operand; an immediate is its upper half.
    pub fn long(&self, name: &str) -> Result<[Source; 2], String> {
        match self.operand(name)?.kind {
            OperandKind::Imm(bits) => Ok([0, bits].map(|bits| plain(Origin::Value(bits)))),
            _ => self.words::<2>(name),
        }
    }

    /// A binary64 source operand; an immediate is its upper half.
    pub fn double(&self, name: &str) -> Result<[Source; 2], String> {
        let operand = self.operand(name)?;
        let OperandKind::Imm(bits) = operand.kind else { return self.words::<2>(name) };
        let word = |bits| Source {
            origin: Origin::Value(bits),
            neg: operand.flags.neg,
            abs: operand.flags.abs,
            not: false,
        };
        Ok([word(0), word(bits)])
    }

    /// A 32-bit source operand.
    pub fn word(&self, name: &str) -> Result<Source, String> {
        self.words::<1>(name).map(|[word]| word)
    }

    /// A source operand, if the instruction has it: hidden operands are the constant register by
    /// default.
    pub fn optional_word(&self, name: &str) -> Result<Option<Source>, String> {
        match self.operand(name)?.kind {
            OperandKind::Zero(_) => Ok(None),
            _ => self.word(name).map(Some),
        }
    }

    /// Whether an operand is a general register.
    pub fn is_register(&self, name: SlotName) -> bool {
        self.inst.get(name).is_some_and(|operand| matches!(operand.kind, OperandKind::Reg(_)))
    }

    /// Which halves of a register an operand takes.
    pub fn half(&self, name: &str) -> Result<HalfSelect, String> {
        self.operand(name).map(|operand| operand.flags.half)
    }

    /// The words of the result that a register operand covers.
    pub fn dests(&self, name: &str, count: u8) -> Result<Vec<Dest>, String> {
        (0..count)
            .map(|n| match self.operand(name)?.kind {
                OperandKind::Zero(_) => Ok(Dest::Zero),
                OperandKind::Reg(register) => {
                    let register =
                        register.offset(n).ok_or_else(|| format!("{register} has no neighbour"))?;
                    match self.register(register)? {
                        Origin::Lane(index) => Ok(Dest::Lane(index)),
                        Origin::Uniform(index) => Ok(Dest::Uniform(index)),
                        Origin::Value(_) => Ok(Dest::Zero),
                    }
                }
                other => Err(format!("{name} can't be {}", other.describe())),
            })
            .collect()
    }

    /// A 32-bit result.
    pub fn dest(&self, name: &str) -> Result<Dest, String> {
        self.dests(name, 1).map(|dests| dests[0])
    }

    /// The register of a predicate operand; `None` for PT.
    fn pred_register(&self, name: &str) -> Result<Option<PReg>, String> {
        let operand = self.operand(name)?;
        let register = match operand.kind {
            OperandKind::Zero(file) if file.is_predicate() => None,
            OperandKind::Reg(register) if register.file().is_predicate() => Some(register),
            other => return Err(format!("{name} can't be {}", other.describe())),
        };
        Ok(register)
    }

    /// A predicate operand.
    pub fn pred(&self, name: &str) -> Result<PredSource, String> {
        let not = self.operand(name)?.flags.not;
        self.pred_register(name).map(|register| PredSource::new(register, not))
    }

    /// A predicate result.
    pub fn pred_dest(&self, name: &str) -> Result<PredDest, String> {
        self.pred_register(name).map(|register| register.map(PredIndex::new))
    }

    /// An immediate.
    pub fn imm(&self, name: &str) -> Result<u32, String> {
        match self.operand(name)?.kind {
            OperandKind::Imm(bits) => Ok(bits),
            other => Err(format!("{name} can't be {}", other.describe())),
        }
    }

    /// The index of the instruction that a label stands for.
    pub fn target(&self, name: &str) -> Result<u32, String> {
        match self.operand(name)?.kind {
            OperandKind::Label(label) => self
                .program
                .labels
                .get(label.0 as usize)
                .copied()
                .ok_or_else(|| format!("no label {}", label.0)),
            other => Err(format!("{name} can't be {}", other.describe())),
        }
    }

    /// The index of the first instruction of a function.
    pub fn function(&self, name: &str) -> Result<u32, String> {
        match self.operand(name)?.kind {
            OperandKind::Function(FunctionIndex(index)) => {
                let function = self.program.functions.get(index as usize);
                function.and_then(|function| function.start).ok_or_else(|| format!("no function {index}"))
            }
            other => Err(format!("{name} can't be {}", other.describe())),
        }
    }

    /// The indices of the instructions that an indexed branch may go to, in ascending order.
    pub fn indexed_targets(&self) -> Result<Vec<u32>, String> {
        let place = |label: ptxc_sass::Label| {
            self.program.labels.get(label.0 as usize).copied().ok_or_else(|| format!("no label {}", label.0))
        };
        let mut targets = self.inst.labels().map(place).collect::<Result<Vec<u32>, String>>()?;
        targets.sort_unstable();
        Ok(targets)
    }

    /// A convergence barrier.
    pub fn convergence(&self, name: &str) -> Result<u8, String> {
        match self.operand(name)?.kind {
            OperandKind::Convergence(index) if index < 16 => Ok(index),
            other => Err(format!("{name} can't be {}", other.describe())),
        }
    }

    /// A special register.
    pub fn special(&self, name: &str) -> Result<SpecialReg, String> {
        match self.operand(name)?.kind {
            OperandKind::Special(register) => Ok(register),
            other => Err(format!("{name} can't be {}", other.describe())),
        }
    }

    /// Whether the address in a slot has 32 bits, whatever the width of the instruction's addresses.
    fn is_narrow(&self, name: &str) -> bool {
        let row = self.inst.row();
        row.slot(name).is_some_and(|index| row.slots[index].narrow)
    }

    /// A memory address.
    pub fn address(&self, name: &str) -> Result<Address, String> {
        let OperandKind::Mem(address) = self.operand(name)?.kind else {
            return Err(format!("{name} is not an address"));
        };
        let word = |register: Option<PReg>, n: u8| match register {
            None => Ok(plain(Origin::Value(0))),
            Some(register) => {
                let next = register.offset(n).ok_or_else(|| format!("{register} has no neighbour"))?;
                self.register(next).map(plain)
            }
        };
        Ok(Address {
            base: word(address.base, 0)?,
            base_high: if address.wide { Some(word(address.base, 1)?) } else { None },
            scale: address.scale,
            uniform: word(address.uniform, 0)?,
            uniform_high: match address.uniform {
                Some(_) if self.is(value!(Extended = ".E")) && !self.is_narrow(name) => {
                    Some(word(address.uniform, 1)?)
                }
                _ => None,
            },
            offset: address.offset,
            descriptor: match address.descriptor {
                // The lower word of a cache policy is zero: see `AddressPlace::follows`.
                Some(_) if self.inst.descriptor_width() == 1 => {
                    Some([word(None, 0)?, word(address.descriptor, 0)?])
                }
                Some(_) => Some([word(address.descriptor, 0)?, word(address.descriptor, 1)?]),
                None => None,
            },
        })
    }

    /// The text of a modifier.
    pub fn modifier(&self, kind: ModKind) -> &'static str {
        self.inst.modifier(kind)
    }

    /// Whether that modifier is chosen.
    pub fn is(&self, value: ModValue) -> bool {
        self.inst.is(value)
    }

    /// The error for a modifier that the engine does not support.
    pub fn unknown<T>(&self, kind: ModKind) -> Result<T, String> {
        Err(format!("the modifier `{}`", self.modifier(kind)))
    }
}

/// Whether an operand is the same for all lanes.
fn is_uniform(source: Source) -> bool {
    !matches!(source.origin, Origin::Lane(_))
}

/// `d = f(a)`, lane by lane.
pub(super) fn map1(
    d: Dest,
    read: impl Fn(&Registers, Source) -> Lanes + 'static,
    a: Source,
    f: impl Fn(u32) -> u32 + 'static,
) -> Decoded {
    Ok(Box::new(move |registers, step| {
        let a = read(registers, a);
        registers.write(d, step.lanes, |lane| f(a[lane]));
        Ok(Flow::Next)
    }))
}

/// `d = f(a, b)`, lane by lane. With one value of `b` for all lanes, a shift by `b` is vector code.
pub(super) fn map2(
    d: Dest,
    read: impl Fn(&Registers, Source) -> Lanes + 'static,
    [a, b]: [Source; 2],
    f: impl Fn(u32, u32) -> u32 + 'static,
) -> Decoded {
    if is_uniform(b) {
        return Ok(Box::new(move |registers, step| {
            let (a, [b, ..]) = (read(registers, a), read(registers, b));
            registers.write(d, step.lanes, |lane| f(a[lane], b));
            Ok(Flow::Next)
        }));
    }
    Ok(Box::new(move |registers, step| {
        let (a, b) = (read(registers, a), read(registers, b));
        registers.write(d, step.lanes, |lane| f(a[lane], b[lane]));
        Ok(Flow::Next)
    }))
}

/// `d = f(a, b, c)`, lane by lane. With one value of `b` for all lanes, a shift by `b` is vector
/// code.
pub(super) fn map3(
    d: Dest,
    read: impl Fn(&Registers, Source) -> Lanes + 'static,
    [a, b, c]: [Source; 3],
    f: impl Fn(u32, u32, u32) -> u32 + 'static,
) -> Decoded {
    if is_uniform(b) {
        return Ok(Box::new(move |registers, step| {
            let (a, [b, ..], c) = (read(registers, a), read(registers, b), read(registers, c));
            registers.write(d, step.lanes, |lane| f(a[lane], b, c[lane]));
            Ok(Flow::Next)
        }));
    }
    Ok(Box::new(move |registers, step| {
        let (a, b, c) = (read(registers, a), read(registers, b), read(registers, c));
        registers.write(d, step.lanes, |lane| f(a[lane], b[lane], c[lane]));
        Ok(Flow::Next)
    }))
}
