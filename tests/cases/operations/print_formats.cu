// Texts with every conversion, flag, width, precision and size. Each call leaves the number that `printf` returned.
#include <cstdio>

extern "C" __global__ void print_formats(const int *integers, const double *numbers, int *out)
{
    int t = threadIdx.x, i = integers[t];
    unsigned u = i;
    double x = numbers[t];
    long long l = t ? -(1ll << 62) - 3 : 1ll << 40 | 5;
    unsigned long long ul = l;
    const char *s = t ? "a longer text" : "seven";
    // Infinity for the first thread and NaN for the second.
    double special = t ? __longlong_as_double(0x7ff8000000000000) : __longlong_as_double(0x7ff0000000000000);
    short h = short(i * 3 + 0x8000);
    unsigned short uh = h;
    out += 20 * t;
    *out++ = printf("thread %d\n", t);
    *out++ = printf("[%d] [%5d] [%-5d] [%05d] [%+d] [% d] [%i]\n", i, i, i, i, i, i, i);
    *out++ = printf("[%.4d] [%8.3d] [%-8.3d] [%+6d] [%-+6d]\n", i, i, i, i, i);
    *out++ = printf("[%u] [%o] [%x] [%X] [%#x] [%#X] [%#o] [%10x] [%010x] [%-10X]\n", u, u, u, u, u, u, u, u, u, u);
    *out++ = printf("[%#.3o] [%#.0o] [%.0o] [%#5o] [%#05o] [%#15.13o]\n", t, t, t, t, t, u);
    *out++ = printf("[%ld] [%lld] [%llu] [%llx] [%#llo] [%20lld] [%-20lld] [%020llx]\n", (long)l, l, ul, ul, ul, l, l,
                    ul);
    *out++ = printf("[%hd] [%hu] [%hx]\n", h, uh, uh);
    *out++ = printf("[%c] [%c%c] [%3c] [%-3c]\n", 'A' + t, 'B', 'C', 'D', 'E');
    *out++ = printf("[%s] [%15s] [%-15s] [%.3s] [%8.2s] [%s]\n", s, s, s, s, s, "");
    *out++ = printf("[%f] [%.2f] [%10.3f] [%-10.1f] [%+f] [%010.2f] [%.0f] [%#.0f] [% f]\n", x, x, x, x, x, x, x, x, x);
    *out++ = printf("[%e] [%.3e] [%E] [%14.2e] [%-14.2E] [%.0e]\n", x, x, x, x, x, x);
    *out++ = printf("[%g] [%G] [%.3g] [%#g] [%12g] [%g] [%g]\n", x, x, x, x, x, x * 1e9, 100000.0);
    *out++ = printf("[%a] [%A] [%.3a] [%#.0a] [%14a] [%-14A] [%014a] [%+.1a] [% a] [%.15a]\n", x, x, x, x, x, x, x, x,
                    x, x);
    *out++ = printf("[%f] [%e] [%g] [%F] [%8g] [%-8f] [%08f] [%a] [%012A]\n", special, special, special, special,
                    special, special, special, special, special);
    *out++ = printf("[%p] [%20p]\n", (void *)(0x7f0012345678 + t), (void *)(0x10ull + t));
    *out++ = printf("100%% of %d%%\n", i);
    *out++ = printf("[%*d] [%-*d] [%.*f] [%*.*f] [%*s]\n", 9, i, 9, i, 1, x, 11, 3, x, 15, s);
    *out++ = printf("no argument\n");
    int k = t + 1;
    *out++ = printf("%d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d\n", 0,
                    k, 2 * k, 3 * k, 4 * k, 5 * k, 6 * k, 7 * k, 8 * k, 9 * k, 10 * k, 11 * k, 12 * k, 13 * k, 14 * k,
                    15 * k, 16 * k, 17 * k, 18 * k, 19 * k, 20 * k, 21 * k, 22 * k, 23 * k, 24 * k, 25 * k, 26 * k,
                    27 * k, 28 * k, 29 * k, 30 * k, 31 * k);
    *out = printf("%d %f %c %lld %s %g %hd %llx\n", i, x, 'Z', l, s, x, (short)12, ul);
}
