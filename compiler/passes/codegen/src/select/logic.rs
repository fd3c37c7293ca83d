//! Bitwise logic: trees of `and`, `or`, `xor`, `not`, `lop3` over up to three inputs in one `LOP3`.
//!
//! ```text
//! v4 = and v1, v2;  v5 = not v3;  v6 = xor v4, v5   =>   LOP3.LUT %r6, %r1, %r2, %r3, 0x95, !PT
//! ```
//!
//! A tree grows from its root: an input that is itself a logic operation with no other user is
//! replaced by its arguments while at most three distinct inputs remain. The truth table of the
//! tree is the tree's function applied to the tables of the inputs, 0xf0, 0xcc and 0xaa.

use ptxc_ir::{Inst as IrInst, Op as IrOp, Type, Value};
use ptxc_sass::{Inst, Op, Operand};
use ptxc_semantics::bits;
use smallvec::SmallVec;

use super::lower::Lower;
use super::source::Src;
use crate::mir::{MBlockId, VReg};

/// Truth tables of the three inputs.
const TABLES: [u8; 3] = [0xf0, 0xcc, 0xaa];

/// The operands of a `LOP3`, without destination.
pub(super) struct Logic {
    /// The inputs a, b, c.
    pub(super) inputs: [Src; 3],
    /// The truth table.
    pub(super) table: u8,
}

impl Lower<'_> {
    pub(super) fn lower_logic(&mut self, inst: IrInst) {
        let result = self.func.result(inst);
        let logic = self.match_logic(result, self.block);
        let to = self.def(result);
        let [a, b, c] = self.logic_operands(logic.inputs);
        self.emit(Inst::new(Op::LOP3).ops([to, a, b, c, Operand::imm(logic.table.into())]));
    }

    /// The inputs as operands.
    pub(super) fn logic_operands(&mut self, inputs: [Src; 3]) -> [Operand<VReg>; 3] {
        [self.gpr(inputs[0]), self.any(inputs[1]), self.gpr(inputs[2])]
    }

    /// The tree under a logic operation, for a user in that block.
    pub(super) fn match_logic(&self, root: Value, user: MBlockId) -> Logic {
        // Nodes in the order in which they were opened: each before those below it.
        let mut opened: SmallVec<[Value; 8]> = SmallVec::from_slice(&[root]);
        let mut inputs = self.distinct_inputs(&opened);
        let mut look = 0;
        while look < inputs.len() {
            let candidate = inputs[look];
            let folds = self.foldable_in(candidate, user).is_some_and(is_logic);
            if folds && !opened.contains(&candidate) {
                opened.push(candidate);
                let wider = self.distinct_inputs(&opened);
                let sources: SmallVec<[Src; 4]> = self.sources(&wider);
                if sources.len() <= 3 && opened.len() <= 8 {
                    inputs = wider;
                    look = 0;
                    continue;
                }
                opened.pop();
            }
            look += 1;
        }
        self.order_inputs(&opened, &inputs)
    }

    fn sources(&self, values: &[Value]) -> SmallVec<[Src; 4]> {
        let mut sources: SmallVec<[Src; 4]> = SmallVec::new();
        for &value in values {
            let src = self.src(value);
            if !sources.contains(&src) && !is_trivial(src) {
                sources.push(src);
            }
        }
        sources
    }

    /// The arguments of opened nodes that are not opened themselves.
    fn distinct_inputs(&self, opened: &[Value]) -> SmallVec<[Value; 4]> {
        let mut inputs: SmallVec<[Value; 4]> = SmallVec::new();
        for &node in opened {
            for &arg in self.def_data(self.resolve(node)).map_or(&[][..], |data| &data.args) {
                if !opened.contains(&arg) && !inputs.contains(&arg) {
                    inputs.push(arg);
                }
            }
        }
        inputs
    }

    fn order_inputs(&self, opened: &[Value], inputs: &[Value]) -> Logic {
        let sources = self.sources(inputs);
        // The input that is not a general register goes into the middle, and so does a single
        // input.
        let mut slots: [Option<Src>; 3] = [None; 3];
        let special = (0..sources.len())
            .filter(|&at| sources[at].is_special())
            .reduce(|best, at| if sources[at].claims_slot(sources[best]) { at } else { best });
        let middle = if sources.len() == 1 { Some(0) } else { special };
        if let Some(middle) = middle {
            slots[1] = Some(sources[middle]);
        }
        for (index, &src) in sources.iter().enumerate() {
            if Some(index) != middle
                && let Some(free) = slots.iter().position(Option::is_none)
            {
                slots[free] = Some(src);
            }
        }
        // From the inputs up: a node below another was opened after it.
        let mut known: SmallVec<[(Value, u8); 8]> = SmallVec::new();
        for &node in opened.iter().rev() {
            let Some(data) = self.def_data(self.resolve(node)) else { continue };
            let table = |arg: Value| {
                if let Some(&(_, table)) = known.iter().find(|&&(value, _)| value == arg) {
                    return table;
                }
                match self.src(arg) {
                    Src::Imm(0) => 0,
                    Src::Imm(u32::MAX) => 0xff,
                    src => slots.iter().position(|&slot| slot == Some(src)).map_or(0, |at| TABLES[at]),
                }
            };
            let result = match data.op {
                IrOp::And => table(data.args[0]) & table(data.args[1]),
                IrOp::Or => table(data.args[0]) | table(data.args[1]),
                IrOp::Xor => table(data.args[0]) ^ table(data.args[1]),
                IrOp::Lop3 { table: own } => {
                    let [a, b, c] = [0, 1, 2].map(|n| table(data.args[n]).into());
                    bits::lop3(a, b, c, own) as u8
                }
                _ => !table(data.args[0]),
            };
            known.push((node, result));
        }
        let table = known.last().map_or(0, |&(_, table)| table);
        Logic { inputs: slots.map(|slot| slot.unwrap_or(Src::Imm(0))), table }
    }
}

/// Whether an operation is bitwise logic on registers.
pub(super) fn is_logic(data: &ptxc_ir::InstData) -> bool {
    matches!(data.op, IrOp::And | IrOp::Or | IrOp::Xor | IrOp::Not | IrOp::Lop3 { .. })
        && data.ty == Type::B32
}

fn is_trivial(src: Src) -> bool {
    matches!(src, Src::Imm(0 | u32::MAX))
}
