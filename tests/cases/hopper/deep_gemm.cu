// A product of e4m3 matrices with fine scales: D[m][n] = sum over blocks of 128 elements of k of
// scale_a[block][m] * scale_b[n / 128][block] * (A[m] . B[n] in the block), as bf16.
//
// The CTAs are persistent. One producer warp fills a ring of stages with TMA, also with the scales of
// the rows. Two warpgroups have 64 rows of a tile each. The tensor cores' sums are less exact than
// floats, so every block's sums go to a second level of accumulators in ordinary arithmetic.
#include "hopper.cuh"

constexpr int ROWS = 128, COLUMNS = 96, BLOCK = 128, STAGES = 4;
constexpr int GROUP_ROWS = 64, SUMS = COLUMNS / 2;
// A tile ends within a block of scale_b's columns, so it may need the scales of two.
constexpr int SCALE_COLUMNS = 128;
constexpr int A_BYTES = ROWS * BLOCK, B_BYTES = COLUMNS * BLOCK, SCALE_BYTES = ROWS * 4;
constexpr int STORE_COLUMNS = 32, STORE_BYTES = GROUP_ROWS * STORE_COLUMNS * 2;
constexpr int STORES = COLUMNS / STORE_COLUMNS, OUT_BYTES = STORES * STORE_BYTES;
constexpr int A_AT = 0, B_AT = A_AT + STAGES * A_BYTES, OUT_AT = B_AT + STAGES * B_BYTES;
constexpr int SCALES_AT = OUT_AT + 2 * OUT_BYTES, COLUMN_SCALES_AT = SCALES_AT + STAGES * SCALE_BYTES;
constexpr int MOST_BLOCKS = 32, BARRIERS_AT = COLUMN_SCALES_AT + 2 * MOST_BLOCKS * 4;
constexpr int PRODUCER_REGISTERS = 40, CONSUMER_REGISTERS = 232;
constexpr int CONSUMERS = 1, STORE = 2;

struct Problem {
    // The maps describe these tensors.
    const void *a, *b;
    void* d;
    const float *scale_a, *scale_b;
    int rows, columns, depth;
};

// The place in the ring of stages. The parity changes with every round.
struct Ring {
    int stage = 0;
    u32 parity = 0;
    __device__ void advance() {
        stage = stage == STAGES - 1 ? 0 : stage + 1;
        parity ^= stage == 0;
    }
};

struct Tiles {
    int across, count, blocks;
    __device__ explicit Tiles(const Problem& problem)
        : across((problem.columns + COLUMNS - 1) / COLUMNS),
          count(across * ((problem.rows + ROWS - 1) / ROWS)),
          blocks((problem.depth + BLOCK - 1) / BLOCK) {}
    __device__ int row(int tile) const { return tile / across * ROWS; }
    __device__ int column(int tile) const { return tile % across * COLUMNS; }
};

__device__ __forceinline__ u32 full(u32 shared, int stage) { return shared + BARRIERS_AT + 8 * stage; }
__device__ __forceinline__ u32 empty(u32 shared, int stage) {
    return shared + BARRIERS_AT + 8 * (STAGES + stage);
}

// sums (+)= A B^T for 32 elements of k.
__device__ __forceinline__ void multiply(float (&sums)[SUMS], u64 a, u64 b, int add) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %50, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n96k32.f32.e4m3.e4m3 {" NAMES_48 "}, %48, %49, p, 1, 1;\n}\n"
        : FLOATS_8(sums, 0), FLOATS_8(sums, 8), FLOATS_8(sums, 16), FLOATS_8(sums, 24),
          FLOATS_8(sums, 32), FLOATS_8(sums, 40)
        : "l"(a), "l"(b), "r"(add));
}

__device__ __forceinline__ void produce(const TensorMap& a_map, const TensorMap& b_map,
                                        const TensorMap& scale_map, const Tiles& tiles, u32 shared) {
    u64 once = policy_stream(), often = policy_keep();
    Ring ring;
    for (int tile = blockIdx.x; tile < tiles.count; tile += gridDim.x) {
        int row = tiles.row(tile), column = tiles.column(tile);
        for (int block = 0; block < tiles.blocks; ++block) {
            u32 filled = full(shared, ring.stage);
            barrier_wait(empty(shared, ring.stage), ring.parity ^ 1);
            copy_in(shared + A_AT + ring.stage * A_BYTES, a_map, block * BLOCK, row, filled, once);
            copy_in(shared + SCALES_AT + ring.stage * SCALE_BYTES, scale_map, row, block, filled, once);
            copy_in(shared + B_AT + ring.stage * B_BYTES, b_map, block * BLOCK, column, filled, often);
            // The phase cannot end before this arrival, so it may follow the copies.
            barrier_expect(filled, A_BYTES + B_BYTES + SCALE_BYTES);
            ring.advance();
        }
    }
}

__device__ __forceinline__ void consume(const TensorMap& d_map, const Problem& problem,
                                        const Tiles& tiles, u32 shared, int consumer) {
    int thread = threadIdx.x, group_thread = thread % 128, lane = thread % 32;
    int warp = warp_uniform(group_thread / 32);
    u64 a = descriptor_128(shared + A_AT + consumer * GROUP_ROWS * BLOCK);
    u64 b = descriptor_128(shared + B_AT);
    u32 out = shared + OUT_AT + consumer * OUT_BYTES;
    u32 row_scales = shared + SCALES_AT + 4 * (consumer * GROUP_ROWS + 16 * warp + lane / 4);
    u32 column_scales = shared + COLUMN_SCALES_AT;
    bool storing = warp == 0 && elect_one();
    Ring ring;
    for (int tile = blockIdx.x; tile < tiles.count; tile += gridDim.x) {
        int row = tiles.row(tile), column = tiles.column(tile), first = column / SCALE_COLUMNS;
        // Chunks of 8 columns from this one on have the next block's scale.
        int change = ((first + 1) * SCALE_COLUMNS - column) / 8;
        // All warps must be done with the last tile's scales before new ones replace them.
        named_sync<256>(CONSUMERS);
        for (int i = thread; i < 2 * tiles.blocks; i += 256) {
            int which = i / tiles.blocks, block = i % tiles.blocks;
            int group = min(first + which, (problem.columns - 1) / SCALE_COLUMNS);
            store_shared(column_scales + 4 * (which * MOST_BLOCKS + block),
                         problem.scale_b[group * tiles.blocks + block]);
        }
        named_sync<256>(CONSUMERS);

        float sums[SUMS] = {}, totals[SUMS] = {};
        for (int block = 0; block < tiles.blocks; ++block) {
            float by_column[2], by_row[2];
            for (int i = 0; i < 2; ++i)
                by_column[i] = load_shared(column_scales + 4 * (i * MOST_BLOCKS + block));
            barrier_wait(full(shared, ring.stage), ring.parity);
            for (int i = 0; i < 2; ++i)
                by_row[i] = load_shared(row_scales + ring.stage * SCALE_BYTES + 32 * i);
            u64 a_stage = a + ring.stage * (A_BYTES >> 4), b_stage = b + ring.stage * (B_BYTES >> 4);
            pin(sums);
            wgmma_begin();
#pragma unroll
            for (int i = 0; i < BLOCK / 32; ++i) multiply(sums, a_stage + 2 * i, b_stage + 2 * i, i > 0);
            wgmma_commit();
            pin(sums);
            wgmma_wait<0>();
            pin(sums);
            if (lane == 0) barrier_arrive(empty(shared, ring.stage));
#pragma unroll
            for (int i = 0; i < SUMS; ++i) {
                float scale = by_row[i / 2 % 2] * (i / 4 < change ? by_column[0] : by_column[1]);
                totals[i] = fmaf(scale, sums[i], totals[i]);
            }
            ring.advance();
        }

        // The copies of the last tile must have read the memory that this one's output takes.
        if (storing) wait_copies_read();
        named_sync<128>(STORE + consumer);
        int line = 16 * warp + lane % 16;
#pragma unroll
        for (int i = 0; i < COLUMNS / 16; ++i) {
            u32 parts[4];
#pragma unroll
            for (int j = 0; j < 4; ++j)
                parts[j] = pack_bf16(totals[8 * i + 2 * j], totals[8 * i + 2 * j + 1]);
            // A swizzle of 64 bytes moves a chunk of 16 bytes by the number of the pair of rows.
            int chunk = (i % 2 * 2 + lane / 16) ^ (line >> 1 & 3);
            store_matrices(out + i / 2 * STORE_BYTES + line * 2 * STORE_COLUMNS + chunk * 16, parts[0],
                           parts[1], parts[2], parts[3]);
        }
        fence_for_copies();
        named_sync<128>(STORE + consumer);
        if (storing) {
            for (int i = 0; i < STORES; ++i)
                copy_out(d_map, column + i * STORE_COLUMNS, row + consumer * GROUP_ROWS,
                         out + i * STORE_BYTES);
            commit_copies();
        }
    }
    if (storing) wait_copies();
}

extern "C" __global__ void __launch_bounds__(384, 1)
    deep_gemm(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map,
              const __grid_constant__ TensorMap scale_map, const __grid_constant__ TensorMap d_map,
              const __grid_constant__ Problem problem) {
    extern __shared__ char dynamic[];
    u32 shared = align_1024(shared_address(dynamic));
    int group = warp_uniform(threadIdx.x / 128), warp = warp_uniform(threadIdx.x / 32);
    if (warp == 8 && elect_one()) {
        prefetch_map(a_map);
        prefetch_map(b_map);
        prefetch_map(scale_map);
        prefetch_map(d_map);
        for (int i = 0; i < STAGES; ++i) {
            barrier_init(full(shared, i), 1);
            barrier_init(empty(shared, i), 8);
        }
        publish_barriers();
    }
    __syncthreads();

    Tiles tiles(problem);
    if (group == 2) {
        shrink_registers<PRODUCER_REGISTERS>();
        if (warp == 8 && elect_one()) produce(a_map, b_map, scale_map, tiles, shared);
    } else {
        grow_registers<CONSUMER_REGISTERS>();
        consume(d_map, problem, tiles, shared, group);
    }
}
