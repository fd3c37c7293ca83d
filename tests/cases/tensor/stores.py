"""Cases of tiled stores and reductions: python3 stores.py"""

from kernel import FINISH, Kernel, generator, load, store
from loads import tensor
from tensors import element, random_elements, reduced


def run(name, about, copies, size=None, version="8.0", grid=1, small=False):
    """Boxes from shared memory: `copies` are (map, memory before, [(operation, coordinates)]). With two CTAs each does all."""
    rng = generator(name + " boxes")
    starts, at = [], 0
    for map_, _, boxes in copies:
        for _ in boxes:
            starts.append(at)
            at = (at + map_.bytes() + 127) // 128 * 128
    size = size or (at + 511) // 512 * 512
    kernel = Kernel(name, about, size, version=version, grid=grid)
    shared, text, number = bytearray(rng.randrange(256) for _ in range(size)), "", 0
    for map_, memory, boxes in copies:
        after = bytearray(memory)
        for operation, box in boxes:
            start = starts[number]
            shared[start:start + map_.bytes()] = random_elements(rng, map_.type, map_.bytes() // map_.size, small)
            if operation in ("inc", "dec"):
                small = [rng.choice([0, 5, 6, 7, 2 ** 32 - 1]) for _ in range(map_.bytes() // 4)]
                shared[start:start + map_.bytes()] = b"".join(element("u32", value) for value in small)
            change = reduced(map_.type, operation) if operation else lambda old, new: new
            for _ in range(grid):
                map_.store(after, shared, box, start, change)
            text += store(map_, box, start, operation, hint=number % 3 == 1, mode=number % 2 == 0)
            number += 1
        kernel.buffer(map_.of, memory, after)
        kernel.map(map_)
    kernel.buffer("boxes", shared)
    kernel.fill("boxes")
    kernel.meet()
    kernel.once(text + FINISH)
    kernel.write()


def stores():
    rng = generator("store")
    copies = []
    for name, type, sizes, box, boxes in (
            ("a", "u32", [37], [16], [[0], [24], [40]]),
            ("b", "f16", [43, 11], [24, 5], [[0, 0], [24, 8], [40, 5], [64, 0]]),
            ("c", "u8", [50, 5, 4], [32, 3, 2], [[0, 1, 1], [32, 4, 3], [48, 0, 0]]),
            ("d", "u64", [9, 4, 3, 3], [4, 3, 2, 2], [[0, 0, 0, 0], [8, 3, 2, 2], [4, 2, 1, 1]]),
            ("e", "s32", [11, 3, 3, 3, 3], [4, 2, 2, 2, 2], [[0, 0, 0, 0, 0], [8, 2, 1, 2, 1]])):
        copies.append(tensor(rng, name, type, sizes, box) + ([(None, box) for box in boxes],))
    run("tensor_store", "Stores of boxes in one to five dimensions; what lies outside the tensor, and the gaps between rows, stay.",
        copies)

    rng = generator("store_swizzle")
    copies = []
    for name, swizzle, type, sizes, box, boxes in (
            ("a", "32B", "u16", [40, 20], [16, 12], [[0, 0], [32, 15]]),
            ("b", "64B", "f32", [24, 8, 3], [16, 5, 2], [[0, 0, 0], [16, 5, 2]]),
            ("c", "128B", "f16", [96, 30], [64, 24], [[0, 0], [64, 17]])):
        copies.append(tensor(rng, name, type, sizes, box, swizzle=swizzle) + ([(None, box) for box in boxes],))
    run("tensor_store_swizzle", "Stores from swizzled shared memory; boxes start at multiples of 128 bytes.", copies)


def reductions():
    rng = generator("reduce_u32")
    map_, memory = tensor(rng, "t", "u32", [19, 5, 8], [12, 4, 1])
    operations = ["add", "min", "max", "inc", "dec", "and", "or", "xor"]
    for plane in (3, 4):  # small numbers, so that inc and dec do all they can
        for row in range(5):
            for x in range(19):
                at = map_.offset([x, row, plane])
                memory[at:at + 4] = element("u32", rng.choice([0, 1, 4, 5, 6, 7, 2 ** 32 - 1]))
    run("tensor_reduce_u32", "Every reduction of u32, one a plane, over the tensor's edges.",
        [(map_, memory, [(operation, [12 * (plane % 2), 2 * (plane // 2 % 2), plane]) for plane, operation in enumerate(operations)])])

    rng = generator("reduce_integers")
    copies = []
    for name, type, operations in (("a", "s32", ["add", "min", "max", "and", "or"]), ("b", "u64", ["add", "min", "max", "and", "xor"]),
                                   ("c", "s64", ["min", "max", "or"])):
        map_, memory = tensor(rng, name, type, [14, 4, len(operations)], [8, 3, 1])
        copies.append((map_, memory, [(operation, [8, 2 * (plane % 2), plane]) for plane, operation in enumerate(operations)]))
    run("tensor_reduce_integers", "Reductions of s32, u64 and s64.", copies)

    floats("tensor_reduce_floats", "Reductions of f16, bf16 and f32; sums are rounded to the nearest even.", False)
    floats("tensor_reduce_subnormal", "Reductions of f16 and bf16 with subnormal numbers and results, which stay.", True)

    rng = generator("reduce_shared")
    map_, memory = tensor(rng, "t", "u64", [10, 6], [4, 4])
    run("tensor_reduce_ctas", "Four CTAs add to the same elements, in boxes that overlap.",
        [(map_, memory, [("add", [0, 0]), ("add", [2, 1]), ("add", [8, 4])])], grid=4)


def floats(name, about, small):
    rng = generator(name)
    copies = []
    for of, type, operations in (("a", "f16", ["add", "min", "max"]), ("b", "bf16", ["add", "min", "max"]), ("c", "f32", ["add"])):
        map_, memory = tensor(rng, of, type, [30, 5, len(operations)], [16, 4, 1], swizzle="32B" if of == "b" else "none", small=small)
        copies.append((map_, memory, [(operation, [16, plane % 2, plane]) for plane, operation in enumerate(operations)]))
    run(name, about, copies, small=small)


def around():
    """A tile goes from one tensor to another by way of shared memory, with other swizzles, turned by the threads."""
    name = "tensor_turn"
    rng = generator(name)
    kernel = Kernel(name, "A tile of 32 by 32 words is loaded, turned by the threads in swizzled shared memory, and stored; two "
                    "groups of stores are committed, and shared memory is used again once the first has been read.", 8192)
    one, ones = tensor(rng, "t", "u32", [40, 40], [32, 32], swizzle="128B")
    two, twos = tensor(rng, "s", "u32", [36, 36], [32, 32], swizzle="128B")
    three, threes = tensor(rng, "z", "u32", [32, 32], [32, 32])
    from_, to = [16, 4], [4, 8]
    kernel.buffer("t", ones)
    kernel.map(one)
    plain = [[0] * 32 for _ in range(32)]
    for row in range(32):
        for column in range(32):
            at = one.offset([from_[0] + column, from_[1] + row])
            plain[row][column] = int.from_bytes(ones[at:at + 4], "little") if at is not None else 0
    for map_, memory, turn, corner in ((two, twos, True, to), (three, threes, False, [0, 0])):
        after = bytearray(memory)
        for row in range(32):
            for column in range(32):
                at = map_.offset([corner[0] + column, corner[1] + row])
                if at is not None:
                    value = plain[column][row] if turn else plain[row][column] + 1 & 0xFFFFFFFF
                    after[at:at + 4] = value.to_bytes(4, "little")
        kernel.buffer(map_.of, memory, after)
        kernel.map(map_)
    kernel.start([1])
    kernel.once(load(one, from_, 0))
    kernel.wait()
    # Word (row, column) is at row * 128 + (column * 4 ^ row % 8 * 16), as the pattern says.
    place = """
        and.b32 r4, %s, 7;
        shl.b32 r4, r4, 4;
        shl.b32 r5, %s, 2;
        xor.b32 r5, r5, r4;
        shl.b32 r4, %s, 7;
        add.u32 r5, r5, r4;
        mov.u32 r4, data;
        add.u32 r5, r5, r4;
    """
    top = kernel.label("TURN")
    kernel.emit("mov.u32 r0, tid;\n%s:\nshr.u32 r1, r0, 5;\nand.b32 r2, r0, 31;" % top)
    kernel.emit(place % ("r1", "r2", "r1") + "ld.shared.b32 r6, [r5];")
    kernel.emit(place % ("r2", "r1", "r2") + "st.shared.b32 [r5+4096], r6;")
    kernel.emit("add.u32 r0, r0, 128;\nsetp.lt.u32 p1, r0, 1024;\n@p1 bra %s;" % top)
    kernel.emit("fence.proxy.async.shared::cta;\nbar.sync 0;")
    kernel.once(store(two, to, 4096) + "cp.async.bulk.commit_group;\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 1;")
    kernel.emit("bar.sync 0;")
    # The plain tile, each word one more, over the tile that has been read.
    top = kernel.label("PLAIN")
    kernel.emit("mov.u32 r0, tid;\n%s:\nshr.u32 r1, r0, 5;\nand.b32 r2, r0, 31;" % top)
    kernel.emit(place % ("r1", "r2", "r1") + "ld.shared.b32 r6, [r5];\nadd.u32 r6, r6, 1;")
    kernel.emit("shl.b32 r7, r0, 2;\nadd.u32 r7, r7, r4;\nst.shared.b32 [r7+4096], r6;")
    kernel.emit("add.u32 r0, r0, 128;\nsetp.lt.u32 p1, r0, 1024;\n@p1 bra %s;" % top)
    kernel.emit("fence.proxy.async.shared::cta;\nbar.sync 0;")
    kernel.once(store(three, [0, 0], 4096, hint=True) + FINISH)
    kernel.write()


if __name__ == "__main__":
    stores()
    reductions()
    around()
