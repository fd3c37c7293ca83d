// Insertion into a shared hash table by compare-and-swap, then look-ups that end at once where there is nothing.
extern "C" __global__ void hash_probe(const unsigned *keys, const unsigned *wanted, int count, unsigned *out)
{
    __shared__ unsigned table[256];
    int thread = threadIdx.x;
    for (int index = thread; index < 256; index += blockDim.x)
        table[index] = 0;
    __syncthreads();
    unsigned key = keys[blockIdx.x * blockDim.x + thread];
    if (key != 0) {
        unsigned slot = key * 2654435761u >> 24;
        while (true) {
            unsigned old = atomicCAS(&table[slot], 0, key);
            if (old == 0 || old == key)
                break;
            slot = (slot + 1) & 255;
        }
    }
    __syncthreads();
    int global = blockIdx.x * blockDim.x + thread;
    unsigned found = 0;
    for (int index = 0; index < count; index++) {
        unsigned sought = wanted[global * count + index];
        if (sought == 0) {
            out[global] = 0x80000000u | found << 8 | index;
            return;
        }
        unsigned slot = sought * 2654435761u >> 24;
        for (int tries = 0; tries < 256; tries++) {
            unsigned there = table[slot];
            if (there == 0)
                goto missing;
            if (there == sought) {
                found++;
                break;
            }
            slot = (slot + 1) & 255;
        }
        continue;
    missing:
        if (sought & 0x10000)
            break;
    }
    out[global] = found;
}
