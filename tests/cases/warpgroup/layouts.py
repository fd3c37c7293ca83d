"""Where wgmma expects the elements of a matrix in shared memory (PTX ISA, "Shared Memory Matrix Layout").

Everything moves in chunks of 16 bytes along the major dimension: along k for a K-major matrix, along m or n for an MN-major
one. A chunk has two coordinates: `c`, its place along the major dimension, and `o`, its line in the other dimension. The
matrices in global memory are stored line after line, so chunk (o, c) is number o * chunks + c there.

`Shared.offset` is the rule that the kernels compute. `Shared.canonical` says the same a second time, by the table of
"Canonical Layouts" with its swizzles; `Shared.check` compares both for every chunk of every step.
"""

MODE = {1: 0, 8: 1, 4: 2, 2: 3}  # bits 62-63 of a descriptor, by the width of the swizzle in chunks


def swizzled(offset, width):
    """Swizzle<log2(width), 4, 3> of the table: bits 4... of a byte address change by the bits three places higher."""
    return offset ^ (offset >> 3 & (width - 1) << 4)


class Shared:
    """A matrix in shared memory, for one or more steps along k.

    width:  chunks in a line of the swizzle: 1 (no swizzle), 2, 4 or 8
    major:  "k" or "mn"
    lead, stride:  the two byte offsets of the descriptor; None stands for the densest layout
    tile:   for K-major swizzles, bytes from a swizzle's k range to the next one
    base:   bytes from a multiple of 1024 to the start of the pattern
    """

    def __init__(self, name, lines, chunks, width=1, major="k", lead=None, stride=None, tile=None, base=0):
        self.name, self.lines, self.chunks, self.width, self.major = name, lines, chunks, width, major
        groups = lines // 8
        atom = 128 * width
        if major == "k" and width == 1:
            self.stride = stride or 128 * chunks  # the cores of eight rows follow one another
            self.lead = lead or 128
        elif major == "k":
            self.stride, self.lead = stride or atom, 16  # the field holds 1, which the ISA assumes
        elif width == 1:
            self.stride = stride or 128
            self.lead = lead or 128 * chunks
        else:
            self.lead = lead or atom
            self.stride = stride or atom * (chunks // width)
        self.tile = tile or self.stride * groups
        self.base, self.at = base, None
        assert base == 0 or width == 8
        assert major == "mn" or chunks % width == 0

    def terms(self):
        """The offset of chunk (o, c) as a sum of parts (coordinate, shift right, mask or None, bytes)."""
        w = self.width
        if self.major == "k" and w == 1:
            return [("o", 0, 7, 16), ("o", 3, None, self.stride), ("c", 0, None, self.lead)]
        if self.major == "k":
            terms = [("o", 0, 7, 16 * w), ("o", 3, None, self.stride), ("c", w.bit_length() - 1, None, self.tile)]
            return terms[:3 if self.chunks > w else 2]
        if w == 1:
            return [("o", 0, 7, 16), ("o", 3, None, self.lead), ("c", 0, None, self.stride)]
        return [("o", 0, 7, 16 * w), ("o", 3, None, self.stride), ("c", w.bit_length() - 1, None, self.lead)]

    def phase(self):
        """How far line o is shifted before its low bits change the place of a chunk: eight lines of w chunks."""
        return {2: 2, 4: 1, 8: 0}[self.width]

    def offset(self, o, c):
        """Bytes from the pattern's start to chunk (o, c)."""
        at = 0
        for coordinate, shift, mask, size in self.terms():
            value = (o if coordinate == "o" else c) >> shift
            at += (value if mask is None else value & mask) * size
        if self.width > 1:
            at += 16 * (c & self.width - 1 ^ (o >> self.phase() & self.width - 1))
        return at

    def bytes(self):
        return max(self.offset(o, c) for o in range(self.lines) for c in range(self.chunks)) + 16 + self.base

    def step(self, number, chunks=2):
        """Bytes that the start address advances before step `number`, each of `chunks` chunks of 16 bytes along k.

        For an MN-major matrix (16-bit elements) a chunk along k stands for eight lines."""
        if self.major == "mn":
            return number * chunks * (self.lead if self.width == 1 else self.stride)
        if self.width == 1:
            return number * chunks * self.lead
        first = number * chunks
        return first // self.width * self.tile + first % self.width * 16

    def fields(self):
        """The descriptor without its address."""
        word = MODE[self.width] << 62 | (self.base >> 7 & 7) << 49
        assert self.lead % 16 == 0 and self.stride % 16 == 0 and self.lead < 1 << 18 and self.stride < 1 << 18
        return word | self.stride >> 4 << 32 | self.lead >> 4 << 16

    def canonical(self, start, along, line):
        """The place of 16 bytes of one product's operand whose descriptor starts at `start`.

        K-major: row `line`, chunk `along` along k. MN-major: chunk `along` along m or n, k = `line`. Strides in bytes."""
        w = self.width
        if self.major == "k":
            # ((8,m),(T,2k)) : ((wT,SBO),(1,T)), without swizzle ((1T,SBO),(1,LBO))
            at = line % 8 * 16 * w + line // 8 * self.stride + along * (16 if w > 1 else self.lead)
        elif w == 1:
            # ((T,1,m),(8,k)) : ((1,T,SBO),(1T,LBO))
            at = along * self.stride + line % 8 * 16 + line // 8 * self.lead
        else:
            # ((T,w,m),(8,k)) : ((1,T,LBO),(wT,SBO))
            at = along % w * 16 + along // w * self.lead + line % 8 * 16 * w + line // 8 * self.stride
        return swizzled(start + at, w)

    def check(self, steps, chunks=2):
        places = set()
        for number in range(steps):
            start = self.step(number, chunks)
            if self.major == "k":
                for line in range(self.lines):
                    for along in range(chunks):
                        place = self.offset(line, number * chunks + along)
                        assert place == self.canonical(start, along, line), (self.name, line, along)
                        places.add(place)
            else:
                for line in range(8 * chunks):
                    for along in range(self.chunks):
                        place = self.offset(8 * chunks * number + line, along)
                        assert place == self.canonical(start, along, line), (self.name, line, along)
                        places.add(place)
        assert len(places) == self.lines * self.chunks, self.name
