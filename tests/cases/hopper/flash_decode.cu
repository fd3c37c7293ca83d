// Attention of one query per sequence, as when a model writes text: 16 heads of queries share one
// head of keys and values, which are in pages of 64 keys anywhere in a pool.
//
// A cluster of four CTAs has a sequence, and each CTA a part of its pages. The products are turned:
// the keys are the 64 rows that wgmma always has, and the heads are the columns, so S^T = K Q^T and
// O^T = V^T P^T. The weights P^T go through shared memory. At the end three CTAs send their parts to
// the first one.
#include "hopper.cuh"

constexpr int HEADS = 16, HEAD = 64, PAGE = 64, STAGES = 2, CTAS = 4, SUMS = HEADS / 2;
constexpr int TILE = PAGE * HEAD * 2, SMALL = HEADS * HEAD * 2;
// A thread sends 8 sums, and the largest scores and the sums of weights of 4 heads.
constexpr int PART = 128 * (SUMS + 8) * 4;
constexpr int K_AT = 0, V_AT = STAGES * TILE, Q_AT = V_AT + STAGES * TILE, P_AT = Q_AT + SMALL;
constexpr int PARTS_AT = P_AT + SMALL, WARPS_AT = PARTS_AT + (CTAS - 1) * PART;
constexpr int BARRIERS_AT = WARPS_AT + 4 * HEADS * 4;
constexpr int CONSUMERS = 1;
constexpr float INFINITE = __builtin_huge_valf();

struct Problem {
    // The maps describe these tensors.
    const void *q, *k, *v;
    // For each sequence, the places of its pages in the pool, `most_pages` apart.
    const int *pages, *lengths;
    float* out;
    int most_pages;
    // The scale of the scores times the logarithm of e to base 2.
    float scale;
};

struct Barriers {
    u32 base;
    __device__ u32 q() const { return base; }
    __device__ u32 parts() const { return base + 8; }
    __device__ u32 full(int stage) const { return base + 16 + 8 * stage; }
    __device__ u32 empty(int stage) const { return base + 32 + 8 * stage; }
};

// The pages of a CTA, from `first` to before `end`.
struct Pages {
    int first, end;
    __device__ Pages(int length, int rank) {
        int all = (length + PAGE - 1) / PAGE, each = (all + CTAS - 1) / CTAS;
        first = min(rank * each, all);
        end = min(first + each, all);
    }
};

// S^T (+)= K Q^T for 16 of the head's elements.
__device__ __forceinline__ void multiply_scores(float (&s)[SUMS], u64 k, u64 q, int add) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %10, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, "
        "%8, %9, p, 1, 1, 0, 0;\n}\n"
        : FLOATS_8(s, 0)
        : "l"(k), "l"(q), "r"(add));
}

// O^T += V^T P^T for 16 keys. V has its keys in rows, so its tile is transposed.
__device__ __forceinline__ void multiply_values(float (&o)[SUMS], u64 v, u64 p) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, "
        "%8, %9, 1, 1, 1, 1, 0;\n"
        : FLOATS_8(o, 0)
        : "l"(v), "l"(p));
}

__device__ __forceinline__ void produce(const TensorMap& q_map, const TensorMap& k_map,
                                        const TensorMap& v_map, const int* table, Pages pages,
                                        u32 shared, Barriers barriers) {
    u64 once = policy_stream();
    barrier_expect(barriers.q(), SMALL);
    copy_in(shared + Q_AT, q_map, 0, blockIdx.y * HEADS, barriers.q(), once);
    for (int i = 0; i < pages.end - pages.first; ++i) {
        int stage = i % STAGES, row = table[pages.first + i] * PAGE;
        u32 full = barriers.full(stage);
        barrier_wait(barriers.empty(stage), (i / STAGES & 1) ^ 1);
        barrier_expect(full, 2 * TILE);
        copy_in(shared + K_AT + stage * TILE, k_map, 0, row, full, once);
        copy_in(shared + V_AT + stage * TILE, v_map, 0, row, full, once);
    }
}

// Exchanges a value for each of a thread's four heads with the other warps, and combines them.
template <class Combine>
__device__ __forceinline__ void over_warps(float (&values)[4], u32 shared, int warp, int lane,
                                           Combine combine) {
    u32 mine = shared + WARPS_AT + 8 * (lane % 4);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int step = 4; step < 32; step *= 2)
            values[i] = combine(values[i], __shfl_xor_sync(0xffffffff, values[i], step));
        if (lane < 4) store_shared(mine + warp * HEADS * 4 + i / 2 * 32 + i % 2 * 4, values[i]);
    }
    named_sync<128>(CONSUMERS);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        u32 place = mine + i / 2 * 32 + i % 2 * 4;
        values[i] = load_shared(place);
        for (int other = 1; other < 4; ++other)
            values[i] = combine(values[i], load_shared(place + other * HEADS * 4));
    }
}

// The place of a head of a thread, 0 to 3, for its accumulator i.
__device__ __forceinline__ int head_of(int i) { return i / 4 * 2 + i % 2; }

__device__ __forceinline__ float base_of(float top, float scale) {
    return top == -INFINITE ? 0.0f : top * scale;
}

__device__ __forceinline__ void consume(const Problem& problem, Pages pages, int length, u32 shared,
                                        Barriers barriers, int rank) {
    int thread = threadIdx.x, lane = thread % 32, warp = warp_uniform(thread / 32);
    float scale = problem.scale;
    auto larger = [](float a, float b) { return fmaxf(a, b); };
    auto add = [](float a, float b) { return a + b; };
    u64 k = descriptor_128(shared + K_AT), v = descriptor_128(shared + V_AT);
    u64 q = descriptor_128(shared + Q_AT), p = descriptor_128(shared + P_AT);
    // Where the lane's row of a matrix of weights goes: rows are heads, chunks are 8 keys.
    int head = lane / 16 * 8 + lane % 8, chunk = (2 * warp + lane / 8 % 2) ^ (lane % 8);
    u32 weights = shared + P_AT + head * 128 + chunk * 16;

    float s[SUMS] = {}, o[SUMS] = {}, sum[4] = {};
    float top[4] = {-INFINITE, -INFINITE, -INFINITE, -INFINITE};
    barrier_wait(barriers.q(), 0);
    for (int page = pages.first; page < pages.end; ++page) {
        int i = page - pages.first, stage = i % STAGES, step = stage * (TILE >> 4);
        barrier_wait(barriers.full(stage), i / STAGES & 1);
        pin(s);
        wgmma_begin();
#pragma unroll
        for (int j = 0; j < HEAD / 16; ++j) multiply_scores(s, k + step + 2 * j, q + 2 * j, j > 0);
        wgmma_commit();
        wgmma_wait<0>();
        pin(s);

        int key = page * PAGE + 16 * warp + lane / 4;
        float most[4], factor[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) most[j] = top[j];
#pragma unroll
        for (int j = 0; j < SUMS; ++j) {
            if (key + j / 2 % 2 * 8 >= length) s[j] = -INFINITE;
            most[head_of(j)] = fmaxf(most[head_of(j)], s[j]);
        }
        over_warps(most, shared, warp, lane, larger);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            factor[j] = exp2_of(top[j] * scale - base_of(most[j], scale));
            top[j] = most[j];
            sum[j] *= factor[j];
        }
#pragma unroll
        for (int j = 0; j < SUMS; ++j) {
            s[j] = exp2_of(s[j] * scale - base_of(top[head_of(j)], scale));
            sum[head_of(j)] += s[j];
            o[j] *= factor[head_of(j)];
        }
        store_columns(weights, pack_half(s[0], s[1]), pack_half(s[2], s[3]), pack_half(s[4], s[5]),
                      pack_half(s[6], s[7]));
        // The product reads the weights as the copies do, and those of all warps.
        fence_for_copies();
        named_sync<128>(CONSUMERS);
        pin(o);
        wgmma_begin();
#pragma unroll
        for (int j = 0; j < PAGE / 16; ++j) multiply_values(o, v + step + 128 * j, p + 2 * j);
        wgmma_commit();
        wgmma_wait<0>();
        pin(o);
        if (lane == 0) barrier_arrive(barriers.empty(stage));
    }
    // The barriers in the loop have let all warps read what this exchange overwrites.
    over_warps(sum, shared, warp, lane, add);

    if (rank > 0) {
        u32 there = address_at(shared + PARTS_AT + (rank - 1) * PART + 16 * thread, 0);
        u32 barrier = address_at(barriers.parts(), 0);
        send(there, o, barrier);
        send(there + 2048, o + 4, barrier);
        send(there + 4096, top, barrier);
        send(there + 6144, sum, barrier);
        return;
    }
    barrier_wait_cluster(barriers.parts(), 0);
    for (int other = 0; other < CTAS - 1; ++other) {
        u32 part = shared + PARTS_AT + other * PART + 16 * thread;
        float mine[4], its[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            float its_top = load_shared(part + 4096 + 4 * j), most = fmaxf(top[j], its_top);
            mine[j] = exp2_of(top[j] * scale - base_of(most, scale));
            its[j] = exp2_of(its_top * scale - base_of(most, scale));
            sum[j] = sum[j] * mine[j] + load_shared(part + 6144 + 4 * j) * its[j];
            top[j] = most;
        }
#pragma unroll
        for (int j = 0; j < SUMS; ++j) {
            float its_sum = load_shared(part + j / 4 * 2048 + j % 4 * 4);
            o[j] = o[j] * mine[head_of(j)] + its_sum * its[head_of(j)];
        }
    }
    float* out = problem.out + blockIdx.y * HEADS * HEAD;
#pragma unroll
    for (int j = 0; j < SUMS; ++j) {
        int column = j / 4 * 8 + lane % 4 * 2 + j % 2, row = 16 * warp + lane / 4 + j / 2 % 2 * 8;
        out[column * HEAD + row] = o[j] / sum[head_of(j)];
    }
}

extern "C" __global__ void __cluster_dims__(CTAS, 1, 1) __launch_bounds__(160, 1)
    flash_decode(const __grid_constant__ TensorMap q_map, const __grid_constant__ TensorMap k_map,
                 const __grid_constant__ TensorMap v_map, const __grid_constant__ Problem problem) {
    extern __shared__ char dynamic[];
    u32 shared = align_1024(shared_address(dynamic));
    Barriers barriers{shared + BARRIERS_AT};
    int warp = warp_uniform(threadIdx.x / 32), rank = cluster_rank();
    int length = problem.lengths[blockIdx.y];
    Pages pages(length, rank);
    if (warp == 4 && elect_one()) {
        barrier_init(barriers.q(), 1);
        barrier_init(barriers.parts(), 1);
        for (int i = 0; i < STAGES; ++i) {
            barrier_init(barriers.full(i), 1);
            barrier_init(barriers.empty(i), 4);
        }
        publish_barriers();
        if (rank == 0) barrier_expect(barriers.parts(), (CTAS - 1) * PART);
    }
    // No CTA may send before the first one's barrier is ready.
    cluster_sync();
    if (warp == 4) {
        const int* table = problem.pages + blockIdx.y * problem.most_pages;
        if (elect_one()) produce(q_map, k_map, v_map, table, pages, shared, barriers);
    } else {
        consume(problem, pages, length, shared, barriers, rank);
    }
}
