//! Aliases of functions.
//!
//! ```text
//! .func f() { ret; }
//! .visible .func g();
//! .alias g, f;
//! ```
//!
//! Both names are declared before the `.alias` with the same parameters and results, and the first
//! name has no definition. Kernels have no aliases, and a function that a linker may replace has
//! none.

use ptxc_ptx::check::codes::{DECLARATION_FORM, PROTOTYPES_DIFFER, REDECLARED, UNDECLARED_SYMBOL};
use ptxc_ptx::check::features;
use ptxc_ptx::diagnostic::Diagnostic;
use ptxc_syntax::ast::{Alias, Ident, Item, Linkage};
use ptxc_syntax::items::ItemKind;
use ptxc_syntax::{Name, parse_item};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::db::Db;
use crate::declared::other_prototype;
use crate::input::SourceFile;
use crate::input::items::{Func, items, places};
use crate::locate::{MOST_FINDINGS, locate_in};
use crate::module::{ast, header, is_damaged};
use crate::render::Located;

/// The declarations of a name before an `.alias`.
struct Declared {
    first: Func,
    is_kernel: bool,
    has_body: bool,
    is_weak: bool,
}

/// The errors in the aliases of a file.
pub(crate) fn findings(db: &dyn Db, file: SourceFile) -> Vec<Located> {
    let (items, places) = (items(db, file), places(db, file));
    let (mut found, mut aliased, mut declared) = (Vec::new(), FxHashSet::default(), FxHashMap::default());
    let mut functions = items.functions.iter().peekable();
    let aliases = items.others.iter().zip(&places.others).filter(|(item, _)| item.kind == ItemKind::Alias);
    for (item, &offset) in aliases {
        if found.len() > MOST_FINDINGS {
            break;
        }
        while let Some(func) = functions.next_if(|func| func.offset(db) < offset) {
            let known = declared.entry(func.name(db)).or_insert(Declared {
                first: *func,
                is_kernel: false,
                has_body: false,
                is_weak: false,
            });
            known.is_kernel |= func.kind(db) == ItemKind::Entry;
            known.has_body |= func.has_body(db);
            known.is_weak |= ast(db, *func).linkage == Some(Linkage::Weak);
        }
        let parsed = parse_item(&item.text, item.kind);
        let Some(Item::Alias(alias)) = &parsed.value else { continue };
        let mut findings = Vec::new();
        let header = header(db, file);
        features::ALIAS.check(alias.id, (header.version, header.target), &mut findings);
        if !aliased.insert(alias.name.name.clone()) {
            let message = format!("`{}` is an alias already", alias.name.name);
            findings.push(Diagnostic::error(REDECLARED, alias.name.id, message).help("remove one of them"));
        }
        check(db, alias, &declared, &mut findings);
        found.extend(findings.iter().map(|finding| locate_in(&parsed.spans, offset, finding)));
    }
    found
}

fn check(db: &dyn Db, alias: &Alias, declared: &FxHashMap<&Name, Declared>, out: &mut Vec<Diagnostic>) {
    let mut find = |ident: &Ident| {
        let found = declared.get(&ident.name);
        if found.is_none() {
            let message = format!("function `{}` is not declared", ident.name);
            let finding = Diagnostic::error(UNDECLARED_SYMBOL, ident.id, message);
            out.push(finding.label("not declared before this").help("declare it before the `.alias`"));
        }
        found
    };
    let (Some(name), Some(aliasee)) = (find(&alias.name), find(&alias.aliasee)) else { return };
    for (ident, declared) in [(&alias.name, name), (&alias.aliasee, aliasee)] {
        if declared.is_kernel {
            let message = format!("`{}` is a kernel, which has no alias", ident.name);
            return out.push(Diagnostic::error(DECLARATION_FORM, ident.id, message).label("a kernel"));
        }
    }
    if name.has_body {
        let message = format!("the alias `{}` is a function with a body", alias.name.name);
        return out.push(
            Diagnostic::error(REDECLARED, alias.name.id, message)
                .label("defined before this")
                .help("remove the `.alias`, or only declare the function"),
        );
    }
    if aliasee.is_weak {
        let message = format!("`{}` is `.weak`, and can't have an alias", alias.aliasee.name);
        return out.push(
            Diagnostic::error(DECLARATION_FORM, alias.aliasee.id, message)
                .label("a linker may replace it")
                .help("write `.visible` instead of `.weak`"),
        );
    }
    let (name, aliasee) = (name.first, aliasee.first);
    if is_damaged(db, name) || is_damaged(db, aliasee) {
        return;
    }
    if let Some(difference) = other_prototype(ast(db, name), ast(db, aliasee)) {
        let message = format!(
            "`{}` and its alias `{}` have different {}s",
            alias.aliasee.name, alias.name.name, difference.side
        );
        out.push(Diagnostic::error(PROTOTYPES_DIFFER, alias.name.id, message).label(difference.here));
    }
}
