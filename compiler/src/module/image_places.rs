//! The places of named textures, samplers and surfaces among the parameters of a module's kernels.
//!
//! ```text
//! .global .texref t;                                 parameters of a: 12 bytes
//! .func f … { tex … [t, …] … }                 =>    parameters of b: 16 bytes
//! .entry a … { … }  .entry b … { … }                 the word of t is at 16 in both
//! ```

#![allow(missing_docs, reason = "salsa generates methods that carry no documentation")]

use indexmap::IndexMap;
use ptxc_ptx::check::env;
use ptxc_syntax::Name;
use ptxc_syntax::items::ItemKind;

use super::{ModuleName, mentioned, module_variables, parameter_base, signature};
use crate::db::Db;
use crate::input::SourceFile;
use crate::input::items::{Func, items};

/// Whether a function mentions a texture, a sampler or a surface of its module.
#[salsa::tracked(returns(copy))]
pub(super) fn mentions_image(db: &dyn Db, func: Func) -> bool {
    let variables = module_variables(db, func.file(db));
    mentioned(db, func).iter().any(|name| variables.get(name).is_some_and(env::Variable::is_image))
}

/// The words of the module's textures, samplers and surfaces in the parameter block, if device
/// functions mention any: a function is compiled once, and all kernels have the word at the same place,
/// after the parameters of each.
#[salsa::tracked(returns(ref))]
pub(super) fn image_words(db: &dyn Db, file: SourceFile) -> IndexMap<Name, u32> {
    let images = || module_variables(db, file).iter().filter(|(_, variable)| variable.is_image());
    let functions = || items(db, file).functions.iter();
    let of_kind = |kind| functions().filter(move |func| func.kind(db) == kind);
    if images().next().is_none() || !of_kind(ItemKind::Func).any(|&func| mentions_image(db, func)) {
        return IndexMap::new();
    }
    let mut end = 0u32;
    for func in of_kind(ItemKind::Entry) {
        let Some(signature) = signature(db, file, ModuleName::new(db, func.name(db).clone())) else {
            continue;
        };
        let (mut own, mut words) = (0u32, 0u32);
        for formal in signature.parameters {
            if env::is_image(formal.ty) {
                words += 4;
            } else {
                let start = env::parameter_start(own, formal.align, parameter_base(db, file));
                own = start.unwrap_or(own).saturating_add(formal.size);
            }
        }
        end = end.max(own.checked_next_multiple_of(4).unwrap_or(own).saturating_add(words));
    }
    images().zip((end..).step_by(4)).map(|((name, _), place)| (name.clone(), place)).collect()
}
