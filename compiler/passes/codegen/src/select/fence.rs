//! Fences, the barrier of the cluster, and the signals between grids.
//!
//! ```text
//! fence.acq_rel.gpu              =>   MEMBAR.ALL.GPU; ERRBAR; CGAERRBAR; CCTL.IVALL      // CGAERRBAR on sm_90
//! fence.acq_rel.cta              =>   MEMBAR.ALL.CTA
//! proxy_fence.async_shared       =>   MEMBAR.ALL.CTA; FENCE.VIEW.ASYNC.S
//! cluster_arrive.relaxed         =>   UCGABAR_ARV
//! grid_dependency.wait           =>   ACQBULK
//! ```
//!
//! An acquire has to empty only the first-level cache of the SM. The CTA shares this cache, so an
//! acquire at CTA scope only demands that nothing moves before it. Such an acquire, and a proxy
//! fence that only orders the instructions around it, is a mark for the schedulers, and not code.
//!
//! For memory with several names, ptxas reads a constant of the launch that tells how far the fence
//! must reach. We always take the longest reach, which costs two instructions less. (sm_75 has no
//! such constant, and ptxas stays on the device.)

use ptxc_ir::op::{GridDependency, Proxy};
use ptxc_ir::{Inst as IrInst, Op as IrOp, Order, Scope};
use ptxc_machine::Feature;
use ptxc_sass::{Inst, Op, Operand, RegFile, choice, slot};

use super::lower::Lower;
use crate::mir::MInst;

/// All scoreboards.
const SCOREBOARDS: u32 = 0x3f;

impl Lower<'_> {
    pub(super) fn lower_fence(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        match data.op {
            IrOp::Fence { order, scope } => self.fence(order, scope),
            IrOp::ProxyFence(proxy) => self.proxy_fence(proxy),
            // Tensor maps are read through the device's memory.
            IrOp::TensormapRelease(scope) => self.fence(Order::Release, scope.max(Scope::Gpu)),
            IrOp::TensormapAcquire(_) => self.acquire_tensormap(inst),
            IrOp::TensormapPrefetch => {
                if let Some(address) = self.tensormap_address(inst) {
                    self.emit(Inst::new(Op::UTMACCTL_PF).ops([address]));
                }
            }
            IrOp::ClusterArrive { order: Order::Relaxed, .. } => self.emit(Inst::new(Op::UCGABAR_ARV)),
            IrOp::ClusterWait { order: Order::Relaxed, .. } => self.emit(Inst::new(Op::UCGABAR_WAIT)),
            IrOp::GridDependency(GridDependency::Launch) => self.emit(Inst::new(Op::PREEXIT)),
            IrOp::GridDependency(GridDependency::Wait) => self.emit(Inst::new(Op::ACQBULK)),
            ref op => self.unsupported(op, "an order that is no fence yet"),
        }
    }

    /// Keeps instructions on their side of this place by a pseudo-instruction with a call site,
    /// which nothing moves across.
    pub(super) fn keep_order(&mut self) {
        let mut nothing = MInst::new(Inst::new(Op::NOP), self.loc);
        nothing.call = Some(Box::default());
        self.seq.push(nothing);
    }

    fn fence(&mut self, order: Order, scope: Scope) {
        match (order, scope) {
            (Order::Acquire, Scope::Cta) => self.keep_order(),
            (Order::Acquire, _) => {}
            _ => self.memory_barrier(order == Order::SeqCst, scope),
        }
        if scope == Scope::Cta {
            return;
        }
        if order != Order::Acquire {
            self.emit(Inst::new(Op::ERRBAR));
            if self.arch.has(Feature::ClusterErrorBarrier) {
                self.emit(Inst::new(Op::CGAERRBAR));
            }
        }
        if order != Order::Release {
            self.emit(Inst::new(Op::CCTL_IVALL));
        }
    }

    fn memory_barrier(&mut self, sequential: bool, scope: Scope) {
        let reach = match scope {
            Scope::Cta => choice!(MEMBAR, ".CTA"),
            Scope::Cluster | Scope::Gpu => choice!(MEMBAR, ".GPU"),
            Scope::Sys => choice!(MEMBAR, ".SYS"),
        };
        let strength = if sequential { choice!(MEMBAR, ".SC") } else { choice!(MEMBAR, ".ALL") };
        self.emit(Inst::new(Op::MEMBAR).with(strength).with(reach));
    }

    fn proxy_fence(&mut self, proxy: Proxy) {
        let (before, view) = match proxy {
            Proxy::Alias => {
                let is_of_device = self.arch.has(Feature::AliasFenceOfDevice);
                let reach = if is_of_device { Scope::Gpu } else { Scope::Sys };
                self.memory_barrier(true, reach);
                return self.emit(Inst::new(Op::CCTL_IVALL));
            }
            Proxy::Async | Proxy::AsyncSharedCluster => (Some(Scope::Gpu), choice!(FENCE_VIEW_ASYNC, ".S")),
            Proxy::AsyncGlobal => (None, choice!(FENCE_VIEW_ASYNC, ".G")),
            Proxy::AsyncShared | Proxy::ReleaseShared => (Some(Scope::Cta), choice!(FENCE_VIEW_ASYNC, ".S")),
            Proxy::AcquireSharedCluster | Proxy::MbarrierInit => return self.keep_order(),
        };
        if let Some(scope) = before {
            self.memory_barrier(false, scope);
        }
        self.emit(Inst::new(Op::FENCE_VIEW_ASYNC).with(view));
    }

    fn acquire_tensormap(&mut self, inst: IrInst) {
        let Some(address) = self.tensormap_address(inst) else { return };
        self.emit(
            Inst::new(Op::DEPBAR_ALL).slot(slot!(DEPBAR_ALL, "scoreboards"), Operand::imm(SCOREBOARDS)),
        );
        self.emit(Inst::new(Op::UTMACCTL_IV).ops([address]));
        self.emit(Inst::new(Op::UTMACMDFLUSH));
    }

    /// The address of a tensor map in uniform registers; `None`, with a message, if lanes may have
    /// other addresses.
    fn tensormap_address(&mut self, inst: IrInst) -> Option<Operand<crate::mir::VReg>> {
        let data = &self.func.insts[inst];
        match self.uniform_tuple(data.args[0]) {
            Some(address) => Some(address),
            None if self.may_do_once_a_warp() && self.lanes_agree(data.args[0]) => {
                let pair = self.mir.new_vreg(RegFile::Ugpr, 2);
                for n in 0..2 {
                    let half = self.half(data.args[0], n);
                    let half = self.gpr(half);
                    self.emit(Inst::new(Op::R2UR).ops([Operand::reg(pair.offset(n)), half]));
                }
                Some(Operand::reg(pair))
            }
            None => {
                self.unsupported(&data.op, "a tensor map for which lanes have no turns");
                None
            }
        }
    }
}
