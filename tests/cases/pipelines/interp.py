#!/usr/bin/env python3
"""interp.py FOLDER [SEED]: runs the generated programs in plain Python.

Written from the ISA's description, separately from the generator, to check the
generator itself.  Threads run in random order; copies and wgmma complete as
early or as late as the ISA allows (lazy), which exposes most races."""
import glob
import json
import os
import random
import re
import struct
import sys

from interp_mma import M32, MatrixOps

GMEM_BASE = 0x100000
SMEM_BASE = 0x400


class Stop(Exception):
    pass


class Thread:
    def __init__(self, cta, i):
        self.cta, self.i, self.pc, self.wait, self.done = cta, i, 0, None, False
        self.r, self.cp, self.out = {}, [], []      # cp: queue of cp.async; out: bulk stores


class Machine(MatrixOps):
    def __init__(self, ptx, case, rng, lazy):
        self.rng, self.lazy, self.case = rng, lazy, case
        self.gmem, self.gbase, self.args = bytearray(), {}, {}
        for a in case['args']:
            a.setdefault('name', 'nk')
            if a['kind'] == 'buffer':
                data = bytes.fromhex(a['init']['hex']) if 'hex' in a['init'] else bytes(a['init']['zeros'])
                while len(self.gmem) % 256:
                    self.gmem.append(0xee)
                self.gbase[a['name']] = (GMEM_BASE + len(self.gmem), len(data))
                self.gmem += data + bytes([0xee]) * 64
            self.args[a['name']] = a
        self.maps = {a['name']: a for a in case['args'] if a['kind'] == 'tensor_map'}
        self.mapaddr = {0x7000 + 128 * i: n for i, n in enumerate(self.maps)}
        self.parse(ptx)

    # --- text -------------------------------------------------------------------
    def parse(self, ptx):
        self.sym, self.labels, self.code = {}, {}, []
        at = SMEM_BASE
        params = re.findall(r'\.param .*?(\w+)(?:\[128\])?,?\n', ptx[:ptx.index('{')])
        assert params == [a['name'] for a in self.case['args']], params
        for line in ptx[ptx.index('{') + 1:].split('\n'):
            line = line.strip()
            if not line or line.startswith('//') or line == '}' or line.startswith('.reg'):
                continue
            m = re.match(r'\.shared \.align (\d+) \.b8 (\w+)\[(\d+)\];', line)
            if m:
                al, n, sz = int(m[1]), m[2], int(m[3])
                at = (at + al - 1) // al * al
                self.sym[n] = at
                at += sz
                continue
            if line.endswith(':'):
                self.labels[line[:-1]] = len(self.code)
                continue
            m = re.match(r'(?:@(!?)(%p\d+) )?(\S+?)(?: (.*))?;$', line)
            assert m, line
            ops, depth, cur = [], 0, ''
            for c in m[4] or '':
                depth += c in '[{'
                depth -= c in ']}'
                if c == ',' and not depth:
                    ops.append(cur.strip())
                    cur = ''
                else:
                    cur += c
            if cur:
                ops.append(cur.strip())
            self.code.append((m[2], m[1] == '!', m[3], ops, line))
        self.smem_size = at
        for a, n in self.mapaddr.items():
            self.sym[n] = a

    # --- memory -----------------------------------------------------------------
    def val(self, t, x):
        if x[0] == '%':
            return t.r[x]
        if x in self.sym:
            return self.sym[x]
        if x.startswith('0f'):
            return struct.unpack('>f', bytes.fromhex(x[2:]))[0]
        if x.startswith('0d'):
            return struct.unpack('>d', bytes.fromhex(x[2:]))[0]
        return int(x, 0)

    def addr(self, t, x):
        m = re.match(r'\[(.+?)(?:\+(-?\d+))?\]$', x)
        return self.val(t, m[1]) + int(m[2] or 0)

    def gread(self, a, n):
        assert any(b <= a and a + n <= b + s for b, s in self.gbase.values()), 'global read at %x' % a
        return bytes(self.gmem[a - GMEM_BASE:a - GMEM_BASE + n])

    def gwrite(self, a, data):
        assert any(b <= a and a + len(data) <= b + s for b, s in self.gbase.values()), 'global write'
        self.gmem[a - GMEM_BASE:a - GMEM_BASE + len(data)] = data

    def sread(self, a, n):
        assert SMEM_BASE <= a and a + n <= self.smem_size, 'shared read %x' % a
        return bytes(self.smem[a:a + n])

    def swrite(self, a, data):
        assert SMEM_BASE <= a and a + len(data) <= self.smem_size, 'shared write'
        self.smem[a:a + len(data)] = data

    @staticmethod
    def regs(x):
        return [y.strip() for y in x.strip('{}').split(',')]

    # --- mbarriers --------------------------------------------------------------
    def bar_arrive(self, a, n=1):
        b = self.mbars[a]
        b['pending'] -= n
        assert b['pending'] >= 0, 'too many arrivals'
        self.bar_check(b)

    def bar_check(self, b):
        if b['pending'] == 0 and b['tx'] == 0:
            b['phase'] ^= 1
            b['pending'] = b['count']

    def bar_tx(self, a, n):
        b = self.mbars[a]
        b['tx'] += n
        self.bar_check(b)

    # --- asynchronous copies ------------------------------------------------------
    def tensor_copy(self, dst, m, coords, bar):
        dims, eb = len(m['sizes']), {'u8': 1, 'f16': 2, 'bf16': 2, 'u16': 2}.get(m['type'], 4)
        assert len(coords) == dims and dst % 128 == 0
        base = self.gbase[m['of']][0]
        box, sizes, strides = m['box'], m['sizes'], [eb] + m['strides']
        assert all(s % 16 == 0 for s in m['strides']) and all(b <= 256 for b in box)
        assert box[0] * eb % 16 == 0
        sw = {'none': 0, '32B': 1, '64B': 3, '128B': 7}[m['swizzle']]
        assert not sw or box[0] * eb <= 16 * (sw + 1)
        n = 1
        for b in box:
            n *= b
        for i in range(n):
            j, off, ok = i, 0, True
            for d in range(dims):
                c = j % box[d] + coords[d]
                j //= box[d]
                ok = ok and 0 <= c < sizes[d]
                off += c * strides[d]
            a = dst + i * eb
            a ^= ((a >> 7) & sw) << 4
            self.swrite(a, self.gread(base + off, eb) if ok else bytes(eb))
        self.bar_tx(bar, -n * eb)

    def progress_bulk(self, force=False):
        while self.bulk and (force or self.rng.random() < (0.1 if self.lazy else 0.9)):
            self.bulk.pop(self.rng.randrange(len(self.bulk)))()
            if force:
                return True

    def cp_flush(self, t, n):
        """Complete the first n items of the thread's queue."""
        for _ in range(n):
            kind, a = t.cp.pop(0)
            if kind == 'copy':
                self.swrite(a[0], self.gread(a[1], a[3]) + bytes(a[2] - a[3]) if a[3] else bytes(a[2]))
            elif kind == 'arrive':
                self.bar_arrive(a)

    # --- single-thread instructions -----------------------------------------------
    def step(self, t):
        p, neg, op, o, line = self.code[t.pc]
        if p and t.r[p] == neg:
            t.pc += 1
            return True
        h = op.split('.')
        name = h[0]
        if name in ('bar', 'barrier', 'ldmatrix', 'mma', 'wmma', 'wgmma', 'shfl', 'elect'):
            kind = 'cta' if name in ('bar', 'barrier') and h[1] != 'warp' else \
                'group' if name == 'wgmma' else 'warp'
            t.wait = (kind, t.pc)
            return False
        r, val = t.r, lambda x: self.val(t, x)
        go = True
        if name == 'bra':
            t.pc = self.labels[o[0]]
            return True
        if name == 'ret':
            t.done = True
            return False
        if name == 'mov':
            if o[1] == '%tid.x':
                r[o[0]] = t.i
            elif o[1].startswith('%ctaid'):
                r[o[0]] = self.ctaid['xyz'.index(o[1][-1])]
            elif o[1][0] == '{':
                lo, hi = self.regs(o[1])
                r[o[0]] = val(lo) | val(hi) << 16
            elif o[0][0] == '{':
                lo, hi = self.regs(o[0])
                r[lo], r[hi] = val(o[1]) & 0xffff, val(o[1]) >> 16
            else:
                r[o[0]] = val(o[1])
        elif name in ('add', 'sub', 'mul', 'and', 'or', 'xor', 'shl', 'shr', 'div', 'rem'):
            a, b = val(o[1]), val(o[2])
            m = (1 << 64) - 1 if h[-1].endswith('64') else M32
            v = {'add': lambda: a + b, 'sub': lambda: a - b, 'mul': lambda: a * b, 'and': lambda: a & b,
                 'or': lambda: a | b, 'xor': lambda: a ^ b, 'shl': lambda: a << b, 'shr': lambda: a >> b,
                 'div': lambda: a // b, 'rem': lambda: a % b}[name]()
            r[o[0]] = v & m
        elif name == 'mad':
            r[o[0]] = val(o[1]) * val(o[2]) + val(o[3]) & M32
        elif name == 'setp':
            a, b = val(o[1]), val(o[2])
            r[o[0]] = {'eq': a == b, 'ne': a != b, 'lt': a < b, 'ge': a >= b}[h[1]]
        elif name == 'selp':
            r[o[0]] = val(o[1]) if val(o[3]) else val(o[2]) & M32
        elif name in ('cvt', 'cvta'):
            r[o[0]] = val(o[1])
        elif name == 'prmt':
            src = struct.pack('<II', val(o[1]) & M32, val(o[2]) & M32)
            sel = val(o[3])
            r[o[0]] = int.from_bytes(bytes(src[sel >> 4 * i & 7] for i in range(4)), 'little')
        elif name == 'ld':
            if h[1] == 'param':
                n = o[1].strip('[]')
                r[o[0]] = self.args[n]['value'] if n == 'nk' else self.gbase[n][0]
            else:
                a, dst = self.addr(t, o[1]), self.regs(o[0])
                n = int(h[-1][1:]) // 8
                assert a % (n * len(dst)) == 0, 'misaligned ' + line
                for i, d in enumerate(dst):
                    b = (self.gread if h[1] == 'global' else self.sread)(a + i * n, n)
                    r[d] = struct.unpack('<' + ('f' if n == 4 else 'd'), b)[0] if h[-1][0] == 'f' \
                        else int.from_bytes(b, 'little')
        elif name == 'st':
            a, src = self.addr(t, o[0]), self.regs(o[1])
            n = int(h[-1][1:]) // 8
            assert a % (n * len(src)) == 0, 'misaligned ' + line
            for i, s in enumerate(src):
                v = val(s)
                b = struct.pack('<' + ('f' if n == 4 else 'd'), v) if h[-1][0] == 'f' \
                    else (v & ((1 << 8 * n) - 1)).to_bytes(n, 'little')
                (self.gwrite if h[1] == 'global' else self.swrite)(a + i * n, b)
        elif name == 'mbarrier':
            go = self.mbarrier(t, h, o)
        elif op in ('cp.async.bulk.commit_group',):
            pass
        elif op.startswith('cp.async.bulk.wait_group'):
            while t.out:
                t.out.pop(0)()
        elif op.endswith('bulk_group'):
            self.bulk_store(t, h, o)
        elif name == 'createpolicy':
            r[o[0]] = 1
        elif op.startswith('cp.async.bulk'):
            if op.endswith('cache_hint'):
                o = o[:-1]
            dst, bar = self.addr(t, o[0]), self.addr(t, o[-1])
            if h[3] == 'tensor':
                m = re.match(r'\[(%\w+), \{(.*)\}\]', o[1])
                tm = self.maps[self.mapaddr[val(m[1])]]
                cs = [val(c.strip()) for c in m[2].split(',')]
                cs = [c - (1 << 32) if c >> 31 & 1 and c > 0 else c for c in cs]
                self.bulk.append(lambda: self.tensor_copy(dst, tm, cs, bar))
            else:
                src, n = self.addr(t, o[1]), val(o[2])
                assert dst % 16 == 0 and src % 16 == 0 and n % 16 == 0

                def copy():
                    self.swrite(dst, self.gread(src, n))
                    self.bar_tx(bar, -n)
                self.bulk.append(copy)
        elif op.startswith('cp.async.mbarrier'):
            a = self.addr(t, o[0])
            if 'noinc' not in op:
                self.mbars[a]['pending'] += 1
            t.cp.append(('arrive', a))
        elif op == 'cp.async.commit_group':
            t.cp.append(('group', None))
        elif op == 'cp.async.wait_all':
            self.cp_flush(t, len(t.cp))
        elif op == 'cp.async.wait_group':
            marks = [i for i, c in enumerate(t.cp) if c[0] == 'group']
            n = val(o[0])
            if len(marks) > n:
                self.cp_flush(t, marks[len(marks) - n - 1] + 1)
        elif op.startswith('cp.async.c'):
            n = val(o[2])
            dst, src = self.addr(t, o[0]), self.addr(t, o[1])
            assert dst % n == 0 and src % n == 0
            t.cp.append(('copy', (dst, src, n, val(o[3]) if len(o) > 3 else n)))
        elif name in ('fence', 'prefetch'):
            pass
        else:
            raise Stop('unknown ' + line)
        t.pc += 1
        return go

    def bulk_store(self, t, h, o):
        src = self.addr(t, o[1])
        if h[3] != 'tensor':
            dst, n = self.addr(t, o[0]), self.val(t, o[2])
            assert dst % 16 == 0 and src % 16 == 0 and n % 16 == 0
            t.out.append(lambda: self.gwrite(dst, self.sread(src, n)))
            return
        m = re.match(r'\[(%\w+), \{(%\w+), (%\w+)\}\]', o[0])
        tm = self.maps[self.mapaddr[self.val(t, m[1])]]
        x, y = self.val(t, m[2]), self.val(t, m[3])
        eb = {'f16': 2}.get(tm['type'], 4)
        n, base = tm['box'][0] * eb, self.gbase[tm['of']][0]

        def copy():
            for r in range(tm['box'][1]):
                self.gwrite(base + (y + r) * tm['strides'][0] + x * eb, self.sread(src + r * n, n))
        t.out.append(copy)

    def mbarrier(self, t, h, o):
        if h[1] == 'init':
            n = self.val(t, o[1])
            self.mbars[self.addr(t, o[0])] = {'count': n, 'pending': n, 'tx': 0, 'phase': 0}
        elif h[1] == 'expect_tx':
            self.mbars[self.addr(t, o[0])]['tx'] += self.val(t, o[1])
        elif h[1] == 'arrive':
            a = self.addr(t, o[1])
            if 'expect_tx' in h:
                self.mbars[a]['tx'] += self.val(t, o[2])
            self.bar_arrive(a)
        else:
            # the phase of that parity is over if the current one differs
            b = self.mbars[self.addr(t, o[1])]
            t.r[o[0]] = b['phase'] != self.val(t, o[2])
            return t.r[o[0]]
        return True

    # --- collectives --------------------------------------------------------------
    def collective(self, ts, pc):
        _, _, op, o, line = self.code[pc]
        h = op.split('.')
        if h[0] in ('bar', 'barrier'):
            pass
        elif h[0] == 'shfl':
            for t in ts:
                t.r[o[0]] = self.val(ts[0], o[1])
        elif h[0] == 'elect':
            for j, t in enumerate(ts):
                t.r[o[0].split('|')[1]] = j == self.leader
        elif h[0] == 'ldmatrix':
            n = int(h[4][1:])
            for j, d in enumerate(self.regs(o[0])):
                rows = []
                for i in range(8):
                    a = self.addr(ts[8 * j + i], o[1])
                    assert a % 16 == 0
                    rows.append(struct.unpack('<8H', self.sread(a, 16)))
                for l, t in enumerate(ts):
                    x, y = l // 4, l % 4 * 2
                    if 'trans' in h:
                        t.r[d] = rows[y][x] | rows[y + 1][x] << 16
                    else:
                        t.r[d] = rows[x][y] | rows[x][y + 1] << 16
            assert len(self.regs(o[0])) == n
        elif h[0] == 'mma':
            self.mma(ts, h, o)
        elif h[0] == 'wmma':
            self.wmma(ts, h, o)
        elif op.startswith('wgmma.mma'):
            job = (ts, h, o, {x: [t.r[x] for t in ts] for x in o[1:4] if x[0] == '%'})
            self.wg[ts[0].i // 128].append(job)
            if not self.lazy:
                self.wgmma_run(job)
        elif op.startswith('wgmma.commit'):
            self.wg[ts[0].i // 128].append('commit')
        elif op.startswith('wgmma.wait'):
            q = self.wg[ts[0].i // 128]
            n = int(o[0])
            while q.count('commit') > n:
                job = q.pop(0)
                if job != 'commit' and self.lazy:
                    self.wgmma_run(job)
        for t in ts:
            t.wait = None
            t.pc += 1

    # --- running ------------------------------------------------------------------
    def run(self):
        gx, gy, _ = self.case['grid']
        for y in range(gy):
            for x in range(gx):
                self.ctaid = (x, y, 0)
                self.run_cta(self.case['block'][0])

    def run_cta(self, T):
        self.smem = bytearray(self.rng.getrandbits(8) for _ in range(self.smem_size))
        self.mbars, self.bulk, self.wg = {}, [], {i: [] for i in range(3)}
        self.leader = self.rng.randrange(32)
        ts = [Thread(self, i) for i in range(T)]
        groups = {'warp': [ts[i:i + 32] for i in range(0, T, 32)],
                  'group': [ts[i:i + 128] for i in range(0, T, 128)], 'cta': [ts]}
        for _ in range(200000):
            live = [t for t in ts if not t.done]
            if not live:
                return
            self.rng.shuffle(groups['warp'])
            for w in groups['warp']:
                for t in w:
                    if t.cp and self.rng.random() < (0.05 if self.lazy else 0.8):
                        self.cp_flush(t, self.rng.randint(1, len(t.cp)))
                    if t.done or t.wait:
                        continue
                    n = 0
                    while self.step(t) and n < 100000:
                        n += 1
            self.progress_bulk()
            for kind, gs in groups.items():
                for g in gs:
                    a = [t for t in g if not t.done]
                    if a and all(t.wait and t.wait == (kind, a[0].wait[1]) for t in a):
                        if kind != 'cta':
                            assert len(a) == (32 if kind == 'warp' else 128), 'part of a warp'
                        self.collective(a, a[0].wait[1])
            if self.rng.random() < 0.3:
                self.progress_bulk(True)
        raise Stop('does not end')

    def check(self):
        for a in self.case['args']:
            if a['kind'] != 'buffer' or not a['expect']:
                continue
            b, n = self.gbase[a['name']]
            got, want = self.gread(b, n), bytes.fromhex(a['expect']['hex'])
            if got == want:
                continue
            f = {'f16': 'e', 'f32': 'f', 'f64': 'd'}.get(a['elem'], 'I')
            sz = struct.calcsize(f)
            g, w = (struct.unpack('<%d%s' % (n // sz, f), x) for x in (got, want))
            bad = [i for i in range(len(g)) if g[i] != w[i]]
            if bad:
                return '%s: %d of %d wrong, first at %d: %r for %r' % (
                    a['name'], len(bad), len(g), bad[0], g[bad[0]], w[bad[0]])
        return None


def main():
    folder, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
    names = sys.argv[3:] or sorted(glob.glob(os.path.join(folder, 'cases', '*.json')))
    bad = 0
    for f in names:
        case = json.load(open(f))
        ptx = open(os.path.join(folder, case['ptx'])).read()
        for lazy in (True, False):
            m = Machine(ptx, case, random.Random(seed), lazy)
            try:
                m.run()
                why = m.check()
            except (Stop, AssertionError, KeyError, IndexError) as x:
                why = '%s %s' % (type(x).__name__, x)
            if why:
                bad += 1
                print(case['entry'], 'lazy' if lazy else 'eager', why, '|', case['about'], flush=True)
    print(len(names), 'programs,', bad, 'bad runs')


if __name__ == '__main__':
    main()
