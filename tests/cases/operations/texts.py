"""The case of texts that a kernel prints, and of the numbers that `vprintf` returns.

The C library of this machine formats the expected text, as the driver does on its host.

    python3 tests/cases/operations/texts.py        # writes tests/cases/print_formats.json
"""

import ctypes
import math

from case import MASK, read, write, written

C = ctypes.CDLL(None)


def formatted(format, *values):
    arguments = []
    for value in values:
        if isinstance(value, float):
            arguments.append(ctypes.c_double(value))
        elif isinstance(value, str):
            arguments.append(ctypes.c_char_p(value.encode()))
        else:
            arguments.append(ctypes.c_longlong(value))
    out = ctypes.create_string_buffer(4096)
    C.snprintf(out, ctypes.c_size_t(4096), format.encode(), *arguments)
    return out.value.decode()


# Two threads; the second one's numbers are negative, large or special.
INTEGERS = [7, -123456]
LONGS = [1 << 40 | 5, -(1 << 62) - 3]
NUMBERS = [2.5, -6.25e-7]
STRINGS = ["seven", "a longer text"]


def lines(t):
    """The calls of a thread: format and arguments."""
    i, l, x, s = INTEGERS[t], LONGS[t], NUMBERS[t], STRINGS[t]
    u, ul = i & MASK, l & (1 << 64) - 1
    special = [math.inf, math.nan][t]
    return [
        ("thread %d\n", t),
        ("[%d] [%5d] [%-5d] [%05d] [%+d] [% d] [%i]\n", i, i, i, i, i, i, i),
        ("[%.4d] [%8.3d] [%-8.3d] [%+6d] [%-+6d]\n", i, i, i, i, i),
        ("[%u] [%o] [%x] [%X] [%#x] [%#X] [%#o] [%10x] [%010x] [%-10X]\n", *[u] * 10),
        ("[%#.3o] [%#.0o] [%.0o] [%#5o] [%#05o] [%#15.13o]\n", t, t, t, t, t, u),
        ("[%ld] [%lld] [%llu] [%llx] [%#llo] [%20lld] [%-20lld] [%020llx]\n", l, l, ul, ul, ul, l, l, ul),
        ("[%hd] [%hu] [%hx]\n", (i * 3 + 0x8000) & MASK, (i * 3 + 0x8000) & MASK, (i * 3 + 0x8000) & MASK),
        ("[%c] [%c%c] [%3c] [%-3c]\n", 65 + t, 66, 67, 68, 69),
        ("[%s] [%15s] [%-15s] [%.3s] [%8.2s] [%s]\n", s, s, s, s, s, ""),
        ("[%f] [%.2f] [%10.3f] [%-10.1f] [%+f] [%010.2f] [%.0f] [%#.0f] [% f]\n", *[x] * 9),
        ("[%e] [%.3e] [%E] [%14.2e] [%-14.2E] [%.0e]\n", *[x] * 6),
        ("[%g] [%G] [%.3g] [%#g] [%12g] [%g] [%g]\n", x, x, x, x, x, x * 1e9, 100000.0),
        ("[%a] [%A] [%.3a] [%#.0a] [%14a] [%-14A] [%014a] [%+.1a] [% a] [%.15a]\n", *[x] * 10),
        ("[%f] [%e] [%g] [%F] [%8g] [%-8f] [%08f] [%a] [%012A]\n", *[special] * 9),
        ("[%p] [%20p]\n", 0x7F0012345678 + t, 0x10 + t),
        ("100%% of %d%%\n", i),
        ("[%*d] [%-*d] [%.*f] [%*.*f] [%*s]\n", 9, i, 9, i, 1, x, 11, 3, x, 15, s),
        ("no argument\n",),
        (" ".join(["%d"] * 32) + "\n", *[n * (t + 1) for n in range(32)]),
        ("%d %f %c %lld %s %g %hd %llx\n", i, x, 90, l, s, x, 12, ul),
    ]


def text():
    return "".join(formatted(*line) for t in range(2) for line in lines(t))


def counts():
    """What `printf` returns: the number of arguments."""
    return [len(line) - 1 for t in range(2) for line in lines(t)]


def print_formats():
    write("print_formats", [read("integers", "s32", INTEGERS), read("numbers", "f64", NUMBERS),
                            written("out", "u32", counts())], block=2, ptx="lit/services/print_formats.ptx",
          printed=text())


if __name__ == "__main__":
    print_formats()
