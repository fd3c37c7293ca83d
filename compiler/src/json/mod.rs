//! Kernels as JSON: blocks, instructions with their control fields and encodings, dependences,
//! explanations.
//!
//! In: finished kernels of one file. Out: one document, as `docs/json.md` describes it. It is
//! written while it is produced, a line for each instruction and each dependence, so a long
//! document takes no more memory than a short one.
//!
//! ```
//! use ptxc_compiler::output::kernels;
//! use ptxc_compiler::{Database, Options, SourceFile, json};
//!
//! let db = Database::default();
//! let file = SourceFile::new(&db, "k.ptx".into(), ".version 9.0\n.target sm_90\n.entry k() { ret; }".into());
//! let codes: Vec<_> = kernels(&db, file, Options::defaults(&db)).into_iter().filter_map(|(_, code)| code).collect();
//! let mut text = Vec::new();
//! json::write(&mut text, "k.ptx", ptxc_machine::Arch::Sm90, &codes).unwrap();
//! assert!(String::from_utf8(text).unwrap().contains("\"instruction\":\"EXIT\""));
//! ```

mod explanation;
mod instruction;
mod kernel;
mod lines;

use std::io::{self, Write};

use ptxc_codegen::func_code::FuncCode;
use ptxc_machine::Arch;
use serde::{Serialize, Serializer};

use kernel::Kernel;
use lines::Lines;

/// The version of the schema. It grows when a field changes its meaning or is removed, not when a
/// field is added.
pub const SCHEMA: u32 = 1;

/// The top level of the document.
#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    file: &'a str,
    architecture: String,
    kernels: Kernels<'a>,
}

/// The kernels. Each is looked at when it is written.
struct Kernels<'a>(&'a [&'a FuncCode]);

impl Serialize for Kernels<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|code| Kernel::new(code)))
    }
}

/// Writes the kernels of a file.
///
/// # Errors
/// If the writer fails.
pub fn write(out: &mut dyn Write, file: &str, arch: Arch, kernels: &[&FuncCode]) -> io::Result<()> {
    let document =
        Document { schema: SCHEMA, file, architecture: arch.to_string(), kernels: Kernels(kernels) };
    let mut serializer = serde_json::Serializer::with_formatter(&mut *out, Lines::default());
    document.serialize(&mut serializer)?;
    out.write_all(b"\n")
}
