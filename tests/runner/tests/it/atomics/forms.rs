//! The table of scalar updates: operations, their types and effects, and operands for them.

use ptxc_machine::Arch;
use ptxc_semantics::{BF16, F16, F32, F64, IntType, Mode, float, int, packed};

/// The type of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ty {
    /// Its name in PTX.
    pub name: &'static str,
    /// Its size.
    pub bits: u32,
}

impl Ty {
    /// Whether it is a float or a pair of them.
    pub fn is_float(self) -> bool {
        self.name.starts_with('f') || self.name.starts_with("bf")
    }

    fn integer(self) -> IntType {
        IntType::new(self.bits, self.name.starts_with('s'))
    }
}

/// A form of `red` or `atom`, without memory, order and scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Whether it is `atom`, which returns the old content.
    pub gives_old: bool,
    /// The operation, without `.noftz`.
    pub op: &'static str,
    /// The type.
    pub ty: Ty,
}

const BITS: &[Ty] = &[Ty { name: "b32", bits: 32 }, Ty { name: "b64", bits: 64 }];
const WORD: &[Ty] = &[Ty { name: "u32", bits: 32 }];
const EXTREMES: &[Ty] = &[
    Ty { name: "u32", bits: 32 },
    Ty { name: "s32", bits: 32 },
    Ty { name: "u64", bits: 64 },
    Ty { name: "s64", bits: 64 },
];
const SUMS: &[Ty] = &[
    Ty { name: "u32", bits: 32 },
    Ty { name: "s32", bits: 32 },
    Ty { name: "u64", bits: 64 },
    Ty { name: "f32", bits: 32 },
    Ty { name: "f64", bits: 64 },
    Ty { name: "f16", bits: 16 },
    Ty { name: "f16x2", bits: 32 },
    Ty { name: "bf16", bits: 16 },
    Ty { name: "bf16x2", bits: 32 },
];
const EXCHANGES: &[Ty] =
    &[Ty { name: "b32", bits: 32 }, Ty { name: "b64", bits: 64 }, Ty { name: "b128", bits: 128 }];
const COMPARED: &[Ty] = &[
    Ty { name: "b16", bits: 16 },
    Ty { name: "b32", bits: 32 },
    Ty { name: "b64", bits: 64 },
    Ty { name: "b128", bits: 128 },
];

const OPERATIONS: &[(&str, &[Ty])] = &[
    ("and", BITS),
    ("or", BITS),
    ("xor", BITS),
    ("add", SUMS),
    ("inc", WORD),
    ("dec", WORD),
    ("min", EXTREMES),
    ("max", EXTREMES),
    ("exch", EXCHANGES),
    ("cas", COMPARED),
];

/// Every form of PTX on an architecture.
pub fn forms(arch: Arch) -> Vec<Form> {
    let exists = |ty: &Ty| arch == Arch::Sm90 || !(ty.name.starts_with("bf") || ty.bits == 128);
    let typed = OPERATIONS.iter().flat_map(|&(op, types)| types.iter().map(move |&ty| (op, ty)));
    typed
        .filter(|(_, ty)| exists(ty))
        .flat_map(|(op, ty)| [true, false].map(|gives_old| Form { gives_old, op, ty }))
        .filter(|form| form.gives_old || !form.is_swap())
        .collect()
}

impl Form {
    /// Whether it stores an operand unchanged.
    pub fn is_swap(&self) -> bool {
        matches!(self.op, "exch" | "cas")
    }

    /// Modifiers after the memory.
    pub fn modifiers(&self) -> String {
        let exact = if self.ty.is_float() && !self.ty.name.ends_with("32") && !self.ty.name.ends_with("64") {
            ".noftz"
        } else {
            ""
        };
        format!("{}{exact}.{}", self.op, self.ty.name)
    }

    /// The new content of a location, from the old content.
    pub fn apply(&self, old: u128, a: u128, b: u128) -> u128 {
        if self.is_swap() {
            return match self.op {
                "exch" => a,
                _ if old == a => b,
                _ => old,
            };
        }
        let (ty, old, a) = (self.ty.integer(), old as u64, a as u64);
        let mode = Mode::IEEE;
        let new = match (self.op, self.ty.name) {
            ("add", "f32") => float::add(F32, old, a, mode),
            ("add", "f64") => float::add(F64, old, a, mode),
            ("add", "f16") => float::add(F16, old, a, mode),
            ("add", "bf16") => float::add(BF16, old, a, mode),
            ("add", "f16x2") => packed::add(F16, old as u32, a as u32, mode).into(),
            ("add", "bf16x2") => packed::add(BF16, old as u32, a as u32, mode).into(),
            ("add", _) => int::add(ty, old, a),
            ("min", _) => int::min(ty, old, a),
            ("max", _) => int::max(ty, old, a),
            ("inc", _) => int::increment(ty, old, a),
            ("dec", _) => int::decrement(ty, old, a),
            ("and", _) => old & a,
            ("or", _) => old | a,
            _ => old ^ a,
        };
        new.into()
    }

    /// An operand or initial content from random bits. Floats are small integers, whose sums are
    /// exact. Numbers that are compared and limits of counters are small, so that matches occur. A
    /// counter without a result has one limit, so that the order does not matter.
    pub fn operand(&self, random: u128) -> u128 {
        let small = (random >> 7) as usize % 4;
        let half = |ones: &[u128; 4]| ones[small] | ones[(random >> 11) as usize % 4] << 16;
        let f16 = [0, 0x3c00, 0x4000, 0x4200];
        let bf16 = [0, 0x3f80, 0x4000, 0x4040];
        match (self.op, self.ty.name) {
            ("inc" | "dec", _) if !self.gives_old => 5,
            ("inc" | "dec", _) => random >> 9 & 7,
            ("cas", _) => small as u128 | (small as u128) << (self.ty.bits - 8),
            (_, "f32") => (small as f32).to_bits().into(),
            (_, "f64") => (small as f64).to_bits().into(),
            (_, "f16") => f16[small],
            (_, "bf16") => bf16[small],
            (_, "f16x2") => half(&f16),
            (_, "bf16x2") => half(&bf16),
            _ => random & (u128::MAX >> (128 - self.ty.bits)),
        }
    }
}
