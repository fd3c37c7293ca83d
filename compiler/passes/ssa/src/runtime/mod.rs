//! Runtime routines: slow paths that kernels call.
//!
//! A routine is a function in the IR's own text, one file for each beside this one. It computes its
//! results from its parameters and does nothing else: no memory accesses, no convergent operations.
//! The exceptions are the routines in [`warp`], and those that do operations with uniform registers
//! for a device function ([`is_once_a_warp`]). Legalization replaces an operation with a call of a
//! routine ([`callee`]). The pipeline compiles each routine that a program calls once ([`routine`])
//! and puts its code after the kernel's.
//!
//! ```text
//! v3 = udiv.b64 v1, v2      =>      callee @u64.divrem routine (b64, b64) -> (b64, b64)
//!                                   v3, v4 = call.pure @u64.divrem, v1, v2
//! ```
//!
//! To add a routine, add its file and a line in [`ROUTINES`]. Names contain a dot, which no name in
//! PTX has.

pub mod bulk;
pub mod warp;

use ptxc_ir::text::parse_function;
use ptxc_ir::{Callee, CalleeKind, CalleeLanes, CalleeStack, Function, Rounding, Type};

/// Every routine: its name, and its text.
const ROUTINES: &[(&str, &str)] = &[
    ("f32.div", include_str!("f32.div.ir")),
    ("f32.sqrt", include_str!("f32.sqrt.ir")),
    ("f64.div", include_str!("f64.div.ir")),
    ("f64.rsqrt", include_str!("f64.rsqrt.ir")),
    ("f64.sqrt", include_str!("f64.sqrt.ir")),
    ("u64.divrem", include_str!("u64.divrem.ir")),
    (MAKE_MBARRIER, include_str!("mbarrier.init.ir")),
    (ACQUIRE_TENSORMAP, include_str!("tensormap.acquire.ir")),
    (PREFETCH_TENSORMAP, include_str!("tensormap.prefetch.ir")),
];

/// The routine that makes an mbarrier.
pub const MAKE_MBARRIER: &str = "mbarrier.init";

/// The routine that acquires a tensor map.
pub const ACQUIRE_TENSORMAP: &str = "tensormap.acquire";

/// The routine that prefetches a tensor map.
pub const PREFETCH_TENSORMAP: &str = "tensormap.prefetch";

/// Whether a routine does an operation that the machine does once for each warp, from uniform
/// registers: only the routine owns certain ones (`abi::once_a_warp` of codegen).
pub fn is_once_a_warp(name: &str) -> bool {
    [MAKE_MBARRIER, ACQUIRE_TENSORMAP, PREFETCH_TENSORMAP].contains(&name) || bulk::is_bulk_routine(name)
}

/// The names of all routines that compute; the routines in which lanes meet are in [`warp`], and those
/// that make copies in [`bulk`].
pub fn names() -> impl Iterator<Item = &'static str> {
    ROUTINES.iter().map(|&(name, _)| name)
}

/// Whether a function of that name is a routine.
pub fn is_routine(name: &str) -> bool {
    names().any(|known| known == name) || warp::is_warp_routine(name) || bulk::is_bulk_routine(name)
}

/// The symbol of a routine in a program.
pub fn symbol(name: &str) -> String {
    format!("${name}")
}

/// The name of the routine that a symbol stands for.
pub fn name_of_symbol(symbol: &str) -> Option<&str> {
    symbol.strip_prefix('$').filter(|name| is_routine(name))
}

/// The routine of that name, as written.
///
/// # Panics
/// If its text is malformed; a test of the crate excludes that, because the texts are part of the
/// crate.
pub fn routine(name: &str) -> Option<Function> {
    let Some((_, text)) = ROUTINES.iter().find(|(known, _)| *known == name) else {
        return warp::routine(name).or_else(|| bulk::routine(name));
    };
    Some(parse_function(text).unwrap_or_else(|errors| panic!("routine {name}: {errors:?}")))
}

/// The types of a routine's parameters and results.
fn signature(name: &str) -> Option<(Vec<Type>, Vec<Type>)> {
    let Some((_, text)) = ROUTINES.iter().find(|(known, _)| *known == name) else {
        return warp::signature(name).or_else(|| bulk::signature(name));
    };
    // The body comes after the line of the first block.
    let start = text.find("\nfunc ").map_or(0, |newline| newline + 1);
    let block = start + text[start..].find("\nblock0")? + 1;
    let end = block + text[block..].find('\n')?;
    let head = parse_function(&format!("{}\n    trap\n}}\n", &text[start..end])).ok()?;
    let params = head.blocks[head.entry()].params.iter().map(|&param| head.ty(param)).collect();
    Some((params, head.returns))
}

/// The declaration of a routine for its callers.
///
/// # Panics
/// If there is no such routine.
pub fn callee(name: &str) -> Callee {
    let (params, results) = signature(name).unwrap_or_else(|| panic!("there is no routine {name}"));
    let (kind, lanes, stack) = (CalleeKind::Routine, CalleeLanes::PURE, CalleeStack::default());
    Callee { name: name.to_string(), kind, params, results, lanes, stack }
}

/// The encoding of a rounding mode as the last argument of a routine.
pub const fn rounding_argument(round: Rounding) -> u64 {
    match round {
        Rounding::Nearest => 0,
        Rounding::Zero => 1,
        Rounding::Down => 2,
        Rounding::Up => 3,
    }
}

/// All routines that a function calls, directly or not, each once, in the order in which they are
/// found. The result consists of the routines as written, for a function at any stage.
pub fn callees(func: &Function) -> Vec<Function> {
    let mut found: Vec<Function> = Vec::new();
    let mut next = 0;
    let mut names: Vec<String> = Vec::new();
    let mut take = |func: &Function, found: &mut Vec<Function>| {
        for callee in func.callees.values().filter(|callee| callee.kind == CalleeKind::Routine) {
            if !names.contains(&callee.name) {
                names.push(callee.name.clone());
                found.extend(routine(&callee.name));
            }
        }
    };
    take(func, &mut found);
    while next < found.len() {
        let func = found[next].clone();
        take(&func, &mut found);
        next += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use ptxc_ir::{FunctionKind, Level, Op, verify};

    use super::*;

    #[test]
    fn routines_are_sound_and_pure() {
        for name in names().filter(|name| !is_once_a_warp(name)) {
            let func = routine(name).unwrap();
            assert!(name.contains('.') && func.name == name && func.kind == FunctionKind::Device, "{name}");
            assert_eq!(verify(&func, Level::Built), Ok(()), "{name}");
            for &block in &func.layout {
                for &inst in &func.blocks[block].insts {
                    let op = func.insts[inst].op;
                    let flow = op.is_terminator() && !matches!(op, Op::Exit | Op::Trap);
                    assert!(flow || op.effects().is_pure(), "{name}: {op:?}");
                }
            }
        }
    }

    #[test]
    fn operations_once_a_warp_are_sound() {
        for name in names().filter(|name| is_once_a_warp(name)) {
            let func = routine(name).unwrap();
            assert_eq!((func.name.as_str(), verify(&func, Level::Built)), (name, Ok(())), "{name}");
        }
    }

    #[test]
    fn callers_see_the_parameters_and_results() {
        for name in names() {
            let (func, callee) = (routine(name).unwrap(), callee(name));
            let params: Vec<_> =
                func.blocks[func.entry()].params.iter().map(|&param| func.ty(param)).collect();
            assert_eq!((callee.name, callee.params, callee.results), (func.name, params, func.returns));
        }
    }

    #[test]
    fn no_routine_calls_itself() {
        for name in names() {
            let callees = callees(&routine(name).unwrap());
            assert!(callees.iter().all(|callee| callee.name != name), "{name}");
        }
    }
}
