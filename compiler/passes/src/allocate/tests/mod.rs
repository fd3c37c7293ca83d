//! Random functions through the allocator and the checker.

mod random;

use proptest::prelude::*;

use super::*;

const LIMITS: [u16; 6] = [16, 17, 20, 32, 64, 255];

fn allocate_checked(mir: &Mir<VReg>, max_regs: u16) -> Allocation {
    let options = Options { max_regs, ..Options::default() };
    let allocation =
        allocate(mir.clone(), &options).unwrap_or_else(|error| panic!("{max_regs}: {error}\n{mir}"));
    if let Err(violations) = check(mir, &allocation, &options) {
        let list: Vec<String> = violations.iter().map(Violation::to_string).collect();
        panic!("max_regs {max_regs}\n{mir}\n{}\n{}", allocation.mir, list.join("\n"));
    }
    assert!(u16::from(allocation.statistics.registers[0]) <= max_regs);
    allocation
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn random_functions_allocate_at_every_limit(seed: u64, statements in 5usize..120) {
        let mir = random::function(seed, statements);
        for max_regs in LIMITS {
            allocate_checked(&mir, max_regs);
        }
    }
}
