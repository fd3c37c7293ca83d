//! The files that are compiled: those of `tests/lit`, those of this folder, and the corpus if it is
//! available.

use std::path::{Path, PathBuf};

use ptxc_machine::Arch;

/// A PTX file that both compilers get.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    /// Its name in the list: the name of the folder and the path in it, without `.ptx`.
    pub name: String,
    path: PathBuf,
}

/// The folders, and the names of the folders in the list.
fn roots() -> [(&'static str, PathBuf); 4] {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let corpus = tests.join("../../shared/corpus/ptx");
    [
        ("witness", tests.join("shapes/witnesses")),
        ("lit", tests.join("lit")),
        ("t1", corpus.join("t1")),
        ("t2", corpus.join("t2")),
    ]
}

impl Source {
    /// All files, sorted by name.
    pub fn all() -> Vec<Source> {
        let mut all = Vec::new();
        for (name, root) in roots() {
            let mut folders = vec![(name.to_string(), root)];
            while let Some((name, folder)) = folders.pop() {
                for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                    let path = entry.path();
                    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    if path.is_dir() {
                        folders.push((format!("{name}/{file}"), path));
                    } else if let Some(stem) = file.strip_suffix(".ptx") {
                        all.push(Source { name: format!("{name}/{stem}"), path });
                    }
                }
            }
        }
        all.sort();
        all
    }

    /// The files that are compiled for an architecture: of a kernel that the corpus has for
    /// several, the file for the newest architecture that is not newer.
    pub fn of(all: &[Source], arch: Arch) -> Vec<&Source> {
        let mut chosen: Vec<&Source> = Vec::new();
        for source in all {
            match chosen.last().filter(|last| last.kernel() == source.kernel()) {
                // The names of a kernel's files are sorted by their architecture.
                Some(_) if source.number() <= arch.number() => {
                    chosen.pop();
                    chosen.push(source);
                }
                Some(_) => {}
                None => chosen.push(source),
            }
        }
        chosen
    }

    /// The name without its architecture.
    fn kernel(&self) -> &str {
        self.name.split_once(".sm_").map_or(&self.name, |(kernel, _)| kernel)
    }

    /// The number of the architecture in the name, 0 without.
    fn number(&self) -> u32 {
        self.name.split_once(".sm_").and_then(|(_, number)| number.parse().ok()).unwrap_or(0)
    }

    /// Its text, adapted to an architecture.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn text(&self, arch: Arch) -> Result<String, String> {
        let text = std::fs::read_to_string(&self.path).map_err(|error| format!("{}: {error}", self.name))?;
        let target = |line: &str| match line.trim_start().strip_prefix(".target") {
            Some(_) => format!(".target {arch}\n"),
            None => format!("{line}\n"),
        };
        Ok(text.lines().map(target).collect())
    }
}
