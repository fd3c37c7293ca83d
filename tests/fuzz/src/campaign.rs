//! Tries many seeds on many threads, and reports them in the order of the seeds.
//!
//! A thread takes the next seed when it has finished one, so the result of a seed does not depend
//! on the number of threads. `tell` runs on the calling thread. It gets the outcome of a seed after
//! the outcomes of all earlier seeds.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::execute::Failure;
use crate::program::Family;
use crate::reduce::reduce;
use crate::trial::Trial;

/// The seeds to try, and the options.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The families of kernels, which take turns; at least one.
    pub families: Vec<Family>,
    /// The numbers of the targets, which take turns for each family; at least one.
    pub targets: Vec<u32>,
    /// The number of orders of warps for each kernel.
    pub orders: u32,
    /// The first seed.
    pub first: u64,
    /// The number of seeds.
    pub count: u64,
    /// Number of threads.
    pub jobs: NonZeroUsize,
    /// No seed is started after this time.
    pub time: Option<Duration>,
}

/// The outcome of a trial.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// All executions agree.
    Agreed,
    /// The compiler reports something that it does not support.
    Unsupported(String),
    /// Something is wrong.
    Failed(Box<Finding>),
}

/// A trial that failed.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Its seed.
    pub seed: u64,
    /// The failure of the whole trial.
    pub whole: Failure,
    /// The smallest trial that fails in the same way.
    pub trial: Trial,
    /// The failure of that trial.
    pub failure: Failure,
}

impl Campaign {
    /// The trial of a seed.
    pub fn trial(&self, seed: u64) -> Trial {
        let (families, targets) = (self.families.len() as u64, self.targets.len() as u64);
        let family = self.families[(seed % families) as usize];
        let target = self.targets[(seed / families % targets) as usize];
        let mut trial = Trial::for_target(family, seed, target);
        trial.settings.orders = self.orders;
        trial
    }

    /// Runs the campaign: `test` runs a trial, `tell` gets the outcome of each seed. Returns the
    /// number of seeds that were tried.
    pub fn run(
        &self,
        test: &(dyn Fn(u64, &Trial) -> Result<(), Failure> + Sync),
        tell: &mut dyn FnMut(u64, Outcome),
    ) -> u64 {
        let start = Instant::now();
        let end = self.first.saturating_add(self.count);
        let next = AtomicU64::new(self.first);
        let (sender, receiver) = mpsc::channel();
        let work = |sender: mpsc::Sender<(u64, Outcome)>| {
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= end || self.time.is_some_and(|time| start.elapsed() > time) {
                    return;
                }
                let trial = self.trial(seed);
                let outcome = match test(seed, &trial) {
                    Ok(()) => Outcome::Agreed,
                    Err(failure) if failure.is_unsupported() => Outcome::Unsupported(failure.what),
                    Err(whole) => {
                        let mut test = |trial: &Trial| test(seed, trial);
                        let (trial, failure) = reduce(trial, whole.clone(), &mut test);
                        Outcome::Failed(Box::new(Finding { seed, whole, trial, failure }))
                    }
                };
                if sender.send((seed, outcome)).is_err() {
                    return;
                }
            }
        };
        let mut told = self.first;
        std::thread::scope(|scope| {
            for _ in 0..self.jobs.get() {
                let sender = sender.clone();
                scope.spawn(|| work(sender));
            }
            drop(sender);
            let mut waiting = BTreeMap::new();
            for (seed, outcome) in receiver {
                waiting.insert(seed, outcome);
                while let Some(outcome) = waiting.remove(&told) {
                    tell(told, outcome);
                    told += 1;
                }
            }
        });
        told - self.first
    }
}
