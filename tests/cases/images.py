"""Writes the cases of textures and surfaces, with results computed from the formulas of the CUDA C++ Programming
Guide, "Texture Fetching", and of the PTX ISA. It shares no code with ptxc.

    python3 tests/cases/images.py
"""

import json
import math
import os
import random
import struct

HERE = os.path.dirname(os.path.abspath(__file__))


def f32(number):
    return struct.unpack("<f", struct.pack("<f", number))[0]


def outside(mode, index, size):
    """The index of the texel that stands for another one; None for the border."""
    if mode == "clamp":
        return min(max(index, 0), size - 1)
    if mode == "wrap":
        return index % size
    if mode == "mirror":
        index %= 2 * size
        return index if index < size else 2 * size - 1 - index
    return index if 0 <= index < size else None


class Texture:
    def __init__(self, sizes, texels, linear=False, address=(), normalized=False):
        self.sizes, self.texels, self.linear, self.normalized = sizes, texels, linear, normalized
        self.address = [mode if normalized or mode not in ("wrap", "mirror") else "clamp" for mode in address]
        self.address += ["clamp"] * (3 - len(self.address))

    def at(self, indices):
        """A texel, as a tuple of numbers; the first coordinate varies fastest."""
        number, step = 0, 1
        for axis, index in enumerate(indices):
            index = outside(self.address[axis], index, self.sizes[axis])
            if index is None:
                return tuple(0.0 for _ in self.texels[0])
            number += index * step
            step *= self.sizes[axis]
        return self.texels[number]

    def sample(self, place, offset=(0, 0, 0)):
        scaled = [x * (size if self.normalized else 1) for x, size in zip(place, self.sizes)]
        if not self.linear:
            return self.at([math.floor(x) + o for x, o in zip(scaled, offset)])
        axes = []
        for x, o in zip(scaled, offset):
            x -= 0.5
            fraction = math.floor((x - math.floor(x)) * 256 + 0.5) / 256
            axes.append((math.floor(x) + o, fraction))
        sums = [0.0] * len(self.texels[0])
        for corner in range(1 << len(axes)):
            weight, indices = 1.0, []
            for axis, (index, fraction) in enumerate(axes):
                side = corner >> axis & 1
                weight *= fraction if side else 1 - fraction
                indices.append(index + side)
            sums = [s + weight * t for s, t in zip(sums, self.at(indices))]
        return tuple(sums)

    def gather(self, place, component):
        i, j = [math.floor(x * (size if self.normalized else 1) - 0.5) for x, size in zip(place, self.sizes)]
        return [self.at(at)[component] for at in ((i, j + 1), (i + 1, j + 1), (i + 1, j), (i, j))]


def hex_of(format, numbers):
    return {"hex": struct.pack("<%d%s" % (len(numbers), format), *numbers).hex()}


def write(name, ptx, entry, args, block=32, **rest):
    case = {"ptx": os.path.normpath("lit/image/" + ptx), "entry": entry, "grid": [1, 1, 1], "block": [block, 1, 1], "dynamic_smem": 0,
            "args": args, **rest}
    with open(os.path.join(HERE, name + ".json"), "w") as file:
        json.dump(case, file, indent=1)
        file.write("\n")


def buffer(name, elem, init, expect=None, tolerance="exact"):
    return {"kind": "buffer", "name": name, "elem": elem, "init": init, "expect": expect, "tolerance": tolerance}


def image(name, shape, size, elem, channels, init, expect=None, **rest):
    return {"kind": "image", "name": name, "shape": shape, "size": size, "elem": elem, "channels": channels,
            "init": init, "expect": expect, "tolerance": "exact", **rest}


def linear():
    chance = random.Random(1)
    width, height = 6, 5
    data = [chance.randrange(256) for _ in range(width * height * 4)]
    texels = [tuple(f32(v / 255) for v in data[n:n + 4]) for n in range(0, len(data), 4)]
    texture = Texture([width, height], texels, True, ("wrap", "mirror"), True)
    places = [(f32(chance.uniform(-2, 2)), f32(chance.uniform(-2, 2))) for _ in range(32)]
    out = []
    for thread, place in enumerate(places):
        x, y = thread >> 2, thread & 3
        inside = x < width and y < height
        out += list(texture.sample(place)) + (list(texels[y * width + x]) if inside else [0.0] * 4)
    sampler = {"filter": "linear", "address": ["wrap", "mirror"], "normalized": True}
    write("texture_linear", "texture_linear.ptx", "linear", [
        image("t", "2d", [width, height], "u8", 4, hex_of("B", data), normalized=True, sampler=sampler),
        buffer("in", "f32", hex_of("f", [x for place in places for x in place])),
        buffer("out", "f32", {"zeros": 1024}, hex_of("f", [f32(x) for x in out]), {"abs": 1e-7, "rel": 1e-6})])


def face_of(x, y, z):
    """The table of the guide: face, m, s, t."""
    if abs(x) >= abs(y) and abs(x) >= abs(z):
        return (0, x, -z, -y) if x >= 0 else (1, -x, z, -y)
    if abs(y) >= abs(z):
        return (2, y, x, z) if y >= 0 else (3, -y, x, -z)
    return (4, z, x, -y) if z >= 0 else (5, -z, -x, -y)


def shapes():
    chance = random.Random(2)
    numbers = lambda count: [chance.randrange(-64, 64) / 8 for _ in range(count)]
    single = lambda values: [(value,) for value in values]
    volume, rows, planes = numbers(4 * 3 * 5), numbers(6 * 5), numbers(4 * 4 * 3)
    levels = [numbers(6 * size * size) for size in (8, 4, 2, 1)]
    places = []
    for thread in range(32):
        # One part of the direction is a power of two, so that its reciprocal is exact.
        longest = chance.choice([1.0, -1.0, 2.0, -2.0])
        parts = [chance.randrange(-255, 256) / 256 * abs(longest) for _ in range(3)]
        parts[thread % 3] = longest
        places.append(tuple(parts) + (chance.choice([-1.0, 0.0, 0.25, 1.5, 1.75, 3.0, 7.0]),))
    out = []
    for thread, (x, y, z, level) in enumerate(places):
        out.append(Texture([4, 3, 5], single(volume), True, ("wrap", "wrap", "mirror"), True).sample((x, y, z))[0])
        layer = min(thread & 7, 4)
        out.append(Texture([6], single(rows[layer * 6:layer * 6 + 6]), False, ("border",)).sample((x,))[0])
        face, m, s, t = face_of(x, y, z)
        at = ((s / m + 1) / 2, (t / m + 1) / 2)
        level = min(max(level, 0.0), 3.0)
        mixed = 0.0
        for number, share in ((math.floor(level), 1 - level % 1), (math.floor(level) + 1, level % 1)):
            if share:
                size = 8 >> number
                texels = levels[number][face * size * size:(face + 1) * size * size]
                mixed += share * Texture([size, size], single(texels), True, (), True).sample(at)[0]
        out.append(mixed)
        layer = min(thread & 7, 2)
        plane = Texture([4, 4], single(planes[layer * 16:layer * 16 + 16]), True, ("mirror", "clamp"))
        out.append(plane.sample((x, y), (1, -2))[0])
        out += plane.gather((x, y), 0)
    both = {"filter": "linear", "address": ["wrap", "wrap", "mirror"], "normalized": True}
    mixes = {"filter": "linear", "mip_filter": "linear", "normalized": True}
    write("texture_shapes", "texture_shapes.ptx", "shapes", [
        image("volume", "3d", [4, 3, 5], "f32", 1, hex_of("f", volume), sampler=both),
        image("rows", "a1d", [6], "f16", 1, hex_of("e", rows), layers=5, sampler={"address": ["border"]}),
        image("cube", "cube", [8, 8], "f32", 1, hex_of("f", sum(levels, [])), levels=4, sampler=mixes),
        image("planes", "a2d", [4, 4], "f32", 1, hex_of("f", planes), layers=3,
              sampler={"filter": "linear", "address": ["mirror", "clamp"]}),
        buffer("in", "f32", hex_of("f", [x for place in places for x in place])),
        buffer("out", "f32", {"zeros": 1024}, hex_of("f", [f32(x) for x in out]))])


def surfaces():
    chance = random.Random(3)
    plane = [chance.randrange(1 << 16) for _ in range(6 * 9 * 2)]
    layers = [chance.randrange(1 << 32) for _ in range(14 * 3 * 2)]
    row = [chance.randrange(256) for _ in range(20 * 4)]
    words = [-10, -20, 5, -31, 1000]
    out, layers_after, row_after, words_after = [], list(layers), list(row), list(words)
    for thread in range(32):
        x = min(max(8 * (thread - 2), 0), 24 - 8)
        start = (thread // 4) * 12 + x // 2
        halves = plane[start:start + 4][::-1]
        out += [halves[0] | halves[1] << 16, halves[2] | halves[3] << 16, 6, 3]
        x = 2 * thread // 4
        if x < 14:
            layers_after[((thread & 1) * 3 + 1) * 14 + x] = thread
        x = thread - 3
        if 0 <= x < 20:
            share = thread / 32
            row_after[4 * x:4 * x + 4] = [min(thread, 1) * 255, round(share * 255), 0, 255]
        words_after[thread & 3] = max(words_after[thread & 3], -thread)
        words_after[4] += thread
    write("surface_access", "surface_access.ptx", "access", [
        image("plane", "2d", [6, 9], "f16", 2, hex_of("H", plane), hex_of("H", plane)),
        image("layers", "a2d", [14, 3], "u32", 1, hex_of("I", layers), hex_of("I", layers_after), layers=2),
        image("row", "1d", [20], "u8", 4, hex_of("B", row), hex_of("B", row_after), normalized=True),
        image("words", "1d", [5], "s32", 1, hex_of("i", words), hex_of("i", words_after)),
        buffer("out", "u32", {"zeros": 512}, hex_of("I", out))])


def handles():
    chance = random.Random(4)
    images = [[chance.randrange(1 << 32) for _ in range(width)] for width in (40, 12, 20)]
    after, read, loaded = [list(texels) for texels in images], [], []
    for thread in range(32):
        which = (0, 2, 1)[thread % 3]
        texels = images[which]
        value = texels[thread] if thread < len(texels) else 0
        read.append(value)
        value = (value + 100) % (1 << 32)
        after[which][thread // 3] = value
        loaded.append(value)
    # Places of the first loads may be written by other lanes, so the textures are apart from the surfaces' places.
    args = [image(name, "1d", [len(texels)], "u32", 1, hex_of("I", texels), hex_of("I", new), sampler={})
            for name, texels, new in zip("abc", images, after)]
    write("image_handles", "handles.ptx", "handles",
          args + [buffer("out", "u32", {"zeros": 256}, hex_of("I", read + loaded))])


def levels_of(chance, shape, count):
    """The texels of each level of a texture, whose sizes halve, and all of them in one list."""
    levels = []
    for number in range(count):
        size = [max(width >> number, 1) for width in shape]
        levels.append((size, [(chance.randrange(-64, 64) / 8,) for _ in range(math.prod(size))]))
    return levels


def level_of(changes):
    """The level for changes of the place in texels, or None close to the border of two levels."""
    longest = max(math.hypot(*change) for change in changes)
    level = math.log2(longest) if longest else -32.0
    return None if abs(level % 1 - 0.5) < 0.02 else level


def cube_level(face, sizes, direction, gradients):
    """The level of the cube: derivatives of the quotients of the guide's table."""
    def parts(x, y, z):
        return ((x, -z, -y), (-x, z, -y), (y, x, z), (-y, x, -z), (z, x, -y), (-z, -x, -y))[face]
    m, s, t = parts(*direction)
    changes = []
    for gradient in gradients:
        dm, ds, dt = parts(*gradient)
        changes.append([size / 2 * (d * m - c * dm) / m ** 2 for size, c, d in zip(sizes, (s, t), (ds, dt))])
    return level_of(changes)


def gradients():
    chance = random.Random(5)
    volume = levels_of(chance, (8, 4, 8), 4)
    faces = [[levels_of(chance, (8, 8), 4) for _ in range(6)] for _ in range(3)]
    row = [chance.randrange(-64, 64) / 8 for _ in range(24)]
    inputs, out = [], []
    while len(out) < 32 * 4:
        thread = len(out) // 4
        place = [chance.randrange(-256, 256) / 128 for _ in range(3)]
        longest = chance.choice([1.0, -1.0, 2.0, -2.0])
        direction = [chance.randrange(-255, 256) / 256 * abs(longest) for _ in range(3)]
        direction[thread % 3] = longest
        scale = 2.0 ** chance.randrange(-6, 2)
        changes = [[f32(chance.uniform(-scale, scale)) for _ in range(3)] for _ in range(2)]
        level = level_of([[d * size for d, size in zip(change, (8, 4, 8))] for change in changes])
        face, m, s, t = face_of(*direction)
        in_face = cube_level(face, (8, 8), direction, changes)
        if level is None or in_face is None:
            continue
        nearest = lambda level: math.floor(min(max(level, 0.0), 3.0) + 0.5)
        size, texels = volume[nearest(level)]
        out.append(Texture(size, texels, True, ("wrap", "mirror", "clamp"), True).sample(place)[0])
        at = ((s / m + 1) / 2, (t / m + 1) / 2)
        # The last two cubes are the layers of an array.
        for cube in (faces[0], faces[1 + (thread & 1)]):
            size, texels = cube[face][nearest(in_face)]
            out.append(Texture(size, texels, True, (), True).sample(at)[0])
        out.append(row[thread] if thread < 24 else 0.0)
        for part in [place, direction] + changes:
            inputs += list(part) + [0.0]
    flat = lambda levels: [texel[0] for _, texels in levels for texel in texels]
    by_level = lambda cubes: [texel[0] for number in range(4) for cube in cubes for face in cube
                              for texel in face[number][1]]
    sampler = {"filter": "linear", "mip_filter": "nearest", "normalized": True}
    write("texture_gradients", "texture_gradients.ptx", "gradients", [
        image("volume", "3d", [8, 4, 8], "f32", 1, hex_of("f", flat(volume)), levels=4,
              sampler={**sampler, "address": ["wrap", "mirror", "clamp"]}),
        image("cube", "cube", [8, 8], "f32", 1, hex_of("f", by_level(faces[:1])), levels=4, sampler=sampler),
        image("cubes", "acube", [8, 8], "f32", 1, hex_of("f", by_level(faces[1:])), levels=4, layers=2,
              sampler=sampler),
        image("row", "1d", [24], "f32", 1, hex_of("f", row), sampler={"address": ["border"]}),
        buffer("in", "f32", hex_of("f", inputs)),
        buffer("out", "f32", {"zeros": 512}, hex_of("f", [f32(x) for x in out]))])


def functions():
    chance = random.Random(6)
    images = [[chance.randrange(1 << 32) for _ in range(width)] for width in (40, 36, 48)]
    after, out = [list(texels) for texels in images], []
    for thread in range(32):
        which = (0, 2, 1)[thread % 3]
        read = images[which][thread]
        # Lanes of one arm read twice, the others store first.
        if thread & 1:
            out.append((read + images[which][(thread + 1) % 32]) % (1 << 32))
        else:
            after[which][thread] = (read + 100) % (1 << 32)
            out.append(after[which][thread])
        out.append(len(images[which]))
    args = [image(name, "1d", [len(texels)], "u32", 1, hex_of("I", texels), hex_of("I", new), sampler={})
            for name, texels, new in zip("abc", images, after)]
    # Lanes that store write only texels that no other lane reads.
    write("image_functions", "functions.ptx", "functions",
          args + [buffer("out", "u32", {"zeros": 256}, hex_of("I", out))])


def names():
    chance = random.Random(7)
    texels, bytes_of = [[chance.randrange(1 << 32) for _ in range(32)] for _ in range(2)]
    out = []
    for thread in range(32):
        # The kernel reads the texture by name and by an address, the function by name.
        read = texels[thread] + texels[31 - thread] + texels[thread ^ 1]
        out += [read % (1 << 32), bytes_of[thread]]
    after = [(word + thread) % (1 << 32) for thread, word in enumerate(bytes_of)]
    # As one file, and as two that are linked.
    for name, ptx in (("image_names", "named_functions.ptx"), ("../linked/images", "../linking/images.ptx")):
        write(name, ptx, "kernel", [buffer("out", "u32", {"zeros": 256}, hex_of("I", out))], images=[
            image("t", "1d", [32], "u32", 1, hex_of("I", texels), sampler={}),
            image("s", "1d", [32], "u32", 1, hex_of("I", bytes_of), hex_of("I", after))])

    parameter = [chance.randrange(1 << 32) for _ in range(32)]
    out = [(own - texel + word) % (1 << 32) for own, texel, word in zip(parameter, texels, bytes_of)]
    write("../linked/images-parameter", "../linking/images.ptx", "by_parameter", [
        image("p", "1d", [32], "u32", 1, hex_of("I", parameter), sampler={}),
        buffer("out", "u32", {"zeros": 128}, hex_of("I", out))], images=[
        image("t", "1d", [32], "u32", 1, hex_of("I", texels), sampler={}),
        image("s", "1d", [32], "u32", 1, hex_of("I", bytes_of), hex_of("I", after))])


linear()
shapes()
surfaces()
handles()
gradients()
functions()
names()
