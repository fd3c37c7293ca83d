"""Writes an execution case for each kernel of this folder: python3 cases.py

The expected values are numpy's, from the definition of each operation, in double precision. The
cases NAME.json are in the folder above.
"""

import json
import struct
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parent
LOG2_E = 1.4426950408889634


def buffer(name, elem, init, expect=None, tolerance=None):
    """A buffer with the contents `init`, or as many zeros as `expect` has bytes."""
    return {
        "kind": "buffer",
        "name": name,
        "elem": elem,
        "init": {"zeros": expect.nbytes} if init is None else {"hex": init.tobytes().hex()},
        "expect": None if expect is None else {"hex": expect.tobytes().hex()},
        "tolerance": {"abs": tolerance[0], "rel": tolerance[1]} if tolerance else "exact",
    }


def tensor_map(name, of, elem, shape, box, swizzle="none"):
    """A map of a matrix; shape and box are (columns, rows) in elements."""
    size = {"u8": 1, "f16": 2, "bf16": 2, "f32": 4}[elem]
    return {
        "kind": "tensor_map",
        "name": name,
        "of": of,
        "mode": "tiled",
        "type": elem,
        "sizes": list(shape),
        "strides": [shape[0] * size],
        "box": list(box),
        "element_strides": [1, 1],
        "interleave": "none",
        "swizzle": swizzle,
        "fill": "zero",
    }


def structure(*buffers, tail):
    """A structure of the addresses of buffers and then the bytes `tail`."""
    parts = [{"at": 8 * i, "argument": one} for i, one in enumerate(buffers)]
    image = bytes(8 * len(buffers)) + tail
    return {"kind": "struct", "init": {"hex": image.hex()}, "parts": parts}


def write(name, about, ptx, entry, grid, block, shared, args, **more):
    case = {
        "about": about,
        "ptx": f"cases/{FOLDER.name}/{ptx}.ptx",
        "entry": entry,
        "grid": [*grid, 1, 1][:3],
        "block": [block, 1, 1],
        "dynamic_smem": shared,
        "args": args,
        **more,
    }
    (FOLDER.parent / f"{name}.json").write_text(json.dumps(case) + "\n")


def attention(q, k, v, scale, causal):
    """The output and the logarithm of the sum of each row, which is -inf without keys."""
    scores = q @ k.T * scale
    if causal:
        # The last query sees the last key.
        row, column = np.indices(scores.shape)
        scores[column > row + len(k) - len(q)] = -np.inf
    top = scores.max(1, keepdims=True)
    weights = np.exp(scores - np.where(np.isinf(top), 0, top))
    sums = weights.sum(1, keepdims=True)
    with np.errstate(divide="ignore"):
        logs = np.log(sums) + np.where(np.isinf(top), 0, top)
    return weights @ v / np.where(sums == 0, 1, sums), logs[:, 0]


def flash_forward(entry, about, queries, keys, seed, causal=False, head=64, block=64):
    rng = np.random.default_rng(seed)
    q, k, v = (rng.normal(0, 1, (n, head)).astype(np.float16) for n in (queries, keys, keys))
    scale = head**-0.5
    out, logs = attention(*(x.astype(np.float64) for x in (q, k, v)), scale, causal)
    matrix = lambda of, rows, box: tensor_map(
        f"{of}_map", of, "f16", (head, rows), (64, box), "128B"
    )
    args = [
        matrix("q", queries, 64),
        matrix("k", keys, block),
        matrix("v", keys, block),
        matrix("o", queries, 64),
        structure(
            buffer("q", "f16", q),
            buffer("k", "f16", k),
            buffer("v", "f16", v),
            buffer("o", "f16", None, out.astype(np.float16), (2e-3, 4e-3)),
            buffer("logs", "f32", None, logs.astype(np.float32), (1e-3, 1e-3)),
            tail=struct.pack("<iifi", queries, keys, scale * LOG2_E, 0),
        ),
    ]
    shared = 2 * 64 * head * 2 + 4 * block * head * 2 + 128 + 1024
    write(entry, about, "flash_forward", entry, [-(-queries // 128)], 384, shared, args)


def values_of_e4m3():
    """The number of each code: 1 sign, 4 bits of exponent with bias 7, 3 of fraction."""
    code = np.arange(256)
    exponent, fraction = code >> 3 & 15, code & 7
    normal = (1 + fraction / 8) * 2.0 ** (exponent - 7)
    return np.where(code < 128, 1, -1) * np.where(exponent == 0, fraction / 8 * 2.0**-6, normal)


def bf16(values):
    """The codes of the nearest bf16 numbers, ties to even."""
    bits = values.astype(np.float32).view(np.uint32)
    assert (values.astype(np.float32) == values).all(), "rounding twice may differ from once"
    return (bits + 0x7FFF + (bits >> 16 & 1) >> 16).astype(np.uint16)


def deep_gemm(name, about, rows, columns, depth, ctas, seed):
    """Inputs with few bits, so that every sum is exact, and with it the result."""
    rng = np.random.default_rng(seed)
    value = values_of_e4m3()
    small = np.flatnonzero(np.isin(np.abs(value), [0, 0.5, 1, 1.5, 2, 3]))
    a, b = (rng.choice(small, (n, depth)).astype(np.uint8) for n in (rows, columns))
    blocks = -(-depth // 128)
    scale_a = rng.integers(1, 16, (blocks, rows)) / 8
    scale_b = rng.integers(1, 16, (-(-columns // 128), blocks)) / 8
    wide_a = value[a] * np.repeat(scale_a, 128, 0)[:depth].T
    wide_b = value[b] * np.repeat(np.repeat(scale_b, 128, 0)[:columns], 128, 1)[:, :depth]
    args = [
        tensor_map("a_map", "a", "u8", (depth, rows), (128, 128), "128B"),
        tensor_map("b_map", "b", "u8", (depth, columns), (128, 96), "128B"),
        tensor_map("scale_map", "scale_a", "f32", (rows, blocks), (128, 1)),
        tensor_map("d_map", "d", "bf16", (columns, rows), (32, 64), "64B"),
        structure(
            buffer("a", "u8", a),
            buffer("b", "u8", b),
            buffer("d", "bf16", None, bf16(wide_a @ wide_b.T)),
            buffer("scale_a", "f32", scale_a.astype(np.float32)),
            buffer("scale_b", "f32", scale_b.astype(np.float32)),
            tail=struct.pack("<iiii", rows, columns, depth, 0),
        ),
    ]
    stage = 128 * 128 + 96 * 128 + 128 * 4
    shared = 4 * stage + 2 * 64 * 96 * 2 + 2 * 32 * 4 + 64 + 1024
    write(name, about, "deep_gemm", "deep_gemm", [ctas], 384, shared, args)


def flash_decode(name, about, lengths, seed):
    """One query of 16 heads for each sequence; pages of 64 keys are anywhere in the pool."""
    rng = np.random.default_rng(seed)
    most = -(-max(lengths) // 64)
    count = sum(-(-n // 64) for n in lengths) + 2
    q = rng.normal(0, 1, (len(lengths), 16, 64)).astype(np.float16)
    k, v = (rng.normal(0, 1, (count, 64, 64)).astype(np.float16) for _ in range(2))
    free, table, outs = rng.permutation(count).tolist(), [], []
    scale = 0.125
    for query, length in zip(q, lengths):
        pages = [free.pop() for _ in range(-(-length // 64))]
        table.append(pages + [0] * (most - len(pages)))
        wide = (x[pages].reshape(-1, 64)[:length].astype(np.float64) for x in (k, v))
        outs.append(attention(query.astype(np.float64), *wide, scale, False)[0])
    matrix = lambda of, rows, box: tensor_map(f"{of}_map", of, "f16", (64, rows), (64, box), "128B")
    args = [
        matrix("q", 16 * len(lengths), 16),
        matrix("k", 64 * count, 64),
        matrix("v", 64 * count, 64),
        structure(
            buffer("q", "f16", q),
            buffer("k", "f16", k),
            buffer("v", "f16", v),
            buffer("pages", "s32", np.array(table, np.int32)),
            buffer("lengths", "s32", np.array(lengths, np.int32)),
            buffer("out", "f32", None, np.array(outs, np.float32), (2e-3, 4e-3)),
            tail=struct.pack("<if", most, scale * LOG2_E),
        ),
    ]
    shared = 4 * 8192 + 2 * 2048 + 3 * 8192 + 256 + 64 + 1024
    write(name, about, "flash_decode", "flash_decode", [4, len(lengths)], 160, shared, args)


def pingpong_gemm(name, about, rows, columns, depth, ctas, seed):
    rng = np.random.default_rng(seed)
    small = lambda *shape: rng.integers(-8, 9, shape) / 4
    a, b, bias = small(rows, depth), small(depth, columns), small(columns)
    args = [
        tensor_map("a_map", "a", "bf16", (depth, rows), (64, 64), "128B"),
        tensor_map("b_map", "b", "bf16", (columns, depth), (64, 64), "128B"),
        tensor_map("d_map", "d", "bf16", (columns, rows), (64, 64), "128B"),
        structure(
            buffer("a", "bf16", bf16(a)),
            buffer("b", "bf16", bf16(b)),
            buffer("d", "bf16", None, bf16(np.maximum(a @ b + bias, 0))),
            buffer("bias", "f32", bias.astype(np.float32)),
            tail=struct.pack("<iiii", rows, columns, depth, 0),
        ),
    ]
    shared = 4 * 3 * 8192 + 2 * 8192 + 128 + 1024
    write(name, about, "pingpong_gemm", "pingpong_gemm", [ctas], 384, shared, args)


if __name__ == "__main__":
    flash_forward("flash_forward", "128 queries and 192 keys", 128, 192, 1)
    about = "200 queries and 168 keys: the first rows see no key, tiles end outside the tensors"
    flash_forward("flash_forward_causal", about, 200, 168, 2, causal=True)
    about = "128 queries and 350 keys with a head of 128, in blocks of 160 keys"
    flash_forward("flash_forward_wide", about, 128, 350, 6, head=128, block=160)
    about = "192 by 176 by 640, four tiles on two CTAs; tiles end outside the matrices"
    deep_gemm("deep_gemm", about, 192, 176, 640, 2, 3)
    about = "200 by 320 by 160, six pairs of tiles on two clusters of two CTAs"
    pingpong_gemm("pingpong_gemm", about, 200, 320, 160, 4, 4)
    about = "600 and 100 keys in pages: two of the four CTAs for the second sequence have no page"
    flash_decode("flash_decode", about, [600, 100], 5)
