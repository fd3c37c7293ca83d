"""The cases of structures: passed and returned by value with members chosen at run time, copied with their padding, and of
parameters of any size.

    python3 tests/cases/operations/structures.py        # writes struct_values.json, padded_copies.json and any_size.json
"""

import copy
import struct

from case import MASK, generator, read, scalar, signed, structure, write, written


def struct_values():
    """Each thread measures a structure of 64 bytes at the place that its input names, which gives one of 40 bytes.

    The second step adds up a member while it turns the others round, calling itself."""
    rng = generator("struct_values")
    scale = -7
    offsets = [rng.randrange(-30000, 30000) for _ in range(6)]
    codes = [rng.randrange(256) for _ in range(12)]
    weights = [0.5, -3.25, 1024.0]
    tail = -0x123456789ABCDEF
    table = struct.pack("<i6h12B4x3dq", scale, *offsets, *codes, *weights, tail)
    assert len(table) == 64
    inputs = [rng.randrange(1 << 20) for _ in range(32)]

    def measure(codes, place):
        return {
            "sum": tail + place * offsets[place % 6],
            "product": weights[place % 3] * codes[place % 12],
            "words": [offsets[(place + n) % 6] * scale for n in range(4)],
            "share": weights[(place >> 2) % 3] + codes[(place >> 4) % 12],
            "half": signed(codes[(place >> 3) % 12] * 257, 16),
            "byte": signed(codes[11 - place % 12], 8),
        }

    def turn(value, depth):
        """Rotates the words by one, negates the product, and adds up the byte, as often as `depth` says."""
        if depth == 0:
            return value
        value = copy.deepcopy(value)
        value["words"] = value["words"][1:] + value["words"][:1]
        value["words"][depth % 4] += depth
        value["product"] = -value["product"]
        after = turn(value, depth - 1)
        after["sum"] += value["byte"] * depth
        after["share"] += value["words"][(depth + 1) % 4] & 3
        return after

    out = []
    for t, place in enumerate(inputs):
        own = list(codes)
        own[place % 12] ^= t
        results = measure(own, place)
        turned = turn(results, t % 5)
        # The caller's copies stay as they were.
        for value in (turned, results):
            content = struct.pack("<qd4ifhb", value["sum"], value["product"], *[signed(w) for w in value["words"]],
                                  value["share"], value["half"], value["byte"]) + b"\0"
            out += struct.unpack("<10I", content)
        out.append((codes[place % 12] << 8 | own[place % 12]) & MASK)
    write("struct_values", [structure(table), read("in", "u32", inputs), written("out", "u32", out)])


def padded_copies():
    """A structure is made from a number; the threads pass structures on, and weigh those that they get."""
    threads, count = 64, 8
    rng = generator("padded_copies")
    order = [rng.getrandbits(32) for _ in range(2 * threads)]

    def weigh(n):
        tag, size, last, kind = n * 7 % 256, n * 1001 % 65536, n ^ 0x5A, n % 5
        return tag + 3 * size + 5 * last + (n * 11 if n % 3 == 0 else 0) + (n * 2 if kind > 2 else 0) - n

    first = [t + order[t] % count for t in range(threads)]
    others = [first[threads - 1 - t] for t in range(threads)]
    replaced = [order[t + threads] % count == order[t] % count for t in range(threads)]
    lasts = [others[t] if replaced[t] else first[t] for t in range(threads)]
    exchanged = [others[t ^ 1] for t in range(threads)]
    kept = [lasts[t] if t % 2 else exchanged[t] for t in range(threads)]
    sums = [((weigh(others[t]) ^ weigh(lasts[t]) << 1) + (weigh(exchanged[t]) << 2)) ^ weigh(kept[t ^ 3]) << 3
            for t in range(threads)]
    write("padded_copies", [read("order", "u32", order), written("out", "u32", sums), scalar("s32", count)], block=threads)


def any_size():
    """Three functions whose last parameter has any size."""
    threads = 64
    rng = generator("any_size")
    numbers = [rng.getrandbits(32) for _ in range(threads)]

    def words(values):
        total = 0
        for value in values:
            total = (3 * total + value) & MASK
        return total

    out = []
    for thread, number in enumerate(numbers):
        listed = [number, 7, thread] if thread % 2 else [thread, number, 9, number, 1]
        # -3 + 1000 + ((thread + 10) - (1 + thread)), and the two first values.
        mixed = number + thread + -3 + 1000 + 9
        passed = (words([thread, number, 11, 5]) + thread) & MASK
        out += [words(listed), 0, mixed & MASK, mixed >> 32, passed, 0]
    write("any_size", [read("in", "u32", numbers), written("out", "u32", out)], block=threads)


if __name__ == "__main__":
    struct_values()
    padded_copies()
    any_size()
