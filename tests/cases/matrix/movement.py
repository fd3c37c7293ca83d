"""The cases of ldmatrix, stmatrix and movmatrix.

An 8 x 8 matrix of 16-bit elements has eight rows of 16 bytes; lane i of the addresses gives row i % 8 of matrix i / 8. In
the registers lane l holds row l / 4, columns 2 * (l % 4) and 2 * (l % 4) + 1 of a matrix, of its transpose with .trans.

    python3 movement.py        # writes the kernels and their cases
"""

from case import flat, generator, matrix, product, read, transposed, write, write_ptx, written

TWO = [("in", "u64"), ("out", "u64")]

START = """
.reg .b32 %thread, %lane, %warp, %g, %t, %o, %i, %row;
.reg .b32 %r<4>, %w<4>;
.reg .b64 %q, %s, %I, %O, %base, %p;
.reg .pred %more;
ld.param.u64 %I, [in];
ld.param.u64 %O, [out];
cvta.to.global.u64 %I, %I;
cvta.to.global.u64 %O, %O;
mov.u32 %thread, %tid.x;
and.b32 %lane, %thread, 31;
shr.u32 %warp, %thread, 5;
shr.u32 %g, %lane, 2;
and.b32 %t, %lane, 3;
"""


def slot(row, factor=5):
    """The place in shared memory whose address lane `row` gives."""
    return row * factor & 31


def ldmatrix(name, num, trans, target="sm_75", version="6.5", generic=False, others="copies", warps=2, space=".shared"):
    """Every warp fills 32 rows of shared memory, 48 bytes apart, and loads num matrices from rows in a changed order.
    Lanes without an address to give hold copies of the lower ones (sm_75), or with others="rows" those of other rows."""
    body = START + """
// shared memory of a warp: 32 rows of 16 bytes, 48 bytes apart; lane i copies row i
mov.u64 %base, rows;
mul.wide.u32 %q, %warp, 1536;
add.u64 %base, %base, %q;
mul.wide.u32 %q, %thread, 16;
add.u64 %p, %I, %q;
ld.global.v4.b32 {%w0, %w1, %w2, %w3}, [%p];
mul.wide.u32 %q, %lane, 48;
add.u64 %s, %base, %q;
st.shared.v4.b32 [%s], {%w0, %w1, %w2, %w3};
bar.sync 0;
// lane i gives the address of row 5 * i % 32
"""
    body += "and.b32 %%row, %%lane, %d;\n" % (8 * num - 1) if others == "copies" else "mov.b32 %row, %lane;\n"
    body += "mul.lo.u32 %row, %row, 5;\nand.b32 %row, %row, 31;\nmul.wide.u32 %q, %row, 48;\nadd.u64 %s, %base, %q;\n"
    if generic:
        body += "cvta.shared.u64 %s, %s;\n"
    regs = "{" + ", ".join("%%r%d" % i for i in range(num)) + "}"
    head = "ldmatrix.sync.aligned.m8n8.x%d%s%s.b16" % (num, ".trans" if trans else "", "" if generic else space)
    body += "%s %s, [%%s];\n// out: matrices of 8 rows of 16 bytes; lane l writes row l / 4, word l %% 4\n" % (head, regs)
    body += "mul.lo.u32 %%o, %%warp, %d;\nmad.lo.u32 %%o, %%g, 16, %%o;\nmad.lo.u32 %%o, %%t, 4, %%o;\ncvt.u64.u32 %%q, %%o;\nadd.u64 %%p, %%O, %%q;\n" % (128 * num)
    body += "".join("st.global.b32 [%%p+%d], %%r%d;\n" % (128 * i, i) for i in range(num))
    write_ptx(name, version, target, TWO, head, body, ".shared .align 16 .b8 rows[%d];" % (1536 * warps))
    rng = generator(name)
    data, out = [], []
    for _ in range(warps):
        rows = [[rng.randrange(1 << 16) for _ in range(8)] for _ in range(32)]
        data += flat(rows)
        for one in range(num):
            taken = [rows[slot(8 * one + r)] for r in range(8)]
            out += flat(transposed(taken) if trans else taken)
    write(name, head, [read("in", "u16", data), written("out", "u16", out)], 32 * warps)


def stmatrix(name, num, trans, generic=False, warps=2):
    """Every warp stores num matrices to rows of shared memory in a changed order; the rest of that memory stays."""
    body = START + """
// shared memory of a warp: 32 rows of 16 bytes, 32 bytes apart, all 0xa5 at first
mov.u64 %base, rows;
mul.wide.u32 %q, %warp, 1024;
add.u64 %base, %base, %q;
mul.wide.u32 %q, %lane, 32;
add.u64 %s, %base, %q;
mov.b32 %w0, 0xa5a5a5a5;
st.shared.v4.b32 [%s], {%w0, %w0, %w0, %w0};
st.shared.v4.b32 [%s+16], {%w0, %w0, %w0, %w0};
bar.warp.sync 0xffffffff;
// in: matrices of 8 rows of 16 bytes; lane l reads row l / 4, word l % 4
"""
    body += "mul.lo.u32 %%o, %%warp, %d;\nmad.lo.u32 %%o, %%g, 16, %%o;\nmad.lo.u32 %%o, %%t, 4, %%o;\ncvt.u64.u32 %%q, %%o;\nadd.u64 %%p, %%I, %%q;\n" % (128 * num)
    body += "".join("ld.global.b32 %%r%d, [%%p+%d];\n" % (i, 128 * i) for i in range(num))
    body += "// lane i gives the address of row 5 * i % 32; lanes past the last matrix give addresses that are not used\n"
    body += "mul.lo.u32 %row, %lane, 5;\nand.b32 %row, %row, 31;\nmul.wide.u32 %q, %row, 32;\nadd.u64 %s, %base, %q;\n"
    if generic:
        body += "cvta.shared.u64 %s, %s;\n"
    regs = "{" + ", ".join("%%r%d" % i for i in range(num)) + "}"
    head = "stmatrix.sync.aligned.m8n8.x%d%s%s.b16" % (num, ".trans" if trans else "", "" if generic else ".shared")
    body += "%s [%%s], %s;\nbar.warp.sync 0xffffffff;\n" % (head, regs)
    body += """
// out: the shared memory, 32 bytes a lane
mul.wide.u32 %q, %lane, 32;
add.u64 %s, %base, %q;
mul.wide.u32 %q, %thread, 32;
add.u64 %p, %O, %q;
ld.shared.v4.b32 {%w0, %w1, %w2, %w3}, [%s];
st.global.v4.b32 [%p], {%w0, %w1, %w2, %w3};
ld.shared.v4.b32 {%w0, %w1, %w2, %w3}, [%s+16];
st.global.v4.b32 [%p+16], {%w0, %w1, %w2, %w3};
"""
    write_ptx(name, "7.8", "sm_90", TWO, head, body, ".shared .align 16 .b8 rows[%d];" % (1024 * warps))
    rng = generator(name)
    data, out = [], []
    for _ in range(warps):
        memory = [[0xA5A5] * 16 for _ in range(32)]
        for one in range(num):
            rows = [[rng.randrange(1 << 16) for _ in range(8)] for _ in range(8)]
            data += flat(rows)
            for r, row in enumerate(transposed(rows) if trans else rows):
                memory[slot(8 * one + r)][:8] = row
        out += flat(memory)
    write(name, head, [read("in", "u16", data), written("out", "u16", out)], 32 * warps)


def movmatrix():
    """The transpose of a matrix in registers; twice gives the matrix again."""
    body = START + """
mul.lo.u32 %o, %warp, 128;
mad.lo.u32 %o, %lane, 4, %o;
cvt.u64.u32 %q, %o;
add.u64 %p, %I, %q;
ld.global.b32 %r0, [%p];
movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r0;
movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r1;
xor.b32 %r2, %r2, 0xffff0000;
movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r2;
mul.lo.u32 %o, %warp, 256;
mad.lo.u32 %o, %lane, 4, %o;
cvt.u64.u32 %q, %o;
add.u64 %p, %O, %q;
st.global.b32 [%p], %r1;
st.global.b32 [%p+128], %r2;
"""
    about = "movmatrix: the transpose of an 8 x 8 matrix by rows; then the transpose of it with the odd columns inverted."
    write_ptx("movmatrix", "7.8", "sm_75", TWO, about, body)
    rng = generator("movmatrix")
    data, out = [], []
    for _ in range(4):
        rows = [[rng.randrange(1 << 16) for _ in range(8)] for _ in range(8)]
        data += flat(rows)
        out += flat(transposed(rows))
        out += flat(transposed([[v ^ 0xFFFF if j % 2 else v for j, v in enumerate(row)] for row in rows]))
    write("movmatrix", "movmatrix", [read("in", "u16", data), written("out", "u16", out)], 128)


def gemm():
    """A product whose fragments come by ldmatrix: A by rows as it is, B by rows with .trans; D leaves by stmatrix."""
    name = "ldmatrix_mma_stmatrix"
    body = """
.reg .b32 %lane, %row, %half, %o, %w<4>, %a<4>, %b<4>, %d<4>;
.reg .b64 %A, %B, %D, %q, %p, %s;
ld.param.u64 %A, [a];
ld.param.u64 %B, [b];
ld.param.u64 %D, [d];
cvta.to.global.u64 %A, %A;
cvta.to.global.u64 %B, %B;
cvta.to.global.u64 %D, %D;
mov.u32 %lane, %tid.x;
// A and B: 16 x 16 f16, rows of 32 bytes; in shared memory rows are 48 bytes apart. Lane i copies half i % 2 of row i / 2
mul.wide.u32 %q, %lane, 16;
shr.u32 %row, %lane, 1;
and.b32 %half, %lane, 1;
mul.lo.u32 %o, %row, 48;
mad.lo.u32 %o, %half, 16, %o;
cvt.u64.u32 %s, %o;
add.u64 %p, %A, %q;
ld.global.v4.b32 {%w0, %w1, %w2, %w3}, [%p];
st.shared.v4.b32 [%s], {%w0, %w1, %w2, %w3};
add.u64 %p, %B, %q;
ld.global.v4.b32 {%w0, %w1, %w2, %w3}, [%p];
st.shared.v4.b32 [%s+768], {%w0, %w1, %w2, %w3};
bar.sync 0;
// lane i: row i % 16, columns from 8 * (i / 16). The four matrices are rows 0-7 and 8-15 of columns 0-7, then of 8-15
and.b32 %row, %lane, 15;
shr.u32 %half, %lane, 4;
mul.lo.u32 %o, %row, 48;
mad.lo.u32 %o, %half, 16, %o;
cvt.u64.u32 %s, %o;
ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%a0, %a1, %a2, %a3}, [%s];
ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%b0, %b1, %b2, %b3}, [%s+768];
mov.b32 %d0, 0;
mov.b32 %d1, 0;
mov.b32 %d2, 0;
mov.b32 %d3, 0;
mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%d0, %d1}, {%a0, %a1, %a2, %a3}, {%b0, %b1}, {%d0, %d1};
mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%d2, %d3}, {%a0, %a1, %a2, %a3}, {%b2, %b3}, {%d2, %d3};
// D over A in shared memory: d0 and d1 are rows 0-7 and 8-15 of columns 0-7, d2 and d3 of columns 8-15
bar.warp.sync 0xffffffff;
stmatrix.sync.aligned.m8n8.x4.shared.b16 [%s], {%d0, %d1, %d2, %d3};
bar.sync 0;
shr.u32 %row, %lane, 1;
and.b32 %half, %lane, 1;
mul.lo.u32 %o, %row, 48;
mad.lo.u32 %o, %half, 16, %o;
cvt.u64.u32 %s, %o;
ld.shared.v4.b32 {%w0, %w1, %w2, %w3}, [%s];
mul.wide.u32 %q, %lane, 16;
add.u64 %p, %D, %q;
st.global.v4.b32 [%p], {%w0, %w1, %w2, %w3};
"""
    body = body.replace("%A, %B, %D, %q, %p, %s;", "%A, %B, %D, %q, %p, %s, %base;")
    body = body.replace("cvt.u64.u32 %s, %o;", "cvt.u64.u32 %s, %o;\nmov.u64 %base, tiles;\nadd.u64 %s, %s, %base;")
    write_ptx(name, "7.8", "sm_90", [("a", "u64"), ("b", "u64"), ("d", "u64")],
              "D = A * B of 16 x 16 f16 by rows: ldmatrix for A, ldmatrix.trans for B, stmatrix for D.", body,
              ".shared .align 16 .b8 tiles[1536];")
    rng = generator(name)
    a, b = matrix(rng, 16, 16, "f16", "a", True), matrix(rng, 16, 16, "f16", "b", True)
    d = product(a, b, [[0] * 16 for _ in range(16)])
    write(name, "fragments by ldmatrix, results by stmatrix", [read("a", "f16", flat(a)), read("b", "f16", flat(b)),
                                                             written("d", "f16", flat(d))], 32)


if __name__ == "__main__":
    for count in (1, 2, 4):
        for turned in (False, True):
            end = "x%d%s" % (count, "_trans" if turned else "")
            ldmatrix("ldmatrix_" + end, count, turned)
            stmatrix("stmatrix_" + end, count, turned)
    ldmatrix("ldmatrix_x1_rows", 1, False, "sm_80", "7.0", others="rows")
    ldmatrix("ldmatrix_x2_trans_rows", 2, True, "sm_80", "7.0", others="rows", generic=True)
    ldmatrix("ldmatrix_x4_generic", 4, False, generic=True, warps=4)
    ldmatrix("ldmatrix_x2_cta", 2, False, "sm_80", "7.8", others="rows", space=".shared::cta")
    stmatrix("stmatrix_x4_trans_generic", 4, True, generic=True, warps=1)
    movmatrix()
    gemm()
