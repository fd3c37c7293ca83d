//! Computes both words of one product with one multiplication.
//!
//! ```text
//! v3 = umulh.b32 v1, v2
//! v4 = imul.b32 v2, v1         =>    v5 = umul_wide.b32 v1, v2
//!                                    v4, v3 = unpack.b64 v5
//! ```
//!
//! Both must be in one block; the product is computed at the place of the first. A low word that is
//! only used in an addition stays: selection turns it into a multiply-add at no extra cost. Linear,
//! except for the look-up of the factors.
use std::collections::BTreeMap;

use ptxc_ir::{Block, Function, Inst, Op, Type, Value};
use ptxc_machine::Arch;

use super::emitter::{rewrite, use_counts};

/// The block and the factors, the smaller one first.
type Key = (Block, Value, Value);

/// The products of two factors so far.
#[derive(Default)]
struct Words {
    low: bool,
    /// The high word; of the unsigned product if there are both.
    high: Option<Op>,
    /// Both words, once they have been computed.
    made: Option<(Value, Value)>,
}

/// Joins multiplications.
pub fn paired_products(func: &mut Function, _arch: Arch) -> bool {
    let only_added = only_added(func);
    let mut products: BTreeMap<Key, Words> = BTreeMap::new();
    for &block in &func.layout {
        for &inst in &func.blocks[block].insts {
            ptxc_interrupt::poll();
            let Some((key, op)) = factors(func, block, inst, &only_added) else { continue };
            let words = products.entry(key).or_default();
            match op {
                Op::Imul => words.low = true,
                Op::Umulh => words.high = Some(op),
                _ => words.high = words.high.or(Some(op)),
            }
        }
    }
    products.retain(|_, words| words.low && words.high.is_some());
    if products.is_empty() {
        return false;
    }
    rewrite(func, |emitter, inst| {
        let Some((key, op)) = factors(emitter.func, emitter.block, inst, &only_added) else { return false };
        let Some(words) = products.get_mut(&key).filter(|words| op == Op::Imul || words.high == Some(op))
        else {
            return false;
        };
        let (low, high) = *words.made.get_or_insert_with(|| {
            let wide = if words.high == Some(Op::Umulh) { Op::UmulWide } else { Op::SmulWide };
            let product = emitter.value(wide, Type::B32, &[key.1, key.2]);
            emitter.pair(Op::Unpack, Type::B64, &[product])
        });
        let result = emitter.func.result(inst);
        emitter.rename(result, if op == Op::Imul { low } else { high });
        true
    })
}

/// The factors of a word of a product of 32-bit numbers and which word it is, if it can be joined.
fn factors(func: &Function, block: Block, inst: Inst, only_added: &[bool]) -> Option<(Key, Op)> {
    let data = &func.insts[inst];
    let joins = match data.op {
        Op::Imul => !only_added[func.result(inst).as_u32() as usize],
        Op::Umulh | Op::Smulh => true,
        _ => false,
    };
    if !joins || data.ty != Type::B32 {
        return None;
    }
    let (a, b) = (data.args[0], data.args[1]);
    Some(((block, a.min(b), a.max(b)), data.op))
}

/// The values whose only use is in a 32-bit sum.
fn only_added(func: &Function) -> Vec<bool> {
    let counts = use_counts(func);
    let mut added = vec![false; func.num_values()];
    for &block in &func.layout {
        for &inst in &func.blocks[block].insts {
            ptxc_interrupt::poll();
            let data = &func.insts[inst];
            if matches!(data.op, Op::Iadd | Op::Isub) && data.ty == Type::B32 {
                for &arg in &data.args {
                    let index = arg.as_u32() as usize;
                    added[index] = counts[index] == 1;
                }
            }
        }
    }
    added
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::legalize::emitter::tests::{Build, ops};

    fn count(func: &Function, op: Op) -> usize {
        ops(func).iter().filter(|other| **other == op).count()
    }

    #[test]
    fn high_and_low_word_are_one_product() {
        for (high, wide) in [(Op::Umulh, Op::UmulWide), (Op::Smulh, Op::SmulWide)] {
            let mut b = Build::new();
            let x = b.value(Op::Param { offset: 0 }, Type::B32, &[]);
            let y = b.value(Op::Param { offset: 4 }, Type::B32, &[]);
            let high_word = b.value(high, Type::B32, &[x, y]);
            let low_word = b.value(Op::Imul, Type::B32, &[y, x]);
            let both = b.inst(Op::Xor, Type::B32, &[high_word, low_word]);
            let mut func = b.finish();
            assert!(paired_products(&mut func, Arch::Sm90));
            assert_eq!((count(&func, wide), count(&func, Op::Imul), count(&func, high)), (1, 0, 0));
            let words = func.insts[both].args.clone();
            let unpack = func.layout.iter().flat_map(|&block| &func.blocks[block].insts);
            let unpack = unpack.copied().find(|&inst| func.insts[inst].op == Op::Unpack).expect("an unpack");
            assert_eq!(func.results(unpack), [words[1], words[0]]);
        }
    }

    #[test]
    fn a_low_word_that_is_only_added_stays() {
        let mut b = Build::new();
        let x = b.value(Op::Param { offset: 0 }, Type::B32, &[]);
        b.value(Op::Umulh, Type::B32, &[x, x]);
        let low = b.value(Op::Imul, Type::B32, &[x, x]);
        b.value(Op::Iadd, Type::B32, &[low, x]);
        assert!(!paired_products(&mut b.finish(), Arch::Sm90));
    }
}
