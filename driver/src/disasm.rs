//! `ptxc disasm`: machine code to text.

use crate::binary::{disassemble, disassemble_words, is_elf, name_of};
use crate::cli::DisasmArgs;
use crate::lower::style;
use crate::output::{read_bytes, write};
use crate::sass_text::arch;
use crate::{Outcome, Streams};

pub(crate) fn run(args: &DisasmArgs, streams: &mut Streams<'_>) -> Outcome {
    let path = &args.file;
    let arch = match arch(args.arch.as_deref()) {
        Ok(arch) => arch,
        Err(message) => return streams.usage(message),
    };
    let bytes = match read_bytes(path, streams.stdin) {
        Ok(bytes) => bytes,
        Err(error) => return streams.failed(format!("{path}: {error}")),
    };
    let style = style(args.control);
    let text = if is_elf(&bytes) {
        disassemble(&bytes, &args.kernel, &style)
    } else {
        let Some(arch) = arch else {
            return streams
                .usage(format!("{path} is no cubin; for bare instructions, --arch says of what machine"));
        };
        disassemble_words(bytes, &name_of(path), arch, &style)
    };
    match text {
        Ok(text) => match write(&args.output, &text, streams.out) {
            Ok(()) => Outcome::Done,
            Err(error) => streams.failed(format!("{}: {error}", args.output.display())),
        },
        Err(why) => streams.failed(format!("{path}: {why}")),
    }
}
