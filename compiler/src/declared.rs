//! Functions that a module declares more than once: only one of them is the definition, the last,
//! and all agree.
//!
//! | part | rule |
//! |---|---|
//! | kind | all are kernels, or all are device functions |
//! | linkage | equal; after `.visible` and `.weak` it may be absent |
//! | parameters and results | equal, except for the names |
//! | `.noreturn` | equal |

use indexmap::IndexMap;
use indexmap::map::Entry;
use ptxc_ptx::check::codes::{PROTOTYPES_DIFFER, REDECLARED};
use ptxc_ptx::check::env::parameter_layout;
use ptxc_ptx::check::features;
use ptxc_ptx::diagnostic::Severity;
use ptxc_syntax::ast::{DirectiveKind, Function, FunctionKind, Linkage, Parameter, Space, Type, Vector};
use ptxc_syntax::codes::Code;
use ptxc_syntax::items::ItemKind;
use ptxc_syntax::{Name, Span, parse_signature};

use crate::db::Db;
use crate::input::SourceFile;
use crate::input::items::{Func, items};
use crate::locate::locate_in;
use crate::module::{header, is_damaged, parsed};
use crate::old_kernels::PARAMETER_LISTS;
use crate::render::Located;

/// The errors in functions that share a name, and in lists of parameters that the version lacks.
pub(crate) fn findings(db: &dyn Db, file: SourceFile) -> Vec<Located> {
    let mut found = Vec::new();
    let mut declared: IndexMap<&Name, Func> = IndexMap::new();
    let mut defined: IndexMap<&Name, Func> = IndexMap::new();
    for &func in &items(db, file).functions {
        let name = func.name(db);
        if let Some(&first) = defined.get(name) {
            let (message, label) = match func.has_body(db) {
                true => (format!("`{name}` is defined twice in this module"), "a second definition"),
                false => (format!("`{name}` is declared after its definition"), "a declaration"),
            };
            let there = if func.has_body(db) { "the first one" } else { "the definition" };
            found.push(located(db, REDECLARED, message, (func, label), (first, there)));
            continue;
        }
        if func.has_body(db) {
            defined.insert(name, func);
        }
        match declared.entry(name) {
            Entry::Vacant(place) => drop(place.insert(func)),
            Entry::Occupied(first) => found.extend(conflict(db, func, *first.get())),
        }
    }
    if header(db, file).version < PARAMETER_LISTS {
        found.extend(lists(db, file));
    }
    found
}

/// The lists of parameters in a module whose kernels declare their parameters in their bodies.
fn lists(db: &dyn Db, file: SourceFile) -> Vec<Located> {
    let (mut found, header) = (Vec::new(), header(db, file));
    for func in items(db, file).functions.iter().filter(|func| func.kind(db) == ItemKind::Entry) {
        let parsed = parse_signature(func.text(db));
        let Some(first) = parsed.value.parameters.first() else { continue };
        let mut findings = Vec::new();
        features::PARAMETER_LIST.check(first.id, (header.version, header.target), &mut findings);
        found.extend(findings.iter().map(|finding| locate_in(&parsed.spans, func.offset(db), finding)));
    }
    found
}

/// An error if a declaration does not agree with the first one.
fn conflict(db: &dyn Db, func: Func, first: Func) -> Option<Located> {
    if is_damaged(db, func) || is_damaged(db, first) {
        return None;
    }
    let (own, other) = (&parsed(db, func).value, &parsed(db, first).value);
    let name = func.name(db);
    if own.kind != other.kind {
        let message = format!("`{name}` is a kernel and a device function of this module");
        let label = |function: &Function| match function.kind {
            FunctionKind::Entry => "the kernel",
            FunctionKind::Func => "the device function",
        };
        return Some(located(db, REDECLARED, message, (func, label(own)), (first, label(other))));
    }
    if let Some(difference) = other_prototype(own, other) {
        let message =
            format!("`{name}` is declared with {}s that differ from its first declaration", difference.side);
        let (here, there) = (&*difference.here, &*difference.there);
        return Some(located(db, PROTOTYPES_DIFFER, message, (func, here), (first, there)));
    }
    let may_follow = match other.linkage {
        Some(Linkage::Visible | Linkage::Weak) => own.linkage.is_none() || own.linkage == other.linkage,
        linkage => own.linkage == linkage,
    };
    if !may_follow {
        let message = format!("`{name}` is declared with another linkage than before");
        let label = |function: &Function| match function.linkage {
            Some(linkage) => format!("declared `.{}`", linkage.spelling()),
            None => "declared without linkage".into(),
        };
        let (here, there) = (label(own), label(other));
        return Some(located(db, REDECLARED, message, (func, &here), (first, &there)));
    }
    if returns(own) != returns(other) {
        let message = format!("only one of two declarations of `{name}` has `.noreturn`");
        let label = |function: &Function| if returns(function) { "it returns" } else { "it does not return" };
        return Some(located(db, REDECLARED, message, (func, label(own)), (first, label(other))));
    }
    None
}

/// `.noreturn` is the first directive.
fn returns(function: &Function) -> bool {
    function.directives.first().is_none_or(|directive| directive.kind != DirectiveKind::NoReturn)
}

/// A difference in the parameters or results of two functions.
pub(crate) struct Difference {
    /// `parameter` or `result`.
    pub(crate) side: &'static str,
    /// The label for the one function.
    pub(crate) here: String,
    /// The label for the other function.
    pub(crate) there: String,
}

/// What the declarations of a parameter agree on.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Shape {
    space: Space,
    ty: Type,
    vector: Option<Vector>,
    /// Whether it is an array.
    is_array: bool,
    /// Size and alignment in bytes; none if they are not constants.
    layout: Option<(u32, u32)>,
}

impl Shape {
    fn of(parameter: &Parameter) -> Shape {
        let specifiers = &parameter.specifiers;
        Shape {
            space: specifiers.space,
            ty: specifiers.ty,
            vector: specifiers.vector,
            is_array: !parameter.dimensions.is_empty(),
            layout: parameter_layout(parameter),
        }
    }

    fn describe(self) -> String {
        let Some((bytes, align)) = self.layout else {
            return format!("no size, in `.{}`", self.space.spelling());
        };
        let array = if self.is_array { "array of " } else { "" };
        let (space, ty) = (self.space.spelling(), self.ty.spelling());
        format!("{bytes} bytes aligned to {align}, as {array}`.{space} .{ty}`")
    }
}

/// The first difference in the parameters or results of two functions.
pub(crate) fn other_prototype(own: &Function, other: &Function) -> Option<Difference> {
    type List = fn(&Function) -> &[Parameter];
    let sides: [(&str, List); 2] =
        [("parameter", |function| &function.parameters), ("result", |function| &function.returns)];
    for (side, list) in sides {
        let (here, there) = (list(own), list(other));
        // Lists of different lengths are not read: one declaration may be compared with many.
        if here.len() != there.len() {
            let label = |count: usize| format!("{count} {side}{}", if count == 1 { "" } else { "s" });
            return Some(Difference { side, here: label(here.len()), there: label(there.len()) });
        }
        let pairs = here.iter().zip(there).map(|(here, there)| (Shape::of(here), Shape::of(there)));
        let Some((at, (here, there))) = pairs.enumerate().find(|(_, (here, there))| here != there) else {
            continue;
        };
        let label = |shape: Shape| format!("{side} {} has {}", at + 1, shape.describe());
        return Some(Difference { side, here: label(here), there: label(there) });
    }
    None
}

/// An error at the name of a function, with a second function as context.
fn located(db: &dyn Db, code: Code, message: String, here: (Func, &str), there: (Func, &str)) -> Located {
    Located {
        code: code.to_string(),
        severity: Severity::Error,
        message,
        primary: (name_of(db, here.0), here.1.into()),
        secondary: vec![(name_of(db, there.0), there.1.into())],
        notes: Vec::new(),
        help: None,
    }
}

/// The place of the name of a function.
pub(crate) fn name_of(db: &dyn Db, func: Func) -> Span {
    let parsed = parsed(db, func);
    parsed.spans.get(parsed.value.name.id).shifted(func.offset(db))
}
