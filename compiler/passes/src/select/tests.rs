//! Small functions and what is selected for them.

use ptxc_ir::text::parse_function;
use ptxc_sass::Arch;

use super::select;
use crate::frequency::block_frequencies;
use crate::uniformity::Uniformity;

/// The machine IR of a function, without its header.
fn selected(text: &str) -> String {
    let func = parse_function(text).expect("the test's function reads");
    let frequency = block_frequencies(&func);
    match select(&func, Arch::Sm90, &Uniformity::compute(&func), &frequency) {
        Ok(mir) => {
            crate::mir::verify(&mir).expect("the machine IR is well-formed");
            mir.to_string().lines().skip(1).map(|line| format!("{line}\n")).collect()
        }
        Err(errors) => errors.iter().map(|error| format!("{}: {}\n", error.op, error.why)).collect(),
    }
}

fn body(insts: &str) -> String {
    selected(
        &format!(
            "func @k entry {{\n    param \"p\" 8 +0\n    symbol @s shared size 512 align 4 +16\nblock0:\n{insts}    exit\n}}\n"
        ),
        &[],
    )
}

#[track_caller]
fn check(insts: &str, expected: &[&str]) {
    let text = body(insts);
    let got: Vec<&str> =
        text.lines().map(str::trim).filter(|line| *line != "mb0:" && *line != "exit").collect();
    assert_eq!(got, expected, "\n{text}");
}

#[test]
fn dump() {
    println!(
        "{}",
        body(
            "    v0 = sreg.b32 tid.x\n    v1 = sreg.b32 ntid.x\n    v2 = sreg.b32 ctaid.x\n    v3 = imul.b32 v2, v1\n    v4 = iadd.b32 v3, v0\n    v5 = param.b64 +0\n    v6 = const.b32 0x4\n    v7 = smad_wide.b32 v4, v6, v5\n   v8 = load.global.b32 [v7 + 4]\n   v9 = symbol.b32 @s\n   v10 = const.b32 2\n  v11 = shl.b32 v0, v10\n  v12 = iadd.b32 v9, v11\n  store.shared.b32 [v12 + 4], v8\n    store.shared.b32 [v9], v8\n"
        )
    );
}
