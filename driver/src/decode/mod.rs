//! `ptxc decode`: the machine code in files, instruction by instruction, in a format of the user's
//! choice.
//!
//! Images come from [`container`](ptxc_container) one after the other. Each is written at
//! once, or with a few other small ones, so a library with thousands of images needs no more memory
//! than its largest one. A word that is not an instruction is shown as data with a note. The rest
//! is still shown, and the exit code reports the failure.

mod above;
mod csv;
mod gather;
mod html;
mod json;
#[cfg_attr(not(feature = "parquet"), path = "without_parquet.rs")]
mod parquet;
mod pieces;
mod row;
mod table;

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;

use ptxc_compiler::render::{plain, plain_line};
use ptxc_container::{ContainerError, Content, Found, Function, Image, Place, visit};
use ptxc_machine::Arch;

use crate::cli::{Color, DecodeArgs, DecodeFormat};
use crate::destination::by_extension;
use crate::input::Input;
use crate::kind::{Kind, expect};
use crate::output::{check_overwrites, read_bytes, write_with};
use crate::progress::Progress;
use crate::sass_text::{arch, count};
use crate::streams::{Outcome, Streams};
use above::Above;
use gather::{Gathered, Gathering};
use row::{Source, Undecoded};

/// The number of functions per file whose undecodable words are reported by name.
const NAMED: usize = 10;

/// The message of a `ptxc` without the Parquet writer.
const NO_PARQUET: &str = "this ptxc cannot write Parquet, because it was built without the Cargo feature `parquet`; \
    build it with `--features parquet`, or write `--format json` or `--format csv`";

pub(crate) fn run(args: &DecodeArgs, streams: &mut Streams<'_>) -> Outcome {
    let arch = match arch(args.arch.as_deref()) {
        Ok(arch) => arch,
        Err(message) => return streams.usage(message),
    };
    if let Err(message) = check_overwrites(args.files.iter().map(Input::path), [args.output.as_path()]) {
        return streams.usage(message);
    }
    let format = match (args.format, by_extension(&args.output, &args.files, &EXTENSIONS)) {
        (Some(format), _) => format,
        (None, Ok(format)) => format.unwrap_or(DecodeFormat::Table),
        (None, Err(message)) => return streams.usage(message),
    };
    if format == DecodeFormat::Parquet && cfg!(not(feature = "parquet")) {
        return streams.usage(NO_PARQUET);
    }
    let to_stream = args.output == Path::new("-");
    if to_stream && format == DecodeFormat::Parquet && streams.surroundings.out_is_terminal {
        return streams.usage("Parquet is not for a terminal; write it to a file with `-o FILE.parquet`");
    }
    // A file has colours only if the user asks for them.
    let colored = if to_stream { streams.out_has_colors() } else { streams.color == Color::Always };
    // A bar must not appear between the lines of a table.
    let is_shown = streams.shows_progress && !(to_stream && streams.surroundings.out_is_terminal);
    let progress = Progress::new(is_shown, args.files.len(), "files");
    let mut outcome = Outcome::Done;
    let mut files = Vec::new();
    for input in &args.files {
        let bytes = match read_bytes(input, streams.stdin) {
            Ok(bytes) => bytes,
            Err(error) => {
                outcome = streams.failed(format!("{input}: {error}"));
                continue;
            }
        };
        match expect(input, &bytes, "decode", &KINDS) {
            Ok(_) => files.push((input.shown(), bytes)),
            Err(message) => outcome = streams.failed(message),
        }
    }
    let err = &mut Above { progress: &progress, stream: streams.err };
    let gathering = Gathering::default();
    let (broken, shown, is_any_empty, unknown) = (false, 0, false, Vec::new());
    let names = &args.function[..];
    let mut decoding = Decoding { arch, names, broken, shown, is_any_empty, unknown, gathering, err };
    let written = write_with(&args.output, streams.out, |out| {
        let mut sheet = Sheet::begin(format, colored, out)?;
        for (path, bytes) in &files {
            decoding.file(path, bytes, &mut sheet)?;
            progress.step();
        }
        sheet.finish()
    });
    if decoding.broken {
        outcome = Outcome::Failed;
    }
    // The reason is not the code if the output cannot be written.
    let is_nothing = decoding.shown == 0 && written.is_ok();
    let is_fault_of_request = is_nothing && outcome == Outcome::Done;
    if is_nothing && decoding.tell_unknown() {
        outcome = Outcome::Failed;
    }
    let is_any_empty = decoding.is_any_empty;
    if is_fault_of_request {
        let filtered = args.arch.is_some() || !args.function.is_empty();
        match (filtered, is_any_empty) {
            (true, _) => outcome = streams.failed("there is no machine code of that name or architecture"),
            // A cubin may hold variables only.
            (false, true) => streams.note("there is no machine code"),
            (false, false) => outcome = streams.failed("there is no machine code"),
        }
    }
    outcome.max(streams.written(&args.output, written))
}

/// The formats that extensions of the output select.
const EXTENSIONS: [(&str, DecodeFormat); 6] = [
    ("txt", DecodeFormat::Table),
    ("json", DecodeFormat::Json),
    ("jsonl", DecodeFormat::Json),
    ("csv", DecodeFormat::Csv),
    ("parquet", DecodeFormat::Parquet),
    ("html", DecodeFormat::Html),
];

/// The kinds of files that may hold machine code.
const KINDS: [Kind; 5] = [Kind::Cubin, Kind::Fatbin, Kind::Elf, Kind::Archive, Kind::Sass];

/// The output, in its format.
enum Sheet<'o> {
    Table(&'o mut dyn Write, bool),
    /// The buffers are reused for the rows of gathered images.
    Json(&'o mut dyn Write, Vec<Vec<u8>>),
    /// As for JSON.
    Csv(&'o mut dyn Write, Vec<String>),
    Html(&'o mut dyn Write, html::Page),
    Parquet(&'o mut dyn Write, Box<parquet::Frame>),
}

impl<'o> Sheet<'o> {
    fn begin(format: DecodeFormat, colored: bool, out: &'o mut dyn Write) -> std::io::Result<Sheet<'o>> {
        Ok(match format {
            DecodeFormat::Table => Sheet::Table(out, colored),
            DecodeFormat::Json => Sheet::Json(out, Vec::new()),
            DecodeFormat::Csv => {
                out.write_all(csv::NAMES.as_bytes())?;
                Sheet::Csv(out, Vec::new())
            }
            DecodeFormat::Html => {
                let page = html::Page::begin(out)?;
                Sheet::Html(out, page)
            }
            DecodeFormat::Parquet => Sheet::Parquet(out, Box::new(parquet::Frame::begin()?)),
        })
    }

    fn image(
        &mut self,
        source: &Source<'_>,
        functions: &[Function<'_>],
        note: &mut dyn FnMut(&Function<'_>, Undecoded),
    ) -> std::io::Result<()> {
        match self {
            Sheet::Table(out, colored) => {
                let table = table::Table::new(source, functions, *colored);
                pieces::write(functions, *out, |piece, text| table.rows(source, piece, text), note)
            }
            Sheet::Json(out, _) => {
                pieces::write(functions, *out, |piece, text| json::rows(source, piece, text), note)
            }
            Sheet::Csv(out, _) => {
                pieces::write(functions, *out, |piece, text| csv::rows(source, piece, text), note)
            }
            Sheet::Html(out, page) => page.image(source, functions, *out, note),
            Sheet::Parquet(out, frame) => frame.image(source, functions, *out, note),
        }
    }

    /// Writes images that were gathered, and returns the undecodable words of each function of each
    /// image.
    fn gathered(&mut self, path: &str, images: &[Gathered]) -> std::io::Result<Vec<Vec<Undecoded>>> {
        match self {
            Sheet::Json(out, texts) => gather::write(path, images, texts, *out, json::rows),
            Sheet::Csv(out, texts) => gather::write(path, images, texts, *out, csv::rows),
            // Images of these formats do not wait.
            Sheet::Table(..) | Sheet::Html(..) | Sheet::Parquet(..) => Ok(Vec::new()),
        }
    }

    /// Whether small images wait for others: in formats where a row depends only on its function.
    fn gathers(&self) -> bool {
        matches!(self, Sheet::Json(..) | Sheet::Csv(..))
    }

    fn finish(self) -> std::io::Result<()> {
        match self {
            Sheet::Table(..) | Sheet::Json(..) | Sheet::Csv(..) => Ok(()),
            Sheet::Html(out, page) => page.finish(out),
            Sheet::Parquet(out, frame) => frame.finish(out),
        }
    }
}

/// The state of the command: what is shown, and the messages about the rest.
struct Decoding<'a> {
    /// The only architecture to show, if one was given.
    arch: Option<Arch>,
    /// The only functions to show, if any were given.
    names: &'a [String],
    /// Whether something could not be shown.
    broken: bool,
    /// How many functions were shown.
    shown: usize,
    /// Whether an image has no code at all.
    is_any_empty: bool,
    /// Images of unknown architectures, which are reported only if nothing could be shown, because
    /// the user asked for other code.
    unknown: Vec<String>,
    /// Images that are to be shown together.
    gathering: Gathering,
    err: &'a mut dyn Write,
}

impl Decoding<'_> {
    fn file(&mut self, path: &str, bytes: &[u8], sheet: &mut Sheet<'_>) -> std::io::Result<()> {
        let mut written = Ok(());
        let mut skipped: Vec<(Content, usize)> = Vec::new();
        visit(bytes, &mut |place, found| match found {
            Found::Image(image) if written.is_ok() => written = self.image(path, place, image, sheet),
            Found::Image(_) => {}
            Found::Skipped(content) => match skipped.iter_mut().find(|(known, _)| *known == content) {
                Some((_, times)) => *times += 1,
                None => skipped.push((content, 1)),
            },
            Found::Broken(why) if self.is_unwanted(place) => drop(why),
            Found::Broken(why @ ContainerError::Arch(_)) if self.is_filtered() => {
                self.unknown.push(format!("{path}: {place}: {why}"));
            }
            Found::Broken(ContainerError::NoEncoding) => {
                let advice = "`ptxc asm` makes a cubin of it, and `ptxc verify` checks it";
                self.fail(path, place, &format!("{}; {advice}", ContainerError::NoEncoding));
            }
            Found::Broken(why) => {
                // Images before the damaged part are shown before its error.
                if written.is_ok() {
                    written = self.gathered(path, sheet);
                }
                self.fail(path, place, &why.to_string());
            }
        });
        if written.is_ok() {
            written = self.gathered(path, sheet);
        }
        if self.is_filtered() {
            skipped.clear();
        }
        for (content, times) in skipped {
            let times = if times == 1 { String::new() } else { format!(", {times} times") };
            let _ = writeln!(self.err, "note: {path}: {content} is left out{times}");
        }
        written
    }

    /// Whether the user asked for some of the code only.
    fn is_filtered(&self) -> bool {
        self.arch.is_some() || !self.names.is_empty()
    }

    /// Whether an image is for another architecture than the one that the user asked for.
    fn is_unwanted(&self, place: &Place) -> bool {
        let numbers = self.arch.zip(place.arch);
        numbers.is_some_and(|(wanted, number)| Arch::of_number(number) != Some(wanted))
    }

    /// Reports the images of unknown architectures, and whether there are any.
    fn tell_unknown(&mut self) -> bool {
        for message in &self.unknown {
            let _ = writeln!(self.err, "error: {}", plain(message));
        }
        !self.unknown.is_empty()
    }

    fn fail(&mut self, path: &str, place: &Place, why: &str) {
        self.broken = true;
        let message = match (&place.member, place.number) {
            (None, 0) => format!("error: {path}: {why}"),
            _ => format!("error: {path}: {place}: {why}"),
        };
        // A failure to write messages cannot be reported anywhere.
        let _ = writeln!(self.err, "{}", plain(&message));
    }

    fn image(
        &mut self,
        path: &str,
        place: &Place,
        mut image: Image<'_>,
        sheet: &mut Sheet<'_>,
    ) -> std::io::Result<()> {
        let Some(arch) = image.arch.or(self.arch) else {
            self.gathered(path, sheet)?;
            self.fail(path, place, "the text does not name its architecture; give it with --arch");
            return Ok(());
        };
        if self.arch.is_some_and(|wanted| wanted != arch) {
            return Ok(());
        }
        let place = &Place { member: place.member.as_deref().map(|name| plain_line(name).into()), ..*place };
        self.is_any_empty |= image.functions.is_empty();
        if !self.names.is_empty() {
            image.functions.retain(|function| self.names.iter().any(|name| *name == function.name));
        }
        for function in &mut image.functions {
            if let Cow::Owned(name) = plain_line(&function.name) {
                function.name = name.into();
            }
        }
        self.shown += image.functions.len();
        if sheet.gathers() && Gathering::wants(&image.functions) {
            return match self.gathering.push(place, arch, image.functions) {
                true => self.gathered(path, sheet),
                false => Ok(()),
            };
        }
        self.gathered(path, sheet)?;
        let mut findings = Findings::default();
        let source = Source { file: path, place, arch };
        sheet
            .image(&source, &image.functions, &mut |function, undecoded| findings.add(function, undecoded))?;
        self.tell(path, place, &findings);
        Ok(())
    }

    /// Writes the images that wait.
    fn gathered(&mut self, path: &str, sheet: &mut Sheet<'_>) -> std::io::Result<()> {
        let images = self.gathering.take();
        let said = sheet.gathered(path, &images)?;
        for (image, said) in images.iter().zip(said) {
            let mut findings = Findings::default();
            for (function, undecoded) in image.functions.iter().zip(said) {
                findings.add(function, undecoded);
            }
            self.tell(path, image.source(path).place, &findings);
        }
        Ok(())
    }

    /// Reports the words of an image that are not instructions.
    fn tell(&mut self, path: &str, place: &Place, Findings(findings): &Findings) {
        for (name, undecoded) in findings.iter().take(NAMED) {
            let words = count(undecoded.count, "word");
            let (offset, why) = undecoded.first.as_ref().map_or((0, ""), |(offset, why)| (*offset, why));
            let verb = if undecoded.count == 1 {
                "is not a known instruction"
            } else {
                "are not known instructions"
            };
            let message = format!("`{name}`: {words} {verb}, first at {offset:#x}: {why}");
            self.fail(path, place, &message);
        }
        if let Some(rest) = findings.len().checked_sub(NAMED).filter(|&rest| rest > 0) {
            self.fail(path, place, &format!("and words in {} more", count(rest, "function")));
        }
    }
}

/// The functions of an image that have words that are not instructions.
#[derive(Default)]
struct Findings(Vec<(String, Undecoded)>);

impl Findings {
    /// Adds the undecodable words in a part of a function.
    fn add(&mut self, function: &Function<'_>, undecoded: Undecoded) {
        if undecoded.count == 0 {
            return;
        }
        match self.0.last_mut() {
            Some((name, sum)) if *name == function.name => sum.extend(undecoded),
            _ => self.0.push((function.name.to_string(), undecoded)),
        }
    }
}
