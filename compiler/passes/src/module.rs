//! Functions that call each other, taken through passes together and without a database.
//!
//! In: forms of functions, by name. Out: each form after the passes, or its program. A function's
//! code depends on what its callees destroy, so callees are compiled first, with as many registers
//! as their caller. A function knows nothing of callees that call it in turn. Linear in the code
//! that is compiled: each function once for each register limit. A chain of calls of any length
//! takes no more stack than one call.

use std::collections::BTreeMap;
use std::sync::Arc;

use petgraph::algo::kosaraju_scc;
use petgraph::graphmap::DiGraphMap;
use ptxc_codegen::func_code::{Callees, FuncCode};
use ptxc_ir::CalleeKind;
use ptxc_sass::variable::Variable;
use ptxc_ssa::runtime;

use crate::halt::internal;
use crate::run::{Silent, run, run_pass};
use crate::{CodeSettings, Context, Form, Halt, Pass, Span, Stage, register_limit, routine_machine};

/// The functions of a module, with the passes that take each of them and the settings that all are
/// compiled with.
pub struct Module<'a> {
    forms: BTreeMap<&'a str, &'a Form>,
    /// For each function the number of its group. Functions that call each other have the same
    /// number, and other callees have a smaller number than their caller.
    groups: BTreeMap<&'a str, usize>,
    passes: &'a [Pass],
    settings: &'a CodeSettings,
    verifies: bool,
    /// The programs of device functions and routines, by symbol and register limit.
    finished: BTreeMap<(String, u32), Arc<FuncCode>>,
}

/// A function of a module could not be compiled.
#[derive(Debug)]
pub struct Failure {
    /// The function.
    pub function: String,
    /// The pass that failed, if it is known.
    pub pass: Option<&'static str>,
    /// The reasons.
    pub halt: Halt,
}

impl<'a> Module<'a> {
    /// A module of these functions, whose names differ. Without passes each function goes through
    /// all that its form is before.
    pub fn new(forms: &'a [Form], passes: &'a [Pass], settings: &'a CodeSettings) -> Module<'a> {
        let groups = groups(forms);
        let forms = forms.iter().map(|form| (form.name(), form)).collect();
        Module { forms, groups, passes, settings, verifies: false, finished: BTreeMap::new() }
    }

    /// Verifies after every pass, in all builds.
    pub fn verified(self) -> Module<'a> {
        Module { verifies: true, ..self }
    }

    /// Takes a function of the module through the passes.
    ///
    /// # Errors
    /// The pass that failed in it or in a callee.
    pub fn run(&mut self, form: &Form) -> Result<Form, Failure> {
        let settings = self.settings_of(form);
        if self.passes.iter().any(|pass| pass.step.takes() != Stage::Ssa) {
            self.finish_callees(form, &settings)?;
        }
        self.through(form.clone(), self.passes, &settings)
    }

    /// Takes a function of the module through the passes and then through the rest of the order.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn finish(&mut self, form: &Form) -> Result<FuncCode, Failure> {
        let settings = self.settings_of(form);
        self.finish_callees(form, &settings)?;
        self.finished(form.clone(), &settings)
    }

    /// The settings of a function: with no more registers than its launch bounds allow.
    fn settings_of(&self, form: &Form) -> CodeSettings {
        let bounds = match form {
            Form::Ssa(func) => Some(&func.bounds),
            Form::Machine(mir) => Some(&mir.header.bounds),
            Form::Allocated(mir) => Some(&mir.header.bounds),
            Form::LaidOut(code) => Some(&code.header.bounds),
            Form::Program(_) => None,
        };
        let most = self.settings.max_regs;
        let max_regs = bounds.map_or(most, |bounds| register_limit(bounds, self.settings.arch, most));
        CodeSettings { max_regs, ..self.settings.clone() }
    }

    fn finished(&mut self, form: Form, settings: &CodeSettings) -> Result<FuncCode, Failure> {
        let name = form.name().to_string();
        let form = self.through(form, self.passes, settings)?;
        let last = self.passes.last().map(|pass| pass.name);
        let rest: &[Pass] = match last.map(Span::after) {
            Some(rest) => rest,
            None => Span::from(form.stage()).passes(),
        };
        let rest: Vec<Pass> = rest.iter().filter(|pass| pass.level <= settings.opt).copied().collect();
        match self.through(form, &rest, settings)? {
            Form::Program(code) => Ok(*code),
            other => {
                let why = format!("the passes end at {}", other.stage());
                Err(Failure { function: name, pass: None, halt: internal("module", [why]) })
            }
        }
    }

    fn through(&mut self, form: Form, passes: &[Pass], settings: &CodeSettings) -> Result<Form, Failure> {
        let function = form.name().to_string();
        let fails =
            |pass: &Pass, halt: Halt| Failure { function: function.clone(), pass: Some(pass.name), halt };
        // Callees matter only to code, and selection is the first pass that knows which routines
        // are called.
        let parts = passes.iter().position(|pass| pass.step.takes() != Stage::Ssa).unwrap_or(passes.len());
        let (first, second) = passes.split_at(parts);
        let mut form = form;
        let mut context = Context::new(settings).verifying(self.verifies);
        for pass in first {
            form = run_pass(form, pass, &mut context).map_err(|halt| fails(pass, halt))?;
        }
        if second.is_empty() {
            return Ok(form);
        }
        let callees = self.callees(&form, settings)?;
        let mut context = Context::new(settings).with_callees(&callees).verifying(self.verifies);
        for pass in second {
            form = run_pass(form, pass, &mut context).map_err(|halt| fails(pass, halt))?;
        }
        Ok(form)
    }

    /// Finishes the device functions that a function calls, directly or not: each after its own
    /// callees, so that no function has to wait for another one.
    fn finish_callees(&mut self, form: &Form, settings: &CodeSettings) -> Result<(), Failure> {
        let is_finished = |name: &str| self.finished.contains_key(&(name.to_string(), settings.max_regs));
        let mut found: BTreeMap<&str, &Form> = BTreeMap::new();
        let mut wanted: Vec<String> = named(form);
        while let Some(name) = wanted.pop() {
            // The callees of a finished function are finished, too.
            let Some((&name, &callee)) = self.forms.get_key_value(&*name) else { continue };
            if !callee.is_kernel() && !is_finished(name) && found.insert(name, callee).is_none() {
                wanted.extend(named(callee));
            }
        }
        let own = self.groups.get(form.name());
        let mut found: Vec<(Option<usize>, &Form)> =
            found.into_iter().map(|(name, callee)| (self.groups.get(name).copied(), callee)).collect();
        found.retain(|(group, _)| group.as_ref() != own);
        found.sort_by_key(|&(group, _)| group);
        found.into_iter().try_for_each(|(_, callee)| self.device(callee, settings).map(drop))
    }

    /// The programs of the functions and routines that a function calls. A kernel is linked with
    /// all its callees, direct or not; for a function that is called, only its direct callees are
    /// needed. Functions of its own group are left out: their code would have to exist before its
    /// own.
    fn callees(&mut self, form: &Form, settings: &CodeSettings) -> Result<Callees, Failure> {
        let group = self.groups.get(form.name()).copied();
        let is_linked = form.is_kernel();
        let mut found = Callees::new();
        let mut wanted: Vec<String> = named(form);
        while let Some(symbol) = wanted.pop() {
            if found.contains_key(&symbol) {
                continue;
            }
            let is_routine = runtime::name_of_symbol(&symbol).is_some();
            let code = match self.forms.get(&*symbol).filter(|form| !form.is_kernel()) {
                _ if is_routine => self.routine(&symbol, settings)?,
                Some(&callee) if self.groups.get(&*symbol).copied() != group => {
                    self.device(callee, settings)?
                }
                _ => continue,
            };
            if is_linked {
                wanted.extend(code.program.functions.iter().skip(1).map(|function| function.name.clone()));
                wanted.extend(pointed_to(&code.program.variables));
            }
            found.insert(symbol, code);
        }
        Ok(found)
    }

    fn device(&mut self, form: &Form, settings: &CodeSettings) -> Result<Arc<FuncCode>, Failure> {
        self.kept(form.name(), settings, |module| module.finished(form.clone(), settings))
    }

    fn routine(&mut self, symbol: &str, settings: &CodeSettings) -> Result<Arc<FuncCode>, Failure> {
        self.kept(symbol, settings, |module| {
            let fails = |halt: Halt| Failure { function: symbol.to_string(), pass: None, halt };
            let name = runtime::name_of_symbol(symbol).unwrap_or(symbol);
            let form = Form::from(routine_machine(name, settings).map_err(fails)?);
            let callees = module.callees(&form, settings)?;
            let mut context = Context::new(settings).with_callees(&callees);
            run(form, Span::CODE, &mut context, &mut Silent).map(Form::into_program).map_err(fails)
        })
    }

    /// The program of that symbol, compiled once for each register limit.
    fn kept(
        &mut self,
        symbol: &str,
        settings: &CodeSettings,
        make: impl FnOnce(&mut Self) -> Result<FuncCode, Failure>,
    ) -> Result<Arc<FuncCode>, Failure> {
        let key = (symbol.to_string(), settings.max_regs);
        if let Some(known) = self.finished.get(&key) {
            return Ok(known.clone());
        }
        let code = Arc::new(make(self)?);
        self.finished.insert(key, code.clone());
        Ok(code)
    }
}

/// The groups of functions that call each other, as the strongly connected components of the call
/// graph.
fn groups(forms: &[Form]) -> BTreeMap<&str, usize> {
    let mut graph: DiGraphMap<&str, ()> = DiGraphMap::new();
    let calls: Vec<(&str, Vec<String>)> = forms.iter().map(|form| (form.name(), named(form))).collect();
    for (name, callees) in &calls {
        graph.add_node(name);
        for callee in callees {
            graph.add_edge(name, callee, ());
        }
    }
    let number: BTreeMap<String, usize> = kosaraju_scc(&graph)
        .into_iter()
        .enumerate()
        .flat_map(|(group, members)| members.into_iter().map(move |name| (name.to_string(), group)))
        .collect();
    forms.iter().filter_map(|form| Some((form.name(), *number.get(form.name())?))).collect()
}

/// The symbols of the functions that a form names, except for its own.
fn named(form: &Form) -> Vec<String> {
    let mut names: Vec<String> = match form {
        Form::Ssa(func) => {
            let device = func.callees.values().filter(|callee| callee.kind == CalleeKind::Device);
            device.map(|callee| callee.name.clone()).collect()
        }
        Form::Machine(mir) => mir.header.callees().cloned().collect(),
        Form::Allocated(mir) => mir.header.callees().cloned().collect(),
        Form::LaidOut(code) => code.header.callees().cloned().collect(),
        Form::Program(code) => {
            code.program.functions.iter().skip(1).map(|function| function.name.clone()).collect()
        }
    };
    match form {
        Form::Ssa(func) => {
            let initials = func.symbols.values().filter_map(|symbol| symbol.initial.as_ref());
            names.extend(initials.flat_map(|initial| &initial.addresses).map(|to| to.symbol.clone()));
        }
        Form::Machine(mir) => names.extend(pointed_to(&mir.header.variables)),
        Form::Allocated(mir) => names.extend(pointed_to(&mir.header.variables)),
        Form::LaidOut(code) => names.extend(pointed_to(&code.header.variables)),
        Form::Program(code) => names.extend(pointed_to(&code.program.variables)),
    }
    names
}

/// The symbols whose addresses variables hold.
fn pointed_to(variables: &[Variable]) -> impl Iterator<Item = String> {
    variables.iter().flat_map(|variable| &variable.pointers).map(|to| to.target.clone())
}
