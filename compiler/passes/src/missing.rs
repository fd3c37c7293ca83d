//! Calls of functions that are not there.
//!
//! In: the forms of a module. Out: each function that a kernel calls, directly or not, and that is neither in the module nor a
//! routine. Linking needs the code of all of them. Linear in the forms.

use std::collections::{BTreeMap, BTreeSet};

use ptxc_codegen::mir::is_number;
use ptxc_ir::{CalleeKind, Function, Op};
use ptxc_ssa::runtime;

use crate::Form;

/// A call of a function that is not there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Missing {
    /// The function that calls.
    pub caller: String,
    /// The name of the callee, as the form of the caller spells it.
    pub callee: String,
    /// The number of the callee among the functions that the caller names, where the form has such numbers.
    pub number: Option<usize>,
}

/// The functions that the kernels among these forms call, directly or not, and that are not among them.
pub fn missing(forms: &[Form]) -> Vec<Missing> {
    let devices: BTreeMap<&str, &Form> =
        forms.iter().filter(|form| !form.is_kernel()).map(|form| (form.name(), form)).collect();
    let mut wanted: Vec<&Form> = forms.iter().filter(|form| form.is_kernel()).collect();
    let mut seen = BTreeSet::new();
    let mut found = BTreeSet::new();
    while let Some(form) = wanted.pop() {
        for (callee, number) in callees(form) {
            match devices.get(&*callee) {
                Some(&device) if seen.insert(device.name()) => wanted.push(device),
                Some(_) => {}
                None => {
                    found.insert(Missing { caller: form.name().to_string(), callee, number });
                }
            }
        }
    }
    found.into_iter().collect()
}

/// The functions that a form names and that are no routines, with their numbers.
fn callees(form: &Form) -> Vec<(String, Option<usize>)> {
    let numbered = |names: &[String]| {
        let names = names.iter().enumerate().skip(1);
        let names = names.filter(|(_, name)| runtime::name_of_symbol(name).is_none() && !is_number(name));
        names.map(|(number, name)| (name.clone(), Some(number))).collect()
    };
    match form {
        Form::Ssa(func) => called(func).into_iter().map(|name| (name, None)).collect(),
        Form::Machine(mir) => numbered(&mir.header.functions),
        Form::Allocated(mir) => numbered(&mir.header.functions),
        Form::LaidOut(code) => numbered(&code.header.functions),
        // The code of its callees is part of it.
        Form::Program(_) => Vec::new(),
    }
}

/// The device functions that a function calls or takes the address of, and routines that do not exist.
fn called(func: &Function) -> BTreeSet<String> {
    let insts = func.layout.iter().flat_map(|&block| &func.blocks[block].insts);
    let callees = insts.filter_map(|&inst| match func.insts[inst].op {
        Op::Call { callee, .. } | Op::FuncAddr(callee) => Some(&func.callees[callee]),
        _ => None,
    });
    let without_code = callees.filter(|callee| match callee.kind {
        CalleeKind::Device => true,
        CalleeKind::Routine => !runtime::is_routine(&callee.name),
        CalleeKind::Prototype(_) | CalleeKind::External(_) => false,
    });
    without_code.map(|callee| callee.name.clone()).collect()
}
