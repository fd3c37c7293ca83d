//! Values that a linker or loader puts into the code.
//!
//! In: the instructions of a function, and the names that it uses: of itself, of routines, of
//! functions and variables that a linker will find, and of numbers that only the driver knows. Out:
//! the same instructions without the last two, and the relocations in their place.
//!
//! ```text
//! MOV R20, `(.L_x_1) low     =>    MOV R20, 0x0       32@lo(f + .L_x_1)
//! CALL.REL.NOINC `(g)        =>    CALL.ABS.NOINC 0x0     g
//! MOV R4, `(counter) high    =>    MOV R4, 0x0        32@hi(counter)
//! MOV R4, `(.nv.surfrefDescSize)  =>  MOV R4, 0x0     .nv.surfrefDescSize
//! TEX … 0x1f, 0x2, 2D        =>    TEX … 0x0, 0x0, 2D         relocation 65, t
//! MOV R4, c[0x1f][0x8]       =>    MOV R4, c[0x0][0x0]        relocation 66, t
//! ```
//!
//! Code that is not for a linker has only numbers of the driver to replace.
//! Linear in the code.

use ptxc_machine::Arch;
use ptxc_sass::kept::KeptRelocation;
use ptxc_sass::symbol::{Addend, CodeRelocation, FUNCTION_TABLE, Symbol, SymbolBits, SymbolValue};
use ptxc_sass::{Coded, FunctionIndex, HalfSelect, Inst, Op, Operand, OperandKind, PReg, Program, slot_name};
use ptxc_ssa::runtime;
use rustc_hash::FxHashSet;

use crate::mir::{LINKED_BANK, LINKED_STRIDE, is_number};

/// Replaces names by relocations. `functions` keeps the function itself and its routines, and if the
/// code is not for a linker, all other functions.
///
/// On architectures with a table of unified functions, the address of a function in `pointed_to` may be a number in
/// the table, and calls through addresses name the table.
pub(super) fn relocate(
    insts: &mut [Coded],
    functions: &mut Vec<String>,
    (relocatable, pointed_to, arch): (bool, &[String], Arch),
) -> (Vec<CodeRelocation>, Vec<KeptRelocation>) {
    if !relocatable && !functions.iter().any(|name| is_number(name)) {
        return (Vec::new(), Vec::new());
    }
    let words = image_words(insts, functions);
    let facts = arch.facts().cubin.as_ref();
    let has_table = relocatable && facts.is_some_and(|facts| facts.call_absolute.is_some());
    let all = functions.clone();
    let stays = |name: &String| match relocatable {
        true => runtime::name_of_symbol(name).is_some(),
        false => !is_number(name),
    };
    let (mut kept, mut numbers) = (Vec::new(), Vec::new());
    for (index, name) in all.iter().enumerate() {
        numbers.push(FunctionIndex(kept.len() as u32));
        if index == 0 || stays(name) {
            kept.push(name.clone());
        }
    }
    let pointed_to: FxHashSet<&String> = pointed_to.iter().collect();
    let mut relocations = Vec::new();
    for (number, coded) in (0..).zip(insts) {
        let mut found = None;
        let op = coded.inst.op;
        for (slot, operand) in (0..).zip(&mut coded.inst.operands) {
            let bits = match operand.flags.half {
                HalfSelect::Low => Some(SymbolBits::Low),
                HalfSelect::High => Some(SymbolBits::High),
                _ => None,
            };
            let (name, addend, bits) = match (operand.kind, bits) {
                (OperandKind::Label(label), Some(bits)) if relocatable => {
                    (&all[0], Addend::Label(label), bits)
                }
                (OperandKind::Function(FunctionIndex(index)), bits) => {
                    let name = &all[index as usize];
                    if index == 0 || stays(name) {
                        operand.kind = OperandKind::Function(numbers[index as usize]);
                        continue;
                    }
                    // Without a half, it is a call, or the place of a constant in its bank.
                    let whole = match op {
                        Op::CALL => SymbolBits::Target,
                        _ if is_number(name) => SymbolBits::Word,
                        _ => SymbolBits::Short16,
                    };
                    (name, Addend::Bytes(0), bits.unwrap_or(whole))
                }
                _ => continue,
            };
            let is_numbered = has_table && bits != SymbolBits::Target && pointed_to.contains(name);
            let is_return = matches!(addend, Addend::Label(_));
            let value = if is_numbered && !is_return { SymbolValue::Unified } else { SymbolValue::Address };
            let symbol = Symbol { name: name.clone(), addend, value, bits };
            *operand = Operand::imm(0);
            found = Some((slot, symbol));
        }
        if op == Op::CALL_ABSOLUTE && has_table {
            let (name, bits) = (FUNCTION_TABLE.to_string(), SymbolBits::Target);
            let symbol = Symbol { name, addend: Addend::Bytes(0), value: SymbolValue::Address, bits };
            found = coded.inst.slot_index(slot_name!("offset")).map(|slot| (slot as u8, symbol));
        }
        let Some((slot, symbol)) = found else { continue };
        let slot = if coded.inst.op == Op::CALL {
            let guard = coded.inst.guard;
            coded.inst = Inst::new(Op::CALL_LOADED).ops([Operand::imm(0)]);
            coded.inst.guard = guard;
            coded.inst.slot_index(slot_name!("target")).unwrap_or(0) as u8
        } else {
            slot
        };
        relocations.push(CodeRelocation { inst: number, slot, symbol });
    }
    *functions = kept;
    (relocations, words)
}

/// Replaces the words of textures, samplers and surfaces.
fn image_words(insts: &mut [Coded], names: &[String]) -> Vec<KeptRelocation> {
    let mut list = Vec::new();
    for (number, coded) in (0u64..).zip(insts) {
        let at = number * u64::from(Program::INST_BYTES);
        let mut name = |kind, offset: u32| {
            let symbol = names[(offset / LINKED_STRIDE) as usize].clone();
            list.push(KeptRelocation { at, kind, symbol, addend: 0 });
        };
        let inst = &mut coded.inst;
        let is_linked = |operand: &Operand<PReg>| operand.kind == OperandKind::Imm(LINKED_BANK.into());
        if inst.get(slot_name!("texture")).is_some_and(is_linked)
            && let Some(bank) = inst.slot_index(slot_name!("texture"))
            && let Some(word) = inst.slot_index(slot_name!("word"))
            && let OperandKind::Imm(place) = inst.operands[word].kind
        {
            name(KeptRelocation::IMAGE_WORD, 4 * place);
            inst.operands[bank] = Operand::imm(0);
            inst.operands[word] = Operand::imm(0);
        }
        for operand in &mut inst.operands {
            if let OperandKind::Const { bank: bank @ LINKED_BANK, offset } = &mut operand.kind {
                name(KeptRelocation::LOADED_IMAGE_WORD, *offset);
                (*bank, *offset) = (0, 0);
            }
        }
    }
    list
}
