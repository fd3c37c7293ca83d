//! Inputs that are too large are refused with a clear error, and long lists of errors are cut off.

const HEADER: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";

/// Runs a command that reads a text, and returns its exit code and messages.
fn ptxc(words: &[&str], text: &str) -> (i32, String) {
    let words: Vec<String> = ["ptxc"].iter().chain(words).map(ToString::to_string).collect();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = ptxc::run(&words, &mut text.as_bytes(), &mut out, &mut err);
    (code, String::from_utf8(err).expect("messages are text"))
}

#[test]
fn statements_of_a_body() {
    let body = |count: usize| format!("{HEADER}.entry k()\n{{\n{}}}\n", "ret;\n".repeat(count));
    assert_eq!(ptxc(&["check", "--syntax", "-"], &body(500_000)), (0, String::new()));
    let (code, said) = ptxc(&["check", "--syntax", "-"], &body(500_002));
    assert_eq!(code, 1);
    assert!(said.starts_with("error[E0039]: this body has more than 500000 statements\n"), "{said}");
    assert_eq!(said.matches("error[").count(), 1);
}

#[test]
fn findings_of_a_file() {
    let wrong: String = (0..3000).map(|number| format!("nonsense{number};\n")).collect();
    let (code, said) = ptxc(&["check", "-"], &format!("{HEADER}.entry k()\n{{\n{wrong}ret;\n}}\n"));
    assert_eq!(code, 1);
    assert!(said.matches("error[").count() <= 1001);
    assert!(said.contains("more than 1000 errors; the others are not listed"));
}

#[test]
fn functions_that_one_calls() {
    let calls = |count: usize| {
        let functions: String = (0..count).map(|number| format!(".func f{number}() {{ ret; }}\n")).collect();
        let calls: String = (0..count).map(|number| format!("call f{number}, ();\n")).collect();
        format!("{HEADER}{functions}.entry k()\n{{\n{calls}ret;\n}}\n")
    };
    let lower = |count| ptxc(&["lower", "-", "-o", "-", "--jobs", "1"], &calls(count));
    assert_eq!(lower(50), (0, String::new()));
    let (code, said) = lower(1001);
    assert_eq!(code, 1);
    assert!(
        said.contains("a call of more than 1000 functions, directly or not, is not supported yet"),
        "{said}"
    );
}
