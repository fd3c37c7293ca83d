//! Many of one kind: declarations, functions, parameters, errors.

use super::{Extreme, each, kernel, module};

/// Counts.
pub(super) const ALL: &[Extreme] = &[
    ("used registers", 1_000_000, |n| {
        let body = each(n, |at| format!("mov.b32 %r{at}, {at};\n"));
        kernel(&format!(".reg .b32 %r<{n}>;\n{body}"))
    }),
    ("declarations of registers", 1_000_000, |n| kernel(&each(n, |at| format!(".reg .b32 %r{at};\n")))),
    ("registers in a declaration", 1_000_000, |n| {
        kernel(&format!(".reg .b32 %x{};", each(n, |at| format!(", %r{at}"))))
    }),
    ("declarations of one name", 100_000, |n| kernel(&".reg .b32 %r;\n".repeat(n))),
    ("undeclared registers", 1_000_000, |n| kernel(&each(n, |at| format!("mov.b32 %r{at}, %s{at};\n")))),
    ("unknown instructions", 1_000_000, |n| kernel(&each(n, |at| format!("x{at} 1;\n")))),
    ("wrong types", 200_000, |n| {
        kernel(&format!(".reg .b64 %a; .reg .b32 %r;\n{}", "add.s32 %a, %r, %a;\n".repeat(n)))
    }),
    ("unknown items", 1_000_000, |n| module(&"x;\n".repeat(n))),
    ("empty kernels", 5_000, |n| module(&each(n, |at| format!(".entry k{at}() {{ ret; }}\n")))),
    ("kernels of one name", 5_000, |n| module(&".entry k() { ret; }\n".repeat(n))),
    ("declared functions", 100_000, |n| module(&each(n, |at| format!(".extern .func f{at};\n")))),
    ("functions that call the next", 10_000, |n| {
        let functions = each(n, |at| format!(".func f{at}();\n"))
            + &each(n, |at| format!(".func f{at}() {{ call f{}; ret; }}\n", at + 1));
        module(&format!("{functions}.func f{n}() {{ ret; }}\n.entry k() {{ call f0; ret; }}\n"))
    }),
    ("functions that call each other", 2_000, |n| {
        let functions = each(n, |at| format!(".func f{at}();\n"))
            + &each(n, |at| format!(".func f{at}() {{ call f{}; ret; }}\n", (at + 1) % n));
        module(&format!("{functions}.entry k() {{ call f0; ret; }}\n"))
    }),
    ("functions that call all later ones", 100, |n| {
        let functions = (0..n).rev().map(|at| {
            let calls = each(n - at - 1, |later| format!("call f{}; ", at + later + 1));
            format!(".func f{at}() {{ {calls} ret; }}\n")
        });
        module(&(functions.collect::<String>() + ".entry k() { call f0; ret; }\n"))
    }),
    ("kernels that call one function", 1_000, |n| {
        let kernels = each(n, |at| format!(".entry k{at}() {{ call f; ret; }}\n"));
        module(&format!(".func f() {{ membar.gl; ret; }}\n{kernels}"))
    }),
    ("calls", 5_000, |n| {
        module(&format!(".func f() {{ ret; }}\n.entry k() {{ {} ret; }}\n", "call f;\n".repeat(n)))
    }),
    ("parameters of a kernel", 100_000, |n| {
        let list = each(n, |at| format!(".param .u64 p{at},\n"));
        module(&format!(".entry k({list} .param .u64 q) {{ ret; }}\n"))
    }),
    ("parameters of a function", 100_000, |n| {
        let list = each(n, |at| format!(".param .b32 p{at},\n"));
        let declared = each(n, |at| format!(".param .b32 a{at};\n"));
        let given = each(n, |at| format!("a{at},\n"));
        module(&format!(
            ".func f({list} .param .b32 q) {{ ret; }}\n.entry k() {{ {declared} .param .b32 a; call f, ({given} a); ret; }}\n"
        ))
    }),
    ("arguments of an indirect call", 1_000_000, |n| {
        kernel(&format!(".reg .b64 %a; call (%a), %a, ({}%a), P;", "%a, ".repeat(n)))
    }),
    ("targets of a call", 100_000, |n| {
        let list = each(n, |at| format!(", f{at}"));
        kernel(&format!(".reg .b64 %a; T: .calltargets f{list}; call %a, T;"))
    }),
    ("results of a call", 100_000, |n| kernel(&format!("call ({}%r), f;", "%r, ".repeat(n)))),
    ("elements of a vector", 1_000_000, |n| {
        kernel(&format!(".reg .b32 %r; .reg .b64 %a; ld.global.v4.u32 {{{}%r}}, [%a];", "%r, ".repeat(n)))
    }),
    ("operands of an instruction", 1_000_000, |n| {
        kernel(&format!(".reg .b32 %r; add.s32 {}%r;", "%r, ".repeat(n)))
    }),
    ("values of an initialiser", 1_000_000, |n| {
        module(&format!(".global .u32 x[] = {{{}1}};\n.entry k() {{ ret; }}\n", "1, ".repeat(n)))
    }),
    ("values that are used", 500_000, |n| {
        module(&format!(
            ".global .u32 x[] = {{{}1}};\n.entry k() {{ .reg .b32 %r; .reg .b64 %a; ld.global.u32 %r, [x]; st.global.u32 [x+4], %r; ret; }}\n",
            "1, ".repeat(n)
        ))
    }),
    ("variables", 100_000, |n| module(&each(n, |at| format!(".global .u32 x{at};\n")))),
    ("shared variables that are used", 20_000, |n| {
        let declared = each(n, |at| format!(".shared .align 4 .b8 x{at}[1];\n"));
        let used = each(n, |at| format!("st.shared.u32 [x{at}], %r;\n"));
        module(&format!("{declared}.entry k() {{ .reg .b32 %r; mov.u32 %r, %tid.x;\n{used} ret; }}\n"))
    }),
    ("an alias of itself", 1, |_| module(".alias a, a;\n.entry k() { call a; ret; }\n")),
    ("aliases in a circle", 100_000, |n| {
        let aliases = each(n, |at| format!(".alias a{at}, a{};\n", (at + 1) % n));
        module(&format!("{aliases}.entry k() {{ call a0; ret; }}\n"))
    }),
    ("aliases of aliases", 100_000, |n| {
        let aliases = each(n, |at| format!(".func a{at}();\n.alias a{at}, a{};\n", at + 1));
        module(&format!(".func a{n}() {{ ret; }}\n{aliases}.entry k() {{ call a0; ret; }}\n"))
    }),
    ("a variable that holds its address", 1, |_| {
        module(
            ".global .u64 a[2] = {a, generic(a)};\n.entry k() { .reg .b64 %a; mov.u64 %a, a; st.global.u64 [%a], %a; ret; }\n",
        )
    }),
    ("variables that hold addresses in a circle", 100_000, |n| {
        let variables = each(n, |at| format!(".global .u64 x{at} = x{};\n", (at + 1) % n));
        module(&format!(
            "{variables}.entry k() {{ .reg .b64 %a; mov.u64 %a, x0; st.global.u64 [%a], %a; ret; }}\n"
        ))
    }),
    ("variables that hold many addresses", 300, |n| {
        let list = each(n, |at| format!("x{at}, "));
        let variables = each(n, |at| format!(".global .u64 x{at}[] = {{{list}0}};\n"));
        module(&format!(
            "{variables}.entry k() {{ .reg .b64 %a; mov.u64 %a, x0; st.global.u64 [%a], %a; ret; }}\n"
        ))
    }),
    ("a function whose table holds it", 1, |_| {
        module(
            ".func f();\n.global .u64 t[2] = {f, t};\n.func f() { .reg .b64 %a; ld.global.u64 %a, [t]; st.global.u64 [t], %a; ret; }\n.entry k() { call f; ret; }\n",
        )
    }),
    ("files and lines", 200_000, |n| {
        let files = each(n, |at| format!(".file {at} \"f{at}\"\n"));
        module(&format!("{files}.entry k() {{ {} ret; }}\n", each(n, |at| format!(".loc {at} {at} 1\n"))))
    }),
    ("bytes of a debug section", 1_000_000, |n| {
        module(&format!(".entry k() {{ ret; }}\n.section .debug_info {{\n{}}}\n", ".b8 1\n".repeat(n)))
    }),
    ("pragmas", 200_000, |n| kernel(&".pragma \"nounroll\";\n".repeat(n))),
    ("versions", 200_000, |n| ".version 8.5\n.target sm_90\n".repeat(n).into_bytes()),
];
