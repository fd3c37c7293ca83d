#!/usr/bin/env python3
"""Prints the lines that `list.txt` and `without.txt` lack, for every intrinsic of LLVM's NVPTX backend.

The names and types come from LLVM's table (package `llvm-22-dev`), which `llvm-tblgen-22` turns into
JSON. The script tries arguments, overloads and targets until `llc-22` compiles a kernel with the
intrinsic and ptxas accepts the result. An intrinsic for which that fails gets a line of
`without.txt` with the last message.

Usage: ORACLE=… tests/intrinsics/enumerate.py OUT
It writes OUT/list.txt and OUT/without.txt. Lines that are already in this folder are not repeated.
"""

import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
INCLUDE = Path("/usr/include/llvm-22")
TARGETS = ["sm_90 ptx84", "sm_90a ptx88", "sm_100a ptx88", "sm_103a ptx88", "sm_120a ptx88", "sm_90 ptx88"]
# The parameters of the kernels of the test, by type.
PARAMETERS = {
    "ptr": "%p", "ptr addrspace(1)": "%gl", "ptr addrspace(3)": "%sh", "ptr addrspace(5)": "%lo",
    "ptr addrspace(6)": "%tm", "ptr addrspace(7)": "%cl", "i32": "%a", "i64": "%b", "i16": "%s", "float": "%f",
    "double": "%d", "half": "%h", "bfloat": "%q", "<2 x half>": "%hh", "<2 x bfloat>": "%qq", "i128": "%w",
    "<2 x i32>": "%v2", "<4 x i32>": "%v4", "<8 x i32>": "%v8", "<4 x float>": "%f4", "<4 x i8>": "%c4",
    "<16 x i32>": "%v16", "<32 x i32>": "%v32", "<64 x i32>": "%v64", "<128 x i32>": "%v128", "i1": "%c",
}  # fmt: skip
NAMES = {"f32": "float", "f64": "double", "f16": "half", "bf16": "bfloat"}
SPACES = {"llvm_ptr_ty": 0, "llvm_global_ptr_ty": 1, "llvm_shared_ptr_ty": 3, "llvm_local_ptr_ty": 5,
          "llvm_tmem_ptr_ty": 6, "llvm_shared_cluster_ptr_ty": 7}  # fmt: skip
# The types to try for each kind of overload.
CHOICES = {
    "pAny": ["ptr", "ptr addrspace(1)", "ptr addrspace(3)", "ptr addrspace(4)"],
    "iAny": ["i32", "i64", "i16", "i128"],
    "fAny": ["float", "double", "half"],
}


def scalar(text):
    """A type of LLVM's table as IR, or nothing."""
    vector = re.fullmatch(r"v(\d+)(\w+)", text)
    if vector:
        return f"<{vector[1]} x {scalar(vector[2])}>"
    return NAMES.get(text, text if re.fullmatch(r"i\d+", text) else None)


def pointer(space):
    return "ptr" if space == 0 else f"ptr addrspace({space})"


def suffix(kind):
    """The part of an intrinsic's name for a type."""
    if kind.startswith("ptr"):
        return "p" + (re.findall(r"\d+", kind) or ["0"])[0]
    return {name: text for text, name in NAMES.items()}.get(kind, kind)


class Intrinsic:
    """An intrinsic of the table."""

    def __init__(self, table, record, name):
        self.table, self.name = table, name
        self.results = [one["def"] for one in record["RetTypes"]]
        self.parameters = [one["def"] for one in record["ParamTypes"]]
        self.constants, self.ranges = set(), {}
        for one in record["IntrProperties"]:
            found = table[one["def"]]
            if "ImmArg" in found["!superclasses"]:
                self.constants.add(found["ArgNo"] - 1)
            elif "Range" in found["!superclasses"]:
                self.ranges[found["ArgNo"] - 1] = (found["Lower"], found["Upper"])

    def overloads(self):
        """The types that replace each overloaded one, in every combination."""
        kinds = [self.table[one]["VT"]["def"] for one in self.results + self.parameters]
        return itertools.product(*(CHOICES[kind] for kind in kinds if kind in CHOICES))

    def lines(self):
        """Lines of the list to try, without the target: groups, of which one line each is enough."""
        for chosen in self.overloads():
            types, rest = [], list(chosen)
            for one in self.results + self.parameters:
                record = self.table[one]
                kind = record["VT"]["def"]
                if kind in CHOICES:
                    types.append(rest.pop(0))
                elif "LLVMMatchType" in record["!superclasses"]:
                    types.append(chosen[record["Number"]])
                else:
                    types.append(pointer(SPACES[one]) if one in SPACES else scalar(kind))
            results, parameters = types[: len(self.results)], types[len(self.results) :]
            result = {0: "void", 1: (results or [""])[0]}.get(len(results), "{ " + ", ".join(map(str, results)) + " }")
            name = ".".join([self.name, *map(suffix, chosen)])
            yield [f"{result} | {name} | {arguments}" for arguments in self.arguments(parameters)]

    def arguments(self, parameters):
        """Arguments to try: constants at both ends of their ranges, and small numbers."""
        for number in (0, 1, 2, 4):
            words = []
            for index, kind in enumerate(parameters):
                if index in self.constants:
                    low, high = self.ranges.get(index, (0, 16))
                    value = min(low + number, high - 1)
                    words.append(f"{kind} {str(bool(value % 2)).lower() if kind == 'i1' else value}")
                elif kind in PARAMETERS:
                    words.append(f"{kind} {PARAMETERS[kind]}")
                else:
                    words.append(f"{kind} {'null' if str(kind).startswith('ptr') else 'undef'}")
            yield ", ".join(words)


def kernel(number, line):
    """The declaration and the kernel, as the test writes them."""
    result, name, arguments = [part.strip() for part in line.split("|")]
    types = ", ".join(one.strip().rsplit(" ", 1)[0] for one in re.split(r", (?![^<]*>)", arguments) if one)
    call = f"call {result} @{name}({arguments})"
    body = call if result == "void" else f"%r = {call}\n  store {result} %r, ptr %p"
    parameters = ", ".join(f"{kind} {value}" for kind, value in PARAMETERS.items() if kind != "i1")
    declaration = f"declare {result} @{name}({types})"
    return declaration, (
        f"define ptx_kernel void @k{number}({parameters}, i32 %ci) {{\n  %c = icmp eq i32 %ci, 3\n  {body}\n  ret void\n}}\n"
    )


def refusal(lines, target):
    """Why the lines together do not compile for a target, or nothing."""
    processor, version = target.split()
    pairs = [kernel(number, line) for number, line in enumerate(lines)]
    text = 'target triple = "nvptx64-nvidia-cuda"\n'
    text += "\n".join(dict.fromkeys(declaration for declaration, _ in pairs)) + "\n" + "".join(body for _, body in pairs)
    with tempfile.TemporaryDirectory() as folder:
        ptx = Path(folder) / "k.ptx"
        # Finding the names of its own functions takes an aborted llc a second.
        llc = ["llc-22", "-disable-symbolication", "-O2", "-march=nvptx64", f"-mcpu={processor}", f"-mattr=+{version}", "-", "-o", ptx]
        run = subprocess.run(llc, input=text, capture_output=True, text=True)
        if run.returncode:
            first = [line for line in run.stderr.splitlines() if "error" in line.lower()]
            return "llc: " + (first or run.stderr.splitlines() or ["?"])[0].removeprefix("llc-22: ")[:120]
        if "llvm.nvvm" in ptx.read_text():
            return "llc: not known for these types"
        ptxas = [os.environ["ORACLE"] + "/ptxas", "-arch", processor, ptx, "-o", Path(folder) / "k.cubin"]
        run = subprocess.run(ptxas, capture_output=True, text=True)
        if run.returncode:
            message = ((run.stderr or run.stdout).splitlines() or [f"exit status {run.returncode}"])[0]
            return "ptxas: " + message.split(";", 1)[-1].strip()[:120]
    return None


def accepted(lines, target):
    """The lines that compile, and the reasons of the others."""
    lines, reasons = list(lines), {}
    while lines:
        why = refusal(lines, target)
        if why is None:
            return set(lines), reasons
        # The message names the intrinsic, of which all overloads fail alike.
        culprit = re.search(r"Cannot select: intrinsic %(llvm[^\s,]+)", why)
        failed = [line for line in lines if culprit and line.split("|")[1].strip().startswith(culprit[1])]
        if len(lines) == 1:
            failed = lines
        if not failed:
            half = len(lines) // 2
            first, second = accepted(lines[:half], target), accepted(lines[half:], target)
            return first[0] | second[0], {**reasons, **first[1], **second[1]}
        reasons.update((line, why) for line in failed)
        lines = [line for line in lines if line not in failed]
    return set(), reasons


def table():
    """LLVM's table of intrinsics."""
    source = INCLUDE / "llvm/IR/Intrinsics.td"
    run = subprocess.run(["llvm-tblgen-22", "-I", INCLUDE, "-dump-json", source], capture_output=True, check=True)
    return json.loads(run.stdout)


def main():
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    records = table()
    header = (INCLUDE / "llvm/IR/IntrinsicsNVPTX.h").read_text()
    names = dict(re.findall(r"(nvvm_\w+)[^/\n]*// (llvm\.nvvm\.\S+)", header))
    fields = [line.split("|") for line in (HERE / "list.txt").read_text().splitlines() if not line.startswith("#")]
    known = {field[2].strip() for field in fields}
    known |= {line.split("|")[0].strip() for line in (HERE / "without.txt").read_text().splitlines()}
    is_known = lambda name: any(one == name or one.startswith(name + ".p") or one.startswith(name + ".i") or one.startswith(name + ".f") for one in known)
    missing = [
        Intrinsic(records, records[f"int_{key}"], name) for key, name in sorted(names.items()) if not is_known(name)
    ]
    print(f"{len(names)} intrinsics, {len(missing)} missing", file=sys.stderr, flush=True)
    groups = [(one.name, group) for one in missing for group in one.lines()]
    found, reasons = {}, {}
    for target in TARGETS:
        for attempt in range(4):
            open_ = [group for _, group in groups if group[0] not in found and group[attempt] not in group[:attempt]]
            lines = list(dict.fromkeys(group[attempt] for group in open_))
            good = set()
            parts = [lines[start : start + 24] for start in range(0, len(lines), 24)]
            with ThreadPoolExecutor(4) as pool:
                for some, why in pool.map(lambda part: accepted(part, target), parts):
                    good |= some
                    reasons.update(why)
            for group in open_:
                if group[attempt] in good:
                    found[group[0]] = f"{target} | {group[attempt]}"
            print(f"{target}, attempt {attempt}: {len(good)} of {len(lines)}", file=sys.stderr, flush=True)
    named = {name for name, group in groups if group[0] in found}
    (out / "list.txt").write_text("".join(f"{found[group[0]]}\n" for _, group in groups if group[0] in found))
    left = {name: reasons.get(group[0], "no arguments") for name, group in groups if name not in named}
    (out / "without.txt").write_text("".join(f"{name} | {why}\n" for name, why in left.items()))


if __name__ == "__main__":
    main()
