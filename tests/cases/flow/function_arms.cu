// Lanes of a warp exchange from different functions: one arm exchanges itself, one calls a function that does, one a
// function by its address, and one a function that calls itself.
#define ALL 0xffffffffu

__device__ __noinline__ unsigned direct(unsigned x)
{
    for (int turn = 0; turn < 6; turn++)
        x = x * 3 + __shfl_xor_sync(ALL, x, 1);
    return x;
}

__device__ __noinline__ unsigned plus(unsigned x)
{
    for (int turn = 0; turn < 3; turn++) {
        x += __shfl_xor_sync(ALL, x + turn, 1);
        x ^= __shfl_xor_sync(ALL, x >> 3, 1);
    }
    return x;
}

__device__ __noinline__ unsigned times(unsigned x)
{
    for (int turn = 0; turn < 2; turn++) {
        x *= __shfl_xor_sync(ALL, x, 1) | 1;
        x *= __shfl_xor_sync(ALL, x + 5, 1) | 1;
        x *= __shfl_xor_sync(ALL, x + 9, 1) | 1;
    }
    return x;
}

__device__ unsigned (*const table[2])(unsigned) = {plus, times};

// Exchanges once for each activation.
__device__ __noinline__ unsigned deeper(unsigned x, int depth)
{
    x = x + 7 * __shfl_xor_sync(ALL, x, 1);
    return depth > 0 ? deeper(x + depth, depth - 1) ^ depth : x;
}

extern "C" __global__ void function_arms(const unsigned *input, unsigned *out)
{
    int thread = threadIdx.x;
    unsigned x = input[thread];
    switch (x >> 8 & 7) {
    case 0:
    case 1:
        for (int turn = 0; turn < 6; turn++)
            x = x + 2 * __shfl_xor_sync(ALL, x ^ turn, 1);
        break;
    case 2:
    case 3:
        x = direct(x);
        break;
    case 4:
    case 5:
        x = table[x & 1](x);
        break;
    default:
        x = deeper(x, 5);
    }
    out[thread] = x;
}
