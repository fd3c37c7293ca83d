//! The memory that compilation takes grows no faster than the kernel, for kernels of any shape.
//!
//! Each shape is compiled in several sizes. The test counts all bytes that the checks and the
//! passes ever allocate, so it finds a walk over all paths or a table of pairs without measuring
//! time. The first sizes are small enough that the test fails within seconds even if memory doubles
//! with each step of a chain.

use std::fmt::Write;

use ptxc_compiler::{Database, File, Options, diagnostics, lower};
use ptxc_sass::text::Style;

/// A kernel with `%r` (the thread's number) and `%n` (a parameter).
fn kernel(declared: &str, body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u32 n)\n{{\n\
         .reg .b64 %a; .reg .b32 %r, %n, %s, %t, %u, %v; .reg .pred %p, %q;\n{declared}\nld.param.u64 %a, [out];\n\
         ld.param.u32 %n, [n];\nmov.u32 %r, %tid.x;\nmov.u32 %s, 0;\nsetp.gt.u32 %q, %n, 5;\n{body}st.global.u32 [%a], %s;\nret;\n}}\n"
    )
}

/// The texts for all numbers below `n`, concatenated.
fn each(n: usize, one: impl Fn(usize) -> String) -> String {
    (0..n).fold(String::new(), |mut all, at| {
        write!(all, "{}", one(at)).expect("a string takes all");
        all
    })
}

/// Small ifs, one after another, that change `%s`.
fn ifs(n: usize, tag: &str, inside: &str) -> String {
    each(n, |at| {
        format!("setp.ne.u32 %p, %r, {at};\n@%p bra {tag}{at};\nadd.u32 %s, %s, {at};\n{inside}{tag}{at}:\n")
    })
}

fn two_chains(n: usize, condition: &str, inside: &str) -> String {
    let (one, other) = (ifs(n, "A", inside), ifs(n, "B", inside));
    format!("mov.u32 %t, %n;\n@{condition} bra E;\n{one}bra J;\nE:\n{other}J:\nadd.u32 %s, %s, %t;\n")
}

/// The number of bytes that compilation allocates.
fn bytes(text: &str) -> u64 {
    let asked = allocation_counter::measure(|| {
        let db = Database::default();
        let file = File::new(&db, "k.ptx", text);
        let options = Options::defaults(&db);
        diagnostics(&db, file.source(), options);
        assert!(lower(&db, file.source(), options, &Style::default(), false).contains("EXIT"), "{text}");
    });
    asked.bytes_total
}

/// Compiles a shape in sizes up to `most`; each may take a quarter more than its proportional
/// share.
fn check(most: usize, shape: impl Fn(usize) -> String) {
    let mut before: Option<(usize, u64)> = None;
    for size in [8, 16, 64, 250, 1000].into_iter().filter(|&size| size <= most) {
        let text = shape(size);
        let (length, now) = (text.len(), bytes(&text));
        println!("{size}: {now} bytes");
        if let Some((last_length, last)) = before {
            let share = last as f64 * length as f64 / last_length as f64;
            assert!(now as f64 <= 1.25 * share, "{size}: {now} bytes, {last} before");
        }
        before = Some((length, now));
    }
}

#[test]
fn small_ifs_in_both_arms_of_an_if() {
    check(1000, |n| kernel("", &two_chains(n, "%q", "")));
}

#[test]
fn ifs_with_stores_in_both_arms_of_a_divergent_if_in_a_loop() {
    let looped = |n: usize| {
        let chains = two_chains(n, "%q", "st.global.u32 [%a+4], %s;\n");
        kernel(
            "",
            &format!(
                "L:\nsetp.gt.u32 %q, %r, 7;\n{chains}add.u32 %r, %r, 1;\nsetp.lt.u32 %p, %r, %n;\n@%p bra L;\n"
            ),
        )
    };
    check(1000, looped);
}

#[test]
fn empty_blocks_in_a_loop() {
    let blocks = |n: usize, tag: &str| {
        each(n, |at| format!("{tag}{at}:\nadd.u32 %s, %s, 0;\n@%q bra {tag}{at}E;\n{tag}{at}E:\n"))
    };
    let looped = |n: usize| {
        let (one, other) = (blocks(n, "A"), blocks(n, "B"));
        kernel(
            "",
            &format!(
                "L:\n{one}@%q bra S;\n{other}S:\nmov.b32 %v, %u;\nadd.u32 %u, %v, %s;\nadd.u32 %s, %s, 1;\n\
                 setp.lt.u32 %p, %s, %n;\n@%p bra L;\nst.global.u32 [%a+4], %u;\n"
            ),
        )
    };
    check(1000, looped);
}

#[test]
fn divergent_ifs_in_ifs() {
    let nest = |n: usize| {
        let before = each(n, |at| {
            format!(
                "setp.gt.u32 %p, %r, {at};\n@%p bra N{at};\nadd.u32 %s, %s, {at};\nst.global.u32 [%a], %s;\n"
            )
        });
        let after = each(n, |at| {
            let at = n - 1 - at;
            format!("N{at}:\nxor.b32 %s, %s, {at};\nst.global.u32 [%a+4], %s;\n")
        });
        kernel("", &(before + &after))
    };
    check(1000, nest);
}
