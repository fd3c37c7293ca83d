// The n-th set bit, masks of a start and a width, and extensions of fields, with operands beyond the word too.
#define MASK(name) asm(name " %0, %1, %2;" : "=r"(d) : "r"(start), "r"(width)); *out++ = d
#define EXTEND(name) asm(name " %0, %1, %2;" : "=r"(d) : "r"(word), "r"(width)); *out++ = d

__device__ unsigned find(unsigned word, unsigned base, int offset)
{
    unsigned d;
    asm("fns.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(word), "r"(base), "r"(offset));
    return d;
}

extern "C" __global__ void bit_masks(const unsigned *in, unsigned *out)
{
    in += 5 * threadIdx.x;
    out += 10 * threadIdx.x;
    unsigned word = in[0], base = in[1], offset = in[2], start = in[3], width = in[4], d;
    *out++ = find(word, base, offset);
    MASK("bmsk.clamp.b32");
    MASK("bmsk.wrap.b32");
    EXTEND("szext.clamp.u32");
    EXTEND("szext.clamp.s32");
    EXTEND("szext.wrap.u32");
    EXTEND("szext.wrap.s32");
    *out++ = find(word, 0, 3);
    *out++ = find(word, 31, -1);
    asm("szext.wrap.s32 %0, %1, 16;" : "=r"(d) : "r"(word));
    *out = d;
}
