//! Whether operands match a form of an instruction.
//!
//! In: a form (a row of the [`table`] with its choices) and the operands as written. Out: findings
//! about number, kind, type, vector size, state space and the range of constants. Undeclared names
//! were reported before ([`names`](super::names)) and match everything here.

use ptxc_syntax::ast::{Expr, Instruction, Operand, OperandKind, Vector};
use ptxc_syntax::const_eval::Constant;
use ptxc_syntax::{Name, NodeId};

use super::codes;
use super::forms::Form;
use super::names::{Names, Thing};
use super::signature;
use super::table::{self, Kind, Lanes, Mnemonic, Modifier, OperandPresence, Range, Value};
use super::types::{Class, Scalar};
use crate::diagnostic::Diagnostic;

/// Checks the operands of one instruction against one form.
pub struct Operands<'a, 'n> {
    /// The meaning of names here.
    pub names: &'a Names<'n>,
    /// The form.
    pub form: &'a Form,
    /// The instruction.
    pub instruction: &'a Instruction,
    /// The findings.
    pub out: Vec<Diagnostic>,
}

impl Operands<'_, '_> {
    /// Checks all operands.
    pub fn check(&mut self) {
        if self.form.row.operands.iter().any(|spec| spec.kind == Kind::Call) {
            // The operands of calls have a special shape, see `calls`.
            return;
        }
        if self.is_turned_round() {
            return;
        }
        match signature::beside(self.form, &self.instruction.operands) {
            Ok(pairs) => pairs.into_iter().for_each(|(spec, operand)| self.operand(spec, operand)),
            Err((least, most)) => self.count(least, most),
        }
        self.selectors();
    }

    /// A load or store with swapped address and register: one mistake and one finding.
    fn is_turned_round(&mut self) -> bool {
        let [first, second] = &self.instruction.operands[..] else { return false };
        let is_address = |operand: &Operand| matches!(operand.kind, OperandKind::Address(_));
        let (what, order) = match self.form.row.instruction {
            Mnemonic::Ld if is_address(first) && !is_address(second) => {
                ("a load", "first the register, then the address")
            }
            _ if self.stores() && !is_address(first) && is_address(second) => {
                ("a store", "first the address, then the value")
            }
            _ => return false,
        };
        let message = format!("the operands of `{}` are swapped", self.opcode());
        self.out.push(
            Diagnostic::error(codes::OPERAND_KIND, first.id, message)
                .label("this comes second")
                .also(second.id, "this comes first")
                .help(format!("swap them: {what} takes {order}")),
        );
        true
    }

    /// Whether elements of the stored vector may be `_` and stay as they are in memory: those of
    /// 256 bits may.
    fn masks(&self) -> bool {
        self.form.row.instruction == Mnemonic::St
            && self.form.vector().is_some_and(|(element, count, _)| element.bits() * count == 256)
    }

    pub(super) fn stores(&self) -> bool {
        matches!(self.form.row.instruction, Mnemonic::St | Mnemonic::StAsync | Mnemonic::StBulk)
    }

    pub(super) fn opcode(&self) -> String {
        self.instruction.opcode.to_string()
    }

    fn count(&mut self, least: usize, most: usize) {
        let operands = &self.instruction.operands;
        let wanted = match (least, most) {
            (0, 0) => "no operands".to_string(),
            (1, 1) => "one operand".to_string(),
            _ if least == most => format!("{least} operands"),
            _ => format!("{least} to {most} operands"),
        };
        let node = match operands.get(most) {
            Some(first_too_many) => first_too_many.id,
            None => operands.last().map_or(self.instruction.opcode.part_id(0), |last| last.id),
        };
        let there =
            if operands.len() == 1 { "found 1".to_string() } else { format!("found {}", operands.len()) };
        let finding = |node| {
            Diagnostic::error(codes::OPERAND_COUNT, node, format!("`{}` expects {wanted}", self.opcode()))
        };
        let is_reduction = matches!(self.form.row.instruction, Mnemonic::Red | Mnemonic::RedAsync);
        let meets = match self.form.row.instruction {
            Mnemonic::BarWarp => true,
            Mnemonic::Shfl | Mnemonic::Vote | Mnemonic::Match | Mnemonic::Redux | Mnemonic::Elect => {
                self.form.says(Modifier::Sync)
            }
            _ => false,
        };
        let first = operands.first().filter(|first| !matches!(first.kind, OperandKind::Address(_)));
        self.out.push(match first {
            Some(first) if is_reduction && operands.len() == most + 1 => finding(first.id)
                .label("`red` has no result")
                .note("`red` returns no value; the vector examples with such an operand on its page of the PTX ISA are wrong")
                .help("remove the operand, or write `atom` to get the old value"),
            _ if meets && operands.len() + 1 == least => finding(node)
                .label(there)
                .note("the last operand is the mask of the threads of the warp that take part and wait for each other")
                .help("write `0xffffffff` as the last operand for the whole warp"),
            _ => {
                // The range of the missing operand, if it may be a constant.
                let missing = self.form.row.operands.get(operands.len()).filter(|missing| {
                    operands.len() < most && missing.presence == OperandPresence::Always
                });
                let range = missing.and_then(|missing| match &missing.kind {
                    Kind::Value(value) => value.range,
                    _ => None,
                });
                let mut finding = finding(node).label(there).note(signature::in_words(self.form, &self.opcode()));
                finding.notes.extend(range.and_then(|range| range.rule).map(str::to_string));
                finding.help = range.and_then(|range| range.help).map(str::to_string);
                // `%rd1 [out]` is an element of an array, even with a space or line break in
                // between.
                let element = operands.iter().find_map(|operand| match &operand.kind {
                    OperandKind::Element(element) => Some(&**element),
                    _ => None,
                });
                if let Some((name, index)) = element
                    && operands.len() + 1 == least
                {
                    let index = index.base.as_ref().map_or("…", Name::as_str);
                    finding.help = Some(format!("write a comma between `{name}` and `[{index}]` to separate the operands"));
                }
                finding
            }
        });
    }

    fn operand(&mut self, spec: &table::Operand, operand: &Operand) {
        match &spec.kind {
            Kind::Value(value) => self.value(value, spec.written, operand),
            Kind::Constant(range) => match operand.as_immediate() {
                Some(expr) => self.constant(Scalar::U32, *range, expr, operand.id),
                None => self.wrong_kind(operand, "a constant"),
            },
            Kind::Address(space) => match &operand.kind {
                OperandKind::Address(address) => self.address(*space, address, operand.id),
                kind => {
                    let known = self.out.len();
                    self.wrong_kind(operand, "an address in brackets");
                    let name = match kind {
                        OperandKind::Symbol(name) => Some(name),
                        _ => None,
                    };
                    if let (Some(finding), Some(name)) = (self.out.get_mut(known), name) {
                        finding.help = Some(format!("write `[{name}]`"));
                    }
                }
            },
            Kind::Texture => match &operand.kind {
                OperandKind::Address(address) => self.coordinates(address),
                _ => self.wrong_kind(operand, "a texture or surface in brackets"),
            },
            Kind::Pack(ty) => self.pack(*ty, spec.written, operand),
            Kind::Discard => {
                if operand.kind != OperandKind::Sink {
                    self.wrong_kind(operand, "`_` instead of a result");
                }
            }
            Kind::Label => self.name_of(operand, codes::NOT_A_LABEL, Thing::Label, "a label"),
            Kind::TargetList => {
                self.name_of(
                    operand,
                    codes::NOT_A_LABEL,
                    Thing::BranchTargets,
                    "the label of a `.branchtargets` list",
                );
            }
            Kind::Any | Kind::Call => {}
        }
    }

    fn name_of(&mut self, operand: &Operand, code: ptxc_syntax::codes::Code, wanted: Thing, what: &str) {
        let Some(name) = operand.as_symbol() else { return self.wrong_kind(operand, what) };
        match self.names.find(name) {
            Some(thing) if thing != wanted => {
                let finding =
                    Diagnostic::error(code, operand.id, format!("`{}` expects {what}", self.opcode()));
                self.out.push(finding.label(format!("`{name}` is {}", thing.describe())));
            }
            _ => {}
        }
    }

    pub(super) fn wrong_kind(&mut self, operand: &Operand, wanted: &str) {
        let there = match &operand.kind {
            OperandKind::Sink => "`_`, a discarded result".to_string(),
            OperandKind::Symbol(name) => match self.names.find(name) {
                Some(thing) => thing.describe(),
                None => return,
            },
            OperandKind::Selected(..) => "a part of a register".to_string(),
            OperandKind::Immediate(_) => "a constant".to_string(),
            OperandKind::SymbolOffset(sum) => {
                match sum.base.as_ref().and_then(|base| self.names.find(base)) {
                    Some(Thing::Register(..) | Thing::Special(_)) => {
                        "the sum of a register and a constant".to_string()
                    }
                    _ => "the address of a variable".to_string(),
                }
            }
            OperandKind::Element(..) => "an element of an array".to_string(),
            OperandKind::Address(_) => "an address in brackets".to_string(),
            OperandKind::Vector(list) => format!("a vector of {}", list.len()),
            OperandKind::Pair(_) => "a pair of results".to_string(),
            OperandKind::Not(_) => "negated".to_string(),
            OperandKind::Minus(_) => "a register with a minus sign".to_string(),
            OperandKind::Arguments(_) => "a list in parentheses".to_string(),
            OperandKind::String(_) => "a string".to_string(),
        };
        let message = format!("`{}` expects {wanted}, found {there}", self.opcode());
        self.out.push(
            Diagnostic::error(codes::OPERAND_KIND, operand.id, message).label(format!("this is {there}")),
        );
    }

    fn value(&mut self, value: &Value, written: bool, operand: &Operand) {
        let Some(ty) = self.form.scalar(value.ty) else { return };
        if let OperandKind::Pair(pair) = &operand.kind {
            let Some((second, _)) = value.second else { return self.wrong_kind(operand, "one result") };
            self.value(&Value { second: None, ..value.clone() }, written, &pair.0);
            if let Some(second) = self.form.scalar(second) {
                self.scalar(&Value { discard: true, ..value.clone() }, second, written, &pair.1);
            }
            return;
        }
        if let Some((_, false)) = value.second {
            return self.wrong_kind(operand, "two results, `d|p`");
        }
        let lanes = match value.lanes {
            Lanes::One => None,
            Lanes::Fixed(count) => Some(count),
            Lanes::Any => operand.elements().map(|list| list.len() as u32),
            Lanes::Group(group) => self.form.choice(group).map(|choice| count_of(choice.text)),
            Lanes::Columns(group, divisor) => {
                self.form.choice(group).and_then(|choice| table::columns_of(choice.text)).map(|n| n / divisor)
            }
            Lanes::Multiple(group, factor) => {
                self.form.choice(group).map(|choice| factor * count_of(choice.text))
            }
        };
        match (&operand.kind, lanes) {
            (OperandKind::Vector(list), Some(count)) => {
                if list.len() as u32 != count {
                    return self.vector_size(count, list.len(), operand.id);
                }
                // A part of a vector may be discarded, but it can't have a second result.
                let element = Value { discard: written || self.masks(), second: None, ..value.clone() };
                self.vector(&element, ty, written, list);
                let discards = list.iter().all(|element| element.kind == OperandKind::Sink);
                if discards
                    && matches!(self.form.row.instruction, Mnemonic::Ld | Mnemonic::Ldu | Mnemonic::St)
                {
                    let message = format!("`{}` needs at least one element", self.opcode());
                    let finding = Diagnostic::error(codes::DISCARDED_RESULT, operand.id, message);
                    self.out.push(finding.label("every element is discarded"));
                }
            }
            // `{%r1}` is equivalent to `%r1`.
            (OperandKind::Vector(list), None) if list.len() == 1 && value.lanes != Lanes::One => {
                self.scalar(value, ty, written, &list[0]);
            }
            (OperandKind::Symbol(name), Some(count)) if count > 1 => match self.names.find(name) {
                Some(Thing::Register(lane, Some(vector))) => {
                    if vector.lanes() != count {
                        return self.vector_size(count, vector.lanes() as usize, operand.id);
                    }
                    self.whole_vector(ty, lane, value.wider, name, operand.id);
                }
                Some(Thing::Special(register)) if register.vector && value.special && count == 4 => {
                    if !(ty.is_int() && ty.bits() == 16 && had_16_bits(name)) {
                        self.agree(ty, register.ty, false, name, operand.id);
                    }
                }
                Some(Thing::Register(..)) => self.vector_size(count, 1, operand.id),
                _ => self.wrong_kind(operand, "a vector"),
            },
            (_, Some(count)) => self.wrong_kind(operand, &format!("a vector of {count}")),
            _ => self.scalar(value, ty, written, operand),
        }
    }

    fn vector_size(&mut self, count: u32, there: usize, node: NodeId) {
        let message = format!("`{}` expects a vector of {count}", self.opcode());
        let there =
            if there == 1 { "found 1 element".to_string() } else { format!("found {there} elements") };
        self.out.push(Diagnostic::error(codes::VECTOR_SIZE, node, message).label(there));
    }

    /// One register, constant or similar operand.
    pub(super) fn scalar(&mut self, value: &Value, ty: Scalar, written: bool, operand: &Operand) {
        match &operand.kind {
            OperandKind::Symbol(name) => self.symbol(value, ty, written, name, operand),
            OperandKind::Selected(selected) => self.selected(value, ty, &selected.0, &selected.1, operand),
            OperandKind::Sink if written && value.discard => {}
            OperandKind::Sink if written => {
                let message = format!("the result of `{}` can't be discarded", self.opcode());
                let finding = Diagnostic::error(codes::DISCARDED_RESULT, operand.id, message);
                self.out.push(finding.label("expected a register"));
            }
            OperandKind::Immediate(expr) if !written => {
                let ty = match ty {
                    Scalar::B32 if self.takes_no_float(value, written) => Scalar::U32,
                    Scalar::B64 if self.takes_no_float(value, written) => Scalar::U64,
                    ty => ty,
                };
                self.constant(ty, value.range, expr, operand.id);
            }
            OperandKind::SymbolOffset(sum) if !written => self.sum(value, ty, sum, operand),
            OperandKind::Element(..) if value.symbol => {}
            OperandKind::Not(inner) if value.negated => self.scalar(value, ty, written, inner),
            OperandKind::Minus(inner) if value.selected => self.scalar(value, ty, written, inner),
            _ if written => self.wrong_kind(operand, &format!("a `{ty}` register")),
            _ if ty.class() == Class::Predicate => self.wrong_kind(operand, "a predicate"),
            _ => self.wrong_kind(operand, &format!("a `{ty}` register or constant")),
        }
    }

    fn symbol(&mut self, value: &Value, ty: Scalar, written: bool, name: &Name, operand: &Operand) {
        match self.names.find_at(operand.id, name) {
            None => {}
            Some(Thing::Register(register, None))
                if matches!(register.class(), Class::Float | Class::Half)
                    && self.takes_no_float(value, written) =>
            {
                self.mismatch(ty, register, name, operand.id);
            }
            Some(Thing::Register(register, None)) => self.agree(ty, register, value.wider, name, operand.id),
            Some(Thing::Special(_)) if written => {
                let message = format!("`{name}` can't be written");
                let finding = Diagnostic::error(codes::ASSIGNED_CONSTANT, operand.id, message);
                self.out.push(finding.label("a special register is read-only"));
            }
            Some(Thing::Special(register)) if value.special && !register.vector => {
                // `%tid.x` and similar registers had 16 bits before PTX 2.0 and may still be read
                // as such; `cvt` reads the low bits of any.
                let narrow = ty.bits() == 16 && register.ty.bits() == 32
                    && (value.wider || had_16_bits(name))
                    // `%gridid` had 32 bits before PTX 3.0.
                    || name == "%gridid" && matches!(ty.bits(), 16 | 32);
                if ty.class() == Class::Float {
                    self.mismatch(ty, register.ty, name, operand.id);
                } else if !narrow {
                    self.agree(ty, register.ty, value.wider, name, operand.id);
                }
            }
            Some(Thing::Special(register))
                if ty.class() == Class::Predicate && register.ty.class() == ty.class() => {}
            Some(Thing::Special(register)) if register.vector && value.special => {
                let message = format!("`{}` expects one element of a special register", self.opcode());
                let finding = Diagnostic::error(codes::SPECIAL_REGISTER_NOT_HERE, operand.id, message);
                self.out.push(
                    finding
                        .label(format!("`{name}` has several"))
                        .help(format!("write `{name}.x`, `.y` or `.z`")),
                );
            }
            Some(Thing::Special(_)) => {
                let message = format!("`{}` can't read a special register", self.opcode());
                let finding = Diagnostic::error(codes::SPECIAL_REGISTER_NOT_HERE, operand.id, message);
                self.out.push(
                    finding
                        .label(format!("`{name}` is a special register"))
                        .note("only `mov` and `cvt` read special registers (PTX ISA, special registers)")
                        .help(format!("read it into a register first: `mov.u32 %r, {name};`")),
                );
            }
            Some(Thing::Memory(..) | Thing::Function) if value.symbol && !written => {}
            Some(Thing::Memory(..) | Thing::Function) if !written => {
                let message = format!("`{}` expects a register or constant, found an address", self.opcode());
                let finding = Diagnostic::error(codes::OPERAND_KIND, operand.id, message);
                self.out.push(
                    finding
                        .label(format!(
                            "`{name}` is {}",
                            self.names.find(name).map_or(String::new(), Thing::describe)
                        ))
                        .help("move its address into a register first, or load with `ld`"),
                );
            }
            Some(_) if written => self.wrong_kind(operand, &format!("a `{ty}` register")),
            Some(_) => self.wrong_kind(operand, &format!("a `{ty}` register or constant")),
        }
    }

    fn selected(&mut self, value: &Value, ty: Scalar, name: &Name, part: &Name, operand: &Operand) {
        match self.names.find(name) {
            None => {}
            Some(Thing::Register(lane, Some(vector))) => match lane_of(part) {
                Some(index) if index < vector.lanes() => self.agree(ty, lane, value.wider, name, operand.id),
                _ => {
                    let message = format!("`{name}` has no element `.{part}`");
                    let finding = Diagnostic::error(codes::VECTOR_SIZE, operand.id, message);
                    self.out.push(finding.label(format!("it has {} elements", vector.lanes())));
                }
            },
            Some(Thing::Register(register, None)) if value.selected => {
                self.agree(ty, register, value.wider, name, operand.id);
            }
            Some(_) => self.wrong_kind(operand, &format!("a whole `{ty}` register")),
        }
    }

    pub(super) fn agree(&mut self, ty: Scalar, register: Scalar, wider: bool, name: &Name, node: NodeId) {
        if !ty.agrees(register, wider) {
            self.mismatch(ty, register, name, node);
        }
    }

    pub(super) fn mismatch(&mut self, ty: Scalar, register: Scalar, name: &Name, node: NodeId) {
        let message = format!("`{}` expects a `{ty}` operand, found a `{register}` register", self.opcode());
        let mut finding = Diagnostic::error(codes::TYPE_MISMATCH, node, message)
            .label(format!("`{name}` is `{register}`"))
            .note(format!("registers that agree: {} (PTX ISA, operand type checking)", ty.registers()));
        if ty.class() == Class::Predicate || register.class() == Class::Predicate {
            finding.help = Some(
                "use `setp` to get a predicate from a value, or `selp` to get a value from a predicate"
                    .into(),
            );
        } else if ty.bits() != register.bits() {
            finding.help = Some("use `cvt` to convert between sizes".into());
        } else {
            finding.help =
                Some(format!("use `cvt` to convert the value, or `mov.b{}` to move its bits", ty.bits()));
        }
        self.out.push(finding);
    }

    pub(super) fn constant(&mut self, ty: Scalar, range: Option<&'static Range>, expr: &Expr, node: NodeId) {
        let Ok(constant) = expr.evaluate() else {
            let message = "this constant expression has no value";
            self.out.push(Diagnostic::error(codes::CONSTANT_TYPE, node, message).label("no value"));
            return;
        };
        let (fits, there) = match (ty.class(), constant) {
            (Class::Integer | Class::Predicate, Constant::S64(_) | Constant::U64(_)) => (true, ""),
            (Class::Float, Constant::F32(_) | Constant::F64(_)) => (true, ""),
            (Class::Bits, Constant::S64(_) | Constant::U64(_)) => (true, ""),
            // A float of the same size has bits, too.
            (Class::Bits, Constant::F32(_)) if ty.bits() == 32 => (true, ""),
            (Class::Bits, Constant::F64(_)) if ty.bits() == 64 => (true, ""),
            (_, Constant::S64(_) | Constant::U64(_)) => (false, "an integer"),
            (_, Constant::F32(_) | Constant::F64(_)) => (false, "a floating-point number"),
        };
        if !fits {
            let message = format!("`{}` expects a `{ty}` operand, found {there}", self.opcode());
            let mut finding =
                Diagnostic::error(codes::CONSTANT_TYPE, node, message).label(format!("this is {there}"));
            if let (Class::Float, Some(bits)) = (ty.class(), constant.integer_bits()) {
                finding.help = Some(match i64::try_from(bits) {
                    Ok(value) if ty.bits() == 32 && (0x1_0000..=0xffff_ffff).contains(&value) => {
                        format!("write `0f{value:08X}` for these bits, or `{value}.0` for this number")
                    }
                    Ok(value) if ty.bits() == 64 && value > 0xffff_ffff => {
                        format!("write `0d{value:016X}` for these bits, or `{value}.0` for this number")
                    }
                    Ok(value) => format!("write `{value}.0`"),
                    Err(_) => "write it with a decimal point".into(),
                });
            } else if matches!(ty.class(), Class::Half | Class::Packed) {
                finding.help = Some(format!("move the bits into a register first: `mov.b{} …`", ty.bits()));
            }
            self.out.push(finding);
            return;
        }
        self.in_range(range, expr, node);
    }

    fn in_range(&mut self, range: Option<&'static Range>, expr: &Expr, node: NodeId) {
        let Some(range) = range else { return };
        let value = match expr.evaluate() {
            Ok(Constant::S64(value)) => value,
            Ok(Constant::U64(value)) => i64::try_from(value).unwrap_or(i64::MAX),
            _ => return,
        };
        let Range { noun, least, greatest, multiple, except, .. } = *range;
        let is_outside = value < least || value > greatest;
        let mut finding = if is_outside {
            let bounds = match greatest {
                i64::MAX => format!("of {least} or more"),
                _ => format!("from {least} to {greatest}"),
            };
            let message = format!("`{}` expects {noun} {bounds}, found {value}", self.opcode());
            Diagnostic::error(codes::OUT_OF_RANGE, node, message)
        } else if value % multiple != 0 {
            let message = format!("{noun} must be a multiple of {multiple}, found {value}");
            Diagnostic::error(codes::NOT_A_MULTIPLE, node, message)
        } else if except == Some(value) {
            let message = format!("{noun} can't be {value}");
            Diagnostic::error(codes::OUT_OF_RANGE, node, message)
        } else {
            return;
        };
        finding.notes.extend(range.rule.map(str::to_string));
        finding.help = match is_outside {
            true => range.help.map(str::to_string),
            false => Some(format!("use {} instead", value - value % multiple + multiple)),
        };
        self.out.push(finding.label(format!("this is {value}")));
    }
}

/// Whether a special register, or the vector that it is an element of, had 16 bits before PTX 2.0.
fn had_16_bits(name: &str) -> bool {
    let vector = name.split_once('.').map_or(name, |(vector, _)| vector);
    matches!(vector, "%tid" | "%ntid" | "%ctaid" | "%nctaid")
}

/// The number that a modifier such as `v4` or `x2` ends in.
fn count_of(modifier: &str) -> u32 {
    modifier.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(1)
}

/// The elements of a vector register.
pub(crate) const LANES: [&str; 4] = ["x", "y", "z", "w"];

/// The number of an element, `x` to `w` or `r` to `a`.
pub(crate) fn lane_of(part: &str) -> Option<u32> {
    match part {
        "x" | "r" => Some(0),
        "y" | "g" => Some(1),
        "z" | "b" => Some(2),
        "w" | "a" => Some(3),
        _ => None,
    }
}

/// The number of registers that a register operand stands for.
pub fn lanes(vector: Option<Vector>) -> u32 {
    vector.map_or(1, |vector| vector.lanes())
}
