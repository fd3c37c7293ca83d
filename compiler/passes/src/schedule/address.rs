//! Which bytes a memory instruction touches, relative to the content of its address registers.
//!
//! Two accesses are disjoint if they add constants to the same base and the byte ranges do not meet. "The
//! same base" is the same registers with the same content; the caller names the content of a register at
//! the instruction (its last definition). Nothing is said of accesses with different bases.
//!
//! ```text
//! STS [R4+0x10], R0    base (R4, content 3), bytes 16..20
//! LDS R1, [R4+0x14]    base (R4, content 3), bytes 20..24: disjoint
//! ```

use ptxc_sass::memory_order::{Space, space};
use ptxc_sass::{Inst, ModKind, OperandKind};
use smallvec::SmallVec;

use super::unit::Unit;

/// A register with a name for its content.
type Content<R> = (R, Option<u32>);

/// The bytes of an access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place<R> {
    space: Space,
    base: SmallVec<[Content<R>; 3]>,
    /// First byte and the one after the last, relative to the base.
    bytes: (i64, i64),
}

impl<R: Unit> Place<R> {
    /// Whether the two touch no byte in common for sure.
    pub(super) fn is_disjoint(&self, other: &Place<R>) -> bool {
        self.space == other.space
            && self.base == other.base
            && (self.bytes.1 <= other.bytes.0 || other.bytes.1 <= self.bytes.0)
    }
}

/// The bytes that an instruction touches; `None` if it is no access with an address.
pub(super) fn place<R: Unit>(inst: &Inst<R>, content: impl Fn(R) -> Option<u32>) -> Option<Place<R>> {
    let space = space(inst.op)?;
    let address = inst.operands.iter().find_map(|operand| match operand.kind {
        OperandKind::Mem(address) => Some(address),
        _ => None,
    })?;
    let mut base = SmallVec::new();
    let width = if address.wide { 2 } else { 1 };
    for reg in address.base.into_iter().flat_map(|reg| (0..width).filter_map(move |n| reg.nth(n))) {
        base.push((reg, content(reg)));
    }
    base.extend(address.uniform.map(|reg| (reg, content(reg))));
    let first = i64::from(address.offset);
    Some(Place { space, base, bytes: (first, first + bytes(inst)) })
}

fn bytes<R: Unit>(inst: &Inst<R>) -> i64 {
    match inst.modifier(ModKind::Size) {
        ".U8" | ".S8" => 1,
        ".U16" | ".S16" => 2,
        ".64" => 8,
        ".128" => 16,
        _ => 4,
    }
}
