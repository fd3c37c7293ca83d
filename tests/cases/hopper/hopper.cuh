// Thin wrappers around the PTX instructions of Hopper that the kernels of this folder share.
// No header of CUDA is needed, so the PTX depends on nothing but this text.
#pragma once

using u32 = unsigned int;
using u64 = unsigned long long;

// The 128 opaque bytes of a tensor map, as a parameter of a kernel.
struct alignas(64) TensorMap {
    u64 words[16];
};

__device__ __forceinline__ u32 shared_address(const void* pointer) {
    return static_cast<u32>(__cvta_generic_to_shared(pointer));
}

// The hardware needs 1024-byte alignment for the pattern of a 128-byte swizzle.
__device__ __forceinline__ u32 align_1024(u32 address) { return (address + 1023) & ~1023u; }

__device__ __forceinline__ bool elect_one() {
    u32 elected;
    asm volatile(
        "{\n.reg .pred p;\n"
        "elect.sync _|p, 0xffffffff;\n"
        "selp.u32 %0, 1, 0, p;\n}\n"
        : "=r"(elected));
    return elected != 0;
}

// A shuffle tells the compiler that the index is the same in all lanes of a warp.
__device__ __forceinline__ int warp_uniform(int value) {
    return __shfl_sync(0xffffffff, value, 0);
}

template <int REGISTERS>
__device__ __forceinline__ void grow_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;\n" ::"n"(REGISTERS));
}

template <int REGISTERS>
__device__ __forceinline__ void shrink_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;\n" ::"n"(REGISTERS));
}

// ---- mbarriers ----

__device__ __forceinline__ void barrier_init(u32 barrier, u32 arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(barrier), "r"(arrivals) : "memory");
}

// Makes the initial state of barriers visible to the copies and to the other CTAs of a cluster.
__device__ __forceinline__ void publish_barriers() {
    asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory");
    asm volatile("fence.proxy.async;\n" ::: "memory");
}

__device__ __forceinline__ void barrier_arrive(u32 barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];\n" ::"r"(barrier) : "memory");
}

__device__ __forceinline__ void barrier_expect(u32 barrier, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

__device__ __forceinline__ void barrier_wait(u32 barrier, u32 parity) {
    u32 done;
    do {
        asm volatile(
            "{\n.reg .pred p;\n"
            "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
            "selp.u32 %0, 1, 0, p;\n}\n"
            : "=r"(done)
            : "r"(barrier), "r"(parity)
            : "memory");
    } while (!done);
}

// The same for a barrier at which threads of other CTAs arrive.
__device__ __forceinline__ void barrier_wait_cluster(u32 barrier, u32 parity) {
    u32 done;
    do {
        asm volatile(
            "{\n.reg .pred p;\n"
            "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
            "selp.u32 %0, 1, 0, p;\n}\n"
            : "=r"(done)
            : "r"(barrier), "r"(parity)
            : "memory");
    } while (!done);
}

// ---- clusters ----

// The address of the same place in the shared memory of another CTA of the cluster.
__device__ __forceinline__ u32 address_at(u32 address, u32 rank) {
    u32 there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;\n" : "=r"(there) : "r"(address), "r"(rank));
    return there;
}

// Stores to another CTA, whose barrier counts the bytes.
__device__ __forceinline__ void send(u32 there, const float* values, u32 barrier_there) {
    asm volatile(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, "
        "[%5];\n" ::"r"(there),
        "f"(values[0]), "f"(values[1]), "f"(values[2]), "f"(values[3]), "r"(barrier_there)
        : "memory");
}

__device__ __forceinline__ u32 cluster_rank() {
    u32 rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;\n" : "=r"(rank));
    return rank;
}

__device__ __forceinline__ void cluster_sync() {
    asm volatile(
        "barrier.cluster.arrive.release.aligned;\n"
        "barrier.cluster.wait.acquire.aligned;\n" ::
            : "memory");
}

// Arrives at the same barrier in another CTA of the cluster.
__device__ __forceinline__ void barrier_arrive_at(u32 barrier, u32 rank) {
    asm volatile(
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];\n" ::"r"(address_at(barrier, rank))
        : "memory");
}

// ---- named barriers ----

template <int THREADS>
__device__ __forceinline__ void named_sync(int id) {
    asm volatile("bar.sync %0, %1;\n" ::"r"(id), "n"(THREADS) : "memory");
}

template <int THREADS>
__device__ __forceinline__ void named_arrive(int id) {
    asm volatile("bar.arrive %0, %1;\n" ::"r"(id), "n"(THREADS) : "memory");
}

// ---- tensor copies ----

__device__ __forceinline__ void prefetch_map(const TensorMap& map) {
    asm volatile("prefetch.tensormap [%0];\n" ::"l"(&map) : "memory");
}

__device__ __forceinline__ u64 policy_keep() {
    u64 policy;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;\n" : "=l"(policy));
    return policy;
}

__device__ __forceinline__ u64 policy_stream() {
    u64 policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;\n" : "=l"(policy));
    return policy;
}

__device__ __forceinline__ void copy_in(u32 to, const TensorMap& map, int x, int y, u32 barrier,
                                        u64 policy) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5;\n" ::"r"(to),
        "l"(&map), "r"(x), "r"(y), "r"(barrier), "l"(policy)
        : "memory");
}

// Copies to the same place in all CTAs of the cluster that `ranks` selects.
__device__ __forceinline__ void copy_in_all(u32 to, const TensorMap& map, int x, int y, u32 barrier,
                                            unsigned short ranks, u64 policy) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster.L2::cache_hint [%0], [%1, {%2, %3}], [%4], %5, %6;\n" ::"r"(to),
        "l"(&map), "r"(x), "r"(y), "r"(barrier), "h"(ranks), "l"(policy)
        : "memory");
}

__device__ __forceinline__ void copy_out(const TensorMap& map, int x, int y, u32 from) {
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];\n" ::"l"(&map),
        "r"(x), "r"(y), "r"(from)
        : "memory");
}

__device__ __forceinline__ void commit_copies() {
    asm volatile("cp.async.bulk.commit_group;\n" ::: "memory");
}

// Waits until the sources of the copies may be written again.
__device__ __forceinline__ void wait_copies_read() {
    asm volatile("cp.async.bulk.wait_group.read 0;\n" ::: "memory");
}

__device__ __forceinline__ void wait_copies() {
    asm volatile("cp.async.bulk.wait_group 0;\n" ::: "memory");
}

// Orders ordinary writes to shared memory before a copy that reads them.
__device__ __forceinline__ void fence_for_copies() {
    asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
}

// ---- ordinary accesses to shared memory ----

__device__ __forceinline__ float load_shared(u32 address) {
    float value;
    asm volatile("ld.shared.f32 %0, [%1];\n" : "=f"(value) : "r"(address) : "memory");
    return value;
}

__device__ __forceinline__ void store_shared(u32 address, float value) {
    asm volatile("st.shared.f32 [%0], %1;\n" ::"r"(address), "f"(value) : "memory");
}

// ---- functions ----

__device__ __forceinline__ float exp2_of(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;\n" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ float log2_of(float x) {
    float y;
    asm("lg2.approx.ftz.f32 %0, %1;\n" : "=f"(y) : "f"(x));
    return y;
}

// ---- wgmma ----

// A descriptor for rows of 128 bytes, swizzled over 8 rows: the next 8 rows are 1024 bytes away.
// A transposed operand that is wider than 128 bytes has its next columns `wide` bytes away.
__device__ __forceinline__ u64 descriptor_128(u32 address, u32 wide = 16) {
    return u64((address & 0x3ffff) >> 4) | u64(wide >> 4) << 16 | u64(1024 >> 4) << 32 | u64(1) << 62;
}

__device__ __forceinline__ void wgmma_begin() {
    asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
}

__device__ __forceinline__ void wgmma_commit() {
    asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
}

template <int PENDING>
__device__ __forceinline__ void wgmma_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(PENDING) : "memory");
}

// Keeps the compiler from moving uses of the registers across an asynchronous product.
template <int COUNT>
__device__ __forceinline__ void pin(float (&values)[COUNT]) {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) asm volatile("" : "+f"(values[i])::"memory");
}

// Operands of an asm statement: 8 floats of an array.
#define FLOATS_8(d, i)                                                                         \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
        "+f"(d[i + 6]), "+f"(d[i + 7])
#define NAMES_32                                                                            \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                 \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define NAMES_48                                                                            \
    NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39, "                                    \
    "%40, %41, %42, %43, %44, %45, %46, %47"
#define NAMES_64                                                                            \
    NAMES_48 ", %48, %49, %50, %51, %52, %53, %54, %55, "                                    \
    "%56, %57, %58, %59, %60, %61, %62, %63"
#define NAMES_80                                                                            \
    NAMES_64 ", %64, %65, %66, %67, %68, %69, %70, %71, "                                    \
    "%72, %73, %74, %75, %76, %77, %78, %79"

// ---- results to shared memory ----

// Two floats as halves or bf16, the first in the low 16 bits.
__device__ __forceinline__ u32 pack_half(float low, float high) {
    u32 packed;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;\n" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
}

__device__ __forceinline__ u32 pack_bf16(float low, float high) {
    u32 packed;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;\n" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
}

// The same for matrices whose columns are rows in memory.
__device__ __forceinline__ void store_columns(u32 address, u32 a, u32 b, u32 c, u32 d) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};\n" ::"r"(
                     address),
                 "r"(a), "r"(b), "r"(c), "r"(d)
                 : "memory");
}

__device__ __forceinline__ void store_matrices(u32 address, u32 a, u32 b, u32 c, u32 d) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};\n" ::"r"(address),
                 "r"(a), "r"(b), "r"(c), "r"(d)
                 : "memory");
}
