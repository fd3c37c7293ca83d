//! `ptxc verify`: the static hazard check on SASS text.

use ptxc_compiler::Located;
use ptxc_sass::text::ReadOptions;
use ptxc_sass::verify::{Order, check_with, parted_lanes};

use crate::batch;
use crate::cli::VerifyArgs;
use crate::hazard::{group, located};
use crate::input::Input;
use crate::messages::{print, sum};
use crate::sass_text::{arch, count, load};
use crate::streams::{Outcome, Streams};
use crate::unknown::sentence;

pub(crate) fn run(args: &VerifyArgs, streams: &mut Streams<'_>) -> Outcome {
    let arch = match arch(args.arch.as_deref()) {
        Ok(arch) => arch,
        Err(message) => return streams.usage(message),
    };
    let options = ReadOptions { arch, without_control: false, keeps_unknown: true };
    let order = if args.strict { Order::Own } else { Order::InOrder };
    batch::run(&args.files, &args.jobs, streams, |file, streams, _| {
        verify(&args.files[file], args, &options, order, streams)
    })
}

fn verify(
    input: &Input,
    args: &VerifyArgs,
    options: &ReadOptions,
    order: Order,
    streams: &mut Streams<'_>,
) -> Outcome {
    let file = match load(input, "verify", options, args.message_format, streams) {
        Ok(file) => file,
        Err(failed) => return failed,
    };
    let path = input.shown();
    let mut outcome = Outcome::Done;
    let kernels = &file.module.kernels;
    let hazards: Vec<Located> = kernels
        .iter()
        .flat_map(|kernel| {
            let mut hazards = check_with(&kernel.program, order).err().unwrap_or_default();
            hazards.extend(parted_lanes(&kernel.program));
            hazards.sort();
            group(&hazards).map(|group| located(kernel, group)).collect::<Vec<_>>()
        })
        .collect();
    if print(path, &file.text, &hazards, args.message_format, streams) != Outcome::Done {
        outcome = Outcome::Failed;
    }
    for sentence in kernels.iter().filter_map(|kernel| sentence(&kernel.program)) {
        // A failure of standard output is reported by the caller of the command.
        let _ = writeln!(streams.out, "{path}: not known: {sentence}, and everything that depends on them");
    }
    if hazards.is_empty() {
        let instructions = kernels.iter().map(|kernel| kernel.program.insts.len()).sum();
        let (kernels, instructions) = (count(kernels.len(), "kernel"), count(instructions, "instruction"));
        let _ = writeln!(streams.out, "{path}: {kernels}, {instructions}, no hazard");
    } else {
        outcome = Outcome::Failed;
        let line = format!("{} in {path}", count(hazards.len(), "hazard"));
        sum(&line, args.message_format, streams);
    }
    outcome
}
