//! Asynchronous copies and clusters in the model of time: a copy is done when memory has moved its bytes,
//! and another CTA's shared memory is farther away than the own one.

use std::path::PathBuf;

use ptxc_sim::case::{Argument, Buffer, Elem, Tolerance};
use ptxc_sim::timing::{Cause, Latencies, Timing, TimingOptions, parameters, run_timed};
use ptxc_sim::{Case, Options};

use super::timing::lower;

/// Runs a kernel `k` of one CTA, or of one for each CTA of a cluster, with a buffer of zeros.
fn run(text: &str, ctas: u32, threads: u32, latencies: Latencies) -> Timing {
    let program = lower(text.to_string(), "k").expect("the kernel lowers");
    let buffer = Buffer {
        name: "p".to_string(),
        elem: Elem::U8,
        init: vec![0; 1 << 16],
        expect: None,
        tolerance: Tolerance::Exact,
    };
    let case = Case {
        ptx: PathBuf::new(),
        entry: "k".to_string(),
        grid: [ctas, 1, 1],
        block: [threads, 1, 1],
        cluster: None,
        dynamic_smem: 0,
        args: vec![Argument::Buffer(buffer)],
        ending: Default::default(),
        cooperative: false,
        images: Vec::new(),
    };
    let options = Options { hazards: true, ..Options::default() };
    let (report, timing) =
        run_timed(&case, &program, &options, &TimingOptions { latencies }).expect("it runs");
    assert!(report.passed(), "{report}");
    timing
}

/// A figure of the model of sm_90 in the typical case.
fn figure(name: &str) -> u64 {
    let found = parameters(ptxc_machine::Arch::Sm90).iter().find(|figure| figure.name == name);
    found.expect("a figure").range.typical.into()
}

/// A kernel that copies bytes in bulk and waits for them.
fn bulk(bytes: u32) -> String {
    format!(
        "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{{
	.reg .pred %q;
	.reg .b32 %r<4>;
	.reg .b64 %rd<4>;
	.shared .align 128 .b8 data[32768];
	.shared .align 8 .b64 bar;
	ld.param.u64 %rd1, [p];
	mov.u32 %r1, data;
	mov.u32 %r2, bar;
	mbarrier.init.shared::cta.b64 [%r2], 1;
	mbarrier.arrive.expect_tx.shared::cta.b64 %rd2, [%r2], {bytes};
	cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], {bytes}, [%r2];
WAIT:
	mbarrier.try_wait.parity.shared::cta.b64 %q, [%r2], 0;
	@!%q bra WAIT;
	ld.shared.b32 %r3, [%r1];
	st.global.b32 [%rd1], %r3;
	ret;
}}
"
    )
}

#[test]
fn a_bulk_copy_takes_the_latency_and_the_bandwidth_of_memory() {
    let cycles = |bytes| run(&bulk(bytes), 1, 1, Latencies::Typical).cycles;
    let (little, much) = (cycles(16), cycles(32768));
    assert!(little > figure("bulk-start") + figure("dram"), "{little} cycles for 16 bytes");
    let transfer = 32768 / figure("dram-bandwidth");
    let difference = much - little;
    assert!((transfer - 10..transfer + 50).contains(&difference), "{little} cycles, then {much}");
    let timing = run(&bulk(32768), 1, 1, Latencies::Typical);
    assert!(timing.stalls[Cause::Mbarrier] > transfer, "{timing}");
    assert_eq!(timing.memory.bulk_bytes, 32768);
}

/// A kernel in which each thread copies 16 bytes of its own; it may wait for them.
fn elements(wait: &str) -> String {
    format!(
        "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{{
	.reg .b32 %r<4>;
	.reg .b64 %rd<4>;
	.shared .align 16 .b8 data[4096];
	ld.param.u64 %rd1, [p];
	mov.u32 %r1, %tid.x;
	shl.b32 %r2, %r1, 4;
	cvt.u64.u32 %rd2, %r2;
	add.u64 %rd1, %rd1, %rd2;
	mov.u32 %r3, data;
	add.u32 %r3, %r3, %r2;
	cp.async.cg.shared.global [%r3], [%rd1], 16;
	cp.async.commit_group;
	{wait}
	ret;
}}
"
    )
}

#[test]
fn a_wait_for_a_group_lasts_until_its_copies_are_done() {
    let cycles = |wait| run(&elements(wait), 1, 64, Latencies::Best).cycles;
    let (without, with) = (cycles(""), cycles("cp.async.wait_group 0;"));
    assert!(with > without + 300, "{without} cycles without a wait, {with} with one");
    assert!(cycles("cp.async.wait_group 1;") < with, "the last group may be under way");
}

/// A kernel of two CTAs whose threads read shared memory of a CTA of the cluster, in a chain.
fn chain(rank: &str) -> String {
    let step = "ld.shared::cluster.b32 %r3, [%r2];\nadd.u32 %r2, %r2, %r3;\n";
    format!(
        "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p) .reqnctapercluster 2, 1, 1
{{
	.reg .b32 %r<5>;
	.reg .b64 %rd<2>;
	.shared .align 8 .b8 data[8];
	ld.param.u64 %rd1, [p];
	mov.u32 %r1, data;
	mov.u32 %r3, 0;
	st.shared.b32 [%r1], %r3;
	barrier.cluster.arrive.aligned;
	barrier.cluster.wait.aligned;
	mov.u32 %r4, %cluster_ctarank;
	{rank}
	mapa.shared::cluster.u32 %r2, %r1, %r4;
	{}
	st.global.b32 [%rd1], %r3;
	barrier.cluster.arrive.aligned;
	barrier.cluster.wait.aligned;
	ret;
}}
",
        step.repeat(20)
    )
}

#[test]
fn shared_memory_of_another_cta_is_farther() {
    let own = run(&chain(""), 2, 32, Latencies::Typical);
    let other = run(&chain("xor.b32 %r4, %r4, 1;"), 2, 32, Latencies::Typical);
    assert_eq!((own.memory.remote_accesses, other.memory.remote_accesses), (0, 40));
    let farther = 20 * (figure("cluster-load") - figure("shared-load"));
    // Each access moves 128 bytes.
    let transfer = 128 / figure("cluster-bandwidth");
    let difference = other.cycles - own.cycles;
    assert!((farther..=farther + 20 * (transfer + 2)).contains(&difference), "{difference}, not {farther}");
    assert!(own.stalls[Cause::Cluster] > 0, "{own}");
    // Each CTA has an SM of its own.
    assert_eq!(own.sub_cores.len(), 8);
    assert_eq!(own.sub_cores.iter().filter(|core| core.issued > 0).count(), 2);
}

#[test]
fn clusters_follow_each_other() {
    let timing = run(&chain(""), 64, 1024, Latencies::Best);
    assert_eq!(timing.warps.len(), 64 * 32);
    assert_eq!((timing.occupancy.ctas, timing.residency.ctas), (2, 2));
    // Both CTAs of a cluster start together.
    for pair in 0..32 {
        let start = |cta| timing.warps.iter().find(|warp| warp.cta == cta).expect("its warps").start;
        assert_eq!(start(2 * pair), start(2 * pair + 1));
    }
}
