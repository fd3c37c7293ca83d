//! Reads whole programs.
//!
//! In: SASS text as [`write_program`](super::write_program) makes it, in any notation of control
//! fields, or as `nvdisasm -c`, `nvdisasm` and `cuobjdump -sass` print it, with `-hex` for the
//! encodings, which include the control fields. Out: its kernels, with the places of their
//! instructions in the text; or all errors.
//!
//! ```
//! use ptxc_sass::text::{ReadOptions, parse_programs};
//!
//! let text = "
//! .target sm_90
//! .text.stop:
//! .L_x_0:
//! [B------:R-:W-:-:S05]  /*0000*/  @P0 BRA `(.L_x_0) ;
//! [B------:R-:W-:-:S05]  /*0010*/  EXIT ;
//! ";
//! let kernels = parse_programs(text, &ReadOptions::default()).unwrap();
//! assert_eq!((kernels[0].program.name.as_str(), kernels[0].program.labels.as_slice()), ("stop", &[0][..]));
//! ```
//!
//! A section begins with `.text.NAME:`, `.section NAME` or another of the names in
//! `docs/sass-text.md`. Sections without meaning for the machine are skipped; in all others every
//! line must be valid. Time and memory are linear in the text, except for sorting.

mod instruction;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use ptxc_machine::Arch;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use self::instruction::{Parts, unknown_inst, wrong_control};
use super::attribute;
use super::data_read::DataReader;
use super::debug;
use super::directive::{image, images, name_files, parameters, resources, source_file, target};
use super::error::{ErrorCode, TextError};
use super::kernel::{Head, Kernel, Read, Reading, Target};
use super::notation::Notation;
use super::parse::{Parsed, parse_named};
use super::source::{Line, Source};
use crate::control::Control;
use crate::inst::Inst;
use crate::kept::{Binding, Kept, Notes};
use crate::program::{JUMP_TABLE_BANK, Literals, Program, SourceLine};
use crate::table::Op;
use crate::variable::{Section as Memory, Variable};

/// Facts that a text does not contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The architecture, if no `.target` names it.
    pub arch: Option<Arch>,
    /// Whether instructions may lack a control field. Each such instruction then waits for all
    /// earlier ones. That is enough to run a program, but its timing is meaningless.
    pub without_control: bool,
    /// Whether an instruction that cannot be read, but whose encoding a comment gives, becomes a
    /// [word](crate::program::UnknownWord). That suits text that only another disassembler wrote.
    pub keeps_unknown: bool,
}

/// The section that lines belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    /// No section yet.
    Outside,
    /// A section without meaning here.
    Skipped,
    /// The code of the last kernel.
    Text,
    /// The jump tables of a kernel, by its number.
    Tables(usize),
    /// Variables.
    Data(Memory),
    /// The addresses of global variables.
    Addresses,
    /// The last debug section.
    Debug,
}

/// Directives about the code that follows.
const HEAD: [&str; 10] = [
    ".target",
    ".resources",
    ".images",
    ".parameters",
    ".trap_handler",
    ".function",
    ".local",
    ".weak",
    SHARED_ALIGN,
    attribute::OF_KERNEL,
];

/// The directive for the alignment of the next kernel's shared memory.
pub(super) const SHARED_ALIGN: &str = ".shared_align";

/// The directive for a word of code that is not a known instruction.
pub(super) const WORD: &str = ".word";

struct Reader<'o> {
    options: &'o ReadOptions,
    section: Section,
    target: Option<Target>,
    head: Head,
    /// The names of source files by their numbers.
    files: BTreeMap<u32, String>,
    kernels: Vec<Reading>,
    by_name: FxHashMap<String, usize>,
    data: DataReader,
    kept: Kept,
    /// How other files see functions and variables.
    bindings: FxHashMap<String, Binding>,
    errors: Vec<TextError>,
}

/// A text that has been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Its kernels. The variables of the text are those of each of them.
    pub kernels: Vec<Kernel>,
    /// Its variables.
    pub variables: Vec<Variable>,
    /// The architecture that it names last, and whether the code runs on that very one only.
    pub target: Option<(Arch, bool)>,
    /// The parts that are kept as they are.
    pub kept: Arc<Kept>,
}

/// Reads the kernels of a text.
///
/// # Errors
/// All errors, in the order of the text; at least one. A text without kernels is an error.
pub fn parse_programs(text: &str, options: &ReadOptions) -> Result<Vec<Kernel>, Vec<TextError>> {
    let module = parse_module(text, options)?;
    match module.kernels.is_empty() {
        true => Err(vec![no_kernel(text)]),
        false => Ok(module.kernels),
    }
}

/// Reads a text, which may have variables only.
///
/// # Errors
/// All errors, in the order of the text; at least one. A text that neither has a kernel nor names
/// its architecture is an error.
pub fn parse_module(text: &str, options: &ReadOptions) -> Result<Module, Vec<TextError>> {
    let source = Source::new(text);
    let mut reader = Reader {
        options,
        section: Section::Outside,
        target: None,
        head: Head::default(),
        files: BTreeMap::new(),
        kernels: Vec::new(),
        by_name: FxHashMap::default(),
        data: DataReader::default(),
        kept: Kept::default(),
        bindings: FxHashMap::default(),
        errors: Vec::new(),
    };
    if let Some(span) = source.unclosed() {
        reader.errors.push(TextError::new(ErrorCode::Line, span, "the comment has no end"));
    }
    for line in source.lines() {
        reader.line(&line);
    }
    reader.finish(text)
}

impl Reader<'_> {
    fn fail(&mut self, error: TextError) {
        self.errors.push(error);
    }

    fn line(&mut self, line: &Line<'_>) {
        let is_new = self.header(line);
        if line.code.is_empty() {
            if let (Section::Text, Some(last)) = (self.section, self.last_inst()) {
                last.words.extend(line.words.iter().copied());
            }
        } else if !is_new {
            match self.section {
                // In any section, these directives are about the code that follows.
                _ if HEAD.iter().any(|word| line.code.split([' ', '\t']).next() == Some(word)) => {
                    self.directive(line);
                }
                Section::Skipped => {}
                Section::Outside => self.outside(line),
                Section::Text => self.text(line),
                Section::Tables(kernel) => self.table(line, kernel),
                Section::Data(memory) => self.data.line(line, memory, &mut self.errors),
                Section::Debug => self.debug(line),
                Section::Addresses => self.data.address(line, &mut self.errors),
            }
        }
    }

    fn last_inst(&mut self) -> Option<&mut Read> {
        self.kernels.last_mut()?.insts.last_mut()
    }

    /// Enters a section if the line begins one; returns whether it does.
    fn header(&mut self, line: &Line<'_>) -> bool {
        let code = line.code;
        if let Some(section) = debug::begin(code) {
            self.kept.sections.push(section);
            self.section = Section::Debug;
            return true;
        }
        let label = code.strip_suffix(':').filter(|name| !name.contains(char::is_whitespace));
        let directive = || {
            let rest = code.strip_prefix(".section")?.strip_prefix([' ', '\t'])?;
            rest.trim_start().split([',', ' ', '\t']).next()
        };
        let function = || code.strip_prefix("Function :").map(str::trim);
        if let Some(name) = function() {
            self.kernel(name, line.span());
            return true;
        }
        let Some(name) = label.filter(|name| name.starts_with('.')).or_else(directive) else { return false };
        if let Some(kernel) = name.strip_prefix(".text.") {
            // The name of a section is repeated after it.
            let is_here = self.section == Section::Text
                && self.kernels.last().is_some_and(|last| last.name == kernel && last.insts.is_empty());
            if !is_here {
                self.kernel(kernel, line.span());
            }
            return true;
        }
        let table_bank = format!(".nv.constant{JUMP_TABLE_BANK}.");
        self.section = match name {
            ".nv.constant3" => Section::Data(Memory::Constant),
            ".nv.constant4" => Section::Addresses,
            ".nv.global" | ".nv.global.init" => Section::Data(Memory::Global),
            // These sections include tables as bare bytes, which do not tell the branch that they
            // belong to.
            _ if label.is_none() => Section::Skipped,
            _ => match name.strip_prefix(&*table_bank).map(|kernel| self.by_name.get(kernel).copied()) {
                Some(Some(kernel)) => Section::Tables(kernel),
                Some(None) => {
                    let message = "jump tables come after the kernel that they belong to";
                    self.fail(TextError::new(ErrorCode::Name, line.span(), message));
                    Section::Skipped
                }
                None => return false,
            },
        };
        self.data.leave(name == ".nv.global.init");
        true
    }

    fn kernel(&mut self, name: &str, span: Range<usize>) {
        self.section = Section::Text;
        if self.by_name.insert(name.to_string(), self.kernels.len()).is_some() {
            self.fail(TextError::new(ErrorCode::Name, span, format!("there are two kernels `{name}`")));
        }
        self.kernels.push(Reading::new(name, self.target, std::mem::take(&mut self.head)));
    }

    fn outside(&mut self, line: &Line<'_>) {
        /// The lines that `cuobjdump` writes before the code.
        const PREAMBLE: &[&str] = &[
            "Fatbin ",
            "code for ",
            "arch =",
            "code version",
            "host =",
            "compile_size",
            "producer",
            "identifier",
            "compressed",
            "has debug info",
            "ptxasOptions",
            "=====",
        ];
        let code = line.code;
        if code.starts_with('.') && !code.ends_with(':') {
            self.directive(line);
        } else if !PREAMBLE.iter().any(|word| code.starts_with(word)) {
            let error = TextError::new(ErrorCode::Line, line.span(), "this stands in no section");
            self.fail(error.help("code follows a line `.text.NAME:`"));
            // One error for such a line is enough.
            self.section = Section::Skipped;
        }
    }

    fn text(&mut self, line: &Line<'_>) {
        let code = line.code;
        if let Some(name) = code.strip_suffix(':').filter(|name| !name.contains(char::is_whitespace)) {
            let Some(kernel) = self.kernels.last_mut() else { return };
            let place = kernel.insts.len() as u32;
            if name != kernel.name || place != 0 {
                kernel.places.push((name.to_string(), place, line.span()));
            }
        } else if code.starts_with(['[', '@']) || code.starts_with(|c: char| c.is_ascii_uppercase()) {
            self.instruction(line);
        } else if code.split([' ', '\t']).next() == Some(WORD) {
            self.word(line);
        } else if code.starts_with('.') {
            // A line of dots ends a function of cuobjdump.
            if !code.bytes().all(|byte| byte == b'.') {
                self.directive(line);
            }
        } else {
            let message = "this is neither an instruction nor a label nor a directive";
            self.fail(TextError::new(ErrorCode::Line, line.span(), message));
        }
    }

    /// A word that is not a known instruction: `.word 0x…`, with 128 bits.
    fn word(&mut self, line: &Line<'_>) {
        let Some(kernel) = self.kernels.last_mut() else { return };
        let index = kernel.insts.len() as u32;
        if let Some(offset) = line.offset {
            kernel.offsets.entry(offset).or_insert(index);
        }
        let text = line.code.trim_start_matches(WORD).trim().trim_end_matches(';').trim_end();
        let number = text.strip_prefix("0x").and_then(|digits| u128::from_str_radix(digits, 16).ok());
        if number.is_none() {
            let message =
                "a word of code is a number of 128 bits, such as `.word 0x000fea00038000000000000000007918`";
            self.errors.push(TextError::new(ErrorCode::Line, line.span(), message));
        }
        let unknown = Some(number.unwrap_or_default());
        let (inst, loaded, words) = (Inst::new(Op::NOP), None, SmallVec::new());
        let (span, whole) = (line.span(), line.span());
        let (failed, control, line) = (None, None, whole);
        kernel.insts.push(Read { inst, loaded, unknown, failed, reuse: 0, control, words, span, line });
    }

    fn directive(&mut self, line: &Line<'_>) {
        /// Directives of other assemblers that are not needed here.
        const KNOWN: &[&str] = &[
            ".align",
            ".global",
            ".type",
            ".size",
            ".other",
            ".headerflags",
            ".sectioninfo",
            ".sectionflags",
            ".sectionentsize",
            ".nv_debug_ptx_txt",
        ];
        let (word, rest) = line.code.split_once([' ', '\t']).unwrap_or((line.code, ""));
        let result = match word {
            ".target" => target(rest).map(|target| {
                self.target = Some(target);
                // cuobjdump names the architecture after the beginning of the text.
                if let Some(kernel) = self.kernels.last_mut().filter(|kernel| kernel.insts.is_empty()) {
                    kernel.target = Some(target);
                }
            }),
            ".resources" => resources(rest).map(|resources| self.head.resources = Some(resources)),
            ".trap_handler" if rest.trim().is_empty() => {
                self.head.trap_handler = true;
                Ok(())
            }
            ".function" if rest.trim().is_empty() => {
                self.head.device_function = true;
                Ok(())
            }
            ".trap_handler" | ".function" => Err(format!("`{word}` takes no arguments")),
            ".reloc" => self.kept_relocation(rest),
            attribute::OF_KERNEL => attribute::list(rest).map(|list| self.head.attributes.extend(list)),
            attribute::OF_MODULE => attribute::list(rest).map(|list| self.kept.attributes.extend(list)),
            attribute::SYMBOL => attribute::symbol(rest).map(|symbol| self.kept.symbols.push(symbol)),
            attribute::IMAGE => image(rest).map(|image| self.kept.images.push(image)),
            attribute::OF_COMPATIBILITY => {
                attribute::list(rest).map(|list| self.kept.compatibility.extend(list))
            }
            attribute::MARK => self.mark(rest),
            SHARED_ALIGN => {
                let is_align = |align: &u64| *align == 0 || align.is_power_of_two() && *align <= 1 << 16;
                let align = rest.trim().parse().ok().filter(is_align);
                self.head.shared_align = align;
                let message = || format!("`{}` is not an alignment", rest.trim());
                align.map(|_| ()).ok_or_else(message)
            }
            ".local" | ".weak" => {
                let binding = if word == ".local" { Binding::Local } else { Binding::Weak };
                self.bindings.insert(rest.trim().to_string(), binding);
                Ok(())
            }
            ".elftype" => {
                self.kept.relocatable |= rest.contains("ET_REL");
                Ok(())
            }
            ".file" => {
                self.files.extend(source_file(rest));
                Ok(())
            }
            ".loc" => {
                self.source_line(rest);
                Ok(())
            }
            ".images" => images(rest).map(|list| self.head.image_words = list),
            ".parameters" => parameters(rest).map(|list| self.head.parameters = Some(list)),
            _ if KNOWN.contains(&word) => Ok(()),
            _ => Err(format!("there is no directive `{word}`")),
        };
        if let Err(message) = result {
            self.fail(TextError::new(ErrorCode::Directive, line.span(), message));
        }
    }

    /// `.reloc KIND SYMBOL ADDEND`, before an instruction.
    fn kept_relocation(&mut self, text: &str) -> Result<(), String> {
        let kernel = self.kernels.last_mut().filter(|_| self.section == Section::Text);
        let read = kernel.and_then(|kernel| {
            let at = kernel.insts.len() as u64 * u64::from(Program::INST_BYTES);
            kernel.kept_relocations.push(debug::relocation(text, at)?);
            Some(())
        });
        read.ok_or_else(|| "a relocation of code is `.reloc 66 symbol 0`, before an instruction".to_string())
    }

    /// `.mark CODE WORD…`, before an instruction.
    fn mark(&mut self, text: &str) -> Result<(), String> {
        let kernel = self.kernels.last_mut().filter(|_| self.section == Section::Text);
        let kernel = kernel.ok_or("a mark precedes an instruction")?;
        kernel.marks.push(attribute::mark(text, kernel.insts.len() as u32)?);
        Ok(())
    }

    fn debug(&mut self, line: &Line<'_>) {
        let read = self.kept.sections.last_mut().and_then(|section| debug::line(line.code, section));
        if read.is_none() {
            let message = "a debug section has lines `.byte 0x00, 0x01` and `.reloc 0x20 2 k 0`";
            self.fail(TextError::new(ErrorCode::Data, line.span(), message));
        }
    }

    /// `.loc FILE LINE`; other assemblers have more numbers, or names.
    fn source_line(&mut self, text: &str) {
        let mut numbers = text.split_whitespace().map(str::parse);
        let (Some(Ok(file)), Some(Ok(line)), Some(kernel)) =
            (numbers.next(), numbers.next(), self.kernels.last_mut())
        else {
            return;
        };
        if self.section == Section::Text {
            kernel.lines.push(SourceLine { inst: kernel.insts.len() as u32, file, line });
        }
    }

    fn instruction(&mut self, line: &Line<'_>) {
        let Some(kernel) = self.kernels.last_mut() else { return };
        let parts = Parts::of(line);
        let index = kernel.insts.len() as u32;
        if let Some(offset) = line.offset {
            kernel.offsets.entry(offset).or_insert(index);
        }
        // A missing architecture is an error of its own.
        let arch = kernel.target.map(|target| target.arch).or(self.options.arch).unwrap_or(Arch::DEFAULT);
        let parsed = parse_named(parts.inst, arch, &mut kernel.names);
        let mut failed = None;
        let Parsed { inst, reuse, loaded } = parsed.unwrap_or_else(|why| {
            failed = Some(Box::new(unknown_inst(&why, arch, parts.inst, parts.span.clone())));
            // A placeholder, so that later instructions keep their places.
            Parsed { inst: Inst::new(Op::NOP), reuse: 0, loaded: None }
        });
        let control = match parts.control {
            None => None,
            Some((notation, text, span)) => match notation.parse(text) {
                Ok(control) => Some((control, notation == Notation::Hex)),
                Err(why) => {
                    self.errors.push(wrong_control(&why, notation, span));
                    // Any legal field works, since an error has been reported and no program will
                    // be made.
                    Some((Control { reuse, ..Control::plain() }, true))
                }
            },
        };
        if let Some(span) = parts.rest {
            self.errors.push(TextError::new(ErrorCode::Line, span, "nothing may follow the semicolon"));
        }
        let words = line.words.iter().copied().collect::<SmallVec<[u64; 2]>>();
        let (unknown, span, line) = (None, parts.span, line.span());
        kernel.insts.push(Read { inst, loaded, unknown, failed, reuse, control, words, span, line });
    }

    fn table(&mut self, line: &Line<'_>, kernel: usize) {
        let Some(kernel) = self.kernels.get_mut(kernel) else { return };
        let code = line.code;
        let label = code.strip_suffix(':');
        let is_table = label.is_some_and(|label| label.starts_with(".L_table_"));
        if is_table || label.is_some_and(|label| label.starts_with(".L_literals_")) {
            let Some(offset) = line.offset else {
                let message = "the offset in the bank is missing";
                return self.fail(
                    TextError::new(ErrorCode::Data, line.span(), message).help("`/*0000*/` in front of it"),
                );
            };
            kernel.in_literals = !is_table;
            match is_table {
                true => kernel.tables.push((offset, Vec::new(), line.span())),
                false => kernel.literals.push((Literals { offset, words: Vec::new() }, line.span())),
            }
            return;
        }
        if kernel.in_literals {
            let number = |word: &str| u32::from_str_radix(word.trim().strip_prefix("0x")?, 16).ok();
            let words = code.strip_prefix(".word").map(|list| list.split(',').map(number).collect());
            match (words, kernel.literals.last_mut()) {
                (Some(Some::<Vec<u32>>(words)), Some((literals, _))) => literals.words.extend(words),
                _ => {
                    let message = "literals are lines `.word 0x3f800000, 0x40800000`";
                    self.fail(TextError::new(ErrorCode::Data, line.span(), message));
                }
            }
            return;
        }
        let base = format!("-.text.{}", kernel.name);
        let word = code.strip_prefix(".word").map(str::trim).and_then(|word| word.strip_suffix(&*base));
        match (word, kernel.tables.last_mut()) {
            (Some(label), Some((_, targets, _))) => targets.push(label.to_string()),
            _ => {
                let error = TextError::new(ErrorCode::Data, line.span(), "this is no part of a jump table");
                self.fail(error.note(format!(
                    "a table is a line `/*0000*/ .L_table_0:` and lines `.word .L_x_0{base}`; numbers follow a \
                     line `/*0000*/ .L_literals_0:`"
                )));
            }
        }
    }

    fn finish(mut self, text: &str) -> Result<Module, Vec<TextError>> {
        if self.kernels.is_empty() && self.errors.is_empty() && self.target.is_none() {
            self.fail(no_kernel(text));
        }
        let functions = self.kernels.iter().flat_map(Reading::functions).collect();
        let variables = self.data.finish(&functions, &self.bindings, &mut self.kept, &mut self.errors);
        for symbol in &mut self.kept.symbols {
            symbol.binding = self.bindings.get(&symbol.name).copied().unwrap_or_default();
        }
        for kernel in &mut self.kernels {
            let attributes = std::mem::take(&mut kernel.head.attributes);
            let binding = self.bindings.get(&kernel.name).copied().unwrap_or_default();
            let (marks, shared_align) = (std::mem::take(&mut kernel.marks), kernel.head.shared_align);
            let notes = Notes { attributes, marks, binding, shared_align };
            if notes != Notes::default() {
                self.kept.kernels.insert(kernel.name.clone(), notes);
            }
        }
        let kept = Arc::new(self.kept);
        let mut kernels = Vec::new();
        for kernel in self.kernels {
            let arch = kernel.target.map(|target| target.arch).or(self.options.arch).unwrap_or_else(|| {
                let span = kernel.insts.first().map_or(0..0, |read| read.line.clone());
                let message = format!("the text does not say for which architecture `{}` is", kernel.name);
                let error = TextError::new(ErrorCode::NoArch, span, message);
                self.errors.push(error.help("a line `.target sm_90` in front, or the option --arch"));
                Arch::DEFAULT
            });
            let mut kernel = kernel.finish(arch, self.options, &mut self.errors);
            kernel.program.variables.clone_from(&variables);
            kernel.program.kept = kept.clone();
            name_files(&mut kernel.program, &self.files);
            kernels.push(kernel);
        }
        if self.errors.is_empty() {
            let target = self.target.map(|target| (target.arch, target.accelerated));
            return Ok(Module { kernels, variables, target, kept });
        }
        self.errors.sort_by_key(|error| (error.span.start, error.span.end));
        Err(self.errors)
    }
}

/// The error of a text without code.
fn no_kernel(text: &str) -> TextError {
    let message = "there is no kernel in this text";
    let error = TextError::new(ErrorCode::Line, text.len()..text.len(), message);
    error.help("code follows a line `.text.NAME:`")
}
