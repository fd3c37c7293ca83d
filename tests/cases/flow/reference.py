"""Writes the execution cases of the kernels in this folder: inputs, and what the kernels must make of them.

Expected values come from the functions here, which are written from what each kernel is to do, without any compiler.

    python3 tests/cases/flow/reference.py        # writes tests/cases/NAME.json

The PTX beside each `.cu` is what `nvcc -ptx -arch=sm_80` makes of it.
"""

import json
import random
import struct
from collections import deque
from pathlib import Path

MASK = 0xFFFFFFFF


def signed(value):
    """The number that 32 bits stand for."""
    value &= MASK
    return value - (1 << 32) if value >> 31 else value


def words(values):
    return b"".join(struct.pack("<I", value & MASK) for value in values)


def fnv(state, byte):
    return (state ^ byte) * 16777619 & MASK


# Each function below makes one case: its launch, its arguments.


def lexer_goto(rng):
    length, threads = 40, 32
    alphabet = "abz019 \"\\#;$!" + "aaz  00"
    texts = []
    for index in range(threads):
        pieces = ["name", "x1", "12", "907", " ", "\"text\"", "\"a\\\"b\"", "# note;", "7up", "!", "?", "z"]
        text = "".join(rng.choice(pieces) + rng.choice(["", " "]) for _ in range(40))
        if index % 3 == 0:
            text = "".join(rng.choice(alphabet.replace("$", "") + "  ") for _ in range(length))
        if index % 5 == 0:
            at = rng.randrange(length)
            text = text[:at] + "$" + text[at:]
        texts.append(text[:length].ljust(length))

    def lex(text):
        letters, digits = set("abcdefghijklmnopqrstuvwxyz"), set("0123456789")
        counts = dict(word=0, number=0, string=0, comment=0, error=0)
        digest, rest = 2166136261, deque(text)

        def string():
            """Reads the rest of a string. Whether the text goes on after it."""
            nonlocal digest
            while rest:
                c = rest.popleft()
                if c == '"':
                    counts["string"] += 1
                    return True
                if c == "\\":
                    if not rest:
                        break
                    digest = fnv(digest, ord(rest.popleft()) + 1)
                else:
                    digest = fnv(digest, ord(c))
            counts["error"] += 1
            return False

        while rest:
            c = rest.popleft()
            if c == " ":
                continue
            if c in digits:
                value = int(c)
                while rest and rest[0] in digits:
                    value = (value * 10 + int(rest.popleft())) & MASK
                if not (rest and rest[0] in letters):
                    digest = (digest + value) & MASK
                    counts["number"] += 1
                    continue
                counts["error"] += 1
                c = rest.popleft()
            if c in letters:
                digest = fnv(digest, ord(c))
                while rest and rest[0] in letters | digits:
                    digest = fnv(digest, ord(rest.popleft()))
                counts["word"] += 1
            elif c == '"':
                if not string():
                    break
            elif c == "#":
                while rest and rest[0] not in ';"':
                    rest.popleft()
                if not rest:
                    counts["error"] += 1
                    break
                if rest.popleft() == ";":
                    counts["comment"] += 1
                elif not string():
                    break
            elif c == "$":
                break
            else:
                counts["error"] += 1
        return [
            counts["word"] | counts["number"] << 16,
            counts["string"] | counts["comment"] << 16,
            counts["error"],
            digest,
        ]

    out = [word for text in texts for word in lex(text)]
    return dict(
        about="A lexer whose states are labels.",
        block=threads,
        args=[given("text", "u8", "".join(texts).encode()), scalar("s32", length), made("out", "u32", words(out))],
    )


def grid_walk(rng):
    side, threads = 16, 96
    grid = [[rng.choice(".<>^v<>^vvv<^>>.#") for _ in range(side)] for _ in range(side)]
    for mark, count in [("!", 3), ("*", 5), ("#", 6)]:
        for _ in range(count):
            grid[rng.randrange(side)][rng.randrange(side)] = mark

    def walk(thread):
        x, y, total, turns = thread % side, thread * 7 % side, 0, 0
        finish = lambda reason, mixed: (mixed << 8 | reason) & MASK
        for turn in range(12):
            for step in range(24):
                cell = grid[y][x]
                total = (total * 5 + ord(cell)) & MASK
                if cell == ".":
                    continue
                if cell == "!":
                    return 0xDEAD0000 | turn << 8 | step
                if cell == "*":
                    return finish(2, total ^ 0x5555)
                if cell == "#":
                    turns += 1
                    if turns > 20:
                        return finish(3, total ^ 0x5555)
                    break
                dx, dy = {"<": (-1, 0), ">": (1, 0), "^": (0, -1)}.get(cell, (0, 1))
                x, y = x + dx, y + dy
                if x < 0:
                    return finish(4, total)
                if x == side:
                    return finish(5, total)
                if y < 0:
                    return finish(6, total)
                if y == side:
                    return total & 0xFFFF
            x, y = (x + 1 + turn % 3) % side, (y + thread % 2) % side
        return finish(1, total ^ 0x5555)

    text = "".join("".join(row) for row in grid).encode()
    return dict(
        about="A walk over a grid: nested loops with eight ways out, two of which end the thread.",
        block=threads,
        args=[
            given("grid", "u8", text),
            scalar("s32", side),
            made("out", "u32", words(walk(thread) for thread in range(threads))),
        ],
    )


def lz_match(rng):
    length = 64
    parts = [bytes(rng.choice(b"ab") for _ in range(rng.randrange(2, 12))) for _ in range(6)]
    text = b"".join(rng.choice(parts) + bytes([rng.choice(b"abcd")]) for _ in range(40))[:length]

    def match(at):
        limit = min(24, length - at)
        if limit < 3:
            return 0
        # The nearest of the longest matches within 64 bytes, if it is longer than two bytes.
        lengths = []
        for distance in range(1, min(at, 64) + 1):
            same = 0
            while same < limit and text[at - distance + same] == text[at + same]:
                same += 1
            lengths.append((same, -distance))
        same, distance = max(lengths, default=(0, 0))
        return same << 16 | -distance if same > 2 else 0

    return dict(
        about="The longest earlier match of each position, as in LZ77: continue, and breaks out of two loops.",
        block=length,
        args=[
            given("text", "u8", text),
            scalar("s32", length),
            made("out", "u32", words(match(at) for at in range(length))),
        ],
    )


def tree_ballot(rng):
    threads, keys = 64, rng.sample(range(200), 48)
    nodes = [[keys[0], -1, -1]]
    for key in keys[1:]:
        at = 0
        while True:
            side = 1 if key < nodes[at][0] else 2
            if nodes[at][side] < 0:
                nodes[at][side] = len(nodes)
                nodes.append([key, -1, -1])
                break
            at = nodes[at][side]
    bounds = []
    for _ in range(threads):
        low = rng.randrange(180)
        bounds.append((low, low + rng.randrange(60)))

    def below(at, low, high, depth):
        if at < 0:
            return 0
        key, left, right = nodes[at]
        if key < low:
            return below(right, low, high, depth + 1) + 1
        if key > high:
            return below(left, low, high, depth + 1) + 1
        found = key * depth + below(left, low, high, depth + 1)
        return found if found & 4 else found - below(right, low, high, depth + 1)

    first = [below(0, low, high, 1) for low, high in bounds]
    second = [
        found + below(0, high - 10, high, 3) if found & 1 else found for found, (_, high) in zip(first, bounds)
    ]
    out = []
    for thread in range(threads):
        warp, lane = thread // 32 * 32, thread % 32
        odd = sum((first[warp + other] & 1) << other for other in range(32))
        large = sum((second[warp + other] > 100) << other for other in range(32))
        out += [second[thread], odd ^ large, bin(odd & (1 << lane) - 1).count("1")]
    return dict(
        about="A recursive walk of a search tree, whose depth differs by lane, and votes of the warp after it.",
        block=threads,
        args=[
            given("nodes", "s32", words(word for node in nodes for word in node)),
            given("bounds", "s32", words(word for pair in bounds for word in pair)),
            made("out", "u32", words(out)),
        ],
    )


def virtual_reduce(rng):
    threads, rounds = 64, 4
    inputs = [rng.getrandbits(32) for _ in range(threads * rounds)]

    def rectangle(a, b):
        return lambda scale: a * b * scale, 4

    def triangle(a, b):
        return lambda scale: 0 if a > b else a * b * scale // 2, 3

    def stairs(a, b):
        return lambda scale: sum((step + 1) * scale for step in range(min(a, b))), 2 * a + 2

    def pair(first, second):
        return lambda scale: first[0](scale) + second[0](scale + 1), first[1] + second[1]

    totals = [0] * threads
    for turn in range(rounds):
        values = []
        for thread in range(threads):
            word = inputs[thread * rounds + turn]
            a, b = word >> 8 & 15, word >> 16 & 15
            shapes = [rectangle(a, b), triangle(a, b + 3), stairs(a + 1, b)]
            shape = pair(shapes[word % 3], shapes[(word >> 4) % 3])
            if word & 0x60:
                shape = shapes[(word >> 2) % 3]
            values.append(shape[0](turn + 1) * 10 + shape[1])
        for thread in range(threads):
            warp = thread // 32 * 32
            totals[thread] = totals[thread] * 3 + sum(values[warp : warp + 32])
    out = [total + thread % 32 for thread, total in enumerate(totals)]
    return dict(
        about="Virtual functions of objects of several classes, then a sum over the warp, in each turn of a loop.",
        block=threads,
        args=[
            given("input", "u32", words(inputs)),
            scalar("s32", rounds),
            made("out", "s32", words(out)),
        ],
    )


def function_arms(rng):
    threads = 64
    inputs = [rng.getrandbits(32) for _ in range(threads)]

    # Each yields what a thread gives to its neighbour, and gets what the neighbour gives.
    def itself(x):
        for turn in range(6):
            x = x + 2 * (yield x ^ turn) & MASK
        return x

    def direct(x):
        for _ in range(6):
            x = x * 3 + (yield x) & MASK
        return x

    def plus(x):
        for turn in range(3):
            x = x + (yield x + turn & MASK) & MASK
            x = x ^ (yield x >> 3)
        return x

    def times(x):
        for _ in range(2):
            for more in (0, 5, 9):
                x = x * ((yield x + more & MASK) | 1) & MASK
        return x

    def deeper(x, depth):
        x = x + 7 * (yield x) & MASK
        return (yield from deeper(x + depth & MASK, depth - 1)) ^ depth if depth > 0 else x

    def start(x):
        by_address = times if x & 1 else plus
        recursive = lambda x: deeper(x, 5)
        return [itself, itself, direct, direct, by_address, by_address, recursive, recursive][x >> 8 & 7](x)

    out = []
    for first in range(0, threads, 2):
        pair = [start(inputs[first]), start(inputs[first + 1])]
        given_ = [next(lane) for lane in pair]
        for _ in range(5):
            given_ = [lane.send(theirs) for lane, theirs in zip(pair, reversed(given_))]
        for lane, theirs in zip(pair, reversed(given_)):
            try:
                lane.send(theirs)
            except StopIteration as end:
                out.append(end.value)
    return dict(
        about="Lanes that exchange in a kernel and in several functions.",
        block=threads,
        args=[given("input", "u32", words(inputs)), made("out", "u32", words(out))],
    )


def both_arms(rng):
    threads, count = 64, 20
    inputs = [rng.getrandbits(32) for _ in range(threads)]
    offered = [x if x & 16 else x + 5 & MASK for x in inputs]
    out = []
    for thread, first in enumerate(inputs):
        theirs, total = offered[thread ^ 1], 0
        if first & 16:
            x = theirs * 3 & MASK
            if x & 1:
                total = x >> 7
        else:
            x = theirs ^ 0x55
        for turn in range(count):
            total = total * 1664525 + x & MASK
            x ^= total >> 13
            if x & 64:
                x = x + turn * (total & 0xFF) & MASK
        out.append(total + x)
    return dict(
        about="An exchange of all lanes in each arm of a branch, and a loop after it.",
        block=threads,
        args=[given("input", "u32", words(inputs)), made("out", "u32", words(out)), scalar("u32", count)],
    )


def collatz_breaks(rng):
    threads, count = 32, 2
    starts = [rng.choice([0, 27, 97, 55, rng.randrange(1, 3000), rng.randrange(1, 60)]) for _ in range(threads * count)]

    def follow(list_):
        longest = which = peak = stopped = 0
        for index, n in enumerate(list_):
            if n == 0:
                continue
            steps, ended = 0, None
            while n != 1:
                if n % 2 and n > 50000:
                    stopped += 1
                    break
                n = 3 * n + 1 if n % 2 else n // 2
                peak = max(peak, n)
                steps += 1
                if steps == 100:
                    ended = "long"
                    break
            if ended:
                stopped += 0x100
                if stopped >= 0x300:
                    break
            elif steps > longest:
                longest, which = steps, index
        return [longest << 16 | which << 12 | stopped, peak]

    out = [word for thread in range(threads) for word in follow(starts[thread * count : thread * count + count])]
    return dict(
        about="Collatz sequences: break, continue and goto between two loops.",
        block=threads,
        args=[given("starts", "u32", words(starts)), scalar("s32", count), made("out", "u32", words(out))],
    )


def string_search(rng):
    threads, size = 32, 8
    text = "".join(rng.choice(["ab", "abc", "aab", "ba", "cab", " ", "bb"]) for _ in range(16))
    patterns = ["".join(rng.choice("aabbc?") for _ in range(rng.randrange(1, 7))) for _ in range(threads)]
    for index in range(0, threads, 5):
        patterns[index] = patterns[index][:2] + "*b"

    def find(pattern, begin):
        for at in range(begin, len(text)):
            for index, wanted in enumerate(pattern + "\0"):
                if wanted == "\0":
                    return at
                if at + index >= len(text):
                    return -1
                found = text[at + index]
                if wanted == "*":
                    if found == " ":
                        return -2 - index
                elif wanted != "?" and found != wanted:
                    break
        return -1

    results = []
    for pattern in patterns:
        found, last, begin = 0, -1, 0
        while found < 5:
            at = find(pattern, begin)
            if at == -1:
                break
            last = at
            if at < 0:
                begin += 1 - at
            else:
                found += 1
                begin = at + 1
        results.append((found, last))
    out = []
    for thread, (found, last) in enumerate(results):
        warp = thread // 32 * 32
        out += [found, last, max(found for found, _ in results[warp : warp + 32])]
    return dict(
        about="A search whose function returns from the midst of nested loops, then the maximum over the warp.",
        block=threads,
        args=[
            given("text", "u8", text.encode()),
            scalar("s32", len(text)),
            given("patterns", "u8", b"".join(pattern.encode().ljust(size, b"\0") for pattern in patterns)),
            scalar("s32", size),
            made("out", "s32", words(out)),
        ],
    )


def mandelbrot_levels(_):
    threads, width, rows, limit, budget = 64, 60, 4, 12, 72

    def quotient(a, b):
        """Towards zero."""
        return abs(a) // b * (1 if a >= 0 else -1)

    def points(thread):
        total = work = reason = 0
        for row in range(rows):
            cy = quotient((row * 2 - rows) * 4096, rows)
            for column in range(3):
                cx = quotient(((thread * 3 + column) % width * 3 - 2 * width) * 4096, width)
                x = y = turn = 0
                skip = False
                while turn < limit:
                    xx, yy = x * x >> 12, y * y >> 12
                    if xx + yy > 4 * 4096:
                        break
                    x, y = xx - yy + cx, (x * y >> 11) + cy
                    work += 1
                    if work > budget:
                        return total, work << 12 | 1
                    if x == 0 and y == 0 and turn > 2:
                        reason += 0x100
                        skip = True
                        break
                    turn += 1
                if skip:
                    break
                total = (total * 31 + turn) & MASK
                if turn == limit and column == 1:
                    break
            else:
                if total & 0x3F == 0x15:
                    reason |= 2
                    break
        return total ^ 0x1000, work << 12 | reason

    out = [word for thread in range(threads) for word in points(thread)]
    return dict(
        about="Points of the Mandelbrot set in fixed point; loops are left two and three at a time.",
        block=threads,
        args=[scalar("s32", value) for value in (width, rows, limit, budget)] + [made("out", "u32", words(out))],
    )


def vm_run(rng):
    threads, fuel = 64, 400
    # Counts the steps of a sequence from the input, then falls through sums and products, with some faults on the way.
    code = [
        1,  # 0: push
        6, 8,  # 1: odd? to 8
        5,  # 3: halve
        10,  # 4: print
        7, 1,  # 5: above one? to 1
        0,  # 7: halt
        4, 3,  # 8: times three
        3, 1,  # 10: plus one
        1,  # 12: push
        5,  # 13: halve
        9,  # 14: combine, print
        3, 2,  # 15
        6, 23,  # 17: odd? to 23
        2,  # 19: pop
        3, -7 & 255,  # 20
        5,  # 22: halve
        7, 1,  # 23: above one? to 1
        3, 9,  # 25
        6, 32,  # 27: odd? to 32
        8, 12,  # 29: jump to 12
        0,  # 31
        2,  # 32: pop
        6, 32,  # 33: odd? to 32
        77,  # 35: no instruction
    ]
    inputs = [rng.randrange(-20, 400) for _ in range(threads)]

    def run(accumulator):
        stack, at, left, printed = [], 0, fuel, 0
        byte = lambda place: code[place] - 256 if code[place] > 127 else code[place]

        def halt(status):
            return [accumulator * 4 + status, printed + len(stack) * 1000]

        while True:
            if left == 0:
                return halt(1)
            left -= 1
            op, at = code[at], at + 1
            if op == 0:
                return halt(0)
            elif op == 1:
                if len(stack) == 16:
                    return halt(2)
                stack.append(accumulator)
            elif op == 2:
                if not stack:
                    return [-1, at]
                accumulator = stack.pop()
            elif op == 3:
                accumulator, at = signed(accumulator + byte(at)), at + 1
            elif op == 4:
                accumulator, at = signed(accumulator * byte(at)), at + 1
            elif op == 5:
                accumulator >>= 1
            elif op == 6:
                at = code[at] if accumulator & 1 else at + 1
            elif op == 7:
                at = code[at] if accumulator > 1 else at + 1
            elif op == 8:
                at = code[at]
            elif op in (9, 10):
                if op == 9:
                    if len(stack) < 2:
                        return halt(3)
                    top = stack.pop()
                    accumulator = signed(accumulator + top * 2 - stack[-1])
                printed = (printed * 33 + accumulator) & MASK
            else:
                return halt(op)

    out = [word for value in inputs for word in run(value)]
    return dict(
        about="An interpreter: a loop around a switch with fallthrough, several breaks, a jump out and a return.",
        block=threads,
        args=[
            given("code", "u8", bytes(code)),
            given("input", "s32", words(inputs)),
            scalar("s32", fuel),
            made("out", "s32", words(out)),
        ],
    )


def hash_probe(rng):
    threads, grid, count = 128, 2, 12
    keys = [rng.choice([0, rng.randrange(1, 0x30000), rng.randrange(1, 0x30000)]) for _ in range(threads * grid)]
    wanted, out = [], []
    for thread in range(threads * grid):
        cta = thread // threads * threads
        mine = [
            rng.choice(keys[cta : cta + threads]) or rng.randrange(1, 0x30000)
            if rng.random() < 0.7
            else rng.randrange(0, 0x30000)
            for _ in range(count)
        ]
        if thread % 7 == 0:
            mine[rng.randrange(count)] = 0
        wanted += mine
        there = set(keys[cta : cta + threads]) - {0}
        found = 0
        for index, sought in enumerate(mine):
            if sought == 0:
                out.append(0x80000000 | found << 8 | index)
                break
            if sought in there:
                found += 1
            elif sought & 0x10000:
                out.append(found)
                break
        else:
            out.append(found)
    return dict(
        about="A hash table in shared memory: look-ups that end at once, next to each other, or with the thread.",
        block=threads,
        grid=grid,
        args=[
            given("keys", "u32", words(keys)),
            given("wanted", "u32", words(wanted)),
            scalar("s32", count),
            made("out", "u32", words(out)),
        ],
    )


def sudoku_goto(rng):
    threads, limit = 32, 32
    solved = [1, 2, 3, 4, 3, 4, 1, 2, 2, 1, 4, 3, 4, 3, 2, 1]
    peers = [
        [
            other
            for other in range(16)
            if other != cell
            and (
                other // 4 == cell // 4
                or other % 4 == cell % 4
                or (other // 8 == cell // 8 and other % 4 // 2 == cell % 4 // 2)
            )
        ]
        for cell in range(16)
    ]
    boards = []
    for thread in range(threads):
        digits = rng.sample(range(1, 5), 4)
        board = [digits[value - 1] for value in solved]
        for cell in rng.sample(range(16), rng.randrange(4, 13)):
            board[cell] = 0
        if thread % 9 == 0:
            board[rng.randrange(16)] = rng.randrange(1, 5)
        boards.append(board)

    class GaveUp(Exception):
        pass

    def solve(given_):
        board = [0] * 16
        for cell, value in enumerate(given_):
            if value and any(board[other] == value for other in peers[cell]):
                return [MASK, cell, 0]
            board[cell] = value
        found, steps = [], 0

        def step():
            nonlocal steps
            steps += 1
            if steps > limit:
                raise GaveUp

        def fill(cell):
            if cell == 16:
                found.append(list(board))
            elif given_[cell]:
                fill(cell + 1)
            else:
                for value in range(1, 5):
                    step()
                    if all(board[other] != value for other in peers[cell]):
                        board[cell] = value
                        fill(cell + 1)
                        board[cell] = 0
                step()

        try:
            fill(0)
        except GaveUp:
            pass
        first = 0
        for value in found[0] if found else []:
            first = first * 4 + value - 1
        return [len(found), first, steps]

    out = [word for board in boards for word in solve(board)]
    return dict(
        about="Small Sudokus by backtracking with jumps between two loops; bad ones return at once.",
        block=threads,
        args=[
            given("boards", "u8", bytes(value for board in boards for value in board)),
            scalar("s32", limit),
            made("out", "u32", words(out)),
        ],
    )


def sieve_continue(_):
    threads, limit = 64, 3900
    prime = [n > 1 and all(n % d for d in range(2, int(n**0.5) + 1)) for n in range(limit)]
    prime[2] = False  # Only odd numbers are looked at.
    total = sum(prime)
    out = []
    for thread in range(threads):
        mine = [n for n in range(thread * 64, min(limit, thread * 64 + 64)) if prime[n]]
        out += [len(mine) << 16 | total, sum(n for n in mine if n + 2 < limit and prime[n + 2])]
    return dict(
        about="A sieve in shared memory: continue and break in nested loops, between barriers.",
        block=threads,
        args=[scalar("s32", limit), made("out", "u32", words(out))],
    )


def regex_match(rng):
    size, text_size, count, threads = 8, 16, 4, 64
    patterns = ["".join(rng.choice(["a", "b", ".", "a*", "b*", "ab"]) for _ in range(rng.randrange(1, 4))) for _ in range(32)]
    for index, pattern in enumerate(patterns):
        patterns[index] = ("^" if index % 5 == 0 else "") + pattern[:5] + ("$" if index % 4 == 1 else "")
    texts = ["".join(rng.choice("aab") for _ in range(rng.randrange(4, 12))) for _ in range(count)]

    def here(pattern, text, depth):
        """The depth of the call that ends a match here, and one more for each star on the way back; -1 without a match."""
        if pattern == "":
            return depth
        if pattern[1:2] == "*":
            end = 0
            while True:
                length = here(pattern[2:], text[end:], depth + 1)
                if length >= 0:
                    return length + 1
                if end == len(text) or pattern[0] not in (".", text[end]):
                    return -1
                end += 1
        if pattern == "$":
            return -1 if text else depth
        if text and pattern[0] in (".", text[0]):
            return here(pattern[1:], text[1:], depth + 1)
        return -1

    def match(pattern, text):
        if pattern.startswith("^"):
            return here(pattern[1:], text, 0)
        for at in range(len(text) + 1):
            depth = here(pattern, text[at:], 0)
            if depth >= 0:
                return at * 100 + depth
        return -1

    out = [0] * threads
    for index, text in enumerate(texts):
        found = [match(patterns[(thread + index * 5) % 32], text) for thread in range(threads)]
        for thread in range(threads):
            warp = thread // 32 * 32
            ballot = sum((found[warp + lane] >= 0) << lane for lane in range(32))
            out[thread] = (out[thread] * 7 + found[thread] + ballot) & MASK
    return dict(
        about="Regular expressions: functions that call each other, return from everywhere, and a vote after them.",
        block=threads,
        args=[
            given("patterns", "u8", b"".join(pattern.encode().ljust(size, b"\0") for pattern in patterns)),
            scalar("s32", size),
            given("texts", "u8", b"".join(text.encode().ljust(text_size, b"\0") for text in texts)),
            scalar("s32", text_size),
            scalar("s32", count),
            made("out", "u32", words(out)),
        ],
    )


def deep_arms(rng, leaves, goes_on):
    """Arms inside each other: `leaves` says whether a digest ends a thread's rounds in the innermost arm, and `goes_on` whether it
    ends the round in one of them."""
    threads, levels, rounds = 64, 22, 6
    values = [rng.randrange(1 << 32) for _ in range(rounds * levels * threads)]
    trace = [0] * (levels * threads)
    digests, ends = [], []
    for thread in range(threads):
        digest, ended = 1, rounds
        for at in range(rounds):
            deepest = levels
            for level in range(levels):
                value = values[(at * levels + level) * threads + thread]
                digest = (digest * 31 + value) & MASK
                if value % 16 == 0:
                    deepest = level
                    break
            if deepest == levels:
                if leaves(digest):
                    ended = at
                    break
                digest = (digest + at) & MASK
            for level in range(min(deepest, levels - 1), -1, -1):
                digest ^= digest >> 3
                trace[level * threads + thread] = digest
                if goes_on(level, digest):
                    break
        digests.append(digest)
        ends.append(ended)
    args = [given("in", "u32", words(values)), scalar("s32", rounds), made("trace", "u32", words(trace))]
    return args, digests, ends


def ballot(digests, thread):
    """The lanes of a thread's warp with an odd digest."""
    warp = thread // 32 * 32
    return sum((digests[warp + lane] & 1) << lane for lane in range(32))


def deep_nesting(rng):
    args, digests, ends = deep_arms(
        rng, lambda _: False, lambda level, digest: level == 3 and digest % 16 == 0
    )
    out = []
    for thread, digest in enumerate(digests):
        out += [digest + ballot(digests, thread), ends[thread]]
    return dict(
        about="Twenty-two arms inside each other, more than there are convergence barriers, and a vote after the loop.",
        block=len(digests),
        args=[*args, made("out", "u32", words(out))],
    )


def deep_breaks(rng):
    args, digests, ends = deep_arms(
        rng, lambda digest: digest % 4 == 0, lambda level, digest: level % 4 == 3 and digest % 16 == 0
    )
    out = []
    for thread, digest in enumerate(digests):
        out += [digest + ballot(digests, thread), ends[thread]]
    return dict(
        about="Twenty-two arms inside each other, which lanes leave by break and continue, and a vote after the loop.",
        block=len(digests),
        args=[*args, made("out", "u32", words(out))],
    )


def scalar(elem, value):
    return {"kind": "scalar", "elem": elem, "value": value}


def given(name, elem, content):
    """A buffer that is only read."""
    return {
        "kind": "buffer",
        "name": name,
        "elem": elem,
        "init": {"hex": content.hex()},
        "expect": {"hex": content.hex()},
        "tolerance": "exact",
    }


def made(name, elem, content):
    """A buffer that the kernel writes."""
    return {
        "kind": "buffer",
        "name": name,
        "elem": elem,
        "init": {"zeros": len(content)},
        "expect": {"hex": content.hex()},
        "tolerance": "exact",
    }


CASES = [
    lexer_goto,
    grid_walk,
    lz_match,
    tree_ballot,
    virtual_reduce,
    function_arms,
    both_arms,
    collatz_breaks,
    string_search,
    mandelbrot_levels,
    vm_run,
    hash_probe,
    sudoku_goto,
    sieve_continue,
    regex_match,
    deep_nesting,
    deep_breaks,
]


def main():
    folder = Path(__file__).resolve().parent.parent
    for case in CASES:
        name = case.__name__
        made_ = case(random.Random(name))
        head = {
            "ptx": f"cases/flow/{name}.ptx",
            "entry": name,
            "grid": [made_.get("grid", 1), 1, 1],
            "block": [made_["block"], 1, 1],
            "dynamic_smem": 0,
            "about": made_["about"],
        }
        # One argument a line.
        text = json.dumps(head)[:-1] + ', "args": [\n  '
        text += ",\n  ".join(json.dumps(arg) for arg in made_["args"]) + "\n]}\n"
        (folder / f"{name}.json").write_text(text)


if __name__ == "__main__":
    main()
