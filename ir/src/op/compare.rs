//! Comparisons and selection.

macro_rules! compare_operations {
    ($then:ident $($later:ident)* { $($before:tt)* }) => { $then! { $($later)* { $($before)*
        /// `(a: T, b: T) -> pred`: integer comparison.
        Icmp(cond: IntCond) = "icmp" [cond T] [] INT (T, T) -> (Pred) {};
        /// `(a: T, b: T) -> pred`: float comparison.
        Fcmp {
            /// The comparison.
            cond: FloatCond,
            /// Whether subnormals become zero.
            ftz: bool,
        } = "fcmp" [cond T (ftz)] [] FLOAT (T, T) -> (Pred) {};
        /// `(a: T, b: T) -> pred, pred`: comparison of the low halves and of the high ones.
        FcmpPair {
            /// The comparison.
            cond: FloatCond,
            /// Whether subnormals become zero.
            ftz: bool,
        } = "fcmp_pair" [cond T (ftz)] [] HALF_PAIR (T, T) -> (Pred, Pred) {};
        /// `(a: T, b: T) -> T`: each half is true where the comparison of the halves holds, else
        /// zero.
        Fset {
            /// The comparison.
            cond: FloatCond,
            /// Whether subnormals become zero.
            ftz: bool,
            /// Whether true is all bits set, instead of the number 1.
            ones: bool,
        } = "fset" [cond T (ftz) (ones)] [] HALF_PAIR (T, T) -> (T) {};
        /// `(a: pred, b: T, c: T) -> T`: `a ? b : c`, also of predicates.
        Select = "select" [T] [] ANY (Pred, T, T) -> (T) {};
    } } };
}
