//! The code of what functions call.
//!
//! A routine's code depends on its name and on the settings, not on who calls it, so that it is compiled once for
//! all kernels and edits.

#![allow(missing_docs, reason = "salsa generates methods that carry no documentation")]

use std::sync::Arc;

use ptxc_passes::diagnostic::Diagnostic;
use ptxc_passes::link::Callees;
use ptxc_passes::mir::{Mir, VReg};
use ptxc_passes::pipeline::{self, CodeSettings, FuncCode, Silent};
use ptxc_passes::runtime;
use ptxc_sass::Arch;

use crate::db::Db;
use crate::stages::Stage;

/// A runtime routine, and what decides its code.
#[salsa::interned(debug)]
pub struct Routine<'db> {
    /// Its symbol.
    #[returns(ref)]
    pub symbol: String,
    /// The architecture.
    #[returns(copy)]
    pub arch: Arch,
    /// How much to optimise.
    #[returns(copy)]
    pub opt: u8,
    /// The scheduling heuristic.
    #[returns(ref)]
    pub heuristic: String,
    /// The most general registers.
    #[returns(copy)]
    pub max_regs: u32,
    /// Whether every instruction waits for everything.
    #[returns(copy)]
    pub serial: bool,
}

impl<'db> Routine<'db> {
    fn with_settings(db: &'db dyn Db, symbol: &str, settings: &CodeSettings) -> Routine<'db> {
        let CodeSettings { arch, opt, heuristic, max_regs, serial } = settings.clone();
        Routine::new(db, symbol.to_string(), arch, opt, heuristic, max_regs, serial)
    }

    fn settings(self, db: &'db dyn Db) -> CodeSettings {
        CodeSettings {
            arch: self.arch(db),
            opt: self.opt(db),
            heuristic: self.heuristic(db).clone(),
            max_regs: self.max_regs(db),
            serial: self.serial(db),
        }
    }
}

/// The code of a runtime routine, the same for all kernels that are compiled alike.
#[salsa::tracked(returns(ref))]
pub fn routine_code<'db>(db: &'db dyn Db, routine: Routine<'db>) -> Arc<Stage<Arc<FuncCode>>> {
    let settings = routine.settings(db);
    let name = runtime::name_of_symbol(routine.symbol(db)).unwrap_or(routine.symbol(db));
    let code = pipeline::routine_machine(name, &settings).and_then(|mir| {
        let callees = callees(db, &mir, &settings)?;
        pipeline::code(mir, &callees, &settings, &mut Silent)
    });
    Stage::of(code.map(Arc::new))
}

/// The code of the routines that machine IR calls, and of those that they call.
///
/// # Errors
/// What went wrong in one of them.
pub(crate) fn callees(
    db: &dyn Db,
    mir: &Mir<VReg>,
    settings: &CodeSettings,
) -> Result<Callees, Vec<Diagnostic>> {
    let mut found = Callees::new();
    let mut wanted: Vec<String> = mir.functions.iter().skip(1).cloned().collect();
    while let Some(symbol) = wanted.pop() {
        if found.contains_key(&symbol) || runtime::name_of_symbol(&symbol).is_none() {
            continue;
        }
        let stage = routine_code(db, Routine::with_settings(db, &symbol, settings));
        let Some(code) = &stage.value else { return Err(stage.diagnostics.clone()) };
        wanted.extend(code.program.functions.iter().skip(1).map(|function| function.name.clone()));
        found.insert(symbol, code.clone());
    }
    Ok(found)
}
