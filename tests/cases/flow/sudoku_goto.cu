// Counts the solutions of small Sudokus (4 by 4) by backtracking with jumps.
extern "C" __global__ void sudoku_goto(const unsigned char *boards, int limit, unsigned *out)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned char board[16];
    unsigned row[4] = {0, 0, 0, 0}, column[4] = {0, 0, 0, 0}, box[4] = {0, 0, 0, 0};
    unsigned given = 0, solutions = 0, first = 0, steps = 0;
    int cell, value;
    for (cell = 0; cell < 16; cell++) {
        value = boards[thread * 16 + cell];
        board[cell] = value;
        if (value == 0)
            continue;
        unsigned bit = 1u << value;
        if ((row[cell >> 2] | column[cell & 3] | box[(cell >> 3) * 2 + (cell >> 1 & 1)]) & bit) {
            out[3 * thread] = 0xffffffffu;
            out[3 * thread + 1] = cell;
            out[3 * thread + 2] = 0;
            return;
        }
        given |= 1u << cell;
        row[cell >> 2] |= bit;
        column[cell & 3] |= bit;
        box[(cell >> 3) * 2 + (cell >> 1 & 1)] |= bit;
    }
    cell = 0;

forward:
    if (cell == 16)
        goto solved;
    if (given >> cell & 1) {
        cell++;
        goto forward;
    }
    value = 0;

next:
    if (++steps > limit)
        goto give_up;
    value++;
    if (value > 4) {
        board[cell] = 0;
        goto back;
    }
    if ((row[cell >> 2] | column[cell & 3] | box[(cell >> 3) * 2 + (cell >> 1 & 1)]) >> value & 1)
        goto next;
    board[cell] = value;
    row[cell >> 2] |= 1u << value;
    column[cell & 3] |= 1u << value;
    box[(cell >> 3) * 2 + (cell >> 1 & 1)] |= 1u << value;
    cell++;
    goto forward;

solved:
    solutions++;
    if (solutions == 1) {
        for (int index = 0; index < 16; index++)
            first = first * 4 + board[index] - 1;
    }

back:
    do {
        if (cell == 0)
            goto give_up;
        cell--;
    } while (given >> cell & 1);
    value = board[cell];
    row[cell >> 2] &= ~(1u << value);
    column[cell & 3] &= ~(1u << value);
    box[(cell >> 3) * 2 + (cell >> 1 & 1)] &= ~(1u << value);
    goto next;

give_up:
    out[3 * thread] = solutions;
    out[3 * thread + 1] = first;
    out[3 * thread + 2] = steps;
}
