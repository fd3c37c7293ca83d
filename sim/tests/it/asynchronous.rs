//! Mbarriers and asynchronous copies on the SSA engine.

use std::path::PathBuf;

use ptxc_ir::text::parse_function;
use ptxc_sim::case::{Argument, Buffer, Elem, Tolerance};
use ptxc_sim::{Case, Options, Report, SimError, run_ssa};

const SEEDS: u64 = 40;

/// A launch with an input of 64 words that count from 100 and an output of 64 words.
fn case(threads: u32) -> Case {
    let bytes = |words: Vec<u32>| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let buffer = |name: &str, init: Vec<u32>| {
        let (elem, tolerance) = (Elem::U32, Tolerance::Exact);
        Argument::Buffer(Buffer { name: name.to_string(), elem, init: bytes(init), expect: None, tolerance })
    };
    Case {
        images: Vec::new(),
        ptx: PathBuf::new(),
        entry: "k".to_string(),
        grid: [1, 1, 1],
        block: [threads, 1, 1],
        dynamic_smem: 0,
        ending: Default::default(),
        cluster: None,
        cooperative: false,
        args: vec![buffer("in", (100..164).collect()), buffer("out", vec![0; 64])],
    }
}

/// The output of a launch.
fn words(report: Report) -> Vec<u32> {
    let content = report.outcomes[1].content.chunks_exact(4);
    content.map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect()
}

/// The output of 64 words that a kernel leaves, given 64 words that count from 100, for each of
/// several seeds.
fn outputs(threads: u32, body: &str) -> Result<Vec<Vec<u32>>, SimError> {
    let text = format!(
        "func @k entry {{\n    param \"in\" 8 +0\n    param \"out\" 8 +8\n    symbol @tile shared size 256 align 16\n    \
         symbol @bar shared size 8 align 8\n{body}}}\n"
    );
    let func = parse_function(&text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let case = case(threads);
    let run = |seed| run_ssa(&case, &func, &[], &Options { seed, ..Options::default() }).map(words);
    (0..SEEDS).map(run).collect()
}

/// Each thread clears four words of shared memory, copies over them, executes `wait`, and outputs
/// their content.
fn copied(wait: &str) -> Vec<Vec<u32>> {
    let body = format!(
        "block0:
    tid = sreg.b32 tid.x
    four = const.b32 0x4
    sixteen = const.b32 0x10
    zero = const.b32 0x0
    tile = symbol.b32 @tile
    offset = imul.b32 tid, sixteen
    to = iadd.b32 tile, offset
    in = param.b64 +0
    out = param.b64 +8
    wide = umul_wide.b32 tid, sixteen
    from = iadd.b64 in, wide
    place = iadd.b64 out, wide
    store.shared.b32.v4 [to], zero, zero, zero, zero
    size = const.b32 0xc
    async_copy.global.cg.b128 [from], to, size
    async_commit
    async_copy.global.ca.b32 [from], to, four
    async_commit
{wait}    a, b, c, d = load.shared.b32.v4 [to]
    store.global.b32.v4 [place], a, b, c, d
    exit
"
    );
    outputs(16, &body).expect("it runs")
}

/// Three of four words are copied, and a zero fills the last one.
fn expected() -> Vec<u32> {
    (100..164).map(|word| if word % 4 == 3 { 0 } else { word }).collect()
}

#[test]
fn copies_have_been_made_after_a_wait() {
    for wait in ["    async_wait_all\n", "    n = const.b32 0x0\n    async_wait n\n"] {
        assert!(copied(wait).iter().all(|words| *words == expected()), "{wait}");
    }
    // The last group may still be outstanding: that does not matter here.
    assert!(copied("    n = const.b32 0x1\n    async_wait n\n").iter().all(|words| *words == expected()));
}

#[test]
fn a_missing_wait_shows() {
    let none = copied("");
    assert!(none.iter().all(|words| words.iter().all(|&word| word == 0)), "nothing is copied without a wait");
    let short = copied("    n = const.b32 0x2\n    async_wait n\n");
    assert!(short.iter().any(|words| *words != expected()), "both groups may be under way");
    assert!(short.iter().any(|words| words.iter().any(|&word| word != 0)), "and need not be");
}

/// Thread 0 initializes an mbarrier and makes a bulk copy; all threads wait for the bytes, and
/// thread 0 copies them out. The last operation waits for that copy, or not.
fn bulk(wait: &str) -> Result<Vec<Vec<u32>>, SimError> {
    let body = format!(
        "block0:
    tid = sreg.b32 tid.x
    zero = const.b32 0x0
    one = const.b32 0x1
    bytes = const.b32 0x100
    tile = symbol.b32 @tile
    bar = symbol.b32 @bar
    first = icmp.eq.b32 tid, zero
    in = param.b64 +0
    out = param.b64 +8
    brif first, block1, block2
block1:
    mbarrier_update.init.shared bar, one
    jump block2
block2:
    bar.sync zero
    brif first, block3, block4
block3:
    state = mbarrier_arrive.expect_tx.shared.release.cta bar, bytes
    bulk_load tile, in, bytes, bar
    jump block4
block4:
{wait}block5:
    three = const.b32 0x3
    shift = shl.b32 tid, three
    at = iadd.b32 tile, shift
    a, b = load.shared.b32.v2 [at]
    a1 = iadd.b32 a, one
    store.shared.b32.v2 [at], a1, b
    proxy_fence.async
    bar.sync zero
    brif first, block6, block7
block6:
    bulk_store out, tile, bytes
    bulk_commit
    bulk_wait.read zero
    jump block7
block7:
    exit
"
    );
    outputs(32, &body)
}

#[test]
fn an_mbarrier_tells_of_bulk_copies() {
    let expected: Vec<u32> = (100..164).map(|word| word + (word + 1) % 2).collect();
    let waits = "    past = mbarrier_parity.try.acquire.cta bar, zero\n    brif past, block5, block4\n";
    assert!(bulk(waits).unwrap().iter().all(|words| *words == expected));
    // The phase before the first one is past, whatever has arrived.
    let wrong = "    past = mbarrier_parity.test.acquire.cta bar, one\n    jump block5\n";
    assert!(bulk(wrong).unwrap().iter().any(|words| *words != expected));
}

/// Thread `n` of 4 arrives `n + 1` times at an mbarrier for 10 arrivals, and waits by the state
/// that it got.
#[test]
fn arrivals_complete_a_phase() {
    let body = "block0:
    tid = sreg.b32 tid.x
    zero = const.b32 0x0
    one = const.b32 0x1
    ten = const.b32 0xa
    bar = symbol.b32 @bar
    first = icmp.eq.b32 tid, zero
    out = param.b64 +8
    brif first, block1, block2
block1:
    mbarrier_update.init.shared bar, ten
    jump block2
block2:
    bar.sync zero
    n = iadd.b32 tid, one
    state = mbarrier_arrive.count.shared.release.cta bar, n
    jump block3
block3:
    past = mbarrier_state.test.acquire.cta bar, state
    brif past, block4, block3
block4:
    pending = mbarrier_pending state
    four = const.b32 0x4
    offset = umul_wide.b32 tid, four
    place = iadd.b64 out, offset
    store.global.b32 [place], pending
    exit
";
    for words in outputs(4, body).unwrap() {
        // Each thread found the counts that the earlier ones had left.
        let mut found: Vec<(u32, u32)> = (0..4).map(|n| (words[n], n as u32 + 1)).collect();
        found.sort_by(|a, b| b.cmp(a));
        let mut left = 10;
        for (pending, arrived) in found {
            assert_eq!(pending, left);
            left -= arrived;
        }
    }
}

/// The arrival that copies trigger comes after them.
#[test]
fn copies_arrive_at_an_mbarrier() {
    let body = "block0:
    tid = sreg.b32 tid.x
    zero = const.b32 0x0
    count = const.b32 0x10
    sixteen = const.b32 0x10
    tile = symbol.b32 @tile
    bar = symbol.b32 @bar
    first = icmp.eq.b32 tid, zero
    in = param.b64 +0
    out = param.b64 +8
    wide = umul_wide.b32 tid, sixteen
    from = iadd.b64 in, wide
    place = iadd.b64 out, wide
    offset = imul.b32 tid, sixteen
    to = iadd.b32 tile, offset
    brif first, block1, block2
block1:
    mbarrier_update.init.shared bar, count
    jump block2
block2:
    bar.sync zero
    async_copy.global.cg.b128 [from], to, sixteen
    async_arrive.noinc bar
    jump block3
block3:
    past = mbarrier_parity.test.acquire.cta bar, zero
    brif past, block4, block3
block4:
    back = const.b32 0xf0
    other = isub.b32 back, offset
    theirs = iadd.b32 tile, other
    a, b, c, d = load.shared.b32.v4 [theirs]
    store.global.b32.v4 [place], a, b, c, d
    exit
";
    let expected: Vec<u32> = (0..64).map(|n| 100 + (15 - n / 4) * 4 + n % 4).collect();
    assert!(outputs(16, body).unwrap().iter().all(|words| *words == expected));
}

#[test]
fn misuse_is_a_fault() {
    let twice = "block0:\n    one = const.b32 0x1\n    bar = symbol.b32 @bar\n    mbarrier_update.init.shared bar, one\n    \
                 two = const.b32 0x2\n    state = mbarrier_arrive.count.shared.release.cta bar, two\n    exit\n";
    let completes = "block0:\n    one = const.b32 0x1\n    bar = symbol.b32 @bar\n    mbarrier_update.init.shared bar, one\n    \
                     state = mbarrier_arrive.no_complete.shared.release.cta bar, one\n    exit\n";
    let gone = "block0:\n    one = const.b32 0x1\n    bar = symbol.b32 @bar\n    mbarrier_update.init.shared bar, one\n    \
                mbarrier_inval bar\n    mbarrier_update.expect_tx.shared bar, one\n    exit\n";
    let uneven = "block0:\n    n = const.b32 0x8\n    in = param.b64 +0\n    tile = symbol.b32 @tile\n    \
                  bulk_store in, tile, n\n    exit\n";
    for (body, what) in [
        (twice, "2 arrivals at an mbarrier that awaits 1"),
        (completes, ".noComplete"),
        (gone, "no initialized mbarrier"),
        (uneven, "multiples of 16"),
    ] {
        match outputs(1, body) {
            Err(SimError::Fault { what: said, .. }) => assert!(said.contains(what), "{said}"),
            other => panic!("{what}: {other:?}"),
        }
    }
}

/// Two groups of copies on the SASS engine, then waits; each thread outputs a word of either group.
fn copied_by_machine(waits: &str) -> Vec<Vec<u32>> {
    let text = format!(
        ".target sm_80\n.resources registers=10, uniform=2, shared=512\n.parameters in b64 +0, out b64 +8\n.text.k:\n\
         S2R R0, SR_TID.X ;\nULDC.64 UR0, c[0x0][0x118] ;\nMOV R2, c[0x0][0x160] ;\nMOV R3, c[0x0][0x164] ;\n\
         IMAD.WIDE.U32 R2, R0, 0x8, R2 ;\nMOV R4, c[0x0][0x168] ;\nMOV R5, c[0x0][0x16c] ;\n\
         IMAD.WIDE.U32 R4, R0, 0x8, R4 ;\nSHF.L.U32 R6, R0, 0x3, RZ ;\nSTS.64 [R6], RZ ;\n\
         LDGSTS.E [R6], desc[UR0][R2.64] ;\nLDGDEPBAR ;\nLDGSTS.E [R6+0x4], desc[UR0][R2.64+0x4] ;\nLDGDEPBAR ;\n\
         {waits}LDS.64 R8, [R6] ;\nSTG.E.64 desc[UR0][R4.64], R8 ;\nEXIT ;\n"
    );
    let options = ptxc_sass::text::ReadOptions { without_control: true, ..Default::default() };
    let kernels = ptxc_sass::text::parse_programs(&text, &options)
        .unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let case = case(32);
    let run = |seed| {
        let options = Options { seed, ..Options::default() };
        ptxc_sim::run_sass(&case, &kernels[0].program, &options).map(words).expect("it runs")
    };
    (0..SEEDS).map(run).collect()
}

#[test]
fn on_the_machine_copies_come_as_late_as_the_wait_for_them() {
    let all: Vec<u32> = (100..164).collect();
    assert!(copied_by_machine("DEPBAR.LE SB0, 0x0 ;\n").iter().all(|words| *words == all));
    let none = copied_by_machine("");
    assert!(none.iter().all(|words| words.iter().all(|&word| word == 0)), "a missing wait shows");
    let first = copied_by_machine("DEPBAR.LE SB0, 0x1 ;\n");
    assert!(first.iter().flatten().step_by(2).all(|&word| word != 0), "the first group is there");
    assert!(first.iter().any(|words| *words != all), "the second need not be");
    assert!(copied_by_machine("DEPBAR.LE SB0, 0x2 ;\n").iter().any(|words| words[0] == 0));
}
