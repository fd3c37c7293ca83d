"""Writes execution cases of matrix instructions: the kernel's PTX, its launch and its arguments."""

import json
import random
import struct
from pathlib import Path

CASES = Path(__file__).resolve().parent.parent  # of the JSON files; the kernels are in the folder of their family


# Elements in memory.


def small_float(code, exponent_bits, mantissa_bits, bias):
    """The value of an 8-bit float without its infinities and NaNs."""
    exponent = code >> mantissa_bits & ((1 << exponent_bits) - 1)
    mantissa = code & ((1 << mantissa_bits) - 1)
    value = (mantissa if exponent == 0 else mantissa + (1 << mantissa_bits)) * 2.0 ** (max(exponent, 1) - bias - mantissa_bits)
    return -value if code >> 7 else value


E4M3 = {small_float(code, 4, 3, 7): code for code in range(255) if code & 0x7F != 0x7F}
E5M2 = {small_float(code, 5, 2, 15): code for code in range(256) if code & 0x7F < 0x7C}

BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1, "e4m3": 8,
        "e5m2": 8, "s32": 32, "u16": 16, "u32": 32}
STORED = {"tf32": "f32", "s4": "u8", "u4": "u8", "b1": "u8", "e4m3": "u8", "e5m2": "u8"}


def packed(kind, values):
    """The bytes of elements that follow one another; parts of a byte fill it from the low end."""
    if kind in ("s4", "u4", "b1"):
        bits = BITS[kind]
        codes = [value & ((1 << bits) - 1) for value in values]
        per = 8 // bits
        assert len(codes) % per == 0
        return bytes(sum(codes[at + n] << bits * n for n in range(per)) for at in range(0, len(codes), per))
    if kind == "bf16":
        words = [struct.unpack("<I", struct.pack("<f", value))[0] for value in values]
        assert all(word & 0xFFFF == 0 for word in words)
        return struct.pack("<%dH" % len(words), *[word >> 16 for word in words])
    if kind == "tf32":
        words = [struct.unpack("<I", struct.pack("<f", value))[0] for value in values]
        assert all(word & 0x1FFF == 0 for word in words)
    if kind in ("e4m3", "e5m2"):
        return bytes({"e4m3": E4M3, "e5m2": E5M2}[kind][value + 0.0] for value in values)
    format = {"f16": "e", "f32": "f", "tf32": "f", "f64": "d", "s8": "b", "u8": "B", "s32": "i", "u16": "H", "u32": "I"}[kind]
    data = struct.pack("<%d%s" % (len(values), format), *values)
    assert list(struct.unpack("<%d%s" % (len(values), format), data)) == list(values), "not exact in " + kind
    return data


def flat(rows):
    return [value for row in rows for value in row]


def read(name, kind, values):
    """A buffer that the kernel only reads."""
    content = {"hex": packed(kind, values).hex()}
    return {"kind": "buffer", "name": name, "elem": STORED.get(kind, kind), "init": content, "expect": content,
            "tolerance": "exact"}


def written(name, kind, values, before=None):
    """A buffer that the kernel fills; without `before` it holds zeros until then."""
    content = packed(kind, values)
    init = {"zeros": len(content)} if before is None else {"hex": packed(kind, before).hex()}
    return {"kind": "buffer", "name": name, "elem": STORED.get(kind, kind), "init": init, "expect": {"hex": content.hex()},
            "tolerance": "exact"}


def scalar(elem, value):
    return {"kind": "scalar", "elem": elem, "value": value}


def write(name, about, args, block, grid=1, family="matrix"):
    """The case NAME.json of the kernel NAME."""
    block = [block, 1, 1] if isinstance(block, int) else block
    case = {"ptx": "cases/%s/%s.ptx" % (family, name), "entry": name, "grid": [grid, 1, 1], "block": block, "dynamic_smem": 0,
            "about": about, "args": args}
    (CASES / (name + ".json")).write_text(json.dumps(case, indent=1) + "\n")


def write_ptx(name, version, target, parameters, about, body, before="", directives="", family="matrix"):
    """The file NAME.ptx with one kernel; every parameter is named with its type."""
    text = ["// " + line for line in about.strip().split("\n")]
    # ptxas wants at least version 7.8 for sm_90.
    version = max(version, "7.8", key=lambda text: [int(part) for part in text.split(".")])
    text += ["", ".version " + version, ".target " + target, ".address_size 64", ""]
    text += before.strip("\n").split("\n") + [""] if before else []
    text += [".visible .entry %s(" % name]
    text += [",\n".join("\t.param .%s %s" % (kind, parameter) for parameter, kind in parameters), ")"]
    text += directives.split("\n") if directives else []
    text += ["{"]
    for line in body.strip("\n").split("\n"):
        line = line.strip()
        text.append(line if line.endswith(":") or not line else "\t" + line)
    text += ["\tret;", "}", ""]
    (CASES / family / (name + ".ptx")).write_text("\n".join(text))


def generator(name):
    """A source of numbers that depends on the case's name only."""
    return random.Random("ptxc matrix " + name)


# Plain products of matrices, which are lists of rows.


def product(a, b, c):
    """A * B + C in exact arithmetic."""
    return [[sum(a[i][k] * b[k][j] for k in range(len(b))) + c[i][j] for j in range(len(b[0]))] for i in range(len(a))]


def transposed(rows):
    return [list(column) for column in zip(*rows)]


def wrap(value):
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def clamp(value):
    return min(max(value, -(1 << 31)), (1 << 31) - 1)


def each(function, rows):
    return [[function(value) for value in row] for row in rows]


# Numbers whose sums of products are exact in the accumulator, whatever the order.


def numbers(rng, kind, role, narrow=False):
    """A number for an A or B matrix; `narrow` is for accumulators of 16 bits."""
    if kind in ("e4m3", "e5m2"):
        return rng.randint(-4, 4) / 2 if narrow else rng.randint(-8, 8) / 2
    if kind == "f16":
        return (rng.randint(-8, 8) / (2 if role == "a" else 4)) if narrow else rng.randint(-512, 512) / 8
    return {
        "bf16": lambda: rng.randint(-128, 128) / 4,
        "tf32": lambda: rng.randint(-1024, 1024) / 16,
        "f64": lambda: rng.randint(-1 << 20, 1 << 20) / 32,
        "s8": lambda: rng.choice([-128, -127, -1, 0, 1, 127]) if rng.random() < 0.3 else rng.randint(-128, 127),
        "u8": lambda: rng.choice([0, 1, 127, 128, 255]) if rng.random() < 0.3 else rng.randint(0, 255),
        "s4": lambda: rng.randint(-8, 7),
        "u4": lambda: rng.randint(0, 15),
        "b1": lambda: rng.randint(0, 1),
    }[kind]()


def matrix(rng, rows, columns, kind, role, narrow=False):
    return [[numbers(rng, kind, role, narrow) for _ in range(columns)] for _ in range(rows)]


def accumulator(rng, rows, columns, kind, inputs):
    """A C matrix that fits to products of `inputs`."""
    if kind == "s32":
        return [[rng.randint(-1 << 20, 1 << 20) for _ in range(columns)] for _ in range(rows)]
    if kind == "f16":
        step = 4 if inputs in ("e4m3", "e5m2") else 8
        return [[rng.randint(-64 * step, 64 * step) / step for _ in range(columns)] for _ in range(rows)]
    step = {"f16": 64, "bf16": 16, "tf32": 256, "f64": 1024, "e4m3": 4, "e5m2": 4}[inputs]
    return [[rng.randint(-128 * step, 128 * step) / step for _ in range(columns)] for _ in range(rows)]
