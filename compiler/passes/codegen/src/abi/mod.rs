//! The calling convention, in one place; `docs/abi.md` describes it in words.
//!
//! In: the types of a callee's parameters or results. Out: the registers that hold them, and
//! everything else that caller and callee must agree on. Selection, convergence, layout and linking
//! use this module and contain no part of the convention.
//!
//! ```text
//! (b64, f32, b64, pred)  ->  R4-R5, R6, R8-R9, P0
//! ```

pub mod platform;
mod stack;

use ptxc_ir::{FunctionKind, Layout, Type};
use ptxc_sass::{PReg, RegFile};
use ptxc_ssa::runtime;

use crate::mir::{Header, RegSet};
pub use stack::put_on_stack;

/// The stack pointer, a byte address in local memory. A callee preserves it.
pub fn stack_pointer() -> PReg {
    PReg::r(1)
}

/// The low word of a callee's return address, in bytes from the start of the program. The callee
/// itself writes the high word, which is zero, before it returns by the pair.
pub fn return_address() -> PReg {
    PReg::r(2)
}

/// The pair of uniform registers in which device functions keep the descriptor of global memory.
/// Each function loads the descriptor itself. Nothing else is ever written to the pair in a program
/// with calls, so any part of a warp may write it at any time.
pub fn descriptor() -> [PReg; 2] {
    [60, 61].map(PReg::ur)
}

/// The uniform register that holds the answers of instructions in routines where lanes meet
/// ([`warp`](ptxc_ssa::runtime::warp)). These routines are copied into functions that are already
/// allocated, so nothing else may ever be in this register.
pub fn collective_answer() -> PReg {
    PReg::ur(56)
}

/// The uniform registers of the routines that do something once for a warp
/// ([`is_once_a_warp`](ptxc_ssa::runtime::is_once_a_warp)), which device functions call. A routine
/// writes and reads them within one block, and no other value of the program is ever in them,
/// whichever parts of a warp call the routine.
pub fn once_a_warp() -> [PReg; 3] {
    [57, 58, 59].map(PReg::ur)
}

/// The uniform registers of the routines that make bulk copies
/// ([`bulk`](ptxc_ssa::runtime::bulk)), beside those of the other [routines](once_a_warp): enough for
/// a copy of a tensor with five dimensions. Functions of the platform's convention need not preserve
/// them.
pub fn bulk_copies() -> impl Iterator<Item = PReg> {
    (16..32).map(PReg::ur)
}

/// The pair of uniform registers with the handles of a texture and of its sampler, or of a surface, in
/// a device function. The routines above have them too: a block writes and reads them.
pub fn handles() -> [PReg; 2] {
    [58, 59].map(PReg::ur)
}

/// The uniform registers for the cache policies of device functions, in pairs. Only policies are
/// ever written to them in a program with calls, so an access always finds a policy there,
/// whichever part of a warp wrote last. Functions of other modules leave them alone.
pub fn policies() -> [PReg; 4] {
    [52, 53, 54, 55].map(PReg::ur)
}

/// The uniform registers that the callees of a kernel write, besides those of [bulk copies](bulk_copies).
pub fn uniform_of_callees() -> impl Iterator<Item = PReg> {
    policies().into_iter().chain(once_a_warp()).chain(descriptor()).chain([collective_answer()])
}

/// The uniform registers that the values of a function must not use. A device function may use only
/// those of the descriptor, of policies and of handles. A routine in which lanes meet may use only the one for
/// answers, and a routine that does something once for a warp only its own. A kernel that calls
/// device functions must avoid the registers of its callees, and those of bulk copies if callees make
/// some, any other kernel the one for answers.
/// A device function of the platform's convention may use UR4 to UR15, between two branches.
pub fn kept_uniform_registers(header: &Header, calls_device_functions: bool, calls_copy: bool) -> RegSet {
    let Header { kind, name, .. } = header;
    let all = || (0..RegFile::Ugpr.count()).map(PReg::ur);
    match *kind {
        FunctionKind::Device if header.platform => {
            all().filter(|&reg| platform::uniform().all(|free| free != reg)).collect()
        }
        FunctionKind::Device if runtime::warp::is_warp_routine(name) => {
            all().filter(|&reg| reg != collective_answer()).collect()
        }
        FunctionKind::Device if runtime::is_once_a_warp(name) => {
            let is_own = |reg: PReg| {
                let copies = runtime::bulk::is_bulk_routine(name) && bulk_copies().any(|own| own == reg);
                once_a_warp().contains(&reg) || copies
            };
            all().filter(|&reg| !is_own(reg)).collect()
        }
        FunctionKind::Device => {
            let own = [descriptor(), handles()];
            all().filter(|reg| !own.as_flattened().contains(reg) && !policies().contains(reg)).collect()
        }
        FunctionKind::Entry if calls_copy => uniform_of_callees().chain(bulk_copies()).collect(),
        FunctionKind::Entry if calls_device_functions => uniform_of_callees().collect(),
        FunctionKind::Entry => std::iter::once(collective_answer()).collect(),
    }
}

/// The first general register for parameters and results.
const FIRST: u8 = 4;

/// The number after the last general register that may hold a parameter or result.
const END: u8 = 64;

/// Predicates for parameters and results.
const PREDICATES: u8 = 7;

/// The places of values of these types at a call, as parameters or as results: general registers
/// from R4 up, each value at the next multiple of its size (up to four registers), and predicates
/// from P0 up. `None` if there are too many values.
pub fn places(types: &[Type]) -> Option<Vec<PReg>> {
    let mut free = Free::before(END);
    types.iter().map(|&ty| free.take(ty)).collect()
}

/// The registers that are still free for parameters or results.
struct Free {
    general: u8,
    end: u8,
    predicates: u8,
}

impl Free {
    /// All predicates, and all general registers before one.
    fn before(end: u8) -> Free {
        Free { general: FIRST, end, predicates: 0 }
    }

    /// The next register for a value.
    fn take(&mut self, ty: Type) -> Option<PReg> {
        if ty == Type::Pred {
            let next = Some(self.predicates).filter(|&next| next < PREDICATES)?;
            self.predicates += 1;
            return Some(PReg::p(next));
        }
        let width = ty.bits().div_ceil(32) as u8;
        let at = self.general.next_multiple_of(width);
        if at + width > self.end {
            return None;
        }
        self.general = at + width;
        Some(PReg::r(at))
    }
}

/// The number after the last general register that may hold a parameter or result of a device
/// function. The registers from there on have room for the address of an indirect call.
const DEVICE_END: u8 = END - 4;

/// The place of a value at a call of a device function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// A register.
    Register,
    /// That many bytes above the stack pointer.
    Stack(u32),
    /// The value is the address of an array of any size, which begins there.
    Array(u32),
    /// The value is the size of that array in bytes, which only the caller knows.
    ArrayBytes,
    /// The value is the address of a large parameter, which begins there on the stack.
    Large(u32, Layout),
    /// The value is the address for a large result, which begins there among the results in memory.
    LargeResult(u32, Layout),
}

/// The homes of values of these types: registers as long as there are any, in order, and then the
/// stack, from `bytes` up, each at a multiple of its size. A predicate takes a word there.
pub fn homes(types: &[Type], bytes: &mut u32) -> Vec<Home> {
    let mut free = Free::before(DEVICE_END);
    let place = |&ty: &Type| {
        if free.take(ty).is_some() {
            return Home::Register;
        }
        let size = 4 * ty.bits().div_ceil(32);
        let start = bytes.next_multiple_of(size);
        *bytes = start + size;
        Home::Stack(start)
    };
    types.iter().map(place).collect()
}

/// The register with the stack pointer of a callee that does not use the caller's.
pub fn moved_stack() -> PReg {
    PReg::r(0)
}

/// The places of the parameters of a function of that name.
///
/// A routine in which lanes meet has its mask, the last parameter, in the first register. Hardware
/// compares the masks of all waiting lanes in the register that the lanes name which arrive last. With
/// different registers, lanes that wait for one mask take part in an operation for another (seen on
/// an H100, `docs/facts/convergence.md`).
pub fn parameter_places(name: &str, types: &[Type]) -> Option<Vec<PReg>> {
    if !(runtime::warp::is_warp_routine(name) && runtime::warp::takes_mask(name)) {
        return places(types);
    }
    let mut order = types.to_vec();
    order.rotate_right(1);
    let mut found = places(&order)?;
    found.rotate_left(1);
    Some(found)
}

/// The registers that an unknown callee may clobber: all except the stack pointer and the registers
/// that exist once per warp, since part of a warp may call while the rest continues.
pub fn unknown_clobbers() -> RegSet {
    let general = (0..RegFile::Gpr.count()).map(PReg::r).filter(|&reg| reg != stack_pointer());
    general.chain((0..RegFile::Pred.count()).map(PReg::p)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_aligned_and_end() {
        let types = [Type::B64, Type::F32, Type::B64, Type::Pred, Type::B16, Type::B128, Type::Pred];
        let [r4, r6, r8, r10, r12] = [4, 6, 8, 10, 12].map(PReg::r);
        assert_eq!(places(&types), Some(vec![r4, r6, r8, PReg::p(0), r10, r12, PReg::p(1)]));
        assert_eq!(places(&[Type::B32; 60]).map(|places| places.len()), Some(60));
        assert_eq!(places(&[Type::B32; 61]), None);
        assert_eq!(places(&[Type::Pred; 8]), None);
    }

    #[test]
    fn values_without_a_register_are_on_the_stack() {
        let types = [&[Type::B32; 55][..], &[Type::B64, Type::Pred, Type::B32, Type::B64]].concat();
        let mut bytes = 0;
        let found = homes(&types, &mut bytes);
        assert!(found[..55].iter().all(|home| *home == Home::Register));
        // R59 is still free, but a pair does not begin there.
        assert_eq!(found[55..], [Home::Stack(0), Home::Register, Home::Register, Home::Stack(8)]);
        assert_eq!(bytes, 16);
        let kept = types.iter().zip(&found).filter(|(_, home)| **home == Home::Register);
        let kept: Vec<Type> = kept.map(|(&ty, _)| ty).collect();
        assert!(places(&[kept, vec![Type::B64]].concat()).is_some(), "there is room for an address");
    }

    #[test]
    fn all_routines_in_which_lanes_meet_have_their_mask_in_one_register() {
        for name in ["shfl.up", "vote.ballot", "match.any.b32", "match.all.b64", "redux.add", "elect", "sync"]
        {
            let (params, _) = runtime::warp::signature(&format!("warp.{name}")).expect("a routine");
            let places = parameter_places(&format!("warp.{name}"), &params).expect("few parameters");
            assert_eq!(places.last(), Some(&PReg::r(FIRST)), "{name}");
        }
        assert_eq!(parameter_places("f", &[Type::B32; 2]), Some([4, 5].map(PReg::r).to_vec()));
    }

    #[test]
    fn the_stack_and_the_warp_survive_any_call() {
        let clobbers = unknown_clobbers();
        assert!(!clobbers.contains(stack_pointer()) && clobbers.contains(return_address()));
        assert!(!clobbers.contains(PReg::ur(4)) && clobbers.contains(PReg::p(6)));
    }
}
