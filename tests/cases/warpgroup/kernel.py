"""PTX text of kernels with wgmma, and their cases.

Layouts of registers (PTX ISA, "Register Fragments"), with warp w, g = lane / 4 and t = lane % 4. All steps along k take
32 bytes of a row of A (packed rows, if A is sparse):

  A: register 0 holds row 16w+g, bytes 4t ... 4t+3; register 1 the same bytes of row 16w+g+8; registers 2 and 3 the same
     rows, 16 bytes further right.
  D: element 4j+i is row 16w + g + 8*(i/2), column 8j + 2t + i%2. A register holds one element, or two of .f16.

Warps 4 ... 7 are a second warpgroup; with 16w they reach the next 64 rows.
"""

import random
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "matrix"))
import case  # noqa: E402
from case import BITS, clamp, each, flat, transposed, wrap  # noqa: E402, F401 (also for the modules beside this one)

FAMILY = "warpgroup"
SIZE = {"f16": 2, "f32": 4, "s32": 4}


@dataclass
class Form:
    """What a product multiplies: types of D, A and B, and n."""

    td: str
    ta: str
    tb: str
    n: int
    sparse: bool = False
    sat: bool = False

    @property
    def k(self):
        return (512 if self.sparse else 256) // BITS[self.ta]

    @property
    def floats(self):
        return self.ta not in ("s8", "u8", "b1")

    @property
    def halves(self):
        return self.ta in ("f16", "bf16")

    @property
    def registers(self):
        return self.n // 4 if self.td == "f16" else self.n // 2

    @property
    def element(self):
        return "b32" if self.td == "f16" else self.td

    @property
    def b_chunks(self):
        """Chunks of B in a step along k."""
        return 4 if self.sparse else 2

    @property
    def instruction(self):
        return "wgmma.mma_async%s.sync.aligned.m64n%dk%d%s.%s.%s.%s%s" % (
            ".sp" if self.sparse else "", self.n, self.k, ".satfinite" if self.sat else "", self.td, self.ta, self.tb,
            ".and.popc" if self.ta == "b1" else "")


def braced(names):
    return "{" + ", ".join(names) + "}"


def named(letter, count):
    return ["%%%s%d" % (letter, i) for i in range(count)]


class Kernel:
    """Collects a kernel's text, its parameters and its arguments."""

    def __init__(self, name, about, version="8.0", threads=128, directives="", generic=False):
        self.name, self.about, self.version, self.threads = name, about, version, threads
        self.directives = [".reqntid %d" % threads] + ([directives] if directives else [])
        self.generic = generic
        self.parameters, self.arguments, self.body = [], [], ""
        self.size, self.labels = 0, 0
        self.rng = random.Random(name)

    def add(self, text):
        self.body += text.strip("\n") + "\n"

    def label(self, what):
        self.labels += 1
        return "%s_%d" % (what, self.labels)

    # Parameters. The address of parameter `a` is in %A.

    def read(self, name, kind, values):
        self.parameters.append((name, "u64"))
        self.arguments.append(case.read(name, kind, values))

    def written(self, name, kind, values, before=None):
        self.parameters.append((name, "u64"))
        self.arguments.append(case.written(name, kind, values, before))

    def scalar(self, name, value):
        self.parameters.append((name, "u32"))
        self.arguments.append(case.scalar("u32", value))

    # Shared memory.

    def reserve(self, shared):
        """Gives a matrix its place, at a multiple of 1024 plus its base."""
        self.size = (self.size + 1023) // 1024 * 1024
        shared.at = self.size + shared.base
        self.size += shared.bytes()

    def reserve_words(self, count):
        """Places `count` words of 64 bits."""
        self.size = (self.size + 7) // 8 * 8
        at = self.size
        self.size += 8 * count
        return at

    def copy(self, shared, pointer, thread="%thread", threads=None, moved=None, start=0):
        """Each thread takes every 128th chunk from global memory to its place; `moved` is a register with an offset."""
        threads = threads or self.threads
        total = shared.lines * shared.chunks
        again, done = self.label("copy_" + shared.name), self.label("copied_" + shared.name)
        self.add("""
// %s: %d lines of %d chunks, %s-major, swizzle of %d bytes, LBO %d, SBO %d
mov.u32 %%i, %s;
%s:
setp.ge.u32 %%done, %%i, %d;
@%%done bra %s;
""" % (shared.name.upper(), shared.lines, shared.chunks, shared.major.upper(), 16 * shared.width if shared.width > 1 else 0,
            shared.lead, shared.stride, thread, again, total, done))
        if shared.chunks & shared.chunks - 1:
            self.add("div.u32 %%o, %%i, %d;\nrem.u32 %%c, %%i, %d;" % (shared.chunks, shared.chunks))
        else:
            self.add("shr.u32 %%o, %%i, %d;\nand.b32 %%c, %%i, %d;" % (shared.chunks.bit_length() - 1, shared.chunks - 1))
        self.add("add.u32 %%p, %%smem, %d;" % (shared.at + start))
        if moved:
            self.add("add.u32 %%p, %%p, %s;" % moved)
        for coordinate, shift, mask, size in shared.terms():
            part = "%" + coordinate
            if shift:
                self.add("shr.u32 %%u, %s, %d;" % (part, shift))
                part = "%u"
            if mask is not None:
                self.add("and.b32 %%u, %s, %d;" % (part, mask))
                part = "%u"
            self.add("mad.lo.u32 %%p, %s, %d, %%p;" % (part, size))
        if shared.width > 1:
            self.add("shr.u32 %%u, %%o, %d;\nxor.b32 %%u, %%u, %%c;\nand.b32 %%u, %%u, %d;\nmad.lo.u32 %%p, %%u, 16, %%p;"
                     % (shared.phase(), shared.width - 1))
        self.add("""
mul.wide.u32 %%q, %%i, 16;
add.u64 %%q, %s, %%q;
ld.global.v4.b32 {%%x0, %%x1, %%x2, %%x3}, [%%q];
st.shared.v4.b32 [%%p], {%%x0, %%x1, %%x2, %%x3};
add.u32 %%i, %%i, %d;
bra %s;
%s:
""" % (pointer, threads, again, done))

    def ready(self):
        """Makes the copies visible to the products."""
        self.add("fence.proxy.async%s;\nbar.sync 0;" % (".shared::cta" if self.generic else ""))

    def descriptor(self, register, shared, declare=True):
        self.add("""
%sadd.u32 %%u, %%smem, %d;
and.b32 %%u, %%u, 0x3FFFF;
shr.u32 %%u, %%u, 4;
cvt.u64.u32 %s, %%u;
or.b64 %s, %s, 0x%016x;
""" % (".reg .b64 %s;\n" % register if declare else "", shared.at, register, register, register, shared.fields()))

    def advanced(self, register, source, distance):
        """A descriptor whose start address is `distance` bytes further."""
        assert distance % 16 == 0
        self.add(".reg .b64 %s;\nadd.s64 %s, %s, %d;" % (register, register, source, distance >> 4))

    # Fragments.

    def declare(self, form, letter):
        self.add(".reg .%s %%%s<%d>;" % (form.element, letter, form.registers))

    def move(self, form, letter, pointer, load, first=0):
        """Loads or stores the fragment of D in rows of n elements, `first` bytes after the pointer."""
        size = SIZE[form.td]
        row = form.n * size
        self.add("""
// %s: row g at g*%d, columns of t at t*%d
mul.lo.u32 %%u, %%row, %d;
mad.lo.u32 %%u, %%t, %d, %%u;
cvt.u64.u32 %%q, %%u;
add.u64 %%q, %s, %%q;
""" % (pointer[1:], row, 2 * size, row, 2 * size, pointer))
        for register in range(0, form.registers, 1 if size == 2 else 2):
            pair = register if size == 2 else register // 2
            there = "[%%q+%d]" % (first + pair % 2 * 8 * row + pair // 2 * 8 * size)
            what = "%%%s%d" % (letter, register)
            kind = "b32"
            if size == 4:
                what, kind = "{%s, %%%s%d}" % (what, letter, register + 1), "v2." + form.td
            self.add("ld.global.%s %s, %s;" % (kind, what, there) if load else "st.global.%s %s, %s;" % (kind, there, what))

    def zero(self, form, letter):
        self.fill(form, letter, "0f00000000" if form.td == "f32" else "0")

    def spoil(self, form, letter):
        """Accumulators which a product must ignore: NaNs, or the largest integer."""
        self.fill(form, letter, {"f32": "0f7FC00000", "f16": "0x7E007E00", "s32": "0x7FFFFFFF"}[form.td])

    def fill(self, form, letter, value):
        self.add("\n".join("mov.%s %s, %s;" % (form.element, r, value) for r in named(letter, form.registers)))

    def load_a(self, letter, pointer, row, step=0, declare=True):
        """The four registers of A from rows of `row` bytes."""
        if declare:
            self.add(".reg .b32 %%%s<4>;" % letter)
        self.add("""
// A: row g at g*%d, columns of t at t*4
mul.lo.u32 %%u, %%row, %d;
mad.lo.u32 %%u, %%t, 4, %%u;
cvt.u64.u32 %%q, %%u;
add.u64 %%q, %s, %%q;
""" % (row, row, pointer))
        for i in range(4):
            self.add("ld.global.b32 %%%s%d, [%%q+%d];" % (letter, i, 32 * step + 16 * (i // 2) + 8 * row * (i % 2)))

    def product(self, form, d, a, b, scale="1", negate=(1, 1), transposed=(0, 0), metadata=None, selector=0):
        """One instruction; `a` is the name of a descriptor or of four registers."""
        registers = not a.startswith("%desc")
        operands = [braced(named(d, form.registers)), braced(named(a[1:], 4)) if registers else a, b]
        operands += [metadata, str(selector)] if form.sparse else []
        operands.append(scale)
        if form.floats:
            operands += [str(value) for value in negate]
        if form.halves:
            operands += [str(value) for value in (transposed[1:] if registers else transposed)]
        self.add(form.instruction + " " + ", ".join(operands) + ";")

    def fence(self):
        self.add("wgmma.fence.sync.aligned;")

    def commit(self):
        self.add("wgmma.commit_group.sync.aligned;")

    def wait(self, count=0):
        self.add("wgmma.wait_group.sync.aligned %d;" % count)

    # Files.

    def finish(self):
        header = """
.reg .b32 %thread, %lane, %warp, %g, %t, %row, %smem, %i, %o, %c, %p, %u, %x<4>;
.reg .b64 %q;
.reg .pred %done;
"""
        if self.size:
            assert self.size <= 48 << 10
            header += ".shared .align 1024 .b8 smem[%d];\n" % self.size
        for name, kind in self.parameters:
            if kind == "u64":
                header += ".reg .b64 %%%s;\nld.param.u64 %%%s, [%s];\ncvta.to.global.u64 %%%s, %%%s;\n" % (
                    name.upper(), name.upper(), name, name.upper(), name.upper())
            else:
                header += ".reg .u32 %%%s;\nld.param.u32 %%%s, [%s];\n" % (name.upper(), name.upper(), name)
        header += """
mov.u32 %thread, %tid.x;
and.b32 %lane, %thread, 31;
shr.u32 %warp, %thread, 5;
shr.u32 %g, %lane, 2;
and.b32 %t, %lane, 3;
mad.lo.u32 %row, %warp, 16, %g;
"""
        if self.size and self.generic:
            header += "mov.u64 %q, smem;\ncvta.shared.u64 %q, %q;\ncvta.to.shared.u64 %q, %q;\ncvt.u32.u64 %smem, %q;\n"
        elif self.size:
            header += "mov.u32 %smem, smem;\n"
        case.write_ptx(self.name, self.version, "sm_90a", self.parameters, self.about, header + self.body,
                       directives="\n".join(self.directives), family=FAMILY)
        case.write(self.name, self.about.strip().replace("\n", " "), self.arguments, self.threads, family=FAMILY)


# Numbers whose sums of products are exact, whatever the order, even where few bits are kept.


def number(rng, kind, narrow=False):
    if kind in ("s8", "u8", "b1"):
        return case.numbers(rng, kind, "a")
    if kind in ("e4m3", "e5m2"):
        return rng.randint(-4, 4) / 2 if narrow else rng.randint(-8, 8) / 2
    if narrow:
        return rng.randint(-4, 4) / 4
    return {"f16": rng.randint(-32, 32) / 8, "bf16": rng.randint(-32, 32) / 8, "tf32": rng.randint(-64, 64) / 16}[kind]


def matrix(rng, rows, columns, kind, narrow=False):
    return [[number(rng, kind, narrow) for _ in range(columns)] for _ in range(rows)]


def accumulator(rng, rows, columns, kind, inputs):
    if kind == "s32":
        return [[rng.randint(-1 << 20, 1 << 20) for _ in range(columns)] for _ in range(rows)]
    step = 4 if inputs in ("e4m3", "e5m2") else 16
    limit = 32 if kind == "f16" else 64
    return [[rng.randint(-limit * step, limit * step) / step for _ in range(columns)] for _ in range(rows)]


def multiplied(a, columns, c):
    """A * B + C in exact arithmetic, with B given by its columns."""
    return [[sum(x * y for x, y in zip(row, column)) + c[i][j] for j, column in enumerate(columns)] for i, row in enumerate(a)]


def exact(rows, kind):
    """The rows, as a list of values which the accumulator can hold."""
    values = flat(rows)
    case.packed(kind, values)  # it asserts that
    return values
