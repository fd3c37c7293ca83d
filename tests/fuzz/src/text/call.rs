//! Functions and calls as text.

use std::fmt::Write;

use super::Writer;
use crate::program::calls::{Call, Callee, Form, Function, Kind, Select, Type};
use crate::program::{Piece, Program};

/// The declaration of a parameter or result.
fn declared(form: &Form, name: &str) -> String {
    match (form.bytes, form.elements.first()) {
        (Some((align, size)), _) => format!(".param .align {align} .b8 {name}[{size}]"),
        // ptxas passes only values of at least 32 bits.
        (None, Some((_, ty))) if ty.bytes < 4 => format!(".param .b32 {name}"),
        (None, Some((_, ty))) => format!(".param {} {name}", ty.name),
        (None, None) => String::new(),
    }
}

impl Program {
    fn form(&self, form: &Form, name: &str) -> String {
        let text = declared(form, name);
        if self.in_registers { text.replacen(".param", ".reg", 1) } else { text }
    }

    /// The parameters that every function has: type and name.
    fn common(&self, number: usize) -> Vec<(&'static str, &'static str)> {
        let mut list = vec![(".b64", "own"), (".b64", "near"), (".b32", "fuel")];
        if self.takes_mask(number) {
            list.push((".b32", "mask"));
        }
        list
    }

    /// The parameters and results of a function, named by `name`, whose first argument is `a` or
    /// `z`.
    fn lists(&self, number: usize, name: &dyn Fn(&str) -> String) -> (Vec<String>, Vec<String>) {
        let signature = &self.signatures[self.functions[number].signature];
        let space = if self.in_registers { ".reg" } else { ".param" };
        let mut takes: Vec<String> = self
            .common(number)
            .into_iter()
            .map(|(ty, what)| format!("{space} {ty} {}", name(what)))
            .collect();
        let numbered = |letter: &str, forms: &[Form]| -> Vec<String> {
            let form = |(index, form): (usize, &Form)| self.form(form, &name(&format!("{letter}{index}")));
            forms.iter().enumerate().map(form).collect()
        };
        takes.extend(numbered("a", &signature.takes));
        (takes, numbered("z", &signature.gives))
    }

    /// The head of a function, without a body.
    pub(super) fn head(&self, number: usize) -> String {
        let (takes, gives) = self.lists(number, &|name| name.to_string());
        let gives = if gives.is_empty() { String::new() } else { format!("({}) ", gives.join(", ")) };
        format!(".func {gives}f{number}({})", takes.join(", "))
    }

    /// The text that replaces a mark in a part for functions.
    pub(super) fn given(&self, mark: &str) -> String {
        let (ty, register, name) = match mark {
            "$OWN" => (".b64", "%own", "own"),
            "$NEAR" => (".b64", "%near", "near"),
            "$FUEL" => (".b32", "%fuel", "fuel"),
            _ => (".b32", "%given", "mask"),
        };
        if self.in_registers {
            format!(".reg {ty} {register};\nmov{ty} {register}, {name};")
        } else {
            format!(".reg {ty} {register};\nld.param{ty} {register}, [{name}];")
        }
    }

    /// The start of a function, which reads its parameters.
    pub(super) fn entry_of(&self, number: usize) -> String {
        let function = &self.functions[number];
        let signature = &self.signatures[function.signature];
        let mut text = String::new();
        for (index, (form, registers)) in signature.takes.iter().zip(&function.takes).enumerate() {
            for ((offset, ty), register) in form.reads.iter().zip(registers) {
                // Writing to a string cannot fail.
                let _ = match (self.in_registers, form.bytes) {
                    (true, _) => writeln!(text, "mov{} {register}, a{index};", bits(ty.name)),
                    (false, None) => writeln!(text, "ld.param{} {register}, [a{index}];", ty.name),
                    (false, Some(_)) => {
                        writeln!(text, "ld.param{} {register}, [a{index}+{offset}];", ty.name)
                    }
                };
            }
        }
        text
    }
}

/// The type of a move for values of type `ty`.
fn bits(ty: &str) -> &str {
    match ty {
        ".f32" | ".f64" => ty,
        ".u64" | ".s64" => ".b64",
        ".u16" | ".s16" => ".b16",
        ".u32" | ".s32" => ".b32",
        _ => ty,
    }
}

impl Writer<'_> {
    /// The body of a function.
    pub(super) fn function(&mut self, number: usize) {
        let function = &self.program.functions[number];
        let end = self.fresh();
        self.end = function.one_return.then_some(end);
        match &function.beat {
            Some(beat) => {
                let mask = self.group.take().unwrap_or_default();
                let pending = self.beat_of_others(beat.what, &mask);
                self.push(Some(pending));
                self.nodes(&function.body);
                self.pop();
                self.beat(beat, &mask);
                self.nodes(&function.after);
            }
            None => self.nodes(&function.body),
        }
        if self.end.is_some() {
            self.label(end);
        }
        self.give(function);
        self.line("ret;");
    }

    /// Whether the store of element `number` of a parameter is left out, because the program is not
    /// disputed, and ptxas's code loses the rest of a word after a smaller store into it: see
    /// `docs/facts/ptxas.md`.
    fn loses(&self, form: &Form, number: usize) -> bool {
        let (offset, ty) = form.elements[number];
        let overlaps = |&(at, before): &(u32, Type)| at < offset + ty.bytes && offset < at + before.bytes;
        !self.program.disputed && ty.bytes < 4 && form.elements[..number].iter().any(overlaps)
    }

    /// Stores the results of a function.
    fn give(&mut self, function: &Function) {
        let signature = &self.program.signatures[function.signature];
        for (index, (form, registers)) in signature.gives.iter().zip(&function.gives).enumerate() {
            for (number, ((offset, ty), register)) in form.elements.iter().zip(registers).enumerate() {
                if self.program.in_registers {
                    self.line(&format!("mov{} z{index}, {register};", bits(ty.name)));
                    continue;
                }
                if self.loses(form, number) {
                    continue;
                }
                self.line(&match form.bytes {
                    None => format!("st.param{} [z{index}], {register};", ty.name),
                    Some(_) => format!("st.param{} [z{index}+{offset}], {register};", ty.name),
                });
            }
        }
        let array = signature.gives.first().and_then(|form| form.bytes).filter(|&(_, bytes)| bytes == 32);
        if let (Some((index, value)), Some(_)) = (&function.stirs, array) {
            self.line("mov.b64 %a0, z0;");
            self.line(&format!("and.b32 %t0, {index}, 28;"));
            self.line("cvt.u64.u32 %a1, %t0;");
            self.line("add.s64 %a0, %a0, %a1;");
            self.line(&format!("st.local.b32 [%a0], {value};"));
        }
    }

    /// Returns from the function, under a guard.
    pub(super) fn give_back(&mut self, number: usize, guard: &str) {
        let function = &self.program.functions[number];
        let owed = self.owed(self.depth());
        let Some(owed) = owed else { return };
        let skip = self.fresh();
        self.leave(guard, &owed, skip, |writer| match writer.end {
            Some(end) => format!("bra L{end};"),
            None => {
                writer.give(function);
                "ret;".to_string()
            }
        });
    }

    /// A call, after the computation of the mask if only some of the current lanes call.
    pub(super) fn call(&mut self, call: &Call) {
        let program = self.program;
        let first = call.callee.all()[0];
        let kind = program.functions[first].kind;
        let group = self.group.clone();
        if kind != Kind::Alone && group.is_none() {
            // The lanes that call would be unknown.
            return;
        }
        self.called.extend(call.callee.all());
        let mut mask = group.unwrap_or_default();
        let mut guard = call.guard.clone();
        if call.deeper {
            self.line("setp.ne.u32 %fq, %fuel, 0;");
            if let Some(guard) = &guard {
                self.line(&format!("and.pred %fq, %fq, {guard};"));
            }
            guard = Some("%fq".to_string());
        }
        let skip = self.fresh();
        let mut around = false;
        let mut prefix = String::new();
        if let Some(guard) = &guard {
            if kind == Kind::Group {
                self.line(&format!("vote.sync.ballot.b32 %cm, {guard}, {mask};"));
                mask = "%cm".to_string();
            }
            // Results are loaded without a guard, and only by the lanes that called.
            around = call.around || !call.gives.is_empty();
            if around {
                self.line(&format!("@!{guard} bra L{skip};"));
            } else {
                prefix = format!("@{guard} ");
            }
        }
        let (target, list) = match &call.callee {
            Callee::Direct(number) => (format!("f{number}"), None),
            Callee::Indirect { among, index, select, listed } => {
                self.address(among, index, *select);
                if kind == Kind::Group {
                    self.line(&format!("{prefix}match.any.sync.b64 %cm, %fa, {mask};"));
                    mask = "%cm".to_string();
                }
                let number = self.fresh();
                let list = if *listed {
                    let names: Vec<String> = among.iter().map(|number| format!("f{number}")).collect();
                    format!("F{number}: .calltargets {};", names.join(", "))
                } else {
                    let (takes, gives) = program.lists(first, &|_| "_".to_string());
                    format!("F{number}: .callprototype ({}) _ ({});", gives.join(", "), takes.join(", "))
                        .replace("() _", "_")
                };
                self.line(&list);
                ("%fa".to_string(), Some(format!("F{number}")))
            }
        };
        let fuel = if call.deeper {
            self.line("sub.u32 %t0, %fuel, 1;");
            "%t0".to_string()
        } else if self.function.is_some() {
            "%fuel".to_string()
        } else {
            self.line(&format!("and.b32 %t0, {}, {};", call.fuel, program.fuel));
            "%t0".to_string()
        };
        let common = [
            ".b64 own %own".to_string(),
            format!(".b64 near {}", call.near),
            format!(".b32 fuel {fuel}"),
            format!(".b32 mask {mask}"),
        ];
        let common = &common[..if kind == Kind::Alone { 3 } else { 4 }];
        let uniform = if call.uniform && (guard.is_none() || around) { ".uni" } else { "" };
        self.pass(call, first, common, &prefix, &format!("call{uniform}"), &target, list);
        if around {
            self.label(skip);
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn pass(
        &mut self,
        call: &Call,
        first: usize,
        common: &[String],
        prefix: &str,
        name: &str,
        target: &str,
        list: Option<String>,
    ) {
        let program = self.program;
        let signature = &program.signatures[program.functions[first].signature];
        let list = list.map_or(String::new(), |list| format!(", {list}"));
        if program.in_registers {
            let mut takes: Vec<String> =
                common.iter().filter_map(|line| line.split(' ').next_back()).map(String::from).collect();
            takes.extend(call.takes.iter().flatten().map(|piece| piece.text("").to_string()));
            let gives: Vec<&str> = call.gives.iter().flatten().map(String::as_str).collect();
            let gives = if gives.is_empty() { String::new() } else { format!("({}), ", gives.join(", ")) };
            self.line(&format!("{prefix}{name} {gives}{target}, ({}){list};", takes.join(", ")));
            return;
        }
        self.line("{");
        let mut names = Vec::new();
        for text in common {
            let mut words = text.split(' ');
            if let (Some(ty), Some(name), Some(value)) = (words.next(), words.next(), words.next()) {
                names.push(format!("p_{name}"));
                self.line(&format!(".param {ty} p_{name};"));
                self.line(&format!("st.param{ty} [p_{name}], {value};"));
            }
        }
        for (index, (form, pieces)) in signature.takes.iter().zip(&call.takes).enumerate() {
            let name = format!("p_a{index}");
            self.line(&format!("{};", declared(form, &name)));
            for (number, ((offset, ty), piece)) in form.elements.iter().zip(pieces).enumerate() {
                if self.loses(form, number) {
                    continue;
                }
                let value = Piece::text(piece, "");
                self.line(&match form.bytes {
                    None => format!("st.param{} [{name}], {value};", ty.name),
                    Some(_) => format!("st.param{} [{name}+{offset}], {value};", ty.name),
                });
            }
            names.push(name);
        }
        for (index, form) in signature.gives.iter().enumerate() {
            self.line(&format!("{};", declared(form, &format!("q_z{index}"))));
        }
        let gives: Vec<String> = (0..signature.gives.len()).map(|index| format!("q_z{index}")).collect();
        let gives = if gives.is_empty() { String::new() } else { format!("({}), ", gives.join(", ")) };
        self.line(&format!("{prefix}{name} {gives}{target}, ({}){list};", names.join(", ")));
        for (index, (form, registers)) in signature.gives.iter().zip(&call.gives).enumerate() {
            for ((offset, ty), register) in form.reads.iter().zip(registers) {
                self.line(&match form.bytes {
                    None => format!("ld.param{} {register}, [q_z{index}];", ty.name),
                    Some(_) => format!("ld.param{} {register}, [q_z{index}+{offset}];", ty.name),
                });
            }
        }
        self.line("}");
    }

    /// Puts the address of the called function into `%fa`.
    fn address(&mut self, among: &[usize], index: &str, select: Select) {
        let names: Vec<String> = among.iter().map(|number| format!("f{number}")).collect();
        self.line(&format!("and.b32 %t0, {index}, {};", among.len() - 1));
        match select {
            Select::Global | Select::Constant => {
                let space = if select == Select::Global { "global" } else { "const" };
                let table = format!("{space}_{}", names.join("_"));
                self.tables.insert(format!(
                    ".{space} .align 8 .u64 {table}[{}] = {{ {} }};\n",
                    among.len(),
                    names.join(", ")
                ));
                self.line("mul.wide.u32 %a0, %t0, 8;");
                self.line(&format!("mov.u64 %fb, {table};"));
                self.line("add.s64 %a0, %a0, %fb;");
                self.line(&format!("ld.{space}.u64 %fa, [%a0];"));
            }
            Select::Chosen => {
                self.line(&format!("mov.u64 %fa, {};", names[0]));
                for (number, name) in names.iter().enumerate().skip(1) {
                    self.line(&format!("mov.u64 %fb, {name};"));
                    self.line(&format!("setp.eq.u32 %q, %t0, {number};"));
                    self.line("selp.b64 %fa, %fb, %fa, %q;");
                }
            }
            Select::Branches => {
                let end = self.fresh();
                for (number, name) in names.iter().enumerate() {
                    self.line(&format!("mov.u64 %fa, {name};"));
                    if number + 1 < names.len() {
                        self.line(&format!("setp.eq.u32 %q, %t0, {number};"));
                        self.line(&format!("@%q bra L{end};"));
                    }
                }
                self.label(end);
            }
        }
    }
}
