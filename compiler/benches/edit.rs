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

fn compiled(text: &str) -> Session {
    let mut session = Session::new("k.ptx", text, Settings::default());
    session.update().expect("no other thread stops it");
    session
}

/// Times the first compilation of a file, an edit in one of its kernels, an edit in a comment, and
/// splitting alone.
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
    group.finish();
}

criterion_group!(benches, edit);
criterion_main!(benches);
