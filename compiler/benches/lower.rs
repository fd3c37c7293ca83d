//! The time of lowering, stage by stage, for kernels of several shapes and sizes.
//!
//! `cargo bench -p ptxc-compiler --bench lower`; `docs/performance.md` gives expected figures.

use std::fmt;
use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ptxc_codegen::mir::{Mir, VReg};
use ptxc_compiler::input::items;
use ptxc_compiler::output::program_text;
use ptxc_compiler::{Database, Options, SourceFile, lower, module, stages};
use ptxc_ir::Function;
use ptxc_passes::{CodeSettings, Context, Form, Observer, Silent, Span, run};
use ptxc_sass::text::Style;

const HEADER: &str = ".version 9.0\n.target sm_90\n.address_size 64\n";

/// A kernel around a body that may use `%r5` (the thread's number) and `%rd6` (the address of its
/// element).
fn kernel(name: &str, predicates: usize, body: &str) -> String {
    format!(
        ".visible .entry {name}(.param .u64 data, .param .u32 count)\n{{\n\
         \t.reg .pred %p<{}>;\n\t.reg .b32 %r<20>;\n\t.reg .f32 %f<20>;\n\t.reg .b64 %rd<10>;\n\
         \tld.param.u64 %rd1, [data];\n\tld.param.u32 %r1, [count];\n\tcvta.to.global.u64 %rd3, %rd1;\n\
         \tmov.u32 %r2, %ntid.x;\n\tmov.u32 %r3, %ctaid.x;\n\tmov.u32 %r4, %tid.x;\n\
         \tmad.lo.s32 %r5, %r3, %r2, %r4;\n\tsetp.ge.s32 %p1, %r5, %r1;\n\t@%p1 bra END;\n\
         \tmul.wide.s32 %rd5, %r5, 4;\n\tadd.s64 %rd6, %rd3, %rd5;\n{body}END:\n\tret;\n}}\n",
        predicates + 2
    )
}

/// One element for each thread: about twenty instructions.
fn small(name: &str, factor: u32) -> String {
    let body = format!(
        "\tld.global.u32 %r6, [%rd6];\n\tmul.lo.s32 %r7, %r6, {factor};\n\tst.global.u32 [%rd6], %r7;\n"
    );
    kernel(name, 0, &body)
}

/// A chain of multiply-adds with loads and stores, without a branch.
fn straight(instructions: usize) -> String {
    let mut body = String::from("\tld.global.f32 %f1, [%rd6];\n\tld.global.f32 %f2, [%rd6+4];\n");
    for index in 0..instructions / 4 {
        let offset = index * 4 % 4096;
        let group = format!(
            "\tld.global.f32 %f3, [%rd6+{offset}];\n\tfma.rn.f32 %f1, %f1, %f2, %f3;\n\
             \tfma.rn.f32 %f2, %f2, %f3, %f1;\n\tst.global.f32 [%rd6+{offset}], %f2;\n"
        );
        body.push_str(&group);
    }
    kernel("straight", 0, &body)
}

/// Divergent branches, one in eight instructions.
fn branches(instructions: usize) -> String {
    let count = instructions / 8;
    let mut body = String::from("\tld.global.u32 %r6, [%rd6];\n");
    for index in 0..count {
        let (predicate, offset) = (index + 2, index * 4 % 4096);
        let group = format!(
            "\txor.b32 %r7, %r6, {index};\n\tand.b32 %r7, %r7, 64;\n\tsetp.eq.s32 %p{predicate}, %r7, 0;\n\
             \t@%p{predicate} bra L{index};\n\tmul.lo.s32 %r6, %r6, %r7;\n\
             \tst.global.u32 [%rd6+{offset}], %r6;\nL{index}:\n\tadd.s32 %r6, %r6, %r5;\n\
             \txor.b32 %r6, %r6, %r1;\n"
        );
        body.push_str(&group);
    }
    body.push_str("\tst.global.u32 [%rd6], %r6;\n");
    kernel("branches", count, &body)
}

/// Loops nested `depth` deep, one nest after another.
fn loops(instructions: usize, depth: usize) -> String {
    let nests = instructions / (5 * depth);
    let mut body = String::from("\tld.global.u32 %r6, [%rd6];\n");
    for nest in 0..nests {
        for level in 0..depth {
            let head = format!("N{nest}_{level}:\n\tadd.s32 %r6, %r6, {level};\n\txor.b32 %r6, %r6, %r5;\n");
            body.push_str(&head);
        }
        for level in (0..depth).rev() {
            let predicate = 2 + nest * depth + level;
            let tail = format!(
                "\tmul.lo.s32 %r6, %r6, 5;\n\tsetp.lt.s32 %p{predicate}, %r6, %r1;\n\
                 \t@%p{predicate} bra N{nest}_{level};\n"
            );
            body.push_str(&tail);
        }
    }
    body.push_str("\tst.global.u32 [%rd6], %r6;\n");
    kernel("loops", nests * depth, &body)
}

/// The SSA form of the only kernel of a file, as written.
fn built(text: &str) -> Function {
    let db = Database::default();
    let file = SourceFile::new(&db, "k.ptx".into(), text.into());
    let func = items::items(&db, file).functions[0];
    let checked = stages::checked(&db, func);
    ptxc_passes::build(module::ast(&db, func), module::environment(&db, func), &checked.resolved)
        .expect("the kernel is valid")
        .function
}

fn simplified(func: Function) -> Function {
    through(func.into(), Span::SSA, &mut Silent).into_ssa()
}

fn machine(func: Function) -> Mir<VReg> {
    through(func.into(), Span::MACHINE, &mut Silent).into_machine()
}

fn through(form: Form, span: Span, observer: &mut dyn Observer) -> Form {
    run(form, span, &mut Context::new(&CodeSettings::default()), observer).expect("the kernel compiles")
}

/// Each stage of the pipeline alone, on the product of the previous stage.
fn stages(criterion: &mut Criterion) {
    let inputs = [
        ("small/20", 20, small("small", 7)),
        ("straight/1000", 1000, straight(1000)),
        ("straight/10000", 10_000, straight(10_000)),
        ("branches/1000", 1000, branches(1000)),
        ("branches/10000", 10_000, branches(10_000)),
        ("loops/10000", 10_000, loops(10_000, 20)),
    ];
    let mut group = criterion.benchmark_group("stages");
    group.sample_size(10);
    for (name, instructions, kernel) in inputs {
        let text = format!("{HEADER}\n{kernel}");
        group.throughput(Throughput::Elements(instructions));
        group.bench_function(BenchmarkId::new("parse and build", name), |bencher| {
            bencher.iter(|| built(black_box(&text)));
        });
        let as_written = built(&text);
        group.bench_function(BenchmarkId::new("ssa", name), |bencher| {
            bencher.iter_batched(|| as_written.clone(), simplified, BatchSize::LargeInput);
        });
        let ssa = simplified(as_written);
        group.bench_function(BenchmarkId::new("machine", name), |bencher| {
            bencher.iter_batched(|| ssa.clone(), machine, BatchSize::LargeInput);
        });
        let mir = machine(ssa);
        group.bench_function(BenchmarkId::new("code", name), |bencher| {
            let code = |mir: Mir<VReg>| through(mir.into(), Span::CODE, &mut Silent);
            bencher.iter_batched(|| mir.clone(), code, BatchSize::LargeInput);
        });
    }
    group.finish();
}

/// Times one pass of a compilation.
struct Stopwatch {
    pass: &'static str,
    start: Option<Instant>,
    time: Duration,
}

impl Observer for Stopwatch {
    fn before(&mut self, pass: &'static str, _: &dyn fmt::Display) {
        if pass == self.pass {
            self.start = Some(Instant::now());
        }
    }

    fn after(&mut self, pass: &'static str, _: &dyn fmt::Display) -> bool {
        if let Some(start) = self.start.take_if(|_| pass == self.pass) {
            self.time += start.elapsed();
        }
        true
    }
}

/// The slowest passes, each timed within a whole compilation; then the text.
fn passes(criterion: &mut Criterion) {
    let instructions = 10_000;
    let mut group = criterion.benchmark_group("passes");
    group.sample_size(10);
    group.throughput(Throughput::Elements(instructions));
    for (shape, kernel) in [("straight", straight(10_000)), ("branches", branches(10_000))] {
        let text = format!("{HEADER}\n{kernel}");
        let as_written = built(&text);
        let observed =
            |observer: &mut Stopwatch| through(as_written.clone().into(), Span::ALL, observer).into_program();
        let timed = [
            "simplify",
            "legalize",
            "select",
            "schedule-pre-ra",
            "allocate",
            "schedule-post-ra",
            "control",
            "hazard-check",
        ];
        for pass in timed {
            group.bench_function(BenchmarkId::new(pass, shape), |bencher| {
                bencher.iter_custom(|times| {
                    let mut watch = Stopwatch { pass, start: None, time: Duration::ZERO };
                    for _ in 0..times {
                        observed(&mut watch);
                    }
                    watch.time
                });
            });
        }
        let code = observed(&mut Stopwatch { pass: "", start: None, time: Duration::ZERO });
        group.bench_function(BenchmarkId::new("text", shape), |bencher| {
            bencher.iter(|| program_text(black_box(&code), &Style::default(), false));
        });
    }
    group.finish();
}

/// The text of a file to SASS text, in sizes that show how the time grows.
fn growth(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("growth");
    group.sample_size(10);
    for instructions in [10_000, 30_000, 100_000] {
        group.throughput(Throughput::Elements(instructions as u64));
        let inputs = [
            ("straight", straight(instructions)),
            ("branches", branches(instructions)),
            ("loops", loops(instructions, 20)),
        ];
        for (shape, kernel) in inputs {
            let text = format!("{HEADER}\n{kernel}");
            group.bench_function(BenchmarkId::new(shape, instructions), |bencher| {
                bencher.iter(|| lowered(&text));
            });
        }
    }
    group.finish();
}

/// The SASS of a file, compiled with an empty database.
fn lowered(text: &str) -> String {
    let db = Database::default();
    let file = SourceFile::new(&db, "k.ptx".into(), text.into());
    let options = Options::defaults(&db);
    lower(&db, file, options, &Style::default(), false)
}

criterion_group!(benches, stages, passes, growth);
criterion_main!(benches);
