//! The items of a file. Each is a separate input, so an edit in one item does not affect the
//! others.
//!
//! A function's text, its place and its tokens are separate fields: a query that reads the tokens
//! does not run again when the function moves or when a comment in it changes.

#![allow(missing_docs, reason = "salsa generates methods that carry no documentation")]

use std::sync::Arc;

use ptxc_syntax::Name;
use ptxc_syntax::items::{ItemKind, ItemText};
use salsa::Durability;

use crate::db::Db;
use crate::input::{SourceFile, most_bytes};

/// A function of a file, defined or declared.
#[salsa::input(debug)]
pub struct Func {
    /// Where it belongs, and what it is.
    #[returns(ref)]
    pub head: Head,
    /// Its text.
    #[returns(ref)]
    pub text: Arc<str>,
    /// Its text at the last change of a token: it differs from `text` at most in spaces, line
    /// breaks and comments. It is the same allocation as `text` if none of these has changed since.
    #[returns(ref)]
    pub code: Arc<str>,
    /// Its place among the functions of the file.
    #[returns(copy)]
    pub index: u32,
}

const _: () = assert!(size_of::<(Head, Arc<str>, Arc<str>, u32)>() <= most_bytes(4));

/// The file of a function, its kind and its name. Few edits change them, so they share a field.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Head {
    /// The file.
    pub file: SourceFile,
    /// Kernel or device function.
    pub kind: ItemKind,
    /// The name; empty if the text has none.
    pub name: Name,
    /// Whether it has a body.
    pub has_body: bool,
}

impl Func {
    /// A function. Edits set its text more often than the rest.
    pub(crate) fn of(db: &dyn Db, head: Head, text: Arc<str>, index: u32) -> Func {
        let func = Func::builder(head, text.clone(), text, index);
        func.head_durability(Durability::HIGH).index_durability(Durability::HIGH).new(db)
    }

    /// See [`Head::file`].
    pub fn file(self, db: &dyn Db) -> SourceFile {
        self.head(db).file
    }

    /// See [`Head::kind`].
    pub fn kind(self, db: &dyn Db) -> ItemKind {
        self.head(db).kind
    }

    /// See [`Head::name`].
    pub fn name(self, db: &dyn Db) -> &Name {
        &self.head(db).name
    }

    /// See [`Head::has_body`].
    pub fn has_body(self, db: &dyn Db) -> bool {
        self.head(db).has_body
    }

    /// The offset of its text in the file, in bytes. A query that asks for it runs again after
    /// every edit before the function, so only diagnostics ask.
    pub fn offset(self, db: &dyn Db) -> u32 {
        places(db, self.file(db)).functions.get(self.index(db) as usize).copied().unwrap_or(0)
    }
}

/// An item that is not a function, without its place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PlainItem {
    /// Its kind.
    pub kind: ItemKind,
    /// Its text.
    pub text: String,
}

impl PlainItem {
    /// An item of a text.
    pub(crate) fn of(item: &ItemText, text: &str) -> PlainItem {
        PlainItem { kind: item.kind, text: text[item.span.range()].to_string() }
    }
}

/// The items of a file, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Items {
    /// The functions.
    pub functions: Vec<Func>,
    /// Everything else.
    pub others: Vec<PlainItem>,
}

/// The start of each item of a file, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The functions.
    pub functions: Vec<u32>,
    /// Everything else, in the order of [`Items::others`].
    pub others: Vec<u32>,
}

impl Places {
    /// The starts of the items of a list.
    pub(crate) fn of(list: &[ItemText]) -> Places {
        let mut places = Places::default();
        for item in list {
            match item.kind {
                ItemKind::Entry | ItemKind::Func => places.functions.push(item.span.start),
                _ => places.others.push(item.span.start),
            }
        }
        places
    }
}

/// The items of a file.
pub fn items(db: &dyn Db, file: SourceFile) -> &Items {
    file.contents(db).items(db)
}

/// The starts of the items of a file. Only diagnostics ask for them.
pub(crate) fn places(db: &dyn Db, file: SourceFile) -> &Places {
    file.contents(db).places(db)
}
