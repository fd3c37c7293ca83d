//! Machine code from files: cubins and bare instructions.
//!
//! The machine code becomes text, so commands that accept text accept these files too. Their
//! diagnostics show lines of the disassembly.

use std::path::Path;

use ptxc_machine::Arch;
use ptxc_object::cubin::{Abi, Cubin, Function, read, write_text};
use ptxc_sass::text::Style;

use crate::unknown::sentence;

/// The text of machine code.
pub(crate) struct Disassembly {
    pub(crate) text: String,
    /// A sentence for each kernel with words that are not known instructions.
    pub(crate) unknown: Vec<String>,
    /// Whether there is no code at all.
    pub(crate) is_empty: bool,
}

/// The text of a cubin: the kernels named in `names`, or all kernels if it is empty, then the
/// variables that they name.
///
/// # Errors
/// The reason why the file cannot be read.
pub(crate) fn disassemble(bytes: &[u8], names: &[String], style: &Style) -> Result<Disassembly, String> {
    let cubin = read(bytes).map_err(|error| error.to_string())?;
    text(&cubin, names, style)
}

/// The text of bare instructions, 16 bytes each.
///
/// # Errors
/// The reason why they cannot be decoded.
pub(crate) fn disassemble_words(
    code: Vec<u8>,
    name: &str,
    arch: Arch,
    style: &Style,
) -> Result<Disassembly, String> {
    let name = name.to_string();
    let function = Function { name, is_kernel: true, code, max_registers: 255, ..Function::default() };
    let cubin = Cubin {
        outside: Default::default(),
        prototypes: Default::default(),
        outside_variables: Default::default(),
        arch,
        accelerated: false,
        abi: Abi::default(),
        functions: vec![function],
        variables: Vec::new(),
        images: Vec::new(),
        address_bytes: 0,
        addresses: Vec::new(),
        files: Vec::new(),
        debug: Default::default(),
        relocatable: false,
        attributes: Vec::new(),
        compatibility: Vec::new(),
        symbols: Vec::new(),
    };
    text(&cubin, &[], style)
}

fn text(cubin: &Cubin, names: &[String], style: &Style) -> Result<Disassembly, String> {
    let (text, programs) = write_text(cubin, names, style).map_err(|error| error.to_string())?;
    let unknown = programs.iter().filter_map(sentence).collect();
    Ok(Disassembly { text, unknown, is_empty: programs.is_empty() })
}

/// A name for bare code, derived from the name of its file.
pub(crate) fn name_of(path: &Path) -> String {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let name: String = stem.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    match name.chars().next() {
        Some(first) if !first.is_ascii_digit() => name,
        _ => format!("_{name}"),
    }
}
