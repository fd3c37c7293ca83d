"""Cases of tiled loads: python3 loads.py"""

from kernel import PAINT, Kernel, coordinates, generator, load, room, set_coordinates, strides_of
from tensors import SIZES, Map, random_elements


def tensor(rng, name, type, sizes, box, padding=16, small=False, **rest):
    """A map and the buffer it describes; the gaps between rows hold other bytes than zero."""
    result = Map(name + "_map", name, type, sizes, strides_of(sizes, SIZES[type], padding), box, **rest)
    memory = bytearray(rng.randrange(1, 256) for _ in range((room(result) + 15) // 16 * 16))
    for place in all_places(sizes):
        at = result.offset(place)
        memory[at:at + result.size] = random_elements(rng, type, 1, small)
    return result, memory


def all_places(sizes):
    if not sizes:
        return [[]]
    return [[x] + rest for rest in all_places(sizes[1:]) for x in range(sizes[0])]


def run(name, about, copies, size=None, in_memory=False, version="8.0", **rest):
    """A kernel that loads boxes one after another in shared memory; `copies` are (map, memory, list of coordinates)."""
    gap = 128
    starts, at = [], 0
    for map_, _, boxes in copies:
        for _ in boxes:
            at = (at + gap - 1) // gap * gap
            starts.append(at)
            at += map_.bytes()
    size = size or (at + 16 + 511) // 512 * 512
    kernel = Kernel(name, about, size, version=version)
    shared = bytearray([PAINT]) * size
    text, number = "", 0
    for map_, memory, boxes in copies:
        kernel.buffer(map_.of, memory)
        kernel.map(map_, in_memory)
        for box in boxes:
            map_.load(memory, shared, box, starts[number])
            text += load(map_, box, starts[number], **rest)
            number += 1
    kernel.buffer("out", bytes(size), shared)
    # One arrival for each box.
    kernel.paint()
    kernel.start([number])
    kernel.once(text)
    kernel.wait()
    kernel.copy_out()
    kernel.write()


def simple():
    rng = generator("load_1d")
    map_, memory = tensor(rng, "t", "u32", [37], [16])
    run("tensor_load_1d", "A row of 37 words by boxes of 16: inside, over both ends, and wholly outside on either side.",
        [(map_, memory, [[0], [-8], [20], [28], [36], [40], [-16], [-4000], [4]])])

    rng = generator("load_2d")
    map_, memory = tensor(rng, "t", "f16", [43, 11], [24, 5])
    run("tensor_load_2d", "f16 in two dimensions: boxes over all four corners and edges, rows with gaps.",
        [(map_, memory, [[-8, -2], [32, -3], [-16, 8], [24, 9], [8, 4], [0, -4], [40, 3], [64, 0], [8, 11]])])

    rng = generator("load_3d")
    map_, memory = tensor(rng, "t", "u8", [50, 5, 4], [32, 3, 2], padding=30)
    run("tensor_load_3d", "Bytes in three dimensions: boxes partly outside in one, two and three dimensions.",
        [(map_, memory, [[0, 0, 0], [-16, -1, -1], [32, 3, 3], [16, 4, -1], [48, 2, 2], [-16, 1, 5]])])

    rng = generator("load_4d")
    map_, memory = tensor(rng, "t", "u64", [9, 4, 3, 3], [4, 3, 2, 2])
    run("tensor_load_4d", "Elements of 8 bytes in four dimensions, partly outside.",
        [(map_, memory, [[0, 0, 0, 0], [-2, -1, -1, -1], [6, 2, 2, 2], [8, 3, 0, 1], [4, -2, 1, -1]])])

    rng = generator("load_5d")
    map_, memory = tensor(rng, "t", "u16", [21, 3, 4, 3, 3], [8, 2, 3, 2, 2])
    run("tensor_load_5d", "Halfwords in five dimensions, partly outside.",
        [(map_, memory, [[0, 0, 0, 0, 0], [-8, -1, -1, -1, -1], [16, 2, 2, 2, 2], [8, 1, -2, 1, 2], [16, -1, 3, -1, 1]])])

    rng = generator("load_unaligned")
    one, ones = tensor(rng, "t", "u8", [70, 4], [16, 3])
    two, twos = tensor(rng, "s", "f32", [19, 3], [8, 2])
    run("tensor_load_unaligned", "First coordinates that are no multiples of 16 bytes.",
        [(one, ones, [[3, 0], [-5, -1], [61, 2], [1, 1]]), (two, twos, [[1, 0], [-3, -1], [14, 2], [7, 1]])])

    rng = generator("load_types")
    copies = []
    for number, type in enumerate(["s32", "s64", "f64", "bf16", "tf32", "f32_ftz", "tf32_ftz"]):
        map_, memory = tensor(rng, "t%d" % number, type, [20, 3], [8, 2])
        copies.append((map_, memory, [[0, 0], [-4, 1], [16, -1]]))
    run("tensor_load_types", "The other types; numbers that neither tf32 nor the flush of subnormals changes.", copies)


def strides():
    rng = generator("load_strides")
    one, ones = tensor(rng, "t", "f32", [20, 17, 6], [8, 7, 5], element_strides=[1, 3, 2])
    two, twos = tensor(rng, "s", "u16", [24, 15], [16, 8], element_strides=[1, 8])
    three, threes = tensor(rng, "z", "u8", [40, 9, 4, 3], [16, 4, 4, 2], element_strides=[1, 2, 1, 2])
    run("tensor_load_strides", "Traversal strides: a box of n elements with the stride s loads ceil(n / s) of them, also over "
        "the edges.",
        [(one, ones, [[0, 0, 0], [-4, -2, -1], [12, 13, 3], [16, -4, 4]]), (two, twos, [[0, 3], [8, -1], [16, 14]]),
         (three, threes, [[0, 0, 0, 0], [-16, -1, 2, 1], [32, 6, -2, -1]])])


def swizzles():
    for swizzle, type, sizes, box, boxes in (
            ("32B", "u16", [40, 20], [16, 12], [[0, 0], [-8, -2], [32, 15]]),
            ("64B", "f32", [24, 8, 3], [16, 5, 2], [[0, 0, 0], [-4, -1, -1], [16, 5, 2]]),
            ("128B", "f16", [96, 30], [64, 24], [[0, 0], [-16, -3], [64, 17]])):
        rng = generator("load_swizzle " + swizzle)
        map_, memory = tensor(rng, "t", type, sizes, box, swizzle=swizzle)
        run("tensor_load_swizzle_" + swizzle.lower(), "Swizzle of %s: boxes that start at the pattern's start and at other "
            "multiples of 128 bytes, partly outside the tensor." % swizzle, [(map_, memory, boxes)])


def not_numbers():
    """The bits of the NaN are not stated: the kernel writes ones instead of any NaN."""
    name = "tensor_load_nan"
    rng = generator(name)
    boxes = [[0, 0], [-8, -1], [16, 2]]
    kernel = Kernel(name, "Elements outside the tensor become NaNs, in f32, f16, bf16 and f64 with a swizzle; the kernel writes "
                    "all ones for a NaN of any bits.", 4096)
    shared, text, starts = bytearray([PAINT]) * kernel.size, "", {}
    for number, (type, swizzle) in enumerate([("f32", "none"), ("f16", "none"), ("bf16", "none"), ("f64", "64B")]):
        map_, memory = tensor(rng, "t%d" % number, type, [22, 4], [8, 3], fill="nan", swizzle=swizzle)
        kernel.buffer(map_.of, memory)
        kernel.map(map_)
        for box, at in enumerate(boxes):
            start = 1024 * number + 256 * box
            map_.load(memory, shared, at, start, fill=b"\xff" * map_.size)
            text += load(map_, at, start)
        starts[type] = 1024 * number
    kernel.buffer("out", bytes(kernel.size), shared)
    kernel.paint()
    kernel.start([12])
    kernel.once(text)
    kernel.wait()
    # Each thread looks at the elements of 8 bytes of every 1024.
    kernel.emit("mov.u32 r1, data;\nshl.b32 r2, tid, 3;\nadd.u32 r1, r1, r2;\ncvt.u64.u32 rd1, r2;\nadd.u64 rd1, rd1, out_at;")
    kernel.emit(".reg .f32 f<2>;\n.reg .f64 d0;")
    kernel.emit("ld.shared.v2.b32 {r3, r4}, [r1];\nmov.b32 f0, r3;\nmov.b32 f1, r4;\nsetp.nan.f32 p1, f0, f0;\n"
                "setp.nan.f32 p2, f1, f1;\nselp.b32 r3, -1, r3, p1;\nselp.b32 r4, -1, r4, p2;\nst.global.v2.b32 [rd1], {r3, r4};")
    for type, at in (("f16", 1024), ("bf16", 2048)):
        kernel.emit("ld.shared.v4.b16 {h0, h1, h2, h3}, [r1+%d];" % at)
        for half in range(4):
            kernel.emit("setp.nan.%s p1, h%d, h%d;\nselp.b16 h%d, -1, h%d, p1;" % (type, half, half, half, half))
        kernel.emit("st.global.v4.b16 [rd1+%d], {h0, h1, h2, h3};" % at)
    kernel.emit("ld.shared.b64 rd2, [r1+3072];\nmov.b64 d0, rd2;\nsetp.nan.f64 p1, d0, d0;\nselp.b64 rd2, -1, rd2, p1;\n"
                "st.global.b64 [rd1+3072], rd2;")
    kernel.write()


def other_forms():
    rng = generator("load_cta")
    one, ones = tensor(rng, "t", "u32", [30, 9], [16, 4])
    two, twos = tensor(rng, "s", "f16", [80, 9], [64, 6], swizzle="128B")
    run("tensor_load_cta", "The destination .shared::cta, with a cache policy.",
        [(one, ones, [[0, 0], [-4, 7], [20, -2]]), (two, twos, [[0, 0], [32, 5]])], version="8.6", space="shared::cta", hint=True)

    rng = generator("load_from_memory")
    one, ones = tensor(rng, "t", "s32", [30, 9], [16, 4])
    two, twos = tensor(rng, "s", "f64", [17], [6])
    run("tensor_load_from_memory", "Tensor maps that lie in global memory, without .tile.",
        [(one, ones, [[0, 0], [-4, 7], [20, -2]]), (two, twos, [[0], [-2], [14]])], in_memory=True, version="8.3", mode=False)


def prefetch():
    name = "tensor_prefetch"
    rng = generator(name)
    kernel = Kernel(name, "Prefetches, also far outside the tensor, change nothing; a load of the same box follows.", 1024)
    map_, memory = tensor(rng, "t", "u32", [30, 9], [16, 4])
    columns = Map("c_map", "t", "u32", [8, 10, 4], [32, 320], lower=[0], upper=[-2], channels=4, pixels=9)
    shared = bytearray([PAINT]) * 1024
    kernel.buffer("t", memory)
    kernel.map(map_)
    kernel.map(columns)
    map_.load(memory, shared, [-4, 6])
    columns.load(memory, shared, [4, 3, 1], 512, [2])
    kernel.buffer("out", bytes(1024), shared)
    kernel.paint()
    kernel.start([2])
    text = "createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 policy, 0.25;\n"
    for at, hint in (([-4, 6], False), ([0, 0], True), ([88, -50], False)):
        text += set_coordinates(at) + "cp.async.bulk.prefetch.tensor.2d.L2.global%s [t_map_at, %s]%s;\n" % (
            ".L2::cache_hint" if hint else ".tile", coordinates(at), ", policy" if hint else "")
    text += "mov.b16 o0, 2;\n" + set_coordinates([4, 3, 1])
    text += "cp.async.bulk.prefetch.tensor.3d.L2.global.im2col [c_map_at, %s], {o0};\n" % coordinates([0, 0, 0])
    text += "cp.async.bulk.prefetch.L2.global [t_at], 64;\n"
    text += load(map_, [-4, 6], 0) + load(columns, [4, 3, 1], 512, offsets=[2])
    kernel.once(text)
    kernel.wait()
    kernel.copy_out()
    kernel.write()


if __name__ == "__main__":
    simple()
    strides()
    swizzles()
    not_numbers()
    other_forms()
    prefetch()
