"""Kernels for Numba: memory, atomics, and operations of warps, blocks and grids."""

import numpy
from numba import cuda, types
from numba.cuda import cg
from numba.cuda.random import (
    xoroshiro128p_dtype,
    xoroshiro128p_normal_float32,
    xoroshiro128p_normal_float64,
    xoroshiro128p_uniform_float32,
    xoroshiro128p_uniform_float64,
)
from numba.np.numpy_support import from_dtype

from modules import lines

ATOMIC_NUMBERS = [types.int32, types.uint32, types.int64, types.uint64, types.float32, types.float64]
ATOMIC_INTEGERS = ATOMIC_NUMBERS[:4]
ELEMENTS = [types.int8, types.uint8, types.int16, types.uint16, *ATOMIC_NUMBERS, types.complex64, types.complex128, types.boolean]
TABLE = numpy.arange(60, dtype=numpy.float32).reshape(3, 4, 5)
WIDE_TABLE = numpy.arange(40, dtype=numpy.complex128)
SMALL_TABLE = numpy.arange(13, dtype=numpy.int8)
RECORD = numpy.dtype([("a", "f4"), ("b", "i8"), ("c", "i2"), ("d", "c8"), ("e", "f8", (3, 2))], align=True)
# Numba refuses elements that are not aligned.
PACKED = numpy.dtype([("b", "f8"), ("d", "i4", (3,)), ("c", "u2"), ("a", "i1"), ("e", "i1")])
RECORDS = numpy.zeros(4, dtype=RECORD)


def made(text, **place):
    """A kernel from its text. Numba does not take the stubs of `numba.cuda` as values."""
    place["cuda"] = cuda
    exec(text, place)
    return place["kernel"]


def atomic(name):
    """An atomic operation in global memory whose result is stored."""
    return made(f"def kernel(out, a, i, v):\n    out[cuda.grid(1)] = cuda.atomic.{name}(a, i, v)\n")


def atomic_without_result(name):
    """An atomic operation in global memory, at two indices."""
    return made(f"def kernel(a, v):\n    cuda.atomic.{name}(a, (cuda.threadIdx.x, cuda.blockIdx.x), v)\n")


def atomic_in_shared(name, element):
    """An atomic operation in shared memory."""
    text = f"""
def kernel(out, v):
    block = cuda.shared.array(64, element)
    block[cuda.threadIdx.x] = 0
    cuda.syncthreads()
    cuda.atomic.{name}(block, cuda.threadIdx.x % 7, v[cuda.grid(1)])
    cuda.syncthreads()
    out[cuda.grid(1)] = block[cuda.threadIdx.x]
"""
    return made(text, element=element)


def compare_and_swap(out, a, old, new):
    """Compare and swap, at an index and at the first element."""
    i = cuda.grid(1)
    out[i] = cuda.atomic.cas(a, i, old[i], new[i])
    out[i + 1] = cuda.atomic.compare_and_swap(a[i:], old[i], new[i])


def in_static_shared(element):
    """A tile of shared memory that is transposed."""

    def kernel(out, a):
        tile = cuda.shared.array((16, 17), element)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        i, j = cuda.grid(2)
        tile[y, x] = a[i, j]
        cuda.syncthreads()
        out[j, i] = tile[x, y]

    return kernel


def in_dynamic_shared(element):
    """Dynamic shared memory, of which the second part has another type."""

    def kernel(out, a):
        first = cuda.shared.array(0, element)
        second = cuda.shared.array(0, types.int32)[32:]
        i = cuda.threadIdx.x
        first[i] = a[i]
        second[i] = i
        cuda.syncthreads()
        out[i] = first[31 - i]
        out[second[i] + 32] = first[i]

    return kernel


def in_local(element):
    """An array of each thread, with an index that is not constant."""

    def kernel(out, a):
        own = cuda.local.array(24, element)
        for i in range(24):
            own[i] = a[i * cuda.threadIdx.x]
        out[cuda.grid(1)] = own[int(cuda.laneid) % 24]

    return kernel


def in_aligned_local(out, a):
    """Arrays with an alignment."""
    own = cuda.local.array(8, types.float32, alignment=64)
    block = cuda.shared.array(8, types.float32, alignment=128)
    for i in range(8):
        own[i] = a[i]
        block[i] = a[i + 8]
    out[cuda.grid(1)] = own[cuda.threadIdx.x % 8] + block[cuda.threadIdx.y % 8]


def in_constant(out, i, j):
    """Constant memory of three types."""
    table = cuda.const.array_like(TABLE)
    wide = cuda.const.array_like(WIDE_TABLE)
    small = cuda.const.array_like(SMALL_TABLE)
    out[cuda.grid(1)] = table[i % 3, j % 4, 2] + wide[i].real + small[j]


def in_constant_records(out, i):
    """Constant records."""
    table = cuda.const.array_like(RECORDS)
    out[cuda.grid(1)] = table[i].a + table[i].b


def hints(out, a):
    """Loads and stores with cache operators."""
    i = cuda.grid(1)
    cuda.stcg(out, i, cuda.ldca(a, i) + cuda.ldcg(a, i))
    cuda.stcs(out, i + 1, cuda.ldcs(a, i + 1) + cuda.ldlu(a, i + 1))
    cuda.stwb(out, i + 2, cuda.ldcv(a, i + 2))
    cuda.stwt(out, i + 3, cuda.ldcv(a, i + 3))


def shuffles(out, a, lane):
    """Every shuffle, of one element type."""
    i = cuda.grid(1)
    v = a[i]
    v += cuda.shfl_sync(0xFFFFFFFF, v, lane)
    v += cuda.shfl_up_sync(0xFFFFFFFF, v, 1)
    v += cuda.shfl_down_sync(0xFFFFFFFF, v, lane)
    v += cuda.shfl_xor_sync(0xFFFFFFFF, v, 16)
    out[i] = v


def votes(out, a, mask):
    """Votes, matches, and masks of lanes."""
    i = cuda.grid(1)
    p = a[i] > 0
    r = cuda.ballot_sync(mask, p)
    if cuda.all_sync(0xFFFFFFFF, p):
        r += 1
    if cuda.any_sync(mask, p):
        r += 2
    if cuda.eq_sync(mask, p):
        r += 4
    r += cuda.activemask() ^ cuda.lanemask_lt()
    cuda.syncwarp()
    cuda.syncwarp(mask)
    out[i] = r


def matches(out, a, mask):
    """Matches of equal values."""
    i = cuda.grid(1)
    found, all_equal = cuda.match_all_sync(mask, a[i])
    out[i] = cuda.match_any_sync(mask, a[i]) + found
    if all_equal:
        out[i] += 1


def barriers(out, a):
    """Barriers that reduce, and fences."""
    i = cuda.grid(1)
    cuda.threadfence()
    cuda.threadfence_block()
    cuda.threadfence_system()
    n = cuda.syncthreads_count(int(a[i] > 3))
    if cuda.syncthreads_and(int(a[i])):
        n += 1
    if cuda.syncthreads_or(int(a[i] == 9)):
        n += 2
    cuda.nanosleep(32)
    out[i] = n


def whole_grid(a, rounds):
    """A barrier of the whole grid in a loop."""
    grid = cg.this_grid()
    i = cuda.grid(1)
    for _ in range(rounds):
        a[i] = a[i] + a[(i + 1) % a.size]
        grid.sync()


def places(out):
    """All special registers that Numba names."""
    x, y, z = cuda.grid(3)
    a, b, c = cuda.gridsize(3)
    n = cuda.threadIdx.x + cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.z
    n += cuda.blockIdx.x + cuda.blockIdx.y + cuda.blockIdx.z + cuda.gridDim.x + cuda.gridDim.y + cuda.gridDim.z
    out[x, y, z] = a + b + c + n + cuda.laneid + cuda.warpsize + cuda.blockDim.y + cuda.blockDim.z


def vectors(out, a):
    """Vector types."""
    i = cuda.grid(1)
    f = cuda.float4(a[i], a[i + 1], 2.0, cuda.float32x2(3.0, a[i]).y)
    d = cuda.double2(a[i], f.x)
    n = cuda.uint8x3(1, 2, i)
    m = cuda.int64x4(i, n.x, n.y, n.z)
    out[i] = f.x + f.y * f.z + f.w + d.x - d.y + m.x + m.w


def reduced(out, a):
    """A sum over a block in shared memory."""
    block = cuda.shared.array(256, types.float64)
    t = cuda.threadIdx.x
    total = 0.0
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += a[i]
    block[t] = total
    cuda.syncthreads()
    step = 128
    while step > 0:
        if t < step:
            block[t] += block[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        cuda.atomic.add(out, 0, block[0])


def product(c, a, b):
    """A product of matrices in tiles."""
    left = cuda.shared.array((16, 16), types.float32)
    right = cuda.shared.array((16, 16), types.float32)
    x, y = cuda.grid(2)
    s, t = cuda.threadIdx.x, cuda.threadIdx.y
    total = types.float32(0)
    for k in range(cuda.gridDim.x):
        left[s, t] = a[x, t + k * 16]
        right[s, t] = b[s + k * 16, y]
        cuda.syncthreads()
        for j in range(16):
            total += left[s, j] * right[j, t]
        cuda.syncthreads()
    c[x, y] = total


def records(out, a, p):
    """Aligned and packed records, with arrays in them."""
    i = cuda.grid(1)
    out[i].a = a[i].a + p[i].b
    out[i].b = a[i].b - p[i].d[1]
    out[i].c = p[i].c
    out[i].d = a[i].d * 2
    for k in range(3):
        out[i].e[k, 1] = a[i].e[k, 0] + p[i].a


def whole_records(out, a):
    """Copies of records, also through an array of each thread."""
    i = cuda.grid(1)
    own = cuda.local.array(2, RECORD_TYPE)
    own[i % 2] = a[i]
    own[(i + 1) % 2] = a[i + 1]
    out[i] = own[i % 2]


def random_numbers(states, out, wide):
    """All distributions of the random generator."""
    i = cuda.grid(1)
    out[i] = xoroshiro128p_uniform_float32(states, i) + xoroshiro128p_normal_float32(states, i)
    wide[i] = xoroshiro128p_uniform_float64(states, i) + xoroshiro128p_normal_float64(states, i)


def strided(out, a, b):
    """Arrays of any strides, of three and four dimensions, and views of them."""
    i, j = cuda.grid(2)
    view = a[i, 1:, ::2]
    for k in range(view.shape[0]):
        out[i, j, k, 0] = view[k, j] + b[j, i] + a.strides[1] + a.ndim + len(view)


RECORD_TYPE = from_dtype(RECORD)
PACKED_TYPE = from_dtype(PACKED)


def kernels():
    """Names, functions, signatures and options."""
    for kind in ATOMIC_NUMBERS:
        names = lines("add sub max min nanmax nanmin")
        names += lines("and_ or_ xor exch") if kind in ATOMIC_INTEGERS else []
        names += lines("inc dec") if kind in (types.uint32, types.uint64) else []
        for name in names:
            yield f"atomic {name} {kind}", atomic(name), (kind[::1], kind[::1], types.int64, kind), {}
            yield f"atomic pair {name} {kind}", atomic_without_result(name), (kind[:, :], kind), {}
            yield f"atomic shared {name} {kind}", atomic_in_shared(name, kind), (kind[::1], kind[::1]), {}
    for kind in ATOMIC_INTEGERS:
        yield f"atomic cas {kind}", compare_and_swap, (kind[::1],) * 4, {}
        yield f"votes {kind}", votes, (types.uint32[::1], kind[::1], types.uint32), {}
        yield f"matches {kind}", matches, (types.uint32[::1], kind[::1], types.uint32), {}
    for kind in ELEMENTS:
        yield f"shared {kind}", in_static_shared(kind), (kind[:, ::1], kind[:, ::1]), {}
        yield f"dynamic shared {kind}", in_dynamic_shared(kind), (kind[::1], kind[::1]), {}
        yield f"local {kind}", in_local(kind), (kind[::1], kind[::1]), {}
    # Numba has no shuffles of unsigned numbers.
    for kind in [types.int32, types.int64, types.float32, types.float64]:
        yield f"shuffles {kind}", shuffles, (kind[::1], kind[::1], types.int32), {}
    for kind in [types.int8, types.uint16, *ATOMIC_NUMBERS]:
        yield f"hints {kind}", hints, (kind[::1], kind[::1]), {}
    single, double = types.float32, types.float64
    yield "aligned local", in_aligned_local, (single[::1], single[::1]), {}
    yield "constant", in_constant, (double[::1], types.int32, types.int64), {}
    yield "constant records", in_constant_records, (double[::1], types.int32), {}
    yield "barriers", barriers, (types.int32[::1], single[::1]), {}
    yield "whole grid", whole_grid, (single[::1], types.int32), {}
    yield "places", places, (types.int64[:, :, ::1],), {}
    yield "vectors", vectors, (double[::1], single[::1]), {}
    yield "reduced", reduced, (double[::1], double[:]), {}
    yield "product", product, (single[:, ::1], single[:, ::1], single[::1, :]), {}
    yield "records", records, (RECORD_TYPE[::1], RECORD_TYPE[::1], PACKED_TYPE[::1]), {}
    yield "whole records", whole_records, (RECORD_TYPE[::1], RECORD_TYPE[::1]), {}
    yield "random", random_numbers, (from_dtype(xoroshiro128p_dtype)[::1], single[::1], double[::1]), {}
    yield "strided", strided, (double[:, :, :, :], double[:, :, :], single[:, :]), {}
