"""The cases of integer instructions: video, dot products, packed halves, conversions that pack, bits.

The functions here restate the definitions of the PTX ISA, one instruction each.

    python3 tests/cases/operations/integers.py        # writes tests/cases/NAME.json
"""

from case import MASK, clamp, generator, read, signed, words, write, written


# Video instructions on four bytes or two halves.


def parts(word, bits):
    return [word >> at & ((1 << bits) - 1) for at in range(0, 32, bits)]


def selected(a, b, select, bits, kind):
    """Elements of a (the lower numbers) and b, the first for the lowest part, extended by their type."""
    pool = parts(a, bits) + parts(b, bits)
    numbers = [pool[int(digit)] for digit in reversed(select)]
    return [signed(n, bits) if kind == "s" else n for n in numbers]


def simd(op, kinds, a, b, c, bits=8, sat=False, mask=None, asel=None, bsel=None, add=False, cmp=None):
    """`kinds` are the types of the result and the sources: "sus" for .s32.u32.s32."""
    lanes = 32 // bits
    va = selected(a, b, asel or "3210"[-lanes:], bits, kinds[1])
    vb = selected(a, b, bsel or {8: "7654", 16: "32"}[bits], bits, kinds[2])
    out = []
    for x, y in zip(va, vb):
        t = {
            "add": lambda: x + y,
            "sub": lambda: x - y,
            "avrg": lambda: (x + y + 1) >> 1 if x + y >= 0 else (x + y) >> 1,
            "absdiff": lambda: abs(x - y),
            "min": lambda: min(x, y),
            "max": lambda: max(x, y),
            "set": lambda: int({"lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y, "eq": x == y,
                                "ne": x != y}[cmp]),
        }[op]()
        if sat:
            t = clamp(t, -1 << (bits - 1), (1 << (bits - 1)) - 1) if kinds[0] == "s" else clamp(t, 0, (1 << bits) - 1)
        out.append(t)
    taken = [mask is None or str(n) in mask for n in range(lanes)]
    if add:
        return (c + sum(t for t, take in zip(out, taken) if take)) & MASK
    merged = [t if take else old for t, take, old in zip(out, taken, parts(c, bits))]
    return sum((t & ((1 << bits) - 1)) << bits * n for n, t in enumerate(merged))


VIDEO = [
    ("add", "sss", dict(sat=True)),
    ("add", "uus", dict(sat=True, mask="310", asel="0123")),
    ("add", "sus", dict(add=True, mask="32")),
    ("sub", "uuu", dict(sat=True)),
    ("sub", "suu", dict(add=True)),
    ("sub", "ssu", dict(mask="2", asel="5214", bsel="0246")),
    ("avrg", "sss", dict()),
    ("avrg", "uuu", dict(add=True, mask="321")),
    ("avrg", "ssu", dict(mask="20")),
    ("absdiff", "uuu", dict(add=True)),
    ("absdiff", "sss", dict(sat=True, mask="10")),
    ("absdiff", "usu", dict()),
    ("min", "ssu", dict()),
    ("min", "uuu", dict(add=True, mask="30")),
    ("max", "uss", dict(sat=True)),
    ("max", "sss", dict(mask="321", asel="7777", bsel="3210")),
    ("set", "uss", dict(cmp="lt")),
    ("set", "uuu", dict(cmp="ne", add=True, mask="210")),
    ("set", "uus", dict(cmp="ge", mask="31")),
    ("add", "sss", dict(bits=16, sat=True)),
    ("sub", "uus", dict(bits=16, sat=True, mask="1", asel="01")),
    ("avrg", "sss", dict(bits=16, add=True)),
    ("absdiff", "uss", dict(bits=16, mask="0")),
    ("min", "sus", dict(bits=16)),
    ("max", "uuu", dict(bits=16, add=True, mask="0")),
    ("set", "uss", dict(bits=16, cmp="gt", add=True)),
    ("set", "uuu", dict(bits=16, cmp="le", mask="1")),
    ("sub", "suu", dict(bits=16, add=True, mask="10")),
]


def video_simd():
    rng = generator("video_simd")
    inputs = words(rng, 3 * 32)
    out = []
    for t in range(32):
        a, b, c = inputs[3 * t:3 * t + 3]
        out += [simd(op, kinds, a, b, c, **rest) for op, kinds, rest in VIDEO]
    write("video_simd", [read("in", "u32", inputs), written("out", "u32", out)])


def block_match():
    """Where does a block of 8 by 8 pixels fit best in a picture of 20 by 16? One thread for each place."""
    rng = generator("block_match")
    width, height, size = 20, 16, 8
    picture = [clamp(int(128 + 90 * ((x * 7 + y * 5) % 13 - 6) / 6 + rng.randrange(-30, 31)), 0, 255)
               for y in range(height) for x in range(width)]
    place = (5, 3)
    block = [clamp(picture[(place[1] + y) * width + place[0] + x] + rng.randrange(-9, 10), 0, 255)
             for y in range(size) for x in range(size)]
    sums = []
    for at in range(64):
        x, y = at % 8, at // 8
        sums.append(sum(abs(picture[(y + j) * width + x + i] - block[j * size + i])
                        for j in range(size) for i in range(size)))
    best = min((total << 6) | at for at, total in enumerate(sums))
    assert best & 63 == place[1] * 8 + place[0]
    after = written("best", "u32", [best])
    after["init"] = {"hex": "ffffffff"}
    write("block_match", [read("picture", "u8", picture), read("block", "u8", block), written("sums", "u32", sums),
                          after], block=64)


# Dot products.


def dp4a(ka, kb, a, b, c):
    x, y = [[signed(n, 8) if k == "s" else n for n in parts(w, 8)] for k, w in ((ka, a), (kb, b))]
    return c + sum(p * q for p, q in zip(x, y)) & MASK


def dp2a(high, ka, kb, a, b, c):
    x = [signed(n, 16) if ka == "s" else n for n in parts(a, 16)]
    y = [signed(n, 8) if kb == "s" else n for n in parts(b, 8)][2 if high else 0:][:2]
    return c + sum(p * q for p, q in zip(x, y)) & MASK


def dot_products():
    inputs = words(generator("dot_products"), 3 * 32)
    out = []
    for t in range(32):
        values = inputs[3 * t:3 * t + 3]
        pairs = [(ka, kb) for ka in "us" for kb in "us"]
        out += [dp4a(ka, kb, *values) for ka, kb in pairs]
        out += [dp2a(high, ka, kb, *values) for high in (False, True) for ka, kb in pairs]
    write("dot_products", [read("in", "u32", inputs), written("out", "u32", out)])


# Packed halves.


def packed_halves():
    inputs = words(generator("packed_halves"), 2 * 48)
    out = []

    def each(f, kind, a, b):
        pairs = zip(parts(a, 16), parts(b, 16))
        return sum((f(*[signed(n, 16) if kind == "s" else n for n in pair]) & 0xFFFF) << 16 * at
                   for at, pair in enumerate(pairs))

    for t in range(48):
        a, b = inputs[2 * t:2 * t + 2]
        relu = lambda f: lambda x, y: max(f(x, y), 0)
        out += [each(lambda x, y: x + y, "u", a, b), each(lambda x, y: x + y, "s", a, b),
                each(min, "u", a, b), each(min, "s", a, b), each(max, "u", a, b), each(max, "s", a, b),
                each(relu(min), "s", a, b), each(relu(max), "s", a, b),
                relu(min)(signed(a), signed(b)), relu(max)(signed(a), signed(b))]
    write("packed_halves", [read("in", "u32", inputs), written("out", "u32", out)], block=48)


# Conversions that pack two numbers.


def cvt_pack(kind, bits, a, b, c):
    low, high = (0, (1 << bits) - 1) if kind == "u" else (-1 << (bits - 1), (1 << (bits - 1)) - 1)
    ta, tb = [clamp(signed(x), low, high) & ((1 << bits) - 1) for x in (a, b)]
    return (c << 2 * bits | ta << bits | tb) & MASK


def pack_saturated():
    rng = generator("pack_saturated")
    edges = [limit + d for limit in (0, 2, 8, 16, 128, 256, 32768, 65536) for d in (-1, 0, 1)]
    number = lambda: rng.choice([1, -1]) * rng.choice(edges) if rng.random() < 0.8 else signed(rng.getrandbits(32))
    inputs = [n & MASK for _ in range(48) for n in (number(), number(), rng.getrandbits(32))]
    out = []
    for t in range(48):
        a, b, c = inputs[3 * t:3 * t + 3]
        out += [cvt_pack(kind, 16, a, b, 0) for kind in "us"]
        out += [cvt_pack(kind, bits, a, b, c) for bits in (8, 4, 2) for kind in "us"]
        # Four numbers in one word of bytes, as quantized networks pack them.
        out.append(cvt_pack("s", 8, c, a, cvt_pack("s", 8, b, c, 0)))
    write("pack_saturated", [read("in", "u32", inputs), written("out", "u32", out)], block=48)


# Bits.


def fns(mask, base, offset):
    if offset == 0:
        return base if mask >> base & 1 else MASK
    at, count, step = base, abs(offset) - 1, 1 if offset > 0 else -1
    while 0 <= at < 32:
        if mask >> at & 1:
            if count == 0:
                return at
            count -= 1
        at += step
    return MASK


def bmsk(mode, a, b):
    start, width = a & 31, b & 31
    mask0, mask1 = MASK << start & MASK, MASK << (start + width) & MASK
    if mode == "clamp" and a >= 32:
        mask0 = 0
    if start + width >= 32 or mode == "clamp" and (a >= 32 or b >= 32):
        mask1 = 0
    return mask0 & ~mask1


def szext(mode, kind, a, b):
    count = b & 31
    too_large = b >= 32 and mode == "clamp"
    mask = 0 if too_large else MASK << count & MASK
    negative = kind == "s" and count > 0 and not too_large and a >> (count - 1) & 1
    return (a & ~mask | (mask if negative else 0)) & MASK


def bit_masks():
    rng = generator("bit_masks")
    inputs, out = [], []
    for t in range(64):
        word = rng.choice([rng.getrandbits(32), rng.getrandbits(32) & rng.getrandbits(32) & rng.getrandbits(32),
                           0, MASK, 1 << rng.randrange(32)])
        base, offset = rng.randrange(32), rng.choice([0, 1, -1, 2, -2, 3, 5, -7, 32, -32, 33])
        start, width = [rng.choice([0, 1, 31, 32, 33, 63, 64, 0x80000000, MASK, rng.randrange(32), rng.randrange(32)])
                        for _ in range(2)]
        inputs += [word, base, offset & MASK, start, width]
        out += [fns(word, base, offset), bmsk("clamp", start, width), bmsk("wrap", start, width)]
        out += [szext(mode, kind, word, width) for mode in ("clamp", "wrap") for kind in "us"]
        # The third set bit and the last one; the sixteen lowest bits as a field.
        out += [fns(word, 0, 3), fns(word, 31, -1), szext("wrap", "s", word, 16)]
    write("bit_masks", [read("in", "u32", inputs), written("out", "u32", out)], block=64)


def lop3(a, b, c, table):
    return sum((table >> ((a >> n & 1) * 4 + (b >> n & 1) * 2 + (c >> n & 1)) & 1) << n for n in range(32))


MODES = {  # the bytes of the result, the highest first, for each value of the two selecting bits
    "f4e": ["3210", "4321", "5432", "6543"],
    "b4e": ["5670", "6701", "7012", "0123"],
    "rc8": ["0000", "1111", "2222", "3333"],
    "ecl": ["3210", "3211", "3222", "3333"],
    "ecr": ["0000", "1110", "2210", "3210"],
    "rc16": ["1010", "3232", "1010", "3232"],
}


def prmt(a, b, c, mode=None):
    pool = parts(a, 8) + parts(b, 8)
    if mode:
        picks = [int(digit) for digit in reversed(MODES[mode][c & 3])]
        return sum(pool[pick] << 8 * n for n, pick in enumerate(picks))
    word = 0
    for n in range(4):
        pick = c >> 4 * n & 15
        byte = pool[pick & 7]
        if pick & 8:
            byte = 0xFF if byte & 0x80 else 0
        word |= byte << 8 * n
    return word


def bit_selects():
    rng = generator("bit_selects")
    inputs, out = words(rng, 3 * 32), []
    for t in range(32):
        a, b, c = inputs[3 * t:3 * t + 3]
        out += [lop3(a, b, c, table) for table in (0x80, 0xFE, 0x96, 0xE8, 0xCA, 0x1B, 0x5A, 0x24)]
        first = lop3(a, b, c, 0x08)
        second = lop3(a, c, t, 0x02)
        out.append((first != 0 or t % 3 == 0) | (second != 0 and t % 2 == 0) << 1)
        out.append(first ^ second)
        out += [prmt(a, b, c), prmt(a, b, 0xB3D5), prmt(a, 0, 0x4440 | t % 4), prmt(a, a, c)]
        out += [prmt(a, b, c, mode) for mode in MODES]
        out += [prmt(a, b, 3, "b4e"), prmt(a, b, 2, "ecl")]
    write("bit_selects", [read("in", "u32", inputs), written("out", "u32", out)])


if __name__ == "__main__":
    for case in (video_simd, block_match, dot_products, packed_halves, pack_saturated, bit_masks, bit_selects):
        case()
