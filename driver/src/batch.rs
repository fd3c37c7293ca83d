//! Several files in one call.
//!
//! Files share nothing. With several jobs, ptxc works on some files at the same time and keeps the
//! output and messages of each file until its turn. So the output of a call does not depend on the
//! number of jobs. After an error in one file, ptxc continues with the others. It starts no thread
//! for a single piece of work.

use std::sync::OnceLock;

use ptxc_compiler::input::items;
use ptxc_compiler::{Database, Options, SourceFile, compile_function};
use rayon::ThreadPool;
use rayon::prelude::*;

use crate::cli::JobArgs;
use crate::input::Input;
use crate::output::read_bytes;
use crate::progress::Progress;
use crate::streams::{Outcome, Streams};

/// The number of files per job whose results are kept at a time.
const FILES_PER_JOB: usize = 4;

/// The size in bytes below which the functions of a file are compiled one after another: below it,
/// starting threads takes longer than they save.
const WORTH_THREADS: usize = 16 << 10;

/// The stack of a thread, which may start another file while it waits for functions of one.
const STACK_BYTES: usize = 16 << 20;

/// The workers of a call.
pub(crate) struct Workers {
    /// The number of jobs that the user asked for.
    asked: Option<u32>,
    /// The number of processors, which the system is asked for when it is needed.
    jobs: OnceLock<usize>,
    pool: OnceLock<Option<ThreadPool>>,
    /// Whether the user sees the progress of the work.
    shows_progress: bool,
    /// The number of files of the call.
    files: usize,
}

impl Workers {
    fn new(args: &JobArgs, files: usize, streams: &Streams<'_>) -> Workers {
        let (jobs, pool) = (OnceLock::new(), OnceLock::new());
        Workers { asked: args.jobs, jobs, pool, shows_progress: streams.shows_progress, files }
    }

    fn jobs(&self) -> usize {
        let find = || match self.asked {
            Some(jobs) => jobs as usize,
            None => std::thread::available_parallelism().map_or(1, usize::from),
        };
        *self.jobs.get_or_init(find)
    }

    /// Threads for `pieces` pieces of work, or `None` if one thread does all of it.
    fn pool(&self, pieces: usize) -> Option<&ThreadPool> {
        if pieces < 2 || self.jobs() < 2 {
            return None;
        }
        let start = || {
            let builder = rayon::ThreadPoolBuilder::new().num_threads(self.jobs()).stack_size(STACK_BYTES);
            // If threads cannot be started, the work is done without them.
            builder.build().ok()
        };
        self.pool.get_or_init(start).as_ref()
    }

    /// Compiles the functions of a file, in parallel if there are several, so that later queries
    /// find their results.
    pub(crate) fn compile(&self, db: &Database, file: SourceFile, options: Options) {
        let count = items::items(db, file).functions.len();
        // With at least as many files as jobs, the files are compiled in parallel instead.
        let is_divided = file.text(db).len() >= WORTH_THREADS && count > 1 && self.files < self.jobs();
        let pool = self.pool(if is_divided { count } else { 1 });
        let progress = Progress::new(self.shows_progress, count, "functions");
        match pool {
            Some(pool) => {
                // Each worker has a clone of the database, a handle to the same storage.
                let clones: Vec<(usize, Database)> = (0..count).map(|index| (index, db.clone())).collect();
                pool.install(|| {
                    clones.into_par_iter().for_each(|(index, db)| {
                        compile_function(&db, file, options, index);
                        progress.step();
                    });
                });
            }
            // Later queries compile each function on demand, unless the user wants to see the
            // progress.
            None if self.shows_progress => (0..count).for_each(|index| {
                compile_function(db, file, options, index);
                progress.step();
            }),
            None => {}
        }
    }
}

/// The output and messages of one file.
struct Said {
    outcome: Outcome,
    out: Vec<u8>,
    err: Vec<u8>,
}

/// Calls `each` for each file, with the file's number, and returns the worst outcome.
pub(crate) fn run(
    files: &[Input],
    args: &JobArgs,
    streams: &mut Streams<'_>,
    each: impl Fn(usize, &mut Streams<'_>, &Workers) -> Outcome + Sync,
) -> Outcome {
    let mut workers = Workers::new(args, files.len(), streams);
    if files.len() < 2 {
        return (0..files.len()).map(|file| each(file, streams, &workers)).next().unwrap_or(Outcome::Done);
    }
    let mut stdin = Vec::new();
    match files.iter().filter(|input| input.is_stream()).count() {
        0 => {}
        1 => {
            stdin = match read_bytes(&Input::from("-"), streams.stdin) {
                Ok(stdin) => stdin,
                Err(error) => return streams.failed(format!("-: {error}")),
            };
        }
        _ => return streams.usage("standard input can be read only once"),
    }
    let progress = Progress::new(workers.shows_progress, files.len(), "files");
    workers.shows_progress = false;
    let (surroundings, color) = (streams.surroundings, streams.color);
    let one = |file: usize| {
        let (mut out, mut err, mut stdin) = (Vec::new(), Vec::new(), stdin.as_slice());
        let mut own = Streams {
            stdin: &mut stdin,
            out: &mut out,
            err: &mut err,
            surroundings,
            color,
            shows_progress: false,
        };
        let outcome = each(file, &mut own, &workers);
        progress.step();
        Said { outcome, out, err }
    };
    let mut worst = Outcome::Done;
    let mut say = |said: Said| {
        progress.above(|| {
            // A failure to write messages cannot be reported anywhere.
            let _ = streams.err.write_all(&said.err);
            // The caller of the command reports an error of standard output.
            let written = streams.out.write_all(&said.out);
            if written.is_ok() && streams.shows_progress {
                let _ = streams.out.flush();
            }
        });
        worst = worst.max(said.outcome);
    };
    let numbers: Vec<usize> = (0..files.len()).collect();
    match workers.pool(files.len()) {
        None => numbers.into_iter().for_each(|file| say(one(file))),
        Some(pool) => {
            for numbers in numbers.chunks(workers.jobs() * FILES_PER_JOB) {
                let said: Vec<Said> =
                    pool.install(|| numbers.par_iter().with_max_len(1).map(|&file| one(file)).collect());
                said.into_iter().for_each(&mut say);
            }
        }
    }
    worst
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workers(jobs: u32) -> Workers {
        let (asked, jobs) = (Some(jobs), OnceLock::new());
        Workers { asked, jobs, pool: OnceLock::new(), shows_progress: false, files: 1 }
    }

    #[test]
    fn no_thread_is_started_for_one_job_or_one_piece() {
        for (jobs, pieces, expected) in [(1, 100, None), (8, 1, None), (8, 0, None), (3, 2, Some(3))] {
            let workers = workers(jobs);
            assert_eq!(workers.pool(pieces).map(ThreadPool::current_num_threads), expected);
            assert_eq!(workers.pool.get().is_some(), expected.is_some());
        }
    }
}
