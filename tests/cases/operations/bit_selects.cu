// Functions of three bits, with and without a predicate, and every mode of byte permutation.
#define LOGIC(table) asm("lop3.b32 %0, %1, %2, %3, " table ";" : "=r"(d) : "r"(a), "r"(b), "r"(c)); *out++ = d
#define PERMUTE(mode) asm("prmt.b32" mode " %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c)); *out++ = d
#define FIXED(mode, b, c) asm("prmt.b32" mode " %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "n"(c)); *out++ = d

extern "C" __global__ void bit_selects(const unsigned *in, unsigned *out)
{
    unsigned t = threadIdx.x;
    in += 3 * t;
    out += 22 * t;
    unsigned a = in[0], b = in[1], c = in[2], d, e;
    LOGIC("0x80");
    LOGIC("0xfe");
    LOGIC("0x96");
    LOGIC("0xe8");
    LOGIC("0xca");
    LOGIC("0x1b");
    LOGIC("0x5a");
    LOGIC("0x24");
    unsigned either, both;
    asm("{\n\t.reg .pred p, q;\n\t"
        "setp.eq.u32 q, %5, 0;\n\t"
        "lop3.or.b32 %0|p, %2, %3, %4, 0x08, q;\n\t"
        "selp.u32 %1, 1, 0, p;\n\t}"
        : "=r"(d), "=r"(either) : "r"(a), "r"(b), "r"(c), "r"(t % 3));
    asm("{\n\t.reg .pred p, q;\n\t"
        "setp.eq.u32 q, %5, 0;\n\t"
        "lop3.and.b32 %0|p, %2, %3, %4, 0x02, q;\n\t"
        "selp.u32 %1, 2, 0, p;\n\t}"
        : "=r"(e), "=r"(both) : "r"(a), "r"(c), "r"(t), "r"(t % 2));
    *out++ = either | both;
    *out++ = d ^ e;
    PERMUTE("");
    FIXED("", b, 0xb3d5);
    asm("prmt.b32 %0, %1, 0, %2;" : "=r"(d) : "r"(a), "r"(0x4440 | t % 4));
    *out++ = d;
    asm("prmt.b32 %0, %1, %1, %2;" : "=r"(d) : "r"(a), "r"(c));
    *out++ = d;
    PERMUTE(".f4e");
    PERMUTE(".b4e");
    PERMUTE(".rc8");
    PERMUTE(".ecl");
    PERMUTE(".ecr");
    PERMUTE(".rc16");
    FIXED(".b4e", b, 3);
    FIXED(".ecl", b, 2);
}
