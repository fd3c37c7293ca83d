//! Reads machine IR back from its text.
//!
//! One pass over the lines, then one over the instructions for the widths of virtual registers. An
//! error ends only its own line. The reader checks that the named blocks and functions exist; the
//! [verifier](super::super::verify) checks the rest.

use std::ops::Range;

use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap};
use ptxc_ir::text::{self, ParseError, unquoted_name};
use ptxc_ir::{FunctionKind, SourceLoc};
use ptxc_machine::Arch;
use ptxc_sass::program::{ImageKind, ImageWord};
use ptxc_sass::text::parse_inst_over;
use ptxc_sass::variable::Variable;
use ptxc_sass::{OperandKind, PReg, RegFile, Register};
use smallvec::SmallVec;

use super::super::{
    Edge, EdgeArg, Fixed, Header, MBlock, MBlockId, MInst, Mir, RegSet, Term, Tuple, VReg, VRegData, VRegId,
};
use super::lines::{Line, Lines};
use crate::variables::variable;

/// Machine IR before or after allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnyMir {
    /// Over virtual registers.
    Virtual(Box<Mir<VReg>>),
    /// Over physical registers.
    Allocated(Box<Mir<PReg>>),
}

/// The largest block number that a text may use.
const MOST_BLOCKS: u32 = 1_000_000;
/// The largest register number that a text may use.
const MOST_REGISTERS: u32 = 4_000_000;

/// Reads all functions of a text.
///
/// # Errors
/// All lines that cannot be parsed, in order.
pub fn parse(text: &str) -> Result<Vec<AnyMir>, Vec<ParseError>> {
    let mut lines = Lines::new(text);
    let mut functions = Vec::new();
    while lines.peek().is_some() {
        let Some((header, is_allocated)) = read_header(&mut lines, "mir") else {
            lines.skip_function();
            continue;
        };
        functions.extend(match is_allocated {
            true => body::<PReg>(&mut lines, header)
                .map(|(header, blocks, layout)| Mir { header, blocks, layout, vregs: PrimaryMap::new() })
                .map(|mir| AnyMir::Allocated(Box::new(mir))),
            false => virtual_function(&mut lines, header).map(|mir| AnyMir::Virtual(Box::new(mir))),
        });
    }
    lines.errors.sort_by_key(|error| error.span.start);
    if lines.errors.is_empty() { Ok(functions) } else { Err(lines.errors) }
}

/// `texture +12 @t`.
fn image_word(text: &str) -> Option<ImageWord> {
    let (kind, rest) = text.split_once(' ')?;
    let (offset, name) = rest.strip_prefix('+')?.split_once(' ')?;
    let kind = ImageKind::ALL.into_iter().find(|one| one.name() == kind)?;
    let (name, "") = unquoted_name(name)? else { return None };
    Some(ImageWord { offset: offset.parse().ok()?, kind, name })
}

/// The words that begin the lines of a header.
const HEADER_WORDS: [&str; 23] = [
    "agree",
    "word",
    "pointer",
    "open",
    "outgoing",
    "param",
    "symbol",
    "external",
    "bounds",
    "function",
    "width",
    "returns",
    "leaves",
    "platform",
    "relocatable",
    "shared",
    "dynamic",
    "local",
    "barriers",
    "tables",
    "spills",
    "launch_registers",
    "stack-align",
];

/// The head and header of a function, and whether it is allocated; `None`, with errors, if the head
/// cannot be parsed.
pub(crate) fn read_header(lines: &mut Lines<'_>, form: &str) -> Option<(HeaderAndRegisters, bool)> {
    let line = lines.next()?;
    let expected = format!("expected `{form} @name sm_90 entry {{`");
    let head = || {
        let rest = line.text.strip_prefix(form)?.trim_start().strip_suffix('{')?.trim_end();
        let (name, rest) = unquoted_name(rest)?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let (arch, kind, is_allocated) = match words[..] {
            [arch, kind] => (arch, kind, false),
            [arch, kind, "allocated"] => (arch, kind, true),
            _ => return None,
        };
        let kind = match kind {
            "entry" => FunctionKind::Entry,
            "device" => FunctionKind::Device,
            _ => return None,
        };
        let mut header = Header::new(name, arch.parse::<Arch>().ok()?);
        header.kind = kind;
        Some((header, is_allocated))
    };
    let Some((mut header, is_allocated)) = head() else {
        lines.error(line, expected);
        return None;
    };
    let (mut widths, mut agree) = (Vec::new(), Vec::new());
    while let Some(line) = lines.peek() {
        let (word, rest) = line.text.split_once(' ').unwrap_or((line.text, ""));
        if !HEADER_WORDS.contains(&word) {
            break;
        }
        lines.next();
        let count = match word {
            "param" | "symbol" | "bounds" => {
                match text::Header::parse(line.text) {
                    Ok(one) => {
                        header.params.extend(one.params);
                        header.variables.extend(one.symbols.iter().filter_map(variable));
                        if word == "bounds" {
                            header.bounds = one.bounds;
                        }
                    }
                    Err(errors) => errors.into_iter().for_each(|error| lines.error(line, error.message)),
                }
                continue;
            }
            "function" => {
                match unquoted_name(rest) {
                    Some((name, "")) => header.functions.push(name),
                    _ => lines.error(line, "expected `function @name`"),
                }
                continue;
            }
            "word" => {
                match image_word(rest) {
                    Some(word) => header.image_words.push(word),
                    None => lines.error(line, "expected `word`, a kind, `+` and an offset, and a name"),
                }
                continue;
            }
            "width" => {
                let parsed = rest.split_once(' ').and_then(|(reg, width)| {
                    let width: u8 = width.parse().ok().filter(|width| (1..=128).contains(width))?;
                    Some((VReg::parse(reg)?, width))
                });
                match parsed {
                    Some(width) => widths.push(width),
                    None => lines.error(line, "expected `width`, a virtual register and its components"),
                }
                continue;
            }
            "agree" => {
                match rest.split(", ").map(VReg::parse).collect::<Option<Vec<_>>>() {
                    Some(regs) => agree.extend(regs),
                    None => lines.error(line, "expected `agree` and virtual registers"),
                }
                continue;
            }
            "platform" if rest == "convention" => {
                header.platform = true;
                continue;
            }
            "relocatable" if rest == "code" => {
                header.relocatable = true;
                continue;
            }
            "leaves" if rest == "module" => {
                header.leaves_module = true;
                continue;
            }
            "pointer" => {
                match unquoted_name(rest) {
                    Some((name, "")) => header.pointed_to.push(name),
                    _ => lines.error(line, "expected `pointer @name`"),
                }
                continue;
            }
            "external" => {
                match unquoted_name(rest).and_then(|(name, place)| Some((name, place.trim().parse().ok()?))) {
                    Some((name, place)) => header.variables.push(Variable::external(name, place)),
                    None => lines.error(line, "expected `external @name place`"),
                }
                continue;
            }
            "returns" if rest == "together" => {
                header.returns_together = true;
                continue;
            }
            "open" if rest == "stack" => {
                header.open_stack = true;
                continue;
            }
            "dynamic" if rest == "shared" => {
                header.dynamic_shared = true;
                continue;
            }
            "shared" => &mut header.shared_bytes,
            "local" => &mut header.local_bytes,
            "outgoing" => &mut header.outgoing_bytes,
            "barriers" => &mut header.barriers,
            "tables" => &mut header.table_bytes,
            "spills" => &mut header.spills,
            "launch_registers" => &mut header.launch_registers,
            "stack-align" => &mut header.stack_align,
            _ => {
                lines.error(line, "expected `returns together`");
                continue;
            }
        };
        match rest.parse() {
            Ok(number) => *count = number,
            Err(_) => lines.error(line, format!("expected a number after `{word}`")),
        }
    }
    Some((HeaderAndRegisters { header, widths, agree }, is_allocated))
}

/// A header, and what uses do not show of virtual registers.
pub(crate) struct HeaderAndRegisters {
    pub header: Header,
    /// Those that are wider than their uses show.
    widths: Vec<(VReg, u8)>,
    /// Those that [agree](VRegData::agrees).
    agree: Vec<VReg>,
}

fn virtual_function(lines: &mut Lines<'_>, head: HeaderAndRegisters) -> Option<Mir<VReg>> {
    let (widths_by_hand, agree) = (head.widths.clone(), head.agree.clone());
    let start = lines.at;
    let (header, blocks, layout) = body::<VReg>(lines, head)?;
    let mut mir = Mir { header, blocks, layout, vregs: PrimaryMap::new() };
    let mut found: Vec<VRegData> = Vec::new();
    let mut wrong = None;
    each_register(&mir, |reg, width| {
        if reg.id().as_u32() > MOST_REGISTERS {
            wrong = Some(format!("register numbers end at {MOST_REGISTERS}, and this function has {reg}"));
            return;
        }
        let index = reg.id().index();
        if index >= found.len() {
            found.resize(index + 1, VRegData { file: RegFile::Gpr, width: 0, agrees: false });
        }
        let data = &mut found[index];
        if data.width > 0 && data.file != reg.file() {
            wrong = Some(format!("{reg} is in two register files"));
        }
        data.file = reg.file();
        data.width = data.width.max(reg.component().saturating_add(width));
    });
    for (reg, width) in widths_by_hand {
        if let Some(data) = found.get_mut(reg.id().index()) {
            data.width = data.width.max(width);
        }
    }
    for reg in agree {
        if let Some(data) = found.get_mut(reg.id().index()) {
            data.agrees = true;
        }
    }
    if let Some(message) = wrong {
        lines.errors.push(ParseError { span: start..lines.at, message });
        return None;
    }
    for data in found {
        mir.vregs.push(VRegData { width: data.width.max(1), ..data });
    }
    Some(mir)
}

/// The number of components of each virtual register that the text of a function shows.
pub(super) fn widths(mir: &Mir<VReg>) -> SecondaryMap<VRegId, u8> {
    let mut widths: SecondaryMap<VRegId, u8> = SecondaryMap::new();
    each_register(mir, |reg, width| {
        widths[reg.id()] = widths[reg.id()].max(reg.component().saturating_add(width));
    });
    widths
}

/// Calls `visit` for each register of a function with its number of components: definitions, uses,
/// parameters.
fn each_register(mir: &Mir<VReg>, mut visit: impl FnMut(VReg, u8)) {
    for &id in &mir.layout {
        let block = &mir.blocks[id];
        block.params.iter().for_each(|param| visit(param.reg, param.width));
        for minst in &block.insts {
            minst.for_each_access(|reg, width, _| visit(reg, width));
        }
        if let Some((&reg, width)) = block.term.selector() {
            visit(reg, width);
        }
        for edge in block.term.edges() {
            let params = &mir.blocks[edge.block].params;
            for (arg, param) in edge.args.iter().zip(params) {
                if let EdgeArg::Reg(reg) = arg {
                    visit(*reg, param.width);
                }
            }
        }
    }
}

type Body<R> = (Header, PrimaryMap<MBlockId, MBlock<R>>, Vec<MBlockId>);

/// The blocks of a function up to its `}`.
fn body<R: Register>(lines: &mut Lines<'_>, head: HeaderAndRegisters) -> Option<Body<R>> {
    let errors = lines.errors.len();
    let header = head.header;
    let mut layout: Vec<MBlockId> = Vec::new();
    let mut found: Vec<Option<MBlock<R>>> = Vec::new();
    let mut named: Vec<(u32, Range<usize>)> = Vec::new();
    let mut current: Option<(MBlockId, MBlock<R>, bool)> = None;
    let mut close =
        |current: &mut Option<(MBlockId, MBlock<R>, bool)>, lines: &mut Lines<'_>, line: Line<'_>| {
            let Some((id, block, has_end)) = current.take() else { return };
            if !has_end {
                lines.error(line, format!("{id} lacks its end: `jump`, `branch`, `exit` or another"));
            }
            let index = id.index();
            if index >= found.len() {
                found.resize_with(index + 1, || None);
            }
            if found[index].is_some() {
                lines.error(line, format!("{id} is defined twice"));
            }
            found[index] = Some(block);
            layout.push(id);
        };
    loop {
        let Some(line) = lines.next() else {
            let end = lines.end();
            lines.error(end, "the function lacks its `}`");
            return None;
        };
        if line.text == "}" {
            close(&mut current, lines, line);
            break;
        }
        if let Some((id, block)) = block_head::<R>(line.text) {
            close(&mut current, lines, line);
            match id.as_u32() < MOST_BLOCKS {
                true => current = Some((id, block, false)),
                false => lines.error(line, format!("block numbers end at {}", MOST_BLOCKS - 1)),
            }
            continue;
        }
        let Some((_, block, has_end)) = &mut current else {
            lines.error(line, "expected the head of a block, such as `mb0:`");
            continue;
        };
        if *has_end {
            lines.error(line, "expected the head of the next block, or `}`");
            continue;
        }
        match term::<R>(line.text) {
            Some(Ok(term)) => {
                named.extend(term.edges().iter().map(|edge| (edge.block.as_u32(), line.span())));
                block.term = term;
                *has_end = true;
            }
            Some(Err(message)) => {
                lines.error(line, message);
                *has_end = true;
            }
            None => match read_inst::<R>(line.text, header.arch, &header.functions) {
                Ok(minst) => {
                    named.extend(minst.inst.labels().map(|label| (label.0, line.span())));
                    block.insts.push(minst);
                }
                Err(message) => lines.error(line, message),
            },
        }
    }
    for (number, span) in named {
        if found.get(number as usize).is_none_or(Option::is_none) {
            let message = format!("mb{number} is named and never defined");
            lines.errors.push(ParseError { span, message });
        }
    }
    if layout.is_empty() && lines.errors.len() == errors {
        let end = lines.end();
        lines.error(end, format!("`{}` has no blocks", header.name));
    }
    if lines.errors.len() > errors {
        return None;
    }
    // An unused number stands for an empty block outside of the layout.
    let blocks = found.into_iter().map(|block| block.unwrap_or_else(empty_block)).collect();
    Some((header, blocks, layout))
}

fn empty_block<R: Register>() -> MBlock<R> {
    MBlock {
        params: Vec::new(),
        insts: Vec::new(),
        term: Term::Exit,
        term_loc: SourceLoc::NONE,
        frequency: 1024,
        divergent: false,
    }
}

/// `mb1(%r3, %r4:2): freq=512 divergent`.
fn block_head<R: Register>(text: &str) -> Option<(MBlockId, MBlock<R>)> {
    let rest = text.strip_prefix("mb")?;
    let (name, rest) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?);
    let id = MBlockId::from_u32(name.parse().ok().filter(|&number: &u32| number < u32::MAX)?);
    let (params, rest) = match rest.strip_prefix('(') {
        Some(rest) => rest.split_once(')')?,
        None => ("", rest),
    };
    let mut block = empty_block::<R>();
    block.params = items(params).map(tuple).collect::<Option<_>>()?;
    for word in rest.strip_prefix(':')?.split_whitespace() {
        match word.split_once('=') {
            Some(("freq", count)) => block.frequency = count.parse().ok()?,
            None if word == "divergent" => block.divergent = true,
            _ => return None,
        }
    }
    Some((id, block))
}

/// The items of a list, split at commas outside of parentheses.
fn items(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_i32;
    let parts = text.split(move |c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty())
}

/// `%r3:2`.
fn tuple<R: Register>(text: &str) -> Option<Tuple<R>> {
    let (reg, width) = match text.split_once(':') {
        Some((reg, width)) => (reg, width.parse().ok().filter(|width| (2..=128).contains(width))?),
        None => (text, 1),
    };
    Some(Tuple { reg: R::parse(reg)?, width })
}

/// `mb1(%r0, 0x0, undef)`.
fn edge<R: Register>(text: &str) -> Option<Edge<R>> {
    let (name, args) = match text.strip_suffix(')') {
        Some(text) => text.split_once('(')?,
        None => (text, ""),
    };
    let number: u32 = name.strip_prefix("mb")?.parse().ok()?;
    let arg = |text: &str| {
        if text == "undef" {
            return Some(EdgeArg::Undef);
        }
        match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok().map(EdgeArg::Imm),
            None => R::parse(text).map(EdgeArg::Reg),
        }
    };
    let block = MBlockId::from_u32(Some(number).filter(|&number| number < MOST_BLOCKS)?);
    Some(Edge { block, args: items(args).map(arg).collect::<Option<_>>()? })
}

/// The end of a block; `None` for a line that begins otherwise.
fn term<R: Register>(text: &str) -> Option<Result<Term<R>, String>> {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    let parts: Vec<&str> = items(rest).collect();
    let (term, expected) = match (word, &parts[..]) {
        ("exit", []) => return Some(Ok(Term::Exit)),
        ("return", []) => return Some(Ok(Term::Return)),
        ("jump", [to]) => (edge(to).map(Term::Jump), "a block"),
        ("branch", [pred, then, other]) => {
            let (negated, name) = match pred.strip_prefix('!') {
                Some(name) => (true, name),
                None => (false, *pred),
            };
            let pred = R::parse(name).filter(|reg| reg.file().is_predicate());
            let parts = pred.zip(edge(then)).zip(edge(other));
            let term = parts.map(|((pred, then), other)| Term::Branch { pred, negated, then, other });
            (term, "a predicate and two blocks")
        }
        ("together", [here, apart]) => {
            let parts = edge(here).zip(edge(apart));
            (parts.map(|(here, apart)| Term::Together { mask: None, here, apart }), "two blocks")
        }
        ("together", [mask, here, apart]) => {
            let mask = R::parse(mask).filter(|reg| reg.file() == RegFile::Ugpr);
            let parts = mask.zip(edge(here)).zip(edge(apart));
            let term = parts.map(|((mask, here), apart)| Term::Together { mask: Some(mask), here, apart });
            (term, "a uniform register and two blocks")
        }
        ("table", [address, offset, edges @ ..]) if !edges.is_empty() => {
            let address = R::parse(address).filter(|reg| reg.file() == RegFile::Gpr);
            let digits = offset.strip_prefix("0x");
            let offset = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
            let edges = edges.iter().map(|text| edge(text)).collect::<Option<Vec<_>>>();
            let parts = address.zip(offset).zip(edges);
            let term = parts.map(|((address, offset), edges)| Term::Table { address, offset, edges });
            (term, "a register, an offset in hexadecimal digits, and blocks")
        }
        ("exit" | "return", _) => (None, "nothing"),
        ("jump" | "branch" | "together" | "table", _) => (None, "other operands"),
        _ => return None,
    };
    Some(term.ok_or_else(|| format!("expected {expected} after `{word}`")))
}

/// The words that begin the notes of an instruction.
const NOTES: [&str; 6] = [" tied(", " args(", " results(", " clobbers(", " moves(", " stack"];

/// Reads an instruction with its notes. `functions` are the functions that it may name.
pub(crate) fn read_inst<R: Register>(
    text: &str,
    arch: Arch,
    functions: &[String],
) -> Result<MInst<R>, String> {
    let end = NOTES.iter().filter_map(|note| text.find(note)).min().unwrap_or(text.len());
    let (inst, notes) = text.split_at(end);
    let (inst, reuse) = parse_inst_over::<R>(inst, arch).map_err(|error| error.to_string())?;
    if reuse != 0 {
        return Err("expected an instruction without `.reuse`, which the control pass adds".to_string());
    }
    for operand in &inst.operands {
        if let OperandKind::Function(function) = operand.kind
            && function.0 as usize >= functions.len()
        {
            return Err(format!("there is no function number {}", function.0));
        }
    }
    let mut minst = MInst::new(inst, SourceLoc::NONE);
    let mut slots: SmallVec<[u8; 4]> = SmallVec::new();
    minst.inst.for_each_def(|access| slots.push(access.slot));
    let mut rest = notes.trim_start();
    while !rest.is_empty() {
        let (note, after) = match rest.split_once(')') {
            Some((note, after)) if !rest.starts_with("stack") => (note, after.trim_start()),
            _ => (rest, ""),
        };
        let (word, list) = note.split_once('(').unwrap_or((note, ""));
        let is_read = match word {
            "tied" => tied(&mut minst, list, &slots),
            "args" => fixed(list).map(|args| minst.call.get_or_insert_default().args = args),
            "results" => fixed(list).map(|results| minst.call.get_or_insert_default().results = results),
            "holds" => {
                let held: Option<Vec<Tuple<R>>> = items(list).map(tuple).collect();
                held.map(|held| minst.call.get_or_insert_default().held = held)
            }
            "clobbers" => {
                RegSet::parse(list).map(|clobbers| minst.call.get_or_insert_default().clobbers = clobbers)
            }
            "moves" => {
                let offset = list.parse().ok();
                offset.map(|offset| minst.call.get_or_insert_default().moved_stack = Some(offset))
            }
            "stack" if after.is_empty() => {
                minst.call.get_or_insert_default().uses_stack = true;
                Some(())
            }
            _ => None,
        };
        is_read.ok_or_else(|| format!("`{note}` makes no sense after an instruction"))?;
        rest = after;
    }
    Ok(minst)
}

/// `%r4, _, %r5`: the old content of each definition.
fn tied<R: Register>(minst: &mut MInst<R>, list: &str, slots: &[u8]) -> Option<()> {
    for (index, text) in items(list).enumerate() {
        if text != "_" {
            minst.tied.push((*slots.get(index)?, R::parse(text)?));
        }
    }
    Some(())
}

/// `%r4:2 in R4, %r6 in R6`.
fn fixed<R: Register, const N: usize>(list: &str) -> Option<SmallVec<[Fixed<R>; N]>> {
    let one = |text: &str| {
        let (value, place) = text.split_once(" in ")?;
        Some(Fixed { value: tuple(value)?, place: PReg::parse(place)? })
    };
    items(list).map(one).collect()
}
