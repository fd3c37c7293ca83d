// A recursive walk of a binary search tree, then votes of the warp on the results.
struct Node {
    int key, left, right;
};

__device__ __noinline__ int below(const Node *nodes, int at, int low, int high, int depth)
{
    if (at < 0)
        return 0;
    const Node node = nodes[at];
    if (node.key < low)
        return below(nodes, node.right, low, high, depth + 1) + 1;
    if (node.key > high)
        return below(nodes, node.left, low, high, depth + 1) + 1;
    int sum = node.key * depth;
    sum += below(nodes, node.left, low, high, depth + 1);
    if (sum & 4)
        return sum;
    return sum - below(nodes, node.right, low, high, depth + 1);
}

extern "C" __global__ void tree_ballot(const Node *nodes, const int *bounds, unsigned *out)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    int found = below(nodes, 0, bounds[2 * thread], bounds[2 * thread + 1], 1);
    unsigned odd = __ballot_sync(0xffffffffu, found & 1);
    unsigned rank = __popc(odd & ((1u << (thread & 31)) - 1));
    if (found & 1)
        found += below(nodes, 0, bounds[2 * thread + 1] - 10, bounds[2 * thread + 1], 3);
    unsigned large = __ballot_sync(0xffffffffu, found > 100);
    out[3 * thread] = found;
    out[3 * thread + 1] = odd ^ large;
    out[3 * thread + 2] = rank;
}
