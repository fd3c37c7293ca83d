"""Writes PTX modules that Triton compiles for NVIDIA GPUs. It needs no GPU.

Each kernel is a module of its own: the kernels of `tests/cases/triton`, whose results cases check, and
those of packages in `triton_packages.txt`, which `triton_guess.py` writes.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cases/triton"))

from build import compile_kernel
from modules import Modules, main
from triton_packages import listed, load
from write import every_case

TARGETS = {"sm_80": 80, "sm_90a": 90}


def of_case(case):
    """A maker that compiles the kernel of a case."""
    return lambda target: case.ptx(TARGETS[target])[0]


def of_package(module, name, types, constants, options):
    """A maker that compiles a kernel of a package, with line numbers."""

    def make(target):
        return compile_kernel(getattr(load(module), name), types, constants, TARGETS[target], lines=True, **options)[0]

    return make


modules = Modules(list(TARGETS))
for case in every_case():
    name = case.name or case.kernel.__name__
    modules.add(f"ptxc {name}", of_case(case), "sm_80" if 80 in case.capabilities else "sm_90a")
for module, name, types, constants, options in listed(Path(__file__).with_name("triton_packages.txt")):
    package, *_, file = module.split(".")
    modules.add(f"{package} {file} {name}", of_package(module, name, types, constants, options))

if __name__ == "__main__":
    main(modules, stride=13)
