"""The case of CTAs that wait for each other at a barrier in global memory.

    python3 tests/cases/operations/grid_barrier.py        # writes tests/cases/grid_scan.json
"""

from itertools import accumulate

from case import MASK, generator, packed, write, written


def grid_scan():
    """The sums of all numbers up to each place; the sums alternate between two buffers, and end in the first."""
    ctas, threads = 4, 64
    count = ctas * threads
    rng = generator("grid_scan")
    values = [rng.getrandbits(32) for _ in range(count)]
    steps, step = [values], 1
    while step < count:
        last = steps[-1]
        steps.append([(n + (last[at - step] if at >= step else 0)) & MASK for at, n in enumerate(last)])
        step *= 2
    sums = [n & MASK for n in accumulate(values)]
    assert steps[-1] == sums and len(steps) % 2
    first = written("values", "u32", sums)
    first["init"] = {"hex": packed("I", values)}
    # Every phase leaves the count at zero; the sense is reversed once in each.
    write("grid_scan", [first, written("other", "u32", steps[-2]), written("barrier", "u32", [0, (len(steps) - 1) % 2]),
                        written("shares", "u32", [sums[count - 1 - at] ^ sums[-1] for at in range(count)])],
          block=threads, grid=ctas)


if __name__ == "__main__":
    grid_scan()
