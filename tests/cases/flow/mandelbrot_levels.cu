// Points of the Mandelbrot set in fixed point, several for each thread; loops are left two and three at a time.
extern "C" __global__ void mandelbrot_levels(int width, int rows, int limit, int budget, unsigned *out)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned sum = 0, work = 0, reason = 0;
    for (int row = 0; row < rows; row++) {
        int cy = (row * 2 - rows) * 4096 / rows;
        for (int column = 0; column < 3; column++) {
            int cx = ((thread * 3 + column) % width * 3 - 2 * width) * 4096 / width;
            int x = 0, y = 0, turn = 0;
            for (; turn < limit; turn++) {
                int xx = x * x >> 12, yy = y * y >> 12;
                if (xx + yy > 4 * 4096)
                    break;
                y = (x * y >> 11) + cy;
                x = xx - yy + cx;
                if (++work > budget) {
                    reason = 1;
                    goto out_of_three;
                }
                if (x == 0 && y == 0 && turn > 2) {
                    reason += 0x100;
                    goto next_row;
                }
            }
            sum = sum * 31 + turn;
            if (turn == limit && column == 1)
                goto next_row;
        }
        if ((sum & 0x3f) == 0x15) {
            reason |= 2;
            break;
        }
    next_row:;
    }
    sum ^= 0x1000;
out_of_three:
    out[2 * thread] = sum;
    out[2 * thread + 1] = work << 12 | reason;
}
