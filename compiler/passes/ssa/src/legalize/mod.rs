//! Legalization: rewrites operations that the target lacks into operations that it has.
//!
//! In: an [`ir::Function`](Function) with any PTX-level operation. Out: one that selection can
//! cover from the instruction table. It has no 16-bit arithmetic, and no 64-bit arithmetic except
//! for comparisons, multiply-adds and memory accesses. Constant parts of addresses are in the
//! accesses, and `bar` is `barrier.aligned`. Operations that no rule handles are left unchanged;
//! selection reports them as unsupported.
//!
//! ```text
//! v3 = iadd.b64 v1, v2        v4, v5 = unpack.b64 v1
//!                      =>     v6, v7 = unpack.b64 v2
//!                             v8, v9 = iadd_cout.b32 v4, v6
//!                             v10 = iadd_cin.b32 v5, v7, v9
//!                             v3 = pack.b64 v8, v10
//! ```
//!
//! One file for each rule; [`RULES`] is their order. Every rule is one walk over the function,
//! linear in its size, and can be run alone by its name. Rules leave dead instructions for the
//! following simplification.

use ptxc_ir::Function;
use ptxc_machine::Arch;

pub(crate) mod address_offsets;
mod aggregate_atomics;
mod atomic_loops;
mod bar_to_barrier;
mod cluster_addresses;
mod cluster_barriers;
mod cluster_registers;
mod copied_bytes;
mod demanded_words;
mod emitter;
mod f32_approximations;
mod f32_divide;
mod f32_square_root;
mod f64_divide;
mod f64_reciprocal_root;
mod f64_square_root;
mod funnel_shifts;
mod fuse_multiply_add;
mod generic_atomics;
mod global_addresses;
mod half_arithmetic;
mod integer_division;
mod kinds;
mod lane_turns;
mod mbarrier_atomics;
mod mbarrier_states;
mod memory_orders;
mod named_barrier_packing;
mod narrow_integers;
mod narrow_vectors;
mod native_atomics;
mod packed_atomics;
mod paired_products;
mod split_vector_atomics;
mod switches;
mod wide_division;
mod wide_integers;
mod wide_multiply_add;
mod window_addresses;

pub use address_offsets::address_offsets;
pub use aggregate_atomics::{aggregate_atomics, aggregate_loops};
pub use atomic_loops::atomic_loops;
pub use bar_to_barrier::bar_to_barrier;
pub use cluster_addresses::cluster_addresses;
pub use cluster_barriers::cluster_barriers;
pub use cluster_registers::cluster_registers;
pub use copied_bytes::copied_bytes;
pub use demanded_words::demanded_words;
pub use f32_approximations::f32_approximations;
pub use f32_divide::f32_divide;
pub use f32_square_root::f32_square_root;
pub use f64_divide::f64_divide;
pub use f64_reciprocal_root::f64_reciprocal_root;
pub use f64_square_root::f64_square_root;
pub use funnel_shifts::funnel_shifts;
pub use fuse_multiply_add::fuse_multiply_add;
pub use generic_atomics::generic_atomics;
pub use global_addresses::global_addresses;
pub use half_arithmetic::half_arithmetic;
pub use integer_division::integer_division;
pub use kinds::Kinds;
pub use lane_turns::{is_known, lane_turns};
pub use mbarrier_atomics::mbarrier_atomics;
pub use mbarrier_states::mbarrier_states;
pub use memory_orders::memory_orders;
pub use named_barrier_packing::named_barrier_packing;
pub use narrow_integers::narrow_integers;
pub use narrow_vectors::narrow_vectors;
pub use packed_atomics::packed_atomics;
pub use paired_products::paired_products;
pub use split_vector_atomics::{Split, split, split_vector_atomics};
pub use switches::switches;
pub use wide_division::wide_division;
pub use wide_integers::wide_integers;
pub use wide_multiply_add::wide_multiply_add;
pub use window_addresses::window_addresses;

/// A rule: rewrites the operations that it handles, and returns whether there were any.
pub type Rule = fn(&mut Function, Arch) -> bool;

/// The rules in the order in which [`legalize`] applies them, each with the kinds that it starts
/// from: a function that lacks all kinds of one of these sets has nothing for the rule.
/// [`fuse_multiply_add`] is not among them: it changes results within the limits of PTX, so it is a
/// separate pass with an option.
///
/// [`aggregate_atomics`] is also separate, because only its users know whether threads update the
/// same address.
///
/// The order matters if one rule feeds the next: conversions to global addresses hide additions
/// from `address-offsets`; `address-offsets` and `wide-multiply-add` need whole 64-bit additions.
/// `address-offsets`; that, and `wide-multiply-add`, want 64-bit additions whole.
pub const RULES: &[(&str, Rule, &[Kinds])] = &[
    ("bar-to-barrier", bar_to_barrier, &[Kinds::BAR]),
    ("named-barrier-packing", named_barrier_packing, &[Kinds::BARRIER]),
    ("switches", switches, &[Kinds::SWITCH]),
    ("cluster-registers", cluster_registers, &[Kinds::CLUSTER_INDEX]),
    ("cluster-barriers", cluster_barriers, &[Kinds::CLUSTER_BARRIER]),
    ("cluster-addresses", cluster_addresses, &[Kinds::CLUSTER_ACCESS]),
    ("memory-orders", memory_orders, &[Kinds::ORDERED]),
    ("generic-atomics", generic_atomics, &[Kinds::ATOMIC]),
    ("mbarrier-atomics", mbarrier_atomics, &[Kinds::MBARRIER_OR_ADDRESS]),
    ("mbarrier-states", mbarrier_states, &[Kinds::MBARRIER]),
    ("copied-bytes", copied_bytes, &[Kinds::ASYNC_COPY]),
    ("lane-turns", lane_turns, &[Kinds::ONCE_A_WARP]),
    ("packed-atomics", packed_atomics, &[Kinds::ATOMIC]),
    ("split-vector-atomics", split_vector_atomics, &[Kinds::ATOMIC]),
    ("atomic-loops", atomic_loops, &[Kinds::ATOMIC]),
    ("half-arithmetic", half_arithmetic, &[Kinds::HALVES]),
    ("narrow-vectors", narrow_vectors, &[Kinds::VECTOR_ACCESS]),
    ("global-addresses", global_addresses, &[Kinds::GENERIC_ADDRESS]),
    ("window-addresses", window_addresses, &[Kinds::WINDOW]),
    ("f32-approximations", f32_approximations, &[Kinds::APPROXIMATION]),
    ("f32-divide", f32_divide, &[Kinds::FLOAT_DIVISION]),
    ("f32-square-root", f32_square_root, &[Kinds::SQUARE_ROOT]),
    ("f64-divide", f64_divide, &[Kinds::FLOAT_DIVISION]),
    ("f64-square-root", f64_square_root, &[Kinds::SQUARE_ROOT]),
    ("f64-reciprocal-root", f64_reciprocal_root, &[Kinds::APPROXIMATION]),
    ("wide-division", wide_division, &[Kinds::DIVISION]),
    ("integer-division", integer_division, &[Kinds::DIVISION]),
    ("demanded-words", demanded_words, &[Kinds::LOW_BY_LOW]),
    ("narrow-integers", narrow_integers, &[Kinds::NARROW]),
    ("address-offsets", address_offsets, &[Kinds::SUM]),
    ("funnel-shifts", funnel_shifts, &[Kinds::LEFT_SHIFT, Kinds::RIGHT_SHIFT]),
    ("paired-products", paired_products, &[Kinds::PRODUCT, Kinds::HIGH_PRODUCT]),
    ("wide-multiply-add", wide_multiply_add, &[Kinds::WIDE, Kinds::FACTOR]),
    ("wide-integers", wide_integers, &[Kinds::WIDE]),
];

/// Whether a rule leaves a function unchanged; a function that is too large to copy for this test
/// is taken to be unchanged.
fn finds_nothing(func: &Function, arch: Arch, rule: Rule) -> bool {
    const MOST_INSTS: usize = 10_000;
    let mut copy = if func.insts.len() <= MOST_INSTS { func.clone() } else { return true };
    !rule(&mut copy, arch) && copy == *func
}

/// Applies all [`RULES`] in order.
pub fn legalize(func: &mut Function, arch: Arch) {
    let mut kinds = Kinds::in_function(func);
    for (name, rule, wanted) in RULES {
        if !kinds.has_each(wanted) {
            debug_assert!(finds_nothing(func, arch, *rule), "{name} starts from what the table does not say");
            continue;
        }
        let insts_before = func.insts.len();
        if rule(func, arch) || func.insts.len() != insts_before {
            kinds = Kinds::in_function(func);
        }
    }
}
