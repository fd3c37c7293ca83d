"""Writes PTX modules that Numba compiles for NVIDIA GPUs. It needs no GPU.

Each kernel is a module of its own. The kernels are in `numba_*.py`; this file compiles them, some
of them also with other options: without optimization and with debug information, with line
numbers, and with fast arithmetic.
"""

import sys
import warnings
from pathlib import Path

import numba_cuda
from cuda import pathfinder
from cuda.bindings import nvrtc
from numba.cuda import compiler as numba_compiler
from numba.cuda import dispatcher

import numba_language
import numba_memory
import numba_scalars
from modules import Modules, main


def capability(target):
    """The pair that Numba calls a compute capability."""
    number = int(target.removeprefix("sm_"))
    return number // 10, number % 10


class Device:
    """Stands in for a GPU: Numba asks the current one for its target when it compiles a function
    that a kernel calls."""

    compute_capability = (0, 0)


def compile_source(source, name, cc, ltoir=False, lineinfo=False, debug=False):
    """Compiles CUDA C++ as Numba does. Numba's own function needs the driver."""
    paths = [Path(numba_cuda.__file__).parent / "numba" / "cuda" / "include" / "13"]
    paths += [pathfinder.locate_nvidia_header_directory(part).abs_path for part in ("cudart", "cccl")]
    options = [f"--gpu-architecture=compute_{cc[0]}{cc[1]}", "--relocatable-device-code=true", "--std=c++17"]
    options += [f"--include-path={path}" for path in paths]
    options += ["--device-debug"] if debug else ["--generate-line-info"] if lineinfo else []
    text = source.encode() if isinstance(source, str) else source
    program = checked(nvrtc.nvrtcCreateProgram(text, name.encode(), 0, None, None))
    result = nvrtc.nvrtcCompileProgram(program, len(options), [option.encode() for option in options])
    log = bytearray(checked(nvrtc.nvrtcGetProgramLogSize(program)))
    checked(nvrtc.nvrtcGetProgramLog(program, log))
    if result[0] != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise RuntimeError(log.decode())
    ptx = bytearray(checked(nvrtc.nvrtcGetPTXSize(program)))
    checked(nvrtc.nvrtcGetPTX(program, ptx))
    return ptx.rstrip(b"\0").decode(), ""


def checked(result):
    """The value of a call of NVRTC."""
    if result[0] != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise RuntimeError(result[0].name)
    return result[1] if len(result) > 1 else None


dispatcher.get_current_device = Device
numba_compiler.nvrtc.compile = compile_source


def compiler(function, signature, device=False, **options):
    """A maker that compiles a function, and the files of CUDA C++ that it needs."""

    def make(target):
        Device.compute_capability = capability(target)
        settings = {"abi": "c" if device else "numba", **options}
        texts, _ = numba_compiler.compile_all(
            function, signature, cc=capability(target), device=device, output="ptx", **settings
        )
        return {str(number) if number else "": text for number, text in enumerate(texts)}

    return make


modules = Modules()
for file in (numba_scalars, numba_memory, numba_language):
    for number, (name, function, signature, options) in enumerate(file.kernels()):
        least = options.pop("least", "sm_75")
        modules.add(name, compiler(function, signature, **options), least)
        # Other options change little of most kernels, so every third kernel gets each set.
        if options:
            continue
        extra = [
            ("debug", {"debug": True, "opt": False}),
            ("lines", {"lineinfo": True}),
            ("fast", {"fastmath": True, "launch_bounds": (256, 2)}),
        ][number % 3]
        modules.add(f"{name} {extra[0]}", compiler(function, signature, **extra[1]), least)

if __name__ == "__main__":
    # Kernels whose text this script makes have no file, so their lines are unknown.
    warnings.simplefilter("ignore")
    # Recursion of a device function is deep in the type inference of Numba.
    sys.setrecursionlimit(10_000)
    main(modules, stride=47)
