"""Writes the case of expressions.cu and handlers.cu; kernel.json is for tests/lit/linking/kernel.ptx.

    python3 tests/linked/reference.py
"""

import random
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cases" / "operations"))

from case import MASK, read, write, written  # noqa: E402

LEAF, ADD, MULTIPLY, CHOOSE, NEGATE, REPEAT = range(6)
PARTS = {LEAF: 0, ADD: 2, MULTIPLY: 2, CHOOSE: 3, NEGATE: 1, REPEAT: 1}


def expression(rng, depth):
    """A tree: the byte of its root, and its parts."""
    kind = LEAF if depth == 0 else rng.choice([LEAF, ADD, ADD, MULTIPLY, MULTIPLY, CHOOSE, NEGATE, REPEAT])
    return rng.randrange(32) << 3 | kind, [expression(rng, depth - 1) for _ in range(PARTS[kind])]


def text_of(tree):
    return [tree[0]] + [byte for part in tree[1] for byte in text_of(part)]


def value_of(tree, x):
    byte, parts = tree
    kind = byte & 7
    if kind == LEAF:
        return (x + (byte >> 3)) & MASK
    if kind == ADD:
        return value_of(parts[0], x) + value_of(parts[1], x) & MASK
    if kind == MULTIPLY:
        return value_of(parts[0], x) * value_of(parts[1], x + 1) & MASK
    if kind == CHOOSE:
        condition = value_of(parts[0], x)
        return value_of(parts[1], x) if condition & 1 else value_of(parts[2], condition)
    if kind == NEGATE:
        return -value_of(parts[0], x) & MASK
    return sum(value_of(parts[0], x + n) for n in range((byte >> 3 & 3) + 1)) & MASK


def expressions():
    rng = random.Random("ptxc expressions")
    texts, starts, values, lengths = [], [], [], []
    for t in range(40):
        while True:
            tree = expression(rng, 5)
            text = text_of(tree)
            if len(text) <= 40 and (len(text) >= 6 or t % 8 == 0):
                break
        starts.append(len(texts))
        texts += text
        values.append(value_of(tree, t))
        lengths.append(len(text) | (0x100 if text[0] & 7 == LEAF else 0))
    write("expressions", [read("texts", "u8", texts), read("starts", "u32", starts), written("values", "u32", values),
                          written("lengths", "u32", lengths)], block=40, ptx="lit/linking/expressions.ptx", folder=HERE)


if __name__ == "__main__":
    expressions()
