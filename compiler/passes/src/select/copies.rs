//! Asynchronous copies and the waits for them.
//!
//! ```text
//! async_fill.global.cg.b128 [v1 + 64], v2, true   =>   LDGSTS.E.BYPASS.128 [%r2], desc[%ur0][%r1.64+0x40]
//! async_commit                                    =>   LDGDEPBAR
//! async_wait 1                                    =>   DEPBAR.LE SB0, 0x1
//! async_wait_all                                  =>   LDGDEPBAR; DEPBAR.LE SB0, 0x0
//! ```
//!
//! The groups of a warp are counted by one scoreboard, [`COPY_GROUPS`], which control codes keep for them. It counts those of
//! all lanes, so that a wait may wait for more than a lane's own groups, and never for less. What
//! [`copied_bytes`](crate::legalize::copied_bytes) says of sizes has been done.

use ptxc_ir::op::Prefetch;
use ptxc_ir::{Access, CacheOp, Inst as IrInst, MemType, Op as IrOp, Space, Value};
use ptxc_sass::{Arch, Inst, ModKind, Op, Operand};

use super::lower::Lower;
use crate::control::COPY_GROUPS;

/// The most that a scoreboard counts.
const MOST_GROUPS: u64 = 63;

impl Lower<'_> {
    pub(super) fn lower_copy(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        match data.op {
            ref op if self.arch < Arch::Sm80 => self.unsupported(op, "sm_80 is the first to have it"),
            IrOp::AsyncFill(access, prefetch, zfill) => self.copy_element(inst, access, prefetch, zfill),
            IrOp::AsyncCommit => self.emit(Inst::new(Op::LDGDEPBAR)),
            IrOp::AsyncWaitAll => {
                self.emit(Inst::new(Op::LDGDEPBAR));
                self.wait_for_groups(0);
            }
            IrOp::AsyncWait => match self.known_groups(data.args[0]) {
                Some(most) => self.wait_for_groups(most),
                None => self.unsupported(&data.op, "a number of groups that is not known"),
            },
            ref op => self.unsupported(op, "no instruction for it"),
        }
    }

    fn known_groups(&self, value: Value) -> Option<u64> {
        self.func.constant(self.resolve(value))
    }

    fn wait_for_groups(&mut self, most: u64) {
        let most = Operand::imm(most.min(MOST_GROUPS) as u32);
        self.emit(Inst::new(Op::DEPBAR_LE).ops([Operand::imm(COPY_GROUPS.into()), most]));
    }

    fn copy_element(&mut self, inst: IrInst, access: Access, prefetch: Prefetch, zfill: bool) {
        let data = &self.func.insts[inst];
        let size = match access.elem {
            MemType::B64 => ".64",
            MemType::B128 => ".128",
            _ => "",
        };
        let prefetch = match prefetch {
            Prefetch::Needed => "",
            Prefetch::L64 => ".LTC64B",
            Prefetch::L128 => ".LTC128B",
            Prefetch::L256 => ".LTC256B",
        };
        let to = self.narrow_address(Space::Shared, data.args[1], 0);
        let to = Operand::mem(self.without_uniform_part(to));
        let from = Operand::mem(self.address(access, data.args[0]));
        let copies = self.pred(data.args[2]);
        let copy = Inst::new(Op::LDGSTS)
            .with_kind(ModKind::Cache, if access.cache == CacheOp::Cg { ".BYPASS" } else { "" })
            .with_kind(ModKind::Variant, prefetch)
            .with_kind(ModKind::Size, size)
            .with_kind(ModKind::Mode, if zfill { ".ZFILL" } else { "" });
        self.emit(copy.ops([to, from]).slot("ps", copies));
    }
}
