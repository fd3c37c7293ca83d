"""Writes PTX modules that Warp compiles for NVIDIA GPUs. It needs no GPU.

There are four kinds of modules: the kernels of `warp_kernels.py`, kernels that this script makes
for each function that Warp has, the examples that come with Warp, and Warp's own library.
"""

import importlib
import inspect
import itertools
import os
import pkgutil
import sys
import tempfile
from pathlib import Path

import warp as wp
import warp.examples
import warp.fem
import warp.optim.linear
import warp.sparse
from warp._src import context
from warp._src import types as kinds_of_warp

import warp_kernels
from modules import Modules, lines, main

wp.config.quiet = True
wp.config.log_level = wp.LOG_ERROR
FOLDER = Path(tempfile.mkdtemp())
wp.config.kernel_cache_dir = str(FOLDER / "cache")
wp.init()

# Functions whose arguments are more than numbers have kernels in `warp_kernels.py`.
GROUPS = ["Scalar Math", "Vector Math", "Quaternion Math", "Transformations", "Spatial Math", "Random", "Operators"]
# The number of kernels for one function, spread over its overloads.
OVERLOADS = 12
EXAMPLES = lines("core fem optim tile geometry")
# A thread of a Fourier transform has at least two elements, so these need small blocks.
OPTIONS = {
    "warp.examples.tile.example_tile_convolution": {"block_dim": 64},
    "warp.examples.tile.example_tile_fft": {"block_dim": 16},
}


def compiled(module, options=None):
    """A maker that compiles a module of Warp."""

    # `get_module` would make a new module for another file.
    found = context.user_modules[module]
    defaults = dict(found.options)

    def make(target):
        found.options = {**defaults, **(options or {})}
        with tempfile.TemporaryDirectory() as folder:
            arch = int(target.removeprefix("sm_"))
            paths = wp.compile_aot_module(found, arch=arch, module_dir=folder, use_ptx=True)
            text = next(Path(path).read_text() for path in paths if str(path).endswith(".ptx"))
            # The driver reads a string of C, which ends with a zero.
            return text.rstrip("\0")

    return make


def spelled(kind):
    """A type of Warp as a text of Python, or nothing for a type without a public name."""
    return next((f"wp.{name}" for name, value in vars(wp).items() if value is kind and name != "_"), None)


def concrete(overload):
    """The texts of the types of an overload, if all are types of values."""
    kinds = overload.input_types
    if not kinds or any(name.startswith("*") for name in kinds):
        return None
    values = [kind for kind in kinds.values() if kinds_of_warp.type_is_value(kind)]
    texts = [text for kind in values if (text := spelled(kind))]
    return texts if len(texts) == len(kinds) else None


def has_result(overload):
    """Whether an overload returns a value."""
    return overload.value_type is not None or overload.value_func(dict(overload.input_types), {}) is not None


def spread(values, count):
    """Some values from the whole of a list."""
    step = max(1, len(values) // count)
    return values[::step][:count]


def source_for(name, function):
    """A module with a kernel for some overloads of a function."""
    overloads = getattr(function, "overloads", [function])
    exported = [overload for overload in overloads if overload.export]
    kinds = [texts for overload in exported if (texts := concrete(overload)) and has_result(overload)]
    text = ["import warp as wp", ""]
    for number, texts in enumerate(spread(kinds, OVERLOADS)):
        names = [f"x{i}" for i in range(len(texts))]
        parameters = ", ".join(f"{one}: wp.array(dtype={kind})" for one, kind in zip(names, texts))
        call = f"wp.{name}({', '.join(f'{one}[i]' for one in names)})"
        text += ["@wp.kernel", f"def k{number}(n: int, {parameters}):", "    i = wp.tid()", f"    r = {call}"]
        # The result has many types, so a condition that depends on it keeps it alive.
        text += ["    if n == 3:", "        print(r)", ""]
    return "\n".join(text) if len(text) > 2 else None


def functions(modules):
    """A module for each function that Warp has."""
    sys.path.insert(0, str(FOLDER))
    for name, function in context.builtin_functions.items():
        if function.group not in GROUPS or not hasattr(wp, name):
            continue
        text = source_for(name, function)
        if text:
            file = f"function_{name}"
            (FOLDER / f"{file}.py").write_text(text)
            importlib.import_module(file)
            modules.add(f"function {name}", compiled(file))


def own(modules):
    """The kernels of this folder, also with other options of the compiler."""
    settings = [
        ("", {}),
        ("debug", {"mode": "debug"}),
        ("fast", {"fast_math": True, "enable_backward": False}),
        ("lines", {"lineinfo": True, "block_dim": 64}),
    ]
    for module in sorted(name for name in context.user_modules if name.startswith("warp_kernels.")):
        for suffix, options in settings:
            modules.add(f"{module} {suffix}", compiled(module, options))


def examples(modules):
    """The examples of Warp, and its library."""
    for family in EXAMPLES:
        folder = Path(warp.examples.__file__).parent / family
        for found in sorted(folder.glob("*.py")):
            try:
                importlib.import_module(f"warp.examples.{family}.{found.stem}")
            except ImportError as error:
                # Some examples need packages such as PyTorch or JAX.
                print(f"not imported: {family}/{found.stem}: {error}")
    for found in pkgutil.walk_packages(warp.__path__, "warp."):
        if not any(part in found.name for part in ("tests", "examples", "thirdparty", "jax", "torch", "paddle")):
            try:
                importlib.import_module(found.name)
            except ImportError as error:
                print(f"not imported: {found.name}: {error}")
    for name, module in sorted(context.user_modules.items()):
        if name.startswith("warp.") and any(not kernel.is_generic for kernel in module.kernels.values()):
            modules.add(name, compiled(name, OPTIONS.get(name)))


modules = Modules()
own(modules)
functions(modules)
examples(modules)

if __name__ == "__main__":
    main(modules, stride=43)
