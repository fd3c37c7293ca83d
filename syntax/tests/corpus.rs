//! Every file of the corpus parses without an error.

use std::path::{Path, PathBuf};

fn corpus() -> Option<Vec<PathBuf>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus/ptx");
    let mut files = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            println!("skipped: no corpus at {}", root.display());
            return None;
        };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "ptx") {
                files.push(path);
            }
        }
    }
    files.sort();
    Some(files)
}

#[test]
fn every_file_parses() {
    let Some(files) = corpus() else { return };
    for path in files {
        let text = std::fs::read_to_string(&path).expect("the corpus is readable");
        let parsed = ptxc_syntax::parse_module(&text);
        for error in &parsed.errors {
            println!("{}: {error:?} `{}`", path.display(), &text[error.span.range()]);
        }
        assert!(parsed.errors.is_empty(), "{} has errors", path.display());
    }
}
