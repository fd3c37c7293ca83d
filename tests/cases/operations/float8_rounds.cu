// Pairs of singles and of halves to e4m3 and e5m2, with `.relu` too, and NaN beside a number.
using Pair = unsigned short;

#define SINGLES(name, a, b) asm(name " %0, %1, %2;" : "=h"(codes) : "f"(a), "f"(b))
#define HALVES(name) asm(name " %0, %1;" : "=h"(codes) : "r"(pair))
#define WIDEN(type) asm("cvt.rn.f16x2." type " %0, %1;" : "=r"(wide) : "h"(codes))

extern "C" __global__ void float8_rounds(const float2 *in, const unsigned *halves, Pair *out, unsigned *clipped,
                                         unsigned *nans)
{
    unsigned t = threadIdx.x, wide;
    float2 x = in[t];
    // Pairs of halves have the first number in the upper part here.
    unsigned pair = __byte_perm(halves[t], 0, 0x1032);
    Pair codes;
    SINGLES("cvt.rn.satfinite.e4m3x2.f32", x.x, x.y);
    out[t] = codes;
    HALVES("cvt.rn.satfinite.e4m3x2.f16x2");
    out[64 + t] = codes;
    SINGLES("cvt.rn.satfinite.e5m2x2.f32", x.x, x.y);
    out[128 + t] = codes;
    HALVES("cvt.rn.satfinite.e5m2x2.f16x2");
    out[192 + t] = codes;

    SINGLES("cvt.rn.satfinite.relu.e4m3x2.f32", x.x, x.y);
    WIDEN("e4m3x2");
    clipped[t] = wide;
    HALVES("cvt.rn.satfinite.relu.e4m3x2.f16x2");
    WIDEN("e4m3x2");
    clipped[64 + t] = wide;
    SINGLES("cvt.rn.satfinite.relu.e5m2x2.f32", x.x, x.y);
    WIDEN("e5m2x2");
    clipped[128 + t] = wide;
    HALVES("cvt.rn.satfinite.relu.e5m2x2.f16x2");
    WIDEN("e5m2x2");
    clipped[192 + t] = wide;

    if (t == 0) {
        // NaN from memory, so that no compiler folds the conversions.
        float none = __int_as_float(0x7fc00000 | __float_as_int(x.x) & 1);
        SINGLES("cvt.rn.satfinite.e4m3x2.f32", none, -1.5f);
        WIDEN("e4m3x2");
        nans[0] = wide;
        SINGLES("cvt.rn.satfinite.e4m3x2.f32", 2.0f, none);
        WIDEN("e4m3x2");
        nans[1] = wide;
        SINGLES("cvt.rn.satfinite.relu.e4m3x2.f32", none, -1.5f);
        WIDEN("e4m3x2");
        nans[2] = wide;
        SINGLES("cvt.rn.satfinite.relu.e4m3x2.f32", 2.0f, none);
        WIDEN("e4m3x2");
        nans[3] = wide;
        SINGLES("cvt.rn.satfinite.e5m2x2.f32", none, -1.5f);
        WIDEN("e5m2x2");
        nans[4] = wide;
        SINGLES("cvt.rn.satfinite.e5m2x2.f32", 2.0f, none);
        WIDEN("e5m2x2");
        nans[5] = wide;
        SINGLES("cvt.rn.satfinite.relu.e5m2x2.f32", none, -1.5f);
        WIDEN("e5m2x2");
        nans[6] = wide;
        SINGLES("cvt.rn.satfinite.relu.e5m2x2.f32", 2.0f, none);
        WIDEN("e5m2x2");
        nans[7] = wide;
    }
}
