//! Directed kernels for the uniform datapath: short trees of uniform steps, each with one use.
//!
//! Chains hardly keep ptxas on the uniform datapath. ptxas uses it for a few steps whose result is
//! the uniform operand of one vector instruction, but not for a value that is soon needed in a
//! vector register. Nor does ptxas keep the steps close to the use: values that depend only on
//! parameters are computed at the start of the kernel. Each tree therefore grows from `activemask`,
//! which cannot be moved, in a block after a uniform branch and a barrier, with no other work:
//!
//! ```text
//! @%p0 bra.uni DONE; bar.sync 14;
//! activemask.b32 %w1; shl.b32 %w2,%w1,3;     // VOTEU.ANY, ULOP3, USHF, …
//! fma.rn.f32 %w3,%a,%w2,%b;                  // FFMA with a uniform operand, as early as the assembler dares
//! ```
//!
//! Every uniform step that can end a tree is paired with every use ([`pairs`]), and some kernels
//! have several trees, which overwrite each other's uniform registers.

use ptxc_machine::Arch;

use super::body::{self, Body, CLOCKS, Random};
use super::forms::{FORMS, Form, Kind};

/// Kernels per file: they are short.
const KERNELS: usize = 64;
/// The number of kernels with several trees, and the number of trees in each.
const GROVES: usize = 192;
const TREES: usize = 4;

/// The first step of a tree.
const ROOT: Form = Form {
    since: 75,
    takes: Kind::UniformWord,
    makes: Kind::UniformWord,
    text: "activemask.b32 $t; xor.b32 $z,$t,$y;",
};
/// Convert a word to the operand of a tree's last step.
const DOUBLE: Form =
    Form { since: 75, takes: Kind::UniformWord, makes: Kind::UniformDouble, text: "mov.b64 $z,{$y,%ub};" };
const PREDICATE: Form = Form {
    since: 75,
    takes: Kind::UniformWord,
    makes: Kind::UniformPredicate,
    text: "setp.lt.s32 $z,$y,%ub;",
};

/// Steps under a uniform guard. The value that a step may leave unchanged must already be in a
/// uniform register; otherwise the assembler uses a selection instead.
const GUARDED: &[Form] = &[
    guarded("activemask.b32 $t; mov.b32 $z,$t; @$y add.u32 $z,$t,%uc;"),
    guarded("activemask.b32 $t; mov.b32 $z,$t; @!$y shl.b32 $z,$t,9;"),
    guarded("activemask.b32 $t; mov.b32 $z,$t; @$y mul.lo.u32 $z,$t,%ub;"),
    guarded("activemask.b32 $t; mov.b32 $z,$t; @$y xor.b32 $z,$t,%ub;"),
    guarded("activemask.b32 $t; mov.b32 $z,$t; @!$y ld.const.u32 $z,[cc+20];"),
    guarded("activemask.b32 $t; mov.b32 $z,$t; @$y popc.b32 $z,%uc;"),
];

const fn guarded(text: &'static str) -> Form {
    Form { since: 75, takes: Kind::UniformPredicate, makes: Kind::UniformWord, text }
}

/// Modules with a tree for every pair of a last step and a use that the architecture has.
pub(super) fn modules(arch: Arch) -> Vec<String> {
    let forms: Vec<&Form> = FORMS.iter().filter(|form| form.since <= arch.number()).collect();
    let pairs = pairs(&forms);
    let mut random = Random(2);
    let mut kernels: Vec<Vec<(&Form, &Form)>> = pairs.iter().map(|&pair| vec![pair]).collect();
    kernels.extend((0..GROVES).map(|_| (0..TREES).map(|_| pairs[random.below(pairs.len())]).collect()));
    let words = forms.iter().filter(|form| Kind::UniformWord.serves(form.takes) && is_pure(form));
    let guarded = words.enumerate().map(|(index, &end)| (&GUARDED[index % GUARDED.len()], end));
    kernels.extend(guarded.map(|pair| vec![pair]));
    let module = |(number, kernels): (usize, &[Vec<(&Form, &Form)>])| {
        let kernel = |(index, trees): (usize, &Vec<(&Form, &Form)>)| {
            kernel(&format!("tree{}", number * KERNELS + index), trees)
        };
        body::opening(arch) + &kernels.iter().enumerate().map(kernel).collect::<String>()
    };
    kernels.chunks(KERNELS).enumerate().map(module).collect()
}

/// The last steps and the uses that may follow them. Most steps that make a word are of one latency
/// class: of these, each use follows every third.
fn pairs<'a>(forms: &[&'a Form]) -> Vec<(&'a Form, &'a Form)> {
    let last =
        forms.iter().filter(|form| form.takes.is_uniform() && form.makes.is_uniform() && is_pure(form));
    let mut pairs = Vec::new();
    for (number, &last) in last.enumerate() {
        let is_common =
            last.makes == Kind::UniformWord && last.takes == Kind::UniformWord && !reads_constants(last);
        let uses = forms.iter().filter(|form| last.makes.serves(form.takes)).enumerate();
        let uses = uses.filter(|(index, _)| !is_common || (number + index) % 3 == 0);
        pairs.extend(uses.map(|(_, &form)| (last, form)));
    }
    pairs
}

fn reads_constants(form: &Form) -> bool {
    form.text.contains("ld.const")
}

/// Whether it neither branches nor touches memory that is written.
fn is_pure(form: &Form) -> bool {
    !["bra", "st.", "red."].iter().any(|word| form.text.contains(word))
}

fn kernel(name: &str, trees: &[(&Form, &Form)]) -> String {
    let mut body = Body::default();
    body.raw("setp.gt.s32 %p0,%uc,9; @%p0 bra.uni DONE; bar.sync 14;");
    for (last, end) in trees {
        let mut value = body.step(&ROOT, "%ua");
        match last.takes {
            Kind::UniformDouble => value = body.step(&DOUBLE, &value),
            Kind::UniformPredicate => value = body.step(&PREDICATE, &value),
            _ => {}
        }
        value = body.step(last, &value);
        value = body.step(end, &value);
        body.store(end.makes, &value);
    }
    body.raw("DONE:");
    body.kernel(name, CLOCKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_last_step_meets_each_use() {
        let made = modules(Arch::Sm75);
        assert_eq!(made, modules(Arch::Sm75));
        let all = made.concat();
        assert!(all.contains("activemask") && !all.contains('$'), "a place was not filled");
        let forms: Vec<&Form> = FORMS.iter().filter(|form| form.since <= 75).collect();
        let pairs = pairs(&forms);
        assert!(all.matches(".visible .entry").count() > pairs.len() + GROVES);
        assert!(
            GUARDED
                .iter()
                .all(|form| all.contains(form.text.rsplit_once("; ").unwrap().1.split(' ').nth(1).unwrap()))
        );
        for form in
            forms.iter().filter(|form| form.takes.is_uniform() && form.makes.is_uniform() && is_pure(form))
        {
            assert!(pairs.iter().any(|(last, _)| last.text == form.text), "{}", form.text);
        }
        for form in forms.iter().filter(|form| Kind::UniformWord.serves(form.takes)) {
            assert!(pairs.iter().any(|(_, end)| end.text == form.text), "{}", form.text);
        }
    }
}
