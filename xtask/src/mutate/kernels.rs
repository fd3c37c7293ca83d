//! The kernels to mutate: files of a folder, whole or with some of their functions.

use std::path::{Path, PathBuf};

use fastrand::Rng;
use ptxc_syntax::items::{ItemKind, split};
use ptxc_words::ptx_files;

/// A file.
#[derive(Debug)]
pub(super) struct Kernel {
    /// Its path below the given folder.
    pub(super) name: String,
    text: String,
    /// Its items: whether each is a function, and its place.
    items: Vec<(bool, std::ops::Range<usize>)>,
}

/// The files of folders, in an order that does not depend on the machine.
pub(super) fn read(folders: &[PathBuf]) -> Result<Vec<Kernel>, String> {
    let mut kernels = Vec::new();
    for folder in folders {
        let mut files = ptx_files(folder)?;
        files.sort();
        for path in files {
            let text = std::fs::read_to_string(&path).map_err(|why| format!("{}: {why}", path.display()))?;
            let items = split(&text).into_iter().map(|item| {
                let function = matches!(item.kind, ItemKind::Entry | ItemKind::Func);
                (function, item.span.range())
            });
            let items = items.collect();
            let name = path.strip_prefix(folder).unwrap_or(Path::new(&path)).display().to_string();
            kernels.push(Kernel { name, text, items });
        }
    }
    if kernels.is_empty() { Err("no .ptx files to mutate".to_string()) } else { Ok(kernels) }
}

impl Kernel {
    /// The text; half of the time with only some of the functions.
    fn part(&self, rng: &mut Rng) -> Vec<u8> {
        let functions = self.items.iter().filter(|(function, _)| *function).count();
        if functions < 2 || rng.bool() {
            return self.text.as_bytes().to_vec();
        }
        let mut part = String::new();
        for (function, range) in &self.items {
            if !function || rng.usize(..functions) < 2 {
                part.push_str(&self.text[range.clone()]);
                part.push('\n');
            }
        }
        part.into_bytes()
    }
}

/// A kernel to mutate, and its name. The smaller of two random kernels is chosen, so that not too
/// many inputs are large.
pub(super) fn choose<'a>(kernels: &'a [Kernel], rng: &mut Rng) -> (&'a str, Vec<u8>) {
    let [one, other] = [(); 2].map(|()| &kernels[rng.usize(..kernels.len())]);
    let chosen = if one.text.len() <= other.text.len() { one } else { other };
    (&chosen.name, chosen.part(rng))
}
