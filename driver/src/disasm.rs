//! `ptxc disasm`: machine code to text.

use std::path::Path;

use ptxc_machine::Arch;

use crate::batch;
use crate::binary::{disassemble, disassemble_words, is_elf, name_of};
use crate::cli::DisasmArgs;
use crate::destination::Destination;
use crate::lower::style;
use crate::output::{read_bytes, write};
use crate::sass_text::arch;
use crate::streams::{Outcome, Streams};

pub(crate) fn run(args: &DisasmArgs, streams: &mut Streams<'_>) -> Outcome {
    let arch = match arch(args.arch.as_deref()) {
        Ok(arch) => arch,
        Err(message) => return streams.usage(message),
    };
    let destination = match Destination::new(Some(&args.output), args.files.len()) {
        Ok(destination) => destination,
        Err(message) => return streams.usage(message),
    };
    let targets = match destination.targets(&args.files, "sass") {
        Ok(targets) => targets,
        Err(message) => return streams.usage(message),
    };
    if let Err(message) = destination.prepare() {
        return streams.failed(message);
    }
    batch::run(&args.files, &args.jobs, streams, |file, streams, _| {
        disassembled(&args.files[file], &targets[file], args, arch, streams)
    })
}

fn disassembled(
    path: &str,
    output: &Path,
    args: &DisasmArgs,
    arch: Option<Arch>,
    streams: &mut Streams<'_>,
) -> Outcome {
    let bytes = match read_bytes(path, streams.stdin) {
        Ok(bytes) => bytes,
        Err(error) => return streams.failed(format!("{path}: {error}")),
    };
    let style = style(args.control);
    let text = if is_elf(&bytes) {
        disassemble(&bytes, &args.kernel, &style)
    } else {
        let Some(arch) = arch else {
            return streams.usage(format!(
                "{path} is not a cubin; for bare instructions, give the architecture with --arch"
            ));
        };
        disassemble_words(bytes, &name_of(path), arch, &style)
    };
    match text {
        Ok(text) => match write(output, &text, streams.out) {
            Ok(()) => Outcome::Done,
            Err(error) => streams.failed(format!("{}: {error}", output.display())),
        },
        Err(why) => streams.failed(format!("{path}: {why}")),
    }
}
