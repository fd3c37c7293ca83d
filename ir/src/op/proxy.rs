//! Fences between the ways to access memory.

use crate::memory::spelled;

spelled! {
    /// The kinds of accesses that a proxy fence keeps in order (PTX ISA, "Proxies"). A proxy fence
    /// that is weaker than a fence of the compiler's order needs no instruction and is kept as a
    /// compiler fence.
    Proxy {
        /// Accesses through different addresses of the same memory.
        Alias = "alias",
        /// Accesses of the thread and asynchronous copies, in all memory.
        Async = "async",
        /// Accesses of the thread and asynchronous copies, in global memory.
        AsyncGlobal = "async_global",
        /// Accesses of the thread and asynchronous copies, in the CTA's shared memory.
        AsyncShared = "async_shared",
        /// Accesses of the thread and asynchronous copies, in shared memory of the cluster.
        AsyncSharedCluster = "async_shared_cluster",
        /// Accesses of the thread to the CTA's shared memory precede asynchronous accesses of the
        /// cluster.
        ReleaseShared = "release_shared",
        /// Asynchronous accesses to shared memory of the cluster precede later operations.
        AcquireSharedCluster = "acquire_shared_cluster",
        /// The initialization of mbarriers by the thread precedes operations of the cluster's other
        /// CTAs on them.
        MbarrierInit = "mbarrier_init",
    }
}

macro_rules! proxy_operations {
    ($then:ident $($later:ident)* { $($before:tt)* }) => { $then! { $($later)* { $($before)*
        /// `()`: keeps accesses by different proxies in order.
        ProxyFence(proxy: Proxy) = "proxy_fence" [proxy] [] NONE ()
            -> () { reads, writes, ordered };
        /// `(a: b64)`: the hardware reads the tensor map of 128 bytes at the generic address again.
        /// The order is an acquire at the scope.
        TensormapAcquire(scope: Scope) = "tensormap_acquire" [scope] [] NONE (B64)
            -> () { reads, writes, ordered };
        /// `(a: b64)`: the hardware reads the tensor map at the generic address into its cache: a
        /// hint.
        TensormapPrefetch = "tensormap_prefetch" [] [] NONE (B64) -> () { reads, ordered };
        /// `()`: the thread's writes to tensor maps are visible to threads that acquire the maps
        /// afterwards.
        TensormapRelease(scope: Scope) = "tensormap_release" [scope] [] NONE ()
            -> () { reads, writes, ordered };
    } } };
}
