"""The loops over k-tiles: who issues copies, who waits for what, and when a
stage may be written again.

bar:  all threads, one bar.sync per k-tile frees the stage of earlier tiles
mbar: all threads, full and empty mbarriers, no bar.sync in the loop
ws:   a producer warp and consumers, full and empty mbarriers"""
from arrival import ASYNC


class Ring:
    """k, stage and phase of a tile sequence in registers (rolled loops)."""
    def __init__(self, e, S, mode, start):
        self.e, self.S, self.mode = e, S, mode
        self.k = e.new()
        e.op('mov.u32 %s, %d' % (self.k, start))
        if mode == 'regs':
            self.st, self.ph = e.new(), e.new()
            e.op('mov.u32 %s, %d' % (self.st, start % S))
            e.op('mov.u32 %s, %d' % (self.ph, start // S & 1))

    def get(self):
        e = self.e
        if self.mode == 'regs':
            return self.k, self.st, self.ph
        return self.k, e.rem(self.k, self.S), e.band(e.div(self.k, self.S), 1)

    def advance(self):
        e = self.e
        e.op('add.u32 %s, %s, 1' % (self.k, self.k))
        if self.mode != 'regs':
            return
        e.op('add.u32 %s, %s, 1' % (self.st, self.st))
        p = e.setp('eq.u32', self.st, self.S)
        e.op('@%s xor.b32 %s, %s, 1' % (p, self.ph, self.ph))
        e.op('@%s mov.u32 %s, 0' % (p, self.st))


class Loops:
    """Mixed into Program: e, prod, ops, S, L, nk, scheme, registers."""

    # --- small pieces ---------------------------------------------------------
    def bases(self, st):
        return [self.e.add(self.smem[w], self.e.add(self.e.mul(st, self.pitch[w]), self.off[w]))
                for w in (0, 1)]

    def full(self, st):
        return self.e.add(self.bars, self.e.mul(st, 8))

    def empty(self, st):
        return self.e.add(self.e.add(self.bars, 8 * self.S), self.e.mul(st, 8))

    def wait(self, bar, parity):
        e = self.e
        top, p = e.fresh('WAIT'), e.new('p')
        parity = e.reg(parity)
        e.label(top)
        v = self.wait_form
        if v == 'test':
            e.op('mbarrier.test_wait.parity.shared::cta.b64 %s, [%s], %s' % (p, bar, parity))
        elif v == 'hint':
            e.op('mbarrier.try_wait.parity.shared::cta.b64 %s, [%s], %s, 1000' % (p, bar, parity))
        elif v == 'acquire':
            e.op('mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %s, [%s], %s' % (p, bar, parity))
        else:
            e.op('mbarrier.try_wait.parity.shared::cta.b64 %s, [%s], %s' % (p, bar, parity))
        if v == 'done':
            done = e.fresh('DONE')
            e.op('@%s bra %s' % (p, done))
            e.op('bra %s' % top)
            e.label(done)
        else:
            e.op('@!%s bra %s' % (p, top))

    def arrive(self, bar):
        e = self.e
        if self.arrive_form == 'sink':
            e.op('mbarrier.arrive.shared::cta.b64 _, [%s]' % bar)
        elif self.arrive_form == 'release':
            e.op('mbarrier.arrive.release.cta.shared::cta.b64 %s, [%s]' % (e.new('rd'), bar))
        else:
            e.op('mbarrier.arrive.shared.b64 %s, [%s]' % (e.new('rd'), bar))

    def proxy_fence(self):
        self.e.op('fence.proxy.async' + self.fence_suffix)

    def sync(self):
        self.e.op(self.sync_form)

    def below(self, k, emit):
        """Run emit() if tile k exists: at once, or behind a branch."""
        e = self.e
        if isinstance(k, int) and isinstance(self.nkv, int):
            if k < self.nkv:
                emit()
            return
        skip = e.skip_unless(e.setp('lt.u32', k, self.nkv))
        emit()
        e.label(skip)

    # --- copies ---------------------------------------------------------------
    def issue(self, k, st, tid, T, wait_empty=None):
        """All copies of tile k into stage st; wait_empty: phase bit of the
        tile, if the stage must first become free."""
        e = self.e
        dst = self.bases(st)
        gen = [o for o in self.ops if o.how not in ASYNC]
        asy = [o for o in self.ops if o.how in ASYNC]
        blk = dict(zip('ab', self.blk))
        base = dict(zip('ab', dst))

        def free():
            if wait_empty is not None:
                self.wait(self.empty(st), e.bxor(wait_empty, 1))

        if gen:
            free()
        if asy:
            self.issue_async(asy, bool(gen), k, st, tid, T, base, blk, free)
        for o in gen:
            o.copy_threads(e, base[o.name], k, blk[o.name], self.gptr[o.name], tid, T)
        if self.has_cp and self.cp_mbar:
            if self.cp_mbar == 'noinc':
                e.op('cp.async.mbarrier.arrive.noinc.shared.b64 [%s]' % self.full(st))
            elif self.cp_mbar == 'inc':
                e.op('cp.async.mbarrier.arrive.shared.b64 [%s]' % self.full(st))
                self.arrive(self.full(st))
            else:
                e.op('cp.async.wait_all')
                if self.wgmma_generic:
                    self.proxy_fence()
                self.arrive(self.full(st))
        if self.has_ld and self.scheme != 'bar':
            if self.wgmma_generic:
                self.proxy_fence()
            self.arrive(self.full(st))

    def issue_async(self, asy, waited, k, st, tid, T, base, blk, free):
        """The bulk and tensor copies, by one thread (or one per operand)."""
        e, bar = self.e, self.full(st)
        parts = [asy]
        if self.two_issuers:
            parts = [asy[:1], asy[1:]]
        for i, part in enumerate(parts):
            skip = None
            if self.who == 'elect':
                skip = e.fresh('SKIP')
                if T > 32:
                    e.op('@%s bra %s' % (e.setp('ne.u32', self.warp, 0), skip))
                p = e.new('p')
                e.op('elect.sync _|%s, 0xffffffff' % p)
                e.op('@!%s bra %s' % (p, skip))
            elif self.who != 'alone':       # alone: the caller runs in one thread
                p = e.setp('eq.u32', tid, T - 1 if i else 0)
                if self.who == 'predicate':
                    if not waited:
                        skip = e.skip_unless(p)
                        free()
                        e.label(skip)
                    e.guard = p
                    skip = None
                else:
                    skip = e.skip_unless(p)
            if not waited and self.who != 'predicate':
                free()
            tx = sum(o.tx for o in part)
            if self.split_tx:
                e.op('mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%s], %d' % (bar, tx))
            elif self.arrive_form == 'release':
                e.op('mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%s], %d' % (bar, tx))
            else:
                e.op('mbarrier.arrive.expect_tx.shared.b64 %s, [%s], %d' % (e.new('rd'), bar, tx))
            for o in part:
                o.copy_async(e, base[o.name], k, blk[o.name], self.gptr[o.name],
                             self.tmaps.get(o.name), bar)
            if self.split_tx:
                self.arrive(bar)
            e.guard = None
            if skip:
                e.label(skip)

    def full_count(self, T):
        n = (2 if self.two_issuers else 1) if self.has_async else 0
        if self.has_cp and self.cp_mbar:
            n += T
        if self.has_ld and self.scheme != 'bar':
            n += T
        return n

    # --- consuming ------------------------------------------------------------
    def consume(self, k, st):
        e, prod = self.e, self.prod
        first = None
        if self.cinit == 'scale0':
            if isinstance(k, int):
                first = None if k else e.setp('ne.u32', 0, 0)
            else:
                first = e.setp('ne.u32', k, 0)
        prod.tile(e, self.bases(st), first)
        self.side_work(k)

    def side_work(self, k):
        """Independent scalar work under a divergent guard."""
        e, s = self.e, self.side
        if not s:
            return
        sc = self.scalar
        other, done = e.fresh('ELSE'), e.fresh('JOIN')
        if s == 'ifelse':
            p = e.setp('ne.u32', e.band(self.ct, 5), 0)
            e.op('@%s bra %s' % (p, other))
            e.op('mad.lo.u32 %s, %s, 3, %s' % (sc, sc, e.reg(k)))
            e.op('bra %s' % done)
            e.label(other)
            e.op('xor.b32 %s, %s, %s' % (sc, sc, e.reg(e.add(self.ct, k))))
        else:
            n = e.new()
            e.op('and.b32 %s, %s, 3' % (n, self.ct))
            e.label(other)
            e.op('@%s bra %s' % (e.setp('eq.u32', n, 0), done))
            e.op('mad.lo.u32 %s, %s, 5, %s' % (sc, sc, n))
            e.op('add.u32 %s, %s, %s' % (sc, sc, e.reg(k)))
            e.op('sub.u32 %s, %s, 1' % (n, n))
            e.op('bra %s' % other)
        e.label(done)
        if self.warp_sync:
            e.op('bar.warp.sync 0xffffffff')

    def side_value(self, t, nk):
        sc = t * 7 + 1
        for k in range(nk):
            if self.side == 'ifelse':
                sc = sc ^ (t + k) if t & 5 else sc * 3 + k
            else:
                for n in range(t & 3, 0, -1):
                    sc = sc * 5 + n + k
            sc &= 0xffffffff
        return sc

    def release(self, k, st):
        """Tile k - inflight is no longer read: tell the producer."""
        e, lag = self.e, self.prod.inflight
        if isinstance(k, int):
            if k >= lag:
                self.release_stage((k - lag) % self.S)
            return
        if not lag:
            self.release_stage(st)
            return
        skip = e.skip_unless(e.setp('ne.u32', k, 0))
        if isinstance(st, int):
            pv = (st - 1) % self.S
        else:
            p = e.setp('eq.u32', st, 0)
            pv = e.new()
            e.op('selp.u32 %s, %d, %s, %s' % (pv, self.S - 1, e.sub(st, 1), p))
        self.release_stage(pv)
        e.label(skip)

    def release_stage(self, st):
        e = self.e
        if self.war_fence:
            self.proxy_fence()
        if self.empty_by == 'thread':
            self.arrive(self.empty(st))
        else:
            e.op('bar.warp.sync 0xffffffff')
            skip = e.skip_unless(e.setp('eq.u32', self.lane, 0))
            self.arrive(self.empty(st))
            e.label(skip)

    def full_wait(self, st, ph):
        self.wait(self.full(st), ph)
        if self.wgmma_generic and self.has_cp and self.cp_mbar in ('noinc', 'inc'):
            # the copying thread cannot fence: the reader does after the wait
            self.proxy_fence()
        if self.wait_sync:
            self.e.op('bar.warp.sync 0xffffffff')

    # --- loops over tiles -------------------------------------------------------
    def over_tiles(self, body, lead=0):
        """body(k, stage, phase, k+lead, stage, phase of that) per tile."""
        e, S = self.e, self.S
        if not self.rolled:
            for k in range(self.nk):
                t = k + lead
                body(k, k % S, k // S & 1, t, t % S, t // S & 1)
            return
        if self.ring_mode == 'passes':
            self.passes(body, lead)
            return
        r = Ring(e, S, self.ring_mode, 0)
        q = Ring(e, S, self.ring_mode, lead) if lead else r
        top = e.fresh('LOOP')
        e.label(top)
        body(*(r.get() + q.get()))
        r.advance()
        if q is not r:
            q.advance()
        e.op('@%s bra %s' % (e.setp('lt.u32', r.k, self.nkv), top))

    def passes(self, body, lead):
        """A rolled loop of passes over the whole ring: the stages are constants,
        the phase bit flips once a pass, and every tile has an exit."""
        e, S = self.e, self.S
        k, ph = e.new(), e.new()
        e.op('mov.u32 %s, 0' % k)
        e.op('mov.u32 %s, 0' % ph)
        top, out = e.fresh('PASS'), e.fresh('LAST')
        e.label(top)
        for s in range(S):
            body(k, s, ph, e.add(k, lead), (s + lead) % S, e.bxor(ph, (s + lead) // S & 1))
            e.op('add.u32 %s, %s, 1' % (k, k))
            e.op('@%s bra %s' % (e.setp('ge.u32', k, self.nkv), out))
        e.op('xor.b32 %s, %s, 1' % (ph, ph))
        e.op('bra %s' % top)
        e.label(out)

    def cp_commit(self):
        if self.has_cp and not self.cp_mbar:
            self.e.op('cp.async.commit_group')

    def main_bar(self):
        e, L, T = self.e, self.L, self.prod.threads
        grp = self.has_cp and not self.cp_mbar
        mb = self.full_count(T) > 0
        fence = self.wgmma_generic and (self.has_ld or grp) or self.war_fence
        for j in range(L):
            self.below(j, lambda: self.issue(j, j, self.ct, T))
            self.cp_commit()

        def body(k, st, ph, t, tst, tph):
            if L == 0:
                if not (isinstance(k, int) and k == 0):
                    if self.war_fence:
                        self.proxy_fence()
                    self.sync()
                self.issue(k, st, self.ct, T)
                self.cp_commit()
                if grp:
                    e.op('cp.async.wait_all' if self.wait_all else 'cp.async.wait_group 0')
                if grp or self.has_ld:
                    if fence:
                        self.proxy_fence()
                    self.sync()
            else:
                if grp:
                    e.op('cp.async.wait_all' if L == 1 and self.wait_all
                         else 'cp.async.wait_group %d' % (L - 1))
                if fence:
                    self.proxy_fence()
                self.sync()
                if self.early:
                    # plain loads may be issued here and stored after the product
                    e.defer = late = [] if self.late_store else None
                    self.below(t, lambda: self.issue(t, tst, self.ct, T))
                    self.cp_commit()
                    e.defer = None
            if mb:
                self.full_wait(st, ph)
            self.consume(k, st)
            if L and self.early and late:
                self.below(t, lambda: [e.op('@%s %s' % gs if gs[0] else gs[1]) for gs in late])
            if L and not self.early:
                self.below(t, lambda: self.issue(t, tst, self.ct, T))
                self.cp_commit()

        self.over_tiles(body, L)

    def main_mbar(self):
        L, T = self.L, self.prod.threads
        for j in range(L):
            self.below(j, lambda: self.issue(j, j, self.ct, T))

        def body(k, st, ph, t, tst, tph):
            def issue():
                # tiles 0..S-1 find their stage fresh: parity 1 counts as done
                known = isinstance(t, int) and t < self.S
                self.below(t, lambda: self.issue(t, tst, self.ct, T, None if known else tph))
            if self.early or L == 0:
                issue()
            self.full_wait(st, ph)
            self.consume(k, st)
            self.release(k, st)
            if not self.early and L:
                issue()

        self.over_tiles(body, L)

    def main_ws(self):
        e = self.e
        gen = [o for o in self.ops if o.how not in ASYNC]
        prod_l, end = e.fresh('PRODUCER'), e.fresh('END')

        def producer():
            done = end
            if self.producer_warps > 1:
                e.op('@%s bra %s' % (e.setp('ne.u32', self.warp, 0), end))
            ptid = self.lane
            if not gen:
                if self.who == 'elect':
                    p = e.new('p')
                    e.op('elect.sync _|%s, 0xffffffff' % p)
                else:
                    p = e.setp('eq.u32', ptid, 0)
                e.op('@!%s bra %s' % (p, done))
                self.who = 'alone'      # one thread runs the whole loop

            def body(k, st, ph, *rest):
                fresh = isinstance(k, int) and k < self.S
                self.issue(k, st, ptid, 32, None if fresh else ph)

            self.over_tiles(body)

        def consumer():
            self.setup_consumer()

            def body(k, st, ph, *rest):
                self.full_wait(st, ph)
                self.consume(k, st)
                self.release(k, st)

            self.over_tiles(body)
            self.epilogue()

        isprod = e.setp('lt.u32' if self.producer_first else 'ge.u32', self.warp,
                        self.producer_warps if self.producer_first else self.prod.warps)
        if self.branch_order:
            e.op('@%s bra %s' % (isprod, prod_l))
            consumer()
            e.op('bra %s' % end)
            e.label(prod_l)
            producer()
        else:
            cons = e.fresh('CONSUMER')
            e.op('@!%s bra %s' % (isprod, cons))
            producer()
            e.op('bra %s' % end)
            e.label(cons)
            consumer()
        e.label(end)
