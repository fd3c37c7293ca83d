"""Cases of im2col copies: python3 columns.py"""

from kernel import FINISH, PAINT, Kernel, generator, load, room, store, strides_of
from tensors import SIZES, Map, random_elements, reduced


def images(rng, name, type, sizes, **rest):
    """A map of images, sizes are C, W, H, D, N; the gaps between pixels' channels, rows and images hold other bytes."""
    result = Map(name + "_map", name, type, sizes, strides_of(sizes, SIZES[type]), **rest)
    memory = bytearray(rng.randrange(1, 256) for _ in range(room(result)))
    for start in range(0, len(memory), result.size):
        memory[start:start + result.size] = random_elements(rng, type, 1)
    return result, memory


def run(name, about, copies, size):
    """Loads: `copies` are (map, memory, [(coordinates, offsets)])."""
    kernel = Kernel(name, about, size)
    shared, text, at, number = bytearray([PAINT]) * size, "", 0, 0
    for map_, memory, boxes in copies:
        kernel.buffer(map_.of, memory)
        kernel.map(map_)
        for coordinates, offsets in boxes:
            map_.load(memory, shared, coordinates, at, offsets)
            text += load(map_, coordinates, at, offsets=offsets, hint=number % 2 == 1)
            at = (at + map_.bytes() + 127) // 128 * 128
            number += 1
    kernel.buffer("out", bytes(size), shared)
    kernel.paint()
    kernel.start([number])
    kernel.once(text)
    kernel.wait()
    kernel.copy_out()
    kernel.write()


def loads():
    rng = generator("im2col_3d")
    # Rows of 10 pixels, a filter of 3 with a padding of 1: its bases are -1 to 8.
    map_, memory = images(rng, "t", "u16", [20, 10, 3], lower=[-1], upper=[-1], channels=8, pixels=17)
    run("tensor_im2col_3d", "im2col of rows of pixels: all filter offsets, starts at the box's ends and inside, channels and images "
        "past the tensor.", [(map_, memory, [([0, -1, 0], [0]), ([8, 3, 1], [1]), ([16, 8, 0], [2]), ([8, 5, 2], [2])])], 1536)

    rng = generator("im2col_4d")
    map_, memory = images(rng, "t", "f32", [8, 7, 5, 3], lower=[-1, -2], upper=[-1, 0], channels=4, pixels=24)
    narrow, narrows = images(rng, "s", "u8", [16, 6, 6, 2], lower=[1, 0], upper=[-2, -3], channels=16, pixels=14)
    run("tensor_im2col_4d", "im2col in two dimensions: columns run over rows and images, with offsets in both dimensions.",
        [(map_, memory, [([0, -1, -2, 0], [0, 0]), ([4, 5, 3, 1], [2, 1]), ([4, 0, 4, 2], [1, 3])]),
         (narrow, narrows, [([0, 1, 0, 0], [0, 0]), ([0, 2, 2, 0], [2, 3])])], 2048)

    rng = generator("im2col_5d")
    map_, memory = images(rng, "t", "f16", [16, 5, 4, 3, 3], lower=[-1, -1, -1], upper=[-1, -1, -1], channels=8, pixels=70)
    run("tensor_im2col_5d", "im2col in three dimensions, with offsets in all three.",
        [(map_, memory, [([0, -1, -1, -1, 0], [0, 0, 0]), ([8, 2, 1, 0, 1], [2, 1, 2]), ([8, 3, 2, 1, 2], [1, 2, 0])])], 4096)

    rng = generator("im2col_strides")
    # Steps of 2 from -1: the bases in a row are -1, 1, 3, 5; of 3 in columns: -1, 2, 5.
    map_, memory = images(rng, "t", "u32", [8, 8, 9, 3], lower=[-1, -1], upper=[-1, -1], channels=4, pixels=20,
                          element_strides=[1, 2, 3, 1])
    uneven, unevens = images(rng, "s", "u32", [4, 10, 3], lower=[0], upper=[-2], channels=4, pixels=9, element_strides=[1, 3, 1])
    run("tensor_im2col_strides", "im2col with traversal strides: a new row starts at the lower corner again; the number of pixels is "
        "that of the map.",
        [(map_, memory, [([0, -1, -1, 0], [0, 0]), ([4, 3, 2, 1], [1, 2]), ([4, 5, 5, 2], [2, 1])]),
         (uneven, unevens, [([0, 0, 0], [0]), ([0, 6, 1], [2])])], 2048)

    rng = generator("im2col_swizzle")
    map_, memory = images(rng, "t", "f16", [40, 6, 5, 2], lower=[-1, -1], upper=[-1, -1], channels=32, pixels=22, swizzle="64B")
    two, twos = images(rng, "s", "bf16", [72, 6, 2], lower=[-1], upper=[-1], channels=64, pixels=9, swizzle="128B")
    run("tensor_im2col_swizzle", "im2col to swizzled shared memory.",
        [(map_, memory, [([0, -1, -1, 0], [0, 0]), ([32, 3, 2, 1], [2, 1])]), (two, twos, [([64, 2, 0], [1])])], 4608)


def stores():
    rng = generator("im2col_store")
    copies = []
    for name, type, sizes, lower, upper, channels, pixels, places in (
            ("a", "u32", [12, 9, 3], [1], [-1], 8, 11, [([0, 1, 0], None), ([8, 4, 1], None), ([0, 6, 2], "add")]),
            ("b", "u16", [16, 6, 5, 3], [0, 1], [-2, -1], 8, 13, [([0, 0, 1, 0], None), ([8, 2, 2, 1], None), ([0, 3, 3, 2], None)]),
            ("c", "s32", [8, 3, 3, 3, 2], [0, 0, 1], [-1, 0, 0], 4, 10, [([0, 0, 0, 1, 0], None), ([4, 1, 2, 2, 1], "max")])):
        map_, memory = images(rng, name, type, sizes, lower=lower, upper=upper, channels=channels, pixels=pixels)
        copies.append((map_, memory, places))
    size = 3072
    kernel = Kernel("tensor_im2col_store", "im2col stores and reductions without offsets: pixels of the bounding box one after "
                    "another; channels and images past the tensor are not written.", size)
    shared, text, at = bytearray(rng.randrange(256) for _ in range(size)), "", 0
    for map_, memory, places in copies:
        after = bytearray(memory)
        for place, operation in places:
            map_.store(after, shared, place, at, reduced(map_.type, operation) if operation else lambda old, new: new)
            text += store(map_, place, at, operation)
            at = (at + map_.bytes() + 127) // 128 * 128
        kernel.buffer(map_.of, memory, after)
        kernel.map(map_)
    kernel.buffer("boxes", shared)
    kernel.fill("boxes")
    kernel.meet()
    kernel.once(text + FINISH)
    kernel.write()


if __name__ == "__main__":
    loads()
    stores()
