//! Matrices that the lanes of a warp hold together.
//!
//! ```text
//! v1, v2, v3, v4 = matrix_load.shared.b128.v4 v0        =>   LDSM.16.M88.4 %r8, [%r2]
//! v9, … = matrix_product.m16n8k16.f32.f16.f16 v1, …     =>   HMMA.16816.F32 %r12, %r8, %r4, %r12
//! ```
//!
//! The components of a fragment are neighbouring registers.

use ptxc_ir::matrix::{Element, Parts, Product, Sum};
use ptxc_ir::{Inst as IrInst, Op as IrOp, Value};
use ptxc_sass::{Choices, Inst, Op, Operand, RegFile, choice};

use super::lower::{Lower, width_of};
use super::source::Src;
use crate::mir::VReg;

/// The number of matrices that an instruction loads or stores.
macro_rules! count {
    ($op:ident, $count:expr) => {
        match $count {
            1 => choice!($op, Size = ""),
            2 => choice!($op, Size = ".2"),
            _ => choice!($op, Size = ".4"),
        }
    };
}

/// The type of a, for the instructions that multiply such elements.
macro_rules! integers {
    ($op:ident, $unsigned:literal, $signed:literal, $product:expr) => {{
        let (a, b) = ($product.a.is_signed(), $product.b.is_signed());
        let inst = match a {
            true => Inst::new(Op::$op).with(choice!($op, SourceType = $signed)),
            false => Inst::new(Op::$op).with(choice!($op, SourceType = $unsigned)),
        };
        let inst = match b {
            true => inst.with(choice!($op, SecondType = $signed)),
            false => inst.with(choice!($op, SecondType = $unsigned)),
        };
        match $product.sum {
            Sum::Saturating => inst.with(choice!($op, Sat = ".SAT")),
            _ => inst,
        }
    }};
}

/// The same for floats of 8 bits.
macro_rules! bytes {
    ($op:ident, $product:expr) => {{
        let inst = match $product.a {
            Element::E4M3 => Inst::new(Op::$op).with(choice!($op, SourceType = ".E4M3")),
            _ => Inst::new(Op::$op).with(choice!($op, SourceType = ".E5M2")),
        };
        let inst = match $product.b {
            Element::E4M3 => inst.with(choice!($op, SecondType = ".E4M3")),
            _ => inst.with(choice!($op, SecondType = ".E5M2")),
        };
        match $product.sum_type {
            Element::F16 => inst.with(choice!($op, DataType = ".F16")),
            _ => inst.with(choice!($op, DataType = ".F32")),
        }
    }};
}

/// The same for halves, bfloat16 and TF32.
macro_rules! halves {
    ($op:ident, $product:expr) => {{
        let inst = match $product.sum_type {
            Element::F16 => Inst::new(Op::$op).with(choice!($op, DataType = ".F16")),
            _ => Inst::new(Op::$op).with(choice!($op, DataType = ".F32")),
        };
        match $product.a {
            Element::BF16 => inst.with(choice!($op, SourceType = ".BF16")),
            Element::TF32 => inst.with(choice!($op, SourceType = ".TF32")),
            _ => inst.with(choice!($op, SourceType = "")),
        }
    }};
}

impl Lower<'_> {
    /// Values in neighbouring registers: those that they have already, if that is how they lie.
    fn fragment(&mut self, values: &[Value]) -> Operand<VReg> {
        if values.iter().all(|&value| matches!(self.half(value, 0), Src::Imm(0) | Src::Undef))
            && values.iter().all(|&value| width_of(self.func.ty(value)) == 1)
        {
            return Operand::rz();
        }
        let each = width_of(self.func.ty(values[0]));
        if let Some(first) = self.neighbours_by_definition(values, each) {
            return Operand::reg(first);
        }
        let tuple = self.mir.new_vreg(RegFile::Gpr, each * values.len() as u8);
        for (n, &value) in (0..).zip(values) {
            self.place(value, tuple.offset(n * each));
        }
        Operand::reg(tuple)
    }

    /// The first register of values that lie in neighbouring registers already, at a place where an
    /// operand of that size may begin.
    fn neighbours_by_definition(&mut self, values: &[Value], each: u8) -> Option<VReg> {
        let mut first: Option<VReg> = None;
        for (n, &value) in (0..).zip(values) {
            let Src::Word(word, 0) = self.half(value, 0) else { return None };
            let is_whole = width_of(self.func.ty(word)) == each;
            if !is_whole || !(self.has_reg(word) || self.is_part_of_tuple(word)) {
                return None;
            }
            let register = self.reg_of(word);
            let first = *first.get_or_insert(register);
            if register.id() != first.id() || register.component() != first.component() + n * each {
                return None;
            }
        }
        let align = (each * values.len() as u8).next_power_of_two().min(4);
        first.filter(|first| first.component().is_multiple_of(align))
    }

    pub(super) fn lower_matrix(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        match data.op {
            IrOp::MatrixLoad { access, transposed } => {
                let op = Inst::new(Op::LDSM).with(count!(LDSM, access.lanes)).with(match transposed {
                    true => choice!(LDSM, ".MT88"),
                    false => choice!(LDSM, ".M88"),
                });
                let to = Operand::reg(self.reg_of(self.func.results(inst)[0]));
                let address = Operand::mem(self.address(access, data.args[0]));
                self.emit(op.ops([to, address]));
            }
            IrOp::MatrixStore { access, transposed } => {
                let op = Inst::new(Op::STSM).with(count!(STSM, access.lanes)).with(match transposed {
                    true => choice!(STSM, ".MT88"),
                    false => choice!(STSM, ".M88"),
                });
                let content = self.fragment(&data.args[1..]);
                let address = Operand::mem(self.address(access, data.args[0]));
                self.emit(op.ops([address, content]));
            }
            IrOp::MatrixTranspose => {
                let a = self.gpr_value(data.args[0]);
                let to = self.def(self.func.results(inst)[0]);
                self.emit(Inst::new(Op::MOVM).ops([to, a]));
            }
            IrOp::MatrixProduct(product) => self.lower_matrix_product(inst, &product),
            _ => {}
        }
    }

    fn lower_matrix_product(&mut self, inst: IrInst, product: &Product) {
        let data = &self.func.insts[inst];
        let Some((op, Parts { a, b, c, places })) = instruction(product).zip(product.parts(&data.args))
        else {
            return self.unsupported(&data.op, "no instruction for it");
        };
        let d = Operand::reg(self.reg_of(self.func.results(inst)[0]));
        let [a, b, c] = [a, b, c].map(|values| self.fragment(values));
        let op = match (places, product.sparse) {
            (Some(places), Some(lanes)) => {
                let places = self.gpr_value(places);
                op.ops([d, a, b, c, places, Operand::imm(lanes.into())])
            }
            _ => op.ops([d, a, b, c]),
        };
        self.emit(op);
    }
}

/// The instruction for a product, without its operands.
fn instruction(product: &Product) -> Option<Inst<VReg>> {
    use Element::{B1, BF16, E4M3, E5M2, F16, F64, S4, S8, TF32, U4, U8};
    let size = (product.size.m, product.size.k);
    let is_sparse = product.sparse.is_some();
    Some(match (product.a, is_sparse) {
        (F16 | BF16 | TF32, false) => halves!(HMMA, product).with(match size {
            (16, 4) => choice!(HMMA, ".1684"),
            (16, 8) => choice!(HMMA, ".1688"),
            (16, 16) => choice!(HMMA, ".16816"),
            _ => return None,
        }),
        (F16 | BF16 | TF32, true) => halves!(HMMA_SP, product).with(match size {
            (16, 8) => choice!(HMMA_SP, ".1688"),
            (16, 16) => choice!(HMMA_SP, ".16816"),
            (16, 32) => choice!(HMMA_SP, ".16832"),
            _ => return None,
        }),
        (U8 | S8, false) => integers!(IMMA, ".U8", ".S8", product).with(match size {
            (8, 16) => choice!(IMMA, ".8816"),
            (16, 16) => choice!(IMMA, ".16816"),
            (16, 32) => choice!(IMMA, ".16832"),
            _ => return None,
        }),
        (U8 | S8, true) => integers!(IMMA_SP, ".U8", ".S8", product).with(match size {
            (16, 32) => choice!(IMMA_SP, ".16832"),
            (16, 64) => choice!(IMMA_SP, ".16864"),
            _ => return None,
        }),
        (U4 | S4, false) => integers!(IMMA_4, ".U4", ".S4", product).with(match size {
            (8, 32) => choice!(IMMA_4, ".8832"),
            (16, 32) => choice!(IMMA_4, ".16832"),
            (16, 64) => choice!(IMMA_4, ".16864"),
            _ => return None,
        }),
        (U4 | S4, true) => integers!(IMMA_4_SP, ".U4", ".S4", product).with(match size {
            (16, 64) => choice!(IMMA_4_SP, ".16864"),
            (16, 128) => choice!(IMMA_4_SP, ".168128"),
            _ => return None,
        }),
        (E4M3 | E5M2, false) => bytes!(QMMA, product).with(match size {
            (16, 16) => choice!(QMMA, ".16816"),
            (16, 32) => choice!(QMMA, ".16832"),
            _ => return None,
        }),
        (E4M3 | E5M2, true) => bytes!(QMMA_SP, product).with(match size {
            (16, 32) => choice!(QMMA_SP, ".16832"),
            (16, 64) => choice!(QMMA_SP, ".16864"),
            _ => return None,
        }),
        (B1, false) => {
            let combine = match product.sum {
                Sum::Xor => choice!(BMMA, ".XOR"),
                _ => choice!(BMMA, ".AND"),
            };
            Inst::new(Op::BMMA).with(combine).with(choice!(BMMA, ".POPC")).with(match size {
                (8, 128) => choice!(BMMA, ".88128"),
                (16, 128) => choice!(BMMA, ".168128"),
                (16, 256) => choice!(BMMA, ".168256"),
                _ => return None,
            })
        }
        (F64, false) => {
            let rounding: Choices = match product.sum {
                Sum::TowardZero => choice!(DMMA, ".RZ"),
                Sum::Down => choice!(DMMA, ".RM"),
                Sum::Up => choice!(DMMA, ".RP"),
                _ => choice!(DMMA, Round = ""),
            };
            Inst::new(Op::DMMA).with(rounding).with(match size {
                (8, 4) => choice!(DMMA, ".8x8x4"),
                (16, 4) => choice!(DMMA, ".16x8x4"),
                (16, 8) => choice!(DMMA, ".16x8x8"),
                (16, 16) => choice!(DMMA, ".16x8x16"),
                _ => return None,
            })
        }
        (B1 | F64 | Element::F32 | Element::S32, _) => return None,
    })
}
