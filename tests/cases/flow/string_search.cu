// A search that returns from the midst of nested loops, in a function of its own.
__device__ __noinline__ int find(const char *text, int length, const char *pattern, int from)
{
    for (int at = from; at < length; at++) {
        for (int index = 0;; index++) {
            char wanted = pattern[index];
            if (wanted == 0)
                return at;
            if (at + index >= length)
                return -1;
            char found = text[at + index];
            if (wanted == '?')
                continue;
            if (wanted == '*') {
                if (found == ' ')
                    return -2 - index;
                continue;
            }
            if (found != wanted)
                break;
        }
    }
    return -1;
}

extern "C" __global__ void string_search(const char *text, int length, const char *patterns, int size, int *out)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    const char *pattern = patterns + thread * size;
    int found = 0, last = -1, from = 0;
    while (true) {
        int at = find(text, length, pattern, from);
        if (at == -1)
            break;
        if (at < 0) {
            last = at;
            from += 1 - at;
            continue;
        }
        found++;
        last = at;
        from = at + 1;
        if (found == 5)
            break;
    }
    int most = found;
    for (int offset = 16; offset > 0; offset >>= 1) {
        int other = __shfl_down_sync(0xffffffffu, most, offset);
        most = other > most ? other : most;
    }
    most = __shfl_sync(0xffffffffu, most, 0);
    out[3 * thread] = found;
    out[3 * thread + 1] = last;
    out[3 * thread + 2] = most;
}
