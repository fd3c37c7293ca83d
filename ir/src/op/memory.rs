//! Accesses to memory, fences and generic addresses.

macro_rules! memory_operations {
    ($then:ident $($later:ident)* { $($before:tt)* }) => { $then! { $($later)* { $($before)*
        /// `(a: address) -> T × lanes`: load. `T` is at least as wide as the element.
        Load(access: Access) = "load" [access T] [] MEMORY (Address)
            -> (T; access.lanes) { reads: access.reads_mutable(), ordered: access.is_strong() };
        /// `(a: address, T × lanes)`: store of the low bits of each value.
        Store(access: Access) = "store" [access T] [] MEMORY (Address) -> () { writes, ordered };
        /// `(a: address, b: T × lanes [, c: T]) -> T × lanes`: atomic update that returns the old
        /// value; `c` for `cas`. Each element of a vector is updated atomically on its own. The
        /// elements of a vector are floats, and vectors have no `cas`.
        Atomic {
            /// The update.
            op: AtomicOp,
            /// Where and how memory is accessed.
            access: Access,
        } = "atomic" [op access T] [] MEMORY (Address, T)
            -> (T; access.lanes) { reads, writes, ordered };
        /// `(a: address, b: T × lanes)`: atomic update without a result.
        Red {
            /// The update.
            op: AtomicOp,
            /// Where and how memory is accessed.
            access: Access,
        } = "red" [op access T] [] MEMORY (Address, T) -> () { writes, ordered };
        /// `(a: generic or cluster address, b: T [, c: T]) -> T, pred`: atomic update if the memory
        /// at the address can do it. The results are the old value and whether the update was done.
        /// If it was not done, memory has not changed, and the old value is meaningless. Made by
        /// legalization.
        TryAtomic {
            /// The update.
            op: AtomicOp,
            /// Where and how memory is accessed.
            access: Access,
        } = "try_atomic" [op access T] [] MEMORY (Address, T)
            -> (T, Pred) { reads, writes, ordered };
        /// `(a: address) -> T × lanes`: reads a multicast address, which stands for a place in the
        /// memory of each of several devices, and combines what is there.
        LoadReduce {
            /// How two values are combined.
            op: AtomicOp,
            /// Whether halves are added as binary32, and only the sum is rounded.
            wide: bool,
            /// Where and how memory is accessed.
            access: Access,
        } = "load_reduce" [op (wide) access T] [] MEMORY (Address) -> (T; access.lanes) { reads, ordered };
        /// `()`: memory fence.
        Fence {
            /// How strong the fence is.
            order: Order,
            /// The threads that observe the order.
            scope: Scope,
        } = "fence" [order scope] [] NONE () -> () { reads, writes, ordered };
        /// `(a: address in the space) -> b64`: as a generic address.
        ToGeneric(space: Space) = "to_generic" [space] [] NONE (Address) -> (B64) {};
        /// `(a: b64) -> address in the space`: a generic address that lies in the space.
        FromGeneric(space: Space) = "from_generic" [space] [] NONE (B64)
            -> [Results::One(space.address_type())] {};
        /// `(a: b64) -> b64`: a cache policy that accesses can name. The machine has one policy for
        /// the warp. If the threads' policies differ, any of them may be used, because a policy is
        /// only a hint.
        CachePolicy = "cache_policy" [] [] NONE (B64) -> (B64) {} slow;
        /// `(a: b64, b: b64) -> b64`: the global or generic address `a`. Accesses to the result
        /// follow the [policy](Op::CachePolicy) `b`, which changes no value.
        CacheHint = "cache_hint" [] [] NONE (B64, B64) -> (B64) {};
        /// `(a: address in the space)`: moves the line at the address between the caches. Only
        /// [`LineAction::Discard`] changes what a load returns.
        CacheLine {
            /// What happens to the line.
            action: LineAction,
            /// The space of the address.
            space: Space,
        } = "cache_line" [action space] [] NONE (Address)
            -> () { reads, writes: matches!(action, LineAction::Discard), ordered };
        /// `(a: b64) -> pred`: whether a generic address lies in the space.
        IsSpace(space: Space) = "is_space" [space] [] NONE (B64) -> (Pred) {};
    } } };
}
