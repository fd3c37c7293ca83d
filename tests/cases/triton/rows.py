"""Kernels that work on rows: norms, activations, losses, an optimizer, quantization."""

import numpy as np
import triton
import triton.language as tl
from triton.language.extra import libdevice

from build import Case, bf16, from_bf16


@triton.jit
def softmax(out, x, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(x + row * stride + at, inside, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, 0))
    tl.store(out + row * stride + at, powers / tl.sum(powers, 0), inside)


@triton.jit
def softmax_online(out, x, columns, BLOCK: tl.constexpr):
    """Rows longer than a block: the maximum and the sum are corrected from block to block."""
    row = tl.program_id(0) * columns
    top = tl.full((), -float("inf"), tl.float32)
    total = tl.zeros((), tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        values = tl.load(x + row + at, at < columns, other=-float("inf")).to(tl.float32)
        higher = tl.maximum(top, tl.max(values, 0))
        total = total * tl.exp(top - higher) + tl.sum(tl.exp(values - higher), 0)
        top = higher
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        values = tl.load(x + row + at, at < columns).to(tl.float32)
        tl.store(out + row + at, tl.exp(values - top) / total, at < columns)


@triton.jit
def layer_norm(y, x, weight, bias, mean, deviation, columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(x + row * columns + at, inside, other=0.0).to(tl.float32)
    middle = tl.sum(values, 0) / columns
    centred = tl.where(inside, values - middle, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, 0) / columns + epsilon)
    tl.store(mean + row, middle)
    tl.store(deviation + row, scale)
    result = centred * scale * tl.load(weight + at, inside) + tl.load(bias + at, inside)
    tl.store(y + row * columns + at, result, inside)


@triton.jit
def layer_norm_backward(dx, dw, db, dy, x, weight, rows, columns, epsilon, BLOCK: tl.constexpr):
    """A program takes every `num_programs`th row, and adds its sums to those of the others."""
    at = tl.arange(0, BLOCK)
    inside = at < columns
    w = tl.load(weight + at, inside, other=0.0)
    sum_w = tl.zeros((BLOCK,), tl.float32)
    sum_b = tl.zeros((BLOCK,), tl.float32)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        values = tl.load(x + row * columns + at, inside, other=0.0)
        upper = tl.load(dy + row * columns + at, inside, other=0.0)
        centred = tl.where(inside, values - tl.sum(values, 0) / columns, 0.0)
        scale = tl.rsqrt(tl.sum(centred * centred, 0) / columns + epsilon)
        unit = centred * scale
        g = upper * w
        first = tl.sum(g, 0) / columns
        second = tl.sum(g * unit, 0) / columns
        tl.store(dx + row * columns + at, (g - first - unit * second) * scale, inside)
        sum_w += upper * unit
        sum_b += upper
    tl.atomic_add(dw + at, sum_w, inside)
    tl.atomic_add(db + at, sum_b, inside)


@triton.jit
def rms_norm(y, x, weight, columns, epsilon, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = tl.arange(0, BLOCK)
    inside = (at < columns)[None, :]
    place = rows[:, None] * columns + at[None, :]
    values = tl.load(x + place, inside, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(values * values, 1) / columns + epsilon)
    w = tl.load(weight + at, at < columns, other=0.0).to(tl.float32)
    tl.store(y + place, (values * scale[:, None] * w[None, :]).to(tl.bfloat16), inside)


@triton.jit
def group_norm(y, x, weight, bias, channels, pixels, epsilon, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    """The channels of a group are rows, one image after another in the grid."""
    group = tl.program_id(0)
    image = tl.program_id(1)
    channel = group * GROUP + tl.arange(0, GROUP)
    at = tl.arange(0, BLOCK)
    inside = (at < pixels)[None, :]
    place = (image * channels + channel)[:, None] * pixels + at[None, :]
    values = tl.load(x + place, inside, other=0.0)
    count = GROUP * pixels
    middle = tl.sum(values) / count
    centred = tl.where(inside, values - middle, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred) / count + epsilon)
    w = tl.load(weight + channel)[:, None]
    tl.store(y + place, centred * scale * w + tl.load(bias + channel)[:, None], inside)


@triton.jit
def cross_entropy(loss, logits, labels, columns, scale, ignored, BLOCK: tl.constexpr):
    """The loss of a row; its gradient takes the place of the logits."""
    row = tl.program_id(0)
    label = tl.load(labels + row)
    logits += row * columns
    if label == ignored:
        for start in range(0, columns, BLOCK):
            at = start + tl.arange(0, BLOCK)
            tl.store(logits + at, 0.0, at < columns)
        tl.store(loss + row, 0.0)
        return
    top = tl.full((), -float("inf"), tl.float32)
    total = tl.zeros((), tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        values = tl.load(logits + at, at < columns, other=-float("inf"))
        higher = tl.maximum(top, tl.max(values, 0))
        total = total * tl.exp(top - higher) + tl.sum(tl.exp(values - higher), 0)
        top = higher
    tl.store(loss + row, top + tl.log(total) - tl.load(logits + label))
    tl.debug_barrier()
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        values = tl.load(logits + at, at < columns, other=-float("inf"))
        shares = tl.exp(values - top) / total - tl.where(at == label, 1.0, 0.0)
        tl.store(logits + at, shares * scale, at < columns)


@triton.jit
def rope(q, cosine, sine, length, heads, HALF: tl.constexpr, HEADS: tl.constexpr):
    """Turns pairs of elements, half a head apart, by the angles of their position."""
    position = tl.program_id(0)
    at = tl.arange(0, HALF)
    c = tl.load(cosine + (position % length) * HALF + at)[None, :]
    s = tl.load(sine + (position % length) * HALF + at)[None, :]
    head = tl.arange(0, HEADS)
    inside = (head < heads)[:, None]
    place = q + (position * heads + head)[:, None] * (2 * HALF) + at[None, :]
    x = tl.load(place, inside, other=0.0).to(tl.float32)
    y = tl.load(place + HALF, inside, other=0.0).to(tl.float32)
    tl.store(place, (x * c - y * s).to(tl.float16), inside)
    tl.store(place + HALF, (y * c + x * s).to(tl.float16), inside)


@triton.jit
def swiglu(out, gate, up, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    g = tl.load(gate + at, inside).to(tl.float32)
    tl.store(out + at, (g * tl.sigmoid(g) * tl.load(up + at, inside).to(tl.float32)).to(tl.float16), inside)


@triton.jit
def geglu(out, gate, up, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    g = tl.load(gate + at, inside)
    bent = libdevice.tanh(0.7978845608 * (g + 0.044715 * g * g * g))
    tl.store(out + at, 0.5 * g * (1 + bent) * tl.load(up + at, inside), inside)


@triton.jit
def gelu_double(out, x, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, at < count)
    tl.store(out + at, 0.5 * v * (1 + tl.erf(v * 0.7071067811865476)), at < count)


@triton.jit
def divergence(out, p, q, columns, BLOCK: tl.constexpr):
    """The Kullback-Leibler divergence of a row of probabilities from logarithms of probabilities."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    share = tl.load(p + row * columns + at, at < columns, other=0.0)
    log_q = tl.load(q + row * columns + at, at < columns, other=0.0)
    tl.store(out + row, tl.sum(tl.where(share > 0, share * (tl.log(share) - log_q), 0.0), 0))


@triton.jit
def adam(weights, gradients, m, v, count, rate, beta1, beta2, correction1, correction2, decay, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    g = tl.load(gradients + at, inside).to(tl.float32)
    w = tl.load(weights + at, inside)
    first = beta1 * tl.load(m + at, inside) + (1 - beta1) * g
    second = beta2 * tl.load(v + at, inside) + (1 - beta2) * g * g
    step = first / correction1 / (tl.sqrt_rn(second / correction2) + 1e-8)
    tl.store(weights + at, w - rate * (step + decay * w), inside)
    tl.store(m + at, first, inside)
    tl.store(v + at, second, inside)


@triton.jit
def quantize_rows(out, scales, x, columns, BLOCK: tl.constexpr):
    """Integers of 8 bits and a scale for each row; ties go to the even integer."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, at < columns, other=0.0)
    scale = tl.max(tl.abs(values), 0) / 127
    tl.store(scales + row, scale)
    tl.store(out + row * columns + at, libdevice.rint(values / scale).to(tl.int8), at < columns)


@triton.jit
def dequantize4(out, packed, scales, zeros, columns, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    """Two integers of 4 bits in a byte, the lower one first; a scale and a zero for each group."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    bits = tl.load(packed + row * (columns // 2) + at // 2, inside, other=0)
    value = (bits >> ((at % 2) * 4)) & 15
    group = row * (columns // GROUP) + at // GROUP
    zero = tl.load(zeros + group, inside, other=0)
    scale = tl.load(scales + group, inside, other=0.0)
    tl.store(out + row * columns + at, ((value.to(tl.int32) - zero.to(tl.int32)) * scale).to(tl.float16), inside)


def cases():
    """The cases of these kernels."""
    rng = np.random.default_rng(25)
    normal = lambda *shape: rng.standard_normal(shape).astype(np.float32)
    zeros = lambda *shape, kind=np.float32: np.zeros(shape, kind)
    found = []

    def add(*arguments, **more):
        found.append(Case(*arguments, **more))

    def shares(x):
        powers = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
        return powers / powers.sum(-1, keepdims=True)

    x = normal(3, 200)
    add(softmax, "*fp32 *fp32 i32 i32", {"BLOCK": 256}, (3,),
        {"out": zeros(3, 200), "x": x, "stride": 200, "columns": 200},
        {"out": shares(x).astype(np.float32)}, tolerance=(1e-7, 1e-5))  # fmt: skip
    x = (3 * normal(2, 333)).astype(np.float16)
    add(softmax_online, "*fp32 *fp16 i32", {"BLOCK": 128}, (2,), {"out": zeros(2, 333), "x": x, "columns": 333},
        {"out": shares(x.astype(np.float32)).astype(np.float32)}, tolerance=(1e-7, 1e-5), options={"num_warps": 2})  # fmt: skip

    x, w, b = normal(3, 160).astype(np.float16), normal(160), normal(160)
    mean, wide = x.astype(np.float64).mean(1), x.astype(np.float64)
    scale = 1 / np.sqrt(wide.var(1) + 1e-5)
    y = (wide - mean[:, None]) * scale[:, None] * w + b
    add(layer_norm, "*fp16 *fp16 *fp32 *fp32 *fp32 *fp32 i32 fp32", {"BLOCK": 256}, (3,),
        {"y": np.zeros_like(x), "x": x, "weight": w, "bias": b, "mean": zeros(3), "deviation": zeros(3), "columns": 160,
         "epsilon": 1e-5},
        {"y": y.astype(np.float16), "mean": mean.astype(np.float32), "deviation": scale.astype(np.float32)},
        tolerance=(1e-3, 1e-3))  # fmt: skip

    x, dy, w = normal(10, 100), normal(10, 100), normal(100)
    wide = x.astype(np.float64)
    scale = 1 / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    unit, g = (wide - wide.mean(1, keepdims=True)) * scale, dy * w.astype(np.float64)
    dx = (g - g.mean(1, keepdims=True) - unit * (g * unit).mean(1, keepdims=True)) * scale
    add(layer_norm_backward, "*fp32 *fp32 *fp32 *fp32 *fp32 *fp32 i32 i32 fp32", {"BLOCK": 128}, (3,),
        {"dx": zeros(10, 100), "dw": zeros(100), "db": zeros(100), "dy": dy, "x": x, "weight": w, "rows": 10, "columns": 100,
         "epsilon": 1e-5},
        {"dx": dx.astype(np.float32), "dw": (dy * unit).sum(0).astype(np.float32), "db": dy.sum(0).astype(np.float32)},
        tolerance=(1e-5, 1e-5))  # fmt: skip

    x, w = bf16(normal(8, 96)), bf16(normal(96))
    wide = from_bf16(x).astype(np.float64)
    y = wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-6) * from_bf16(w)
    add(rms_norm, "*bf16 *bf16 *bf16 i32 fp32", {"BLOCK": 128, "ROWS": 4}, (2,),
        {"y": np.zeros_like(x), "x": x, "weight": w, "columns": 96, "epsilon": 1e-6}, {"y": bf16(y)}, tolerance=(1e-2, 1e-2))  # fmt: skip

    x, w, b = normal(2, 8, 49), normal(8), normal(8)
    grouped = x.reshape(2, 2, -1).astype(np.float64)
    unit = (grouped - grouped.mean(2, keepdims=True)) / np.sqrt(grouped.var(2, keepdims=True) + 1e-5)
    y = unit.reshape(2, 8, 49) * w[:, None] + b[:, None]
    add(group_norm, "*fp32 *fp32 *fp32 *fp32 i32 i32 fp32", {"GROUP": 4, "BLOCK": 64}, (2, 2),
        {"y": zeros(2, 8, 49), "x": x, "weight": w, "bias": b, "channels": 8, "pixels": 49, "epsilon": 1e-5},
        {"y": y.astype(np.float32)}, tolerance=(1e-5, 1e-5))  # fmt: skip

    x, labels = normal(4, 300), np.array([17, 299, -100, 0], np.int64)
    wide = shares(x)
    loss = -np.log(wide[np.arange(4), labels.clip(0)])
    wide[np.arange(4), labels.clip(0)] -= 1
    loss[2], wide[2] = 0, 0
    add(cross_entropy, "*fp32 *fp32 *i64 i32 fp32 i32", {"BLOCK": 128}, (4,),
        {"loss": zeros(4), "logits": x, "labels": labels, "columns": 300, "scale": 0.25, "ignored": -100},
        {"loss": loss.astype(np.float32), "logits": (wide * 0.25).astype(np.float32)}, tolerance=(1e-6, 1e-4))  # fmt: skip

    q, angle = normal(6, 3, 2, 32).astype(np.float16), np.arange(6)[:, None] * 10000.0 ** (-np.arange(32) / 32)
    c, s = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
    a, b = q[:, :, 0].astype(np.float32), q[:, :, 1].astype(np.float32)
    turned = np.stack([a * c[:, None] - b * s[:, None], b * c[:, None] + a * s[:, None]], 2)
    add(rope, "*fp16 *fp32 *fp32 i32 i32", {"HALF": 32, "HEADS": 4}, (6,),
        {"q": q, "cosine": c, "sine": s, "length": 6, "heads": 3}, {"q": turned.astype(np.float16)}, tolerance=(1e-3, 1e-3),
        options={"num_warps": 1})  # fmt: skip

    g, u = (2 * normal(700)).astype(np.float16), normal(700).astype(np.float16)
    wide = g.astype(np.float64)
    add(swiglu, "*fp16 *fp16 *fp16 i32", {"BLOCK": 512}, (2,), {"out": np.zeros_like(g), "gate": g, "up": u, "count": 700},
        {"out": (wide / (1 + np.exp(-wide)) * u).astype(np.float16)}, tolerance=(1e-3, 2e-3))  # fmt: skip
    g, u = normal(300), normal(300)
    wide = 0.5 * g * (1 + np.tanh(0.7978845608 * (g + 0.044715 * g.astype(np.float64) ** 3))) * u
    add(geglu, "*fp32 *fp32 *fp32 i32", {"BLOCK": 256}, (2,), {"out": zeros(300), "gate": g, "up": u, "count": 300},
        {"out": wide.astype(np.float32)}, tolerance=(1e-6, 1e-4), options={"num_warps": 2})  # fmt: skip
    x = rng.standard_normal(128)
    from math import erf

    add(gelu_double, "*fp64 *fp64 i32", {"BLOCK": 128}, (1,), {"out": zeros(128, kind=np.float64), "x": x, "count": 120},
        {"out": np.array([0.5 * v * (1 + erf(v / 2**0.5)) if i < 120 else 0 for i, v in enumerate(x)])},
        tolerance=(1e-13, 1e-13), options={"num_warps": 2})  # fmt: skip

    p, q = shares(normal(3, 70)).astype(np.float32), np.log(shares(normal(3, 70))).astype(np.float32)
    p[1, :9] = 0
    with np.errstate(all="ignore"):
        apart = np.where(p > 0, p * (np.log(p) - q.astype(np.float64)), 0).sum(1)
    add(divergence, "*fp32 *fp32 *fp32 i32", {"BLOCK": 128}, (3,), {"out": zeros(3), "p": p, "q": q, "columns": 70},
        {"out": apart.astype(np.float32)}, tolerance=(1e-5, 1e-5), options={"num_warps": 1})  # fmt: skip

    w, g, m, v = normal(200), normal(200).astype(np.float16), 0.1 * normal(200), 0.1 * normal(200) ** 2
    b1, b2 = (np.float64(np.float32(beta)) for beta in (0.9, 0.999))
    first, second = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g.astype(np.float64) ** 2
    step = first / 0.5 / (np.sqrt(second / 0.25) + 1e-8)
    after = {"weights": w - 0.01 * (step + 0.1 * w), "m": first, "v": second}
    add(adam, "*fp32 *fp16 *fp32 *fp32 i32 fp32 fp32 fp32 fp32 fp32 fp32", {"BLOCK": 256}, (1,),
        {"weights": w, "gradients": g, "m": m, "v": v, "count": 200, "rate": 0.01, "beta1": 0.9, "beta2": 0.999,
         "correction1": 0.5, "correction2": 0.25, "decay": 0.1},
        {name: value.astype(np.float32) for name, value in after.items()}, tolerance=(1e-6, 1e-5))  # fmt: skip

    x = normal(3, 100)
    scale = np.abs(x).max(1) / np.float32(127)
    add(quantize_rows, "*i8 *fp32 *fp32 i32", {"BLOCK": 128}, (3,),
        {"out": zeros(3, 100, kind=np.int8), "scales": zeros(3), "x": x, "columns": 100},
        {"out": np.rint(x / scale[:, None]).astype(np.int8), "scales": scale}, tolerance=(0, 1e-6), options={"num_warps": 1})  # fmt: skip
    packed = rng.integers(0, 256, (3, 64), np.uint8)
    scale, zero = (0.1 * normal(3, 4)).astype(np.float16), rng.integers(0, 16, (3, 4), np.uint8)
    whole = np.stack([packed & 15, packed >> 4], 2).reshape(3, 4, 32).astype(np.int32) - zero[:, :, None]
    add(dequantize4, "*fp16 *u8 *fp16 *u8 i32", {"GROUP": 32, "BLOCK": 128}, (3,),
        {"out": zeros(3, 128, kind=np.float16), "packed": packed, "scales": scale, "zeros": zero, "columns": 128},
        {"out": (whole * scale.astype(np.float32)[:, :, None]).astype(np.float16).reshape(3, 128)}, tolerance=(1e-4, 1e-3))  # fmt: skip
    return found
