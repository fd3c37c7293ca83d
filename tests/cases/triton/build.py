"""Compiles kernels of Triton without a GPU, and writes execution cases of them.

`compile_kernel` runs Triton's compiler up to PTX. A module of this folder has a list `CASES`; each `Case`
is a kernel with its types and constants, a launch, and arrays of numpy with the expected results.
"""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from triton import knobs
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, make_backend

FOLDER = Path(__file__).resolve().parent
# The version of PTX that Triton states. Without it Triton asks a ptxas of its own.
PTX_VERSION = 87
# numpy has no bfloat16 and no floats of 8 bits, so their bits are in arrays of integers.
ELEMENTS = {"float16": "f16", "float32": "f32", "float64": "f64", "int8": "s8", "uint8": "u8"}
ELEMENTS |= {"int16": "s16", "uint16": "u16", "int32": "s32", "uint32": "u32", "int64": "s64", "uint64": "u64"}
SCALARS = {"i1": "s8", "i8": "s8", "i16": "s16", "i32": "s32", "i64": "s64", "u32": "u32", "u64": "u64", "fp32": "f32", "fp64": "f64"}
MAP_TYPES = {"fp16": "f16", "bf16": "bf16", "fp32": "f32", "fp8e4nv": "u8", "fp8e5": "u8", "i8": "u8", "u8": "u8", "i32": "s32"}
BYTES = {"fp16": 2, "bf16": 2, "fp32": 4, "fp8e4nv": 1, "fp8e5": 1, "i8": 1, "u8": 1, "i32": 4}
SWIZZLES = ["none", "32B", "64B", "128B"]


def compile_kernel(kernel, types, constants, capability, lines=False, **options):
    """The PTX and the metadata of a kernel. `types` has the types of the parameters that are not
    constants, in order; `:16` after an integer states a multiple of 16. Pointers are aligned to 16."""
    types = types.split() if isinstance(types, str) else list(types)
    names = [name for name in kernel.arg_names if name not in constants]
    if len(names) != len(types):
        raise ValueError(f"{kernel.__name__}: {len(types)} types for {len(names)} parameters {names}")
    by_name = dict(zip(names, types))
    signature, attributes = {}, {}
    for index, name in enumerate(kernel.arg_names):
        kind = by_name.get(name, "constexpr")
        if kind.startswith("*") or kind.endswith(":16"):
            attributes[(index,)] = [["tt.divisibility", 16]]
        signature[name] = kind.removesuffix(":16")
    target = GPUTarget("cuda", capability, 32)
    backend = make_backend(target)
    settings = backend.parse_options({"ptx_version": PTX_VERSION, "enable_fp_fusion": True, **options})
    knobs.compilation.disable_line_info = not lines
    source = ASTSource(kernel, signature, constants, attributes)
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    generators, modules = backend.get_codegen_implementation(settings), backend.get_module_map()
    module = source.make_ir(target, settings, generators, modules, context)
    stages, metadata = {}, {**settings.__dict__}
    backend.add_stages(stages, settings, source.language)
    for name in ("ttir", "ttgir", "llir", "ptx"):
        module = stages[name](module, metadata)
    return module, metadata


@dataclass
class Case:
    """A kernel and a launch. The keys of `arguments` are the names of its parameters."""

    kernel: object
    types: str
    constants: dict
    grid: tuple
    arguments: dict
    expected: dict
    name: str = ""
    capabilities: tuple = (80,)
    tolerance: tuple = ()
    options: dict = field(default_factory=dict)

    def title(self, capability):
        """The name of the case for a target."""
        name = self.name or self.kernel.__name__
        return f"triton_{name}" + ("_sm90a" if capability == 90 else "")

    def ptx(self, capability, **more):
        """The PTX and the metadata."""
        return compile_kernel(self.kernel, self.types, self.constants, capability, **{**self.options, **more})


@dataclass
class Tensor:
    """An argument that describes the tensor in a buffer. The buffer is an argument `of` as well: the
    kernel does not use it, but a case has no other memory."""

    of: str
    kind: str


def bf16(array):
    """The bits of the nearest bfloat16s; ties to even."""
    bits = np.asarray(array, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(bits):
    """The values of bfloat16s."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def float8(bits, exponent_bits):
    """The values of floats of 8 bits with 4 (bias 7) or 5 (bias 15) bits of exponent; no infinities or NaNs."""
    bits, mantissa_bits = np.asarray(bits, np.uint8).astype(np.int64), 7 - exponent_bits
    exponent = (bits & 0x7F) >> mantissa_bits
    mantissa = bits & ((1 << mantissa_bits) - 1)
    whole = np.where(exponent > 0, mantissa + (1 << mantissa_bits), mantissa).astype(np.float32)
    power = np.maximum(exponent, 1) - (2 ** (exponent_bits - 1) - 1) - mantissa_bits
    return np.where(bits & 0x80, -1, 1).astype(np.float32) * np.ldexp(whole, power).astype(np.float32)


def content(array):
    """The bytes of an array, as a case has them."""
    data = np.ascontiguousarray(array).tobytes()
    return {"hex": data.hex()} if any(data) else {"zeros": len(data)}


def buffer(name, array, kind, expected, tolerance):
    """An argument that is a buffer."""
    elem = "bf16" if kind == "bf16" else ELEMENTS[array.dtype.name]
    argument = {"kind": "buffer", "name": name, "elem": elem, "init": content(array), "expect": None, "tolerance": "exact"}
    if expected is not None:
        if expected.dtype != array.dtype or expected.size != array.size:
            raise ValueError(f"{name}: {expected.dtype}[{expected.size}] instead of {array.dtype}[{array.size}]")
        argument["expect"] = content(expected)
        if tolerance and elem in ("f16", "bf16", "f32", "f64"):
            argument["tolerance"] = {"abs": tolerance[0], "rel": tolerance[1]}
    return argument


def tensor_arguments(name, tensor, shape, meta):
    """A map, the sizes and the strides of a tensor."""
    strides = [int(np.prod(shape[i + 1 :], dtype=np.int64)) for i in range(len(shape))]
    size = BYTES[tensor.kind]
    yield {
        "kind": "tensor_map", "name": name, "of": tensor.of, "mode": "tiled", "type": MAP_TYPES[tensor.kind],
        "sizes": list(shape[::-1]), "strides": [stride * size for stride in strides[:-1]][::-1],
        "box": meta["block_size"][::-1], "element_strides": [1] * len(shape), "interleave": "none",
        "swizzle": SWIZZLES[meta["swizzle"]], "fill": "zero",
    }  # fmt: skip
    yield from ({"kind": "scalar", "elem": "s32", "value": value} for value in shape)
    yield from ({"kind": "scalar", "elem": "s64", "value": value} for value in strides)


def written(case, capability):
    """The PTX and the JSON of a case."""
    text, metadata = case.ptx(capability)
    metas, arguments = list(metadata.get("tensordesc_meta") or []), []
    names = [name for name in case.kernel.arg_names if name not in case.constants]
    for name, kind in zip(names, case.types.split()):
        value = case.arguments[name]
        if isinstance(value, Tensor):
            arguments += tensor_arguments(name, value, case.arguments[value.of].shape, metas.pop(0))
        elif kind.startswith("*"):
            arguments.append(buffer(name, value, kind[1:], case.expected.get(name), case.tolerance))
        else:
            arguments.append({"kind": "scalar", "elem": SCALARS[kind.removesuffix(":16")], "value": value})
    ctas = int(np.prod(case.grid)) * metadata["num_ctas"]
    for scratch in ("global_scratch", "profile_scratch"):
        size = max(ctas * metadata[f"{scratch}_size"], 16)
        arguments.append({"kind": "buffer", "name": scratch, "elem": "u8", "init": {"zeros": size}, "expect": None, "tolerance": "exact"})
    warps = int(re.search(r"\.reqntid (\d+)", text)[1])
    title = case.title(capability)
    return text, {
        "about": f"Triton's code for `{case.kernel.__name__}` of {Path(case.kernel.fn.__code__.co_filename).name}",
        "ptx": f"cases/triton/{title}.ptx",
        "entry": case.kernel.__name__,
        "grid": [*case.grid, 1, 1][:3],
        "block": [warps, 1, 1],
        "dynamic_smem": metadata["shared"],
        "args": arguments,
    }


def stripped(text):
    """PTX without comments, empty lines and marks of inline assembly."""
    lines = (re.sub(r"\s*//.*", "", line).rstrip() for line in text.splitlines())
    return "\n".join(line for line in lines if line.strip()) + "\n"


def write(cases, only=""):
    """Writes the PTX of all cases here, and their JSON in the folder above."""
    for case in cases:
        for capability in case.capabilities:
            title = case.title(capability)
            if only not in title:
                continue
            text, description = written(case, capability)
            (FOLDER / f"{title}.ptx").write_text(stripped(text))
            (FOLDER.parent / f"{title}.json").write_text(json.dumps(description, separators=(",", ":")) + "\n")
