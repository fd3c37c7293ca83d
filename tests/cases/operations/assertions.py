"""The cases of a kernel with assertions: of a number with which all of them hold, and of one with which one fails.

    python3 tests/cases/operations/assertions.py        # writes tests/cases/assert_inside.json and assert_fails.json
"""

from case import scalar, unchecked, write, written

KERNEL = "lit/services/assert_inside.ptx"


def assert_inside():
    """Odd threads double their number in a function that asserts; 78 is even, so it never occurs there."""
    numbers = [2 * at if at % 2 else at for at in range(80)]
    write("assert_inside", [written("out", "u32", numbers), scalar("u32", 78)], block=40, grid=2,
          ptx=KERNEL)


def assert_fails():
    """77 is the number of thread 37 of CTA 1."""
    text = ("assert_inside.cu:6: unsigned int checked(unsigned int, unsigned int): "
            "the assertion `value != forbidden && \"the number is forbidden\"` fails")
    write("assert_fails", [unchecked("out", "u32", 80), scalar("u32", 77)], block=40, grid=2, ptx=KERNEL,
          entry="assert_inside", fault={"text": text, "cta": [1, 0, 0], "thread": [37, 0, 0]})


if __name__ == "__main__":
    assert_inside()
    assert_fails()
