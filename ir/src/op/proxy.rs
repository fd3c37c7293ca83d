//! Fences between the ways to access memory.

use crate::memory::spelled;

spelled! {
    /// Between which ways to memory a proxy fence keeps accesses in order (PTX ISA, "Proxies"). Those that say
    /// less than a fence of the compiler's order need no instruction, and stay as that.
    Proxy {
        /// Between addresses that are other names of the same memory.
        Alias = "alias",
        /// Between accesses of the thread and asynchronous copies, in all memory.
        Async = "async",
        /// The same in global memory.
        AsyncGlobal = "async_global",
        /// The same in the CTA's shared memory.
        AsyncShared = "async_shared",
        /// The same in shared memory of the cluster.
        AsyncSharedCluster = "async_shared_cluster",
        /// Accesses of the thread to the CTA's shared memory come before asynchronous ones of the cluster.
        ReleaseShared = "release_shared",
        /// Asynchronous accesses to shared memory of the cluster come before what follows.
        AcquireSharedCluster = "acquire_shared_cluster",
        /// Mbarriers that the thread has made come before what other CTAs of the cluster do to them.
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
        /// `()`: the thread's writes to tensor maps are visible to threads that acquire the maps
        /// afterwards.
        TensormapRelease(scope: Scope) = "tensormap_release" [scope] [] NONE ()
            -> () { reads, writes, ordered };
    } } };
}
