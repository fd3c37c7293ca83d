//! The PTX that is mined: kernels of a corpus, [chains](super::chains), and the fuzzer's random programs.

use std::path::{Path, PathBuf};

use ptxc_fuzz::Trial;
use ptxc_sass::Arch;

use super::chains;
use crate::ptx_files::ptx_files;

/// How often each pair of forms is in the chains.
const REPEATS: usize = 1;

/// A file of PTX and a name for its listings.
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) name: String,
}

/// Everything for an architecture; what is generated is written below `folder`.
pub(super) fn sources(
    arch: Arch,
    corpus: Option<&Path>,
    random: u64,
    folder: &Path,
) -> Result<Vec<Source>, String> {
    let mut found = Vec::new();
    if let Some(corpus) = corpus {
        for path in ptx_files(corpus)? {
            let below = path.strip_prefix(corpus).unwrap_or(&path);
            let name = below.with_extension("").to_string_lossy().replace(['/', '\\'], "-");
            found.push(Source { path, name });
        }
    }
    let generated = folder.join(format!("{arch}-ptx"));
    let wrong = |error: std::io::Error| format!("{}: {error}", generated.display());
    std::fs::create_dir_all(&generated).map_err(wrong)?;
    let mut write = |name: String, text: String| {
        let path = generated.join(format!("{name}.ptx"));
        std::fs::write(&path, text).map_err(wrong)?;
        found.push(Source { path, name });
        Ok::<(), String>(())
    };
    for (index, text) in chains::modules(arch, REPEATS).into_iter().enumerate() {
        write(format!("chains{index:03}"), text)?;
    }
    for seed in 0..random {
        let text = Trial::new(seed).text().replace(".target sm_90", &format!(".target {arch}"));
        write(format!("random{seed:04}"), text)?;
    }
    Ok(found)
}
