"""The folder of PTX modules that a script of this folder writes, and its command line.

A script defines makers: functions without arguments that give PTX for a target. `main` calls each
maker for each target. With `--sample` it calls every `stride`th maker for one target, a different
target from one maker to the next. The selection depends only on the order of the makers, so two
runs write the same modules.
"""

import argparse
import multiprocessing
import os
import re
import sys
import traceback
from pathlib import Path

# The targets of ptxc that every package can name.
TARGETS = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90"]


class Modules:
    """The modules that a script writes."""

    def __init__(self, targets=TARGETS):
        self.makers = []
        self.targets = targets

    def add(self, name, make, least=None):
        """Adds a maker: `make(target)` returns the text of one module, or a dictionary of modules
        by name. `least` is the oldest target that the package compiles it for."""
        self.makers.append((name, make, self.targets[self.targets.index(least) if least else 0 :]))

    def selected(self, sample, stride):
        """The names, makers and targets to write."""
        if not sample:
            return [(name, make, target) for name, make, targets in self.makers for target in targets]
        chosen = enumerate(self.makers[::stride])
        return [(name, make, targets[i % len(targets)]) for i, (name, make, targets) in chosen]

    def write(self, folder, sample, stride, only, targets):
        """Writes the modules; returns the number of makers that failed.

        Each target has a process of its own, because packages keep what they compiled for another
        one."""
        folder.mkdir(parents=True, exist_ok=True)
        # Makers are closures, which cannot be sent to a process, so it inherits them.
        share = [self, folder, sample, stride, only]
        context = multiprocessing.get_context("fork")
        processes = len(os.sched_getaffinity(0))
        with context.Pool(processes, INHERITED.extend, (share,), maxtasksperchild=1) as pool:
            return sum(pool.map(write_inherited, targets, chunksize=1))

    def write_for(self, wanted, folder, sample, stride, only):
        """Writes the modules of one target."""
        failed = 0
        for name, make, target in self.selected(sample, stride):
            if target != wanted or (only and only not in name):
                continue
            try:
                texts = make(target)
            except Exception as error:
                # A package that does not compile a kernel is an error of the script, so it counts.
                failed += 1
                print(f"FAILED: {name} for {target}: {last_line(error)}", file=sys.stderr)
                if only:
                    traceback.print_exc()
                continue
            for part, text in ({"": texts} if isinstance(texts, str) else texts).items():
                stem = file_name(f"{name}_{part}" if part else name)
                (folder / f"{stem}.{target}.ptx").write_text(text)
        return failed


# What a process for one target gets.
INHERITED = []


def write_inherited(target):
    """Writes the modules of a target in a process of its own."""
    modules, *rest = INHERITED
    return modules.write_for(target, *rest)


def file_name(name):
    """A name with letters, digits, and underscores only."""
    return re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")


def last_line(error):
    """The last line of an error that says something."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1] if lines else ''}"[:300]


def main(modules, stride):
    """Reads the command line and writes the modules; exits with 1 if a maker failed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, help="the folder for the modules")
    parser.add_argument("--sample", action="store_true", help="write only a few modules")
    parser.add_argument("--target", help="write only for this target")
    parser.add_argument("--only", help="write only the makers whose name contains this text")
    arguments = parser.parse_args()
    targets = [arguments.target] if arguments.target else modules.targets
    failed = modules.write(arguments.folder, arguments.sample, stride, arguments.only, targets)
    if failed:
        print(f"error: {failed} makers failed", file=sys.stderr)
        sys.exit(1)


def lines(names):
    """The words of a text."""
    return names.split()
