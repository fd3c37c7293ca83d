"""The matrix instructions of interp.py: mma, wmma and wgmma."""
import re
import struct

M32 = 0xffffffff


def f16(b):
    return struct.unpack('<e', struct.pack('<H', b & 0xffff))[0]


def to_f16(v):
    return struct.unpack('<H', struct.pack('<e', v))[0]


def fp8(b, eb, mb):
    s = -1 if b & 128 else 1
    e, m, bias = b >> mb & (1 << eb) - 1, b & (1 << mb) - 1, (1 << eb - 1) - 1
    return s * (m / (1 << mb) * 2.0 ** (1 - bias) if e == 0 else (1 + m / (1 << mb)) * 2.0 ** (e - bias))


def decode(bits, t):
    if t == 'f16':
        return f16(bits)
    if t == 'bf16':
        return struct.unpack('<f', struct.pack('<I', (bits & 0xffff) << 16))[0]
    if t == 'tf32':
        return struct.unpack('<f', struct.pack('<I', bits & 0xffffe000))[0]
    if t == 'e4m3':
        return fp8(bits & 255, 4, 3)
    if t == 'e5m2':
        return fp8(bits & 255, 5, 2)
    n = {'s8': 8, 'u8': 8, 's4': 4, 'u4': 4, 'b1': 1}[t]
    v = bits & ((1 << n) - 1)
    return v - (1 << n) if t[0] == 's' and v >> (n - 1) else v


NBITS = {'f16': 16, 'bf16': 16, 'tf32': 32, 'e4m3': 8, 'e5m2': 8, 's8': 8, 'u8': 8, 's4': 4, 'u4': 4,
         'b1': 1, 'f64': 64}


class MatrixOps:
    def unpack(self, ts, regs, t, rows16, K):
        """A or B (as [mn][k]) from a warp's fragments."""
        bits = NBITS[t]
        e = max(1, 32 // bits)
        out = {}
        for l, th in enumerate(ts):
            g, tig = l // 4, l % 4
            for ri, r in enumerate(regs):
                half, kk = (ri & 1, ri >> 1) if rows16 else (0, ri)
                for j in range(e):
                    v = th.r[r] if t == 'f64' else decode(th.r[r] >> (bits * j), t)
                    out[g + 8 * half, kk * 4 * e + tig * e + j] = v
        n = 16 if rows16 else 8
        return [[out[i, k] for k in range(K)] for i in range(n)]

    def getacc(self, th, regs, acc):
        if acc == 'f16':
            return [f16(th.r[r] >> s) for r in regs for s in (0, 16)]
        if acc == 's32':
            return [th.r[r] - (1 << 32) if th.r[r] >> 31 else th.r[r] for r in regs]
        return [th.r[r] for r in regs]

    def putacc(self, th, regs, acc, vals):
        if acc == 'f16':
            vals = [to_f16(a) | to_f16(b) << 16 for a, b in zip(vals[::2], vals[1::2])]
        for r, v in zip(regs, vals):
            th.r[r] = v & M32 if acc == 's32' else v

    @staticmethod
    def dot(a, b, h):
        if 'xor' in h:
            return sum(x != y for x, y in zip(a, b))
        return sum(x * y for x, y in zip(a, b))

    def mma(self, ts, h, o):
        m = re.match(r'm(\d+)n8k(\d+)', h[3])
        M, K = int(m[1]), int(m[2])
        typ = [x for x in h[6:] if x in NBITS or x in ('f32', 's32')]
        acc, ta, tb = typ[:3]
        A = self.unpack(ts, self.regs(o[1]), ta, M == 16, K)
        B = self.unpack(ts, self.regs(o[2]), tb, False, K)
        D, C = self.regs(o[0]), self.regs(o[3])
        for l, t in enumerate(ts):
            c = self.getacc(t, C, acc)
            for i in range(len(c)):
                c[i] += self.dot(A[l // 4 + 8 * (i >> 1)], B[l % 4 * 2 + (i & 1)], h)
            self.putacc(t, D, acc, c)

    def wmma(self, ts, h, o):
        shape = next(x for x in h if re.match(r'm\d+n', x))
        M, N, K = map(int, re.match(r'm(\d+)n(\d+)k(\d+)', shape).groups())
        if h[1] in ('load', 'store'):
            what, lay, t = h[2], h[5], h[-1]
            R, C = {'a': (M, K), 'b': (K, N)}.get(what, (M, N))
            x, a, ld = (o[0], o[1], int(o[2])) if h[1] == 'load' else (o[1], o[0], int(o[2]))
            base = self.addr(ts[0], a)
            n = {'f16': 2, 'bf16': 2, 's8': 1, 'u8': 1}.get(t, 4)
            assert ld * n % 16 == 0 and base % 16 == 0
            reg = self.regs(x)[0]
            mat = ts[0].r.get(reg) if h[1] == 'store' else [[0] * C for _ in range(R)]
            for i in range(R):
                for j in range(C):
                    ad = base + (i * ld + j if lay == 'row' else j * ld + i) * n
                    if h[1] == 'store':
                        v = mat[i][j]
                        self.gwrite(ad, {'f16': lambda: struct.pack('<e', v), 'f32': lambda: struct.pack(
                            '<f', v), 's32': lambda: struct.pack('<i', v)}[t]())
                        continue
                    b = (self.sread if 'shared' in h else self.gread)(ad, n)
                    if what == 'c':
                        mat[i][j] = struct.unpack({'f16': '<e', 'f32': '<f', 's32': '<i'}[t], b)[0]
                    else:
                        mat[i][j] = decode(int.from_bytes(b, 'little'), t)
            if h[1] == 'load':
                ts[0].r[reg] = mat
            return
        d, a, b, c = (self.regs(x)[0] for x in o)
        A, B, C = ts[0].r[a], ts[0].r[b], ts[0].r[c]
        if not isinstance(C, list):
            C = [[0] * N for _ in range(M)]
        ts[0].r[d] = [[C[i][j] + sum(A[i][k] * B[k][j] for k in range(K)) for j in range(N)] for i in range(M)]

    def from_desc(self, d, n, kbytes_or_k, t, trans):
        """The [mn][k] operand that a descriptor names."""
        bits = NBITS[t]
        start, lbo, sbo = (d & 0x3fff) << 4, (d >> 16 & 0x3fff) << 4, (d >> 32 & 0x3fff) << 4
        mode = d >> 62
        span = {0: 16, 1: 128, 2: 64, 3: 32}[mode]
        mask = span // 16 - 1
        out = []
        K = kbytes_or_k
        for i in range(n):
            row = []
            for k in range(K):
                if trans:
                    c = i * 2
                    if mode:
                        a = c // span * lbo + k // 8 * sbo + k % 8 * span + c % span
                    else:
                        a = c // 16 * sbo + k // 8 * lbo + k % 8 * 16 + c % 16
                    sh = 0
                else:
                    c, sh = k * bits // 8, k * bits % 8
                    if mode:
                        assert c < span
                        a = i // 8 * sbo + i % 8 * span + c
                    else:
                        a = i // 8 * sbo + c // 16 * lbo + i % 8 * 16 + c % 16
                a += start
                a ^= (a >> 7 & mask) << 4
                row.append(decode(int.from_bytes(self.sread(a, max(1, bits // 8)), 'little') >> sh, t))
            out.append(row)
        return out

    def wgmma_run(self, job):
        ts, h, o, saved = job
        N, K = map(int, re.match(r'm64n(\d+)k(\d+)', h[4]).groups())
        typ = [x for x in h[5:] if x in NBITS or x in ('f32', 's32')]
        acc, ta, tb = typ[:3]
        imm = [int(x) for x in o[4:]]
        na, nb = imm[:2] if len(imm) >= 2 else (1, 1)
        tr = imm[2:]
        if o[1][0] == '{':
            tra, trb = 0, tr[0] if tr else 0
            A = []
            for w in range(4):
                A += self.unpack(ts[32 * w:32 * w + 32], self.regs(o[1]), ta, True, K)
        else:
            tra, trb = tr if tr else (0, 0)
            A = self.from_desc(saved[o[1]][0], 64, K, ta, tra)
            assert len(set(saved[o[1]])) == 1
        B = self.from_desc(saved[o[2]][0], N, K, tb, trb)
        D = self.regs(o[0])
        for l, t in enumerate(ts):
            keep = saved[o[3]][l]
            c = self.getacc(t, D, acc) if keep else [0] * (len(D) * (2 if acc == 'f16' else 1))
            for i in range(len(c)):
                row = l // 32 * 16 + l % 32 // 4 + 8 * (i >> 1 & 1)
                c[i] += na * nb * self.dot(A[row], B[(i >> 2) * 8 + l % 4 * 2 + (i & 1)], h)
            self.putacc(t, D, acc, c)
