//! Writing results: all or nothing.

use std::io::{Read, Write};
use std::path::Path;

/// Reads a file, or standard input for `-`. Bytes that are no UTF-8 become replacement characters, which
/// the lexer reports where they stand.
pub fn read(path: &str, stdin: &mut dyn Read) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    if path == "-" {
        stdin.read_to_end(&mut bytes)?;
    } else {
        bytes = std::fs::read(path)?;
    }
    Ok(match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    })
}

/// Writes a file by a temporary one beside it and a rename, so that a failed run leaves the old file
/// whole; a link stays a link. `-` goes to standard output, and what is no plain file is written directly.
pub fn write(path: &Path, text: &str, out: &mut dyn Write) -> std::io::Result<()> {
    if path == Path::new("-") {
        return out.write_all(text.as_bytes());
    }
    if std::fs::metadata(path).is_ok_and(|old| !old.is_file()) {
        // A device or a pipe is written to, not replaced.
        return std::fs::OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes());
    }
    let path = &std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let mut file = tempfile::Builder::new().prefix(".ptxc-").tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    let permissions = match std::fs::metadata(path) {
        Ok(old) => Some(old.permissions()),
        Err(_) => default_permissions(),
    };
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions)?;
    }
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// What a newly created file usually gets; a temporary file is its owner's alone.
#[cfg(unix)]
fn default_permissions() -> Option<std::fs::Permissions> {
    use std::os::unix::fs::PermissionsExt;
    Some(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn default_permissions() -> Option<std::fs::Permissions> {
    None
}
