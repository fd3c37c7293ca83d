//! Prints functions in the text form. Linear in the function.

use std::fmt::{self, Write};

use crate::entities::{Inst, Value};
use crate::function::{BlockCall, CalleeKind, External, Function, FunctionKind, Layout, Layouts, SourceLoc};
use crate::text::field::OpWriter;
use crate::text::header::{write_bounds, write_params, write_symbols};
use crate::text::lexer::{is_word, quote};
use crate::text::operations::write_op;
use crate::types::Type;

/// The parts to print besides the function itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrintOptions {
    /// Source locations after the instructions, as `!17`.
    pub locations: bool,
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print(self, PrintOptions::default()))
    }
}

/// A function in the text form, ending with a newline.
pub fn print(func: &Function, options: PrintOptions) -> String {
    let mut out = String::new();
    // Writing into a string can't fail.
    let _ = print_into(func, options, &mut out);
    out
}

fn print_into(func: &Function, options: PrintOptions, out: &mut String) -> fmt::Result {
    out.push_str("func ");
    at_name(&func.name, out);
    out.push_str(match func.kind {
        FunctionKind::Entry => " entry",
        FunctionKind::Device => " device",
    });
    if let Some(layouts) = &func.platform {
        out.push_str(" platform ");
        write_layouts(layouts, out)?;
        out.truncate(out.trim_end().len());
    }
    if !func.returns.is_empty() {
        out.push_str(" -> ");
        types_into(&func.returns, out);
    }
    out.push_str(" {\n");
    write_bounds(&func.bounds, out)?;
    write_params(&func.params, out)?;
    for callee in func.callees.values() {
        out.push_str("    callee ");
        at_name(&callee.name, out);
        out.push_str(match &callee.kind {
            CalleeKind::Routine => " routine ",
            CalleeKind::Device => " device ",
            CalleeKind::Prototype(_) => " prototype ",
            CalleeKind::External(_) => " external ",
        });
        match &callee.kind {
            CalleeKind::External(external) => write_external(external, out)?,
            CalleeKind::Prototype(layouts) if **layouts != Layouts::default() => write_layouts(layouts, out)?,
            CalleeKind::Prototype(_) | CalleeKind::Routine | CalleeKind::Device => {}
        }
        if callee.kind != CalleeKind::Routine {
            out.push_str(if callee.lanes.together { "together " } else { "" });
            out.push_str(if callee.lanes.independent { "independent " } else { "" });
            out.push_str(if callee.lanes.inside { "inside " } else { "" });
        }
        if callee.stack.bytes > 0 {
            write!(out, "stack {} ", callee.stack.bytes)?;
        }
        out.push_str(if callee.stack.moves { "moves_stack " } else { "" });
        types_into(&callee.params, out);
        if !callee.results.is_empty() {
            out.push_str(" -> ");
            types_into(&callee.results, out);
        }
        out.push('\n');
    }
    for kind in &func.elsewhere {
        out.push_str("    elsewhere ");
        at_name(kind, out);
        out.push('\n');
    }
    write_symbols(func.symbols.values(), out)?;
    for word in &func.image_words {
        write!(out, "    word +{} ", word.offset)?;
        at_name(&func.symbols[word.symbol].name, out);
        out.push('\n');
    }
    for &block in &func.layout {
        write!(out, "{block}")?;
        let params = &func.blocks[block].params;
        if !params.is_empty() {
            out.push('(');
            for (i, &param) in params.iter().enumerate() {
                let comma = if i == 0 { "" } else { ", " };
                write!(out, "{comma}{param}: {}", func.ty(param))?;
            }
            out.push(')');
        }
        out.push_str(":\n");
        for &inst in &func.blocks[block].insts {
            out.push_str("    ");
            inst_into(func, inst, out);
            if options.locations && func.insts[inst].loc != SourceLoc::NONE {
                write!(out, " !{}", func.insts[inst].loc.0)?;
            }
            out.push('\n');
        }
    }
    out.push_str("}\n");
    Ok(())
}

/// One instruction in the text form, without its source location.
pub fn print_inst(func: &Function, inst: Inst) -> String {
    let mut out = String::new();
    inst_into(func, inst, &mut out);
    out
}

fn inst_into(func: &Function, inst: Inst, out: &mut String) {
    let data = &func.insts[inst];
    let results = func.results(inst);
    if !results.is_empty() {
        values_into(results, out);
        out.push_str(" = ");
    }
    let mut writer = OpWriter::new(out, func, data.ty);
    write_op(&data.op, &mut writer);
    for (i, &arg) in data.args.iter().enumerate() {
        writer.separator();
        match data.op.access() {
            Some(access) if i == 0 => address_into(arg, access.offset, writer.out),
            _ => values_into(&[arg], writer.out),
        }
    }
    for target in &data.targets {
        writer.separator();
        target_into(target, writer.out);
    }
}

fn address_into(base: Value, offset: i32, out: &mut String) {
    let sign = if offset < 0 { '-' } else { '+' };
    let _ = match offset {
        0 => write!(out, "[{base}]"),
        _ => write!(out, "[{base} {sign} {}]", offset.unsigned_abs()),
    };
}

fn target_into(target: &BlockCall, out: &mut String) {
    let _ = write!(out, "{}", target.block);
    if !target.args.is_empty() {
        out.push('(');
        values_into(&target.args, out);
        out.push(')');
    }
}

/// `(b32, f32)`.
fn types_into(types: &[Type], out: &mut String) {
    let names: Vec<_> = types.iter().map(|ty| ty.name()).collect();
    let _ = write!(out, "({})", names.join(", "));
}

fn values_into(values: &[Value], out: &mut String) {
    for (i, value) in values.iter().enumerate() {
        let comma = if i == 0 { "" } else { ", " };
        let _ = write!(out, "{comma}{value}");
    }
}

/// `@name`, in quotes if the name is not a word.
pub(crate) fn at_name(name: &str, out: &mut String) {
    out.push('@');
    if is_word(name) {
        out.push_str(name);
    } else {
        quote(name, out);
    }
}

/// The facts about a function outside of the module: `+8 [8:8, 4:4] -> [4:4] `.
fn write_external(external: &External, out: &mut String) -> fmt::Result {
    if let Some(address) = external.address {
        write!(out, "+{address} ")?;
    }
    write_layouts(&external.layouts, out)
}

/// Parameters and results: `[8:8, 4:4] -> [4:4] `.
fn write_layouts(layouts: &Layouts, out: &mut String) -> fmt::Result {
    layouts_into(&layouts.params, out)?;
    if !layouts.results.is_empty() {
        out.push_str("-> ");
        layouts_into(&layouts.results, out)?;
    }
    Ok(())
}

/// Sizes and alignments: `[8:8, 4:4] `.
fn layouts_into(layouts: &[Layout], out: &mut String) -> fmt::Result {
    out.push('[');
    for (index, Layout { bytes, align }) in layouts.iter().enumerate() {
        write!(out, "{}{bytes}:{align}", if index == 0 { "" } else { ", " })?;
    }
    out.push_str("] ");
    Ok(())
}
