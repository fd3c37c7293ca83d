// Dot products of four bytes with four bytes, and of two halves with the lower or upper two bytes, with all signs.
#define DOT(name) asm(name " %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c)); *out++ = d

extern "C" __global__ void dot_products(const unsigned *in, unsigned *out)
{
    in += 3 * threadIdx.x;
    out += 12 * threadIdx.x;
    unsigned a = in[0], b = in[1], c = in[2], d;
    DOT("dp4a.u32.u32");
    DOT("dp4a.u32.s32");
    DOT("dp4a.s32.u32");
    DOT("dp4a.s32.s32");
    DOT("dp2a.lo.u32.u32");
    DOT("dp2a.lo.u32.s32");
    DOT("dp2a.lo.s32.u32");
    DOT("dp2a.lo.s32.s32");
    DOT("dp2a.hi.u32.u32");
    DOT("dp2a.hi.u32.s32");
    DOT("dp2a.hi.s32.u32");
    DOT("dp2a.hi.s32.s32");
}
