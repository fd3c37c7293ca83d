"""The cases of wgmma.mma_async.sp, whose matrix A is stored without half of its elements.

A row of A is packed: in every chunk (4 elements, 2 for .tf32) the elements that remain. Its metadata is stored by rows
too, four bits for a chunk, the first chunk in the lowest bits. The kernels build the metadata operand from that, as
"Matrix Fragments for sparse wgmma.mma_async..." shows it, for 16w + the rows below (w = warp, g = lane / 4, t = lane % 4):

  .f16, .bf16 (k32) and .tf32 (k16), 32 bits a row:  thread t = 2F has the first half of rows g (low) and g+8 (high),
                                                     thread t = 2F+1 the second half; F is the selector.
  8 bits (k64), 64 bits a row:  threads t = 0 ... 3 have the first word of row g, of row g+8, the second word of both.

The threads that selector F does not name hold other, valid, metadata.

    python3 sparse.py       # writes the kernels and their cases
"""

from dense import MAX, MIN, layout, near_the_limits, signed, stored
from kernel import BITS, Form, Kernel, accumulator, clamp, each, exact, flat, matrix, multiplied, wrap

ORDERED = [0b0100, 0b1000, 0b1001, 0b1100, 0b1101, 0b1110]
ANY = [first | second << 2 for first in range(4) for second in range(4) if first != second]
TF32 = {0b0100: 0, 0b1110: 1}


def expanded(packed, codes, kind):
    """A row of A with its zeros."""
    row = []
    for i, code in enumerate(codes):
        if kind == "tf32":
            chunk = [0, 0]
            chunk[TF32[code]] = packed[i]
        else:
            chunk = [0] * 4
            chunk[code & 3], chunk[code >> 2] = packed[2 * i], packed[2 * i + 1]
        row += chunk
    return row


def metadata(kernel, form, steps, selector):
    """Loads %e0 ... for the steps. Halves and .tf32: 64 rows of a selector follow those of the one before."""
    row = steps * (8 if BITS[form.ta] == 8 else 4)
    kernel.add("// E: row g at g*%d\n.reg .b32 %%e<%d>, %%s, %%low;\n.reg .b16 %%h<2>;\nand.b32 %%low, %%t, 1;\n"
               "shr.u32 %%s, %%t, 1;" % (row, steps))
    if BITS[form.ta] == 8:
        kernel.add("mad.lo.u32 %%u, %%low, 8, %%row;\nmul.lo.u32 %%u, %%u, %d;\nmad.lo.u32 %%u, %%s, 4, %%u;" % row)
    else:
        if selector is not None:  # the threads of the other selector take what follows the 64 rows
            kernel.add("xor.b32 %%s, %%s, %d;" % selector)
        kernel.add("mad.lo.u32 %%u, %%s, 64, %%row;\nmul.lo.u32 %%u, %%u, %d;\nmad.lo.u32 %%u, %%low, 2, %%u;" % row)
    kernel.add("cvt.u64.u32 %q, %u;\nadd.u64 %q, %E, %q;")
    for step in range(steps):
        if BITS[form.ta] == 8:
            kernel.add("ld.global.b32 %%e%d, [%%q+%d];" % (step, 8 * step))
        else:
            kernel.add("ld.global.b16 %%h0, [%%q+%d];\nld.global.b16 %%h1, [%%q+%d];\nmov.b32 %%e%d, {%%h0, %%h1};"
                       % (4 * step, 4 * step + 8 * row, step))


def sparse(name, about, types, n, steps=1, a=1, b=1, majors=("k", "k"), selector=0, ordered=True, limits=None, negate=(1, 1),
           a_strides=(), b_strides=(), scale="1", version="8.2"):
    """A case. With selector None the product is computed for both, into two accumulators, from the same operands."""
    form = Form(*types, n, sparse=True, sat=limits == "sat")
    k = steps * form.k
    small = BITS[form.ta] == 8
    kernel = Kernel(name, about, version)
    rng = kernel.rng
    selectors = [0, 1] if selector is None else [selector]

    narrow = form.td == "f16"
    A, B = matrix(rng, 64, k // 2, form.ta, narrow), matrix(rng, n, k, form.tb, narrow)  # A packed, B by its columns
    if limits:
        A, B = signed(A, form.ta, rng), signed(B, form.tb, rng)
    choices = list(TF32) if form.ta == "tf32" else ORDERED if ordered else ANY
    chunk = 2 if form.ta == "tf32" else 4
    C, D, words = [], [], []
    for i in range(len(selectors) if small else 2):
        codes = [[rng.choice(choices) for _ in range(k // chunk)] for _ in range(64)]
        words += [sum(code << 4 * (at % 4) for at, code in enumerate(row[first:first + 4]))
                  for row in codes for first in range(0, len(row), 4)]
        if i >= len(selectors):
            break  # metadata that nobody may use
        product = multiplied([expanded(*both, form.ta) for both in zip(A, codes)], B, [[0] * n] * 64)
        product = each(lambda v: v * negate[0] * negate[1], product)
        c = near_the_limits(rng, product) if limits else accumulator(rng, 64, n, form.td, form.ta)
        d = [[p + (q if scale == "1" else 0) for p, q in zip(*rows)] for rows in zip(product, c)]
        if form.td == "s32":
            assert bool(limits) == any(not MIN <= v <= MAX for v in flat(d))
            d = each(clamp if limits == "sat" else wrap, d)
        C += c
        D += d

    kernel.read("a", form.ta, stored(A, majors[0]))
    kernel.read("b", form.tb, stored(B, majors[1]))
    if scale == "1":
        kernel.read("c", form.td, exact(C, form.td))
    kernel.written("d", form.td, exact(D, form.td))
    kernel.read("e", "u16", words)

    size = 64 * n * {"f16": 2}.get(form.td, 4)
    for i, _ in enumerate(selectors):
        kernel.declare(form, "d%d_" % i)
        if scale == "1":
            kernel.move(form, "d%d_" % i, "%C", load=True, first=i * size)
        else:
            kernel.spoil(form, "d%d_" % i)
    metadata(kernel, form, steps, selector)
    if a == "registers":
        for step in range(steps):
            kernel.load_a("a%d_" % step, "%A", 32 * steps, step)
    else:
        sa = layout("a", 64, steps, form.ta, a, majors[0], *a_strides)
        kernel.reserve(sa)
        kernel.copy(sa, "%A")
    sb = layout("b", n, steps, form.tb, b, majors[1], *b_strides, per_step=4)
    kernel.reserve(sb)
    kernel.copy(sb, "%B")
    kernel.ready()
    if a != "registers":
        kernel.descriptor("%desc_a0", sa)
    kernel.descriptor("%desc_b0", sb)
    for step in range(1, steps):
        if a != "registers":
            kernel.advanced("%%desc_a%d" % step, "%desc_a0", sa.step(step))
        kernel.advanced("%%desc_b%d" % step, "%desc_b0", sb.step(step, 4))
    kernel.fence()
    for i, F in enumerate(selectors):
        for step in range(steps):
            kernel.product(form, "d%d_" % i, "%%a%d_" % step if a == "registers" else "%%desc_a%d" % step,
                           "%%desc_b%d" % step, scale if step == 0 else "1", negate,
                           tuple(int(major == "mn") for major in majors), "%%e%d" % step, F)
    kernel.commit()
    kernel.wait()
    for i, _ in enumerate(selectors):
        kernel.move(form, "d%d_" % i, "%D", load=False, first=i * size)
    kernel.finish()


HALF, MIXED, BRAIN = ("f16",) * 3, ("f32", "f16", "f16"), ("f32", "bf16", "bf16")
TF = ("f32", "tf32", "tf32")


def halves():
    sparse("wgmma_sp_f16_n32", "sparse f16 into f16, m64n32k32, no swizzle, selector 0", HALF, 32)
    sparse("wgmma_sp_f16_f32_n64_registers", "sparse f16 into f32, n = 64, A from registers, two steps, B with a swizzle of "
           "128 bytes, selector 1", MIXED, 64, 2, a="registers", b=8, selector=1)
    sparse("wgmma_sp_f16_any_order", "sparse f16 into f32, n = 16, indices of a chunk in any order, A with a swizzle of 32 "
           "bytes, B with one of 64", MIXED, 16, a=2, b=4, ordered=False)
    sparse("wgmma_sp_bf16_selectors", "sparse bf16, n = 24, both selectors with the same metadata registers", BRAIN, 24,
           selector=None)
    sparse("wgmma_sp_bf16_n_major_b", "sparse bf16, n = 64, A from registers and negated, B N-major with 128 bytes, two steps",
           BRAIN, 64, 2, a="registers", b=8, majors=("k", "mn"), negate=(-1, 1))
    sparse("wgmma_sp_bf16_mn_major", "sparse bf16, n = 40, packed A M-major with 64 bytes, B N-major without swizzle, "
           "selector 1", BRAIN, 40, a=4, majors=("mn", "mn"), selector=1)


def others():
    sparse("wgmma_sp_tf32_n8", "sparse tf32, m64n8k16, no swizzle, selector 1", TF, 8, selector=1)
    sparse("wgmma_sp_tf32_n16_registers", "sparse tf32, n = 16, A from registers, two steps, B with a swizzle of 64 bytes, "
           "selector 0", TF, 16, 2, a="registers", b=4)
    sparse("wgmma_sp_s8_n64", "sparse s8, m64n64k64, A with a swizzle of 32 bytes, B with one of 64 bytes",
           ("s32", "s8", "s8"), 64, a=2, b=4)
    sparse("wgmma_sp_u8_s8_n16_saturates", "sparse u8 times s8, n = 16, A from registers, sums that .satfinite limits",
           ("s32", "u8", "s8"), 16, a="registers", limits="sat", version="8.4")
    sparse("wgmma_sp_s8_n8_wraps", "sparse s8, n = 8, sums that wrap", ("s32", "s8", "s8"), 8, limits="wrap")
    sparse("wgmma_sp_e4m3_n24_registers", "sparse e4m3 into f32, n = 24, A from registers, no swizzle, D = A*B",
           ("f32", "e4m3", "e4m3"), 24, a="registers", scale="0")
    sparse("wgmma_sp_e5m2_e4m3_n128", "sparse e5m2 times e4m3 into f16, n = 128, two steps, swizzles of 64 and 128 bytes, "
           "indices in any order", ("f16", "e5m2", "e4m3"), 128, 2, a=4, b=8, ordered=False)


if __name__ == "__main__":
    halves()
    others()
