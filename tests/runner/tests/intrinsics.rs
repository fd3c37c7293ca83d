//! The check accepts what LLVM's NVPTX backend writes for its intrinsics.
//!
//! `tests/intrinsics/list.txt` names intrinsics with arguments. The test writes a kernel of LLVM IR
//! around each, compiles the kernels with `llc-22` (Debian's package `llvm-22`; `LLC` may name
//! another program), and checks the PTX. It is skipped, with a line on stderr, if there is no such
//! program.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

const LIST: &str = include_str!("../../intrinsics/list.txt");

/// The parameters of every kernel, which the arguments name.
const PARAMETERS: &str = "ptr %p, ptr addrspace(1) %gl, ptr addrspace(3) %sh, ptr addrspace(5) %lo, \
    ptr addrspace(6) %tm, ptr addrspace(7) %cl, i32 %a, i64 %b, i16 %s, float %f, float %g, double %d, \
    double %e, i32 %ci, half %h, bfloat %q, <2 x half> %hh";

/// The declaration and the kernel for a line of the list.
fn kernel(number: usize, result: &str, name: &str, arguments: &str) -> (String, String) {
    let types: Vec<&str> = split(arguments).filter_map(|one| Some(one.rsplit_once(' ')?.0)).collect();
    let declaration = format!("declare {result} @{name}({})\n", types.join(", "));
    let body = match result {
        "void" => format!("call void @{name}({arguments})"),
        _ => format!("%r = call {result} @{name}({arguments})\n  store {result} %r, ptr %p"),
    };
    let text = format!(
        "define ptx_kernel void @k{number}({PARAMETERS}) {{\n  %c = icmp eq i32 %ci, 3\n  {body}\n  ret void\n}}\n"
    );
    (declaration, text)
}

/// The arguments, which commas separate outside of brackets.
fn split(arguments: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    let parts = arguments.split(move |letter: char| {
        depth += i32::from(matches!(letter, '<' | '{')) - i32::from(matches!(letter, '>' | '}'));
        letter == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty())
}

/// The IR for each target and version in the list.
fn modules() -> BTreeMap<&'static str, String> {
    let mut modules: BTreeMap<&str, (BTreeMap<&str, String>, String)> = BTreeMap::new();
    for (number, line) in LIST.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('|').map(str::trim).collect();
        let [module, result, name, arguments] = fields[..] else { panic!("{line}: expected four fields") };
        let (declaration, text) = kernel(number, result, name, arguments);
        let (declarations, kernels) = modules.entry(module).or_default();
        declarations.insert(name, declaration);
        kernels.push_str(&text);
    }
    let whole = modules.into_iter().map(|(module, (declarations, kernels))| {
        let declarations: String = declarations.into_values().collect();
        (module, format!("target triple = \"nvptx64-nvidia-cuda\"\n{declarations}{kernels}"))
    });
    whole.collect()
}

#[test]
fn output_of_llvm_is_accepted() {
    let program = std::env::var("LLC").unwrap_or_else(|_| "llc-22".into());
    if Command::new(&program).arg("--version").output().is_err() {
        // The test harness hides the output of `eprintln!`.
        let _ = writeln!(std::io::stderr(), "skipped: no {program}; Debian's package llvm-22 has it");
        return;
    }
    let mut wrong = String::new();
    for (module, text) in modules() {
        let (target, version) = module.split_once(' ').expect("a target and a version");
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("intrinsics-{target}-{version}"));
        let (ir, ptx) = (file.with_extension("ll"), file.with_extension("ptx"));
        std::fs::write(&ir, text).expect("the folder for tests can be written");
        let output = Command::new(&program)
            .args(["-O2", "-march=nvptx64", &format!("-mcpu={target}"), &format!("-mattr=+{version}")])
            .args([&ir, Path::new("-o"), &ptx])
            .output()
            .expect("llc runs");
        assert!(output.status.success(), "{module}: {}", String::from_utf8_lossy(&output.stderr));
        let written = std::fs::read_to_string(&ptx).expect("llc writes PTX");
        // LLVM calls a name that it does not know like any function.
        let unknown: Vec<&str> = written.lines().filter(|line| line.contains("llvm.nvvm")).take(10).collect();
        assert!(unknown.is_empty(), "not intrinsics of this LLVM: {unknown:#?}");
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let words = ["ptxc", "check", ptx.to_str().expect("a name in Unicode")].map(str::to_string);
        if ptxc::run(&words, &mut std::io::empty(), &mut out, &mut err) != 0 {
            write!(wrong, "{module}:\n{}", String::from_utf8_lossy(&err)).expect("memory");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn arguments_keep_their_types() {
    let (declaration, text) = kernel(1, "i32", "llvm.f", "<2 x half> %hh, ptr addrspace(3) %sh, i1 true");
    assert_eq!(declaration, "declare i32 @llvm.f(<2 x half>, ptr addrspace(3), i1)\n");
    assert!(text.contains("%r = call i32 @llvm.f(<2 x half> %hh, ptr addrspace(3) %sh, i1 true)\n"));
}
