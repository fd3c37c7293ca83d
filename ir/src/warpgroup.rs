//! The properties of products of the matrices of a warpgroup.
//!
//! ```text
//! warpgroup_product.m64n8k16.f32.f16.f16.add.f32 v1, v2, v8, v9, v10, v11, v3
//! warpgroup_product.m64n8k16.f32.f16.f16.registers.turned_b.f32 v4, v5, v6, v7, v2
//! lend.f32.x4 v4, v5, v6, v7
//! ```

use crate::matrix::{Element, Product};

/// A number of values, which is spelled `x4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Count(pub u8);

/// A number of groups of products, or of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Groups(pub u8);

/// A property that a product may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct GroupOptions(u8);

impl GroupOptions {
    /// a is in registers.
    pub const REGISTERS: GroupOptions = GroupOptions(1);
    /// There is a c.
    pub const ADD: GroupOptions = GroupOptions(2);
    /// The elements of a are negated.
    pub const NEGATIVE_A: GroupOptions = GroupOptions(4);
    /// The elements of b are negated.
    pub const NEGATIVE_B: GroupOptions = GroupOptions(8);
    /// Columns of a, not rows, are stored one after another.
    pub const TURNED_A: GroupOptions = GroupOptions(16);
    /// Rows of b, not columns, are stored one after another.
    pub const TURNED_B: GroupOptions = GroupOptions(32);

    /// All, with their spelling, in the order of the text.
    pub(crate) const ALL: [(GroupOptions, &'static str); 6] = [
        (GroupOptions::REGISTERS, "registers"),
        (GroupOptions::ADD, "add"),
        (GroupOptions::NEGATIVE_A, "negative_a"),
        (GroupOptions::NEGATIVE_B, "negative_b"),
        (GroupOptions::TURNED_A, "turned_a"),
        (GroupOptions::TURNED_B, "turned_b"),
    ];

    /// Whether the product has a property.
    pub const fn has(self, option: GroupOptions) -> bool {
        self.0 & option.0 != 0
    }

    /// The same without a property.
    #[must_use]
    pub const fn without(self, option: GroupOptions) -> GroupOptions {
        GroupOptions(self.0 & !option.0)
    }

    /// The same and another property, if `holds`.
    #[must_use]
    pub const fn with(self, option: GroupOptions, holds: bool) -> GroupOptions {
        if holds { GroupOptions(self.0 | option.0) } else { self }
    }
}

/// A product of matrices of a warpgroup, without its operands. a has 64 rows, 16 for each warp.
///
/// b is in shared memory, where a descriptor tells; so is a, unless it is in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GroupProduct {
    /// Size and types.
    pub product: Product,
    /// The rest.
    pub options: GroupOptions,
}

impl GroupProduct {
    /// The number of operands for a: a descriptor, or its components.
    pub const fn of_a(&self) -> usize {
        if self.options.has(GroupOptions::REGISTERS) { self.product.of_a() } else { 1 }
    }

    /// The operands by their roles; `None` if there are not as many as the product has.
    pub fn parts<'a, T: Copy>(&self, operands: &'a [T]) -> Option<GroupParts<'a, T>> {
        let (a, rest) = operands.split_at_checked(self.of_a())?;
        let (&b, rest) = rest.split_first()?;
        let (c, accumulate, rest) = if self.options.has(GroupOptions::ADD) {
            let (c, rest) = rest.split_at_checked(self.product.of_sum())?;
            let (&accumulate, rest) = rest.split_first()?;
            (c, Some(accumulate), rest)
        } else {
            (&[][..], None, rest)
        };
        let places = match (rest, self.product.sparse) {
            ([], None) => None,
            (&[places], Some(_)) => Some(places),
            _ => return None,
        };
        Some(GroupParts { a, b, c, accumulate, places })
    }

    /// What is wrong with the payload.
    pub(crate) fn problem(&self) -> Option<String> {
        use Element::{B1, BF16, F16, F64, S4, S8, TF32, U4, U8};
        let (product, options) = (&self.product, self.options);
        let may_turn = matches!(product.a, F16 | BF16);
        let turns = options.has(GroupOptions::TURNED_A) || options.has(GroupOptions::TURNED_B);
        let is_negative = options.has(GroupOptions::NEGATIVE_A) || options.has(GroupOptions::NEGATIVE_B);
        // A row of a takes 32 bytes.
        let fits = product.size.m == Product::GROUP_ROWS
            && product.size.n.is_multiple_of(8)
            && (8..=256).contains(&product.size.n)
            && u32::from(product.size.k) / if product.sparse.is_some() { 2 } else { 1 } * product.a.bits()
                == 256;
        if let Some(problem) = product.problem_of_types() {
            Some(problem)
        } else if !fits || matches!(product.a, F64 | U4 | S4) {
            Some(format!("no product of a warpgroup of size {} with {}", product.size, product.a))
        } else if turns && !may_turn {
            Some(format!("matrices of {} have one layout", product.a))
        } else if is_negative && matches!(product.a, U8 | S8 | B1) {
            Some(format!("no negative {}", product.a))
        } else if options.has(GroupOptions::TURNED_A) && options.has(GroupOptions::REGISTERS) {
            Some("registers have one layout".to_string())
        } else if product
            .sparse
            .is_some_and(|lanes| lanes > if product.a == TF32 || may_turn { 1 } else { 0 })
        {
            Some("no such lanes have the places".to_string())
        } else {
            None
        }
    }
}

/// The operands of a product of a warpgroup.
#[derive(Clone, Copy, Debug)]
pub struct GroupParts<'a, T> {
    /// The descriptor of a, or its components.
    pub a: &'a [T],
    /// The descriptor of b.
    pub b: T,
    /// The components of c.
    pub c: &'a [T],
    /// Whether c is added.
    pub accumulate: Option<T>,
    /// The places of the elements of a sparse a.
    pub places: Option<T>,
}
