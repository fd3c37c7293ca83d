// Video instructions on bytes and halves: saturation, selectors, masks, accumulation.
#define OPERATION(text) asm(text : "=r"(d) : "r"(a), "r"(b), "r"(c)); *out++ = d

extern "C" __global__ void video_simd(const unsigned *in, unsigned *out)
{
    in += 3 * threadIdx.x;
    out += 28 * threadIdx.x;
    unsigned a = in[0], b = in[1], c = in[2], d;
    OPERATION("vadd4.s32.s32.s32.sat %0, %1, %2, %3;");
    OPERATION("vadd4.u32.u32.s32.sat %0.b310, %1.b0123, %2, %3;");
    OPERATION("vadd4.s32.u32.s32.add %0.b32, %1, %2, %3;");
    OPERATION("vsub4.u32.u32.u32.sat %0, %1, %2, %3;");
    OPERATION("vsub4.s32.u32.u32.add %0, %1, %2, %3;");
    OPERATION("vsub4.s32.s32.u32 %0.b2, %1.b5214, %2.b0246, %3;");
    OPERATION("vavrg4.s32.s32.s32 %0, %1, %2, %3;");
    OPERATION("vavrg4.u32.u32.u32.add %0.b321, %1, %2, %3;");
    OPERATION("vavrg4.s32.s32.u32 %0.b20, %1, %2, %3;");
    OPERATION("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;");
    OPERATION("vabsdiff4.s32.s32.s32.sat %0.b10, %1, %2, %3;");
    OPERATION("vabsdiff4.u32.s32.u32 %0, %1, %2, %3;");
    OPERATION("vmin4.s32.s32.u32 %0, %1, %2, %3;");
    OPERATION("vmin4.u32.u32.u32.add %0.b30, %1, %2, %3;");
    OPERATION("vmax4.u32.s32.s32.sat %0, %1, %2, %3;");
    OPERATION("vmax4.s32.s32.s32 %0.b321, %1.b7777, %2.b3210, %3;");
    OPERATION("vset4.s32.s32.lt %0, %1, %2, %3;");
    OPERATION("vset4.u32.u32.ne.add %0.b210, %1, %2, %3;");
    OPERATION("vset4.u32.s32.ge %0.b31, %1, %2, %3;");
    OPERATION("vadd2.s32.s32.s32.sat %0, %1, %2, %3;");
    OPERATION("vsub2.u32.u32.s32.sat %0.h1, %1.h01, %2, %3;");
    OPERATION("vavrg2.s32.s32.s32.add %0, %1, %2, %3;");
    OPERATION("vabsdiff2.u32.s32.s32 %0.h0, %1, %2, %3;");
    OPERATION("vmin2.s32.u32.s32 %0, %1, %2, %3;");
    OPERATION("vmax2.u32.u32.u32.add %0.h0, %1, %2, %3;");
    OPERATION("vset2.s32.s32.gt.add %0, %1, %2, %3;");
    OPERATION("vset2.u32.u32.le %0.h1, %1, %2, %3;");
    OPERATION("vsub2.s32.u32.u32.add %0.h10, %1, %2, %3;");
}
