"""The cases of wmma.load, wmma.mma and wmma.store.

The ISA leaves the layout of these fragments open; a case states only matrices in memory: their order (by rows or columns),
their stride, the place of the first element, and that the space between rows stays as it was.

    python3 wmma.py        # writes the kernels and their cases
"""

from fractions import Fraction

from case import (BITS, accumulator, clamp, each, flat, generator, matrix, numbers, product, read, scalar, transposed,
                  wrap, write, write_ptx, written)
from dense import at_limits, rounded

SHAPES = {"m16n16k16": (16, 16, 16), "m32n8k16": (32, 8, 16), "m8n32k16": (8, 32, 16), "m16n16k8": (16, 16, 8),
          "m8n8k4": (8, 8, 4), "m8n8k32": (8, 8, 32), "m8n8k128": (8, 8, 128)}


def registers(role, kind, shape):
    """The number and type of a fragment's registers (the table of "Matrix Fragments for WMMA")."""
    m, n, k = SHAPES[shape]
    if kind == "f16":
        return ("b32", 8) if role in "ab" else ("b32", 4)
    if kind == "f64":
        return ("f64", 1 if role in "ab" else 2)
    elements = {"a": m * k, "b": k * n}.get(role, m * n)
    count = elements * BITS[kind] // 32 // 32
    return ("f32" if kind == "f32" else "b32", count)


def stored(rows, kind, layout, stride, filler):
    """The elements of a matrix in memory; each row or column takes `stride` elements."""
    lines = rows if layout == "row" else transposed(rows)
    return flat([line + [filler() for _ in range(stride - len(line))] for line in lines])


def case(name, shape, types, layouts, space="global", version="6.3", target="sm_75", warps=1, pad=(1, 1, 1, 1), first=0,
         default=False, by_parameter=False, sat=False, bit=None, rounding=None, negate=False):
    """`types`: of D, A, B and C. `layouts`: of A, B, C and D. `pad`: how many units of 32 bytes a row (or column) of A, B, C
    and D has more than it needs. `first`: bytes before the first element. `space`: global, shared, generic or generic_shared."""
    m, n, k = SHAPES[shape]
    td, ta, tb, tc = types
    kinds = {"a": ta, "b": tb, "c": tc, "d": td}
    sizes = {"a": (m, k), "b": (k, n), "c": (m, n), "d": (m, n)}
    order = dict(zip("abcd", layouts))
    strides, bytes_of = {}, {}
    for role, more in zip("abcd", pad):
        lines, line = sizes[role] if order[role] == "row" else sizes[role][::-1]
        unit = 256 // BITS[kinds[role]]
        strides[role] = line if default else (line + unit - 1) // unit * unit + more * unit
        bytes_of[role] = first + lines * strides[role] * BITS[kinds[role]] // 8
        assert default or bytes_of[role] % 32 == 0
    shared = space in ("shared", "generic_shared")
    ss = {"global": ".global", "shared": ".shared"}.get(space, "")

    body = ".reg .b32 %thread, %warp, %o, %i, %w;\n.reg .b64 %q, %r, %s, %A, %B, %C, %D, %pa, %pb, %pc, %pd;\n.reg .pred %more;\n"
    if by_parameter:
        body += ".reg .b32 %la, %lb, %lc, %ld;\n"
        body += "".join("ld.param.u32 %%l%s, [l%s];\n" % (p, p) for p in "abcd")
    for p in "abcd":
        body += "ld.param.u64 %%%s, [%s];\n" % (p.upper(), p)
        if space != "generic":
            body += "cvta.to.global.u64 %%%s, %%%s;\n" % (p.upper(), p.upper())
    body += "mov.u32 %thread, %tid.x;\nshr.u32 %warp, %thread, 5;\n"

    def copy(role, back):
        label = ("BACK_" if back else "COPY_") + role.upper()
        text = "mov.u32 %%i, %%thread;\n%s:\nmul.wide.u32 %%q, %%i, 4;\nadd.u64 %%r, %%%s, %%q;\nmov.u64 %%s, s%s;\nadd.u64 %%s, %%s, %%q;\n" % (
            label, role.upper(), role.upper())
        text += "ld.shared.b32 %w, [%s];\nst.global.b32 [%r], %w;\n" if back else "ld.global.b32 %w, [%r];\nst.shared.b32 [%s], %w;\n"
        return text + "add.u32 %%i, %%i, %d;\nsetp.lt.u32 %%more, %%i, %d;\n@%%more bra %s;\n" % (
            32 * warps, bytes_of[role] * warps // 4, label)

    before = ""
    if shared:
        before = "".join(".shared .align 128 .b8 s%s[%d];\n" % (p.upper(), bytes_of[p] * warps) for p in "abcd")
        body += "".join(copy(p, False) for p in "abcd") + "bar.sync 0;\n"
    for p in "abcd":
        base = "%" + p.upper()
        if shared:
            body += "mov.u64 %%p%s, s%s;\n" % (p, p.upper())
            if space == "generic_shared":
                body += "cvta.shared.u64 %%p%s, %%p%s;\n" % (p, p)
            base = "%p" + p
        body += "mul.wide.u32 %%q, %%warp, %d;\nadd.u64 %%p%s, %s, %%q;\n" % (bytes_of[p], p, base)
    regs = {}
    for p in "abcd":
        kind, count = registers(p, kinds[p], shape)
        body += ".reg .%s %%%s<%d>;\n" % (kind, p, count)
        regs[p] = "{" + ", ".join("%%%s%d" % (p, i) for i in range(count)) + "}"
    for p in "abc":
        stride = "" if default else ", %%l%s" % p if by_parameter else ", %d" % strides[p]
        body += "wmma.load.%s.sync.aligned.%s.%s%s.%s %s, [%%p%s+%d]%s;\n" % (p, order[p], shape, ss, kinds[p], regs[p], p, first, stride)
    if negate:
        kind, count = registers("c", tc, shape)
        body += "".join("neg.%s %%c%d, %%c%d;\n" % ("s32" if tc == "s32" else kind, i, i) for i in range(count))
    head = "wmma.mma%s.sync.aligned.%s.%s.%s" % (".%s.popc" % bit if bit else "", order["a"], order["b"], shape)
    if ta == "f16":
        head += ".%s.%s" % (td, tc)
    else:
        head += (("." + rounding) if rounding else "") + ".%s.%s.%s.%s" % types + (".satfinite" if sat else "")
    body += "%s %s, %s, %s, %s;\n" % (head, regs["d"], regs["a"], regs["b"], regs["c"])
    stride = "" if default else ", %ld" if by_parameter else ", %d" % strides["d"]
    body += "wmma.store.d.sync.aligned.%s.%s%s.%s [%%pd+%d], %s%s;\n" % (order["d"], shape, ss, td, first, regs["d"], stride)
    if shared:
        body += "bar.sync 0;\n" + copy("d", True)
    about = "%s: D = A * B %s C in %s memory, one product a warp.\n" % (head, "-" if negate else "+", space.replace("_", " "))
    about += "Layouts of A, B, C, D: %s; strides %s." % (", ".join(layouts), "by default" if default else ", ".join(str(strides[p]) for p in "abcd"))
    parameters = [(p, "u64") for p in "abcd"] + ([("l" + p, "u32") for p in "abcd"] if by_parameter else [])
    write_ptx(name, version, target, parameters, about, body, before)

    rng = generator(name)
    buffers = {p: [] for p in "abcd"}
    old = []
    for _ in range(warps):
        if sat:
            A, B, C = at_limits(rng, (ta, tb), m, n, k)
        else:
            narrow = "f16" in (tc, td)
            A, B = matrix(rng, m, k, ta, "a", narrow), matrix(rng, k, n, tb, "b", narrow)
            C = accumulator(rng, m, n, "f16" if narrow else tc, ta)
        if rounding:
            for i in range(m):
                keep = rng.randrange(k)
                A[i] = [rng.uniform(-3, 3) if q == keep else 0.0 for q in range(k)]
            B = [[rng.uniform(-3, 3) for _ in range(n)] for _ in range(k)]
            C = [[rng.uniform(-20, 20) for _ in range(n)] for _ in range(m)]
            D = each(lambda v: rounded(v, rounding), product(each(Fraction, A), each(Fraction, B), each(Fraction, C)))
        elif bit:
            D = [[sum(A[i][q] ^ B[q][j] if bit == "xor" else A[i][q] & B[q][j] for q in range(k)) + C[i][j] for j in range(n)]
                 for i in range(m)]
        else:
            D = product(A, B, each(lambda v: -v, C) if negate else C)
        if td == "s32":
            D = each(clamp if sat else wrap, D)
        for p, rows in zip("abcd", (A, B, C, D)):
            kind = kinds[p]
            draw = {"s32": lambda: rng.randint(-1 << 31, (1 << 31) - 1), "f32": lambda: rng.randint(-999, 999) / 4}.get(
                kind, lambda: numbers(rng, kind, "a"))
            front = [draw() for _ in range(first * 8 // BITS[kind])]
            buffers[p] += front + stored(rows, kind, order[p], strides[p], draw)
        here = buffers["d"][len(old):]
        lead = first * 8 // BITS[td]
        line = m if order["d"] == "col" else n
        old += [v if at < lead or (at - lead) % strides["d"] >= line else 77 for at, v in enumerate(here)]
    args = [read(p, kinds[p], buffers[p]) for p in "abc"] + [written("d", td, buffers["d"], old)]
    if by_parameter:
        args += [scalar("u32", strides[p]) for p in "abcd"]
    write(name, about.split("\n")[0], args, 32 * warps)


def floats():
    h = ("f16",) * 4
    f = ("f32", "f16", "f16", "f32")
    case("wmma_f16_f32_row_row", "m16n16k16", f, ("row", "row", "row", "row"), warps=2)
    case("wmma_f16_f32_col_col", "m16n16k16", f, ("col", "col", "col", "col"), "shared")
    case("wmma_f16_row_col", "m16n16k16", h, ("row", "col", "col", "row"), "generic", by_parameter=True, first=64)
    case("wmma_f16_default_strides", "m16n16k16", h, ("col", "row", "row", "col"), default=True, warps=2)
    case("wmma_f16_f32_default_strides", "m16n16k16", f, ("row", "col", "row", "row"), "shared", default=True)
    case("wmma_f16_widened", "m32n8k16", ("f32", "f16", "f16", "f16"), ("row", "col", "row", "col"), "shared", warps=2)
    case("wmma_f16_narrowed", "m8n32k16", ("f16", "f16", "f16", "f32"), ("col", "row", "col", "row"), "generic_shared")
    case("wmma_f16_f32_m32n8", "m32n8k16", f, ("col", "row", "col", "row"), first=32, pad=(2, 0, 1, 0), negate=True)
    case("wmma_f16_f32_m8n32", "m8n32k16", f, ("row", "row", "row", "col"), by_parameter=True, pad=(0, 3, 0, 1))
    case("wmma_f16_m32n8", "m32n8k16", h, ("row", "row", "col", "col"), pad=(1, 0, 2, 0), warps=3)
    case("wmma_f16_m8n32", "m8n32k16", h, ("col", "col", "row", "row"), "shared")
    b = ("f32", "bf16", "bf16", "f32")
    new = dict(version="7.0", target="sm_80")
    case("wmma_bf16", "m16n16k16", b, ("row", "col", "row", "row"), warps=2, **new)
    case("wmma_bf16_col_row", "m16n16k16", b, ("col", "row", "col", "row"), "shared", **new)
    case("wmma_bf16_m32n8", "m32n8k16", b, ("col", "col", "row", "col"), by_parameter=True, negate=True, **new)
    case("wmma_bf16_m8n32", "m8n32k16", b, ("row", "row", "col", "row"), "generic", **new)
    t = ("f32", "tf32", "tf32", "f32")
    case("wmma_tf32", "m16n16k8", t, ("row", "row", "row", "row"), warps=2, **new)
    case("wmma_tf32_col_col", "m16n16k8", t, ("col", "col", "col", "row"), "generic_shared", **new)
    case("wmma_tf32_row_col", "m16n16k8", t, ("row", "col", "row", "col"), "shared", default=True, **new)
    d = ("f64",) * 4
    case("wmma_f64", "m8n8k4", d, ("row", "col", "row", "row"), warps=4, **new)
    case("wmma_f64_col_row", "m8n8k4", d, ("col", "row", "col", "row"), "shared", **new)
    case("wmma_f64_rz", "m8n8k4", d, ("col", "col", "row", "col"), rounding="rz", **new)
    case("wmma_f64_rp", "m8n8k4", d, ("row", "row", "row", "row"), "generic", rounding="rp", **new)


def integers():
    s, u = ("s32", "s8", "s8", "s32"), ("s32", "u8", "u8", "s32")
    case("wmma_s8", "m16n16k16", s, ("col", "row", "row", "col"), warps=2)
    case("wmma_u8", "m16n16k16", u, ("row", "col", "col", "row"), "shared", negate=True)
    case("wmma_s8_sat", "m16n16k16", s, ("row", "row", "row", "row"), "generic", sat=True)
    case("wmma_s8_m8n32", "m8n32k16", s, ("col", "row", "row", "row"), "generic_shared", by_parameter=True)
    case("wmma_u8_m32n8", "m32n8k16", u, ("row", "row", "col", "row"), warps=2, pad=(0, 0, 0, 0))
    case("wmma_u8_sat_m8n32", "m8n32k16", u, ("row", "col", "row", "col"), sat=True)
    case("wmma_s8_m32n8", "m32n8k16", s, ("col", "col", "row", "row"), default=True)
    case("wmma_s4", "m8n8k32", ("s32", "s4", "s4", "s32"), ("row", "col", "row", "row"), warps=2)
    case("wmma_u4_sat", "m8n8k32", ("s32", "u4", "u4", "s32"), ("row", "col", "col", "row"), "shared", sat=True)
    case("wmma_s4_default_strides", "m8n8k32", ("s32", "s4", "s4", "s32"), ("row", "col", "row", "col"), "generic", default=True)
    one = ("s32", "b1", "b1", "s32")
    case("wmma_b1_xor", "m8n8k128", one, ("row", "col", "row", "row"), warps=2, bit="xor")
    case("wmma_b1_and", "m8n8k128", one, ("row", "col", "col", "col"), "shared", bit="and", version="7.1", target="sm_80")


def loop():
    """A product of 16 x 64 by 64 x 16 in four steps, A by rows and B by columns."""
    name = "wmma_loop"
    regs = {p: "{" + ", ".join("%%%s%d" % (p, i) for i in range(8)) + "}" for p in "abd"}
    body = """
.reg .b64 %A, %B, %D;
.reg .b32 %a<8>, %b<8>, %step;
.reg .f32 %d<8>;
.reg .pred %more;
ld.param.u64 %A, [a];
ld.param.u64 %B, [b];
ld.param.u64 %D, [d];
cvta.to.global.u64 %A, %A;
cvta.to.global.u64 %B, %B;
cvta.to.global.u64 %D, %D;
""" + "".join("mov.f32 %%d%d, 0f00000000;\n" % i for i in range(8)) + """
mov.u32 %%step, 4;
LOOP:
wmma.load.a.sync.aligned.row.m16n16k16.global.f16 %(a)s, [%%A], 64;
wmma.load.b.sync.aligned.col.m16n16k16.global.f16 %(b)s, [%%B], 64;
wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 %(d)s, %(a)s, %(b)s, %(d)s;
add.u64 %%A, %%A, 32;
add.u64 %%B, %%B, 32;
sub.u32 %%step, %%step, 1;
setp.ne.u32 %%more, %%step, 0;
@%%more bra LOOP;
wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%%D], %(d)s, 16;
""" % regs
    write_ptx(name, "6.3", "sm_75", [("a", "u64"), ("b", "u64"), ("d", "u64")],
              "D = A * B in four steps over K. A: 16 x 64 f16 by rows, B: 64 x 16 f16 by columns, D: 16 x 16 f32 by rows.", body)
    rng = generator(name)
    a = [[rng.randint(-256, 256) / 8 for _ in range(64)] for _ in range(16)]
    b = [[rng.randint(-256, 256) / 8 for _ in range(16)] for _ in range(64)]
    d = product(a, b, [[0] * 16 for _ in range(16)])
    write(name, "four steps of wmma over K", [read("a", "f16", flat(a)), read("b", "f16", flat(transposed(b))),
                                              written("d", "f32", flat(d))], 32)


if __name__ == "__main__":
    floats()
    integers()
    loop()
