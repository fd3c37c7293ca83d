//! Names inside a function: registers, variables, parameters and labels, with their scopes.
//!
//! PTX scopes are braces. A name is visible from its declaration to the end of the innermost block
//! around it, and hides outer names; labels are visible in their whole block. The check and the
//! construction of SSA both walk the flat list of statements with a [`Scopes`]. It numbers all
//! registers densely, so later code uses an index for a register instead of a string.
use ptxc_syntax::ast::{
    Declaration, Function, Parameter, Space, Specifiers, Statement, StatementKind, Type, Vector,
};
use ptxc_syntax::{Name, NodeId};
use rustc_hash::FxHashMap;

use super::env::{
    Declared, MOST_IN_RANGES, Variable, constant_u32, parameter_layout, parameter_start, variables,
};
use super::ranges::{self, Prefix, Range, Ranges};

/// A register of the function: a dense number over all scopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Register(pub u32);

impl Register {
    /// The carry flag, which no name stands for: declared registers are numbered from 1.
    pub const CARRY: Register = Register(0);
}

/// The most registers that one function may declare; a range `%r<N>` beyond this limit is an error.
pub const MAX_REGISTERS: u32 = 1 << 24;

/// The meaning of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A register with its declared type; a vector register takes as many numbers as it has lanes.
    Register {
        /// The number of its first lane.
        register: Register,
        /// The type of a lane.
        ty: Type,
        /// The vector size, if it is one.
        vector: Option<Vector>,
    },
    /// A variable in memory, the `usize`-th of the function.
    Variable(usize),
    /// A parameter of the function in memory, the `usize`-th.
    Parameter(usize),
    /// A result of the function in memory, the `usize`-th.
    Result(usize),
    /// A label, the `usize`-th statement of the body.
    Label(usize),
    /// The label of a list of targets or of a prototype, the `usize`-th statement of the body.
    List(usize),
}

/// A parameter in the parameter block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterPlace {
    /// The name.
    pub name: Name,
    /// The type of an element.
    pub ty: Type,
    /// Size in bytes.
    pub size: u32,
    /// Alignment in bytes.
    pub align: u32,
    /// Offset in bytes, in a block that is aligned for all parameters.
    pub offset: u32,
}

/// A declaration that can't be entered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScopeError {
    /// The name is already declared in this scope; the new declaration, and the first one.
    Redeclared(NodeId, Name, NodeId),
    /// The size or range is too large or not a constant.
    BadSize(NodeId, Name),
    /// A predicate that is not a single register: a vector, or in memory.
    Predicate(NodeId, Name),
}

/// Whether a declaration misuses predicates: as vectors, or as variables in memory.
pub fn misplaces_predicate(specifiers: &Specifiers) -> bool {
    specifiers.ty == Type::Pred && (specifiers.space != Space::Reg || specifiers.vector.is_some())
}

#[derive(Debug, Default)]
struct Scope {
    /// The meaning of each name, with the place of its declaration.
    names: FxHashMap<Name, (Meaning, NodeId)>,
    ranges: Ranges,
    /// For each prefix of a name that could be a member of a range, the least number with the place
    /// of its declaration.
    numbered: FxHashMap<Name, (u32, NodeId)>,
}

impl Scope {
    /// The meaning of a name that is not in a range.
    #[inline(never)] // Most names are found without this call.
    fn named(&self, name: &str) -> Option<Meaning> {
        if self.names.is_empty() { None } else { self.names.get(name).map(|&(meaning, _)| meaning) }
    }
}

/// The scopes around a point of the body.
#[derive(Debug)]
pub struct Scopes {
    stack: Vec<Scope>,
    registers: u32,
    /// How many more variables ranges may declare.
    room: u32,
    /// The registers that are parameters, each with the number of the parameter; then those that
    /// are results.
    pub in_registers: [Vec<(usize, Meaning)>; 2],
    /// The variables declared so far, by [`Meaning::Variable`].
    pub variables: Vec<(Name, Variable)>,
    /// The parameters, by [`Meaning::Parameter`].
    pub parameters: Vec<ParameterPlace>,
    /// The declarations that could not be entered.
    pub errors: Vec<ScopeError>,
    /// For every statement that opens a block (and for the body itself, under `usize::MAX`), the
    /// labels of that block.
    labels: FxHashMap<usize, Vec<(Name, Meaning, NodeId)>>,
}

impl Scopes {
    /// The scopes at the start of a function's body: its parameters, and the labels of the
    /// outermost block.
    pub fn new(function: &Function) -> Scopes {
        let body = function.body.as_deref().unwrap_or(&[]);
        let mut scopes = Scopes {
            stack: vec![Scope::default()],
            registers: 1,
            room: MOST_IN_RANGES,
            in_registers: Default::default(),
            variables: Vec::new(),
            parameters: Vec::new(),
            errors: Vec::new(),
            labels: labels_by_block(body),
        };
        let mut offset = 0u32;
        for (index, parameter) in function.parameters.iter().enumerate() {
            if misplaces_predicate(&parameter.specifiers) {
                scopes.errors.push(ScopeError::Predicate(parameter.id, parameter.name.clone()));
                continue;
            }
            // A predicate has no size, and takes no memory; the number of a texture, sampler or surface is
            // elsewhere.
            let layout = match parameter.specifiers.ty {
                Type::Pred | Type::Texref | Type::Samplerref | Type::Surfref => Some((0, 1)),
                _ => parameter_layout(parameter),
            };
            let Some((size, align)) = layout else {
                scopes.errors.push(ScopeError::BadSize(parameter.id, parameter.name.clone()));
                continue;
            };
            let start =
                parameter_start(offset, align, 0).and_then(|o| o.checked_add(size).map(|end| (o, end)));
            let Some((start, end)) = start else {
                scopes.errors.push(ScopeError::BadSize(parameter.id, parameter.name.clone()));
                continue;
            };
            offset = end;
            let (name, ty) = (parameter.name.clone(), parameter.specifiers.ty);
            scopes.parameters.push(ParameterPlace { name, ty, size, align, offset: start });
            scopes.enter_parameter(parameter, index, Meaning::Parameter(scopes.parameters.len() - 1), 0);
        }
        for (index, result) in function.returns.iter().enumerate() {
            scopes.enter_parameter(result, index, Meaning::Result(index), 1);
        }
        scopes.enter_labels(usize::MAX);
        scopes
    }

    /// The same, with a parameter block that lies at `base` bytes in its bank.
    pub fn with_parameters_at(mut self, base: u32) -> Scopes {
        let mut end = 0;
        for parameter in &mut self.parameters {
            parameter.offset = parameter_start(end, parameter.align, base).unwrap_or(parameter.offset);
            end = parameter.offset.saturating_add(parameter.size);
        }
        self
    }

    /// Enters a parameter or result: a register, or else `in_memory`.
    fn enter_parameter(&mut self, parameter: &Parameter, index: usize, in_memory: Meaning, side: usize) {
        let Specifiers { space, ty, vector, .. } = parameter.specifiers;
        let meaning = if space == Space::Reg {
            let register = Register(self.registers);
            self.registers += lanes(vector);
            let meaning = Meaning::Register { register, ty, vector };
            self.in_registers[side].push((index, meaning));
            meaning
        } else {
            in_memory
        };
        self.enter_name(parameter.id, parameter.name.clone(), meaning);
    }

    /// Processes a statement, the `index`-th of the body: opens and closes blocks, enters
    /// declarations.
    pub fn statement(&mut self, index: usize, statement: &Statement) {
        match &statement.kind {
            StatementKind::Open => {
                self.stack.push(Scope::default());
                self.enter_labels(index);
            }
            StatementKind::Close if self.stack.len() > 1 => {
                self.stack.pop();
            }
            StatementKind::Declaration(declaration) => self.declare(declaration),
            _ => {}
        }
    }

    /// The meaning of a name at this point.
    pub fn lookup(&self, name: &str) -> Option<Meaning> {
        // Most names belong to a range of registers.
        let member = ranges::member(name);
        for scope in self.stack.iter().rev() {
            if let Some((prefix, number)) = &member
                && let Some(range) = scope.ranges.get(prefix).filter(|range| *number < range.count)
            {
                let Range { first, ty, vector, .. } = *range;
                return Some(Meaning::Register {
                    register: Register(first.0 + number * lanes(vector)),
                    ty,
                    vector,
                });
            }
            if let Some(meaning) = scope.named(name) {
                return Some(meaning);
            }
        }
        None
    }

    /// The number of registers declared so far, plus one for the carry flag.
    pub fn register_count(&self) -> u32 {
        self.registers
    }

    /// All names that are visible here, for suggestions, in no particular order.
    pub fn visible(&self) -> impl Iterator<Item = &Name> {
        self.stack.iter().flat_map(|scope| scope.names.keys())
    }

    /// The number of registers in the innermost range `prefix<N>`, if there is one.
    pub fn range(&self, prefix: &str) -> Option<u32> {
        let prefix = Prefix::of(prefix);
        self.stack.iter().rev().find_map(|scope| scope.ranges.get(&prefix)).map(|range| range.count)
    }

    fn declare(&mut self, declaration: &Declaration) {
        let specifiers = &declaration.specifiers;
        if misplaces_predicate(specifiers) {
            let names = declaration.declarators.iter().map(|declarator| &declarator.name);
            self.errors.extend(names.map(|name| ScopeError::Predicate(name.id, name.name.clone())));
            return;
        }
        if specifiers.space != Space::Reg {
            for Declared { declarator, name, variable } in variables(declaration, &mut self.room) {
                let id = declarator.name.id;
                match variable {
                    Some(variable) => {
                        let meaning = Meaning::Variable(self.variables.len());
                        self.variables.push((name.clone(), variable));
                        self.enter_name(id, name, meaning);
                    }
                    None => self.errors.push(ScopeError::BadSize(id, name)),
                }
            }
            return;
        }
        let (ty, vector) = (specifiers.ty, specifiers.vector);
        for declarator in &declaration.declarators {
            let (id, name) = (declarator.name.id, declarator.name.name.clone());
            let count = match &declarator.range {
                Some(range) => constant_u32(range),
                None => Some(1),
            };
            let end = count.and_then(|count| count.checked_mul(lanes(vector))?.checked_add(self.registers));
            let (Some(count), Some(end)) = (count, end.filter(|&end| end <= MAX_REGISTERS)) else {
                self.errors.push(ScopeError::BadSize(id, name));
                continue;
            };
            let register = Register(self.registers);
            self.registers = end;
            if declarator.range.is_some() {
                let range = Range { count, first: register, ty, vector, declared: id };
                let member = self.top().numbered.get(&name).filter(|(number, _)| *number < count);
                let member = member.map(|&(number, first)| (format!("{name}{number}"), first));
                if let Some(before) = self.top().ranges.insert(&name, range) {
                    self.errors.push(ScopeError::Redeclared(id, name, before.declared));
                } else if let Some((member, first)) = member {
                    self.errors.push(ScopeError::Redeclared(id, Name::new(&member), first));
                }
            } else {
                self.enter_name(id, name, Meaning::Register { register, ty, vector });
            }
        }
    }

    fn top(&mut self) -> &mut Scope {
        if self.stack.is_empty() {
            self.stack.push(Scope::default());
        }
        let top = self.stack.len() - 1;
        &mut self.stack[top]
    }

    fn enter_name(&mut self, id: NodeId, name: Name, meaning: Meaning) {
        let is_label = matches!(meaning, Meaning::Label(_) | Meaning::List(_));
        if let Some((_, first)) = self.top().names.insert(name.clone(), (meaning, id)) {
            self.errors.push(ScopeError::Redeclared(id, name, first));
        } else if let Some(declared) = self.padded_member(&name).filter(|_| !is_label) {
            self.errors.push(ScopeError::Redeclared(id, name, declared));
        } else if let Some((prefix, number)) = ranges::member(&name).filter(|_| !is_label) {
            let range = self.top().ranges.get(&prefix).filter(|range| number < range.count);
            if let Some(declared) = range.map(|range| range.declared) {
                return self.errors.push(ScopeError::Redeclared(id, name, declared));
            }
            let least = self.top().numbered.entry(Name::new(prefix.text())).or_insert((number, id));
            if number < least.0 {
                *least = (number, id);
            }
        }
    }

    /// The place of the range that `name` belongs to in spite of leading zeros, such as `%r01`.
    fn padded_member(&mut self, name: &str) -> Option<NodeId> {
        let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
        let digits = &name[stem.len()..];
        let prefix = Prefix::of(stem);
        let range = self.top().ranges.get(&prefix).filter(|_| digits.len() > 1 && digits.starts_with('0'))?;
        (digits.parse::<u32>().ok()? < range.count).then_some(range.declared)
    }

    fn enter_labels(&mut self, block: usize) {
        for (name, meaning, id) in self.labels.remove(&block).unwrap_or_default() {
            self.enter_name(id, name, meaning);
        }
    }
}

fn lanes(vector: Option<Vector>) -> u32 {
    vector.map_or(1, |vector| vector.lanes())
}

/// The labels of each block, under the index of the statement that opens it.
fn labels_by_block(body: &[Statement]) -> FxHashMap<usize, Vec<(Name, Meaning, NodeId)>> {
    let mut labels: FxHashMap<usize, Vec<(Name, Meaning, NodeId)>> = FxHashMap::default();
    let mut open = vec![usize::MAX];
    for (index, statement) in body.iter().enumerate() {
        ptxc_interrupt::poll();
        let mut add = |name: &Name, meaning, id| {
            let block = open.last().copied().unwrap_or(usize::MAX);
            labels.entry(block).or_default().push((name.clone(), meaning, id));
        };
        match &statement.kind {
            StatementKind::Open => open.push(index),
            StatementKind::Close if open.len() > 1 => {
                open.pop();
            }
            StatementKind::Label(name) => add(name, Meaning::Label(index), statement.id),
            StatementKind::BranchTargets(list) | StatementKind::CallTargets(list) => {
                add(&list.name.name, Meaning::List(index), list.name.id);
            }
            StatementKind::CallPrototype(list) => add(&list.name.name, Meaning::List(index), list.name.id),
            _ => {}
        }
    }
    labels
}
