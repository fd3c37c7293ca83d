"""Where an operand's tile lies in a shared-memory stage.

A tile is R rows of W bytes (K-major: a row is one m or n; MN-major: a row is
one k).  Kinds: plain (rows with a pitch), sw32/sw64/sw128 (panels of 32, 64 or
128 bytes, 16-byte chunks exchanged as the tensor copies and wgmma do), core
(no-swizzle core matrices of 8 rows of 16 bytes)."""

SPAN = {'sw32': 32, 'sw64': 64, 'sw128': 128}
MODE = {'plain': 0, 'core': 0, 'sw128': 1, 'sw64': 2, 'sw32': 3}
NAME = {'plain': 'none', 'core': 'none', 'sw32': '32B', 'sw64': '64B', 'sw128': '128B'}


class Layout:
    def __init__(self, kind, R, W, pad=0, colmajor=True):
        self.kind, self.R, self.W, self.pad = kind, R, W, pad
        self.colmajor = colmajor
        self.span = SPAN.get(kind, 0)
        self.pitch = W + pad
        if kind == 'plain':
            self.size = R * self.pitch
        else:
            assert R % 8 == 0
            self.size = R * W
        if kind == 'core':
            # chunks of 16 columns outermost, or groups of 8 rows outermost
            self.cs, self.rs = (R * 16, 128) if colmajor else (128, W // 16 * 128)
        if self.span:
            assert W % self.span == 0
            self.xshift = {32: 2, 64: 1, 128: 0}[self.span]
            self.panel = R * self.span
        self.align = {'plain': 128, 'core': 128, 'sw32': 256, 'sw64': 512, 'sw128': 1024}[kind]

    def offset(self, r, c):
        """The byte offset of (row, byte column): used to pack images."""
        if self.kind == 'plain':
            return r * self.pitch + c
        if self.kind == 'core':
            return c // 16 * self.cs + r // 8 * self.rs + r % 8 * 16 + c % 16
        s = self.span
        x = ((r & 7) >> self.xshift) << 4
        x &= s - 1
        return c // s * self.panel + r * s + ((c % s) ^ x)

    def lane(self, e, row, col, small=False):
        return Lane(e, self, row, col, small)


class Lane:
    """A thread's (row, column) in a layout, prepared once; `at` then adds
    constants.  small: col < 32 and constants never carry out of a span."""
    def __init__(self, e, lay, row, col, small):
        self.lay, self.col, self.small = lay, col, small
        k = lay.kind
        if k == 'plain':
            self.pre = e.add(e.mul(row, lay.pitch), col)
        elif k == 'core':
            a = e.mul(e.shr(row, 3), lay.rs)
            a = e.add(a, e.shl(e.band(row, 7), 4))
            if col != 0:
                a = e.add(a, e.mul(e.shr(col, 4), lay.cs))
                a = e.add(a, e.band(col, 15))
            self.pre = a
        else:
            self.pre = e.mul(row, lay.span)
            x = e.shl(e.shr(e.band(row, 7), lay.xshift), 4)
            self.x = x if not isinstance(x, int) else x & (lay.span - 1)

    def at(self, e, base, row0=0, col0=0):
        """(register, constant) of base + (row+row0, col+col0)."""
        lay = self.lay
        assert row0 % 8 == 0
        if lay.kind == 'plain':
            return e.add(base, self.pre), row0 * lay.pitch + col0
        if lay.kind == 'core':
            assert col0 % 16 == 0
            return e.add(base, self.pre), row0 // 8 * lay.rs + col0 // 16 * lay.cs
        s, imm = lay.span, row0 * lay.span
        if self.small:
            imm += col0 // s * lay.panel
            t = e.bxor(e.add(self.col, col0 % s), self.x)
        else:
            c = e.add(self.col, col0)
            if lay.W > s:
                base = e.add(base, e.mul(e.div(c, s), lay.panel))
                c = e.band(c, s - 1)
            t = e.bxor(c, self.x)
        return e.add(e.add(t, self.pre), base), imm


def mem(a):
    reg, imm = a
    return '[%s+%d]' % (reg, imm) if imm else '[%s]' % reg


def wgmma_descriptor(lay, kmajor):
    """(constant bits without the address, function kstep -> byte advance,
    function rows/columns of mn -> byte advance).  A k-step is 32 bytes of a
    K-major row or 16 rows of an MN-major tile."""
    if kmajor:
        if lay.kind == 'core':
            lbo, sbo = lay.cs, lay.rs
            kadv = lambda j: 2 * j * lay.cs
            mnadv = lambda n: n // 8 * lay.rs
        else:
            lbo, sbo = 16, 8 * lay.span
            kadv = lambda j: 32 * j // lay.span * lay.panel + 32 * j % lay.span
            mnadv = lambda n: n * lay.span
    else:                                   # 16-bit elements only
        if lay.kind == 'core':
            lbo, sbo = lay.rs, lay.cs
            kadv = lambda j: 2 * j * lay.rs
            mnadv = lambda n: n * 2 // 16 * lay.cs
        else:
            lbo, sbo = lay.panel, 8 * lay.span
            kadv = lambda j: 16 * j * lay.span

            def mnadv(n):
                assert n * 2 % lay.span == 0
                return n * 2 // lay.span * lay.panel
    bits = (lbo >> 4) << 16 | (sbo >> 4) << 32 | MODE[lay.kind] << 62
    return bits, kadv, mnadv
