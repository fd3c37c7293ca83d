//! Small functions after selection and combining.

use ptxc_ir::text::parse_function;
use ptxc_machine::Arch;
use ptxc_ssa::converge::converge;
use ptxc_ssa::frequency::block_frequencies;
use ptxc_ssa::uniformity::Uniformity;

use super::predicate::LIMIT;
use crate::mir::verify;
use crate::select::select;

fn combined(text: &str) -> String {
    let mut func = parse_function(text).expect("the test's function reads");
    converge(&mut func);
    let frequency = block_frequencies(&func);
    let selected = select(&func, Arch::Sm90, &Uniformity::compute(&func), &frequency);
    let mut mir = selected.expect("the test's function is selected");
    for (name, rule) in super::RULES {
        rule(&mut mir, Arch::Sm90);
        if let Err(errors) = verify(&mir) {
            panic!("{name}: {}\n{mir}", errors[0]);
        }
    }
    mir.to_string()
}

const HEAD: &str = "func @k entry {
    param \"p\" 8 +0
    param \"n\" 4 +8
block0:
    v0 = param.b64 +0
    v1 = sreg.b32 tid.x
    v2 = param.b32 +8
    v3 = icmp.slt.b32 v1, v2
    v4 = const.b32 0x5
";

#[track_caller]
fn assert_lines(text: &str, lines: &[&str]) {
    let mut rest = text;
    for line in lines {
        match rest.find(line) {
            Some(at) => rest = &rest[at + line.len()..],
            None => panic!("`{line}` is not, or not in order, in\n{text}"),
        }
    }
}

#[test]
fn a_conditional_load_gets_a_guard_and_keeps_the_old_value() {
    let text = combined(&format!(
        "{HEAD}    brif v3, block1, block2(v4)
block1:
    v5 = load.global.b32 [v0]
    jump block2(v5)
block2(v6: b32):
    store.global.b32 [v0 + 4], v6
    exit
}}
"
    ));
    assert_lines(&text, &["MOV %r", ", 0x5", "@%p", "LDG.E %r", "tied(%r", "STG.E", "exit"]);
    assert!(!text.contains("BSSY") && !text.contains("BSYNC") && !text.contains("mb1"), "{text}");
}

#[test]
fn two_arms_store_under_opposite_guards() {
    let text = combined(&format!(
        "{HEAD}    brif v3, block1, block2
block1:
    store.global.b32 [v0], v1
    jump block3(v1)
block2:
    v5 = iadd.b32 v1, v4
    store.global.b32 [v0 + 4], v5
    jump block3(v4)
block3(v6: b32):
    store.global.b32 [v0 + 8], v6
    exit
}}
"
    ));
    assert_lines(&text, &["@!%p", "STG.E", "+0x4", "@%p", "STG.E", "SEL %r", "STG.E", "+0x8", "exit"]);
    assert!(!text.contains("BSSY"), "{text}");
}

#[test]
fn a_barrier_or_a_long_arm_keeps_its_branch() {
    let barrier = combined(&format!(
        "{HEAD}    v9 = const.b32 0\n    brif v3, block1, block2
block1:
    barrier.sync v9
    jump block2
block2:
    store.global.b32 [v0], v4
    exit
}}
"
    ));
    assert!(barrier.contains("branch"), "{barrier}");
    let stores: String =
        (0..=LIMIT).map(|n| format!("    store.global.b32 [v0 + {}], v1\n", 4 * n)).collect();
    let long = combined(&format!(
        "{HEAD}    brif v3, block1, block2
block1:
{stores}    jump block2
block2:
    store.global.b32 [v0], v4
    exit
}}
"
    ));
    assert!(long.contains("branch"), "{long}");
}

/// A lane that skips the load has no value to add.
#[test]
fn what_reads_a_guarded_value_is_guarded() {
    let text = combined(&format!(
        "{HEAD}    brif v3, block1, block2
block1:
    v5 = load.global.b32 [v0 + 8]
    v6 = iadd.b32 v5, v1
    v7 = iadd.b32 v1, v4
    v8 = imul.b32 v6, v7
    store.global.b32 [v0 + 4], v8
    jump block2
block2:
    store.global.b32 [v0], v4
    exit
}}
"
    ));
    assert_lines(
        &text,
        &["@%p", "LDG.E", "@%p", "IADD3", "IADD3", "@%p", "IMAD", "@%p", "STG.E", "+0x4", "STG.E"],
    );
    assert_eq!(text.matches("@%").count(), 4, "{text}");
}

/// The inner branch is removed with its barrier; the outer one stays, since its arm then has
/// guards.
#[test]
fn a_guard_is_not_guarded_again() {
    let text = combined(&format!(
        "{HEAD}    brif v3, block1, block4
block1:
    v5 = icmp.eq.b32 v1, v4
    brif v5, block2, block3
block2:
    store.global.b32 [v0], v1
    jump block3
block3:
    store.global.b32 [v0 + 4], v1
    jump block4
block4:
    store.global.b32 [v0 + 8], v4
    exit
}}
"
    ));
    assert_lines(&text, &["BSSY B0", "branch", "@%p", "STG.E", "STG.E", "BSYNC B0", "STG.E"]);
    assert_eq!(text.matches("BSSY").count(), 1, "{text}");
}

/// `v5` is read in a loop and by an addition that takes a uniform register. `v6` goes to a
/// parameter, and `v7` is multiplied by a word of the bank, which is already in a uniform register.
#[test]
fn common_values_of_a_loop_are_uniform() {
    let text = combined(&format!(
        "{HEAD}    v5 = shl.b32 v2, v4
    v6 = xor.b32 v2, v4
    v7 = sreg.b32 ctaid.x
    jump block1(v6)
block1(v8: b32):
    v9 = iadd.b32 v8, v5
    v10 = imul.b32 v7, v2
    v11 = xor.b32 v9, v10
    store.global.b32 [v0], v11
    brif v3, block1(v9), block2
block2:
    exit
}}
"
    ));
    assert_lines(&text, &["USHF.L.U32 %ur", "IADD3", "%ur", "IMAD"]);
    assert!(!text.contains("S2UR") && !text.contains("ULOP3"), "{text}");
}

#[test]
fn neighbouring_parameters_are_loaded_together() {
    let text = combined(
        "func @k entry {
    param \"a\" 4 +0
    param \"b\" 4 +4
    param \"p\" 8 +8
block0:
    v0 = param.b32 +0
    v1 = param.b32 +4
    v2 = sreg.b32 tid.x
    v3 = imul.b32 v2, v0
    v4 = imul.b32 v3, v1
    v5 = param.b64 +8
    store.global.b32 [v5], v4
    exit
}
",
    );
    assert_lines(&text, &["ULDC.64 %ur", "IMAD %r", "IMAD %r", "#1, RZ"]);
    assert_eq!(text.matches("c[0x0][0x21").count(), 2, "{text}");
}

/// `v7` feeds only itself: parameter, argument and addition are removed.
#[test]
fn a_cycle_of_dead_values_goes() {
    let text = combined(&format!(
        "{HEAD}    jump block1(v1, v4)
block1(v6: b32, v7: b32):
    v8 = iadd.b32 v6, v4
    v9 = iadd.b32 v7, v4
    v10 = icmp.slt.b32 v8, v2
    brif v10, block1(v8, v9), block2
block2:
    exit
}}
"
    ));
    assert_eq!(text.matches("IADD3").count(), 1, "{text}");
}
