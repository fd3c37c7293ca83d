//! `ptxc lower a.ptx b.ptx -o whole.cubin`: several files become one program.
//!
//! Each file is compiled as a relocatable object; the objects are then linked. Names that the files
//! define twice or not at all are errors, with the places of both definitions or of the use.

use std::path::Path;

use ptxc_compiler::cubin::object;
use ptxc_compiler::input::items::items;
use ptxc_compiler::{Database, Settings, SourceFile, diagnostics};
use ptxc_object::cubin::{LinkError, link, write};

use super::{Emit, settings};

use crate::cli::LowerArgs;
use crate::input::Input;
use crate::messages::report;
use crate::output::{check_overwrites, write_with};
use crate::ptx_text::read_ptx;
use crate::streams::{Outcome, Streams};

/// Whether the arguments ask for one program from several files.
pub(super) fn is_wanted(args: &LowerArgs, emits: &[Emit]) -> bool {
    let output = &args.output;
    let is_folder = output.to_string_lossy().ends_with(std::path::is_separator) || output.is_dir();
    args.files.len() > 1 && emits == [Emit::Cubin] && output != Path::new("-") && !is_folder
}

/// A file with its text.
struct File<'a> {
    input: &'a Input,
    db: Database,
    source: SourceFile,
}

impl File<'_> {
    /// `a.ptx:3:1`, the place of a function's definition; only the path if there is none.
    fn place(&self, name: &str) -> String {
        let path = self.input.shown();
        let mut functions = items(&self.db, self.source).functions.iter();
        let Some(func) = functions.find(|func| func.has_body(&self.db) && func.name(&self.db) == name) else {
            return path.to_string();
        };
        let before = &self.source.text(&self.db)[..func.offset(&self.db) as usize];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |rest| rest.chars().count()) + 1;
        format!("{path}:{line}:{column}")
    }
}

pub(super) fn run(args: &LowerArgs, streams: &mut Streams<'_>) -> Outcome {
    if args.compile_only || args.watch || !args.kernel.is_empty() {
        return streams
            .usage("one cubin from several files is a whole program: without -c, --watch and --kernel");
    }
    if let Err(message) = check_overwrites(args.files.iter().map(Input::path), [&*args.output]) {
        return streams.usage(message);
    }
    let settings = match settings(&args.code, args.lineinfo, args.cubin_abi.into()) {
        Ok(settings) => Settings { relocatable: true, ..settings },
        Err(message) => return streams.usage(message),
    };
    let (mut files, mut objects) = (Vec::new(), Vec::new());
    let mut outcome = Outcome::Done;
    for input in &args.files {
        let text = match read_ptx(input, "lower", streams) {
            Ok(text) => text,
            Err(failed) => {
                outcome = failed;
                continue;
            }
        };
        let db = Database::default();
        let source = SourceFile::new(&db, input.to_string(), text);
        let options = settings.clone().options(&db);
        let found = diagnostics(&db, source, options);
        if report(input.shown(), source.text(&db), &found, args.message_format, streams) != Outcome::Done {
            outcome = Outcome::Failed;
            continue;
        }
        match object(&db, source, options) {
            Ok(cubin) => objects.push(cubin),
            Err(error) => outcome = streams.failed(format!("{}: {error}", input.shown())),
        }
        files.push(File { input, db, source });
    }
    if outcome != Outcome::Done {
        return outcome;
    }
    let linked = link(objects).map(|cubin| write(&cubin));
    match linked {
        Ok(Ok(bytes)) => {
            let result = write_with(&args.output, streams.out, |out| out.write_all(&bytes));
            streams.written(&args.output, result)
        }
        Ok(Err(error)) => streams.failed(format!("{}: {error}", args.output.display())),
        Err(errors) => errors
            .iter()
            .map(|error| streams.failed(message(error, &files)))
            .last()
            .unwrap_or(Outcome::Failed),
    }
}

fn message(error: &LinkError, files: &[File<'_>]) -> String {
    match error {
        LinkError::Twice { name, objects: [first, second] } => {
            let [first, second] = [first, second].map(|&index| files[index].place(name));
            format!("{second}: `{name}` is defined twice; the other definition is at {first}")
        }
        LinkError::Undefined { user, object, .. } => format!("{}: {error}", files[*object].place(user)),
        LinkError::Architectures { objects: [first, second] } => {
            let [first, second] = [first, second].map(|&index| files[index].input.shown());
            format!("{first} and {second} are for different architectures; --arch chooses one for both")
        }
    }
}
