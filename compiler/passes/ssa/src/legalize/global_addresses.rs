//! A global address and its generic address are the same number: conversions between them vanish.
//!
//! ```text
//! v2 = from_generic.global v1
//! v3 = load.b32.global v2        =>    v3 = load.b32.global v1
//! ```
//!
//! The windows of the other spaces lie elsewhere in the generic address space; their conversions
//! stay.

use ptxc_ir::{Function, Op, Space};
use ptxc_machine::Arch;

use super::emitter::rewrite;

/// Removes conversions between generic and global addresses.
pub fn global_addresses(func: &mut Function, _arch: Arch) -> bool {
    rewrite(func, |emitter, inst| {
        let data = &emitter.func.insts[inst];
        if !matches!(data.op, Op::ToGeneric(Space::Global) | Op::FromGeneric(Space::Global)) {
            return false;
        }
        let address = data.args[0];
        let result = emitter.func.result(inst);
        emitter.rename(result, address);
        true
    })
}

#[cfg(test)]
mod tests {
    use ptxc_ir::{Access, MemType, Type};

    use super::*;
    use crate::legalize::emitter::tests::Build;

    #[test]
    fn chains_of_conversions_lead_to_the_first_address() {
        let mut b = Build::new();
        let param = b.value(Op::Param { offset: 0 }, Type::B64, &[]);
        let mut address = param;
        for _ in 0..3 {
            let global = b.value(Op::FromGeneric(Space::Global), Type::B64, &[address]);
            address = b.value(Op::ToGeneric(Space::Global), Type::B64, &[global]);
        }
        let load = b.inst(Op::Load(Access::weak(Space::Global, MemType::B32)), Type::B32, &[address]);
        let mut func = b.finish();
        assert!(global_addresses(&mut func, Arch::Sm90));
        assert_eq!(func.insts[load].args[0], param);
    }
}
