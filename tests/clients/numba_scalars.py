"""Kernels for Numba: arithmetic on numbers of every type.

`kernels` gives names, functions, signatures and options.
"""

import cmath
import math
import operator

import numpy
from numba import cuda, types
from numba.cuda import fp16, libdevice, libdevicefuncs, ufuncs
from numba.np.numpy_support import from_dtype

from modules import lines

FLOATS = [types.float32, types.float64]
INTEGERS = [types.int8, types.uint8, types.int16, types.uint16, types.int32, types.uint32, types.int64, types.uint64]
COMPLEX = [types.complex64, types.complex128]

MATH = lines(
    "acos acosh asin asinh atan atanh ceil cos cosh degrees erf erfc exp expm1 fabs floor gamma lgamma "
    "log log10 log1p log2 radians sin sinh sqrt tan tanh trunc isfinite isinf isnan"
)
MATH2 = lines("atan2 copysign fmod hypot pow remainder")
OPERATORS = lines("add sub mul truediv floordiv mod pow and_ or_ xor lshift rshift lt le gt ge eq ne")
COMPLEX_FUNCTIONS = lines(
    "acos acosh asin asinh atan atanh cos cosh exp log log10 sin sinh sqrt tan tanh phase isfinite isinf isnan"
)


def of_elements(f, count):
    """A kernel that applies a function to elements of `count` arrays.

    Numba does not take the stubs of `numba.cuda` as values, so a text names them.
    """
    names = ["a", "b", "c", "d"][:count]
    called = f if isinstance(f, str) else "f"
    call = ", ".join(f"{name}[i]" for name in names)
    body = f"    i = cuda.grid(1)\n    if i < out.size:\n        out[i] = {called}({call})\n"
    place = {"cuda": cuda, "f": f}
    exec(f"def kernel(out, {', '.join(names)}):\n{body}", place)
    return place["kernel"]


def unary(f):
    """A kernel that applies a function to each element."""
    return of_elements(f, 1)


def binary(f):
    """A kernel that applies a function to the elements of two arrays."""
    return of_elements(f, 2)


def ternary(f):
    """A kernel that applies a function to the elements of three arrays."""
    return of_elements(f, 3)


def arrays(*elements):
    """The types of one-dimensional arrays."""
    return tuple(element[::1] for element in elements)


def library(name, result, arguments):
    """A kernel that calls a function of libdevice, and its signature."""
    function = getattr(libdevice, name.removeprefix("__nv_"))
    values = [argument.ty for argument in arguments if not argument.is_ptr]
    pointers = [argument.ty for argument in arguments if argument.is_ptr]
    outputs = ([] if result == types.void else [result]) + pointers
    # The number of outputs and of inputs is a part of the text of a function in Python.
    names = [f"x{i}" for i in range(len(values))]
    targets = [f"y{i}" for i in range(len(outputs))]
    call = f"f({', '.join(f'{name}[i]' for name in names)})"
    body = f"    {', '.join(f'{target}[i]' for target in targets)} = {call}\n"
    text = f"def kernel({', '.join(targets + names)}):\n    i = cuda.grid(1)\n{body}"
    place = {"cuda": cuda, "f": function}
    exec(text, place)
    return place["kernel"], arrays(*outputs, *values)


def universal_kernels():
    """A kernel for each loop of each universal function that Numba knows."""
    database = ufuncs.ufunc_db()
    for function in sorted(database, key=lambda function: function.__name__):
        for loop in database[function]:
            inputs, outputs = loop.split("->")
            if len(outputs) > 1 or "m" in inputs.lower():
                continue
            elements = [from_dtype(numpy.dtype(letter)) for letter in outputs + inputs]
            yield f"ufunc {function.__name__} {inputs}", of_elements(function, len(inputs)), arrays(*elements), {}


def half_kernels():
    """Kernels for numbers of 16 bits."""
    half = types.float16
    yield from ((f"half {name}", unary(getattr(fp16, name)), arrays(half, half), {}) for name in lines(
        "hsin hcos hlog hlog10 hlog2 hexp hexp10 hexp2 hsqrt hrsqrt hrcp hceil hfloor hrint htrunc habs hneg"
    ))
    yield from ((f"half {name}", binary(getattr(fp16, name)), arrays(half, half, half), {}) for name in lines(
        "hadd hsub hmul hdiv hmax hmin"
    ))
    yield from ((f"half {name}", binary(getattr(fp16, name)), arrays(types.boolean, half, half), {}) for name in lines(
        "heq hne hge hgt hle hlt"
    ))
    yield "half hfma", ternary(fp16.hfma), arrays(half, half, half, half), {}
    for name in lines("add sub mul truediv lt ge eq ne"):
        yield f"half operator {name}", binary(getattr(operator, name)), arrays(half, half, half), {}
    for other in [*FLOATS, *INTEGERS]:
        yield f"half from {other}", unary(cast(half)), arrays(half, other), {}
        yield f"half to {other}", unary(cast(other)), arrays(other, half), {}
    for name in lines("sqrt log exp sin cos tanh floor fabs trunc"):
        yield f"half math {name}", unary(getattr(math, name)), arrays(half, half), {}


def bfloat_kernels():
    """Kernels for bfloat16 through the bindings of CUDA's header."""
    from numba.cuda import bf16

    single, flag = types.float32, types.boolean

    def one(f):
        def kernel(out, a):
            i = cuda.grid(1)
            out[i] = bf16.bfloat162float(f(bf16.float2bfloat16(a[i])))

        return kernel

    def two(f):
        def kernel(out, a, b):
            i = cuda.grid(1)
            out[i] = bf16.bfloat162float(f(bf16.float2bfloat16(a[i]), bf16.float2bfloat16(b[i])))

        return kernel

    def test(f):
        def kernel(out, a, b):
            i = cuda.grid(1)
            out[i] = f(bf16.float2bfloat16(a[i]), bf16.float2bfloat16(b[i]))

        return kernel

    def three(f):
        def kernel(out, a, b, c):
            i = cuda.grid(1)
            x, y, z = bf16.float2bfloat16(a[i]), bf16.float2bfloat16(b[i]), bf16.float2bfloat16(c[i])
            out[i] = bf16.bfloat162float(f(x, y, z))

        return kernel

    def integers(to, back):
        def kernel(out, a):
            i = cuda.grid(1)
            out[i] = back(to(a[i]))

        return kernel

    for name in lines("habs hneg htrunc hceil hfloor hrint hsqrt hrsqrt hrcp hlog hlog2 hlog10 hcos hsin htanh hexp hexp2 hexp10"):
        yield f"bfloat {name}", one(getattr(bf16, name)), arrays(single, single), {}
    for name in lines("hadd hsub hmul hadd_rn hsub_rn hmul_rn hdiv hadd_sat hsub_sat hmul_sat hmax hmin hmax_nan hmin_nan"):
        yield f"bfloat {name}", two(getattr(bf16, name)), arrays(single, single, single), {}
    for name in lines("heq hne hge hgt hle hlt hequ hneu hgeu hgtu hleu hltu"):
        yield f"bfloat {name}", test(getattr(bf16, name)), arrays(flag, single, single), {}
    for name in lines("hfma hfma_sat hfma_relu"):
        yield f"bfloat {name}", three(getattr(bf16, name)), arrays(single, single, single, single), {"least": "sm_80"}
    kinds = {"int": types.int32, "short": types.int16, "uint": types.uint32, "ushort": types.uint16, "ll": types.int64, "ull": types.uint64}
    for kind, element in kinds.items():
        for rounding in lines("rn rz rd ru"):
            to, back = getattr(bf16, f"{kind}2bfloat16_{rounding}"), getattr(bf16, f"bfloat162{kind}_{rounding}")
            # CUDA's header has these and the fused operations only from sm_80 on.
            yield f"bfloat {kind} {rounding}", integers(to, back), arrays(element, element), {"least": "sm_80"}


def cast(element):
    """A function that converts to a type."""

    def f(x):
        return element(x)

    return cuda.jit(f, device=True)


def split(x):
    """Functions with two results."""
    fraction, exponent = math.frexp(x)
    rest, whole = math.modf(x)
    return math.ldexp(fraction + rest * whole, exponent)


def powers(x):
    """Powers with constant exponents."""
    return x**2 + x**3 + x**7 + x**-1 + x**0.5


def rounded(x):
    """Rounding to integers and to digits."""
    return round(x) + round(x, 2) + int(x) + abs(x) + min(x, x + 1) + max(x, 2 * x)


def parts(z):
    """The parts of a complex number, and its polar form."""
    modulus, angle = cmath.polar(z)
    return cmath.rect(modulus, angle) + complex(z.imag, z.real) + z.conjugate() * abs(z)


def kernels():
    """Names, functions, signatures and options."""
    for kind in FLOATS:
        for name in MATH:
            yield f"math {name} {kind}", unary(getattr(math, name)), arrays(kind, kind), {}
        for name in MATH2:
            yield f"math {name} {kind}", binary(getattr(math, name)), arrays(kind, kind, kind), {}
        for function in (split, powers, rounded):
            yield f"{function.__name__} {kind}", unary(cuda.jit(function, device=True)), arrays(kind, kind), {}
        yield f"math fma {kind}", ternary("cuda.fma"), arrays(kind, kind, kind, kind), {}
        yield f"math cbrt {kind}", unary("cuda.cbrt"), arrays(kind, kind), {}
    yield from universal_kernels()
    for kind in [*INTEGERS, *FLOATS]:
        for name in OPERATORS:
            if kind in FLOATS and name in lines("and_ or_ xor lshift rshift"):
                continue
            result = types.float64 if name in lines("truediv pow") else kind
            yield f"operator {name} {kind}", binary(getattr(operator, name)), arrays(result, kind, kind), {}
    for source in [types.boolean, *INTEGERS, *FLOATS]:
        for result in [types.boolean, *INTEGERS, *FLOATS]:
            if source != result:
                yield f"cast {source} {result}", unary(cast(result)), arrays(result, source), {}
    for kind in COMPLEX:
        for name in COMPLEX_FUNCTIONS:
            result = kind
            if name in lines("phase isfinite isinf isnan"):
                result = types.float64 if name == "phase" else types.boolean
            yield f"complex {name} {kind}", unary(getattr(cmath, name)), arrays(result, kind), {}
        for name in lines("add sub mul truediv pow eq ne"):
            yield f"complex {name} {kind}", binary(getattr(operator, name)), arrays(kind, kind, kind), {}
        yield f"complex parts {kind}", unary(cuda.jit(parts, device=True)), arrays(kind, kind), {}
    for kind in [types.int32, types.int64, types.uint32, types.uint64]:
        for name in lines("popc brev clz ffs"):
            yield f"bits {name} {kind}", unary(f"cuda.{name}"), arrays(kind, kind), {}
        yield f"bits selp {kind}", ternary("cuda.selp"), arrays(kind, types.boolean, kind, kind), {}
    for name, (result, arguments) in libdevicefuncs.functions.items():
        function, signature = library(name, result, arguments)
        yield f"libdevice {name}", function, signature, {}
    yield from half_kernels()
    yield from bfloat_kernels()
