// Memory that functions take from the stack as they run, beside arguments and results that do not fit into registers.
#include <alloca.h>

struct Many {
    int a[100];
};

__device__ __noinline__ int weigh(const int *p, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) sum += p[i] * (i + 1);
    return sum;
}

__device__ __noinline__ int ends(Many many, int i) { return many.a[i] + 3 * many.a[99 - i]; }

__device__ __noinline__ Many multiples(int x) {
    Many many;
    for (int i = 0; i < 100; i++) many.a[i] = x * i;
    return many;
}

// Each call has memory of another size, which its callees must leave alone.
__device__ __noinline__ int nested(int depth, int seed) {
    int *own = static_cast<int *>(alloca((depth + 1) * sizeof(int)));
    for (int i = 0; i <= depth; i++) own[i] = seed + i;
    int below = depth > 0 ? nested(depth - 1, seed * 3 + 1) : 0;
    return weigh(own, depth + 1) + below;
}

extern "C" __global__ void stack_moves(int *out, int n) {
    int t = threadIdx.x, length = t % 7 + 1;
    int *own = static_cast<int *>(alloca(length * sizeof(int)));
    for (int i = 0; i < length; i++) own[i] = t * 10 + i;
    int result = weigh(own, length) + nested(t % 5, t);
    result += ends(multiples(t + n), t % 50) * 7;
    result += weigh(own, length) * 3;
    int *last = static_cast<int *>(alloca(64));
    last[t % 16] = result;
    out[t] = last[t % 16] + (t % 3 ? nested(2, t) : 0);
}
