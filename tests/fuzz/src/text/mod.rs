//! A program as PTX text.
//!
//! The bodies are written first. They are preceded only by the declarations that they use:
//! registers with their initial values, addresses, variables of the module. So a small program has
//! a small text. Functions that nothing calls are omitted.

mod call;
mod parts;
mod writer;

use std::collections::{BTreeSet, HashSet};
use std::fmt::Write;

use parts::{FLAT, HANDLES, MORE_PARAMETERS, PARAMETERS, PARTS, SPATIAL};
use writer::Writer;

use crate::launch::DUMP_BYTES;
use crate::program::calls::Kind;
use crate::program::{Family, LOOPS, POOLS, Program};

/// A kernel or function whose body is being written.
struct Routine {
    body: String,
    /// The initial values of registers, pool by pool.
    starts: Vec<Vec<String>>,
    /// The text between the variables and the body.
    prologue: String,
    /// The names that the body uses.
    used: HashSet<String>,
    /// The number of mask registers.
    groups: usize,
}

impl Program {
    /// The text.
    pub fn text(&self) -> String {
        let mut labels = 0;
        let mut writer = Writer::new(self, None, &mut labels);
        writer.nodes(&self.body);
        self.show(&mut writer);
        writer.line("ret;");
        let mut called = writer.called.clone();
        let mut tables = writer.tables.clone();
        let mut kernel = Routine::new(writer, &self.starts, String::new());

        // Functions may call further functions.
        let mut functions = Vec::new();
        let mut written = BTreeSet::new();
        while let Some(&number) = called.difference(&written).next() {
            written.insert(number);
            let mut writer = Writer::new(self, Some(number), &mut labels);
            writer.function(number);
            called.extend(&writer.called);
            tables.extend(writer.tables.clone());
            let prologue = self.entry_of(number);
            functions.push((number, Routine::new(writer, &self.functions[number].starts, prologue)));
        }
        functions.sort_by_key(|&(number, _)| number);

        let mut module = BTreeSet::new();
        let mut bodies = String::new();
        for (number, routine) in &mut functions {
            let text = self.routine(routine, Some(*number), &mut module);
            let _ = write!(bodies, "{}\n{{\n{text}}}\n\n", self.head(*number));
            // The kernel initializes the shared memory that functions read.
            if routine.used.contains("%sh") {
                kernel.used.insert("%sh".to_string());
            }
        }
        let body = self.routine(&mut kernel, None, &mut module);

        let mut text = format!(".version 8.3\n.target sm_{}\n.address_size 64\n\n", self.target);
        for (number, _) in &functions {
            let _ = writeln!(text, "{};", self.head(*number));
        }
        for part in module {
            text.push_str(PARTS[part].text);
            text.push('\n');
        }
        tables.iter().for_each(|table| text.push_str(table));
        text.push_str(&bodies);
        text.push_str(".visible .entry fuzz(\n");
        text.push_str(PARAMETERS);
        text.push_str(match self.family {
            Family::Parameters => MORE_PARAMETERS,
            Family::Images => HANDLES,
            _ => "\n",
        });
        text.push(')');
        for directive in &self.directives {
            // Writing to a string cannot fail.
            let _ = write!(text, " {directive}");
        }
        let _ = write!(text, "\n{{\n{body}}}\n");
        text
    }

    /// Writes the declarations, variables and body of a routine, and records the parts of the
    /// module that it uses.
    fn routine(&self, routine: &mut Routine, number: Option<usize>, module: &mut BTreeSet<usize>) -> String {
        let variables = variables(routine);
        collect(&variables, &mut routine.used);
        let mut chosen = Vec::new();
        for (index, part) in PARTS.iter().enumerate().rev() {
            if !part.defines.iter().any(|&name| routine.used.contains(name)) {
                continue;
            }
            let text = if number.is_some() { part.in_function.unwrap_or(part.text) } else { part.text };
            let mut text = text.to_string();
            for (mark, how) in if self.shape.is_flat() { FLAT } else { SPATIAL } {
                text = text.replace(mark, how);
            }
            if text.starts_with('$') {
                text = self.given(&text);
            }
            collect(&text, &mut routine.used);
            if part.outside {
                module.insert(index);
            } else {
                chosen.push(text);
            }
        }
        let mut text = String::new();
        let lines = chosen.iter().rev().flat_map(|text| text.lines());
        for line in lines.chain(variables.lines()) {
            let _ = writeln!(text, "\t{line}");
        }
        text + &routine.body
    }

    fn show(&self, writer: &mut Writer<'_>) {
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

    /// Whether a function has a mask parameter.
    fn takes_mask(&self, number: usize) -> bool {
        self.functions[number].kind != Kind::Alone
    }
}

impl Routine {
    fn new(writer: Writer<'_>, starts: &[Vec<String>], mut prologue: String) -> Routine {
        let mut used = HashSet::new();
        collect(&writer.text, &mut used);
        // Arguments are loaded only into registers that the body uses.
        prologue = prologue
            .lines()
            .filter(|line| line.split([' ', ',']).nth(1).is_some_and(|name| used.contains(name)))
            .fold(String::new(), |text, line| text + line + "\n");
        collect(&prologue, &mut used);
        let groups =
            if used.iter().any(|name| name.starts_with("%g") && is_group(name)) { writer.groups } else { 0 };
        if used.contains("%g0") {
            let all = if writer.function.is_some() {
                used.insert("%given".to_string());
                "mov.b32 %g0, %given;\n"
            } else if writer.program.opaque {
                used.insert("gtab".to_string());
                "ld.global.b32 %g0, [gtab+16];\n"
            } else {
                "mov.b32 %g0, 0xffffffff;\n"
            };
            prologue.push_str(all);
        }
        Routine { body: writer.text, starts: starts.to_vec(), prologue, used, groups }
    }
}

/// Whether this is the name of a mask register.
fn is_group(name: &str) -> bool {
    name.strip_prefix("%g").is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
}

/// Declares the variables and counters that are used, with their initial values.
fn variables(routine: &Routine) -> String {
    let used = &routine.used;
    let mut text = String::new();
    for (&(prefix, ty, count), starts) in POOLS.iter().zip(&routine.starts) {
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
    for counter in 0..LOOPS {
        if used.contains(&format!("%c{counter}")) {
            let _ = writeln!(text, ".reg .b32 %c{counter};\nmov.u32 %c{counter}, 0;");
        }
        if used.contains(&format!("%b{counter}")) {
            let _ = writeln!(text, ".reg .b32 %b{counter};");
        }
        if used.contains(&format!("%s{counter}")) {
            let _ = writeln!(text, ".reg .pred %s{counter};");
        }
    }
    if routine.groups > 0 {
        let _ = writeln!(text, ".reg .b32 %g<{}>;", routine.groups);
    }
    text + &routine.prologue
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
