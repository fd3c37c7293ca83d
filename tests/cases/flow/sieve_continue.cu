// A sieve in shared memory that skips unnecessary work.
extern "C" __global__ void sieve_continue(int limit, unsigned *out)
{
    __shared__ unsigned composite[64];
    __shared__ unsigned total;
    int thread = threadIdx.x;
    composite[thread] = 0;
    if (thread == 0)
        total = 0;
    __syncthreads();
    for (int n = 3 + 2 * thread; n * n < limit; n += 2 * blockDim.x) {
        if (n % 3 == 0 && n != 3)
            continue;
        bool prime = true;
        for (int d = 5; d * d <= n; d += 2) {
            if (d % 3 == 0)
                continue;
            if (n % d == 0) {
                prime = false;
                break;
            }
        }
        if (!prime)
            continue;
        for (int multiple = n * n; multiple < limit; multiple += 2 * n)
            atomicOr(&composite[multiple >> 6], 1u << (multiple >> 1 & 31));
    }
    __syncthreads();
    unsigned mine = 0, twins = 0;
    for (int bit = 0; bit < 32; bit++) {
        int n = thread * 64 + bit * 2 + 1;
        if (n >= limit)
            break;
        if (n == 1 || (composite[thread] >> bit & 1))
            continue;
        mine++;
        int next = n + 2;
        if (next >= limit)
            continue;
        if ((composite[next >> 6] >> (next >> 1 & 31) & 1) == 0)
            twins += n;
    }
    atomicAdd(&total, mine);
    __syncthreads();
    out[2 * thread] = mine << 16 | total;
    out[2 * thread + 1] = twins;
}
