"""A small PTX text builder.  Integer helpers accept Python ints or register
names and fold constants, so that the same code writes rolled loops (stage and
phase in registers) and unrolled ones (everything known)."""

CLASSES = {'r': '.b32', 'rd': '.b64', 'f': '.f32', 'd': '.f64', 'p': '.pred', 'h': '.b16'}
MASK = 0xffffffff


class Emitter:
    def __init__(self):
        self.lines = []
        self.count = {c: 0 for c in CLASSES}
        self.labels = 0
        self.need = (8, 4)              # the PTX version that the text needs
        self.guard = None               # predicate put before every instruction
        self.defer = None               # a list: collects stores for later

    def new(self, cls='r'):
        n = self.count[cls]
        self.count[cls] += 1
        return '%%%s%d' % (cls, n)

    def news(self, cls, n):
        return [self.new(cls) for _ in range(n)]

    def op(self, text):
        if self.guard and text[0] != '@':
            text = '@%s %s' % (self.guard, text)
        self.lines.append('    ' + text + ';')

    def note(self, text):
        self.lines.append('    // ' + text)

    def fresh(self, stem='L'):
        self.labels += 1
        return '$%s_%d' % (stem, self.labels)

    def label(self, name):
        self.lines.append(name + ':')

    def version(self, v):
        self.need = max(self.need, v)

    # --- 32-bit integers, with folding -------------------------------------
    def reg(self, a):
        """The value as a register (a constant gets a mov)."""
        if isinstance(a, int):
            r = self.new()
            self.op('mov.u32 %s, %d' % (r, a & MASK))
            return r
        return a

    def _bin(self, name, fold, a, b):
        if isinstance(a, int) and isinstance(b, int):
            return fold(a, b)
        if isinstance(a, int):
            a = self.reg(a)
        r = self.new()
        self.op('%s %s, %s, %s' % (name, r, a, b))
        return r

    def add(self, a, b):
        if a == 0:
            return b
        if b == 0:
            return a
        if isinstance(a, int):
            a, b = b, a
        return self._bin('add.s32', lambda x, y: x + y, a, b)

    def sub(self, a, b):
        if b == 0:
            return a
        return self._bin('sub.s32', lambda x, y: x - y, a, b)

    def mul(self, a, b):
        if a == 0 or b == 0:
            return 0
        if a == 1:
            return b
        if b == 1:
            return a
        if isinstance(a, int):
            a, b = b, a
        if isinstance(b, int) and b > 0 and b & (b - 1) == 0:
            return self.shl(a, b.bit_length() - 1)
        return self._bin('mul.lo.s32', lambda x, y: x * y, a, b)

    def shl(self, a, n):
        return a if n == 0 else self._bin('shl.b32', lambda x, y: x << y, a, n)

    def shr(self, a, n):
        return a if n == 0 else self._bin('shr.u32', lambda x, y: x >> y, a, n)

    def band(self, a, b):
        if a == 0 or b == 0:
            return 0
        return self._bin('and.b32', lambda x, y: x & y, a, b)

    def bxor(self, a, b):
        if a == 0:
            return b
        if b == 0:
            return a
        if isinstance(a, int):
            a, b = b, a
        return self._bin('xor.b32', lambda x, y: x ^ y, a, b)

    def div(self, a, n):
        if n == 1:
            return a
        if n & (n - 1) == 0:
            return self.shr(a, n.bit_length() - 1)
        return self._bin('div.u32', lambda x, y: x // y, a, n)

    def rem(self, a, n):
        if n == 1:
            return 0
        if n & (n - 1) == 0:
            return self.band(a, n - 1)
        return self._bin('rem.u32', lambda x, y: x % y, a, n)

    def setp(self, cmp, a, b):
        p = self.new('p')
        self.op('setp.%s %s, %s, %s' % (cmp, p, self.reg(a), b))
        return p

    # --- 64-bit addresses ---------------------------------------------------
    def ptr(self, base, off):
        """base (64-bit register) + off (unsigned 32-bit value)."""
        if isinstance(off, int):
            if off == 0:
                return base
            r = self.new('rd')
            self.op('add.s64 %s, %s, %d' % (r, base, off))
            return r
        w, r = self.new('rd'), self.new('rd')
        self.op('cvt.u64.u32 %s, %s' % (w, off))
        self.op('add.s64 %s, %s, %s' % (r, base, w))
        return r

    # --- control ------------------------------------------------------------
    def skip_unless(self, pred):
        """Branch over what follows unless pred holds; returns the label."""
        l = self.fresh('SKIP')
        self.op('@!%s bra %s' % (pred, l))
        return l

    def declarations(self):
        return ['    .reg %s %%%s<%d>;' % (t, c, self.count[c])
                for c, t in CLASSES.items() if self.count[c]]
