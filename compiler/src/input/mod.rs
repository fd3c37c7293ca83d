//! The inputs of the query graph: files and options.

#![allow(missing_docs, reason = "salsa generates methods that carry no documentation")]

pub mod items;

use std::sync::{Arc, OnceLock};

use ptxc_machine::Arch;
use ptxc_object::cubin::Abi;
use ptxc_syntax::items::{ItemKind, ItemText, split};

use items::{Func, Items, Places, PlainItem};

use crate::db::Db;
use crate::settings::Settings;

/// A PTX file. A [`File`](crate::File) is one that can be edited.
#[salsa::input(constructor = unread, debug)]
pub struct SourceFile {
    /// Its name in diagnostics.
    #[returns(ref)]
    pub path: String,
    /// Its contents. They are set once, as soon as functions exist that know the file.
    #[returns(ref)]
    known: OnceLock<Contents>,
}

/// The contents of a file.
#[salsa::input(debug)]
pub struct Contents {
    /// Its text.
    #[returns(ref)]
    pub text: String,
    /// Its items.
    #[returns(ref)]
    pub items: Items,
    /// The start of each item.
    #[returns(ref)]
    pub places: Places,
}

impl SourceFile {
    /// A file with a text.
    pub fn new(db: &dyn Db, path: String, text: String) -> SourceFile {
        let items = split(&text);
        SourceFile::of_items(db, path, text, &items)
    }

    /// A file with a text whose items are known.
    pub(crate) fn of_items(db: &dyn Db, path: String, text: String, list: &[ItemText]) -> SourceFile {
        let file = SourceFile::unread(db, path, OnceLock::new());
        let mut items = Items::default();
        for item in list {
            let own = &text[item.span.range()];
            match item.kind {
                ItemKind::Entry | ItemKind::Func => {
                    let name = item.names.first().cloned().unwrap_or_default();
                    let code: Arc<str> = own.into();
                    let index = items.functions.len() as u32;
                    let func = Func::new(db, file, item.kind, name, code.clone(), code, item.has_body, index);
                    items.functions.push(func);
                }
                _ => items.others.push(PlainItem::of(item, &text)),
            }
        }
        let contents = Contents::new(db, text, items, Places::of(list));
        file.known(db).get_or_init(|| contents);
        file
    }

    /// The contents of the file.
    pub(crate) fn contents(self, db: &dyn Db) -> Contents {
        *self.known(db).get_or_init(|| Contents::new(db, String::new(), Items::default(), Places::default()))
    }

    /// Its text.
    pub fn text(self, db: &dyn Db) -> &str {
        self.contents(db).text(db)
    }
}

/// The options that decide the code. Each is a separate field, so a stage runs again only if an
/// option that it reads has changed.
#[salsa::input(debug)]
pub struct Options {
    /// The architecture; `None` uses the file's `.target`.
    #[returns(copy)]
    pub arch: Option<Arch>,
    /// The optimization level, 0 to 3.
    #[returns(copy)]
    pub opt: u8,
    /// Whether a product and a sum without rounding modifiers are fused.
    #[returns(copy)]
    pub fmad: bool,
    /// The name of the scheduling heuristic.
    #[returns(ref)]
    pub heuristic: String,
    /// The most general registers of a thread, 16 to 255.
    #[returns(copy)]
    pub max_regs: u32,
    /// Whether every instruction waits for everything.
    #[returns(copy)]
    pub serial: bool,
    /// Whether PTX that ptxas rejects is an error even if it could be compiled.
    #[default]
    #[returns(copy)]
    pub strict: bool,
    /// Whether updates that a warp makes at one address are aggregated.
    #[default]
    #[returns(copy)]
    pub aggregate: bool,
    /// Whether a cubin says which source line each instruction comes from.
    #[default]
    #[returns(copy)]
    pub line_info: bool,
    /// The layout of cubins.
    #[default]
    #[returns(copy)]
    pub abi: Abi,
    /// Whether the result is a relocatable object.
    #[default]
    #[returns(copy)]
    pub relocatable: bool,
}

impl Options {
    /// The defaults of the command line.
    pub fn defaults(db: &dyn crate::db::Db) -> Options {
        Settings::default().options(db)
    }
}

impl Settings {
    /// The same as an input of the query graph.
    pub fn options(self, db: &dyn Db) -> Options {
        let Settings { arch, opt, fmad, heuristic, max_regs, serial, strict, aggregate, line_info, .. } =
            self;
        let (abi, relocatable) = (self.abi, self.relocatable);
        let options = Options::builder(arch, opt, fmad, heuristic, max_regs, serial);
        options
            .strict(strict)
            .aggregate(aggregate)
            .line_info(line_info)
            .abi(abi)
            .relocatable(relocatable)
            .new(db)
    }
}
