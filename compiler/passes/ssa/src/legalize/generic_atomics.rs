//! Atomic updates at generic addresses: each memory has a different set of updates.
//!
//! An update that global memory has and shared memory lacks (see `native_atomics`) is first tried
//! at the generic address. If it was not done, the address lies in the CTA's shared memory, in that
//! of another CTA of the cluster, or in the thread's own memory, and the program tests which.
//! Exchange and compare-and-swap on 64 bits are missing only in the thread's own memory.
//!
//! ```text
//!                                                v4, v5 = try_atomic.fadd.generic.relaxed.gpu.b32.f32 [v1], v2
//!                                                brif v5, block4(v4), block1
//!                                            block1:
//!                                                v6 = is_space.shared v1
//!                                                brif v6, block2, block3
//! v3 = atomic.fadd.generic.relaxed.gpu       block2:
//!          .b32.f32 [v1], v2              =>     v7 = from_generic.shared v1
//!                                                v8 = atomic.fadd.shared.relaxed.gpu.b32.f32 [v7], v2
//!                                                jump block4(v8)
//!                                            block3:
//!                                                v9 = load.generic.b32.f32 [v1]
//!                                                v10 = fadd.f32.rn v9, v2
//!                                                store.generic.b32.f32 [v1], v10
//!                                                jump block4(v9)
//!                                            block4(v3: f32):
//! ```
//!
//! The update in shared memory becomes a loop in `atomic-loops`. Code for machines with clusters
//! has one more test, for the shared memory of another CTA of the cluster. ptxas generates the same
//! code, except that it leaves out the loop for other CTAs for integers. A thread's own memory
//! needs no atomic update: no other thread can name it. Linear.

use ptxc_ir::{Access, AtomicOp, BlockCall, Function, Inst, Op, Space, Type, Value};
use ptxc_machine::{Arch, Feature};

use super::atomic_loops::changed;
use super::emitter::{Emitter, rewrite};
use super::native_atomics::{in_global, in_shared};

/// Turns each generic update that some memory lacks into a trial and the code that runs if the
/// trial fails.
pub fn generic_atomics(func: &mut Function, arch: Arch) -> bool {
    rewrite(func, |emitter, inst| match needs_trial(emitter.func, inst, arch) {
        Some((op, access)) => {
            with_trial(emitter, inst, op, access, arch);
            true
        }
        None => false,
    })
}

/// The update, if some memory that its address may lie in lacks it.
fn needs_trial(func: &Function, inst: Inst, arch: Arch) -> Option<(AtomicOp, Access)> {
    let data = &func.insts[inst];
    let (Op::Atomic { op, access } | Op::Red { op, access }) = data.op else { return None };
    let lacking = match access.space {
        Space::Generic => !in_shared(op, data.ty, arch) || data.ty.bits() == 64,
        Space::SharedCluster => !in_shared(op, data.ty, arch),
        _ => false,
    };
    // Vectors are updated only in global memory.
    (lacking && access.lanes == 1 && in_global(op, data.ty, arch)).then_some((op, access))
}

fn with_trial(e: &mut Emitter, inst: Inst, op: AtomicOp, access: Access, arch: Arch) {
    let data = e.func.insts[inst].clone();
    let (args, ty) = (&data.args, data.ty);
    let after = e.block();
    let result = e.func.results(inst).first().copied();
    if let Some(result) = result {
        let old = e.func.add_block_param(after, ty);
        e.rename(result, old);
    }
    let onward =
        |old: Value| BlockCall::new(after, if result.is_some() { std::slice::from_ref(&old) } else { &[] });

    let (old, done) = e.pair(Op::TryAtomic { op, access }, ty, args);
    let aside = e.block();
    e.end(Op::Branch { uni: false }, &[done], &[onward(old), BlockCall::new(aside, &[])]);

    e.go_on(aside);
    let place = e.func.ty(args[0]);
    let exact = match access.offset {
        0 => args[0],
        offset => {
            let offset = e.constant(place, offset as u64);
            e.value(Op::Iadd, place, &[args[0], offset])
        }
    };
    let at = |address: Value| -> Vec<Value> {
        std::iter::once(address).chain(args[1..].iter().copied()).collect()
    };
    let access = Access { offset: 0, ..access };
    // The update, if the space has it; its old content is needed if the result is.
    let update = |e: &mut Emitter, space: Space, address: Value| {
        let access = Access { space, ..access };
        let old = e.value(Op::Atomic { op, access }, ty, &at(address));
        e.end(Op::Jump, &[], &[onward(old)]);
    };
    let in_cluster = access.space == Space::SharedCluster;
    let generic = if in_cluster { e.value(Op::ToGeneric(Space::Shared), Type::B64, &[exact]) } else { exact };

    if !in_shared(op, ty, arch) {
        let [own, other] = [e.block(), e.block()];
        let is_own = e.value(Op::IsSpace(Space::Shared), Type::B32, &[generic]);
        e.end(Op::Branch { uni: false }, &[is_own], &[BlockCall::new(own, &[]), BlockCall::new(other, &[])]);
        e.go_on(own);
        let address =
            if in_cluster { exact } else { e.value(Op::FromGeneric(Space::Shared), Type::B32, &[generic]) };
        update(e, Space::Shared, address);
        e.go_on(other);
        if in_cluster {
            update(e, Space::SharedCluster, exact);
            return e.go_on(after);
        }
        if arch.has(Feature::Clusters) {
            let [far, private] = [e.block(), e.block()];
            let is_far = e.value(Op::IsSpace(Space::SharedCluster), Type::B32, &[generic]);
            e.end(
                Op::Branch { uni: false },
                &[is_far],
                &[BlockCall::new(far, &[]), BlockCall::new(private, &[])],
            );
            e.go_on(far);
            let address = e.value(Op::FromGeneric(Space::SharedCluster), Type::B32, &[generic]);
            update(e, Space::SharedCluster, address);
            e.go_on(private);
        }
    }
    let plain = Access::weak(access.space, access.elem);
    let old = e.value(Op::Load(plain), ty, &[exact]);
    let new = changed(e, op, ty, old, &args[1..]);
    e.inst(Op::Store(plain), ty, &[exact, new]);
    e.end(Op::Jump, &[], &[onward(old)]);
    e.go_on(after);
}
