"""The cases of wgmma with more than one group, accumulator, warpgroup or round of a loop.

    python3 flow.py         # writes the kernels and their cases
"""

from dense import BRAIN, HALF, MIXED, layout, stored
from kernel import Form, Kernel, accumulator, exact, flat, matrix, multiplied, transposed
from layouts import Shared


def zeros(n, rows=64):
    return [[0] * n for _ in range(rows)]


def summed(x, y):
    return [[p + q for p, q in zip(*rows)] for rows in zip(x, y)]


def groups():
    """D1 = A1*B and D2 = A2*B in two groups; D1 is read while the second group may still run."""
    kernel = Kernel("wgmma_two_groups", "two groups in flight: the first accumulator is stored after wait_group 1, "
                    "the second one after wait_group 0")
    form, rng = Form(*MIXED, 64), kernel.rng
    A, B = [matrix(rng, 64, 32, "f16") for _ in range(2)], matrix(rng, 64, 32, "f16")
    C = [accumulator(rng, 64, 64, "f32", "f16") for _ in range(2)]
    D = [multiplied(a, B, c) for a, c in zip(A, C)]
    kernel.read("a", "f16", flat(A[0] + A[1]))
    kernel.read("b", "f16", flat(B))
    kernel.read("c", "f32", exact(C[0] + C[1], "f32"))
    kernel.written("d", "f32", exact(D[0] + D[1], "f32"))
    sa = layout("a", 128, 2, "f16", 4, "k")
    sb = layout("b", 64, 2, "f16", 4, "k")
    for shared, pointer in ((sa, "%A"), (sb, "%B")):
        kernel.reserve(shared)
        kernel.copy(shared, pointer)
    for i in range(2):
        kernel.declare(form, "d%d_" % i)
        kernel.move(form, "d%d_" % i, "%C", load=True, first=i * 64 * 64 * 4)
    kernel.ready()
    kernel.descriptor("%desc_a0", sa)
    kernel.descriptor("%desc_b0", sb)
    kernel.advanced("%desc_a1", "%desc_a0", sa.step(1))
    kernel.advanced("%desc_b1", "%desc_b0", sb.step(1))
    for step in range(2):  # rows 64 ... 127 are eight groups of rows further
        kernel.advanced("%%desc_low%d" % step, "%%desc_a%d" % step, 8 * sa.stride)
    kernel.fence()
    for i, name in enumerate(("%desc_a", "%desc_low")):
        for step in range(2):
            kernel.product(form, "d%d_" % i, "%s%d" % (name, step), "%%desc_b%d" % step)
        kernel.commit()
    for i in range(2):
        kernel.wait(1 - i)
        kernel.move(form, "d%d_" % i, "%D", load=False, first=i * 64 * 64 * 4)
    kernel.finish()


def accumulators():
    """One group with products of different types and widths, mixed with one another."""
    kernel = Kernel("wgmma_two_accumulators", "products of two accumulators alternate in one group: bf16 with n = 32 and "
                    "s8 with n = 16", generic=True)
    rng = kernel.rng
    forms = [Form(*BRAIN, 32), Form("s32", "s8", "s8", 16)]
    matrices = []
    for form in forms:
        A, B = matrix(rng, 64, 2 * form.k, form.ta), matrix(rng, form.n, 2 * form.k, form.tb)
        C = accumulator(rng, 64, form.n, form.td, form.ta)
        matrices.append((A, B, C, multiplied(A, B, C)))
    for i, form in enumerate(forms):
        A, B, C, D = matrices[i]
        a, b, c, d = ("%s%d" % (letter, i) for letter in "abcd")
        kernel.read(a, form.ta, flat(A))
        kernel.read(b, form.tb, flat(B))
        kernel.read(c, form.td, exact(C, form.td))
        kernel.written(d, form.td, exact(D, form.td))
    places = []
    for i, form in enumerate(forms):
        sa, sb = layout("a", 64, 2, form.ta, 1 + 3 * i, "k"), layout("b", form.n, 2, form.tb, 4 - 3 * i, "k")
        for shared, pointer in ((sa, "%%A%d" % i), (sb, "%%B%d" % i)):
            kernel.reserve(shared)
            kernel.copy(shared, pointer)
        places.append((sa, sb))
        kernel.declare(form, "e%d_" % i)
        kernel.move(form, "e%d_" % i, "%%C%d" % i, load=True)
    kernel.ready()
    for i in range(2):
        for letter, shared in zip("ab", places[i]):
            kernel.descriptor("%%desc_%s%d_0" % (letter, i), shared)
            kernel.advanced("%%desc_%s%d_1" % (letter, i), "%%desc_%s%d_0" % (letter, i), shared.step(1))
    kernel.fence()
    for step in range(2):
        for i, form in enumerate(forms):
            kernel.product(form, "e%d_" % i, "%%desc_a%d_%d" % (i, step), "%%desc_b%d_%d" % (i, step))
    kernel.commit()
    kernel.wait()
    for i, form in enumerate(forms):
        kernel.move(form, "e%d_" % i, "%%D%d" % i, load=False)
    kernel.finish()


def loop():
    """A loop along k over tiles which are copied into the same place; scale-d is false in the first round."""
    rounds, steps, n = 5, 2, 48
    kernel = Kernel("wgmma_loop", "five rounds of a loop, each copies tiles of A and B and adds two products; the number "
                    "of rounds is a parameter and scale-d is a predicate which is false in the first round")
    form, rng = Form(*BRAIN, n), kernel.rng
    A = [matrix(rng, 64, 32, "bf16") for _ in range(rounds)]
    B = [matrix(rng, n, 32, "bf16") for _ in range(rounds)]
    D = zeros(n)
    for a, b in zip(A, B):
        D = multiplied(a, b, D)
    kernel.read("a", "bf16", flat([row for tile in A for row in tile]))
    kernel.read("b", "bf16", flat([row for tile in B for row in tile]))
    kernel.written("d", "f32", exact(D, "f32"))
    kernel.scalar("rounds", rounds)
    sa, sb = layout("a", 64, steps, "bf16", 4, "k"), layout("b", n, steps, "bf16", 2, "k")
    kernel.reserve(sa)
    kernel.reserve(sb)
    kernel.declare(form, "d")
    kernel.descriptor("%desc_a0", sa)
    kernel.descriptor("%desc_b0", sb)
    kernel.advanced("%desc_a1", "%desc_a0", sa.step(1))
    kernel.advanced("%desc_b1", "%desc_b0", sb.step(1))
    kernel.zero(form, "d")
    kernel.add(".reg .b32 %n;\n.reg .pred %more, %accumulate;\nmov.u32 %n, 0;\nround:")
    kernel.copy(sa, "%A")
    kernel.copy(sb, "%B")
    kernel.ready()
    kernel.add("setp.ne.u32 %accumulate, %n, 0;")
    kernel.fence()
    kernel.product(form, "d", "%desc_a0", "%desc_b0", "%accumulate")
    kernel.product(form, "d", "%desc_a1", "%desc_b1")
    kernel.commit()
    kernel.wait()
    kernel.add("""
bar.sync 0;
add.u64 %%A, %%A, %d;
add.u64 %%B, %%B, %d;
add.u32 %%n, %%n, 1;
setp.lt.u32 %%more, %%n, %%ROUNDS;
@%%more bra round;
""" % (64 * 32 * 2, n * 32 * 2))
    kernel.move(form, "d", "%D", load=False)
    kernel.finish()


def stepping():
    """A loop whose descriptors move along k; the copies happen once, and one group is always in flight."""
    n, steps = 16, 8
    kernel = Kernel("wgmma_loop_in_flight", "a loop that advances its descriptors by a step along k and waits for all "
                    "groups but the latest one", generic=True)
    form, rng = Form(*MIXED, n), kernel.rng
    A, B = matrix(rng, 64, 16 * steps, "f16"), matrix(rng, n, 16 * steps, "f16")
    C = accumulator(rng, 64, n, "f32", "f16")
    kernel.read("a", "f16", flat(A))
    kernel.read("b", "f16", flat(B))
    kernel.read("c", "f32", exact(C, "f32"))
    kernel.written("d", "f32", exact(multiplied(A, B, C), "f32"))
    sa, sb = layout("a", 64, steps, "f16", 1, "k"), layout("b", n, steps, "f16", 1, "k", lead=16 * n, stride=128)
    for shared, pointer in ((sa, "%A"), (sb, "%B")):
        kernel.reserve(shared)
        kernel.copy(shared, pointer)
    kernel.declare(form, "d")
    kernel.move(form, "d", "%C", load=True)
    kernel.ready()
    kernel.descriptor("%desc_a", sa)
    kernel.descriptor("%desc_b", sb)
    kernel.add(".reg .b32 %n;\n.reg .pred %more;\nmov.u32 %n, 0;")
    kernel.fence()
    kernel.add("step:")
    kernel.product(form, "d", "%desc_a", "%desc_b")
    kernel.commit()
    kernel.wait(1)
    kernel.add("add.s64 %%desc_a, %%desc_a, %d;\nadd.s64 %%desc_b, %%desc_b, %d;\nadd.u32 %%n, %%n, 1;\n"
               "setp.lt.u32 %%more, %%n, %d;\n@%%more bra step;" % (sa.step(1) >> 4, sb.step(1) >> 4, steps))
    kernel.wait()
    kernel.move(form, "d", "%D", load=False)
    kernel.finish()


def reused_registers():
    """The registers of A get the next step's values after the wait, and are stored as well."""
    n, steps = 32, 3
    kernel = Kernel("wgmma_a_registers_reused", "a loop which loads A into the same registers for every step, after it has "
                    "waited for the product that read them")
    form, rng = Form(*HALF, n), kernel.rng
    A, B = matrix(rng, 64, 16 * steps, "f16", True), matrix(rng, n, 16 * steps, "f16", True)
    C = accumulator(rng, 64, n, "f16", "f16")
    kernel.read("a", "f16", flat(A))
    kernel.read("b", "f16", flat(transposed(B)))
    kernel.read("c", "f16", exact(C, "f16"))
    kernel.written("d", "f16", exact(multiplied(A, B, C), "f16"))
    sb = layout("b", n, steps, "f16", 4, "mn")
    kernel.reserve(sb)
    kernel.copy(sb, "%B")
    kernel.declare(form, "d")
    kernel.move(form, "d", "%C", load=True)
    kernel.ready()
    kernel.descriptor("%desc_b", sb)
    kernel.add(".reg .b32 %n;\n.reg .pred %more;\n.reg .b32 %a<4>;\nmov.u32 %n, 0;\nstep:")
    kernel.load_a("a", "%A", 32 * steps, declare=False)
    kernel.fence()
    kernel.product(form, "d", "%a", "%desc_b", transposed=(0, 1))
    kernel.commit()
    kernel.wait()
    kernel.add("add.u64 %%A, %%A, 32;\nadd.s64 %%desc_b, %%desc_b, %d;\nadd.u32 %%n, %%n, 1;\nsetp.lt.u32 %%more, %%n, %d;\n"
               "@%%more bra step;" % (sb.step(1) >> 4, steps))
    kernel.move(form, "d", "%D", load=False)
    kernel.finish()


def chained():
    """The second product takes what the first one gave, as its A in registers."""
    n = 16
    kernel = Kernel("wgmma_chain", "E = (A * B) * C: the f16 accumulator of the first product is A in registers of the second")
    form, rng = Form(*HALF, n), kernel.rng
    A = matrix(rng, 64, 16, "f16", True)
    B = [[rng.choice([-1, 0, 0, 0, 1]) for _ in range(16)] for _ in range(n)]
    C = [[rng.choice([-1, 0, 0, 1]) for _ in range(16)] for _ in range(n)]
    D = multiplied(A, B, zeros(n))
    kernel.read("a", "f16", flat(A))
    kernel.read("b", "f16", flat(B))
    kernel.read("c", "f16", flat(C))
    kernel.written("d", "f16", exact(D, "f16"))
    kernel.written("e", "f16", exact(multiplied(D, C, zeros(n)), "f16"))
    shared = [layout(name, lines, 1, "f16", width, "k") for name, lines, width in (("a", 64, 2), ("b", n, 1), ("c", n, 2))]
    for one in shared:
        kernel.reserve(one)
        kernel.copy(one, "%" + one.name.upper())
    kernel.ready()
    for one in shared:
        kernel.descriptor("%desc_" + one.name, one)
    kernel.declare(form, "d")
    kernel.declare(form, "e")
    kernel.fence()
    kernel.product(form, "d", "%desc_a", "%desc_b", "0")
    kernel.commit()
    kernel.wait()
    kernel.fence()
    kernel.product(form, "e", "%d", "%desc_c", "0")
    kernel.commit()
    kernel.wait()
    kernel.move(form, "d", "%D", load=False)
    kernel.move(form, "e", "%E", load=False)
    kernel.finish()


def two_warpgroups():
    """Both warpgroups read the same B; each has its own descriptor of A."""
    n, steps = 24, 2
    kernel = Kernel("wgmma_two_warpgroups", "a block of 256 threads: each warpgroup multiplies its own 64 rows of A by the same "
                    "B", threads=256)
    form, rng = Form(*BRAIN, n), kernel.rng
    A, B = matrix(rng, 128, 16 * steps, "bf16"), matrix(rng, n, 16 * steps, "bf16")
    C = accumulator(rng, 128, n, "f32", "bf16")
    kernel.read("a", "bf16", flat(A))
    kernel.read("b", "bf16", flat(B))
    kernel.read("c", "f32", exact(C, "f32"))
    kernel.written("d", "f32", exact(multiplied(A, B, C), "f32"))
    sa, sb = layout("a", 128, steps, "bf16", 4, "k"), layout("b", n, steps, "bf16", 1, "k")
    for shared, pointer in ((sa, "%A"), (sb, "%B")):
        kernel.reserve(shared)
        kernel.copy(shared, pointer)
    kernel.declare(form, "d")
    kernel.move(form, "d", "%C", load=True)
    kernel.ready()
    kernel.descriptor("%desc_a0", sa)
    kernel.descriptor("%desc_b0", sb)
    kernel.add(".reg .b64 %%half;\nshr.u32 %%u, %%warp, 2;\nmul.wide.u32 %%half, %%u, %d;\nadd.s64 %%desc_a0, %%desc_a0, %%half;"
               % (8 * sa.stride >> 4))
    kernel.advanced("%desc_a1", "%desc_a0", sa.step(1))
    kernel.advanced("%desc_b1", "%desc_b0", sb.step(1))
    kernel.fence()
    for step in range(steps):
        kernel.product(form, "d", "%%desc_a%d" % step, "%%desc_b%d" % step)
    kernel.commit()
    kernel.wait()
    kernel.move(form, "d", "%D", load=False)
    kernel.finish()


def arrive(kernel, barrier, stage):
    kernel.add("mad.lo.u32 %%u, %s, 8, %%smem;\nmbarrier.arrive.shared::cta.b64 _, [%%u+%d];" % (stage, barrier))


def await_phase(kernel, barrier, stage, parity):
    """Waits until the phase with this parity has completed."""
    again = kernel.label("await")
    kernel.add("mad.lo.u32 %%u, %s, 8, %%smem;\n%s:\nmbarrier.try_wait.parity.shared::cta.b64 %%ready, [%%u+%d], %s;\n"
               "@!%%ready bra %s;" % (stage, again, barrier, parity, again))


def pipeline():
    """Warps 4 ... 7 fill two stages in turn; warps 0 ... 3 multiply them."""
    n, rounds, stages = 32, 6, 2
    kernel = Kernel("wgmma_producer_consumer", "a producer warpgroup fills two stages of shared memory, a consumer warpgroup "
                    "multiplies them; mbarriers between both, setmaxnreg in both", threads=256, directives=".maxnreg 128")
    form, rng = Form(*MIXED, n), kernel.rng
    A = [matrix(rng, 64, 32, "f16") for _ in range(rounds)]
    B = [matrix(rng, n, 32, "f16") for _ in range(rounds)]
    D = zeros(n)
    for a, b in zip(A, B):
        D = multiplied(a, b, D)
    kernel.read("a", "f16", flat([row for tile in A for row in tile]))
    kernel.read("b", "f16", flat([row for tile in B for row in tile]))
    kernel.written("d", "f32", exact(D, "f32"))

    sa, sb = layout("a", 64, 2, "f16", 4, "k"), layout("b", n, 2, "f16", 4, "k")
    kernel.reserve(sa)
    kernel.reserve(sb)
    stage_bytes = kernel.size
    kernel.size *= stages
    full, empty = kernel.reserve_words(stages), kernel.reserve_words(stages)
    kernel.add("""
.reg .b32 %%n, %%stage, %%parity, %%from, %%worker;
.reg .pred %%consumer, %%more, %%ready;
setp.ne.u32 %%done, %%thread, 0;
@%%done bra initialized;
%s
initialized:
bar.sync 0;
mov.u32 %%n, 0;
setp.lt.u32 %%consumer, %%thread, 128;
@%%consumer bra consume;
setmaxnreg.dec.sync.aligned.u32 40;
sub.u32 %%worker, %%thread, 128;
produce:
and.b32 %%stage, %%n, 1;
shr.u32 %%parity, %%n, 1;
and.b32 %%parity, %%parity, 1;
xor.b32 %%parity, %%parity, 1;
mul.lo.u32 %%from, %%stage, %d;
""" % ("\n".join("mbarrier.init.shared::cta.b64 [%%smem+%d], 128;" % (full + 8 * i) for i in range(2 * stages)), stage_bytes))
    await_phase(kernel, empty, "%stage", "%parity")
    kernel.copy(sa, "%A", "%worker", 128, "%from")
    kernel.copy(sb, "%B", "%worker", 128, "%from")
    kernel.add("fence.proxy.async;")
    arrive(kernel, full, "%stage")
    kernel.add("""
add.u64 %%A, %%A, %d;
add.u64 %%B, %%B, %d;
add.u32 %%n, %%n, 1;
setp.lt.u32 %%more, %%n, %d;
@%%more bra produce;
ret;
consume:
setmaxnreg.inc.sync.aligned.u32 208;
""" % (64 * 32 * 2, n * 32 * 2, rounds))
    kernel.declare(form, "d")
    kernel.zero(form, "d")
    kernel.descriptor("%desc_a", sa)
    kernel.descriptor("%desc_b", sb)
    kernel.add("""
.reg .b64 %%distance, %%desc_a0, %%desc_b0, %%desc_a1, %%desc_b1;
next:
and.b32 %%stage, %%n, 1;
shr.u32 %%parity, %%n, 1;
and.b32 %%parity, %%parity, 1;
mul.wide.u32 %%distance, %%stage, %d;
add.s64 %%desc_a0, %%desc_a, %%distance;
add.s64 %%desc_b0, %%desc_b, %%distance;
add.s64 %%desc_a1, %%desc_a0, %d;
add.s64 %%desc_b1, %%desc_b0, %d;
""" % (stage_bytes >> 4, sa.step(1) >> 4, sb.step(1) >> 4))
    await_phase(kernel, full, "%stage", "%parity")
    kernel.fence()
    kernel.product(form, "d", "%desc_a0", "%desc_b0")
    kernel.product(form, "d", "%desc_a1", "%desc_b1")
    kernel.commit()
    kernel.wait()
    arrive(kernel, empty, "%stage")
    kernel.add("add.u32 %%n, %%n, 1;\nsetp.lt.u32 %%more, %%n, %d;\n@%%more bra next;" % rounds)
    kernel.move(form, "d", "%D", load=False)
    kernel.finish()


def base_offset(which):
    """The pattern of one matrix starts 512 bytes after a multiple of 1024, so that its base offset is 4.

    In both matrices a wrong base offset would only exchange the same steps along k."""
    n, steps = 16, 4
    kernel = Kernel("wgmma_base_offset_" + which, "swizzle of 128 bytes; the pattern of %s starts 512 bytes after a multiple "
                    "of 1024, so that its matrix base offset is 4" % which.upper())
    form, rng = Form(*MIXED, n), kernel.rng
    A, B = matrix(rng, 64, 16 * steps, "f16"), matrix(rng, n, 16 * steps, "f16")
    C = accumulator(rng, 64, n, "f32", "f16")
    kernel.read("a", "f16", stored(A, "k"))
    kernel.read("b", "f16", stored(B, "k"))
    kernel.read("c", "f32", exact(C, "f32"))
    kernel.written("d", "f32", exact(multiplied(A, B, C), "f32"))
    sa = Shared("a", 64, 2 * steps, 8, base=512 if which == "a" else 0)
    sb = Shared("b", n, 2 * steps, 8, base=512 if which == "b" else 0)
    for shared, pointer in ((sa, "%A"), (sb, "%B")):
        shared.check(steps)
        kernel.reserve(shared)
        kernel.copy(shared, pointer)
    kernel.declare(form, "d")
    kernel.move(form, "d", "%C", load=True)
    kernel.ready()
    kernel.descriptor("%desc_a0", sa)
    kernel.descriptor("%desc_b0", sb)
    for step in range(1, steps):
        kernel.advanced("%%desc_a%d" % step, "%desc_a0", sa.step(step))
        kernel.advanced("%%desc_b%d" % step, "%desc_b0", sb.step(step))
    kernel.fence()
    for step in range(steps):
        kernel.product(form, "d", "%%desc_a%d" % step, "%%desc_b%d" % step)
    kernel.commit()
    kernel.wait()
    kernel.move(form, "d", "%D", load=False)
    kernel.finish()


if __name__ == "__main__":
    groups()
    accumulators()
    loop()
    stepping()
    reused_registers()
    chained()
    two_warpgroups()
    pipeline()
    base_offset("a")
    base_offset("b")
