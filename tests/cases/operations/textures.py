"""The cases of filtered textures, from the formulas of the CUDA C++ Programming Guide, "Texture Fetching".

The guide gives the fraction of a coordinate 8 bits. All coordinates here have fractions of at most 8 bits, and numbers are
short enough that every sum is exact, so that neither the rounding nor the order of the operations matters. Rational
numbers hold them.

    python3 tests/cases/operations/textures.py        # writes tests/cases/NAME.json
"""

import math
import struct
from fractions import Fraction

from case import generator, read, texture, write, written


def texels_of(rng, count, channels=1):
    """Numbers from -8 to 8 with three bits after the point; they fit into a half too."""
    return [tuple(Fraction(rng.randrange(-64, 65), 8) for _ in range(channels)) for _ in range(count)]


def flat(texels):
    return [float(number) for texel in texels for number in texel]


def within(mode, index, size):
    """The index that an address mode makes of one outside, or None for the border."""
    if mode == "border":
        return index if 0 <= index < size else None
    if mode == "wrap":
        return index % size
    if mode == "mirror":
        return min(index % (2 * size), 2 * size - 1 - index % (2 * size))
    return min(max(index, 0), size - 1)


def texel(grid, sizes, modes, indices):
    """A texel of a grid whose first coordinate varies fastest."""
    at = 0
    for mode, index, size in reversed(list(zip(modes, indices, sizes))):
        index = within(mode, index, size)
        if index is None:
            return tuple(Fraction(0) for _ in grid[0])
        at = at * size + index
    return grid[at]


def linear(grid, sizes, modes, place):
    """The mean of the texels around a place, whose coordinates count texels."""
    result = [Fraction(0)] * len(grid[0])
    for corner in range(1 << len(sizes)):
        share, indices = Fraction(1), []
        for axis, coordinate in enumerate(place):
            shifted = Fraction(coordinate) - Fraction(1, 2)
            first = math.floor(shifted)
            fraction = shifted - first
            assert (fraction * 256).denominator == 1
            side = corner >> axis & 1
            share *= fraction if side else 1 - fraction
            indices.append(first + side)
        result = [sum + share * number for sum, number in zip(result, texel(grid, sizes, modes, indices))]
    return tuple(result)


def nearest(grid, sizes, modes, place):
    return texel(grid, sizes, modes, [math.floor(coordinate) for coordinate in place])


def exact(numbers):
    """Floats, if they lose nothing as binary32."""
    floats = [float(number) for number in numbers]
    for number, single in zip(numbers, floats):
        assert Fraction(struct.unpack("<f", struct.pack("<f", single))[0]) == number
    return floats


def fine(rng, low, high, steps):
    """A random multiple of one of `steps`."""
    return Fraction(rng.randrange(low * steps, high * steps + 1), steps)


def texture_modes():
    """Volumes: mirrored, with a border, clamped, and with one mode for each axis."""
    rng = generator("texture_modes")
    sizes = (4, 8, 2)
    count = 4 * 8 * 2
    mirrored, bordered, clamped, mixed = [texels_of(rng, count, channels) for channels in (1, 4, 2, 1)]
    places, out = [], []
    for t in range(32):
        # One coordinate has eight bits after the point and the others four, in units of texels.
        place = [fine(rng, -2 * size, 3 * size, 256 if axis == t % 3 else 16) for axis, size in enumerate(sizes)]
        # Places near the texture, for the modes that have nothing to mix further away.
        near = [fine(rng, -1, size + 1, 256 if axis == t % 3 else 16) for axis, size in enumerate(sizes)]
        normalized = [coordinate / size for coordinate, size in zip(place, sizes)]
        places += exact(normalized) + [0.0] + exact(near) + [0.0]
        out += exact(linear(mirrored, sizes, ["mirror"] * 3, place))
        out += exact(nearest(mirrored, sizes, ["mirror"] * 3, place))
        out += exact(linear(bordered, sizes, ["border"] * 3, near))
        out += exact(linear(clamped, sizes, ["clamp"] * 3, near))
        out += exact(linear(mixed, sizes, ["border", "mirror", "clamp"], place))
        # With whole coordinates, as `tex1Dfetch` reads; the texel is inside.
        out += exact(nearest(mixed, sizes, ["clamp"] * 3, [t % 4, t // 4, t % 2]))
    both = {"filter": "linear", "normalized": True}
    write("texture_modes", [
        texture("mirrored", "3d", sizes, flat(mirrored), sampler={**both, "address": ["mirror"] * 3}),
        texture("mirrored_nearest", "3d", sizes, flat(mirrored), sampler={"normalized": True, "address": ["mirror"] * 3}),
        texture("bordered", "3d", sizes, flat(bordered), "f16", 4, {"filter": "linear", "address": ["border"] * 3}),
        texture("clamped", "3d", sizes, flat(clamped), "f32", 2, {"filter": "linear", "address": ["clamp"] * 3}),
        texture("mixed", "3d", sizes, flat(mixed), sampler={**both, "address": ["border", "mirror", "clamp"]}),
        read("in", "f32", places), written("out", "f32", out)])


def at_level(levels, sizes, modes, place, level, low=0, high=None, mixes=True):
    """Reads at a level of detail: `levels` are the texels of each, and `place` is from 0 to 1."""
    last = Fraction(len(levels) - 1)
    level = min(max(Fraction(level), Fraction(low)), last if high is None else min(last, Fraction(high)))
    if not mixes:
        level = Fraction(math.floor(level + Fraction(1, 2)))
    result = None
    for number, share in ((math.floor(level), 1 - level % 1), (math.floor(level) + 1, level % 1)):
        if share:
            halved = [max(size >> number, 1) for size in sizes]
            part = linear(levels[number], halved, modes, [x * size for x, size in zip(place, halved)])
            part = [share * number for number in part]
            result = part if result is None else [a + b for a, b in zip(result, part)]
    return result


def texture_levels():
    """Layers of planes and of rows, each with four levels, at fractions of levels."""
    rng = generator("texture_levels")
    planes = [[texels_of(rng, size * size) for _ in range(3)] for size in (8, 4, 2, 1)]
    rows = [[texels_of(rng, size, 2) for _ in range(2)] for size in (8, 4, 2, 1)]
    places, layers, out = [], [], []
    for t in range(32):
        place = [fine(rng, -1, 2, 128) for _ in range(2)]
        level = rng.choice([Fraction(-1), Fraction(7), Fraction(2), fine(rng, 0, 3, 16), fine(rng, 0, 3, 16)])
        if (level + Fraction(1, 2)).denominator == 1 and level.denominator == 2:
            level += Fraction(1, 16)  # The guide does not say which of two levels is the nearest.
        layer = rng.randrange(5)
        places += exact(place) + exact([level]) + [0.0]
        layers.append(layer)
        plane = [one[min(layer, 2)] for one in planes]
        modes = ["wrap", "clamp"]
        out += exact(at_level(plane, (8, 8), modes, place, level))
        out += exact(at_level(plane, (8, 8), modes, place, level, Fraction(3, 4), Fraction(9, 4)))
        out += exact(at_level(plane, (8, 8), modes, place, level, mixes=False))
        out += exact(at_level([one[min(layer, 1)] for one in rows], (8,), ["mirror"], place[:1], level))
        # Without a level, the first one.
        out += exact(at_level(plane, (8, 8), modes, place, 0))
    flat_planes, flat_rows = [[number for level in image for layer in level for number in flat(layer)]
                              for image in (planes, rows)]
    both = {"filter": "linear", "normalized": True, "address": ["wrap", "clamp"]}
    write("texture_levels", [
        texture("mixed", "a2d", [8, 8], flat_planes, sampler={**both, "mip_filter": "linear"}, layers=3, levels=4),
        texture("limited", "a2d", [8, 8], flat_planes, layers=3, levels=4,
                sampler={**both, "mip_filter": "linear", "min_level": 0.75, "max_level": 2.25}),
        texture("nearest", "a2d", [8, 8], flat_planes, sampler=both, layers=3, levels=4),
        texture("rows", "a1d", [8], flat_rows, "f16", 2, layers=2, levels=4,
                sampler={"filter": "linear", "mip_filter": "linear", "normalized": True, "address": ["mirror"]}),
        read("in", "f32", places), read("layers", "u32", layers), written("out", "f32", out)])


# The faces of a cube, in the order of the guide: the major axis with its sign, and the directions of s and t.
FACES = [
    ((0, 1), (2, -1), (1, -1)),
    ((0, -1), (2, 1), (1, -1)),
    ((1, 1), (0, 1), (2, 1)),
    ((1, -1), (0, 1), (2, -1)),
    ((2, 1), (0, 1), (1, -1)),
    ((2, -1), (0, -1), (1, -1)),
]


def on_face(direction):
    """The face that a direction meets, and the place there from 0 to 1. No two parts may be equally long."""
    longest = max(range(3), key=lambda axis: abs(direction[axis]))
    for face, ((axis, sign), s, t) in enumerate(FACES):
        if axis == longest and sign * direction[axis] > 0:
            m = abs(direction[axis])
            return face, [(part[1] * direction[part[0]] / m + 1) / 2 for part in (s, t)]
    raise AssertionError("a direction of length zero")


def texture_cube():
    """Cubes: filtered inside of each face, next to edges and corners, in layers with levels.

    A second cube has one number for each octant, so that its texels at an edge are the same on both faces: any choice of
    the face is right there."""
    rng = generator("texture_cube")
    cube = [texels_of(rng, 64) for _ in range(6)]
    layered = [[[texels_of(rng, size * size) for _ in range(6)] for _ in range(2)] for size in (4, 2)]
    octants = texels_of(rng, 8)

    def octant(direction):
        return octants[sum((part > 0) << axis for axis, part in enumerate(direction))]

    corners = []
    for (axis, sign), s, t in FACES:
        for j in range(2):
            for i in range(2):
                direction = [0, 0, 0]
                direction[axis], direction[s[0]], direction[t[0]] = sign, s[1] * (2 * i - 1), t[1] * (2 * j - 1)
                corners.append(octant(direction))
    places, layers, out = [], [], []
    for t in range(32):
        # The longest part is a power of two, so that a compiler may multiply by its reciprocal. The others are close to it
        # as often as not: within half a texel of an edge, or of a corner.
        length = Fraction(rng.choice([1, 2, 4, Fraction(1, 2)]))
        direction = [Fraction(rng.choice([63, -63, rng.randrange(-63, 64)]), 64) for _ in range(3)]
        direction[(t + 1) % 3] = Fraction(rng.choice([255, -255, 254, rng.randrange(-255, 256)]), 256)
        direction[t % 3] = Fraction(rng.choice([-1, 1]))
        direction = [part * length for part in direction]
        level = fine(rng, 0, 1, 4)
        layer = rng.randrange(3)
        face, place = on_face(direction)
        out += exact(linear(cube[face], (8, 8), ["clamp"] * 2, [x * 8 for x in place]))
        out += exact(nearest(cube[face], (8, 8), ["clamp"] * 2, [x * 8 for x in place]))
        sides = [one[min(layer, 1)][face] for one in layered]
        out += exact(at_level(sides, (4, 4), ["clamp"] * 2, place, level))
        # On an edge: two parts are equally long; every fourth time in a corner, all three.
        edge = [Fraction(rng.choice([-1, 1])) * (1 if t % 4 == 0 or n != t % 3 else Fraction(rng.randrange(1, 16), 16))
                for n in range(3)]
        out += exact(octant(edge))
        places += exact(direction) + exact([level]) + exact(edge) + [0.0]
        layers.append(layer)
    both = {"filter": "linear", "normalized": True}
    write("texture_cube", [
        texture("cube", "cube", [8, 8], flat(sum(cube, [])), sampler=both),
        texture("cube_nearest", "cube", [8, 8], flat(sum(cube, [])), sampler={"normalized": True}),
        texture("layered", "acube", [4, 4], [n for level in layered for layer in level for side in layer for n in flat(side)],
                "f16", sampler={**both, "mip_filter": "linear"}, layers=2, levels=2),
        texture("octants", "cube", [2, 2], flat(corners), sampler={"normalized": True}),
        read("in", "f32", places), read("layers", "u32", layers), written("out", "f32", out)])


def gather(grid, sizes, modes, place, component, offset=(0, 0)):
    """One component of four texels, counterclockwise from the lower left, where the second coordinate grows downwards."""
    i, j = [math.floor(x - Fraction(1, 2)) + o for x, o in zip(place, offset)]
    return [texel(grid, sizes, modes, at)[component] for at in ((i, j + 1), (i + 1, j + 1), (i + 1, j), (i, j))]


def texture_gather():
    """Every component of four texels: floats, integers with and without a sign, with an offset, and at a border."""
    rng = generator("texture_gather")
    sizes = (8, 4)
    floats = texels_of(rng, 32, 4)
    integers = [tuple(rng.randrange(1 << 32) for _ in range(4)) for _ in range(32)]
    bytes_ = [tuple(rng.randrange(-128, 128) for _ in range(2)) for _ in range(32)]
    places, out, words = [], [], []
    for t in range(32):
        # Between texels, never on the line where the next four begin.
        place = [fine(rng, -3, size + 3, 16) + Fraction(3, 64) for size in sizes]
        places += exact([x / size for x, size in zip(place, sizes)])
        for component in range(4):
            out += exact(gather(floats, sizes, ("wrap", "mirror"), place, component))
        out += exact(gather(floats, sizes, ("wrap", "mirror"), place, 3, (3, -2)))
        words += gather(integers, sizes, ("border", "clamp"), place, t % 4)
        words += gather(bytes_, sizes, ("clamp", "border"), place, t % 2)
    write("texture_gather", [
        texture("floats", "2d", sizes, flat(floats), "f32", 4, {"normalized": True, "address": ["wrap", "mirror"]}),
        texture("integers", "2d", sizes, [n for one in integers for n in one], "u32", 4,
                {"normalized": True, "address": ["border", "clamp"]}),
        {**texture("bytes", "2d", sizes, [n & 0xFF for one in bytes_ for n in one], "u8", 2,
                   {"normalized": True, "address": ["clamp", "border"]}), "elem": "s8"},
        read("in", "f32", places), written("out", "f32", out), written("words", "u32", [int(n) for n in words])])


if __name__ == "__main__":
    for case in (texture_modes, texture_levels, texture_cube, texture_gather):
        case()
