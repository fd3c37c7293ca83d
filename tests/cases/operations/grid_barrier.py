"""The cases of CTAs that wait for each other: at a barrier of their own in global memory, and at that of a cooperative grid.

    python3 tests/cases/operations/grid_barrier.py        # writes tests/cases/grid_scan.json and grid_sync.json
"""

from itertools import accumulate

from case import MASK, generator, packed, read, scalar, write, written


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


def grid_sync():
    """The components of a graph. Each round ends at a barrier, so the number of rounds does not depend on the order."""
    grid, block, nodes = (3, 2), (16, 3), 160
    threads = grid[0] * grid[1] * block[0] * block[1]
    rng = generator("grid_sync")
    edges = []
    for first in range(0, nodes, 40):
        # A component is a path with a few more edges, in random order and direction.
        members = rng.sample(range(first, first + 40), 36)
        pairs = list(zip(members, members[1:])) + [tuple(rng.sample(members, 2)) for _ in range(4)]
        edges += [rng.sample(pair, 2) for pair in pairs]
    rng.shuffle(edges)

    labels, rounds, again = list(range(nodes)), 0, True
    flags = [0, 0, 0]
    while again:
        flags[(rounds + 1) % 3] = 0
        least = list(labels)
        for a, b in edges:
            least[a], least[b] = min(least[a], labels[b]), min(least[b], labels[a])
        again = least != labels
        flags[rounds % 3] |= again
        labels, rounds = least, rounds + 1
    assert rounds > 8 and all(labels[a] == labels[b] for a, b in edges)

    opposite = [(threads - 1 - rank) % nodes for rank in range(threads)]
    write("grid_sync", [read("from", "u32", [a for a, _ in edges]), read("to", "u32", [b for _, b in edges]),
                        scalar("u32", len(edges)), written("labels", "u32", labels), written("other", "u32", labels),
                        scalar("u32", nodes), written("changed", "u32", flags), written("rounds", "u32", [rounds]),
                        written("seen", "u32", [node ^ (labels[node] << 16 | rounds) for node in opposite])],
          block=block, grid=grid, cooperative=True)


if __name__ == "__main__":
    grid_scan()
    grid_sync()
