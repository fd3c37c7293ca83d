//! The inputs of the query graph: files and options.
//!
//! salsa allocates inputs in pages of 128. The allocator reserves half a megabyte for each size of
//! objects above 8 KiB, and the system clears the huge pages that it uses. So no input here has more
//! than 128 bytes, and the pages have two sizes: a small kernel takes 2 to 3 percent less time.
//!
//! Few edits set options, the list of items, or the kinds and names of functions. These fields have a
//! high durability: if a result depends only on them, salsa does not look at its inputs after other
//! edits.

#![allow(missing_docs, reason = "salsa generates methods that carry no documentation")]

pub mod items;

use std::sync::{Arc, OnceLock};

use ptxc_machine::Arch;
use ptxc_object::cubin::Abi;
use ptxc_syntax::items::{ItemKind, ItemText, split};
use salsa::Durability;

use items::{Func, Head, Items, Places, PlainItem};

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
    pub items: Box<Items>,
    /// The start of each item.
    #[returns(ref)]
    pub places: Places,
}

const _: () = assert!(size_of::<(String, Box<Items>, Places)>() <= most_bytes(3));

impl Contents {
    /// Contents whose items change less often than their texts and places.
    fn of(db: &dyn Db, text: String, items: Box<Items>, places: Places) -> Contents {
        Contents::builder(text, items, places).items_durability(Durability::HIGH).new(db)
    }
}

impl SourceFile {
    /// A file with a text.
    pub fn new(db: &dyn Db, path: String, text: String) -> SourceFile {
        let items = split(&text);
        SourceFile::of_items(db, path, text, &items)
    }

    /// A file with a text whose items are known.
    pub(crate) fn of_items(db: &dyn Db, path: String, text: String, list: &[ItemText]) -> SourceFile {
        let file = SourceFile::builder(path, OnceLock::new()).durability(Durability::HIGH).new(db);
        let mut items = Items::default();
        for item in list {
            let own = &text[item.span.range()];
            match item.kind {
                ItemKind::Entry | ItemKind::Func => {
                    let name = item.names.first().cloned().unwrap_or_default();
                    let code: Arc<str> = own.into();
                    let index = items.functions.len() as u32;
                    let head = Head { file, kind: item.kind, name, has_body: item.has_body };
                    let func = Func::of(db, head, code, index);
                    items.functions.push(func);
                }
                _ => items.others.push(PlainItem::of(item, &text)),
            }
        }
        let contents = Contents::of(db, text, items.into(), Places::of(list));
        file.known(db).get_or_init(|| contents);
        file
    }

    /// The contents of the file.
    pub(crate) fn contents(self, db: &dyn Db) -> Contents {
        *self.known(db).get_or_init(|| Contents::of(db, String::new(), Box::default(), Places::default()))
    }

    /// Its text.
    pub fn text(self, db: &dyn Db) -> &str {
        self.contents(db).text(db)
    }
}

/// The most bytes of the fields of an input, given their number, so that the input has 128 bytes.
const fn most_bytes(fields: usize) -> usize {
    // For each field a revision and a durability; two words for results.
    (128 - 2 * size_of::<usize>() - fields * (size_of::<usize>() + 1)) / align_of::<usize>()
        * align_of::<usize>()
}

/// The options that decide the code. Each is a separate field, so a stage runs again only if an
/// option that it reads has changed.
#[salsa::input(constructor = with_extras, debug)]
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
    /// The options that have defaults.
    #[returns(copy)]
    pub extras: Extras,
}

const _: () = assert!(size_of::<(Option<Arch>, u8, bool, String, u32, bool, Extras)>() <= most_bytes(7));

/// The options that most compilations leave at their defaults.
#[salsa::input(debug)]
pub struct Extras {
    /// Whether PTX that ptxas rejects is an error even if it could be compiled.
    #[returns(copy)]
    pub strict: bool,
    /// Whether updates that a warp makes at one address are aggregated.
    #[returns(copy)]
    pub aggregate: bool,
    /// Whether a cubin says which source line each instruction comes from.
    #[returns(copy)]
    pub line_info: bool,
    /// The layout of cubins.
    #[returns(copy)]
    pub abi: Abi,
    /// Whether the result is a relocatable object.
    #[returns(copy)]
    pub relocatable: bool,
}

impl Options {
    /// The defaults of the command line.
    pub fn defaults(db: &dyn Db) -> Options {
        Settings::default().options(db)
    }

    /// Options whose [extras](Extras) are the defaults of the command line.
    pub fn new(
        db: &dyn Db,
        arch: Option<Arch>,
        opt: u8,
        fmad: bool,
        heuristic: String,
        max_regs: u32,
        serial: bool,
    ) -> Options {
        Settings { arch, opt, fmad, heuristic, max_regs, serial, ..Settings::default() }.options(db)
    }

    /// See [`Extras::strict`].
    pub fn strict(self, db: &dyn Db) -> bool {
        self.extras(db).strict(db)
    }

    /// See [`Extras::aggregate`].
    pub fn aggregate(self, db: &dyn Db) -> bool {
        self.extras(db).aggregate(db)
    }

    /// See [`Extras::line_info`].
    pub fn line_info(self, db: &dyn Db) -> bool {
        self.extras(db).line_info(db)
    }

    /// See [`Extras::abi`].
    pub fn abi(self, db: &dyn Db) -> Abi {
        self.extras(db).abi(db)
    }

    /// See [`Extras::relocatable`].
    pub fn relocatable(self, db: &dyn Db) -> bool {
        self.extras(db).relocatable(db)
    }
}

impl Settings {
    /// The same as an input of the query graph.
    pub fn options(self, db: &dyn Db) -> Options {
        let Settings { arch, opt, fmad, heuristic, max_regs, serial, strict, aggregate, line_info, .. } =
            self;
        let extras = Extras::builder(strict, aggregate, line_info, self.abi, self.relocatable);
        let extras = extras.durability(Durability::HIGH).new(db);
        let options = Options::builder(arch, opt, fmad, heuristic, max_regs, serial, extras);
        options.durability(Durability::HIGH).new(db)
    }
}
