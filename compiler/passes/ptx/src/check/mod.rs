//! Checks PTX against the declarative instruction table.
//!
//! In: a function's syntax tree, and its view of the module. Out: findings that say what was
//! expected and what was found, at the exact operand or modifier.
//!
//! ```
//! use ptxc_ptx::check::{check_function, codes, env::ModuleEnv};
//!
//! let text = ".entry k() { .reg .b32 %r<3>; bar.sync 16; ad.u32 %r1, %r2, 1; }";
//! let function = ptxc_syntax::parse_function(text).value;
//! let findings = check_function(&function, &ModuleEnv::empty());
//! assert_eq!(findings[0].code, codes::OUT_OF_RANGE);
//! assert_eq!(findings[0].message, "`bar.sync` expects a barrier number from 0 to 15, found 16");
//! assert_eq!(findings[1].help.as_deref(), Some("did you mean `add`?"));
//! ```
//!
//! | module | content |
//! |---|---|
//! | [`table`] | the allowed forms of each instruction: the rows in `instructions/*.txt` |
//! | [`forms`] | the row that an opcode matches, or the error in its modifiers |
//! | [`decoded`] | an opcode as data: instruction, types, modifiers |
//! | [`usual`] | a cache: instructions with the same shape as one without findings |
//! | [`accesses`] | the registers that each instruction reads and writes |
//! | [`resolved`] | the register that an operand names, and the decoded opcodes |
//! | [`operands`] | number, kind, type and range of the operands |
//! | [`addresses`] | addresses in brackets |
//! | [`vectors`] | the one type of the elements of a vector; coordinates |
//! | [`packs`] | packed vectors, and sums of a register and a constant |
//! | [`signature`] | the operands that a form takes, paired with the written ones and in words |
//! | [`whole_type`] | instructions whose own type is wrong |
//! | [`types`] | when a register's type agrees with the instruction's |
//! | [`names`], [`scope`], [`ranges`], [`special`] | the meaning of names |
//! | [`foreign`] | the PTX names for names of other languages |
//! | [`initialisers`], [`opaque`] | initial values of variables |
//! | [`parameter_space`] | the total size of a kernel's parameters |
//! | [`directives`], [`features`] | directives, and the versions and targets that have them |
//! | [`launch_bounds`] | `.maxntid`, `.maxnreg` and the like |
//! | [`call_variables`] | variables for the arguments of calls, in kernels |
//! | [`calls`], [`call_sequence`] | arguments and results of calls |
//! | [`declarations`] | types, sizes and linkage of declarations |
//! | [`shared_size`] | the total size of a kernel's shared variables |
//! | [`narrow_addresses`] | global and generic addresses of 32 bits |
//! | [`bounds`] | accesses by a variable's name: alignment, size |
//! | [`cache_hints`] | cache policies |
//! | [`register_counts`] | hints on the number of registers |
//! | [`requirements`] | PTX version and target |
//! | [`old_targets`] | what targets before sm_20 lack |
//! | [`textures`] | the textures, samplers and surfaces that an instruction names |
//! | [`mod@env`] | the part of its module that a function can see |
//! | [`codes`] | every code with its rule |
//!
//! The check is one walk over the flat list of statements; forms are looked up once for each
//! distinct opcode. It is linear in the size of the function, with at most a handful of findings
//! for each statement and one for each undeclared name.

pub mod accesses;
mod addresses;
pub mod atomics;
mod bounds;
mod cache_hints;
mod call_sequence;
mod call_variables;
pub mod calls;
pub mod codes;
pub mod declarations;
pub mod decoded;
pub mod directives;
pub mod env;
pub mod features;
mod foreign;
pub mod forms;
pub mod initial;
pub mod initialisers;
mod launch_bounds;
pub mod names;
mod narrow_addresses;
pub mod needs;
mod old_targets;
mod opaque;
pub mod operands;
pub mod own_variables;
mod packs;
mod parameter_space;
mod ranges;
pub mod register_counts;
pub mod requirements;
pub mod resolved;
pub mod scalar;
pub mod scope;
mod selectors;
pub mod shared_size;
pub mod signature;
pub mod special;
mod suggest;
pub mod table;
pub mod targets;
mod textures;
pub mod types;
mod usual;
mod vectors;
mod whole_type;

use ptxc_syntax::ast::{Function, Guard, Instruction, OperandKind, StatementKind};
use rustc_hash::FxHashSet;

use crate::diagnostic::{Code, Diagnostic, Severity};
use accesses::Accesses;
use call_sequence::CallSequence;
use env::{ModuleEnv, PtxTarget};
use forms::Form;
use names::{Names, Thing, Wanted};
use operands::Operands;
use requirements::Strictness;
use resolved::Resolved;
use scope::Meaning;
use suggest::Suggestions;
use types::Class;
use usual::{Opcodes, Places};

/// After this many errors the check of a function stops.
const MOST_ERRORS: usize = 1000;

/// Checks a function; the findings are in order of appearance.
///
/// A declaration may be lost in a function with syntax errors, so findings about undeclared names
/// ([`codes::UNDECLARED_REGISTER`] and the like) should not be shown for it. The caller decides
/// that.
pub fn check_function(function: &Function, env: &ModuleEnv) -> Vec<Diagnostic> {
    check_with(function, env, Strictness::Splits)
}

/// The results of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// The findings, in order of appearance.
    pub findings: Vec<Diagnostic>,
    /// The registers that each instruction reads and writes; complete if the findings contain no
    /// errors.
    pub accesses: Accesses,
    /// The meanings of names and opcodes.
    pub resolved: Resolved,
}

/// [Checks a function](check_function), and keeps the other results of the check.
pub fn examine(function: &Function, env: &ModuleEnv) -> Checked {
    examine_with(function, env, Strictness::Splits)
}

/// The statements of a function that need a newer target than its module's and are compiled anyway,
/// by being [split](ptxc_ssa::legalize::split): the errors that [`check_function`] leaves out.
pub fn check_strictly(function: &Function, env: &ModuleEnv) -> Vec<Diagnostic> {
    let mut found = check_with(function, env, Strictness::Strict);
    let lenient: FxHashSet<Diagnostic> = check_function(function, env).into_iter().collect();
    found.retain(|finding| finding.code == codes::TARGET_TOO_OLD && !lenient.contains(finding));
    found
}

/// Checks a function; the findings are in order of appearance.
pub fn check_with(function: &Function, env: &ModuleEnv, strictness: Strictness) -> Vec<Diagnostic> {
    examine_with(function, env, strictness).findings
}

fn examine_with(function: &Function, env: &ModuleEnv, strictness: Strictness) -> Checked {
    let mut checker = Checker {
        env,
        strictness,
        keeps_registers: register_counts::obstacle(function, env),
        names: Names::new(function, env),
        opcodes: Opcodes::new(env.version, env.target),
        suggestions: Suggestions::default(),
        accesses: Accesses::default(),
        sequence: CallSequence::default(),
        out: Vec::new(),
    };
    checker.names.take_errors(&mut checker.out);
    parameter_space::check(function, checker.names.parameters(), env.version, &mut checker.out);
    directives::function(function, env, &mut checker.out);
    launch_bounds::check(function, &mut checker.out);
    declarations::signature(function, env, &mut checker.out);
    let (mut seen, mut wrong) = (0, 0);
    for (index, statement) in function.body.iter().flatten().enumerate() {
        ptxc_interrupt::poll();
        // A list of a thousand errors is long enough.
        let errors =
            |found: &[Diagnostic]| found.iter().filter(|one| one.severity == Severity::Error).count();
        if checker.out.len() > seen {
            wrong += errors(&checker.out[seen..]);
            seen = checker.out.len();
            if wrong > MOST_ERRORS {
                break;
            }
        }
        checker.names.statement(index, statement, &mut checker.out);
        directives::statement(statement, function.kind, env, &mut checker.out);
        match &statement.kind {
            StatementKind::Instruction(instruction) => checker.instruction(instruction),
            StatementKind::Declaration(declaration) => {
                declarations::in_function(declaration, env, &mut checker.out);
                call_variables::check(function, declaration, env.version, &mut checker.out);
                initialisers::check(declaration, (env.version, env.target), &mut checker.out);
                let names = (checker.names.scopes(), env);
                own_variables::check_addresses(declaration, names, &mut checker.out);
            }
            StatementKind::BranchTargets(list) => checker.targets(list, Wanted::Label),
            StatementKind::CallTargets(list) => checker.targets(list, Wanted::Function),
            StatementKind::CallPrototype(prototype) => {
                declarations::prototype(prototype, env, &mut checker.out);
            }
            _ => {}
        }
    }
    shared_size::check(function, env, checker.names.scopes(), &mut checker.out);
    Checked {
        findings: checker.out,
        accesses: checker.accesses,
        resolved: checker.names.into_resolved(checker.opcodes.into_decoded()),
    }
}

/// The statements that need more than an older target has, for code that is to run there. Each
/// finding names the instruction.
pub fn check_target(
    function: &Function,
    env: &ModuleEnv,
    target: PtxTarget,
    strictness: Strictness,
) -> Vec<Diagnostic> {
    let mut env = env.clone();
    env.target = target;
    let mut found = check_with(function, &env, strictness);
    found.retain(|finding| finding.code == codes::TARGET_TOO_OLD);
    // Older architectures have no features of their own, so their names have no suffix.
    let name = match env.target.number < FIRST_SPECIFIC {
        true => format!("sm_{}", env.target.number),
        false => env.target.to_string(),
    };
    for finding in &mut found {
        finding.primary.message = format!("compiled for {name}");
        // Changing the module's own `.target` would not help.
        finding.help = None;
    }
    found
}

/// The first target with features that no later target has: sm_90a.
const FIRST_SPECIFIC: u32 = 90;

struct Checker<'a> {
    env: &'a ModuleEnv,
    strictness: Strictness,
    /// Why hints on the number of registers are ignored.
    keeps_registers: Option<&'static str>,
    names: Names<'a>,
    opcodes: Opcodes<'a>,
    suggestions: Suggestions,
    accesses: Accesses,
    sequence: CallSequence,
    out: Vec<Diagnostic>,
}

impl<'a> Checker<'a> {
    fn targets(&mut self, list: &ptxc_syntax::ast::TargetList, wanted: Wanted) {
        for target in &list.targets {
            self.names.need(&target.name, target.id, wanted, &mut self.suggestions, &mut self.out);
        }
    }

    fn instruction(&mut self, instruction: &'a Instruction) {
        if let Some(guard) = &instruction.guard {
            self.guard(guard);
        }
        let operands = &instruction.operands[..];
        let number = self.opcodes.number(&instruction.opcode);
        self.names.resolved.add_opcode(number);
        let known = self.opcodes.known(number);
        let mut places = Places::new();
        let shape = known.shape(operands, self.names.scopes(), &mut places);
        for place in &places {
            self.names.resolved.set_register(place.node, place.register, place.ty);
        }
        match shape {
            Some(shape) => {
                let (written, clears) =
                    (known.written(operands), accesses::clears(known.instruction(), operands));
                for writes in [false, true] {
                    for place in &places {
                        let is_written = written.has(place.operand.into());
                        if is_written == writes && (writes || !clears) {
                            self.accesses.add(place.register, place.node, writes && !place.is_address);
                        }
                    }
                }
                if !known.is_usual(shape) {
                    let before = self.out.len();
                    self.look_closely(instruction, number);
                    if self.out.len() == before {
                        self.opcodes.known(number).found_in_order(shape);
                    }
                }
            }
            None => {
                self.accesses.add_instruction(instruction, &known.forms, self.names.scopes());
                self.look_closely(instruction, number);
            }
        }
        self.accesses.end();
    }

    /// Checks an instruction whose opcode has that number, except for its guard.
    fn look_closely(&mut self, instruction: &'a Instruction, opcode: usize) {
        let is_call = instruction.opcode.mnemonic() == "call";
        for operand in &instruction.operands {
            let wanted = match &operand.kind {
                OperandKind::Symbol(name) if is_call && !name.starts_with('%') => Wanted::Function,
                OperandKind::Symbol(_) if instruction.opcode.mnemonic() == "bra" => Wanted::Label,
                _ => Wanted::Operand,
            };
            self.names.check_operand(operand, wanted, &mut self.suggestions, &mut self.out);
        }
        let kind = self.opcodes.known(opcode).instruction();
        self.sequence.check(kind, instruction, &self.names, &mut self.out);
        let forms = &self.opcodes.known(opcode).forms;
        if forms.is_empty() {
            forms::explain(&instruction.opcode, self.env, &mut self.suggestions, &mut self.out);
            return;
        }
        if is_call {
            let before = self.out.len();
            calls::check(instruction, &self.names, self.env, &mut self.out);
            if self.out.len() > before {
                self.sequence.wrong_call();
            }
        }
        // If several rows have the modifiers, the operands decide: first a row with the right
        // number of operands, then the fewest operands of another shape, then the fewest findings,
        // then the first row.
        let mut best: Option<(&Form, Vec<Diagnostic>)> = None;
        for form in forms.iter() {
            let mut operands = Operands { names: &self.names, form, instruction, out: Vec::new() };
            operands.check();
            let found = operands.out;
            let count = |found: &[Diagnostic], codes: &[Code]| {
                found.iter().filter(|finding| codes.contains(&finding.code)).count()
            };
            let cost = |found: &[Diagnostic]| {
                let shapes = count(found, &[codes::OPERAND_KIND, codes::VECTOR_SIZE]);
                (count(found, &[codes::OPERAND_COUNT]), shapes, found.len())
            };
            if best.as_ref().is_none_or(|(_, least)| cost(&found) < cost(least)) {
                best = Some((form, found));
            }
        }
        if let Some((form, found)) = best {
            let fits = found.is_empty();
            self.out.extend(whole_type::as_one(instruction, &self.names, found));
            if fits {
                let before = self.out.len();
                requirements::check(form, instruction, self.env, self.strictness, &mut self.out);
                old_targets::check(form, instruction, self.env, &mut self.out);
                textures::check(form, instruction, &self.names, self.env, &mut self.out);
                special::check(instruction, &self.names, self.env, &mut self.out);
                cache_hints::check(form, instruction, &mut self.out);
                bounds::check(form, instruction, &self.names, &mut self.out);
                narrow_addresses::check(form, instruction, &self.names, &mut self.out);
                if self.out.len() == before {
                    register_counts::check(form, instruction, self.keeps_registers, &mut self.out);
                }
            }
        }
    }

    fn guard(&mut self, guard: &Guard) {
        let register = &guard.register;
        if let Some(Meaning::Register { register, ty, vector }) = self.names.scopes().lookup(register) {
            self.accesses.add(register, guard.id, false);
            if vector.is_none() {
                self.names.resolved.set_register(guard.id, register, ty);
            }
        }
        self.names.need(register, guard.id, Wanted::Operand, &mut self.suggestions, &mut self.out);
        match self.names.find_at(guard.id, register) {
            None => {}
            Some(Thing::Register(ty, None)) if ty.class() == Class::Predicate => {}
            Some(thing) => self.out.push(
                Diagnostic::error(
                    codes::GUARD_NOT_PREDICATE,
                    guard.id,
                    "expected a predicate register as the guard",
                )
                .label(format!("`{register}` is {}", thing.describe()))
                .help(format!("compute a predicate first: `setp.ne.b32 %p, {register}, 0;`")),
            ),
        }
    }
}

#[cfg(test)]
mod tests;
