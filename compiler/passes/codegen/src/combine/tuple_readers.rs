//! Lets later readers of a register that was copied into a tuple read the tuple.
//!
//! ```text
//! MOV %r8, %r1;  MOV %r8#1, %r2               MOV %r8, %r1;  MOV %r8#1, %r2
//! STG.E [%r8.64], %r5                    =>   STG.E [%r8.64], %r5
//! IADD3 %r3, %p1, %r1, 0x10, RZ               IADD3 %r3, %p1, %r8, 0x10, RZ
//! ```
//!
//! The original then ends at the copy, so that both can have one register and the copy vanishes; the
//! allocator merges only values that are not live at the same time. Most such tuples are addresses, made
//! of two sums of 32 bits, from which the next address is made. This concerns registers that only one
//! block reads; others would stay alive. Cost: linear.

use cranelift_entity::SecondaryMap;
use ptxc_machine::Arch;
use ptxc_sass::RegFile;
use rustc_hash::FxHashMap;

use super::tuples::component_copy;
use crate::mir::liveness::for_each_term_use;
use crate::mir::{EdgeArg, MBlockId, Mir, VReg, VRegId};

/// The blocks that read a register.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Readers {
    #[default]
    None,
    One(MBlockId),
    Several,
}

/// Renames the readers of copied registers.
pub fn tuple_readers(mir: &mut Mir<VReg>, _arch: Arch) -> bool {
    let is_copy = |mir: &Mir<VReg>, block: MBlockId| {
        mir.blocks[block].insts.iter().any(|inst| component_copy(mir, inst).is_some())
    };
    if !mir.layout.iter().any(|&block| is_copy(mir, block)) {
        return false;
    }
    let mut readers: SecondaryMap<VRegId, Readers> = SecondaryMap::new();
    // Tuples whose registers a guarded instruction writes: they end there.
    let mut overwritten: SecondaryMap<VRegId, bool> = SecondaryMap::new();
    for &block in &mir.layout {
        let mut read = |reg: VReg, _| {
            let known = &mut readers[reg.id()];
            *known = match *known {
                Readers::None => Readers::One(block),
                same if same == Readers::One(block) => same,
                _ => Readers::Several,
            };
        };
        for inst in &mir.blocks[block].insts {
            ptxc_interrupt::poll();
            inst.for_each_use(&mut read);
            for &(_, old) in &inst.tied {
                overwritten[old.id()] = true;
            }
        }
        for_each_term_use(mir, block, &mut read);
    }
    let mut changed = false;
    for block in mir.layout.clone() {
        let mut tuples: FxHashMap<VReg, VReg> = FxHashMap::default();
        for number in 0..mir.blocks[block].insts.len() {
            ptxc_interrupt::poll();
            if !tuples.is_empty() {
                mir.blocks[block].insts[number].rename(|reg| match tuples.get(&reg) {
                    Some(&tuple) => {
                        changed = true;
                        tuple
                    }
                    None => reg,
                });
            }
            let Some((to, from)) = component_copy(mir, &mir.blocks[block].insts[number]) else { continue };
            if mir.vregs[from.id()].width == 1
                && from.file() == RegFile::Gpr
                && readers[from.id()] == Readers::One(block)
                && !overwritten[to.id()]
            {
                tuples.insert(from, to);
            }
        }
        if tuples.is_empty() {
            continue;
        }
        for edge in mir.blocks[block].term.edges_mut() {
            for arg in &mut edge.args {
                if let EdgeArg::Reg(reg) = arg
                    && let Some(&tuple) = tuples.get(reg)
                {
                    *reg = tuple;
                    changed = true;
                }
            }
        }
    }
    changed
}
