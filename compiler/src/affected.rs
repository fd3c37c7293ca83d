//! The functions that edits in bodies affect.
//!
//! In: the functions whose bodies changed, and the part of each body that other functions read. Out:
//! the functions whose code or findings may change.
//!
//! | changed part of a function | other functions affected |
//! |---|---|
//! | none, and no fact about its code that callers use | none: its kernels are only linked again |
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
#[derive(Debug, PartialEq, Eq)]
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
    pub(crate) fn affected<'a>(
        &self,
        edited: impl Iterator<Item = (Func, &'a Seen)> + Clone,
    ) -> Option<FxHashSet<Func>> {
        let stays = edited.clone().all(|(func, new)| self.stays_among_callers(func, new));
        stays.then(|| self.with_callers(edited.map(|(func, _)| func)))
    }

    /// The kernels that may call a device function, directly or not, after an edit that leaves what
    /// other functions read of its body; `None` after another edit, or if indirect calls reach it.
    pub(crate) fn kernels_of(&self, func: Func, new: &Seen) -> Option<Vec<Func>> {
        if new.kind != ItemKind::Func || self.seen.get(&func) != Some(new) || self.by_address.contains(&func)
        {
            return None;
        }
        let is_kernel = |func: &Func| self.seen.get(func).is_some_and(|seen| seen.kind == ItemKind::Entry);
        Some(self.with_callers([func]).into_iter().filter(is_kernel).collect())
    }

    /// These functions and those that call them, directly or not.
    fn with_callers(&self, functions: impl IntoIterator<Item = Func>) -> FxHashSet<Func> {
        let mut found: FxHashSet<Func> = FxHashSet::default();
        let mut open: Vec<Func> = functions.into_iter().collect();
        while let Some(func) = open.pop() {
            if found.insert(func) {
                open.extend(self.callers.get(&func).into_iter().flatten());
            }
        }
        found
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Database;
    use crate::file::File;
    use crate::input::items::items;

    /// Kernel `k` calls `f`, which calls `g`; kernel `m` calls `h`. The texts are those of the bodies.
    fn file_of(bodies: [(&str, &str); 5], variables: &str) -> String {
        let mut text = format!(".version 9.0\n.target sm_90\n.address_size 64\n{variables}\n");
        for (name, body) in bodies {
            let kind = if matches!(name, "k" | "m") { ".entry" } else { ".func" };
            text += &format!(
                "{kind} {name}()\n{{\n.reg .pred %p<3>; .reg .b32 %r<3>; .reg .b64 %rd<3>;\n{body}\nret;\n}}\n"
            );
        }
        text
    }

    const BODIES: [(&str, &str); 5] =
        [("g", ""), ("f", "call g;"), ("k", "call f;"), ("h", "mov.u32 %r1, %tid.x;"), ("m", "call h;")];

    const VOTE: &str =
        "mov.u32 %r1, %tid.x; setp.gt.u32 %p1, %r1, 3; @%p1 bra A; vote.sync.any.pred %p2, %p1, -1; A:";

    /// The names of the functions that an edit of one body affects, sorted, or `all`; and those of the
    /// kernels that are only linked again, or `-`.
    fn edited(variables: &str, old: &[(&str, &str)], new: (&str, &str)) -> (String, String) {
        let with = |changes: &[(&'static str, &str)]| {
            let body = |(name, body)| {
                let changed = changes.iter().rev().find(|(changed, _)| *changed == name);
                (name, changed.map_or(body, |(_, body)| *body).to_string())
            };
            BODIES.map(body)
        };
        let named =
            |name: &str| BODIES.iter().find(|(known, _)| *known == name).map_or("", |(name, _)| *name);
        let mut changes: Vec<(&'static str, &str)> =
            old.iter().map(|(name, body)| (named(name), *body)).collect();
        let text = |bodies: &[(&'static str, String); 5]| {
            file_of(std::array::from_fn(|index| (bodies[index].0, bodies[index].1.as_str())), variables)
        };
        let mut db = Database::default();
        let mut file = File::new(&db, "k.ptx", text(&with(&changes)));
        let functions = items(&db, file.source()).functions.clone();
        let seen = functions.iter().map(|&func| (func, Seen::of(&db, func)));
        let graph = Graph::new(&db, file.source(), seen);
        changes.push((named(new.0), new.1));
        let change = file.replace(&mut db, &text(&with(&changes)));
        let [func] = change.bodies[..] else { panic!("one body changes: {change:?}") };
        let seen = Seen::of(&db, func);
        let names = |functions: Vec<Func>| {
            let mut names: Vec<&str> = functions.iter().map(|func| func.name(&db).as_str()).collect();
            names.sort_unstable();
            names.join(" ")
        };
        let affected = graph.affected([(func, &seen)].into_iter());
        (
            affected.map_or("all".into(), |affected| names(affected.into_iter().collect())),
            graph.kernels_of(func, &seen).map_or("-".into(), names),
        )
    }

    fn expect(variables: &str, old: &[(&str, &str)], new: (&str, &str), affected: &str, linked: &str) {
        let found = edited(variables, old, new);
        assert_eq!((found.0.as_str(), found.1.as_str()), (affected, linked), "{old:?} {new:?}");
    }

    #[test]
    fn a_body_alone_affects_callers() {
        expect("", &[], ("g", "mov.u32 %r1, 5;"), "f g k", "k");
        expect("", &[], ("h", "mov.u32 %r1, 5;"), "h m", "m");
        expect("", &[], ("m", "call h; mov.u32 %r1, 5;"), "m", "-");
    }

    #[test]
    fn other_calls_affect_callers_while_no_lanes_meet() {
        expect("", &[], ("h", "call g;"), "h m", "-");
        expect("", &[], ("f", ""), "f k", "-");
        // A vote in a function that a caller executes may meet a vote elsewhere.
        expect("", &[("g", VOTE)], ("h", "call g;"), "all", "-");
        expect("", &[("g", VOTE)], ("h", "mov.u32 %r1, 5;"), "h m", "m");
    }

    #[test]
    fn waits_of_lanes_affect_all_unless_a_kernel_calls_nothing() {
        expect("", &[], ("g", VOTE), "all", "-");
        expect("", &[("m", "")], ("m", VOTE), "m", "-");
        expect("", &[], ("m", &format!("{VOTE} call h;")), "all", "-");
        // The same kinds, in another order.
        expect("", &[("g", VOTE)], ("g", &format!("{VOTE} mov.u32 %r1, 5;")), "f g k", "k");
    }

    #[test]
    fn functions_with_addresses_affect_all() {
        let address = "mov.u64 %rd1, f;";
        // Those whose addresses are taken, in code or in a variable, and their callees.
        for (variables, taker) in [("", [("h", address)].as_slice()), (".global .u64 v = f;", &[])] {
            expect(variables, taker, ("f", "call g; mov.u32 %r1, 5;"), "all", "-");
            expect(variables, taker, ("g", "mov.u32 %r1, 5;"), "all", "-");
            expect(variables, taker, ("k", "call f; mov.u32 %r1, 5;"), "k", "-");
        }
        // The one that takes an address.
        expect("", &[("h", address)], ("h", "mov.u64 %rd1, f; mov.u32 %r1, 5;"), "h m", "m");
        expect("", &[], ("h", address), "all", "-");
        expect("", &[("h", address)], ("h", ""), "all", "-");
    }

    #[test]
    fn variables_affect_all() {
        let shared = ".shared .b32 own; st.shared.u32 [own], %r1;";
        expect("", &[], ("g", shared), "all", "-");
        expect("", &[("g", shared)], ("g", &format!("{shared} mov.u32 %r1, 5;")), "f g k", "k");
        expect("", &[], ("k", "call f; .global .b32 own; st.global.u32 [own], %r1;"), "all", "-");
        // A kernel has its shared memory for itself.
        expect("", &[], ("k", &format!("call f; {shared}")), "k", "-");
    }
}
