//! A file that can be edited.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use ptxc_syntax::items::{ItemKind, ItemText, Resplit, resplit, split};
use ptxc_syntax::{Name, same_but_layout};
use rustc_hash::{FxHashMap, FxHashSet};
use salsa::Setter;

use crate::db::Database;
use crate::input::SourceFile;
use crate::input::items::{Func, Head, Places, PlainItem, items};

/// A PTX file and the items of its text. An edit changes as few items as possible.
///
/// After an edit the text is split again around the edited part. Items before and after that part
/// keep their identity, and so do functions inside it that have the same kind and name as before.
/// If only spaces and comments changed, nothing is parsed.
///
/// ```
/// use ptxc_compiler::{Database, File};
///
/// let mut db = Database::default();
/// let mut file = File::new(&db, "k.ptx", ".version 9.0\n.target sm_90\n.entry k() { ret; }\n");
/// let at = file.source().text(&db).find("ret").unwrap();
/// let change = file.edit(&mut db, at..at, "bar.sync 0; ");
/// assert_eq!(change.bodies.len(), 1);
/// assert!(!change.all);
/// ```
#[derive(Debug)]
pub struct File {
    source: SourceFile,
    /// The items of the text, functions and others, in order.
    list: Vec<ItemText>,
    /// Removed functions, kept for reuse: the database never forgets an input.
    spare: Vec<Func>,
}

/// The changes of an edit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The functions whose tokens changed. Other functions depend on them only through calls, and
    /// through the names and operations in their bodies.
    pub bodies: Vec<Func>,
    /// Whether anything but bodies changed, so that every function may depend on it: a variable, the
    /// header of the file, the parameters of a function, the set of functions.
    pub all: bool,
}

impl Change {
    /// Whether only spaces, comments and places changed.
    pub fn is_layout(&self) -> bool {
        self.bodies.is_empty() && !self.all
    }

    /// Adds the changes of a later edit.
    pub(crate) fn and(&mut self, later: Change) {
        self.all |= later.all;
        self.bodies.extend(later.bodies);
    }
}

impl File {
    /// A file with a text; the path is its name in diagnostics.
    pub fn new(db: &Database, path: impl Into<String>, text: impl Into<String>) -> File {
        let text = text.into();
        let list = split(&text);
        let source = SourceFile::of_items(db, path.into(), text, &list);
        File { source, list, spare: Vec::new() }
    }

    /// The input by which queries know the file.
    pub fn source(&self) -> SourceFile {
        self.source
    }

    /// Replaces some bytes of the text. It cancels the queries that other threads run and waits
    /// until no other thread uses the database.
    ///
    /// # Panics
    /// If the range is not in the text or cuts a character.
    pub fn edit(&mut self, db: &mut Database, range: Range<usize>, replacement: &str) -> Change {
        let contents = self.source.contents(db);
        let old_text = contents.text(db);
        assert!(old_text.get(range.clone()).is_some(), "no range of characters in the text: {range:?}");
        if old_text[range.clone()] == *replacement {
            return Change::default();
        }
        let mut text = contents.set_text(db).to(String::new());
        text.replace_range(range.clone(), replacement);
        let done = resplit(&mut self.list, &text, range, replacement.len());
        let change = self.take_over(db, &done, &text);
        contents.set_text(db).to(text);
        change
    }

    /// Gives the file another text: an [edit](Self::edit) of the part between the common start and
    /// the common end.
    pub fn replace(&mut self, db: &mut Database, text: &str) -> Change {
        let old = self.source.text(db);
        let shorter = old.len().min(text.len());
        let mut start = common(old.as_bytes().iter().zip(text.as_bytes()));
        let ends = old.as_bytes()[start..].iter().rev().zip(text.as_bytes()[start..].iter().rev());
        let mut end = common(ends.take(shorter - start));
        while !text.is_char_boundary(start) || !old.is_char_boundary(start) {
            start -= 1;
        }
        while !text.is_char_boundary(text.len() - end) || !old.is_char_boundary(old.len() - end) {
            end -= 1;
        }
        self.edit(db, start..old.len() - end, &text[start..text.len() - end])
    }

    /// Updates the inputs to match the new items.
    fn take_over(&mut self, db: &mut Database, done: &Resplit, text: &str) -> Change {
        let new = self.list[done.new.clone()].to_vec();
        let functions_before = self.list[..done.new.start].iter().filter(is_function).count();
        let functions_removed = done.old.iter().filter(is_function).count();
        let functions = functions_before..functions_before + functions_removed;
        let others = done.new.start - functions.start
            ..done.new.start - functions.start + done.old.len() - functions_removed;

        let mut change = Change::default();
        let old_functions = items(db, self.source).functions[functions.clone()].to_vec();
        let middle = self.functions_of(db, &old_functions, &new, text, &mut change);
        let new_others = new.iter().filter(|item| !is_function(item));
        let new_others: Vec<PlainItem> = new_others.map(|item| PlainItem::of(item, text)).collect();
        let contents = self.source.contents(db);
        if old_functions != middle || items(db, self.source).others[others.clone()] != new_others[..] {
            change.all = true;
            let mut items = items(db, self.source).clone();
            items.functions.splice(functions.clone(), middle);
            items.others.splice(others, new_others);
            for (index, func) in items.functions.iter().enumerate().skip(functions.start) {
                if func.index(db) != index as u32 {
                    func.set_index(db).to(index as u32);
                }
            }
            contents.set_items(db).to(items.into());
        }
        contents.set_places(db).to(Places::of(&self.list));
        change
    }

    /// The functions of some items. An item with the kind and name of an old function reuses that
    /// function; every other item gets a new one.
    fn functions_of(
        &mut self,
        db: &mut Database,
        old: &[Func],
        list: &[ItemText],
        text: &str,
        change: &mut Change,
    ) -> Vec<Func> {
        let mut known: FxHashMap<(ItemKind, Name), VecDeque<Func>> = FxHashMap::default();
        for func in old {
            known.entry((func.kind(db), func.name(db).clone())).or_default().push_back(*func);
        }
        let found: Vec<(&ItemText, Name, Option<Func>)> = list
            .iter()
            .filter(is_function)
            .map(|item| {
                let name = item.names.first().cloned().unwrap_or_default();
                let func = known.get_mut(&(item.kind, name.clone())).and_then(VecDeque::pop_front);
                (item, name, func)
            })
            .collect();
        let taken: FxHashSet<Func> = found.iter().filter_map(|(_, _, func)| *func).collect();
        for &func in old.iter().filter(|func| !taken.contains(func)) {
            func.set_text(db).to("".into());
            func.set_code(db).to("".into());
            self.spare.push(func);
        }
        let mut functions = Vec::with_capacity(found.len());
        for (item, name, func) in found {
            let func = func.unwrap_or_else(|| {
                let func = self.spare.pop().unwrap_or_else(|| self.blank(db));
                let head = Head { kind: item.kind, name, ..func.head(db).clone() };
                func.set_head(db).to(head);
                func
            });
            change.add(func, update(db, func, item, text));
            functions.push(func);
        }
        functions
    }

    /// A function without text.
    fn blank(&self, db: &Database) -> Func {
        let none: Arc<str> = "".into();
        let (file, kind, name) = (self.source, ItemKind::Entry, Name::default());
        Func::of(db, Head { file, kind, name, has_body: false }, none, u32::MAX)
    }
}

/// Gives a function another text; returns whether its tokens changed, and whether those before its
/// body did.
fn update(db: &mut Database, func: Func, item: &ItemText, text: &str) -> Updated {
    let new = &text[item.span.range()];
    if **func.text(db) == *new {
        return Updated::default();
    }
    let new: Arc<str> = new.into();
    func.set_text(db).to(new.clone());
    let code = func.code(db).clone();
    if same_but_layout(&code, &new) {
        return Updated::default();
    }
    func.set_code(db).to(new.clone());
    if func.has_body(db) != item.has_body {
        let head = Head { has_body: item.has_body, ..func.head(db).clone() };
        func.set_head(db).to(head);
        return Updated { tokens: true, outside: true };
    }
    let head = &new[..(item.head.end - item.head.start) as usize];
    Updated { tokens: true, outside: !same_head(&code, head) }
}

/// The effects of a function's new text.
#[derive(Clone, Copy, Default)]
struct Updated {
    tokens: bool,
    outside: bool,
}

impl Change {
    fn add(&mut self, func: Func, updated: Updated) {
        self.all |= updated.outside;
        if updated.tokens {
            self.bodies.push(func);
        }
    }
}

fn is_function(item: &&ItemText) -> bool {
    matches!(item.kind, ItemKind::Entry | ItemKind::Func)
}

/// Whether a function's text begins with a head, ignoring layout.
fn same_head(code: &str, head: &str) -> bool {
    split(code).first().is_some_and(|old| same_but_layout(&code[old.head.range()], head))
}

/// The number of equal pairs from the start.
fn common<'a>(pairs: impl Iterator<Item = (&'a u8, &'a u8)>) -> usize {
    pairs.take_while(|(one, other)| one == other).count()
}
