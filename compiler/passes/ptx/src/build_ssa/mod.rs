//! Construction of SSA: from the syntax tree of a function to an
//! [`ir::Function`](ptxc_ir::Function).
//!
//! In: a function that passed [`check`](crate::check), and its view of the module. Out: its SSA
//! form, or a diagnostic for each instruction that can't be lowered yet, named as written.
//!
//! ```text
//! .reg .pred %p<2>; .reg .b32 %r<4>;             block0:
//! ld.param.u32 %r1, [n];                             v0 = param.b32 +0
//! mov.u32 %r2, %tid.x;                               v1 = sreg.b32 tid.x
//! setp.ge.u32 %p1, %r2, %r1;                =>       v2 = icmp.uge.b32 v1, v0
//! @%p1 bra DONE;                                     brif v2, block2, block1
//! …                                              block1: …
//! DONE: ret;                                     block2: exit
//! ```
//!
//! The translation is one walk over the flat list of statements, with the scopes of
//! [`check::scope`](crate::check::scope). Registers become numbers at once; most numbers come from
//! the [results of the check](crate::check::resolved). `ssa` turns reads and writes of registers
//! into values and block parameters. `translator` gives the families of instructions (one file
//! each) their operands as values of a type. `instructions` has an arm for each
//! [instruction](crate::check::decoded), and `modifiers` maps modifiers to the IR.
//!
//! A guarded instruction without side effects always computes its result, and a select chooses
//! between it and the old content of its destination. Any other guarded instruction gets a block of
//! its own.
//!
//! Cost: linear in the statements plus the block parameters that SSA needs, times their edges.

mod arith;
mod asynchronous;
mod bits;
mod cache_line;
mod cache_policy;
mod calls;
mod carry;
mod cluster;
mod control;
mod convert;
mod dialect;
mod fence;
mod flights;
mod float;
mod form;
mod fragments;
mod gradient;
mod image_query;
mod instructions;
mod lending;
mod logic;
mod matrix;
mod mbarrier;
mod meetings;
mod memory;
mod modifiers;
mod moves;
mod multimem;
mod params;
mod quads;
mod resolve;
mod scalar;
mod ssa;
mod stack;
mod surface;
mod symbols;
mod sync;
mod tensor_copy;
mod tensor_map;
mod texture;
mod translator;
mod video;
mod warpgroup;
mod wmma;

pub use calls::{layouts, prototype_signatures};
use ptxc_ir::function::LaunchBounds;
use ptxc_ir::{Function, Param};
use ptxc_syntax::ast::{self, DirectiveKind, StatementKind};

use crate::check::env::{ModuleEnv, constant_u32};
use crate::check::resolved::Resolved;
use crate::check::scope::ParameterPlace;
use crate::diagnostic::Diagnostic;
use translator::Translator;

/// A function in SSA form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// The function.
    pub function: Function,
    /// What a user should know about its translation.
    pub warnings: Vec<Diagnostic>,
}

/// Builds the SSA form of a kernel or device function. `resolved` holds what the check of the same
/// tree in the same module found about its names.
///
/// # Errors
///
/// A diagnostic for everything in the function that can't be lowered yet, in order of appearance.
pub fn build(ast: &ast::Function, env: &ModuleEnv, resolved: &Resolved) -> Result<Built, Vec<Diagnostic>> {
    let Some(body) = &ast.body else {
        return Err(vec![Diagnostic::unsupported(
            ast.id,
            format_args!("a function without a body, `{}`,", ast.name.name),
        )]);
    };
    let mut translator = Translator::new(ast, env, resolved);
    translator.function.bounds = bounds(ast, &mut translator.diagnostics);
    match ast.kind {
        ast::FunctionKind::Entry => {
            let places = translator.scopes.parameters.iter();
            let param = |place: &ParameterPlace| Param {
                name: place.name.to_string(),
                size: place.size,
                offset: if symbols::image_space(place.ty).is_some() { NO_PLACE } else { place.offset },
                image: symbols::image_space(place.ty),
            };
            translator.function.params = places.map(param).collect();
        }
        ast::FunctionKind::Func => {
            if translator.enter_function(ast).is_err() {
                let what = format_args!("a parameter or result of `{}`", ast.name.name);
                return Err(vec![Diagnostic::unsupported(ast.id, what)]);
            }
        }
    }
    translator.start_stack();
    let mut instructions = 0usize..;
    for (index, statement) in body.iter().enumerate() {
        ptxc_interrupt::poll();
        let variables = translator.scopes.variables.len();
        translator.scopes.statement(index, statement);
        match &statement.kind {
            StatementKind::Declaration(declaration) => translator.declaration(variables, declaration),
            StatementKind::Label(_) => translator.label(index),
            StatementKind::Open => translator.large.open(),
            StatementKind::Close => translator.large.close(),
            StatementKind::Instruction(instruction) => {
                let opcode = instructions.next().and_then(|instruction| resolved.opcode(instruction));
                translator.instruction(statement.id, instruction, opcode);
            }
            _ => {}
        }
    }
    translator.finish()
}

/// The offset of a parameter that is a texture, sampler or surface, which is not in the parameter
/// block: ptxas's code has this number.
const NO_PLACE: u32 = 0xffff;

/// The launch bounds; directives that have no field in them are unsupported.
fn bounds(ast: &ast::Function, diagnostics: &mut Vec<Diagnostic>) -> LaunchBounds {
    let mut bounds = LaunchBounds::default();
    for directive in &ast.directives {
        let value = |n: usize| directive.values.get(n).and_then(constant_u32);
        let shape = Some([value(0).unwrap_or(1), value(1).unwrap_or(1), value(2).unwrap_or(1)]);
        match directive.kind {
            DirectiveKind::MaxNTid => bounds.max_threads = shape,
            DirectiveKind::ReqNTid => bounds.required_threads = shape,
            DirectiveKind::MaxNReg => bounds.max_registers = value(0),
            DirectiveKind::MinNCtaPerSm => bounds.min_ctas = value(0),
            DirectiveKind::ReqNCtaPerCluster => bounds.cluster = shape,
            DirectiveKind::ExplicitCluster => bounds.explicit_cluster = true,
            // A limit of the launch; it does not change the code.
            DirectiveKind::MaxClusterRank => {}
            // Every function has the registers that its kernel is launched with.
            DirectiveKind::LocalMaxNReg => {}
            // Hints to compilers: the strings of `.pragma` are hints by definition.
            DirectiveKind::MaxNCtaPerSm | DirectiveKind::Pragma => {}
            // Hints as well: the function does not return, or a caller would like to keep certain
            // registers.
            DirectiveKind::NoReturn | DirectiveKind::AbiPreserve | DirectiveKind::AbiPreserveControl => {}
            kind => diagnostics
                .push(Diagnostic::unsupported(directive.id, format_args!("`.{}`", kind.spelling()))),
        }
    }
    bounds
}

#[cfg(test)]
mod tests;
