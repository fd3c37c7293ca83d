//! The conditions of comparisons.

use crate::memory::spelled;

spelled! {
    /// An integer comparison; the sign belongs to the comparison, not to the type.
    IntCond {
        /// Equal.
        Eq = "eq",
        /// Not equal.
        Ne = "ne",
        /// Signed less.
        Slt = "slt",
        /// Signed less or equal.
        Sle = "sle",
        /// Signed greater.
        Sgt = "sgt",
        /// Signed greater or equal.
        Sge = "sge",
        /// Unsigned less.
        Ult = "ult",
        /// Unsigned less or equal.
        Ule = "ule",
        /// Unsigned greater.
        Ugt = "ugt",
        /// Unsigned greater or equal.
        Uge = "uge",
    }
}

impl IntCond {
    /// The condition that holds exactly when this one does not.
    pub const fn negate(self) -> IntCond {
        match self {
            IntCond::Eq => IntCond::Ne,
            IntCond::Ne => IntCond::Eq,
            IntCond::Slt => IntCond::Sge,
            IntCond::Sle => IntCond::Sgt,
            IntCond::Sgt => IntCond::Sle,
            IntCond::Sge => IntCond::Slt,
            IntCond::Ult => IntCond::Uge,
            IntCond::Ule => IntCond::Ugt,
            IntCond::Ugt => IntCond::Ule,
            IntCond::Uge => IntCond::Ult,
        }
    }

    /// The condition with its operands exchanged.
    pub const fn swap(self) -> IntCond {
        match self {
            IntCond::Slt => IntCond::Sgt,
            IntCond::Sle => IntCond::Sge,
            IntCond::Sgt => IntCond::Slt,
            IntCond::Sge => IntCond::Sle,
            IntCond::Ult => IntCond::Ugt,
            IntCond::Ule => IntCond::Uge,
            IntCond::Ugt => IntCond::Ult,
            IntCond::Uge => IntCond::Ule,
            same => same,
        }
    }

    /// Whether it reads its operands as signed numbers.
    pub const fn is_signed(self) -> bool {
        matches!(self, IntCond::Slt | IntCond::Sle | IntCond::Sgt | IntCond::Sge)
    }
}

spelled! {
    /// A float comparison. If an operand is NaN, the conditions without `u` are false and those
    /// with `u` are true.
    FloatCond {
        /// Equal.
        Eq = "eq",
        /// Not equal.
        Ne = "ne",
        /// Less.
        Lt = "lt",
        /// Less or equal.
        Le = "le",
        /// Greater.
        Gt = "gt",
        /// Greater or equal.
        Ge = "ge",
        /// Equal or unordered.
        Equ = "equ",
        /// Not equal or unordered.
        Neu = "neu",
        /// Less or unordered.
        Ltu = "ltu",
        /// Less, equal or unordered.
        Leu = "leu",
        /// Greater or unordered.
        Gtu = "gtu",
        /// Greater, equal or unordered.
        Geu = "geu",
        /// Neither is NaN.
        Num = "num",
        /// One of them is NaN.
        Nan = "nan",
    }
}

impl FloatCond {
    /// The condition that holds exactly when this one does not.
    pub const fn negate(self) -> FloatCond {
        match self {
            FloatCond::Eq => FloatCond::Neu,
            FloatCond::Ne => FloatCond::Equ,
            FloatCond::Lt => FloatCond::Geu,
            FloatCond::Le => FloatCond::Gtu,
            FloatCond::Gt => FloatCond::Leu,
            FloatCond::Ge => FloatCond::Ltu,
            FloatCond::Equ => FloatCond::Ne,
            FloatCond::Neu => FloatCond::Eq,
            FloatCond::Ltu => FloatCond::Ge,
            FloatCond::Leu => FloatCond::Gt,
            FloatCond::Gtu => FloatCond::Le,
            FloatCond::Geu => FloatCond::Lt,
            FloatCond::Num => FloatCond::Nan,
            FloatCond::Nan => FloatCond::Num,
        }
    }

    /// The condition with its operands exchanged.
    pub const fn swap(self) -> FloatCond {
        match self {
            FloatCond::Lt => FloatCond::Gt,
            FloatCond::Le => FloatCond::Ge,
            FloatCond::Gt => FloatCond::Lt,
            FloatCond::Ge => FloatCond::Le,
            FloatCond::Ltu => FloatCond::Gtu,
            FloatCond::Leu => FloatCond::Geu,
            FloatCond::Gtu => FloatCond::Ltu,
            FloatCond::Geu => FloatCond::Leu,
            same => same,
        }
    }
}
