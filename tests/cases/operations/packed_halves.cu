// Sums, minima and maxima of two 16-bit integers in a word, and `.relu`.
#define OPERATION(name) asm(name " %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b)); *out++ = d

extern "C" __global__ void packed_halves(const unsigned *in, unsigned *out)
{
    in += 2 * threadIdx.x;
    out += 10 * threadIdx.x;
    unsigned a = in[0], b = in[1], d;
    OPERATION("add.u16x2");
    OPERATION("add.s16x2");
    OPERATION("min.u16x2");
    OPERATION("min.s16x2");
    OPERATION("max.u16x2");
    OPERATION("max.s16x2");
    OPERATION("min.relu.s16x2");
    OPERATION("max.relu.s16x2");
    OPERATION("min.relu.s32");
    OPERATION("max.relu.s32");
}
