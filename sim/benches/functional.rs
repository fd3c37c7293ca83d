//! How many warp instructions a second the engines execute, without time, on one core.
//!
//! ```text
//! cargo bench -p ptxc-sim --bench functional
//! ```
//!
<<<<<<< HEAD
//! criterion's elements are warp instructions. Making the machine (registers, shared memory) is included. What the
//! kernels do is told where they are.
=======
//! criterion's elements are warp instructions. Each kernel is a loop, run by eight warps in two CTAs under
//! the seeded scheduler; making the machine (registers, shared memory) is included.
//!
//! | kernel | what it does |
//! |---|---|
//! | integer | additions, logic, shifts, multiply-adds, comparisons, selections |
//! | float | additions, multiplications, multiply-adds, minima, comparisons in binary32 |
//! | memory | of ten instructions six load or store: global and shared, contiguous, words and vectors |
//! | scattered | the same with lanes 136 bytes apart |
//! | divergent | both arms of a branch in each iteration, with BSSY and BSYNC |
//!
//! "sass with hazards" runs some of them with control codes that count, and no hazard.
>>>>>>> 20ddfa1 (hazards: timed runs in xtask exec, the fuzzer runs with hazards; guarded calls and BRA.DIV in the static check; docs)

mod kernels;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use kernels::{launch, programs};
use ptxc_ir::text::parse_function;
<<<<<<< HEAD
use ptxc_sim::{Options, Report, SimError, run_sass, run_ssa};
=======
use ptxc_sass::{Completion, Control, Program, Register};
use ptxc_sim::{Case, Options, Report, SimError, run_sass, run_ssa};

/// Iterations of each loop.
const TRIPS: u32 = 2000;
/// Bytes of the buffer: each of 256 threads has 512.
const WORDS: usize = 256 * 128;

/// The start of a kernel: R0 the thread of the grid, R2 the thread of the CTA, R4:R5 the address of the
/// thread's part of the buffer, `stride` bytes a thread; R6 a shared address; R7 the iterations left.
fn prologue(stride: u32) -> String {
    format!(
        "
        S2R R2, SR_TID.X
        S2R R3, SR_CTAID.X
        IMAD R0, R3, 0x80, R2
        LDC.64 R4, c[0x0][0x210]
        ULDC.64 UR4, c[0x0][0x208]
        IMAD.WIDE.U32 R4, R0, {stride:#x}, R4
        IMAD R6, R2, {stride:#x}, RZ
        IADD3 R6, R6, 0x400, RZ
        MOV R7, {TRIPS:#x}
        MOV R8, R0
        MOV R9, 0x9e3779b9
        I2FP.F32.U32 R20, R0
        MOV R21, 0x3f8ccccd
        MOV R22, RZ
        "
    )
}

const EPILOGUE: &str = "
        IADD3 R7, R7, -0x1, RZ
        ISETP.NE.AND P6, PT, R7, RZ, PT
        @P6 BRA `(.L_x_0)
        STG.E desc[UR4][R4.64], R8
        EXIT
";

const INTEGER: &str = "
        IADD3 R8, R8, R9, R0
        LOP3.LUT R10, R8, R9, R0, 0x96, !PT
        SHF.R.U32.HI R11, RZ, 0x7, R10
        IMAD R8, R10, 0x19660d, R11
        ISETP.LT.U32.AND P0, PT, R8, R11, PT
        SEL R12, R8, R10, P0
        LEA R9, R12, R8, 0x2
        VIMNMX.U32 R13, R9, R8, PT
        SHF.L.U32 R14, R13, 0x3, RZ
        PRMT R15, R14, 0x3210, R13
        IADD3 R8, R15, -R9, RZ
        @P0 LOP3.LUT R8, R8, 0xff, RZ, 0x3c, !PT
        IMAD.WIDE.U32 R16, R8, R9, R14
        IADD3 R8, P1, R16, R8, RZ
        IADD3.X R9, R17, R9, RZ, P1, !PT
        IMAD.IADD R8, R8, 0x1, R9
";

const FLOAT: &str = "
        FADD R23, R20, R21
        FFMA R22, R23, R21, R22
        FMUL R24, R22, 0.0009765625
        FMNMX R25, R24, R23, PT
        FSETP.GT.AND P0, PT, R25, R20, PT
        FSEL R26, R25, R24, P0
        FFMA R20, R26, 0.5, R20
        FADD R20, R20, -R21
";

const MEMORY: &str = "
        LDG.E R10, desc[UR4][R4.64]
        STS [R6], R10
        IADD3 R11, R10, R8, RZ
        LDS R12, [R6]
        STG.E desc[UR4][R4.64], R11
        IADD3 R8, R8, R12, RZ
        LDG.E.64 R14, desc[UR4][R4.64+0x10000]
        IADD3 R8, R8, R14, RZ
        STS.64 [R6+0x2000], R14
";

const DIVERGENT: &str = "
        LOP3.LUT R10, R0, 0x1, RZ, 0xc0, !PT
        ISETP.NE.AND P0, PT, R10, RZ, PT
        BSSY B0, `(.L_x_2)
        @P0 BRA `(.L_x_1)
        IADD3 R8, R8, 0x3, RZ
        IMAD R8, R8, 0x5, R0
        BSYNC B0
.L_x_1:
        IADD3 R8, R8, R9, RZ
        LOP3.LUT R8, R8, R0, RZ, 0x3c, !PT
        BSYNC B0
.L_x_2:
";
>>>>>>> 20ddfa1 (hazards: timed runs in xtask exec, the fuzzer runs with hazards; guarded calls and BRA.DIV in the static check; docs)

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

/// Runs a kernel once, for the number of its instructions, and then as often as criterion wants.
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

/// Gives a program control codes without hazards, whatever it does: every instruction waits for all before it that
/// take scoreboards, and stalls for what may follow.
fn protect(program: &mut Program) {
    for coded in &mut program.insts {
        let (inst, arch) = (&coded.inst, program.arch);
        let slow = inst.defs().any(|def| def.reg.file().is_predicate());
        let takes = inst.completion(arch) != Completion::Fixed;
        let results = takes && inst.defs().next().is_some();
        coded.control = Control {
            stall: if slow { 13 } else { 6 },
            yield_hint: slow,
            write_barrier: results.then_some(0),
            read_barrier: takes.then_some(1),
            wait_mask: 3,
            reuse: 0,
        };
    }
}

fn hazards(c: &mut Criterion) {
    for (name, stride, body) in [("integer", 4, INTEGER), ("memory", 16, MEMORY), ("divergent", 4, DIVERGENT)]
    {
        let case = launch();
        let text = format!("{}\n.L_x_0:\n{body}{EPILOGUE}", prologue(stride));
        let mut program = program(&text, &case);
        protect(&mut program);
        let options = Options { hazards: true, ..Options::default() };
        let report = run_sass(&case, &program, &options).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(report.hazards, [], "{name}");
        measure(c, "sass with hazards", name, || run_sass(&case, &program, &options));
    }
}

fn ssa(c: &mut Criterion) {
    let case = launch();
    let func = parse_function(SSA).unwrap_or_else(|errors| panic!("{errors:?}"));
    measure(c, "ssa", "integer", || run_ssa(&case, &func, &[], &Options::default()));
}

criterion_group!(benches, sass, hazards, ssa);
criterion_main!(benches);
