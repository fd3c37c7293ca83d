//! `call`, and both ends of a device function: its parameters and its results.
//!
//! ```text
//! { .param .b32 a; .param .b32 r;
//!   st.param.b32 [a], %r1;                       callee @f device (b32) -> (b32)
//!   call (r), f, (a);                      =>    v2 = call @f, v1
//!   ld.param.b32 %r2, [r]; }
//! call (%r2), %rd1, (%r1), prototype;      =>    v2 = call_indirect @prototype.0, v0, v1
//! ```
//!
//! Arguments and results are variables in the `.param` space, whose [pieces](super::params) are
//! what the IR passes, or registers and constants.

use ptxc_ir::{Callee, CalleeKind, External, Layouts, Op, Type, Value};
use ptxc_syntax::ast::{self, Operand, OperandKind, StatementKind};
use rustc_hash::FxHashSet;

use super::form::{Form, Translated, Unsupported};
use super::params::{self, Image, pieces};
use super::symbols::device_callee;
use super::translator::Translator;
use crate::check::env::{Formal, ModuleEnv, Signature};
use crate::check::scalar::Scalar;
use crate::check::scope::{Meaning, Register};
use crate::check::table::Modifier;

/// Takes a list in parentheses, if one comes first.
fn take_list<'a>(rest: &mut &'a [Operand]) -> &'a [Operand] {
    match rest.split_first() {
        Some((Operand { kind: OperandKind::Arguments(list), .. }, tail)) => {
            *rest = tail;
            list
        }
        _ => &[],
    }
}

pub(super) fn call(t: &mut Translator, form: &mut Form) -> Translated {
    // A promise that all threads of the warp make the call; the translation does not depend on it.
    form.take(Modifier::Uni);
    let mut rest = form.operands;
    let results = take_list(&mut rest);
    let (callee, tail) = rest.split_first().ok_or(Unsupported)?;
    rest = tail;
    let arguments = take_list(&mut rest);
    let name = callee.as_symbol().ok_or(Unsupported)?;
    let mut args: Vec<Value> = Vec::new();
    let (op, signature) = match t.function_named(name) {
        Some(signature) => {
            let callee = t.callee(&signature)?;
            (Op::Call { callee, pure: false }, signature)
        }
        None => {
            let target = rest.first().and_then(Operand::as_symbol).ok_or(Unsupported)?;
            let signature = t.prototype(target)?;
            let (params, results) = params::types(&signature)?;
            args.push(t.read(callee, Scalar::B64)?);
            if results.len() > MOST_RESULTS {
                return Err(Unsupported);
            }
            (Op::CallIndirect(t.function.prototype(layouts(&signature), params, results)), signature)
        }
    };
    if signature.is_entry
        || signature.parameters.len() != arguments.len()
        || signature.returns.len() != results.len()
    {
        return Err(Unsupported);
    }
    // Each large argument and result of a call has memory of its own.
    let mut taken: FxHashSet<&OperandKind> = arguments.iter().map(|operand| &operand.kind).collect();
    let mut places = Vec::new();
    for (operand, &formal) in results.iter().zip(&signature.returns) {
        if formal.layout().is_large() {
            let own = image_of(t, operand, formal)?.ok_or(Unsupported)?;
            let is_taken = !taken.insert(&operand.kind);
            let place = if is_taken { t.new_image_to_pass("$result", formal)? } else { own.clone() };
            args.push(t.address_of_image(&place).ok_or(Unsupported)?);
            places.push((own, is_taken.then_some(place)));
        }
    }
    taken.clear();
    for (operand, &formal) in arguments.iter().zip(&signature.parameters) {
        argument(t, operand, formal, !taken.insert(&operand.kind), &mut args)?;
    }
    if let Op::Call { callee, .. } | Op::CallIndirect(callee) = op {
        t.pass_stack(callee, &mut args);
    }
    let inst = t.inst(op, Type::B32, &args);
    let returned: Vec<Value> = t.function.results(inst).to_vec();
    let mut next = returned.into_iter();
    for (own, place) in places {
        if let Some(place) = place {
            t.copy_image(&place, &own)?;
        }
    }
    for (operand, &formal) in results.iter().zip(&signature.returns) {
        if formal.layout().is_large() {
            continue;
        }
        let image = match image_of(t, operand, formal)? {
            Some(image) => image,
            None => t.new_image(formal)?,
        };
        for piece in pieces(formal)? {
            t.write_piece(&image, piece, next.next().ok_or(Unsupported)?)?;
        }
        if let OperandKind::Symbol(name) = &operand.kind
            && let Some(Meaning::Register { ty, vector: None, .. }) = t.scopes.lookup(name)
        {
            let value = t.load_register(&image, 0, ty)?;
            t.write(operand, value)?;
        }
    }
    Ok(())
}

/// The parameter memory that an operand names, if it names any; its size must equal that of the
/// formal parameter.
fn image_of(t: &Translator, operand: &Operand, formal: Formal) -> Translated<Option<Image>> {
    let Some((image, size)) = operand.as_symbol().and_then(|name| t.image(name)) else { return Ok(None) };
    if size == formal.size { Ok(Some(image)) } else { Err(Unsupported) }
}

/// Adds the pieces of an argument.
fn argument(
    t: &mut Translator,
    operand: &Operand,
    formal: Formal,
    is_taken: bool,
    args: &mut Vec<Value>,
) -> Translated {
    if formal.is_variadic() || formal.layout().is_large() {
        let (image, size) = operand.as_symbol().and_then(|name| t.image(name)).ok_or(Unsupported)?;
        if !formal.is_variadic() && size != formal.size {
            return Err(Unsupported);
        }
        args.push(t.address_to_pass(&image, is_taken)?);
        return Ok(());
    }
    let image = match image_of(t, operand, formal)? {
        Some(image) => image,
        None => {
            let image = t.new_image(formal)?;
            let scalar = Scalar::of(formal.ty);
            if scalar == Scalar::Pred {
                args.push(t.read(operand, scalar)?);
                return Ok(());
            }
            if scalar.bits() / 8 != formal.size {
                return Err(Unsupported);
            }
            // Registers of less than 32 bits may have 16 bits.
            let scalar = scalar.in_register();
            let value = t.read_extended(operand, scalar)?;
            store_value(t, &image, 0, formal.size, value)?;
            image
        }
    };
    for piece in pieces(formal)? {
        args.push(t.read_piece(&image, piece)?);
    }
    Ok(())
}

/// Stores the bits of a value of any type.
fn store_value(t: &mut Translator, image: &Image, offset: u32, bytes: u32, value: Value) -> Translated {
    let bits = t.convert(value, t.ty(value).as_int())?;
    t.store_image(image, offset, bytes, bits)
}

/// The layouts of the parameters and results of a function.
pub fn layouts(signature: &Signature) -> Layouts {
    let list = |formals: &[Formal]| formals.iter().map(Formal::layout).collect();
    Layouts { params: list(&signature.parameters), results: list(&signature.returns) }
}

/// The most results of an operation.
const MOST_RESULTS: usize = u16::MAX as usize;

/// The IR's callee for a function that the module defines or declares; `None` if its parameters can't be
/// values.
pub(super) fn callee_of(signature: &Signature, env: &ModuleEnv) -> Option<Callee> {
    let mut callee = device_callee(signature).filter(|callee| callee.results.len() <= MOST_RESULTS)?;
    if let Some(&address) = env.external.get(&signature.name) {
        let layouts = layouts(signature);
        callee.kind = CalleeKind::External(Box::new(External { address: Some(address), layouts }));
    }
    Some(callee)
}

/// The signatures of the prototypes and lists of targets in a function.
pub fn prototype_signatures(function: &ast::Function, env: &ModuleEnv) -> Vec<Signature> {
    let signature = |statement: &ast::Statement| match &statement.kind {
        StatementKind::CallPrototype(prototype) => Some(Signature::of_prototype(prototype)),
        StatementKind::CallTargets(list) => env.signatures.get(&list.targets.first()?.name).cloned(),
        _ => None,
    };
    function.body.iter().flatten().filter_map(signature).collect()
}

impl Translator<'_> {
    /// The IR's callee for a function of the module.
    pub fn callee(&mut self, signature: &Signature) -> Translated<ptxc_ir::FuncRef> {
        let mut callee = callee_of(signature, self.env).ok_or(Unsupported)?;
        callee.stack.moves = self.stack_pointer.is_some();
        Ok(self.function.callee(&callee))
    }

    /// Loads a register of that type from a parameter.
    fn load_register(&mut self, image: &Image, offset: u32, ty: ast::Type) -> Translated<Value> {
        let scalar = Scalar::of(ty);
        if scalar == Scalar::Pred {
            let piece = image.pieces().next().ok_or(Unsupported)?;
            return self.read_piece(image, piece);
        }
        let value = self.load_image(image, offset, scalar.bits() / 8, scalar.is_signed())?;
        let to = scalar.in_register().ir().ok_or(Unsupported)?;
        self.convert(value, to)
    }

    /// Gives a device function its parameters, and places for its results.
    pub fn enter_function(&mut self, ast: &ast::Function) -> Translated {
        let addressed = addressed(ast);
        let large = |result: &ast::Parameter| Formal::of(result).layout().is_large();
        let places: Vec<Value> = ast
            .returns
            .iter()
            .filter(|result| large(result))
            .map(|_| self.function.add_block_param(self.function.entry(), Type::B32))
            .collect();
        let mut places = places.into_iter().peekable();
        for (index, parameter) in ast.parameters.iter().enumerate() {
            let image = self.image_for(parameter, &addressed)?;
            for piece in image.pieces() {
                let value = self.function.add_block_param(self.function.entry(), piece.ty);
                self.write_piece(&image, piece, value)?;
            }
            self.parameters.push(image.clone());
            let registers = self.scopes.in_registers[0].iter();
            let meaning = registers.clone().find(|(number, _)| *number == index).map(|(_, meaning)| meaning);
            let Some(&Meaning::Register { register, ty, vector }) = meaning else { continue };
            for lane in 0..vector.map_or(1, |vector| vector.lanes()) {
                let value = self.load_register(&image, lane * ty.bytes().unwrap_or(1), ty)?;
                self.write_variable(Register(register.0 + lane), value);
            }
        }
        for result in &ast.returns {
            let image = self.image_for(result, &addressed)?;
            match places.next_if(|_| large(result)) {
                Some(place) => image.pieces().try_for_each(|piece| self.write_piece(&image, piece, place))?,
                None => self.function.returns.extend(image.pieces().map(|piece| piece.ty)),
            }
            self.results.push(image);
        }
        if self.function.returns.len() > MOST_RESULTS {
            return Err(Unsupported);
        }
        Ok(())
    }

    /// A place for a parameter or result of a device function.
    fn image_for(&mut self, declaration: &ast::Parameter, addressed: &FxHashSet<&str>) -> Translated<Image> {
        let formal = Formal::of(declaration);
        let name = declaration.name.as_str();
        match addressed.contains(name) && !formal.is_variadic() && !formal.layout().is_large() {
            true => self.new_image_in_memory(name, formal),
            false => self.new_image(formal),
        }
    }

    /// The values that a device function returns here; the caller adds the return instruction.
    pub fn returned(&mut self) -> Translated<Vec<Value>> {
        let registers = self.scopes.in_registers[1].clone();
        for (index, meaning) in registers {
            let Meaning::Register { register, ty, vector } = meaning else { continue };
            let image = self.results[index].clone();
            for lane in 0..vector.map_or(1, |vector| vector.lanes()) {
                let scalar = Scalar::of(ty);
                let own = scalar.in_register();
                let value = self.read_variable(Register(register.0 + lane), own.ir().ok_or(Unsupported)?);
                if scalar == Scalar::Pred {
                    let piece = image.pieces().next().ok_or(Unsupported)?;
                    self.write_piece(&image, piece, value)?;
                } else {
                    store_value(self, &image, lane * scalar.bits() / 8, scalar.bits() / 8, value)?;
                }
            }
        }
        let results = self.results.clone();
        let small = results.iter().filter(|image| !image.is_pointed());
        let pieces = small.flat_map(|image| image.pieces().map(move |piece| (image, piece)));
        pieces.map(|(image, piece)| self.read_piece(image, piece)).collect()
    }
}

/// The parameters and results of a device function whose address its code takes.
fn addressed(ast: &ast::Function) -> FxHashSet<&str> {
    let declared = ast.parameters.iter().chain(&ast.returns);
    let declared = declared.filter(|one| one.specifiers.space == ast::Space::Param);
    let declared: FxHashSet<&str> = declared.map(|one| one.name.as_str()).collect();
    let mut found = FxHashSet::default();
    for statement in ast.body.iter().flatten() {
        ptxc_interrupt::poll();
        let ast::StatementKind::Instruction(instruction) = &statement.kind else { continue };
        // Other operands that name a parameter are addresses in brackets, or arguments of a call.
        for operand in &instruction.operands {
            let name = match &operand.kind {
                OperandKind::Symbol(name) => Some(name),
                OperandKind::SymbolOffset(place) => place.base.as_ref(),
                _ => None,
            };
            found.extend(name.and_then(|name| declared.get(name.as_str())));
        }
    }
    found
}
