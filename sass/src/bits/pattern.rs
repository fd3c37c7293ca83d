//! Patterns: a row in one form on one architecture, with every bit accounted for.

use std::sync::LazyLock;

use smallvec::SmallVec;

use super::GUARD;
use crate::arch::Arch;
use crate::control::{Control, Illegal};
use crate::inst::{Inst, Mods};
use crate::operand::{Operand, OperandKind};
use crate::register::{PReg, RegFile, Register};
use crate::table::{
    Bits, Fixed, Form, FormCode, Joint, Kinds, ModKind, Modifier, Op, Place, Row, Shape, Signs, Slot,
};

/// A row in one form on one architecture.
pub(crate) struct Pattern {
    pub(crate) op: Op,
    /// The slots that decide on the form, and their shapes; by index.
    when: SmallVec<[(u8, Shape); 2]>,
    /// The bits that are no field: opcode, fixed bits, and all that nothing names.
    pub(crate) constant: u128,
    /// Their values.
    pub(crate) value: u128,
    /// One for each slot of the row that is not repeated.
    pub(crate) slots: Vec<SlotField>,
    pub(crate) mods: Vec<ModField>,
    /// The reuse flags that the slots have.
    reuse: u8,
    /// The place of the highest of them, if that is outside the control field.
    pub(crate) kept: Bits,
    /// Whether the guard is a field, and not constant.
    pub(crate) has_guard: bool,
}

/// Where a slot is in a pattern.
pub(crate) struct SlotField {
    pub(crate) shape: Shape,
    /// The file of a register in it.
    pub(crate) file: RegFile,
    /// The place in this form: never [`Place::Source`].
    pub(crate) place: Place,
    /// The signs that it takes here.
    pub(crate) signs: Signs,
}

/// One field for one or several modifiers.
pub(crate) struct ModField {
    bits: [Bits; 3],
    /// The positions of the modifiers in the row.
    pub(crate) positions: SmallVec<[u8; 3]>,
    /// For each combination of values, in the order of `positions`, its code.
    codes: Vec<(SmallVec<[u8; 3]>, u16)>,
    /// For each code the index of the combination.
    by_code: Vec<u16>,
}

/// Where, before sm_90, the reuse flag is that the control field has no place for.
const KEPT: Bits = Bits::new(50, 1);

const NO_COMBINATION: u16 = u16::MAX;

impl ModField {
    fn new(bits: [Bits; 3], positions: SmallVec<[u8; 3]>, codes: Vec<(SmallVec<[u8; 3]>, u16)>) -> ModField {
        let mut by_code = vec![NO_COMBINATION; 1 << bits.iter().map(|bits| bits.len).sum::<u8>()];
        for (index, &(_, code)) in codes.iter().enumerate() {
            by_code[usize::from(code)] = index as u16;
        }
        ModField { bits, positions, codes, by_code }
    }

    /// The values that a word has, in the order of the positions.
    pub(crate) fn get(&self, word: u128) -> Option<&[u8]> {
        let (mut code, mut len) = (0, 0);
        for bits in self.bits {
            code |= bits.get(word) << len;
            len += bits.len;
        }
        let index = self.by_code[code as usize];
        self.codes.get(usize::from(index)).map(|(values, _)| &values[..])
    }

    /// The values that an instruction has, in the order of the positions.
    pub(crate) fn values(&self, mods: Mods) -> SmallVec<[u8; 3]> {
        self.positions.iter().map(|&position| mods.get(usize::from(position))).collect()
    }

    /// The bits of a combination of values.
    pub(crate) fn put(&self, values: &[u8]) -> Option<u128> {
        let (_, code) = self.codes.iter().find(|(known, _)| known[..] == *values)?;
        let (mut code, mut word) = (u64::from(*code), 0);
        for bits in self.bits {
            word |= bits.put(code & ((1 << bits.len) - 1))?;
            code >>= bits.len;
        }
        (code == 0).then_some(word)
    }

    fn mask(&self) -> u128 {
        self.bits.iter().fold(0, |mask, bits| mask | bits.mask())
    }

    /// Its mask and its bits, if it has one combination of values only.
    fn settled(&self) -> Option<(u128, u128)> {
        let [(values, _)] = &self.codes[..] else { return None };
        Some((self.mask(), self.put(values)?))
    }
}

/// The shape of an operand in a slot.
fn shape_of(operand: &Operand<PReg>, slot: &Slot) -> Shape {
    let of_file = |file| if file == main_file(slot) { Shape::Register } else { Shape::Uniform };
    match operand.kind {
        _ if slot.is_empty_at_default && *operand == slot.default_operand() => Shape::Absent,
        OperandKind::Zero(file) => of_file(file),
        OperandKind::Reg(reg) => of_file(reg.file()),
        OperandKind::Imm(_) => Shape::Immediate,
        OperandKind::Const { .. } => Shape::Constant,
        OperandKind::IndexedConst { .. } => Shape::IndexedConstant,
        OperandKind::Mem(address) if address.descriptor.is_some() => Shape::AddressDescribed,
        OperandKind::Mem(address) if address.uniform.is_some() || slot.names_uniform => Shape::AddressUniform,
        OperandKind::Mem(_) => Shape::Address,
        OperandKind::Label(_) | OperandKind::Function(_) | OperandKind::Code(_) => Shape::Other,
        OperandKind::Special(_) | OperandKind::Convergence(_) | OperandKind::Predicates => Shape::Other,
    }
}

/// The file whose registers a slot takes, the general one before the uniform one.
fn main_file(slot: &Slot) -> RegFile {
    let files = [RegFile::Gpr, RegFile::Pred, RegFile::Ugpr, RegFile::Upred];
    files.into_iter().find(|&file| slot.kinds.contains(Kinds::of_file(file))).unwrap_or(RegFile::Gpr)
}

/// The shape of the operands of a slot that no form is about.
fn plain_shape(slot: &Slot) -> Shape {
    if slot.names_uniform {
        return Shape::AddressUniform;
    }
    let shapes = [Shape::Register, Shape::Immediate, Shape::Constant, Shape::Address, Shape::AddressUniform];
    shapes.into_iter().find(|&shape| takes(slot, shape, None)).unwrap_or(Shape::Other)
}

/// Whether a slot takes operands of a shape, on the architecture if one is given.
fn takes(slot: &Slot, shape: Shape, arch: Option<Arch>) -> bool {
    let registers = Kinds::R.or(Kinds::P).or(Kinds::UR).or(Kinds::UP);
    let kinds: &[Kinds] = match shape {
        Shape::Absent => return slot.is_empty_at_default,
        Shape::Register if slot.kinds.meets(registers) => &[Kinds::of_file(main_file(slot))],
        Shape::Register => &[],
        Shape::Uniform if main_file(slot).is_uniform() => &[],
        Shape::Uniform => &[Kinds::UR, Kinds::UP],
        Shape::Immediate => &[Kinds::IMM],
        Shape::Constant => &[Kinds::CONST],
        Shape::IndexedConstant => &[Kinds::CONST_AT_R, Kinds::CONST_AT_UR],
        Shape::Address | Shape::AddressDescribed => &[Kinds::MEM],
        Shape::AddressUniform => &[Kinds::MEM_AT_UR],
        Shape::Other => {
            &[Kinds::LABEL, Kinds::FUNCTION, Kinds::SPECIAL, Kinds::CONVERGENCE, Kinds::PREDICATES]
        }
    };
    let accepts = |kinds: Kinds| match arch {
        Some(arch) => slot.accepts(kinds, arch),
        None => slot.kinds.contains(kinds),
    };
    kinds.iter().any(|&kinds| accepts(kinds))
}

impl Pattern {
    /// The pattern of a form; `None` where the architecture lacks it, or a place is not settled.
    fn new(op: Op, form: Option<&Form>, arch: Arch) -> Option<Pattern> {
        let row = op.row();
        let listed = form.map_or(&[][..], |form| form.when);
        let mut when = SmallVec::new();
        for &(name, shape) in listed {
            match row.slot(name) {
                Some(index) if takes(&row.slots[index], shape, Some(arch)) => when.push((index as u8, shape)),
                None if shape == Shape::Register => {}
                _ => return None,
            }
        }
        let mut slots = Vec::new();
        for (index, slot) in row.slots.iter().enumerate().filter(|(_, slot)| !slot.repeated) {
            let listed = when.iter().find(|&&(decides, _)| usize::from(decides) == index);
            let shape = listed.map_or_else(|| plain_shape(slot), |&(_, shape)| shape);
            slots.push(SlotField::new(slot, shape, place_in(row, slot, form))?);
        }
        let mods = mod_fields(row, form, arch)?;
        let flags = row.slots.iter().zip(&slots).filter_map(|(slot, field)| field.reuse(slot, arch));
        let reuse = flags.fold(0, |mask, flag| mask | 1 << flag);
        let kept = if reuse > 7 && arch < Arch::Sm90 { KEPT } else { Bits::NONE };
        let mut pattern =
            Pattern { op, when, constant: 0, value: 0, slots, mods, reuse, kept, has_guard: true };
        pattern.close(row, form, arch);
        Some(pattern)
    }

    /// Works out which bits are constant, and their values.
    fn close(&mut self, row: &Row, form: Option<&Form>, arch: Arch) {
        let pm = u128::from(Control::MAX_PM) << Control::PM_BIT;
        let all = ((1u128 << Control::LOWEST_BIT) - 1) & !pm;
        // A modifier with one value is no field.
        let settled = self.mods.iter().filter_map(ModField::settled);
        let settled = settled.fold((0, 0), |all, one: (u128, u128)| (all.0 | one.0, all.1 | one.1));
        let fields = self.field_masks().fold(0, |mask, (_, bits)| mask | bits) & !settled.0;
        let base = row.opcode_on(arch);
        let opcode = match form.map_or(FormCode::Same, |form| form.code) {
            FormCode::Upper(upper) => base & 0x1ff | u16::from(upper) << 9,
            FormCode::Whole(code) => code,
            FormCode::Same => base,
        };
        let mut value = u128::from(opcode) | settled.1;
        for fixed in fixed_bits(row, form, arch) {
            value |= fixed.bits.put(fixed.value).unwrap_or(0);
            self.has_guard &= fixed.bits.lo != GUARD;
        }
        let guard = if self.has_guard { Bits::new(GUARD, 4).mask() } else { 0 };
        self.constant = all & !fields & !guard;
        self.value = value;
    }

    /// The fields, each with a name for messages.
    pub(crate) fn field_masks(&self) -> impl Iterator<Item = (&'static str, u128)> + '_ {
        let row = self.op.row();
        let slots = row.slots.iter().zip(&self.slots);
        let slots = slots.map(|(slot, field)| (slot.name, field.mask()));
        let mods = self.mods.iter().map(|field| ("a modifier", field.mask()));
        slots.chain(mods).chain([("a reuse flag", self.kept.mask())])
    }

    /// Whether it is the form for these values of modifiers.
    pub(crate) fn has_codes(&self, mods: Mods) -> bool {
        self.mods.iter().all(|field| field.put(&field.values(mods)).is_some())
    }

    /// Whether an instruction of the pattern can have this control field: the scoreboards that its row can name, and
    /// the reuse flags of the registers that stand in its text.
    ///
    /// # Errors
    /// With what it lacks.
    pub(crate) fn check_control(
        &self,
        control: &Control,
        inst: &Inst<PReg>,
        arch: Arch,
    ) -> Result<(), Illegal> {
        let row = self.op.row();
        match (control.write_barrier, control.read_barrier) {
            (Some(index), _) if !row.scoreboards.write => return Err(Illegal::WriteScoreboard(index)),
            (_, Some(index)) if !row.scoreboards.read => return Err(Illegal::ReadScoreboard(index)),
            _ if control.wait_mask != 0 && !row.scoreboards.waits => return Err(Illegal::Waits),
            _ if control.reuse == 0 => return Ok(()),
            _ => {}
        }
        let hidden = row.slots.iter().zip(&self.slots);
        let hidden = hidden.filter(|(slot, _)| slot.hidden_with.is_some_and(|text| inst.has(text)));
        let hidden = hidden.filter_map(|(slot, field)| field.reuse(slot, arch));
        let allowed = hidden.fold(self.reuse, |mask, flag| mask & !(1 << flag));
        match control.reuse & !allowed {
            0 => Ok(()),
            others => Err(Illegal::ReuseFlags(others)),
        }
    }

    /// Whether it is the form for these operands.
    pub(crate) fn fits(&self, operands: &[Operand<PReg>]) -> bool {
        let row = self.op.row();
        self.when.iter().all(|&(index, shape)| {
            let index = usize::from(index);
            operands.get(index).is_some_and(|operand| shape_of(operand, &row.slots[index]) == shape)
        })
    }
}

/// The place of a slot in a form: its own, one that the form has for it, or that of the other of b and c.
fn place_in(row: &Row, slot: &Slot, form: Option<&Form>) -> Place {
    let Some(form) = form else { return slot.place };
    let place_of = |slot: &Slot| {
        let elsewhere = form.places.iter().find(|&&(name, _)| name == slot.name);
        elsewhere.map_or(slot.place, |&(_, place)| place)
    };
    let is_c = |place: Place| matches!(place, Place::C | Place::HALF_C);
    match place_of(slot) {
        Place::B if form.swaps => {
            row.slots.iter().map(place_of).find(|&place| is_c(place)).unwrap_or(Place::C)
        }
        place if form.swaps && is_c(place) => Place::B,
        place => place,
    }
}

/// What is fixed in a form.
fn fixed_bits<'a>(row: &'a Row, form: Option<&'a Form>, arch: Arch) -> impl Iterator<Item = &'a Fixed> {
    let of_form = form.map_or(&[][..], |form| form.fixed);
    row.fixed.iter().chain(of_form).filter(move |fixed| fixed.archs.contains(arch))
}

/// The fields of a row's modifiers in a form; `None` where one has no place yet.
fn mod_fields(row: &Row, form: Option<&Form>, arch: Arch) -> Option<Vec<ModField>> {
    let mut fields = Vec::new();
    let of_form = form.map_or(&[][..], |form| form.joint).iter().filter(|joint| joint.archs.contains(arch));
    let of_form: SmallVec<[&Joint; 4]> = of_form.collect();
    let is_elsewhere = |kind: &ModKind| of_form.iter().any(|joint: &&Joint| joint.kinds.contains(kind));
    let of_row = row.joint.iter().filter(|joint| joint.archs.contains(arch));
    let of_row = of_row.filter(|joint| !joint.kinds.iter().any(is_elsewhere));
    let joints: SmallVec<[&Joint; 4]> = of_row.chain(of_form.iter().copied()).collect();
    let allows = |kind: ModKind, value: &str| {
        let listed = form.map_or(&[][..], |form| form.with).iter().find(|&&(with, _)| with == kind);
        listed.is_none_or(|(_, values)| values.contains(&value))
    };
    let joint = |modifier: &Modifier| joints.iter().any(|joint| joint.kinds.contains(&modifier.kind));
    for (position, modifier) in row.mods.iter().enumerate().filter(|(_, modifier)| !joint(modifier)) {
        let exists = |value: &&str| modifier.exists(value, arch) && allows(modifier.kind, value);
        let values = modifier.values.iter().enumerate().filter(|(_, value)| exists(value));
        let has_place = !modifier.bits.is_none();
        let codes = values.map(|(index, _)| {
            let code = if has_place { modifier.code(index, arch) } else { 0 };
            (SmallVec::from_slice(&[index as u8]), code)
        });
        let codes: Vec<_> = codes.collect();
        if !has_place && codes.len() > 1 {
            return None;
        }
        let positions = SmallVec::from_slice(&[position as u8]);
        fields.push(ModField::new([modifier.bits, modifier.high[0], modifier.high[1]], positions, codes));
    }
    for joint in joints {
        let place = |kind| row.mods.iter().position(|modifier| modifier.kind == kind);
        let positions: Option<SmallVec<[u8; 3]>> =
            joint.kinds.iter().map(|&kind| place(kind).map(|position| position as u8)).collect();
        let positions = positions?;
        let mut codes = Vec::new();
        for &(texts, code) in joint.codes {
            let values: Option<SmallVec<[u8; 3]>> = (positions.iter().zip(texts))
                .map(|(&position, text)| {
                    let modifier = &row.mods[usize::from(position)];
                    let value = modifier.values.iter().position(|value| value == text);
                    value
                        .filter(|_| modifier.exists(text, arch) && allows(modifier.kind, text))
                        .map(|value| value as u8)
                })
                .collect();
            codes.extend(values.map(|values| (values, code)));
        }
        fields.push(ModField::new([joint.bits, Bits::NONE, Bits::NONE], positions, codes));
    }
    Some(fields)
}

impl SlotField {
    fn new(slot: &Slot, shape: Shape, place: Place) -> Option<SlotField> {
        let main = main_file(slot);
        let file = match (shape, main) {
            (Shape::Uniform, RegFile::Gpr) => RegFile::Ugpr,
            (Shape::Uniform, RegFile::Pred) => RegFile::Upred,
            _ => main,
        };
        let (place, signs) = match place {
            Place::Nowhere => return None,
            _ if shape == Shape::Absent => (Place::Absent, Signs::NONE),
            Place::Number(_, signs) | Place::Complement(_, signs) => (place, signs),
            Place::Source(bits, signs) => {
                let place = match shape {
                    Shape::Register => Place::Number(bits, signs),
                    Shape::Uniform => Place::Number(Place::UNIFORM, signs),
                    Shape::Immediate => Place::Number(Place::WIDE, signs),
                    _ => {
                        let (offset, bank) = (Place::CONSTANT_OFFSET, Place::CONSTANT_BANK);
                        Place::Constant { index: Bits::NONE, offset, bank }
                    }
                };
                (place, signs)
            }
            other => (other, Signs::NONE),
        };
        // The numbers of uniform registers have 6 bits wherever they stand.
        let place = match place {
            Place::Number(bits, signs) if file == RegFile::Ugpr && shape != Shape::Immediate => {
                Place::Number(Bits::new(bits.lo, bits.len.min(6)), signs)
            }
            place => place,
        };
        let signs = if shape == Shape::Immediate { Signs::NONE } else { signs };
        let signs = Signs {
            neg: if slot.neg || slot.not { signs.neg } else { Bits::NONE },
            abs: if slot.abs { signs.abs } else { Bits::NONE },
            half: if slot.halves == crate::table::Halves::None { Bits::NONE } else { signs.half },
        };
        Some(SlotField { shape, file, place, signs })
    }

    /// The reuse flag that a register in it has.
    fn reuse(&self, slot: &Slot, arch: Arch) -> Option<u8> {
        let has_flag = self.shape == Shape::Register && slot.reuse_on.contains(arch);
        slot.reuse.filter(|_| has_flag)
    }

    /// The file of the register part of an indexed constant.
    pub(crate) fn file_of_index(&self, slot: &Slot) -> RegFile {
        if slot.kinds.contains(Kinds::CONST_AT_UR) { RegFile::Ugpr } else { RegFile::Gpr }
    }

    fn mask(&self) -> u128 {
        let place = match self.place {
            Place::Nowhere | Place::Absent | Place::Repeats(_) => 0,
            Place::Number(bits, _) | Place::Complement(bits, _) | Place::Source(bits, _) => bits.mask(),
            Place::Target { bits, low, .. } => bits.mask() | low.mask(),
            Place::Split(low, high) => low.mask() | high.mask(),
            Place::Constant { index, offset, bank } => index.mask() | offset.mask() | bank.mask(),
            Place::Address(at) => {
                let uniform = if self.shape == Shape::Address { 0 } else { at.uniform.mask() };
                let wide = if self.shape == Shape::AddressUniform { at.wide.mask() } else { 0 };
                at.base.mask() | wide | at.scale.mask() | at.offset.mask() | uniform
            }
        };
        place | self.signs.neg.mask() | self.signs.abs.mask() | self.signs.half.mask()
    }
}

/// The patterns of an architecture.
pub(crate) struct Patterns {
    /// By operation, in table order.
    patterns: Vec<Pattern>,
    /// For each operation the range of its patterns.
    of_op: Vec<std::ops::Range<u32>>,
    /// For each opcode its patterns, those with more constant bits first.
    of_code: Vec<SmallVec<[u32; 4]>>,
}

impl Patterns {
    /// The patterns of an architecture; built when first asked for.
    pub(crate) fn of(arch: Arch) -> &'static Patterns {
        static ALL: LazyLock<[LazyLock<Patterns>; Arch::ALL.len()]> = LazyLock::new(|| {
            [
                LazyLock::new(|| Patterns::new(Arch::Sm75)),
                LazyLock::new(|| Patterns::new(Arch::Sm80)),
                LazyLock::new(|| Patterns::new(Arch::Sm86)),
                LazyLock::new(|| Patterns::new(Arch::Sm89)),
                LazyLock::new(|| Patterns::new(Arch::Sm90)),
            ]
        });
        &ALL[arch as usize]
    }

    fn new(arch: Arch) -> Patterns {
        let (mut patterns, mut of_op) = (Vec::new(), Vec::new());
        for &op in Op::ALL {
            let (row, start) = (op.row(), patterns.len() as u32);
            if row.archs.contains(arch) && row.opcode_on(arch) != 0 {
                if row.forms.is_empty() {
                    patterns.extend(Pattern::new(op, None, arch));
                }
                let forms = row.forms.iter().filter(|form| form.archs.contains(arch));
                patterns.extend(forms.filter_map(|form| Pattern::new(op, Some(form), arch)));
            }
            of_op.push(start..patterns.len() as u32);
        }
        let mut of_code = vec![SmallVec::new(); 1 << 12];
        for (index, pattern) in patterns.iter().enumerate() {
            of_code[(pattern.value & 0xfff) as usize].push(index as u32);
        }
        for list in &mut of_code {
            list.sort_by_key(|&index| std::cmp::Reverse(patterns[index as usize].constant.count_ones()));
        }
        Patterns { patterns, of_op, of_code }
    }

    /// The patterns of an operation.
    pub(crate) fn of_op(&self, op: Op) -> &[Pattern] {
        let range = &self.of_op[op as usize];
        &self.patterns[range.start as usize..range.end as usize]
    }

    /// The patterns of an opcode, bits 0 to 11.
    pub(crate) fn of_code(&self, code: u16) -> impl Iterator<Item = &Pattern> {
        self.of_code[usize::from(code & 0xfff)].iter().map(|&index| &self.patterns[index as usize])
    }

    /// Every pattern.
    #[cfg(test)]
    pub(crate) fn all(&self) -> &[Pattern] {
        &self.patterns
    }
}
