// Both arms of a branch exchange with all lanes of the warp, so no lane waits in one arm for lanes
// that have left the other: whole warps execute the loop that follows.
extern "C" __global__ void both_arms(const unsigned *input, unsigned *out, unsigned count)
{
    unsigned x = input[threadIdx.x], sum = 0;
    if (x & 16) {
        x = __shfl_xor_sync(0xffffffffu, x, 1) * 3;
        if (x & 1)
            sum = x >> 7;
    } else {
        x += 5;
        x = __shfl_xor_sync(0xffffffffu, x, 1) ^ 0x55;
    }
    for (unsigned i = 0; i < count; i++) {
        sum = sum * 1664525u + x;
        x ^= sum >> 13;
        if (x & 64)
            x += i * (sum & 0xff);
    }
    out[threadIdx.x] = sum + x;
}
