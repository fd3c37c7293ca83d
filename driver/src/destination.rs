//! Where the outputs of a command with one or several inputs go.

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use crate::output::check_overwrites;

/// The destination that `--output` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// To standard output, one after the other.
    Stream,
    /// Next to each input; for standard input, to standard output.
    Beside,
    /// Into a folder, which is created if necessary.
    Folder(PathBuf),
    /// Into this file.
    File(PathBuf),
}

impl Destination {
    /// The destination for `inputs` inputs. An existing folder, or a path that ends with a
    /// separator, is a folder.
    ///
    /// # Errors
    /// Several inputs cannot go into one file.
    pub(crate) fn new(output: Option<&Path>, inputs: usize) -> Result<Destination, String> {
        let Some(output) = output else { return Ok(Destination::Beside) };
        if output == Path::new("-") {
            return Ok(Destination::Stream);
        }
        let ends_as_folder =
            output.as_os_str().to_string_lossy().ends_with(|c: char| std::path::is_separator(c));
        if ends_as_folder || output.is_dir() {
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

    /// The output file for each input. A file that is named after its input gets this extension.
    ///
    /// # Errors
    /// Two inputs would be written to one file, or an output is an input.
    pub(crate) fn targets(&self, inputs: &[String], extension: &str) -> Result<Vec<PathBuf>, String> {
        let targets: Vec<PathBuf> = inputs.iter().map(|input| self.target(input, extension)).collect();
        let mut writers: FxHashMap<PathBuf, &str> = FxHashMap::default();
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
        check_overwrites(inputs.iter().map(String::as_str), written)?;
        Ok(targets)
    }

    fn target(&self, input: &str, extension: &str) -> PathBuf {
        match self {
            Destination::Stream => PathBuf::from("-"),
            Destination::Beside if input == "-" => PathBuf::from("-"),
            Destination::Beside => Path::new(input).with_extension(extension),
            Destination::Folder(folder) => {
                let name = if input == "-" { "stdin" } else { input };
                let stem = Path::new(name).file_stem().unwrap_or_default();
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

    fn inputs(list: &[&str]) -> Vec<String> {
        list.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn outputs_are_named_after_their_inputs() {
        let folder = Destination::new(Some(Path::new("out/")), 2).unwrap();
        let targets = folder.targets(&inputs(&["a/x.ptx", "b/y.v2.ptx", "-"]), "sass").unwrap();
        assert_eq!(targets, ["out/x.sass", "out/y.v2.sass", "out/stdin.sass"].map(PathBuf::from));
        let beside = Destination::new(None, 2).unwrap();
        let targets = beside.targets(&inputs(&["a/x.ptx", "-"]), "cubin").unwrap();
        assert_eq!(targets, ["a/x.cubin", "-"].map(PathBuf::from));
    }

    #[test]
    fn one_file_is_for_one_input() {
        assert!(Destination::new(Some(Path::new("no-such-folder")), 2).is_err());
        let one = Destination::new(Some(Path::new("no-such-folder")), 1).unwrap();
        assert_eq!(one, Destination::File(PathBuf::from("no-such-folder")));
        assert_eq!(Destination::new(Some(Path::new("-")), 9).unwrap(), Destination::Stream);
    }

    #[test]
    fn two_inputs_for_one_output_are_an_error() {
        let folder = Destination::Folder(PathBuf::from("out"));
        assert!(folder.targets(&inputs(&["a/x.ptx", "b/x.ptx"]), "sass").is_err());
        assert!(Destination::Beside.targets(&inputs(&["x.ptx", "./x.txt"]), "sass").is_err());
        assert!(Destination::Stream.targets(&inputs(&["x.ptx", "x.ptx"]), "sass").is_ok());
    }
}
