// Every code of e4m3 and e5m2 to halves, with and without `.relu`, and back.
using Pair = unsigned short;

#define WIDEN(name) asm(name " %0, %1;" : "=r"(wide) : "h"(codes))
#define NARROW(name) asm(name " %0, %1;" : "=h"(narrow) : "r"(wide))

// Zero in place of the codes of numbers that are NaN.
__device__ Pair without_nan(Pair codes, unsigned halves)
{
    unsigned low = (halves & 0x7fff) > 0x7c00, high = (halves >> 16 & 0x7fff) > 0x7c00;
    return codes & (low ? 0xff00 : 0xffff) & (high ? 0x00ff : 0xffff);
}

extern "C" __global__ void float8_codes(const Pair *in, unsigned *halves, Pair *back)
{
    unsigned t = threadIdx.x, wide;
    Pair codes = in[t], narrow;
    WIDEN("cvt.rn.relu.f16x2.e4m3x2");
    halves[256 + t] = wide;
    WIDEN("cvt.rn.relu.f16x2.e5m2x2");
    halves[768 + t] = wide;
    WIDEN("cvt.rn.f16x2.e4m3x2");
    halves[t] = wide;
    NARROW("cvt.rn.satfinite.e4m3x2.f16x2");
    back[t] = without_nan(narrow, wide);
    WIDEN("cvt.rn.f16x2.e5m2x2");
    halves[512 + t] = wide;
    NARROW("cvt.rn.satfinite.e5m2x2.f16x2");
    back[256 + t] = without_nan(narrow, wide);
}
