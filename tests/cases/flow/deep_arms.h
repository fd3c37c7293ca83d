// Twenty-two nested arms, more than a warp has convergence barriers. The including file defines the
// statements of the innermost arm (INNERMOST), and the arms from which a thread may continue with
// the next round (GOES_ON).
#define DOWN(level, inner)                                                                                    \
    {                                                                                                         \
        unsigned value = in[(round * 22 + level) * blockDim.x + threadIdx.x];                                 \
        digest = digest * 31 + value;                                                                         \
        if (value & 15) {                                                                                     \
            inner                                                                                             \
        }                                                                                                     \
        digest ^= digest >> 3;                                                                                \
        trace[level * blockDim.x + threadIdx.x] = digest;                                                     \
        if (GOES_ON(level) && digest % 16 == 0)                                                               \
            continue;                                                                                         \
    }

extern "C" __global__ void KERNEL(const unsigned *in, int rounds, volatile unsigned *trace, unsigned *out)
{
    unsigned digest = 1;
    int round;
    for (round = 0; round < rounds; round++)
        // clang-format off
        DOWN(0, DOWN(1, DOWN(2, DOWN(3, DOWN(4, DOWN(5, DOWN(6, DOWN(7, DOWN(8, DOWN(9, DOWN(10,
        DOWN(11, DOWN(12, DOWN(13, DOWN(14, DOWN(15, DOWN(16, DOWN(17, DOWN(18, DOWN(19, DOWN(20, DOWN(21,
            INNERMOST
        ))))))))))))))))))))))
    // clang-format on
    unsigned odd = __ballot_sync(0xffffffff, digest & 1);
    out[2 * threadIdx.x] = digest + odd;
    out[2 * threadIdx.x + 1] = round;
}
