"""The cases of wgmma.mma_async, each with one accumulator and one group.

    python3 dense.py        # writes the kernels and their cases
"""

import struct

from kernel import (BITS, Form, Kernel, accumulator, clamp, each, exact, flat, matrix, multiplied, transposed, wrap)
from layouts import Shared

MIN, MAX = -(1 << 31), (1 << 31) - 1


def signed(rows, kind, rng):
    """The same numbers, but every row has one sign (unless the type has none)."""
    if kind == "u8":
        return rows
    return [[min(abs(v), 127) * sign for v in row] for row in rows for sign in [rng.choice([-1, 1])]]


def near_the_limits(rng, products):
    """Accumulators so that some sums pass a limit of s32 and some don't."""
    rows = []
    for row in products:
        distances = [rng.randint(0, 2 * abs(total) + 1) for total in row]
        rows.append([MAX - d if total >= 0 else MIN + d for total, d in zip(row, distances)])
    return rows


def truncated(rows, rng):
    """f32 values that are the given .tf32 numbers once their lowest 13 bits are cut off, as integers."""
    words = [[struct.unpack("<I", struct.pack("<f", value))[0] for value in row] for row in rows]
    return [[word | rng.randint(1, 0x1FFF) if word & 0x7FFFFFFF else word for word in row] for row in words]


def layout(name, lines, steps, kind, width, major, lead=None, stride=None, tile=None, per_step=2):
    """The matrix with `lines` rows (A) or columns (B), over `steps` steps along k."""
    if major == "k":
        shared = Shared(name, lines, steps * per_step, width, "k", lead, stride, tile)
    else:
        shared = Shared(name, steps * per_step * 8, lines * BITS[kind] // 128, width, "mn", lead, stride)
    shared.check(steps, per_step)
    return shared


def stored(rows, major):
    """The values of a matrix, given by its rows along k, in the order of its lines in global memory."""
    return flat(rows if major == "k" else transposed(rows))


def dense(name, about, types, n, steps=1, a=1, b=1, majors=("k", "k"), a_strides=(), b_strides=(), first="1", limits=None,
          negate=(1, 1), junk=False, version="8.0", generic=False):
    """A case. `a` and `b` are swizzle widths, or "registers" for a; `first` is scale-d of the first step.

    first:   "1" adds to C; "0" and "zero", a predicate that is false, ignore the accumulator, which holds NaNs
    limits:  "wrap" or "sat"
    junk:    the inputs (.tf32) have bits which the product ignores
    """
    form = Form(*types, n, sat=limits == "sat")
    k = steps * form.k
    kernel = Kernel(name, about, version, generic=generic)
    rng = kernel.rng

    narrow = form.td == "f16"
    A, B = matrix(rng, 64, k, form.ta, narrow), matrix(rng, n, k, form.tb, narrow)  # B by its columns
    zero = [[0] * n for _ in range(64)]
    if limits:
        A, B = signed(A, form.ta, rng), signed(B, form.tb, rng)
        C = near_the_limits(rng, multiplied(A, B, zero))
    else:
        C = accumulator(rng, 64, n, form.td, form.ta)
    if form.ta == "b1":
        product = multiplied(A, B, zero)  # the bits that both have, counted
    else:
        product = each(lambda v: v * negate[0] * negate[1], multiplied(A, B, zero))
    D = [[p + (c if first == "1" else 0) for p, c in zip(*rows)] for rows in zip(product, C)]
    if form.td == "s32":
        outside = sum(not MIN <= v <= MAX for v in flat(D))
        assert bool(outside) == bool(limits) and outside < 64 * n
        D = each(clamp if limits == "sat" else wrap, D)

    kinds = ("u32", "u32") if junk else (form.ta, form.tb)
    inputs = (truncated(A, rng), truncated(B, rng)) if junk else (A, B)
    kernel.read("a", kinds[0], stored(inputs[0], majors[0]))
    kernel.read("b", kinds[1], stored(inputs[1], majors[1]))
    if first == "1":
        kernel.read("c", form.td, exact(C, form.td))
    kernel.written("d", form.td, exact(D, form.td))

    kernel.declare(form, "d")
    if first == "1":
        kernel.move(form, "d", "%C", load=True)
    else:
        kernel.spoil(form, "d")
    if a == "registers":
        for step in range(steps):
            kernel.load_a("a%d_" % step, "%A", 32 * steps, step)
    else:
        sa = layout("a", 64, steps, form.ta, a, majors[0], *a_strides)
        kernel.reserve(sa)
        kernel.copy(sa, "%A")
    sb = layout("b", n, steps, form.tb, b, majors[1], *b_strides)
    kernel.reserve(sb)
    kernel.copy(sb, "%B")
    kernel.ready()

    if a != "registers":
        kernel.descriptor("%desc_a0", sa)
    kernel.descriptor("%desc_b0", sb)
    for step in range(1, steps):
        if a != "registers":
            kernel.advanced("%%desc_a%d" % step, "%desc_a0", sa.step(step))
        kernel.advanced("%%desc_b%d" % step, "%desc_b0", sb.step(step))
    if first == "zero":
        kernel.add(".reg .pred %accumulate;\nsetp.ne.u32 %accumulate, %thread, %thread;")
    kernel.fence()
    for step in range(steps):
        scale = {"zero": "%accumulate"}.get(first, first) if step == 0 else "1"
        kernel.product(form, "d", "%%a%d_" % step if a == "registers" else "%%desc_a%d" % step, "%%desc_b%d" % step, scale,
                       negate, tuple(int(major == "mn") for major in majors))
    kernel.commit()
    kernel.wait()
    kernel.move(form, "d", "%D", load=False)
    kernel.finish()


HALF, MIXED, BRAIN = ("f16",) * 3, ("f32", "f16", "f16"), ("f32", "bf16", "bf16")
TF = ("f32", "tf32", "tf32")
MN = ("mn", "mn")


def halves():
    dense("wgmma_f16_f32_n64", "f16 into f32, m64n64k16, both from shared memory without swizzle, D = A*B + D", MIXED, 64)
    dense("wgmma_f16_f32_n64_strides", "f16 into f32, n = 64, no swizzle, with unusual, padded distances between cores",
          MIXED, 64, 2, a_strides=(1152, 144), b_strides=(144, 640), generic=True)
    dense("wgmma_f16_n16_sw32", "f16 into f16, m64n16k16, swizzle of 32 bytes", HALF, 16, a=2, b=2, generic=True)
    dense("wgmma_f16_n40_registers", "f16 into f16, m64n40k16, A from registers", HALF, 40, a="registers")
    dense("wgmma_f16_f32_n256_sw128", "f16 into f32, m64n256k16, four steps along k in one group, swizzle of 128 bytes; "
          "the first step ignores D (scale-d is the immediate 0)", MIXED, 256, 4, a=8, b=8, first="0", generic=True)
    dense("wgmma_bf16_n96_sw64", "bf16, m64n96k16, two steps, swizzle of 64 bytes, scale-d is first a false predicate",
          BRAIN, 96, 2, a=4, b=4, first="zero")
    dense("wgmma_bf16_n64_mixed_swizzles", "bf16, n = 64, four steps; A has no swizzle, B one of 32 bytes in four tiles",
          BRAIN, 64, 4, a=1, b=2, a_strides=(1024, 128))
    dense("wgmma_f16_n128_registers_sw128", "f16 into f16, n = 128, A from registers, four steps, swizzle of 128 bytes",
          HALF, 128, 4, a="registers", b=8)
    dense("wgmma_bf16_negated_a", "bf16, n = 16, A negated (imm-scale-a = -1)", BRAIN, 16, negate=(-1, 1))
    dense("wgmma_f16_negated_b_registers", "f16 into f32, n = 24, A from registers, B negated", MIXED, 24, a="registers",
          negate=(1, -1))
    dense("wgmma_tf32_negated_both", "tf32, n = 8, A and B negated", TF, 8, negate=(-1, -1))


def turned():
    dense("wgmma_f16_mn_major", "f16 into f32, n = 24, A M-major and B N-major, no swizzle", MIXED, 24, majors=MN)
    dense("wgmma_f16_mn_major_strides", "f16 into f32, n = 40, both MN-major, no swizzle, two steps, padded distances", MIXED,
          40, 2, majors=MN, a_strides=(144, 640), b_strides=(768, 144))
    dense("wgmma_bf16_mn_major_sw32", "bf16, n = 64, both MN-major with a swizzle of 32 bytes", BRAIN, 64, a=2, b=2, majors=MN)
    dense("wgmma_f16_mn_major_sw64", "f16 into f16, n = 96, both MN-major with a swizzle of 64 bytes, two steps", HALF, 96, 2,
          a=4, b=4, majors=MN)
    dense("wgmma_bf16_mn_major_sw128", "bf16, n = 128, both MN-major with a swizzle of 128 bytes, four steps", BRAIN, 128, 4,
          a=8, b=8, majors=MN)
    dense("wgmma_bf16_mn_major_sw128_strides", "bf16, n = 128, both MN-major, 128 bytes, k groups nearer than n groups", BRAIN,
          128, 2, a=8, b=8, majors=MN, a_strides=(4096, 1024), b_strides=(4096, 1024), first="0")
    dense("wgmma_f16_n_major_b", "f16 into f32, n = 64, A from registers and B N-major with 128 bytes, two steps", MIXED, 64,
          2, a="registers", b=8, majors=("k", "mn"))
    dense("wgmma_bf16_m_major_a", "bf16, n = 8, A M-major with a swizzle of 64 bytes, B K-major without", BRAIN, 8, a=4,
          majors=("mn", "k"))


def narrow_floats():
    dense("wgmma_tf32_n8_sw32", "tf32, m64n8k8, swizzle of 32 bytes", TF, 8, a=2, b=2)
    dense("wgmma_tf32_n64_registers", "tf32, n = 64, A from registers, four steps, swizzle of 128 bytes", TF, 64, 4,
          a="registers", b=8)
    dense("wgmma_tf32_truncates", "tf32, n = 16, swizzle of 64 bytes; the low 13 bits of the inputs are not zero and "
          "must be ignored", TF, 16, 2, a=4, b=4, junk=True)
    dense("wgmma_e4m3_f16_n24", "e4m3 into f16, m64n24k32, no swizzle", ("f16", "e4m3", "e4m3"), 24)
    dense("wgmma_e5m2_e4m3_n32_registers", "e5m2 times e4m3 into f32, n = 32, A from registers, swizzle of 64 bytes, "
          "two steps", ("f32", "e5m2", "e4m3"), 32, 2, a="registers", b=4)
    dense("wgmma_e4m3_e5m2_n128_sw128", "e4m3 times e5m2 into f32, n = 128, four steps, swizzle of 128 bytes, D = A*B",
          ("f32", "e4m3", "e5m2"), 128, 4, a=8, b=8, first="zero")
    dense("wgmma_e5m2_negated", "e5m2 into f16, n = 8, swizzle of 32 bytes, A negated", ("f16", "e5m2", "e5m2"), 8, a=2, b=2,
          negate=(-1, 1))


def integers():
    dense("wgmma_s8_n32_sw64", "s8, m64n32k32, two steps, swizzle of 64 bytes", ("s32", "s8", "s8"), 32, 2, a=4, b=4)
    dense("wgmma_s8_n16_wraps", "s8, n = 16, sums that wrap", ("s32", "s8", "s8"), 16, limits="wrap")
    dense("wgmma_s8_u8_n48_saturates", "s8 times u8, n = 48, sums that .satfinite limits on both sides",
          ("s32", "s8", "u8"), 48, a=2, b=2, limits="sat", version="8.4")
    dense("wgmma_u8_s8_n96_registers", "u8 times s8, n = 96, A from registers, four steps, swizzle of 128 bytes",
          ("s32", "u8", "s8"), 96, 4, a="registers", b=8, version="8.4", first="0")
    dense("wgmma_u8_n8_saturates", "u8, n = 8, A from registers, sums that .satfinite limits", ("s32", "u8", "u8"), 8,
          a="registers", limits="sat")
    dense("wgmma_b1_n64", "b1, m64n64k256, popc of and, no swizzle", ("s32", "b1", "b1"), 64)
    dense("wgmma_b1_n16_registers", "b1, n = 16, A from registers, four steps, swizzle of 128 bytes", ("s32", "b1", "b1"), 16,
          4, a="registers", b=8)


if __name__ == "__main__":
    halves()
    turned()
    narrow_floats()
    integers()
