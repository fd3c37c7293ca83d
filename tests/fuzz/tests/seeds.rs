//! Some random kernels, and the kernels of `tests/flow`, whose control flow no compiler generates.
//!
//! `PTXC_FUZZ_CASES` sets the number of seeds, and `PTXC_FUZZ_SEED` the first; `cargo xtask fuzz`
//! tries many.

use std::path::Path;
use std::thread::available_parallelism;

use ptxc_fuzz::Trial;
use ptxc_fuzz::campaign::{Campaign, Outcome};
use ptxc_fuzz::execute::{Settings, execute};
use ptxc_fuzz::launch::flow_case;
use ptxc_fuzz::program::Family;
use ptxc_fuzz::random::Random;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn random_kernels_compute_the_same_before_and_after() {
    let campaign = Campaign {
        families: Family::ALL.to_vec(),
        targets: vec![90, 75, 80, 89, 86],
        orders: 2,
        first: number("PTXC_FUZZ_SEED", 0),
        count: number("PTXC_FUZZ_CASES", 280),
        jobs: available_parallelism().expect("the machine has processors"),
        time: None,
    };
    let (mut failures, mut unsupported) = (0, 0);
    campaign.run(&|_, trial| trial.run(), &mut |seed, outcome| match outcome {
        Outcome::Agreed => {}
        Outcome::Unsupported(_) => unsupported += 1,
        Outcome::Failed(finding) => {
            failures += 1;
            let (trial, failure) = (&finding.trial, &finding.failure);
            eprintln!("seed {seed}: {failure}\n{}\n{}", trial.conditions(), trial.text());
        }
    });
    assert_eq!(failures, 0, "kernels went wrong");
    assert!(unsupported <= campaign.count / 100, "{unsupported} kernels are not supported");
}

#[test]
fn a_seed_is_the_same_trial_every_time() {
    for family in Family::ALL {
        for seed in 0..20 {
            assert_eq!(Trial::new(family, seed), Trial::new(family, seed));
        }
        assert_ne!(Trial::new(family, 0).text(), Trial::new(family, 1).text());
    }
}

/// Half the programs of a family at least have statements that others lack.
#[test]
fn families_have_their_own_statements() {
    let own: [(Family, &[&str]); 4] = [
        (
            Family::Packed,
            &["\tvadd", "\tvmad.", "\tvset2.", "\tvabsdiff4.", "\tcvt.pack.", "\tlop3.and.b32 "],
        ),
        (Family::Parameters, &["\tmov.b64 %pk, ps;", "\tmov.b64 %pa, a0;", "\tmov.b64 %a0, z0;"]),
        (Family::Services, &["vprintf,", "malloc,", "call.uni free,", "__assertfail,"]),
        (Family::Images, &["\ttex.2d.", "\ttld4.", "\tsuld.b.", "\tsust.b.", "\tsust.p.", ".clamp", ".zero"]),
    ];
    for (family, statements) in own {
        let texts: Vec<String> = (0..100).map(|seed| Trial::new(family, seed).text()).collect();
        let have = texts.iter().filter(|text| statements.iter().any(|own| text.contains(own))).count();
        assert!(have > 50, "only {have} programs of {}", family.name());
        for own in statements {
            assert!(
                texts.iter().any(|text| text.contains(own)),
                "no program of {} has {own:?}",
                family.name()
            );
        }
    }
}

/// Each target gets only instructions that it has: the compiler accepts the programs.
#[test]
fn programs_are_for_their_target() {
    for target in [75, 80, 86, 89, 90] {
        for family in Family::ALL {
            let text = Trial::for_target(family, 3, target).text();
            assert!(text.contains(&format!(".target sm_{target}\n")));
            assert!(target >= 80 || !text.contains("redux."), "{text}");
        }
    }
}

/// ptxas drops such shifts of a product: see `docs/facts/ptxas.md`.
#[test]
fn left_shifts_by_64_and_more_are_disputed() {
    let shifts_so = |line: &str| {
        line.contains("shl.b64 ") && [", 64;", ", 70;"].iter().any(|amount| line.trim_end().ends_with(amount))
    };
    let programs = (0..900).map(|seed| Trial::new(Family::Plain, seed).program);
    let shifting: Vec<_> = programs.filter(|program| program.text().lines().any(shifts_so)).collect();
    assert!(!shifting.is_empty());
    assert!(shifting.iter().all(|program| program.disputed));
}

/// `k(p, n)` with a word of `p` for each thread.
#[test]
fn irregular_flow_computes_the_same_before_and_after() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../flow");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("tests/flow").flatten().map(|entry| entry.path()).collect();
    files.sort();
    let mut failures = Vec::new();
    for file in &files {
        let text = std::fs::read_to_string(file).expect("a kernel");
        for seed in 0..12u64 {
            let mut random = Random::new(seed);
            let case = flow_case(&mut random);
            let settings = Settings { opt: seed as u8 % 4, fmad: true, ..Settings::random(&mut random) };
            if let Err(failure) = execute(&text, &case, &settings) {
                failures.push(format!("{}: {failure}\n{settings}", file.display()));
            }
        }
    }
    assert!(files.len() >= 7, "only {} kernels", files.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
