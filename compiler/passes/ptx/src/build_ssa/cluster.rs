//! Clusters: their barrier, and addresses in the shared memory of their CTAs.
//!
//! An address in the shared memory of a cluster has the rank of the CTA in its high byte: `mapa`
//! writes the rank there, and `getctarank` reads it. In a generic address that byte is in the low
//! word.
//!
//! ```text
//! mapa.shared::cluster.u32 %r3, %r1, %r2     =>   v3 = prmt.index.b32 v2, v1, 0x654
//! getctarank.shared::cluster.u32 %r4, %r3    =>   v4 = shr.b32 v3, 24
//! ```

use ptxc_ir::{BytePick, Op, Order, Type};

use super::form::{Form, Translated, Unsupported};
use super::translator::Translator;
use crate::check::scalar::Scalar;
use crate::check::table::{Modifier, modifiers};

/// The bit position of the rank of a CTA in a shared address of its cluster.
const RANK_SHIFT: u64 = 24;

/// The selector that takes the low byte of the first word and the three low bytes of the second
/// word.
const RANK_OVER_ADDRESS: u64 = 0x654;

/// `barrier.cluster.arrive`.
pub(super) fn arrive(t: &mut Translator, form: &mut Form) -> Translated {
    let order = form.choose::<modifiers::Order>().map_or(Order::Release, Order::from);
    barrier(t, form, |aligned| Op::ClusterArrive { order, aligned })
}

/// `barrier.cluster.wait`.
pub(super) fn wait(t: &mut Translator, form: &mut Form) -> Translated {
    form.take(Modifier::Acquire);
    barrier(t, form, |aligned| Op::ClusterWait { order: Order::Acquire, aligned })
}

fn barrier(t: &mut Translator, form: &mut Form, op: impl Fn(bool) -> Op) -> Translated {
    form.expect_operands(0)?;
    let aligned = form.take(Modifier::Aligned);
    t.inst(op(aligned), Type::B32, &[]);
    Ok(())
}

pub(super) fn map_address(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(3)?;
    // The rank has the same place in a generic address as in a shared one, also in its low word.
    form.take(Modifier::SharedCluster);
    let ty = form.ty()?.ir().ok_or(Unsupported)?;
    let address = t.any(form.operand(1)?)?;
    let address = t.extend(address, ty, false)?;
    let rank = t.read(form.operand(2)?, Scalar::U32)?;
    let select = t.constant(Type::B32, RANK_OVER_ADDRESS);
    let mapped = match ty {
        Type::B64 => {
            let (low, high) = t.emit_pair(Op::Unpack, Type::B64, &[address]);
            let low = t.emit(Op::Prmt(BytePick::Index), Type::B32, &[rank, low, select]);
            t.emit(Op::Pack, Type::B64, &[low, high])
        }
        _ => t.emit(Op::Prmt(BytePick::Index), Type::B32, &[rank, address, select]),
    };
    t.write(form.operand(0)?, mapped)
}

pub(super) fn rank_of_address(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(2)?;
    form.take(Modifier::SharedCluster);
    let address = t.any(form.operand(1)?)?;
    let low = match t.ty(address) {
        Type::B64 => t.emit(Op::Trunc, Type::B32, &[address]),
        _ => address,
    };
    let shift = t.constant(Type::B32, RANK_SHIFT);
    let rank = t.emit(Op::Shr, Type::B32, &[low, shift]);
    t.write(form.operand(0)?, rank)
}
