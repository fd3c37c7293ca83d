//! Forms in modules of older versions, to find the first version that allows each.

use crate::form::{Family, Form};

/// Versions that extended the families, and the version before each.
const VERSIONS: [(u32, u32); 14] = [
    (6, 3),
    (6, 4),
    (7, 0),
    (7, 1),
    (7, 3),
    (7, 4),
    (7, 7),
    (7, 8),
    (8, 0),
    (8, 1),
    (8, 3),
    (8, 6),
    (9, 3),
    (9, 4),
];

/// A form for every feature with a version of its own.
const ASKED: &[(Family, &[&str])] = &[
    (
        Family::Barrier,
        &[
            "bar.sync 1",
            "bar.cta.sync 1",
            "bar.arrive 1, 64",
            "bar.red.popc.u32 rw, 1, p0",
            "barrier.sync 1",
            "barrier.cta.sync.aligned 1",
            "barrier.cta.red.and.pred rp, 1, p0",
            "bar.warp.sync 0xffffffff",
        ],
    ),
    (
        Family::Fence,
        &[
            "membar.sys",
            "membar.proxy.alias",
            "membar.proxy.async",
            "fence.sc.gpu",
            "fence.acq_rel.cta",
            "fence.acq_rel.cluster",
            "fence.release.gpu",
            "fence.acquire.sys",
            "fence.acquire.sync_restrict::shared::cluster.cluster",
            "fence.mbarrier_init.release.cluster",
            "fence.proxy.alias",
            "fence.proxy.async",
            "fence.proxy.async.global",
            "fence.proxy.tensormap::generic.release.gpu",
            "fence.proxy.tensormap::generic.acquire.gpu [ga], 128",
            "barrier.cluster.arrive",
            "barrier.cluster.arrive.release",
            "barrier.cluster.arrive.relaxed.aligned",
            "barrier.cluster.wait.acquire",
            "griddepcontrol.wait",
        ],
    ),
    (
        Family::Mbarrier,
        &[
            "mbarrier.init.shared.b64 [phase], 96",
            "mbarrier.init.shared::cta.b64 [phase], 96",
            "mbarrier.inval.shared.b64 [phase]",
            "mbarrier.arrive.shared.b64 rx, [phase]",
            "mbarrier.arrive.shared.b64 _, [phase]",
            "mbarrier.arrive.shared.b64 rx, [phase], 1",
            "mbarrier.arrive.release.cta.shared.b64 rx, [phase]",
            "mbarrier.arrive.relaxed.cta.shared.b64 rx, [phase]",
            "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [phase]",
            "mbarrier.arrive.noComplete.shared.b64 rx, [phase], 1",
            "mbarrier.arrive.expect_tx.shared.b64 rx, [phase], 64",
            "mbarrier.arrive_drop.shared.b64 rx, [phase]",
            "mbarrier.expect_tx.shared::cta.b64 [phase], 64",
            "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [phase], 64",
            "mbarrier.complete_tx.shared::cluster.b64 [phase], 64",
            "mbarrier.test_wait.shared.b64 rp, [phase], x0",
            "mbarrier.test_wait.parity.shared.b64 rp, [phase], w0",
            "mbarrier.test_wait.acquire.cluster.shared.b64 rp, [phase], x0",
            "mbarrier.test_wait.relaxed.cta.shared.b64 rp, [phase], x0",
            "mbarrier.try_wait.shared.b64 rp, [phase], x0",
            "mbarrier.try_wait.acquire.cta.shared.b64 rp, [phase], x0",
            "mbarrier.try_wait.parity.shared.b64 rp, [phase], w0, 1000",
            "mbarrier.pending_count.b64 rw, x0",
            "cp.async.mbarrier.arrive.shared.b64 [phase]",
        ],
    ),
    (
        Family::Atomic,
        &[
            "red.global.add.u32 [ga], w0",
            "red.relaxed.gpu.global.add.u32 [ga], w0",
            "red.cluster.global.add.u32 [ga], w0",
            "red.shared::cta.add.u32 [sa], w0",
            "red.shared::cluster.add.u32 [sa], w0",
            "red.global.add.L2::cache_hint.u32 [ga], w0, pol",
            "red.global.add.f64 [ga], x0",
            "red.global.add.noftz.f16 [ga], h0",
            "red.global.add.noftz.f16x2 [ga], w0",
            "red.global.add.noftz.bf16 [ga], h0",
            "red.global.add.noftz.bf16x2 [ga], w0",
            "red.global.add.noftz.f32 [ga], w0",
            "red.shared::cluster.add.noftz.f32 [sa], w0",
            "red.global.min.s64 [ga], x0",
            "atom.global.add.u32 rw, [ga], w0",
            "atom.global.add.noftz.f32 rw, [ga], w0",
            "atom.acq_rel.sys.global.add.u32 rw, [ga], w0",
            "atom.acquire.cluster.global.add.u32 rw, [ga], w0",
            "atom.shared::cluster.cas.b32 rw, [sa], w0, w1",
            "atom.global.exch.b128 rq, [ga], q0",
            "atom.global.cas.b128 rq, [ga], q0, q1",
            "atom.global.cas.b16 rh, [ga], h0, h1",
            "atom.global.exch.L2::cache_hint.b32 rw, [ga], w0, pol",
            "atom.global.add.u32 _, [ga], w0",
        ],
    ),
    (
        Family::Vector,
        &[
            "red.global.add.v2.f32 [ga], {w0, w1}",
            "red.global.add.noftz.v8.bf16 [ga], {h0, h1, h2, h3, h4, h5, h6, h7}",
            "red.global.max.noftz.v4.f16x2 [ga], {w0, w1, w2, w3}",
            "atom.global.add.v4.f32 {rw0, rw1, rw2, rw3}, [ga], {w0, w1, w2, w3}",
            "red.global.add.noftz.v2.f32 [ga], {w0, w1}",
            "atom.global.add.noftz.v4.f32 {rw0, rw1, rw2, rw3}, [ga], {w0, w1, w2, w3}",
            "atom.global.min.noftz.v2.bf16x2 {rw0, rw1}, [ga], {w0, w1}",
        ],
    ),
    (
        Family::Warp,
        &[
            "shfl.sync.up.b32 rw|rp, w0, 1, 0, 0xffffffff",
            "shfl.up.b32 rw|rp, w0, 1, 0",
            "vote.sync.all.pred rp, p0, 0xffffffff",
            "vote.all.pred rp, p0",
            "vote.ballot.b32 rw, p0",
            "match.any.sync.b32 rw, w0, 0xffffffff",
            "match.all.sync.b64 rw|rp, x0, 0xffffffff",
            "redux.sync.add.u32 rw, w0, 0xffffffff",
            "activemask.b32 rw",
            "elect.sync rw|rp, 0xffffffff",
        ],
    ),
];

/// Adds the forms.
pub(super) fn forms(forms: &mut Vec<Form>) {
    for (family, texts) in ASKED {
        for text in *texts {
            forms.extend(VERSIONS.map(|version| Form::new(*family, *text).version(version)));
        }
    }
}
