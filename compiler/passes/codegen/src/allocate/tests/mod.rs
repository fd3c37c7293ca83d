//! Runs random functions through the allocator and the checker.

mod machine;
mod mutate;
mod random;

use proptest::prelude::*;

use super::*;

const LIMITS: [u16; 6] = [16, 17, 20, 32, 64, 255];

fn allocate_checked(mir: &Mir<VReg>, max_regs: u16) -> Allocation {
    let options = Options { max_regs, ..Options::default() };
    let live = liveness(mir);
    let allocation =
        allocate(mir, &live, &options).unwrap_or_else(|error| panic!("{max_regs}: {error}\n{mir}"));
    if let Err(violations) = check(mir, &live, &allocation, &options) {
        let list: Vec<String> = violations.iter().map(Violation::to_string).collect();
        panic!("max_regs {max_regs}\n{mir}\n{}\n{}", allocation.mir, list.join("\n"));
    }
    assert!(u16::from(allocation.statistics.registers[0]) <= max_regs);
    allocation
}

fn liveness(mir: &Mir<VReg>) -> Liveness {
    Liveness::new(mir)
}

fn before(mir: &Mir<VReg>) -> u64 {
    machine::trace(mir, |reg, n| u64::from(reg.id().as_u32()) << 8 | u64::from(reg.component() + n), true)
}

fn after(mir: &Mir<PReg>) -> u64 {
    machine::trace(mir, |reg, n| reg.dense() as u64 + u64::from(n), false)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 6, max_shrink_iters: 100, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn random_functions_allocate_at_every_limit(seed: u64, statements in 5usize..80) {
        let mir = random::function(seed, statements, true);
        for max_regs in LIMITS {
            allocate_checked(&mir, max_regs);
        }
    }

    #[test]
    fn allocated_functions_compute_the_same(seed: u64, statements in 5usize..80) {
        let mir = random::function(seed, statements, false);
        for max_regs in [16, 24, 255] {
            let allocation = allocate_checked(&mir, max_regs);
            prop_assert_eq!(before(&mir), after(&allocation.mir), "{}\n{}", mir, allocation.mir);
        }
    }
}

/// Damages allocations in many small ways. Every change to the results of a function must be
/// reported.
#[test]
fn the_checker_reports_whatever_changes_the_result() {
    let mut random = random::Random::new(7);
    let (mut harmful, mut reported) = (0, 0);
    for seed in 0..18 {
        let mir = random::function(seed, 40, false);
        let max_regs = [16, 20, 255][seed as usize % 3];
        let allocation = allocate_checked(&mir, max_regs);
        let (live, expected) = (liveness(&mir), before(&mir));
        for _ in 0..30 {
            let Some((damaged, what)) = mutate::mutate(&allocation, &mut random) else { continue };
            let found = check(&mir, &live, &damaged, &Options { max_regs, ..Options::default() }).is_err();
            reported += usize::from(found);
            if after(&damaged.mir) != expected {
                harmful += 1;
                assert!(found, "seed {seed}: {what} is not reported\n{mir}\n{}", damaged.mir);
            }
        }
    }
    assert!(harmful > 30 && reported >= harmful, "{harmful} harmful, {reported} reported");
}

#[test]
fn max_regs_outside_of_its_range_is_refused() {
    let mir = random::function(1, 5, false);
    for max_regs in [0, 15, 256] {
        let error = allocate(&mir, &liveness(&mir), &Options { max_regs, ..Options::default() }).err();
        assert_eq!(error, Some(AllocError::MaxRegs(max_regs)));
    }
}
