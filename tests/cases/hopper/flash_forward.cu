// Attention forward for one head in f16: O = softmax(scale * Q K^T) V. The head's dimension is 64, or
// 128 with so many keys in a block that a consumer needs nearly all registers that it may have.
//
// A CTA has 128 queries. One producer warp copies tiles with TMA; two warpgroups of consumers have
// 64 queries each. A consumer keeps two products in flight: the scores of the next block of keys
// and the output of the last one. Named barriers let the consumers take turns with the tensor cores,
// so that the softmax of one overlaps the products of the other.
#include "hopper.cuh"

constexpr int QUERIES = 64, STAGES = 2;

// The sizes of a kernel. Tiles are in parts of 64 columns, which are rows of 128 bytes.
template <int HEAD_, int KEYS_>
struct Sizes {
    static constexpr int HEAD = HEAD_, KEYS = KEYS_, PARTS = HEAD / 64;
    static constexpr int Q_PART = QUERIES * 128, Q_TILE = PARTS * Q_PART;
    static constexpr int PART = KEYS * 128, TILE = PARTS * PART;
    static constexpr int Q_AT = 0, K_AT = 2 * Q_TILE, V_AT = K_AT + STAGES * TILE;
    static constexpr int BARRIERS_AT = V_AT + STAGES * TILE;
    static constexpr int SCORES = KEYS / 2, SUMS = HEAD / 2, WEIGHTS = KEYS / 4;
};

constexpr int PRODUCER_REGISTERS = 24, CONSUMER_REGISTERS = 240;
constexpr int TURN = 1, STORE = 3;
constexpr float INFINITE = __builtin_huge_valf();

struct Problem {
    // The maps describe these tensors.
    const void *q, *k, *v;
    void* o;
    float* logs;
    int queries, keys;
    // The scale of the scores times the logarithm of e to base 2.
    float scale;
};

struct Barriers {
    u32 base;
    __device__ u32 q() const { return base; }
    __device__ u32 k_full(int stage) const { return base + 8 + 8 * stage; }
    __device__ u32 k_empty(int stage) const { return base + 24 + 8 * stage; }
    __device__ u32 v_full(int stage) const { return base + 40 + 8 * stage; }
    __device__ u32 v_empty(int stage) const { return base + 56 + 8 * stage; }
};

__device__ __forceinline__ int stage_of(int i) { return i % STAGES; }
__device__ __forceinline__ u32 parity_of(int i) { return i / STAGES & 1; }

// S (+)= Q K^T for 16 of the head's elements, and 64 or 160 keys.
__device__ __forceinline__ void multiply_scores(float (&s)[32], u64 q, u64 k, int add) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {" NAMES_32
        "}, %32, %33, p, 1, 1, 0, 0;\n}\n"
        : FLOATS_8(s, 0), FLOATS_8(s, 8), FLOATS_8(s, 16), FLOATS_8(s, 24)
        : "l"(q), "l"(k), "r"(add));
}

__device__ __forceinline__ void multiply_scores(float (&s)[80], u64 q, u64 k, int add) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %82, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n160k16.f32.f16.f16 {" NAMES_80
        "}, %80, %81, p, 1, 1, 0, 0;\n}\n"
        : FLOATS_8(s, 0), FLOATS_8(s, 8), FLOATS_8(s, 16), FLOATS_8(s, 24), FLOATS_8(s, 32),
          FLOATS_8(s, 40), FLOATS_8(s, 48), FLOATS_8(s, 56), FLOATS_8(s, 64), FLOATS_8(s, 72)
        : "l"(q), "l"(k), "r"(add));
}

// O += P V for 16 keys and a head of 64 or 128. V has its keys in rows, so its tile is transposed.
__device__ __forceinline__ void multiply_values(float (&o)[32], const u32* p, u64 v) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {" NAMES_32
        "}, {%32, %33, %34, %35}, %36, 1, 1, 1, 1;\n"
        : FLOATS_8(o, 0), FLOATS_8(o, 8), FLOATS_8(o, 16), FLOATS_8(o, 24)
        : "r"(p[0]), "r"(p[1]), "r"(p[2]), "r"(p[3]), "l"(v));
}

__device__ __forceinline__ void multiply_values(float (&o)[64], const u32* p, u64 v) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {" NAMES_64
        "}, {%64, %65, %66, %67}, %68, 1, 1, 1, 1;\n"
        : FLOATS_8(o, 0), FLOATS_8(o, 8), FLOATS_8(o, 16), FLOATS_8(o, 24), FLOATS_8(o, 32),
          FLOATS_8(o, 40), FLOATS_8(o, 48), FLOATS_8(o, 56)
        : "r"(p[0]), "r"(p[1]), "r"(p[2]), "r"(p[3]), "l"(v));
}

template <class S>
__device__ __forceinline__ void start_scores(float (&s)[S::SCORES], u64 q, u64 k) {
    wgmma_begin();
#pragma unroll
    for (int i = 0; i < S::HEAD / 16; ++i) {
        int part = i / 4, step = 2 * (i % 4);
        multiply_scores(s, q + part * (S::Q_PART >> 4) + step, k + part * (S::PART >> 4) + step, i > 0);
    }
    wgmma_commit();
}

template <class S>
__device__ __forceinline__ void start_values(float (&o)[S::SUMS], const u32 (&p)[S::WEIGHTS], u64 v) {
    wgmma_begin();
#pragma unroll
    for (int i = 0; i < S::KEYS / 16; ++i) multiply_values(o, p + 4 * i, v + 128 * i);
    wgmma_commit();
}

// Turns scores into weights, and returns in `factor` how the earlier weights shrink.
template <int SCORES>
__device__ __forceinline__ void softmax(float (&s)[SCORES], float (&top)[2], float (&sum)[2],
                                        float (&factor)[2], float scale) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        float most = top[h];
#pragma unroll
        for (int j = 0; j < SCORES / 4; ++j)
            most = fmaxf(most, fmaxf(s[4 * j + 2 * h], s[4 * j + 2 * h + 1]));
        most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, 1));
        most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, 2));
        // A row that has seen no key yet must not compute infinity minus infinity.
        float base = most == -INFINITE ? 0.0f : most * scale;
        factor[h] = exp2_of(top[h] * scale - base);
        top[h] = most;
        sum[h] *= factor[h];
#pragma unroll
        for (int j = 0; j < SCORES / 4; ++j) {
#pragma unroll
            for (int c = 0; c < 2; ++c) {
                float& value = s[4 * j + 2 * h + c];
                value = exp2_of(value * scale - base);
                sum[h] += value;
            }
        }
    }
}

// The accumulator's layout of two blocks of 8 columns is that of an operand with 16 columns.
template <int WEIGHTS>
__device__ __forceinline__ void pack(u32 (&p)[WEIGHTS], const float (&s)[2 * WEIGHTS]) {
#pragma unroll
    for (int i = 0; i < WEIGHTS; ++i) p[i] = pack_half(s[2 * i], s[2 * i + 1]);
}

template <int SCORES>
__device__ __forceinline__ void mask(float (&s)[SCORES], int first_column, const int (&last)[2]) {
#pragma unroll
    for (int i = 0; i < SCORES; ++i) {
        int column = first_column + i / 4 * 8 + i % 2;
        if (column > last[i / 2 % 2]) s[i] = -INFINITE;
    }
}

// Copies a block of keys or values.
template <class S>
__device__ __forceinline__ void copy_block(u32 to, const TensorMap& map, int block, u32 full,
                                           u64 policy) {
    barrier_expect(full, S::TILE);
    for (int part = 0; part < S::PARTS; ++part)
        copy_in(to + part * S::PART, map, 64 * part, block * S::KEYS, full, policy);
}

template <class S>
__device__ __forceinline__ void produce(const TensorMap& q_map, const TensorMap& k_map,
                                        const TensorMap& v_map, u32 shared, Barriers barriers, int row,
                                        int blocks) {
    u64 once = policy_stream(), often = policy_keep();
    barrier_expect(barriers.q(), 2 * S::Q_TILE);
    for (int i = 0; i < 2 * S::PARTS; ++i)
        copy_in(shared + S::Q_AT + i * S::Q_PART, q_map, i % S::PARTS * 64,
                row + i / S::PARTS * QUERIES, barriers.q(), once);
    // The keys are one block ahead of the values, as the consumers use them.
    for (int i = 0; i <= blocks; ++i) {
        if (i < blocks) {
            int stage = stage_of(i);
            barrier_wait(barriers.k_empty(stage), parity_of(i) ^ 1);
            copy_block<S>(shared + S::K_AT + stage * S::TILE, k_map, blocks - 1 - i,
                          barriers.k_full(stage), often);
        }
        if (i > 0) {
            int stage = stage_of(i - 1);
            barrier_wait(barriers.v_empty(stage), parity_of(i - 1) ^ 1);
            copy_block<S>(shared + S::V_AT + stage * S::TILE, v_map, blocks - i,
                          barriers.v_full(stage), often);
        }
    }
}

template <class S, bool CAUSAL>
__device__ __forceinline__ void consume(const TensorMap& o_map, const Problem& problem, u32 shared,
                                        Barriers barriers, int row, int blocks, int consumer) {
    int queries = problem.queries, keys = problem.keys;
    float scale = problem.scale;
    int thread = threadIdx.x % 128, lane = thread % 32, warp = warp_uniform(thread / 32);
    u32 own = shared + S::Q_AT + consumer * S::Q_TILE;
    u64 q = descriptor_128(own), k = descriptor_128(shared + S::K_AT);
    u64 v = descriptor_128(shared + S::V_AT, S::PART);
    row += consumer * QUERIES;
    int rows[2], last[2];
    for (int h = 0; h < 2; ++h) {
        rows[h] = row + 16 * warp + lane / 4 + 8 * h;
        last[h] = CAUSAL ? min(keys - 1, rows[h] + keys - queries) : keys - 1;
    }
    // Blocks that end before this key need no mask in any row of the warpgroup.
    int safe = CAUSAL ? min(keys, row + keys - queries + 1) : keys;
    int column = lane % 4 * 2;

    float s[S::SCORES] = {}, o[S::SUMS] = {}, sum[2] = {}, factor[2];
    float top[2] = {-INFINITE, -INFINITE};
    u32 p[S::WEIGHTS];

    if (consumer == 1) named_arrive<256>(TURN);
    barrier_wait(barriers.q(), 0);
    barrier_wait(barriers.k_full(0), 0);
    named_sync<256>(TURN + consumer);
    start_scores<S>(s, q, k);
    named_arrive<256>(TURN + (consumer ^ 1));
    wgmma_wait<0>();
    pin(s);
    if (lane == 0) barrier_arrive(barriers.k_empty(0));
    int first = (blocks - 1) * S::KEYS;
    if (first + S::KEYS > safe) mask(s, first + column, last);
    softmax(s, top, sum, factor, scale);
    pack(p, s);

    for (int i = 1; i < blocks; ++i) {
        int next = stage_of(i), old = stage_of(i - 1);
        first -= S::KEYS;
        barrier_wait(barriers.k_full(next), parity_of(i));
        named_sync<256>(TURN + consumer);
        pin(s);
        start_scores<S>(s, q, k + next * (S::TILE >> 4));
        barrier_wait(barriers.v_full(old), parity_of(i - 1));
        pin(o);
        start_values<S>(o, p, v + old * (S::TILE >> 4));
        named_arrive<256>(TURN + (consumer ^ 1));
        wgmma_wait<1>();
        pin(s);
        if (lane == 0) barrier_arrive(barriers.k_empty(next));
        if (first + S::KEYS > safe) mask(s, first + column, last);
        softmax(s, top, sum, factor, scale);
        wgmma_wait<0>();
        pin(o);
        if (lane == 0) barrier_arrive(barriers.v_empty(old));
#pragma unroll
        for (int j = 0; j < S::SUMS; ++j) o[j] *= factor[j / 2 % 2];
        // Only now, because the product that ended read the old weights from these registers.
        pack(p, s);
    }

    int old = stage_of(blocks - 1);
    barrier_wait(barriers.v_full(old), parity_of(blocks - 1));
    pin(o);
    start_values<S>(o, p, v + old * (S::TILE >> 4));
    // Takes the turn that the other consumer gave last, so that no barrier is left half full.
    if (consumer == 0) named_sync<256>(TURN);
    for (int h = 0; h < 2; ++h) {
        sum[h] += __shfl_xor_sync(0xffffffff, sum[h], 1);
        sum[h] += __shfl_xor_sync(0xffffffff, sum[h], 2);
        // A row without keys has the output zero, and the logarithm of zero.
        factor[h] = sum[h] == 0.0f ? 0.0f : __fdividef(1.0f, sum[h]);
        float total = sum[h] == 0.0f ? -INFINITE : (top[h] * scale + log2_of(sum[h])) * 0.69314718f;
        if (lane % 4 == 0 && rows[h] < queries) problem.logs[rows[h]] = total;
    }
    wgmma_wait<0>();
    pin(o);

    // The output takes the place of the queries, once no warp's product reads them.
    named_sync<128>(STORE + consumer);
    int line = 16 * warp + lane % 16;
#pragma unroll
    for (int i = 0; i < S::HEAD / 16; ++i) {
        u32 parts[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            float share = factor[j % 2];
            parts[j] = pack_half(o[8 * i + 2 * j] * share, o[8 * i + 2 * j + 1] * share);
        }
        int chunk = (i % 4 * 2 + lane / 16) ^ (line & 7);
        u32 to = own + i / 4 * S::Q_PART + line * 128 + chunk * 16;
        store_matrices(to, parts[0], parts[1], parts[2], parts[3]);
    }
    fence_for_copies();
    named_sync<128>(STORE + consumer);
    if (warp == 0 && elect_one()) {
        for (int part = 0; part < S::PARTS; ++part)
            copy_out(o_map, 64 * part, row, own + part * S::Q_PART);
        commit_copies();
        wait_copies();
    }
}

template <class S, bool CAUSAL>
__device__ __forceinline__ void forward(const TensorMap& q_map, const TensorMap& k_map,
                                        const TensorMap& v_map, const TensorMap& o_map,
                                        const Problem& problem) {
    int queries = problem.queries, keys = problem.keys;
    extern __shared__ char dynamic[];
    u32 shared = align_1024(shared_address(dynamic));
    Barriers barriers{shared + S::BARRIERS_AT};
    int group = warp_uniform(threadIdx.x / 128), warp = warp_uniform(threadIdx.x / 32);
    if (warp == 0 && elect_one()) {
        prefetch_map(q_map);
        prefetch_map(k_map);
        prefetch_map(v_map);
        prefetch_map(o_map);
        barrier_init(barriers.q(), 1);
        for (int i = 0; i < STAGES; ++i) {
            barrier_init(barriers.k_full(i), 1);
            barrier_init(barriers.v_full(i), 1);
            barrier_init(barriers.k_empty(i), 8);
            barrier_init(barriers.v_empty(i), 8);
        }
        publish_barriers();
    }
    __syncthreads();

    int row = blockIdx.x * 2 * QUERIES;
    int end = CAUSAL ? min(keys, row + 2 * QUERIES + keys - queries) : keys;
    int blocks = (end + S::KEYS - 1) / S::KEYS;
    if (group == 0) {
        shrink_registers<PRODUCER_REGISTERS>();
        if (warp == 0 && elect_one()) produce<S>(q_map, k_map, v_map, shared, barriers, row, blocks);
    } else {
        grow_registers<CONSUMER_REGISTERS>();
        consume<S, CAUSAL>(o_map, problem, shared, barriers, row, blocks, group - 1);
    }
}

extern "C" __global__ void __launch_bounds__(384, 1)
    flash_forward(const __grid_constant__ TensorMap q_map, const __grid_constant__ TensorMap k_map,
                  const __grid_constant__ TensorMap v_map, const __grid_constant__ TensorMap o_map,
                  const __grid_constant__ Problem problem) {
    forward<Sizes<64, 64>, false>(q_map, k_map, v_map, o_map, problem);
}

extern "C" __global__ void __launch_bounds__(384, 1)
    flash_forward_causal(const __grid_constant__ TensorMap q_map,
                         const __grid_constant__ TensorMap k_map,
                         const __grid_constant__ TensorMap v_map,
                         const __grid_constant__ TensorMap o_map,
                         const __grid_constant__ Problem problem) {
    forward<Sizes<64, 64>, true>(q_map, k_map, v_map, o_map, problem);
}

extern "C" __global__ void __launch_bounds__(384, 1)
    flash_forward_wide(const __grid_constant__ TensorMap q_map,
                       const __grid_constant__ TensorMap k_map,
                       const __grid_constant__ TensorMap v_map,
                       const __grid_constant__ TensorMap o_map,
                       const __grid_constant__ Problem problem) {
    forward<Sizes<128, 160>, false>(q_map, k_map, v_map, o_map, problem);
}
