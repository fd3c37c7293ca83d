//! The directives of a module other than its header: `.file`, `.pragma` and debug sections.

use ptxc_ptx::check::codes::REDECLARED;
use ptxc_ptx::check::directives::{Place, pragma};
use ptxc_ptx::check::features;
use ptxc_ptx::check::targets;
use ptxc_ptx::diagnostic::Diagnostic;
use ptxc_syntax::ast::{Ident, Item};
use rustc_hash::FxHashSet;

use crate::module::Header;
use crate::sections;

/// The directives of a module so far.
#[derive(Default)]
pub(crate) struct Directives {
    /// The numbers of its `.file` directives.
    files: FxHashSet<u64>,
}

impl Directives {
    /// Checks the next one.
    pub(crate) fn check(&mut self, item: &Item, header: &Header, out: &mut Vec<Diagnostic>) {
        let present = (header.version, header.target);
        match item {
            Item::Section(section) => sections::check(section, header.version, out),
            Item::Pragma(directive) => pragma(directive, Place::Module, present, out),
            Item::File(file) => {
                if file.stamp.is_some() {
                    features::FILE_STAMP.check(file.id, present, out);
                }
                if !self.files.insert(file.index) {
                    let message = format!("a second `.file` has the number {}", file.index);
                    out.push(Diagnostic::error(REDECLARED, file.id, message).help("use another number"));
                }
            }
            _ => {}
        }
    }
}

/// Checks an option of `.target`.
pub(crate) fn option(name: &Ident, header: &Header, out: &mut Vec<Diagnostic>) {
    let feature = match name.name.as_str() {
        targets::DEBUG => features::DEBUG,
        targets::INDEPENDENT_TEXTURES => features::INDEPENDENT_TEXTURES,
        _ => return,
    };
    feature.check(name.id, (header.version, header.target), out);
}
