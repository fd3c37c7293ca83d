//! Vector registers used whole: `v` instead of `{v.x, v.y}`.

use std::borrow::Cow;

use ptxc_syntax::Name;
use ptxc_syntax::ast::{Operand, OperandKind, Vector};

use crate::check::operands::LANES;
use crate::check::resolved::Resolved;
use crate::check::scope::{Meaning, Scopes};

/// The operands with each whole vector register replaced by its elements in braces.
pub(super) fn spelled_out<'o>(
    scopes: &Scopes,
    resolved: &Resolved,
    operands: &'o [Operand],
) -> Cow<'o, [Operand]> {
    let is_whole = |operand: &Operand| vector_of(scopes, resolved, operand).is_some();
    if !operands.iter().any(is_whole) {
        return Cow::Borrowed(operands);
    }
    let mut own = operands.to_vec();
    for operand in &mut own {
        if let Some((name, vector)) = vector_of(scopes, resolved, operand) {
            let lanes = LANES.iter().take(vector.lanes() as usize);
            let element = |lane: &&str| OperandKind::Selected(Box::new((name.clone(), Name::new(lane))));
            operand.kind = OperandKind::Vector(
                lanes.map(|lane| Operand { id: operand.id, kind: element(lane) }).collect(),
            );
        }
    }
    Cow::Owned(own)
}

/// The elements of a vector, or the single operand.
pub(super) fn elements(scopes: &Scopes, resolved: &Resolved, operand: &Operand) -> Vec<Operand> {
    let list = spelled_out(scopes, resolved, std::slice::from_ref(operand));
    match &list[0].kind {
        OperandKind::Vector(elements) => elements.to_vec(),
        _ => vec![operand.clone()],
    }
}

/// The vector register that an operand names.
fn vector_of(scopes: &Scopes, resolved: &Resolved, operand: &Operand) -> Option<(Name, Vector)> {
    let OperandKind::Symbol(name) = &operand.kind else { return None };
    // Nearly every name is that of a single register, which the check has found.
    if resolved.register(operand.id).is_some() {
        return None;
    }
    match scopes.lookup(name)? {
        Meaning::Register { vector: Some(vector), .. } => Some((name.clone(), vector)),
        _ => None,
    }
}
