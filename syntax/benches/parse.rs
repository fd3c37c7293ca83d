//! How fast text is split into tokens and items and parsed to trees.
//!
//! `cargo bench -p ptxc-syntax --bench parse`.

use std::fmt::Write;
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ptxc_syntax::{items, parse_module, tokens};

/// A module as compilers write it: kernels with the usual instructions and some debug lines.
fn module() -> String {
    let mut text = String::from(".version 9.0\n.target sm_90\n.address_size 64\n\n");
    for kernel in 0..200 {
        let head = format!(
            ".visible .entry _Z6kernel{kernel}PKfPfi(\n\t.param .u64 _Z6kernel{kernel}PKfPfi_param_0,\n\
             \t.param .u64 _Z6kernel{kernel}PKfPfi_param_1,\n\t.param .u32 _Z6kernel{kernel}PKfPfi_param_2\n)\n{{\n\
             \t.reg .pred \t%p<99>;\n\t.reg .f32 \t%f<400>;\n\t.reg .b32 \t%r<400>;\n\t.reg .b64 \t%rd<400>;\n\n\
             \tld.param.u64 \t%rd1, [_Z6kernel{kernel}PKfPfi_param_0];\n\tcvta.to.global.u64 \t%rd2, %rd1;\n"
        );
        text.push_str(&head);
        for line in 0..40 {
            let part = format!(
                "\tmul.wide.s32 \t%rd{}, %r{line}, 4;\n\tadd.s64 \t%rd{}, %rd2, %rd{};\n\
                 \tld.global.nc.f32 \t%f{}, [%rd{}+{}];\n\tfma.rn.f32 \t%f{}, %f{}, 0f3F{line:02}0000, %f{line};\n\
                 \tsetp.lt.s32 \t%p{}, %r{line}, {};\n\t@%p{} bra \t$L__BB{kernel}_{line};\n\
                 \tst.global.v2.f32 \t[%rd{}], {{%f{}, %f{}}};\n$L__BB{kernel}_{line}:\n",
                line + 100,
                line + 200,
                line + 100,
                line + 100,
                line + 200,
                line * 4,
                line + 200,
                line + 100,
                line % 99,
                line * 3,
                line % 99,
                line + 200,
                line + 200,
                line + 100,
            );
            text.push_str(&part);
            if line % 10 == 0 {
                writeln!(text, "\t// a comment of the usual length, about nothing in particular")
                    .expect("a string takes all");
            }
        }
        text.push_str("\tret;\n}\n\n");
    }
    text
}

fn parse(criterion: &mut Criterion) {
    let text = module();
    let mut group = criterion.benchmark_group("syntax");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("split", |bencher| bencher.iter(|| items::split(black_box(&text)).len()));
    group.bench_function("lex", |bencher| bencher.iter(|| tokens(black_box(&text)).count()));
    group
        .bench_function("parse", |bencher| bencher.iter(|| parse_module(black_box(&text)).value.items.len()));
    group.finish();
}

criterion_group!(benches, parse);
criterion_main!(benches);
