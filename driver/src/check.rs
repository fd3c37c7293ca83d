//! `ptxc check`.

use ptxc_compiler::{Database, SourceFile, output};
use ptxc_ptx::check::env::PtxTarget;
use ptxc_ptx::check::requirements::Strictness;
use ptxc_ptx::check::targets;

use crate::batch;
use crate::cli::CheckArgs;
use crate::input::Input;
use crate::messages::report;
use crate::ptx_text::read_ptx;
use crate::streams::{Outcome, Streams};

pub(crate) fn run(args: &CheckArgs, streams: &mut Streams<'_>) -> Outcome {
    let target = match args.arch.as_deref().map(|name| (name, PtxTarget::parse(name))) {
        None => None,
        Some((_, Some(target))) if targets::first_version(target).is_some() => Some(target),
        Some((name, _)) => {
            let known: Vec<String> = targets::all().map(|target| target.to_string()).collect();
            return streams.usage(format!("no target `{name}`; there are {}", known.join(", ")));
        }
    };
    batch::run(&args.files, &args.jobs, streams, |file, streams, _| {
        check(&args.files[file], args, target, streams)
    })
}

fn check(input: &Input, args: &CheckArgs, target: Option<PtxTarget>, streams: &mut Streams<'_>) -> Outcome {
    let text = match read_ptx(input, "check", streams) {
        Ok(text) => text,
        Err(failed) => return failed,
    };
    let path = input.shown();
    if args.syntax {
        return report(path, &text, &output::check_syntax(&text), args.message_format, streams);
    }
    let db = Database::default();
    let file = SourceFile::new(&db, path.to_string(), text);
    let strictness = if args.strict { Strictness::Strict } else { Strictness::Splits };
    let found = output::check(&db, file, target, strictness);
    report(path, file.text(&db), &found, args.message_format, streams)
}
