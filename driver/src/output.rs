//! Writes results: completely or not at all.

use std::io::{BufWriter, ErrorKind, Read, Write};
use std::path::Path;

use rustc_hash::FxHashMap;

use crate::input::Input;
use crate::scratch::Scratch;

/// Bytes as text, with replacement characters for those that are not UTF-8, which the lexer reports
/// where they occur. A byte order mark at the start is no part of the text.
pub(crate) fn text_of(mut bytes: Vec<u8>) -> String {
    if bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }
}

/// The mark that some editors write before UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The most bytes that are read from a stream: a pipe or a device may have no end.
const MOST_OF_STREAM: u64 = 1 << 27;

/// Reads a file, or standard input for `-`, as bytes.
pub(crate) fn read_bytes(input: &Input, stdin: &mut dyn Read) -> std::io::Result<Vec<u8>> {
    if input.is_stream() {
        return read_stream(stdin);
    }
    let mut file = std::fs::File::open(input.path())?;
    if !file.metadata()?.is_file() {
        return read_stream(&mut file);
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn read_stream(stream: &mut dyn Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.take(MOST_OF_STREAM + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_OF_STREAM {
        let what = format!("more than {MOST_OF_STREAM} bytes from a pipe or device, which may have no end");
        return Err(std::io::Error::new(std::io::ErrorKind::FileTooLarge, what));
    }
    Ok(bytes)
}

/// Refuses outputs that are also inputs, whatever their paths.
///
/// # Errors
/// The first such output.
pub(crate) fn check_overwrites<'a>(
    inputs: impl IntoIterator<Item = &'a Path>,
    outputs: impl IntoIterator<Item = &'a Path>,
) -> Result<(), String> {
    let outputs = outputs.into_iter().filter_map(|output| Some((identity(output)?, output)));
    let outputs: FxHashMap<Identity, &Path> = outputs.collect();
    if outputs.is_empty() {
        return Ok(());
    }
    for input in inputs.into_iter().filter(|input| *input != Path::new("-")) {
        if let Some(output) = identity(input).and_then(|identity| outputs.get(&identity)) {
            let name = input.display();
            return Err(match *output == input {
                true => format!("the output would overwrite its input, `{name}`; nothing written"),
                false => format!(
                    "the output `{}` is the same file as the input `{name}`; nothing written",
                    output.display()
                ),
            });
        }
    }
    Ok(())
}

/// A value that distinguishes files.
#[cfg(unix)]
type Identity = (u64, u64);

/// The identity of an existing file, through links. `None` for anything that is not a regular file.
#[cfg(unix)]
fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    let there = std::fs::metadata(path).ok().filter(|there| there.is_file())?;
    Some((there.dev(), there.ino()))
}

/// A value that distinguishes files.
#[cfg(not(unix))]
type Identity = std::path::PathBuf;

/// The identity of an existing file, through symbolic links. `None` for anything that is not a
/// regular file.
#[cfg(not(unix))]
fn identity(path: &Path) -> Option<Identity> {
    std::fs::metadata(path).ok().filter(|there| there.is_file())?;
    std::fs::canonicalize(path).ok()
}

/// Writes a text, or bytes, as [`write_with`] does.
pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>, out: &mut dyn Write) -> std::io::Result<()> {
    write_with(path, out, |file| file.write_all(content.as_ref()))
}

/// Writes a new file that takes the place of the target when it is complete, so that a failed run
/// leaves the old file intact. A link stays a link. `-` is standard output, and anything that is not a regular
/// file is written directly.
pub(crate) fn write_with(
    path: &Path,
    out: &mut dyn Write,
    content: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> std::io::Result<()> {
    if path == Path::new("-") {
        return content(out);
    }
    let there = std::fs::symlink_metadata(path).ok();
    let is_link = there.as_ref().is_some_and(|there| there.is_symlink());
    let old = if is_link { std::fs::metadata(path).ok() } else { there };
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        // A device or a pipe is written to, not replaced.
        return content(&mut std::fs::OpenOptions::new().write(true).open(path)?);
    }
    let target = if is_link { std::fs::canonicalize(path).ok() } else { None };
    let path = target.as_deref().unwrap_or(path);
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let mut scratch = Scratch::new_in(folder).map_err(|error| {
        // The name of the unfinished file means nothing to the user.
        let why = match error.kind() {
            ErrorKind::NotFound => format!("there is no folder `{}`", folder.display()),
            kind => format!("cannot create a file in `{}`: {kind}", folder.display()),
        };
        std::io::Error::new(error.kind(), why)
    })?;
    let mut buffered = BufWriter::new(scratch.file());
    content(&mut buffered)?;
    buffered.flush()?;
    drop(buffered);
    scratch.persist(path, folder, old.map(|old| old.permissions()))
}
