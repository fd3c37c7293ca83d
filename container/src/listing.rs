//! Reads code from the text of disassemblers, by its encodings.
//!
//! `nvdisasm -hex`, with `-c` or without, and `cuobjdump -sass` print two 64-bit words after each
//! instruction. The reader uses these words and ignores the text before them, so the result does
//! not depend on the spelling of other tools. Lines `.text.K:` and `Function : K` begin a section
//! of code, and a label that is not the label of a branch begins a function in it.

use std::borrow::Cow;

use ptxc_machine::Arch;
use ptxc_sass::program::Program;
use ptxc_sass::text::source::{Line, Source};

use crate::error::ContainerError;
use crate::image::{Function, Image, MAX_NAME};

/// An image, or the reason why there is none.
type Read = Result<Image<'static>, ContainerError>;

/// The images of a text: each line that names an architecture begins a new one.
pub(crate) fn images(bytes: &[u8]) -> Result<Vec<Read>, ContainerError> {
    // The bytes are neither text nor another known format.
    let text = std::str::from_utf8(bytes).map_err(|_| ContainerError::Unknown)?;
    if !text.contains("/*") {
        return Err(ContainerError::Unknown);
    }
    let source = Source::new(text);
    let mut reading = Reading::default();
    for line in source.lines() {
        reading.line(&line)?;
    }
    reading.finish()
}

#[derive(Default)]
struct Reading {
    images: Vec<Read>,
    /// Whether a section of code is being read.
    in_code: bool,
    /// The bytes of the section's instructions so far.
    offset: u32,
    /// The lower word of an instruction whose upper word has not been read yet.
    lower: Option<u64>,
    instructions: usize,
}

fn malformed(line: &Line<'_>, what: &str) -> ContainerError {
    // In a text the line itself helps more than a place in bytes.
    let code: String = line.code.chars().take(60).collect();
    ContainerError::Malformed(format!("{what}: `{code}`"))
}

impl Reading {
    fn line(&mut self, line: &Line<'_>) -> Result<(), ContainerError> {
        if let Some(name) = line.code.strip_prefix("Function :") {
            self.section(line, name.trim())?;
        } else if let Some(arch) = architecture(line.code) {
            self.images.push(arch.map(|arch| Image { arch: Some(arch), functions: Vec::new(), cubin: &[] }));
            self.in_code = false;
        } else if let Some(label) = line.code.strip_suffix(':').filter(|label| !label.contains(' ')) {
            match label.strip_prefix(".text.") {
                // The label of a section after the section's directive names the same section.
                Some(name) => self.section(line, name)?,
                None if label.starts_with('.') => {}
                None if self.in_code => self.function(line, label)?,
                None => {}
            }
        } else if line.code.starts_with(".section") {
            self.in_code = false;
            let name = line.code[".section".len()..].trim_start().split([',', ' ', '\t']).next();
            if let Some(name) = name.and_then(|name| name.strip_prefix(".text.")) {
                self.section(line, name)?;
            }
        }
        for &word in &line.words {
            self.word(line, word)?;
        }
        Ok(())
    }

    /// Begins a section of code.
    fn section(&mut self, line: &Line<'_>, name: &str) -> Result<(), ContainerError> {
        let functions = match self.images.last() {
            Some(Ok(image)) => &image.functions[..],
            _ => &[],
        };
        let is_here = |last: &Function<'_>| last.name == name && last.is_empty() && last.start == 0;
        if self.in_code && functions.last().is_some_and(is_here) {
            return Ok(());
        }
        self.in_code = true;
        self.offset = 0;
        self.function(line, name)
    }

    fn function(&mut self, line: &Line<'_>, name: &str) -> Result<(), ContainerError> {
        if self.lower.is_some() {
            return Err(malformed(line, "an instruction lacks its second word"));
        }
        if name.len() > MAX_NAME {
            return Err(ContainerError::Malformed(format!("a name has {} bytes", name.len())));
        }
        if self.images.is_empty() {
            self.images.push(Ok(Image { arch: None, functions: Vec::new(), cubin: &[] }));
        }
        // Skip code of an unknown architecture.
        let Some(Ok(Image { functions, .. })) = self.images.last_mut() else { return Ok(()) };
        // A label before the first instruction is the function's own name.
        if functions.last().is_some_and(|last| last.is_empty() && last.start == self.offset) {
            functions.pop();
        }
        functions.push(Function {
            name: Cow::Owned(name.to_string()),
            start: self.offset,
            code: Cow::Owned(Vec::new()),
        });
        Ok(())
    }

    fn word(&mut self, line: &Line<'_>, word: u64) -> Result<(), ContainerError> {
        if !self.in_code {
            return Err(malformed(line, "an instruction is outside of all functions"));
        }
        let Some(lower) = self.lower.take() else {
            // If instructions are missing, the targets of branches would be wrong.
            if line.offset.is_some_and(|offset| offset != self.offset) {
                return Err(malformed(line, "an instruction is not at its offset"));
            }
            self.lower = Some(word);
            return Ok(());
        };
        if let Some(Ok(image)) = self.images.last_mut()
            && let Some(function) = image.functions.last_mut()
        {
            function.code.to_mut().extend(lower.to_le_bytes().into_iter().chain(word.to_le_bytes()));
        }
        let next = self.offset.checked_add(Program::INST_BYTES);
        self.offset = next.ok_or_else(|| malformed(line, "there is more code than there are addresses"))?;
        self.instructions += 1;
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<Read>, ContainerError> {
        if self.lower.is_some() {
            return Err(ContainerError::Truncated("an instruction"));
        }
        if self.instructions == 0 {
            return Err(ContainerError::NoEncoding);
        }
        self.images.retain(|image| image.as_ref().map_or(true, |image| !image.functions.is_empty()));
        // `code for sm_90` and `.target sm_90` name the same architecture.
        self.images.dedup_by(|image, before| image.is_err() && image == before);
        Ok(self.images)
    }
}

/// The architecture that a line names: `.target sm_90`, or `code for sm_90` of cuobjdump. If
/// cuobjdump prints both, the first is enough.
fn architecture(code: &str) -> Option<Result<Arch, ContainerError>> {
    let name = match code.strip_prefix(".target") {
        Some(name) => name.trim(),
        None => code.strip_prefix("code for")?.trim(),
    };
    let number = name.strip_prefix("sm_")?.trim_end_matches(['a', 'f']);
    Some(number.parse().map_err(|_| ContainerError::Unknown).and_then(|number| {
        let known = Arch::of_number(number);
        known.ok_or(ContainerError::Arch(number))
    }))
}
