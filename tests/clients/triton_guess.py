"""Guesses arguments for the kernels of packages: `triton_guess.py MODULE… >> triton_packages.txt`.

A package calls its kernels from code that needs tensors and a GPU. Here a parameter is a pointer if
its value is the base of an address, and names tell types and sizes. A kernel is printed if Triton
compiles it for both targets with some guess. MODULE may be a package, for all its modules.
"""

import ast
import contextlib
import inspect
import io
import itertools
import os
import re
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cases/triton"))

import triton
from build import compile_kernel
from triton_packages import FOLDER, load, path_of

ACCESSES = {"load", "store", "make_block_ptr", "atomic_add", "atomic_max", "atomic_min", "atomic_cas", "atomic_xchg"}
ACCESSES |= {"atomic_or", "atomic_and", "make_tensor_descriptor"}
INDICES = re.compile(r"(?i)idx|ind(ex|ices)|cu_?seq|offset|token_ids|expert|labels?$|target|lens?$|table|map|order|_ids|slot|loc$|seqlen|indptr|pos")
NUMBERS = re.compile(r"(?i)scale|eps|alpha|beta|gamma|rate|lr$|drop|_p$|^p$|weight_decay|smoothing|softcap|temperature|theta|factor|value$|limit")
FLOATS = re.compile(r"(?i)scale|lse|logsumexp|rstd|mean|^[lm]$|^g$|^g_|^dg|^[abdm]?_?h0$|gk|gv|delta|loss|sum|norm|max|state|^ht?$")
# Constants that are no switches, by the beginning of their names.
SIZES = [
    (r"BLOCK_(SIZE_)?(M|N|Q|KV|ROW|ROWS|S|T|H|C)$|BM$|BN$|BT$|BLOCK_M|BLOCK_N|BQ$", 64), (r"BLOCK_?(SIZE_)?(K|D|DV|DMODEL)|BK$|BV$|BD$|BS$", 64),
    (r"BC$|BCC$|BN?T?S$", 16), (r"TILE", 32), (r"BLOCK|^B$|CHUNK", 256), (r"GROUP|^G$|NC$|NT$|NK$|NV$|NB$|N_?ROUNDS|SPLIT|NUM_|STAGES|UNROLL|ROWS|TOPK|top_k", 4),
    (r"^H[QKV]?V?$|HEADS|^HQ$|^B$|n_head", 4), (r"^[KVD]$|DIM|HEAD|^D[KV]?$|hidden|size|n_cols|^N$|^M$|cols|stride|^T$|^C$|^S$", 128),
]  # fmt: skip


def pointers(function):
    """The parameters that are bases of addresses, also through variables and calls of other functions."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function.fn))).body[0]
    known = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.AugAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    known.setdefault(target.id, []).append(node.value)
    found, work = set(), []

    def bases(node, seen):
        match node:
            case ast.Name(id=name):
                found.add(name)
                if name not in seen:
                    for value in known.get(name, []):
                        bases(value, seen | {name})
            case ast.BinOp(op=ast.Add() | ast.Sub(), left=left, right=right):
                bases(left, seen)
                # Offsets are usually on the right, and pointers have names.
                if not isinstance(left, ast.Name) or left.id not in function.arg_names:
                    bases(right, seen)
            case ast.Call(func=ast.Attribute(value=value, attr="to" | "cast")):
                bases(value, seen)
            case ast.Call(func=ast.Name() | ast.Attribute(), args=[first, *_]) if not isinstance(first, ast.Constant):
                if "multiple_of" in ast.unparse(node.func) or "broadcast" in ast.unparse(node.func) or "cast" in ast.unparse(node.func):
                    bases(first, seen)
            case ast.IfExp(body=body, orelse=other):
                bases(body, seen)
                bases(other, seen)

    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in ACCESSES and node.args:
                bases(node.args[0], frozenset())
            callee = function.fn.__globals__.get(name)
            if isinstance(callee, triton.JITFunction) and callee is not function:
                inner = pointers(callee)
                for parameter, value in zip(callee.arg_names, node.args):
                    if parameter in inner:
                        bases(value, frozenset())
    return {name for name in found if name in function.arg_names}


def is_kernel(function):
    """Whether a jitted function is launched: it stores, and returns nothing."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function.fn))).body[0]
    returns = any(isinstance(node, ast.Return) and node.value is not None for node in ast.walk(tree))
    return not returns and re.search(r"store|atomic", ast.unparse(tree)) is not None


def configurations(module, name):
    """The constants and options that a decorator tunes: the middle one of its configurations."""
    for decorator in module.decorators.get(name, []):
        for keyword in getattr(decorator, "keywords", []):
            if keyword.arg == "configs":
                with contextlib.suppress(Exception):
                    configs = list(eval(ast.unparse(keyword.value), vars(module)))
                    chosen = configs[len(configs) // 2]
                    return dict(chosen.kwargs), {"num_warps": chosen.num_warps, "num_stages": chosen.num_stages}
    return {}, {}


def constant(name, default, switch):
    """A value for a constant."""
    if default is not inspect.Parameter.empty and default is not None:
        return default.value if isinstance(default, triton.language.constexpr) else default
    if re.search(r"(?i)dtype|type$", name):
        return triton.language.float32
    for pattern, value in SIZES:
        if re.search(pattern, name) and not re.match(r"(?i)is_|use_|has_|store_|even|save|compute|return|do_|need", name):
            return value
    return False if re.search(r"(?i)varlen|ragged|reverse|debug|long_index|interleaved|contiguous", name) else switch


def guess(module, function, element, switch):
    """Types, constants and options."""
    constants, options = configurations(module, function.__name__)
    bases, kinds = pointers(function), []
    constants = {name: value for name, value in constants.items() if name in function.arg_names}
    for parameter in function.params:
        name = parameter.name
        if parameter.is_constexpr:
            constants.setdefault(name, constant(name, parameter.default, switch))
        if name in constants:
            continue
        if name in bases:
            kinds.append("*i32" if INDICES.search(name) else "*fp32" if FLOATS.search(name) else f"*{element}")
        else:
            is_float = NUMBERS.search(name) and not re.search(r"(?i)stride|size|num|n_|group|block", name)
            kinds.append("fp32" if is_float else "i32:16" if "stride" in name else "i32")
    return kinds, constants, options


def attempt(place):
    """The line of a kernel, or the reason why there is none."""
    module, name = load(place[0]), place[1]
    function, why = vars(module)[name], ""
    for element, switch in itertools.product(["bf16", "fp32", "fp8e5", "i32"], [True, False]):
        try:
            kinds, constants, options = guess(module, function, element, switch)
            with contextlib.redirect_stderr(io.StringIO()):
                sizes = [len(compile_kernel(function, kinds, constants, target, **options)[0]) for target in (80, 90)]
        except Exception as error:
            why = why or " ".join(str(error).split())[-150:]
            continue
        if max(sizes) > 600_000:
            return f"# {place[0]}:{name}: {max(sizes)} bytes"
        types_of = {key: str(value) if isinstance(value, triton.language.dtype) else value for key, value in constants.items()}
        return f"{place[0]}:{name} | {' '.join(kinds)} | {str(types_of)[1:-1]} | {str(options)[1:-1]}"
    return f"# {place[0]}:{name}: {why}"


def kernels(name):
    """The kernels of a module or of the modules of a package."""
    folder = FOLDER / name.replace(".", "/")
    paths = sorted(folder.rglob("*.py")) if folder.is_dir() else [path for path in [path_of(name)] if path]
    if not paths:
        print(f"no module {name}", file=sys.stderr)
    for one in paths:
        parts = one.relative_to(FOLDER).with_suffix("").parts
        if "triton" not in one.read_text() or parts[-1] == "__init__" or "backends" in parts:
            continue
        module = load(".".join(parts))
        for found in module.decorators:
            function = vars(module).get(found)
            if isinstance(function, triton.JITFunction) and is_kernel(function):
                yield module.__name__, found


def attempt_apart(place):
    """The same in a process of its own: Triton takes minutes for some guesses."""
    try:
        command = [sys.executable, "-W", "ignore", __file__, "--one", *place]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
        return done.stdout.strip() or f"# {':'.join(place)}: ended by {done.returncode}"
    except subprocess.TimeoutExpired:
        return f"# {':'.join(place)}: takes long"


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        print(attempt(sys.argv[2:]))
        sys.exit()
    places = [place for name in sys.argv[1:] for place in kernels(name)]
    with ThreadPoolExecutor(2) as pool:
        for line in pool.map(attempt_apart, places):
            print(line, flush=True)
