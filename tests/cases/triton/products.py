"""Kernels that multiply matrices."""

import numpy as np
import triton
import triton.language as tl

from build import Case, Tensor, bf16, float8, from_bf16


@triton.jit
def tile_of(number, M, N, BM: tl.constexpr, BN: tl.constexpr, GROUP: tl.constexpr):
    """The row and the column of a tile: GROUP rows of tiles at a time, which keeps tiles of b in the cache."""
    rows = tl.cdiv(M, BM)
    columns = tl.cdiv(N, BN)
    band = number // (GROUP * columns)
    height = min(rows - band * GROUP, GROUP)
    inside = number % (GROUP * columns)
    return band * GROUP + inside % height, inside // height


@triton.jit
def matmul(c, a, b, bias, M, N, K, sa, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    """c = leaky_relu(a b + bias); sizes are no multiples of the tiles."""
    row, column = tile_of(tl.program_id(0), M, N, BM, BN, GROUP)
    m = row * BM + tl.arange(0, BM)
    n = column * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    at_a = a + (m % M)[:, None] * sa + k[None, :]
    at_b = b + k[:, None] * sb + (n % N)[None, :]
    sums = tl.zeros((BM, BN), tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        left = tl.load(at_a, k[None, :] < K - step * BK, other=0.0)
        right = tl.load(at_b, k[:, None] < K - step * BK, other=0.0)
        sums = tl.dot(left, right, sums)
        at_a += BK
        at_b += BK * sb
    sums += tl.load(bias + n, n < N, other=0.0)[None, :]
    sums = tl.where(sums > 0, sums, 0.01 * sums)
    tl.store(c + m[:, None] * sc + n[None, :], sums.to(c.dtype.element_ty), (m < M)[:, None] & (n < N)[None, :])


@triton.jit
def product(c, a, b, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, KIND: tl.constexpr, TURNED: tl.constexpr):
    """c = a b, of whole tiles; with TURNED, b has the rows that c has as columns."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    sums = tl.zeros((BM, BN), KIND)
    for start in range(0, K, BK):
        left = tl.load(a + m[:, None] * K + (start + k)[None, :])
        if TURNED:
            right = tl.load(b + n[:, None] * K + (start + k)[None, :]).T
        else:
            right = tl.load(b + (start + k)[:, None] * N + n[None, :])
        sums = tl.dot(left, right, sums, out_dtype=KIND)
    tl.store(c + m[:, None] * N + n[None, :], sums.to(c.dtype.element_ty))


@triton.jit
def matmul_persistent(c, a, b, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PROGRAMS: tl.constexpr, FLAT: tl.constexpr):
    """Each program computes every PROGRAMSth tile."""
    tiles = tl.cdiv(M, BM) * tl.cdiv(N, BN)
    k = tl.arange(0, BK)
    for number in tl.range(tl.program_id(0), tiles, PROGRAMS, flatten=FLAT):
        row, column = tile_of(number, M, N, BM, BN, 2)
        m = row * BM + tl.arange(0, BM)
        n = column * BN + tl.arange(0, BN)
        sums = tl.zeros((BM, BN), tl.float32)
        for start in range(0, K, BK):
            left = tl.load(a + m[:, None] * K + (start + k)[None, :], (m < M)[:, None], other=0.0)
            right = tl.load(b + (start + k)[:, None] * N + n[None, :], (n < N)[None, :], other=0.0)
            sums = tl.dot(left, right, sums)
        tl.store(c + m[:, None] * N + n[None, :], sums.to(tl.float16), (m < M)[:, None] & (n < N)[None, :])


@triton.jit
def matmul_tma(c_map, a_map, b_map, c, a, b, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Tiles are copied by descriptions of tensors that are arguments; b has the rows that c has as columns."""
    m = tl.program_id(0) * BM
    n = tl.program_id(1) * BN
    sums = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        sums = tl.dot(a_map.load([m, k]), b_map.load([n, k]).T, sums)
    c_map.store([m, n], sums.to(tl.float16))


@triton.jit
def matmul_tma_persistent(c, a, b, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PROGRAMS: tl.constexpr):
    """As above, with descriptions that the kernel makes, and several tiles for a program."""
    a_map = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    b_map = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    c_map = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    for number in tl.range(tl.program_id(0), tl.cdiv(M, BM) * tl.cdiv(N, BN), PROGRAMS):
        row, column = tile_of(number, M, N, BM, BN, 2)
        sums = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            sums = tl.dot(a_map.load([row * BM, k]), b_map.load([column * BN, k]).T, sums)
        c_map.store([row * BM, column * BN], sums.to(tl.float16))


@triton.jit
def matmul_special(c_map, a_map, b_map, c, a, b, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PROGRAMS: tl.constexpr):
    """As above, with warps that only copy."""
    for number in tl.range(tl.program_id(0), tl.cdiv(M, BM) * tl.cdiv(N, BN), PROGRAMS, warp_specialize=True):
        row, column = tile_of(number, M, N, BM, BN, 2)
        sums = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            sums = tl.dot(a_map.load([row * BM, k]), b_map.load([column * BN, k]).T, sums)
        c_map.store([row * BM, column * BN], sums.to(tl.float16))


@triton.jit
def matmul_grouped(c, a, b, ends, GROUPS: tl.constexpr, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PROGRAMS: tl.constexpr):
    """Groups of rows of a, which end at `ends`, times a matrix of b each, by a fixed number of programs."""
    number = tl.program_id(0)
    passed = 0
    first = 0
    columns = tl.cdiv(N, BN)
    k = tl.arange(0, BK)
    for group in range(GROUPS):
        end = tl.load(ends + group)
        tiles = tl.cdiv(end - first, BM) * columns
        while number >= passed and number < passed + tiles:
            inside = number - passed
            m = first + inside // columns * BM + tl.arange(0, BM)
            n = inside % columns * BN + tl.arange(0, BN)
            sums = tl.zeros((BM, BN), tl.float32)
            for start in range(0, K, BK):
                left = tl.load(a + m[:, None] * K + (start + k)[None, :], (m < end)[:, None], other=0.0)
                right = tl.load(b + group * N * K + (start + k)[:, None] * N + n[None, :], (n < N)[None, :], other=0.0)
                sums = tl.dot(left, right, sums)
            tl.store(c + m[:, None] * N + n[None, :], sums.to(tl.float16), (m < end)[:, None] & (n < N)[None, :])
            number += PROGRAMS
        passed += tiles
        first = end


@triton.jit
def experts(c, a, b, order, expert, count, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Rows of a in any order; each tile has an expert of its own."""
    place = tl.program_id(0) * BM + tl.arange(0, BM)
    row = tl.load(order + place)
    inside = (row < count)[:, None]
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    at_b = b + tl.load(expert + tl.program_id(0)) * N * K
    sums = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        left = tl.load(a + row[:, None] * K + (start + k)[None, :], inside, other=0.0)
        sums = tl.dot(left, tl.load(at_b + (start + k)[:, None] * N + n[None, :]), sums)
    tl.store(c + row[:, None] * N + n[None, :], sums.to(tl.bfloat16), inside)


@triton.jit
def matmul_split(c, a, b, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr):
    """Programs that add their parts of k to the same tile."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.program_id(2) * BK + tl.arange(0, BK)
    sums = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK * SPLIT):
        left = tl.load(a + m[:, None] * K + (start + k)[None, :])
        sums = tl.dot(left, tl.load(b + (start + k)[:, None] * N + n[None, :]), sums)
    tl.atomic_add(c + m[:, None] * N + n[None, :], sums, sem="relaxed")


@triton.jit
def matmul_batched(c, a, b, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Matrices of a batch, bfloat16."""
    batch = tl.program_id(2).to(tl.int64)
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a += batch * M * K
    b += batch * K * N
    sums = tl.zeros((BM, BN), tl.float32)
    for start in tl.range(0, K, BK, num_stages=2):
        left = tl.load(a + m[:, None] * K + (start + k)[None, :])
        sums = tl.dot(left, tl.load(b + (start + k)[:, None] * N + n[None, :]), sums)
    tl.store(c + batch * M * N + m[:, None] * N + n[None, :], sums.to(tl.bfloat16))


@triton.jit
def matmul_int4(c, a, b, scales, N, K, GROUP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Weights are integers of 4 bits, 8 below another ones in a word, with a scale for GROUP rows and a zero of 8."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    sums = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        words = tl.load(b + ((start + k) // 8)[:, None] * N + n[None, :])
        weights = ((words >> ((k % 8) * 4)[:, None]) & 15) - 8
        scale = tl.load(scales + (start // GROUP) * N + n)
        right = weights.to(tl.float16) * scale[None, :]
        sums = tl.dot(tl.load(a + m[:, None] * K + (start + k)[None, :]), right, sums)
    tl.store(c + m[:, None] * N + n[None, :], sums.to(tl.float16))


@triton.jit
def gated(c, a, gate, up, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """silu(a gate) (a up), with two products in a loop."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    g = tl.zeros((BM, BN), tl.float32)
    u = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        left = tl.load(a + m[:, None] * K + (start + k)[None, :])
        place = (start + k)[:, None] * N + n[None, :]
        g = tl.dot(left, tl.load(gate + place), g)
        u = tl.dot(left, tl.load(up + place), u)
    tl.store(c + m[:, None] * N + n[None, :], (g * tl.sigmoid(g) * u).to(tl.float16))


@triton.jit
def convolution(y, x, w, HEIGHT, WIDTH, C: tl.constexpr, O: tl.constexpr, R: tl.constexpr, BM: tl.constexpr):
    """A convolution with R by R taps and padding, channels last, as a product: rows are pixels."""
    pixel = tl.program_id(0) * BM + tl.arange(0, BM)
    h = pixel // WIDTH
    v = pixel % WIDTH
    channel = tl.arange(0, C)
    n = tl.arange(0, O)
    sums = tl.zeros((BM, O), tl.float32)
    for tap in range(R * R):
        row = h + tap // R - R // 2
        column = v + tap % R - R // 2
        inside = (row >= 0) & (row < HEIGHT) & (column >= 0) & (column < WIDTH)
        left = tl.load(x + (row * WIDTH + column)[:, None] * C + channel[None, :], inside[:, None], other=0.0)
        right = tl.load(w + (tap * C + channel)[:, None] * O + n[None, :])
        sums = tl.dot(left, right, sums)
    tl.store(y + pixel[:, None] * O + n[None, :], sums.to(tl.float16), (pixel < HEIGHT * WIDTH)[:, None])


def cases():
    """The cases of these kernels."""
    rng = np.random.default_rng(27)
    small = lambda *shape, kind=np.float16: (rng.integers(-8, 9, shape) / 4).astype(kind)
    zeros = lambda *shape, kind=np.float16: np.zeros(shape, kind)
    both, hopper = {"capabilities": (80, 90)}, {"capabilities": (90,)}
    near = {"tolerance": (2e-3, 2e-3)}
    found = []

    def add(*arguments, **more):
        found.append(Case(*arguments, **more))

    wide = lambda x: x.astype(np.float64)
    a, b, bias = small(100, 72), small(72, 80), small(80, kind=np.float32)
    sums = wide(a) @ wide(b) + bias
    add(matmul, "*fp16 *fp16 *fp16 *fp32 i32 i32 i32 i32:16 i32:16 i32:16", {"BM": 64, "BN": 64, "BK": 32, "GROUP": 2}, (4,),
        {"c": zeros(100, 80), "a": np.pad(a, ((0, 0), (0, 8))), "b": b, "bias": bias, "M": 100, "N": 80, "K": 72, "sa": 80,
         "sb": 80, "sc": 80},
        {"c": np.where(sums > 0, sums, 0.01 * sums).astype(np.float16)}, **both, **near)  # fmt: skip

    def plain(name, kinds, a, b, c, sums, BM=64, BN=64, BK=32, KIND=tl.float32, turned=False, **more):
        M, N, K = *sums.shape, a.shape[1]
        constants = {"BM": BM, "BN": BN, "BK": BK, "KIND": KIND, "TURNED": turned}
        add(product, f"{kinds} i32:16 i32:16 i32:16", constants, (M // BM, N // BN),
            {"c": c, "a": a, "b": b, "M": M, "N": N, "K": K}, {"c": sums.astype(c.dtype)}, name=name, **more)  # fmt: skip

    a, b = rng.integers(-128, 128, (64, 64), np.int8), rng.integers(-128, 128, (64, 64), np.int8)
    plain("matmul_int8", "*i32 *i8 *i8", a, b, zeros(64, 64, kind=np.int32), a.astype(np.int64) @ b.T.astype(np.int64), KIND=tl.int32, turned=True, **both)
    a, b = small(64, 64, kind=np.float32), small(64, 64, kind=np.float32)
    plain("matmul_tf32", "*fp32 *fp32 *fp32", a, b, zeros(64, 64, kind=np.float32), wide(a) @ wide(b), **both)
    a, b = small(16, 32, kind=np.float64), small(32, 16, kind=np.float64)
    plain("matmul_double", "*fp64 *fp64 *fp64", a, b, zeros(16, 16, kind=np.float64), a @ b, BM=16, BN=16, KIND=tl.float64)
    a, b = rng.integers(0, 120, (64, 64), np.uint8), rng.integers(0, 120, (64, 64), np.uint8)
    a, b = a & 0xBF | 0x20, b & 0xBF | 0x20 | (a & 1) << 7
    sums = wide(float8(a, 4)) @ wide(float8(b, 4)).T
    plain("matmul_e4m3", "*fp32 *fp8e4nv *fp8e4nv", a, b, zeros(64, 64, kind=np.float32), sums, turned=True, tolerance=(0.05, 2e-3), **hopper)
    sums = wide(float8(a, 5)) @ wide(float8(b, 5))
    plain("matmul_e5m2", "*fp32 *fp8e5 *fp8e5", a, b, zeros(64, 64, kind=np.float32), sums, tolerance=(0.05, 2e-3), **both)

    a, b = small(128, 64), small(64, 96)
    product_of = lambda a, b: (wide(a) @ wide(b)).astype(np.float16)
    for flat in (False, True):
        constants = {"BM": 64, "BN": 32, "BK": 32, "PROGRAMS": 2, "FLAT": flat}
        add(matmul_persistent, "*fp16 *fp16 *fp16 i32 i32:16 i32:16", constants, (2,),
            {"c": zeros(128, 96), "a": a, "b": b, "M": 128, "N": 96, "K": 64}, {"c": product_of(a, b)},
            name="matmul_persistent" + "_flat" * flat, **both, **near)  # fmt: skip
    a, b = small(128, 96), small(64, 96)
    maps = {"c_map": Tensor("c", "fp16"), "a_map": Tensor("a", "fp16"), "b_map": Tensor("b", "fp16")}
    tiles = "tensordesc<fp16[64,32]> tensordesc<fp16[64,32]> tensordesc<fp16[32,32]> *fp16 *fp16 *fp16"
    constants = {"BM": 64, "BN": 32, "BK": 32}
    add(matmul_tma, f"{tiles} i32:16", constants, (2, 2), {**maps, "c": zeros(128, 64), "a": a, "b": b, "K": 96},
        {"c": product_of(a, b.T)}, **hopper, **near)  # fmt: skip
    sizes = {"M": 128, "N": 64, "K": 96}
    add(matmul_special, f"{tiles} i32:16 i32:16 i32:16", {**constants, "PROGRAMS": 2}, (2,),
        {**maps, "c": zeros(128, 64), "a": a, "b": b, **sizes}, {"c": product_of(a, b.T)}, **hopper, **near)  # fmt: skip
    add(matmul_tma_persistent, "*fp16 *fp16 *fp16 i32:16 i32:16 i32:16", {**constants, "PROGRAMS": 2}, (2,),
        {"c": zeros(128, 64), "a": a, "b": b, **sizes}, {"c": product_of(a, b.T)}, **both, **near)  # fmt: skip

    a, b, ends = small(70, 64), small(3, 64, 48), [20, 20, 70]
    groups = [product_of(a[first:end], b[i]) for i, (first, end) in enumerate(zip([0, *ends], ends))]
    add(matmul_grouped, "*fp16 *fp16 *fp16 *i32 i32:16 i32:16", {"GROUPS": 3, "BM": 64, "BN": 32, "BK": 32, "PROGRAMS": 3}, (3,),
        {"c": zeros(70, 48), "a": a, "b": b, "ends": np.array(ends, np.int32), "N": 48, "K": 64},
        {"c": np.concatenate(groups)}, **both, **near)  # fmt: skip
    a, b, rows = bf16(small(30, 64)), bf16(small(4, 64, 32)), rng.permutation(30)
    order = np.concatenate([rows[:10], [30] * 6, rows[10:26], rows[26:], [30] * 12]).astype(np.int32)
    expert, sums = np.array([2, 0, 3], np.int32), zeros(30, 32, kind=np.float64)
    for tile, chosen in enumerate(expert):
        mine = order[tile * 16 : tile * 16 + 16]
        mine = mine[mine < 30]
        sums[mine] = wide(from_bf16(a[mine])) @ wide(from_bf16(b[chosen]))
    add(experts, "*bf16 *bf16 *bf16 *i32 *i32 i32 i32:16 i32:16", {"BM": 16, "BN": 32, "BK": 32}, (3, 1),
        {"c": zeros(30, 32, kind=np.uint16), "a": a, "b": b, "order": order, "expert": expert, "count": 30, "N": 32, "K": 64},
        {"c": bf16(sums)}, tolerance=(1e-2, 8e-3))  # fmt: skip
    a, b = small(64, 128), small(128, 32)
    add(matmul_split, "*fp32 *fp16 *fp16 i32:16 i32:16 i32:16", {"BM": 64, "BN": 32, "BK": 32, "SPLIT": 2}, (1, 1, 2),
        {"c": zeros(64, 32, kind=np.float32), "a": a, "b": b, "M": 64, "N": 32, "K": 128},
        {"c": (wide(a) @ wide(b)).astype(np.float32)}, **both)  # fmt: skip
    a, b = bf16(small(2, 64, 64)), bf16(small(2, 64, 32))
    add(matmul_batched, "*bf16 *bf16 *bf16 i32:16 i32:16 i32:16", {"BM": 64, "BN": 32, "BK": 32}, (1, 1, 2),
        {"c": zeros(2, 64, 32, kind=np.uint16), "a": a, "b": b, "M": 64, "N": 32, "K": 64},
        {"c": bf16(wide(from_bf16(a)) @ wide(from_bf16(b)))}, tolerance=(1e-2, 8e-3), **both)  # fmt: skip
    a, weights, scales = small(32, 64), rng.integers(-8, 8, (64, 32)), small(2, 32)
    words = sum((weights[i::8] + 8).astype(np.uint32) << np.uint32(4 * i) for i in range(8)).view(np.int32)
    right = (weights.astype(np.float16).reshape(2, 32, 32) * scales[:, None]).reshape(64, 32)
    add(matmul_int4, "*fp16 *fp16 *i32 *fp16 i32:16 i32:16", {"GROUP": 32, "BM": 32, "BN": 32, "BK": 32}, (1, 1),
        {"c": zeros(32, 32), "a": a, "b": words, "scales": scales, "N": 32, "K": 64}, {"c": product_of(a, right)}, **near)  # fmt: skip
    a, g, u = small(64, 64), small(64, 32) / 8, small(64, 32) / 8
    first, second = wide(a) @ wide(g), wide(a) @ wide(u)
    add(gated, "*fp16 *fp16 *fp16 *fp16 i32:16 i32:16", {"BM": 64, "BN": 32, "BK": 32}, (1, 1),
        {"c": zeros(64, 32), "a": a, "gate": g, "up": u, "N": 32, "K": 64},
        {"c": (first / (1 + np.exp(-first)) * second).astype(np.float16)}, **both, **near)  # fmt: skip
    x, w = small(9, 7, 16), small(9, 16, 32)
    padded, y = np.pad(wide(x), ((1, 1), (1, 1), (0, 0))), 0
    for tap in range(9):
        y = y + padded[tap // 3 : tap // 3 + 9, tap % 3 : tap % 3 + 7] @ w[tap]
    add(convolution, "*fp16 *fp16 *fp16 i32 i32", {"C": 16, "O": 32, "R": 3, "BM": 64}, (1,),
        {"y": zeros(9, 7, 32), "x": x, "w": w, "HEIGHT": 9, "WIDTH": 7}, {"y": y.astype(np.float16)}, **both, **near)  # fmt: skip
    return found
