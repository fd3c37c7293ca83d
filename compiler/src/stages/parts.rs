//! The parts of a program: a kernel's own code, and the code of the functions that it calls.
//!
//! Parts tell whether a kernel has a program, and which functions it consists of. A
//! [session](crate::Session) needs no more after an edit, and [links](Parts::link) a kernel when its
//! program is asked for.

#![allow(missing_docs, reason = "salsa generates methods that carry no documentation")]

use std::sync::Arc;

use ptxc_codegen::func_code::{Callees, FuncCode};
use ptxc_passes::{CodeSettings, Context, Halt, Silent, Span, name_unsupported, run};
use ptxc_syntax::items::ItemKind;

use crate::db::Db;
use crate::input::Options;
use crate::input::items::Func;
use crate::module::ast;
use crate::stages::callees::{barriers_of_indirect_calls, callees};
use crate::stages::{Stage, code_settings, mir, own_code};

/// The parts of a program.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    /// The kernel alone.
    pub own: Arc<Stage<FuncCode>>,
    /// The functions that it calls, directly or not.
    pub callees: Callees,
    /// The settings of the kernel and its callees.
    pub settings: CodeSettings,
    /// The number of CTA barriers that its indirect calls may need.
    pub barriers: u32,
}

impl Parts {
    /// The program of the kernel and of these callees.
    pub fn link(&self, callees: &Callees) -> Result<FuncCode, Halt> {
        let Some(own) = &self.own.value else { return Err(self.own.diagnostics.clone()) };
        let mut context = Context::new(&self.settings).with_callees(callees);
        let linked = run(own.clone().into(), Span::LINK, &mut context, &mut Silent)?;
        let mut code = linked.into_program();
        let needs = &mut code.program.resources;
        needs.barriers = needs.barriers.max(self.barriers);
        Ok(code)
    }
}

/// The parts of a kernel's program, if all of them have code.
#[salsa::tracked(returns(ref), no_eq)]
pub(crate) fn parts(db: &dyn Db, func: Func, options: Options) -> Arc<Stage<Parts>> {
    if func.kind(db) == ItemKind::Func && !options.relocatable(db) {
        return Stage::nothing();
    }
    let own = own_code(db, func, options);
    let (Some(mir), Some(code)) = (&mir(db, func, options).value, &own.value) else {
        return Arc::new(Stage { value: None, diagnostics: own.diagnostics.clone() });
    };
    let settings = code_settings(db, func, options);
    let parts = callees(db, func, mir, options, &settings).map(|callees| {
        let all = callees.values().map(|callee| &**callee).chain([code]);
        let barriers = barriers_of_indirect_calls(db, func, options, &settings, all);
        Parts { own: own.clone(), callees, settings, barriers }
    });
    Stage::of(parts.map_err(|halt| name_unsupported(ast(db, func), halt)))
}

/// The finished code of a kernel: allocated, scheduled, with control codes and callees. For a
/// device function see [`device_code`](crate::stages::callees::device_code).
#[salsa::tracked(returns(ref))]
pub fn code(db: &dyn Db, func: Func, options: Options) -> Arc<Stage<FuncCode>> {
    let parts = parts(db, func, options);
    match &parts.value {
        Some(found) => {
            Stage::of(found.link(&found.callees).map_err(|halt| name_unsupported(ast(db, func), halt)))
        }
        None => Arc::new(Stage { value: None, diagnostics: parts.diagnostics.clone() }),
    }
}
