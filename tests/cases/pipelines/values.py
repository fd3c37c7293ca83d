"""Element types: random exact values and their encodings."""
import struct


def _small_float(v, ebits, mbits, bias):
    """Encode an integer exactly in a small float format (fp8)."""
    if v == 0:
        return 0
    s = 1 << (ebits + mbits) if v < 0 else 0
    v = abs(v)
    e = v.bit_length() - 1
    m = (v << mbits >> e) - (1 << mbits)
    assert ((1 << mbits) + m) << e == v << mbits, 'not exact'
    return s | (e + bias) << mbits | m


def encode(v, t):
    """One element of a byte-sized or larger type."""
    if t == 'f16':
        return struct.pack('<e', v)
    if t == 'bf16':
        return struct.pack('<f', v)[2:]
    if t in ('f32', 'tf32'):
        return struct.pack('<f', v)
    if t == 'f64':
        return struct.pack('<d', v)
    if t == 'e4m3':
        return bytes([_small_float(v, 4, 3, 7)])
    if t == 'e5m2':
        return bytes([_small_float(v, 5, 2, 15)])
    if t in ('s8', 'u8'):
        return bytes([v & 255])
    if t in ('s32', 'u32'):
        return struct.pack('<I', v & 0xffffffff)
    raise ValueError(t)


BITS = {'f16': 16, 'bf16': 16, 'tf32': 32, 'f32': 32, 'f64': 64, 'e4m3': 8, 'e5m2': 8,
        's8': 8, 'u8': 8, 's4': 4, 'u4': 4, 'b1': 1, 's32': 32, 'u32': 32}


def encode_row(vals, t):
    b = BITS[t]
    if b >= 8:
        return b''.join(encode(v, t) for v in vals)
    out = bytearray(len(vals) * b // 8)      # element 0 in the low bits
    for i, v in enumerate(vals):
        out[i * b // 8] |= (v & ((1 << b) - 1)) << (i * b % 8)
    return bytes(out)


def limits(t, acc):
    """The range of the inputs: every sum stays exact in the accumulator."""
    if t == 's8':
        return -128, 127
    if t == 'u8':
        return 0, 255
    if t == 's4':
        return -8, 7
    if t == 'u4':
        return 0, 15
    if t == 'b1':
        return 0, 1
    if t == 'f64':
        return -1000, 1000
    if acc == 'f16' or t in ('e4m3', 'e5m2'):
        return -2, 2
    if t == 'tf32':
        return -31, 31
    return -4, 4


def junk(rng, n):
    return bytes(rng.getrandbits(8) for _ in range(n))
