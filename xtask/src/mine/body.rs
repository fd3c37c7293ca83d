//! The text of a generated kernel: registers, their initial values, and a sequence of steps.

use std::fmt::Write as _;

use ptxc_machine::Arch;

use super::forms::{Form, Kind};

/// Sets vector registers to loaded values; the first use waits for all of them.
pub(super) const LOADED: &str = "mov.u32 %t,%tid.x; mul.wide.u32 %T,%t,128; add.u64 %A,%A,%T;\n\
     ld.global.v4.u32 {%a,%b,%c,%t},[%A]; ld.global.v2.u64 {%la,%lb},[%A+16];\n";
/// Sets vector registers to values of clocks, which need no scoreboard; a barrier separates them
/// from the steps.
pub(super) const CLOCKS: &str = "mov.u32 %a,%clock; mov.u32 %b,%clock_hi; mov.u64 %la,%clock64; mov.u64 %lb,%clock64;\n\
     shl.b32 %c,%a,3; xor.b32 %t,%b,%a; st.shared.v4.u32 [%k+512],{%a,%b,%c,%t}; st.shared.v2.u64 [%k+528],{%la,%lb};\n\
     bar.sync 15;\n";

/// A deterministic source of choices: Knuth's linear congruential generator, "The Art of Computer
/// Programming", volume 2.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// The start of a module.
pub(super) fn opening(arch: Arch) -> String {
    format!(
        ".version 9.0\n.target {arch}\n.address_size 64\n.const .align 16 .b8 cc[4096];\n\
         .shared .align 16 .b8 sh[8192];\n"
    )
}

/// The text of a kernel under construction.
#[derive(Default)]
pub(super) struct Body {
    lines: String,
    /// The number of the next register and label.
    next: usize,
}

impl Body {
    fn fresh(&mut self, prefix: &str) -> String {
        self.next += 1;
        format!("{prefix}{}", self.next)
    }

    /// Appends a step; returns the register of its result.
    pub(super) fn step(&mut self, form: &Form, value: &str) -> String {
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
        while line.contains("$_") {
            let unread = self.fresh("%w");
            line = line.replacen("$_", &unread, 1);
        }
        self.lines.push_str(&line);
        self.lines.push('\n');
        result
    }

    /// Stores the last value, so that it is not removed as unused.
    pub(super) fn store(&mut self, kind: Kind, value: &str) {
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

    /// Appends text as it is given.
    pub(super) fn raw(&mut self, text: &str) {
        self.lines.push_str(text);
        self.lines.push('\n');
    }

    /// The kernel with all its steps; `prelude` fills the vector registers.
    pub(super) fn kernel(&self, name: &str, prelude: &str) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            ".visible .entry {name}(.param .u64 p,.param .u32 ua,.param .u32 ub,.param .u32 uc,.param .u64 ul){{\n\
             .reg .b32 %a,%b,%c,%t,%ua,%ub,%uc,%k,%w<{n}>; .reg .b64 %la,%lb,%ul,%A,%T,%d<{n}>; .reg .pred \
             %pa,%pb,%p<{n}>; .reg .b16 %h<{n}>;\n\
             ld.param.u64 %A,[p]; ld.param.u32 %ua,[ua]; ld.param.u32 %ub,[ub]; ld.param.u32 %uc,[uc]; \
             ld.param.u64 %ul,[ul]; mov.u32 %k,sh;\n\
             {prelude}setp.eq.u32 %pa,%t,1; setp.eq.u32 %pb,%t,5;\n{lines}ret;\n}}\n",
            n = self.next + 1,
            lines = self.lines,
        );
        text
    }
}
