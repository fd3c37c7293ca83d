//! Instructions from the table itself: every row with every field at its limits, and any number of
//! random ones.

use fastrand::Rng;
use ptxc_machine::Arch;
use ptxc_sass::table::Shape;
use ptxc_sass::{
    Address, Coded, Control, Guard, HalfSelect, Inst, Kinds, ModKind, Op, Operand, OperandKind, PReg,
    RegFile, Slot, SpecialReg, bits,
};

/// A row in each of its forms on an architecture: first plain, then with one field at a time at a
/// limit. All results can be encoded.
pub fn edges(op: Op, arch: Arch) -> Vec<Coded> {
    let (row, mut list) = (op.row(), Vec::new());
    for shapes in bits::forms(op, arch) {
        let Some(base) = plain(op, &shapes, arch) else { continue };
        list.push(base.clone());
        let mut keep = |coded: Coded| {
            if encodes(&coded, arch) {
                list.push(coded);
            }
        };
        for (position, modifier) in row.mods.iter().enumerate() {
            for value in 0..modifier.values.len() as u8 {
                let mut coded = base.clone();
                coded.inst.mods.set(position, value);
                widen(&mut coded.inst);
                keep(coded);
            }
        }
        for (index, (slot, &shape)) in row.slots.iter().zip(&shapes).enumerate() {
            let old = base.inst.operands[index];
            let others = edge_operands(slot, shape, old, arch);
            for operand in others.into_iter().chain(signed(slot, shape, old)) {
                let mut coded = base.clone();
                coded.inst.operands[index] = operand;
                join(&mut coded.inst);
                keep(coded);
            }
            let kept =
                slot.reuse.filter(|_| matches!(old.kind, OperandKind::Reg(_)) && shape == Shape::Register);
            if let Some(bit) = kept {
                let control = Control { reuse: 1 << bit, ..base.control };
                keep(Coded { control, ..base.clone() });
            }
        }
        for (number, negated) in [(0, false), (6, false), (0, true), (6, true)] {
            let reg = PReg::new(row.guard, number);
            let inst = Inst { guard: Some(Guard { reg, negated }), ..base.inst.clone() };
            keep(Coded { inst, ..base.clone() });
        }
    }
    list
}

/// A random instruction of a random one of some rows. The same sequence of numbers gives the same
/// instructions. `None` if the architecture has none of them.
pub fn random(ops: &[Op], arch: Arch, numbers: &mut Rng) -> Option<Coded> {
    if ops.iter().all(|&op| bits::forms(op, arch).is_empty()) {
        return None;
    }
    loop {
        let op = ops[numbers.usize(..ops.len())];
        let forms = bits::forms(op, arch);
        if forms.is_empty() {
            continue;
        }
        let shapes = &forms[numbers.usize(..forms.len())];
        // Not every combination of modifiers and operands is an instruction, so several rounds may
        // be needed.
        for _ in 0..40 {
            let coded = any(op, shapes, arch, numbers);
            if encodes(&coded, arch) {
                return Some(coded);
            }
        }
    }
}

/// Whether it is an instruction of the architecture.
fn encodes(coded: &Coded, arch: Arch) -> bool {
    coded.inst.check_form().is_ok()
        && coded.inst.check_arch(arch).is_ok()
        && bits::encode(coded, 0, arch, |_| None).is_ok()
}

/// The row in a form without special fields; `None` if no combination of modifiers is plain.
fn plain(op: Op, shapes: &[Shape], arch: Arch) -> Option<Coded> {
    let mut inst = Inst::new(op);
    for (index, (slot, &shape)) in op.row().slots.iter().zip(shapes).enumerate() {
        inst.operands[index] = plain_operand(slot, shape, index as u8, &inst);
    }
    join(&mut inst);
    let control = Control::plain();
    let coded = Coded { inst, control, loc: u32::MAX };
    if encodes(&coded, arch) {
        return Some(coded);
    }
    // The defaults of two modifiers may exclude each other. Then the first compatible values of
    // both are used.
    for (first, second) in (0..op.row().mods.len()).flat_map(|a| (0..=a).map(move |b| (a, b))) {
        for x in 0..op.row().mods[first].values.len() as u8 {
            for y in 0..op.row().mods[second].values.len() as u8 {
                let mut other = coded.clone();
                other.inst.mods.set(first, x);
                other.inst.mods.set(second, y);
                widen(&mut other.inst);
                if encodes(&other, arch) {
                    return Some(other);
                }
            }
        }
    }
    None
}

/// Makes the addresses of an instruction as wide as its modifiers say.
fn widen(inst: &mut Inst<PReg>) {
    let is_extended = inst.modifier(ModKind::Extended) == ".E";
    for (slot, operand) in inst.op.row().slots.iter().zip(&mut inst.operands) {
        if let OperandKind::Mem(address) = &mut operand.kind {
            address.wide = slot.address_is_wide(is_extended);
        }
    }
    for (index, slot) in inst.op.row().slots.iter().enumerate() {
        if slot.hidden_with.is_some_and(|text| inst.has(text)) {
            inst.operands[index] = slot.default_operand();
        }
    }
}

/// Puts a descriptor in the register after the uniform register of another address: no encoding has
/// a field for both.
fn join(inst: &mut Inst<PReg>) {
    let next = inst.operands.iter().find_map(|operand| match operand.kind {
        OperandKind::Mem(Address { uniform: Some(uniform), .. }) => uniform.offset(1),
        _ => None,
    });
    for operand in &mut inst.operands {
        if let OperandKind::Mem(Address { descriptor: descriptor @ Some(_), .. }) = &mut operand.kind
            && next.is_some()
        {
            *descriptor = next;
        }
    }
}

/// The file of a register of a shape in a slot.
fn file(slot: &Slot, shape: Shape) -> RegFile {
    let files = match shape {
        Shape::Uniform => [RegFile::Ugpr, RegFile::Upred, RegFile::Ugpr, RegFile::Upred],
        _ => [RegFile::Gpr, RegFile::Pred, RegFile::Ugpr, RegFile::Upred],
    };
    files.into_iter().find(|&file| slot.kinds.contains(Kinds::of_file(file))).unwrap_or(RegFile::Gpr)
}

fn plain_operand(slot: &Slot, shape: Shape, index: u8, inst: &Inst<PReg>) -> Operand<PReg> {
    let is_wide = slot.address_is_wide(inst.modifier(ModKind::Extended) == ".E");
    let wide = |address: Address<PReg>| Operand::mem(Address { wide: is_wide, ..address });
    let base = Some(PReg::r(8));
    let has_default = (slot.optional || slot.hidden) && !slot.is_empty_at_default;
    let operand = match shape {
        Shape::Absent => return slot.default_operand(),
        _ if has_default || slot.hidden_with.is_some_and(|text| inst.has(text)) => {
            return slot.default_operand();
        }
        Shape::Register | Shape::Uniform => {
            let file = file(slot, shape);
            let number = if file.is_predicate() { index % 7 } else { 4 * (index + 1) };
            Operand::reg(PReg::new(file, number))
        }
        Shape::Immediate => Operand::imm(1),
        Shape::Constant => Operand::constant(0, 0x210),
        Shape::IndexedConstant => Operand::indexed_constant(3, index_register(slot), 0x10),
        Shape::Address => wide(Address::narrow(base, 0x10)),
        Shape::AddressUniform => wide(Address { uniform: Some(PReg::ur(4)), ..Address::narrow(base, 0x10) }),
        Shape::AddressDescribed => {
            wide(Address { descriptor: Some(PReg::ur(4)), ..Address::narrow(base, 0x10) })
        }
        Shape::Other if slot.kinds.contains(Kinds::SPECIAL) => Operand::special(SpecialReg::TidX),
        Shape::Other if slot.kinds.contains(Kinds::CONVERGENCE) => Operand::convergence(1),
        Shape::Other if slot.kinds.contains(Kinds::PREDICATES) => Operand::predicates(),
        Shape::Other => Operand::code(0x40),
    };
    let half = if shape == Shape::Immediate { HalfSelect::Both } else { slot.halves.default_half() };
    operand.half(half)
}

fn index_register(slot: &Slot) -> PReg {
    if slot.kinds.contains(Kinds::CONST_AT_UR) { PReg::ur(4) } else { PReg::r(4) }
}

/// Operands at the limits of the shape; some of them may be too large for the field.
fn edge_operands(slot: &Slot, shape: Shape, old: Operand<PReg>, arch: Arch) -> Vec<Operand<PReg>> {
    let with = |kind| Operand { kind, flags: old.flags };
    let mut list = Vec::new();
    match old.kind {
        OperandKind::Reg(_) | OperandKind::Zero(_) => {
            let file = file(slot, shape);
            list.push(with(OperandKind::Zero(file)));
            let last = file.count() - 1;
            let numbers =
                if file.is_predicate() { vec![0, 3, last] } else { vec![0, last & !0xf, last & !3, last] };
            list.extend(numbers.into_iter().map(|number| with(OperandKind::Reg(PReg::new(file, number)))));
        }
        OperandKind::Imm(_) => {
            let ones = (0..=32).map(|len| ((1u64 << len) - 1) as u32);
            let signed = (0..32).map(|len| u32::MAX << len);
            let floats =
                [0x3f80_0000, 0x7f80_0000, 0xff80_0000, 0x7fff_ffff, 0x7fc0_0000, 0x8000_0000, 0x0040_0000];
            list.extend(ones.chain(signed).chain(floats).map(|bits| with(OperandKind::Imm(bits))));
        }
        OperandKind::Const { .. } => {
            let places = [(0, 0), (0, 4), (0, 0x7ffc), (1, 0xfffc), (17, 0x100), (31, 0x8000)];
            list.extend(places.map(|(bank, offset)| with(OperandKind::Const { bank, offset })));
        }
        OperandKind::IndexedConst { index, .. } => {
            let offsets = [0, 4, 0x7ffc, -4, -0x8000];
            list.extend(offsets.map(|offset| with(OperandKind::IndexedConst { bank: 3, index, offset })));
        }
        OperandKind::Mem(address) => {
            let offsets = [0, 1, -1, 0x7f_ffff, -0x80_0000];
            list.extend(offsets.map(|offset| with(OperandKind::Mem(Address { offset, ..address }))));
            // Some addresses have no offset.
            for address in [address, Address { offset: 0, ..address }] {
                for number in [0, 62] {
                    let uniform = address.uniform.map(|_| PReg::ur(number));
                    let descriptor = address.descriptor.map(|_| PReg::ur(number));
                    list.push(with(OperandKind::Mem(Address { uniform, descriptor, ..address })));
                }
                let bases = [Some(PReg::r(0)), Some(PReg::r(254)), None];
                list.extend(bases.map(|base| with(OperandKind::Mem(Address { base, ..address }))));
                for base in [address.base, None] {
                    list.push(with(OperandKind::Mem(Address { base, wide: !address.wide, ..address })));
                }
            }
            let alone = [0, 1, -1, 0x7f_ffff, -0x80_0000, i32::MAX, i32::MIN];
            let alone = alone.map(|offset| with(OperandKind::Mem(Address { base: None, offset, ..address })));
            list.extend(alone);
            if slot.accepts(Kinds::MEM_SCALED, arch) {
                list.extend([4, 8, 16].map(|scale| with(OperandKind::Mem(Address { scale, ..address }))));
            }
        }
        OperandKind::Code(_) => {
            list.extend([0, 0x10, 0x1000, 0x7fff_fff0, -0x10].map(|at| with(OperandKind::Code(at))));
        }
        OperandKind::Special(_) => {
            list.extend((0..=u8::MAX).map(|code| with(OperandKind::Special(SpecialReg::from_code(code)))));
        }
        OperandKind::Convergence(_) => {
            list.extend([0, 15].map(|index| with(OperandKind::Convergence(index))))
        }
        OperandKind::Label(_)
        | OperandKind::Function(_)
        | OperandKind::SharedEnd(_)
        | OperandKind::Predicates => {}
    }
    list
}

/// The operand with every sign that the slot accepts.
fn signed(slot: &Slot, shape: Shape, old: Operand<PReg>) -> Vec<Operand<PReg>> {
    let mut list = Vec::new();
    if shape == Shape::Immediate {
        return list;
    }
    if slot.neg {
        list.push(old.neg());
    }
    if slot.not {
        list.push(old.not());
    }
    if slot.abs {
        list.push(old.abs());
        if slot.neg {
            list.push(old.abs().neg());
        }
    }
    list.extend(
        HalfSelect::ALL.into_iter().filter(|&half| slot.halves.takes(half)).map(|half| old.half(half)),
    );
    list
}

/// A random instruction of the form.
fn any(op: Op, shapes: &[Shape], arch: Arch, numbers: &mut Rng) -> Coded {
    let row = op.row();
    let mut inst = Inst::new(op);
    for (position, modifier) in row.mods.iter().enumerate() {
        inst.mods.set(position, numbers.u8(..modifier.values.len() as u8));
    }
    let mut reuse = 0;
    for (index, (slot, &shape)) in row.slots.iter().zip(shapes).enumerate() {
        let mut operand = any_operand(slot, shape, arch, numbers, inst.operands[index]);
        if shape != Shape::Immediate {
            let mut signs = signed(slot, shape, operand);
            signs.push(operand);
            operand = signs[numbers.usize(..signs.len())];
        }
        inst.operands[index] = operand;
        if let (Some(bit), OperandKind::Reg(_), Shape::Register) = (slot.reuse, operand.kind, shape) {
            reuse |= u8::from(numbers.bool()) << bit;
        }
    }
    widen(&mut inst);
    join(&mut inst);
    if numbers.bool() {
        inst.guard = Some(Guard { reg: PReg::new(row.guard, numbers.u8(..7)), negated: numbers.bool() });
    }
    let barrier = |numbers: &mut Rng| Some(numbers.u8(..7)).filter(|&index| index < 6);
    let control = Control {
        stall: numbers.u8(1..=11),
        reuse,
        write_barrier: barrier(numbers),
        read_barrier: barrier(numbers),
        wait_mask: numbers.u8(..64),
        ..Control::plain()
    };
    Coded { inst, control, loc: u32::MAX }
}

fn any_operand(
    slot: &Slot,
    shape: Shape,
    arch: Arch,
    numbers: &mut Rng,
    default: Operand<PReg>,
) -> Operand<PReg> {
    let any_uniform = |numbers: &mut Rng| PReg::ur(numbers.u8(..63));
    let address = |numbers: &mut Rng| {
        let base = Some(numbers.u8(..)).filter(|&number| number < 255).map(PReg::r);
        let offset = if numbers.bool() { 0 } else { numbers.i32(-0x80_0000..0x80_0000) };
        let takes_scale = slot.accepts(Kinds::MEM_SCALED, arch) && base.is_some();
        let scale = if takes_scale { [1, 4, 8, 16][numbers.usize(..4)] } else { 1 };
        Address { scale, ..Address::narrow(base, offset) }
    };
    match shape {
        Shape::Absent => slot.default_operand(),
        Shape::Register | Shape::Uniform => {
            let file = file(slot, shape);
            let number = numbers.u8(..=file.count());
            let zero = number == file.count();
            if zero { Operand::zero(file) } else { Operand::reg(PReg::new(file, number)) }
        }
        Shape::Immediate => {
            let len = numbers.u32(..=32);
            let bits = numbers.u32(..) & ((1u64 << len) - 1) as u32;
            Operand::imm(if numbers.u8(..4) == 0 { bits.wrapping_neg() } else { bits })
        }
        Shape::Constant => Operand::constant(numbers.u8(..32), numbers.u32(..0x2000) * 4),
        Shape::IndexedConstant => {
            let index = if slot.kinds.contains(Kinds::CONST_AT_UR) {
                any_uniform(numbers)
            } else {
                PReg::r(numbers.u8(..255))
            };
            Operand::indexed_constant(numbers.u8(..32), index, numbers.i32(-0x8000..0x8000))
        }
        Shape::Address => Operand::mem(address(numbers)),
        Shape::AddressUniform => {
            let place = address(numbers);
            Operand::mem(Address { uniform: Some(any_uniform(numbers)), ..place })
        }
        Shape::AddressDescribed => {
            let place = address(numbers);
            Operand::mem(Address { descriptor: Some(any_uniform(numbers)), ..place })
        }
        Shape::Other if slot.kinds.contains(Kinds::SPECIAL) => {
            Operand::special(SpecialReg::from_code(numbers.u8(..)))
        }
        Shape::Other if slot.kinds.contains(Kinds::CONVERGENCE) => Operand::convergence(numbers.u8(..16)),
        Shape::Other if slot.kinds.meets(Kinds::LABEL.or(Kinds::FUNCTION)) => {
            Operand::code(numbers.i32(0..0x0800_0000) * 16)
        }
        Shape::Other => default,
    }
}
