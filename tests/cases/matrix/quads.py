"""The cases of mma.m8n8k4 with binary16: four products, each by eight lanes.

    python3 quads.py        # writes the kernels and their cases

Buffers hold the fragments of the lanes one after another. Layouts: PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16
floating point type".
"""

from case import generator, packed, product, read, write, write_ptx, written

LANES = range(32)


def quad(lane):
    return lane % 16 // 4


def upper(lane):
    return 4 * (lane // 16)


def outer(lane, i, by_lanes):
    """The outer and the inner index of element i of a factor."""
    return (lane % 4 + upper(lane), i) if by_lanes else (i + upper(lane), lane % 4)


def place(kind, lane, i):
    """The row and the column of element i of sums."""
    if kind == "f16":
        return lane % 4 + upper(lane), i
    return (lane & 1) + (i & 2) + upper(lane), (i & 4) + (lane & 2) + (i & 1)


def case(a_layout, b_layout, d, c):
    name = "mma_quads_%s_%s_%s_%s" % (a_layout, b_layout, d, c)
    rng = generator(name)
    a = [[[rng.randint(-8, 8) / 2 for _ in range(4)] for _ in range(8)] for _ in range(4)]
    b = [[[rng.randint(-8, 8) / 4 for _ in range(8)] for _ in range(4)] for _ in range(4)]
    sums = [[[rng.randint(-64, 64) / 8 for _ in range(8)] for _ in range(8)] for _ in range(4)]
    results = [product(a[q], b[q], sums[q]) for q in range(4)]
    of_a, of_b, of_c, of_d = [], [], [], []
    for lane in LANES:
        for i in range(4):
            row, column = outer(lane, i, a_layout == "row")
            of_a.append(a[quad(lane)][row][column])
            column, row = outer(lane, i, b_layout == "col")
            of_b.append(b[quad(lane)][row][column])
        for i in range(8):
            row, column = place(c, lane, i)
            of_c.append(sums[quad(lane)][row][column])
            row, column = place(d, lane, i)
            of_d.append(results[quad(lane)][row][column])
    words = {"f16": 4, "f32": 8}
    types = {"f16": "b32", "f32": "f32"}
    lines = [".reg .b64 %address, %distance;", ".reg .b32 %lane, %a<2>, %b<2>;",
             ".reg .%s %%c<%d>;" % (types[c], words[c]), ".reg .%s %%d<%d>;" % (types[d], words[d]),
             "mov.u32 %lane, %laneid;"]

    def at(parameter, count):
        lines.extend(["ld.param.u64 %%address, [%s];" % parameter, "mul.wide.u32 %%distance, %%lane, %d;" % (4 * count),
                      "add.s64 %address, %address, %distance;"])

    for letter, count, kind in (("a", 2, "b32"), ("b", 2, "b32"), ("c", words[c], types[c])):
        at(letter, count)
        lines.extend("ld.global.%s %%%s%d, [%%address+%d];" % (kind, letter, n, 4 * n) for n in range(count))
    lists = ["{%s}" % ", ".join("%%%s%d" % (letter, n) for n in range(count))
             for letter, count in (("d", words[d]), ("a", 2), ("b", 2), ("c", words[c]))]
    lines.append("mma.sync.aligned.m8n8k4.%s.%s.%s.f16.f16.%s %s;" % (a_layout, b_layout, d, c, ", ".join(lists)))
    at("d", words[d])
    lines.extend("st.global.%s [%%address+%d], %%d%d;" % (types[d], 4 * n, n) for n in range(words[d]))
    write_ptx(name, "6.4", "sm_75", [(letter, "u64") for letter in "abcd"],
              "Four products of 8x4 and 4x8 elements, a by %s, b by %s" % (a_layout, b_layout), "\n".join(lines))
    write(name, "m8n8k4.%s.%s.%s.f16.f16.%s" % (a_layout, b_layout, d, c),
          [read("a", "f16", of_a), read("b", "f16", of_b), read("c", c, of_c), written("d", d, of_d)], 32)
    assert packed(d, of_d)


if __name__ == "__main__":
    for a_layout in ("row", "col"):
        for b_layout in ("row", "col"):
            for d, c in (("f16", "f16"), ("f32", "f16"), ("f32", "f32")):
                case(a_layout, b_layout, d, c)
