//! Copies routines in which lanes meet to the places where they are called.
//!
//! In: laid-out code, in which `CALL` stands for a routine of [`warp`](ptxc_ssa::runtime::warp),
//! and the routines' code. Out: the same with each such call, and the `MOV` of its return address,
//! replaced.
//!
//! ```text
//! MOV R2, `(.L_x_4)                          WARPSYNC.COLLECTIVE R4, `(.L_x_4)
//! CALL.REL.NOINC `($warp.shfl.bfly)    =>    SHFL.BFLY P0, R4, R5, R6, R7
//! .L_x_4:                                    ENDCOLLECTIVE
//!                                            .L_x_4:
//! ```
//! The lanes of the mask wait at their `WARPSYNC.COLLECTIVE`, each at its own place. When all have
//! arrived, they execute one of the copies together, and each continues at the label that it named.
//! So all copies of a routine must use the same registers, which the [ABI](crate::abi) ensures.
//! Barriers of the CTA and the cluster are for all lanes, and have no mask. Linear.

use std::collections::BTreeMap;

use ptxc_sass::{FunctionIndex, Inst, Op, Operand, OperandKind, PReg, slot, slot_name};
use ptxc_ssa::gather::has_collectives;
use ptxc_ssa::runtime;

use super::code::Code;
use crate::abi;
use crate::func_code::Callees;
use crate::mir::MInst;

/// Replaces calls of routines in which lanes meet, on architectures that have collectives.
///
/// # Errors
/// The symbol of such a routine that is not among the callees, or is more than one block.
pub fn inline_collectives(
    code: &mut Code,
    arch: ptxc_machine::Arch,
    callees: &Callees,
) -> Result<(), String> {
    if !has_collectives(arch) {
        return Ok(());
    }
    let mut copies: BTreeMap<u32, Copy> = BTreeMap::new();
    let mut barriers = code.header.barriers;
    for (index, symbol) in code.header.functions.iter().enumerate().skip(1) {
        let Some(name) = runtime::name_of_symbol(symbol).filter(|name| runtime::warp::is_warp_routine(name))
        else {
            continue;
        };
        let compiled = callees.get(symbol).ok_or_else(|| symbol.clone())?;
        barriers = barriers.max(compiled.program.resources.barriers);
        let insts = compiled.program.insts.iter().map(|coded| coded.inst.clone());
        let body: Vec<Inst<PReg>> = insts.take_while(|inst| inst.op != Op::ENDCOLLECTIVE).collect();
        // The labels of branches would be those of another function.
        if body.iter().any(|inst| inst.labels().next().is_some()) {
            return Err(symbol.clone());
        }
        let takes_mask = runtime::warp::takes_mask(name);
        let places = abi::parameter_places(name, &runtime::callee(name).params);
        let mask = places.and_then(|places| places.last().copied());
        copies.insert(index as u32, Copy { mask: mask.filter(|_| takes_mask), body });
    }
    if copies.is_empty() {
        return Ok(());
    }
    // The copies are part of the function, and no link adds the barriers of the routines.
    code.header.barriers = barriers;
    for block in &mut code.blocks {
        let Some(last) = block.insts.last() else { continue };
        let target = match last.inst.get(slot_name!("target")).map(|target| target.kind) {
            Some(OperandKind::Function(FunctionIndex(index))) if last.inst.op == Op::CALL => index,
            _ => continue,
        };
        let Some(copy) = copies.get(&target) else { continue };
        let loc = last.loc;
        block.insts.pop();
        // The return address, which names the place where the lanes continue.
        let Some(back) = block.insts.pop().and_then(|address| address.inst.labels().next()) else { continue };
        let begin = match copy.mask {
            Some(mask) => Inst::new(Op::WARPSYNC_COLLECTIVE)
                .slot(slot!(WARPSYNC_COLLECTIVE, "mask"), Operand::reg(mask)),
            None => Inst::new(Op::WARPSYNC_COLLECTIVE_ALL),
        };
        let begin =
            begin.slot(slot!(WARPSYNC_COLLECTIVE | WARPSYNC_COLLECTIVE_ALL, "target"), Operand::label(back));
        let end = Inst::new(Op::ENDCOLLECTIVE);
        let insts = std::iter::once(begin).chain(copy.body.iter().cloned()).chain([end]);
        block.insts.extend(insts.map(|inst| MInst::new(inst, loc)));
        block.body = block.insts.len();
    }
    forget_copied(code, &copies);
    Ok(())
}

/// A routine's code.
struct Copy {
    /// The register of its mask, if it has one.
    mask: Option<PReg>,
    body: Vec<Inst<PReg>>,
}

/// Removes the names of functions that are no longer called from the list.
fn forget_copied(code: &mut Code, copies: &BTreeMap<u32, Copy>) {
    let mut kept = 0;
    let numbers: Vec<u32> = (0..code.header.functions.len() as u32)
        .map(|index| {
            let number = kept;
            kept += u32::from(!copies.contains_key(&index));
            number
        })
        .collect();
    let mut index = 0;
    code.header.functions.retain(|_| {
        index += 1;
        !copies.contains_key(&(index - 1))
    });
    for operand in
        code.blocks.iter_mut().flat_map(|block| &mut block.insts).flat_map(|minst| &mut minst.inst.operands)
    {
        if let OperandKind::Function(function) = &mut operand.kind {
            function.0 = numbers[function.0 as usize];
        }
    }
}
