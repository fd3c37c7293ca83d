//! Measures how many warp instructions per second the engines execute, without the model of time,
//! on one core.
//!
//! ```text
//! cargo bench -p ptxc-sim --bench functional
//! ```
//!
//! criterion's elements are warp instructions. The time to make the machine (registers, shared
//! memory) is included. The `kernels` module describes the kernels.

mod kernels;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use kernels::{launch, programs};
use ptxc_ir::text::parse_function;
use ptxc_sim::{Options, Report, SimError, run_sass, run_ssa};

/// The integer kernel for the SSA engine.
const SSA: &str = "func @k entry {
    param \"out\" 8 +0
block0:
    out = param.b64 +0
    tid = sreg.b32 tid.x
    cta = sreg.b32 ctaid.x
    threads = const.b32 0x80
    first = imul.b32 cta, threads
    id = iadd.b32 first, tid
    x0 = const.b32 0x9e3779b9
    trips = const.b32 0x7d0
    one = const.b32 0x1
    zero = const.b32 0x0
    seven = const.b32 0x7
    three = const.b32 0x3
    factor = const.b32 0x19660d
    select = const.b32 0x3210
    jump block1(id, x0, trips)
block1(a: b32, b: b32, left: b32):
    c = iadd.b32 a, b
    d = lop3.b32 0x96, c, b, id
    e = shr.b32 d, seven
    f = imul.b32 d, factor
    g = iadd.b32 f, e
    h = icmp.ult.b32 g, e
    i = select.b32 h, g, d
    j = shl.b32 i, three
    k = umin.b32 j, g
    l = prmt.index.b32 k, j, select
    m = isub.b32 l, j
    n = umul_wide.b32 m, j
    o, p = unpack.b64 n
    q = xor.b32 o, p
    r = iadd.b32 q, l
    next = isub.b32 left, one
    done = icmp.eq.b32 next, zero
    brif done, block2, block1(q, r, next)
block2:
    four = const.b32 0x4
    offset = umul_wide.b32 id, four
    address = iadd.b64 out, offset
    store.global.b32 [address], q
    exit
}
";

/// Runs a kernel once to count its instructions, and then as often as criterion wants.
fn measure(c: &mut Criterion, engine: &str, name: &str, run: impl Fn() -> Result<Report, SimError>) {
    let report = run().unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut group = c.benchmark_group(engine);
    group.throughput(Throughput::Elements(report.steps));
    group.sample_size(20);
    group.bench_function(BenchmarkId::from_parameter(name), |b| b.iter(&run));
    group.finish();
}

fn sass(c: &mut Criterion) {
    let case = launch();
    for (name, program) in programs() {
        measure(c, "sass", name, || run_sass(&case, &program, &Options::default()));
    }
}

fn ssa(c: &mut Criterion) {
    let case = launch();
    let func = parse_function(SSA).unwrap_or_else(|errors| panic!("{errors:?}"));
    measure(c, "ssa", "integer", || run_ssa(&case, &func, &[], &Options::default()));
}

criterion_group!(benches, sass, ssa);
criterion_main!(benches);
