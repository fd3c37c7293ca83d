//! A copy of the sources that the guides have been applied to.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::page::{Edit, What, apply};

/// Files by their paths in the repository.
pub(crate) type Files = BTreeMap<PathBuf, Vec<u8>>;

/// The files of the repository, without those of Git and of builds.
pub(crate) fn files(root: &Path) -> Files {
    let mut files = Files::new();
    read(root, Path::new(""), &mut files);
    files
}

fn read(root: &Path, folder: &Path, files: &mut Files) {
    let entries =
        fs::read_dir(root.join(folder)).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries.flatten() {
        let name = entry.file_name();
        let path = folder.join(&name);
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if name != "target" && !name.to_string_lossy().starts_with('.') {
                read(root, &path, files);
            }
        } else {
            files.insert(path, fs::read(entry.path()).unwrap_or_default());
        }
    }
}

/// Applies the edits; the complaints about those that have no place.
pub(crate) fn edit(files: &mut Files, edits: &[Edit]) -> Vec<String> {
    let mut complaints = Vec::new();
    for Edit { from, path, what } in edits {
        let known = files.get(Path::new(path));
        let changed = match what {
            What::New(_) if known.is_some() => Err("the file exists".to_string()),
            What::New(text) => Ok(text.clone().into_bytes()),
            What::Copy(other) => {
                files.get(Path::new(other)).cloned().ok_or(format!("there is no file `{other}`"))
            }
            _ => match known {
                Some(bytes) => apply(&String::from_utf8_lossy(bytes), what).map(String::into_bytes),
                None => Err("there is no such file".to_string()),
            },
        };
        match changed {
            Ok(bytes) => drop(files.insert(PathBuf::from(path), bytes)),
            Err(why) => complaints.push(format!("{from}: {path}: {why}")),
        }
    }
    complaints
}

/// Makes a folder hold just these files. Files that are right already are left alone, so that cargo need not build them again.
pub(crate) fn write(folder: &Path, wanted: &Files) {
    if folder.is_dir() {
        for path in files(folder).into_keys().filter(|path| !wanted.contains_key(path)) {
            fs::remove_file(folder.join(path)).expect("an old file is removed");
        }
    }
    for (path, bytes) in wanted {
        let path = folder.join(path);
        if fs::read(&path).ok().as_ref() != Some(bytes) {
            fs::create_dir_all(path.parent().unwrap_or(folder)).expect("the folder is made");
            fs::write(&path, bytes).expect("the file is written");
        }
    }
}
