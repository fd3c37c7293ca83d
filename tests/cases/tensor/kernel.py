"""Writes a kernel of tensor copies and its case: NAME.ptx here and NAME.json in the folder above."""

import json
import random
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
PAINT = 0xA5  # the bytes that shared memory holds before a copy

REGISTERS = """
.reg .pred first, done, p<3>;
.reg .b16 mask, o<3>, h<4>;
.reg .b32 tid, rank, c<5>, there, barrier, r<8>;
.reg .b64 policy, to, rd<4>;
"""


def generator(name):
    return random.Random("ptxc tensor " + name)


class Kernel:
    """A kernel with `size` bytes of shared memory, `data`, and barriers `bars`; thread 0 issues the copies."""

    def __init__(self, name, about, size, bars=1, block=128, grid=1, cluster=1, version="8.0", target="sm_90"):
        self.name, self.about, self.size, self.bars = name, about, size, bars
        self.block, self.grid, self.cluster, self.version, self.target = block, grid, cluster, version, target
        self.parameters, self.args, self.head, self.body, self.labels = [], [], [], [], 0
        self.head.append("mov.u32 tid, %tid.x;")
        self.head.append("setp.ne.u32 first, tid, 0;")

    # Arguments.

    def buffer(self, name, before, after=None, elem="u8", checked=True):
        """A buffer; the register NAME_at has its address. Without `after` it stays as it was."""
        before = bytes(before)
        assert after is None or len(after) == len(before), self.name
        init = {"hex": before.hex()} if any(before) else {"zeros": len(before)}
        expect = {"hex": bytes(after if after is not None else before).hex()} if checked else None
        self.args.append({"kind": "buffer", "name": name, "elem": elem, "init": init, "expect": expect, "tolerance": "exact"})
        self.parameters.append(".param .u64 " + name)
        self.head += [".reg .b64 %s_at;" % name, "ld.param.u64 %s_at, [%s];" % (name, name),
                      "cvta.to.global.u64 %s_at, %s_at;" % (name, name)]

    def map(self, tensor, in_memory=False):
        """A tensor map; the register NAME_at has its generic address."""
        name = tensor.name
        self.args.append(tensor.argument(in_memory))
        self.head.append(".reg .b64 %s_at;" % name)
        if in_memory:
            self.parameters.append(".param .u64 " + name)
            self.head += ["ld.param.u64 %s_at, [%s];" % (name, name),
                          "fence.proxy.tensormap::generic.acquire.sys [%s_at], 128;" % name]
        else:
            self.parameters.append(".param .align 64 .b8 %s[128]" % name)
            self.head += ["mov.b64 %s_at, %s;" % (name, name), "cvta.param.u64 %s_at, %s_at;" % (name, name)]

    # Text.

    def emit(self, text):
        self.body += [line.strip() for line in text.strip().split("\n")]

    def label(self, stem):
        self.labels += 1
        return "%s_%d" % (stem, self.labels)

    def words(self, size, step):
        """A loop over the words of `size` bytes; `step` is its text, with the offset in r0 and r1."""
        top = self.label("WORDS")
        self.emit("shl.b32 r0, tid, 2;\n%s:\ncvt.u64.u32 rd0, r0;" % top)
        self.emit(step)
        self.emit("add.u32 r0, r0, %d;\nsetp.lt.u32 p0, r0, %d;\n@p0 bra %s;" % (4 * self.block, size, top))
        assert size % (4 * self.block) == 0, self.name

    def paint(self):
        self.words(self.size, "mov.u32 r1, data;\nadd.u32 r1, r1, r0;\nst.shared.b32 [r1], 0x%08x;" % (PAINT * 0x01010101))
        self.fence()

    def fill(self, buffer, size=None):
        """Shared memory from a buffer, by loads and stores of the threads."""
        self.words(size or self.size, """
            add.u64 rd1, %s_at, rd0;
            ld.global.b32 r2, [rd1];
            mov.u32 r1, data;
            add.u32 r1, r1, r0;
            st.shared.b32 [r1], r2;""" % buffer)
        self.fence()

    def fence(self):
        """The threads' stores come before later accesses of the copies, in a cluster also those of other CTAs."""
        self.emit("fence.proxy.async.shared::cta;" if self.cluster == 1 else "fence.proxy.async;")

    def copy_out(self, buffer="out", size=None):
        """Shared memory to a buffer; every CTA has its part."""
        self.emit("mov.u32 r3, %%ctaid.x;\nmul.wide.u32 rd2, r3, %d;\nadd.u64 rd2, rd2, %s_at;" % (size or self.size, buffer))
        self.words(size or self.size, """
            mov.u32 r1, data;
            add.u32 r1, r1, r0;
            ld.shared.b32 r2, [r1];
            add.u64 rd1, rd2, rd0;
            st.global.b32 [rd1], r2;""")

    def start(self, counts=None):
        """Barriers that await so many arrivals each, then everybody meets."""
        skip = self.label("MADE")
        self.emit("@first bra %s;" % skip)
        for number, count in enumerate(counts or [1] * self.bars):
            self.emit("mbarrier.init.shared::cta.b64 [bars+%d], %d;" % (8 * number, count))
        self.emit("fence.mbarrier_init.release.cluster;\n%s:" % skip)
        self.meet()

    def meet(self):
        if self.cluster == 1:
            self.emit("bar.sync 0;")
        else:
            self.emit("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;")

    def once(self, text):
        skip = self.label("SKIP")
        self.emit("@first bra %s;" % skip)
        self.emit(text)
        self.emit(skip + ":")

    def wait(self, bar=0, parity=0):
        top = self.label("WAIT")
        self.emit("%s:\nmbarrier.try_wait.parity.shared::cta.b64 done, [bars+%d], %d;\n@!done bra %s;" % (top, 8 * bar, parity, top))

    # Files.

    def write(self):
        text = ["// " + line for line in wrapped(self.about)]
        text += ["", ".version " + self.version, ".target " + self.target, ".address_size 64", ""]
        text += [".visible .entry %s(" % self.name, ",\n".join("\t" + parameter for parameter in self.parameters), ")"]
        if self.cluster > 1:
            text += [".reqntid %d" % self.block, ".reqnctapercluster %d" % self.cluster]
        lines = REGISTERS.strip().split("\n") + [".shared .align 1024 .b8 data[%d];" % self.size,
                                                ".shared .align 8 .b64 bars[%d];" % self.bars, ""]
        text += ["{"] + [line if line.endswith(":") or not line else "\t" + line
                         for line in lines + self.head + [""] + self.body + ["ret;"]] + ["}", ""]
        (FOLDER / (self.name + ".ptx")).write_text("\n".join(text))
        case = {"ptx": "cases/tensor/%s.ptx" % self.name, "entry": self.name, "grid": [self.grid, 1, 1],
                "block": [self.block, 1, 1], "dynamic_smem": 0, "about": self.about, "args": self.args}
        (FOLDER.parent / (self.name + ".json")).write_text(json.dumps(case, indent=1) + "\n")


def wrapped(text, width=110):
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) > width:
            lines.append("")
        lines[-1] = (lines[-1] + " " + word).strip()
    return lines


# Text of the copies.


def coordinates(at):
    return "{" + ", ".join("c%d" % axis for axis in range(len(at))) + "}"


def set_coordinates(at):
    return "".join("mov.b32 c%d, %d;\n" % (axis, x) for axis, x in enumerate(at))


def load(tensor, at, start, bar=0, offsets=None, space="shared::cluster", hint=False, mode=True):
    """Thread 0 announces the bytes of a box at the barrier and loads the box to data+start."""
    text = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bars+%d], %d;\n" % (8 * bar, tensor.bytes())
    text += set_coordinates(at)
    end = ""
    if offsets is not None:
        text += "".join("mov.b16 o%d, %d;\n" % (axis, x) for axis, x in enumerate(offsets))
        end = ", {" + ", ".join("o%d" % axis for axis in range(len(offsets))) + "}"
    kind = (".tile" if tensor.box else ".im2col") if mode or not tensor.box else ""
    if hint:
        text += "createpolicy.fractional.L2::evict_first.b64 policy, 1.0;\n"
        end += ", policy"
    return text + "cp.async.bulk.tensor.%dd.%s.global%s.mbarrier::complete_tx::bytes%s [data+%d], [%s_at, %s], [bars+%d]%s;\n" % (
        len(at), space, kind, ".L2::cache_hint" if hint else "", start, tensor.name, coordinates(at), 8 * bar, end)


def store(tensor, at, start, operation=None, hint=False, mode=True):
    """A store or, with an operation, a reduction, from data+start."""
    kind = (".tile" if mode else "") if tensor.box else ".im2col_no_offs"
    text = set_coordinates(at)
    if hint:
        text += "createpolicy.fractional.L2::evict_last.b64 policy, 0.5;\n"
    text += "cp.%sasync.bulk.tensor.%dd.global.shared::cta%s%s.bulk_group%s [%s_at, %s], [data+%d]%s;\n" % (
        "reduce." if operation else "", len(at), "." + operation if operation else "", kind,
        ".L2::cache_hint" if hint else "", tensor.name, coordinates(at), start, ", policy" if hint else "")
    return text


FINISH = "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n"


def strides_of(sizes, size, padding=16):
    """Strides in bytes, with room after each dimension."""
    result, stride = [], sizes[0] * size
    for length in sizes[1:]:
        stride = (stride + padding + 15) // 16 * 16
        result.append(stride)
        stride *= length
    return result


def room(tensor):
    """Bytes of a buffer that holds the tensor."""
    return max([tensor.sizes[0] * tensor.size] + [size * stride for size, stride in zip(tensor.sizes[1:], tensor.strides)])
