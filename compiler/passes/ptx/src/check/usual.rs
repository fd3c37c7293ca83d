//! A cache of instructions without findings.
//!
//! For most instructions the findings depend only on the opcode and on the *shape* of the operands:
//! whether they are registers, of what type, in vectors or in brackets. A function repeats a few
//! hundred pairs of opcode and shape thousands of times. So the check remembers the pairs without
//! findings and skips instructions that match one. Names of variables, parameters, special
//! registers and functions have no shape, because the check needs to know more about them.

use ptxc_syntax::NodeId;
use ptxc_syntax::ast::{Opcode, Operand, OperandKind, Type};
use ptxc_syntax::const_eval::Constant;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::accesses::Written;
use super::decoded::Decoded;
use super::forms::{Form, forms};
use super::needs::{PtxTarget, PtxVersion};
use super::scope::{Meaning, Register, Scopes};
use super::table::{Kind, Mnemonic, Value};

/// The most shapes that are remembered for an opcode.
const MOST_SHAPES: usize = 16;

/// The shape of the operands of an instruction: one byte for each item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shape(u64);

impl Shape {
    const REGISTER: u8 = 0x20;
    const ADDRESS: u8 = 0x40;
    const SINK: u8 = 0x60;
    const LABEL: u8 = 0x61;
    const INTEGER: u8 = 0x62;
    const F32: u8 = 0x63;
    const F64: u8 = 0x64;
    const PAIR: u8 = 0x65;
    const NOT: u8 = 0x66;
    /// Combined with the number of elements.
    const VECTOR: u8 = 0x70;

    fn add(&mut self, item: u8) -> Option<()> {
        if self.0 >> 56 != 0 {
            return None;
        }
        self.0 = self.0 << 8 | u64::from(item);
        Some(())
    }
}

/// A register among the operands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub register: Register,
    /// Its declared type.
    pub ty: Type,
    pub node: NodeId,
    /// The number of the operand.
    pub operand: u8,
    /// Whether it is an address, which counts as read even if the memory there is written.
    pub is_address: bool,
}

/// The registers among the operands, in order.
pub(super) type Places = SmallVec<[Place; 8]>;

/// The knowledge about an opcode in a function.
#[derive(Debug)]
pub(super) struct Known {
    /// The forms that have exactly its modifiers; several only if the operands decide.
    pub forms: Vec<Form>,
    /// The opcode as data, if it has a form.
    decoded: Option<Decoded>,
    /// Whether constants need checks beyond their type.
    looks_at_constants: bool,
    /// Whether operands need checks beyond their shape.
    looks_at_names: bool,
    /// The shapes without findings.
    usual: SmallVec<[Shape; 4]>,
    /// The written operands, for a number of operands.
    written: Option<(usize, Written)>,
}

impl Known {
    fn of(opcode: &Opcode, version: PtxVersion, target: PtxTarget) -> Known {
        let forms: Vec<Form> = forms(opcode, version, target).collect();
        let mut operands = forms.iter().flat_map(|form| form.row.operands);
        let has_range = |kind: &Kind| match kind {
            Kind::Constant(range) | Kind::Value(Value { range, .. }) => range.is_some(),
            _ => false,
        };
        // The operands of policies include fractions.
        let decoded = forms.first().map(Decoded::of);
        debug_assert!(
            forms.iter().all(|form| Some(Decoded::of(form)) == decoded),
            "rows of {opcode} disagree"
        );
        let is_policy =
            decoded.as_ref().is_some_and(|decoded| decoded.instruction == Mnemonic::CreatepolicyFractional);
        let looks_at_constants = is_policy || operands.clone().any(|operand| has_range(&operand.kind));
        let looks_at_names = operands.any(|operand| operand.kind == Kind::Call);
        Known { forms, decoded, looks_at_constants, looks_at_names, usual: SmallVec::new(), written: None }
    }

    /// The instruction, if the opcode is a form of any.
    pub fn instruction(&self) -> Option<Mnemonic> {
        self.decoded.as_ref().map(|decoded| decoded.instruction)
    }

    /// The shape of an instruction's operands, if they have one, and the registers among them.
    pub fn shape(&self, operands: &[Operand], scopes: &Scopes, places: &mut Places) -> Option<Shape> {
        if self.looks_at_names {
            return None;
        }
        let mut shape = Shape::default();
        for (index, operand) in operands.iter().enumerate() {
            let index = u8::try_from(index).ok()?;
            match &operand.kind {
                OperandKind::Vector(list) => {
                    shape.add(Shape::VECTOR | u8::try_from(list.len()).ok().filter(|&count| count < 16)?)?;
                    for element in list {
                        self.element(element, index, scopes, &mut shape, places)?;
                    }
                }
                OperandKind::Pair(pair) => {
                    shape.add(Shape::PAIR)?;
                    self.element(&pair.0, index, scopes, &mut shape, places)?;
                    self.element(&pair.1, index, scopes, &mut shape, places)?;
                }
                OperandKind::Not(inner) => {
                    shape.add(Shape::NOT)?;
                    self.element(inner, index, scopes, &mut shape, places)?;
                }
                OperandKind::Address(address) if address.rest.is_empty() && address.property.is_none() => {
                    let (register, ty) = register(scopes, address.place.base.as_ref()?)?;
                    places.push(Place { register, ty, node: operand.id, operand: index, is_address: true });
                    shape.add(Shape::ADDRESS | ty as u8)?;
                }
                _ => self.element(operand, index, scopes, &mut shape, places)?,
            }
        }
        Some(shape)
    }

    /// Adds an item without parts.
    fn element(
        &self,
        element: &Operand,
        operand: u8,
        scopes: &Scopes,
        shape: &mut Shape,
        places: &mut Places,
    ) -> Option<()> {
        let item = match &element.kind {
            OperandKind::Symbol(name) => match scopes.lookup(name)? {
                Meaning::Register { register, ty, vector: None } => {
                    places.push(Place { register, ty, node: element.id, operand, is_address: false });
                    Shape::REGISTER | ty as u8
                }
                Meaning::Label(_) => Shape::LABEL,
                _ => return None,
            },
            OperandKind::Sink => Shape::SINK,
            OperandKind::Immediate(_) if self.looks_at_constants => return None,
            OperandKind::Immediate(expr) => match expr.evaluate().ok()? {
                Constant::S64(_) | Constant::U64(_) => Shape::INTEGER,
                Constant::F32(_) => Shape::F32,
                Constant::F64(_) => Shape::F64,
            },
            _ => return None,
        };
        shape.add(item)
    }

    /// Whether an instruction with this shape had no findings.
    pub fn is_usual(&self, shape: Shape) -> bool {
        self.usual.contains(&shape)
    }

    /// Remembers a shape without findings.
    pub fn found_in_order(&mut self, shape: Shape) {
        if self.usual.len() < MOST_SHAPES {
            self.usual.push(shape);
        }
    }

    /// Which of the operands are written.
    pub fn written(&mut self, operands: &[Operand]) -> Written {
        match self.written {
            Some((count, written)) if count == operands.len() => written,
            _ => self.written.insert((operands.len(), Written::of(&self.forms, operands))).1,
        }
    }
}

/// The scalar register that a name stands for.
fn register(scopes: &Scopes, name: &str) -> Option<(Register, Type)> {
    match scopes.lookup(name)? {
        Meaning::Register { register, ty, vector: None } => Some((register, ty)),
        _ => None,
    }
}

/// The opcodes of a function.
pub(super) struct Opcodes<'a> {
    version: PtxVersion,
    target: PtxTarget,
    numbers: FxHashMap<&'a str, usize>,
    known: Vec<Known>,
}

impl<'a> Opcodes<'a> {
    /// The opcodes of a function in a module of that version and target.
    pub fn new(version: PtxVersion, target: PtxTarget) -> Opcodes<'a> {
        Opcodes { version, target, numbers: FxHashMap::default(), known: Vec::new() }
    }

    /// The number of an opcode, in the order of first use: its forms are looked up once for each
    /// spelling.
    pub fn number(&mut self, opcode: &'a Opcode) -> usize {
        if let Some(&number) = self.numbers.get(opcode.as_str()) {
            return number;
        }
        let number = self.known.len();
        self.known.push(Known::of(opcode, self.version, self.target));
        self.numbers.insert(opcode.as_str(), number);
        number
    }

    /// The decoded opcodes, by number.
    pub fn into_decoded(self) -> Vec<Option<Decoded>> {
        self.known.into_iter().map(|known| known.decoded).collect()
    }

    /// The knowledge about the opcode of that number.
    pub fn known(&mut self, number: usize) -> &mut Known {
        &mut self.known[number]
    }
}
