"""The case of assertions that all hold. `tests/lit/services/assert_inside.ptx` runs the same kernel with a number that makes
one fail, which a case cannot express.

    python3 tests/cases/operations/assertions.py        # writes tests/cases/assert_inside.json
"""

from case import scalar, write, written


def assert_inside():
    """Odd threads double their number in a function that asserts; 78 is even, so it never occurs there."""
    numbers = [2 * at if at % 2 else at for at in range(80)]
    write("assert_inside", [written("out", "u32", numbers), scalar("u32", 78)], block=40, grid=2,
          ptx="lit/services/assert_inside.ptx")


if __name__ == "__main__":
    assert_inside()
