// Structures by value: a parameter of 64 bytes, arguments of functions that are not inlined, results of 40 bytes. Members of
// arrays are chosen at run time.
struct Table {
    int scale;
    short offsets[6];
    unsigned char codes[12];
    int between;  // instead of padding
    double weights[3];
    long long tail;
};

struct Results {
    long long sum;
    double product;
    int words[4];
    float share;
    short half;
    signed char byte;
    signed char last = 0;  // instead of padding, which nvcc copies although nothing writes it
};
static_assert(sizeof(Table) == 64 && sizeof(Results) == 40);

__device__ __noinline__ Results measure(Table table, unsigned place)
{
    Results results;
    results.sum = table.tail + (long long)place * table.offsets[place % 6];
    results.product = table.weights[place % 3] * table.codes[place % 12];
    for (unsigned n = 0; n < 4; n++)
        results.words[n] = table.offsets[(place + n) % 6] * table.scale;
    results.share = float(table.weights[(place >> 2) % 3] + table.codes[(place >> 4) % 12]);
    results.half = short(table.codes[(place >> 3) % 12] * 257);
    results.byte = (signed char)table.codes[11 - place % 12];
    return results;
}

__device__ __noinline__ Results turn(Results value, unsigned depth)
{
    if (depth == 0)
        return value;
    int first = value.words[0];
    for (unsigned n = 0; n < 3; n++)
        value.words[n] = value.words[n + 1];
    value.words[3] = first;
    value.words[depth % 4] += depth;
    value.product = -value.product;
    Results after = turn(value, depth - 1);
    after.sum += (long long)value.byte * depth;
    after.share += value.words[(depth + 1) % 4] & 3;
    return after;
}

__device__ void store(unsigned *to, const Results &value)
{
    *(long long *)to = value.sum;
    *(double *)(to + 2) = value.product;
    for (unsigned n = 0; n < 4; n++)
        to[4 + n] = value.words[n];
    to[8] = __float_as_uint(value.share);
    to[9] = (unsigned short)value.half | (unsigned)(unsigned char)value.byte << 16;
}

extern "C" __global__ void struct_values(Table table, const unsigned *in, unsigned *out)
{
    unsigned t = threadIdx.x, place = in[t];
    Table own = table;
    own.codes[place % 12] ^= t;
    Results results = measure(own, place);
    Results turned = turn(results, t % 5);
    // 21 words are an odd number, so the members of 8 bytes go through words.
    __align__(8) unsigned words[10];
    store(words, turned);
    out += 21 * t;
    for (unsigned n = 0; n < 10; n++)
        out[n] = words[n];
    store(words, results);
    for (unsigned n = 0; n < 10; n++)
        out[10 + n] = words[n];
    out[20] = table.codes[place % 12] << 8 | own.codes[place % 12];
}
