// An interpreter of byte code: every thread runs the same program on other input, and so is soon elsewhere in it.
extern "C" __global__ void vm_run(const unsigned char *code, const int *input, int fuel, int *out)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    int stack[16], depth = 0, at = 0, status = 0, accumulator = input[thread];
    unsigned printed = 0;
    for (;;) {
        if (fuel-- == 0) {
            status = 1;
            break;
        }
        unsigned op = code[at++];
        switch (op) {
        case 0:
            goto halt;
        case 1:
            if (depth == 16) {
                status = 2;
                goto halt;
            }
            stack[depth++] = accumulator;
            break;
        case 2:
            if (depth == 0) {
                out[2 * thread] = -1;
                out[2 * thread + 1] = at;
                return;
            }
            accumulator = stack[--depth];
            break;
        case 3:
            accumulator += (signed char)code[at++];
            break;
        case 4:
            accumulator *= (signed char)code[at++];
            break;
        case 5:
            accumulator >>= 1;
            break;
        case 6:
            if (accumulator & 1)
                at = code[at];
            else
                at++;
            break;
        case 7:
            if (accumulator > 1) {
                at = code[at];
                continue;
            }
            at++;
            break;
        case 8:
            at = code[at];
            continue;
        case 9:
            if (depth < 2) {
                status = 3;
                goto halt;
            }
            depth--;
            accumulator += stack[depth] * 2 - stack[depth - 1];
            // fall through
        case 10:
            printed = printed * 33 + accumulator;
            break;
        default:
            status = op;
            goto halt;
        }
    }
halt:
    out[2 * thread] = accumulator * 4 + status;
    out[2 * thread + 1] = printed + depth * 1000;
}
