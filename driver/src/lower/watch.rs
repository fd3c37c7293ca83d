//! `ptxc lower --watch`: lowers a file again whenever it is saved.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use ptxc_compiler::{Interrupted, Session, Settings, Update};

use super::{Job, settings, write_out};
use crate::cli::LowerArgs;
use crate::input::Input;
use crate::output::{read_bytes, text_of};
use crate::passes::Watch;
use crate::streams::{Outcome, Streams};

/// The time between two checks of the file: short compared with the time of a person or a
/// compilation, long compared with a check.
const LOOK: Duration = Duration::from_millis(15);

/// The stages of a compilation, in order, by the names of their queries.
const STAGES: [(&[&str], &str); 6] = [
    (&["tree"], "parse"),
    (&["checked"], "check"),
    (&["built"], "build"),
    (&["ssa"], "ssa"),
    (&["mir"], "machine"),
    (&["own_code", "device_code"], "code"),
];

/// Why a file can't be watched.
pub(crate) fn refusal(args: &LowerArgs, passes: &Watch, emits_tree: bool) -> Option<&'static str> {
    match &args.files[..] {
        [input] if input.is_stream() => Some("--watch cannot watch standard input"),
        [_] if passes.is_needed() => Some("--watch cannot print passes"),
        [_] if emits_tree => Some("--watch cannot write the syntax tree"),
        [_] => None,
        _ => Some("--watch accepts only one file"),
    }
}

/// Lowers a file again and again until the program is ended. Returns only if it cannot start, or if
/// nobody reads standard output any more.
pub(crate) fn run(job: Job<'_>, streams: &mut Streams<'_>) -> Outcome {
    let args = job.args;
    let settings = match settings(&args.code, args.lineinfo, args.cubin_abi.into()) {
        Ok(settings) => Settings { relocatable: args.compile_only, ..settings },
        Err(message) => return streams.usage(message),
    };
    let pool = match rayon::ThreadPoolBuilder::new().num_threads(args.jobs.jobs.unwrap_or(0) as usize).build()
    {
        Ok(pool) => pool,
        Err(error) => return streams.failed(error),
    };
    let mut session: Option<Session> = None;
    loop {
        let stamp = Stamp::of(job.input.path());
        let text = match read_bytes(job.input, streams.stdin) {
            Ok(bytes) => text_of(bytes),
            // Editors that save by a rename leave a moment without a file.
            Err(_) if session.is_some() => {
                std::thread::sleep(LOOK);
                continue;
            }
            Err(error) => return streams.failed(format!("{}: {error}", job.input)),
        };
        let start = Instant::now();
        let session = match &mut session {
            Some(session) => {
                session.replace(&text);
                session
            }
            none => {
                let new = none.insert(Session::new(job.input.shown(), text, settings.clone()));
                new.count_queries();
                new
            }
        };
        if let Ok(update) = until_saved(session, job.input.path(), stamp, &pool) {
            say(job.input, &update, start.elapsed(), streams);
            let found = session.diagnostics();
            write_out(session.db(), session.source(), session.options(), found, job, streams);
            // A failure to write messages cannot be reported anywhere.
            let _ = streams.err.flush();
            if streams.out.flush().is_err() {
                return Outcome::Done;
            }
        }
        let mut last = stamp;
        loop {
            std::thread::sleep(LOOK);
            let now = Stamp::of(job.input.path());
            // Some editors empty a file before they write it, so it is read only after it has
            // stayed unchanged for a moment.
            if now != stamp && now == last {
                break;
            }
            last = now;
        }
    }
}

/// Updates a session, unless the file is saved again meanwhile.
fn until_saved(
    session: &mut Session,
    path: &Path,
    stamp: Option<Stamp>,
    pool: &rayon::ThreadPool,
) -> Result<Update, Interrupted> {
    let (stop, is_done) = (session.stop(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let look = scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                std::thread::park_timeout(LOOK);
                if Stamp::of(path).is_some_and(|now| Some(now) != stamp) {
                    return stop.stop();
                }
            }
        });
        let update = pool.install(|| session.update());
        is_done.store(true, Ordering::Relaxed);
        look.thread().unpark();
        update
    })
}

/// A value that changes when the file changes.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
}

impl Stamp {
    fn of(path: &Path) -> Option<Stamp> {
        let data = std::fs::metadata(path).ok()?;
        Some(Stamp { modified: data.modified().ok(), length: data.len() })
    }
}

/// Reports which kernels were recompiled.
fn say(input: &Input, update: &Update, time: Duration, streams: &mut Streams<'_>) {
    let what = match (&update.lowered[..], update.kernels) {
        ([], _) => "nothing to lower".to_string(),
        (list, all) if list.len() == all && all > 3 => format!("lowered all {all} kernels"),
        (list, all) if list.len() > 3 => format!("lowered {} of {all} kernels", list.len()),
        (list, all) => format!("lowered {} ({} of {all})", list.join(", "), list.len()),
    };
    // A failure to write messages cannot be reported anywhere.
    let _ = writeln!(
        streams.err,
        "{input}: {what} in {:.1} ms; {}",
        time.as_secs_f64() * 1000.0,
        stages(&update.queries)
    );
}

/// The number of runs of each stage.
fn stages(queries: &BTreeMap<String, usize>) -> String {
    let runs = |stage: &[&str]| stage.iter().filter_map(|query| queries.get(*query)).sum::<usize>();
    let ran = STAGES.iter().map(|(stage, name)| (runs(stage), name)).filter(|(runs, _)| *runs > 0);
    let ran: Vec<String> = ran.map(|(runs, name)| format!("{name} {runs}")).collect();
    if ran.is_empty() { "no stage ran".to_string() } else { format!("ran {}", ran.join(", ")) }
}
