//! `ptxc lower a.ptx b.ptx -o whole.cubin`: several files become one program.
//!
//! Each file is compiled as a relocatable object; the objects are then linked. Names that the files
//! define twice or not at all are errors, with the places of both definitions or of the use.

use std::path::Path;

use ptxc_compiler::input::items::items;
use ptxc_compiler::whole::{Whole, WholeError, whole};
use ptxc_compiler::{Database, Settings, SourceFile, compile_in_parallel, diagnostics};
use ptxc_object::cubin::LinkError;

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

/// A file that has been read.
struct File<'a> {
    input: &'a Input,
    source: SourceFile,
}

impl File<'_> {
    /// `a.ptx:3:1`, the place of a function's definition; only the path if there is none.
    fn place(&self, db: &Database, name: &str) -> String {
        let path = self.input.shown();
        let mut functions = items(db, self.source).functions.iter();
        let Some(func) = functions.find(|func| func.has_body(db) && func.name(db) == name) else {
            return path.to_string();
        };
        let before = &self.source.text(db)[..func.offset(db) as usize];
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
    let pool = match rayon::ThreadPoolBuilder::new().num_threads(args.jobs.jobs.unwrap_or(0) as usize).build()
    {
        Ok(pool) => pool,
        Err(error) => return streams.failed(error),
    };
    let db = Database::default();
    let options = settings.options(&db);
    let mut files = Vec::new();
    let mut outcome = Outcome::Done;
    for input in &args.files {
        let text = match read_ptx(input, "lower", streams) {
            Ok(text) => text,
            Err(failed) => {
                outcome = failed;
                continue;
            }
        };
        let source = SourceFile::new(&db, input.to_string(), text);
        let shared = db.clone();
        pool.install(move || compile_in_parallel(&shared, source, options));
        let found = diagnostics(&db, source, options);
        if report(input.shown(), source.text(&db), &found, args.message_format, streams) != Outcome::Done {
            outcome = Outcome::Failed;
        }
        files.push(File { input, source });
    }
    if outcome != Outcome::Done {
        return outcome;
    }
    let program = Whole::new(&db, files.iter().map(|file| file.source).collect());
    match whole(&db, program, options).as_ref() {
        Ok(bytes) => {
            let result = write_with(&args.output, streams.out, |out| out.write_all(bytes));
            streams.written(&args.output, result)
        }
        Err(errors) => {
            let messages = errors.iter().map(|error| message(&db, error, &files, &args.output));
            messages.map(|message| streams.failed(message)).last().unwrap_or(Outcome::Failed)
        }
    }
}

fn message(db: &Database, error: &WholeError, files: &[File<'_>], output: &Path) -> String {
    let link = match error {
        WholeError::Link(link) => link,
        WholeError::Object { file, error } => return format!("{}: {error}", files[*file].input.shown()),
        WholeError::Cubin(error) => return format!("{}: {error}", output.display()),
    };
    match link {
        LinkError::Twice { name, objects: [first, second] } => {
            let [first, second] = [first, second].map(|&index| files[index].place(db, name));
            format!("{second}: `{name}` is defined twice; the other definition is at {first}")
        }
        LinkError::Undefined { user, object, .. } => format!("{}: {link}", files[*object].place(db, user)),
        LinkError::Words => link.to_string(),
        LinkError::Architectures { objects: [first, second] } => {
            let [first, second] = [first, second].map(|&index| files[index].input.shown());
            format!("{first} and {second} are for different architectures; --arch chooses one for both")
        }
    }
}
