//! The cost per instruction of conversion from text to bits and back.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ptxc_container::{Found, visit};
use ptxc_machine::Arch;
use ptxc_sass::text::{parse_inst, push_inst};
use ptxc_sass::{Coded, bits};

const ARCH: Arch = Arch::Sm90;

/// The code of one kernel. More code would not add variety: the kinds of operands determine the
/// cost.
const LISTING: &[u8] = include_bytes!("../../tests/decode/scale.nvdisasm.txt");

/// Words with their offsets, only of instructions and not of padding.
fn words() -> Vec<(u32, u128)> {
    let mut words = Vec::new();
    visit(LISTING, &mut |_, found| {
        if let Found::Image(image) = found {
            words.extend(image.functions.iter().flat_map(|function| function.words(0..16)));
        }
    });
    words.retain(|&(offset, word)| bits::decode(word, offset, ARCH).is_ok());
    assert!(!words.is_empty());
    words.iter().copied().cycle().take(4096).collect()
}

fn print(text: &mut Vec<u8>, coded: &Coded) {
    text.clear();
    push_inst(text, &coded.inst, coded.control.reuse, &[], ARCH);
}

fn benchmarks(criterion: &mut Criterion) {
    let words = words();
    let coded: Vec<(u32, Coded)> = words
        .iter()
        .map(|&(offset, word)| (offset, bits::decode(word, offset, ARCH).expect("it was decoded")))
        .collect();
    let texts: Vec<String> = coded
        .iter()
        .map(|(_, coded)| {
            let mut text = Vec::new();
            print(&mut text, coded);
            String::from_utf8(text).expect("it is text")
        })
        .collect();
    let mut group = criterion.benchmark_group("instruction");
    group.throughput(Throughput::Elements(words.len() as u64));
    group.bench_function("decode", |bencher| {
        let mut coded = bits::blank();
        bencher.iter(|| {
            let mut decode =
                |&&(offset, word): &&(u32, u128)| bits::decode_into(word, offset, ARCH, &mut coded).is_ok();
            words.iter().filter(&mut decode).count()
        });
    });
    group.bench_function("encode", |bencher| {
        bencher.iter(|| {
            let encoded = coded.iter().map(|(offset, coded)| bits::encode(coded, *offset, ARCH, |_| None));
            encoded.fold(0, |sum, word| sum ^ word.unwrap_or(0))
        });
    });
    group.bench_function("print", |bencher| {
        let mut text = Vec::new();
        bencher.iter(|| {
            coded.iter().fold(0, |sum, (_, coded)| {
                print(&mut text, coded);
                sum + text.len()
            })
        });
    });
    group.bench_function("parse", |bencher| {
        bencher.iter(|| texts.iter().filter(|text| parse_inst(text, ARCH).is_ok()).count());
    });
    group.finish();
}

criterion_group!(benches, benchmarks);
criterion_main!(benches);
