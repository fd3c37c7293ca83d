// The components of a graph: in each round, every node takes the smallest label among its own and those of its neighbours,
// until a round changes none. All threads of the grid wait for each other twice in a round.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" __global__ void grid_sync(const unsigned *from, const unsigned *to, unsigned edges, unsigned *labels,
                                     unsigned *other, unsigned nodes, unsigned *changed, unsigned *rounds,
                                     unsigned *seen)
{
    cg::grid_group grid = cg::this_grid();
    unsigned rank = grid.thread_rank(), threads = grid.num_threads();
    for (unsigned node = rank; node < nodes; node += threads)
        labels[node] = node;
    auto token = grid.barrier_arrive();
    // Another thread's label is read after the wait only.
    unsigned opposite = threads - 1 - rank;
    grid.barrier_wait(std::move(token));
    seen[rank] = labels[opposite % nodes];

    unsigned round = 0;
    volatile unsigned *flags = changed;
    bool again;
    do {
        volatile unsigned *flag = flags + round % 3;
        if (rank == threads - 1)
            flags[(round + 1) % 3] = 0;
        for (unsigned node = rank; node < nodes; node += threads)
            other[node] = labels[node];
        grid.sync();
        for (unsigned edge = rank; edge < edges; edge += threads) {
            unsigned a = from[edge], b = to[edge];
            if (labels[a] < labels[b]) {
                atomicMin(&other[b], labels[a]);
                *flag = 1;
            } else if (labels[b] < labels[a]) {
                atomicMin(&other[a], labels[b]);
                *flag = 1;
            }
        }
        grid.sync();
        again = *flag;
        unsigned *next = other;
        other = labels;
        labels = next;
        ++round;
    } while (again);
    if (grid.block_rank() == grid.num_blocks() - 1 && threadIdx.x + threadIdx.y == 0)
        *rounds = round;
    grid.sync();
    seen[rank] ^= labels[opposite % nodes] << 16 | *(volatile unsigned *)rounds;
}
