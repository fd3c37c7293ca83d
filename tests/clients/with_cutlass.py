"""Compiles instances of CUTLASS's templates with nvcc, and writes their PTX and a case for each.

    with_cutlass.py FOLDER [--sample] [--only PART_OF_A_NAME] [--jobs N]

FOLDER gets NAME.ptx and cases/NAME.json. The package `nvidia-cutlass` has the templates; the environment variable ORACLE names
the folder with nvcc. No GPU takes part: each program prints its launch (`cutlass/launch.hpp`), and numpy computes the result.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from cutlass_kernels import BF16, E4M3, HALF, S4, S8, TF32, instances

FIRST, EACH = 0x5A0000000000, 0x100000000
MARK = (0x5041544D41505443).to_bytes(8, "little")
TENSOR_TYPES = ["u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16", "f32_ftz", "tf32", "tf32_ftz"]
ELEMENTS = {
    HALF: "f16",
    BF16: "bf16",
    TF32: "f32",
    "float": "f32",
    "double": "f64",
    S8: "s8",
    "int32_t": "s32",
    S4: "u8",
    E4M3: "u8",
}


def folder_of_cutlass():
    import cutlass_library

    return Path(cutlass_library.__file__).parent / "source"


def build(instance, folder):
    """Compiles an instance; writes NAME.ptx and returns the launch."""
    nvcc = Path(os.environ["ORACLE"]) / "nvcc"
    source, here = folder_of_cutlass(), Path(__file__).resolve().parent
    with tempfile.TemporaryDirectory() as scratch:
        text = Path(scratch) / f"{instance.name}.cu"
        text.write_text(instance.source)
        command = [
            nvcc,
            "-std=c++17",
            f"-gencode=arch=compute_{instance.arch},code=sm_{instance.arch}",
            "-w",
            "--expt-relaxed-constexpr",
            "-keep",
            "-keep-dir",
            scratch,
        ]
        command += [f"-I{path}" for path in (source / "include", source / "tools/util/include", here / "cutlass")]
        command += [text, "-o", Path(scratch) / "launch", f"-L{nvcc.parent.parent / 'lib'}"]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode:
            raise RuntimeError(f"{instance.name}: {run.stderr.strip()[:2000]}")
        [ptx] = Path(scratch).glob("*.ptx")
        (folder / f"{instance.name}.ptx").write_text(ptx.read_text())
        launch = subprocess.run([Path(scratch) / "launch"], capture_output=True, text=True, check=True).stdout
    return json.loads(launch)


def numbers(rng, shape, least=-2, most=2):
    """Small integers, whose sums are exact in every type."""
    return rng.integers(least, most + 1, shape).astype(np.float64)


def encoded(values, element):
    """The bytes of values in memory."""
    if element == BF16:
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).tobytes()
    if element == E4M3:
        return np.array([code_of_e4m3(x) for x in values.ravel()], np.uint8).tobytes()
    if element == S4:
        nibbles = values.ravel().astype(np.int64) & 15
        return (nibbles[0::2] | nibbles[1::2] << 4).astype(np.uint8).tobytes()
    types = {
        HALF: np.float16,
        TF32: np.float32,
        "float": np.float32,
        "double": np.float64,
        S8: np.int8,
        "int32_t": np.int32,
    }
    return values.astype(types[element]).tobytes()


def code_of_e4m3(x):
    """A small integer in the format e4m3: 1 sign, 4 bits of exponent with bias 7, 3 of fraction."""
    if x == 0:
        return 0
    exponent = int(np.floor(np.log2(abs(x))))
    fraction = int((abs(x) / 2.0**exponent - 1) * 8)
    return (x < 0) << 7 | (exponent + 7) << 3 | fraction


def product(instance, rng):
    """The contents of a, b, c, and d after the launch."""
    m, n, k = instance.sizes
    a_type, b_type, d_type = instance.types
    least = -1 if d_type == S8 else -2
    a, b, c = numbers(rng, (m, k), least), numbers(rng, (k, n), least), numbers(rng, (m, n))
    d = instance.scales[0] * (a @ b) + instance.scales[1] * c
    if d_type == S8:
        d = np.clip(d, -128, 127)
    in_memory = lambda matrix, layout: matrix if layout == "r" else matrix.T
    return [
        encoded(np.ascontiguousarray(in_memory(a, instance.layouts[0])), a_type),
        encoded(np.ascontiguousarray(in_memory(b, instance.layouts[1])), b_type),
        encoded(c, d_type),
        encoded(d, d_type),
    ]


def convolution(instance, rng):
    """The same for a convolution, by its definition."""
    n, h, w, c, k, r, s, pad, stride = instance.sizes
    p, q = (h + 2 * pad - r) // stride + 1, (w + 2 * pad - s) // stride + 1
    x, f, y = numbers(rng, (n, h, w, c)), numbers(rng, (k, r, s, c)), numbers(rng, (n, p, q, k))
    padded = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    # The part of the padded input that element (i, j) of the filters meets.
    part = lambda i, j: (slice(None), slice(i, i + stride * p, stride), slice(j, j + stride * q, stride))
    places = [(i, j) for i in range(r) for j in range(s)]
    if instance.convolution == "Fprop":
        a, b, d = x, f, sum(padded[part(i, j)] @ f[:, i, j].T for i, j in places)
    elif instance.convolution == "Dgrad":
        gradient = np.zeros_like(padded)
        for i, j in places:
            gradient[part(i, j)] += y @ f[:, i, j]
        a, b, d = y, f, gradient[:, pad : pad + h, pad : pad + w]
    else:
        d = np.zeros_like(f)
        for i, j in places:
            d[:, i, j] = np.einsum("npqk,npqc->kc", y, padded[part(i, j)])
        a, b = y, x
    old = numbers(rng, d.shape)
    d = instance.scales[0] * d + instance.scales[1] * old
    return [encoded(a, HALF), encoded(b, HALF), encoded(old, "float"), encoded(np.ascontiguousarray(d), "float")]


def tensor_map(number, description):
    """A tensor map of a case."""
    buffer, offset = divmod(description["address"] - FIRST, EACH)
    assert offset == 0, "a tensor begins within a buffer"
    return {
        "kind": "tensor_map",
        "name": f"map{number}",
        "of": "abcde"[buffer],
        "mode": "tiled",
        "type": TENSOR_TYPES[description["type"]],
        "sizes": description["sizes"],
        "strides": description["strides"],
        "box": description["box"],
        "element_strides": description["element_strides"],
        "interleave": ["none", "16B", "32B"][description["interleave"]],
        "swizzle": ["none", "32B", "64B", "128B"][description["swizzle"]],
        "fill": ["zero", "nan"][description["fill"]],
    }


def parts(launch, buffers):
    """The addresses and tensor maps in the structure, and its other bytes."""
    image, found, placed = bytearray.fromhex(launch["hex"]), [], set()

    def place(name, at):
        """Puts a buffer where its first address or map is, which the simulator writes after the buffers."""
        if name not in placed:
            placed.add(name)
            found.append({"at": at, "argument": buffers[name]})

    for at in range(0, len(image) - 7, 8):
        word = int.from_bytes(image[at : at + 8], "little")
        if image[at : at + 8] == MARK:
            argument = tensor_map(image[at + 8], launch["maps"][image[at + 8]])
            place(argument["of"], at)
            found.append({"at": at, "argument": argument})
            image[at : at + 128] = bytes(128)
        elif FIRST <= word < FIRST + EACH * len(buffers):
            number, offset = divmod(word - FIRST, EACH)
            name = "abcde"[number]
            place(name, at)
            found.append({"at": at, "argument": {"kind": "address", "of": name, "offset": offset}})
            image[at : at + 8] = bytes(8)
    assert placed.issuperset("abcd"), f"a buffer is not in the structure: only {placed} are"
    return bytes(image), found


def case(instance, launch, ptx):
    """The case of an instance."""
    rng = np.random.default_rng(list(instance.name.encode()))
    contents = convolution(instance, rng) if instance.convolution else product(instance, rng)
    *inputs, expected = contents
    types = [*instance.types[:2], instance.types[2], instance.types[2]]
    buffers = {}
    for name, element, content in zip("abc", types, inputs):
        buffers[name] = buffer(name, element, {"hex": content.hex()}, None)
    buffers["d"] = buffer("d", types[3], {"zeros": len(expected)}, {"hex": expected.hex()})
    buffers["e"] = buffer("e", "int32_t", {"zeros": 1 << 22}, None)
    image, found = parts(launch, buffers)
    entry = next(line.split(".entry ")[1].split("(")[0] for line in ptx.splitlines() if ".entry " in line)
    args = [{"kind": "struct", "init": {"hex": image.hex()}, "parts": found}]
    text = {
        "ptx": f"{instance.name}.ptx",
        "entry": entry,
        "grid": launch["grid"],
        "block": launch["block"],
        "dynamic_smem": launch["shared"],
        "args": args,
    }
    if launch["cluster"] != [1, 1, 1]:
        text["cluster"] = launch["cluster"]
    return text


def buffer(name, element, init, expect):
    return {
        "kind": "buffer",
        "name": name,
        "elem": ELEMENTS[element],
        "init": init,
        "expect": expect,
        "tolerance": "exact",
    }


def write(instance, folder):
    launch = build(instance, folder)
    text = case(instance, launch, (folder / f"{instance.name}.ptx").read_text())
    (folder / "cases" / f"{instance.name}.json").write_text(json.dumps(text))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    (options.folder / "cases").mkdir(parents=True, exist_ok=True)
    chosen = [one for one in instances() if options.only in one.name]
    chosen = chosen[1::32] if options.sample else chosen
    failed = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for one, done in [(one, pool.submit(write, one, options.folder)) for one in chosen]:
            try:
                done.result()
                print(one.name, flush=True)
            except Exception as error:
                failed += 1
                print(f"FAILED {one.name}: {error}", file=sys.stderr, flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
