//! Follows the contents of registers through a block.

use ptxc_sass::{Inst, Op, PReg, Register};
use smallvec::SmallVec;

use super::super::Origin;
use super::renamed::{Match, Renamed, same_but_registers};
use super::state::{Place, State, Value, Values};
use super::{Checker, UniformWrites, Violation, copy_operands, decode};
use crate::mir::{Fixed, MBlockId, MInst, Tuple, VReg};

/// The results that a walk through a block collects.
pub(super) enum Watch<'a> {
    /// Uniform registers that are written, with their new contents.
    Writes(&'a mut Vec<(Place, Values)>),
    /// All violations.
    Violations(&'a mut Vec<Violation>, &'a UniformWrites),
}

/// A walk through a block of the result.
pub(super) struct Walk<'a> {
    checker: &'a Checker<'a>,
    block: MBlockId,
    state: &'a mut State,
    watch: Watch<'a>,
    /// The contents of uniform registers in the divergent region of the block, if other arms may
    /// write them.
    shared: Option<(u32, &'a UniformWrites)>,
    /// The uniform registers that `R2UR` has written since other lanes last had a turn: no arm has
    /// overwritten them.
    own: SmallVec<[Place; 8]>,
}

impl<'a> Walk<'a> {
    /// A walk from a state that holds at the start of the block.
    pub fn new(
        checker: &'a Checker<'_>,
        block: MBlockId,
        state: &'a mut State,
        watch: Watch<'a>,
    ) -> Walk<'a> {
        let shared = match watch {
            Watch::Violations(_, writes) if !writes.is_empty() => {
                checker.region[block].map(|region| (region, writes))
            }
            _ => None,
        };
        Walk { checker, block, state, watch, shared, own: SmallVec::new() }
    }

    fn wrong(&mut self, inst: usize, what: impl FnOnce() -> String) {
        if let Watch::Violations(list, _) = &mut self.watch {
            list.push(Violation { block: self.block, inst, what: what() });
        }
    }

    /// Runs the block; afterwards the state is the one at its end.
    pub fn run(&mut self) {
        let Checker { input, result, .. } = *self.checker;
        let (id, block) = (self.block, &result.blocks[self.block]);
        let source = input.blocks.get(id);
        let original: &[MInst<VReg>] = source.map_or(&[], |source| &source.insts);
        let origins = &self.checker.origins[id];
        let matches = &self.checker.matches[self.checker.first_match[id] as usize..];
        let mut next = 0;
        let mut index = 0;
        while index < block.insts.len() {
            ptxc_interrupt::poll();
            let inst = &block.insts[index];
            let at = index;
            index += 1;
            let outcome = match origins[at] {
                Origin::Inst(origin) => {
                    let origin = origin as usize;
                    if origin < next || origin >= original.len() {
                        self.wrong(at, || format!("{} is out of order", inst.inst));
                        continue;
                    }
                    if next < origin {
                        self.drop_all(at, &original[next..origin]);
                    }
                    next = origin + 1;
                    match &matches[at] {
                        Ok(matched) => self.kept(at, &original[origin], inst, matched),
                        Err(what) => Err(what.clone()),
                    }
                }
                Origin::Remat(reg) => self.recomputed(reg, &inst.inst),
                Origin::Inserted => {
                    decode::apply(&inst.inst, &block.insts[index..], self.state, self.checker.frame)
                        .map(|more| index += more)
                }
            };
            if let Err(what) = outcome {
                self.wrong(at, || what);
            }
            if inst.gives_turn() {
                self.own.clear();
            } else if self.shared.is_some() {
                let takes_lane = inst.inst.op == Op::R2UR && inst.inst.guard.is_none();
                inst.for_each_def(|reg, width| {
                    let places = (0..width).filter_map(|n| reg.offset(n)).map(Place::register);
                    for place in places.filter(|place| place.is_uniform()) {
                        self.own.retain(|own| *own != place);
                        if takes_lane {
                            self.own.push(place);
                        }
                    }
                });
            }
            if let Watch::Writes(list) = &mut self.watch {
                let mut written = |reg: PReg| {
                    let place = Place::register(reg);
                    if place.is_uniform() {
                        list.push((place, self.state.get_all(place, &self.checker.components.is_predicate)));
                    }
                };
                inst.for_each_def(|reg, width| {
                    (0..width).filter_map(|n| reg.offset(n)).for_each(&mut written)
                });
                inst.call.iter().flat_map(|call| call.clobbers.iter()).for_each(&mut written);
            }
        }
        self.drop_all(index, &original[next.min(original.len())..]);
        if let Some((&after, _)) = block.term.selector()
            && let Some((&before, width)) = source.and_then(|source| source.term.selector())
        {
            let selector = Renamed::new(before, after, width, &self.checker.components);
            self.read(index, &selector);
        }
    }

    /// Checks a read: the result reads one register where the input reads another.
    fn read(&mut self, inst: usize, read: &Renamed) {
        for (component, place) in read.pairs() {
            let holds = self.state.holds(place, component);
            let is_own = self.own.contains(&place);
            let is_lost = self.shared.filter(|_| !is_own).is_some_and(|(region, writes)| {
                let agreed = writes.get(&(region, place));
                agreed.is_some_and(|agreed| !agreed.contains(&Value::Component(component)))
            });
            let n = (component - read.component) as u8;
            let reg = || read.to.offset(n).unwrap_or(read.to);
            if !holds {
                self.wrong(inst, || format!("{} does not hold {}", reg(), read.from.offset(n)));
            }
            if is_lost {
                self.wrong(inst, || format!("another arm may overwrite {}", reg()));
            }
        }
    }

    /// Checks an instruction of the input that is in the result.
    fn kept(
        &mut self,
        index: usize,
        before: &MInst<VReg>,
        after: &MInst<PReg>,
        matched: &Match,
    ) -> Result<(), String> {
        let checker = self.checker;
        checker.matcher.uses(matched).iter().for_each(|read| self.read(index, read));
        if before.call.is_some() || after.call.is_some() {
            self.call(index, before, after)?;
        }
        // A copy equals the content of its source.
        let source = matched.copied.map(|(component, from)| {
            let mut source = self.state.get(Place::register(from));
            source.push(Value::Component(checker.components.number(component)));
            source
        });
        let defs = checker.matcher.defs(matched);
        for (component, _) in defs.iter().flat_map(Renamed::pairs) {
            self.state.forget(component);
        }
        for (component, place) in defs.iter().flat_map(Renamed::pairs) {
            self.state.put(place, component, source.as_deref().unwrap_or_default());
        }
        Ok(())
    }

    /// Checks that the arguments of a call are in their places; afterwards the registers that the
    /// call destroys hold its results or nothing.
    fn call(&mut self, index: usize, before: &MInst<VReg>, after: &MInst<PReg>) -> Result<(), String> {
        let (Some(old), Some(new)) = (&before.call, &after.call) else {
            return Err("what a call reads and destroys got lost".into());
        };
        let in_place = |fixed: &Fixed<VReg>| Fixed {
            value: Tuple { reg: fixed.place, width: fixed.value.width },
            place: fixed.place,
        };
        let same = new.args.iter().copied().eq(old.args.iter().map(in_place))
            && new.results.iter().copied().eq(old.results.iter().map(in_place))
            && (old.clobbers, old.uses_stack) == (new.clobbers, new.uses_stack);
        if !same {
            return Err("the values of a call are not in the registers where they belong".into());
        }
        let (components, frame) = (&self.checker.components, self.checker.frame);
        let pair =
            |fixed: &Fixed<VReg>| Renamed::new(fixed.value.reg, fixed.place, fixed.value.width, components);
        old.args.iter().for_each(|fixed| self.read(index, &pair(fixed)));
        if old.held.len() != new.held.len() {
            return Err("registers that an instruction holds got lost".into());
        }
        for (old, new) in old.held.iter().zip(&new.held) {
            self.read(index, &Renamed::new(old.reg, new.reg, old.width, components));
        }
        let state = &mut *self.state;
        let r1 = Place::register(PReg::r(1));
        let at_frame = state.has(r1, Value::Frame) || frame.bytes == 0 && state.has(r1, Value::Stack);
        if matches!(after.inst.op, Op::RET | Op::RET_ABSOLUTE) {
            if !state.has(r1, Value::Stack) {
                return Err("R1 is not as the caller left it".into());
            }
            let lost = |reg: &&PReg| !state.has(Place::register(**reg), Value::Kept(**reg));
            if let Some(reg) = self.checker.kept.iter().find(lost) {
                return Err(format!("{reg} is not as the caller left it"));
            }
        }
        if old.uses_stack && !at_frame {
            return Err("R1 is not the stack pointer of a call".into());
        }
        // A called function may use the stack pointer as a value, which stays in R1.
        let stack = state.get(r1);
        old.destroyed().iter().for_each(|reg| state.write(Place::register(reg), &[]));
        let results = || old.results.iter().flat_map(|fixed| pair(fixed).pairs());
        results().for_each(|(component, _)| state.forget(component));
        for (component, place) in results() {
            let also: &[Value] = if place == r1 && after.inst.op == Op::NOP { &stack } else { &[] };
            state.put(place, component, also);
        }
        Ok(())
    }

    fn drop_all(&mut self, at: usize, dropped: &[MInst<VReg>]) {
        for inst in dropped {
            self.dropped(inst).unwrap_or_else(|what| self.wrong(at, || what));
        }
    }

    /// Checks an instruction of the input that the result lacks.
    fn dropped(&mut self, inst: &MInst<VReg>) -> Result<(), String> {
        let components = &self.checker.components;
        if let Some((to, from)) = copy_operands(&inst.inst) {
            let (to, from) = (components.number(to), components.number(from));
            self.state.assign(to, from, self.checker.is_steady(from));
            return Ok(());
        }
        inst.inst.for_each_def(|def| {
            // A steady value may have been rematerialized just before.
            for component in components.range(def.reg, def.width) {
                if !self.checker.is_steady(component) {
                    self.state.forget(component);
                }
            }
        });
        if inst.inst.row().effects.is_none() && inst.call.is_none() {
            Ok(())
        } else {
            Err(format!("{} is missing", inst.inst))
        }
    }

    /// Checks a definition of the input that is repeated.
    fn recomputed(&mut self, reg: VReg, inst: &Inst<PReg>) -> Result<(), String> {
        let components = &self.checker.components;
        let definition = self.checker.steady.get(components.number(reg) as usize).copied().flatten();
        let Some(definition) = definition else { return Err(format!("{reg} cannot be computed again")) };
        let mut same_files = true;
        let same = same_but_registers(&definition.inst, inst, |before, after| {
            same_files &= before.file() == after.file();
        });
        if !same || !same_files {
            return Err(format!("{inst} does not compute {reg} again"));
        }
        for (before, after) in definition.inst.defs().zip(inst.defs()) {
            for (n, component) in components.range(before.reg, before.width).enumerate() {
                let place = after.reg.offset(n as u8).ok_or("a register too far")?;
                self.state.write(Place::register(place), &[Value::Component(component)]);
            }
        }
        Ok(())
    }
}
