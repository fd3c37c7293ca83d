"""The case of functions that take memory from the stack as they run.

    python3 tests/cases/operations/stacks.py        # writes tests/cases/stack_moves.json
"""

from case import scalar, write, written


def stack_moves():
    n = 5

    def weigh(numbers):
        return sum(number * (i + 1) for i, number in enumerate(numbers))

    def nested(depth, seed):
        own = [seed + i for i in range(depth + 1)]
        return weigh(own) + (nested(depth - 1, seed * 3 + 1) if depth > 0 else 0)

    out = []
    for t in range(64):
        own = [t * 10 + i for i in range(t % 7 + 1)]
        many = [(t + n) * i for i in range(100)]
        result = weigh(own) + nested(t % 5, t)
        result += (many[t % 50] + 3 * many[99 - t % 50]) * 7
        result += weigh(own) * 3
        out.append(result + (nested(2, t) if t % 3 else 0))
    write("stack_moves", [written("out", "s32", out), scalar("s32", n)], block=64)


if __name__ == "__main__":
    stack_moves()
