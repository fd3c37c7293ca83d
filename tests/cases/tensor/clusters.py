"""Cases of copies inside a cluster, and of cp.reduce.async.bulk: python3 clusters.py"""

import struct

from columns import images
from kernel import PAINT, Kernel, coordinates, generator, set_coordinates
from loads import tensor
from tensors import SIZES, element, random_elements, reduced


def expect(bytes, bar=0):
    return "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bars+%d], %d;\n" % (8 * bar, bytes)


def multicast(name, about, cluster, loads, map_, memory, size, grid=None):
    """`loads` are (rank that issues, mask, coordinates, place in shared memory)."""
    grid = grid or cluster
    kernel = Kernel(name, about, size, cluster=cluster, grid=grid, target="sm_90a")
    kernel.buffer(map_.of, memory)
    kernel.map(map_)
    parts = [bytearray([PAINT]) * size for _ in range(cluster)]
    for _, mask, at, start in loads:
        for rank in range(cluster):
            if mask >> rank & 1:
                map_.load(memory, parts[rank], at, start)
    kernel.buffer("out", bytes(size * grid), b"".join(bytes(part) for part in parts) * (grid // cluster))
    kernel.paint()
    kernel.start([1])
    kernel.emit("mov.u32 rank, %cluster_ctarank;")
    text = ""
    for rank in range(cluster):
        awaited = sum(map_.bytes() for _, mask, _, _ in loads if mask >> rank & 1)
        text += "setp.eq.u32 p1, rank, %d;\n@p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bars], %d;\n" % (rank, awaited)
    for number, (rank, mask, at, start) in enumerate(loads):
        hint = number % 2 == 1
        text += "setp.eq.u32 p1, rank, %d;\n" % rank + set_coordinates(at) + "mov.b16 mask, %d;\n" % mask
        text += "createpolicy.fractional.L2::evict_first.b64 policy, 1.0;\n" * hint
        text += ("@p1 cp.async.bulk.tensor.%dd.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster%s "
                 "[data+%d], [%s_at, %s], [bars], mask%s;\n") % (len(at), ".L2::cache_hint" * hint, start, map_.name,
                                                                coordinates(at), ", policy" * hint)
    kernel.once(text)
    kernel.wait()
    kernel.copy_out()
    kernel.meet()
    kernel.write()


def multicasts():
    rng = generator("multicast_2")
    map_, memory = tensor(rng, "t", "f16", [70, 20], [64, 8], swizzle="128B")
    multicast("tensor_multicast_2", "Each CTA of a pair loads one half of a tile for both; two clusters do the same.", 2,
              [(0, 3, [0, 4], 0), (1, 3, [64, 14], 1024)], map_, memory, 2048, grid=4)
    rng = generator("multicast_4")
    map_, memory = tensor(rng, "t", "u32", [30, 9], [16, 4])
    multicast("tensor_multicast_4", "Loads for several CTAs of a cluster of four, by masks that leave out some, also the one that "
              "issues the load.", 4, [(0, 0b1110, [0, 0], 0), (1, 0b0011, [-4, 7], 256), (2, 0b1000, [20, -2], 512),
                                      (3, 0b1111, [4, 4], 768), (3, 0b0101, [16, 2], 1024)], map_, memory, 1536)


def im2col_multicast():
    name = "tensor_multicast_im2col"
    rng = generator(name)
    map_, memory = images(rng, "t", "u16", [16, 6, 5, 2], lower=[-1, -1], upper=[-1, -1], channels=8, pixels=25)
    kernel = Kernel(name, "An im2col load for both CTAs of a pair, issued by the second.", 512, cluster=2, grid=2, target="sm_90a")
    kernel.buffer("t", memory)
    kernel.map(map_)
    shared = bytearray([PAINT]) * 512
    map_.load(memory, shared, [8, 2, 0, 0], 0, [1, 2])
    kernel.buffer("out", bytes(1024), shared * 2)
    kernel.paint()
    kernel.start([1])
    kernel.once(expect(map_.bytes()) + set_coordinates([8, 2, 0, 0]) + """
        mov.u32 rank, %cluster_ctarank;
        setp.eq.u32 p1, rank, 1;
        mov.b16 mask, 3;
        mov.b16 o0, 1;
        mov.b16 o1, 2;
        @p1 cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster"""
                + " [data], [t_map_at, {c0, c1, c2, c3}], [bars], {o0, o1}, mask;")
    kernel.wait()
    kernel.copy_out()
    kernel.meet()
    kernel.write()


def remote():
    """Every CTA loads for the next one: the destination and the barrier are in the other's shared memory."""
    name = "tensor_load_remote"
    rng = generator(name)
    map_, memory = tensor(rng, "t", "u32", [30, 9], [16, 4])
    kernel = Kernel(name, "Every CTA of a cluster of four loads a box to the shared memory of the next, whose barrier counts the "
                    "bytes.", 512, cluster=4, grid=4, target="sm_90a")
    kernel.buffer("t", memory)
    kernel.map(map_)
    parts = [bytearray([PAINT]) * 512 for _ in range(4)]
    for rank in range(4):
        map_.load(memory, parts[(rank + 1) % 4], [8 * rank - 4, 3 * rank - 1], 128)
    kernel.buffer("out", bytes(2048), b"".join(bytes(part) for part in parts))
    kernel.paint()
    kernel.start([1])
    kernel.once(expect(map_.bytes()) + """
        mov.u32 rank, %cluster_ctarank;
        add.u32 r1, rank, 1;
        and.b32 r1, r1, 3;
        mov.u32 r2, data;
        mapa.shared::cluster.u32 there, r2, r1;
        mov.u32 r2, bars;
        mapa.shared::cluster.u32 barrier, r2, r1;
        mad.lo.s32 c0, rank, 8, -4;
        mad.lo.s32 c1, rank, 3, -1;
        cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [there+128], [t_map_at, {c0, c1}], [barrier];
    """)
    kernel.wait()
    kernel.copy_out()
    kernel.meet()
    kernel.write()


def reductions():
    """cp.reduce.async.bulk to the shared memory of another CTA."""
    name = "tensor_bulk_reduce_cluster"
    rng = generator(name)
    operations = [("add", "u32"), ("add", "s32"), ("add", "u64"), ("min", "u32"), ("min", "s32"), ("max", "u32"), ("max", "s32"),
                  ("inc", "u32"), ("dec", "u32"), ("and", "b32"), ("or", "b32"), ("xor", "b32")]
    step, half = 64, 1024
    kernel = Kernel(name, "Reductions from one CTA's shared memory to that of the other, which waits for all the bytes.", 2 * half,
                    cluster=2, grid=2)
    # For each CTA: 1024 bytes of destinations, then 1024 bytes of sources.
    before = bytearray(rng.randrange(256) for _ in range(4 * half))
    for cta in range(2):
        for number, (operation, _) in enumerate(operations):
            if operation in ("inc", "dec"):
                for at in range(number * step, number * step + step, 4):
                    for base in (2 * half * cta, 2 * half * cta + half):
                        before[base + at:base + at + 4] = element("u32", rng.choice([0, 1, 4, 5, 6, 2 ** 32 - 1]))
    after = bytearray(before)
    for cta in range(2):
        target, source = 2 * half * cta, 2 * half * (1 - cta) + half
        for number, (operation, type) in enumerate(operations):
            type = type.replace("b", "u")
            change = reduced(type, operation)
            for at in range(number * step, number * step + step, SIZES[type]):
                old = before[target + at:target + at + SIZES[type]]
                after[target + at:target + at + SIZES[type]] = change(old, before[source + at:source + at + SIZES[type]])
    kernel.buffer("in", before)
    kernel.buffer("out", bytes(4 * half), after)
    kernel.emit("mov.u32 r3, %%ctaid.x;\nmul.wide.u32 rd2, r3, %d;\nadd.u64 in_at, in_at, rd2;" % (2 * half))
    kernel.fill("in")
    kernel.start([1])
    text = expect(step * len(operations)) + """
        mov.u32 rank, %cluster_ctarank;
        xor.b32 r1, rank, 1;
        mov.u32 r2, data;
        mapa.shared::cluster.u32 there, r2, r1;
        mov.u32 r4, bars;
        mapa.shared::cluster.u32 barrier, r4, r1;
    """
    for number, (operation, type) in enumerate(operations):
        text += "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.%s.%s " % (operation, type)
        text += "[there+%d], [data+%d], %d, [barrier];\n" % (number * step, half + number * step, step)
    kernel.once(text)
    kernel.wait()
    kernel.meet()
    kernel.copy_out()
    kernel.write()


def global_reductions():
    """cp.reduce.async.bulk to global memory."""
    name = "tensor_bulk_reduce_global"
    rng = generator(name)
    operations = [("add", "u32"), ("add", "s32"), ("add", "u64"), ("add", "f32"), ("add", "f64"), ("add.noftz", "f16"),
                  ("add.noftz", "bf16"), ("min", "u32"), ("min", "s32"), ("min", "u64"), ("min", "s64"), ("min", "f16"),
                  ("min", "bf16"), ("max", "u32"), ("max", "s32"), ("max", "u64"), ("max", "s64"), ("max", "f16"), ("max", "bf16"),
                  ("inc", "u32"), ("dec", "u32"), ("and", "b32"), ("and", "b64"), ("or", "b32"), ("or", "b64"), ("xor", "b32"),
                  ("xor", "b64")]
    step, size = 80, 2560
    before, source = bytearray(rng.randrange(256) for _ in range(size)), bytearray(rng.randrange(256) for _ in range(size))
    after, text = bytearray(before), ""
    for number, (operation, type) in enumerate(operations):
        at, kind = number * step, type.replace("b", "u") if type in ("b32", "b64") else type
        for data in (before, source):
            values = random_elements(rng, kind, 64 // SIZES[kind], small=True)
            if operation in ("inc", "dec"):
                values = b"".join(element("u32", rng.choice([0, 1, 4, 5, 6, 2 ** 32 - 1])) for _ in range(16))
            if type == "f64":
                values = b"".join(element("f64", rng.randrange(-9999, 9999) / 64) for _ in range(8))
            data[at:at + 64] = values
        change = reduced(kind, operation.split(".")[0]) if type != "f64" else add_doubles
        for place in range(at, at + 64, SIZES[kind]):
            after[place:place + SIZES[kind]] = change(before[place:place + SIZES[kind]], source[place:place + SIZES[kind]])
        hint = number % 4 == 2
        text += "add.u64 to, t_at, %d;\ncp.reduce.async.bulk.global.shared::cta.bulk_group%s.%s.%s [to], [data+%d], 64%s;\n" % (
            at, ".L2::cache_hint" * hint, operation, type, at, ", policy" * hint)
    kernel = Kernel(name, "Reductions of 64 bytes from shared to global memory, with every operation and type; subnormal f16 and bf16 "
                    "stay.", size)
    kernel.buffer("t", before, after)
    kernel.buffer("in", source)
    kernel.fill("in")
    kernel.meet()
    kernel.once("createpolicy.fractional.L2::evict_first.b64 policy, 1.0;\n" + text
                + "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;")
    kernel.write()


def add_doubles(old, new):
    return struct.pack("<d", struct.unpack("<d", old)[0] + struct.unpack("<d", new)[0])


if __name__ == "__main__":
    multicasts()
    im2col_multicast()
    remote()
    reductions()
    global_reductions()
