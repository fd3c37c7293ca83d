// Conversions that saturate two integers and pack them, with 16 to 2 bits each.
#define HALVES(name) asm(name " %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b)); *out++ = d
#define PACK(name) asm(name " %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c)); *out++ = d

__device__ unsigned bytes(unsigned high, unsigned low, unsigned before)
{
    unsigned d;
    asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(high), "r"(low), "r"(before));
    return d;
}

extern "C" __global__ void pack_saturated(const unsigned *in, unsigned *out)
{
    in += 3 * threadIdx.x;
    out += 9 * threadIdx.x;
    unsigned a = in[0], b = in[1], c = in[2], d;
    HALVES("cvt.pack.sat.u16.s32");
    HALVES("cvt.pack.sat.s16.s32");
    PACK("cvt.pack.sat.u8.s32.b32");
    PACK("cvt.pack.sat.s8.s32.b32");
    PACK("cvt.pack.sat.u4.s32.b32");
    PACK("cvt.pack.sat.s4.s32.b32");
    PACK("cvt.pack.sat.u2.s32.b32");
    PACK("cvt.pack.sat.s2.s32.b32");
    *out = bytes(c, a, bytes(b, c, 0));
}
