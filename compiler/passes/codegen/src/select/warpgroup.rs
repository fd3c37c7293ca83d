//! Products of the matrices of a warpgroup, and the registers that are lent to them.
//!
//! ```text
//! v8, … = lend.f32.x4 v4, …                        MOV %r8, %r4 …
//! warpgroup_arrive                                 WARPGROUP.ARRIVE holds(%r8:4)
//! v12, … = warpgroup_product … v1, v2, v8, …  =>   HGMMA.64x8x16.F32 %r9, gdesc[%ur1], %r8, UPT, gsb0
//! warpgroup_commit
//! warpgroup_wait 0                                 WARPGROUP.DEPBAR.LE gsb0, 0x0 holds(%r9:4)
//! v16, … = settle.f32.x4 v12, …                    (%r9)
//! ```
//!
//! Lent values are neighbouring registers, also where they are parameters. An arrival and a wait
//! [hold](crate::mir::CallSite::held) the registers that are lent before it or settled after it, so
//! that nothing moves over it that writes or reads them.

use cranelift_entity::SecondaryMap;
use ptxc_ir::matrix::{Element, Sum};
use ptxc_ir::warpgroup::{GroupOptions, GroupParts, GroupProduct};
use ptxc_ir::{Inst as IrInst, Op as IrOp, Value, ValueDef};
use ptxc_sass::{Inst, ModKind, Op, Operand, RegFile, SpecialReg, choice, slot, slot_name, value};

use super::lower::Lower;
use super::source::Src;
use crate::mir::{CallSite, EdgeArg, MInst, Tuple, VReg};

/// What the selection of a block knows of products of a warpgroup; blocks are visited backwards.
#[derive(Default)]
pub(super) struct Warpgroups {
    /// Whether the function has products of a warpgroup.
    exist: bool,
    /// For parameters that are lent, the number of registers if it is the first one of them, and 0
    /// for the others.
    pub(super) params: SecondaryMap<Value, Option<u8>>,
    /// The registers that are settled or released before a wait is found.
    settled: Vec<Tuple<VReg>>,
    /// The place of the next arrival in the list of instructions.
    arrival: Option<usize>,
    /// Whether a commit comes next.
    commits: bool,
}

impl Warpgroups {
    /// The start of a selection.
    pub(super) fn new(exist: bool) -> Warpgroups {
        Warpgroups { exist, ..Warpgroups::default() }
    }
}

impl Lower<'_> {
    /// Gives parameters that are lent neighbouring registers, before any other user asks.
    pub(super) fn place_lent_parameters(&mut self) {
        if !self.warpgroups.exist {
            return;
        }
        let func = self.func;
        let mut lists: Vec<Vec<Value>> = Vec::new();
        for &block in &func.layout {
            for &inst in &func.blocks[block].insts {
                let data = &func.insts[inst];
                match data.op {
                    IrOp::Settle { .. } | IrOp::Release { .. } => lists.push(data.args.to_vec()),
                    IrOp::WarpgroupProduct(product) => {
                        lists.extend(product.parts(&data.args).map(|parts| parts.c.to_vec()));
                    }
                    _ => {}
                }
            }
        }
        let cfg = ptxc_ir::Cfg::compute(func);
        while let Some(list) = lists.pop() {
            let Some(&first) = list.first() else { continue };
            let ValueDef::Param(block, _) = func.def(first) else { continue };
            if self.warpgroups.params[first].is_some() {
                continue;
            }
            let tuple = self.mir.new_vreg(RegFile::Gpr, list.len() as u8);
            for (n, &param) in (0..).zip(&list) {
                self.warpgroups.params[param] = Some(if n == 0 { list.len() as u8 } else { 0 });
                self.set_reg(param, tuple.offset(n));
            }
            // The arguments of lent parameters are lent as well.
            let places: Vec<usize> = list
                .iter()
                .filter_map(|&param| match func.def(param) {
                    ValueDef::Param(of, index) if of == block => Some(index as usize),
                    _ => None,
                })
                .collect();
            for &pred in cfg.preds(block) {
                for edge in func.edges(pred).iter().filter(|edge| edge.block == block) {
                    lists.push(places.iter().map(|&place| edge.args[place]).collect());
                }
            }
        }
    }

    /// The argument of an edge for a parameter; none if it is a part of another one's.
    pub(super) fn argument(&mut self, param: Value, arg: Value) -> Option<EdgeArg<VReg>> {
        match self.warpgroups.params[param] {
            None => Some(self.edge_arg(arg)),
            Some(0) => None,
            Some(_) => Some(EdgeArg::Reg(self.reg_of(arg))),
        }
    }

    /// The first of the neighbouring registers of lent values; `None` if they are not neighbours.
    fn lent(&mut self, values: &[Value]) -> Option<VReg> {
        let first = self.reg_of(values[0]);
        let are_neighbours = (0..).zip(values).all(|(n, &value)| {
            self.has_reg(value) && {
                let reg = self.reg_of(value);
                reg.id() == first.id() && reg.component() == first.component() + n
            }
        });
        are_neighbours.then_some(first)
    }

    pub(super) fn lower_warpgroup(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let results = self.func.results(inst);
        match data.op {
            IrOp::Lend { .. } => {
                let Some(arrival) = self.warpgroups.arrival else {
                    return self.unsupported(&data.op, "no arrival follows it in its block");
                };
                let reg = self.reg_of(results[0]);
                for (n, values) in (0..).step_by(2).zip(data.args.chunks(2)) {
                    self.place_lent(values, reg.offset(n));
                }
                let tuple = Tuple { reg, width: results.len() as u8 };
                self.seq[arrival].call.get_or_insert_default().held.push(tuple);
            }
            IrOp::Settle { .. } | IrOp::Release { .. } => {
                let Some(reg) = self.lent(&data.args) else {
                    return self.unsupported(&data.op, "its registers are not neighbours");
                };
                for (n, &result) in (0..).zip(results) {
                    self.settle(result, reg.offset(n));
                }
                self.warpgroups.settled.push(Tuple { reg, width: data.args.len() as u8 });
            }
            IrOp::WarpgroupArrive => {
                self.warpgroups.arrival = Some(self.seq.len());
                self.emit(Inst::new(Op::WARPGROUP_ARRIVE));
            }
            IrOp::WarpgroupCommit => {
                self.end_group();
                self.warpgroups.commits = true;
            }
            IrOp::WarpgroupWait { pending } => {
                let wait = Inst::new(Op::WARPGROUP_DEPBAR)
                    .ops([Operand::imm(0), Operand::imm(u32::from(pending.0))]);
                let mut wait = MInst::new(wait, self.loc);
                let held = std::mem::take(&mut self.warpgroups.settled);
                if !held.is_empty() {
                    wait.call = Some(Box::new(CallSite { held, ..CallSite::default() }));
                }
                self.seq.push(wait);
            }
            IrOp::ReturnRegisters { count } => {
                let made = Inst::new(Op::USETMAXREG_DEALLOC).ops([Operand::imm(count.0.into())]);
                self.change_registers(made);
            }
            IrOp::TryRegisters { count } => {
                let done = self.mir.new_vreg(RegFile::Upred, 1);
                let made = Inst::new(Op::USETMAXREG_TRY_ALLOC);
                self.change_registers(made.ops([Operand::reg(done), Operand::imm(count.0.into())]));
                if self.is_needed(results[0]) {
                    let to = self.reg_of(results[0]);
                    self.emit(copy_of_uniform(to, done));
                }
            }
            IrOp::WarpgroupProduct(product) => self.lower_group_product(inst, &product),
            _ => {}
        }
    }

    /// Brings one or two values into lent registers; two zeros with one instruction.
    fn place_lent(&mut self, values: &[Value], to: VReg) {
        let is_zero = |&value: &Value| matches!(self.src(value), Src::Imm(0) | Src::Undef);
        if values.len() == 2 && values.iter().all(is_zero) {
            let zero = Operand::special(SpecialReg::Zero);
            return self.emit(Inst::new(Op::CS2R).ops([Operand::reg(to), zero]));
        }
        for (n, &value) in (0..).zip(values) {
            self.place(value, to.offset(n));
        }
    }

    /// A settled value is in its lent register, or is copied from there where a user has chosen
    /// another one.
    fn settle(&mut self, value: Value, lent: VReg) {
        match self.has_reg(value) {
            true => {
                let to = self.reg_of(value);
                self.emit(Inst::new(Op::MOV).ops([Operand::reg(to), Operand::reg(lent)]));
            }
            false => self.set_reg(value, lent),
        }
    }

    /// A commit ends a group without products in its block: a product that changes nothing ends the
    /// group, as in ptxas's code.
    pub(super) fn end_group(&mut self) {
        if std::mem::take(&mut self.warpgroups.commits) {
            let zero = Operand::zero(RegFile::Ugpr);
            let mut nothing = Inst::new(Op::HGMMA)
                .ops([Operand::rz(), zero, Operand::rz()])
                .slot(slot!(HGMMA, "accumulate"), Operand::zero(RegFile::Upred).not());
            let is_known = nothing.set(value!(Shape = ".64x8x16"))
                && nothing.set(value!(DataType = ".F16"))
                && nothing.set(value!(Group = "gsb0"));
            debug_assert!(is_known, "the row has these modifiers");
            self.emit(Inst::new(Op::WARPGROUP_ARRIVE));
            self.emit(nothing);
        }
    }

    /// What a block leaves to do at its start.
    pub(super) fn start_of_block(&mut self) {
        self.end_group();
        self.warpgroups.arrival = None;
        if !self.warpgroups.settled.is_empty() {
            self.warpgroups.settled.clear();
            self.unsupported(
                &IrOp::WarpgroupWait { pending: ptxc_ir::warpgroup::Groups(0) },
                "it is missing",
            );
        }
    }

    fn lower_group_product(&mut self, inst: IrInst, product: &GroupProduct) {
        let data = &self.func.insts[inst];
        let ends_group = std::mem::take(&mut self.warpgroups.commits);
        let Some((mut op, parts)) = instruction(product, ends_group).zip(product.parts(&data.args)) else {
            return self.unsupported(&data.op, "no instruction for it");
        };
        let GroupParts { a, b, c, accumulate, places } = parts;
        let d = Operand::reg(self.reg_of(self.func.results(inst)[0]));
        let mut operands = vec![d];
        let halves = |this: &Self, value| [this.half(value, 0), this.half(value, 1)];
        if product.options.has(GroupOptions::REGISTERS) {
            let Some(a) = self.lent(a) else {
                return self.unsupported(&data.op, "the registers of a are not neighbours");
            };
            let a = Operand::reg(a);
            operands.push(if product.options.has(GroupOptions::NEGATIVE_A) { a.neg() } else { a });
            let [low, high] = halves(self, b);
            operands.push(self.uniform_sources(&[Src::Imm(0), Src::Imm(0), low, high]));
        } else {
            let [a, b] = [a[0], b].map(|value| halves(self, value));
            operands.push(self.uniform_sources(&[a[0], a[1], b[0], b[1]]));
        }
        let adds = match accumulate {
            None => {
                operands.push(Operand::rz());
                Operand::zero(RegFile::Upred).not()
            }
            Some(accumulate) => {
                let Some(c) = self.lent(c) else {
                    return self.unsupported(&data.op, "the registers of c are not neighbours");
                };
                operands.push(Operand::reg(c));
                self.uniform_predicate(accumulate)
            }
        };
        if let Some((places, lanes)) = places.zip(product.product.sparse) {
            operands.push(self.gpr_value(places));
            // For elements of 8 bits there is only one possibility.
            if op.slot_index(slot_name!("selector")).is_some_and(|slot| !op.row().slots[slot].hidden) {
                operands.push(Operand::imm(lanes.into()));
            }
        }
        op = op.ops(operands);
        if let Some(slot) = op.slot_index(slot_name!("accumulate")) {
            op.operands[slot] = adds;
        }
        self.emit(op);
    }

    /// Emits an instruction that changes the number of registers of the warp. Nothing moves across it: on
    /// its other side there may be too few registers.
    fn change_registers(&mut self, inst: Inst<VReg>) {
        let mut change = MInst::new(inst, self.loc);
        change.call = Some(Box::default());
        self.seq.push(change);
    }

    /// A predicate that is the same in all lanes, as a uniform one.
    fn uniform_predicate(&mut self, value: Value) -> Operand<VReg> {
        let value = self.pred(value);
        match value.as_reg() {
            None => {
                if value.flags.not {
                    Operand::zero(RegFile::Upred).not()
                } else {
                    Operand::zero(RegFile::Upred)
                }
            }
            Some(reg) if reg.file() == RegFile::Upred => value,
            Some(_) => {
                let to = Operand::reg(self.mir.new_vreg(RegFile::Upred, 1));
                let vote = Inst::new(Op::VOTEU).with(choice!(VOTEU, ".ANY"));
                self.emit(vote.slot(slot!(VOTEU, "pd"), to).slot(slot!(VOTEU, "ps"), value));
                to
            }
        }
    }
}

/// The copy of a uniform predicate to an ordinary one: true where the last of three is.
fn copy_of_uniform(to: VReg, from: VReg) -> Inst<VReg> {
    let table = Operand::imm(0x80);
    let operands =
        [Operand::reg(to), Operand::pt(), Operand::pt(), Operand::reg(from), table, Operand::imm(0)];
    Inst::new(Op::PLOP3).ops(operands)
}

/// The instruction for a product, without its operands.
fn instruction(product: &GroupProduct, ends_group: bool) -> Option<Inst<VReg>> {
    use Element::{B1, BF16, E4M3, E5M2, F16, S8, TF32, U8};
    let GroupProduct { product, options } = product;
    let in_registers = options.has(GroupOptions::REGISTERS);
    let is_sparse = product.sparse.is_some();
    let of = |rows: [Op; 4]| rows[2 * usize::from(is_sparse) + usize::from(in_registers)];
    let mut inst = Inst::new(match product.a {
        F16 | BF16 | TF32 => of([Op::HGMMA, Op::HGMMA_R, Op::HGMMA_SP, Op::HGMMA_SP_R]),
        U8 | S8 => of([Op::IGMMA, Op::IGMMA_R, Op::IGMMA_SP, Op::IGMMA_SP_R]),
        E4M3 | E5M2 => of([Op::QGMMA, Op::QGMMA_R, Op::QGMMA_SP, Op::QGMMA_SP_R]),
        B1 if !is_sparse => of([Op::BGMMA, Op::BGMMA_R, Op::BGMMA, Op::BGMMA_R]),
        _ => return None,
    });
    let source = |element| match element {
        BF16 => Some(value!(SourceType = ".BF16")),
        TF32 => Some(value!(SourceType = ".TF32")),
        U8 => Some(value!(SourceType = ".U8")),
        S8 => Some(value!(SourceType = ".S8")),
        E4M3 => Some(value!(SourceType = ".E4M3")),
        E5M2 => Some(value!(SourceType = ".E5M2")),
        _ => None,
    };
    let second = match product.b {
        U8 => Some(value!(SecondType = ".U8")),
        S8 => Some(value!(SecondType = ".S8")),
        E4M3 => Some(value!(SecondType = ".E4M3")),
        E5M2 => Some(value!(SecondType = ".E5M2")),
        _ => None,
    };
    let result = match (product.a, product.sum_type) {
        (F16 | BF16 | TF32 | E4M3 | E5M2, F16) => Some(value!(DataType = ".F16")),
        (F16 | BF16 | TF32 | E4M3 | E5M2, _) => Some(value!(DataType = ".F32")),
        _ => None,
    };
    let has = |option, value| options.has(option).then_some(value);
    // A factor in registers is negated as an operand.
    let negative_a = has(GroupOptions::NEGATIVE_A, value!(NegativeA = ".negA")).filter(|_| !in_registers);
    let values = [
        source(product.a),
        second,
        result,
        negative_a,
        has(GroupOptions::NEGATIVE_B, value!(NegativeB = ".negB")),
        has(GroupOptions::TURNED_A, value!(LayoutA = ".tnspA")),
        has(GroupOptions::TURNED_B, value!(LayoutB = ".tnspB")),
        (product.sum == Sum::Saturating).then_some(value!(Sat = ".SAT")),
        ends_group.then_some(value!(Group = "gsb0")),
    ];
    let size = format!(".64x{}x{}", product.size.n, product.size.k);
    let is_known =
        inst.set_kind(ModKind::Shape, &size) && values.into_iter().flatten().all(|value| inst.set(value));
    is_known.then_some(inst)
}
