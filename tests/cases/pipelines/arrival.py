"""How the tiles of one operand come from global memory into a stage.

An operand's storage is a matrix of rows of bytes (K-major: rows are m or n;
MN-major: rows are k).  Tile k of CTA block blk starts at row0, byte column
col0 of it.  `lo` is the first storage row that the buffer holds, `rows` how
many it holds and `cols` how many elements of a row are inside the tensor:
everything else reads as zero."""
from values import BITS, encode_row, junk

RAW = {8: ['u8'], 16: ['u16'], 32: ['u32', 's32'], 64: ['u32']}
GENERIC = ('ldst', 'cpasync')
ASYNC = ('bulk_rows', 'bulk_tile', 'tma1', 'tma2', 'tma3c', 'tma3k')


class Operand:
    def __init__(self, name, etype, kmajor, lay, nk, blocks):
        self.name, self.etype, self.kmajor, self.lay = name, etype, kmajor, lay
        self.nk, self.blocks = nk, blocks
        self.bits = BITS[etype]
        self.R, self.W = lay.R, lay.W
        self.srows = self.R * (blocks if kmajor else nk)         # whole storage
        self.sbytes = self.W * (nk if kmajor else blocks)
        self.selems = self.sbytes * 8 // self.bits
        self.lo, self.rows, self.cols = 0, self.srows, self.selems
        self.boxes = []

    def allowed(self):
        L, out = self.lay, ['ldst', 'cpasync', 'cpasync', 'bulk_tile']
        if L.kind == 'plain' and self.W % 16 == 0:
            out += ['bulk_rows', 'bulk_rows']
        if L.size % 128 == 0:
            out.append('tma1')
        if L.span or L.kind == 'plain' and not L.pad:
            out += ['tma2'] * 5
            if self.kmajor:
                out.append('tma3k')
        if L.kind == 'core' and L.colmajor:
            out += ['tma3c'] * 3
        return out

    def choose(self, rng, how):
        """Fix the details of arrival `how`."""
        self.how, L = how, self.lay
        self.chunk = rng.choice([4, 8, 16, 16])
        self.cg = self.chunk == 16 and rng.random() < 0.6
        self.packed = how in ('bulk_tile', 'tma1')
        self.nc = rng.random() < 0.4
        self.hint = rng.random() < 0.2       # an L2 prefetch size or cache policy
        self.pieces = rng.choice([p for p in (1, 2, 4) if L.size % (16 * p) == 0])
        self.pad_pitch = rng.choice([0, 0, 16, 32])
        self.shared_cta = rng.random() < 0.2
        self.edge = False
        eb = max(1, self.bits // 8)
        if how in ('tma2', 'tma3c') and rng.random() < 0.4 or how in GENERIC and rng.random() < 0.2:
            self.edge = True
            cut = rng.randint(1, min(self.R, self.srows - 1))
            if how in GENERIC:
                self.rows = self.srows - cut
            else:
                if rng.random() < 0.4:
                    self.lo = rng.randint(1, min(5, self.srows - 1))   # box starts above row 0
                self.rows = self.srows - self.lo
                if rng.random() < 0.6:
                    self.rows = max(1, self.rows - cut)
                if how == 'tma2' and rng.random() < 0.5:
                    # the tensor ends inside a row: zero columns on the right
                    n = self.sbytes // eb
                    self.tcols = n - rng.randint(1, min(n - 1, self.W // eb))
                    self.cols = self.tcols * eb * 8 // self.bits
        # how many columns the tensor counts, in tensor elements
        self.teb = eb
        if not hasattr(self, 'tcols'):
            self.tcols = self.sbytes // eb
        self.ttype = {8: 'u8', 16: self.etype, 32: 'f32'}.get(8 * eb, 'u32')
        if self.bits < 8:
            self.ttype = 'u8'
        if rng.random() < 0.25:
            self.ttype = rng.choice(RAW[8 * eb])
        if eb == 8:
            self.teb, self.tcols = 4, self.tcols * 2
        self.box1 = rng.choice([b for b in (128, 256, 512, 1024) if L.size % b == 0]) if how == 'tma1' else 0
        self.pitch = self.sbytes + self.pad_pitch
        self.pitch = (self.pitch + 15) // 16 * 16

    # --- host side ----------------------------------------------------------
    def mask(self, matrix):
        """Zero what lies outside the tensor; matrix is [mn][k]."""
        for i, row in enumerate(matrix):
            for k in range(len(row)):
                r, c = (i, k) if self.kmajor else (k, i)
                if not self.lo <= r < self.lo + self.rows or c >= self.cols:
                    row[k] = 0

    def storage(self, matrix):
        if self.kmajor:
            return [encode_row(r, self.etype) for r in matrix]
        return [encode_row([matrix[i][k] for i in range(len(matrix))], self.etype)
                for k in range(len(matrix[0]))]

    def buffer(self, rng, matrix):
        rows = self.storage(matrix)
        L = self.lay
        if not self.packed:
            out = bytearray(junk(rng, self.rows * self.pitch))
            n = (self.cols * self.bits + 7) // 8
            for r in range(self.rows):
                out[r * self.pitch:r * self.pitch + n] = rows[r + self.lo][:n]
            return bytes(out)
        out = bytearray(junk(rng, self.blocks * self.nk * L.size))
        for b in range(self.blocks):
            for k in range(self.nk):
                r0, c0 = (b * self.R, k * self.W) if self.kmajor else (k * self.R, b * self.W)
                at = (b * self.nk + k) * L.size
                for r in range(self.R):
                    for c in range(self.W):
                        out[at + L.offset(r, c)] = rows[r0 + r][c0 + c]
        return bytes(out)

    def tensor_map(self):
        if not self.how.startswith('tma'):
            return None
        from layout import NAME
        L, eb = self.lay, self.teb
        if self.how == 'tma1':
            n = self.blocks * self.nk * L.size
            sizes, strides, box, typ, sw = [n // 4], [], [self.box1 // 4], 'u32', 'none'
        elif self.how == 'tma2':
            sizes, strides = [self.tcols, self.rows], [self.pitch]
            box, typ, sw = [(L.span or self.W) // eb, self.R], self.ttype, NAME[L.kind]
        elif self.how == 'tma3c':
            sizes, strides = [16 // eb, self.rows, self.sbytes // 16], [self.pitch, 16]
            box, typ, sw = [16 // eb, self.R, self.W // 16], self.ttype, 'none'
        else:
            sizes, strides = [self.W // eb, self.rows, self.nk], [self.pitch, self.W]
            box, typ, sw = [(L.span or self.W) // eb, self.R, 1], self.ttype, NAME[L.kind]
        return {'kind': 'tensor_map', 'name': 'm' + self.name, 'of': self.name, 'mode': 'tiled',
                'type': typ, 'sizes': sizes, 'strides': strides, 'box': box,
                'element_strides': [1] * len(sizes), 'interleave': 'none', 'swizzle': sw, 'fill': 'zero'}

    # --- device side --------------------------------------------------------
    def corner(self, e, k, blk):
        """(row0, byte col0) of tile k, as values."""
        if self.kmajor:
            return e.mul(blk, self.R), e.mul(k, self.W)
        return e.mul(k, self.R), e.mul(blk, self.W)

    def copy_threads(self, e, dst, k, blk, gbase, tid, T):
        """ldst and cpasync: all T threads move chunks."""
        L, ch = self.lay, self.chunk
        cpr = self.W // ch
        n = self.R * cpr
        row0, col0 = self.corner(e, k, blk)
        # the tile's corner, then row and column of the thread's chunk
        corner = e.ptr(gbase, e.add(e.mul(row0, self.pitch), col0))

        def one(i, guard=None):
            r, c = e.div(i, cpr), e.mul(e.rem(i, cpr), ch)
            src = e.ptr(corner, e.add(e.mul(r, self.pitch), c))
            d, imm = L.lane(e, r, c).at(e, dst)
            inside = None
            if self.rows < self.srows:
                inside = e.setp('lt.u32', e.add(row0, r), self.rows)
            if self.how == 'cpasync':
                size = ''
                if inside:
                    z = e.new()
                    e.op('selp.u32 %s, %d, 0, %s' % (z, ch, inside))
                    size = ', ' + z
                e.op('cp.async.%s.shared.global%s [%s+%d], [%s], %d%s'
                     % ('cg' if self.cg else 'ca', '.L2::128B' if self.hint else '', d, imm, src, ch, size))
                return
            regs = e.news('r', ch // 4)
            v = {4: '', 8: '.v2', 16: '.v4'}[ch]
            lst = regs[0] if ch == 4 else '{%s}' % ', '.join(regs)
            p = ''
            if inside:
                for r_ in regs:
                    e.op('mov.u32 %s, 0' % r_)
                p = '@%s ' % inside
            e.op('%sld.global%s%s.u32 %s, [%s]' % (p, '.nc' if self.nc else '', v, lst, src))
            store = 'st.shared%s.b32 [%s+%d], %s' % (v, d, imm, lst)
            if e.defer is None:
                e.op(store)
            else:                       # loaded before the product, stored after
                e.defer.append((guard, store))

        if n <= 4 * T or e.defer is not None:
            for j in range((n + T - 1) // T):
                i = e.add(tid, j * T)
                if (j + 1) * T > n:
                    inside = e.setp('lt.u32', i, n)
                    skip = e.skip_unless(inside)
                    one(i, inside)
                    e.label(skip)
                else:
                    one(i)
            return
        i = e.new()
        e.op('mov.u32 %s, %s' % (i, tid))
        top = e.fresh('COPY')
        e.label(top)
        one(i)
        e.op('add.u32 %s, %s, %d' % (i, i, T))
        e.op('@%s bra %s' % (e.setp('lt.u32', i, n), top))

    @property
    def tx(self):
        """Bytes that the async copies of one tile report."""
        return self.lay.size if self.packed else self.R * self.W

    def copy_async(self, e, dst, k, blk, gbase, tmap, bar):
        """The bulk and tensor copies, issued by one thread."""
        L = self.lay
        dest = 'shared::cta' if self.shared_cta else 'shared::cluster'
        if self.shared_cta:
            e.version((8, 6))
        policy, ext = '', ''
        if self.hint:
            policy, ext = e.new('rd'), '.L2::cache_hint'
            e.op('createpolicy.fractional.L2::evict_%s.b64 %s, 1.0' % ('first' if self.nc else 'last', policy))
            policy = ', ' + policy
        bulk = 'cp.async.bulk.%s.global.mbarrier::complete_tx::bytes%s' % (dest, ext)
        bar = '[%s]%s' % (bar, policy)
        if self.how == 'bulk_tile':
            src = e.ptr(gbase, e.mul(e.add(e.mul(blk, self.nk), k), L.size))
            part = L.size // self.pieces
            for j in range(self.pieces):
                e.op('%s [%s+%d], [%s+%d], %d, %s' % (bulk, dst, j * part, src, j * part, part, bar))
            return
        row0, col0 = self.corner(e, k, blk)
        if self.how == 'bulk_rows':
            src = e.ptr(gbase, e.add(e.mul(row0, self.pitch), col0))
            if self.R <= 8:
                for r in range(self.R):
                    e.op('%s [%s+%d], [%s+%d], %d, %s'
                         % (bulk, dst, r * L.pitch, src, r * self.pitch, self.W, bar))
                return
            i, d, s, top = e.new(), e.new(), e.new('rd'), e.fresh('ROWS')
            e.op('mov.u32 %s, 0' % i)
            e.op('mov.u32 %s, %s' % (d, dst))
            e.op('mov.u64 %s, %s' % (s, src))
            e.label(top)
            e.op('%s [%s], [%s], %d, %s' % (bulk, d, s, self.W, bar))
            e.op('add.u32 %s, %s, %d' % (d, d, L.pitch))
            e.op('add.u64 %s, %s, %d' % (s, s, self.pitch))
            e.op('add.u32 %s, %s, 1' % (i, i))
            e.op('@%s bra %s' % (e.setp('lt.u32', i, self.R), top))
            return
        dims = {'tma1': 1, 'tma2': 2}.get(self.how, 3)
        op = 'cp.async.bulk.tensor.%dd.%s.global.%smbarrier::complete_tx::bytes%s' % (
            dims, dest, 'tile.' if self.nc else '', ext)

        def box(at, coords):
            cs = ', '.join(e.reg(c) if isinstance(c, str) else str(c) for c in coords)
            e.op('%s [%s+%d], [%s, {%s}], %s' % (op, dst, at, tmap, cs, bar))

        eb = self.teb
        if self.how == 'tma1':
            x0 = e.mul(e.add(e.mul(blk, self.nk), k), L.size // 4)
            for j in range(L.size // self.box1):
                box(j * self.box1, [e.reg(e.add(x0, j * self.box1 // 4))])
        elif self.how == 'tma3c':
            r = e.reg(e.sub(row0, self.lo))
            box(0, [e.reg(0), r, e.reg(e.div(col0, 16))])
        else:
            r = e.reg(e.sub(row0, self.lo))
            x0 = e.div(col0, eb) if self.how == 'tma2' else 0
            for p in range(self.W // L.span if L.span else 1):
                c = e.reg(e.add(x0, p * (L.span or 0) // eb))
                box(p * (L.panel if L.span else 0), [c, r] + ([e.reg(k)] if dims == 3 else []))
