//! Several files in one call: the output does not depend on the number of jobs, and after an error
//! in one file the others are still done.

use std::path::Path;

use tempfile::TempDir;

const GOOD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";

/// A file with `count` different kernels.
fn kernels(count: usize, seed: usize) -> String {
    let kernel = |index: usize| {
        format!(
            ".visible .entry k{index}(.param .u64 p)\n{{\n\t.reg .b32 %r<3>;\n\t.reg .b64 %rd<2>;\n\tld.param.u64 %rd1, [p];\n\
             \tld.global.u32 %r1, [%rd1];\n\tadd.u32 %r2, %r1, {};\n\tst.global.u32 [%rd1], %r2;\n\tret;\n}}\n",
            index * 7 + seed
        )
    };
    GOOD.to_string() + &(0..count).map(kernel).collect::<String>()
}

struct Ran {
    code: i32,
    out: String,
    err: String,
}

fn ptxc(words: &[&str], stdin: &str) -> Ran {
    let words: Vec<String> = std::iter::once("ptxc").chain(words.iter().copied()).map(String::from).collect();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = ptxc::run(&words, &mut stdin.as_bytes(), &mut out, &mut err);
    let text = |bytes| String::from_utf8(bytes).expect("the output is text");
    Ran { code, out: text(out), err: text(err) }
}

fn path(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).to_string_lossy().into_owned()
}

/// The paths of some dozens of files in a folder, two of which have errors.
fn files(folder: &TempDir) -> Vec<String> {
    let write = |index: usize| {
        let name = path(folder, &format!("f{index}.ptx"));
        let text = match index {
            3 | 17 => format!("{GOOD}.entry broken() {{ nonsense; }}\n"),
            _ => kernels(1 + index % 4, index),
        };
        std::fs::write(&name, text).expect("a file is written");
        name
    };
    (0..30).map(write).collect()
}

/// The names and contents of the files in a folder.
fn contents(folder: &Path) -> Vec<(String, String)> {
    let mut list: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| {
            let entry = entry.expect("an entry");
            let text = std::fs::read_to_string(entry.path()).expect("a text");
            (entry.file_name().to_string_lossy().into_owned(), text)
        })
        .collect();
    list.sort();
    list
}

#[test]
fn the_number_of_jobs_changes_nothing() {
    let folder = TempDir::new().expect("a folder");
    let files = files(&folder);
    let lowered = |jobs: &str, to: &str| {
        let output = path(&folder, to);
        let mut words = vec!["lower", "-v", "-o", &output, "-j", jobs];
        words.extend(files.iter().map(String::as_str));
        let ran = ptxc(&words, "");
        assert_eq!(ran.code, 1, "two files have errors");
        (ran.err, contents(Path::new(&output)))
    };
    let (said, written) = lowered("1", "one/");
    assert_eq!(written.len(), 28);
    assert!(written.iter().all(|(name, text)| name.ends_with(".sass") && text.contains(".text.k0:")));
    assert_eq!(said.matches("nothing written").count(), 2);
    let place = |name: &str| said.find(name).unwrap_or_else(|| panic!("no message names {name}"));
    assert!(place("f3.ptx") < place("f17.ptx"));
    for jobs in ["2", "5", "64"] {
        assert_eq!(lowered(jobs, &format!("jobs{jobs}/")), (said.clone(), written.clone()), "--jobs {jobs}");
    }
    let streamed = |command: &str, jobs: &str| {
        let mut words = vec![command, "-j", jobs];
        words.extend(files.iter().map(String::as_str));
        let ran = ptxc(&words, "");
        (ran.code, ran.out, ran.err)
    };
    assert_eq!(streamed("lower", "1"), streamed("lower", "8"));
    assert_eq!(streamed("check", "1"), streamed("check", "8"));
}

#[test]
fn functions_of_one_file_are_compiled_at_once_to_the_same_code() {
    let text = kernels(12, 1);
    let one = ptxc(&["lower", "-", "-o", "-", "-j1"], &text);
    assert_eq!(one.code, 0);
    assert_eq!(one.out.matches("\n.text.").count(), 12);
    assert_eq!(one.out, ptxc(&["lower", "-", "-o", "-", "-j4"], &text).out);
}

#[test]
fn every_command_takes_several_files() {
    let folder = TempDir::new().expect("a folder");
    let [a, b] = ["a.ptx", "b.ptx"].map(|name| path(&folder, name));
    std::fs::write(&a, kernels(2, 1)).expect("a file is written");
    std::fs::write(&b, kernels(1, 2)).expect("a file is written");
    let [sass, cubins, back] = ["sass/", "cubins/", "back/"].map(|name| path(&folder, name));
    assert_eq!(ptxc(&["lower", &a, &b, "-o", &sass], "").code, 0);
    let [a_sass, b_sass] = ["a.sass", "b.sass"].map(|name| format!("{sass}{name}"));
    let verified = ptxc(&["verify", &a_sass, &b_sass], "");
    assert_eq!((verified.code, verified.out.matches("no hazard").count()), (0, 2));
    assert_eq!(ptxc(&["asm", &a_sass, &b_sass, "-o", &cubins], "").code, 0);
    let [a_cubin, b_cubin] = ["a.cubin", "b.cubin"].map(|name| format!("{cubins}{name}"));
    let both = ptxc(&["disasm", &a_cubin, &b_cubin], "");
    assert_eq!(both.code, 0);
    assert_eq!(ptxc(&["disasm", &a_cubin, &b_cubin, "-o", &back], "").code, 0);
    let parts = contents(Path::new(&back));
    let headed = [&a_cubin, &b_cubin].into_iter().zip(&parts);
    assert_eq!(both.out, headed.map(|(path, (_, text))| format!("// {path}\n{text}")).collect::<String>());
    let absent = ptxc(&["check", &a, &path(&folder, "absent.ptx"), &b], "");
    assert_eq!(absent.code, 1);
}

#[test]
fn impossible_outputs_are_refused_before_anything_is_written() {
    let folder = TempDir::new().expect("a folder");
    let [one, two] = ["x.ptx", "x.v"].map(|name| path(&folder, name));
    std::fs::write(&one, kernels(1, 1)).expect("a file is written");
    std::fs::write(&two, kernels(1, 2)).expect("a file is written");
    let clash = ptxc(&["lower", &one, &two, "-o", &path(&folder, "to/")], "");
    assert_eq!(clash.code, 2);
    assert!(clash.err.contains("would both be written"), "{}", clash.err);
    let output = path(&folder, "out");
    assert_eq!(ptxc(&["lower", &one, &two, "-o", &output], "").code, 2);
    assert_eq!(ptxc(&["check", "-", "-"], "").code, 2);
    assert_eq!(contents(folder.path()).len(), 2);
}
