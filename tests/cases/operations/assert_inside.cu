// An assertion in a function that some threads call. The number that may not occur is a parameter.
#include <cassert>

__device__ __noinline__ unsigned checked(unsigned value, unsigned forbidden)
{
    assert(value != forbidden && "the number is forbidden");
    return value * 2;
}

extern "C" __global__ void assert_inside(unsigned *out, unsigned forbidden)
{
    unsigned at = blockIdx.x * blockDim.x + threadIdx.x, value = at;
    if (at % 2)
        value = checked(at, forbidden);
    out[at] = value;
}
