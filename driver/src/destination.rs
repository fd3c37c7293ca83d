//! Where the outputs of a command with one or several inputs go.

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use crate::input::Input;
use crate::output::check_overwrites;

/// The destination that `--output` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// To standard output, one after the other.
    Stream,
    /// Into a folder, which is created if necessary.
    Folder(PathBuf),
    /// Into this file.
    File(PathBuf),
}

/// The form of an output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form<'a> {
    /// The form in a message: `a cubin`.
    pub(crate) name: &'a str,
    /// The extension of files in this form.
    pub(crate) extension: &'a str,
    /// Whether the output is text, which people can read.
    pub(crate) is_text: bool,
}

/// The form that the extension of an output file selects, among those that a command writes. `None`
/// if the output is standard output, a folder, a device or a file without an extension.
///
/// # Errors
/// The extension means nothing to the command, perhaps because the output is an input.
pub(crate) fn by_extension<T: Copy>(
    output: &Path,
    inputs: &[Input],
    known: &[(&str, T)],
) -> Result<Option<T>, String> {
    if output == Path::new("-") || is_folder(output) {
        return Ok(None);
    }
    let Some(extension) = output.extension() else { return Ok(None) };
    match known.iter().find(|(name, _)| extension == *name) {
        Some((_, form)) => Ok(Some(*form)),
        None => {
            check_overwrites(inputs.iter().map(Input::path), [output])?;
            let list: Vec<String> = known.iter().map(|(name, _)| format!("`.{name}`")).collect();
            Err(format!(
                "{}: the extension `.{}` means nothing here; the extensions are {}",
                output.display(),
                extension.display(),
                list.join(", ")
            ))
        }
    }
}

/// The line before the text of an input, which names it if standard output gets several texts.
pub(crate) fn heading(input: &Input, inputs: usize, output: &Path) -> String {
    match inputs > 1 && output == Path::new("-") {
        true => format!("// {input}\n"),
        false => String::new(),
    }
}

/// Whether an output is an existing folder, or a path that ends with a separator.
fn is_folder(output: &Path) -> bool {
    let ends_as_folder = output.as_os_str().to_string_lossy().ends_with(|c: char| std::path::is_separator(c));
    ends_as_folder || output.is_dir()
}

impl Destination {
    /// The destination for `inputs` inputs. An existing folder, or a path that ends with a
    /// separator, is a folder.
    ///
    /// # Errors
    /// Several inputs cannot go into one file.
    pub(crate) fn new(output: &Path, inputs: usize) -> Result<Destination, String> {
        if output == Path::new("-") {
            return Ok(Destination::Stream);
        }
        if is_folder(output) {
            return Ok(Destination::Folder(output.to_path_buf()));
        }
        if inputs > 1 {
            return Err(format!(
                "with several files, --output must be `-` or a folder; to create a folder, write `{}/`",
                output.display()
            ));
        }
        Ok(Destination::File(output.to_path_buf()))
    }

    /// The output file for each input, in one form.
    ///
    /// # Errors
    /// Two inputs would be written to one file, an output is an input, or bytes that are not text
    /// would go to a terminal or be joined.
    pub(crate) fn targets(
        &self,
        inputs: &[Input],
        form: Form<'_>,
        out_is_terminal: bool,
    ) -> Result<Vec<PathBuf>, String> {
        let Form { name, extension, is_text } = form;
        if *self == Destination::Stream && !is_text {
            if out_is_terminal {
                return Err(format!(
                    "{name} is not for a terminal; write it to a file with `-o FILE.{extension}`"
                ));
            }
            if inputs.len() > 1 {
                return Err(format!(
                    "standard output holds {name} of one file; for several files, write `-o FOLDER/`"
                ));
            }
        }
        let targets: Vec<PathBuf> = inputs.iter().map(|input| self.target(input, extension)).collect();
        let mut writers: FxHashMap<PathBuf, &Input> = FxHashMap::default();
        let mut folders: FxHashMap<&Path, PathBuf> = FxHashMap::default();
        for (input, target) in inputs.iter().zip(&targets) {
            if target == Path::new("-") {
                continue;
            }
            // Two paths to the same file have the same canonical folder.
            let folder = target.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
            let folder = folders
                .entry(folder)
                .or_insert_with(|| std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf()));
            let place = folder.join(target.file_name().unwrap_or_default());
            if let Some(first) = writers.insert(place, input) {
                return Err(format!(
                    "`{first}` and `{input}` would both be written to {}; nothing written",
                    target.display()
                ));
            }
        }
        let written = targets.iter().map(PathBuf::as_path).filter(|target| *target != Path::new("-"));
        check_overwrites(inputs.iter().map(Input::path), written)?;
        Ok(targets)
    }

    fn target(&self, input: &Input, extension: &str) -> PathBuf {
        match self {
            Destination::Stream => PathBuf::from("-"),
            Destination::Folder(folder) => {
                let name = if input.is_stream() { Path::new("stdin") } else { input.path() };
                let stem = name.file_stem().unwrap_or_default();
                folder.join(Path::new(stem).with_added_extension(extension))
            }
            Destination::File(file) => file.clone(),
        }
    }

    /// Creates the folder, if the destination is one.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub(crate) fn prepare(&self) -> Result<(), String> {
        match self {
            Destination::Folder(folder) => {
                std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SASS: Form<'_> = Form { name: "SASS text", extension: "sass", is_text: true };
    const CUBIN: Form<'_> = Form { name: "a cubin", extension: "cubin", is_text: false };

    fn inputs(list: &[&str]) -> Vec<Input> {
        list.iter().map(|&path| Input::from(path)).collect()
    }

    #[test]
    fn outputs_are_named_after_their_inputs() {
        let folder = Destination::new(Path::new("out/"), 2).unwrap();
        let targets = folder.targets(&inputs(&["a/x.ptx", "b/y.v2.ptx", "-"]), SASS, false).unwrap();
        assert_eq!(targets, ["out/x.sass", "out/y.v2.sass", "out/stdin.sass"].map(PathBuf::from));
        let stream = Destination::new(Path::new("-"), 2).unwrap();
        let targets = stream.targets(&inputs(&["a/x.ptx", "-"]), SASS, true).unwrap();
        assert_eq!(targets, ["-", "-"].map(PathBuf::from));
    }

    #[test]
    fn one_file_is_for_one_input() {
        assert!(Destination::new(Path::new("no-such-folder"), 2).is_err());
        let one = Destination::new(Path::new("no-such-folder"), 1).unwrap();
        assert_eq!(one, Destination::File(PathBuf::from("no-such-folder")));
        assert_eq!(Destination::new(Path::new("-"), 9).unwrap(), Destination::Stream);
    }

    #[test]
    fn two_inputs_for_one_output_are_an_error() {
        let folder = Destination::Folder(PathBuf::from("out"));
        assert!(folder.targets(&inputs(&["a/x.ptx", "b/x.ptx"]), SASS, false).is_err());
        assert!(folder.targets(&inputs(&["x.ptx", "./x.txt"]), SASS, false).is_err());
        assert!(Destination::Stream.targets(&inputs(&["x.ptx", "x.ptx"]), SASS, false).is_ok());
    }

    #[test]
    fn cubins_are_neither_joined_nor_shown() {
        let one = |is_terminal| Destination::Stream.targets(&inputs(&["x.ptx"]), CUBIN, is_terminal);
        assert!(one(false).is_ok() && one(true).is_err());
        assert!(Destination::Stream.targets(&inputs(&["x.ptx", "y.ptx"]), CUBIN, false).is_err());
    }

    #[test]
    fn an_extension_must_mean_something() {
        let known = [("sass", 1), ("json", 2)];
        let form = |output: &str| by_extension(Path::new(output), &[], &known);
        assert_eq!(form("a.b/k.json"), Ok(Some(2)));
        for output in ["-", "out", "/dev/null", "out.d/"] {
            assert_eq!(form(output), Ok(None), "{output}");
        }
        let message = form("k.txt").unwrap_err();
        assert!(message.contains("`.sass`, `.json`"), "{message}");
    }
}
