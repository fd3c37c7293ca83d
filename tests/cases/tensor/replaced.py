"""Cases of tensor maps that a kernel changes: python3 replaced.py"""

from kernel import PAINT, Kernel, generator, load
from loads import tensor
from tensors import Map, random_elements

COPY = """
    cvt.u64.u32 rd0, tid;
    setp.lt.u32 p1, tid, 32;
    @!p1 bra COPIED;
    shl.b32 r1, tid, 2;
    mov.u32 r2, data;
    add.u32 r2, r2, r1;
    cvt.u64.u32 rd1, r1;
    add.u64 rd1, %s_at, rd1;
    ld.b32 r3, [rd1];
    st.shared.b32 [r2], r3;
    bar.warp.sync -1;
    setp.ne.u32 p2, tid, 0;
    mov.u32 r2, data;
"""
PUBLISH = """
    bar.warp.sync -1;
    mov.u32 r2, data;
    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [room_at], [r2], 128;
    COPIED:
    bar.sync 0;
    cvta.global.u64 to, room_at;
    fence.proxy.tensormap::generic.acquire.gpu [to], 128;
"""


def run(name, about, given, memory, new, other, fields, boxes, in_memory=False):
    """The first warp copies the map to shared memory, lane 0 replaces fields, and the map goes to the buffer `room`."""
    kernel = Kernel(name, about, 4096, version="8.5", target="sm_90a")
    kernel.buffer("t", memory)
    kernel.map(given, in_memory)
    if new.of != "t":
        kernel.buffer(new.of, other)
        memory = other
    kernel.buffer("room", bytes(128), checked=False)
    shared = bytearray([PAINT]) * kernel.size
    text = ""
    for number, at in enumerate(boxes):
        new.load(memory, shared, at, 1024 * number)
        text += load(new, at, 1024 * number).replace(new.name + "_at", "to")
    kernel.buffer("out", bytes(kernel.size), shared)
    kernel.emit(COPY % given.name)
    for field, values in fields:
        kernel.emit("@!p2 tensormap.replace.tile.%s.shared::cta.b1024.%s [r2], %s;" % (
            field, "b64" if field == "global_address" else "b32", values))
    kernel.emit(PUBLISH)
    # The map's place in shared memory is painted like the rest once it has been copied.
    kernel.paint()
    kernel.start([len(boxes)])
    kernel.once(text)
    kernel.wait()
    kernel.copy_out()
    kernel.write()


def cases():
    name = "tensor_replace"
    rng = generator(name)
    given, memory = tensor(rng, "t", "u32", [30, 9], [16, 4])
    # The same strides, another tensor, of other sizes, read by other boxes.
    new = Map("new", "s", "u32", [27, 7], given.strides, [8, 6])
    other = bytearray(random_elements(rng, "u32", 9 * given.strides[0] // 4))
    run(name, "The address, the sizes and the box of a map in shared memory are replaced; the map goes to global memory and loads "
        "boxes of another tensor.", given, memory, new, other,
        [("global_address", "s_at"), ("global_dim", "0, 27"), ("global_dim", "1, 7"), ("box_dim", "0, 8"), ("box_dim", "1, 6")],
        [[0, 0], [-4, -2], [24, 4], [20, 6]])

    name = "tensor_replace_format"
    rng = generator(name)
    given, memory = tensor(rng, "t", "u32", [32, 12], [32, 6], padding=0)
    new = Map("new", "t", "u16", [60, 12], given.strides, [32, 7], element_strides=[1, 2], swizzle="64B")
    run(name, "The type, the sizes, the box, the traversal stride and the swizzle of a map in global memory are replaced.",
        given, memory, new, None,
        [("elemtype", "1"), ("global_dim", "0, 60"), ("box_dim", "0, 32"), ("box_dim", "1, 7"), ("element_stride", "1, 2"),
         ("swizzle_mode", "2")], [[0, 0], [32, 7], [-8, -1]], in_memory=True)

    name = "tensor_replace_rank"
    rng = generator(name)
    given, memory = tensor(rng, "t", "u8", [48, 5, 4], [16, 3, 2])
    new = Map("new", "t", "u8", [48, 5], given.strides[:1], [16, 3])
    run(name, "The rank of a map is replaced, which takes one less than the rank: a tensor of two dimensions remains.",
        given, memory, new, None, [("rank", "1")], [[0, 0], [-16, 3], [32, 4]])


if __name__ == "__main__":
    cases()
