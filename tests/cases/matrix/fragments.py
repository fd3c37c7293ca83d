"""PTX text that moves matrices between memory and the fragments of mma and mma.sp.

The rules of the PTX ISA ("Matrix Fragments for mma.m...") say, with g = lane / 4 and t = lane % 4 and e elements of A or B
in a register (one for .tf32 and .f64, otherwise 32 / width):

  A, 16 rows: register 0 holds row g, columns t*e ... t*e+e-1; register 1 the same columns of row g+8;
              registers 2 and 3 the same rows, 4*e columns further right; and so on. With 8 rows, only row g.
  B:          register i holds column g, rows 4*e*i + t*e ... 4*e*i + t*e+e-1.
  C and D:    the first two elements are row g, columns 2*t and 2*t+1; the next two are the same columns of row g+8.

The text gives every register its own load or store with its distance in bytes, so that a PTX file shows its layout.
The operands %warp, %g, %t and %A ... %D (addresses) are set by `start`.
"""


def per_register(bits):
    return max(1, 32 // bits)


def start(warps, parameters="abcd"):
    """The registers that the fragments below use."""
    lines = """
.reg .b32 %thread, %lane, %warp, %g, %t, %o, %x<8>;
.reg .b16 %h<4>;
.reg .b64 %q;
"""
    for p in parameters:
        lines += ".reg .b64 %%%s, %%p%s;\n" % (p.upper(), p)
    for p in parameters:
        lines += "ld.param.u64 %%%s, [%s];\ncvta.to.global.u64 %%%s, %%%s;\n" % (p.upper(), p, p.upper(), p.upper())
    return lines + """
mov.u32 %%thread, %%tid.x;
and.b32 %%lane, %%thread, 31;
shr.u32 %%warp, %%thread, 5;
mov.u32 %%o, %%ctaid.x;
mad.lo.u32 %%warp, %%o, %d, %%warp;
shr.u32 %%g, %%lane, 2;
and.b32 %%t, %%lane, 3;
""" % warps


def address(pointer, base, warp, g, t):
    """pointer = base + warp * (bytes of a matrix) + g * ... + t * ..."""
    return """
mul.lo.u32 %%o, %%warp, %d;
mad.lo.u32 %%o, %%g, %d, %%o;
mad.lo.u32 %%o, %%t, %d, %%o;
cvt.u64.u32 %%q, %%o;
add.u64 %s, %s, %%q;
""" % (warp, g, t, pointer, base)


def load_a(m, k, bits):
    """A in rows of k elements."""
    row = k * bits // 8
    word = 8 if bits == 64 else 4
    names = []
    lines = "// A: row g at g*%d, columns of t at t*%d\n" % (row, word) + address("%pa", "%A", m * row, row, word)
    for right in range(0, row, 4 * word):
        for down in range(0, m, 8):
            names.append("%%a%d" % len(names))
            lines += "ld.global.%s %s, [%%pa+%d];\n" % ("f64" if bits == 64 else "b32", names[-1], down * row + right)
    return ".reg .%s %%a<%d>;\n" % ("f64" if bits == 64 else "b32", len(names)) + lines, names


def load_b(k, bits, columns=False, n=8):
    """B in k rows of n elements, or with `columns` its n columns of k elements one after another."""
    e = per_register(bits)
    count = k // (4 * e)
    names = ["%%b%d" % i for i in range(count)]
    kind = "f64" if bits == 64 else "b32"
    lines = ".reg .%s %%b<%d>;\n" % (kind, count)
    if columns:
        column = k * bits // 8
        lines += "// B by columns: column g at g*%d, rows of t at t*4\n" % column + address("%pb", "%B", n * column, column, 4)
        for i, name in enumerate(names):
            lines += "ld.global.b32 %s, [%%pb+%d];\n" % (name, 16 * i)
        return lines, names
    size = bits // 8
    row = n * size
    lines += "// B by rows: row t*%d at t*%d, column g at g*%d\n" % (e, e * row, size)
    lines += address("%pb", "%B", k * row, size, e * row)
    for i, name in enumerate(names):
        at = [(4 * e * i + j) * row for j in range(e)]
        if e == 1:
            lines += "ld.global.%s %s, [%%pb+%d];\n" % (kind, name, at[0])
        elif e == 2:
            lines += "ld.global.b16 %%h0, [%%pb+%d];\nld.global.b16 %%h1, [%%pb+%d];\nmov.b32 %s, {%%h0, %%h1};\n" % (*at, name)
        else:
            for j in range(4):
                lines += "ld.global.u8 %%x%d, [%%pb+%d];\n" % (j, at[j])
            lines += "prmt.b32 %x4, %x0, %x1, 0x0040;\nprmt.b32 %x5, %x2, %x3, 0x0040;\n"
            lines += "prmt.b32 %s, %%x4, %%x5, 0x5410;\n" % name
    return lines, names


def move_c(m, kind, pointer, load, letter="c", n=8):
    """Loads or stores an accumulator in rows of n elements; returns its text and registers."""
    size = {"f16": 2, "f32": 4, "s32": 4, "f64": 8}[kind]
    row = n * size
    base = "%" + pointer[-1].upper()
    lines = "// %s: row g at g*%d, columns of t at t*%d\n" % (pointer[-1].upper(), row, 2 * size)
    lines += address(pointer, base, m * row, row, 2 * size)
    names = []
    for down in range(0, m, 8):
        there = "[%s+%d]" % (pointer, down * row)
        if kind == "f16":
            names.append("%%%s%d" % (letter, len(names)))
            lines += ("ld.global.b32 %s, %s;\n" % (names[-1], there)) if load else ("st.global.b32 %s, %s;\n" % (there, names[-1]))
        else:
            two = ["%%%s%d" % (letter, len(names) + j) for j in range(2)]
            names += two
            pair = "{%s, %s}" % tuple(two)
            lines += ("ld.global.v2.%s %s, %s;\n" % (kind, pair, there)) if load else ("st.global.v2.%s %s, %s;\n" % (kind, there, pair))
    return lines, names


def accumulators(m, kind, letter):
    """The declaration of an accumulator's registers."""
    count = m // 8 if kind == "f16" else m // 4
    return ".reg .%s %%%s<%d>;\n" % ("b32" if kind == "f16" else kind, letter, count)


def braced(names):
    return "{" + ", ".join(names) + "}"
