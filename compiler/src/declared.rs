//! Functions that a module declares more than once: only one of them is the definition, and all
//! have the same parameters and results.

use indexmap::IndexMap;
use indexmap::map::Entry;
use ptxc_ptx::check::codes::{PROTOTYPES_DIFFER, REDECLARED};
use ptxc_ptx::check::env::parameter_layout;
use ptxc_ptx::diagnostic::Severity;
use ptxc_syntax::ast::{Function, Parameter};
use ptxc_syntax::codes::Code;
use ptxc_syntax::{Name, Span};

use crate::db::Db;
use crate::input::SourceFile;
use crate::input::items::{Func, items};
use crate::module::{is_damaged, parsed};
use crate::render::Located;

/// The errors in functions that share a name.
pub(crate) fn findings(db: &dyn Db, file: SourceFile) -> Vec<Located> {
    let mut found = Vec::new();
    let mut declared: IndexMap<&Name, Func> = IndexMap::new();
    let mut defined: IndexMap<&Name, Func> = IndexMap::new();
    for &func in &items(db, file).functions {
        let name = func.name(db);
        if func.has_body(db)
            && let Some(first) = defined.insert(name, func)
        {
            defined.insert(name, first);
            let message = format!("`{name}` is defined twice in this module");
            found.push(located(
                db,
                REDECLARED,
                message,
                (func, "a second definition"),
                (first, "the first one"),
            ));
            continue;
        }
        match declared.entry(name) {
            Entry::Vacant(place) => drop(place.insert(func)),
            Entry::Occupied(first) => found.extend(other_prototype(db, func, *first.get())),
        }
    }
    found
}

/// An error if a declaration's parameters or results differ from those of the first declaration.
/// Their types may differ, but not their sizes.
fn other_prototype(db: &dyn Db, func: Func, first: Func) -> Option<Located> {
    if is_damaged(db, func) || is_damaged(db, first) {
        return None;
    }
    let (own, other) = (parsed(db, func), parsed(db, first));
    let pairs = |side: fn(&Function) -> &[Parameter]| {
        let sizes = |function| side(function).iter().map(|parameter| Some(parameter_layout(parameter)?.0));
        (sizes(&own.value).collect::<Vec<_>>(), sizes(&other.value).collect::<Vec<_>>())
    };
    for (what, side) in [
        ("parameter", (|function| &function.parameters[..]) as fn(&Function) -> &[Parameter]),
        ("result", |function| &function.returns[..]),
    ] {
        let (here, there) = pairs(side);
        let label = |sizes: &[Option<u32>]| match here.iter().zip(&there).position(|(a, b)| a != b) {
            Some(at) if here.len() == there.len() => {
                let size = sizes[at].map_or("no size".to_string(), |size| format!("{size} bytes"));
                format!("{what} {} has {size}", at + 1)
            }
            _ => format!("{} {what}{}", sizes.len(), if sizes.len() == 1 { "" } else { "s" }),
        };
        if here != there {
            let message = format!(
                "`{}` is declared with {what}s that differ from its first declaration",
                func.name(db)
            );
            let (here, there) = (label(&here), label(&there));
            return Some(located(db, PROTOTYPES_DIFFER, message, (func, &here), (first, &there)));
        }
    }
    None
}

/// An error at the name of a function, with a second function as context.
fn located(db: &dyn Db, code: Code, message: String, here: (Func, &str), there: (Func, &str)) -> Located {
    let name_of = |func: Func| -> Span {
        let parsed = parsed(db, func);
        parsed.spans.get(parsed.value.name.id).shifted(func.offset(db))
    };
    Located {
        code: code.to_string(),
        severity: Severity::Error,
        message,
        primary: (name_of(here.0), here.1.into()),
        secondary: vec![(name_of(there.0), there.1.into())],
        notes: Vec::new(),
        help: None,
    }
}
