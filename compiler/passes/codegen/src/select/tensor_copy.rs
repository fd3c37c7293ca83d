//! Copies of boxes of tensors.
//!
//! ```text
//! tensor_load.2d v1, v2, v3, v4, v5       =>   UTMALDG.2D [%ur0], [%ur1]        // %ur0: v1, v2, v4, v5
//! tensor_store.1d v1, v3, v4              =>   UTMASTG.1D [%ur0], [%ur1]        // %ur0: v1, v4
//! tensor_red.add.1d v1, v3, v4            =>   UTMAREDG.1D.ADD [%ur0], [%ur1]
//! tensor_prefetch.1d v3, v4               =>   UTMAPF.L2.1D [%ur0], [%ur1]
//! ```
//!
//! A word after them holds the offsets of an image's pixels and the CTAs that get the box, if there
//! are such.

use ptxc_ir::{Inst as IrInst, Op as IrOp, TensorBox, TensorUpdate, Value};
use ptxc_sass::{Choices, Inst, Op, Operand, choice, slot};

use super::lower::Lower;
use super::source::Src;
use crate::mir::VReg;

impl Lower<'_> {
    pub(super) fn copy_tensor(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let made = match (data.op, &data.args[..]) {
            (IrOp::TensorLoad { tile, multicast }, &[to, barrier, map, ref rest @ ..]) => {
                let (coordinates, more) = rest.split_at(tile.dimensions.into());
                let place: Vec<Value> = [to, barrier].iter().chain(coordinates).copied().collect();
                let mut copy = Inst::new(Op::UTMALDG).with(dimensions(tile)).with(mode(tile));
                if multicast {
                    copy = copy.with(choice!(UTMALDG, ".MULTICAST"));
                }
                let copy = copy.ops([self.uniform_words(&place), self.uniform_address(map)]);
                let copy = match (tile.im2col, multicast) {
                    (false, false) => copy,
                    (true, _) => {
                        let offsets = self.half_word(more[0]);
                        let extra = self.uniform_halves(offsets, multicast.then(|| more[1]));
                        copy.slot(slot!(UTMALDG, "extra"), extra)
                    }
                    (false, true) => {
                        let extra = self.uniform_halves(Operand::imm(0), Some(more[0]));
                        copy.slot(slot!(UTMALDG, "extra"), extra)
                    }
                };
                self.with_uniform_policy(copy, slot!(UTMALDG, "policy"), map)
            }
            (IrOp::TensorPrefetch(tile), &[map, ref rest @ ..]) => {
                let (coordinates, more) = rest.split_at(tile.dimensions.into());
                let prefetch = Inst::new(Op::UTMAPF).with(dimensions(tile)).with(mode(tile));
                let prefetch = prefetch.ops([self.uniform_words(coordinates), self.uniform_address(map)]);
                let prefetch = match *more {
                    [offsets] => {
                        let offsets = self.half_word(offsets);
                        let extra = self.uniform_halves(offsets, None);
                        prefetch.slot(slot!(UTMAPF, "extra"), extra)
                    }
                    _ => prefetch,
                };
                self.with_uniform_policy(prefetch, slot!(UTMAPF, "policy"), map)
            }
            (IrOp::TensorStore(tile), &[from, map, ref coordinates @ ..]) => {
                let store = Inst::new(Op::UTMASTG).with(dimensions(tile)).with(mode(tile));
                let store = store.ops(self.box_in_shared(from, map, coordinates));
                self.with_uniform_policy(store, slot!(UTMASTG, "policy"), map)
            }
            (IrOp::TensorRed { op, tile }, &[from, map, ref coordinates @ ..]) => {
                let update =
                    Inst::new(Op::UTMAREDG).with(dimensions(tile)).with(mode(tile)).with(combine(op));
                let update = update.ops(self.box_in_shared(from, map, coordinates));
                self.with_uniform_policy(update, slot!(UTMAREDG, "policy"), map)
            }
            (ref op, _) => return self.unsupported(op, "no instruction for it"),
        };
        self.emit(made);
    }

    /// A word as a constant or in a register.
    fn half_word(&mut self, value: Value) -> Operand<VReg> {
        match self.src(value) {
            Src::Imm(bits) => Operand::imm(bits),
            other => self.gpr(other),
        }
    }

    /// The place of a box in shared memory with its coordinates, and the address of the tensor map.
    fn box_in_shared(&mut self, from: Value, map: Value, coordinates: &[Value]) -> [Operand<VReg>; 2] {
        let place: Vec<Value> = std::iter::once(&from).chain(coordinates).copied().collect();
        [self.uniform_words(&place), self.uniform_address(map)]
    }
}

fn dimensions(tile: TensorBox) -> Choices {
    match tile.dimensions {
        1 => choice!(UTMALDG | UTMASTG | UTMAREDG | UTMAPF, ".1D"),
        2 => choice!(UTMALDG | UTMASTG | UTMAREDG | UTMAPF, ".2D"),
        3 => choice!(UTMALDG | UTMASTG | UTMAREDG | UTMAPF, ".3D"),
        4 => choice!(UTMALDG | UTMASTG | UTMAREDG | UTMAPF, ".4D"),
        _ => choice!(UTMALDG | UTMASTG | UTMAREDG | UTMAPF, ".5D"),
    }
}

fn mode(tile: TensorBox) -> Choices {
    match tile.im2col {
        true => choice!(UTMALDG | UTMASTG | UTMAREDG | UTMAPF, ".IM2COL"),
        false => choice!(UTMALDG | UTMASTG | UTMAREDG | UTMAPF, Mode = ""),
    }
}

fn combine(op: TensorUpdate) -> Choices {
    match op {
        TensorUpdate::Add => choice!(UTMAREDG, ".ADD"),
        TensorUpdate::Min => choice!(UTMAREDG, ".MIN"),
        TensorUpdate::Max => choice!(UTMAREDG, ".MAX"),
        TensorUpdate::Inc => choice!(UTMAREDG, ".INC"),
        TensorUpdate::Dec => choice!(UTMAREDG, ".DEC"),
        TensorUpdate::And => choice!(UTMAREDG, ".AND"),
        TensorUpdate::Or => choice!(UTMAREDG, ".OR"),
        TensorUpdate::Xor => choice!(UTMAREDG, ".XOR"),
    }
}
