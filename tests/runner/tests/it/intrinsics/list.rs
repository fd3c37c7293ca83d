//! Kernels for the intrinsics of `tests/intrinsics/list.txt`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::PathBuf;

use super::llc::{Kernel, Module};

const LIST: &str = include_str!("../../../../intrinsics/list.txt");

/// The intrinsics without a line in the list, each with the reason.
const WITHOUT: &str = include_str!("../../../../intrinsics/without.txt");

/// The parameters of every kernel, which the arguments name.
const PARAMETERS: &str = "ptr %p, ptr addrspace(1) %gl, ptr addrspace(3) %sh, ptr addrspace(5) %lo, \
    ptr addrspace(6) %tm, ptr addrspace(7) %cl, i32 %a, i64 %b, i16 %s, float %f, float %g, double %d, \
    double %e, i32 %ci, half %h, bfloat %q, <2 x half> %hh, <2 x bfloat> %qq, i128 %w, <2 x i32> %v2, \
    <4 x i32> %v4, <8 x i32> %v8, <4 x float> %f4, <4 x i8> %c4, <16 x i32> %v16, <32 x i32> %v32, \
    <64 x i32> %v64, <128 x i32> %v128";

/// The kernel for a line of the list.
fn kernel(number: usize, result: &str, name: &str, arguments: &str) -> Kernel {
    let types: Vec<&str> = split(arguments).filter_map(|one| Some(one.rsplit_once(' ')?.0)).collect();
    let body = match result {
        "void" => format!("call void @{name}({arguments})"),
        _ => format!("%r = call {result} @{name}({arguments})\n  store {result} %r, ptr %p"),
    };
    let used = |parameter: &&str| {
        let name = parameter.rsplit(' ').next().unwrap_or_default();
        body.split(|c: char| c != '%' && !c.is_alphanumeric()).any(|word| word == name)
    };
    let parameters: Vec<&str> = split(PARAMETERS).filter(|one| one.ends_with("%ci") || used(one)).collect();
    let text = format!(
        "define ptx_kernel void @k{number}({}) {{\n  %c = icmp eq i32 %ci, 3\n  {body}\n  ret void\n}}\n",
        parameters.join(", ")
    );
    let declaration = format!("declare {result} @{name}({})\n", types.join(", "));
    Kernel { name: name.to_string(), declaration, text }
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

/// Modules with every `stride`th line of the list.
pub fn modules(stride: usize, most: usize) -> Vec<Module> {
    let mut kernels: BTreeMap<&str, Vec<Kernel>> = BTreeMap::new();
    let lines = LIST.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
    for (number, line) in lines.step_by(stride) {
        let fields: Vec<&str> = line.split('|').map(str::trim).collect();
        let [target, result, name, arguments] = fields[..] else { panic!("{line}: expected four fields") };
        kernels.entry(target).or_default().push(kernel(number, result, name, arguments));
    }
    let parts =
        kernels.iter().flat_map(|(target, kernels)| kernels.chunks(most).map(move |part| (target, part)));
    let module = |(number, (target, kernels)): (usize, (&&str, &[Kernel]))| {
        let (target, version) = target.split_once(' ').expect("a target and a version");
        Module {
            name: format!("list{number}-{target}"),
            target: target.to_string(),
            version: version.to_string(),
            level: "-O2",
            head: "target triple = \"nvptx64-nvidia-cuda\"\n".to_string(),
            kernels: kernels.to_vec(),
        }
    };
    parts.enumerate().map(module).collect()
}

#[test]
fn every_intrinsic_has_a_line() {
    let header = PathBuf::from("/usr/include/llvm-22/llvm/IR/IntrinsicsNVPTX.h");
    let Ok(header) = std::fs::read_to_string(header) else {
        let _ = writeln!(std::io::stderr(), "skipped: no llvm-22-dev, whose headers name the intrinsics");
        return;
    };
    let named = header.lines().filter_map(|line| line.split_once("// llvm.nvvm."));
    let named: BTreeSet<&str> = named.filter_map(|(_, rest)| rest.split_whitespace().next()).collect();
    assert!(named.len() > 2000, "only {} names", named.len());
    let lines = LIST.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split('|').nth(2));
    let without =
        WITHOUT.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split('|').next());
    let listed: BTreeSet<&str> =
        lines.chain(without).filter_map(|name| name.trim().strip_prefix("llvm.nvvm.")).collect();
    // An overloaded intrinsic has its types after its name.
    let is_listed = |name: &&str| {
        let rest =
            |other: &str| other.strip_prefix(*name).is_some_and(|rest| rest.is_empty() || is_types(rest));
        listed.iter().any(|other| rest(other))
    };
    let missing: Vec<&&str> = named.iter().filter(|name| !is_listed(name)).collect();
    assert!(missing.is_empty(), "tests/intrinsics/enumerate.py finds lines for these: {missing:#?}");
}

/// Whether the end of a name is types, such as `.p1.i32`.
fn is_types(text: &str) -> bool {
    let is_type = |part: &str| {
        let number = part.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
        number.len() < part.len() && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    text.strip_prefix('.').is_some_and(|rest| rest.split('.').all(is_type))
}

#[test]
fn arguments_keep_their_types() {
    let kernel = kernel(1, "i32", "llvm.f", "<2 x half> %hh, ptr addrspace(3) %sh, i1 true");
    assert_eq!(kernel.declaration, "declare i32 @llvm.f(<2 x half>, ptr addrspace(3), i1)\n");
    let call = "%r = call i32 @llvm.f(<2 x half> %hh, ptr addrspace(3) %sh, i1 true)\n";
    assert!(kernel.text.contains(call), "{}", kernel.text);
    assert!(
        kernel.text.contains("@k1(ptr %p, ptr addrspace(3) %sh, i32 %ci, <2 x half> %hh)"),
        "{}",
        kernel.text
    );
}
