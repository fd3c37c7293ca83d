// D = max(A B + bias, 0) in bf16, with persistent clusters of two CTAs.
//
// The two CTAs of a cluster have tiles of the same columns, so each loads one half of a tile of B for
// both. The two warpgroups of consumers in a CTA work on different tiles: barriers let one have the
// tensor cores while the other finishes its tile. The rows of B are its depth, so its tile is
// transposed.
#include "hopper.cuh"

constexpr int ROWS = 64, COLUMNS = 128, BLOCK = 64, STAGES = 4, CTAS = 2;
constexpr int SUMS = COLUMNS / 2, PART = 64 * 64 * 2;
constexpr int A_AT = 0, B_AT = STAGES * PART, OUT_AT = B_AT + STAGES * 2 * PART;
constexpr int BARRIERS_AT = OUT_AT + 2 * PART;
constexpr int PRODUCER_REGISTERS = 40, CONSUMER_REGISTERS = 232;
constexpr int STORE = 1;

struct Problem {
    // The maps describe these tensors.
    const void *a, *b;
    void* d;
    const float* bias;
    int rows, columns, depth;
};

struct Barriers {
    u32 base;
    __device__ u32 full(u32 stage) const { return base + 8 * stage; }
    __device__ u32 empty(u32 stage) const { return base + 8 * (STAGES + stage); }
    // A consumer waits here for its turn with the tensor cores and with the output's memory.
    __device__ u32 products(int consumer) const { return base + 8 * (2 * STAGES + consumer); }
    __device__ u32 output(int consumer) const { return base + 8 * (2 * STAGES + 2 + consumer); }
};

// Pairs of tiles, one for each CTA of a cluster, below each other.
struct Pairs {
    int across, count, blocks, rank;
    __device__ explicit Pairs(const Problem& problem)
        : across((problem.columns + COLUMNS - 1) / COLUMNS),
          count(across * ((problem.rows + CTAS * ROWS - 1) / (CTAS * ROWS))),
          blocks((problem.depth + BLOCK - 1) / BLOCK),
          rank(cluster_rank()) {}
    __device__ int first() const { return blockIdx.x / CTAS; }
    __device__ int step() const { return gridDim.x / CTAS; }
    __device__ int row(int pair) const { return (pair / across * CTAS + rank) * ROWS; }
    __device__ int column(int pair) const { return pair % across * COLUMNS; }
};

// sums (+)= A B for 16 elements of the depth.
__device__ __forceinline__ void multiply(float (&sums)[SUMS], u64 a, u64 b, int add) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" NAMES_64
        "}, %64, %65, p, 1, 1, 0, 1;\n}\n"
        : FLOATS_8(sums, 0), FLOATS_8(sums, 8), FLOATS_8(sums, 16), FLOATS_8(sums, 24),
          FLOATS_8(sums, 32), FLOATS_8(sums, 40), FLOATS_8(sums, 48), FLOATS_8(sums, 56)
        : "l"(a), "l"(b), "r"(add));
}

__device__ __forceinline__ void produce(const TensorMap& a_map, const TensorMap& b_map,
                                        const Pairs& pairs, u32 shared, Barriers barriers) {
    u64 once = policy_stream(), often = policy_keep();
    u32 place = 0;
    for (int pair = pairs.first(); pair < pairs.count; pair += pairs.step()) {
        for (int block = 0; block < pairs.blocks; ++block, ++place) {
            u32 stage = place % STAGES, full = barriers.full(stage);
            // The stage must be free in both CTAs, because half of B goes to both.
            barrier_wait_cluster(barriers.empty(stage), (place / STAGES & 1) ^ 1);
            barrier_expect(full, 3 * PART);
            copy_in(shared + A_AT + stage * PART, a_map, block * BLOCK, pairs.row(pair), full, once);
            copy_in_all(shared + B_AT + (2 * stage + pairs.rank) * PART, b_map,
                        pairs.column(pair) + 64 * pairs.rank, block * BLOCK, full, (1 << CTAS) - 1,
                        often);
        }
    }
}

__device__ __forceinline__ void consume(const TensorMap& d_map, const Problem& problem,
                                        const Pairs& pairs, u32 shared, Barriers barriers,
                                        int consumer) {
    int lane = threadIdx.x % 32, warp = warp_uniform(threadIdx.x % 128 / 32);
    u64 a = descriptor_128(shared + A_AT), b = descriptor_128(shared + B_AT, PART);
    u32 out = shared + OUT_AT;
    bool storing = warp == 0 && elect_one();
    // The other consumer's tiles take as many stages as this one's.
    u32 place = consumer * pairs.blocks;
    // The first consumer's first turn needs no arrival: its barrier is in the phase before.
    u32 turn = consumer == 0;
    for (int pair = pairs.first() + consumer * pairs.step(); pair < pairs.count;
         pair += 2 * pairs.step(), place += pairs.blocks, turn ^= 1) {
        int row = pairs.row(pair), column = pairs.column(pair);
        float sums[SUMS] = {};
        barrier_wait(barriers.products(consumer), turn);
        for (int block = 0; block < pairs.blocks; ++block, ++place) {
            u32 stage = place % STAGES;
            barrier_wait_cluster(barriers.full(stage), place / STAGES & 1);
            u64 a_stage = a + stage * (PART >> 4), b_stage = b + stage * (2 * PART >> 4);
            pin(sums);
            wgmma_begin();
#pragma unroll
            for (int i = 0; i < BLOCK / 16; ++i)
                multiply(sums, a_stage + 2 * i, b_stage + 128 * i, block + i > 0);
            wgmma_commit();
            // The block before this one has been read when only this one is in flight.
            wgmma_wait<1>();
            if (block > 0 && lane < CTAS) barrier_arrive_at(barriers.empty((place - 1) % STAGES), lane);
        }
        barrier_arrive(barriers.products(consumer ^ 1));
        wgmma_wait<0>();
        pin(sums);
        if (lane < CTAS) barrier_arrive_at(barriers.empty((place - 1) % STAGES), lane);

        barrier_wait(barriers.output(consumer), turn);
        int line = 16 * warp + lane % 16;
#pragma unroll
        for (int i = 0; i < COLUMNS / 16; ++i) {
            u32 parts[4];
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                int at = column + 16 * i + 8 * j + lane % 4 * 2;
                float2 bias = make_float2(0, 0);
                if (at < problem.columns) bias = *reinterpret_cast<const float2*>(problem.bias + at);
                const float* values = sums + 8 * i + 4 * j;
                for (int h = 0; h < 2; ++h)
                    parts[2 * j + h] = pack_bf16(fmaxf(values[2 * h] + bias.x, 0),
                                                 fmaxf(values[2 * h + 1] + bias.y, 0));
            }
            int chunk = (i % 4 * 2 + lane / 16) ^ (line & 7);
            store_matrices(out + i / 4 * PART + line * 128 + chunk * 16, parts[0], parts[1], parts[2],
                           parts[3]);
        }
        fence_for_copies();
        named_sync<128>(STORE + consumer);
        if (storing) {
            for (int i = 0; i < 2; ++i) copy_out(d_map, column + 64 * i, row, out + i * PART);
            commit_copies();
            wait_copies_read();
            // Only now may the other consumer write to the output's memory.
            barrier_arrive(barriers.output(consumer ^ 1));
        }
    }
    if (storing) wait_copies();
}

extern "C" __global__ void __cluster_dims__(CTAS, 1, 1) __launch_bounds__(384, 1)
    pingpong_gemm(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map,
                  const __grid_constant__ TensorMap d_map, const __grid_constant__ Problem problem) {
    extern __shared__ char dynamic[];
    // Both CTAs have the same addresses, which the copies to both need.
    u32 shared = align_1024(shared_address(dynamic));
    Barriers barriers{shared + BARRIERS_AT};
    int group = warp_uniform(threadIdx.x / 128), warp = warp_uniform(threadIdx.x / 32);
    if (warp == 0 && elect_one()) {
        prefetch_map(a_map);
        prefetch_map(b_map);
        prefetch_map(d_map);
        for (int i = 0; i < STAGES; ++i) {
            barrier_init(barriers.full(i), 1);
            barrier_init(barriers.empty(i), 4 * CTAS);
        }
        for (int i = 0; i < 2; ++i) {
            barrier_init(barriers.products(i), 128);
            barrier_init(barriers.output(i), 1);
        }
        publish_barriers();
    }
    cluster_sync();

    Pairs pairs(problem);
    if (group == 0) {
        shrink_registers<PRODUCER_REGISTERS>();
        if (warp == 0 && elect_one()) produce(a_map, b_map, pairs, shared, barriers);
        __syncwarp();
    } else {
        grow_registers<CONSUMER_REGISTERS>();
        consume(d_map, problem, pairs, shared, barriers, group - 1);
        __syncwarp();
    }
    // A CTA's memory must live until the other has sent its last copies and arrivals.
    cluster_sync();
}
