//! The forms of the arguments of an instruction, as far as rules need them.
//!
//! No rule applies to most instructions. The operations that define the arguments tell which rules
//! might apply; the walk records them as it passes. A rule of an operation is tried only if an
//! argument has one of the [forms](Forms) that the rule starts from.

use std::ops::BitOr;

use cranelift_entity::EntityRef;
use ptxc_ir::{Op, Value};

/// A set of forms of arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Forms(u16);

impl Forms {
    /// A constant.
    pub(super) const CONSTANT: Forms = Forms(1 << 0);
    /// A select.
    pub(super) const CHOICE: Forms = Forms(1 << 1);
    /// A negation of an integer.
    const NEGATIVE: Forms = Forms(1 << 2);
    const SUM: Forms = Forms(1 << 3);
    const DIFFERENCE: Forms = Forms(1 << 4);
    const COMPLEMENT: Forms = Forms(1 << 5);
    const COMPARISON: Forms = Forms(1 << 6);
    /// A value whose width differs from that of its source.
    const RESIZED: Forms = Forms(1 << 7);
    /// Two halves joined, or one of two halves that were split.
    const PAIR: Forms = Forms(1 << 8);
    const CONJUNCTION: Forms = Forms(1 << 9);
    /// Two of the arguments are the same value.
    const TWICE: Forms = Forms(1 << 10);
    /// Every value.
    const ANY: Forms = Forms(1 << 11);

    /// The forms of the arguments of an instruction, given the forms of all values.
    pub(super) fn of_arguments(args: &[Value], of: &[Forms]) -> Forms {
        let is_twice = match *args {
            [a, b] => a == b,
            [_, b, c] => b == c,
            _ => false,
        };
        let start = if is_twice { Forms::ANY | Forms::TWICE } else { Forms::ANY };
        args.iter().fold(start, |forms, &arg| forms | of[arg.index()])
    }

    /// The form of the result of an operation.
    #[inline]
    pub(super) fn of_result(op: &Op) -> Forms {
        match op {
            Op::Const(_) => Forms::CONSTANT,
            Op::Select => Forms::CHOICE,
            Op::Ineg => Forms::NEGATIVE,
            Op::Iadd => Forms::SUM,
            Op::Isub => Forms::DIFFERENCE,
            Op::Not => Forms::COMPLEMENT,
            Op::Icmp(_) | Op::Fcmp { .. } => Forms::COMPARISON,
            Op::Zext | Op::Sext | Op::Trunc => Forms::RESIZED,
            Op::Pack | Op::Unpack => Forms::PAIR,
            Op::And => Forms::CONJUNCTION,
            _ => Forms(0),
        }
    }

    /// The forms from which rules of an operation start: if no argument has one of them, no rule
    /// applies.
    pub(super) fn wanted(op: &Op) -> Forms {
        let own = match op {
            Op::Iadd => Forms::NEGATIVE | Forms::DIFFERENCE,
            Op::Isub => Forms::TWICE | Forms::NEGATIVE | Forms::SUM,
            Op::Ineg => Forms::NEGATIVE | Forms::DIFFERENCE,
            Op::And | Op::Or | Op::Xor | Op::Select => Forms::TWICE | Forms::COMPLEMENT,
            Op::Not => Forms::COMPLEMENT | Forms::COMPARISON,
            Op::Icmp(_) | Op::Smin | Op::Smax | Op::Umin | Op::Umax => Forms::TWICE,
            Op::Zext => Forms::RESIZED,
            Op::Trunc => Forms::RESIZED | Forms::PAIR | Forms::CONJUNCTION,
            Op::Unpack => Forms::PAIR,
            Op::Pack => Forms::PAIR | Forms::RESIZED,
            Op::Sext | Op::Bitcast | Op::ToGeneric(_) | Op::FromGeneric(_) => Forms::ANY,
            _ => Forms(0),
        };
        own | Forms::CONSTANT | Forms::CHOICE
    }

    /// Whether both have a form in common.
    pub(super) fn meets(self, other: Forms) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for Forms {
    type Output = Forms;

    fn bitor(self, other: Forms) -> Forms {
        Forms(self.0 | other.0)
    }
}
