// The longest earlier match of each position, as in LZ77.
extern "C" __global__ void lz_match(const unsigned char *text, int length, unsigned *out)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    int limit = length - at < 24 ? length - at : 24;
    int best = 2, where = 0;
    if (limit < 3) {
        out[at] = 0;
        return;
    }
    for (int from = at - 1; from >= 0 && at - from <= 64; from--) {
        // A longer match has to agree at the end of the best one.
        if (text[from + best] != text[at + best] || text[from] != text[at])
            continue;
        int same = 1;
        while (same < limit) {
            if (text[from + same] != text[at + same])
                break;
            same++;
        }
        if (same > best) {
            best = same;
            where = at - from;
            if (best == limit)
                break;
        }
    }
    out[at] = where == 0 ? 0 : best << 16 | where;
}
