//! No command overwrites a file that it reads, and no command reads without end.

use std::path::Path;

use tempfile::TempDir;

const KERNEL: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n";

/// Runs a command, and returns its exit code and messages.
fn ptxc(words: &[&str]) -> (i32, String) {
    let words: Vec<String> = std::iter::once("ptxc").chain(words.iter().copied()).map(String::from).collect();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = ptxc::run(&words, &mut std::io::empty(), &mut out, &mut err);
    (code, String::from_utf8_lossy(&err).into_owned())
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_string_lossy().into_owned()
}

#[test]
fn outputs_are_no_inputs() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| path(folder.path(), name);
    let (source, text) = (at("k.ptx"), at("other/k.sass"));
    std::fs::create_dir(at("other")).unwrap();
    std::fs::write(&source, KERNEL).unwrap();
    std::fs::write(&text, KERNEL).unwrap();
    std::fs::hard_link(&source, at("hard.ptx")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(&source, at("soft.ptx")).unwrap();
    #[cfg(not(unix))]
    std::fs::hard_link(&source, at("soft.ptx")).unwrap();
    let (hard, soft, other, folder_of_text) = (at("hard.ptx"), at("soft.ptx"), at("./k.ptx"), at("other/"));
    let commands: &[&[&str]] = &[
        &["lower", &source, "-o", &source],
        &["lower", &source, "-o", &other],
        &["lower", &source, "-o", &soft],
        &["lower", &soft, "-o", &source],
        &["lower", &source, "-o", &hard],
        &["lower", &source, "--emit=cubin", "-o", &source],
        &["lower", &text, "-o", &folder_of_text],
        &["asm", &source, "-o", &source],
        &["disasm", &source, "-o", &hard],
        &["decode", &source, "-o", &soft],
        &["opt", &source, "--passes=verify", "-o", &source],
        &["run", &source, "--block", "1", "--trace", &hard],
    ];
    for words in commands {
        let (code, said) = ptxc(words);
        assert!(code == 2 && said.contains("nothing written"), "{words:?}: {code} {said}");
        assert_eq!(std::fs::read_to_string(&source).unwrap(), KERNEL, "{words:?}");
        assert_eq!(std::fs::read_to_string(&text).unwrap(), KERNEL, "{words:?}");
    }
    assert_eq!(ptxc(&["lower", &source, "-o", &at("k.sass")]).0, 0);
    assert_eq!(ptxc(&["lower", &source, "-o", &at("k.sass")]).0, 0, "an output may be written again");
}

#[cfg(target_os = "linux")]
#[test]
fn devices_without_an_end_are_refused() {
    let folder = TempDir::new().unwrap();
    let case = path(folder.path(), "case.json");
    let text = r#"{"ptx": "/dev/zero", "entry": "k", "grid": [1, 1, 1], "block": [1, 1, 1], "args": []}"#;
    std::fs::write(&case, text).unwrap();
    let no_case = path(folder.path(), "zero.json");
    std::os::unix::fs::symlink("/dev/zero", &no_case).unwrap();
    let buffer = "buf:u32:4:@/dev/zero";
    let kernel = path(folder.path(), "k.ptx");
    std::fs::write(&kernel, KERNEL.replace("k()", "k(.param .u64 p)")).unwrap();
    let commands: &[&[&str]] = &[
        &["lower", "/dev/zero"],
        &["check", "/dev/zero"],
        &["decode", "/dev/zero"],
        &["verify", "/dev/zero"],
        &["run", &case],
        &["run", &no_case],
        &["run", &kernel, "--block", "1", "--arg", buffer],
        &["lower", "/", "-o", "-"],
    ];
    for words in commands {
        let (code, said) = ptxc(words);
        assert!(code != 0 && said.starts_with("error: "), "{words:?}: {code} {said}");
    }
}

#[test]
fn a_launch_has_no_more_memory_than_a_gpu() {
    let folder = TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("cases")).unwrap();
    let kernel = path(folder.path(), "k.ptx");
    std::fs::write(&kernel, KERNEL).unwrap();
    let case = path(folder.path(), "cases/case.json");
    let text = r#"{"ptx": "k.ptx", "entry": "k", "grid": [1, 1, 1], "block": [1, 1, 1], "dynamic_smem": 4294967295, "args": []}"#;
    std::fs::write(&case, text).unwrap();
    for engine in ["ssa", "sass"] {
        let (code, said) = ptxc(&["run", &case, "--engine", engine]);
        assert!(
            code == 1 && said.contains("of shared memory for a CTA: the maximum is 233472"),
            "{code} {said}"
        );
    }
    let (code, said) = ptxc(&["run", &kernel, "--block", "1", "--smem", "4294967295"]);
    assert!(code == 1 && said.contains("of shared memory for a CTA"), "{code} {said}");
}
