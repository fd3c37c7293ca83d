//! Computes 64-bit arithmetic in 32 bits if only the low word is wanted.
//!
//! PTX computes addresses of all spaces in 64 bits; those of shared, local and constant memory need
//! only 32.
//!
//! ```text
//! v3 = umul_wide.b32 v1, v2           v3 = imul.b32 v1, v2
//! v4 = zext.b64 v0                    v5 = iadd.b32 v0, v3
//! v5 = iadd.b64 v4, v3          =>    v7 = load.shared.b32 [v5]
//! v6 = trunc.b32 v5
//! v7 = load.shared.b32 [v6]
//! ```
//!
//! Demanded bits, as in LLVM's `BDCE`, in units of words. At first every operation whose low word
//! follows from those of its arguments counts as narrow. An operation with a user other than a
//! truncation or a narrow operation is removed from the set, and then its arguments are. The
//! remaining operations change their type in place. Block parameters keep their type. Linear in the
//! function.
use ptxc_ir::{Function, Inst, Op, Type, Value, ValueDef};
use ptxc_machine::Arch;

use super::emitter::rewrite;

/// Narrows 64-bit arithmetic of which only the low word is used.
pub fn demanded_words(func: &mut Function, _arch: Arch) -> bool {
    let narrow = narrow_values(func);
    if !narrow.contains(&true) {
        return false;
    }
    let is_narrow = |value: Value| narrow.get(value.as_u32() as usize).copied().unwrap_or(false);
    rewrite(func, |emitter, inst| {
        let data = &emitter.func.insts[inst];
        if matches!(data.op, Op::Trunc) && data.ty == Type::B32 && is_narrow(data.args[0]) {
            let (result, whole) = (emitter.func.result(inst), data.args[0]);
            emitter.rename(result, whole);
            return true;
        }
        let results = emitter.func.results(inst);
        if results.len() != 1 || !is_narrow(results[0]) {
            return false;
        }
        let data = data.clone();
        let args: Vec<Value> = data
            .args
            .iter()
            .map(|&arg| match emitter.func.constant(arg) {
                Some(bits) if emitter.func.ty(arg) == Type::B64 => emitter.constant(Type::B32, bits),
                None if emitter.func.ty(arg) == Type::B64 && !is_narrow(arg) => {
                    emitter.value(Op::Trunc, Type::B32, &[arg])
                }
                _ => arg,
            })
            .collect();
        let op = match data.op {
            Op::UmulWide | Op::SmulWide => Op::Imul,
            Op::Zext | Op::Sext if emitter.func.ty(args[0]) == Type::B32 => Op::Bitcast,
            other => other,
        };
        emitter.func.replace_retyped(inst, op, Type::B32, &args);
        emitter.keep(inst);
        true
    })
}

/// Whether the low word of the result follows from the low words of the arguments.
fn is_low_by_low(func: &Function, inst: Inst) -> bool {
    let data = &func.insts[inst];
    match data.op {
        Op::Iadd | Op::Isub | Op::Ineg | Op::Imul => data.ty == Type::B64,
        Op::And | Op::Or | Op::Xor | Op::Not | Op::Shl | Op::Select => data.ty == Type::B64,
        Op::UmulWide | Op::SmulWide => data.ty == Type::B32,
        Op::Zext | Op::Sext => data.ty == Type::B64,
        _ => false,
    }
}

/// Whether only the low word of a result is used, by value number; empty if there is no such result.
fn narrow_values(func: &Function) -> Vec<bool> {
    let mut narrow = vec![false; func.num_values()];
    let mut any = false;
    for &block in &func.layout {
        for &inst in ptxc_interrupt::parts(&func.blocks[block].insts).flatten() {
            if is_low_by_low(func, inst) {
                narrow[func.result(inst).as_u32() as usize] = true;
                any = true;
            }
        }
    }
    if !any {
        return Vec::new();
    }
    let mut wide: Vec<Value> = Vec::new();
    let mut widen = |wide: &mut Vec<Value>, value: Value| {
        if std::mem::replace(&mut narrow[value.as_u32() as usize], false) {
            wide.push(value);
        }
    };
    for &block in &func.layout {
        for &inst in ptxc_interrupt::parts(&func.blocks[block].insts).flatten() {
            let data = &func.insts[inst];
            if !(matches!(data.op, Op::Trunc) || is_low_by_low(func, inst)) {
                data.args.iter().for_each(|&arg| widen(&mut wide, arg));
            }
            for edge in &data.targets {
                edge.args.iter().for_each(|&arg| widen(&mut wide, arg));
            }
        }
    }
    while let Some(value) = wide.pop() {
        if let ValueDef::Result(inst, _) = func.def(value) {
            func.insts[inst].args.iter().for_each(|&arg| widen(&mut wide, arg));
        }
    }
    narrow
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::legalize::emitter::tests::Build;

    #[test]
    fn values_used_whole_stay_whole() {
        let mut b = Build::new();
        let x = b.value(Op::Param { offset: 0 }, Type::B32, &[]);
        let wide = b.value(Op::Zext, Type::B64, &[x]);
        let sum = b.value(Op::Iadd, Type::B64, &[wide, wide]);
        let product = b.value(Op::Imul, Type::B64, &[sum, wide]);
        let low = b.value(Op::Trunc, Type::B32, &[product]);
        let address = b.value(Op::Param { offset: 8 }, Type::B64, &[]);
        let access = ptxc_ir::Access::weak(ptxc_ir::Space::Global, ptxc_ir::MemType::B64);
        b.inst(Op::Store(access), Type::B64, &[address, sum]);
        let b32 = ptxc_ir::Access { elem: ptxc_ir::MemType::B32, ..access };
        let store = b.inst(Op::Store(b32), Type::B32, &[address, low]);
        let mut func = b.finish();
        assert!(demanded_words(&mut func, Arch::Sm90));
        assert_eq!((func.ty(sum), func.ty(product)), (Type::B64, Type::B32));
        assert_eq!(func.insts[store].args[1], product);
        ptxc_ir::verify::verify(&func, ptxc_ir::verify::Level::Built).unwrap_or_else(|errors| {
            assert!(errors.iter().all(|error| error.to_string().contains("param")), "{errors:?}")
        });
    }
}
