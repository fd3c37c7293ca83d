//! Cancels work whose result is no longer needed.
//!
//! A pass is a pure function that may take seconds for a large kernel. Its loops [`poll`] a flag
//! that belongs to the thread's current work. Once another thread has set the flag, the pass
//! unwinds, as salsa's queries do when their inputs change, and [`run`] reports it. Without a flag,
//! polling costs almost nothing.
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicBool, Ordering};
//! use ptxc_interrupt::{Interrupted, poll, run};
//!
//! let flag = Arc::new(AtomicBool::new(false));
//! assert_eq!(run(&flag, || { poll(); 7 }), Ok(7));
//! flag.store(true, Ordering::Relaxed);
//! assert_eq!(run(&flag, || { poll(); 7 }), Err(Interrupted));
//! ```

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    static FLAG: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
    /// Whether there is a flag; most polls read nothing else.
    static HAS_FLAG: Cell<bool> = const { Cell::new(false) };
}

/// The flag was set before the work was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

/// Unwinds to [`run`] if the flag of this thread's work is set.
#[inline]
pub fn poll() {
    if HAS_FLAG.get() {
        look();
    }
}

/// Unwinds if the flag is set.
#[cold]
fn look() {
    let is_set = FLAG.with_borrow(|flag| flag.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)));
    if is_set {
        // No panic hook runs, because this is not an error.
        resume_unwind(Box::new(Interrupted));
    }
}

/// The number of items per part in [`parts`].
const PART: usize = 64;

/// A list in parts, with a [`poll`] before each part: for loops that need less than a few
/// microseconds per item.
#[inline]
pub fn parts<T>(items: &[T]) -> impl Iterator<Item = &[T]> {
    items.chunks(PART).inspect(|_| poll())
}

/// Does work that ends early once `flag` is set. Such work may be nested.
///
/// # Errors
/// [`Interrupted`] if the work ended early. Any other panic continues to unwind.
pub fn run<R>(flag: &Arc<AtomicBool>, work: impl FnOnce() -> R) -> Result<R, Interrupted> {
    let outer = FLAG.replace(Some(flag.clone()));
    HAS_FLAG.set(true);
    // Values of unfinished work are dropped with it.
    let result = catch_unwind(AssertUnwindSafe(work));
    HAS_FLAG.set(outer.is_some());
    FLAG.set(outer);
    result.map_err(|payload| match payload.downcast::<Interrupted>() {
        Ok(interrupted) => *interrupted,
        Err(payload) => resume_unwind(payload),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_ends_at_a_poll_and_restores_the_outer_flag() {
        let (outer, inner) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(true)));
        let reached = RefCell::new(Vec::new());
        let result = run(&outer, || {
            let inside = run(&inner, || {
                reached.borrow_mut().push("inside");
                poll();
                reached.borrow_mut().push("after the poll");
            });
            assert_eq!(inside, Err(Interrupted));
            poll();
            reached.borrow_mut().push("outside");
        });
        assert_eq!((result, reached.into_inner()), (Ok(()), vec!["inside", "outside"]));
        poll();
    }
}
