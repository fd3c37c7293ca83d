//! The PTX files below a folder.

use std::path::{Path, PathBuf};

/// Every `.ptx` file in a folder and its subfolders, sorted by path; the path of a file gives only
/// that file.
///
/// # Errors
/// A folder cannot be read, or there is no such file.
pub fn ptx_files(root: &Path) -> Result<Vec<PathBuf>, String> {
    let wrong = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    if root.is_file() {
        return Ok(vec![root.to_path_buf()]);
    }
    let (mut folders, mut files) = (vec![root.to_path_buf()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(|error| wrong(&folder, error))? {
            let entry = entry.map_err(|error| wrong(&folder, error))?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(|error| wrong(&folder, error))?);
            if kind.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "ptx") {
                files.push(path);
            }
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(format!("no .ptx file in {}", root.display()));
    }
    Ok(files)
}
