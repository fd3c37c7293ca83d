//! Directed kernels: chains in which each step reads the result of the previous step. There is no
//! other work in the meantime, so the assembler keeps the steps as close as it can.
//!
//! The generator walks over the [forms](super::forms): after a form it chooses the form that has
//! followed it least often so far. Every pair of forms is therefore adjacent after about as many
//! steps as there are pairs. The result is a few hundred kernels of [`STEPS`] steps, the same for
//! the same seed.

use ptxc_machine::Arch;

use super::body::{self, Body, LOADED, Random};
use super::forms::{FORMS, Form, Kind};

/// Steps per kernel.
const STEPS: usize = 40;
/// Kernels per file: enough that the assembler's start does not matter, few enough that a kernel
/// which it refuses costs little.
const KERNELS: usize = 24;

/// Modules whose kernels contain each pair of the wanted forms that the architecture has about
/// `repeats` times.
pub(super) fn modules(arch: Arch, wanted: impl Fn(&Form) -> bool, repeats: usize) -> Vec<String> {
    let forms: Vec<&Form> = FORMS.iter().filter(|form| form.since <= arch.number() && wanted(form)).collect();
    let pairs = forms.iter().map(|form| followers(&forms, form.makes).count()).sum::<usize>();
    let kernels = (pairs * repeats).div_ceil(STEPS);
    let seen = vec![0; forms.len() * forms.len()];
    let mut walk = Walk { forms, seen, random: Random(1) };
    let names: Vec<usize> = (0..kernels).collect();
    names.chunks(KERNELS).map(|names| walk.module(arch, names)).collect()
}

fn followers<'a>(forms: &'a [&Form], made: Kind) -> impl Iterator<Item = usize> + 'a {
    (0..forms.len()).filter(move |&next| made.serves(forms[next].takes))
}

struct Walk<'a> {
    forms: Vec<&'a Form>,
    /// How often each form followed another form: first all that followed the first form.
    seen: Vec<u32>,
    random: Random,
}

impl Walk<'_> {
    fn module(&mut self, arch: Arch, names: &[usize]) -> String {
        let mut text = body::opening(arch);
        for name in names {
            self.kernel(&mut text, *name);
        }
        text
    }

    fn kernel(&mut self, text: &mut String, name: usize) {
        let uniform = self.random.below(3) == 0;
        let (mut kind, mut value) =
            if uniform { (Kind::UniformWord, "%ua".to_string()) } else { (Kind::Word, "%a".to_string()) };
        let mut body = Body::default();
        let mut last: Option<usize> = None;
        for _ in 0..STEPS {
            let next = self.choose(last, kind);
            if let Some(last) = last {
                self.seen[last * self.forms.len() + next] += 1;
            }
            value = body.step(self.forms[next], &value);
            (kind, last) = (self.forms[next].makes, Some(next));
        }
        body.store(kind, &value);
        text.push_str(&body.kernel(&format!("chain{name}"), LOADED));
    }

    /// A random one of the forms that have followed `last` least often. In three of four cases a
    /// uniform value stays uniform: most forms would end that, so the few that keep it would hardly
    /// occur.
    fn choose(&mut self, last: Option<usize>, kind: Kind) -> usize {
        let forms = &self.forms;
        let can_stay = followers(forms, kind).any(|next| forms[next].takes.is_uniform());
        let stays = kind.is_uniform() && can_stay && self.random.below(4) > 0;
        let fits = |&next: &usize| !stays || forms[next].takes.is_uniform();
        let times = |next: usize| last.map_or(0, |last| self.seen[last * forms.len() + next]);
        let wanted: Vec<usize> = followers(forms, kind).filter(fits).collect();
        let least = wanted.iter().map(|&next| times(next)).min().unwrap_or(0);
        let best: Vec<usize> = wanted.into_iter().filter(|&next| times(next) == least).collect();
        best[self.random.below(best.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_kernels_every_time_and_each_form_is_there() {
        let made = modules(Arch::Sm80, |_| true, 1);
        assert_eq!(made, modules(Arch::Sm80, |_| true, 1));
        let all = made.concat();
        for form in FORMS.iter().filter(|form| form.since <= 80) {
            let opening = form.text.split(['$', ' ', ';']).next().unwrap_or_default();
            assert!(all.contains(opening), "{}", form.text);
        }
        assert!(!all.contains('$'), "a place was not filled");
    }
}
