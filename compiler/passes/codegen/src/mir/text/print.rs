//! Prints machine IR.

use std::fmt;

use ptxc_ir::symbol::{Initial, InitialAddress};
use ptxc_ir::text::quoted_name;
use ptxc_ir::{FunctionKind, Space, SymbolData, text};
use ptxc_machine::Arch;
use ptxc_sass::text::write_inst as write_sass;
use ptxc_sass::variable::{Section, Variable};
use ptxc_sass::{PReg, Register};

use super::super::{Edge, EdgeArg, Fixed, Header, MInst, Mir, Term, Tuple, VReg, VRegId};
use super::read::widths;

impl fmt::Display for Mir<VReg> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_header(f, "mir", &self.header, "")?;
        let shown = widths(self);
        for (id, data) in self.vregs.iter() {
            let Some(width) = shown.get(id).copied().filter(|&width| width > 0 && width != data.width) else {
                continue;
            };
            debug_assert!(width < data.width, "{id} has no more components than it is wide");
            writeln!(f, "    width {} {}", VReg::new(id, 0, data.file), data.width)?;
        }
        let is_shown = |id: VRegId| shown.get(id).is_some_and(|&width| width > 0);
        let agree = self.vregs.iter().filter(|&(id, data)| data.agrees && is_shown(id));
        for (number, (id, data)) in agree.enumerate() {
            write!(f, "{}{}", if number == 0 { "    agree " } else { ", " }, VReg::new(id, 0, data.file))?;
        }
        if self.vregs.iter().any(|(id, data)| data.agrees && is_shown(id)) {
            f.write_str("\n")?;
        }
        write_blocks(f, self)
    }
}

impl fmt::Display for Mir<PReg> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_header(f, "mir", &self.header, " allocated")?;
        write_blocks(f, self)
    }
}

/// Writes the first line of a function and its header.
pub(crate) fn write_header(
    f: &mut fmt::Formatter<'_>,
    form: &str,
    header: &Header,
    registers: &str,
) -> fmt::Result {
    let kind = match header.kind {
        FunctionKind::Entry => "entry",
        FunctionKind::Device => "device",
    };
    writeln!(f, "{form} {} {} {kind}{registers} {{", quoted_name(&header.name), header.arch)?;
    let symbols = header.variables.iter().filter_map(symbol).collect();
    let lines = text::Header { bounds: header.bounds.clone(), params: header.params.clone(), symbols };
    write!(f, "{lines}")?;
    for external in header.variables.iter().filter(|variable| variable.section == Section::External) {
        writeln!(f, "    external {} {}", quoted_name(&external.name), external.place)?;
    }
    for word in &header.image_words {
        writeln!(f, "    word {} +{} {}", word.kind.name(), word.offset, quoted_name(&word.name))?;
    }
    for function in header.functions.iter().skip(1) {
        writeln!(f, "    function {}", quoted_name(function))?;
    }
    for function in &header.pointed_to {
        writeln!(f, "    pointer {}", quoted_name(function))?;
    }
    let counts = [
        ("shared", header.shared_bytes),
        ("local", header.local_bytes),
        ("outgoing", header.outgoing_bytes),
        ("barriers", header.barriers),
        ("tables", header.table_bytes),
        ("spills", header.spills),
        ("launch_registers", header.launch_registers),
        ("stack-align", header.stack_align),
    ];
    for (name, count) in counts.into_iter().filter(|&(_, count)| count > 0) {
        writeln!(f, "    {name} {count}")?;
    }
    f.write_str(if header.dynamic_shared { "    dynamic shared\n" } else { "" })?;
    f.write_str(if header.open_stack { "    open stack\n" } else { "" })?;
    f.write_str(if header.returns_together { "    returns together\n" } else { "" })?;
    f.write_str(if header.leaves_module { "    leaves module\n" } else { "" })?;
    f.write_str(if header.platform { "    platform convention\n" } else { "" })?;
    f.write_str(if header.relocatable { "    relocatable code\n" } else { "" })
}

/// A variable as a symbol of SSA's text; `None` if another module defines it.
fn symbol(variable: &Variable) -> Option<SymbolData> {
    let Variable { section, place, name, size, align, bytes, pointers } = variable.clone();
    let addresses = pointers.into_iter().map(|pointer| InitialAddress {
        at: pointer.at,
        bytes: pointer.bytes,
        shift: pointer.shift,
        symbol: pointer.target,
        generic: pointer.generic,
        addend: pointer.addend,
    });
    let initial = Initial { bytes, addresses: addresses.collect() };
    Some(SymbolData {
        name,
        space: match section {
            Section::Constant => Space::Const,
            Section::Global => Space::Global,
            Section::Shared => Space::Shared,
            Section::External => return None,
        },
        size,
        align,
        offset: Some(place),
        initial: (initial != Initial::default()).then_some(initial),
    })
}

fn write_blocks<R: Register>(f: &mut fmt::Formatter<'_>, mir: &Mir<R>) -> fmt::Result {
    for (place, &id) in mir.layout.iter().enumerate() {
        let block = &mir.blocks[id];
        write!(f, "{id}")?;
        list(f, &block.params)?;
        f.write_str(":")?;
        if place > 0 || block.frequency != 1024 {
            write!(f, " freq={}", block.frequency)?;
        }
        f.write_str(if block.divergent { " divergent\n" } else { "\n" })?;
        for inst in &block.insts {
            f.write_str("    ")?;
            write_inst(f, inst, mir.header.arch)?;
            f.write_str("\n")?;
        }
        writeln!(f, "    {}", block.term)?;
    }
    f.write_str("}\n")
}

/// Writes an instruction with its notes, such as `tied(…)`.
pub(crate) fn write_inst<R: Register>(
    f: &mut fmt::Formatter<'_>,
    minst: &MInst<R>,
    arch: Arch,
) -> fmt::Result {
    write_sass(f, &minst.inst, 0, &[], arch)?;
    if !minst.tied.is_empty() {
        f.write_str(" tied")?;
        list(f, &ties(minst))?;
    }
    let Some(call) = &minst.call else { return Ok(()) };
    for (name, values) in [(" args", &call.args[..]), (" results", &call.results[..])] {
        if !values.is_empty() {
            f.write_str(name)?;
            list(f, values)?;
        }
    }
    if !call.held.is_empty() {
        f.write_str(" holds")?;
        list(f, &call.held)?;
    }
    if !call.clobbers.is_empty() {
        write!(f, " clobbers({})", call.clobbers)?;
    } else if call.args.is_empty() && call.results.is_empty() && call.held.is_empty() {
        f.write_str(" clobbers()")?;
    }
    if let Some(offset) = call.moved_stack {
        write!(f, " moves({offset})")?;
    }
    f.write_str(if call.uses_stack { " stack" } else { "" })
}

/// The old content of each definition up to the last that has one.
fn ties<R: Register>(minst: &MInst<R>) -> Vec<String> {
    let mut ties: Vec<String> = Vec::new();
    minst.inst.for_each_def(|access| {
        let old = minst.tied.iter().find(|&&(slot, _)| slot == access.slot);
        ties.push(old.map_or_else(|| "_".to_string(), |(_, old)| old.to_string()));
    });
    while ties.last().is_some_and(|last| last == "_") {
        ties.pop();
    }
    ties
}

impl<R: Register> fmt::Display for MInst<R> {
    /// Writes the instruction in the spelling of the default architecture.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_inst(f, self, Arch::DEFAULT)
    }
}

impl<R: Register> fmt::Display for Term<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Term::Jump(edge) => write!(f, "jump {edge}"),
            Term::Branch { pred, negated, then, other } => {
                write!(f, "branch {}{pred}, {then}, {other}", if *negated { "!" } else { "" })
            }
            Term::Together { mask: Some(mask), here, apart } => write!(f, "together {mask}, {here}, {apart}"),
            Term::Together { mask: None, here, apart } => write!(f, "together {here}, {apart}"),
            Term::Table { address, offset, edges } => {
                write!(f, "table {address}, {offset:#x}")?;
                edges.iter().try_for_each(|edge| write!(f, ", {edge}"))
            }
            Term::Exit => f.write_str("exit"),
            Term::Return => f.write_str("return"),
        }
    }
}

impl<R: Register> fmt::Display for Edge<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.block)?;
        list(f, &self.args)
    }
}

impl<R: Register> fmt::Display for EdgeArg<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EdgeArg::Reg(reg) => write!(f, "{reg}"),
            EdgeArg::Imm(bits) => write!(f, "{bits:#x}"),
            EdgeArg::Undef => f.write_str("undef"),
        }
    }
}

impl<R: Register> fmt::Display for Tuple<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.reg)?;
        if self.width > 1 { write!(f, ":{}", self.width) } else { Ok(()) }
    }
}

impl<R: Register> fmt::Display for Fixed<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.value, self.place)
    }
}

/// A list in parentheses; nothing for an empty one.
fn list(f: &mut fmt::Formatter<'_>, items: &[impl fmt::Display]) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        f.write_str(if index == 0 { "(" } else { ", " })?;
        item.fmt(f)?;
    }
    if items.is_empty() { Ok(()) } else { f.write_str(")") }
}
