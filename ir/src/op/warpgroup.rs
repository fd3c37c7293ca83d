//! Products of the matrices of a warpgroup, four warps in a row, and values in flight.
//!
//! A product is asynchronous: its sums do not exist until a wait for its group, and the registers of
//! a may not change before. So registers are lent to products. [`lend`](super::Op::Lend) takes
//! values and gives them in registers that products may use; a product gives its sums, still lent;
//! [`settle`](super::Op::Settle) takes lent values after a wait and gives ordinary ones.
//!
//! ```text
//! v8, v9, … = lend.f32.x4 v4, v5, …
//! warpgroup_arrive
//! v12, … = warpgroup_product.m64n8k16.f32.f16.f16.add.f32 v1, v2, v8, …, v3
//! warpgroup_commit
//! warpgroup_wait 0
//! v16, … = settle.f32.x4 v12, …
//! ```

macro_rules! warpgroup_operations {
    ($then:ident $($later:ident)* { $($before:tt)* }) => { $then! { $($later)* { $($before)*
        /// `(v: T …) -> T …`: the values, in registers that products may use. Such values are
        /// *lent*: they are only for products, for [`Op::Settle`] and [`Op::Release`], and for
        /// parameters that are lent as well.
        Lend {
            /// The number of values.
            count: Count,
        } = "lend" [T count] [] MEMORY () -> (T; count.0) { ordered };
        /// `(v: T …) -> T …`: the values that lent registers have after all products with them are
        /// complete.
        Settle {
            /// The number of values.
            count: Count,
        } = "settle" [T count] [] MEMORY () -> (T; count.0) { ordered };
        /// `(v: T …)`: products with the lent values are complete. Their registers have been kept
        /// until here.
        Release {
            /// The number of values.
            count: Count,
        } = "release" [T count] [] MEMORY () -> () { ordered };
        /// `()`: earlier accesses to lent registers come before the following products.
        WarpgroupArrive = "warpgroup_arrive" [] [] NONE ()
            -> () { reads, writes, convergent, ordered };
        /// `(a: b64 or components, b: b64 [, components of c, accumulate: pred] [, places: b32]) ->
        /// components of d`: starts d = a · b + c, or a · b if `accumulate` does not hold. The
        /// [operands](crate::warpgroup::GroupParts) depend on the payload; components of a and c and
        /// the places are lent, and the components of d are. Components of c and d have the type `T`.
        WarpgroupProduct(product: GroupProduct) = "warpgroup_product" [product T] [] WORD ()
            -> (T; product.product.of_sum() as u8) { reads, convergent, ordered } slow;
        /// `()`: the products since the last commit are a group.
        WarpgroupCommit = "warpgroup_commit" [] [] NONE () -> () { reads, convergent, ordered };
        /// `()`: waits until at most the last `pending` groups are incomplete.
        WarpgroupWait {
            /// The number of groups.
            pending: Groups,
        } = "warpgroup_wait" [] [pending] NONE () -> () { reads, writes, convergent, ordered };
        /// `()`: the warps of the warpgroup go on with fewer registers a thread.
        ReturnRegisters {
            /// The number of registers.
            count: Groups,
        } = "return_registers" [] [count] NONE () -> () { convergent, ordered };
        /// `() -> pred`: asks for more registers a thread; whether there were enough.
        TryRegisters {
            /// The number of registers.
            count: Groups,
        } = "try_registers" [] [count] NONE () -> (Pred) { convergent, ordered };
    } } };
}
