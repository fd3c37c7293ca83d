//! The book in `docs/`: the tour shows what the program prints, the links lead to their targets,
//! and the listings are correct.

mod blocks;
mod links;
mod tour;

use std::path::{Path, PathBuf};

/// The folder of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The pages of the book and the README, with their paths in the repository, in order.
fn pages() -> Vec<(PathBuf, String)> {
    let mut found = vec![PathBuf::from("README.md")];
    let mut folders = vec![PathBuf::from("docs")];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(root().join(&folder)).expect("the folder can be read");
        for entry in entries {
            let entry = entry.expect("it can be read");
            let path = folder.join(entry.file_name());
            match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                true => folders.push(path),
                false if path.extension().is_some_and(|extension| extension == "md") => found.push(path),
                false => {}
            }
        }
    }
    found.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(root().join(&path)).expect("the page is text");
        (path, text)
    };
    found.into_iter().map(read).collect()
}

/// Runs a command line without the program's name, and returns its exit code, standard output and
/// standard error.
fn ptxc(words: &[&str]) -> (i32, String, String) {
    let words: Vec<String> = std::iter::once("ptxc").chain(words.iter().copied()).map(String::from).collect();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = ptxc::run(&words, &mut std::io::empty(), &mut out, &mut err);
    let text = |bytes| String::from_utf8(bytes).expect("it prints text");
    (code, text(out), text(err))
}
