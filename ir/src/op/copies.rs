//! Asynchronous copies.

macro_rules! copies_operations {
    ($then:ident $($later:ident)* { $($before:tt)* }) => { $then! { $($later)* { $($before)*
        /// `(a: b64, b: b32, n: b32)`: copies an element asynchronously from global memory at `a`
        /// to shared memory at `b`: its first `n` bytes, followed by zeros.
        AsyncCopy {
            /// The element in global memory.
            access: Access,
            /// How much is brought into the second-level cache.
            prefetch: Prefetch,
        } = "async_copy" [access prefetch] [] NONE (Address, B32, B32)
            -> () { reads, writes, ordered };
        /// `(a: b64, b: b32, p: pred)`: copies the whole element asynchronously, or only zeros if
        /// `p` does not hold. Made by legalization.
        AsyncFill {
            /// The element in global memory.
            access: Access,
            /// How much is brought into the second-level cache.
            prefetch: Prefetch,
            /// Whether the address is that of the element plus the number of zeros at its end.
            zfill: bool,
        } = "async_fill" [access prefetch (zfill)] [] NONE (Address, B32, Pred)
            -> () { reads, writes, ordered };
        /// `(a: b32)`: arrives at an mbarrier once the thread's earlier copies are complete.
        /// Without `noinc` the phase expects one more arrival for it.
        AsyncArrive {
            /// Whether the phase already expects this arrival (PTX `.noinc`).
            noinc: bool,
        } = "async_arrive" [(noinc)] [] NONE (B32) -> () { reads, writes, ordered };
        /// `()`: the thread's copies since the last commit are a group.
        AsyncCommit = "async_commit" [] [] NONE () -> () { reads, writes, ordered };
        /// `(n: b32)`: waits until at most the last `n` groups of the thread are incomplete.
        AsyncWait = "async_wait" [] [] NONE (B32) -> () { reads, writes, ordered };
        /// `()`: waits for all copies of the thread.
        AsyncWaitAll = "async_wait_all" [] [] NONE () -> () { reads, writes, ordered };
        /// `(a: b32, b: b64, n: b32, c: b32)`: copies `n` bytes asynchronously from global memory
        /// at `b` to shared memory at `a`, and tells the mbarrier at `c`. With `multicast` there is
        /// a set of CTAs of the cluster (`b32`) after them, and each of them gets the bytes at the
        /// same place, and has its own mbarrier told.
        BulkLoad {
            /// Whether CTAs of the cluster get the bytes.
            multicast: bool,
        } = "bulk_load" [(multicast)] [] NONE (B32, B64, B32, B32) -> () { reads, writes, ordered };
        /// `(a: b64, b: b32, n: b32)`: copies `n` bytes asynchronously from shared memory at `b` to
        /// global memory at `a`.
        BulkStore = "bulk_store" [] [] NONE (B64, B32, B32) -> () { reads, writes, ordered };
        /// `(a: b32, b: b32, n: b32, c: b32)`: copies `n` bytes asynchronously from the CTA's
        /// shared memory at `b` to shared memory of the cluster at `a`, and tells the mbarrier at
        /// `c`.
        BulkShare = "bulk_share" [] [] NONE (B32, B32, B32, B32) -> () { reads, writes, ordered };
        /// `(a: b64, b: b32, n: b32)`: combines `n` bytes of shared memory at `b` asynchronously with
        /// global memory at `a`, element by element. The update of an element is atomic.
        BulkRed {
            /// The update.
            op: AtomicOp,
            /// Whether the address is a multicast address.
            multicast: bool,
        } = "bulk_red" [op (multicast) T] [] MEMORY (B64, B32, B32) -> () { reads, writes, ordered };
        /// `(a: b32, b: b32, n: b32, c: b32)`: combines `n` bytes of the CTA's shared memory at `b`
        /// asynchronously with shared memory of the cluster at `a`, element by element, and tells
        /// the mbarrier at `c`. The update of an element is atomic.
        BulkShareRed {
            /// The update.
            op: AtomicOp,
        } = "bulk_share_red" [op T] [] WORDS (B32, B32, B32, B32) -> () { reads, writes, ordered };
        /// `(a: b32, c: b32, m: b64, x: b32 …)`: copies the box at the coordinates `x`, the
        /// innermost first, of the tensor that the tensor map at `m` describes, asynchronously to
        /// shared memory at `a`, and tells the mbarrier at `c`. With `im2col` the offsets of the
        /// pixels are packed into a word after the coordinates; with `multicast` a set of CTAs
        /// follows, as in [`BulkLoad`](super::Op::BulkLoad).
        TensorLoad {
            /// The box.
            tile: TensorBox,
            /// Whether CTAs of the cluster get the box.
            multicast: bool,
        } = "tensor_load" [tile (multicast)] [] NONE (B32, B32, B64) -> () { reads, writes, ordered };
        /// `(b: b32, m: b64, x: b32 …)`: copies a box asynchronously from shared memory at `b` to the
        /// tensor that the tensor map at `m` describes.
        TensorStore(tile: TensorBox) = "tensor_store" [tile] [] NONE (B32, B64)
            -> () { reads, writes, ordered };
        /// `(b: b32, m: b64, x: b32 …)`: combines a box in shared memory at `b` asynchronously with
        /// one of the tensor that the tensor map at `m` describes. The update of an element is atomic.
        TensorRed {
            /// The update.
            op: TensorUpdate,
            /// The box.
            tile: TensorBox,
        } = "tensor_red" [op tile] [] NONE (B32, B64) -> () { reads, writes, ordered };
        /// `(m: b64, x: b32 …)`: brings a box of a tensor into the second-level cache: a hint. The
        /// operands are as in [`TensorLoad`](super::Op::TensorLoad).
        TensorPrefetch(tile: TensorBox) = "tensor_prefetch" [tile] [] NONE (B64)
            -> () { reads, writes, ordered };
        /// `(a: b32, c: b32, v: T …)`: stores one, two or four values asynchronously to shared
        /// memory of the cluster at `a`, and tells the mbarrier at `c`.
        RemoteStore = "remote_store" [T] [] WORDS (B32, B32, T) -> () { reads, writes, ordered };
        /// `(a: b32, c: b32, v: T)`: updates shared memory of the cluster at `a` asynchronously, and
        /// tells the mbarrier at `c`. The update is atomic.
        RemoteRed {
            /// The update.
            op: AtomicOp,
        } = "remote_red" [op T] [] WORDS (B32, B32, T) -> () { reads, writes, ordered };
        /// `(a: b64, n: b32)`: brings `n` bytes of global memory at `a` into the second-level
        /// cache: a hint.
        BulkPrefetch = "bulk_prefetch" [] [] NONE (B64, B32) -> () { reads, writes, ordered };
        /// `()`: the thread's bulk stores since the last commit are a group.
        BulkCommit = "bulk_commit" [] [] NONE () -> () { reads, writes, ordered };
        /// `(n: b32)`: waits until at most the last `n` groups of bulk stores of the thread are
        /// incomplete.
        BulkWait {
            /// Whether it is enough that the sources have been read.
            read: bool,
        } = "bulk_wait" [(read)] [] NONE (B32) -> () { reads, writes, ordered };
    } } };
}
