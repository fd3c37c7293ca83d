//! Routines that make bulk copies for device functions, whose uniform registers belong to their callers.
//!
//! ```text
//! func @bulk.bulk_store.dww device {
//! block0(v0: b64, v1: b32, v2: b32):
//!     bulk_store v0, v1, v2
//!     ret
//! }
//! ```
//!
//! In: a copy. Out: the name of its routine, which contains the operation and the types of its
//! operands (`w` and `d` for 32 and 64 bits), and the routine for a name. Cache policies are hints, and
//! a routine has none.

use std::fmt::Write;

use ptxc_ir::text::{parse_function, print_inst};
use ptxc_ir::{Function, Inst, Type};

/// The prefix of the names of all routines of this kind.
const PREFIX: &str = "bulk.";

/// Whether a function of that name is one of these routines.
pub fn is_bulk_routine(name: &str) -> bool {
    parts(name).is_some()
}

/// The operation in a routine's name, and the types of its operands.
fn parts(name: &str) -> Option<(&str, Vec<Type>)> {
    let (operation, types) = name.strip_prefix(PREFIX)?.rsplit_once('.')?;
    let type_of = |letter| match letter {
        'w' => Some(Type::B32),
        'd' => Some(Type::B64),
        _ => None,
    };
    let types = types.chars().map(type_of).collect::<Option<Vec<Type>>>()?;
    let is_copy = ["bulk_", "tensor_"].iter().any(|start| operation.starts_with(start));
    is_copy.then_some((operation, types))
}

/// The name of the routine for a copy with operands of these types; `None` if a type has no letter.
pub fn routine_name(func: &Function, inst: Inst, types: &[Type]) -> Option<String> {
    let text = print_inst(func, inst);
    let operation = text.trim().split(' ').next()?;
    let mut name = format!("{PREFIX}{operation}.");
    for &ty in types {
        name.push(match ty {
            Type::B32 => 'w',
            Type::B64 => 'd',
            _ => return None,
        });
    }
    Some(name)
}

/// The types of a routine's parameters and results.
pub fn signature(name: &str) -> Option<(Vec<Type>, Vec<Type>)> {
    Some((parts(name)?.1, Vec::new()))
}

/// The routine of that name, if it is one of these.
pub fn routine(name: &str) -> Option<Function> {
    let (operation, types) = parts(name)?;
    let params: Vec<String> = (0..).zip(&types).map(|(n, ty)| format!("v{n}: {ty}")).collect();
    let args: Vec<String> = (0..types.len()).map(|n| format!("v{n}")).collect();
    let mut text = format!("func @{name} device {{\nblock0({}):\n", params.join(", "));
    // Writing to a string cannot fail.
    let _ = write!(text, "    {operation} {}\n    ret\n}}\n", args.join(", "));
    parse_function(&text).ok()
}
