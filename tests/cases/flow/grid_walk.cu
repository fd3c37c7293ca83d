// A walk over a grid that follows arrows in nested loops with eight ways out. Some of the ways end the thread at once.
extern "C" __global__ void grid_walk(const unsigned char *grid, int side, unsigned *out)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    int x = thread % side, y = thread * 7 % side;
    unsigned sum = 0, reason = 0, turns = 0;
    for (int round = 0;; round++) {
        if (round == 12) {
            reason = 1;
            break;
        }
        for (int step = 0; step < 24; step++) {
            unsigned cell = grid[y * side + x];
            sum = sum * 5 + cell;
            if (cell == '.')
                continue;
            if (cell == '!') {
                out[thread] = 0xdead0000 | (round << 8) | step;
                return;
            }
            if (cell == '*') {
                reason = 2;
                goto out_of_both;
            }
            if (cell == '#') {
                turns++;
                if (turns > 20) {
                    reason = 3;
                    goto out_of_both;
                }
                break;
            }
            if (cell == '<')
                x--;
            else if (cell == '>')
                x++;
            else if (cell == '^')
                y--;
            else
                y++;
            if (x < 0) {
                reason = 4;
                goto left;
            }
            if (x == side) {
                reason = 5;
                goto left;
            }
            if (y < 0) {
                reason = 6;
                goto left;
            }
            if (y == side) {
                out[thread] = sum & 0xffff;
                return;
            }
        }
        // The next round begins one cell on.
        x = (x + 1 + round % 3) % side;
        y = (y + thread % 2) % side;
    }
out_of_both:
    sum ^= 0x5555;
left:
    out[thread] = sum << 8 | reason;
}
