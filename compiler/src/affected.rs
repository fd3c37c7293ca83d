//! The functions that edits in bodies affect.
//!
//! In: the functions whose bodies changed, and the part of each body that other functions read. Out:
//! the functions whose code or findings may change.
//!
//! | changed part of a function | other functions affected |
//! |---|---|
//! | none | its callers, directly or not |
//! | its callees, the waits of its lanes | its callers, directly or not |
//! | the same, if lanes that call it may meet lanes in other functions | all |
//! | a function whose address the module takes, or one that such a function calls | all |
//! | anything else: a variable, an address of a function | all |
//!
//! An affected function is only asked again, and salsa decides whether to compile it, so a superset
//! of the functions with other results is right.

use rustc_hash::{FxHashMap, FxHashSet};

use ptxc_syntax::items::ItemKind;

use crate::db::Db;
use crate::input::SourceFile;
use crate::input::items::Func;
use crate::module::{ABI, Mentions, header, mentions};
use crate::stages::outline::{Outline, outline, pointed_to};

/// The part of a function's body that other functions of its module read, apart from its code.
#[derive(Debug)]
pub(crate) struct Seen {
    kind: ItemKind,
    outline: Outline,
    mentions: Mentions,
}

impl Seen {
    pub(crate) fn of(db: &dyn Db, func: Func) -> Seen {
        Seen { kind: func.kind(db), outline: outline(db, func).clone(), mentions: mentions(db, func) }
    }
}

/// The functions of a file and the calls between them, as of the last update.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    seen: FxHashMap<Func, Seen>,
    /// The functions that name a function.
    callers: FxHashMap<Func, FxHashSet<Func>>,
    /// The functions that indirect calls reach, directly or not.
    by_address: FxHashSet<Func>,
    /// The functions in which lanes may have to meet.
    meeting: FxHashSet<Func>,
}

impl Graph {
    /// The graph of all functions of a file.
    pub(crate) fn new(db: &dyn Db, file: SourceFile, seen: impl Iterator<Item = (Func, Seen)>) -> Graph {
        let mut graph = Graph::default();
        seen.for_each(|(func, seen)| graph.insert(func, seen));
        let mut open: Vec<Func> = pointed_to(db, file).iter().copied().collect();
        while let Some(func) = open.pop() {
            if graph.by_address.insert(func) {
                open.extend(graph.seen.get(&func).into_iter().flat_map(|seen| &seen.outline.callees));
            }
        }
        graph
    }

    /// Adds a function, or replaces it after an edit that does not affect all functions.
    pub(crate) fn insert(&mut self, func: Func, seen: Seen) {
        let old = self.seen.get(&func);
        for callee in old.into_iter().flat_map(|old| &old.outline.callees) {
            self.callers.entry(*callee).or_default().remove(&func);
        }
        for &callee in &seen.outline.callees {
            self.callers.entry(callee).or_default().insert(func);
        }
        match seen.outline.kinds.is_empty() {
            true => self.meeting.remove(&func),
            false => self.meeting.insert(func),
        };
        self.seen.insert(func, seen);
    }

    /// The functions that edits in some bodies affect, among them the edited ones; `None` if all
    /// functions are.
    pub(crate) fn affected(&self, edited: &[(Func, Seen)]) -> Option<Vec<Func>> {
        if !edited.iter().all(|(func, new)| self.stays_among_callers(*func, new)) {
            return None;
        }
        let mut found: FxHashSet<Func> = FxHashSet::default();
        let mut open: Vec<Func> = edited.iter().map(|(func, _)| *func).collect();
        while let Some(func) = open.pop() {
            if found.insert(func) {
                open.extend(self.callers.get(&func).into_iter().flatten());
            }
        }
        Some(found.into_iter().collect())
    }

    /// Whether an edit in the body of a function affects at most the function and its callers.
    fn stays_among_callers(&self, func: Func, new: &Seen) -> bool {
        let Some(old) = self.seen.get(&func) else { return false };
        let (before, after) = (&old.outline, &new.outline);
        if old.mentions != new.mentions
            || before.addresses != after.addresses
            || self.by_address.contains(&func)
        {
            return false;
        }
        let calls_by_address = |outline: &Outline| outline.calls_by_address && !self.by_address.is_empty();
        let executes = |outline: &Outline| !outline.callees.is_empty() || calls_by_address(outline);
        // Lanes in a kernel without callees meet no lanes in other functions.
        if new.kind == ItemKind::Entry && !executes(before) && !executes(after) {
            return true;
        }
        let same_calls =
            before.callees == after.callees && calls_by_address(before) == calls_by_address(after);
        before.kinds == after.kinds && (same_calls || self.meeting.is_empty())
    }
}

/// Whether a function's body can affect every other one, because the version of PTX is so old that
/// bodies declare parameters and functions share registers.
pub(crate) fn is_shared(db: &dyn Db, file: SourceFile) -> bool {
    header(db, file).version < ABI
}
