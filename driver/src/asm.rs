//! `ptxc asm`: text to machine code, in any notation of control fields.
//!
//! Every instruction that cannot be encoded is an error of its own, with its location. The kernels
//! go into one cubin, or the bare instructions of a single kernel go into a file called `.bin`.

use std::path::Path;

use ptxc_compiler::Located;
use ptxc_machine::Arch;
use ptxc_object::cubin::{CubinError, assemble_text, encode, write};
use ptxc_ptx::diagnostic::Severity;
use ptxc_sass::bits::{self, EncodeError};
use ptxc_sass::text::{Kernel, ReadOptions};
use ptxc_sass::{CodeRelocation, Coded, Program};

use crate::batch;
use crate::cli::AsmArgs;
use crate::destination::{Destination, Form, by_extension};
use crate::input::Input;
use crate::messages::report;
use crate::sass_text::{arch, load, span};
use crate::streams::{Outcome, Streams};

/// The code for an instruction that has no encoding.
const NO_ENCODING: &str = "E0985";

pub(crate) fn run(args: &AsmArgs, streams: &mut Streams<'_>) -> Outcome {
    let arch = match arch(args.arch.as_deref()) {
        Ok(arch) => arch,
        Err(message) => return streams.usage(message),
    };
    let options = ReadOptions { arch, ..ReadOptions::default() };
    let is_bare = match by_extension(&args.output, &args.files, &[("cubin", false), ("bin", true)]) {
        Ok(is_bare) => args.bare || is_bare == Some(true),
        Err(_) if args.bare => true,
        Err(message) => return streams.usage(message),
    };
    let form = match is_bare {
        true => Form { name: "bare code", extension: "bin", is_text: false },
        false => Form { name: "a cubin", extension: "cubin", is_text: false },
    };
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
        assembled(&args.files[file], &targets[file], is_bare, args, &options, streams)
    })
}

fn assembled(
    input: &Input,
    output: &Path,
    is_bare: bool,
    args: &AsmArgs,
    options: &ReadOptions,
    streams: &mut Streams<'_>,
) -> Outcome {
    let file = match load(input, "asm", options, args.message_format, streams) {
        Ok(file) => file,
        Err(failed) => return failed,
    };
    let path = input.shown();
    let found: Vec<Located> = file.module.kernels.iter().flat_map(errors).collect();
    if report(path, &file.text, &found, args.message_format, streams) != Outcome::Done {
        return Outcome::Failed;
    }
    let bytes = match (&file.module.kernels[..], is_bare) {
        (_, false) => assemble_text(&file.module, args.cubin_abi.into()).and_then(|cubin| write(&cubin)),
        ([kernel], true) => match kernel.program.relocations.first() {
            None => encode(&kernel.program),
            Some(CodeRelocation { symbol, .. }) => {
                let what = format!("bare code, which cannot hold the address of `{}`,", symbol.name);
                return streams.failed(format!("{path}: {}", CubinError::Unsupported(what)));
            }
        },
        ([], true) => return streams.failed(format!("{path} has no kernel")),
        (_, true) => {
            return streams.failed(format!("{path} has several kernels, but a file of bare code holds one"));
        }
    };
    match bytes {
        Ok(bytes) => {
            let result = crate::output::write(output, bytes, streams.out);
            streams.written(output, result)
        }
        Err(error) => streams.failed(format!("{path}: {error}")),
    }
}

/// The instructions of a kernel that have no encoding. Branch targets are in reach, wherever they
/// are.
fn errors(kernel: &Kernel) -> impl Iterator<Item = Located> {
    let program = &kernel.program;
    let label =
        |label: ptxc_sass::Label| program.labels.get(label.0 as usize).map(|at| at * Program::INST_BYTES);
    let encoded = program.insts.iter().zip(&kernel.spans).enumerate();
    encoded.filter_map(move |(index, (coded, place))| {
        if program.unknown_word(index as u32).is_some() {
            return None;
        }
        let offset = index as u32 * Program::INST_BYTES;
        let error = bits::encode(coded, offset, program.arch, label).err()?;
        Some(Located {
            code: NO_ENCODING.to_string(),
            severity: Severity::Error,
            message: error.to_string(),
            primary: (span(place), String::new()),
            secondary: Vec::new(),
            notes: forms(coded, &error, program.arch),
            help: None,
        })
    })
}

/// The forms that can be encoded, if this one cannot.
fn forms(coded: &Coded, error: &EncodeError, arch: Arch) -> Vec<String> {
    if !matches!(error, EncodeError::Form(..)) {
        return Vec::new();
    }
    let row = coded.inst.row();
    let names = row.slots.iter().map(|slot| slot.name);
    let names: Vec<_> = names.collect();
    let list = bits::forms(coded.inst.op, arch).into_iter().map(|shapes| {
        let slots = names.iter().zip(shapes).map(|(name, shape)| format!("{name}: {shape:?}"));
        slots.collect::<Vec<_>>().join(", ")
    });
    list.map(|form| format!("there is {} with {form}", row.mnemonic_on(arch))).collect()
}
