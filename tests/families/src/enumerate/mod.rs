//! Every form of the families, and similar forms that are not legal.
//!
//! The lists are products of the choices that PTX offers: kinds, types, spaces, scopes, kinds of
//! operands. They are made without the compiler's own table of instructions, so that the two check
//! each other. They include products that PTX forbids: ptxas decides whether a form is legal, and a
//! refusal is an outcome too.

mod atomic;
mod barrier;
mod fence;
mod mbarrier;
mod vector;
mod versions;
mod warp;

use std::collections::HashSet;

use crate::form::{Family, Form, Setting};

/// Every form, each once, family by family.
pub fn all() -> Vec<Form> {
    let mut forms = Vec::new();
    for family in Family::ALL {
        match family {
            Family::Barrier => barrier::forms(&mut forms),
            Family::Fence => fence::forms(&mut forms),
            Family::Mbarrier => mbarrier::forms(&mut forms),
            Family::Atomic => atomic::forms(&mut forms),
            Family::Vector => vector::forms(&mut forms),
            Family::Warp => warp::forms(&mut forms),
        }
    }
    forms.extend(forms.iter().filter_map(keeping_subnormals).collect::<Vec<_>>());
    versions::forms(&mut forms);
    let mut seen = HashSet::new();
    forms.retain(|form| seen.insert(form.to_string()));
    forms
}

/// The version of PTX that introduced `.noftz` for sums of `f32`.
pub const NOFTZ: (u32, u32) = (9, 4);

/// A sum of `f32` in memory with `.noftz`, in a module whose version allows it.
fn keeping_subnormals(sum: &Form) -> Option<Form> {
    let has = |part: &str| sum.opcode().split('.').any(|one| one == part);
    let is_sum = matches!(sum.family, Family::Atomic | Family::Vector) && has("add") && has("f32");
    let text = sum.text.replacen(".add", ".add.noftz", 1);
    (is_sum && !has("noftz")).then(|| Form { text, ..sum.version(NOFTZ) })
}

/// Adds a form in every setting.
fn everywhere(forms: &mut Vec<Form>, family: Family, text: &str) {
    forms.extend(Setting::ALL.map(|setting| Form::new(family, text).at(setting)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_thousands_each_once() {
        let forms = all();
        let names: HashSet<String> = forms.iter().map(Form::to_string).collect();
        assert_eq!(names.len(), forms.len());
        for family in Family::ALL {
            assert!(forms.iter().filter(|form| form.family == family).count() > 50, "{}", family.name());
        }
        assert!(forms.len() > 5000);
    }
}
