//! Values that are made where they are needed: constants, words of constant banks, the shared
//! window.
//!
//! A request names a value and the block that needs it, and returns a register at once. The
//! instructions that fill it are inserted when all requests are known.
//!
//! ```text
//! request(UniformBank 0x220) in mb1, mb4   =>   mb0: … ULDC %ur7, c[0x0][0x220]    // mb0 dominates both
//! request(Const 5) in mb3                  =>   mb3: … MOV %r9, 0x5                // before its first use
//! ```
//!
//! A uniform value is made once, in a converged block that dominates all its users. A value in
//! general registers is made in, or above, each block that needs it, which keeps live ranges short.
//! Both are hoisted to the nearest dominator that runs at most half as often, which takes them out
//! of loops; in general registers only as many as there is [`ROOM`] for, first come, first served.
//! Within a block they are made just before the first instruction that reads them.
//!
//! Cost: a request takes a look-up, and for uniform values a walk to the common dominator.
//! Insertion is linear in the code.

use std::collections::BTreeMap;

use cranelift_entity::SecondaryMap;
use ptxc_ir::SourceLoc;
use ptxc_machine::Arch;
use ptxc_sass::{Inst, Op, Operand, RegFile, SpecialReg, choice};

use crate::mir::{Cfg, MBlockId, MInst, Mir, VReg, VRegId};

/// A place in a constant bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct BankPlace {
    /// The bank.
    pub(super) bank: u8,
    /// Byte offset in it.
    pub(super) offset: u32,
}

impl BankPlace {
    /// A place in bank 0: launch shape, windows, descriptor, parameters.
    pub(super) const fn launch(offset: u32) -> BankPlace {
        BankPlace { bank: 0, offset }
    }

    /// The place `bytes` bytes later.
    pub(super) const fn plus(self, bytes: u32) -> BankPlace {
        BankPlace { bank: self.bank, offset: self.offset + bytes }
    }

    /// As an operand.
    pub(super) fn operand(self) -> Operand<VReg> {
        Operand::constant(self.bank, self.offset)
    }
}

/// The values that can be requested, in the order of insertion: an earlier kind is made from later
/// kinds only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Pooled {
    /// A constant in a general register.
    Const(u32),
    /// A constant in a pair of general registers.
    Long(u64),
    /// Words of a constant bank in general registers.
    Bank {
        /// Their place.
        at: BankPlace,
        /// The number of words.
        width: u8,
    },
    /// A parameter of 8 or 16 bits in a general register.
    NarrowBank {
        /// Its place.
        at: BankPlace,
        /// The number of bytes, 1 or 2.
        bytes: u8,
    },
    /// The address of a byte of static shared memory, in a general register. This and the next two
    /// kinds are used if the address is not a constant.
    SharedCopy(u32),
    /// The same, made without uniform registers.
    SharedAlone(u32),
    /// The same in a uniform register.
    Shared(u32),
    /// A constant in a uniform register.
    UniformConst(u32),
    /// A constant in a pair of uniform registers.
    UniformLong(u64),
    /// The CTA's number in its cluster, which is the high byte of its shared addresses.
    CtaRank,
    /// A handle in a constant bank without a sampler, in a pair of uniform registers: the word, and
    /// zero.
    UniformHandle(BankPlace),
    /// Words of a constant bank in uniform registers.
    UniformBank {
        /// Their place.
        at: BankPlace,
        /// The number of words.
        width: u8,
    },
}

impl Pooled {
    fn file(self) -> RegFile {
        match self {
            Pooled::Shared(_)
            | Pooled::UniformConst(_)
            | Pooled::UniformLong(_)
            | Pooled::CtaRank
            | Pooled::UniformHandle(_)
            | Pooled::UniformBank { .. } => RegFile::Ugpr,
            _ => RegFile::Gpr,
        }
    }

    fn width(self) -> u8 {
        match self {
            Pooled::Bank { width, .. } | Pooled::UniformBank { width, .. } => width,
            Pooled::Long(_) | Pooled::UniformLong(_) | Pooled::UniformHandle(_) => 2,
            _ => 1,
        }
    }
}

/// The requests for one value in one place.
#[derive(Clone, Debug)]
struct Entry {
    reg: VReg,
    /// The nearest block that dominates every user.
    above: MBlockId,
}

/// The most words of general registers that one block fills for others: an eighth of those that a
/// thread can have, since they are in use throughout a loop.
const ROOM: u32 = 32;

/// All requests.
pub(super) struct Pool {
    cheapest: SecondaryMap<MBlockId, MBlockId>,
    cheapest_converged: SecondaryMap<MBlockId, MBlockId>,
    /// Uniform values by themselves; values in general registers also by their block.
    entries: BTreeMap<(Pooled, Option<MBlockId>), Entry>,
    /// The words of general registers that each block fills for others.
    filled: SecondaryMap<MBlockId, u32>,
}

impl Pool {
    /// An empty pool for a function with those blocks.
    pub(super) fn new(mir: &Mir<VReg>, cfg: &Cfg) -> Pool {
        Pool {
            cheapest: cheapest_dominators(mir, cfg, false),
            cheapest_converged: cheapest_dominators(mir, cfg, true),
            entries: BTreeMap::new(),
            filled: SecondaryMap::new(),
        }
    }

    /// The register of a value for a user in a block.
    pub(super) fn request(&mut self, what: Pooled, user: MBlockId, mir: &mut Mir<VReg>, cfg: &Cfg) -> VReg {
        let uniform = what.file().is_uniform();
        let key = (!uniform).then(|| self.place(what, user));
        let above = key.unwrap_or(user);
        if let Some(entry) = self.entries.get_mut(&(what, key)) {
            entry.above = nearest_common_dominator(cfg, entry.above, above);
            return entry.reg;
        }
        let reg = mir.new_vreg(what.file(), what.width());
        self.entries.insert((what, key), Entry { reg, above });
        reg
    }

    /// The block in which a value in general registers is made for a user.
    fn place(&mut self, what: Pooled, user: MBlockId) -> MBlockId {
        let above = self.cheapest[user];
        if above == user || self.entries.contains_key(&(what, Some(above))) {
            return above;
        }
        let words = self.filled[above] + u32::from(what.width());
        if words > ROOM {
            return user;
        }
        self.filled[above] = words;
        above
    }

    /// Inserts the instructions.
    pub(super) fn insert(mut self, mir: &mut Mir<VReg>, cfg: &Cfg, arch: Arch) {
        let mut pending: SecondaryMap<MBlockId, Vec<Group>> = SecondaryMap::new();
        pending.resize(mir.blocks.len());
        // Making one value may request others, all of a later kind.
        while let Some(((what, _), entry)) = self.entries.pop_first() {
            let uniform = what.file().is_uniform();
            let block = if uniform { self.cheapest_converged[entry.above] } else { entry.above };
            let insts = self.make(what, entry.reg, block, mir, cfg, arch);
            pending[block].push((entry.reg, insts));
        }
        let mut may_wait = SecondaryMap::new();
        may_wait.resize(mir.vregs.len());
        for &block in &mir.layout {
            let wanted = std::mem::take(&mut pending[block]);
            if !wanted.is_empty() {
                insert_before_uses(&mut mir.blocks[block].insts, wanted, &mut may_wait);
            }
        }
    }

    fn make(
        &mut self,
        what: Pooled,
        reg: VReg,
        block: MBlockId,
        mir: &mut Mir<VReg>,
        cfg: &Cfg,
        arch: Arch,
    ) -> Vec<Inst<VReg>> {
        let to = Operand::reg(reg);
        let sized =
            |inst: Inst<VReg>, width| if width == 2 { inst.with(choice!(LDC | ULDC, ".64")) } else { inst };
        match what {
            Pooled::Const(bits) => vec![Inst::new(Op::MOV).ops([to, Operand::imm(bits)])],
            Pooled::Long(bits) => halves(Op::MOV, reg, bits),
            Pooled::UniformConst(bits) => vec![Inst::new(Op::UMOV).ops([to, Operand::imm(bits)])],
            Pooled::UniformLong(bits) => halves(Op::UMOV, reg, bits),
            Pooled::Bank { at, width } => {
                vec![sized(Inst::new(Op::LDC), width).ops([to, at.operand()])]
            }
            Pooled::NarrowBank { at, bytes } => {
                let size = if bytes == 1 { choice!(LDC, ".U8") } else { choice!(LDC, ".U16") };
                vec![Inst::new(Op::LDC).with(size).ops([to, at.operand()])]
            }
            Pooled::UniformBank { at, width } => {
                vec![sized(Inst::new(Op::ULDC), width).ops([to, at.operand()])]
            }
            Pooled::UniformHandle(at) => {
                let [word, rest] = [to, Operand::reg(reg.offset(1))];
                vec![
                    Inst::new(Op::ULDC).ops([word, at.operand()]),
                    Inst::new(Op::UMOV).ops([rest, Operand::zero(RegFile::Ugpr)]),
                ]
            }
            Pooled::SharedCopy(offset) => {
                let from = self.request(Pooled::Shared(offset), block, mir, cfg);
                vec![Inst::new(Op::MOV).ops([to, Operand::reg(from)])]
            }
            Pooled::SharedAlone(offset) => {
                let base = Operand::imm(arch.facts().limits.reserved_shared + offset);
                let [rank, low] = [(); 2].map(|()| Operand::reg(mir.new_vreg(RegFile::Gpr, 1)));
                vec![
                    Inst::new(Op::S2R).ops([rank, Operand::special(SpecialReg::CgaCtaId)]),
                    Inst::new(Op::MOV).ops([low, base]),
                    Inst::new(Op::LEA).ops([to, rank, low, Operand::imm(0x18)]),
                ]
            }
            Pooled::Shared(offset) => {
                let base = Operand::imm(arch.facts().limits.reserved_shared + offset);
                let rank = Operand::reg(self.request(Pooled::CtaRank, block, mir, cfg));
                let low = Operand::reg(mir.new_vreg(RegFile::Ugpr, 1));
                vec![
                    Inst::new(Op::UMOV).ops([low, base]),
                    Inst::new(Op::ULEA).ops([to, rank, low, Operand::imm(0x18)]),
                ]
            }
            Pooled::CtaRank => {
                vec![Inst::new(Op::S2UR).ops([to, Operand::special(SpecialReg::CgaCtaId)])]
            }
        }
    }
}

/// The instructions that fill both words of a constant.
fn halves(op: Op, reg: VReg, bits: u64) -> Vec<Inst<VReg>> {
    let word = |n: u8| {
        let to = Operand::reg(reg.offset(n));
        Inst::new(op).ops([to, Operand::imm((bits >> (32 * n)) as u32)])
    };
    vec![word(0), word(1)]
}

/// Instructions that fill a register and wait for its first reader.
type Group = (VReg, Vec<Inst<VReg>>);

/// Puts each group of instructions before the first instruction that reads its register, or at the
/// end. `may_wait` is false for registers that have no waiting group.
fn insert_before_uses(
    insts: &mut Vec<MInst<VReg>>,
    wanted: Vec<Group>,
    may_wait: &mut SecondaryMap<VRegId, bool>,
) {
    let added: usize = wanted.iter().map(|(_, group)| group.len()).sum();
    wanted.iter().for_each(|(reg, _)| may_wait[reg.id()] = true);
    let mut waiting: BTreeMap<VRegId, Vec<Inst<VReg>>> =
        wanted.into_iter().map(|(reg, group)| (reg.id(), group)).collect();
    let mut out = Vec::with_capacity(insts.len() + added);
    let mut rest = std::mem::take(insts).into_iter();
    let mut uses = Vec::new();
    for inst in rest.by_ref() {
        ptxc_interrupt::poll();
        inst.for_each_use(|reg, _| {
            if std::mem::replace(&mut may_wait[reg.id()], false) {
                uses.push(reg.id());
            }
        });
        for reg in uses.drain(..) {
            flush(reg, inst.loc, &mut waiting, &mut out);
        }
        out.push(inst);
        if waiting.is_empty() {
            break;
        }
    }
    out.extend(rest);
    while let Some((&reg, _)) = waiting.first_key_value() {
        flush(reg, SourceLoc::NONE, &mut waiting, &mut out);
    }
    *insts = out;
}

/// Adds the group of a register, after the groups of the registers that it reads in turn: a copy of
/// a shared address reads the address, and the address reads the number of the CTA.
fn flush(
    reg: VRegId,
    loc: SourceLoc,
    waiting: &mut BTreeMap<VRegId, Vec<Inst<VReg>>>,
    out: &mut Vec<MInst<VReg>>,
) {
    let mut chain = vec![reg];
    let mut groups = Vec::new();
    while let Some(reg) = chain.pop() {
        if let Some(group) = waiting.remove(&reg) {
            chain.extend(
                group.iter().flat_map(|inst| inst.uses().map(|access| access.reg.id()).collect::<Vec<_>>()),
            );
            groups.push(group);
        }
    }
    let made = groups.into_iter().rev().flatten();
    out.extend(made.map(|inst| MInst::new(inst, loc)));
}

/// For each block the dominator where a value for it is made; only converged ones if asked.
fn cheapest_dominators(mir: &Mir<VReg>, cfg: &Cfg, converged: bool) -> SecondaryMap<MBlockId, MBlockId> {
    // The entry is converged, so every block has one.
    let mut cheapest = SecondaryMap::with_default(mir.entry());
    cheapest.resize(mir.blocks.len());
    for &block in cfg.order() {
        let above = cfg.idom(block).map(|up| cheapest[up]);
        let data = &mir.blocks[block];
        // Frequencies are estimates: only leaving a loop counts.
        let outside = above.is_some_and(|above| mir.blocks[above].frequency <= data.frequency / 2);
        cheapest[block] = match above {
            Some(above) if outside || (converged && data.divergent) => above,
            _ => block,
        };
    }
    cheapest
}

/// The nearest block at or above `a` that dominates `b`. An entry's block only ever moves up, so
/// all requests for it together walk the dominator tree once.
fn nearest_common_dominator(cfg: &Cfg, mut a: MBlockId, b: MBlockId) -> MBlockId {
    while !cfg.dominates(a, b) {
        match cfg.idom(a) {
            Some(up) => a = up,
            None => break,
        }
    }
    a
}
