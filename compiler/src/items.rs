//! The items of a file, and the queries that keep an edit in one of them from the others.
//!
//! A [`Func`] is identified by file, kind, name and, for repeated names, its ordinal. Its text and its
//! offset are separate fields: what only reads the text does not run again when the function moves.

#![allow(missing_docs, reason = "salsa generates methods that carry no documentation")]

use ptxc_syntax::Name;
use ptxc_syntax::items::{ItemKind, split};
use rustc_hash::FxHashMap;

use crate::db::Db;
use crate::input::SourceFile;

/// A function of a file, defined or declared.
#[salsa::tracked(debug)]
pub struct Func<'db> {
    /// The file.
    #[returns(copy)]
    pub file: SourceFile,
    /// Kernel or device function.
    #[returns(copy)]
    pub kind: ItemKind,
    /// The name; empty if the text has none.
    #[returns(ref)]
    pub name: Name,
    /// How many functions of that kind and name precede it.
    #[returns(copy)]
    pub ordinal: u32,
    /// Its text.
    #[tracked]
    #[returns(ref)]
    pub text: String,
    /// The offset of the text in the file, in bytes.
    #[tracked]
    #[returns(copy)]
    pub offset: u32,
    /// Whether it has a body.
    #[tracked]
    #[returns(copy)]
    pub has_body: bool,
}

/// An item that is no function, without its place.
#[derive(Clone, Debug, PartialEq, Eq, Hash, salsa::SalsaValue)]
pub struct PlainItem {
    /// What it is.
    #[salsa_value(unsafe(prove_safe_to_retain_manually))]
    pub kind: ItemKind,
    /// Its text.
    pub text: String,
}

/// The items of a file, in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash, salsa::SalsaValue)]
pub struct Items<'db> {
    /// The functions.
    pub functions: Vec<Func<'db>>,
    /// Everything else.
    pub others: Vec<PlainItem>,
}

/// Splits a file into its items.
#[salsa::tracked(returns(ref))]
pub fn items<'db>(db: &'db dyn Db, file: SourceFile) -> Items<'db> {
    let text = file.text(db);
    let mut result = Items { functions: Vec::new(), others: Vec::new() };
    let mut seen: FxHashMap<(ItemKind, Name), u32> = FxHashMap::default();
    for item in split(text) {
        let own = text[item.span.range()].to_string();
        match item.kind {
            ItemKind::Entry | ItemKind::Func => {
                let name = item.names.first().cloned().unwrap_or_default();
                let count = seen.entry((item.kind, name.clone())).or_insert(0);
                let ordinal = *count;
                *count += 1;
                let offset = item.span.start;
                result.functions.push(Func::new(
                    db,
                    file,
                    item.kind,
                    name,
                    ordinal,
                    own,
                    offset,
                    item.has_body,
                ));
            }
            kind => result.others.push(PlainItem { kind, text: own }),
        }
    }
    result
}

/// The offsets of the items that are no functions, in the order of [`Items::others`], in bytes. Only
/// diagnostics read them.
#[salsa::tracked(returns(ref))]
pub fn plain_offsets(db: &dyn Db, file: SourceFile) -> Vec<u32> {
    let items = split(file.text(db)).into_iter();
    items
        .filter(|item| !matches!(item.kind, ItemKind::Entry | ItemKind::Func))
        .map(|item| item.span.start)
        .collect()
}
