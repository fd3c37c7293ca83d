// Collatz sequences that stop for several reasons.
extern "C" __global__ void collatz_breaks(const unsigned *starts, int count, unsigned *out)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned longest = 0, which = 0, peak = 0, stopped = 0;
    for (int index = 0; index < count; index++) {
        unsigned n = starts[thread * count + index], steps = 0;
        if (n == 0)
            continue;
        while (n != 1) {
            if (n & 1) {
                if (n > 50000) {
                    stopped++;
                    break;
                }
                n = 3 * n + 1;
            } else {
                n >>= 1;
            }
            if (n > peak)
                peak = n;
            if (++steps == 100)
                goto next;
        }
        if (steps > longest) {
            longest = steps;
            which = index;
        }
        continue;
    next:
        stopped += 0x100;
        if (stopped >= 0x300)
            break;
    }
    out[2 * thread] = longest << 16 | which << 12 | stopped;
    out[2 * thread + 1] = peak;
}
