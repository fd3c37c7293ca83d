//! Instructions on registers with unwritten bits: [`crate::unwritten`] has the idea.
//!
//! Stores and loads look after the bits of their data themselves. `SHFL` and instructions that only
//! compute registers are executed with several patterns. All others use what they read. Predicates and
//! uniform registers have no unwritten bits: an instruction that computes one from unwritten bits is
//! a use.

use ptxc_sass::{Op, PReg, RegFile, Register, slot_name};
use smallvec::SmallVec;

use super::registers::{Content, Dest, Origin, PredSource, Registers, Source};
use super::{Node, Sass};
use crate::engine::Step;
use crate::error::Fault;
use crate::memory::Space;
use crate::unwritten::{Bits, PATTERNS, Treatment, is_unwritten_whole, pattern, treatment};
use crate::warp::{Flow, LANES, lanes_of};

/// The registers of an instruction.
type List = SmallVec<[PReg; 8]>;

impl Sass<'_> {
    /// Executes an instruction for the lanes of a step, and follows unwritten bits.
    #[inline]
    pub(super) fn follow(
        &self,
        node: &Node,
        registers: &mut Registers,
        step: &mut Step<'_>,
    ) -> Result<Flow, Fault> {
        match registers.unwritten.is_empty() {
            true => node.execute(registers, step),
            false => self.follow_some(node, registers, step),
        }
    }

    #[cold]
    fn follow_some(
        &self,
        node: &Node,
        registers: &mut Registers,
        step: &mut Step<'_>,
    ) -> Result<Flow, Fault> {
        let Some(inst) = self.program.insts.get(step.pc as usize).map(|coded| &coded.inst) else {
            return node.execute(registers, step);
        };
        let (lanes, is_store) = (step.lanes, matches!(inst.op, Op::ST | Op::STG | Op::STL | Op::STS));
        let data = if is_store { inst.row().slot("data") } else { None };
        // A product that adds to nothing ignores its sums.
        let adds = inst
            .get(slot_name!("accumulate"))
            .is_none_or(|adds| registers.pred(PredSource::new(adds.as_reg(), adds.flags.not)) & lanes != 0);
        let ignored = if adds { None } else { inst.row().slot("c") };
        let mut used = List::new();
        inst.for_each_use(|access| {
            if ![data, ignored].contains(&Some(access.slot.into())) {
                let words = (0..access.width).filter_map(|n| access.reg.offset(n));
                let has_some = |reg: &PReg| has_bits(registers, *reg, lanes);
                let new: List = words.filter(|reg| has_some(reg) && !used.contains(reg)).collect();
                used.extend(new);
            }
        });
        let mut defs = List::new();
        inst.for_each_def(|access| defs.extend((0..access.width).filter_map(|n| access.reg.offset(n))));
        if !used.is_empty() && (inst.op == Op::SHFL || inst.row().effects.is_none()) {
            return self.repeat((node, inst.op), registers, step, &used, &defs);
        }
        for reg in used {
            report(registers, step, reg, lanes)?;
            registers.unwritten.clear(reg.index().into(), lanes);
        }
        defs.iter()
            .filter(|reg| is_general(**reg))
            .for_each(|reg| registers.unwritten.clear(reg.index().into(), lanes));
        node.execute(registers, step)
    }

    /// Executes an instruction with each pattern, then with the values that are there.
    fn repeat(
        &self,
        (node, inst): (&Node, Op),
        registers: &mut Registers,
        step: &mut Step<'_>,
        used: &[PReg],
        defs: &[PReg],
    ) -> Result<Flow, Fault> {
        let (lanes, random) = (step.lanes, registers.random.clone());
        let touched: Vec<(PReg, Content)> =
            used.iter().chain(defs).map(|&reg| (reg, registers.content(reg))).collect();
        let mut results: Vec<[Option<Content>; PATTERNS]> = vec![[None; PATTERNS]; defs.len()];
        let mut fails = false;
        for number in 0..PATTERNS {
            for (operand, &reg) in used.iter().enumerate() {
                let Content::Lanes(mut values) = registers.content(reg) else { continue };
                for (lane, value) in (0..).zip(&mut values) {
                    let Bits { bits, .. } = registers.unwritten.get(reg.index().into(), lane);
                    if bits != 0 {
                        *value = pattern(number, operand, (*value).into(), bits) as u32;
                    }
                }
                registers.set_content(reg, Content::Lanes(values));
            }
            fails |= node.execute(registers, step).is_err();
            step.lanes = lanes;
            for (result, &reg) in results.iter_mut().zip(defs) {
                result[number] = Some(registers.content(reg));
            }
            touched.iter().for_each(|&(reg, content)| registers.set_content(reg, content));
            registers.random = random.clone();
        }
        let unwritten = &registers.unwritten;
        let of_predicates = defs.iter().all(|reg| !is_general(*reg));
        let is_compared = |reg: PReg, lane: u32| {
            let Content::Lanes(values) = registers.content(reg) else { return false };
            let bits = unwritten.get(reg.index().into(), lane).bits;
            is_unwritten_whole(values[lane as usize].into(), bits)
        };
        let mut uses = if fails { lanes } else { 0 };
        let mut kept: Vec<(u32, u32, Bits)> = Vec::new();
        let origin = |lane| used.iter().find_map(|reg| unwritten.origin(reg.index().into(), lane));
        for lane in lanes_of(lanes) {
            if of_predicates && used.iter().any(|&reg| is_compared(reg, lane)) {
                uses |= 1 << lane;
            }
            // A shuffle takes the bits of another lane.
            let from = if inst == Op::SHFL { lanes } else { 1 << lane };
            let is_computed =
                |reg: &PReg| lanes_of(from).any(|lane| unwritten.get(reg.index().into(), lane).computed);
            let computed = used.iter().any(is_computed);
            for (result, &reg) in results.iter().zip(defs) {
                let treatment = treatment(&result.map(|content| word(reg, content, lane)));
                if is_general(reg) {
                    let bits = treatment.bits(origin(lane));
                    kept.push((
                        reg.index().into(),
                        lane,
                        Bits { computed: computed | bits.computed, ..bits },
                    ));
                } else if treatment != Treatment::Same {
                    uses |= 1 << lane;
                }
            }
        }
        step.memory.report_uses(uses, origin)?;
        used.iter().for_each(|reg| registers.unwritten.clear(reg.index().into(), uses));
        let flow = node.execute(registers, step)?;
        kept.into_iter().for_each(|(number, lane, bits)| registers.unwritten.set(number, lane, bits));
        Ok(flow)
    }
}

fn is_general(reg: PReg) -> bool {
    reg.file() == RegFile::Gpr
}

/// Whether a register has unwritten bits in some of these lanes.
fn has_bits(registers: &Registers, reg: PReg, lanes: u32) -> bool {
    is_general(reg) && registers.unwritten.lanes(reg.index().into(), lanes) != 0
}

/// The word of a lane in the content of a register; all lanes have that of a uniform one.
fn word(reg: PReg, content: Option<Content>, lane: u32) -> u64 {
    match content {
        Some(Content::Lanes(values)) => values[lane as usize].into(),
        Some(Content::Word(word)) if reg.file() == RegFile::Ugpr => word.into(),
        Some(Content::Word(word)) => (word >> lane & 1).into(),
        None => 0,
    }
}

/// Reports that the lanes with unwritten bits of a register use them.
fn report(registers: &Registers, step: &mut Step<'_>, reg: PReg, lanes: u32) -> Result<(), Fault> {
    let number = reg.index().into();
    let unwritten = &registers.unwritten;
    step.memory.report_uses(unwritten.lanes(number, lanes), |lane| unwritten.origin(number, lane))
}

/// Gives registers the unwritten bits of what the lanes have just loaded into them.
#[cold]
pub(super) fn loaded<const BYTES: usize, const WORDS: usize>(
    registers: &mut Registers,
    step: &mut Step<'_>,
    dests: &[Dest],
    words: impl Fn([u8; BYTES]) -> [u32; WORDS],
) {
    for loaded in std::mem::take(&mut step.memory.grid.loaded) {
        let bytes = std::array::from_fn(|n| if loaded.missing >> n & 1 == 1 { u8::MAX } else { 0 });
        for (&dest, bits) in dests.iter().zip(words(bytes)) {
            if let Dest::Lane(number) = dest {
                let bits = Bits { bits: bits.into(), origin: Some(loaded.origin), computed: false };
                registers.unwritten.set(number.into(), loaded.lane, bits);
            }
        }
    }
}

/// Makes bytes unwritten where the lanes have just stored unwritten bits.
///
/// # Errors
/// A use, if it is a fault.
#[cold]
pub(super) fn stored<const BYTES: usize, const WORDS: usize>(
    registers: &Registers,
    step: &mut Step<'_>,
    (space, addresses): (Space, &[u64; LANES]),
    data: &[Source; WORDS],
    bytes_of: impl Fn([u32; WORDS]) -> [u8; BYTES],
) -> Result<(), Fault> {
    let number = |source: &Source| match source.origin {
        Origin::Lane(number) => Some(u32::from(number)),
        Origin::Uniform(_) | Origin::Value(_) => None,
    };
    let unwritten = &registers.unwritten;
    if data.iter().filter_map(number).all(|number| unwritten.lanes(number, step.lanes) == 0) {
        return Ok(());
    }
    for lane in lanes_of(step.lanes) {
        let own = data.each_ref().map(|source| number(source).map(|number| unwritten.get(number, lane)));
        let own = own.map(Option::unwrap_or_default);
        let bytes = bytes_of(own.map(|own| own.bits as u32));
        let missing = (0..).zip(bytes).filter(|(_, byte)| *byte != 0).fold(0, |set, (n, _)| set | 1 << n);
        let place = (space, lane, addresses[lane as usize]);
        step.memory.store_unwritten(place, BYTES as u32, missing, Bits::of_all(&own))?;
    }
    Ok(())
}
