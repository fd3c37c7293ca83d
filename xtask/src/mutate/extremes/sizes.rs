//! Large numbers: of bytes, of elements, of threads, of positions.

use super::{Extreme, HEADER, each, kernel, module};

/// Sizes.
pub(super) const ALL: &[Extreme] = &[
    ("bytes of shared memory", 2_147_483_648, |n| {
        kernel(&format!(".shared .b8 x[{n}]; .reg .b32 %r; mov.u32 %r, x; st.shared.u32 [%r], %r;"))
    }),
    ("bytes of shared memory of a module", 2_147_483_648, |n| {
        with_kernel(
            &format!(".shared .align 16 .b8 x[{n}];\n"),
            ".reg .b32 %r; mov.u32 %r, x; st.shared.u32 [x+4], %r;",
        )
    }),
    ("bytes of local memory", 4_294_967_295, |n| {
        kernel(&format!(".local .b8 x[{n}]; .reg .b64 %a; mov.u64 %a, x; st.local.u64 [%a], %a;"))
    }),
    ("bytes of global memory", 1 << 60, |n| {
        with_kernel(
            &format!(".global .b8 x[{n}] = {{1}};\n"),
            ".reg .b64 %a; mov.u64 %a, x; st.global.u64 [%a], %a;",
        )
    }),
    ("bytes of initialised memory", 4_294_967_295, |n| {
        with_kernel(
            &format!(".global .b8 x[{n}] = {{1, 2}};\n"),
            ".reg .b64 %a; mov.u64 %a, x; st.global.u64 [%a], %a;",
        )
    }),
    ("bytes of many initialised variables", 60_000_000, |n| {
        let variables = each(100, |at| format!(".global .b8 x{at}[{n}] = {{1, 2}};\n"));
        let uses = each(100, |at| format!("mov.u64 %a, x{at}; st.global.u64 [%a], %a;\n"));
        with_kernel(&variables, &format!(".reg .b64 %a;\n{uses}"))
    }),
    ("bytes of constant memory", 4_294_967_295, |n| {
        with_kernel(
            &format!(".const .b8 x[{n}];\n"),
            ".reg .b64 %a; ld.const.u64 %a, [x]; st.global.u64 [%a], %a;",
        )
    }),
    ("bytes of a parameter", 4_294_967_295, |n| {
        module(&format!(
            ".entry k(.param .b8 p[{n}]) {{ .reg .b64 %a; ld.param.u64 %a, [p+8]; st.global.u64 [%a], %a; ret; }}\n"
        ))
    }),
    ("bytes of an argument", 4_294_967_295, |n| {
        module(&format!(
            ".func f(.param .b8 p[{n}]) {{ ret; }}\n.entry k() {{ .param .b8 q[{n}]; st.param.b8 [q+1], 1; call f, (q); ret; }}\n"
        ))
    }),
    ("dimensions that overflow", 1 << 62, |n| {
        with_kernel(
            &format!(".global .u64 x[{n}][{n}][{n}];\n"),
            ".reg .b64 %a; mov.u64 %a, x; st.global.u64 [%a], %a;",
        )
    }),
    ("alignment", 1 << 31, |n| {
        with_kernel(
            &format!(".shared .align {n} .b8 x[4];\n.global .align {n} .b8 y[4];\n"),
            ".reg .b64 %a; mov.u64 %a, y; st.shared.u64 [x], %a;",
        )
    }),
    ("alignment beyond words", usize::MAX, |n| {
        with_kernel(&format!(".shared .align {n} .b8 x[4];\n"), ".reg .b32 %r; mov.u32 %r, x;")
    }),
    ("declared registers", 1_000_000, |n| kernel(&format!(".reg .b32 %r<{n}>; mov.b32 %r0, 1;"))),
    ("declared registers beyond words", usize::MAX, |n| {
        kernel(&format!(".reg .b32 %r<{n}>; mov.b32 %r0, %r{};", n - 1))
    }),
    ("ranges of registers", 10_000, |n| kernel(&each(n, |at| format!(".reg .b32 %r{at}x<4294967295>;\n")))),
    ("threads", usize::MAX, |n| {
        module(&format!(".entry k() .maxntid {n}, {n}, {n} .minnctapersm {n} {{ bar.sync 0; ret; }}\n"))
    }),
    ("required threads and clusters", usize::MAX, |n| {
        module(&format!(
            ".entry k() .reqntid {n} .reqnctapercluster {n} .maxnreg {n} {{ .reg .b32 %r; mov.u32 %r, %tid.x; ret; }}\n"
        ))
    }),
    ("an offset", usize::MAX, |n| {
        kernel(&format!(
            ".reg .b64 %a; ld.param.u64 %a, [out+{n}]; st.global.u64 [%a+{n}], %a; st.global.u64 [%a+-{n}], %a;"
        ))
    }),
    ("an offset of a variable", usize::MAX, |n| {
        with_kernel(
            &format!(".global .u64 x[4] = {{x+{n}, 1, x-{n}}};\n"),
            &format!(".reg .b64 %a; mov.u64 %a, x+{n}; st.global.u64 [x+{n}], %a;"),
        )
    }),
    ("operands", usize::MAX, |n| {
        kernel(&format!(
            ".reg .b32 %r; .reg .b64 %a; mov.u32 %r, {n}; shl.b32 %r, %r, {n}; bfe.u32 %r, %r, {n}, {n}; \
             bar.sync {n}, {n}; prmt.b32 %r, %r, %r, {n}; lop3.b32 %r, %r, %r, %r, {n}; shfl.sync.idx.b32 %r, %r, {n}, {n}, {n}; \
             st.global.u32 [%a], %r;"
        ))
    }),
    ("a line number", usize::MAX, |n| {
        module(&format!(".file {n} \"x\"\n.entry k() {{ .loc {n} {n} {n}\nmembar.gl; ret; }}\n"))
    }),
    ("an address size", usize::MAX, |n| {
        format!(".version 8.5\n.target sm_90\n.address_size {n}\n.entry k() {{ ret; }}\n").into_bytes()
    }),
    ("a calculation", usize::MAX, |n| {
        module(&format!(
            ".global .s64 x[6] = {{{n}*{n}, {n}<<{n}, -{n}/-1, {n}%0, ({n}+1)/0, -9223372036854775808/-1}};\n"
        ))
    }),
];

/// A module with declarations, and a kernel.
fn with_kernel(declarations: &str, body: &str) -> Vec<u8> {
    let mut text = module(declarations);
    text.extend(&kernel(body)[HEADER.len()..]);
    text
}
