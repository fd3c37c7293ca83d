//! Branches, depending on their condition, and memory accesses, depending on their address.

use ptxc_ir::{BlockCall, Inst, IntCond, Op, Space, Type};
use smallvec::{SmallVec, smallvec};

use super::{Folder, Rewrite};

/// Branches on a complement swap their targets; branches with only one target become jumps.
pub(super) fn rule(folder: &mut Folder<'_>, inst: Inst) -> Option<Rewrite> {
    let data = &folder.func.insts[inst];
    let targets = &data.targets;
    let jump = |to: BlockCall| Some(Rewrite::Terminator(Op::Jump, SmallVec::new(), vec![to]));
    match (data.op, data.args.as_slice(), targets.as_slice()) {
        (Op::Branch { uni: uniform }, &[condition], [yes, no]) => {
            if yes == no {
                return jump(yes.clone());
            }
            if let Some(bits) = folder.constant(condition) {
                return jump(if bits != 0 { yes } else { no }.clone());
            }
            let [inner] = folder.args_of(condition, Op::Not)?;
            let turned = vec![no.clone(), yes.clone()];
            Some(Rewrite::Terminator(Op::Branch { uni: uniform }, smallvec![inner], turned))
        }
        (Op::Switch, &[_], [first, rest @ ..]) if rest.iter().all(|other| other == first) => {
            jump(first.clone())
        }
        (Op::Switch, &[selector], targets) => {
            if let Some(number) = folder.constant(selector) {
                let number = usize::try_from(number).unwrap_or(usize::MAX);
                return jump(targets[number.min(targets.len() - 1)].clone());
            }
            let [zero, other] = targets else { return None };
            let targets = vec![zero.clone(), other.clone()];
            let none = folder.emit_constant(Type::B32, 0);
            let is_zero = folder.emit(Op::Icmp(IntCond::Eq), Type::B32, &[selector, none]);
            Some(Rewrite::Terminator(Op::Branch { uni: false }, smallvec![is_zero], targets))
        }
        _ => None,
    }
}

/// An access through a generic address whose space is known becomes an access to that space. The
/// thread's own memory has only generic atomic updates.
pub(super) fn memory(folder: &mut Folder<'_>, inst: Inst) -> Option<Rewrite> {
    let data = &folder.func.insts[inst];
    if data.op.access()?.space != Space::Generic {
        return None;
    }
    let (Op::ToGeneric(space), _, &[inner]) = folder.def(data.args[0])? else { return None };
    let is_update = matches!(data.op, Op::Atomic { .. } | Op::Red { .. });
    if matches!(data.op, Op::TryAtomic { .. }) || is_update && space == Space::Local {
        return None;
    }
    let (mut op, ty, mut args) = (data.op, data.ty, data.args.clone());
    args[0] = inner;
    op.access_mut()?.space = space;
    Some(Rewrite::Op(op, ty, args))
}
