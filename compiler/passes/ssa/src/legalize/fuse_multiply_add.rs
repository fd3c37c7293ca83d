//! Fuses a float multiplication with the addition that is its only user.
//!
//! ```text
//! v3 = fmul.f32.contract v1, v2
//! v5 = fadd.f32.contract v3, v4     =>    v5 = ffma.f32 v1, v2, v4
//! v6 = fsub.f32.contract v4, v3     =>    v6 = ffma.f32 (fneg v1), v2, v4
//! ```
//!
//! PTX permits this if neither instruction names a rounding mode (PTX ISA, `mul`, `add` and `sub`
//! of `.f32`, `.f64` and `.f16`); such operations carry [`FloatMode::contract`]. The product is
//! then not rounded separately, so results may differ in the last place; `--fmad=false` disables
//! the pass. Nothing is fused if the product has `.sat`, or if the two operations differ in `.ftz`.

use ptxc_ir::{FloatMode, Function, Op, Type, Value};
use ptxc_machine::Arch;

use super::emitter::{rewrite, use_counts};

/// Fuses `contract` multiplications with `contract` additions and subtractions.
pub fn fuse_multiply_add(func: &mut Function, _arch: Arch) -> bool {
    let is_sum = |op: &Op| matches!(op, Op::Fadd(mode) | Op::Fsub(mode) if mode.contract);
    let mut insts = func.layout.iter().flat_map(|&block| &func.blocks[block].insts);
    if !insts.any(|&inst| is_sum(&func.insts[inst].op)) {
        return false;
    }
    let uses = use_counts(func);
    rewrite(func, |emitter, inst| {
        let data = &emitter.func.insts[inst];
        let (mode, subtract) = match data.op {
            Op::Fadd(mode) => (mode, false),
            Op::Fsub(mode) => (mode, true),
            _ => return false,
        };
        if !mode.contract {
            return false;
        }
        let (ty, a, b) = (data.ty, data.args[0], data.args[1]);
        let fused = Op::Ffma(FloatMode { contract: false, ..mode });
        if let Some((x, y)) = product(emitter.func, &uses, a, mode, ty) {
            let addend = if subtract { emitter.value(Op::Fneg { ftz: false }, ty, &[b]) } else { b };
            emitter.become_op(inst, fused, ty, &[x, y, addend]);
        } else if let Some((x, y)) = product(emitter.func, &uses, b, mode, ty) {
            let factor = if subtract { emitter.value(Op::Fneg { ftz: false }, ty, &[x]) } else { x };
            emitter.become_op(inst, fused, ty, &[factor, y, a]);
        } else {
            return false;
        }
        true
    })
}

/// The factors of `value`, if it is a product that may be fused into its only user. A bit-typed
/// register in between is skipped, because halves have no other registers.
fn product(func: &Function, uses: &[u32], value: Value, user: FloatMode, ty: Type) -> Option<(Value, Value)> {
    let mut value = value;
    let mut data = func.def_inst(value)?;
    while data.op == Op::Bitcast && uses[value.as_u32() as usize] == 1 {
        value = data.args[0];
        data = func.def_inst(value)?;
    }
    let Op::Fmul(mode) = data.op else { return None };
    let fusable = mode.contract && !mode.sat && mode.ftz == user.ftz && mode.round == user.round;
    (fusable && data.ty == ty && uses[value.as_u32() as usize] == 1).then(|| (data.args[0], data.args[1]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::legalize::emitter::tests::{Build, ops};

    const CONTRACT: FloatMode = FloatMode { contract: true, ..FloatMode::RN };

    #[test]
    fn only_a_contractible_product_with_one_use_is_fused() {
        for (mul, add, extra_use, fused) in [
            (CONTRACT, CONTRACT, false, true),
            (FloatMode::RN, CONTRACT, false, false),
            (CONTRACT, FloatMode::RN, false, false),
            (CONTRACT, CONTRACT, true, false),
            (FloatMode { ftz: true, ..CONTRACT }, CONTRACT, false, false),
            (FloatMode { sat: true, ..CONTRACT }, CONTRACT, false, false),
        ] {
            let mut b = Build::new();
            let x = b.value(Op::Param { offset: 0 }, Type::F32, &[]);
            let product = b.value(Op::Fmul(mul), Type::F32, &[x, x]);
            b.value(Op::Fsub(add), Type::F32, &[x, product]);
            if extra_use {
                b.value(Op::Fneg { ftz: false }, Type::F32, &[product]);
            }
            let mut func = b.finish();
            assert_eq!(fuse_multiply_add(&mut func, Arch::Sm90), fused);
            assert_eq!(ops(&func).iter().any(|op| matches!(op, Op::Ffma(_))), fused);
        }
    }
}
