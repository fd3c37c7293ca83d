//! Terminators: each block ends with one.

macro_rules! terminator_operations {
    ($then:ident $($later:ident)* { $($before:tt)* }) => { $then! { $($later)* { $($before)*
        /// 1 target: go to it.
        Jump = "jump" [] [] NONE () -> () { ordered } terminator;
        /// `(a: pred)`, 2 targets: the first if `a` holds, else the second.
        Branch {
            /// Whether PTX promises that all threads of the warp agree (`bra.uni`).
            uni: bool,
        } = "brif" [(uni)] [] NONE (Pred) -> () { ordered } terminator;
        /// `(m: b32)`, 2 targets: the first if all threads in the mask execute this together, else
        /// the second. The threads that execute it together all go the same way. Made by the gather
        /// pass.
        BranchTogether = "brtogether" [] [] NONE (B32) -> () { convergent, ordered } terminator;
        /// `(a: b32)`, n targets: the target of that number. A number without a target is undefined
        /// behaviour.
        Switch = "switch" [] [] NONE (B32) -> () { ordered } terminator;
        /// `(results of the function)`: return from a function.
        Return = "ret" [] [] NONE () -> () { ordered } terminator;
        /// End the thread.
        Exit = "exit" [] [] NONE () -> () { ordered } terminator;
        /// Raise an error that ends the grid.
        Trap = "trap" [] [] NONE () -> () { ordered, traps } terminator;
    } } };
}
