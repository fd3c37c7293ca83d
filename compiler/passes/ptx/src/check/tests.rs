//! Whole functions through the checker.

use super::*;
use crate::check::env::{PtxTarget, PtxVersion, TargetKind};

/// The codes found in a kernel with registers of every type; instructions separated by `;`.
fn findings(body: &str) -> Vec<Diagnostic> {
    findings_in(body, &ModuleEnv::empty())
}

fn findings_in(body: &str, env: &ModuleEnv) -> Vec<Diagnostic> {
    let text = format!(
        ".entry k(.param .u64 n) {{
            .reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<6>; .reg .u32 %u<4>; .reg .f32 %f<6>;
            .reg .b64 %rd<4>; .reg .f64 %fd<4>; .shared .align 4 .b8 tile[64];
            {body} }}"
    );
    let parsed = ptxc_syntax::parse_function(&text);
    assert!(parsed.errors.is_empty(), "{body}: {:?}", parsed.errors);
    check_function(&parsed.value, env)
}

fn codes_of(body: &str) -> Vec<u16> {
    findings(body).iter().map(|finding| finding.code.0).collect()
}

#[test]
fn code_that_ptxas_accepts_is_accepted() {
    for good in [
        "add.f32.rn %f1, %f2, %f3;",
        "add.sat.ftz.rn.f32 %f1, %f2, 0f3F800000;",
        "ld.f32.global %f1, [%rd1+-4];",
        "ld.global.v2.f32 {%f1, _}, [%rd1];",
        "ld.param.u64 %rd1, [n];",
        "setp.s32.eq %p1|%p2, %r1, 5;",
        "setp.eq.and.f32 %p1, %f1, %f2, !%p2;",
        "atom.add.gpu.relaxed.global.u32 _, [%rd1], 1;",
        "mov.b32 %r1, {%h1, %h2};",
        "mov.b64 {%r1, _}, %rd1;",
        "mov.u64 %rd1, tile+4;",
        "mov.u32 %r1, %tid.x;",
        "cvt.u64.u32 %rd1, %tid.x;",
        "bar.sync 15, 96;",
        "bar.red.popc.u32 %r1, 0, %p1;",
        "vote.ballot.sync.b32 %r1, !%p1, -1;",
        "shfl.sync.down.b32 %f1|%p1, %f2, 16, 31, -1;",
        "mul.wide.s32 %rd1, %r1, 4;",
        "red.global.add.f32 [%rd1], %f1;",
        "bra DONE; DONE: ret;",
        "@!%p1 bra.uni DONE; { DONE: ret; } DONE: ret;",
    ] {
        assert_eq!(findings(good), [], "{good}");
    }
}

#[test]
fn each_mistake_has_its_code() {
    for (bad, code) in [
        ("frob.u32 %r1, %r2;", 101),
        ("add.s33 %r1, %r2, 1;", 102),
        ("add.rn.rz.f32 %f1, %f2, %f3;", 103),
        ("add.rn.ftz.f64 %fd1, %fd2, %fd3;", 104),
        ("fma.f32 %f1, %f2, %f3, %f4;", 105),
        ("mul.s32.lo %r1, %r2, %r3;", 106),
        ("bar.sync 16;", 107),
        ("lop3.b32 %r1, %r2, %r3, %r4, 256;", 107),
        ("add.u32 %r1, %r2;", 108),
        ("add.u32 %r1, [%rd1], 1;", 109),
        ("ld.global.u32 %r1, %rd1;", 109),
        ("bar.sync 0, 33;", 112),
        ("shfl.idx.b32 %r1, %r2, 1, 31;", 113),
        ("ld.global.v4.f32 {%f1, %f2}, [%rd1];", 114),
        ("add.u32 _, %r1, %r2;", 115),
        ("add.u32 %r9, %r1, %r2;", 201),
        ("mov.u32 %r1, tiel;", 202),
        ("bra NOWHERE;", 203),
        (".reg .b32 x, x;", 204),
        (".reg .b32 %p1;", 204),
        ("add.u32 %r1, %f1, 1;", 206),
        ("add.f32 %f1, %u1, %f2;", 206),
        ("add.f32 %f1, %f2, 1;", 207),
        ("add.u32 %r1, %r2, 1.5;", 207),
        ("@%r1 add.u32 %r1, %r2, 1;", 208),
        ("mov.u32 %r1, %tid.q;", 209),
        ("add.u32 %r1, %r2, %tid.x;", 210),
        ("ld.global.u32 %r1, [tile];", 211),
        ("ld.global.u32 %r1, [%f1];", 212),
        ("bra %r1;", 213),
        ("call tile;", 214),
        ("mov.u32 %tid.x, %r1;", 217),
    ] {
        assert_eq!(codes_of(bad), [code], "{bad}: {:?}", findings(bad));
    }
}

#[test]
fn messages_point_at_the_part() {
    let found = findings("add.rn.ftz.f64 %fd1, %fd2, %fd3;");
    assert_eq!(found[0].message, "`add.rn.f64` does not allow `.ftz`");
    assert_eq!(found[0].notes, ["the closest form is `add{.rn|.rz|.rm|.rp}.f64`"]);
    let found = findings("mul.lo.s33 %r1, %r2, %r3;");
    assert_eq!(found[0].help.as_deref(), Some("did you mean `.s32`?"));
    let found = findings("add.u32 %r9, %r1, %r2;");
    assert_eq!(found[0].notes, ["`%r<6>` declares `%r0` to `%r5`"]);
}

#[test]
fn thirty_mistakes_give_thirty_findings() {
    let body: String = (0..30).map(|i| format!("add.u32 %q{i}, %r1, {i};\n")).collect();
    assert_eq!(findings(&body).len(), 30);
}

#[test]
fn version_and_target() {
    let mut env = ModuleEnv::empty();
    env.version = PtxVersion(6, 0);
    env.target = PtxTarget { number: 70, kind: TargetKind::Baseline };
    let codes_in = |body: &str, env: &ModuleEnv| -> Vec<u16> {
        findings_in(body, env).iter().map(|finding| finding.code.0).collect()
    };
    assert_eq!(codes_in("activemask.b32 %r1;", &env), [110]);
    assert_eq!(codes_in("redux.sync.add.u32 %r1, %r2, -1;", &env), [110, 111]);
    assert_eq!(codes_in("ld.global.L2::128B.b32 %r1, [%rd1];", &env), [110, 111]);
    assert_eq!(codes_in("shfl.idx.b32 %r1, %r2, 1, 31;", &env), [116]);
    env.version = PtxVersion(6, 4);
    assert_eq!(codes_in("shfl.idx.b32 %r1, %r2, 1, 31;", &env), [113]);
    env.version = PtxVersion::NEWEST;
    env.target.number = 100;
    assert_eq!(codes_in("setmaxnreg.inc.sync.aligned.u32 96;", &env), [111]);
}

#[test]
fn calls() {
    let mut env = ModuleEnv::empty();
    let text = ".func (.param .b32 r) f(.param .b64 a, .param .b32 b) { ret; }";
    let signature = env::signature(&ptxc_syntax::parse_function(text).value);
    env.signatures.insert("f".into(), signature);
    for (body, code) in [
        ("{ .param .b32 r; .param .b64 a; .param .b32 b; call.uni (r), f, (a, b); }", None),
        ("call (%r1), f, (%rd1, %r2);", None),
        ("call (%r1), f, (%rd1);", Some(215)),
        ("call f, (%rd1, %r2);", Some(215)),
        ("call (%r1), f, (%r1, %r2);", Some(216)),
        ("call (%r1), g, (%r1, %r2);", Some(202)),
        ("call (%r1), %rd1, (%r1);", Some(214)),
        ("proto: .callprototype (.param .b32 _) _ (.param .b32 _); call (%r1), %rd1, (%r1), proto;", None),
    ] {
        let codes: Vec<u16> = findings_in(body, &env).iter().map(|finding| finding.code.0).collect();
        assert_eq!(codes, code.into_iter().collect::<Vec<_>>(), "{body}");
    }
}
