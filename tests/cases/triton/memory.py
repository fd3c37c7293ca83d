"""Kernels that move, order and count elements: scans, sorts, histograms, gathers, atomics, random numbers."""

import numpy as np
import triton
import triton.language as tl

from build import Case, float8


@triton.jit
def dropout(out, x, count, probability, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    keep = tl.rand(seed, at) > probability
    tl.store(out + at, tl.where(keep, tl.load(x + at, inside) / (1 - probability), 0.0), inside)


@triton.jit
def running_sums(out, x, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0) * columns
    carry = tl.zeros((), tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        values = tl.load(x + row + at, at < columns, other=0.0)
        tl.store(out + row + at, carry + tl.cumsum(values, 0), at < columns)
        carry += tl.sum(values, 0)


@triton.jit
def chained(a0, b0, a1, b1):
    return a1 * a0, a1 * b0 + b1


@triton.jit
def recurrence(out, a, b, STEPS: tl.constexpr, COLUMNS: tl.constexpr):
    """h(t) = a(t) h(t - 1) + b(t), for each column."""
    place = tl.arange(0, STEPS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    _, state = tl.associative_scan((tl.load(a + place), tl.load(b + place)), 0, chained)
    tl.store(out + place, state)


@triton.jit
def joined(mean0, squares0, count0, mean1, squares1, count1):
    count = count0 + count1
    share = tl.where(count == 0, 0.0, count1 / count)
    apart = mean1 - mean0
    return mean0 + apart * share, squares0 + squares1 + apart * apart * count0 * share, count


@triton.jit
def welford(mean, variance, x, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(x + row * columns + at, inside, other=0.0)
    middle, squares, count = tl.reduce((values, tl.zeros_like(values), inside.to(tl.float32)), 0, joined)
    tl.store(mean + row, middle)
    tl.store(variance + row, squares / count)


@triton.jit
def histogram(counts, x, count, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    found = tl.histogram(tl.load(x + at, at < count, other=0), BINS, at < count)
    tl.atomic_add(counts + tl.arange(0, BINS), found)


@triton.jit
def sort_rows(x, BLOCK: tl.constexpr):
    place = x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(place, tl.sort(tl.load(place)))


@triton.jit
def top_values(out, at_most, x, columns, BLOCK: tl.constexpr, COUNT: tl.constexpr):
    """The largest values of a row and where they are: both in one integer, so that one sort orders them."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, at < columns, other=-float("inf"))
    bits = values.to(tl.int32, bitcast=True)
    ordered = tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
    keys = (ordered.to(tl.int64) << 32) | (BLOCK - 1 - at)
    best = tl.topk(keys, COUNT)
    place = row * COUNT + tl.arange(0, COUNT)
    tl.store(at_most + place, BLOCK - 1 - (best & 0xFFFFFFFF).to(tl.int32))
    top = (best >> 32).to(tl.int32)
    tl.store(out + place, tl.where(top < 0, top ^ 0x7FFFFFFF, top).to(tl.float32, bitcast=True))


@triton.jit
def arg_max(out, x, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    tl.store(out + row, tl.argmax(tl.load(x + row * columns + at, at < columns, other=-1e30), 0))


@triton.jit
def embedding(out, table, tokens, width, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    token = tl.load(tokens + row)
    at = tl.arange(0, BLOCK)[None, :]
    values = tl.load(table + token[:, None] * width + at, at < width, eviction_policy="evict_last")
    tl.store(out + row[:, None] * width + at, values, at < width)


@triton.jit
def embedding_backward(gradient, dy, tokens, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    token = tl.load(tokens + row)
    at = tl.arange(0, BLOCK)
    tl.atomic_add(gradient + token * width + at, tl.load(dy + row * width + at, at < width), at < width)


@triton.jit
def total(out, largest, x, count, BLOCK: tl.constexpr):
    """A sum and a maximum over all programs."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + at, at < count, other=0.0)
    tl.atomic_add(out, tl.sum(values, 0))
    tl.atomic_max(largest, tl.max(values, 0))


@triton.jit
def ordered_sums(out, x, lock, turn, BLOCK: tl.constexpr):
    """The programs add their rows under a lock."""
    at = tl.arange(0, BLOCK)
    values = tl.load(x + tl.program_id(0) * BLOCK + at)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    count = tl.load(turn)
    tl.store(out + at, tl.load(out + at) + values)
    tl.store(turn, count + 1)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def transpose(out, x, rows, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = (row < rows)[:, None] & (column < columns)[None, :]
    tile = tl.load(x + row[:, None] * columns + column[None, :], inside)
    tl.store(out + column[:, None] * rows + row[None, :], tl.trans(tile), tl.trans(inside))


@triton.jit
def to_float8(out, scales, x, columns, BLOCK: tl.constexpr):
    """Floats of 8 bits with a scale for each row that is a power of two."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, at < columns, other=0.0)
    scale = tl.exp2(tl.ceil(tl.log2(tl.max(tl.abs(values), 0) / 448)))
    tl.store(scales + row, scale)
    tl.store(out + row * columns + at, (values / scale).to(out.dtype.element_ty), at < columns)


@triton.jit
def gather_rows(out, x, index, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    place = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(out + place, tl.gather(tl.load(x + place), tl.load(index + place), 1))


def philox(counter, seed, rounds=10):
    """The first word of Philox 4x32 of each counter."""
    words = [counter.astype(np.uint64), *(np.zeros_like(counter, np.uint64) for _ in range(3))]
    keys = [np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32)]
    low = np.uint64(0xFFFFFFFF)
    for _ in range(rounds):
        first, second = words[0] * np.uint64(0xD2511F53), words[2] * np.uint64(0xCD9E8D57)
        words = [(second >> np.uint64(32)) ^ words[1] ^ keys[0], second & low, (first >> np.uint64(32)) ^ words[3] ^ keys[1], first & low]
        keys = [(keys[0] + np.uint64(0x9E3779B9)) & low, (keys[1] + np.uint64(0xBB67AE85)) & low]
    return words[0].astype(np.uint32)


def nearest_float8(values):
    """The nearest float of 8 bits with 4 bits of exponent; ties go to the even one."""
    codes = np.arange(127, dtype=np.uint8)
    table = float8(codes, 4).astype(np.float64)
    apart = np.abs(np.abs(values.reshape(-1, 1)).astype(np.float64) - table)
    least = apart.min(1, keepdims=True)
    chosen = np.argmin(np.where(apart == least, codes % 2, 2), 1).astype(np.uint8)
    return (chosen | np.where(np.signbit(values.reshape(-1)), 128, 0)).astype(np.uint8).reshape(values.shape)


def cases():
    """The cases of these kernels."""
    rng = np.random.default_rng(26)
    normal = lambda *shape: rng.standard_normal(shape).astype(np.float32)
    zeros = lambda *shape, kind=np.float32: np.zeros(shape, kind)
    found = []

    def add(*arguments, **more):
        found.append(Case(*arguments, **more))

    x = normal(300)
    drawn = philox(np.arange(300), 1234567).astype(np.int32)
    uniform = np.where(drawn < 0, -drawn - 1, drawn).astype(np.float32) * np.float32(4.6566127342e-10)
    add(dropout, "*fp32 *fp32 i32 fp32 i32", {"BLOCK": 256}, (2,),
        {"out": zeros(300), "x": x, "count": 300, "probability": 0.5, "seed": 1234567},
        {"out": np.where(uniform > 0.5, x / np.float32(0.5), 0).astype(np.float32)}, tolerance=(0, 1e-6), options={"num_warps": 2})  # fmt: skip

    x = rng.integers(-50, 50, (2, 300)).astype(np.float32)
    add(running_sums, "*fp32 *fp32 i32", {"BLOCK": 256}, (2,), {"out": zeros(2, 300), "x": x, "columns": 300},
        {"out": np.cumsum(x, 1, dtype=np.float32)})  # fmt: skip
    a, b = rng.random((64, 16), np.float32), normal(64, 16)
    state, states = np.zeros(16), []
    for t in range(64):
        state = a[t].astype(np.float64) * state + b[t]
        states.append(state)
    add(recurrence, "*fp32 *fp32 *fp32", {"STEPS": 64, "COLUMNS": 16}, (1,), {"out": zeros(64, 16), "a": a, "b": b},
        {"out": np.array(states).astype(np.float32)}, tolerance=(1e-5, 1e-5))  # fmt: skip
    x = normal(3, 90) + 4
    add(welford, "*fp32 *fp32 *fp32 i32", {"BLOCK": 128}, (3,), {"mean": zeros(3), "variance": zeros(3), "x": x, "columns": 90},
        {"mean": x.mean(1), "variance": x.astype(np.float64).var(1).astype(np.float32)}, tolerance=(1e-5, 1e-5))  # fmt: skip
    x = rng.integers(0, 16, 300, np.int32)
    add(histogram, "*i32 *i32 i32", {"BLOCK": 256, "BINS": 16}, (2,), {"counts": zeros(16, kind=np.int32), "x": x, "count": 300},
        {"counts": np.bincount(x, minlength=16).astype(np.int32)})  # fmt: skip
    x = rng.integers(-(1 << 31), 1 << 31, (2, 128)).astype(np.int32)
    add(sort_rows, "*i32", {"BLOCK": 128}, (2,), {"x": x}, {"x": np.sort(x, 1)}, options={"num_warps": 2})  # fmt: skip
    x = normal(2, 100)
    order = np.argsort(-x, 1, kind="stable")[:, :8]
    add(top_values, "*fp32 *i32 *fp32 i32", {"BLOCK": 128, "COUNT": 8}, (2,),
        {"out": zeros(2, 8), "at_most": zeros(2, 8, kind=np.int32), "x": x, "columns": 100},
        {"out": np.take_along_axis(x, order, 1), "at_most": order.astype(np.int32)}, options={"num_warps": 2})  # fmt: skip
    x = rng.integers(-9, 9, (3, 200)).astype(np.float32)
    add(arg_max, "*i64 *fp32 i32", {"BLOCK": 256}, (3,), {"out": zeros(3, kind=np.int64), "x": x, "columns": 200},
        {"out": np.argmax(x, 1)})  # fmt: skip
    table, tokens = normal(20, 48).astype(np.float16), rng.integers(0, 20, 8)
    add(embedding, "*fp16 *fp16 *i64 i32", {"BLOCK": 64, "ROWS": 4}, (2,),
        {"out": zeros(8, 48, kind=np.float16), "table": table, "tokens": tokens, "width": 48}, {"out": table[tokens]})  # fmt: skip
    dy, tokens = rng.integers(-9, 9, (8, 48)).astype(np.float16), rng.integers(0, 4, 8)
    gradient = zeros(4, 48, kind=np.float16)
    np.add.at(gradient, tokens, dy)
    add(embedding_backward, "*fp16 *fp16 *i64 i32", {"BLOCK": 64}, (8,),
        {"gradient": zeros(4, 48, kind=np.float16), "dy": dy, "tokens": tokens, "width": 48}, {"gradient": gradient},
        options={"num_warps": 1})  # fmt: skip
    x = rng.integers(-99, 99, 700).astype(np.float32)
    add(total, "*fp32 *fp32 *fp32 i32", {"BLOCK": 256}, (3,), {"out": zeros(1), "largest": zeros(1), "x": x, "count": 700},
        {"out": x.sum(keepdims=True), "largest": x.max(keepdims=True)})  # fmt: skip
    x = rng.integers(-99, 99, (4, 64)).astype(np.float32)
    add(ordered_sums, "*fp32 *fp32 *i32 *i32", {"BLOCK": 64}, (4,),
        {"out": zeros(64), "x": x, "lock": zeros(1, kind=np.int32), "turn": zeros(1, kind=np.int32)},
        {"out": x.sum(0), "lock": zeros(1, kind=np.int32), "turn": np.array([4], np.int32)}, options={"num_warps": 2})  # fmt: skip
    x = normal(40, 36).astype(np.float16)
    add(transpose, "*fp16 *fp16 i32 i32", {"BLOCK": 32}, (2, 2), {"out": zeros(36, 40, kind=np.float16), "x": x, "rows": 40, "columns": 36},
        {"out": np.ascontiguousarray(x.T)})  # fmt: skip
    x = normal(3, 100)
    scale = np.exp2(np.ceil(np.log2(np.abs(x).max(1) / 448))).astype(np.float32)
    add(to_float8, "*fp8e4nv *fp32 *fp32 i32", {"BLOCK": 128}, (3,),
        {"out": zeros(3, 100, kind=np.uint8), "scales": zeros(3), "x": x, "columns": 100},
        {"out": nearest_float8(x / scale[:, None]), "scales": scale}, capabilities=(90,), options={"num_warps": 1})  # fmt: skip
    x, index = normal(8, 32), rng.integers(0, 32, (8, 32), np.int32)
    add(gather_rows, "*fp32 *fp32 *i32", {"ROWS": 8, "COLUMNS": 32}, (1,), {"out": zeros(8, 32), "x": x, "index": index},
        {"out": np.take_along_axis(x, index, 1)}, options={"num_warps": 2})  # fmt: skip
    return found
