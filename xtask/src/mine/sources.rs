//! The PTX that is mined: kernels of a corpus, [`super::chains`], [`super::trees`], and the fuzzer's random
//! programs.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use ptxc_fuzz::Trial;
use ptxc_machine::Arch;
use ptxc_words::ptx_files;

use super::forms::{Form, Kind};
use super::{chains, trees};

/// How often each pair of forms is in the chains. Pairs that a predicate joins get additional
/// repeats: they are rare, and often something other than the predicate keeps the two apart.
const REPEATS: usize = 1;
const REPEATS_OF_PREDICATES: usize = 4;
/// How often products of matrices and [plain](Form::is_plain) forms follow each other in addition:
/// a result of four registers is seldom overwritten, and there are three sizes.
const REPEATS_OF_MATRICES: usize = 3;

/// A file of PTX and a name for its listings.
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) name: String,
}

/// All sources for an architecture; generated sources are written below `folder`.
pub(super) fn sources(
    arch: Arch,
    corpus: Option<&Path>,
    random: u64,
    folder: &Path,
) -> Result<Vec<Source>, String> {
    let mut found = Vec::new();
    if let Some(corpus) = corpus {
        for path in newest(ptx_files(corpus)?, arch) {
            let below = path.strip_prefix(corpus).unwrap_or(&path);
            let name = below.with_extension("").to_string_lossy().replace(['/', '\\'], "-");
            found.push(Source { path, name });
        }
    }
    let generated = folder.join(format!("{arch}-ptx"));
    let wrong = |error: std::io::Error| format!("{}: {error}", generated.display());
    std::fs::create_dir_all(&generated).map_err(wrong)?;
    let mut write = |name: String, text: String| {
        // Listings are stored by name.
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let name = format!("{name}-{:016x}", hasher.finish());
        let path = generated.join(format!("{name}.ptx"));
        std::fs::write(&path, text).map_err(wrong)?;
        found.push(Source { path, name });
        Ok::<(), String>(())
    };
    let of_predicate = |form: &Form| [form.takes, form.makes].contains(&Kind::Predicate);
    let beside_matrix = |form: &Form| form.is_product() || form.is_plain();
    let kinds = [
        ("chains", chains::modules(arch, |_| true, REPEATS)),
        ("matrices", chains::modules(arch, beside_matrix, REPEATS_OF_MATRICES)),
        ("predicates", chains::modules(arch, of_predicate, REPEATS_OF_PREDICATES)),
        ("trees", trees::modules(arch)),
    ];
    for (kind, modules) in kinds {
        for (index, text) in modules.into_iter().enumerate() {
            write(format!("{kind}{index:03}"), text)?;
        }
    }
    for seed in 0..random {
        let text = Trial::new(ptxc_fuzz::program::Family::Plain, seed)
            .text()
            .replace(".target sm_90", &format!(".target {arch}"));
        write(format!("random{seed:04}"), text)?;
    }
    Ok(found)
}

/// If files differ in the architecture at the end of their names, as `add.sm_75.ptx` and
/// `add_80.ptx`, the newest one that an architecture may use: ptxas makes nearly the same code of
/// the others.
fn newest(files: Vec<PathBuf>, arch: Arch) -> Vec<PathBuf> {
    let mut found: BTreeMap<PathBuf, (u32, PathBuf)> = BTreeMap::new();
    for path in files {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let name = stem.trim_end_matches(|c: char| c.is_ascii_digit());
        let (name, target) = match stem[name.len()..].parse() {
            Ok(target) if name.ends_with('_') && target >= 50 => (name, target),
            _ => (stem.as_str(), 0),
        };
        let held = found.entry(path.with_file_name(name)).or_insert((0, PathBuf::new()));
        if target <= arch.number() && target >= held.0 {
            *held = (target, path);
        }
    }
    found.into_values().map(|(_, path)| path).filter(|path| !path.as_os_str().is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_targets_the_newest_that_fits_is_taken() {
        let files = [
            "t/a.sm_75.ptx",
            "t/a.sm_80.ptx",
            "t/a.sm_90.ptx",
            "t/b_90.ptx",
            "t/c1.ptx",
            "t/c2.ptx",
            "t/d_80.ptx",
        ];
        let files = || files.map(PathBuf::from).to_vec();
        let on =
            |arch| newest(files(), arch).iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
        assert_eq!(on(Arch::Sm75), ["t/a.sm_75.ptx", "t/c1.ptx", "t/c2.ptx"]);
        assert_eq!(on(Arch::Sm86), ["t/a.sm_80.ptx", "t/c1.ptx", "t/c2.ptx", "t/d_80.ptx"]);
        assert_eq!(on(Arch::Sm90), ["t/a.sm_90.ptx", "t/b_90.ptx", "t/c1.ptx", "t/c2.ptx", "t/d_80.ptx"]);
    }
}
