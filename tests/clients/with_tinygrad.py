"""Writes PTX modules that tinygrad renders for NVIDIA GPUs. It needs no GPU.

Each expression of tensors becomes one or more kernels, each a module of its own. tinygrad renders
a kernel without opening a device.
"""

import os

# The device is only a name here: the tensors have no memory.
os.environ["DEV"] = "CUDA"
# An optimization search would run kernels, and a cache would keep those of another run.
os.environ["BEAM"] = "0"
os.environ["CACHELEVEL"] = "0"

from tinygrad import Tensor, Variable, dtypes, nn
from tinygrad.codegen import to_program
from tinygrad.helpers import Context, Target
from tinygrad.renderer.ptx import PTXRenderer
from tinygrad.uop.ops import Ops

from modules import Modules, lines, main

FLOATS = [dtypes.half, dtypes.float, dtypes.double]
INTEGERS = [dtypes.int8, dtypes.uint8, dtypes.int16, dtypes.uint16, dtypes.int32, dtypes.uint32, dtypes.int64, dtypes.uint64]
EVERY = [*FLOATS, *INTEGERS, dtypes.bool]
UNARY = lines(
    "exp exp2 log log2 sin cos tan sqrt rsqrt reciprocal sigmoid tanh relu gelu silu softplus erf floor ceil round "
    "trunc abs sign neg square elu celu mish hardswish softsign sinh cosh asinh atanh asin acos atan isnan isinf"
)
BINARY = lines("add sub mul div pow maximum minimum")
COMPARISONS = lines("lt gt le ge eq ne")
BITS = lines("bitwise_and bitwise_or bitwise_xor lshift rshift mod idiv")
REDUCTIONS = lines("sum max min mean prod var std any all argmax argmin logsumexp softmax log_softmax cumsum cumprod cummax")


def rendered(build, **context):
    """A maker that renders the kernels of a function that gives tensors."""

    def make(target):
        # Tensor cores are a part of ptxc's that is missing, so only kernels that ask for them have any.
        with Context(**{"TC": 0, **context}):
            result = build()
            tensors = result if isinstance(result, tuple) else (result,)
            renderer = PTXRenderer(Target(device="CUDA", arch=target))
            texts = {}
            for call in tensors[0].linear_with_vars(*tensors[1:])[0].src:
                # The others are copies between devices and views of memory.
                if call.src[0].op is Ops.SINK:
                    program = to_program(call.src[0], renderer)
                    texts[str(len(texts)) if texts else ""] = program.src[-1].arg.decode()
            if not texts:
                raise RuntimeError("no kernel")
            return texts

    return make


def empty(*shape, dtype=dtypes.float):
    """A tensor without values."""
    return Tensor.empty(*shape, dtype=dtype)


modules = Modules()


def add(name, build, **context):
    """Adds the kernels of a function that gives tensors."""
    modules.add(name, rendered(build, **context))


def elementwise():
    """Functions of single elements, on each type that has them."""
    for kind in FLOATS:
        for name in UNARY:
            add(f"{name} {kind.name}", lambda name=name, kind=kind: getattr(empty(33, 65, dtype=kind), name)())
    for kind in EVERY:
        for name in BINARY:
            add(f"{name} {kind.name}", lambda name=name, kind=kind: getattr(empty(50, 7, dtype=kind), name)(empty(50, 7, dtype=kind)))
        for name in COMPARISONS:
            add(
                f"{name} {kind.name}",
                lambda name=name, kind=kind: getattr(empty(100, dtype=kind), f"__{name}__")(empty(100, dtype=kind)),
            )
        add(
            f"where {kind.name}",
            lambda kind=kind: (empty(64, dtype=dtypes.int) > 3).where(empty(64, dtype=kind), empty(64, dtype=kind)),
        )
        for other in EVERY:
            if other != kind:
                add(f"cast {kind.name} {other.name}", lambda kind=kind, other=other: empty(96, dtype=kind).cast(other))
            if other.itemsize == kind.itemsize and other != kind and dtypes.bool not in (kind, other):
                add(f"bitcast {kind.name} {other.name}", lambda kind=kind, other=other: (empty(96, dtype=kind) + 1).bitcast(other))
    for kind in INTEGERS:
        for name in BITS:
            if "shift" in name:
                shift = "__lshift__" if name == "lshift" else "__rshift__"
                add(f"{name} {kind.name}", lambda shift=shift, kind=kind: getattr(empty(100, dtype=kind), shift)(3))
                continue
            other = {"mod": "__mod__", "idiv": "__floordiv__"}.get(name, name)
            add(
                f"{name} {kind.name}",
                lambda other=other, kind=kind: getattr(empty(100, dtype=kind), other)(empty(100, dtype=kind)),
            )
            if name in ("mod", "idiv"):
                add(f"{name} by 7 {kind.name}", lambda other=other, kind=kind: getattr(empty(100, dtype=kind), other)(7))
    for name in lines("bitwise_not logical_not abs sign neg"):
        add(f"{name} int64", lambda name=name: getattr(empty(100, dtype=dtypes.int64), name)())
    # The series that tinygrad has for devices without these functions.
    for name in lines("exp2 log2 sin cos tan"):
        add(f"series {name}", lambda name=name: getattr(empty(100), name)(), TRANSCENDENTAL=2)
        add(f"series {name} half", lambda name=name: getattr(empty(100, dtype=dtypes.half), name)(), TRANSCENDENTAL=2)
        add(f"series {name} double", lambda name=name: getattr(empty(100, dtype=dtypes.double), name)(), TRANSCENDENTAL=2)


def reductions():
    """Reductions over rows, columns and everything, of small and large tensors."""
    for kind in [dtypes.half, dtypes.float, dtypes.double, dtypes.int, dtypes.int64, dtypes.uint8]:
        for name in REDUCTIONS:
            if kind not in FLOATS and name in lines("mean var std logsumexp softmax log_softmax"):
                continue
            add(f"{name} rows {kind.name}", lambda name=name, kind=kind: getattr(empty(64, 300, dtype=kind), name)(1))
            add(f"{name} columns {kind.name}", lambda name=name, kind=kind: getattr(empty(64, 300, dtype=kind), name)(0))
        for name in lines("sum max min argmax"):
            add(f"{name} all {kind.name}", lambda name=name, kind=kind: getattr(empty(1 << 18, dtype=kind), name)())
    add("sum of a large tensor in groups", lambda: empty(4, 1 << 16).exp().sum(1))
    add("norm of layers", lambda: empty(8, 77, 512).layernorm())
    add("sort", lambda: empty(200).sort()[0])
    add("topk", lambda: empty(4, 64).topk(5)[0])


def products():
    """Products of matrices and convolutions, without tensor cores and with them."""
    for kind in [*FLOATS, dtypes.int, dtypes.int8, dtypes.uint64]:
        for size in [(16, 16, 16), (64, 64, 64), (129, 63, 70), (1, 512, 256), (512, 1, 512)]:
            rows, inner, columns = size
            add(
                f"product {kind.name} {rows} {inner} {columns}",
                lambda kind=kind, r=rows, i=inner, c=columns: empty(r, i, dtype=kind) @ empty(i, c, dtype=kind),
            )
    add("product unoptimized", lambda: empty(70, 50) @ empty(50, 30), NOOPT=1)
    add("batched product", lambda: empty(5, 32, 48) @ empty(5, 48, 16))
    add("product and more", lambda: (empty(64, 64) @ empty(64, 64) + empty(64)).relu().softmax(-1))
    add("product half to float", lambda: empty(64, 64, dtype=dtypes.half).matmul(empty(64, 64, dtype=dtypes.half), dtype=dtypes.float))
    for name, cores in [("half", dtypes.half), ("float", dtypes.float)]:
        add(f"tensor cores {name}", lambda cores=cores: empty(64, 64, dtype=cores) @ empty(64, 64, dtype=cores), TC=1, ALLOW_TF32=1)
    for kind in [dtypes.float, dtypes.half]:
        x = lambda *shape, kind=kind: empty(*shape, dtype=kind)
        add(f"convolution {kind.name}", lambda x=x: x(2, 8, 28, 28).conv2d(x(16, 8, 3, 3), padding=1))
        add(f"convolution strided {kind.name}", lambda x=x: x(1, 3, 64, 64).conv2d(x(8, 3, 7, 7), x(8), stride=2, padding=3))
        add(f"convolution grouped {kind.name}", lambda x=x: x(1, 16, 14, 14).conv2d(x(16, 1, 3, 3), groups=16, dilation=2))
        add(f"convolution transposed {kind.name}", lambda x=x: x(1, 4, 9, 9).conv_transpose2d(x(4, 6, 3, 3), stride=2))
        add(f"pooling {kind.name}", lambda x=x: x(1, 4, 20, 20).max_pool2d((3, 3), stride=2))
        add(f"average {kind.name}", lambda x=x: x(1, 4, 20, 20).avg_pool2d((2, 2)))
    add("winograd", lambda: empty(1, 8, 20, 20).conv2d(empty(8, 8, 3, 3), padding=1), WINO=1)
    add("attention", lambda: empty(1, 4, 32, 16).scaled_dot_product_attention(empty(1, 4, 32, 16), empty(1, 4, 32, 16)))
    add("attention causal", lambda: empty(1, 2, 64, 32).scaled_dot_product_attention(empty(1, 2, 64, 32), empty(1, 2, 64, 32), is_causal=True))


def movement():
    """Views, gathers, and numbers that a kernel makes."""
    add("transposed", lambda: empty(40, 50).T.contiguous())
    add("padded", lambda: empty(10, 10).pad(((1, 2), (3, 4))) * 2)
    add("padded vector", lambda: (empty(4, 4).pad(((0, 0), (0, 4))) + empty(4, 8)).contiguous())
    add("concatenated", lambda: empty(10, 3).cat(empty(10, 5), dim=1))
    add("flipped and strided", lambda: empty(60, 60).flip(1)[::3, 1::2].contiguous())
    add("gathered", lambda: empty(100, 16).gather(0, empty(20, 16, dtype=dtypes.int)))
    add("indexed", lambda: empty(1000, 16)[empty(7, dtype=dtypes.int)])
    add("scattered", lambda: empty(10, 4).scatter(0, empty(3, 4, dtype=dtypes.int), empty(3, 4)))
    add("embedding", lambda: nn.Embedding(100, 32)(empty(2, 8, dtype=dtypes.int)))
    add("counted", lambda: Tensor.arange(1000) + empty(1000))
    add("triangle", lambda: empty(33, 33).triu(1) + empty(33, 33).tril())
    add("one hot", lambda: empty(32, dtype=dtypes.int).one_hot(10).cast(dtypes.int))
    add("eye", lambda: Tensor.eye(17) + empty(17, 17))
    add("interpolated", lambda: empty(1, 2, 9, 9).interpolate((20, 20)))
    add("rolled", lambda: empty(30, 30).roll(5, 1).contiguous())
    add("masked", lambda: empty(16, 16).masked_fill(empty(16, 16, dtype=dtypes.bool), 3.0))
    n = Variable("n", 1, 100)
    add("variable size", lambda: (empty(100)[: n.bind(40)] * 2).sum())
    add("variable offset", lambda: (empty(200)[n.bind(3) : n.bind(3) + 50] + 1).contiguous())
    add("bool stored", lambda: (empty(100) > 0) & (empty(100) < 1) ^ (empty(100) == 0))
    for name in lines("rand randn"):
        add(f"threefry {name}", lambda name=name: getattr(Tensor, name)(100, 7))
    add("threefry half", lambda: Tensor.rand(1000, dtype=dtypes.half))
    add("threefry integers", lambda: Tensor.randint(1000, low=3, high=77))
    add("dropout", lambda: empty(64, 64) * (Tensor.rand(64, 64) > 0.3))


def training():
    """Gradients and steps of optimizers."""

    def step(kind):
        def build():
            layers = [nn.Linear(32, 64), nn.Linear(64, 10)]
            parameters = nn.state.get_parameters(layers)
            for parameter in parameters:
                parameter.assign(empty(*parameter.shape))
            optimizer = kind(parameters, lr=0.01)
            x = layers[1](layers[0](empty(16, 32)).gelu())
            loss = x.sparse_categorical_crossentropy(empty(16, dtype=dtypes.int))
            loss.backward()
            return (loss, *optimizer.schedule_step())

        return build

    for kind in [nn.optim.SGD, nn.optim.Adam, nn.optim.LAMB]:
        add(f"step {kind.__name__}", step(kind), TRAINING=1)
    add("norm of a batch", lambda: nn.BatchNorm(8)(empty(4, 8, 10, 10)), TRAINING=1)
    add("norm of groups", lambda: nn.GroupNorm(2, 8)(empty(4, 8, 10, 10)))
    add("norm by root", lambda: nn.RMSNorm(64)(empty(4, 64)))
    add("recurrent", lambda: nn.LSTMCell(16, 32)(empty(4, 16)))


for family in (elementwise, reductions, products, movement, training):
    family()

if __name__ == "__main__":
    main(modules, stride=23)
