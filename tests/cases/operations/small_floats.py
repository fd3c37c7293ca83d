"""The case of floats of 8 bits, with the formats of the OCP specification that the PTX ISA refers to.

Rational numbers hold all values, so that nothing here is rounded except where the instruction rounds.

    python3 tests/cases/operations/small_floats.py        # writes tests/cases/NAME.json
"""

import math
import struct
from fractions import Fraction

from case import generator, read, write, written

# Bits of the exponent and of the fraction, the bias, and the greatest number.
E4M3 = (4, 3, 7, Fraction(448))
E5M2 = (5, 2, 15, Fraction(57344))


def value_of(code, format):
    """The number that a code stands for; floats for infinities and NaN."""
    exponent_bits, fraction_bits, bias, greatest = format
    negative, code = code >> 7, code & 0x7F
    exponent, fraction = code >> fraction_bits, code & ((1 << fraction_bits) - 1)
    if format is E4M3 and code == 0x7F:
        return math.nan
    if format is E5M2 and exponent == 31:
        return math.nan if fraction else (-math.inf if negative else math.inf)
    if exponent == 0:
        magnitude = Fraction(fraction, 1 << fraction_bits) * Fraction(2) ** (1 - bias)
    else:
        magnitude = (1 + Fraction(fraction, 1 << fraction_bits)) * Fraction(2) ** (exponent - bias)
    return -magnitude if negative else magnitude


def code_of(value, negative, format):
    """The nearest code, of two equally near ones the even one; what exceeds all numbers becomes the greatest."""
    numbers = [(code, value_of(code, format)) for code in range(0x80)]
    numbers = [(code, number) for code, number in numbers if isinstance(number, Fraction)]
    magnitude = abs(value)
    if magnitude == math.inf:
        nearest = numbers[-1][0]
    else:
        nearest = min(numbers, key=lambda pair: (abs(pair[1] - Fraction(magnitude)), pair[0] & 1))[0]
    return nearest | (0x80 if negative else 0)


def single(number):
    return struct.unpack("<f", struct.pack("<f", number))[0]


def half_of(code, format, relu=False):
    """Binary16 holds every number of both formats."""
    value = value_of(code, format)
    if relu and value < 0:
        return 0.0
    return math.copysign(float(value), -1.0 if code >> 7 and value == 0 else float(value))


def float8_codes():
    """Every code to a half and back; the codes of pairs differ in their two bytes."""
    codes = [(code * 0x47 + 0x15 & 0xFF) << 8 | code for code in range(256)]
    halves, back = [], []
    for format in (E4M3, E5M2):
        for relu in (False, True):
            for pair in codes:
                for code in (pair & 0xFF, pair >> 8):
                    halves.append(half_of(code, format, relu))
    # Back to the code it came from, except infinities, which become the greatest number. NaNs are counted apart:
    # no document names their bits.
    for format in (E4M3, E5M2):
        for pair in codes:
            word = 0
            for at, code in ((0, pair & 0xFF), (8, pair >> 8)):
                value = value_of(code, format)
                if isinstance(value, float) and math.isnan(value):
                    code = 0
                else:
                    code = code_of(value, code >> 7, format)
                word |= code << at
            back.append(word)
    write("float8_codes", [read("in", "u16", codes), written("halves", "f16", halves),
                           written("back", "u16", back)], block=256)


def float8_rounds():
    """Random numbers, numbers halfway between two codes, and numbers around the least and the greatest."""
    rng = generator("float8_rounds")
    numbers = []
    while len(numbers) < 128:
        format = rng.choice((E4M3, E5M2))
        code = rng.randrange(0x7B)
        here, above = value_of(code, format), value_of(code + 1, format)
        middle = float((here + above) / 2)
        kind = rng.randrange(5)
        if kind == 0:
            number = middle
        elif kind == 1:
            number = single(middle * (1 + rng.choice((-1, 1)) * 2.0 ** -20))
        elif kind == 2:
            number = single(rng.uniform(0, 1) * 2.0 ** rng.randrange(-20, 18))
        elif kind == 3:
            number = rng.choice([448.0, 464.0, 465.0, 480.0, 57344.0, 61440.0, 65536.0, 1e30, math.inf, 0.0, 2.0 ** -10,
                                 2.0 ** -11, 2.0 ** -17, 2.0 ** -16, 2.0 ** -140])
        else:
            number = float(here)
        numbers.append(single(number * rng.choice((1, -1))))
    # A half of a single: by rounding to nearest even; Python's conversion refuses what exceeds all halves.
    bounded = [min(max(number, -65504.0), 65504.0) for number in numbers]
    halves = [struct.unpack("<e", struct.pack("<e", number))[0] for number in bounded]
    codes, clipped = [], []
    for format in (E4M3, E5M2):
        for source in (numbers, halves):
            for t in range(64):
                pair = source[2 * t:2 * t + 2]
                high, low = [code_of(x, math.copysign(1, x) < 0, format) for x in pair]
                codes.append(high << 8 | low)
                # `.relu`, read as halves, because no document says which zero it leaves.
                clipped += [half_of(0 if x <= 0 else code, format) for x, code in ((pair[1], low), (pair[0], high))]
    # NaN stays NaN, in one half of a pair and beside an ordinary number, with and without `.relu`.
    nans = []
    for format in (E4M3, E5M2):
        for relu in (False, True):
            nans += [-0.0 if relu else -1.5, math.nan, math.nan, 2.0]
    write("float8_rounds", [read("in", "f32", numbers), read("halves", "f16", halves), written("codes", "u16", codes),
                            written("clipped", "f16", clipped), written("nans", "f16", nans)], block=64)


if __name__ == "__main__":
    float8_codes()
    float8_rounds()
