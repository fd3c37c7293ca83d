//! `ptxc check`.

use ptxc_compiler::{Database, SourceFile, output};
use ptxc_passes::check::env::PtxTarget;
use ptxc_passes::check::requirements::Strictness;

use crate::cli::CheckArgs;
use crate::messages::report;
use crate::output::read;
use crate::{Outcome, Streams};

pub(crate) fn run(args: &CheckArgs, streams: &mut Streams<'_>) -> Outcome {
    let target = match args.arch.as_deref().map(|name| (name, PtxTarget::parse(name))) {
        None => None,
        Some((_, Some(target))) => Some(target),
        Some((name, None)) => {
            return streams.usage(format!("`{name}` is no target such as sm_90 or sm_100f"));
        }
    };
    let mut outcome = Outcome::Done;
    for path in &args.files {
        let text = match read(path, streams.stdin) {
            Ok(text) => text,
            Err(error) => {
                outcome = streams.failed(format!("{path}: {error}"));
                continue;
            }
        };
        let db = Database::default();
        let file = SourceFile::new(&db, path.clone(), text);
        let strictness = if args.strict { Strictness::Strict } else { Strictness::Splits };
        let found = output::check(&db, file, target, strictness);
        if report(path, file.text(&db), &found, args.message_format, streams) != Outcome::Done {
            outcome = Outcome::Failed;
        }
    }
    outcome
}
