//! The state of a translation, and operands as values.
//!
//! The families see a [`Translator`] through a few methods: [`read`](Translator::read) an operand
//! as a type, [`write`](Translator::write) a value to a destination, [`emit`](Translator::emit) an
//! operation. The translator handles guards, blocks and the conversion between a register's
//! declared type and an instruction's type.

mod operands;
mod whole_vectors;

use ptxc_ir::signature::{self, Types};
use ptxc_ir::{Block, BlockCall, Function, FunctionKind, Inst, InstData, Op, SourceLoc, Symbol, Type, Value};
use ptxc_syntax::NodeId;
use ptxc_syntax::ast::{self, Instruction, StatementKind};
use rustc_hash::FxHashMap;

pub(super) use self::operands::integer;
use super::Built;
use super::control;
use super::dialect::Dialect;
use super::form::{Form, Translated, Unsupported};
use super::instructions::{Guarded, Lowering, Translate, lowering};
use super::lending;
use super::params::{Image, LargeImages};
use super::ssa::{Above, Ssa};
use super::symbols::{self, Symbols};
use crate::check::decoded::Decoded;
use crate::check::env::{Formal, ModuleEnv, Signature};
use crate::check::register_counts;
use crate::check::resolved::Resolved;
use crate::check::scope::{Meaning, Register, Scopes};
use crate::diagnostic::{Diagnostic, source_loc};

/// The translation of one function in progress.
pub(super) struct Translator<'a> {
    /// The function under construction.
    pub function: Function,
    /// The meaning of names at this point.
    pub scopes: Scopes,
    /// The constructs that could not be translated.
    pub diagnostics: Vec<Diagnostic>,
    ast: &'a ast::Function,
    pub env: &'a ModuleEnv,
    /// The registers that operands name, as far as the check found them.
    pub resolved: &'a Resolved,
    /// Whether the kernel ignores hints on its number of registers.
    pub keeps_registers: bool,
    dialect: Dialect,
    /// The number of variables of the construction: registers, and variables without a register's
    /// name.
    variables: u32,
    /// The variable that is the stack pointer, if the function moves it.
    pub stack_pointer: Option<Register>,
    ssa: Ssa,
    symbols: Symbols,
    /// Blocks of labels, by the number of the statement.
    labels: FxHashMap<usize, Block>,
    /// The lists of branch targets and of functions, and the prototypes, by the number of the statement.
    lists: FxHashMap<usize, &'a StatementKind>,
    /// The parameters of a device function.
    pub parameters: Vec<Image>,
    /// Its results.
    pub results: Vec<Image>,
    /// The variables in the `.param` space, by their number among the variables of the function.
    call_parameters: FxHashMap<usize, Image>,
    /// The block that receives instructions.
    block: Block,
    /// Blocks in the order of the source.
    placed: Vec<Block>,
    /// Whether the block has its terminator.
    ended: bool,
    loc: SourceLoc,
    /// The predicate under which destinations are written.
    guard: Option<Value>,
    /// A block that only exits, shared by all guarded exits.
    exit: Option<Block>,
    /// The block in which a device function returns.
    return_block: Option<Block>,
    /// Whether an operation got a type that it does not have; only code that the check rejects
    /// causes this.
    mistyped: bool,
    /// Whether there are products of a warpgroup.
    pub has_group_products: bool,
    /// The variable that can't be named, if the instruction is unsupported because of it.
    no_room: Option<symbols::NoRoom>,
    /// The memory of large arguments and results of calls.
    pub large: LargeImages,
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
        // Constants among the operands are separate instructions.
        function.reserve(statements + statements / 4);
        let mut ssa = Ssa::new();
        ssa.enter(block, Above::Nothing);
        let mut labels = FxHashMap::default();
        let mut lists = FxHashMap::default();
        for (index, statement) in ast.body.iter().flatten().enumerate() {
            ptxc_interrupt::poll();
            match &statement.kind {
                StatementKind::Label(_) => {
                    labels.insert(index, function.add_block());
                }
                StatementKind::BranchTargets(_)
                | StatementKind::CallTargets(_)
                | StatementKind::CallPrototype(_) => {
                    lists.insert(index, &statement.kind);
                }
                _ => {}
            }
        }
        Translator {
            function,
            keeps_registers: register_counts::obstacle(ast, env).is_some(),
            scopes: Scopes::new(ast).with_parameters_at(env.parameter_base),
            diagnostics: Vec::new(),
            ast,
            env,
            resolved,
            dialect: Dialect::of(env),
            variables: resolved.register_count(),
            stack_pointer: None,
            ssa,
            symbols: Symbols::new(env),
            labels,
            lists,
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
            has_group_products: false,
            no_room: None,
            large: LargeImages::default(),
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

    /// Translates an instruction, or reports that it can't be lowered yet.
    pub fn instruction(&mut self, node: NodeId, instruction: &Instruction, opcode: Option<&Decoded>) {
        self.loc = source_loc(node);
        if self.ended {
            // The code is unreachable, but its errors must still be reported.
            let block = self.function.add_block();
            self.start(block, Above::Join);
        }
        if opcode.is_some_and(|opcode| self.dialect.demotes(opcode)) {
            let what = format!(
                "`{}` in single precision, which `map_f64_to_f32` in `.target` demands,",
                instruction.opcode
            );
            let finding = Diagnostic::unsupported(instruction.opcode.id, what);
            self.diagnostics.push(finding.help("write the instruction with `.f32`, or `.target sm_13`"));
            return;
        }
        let result = self.guarded(instruction, opcode);
        self.guard = None;
        let no_room = self.no_room.take();
        if result.is_err() {
            let node = instruction.opcode.id;
            let form = || Diagnostic::unsupported(node, format!("`{}` in this form", instruction.opcode));
            self.diagnostics.push(no_room.map_or_else(form, |no_room| no_room.finding(node)));
        }
    }

    /// Ends the body and returns the function, or the diagnostics about it.
    pub fn finish(mut self) -> Result<Built, Vec<Diagnostic>> {
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
        let warning = self.has_group_products.then(|| lending::lend(&mut self.function)).flatten();
        Ok(Built { function: self.function, warnings: warning.into_iter().collect() })
    }

    fn guarded(&mut self, instruction: &Instruction, opcode: Option<&Decoded>) -> Translated {
        let opcode = opcode.ok_or(Unsupported)?;
        let Lowering { translate, guarded } = lowering(opcode).ok_or(Unsupported)?;
        let operands = whole_vectors::spelled_out(&self.scopes, self.resolved, &instruction.operands);
        let mut form = Form::new(opcode, &operands, self.dialect);
        let Some(guard) = &instruction.guard else { return self.plain(translate, &mut form) };
        let condition = self.predicate(guard)?;
        match guarded {
            Guarded::Branches(target) => control::guarded(self, &mut form, target, condition),
            Guarded::Selects => {
                self.guard = Some(condition);
                self.plain(translate, &mut form)
            }
            Guarded::Skips => {
                let before = self.block;
                let inside = self.function.add_block();
                let after = self.function.add_block();
                self.terminate(Op::Branch { uni: false }, &[condition], &[inside, after]);
                self.start(inside, Above::Single(before));
                let result = self.plain(translate, &mut form);
                if !self.ended {
                    self.terminate(Op::Jump, &[], &[after]);
                }
                self.start(after, Above::Around(before, inside));
                result
            }
        }
    }

    fn plain(&mut self, translate: Translate, form: &mut Form) -> Translated {
        let result = translate(self, form);
        let mistyped = std::mem::take(&mut self.mistyped);
        result?;
        if form.is_done() && !mistyped { Ok(()) } else { Err(Unsupported) }
    }

    /// Makes `block` the block that receives instructions.
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

    /// Ends the block with a branch to `target` if `condition` holds, and continues in a new block.
    pub fn branch_away(&mut self, condition: Value, target: Block, uniform: bool) {
        let before = self.block;
        let after = self.function.add_block();
        self.terminate(Op::Branch { uni: uniform }, &[condition], &[target, after]);
        self.start(after, Above::Single(before));
    }

    /// The block that only exits.
    pub fn exit_block(&mut self) -> Block {
        match self.exit {
            Some(block) => block,
            None => *self.exit.insert(self.function.add_block()),
        }
    }

    /// Ends the block at the end of the function: a kernel's thread exits, a device function
    /// returns.
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

    /// Processes a declaration: variables in the `.param` space are arguments and results of calls.
    pub fn declaration(&mut self, first: usize, declaration: &ast::Declaration) {
        if declaration.specifiers.space != ast::Space::Param {
            return;
        }
        for index in first..self.scopes.variables.len() {
            let (name, variable) = self.scopes.variables[index].clone();
            // A variable that is too large has no image, and every instruction that names it is
            // unsupported.
            let Ok(size) = u32::try_from(variable.size) else { continue };
            let formal = Formal { ty: variable.ty, is_array: false, size, align: variable.align };
            let image = match formal.layout().is_large() {
                true => self.large_image(&name, formal),
                false => self.new_image(formal),
            };
            if let Ok(image) = image {
                self.call_parameters.insert(index, image);
            }
        }
    }

    /// The memory in the `.param` space that a name stands for, and its size in bytes; `None` for a
    /// kernel's parameters.
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

    /// The signature in a `.callprototype` or of the functions in a `.calltargets` list.
    pub fn prototype(&self, name: &str) -> Translated<Signature> {
        match self.list(name) {
            Some(StatementKind::CallPrototype(prototype)) => Ok(Signature::of_prototype(prototype)),
            Some(StatementKind::CallTargets(list)) => {
                let first = list.targets.first().ok_or(Unsupported)?;
                self.function_named(&first.name).ok_or(Unsupported)
            }
            _ => Err(Unsupported),
        }
    }

    /// A symbol in the thread's own memory that is no variable of the source.
    pub fn new_local_memory(&mut self, name: &str, size: u32, align: u32) -> Symbol {
        self.symbols.local(&mut self.function, name, size, align)
    }

    /// Makes a number of variables that no name stands for; returns the first one.
    pub fn new_variables(&mut self, count: u32) -> Register {
        let first = Register(self.variables);
        self.variables += count;
        first
    }

    /// The value of a variable of the construction: a register, a piece of a parameter.
    pub fn read_variable(&mut self, variable: Register, ty: Type) -> Value {
        self.ssa.read(&mut self.function, self.block, variable, ty)
    }

    /// Writes such a variable, regardless of the guard.
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
        let Some(StatementKind::BranchTargets(list)) = self.list(name) else { return Err(Unsupported) };
        list.targets.iter().map(|target| self.target(&target.name)).collect()
    }

    /// The list or prototype that a name stands for; blocks may have lists of one name.
    fn list(&self, name: &str) -> Option<&'a StatementKind> {
        match self.scopes.lookup(name)? {
            Meaning::List(index) => self.lists.get(&index).copied(),
            _ => None,
        }
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

    /// The bits of a value as another type: all bits for equal widths, the low bits of a wider
    /// value.
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
}

/// The blocks that are reachable from the entry.
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
