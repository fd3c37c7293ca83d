#!/usr/bin/env python3
"""pipelines.py SEED COUNT OUT_FOLDER: random matrix-product pipelines in PTX.

Writes OUT_FOLDER/p<SEED+i>.ptx and OUT_FOLDER/cases/p<SEED+i>.json.  The
expected output comes from the mathematical product of the global matrices.
With --table a count of the choices goes to standard output."""
import json
import os
import random
import struct
import sys
from operator import mul

from arrival import ASYNC, Operand
from layout import Layout
from loops import Loops
from output import ESIZE, Output
from product import ACC_CLASS, MMA, MmaSync, Wmma, load_c
from values import BITS, encode, limits
from wgmma import WGMMA, Wgmma

WMMA_TYPES = ['f16', 'f16', 'f16', 'bf16', 'tf32', 's8', 'u8']
SMEM_MAX = 46 * 1024
DATA_MAX = 46 * 1024


class Retry(Exception):
    """The drawn choices do not fit together: draw again."""


class Program(Loops, Output):
    def __init__(self, rng, name, kind, row, want):
        self.want = want
        self.rng, self.name, self.kind, self.table_row = rng, name, kind, row
        self.choose()

    # --- choices --------------------------------------------------------------
    def choose_product(self):
        rng, kind = self.rng, self.kind
        if kind == 'mma':
            shape, types, accs = self.table_row
            ta, tb = rng.choice(types)
            p = MmaSync(rng, shape, ta, tb, rng.choice(accs))
        elif kind == 'wmma':
            ta = self.table_row
            acc = rng.choice(['f16', 'f32']) if ta == 'f16' else 's32' if ta in ('s8', 'u8') else 'f32'
            p = Wmma(rng, ta, ta, acc)
        else:
            types, accs = self.table_row
            ta, tb = rng.choice(types)
            acc = self.want['acc'] % len(accs)
            p = Wgmma(rng, ta, tb, accs[acc], not self.rolled, self.want['n'])
        if p.threads > 256:
            raise Retry
        # tiles with rows of single bytes keep 16-byte granules
        for w, mn in ((0, p.M), (1, p.N)):
            if not p.kmajor[w] and mn * p.bits % 128:
                raise Retry
        if kind == 'wmma':
            # fragments start on 32 bytes where the ISA asks for wide alignment
            for w, tile, n in ((0, p.MI, p.wm * p.am), (1, p.NI, p.wn * p.an)):
                if n > 1 and not p.kmajor[w] and tile * p.bits < 256:
                    raise Retry
        return p

    def choose_layout(self, w):
        rng, p = self.rng, self.prod
        R, W = (self.KT, (p.M, p.N)[w] * p.bits // 8) if not p.kmajor[w] else ((p.M, p.N)[w], self.KTB)
        kind = rng.choice(p.layouts(w))
        if self.want['layout'] in p.layouts(w):
            kind = self.want['layout']
        if kind != 'plain' and R % 8 or kind.startswith('sw') and W % int(kind[2:]):
            raise Retry
        if kind == 'core' and (W % 16 or not p.kmajor[w] and p.bits < 16):
            raise Retry
        pad = rng.choice([0, 0, 16]) if kind == 'plain' else 0
        return Layout(kind, R, W, pad, rng.random() < 0.65)

    def choose(self):
        rng = self.rng
        self.rolled = rng.random() < 0.6
        self.nk = rng.choice([1, 2, 2, 3, 3, 4, 4, 5, 6])
        self.nk_param = self.rolled and rng.random() < 0.35
        self.prod = p = self.choose_product()
        self.KTB = p.KTB = p.kbytes(rng)
        self.KT = self.KTB * 8 // p.bits
        self.K = self.KT * self.nk
        # with a parameter, sometimes fewer tiles than the buffers hold
        self.nk_run = rng.randint(1, self.nk) if self.nk_param and rng.random() < 0.5 else self.nk
        lays = [self.choose_layout(0), self.choose_layout(1)]
        self.lays = lays
        if p.kind == 'wgmma' and p.over_n and not p.kmajor[1] and lays[1].span and \
                p.NI * 2 % lays[1].span:
            raise Retry                     # the second half would start inside a panel
        self.grid = rng.choice([(1, 1)] * 5 + [(2, 1), (1, 2), (2, 2)])       # m, n blocks
        self.swap = rng.random() < 0.5
        self.Mt, self.Nt = self.grid[0] * p.M, self.grid[1] * p.N
        self.S = rng.choice([1, 2, 2, 3, 3, 4])
        size = [(l.size + l.align - 1) // l.align * l.align for l in lays]
        if self.S * sum(size) > SMEM_MAX:
            raise Retry
        esz = ESIZE[p.acc]
        dbytes = self.Mt * self.Nt * esz
        self.cinit = rng.choice(['zero', 'c', 'c'] + (['scale0'] * 3 if p.kind == 'wgmma' else []))
        total = dbytes * (2 if self.cinit == 'c' else 1) + sum(
            l.size * self.nk * g for l, g in zip(lays, self.grid))
        if total > DATA_MAX or self.Mt * self.Nt * self.K > 1500000 * (4 if p.bits == 1 else 1):
            raise Retry
        if p.acc == 'f16' and self.K * 4 > 1900:
            raise Retry
        # arrivals: often the same for both operands
        ta, tb = p.ta, p.tb
        self.ops = [Operand('a', ta, p.kmajor[0], lays[0], self.nk, self.grid[0]),
                    Operand('b', tb, p.kmajor[1], lays[1], self.nk, self.grid[1])]
        hows = [rng.choice(o.allowed()) for o in self.ops]
        if rng.random() < 0.5 and hows[0] in self.ops[1].allowed():
            hows[1] = hows[0]
        for o, h in zip(self.ops, hows):
            o.choose(rng, h)
        held = sum(o.blocks * o.nk * o.lay.size if o.packed else o.rows * o.pitch for o in self.ops)
        if held + dbytes * (2 if self.cinit == 'c' else 1) > 47000:
            raise Retry                     # the JSON file would pass 100 KB
        self.has_ld = 'ldst' in hows
        self.has_cp = 'cpasync' in hows
        self.has_async = any(h in ASYNC for h in hows)
        self.scheme = rng.choice(['bar', 'bar', 'mbar', 'ws', 'ws'])
        lag = p.inflight
        if lag > self.S - 1:
            # one product in flight needs a second stage
            raise Retry
        self.L = rng.randint(0, self.S - 1 - lag) if rng.random() < 0.3 else self.S - 1 - lag
        self.early = rng.random() < 0.6
        self.cp_mbar = None
        if self.has_cp:
            opts = {'bar': [None, None, 'noinc', 'inc'], 'mbar': ['noinc', 'noinc', 'inc', 'wait'],
                    'ws': ['noinc', 'noinc', 'inc', 'wait']}[self.scheme]
            self.cp_mbar = rng.choice(opts)
        reads = [p.read[0] != 'desc', p.read[1] != 'desc']       # generic reads of A, B
        gen = [h not in ASYNC for h in hows]
        self.wgmma_generic = any(g and not r for g, r in zip(gen, reads))
        asy_after_read = any(not g and r for g, r in zip(gen, reads))
        self.war_fence = asy_after_read and rng.random() < 0.7
        self.who = rng.choice(['thread0', 'elect', 'predicate'])
        if 'bulk_rows' in hows and self.who == 'predicate':
            self.who = 'thread0'            # a loop needs a branch
        self.two_issuers = self.scheme != 'ws' and all(h in ASYNC for h in hows) and \
            self.who != 'elect' and rng.random() < 0.25
        self.late_store = self.has_ld and self.scheme == 'bar' and self.early and self.L > 0 and \
            rng.random() < 0.6 and all(o.how != 'ldst' or o.R * o.W <= 8 * o.chunk * p.threads
                                       for o in self.ops)
        self.split_tx = rng.random() < 0.15
        self.wait_form = rng.choice(['try', 'try', 'done', 'hint', 'test', 'acquire'])
        self.arrive_form = rng.choice(['plain', 'plain', 'sink', 'release'])
        self.fence_suffix = rng.choice(['', '.shared::cta', '.shared::cta'])
        self.sync_form = rng.choice(['bar.sync 0', 'bar.sync 0', 'barrier.sync 0', 'bar.cta.sync 0',
                                     'barrier.sync.aligned 0, %d' % p.threads])
        if self.scheme == 'ws':
            self.sync_form = 'bar.sync 0'
        self.wait_all = rng.random() < 0.5
        self.wait_sync = rng.random() < 0.3
        self.warp_sync = rng.random() < 0.7
        self.empty_by = rng.choice(['thread', 'warp'])
        self.ring_mode = rng.choice(['regs', 'regs', 'calc'] + (['passes'] if self.S <= 3 else []))
        self.side = rng.choice([None, None, 'ifelse', 'loop'])
        self.branch_order = rng.random() < 0.5
        self.producer_first = self.scheme == 'ws' and rng.random() < 0.4
        self.producer_warps = 4 if p.kind == 'wgmma' and self.producer_first else 1
        self.block = p.threads + (32 * self.producer_warps if self.scheme == 'ws' else 0)
        if self.block > 256:
            raise Retry
        self.store = rng.choice(['row', 'row', 'frag', 'col', 'bulk', 'tensor'] if p.kind != 'wmma' else ['row', 'col'])
        if self.store == 'tensor' and (p.acc == 'f64' or p.N > 256):
            raise Retry
        self.staged = p.M * p.N * esz if self.store in ('bulk', 'tensor') else 0
        self.wait_read = rng.random() < 0.5
        self.vec = rng.random() < 0.6
        self.separate = rng.random() < 0.4
        self.size = size
        self.shfl = rng.random() < 0.3
        self.prefetch = rng.random() < 0.25
        self.init_fence = rng.choice(['mbarrier_init', 'mbarrier_init', 'proxy'])
        self.unset = rng.random() < 0.4
        self.coff = rng.choice([-9, 0, 5])

    # --- device text ------------------------------------------------------------
    def build(self):
        from emit import Emitter
        self.e = e = Emitter()
        rng, p = self.rng, self.prod
        names = ['a', 'b', 'd'] + (['c'] if self.cinit == 'c' else []) + (['s'] if self.side else [])
        names += ['m' + o.name for o in self.ops if o.how.startswith('tma')]
        names += ['md'] if self.store == 'tensor' else []
        names += ['nk'] if self.nk_param else []
        rng.shuffle(names)
        self.params = names
        tid = e.new()
        e.op('mov.u32 %s, %%tid.x' % tid)
        self.lane = e.band(tid, 31)
        self.warp = e.shr(tid, 5)
        if self.shfl:
            # the usual way to tell the compiler that the warp index is uniform
            w = e.new()
            e.op('shfl.sync.idx.b32 %s, %s, 0, 31, 0xffffffff' % (w, self.warp))
            self.warp = w
        self.gptr, self.tmaps = {}, {}
        for n in names:
            if n in ('ma', 'mb', 'md'):
                r = e.new('rd')
                e.op('mov.b64 %s, %s' % (r, n))
                e.op('cvta.param.u64 %s, %s' % (r, r))
                self.tmaps[n[1]] = r
                if self.prefetch:
                    skip = e.skip_unless(e.setp('eq.u32', tid, 0))
                    e.op('prefetch.tensormap [%s]' % r)
                    e.label(skip)
            elif n == 'nk':
                self.nkv = e.new()
                e.op('ld.param.u32 %s, [nk]' % self.nkv)
            else:
                r = e.new('rd')
                e.op('ld.param.u64 %s, [%s]' % (r, n))
                g = e.new('rd')
                e.op('cvta.to.global.u64 %s, %s' % (g, r))
                self.gptr[n] = g
        if not self.nk_param:
            self.nkv = self.nk
        cx, cy = [0, 0]
        if self.grid[0] > 1:
            cx = e.new()
            e.op('mov.u32 %s, %%ctaid.%s' % (cx, 'y' if self.swap else 'x'))
        if self.grid[1] > 1:
            cy = e.new()
            e.op('mov.u32 %s, %%ctaid.%s' % (cy, 'x' if self.swap else 'y'))
        self.blk = [cx, cy]
        # shared memory: one array per operand, or one for all
        S = self.S
        self.nbars = S if self.scheme == 'bar' else 2 * S
        self.shared = []
        if self.separate:
            self.pitch, self.off = list(self.size), [0, 0]
            self.shared = [('smA', 1024, S * self.size[0]), ('smB', 1024, S * self.size[1]),
                           ('bars', 8, 8 * self.nbars)]
            if rng.random() < 0.5:
                self.shared.reverse()
            sm = e.news('r', 2)
            e.op('mov.u32 %s, smA' % sm[0])
            e.op('mov.u32 %s, smB' % sm[1])
            self.smem = sm
            self.bars = e.new()
            e.op('mov.u32 %s, bars' % self.bars)
        else:
            # B follows A at B's alignment, and the next stage at both
            al = max(l.align for l in self.lays)
            offb = (self.size[0] + self.lays[1].align - 1) // self.lays[1].align * self.lays[1].align
            pitch = (offb + self.size[1] + al - 1) // al * al
            self.pitch, self.off = [pitch, pitch], [0, offb]
            if S * pitch + 8 * self.nbars > 48 * 1024:
                raise Retry
            self.shared = [('sm', 1024, S * pitch + 8 * self.nbars)]
            r = e.new()
            e.op('mov.u32 %s, sm' % r)
            self.smem = [r, r]
            self.bars = e.add(r, S * pitch)
        if self.staged:
            # D passes through its own array, or over the stages that are done with
            room = 48 * 1024 - 2048 - sum((n + 1023) // 1024 * 1024 for _, _, n in self.shared)
            self.reuse = self.staged <= S * self.size[0] and (rng.random() < 0.5 or room < self.staged)
            if not self.reuse and room < self.staged:
                raise Retry
            if self.reuse:
                self.smd = self.smem[0]
            else:
                self.shared.append(('smD', 128, self.staged))
                self.smd = e.new()
                e.op('mov.u32 %s, smD' % self.smd)
        self.ct = tid
        if self.scheme == 'ws' and self.producer_first:
            self.ct = e.sub(tid, 32 * self.producer_warps)
        self.init_barriers(tid)
        if self.scheme == 'ws':
            self.main_ws()
        else:
            self.setup_consumer()
            getattr(self, 'main_' + self.scheme)()
            self.epilogue()
        e.op('ret')
        return self.text()

    def init_barriers(self, tid):
        e, T = self.e, self.prod.threads
        n = self.full_count(32 if self.scheme == 'ws' else T)
        if not n:
            return
        skip = e.skip_unless(e.setp('eq.u32', tid, 0))
        for s in range(self.S):
            e.op('mbarrier.init.shared::cta.b64 [%s], %d' % (self.full(s), n))
        if self.scheme != 'bar':
            m = T if self.empty_by == 'thread' else self.prod.warps
            for s in range(self.S):
                e.op('mbarrier.init.shared::cta.b64 [%s], %d' % (self.empty(s), m))
        if self.has_async:
            # the copies complete on these barriers through the async proxy
            if self.init_fence == 'proxy':
                e.op('fence.proxy.async' + self.fence_suffix)
            else:
                e.op('fence.mbarrier_init.release.cluster')
        e.label(skip)
        e.op('bar.sync 0')

    def setup_consumer(self):
        e, p = self.e, self.prod
        warp = self.warp
        if self.scheme == 'ws' and self.producer_first:
            warp = e.sub(self.warp, self.producer_warps)
        p.setup(e, self.lays, warp, self.lane, self.ct)
        if self.side:
            self.scalar = e.new()
            e.op('mad.lo.u32 %s, %s, 7, 1' % (self.scalar, self.ct))
        if p.kind == 'wgmma':
            p.ptrue = e.setp('eq.u32', 0, 0)
        if p.kind == 'wmma':
            self.corner = (e.mul(self.blk[0], p.M), e.mul(self.blk[1], p.N))
        else:
            self.places = p.acc_places(e)
            self.row = e.add(e.mul(self.blk[0], p.M), self.places[0][0])
            self.col = e.add(e.mul(self.blk[1], p.N), self.places[0][2])
        if self.cinit == 'c':
            if p.kind == 'wmma':
                p.memory(e, 'load', self.gptr['c'], *self.corner, self.Nt, False)
                return
            sz = ESIZE[p.acc]
            base = e.ptr(self.gptr['c'], e.mul(e.add(e.mul(self.row, self.Nt), self.col), sz))
            load_c(e, p.acc, p.regs, lambda i: '%s+%d' % (
                base, (self.places[i][1] * self.Nt + self.places[i][3]) * sz), None)
        elif self.cinit == 'zero' or not self.unset:
            # with scale-d 0 the first time, garbage must not matter
            v = {'f32': '0f%s', 's32': '0x%s', 'f16': '0x%s', 'd': ''}.get(p.acc, '')
            junk = '7fc00000' if self.cinit == 'scale0' else '00000000'
            for r in p.regs:
                if p.acc == 'f64':
                    e.op('mov.f64 %s, 0d0000000000000000' % r)
                else:
                    e.op('mov.%s %s, %s' % ('f32' if p.acc == 'f32' else 'b32', r, v % junk))

    def text(self):
        e = self.e
        out = ['.version %d.%d' % e.need, '.target sm_90a', '.address_size 64', '',
               '.visible .entry %s(' % self.name]
        decl = {'nk': '.param .u32 nk', 'ma': '.param .align 64 .b8 ma[128]',
                'mb': '.param .align 64 .b8 mb[128]', 'md': '.param .align 64 .b8 md[128]'}
        out.append(',\n'.join('    ' + decl.get(n, '.param .u64 ' + n) for n in self.params))
        out += [')', '.maxntid %d, 1, 1' % self.block, '{']
        out += ['    .shared .align %d .b8 %s[%d];' % (s[1], s[0], s[2]) for s in self.shared]
        out += e.declarations() + [''] + e.lines + ['}', '']
        return '\n'.join(out)

    # --- the reference --------------------------------------------------------
    def case(self):
        rng, p = self.rng, self.prod
        A = [[rng.randint(*limits(p.ta, p.acc)) for _ in range(self.K)] for _ in range(self.Mt)]
        B = [[rng.randint(*limits(p.tb, p.acc)) for _ in range(self.K)] for _ in range(self.Nt)]
        mats = [A, B]
        for o, m in zip(self.ops, mats):
            o.mask(m)
        bufs = {o.name: o.buffer(rng, m) for o, m in zip(self.ops, mats)}
        mats = [[r[:self.KT * self.nk_run] for r in m] for m in mats]
        C = [[self.coff + rng.randint(-20, 20) if self.cinit == 'c' else 0 for _ in range(self.Nt)]
             for _ in range(self.Mt)]
        sign = p.neg[0] * p.neg[1] if p.kind == 'wgmma' else 1
        if p.bop:
            ints = [[int(''.join(map(str, r)), 2) for r in m] for m in mats]
            f = (lambda x, y: bin(x & y).count('1')) if p.bop == 'and' else \
                (lambda x, y: bin(x ^ y).count('1'))
            D = [[C[i][j] + f(a, b) for j, b in enumerate(ints[1])] for i, a in enumerate(ints[0])]
        else:
            D = [[C[i][j] + sign * sum(map(mul, a, b)) for j, b in enumerate(mats[1])]
                 for i, a in enumerate(mats[0])]
        acc = p.acc
        flat = self.arrange(D)
        exp = b''.join(encode(v, acc) for v in flat)
        args = []
        for n in self.params:
            if n in ('a', 'b'):
                args.append(buf(n, 'u8', {'hex': bufs[n].hex()}, None))
            elif n == 'c':
                c = b''.join(encode(v, acc) for r in C for v in r)
                args.append(buf(n, acc, {'hex': c.hex()}, None))
            elif n == 'd':
                args.append(buf(n, acc, {'zeros': len(exp)}, {'hex': exp.hex()}))
            elif n == 's':
                s = [self.side_value(t, self.nk_run) for _ in range(self.grid[0] * self.grid[1])
                     for t in range(p.threads)]
                s = struct.pack('<%dI' % len(s), *s)
                args.append(buf(n, 'u32', {'zeros': len(s)}, {'hex': s.hex()}))
            elif n == 'nk':
                args.append({'kind': 'scalar', 'elem': 'u32', 'value': self.nk_run})
            elif n == 'md':
                typ = {'s32': rng.choice(['s32', 'u32'])}.get(acc, acc)
                args.append({'kind': 'tensor_map', 'name': 'md', 'of': 'd', 'mode': 'tiled', 'type': typ,
                             'sizes': [self.Nt, self.Mt], 'strides': [self.Nt * ESIZE[acc]],
                             'box': [p.N, p.M], 'element_strides': [1, 1], 'interleave': 'none',
                             'swizzle': 'none', 'fill': 'zero'})
            else:
                args.append(next(o for o in self.ops if o.name == n[1]).tensor_map())
        g = list(self.grid)
        if self.swap:
            g.reverse()
        return {'ptx': self.name + '.ptx', 'entry': self.name, 'grid': g + [1],
                'block': [self.block, 1, 1], 'dynamic_smem': 0, 'about': self.about(), 'args': args}

    def arrange(self, D):
        p = self.prod
        if self.store in ('row', 'bulk', 'tensor'):
            return [v for r in D for v in r]
        if self.store == 'col':
            return [D[i][j] for j in range(self.Nt) for i in range(self.Mt)]
        out, step = [], 2 if p.acc == 'f16' else 1
        for bm in range(self.grid[0]):
            for bn in range(self.grid[1]):
                for t in range(p.threads):
                    for i in range(len(p.regs)):
                        m, n = p.place(t, i)
                        for x in range(step):
                            out.append(D[bm * p.M + m][bn * p.N + n + x])
        return out

    def describe(self):
        """(group, choice) pairs for the table."""
        p = self.prod
        t = [('product', p.kind + ' ' + (p.shape if p.kind != 'wgmma' else 'n%d' % p.NI)),
             ('types', '%s %s*%s->%s' % (p.kind, p.ta, p.tb, p.acc)),
             ('scheme', self.scheme + (' ' + self.ring_mode if self.rolled else ' unrolled')),
             ('stages', self.S), ('k-tiles', '%d%s' % (self.nk_run, ' (param)' if self.nk_param else '')),
             ('init', self.cinit), ('store', self.store), ('side', str(self.side)),
             ('grid', '%dx%d' % self.grid), ('block', self.block)]
        for w, o in enumerate(self.ops):
            how = o.how
            if how == 'cpasync':
                how += ' %s%d' % ('cg' if o.cg else 'ca', o.chunk)
            t.append(('arrival', how + (' edge' if o.edge else '')))
            if o.how == 'cpasync':
                t.append(('cp.async signal', str(self.cp_mbar or 'groups')))
            if o.how.startswith('tma'):
                t.append(('tensor swizzle', o.tensor_map()['swizzle']))
            t.append(('layout', '%s %s' % (p.kind, o.lay.kind)))
            t.append(('operand', '%s %s %s' % (p.kind, p.read[w], 'K' if o.kmajor else 'MN')))
        if p.kind == 'wgmma':
            t.append(('wgmma in flight', p.inflight))
            t.append(('warpgroups', '2 over N' if p.over_n else p.groups))
            t.append(('descriptors', 'added' if p.add_desc else 'rebuilt'))
            t.append(('wgmma signs', str(p.neg)))
            if not p.rs:
                t.append(('wgmma A major', 'K' if p.kmajor[0] else 'M'))
        if self.has_ld:
            t.append(('ld/st', 'late store' if self.late_store else 'at once'))
        if self.two_issuers:
            t.append(('issuer', 'two threads'))
        if self.has_async:
            t.append(('issuer', self.who if self.who != 'alone' else 'one producer lane'))
        return t

    def about(self):
        a, b = self.ops
        return '%s; A %s %s %s, B %s %s %s; %s, %d stages, %d k-tiles%s%s; init %s, store %s' % (
            self.prod.name, a.how, a.lay.kind, 'K-major' if a.kmajor else 'M-major',
            b.how, b.lay.kind, 'K-major' if b.kmajor else 'N-major', self.scheme, self.S, self.nk_run,
            ' rolled' if self.rolled else ' unrolled', ' (parameter)' if self.nk_param else '',
            self.cinit, self.store)


def buf(name, elem, init, expect):
    return {'kind': 'buffer', 'name': name, 'elem': elem, 'init': init, 'expect': expect,
            'tolerance': 'exact'}


def make(seed):
    rng = random.Random(seed)
    # the product's kind is drawn once, so that refusals do not favour small ones
    kind = rng.choices(['mma', 'wmma', 'wgmma'], [40, 12, 48])[0]
    row = rng.choice({'mma': MMA, 'wmma': WMMA_TYPES, 'wgmma': WGMMA}[kind])
    want = {'n': rng.choice([8, 16, 24, 32, 48, 64, 96, 128]), 'acc': rng.randrange(2),
            'layout': rng.choice([None, None, None, 'sw32', 'sw64', 'sw128'])}
    for tries in range(100000):
        if tries % 300 == 299:          # cannot be met with the other limits
            want = dict(want, layout=None, n=rng.choice([8, 16, 24, 32]))
        try:
            prog = Program(rng, 'p%d' % seed, kind, row, want)
            return prog, prog.build()
        except Retry:
            pass
    raise SystemExit('seed %d: no choices fit together' % seed)


def main():
    args = [a for a in sys.argv[1:] if not a.startswith('--')]
    seed, count, out = int(args[0]), int(args[1]), args[2]
    os.makedirs(os.path.join(out, 'cases'), exist_ok=True)
    table = {}
    for s in range(seed, seed + count):
        prog, text = make(s)
        with open(os.path.join(out, 'p%d.ptx' % s), 'w') as f:
            f.write(text)
        with open(os.path.join(out, 'cases', 'p%d.json' % s), 'w') as f:
            json.dump(prog.case(), f)
            f.write('\n')
        for g, c in prog.describe():
            table.setdefault(g, {}).setdefault(str(c), 0)
            table[g][str(c)] += 1
    if '--table' in sys.argv:
        for g in table:
            print(g + ': ' + ', '.join('%s %d' % kv for kv in sorted(table[g].items())))


if __name__ == '__main__':
    main()
