//! Measures all of `ptxc decode` to JSON lines, from the bytes of a fatbin, in instructions per
//! second.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// A fatbin that contains a cubin many times.
fn fatbin(cubin: &[u8], times: usize) -> Vec<u8> {
    let size = cubin.len().next_multiple_of(8);
    let mut bytes = 0xba55_ed50u32.to_le_bytes().to_vec();
    bytes.extend([1, 0, 16, 0]);
    bytes.extend(((64 + size) as u64 * times as u64).to_le_bytes());
    for _ in 0..times {
        let mut entry = vec![2, 0, 1, 1, 64, 0, 0, 0];
        entry.extend((size as u64).to_le_bytes());
        entry.resize(64, 0);
        entry.extend(cubin);
        entry.resize(64 + size, 0);
        bytes.extend(entry);
    }
    bytes
}

fn benchmarks(criterion: &mut Criterion) {
    let root = env!("CARGO_MANIFEST_DIR");
    // A kernel with much code, where the corpus has one: speed matters most for large kernels.
    let big =
        std::env::var("PTXC_CUBIN").unwrap_or_else(|_| format!("{root}/../tests/decode/scale.sm_90.cubin"));
    let cubin = std::fs::read(big).expect("the cubin can be read");
    let file = tempfile::NamedTempFile::new().expect("there is a folder for it");
    std::fs::write(file.path(), fatbin(&cubin, (16 << 20) / cubin.len())).expect("the folder takes files");
    let words: Vec<String> = ["ptxc", "decode", "--format", "json", file.path().to_str().expect("text")]
        .map(String::from)
        .to_vec();
    let run = || {
        let (mut out, mut err) = (Vec::with_capacity(1 << 29), Vec::new());
        ptxc::run(&words, &mut std::io::empty(), &mut out, &mut err);
        out
    };
    let instructions = run().iter().filter(|&&byte| byte == b'\n').count() as u64;
    let mut group = criterion.benchmark_group("decode");
    group.sample_size(10);
    group.throughput(Throughput::Elements(instructions));
    group.bench_function("json", |bencher| bencher.iter(run));
    group.finish();
}

criterion_group!(benches, benchmarks);
criterion_main!(benches);
