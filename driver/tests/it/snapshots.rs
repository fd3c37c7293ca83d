//! Output that people read, held whole: dumps of passes, explanations, diagnostics, JSON.
//!
//! Each output is compared with a file of `snapshots`. `cargo insta review` shows the differences
//! and accepts or rejects each of them.

use std::path::{Path, PathBuf};

/// A path in `tests/lit`.
fn lit(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/lit").join(path)
}

/// What the program prints for a file: standard output, then standard error. The path of the file is
/// replaced by its name.
fn printed(command: &str, path: &Path, options: &[&str]) -> String {
    let file = path.to_string_lossy();
    let mut words = vec!["ptxc", command, &file];
    words.extend(options);
    let words: Vec<String> = words.into_iter().map(str::to_string).collect();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    ptxc::run(&words, &mut std::io::empty(), &mut out, &mut err);
    out.extend(err);
    let text = String::from_utf8(out).expect("the output is text");
    let name = path.file_name().expect("a file has a name");
    text.replace(&*file, &name.to_string_lossy())
}

/// The PTX files of a folder, in order.
fn files(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(lit(folder)).expect("the folder can be read");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "ptx"));
    paths.sort();
    paths
}

/// The name of a file without its extension.
fn stem(path: &Path) -> String {
    path.file_stem().expect("a file has a name").to_string_lossy().into_owned()
}

#[test]
fn dumps_of_passes() {
    for kernel in ["kernels/saxpy.ptx", "kernels/parameter_masks.ptx"] {
        let path = lit(kernel);
        let dumps = printed("lower", &path, &["--arch=sm_90", "--print-after=all", "-o", "-"]);
        insta::assert_snapshot!(format!("passes-{}", stem(&path)), dumps);
    }
}

#[test]
fn explanations() {
    for kernel in ["kernels/saxpy.ptx", "kernels/parameter_masks.ptx", "kernels/cluster_arms.ptx"] {
        let path = lit(kernel);
        let code = printed("lower", &path, &["--arch=sm_90", "--explain", "-o", "-"]);
        insta::assert_snapshot!(format!("explain-{}", stem(&path)), code);
    }
}

#[test]
fn diagnostics() {
    for folder in ["errors", "check", "barriers"] {
        let texts = files(folder).iter().map(|path| printed("check", path, &[])).collect::<String>();
        insta::assert_snapshot!(format!("diagnostics-{folder}"), texts);
    }
}

#[test]
fn json() {
    let path = lit("kernels/saxpy.ptx");
    insta::assert_snapshot!(
        "json-code",
        printed("lower", &path, &["--arch=sm_90", "--emit=json", "-o", "-"])
    );
    let path = lit("check/operands.ptx");
    insta::assert_snapshot!("json-diagnostics", printed("check", &path, &["--message-format=json"]));
}
