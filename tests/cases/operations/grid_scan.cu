// A scan over several CTAs that wait for each other at a barrier in global memory. The barrier counts the CTAs that have
// arrived; the last one clears the count and reverses the sense, and the others wait for that.
struct Barrier {
    unsigned count, sense;
};

__device__ void wait_for_grid(Barrier *barrier, unsigned &sense)
{
    sense ^= 1;
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned before, now;
        asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], 1;"
                     : "=r"(before) : "l"(__cvta_generic_to_global(&barrier->count)) : "memory");
        if (before == gridDim.x - 1) {
            asm volatile("st.relaxed.gpu.global.u32 [%0], 0;"
                         : : "l"(__cvta_generic_to_global(&barrier->count)) : "memory");
            asm volatile("st.release.gpu.global.u32 [%0], %1;"
                         : : "l"(__cvta_generic_to_global(&barrier->sense)), "r"(sense) : "memory");
        } else {
            do
                asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                             : "=r"(now) : "l"(__cvta_generic_to_global(&barrier->sense)) : "memory");
            while (now != sense);
        }
    }
    __syncthreads();
}

extern "C" __global__ void grid_scan(unsigned *values, unsigned *other, Barrier *barrier, unsigned *shares)
{
    unsigned at = blockIdx.x * blockDim.x + threadIdx.x, count = gridDim.x * blockDim.x, sense = 0;
    unsigned *from = values, *to = other;
    for (unsigned distance = 1; distance < count; distance *= 2) {
        to[at] = from[at] + (at >= distance ? from[at - distance] : 0);
        wait_for_grid(barrier, sense);
        unsigned *old = from;
        from = to;
        to = old;
    }
    shares[at] = from[count - 1 - at] ^ from[count - 1];
}
