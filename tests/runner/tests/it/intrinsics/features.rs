//! Kernels for the instructions of `tests/intrinsics/features.txt`, whose head describes the language.

use super::llc::{Kernel, Module};

const FEATURES: &str = include_str!("../../../../intrinsics/features.txt");

/// The targets, with the versions that LLVM writes for them.
pub const TARGETS: [(&str, &str); 3] = [("sm_75", "ptx78"), ("sm_80", "ptx78"), ("sm_90", "ptx84")];

/// The types of parameters.
const TYPES: &str = "i1 i8 i16 i32 i64 i128 f16 bf16 f32 f64 v2i1 v2i8 v4i8 v16i8 v2i16 v4i16 v8i16 v2i32 v3i32 v4i32 \
    v2i64 v2f16 v4f16 v2bf16 v2f32 v3f32 v4f32 v8f32 v2f64";

/// The pointers among the parameters.
const POINTERS: [(&str, &str); 5] = [
    ("p", "ptr"),
    ("gl", "ptr addrspace(1)"),
    ("sh", "ptr addrspace(3)"),
    ("co", "ptr addrspace(4)"),
    ("lo", "ptr addrspace(5)"),
];

/// A type by its short name; any other text is itself.
fn spelled(short: &str) -> String {
    let vector = short.strip_prefix('v').and_then(|rest| {
        let digits = rest.len() - rest.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
        (digits > 0).then(|| rest.split_at(digits))
    });
    if let Some((count, element)) = vector {
        return format!("<{count} x {}>", spelled(element));
    }
    let known = [("f16", "half"), ("bf16", "bfloat"), ("f32", "float"), ("f64", "double")];
    known.into_iter().find(|(name, _)| *name == short).map_or(short, |(_, name)| name).to_string()
}

/// The texts that a line stands for.
fn expanded(line: &str, chosen: &[&str]) -> Vec<String> {
    for (start, _) in line.match_indices('(') {
        let (parts, end) = alternatives(&line[start..]);
        if parts.len() > 1 {
            let (before, after) = (&line[..start], &line[start + end..]);
            let one = |part: &&str| expanded(&format!("{before}{part}{after}"), &[chosen, &[*part]].concat());
            return parts.iter().flat_map(one).collect();
        }
    }
    let mut text = line.to_string();
    for (number, part) in (1..).zip(chosen) {
        text = text.replace(&format!("${number}"), part);
    }
    let mut parts = text.split('#');
    let mut whole = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let end = part.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(part.len());
        whole += &spelled(&part[..end]);
        whole += &part[end..];
    }
    vec![whole]
}

/// The alternatives in the brackets at the start of a text, and where the brackets end.
fn alternatives(text: &str) -> (Vec<&str>, usize) {
    let (mut depth, mut from, mut parts) = (0, 1, Vec::new());
    for (place, letter) in text.char_indices() {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        if depth == 0 || depth == 1 && letter == '|' {
            parts.push(&text[from..place]);
            from = place + 1;
        }
        if depth == 0 {
            return (parts, place + 1);
        }
    }
    panic!("{text}: a bracket is not closed")
}

/// The kernel for an instruction, which follows its type.
fn kernel(number: usize, text: &str) -> Kernel {
    let (result, instruction) =
        text.split_once(" = ").unwrap_or_else(|| panic!("{text}: expected a type and ` = `"));
    let result = spelled(result);
    let uses = |name: &str| {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '.';
        instruction.match_indices('%').any(|(place, _)| {
            let rest = &instruction[place + 1..];
            &rest[..rest.find(|letter| !is_part(letter)).unwrap_or(rest.len())] == name
        })
    };
    let mut parameters: Vec<String> = Vec::new();
    for short in TYPES.split_whitespace() {
        let names = ["", ".b", ".c"].map(|suffix| format!("{short}{suffix}"));
        parameters
            .extend(names.iter().filter(|name| uses(name)).map(|name| format!("{} %{name}", spelled(short))));
    }
    parameters
        .extend(POINTERS.iter().filter(|(name, _)| uses(name)).map(|(name, ty)| format!("{ty} %{name}")));
    parameters.push("ptr addrspace(1) %out".to_string());
    let body = match &*result {
        "void" => instruction.to_string(),
        _ => format!("%r = {instruction}\n  store {result} %r, ptr addrspace(1) %out"),
    };
    let head = format!("define ptx_kernel void @k{number}({})", parameters.join(", "));
    Kernel {
        name: text.to_string(),
        declaration: declaration(instruction, &result),
        text: format!("{head} {{\n  {body}\n  ret void\n}}\n"),
    }
}

/// The declaration of the function that an instruction calls, if it is a call.
fn declaration(instruction: &str, result: &str) -> String {
    let Some((_, call)) = instruction.split_once('@').filter(|_| instruction.starts_with("call ")) else {
        return String::new();
    };
    let (name, arguments) = call.split_once('(').unwrap_or((call, ")"));
    let mut depth = 0;
    let parts = arguments.trim_end_matches(')').split(|letter: char| {
        depth += i32::from(matches!(letter, '<' | '{')) - i32::from(matches!(letter, '>' | '}'));
        letter == ',' && depth == 0
    });
    let types: Vec<&str> = parts.filter_map(|part| Some(part.trim().rsplit_once(' ')?.0)).collect();
    format!("declare {result} @{name}({})\n", types.join(", "))
}

/// Modules with every `stride`th instruction, for each target and two levels of optimization. Each target and
/// level gets other ones.
pub fn modules(stride: usize, most: usize) -> Vec<Module> {
    let lines =
        FEATURES.lines().filter(|line| !line.is_empty() && !line.starts_with("# ") && !line.starts_with('['));
    let kernels: Vec<Kernel> = lines
        .flat_map(|line| expanded(line, &[]))
        .enumerate()
        .map(|(number, text)| kernel(number, &text))
        .collect();
    let mut modules = Vec::new();
    let settings = TARGETS.iter().flat_map(|target| ["-O0", "-O2"].map(|level| (target, level)));
    for (turn, (&(target, version), level)) in settings.enumerate() {
        let some: Vec<Kernel> = ptxc_sample::in_turn(&kernels, turn, stride).cloned().collect();
        modules.extend(some.chunks(most).enumerate().map(|(number, kernels)| Module {
            name: format!("features{number}-{target}{level}"),
            target: target.to_string(),
            version: version.to_string(),
            level,
            head: "target triple = \"nvptx64-nvidia-cuda\"\n!0 = !{i32 1}\n!1 = !{}\n".to_string(),
            kernels: kernels.to_vec(),
        }));
    }
    modules
}

#[test]
fn lines_are_expanded() {
    assert_eq!(
        expanded("#(i8|v2f16) = (add|f) #$1 %$1, ptr addrspace(1) %gl", &[]),
        [
            "i8 = add i8 %i8, ptr addrspace(1) %gl",
            "i8 = f i8 %i8, ptr addrspace(1) %gl",
            "<2 x half> = add <2 x half> %v2f16, ptr addrspace(1) %gl",
            "<2 x half> = f <2 x half> %v2f16, ptr addrspace(1) %gl",
        ]
    );
    let kernel = kernel(3, "float = call fast float @llvm.f.f32(float %f32, <2 x half> %v2f16.b)");
    assert_eq!(kernel.declaration, "declare float @llvm.f.f32(float, <2 x half>)\n");
    assert!(
        kernel.text.starts_with(
            "define ptx_kernel void @k3(float %f32, <2 x half> %v2f16.b, ptr addrspace(1) %out)"
        )
    );
}
