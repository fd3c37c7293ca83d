// Structures with padding and with members that have no value yet, copied as a whole, word by word: through arrays that are
// indexed at run time, shared memory and shuffles. Only the members that were written count.
struct Small {
    unsigned char tag;
    unsigned short size;
    unsigned char last;
};

struct Wide {
    char kind;
    double value;
    int count;
};

struct Maybe {
    int value;
    bool has;
};

struct Both {
    Small small;
    Maybe maybe;
    Wide wide;
};

__device__ __noinline__ void make(Both &both, int n)
{
    both.small.tag = n * 7;
    both.small.size = n * 1001;
    both.small.last = n ^ 0x5a;
    both.maybe.has = n % 3 == 0;
    if (both.maybe.has)
        both.maybe.value = n * 11;
    both.wide.kind = n % 5;
    both.wide.value = n * 0.5;
    both.wide.count = -n;
}

__device__ __noinline__ int weigh(const Both &both)
{
    int sum = both.small.tag + 3 * both.small.size + 5 * both.small.last;
    if (both.maybe.has)
        sum += both.maybe.value;
    if (both.wide.kind > 2)
        sum += int(both.wide.value * 4);
    return sum + both.wide.count;
}

__device__ __noinline__ void copy(Both &to, const Both &from)
{
    for (unsigned n = 0; n < sizeof(Both) / 4; n++)
        reinterpret_cast<unsigned *>(&to)[n] = reinterpret_cast<const unsigned *>(&from)[n];
}

template <class T>
__device__ T exchanged(T value, int lane)
{
    union Words {
        T value;
        unsigned words[sizeof(T) / 4];
        __device__ Words() {}
    } own;
    own.value = value;
    for (unsigned &word : own.words)
        word = __shfl_xor_sync(~0u, word, lane);
    return own.value;
}

extern "C" __global__ void padded_copies(const unsigned *order, int *out, int count)
{
    __shared__ Both shared[64];
    int t = threadIdx.x;
    Both own[8];
    for (int n = 0; n < count; n++)
        make(own[n], t + n);
    copy(shared[t], own[order[t] % count]);
    __syncthreads();
    Both other, last;
    copy(other, shared[blockDim.x - 1 - t]);
    copy(own[order[t + blockDim.x] % count], other);
    copy(last, own[order[t] % count]);
    int sum = weigh(other) ^ weigh(last) << 1;
    other = exchanged(other, 1);
    sum += weigh(other) << 2;
    __syncthreads();
    copy(shared[t], t % 2 ? last : other);
    __syncthreads();
    sum ^= weigh(shared[t ^ 3]) << 3;
    out[t] = sum;
}
