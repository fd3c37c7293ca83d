//! Small bodies, and the warnings about them.

use ptxc_syntax::ast::Function;
use ptxc_syntax::parse_function;

use super::warnings;
use crate::check::env::ModuleEnv;
use crate::check::examine;
use crate::diagnostic::Diagnostic;

/// The warnings about a function.
fn all(function: &Function) -> Vec<Diagnostic> {
    warnings(function, &examine(function, &ModuleEnv::empty()))
}

/// The warnings about a kernel with this body, after declarations of a few registers.
fn of(body: &str) -> Vec<Diagnostic> {
    let text =
        format!(".entry k(.param .u64 p) {{ .reg .pred %p<4>; .reg .b32 %r<9>; .reg .v2 .f32 %v; {body} }}");
    let parsed = parse_function(&text);
    assert!(parsed.errors.is_empty(), "{text}: {:?}", parsed.errors);
    all(&parsed.value)
}

/// Their codes and messages.
fn found(body: &str) -> Vec<String> {
    let short = |finding: &Diagnostic| {
        let message = finding.message.split(" before ").next().unwrap_or_default();
        format!("{} {message}", finding.code)
    };
    of(body).iter().map(short).collect()
}

const END: &str = "E0306 control reaches the end of the body";
const LOST: &str = "E0305 unreachable code";

#[test]
fn a_register_is_written_on_no_way() {
    assert_eq!(found("add.u32 %r1, %r2, 1; ret;"), ["E0304 `%r2` is read"]);
    assert_eq!(found("mov.u32 %r2, 1; add.u32 %r1, %r2, 1; ret;"), [""; 0]);
    // The guard and an address are read as well; each register is named once.
    assert_eq!(
        found("@%p1 mov.u32 %r1, 1; @%p1 st.shared.u32 [%r3+4], %r1; ret;"),
        ["E0304 `%p1` is read", "E0304 `%r3` is read"]
    );
    // The write comes only after the read.
    let findings = of("add.u32 %r1, %r2, 1; mov.u32 %r2, %r1; ret;");
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].secondary.len(), 1);
}

#[test]
fn one_way_with_a_write_is_enough() {
    let body =
        "mov.u32 %r1, 1; setp.eq.u32 %p1, %r1, 0; @%p1 bra L; mov.u32 %r2, 2; L: add.u32 %r1, %r2, 1; ret;";
    assert_eq!(found(body), [""; 0]);
    // The next iteration of a loop reads what the previous one wrote.
    let body =
        "mov.u32 %r1, 1; L: add.u32 %r3, %r2, %r1; mov.u32 %r2, 1; setp.eq.u32 %p1, %r3, 0; @%p1 bra L; ret;";
    assert_eq!(found(body), [""; 0]);
    // A write in unreachable code does not count.
    let body = "bra L; M: mov.u32 %r2, 1; bra L; L: add.u32 %r1, %r2, 1; ret;";
    assert_eq!(found(body), [LOST, "E0304 `%r2` is read"]);
}

#[test]
fn guarded_writes_and_parts_of_vectors_count_as_written() {
    assert_eq!(found("setp.eq.u32 %p1, 1, 0; @%p1 mov.u32 %r1, 1; add.u32 %r2, %r1, 1; ret;"), [""; 0]);
    assert_eq!(found("mov.f32 %v.x, 0f00000000; st.shared.v2.f32 [0], %v; ret;"), [""; 0]);
    // An exclusive or with itself is 0.
    assert_eq!(found("xor.b32 %r1, %r1, %r1; ret;"), [""; 0]);
    let call = "{ .param .b32 a; .reg .b32 t; call (t), f, (%r1); add.u32 %r2, t, 1; } ret;";
    assert_eq!(found(call), ["E0304 `%r1` is read"]);
}

#[test]
fn parameters_in_registers_have_values() {
    let parsed = parse_function(".func (.reg .b32 r) f(.reg .b32 x) { add.u32 r, x, 1; ret; }");
    assert!(parsed.errors.is_empty());
    assert_eq!(all(&parsed.value), []);
}

#[test]
fn code_after_a_branch_needs_a_label_that_something_branches_to() {
    assert_eq!(found("ret; mov.u32 %r1, 1; ret;"), [LOST]);
    assert_eq!(found("bra L; mov.u32 %r1, 1; M: mov.u32 %r2, 1; L: ret;"), [LOST]);
    assert_eq!(found("exit; L: mov.u32 %r1, 1; bra L;"), [LOST]);
    // If the guard fails, control continues.
    assert_eq!(found("setp.eq.u32 %p1, 1, 0; @%p1 ret; mov.u32 %r1, 1; ret;"), [""; 0]);
    // Code that compilers leave after `trap`, and branches that are never taken.
    assert_eq!(found("trap; exit;"), [""; 0]);
    assert_eq!(found("bra L; bra M; L: ret; M: ret;"), [""; 0]);
}

#[test]
fn switches_lead_to_all_their_labels() {
    let body = "mov.u32 %r1, 1; ts: .branchtargets A, B; brx.idx %r1, ts; A: mov.u32 %r2, 1; ret; B: mov.u32 %r3, 1; ret;";
    assert_eq!(found(body), [""; 0]);
}

#[test]
fn bodies_end() {
    assert_eq!(found("mov.u32 %r1, 1;"), [END]);
    assert_eq!(found("setp.eq.u32 %p1, 1, 0; @%p1 bra L; ret; L:"), [END]);
    assert_eq!(found("L: mov.u32 %r1, 1; bra L;"), [""; 0]);
    assert_eq!(found("trap;"), [""; 0]);
    assert_eq!(found(""), [""; 0]);
    assert_eq!(found("call f;"), [""; 0]);
}

/// A long chain of conditions, in which each register is read far from its only write.
#[test]
fn long_functions_take_linear_time() {
    use std::fmt::Write;
    let mut body = String::from(".reg .b32 %x<5000>; mov.u32 %r1, 1; setp.eq.u32 %p1, %r1, 0;");
    for number in 0..5_000 {
        let _ = write!(body, "@%p1 bra L{number}; mov.u32 %x{number}, 1; L{number}: ");
    }
    for number in 0..5_000 {
        let _ = write!(body, "add.u32 %r2, %x{number}, 1; @%p1 bra M{number}; M{number}: ");
    }
    body.push_str("add.u32 %r2, %r8, 1; ret;");
    // Other ways may have written all other registers.
    assert_eq!(found(&body), ["E0304 `%r8` is read"]);
}
