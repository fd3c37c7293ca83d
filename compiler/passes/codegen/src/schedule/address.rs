//! The bytes that a memory instruction touches, relative to the content of its address registers.
//!
//! Two accesses are disjoint if they add constants to the same base and the byte ranges do not
//! meet. "The same base" is the same registers with the same content; the caller names the content
//! of a register at the instruction (its last definition). Nothing is known about accesses with
//! different bases.
//!
//! ```text
//! STS [R4+0x10], R0    base (R4, content 3), bytes 16..20
//! LDS R1, [R4+0x14]    base (R4, content 3), bytes 20..24: disjoint
//! ```

use ptxc_sass::memory_order::{Space, space};
use ptxc_sass::table::Width;
use ptxc_sass::{Inst, ModKind, Op, OperandKind};

use super::unit::Unit;

/// A register with a name for its content.
type Content<R> = (R, Option<u32>);

/// The bytes of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place<R> {
    space: Space,
    /// The general registers and the uniform one.
    base: [Option<Content<R>>; 3],
    /// First byte and the one after the last, relative to the base.
    bytes: (i64, i64),
}

impl<R: Unit> Place<R> {
    /// Whether the two surely touch no common byte.
    pub(super) fn is_disjoint(&self, other: &Place<R>) -> bool {
        self.space == other.space
            && self.base == other.base
            && (self.bytes.1 <= other.bytes.0 || other.bytes.1 <= self.bytes.0)
    }
}

/// The bytes that an instruction touches; `None` if it is not an access with an address.
pub(super) fn place<R: Unit>(inst: &Inst<R>, content: impl Fn(R) -> Option<u32>) -> Option<Place<R>> {
    let space = space(inst.op)?;
    let address = inst.operands.iter().find_map(|operand| match operand.kind {
        OperandKind::Mem(address) => Some(address),
        _ => None,
    })?;
    let part = |reg: Option<R>| reg.map(|reg| (reg, content(reg)));
    let high = address.base.filter(|_| address.wide).and_then(|reg| reg.nth(1));
    let base = [part(address.base), part(high), part(address.uniform)];
    let first = i64::from(address.offset);
    Some(Place { space, base, bytes: (first, first + bytes(inst)) })
}

/// The number of bytes from the address on. It follows from the registers that the instruction
/// loads or stores; for an atomic update, from its type.
fn bytes<R: Unit>(inst: &Inst<R>) -> i64 {
    match inst.modifier(ModKind::Size) {
        _ if matches!(inst.op, Op::LDSM | Op::STSM) => MATRIX_ROW_BYTES,
        ".U8" | ".S8" => 1,
        ".U16" | ".S16" => 2,
        _ => 4 * i64::from(Width::Size.resolve(inst)),
    }
}

/// Each lane's address is that of a row of eight halves.
const MATRIX_ROW_BYTES: i64 = 16;

#[cfg(test)]
mod tests {
    use ptxc_sass::{Address, Operand, PReg};

    use super::*;

    fn reduction(ty: &str, offset: i32) -> Place<PReg> {
        let address = Operand::mem(Address::global(PReg::r(2), offset, None));
        let data = Operand::reg(PReg::r(4));
        let mut inst = Inst::new(Op::REDG).ops([address, data]);
        assert!(inst.set_kind(ModKind::DataType, ty));
        place(&inst, |_| None).expect("it has an address")
    }

    #[test]
    fn an_atomic_update_is_as_wide_as_its_type() {
        for (ty, bytes) in
            [(".S32", 4), (".S64", 8), (".F64.RN", 8), (".F32x2.RN", 8), (".F16x4.RN", 8), (".F32x4.RN", 16)]
        {
            let update = reduction(ty, 16);
            assert!(!update.is_disjoint(&reduction(".S32", 16 + bytes - 4)), "{ty}");
            assert!(update.is_disjoint(&reduction(".S32", 16 + bytes)), "{ty}");
            assert!(update.is_disjoint(&reduction(".S32", 12)), "{ty}");
        }
    }
}
