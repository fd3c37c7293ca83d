//! Operands as values, and values to destinations.

use ptxc_ir::{FunctionKind, IntCond, Op, Space, SpecialReg, Symbol, Type, Value};
use ptxc_syntax::ast::{self, Expr, Guard, Operand, OperandKind, SymbolOffset};
use ptxc_syntax::const_eval::Constant;
use ptxc_syntax::{Name, NodeId};

use super::Translator;
use crate::build_ssa::form::{Translated, Unsupported};
use crate::build_ssa::symbols::{Owner, image_space};
use crate::check::env::{Signature, Variable};
use crate::check::operands::lane_of;
use crate::check::scalar::Scalar;
use crate::check::scope::{Meaning, Register};

impl Translator<'_> {
    /// An operand as a value of the type. For a wider register it is the low bits.
    pub fn read(&mut self, operand: &Operand, scalar: Scalar) -> Translated<Value> {
        let ty = scalar.ir().ok_or(Unsupported)?;
        match &operand.kind {
            OperandKind::Immediate(expr) => self.immediate(expr, scalar),
            OperandKind::Not(inner) if scalar == Scalar::Pred => {
                let value = self.read(inner, scalar)?;
                Ok(self.emit(Op::Not, Type::Pred, &[value]))
            }
            _ => {
                let value = self.any(operand)?;
                self.convert(value, ty)
            }
        }
    }

    /// The elements of a vector, or the single operand.
    pub fn elements(&self, operand: &Operand) -> Vec<Operand> {
        super::whole_vectors::elements(&self.scopes, self.resolved, operand)
    }

    /// The elements of a vector as values of the type, or the single operand.
    pub fn read_all(&mut self, operand: &Operand, scalar: Scalar) -> Translated<Vec<Value>> {
        self.elements(operand).iter().map(|element| self.read(element, scalar)).collect()
    }

    /// An operand as an integer of the type; a narrower source is extended.
    pub fn read_extended(&mut self, operand: &Operand, scalar: Scalar) -> Translated<Value> {
        let ty = scalar.ir().ok_or(Unsupported)?;
        if matches!(operand.kind, OperandKind::Immediate(_)) {
            return self.read(operand, scalar);
        }
        let value = self.any(operand)?;
        self.extend(value, ty, scalar.is_signed())
    }

    /// A register, special register or address of a variable, in its own type.
    pub fn any(&mut self, operand: &Operand) -> Translated<Value> {
        match &operand.kind {
            OperandKind::Symbol(name) => self.named(operand.id, name),
            OperandKind::Selected(selected) => {
                let (name, part) = &**selected;
                let Some(Meaning::Register { register, ty, vector: Some(vector) }) = self.scopes.lookup(name)
                else {
                    return Err(Unsupported);
                };
                let lane = lane_of(part).filter(|&lane| lane < vector.lanes()).ok_or(Unsupported)?;
                self.register(Register(register.0 + lane), ty)
            }
            OperandKind::SymbolOffset(place) => self.place(operand.id, place),
            OperandKind::Element(element) => self.element(&element.0, &element.1),
            _ => Err(Unsupported),
        }
    }

    /// The predicate of a guard.
    pub(super) fn predicate(&mut self, guard: &Guard) -> Translated<Value> {
        let value = self.named(guard.id, &guard.register)?;
        if self.ty(value) != Type::Pred {
            return Err(Unsupported);
        }
        Ok(if guard.negated { self.emit(Op::Not, Type::Pred, &[value]) } else { value })
    }

    /// The value that a name stands for at that node.
    pub fn named(&mut self, node: NodeId, name: &str) -> Translated<Value> {
        if let Some((register, ty)) = self.resolved.register(node) {
            return self.register(register, ty);
        }
        match self.scopes.lookup(name) {
            Some(Meaning::Register { register, ty, vector: None }) => self.register(register, ty),
            Some(Meaning::Variable(_)) => self.address_of(name),
            Some(_) => self.parameter_address(name),
            // The fourth element of `%tid` and similar vectors is always zero.
            None if name.starts_with('%') && name.ends_with(".w") => Ok(self.constant(Type::B32, 0)),
            None if name == "%gridid" => {
                let words = self.words(SpecialReg::GridId, SpecialReg::GridIdHigh);
                Ok(self.emit(Op::Pack, Type::B64, &words))
            }
            None if name == "%current_graph_exec" => {
                let words = self.words(SpecialReg::GraphExec, SpecialReg::GraphExecHigh);
                Ok(self.emit(Op::Pack, Type::B64, &words))
            }
            None if name == "%aggr_smem_size" => {
                let sizes = self.words(SpecialReg::AllShared, SpecialReg::AggregateLimit);
                Ok(self.emit(Op::Umin, Type::B32, &sizes))
            }
            None => match special(name) {
                Some((register, Type::Pred)) => {
                    let flag = self.emit(Op::SpecialReg(register), Type::B32, &[]);
                    let zero = self.constant(Type::B32, 0);
                    Ok(self.emit(Op::Icmp(IntCond::Ne), Type::B32, &[flag, zero]))
                }
                Some((register, ty)) => Ok(self.emit(Op::SpecialReg(register), ty, &[])),
                None => match self.function_named(name) {
                    Some(signature) => self.function_address(&signature),
                    None => self.address_of(name),
                },
            },
        }
    }

    fn words(&mut self, first: SpecialReg, second: SpecialReg) -> [Value; 2] {
        [first, second].map(|word| self.emit(Op::SpecialReg(word), Type::B32, &[]))
    }

    fn register(&mut self, register: Register, ty: ast::Type) -> Translated<Value> {
        let ty = register_type(ty)?;
        Ok(self.ssa.read(&mut self.function, self.block, register, ty))
    }

    /// A variable of the function or of the module, with its name.
    fn variable(&self, name: &str) -> Translated<(Owner, Name, Variable)> {
        match self.scopes.lookup(name) {
            Some(Meaning::Variable(index)) => {
                let own = self.env.own.get(&index).and_then(|name| self.env.variables.get_key_value(name));
                if let Some((name, variable)) = own {
                    return Ok((Owner::Module(name.clone()), name.clone(), variable.clone()));
                }
                let (name, variable) = self.scopes.variables.get(index).ok_or(Unsupported)?;
                Ok((Owner::Function(index), name.clone(), variable.clone()))
            }
            Some(_) => Err(Unsupported),
            None => {
                let (name, variable) = self.env.variables.get_key_value(name).ok_or(Unsupported)?;
                Ok((Owner::Module(name.clone()), name.clone(), variable.clone()))
            }
        }
    }

    /// The symbol of a variable of the function or of the module.
    pub fn symbol(&mut self, name: &str) -> Translated<Symbol> {
        let (owner, name, variable) = self.variable(name)?;
        self.symbols.get(&mut self.function, owner, &name, &variable).map_err(|why| {
            self.no_room = why;
            Unsupported
        })
    }

    fn function_address(&mut self, signature: &Signature) -> Translated<Value> {
        if signature.is_entry {
            return Err(Unsupported);
        }
        let callee = self.callee(signature)?;
        Ok(self.emit(Op::FuncAddr(callee), Type::B64, &[]))
    }

    fn address_of(&mut self, name: &str) -> Translated<Value> {
        let symbol = self.symbol(name)?;
        let ty = self.function.symbols[symbol].space.address_type();
        Ok(self.emit(Op::SymbolAddr(symbol), ty, &[]))
    }

    /// The address of a parameter: for a kernel, its offset in the parameter block; for a device
    /// function, an address in local memory.
    fn parameter_address(&mut self, name: &str) -> Translated<Value> {
        if let Some(Meaning::Parameter(index)) = self.scopes.lookup(name)
            && let Some(place) = self.scopes.parameters.get(index)
            && let Some(space) = image_space(place.ty)
        {
            let name = place.name.clone();
            let symbol = self.symbols.image(&mut self.function, Owner::Kernel(index), &name, space, None);
            return Ok(self.emit(Op::SymbolAddr(symbol), space.address_type(), &[]));
        }
        if let Some(offset) = self.parameter(name) {
            return Ok(self.constant(Space::Param.address_type(), offset.into()));
        }
        let (image, _) = self.image(name).ok_or(Unsupported)?;
        self.address_of_image(&image).ok_or(Unsupported)
    }

    /// `base + offset` in the type of the base.
    fn place(&mut self, node: NodeId, place: &SymbolOffset) -> Translated<Value> {
        let base = place.base.as_ref().ok_or(Unsupported)?;
        let base = self.named(node, base)?;
        let offset = self.offset(place)?;
        if offset == 0 {
            return Ok(base);
        }
        let ty = self.ty(base);
        let offset = self.constant(ty, offset as u64);
        Ok(self.emit(Op::Iadd, ty, &[base, offset]))
    }

    /// The address of an element of an array.
    ///
    /// As in ptxas, the index counts numbers, even if the elements are vectors, and bytes in an array
    /// without a size. An index in a register has 32 bits, and so has the distance that it stands for.
    fn element(&mut self, name: &str, index: &SymbolOffset) -> Translated<Value> {
        let (base, element) = match self.scopes.lookup(name) {
            Some(Meaning::Parameter(number)) => {
                let ty = self.scopes.parameters.get(number).ok_or(Unsupported)?.ty;
                (self.parameter_address(name)?, ty.bytes())
            }
            _ => {
                let (_, _, variable) = self.variable(name)?;
                let bytes = if variable.size == 0 { Some(1) } else { variable.ty.bytes() };
                (self.address_of(name)?, bytes)
            }
        };
        let bytes = element.filter(|bytes| bytes.is_power_of_two()).ok_or(Unsupported)?;
        let (ty, offset) = (self.ty(base), self.offset(index)?);
        let Some(register) = &index.base else {
            let distance = self.constant(ty, offset.wrapping_mul(bytes.into()) as u64);
            return Ok(self.emit(Op::Iadd, ty, &[base, distance]));
        };
        let Some(Meaning::Register { register, ty: declared, vector: None }) = self.scopes.lookup(register)
        else {
            return Err(Unsupported);
        };
        let number = self.register(register, declared)?;
        let number = self.extend(number, Type::B32, false)?;
        let offset = self.constant(Type::B32, offset as u64);
        let shift = self.constant(Type::B32, bytes.trailing_zeros().into());
        let number = self.emit(Op::Iadd, Type::B32, &[number, offset]);
        let distance = self.emit(Op::Shl, Type::B32, &[number, shift]);
        let distance = self.extend(distance, ty, false)?;
        Ok(self.emit(Op::Iadd, ty, &[base, distance]))
    }

    /// The constant part of a place.
    pub fn offset(&self, place: &SymbolOffset) -> Translated<i64> {
        match &place.offset {
            Some(expr) => Ok(integer(expr)? as i64),
            None => Ok(0),
        }
    }

    /// A constant expression as a value of the type.
    fn immediate(&mut self, expr: &Expr, scalar: Scalar) -> Translated<Value> {
        if scalar.bits() == 128 {
            // Constants have 64 bits; the bits above are 0 for every constant, negative ones too.
            let low = self.immediate(expr, Scalar::B64)?;
            let high = self.constant(Type::B64, 0);
            return Ok(self.emit(Op::Pack, Type::B128, &[low, high]));
        }
        let ty = scalar.ir().ok_or(Unsupported)?;
        let bits = match expr.evaluate().map_err(|_| Unsupported)? {
            Constant::F32(bits) if scalar.bits() == 32 && !scalar.is_pair() => bits.into(),
            Constant::F64(bits) if scalar.bits() == 64 => bits,
            // A decimal literal is a double and rounds to the type of the instruction.
            Constant::F64(bits) if ty == Type::F32 => (f64::from_bits(bits) as f32).to_bits().into(),
            Constant::S64(value) if scalar == Scalar::Pred => u64::from(value != 0),
            Constant::U64(value) if scalar == Scalar::Pred => u64::from(value != 0),
            Constant::S64(value) if scalar.is_int() => value as u64,
            Constant::U64(value) if scalar.is_int() => value,
            _ => return Err(Unsupported),
        };
        Ok(self.constant(ty, bits))
    }

    /// Writes a value to a destination: a register of the same width, or `_`.
    pub fn write(&mut self, operand: &Operand, value: Value) -> Translated {
        self.write_extended(operand, value, false)
    }

    /// Writes a value to a destination, and extends it if the destination is wider.
    pub fn write_extended(&mut self, operand: &Operand, value: Value, signed: bool) -> Translated {
        let (register, ty) = match &operand.kind {
            OperandKind::Sink => return Ok(()),
            OperandKind::Symbol(name) => {
                let known =
                    self.resolved.register(operand.id).or_else(|| match self.scopes.lookup(name)? {
                        Meaning::Register { register, ty, vector: None } => Some((register, ty)),
                        _ => None,
                    });
                let (register, ty) = known.ok_or(Unsupported)?;
                (register, register_type(ty)?)
            }
            OperandKind::Selected(selected) => match self.scopes.lookup(&selected.0) {
                Some(Meaning::Register { register, ty, vector: Some(vector) }) => {
                    let lane =
                        lane_of(&selected.1).filter(|&lane| lane < vector.lanes()).ok_or(Unsupported)?;
                    (Register(register.0 + lane), register_type(ty)?)
                }
                _ => return Err(Unsupported),
            },
            _ => return Err(Unsupported),
        };
        if self.ty(value).bits() > ty.bits() {
            return Err(Unsupported);
        }
        let mut value = self.extend(value, ty, signed)?;
        if let Some(guard) = self.guard {
            let old = self.ssa.read(&mut self.function, self.block, register, ty);
            value = self.emit(Op::Select, ty, &[guard, value, old]);
        }
        self.ssa.write(self.block, register, value);
        Ok(())
    }

    /// The carry flag.
    pub fn carry(&mut self) -> Value {
        self.ssa.read(&mut self.function, self.block, Register::CARRY, Type::Pred)
    }

    /// Writes the carry flag.
    pub fn set_carry(&mut self, mut value: Value) {
        if let Some(guard) = self.guard {
            let old = self.carry();
            value = self.emit(Op::Select, Type::Pred, &[guard, value, old]);
        }
        self.ssa.write(self.block, Register::CARRY, value);
    }

    /// The declared type of a destination; `None` for `_`.
    pub fn destination_type(&self, operand: &Operand) -> Translated<Option<Type>> {
        let name = match &operand.kind {
            OperandKind::Sink => return Ok(None),
            OperandKind::Symbol(name) => name,
            OperandKind::Selected(selected) => &selected.0,
            _ => return Err(Unsupported),
        };
        if let Some((_, ty)) = self.resolved.register(operand.id) {
            return register_type(ty).map(Some);
        }
        match self.scopes.lookup(name) {
            Some(Meaning::Register { ty, .. }) => register_type(ty).map(Some),
            _ => Err(Unsupported),
        }
    }

    /// The offset of a kernel parameter in the parameter block, if the name is that of a parameter.
    pub fn parameter(&self, name: &str) -> Option<u32> {
        match self.scopes.lookup(name)? {
            Meaning::Parameter(index) if self.function.kind == FunctionKind::Entry => {
                Some(self.scopes.parameters.get(index)?.offset)
            }
            _ => None,
        }
    }
}

/// The value of a constant expression, which must be an integer.
pub(in crate::build_ssa) fn integer(expr: &Expr) -> Translated<u64> {
    expr.evaluate().ok().and_then(Constant::integer_bits).ok_or(Unsupported)
}

/// The IR type of a register: 8-bit registers have 16 bits.
fn register_type(ty: ast::Type) -> Translated<Type> {
    let scalar = Scalar::of(ty);
    if scalar.bits() == 8 { Ok(Type::B16) } else { scalar.ir().ok_or(Unsupported) }
}

/// The special register of that name, and its type.
fn special(name: &str) -> Option<(SpecialReg, Type)> {
    match name.strip_prefix('%')? {
        "clock64" => Some((SpecialReg::Clock, Type::B64)),
        "globaltimer" => Some((SpecialReg::GlobalTimer, Type::B64)),
        "globaltimer_lo" => Some((SpecialReg::GlobalTimer, Type::B32)),
        "is_explicit_cluster" => Some((SpecialReg::ExplicitCluster, Type::Pred)),
        name => match name.strip_suffix("_64") {
            Some(counter) => Some((counter.parse().ok()?, Type::B64)),
            None => Some((name.parse().ok()?, Type::B32)),
        },
    }
}
