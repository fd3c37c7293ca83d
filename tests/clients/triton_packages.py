"""The kernels of Python packages, without importing the packages.

Packages of kernels import PyTorch, which is large, and look for a GPU. `load` runs a module of a
package without that: it executes its jitted functions, its constants, and its imports of Triton, of
the standard library and of the package itself. Statements that fail are left out; a kernel that
needs one of them does not compile.
"""

import __future__

import ast
import sys
import types
from pathlib import Path

import triton
import triton.language as tl

FOLDER = Path(triton.__file__).resolve().parents[1]
# Modules that are imported as usual.
USUAL = {"triton", "numpy", *sys.stdlib_module_names}
LOADED = {}
# The types that constants may be, by their names in a list.
TYPES = {str(kind): kind for kind in (tl.float16, tl.bfloat16, tl.float32, tl.int8, tl.int32, tl.int64)}


def path_of(name):
    """The file of a module of a package, if there is one."""
    place = FOLDER / name.replace(".", "/")
    return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)


def load(name):
    """The namespace of a module, and the decorators of its jitted functions by name."""
    if name not in LOADED:
        path = path_of(name)
        module = types.ModuleType(name)
        module.__file__ = str(path)
        module.decorators = {}
        # A module that imports itself through others sees what it has so far.
        LOADED[name] = module
        sys.modules.setdefault(f"{name} for ptxc", module)
        if path is not None:
            module.is_package = path.name == "__init__.py"
            for node in ast.parse(path.read_text()).body:
                execute(node, module, path)
    return LOADED[name]


def execute(node, module, path):
    """Executes a statement of a module."""
    space = vars(module)
    match node:
        case ast.Import() | ast.ImportFrom():
            import_names(node, module)
        case ast.FunctionDef(decorator_list=decorators):
            jit = [one for one in decorators if "jit" in ast.unparse(one).split("(")[0].split(".")]
            is_jitted = bool(jit) and "gluon" not in ast.unparse(jit[0])
            if is_jitted:
                module.decorators[node.name] = [one for one in decorators if one is not jit[0]]
            node.decorator_list = jit if is_jitted else []
            run(node, space, path, not is_jitted)
        case ast.Try(body=body, handlers=handlers):
            # An import that fails has another one in its handler.
            done = all([execute(one, module, path) is not False for one in body])
            for handler in [] if done else handlers:
                for one in handler.body:
                    execute(one, module, path)
        case ast.If(test=test, body=body, orelse=other):
            try:
                chosen = body if eval(ast.unparse(test), space) else other
            except Exception:
                chosen = [*other, *body]
            for one in chosen:
                execute(one, module, path)
        case ast.Assign() | ast.AnnAssign() | ast.ClassDef():
            return run(node, space, path, True)


def run(node, space, path, is_late):
    """Executes a statement; tells whether it succeeded. `is_late` leaves annotations alone."""
    flags = __future__.annotations.compiler_flag if is_late else 0
    try:
        exec(compile(ast.Module([node], []), str(path), "exec", flags, dont_inherit=True), space)
    except Exception:
        return False
    return True


def import_names(node, module):
    """Imports from Triton, the standard library, and the package itself."""
    space, own = vars(module), module.__name__.split(".")[0]
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name.split(".")[0] in USUAL:
                run(ast.Import([alias], lineno=node.lineno, col_offset=0), space, module.__file__, False)
        return
    source = node.module or ""
    if node.level:
        parts = module.__name__.split(".")
        parts = parts[: len(parts) - node.level + module.is_package]
        source = ".".join([*parts, source] if source else parts)
    if source.split(".")[0] in USUAL:
        run(node, space, module.__file__, False)
    if source.split(".")[0] != own or path_of(source) is None:
        return
    for alias in node.names:
        # The module of a whole package imports everything, so it is the last one to look into.
        if path_of(f"{source}.{alias.name}"):
            space[alias.asname or alias.name] = load(f"{source}.{alias.name}")
        elif alias.name == "*":
            space.update({key: value for key, value in vars(load(source)).items() if not key.startswith("_")})
        elif alias.name in (found := vars(load(source))):
            space[alias.asname or alias.name] = found[alias.name]


def listed(path):
    """The kernels of a list: a line has a module, a kernel, types, constants and options."""
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            name, kinds, constants, options = (part.strip() for part in line.split("|"))
            module, kernel = name.split(":")
            values = ast.literal_eval(f"{{{constants}}}")
            values = {key: TYPES.get(value, value) if isinstance(value, str) else value for key, value in values.items()}
            yield module, kernel, kinds, values, ast.literal_eval(f"{{{options}}}")
