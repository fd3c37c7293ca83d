//! Copies of settled sums, which may be spilled.
//!
//! The sums of a product are in registers that are lent to it, and lent registers are never spilled
//! ([`lent`](super::lent)). After the wait they are ordinary values, and usually stay where they are. If
//! there are too few registers, each wait is followed by copies of what it settles, and everything that
//! is no product reads the copies:
//!
//! ```text
//! WARPGROUP.DEPBAR.LE gsb0, 0x0 holds(%r9:64)    =>    WARPGROUP.DEPBAR.LE gsb0, 0x0 holds(%r9:64)
//! FADD %r20, %r9.5, %r8                                MOV %r31.1, %r9.5 …
//!                                                      FADD %r20, %r31.1, %r8
//! ```
//!
//! Four neighbours are copied to four, because instructions read up to so many at once. Linear.

use std::collections::BTreeMap;

use ptxc_sass::{Op, RegFile};

use super::work::{Rebuilt, Work};
use super::{lent, moves};
use crate::mir::{EdgeArg, MBlockId, MInst, Tuple, VReg, VRegId};

/// The number of neighbours that are copied together.
const QUAD: u8 = 4;

/// The copies, by the lent register and the number of its four components.
type Copies = BTreeMap<(VRegId, u8), VReg>;

/// Copies what waits settle, and makes the readers read the copies. Returns whether anything was copied:
/// nothing is if an instruction reads neighbours that would be apart.
pub(super) fn copy(work: &mut Work<'_>) -> bool {
    let Some(copies) = copies(work).filter(|copies| can_read_copies(work, copies)) else { return false };
    for position in 0..work.mir.layout.len() {
        let block = work.mir.layout[position];
        ptxc_interrupt::poll();
        let Rebuilt { insts, origins } = work.take_body(block);
        let mut rebuilt = Rebuilt::with_capacity(insts.len());
        for (minst, origin) in insts.into_iter().zip(origins) {
            let (settled, loc) = (settled_by(&minst).collect::<Vec<_>>(), minst.loc);
            rebuilt.push(if holds(&minst) { minst } else { minst.map(|reg| renamed(&copies, reg)) }, origin);
            for from in settled.into_iter().flat_map(|own| (0..own.width).map(move |n| own.reg.offset(n))) {
                rebuilt.insert(moves::copy(renamed(&copies, from), from), loc);
            }
        }
        work.put_body(block, rebuilt);
        rename_in_term(work, block, &copies);
    }
    true
}

/// New registers for what the waits settle; `None` if they settle nothing, a part of a register, or a
/// register twice.
fn copies(work: &mut Work<'_>) -> Option<Copies> {
    let insts = work.mir.layout.iter().flat_map(|&block| &work.mir.blocks[block].insts);
    let settled: Vec<_> = insts.flat_map(settled_by).collect();
    let mut copies = Copies::new();
    for tuple in settled {
        if tuple.reg.component() != 0 || copies.contains_key(&(tuple.reg.id(), 0)) {
            return None;
        }
        for first in (0..tuple.width).step_by(QUAD.into()) {
            let copy = work.mir.to_mut().new_vreg(RegFile::Gpr, QUAD.min(tuple.width - first));
            copies.insert((tuple.reg.id(), first / QUAD), copy);
        }
    }
    (!copies.is_empty()).then_some(copies)
}

/// Makes the end of a block read the copies. Parameters that are lent take lent registers.
fn rename_in_term(work: &mut Work<'_>, block: MBlockId, copies: &Copies) {
    let is_single: Vec<Vec<bool>> = {
        let edges = work.mir.blocks[block].term.edges();
        let params = edges.iter().map(|edge| &work.mir.blocks[edge.block].params);
        params.map(|params| params.iter().map(|param| param.width == 1).collect()).collect()
    };
    let term = &mut work.mir.to_mut().blocks[block].term;
    for (edge, is_single) in term.edges_mut().into_iter().zip(is_single) {
        for (arg, is_single) in edge.args.iter_mut().zip(is_single) {
            if let EdgeArg::Reg(reg) = arg
                && is_single
            {
                *reg = renamed(copies, *reg);
            }
        }
    }
    if let Some(selector) = term.selector_mut() {
        *selector = renamed(copies, *selector);
    }
}

/// The registers that a wait settles.
fn settled_by(minst: &MInst<VReg>) -> impl Iterator<Item = Tuple<VReg>> {
    let call = minst.call.iter().filter(|_| minst.inst.op == Op::WARPGROUP_DEPBAR);
    call.flat_map(|call| call.held.iter().copied())
}

/// Whether an instruction names lent registers as such: a product, an arrival or a wait.
fn holds(minst: &MInst<VReg>) -> bool {
    lent::is_product(minst) || minst.call.as_ref().is_some_and(|call| !call.held.is_empty())
}

/// Whether each reader reads neighbours that stay neighbours, and nothing else writes the registers.
fn can_read_copies(work: &Work<'_>, copies: &Copies) -> bool {
    let mut can = true;
    for &block in &work.mir.layout {
        ptxc_interrupt::poll();
        for minst in work.mir.blocks[block].insts.iter().filter(|minst| !holds(minst)) {
            let is_copied = |reg: VReg| copies.contains_key(&(reg.id(), 0));
            minst.for_each_use(|reg, width| {
                can &= !is_copied(reg) || reg.component() % QUAD + width <= QUAD;
            });
            minst.for_each_def(|reg, _| can &= !is_copied(reg));
        }
    }
    can
}

/// The copy of a component, if there is one.
fn renamed(copies: &Copies, reg: VReg) -> VReg {
    let component = reg.component();
    match copies.get(&(reg.id(), component / QUAD)) {
        Some(copy) => copy.offset(component % QUAD),
        None => reg,
    }
}
