//! Mbarriers of sm_80 to sm_89, as shared atomics on two words.
//!
//! The lower word is 2^30 less the arrivals that later phases expect. The upper word is 2^31 less
//! the arrivals that this phase still expects, with the parity of the phase in its top bit.
//! Arrivals add to the upper word. An arrival of one thread becomes `ATOMS.ARRIVE`, which begins
//! the next phase on overflow.
//!
//! | operation | becomes |
//! |---|---|
//! | `mbarrier_update.init a, n` | `store.shared.b64 [a], (2^31 - n, 2^30 - n)` |
//! | `mbarrier_inval a` | nothing |
//! | `mbarrier_arrive.count a, 1` | stays |
//! | `mbarrier_arrive….shared_cluster a, n` | the same with `.shared`: there are no clusters |
//! | `mbarrier_arrive.no_complete a, n` | `atomic.add.shared.b32 [a + 4], n` |
//! | `mbarrier_arrive.drop… a, n` | `red.add.shared.b32 [a], n`, then as without dropping |
//! | `mbarrier_state a, s`, `mbarrier_parity a, n` | `load.shared.b32 [a + 4]`, whose top bit differs |
//! | `async_arrive a` | `red.add.shared.b32 [a + 4], -1; async_arrive.noinc a` |
//!
//! Found from the code that ptxas emits for sm_80. ptxas also adds up the arrivals of a warp if
//! these may not complete a phase, which ptxc leaves to the hardware. Linear.

use ptxc_ir::op::{MbarrierArrive, MbarrierUpdate};
use ptxc_ir::{
    Access, AtomicOp, Function, Inst, InstData, IntCond, MemType, Op, Order, Scope, Space, Type, Value,
};
use ptxc_machine::{Arch, Feature};

use super::emitter::{Emitter, rewrite};

/// The parity of the phase, in the upper word.
const PARITY: u64 = 1 << 31;

/// The byte offset of the upper word.
const UPPER: i32 = 4;

/// Turns operations on mbarriers into shared atomics if the target has no unit for them.
pub fn mbarrier_atomics(func: &mut Function, arch: Arch) -> bool {
    if arch.has(Feature::SyncUnit) {
        return false;
    }
    rewrite(func, |emitter, inst| {
        let data = emitter.func.insts[inst].clone();
        match data.op {
            Op::MbarrierUpdate { update: MbarrierUpdate::Init, .. } => {
                let [low, high] = [PARITY >> 1, PARITY].map(|full| {
                    let full = emitter.constant(Type::B32, full);
                    emitter.value(Op::Isub, Type::B32, &[full, data.args[1]])
                });
                let word = emitter.value(Op::Pack, Type::B64, &[low, high]);
                let store = Op::Store(Access::weak(Space::Shared, MemType::B64));
                emitter.inst(store, Type::B64, &[data.args[0], word]);
            }
            Op::MbarrierInval => {}
            // If the state is unused, a generic address may be that of another CTA of a cluster;
            // this target has no clusters.
            Op::MbarrierArrive { kind, space: Space::SharedCluster, order, scope } => {
                let own = emitter.func.make_inst(InstData {
                    op: Op::MbarrierArrive { kind, space: Space::Shared, order, scope },
                    ..data
                });
                if !arrive(emitter, own, kind, (order, scope)) {
                    emitter.keep(own);
                }
            }
            Op::FromGeneric(Space::SharedCluster) => {
                emitter.func.insts[inst].op = Op::FromGeneric(Space::Shared);
                emitter.keep(inst);
            }
            Op::MbarrierArrive { kind, space: Space::Shared, order, scope } => {
                return arrive(emitter, inst, kind, (order, scope));
            }
            Op::MbarrierState { order, .. } => {
                let (_, then) = emitter.pair(Op::Unpack, Type::B64, &[data.args[1]]);
                ask(emitter, inst, then, order);
            }
            Op::MbarrierParity { order, .. } => {
                let top = emitter.constant(Type::B32, 31);
                let then = emitter.value(Op::Shl, Type::B32, &[data.args[1], top]);
                ask(emitter, inst, then, order);
            }
            Op::AsyncArrive { noinc: false } => {
                let minus_one = emitter.constant(Type::B32, u64::MAX);
                let more = Op::Red { op: AtomicOp::Add, access: word(UPPER) };
                emitter.inst(more, Type::B32, &[data.args[0], minus_one]);
                emitter.func.insts[inst].op = Op::AsyncArrive { noinc: true };
                emitter.keep(inst);
            }
            _ => return false,
        }
        true
    })
}

/// A relaxed access to a word of an mbarrier.
fn word(offset: i32) -> Access {
    let access = Access::weak(Space::Shared, MemType::B32);
    Access { order: Order::Relaxed, scope: Scope::Cta, offset, ..access }
}

fn arrive(emitter: &mut Emitter, inst: Inst, kind: MbarrierArrive, (order, scope): (Order, Scope)) -> bool {
    let data = emitter.func.insts[inst].clone();
    let (address, count) = (data.args[0], data.args[1]);
    let drops = matches!(kind, MbarrierArrive::Drop | MbarrierArrive::DropNoComplete);
    if drops {
        emitter.inst(Op::Red { op: AtomicOp::Add, access: word(0) }, Type::B32, &[address, count]);
    }
    match kind {
        MbarrierArrive::Drop => {
            emitter.func.insts[inst].op =
                Op::MbarrierArrive { kind: MbarrierArrive::Count, space: Space::Shared, order, scope };
            emitter.keep(inst);
        }
        MbarrierArrive::NoComplete | MbarrierArrive::DropNoComplete => {
            let before = emitter.value(
                Op::Atomic { op: AtomicOp::Add, access: word(UPPER) },
                Type::B32,
                &[address, count],
            );
            // The lower word of a state is never read.
            emitter.become_op(inst, Op::Pack, Type::B64, &[before, before]);
        }
        _ => return false,
    }
    true
}

/// Whether the present parity of the phase differs from the one in the top bit of `then`.
fn ask(emitter: &mut Emitter, inst: Inst, then: Value, order: Order) {
    let address = emitter.func.insts[inst].args[0];
    let now = emitter.value(Op::Load(word(UPPER)), Type::B32, &[address]);
    let difference = emitter.value(Op::Xor, Type::B32, &[now, then]);
    let zero = emitter.constant(Type::B32, 0);
    emitter.become_op(inst, Op::Icmp(IntCond::Slt), Type::B32, &[difference, zero]);
    if order == Order::Acquire {
        emitter.inst(Op::Fence { order: Order::Acquire, scope: Scope::Cta }, Type::B32, &[]);
    }
}
