//! Variables that a module declares more than once: only one of the declarations is the definition,
//! and all agree.
//!
//! | first | later | rule |
//! |---|---|---|
//! | any | any | the types, the vector sizes and the dimensions are equal; an open dimension equals any |
//! | a definition | a definition | an error |
//! | `.extern` | a definition without linkage | an error: another module can't see it |

use std::collections::hash_map::Entry;

use ptxc_ptx::check::codes::REDECLARED;
use ptxc_ptx::check::env::{Declared, constant_u32};
use ptxc_ptx::diagnostic::Diagnostic;
use ptxc_syntax::ast::{Declaration, Linkage, Space, Type, Vector};
use ptxc_syntax::{Name, Span};
use rustc_hash::FxHashMap;

/// The variables of a module so far.
#[derive(Default)]
pub(crate) struct Variables {
    known: FxHashMap<Name, Known>,
}

/// The declarations of a name.
pub(crate) struct Known {
    /// The place of the first one.
    pub(crate) span: Span,
    /// The state space of the first one.
    pub(crate) space: Space,
    shape: Shape,
    /// The place of the definition.
    defined: Option<Span>,
    is_extern: bool,
}

/// What all declarations of a variable agree on.
#[derive(PartialEq, Eq)]
struct Shape {
    ty: Type,
    vector: Option<Vector>,
    /// The sizes of the dimensions; none for an open one or an error.
    dimensions: Vec<Option<u32>>,
}

impl Shape {
    fn of(declaration: &Declaration, declared: &Declared<'_>) -> Shape {
        let size = |size: &Option<_>| size.as_ref().and_then(constant_u32);
        Shape {
            ty: declaration.specifiers.ty,
            vector: declaration.specifiers.vector,
            dimensions: declared.declarator.dimensions.iter().map(size).collect(),
        }
    }

    fn agrees(&self, other: &Shape) -> bool {
        let agree = |(a, b): (&Option<u32>, &Option<u32>)| a.is_none() || b.is_none() || a == b;
        (self.ty, self.vector, self.dimensions.len()) == (other.ty, other.vector, other.dimensions.len())
            && self.dimensions.iter().zip(&other.dimensions).all(agree)
    }
}

/// An error in a declaration, with a second place.
pub(crate) struct Conflict {
    /// The error, at the name.
    pub(crate) finding: Diagnostic,
    /// The earlier declaration.
    pub(crate) first: Span,
    /// The label of the earlier declaration.
    pub(crate) label: &'static str,
}

impl Variables {
    /// The declarations of a name.
    pub(crate) fn get(&self, name: &str) -> Option<&Known> {
        self.known.get(name)
    }

    /// Adds a declaration with its place; an error if it conflicts with an earlier one.
    pub(crate) fn add(
        &mut self,
        declaration: &Declaration,
        declared: &Declared<'_>,
        span: Span,
    ) -> Option<Conflict> {
        let is_extern = declaration.linkage == Some(Linkage::Extern);
        let (name, node) = (&declared.name, declared.declarator.name.id);
        let shape = Shape::of(declaration, declared);
        let known = match self.known.entry(name.clone()) {
            Entry::Vacant(place) => {
                let space = declaration.specifiers.space;
                place.insert(Known { span, space, shape, defined: (!is_extern).then_some(span), is_extern });
                return None;
            }
            Entry::Occupied(known) => known.into_mut(),
        };
        let error = |message: String, label: &str| Diagnostic::error(REDECLARED, node, message).label(label);
        if let Some(first) = known.defined.filter(|_| !is_extern) {
            let finding = error(format!("`{name}` is defined twice in this module"), "a second definition");
            return Some(Conflict { finding, first, label: "the first one" });
        }
        let first = known.span;
        if !known.shape.agrees(&shape) {
            let message = format!("`{name}` is declared with a type or a size that differs from the first");
            let finding = error(message, "declared here again").help("make the declarations equal");
            return Some(Conflict { finding, first, label: "declared here first" });
        }
        if known.is_extern && !is_extern && declaration.linkage.is_none() {
            let message = format!("`{name}` was declared `.extern`, and its definition has no linkage");
            let finding = error(message, "no other module sees this definition");
            let finding = finding.help("write `.visible` before it, or remove the first declaration");
            return Some(Conflict { finding, first, label: "declared here first" });
        }
        if !is_extern {
            known.defined = Some(span);
        }
        None
    }
}
