//! Measures how many warp instructions per second the model of time executes, on one core.
//!
//! ```text
//! cargo bench -p ptxc-sim --bench timed
//! ```
//!
//! criterion's elements are warp instructions. The kernels are those of the functional benchmark,
//! with control codes that wait for everything, so that warps take turns and there are cycles in
//! which no warp issues.

mod kernels;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ptxc_machine::Arch;
use ptxc_sass::{Completion, Program};
use ptxc_sim::Options;
use ptxc_sim::timing::{TimingOptions, run_timed};

use kernels::{launch, programs};

/// Control codes that make every instruction wait for the result of the one before it.
fn serial(mut program: Program) -> Program {
    for coded in &mut program.insts {
        let row = coded.inst.row();
        let fixed = coded.inst.completion(Arch::Sm90) == Completion::Fixed;
        let control = &mut coded.control;
        control.stall = if fixed { row.min_stall.max(4) } else { row.min_stall.max(2) };
        control.wait_mask = 0b11;
        if !fixed {
            (control.write_barrier, control.read_barrier) = match coded.inst.completion(Arch::Sm90) {
                Completion::Variable => (Some(0), None),
                _ => (None, Some(1)),
            };
        }
    }
    program
}

fn timed(c: &mut Criterion) {
    let case = launch();
    let mut group = c.benchmark_group("timed");
    group.sample_size(20);
    for (name, program) in programs() {
        let program = serial(program);
        let run = || run_timed(&case, &program, &Options::default(), &TimingOptions::default());
        let (report, _) = run().unwrap_or_else(|error| panic!("{name}: {error}"));
        group.throughput(Throughput::Elements(report.steps));
        group.bench_function(BenchmarkId::from_parameter(name), |b| b.iter(run));
    }
    group.finish();
}

criterion_group!(benches, timed);
criterion_main!(benches);
