//! The arguments of `ptxc decode`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::input::{self, Input};

/// How to write decoded instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DecodeFormat {
    /// Aligned columns for people.
    Table,
    /// One JSON object per line.
    Json,
    /// Comma-separated values.
    Csv,
    /// A Parquet data frame.
    Parquet,
    /// An HTML page for a browser.
    Html,
}

/// `ptxc decode`.
#[derive(Debug, Args)]
pub struct DecodeArgs {
    /// Cubins, fatbins, files that contain them, or disassembly; `-` is standard input.
    ///
    /// The files may be objects, shared objects, programs and archives.
    ///
    /// Disassembly is text from `nvdisasm -hex` or `cuobjdump -sass`.
    #[arg(required = true, value_parser = input::parser())]
    pub files: Vec<Input>,
    /// The output; `-` is standard output.
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    pub output: PathBuf,
    /// The format (default: by OUT's extension .txt, .json, .jsonl, .csv, .parquet or .html).
    ///
    /// Without an extension, the format is the table.
    #[arg(long, value_enum)]
    pub format: Option<DecodeFormat>,
    /// Show only code of this architecture.
    ///
    /// For text that does not name its architecture, use this one.
    #[arg(long, value_name = "ARCH")]
    pub arch: Option<String>,
    /// Show only the function of this name; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub function: Vec<String>,
}
