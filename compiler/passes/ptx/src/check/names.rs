//! The meaning of the names in a function, and the errors about names without a meaning.
//!
//! A name is looked up in the scopes around it, then among the results of the function, the
//! variables and functions of the module, and the special registers. An unknown name is reported
//! once for each function, with the nearest known name.

use ptxc_syntax::ast::{
    Function, FunctionKind, Operand, OperandKind, Parameter, Space, Statement, StatementKind, Vector,
};
use ptxc_syntax::{Name, NodeId};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

use super::codes;
use super::decoded::Decoded;
use super::env::ModuleEnv;
use super::foreign;
use super::resolved::Resolved;
use super::scope::{Meaning, ParameterPlace, ScopeError, Scopes};
use super::special::{self, SpecialRegister};
use super::suggest::Suggestions;
use super::types::Scalar;
use crate::diagnostic::Diagnostic;

/// The thing that a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thing {
    /// A register, or a vector of registers.
    Register(Scalar, Option<Vector>),
    /// A special register.
    Special(SpecialRegister),
    /// A variable or parameter in memory: state space, size in bytes.
    Memory(Space, u64),
    /// A label.
    Label,
    /// A function of the module.
    Function,
    /// The label of a `.branchtargets` directive.
    BranchTargets,
    /// The label of a `.calltargets` directive.
    CallTargets,
    /// The label of a `.callprototype` directive.
    Prototype,
}

impl Thing {
    /// For a message, with the article.
    pub fn describe(self) -> String {
        match self {
            Thing::Register(ty, None) => format!("a `{ty}` register"),
            Thing::Register(ty, Some(vector)) => format!("a `.{} {ty}` register", vector.spelling()),
            Thing::Special(_) => "a special register".into(),
            Thing::Memory(space, _) => format!("a variable in `.{}`", space.spelling()),
            Thing::Label => "a label".into(),
            Thing::Function => "a function".into(),
            Thing::BranchTargets => "a list of branch targets".into(),
            Thing::CallTargets => "a list of call targets".into(),
            Thing::Prototype => "a prototype".into(),
        }
    }
}

/// The kind of name that was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Any name that an operand can have.
    Operand,
    /// A label.
    Label,
    /// A function.
    Function,
}

/// The names around a point of a function.
pub struct Names<'a> {
    env: &'a ModuleEnv,
    kind: FunctionKind,
    scopes: Scopes,
    /// The meanings of names found so far.
    pub(super) resolved: Resolved,
    /// Parameters and results; the scopes don't know their state space.
    own: FxHashMap<&'a str, (&'a Parameter, u32)>,
    directives: FxHashMap<&'a str, Thing>,
    /// One label of each name, from any block of the function. The map is made when a label is
    /// missing.
    labels: Option<FxHashMap<&'a str, NodeId>>,
    function: &'a Function,
    reported: FxHashSet<Name>,
    /// Names and prefixes whose declarations could not be entered.
    unsized_names: FxHashSet<Name>,
}

/// The error about a predicate that is a vector or in memory.
pub fn predicate_storage(node: NodeId, name: &str) -> Diagnostic {
    Diagnostic::error(
        codes::PREDICATE_STORAGE,
        node,
        format!("the predicate `{name}` is not a single register"),
    )
    .label("predicates can't be in memory or in vectors")
    .help("declare `.reg .pred`, and keep the value as an integer: `selp.b32 %r, 1, 0, %p;`")
}

/// One label of each name, from any block of the function.
fn labels(function: &Function) -> FxHashMap<&str, NodeId> {
    let labels = function.body.iter().flatten().filter_map(|statement| match &statement.kind {
        StatementKind::Label(name) => Some((name.as_str(), statement.id)),
        _ => None,
    });
    labels.collect()
}

/// The name and the kind of a list of targets or of a prototype.
fn list(statement: &StatementKind) -> Option<(&str, Thing)> {
    match statement {
        StatementKind::BranchTargets(list) => Some((list.name.name.as_str(), Thing::BranchTargets)),
        StatementKind::CallTargets(list) => Some((list.name.name.as_str(), Thing::CallTargets)),
        StatementKind::CallPrototype(list) => Some((list.name.name.as_str(), Thing::Prototype)),
        _ => None,
    }
}

impl<'a> Names<'a> {
    /// The names at the start of the body.
    pub fn new(function: &'a Function, env: &'a ModuleEnv) -> Names<'a> {
        let mut own = FxHashMap::default();
        for parameter in function.parameters.iter().chain(&function.returns) {
            let size = super::env::parameter_layout(parameter).map_or(0, |(size, _)| size);
            own.insert(parameter.name.as_str(), (parameter, size));
        }
        let mut directives = FxHashMap::default();
        for statement in function.body.iter().flatten() {
            directives.extend(list(&statement.kind));
        }
        Names {
            env,
            kind: function.kind,
            scopes: Scopes::new(function),
            resolved: Resolved::of(function.body.as_deref().unwrap_or(&[])),
            own,
            directives,
            labels: None,
            function,
            reported: FxHashSet::default(),
            unsized_names: FxHashSet::default(),
        }
    }

    /// Processes a statement, and reports its wrong declarations.
    pub fn statement(&mut self, index: usize, statement: &Statement, out: &mut Vec<Diagnostic>) {
        self.scopes.statement(index, statement);
        self.take_errors(out);
    }

    /// Reports the declarations since the last call that could not be entered.
    pub fn take_errors(&mut self, out: &mut Vec<Diagnostic>) {
        if self.scopes.errors.is_empty() {
            return;
        }
        for error in self.scopes.errors.drain(..) {
            out.push(match error {
                ScopeError::Redeclared(node, name, first) => Diagnostic::error(
                    codes::REDECLARED,
                    node,
                    format!("`{name}` is declared twice in this scope"),
                )
                .label("declared here again")
                .also(first, "declared here first")
                .help("rename one of them, or open a scope with braces"),
                ScopeError::BadSize(node, name) => {
                    let message = format!("the size of `{name}` is not a valid constant");
                    self.unsized_names.insert(name);
                    Diagnostic::error(codes::BAD_SIZE, node, message)
                        .label("not a positive constant, or too large")
                }
                ScopeError::Predicate(node, name) => {
                    let finding = predicate_storage(node, &name);
                    self.unsized_names.insert(name);
                    finding
                }
            });
        }
    }

    /// The thing that a name stands for at this point and node.
    pub fn find_at(&self, node: NodeId, name: &str) -> Option<Thing> {
        match self.resolved.register(node) {
            Some((_, ty)) => Some(Thing::Register(Scalar::of(ty), None)),
            None => self.find(name),
        }
    }

    /// The meanings of names, at the end of the body.
    pub(super) fn into_resolved(mut self, opcodes: Vec<Option<Decoded>>) -> Resolved {
        self.resolved.set_opcodes(opcodes);
        self.resolved.set_register_count(self.scopes.register_count());
        self.resolved
    }

    /// The thing that a name stands for at this point.
    pub fn find(&self, name: &str) -> Option<Thing> {
        let memory = |parameter: &Parameter, size: u32| match parameter.specifiers.space {
            Space::Reg => Thing::Register(Scalar::of(parameter.specifiers.ty), parameter.specifiers.vector),
            space => Thing::Memory(space, size.into()),
        };
        match self.scopes.lookup(name) {
            Some(Meaning::Register { ty, vector, .. }) => {
                return Some(Thing::Register(Scalar::of(ty), vector));
            }
            Some(Meaning::Variable(index)) => {
                let (_, variable) = self.scopes.variables.get(index)?;
                return Some(Thing::Memory(variable.space, variable.size));
            }
            Some(Meaning::Parameter(_) | Meaning::Result(_)) => {
                let &(parameter, size) = self.own.get(name)?;
                return Some(memory(parameter, size));
            }
            Some(Meaning::Label(_)) => return Some(Thing::Label),
            Some(Meaning::List(index)) => return self.list(index),
            None => {}
        }
        if let Some(&(parameter, size)) = self.own.get(name) {
            return Some(memory(parameter, size));
        }
        if let Some(&directive) = self.directives.get(name) {
            return Some(directive);
        }
        if let Some(variable) = self.env.variables.get(name) {
            // Before PTX 3.0 a module declares registers for all of its functions.
            if variable.space == Space::Reg {
                return Some(Thing::Register(Scalar::of(variable.ty), None));
            }
            return Some(Thing::Memory(variable.space, variable.size));
        }
        if self.env.signatures.contains_key(name) {
            return Some(Thing::Function);
        }
        special::find(name).map(Thing::Special)
    }

    /// The list of targets or the prototype that is a statement of the body.
    fn list(&self, index: usize) -> Option<Thing> {
        list(&self.function.body.as_deref()?.get(index)?.kind).map(|(_, thing)| thing)
    }

    /// Size and alignment, in bytes, of the memory that a name stands for; the size is 0 if it is
    /// open.
    pub fn layout(&self, name: &str) -> Option<(u64, u32)> {
        match self.scopes.lookup(name) {
            Some(Meaning::Variable(index)) => {
                let (_, variable) = self.scopes.variables.get(index)?;
                Some((variable.size, variable.align))
            }
            Some(Meaning::Parameter(_) | Meaning::Result(_)) => {
                let (size, align) = super::env::parameter_layout(self.own.get(name)?.0)?;
                Some((size.into(), align))
            }
            Some(_) => None,
            None => {
                let variable = self.env.variables.get(name)?;
                Some((variable.size, variable.align))
            }
        }
    }

    /// The width of addresses in global and generic memory, in bits.
    pub fn address_bits(&self) -> u32 {
        self.env.address_bits
    }

    /// The scopes around this point.
    pub(super) fn scopes(&self) -> &Scopes {
        &self.scopes
    }

    /// The places of the function's parameters.
    pub fn parameters(&self) -> &[ParameterPlace] {
        &self.scopes.parameters
    }

    /// Whether the name is a parameter of the function here, and no variable hides it.
    pub fn is_parameter(&self, name: &str) -> bool {
        matches!(self.scopes.lookup(name), Some(Meaning::Parameter(_)))
    }

    /// Whether the name is such a parameter, and the function is a kernel.
    pub fn is_kernel_parameter(&self, name: &str) -> bool {
        self.kind == FunctionKind::Entry && self.is_parameter(name)
    }

    /// Reports the undeclared names of an operand.
    pub fn check_operand(
        &mut self,
        operand: &Operand,
        wanted: Wanted,
        suggestions: &mut Suggestions,
        out: &mut Vec<Diagnostic>,
    ) {
        // Operands nest only as deep as a vector in an address; an explicit list replaces
        // recursion.
        let mut rest: SmallVec<[&Operand; 8]> = smallvec![operand];
        while let Some(operand) = rest.pop() {
            let mut need = |name: &Name| self.need(name, operand.id, wanted, suggestions, out);
            match &operand.kind {
                OperandKind::Symbol(name) => need(name),
                OperandKind::Selected(selected) => need(&selected.0),
                OperandKind::SymbolOffset(sum) => sum.base.iter().for_each(need),
                OperandKind::Element(element) => {
                    need(&element.0);
                    element.1.base.iter().for_each(need);
                }
                OperandKind::Address(address) => {
                    address.place.base.iter().for_each(need);
                    rest.extend(address.rest.iter().rev());
                }
                OperandKind::Vector(list) | OperandKind::Arguments(list) => rest.extend(list.iter().rev()),
                OperandKind::Pair(pair) => rest.extend([&pair.1, &pair.0]),
                OperandKind::Not(inner) | OperandKind::Minus(inner) => rest.push(inner),
                OperandKind::Sink | OperandKind::Immediate(_) | OperandKind::String(_) => {}
            }
        }
    }

    /// Reports an undeclared name, once.
    pub fn need(
        &mut self,
        name: &Name,
        node: NodeId,
        wanted: Wanted,
        suggestions: &mut Suggestions,
        out: &mut Vec<Diagnostic>,
    ) {
        if self.find_at(node, name).is_some() || !self.reported.insert(name.clone()) {
            return;
        }
        // The error in its declaration has been reported.
        let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
        if self.unsized_names.contains(name.as_str()) || self.unsized_names.contains(prefix) {
            return;
        }
        let base = name.split('.').next().unwrap_or(name);
        let near = foreign::special_register(name).or_else(|| self.nearest(name, suggestions));
        let help = near.map(|near| format!("did you mean `{near}`?"));
        let mut finding = if base.len() < name.len() && special::find(base).is_some() {
            Diagnostic::error(
                codes::UNKNOWN_SPECIAL_REGISTER,
                node,
                format!("unknown special register `{name}`"),
            )
            .label("unknown")
            .note(format!("`{base}` has the elements `.x`, `.y` and `.z`"))
        } else if wanted == Wanted::Label {
            let finding =
                Diagnostic::error(codes::UNDECLARED_LABEL, node, format!("label `{name}` is not declared"))
                    .label("not declared in this block or one around it");
            let labels = self.labels.get_or_insert_with(|| labels(self.function));
            match labels.get(name.as_str()) {
                Some(&elsewhere) => {
                    finding.also(elsewhere, "this label is visible only within its own block")
                }
                None => finding,
            }
        } else if wanted == Wanted::Function {
            Diagnostic::error(codes::UNDECLARED_SYMBOL, node, format!("function `{name}` is not declared"))
                .label("not declared in this module")
        } else if name.starts_with('%') {
            let finding = Diagnostic::error(
                codes::UNDECLARED_REGISTER,
                node,
                format!("register `{name}` is not declared"),
            )
            .label("not declared in this scope");
            let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
            match self.scopes.range(prefix) {
                Some(count) => finding.note(format!(
                    "`{prefix}<{count}>` declares `{prefix}0` to `{prefix}{}`",
                    count.saturating_sub(1)
                )),
                None => finding,
            }
        } else {
            Diagnostic::error(codes::UNDECLARED_SYMBOL, node, format!("`{name}` is not declared"))
                .label("no register, variable or function of this name")
        };
        finding.help = help;
        if self.env.later.contains(name) {
            finding = finding.label("declared only after this function");
            finding.help = Some("declare it before this function".into());
        }
        out.push(finding);
    }

    fn nearest(&self, name: &str, suggestions: &mut Suggestions) -> Option<String> {
        let known = self.scopes.visible().chain(self.env.variables.keys()).map(Name::as_str);
        let mut names = suggestions.afford(known)?;
        names.sort_unstable();
        special::names().for_each(|special| names.push(special));
        // All names of one letter are near each other.
        let near =
            suggestions.nearest(name, names.into_iter()).filter(|_| name.trim_start_matches('%').len() > 1);
        near.map(str::to_string)
    }
}
