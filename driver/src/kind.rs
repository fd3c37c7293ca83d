//! The kinds of files: what the bytes of a file are, whatever its name.
//!
//! A command that gets a file of another kind says so in one error, which names the command for
//! that kind. Bytes of no known kind are left to the reader of the command, whose errors name the
//! first thing that it does not understand.

use std::fmt;

use crate::input::Input;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Ptx,
    /// SASS text, from ptxc or from NVIDIA's disassemblers.
    Sass,
    /// Text of any form of the compiler, for `ptxc opt`.
    Ir,
    /// An execution case.
    Case,
    /// Other JSON.
    Json,
    Cubin,
    Fatbin,
    /// An ELF file of the host.
    Elf,
    Archive,
    /// An archive that holds the names of its members only.
    ThinArchive,
    Cuda,
    LlvmIr,
    /// A compressed file.
    Compressed,
    /// Text in UTF-16.
    Utf16,
    /// Text without a directive, which is not PTX; it may be bare SASS or damaged IR.
    Text,
    /// Nothing but blanks and comments.
    Empty,
    /// Another format for which ptxc has no command.
    Binary,
    /// None of these: perhaps damaged text.
    Unknown,
}

/// The bytes at the start of a file that are examined.
const EXAMINED: usize = 1 << 16;

/// The machine of NVIDIA's ELF files, and its place in the header.
const EM_CUDA: [u8; 2] = 190u16.to_le_bytes();
const E_MACHINE: usize = 18;

/// How files of binary formats begin.
const MAGIC: [(&[u8], Kind); 14] = [
    (b"\x50\xed\x55\xba", Kind::Fatbin),
    (b"!<arch>\n", Kind::Archive),
    (b"!<thin>\n", Kind::ThinArchive),
    (b"\x1f\x8b", Kind::Compressed),
    (b"\x28\xb5\x2f\xfd", Kind::Compressed),
    (b"BZh", Kind::Compressed),
    (b"\xfd7zXZ\0", Kind::Compressed),
    (b"PK\x03\x04", Kind::Compressed),
    (b"BC\xc0\xde", Kind::LlvmIr),
    (b"\xff\xfe", Kind::Utf16),
    (b"\xfe\xff", Kind::Utf16),
    (b"MZ\x90", Kind::Binary),
    (b"\xcf\xfa\xed\xfe", Kind::Binary),
    (b"\x89PNG", Kind::Binary),
];

impl Kind {
    /// The kind of a file with these bytes.
    pub(crate) fn of(bytes: &[u8]) -> Kind {
        if bytes.starts_with(b"\x7fELF") {
            let machine = bytes.get(E_MACHINE..E_MACHINE + 2);
            return if machine == Some(&EM_CUDA) { Kind::Cubin } else { Kind::Elf };
        }
        if let Some((_, kind)) = MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)) {
            return *kind;
        }
        let start = &bytes[..bytes.len().min(EXAMINED)];
        if start.contains(&0) {
            return Kind::Binary;
        }
        match std::str::from_utf8(start) {
            Ok(text) => of_text(text),
            Err(_) => of_text(&String::from_utf8_lossy(start)),
        }
    }

    /// The commands for files of this kind, or what else to do with one.
    fn advice(self) -> Option<&'static str> {
        Some(match self {
            Kind::Ptx => "`ptxc lower` compiles it, and `ptxc check` reports its errors",
            Kind::Sass => "`ptxc verify` checks it, `ptxc asm` assembles it, and `ptxc run` runs it",
            Kind::Ir => "`ptxc opt` runs passes on it",
            Kind::Case => "`ptxc run` runs it if its name ends with `.json`",
            Kind::Cubin => "`ptxc disasm` and `ptxc decode` show its code",
            Kind::Fatbin | Kind::Elf | Kind::Archive => "`ptxc decode` shows the machine code in it",
            Kind::ThinArchive => "decode its members instead",
            Kind::Cuda => "compile it to PTX first, for example with `clang++ --cuda-device-only -S`",
            Kind::LlvmIr => "compile it to PTX first, for example with `llc -mtriple=nvptx64`",
            Kind::Compressed => "decompress it first",
            Kind::Utf16 => "convert it to UTF-8 first",
            Kind::Json | Kind::Binary | Kind::Text | Kind::Empty | Kind::Unknown => return None,
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Ptx => "PTX",
            Kind::Sass => "SASS text",
            Kind::Ir => "IR text",
            Kind::Case => "an execution case in JSON",
            Kind::Json => "JSON",
            Kind::Cubin => "a cubin",
            Kind::Fatbin => "a fatbin",
            Kind::Elf => "an ELF file of the host",
            Kind::Archive => "an archive",
            Kind::ThinArchive => "a thin archive, which does not hold its members",
            Kind::Cuda => "CUDA C++",
            Kind::LlvmIr => "LLVM IR",
            Kind::Compressed => "a compressed file",
            Kind::Utf16 => "UTF-16 text",
            Kind::Text => "text without a directive such as `.version`",
            Kind::Empty => "empty",
            Kind::Binary => "a binary file",
            Kind::Unknown => "a file of an unknown kind",
        })
    }
}

/// The kind of a text: its first line that only one kind has decides. Directives that several kinds
/// have may come before it, and lines for a preprocessor.
fn of_text(text: &str) -> Kind {
    let mut is_comment = false;
    // The kind of the lines so far, if a later line could still show another one.
    let mut guess = Kind::Empty;
    for line in text.strip_prefix('\u{feff}').unwrap_or(text).lines() {
        let mut line = line.trim_start();
        loop {
            if is_comment {
                let Some((_, rest)) = line.split_once("*/") else { break };
                (line, is_comment) = (rest.trim_start(), false);
            }
            match line.strip_prefix("/*") {
                Some(rest) if is_offset(rest) => return Kind::Sass,
                Some(rest) => (line, is_comment) = (rest, true),
                None => break,
            }
        }
        if is_comment || line.is_empty() || line.starts_with("//") {
            continue;
        }
        match of_line(line) {
            // PTX may be on its way to the preprocessor.
            Some(Kind::Cuda) if line.starts_with('#') => guess = Kind::Cuda,
            Some(Kind::Case) if !text.contains("\"ptx\"") => return Kind::Json,
            Some(kind) => return kind,
            None if line.starts_with(['.', '#']) => {
                guess = if guess == Kind::Empty { Kind::Unknown } else { guess }
            }
            None if guess == Kind::Cuda => return guess,
            None => return if text.lines().any(is_directive) { Kind::Unknown } else { Kind::Text },
        }
    }
    guess
}

/// Whether a line begins with a name after a dot.
fn is_directive(line: &str) -> bool {
    line.trim_start().strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()))
}

/// Whether a comment is the offset of an instruction: `0040*/`.
fn is_offset(rest: &str) -> bool {
    let Some((digits, _)) = rest.split_once("*/") else { return false };
    digits.len() >= 4 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The kind of a text with this line, if only one kind has it.
fn of_line(line: &str) -> Option<Kind> {
    let word = line.split(|c: char| c.is_whitespace() || matches!(c, '(' | '{')).next().unwrap_or_default();
    let starts_with = |list: &[&str]| list.iter().any(|start| line.starts_with(start));
    Some(match word {
        ".version" | ".address_size" | ".visible" | ".entry" | ".func" | ".extern" => Kind::Ptx,
        ".headerflags" | ".elftype" | ".resources" | ".parameters" => Kind::Sass,
        "func" | "mir" | "code" if line.contains('@') => Kind::Ir,
        "target" if starts_with(&["target datalayout", "target triple"]) => Kind::LlvmIr,
        ";" if starts_with(&["; ModuleID"]) => Kind::LlvmIr,
        "#include" | "__global__" | "__device__" | "template" | "namespace" | "using" => Kind::Cuda,
        "extern" if starts_with(&["extern \"C\"", "extern __shared__"]) => Kind::Cuda,
        _ if word.starts_with(".text.") => Kind::Sass,
        _ if starts_with(&["[B", "Fatbin elf code", "Function :", "code for sm_"]) => Kind::Sass,
        _ if starts_with(&["{"]) && line[1..].trim_start().chars().next().is_none_or(|c| c == '"') => {
            Kind::Case
        }
        _ => return None,
    })
}

/// Checks that a file is of a kind that a command reads, or of no known kind.
///
/// # Errors
/// The kind of the file, and the command for it.
pub(crate) fn expect(input: &Input, bytes: &[u8], command: &str, reads: &[Kind]) -> Result<Kind, String> {
    let kind = Kind::of(bytes);
    let is_certain = match kind {
        Kind::Unknown => false,
        // Only PTX needs a directive.
        Kind::Text | Kind::Empty => reads == [Kind::Ptx],
        _ => true,
    };
    if !is_certain || reads.contains(&kind) {
        return Ok(kind);
    }
    let name = |kind: &Kind| match kind {
        Kind::Binary => "bare instructions".to_string(),
        kind => kind.to_string(),
    };
    let list: Vec<String> = reads.iter().map(name).collect();
    let list = match &list[..] {
        [first, rest @ .., last] => {
            let middle: String = rest.iter().map(|one| format!(", {one}")).collect();
            format!("{first}{middle} or {last}")
        }
        list => list.concat(),
    };
    let advice = kind.advice().map_or_else(String::new, |advice| format!("; {advice}"));
    Err(format!("{input} is {kind}, but `ptxc {command}` reads {list}{advice}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_only_one_kind_has_decides() {
        let elf = |machine: u8| {
            let mut bytes = b"\x7fELF".to_vec();
            bytes.resize(E_MACHINE, 0);
            bytes.extend([machine, 0]);
            bytes
        };
        assert_eq!((Kind::of(&elf(190)), Kind::of(&elf(62))), (Kind::Cubin, Kind::Elf));
        for (text, kind) in [
            ("", Kind::Empty),
            ("// a\n /* b */\n", Kind::Empty),
            ("\u{feff}// a\n/* b\n c */ .version 8.0\n", Kind::Ptx),
            (".target sm_90\n.address_size 64", Kind::Ptx),
            (".target sm_90\n.resources registers=7\n", Kind::Sass),
            ("\t.target\tsm_90\n\n\t.elftype\t@\"ET_EXEC\"\n", Kind::Sass),
            ("/*0010*/  EXIT ;", Kind::Sass),
            ("\nFatbin elf code:\n====", Kind::Sass),
            ("[B------:R-:W-:-:S05] /*0000*/ EXIT ;", Kind::Sass),
            ("// x\nfunc @k() {", Kind::Ir),
            ("{\n \"ptx\": \"k.ptx\"", Kind::Case),
            ("{\"a\": 1}", Kind::Json),
            ("{ foo", Kind::Text),
            ("#include <cuda.h>\n", Kind::Cuda),
            ("#include <cuda.h>\n#define N 4\nint f();\n", Kind::Cuda),
            ("#include \"f.h\"\n.version 8.0\n", Kind::Ptx),
            ("<html>\n<body>\n", Kind::Text),
            ("add.s32 %r1, %r2, 5;\n.reg .b32 %r3;\n", Kind::Unknown),
            ("target triple = \"nvptx64\"", Kind::LlvmIr),
            ("# A title\nand words\n.version 8.0", Kind::Unknown),
            ("#define N 4\n.version 8.0", Kind::Ptx),
            ("\x1f\u{8b}", Kind::Text),
            ("a\0", Kind::Binary),
        ] {
            assert_eq!(Kind::of(text.as_bytes()), kind, "{text}");
        }
        assert_eq!(Kind::of(b"\x1f\x8b\x08"), Kind::Compressed);
    }
}
