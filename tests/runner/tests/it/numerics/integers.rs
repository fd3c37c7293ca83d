//! Division and remainder of integers: exact, all ones for a division by zero.

use ptxc_semantics::{IntType, int};

use super::kernel::Instruction;
use super::operands::{Random, integer_edges, integer_pairs, random_cases};

const WIDTHS: [u32; 3] = [16, 32, 64];

/// The operation's name, its reference and whether its operands are signed.
type Operation = (&'static str, fn(IntType, u64, u64) -> u64, bool);
const OPERATIONS: [Operation; 4] = [
    ("div.u", int::div, false),
    ("rem.u", int::rem, false),
    ("div.s", int::div, true),
    ("rem.s", int::rem, true),
];

#[test]
fn division_and_remainder() {
    for bits in WIDTHS {
        let pairs = integer_pairs(bits);
        for (name, reference, signed) in OPERATIONS {
            let ty = IntType::new(bits, signed);
            let body = format!("{name}{bits} %d, %a, %b;");
            Instruction { body: &body, from: bits, to: bits }.check(&pairs, |[a, b, _]| reference(ty, a, b));
        }
    }
}

#[test]
fn quotient_and_remainder_together() {
    let body = "div.s32 %d, %a, %b; rem.s32 %c, %a, %b; xor.b32 %d, %d, %c;";
    Instruction { body, from: 32, to: 32 }.check(&integer_pairs(32), |[a, b, _]| {
        let ty = IntType::new(32, true);
        int::div(ty, a, b) ^ int::rem(ty, a, b)
    });
}

#[test]
fn constant_divisors() {
    for bits in WIDTHS {
        let mut random = Random(u64::from(bits) + 100);
        let mask = u64::MAX >> (64 - bits);
        let mut divisors = integer_edges(bits);
        divisors.extend([5, 6, 9, 12, 28, 100, 1000, 641 << 3, mask / 3].map(|divisor| divisor & mask));
        divisors.retain(|&divisor| divisor != 0);
        for divisor in divisors {
            let mut operands: Vec<[u64; 3]> = integer_edges(bits).into_iter().map(|a| [a; 3]).collect();
            operands.extend((0..random_cases() / 50).map(|_| [random.integer(bits); 3]));
            for multiple in [1, 2, 3, mask / divisor, mask / divisor / 2] {
                let near = multiple.wrapping_mul(divisor);
                operands.extend([near.wrapping_sub(1), near, near.wrapping_add(1)].map(|a| [a & mask; 3]));
            }
            for (name, reference, signed) in OPERATIONS {
                let ty = IntType::new(bits, signed);
                let written = ty.value(divisor);
                let body = format!("{name}{bits} %d, %a, {written};");
                Instruction { body: &body, from: bits, to: bits }
                    .check(&operands, |[a, ..]| reference(ty, a, divisor));
            }
        }
    }
}

#[test]
fn differences_of_bytes() {
    let differences =
        |a: u64, b: u64| (0..4).map(move |n| ((a >> (8 * n)) as u8).abs_diff((b >> (8 * n)) as u8));
    let pairs = integer_pairs(32);
    let body = "vabsdiff4.u32.u32.u32 %d, %a, %b, %c;";
    Instruction { body, from: 32, to: 32 }
        .check(&pairs, |[a, b, _]| differences(a, b).rev().fold(0, |word, byte| word << 8 | u64::from(byte)));
    let body = "vabsdiff4.u32.u32.u32.add %d, %a, %b, %b;";
    Instruction { body, from: 32, to: 32 }.check(&pairs, |[a, b, _]| {
        let sum = differences(a, b).fold(b as u32, |sum, byte| sum.wrapping_add(byte.into()));
        sum.into()
    });
}
