"""Kernels of attention: forward and backward, with a cache in pages, linear."""

import numpy as np
import triton
import triton.language as tl

from build import Case, Tensor


@triton.jit
def attention(out, logs, q, k, v, length, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):
    """A block of queries against all keys; maxima and sums are corrected from block to block."""
    head = tl.program_id(1) * length * D
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    queries = tl.load(q + head + m[:, None] * D + d[None, :])
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    sums = tl.zeros((BM, D), tl.float32)
    end = (tl.program_id(0) + 1) * BM if CAUSAL else length
    for start in range(0, end, BN):
        n = start + tl.arange(0, BN)
        keys = tl.load(k + head + n[None, :] * D + d[:, None])
        scores = tl.dot(queries, keys) * (scale * 1.4426950408889634)
        if CAUSAL:
            scores = tl.where(m[:, None] >= n[None, :], scores, -float("inf"))
        higher = tl.maximum(top, tl.max(scores, 1))
        powers = tl.exp2(scores - higher[:, None])
        less = tl.exp2(top - higher)
        total = total * less + tl.sum(powers, 1)
        values = tl.load(v + head + n[:, None] * D + d[None, :])
        sums = tl.dot(powers.to(tl.float16), values, sums * less[:, None])
        top = higher
    tl.store(logs + tl.program_id(1) * length + m, top + tl.log2(total))
    tl.store(out + head + m[:, None] * D + d[None, :], (sums / total[:, None]).to(tl.float16))


@triton.jit
def attention_tma(out_map, q_map, k_map, v_map, out, q, k, v, length, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                  SPECIAL: tl.constexpr):  # fmt: skip
    """As above, with tiles that are copied by descriptions of tensors."""
    first = tl.program_id(1) * length
    m = first + tl.program_id(0) * BM
    queries = q_map.load([m, 0])
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    sums = tl.zeros((BM, D), tl.float32)
    for start in tl.range(0, length, BN, warp_specialize=SPECIAL):
        scores = tl.dot(queries, k_map.load([first + start, 0]).T) * (scale * 1.4426950408889634)
        higher = tl.maximum(top, tl.max(scores, 1))
        powers = tl.exp2(scores - higher[:, None])
        less = tl.exp2(top - higher)
        total = total * less + tl.sum(powers, 1)
        sums = tl.dot(powers.to(tl.float16), v_map.load([first + start, 0]), sums * less[:, None])
        top = higher
    out_map.store([m, 0], (sums / total[:, None]).to(tl.float16))


@triton.jit
def attention_backward(dk, dv, q, k, v, dout, logs, delta, length, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """The gradients of a block of keys and values; `delta` has the products of a row of the result and its gradient."""
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    d = tl.arange(0, D)
    place = n[:, None] * D + d[None, :]
    keys = tl.load(k + place)
    values = tl.load(v + place)
    sum_k = tl.zeros((BN, D), tl.float32)
    sum_v = tl.zeros((BN, D), tl.float32)
    for start in range(0, length, BM):
        m = start + tl.arange(0, BM)
        queries = tl.load(q + m[:, None] * D + d[None, :])
        upper = tl.load(dout + m[:, None] * D + d[None, :])
        scores = tl.dot(keys, tl.trans(queries)) * (scale * 1.4426950408889634)
        powers = tl.exp2(scores - tl.load(logs + m)[None, :])
        sum_v = tl.dot(powers.to(tl.float16), upper, sum_v)
        change = powers * (tl.dot(values, tl.trans(upper)) - tl.load(delta + m)[None, :])
        sum_k = tl.dot(change.to(tl.float16), queries, sum_k)
    tl.store(dk + place, (sum_k * scale).to(tl.float16))
    tl.store(dv + place, sum_v.to(tl.float16))


@triton.jit
def attention_paged(out, q, k, v, pages, lengths, scale, most, D: tl.constexpr, PAGE: tl.constexpr, HEADS: tl.constexpr):
    """One new query of each sequence for HEADS heads, which share keys and values in pages of a cache."""
    sequence = tl.program_id(0)
    length = tl.load(lengths + sequence)
    head = tl.arange(0, HEADS)
    d = tl.arange(0, D)
    queries = tl.load(q + (sequence * HEADS + head)[:, None] * D + d[None, :])
    top = tl.full((HEADS,), -float("inf"), tl.float32)
    total = tl.zeros((HEADS,), tl.float32)
    sums = tl.zeros((HEADS, D), tl.float32)
    for number in range(0, tl.cdiv(length, PAGE)):
        page = tl.load(pages + sequence * most + number)
        n = number * PAGE + tl.arange(0, PAGE)
        place = (page * PAGE + tl.arange(0, PAGE))[:, None] * D + d[None, :]
        keys = tl.load(k + place)
        scores = tl.dot(queries, tl.trans(keys)) * scale
        scores = tl.where((n < length)[None, :], scores, -float("inf"))
        higher = tl.maximum(top, tl.max(scores, 1))
        powers = tl.exp(scores - higher[:, None])
        less = tl.exp(top - higher)
        total = total * less + tl.sum(powers, 1)
        sums = tl.dot(powers.to(tl.float16), tl.load(v + place), sums * less[:, None])
        top = higher
    tl.store(out + (sequence * HEADS + head)[:, None] * D + d[None, :], (sums / total[:, None]).to(tl.float16))


@triton.jit
def attention_linear(out, q, k, v, length, decay, D: tl.constexpr, C: tl.constexpr):
    """Chunks of causal linear attention, with a state that decays from step to step."""
    step = tl.arange(0, C)
    d = tl.arange(0, D)
    apart = step[:, None] - step[None, :]
    fade = tl.where(apart >= 0, tl.exp2(decay * apart), 0.0)
    state = tl.zeros((D, D), tl.float32)
    for start in range(0, length, C):
        place = (start + step)[:, None] * D + d[None, :]
        queries = tl.load(q + place)
        keys = tl.load(k + place)
        values = tl.load(v + place)
        near = tl.dot((tl.dot(queries, tl.trans(keys)) * fade).to(tl.float16), values)
        far = tl.dot(queries, state.to(tl.float16)) * tl.exp2(decay * (step + 1))[:, None]
        tl.store(out + place, near + far)
        faded = (keys * tl.exp2(decay * (C - 1 - step))[:, None]).to(tl.float16)
        state = state * tl.exp2(decay * C) + tl.dot(tl.trans(faded), values)


def reference(q, k, v, scale, causal=False):
    """The result and the logarithms (to base 2) of the sums, of [heads, length, D]."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = q @ k.swapaxes(-1, -2) * scale
    if causal:
        scores = np.where(np.tri(scores.shape[-2], dtype=bool), scores, -np.inf)
    powers = np.exp(scores)
    total = powers.sum(-1, keepdims=True)
    return powers / total @ v, np.log2(total[..., 0]), powers / total


def cases():
    """The cases of these kernels."""
    rng = np.random.default_rng(28)
    normal = lambda *shape: rng.standard_normal(shape).astype(np.float16)
    half = lambda x: x.astype(np.float16)
    zeros = lambda *shape, kind=np.float16: np.zeros(shape, kind)
    both, near = {"capabilities": (80, 90)}, {"tolerance": (5e-3, 5e-3)}
    found = []

    def add(*arguments, **more):
        found.append(Case(*arguments, **more))

    for causal in (False, True):
        q, k, v = normal(2, 64, 32), normal(2, 64, 32), normal(2, 64, 32)
        result, logs, _ = reference(q, k, v, 0.2, causal)
        add(attention, "*fp16 *fp32 *fp16 *fp16 *fp16 i32:16 fp32", {"D": 32, "BM": 64, "BN": 32, "CAUSAL": causal}, (1, 2),
            {"out": zeros(2, 64, 32), "logs": zeros(2, 64, kind=np.float32), "q": q, "k": k, "v": v, "length": 64, "scale": 0.2},
            {"out": half(result), "logs": logs.astype(np.float32)}, name="attention" + "_causal" * causal, **both, **near)  # fmt: skip
    q, k, v = normal(1, 128, 32), normal(1, 128, 32), normal(1, 128, 32)
    result, _, _ = reference(q, k, v, 0.2)
    for special in (False, True):
        maps = {f"{name}_map": Tensor(name, "fp16") for name in ("out", "q", "k", "v")}
        kinds = " ".join(f"tensordesc<fp16[{rows},32]>" for rows in (64, 64, 32, 32))
        add(attention_tma, f"{kinds} *fp16 *fp16 *fp16 *fp16 i32:16 fp32", {"D": 32, "BM": 64, "BN": 32, "SPECIAL": special}, (2, 1),
            {**maps, "out": zeros(128, 32), "q": q[0], "k": k[0], "v": v[0], "length": 128, "scale": 0.2}, {"out": half(result[0])},
            name="attention_tma" + "_special" * special, capabilities=(90,), **near)  # fmt: skip
    q, k, v, dout = normal(64, 32), normal(64, 32), normal(64, 32), normal(64, 32)
    result, logs, shares = reference(q, k, v, 0.2)
    wide = dout.astype(np.float64)
    delta = (result * wide).sum(1)
    change = shares * (wide @ v.T.astype(np.float64) - delta[:, None])
    add(attention_backward, "*fp16 *fp16 *fp16 *fp16 *fp16 *fp16 *fp32 *fp32 i32:16 fp32", {"D": 32, "BM": 32, "BN": 64}, (1,),
        {"dk": zeros(64, 32), "dv": zeros(64, 32), "q": q, "k": k, "v": v, "dout": dout, "logs": logs.astype(np.float32),
         "delta": delta.astype(np.float32), "length": 64, "scale": 0.2},
        {"dk": half(change.T @ q * 0.2), "dv": half(shares.T @ wide)}, tolerance=(1e-2, 1e-2), **both)  # fmt: skip
    q, k, v = normal(2, 16, 32), normal(5, 16, 32), normal(5, 16, 32)
    pages, lengths = np.array([[4, 1, 3], [2, 0, 0]], np.int32), [37, 9]
    rows = []
    for i, length in enumerate(lengths):
        gathered = [x[pages[i]].reshape(-1, 32)[:length] for x in (k, v)]
        rows.append(half(reference(q[i], *gathered, 0.2)[0]))
    add(attention_paged, "*fp16 *fp16 *fp16 *fp16 *i32 *i32 fp32 i32", {"D": 32, "PAGE": 16, "HEADS": 16}, (2,),
        {"out": zeros(2, 16, 32), "q": q, "k": k, "v": v, "pages": pages, "lengths": np.array(lengths, np.int32), "scale": 0.2,
         "most": 3},
        {"out": np.stack(rows)}, options={"num_warps": 2}, **near)  # fmt: skip
    q, k, v, decay = normal(96, 32) / 4, normal(96, 32) / 4, normal(96, 32), -0.125
    apart = np.arange(96)[:, None] - np.arange(96)[None, :]
    scores = q.astype(np.float64) @ k.T.astype(np.float64) * np.where(apart >= 0, np.exp2(decay * np.maximum(apart, 0)), 0)
    add(attention_linear, "*fp32 *fp16 *fp16 *fp16 i32 fp32", {"D": 32, "C": 32}, (1,),
        {"out": zeros(96, 32, kind=np.float32), "q": q, "k": k, "v": v, "length": 96, "decay": decay},
        {"out": (scores @ v).astype(np.float32)}, options={"num_warps": 2}, tolerance=(1e-2, 1e-2))  # fmt: skip
    return found
