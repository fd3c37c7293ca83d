// Pike's matcher of regular expressions: functions that call each other and return from everywhere.
__device__ int match_here(const char *pattern, const char *text, int depth);

__device__ __noinline__ int match_star(int c, const char *pattern, const char *text, int depth)
{
    do {
        int length = match_here(pattern, text, depth + 1);
        if (length >= 0)
            return length + 1;
    } while (*text != 0 && (*text++ == c || c == '.'));
    return -1;
}

__device__ __noinline__ int match_here(const char *pattern, const char *text, int depth)
{
    if (pattern[0] == 0)
        return depth;
    if (pattern[1] == '*')
        return match_star(pattern[0], pattern + 2, text, depth);
    if (pattern[0] == '$' && pattern[1] == 0)
        return *text == 0 ? depth : -1;
    if (*text != 0 && (pattern[0] == '.' || pattern[0] == *text))
        return match_here(pattern + 1, text + 1, depth + 1);
    return -1;
}

__device__ __noinline__ int match(const char *pattern, const char *text)
{
    if (pattern[0] == '^')
        return match_here(pattern + 1, text, 0);
    int at = 0;
    do {
        int depth = match_here(pattern, text, 0);
        if (depth >= 0)
            return at * 100 + depth;
        at++;
    } while (*text++ != 0);
    return -1;
}

extern "C" __global__ void regex_match(const char *patterns, int pattern_size, const char *texts, int text_size,
                                       int count, unsigned *out)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned sum = 0;
    for (int index = 0; index < count; index++) {
        int found = match(patterns + (thread + index * 5) % 32 * pattern_size, texts + index * text_size);
        unsigned matched = __ballot_sync(0xffffffffu, found >= 0);
        sum = sum * 7 + found + matched;
    }
    out[thread] = sum;
}
