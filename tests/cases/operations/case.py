"""Writes an execution case: a kernel of this folder, its launch and its arguments."""

import json
import random
import struct
from pathlib import Path

MASK = 0xFFFFFFFF
CASES = Path(__file__).resolve().parent.parent


def signed(value, bits=32):
    """The number that these bits stand for in two's complement."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def clamp(value, low, high):
    return min(max(value, low), high)


def packed(format, values):
    """The bytes of numbers; integers are reduced to the width of their type."""
    bits = 8 * struct.calcsize("<" + format)
    if format in "BHIQ":
        values = [value & ((1 << bits) - 1) for value in values]
    return struct.pack("<%d%s" % (len(values), format), *values).hex()


FORMATS = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "s32": "i", "f16": "e", "f32": "f", "f64": "d"}


def read(name, elem, values):
    """A buffer that the kernel only reads."""
    content = {"hex": packed(FORMATS[elem], values)}
    return {"kind": "buffer", "name": name, "elem": elem, "init": content, "expect": content, "tolerance": "exact"}


def written(name, elem, values):
    """A buffer of zeros that the kernel fills."""
    content = packed(FORMATS[elem], values)
    return {"kind": "buffer", "name": name, "elem": elem, "init": {"zeros": len(content) // 2},
            "expect": {"hex": content}, "tolerance": "exact"}


def texture(name, shape, size, values, elem="f32", channels=1, sampler=None, **rest):
    return {"kind": "image", "name": name, "shape": shape, "size": size, "elem": elem, "channels": channels,
            "init": {"hex": packed(FORMATS[elem], values)}, "expect": None, "tolerance": "exact",
            "sampler": sampler or {}, **rest}


def scalar(elem, value):
    return {"kind": "scalar", "elem": elem, "value": value}


def structure(content):
    return {"kind": "bytes", "hex": content.hex()}


def unchecked(name, elem, count):
    """A buffer of zeros whose content after the run is open."""
    return {"kind": "buffer", "name": name, "elem": elem, "init": {"zeros": count * struct.calcsize("<" + FORMATS[elem])},
            "expect": None, "tolerance": "exact"}


def size(numbers):
    """Three sizes, of a number or of a list of numbers."""
    numbers = [numbers] if isinstance(numbers, int) else numbers
    return (list(numbers) + [1, 1])[:3]


def write(name, args, block=32, grid=1, ptx=None, folder=None, entry=None, **rest):
    """The case NAME.json; its kernel is NAME in NAME.ptx of this folder."""
    case = {"ptx": ptx or "cases/operations/%s.ptx" % name, "entry": entry or name, "grid": size(grid),
            "block": size(block), "dynamic_smem": 0, "args": args, **rest}
    path = (folder or CASES) / (name + ".json")
    path.write_text(json.dumps(case, indent=1) + "\n")


def words(rng, count, bits=32):
    """Random words, most of them made of bytes at the limits of signed and unsigned bytes."""
    edges = [0x00, 0x01, 0x7F, 0x80, 0x81, 0xFE, 0xFF]
    byte = lambda: rng.choice(edges) if rng.random() < 0.4 else rng.randrange(256)
    return [sum(byte() << 8 * n for n in range(bits // 8)) for _ in range(count)]


def generator(name):
    """A source of numbers that depends on the case's name only."""
    return random.Random("ptxc " + name)
