//! Gives each guarded definition an old value of its own, and each call arguments and results of
//! its own.
//!
//! A guarded definition keeps the old content of its register if the guard fails, so it must be put
//! into the register that holds the old value. If the old value is still read later, or is tied
//! twice, the two need a copy; if not, they only need the same register. So each tied operand is
//! replaced by a copy:
//!
//! ```text
//! @p0 MOV %r2, 1   (tied %r1)    =>    MOV %r3, %r1
//!                                      @p0 MOV %r2, 1   (tied %r3)
//! ```
//!
//! The copy and the definition never overlap, so they always go into one register; coalescing then
//! removes the copy wherever `%r1` may be in that register too. Conventional SSA form treats
//! operands that are read and written in this way (Boissinot et al., CGO 2009).
//!
//! The arguments and results of a call must be in fixed registers. Copies that are live only next
//! to the call take these registers. The values themselves may be anywhere, also in these registers
//! if nothing prevents it:
//!
//! ```text
//! CALL f args(%r1 in R4) results(%r2 in R4)    =>    MOV %r3, %r1
//!                                                    CALL f args(%r3 in R4) results(%r4 in R4)
//!                                                    MOV %r2, %r4
//! ```
//!
//! A word that a call leaves in its place serves the next call that needs it there, if that call is
//! [near](NEAR). The cost is linear.

use ptxc_ir::SourceLoc;
use ptxc_sass::{Inst, OperandKind, PReg, RegFile};
use smallvec::SmallVec;

use super::AllocError;
use super::moves;
use super::work::{Origin, Rebuilt, Work};
use crate::abi;
use crate::mir::{MInst, RegSet, Tuple, VReg};

/// A tied operand and the definition that goes into its register.
pub(super) type Tie = (VReg, VReg);

/// The greatest number of instructions over which a place is kept for a value; other values cannot
/// use the place meanwhile.
const NEAR: usize = 12;

/// The values that calls of a block have found in their places and left there.
#[derive(Default)]
struct Held(SmallVec<[Holding; 8]>);

struct Holding {
    place: PReg,
    original: VReg,
    copy: VReg,
    /// The number of the last instruction of the block that reads the copy.
    read: usize,
}

impl Held {
    /// The copy of a value that is already in the place where an instruction reads it.
    fn copy(&mut self, place: PReg, original: VReg, reader: usize) -> Option<VReg> {
        let is_it = |held: &&mut Holding| (held.place, held.original) == (place, original);
        let held = self.0.iter_mut().find(is_it).filter(|held| reader - held.read <= NEAR)?;
        held.read = reader;
        Some(held.copy)
    }

    /// Forgets the values in places that are written.
    fn write(&mut self, places: RegSet) {
        self.0.retain(|held| !places.contains(held.place));
    }
}

/// Puts a copy before each guarded definition, and copies around each call.
pub(super) fn isolate(work: &mut Work<'_>) -> Result<(), AllocError> {
    for position in 0..work.mir.layout.len() {
        let block = work.mir.layout[position];
        ptxc_interrupt::poll();
        let passed =
            |inst: &MInst<VReg>| inst.call.as_ref().map_or(0, |call| call.args.len() + call.results.len());
        let copies: usize =
            work.mir.blocks[block].insts.iter().map(|inst| inst.tied.len() + passed(inst)).sum();
        if copies == 0 {
            continue;
        }
        let Rebuilt { insts, origins } = work.take_body(block);
        let mut rebuilt = Rebuilt::with_capacity(insts.len() + copies);
        let mut held = Held::default();
        for (number, (mut inst, origin)) in insts.into_iter().zip(origins).enumerate() {
            ptxc_interrupt::poll();
            for index in 0..inst.tied.len() {
                let (slot, old) = inst.tied[index];
                let width = inst.inst.slot_width(slot as usize);
                let copy = work.new_short(old.file(), width);
                for component in 0..width {
                    let (to, from) = (copy.offset(component), old.offset(component));
                    rebuilt.insert(own_copy(to, from, inst.loc)?, inst.loc);
                }
                inst.tied[index].1 = copy;
                // A guard that its own instruction overwrites is read from the copy, so that the
                // two don't overlap.
                if let Some(guard) = inst.inst.guard.as_mut().filter(|guard| guard.reg == old) {
                    guard.reg = copy;
                }
            }
            let loc = inst.loc;
            let mut after: Vec<(VReg, VReg)> = Vec::new();
            let mut copies: Vec<(VReg, VReg)> = Vec::new();
            if let Some(call) = &mut inst.call {
                for fixed in &mut call.args {
                    let (place, Tuple { reg: original, width }) = (fixed.place, fixed.value);
                    let known = if width == 1 { held.copy(place, original, number) } else { None };
                    let copy = known.unwrap_or_else(|| work.new_fixed(place, width));
                    if known.is_none() {
                        for component in 0..width {
                            let (to, from) = (copy.offset(component), original.offset(component));
                            rebuilt.insert(own_copy(to, from, loc)?, loc);
                        }
                        // The former contents are gone.
                        let mut places = RegSet::default();
                        places.insert_tuple(place, width);
                        held.write(places);
                        held.0.extend((width == 1).then_some(Holding {
                            place,
                            original,
                            copy,
                            read: number,
                        }));
                    }
                    fixed.value.reg = copy;
                    copies.push((original, copy));
                }
                held.write(call.destroyed());
                for fixed in &mut call.results {
                    if fixed.place == abi::stack_pointer() {
                        // R1 is not available, and holds the value from here on.
                        let frame = work.frame();
                        after.push((fixed.value.reg, frame));
                        fixed.value.reg = frame;
                        continue;
                    }
                    let (Tuple { reg, width }, copy) =
                        (fixed.value, work.new_fixed(fixed.place, fixed.value.width));
                    after.extend((0..width).map(|n| (reg.offset(n), copy.offset(n))));
                    fixed.value.reg = copy;
                }
            }
            // The target of a call through an address is in its fixed place as well.
            for operand in &mut inst.inst.operands {
                let copy = operand.as_reg().and_then(|reg| copies.iter().find(|(old, _)| *old == reg));
                if let Some(&(_, copy)) = copy {
                    operand.kind = OperandKind::Reg(copy);
                }
            }
            rebuilt.push(inst, origin);
            for (to, from) in after {
                rebuilt.insert(own_copy(to, from, loc)?, loc);
            }
        }
        work.put_body(block, rebuilt);
    }
    Ok(())
}

fn own_copy(to: VReg, from: VReg, loc: SourceLoc) -> Result<Inst<VReg>, AllocError> {
    let exists = from.file() != RegFile::Upred;
    if exists { Ok(moves::copy(to, from)) } else { Err(AllocError::UniformPredicateCopy { loc }) }
}

/// Every tied operand with its definition, in layout order.
pub(super) fn ties(work: &Work<'_>) -> Vec<(Tie, ptxc_ir::SourceLoc)> {
    let mut list = Vec::new();
    for &block in &work.mir.layout {
        for (inst, origin) in work.mir.blocks[block].insts.iter().zip(&work.origins[block]) {
            if !matches!(origin, Origin::Inst(_)) {
                continue;
            }
            for &(slot, old) in &inst.tied {
                if let Some(def) = inst.inst.operands[slot as usize].as_reg() {
                    list.push(((old, def), inst.loc));
                }
            }
        }
    }
    list
}
