"""Kernels for Numba: the language. Control flow, functions, tuples, exceptions, printing."""

import enum
import math
from collections import namedtuple

import numpy
from numba import cuda, types

FACTORS = (1.5, 2.5, -3.0)
Point = namedtuple("Point", ["x", "y", "weight"])


class Colour(enum.IntEnum):
    """An enumeration, which Numba treats as integers."""

    RED = 1
    GREEN = 5
    BLUE = 9


@cuda.jit(device=True, inline="never")
def outlined(x, y):
    """A function that stays a function."""
    return math.sqrt(x * x + y * y)


@cuda.jit(device=True, inline="never")
def several(x, n):
    """A function with a tuple as its result."""
    return x + n, x * n, n > 3, (x, n)


@cuda.jit(device=True)
def fibonacci(n):
    """A function that calls itself."""
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


@cuda.jit(device=True, inline="never")
def filled(a, value):
    """A function that gets an array."""
    for i in range(a.shape[0]):
        a[i] = value + i
    return a.shape[0]


@cuda.jit(device=True, inline="never")
def many(a, b, c, d, e, f, g, h, i, j, k, l):
    """A function with more parameters than fit into registers of a usual convention."""
    return a + b * c - d + e * f + g / (h + 1.0) + i + j + k - l


def calls(out, a):
    """Calls of the functions above."""
    i = cuda.grid(1)
    total, scaled, large, (x, n) = several(a[i], i)
    if large:
        total += scaled * x + n
    out[i] = outlined(total, scaled) + many(a[i], x, n, i, 1.0, 2, 3, x, i, n, total, scaled)


def calls_with_arrays(out):
    """Arrays of each thread as arguments."""
    own = cuda.local.array(12, types.float32)
    n = filled(own, 2.0)
    n += filled(own[3:9], 7.0)
    out[cuda.grid(1)] = own[n % 12]


def recursive(out):
    """Recursion."""
    i = cuda.grid(1)
    out[i] = fibonacci(i % 10)


def prints(a, n):
    """Printing of values of every kind."""
    i = cuda.grid(1)
    print("thread", i, "of", cuda.blockIdx.x)
    print(a[i], n, a[i] > 0, a[i] * 2.5)
    if n > 100:
        print("text only")
        print()


def prints_wide(a, b, c):
    """Printing of integers of 64 bits, of small integers, and of many values."""
    i = cuda.grid(1)
    print(a[i], b[i], c[i])
    print(a[i], b[i], c[i], a[0], b[0], c[0], "and", a[1], b[1], c[1], i, "end")


def asserts(a, n):
    """An assertion, which Numba checks in debug mode."""
    i = cuda.grid(1)
    assert a[i] < n
    assert n > 3, "too small"
    a[i] += 1


def raises(a, n):
    """Exceptions with arguments."""
    i = cuda.grid(1)
    if n == 3:
        raise ValueError("three")
    if n == 4:
        raise RuntimeError(17, "text")
    a[i] = 10 // n + 10 % n


def tests_bounds(a, b):
    """Divisions by zero, and indices that may be wrong."""
    i = cuda.grid(1)
    a[i] = a[i + 1] / b[-1] + a[i] % b[i]


def loops(out, a, n):
    """Loops with breaks, continues and an else."""
    i = cuda.grid(1)
    total = 0
    for k in range(n):
        if a[k] == 3:
            continue
        if a[k] == 17:
            break
        for m in range(k, 0, -2):
            total += a[m] * k
            if total > 1000:
                break
    else:
        total = -1
    while total % 7 != 0 and total < 5000:
        total += a[total % a.size] + 1
    out[i] = total


def branches(out, a):
    """A chain of conditions, and conditional expressions."""
    i = cuda.grid(1)
    v = a[i]
    if v == 0:
        r = 11
    elif v == 1:
        r = -4
    elif v in (2, 5, 9):
        r = v << 3
    elif 10 < v < 20 or v == 33:
        r = v if v % 2 == 0 else 7
    else:
        r = not v
    out[i] = r


def gives_back(out, a):
    """Several ends of a kernel."""
    i = cuda.grid(1)
    if i >= out.size:
        return
    if a[i] < 0:
        out[i] = 0
        return
    out[i] = a[i]


def tuples(out, a, point, pair):
    """Tuples: arguments, constants, loops over them, swaps."""
    i = cuda.grid(1)
    x, y = pair
    x, y = y, x
    for factor in FACTORS:
        x = x * factor + y
    for value in (1, 2, i):
        y += value
    out[i] = x + y + point.x * point.weight + point[1] + len(pair) + a[i]


def named_tuples(out, a):
    """Tuples with names that a kernel makes."""
    i = cuda.grid(1)
    p = Point(a[i], i, 2.0)
    q = Point(p.y, p.x, p.weight + 1)
    out[i] = p.x * q.weight + q.y


def enumerations(out, a):
    """Enumerations."""
    i = cuda.grid(1)
    if a[i] == Colour.GREEN:
        out[i] = Colour.BLUE
    else:
        out[i] = a[i] + Colour.RED


def iterators(out, a):
    """Iterators that Numba knows."""
    i = cuda.grid(1)
    total = 0.0
    for k, v in enumerate(a):
        total += k * v
    for v, w in zip(a[1:], a):
        total -= v * w
    for j in range(2, 20, 3):
        total += j
    out[i] = total


def escapes(out, n):
    """The set of Mandelbrot."""
    x, y = cuda.grid(2)
    c = complex(x / 100.0 - 2, y / 100.0 - 1)
    z = 0.0j
    for k in range(n):
        z = z * z + c
        if z.real * z.real + z.imag * z.imag >= 4:
            out[x, y] = k
            return
    out[x, y] = n


def dates(out, a, b):
    """Dates and differences of dates."""
    i = cuda.grid(1)
    out[i] = a[i] - b[i]
    if a[i] > b[i]:
        out[i] = out[i] * 2


def whole_arrays(out, a, b):
    """Universal functions on arrays of each thread."""
    i = cuda.grid(1)
    own = cuda.local.array(4, types.float64)
    for k in range(4):
        own[k] = a[i + k]
    numpy.sin(own, own)
    numpy.arctan2(own, own, own)
    out[i] = own[i % 4] + b[i]


def shadowed(out, flag):
    """A variable whose type changes."""
    v = 1
    if flag:
        v = 2.5
    out[cuda.grid(1)] = v


def debugger(a):
    """A breakpoint for a debugger."""
    if a[0] == 3:
        breakpoint()
    a[0] = 1


def series(spot, strike, years, call):
    """The formula of Black and Scholes for one option; a function of the C convention."""
    root = math.sqrt(years)
    d = (math.log(spot / strike) + 0.5 * years) / root
    price = spot * 0.5 * math.erfc(-d) - strike * math.exp(-years) * math.erfc(root - d)
    return price if call else -price


def pair_of_results(x, y):
    """A function of the C convention with a structure as its result."""
    return x + y, x * y, x > y


def array_argument(a, i):
    """A function of the C convention that gets an array."""
    return a[i] + a.size


external = cuda.declare_device("client_external", types.float64(types.float64, types.int32))
external_pointer = cuda.declare_device("client_pointer", types.int32(types.CPointer(types.float32), types.uint8))


def calls_external(out, a):
    """Calls of functions of another module."""
    i = cuda.grid(1)
    out[i] = external(a[i], i)


def kernels():
    """Names, functions, signatures and options."""
    single, double, whole = types.float32[::1], types.float64[::1], types.int32[::1]
    point = types.NamedUniTuple(types.float64, 3, Point)
    list_ = [
        ("calls", calls, (double, double)),
        ("calls with arrays", calls_with_arrays, (single,)),
        ("recursive", recursive, (types.int64[::1],)),
        ("prints", prints, (single, types.int32)),
        ("prints wide", prints_wide, (types.int64[::1], types.uint8[::1], types.uint64[::1])),
        ("asserts", asserts, (whole, types.int32)),
        ("raises", raises, (whole, types.int32)),
        ("bounds", tests_bounds, (single, single)),
        ("loops", loops, (whole, whole, types.int32)),
        ("branches", branches, (whole, whole)),
        ("gives back", gives_back, (single, single)),
        ("tuples", tuples, (double, single, point, types.UniTuple(types.float32, 2))),
        ("mixed tuples", tuples, (double, single, point, types.Tuple((types.int8, types.float64)))),
        ("named tuples", named_tuples, (double, double)),
        ("enumerations", enumerations, (whole, whole)),
        ("iterators", iterators, (double, double)),
        ("escapes", escapes, (types.uint16[:, ::1], types.int32)),
        ("dates", dates, (types.NPTimedelta("s")[::1], types.NPDatetime("s")[::1], types.NPDatetime("s")[::1])),
        ("whole arrays", whole_arrays, (double, double, double)),
        ("shadowed", shadowed, (double, types.boolean)),
        ("debugger", debugger, (whole,)),
        ("external", calls_external, (double, double)),
    ]
    variants = [{}, {"debug": True, "opt": False}, {"lineinfo": True}, {"fastmath": True, "launch_bounds": 128}]
    for name, function, signature in list_:
        for number, options in enumerate(variants):
            # The first one without options gets one of these sets from the caller.
            yield f"{name} {number}", function, signature, options or {"opt": True}
    number = types.float64
    yield "device series", series, number(number, number, number, types.boolean), {"device": True}
    yield "device pair", pair_of_results, (types.float32, types.float32), {"device": True, "abi": "numba"}
    yield "device array", array_argument, (double, types.int64), {"device": True, "abi": "numba"}
    # A division may raise an exception in debug mode, which the C convention does not have.
    yield "device array debug", array_argument, (double, types.int64), {"device": True, "abi": "numba", "debug": True, "opt": False}
