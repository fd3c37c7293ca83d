//! The state of a translation, and operands as values.
//!
//! The families see a [`Translator`] through a few verbs: [`read`](Translator::read) an operand as a type,
//! [`write`](Translator::write) a value to a destination, [`emit`](Translator::emit) an operation. Guards,
//! blocks and the conversion between a register's declared type and an instruction's are dealt with here.

use ptxc_ir::signature::{self, Types};
use ptxc_ir::{
    Block, BlockCall, Function, FunctionKind, Inst, InstData, IntCond, Op, SourceLoc, SpecialReg, Symbol,
    Type, Value,
};
use ptxc_syntax::NodeId;
use ptxc_syntax::ast::{self, Expr, Guard, Instruction, Operand, OperandKind, StatementKind, SymbolOffset};
use ptxc_syntax::const_eval::Constant;
use rustc_hash::FxHashMap;

use super::form::{Form, Parts, Translated, Unsupported};
use super::params::Image;
use super::scalar::Scalar;
use super::ssa::{Above, Ssa};
use super::symbols::{self, Owner, Symbols};
use super::{
    arith, asynchronous, bits, calls, carry, cluster, control, convert, fence, float, logic, mbarrier,
    memory, moves, sync,
};
use crate::check::env::{Formal, ModuleEnv, Signature};
use crate::check::resolved::Resolved;
use crate::check::scope::{Meaning, Register, Scopes};
use crate::diagnostic::{Diagnostic, source_loc};
use crate::interrupt;

/// A family of instructions: translates what it knows, `None` for the mnemonics of others.
type Family = fn(&mut Translator, &mut Form) -> Option<Translated>;

const FAMILIES: &[Family] = &[
    carry::translate,
    arith::translate,
    bits::translate,
    logic::translate,
    float::translate,
    convert::translate,
    moves::translate,
    memory::translate,
    sync::translate,
    fence::translate,
    mbarrier::translate,
    cluster::translate,
    asynchronous::translate,
    control::translate,
    calls::translate,
];

/// The translation of one function under way.
pub(super) struct Translator<'a> {
    /// What it becomes.
    pub function: Function,
    /// What names mean here.
    pub scopes: Scopes,
    /// What could not be translated.
    pub diagnostics: Vec<Diagnostic>,
    ast: &'a ast::Function,
    env: &'a ModuleEnv,
    /// The registers that operands name, as far as the check knows.
    resolved: &'a Resolved,
    /// How many variables of the construction there are: registers, and what has no register's name.
    variables: u32,
    ssa: Ssa,
    symbols: Symbols,
    /// Blocks of labels, by the number of the statement.
    labels: FxHashMap<usize, Block>,
    /// Lists of branch targets, by name.
    target_lists: FxHashMap<&'a str, &'a [ptxc_syntax::ast::Ident]>,
    /// What calls through an address go by: prototypes and lists of functions, by name.
    prototypes: FxHashMap<&'a str, &'a StatementKind>,
    /// The parameters of a device function.
    pub parameters: Vec<Image>,
    /// Its results.
    pub results: Vec<Image>,
    /// The variables in the `.param` space, by their number among the variables of the function.
    call_parameters: FxHashMap<usize, Image>,
    /// Where instructions go.
    block: Block,
    /// Blocks in the order of the source.
    placed: Vec<Block>,
    /// Whether the block has its terminator already.
    ended: bool,
    loc: SourceLoc,
    /// The predicate under which destinations are written.
    guard: Option<Value>,
    /// A block for `exit` alone, shared by all guarded exits.
    exit: Option<Block>,
    /// The block in which a device function returns.
    return_block: Option<Block>,
    /// Whether an operation got a type that it does not have, as only what the check rejects asks for.
    mistyped: bool,
}

impl<'a> Translator<'a> {
    pub fn new(ast: &'a ast::Function, env: &'a ModuleEnv, resolved: &'a Resolved) -> Translator<'a> {
        let kind = match ast.kind {
            ast::FunctionKind::Entry => FunctionKind::Entry,
            ast::FunctionKind::Func => FunctionKind::Device,
        };
        let mut function = Function::new(ast.name.name.as_str(), kind);
        let block = function.add_block();
        let statements = ast.body.as_ref().map_or(0, Vec::len);
        // Constants among the operands are instructions of their own.
        function.reserve(statements + statements / 4);
        let mut ssa = Ssa::new();
        ssa.enter(block, Above::Nothing);
        let mut labels = FxHashMap::default();
        let mut target_lists = FxHashMap::default();
        let mut prototypes = FxHashMap::default();
        for (index, statement) in ast.body.iter().flatten().enumerate() {
            interrupt::poll();
            match &statement.kind {
                StatementKind::Label(_) => {
                    labels.insert(index, function.add_block());
                }
                StatementKind::BranchTargets(list) => {
                    target_lists.insert(list.name.name.as_str(), &list.targets[..]);
                }
                StatementKind::CallTargets(list) => {
                    prototypes.insert(list.name.name.as_str(), &statement.kind);
                }
                StatementKind::CallPrototype(prototype) => {
                    prototypes.insert(prototype.name.name.as_str(), &statement.kind);
                }
                _ => {}
            }
        }
        Translator {
            function,
            scopes: Scopes::new(ast),
            diagnostics: Vec::new(),
            ast,
            env,
            resolved,
            variables: resolved.register_count(),
            ssa,
            symbols: Symbols::default(),
            labels,
            target_lists,
            prototypes,
            parameters: Vec::new(),
            results: Vec::new(),
            call_parameters: FxHashMap::default(),
            block,
            placed: vec![block],
            ended: false,
            loc: SourceLoc::NONE,
            guard: None,
            exit: None,
            return_block: None,
            mistyped: false,
        }
    }

    /// The label of statement `index` starts its block.
    pub fn label(&mut self, index: usize) {
        let Some(&block) = self.labels.get(&index) else { return };
        self.loc = SourceLoc::NONE;
        if !self.ended {
            self.terminate(Op::Jump, &[], &[block]);
        }
        self.start(block, Above::Join);
    }

    /// Translates an instruction, or notes that it can't be lowered yet.
    pub fn instruction(&mut self, node: NodeId, instruction: &Instruction, parts: &Parts) {
        self.loc = source_loc(node);
        if self.ended {
            // Nothing leads here, but what is wrong here is still to be reported.
            let block = self.function.add_block();
            self.start(block, Above::Join);
        }
        let result = self.guarded(instruction, parts);
        self.guard = None;
        if result.is_err() {
            let what = format!("`{}` in this form", instruction.opcode);
            let node = instruction.opcode.id;
            self.diagnostics.push(Diagnostic::unsupported(node, what));
        }
    }

    /// Ends the body and returns the function, or what could not be translated.
    pub fn finish(mut self) -> Result<Function, Vec<Diagnostic>> {
        self.loc = SourceLoc::NONE;
        if !self.ended {
            self.leave();
        }
        if let Some(block) = self.return_block {
            self.start(block, Above::Join);
            match self.returned() {
                Ok(values) => self.terminate(Op::Return, &values, &[]),
                Err(Unsupported) => {
                    self.diagnostics.push(Diagnostic::unsupported(self.ast.id, "a result of this form"))
                }
            }
        }
        if let Some(block) = self.exit {
            self.start(block, Above::Join);
            self.terminate(Op::Exit, &[], &[]);
        }
        if let Err(name) = self.symbols.follow_addresses(&mut self.function, self.env) {
            let what = format!("the address of `{name}` in a variable");
            self.diagnostics.push(Diagnostic::unsupported(self.ast.id, what));
        }
        if let Err(symbol) = symbols::place(&mut self.function, self.env.shared_start) {
            let what =
                format!("`{}`, which ends beyond 2 GiB of its window,", self.function.symbols[symbol].name);
            self.diagnostics.push(Diagnostic::unsupported(self.ast.id, what));
        }
        if !self.diagnostics.is_empty() {
            return Err(self.diagnostics);
        }
        let reachable = reachable(&self.function);
        self.placed.retain(|&block| reachable[block.as_u32() as usize]);
        self.function.layout = self.placed;
        self.ssa.finish(&mut self.function);
        Ok(self.function)
    }

    fn guarded(&mut self, instruction: &Instruction, parts: &Parts) -> Translated {
        let mut form = Form::new(parts, &instruction.operands);
        let condition = match &instruction.guard {
            Some(guard) => Some(self.predicate(guard)?),
            None => None,
        };
        match condition {
            None => self.plain(&mut form),
            Some(condition) if control::is_branch(form.mnemonic) => {
                control::guarded(self, &mut form, condition)
            }
            Some(condition) if is_speculable(instruction) => {
                self.guard = Some(condition);
                self.plain(&mut form)
            }
            Some(condition) => {
                let before = self.block;
                let inside = self.function.add_block();
                let behind = self.function.add_block();
                self.terminate(Op::Branch(false), &[condition], &[inside, behind]);
                self.start(inside, Above::Single(before));
                let result = self.plain(&mut form);
                if !self.ended {
                    self.terminate(Op::Jump, &[], &[behind]);
                }
                self.start(behind, Above::Around(before, inside));
                result
            }
        }
    }

    fn plain(&mut self, form: &mut Form) -> Translated {
        // Of two instructions with one opcode the same family translates both.
        let known = form.parts.family.get().and_then(|family| FAMILIES[family](self, form));
        let result = known.or_else(|| {
            FAMILIES.iter().enumerate().find_map(|(index, family)| {
                let result = family(self, form)?;
                form.parts.family.set(Some(index));
                Some(result)
            })
        });
        let mistyped = std::mem::take(&mut self.mistyped);
        result.unwrap_or(Err(Unsupported))?;
        if form.is_done() && !mistyped { Ok(()) } else { Err(Unsupported) }
    }

    /// Makes `block` the one that instructions go to.
    pub fn start(&mut self, block: Block, above: Above) {
        self.ssa.enter(block, above);
        self.placed.push(block);
        self.block = block;
        self.ended = false;
    }

    /// Ends the block.
    pub fn terminate(&mut self, op: Op, args: &[Value], targets: &[Block]) {
        let mut data = InstData::new(op, Type::B32, args).at(self.loc);
        data.targets = targets.iter().map(|&target| BlockCall::new(target, &[])).collect();
        self.function.append(self.block, data);
        self.ended = true;
    }

    /// Ends the block with a branch to `target` where `condition` holds; goes on in a new block.
    pub fn branch_away(&mut self, condition: Value, target: Block, uniform: bool) {
        let before = self.block;
        let behind = self.function.add_block();
        self.terminate(Op::Branch(uniform), &[condition], &[target, behind]);
        self.start(behind, Above::Single(before));
    }

    /// The block that does nothing but exit.
    pub fn exit_block(&mut self) -> Block {
        match self.exit {
            Some(block) => block,
            None => *self.exit.insert(self.function.add_block()),
        }
    }

    /// Ends the block where the function ends: a kernel's thread exits, a device function returns.
    pub fn leave(&mut self) {
        match self.function.kind {
            FunctionKind::Entry => self.terminate(Op::Exit, &[], &[]),
            FunctionKind::Device => {
                let block = self.end_block();
                self.terminate(Op::Jump, &[], &[block]);
            }
        }
    }

    /// The block in which the function ends.
    pub fn end_block(&mut self) -> Block {
        match (self.function.kind, self.return_block) {
            (FunctionKind::Entry, _) => self.exit_block(),
            (FunctionKind::Device, Some(block)) => block,
            (FunctionKind::Device, None) => *self.return_block.insert(self.function.add_block()),
        }
    }

    /// Takes in a declaration: variables in the `.param` space are arguments and results of calls.
    pub fn declaration(&mut self, first: usize, declaration: &ast::Declaration) {
        if declaration.specifiers.space != ast::Space::Param {
            return;
        }
        for index in first..self.scopes.variables.len() {
            let variable = &self.scopes.variables[index].1;
            let formal = Formal { ty: variable.ty, size: variable.size, align: variable.align };
            // One that is too large has no image, and whatever names it is unsupported.
            if let Ok(image) = self.new_image(formal) {
                self.call_parameters.insert(index, image);
            }
        }
    }

    /// The memory in the `.param` space that a name stands for, other than a kernel's parameters, and its size in
    /// bytes.
    pub fn image(&self, name: &str) -> Option<(Image, u32)> {
        let image = match self.scopes.lookup(name)? {
            Meaning::Variable(index) => self.call_parameters.get(&index),
            Meaning::Parameter(index) => self.parameters.get(index),
            Meaning::Result(index) => self.results.get(index),
            _ => None,
        };
        image.map(|image| (image.clone(), image.size()))
    }

    /// The function of the module that a name stands for.
    pub fn function_named(&self, name: &str) -> Option<Signature> {
        match self.scopes.lookup(name) {
            None => self.env.signatures.get(name).cloned(),
            Some(_) => None,
        }
    }

    /// What a `.callprototype` or a list of `.calltargets` says of the functions.
    pub fn prototype(&self, name: &str) -> Translated<Signature> {
        match self.prototypes.get(name) {
            Some(StatementKind::CallPrototype(prototype)) => Ok(Signature {
                name: prototype.name.name.clone(),
                is_entry: false,
                returns: prototype.returns.iter().map(Formal::of).collect(),
                parameters: prototype.parameters.iter().map(Formal::of).collect(),
            }),
            Some(StatementKind::CallTargets(list)) => {
                let first = list.targets.first().ok_or(Unsupported)?;
                self.function_named(&first.name).ok_or(Unsupported)
            }
            _ => Err(Unsupported),
        }
    }

    /// So many variables of the construction that no name stands for; the first one.
    pub fn new_variables(&mut self, count: u32) -> Register {
        let first = Register(self.variables);
        self.variables += count;
        first
    }

    /// The value of a variable of the construction: a register, a piece of a parameter.
    pub fn read_variable(&mut self, variable: Register, ty: Type) -> Value {
        self.ssa.read(&mut self.function, self.block, variable, ty)
    }

    /// Writes such a variable, whatever the guard.
    pub fn write_variable(&mut self, variable: Register, value: Value) {
        self.ssa.write(self.block, variable, value);
    }

    /// The block of a label.
    pub fn target(&self, name: &str) -> Translated<Block> {
        match self.scopes.lookup(name) {
            Some(Meaning::Label(index)) => self.labels.get(&index).copied().ok_or(Unsupported),
            _ => Err(Unsupported),
        }
    }

    /// The blocks of a `.branchtargets` list.
    pub fn target_list(&self, name: &str) -> Translated<Vec<Block>> {
        let list = self.target_lists.get(name).ok_or(Unsupported)?;
        list.iter().map(|target| self.target(&target.name)).collect()
    }

    /// Appends an operation and returns it.
    pub fn inst(&mut self, op: Op, ty: Type, args: &[Value]) -> Inst {
        let types = signature::row(&op).types;
        self.mistyped |= types != Types::NONE && !types.contains(ty);
        self.function.append(self.block, InstData::new(op, ty, args).at(self.loc))
    }

    /// Appends an operation with one result.
    pub fn emit(&mut self, op: Op, ty: Type, args: &[Value]) -> Value {
        let inst = self.inst(op, ty, args);
        self.function.result(inst)
    }

    /// Appends an operation with two results.
    pub fn emit_pair(&mut self, op: Op, ty: Type, args: &[Value]) -> (Value, Value) {
        let inst = self.inst(op, ty, args);
        let results = self.function.results(inst);
        (results[0], results[1])
    }

    /// A constant; bits above the width of the type are dropped.
    pub fn constant(&mut self, ty: Type, bits: u64) -> Value {
        let bits = if ty.bits() < 64 { bits & ((1 << ty.bits()) - 1) } else { bits };
        self.emit(Op::Const(bits), ty, &[])
    }

    /// The type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.function.ty(value)
    }

    /// The bits of a value as another type: equal widths as they are, the low bits of a wider one.
    pub fn convert(&mut self, value: Value, to: Type) -> Translated<Value> {
        let from = self.ty(value);
        if from == to {
            return Ok(value);
        }
        if from == Type::Pred || to == Type::Pred {
            return Err(Unsupported);
        }
        if from.bits() == to.bits() {
            return Ok(self.emit(Op::Bitcast, to, &[value]));
        }
        if from.bits() < to.bits() || from.bits() > 64 {
            return Err(Unsupported);
        }
        let bits = self.convert(value, from.as_int())?;
        let low = self.emit(Op::Trunc, to.as_int(), &[bits]);
        self.convert(low, to)
    }

    /// The bits of an integer in a wider or equally wide type.
    pub fn extend(&mut self, value: Value, to: Type, signed: bool) -> Translated<Value> {
        let from = self.ty(value);
        if from.bits() >= to.bits() {
            return self.convert(value, to);
        }
        if from == Type::Pred || to.bits() > 64 {
            return Err(Unsupported);
        }
        let value = self.convert(value, from.as_int())?;
        let wide = self.emit(if signed { Op::Sext } else { Op::Zext }, to.as_int(), &[value]);
        self.convert(wide, to)
    }

    /// An operand as a value of the type. A register may be wider, and gives its low bits.
    pub fn read(&mut self, operand: &Operand, scalar: Scalar) -> Translated<Value> {
        let ty = scalar.ir().ok_or(Unsupported)?;
        match &operand.kind {
            OperandKind::Immediate(expr) => self.immediate(expr, scalar),
            OperandKind::Not(inner) if scalar == Scalar::PRED => {
                let value = self.read(inner, scalar)?;
                Ok(self.emit(Op::Not, Type::Pred, &[value]))
            }
            _ => {
                let value = self.any(operand)?;
                self.convert(value, ty)
            }
        }
    }

    /// An operand as an integer of the type, in which a narrower source is extended.
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
                let lane = lane(part).filter(|&lane| lane < vector.lanes()).ok_or(Unsupported)?;
                self.register(Register(register.0 + lane), ty)
            }
            OperandKind::SymbolOffset(place) => self.place(operand.id, place),
            _ => Err(Unsupported),
        }
    }

    /// The predicate of a guard.
    fn predicate(&mut self, guard: &Guard) -> Translated<Value> {
        let value = self.named(guard.id, &guard.register)?;
        if self.ty(value) != Type::Pred {
            return Err(Unsupported);
        }
        Ok(if guard.negated { self.emit(Op::Not, Type::Pred, &[value]) } else { value })
    }

    /// What a name stands for, at that node.
    pub fn named(&mut self, node: NodeId, name: &str) -> Translated<Value> {
        if let Some((register, ty)) = self.resolved.register(node) {
            return self.register(register, ty);
        }
        match self.scopes.lookup(name) {
            Some(Meaning::Register { register, ty, vector: None }) => self.register(register, ty),
            Some(Meaning::Variable(_)) => self.address_of(name),
            Some(_) => Err(Unsupported),
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

    fn register(&mut self, register: Register, ty: ast::Type) -> Translated<Value> {
        let ty = register_type(ty)?;
        Ok(self.ssa.read(&mut self.function, self.block, register, ty))
    }

    /// The symbol of a variable of the function or of the module.
    pub fn symbol(&mut self, name: &str) -> Translated<Symbol> {
        let (owner, name, variable) = match self.scopes.lookup(name) {
            Some(Meaning::Variable(index)) => {
                let (name, variable) = self.scopes.variables.get(index).ok_or(Unsupported)?;
                (Owner::Function(index), name.clone(), variable.clone())
            }
            Some(_) => return Err(Unsupported),
            None => {
                let (name, variable) = self.env.variables.get_key_value(name).ok_or(Unsupported)?;
                (Owner::Module(name.clone()), name.clone(), variable.clone())
            }
        };
        self.symbols.get(&mut self.function, owner, &name, &variable).ok_or(Unsupported)
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

    /// The constant part of a place.
    pub fn offset(&self, place: &SymbolOffset) -> Translated<i64> {
        match &place.offset {
            Some(expr) => Ok(integer(expr)? as i64),
            None => Ok(0),
        }
    }

    /// A constant expression as a value of the type.
    fn immediate(&mut self, expr: &Expr, scalar: Scalar) -> Translated<Value> {
        if scalar.bits == 128 {
            // Constants have 64 bits; what is above them is 0, whatever their sign.
            let low = self.immediate(expr, Scalar { bits: 64, ..scalar })?;
            let high = self.constant(Type::B64, 0);
            return Ok(self.emit(Op::Pack, Type::B128, &[low, high]));
        }
        let ty = scalar.ir().ok_or(Unsupported)?;
        let bits = match expr.evaluate().map_err(|_| Unsupported)? {
            Constant::F32(bits) if scalar.bits == 32 && !scalar.packed => bits.into(),
            Constant::F64(bits) if scalar.bits == 64 => bits,
            // A decimal literal is a double and rounds to the type of the instruction.
            Constant::F64(bits) if ty == Type::F32 => (f64::from_bits(bits) as f32).to_bits().into(),
            Constant::S64(value) if scalar == Scalar::PRED => u64::from(value != 0),
            Constant::U64(value) if scalar == Scalar::PRED => u64::from(value != 0),
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

    /// Writes a value to a destination; one that is wider gets it extended.
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
                    let lane = lane(&selected.1).filter(|&lane| lane < vector.lanes()).ok_or(Unsupported)?;
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

    /// The type that a destination is declared with; none for `_`.
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

    /// The offset of a kernel parameter in the parameter block, if the name is one's.
    pub fn parameter(&self, name: &str) -> Option<u32> {
        match self.scopes.lookup(name)? {
            Meaning::Parameter(index) if self.function.kind == FunctionKind::Entry => {
                Some(self.scopes.parameters.get(index)?.offset)
            }
            _ => None,
        }
    }
}

/// The value of a constant expression that must be an integer.
pub(super) fn integer(expr: &Expr) -> Translated<u64> {
    expr.evaluate().ok().and_then(Constant::integer_bits).ok_or(Unsupported)
}

/// The IR type of a register: one of 8 bits lives in 16.
fn register_type(ty: ast::Type) -> Translated<Type> {
    let scalar = Scalar::of(ty).ok_or(Unsupported)?;
    if scalar.bits == 8 { Ok(Type::B16) } else { scalar.ir().ok_or(Unsupported) }
}

fn lane(part: &str) -> Option<u32> {
    match part {
        "x" | "r" => Some(0),
        "y" | "g" => Some(1),
        "z" | "b" => Some(2),
        "w" | "a" => Some(3),
        _ => None,
    }
}

/// The special register of that name, and its type.
fn special(name: &str) -> Option<(SpecialReg, Type)> {
    match name.strip_prefix('%')? {
        "clock64" => Some((SpecialReg::Clock, Type::B64)),
        "globaltimer" => Some((SpecialReg::GlobalTimer, Type::B64)),
        "globaltimer_lo" => Some((SpecialReg::GlobalTimer, Type::B32)),
        "is_explicit_cluster" => Some((SpecialReg::ExplicitCluster, Type::Pred)),
        name => Some((name.parse().ok()?, Type::B32)),
    }
}

/// Whether an instruction may run where its guard fails, if its result is not used then: it computes
/// something from registers, constants and parameters alone.
fn is_speculable(instruction: &Instruction) -> bool {
    match instruction.opcode.mnemonic() {
        "ld" => instruction.opcode.has("param"),
        "add" | "sub" | "mul" | "mad" | "fma" | "div" | "rem" | "min" | "max" | "abs" | "neg" | "sad" => true,
        "addc" | "subc" | "madc" | "mul24" | "mad24" | "vabsdiff4" | "dp4a" | "dp2a" => true,
        "popc" | "clz" | "brev" | "bfe" | "bfi" | "bfind" | "bmsk" | "szext" | "fns" => true,
        "prmt" | "shf" | "lop3" => true,
        "and" | "or" | "xor" | "not" | "cnot" | "shl" | "shr" => true,
        "setp" | "set" | "selp" | "slct" => true,
        "rcp" | "rsqrt" | "sqrt" | "sin" | "cos" | "lg2" | "ex2" | "tanh" => true,
        "copysign" | "testp" => true,
        "cvt" | "cvta" | "isspacep" | "mov" | "mapa" | "getctarank" => true,
        _ => false,
    }
}

/// The blocks that the entry leads to.
fn reachable(func: &Function) -> Vec<bool> {
    let mut seen = vec![false; func.blocks.len()];
    let entry = func.entry();
    seen[entry.as_u32() as usize] = true;
    let mut stack = vec![entry];
    while let Some(block) = stack.pop() {
        for next in func.successors(block) {
            if !std::mem::replace(&mut seen[next.as_u32() as usize], true) {
                stack.push(next);
            }
        }
    }
    seen
}
