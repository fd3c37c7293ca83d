"""The cases of mma.sp, whose matrix A is stored without half of its elements.

A case stores A packed: in every chunk of a row the elements that remain, in their order. Its metadata is stored by rows
too, four bits for a chunk (two 2-bit indices, or one 4-bit index for .tf32), the first chunk in the lowest bits. The kernels
build the metadata operand from that, as the figures of "Matrix Fragments for sparse mma" show it (g = lane / 4, t = lane % 4):

  16 bits a row, .f16/.bf16 k16 and .tf32 k8:   thread t = F: low half row g, high half row g+8.
  32 bits a row, .f16/.bf16 k32 and .tf32 k16:  thread t = 2F: the first halves of rows g (low) and g+8 (high);
                                                thread t = 2F+1: the second halves.
  32 bits a row, 8 bits k32 and 4 bits k64:     thread t = 2F: row g; thread t = 2F+1: row g+8.
  64 bits a row, 8 bits k64 and 4 bits k128:    threads t = 0 ... 3: first word of row g, of row g+8, second word of both.

The threads that the selector F does not name hold other, valid, metadata.

    python3 sparse.py        # writes the kernels and their cases
"""

from case import (BITS, accumulator, clamp, each, flat, generator, matrix, product, read, transposed, wrap, write, write_ptx,
                  written)
from fragments import accumulators, address, braced, load_a, load_b, move_c, start

PARAMETERS = [("a", "u64"), ("b", "u64"), ("c", "u64"), ("d", "u64"), ("e", "u64")]
ORDERED = [0b0100, 0b1000, 0b1001, 0b1100, 0b1101, 0b1110]
ANY = [first | second << 2 for first in range(4) for second in range(4) if first != second]


def expanded(packed, codes, kind):
    """A row of A with its zeros."""
    row = []
    for n, code in enumerate(codes):
        if kind == "tf32":
            chunk = [0, 0]
            chunk[{0b0100: 0, 0b1110: 1}[code]] = packed[n]
        elif BITS[kind] == 4:
            chunk = [0] * 8
            for part, index in enumerate((code & 3, code >> 2)):
                chunk[2 * index:2 * index + 2] = packed[4 * n + 2 * part:4 * n + 2 * part + 2]
        else:
            chunk = [0] * 4
            chunk[code & 3], chunk[code >> 2] = packed[2 * n], packed[2 * n + 1]
        row += chunk
    return row


def metadata(k, kind, selector):
    """Loads %e; with no selector every thread (or pair) has its own set of metadata, stored one after another."""
    row = k // {"tf32": 2, "s4": 8, "u4": 8}.get(kind, 4) * 4 // 8  # bytes
    small = BITS[kind] <= 8
    lines = "// metadata: rows of %d bytes\n.reg .b32 %%e, %%s, %%low;\n.reg .pred %%mine;\nand.b32 %%low, %%t, 1;\n" % row
    lines += "shr.u32 %s, %t, 1;\n" if row > 2 else "mov.b32 %s, %t;\n"
    sets = 1 if selector is not None or row == 8 else 4 if row == 2 else 2
    if sets == 1:
        lines += "mul.lo.u32 %%o, %%warp, %d;\n" % (16 * row)
    else:
        lines += "mad.lo.u32 %%o, %%warp, %d, %%s;\nmul.lo.u32 %%o, %%o, %d;\n" % (sets, 16 * row)
    lines += "mad.lo.u32 %%o, %%g, %d, %%o;\n" % row
    if row == 4 and not small:
        lines += "mad.lo.u32 %o, %low, 2, %o;\n"
    if small:
        lines += "mad.lo.u32 %%o, %%low, %d, %%o;\n" % (8 * row)
    if row == 8:
        lines += "mad.lo.u32 %o, %s, 4, %o;\n"
    lines += "cvt.u64.u32 %q, %o;\nadd.u64 %pe, %E, %q;\n"
    if small:
        lines += "ld.global.b32 %e, [%pe];\n"
    else:
        lines += "ld.global.b16 %%h0, [%%pe];\nld.global.b16 %%h1, [%%pe+%d];\nmov.b32 %%e, {%%h0, %%h1};\n" % (8 * row)
    if sets == 1 and row < 8:
        lines += "setp.eq.u32 %%mine, %%s, %d;\nselp.b32 %%e, %%e, 0x4ee4e44e, %%mine;\n" % selector
    return lines, row, sets


def sparse(name, k, types, selector, ordered=True, columns=False, sat=False, warps=2, version=None, target="sm_80", any_order=False):
    """A case with one selector, or with None of all selectors that the shape has, each with its own product."""
    m, n = 16, 8
    td, ta, tb, tc = types
    qualifiers = "m%dn%dk%d.row.col%s.%s" % (m, n, k, ".satfinite" if sat else "", ".".join(types))
    instruction = "mma.sp%s.sync.aligned.%s" % ("::ordered_metadata" if ordered else "", qualifiers)
    la, a = load_a(m, k // 2, BITS[ta])
    lb, b = load_b(k, BITS[ta], columns)
    lc, c = move_c(m, tc, "%pc", True, "c")
    sd, d = move_c(m, td, "%pd", False, "d")
    le, row, sets = metadata(k, ta, selector)
    size = {"f16": 2, "f32": 4, "s32": 4}[td] * m * n
    body = start(warps, "abcde") + la + lb + accumulators(m, tc, "c") + lc + le + accumulators(m, td, "d")
    for one in range(sets):
        F = selector if sets == 1 else one
        F = 0 if F is None else F
        body += "%s %s, %s, %s, %s, %%e, %d;\n" % (instruction, braced(d), braced(a), braced(b), braced(c), F)
        if one == 0:
            body += sd.replace("%%o, %%warp, %d;" % size, "%%o, %%warp, %d;" % (size * sets))
        else:
            body += "".join(line.replace("%pd+", "%%pd+%d+" % (size * one)) + "\n" for line in sd.split("\n") if line.startswith("st."))
    about = "%s: D = A * B + C for every warp%s.\n" % (instruction, ", once for each selector" if sets > 1 else "")
    about += "A: %d x %d %s by rows, packed to half. B: %d x %d %s by %s. C and D: %d x %d by rows." % (
        m, k, ta, k, n, tb, "columns" if columns else "rows", m, n)
    write_ptx(name, version or ("8.5" if ordered else "7.1"), target, PARAMETERS, about, body)

    rng = generator(name)
    buffers = {"a": [], "b": [], "c": [], "d": [], "e": []}
    for _ in range(warps):
        A, B = matrix(rng, m, k // 2, ta, "a", tc == "f16"), matrix(rng, k, n, tb, "b", tc == "f16")
        C = accumulator(rng, m, n, tc, ta)
        if sat:  # rows of one sign against columns of one sign, from a C near the limits
            B = each(abs, B) if tb[0] == "u" else [[min(abs(v), 127) * (-1) ** (j // 2) for j, v in enumerate(r)] for r in B]
            A = [[min(abs(v), 127) * (1 if ta[0] == "u" else (-1) ** i) for v in r] for i, r in enumerate(A)]
        for one in range(sets):
            choices = [0b0100, 0b1110] if ta == "tf32" else ANY if any_order else ORDERED
            codes = [[rng.choice(choices) for _ in range(row * 2)] for _ in range(m)]
            full = [expanded(A[i], codes[i], ta) for i in range(m)]
            if sat:
                for i in range(m):
                    for j in range(n):
                        total = sum(full[i][q] * B[q][j] for q in range(k))
                        distance = rng.randint(0, 2 * abs(total) + 1)
                        C[i][j] = (1 << 31) - 1 - distance if total >= 0 else -(1 << 31) + distance
            D = product(full, B, C)
            if td == "s32":
                D = each(clamp if sat else wrap, D)
            buffers["d"] += flat(D)
            for one_row in codes:
                word = sum(code << 4 * n for n, code in enumerate(one_row))
                buffers["e"] += [word >> 16 * part & 0xFFFF for part in range(row // 2)]
        for key, rows in (("a", A), ("b", transposed(B) if columns else B), ("c", C)):
            buffers[key] += flat(rows)
    write(name, instruction + (", selectors %d to %d" % (0, sets - 1) if sets > 1 else ", selector %d" % (selector or 0)),
          [read("a", ta, buffers["a"]), read("b", tb, buffers["b"]), read("c", tc, buffers["c"]),
           written("d", td, buffers["d"]), read("e", "u16", buffers["e"])], 32 * warps)


def floats():
    half, mixed = ("f16",) * 4, ("f32", "f16", "f16", "f32")
    brain, tf = ("f32", "bf16", "bf16", "f32"), ("f32", "tf32", "tf32", "f32")
    sparse("sp_f16_k16", 16, half, 2)
    sparse("sp_f16_f32_k16", 16, mixed, 3)
    sparse("sp_f16_f32_k16_selectors", 16, mixed, None)
    sparse("sp_f16_k16_any_order", 16, mixed, 1, ordered=False, any_order=True)
    sparse("sp_f16_k32", 32, half, 1, ordered=False)
    sparse("sp_f16_f32_k32_selectors", 32, mixed, None)
    sparse("sp_bf16_k16", 16, brain, 0, ordered=False)
    sparse("sp_bf16_k32", 32, brain, 0, columns=True)
    sparse("sp_tf32_k8", 8, tf, 1)
    sparse("sp_tf32_k8_selectors", 8, tf, None, ordered=False)
    sparse("sp_tf32_k16", 16, tf, 1)
    sparse("sp_tf32_k16_first", 16, tf, 0, ordered=False)
    for a, b, ordered in (("e4m3", "e5m2", True), ("e5m2", "e4m3", False), ("e4m3", "e4m3", False)):
        sparse("sp_%s_%s_k64" % (a, b), 64, ("f32", a, b, "f32"), 0, ordered, version="8.5" if ordered else "8.4",
               target="sm_89", columns=a == b)


def integers():
    sparse("sp_s8_k32", 32, ("s32", "s8", "s8", "s32"), 1)
    sparse("sp_u8_s8_k32_selectors", 32, ("s32", "u8", "s8", "s32"), None, ordered=False)
    sparse("sp_s8_u8_k32_any_order", 32, ("s32", "s8", "u8", "s32"), 0, ordered=False, any_order=True)
    sparse("sp_s8_k64", 64, ("s32", "s8", "s8", "s32"), 0)
    sparse("sp_s8_u8_k64_sat", 64, ("s32", "s8", "u8", "s32"), 0, sat=True, columns=True)
    sparse("sp_s4_k64", 64, ("s32", "s4", "s4", "s32"), 1, columns=True)
    sparse("sp_u4_s4_k64", 64, ("s32", "u4", "s4", "s32"), 0, ordered=False, columns=True)
    sparse("sp_s4_k128", 128, ("s32", "s4", "s4", "s32"), 0, columns=True)
    sparse("sp_u4_u4_k128", 128, ("s32", "u4", "u4", "s32"), 0, ordered=False, columns=True, warps=1)


if __name__ == "__main__":
    floats()
    integers()
