//! The prototypes of functions as texts for a linker, which compares them to find the functions that an indirect
//! call may reach.
//!
//! ```text
//! .func (.param .b32 r) f(.param .b64 x, .param .align 8 .b8 y[24])     =>     #ilb24
//! ```
//! The letters were observed in the objects of ptxas 13.5.

use std::collections::BTreeMap;

use ptxc_object::cubin::Prototype;
use ptxc_ptx::build_ssa::prototype_signatures;
use ptxc_ptx::check::env::{Formal, Signature};
use ptxc_syntax::ast::Type;

use crate::db::Db;
use crate::input::SourceFile;
use crate::input::items::items;
use crate::module::{ModuleName, ast, environment, signature};

/// The prototypes of the functions of a file, and of those that it declares.
pub(crate) fn prototypes(db: &dyn Db, file: SourceFile) -> BTreeMap<String, Prototype> {
    let mut found = BTreeMap::new();
    for &func in &items(db, file).functions {
        let Some(own) = signature(db, file, ModuleName::new(db, func.name(db).clone())) else { continue };
        let indirect = match func.has_body(db) {
            true => prototype_signatures(ast(db, func), environment(db, func)),
            false => Vec::new(),
        };
        let mut indirect: Vec<String> = indirect.iter().map(text).collect();
        indirect.sort_unstable();
        indirect.dedup();
        let prototype = Prototype { own: text(&own), indirect };
        // A definition counts more than a declaration.
        if func.has_body(db) || !found.contains_key(func.name(db).as_str()) {
            found.insert(func.name(db).to_string(), prototype);
        }
    }
    found
}

fn text(signature: &Signature) -> String {
    let result = signature.returns.first().map_or_else(|| "v".to_string(), letters);
    let params: String = signature.parameters.iter().map(letters).collect();
    format!("#{result}{params}")
}

fn letters(formal: &Formal) -> String {
    let bytes = formal.ty.bytes().unwrap_or(1).max(1);
    let letter = match (formal.ty, bytes) {
        (Type::F32, _) => 'f',
        (Type::F64, _) => 'd',
        (_, 1) => 'b',
        (_, 2) => 'h',
        (_, 4) => 'i',
        (_, 8) => 'l',
        _ => 'x',
    };
    if formal.is_array { format!("{letter}{}", formal.size / bytes) } else { letter.to_string() }
}
