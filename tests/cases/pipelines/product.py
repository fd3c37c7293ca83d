"""The products by mma.sync and wmma.  A product reads a stage in shared memory
and adds A_k * B_k to accumulators; `base` is the stage's address.

Common interface: kmajor (for A, B), rows/bytes of the tiles, threads (number
of consumers), setup, tile, release_lag, store_coords, regs."""
from layout import mem
from values import BITS

# name: (M, bytes of K per instruction, accumulator types)
MMA = [
    # shape, (ta, tb) choices, accumulators, extra suffix, b1 operation
    ('m16n8k8', [('f16', 'f16')], ['f16', 'f32']),
    ('m16n8k16', [('f16', 'f16')], ['f16', 'f32']),
    ('m16n8k8', [('bf16', 'bf16')], ['f32']),
    ('m16n8k16', [('bf16', 'bf16')], ['f32']),
    ('m16n8k4', [('tf32', 'tf32')], ['f32']),
    ('m16n8k8', [('tf32', 'tf32')], ['f32']),
    ('m16n8k16', [('s8', 's8'), ('s8', 'u8'), ('u8', 's8'), ('u8', 'u8')], ['s32']),
    ('m16n8k32', [('s8', 's8'), ('s8', 'u8'), ('u8', 's8'), ('u8', 'u8')], ['s32']),
    ('m8n8k16', [('s8', 's8'), ('s8', 'u8'), ('u8', 's8'), ('u8', 'u8')], ['s32']),
    ('m16n8k32', [('s4', 's4'), ('s4', 'u4'), ('u4', 's4'), ('u4', 'u4')], ['s32']),
    ('m16n8k64', [('s4', 's4'), ('s4', 'u4'), ('u4', 's4'), ('u4', 'u4')], ['s32']),
    ('m8n8k4', [('f64', 'f64')], ['f64']),
    ('m16n8k4', [('f64', 'f64')], ['f64']),
    ('m16n8k8', [('f64', 'f64')], ['f64']),
    ('m16n8k16', [('f64', 'f64')], ['f64']),
    ('m16n8k128', [('b1', 'b1')], ['s32']),
    ('m16n8k256', [('b1', 'b1')], ['s32']),
    ('m8n8k128', [('b1', 'b1')], ['s32']),
    ('m16n8k32', [('e4m3', 'e4m3'), ('e4m3', 'e5m2'), ('e5m2', 'e4m3'), ('e5m2', 'e5m2')], ['f32']),
]
ACC_CLASS = {'f32': 'f', 'f16': 'r', 's32': 'r', 'f64': 'd'}


def braces(regs):
    return '{' + ', '.join(regs) + '}'


def load_c(e, acc, regs, addr_of, n_of):
    """Accumulators from the row-major C: register i holds 1 element (or the
    pair of neighbours for f16)."""
    suffix = {'f32': 'f32', 'f16': 'b32', 's32': 'u32', 'f64': 'f64'}[acc]
    for i, r in enumerate(regs):
        e.op('ld.global.%s %s, [%s]' % (suffix, r, addr_of(i)))


class MmaSync:
    """mma.sync on a grid of warps; each warp has am x an instruction tiles."""
    kind = 'mma'

    def __init__(self, rng, shape, ta, tb, acc):
        self.shape, self.ta, self.tb, self.acc = shape, ta, tb, acc
        self.MI = int(shape[1:shape.index('n')])
        k = int(shape[shape.index('k') + 1:])
        self.kelems = k
        self.bits = BITS[ta]
        self.kb = k * self.bits // 8                # bytes of K per instruction
        self.warps = rng.choice([1, 2, 2, 4, 4, 8] if self.bits != 64 else [1, 2, 4])
        splits = [(a, self.warps // a) for a in (1, 2, 4, 8) if self.warps % a == 0 and a <= 4
                  and self.warps // a <= 4]
        self.wm, self.wn = rng.choice(splits)
        self.am, self.an = rng.choice([1, 1, 2]), rng.choice([1, 2, 2, 3, 4])
        self.M, self.N = self.wm * self.am * self.MI, self.wn * self.an * 8
        self.threads = 32 * self.warps
        self.bop = rng.choice(['and', 'xor']) if ta == 'b1' else None
        # MN-major tiles only where elements are whole bytes
        flip = 0.35 if self.bits == 16 else 0.2 if self.bits >= 8 else 0
        self.kmajor = [rng.random() >= flip, rng.random() >= flip]
        self.satfinite = acc == 's32' and ta != 'b1' and rng.random() < 0.3
        self.read = [self._reader(rng, 0), self._reader(rng, 1)]
        self.x4 = rng.random() < 0.5                # two n-tiles per ldmatrix
        self.async_proxy = False
        self.inflight = 0
        self.name = 'mma.%s.%s.%s.%s%s' % (shape, ta, tb, acc, '.' + self.bop if self.bop else '')

    def _reader(self, rng, w):
        if self.bits == 64:
            return 'ld'
        if not self.kmajor[w] and self.bits != 16:
            return 'ld'
        return rng.choice(['ld', 'ldmatrix', 'ldmatrix'])

    def layouts(self, w):
        return ['plain', 'plain', 'sw32', 'sw64', 'sw128', 'core']

    def kbytes(self, rng):
        return rng.choice([b for b in (16, 32, 64, 96, 128) if b % self.kb == 0])

    # register structure: (row in the 16 (m), first byte of k) per register
    def a_regs(self):
        n = max(1, self.kb // (32 if self.bits == 64 else 16))
        unit = 32 if self.bits == 64 else 16
        return [(r, unit * c) for c in range(n) for r in ((0, 8) if self.MI == 16 else (0,))]

    def b_regs(self):
        unit = 32 if self.bits == 64 else 16
        return [unit * c for c in range(max(1, self.kb // unit))]

    def setup(self, e, lays, warp, lane, tid):
        self.lays = lays
        g, tig = e.shr(lane, 2), e.band(lane, 3)
        wm = e.rem(warp, self.wm)
        wn = e.div(warp, self.wm)
        self.g, self.tig = g, tig
        self.m0 = e.mul(wm, self.am * self.MI)
        self.n0 = e.mul(wn, self.an * 8)
        self.lanes = [{}, {}]
        eb = max(1, self.bits // 8)
        for w, mn0 in ((0, self.m0), (1, self.n0)):
            L, d = lays[w], self.lanes[w]
            if self.kmajor[w]:
                if self.read[w] == 'ld':
                    d['k'] = L.lane(e, e.add(mn0, g), e.shl(tig, 3 if self.bits == 64 else 2), True)
                elif w == 0:
                    row = e.add(mn0, e.band(lane, 15 if self.MI == 16 else 7))
                    col = e.band(lane, 16) if self.MI == 16 and self.kb == 32 else 0
                    d['k'] = L.lane(e, row, col, True)
                else:
                    lo = e.band(lane, 7)
                    col = e.shl(e.band(lane, 8), 1) if self.kb == 32 else 0
                    d['k'] = L.lane(e, e.add(mn0, lo), col, True)
                    if self.kb == 32:
                        d['k4'] = L.lane(e, e.add(mn0, e.add(lo, e.shr(e.band(lane, 16), 1))), col, True)
            elif self.read[w] == 'ld':
                n = max(1, 32 // self.bits)
                col = e.mul(e.add(mn0, g), eb)
                for i in range(n):
                    for res in ((0, 4) if n == 1 else (0,)):
                        d[i + res] = L.lane(e, e.add(e.mul(tig, n), i + res), col)
            elif w == 0:
                # matrices: (m 0, k 0), (m 8, k 0), (m 0, k 8), (m 8, k 8)
                row = e.add(e.band(lane, 7), e.shr(e.band(lane, 16), 1))
                d['t'] = L.lane(e, row, e.add(e.mul(mn0, 2), e.shl(e.band(lane, 8), 1)))
            else:
                row = e.band(lane, 15) if self.kb == 32 else e.band(lane, 7)
                d['t'] = L.lane(e, row, e.mul(mn0, 2))
                d['t4'] = L.lane(e, e.band(lane, 15), e.add(e.mul(mn0, 2), e.band(lane, 16)))
        cls = ACC_CLASS[self.acc]
        per = (4 if self.MI == 16 else 2) // (2 if self.acc == 'f16' else 1)
        self.accs = [[e.news(cls, per) for _ in range(self.an)] for _ in range(self.am)]
        self.regs = [r for row in self.accs for t in row for r in t]

    def acc_places(self, e):
        """For each accumulator register: (row register, constant, column
        register, constant) of its first element within the CTA's tile."""
        row, col = e.add(self.m0, self.g), e.add(self.n0, e.shl(self.tig, 1))
        step = 2 if self.acc == 'f16' else 1
        out = []
        for mt in range(self.am):
            for nt in range(self.an):
                for i in range(0, 4 if self.MI == 16 else 2, step):
                    out.append((row, mt * self.MI + (i >> 1) * 8, col, nt * 8 + (i & 1)))
        return out

    def place(self, t, i):
        """The same in Python, for the fragment-order output: (m, n)."""
        warp, lane = t // 32, t % 32
        m0 = warp % self.wm * self.am * self.MI + lane // 4
        n0 = warp // self.wm * self.an * 8 + lane % 4 * 2
        step = 2 if self.acc == 'f16' else 1
        per = (4 if self.MI == 16 else 2) // step
        tile, j = divmod(i, per)
        mt, nt = divmod(tile, self.an)
        j *= step
        return m0 + mt * self.MI + (j >> 1) * 8, n0 + nt * 8 + (j & 1)

    # --- fragments ----------------------------------------------------------
    def _mn_elements(self, e, w, base, mn, kbyte):
        """One register gathered from single elements of an MN-major tile."""
        eb = self.bits // 8
        n = max(1, 32 // self.bits)
        k0 = kbyte // eb
        parts = []
        for i in range(n):
            res = k0 % 8 if n == 1 else 0
            a = self.lanes[w][i + res].at(e, base, k0 - res, mn * eb)
            if self.bits == 64:
                r = e.new('d')
                e.op('ld.shared.f64 %s, %s' % (r, mem(a)))
                return r
            if self.bits == 32:
                r = e.new()
                e.op('ld.shared.b32 %s, %s' % (r, mem(a)))
                return r
            if self.bits == 16:
                h = e.new('h')
                e.op('ld.shared.u16 %s, %s' % (h, mem(a)))
                parts.append(h)
            else:
                r = e.new()
                e.op('ld.shared.u8 %s, %s' % (r, mem(a)))
                parts.append(r)
        r = e.new()
        if self.bits == 16:
            e.op('mov.b32 %s, {%s, %s}' % (r, parts[0], parts[1]))
            return r
        x, y = e.new(), e.new()
        e.op('prmt.b32 %s, %s, %s, 0x0040' % (x, parts[0], parts[1]))
        e.op('prmt.b32 %s, %s, %s, 0x0040' % (y, parts[2], parts[3]))
        e.op('prmt.b32 %s, %s, %s, 0x5410' % (r, x, y))
        return r

    def _ldmatrix(self, e, n, trans, addr):
        rs = e.news('r', n)
        e.op('ldmatrix.sync.aligned.m8n8.x%d%s.shared.b16 %s, %s'
             % (n, '.trans' if trans else '', braces(rs), mem(addr)))
        return rs

    def frag_a(self, e, base, mt, kbyte):
        m = mt * self.MI
        if not self.kmajor[0]:
            if self.read[0] == 'ld':
                return [self._mn_elements(e, 0, base, m + r, kbyte + c) for r, c in self.a_regs()]
            a = self.lanes[0]['t'].at(e, base, kbyte // 2, m * 2)
            return self._ldmatrix(e, len(self.a_regs()), True, a)
        if self.read[0] == 'ldmatrix':
            return self._ldmatrix(e, len(self.a_regs()), False, self.lanes[0]['k'].at(e, base, m, kbyte))
        return [self._word(e, 0, base, m + r, kbyte + c) for r, c in self.a_regs()]

    def _word(self, e, w, base, mn, kbyte):
        a = self.lanes[w]['k'].at(e, base, mn, kbyte)
        r = e.new('d' if self.bits == 64 else 'r')
        e.op('ld.shared.%s %s, %s' % ('f64' if self.bits == 64 else 'b32', r, mem(a)))
        return r

    def frags_b(self, e, base, kbyte):
        """All B fragments of one k-step, by n-tile."""
        pair = self.x4 and self.kb == 32 and self.an % 2 == 0 and self.read[1] == 'ldmatrix'
        out = []
        for nt in range(self.an):
            if self.read[1] == 'ldmatrix':
                if pair and nt % 2:
                    continue
                if self.kmajor[1]:
                    a = self.lanes[1]['k4' if pair else 'k'].at(e, base, nt * 8, kbyte)
                else:
                    a = self.lanes[1]['t4' if pair else 't'].at(e, base, kbyte // 2, nt * 16)
                rs = self._ldmatrix(e, 4 if pair else len(self.b_regs()), not self.kmajor[1], a)
                out += [rs[:2], rs[2:]] if pair else [rs]
            elif self.kmajor[1]:
                out.append([self._word(e, 1, base, nt * 8, kbyte + c) for c in self.b_regs()])
            else:
                out.append([self._mn_elements(e, 1, base, nt * 8, kbyte + c) for c in self.b_regs()])
        return out

    def tile(self, e, bases, first):
        acc = self.acc
        op = 'mma.sync.aligned.%s.row.col%s.%s.%s.%s.%s' % (
            self.shape, '.satfinite' if self.satfinite else '', acc, self.ta, self.tb, acc)
        if self.bop:
            op += '.%s.popc' % self.bop
        for kbyte in range(0, self.KTB, self.kb):
            bs = self.frags_b(e, bases[1], kbyte)
            for mt in range(self.am):
                a = self.frag_a(e, bases[0], mt, kbyte)
                for nt in range(self.an):
                    d = braces(self.accs[mt][nt])
                    e.op('%s %s, %s, %s, %s' % (op, d, braces(a), braces(bs[nt]), d))


class Wmma:
    """wmma.load / wmma.mma / wmma.store: the fragments' layout is opaque."""
    kind = 'wmma'
    SHAPES = ['m16n16k16', 'm32n8k16', 'm8n32k16']
    REGS = {'m16n16k16': (2, 2), 'm32n8k16': (4, 1), 'm8n32k16': (1, 4)}  # 8-bit A, B

    def __init__(self, rng, ta, tb, acc):
        self.ta, self.tb, self.acc = ta, tb, acc
        self.bits = BITS[ta]
        self.shape = 'm16n16k8' if ta == 'tf32' else rng.choice(self.SHAPES)
        i, j = self.shape.index('n'), self.shape.index('k')
        self.MI, self.NI, self.KI = int(self.shape[1:i]), int(self.shape[i + 1:j]), int(self.shape[j + 1:])
        self.kb = self.KI * self.bits // 8
        self.warps = rng.choice([1, 2, 4])
        self.wm = rng.choice([1, self.warps])
        self.wn = self.warps // self.wm
        self.am, self.an = rng.choice([1, 2]), rng.choice([1, 2])
        self.M, self.N = self.wm * self.am * self.MI, self.wn * self.an * self.NI
        self.threads = 32 * self.warps
        self.kmajor = [rng.random() < 0.5, rng.random() < 0.5]
        self.satfinite = acc == 's32' and rng.random() < 0.3
        self.async_proxy, self.inflight, self.bop = False, 0, None
        self.read = ['wmma', 'wmma']
        self.name = 'wmma.%s.%s.%s.%s' % (self.shape, ta, tb, acc)

    def layouts(self, w):
        return ['plain']

    def kbytes(self, rng):
        return rng.choice([b for b in (32, 64, 128) if b % self.kb == 0])

    def nregs(self, w):
        if self.bits == 16 and self.ta == 'f16':
            return 8
        if self.ta == 'tf32':
            return 4
        if self.ta == 'bf16':
            return {'m16n16k16': (4, 4), 'm32n8k16': (8, 2), 'm8n32k16': (2, 8)}[self.shape][w]
        return self.REGS[self.shape][w]

    def setup(self, e, lays, warp, lane, tid):
        self.lays = lays
        self.m0 = e.mul(e.rem(warp, self.wm), self.am * self.MI)
        self.n0 = e.mul(e.div(warp, self.wm), self.an * self.NI)
        eb = self.bits // 8
        self.offs = []
        for w, mn0 in ((0, self.m0), (1, self.n0)):
            self.offs.append(e.mul(mn0, lays[w].pitch if self.kmajor[w] else eb))
        n = 4 if self.acc == 'f16' else 8
        self.accs = [[e.news(ACC_CLASS[self.acc], n) for _ in range(self.an)] for _ in range(self.am)]
        self.regs = [r for row in self.accs for t in row for r in t]

    def _lay(self, w):
        """wmma's .row/.col: A row = K-major, B col = K-major."""
        return ('row' if self.kmajor[0] else 'col') if w == 0 else ('col' if self.kmajor[1] else 'row')

    def frag(self, e, w, base, i, kbyte):
        L, eb = self.lays[w], self.bits // 8
        mn = i * (self.NI if w else self.MI)
        imm = mn * L.pitch + kbyte if self.kmajor[w] else kbyte // eb * L.pitch + mn * eb
        rs = e.news('r', self.nregs(w))
        e.op('wmma.load.%s.sync.aligned.%s.%s.shared.%s %s, [%s+%d], %d' % (
            'ab'[w], self._lay(w), self.shape, (self.ta, self.tb)[w], braces(rs),
            e.add(base, self.offs[w]), imm, L.pitch // eb))
        return rs

    def tile(self, e, bases, first):
        t = '%s.%s' % (self.acc, self.acc)
        if self.ta != 'f16':
            t = '%s.%s.%s.%s' % (self.acc, self.ta, self.tb, self.acc)
        op = 'wmma.mma.sync.aligned.%s.%s.%s.%s%s' % (
            self._lay(0), self._lay(1), self.shape, t, '.satfinite' if self.satfinite else '')
        for kbyte in range(0, self.KTB, self.kb):
            bs = [self.frag(e, 1, bases[1], i, kbyte) for i in range(self.an)]
            for mt in range(self.am):
                a = self.frag(e, 0, bases[0], mt, kbyte)
                for nt in range(self.an):
                    d = braces(self.accs[mt][nt])
                    e.op('%s %s, %s, %s, %s' % (op, d, braces(a), braces(bs[nt]), d))

    def memory(self, e, op, base, row0, col0, pitch, colmajor):
        """wmma.load.c or wmma.store.d on a matrix of the accumulator type;
        row0/col0: the CTA's corner, pitch in elements."""
        size = {'f16': 2, 'f32': 4, 's32': 4}[self.acc]
        rs, cs = (1, pitch) if colmajor else (pitch, 1)
        lay = 'col' if colmajor else 'row'
        for mt in range(self.am):
            for nt in range(self.an):
                r = e.add(e.add(row0, self.m0), mt * self.MI)
                c = e.add(e.add(col0, self.n0), nt * self.NI)
                p = e.ptr(base, e.mul(e.add(e.mul(r, rs), e.mul(c, cs)), size))
                regs = braces(self.accs[mt][nt])
                if op == 'load':
                    e.op('wmma.load.c.sync.aligned.%s.%s.global.%s %s, [%s], %d'
                         % (lay, self.shape, self.acc, regs, p, pitch))
                else:
                    e.op('wmma.store.d.sync.aligned.%s.%s.global.%s [%s], %s, %d'
                         % (lay, self.shape, self.acc, p, regs, pitch))
