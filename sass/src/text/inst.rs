//! One instruction as text.

use std::fmt;

use crate::inst::Inst;
use crate::operand::{Address, Operand, OperandKind};
use crate::register::Register;
use crate::table::{ImmFormat, Slot};

impl<R: Register> fmt::Display for Inst<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(guard) = self.guard {
            write!(f, "@{}{} ", if guard.negated { "!" } else { "" }, guard.reg)?;
        }
        let row = self.row();
        f.write_str(row.mnemonic)?;
        for (position, modifier) in row.mods.iter().enumerate() {
            f.write_str(modifier.values[self.mods.get(position) as usize])?;
        }
        let mut separator = " ";
        for (slot, operand) in row.slots.iter().zip(&self.operands) {
            if slot.hidden && *operand == slot.default_operand() {
                continue;
            }
            f.write_str(separator)?;
            separator = ", ";
            operand_text(f, slot, operand)?;
        }
        Ok(())
    }
}

fn operand_text<R: Register>(f: &mut fmt::Formatter<'_>, slot: &Slot, operand: &Operand<R>) -> fmt::Result {
    let flags = operand.flags;
    if flags.neg {
        f.write_str("-")?;
    }
    if flags.not {
        f.write_str(if matches!(operand.kind, OperandKind::Reg(r) if !r.file().is_predicate()) {
            "~"
        } else {
            "!"
        })?;
    }
    if flags.abs {
        f.write_str("|")?;
    }
    match operand.kind {
        OperandKind::Zero(file) => f.write_str(file.constant_name())?,
        OperandKind::Reg(reg) => write!(f, "{reg}")?,
        OperandKind::Imm(bits) => match slot.imm {
            ImmFormat::Hex => write!(f, "{bits:#x}")?,
            ImmFormat::Signed if (bits as i32) < 0 => write!(f, "-{:#x}", (bits as i32).unsigned_abs())?,
            ImmFormat::Signed => write!(f, "{bits:#x}")?,
            ImmFormat::Float => write!(f, "{}", f32::from_bits(bits))?,
        },
        OperandKind::Const { bank, offset } => write!(f, "c[{bank:#x}][{offset:#x}]")?,
        OperandKind::Mem(address) => address_text(f, &address)?,
        OperandKind::Label(label) => write!(f, "`(.L_x_{})", label.0)?,
        OperandKind::Special(reg) => write!(f, "{reg}")?,
        OperandKind::Convergence(index) => write!(f, "B{index}")?,
    }
    if flags.abs {
        f.write_str("|")?;
    }
    Ok(())
}

fn address_text<R: Register>(f: &mut fmt::Formatter<'_>, address: &Address<R>) -> fmt::Result {
    if let Some(descriptor) = address.descriptor {
        write!(f, "desc[{descriptor}]")?;
    }
    f.write_str("[")?;
    let mut separator = "";
    if let Some(base) = address.base {
        write!(f, "{base}{}", if address.wide { ".64" } else { "" })?;
        separator = "+";
    }
    if let Some(uniform) = address.uniform {
        write!(f, "{separator}{uniform}")?;
        separator = "+";
    }
    if address.offset != 0 || separator.is_empty() {
        let sign = if address.offset < 0 { "-" } else { "" };
        write!(f, "{separator}{sign}{:#x}", address.offset.unsigned_abs())?;
    }
    f.write_str("]")
}
