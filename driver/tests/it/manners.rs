//! The program is polite to files, pipes and terminals.
#![cfg(unix)]

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use ptxc::surroundings::Surroundings;
use tempfile::TempDir;

const KERNEL: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n";

/// A folder with a kernel, `k.ptx`.
fn folder() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    std::fs::write(folder.path().join("k.ptx"), KERNEL).expect("it is written");
    folder
}

/// Runs a line of shell in a folder; `$ptxc` is the program.
fn shell(folder: &Path, line: &str) -> Output {
    let mut command = Command::new("sh");
    let command = command.args(["-c", line]).current_dir(folder).stdin(Stdio::null());
    command.env("ptxc", env!("CARGO_BIN_EXE_ptxc")).output().expect("the shell starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("it is a folder");
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("an entry").file_name();
    let mut list: Vec<String> = entries.map(|entry| text(name(entry).as_bytes())).collect();
    list.sort();
    list
}

#[test]
fn nothing_is_written_without_a_name() {
    let folder = folder();
    for line in ["lower k.ptx", "lower --emit=json k.ptx", "lower --emit=cubin k.ptx", "lower k.ptx k.ptx"] {
        let output = shell(folder.path(), &format!("$ptxc {line}"));
        assert!(output.status.success() && !output.stdout.is_empty(), "{line}: {}", text(&output.stderr));
    }
    let output = shell(folder.path(), "$ptxc lower k.ptx | $ptxc asm - | $ptxc disasm -");
    assert!(text(&output.stdout).contains("EXIT"), "{}", text(&output.stderr));
    assert_eq!(names(folder.path()), ["k.ptx"]);
}

#[test]
fn extensions_select_the_form_or_are_refused() {
    let folder = folder();
    let begins = |name: &str, start: &[u8]| {
        let output = shell(folder.path(), &format!("$ptxc lower k.ptx -o {name}"));
        assert!(output.status.success(), "{name}: {}", text(&output.stderr));
        let bytes = std::fs::read(folder.path().join(name)).expect("it is written");
        assert!(bytes.starts_with(start), "{name}");
    };
    begins("k.sass", b"// k:");
    begins("k.cubin", b"\x7fELF");
    begins("k.json", b"{");
    begins("k.dot", b"digraph");
    begins("k.ir", b"func @k");
    begins("k.mir", b"mir @k");
    begins("no_extension", b"// k:");
    let before = names(folder.path());
    for (line, extension) in [
        ("lower k.ptx -o k.txt", ".sass"),
        ("decode k.cubin -o k.xml", ".parquet"),
        ("asm k.sass -o k.o", ".cubin"),
        ("disasm k.cubin -o k.s", ".sass"),
        ("opt k.ir -o k.cubin", ".mir"),
        ("run k.ptx --timing --trace k.svg", ".html"),
    ] {
        let output = shell(folder.path(), &format!("$ptxc {line}"));
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(text(&output.stderr).contains(extension), "{line}: {}", text(&output.stderr));
    }
    assert_eq!(names(folder.path()), before);
}

#[test]
fn a_reader_may_leave_and_a_full_or_closed_output_is_an_error() {
    let folder = folder();
    let (head, kernel) = KERNEL.split_at(KERNEL.find(".visible").expect("it has a kernel"));
    let many: String = (0..2000).map(|number| kernel.replace(" k(", &format!(" k{number}("))).collect();
    std::fs::write(folder.path().join("many.ptx"), head.to_string() + &many).expect("it is written");
    let written = shell(folder.path(), "$ptxc lower many.ptx -o many.cubin");
    assert!(written.status.success(), "{}", text(&written.stderr));
    for command in ["lower many.ptx", "decode many.cubin", "disasm many.cubin", "lower --emit=json many.ptx"]
    {
        let left = shell(folder.path(), &format!("{{ $ptxc {command}; echo $? >&2; }} | head -n 1"));
        assert_eq!(text(&left.stderr), "0\n", "{command} | head");
    }
    for redirection in [">&-", "> /dev/full"] {
        let commands =
            ["lower k.ptx", "decode many.cubin", "verify many.cubin", "explain E0101", "--help", "man"];
        for command in commands {
            let output = shell(folder.path(), &format!("$ptxc {command} {redirection}"));
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{command} {redirection}: {said}");
            assert_eq!(said.matches("error: ").count(), 1, "{command} {redirection}: {said}");
        }
        let unused = shell(folder.path(), &format!("$ptxc check k.ptx {redirection}"));
        assert!(unused.status.success(), "{}", text(&unused.stderr));
    }
}

#[test]
fn file_names_need_not_be_text() {
    let folder = folder();
    let name = OsStr::from_bytes(b"\xff\x1b[2J.ptx");
    std::fs::write(folder.path().join(name), KERNEL.replace("ret", "nonsense")).expect("it is written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptxc"));
    let output = command.arg("check").arg(name).current_dir(folder.path()).output().expect("it starts");
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("nonsense") && !said.contains('\u{1b}'), "{said}");
    let copied =
        shell(folder.path(), "mkdir in; cp k.ptx \"$(printf 'in/\\377.ptx')\"; $ptxc lower in/* -o out/");
    assert!(copied.status.success(), "{}", text(&copied.stderr));
    let written = std::fs::read_dir(folder.path().join("out")).expect("a folder").flatten().next();
    assert_eq!(written.expect("a file").file_name().as_bytes(), b"\xff.sass");
}

/// The output of a command on terminals.
fn on_terminals(words: &[&str], stdin: &str) -> (i32, String, String) {
    let surroundings =
        Surroundings { out_is_terminal: true, err_is_terminal: true, ..Surroundings::default() };
    let words = ["ptxc", "--color=never", "--progress=never"].iter().chain(words).collect::<Vec<_>>();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = ptxc::run_in(&surroundings, &words, &mut stdin.as_bytes(), &mut out, &mut err);
    (code, text(&out), text(&err))
}

#[test]
fn a_terminal_gets_no_bytes_that_it_would_obey() {
    let evil = "\u{1b}]0;title\u{7}\u{9b}31m\u{202e}\r";
    let plain = |text: &str| !text.contains(|c: char| c.is_control() && c != '\n' || c == '\u{202e}');
    for (words, input) in [
        (&["check", "-"][..], KERNEL.replace("ret;", &format!("ret{evil};"))),
        (&["check", "-", "--message-format=json"], KERNEL.replace("ret;", &format!("ret{evil};"))),
        (&["check", "-"], KERNEL.replace("ret;", &format!("ret \"{evil}\";"))),
        (&["verify", "-"], format!(".target sm_90\n.text.k:\n{evil} EXIT {evil};\n")),
        (&["opt", "-"], format!("func @k{evil} entry {{\n")),
        (&["lower", "-", "--kernel", evil], KERNEL.to_string()),
        (&["lower", evil], KERNEL.to_string()),
        (&["explain", evil], String::new()),
        (&[evil], String::new()),
        (&["lower", "-", "--emit", evil], KERNEL.to_string()),
        (&["decode", evil], String::new()),
    ] {
        let (code, out, err) = on_terminals(words, &input);
        assert!(code != 0 && plain(&out) && plain(&err) && !err.is_empty(), "{words:?}: {out} {err}");
    }
    let (_, _, drawn) = on_terminals(&["check", "-"], &KERNEL.replace("ret;", "ret\u{1b}[1m;"));
    assert!(drawn.contains("ret␛[1m;"), "{drawn}");
}

#[test]
fn binary_forms_are_not_for_terminals() {
    for words in [
        &["lower", "-", "--emit=cubin"][..],
        &["asm", "-"],
        &["asm", "-", "--bare"],
        &["decode", "-", "--format=parquet"],
    ] {
        let (code, out, err) = on_terminals(words, KERNEL);
        assert_eq!((code, &*out), (2, ""), "{words:?}");
        assert!(err.contains("-o FILE"), "{words:?}: {err}");
    }
}

#[test]
fn a_file_of_another_kind_is_one_error_that_names_the_command() {
    let folder = folder();
    let made = "$ptxc lower k.ptx -o k.sass && $ptxc lower k.ptx -o k.cubin && $ptxc lower k.ptx -o k.ir";
    assert!(shell(folder.path(), made).status.success());
    std::fs::write(folder.path().join("k.cu"), "#include <cuda.h>\n__global__ void k() {}\n")
        .expect("written");
    std::fs::write(folder.path().join("page"), "<html>\n<body>a.b</body>\n").expect("written");
    for (line, advice) in [
        ("check page", "without a directive"),
        ("check /dev/null", "is empty"),
        ("check ../`basename $PWD`/nothing.ptx", "nothing.ptx"),
        ("decode k.sass", "ptxc asm"),
        ("lower k.cubin", "ptxc disasm"),
        ("check k.sass", "ptxc verify"),
        ("check k.ir", "ptxc opt"),
        ("check k.cu", "PTX first"),
        ("lower $ptxc", "ptxc decode"),
        ("verify k.ptx", "ptxc lower"),
        ("asm k.ptx -o x.cubin", "ptxc lower"),
        ("disasm k.ptx", "ptxc lower"),
        ("disasm k.ptx --arch sm_90", "ptxc lower"),
        ("decode k.ptx", "ptxc lower"),
        ("opt k.ptx", "ptxc lower"),
        ("run $ptxc", "ptxc decode"),
    ] {
        let output = shell(folder.path(), &format!("$ptxc {line}"));
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{line}: {said}");
        assert!(
            said.contains(advice) && said.lines().filter(|line| line.starts_with("error")).count() == 1,
            "{line}: {said}"
        );
    }
    let replaced = shell(folder.path(), "$ptxc run k.ptx --sass k.sass");
    assert!(replaced.status.code() == Some(2) && text(&replaced.stderr).contains("`ptxc run k.sass`"));
    let unknown = shell(folder.path(), "head -c 100 k.cubin | tail -c 50 > part; $ptxc disasm part");
    assert_eq!(unknown.status.code(), Some(1));
}

#[test]
fn byte_order_marks_and_line_markers_are_read() {
    let mark = format!("\u{feff}{KERNEL}");
    assert_eq!(on_terminals(&["lower", "-"], &mark).0, 0);
    let renamed = KERNEL.replace("\tret;", "\tret;\n# 77 \"k.cu\" 1\n\tnonsense;");
    let (_, _, said) = on_terminals(&["check", "-"], &renamed);
    assert!(said.contains("k.cu:77:2") && said.contains("77 │"), "{said}");
    let (_, _, said) = on_terminals(&["check", "-", "--message-format=json"], &renamed);
    assert!(said.contains("\"file\":\"k.cu\"") && said.contains("\"line\":77"), "{said}");
    assert_eq!(on_terminals(&["check", "-"], &KERNEL.replace("\tret", "#line 7 \"k.cu\"\n\tret")).0, 0);
    // The C preprocessor begins its output with line 0.
    let (code, _, said) = on_terminals(&["check", "-"], &format!("# 0 \"k.cu\"\nnonsense\n{KERNEL}"));
    assert!(code == 1 && said.contains("k.cu:0:1"), "{said}");
}

#[test]
fn new_files_have_the_permissions_of_the_users_mask() {
    let folder = folder();
    for (mask, permissions) in [("077", "600"), ("022", "644"), ("002", "664")] {
        let line =
            format!("rm -f new; umask {mask}; $ptxc lower k.ptx -o new; stat -c %a new || stat -f %Lp new");
        assert_eq!(text(&shell(folder.path(), &line).stdout).trim(), permissions);
    }
    let kept =
        shell(folder.path(), "chmod 640 new; $ptxc lower k.ptx -o new; stat -c %a new || stat -f %Lp new");
    assert_eq!(text(&kept.stdout).trim(), "640");
    let lost = shell(folder.path(), "$ptxc lower k.ptx -o nowhere/k.sass");
    assert_eq!(text(&lost.stderr), "error: nowhere/k.sass: there is no folder `nowhere`\n");
}

#[test]
fn a_case_may_be_in_the_current_folder() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/cases");
    for path in ["saxpy.json", "./saxpy.json", "../cases/saxpy.json"] {
        let output = shell(&cases, &format!("$ptxc run {path}"));
        assert!(output.status.success(), "{path}: {}", text(&output.stderr));
    }
}
