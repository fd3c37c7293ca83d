"""The cases of mma.sync with dense matrices.

    python3 dense.py        # writes the kernels and their cases
"""

from fractions import Fraction

from case import (BITS, accumulator, clamp, each, flat, generator, matrix, numbers, product, read, transposed, wrap, write,
                  write_ptx, written)
from fragments import accumulators, braced, load_a, load_b, move_c, start

FOUR = [("a", "u64"), ("b", "u64"), ("c", "u64"), ("d", "u64")]


def rounded(value, mode):
    """The f64 nearest to a fraction in a direction."""
    near = float(value)  # to nearest even
    if Fraction(near) == value or mode == "rn":
        return near
    from math import inf, nextafter
    low, high = (near, nextafter(near, inf)) if Fraction(near) < value else (nextafter(near, -inf), near)
    return {"rm": low, "rp": high, "rz": low if value > 0 else high}[mode]


def scaled(rng, kind, m, n, k):
    """A, B, C of 8-bit floats that use several exponents: a row of A and a column of B have one scale each."""
    rows = [rng.choice([1 / 8, 1, 32]) for _ in range(m)]
    columns = [rng.choice([1 / 8, 1, 16]) for _ in range(n)]
    a = [[numbers(rng, kind[0], "a") * rows[i] for _ in range(k)] for i in range(m)]
    b = [[numbers(rng, kind[1], "b") * columns[j] for j in range(n)] for _ in range(k)]
    c = [[rng.randint(-512, 512) / 4 * rows[i] * columns[j] for j in range(n)] for i in range(m)]
    return a, b, c


def at_limits(rng, kinds, m, n, k):
    """Integers whose sums leave 32 bits. Where that happens all products have one sign, so that the order is no matter."""
    b = matrix(rng, k, n, kinds[1], "b")
    signs = [rng.choice([1, -1]) if kinds[1][0] == "s" else 1 for _ in range(n)]
    limit = 127 if BITS[kinds[1]] == 8 else 7
    if kinds[1][0] == "s":
        b = [[signs[j] * min(abs(b[i][j]), limit) for j in range(n)] for i in range(k)]
    a = matrix(rng, m, k, kinds[0], "a")
    c = accumulator(rng, m, n, "s32", None)
    for i in range(m):
        if kinds[0][0] == "s" and i % 4 == 0:
            continue  # a row of both signs, far from the limits
        if kinds[0][0] == "s":
            a[i] = [abs(value) if value != -(limit + 1) else limit for value in a[i]]
            if i % 4 == 3:
                a[i] = [-value for value in a[i]]
        for j in range(n):
            size = sum(a[i][q] * b[q][j] for q in range(k))
            edge = (1 << 31) - 1 if size >= 0 else -(1 << 31)
            if rng.random() < 0.8:
                distance = rng.randint(0, 2 * abs(size) + 1)  # some overflow, some just not
                c[i][j] = edge - distance if edge > 0 else edge + distance
            else:
                c[i][j] = -edge if edge > 0 else -(edge + 1)  # the other end: no overflow
    return a, b, c


def dense(name, shape, types, version, target, columns=False, tail="", sat=False, limits=False, bit=None, warps=2, grid=1,
          rounding=None):
    """A case of one instruction: every warp multiplies its own matrices. `types` are those of D, A, B and C."""
    m, n, k = shape
    td, ta, tb, tc = types
    bits = BITS[ta]
    qualifiers = "m%dn%dk%d.row.col%s.%s%s" % (m, n, k, ".satfinite" if sat else "", ".".join(types), tail)
    la, a = load_a(m, k, bits)
    lb, b = load_b(k, bits, columns)
    lc, c = move_c(m, tc, "%pc", True, "c")
    sd, d = move_c(m, td, "%pd", False, "d")
    body = start(warps) + la + lb + accumulators(m, tc, "c") + lc + accumulators(m, td, "d")
    body += "mma.sync.aligned.%s %s, %s, %s, %s;\n" % (qualifiers, braced(d), braced(a), braced(b), braced(c)) + sd
    about = "mma.sync.aligned.%s: D = A * B + C for every warp.\n" % qualifiers
    about += "A: %d x %d %s by rows. B: %d x %d %s by %s. C and D: %d x %d by rows." % (
        m, k, ta, k, n, tb, "columns" if columns else "rows", m, n)
    write_ptx(name, version, target, FOUR, about, body)

    rng = generator(name)
    buffers = {"a": [], "b": [], "c": [], "d": []}
    for _ in range(warps * grid):
        if limits:
            A, B, C = at_limits(rng, (ta, tb), m, n, k)
        elif ta in ("e4m3", "e5m2") and tc == "f32":
            A, B, C = scaled(rng, (ta, tb), m, n, k)
        else:
            A = matrix(rng, m, k, ta, "a", tc == "f16")
            B = matrix(rng, k, n, tb, "b", tc == "f16")
            C = accumulator(rng, m, n, tc, ta)
        if rounding:  # one product of each sum is not zero: A has one such column in a row, B is full
            for i in range(m):
                keep = rng.randrange(k)
                A[i] = [rng.uniform(-3, 3) if q == keep else 0.0 for q in range(k)]
            B = [[rng.uniform(-3, 3) for _ in range(n)] for _ in range(k)]
            C = [[rng.uniform(-20, 20) for _ in range(n)] for _ in range(m)]
            D = each(lambda value: rounded(value, rounding), product(each(Fraction, A), each(Fraction, B), each(Fraction, C)))
        elif bit:
            D = [[sum((A[i][q] ^ B[q][j]) if bit == "xor" else (A[i][q] & B[q][j]) for q in range(k)) + C[i][j]
                  for j in range(n)] for i in range(m)]
        else:
            D = product(A, B, C)
        if td == "s32":
            D = each(clamp if sat else wrap, D)
        for key, rows in (("a", A), ("b", transposed(B) if columns else B), ("c", C), ("d", D)):
            buffers[key] += flat(rows)
    write(name, qualifiers, [read("a", ta, buffers["a"]), read("b", tb, buffers["b"]), read("c", tc, buffers["c"]),
                             written("d", td, buffers["d"])], 32 * warps, grid)


def floats():
    for k, version, target in ((8, "6.5", "sm_75"), (16, "7.0", "sm_80")):
        dense("mma_f16_k%d" % k, (16, 8, k), ("f16", "f16", "f16", "f16"), version, target)
        dense("mma_f16_f32_k%d" % k, (16, 8, k), ("f32", "f16", "f16", "f32"), version, target, grid=2)
    for k in (8, 16):
        dense("mma_bf16_k%d" % k, (16, 8, k), ("f32", "bf16", "bf16", "f32"), "7.0", "sm_80", columns=k == 8)
    for k in (4, 8):
        dense("mma_tf32_k%d" % k, (16, 8, k), ("f32", "tf32", "tf32", "f32"), "7.0", "sm_80", warps=3 if k == 4 else 1)
    doubles = ("f64",) * 4
    dense("mma_f64_m8n8k4", (8, 8, 4), doubles, "7.0", "sm_80", warps=4)
    for k in (4, 8, 16):
        dense("mma_f64_k%d" % k, (16, 8, k), doubles, "7.8", "sm_90")
    dense("mma_f64_m8n8k4_rounds", (8, 8, 4), doubles, "7.0", "sm_80", tail=".rz", rounding="rz")
    for k, mode in ((4, "rz"), (8, "rm"), (16, "rp"), (16, "rn")):
        dense("mma_f64_k%d_%s" % (k, mode), (16, 8, k), doubles, "7.8", "sm_90", tail="." + mode, rounding=mode)
    for k, version in ((16, "8.7"), (32, "8.4")):
        for a, b, d in (("e4m3", "e5m2", "f32"), ("e5m2", "e5m2", "f32"), ("e4m3", "e4m3", "f16"), ("e5m2", "e4m3", "f16")):
            dense("mma_%s_%s_%s_k%d" % (a, b, d, k), (16, 8, k), (d, a, b, d), "8.7" if d == "f16" else version, "sm_89",
                  columns=a == b)


def integers():
    def case(m, k, a, b, sat, limits, columns, **rest):
        name = "mma_%s_%s_m%dk%d%s" % (a, b, m, k, "_sat" if sat else "_wrap" if limits else "")
        old = m == 8
        dense(name, (m, 8, k), ("s32", a, b, "s32"), "6.5" if old else "7.0", "sm_75" if old else "sm_80", columns=columns,
              sat=sat, limits=limits, **rest)

    case(8, 16, "s8", "s8", False, False, False)
    case(8, 16, "u8", "s8", False, True, False)
    case(8, 16, "s8", "u8", True, True, True, warps=1, grid=2)
    case(16, 16, "s8", "u8", False, False, False)
    case(16, 16, "u8", "u8", True, True, False)
    case(16, 16, "s8", "s8", False, True, True)
    case(16, 32, "s8", "s8", True, True, False)
    case(16, 32, "u8", "s8", False, True, True)
    case(16, 32, "s8", "u8", False, False, False, warps=4)
    case(16, 32, "u8", "u8", False, False, True)
    for m, k in ((8, 32), (16, 32), (16, 64)):
        case(m, k, "s4", "s4", False, False, True)
        case(m, k, "u4", "s4", True, True, True)
        case(m, k, "s4", "u4", False, True, True)
    case(16, 64, "u4", "u4", True, True, True)
    for m, k in ((8, 128), (16, 128), (16, 256)):
        for bit in ("xor", "and"):
            new = m == 16 or bit == "and"
            dense("mma_b1_%s_m%dk%d" % (bit, m, k), (m, 8, k), ("s32", "b1", "b1", "s32"),
                  "7.1" if bit == "and" else "7.0", "sm_80" if new else "sm_75", columns=True, tail=".%s.popc" % bit, bit=bit)


def loop():
    """A product of 16 x 96 by 96 x 32 in six steps with four accumulators that start at zero."""
    name = "mma_loop"
    m, n, k, steps = 16, 32, 16, 6
    body = start(1, "abd") + """
.reg .b32 %a<4>, %b<8>, %step;
.reg .f32 %d<16>;
.reg .pred %more;
// A: rows of 192 bytes; B: rows of 64 bytes; a step is 32 bytes of A's rows and 16 rows of B
mul.lo.u32 %o, %g, 192;
mad.lo.u32 %o, %t, 4, %o;
cvt.u64.u32 %q, %o;
add.u64 %pa, %A, %q;
mul.lo.u32 %o, %t, 128;
mad.lo.u32 %o, %g, 2, %o;
cvt.u64.u32 %q, %o;
add.u64 %pb, %B, %q;
"""
    body += "".join("mov.f32 %%d%d, 0f00000000;\n" % i for i in range(16)) + """
mov.u32 %step, 0;
LOOP:
ld.global.b32 %a0, [%pa];
ld.global.b32 %a1, [%pa+1536];
ld.global.b32 %a2, [%pa+16];
ld.global.b32 %a3, [%pa+1552];
"""
    for tile in range(4):
        for half in range(2):
            at = 16 * tile + 512 * half
            body += "ld.global.b16 %%h0, [%%pb+%d];\nld.global.b16 %%h1, [%%pb+%d];\n" % (at, at + 64)
            body += "mov.b32 %%b%d, {%%h0, %%h1};\n" % (2 * tile + half)
    for tile in range(4):
        d = braced(["%%d%d" % (4 * tile + i) for i in range(4)])
        body += "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 %s, {%%a0, %%a1, %%a2, %%a3}, {%%b%d, %%b%d}, %s;\n" % (
            d, 2 * tile, 2 * tile + 1, d)
    body += """
add.u64 %pa, %pa, 32;
add.u64 %pb, %pb, 1024;
add.u32 %step, %step, 1;
setp.lt.u32 %more, %step, 6;
@%more bra LOOP;
// D: rows of 128 bytes
mul.lo.u32 %o, %g, 128;
mad.lo.u32 %o, %t, 8, %o;
cvt.u64.u32 %q, %o;
add.u64 %pd, %D, %q;
"""
    for tile in range(4):
        body += "st.global.v2.f32 [%%pd+%d], {%%d%d, %%d%d};\n" % (32 * tile, 4 * tile, 4 * tile + 1)
        body += "st.global.v2.f32 [%%pd+%d], {%%d%d, %%d%d};\n" % (32 * tile + 1024, 4 * tile + 2, 4 * tile + 3)
    about = "D = A * B of 16 x 96 and 96 x 32 f16 by rows, D f32 by rows.\n"
    about += "Six steps over K with four accumulators of 16 x 8 that start at zero."
    write_ptx(name, "7.0", "sm_80", [FOUR[0], FOUR[1], FOUR[3]], about, body)
    rng = generator(name)
    a = [[rng.randint(-128, 128) / 8 for _ in range(k * steps)] for _ in range(m)]
    b = [[rng.randint(-128, 128) / 8 for _ in range(n)] for _ in range(k * steps)]
    d = product(a, b, [[0] * n for _ in range(m)])
    write(name, "six steps over K, four accumulators", [read("a", "f16", flat(a)), read("b", "f16", flat(b)),
                                                        written("d", "f32", flat(d))], 32)


def zero_start():
    """The accumulator is the constant zero; a second product goes on from the first one's result in place."""
    name = "mma_zero_start"
    la, a = load_a(16, 32, 8)
    lb, b = load_b(32, 8)
    sd, d = move_c(16, "s32", "%pd", False, "d")
    body = start(2, "abd") + la + lb + accumulators(16, "s32", "d") + """
.reg .s32 %z;
mov.s32 %z, 0;
mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, {%b0, %b1}, {%z, %z, %z, %z};
// once more with A's columns and B's rows 0-15 and 16-31 exchanged in both: the same product again
mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%d0, %d1, %d2, %d3}, {%a2, %a3, %a0, %a1}, {%b1, %b0}, {%d0, %d1, %d2, %d3};
""" + sd
    about = "D = A * B + A * B, the first accumulator being zero.\nA: 16 x 32 s8 by rows. B: 32 x 8 s8 by rows. D: s32 by rows."
    write_ptx(name, "7.0", "sm_80", [FOUR[0], FOUR[1], FOUR[3]], about, body)
    rng = generator(name)
    buffers = [], [], []
    for _ in range(2):
        a, b = matrix(rng, 16, 32, "s8", "a"), matrix(rng, 32, 8, "s8", "b")
        d = each(lambda v: 2 * v, product(a, b, [[0] * 8 for _ in range(16)]))
        for buffer, rows in zip(buffers, (a, b, d)):
            buffer += flat(rows)
    write(name, "an accumulator that is zero, then in place", [read("a", "s8", buffers[0]), read("b", "s8", buffers[1]),
                                                             written("d", "s32", buffers[2])], 64)


def same_registers():
    """D is written over the registers of A."""
    name = "mma_same_registers"
    la, a = load_a(16, 32, 8)
    lb, b = load_b(32, 8, True)
    lc, c = move_c(16, "s32", "%pc", True, "c")
    sd, d = move_c(16, "s32", "%pd", False, "a")
    body = start(1) + la + lb + accumulators(16, "s32", "c") + lc + """
mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%a0, %a1, %a2, %a3}, {%a0, %a1, %a2, %a3}, {%b0, %b1}, {%c0, %c1, %c2, %c3};
""" + sd
    about = "D = A * B + C where D's registers are A's.\nA: 16 x 32 u8 by rows. B: 32 x 8 s8 by columns. C and D: s32 by rows."
    write_ptx(name, "7.0", "sm_80", FOUR, about, body)
    rng = generator(name)
    a, b, c = matrix(rng, 16, 32, "u8", "a"), matrix(rng, 32, 8, "s8", "b"), accumulator(rng, 16, 8, "s32", None)
    write(name, "D over A", [read("a", "u8", flat(a)), read("b", "s8", flat(transposed(b))), read("c", "s32", flat(c)),
                             written("d", "s32", flat(product(a, b, c)))], 32)


def chain():
    """(A * B) * C with the f16 results of two products as the A fragment of a third one."""
    name = "mma_chain"
    la, a = load_a(16, 16, 16)
    body = start(1) + la + """
.reg .b32 %b<4>, %c<2>, %e<4>, %d<2>;
// B: 16 x 16, rows of 32 bytes; two tiles of 8 columns
mul.lo.u32 %o, %t, 64;
mad.lo.u32 %o, %g, 2, %o;
cvt.u64.u32 %q, %o;
add.u64 %pb, %B, %q;
"""
    for tile in range(2):
        for half in range(2):
            at = 16 * tile + 256 * half
            body += "ld.global.b16 %%h0, [%%pb+%d];\nld.global.b16 %%h1, [%%pb+%d];\nmov.b32 %%b%d, {%%h0, %%h1};\n" % (
                at, at + 32, 2 * tile + half)
    body += """
mov.b32 %e0, 0;
mov.b32 %e1, 0;
mov.b32 %e2, 0;
mov.b32 %e3, 0;
mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%e0, %e1}, {%a0, %a1, %a2, %a3}, {%b0, %b1}, {%e0, %e1};
mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%e2, %e3}, {%a0, %a1, %a2, %a3}, {%b2, %b3}, {%e2, %e3};
// C: 16 x 8, rows of 16 bytes
mul.lo.u32 %o, %t, 32;
mad.lo.u32 %o, %g, 2, %o;
cvt.u64.u32 %q, %o;
add.u64 %pc, %C, %q;
ld.global.b16 %h0, [%pc];
ld.global.b16 %h1, [%pc+16];
mov.b32 %c0, {%h0, %h1};
ld.global.b16 %h0, [%pc+128];
ld.global.b16 %h1, [%pc+144];
mov.b32 %c1, {%h0, %h1};
mov.b32 %d0, 0;
mov.b32 %d1, 0;
// E's first tile is columns 0-7 of the new A, rows g and g+8; its second tile is columns 8-15
mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%d0, %d1}, {%e0, %e1, %e2, %e3}, {%c0, %c1}, {%d0, %d1};
"""
    sd, d = move_c(16, "f16", "%pd", False, "d")
    about = "D = (A * B) * C; A, B 16 x 16 and C 16 x 8 f16 by rows, D f16 by rows."
    write_ptx(name, "7.0", "sm_80", FOUR, about, body + sd)
    rng = generator(name)
    a = [[rng.randint(-2, 2) for _ in range(16)] for _ in range(16)]
    b = [[rng.randint(-2, 2) for _ in range(16)] for _ in range(16)]
    c = [[rng.randint(-2, 2) for _ in range(8)] for _ in range(16)]
    zero = [[0] * 16 for _ in range(16)]
    d = product(product(a, b, zero), c, zero)
    write(name, "an accumulator becomes the next A", [read("a", "f16", flat(a)), read("b", "f16", flat(b)),
                                                      read("c", "f16", flat(c)), written("d", "f16", flat(d))], 32)


def branches():
    """An mma after a branch in which the lanes of a warp part, and one in a branch that a warp takes as a whole."""
    name = "mma_after_branch"
    la, a = load_a(16, 16, 16)
    lb, b = load_b(16, 16)
    lc, c = move_c(16, "f32", "%pc", True, "c")
    sd, d = move_c(16, "f32", "%pd", False, "d")
    body = start(2) + la + lb + accumulators(16, "f32", "c") + lc + accumulators(16, "f32", "d") + """
.reg .pred %odd, %more;
.reg .b32 %r;
.reg .f32 %two;
mov.f32 %two, 0f40000000;
and.b32 %r, %lane, 1;
setp.ne.u32 %odd, %r, 0;
@%odd bra ODD;
neg.f32 %c0, %c0;
neg.f32 %c1, %c1;
neg.f32 %c2, %c2;
neg.f32 %c3, %c3;
bra.uni JOIN;
ODD:
// lanes of t = 1 double C once, lanes of t = 3 three times
mov.u32 %r, %t;
AGAIN:
mul.f32 %c0, %c0, %two;
mul.f32 %c1, %c1, %two;
mul.f32 %c2, %c2, %two;
mul.f32 %c3, %c3, %two;
sub.u32 %r, %r, 1;
setp.ne.u32 %more, %r, 0;
@%more bra AGAIN;
JOIN:
bar.warp.sync 0xffffffff;
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, {%b0, %b1}, {%c0, %c1, %c2, %c3};
""" + sd
    about = "D = A * B + f(C) where a branch, in which lanes part, computes f(C); they meet before the mma.\n"
    about += "A: 16 x 16 f16, B: 16 x 8 f16, C and D: 16 x 8 f32, all by rows."
    write_ptx(name, "7.0", "sm_80", FOUR, about, body)
    rng = generator(name)
    buffers = [], [], [], []
    factor = [-1, -1, 2, 2, -1, -1, 8, 8]
    for _ in range(2):
        a, b = matrix(rng, 16, 16, "f16", "a"), matrix(rng, 16, 8, "f16", "b")
        c = accumulator(rng, 16, 8, "f32", "f16")
        d = product(a, b, [[v * factor[j] for j, v in enumerate(row)] for row in c])
        for buffer, rows in zip(buffers, (a, b, c, d)):
            buffer += flat(rows)
    write(name, "an mma after a divergent branch", [read("a", "f16", buffers[0]), read("b", "f16", buffers[1]),
                                                    read("c", "f32", buffers[2]), written("d", "f32", buffers[3])], 64)

    name = "mma_uniform_branch"
    la, a = load_a(16, 16, 8)
    lb, b = load_b(16, 8)
    lc, c = move_c(16, "s32", "%pc", True, "c")
    sd, d = move_c(16, "s32", "%pd", False, "c")
    body = start(4) + la + lb + accumulators(16, "s32", "c") + lc + """
.reg .pred %low, %more;
.reg .b32 %r;
setp.lt.u32 %low, %warp, 2;
@%low bra LOW;
// warps 2 and 3: bytes of A without a sign, twice and three times
mov.u32 %r, %warp;
AGAIN:
mma.sync.aligned.m16n8k16.row.col.s32.u8.s8.s32 {%c0, %c1, %c2, %c3}, {%a0, %a1}, {%b0}, {%c0, %c1, %c2, %c3};
sub.u32 %r, %r, 1;
setp.ne.u32 %more, %r, 0;
@%more bra AGAIN;
bra DONE;
LOW:
// warps 0 and 1: bytes of A with a sign; only warp 1 adds a second product with A and B exchanged in rows g+8 and g
mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%c0, %c1, %c2, %c3}, {%a0, %a1}, {%b0}, {%c0, %c1, %c2, %c3};
setp.eq.u32 %more, %warp, 0;
@%more bra DONE;
mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%c0, %c1, %c2, %c3}, {%a1, %a0}, {%b0}, {%c0, %c1, %c2, %c3};
DONE:
""" + sd
    body = body.replace(" with A and B exchanged in rows g+8 and g", " with the upper and lower half of A exchanged")
    about = "Warps take different ways, each as a whole: 0: A*B+C; 1: also A' * B, A' = A with its halves of rows exchanged;\n"
    about += "2 and 3: A of u8, two and three times. A: 16 x 16 bytes, B: 16 x 8 s8, C and D: 16 x 8 s32, all by rows."
    write_ptx(name, "7.0", "sm_80", FOUR, about, body)
    rng = generator(name)
    buffers = [], [], [], []
    for warp in range(4):
        a = matrix(rng, 16, 16, "s8", "a")
        b, c = matrix(rng, 16, 8, "s8", "b"), accumulator(rng, 16, 8, "s32", None)
        if warp < 2:
            d = product(a, b, c)
            d = product(a[8:] + a[:8], b, d) if warp == 1 else d
        else:
            d = c
            for _ in range(warp):
                d = product(each(lambda v: v & 255, a), b, d)
        for buffer, rows in zip(buffers, (a, b, c, d)):
            buffer += flat(rows)
    write(name, "mma in branches that whole warps take", [read("a", "s8", buffers[0]), read("b", "s8", buffers[1]),
                                                          read("c", "s32", buffers[2]), written("d", "s32", buffers[3])], 128)


def predicated():
    """An mma under a predicate that is the same in all lanes of a warp."""
    name = "mma_predicated"
    la, a = load_a(16, 16, 16)
    lb, b = load_b(16, 16)
    lc, c = move_c(16, "f16", "%pc", True, "c")
    sd, d = move_c(16, "f16", "%pd", False, "c")
    mma = "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%c0, %c1}, {%a0, %a1, %a2, %a3}, {%b0, %b1}, {%c0, %c1};\n"
    body = start(4) + la + lb + accumulators(16, "f16", "c") + lc + """
.reg .pred %odd, %high;
.reg .b32 %r;
and.b32 %r, %warp, 1;
setp.ne.u32 %odd, %r, 0;
setp.lt.u32 %high, %warp, 2;
@%odd """ + mma + "@!%high " + mma + sd
    about = "Odd warps add A * B to C, warps 2 and 3 add it (once more), warp 0 leaves C as it is.\n"
    about += "A: 16 x 16, B: 16 x 8, C and D: 16 x 8, all f16 by rows."
    write_ptx(name, "7.0", "sm_80", FOUR, about, body)
    rng = generator(name)
    buffers = [], [], [], []
    for warp in range(4):
        a = [[rng.randint(-6, 6) / 2 for _ in range(16)] for _ in range(16)]
        b = [[rng.randint(-4, 4) / 4 for _ in range(8)] for _ in range(16)]
        c = accumulator(rng, 16, 8, "f16", "f16")
        d = c
        for _ in range(warp % 2 + warp // 2):
            d = product(a, b, d)
        for buffer, rows in zip(buffers, (a, b, c, d)):
            buffer += flat(rows)
    write(name, "mma under a predicate of the warp", [read("a", "f16", buffers[0]), read("b", "f16", buffers[1]),
                                                     read("c", "f16", buffers[2]), written("d", "f16", buffers[3])], 128)


def block_of_planes():
    """Warps of a block of 8 x 4 x 2 threads: x counts first."""
    name = "mma_block_of_planes"
    la, a = load_a(16, 8, 32)
    lb, b = load_b(8, 32)
    lc, c = move_c(16, "f32", "%pc", True, "c")
    sd, d = move_c(16, "f32", "%pd", False, "d")
    body = start(2).replace("mov.u32 %thread, %tid.x;", """mov.u32 %thread, %tid.z;
mov.u32 %o, %tid.y;
mad.lo.u32 %thread, %thread, 4, %o;
mov.u32 %o, %tid.x;
mad.lo.u32 %thread, %thread, 8, %o;""").replace("and.b32 %lane, %thread, 31;", "mov.u32 %lane, %laneid;")
    body += la + lb + accumulators(16, "f32", "c") + lc + accumulators(16, "f32", "d") + """
mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, {%b0, %b1}, {%c0, %c1, %c2, %c3};
""" + sd
    about = "D = A * B + C for every warp of a block of 8 x 4 x 2 threads.\nA: 16 x 8, B: 8 x 8, C and D: 16 x 8, f32 by rows."
    write_ptx(name, "7.0", "sm_80", FOUR, about, body)
    rng = generator(name)
    buffers = [], [], [], []
    for _ in range(2):
        a, b, c = matrix(rng, 16, 8, "tf32", "a"), matrix(rng, 8, 8, "tf32", "b"), accumulator(rng, 16, 8, "f32", "tf32")
        for buffer, rows in zip(buffers, (a, b, c, product(a, b, c))):
            buffer += flat(rows)
    write(name, "mma in a block of three dimensions", [read("a", "tf32", buffers[0]), read("b", "tf32", buffers[1]),
                                                      read("c", "f32", buffers[2]), written("d", "f32", buffers[3])], [8, 4, 2])


if __name__ == "__main__":
    floats()
    integers()
    loop()
    zero_start()
    same_registers()
    chain()
    branches()
    predicated()
    block_of_planes()
