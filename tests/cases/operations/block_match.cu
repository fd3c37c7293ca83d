// The place of a picture where a block differs least: sums of absolute differences of four pixels at a time.
constexpr int WIDTH = 20, SIZE = 8;

__device__ unsigned differences(unsigned a, unsigned b, unsigned sum)
{
    unsigned d;
    asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(sum));
    return d;
}

extern "C" __global__ void block_match(const unsigned char *picture, const unsigned *block, unsigned *sums,
                                       unsigned *best)
{
    unsigned at = threadIdx.x, x = at % 8, y = at / 8, sum = 0;
    for (int j = 0; j < SIZE; j++) {
        // The words that contain the row's pixels; the pixels begin at byte x % 4 of the first.
        const unsigned *row = (const unsigned *)(picture + (y + j) * WIDTH + (x & ~3u));
        for (int i = 0; i < SIZE / 4; i++) {
            unsigned pixels;
            asm("prmt.b32.f4e %0, %1, %2, %3;" : "=r"(pixels) : "r"(row[i]), "r"(row[i + 1]), "r"(x));
            sum = differences(pixels, block[j * SIZE / 4 + i], sum);
        }
    }
    sums[at] = sum;
    atomicMin(best, sum << 6 | at);
}
