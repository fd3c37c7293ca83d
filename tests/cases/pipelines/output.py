"""How D leaves the accumulators: straight to global memory (by rows, by
columns or in the order of the fragments), by wmma.store, or through shared
memory and a bulk or tensor copy.  Mixed into Program."""

ESIZE = {'f16': 2, 'f32': 4, 's32': 4, 'f64': 8}


class Output:
    def epilogue(self):
        e, p = self.e, self.prod
        if p.kind == 'wgmma':
            p.drain(e)
        sz = ESIZE[p.acc]
        d = self.gptr['d']
        if p.kind == 'wmma':
            p.memory(e, 'store', d, *self.corner, self.Mt if self.store == 'col' else self.Nt,
                     self.store == 'col')
        else:
            self.store_regs(d, sz)
        if self.side:
            i = e.add(e.mul(self.cta_index(), p.threads), self.ct)
            e.op('st.global.u32 [%s], %s' % (e.ptr(self.gptr['s'], e.mul(i, 4)), self.scalar))

    def cta_index(self):
        return self.e.add(self.e.mul(self.blk[0], self.grid[1]), self.blk[1])

    def consumers_sync(self):
        """A barrier of the consumers alone (the producer warp may be gone)."""
        self.e.op('bar.sync %d, %d' % (1 if self.scheme == 'ws' else 0, self.prod.threads))

    def store_bulk(self, d, sz):
        """D to shared memory, then out by bulk or tensor copies."""
        e, p = self.e, self.prod
        if self.reuse:
            self.consumers_sync()
        base = e.add(self.smd, e.mul(e.add(e.mul(self.places[0][0], p.N), self.places[0][2]), sz))
        self.put('shared', base, [(r * p.N + c) * sz for _, r, _, c in self.places], 1, sz)
        self.proxy_fence()
        self.consumers_sync()
        skip = e.skip_unless(e.setp('eq.u32', self.ct, 0))
        row, col = e.mul(self.blk[0], p.M), e.mul(self.blk[1], p.N)
        if self.store == 'tensor':
            e.op('cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%s, {%s, %s}], [%s]'
                 % (self.tmaps['d'], e.reg(col), e.reg(row), self.smd))
        else:
            out = e.ptr(d, e.mul(e.add(e.mul(row, self.Nt), col), sz))
            if self.Nt == p.N:
                e.op('cp.async.bulk.global.shared::cta.bulk_group [%s], [%s], %d'
                     % (out, self.smd, self.staged))
            else:
                i, s, g, top = e.new(), e.new(), e.new('rd'), e.fresh('OUT')
                e.op('mov.u32 %s, 0' % i)
                e.op('mov.u32 %s, %s' % (s, self.smd))
                e.op('mov.u64 %s, %s' % (g, out))
                e.label(top)
                e.op('cp.async.bulk.global.shared::cta.bulk_group [%s], [%s], %d' % (g, s, p.N * sz))
                e.op('add.u32 %s, %s, %d' % (s, s, p.N * sz))
                e.op('add.u64 %s, %s, %d' % (g, g, self.Nt * sz))
                e.op('add.u32 %s, %s, 1' % (i, i))
                e.op('@%s bra %s' % (e.setp('lt.u32', i, p.M), top))
        e.op('cp.async.bulk.commit_group')
        e.op('cp.async.bulk.wait_group%s 0' % ('.read' if self.wait_read else ''))
        e.label(skip)

    def store_regs(self, d, sz):
        e, p = self.e, self.prod
        if self.staged:
            self.store_bulk(d, sz)
            return
        typ = {'f32': 'f32', 's32': 'u32', 'f64': 'f64', 'f16': 'b32'}[p.acc]
        rsz = 4 if p.acc == 'f16' else sz
        if self.store == 'frag':
            i = e.add(e.mul(self.cta_index(), p.threads), self.ct)
            base = e.ptr(d, e.mul(i, len(p.regs) * rsz))
            n = 1
            if self.vec:
                n = 4 if len(p.regs) % 4 == 0 and rsz == 4 else 2 if len(p.regs) % 2 == 0 else 1
            for j in range(0, len(p.regs), n):
                rs = p.regs[j:j + n]
                v = rs[0] if n == 1 else '{%s}' % ', '.join(rs)
                e.op('st.global%s.%s [%s+%d], %s' % ('' if n == 1 else '.v%d' % n, typ, base, j * rsz, v))
            return
        rs, cs = (self.Nt, 1) if self.store == 'row' else (1, self.Mt)
        base = e.ptr(d, e.mul(e.add(e.mul(self.row, rs), e.mul(self.col, cs)), sz))
        self.put('global', base, [(r * rs + c * cs) * sz for _, r, _, c in self.places], cs, sz)

    def put(self, space, base, at, cs, sz):
        """Store every accumulator register at base + at[i]; cs: the distance of
        neighbours in a row, in elements."""
        e, p = self.e, self.prod
        typ = {'f32': 'f32', 's32': 'u32', 'f64': 'f64', 'f16': 'b32'}[p.acc]
        i = 0
        while i < len(p.regs):
            if p.acc == 'f16' and cs != 1:
                lo, hi = e.new('h'), e.new('h')
                e.op('mov.b32 {%s, %s}, %s' % (lo, hi, p.regs[i]))
                e.op('st.%s.b16 [%s+%d], %s' % (space, base, at[i], lo))
                e.op('st.%s.b16 [%s+%d], %s' % (space, base, at[i] + cs * sz, hi))
            elif self.vec and cs == 1 and p.acc != 'f16':
                e.op('st.%s.v2.%s [%s+%d], {%s, %s}' % (space, typ, base, at[i], p.regs[i], p.regs[i + 1]))
                i += 1
            else:
                e.op('st.%s.%s [%s+%d], %s' % (space, typ, base, at[i], p.regs[i]))
            i += 1
