//! A product of a warpgroup that adds to nothing.
//!
//! ```text
//! v9, … = warpgroup_product.m64n8k16.f32.f16.f16.add.f32 v1, v2, v4, …, false
//!     =>  warpgroup_product.m64n8k16.f32.f16.f16.f32 v1, v2
//! ```

use ptxc_ir::warpgroup::{GroupOptions, GroupProduct};
use ptxc_ir::{Op, Type, Value};

use super::{Folder, Rewrite};

pub(super) fn rule(folder: &Folder<'_>, product: &GroupProduct, ty: Type, args: &[Value]) -> Option<Rewrite> {
    let parts = product.parts(args)?;
    if folder.func.constant(parts.accumulate?)? & 1 == 1 {
        return None;
    }
    let options = product.options.without(GroupOptions::ADD);
    let others = parts.a.iter().chain([&parts.b]).chain(parts.places.as_ref());
    let op = Op::WarpgroupProduct(GroupProduct { options, ..*product });
    Some(Rewrite::Op(op, ty, others.copied().collect()))
}
