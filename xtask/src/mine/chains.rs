//! Directed kernels: chains in which each step reads what the step before made, and nothing else is there to do in
//! the meantime, so that the assembler keeps the steps as close as it dares.
//!
//! A walk over the [forms](super::forms): behind a form comes the one that follows it least often so far, so that
//! every pair of forms is next to each other after about as many steps as there are pairs. The result is a few
//! hundred kernels of [`STEPS`] steps, the same for the same seed.

use std::collections::HashMap;
use std::fmt::Write as _;

use ptxc_sass::Arch;

use super::forms::{FORMS, Form, Kind};

/// Steps a kernel.
const STEPS: usize = 40;
/// Kernels a file: enough that the assembler's start does not count, few enough that a kernel which it does not take
/// costs little.
const KERNELS: usize = 12;

/// A deterministic source of choices: the linear congruence of Knuth, "The Art of Computer Programming", volume 2.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// Modules whose kernels hold each pair of forms that the architecture has about `repeats` times.
pub(super) fn modules(arch: Arch, repeats: usize) -> Vec<String> {
    let forms: Vec<&Form> = FORMS.iter().filter(|form| form.since <= arch.number()).collect();
    let pairs = forms.iter().map(|form| followers(&forms, form.makes).count()).sum::<usize>();
    let kernels = (pairs * repeats).div_ceil(STEPS);
    let mut walk = Walk { forms, seen: HashMap::new(), random: Random(1) };
    let names: Vec<usize> = (0..kernels).collect();
    names.chunks(KERNELS).map(|names| walk.module(arch, names)).collect()
}

fn followers<'a>(forms: &'a [&Form], made: Kind) -> impl Iterator<Item = usize> + 'a {
    (0..forms.len()).filter(move |&next| made.serves(forms[next].takes))
}

struct Walk<'a> {
    forms: Vec<&'a Form>,
    /// How often a form followed another.
    seen: HashMap<(usize, usize), u32>,
    random: Random,
}

impl Walk<'_> {
    fn module(&mut self, arch: Arch, names: &[usize]) -> String {
        let mut text = format!(
            ".version 9.0\n.target {arch}\n.address_size 64\n.const .align 16 .b8 cc[4096];\n\
             .shared .align 16 .b8 sh[8192];\n"
        );
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
                *self.seen.entry((last, next)).or_default() += 1;
            }
            value = body.step(self.forms[next], &value);
            (kind, last) = (self.forms[next].makes, Some(next));
        }
        body.store(kind, &value);
        // Writing to a string can't fail.
        let _ = write!(
            text,
            ".visible .entry chain{name}(.param .u64 p,.param .u32 ua,.param .u32 ub,.param .u32 uc,.param .u64 ul){{\n\
             .reg .b32 %a,%b,%c,%t,%ua,%ub,%uc,%k,%w<{n}>; .reg .b64 %la,%lb,%ul,%A,%T,%d<{n}>; .reg .pred \
             %pa,%pb,%p<{n}>; .reg .b16 %h<{n}>;\n\
             ld.param.u64 %A,[p]; ld.param.u32 %ua,[ua]; ld.param.u32 %ub,[ub]; ld.param.u32 %uc,[uc]; \
             ld.param.u64 %ul,[ul]; mov.u32 %k,sh;\n\
             mov.u32 %t,%tid.x; mul.wide.u32 %T,%t,128; add.u64 %A,%A,%T;\n\
             ld.global.v4.u32 {{%a,%b,%c,%t}},[%A]; ld.global.v2.u64 {{%la,%lb}},[%A+16];\n\
             setp.eq.u32 %pa,%t,1; setp.eq.u32 %pb,%t,5;\n{lines}ret;\n}}\n",
            n = body.next + 1,
            lines = body.lines,
        );
    }

    /// The form that follows least often so far, one of those at random. Three times of four a uniform value stays one:
    /// most forms would end that, and the few that would not hardly come up.
    fn choose(&mut self, last: Option<usize>, kind: Kind) -> usize {
        let stays = kind.is_uniform() && self.random.below(4) > 0;
        let forms = &self.forms;
        let fits = |&next: &usize| !stays || forms[next].takes.is_uniform();
        let times = |next: usize| last.and_then(|last| self.seen.get(&(last, next))).copied().unwrap_or(0);
        let wanted: Vec<usize> = followers(forms, kind).filter(fits).collect();
        let least = wanted.iter().map(|&next| times(next)).min().unwrap_or(0);
        let best: Vec<usize> = wanted.into_iter().filter(|&next| times(next) == least).collect();
        best[self.random.below(best.len())]
    }
}

/// The text of a kernel as it grows.
#[derive(Default)]
struct Body {
    lines: String,
    /// The number of the next register and label.
    next: usize,
}

impl Body {
    fn fresh(&mut self, prefix: &str) -> String {
        self.next += 1;
        format!("{prefix}{}", self.next)
    }

    /// Appends a step; the register of what it makes.
    fn step(&mut self, form: &Form, value: &str) -> String {
        let result = match form.makes {
            Kind::Word | Kind::UniformWord => self.fresh("%w"),
            Kind::Double | Kind::UniformDouble => self.fresh("%d"),
            Kind::Predicate | Kind::UniformPredicate => self.fresh("%p"),
        };
        let mut line = form.text.replace("$z", &result);
        if line.contains("$x") {
            let (prefix, kind) = if form.takes == Kind::Double { ("%d", "b64") } else { ("%w", "b32") };
            let copy = self.fresh(prefix);
            line = format!("mov.{kind} {copy},$y; {line}").replace("$x", &copy);
        }
        line = line.replace("$y", value);
        let own = [
            ("$t", "%w"),
            ("$s", "%w"),
            ("$l", "%d"),
            ("$m", "%d"),
            ("$p", "%p"),
            ("$q", "%p"),
            ("$h", "%h"),
            ("$L", "L"),
        ];
        for (place, prefix) in own {
            if line.contains(place) {
                let name = self.fresh(prefix);
                line = line.replace(place, &name);
            }
        }
        self.lines.push_str(&line);
        self.lines.push('\n');
        result
    }

    /// Keeps the last value from being dropped.
    fn store(&mut self, kind: Kind, value: &str) {
        let line = match kind {
            Kind::Word | Kind::UniformWord => format!("st.global.b32 [%A+120],{value};\n"),
            Kind::Double | Kind::UniformDouble => format!("st.global.b64 [%A+120],{value};\n"),
            Kind::Predicate | Kind::UniformPredicate => {
                let word = self.fresh("%w");
                format!("selp.u32 {word},1,2,{value}; st.global.b32 [%A+120],{word};\n")
            }
        };
        self.lines.push_str(&line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_kernels_every_time_and_each_form_is_there() {
        let made = modules(Arch::Sm80, 1);
        assert_eq!(made, modules(Arch::Sm80, 1));
        let all = made.concat();
        for form in FORMS.iter().filter(|form| form.since <= 80) {
            let opening = form.text.split(['$', ' ', ';']).next().unwrap_or_default();
            assert!(all.contains(opening), "{}", form.text);
        }
        assert!(!all.contains('$'), "a place was not filled");
    }
}
