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
    // "%d\n", "%u|", "%08x ", "%c%hd\n", "%d,%u\n", "%lld\n", "%llx ", "%f\n", "%e|%g\n", "%d %.3f %llu\n", "%s=%5d\n",
    // "word", "text\n", "%-7i.\n".
    outside(&["fmt_d"], ".global .align 1 .b8 fmt_d[4] = { 37, 100, 10, 0 };"),
    outside(&["fmt_u"], ".global .align 1 .b8 fmt_u[4] = { 37, 117, 124, 0 };"),
    outside(&["fmt_x"], ".global .align 1 .b8 fmt_x[6] = { 37, 48, 56, 120, 32, 0 };"),
    outside(&["fmt_c"], ".global .align 1 .b8 fmt_c[7] = { 37, 99, 37, 104, 100, 10, 0 };"),
    outside(&["fmt_two"], ".global .align 1 .b8 fmt_two[7] = { 37, 100, 44, 37, 117, 10, 0 };"),
    outside(&["fmt_l"], ".global .align 1 .b8 fmt_l[6] = { 37, 108, 108, 100, 10, 0 };"),
    outside(&["fmt_lx"], ".global .align 1 .b8 fmt_lx[6] = { 37, 108, 108, 120, 32, 0 };"),
    outside(&["fmt_f"], ".global .align 1 .b8 fmt_f[4] = { 37, 102, 10, 0 };"),
    outside(&["fmt_e"], ".global .align 1 .b8 fmt_e[7] = { 37, 101, 124, 37, 103, 10, 0 };"),
    outside(
        &["fmt_mix"],
        ".global .align 1 .b8 fmt_mix[14] = { 37, 100, 32, 37, 46, 51, 102, 32, 37, 108, 108, 117, 10, 0 };",
    ),
    outside(&["fmt_s"], ".global .align 1 .b8 fmt_s[8] = { 37, 115, 61, 37, 53, 100, 10, 0 };"),
    outside(&["fmt_word"], ".global .align 1 .b8 fmt_word[5] = { 119, 111, 114, 100, 0 };"),
    outside(&["fmt_text"], ".global .align 1 .b8 fmt_text[6] = { 116, 101, 120, 116, 10, 0 };"),
    outside(&["cfmt"], ".const .align 1 .b8 cfmt[7] = { 37, 45, 55, 105, 46, 10, 0 };"),
    outside(&["condition"], ".global .align 1 .b8 condition[6] = { 120, 32, 60, 32, 55, 0 };"),
    outside(&["file"], ".global .align 1 .b8 file[8] = { 102, 117, 122, 122, 46, 99, 117, 0 };"),
    outside(
        &["vprintf"],
        ".extern .func (.param .b32 count) vprintf(.param .b64 format, .param .b64 values);",
    ),
    outside(&["malloc"], ".extern .func (.param .b64 block) malloc(.param .b64 bytes);"),
    outside(&["free"], ".extern .func free(.param .b64 block);"),
    outside(
        &["__assertfail"],
        ".extern .func __assertfail(.param .b64 message, .param .b64 path, .param .b32 row, .param .b64 routine, .param .b64 width);",
    ),
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
    inside(&["%a1"], ".reg .b64 %a1;"),
    inside(&["%ya"], ".reg .f32 %ya;"),
    inside(&["%yb"], ".reg .f32 %yb;"),
    inside(&["%yc"], ".reg .f32 %yc;"),
    inside(&["%fm"], ".reg .b64 %fm;"),
    inside(&["%hn"], ".reg .b64 %hn;"),
    inside(&["%hb"], ".reg .b64 %hb;"),
    inside(&["%va"], ".reg .b64 %va;\n.local .align 16 .b8 values[32];\nmov.u64 %va, values;"),
    inside(&["%vg"], ".reg .b64 %vg;\ncvta.local.u64 %vg, %va;"),
    inside(
        &["%heap"],
        ".reg .b64 %heap;\n{\n.param .b64 pn;\nst.param.b64 [pn], 64;\n.param .b64 pb;\n\
         call.uni (pb), malloc, (pn);\nld.param.b64 %heap, [pb];\n}\n\
         st.v2.u64 [%heap], {%m, %m};\nst.v4.u32 [%heap+16], {%n, %thread, %n, %cta};\n\
         st.v4.f32 [%heap+32], {%x, %x, %x, %x};\nst.v2.u64 [%heap+48], {%m, %m};",
    ),
    // The addresses of the kernel's parameter `ps` and of a function's first parameter.
    inside(&["%pk"], ".reg .b64 %pk;\nmov.b64 %pk, ps;"),
    inside(&["%pw"], ".reg .b64 %pw;\nmov.b64 %pw, pw;"),
    inside(&["%pg"], ".reg .b64 %pg;\nmov.b64 %pg, ps;\ncvta.param.u64 %pg, %pg;"),
    inside(&["%pa"], ".reg .b64 %pa;\nmov.b64 %pa, a0;"),
    inside(&["%pag"], ".reg .b64 %pag;\ncvta.local.u64 %pag, %pa;"),
    inside(&["%ht1"], ".reg .b64 %ht1;\nld.param.u64 %ht1, [t1];"),
    inside(&["%ht2"], ".reg .b64 %ht2;\nld.param.u64 %ht2, [t2];"),
    inside(&["%hu2"], ".reg .b64 %hu2;\nld.param.u64 %hu2, [u2];"),
    inside(&["%ht3"], ".reg .b64 %ht3;\nld.param.u64 %ht3, [t3];"),
    inside(&["%htl"], ".reg .b64 %htl;\nld.param.u64 %htl, [tl];"),
    inside(&["%hta"], ".reg .b64 %hta;\nld.param.u64 %hta, [ta];"),
    inside(&["%htc"], ".reg .b64 %htc;\nld.param.u64 %htc, [tc];"),
    inside(&["%hti"], ".reg .b64 %hti;\nld.param.u64 %hti, [ti];"),
    inside(&["%hs1"], ".reg .b64 %hs1;\nld.param.u64 %hs1, [s1];"),
    inside(&["%hs2"], ".reg .b64 %hs2;\nld.param.u64 %hs2, [s2];"),
    inside(&["%hs3"], ".reg .b64 %hs3;\nld.param.u64 %hs3, [s3];"),
    inside(&["%hsl"], ".reg .b64 %hsl;\nld.param.u64 %hsl, [sl];"),
    inside(&["%hsa"], ".reg .b64 %hsa;\nld.param.u64 %hsa, [sa];"),
    inside(&["%k0"], ".reg .b16 %k0;"),
    inside(&["%q"], ".reg .pred %q;"),
];

/// The entry's parameters.
pub(super) const PARAMETERS: &str = "\t.param .u64 in, .param .u64 acc, .param .u64 own, .param .u64 dump,
\t.param .u32 n, .param .u64 m, .param .f32 x";

/// Further parameters, which are accessed by their addresses.
pub(super) const MORE_PARAMETERS: &str =
    ",\n\t.param .align 16 .b8 ps[64], .param .align 4 .b8 pw[12], .param .u8 pc, .param .u16 ph\n";

/// Further parameters: the handles of textures and surfaces.
pub(super) const HANDLES: &str = ",\n\t.param .u64 t1, .param .u64 t2, .param .u64 u2, .param .u64 t3, \
    .param .u64 tl, .param .u64 ta, .param .u64 tc, .param .u64 ti,\n\t.param .u64 s1, .param .u64 s2, \
    .param .u64 s3, .param .u64 sl, .param .u64 sa\n";

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
