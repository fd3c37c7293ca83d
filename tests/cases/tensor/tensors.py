"""What a tensor copy does, from the PTX ISA's section "Tensors" and the text of cuTensorMapEncodeTiled and ...Im2col."""

import itertools
import struct
from fractions import Fraction

SIZES = {"u8": 1, "u16": 2, "u32": 4, "s32": 4, "u64": 8, "s64": 8, "f16": 2, "bf16": 2, "f32": 4, "f64": 8, "f32_ftz": 4,
         "tf32": 4, "tf32_ftz": 4}
SPANS = {"32B": 1, "64B": 3, "128B": 7}  # the bits of a row's number that change the places of 16-byte chunks


def swizzled(swizzle, address):
    """"Swizzling Modes": chunks of 16 bytes change places inside rows of 128 bytes, by the low bits of the row's number."""
    if swizzle == "none":
        return address
    return address ^ (address >> 7 & SPANS[swizzle]) << 4


class Map:
    """A tensor map; sizes, boxes, corners and coordinates are innermost first."""

    def __init__(self, name, of, type, sizes, strides, box=None, lower=None, upper=None, channels=None, pixels=None,
                 element_strides=None, swizzle="none", fill="zero"):
        self.name, self.of, self.type, self.sizes, self.strides = name, of, type, sizes, strides
        self.box, self.lower, self.upper, self.channels, self.pixels = box, lower, upper, channels, pixels
        self.element_strides = element_strides or [1] * len(sizes)
        self.swizzle, self.fill, self.size = swizzle, fill, SIZES[type]
        assert len(strides) == len(sizes) - 1 and all(stride % 16 == 0 for stride in strides)
        inner = (box[0] if box else channels) * self.size
        assert inner % 16 == 0 and (swizzle == "none" or inner == int(swizzle[:-1]))

    def argument(self, in_memory=False):
        result = {"kind": "tensor_map", "name": self.name, "of": self.of, "mode": "tiled" if self.box else "im2col",
                  "type": self.type, "sizes": self.sizes, "strides": self.strides}
        if self.box:
            result["box"] = self.box
        else:
            result.update(lower=self.lower, upper=self.upper, channels=self.channels, pixels=self.pixels)
        result.update(element_strides=self.element_strides, interleave="none", swizzle=self.swizzle, fill=self.fill)
        if in_memory:
            result["in_memory"] = True
        return result

    def offset(self, place):
        """Where an element is in its buffer; None outside the tensor."""
        if any(not 0 <= x < size for x, size in zip(place, self.sizes)):
            return None
        return place[0] * self.size + sum(x * stride for x, stride in zip(place[1:], self.strides))

    def places(self, at, offsets=None):
        """The elements of a box in their order in shared memory."""
        return self.tile(at) if self.box else self.columns(at, offsets or [0] * (len(self.sizes) - 2))

    def tile(self, at):
        counts = [-(-length // stride) for length, stride in zip(self.box, [1] + self.element_strides[1:])]
        for steps in itertools.product(*map(range, reversed(counts))):
            yield [x + step * stride for x, step, stride in zip(at, reversed(steps), [1] + self.element_strides[1:])]

    def columns(self, at, offsets):
        """Pixels follow one another in the bounding box of the filter's bases, then in the next image."""
        first = self.lower
        last = [size - 1 + corner for size, corner in zip(self.sizes[1:-1], self.upper)]
        base, image = list(at[1:-1]), at[-1]
        assert all(low <= x <= high for low, x, high in zip(first, base, last)), "the base lies in the bounding box"
        for _ in range(self.pixels):
            pixel = [x + offset for x, offset in zip(base, offsets)]
            for channel in range(self.channels):
                yield [at[0] + channel] + pixel + [image]
            for axis in range(len(base)):
                base[axis] += self.element_strides[1 + axis]
                if base[axis] <= last[axis]:
                    break
                base[axis] = first[axis]
            else:
                image += 1

    def bytes(self):
        """The count of complete_tx: elements outside the tensor count, too."""
        count = self.pixels * self.channels if self.pixels else len(list(self.tile([0] * len(self.sizes))))
        return count * self.size

    def pairs(self, at, start, offsets=None):
        """For each element: its offset in the buffer or None, and its offset in shared memory."""
        for number, place in enumerate(self.places(at, offsets)):
            yield self.offset(place), swizzled(self.swizzle, start + number * self.size)

    def load(self, memory, shared, at, start=0, offsets=None, fill=None):
        for source, target in self.pairs(at, start, offsets):
            value = fill or bytes(self.size)
            if source is not None:
                value = memory[source:source + self.size]
            shared[target:target + self.size] = value

    def store(self, memory, shared, at, start=0, change=lambda old, new: new):
        assert all(x >= 0 for x in at), "a store's first coordinates are not negative"
        for target, source in self.pairs(at, start):
            if target is not None:
                old = memory[target:target + self.size]
                memory[target:target + self.size] = change(old, shared[source:source + self.size])


# Elements.


CODES = {"u8": "B", "u16": "H", "u32": "I", "s32": "i", "u64": "Q", "s64": "q", "f16": "e", "f32": "f", "f64": "d"}


def number(type, data):
    if type == "bf16":
        return struct.unpack("<f", b"\0\0" + bytes(data))[0]
    return struct.unpack("<" + CODES[type], data)[0]


def element(type, value):
    """An element from a value that the type holds; floats are rounded to the nearest even."""
    if type == "bf16":
        word = nearest(value, 8, -126)
        return struct.pack("<f", word)[2:]
    if type in ("f16", "f32"):
        value = nearest(value, 11 if type == "f16" else 24, -14 if type == "f16" else -126)
    return struct.pack("<" + CODES[type], value)


def nearest(value, digits, least):
    """A number with so many binary digits; exponents below `least` have the same unit as `least`."""
    value = Fraction(value)
    if value == 0:
        return 0.0
    exponent = least
    while abs(value) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    unit = Fraction(2) ** (exponent - digits + 1)
    return float(round(value / unit) * unit)


def reduced(type, operation):
    """How an element changes by the element of the same place in shared memory."""
    bits = 8 * SIZES[type]

    def change(old, new):
        old, new = number(type, old), number(type, new)
        if type in ("f16", "bf16", "f32"):
            result = {"add": lambda: Fraction(old) + Fraction(new), "min": lambda: min(old, new),
                      "max": lambda: max(old, new)}[operation]()
            return element(type, result)
        result = {"add": lambda: old + new, "min": lambda: min(old, new), "max": lambda: max(old, new),
                  "inc": lambda: 0 if old >= new else old + 1,
                  "dec": lambda: new if old == 0 or old > new else old - 1,
                  "and": lambda: old & new, "or": lambda: old | new, "xor": lambda: old ^ new}[operation]()
        return (result % (1 << bits)).to_bytes(bits // 8, "little")

    return change


def random_elements(rng, type, count, small=False):
    """Any bits for integers; floats of moderate size, with `small` some of them subnormal in f16 and bf16."""
    if type in ("f16", "bf16"):
        unit, top = (2.0 ** -24, 900) if type == "f16" else (2.0 ** -133, 90)
        choices = [lambda: rng.uniform(0.5, 9) * rng.choice([-1, 1]), lambda: rng.uniform(-999, 999)]
        choices += [lambda: rng.randint(-top, top) * unit] * small
        return b"".join(element(type, rng.choice(choices)()) for _ in range(count))
    if type in ("f32", "f32_ftz"):
        return b"".join(element("f32", rng.uniform(-99, 99) or 1.0) for _ in range(count))
    if type in ("tf32", "tf32_ftz"):
        return b"".join(element("f32", nearest(rng.uniform(-99, 99) or 1.0, 11, -126)) for _ in range(count))
    if type == "f64":
        return b"".join(element(type, rng.uniform(-99, 99)) for _ in range(count))
    return bytes(rng.randrange(256) for _ in range(count * SIZES[type]))
