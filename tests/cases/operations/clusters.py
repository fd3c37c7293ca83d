"""The case of stores and updates in the shared memory of another CTA, which signal an mbarrier there.

    python3 tests/cases/operations/clusters.py        # writes tests/cases/cluster_updates.json
"""

import struct

from case import MASK, generator, read, signed, write, written


def cluster_updates():
    """What the threads of the other CTA of the cluster have sent, and their updates of 14 words that were 100."""
    ctas, threads = 4, 64
    rng = generator("cluster_updates")
    numbers = [rng.getrandbits(32) for _ in range(ctas * threads)]
    values, words = [], []
    for cta in range(ctas):
        sent = numbers[(cta ^ 1) * threads:][:threads]
        for thread, number in enumerate(sent):
            single = [struct.unpack("<I", struct.pack("<f", x))[0] for x in (thread, -float(thread))]
            values += [number, number << 20, (number ^ MASK) | thread << 32, number, single[0] | single[1] << 32,
                       0x3F800000 | 0x40000000 << 32, 0x3FF0000000000000]
        as_signed = [signed(number) for number in sent]
        counted, downwards, every, some, parity = 100, 100, 100, 100, 100
        for thread, number in enumerate(sent):
            counted = 0 if counted >= 150 else counted + 1
            downwards = 70 if downwards == 0 or downwards > 70 else downwards - 1
            every, some, parity = every & number, some | thread, parity ^ number
        # The pair of words at the end begins as 100 and 100.
        wide = (100 | 100 << 32) + sum(number << 20 for number in sent)
        words += [100 + sum(sent), 100 + sum(number ^ MASK for number in sent), min(sent + [100]), min(as_signed + [100]),
                  max(sent + [100]), max(as_signed + [100]), counted, downwards, every, some, parity, 100,
                  wide, wide >> 32]
    write("cluster_updates", [read("in", "u32", numbers), written("values", "u64", values),
                              written("numbers", "u32", words)], block=threads, grid=ctas)


if __name__ == "__main__":
    cluster_updates()
