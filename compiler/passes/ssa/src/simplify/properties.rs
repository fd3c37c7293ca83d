//! A property of all functions: simplified code computes the same as the original.
//!
//! Random programs of integer and predicate operations with forward branches run on random
//! parameters. The interpreter knows each operation only through [`evaluate`] and uses none of the
//! identities.
use proptest::prelude::*;
use ptxc_ir::{
    Block, BlockCall, Function, FunctionKind, InstData, IntCond, Level, Op, Param, Type, Value, verify,
};

use super::evaluate::evaluate;
use super::{Effort, simplify};

/// A program as numbers: for each instruction an operation and two arguments, taken modulo the
/// number of candidates.
type Code = Vec<(u8, u16, u16, u64)>;

const PARAMS: u32 = 4;

/// Builds a chain of blocks; each block passes a value to one of the next two.
fn build(blocks: &[Code]) -> Function {
    let mut func = Function::new("random", FunctionKind::Entry);
    func.params.push(Param { name: "p".to_string(), size: 4 * PARAMS, offset: 0, image: None });
    let list: Vec<Block> = blocks.iter().map(|_| func.add_block()).collect();
    let end = func.add_block();
    for &block in &list[1..] {
        func.add_block_param(block, Type::B32);
    }
    func.add_block_param(end, Type::B32);
    let entry = list[0];
    let mut shared = Vec::new();
    for n in 0..PARAMS {
        let inst = func.append(entry, InstData::new(Op::Param { offset: 4 * n }, Type::B32, &[]));
        shared.push(func.result(inst));
    }
    for (n, (code, &block)) in blocks.iter().zip(&list).enumerate() {
        let mut words: Vec<Value> = shared.iter().chain(&func.blocks[block].params).copied().collect();
        let mut conditions: Vec<Value> = Vec::new();
        for &(op, a, b, bits) in code {
            let (x, y) = (words[usize::from(a) % words.len()], words[usize::from(b) % words.len()]);
            let mut push = |op: Op, ty: Type, args: &[Value]| {
                let inst = func.append(block, InstData::new(op, ty, args));
                func.result(inst)
            };
            // Small and round constants trigger identities.
            let constant = push(
                Op::Const([0, 1, 2, 31, 0xff, 0xffff_ffff, 1 << 31, bits & 0xffff_ffff][bits as usize % 8]),
                Type::B32,
                &[],
            );
            let y = if b % 3 == 0 { constant } else { y };
            const BINARY: [Op; 18] = [
                Op::Iadd,
                Op::Isub,
                Op::Imul,
                Op::And,
                Op::Or,
                Op::Xor,
                Op::Shl,
                Op::Shr,
                Op::Sar,
                Op::Smin,
                Op::Umax,
                Op::Udiv,
                Op::Urem,
                Op::Iadd,
                Op::Isub,
                Op::And,
                Op::Xor,
                Op::Shr,
            ];
            const COMPARE: [IntCond; 6] =
                [IntCond::Eq, IntCond::Ne, IntCond::Slt, IntCond::Ule, IntCond::Sge, IntCond::Ugt];
            match op {
                0..18 => words.push(push(BINARY[usize::from(op)], Type::B32, &[x, y])),
                18 => words.push(push(Op::Not, Type::B32, &[x])),
                19 => words.push(push(Op::Ineg, Type::B32, &[x])),
                20..26 => conditions.push(push(Op::Icmp(COMPARE[usize::from(op) - 20]), Type::B32, &[x, y])),
                26 => {
                    let narrow = push(Op::Trunc, Type::B16, &[x]);
                    words.push(push(if a % 2 == 0 { Op::Zext } else { Op::Sext }, Type::B32, &[narrow]));
                }
                27 => {
                    let wide = push(if b % 2 == 0 { Op::Zext } else { Op::Sext }, Type::B64, &[x]);
                    let count = push(Op::Const(bits % 40), Type::B32, &[]);
                    let shifted = push(Op::Shl, Type::B64, &[wide, count]);
                    words.push(push(Op::Trunc, Type::B32, &[shifted]));
                    let limit = push(Op::Const(bits), Type::B64, &[]);
                    conditions.push(push(Op::Icmp(COMPARE[usize::from(a) % 6]), Type::B64, &[wide, limit]));
                }
                _ => {
                    let Some(&p) = conditions.get(usize::from(a) % conditions.len().max(1)) else { continue };
                    let q = conditions[usize::from(b) % conditions.len()];
                    match op {
                        28 => conditions.push(push(Op::Not, Type::Pred, &[p])),
                        29 => conditions.push(push(Op::Xor, Type::Pred, &[p, q])),
                        30 => conditions.push(push(Op::Select, Type::Pred, &[p, q, conditions[0]])),
                        _ => words.push(push(Op::Select, Type::B32, &[p, constant, y])),
                    }
                }
            }
        }
        let target = |ahead: usize| list.get(n + ahead).copied().unwrap_or(end);
        let last = words[words.len() - 1];
        let other = words[words.len() / 2];
        let mut data = match conditions.last() {
            Some(&condition) => InstData::new(Op::Branch { uni: false }, Type::B32, &[condition]),
            None => InstData::new(Op::Jump, Type::B32, &[]),
        };
        data.targets.push(BlockCall::new(target(1), &[last]));
        if data.op != Op::Jump {
            data.targets.push(BlockCall::new(target(2), &[other]));
        }
        func.append(block, data);
    }
    // The stored value is the result.
    let result = func.blocks[end].params[0];
    let address = func.append(end, InstData::new(Op::Const(0), Type::B32, &[]));
    let address = func.result(address);
    let access = ptxc_ir::Access::weak(ptxc_ir::Space::Shared, ptxc_ir::MemType::B32);
    func.append(end, InstData::new(Op::Store(access), Type::B32, &[address, result]));
    func.append(end, InstData::new(Op::Exit, Type::B32, &[]));
    func
}

/// The value that a function without loops stores; `None` if it divides by zero.
fn run(func: &Function, params: &[u32]) -> Option<u64> {
    let mut values = vec![0; func.num_values()];
    let get = |values: &[u64], value: Value| values[value.as_u32() as usize];
    let mut block = func.entry();
    loop {
        let mut next = None;
        for &inst in &func.blocks[block].insts {
            ptxc_interrupt::poll();
            let data = &func.insts[inst];
            let args: Vec<(Type, u64)> =
                data.args.iter().map(|&arg| (func.ty(arg), get(&values, arg))).collect();
            let result = match data.op {
                Op::Const(bits) => bits,
                Op::Param { offset } => params[offset as usize / 4].into(),
                Op::Store(_) => return Some(args[1].1),
                Op::Jump => {
                    next = Some(&data.targets[0]);
                    continue;
                }
                Op::Branch { .. } => {
                    next = Some(&data.targets[usize::from(args[0].1 == 0)]);
                    continue;
                }
                op => evaluate(&op, data.ty, &args)?,
            };
            values[func.result(inst).as_u32() as usize] = result;
        }
        let edge = next?;
        let args: Vec<u64> = edge.args.iter().map(|&arg| get(&values, arg)).collect();
        for (&param, arg) in func.blocks[edge.block].params.iter().zip(args) {
            values[param.as_u32() as usize] = arg;
        }
        block = edge.block;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn results_stay(
        blocks in prop::collection::vec(
            prop::collection::vec((0u8..33, any::<u16>(), any::<u16>(), any::<u64>()), 1..14), 1..6),
        params in prop::collection::vec(prop_oneof![Just(0u32), Just(1), any::<u32>()], PARAMS as usize),
    ) {
        let func = build(&blocks);
        prop_assert_eq!(verify(&func, Level::Built), Ok(()));
        for effort in [Effort::Clean, Effort::Light, Effort::Full] {
            let mut simple = func.clone();
            simplify(&mut simple, effort);
            prop_assert_eq!(verify(&simple, Level::Built), Ok(()), "in\n{}", simple);
            if let Some(expected) = run(&func, &params) {
                prop_assert_eq!(run(&simple, &params), Some(expected), "{}\nbecame\n{}", func, simple);
            }
        }
    }
}
