//! A progress bar on standard error.
//!
//! It is drawn only on a terminal, only after the work has taken [`DELAY`], and only when a piece
//! of the work is done: no thread animates it. Other output to the terminal is written
//! [above](Progress::above) it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The time that work takes before a bar is drawn.
pub(crate) const DELAY: Duration = Duration::from_millis(500);

/// The progress of the work; empty if nobody sees it.
pub(crate) struct Progress {
    bar: Option<Bar>,
}

struct Bar {
    start: Instant,
    delay: Duration,
    drawn: AtomicBool,
    target: fn() -> ProgressDrawTarget,
    bar: ProgressBar,
}

impl Progress {
    /// The progress of `pieces` pieces of work, called `noun`. It is shown only if `is_shown`.
    pub(crate) fn new(is_shown: bool, pieces: usize, noun: &'static str) -> Progress {
        Progress::on(is_shown, pieces, noun, DELAY, ProgressDrawTarget::stderr)
    }

    fn on(
        is_shown: bool,
        pieces: usize,
        noun: &'static str,
        delay: Duration,
        target: fn() -> ProgressDrawTarget,
    ) -> Progress {
        if !is_shown || pieces < 2 {
            return Progress { bar: None };
        }
        let bar = ProgressBar::with_draw_target(Some(pieces as u64), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {prefix}, {eta} left");
        let bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())).with_prefix(noun);
        Progress {
            bar: Some(Bar { start: Instant::now(), delay, drawn: AtomicBool::new(false), target, bar }),
        }
    }

    /// Reports that a piece is done.
    pub(crate) fn step(&self) {
        let Some(bar) = &self.bar else { return };
        if bar.start.elapsed() >= bar.delay && !bar.drawn.swap(true, Ordering::Relaxed) {
            bar.bar.set_draw_target((bar.target)());
        }
        bar.bar.inc(1);
    }

    /// Runs a closure that writes to the terminal, with the bar hidden.
    pub(crate) fn above<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) if bar.drawn.load(Ordering::Relaxed) => bar.bar.suspend(write),
            _ => write(),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::Mutex;

    use indicatif::TermLike;

    use super::*;

    /// The output to the terminals of all tests; each test looks for words of its own.
    static SHOWN: Mutex<String> = Mutex::new(String::new());

    #[derive(Debug)]
    struct Terminal;

    fn show(text: &str) -> std::io::Result<()> {
        SHOWN.lock().unwrap().push_str(text);
        Ok(())
    }

    impl TermLike for Terminal {
        fn width(&self) -> u16 {
            80
        }
        fn move_cursor_up(&self, _: usize) -> std::io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> std::io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> std::io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> std::io::Result<()> {
            Ok(())
        }
        fn write_line(&self, line: &str) -> std::io::Result<()> {
            show(line)
        }
        fn write_str(&self, text: &str) -> std::io::Result<()> {
            show(text)
        }
        fn clear_line(&self) -> std::io::Result<()> {
            show("<cleared>")
        }
        fn flush(&self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn terminal() -> ProgressDrawTarget {
        ProgressDrawTarget::term_like(Box::new(Terminal))
    }

    fn shown(noun: &str) -> bool {
        SHOWN.lock().unwrap().contains(noun)
    }

    #[test]
    fn a_bar_is_drawn_when_work_is_long_and_somebody_sees_it() {
        let work = |is_shown, pieces, noun, delay| {
            let progress = Progress::on(is_shown, pieces, noun, delay, terminal);
            (0..pieces).for_each(|_| progress.step());
            shown(noun)
        };
        assert!(work(true, 3, "1/3 long pieces", Duration::ZERO) || shown("long pieces"));
        assert!(!work(true, 3, "short pieces", Duration::from_secs(3600)));
        assert!(!work(false, 3, "unseen pieces", Duration::ZERO));
        assert!(!work(true, 1, "single pieces", Duration::ZERO));
    }

    #[test]
    fn lines_are_written_above_the_bar() {
        let progress = Progress::on(true, 2, "crossed pieces", Duration::ZERO, terminal);
        progress.step();
        let mut stream = Vec::new();
        let written = progress.above(|| stream.write_all(b"a line"));
        assert!(written.is_ok() && stream == b"a line");
        assert!(shown("<cleared>"));
    }
}
