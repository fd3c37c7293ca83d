"""A case of a loop with a producer and consumers: python3 pipeline.py"""

from kernel import Kernel, generator
from loads import tensor
from tensors import number

STEPS, STAGES = 7, 2


def pipeline():
    """Bars 0 and 1 say that a stage is full, bars 2 and 3 that it is empty."""
    name = "tensor_pipeline"
    rng = generator(name)
    one, ones = tensor(rng, "t", "f16", [420, 20], [64, 16], swizzle="128B")
    two, twos = tensor(rng, "s", "u32", [16, 150], [16, 20])
    size, first, second = 2 * 4096, one.bytes(), two.bytes()
    kernel = Kernel(name, "A warp elects a lane that loads two tiles a step to one of two stages; 128 threads sum their words and "
                    "free the stage, over seven steps.", size, bars=4, block=160)
    kernel.buffer("t", ones)
    kernel.map(one)
    kernel.buffer("s", twos)
    kernel.map(two)
    sums = [0] * 128
    for step in range(STEPS):
        shared = bytearray(size)
        one.load(ones, shared, [64 * step, 3], 0)
        two.load(twos, shared, [0, 20 * step + 5], 2048)
        for thread in range(128):
            for at in range(4 * thread, first, 512):
                sums[thread] += number("u32", shared[at:at + 4])
            for at in range(4 * thread, second, 512):
                sums[thread] = sums[thread] * 3 + number("u32", shared[2048 + at:2048 + at + 4])
            sums[thread] %= 1 << 32
    assert first == 2048 and second == 1280
    kernel.buffer("out", bytes(512), b"".join(value.to_bytes(4, "little") for value in sums), elem="u32")
    kernel.start([1, 1, 128, 128])
    kernel.emit("""
        .reg .b32 step, stage, phase, sum;
        .reg .pred elected, more;
        setp.lt.u32 p1, tid, 128;
        @p1 bra CONSUME;

        elect.sync _|elected, 0xffffffff;
        @!elected bra END;
        mov.u32 step, 0;
        PRODUCE:
        and.b32 stage, step, 1;
        shr.u32 phase, step, 1;
        // The first round finds the stages empty: the phase before the first one counts as complete.
        not.b32 phase, phase;
        and.b32 phase, phase, 1;
        shl.b32 r1, stage, 3;
        mov.u32 r2, bars;
        add.u32 barrier, r2, r1;
        EMPTY:
        mbarrier.try_wait.parity.shared::cta.b64 done, [barrier+16], phase;
        @!done bra EMPTY;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [barrier], %d;
        mul.lo.u32 r3, stage, 4096;
        mov.u32 there, data;
        add.u32 there, there, r3;
        shl.b32 c0, step, 6;
        mov.b32 c1, 3;
        cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [there], [t_map_at, {c0, c1}], [barrier];
        mov.b32 c2, 0;
        mad.lo.s32 c3, step, 20, 5;
        cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [there+2048], [s_map_at, {c2, c3}], [barrier];
        add.u32 step, step, 1;
        setp.lt.u32 more, step, %d;
        @more bra PRODUCE;
        bra END;

        CONSUME:
        mov.u32 step, 0;
        mov.u32 sum, 0;
        NEXT:
        and.b32 stage, step, 1;
        shr.u32 phase, step, 1;
        and.b32 phase, phase, 1;
        shl.b32 r1, stage, 3;
        mov.u32 r2, bars;
        add.u32 barrier, r2, r1;
        FULL:
        mbarrier.try_wait.parity.shared::cta.b64 done, [barrier], phase;
        @!done bra FULL;
        mul.lo.u32 r3, stage, 4096;
        mov.u32 there, data;
        add.u32 there, there, r3;
        shl.b32 r4, tid, 2;
        mov.u32 r5, r4;
        ONE:
        add.u32 r6, there, r5;
        ld.shared.b32 r7, [r6];
        add.u32 sum, sum, r7;
        add.u32 r5, r5, 512;
        setp.lt.u32 more, r5, %d;
        @more bra ONE;
        mov.u32 r5, r4;
        TWO:
        add.u32 r6, there, r5;
        ld.shared.b32 r7, [r6+2048];
        mad.lo.u32 sum, sum, 3, r7;
        add.u32 r5, r5, 512;
        setp.lt.u32 more, r5, %d;
        @more bra TWO;
        mbarrier.arrive.shared::cta.b64 _, [barrier+16];
        add.u32 step, step, 1;
        setp.lt.u32 more, step, %d;
        @more bra NEXT;
        mul.wide.u32 rd1, tid, 4;
        add.u64 rd1, rd1, out_at;
        st.global.b32 [rd1], sum;
        END:
    """ % (first + second, STEPS, first, second, STEPS))
    kernel.write()


if __name__ == "__main__":
    pipeline()
