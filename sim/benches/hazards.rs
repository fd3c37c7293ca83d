//! Measures how many warp instructions per second run when control codes count, with and without
//! the model of time.
//!
//! ```text
//! cargo bench -p ptxc-sim --bench hazards
//! ```
//!
//! criterion's elements are warp instructions. The kernels are those of the other benchmarks, with
//! control codes that protect every dependence: the run checks for hazards and finds none.

mod kernels;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use kernels::{launch, programs};
use ptxc_sass::{Completion, Control, Program, Register};
use ptxc_sim::timing::{TimingOptions, run_timed};
use ptxc_sim::{Options, Report, SimError, run_sass};

/// Makes every instruction wait for all earlier ones that take scoreboards, and stall long enough
/// for any later one.
fn protect(mut program: Program) -> Program {
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
            ..Control::plain()
        };
    }
    program
}

/// Measures a kernel with and without hazards.
fn measure(c: &mut Criterion, group: &str, run: impl Fn(&Program, &Options) -> Result<Report, SimError>) {
    let mut group = c.benchmark_group(group);
    group.sample_size(10);
    for (name, program) in programs() {
        let program = protect(program);
        for hazards in [false, true] {
            let options = Options { hazards, ..Options::default() };
            let report = run(&program, &options).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(report.hazards, [], "{name}");
            group.throughput(Throughput::Elements(report.steps));
            let id = BenchmarkId::new(name, if hazards { "hazards" } else { "values" });
            group.bench_function(id, |b| b.iter(|| run(&program, &options)));
        }
    }
    group.finish();
}

fn functional(c: &mut Criterion) {
    let case = launch();
    measure(c, "functional", |program, options| run_sass(&case, program, options));
}

fn timed(c: &mut Criterion) {
    let case = launch();
    measure(c, "timed", |program, options| {
        run_timed(&case, program, options, &TimingOptions::default()).map(|(report, _)| report)
    });
}

criterion_group!(benches, functional, timed);
criterion_main!(benches);
