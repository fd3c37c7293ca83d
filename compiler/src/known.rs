//! The results of a function that a session keeps from one update to the next.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use ptxc_codegen::func_code::FuncCode;
use ptxc_passes::Halt;
use rustc_hash::FxHashMap;

use crate::affected::{Graph, Seen};
use crate::db::Db;
use crate::input::Options;
use crate::input::items::Func;
use crate::output::may_have_findings;
use crate::stages::Stage;
use crate::stages::callees::device_code;
use crate::stages::parts::{Parts, parts};

/// The results of a function.
#[derive(Debug)]
pub(crate) struct Known {
    parts: Arc<Stage<Parts>>,
    /// The callees that were compiled since, by name.
    newer: BTreeMap<String, Arc<FuncCode>>,
    /// The program, as soon as it is asked for.
    program: OnceLock<Result<FuncCode, Halt>>,
    /// Whether there may be findings in it.
    pub may_have_findings: bool,
}

/// The difference between two results of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Difference {
    /// None of its parts was compiled again.
    None,
    /// Some parts were compiled again, and they are the same.
    Compiled,
    /// Some parts are different.
    Changed,
}

/// Another callee of a kernel.
pub(crate) struct Replacement {
    pub kernel: Func,
    name: String,
    code: Arc<FuncCode>,
}

impl Known {
    pub fn of(db: &dyn Db, func: Func, options: Options) -> Known {
        Known {
            parts: parts(db, func, options).clone(),
            newer: BTreeMap::new(),
            program: OnceLock::new(),
            may_have_findings: may_have_findings(db, func, options),
        }
    }

    /// The linked program of a kernel, or of any function of an object; `None` if there are errors.
    pub fn program(&self) -> Option<&FuncCode> {
        let parts = self.parts.value.as_ref()?;
        let link = || {
            let callees = parts.callees.iter().chain(&self.newer);
            parts.link(&callees.map(|(name, code)| (name.clone(), code.clone())).collect())
        };
        self.program.get_or_init(link).as_ref().ok()
    }

    /// The errors of linking the program, if it was asked for. They are errors in the compiler.
    pub fn link_errors(&self) -> Option<&Halt> {
        self.program.get()?.as_ref().err()
    }

    /// The difference to an earlier result.
    pub fn since(&self, before: &Known) -> Difference {
        if Arc::ptr_eq(&self.parts, &before.parts) && self.newer.is_empty() && before.newer.is_empty() {
            return Difference::None;
        }
        let (Some(now), Some(old)) = (&self.parts.value, &before.parts.value) else {
            let is_same = self.parts.value.is_none() && before.parts.value.is_none();
            return if is_same { Difference::Compiled } else { Difference::Changed };
        };
        if now.barriers != old.barriers || now.callees.len() != old.callees.len() {
            return Difference::Changed;
        }
        let mut difference = match Arc::ptr_eq(&now.own, &old.own) {
            true => Difference::None,
            false if now.own == old.own => Difference::Compiled,
            false => Difference::Changed,
        };
        for name in now.callees.keys() {
            difference = difference.max(match (self.callee(name), before.callee(name)) {
                (Some(now), Some(old)) if Arc::ptr_eq(now, old) => Difference::None,
                (Some(now), Some(old)) if now == old => Difference::Compiled,
                _ => Difference::Changed,
            });
        }
        difference
    }

    /// The code of a callee.
    fn callee(&self, name: &str) -> Option<&Arc<FuncCode>> {
        self.newer.get(name).or_else(|| self.parts.value.as_ref()?.callees.get(name))
    }

    /// Replaces a callee, and links the kernel again when it is asked for.
    pub fn replace(&mut self, new: Replacement) {
        self.newer.insert(new.name, new.code);
        self.program = OnceLock::new();
    }
}

/// The new code of an edited device function for each kernel that is linked with it; `None` if the
/// edit may affect the code of other functions.
pub(crate) fn replacements(
    db: &dyn Db,
    func: Func,
    seen: &Seen,
    options: Options,
    graph: &Graph,
    known: &FxHashMap<Func, Known>,
) -> Option<Vec<Replacement>> {
    if options.relocatable(db) {
        return None;
    }
    let name = func.name(db).as_str();
    let mut found = Vec::new();
    for kernel in graph.kernels_of(func, seen)? {
        let kernel_before = known.get(&kernel)?;
        let before = kernel_before.callee(name)?;
        let settings = &kernel_before.parts.value.as_ref()?.settings;
        let now = device_code(db, func, options, settings.max_regs).value.as_ref()?;
        if now.summary != before.summary {
            return None;
        }
        if now != before {
            found.push(Replacement { kernel, name: name.to_string(), code: now.clone() });
        }
    }
    Some(found)
}
