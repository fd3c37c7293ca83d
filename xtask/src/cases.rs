//! The execution cases: those of this repository, of the corpus, and of the folder `field` next to
//! the corpus.

use std::path::{Path, PathBuf};

use ptxc_machine::Arch;

/// The selected cases, each once. A name is a case's file, a folder of cases, or a part of the
/// names of cases in the usual folders; without names, all cases of the usual folders are selected.
pub(crate) fn find(corpus: &Path, names: &[String]) -> Vec<PathBuf> {
    let (files, parts): (Vec<&String>, Vec<&String>) =
        names.iter().partition(|name| is_place(Path::new(name)));
    let mut paths = Vec::new();
    if !parts.is_empty() || names.is_empty() {
        paths = usual(corpus);
        let is_meant =
            |path: &PathBuf| parts.is_empty() || parts.iter().any(|part| stem(path).contains(*part));
        paths.retain(is_meant);
    }
    for file in files.into_iter().map(Path::new) {
        match file.is_dir() {
            true => paths.extend(cases_in(file)),
            false => paths.push(file.to_path_buf()),
        }
    }
    let mut seen = std::collections::HashSet::new();
    paths.retain(|path| seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())));
    paths
}

/// Whether a name is a file or a folder. A word without a separator is a part of a case's name,
/// whatever is in the current folder.
fn is_place(name: &Path) -> bool {
    let is_case = name.extension().is_some_and(|extension| extension == "json");
    (is_case || name.components().count() > 1) && name.exists()
}

/// The cases of the usual folders. Prints a note if the corpus is missing.
fn usual(corpus: &Path) -> Vec<PathBuf> {
    let mut paths = cases_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/cases"));
    let of_corpus = cases_in(&corpus.join("exec"));
    if of_corpus.is_empty() {
        eprintln!("SKIPPED: the cases of {}, which is absent", corpus.display());
    }
    paths.extend(of_corpus);
    paths.extend(cases_in(&corpus.join("../field")));
    paths
}

/// The cases of a folder, by name.
pub(crate) fn cases_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    paths
}

/// The name of a case.
pub(crate) fn stem(path: &Path) -> &str {
    path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("")
}

/// The architecture that a sample of the settings tries for the case with this index.
pub(crate) fn turn(archs: &[Arch], index: usize) -> Arch {
    archs[index % archs.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_part_of_names_a_file_or_a_folder() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/cases");
        let find = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
            let found = find(Path::new("no/corpus"), &names);
            found.iter().map(|path| stem(path).to_string()).collect::<Vec<_>>()
        };
        let (saxpy, all) = (folder.join("saxpy.json"), cases_in(&folder).len());
        let (saxpy, folder) = (saxpy.to_str().unwrap(), folder.to_str().unwrap());
        assert_eq!(find(&["saxp", "nquee"]), ["nqueens", "saxpy"]);
        assert_eq!(find(&[saxpy]), ["saxpy"]);
        assert_eq!(find(&["nquee", saxpy, "saxp"]), ["nqueens", "saxpy"], "each once");
        assert_eq!((find(&[folder]).len(), find(&[]).len()), (all, all));
        assert!(find(&["no such case"]).is_empty());
    }
}
