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

use std::fmt;

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
mod half_textures;
mod image_names;
mod integer_division;
mod kinds;
mod lane_turns;
mod matrix_products;
mod mbarrier_atomics;
mod mbarrier_states;
mod memory_orders;
mod named_barrier_packing;
mod narrow_integers;
mod narrow_vectors;
mod native_atomics;
mod one_lane;
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
pub use half_textures::half_textures;
pub use image_names::image_names;
pub use integer_division::integer_division;
pub use kinds::Kinds;
pub use lane_turns::{is_known, lane_turns};
pub use matrix_products::matrix_products;
pub use mbarrier_atomics::mbarrier_atomics;
pub use mbarrier_states::mbarrier_states;
pub use memory_orders::memory_orders;
pub use named_barrier_packing::named_barrier_packing;
pub use narrow_integers::narrow_integers;
pub use narrow_vectors::narrow_vectors;
pub use one_lane::blocks_of_one_lane;
pub use packed_atomics::packed_atomics;
pub use paired_products::paired_products;
pub use split_vector_atomics::{Split, split, split_vector_atomics};
pub use switches::switches;
pub use wide_division::wide_division;
pub use wide_integers::wide_integers;
pub use wide_multiply_add::wide_multiply_add;
pub use window_addresses::window_addresses;

/// A rule of legalization. A field that is left out does not compile.
pub struct Rule {
    /// The name, as `ptxc opt --passes` spells it.
    pub name: &'static str,
    /// Rewrites the operations that it handles, and returns whether there were any.
    pub apply: fn(&mut Function, Arch) -> bool,
    /// The kinds that the rule starts from: a function that lacks all kinds of one of these sets
    /// has nothing for the rule, and [`legalize`] skips the rule. The list must be complete;
    /// [`Rule::apply_alone`] reports an incomplete one.
    pub starts_from: &'static [Kinds],
}

/// The rules in the order in which [`legalize`] applies them. [`fuse_multiply_add`] is not among
/// them: it changes results within the limits of PTX, so it is a separate pass with an option.
/// [`aggregate_atomics`] is also separate, because only its users know whether threads update the
/// same address.
///
/// The order matters if one rule feeds the next: conversions to global addresses hide additions
/// from `address-offsets`; `address-offsets` and `wide-multiply-add` need whole 64-bit additions.
pub const RULES: &[Rule] = &[
    Rule { name: "bar-to-barrier", apply: bar_to_barrier, starts_from: &[Kinds::BAR] },
    Rule { name: "named-barrier-packing", apply: named_barrier_packing, starts_from: &[Kinds::BARRIER] },
    Rule { name: "switches", apply: switches, starts_from: &[Kinds::SWITCH] },
    Rule { name: "cluster-registers", apply: cluster_registers, starts_from: &[Kinds::CLUSTER_INDEX] },
    Rule { name: "cluster-barriers", apply: cluster_barriers, starts_from: &[Kinds::CLUSTER_BARRIER] },
    Rule { name: "cluster-addresses", apply: cluster_addresses, starts_from: &[Kinds::CLUSTER_ACCESS] },
    Rule { name: "memory-orders", apply: memory_orders, starts_from: &[Kinds::ORDERED] },
    Rule { name: "generic-atomics", apply: generic_atomics, starts_from: &[Kinds::ATOMIC] },
    Rule { name: "mbarrier-atomics", apply: mbarrier_atomics, starts_from: &[Kinds::MBARRIER_OR_ADDRESS] },
    Rule { name: "mbarrier-states", apply: mbarrier_states, starts_from: &[Kinds::MBARRIER] },
    Rule { name: "copied-bytes", apply: copied_bytes, starts_from: &[Kinds::ASYNC_COPY] },
    Rule { name: "image-names", apply: image_names, starts_from: &[Kinds::IMAGE_NAME] },
    Rule { name: "half-textures", apply: half_textures, starts_from: &[Kinds::IMAGE] },
    Rule { name: "matrix-products", apply: matrix_products, starts_from: &[Kinds::MATRIX_PRODUCT] },
    Rule { name: "lane-turns", apply: lane_turns, starts_from: &[Kinds::ONCE_A_WARP] },
    Rule { name: "packed-atomics", apply: packed_atomics, starts_from: &[Kinds::ATOMIC] },
    Rule { name: "split-vector-atomics", apply: split_vector_atomics, starts_from: &[Kinds::ATOMIC] },
    Rule { name: "atomic-loops", apply: atomic_loops, starts_from: &[Kinds::ATOMIC] },
    Rule { name: "half-arithmetic", apply: half_arithmetic, starts_from: &[Kinds::HALVES] },
    Rule { name: "narrow-vectors", apply: narrow_vectors, starts_from: &[Kinds::VECTOR_ACCESS] },
    Rule { name: "global-addresses", apply: global_addresses, starts_from: &[Kinds::GENERIC_ADDRESS] },
    Rule { name: "window-addresses", apply: window_addresses, starts_from: &[Kinds::WINDOW] },
    Rule { name: "f32-approximations", apply: f32_approximations, starts_from: &[Kinds::APPROXIMATION] },
    Rule { name: "f32-divide", apply: f32_divide, starts_from: &[Kinds::FLOAT_DIVISION] },
    Rule { name: "f32-square-root", apply: f32_square_root, starts_from: &[Kinds::SQUARE_ROOT] },
    Rule { name: "f64-divide", apply: f64_divide, starts_from: &[Kinds::FLOAT_DIVISION] },
    Rule { name: "f64-square-root", apply: f64_square_root, starts_from: &[Kinds::SQUARE_ROOT] },
    Rule { name: "f64-reciprocal-root", apply: f64_reciprocal_root, starts_from: &[Kinds::APPROXIMATION] },
    Rule { name: "wide-division", apply: wide_division, starts_from: &[Kinds::DIVISION] },
    Rule { name: "integer-division", apply: integer_division, starts_from: &[Kinds::DIVISION] },
    Rule { name: "demanded-words", apply: demanded_words, starts_from: &[Kinds::LOW_BY_LOW] },
    Rule { name: "narrow-integers", apply: narrow_integers, starts_from: &[Kinds::NARROW] },
    Rule { name: "address-offsets", apply: address_offsets, starts_from: &[Kinds::SUM] },
    Rule {
        name: "funnel-shifts",
        apply: funnel_shifts,
        starts_from: &[Kinds::LEFT_SHIFT, Kinds::RIGHT_SHIFT],
    },
    Rule {
        name: "paired-products",
        apply: paired_products,
        starts_from: &[Kinds::PRODUCT, Kinds::HIGH_PRODUCT],
    },
    Rule { name: "wide-multiply-add", apply: wide_multiply_add, starts_from: &[Kinds::WIDE, Kinds::FACTOR] },
    Rule { name: "wide-integers", apply: wide_integers, starts_from: &[Kinds::WIDE] },
];

// A rule without kinds would look at every function, a set without kinds would skip the rule in every function.
const _: () = {
    let mut rule = 0;
    while rule < RULES.len() {
        let sets = RULES[rule].starts_from;
        assert!(!sets.is_empty(), "a rule of legalization starts from nothing: name its kinds");
        let mut set = 0;
        while set < sets.len() {
            assert!(!sets[set].is_empty(), "a rule of legalization starts from an empty set: name its kinds");
            set += 1;
        }
        rule += 1;
    }
};

/// A rule changed a function that has none of the kinds that the rule starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incomplete {
    /// The name of the rule.
    pub rule: &'static str,
}

impl fmt::Display for Incomplete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` changes a function that lacks the kinds in its `starts_from`: add the kinds",
            self.rule
        )
    }
}

impl std::error::Error for Incomplete {}

impl Rule {
    /// Applies the rule whatever kinds the function has.
    ///
    /// # Errors
    /// The rule changed the function, but [`legalize`] would have skipped the rule: [`Rule::starts_from`] is incomplete.
    pub fn apply_alone(&self, func: &mut Function, arch: Arch) -> Result<(), Incomplete> {
        let skipped = (!self.has_work(Kinds::in_function(func))).then(|| func.clone());
        let reports_change = (self.apply)(func, arch);
        match skipped {
            Some(before) if reports_change || before != *func => Err(Incomplete { rule: self.name }),
            _ => Ok(()),
        }
    }

    /// Whether a function with these kinds may have something for the rule.
    fn has_work(&self, kinds: Kinds) -> bool {
        kinds.has_each(self.starts_from)
    }

    /// Whether the rule leaves a function as it is. A function that is too large to copy is not checked.
    fn finds_nothing(&self, func: &Function, arch: Arch) -> bool {
        const MOST_INSTS: usize = 10_000;
        func.insts.len() > MOST_INSTS || self.apply_alone(&mut func.clone(), arch).is_ok()
    }
}

/// Applies all [`RULES`] in order.
pub fn legalize(func: &mut Function, arch: Arch) {
    let mut kinds = Kinds::in_function(func);
    for rule in RULES {
        if !rule.has_work(kinds) {
            debug_assert!(rule.finds_nothing(func, arch), "{}", Incomplete { rule: rule.name });
            continue;
        }
        let insts_before = func.insts.len();
        if (rule.apply)(func, arch) || func.insts.len() != insts_before {
            kinds = Kinds::in_function(func);
        }
    }
}
