//! `prefetch`, `prefetchu`, `applypriority` and `discard`: a line moves between the caches.

use ptxc_ir::{LineAction, Op, Space, Type};

use super::form::{Form, Translated, Unsupported};
use super::mbarrier::place;
use super::memory::constant;
use super::translator::Translator;
use crate::check::table::modifiers::{self, CacheLevel};

/// The size of the line that `applypriority` and `discard` name, in bytes.
const LINE_BYTES: u64 = 128;

pub(super) fn prefetch(t: &mut Translator, form: &mut Form) -> Translated {
    form.expect_operands(1)?;
    let space = form.choose::<modifiers::Space>().map_or(Space::Generic, Space::from);
    let action = match form.choose::<CacheLevel>().ok_or(Unsupported)? {
        CacheLevel::L1 => LineAction::FetchL1,
        CacheLevel::L2 | CacheLevel::L2EvictNormal => LineAction::FetchL2,
        CacheLevel::L2EvictLast => LineAction::FetchL2Last,
        CacheLevel::Tensormap => return prefetch_tensormap(t, form, space),
    };
    let address = place(t, form.operand(0)?, space)?;
    let address = t.extend(address, space.address_type(), false)?;
    t.inst(Op::CacheLine { action, space }, Type::B32, &[address]);
    Ok(())
}

/// Prefetches a tensor map: a parameter, a constant, or at a generic address.
fn prefetch_tensormap(t: &mut Translator, form: &Form, space: Space) -> Translated {
    let address = place(t, form.operand(0)?, space)?;
    let mut address = t.extend(address, space.address_type(), false)?;
    if space != Space::Generic {
        address = t.emit(Op::ToGeneric(space), Type::B64, &[address]);
    }
    t.inst(Op::TensormapPrefetch, Type::B32, &[address]);
    Ok(())
}

/// An instruction on a whole line in the second-level cache.
pub(super) fn whole(t: &mut Translator, form: &mut Form, action: LineAction) -> Translated {
    form.expect_operands(2)?;
    let space = form.choose::<modifiers::Space>().map_or(Space::Generic, Space::from);
    let level = form.choose::<CacheLevel>();
    if !matches!(level, Some(CacheLevel::L2 | CacheLevel::L2EvictNormal)) {
        return Err(Unsupported);
    }
    if constant(form.operand(1)?)? != LINE_BYTES {
        return Err(Unsupported);
    }
    let address = place(t, form.operand(0)?, space)?;
    let address = t.extend(address, space.address_type(), false)?;
    t.inst(Op::CacheLine { action, space }, Type::B32, &[address]);
    Ok(())
}
