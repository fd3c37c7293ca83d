//! One kernel while its text is read, and its completion at the end.
//!
//! Instructions are read with the names of labels and functions. Their control fields may be in the
//! text, in the comment with the encoding, or nowhere. At the end each name gets its place, each
//! instruction its field, and registers that the text does not declare are counted. Cost: linear in
//! the text, plus sorting the labels.

use std::ops::Range;
use std::sync::Arc;

use ptxc_machine::Arch;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::error::{ErrorCode, TextError};
use super::parse::Names;
use super::read::ReadOptions;
use crate::control::Control;
use crate::inst::Inst;
use crate::kept::{Attribute, KeptRelocation, Mark};
use crate::memory_order::{Space, space};
use crate::operand::{FunctionIndex, Label, Operand, OperandKind};
use crate::program::{
    CONSTANT_BANK_BYTES, Coded, ImageWord, JumpTable, Literals, ParamInfo, Program, ProgramFunction,
    Resources, SourceLine, UnknownWord,
};
use crate::register::{PReg, RegFile, Register};
use crate::slot_name;
use crate::special::SpecialReg;
use crate::symbol::{Addend, CodeRelocation, Symbol};
use crate::table::Completion;

/// A kernel, with the places of its instructions in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The program. Its instructions have no frequencies and no source locations.
    pub program: Program,
    /// For each instruction its bytes in the text, from the guard or mnemonic to the last operand.
    pub spans: Vec<Range<usize>>,
    /// Whether the text declares the parameters; if not, the program has none.
    pub has_parameters: bool,
}

/// An instruction as its lines describe it.
pub(super) struct Read {
    pub inst: Inst<PReg>,
    /// The operand that a loader fills in, with its slot.
    pub loaded: Option<(u8, Symbol)>,
    /// The word, if it is not a known instruction. Then the instruction is a `NOP`.
    pub unknown: Option<u128>,
    /// The reason why it cannot be read. Then the instruction is a `NOP`, too.
    pub failed: Option<Box<TextError>>,
    /// The reuse flags of its operands.
    pub reuse: u8,
    /// The control field, and whether its notation includes the reuse flags.
    pub control: Option<(Control, bool)>,
    /// The encoding, as far as comments give it.
    pub words: SmallVec<[u64; 2]>,
    pub span: Range<usize>,
    /// The span of the whole line's code, control field included.
    pub line: Range<usize>,
}

/// The directives before the code.
#[derive(Default)]
pub(super) struct Head {
    pub resources: Option<Resources>,
    pub parameters: Option<Vec<ParamInfo>>,
    pub image_words: Vec<ImageWord>,
    pub trap_handler: bool,
    pub device_function: bool,
    pub attributes: Vec<Attribute>,
    pub shared_align: Option<u64>,
}

/// The target of the code, as in [`Program`].
#[derive(Clone, Copy)]
pub(super) struct Target {
    pub arch: Arch,
    pub accelerated: bool,
}

/// A kernel that is partly read.
pub(super) struct Reading {
    pub name: String,
    /// The target, if the text names it.
    pub target: Option<Target>,
    pub head: Head,
    pub insts: Vec<Read>,
    /// Labels and functions in the order of the text: name, place, span.
    pub places: Vec<(String, u32, Range<usize>)>,
    /// Relocations that no operand shows.
    pub kept_relocations: Vec<KeptRelocation>,
    /// Entries of attributes.
    pub marks: Vec<Mark>,
    /// The source lines, each with the number of its file.
    pub lines: Vec<SourceLine>,
    /// Each jump table: its offset in the bank, the names of its targets, its span.
    pub tables: Vec<(u32, Vec<String>, Range<usize>)>,
    /// The literals in the bank of the jump tables.
    pub literals: Vec<(Literals, Range<usize>)>,
    /// Whether further words belong to the last literals instead of the last table.
    pub in_literals: bool,
    /// The instructions by the offsets that comments give.
    pub offsets: FxHashMap<u32, u32>,
    pub names: Interned,
}

/// Names of places, by numbers in the order of their first use.
#[derive(Default)]
pub(super) struct Interned {
    list: Vec<String>,
    numbers: FxHashMap<String, u32>,
}

impl Interned {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.list.len() as u32;
        self.list.push(name.to_string());
        self.numbers.insert(name.to_string(), number);
        number
    }
}

impl Names for Interned {
    fn label(&mut self, name: &str) -> Option<Label> {
        Some(Label(self.number(name)))
    }

    fn function(&mut self, name: &str) -> Option<FunctionIndex> {
        Some(FunctionIndex(self.number(name)))
    }
}

impl Reading {
    pub(super) fn new(name: &str, target: Option<Target>, head: Head) -> Reading {
        Reading {
            name: name.to_string(),
            target,
            head,
            insts: Vec::new(),
            places: Vec::new(),
            kept_relocations: Vec::new(),
            marks: Vec::new(),
            lines: Vec::new(),
            tables: Vec::new(),
            literals: Vec::new(),
            in_literals: false,
            offsets: FxHashMap::default(),
            names: Interned::default(),
        }
    }

    /// The place of a name that no line defines: the kernel itself, an offset in bytes, or a function
    /// that is named by its offset, `$0xf30`.
    fn place_of(&self, name: &str) -> Option<u32> {
        if name == self.name {
            return Some(0);
        }
        let digits = name.strip_prefix('$').unwrap_or(name).strip_prefix("0x")?;
        let offset = u32::from_str_radix(digits, 16).ok()?;
        let counted = || (offset % Program::INST_BYTES == 0).then_some(offset / Program::INST_BYTES);
        let place = self.offsets.get(&offset).copied().or_else(counted)?;
        (place as usize <= self.insts.len()).then_some(place)
    }

    /// Finishes the kernel.
    pub(super) fn finish(self, arch: Arch, options: &ReadOptions, errors: &mut Vec<TextError>) -> Kernel {
        let numbers = self.number_names(errors);
        let mut insts = Vec::with_capacity(self.insts.len());
        let mut relocations = Vec::new();
        let mut unknown = Vec::new();
        for read in &self.insts {
            if let Some(word) = read.word(options.keeps_unknown) {
                let word = UnknownWord { inst: insts.len() as u32, word };
                insts.push(word.stand_in());
                unknown.push(word);
                continue;
            }
            if let Some(error) = &read.failed {
                errors.push((**error).clone());
            }
            let mut inst = read.inst.clone();
            if let Some((slot, symbol)) = &read.loaded {
                let mut symbol = symbol.clone();
                if let Addend::Label(Label(name)) = &mut symbol.addend {
                    match numbers.label_of[*name as usize] {
                        Some(number) => *name = number,
                        None => errors.push(undefined(&self.names.list[*name as usize], read.span.clone())),
                    }
                }
                relocations.push(CodeRelocation { inst: insts.len() as u32, slot: *slot, symbol });
            }
            for operand in &mut inst.operands {
                let number = match &mut operand.kind {
                    OperandKind::Label(Label(name)) => Some((name, &numbers.label_of)),
                    OperandKind::Function(FunctionIndex(name)) => Some((name, &numbers.function_of)),
                    _ => None,
                };
                let Some((name, table)) = number else { continue };
                match table[*name as usize] {
                    Some(number) => *name = number,
                    None => errors.push(undefined(&self.names.list[*name as usize], read.span.clone())),
                }
            }
            let control = read.field(arch, !options.without_control).unwrap_or_else(|error| {
                errors.push(*error);
                Control::plain()
            });
            insts.push(Coded { inst, control, loc: u32::MAX });
        }
        let tables = self.match_tables(&insts, &numbers, errors);
        let literals = self.literals(errors);
        let has_parameters = self.head.parameters.is_some();
        let resources = self.head.resources.clone().unwrap_or_else(|| counted_resources(&insts, arch));
        let program = Program {
            name: self.name.clone(),
            arch,
            accelerated: self.target.is_some_and(|target| target.accelerated),
            trap_handler: self.head.trap_handler,
            device_function: self.head.device_function,
            insts,
            labels: numbers.labels,
            functions: numbers.functions,
            frequency: Vec::new(),
            resources,
            params: self.head.parameters.clone().unwrap_or_default(),
            image_words: self.head.image_words.clone(),
            variables: Vec::new(),
            tables,
            literals,
            relocations,
            kept_relocations: self.kept_relocations,
            unknown,
            lines: self.lines,
            files: Vec::new(),
            kept: Arc::default(),
        };
        let spans = self.insts.iter().map(|read| read.span.clone()).collect();
        Kernel { program, spans, has_parameters }
    }

    /// The names of its functions, its own among them.
    pub(super) fn functions(&self) -> impl Iterator<Item = &str> {
        let others =
            self.places.iter().map(|(name, ..)| name.as_str()).filter(|name| !name.starts_with(".L"));
        std::iter::once(self.name.as_str()).chain(others)
    }

    /// Numbers labels and functions. Labels that are `.L_x_0`, `.L_x_1` and so on keep their
    /// numbers; others are numbered in the order of their places.
    fn number_names(&self, errors: &mut Vec<TextError>) -> Numbers<'_> {
        let mut defined: FxHashMap<&str, (u32, &Range<usize>)> = FxHashMap::default();
        let mut labels: Vec<(u32, &str)> = Vec::new();
        let mut functions: Vec<(u32, &str)> = vec![(0, &self.name)];
        for (name, place, span) in &self.places {
            if let Some((_, first)) = defined.insert(name, (*place, span)) {
                let error =
                    TextError::new(ErrorCode::Name, span.clone(), format!("`{name}` is defined twice"));
                errors.push(error.label("again here").also(first.clone(), "first here"));
            } else if name.starts_with(".L") {
                labels.push((*place, name));
            } else {
                functions.push((*place, name));
            }
        }
        let keep_numbers = are_numbered(&labels);
        let mut uses = vec![(false, false); self.names.list.len()];
        for operand in self.insts.iter().flat_map(|read| &read.inst.operands) {
            match operand.kind {
                OperandKind::Label(Label(name)) => uses[name as usize].0 = true,
                OperandKind::Function(FunctionIndex(name)) => uses[name as usize].1 = true,
                _ => {}
            }
        }
        for (_, symbol) in self.insts.iter().filter_map(|read| read.loaded.as_ref()) {
            if let Addend::Label(Label(name)) = symbol.addend {
                uses[name as usize].0 = true;
            }
        }
        // Functions that lines define, by their places: an offset is another name for one of them.
        let mut function_at: FxHashMap<u32, &str> =
            functions.iter().rev().map(|&(place, name)| (place, name)).collect();
        let mut same: FxHashMap<&str, &str> = FxHashMap::default();
        // A name that is used as one kind and defined as the other, or is known without a
        // definition, is listed, too.
        for (name, (as_label, as_function)) in self.names.list.iter().zip(uses) {
            let place = defined.get(name.as_str()).map(|(place, _)| *place).or_else(|| self.place_of(name));
            let Some(place) = place else { continue };
            let is_label = name.starts_with(".L");
            if as_label && !is_label {
                labels.push((place, name));
            }
            if as_function && (is_label || (!defined.contains_key(name.as_str()) && *name != self.name)) {
                match function_at.get(&place) {
                    Some(known) if !is_label => drop(same.insert(name, known)),
                    _ => {
                        functions.push((place, name));
                        function_at.insert(place, name);
                    }
                }
            }
        }
        if keep_numbers && are_numbered(&labels) {
            labels.sort_by_key(|(_, name)| number_in(name));
        } else {
            labels.sort_by_key(|&(place, _)| place);
        }
        functions[1..].sort_by_key(|&(place, _)| place);
        let numbers_of = |list: &[(u32, &str)]| {
            let by_name: FxHashMap<&str, u32> = list.iter().map(|&(_, name)| name).zip(0..).collect();
            let names = self.names.list.iter().map(String::as_str);
            let names = names.map(|name| same.get(name).copied().unwrap_or(name));
            names.map(|name| by_name.get(name).copied()).collect::<Vec<_>>()
        };
        Numbers {
            label_of: numbers_of(&labels),
            function_of: numbers_of(&functions),
            place_of: defined.iter().map(|(&name, &(place, _))| (name, place)).collect(),
            labels: labels.into_iter().map(|(place, _)| place).collect(),
            functions: functions
                .into_iter()
                .map(|(place, name)| ProgramFunction { name: name.to_string(), start: Some(place) })
                .collect(),
        }
    }

    /// The literals, in the order of their places.
    fn literals(&self, errors: &mut Vec<TextError>) -> Vec<Literals> {
        let mut list = Vec::new();
        for (literals, span) in &self.literals {
            match in_bank(literals.offset, literals.words.len()) {
                true => list.push(literals.clone()),
                false => errors.push(beyond_bank(span)),
            }
        }
        list.sort_by_key(|literals| literals.offset);
        list
    }

    /// Finds the branch of each table: a branch with the same targets that no earlier table has
    /// taken.
    fn match_tables(
        &self,
        insts: &[Coded],
        numbers: &Numbers<'_>,
        errors: &mut Vec<TextError>,
    ) -> Vec<JumpTable> {
        let mut branches: FxHashMap<Vec<u32>, Vec<u32>> = FxHashMap::default();
        for (index, coded) in insts.iter().enumerate().rev().filter(|_| !self.tables.is_empty()) {
            if coded.inst.is_indexed_branch() {
                let place = |label: Label| numbers.labels.get(label.0 as usize).copied().unwrap_or(u32::MAX);
                branches.entry(coded.inst.labels().map(place).collect()).or_default().push(index as u32);
            }
        }
        let mut tables = Vec::new();
        for (offset, targets, span) in &self.tables {
            if !in_bank(*offset, targets.len()) {
                errors.push(beyond_bank(span));
                continue;
            }
            let places: Vec<Option<u32>> =
                targets.iter().map(|name| numbers.place_of.get(name.as_str()).copied()).collect();
            if let Some(at) = places.iter().position(Option::is_none) {
                errors.push(undefined(&targets[at], span.clone()));
                continue;
            }
            let places: Vec<u32> = places.into_iter().flatten().collect();
            match branches.get_mut(&places).and_then(Vec::pop) {
                Some(branch) => tables.push(JumpTable { offset: *offset, branch }),
                None => {
                    let message = "no indexed branch has the targets of this table";
                    let error = TextError::new(ErrorCode::Contradiction, span.clone(), message);
                    errors
                        .push(error.note(
                            "each table belongs to a BRX whose BRANCH_TARGETS are its words, in order",
                        ));
                }
            }
        }
        tables.sort_by_key(|table| table.offset);
        tables
    }
}

/// Labels and functions with their numbers.
struct Numbers<'a> {
    /// For each interned name, its number as a label.
    label_of: Vec<Option<u32>>,
    /// For each interned name, its number as a function.
    function_of: Vec<Option<u32>>,
    place_of: FxHashMap<&'a str, u32>,
    labels: Vec<u32>,
    functions: Vec<ProgramFunction>,
}

/// Whether `words` words from the offset on are within a constant bank.
fn in_bank(offset: u32, words: usize) -> bool {
    u64::from(offset) + 4 * words as u64 <= CONSTANT_BANK_BYTES.into()
}

fn beyond_bank(span: &Range<usize>) -> TextError {
    let message = format!("this ends beyond the {CONSTANT_BANK_BYTES} bytes of a constant bank");
    TextError::new(ErrorCode::Data, span.clone(), message)
}

fn number_in(label: &str) -> Option<u32> {
    label.strip_prefix(".L_x_")?.parse().ok()
}

/// Whether labels are `.L_x_0` to `.L_x_(n-1)`, each once.
fn are_numbered(labels: &[(u32, &str)]) -> bool {
    let mut seen = vec![false; labels.len()];
    labels.iter().all(|(_, name)| {
        let place = number_in(name).and_then(|number| seen.get_mut(number as usize));
        place.is_some_and(|seen| !std::mem::replace(seen, true))
    })
}

fn undefined(name: &str, span: Range<usize>) -> TextError {
    let message = format!("`{name}` is not defined in this kernel");
    let error = TextError::new(ErrorCode::Name, span, message);
    match name.starts_with("0x") {
        true => error.note("an offset names an instruction of the kernel, 16 bytes each"),
        false => error.note(format!("a line `{name}:` in front of an instruction defines it")),
    }
}

impl Read {
    /// The control field, from the text or the encoding.
    /// The word, if it is not a known instruction: as the text gives it, or the encoding of an
    /// instruction that cannot be read, if such a word is kept.
    fn word(&self, keeps_unknown: bool) -> Option<u128> {
        self.unknown.or(match self.words[..] {
            [low, high] if keeps_unknown && self.failed.is_some() => {
                Some(u128::from(high) << 64 | u128::from(low))
            }
            _ => None,
        })
    }

    fn field(&self, arch: Arch, needs_control: bool) -> Result<Control, Box<TextError>> {
        let wrong = |code, message: String| TextError::new(code, self.line.clone(), message);
        let encoded = match self.words[..] {
            [_, high] => {
                let field = Control::of_word(high).map_err(|why| {
                    let error = wrong(
                        ErrorCode::Control,
                        format!("the encoding has an illegal control field: {why}"),
                    );
                    error.note("the control field is bits 105 to 125 of the encoding")
                })?;
                Some((field, true))
            }
            [] | [_] => None,
            _ => {
                let message = "more than two words of 64 bits follow the instruction".to_string();
                return Err(Box::new(wrong(ErrorCode::Line, message)));
            }
        };
        let field = match (self.control, encoded) {
            (Some((written, _)), Some((encoded, _)))
                if (Control { reuse: encoded.reuse, ..written }) != encoded =>
            {
                let message = "the control field in front differs from that of the encoding";
                return Err(Box::new(wrong(ErrorCode::Contradiction, message.to_string())));
            }
            (_, Some(encoded)) => Some(encoded),
            (written, None) => written,
        };
        let Some((mut control, has_reuse)) = field else {
            if !needs_control {
                return Ok(waiting(&self.inst, arch));
            }
            let error = wrong(ErrorCode::NoControl, "the instruction has no control field".to_string());
            let kinds = "a field is `[B------:R-:W-:-:S01]` or `[0x0007f1]` before the instruction, `?trans1` after it, or part of the encoding";
            return Err(Box::new(
                error.note(kinds).help("`nvdisasm -hex` and `cuobjdump -sass` print encodings"),
            ));
        };
        if has_reuse && control.reuse != self.reuse {
            let message = "the reuse flags of the operands differ from those of the control field";
            return Err(Box::new(wrong(ErrorCode::Contradiction, message.to_string())));
        }
        control.reuse = self.reuse;
        control.check().map_err(|why| wrong(ErrorCode::Control, format!("illegal control field: {why}")))?;
        Ok(control)
    }
}

/// The control field of an instruction that waits for all earlier instructions, and that all later
/// ones wait for.
fn waiting(inst: &Inst<PReg>, arch: Arch) -> Control {
    let completion = inst.completion(arch);
    Control {
        stall: Control::MAX_STALL,
        yield_hint: true,
        write_barrier: (completion == Completion::Variable).then_some(0),
        read_barrier: matches!(completion, Completion::LateRead | Completion::LateUniformRead).then_some(0),
        wait_mask: (1 << Control::SCOREBOARDS) - 1,
        ..Control::plain()
    }
}

/// The resources that can be counted: registers, and CTA barriers by their names. Shared memory of
/// an unknown size counts as dynamic.
pub fn counted_resources(insts: &[Coded], arch: Arch) -> Resources {
    let all_barriers = arch.facts().limits.cta_barriers;
    let mut resources = Resources::default();
    for coded in insts.iter().filter(|coded| coded.inst.op.row().cta_barrier) {
        resources.barriers = match coded.inst.get(slot_name!("name")).map(|name| name.kind) {
            Some(OperandKind::Imm(name)) => resources.barriers.max(name.saturating_add(1).min(all_barriers)),
            Some(_) => all_barriers,
            None => resources.barriers,
        };
    }
    for access in insts.iter().flat_map(|coded| coded.inst.accesses()) {
        let count = match access.reg.file() {
            RegFile::Gpr => &mut resources.registers,
            RegFile::Ugpr => &mut resources.uniform_registers,
            RegFile::Pred | RegFile::Upred => continue,
        };
        *count = (*count).max(u32::from(access.reg.index()) + u32::from(access.width));
    }
    resources.dynamic_shared = u32::from(insts.iter().any(|coded| uses_shared_window(&coded.inst)));
    resources
}

/// Whether an instruction accesses shared memory, or makes a generic address of it.
fn uses_shared_window(inst: &Inst<PReg>) -> bool {
    let is_window = |operand: &Operand<PReg>| match operand.kind {
        OperandKind::Special(special) => special == SpecialReg::SharedWindowHigh,
        _ => false,
    };
    space(inst.op) == Some(Space::Shared) || inst.operands.iter().any(is_window)
}
