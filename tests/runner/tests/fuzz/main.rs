//! Random kernels compute the same before and after the compiler.
//!
//! The SSA form as built from a kernel's text is executed as the reference; the simplified SSA and the
//! final SASS, at random settings, must leave every byte of memory the same. A kernel that does not is cut
//! down to the least statements that still fail, and shown. The kernels of `tests/flow`, whose control flow is what
//! no compiler makes, are put to the same test.
//!
//! `PTXC_FUZZ_CASES` sets how many kernels are tried, `PTXC_FUZZ_SEED` the number of the first.

mod execute;
mod generate;
mod kernel;
mod random;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use execute::{Settings, Verdict};
use kernel::Kernel;
use random::Random;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The verdict, panics included.
fn judge(kernel: &Kernel, case: &ptxc_sim::Case, settings: &Settings) -> Verdict {
    let text = kernel.text();
    catch_unwind(AssertUnwindSafe(|| execute::verdict(&text, case, settings))).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().cloned();
        let message = message.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
        Verdict::Wrong(format!("panic: {}", message.unwrap_or_default()))
    })
}

/// What went wrong, without the details that a smaller kernel may change.
fn kind(what: &str) -> String {
    what.chars().take_while(|&c| c != ':').collect()
}

/// Cuts a kernel down as far as it still fails in the same way.
fn reduce(mut kernel: Kernel, what: &str, case: &ptxc_sim::Case, settings: &Settings) -> (Kernel, String) {
    let mut what = what.to_string();
    let mut step = 0;
    while let Some(smaller) = kernel.smaller(step) {
        match judge(&smaller, case, settings) {
            Verdict::Wrong(still) if kind(&still) == kind(&what) => (kernel, what) = (smaller, still),
            _ => step += 1,
        }
    }
    (kernel, what)
}

#[test]
fn random_kernels_compute_the_same_before_and_after() {
    let cases = number("PTXC_FUZZ_CASES", 200);
    let first = number("PTXC_FUZZ_SEED", 0);
    let next = AtomicU64::new(first);
    let failures = Mutex::new(Vec::new());
    let work = || loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= first + cases {
            return;
        }
        let mut random = Random::new(seed);
        let size = random.pick(&[5, 10, 20, 40]);
        let kernel = generate::kernel(&mut random, size);
        let (case, settings) = (execute::case(&mut random), Settings::random(&mut random));
        match judge(&kernel, &case, &settings) {
            Verdict::Agree => {}
            Verdict::Wrong(what) => {
                let (kernel, what) = reduce(kernel, &what, &case, &settings);
                let report = format!("seed {seed}: {what}\n{settings:?}\n{}", kernel.text());
                eprintln!("{report}");
                failures.lock().expect("no thread panics").push(report);
            }
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
    let failures = failures.into_inner().expect("no thread panics");
    assert!(failures.is_empty(), "{} of {cases} kernels went wrong", failures.len());
}

/// Kernels of `tests/flow`, written by hand: `k(p, n)` with a word of `p` for each thread.
#[test]
fn irregular_flow_computes_the_same_before_and_after() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../flow");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("tests/flow").flatten().map(|entry| entry.path()).collect();
    files.sort();
    let mut failures = Vec::new();
    for file in &files {
        let text = std::fs::read_to_string(file).expect("a kernel");
        for seed in 0..12u64 {
            let mut random = Random::new(seed);
            let case = execute::flow_case(&mut random);
            let settings = Settings { opt: seed as u8 % 4, ..Settings::random(&mut random) };
            if let Verdict::Wrong(what) = execute::verdict(&text, &case, &settings) {
                failures.push(format!("{}: {what}\n{settings:?}", file.display()));
            }
        }
    }
    assert!(files.len() >= 7, "only {} kernels", files.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
