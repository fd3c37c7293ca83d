//! `ptxc disasm`: machine code to text.

use std::path::Path;

use ptxc_machine::Arch;

use crate::batch;
use crate::binary::{Disassembly, disassemble, disassemble_words, name_of};
use crate::cli::DisasmArgs;
use crate::destination::{Destination, Form, by_extension, heading};
use crate::input::Input;
use crate::kind::{Kind, expect};
use crate::lower::style;
use crate::output::{read_bytes, write};
use crate::sass_text::arch;
use crate::streams::{Outcome, Streams};

pub(crate) fn run(args: &DisasmArgs, streams: &mut Streams<'_>) -> Outcome {
    let arch = match arch(args.arch.as_deref()) {
        Ok(arch) => arch,
        Err(message) => return streams.usage(message),
    };
    if let Err(message) = by_extension(&args.output, &args.files, &[("sass", ())]) {
        return streams.usage(message);
    }
    let form = Form { name: "SASS text", extension: "sass", is_text: true };
    let targets = Destination::new(&args.output, args.files.len()).and_then(|destination| {
        let targets = destination.targets(&args.files, form, streams.surroundings.out_is_terminal)?;
        Ok((targets, destination))
    });
    let (targets, destination) = match targets {
        Ok(found) => found,
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
    input: &Input,
    output: &Path,
    args: &DisasmArgs,
    arch: Option<Arch>,
    streams: &mut Streams<'_>,
) -> Outcome {
    let bytes = match read_bytes(input, streams.stdin) {
        Ok(bytes) => bytes,
        Err(error) => return streams.failed(format!("{input}: {error}")),
    };
    // Bare instructions may begin with any bytes and contain zeros.
    let kind = expect(input, &bytes, "disasm", &[Kind::Cubin, Kind::Binary]);
    let style = style(args.control);
    let text = match (kind, arch) {
        (Ok(Kind::Cubin), _) => disassemble(&bytes, &args.kernel, &style),
        (Ok(_), Some(arch)) => disassemble_words(bytes, &name_of(input.path()), arch, &style),
        (Err(message), _) => return streams.failed(message),
        (Ok(_), None) => {
            return streams.failed(format!(
                "{input} is not a cubin; for bare instructions, give the architecture with --arch"
            ));
        }
    };
    match text {
        Ok(Disassembly { text, unknown, is_empty }) => {
            if is_empty {
                streams.note(format!("{input}: there is no code"));
            }
            for sentence in unknown {
                streams.note(format!("{input}: {sentence}"));
            }
            let heading = heading(input, args.files.len(), output);
            let result = write(output, heading + &text, streams.out);
            streams.written(output, result)
        }
        Err(why) => streams.failed(format!("{input}: {why}")),
    }
}
