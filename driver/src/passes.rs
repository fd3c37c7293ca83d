//! Observes the code between passes: printing, timing, stopping.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::{Duration, Instant};

use ptxc_passes::{Observer, Pass};

/// The observations to make.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    /// The passes to print the code before, or `all`.
    pub(crate) before: Vec<String>,
    /// The passes to print the code after, or `all`.
    pub(crate) after: Vec<String>,
    /// The pass to stop after.
    pub(crate) stop: Option<String>,
    /// Whether to time the passes.
    pub(crate) time: bool,
}

impl Watch {
    /// Whether anything is asked for that the queries do not keep.
    pub(crate) fn is_needed(&self) -> bool {
        !self.before.is_empty() || !self.after.is_empty() || self.stop.is_some() || self.time
    }

    /// A name that is not a pass, if there is one.
    pub(crate) fn unknown(&self) -> Option<&str> {
        let names = self.before.iter().chain(&self.after).chain(&self.stop);
        names.map(String::as_str).find(|name| *name != "all" && Pass::named(name).is_none())
    }
}

/// The list of passes for a message.
pub(crate) fn known_passes() -> String {
    Pass::names().collect::<Vec<_>>().join(", ")
}

/// An observer that makes the observations of a [`Watch`].
pub(crate) struct Watcher<'a> {
    watch: &'a Watch,
    kernel: String,
    started: Instant,
    /// The printed code.
    pub(crate) text: String,
    /// The time of each pass.
    pub(crate) times: BTreeMap<&'static str, Duration>,
    /// Whether the pipeline was stopped.
    pub(crate) stopped: bool,
}

impl<'a> Watcher<'a> {
    pub(crate) fn new(watch: &'a Watch, kernel: &str) -> Watcher<'a> {
        Watcher {
            watch,
            kernel: kernel.to_string(),
            started: Instant::now(),
            text: String::new(),
            times: BTreeMap::new(),
            stopped: false,
        }
    }

    fn print(&mut self, when: &str, pass: &str, code: &dyn std::fmt::Display) {
        let written = write!(self.text, "// {}: {when} {pass}\n{code}\n", self.kernel);
        debug_assert!(written.is_ok());
    }
}

fn chosen(list: &[String], pass: &str) -> bool {
    list.iter().any(|name| name == pass || name == "all")
}

impl Observer for Watcher<'_> {
    fn before(&mut self, pass: &'static str, code: &dyn std::fmt::Display) {
        if chosen(&self.watch.before, pass) {
            self.print("before", pass, code);
        }
        self.started = Instant::now();
    }

    fn after(&mut self, pass: &'static str, code: &dyn std::fmt::Display) -> bool {
        *self.times.entry(pass).or_default() += self.started.elapsed();
        let stop = self.watch.stop.as_deref() == Some(pass);
        if chosen(&self.watch.after, pass) || stop {
            self.print("after", pass, code);
        }
        self.stopped |= stop;
        !stop
    }
}

/// A table of the time of each pass, in the order of the passes.
pub(crate) fn time_table(times: &BTreeMap<&'static str, Duration>) -> String {
    let total: Duration = times.values().sum();
    let mut text = String::from("   time [us]  share  pass\n");
    for pass in Pass::names() {
        let Some(time) = times.get(pass) else { continue };
        let share = 100.0 * time.as_secs_f64() / total.as_secs_f64().max(f64::MIN_POSITIVE);
        let written = writeln!(text, "{:12.1} {share:5.1}%  {pass}", time.as_secs_f64() * 1e6);
        debug_assert!(written.is_ok());
    }
    let written = writeln!(text, "{:12.1} 100.0%  all passes", total.as_secs_f64() * 1e6);
    debug_assert!(written.is_ok());
    text
}
