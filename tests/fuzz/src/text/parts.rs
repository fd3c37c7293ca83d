//! Declarations and initial values that precede a body if it uses them.

/// A text that precedes the body if the body uses one of the names; texts that are `outside` belong
/// to the module.
pub(super) struct Part {
    pub(super) defines: &'static [&'static str],
    pub(super) outside: bool,
    pub(super) text: &'static str,
    /// The replacement text in functions.
    pub(super) in_function: Option<&'static str>,
}

const fn inside(defines: &'static [&'static str], text: &'static str) -> Part {
    Part { defines, outside: false, text, in_function: None }
}

const fn outside(defines: &'static [&'static str], text: &'static str) -> Part {
    Part { defines, outside: true, text, in_function: None }
}

/// A part with a different text in functions.
const fn either(defines: &'static [&'static str], text: &'static str, in_function: &'static str) -> Part {
    Part { defines, outside: false, text, in_function: Some(in_function) }
}

/// Variables of the module, then the addresses and words that every thread starts with. Each may
/// use those before it. All threads read `%in` and update `%acc`. `%own`, `%sh` and `%lo` are the
/// thread's own memory in global, shared and local memory, and `%gown`, `%gsh` and `%glo` the same
/// as generic addresses. `%next` is the next thread's part of shared memory, and the threads of a
/// CTA update `%tally`.
pub(super) const PARTS: &[Part] = &[
    outside(
        &["ctab"],
        ".const .align 16 .b32 ctab[16] = { 1, 2, 0x80000000, 0x7fffffff, 0xffffffff, 31, 32, 0x3f800000, 0x7f800000, 7, 64, 0xdeadbeef, 0, 255, 0x12345678, 0x80 };",
    ),
    outside(
        &["gtab"],
        ".global .align 8 .b64 gtab[8] = { 3, 0x8000000000000000, 0xffffffff, 0x100000000, 0x7fffffffffffffff, 0, 0xfffffffffffffff0, 0x3ff0000000000000 };",
    ),
    outside(&["shared"], ".shared .align 16 .b8 shared[8192];"),
    inside(&["%zero"], ".reg .b32 %zero;\nmov.u32 %zero, 0;"),
    inside(&["%always"], ".reg .pred %always;\nsetp.eq.u32 %always, %zero, 0;"),
    inside(&["%never"], ".reg .pred %never;\nsetp.ne.u32 %never, %zero, 0;"),
    inside(&["%in"], ".reg .b64 %in;\nld.param.u64 %in, [in];\ncvta.to.global.u64 %in, %in;"),
    inside(&["%acc"], ".reg .b64 %acc;\nld.param.u64 %acc, [acc];\ncvta.to.global.u64 %acc, %acc;"),
    inside(&["%lane"], ".reg .b32 %lane;\nmov.u32 %lane, %laneid;"),
    inside(&["%size"], ".reg .b32 %size;\n$SIZE"),
    inside(&["%cta"], ".reg .b32 %cta;\n$CTA"),
    inside(&["%thread"], ".reg .b32 %thread;\n$THREAD"),
    inside(&["%warp"], ".reg .b32 %warp;\nshr.u32 %warp, %thread, 5;"),
    either(&["%n"], ".reg .b32 %n;\nld.param.u32 %n, [n];", ".reg .b32 %n;\nmad.lo.u32 %n, %thread, 7, 3;"),
    either(
        &["%m"],
        ".reg .b64 %m;\nld.param.u64 %m, [m];",
        ".reg .b64 %m;\nmul.wide.u32 %m, %thread, 0x10000001;",
    ),
    either(&["%x"], ".reg .f32 %x;\nld.param.f32 %x, [x];", ".reg .f32 %x;\ncvt.rn.f32.u32 %x, %thread;"),
    inside(&["%index"], ".reg .b32 %index;\nmad.lo.u32 %index, %cta, %size, %thread;"),
    either(
        &["%own"],
        ".reg .b64 %own, %ownat;\nld.param.u64 %own, [own];\ncvta.to.global.u64 %own, %own;\nmul.wide.u32 %ownat, %index, 64;\nadd.s64 %own, %own, %ownat;",
        "$OWN",
    ),
    inside(&["%near"], "$NEAR"),
    inside(&["%fuel"], "$FUEL"),
    inside(&["%given"], "$GIVEN"),
    inside(&["%gown"], ".reg .b64 %gown;\ncvta.global.u64 %gown, %own;"),
    inside(
        &["%dump"],
        ".reg .b64 %dump, %dumpat;\nld.param.u64 %dump, [dump];\ncvta.to.global.u64 %dump, %dump;\nmul.wide.u32 %dumpat, %index, 256;\nadd.s64 %dump, %dump, %dumpat;",
    ),
    either(
        &["%sh"],
        ".reg .b32 %sh, %shat;\nmov.u32 %shat, shared;\nmad.lo.u32 %sh, %thread, 64, %shat;\n\
         st.shared.v2.u64 [%sh], {%m, %m};\nst.shared.v2.u64 [%sh+16], {%m, %m};\n\
         st.shared.v4.u32 [%sh+32], {%n, %thread, %n, %cta};\nst.shared.v4.f32 [%sh+48], {%x, %x, %x, %x};",
        ".reg .b32 %sh, %shat;\nmov.u32 %shat, shared;\nmad.lo.u32 %sh, %thread, 64, %shat;",
    ),
    inside(&["%gsh"], ".reg .b64 %gsh, %gshat;\ncvt.u64.u32 %gshat, %sh;\ncvta.shared.u64 %gsh, %gshat;"),
    inside(
        &["%next"],
        ".reg .b32 %next, %nextat;\n.reg .pred %nextq;\nadd.u32 %nextat, %thread, 1;\nsetp.eq.u32 %nextq, %nextat, %size;\n\
         selp.b32 %nextat, 0, %nextat, %nextq;\nsub.u32 %nextat, %nextat, %thread;\nmad.lo.u32 %next, %nextat, 64, %sh;",
    ),
    inside(
        &["%tally"],
        ".reg .b32 %tally;\n.shared .align 16 .b8 tallied[64];\nmov.u32 %tally, tallied;\n\
         st.shared.v4.u32 [%tally], {%n, %n, %n, %n};\nst.shared.v4.u32 [%tally+16], {%n, %n, %n, %n};\n\
         st.shared.v4.u32 [%tally+32], {%n, %n, %n, %n};\nst.shared.v4.u32 [%tally+48], {%n, %n, %n, %n};\nbar.sync 0;",
    ),
    inside(
        &["%lo"],
        ".reg .b64 %lo;\n.local .align 16 .b8 local[64];\nmov.u64 %lo, local;\n\
         st.local.v2.u64 [%lo], {%m, %m};\nst.local.v4.u32 [%lo+16], {%n, %thread, %n, %thread};\n\
         st.local.v4.f32 [%lo+32], {%x, %x, %x, %x};\nst.local.v2.u64 [%lo+48], {%m, %m};",
    ),
    inside(&["%glo"], ".reg .b64 %glo;\ncvta.local.u64 %glo, %lo;"),
    inside(&["%ct"], ".reg .b64 %ct;\nmov.u64 %ct, ctab;"),
    inside(&["%gt"], ".reg .b64 %gt;\nmov.u64 %gt, gtab;"),
    inside(&["%y"], ".reg .f32 %y;\nmov.f32 %y, %x;"),
    inside(&["%z"], ".reg .f64 %z;\nmov.f64 %z, 0d0000000000000000;"),
    inside(&["%t0"], ".reg .b32 %t0;"),
    inside(&["%t1"], ".reg .b32 %t1;"),
    inside(&["%t2"], ".reg .b32 %t2;"),
    inside(&["%t3"], ".reg .b32 %t3;"),
    inside(&["%cm"], ".reg .b32 %cm;"),
    inside(&["%fa"], ".reg .b64 %fa;"),
    inside(&["%fb"], ".reg .b64 %fb;"),
    inside(&["%fq"], ".reg .pred %fq;"),
    inside(&["%a0"], ".reg .b64 %a0;"),
    inside(&["%k0"], ".reg .b16 %k0;"),
    inside(&["%q"], ".reg .pred %q;"),
];

/// The entry's parameters.
pub(super) const PARAMETERS: &str = "\t.param .u64 in, .param .u64 acc, .param .u64 own, .param .u64 dump,
\t.param .u32 n, .param .u64 m, .param .f32 x
";

/// The computation of `$SIZE`, `$CTA` and `$THREAD`, if threads and CTAs have one coordinate, and
/// if they have three.
pub(super) const FLAT: [(&str, &str); 3] = [
    ("$SIZE", "mov.u32 %size, %ntid.x;"),
    ("$CTA", "mov.u32 %cta, %ctaid.x;"),
    ("$THREAD", "mov.u32 %thread, %tid.x;"),
];
pub(super) const SPATIAL: [(&str, &str); 3] = [
    (
        "$SIZE",
        ".reg .b32 %size<3>;\nmov.u32 %size0, %ntid.x;\nmov.u32 %size1, %ntid.y;\nmov.u32 %size2, %ntid.z;\n\
         mul.lo.u32 %size, %size0, %size1;\nmul.lo.u32 %size, %size, %size2;",
    ),
    (
        "$CTA",
        ".reg .b32 %cta<5>;\nmov.u32 %cta0, %ctaid.x;\nmov.u32 %cta1, %ctaid.y;\nmov.u32 %cta2, %ctaid.z;\n\
         mov.u32 %cta3, %nctaid.x;\nmov.u32 %cta4, %nctaid.y;\n\
         mad.lo.u32 %cta, %cta2, %cta4, %cta1;\nmad.lo.u32 %cta, %cta, %cta3, %cta0;",
    ),
    (
        "$THREAD",
        ".reg .b32 %thread<5>;\nmov.u32 %thread0, %tid.x;\nmov.u32 %thread1, %tid.y;\nmov.u32 %thread2, %tid.z;\n\
         mov.u32 %thread3, %ntid.x;\nmov.u32 %thread4, %ntid.y;\n\
         mad.lo.u32 %thread, %thread2, %thread4, %thread1;\nmad.lo.u32 %thread, %thread, %thread3, %thread0;",
    ),
];
