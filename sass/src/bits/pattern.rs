//! Patterns: a row in one form on one architecture, with every bit accounted for.

use std::sync::OnceLock;

use ptxc_machine::{Arch, Feature, PerArch, per_arch};
use smallvec::SmallVec;

use super::field::{ModField, SlotField};
use super::{GUARD, OPERATION};
use crate::control::{Control, Illegal};
use crate::operand::{Operand, OperandKind};
use crate::register::{PReg, RegFile, Register};
use crate::table::Mods;
use crate::table::{
    Bits, Fixed, Form, FormCode, Joint, Kinds, ModKind, Modifier, Op, Place, Row, Shape, Slot,
};

/// A row in one form on one architecture.
pub(crate) struct Pattern {
    pub(crate) op: Op,
    /// Its row.
    pub(crate) row: &'static Row,
    /// The bits outside all fields: opcode, fixed bits, and all bits that nothing names.
    pub(crate) constant: u128,
    /// The values of the constant bits.
    pub(crate) value: u128,
    /// One field for each slot of the row that is not repeated.
    pub(crate) slots: Vec<SlotField>,
    pub(crate) mods: Vec<ModField>,
    /// The modifier that makes addresses 64 bits, by position and value.
    extended: Option<(u8, u8)>,
    /// The reuse flags that the slots have.
    reuse: u8,
    /// The reuse flags of slots whose place a modifier may take, and the indices of these slots.
    hidden_reuse: Vec<(u8, u8)>,
    /// The place of the highest reuse flag, if it is outside the control field.
    pub(crate) kept: Bits,
    /// Whether the guard is a field, and not constant.
    pub(crate) has_guard: bool,
    /// The bits of the signs that an instruction must [not have together](Slot::sole_sign).
    clashing: u128,
}

/// The value of [`ModKind::Extended`] with which addresses are 64 bits.
const EXTENDED: &str = ".E";

/// The place of the reuse flag that is not part of the control field
/// ([`Feature::ReuseFlagInWord`]).
const KEPT: Bits = Bits::new(50, 1);

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
        OperandKind::SharedEnd(_)
        | OperandKind::Special(_)
        | OperandKind::Convergence(_)
        | OperandKind::Predicates => Shape::Other,
    }
}

/// The file whose registers a slot takes; the general file, if it takes general and uniform
/// registers.
pub(super) fn main_file(slot: &Slot) -> RegFile {
    let files = [RegFile::Gpr, RegFile::Pred, RegFile::Ugpr, RegFile::Upred];
    files.into_iter().find(|&file| slot.kinds.contains(Kinds::of_file(file))).unwrap_or(RegFile::Gpr)
}

/// The shape of the operands of a slot that no form mentions.
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

/// The slots of a row that decide on a form, by index, and their shapes.
type When = SmallVec<[(u8, Shape); 2]>;

/// A form of an operation on an architecture. Its pattern is made on first use, since a program
/// uses few of the forms.
struct Candidate {
    op: Op,
    form: Option<&'static Form>,
    arch: Arch,
    when: When,
    pattern: OnceLock<Option<Pattern>>,
}

impl Candidate {
    /// `None` if the architecture lacks the form.
    fn new(op: Op, form: Option<&'static Form>, arch: Arch) -> Option<Candidate> {
        let row = op.row();
        let mut when = When::new();
        for &(name, shape) in form.map_or(&[][..], |form| form.when) {
            match row.slot(name) {
                Some(index) if takes(&row.slots[index], shape, Some(arch)) => when.push((index as u8, shape)),
                None if shape == Shape::Register => {}
                _ => return None,
            }
        }
        Some(Candidate { op, form, arch, when, pattern: OnceLock::new() })
    }

    /// Whether it is the form for these operands.
    fn fits(&self, operands: &[Operand<PReg>]) -> bool {
        let row = self.op.row();
        self.when.iter().all(|&(index, shape)| {
            let index = usize::from(index);
            operands.get(index).is_some_and(|operand| shape_of(operand, &row.slots[index]) == shape)
        })
    }

    /// The form's pattern; `None` if a place is not known.
    fn pattern(&self) -> Option<&Pattern> {
        let make = || Pattern::new(self.op, self.form, &self.when, self.arch);
        self.pattern.get_or_init(make).as_ref()
    }
}

impl Pattern {
    /// The pattern of a form with these deciding slots; `None` if a place is not known.
    fn new(op: Op, form: Option<&Form>, when: &When, arch: Arch) -> Option<Pattern> {
        let row = op.row();
        let mut slots = Vec::with_capacity(row.slots.len());
        for (index, slot) in row.slots.iter().enumerate().filter(|(_, slot)| !slot.repeated) {
            let listed = when.iter().find(|&&(decides, _)| usize::from(decides) == index);
            let shape = listed.map_or_else(|| plain_shape(slot), |&(_, shape)| shape);
            slots.push(SlotField::new(row, slot, shape, place_in(row, slot, form), arch)?);
        }
        let mods = mod_fields(row, form, arch)?;
        let flags = row.slots.iter().zip(&slots).filter_map(|(slot, field)| field.reuse(slot, arch));
        let reuse = flags.fold(0, |mask, flag| mask | 1 << flag);
        let kept = if reuse > 7 && arch.has(Feature::ReuseFlagInWord) { KEPT } else { Bits::NONE };
        let position = row.mods.iter().position(|modifier| modifier.kind == ModKind::Extended);
        let extended = position.and_then(|position| {
            let value = row.mods[position].values.iter().position(|&value| value == EXTENDED)?;
            Some((position as u8, value as u8))
        });
        let hidden_reuse = (0u8..).zip(row.slots.iter().zip(&slots));
        let hidden_reuse = hidden_reuse.filter(|(_, (slot, _))| slot.hidden_with.is_some());
        let hidden_reuse = hidden_reuse
            .filter_map(|(index, (slot, field))| Some((field.reuse(slot, arch)?, index)))
            .collect();
        let mut pattern = Pattern {
            op,
            row,
            constant: 0,
            value: 0,
            slots,
            mods,
            extended,
            reuse,
            hidden_reuse,
            kept,
            has_guard: true,
            clashing: 0,
        };
        pattern.close_signs();
        pattern.close(row, form, arch);
        Some(pattern)
    }

    /// Computes which signs exclude each other. An immediate has none.
    fn close_signs(&mut self) {
        let marked = self.row.slots.iter().zip(&self.slots).filter(|(slot, _)| slot.sole_sign);
        let signs = marked.map(|(_, field)| field.signs.neg.mask()).filter(|&mask| mask != 0);
        let (count, mask) = signs.fold((0, 0), |(count, all), mask| (count + 1, all | mask));
        debug_assert!(count <= 2, "of more than two slots a mask does not tell whether one has a sign");
        self.clashing = if count == 2 { mask } else { 0 };
    }

    /// Computes which bits are constant, and their values.
    fn close(&mut self, row: &Row, form: Option<&Form>, arch: Arch) {
        let pm = u128::from(Control::MAX_PM) << Control::PM_BIT;
        let all = ((1u128 << Control::LOWEST_BIT) - 1) & !pm;
        // A modifier with only one value needs no field.
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
        let slots = self.row.slots.iter().zip(&self.slots);
        let slots = slots.map(|(slot, field)| (slot.name, field.mask()));
        let mods = self.mods.iter().map(|field| ("a modifier", field.mask()));
        slots.chain(mods).chain([("a reuse flag", self.kept.mask())])
    }

    /// Whether it is the form for these values of modifiers.
    pub(crate) fn has_codes(&self, mods: Mods) -> bool {
        self.mods.iter().all(|field| field.put(mods).is_some())
    }

    /// Checks that an instruction of the pattern can have this control field: its row must be able
    /// to name the scoreboards, and the reuse flags must belong to registers in its text.
    ///
    /// # Errors
    /// If the instruction cannot have a part of the control field.
    #[inline]
    pub(crate) fn check_control(&self, control: &Control, mods: Mods) -> Result<(), Illegal> {
        let scoreboards = self.row.scoreboards;
        match (control.write_barrier, control.read_barrier) {
            (Some(index), _) if !scoreboards.write => return Err(Illegal::WriteScoreboard(index)),
            (_, Some(index)) if !scoreboards.read => return Err(Illegal::ReadScoreboard(index)),
            _ if control.wait_mask != 0 && !scoreboards.waits => return Err(Illegal::Waits),
            _ if control.reuse == 0 => return Ok(()),
            _ => {}
        }
        let hidden = self.hidden_reuse.iter().filter(|&&(_, index)| {
            self.slots.get(usize::from(index)).is_some_and(|field| field.is_hidden(mods))
        });
        let allowed = hidden.fold(self.reuse, |mask, (flag, _)| mask & !(1 << flag));
        match control.reuse & !allowed {
            0 => Ok(()),
            others => Err(Illegal::ReuseFlags(others)),
        }
    }

    /// Whether a word of the pattern has signs that the hardware does not take together.
    #[inline]
    pub(crate) fn has_clashing_signs(&self, word: u128) -> bool {
        self.clashing != 0 && word & self.clashing == self.clashing
    }

    /// Whether addresses are 64 bits with these modifiers.
    pub(crate) fn is_extended(&self, mods: Mods) -> bool {
        self.extended.is_some_and(|(position, value)| mods.get(usize::from(position)) == value)
    }
}

/// The place of a slot in a form: its own place, the place that the form gives it, or, if b and c
/// are swapped, the place of the other one.
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

/// The fixed bits of a form.
fn fixed_bits<'a>(row: &'a Row, form: Option<&'a Form>, arch: Arch) -> impl Iterator<Item = &'a Fixed> {
    let of_form = form.map_or(&[][..], |form| form.fixed);
    row.fixed.iter().chain(of_form).filter(move |fixed| fixed.archs.contains(arch))
}

/// The fields of a row's modifiers in a form; `None` if the place of one is not known.
fn mod_fields(row: &Row, form: Option<&Form>, arch: Arch) -> Option<Vec<ModField>> {
    let mut fields = Vec::with_capacity(row.mods.len());
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
        let mut codes = Vec::with_capacity(modifier.values.len());
        for (index, _) in values {
            let mut mods = Mods::FIRST;
            mods.set(position, index as u8);
            codes.push((mods, if has_place { modifier.code(index, arch) } else { 0 }));
        }
        if !has_place && codes.len() > 1 {
            return None;
        }
        fields.push(ModField::new(
            [modifier.bits, modifier.high[0], modifier.high[1]],
            &[position as u8],
            codes,
        ));
    }
    for joint in joints {
        let place = |kind| row.mods.iter().position(|modifier| modifier.kind == kind);
        let positions: Option<SmallVec<[u8; 3]>> =
            joint.kinds.iter().map(|&kind| place(kind).map(|position| position as u8)).collect();
        let positions = positions?;
        let combination = |texts: &[&'static str]| {
            let mut mods = Mods::FIRST;
            for (&position, text) in positions.iter().zip(texts) {
                let modifier = &row.mods[usize::from(position)];
                let value = modifier.values.iter().position(|value| value == text)?;
                if !modifier.exists(text, arch) || !allows(modifier.kind, text) {
                    return None;
                }
                mods.set(usize::from(position), value as u8);
            }
            Some(mods)
        };
        let codes = joint.codes.iter().filter_map(|&(texts, code)| Some((combination(texts)?, code)));
        let codes = codes.collect();
        fields.push(ModField::new([joint.bits, Bits::NONE, Bits::NONE], &positions, codes));
    }
    Some(fields)
}

/// The forms of an operation on an architecture.
fn candidates(op: Op, arch: Arch) -> &'static [Candidate] {
    static ALL: PerArch<[OnceLock<Vec<Candidate>>; Op::ALL.len()]> =
        per_arch!(ARCH => [const { OnceLock::new() }; Op::ALL.len()]);
    ALL.get(arch)[op as usize].get_or_init(|| {
        let row = op.row();
        if !row.archs.contains(arch) || row.opcode_on(arch) == 0 {
            return Vec::new();
        }
        if row.forms.is_empty() {
            return Candidate::new(op, None, arch).into_iter().collect();
        }
        let forms = row.forms.iter().filter(|form| form.archs.contains(arch));
        let mut all = Vec::with_capacity(row.forms.len());
        all.extend(forms.filter_map(|form| Candidate::new(op, Some(form), arch)));
        all
    })
}

/// The patterns of an operation on an architecture, in table order.
pub(crate) fn of_op(op: Op, arch: Arch) -> impl Iterator<Item = &'static Pattern> {
    candidates(op, arch).iter().filter_map(Candidate::pattern)
}

/// The patterns of an operation on an architecture that fit these operands.
pub(crate) fn fitting(
    op: Op,
    arch: Arch,
    operands: &[Operand<PReg>],
) -> impl Iterator<Item = &'static Pattern> {
    candidates(op, arch).iter().filter(|one| one.fits(operands)).filter_map(Candidate::pattern)
}

/// Every pattern of an architecture, in table order.
pub(crate) fn all(arch: Arch) -> impl Iterator<Item = &'static Pattern> {
    Op::ALL.iter().flat_map(move |&op| of_op(op, arch))
}

/// The patterns of an architecture by opcode.
pub(crate) struct ByCode {
    /// All patterns by opcode; for each opcode, those with more constant bits first.
    patterns: Vec<&'static Pattern>,
    /// For each opcode the index of its first pattern in `patterns`; one more entry for the end.
    starts: Vec<u32>,
}

impl ByCode {
    /// The patterns of an architecture; sorted on first use.
    pub(crate) fn of(arch: Arch) -> &'static ByCode {
        static ALL: PerArch<OnceLock<ByCode>> = per_arch!(ARCH => OnceLock::new());
        ALL.get(arch).get_or_init(|| ByCode::new(arch))
    }

    fn new(arch: Arch) -> ByCode {
        let code = |pattern: &Pattern| (pattern.value & OPERATION) as usize;
        let mut patterns: Vec<&Pattern> = all(arch).collect();
        patterns.sort_by_key(|pattern| (code(pattern), std::cmp::Reverse(pattern.constant.count_ones())));
        let starts =
            (0..=OPERATION as usize + 1).map(|end| patterns.partition_point(|pattern| code(pattern) < end));
        let starts = starts.map(|start| start as u32).collect();
        ByCode { patterns, starts }
    }

    /// The patterns of an opcode, bits 0 to 11.
    pub(crate) fn get(&self, code: u16) -> &[&'static Pattern] {
        let code = usize::from(code) & OPERATION as usize;
        &self.patterns[self.starts[code] as usize..self.starts[code + 1] as usize]
    }
}
