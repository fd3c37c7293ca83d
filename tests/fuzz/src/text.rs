//! A program as PTX text.
//!
//! The body is written first. In front of it comes only what it uses: registers and what they begin with, addresses,
//! variables of the module. So a small program has a small text.

use std::collections::HashSet;
use std::fmt::Write;

use crate::program::{DUMP_BYTES, LOOPS, Node, POOLS, Program, Statement};

/// What stands in front of the body if one of the names is used: names, whether it is outside of the entry, text.
struct Part {
    defines: &'static [&'static str],
    outside: bool,
    text: &'static str,
}

const fn inside(defines: &'static [&'static str], text: &'static str) -> Part {
    Part { defines, outside: false, text }
}

const fn outside(defines: &'static [&'static str], text: &'static str) -> Part {
    Part { defines, outside: true, text }
}

/// Variables of the module, then addresses and words that every thread begins with, in an order in which each may use those
/// before it: `%in` is read by all, `%acc` updated by all; `%own`, `%sh` and `%lo` are of this thread alone in global,
/// shared and local memory, `%gown`, `%gsh` and `%glo` the same as generic addresses; `%next` is the next thread's part of shared
/// memory, `%tally` what the threads of a CTA update.
const PARTS: &[Part] = &[
    outside(
        &["ctab"],
        ".const .align 16 .b32 ctab[16] = { 1, 2, 0x80000000, 0x7fffffff, 0xffffffff, 31, 32, 0x3f800000, 0x7f800000, 7, 64, 0xdeadbeef, 0, 255, 0x12345678, 0x80 };",
    ),
    outside(
        &["gtab"],
        ".global .align 8 .b64 gtab[8] = { 3, 0x8000000000000000, 0xffffffff, 0x100000000, 0x7fffffffffffffff, 0, 0xfffffffffffffff0, 0x3ff0000000000000 };",
    ),
    inside(&["%n"], ".reg .b32 %n;\nld.param.u32 %n, [n];"),
    inside(&["%m"], ".reg .b64 %m;\nld.param.u64 %m, [m];"),
    inside(&["%x"], ".reg .f32 %x;\nld.param.f32 %x, [x];"),
    inside(&["%zero"], ".reg .b32 %zero;\nmov.u32 %zero, 0;"),
    inside(&["%in"], ".reg .b64 %in;\nld.param.u64 %in, [in];\ncvta.to.global.u64 %in, %in;"),
    inside(&["%acc"], ".reg .b64 %acc;\nld.param.u64 %acc, [acc];\ncvta.to.global.u64 %acc, %acc;"),
    inside(&["%lane"], ".reg .b32 %lane;\nmov.u32 %lane, %laneid;"),
    inside(&["%size"], ".reg .b32 %size;\n$SIZE"),
    inside(&["%cta"], ".reg .b32 %cta;\n$CTA"),
    inside(&["%thread"], ".reg .b32 %thread;\n$THREAD"),
    inside(&["%warp"], ".reg .b32 %warp;\nshr.u32 %warp, %thread, 5;"),
    inside(&["%index"], ".reg .b32 %index;\nmad.lo.u32 %index, %cta, %size, %thread;"),
    inside(
        &["%own"],
        ".reg .b64 %own, %ownat;\nld.param.u64 %own, [own];\ncvta.to.global.u64 %own, %own;\nmul.wide.u32 %ownat, %index, 64;\nadd.s64 %own, %own, %ownat;",
    ),
    inside(&["%gown"], ".reg .b64 %gown;\ncvta.global.u64 %gown, %own;"),
    inside(
        &["%dump"],
        ".reg .b64 %dump, %dumpat;\nld.param.u64 %dump, [dump];\ncvta.to.global.u64 %dump, %dump;\nmul.wide.u32 %dumpat, %index, 256;\nadd.s64 %dump, %dump, %dumpat;",
    ),
    inside(
        &["%sh"],
        ".reg .b32 %sh, %shat;\n.shared .align 16 .b8 shared[8192];\nmov.u32 %shat, shared;\nmad.lo.u32 %sh, %thread, 64, %shat;\n\
         st.shared.v2.u64 [%sh], {%m, %m};\nst.shared.v2.u64 [%sh+16], {%m, %m};\n\
         st.shared.v4.u32 [%sh+32], {%n, %thread, %n, %cta};\nst.shared.v4.f32 [%sh+48], {%x, %x, %x, %x};",
    ),
    inside(&["%gsh"], ".reg .b64 %gsh, %gshat;\ncvt.u64.u32 %gshat, %sh;\ncvta.shared.u64 %gsh, %gshat;"),
    inside(
        &["%next"],
        ".reg .b32 %next, %nextat;\n.reg .pred %nextq;\nadd.u32 %nextat, %thread, 1;\nsetp.eq.u32 %nextq, %nextat, %size;\n\
         selp.b32 %nextat, 0, %nextat, %nextq;\nsub.u32 %nextat, %nextat, %thread;\nmad.lo.u32 %next, %nextat, 64, %sh;",
    ),
    inside(
        &["%tally"],
        ".reg .b32 %tally;\n.shared .align 16 .b8 tallied[64];\nmov.u32 %tally, tallied;\n\
         st.shared.v4.u32 [%tally], {%n, %n, %n, %n};\nst.shared.v4.u32 [%tally+16], {%n, %n, %n, %n};\n\
         st.shared.v4.u32 [%tally+32], {%n, %n, %n, %n};\nst.shared.v4.u32 [%tally+48], {%n, %n, %n, %n};\nbar.sync 0;",
    ),
    inside(
        &["%lo"],
        ".reg .b64 %lo;\n.local .align 16 .b8 local[64];\nmov.u64 %lo, local;\n\
         st.local.v2.u64 [%lo], {%m, %m};\nst.local.v4.u32 [%lo+16], {%n, %thread, %n, %thread};\n\
         st.local.v4.f32 [%lo+32], {%x, %x, %x, %x};\nst.local.v2.u64 [%lo+48], {%m, %m};",
    ),
    inside(&["%glo"], ".reg .b64 %glo;\ncvta.local.u64 %glo, %lo;"),
    inside(&["%ct"], ".reg .b64 %ct;\nmov.u64 %ct, ctab;"),
    inside(&["%gt"], ".reg .b64 %gt;\nmov.u64 %gt, gtab;"),
    inside(&["%y"], ".reg .f32 %y;\nmov.f32 %y, %x;"),
    inside(&["%z"], ".reg .f64 %z;\nmov.f64 %z, 0d0000000000000000;"),
    inside(&["%t0"], ".reg .b32 %t0;"),
    inside(&["%t1"], ".reg .b32 %t1;"),
    inside(&["%a0"], ".reg .b64 %a0;"),
    inside(&["%k0"], ".reg .b16 %k0;"),
    inside(&["%q"], ".reg .pred %q;"),
];

/// The entry's parameters.
const PARAMETERS: &str = "\t.param .u64 in, .param .u64 acc, .param .u64 own, .param .u64 dump,
\t.param .u32 n, .param .u64 m, .param .f32 x
";

/// How `$SIZE`, `$CTA` and `$THREAD` are computed where threads and CTAs have one coordinate, and where they have three.
const FLAT: [(&str, &str); 3] = [
    ("$SIZE", "mov.u32 %size, %ntid.x;"),
    ("$CTA", "mov.u32 %cta, %ctaid.x;"),
    ("$THREAD", "mov.u32 %thread, %tid.x;"),
];
const SPATIAL: [(&str, &str); 3] = [
    (
        "$SIZE",
        ".reg .b32 %size<3>;\nmov.u32 %size0, %ntid.x;\nmov.u32 %size1, %ntid.y;\nmov.u32 %size2, %ntid.z;\n\
         mul.lo.u32 %size, %size0, %size1;\nmul.lo.u32 %size, %size, %size2;",
    ),
    (
        "$CTA",
        ".reg .b32 %cta<5>;\nmov.u32 %cta0, %ctaid.x;\nmov.u32 %cta1, %ctaid.y;\nmov.u32 %cta2, %ctaid.z;\n\
         mov.u32 %cta3, %nctaid.x;\nmov.u32 %cta4, %nctaid.y;\n\
         mad.lo.u32 %cta, %cta2, %cta4, %cta1;\nmad.lo.u32 %cta, %cta, %cta3, %cta0;",
    ),
    (
        "$THREAD",
        ".reg .b32 %thread<5>;\nmov.u32 %thread0, %tid.x;\nmov.u32 %thread1, %tid.y;\nmov.u32 %thread2, %tid.z;\n\
         mov.u32 %thread3, %ntid.x;\nmov.u32 %thread4, %ntid.y;\n\
         mad.lo.u32 %thread, %thread2, %thread4, %thread1;\nmad.lo.u32 %thread, %thread, %thread3, %thread0;",
    ),
];

struct Writer {
    text: String,
    labels: usize,
    /// Labels behind the loops around, and in front of their next turns.
    loops: Vec<(usize, usize)>,
}

impl Program {
    /// The text.
    pub fn text(&self) -> String {
        let mut writer = Writer { text: String::new(), labels: 0, loops: Vec::new() };
        writer.nodes(&self.body);
        self.show(&mut writer);
        let mut used = HashSet::new();
        collect(&writer.text, &mut used);
        let variables = self.variables(&mut used);
        let (module, prologue) = self.parts(&mut used);

        let mut text = ".version 8.0\n.target sm_90\n.address_size 64\n\n".to_string();
        text.push_str(&module);
        text.push_str(".visible .entry fuzz(\n");
        text.push_str(PARAMETERS);
        text.push(')');
        for directive in &self.directives {
            // Writing to a string can't fail.
            let _ = write!(text, " {directive}");
        }
        text.push_str("\n{\n");
        for line in prologue.lines().chain(variables.lines()) {
            let _ = writeln!(text, "\t{line}");
        }
        text.push_str(&writer.text);
        text.push_str("\tret;\n}\n");
        text
    }

    /// Declares the variables and counters that are used, and gives them what they begin with.
    fn variables(&self, used: &mut HashSet<String>) -> String {
        let mut text = String::new();
        for (&(prefix, ty, count), starts) in POOLS.iter().zip(&self.starts) {
            let names: Vec<String> = (0..count).map(|index| format!("{prefix}{index}")).collect();
            if !names.iter().any(|name| used.contains(name)) {
                continue;
            }
            let _ = writeln!(text, ".reg {ty} {prefix}<{count}>;");
            for (name, start) in names.iter().zip(starts).filter(|(name, _)| used.contains(*name)) {
                let _ = match ty {
                    ".pred" => writeln!(text, "setp.ne.u32 {name}, {start}, 0;"),
                    _ => writeln!(text, "mov{ty} {name}, {start};"),
                };
            }
        }
        collect(&text, used);
        for counter in 0..LOOPS {
            if used.contains(&format!("%c{counter}")) {
                let _ = writeln!(text, ".reg .b32 %c{counter};\nmov.u32 %c{counter}, 0;");
            }
            if used.contains(&format!("%b{counter}")) {
                let _ = writeln!(text, ".reg .b32 %b{counter};");
            }
        }
        text
    }

    /// The parts that are used: those outside of the entry, those inside.
    fn parts(&self, used: &mut HashSet<String>) -> (String, String) {
        let mut chosen = Vec::new();
        for part in PARTS.iter().rev() {
            if part.defines.iter().any(|&name| used.contains(name)) {
                let mut text = part.text.to_string();
                for (mark, how) in if self.shape.is_flat() { FLAT } else { SPATIAL } {
                    text = text.replace(mark, how);
                }
                collect(&text, used);
                chosen.push((part.outside, text + "\n"));
            }
        }
        chosen.reverse();
        let of =
            |outside| chosen.iter().filter(|part| part.0 == outside).map(|part| part.1.as_str()).collect();
        (of(true), of(false))
    }

    fn show(&self, writer: &mut Writer) {
        let mut offset = 0;
        for &(pool, index) in &self.shown {
            let (prefix, ty, _) = POOLS[pool];
            let (size, store) = match ty {
                ".b64" | ".f64" => (8, format!("{prefix}{index}")),
                ".b16" => (2, format!("{prefix}{index}")),
                ".pred" => {
                    writer.line(&format!("selp.b32 %t0, 1, 0, {prefix}{index};"));
                    (4, "%t0".to_string())
                }
                _ => (4, format!("{prefix}{index}")),
            };
            offset = u32::next_multiple_of(offset, size);
            writer.line(&format!("st.global.b{} [%dump+{offset}], {store};", 8 * size));
            offset += size;
        }
        assert!(offset <= DUMP_BYTES, "the registers fit the dump");
    }
}

/// Adds the words of a text that may be names.
fn collect(text: &str, used: &mut HashSet<String>) {
    let in_word = |c: char| c.is_ascii_alphanumeric() || c == '%' || c == '_';
    for word in text.split(|c| !in_word(c)) {
        if !word.is_empty() && !used.contains(word) {
            used.insert(word.to_string());
        }
    }
}

impl Writer {
    fn line(&mut self, line: &str) {
        // Writing to a string can't fail.
        let _ = writeln!(self.text, "\t{line}");
    }

    fn label(&mut self, label: usize) {
        let _ = writeln!(self.text, "L{label}:");
    }

    fn fresh(&mut self) -> usize {
        self.labels += 1;
        self.labels
    }

    /// Goes to the label whose number `%t0` holds.
    fn table(&mut self, labels: &[usize]) {
        let table = self.fresh();
        let list: Vec<String> = labels.iter().map(|label| format!("L{label}")).collect();
        self.line(&format!("T{table}: .branchtargets {};", list.join(", ")));
        self.line(&format!("brx.idx %t0, T{table};"));
    }

    fn nodes(&mut self, nodes: &[Node]) {
        for node in nodes {
            self.node(node);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        let text = statement.text();
        text.lines().for_each(|line| self.line(line));
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Statement(statement) => self.statement(statement),
            Node::If { condition, then, otherwise } => {
                let (other, end) = (self.fresh(), self.fresh());
                self.line(&format!("@!{condition} bra L{other};"));
                self.nodes(then);
                if !otherwise.is_empty() {
                    self.line(&format!("bra L{end};"));
                }
                self.label(other);
                self.nodes(otherwise);
                self.label(end);
            }
            Node::Lanes { mask, body } => {
                let end = self.fresh();
                self.line(&format!("shr.u32 %t0, {mask:#x}, %lane;"));
                self.line("and.b32 %t0, %t0, 1;");
                self.line("setp.eq.u32 %q, %t0, 0;");
                self.line(&format!("@%q bra L{end};"));
                self.nodes(body);
                self.label(end);
            }
            Node::Loop { counter, bound, at_top, body } => self.repeat(*counter, bound, *at_top, body),
            Node::Irreducible { counter, condition, first, second } => {
                let (head, middle, end) = (self.fresh(), self.fresh(), self.fresh());
                self.line(&format!("mov.u32 %c{counter}, 0;"));
                self.line(&format!("@{condition} bra L{middle};"));
                self.label(head);
                self.loops.push((end, middle));
                self.nodes(first);
                self.label(middle);
                self.loops.pop();
                self.line(&format!("add.u32 %c{counter}, %c{counter}, 1;"));
                self.nodes(second);
                self.line(&format!("setp.lt.u32 %q, %c{counter}, 3;"));
                self.line(&format!("@%q bra L{head};"));
                self.label(end);
            }
            Node::Switch { index, table, arms } => self.switch(index, *table, arms),
            Node::Graph { counter, selector, blocks } => {
                let labels: Vec<usize> = blocks.iter().map(|_| self.fresh()).collect();
                let end = self.fresh();
                self.line(&format!("mov.u32 %c{counter}, 0;"));
                self.line(&format!("and.b32 %t0, {selector}, 1;"));
                self.table(&labels[..2]);
                for (block, &label) in blocks.iter().zip(&labels) {
                    let targets: Vec<usize> = block.targets.iter().map(|&target| labels[target]).collect();
                    let next = self.fresh();
                    self.label(label);
                    self.loops.push((end, next));
                    self.nodes(&block.body);
                    self.loops.pop();
                    self.label(next);
                    self.line(&format!("add.u32 %c{counter}, %c{counter}, 1;"));
                    self.line(&format!("setp.gt.u32 %q, %c{counter}, 9;"));
                    self.line(&format!("@%q bra L{end};"));
                    match &block.condition {
                        Some(condition) => {
                            self.line(&format!("@{condition} bra L{};", targets[0]));
                            self.line(&format!("bra L{};", targets[targets.len() - 1]));
                        }
                        None => {
                            self.line(&format!("add.u32 %t0, {selector}, %c{counter};"));
                            self.line(&format!("and.b32 %t0, %t0, {};", targets.len() - 1));
                            self.table(&targets);
                        }
                    }
                }
                self.label(end);
            }
            Node::Break(guard) => {
                if let Some(&(end, _)) = self.loops.last() {
                    self.line(&format!("@{guard} bra L{end};"));
                }
            }
            Node::Continue(guard) => {
                if let Some(&(_, next)) = self.loops.last() {
                    self.line(&format!("@{guard} bra L{next};"));
                }
            }
            Node::Return { guard, value } => {
                self.line(&format!("@{guard} st.global.u32 [%own+60], {value};"));
                self.line(&format!("@{guard} ret;"));
            }
        }
    }

    fn repeat(&mut self, counter: usize, bound: &str, at_top: bool, body: &[Node]) {
        let (head, next, end) = (self.fresh(), self.fresh(), self.fresh());
        self.line(&format!("mov.u32 %c{counter}, 0;"));
        self.line(&format!("and.b32 %b{counter}, {bound}, 3;"));
        self.label(head);
        let test = format!("setp.ge.u32 %q, %c{counter}, %b{counter};");
        if at_top {
            self.line(&test);
            self.line(&format!("@%q bra L{end};"));
        }
        self.loops.push((end, next));
        self.nodes(body);
        self.loops.pop();
        self.label(next);
        if !at_top {
            self.line(&test);
        }
        self.line(&format!("add.u32 %c{counter}, %c{counter}, 1;"));
        self.line(&if at_top { format!("bra L{head};") } else { format!("@!%q bra L{head};") });
        self.label(end);
    }

    fn switch(&mut self, index: &str, table: bool, arms: &[(bool, Vec<Node>)]) {
        let labels: Vec<usize> = arms.iter().map(|_| self.fresh()).collect();
        let end = self.fresh();
        self.line(&format!("and.b32 %t0, {index}, {};", arms.len() - 1));
        if table {
            self.table(&labels);
        } else {
            for (number, label) in labels.iter().enumerate().skip(1) {
                self.line(&format!("setp.eq.u32 %q, %t0, {number};"));
                self.line(&format!("@%q bra L{label};"));
            }
        }
        for (label, (through, arm)) in labels.into_iter().zip(arms) {
            self.label(label);
            self.nodes(arm);
            if !through {
                self.line(&format!("bra L{end};"));
            }
        }
        self.label(end);
    }
}
