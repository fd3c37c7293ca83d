"""The product by wgmma.mma_async: one or two warpgroups, each with 64 rows."""
from layout import mem, wgmma_descriptor
from product import ACC_CLASS, braces
from values import BITS

WGMMA = [
    ([('f16', 'f16')], ['f16', 'f32']),
    ([('bf16', 'bf16')], ['f32']),
    ([('tf32', 'tf32')], ['f32']),
    ([('e4m3', 'e4m3'), ('e4m3', 'e5m2'), ('e5m2', 'e4m3'), ('e5m2', 'e5m2')], ['f16', 'f32']),
    ([('s8', 's8'), ('s8', 'u8'), ('u8', 's8'), ('u8', 'u8')], ['s32']),
    ([('b1', 'b1')], ['s32']),
]


class Wgmma:
    kind = 'wgmma'

    def __init__(self, rng, ta, tb, acc, unrolled, n):
        self.ta, self.tb, self.acc = ta, tb, acc
        self.bits = BITS[ta]
        self.kb = 32
        self.K = 256 // self.bits
        self.groups = rng.choice([1, 1, 2])
        self.threads = 128 * self.groups
        self.warps = 4 * self.groups
        self.NI = n
        self.over_n = self.groups == 2 and rng.random() < 0.5    # two halves of N, not of M
        self.M = 64 if self.over_n else 64 * self.groups
        self.N = 2 * n if self.over_n else n
        self.shape = 'm64n%dk%d' % (n, self.K)
        self.add_desc = rng.random() < 0.5
        self.rs = rng.random() < 0.3                     # A from registers
        self.inflight = 1 if rng.random() < 0.4 else 0
        if self.rs and not unrolled:
            # the next tile's A registers would overwrite those in flight
            self.inflight = 0
        flip = 0.35 if self.bits == 16 else 0
        self.kmajor = [rng.random() >= flip, rng.random() >= flip]
        self.neg = [1, 1]
        if acc in ('f16', 'f32'):
            self.neg = [rng.choice([1, 1, 1, -1]), rng.choice([1, 1, 1, -1])]
        self.satfinite = acc == 's32' and ta != 'b1' and rng.random() < 0.3
        self.read = ['reg' if self.rs else 'desc', 'desc']
        self.ldm = rng.random() < 0.5
        self.scale0 = False                              # set by the program
        self.bop = 'and' if ta == 'b1' else None
        self.async_proxy = True
        self.name = 'wgmma.%s.%s.%s.%s' % (self.shape, acc, ta, tb)

    def layouts(self, w):
        if w == 0 and self.rs:
            return ['plain', 'sw32', 'sw64', 'sw128', 'core']
        return ['sw32', 'sw64', 'sw128', 'sw128', 'core']

    def kbytes(self, rng):
        return rng.choice([32, 64, 128])

    def setup(self, e, lays, warp, lane, tid):
        self.lays = lays
        self.g, self.tig = e.shr(lane, 2), e.band(lane, 3)
        self.group = e.shr(warp, 2) if self.groups > 1 else 0
        self.m0 = e.mul(e.band(warp, 3) if self.over_n else warp, 16)
        self.n0 = e.mul(self.group, self.NI) if self.over_n else 0
        L = lays[0]
        if self.rs:
            if self.kmajor[0] and self.ldm:
                self.alane = L.lane(e, e.add(self.m0, e.band(lane, 15)), e.band(lane, 16), True)
            elif self.kmajor[0]:
                self.alane = L.lane(e, e.add(self.m0, self.g), e.shl(self.tig, 2), True)
            else:
                row = e.add(e.band(lane, 7), e.shr(e.band(lane, 16), 1))
                self.alane = L.lane(e, row, e.add(e.mul(self.m0, 2), e.shl(e.band(lane, 8), 1)))
        else:
            self.dA = wgmma_descriptor(L, self.kmajor[0])
            # the second warpgroup starts 64 rows of A further on
            self.goff = e.mul(self.group, self.dA[2](64)) if self.M > 64 else 0
        self.dB = wgmma_descriptor(lays[1], self.kmajor[1])
        self.boff = e.mul(self.group, self.dB[2](self.NI)) if self.over_n else 0
        n = self.NI // 4 if self.acc == 'f16' else self.NI // 2
        self.regs = e.news(ACC_CLASS[self.acc], n)

    def acc_places(self, e):
        row, col = e.add(self.m0, self.g), e.add(self.n0, e.shl(self.tig, 1))
        step = 2 if self.acc == 'f16' else 1
        return [(row, (i >> 1 & 1) * 8, col, (i >> 2) * 8 + (i & 1))
                for i in range(0, self.NI // 2, step)]

    def place(self, t, i):
        i *= 2 if self.acc == 'f16' else 1
        m, n = (t // 32 % 4 * 16, t // 128 * self.NI) if self.over_n else (t // 32 * 16, 0)
        return m + t % 32 // 4 + (i >> 1 & 1) * 8, n + (i >> 2) * 8 + t % 4 * 2 + (i & 1)

    def _desc(self, e, addr, adv, bits):
        """A descriptor from a shared address: only its bits 4..17 count."""
        a = e.add(addr, adv)
        a = e.shr(e.band(a, 0x3ffff), 4)
        d, w = e.new('rd'), e.new('rd')
        e.op('cvt.u64.u32 %s, %s' % (w, e.reg(a)))
        e.op('or.b64 %s, %s, 0x%x' % (d, w, bits))
        return d

    def _descs(self, e, base, d, steps):
        """One descriptor per k-step: each built anew, or by adding to the first."""
        if not self.add_desc:
            return [self._desc(e, base, d[1](j), d[0]) for j in range(steps)]
        out = [self._desc(e, base, 0, d[0])]
        for j in range(1, steps):
            r = e.new('rd')
            e.op('add.s64 %s, %s, %d' % (r, out[0], d[1](j) >> 4))
            out.append(r)
        return out

    def _afrag(self, e, base, j):
        if not self.kmajor[0]:
            a = self.alane.at(e, base, 16 * j, 0)
            t = '.trans'
        elif self.ldm:
            a, t = self.alane.at(e, base, 0, 32 * j), ''
        else:
            out = []
            for r, c in ((0, 0), (8, 0), (0, 16), (8, 16)):
                x = e.new()
                e.op('ld.shared.b32 %s, %s' % (x, mem(self.alane.at(e, base, r, 32 * j + c))))
                out.append(x)
            return out
        rs = e.news('r', 4)
        e.op('ldmatrix.sync.aligned.m8n8.x4%s.shared.b16 %s, %s' % (t, braces(rs), mem(a)))
        return rs

    def tile(self, e, bases, first):
        """first: predicate register (or None) that is false on the first tile,
        where scale-d 0 ignores the accumulators."""
        steps = self.KTB // 32
        if self.rs:
            a_ops = [braces(self._afrag(e, bases[0], j)) for j in range(steps)]
        else:
            a_ops = self._descs(e, e.add(bases[0], self.goff), self.dA, steps)
        b_ops = self._descs(e, e.add(bases[1], self.boff), self.dB, steps)
        op = 'wgmma.mma_async.sync.aligned.%s' % self.shape
        if self.acc == 's32':
            op += '.s32.%s.%s' % (self.ta, self.tb)
            op += '.and.popc' if self.bop else '.satfinite' if self.satfinite else ''
            tail = ''
        else:
            op += '.%s.%s.%s' % (self.acc, self.ta, self.tb)
            tail = ', %d, %d' % tuple(self.neg)
            if self.bits == 16:
                ts = ([] if self.rs else [0 if self.kmajor[0] else 1]) + [0 if self.kmajor[1] else 1]
                tail += ''.join(', %d' % t for t in ts)
        e.op('wgmma.fence.sync.aligned')
        for j in range(steps):
            sd = first if first and j == 0 else self.ptrue
            e.op('%s %s, %s, %s, %s%s' % (op, braces(self.regs), a_ops[j], b_ops[j], sd, tail))
        e.op('wgmma.commit_group.sync.aligned')
        e.op('wgmma.wait_group.sync.aligned %d' % self.inflight)

    def drain(self, e):
        if self.inflight:
            e.op('wgmma.wait_group.sync.aligned 0')
