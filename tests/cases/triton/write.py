"""Writes the cases: `write.py [PART_OF_A_NAME]`. It needs the packages Triton and numpy, but no GPU."""

import importlib
import sys

from build import write

MODULES = ["rows", "memory", "products", "attention"]


def every_case():
    """The cases of all modules."""
    return [case for name in MODULES for case in importlib.import_module(name).cases()]


if __name__ == "__main__":
    write(every_case(), *sys.argv[1:])
