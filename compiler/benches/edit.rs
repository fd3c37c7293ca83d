//! The time to bring results up to date after an edit, and the properties of the file that affect
//! it.
//!
//! `cargo bench -p ptxc-compiler --bench edit`; `docs/performance.md` gives expected figures.

use std::fmt::Write;
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ptxc_compiler::{Session, Settings};

/// A file of small kernels: each thread multiplies one element.
fn file_of(kernels: usize) -> String {
    let mut text = String::from(".version 9.0\n.target sm_90\n.address_size 64\n");
    for number in 0..kernels {
        let written = writeln!(
            text,
            ".visible .entry k{number}(.param .u64 data, .param .u32 count)\n{{\n\
             \t.reg .pred %p<2>;\n\t.reg .b32 %r<20>;\n\t.reg .b64 %rd<10>;\n\
             \tld.param.u64 %rd1, [data];\n\tld.param.u32 %r1, [count];\n\tcvta.to.global.u64 %rd3, %rd1;\n\
             \tmov.u32 %r2, %ntid.x;\n\tmov.u32 %r3, %ctaid.x;\n\tmov.u32 %r4, %tid.x;\n\
             \tmad.lo.s32 %r5, %r3, %r2, %r4;\n\tsetp.ge.s32 %p1, %r5, %r1;\n\t@%p1 bra END;\n\
             \tmul.wide.s32 %rd5, %r5, 4;\n\tadd.s64 %rd6, %rd3, %rd5;\n\
             \tld.global.u32 %r6, [%rd6];\n\tmul.lo.s32 %r7, %r6, 0{number:07o}; // the factor\n\
             \tst.global.u32 [%rd6], %r7;\nEND:\n\tret;\n}}"
        );
        written.expect("a string takes all");
    }
    text
}

/// A file of functions that call each other. A kernel calls `functions` of them, directly or from
/// another, and the file has that many `kernels`, each with functions of its own.
fn file_of_calls(kernels: usize, functions: usize) -> String {
    let mut text = String::from(".version 9.0\n.target sm_90\n.address_size 64\n");
    for kernel in 0..kernels {
        for number in (0..functions).rev() {
            // Two functions of a binary tree.
            let called = [2 * number + 1, 2 * number + 2].into_iter().filter(|&called| called < functions);
            let calls: String = called
                .map(|called| {
                    format!(
                        "\t{{\n\t.param .b32 a;\n\t.param .b32 r;\n\tst.param.b32 [a], %r1;\n\
                         \tcall (r), f{kernel}_{called}, (a);\n\tld.param.b32 %r2, [r];\n\t}}\n\
                         \txor.b32 %r1, %r1, %r2;\n"
                    )
                })
                .collect();
            let written = writeln!(
                text,
                ".func (.param .b32 r) f{kernel}_{number}(.param .b32 a)\n{{\n\
                 \t.reg .pred %p<2>;\n\t.reg .b32 %r<9>;\n\tld.param.b32 %r1, [a];\n\
                 \tsetp.gt.s32 %p1, %r1, 100;\n\t@%p1 bra END;\n\tmul.lo.s32 %r1, %r1, %r1;\n\
                 \tadd.s32 %r1, %r1, 7;\nEND:\n{calls}\
                 \tmul.lo.s32 %r1, %r1, 0{number:07o}; // the factor\n\tst.param.b32 [r], %r1;\n\tret;\n}}"
            );
            written.expect("a string takes all");
        }
        let written = writeln!(
            text,
            ".visible .entry k{kernel}(.param .u64 data)\n{{\n\
             \t.reg .b32 %r<9>;\n\t.reg .b64 %rd<9>;\n\tld.param.u64 %rd1, [data];\n\
             \tld.global.u32 %r1, [%rd1];\n\t{{\n\t.param .b32 a;\n\t.param .b32 r;\n\
             \tst.param.b32 [a], %r1;\n\tcall (r), f{kernel}_0, (a);\n\tld.param.b32 %r2, [r];\n\t}}\n\
             \tst.global.u32 [%rd1], %r2;\n\tret;\n}}"
        );
        written.expect("a string takes all");
    }
    text
}

fn compiled(text: &str) -> Session {
    let mut session = Session::new("k.ptx", text, Settings::default());
    session.update().expect("no other thread stops it");
    session
}

/// Times the first compilation of a file, an edit in one of its kernels, an edit in a comment, and
/// splitting alone. A kernel that calls functions is linked when its program is asked for.
fn edit(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("edit");
    group.sample_size(10);
    for kernels in [250, 1000, 4000] {
        let text = file_of(kernels);
        group.throughput(Throughput::Bytes(text.len() as u64));
        if kernels <= 1000 {
            group.bench_function(BenchmarkId::new("first", kernels), |bencher| {
                bencher.iter(|| compiled(&text));
            });
        }
        group.bench_function(BenchmarkId::new("split", kernels), |bencher| {
            bencher.iter(|| ptxc_syntax::items::split(black_box(&text)));
        });
        let factor =
            text.len() / 2 + text[text.len() / 2..].find("; // the").expect("a factor precedes it") - 3;
        let mut number = 0;
        let mut digits = move || {
            number += 1;
            format!("{:03o}", number % 512)
        };
        group.bench_function(BenchmarkId::new("one kernel", kernels), |bencher| {
            let mut session = compiled(&text);
            bencher.iter(|| {
                session.edit(factor..factor + 3, &digits());
                session.update().expect("no other thread stops it")
            });
        });
        group.bench_function(BenchmarkId::new("a comment", kernels), |bencher| {
            let mut session = compiled(&text);
            let comment = factor + 8;
            bencher.iter(|| {
                session.edit(comment..comment + 3, &digits());
                session.update().expect("no other thread stops it")
            });
        });
    }
    // Many programs of few functions, and one program of many.
    for (kernels, functions) in [(250, 3), (1, 250), (1, 1000)] {
        let text = file_of_calls(kernels, functions);
        let size = format!("{kernels}x{functions}");
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(BenchmarkId::new("first of calls", &size), |bencher| {
            bencher.iter(|| compiled(&text));
        });
        let factor =
            text.len() / 2 + text[text.len() / 2..].find("; // the").expect("a factor precedes it") - 3;
        let mut number = 0;
        let mut edit = |session: &mut Session| {
            number += 1;
            session.edit(factor..factor + 3, &format!("{:03o}", number % 512));
            session.update().expect("no other thread stops it")
        };
        group.bench_function(BenchmarkId::new("one function", &size), |bencher| {
            let mut session = compiled(&text);
            bencher.iter(|| edit(&mut session));
        });
        group.bench_function(BenchmarkId::new("one function and a link", &size), |bencher| {
            let mut session = compiled(&text);
            bencher.iter(|| {
                let [kernel] = &edit(&mut session).lowered[..] else { panic!("one kernel calls it") };
                black_box(session.code(kernel).expect("it is free of errors").program.insts.len());
            });
        });
    }
    group.finish();
}

criterion_group!(benches, edit);
criterion_main!(benches);
