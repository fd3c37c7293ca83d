//! Whether the type, the size and the linkage of a declaration fit its state space and its place.
//!
//! | place | what ptxas rejects |
//! |---|---|
//! | parameter or result | vectors, `.f16x2`, several dimensions |
//! | parameter of a kernel | registers, arrays without elements |
//! | parameter of a function | `.hidden`, `.ptr`, textures and the like, alignments above 128 bytes, predicates in memory |
//! | result | an array without elements |
//! | in a function | `.sreg`, `.tex`, textures and the like, linkage, arrays without elements |
//! | register | an array, a vector of more than 128 bits |
//! | in a module | textures and the like outside `.global` |

use ptxc_syntax::NodeId;
use ptxc_syntax::ast::{
    Declaration, Declarator, Expr, Function, FunctionKind, Parameter, Space, Specifiers, Type, Vector,
};

use super::codes::DECLARATION_FORM;
use super::env::{ModuleEnv, PtxTarget, PtxVersion, TargetKind, constant_u32};
use super::needs::Needs;
use super::requirements::{target_too_old, version_too_old};
use crate::diagnostic::Diagnostic;

/// The largest alignment of a parameter of a device function, in bytes.
const MOST_ALIGNMENT: u32 = 128;

/// The most bits of a vector of registers.
const MOST_BITS: u32 = 128;

/// Checks the parameters and results of a function.
pub(super) fn signature(function: &Function, env: &ModuleEnv, out: &mut Vec<Diagnostic>) {
    let is_kernel = function.kind == FunctionKind::Entry;
    for (parameters, is_result) in [(&function.parameters, false), (&function.returns, true)] {
        for parameter in parameters {
            newer_type(parameter.specifiers.ty, parameter.id, env, out);
            if let Some((what, help)) = parameter_form(parameter, is_kernel, is_result) {
                let message = format!("the parameter `{}` {what}", parameter.name);
                out.push(Diagnostic::error(DECLARATION_FORM, parameter.id, message).help(help));
            }
        }
    }
}

/// What is wrong with a parameter or result, and what to do.
fn parameter_form(
    parameter: &Parameter,
    is_kernel: bool,
    is_result: bool,
) -> Option<(&'static str, &'static str)> {
    let specifiers = &parameter.specifiers;
    let array = "declare an array of bytes: `.param .align 16 .b8 name[16]`";
    if specifiers.space == Space::Reg {
        return is_kernel.then_some(("of a kernel is a register", "write `.param` instead of `.reg`"));
    }
    if specifiers.vector.is_some() {
        return Some(("is a vector", array));
    }
    if specifiers.ty == Type::F16x2 {
        return Some(("has the type `.f16x2`, which only registers have", "declare it as `.b32`"));
    }
    if parameter.dimensions.len() > 1 {
        return Some(("has several dimensions", "declare one dimension with all elements"));
    }
    if (is_kernel || is_result) && parameter.dimensions.iter().any(is_empty) {
        return Some(("is an array without a size", "write the number of elements in the brackets"));
    }
    if is_kernel {
        return None;
    }
    if parameter.hidden {
        return Some(("of a function is `.hidden`, as only those of kernels are", "remove `.hidden`"));
    }
    if specifiers.pointer.is_some() {
        return Some(("of a function has a `.ptr`, as only those of kernels do", "remove `.ptr`"));
    }
    if parameter.name == "_" {
        return Some(("has no name", "name it"));
    }
    if is_opaque(specifiers.ty) {
        return Some(("of a function is an opaque object", "pass its address as `.u64`"));
    }
    if is_result && specifiers.ty == Type::Pred {
        return Some(("is a predicate in memory", "declare it as `.reg .pred`, or pass an integer"));
    }
    let align =
        specifiers.align.as_ref().map(|align| constant_u32(align).filter(|align| align.is_power_of_two()));
    if is_result && align == Some(None) {
        return Some(("has an alignment that is not a power of two", "use a power of two"));
    }
    let align = align.flatten();
    if align.is_some_and(|align| align > MOST_ALIGNMENT) {
        return Some(("is aligned to more than 128 bytes", "use an alignment of at most 128"));
    }
    None
}

/// Checks a declaration in a function.
pub(super) fn in_function(declaration: &Declaration, env: &ModuleEnv, out: &mut Vec<Diagnostic>) {
    let specifiers = &declaration.specifiers;
    let space = specifiers.space.spelling();
    for declarator in &declaration.declarators {
        newer_type(specifiers.ty, declarator.name.id, env, out);
        let found = if let Some(linkage) = declaration.linkage {
            Some((format!("is `.{}` inside a function", linkage.spelling()), "move it to the module"))
        } else if matches!(specifiers.space, Space::Sreg | Space::Tex) {
            Some((
                format!("is in `.{space}` inside a function"),
                "special registers need no declaration, and textures are `.global .texref` variables of the module",
            ))
        } else if is_opaque(specifiers.ty) {
            Some((
                "is an opaque object inside a function".into(),
                "move it to the module, as a `.global` variable",
            ))
        } else if specifiers.space == Space::Reg {
            register_form(specifiers, declarator).map(|(what, help)| (what.into(), help))
        } else if declarator.initialiser.is_none() && declarator.dimensions.iter().any(is_empty) {
            Some((
                "is an array without a size".into(),
                "write the number of elements in the brackets, or declare an `.extern .shared` array in the module",
            ))
        } else {
            None
        };
        if let Some((what, help)) = found {
            let message = format!("`{}` {what}", declarator.name.name);
            out.push(Diagnostic::error(DECLARATION_FORM, declarator.name.id, message).help(help));
        }
    }
}

fn register_form(specifiers: &Specifiers, declarator: &Declarator) -> Option<(&'static str, &'static str)> {
    let bits = |vector: Vector| specifiers.ty.bytes().unwrap_or(1) * 8 * vector.lanes();
    if !declarator.dimensions.is_empty() {
        return Some(("is an array of registers", "declare a range, `%r<4>`, or a `.local` array"));
    }
    if specifiers.vector == Some(Vector::V8)
        || specifiers.vector.is_some_and(|vector| bits(vector) > MOST_BITS)
    {
        return Some(("is a vector of more than 128 bits or four elements", "declare single registers"));
    }
    None
}

/// Checks a declaration between functions.
pub fn in_module(declaration: &Declaration, env: (PtxVersion, PtxTarget), out: &mut Vec<Diagnostic>) {
    let specifiers = &declaration.specifiers;
    for declarator in &declaration.declarators {
        let (name, id) = (&declarator.name.name, declarator.name.id);
        type_needs(specifiers.ty, id, env, out);
        if specifiers.space == Space::Sreg {
            let message = format!("`{name}` is in `.sreg`");
            out.push(
                Diagnostic::error(DECLARATION_FORM, id, message)
                    .help("special registers need no declaration"),
            );
        } else if is_opaque(specifiers.ty) && !matches!(specifiers.space, Space::Global | Space::Tex) {
            let message = format!("`{name}` is an opaque object in `.{}`", specifiers.space.spelling());
            out.push(Diagnostic::error(DECLARATION_FORM, id, message).help("declare it in `.global`"));
        }
    }
}

/// Whether a dimension is open or zero.
fn is_empty(dimension: &Option<Expr>) -> bool {
    dimension.as_ref().is_none_or(|size| constant_u32(size) == Some(0))
}

/// Whether values of a type are handles of textures and the like.
fn is_opaque(ty: Type) -> bool {
    matches!(ty, Type::Texref | Type::Samplerref | Type::Surfref)
}

fn newer_type(ty: Type, node: NodeId, env: &ModuleEnv, out: &mut Vec<Diagnostic>) {
    type_needs(ty, node, (env.version, env.target), out);
}

/// Reports a type that the module's version or target lacks.
fn type_needs(ty: Type, node: NodeId, (version, target): (PtxVersion, PtxTarget), out: &mut Vec<Diagnostic>) {
    const SM_70: PtxTarget = PtxTarget { number: 70, kind: TargetKind::Baseline };
    const SM_53: PtxTarget = PtxTarget { number: 53, kind: TargetKind::Baseline };
    let needs = match ty {
        Type::B128 => Needs { version: Some(PtxVersion(8, 3)), targets: &[SM_70] },
        Type::F16x2 => Needs { version: None, targets: &[SM_53] },
        _ => return,
    };
    let what = format!("the type `.{}`", ty.spelling());
    if let Some(needed) = needs.version.filter(|_| !needs.has_version(version)) {
        out.push(version_too_old(&what, needed, version, node));
    } else if !needs.has_target(target) {
        out.push(target_too_old(&what, &needs, target, node));
    }
}
