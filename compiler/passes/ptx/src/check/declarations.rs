//! Whether the type, the size and the linkage of a declaration fit its state space and its place.
//!
//! | place | what ptxas rejects |
//! |---|---|
//! | parameter or result | vectors, `.f16x2`, several dimensions |
//! | parameter of a kernel | registers, arrays without elements |
//! | parameter of a function | `.hidden`, `.ptr`, textures and the like, alignments above 128 bytes, predicates in memory; arrays without a size before the last |
//! | result | an array without elements, several in memory |
//! | in a function | `.sreg`, `.tex`, textures and the like, linkage, arrays without elements |
//! | register | an array, a vector of more than 128 bits |
//! | variable | `.v8`, a vector of more than 128 bits; an open dimension after the first; a range of arrays |
//! | in a module | textures and the like outside `.global`, `.common` outside `.global` |
//!
//! [`features`] has what needs a version or a target.

use ptxc_syntax::NodeId;
use ptxc_syntax::ast::{
    Declaration, Declarator, Directive, DirectiveKind, Expr, Function, FunctionKind, Linkage, Parameter,
    Prototype, Space, Specifiers, Type, Vector,
};

use super::codes::DECLARATION_FORM;
use super::directives::{attributes, linkage};
use super::env::{ModuleEnv, PtxTarget, PtxVersion, TargetKind, constant_u32};
use super::features;
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
    returns_not(&function.directives, &function.returns, out);
    for (parameters, is_result) in [(&function.parameters, false), (&function.returns, true)] {
        list(parameters, (is_kernel, is_result), env, out);
    }
}

/// Checks the signature of a `.callprototype`.
pub(super) fn prototype(prototype: &Prototype, env: &ModuleEnv, out: &mut Vec<Diagnostic>) {
    for (parameters, is_result) in [(&prototype.parameters, false), (&prototype.returns, true)] {
        several(parameters, is_result, out);
        for parameter in parameters {
            newer_type(parameter.specifiers.ty, parameter.id, env, out);
        }
    }
    returns_not(&prototype.directives, &prototype.returns, out);
}

/// Checks the parameters or the results of a function.
fn list(
    parameters: &[Parameter],
    (is_kernel, is_result): (bool, bool),
    env: &ModuleEnv,
    out: &mut Vec<Diagnostic>,
) {
    for parameter in parameters {
        let before = out.len();
        newer_type(parameter.specifiers.ty, parameter.id, env, out);
        if let Some((what, help)) = parameter_form(parameter, is_kernel, is_result) {
            let message = format!("the parameter `{}` {what}", parameter.name);
            out.push(Diagnostic::error(DECLARATION_FORM, parameter.id, message).help(help));
        } else if parameter.specifiers.ty == Type::Samplerref && !env.has_samplers {
            out.push(no_samplers(parameter.id));
        }
        if out.len() == before {
            parameter_needs(parameter, is_kernel, env, out);
        }
    }
    if !is_kernel {
        several(parameters, is_result, out);
    }
}

/// The error about a sampler in a module whose textures contain the samplers.
pub fn no_samplers(node: NodeId) -> Diagnostic {
    Diagnostic::error(DECLARATION_FORM, node, "a module without `texmode_independent` has no samplers")
        .help("write the option `texmode_independent` after the architecture in `.target`")
}

/// Checks the parameters or the results of a device function together.
fn several(parameters: &[Parameter], is_result: bool, out: &mut Vec<Diagnostic>) {
    let is_open = |parameter: &&Parameter| parameter.dimensions.iter().any(Option::is_none);
    let found = match parameters {
        [_, _, ..] if is_result => {
            let in_memory = parameters.iter().find(|result| result.specifiers.space != Space::Reg);
            let what = "is one of several results, and is not a register";
            in_memory.map(|result| {
                (result, what, "return one `.param` array, or write `.reg` instead of `.param`")
            })
        }
        [before @ .., _] if !is_result => {
            let what = "has no size, and is not the last parameter";
            before
                .iter()
                .find(is_open)
                .map(|open| (open, what, "write the number of elements in the brackets"))
        }
        _ => None,
    };
    if let Some((parameter, what, help)) = found {
        let message = format!("the parameter `{}` {what}", parameter.name);
        out.push(Diagnostic::error(DECLARATION_FORM, parameter.id, message).help(help));
    }
}

/// Reports `.noreturn` of a function that returns a value.
fn returns_not(directives: &[Directive], returns: &[Parameter], out: &mut Vec<Diagnostic>) {
    let found = directives.iter().find(|directive| directive.kind == DirectiveKind::NoReturn);
    if let Some(directive) = found.filter(|_| !returns.is_empty()) {
        let message = "a function with results returns, and can't be `.noreturn`";
        out.push(
            Diagnostic::error(DECLARATION_FORM, directive.id, message)
                .help("remove `.noreturn` or the results"),
        );
    }
}

/// Reports what the module's version or target lacks.
fn parameter_needs(parameter: &Parameter, is_kernel: bool, env: &ModuleEnv, out: &mut Vec<Diagnostic>) {
    let specifiers = &parameter.specifiers;
    let needed = [
        (parameter.hidden, features::HIDDEN),
        (!is_kernel && specifiers.space == Space::Param, features::FUNCTION_PARAMETER),
        (!is_kernel && parameter.dimensions.iter().any(Option::is_none), features::OPEN_PARAMETER),
        (
            specifiers.pointer.as_ref().is_some_and(|pointer| pointer.reference.is_some()),
            features::OPAQUE_POINTER,
        ),
        (specifiers.pointer.is_some(), features::POINTER),
        (is_opaque(specifiers.ty), features::OPAQUE),
    ];
    let before = out.len();
    for (_, feature) in needed.iter().filter(|(is_there, _)| *is_there) {
        feature.check(parameter.id, (env.version, env.target), out);
        if out.len() > before {
            return;
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
    let pointee = specifiers.pointer.as_ref().and_then(|pointer| pointer.align.as_ref());
    if pointee.is_some_and(|align| !constant_u32(align).is_some_and(u32::is_power_of_two)) {
        return Some(("points to memory whose alignment is not a power of two", "use a power of two"));
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
            variable_form(specifiers, declarator).map(|(what, help)| (what.into(), help))
        };
        if let Some((what, help)) = found {
            let message = format!("`{}` {what}", declarator.name.name);
            out.push(Diagnostic::error(DECLARATION_FORM, declarator.name.id, message).help(help));
        }
    }
    attributes(&specifiers.attributes, Some(specifiers.space), (env.version, env.target), out);
    bank(declaration, (env.version, env.target), out);
}

/// What is wrong with a variable in memory, and what to do.
fn variable_form(specifiers: &Specifiers, declarator: &Declarator) -> Option<(&'static str, &'static str)> {
    if specifiers.vector.is_some_and(|_| is_opaque(specifiers.ty)) {
        return Some(("is a vector of opaque objects", "declare an array"));
    }
    if is_too_wide(specifiers) {
        return Some(("is a vector of more than 128 bits or four elements", "declare an array"));
    }
    if declarator.dimensions.iter().skip(1).any(Option::is_none) {
        return Some((
            "has an open dimension that is not the first",
            "write the number of elements in the brackets",
        ));
    }
    if declarator.range.is_some() && !declarator.dimensions.is_empty() {
        return Some(("is a range of arrays", "declare one array with another dimension"));
    }
    None
}

/// Whether the specifiers are of a vector that no variable and no register can be.
fn is_too_wide(specifiers: &Specifiers) -> bool {
    let bits = |vector: Vector| specifiers.ty.bytes().unwrap_or(1) * 8 * vector.lanes();
    specifiers.vector.is_some_and(|vector| vector == Vector::V8 || bits(vector) > MOST_BITS)
}

/// Checks the number of a constant bank. Before PTX 2.2 there were eleven banks, and the variables
/// in all but the first were arrays whose size the host set.
fn bank(declaration: &Declaration, present: (PtxVersion, PtxTarget), out: &mut Vec<Diagnostic>) {
    const BANKS: u32 = 11;
    let Some(number) = &declaration.specifiers.bank else { return };
    let Some(declarator) = declaration.declarators.first() else { return };
    let (node, name) = (declarator.name.id, &declarator.name.name);
    let before = out.len();
    let number = constant_u32(number);
    let feature = if number == Some(0) { features::FIRST_BANK } else { features::BANK };
    feature.check(node, present, out);
    if out.len() > before {
        return;
    }
    let is_open = |declarator: &Declarator| declarator.dimensions.first() == Some(&None);
    let is_host = declaration.linkage == Some(Linkage::Extern) && declaration.declarators.iter().all(is_open);
    let found = match number {
        Some(0) if is_host => Some(("whose size the host sets is in bank 0", "use a bank from 1 to 10")),
        Some(1..BANKS) if !is_host => {
            Some(("is in a bank for arrays whose size the host sets", "remove the number and its brackets"))
        }
        Some(0..BANKS) => None,
        _ => Some(("is in a constant bank that does not exist", "use a bank from 1 to 10")),
    };
    if let Some((what, help)) = found {
        let message = format!("`{name}` {what}");
        out.push(Diagnostic::error(DECLARATION_FORM, node, message).help(help));
    }
}

fn register_form(specifiers: &Specifiers, declarator: &Declarator) -> Option<(&'static str, &'static str)> {
    if !declarator.dimensions.is_empty() {
        return Some(("is an array of registers", "declare a range, `%r<4>`, or a `.local` array"));
    }
    if is_too_wide(specifiers) {
        return Some(("is a vector of more than 128 bits or four elements", "declare single registers"));
    }
    None
}

/// Checks a declaration between functions.
pub fn in_module(declaration: &Declaration, env: (PtxVersion, PtxTarget), out: &mut Vec<Diagnostic>) {
    let specifiers = &declaration.specifiers;
    if let Some(first) = declaration.declarators.first() {
        linkage(declaration.linkage, first.name.id, env, out);
        if specifiers.space == Space::Tex {
            features::TEXTURE_SPACE.check(first.name.id, env, out);
        } else if is_opaque(specifiers.ty) {
            features::OPAQUE.check(first.name.id, env, out);
        }
    }
    attributes(&specifiers.attributes, Some(specifiers.space), env, out);
    bank(declaration, env, out);
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
        } else if let Some((what, help)) = variable_form(specifiers, declarator) {
            let message = format!("`{name}` {what}");
            out.push(Diagnostic::error(DECLARATION_FORM, id, message).help(help));
        } else if declaration.linkage == Some(Linkage::Common) && specifiers.space != Space::Global {
            let message = format!("`{name}` in `.{}` is `.common`", specifiers.space.spelling());
            out.push(
                Diagnostic::error(DECLARATION_FORM, id, message)
                    .help("declare it in `.global`, or as `.weak`"),
            );
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
