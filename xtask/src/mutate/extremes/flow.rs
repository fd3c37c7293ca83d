//! Much code: chains, live registers, branches, loops, blocks with arbitrary targets.

use super::{Extreme, each, kernel};

/// Code.
pub(super) const ALL: &[Extreme] = &[
    ("a chain of sums", 1_000_000, |n| {
        stored(".reg .b32 %r;", "mov.u32 %r, %tid.x;\n", &"add.s32 %r, %r, 1;\n".repeat(n))
    }),
    ("a chain of products", 50_000, |n| {
        stored(".reg .b32 %r;", "mov.u32 %r, %tid.x;\n", &"mad.lo.s32 %r, %r, %r, %r;\n".repeat(n))
    }),
    ("a chain of divisions", 5_000, |n| {
        stored(".reg .b32 %r;", "mov.u32 %r, %tid.x;\n", &"div.s32 %r, 1000, %r;\n".repeat(n))
    }),
    ("a chain of double divisions", 2_000, |n| {
        kernel(&format!(
            ".reg .f64 %d; .reg .b64 %a; ld.param.u64 %a, [out]; ld.global.f64 %d, [%a];\n{} st.global.f64 [%a], %d;",
            "div.rn.f64 %d, %d, %d;\n".repeat(n)
        ))
    }),
    ("live registers", 20_000, |n| {
        let loads = each(n, |at| format!("ld.global.u32 %r{at}, [%a+{}];\n", 4 * at));
        let sums = each(n, |at| format!("add.s32 %s, %s, %r{at};\n"));
        kernel(&format!(
            ".reg .b32 %r<{n}>, %s; .reg .b64 %a; ld.param.u64 %a, [out]; mov.u32 %s, 0;\n{loads}bar.sync 0;\n{sums}st.global.u32 [%a], %s;"
        ))
    }),
    ("live predicates", 4_000, |n| {
        let compared = each(n, |at| format!("setp.eq.s32 %p{at}, %r, {at};\n"));
        let used = each(n, |at| format!("@%p{at} st.global.u32 [%a+{}], %r;\n", 4 * at));
        kernel(&format!(
            ".reg .pred %p<{n}>; .reg .b32 %r; .reg .b64 %a; ld.param.u64 %a, [out]; mov.u32 %r, %tid.x;\n{compared}bar.sync 0;\n{used}"
        ))
    }),
    ("stores", 50_000, |n| {
        stored(".reg .b32 %r;", "mov.u32 %r, %tid.x;\n", &"st.global.u32 [%a], %r;\n".repeat(n))
    }),
    ("stores and loads", 25_000, |n| {
        let body = each(n, |at| format!("st.global.u32 [%a+{}], %r; ld.global.u32 %r, [%a+4];\n", 4 * at));
        stored(".reg .b32 %r;", "mov.u32 %r, %tid.x;\n", &body)
    }),
    ("barriers", 50_000, |n| kernel(&"bar.sync 0;\n".repeat(n))),
    ("named barriers", 50_000, |n| kernel(&each(n, |at| format!("barrier.sync {}, 64;\n", at % 16)))),
    ("atomics", 50_000, |n| {
        stored(".reg .b32 %r;", "mov.u32 %r, 1;\n", &"atom.global.add.u32 %r, [%a], %r;\n".repeat(n))
    }),
    ("shuffles", 50_000, |n| {
        stored(".reg .b32 %r;", "mov.u32 %r, %tid.x;\n", &"shfl.sync.bfly.b32 %r, %r, 1, 31, -1;\n".repeat(n))
    }),
    ("returns", 1_000_000, |n| kernel(&"ret;\n".repeat(n))),
    ("guarded returns", 10_000, |n| {
        kernel(&format!(
            ".reg .pred %p; .reg .b32 %r; mov.u32 %r, %tid.x;\n{}",
            each(n, |at| format!("setp.eq.s32 %p, %r, {at};\n@%p ret;\n"))
        ))
    }),
    ("labels", 1_000_000, |n| kernel(&each(n, |at| format!("L{at}:\n")))),
    ("labels of one name", 100_000, |n| kernel(&"L:\n".repeat(n))),
    ("branches to the next", 1_000_000, |n| kernel(&each(n, |at| format!("bra L{at};\nL{at}:\n")))),
    ("branches to one label", 20_000, |n| {
        branching(&format!("{}L:", each(n, |at| format!("setp.eq.s32 %p, %r, {at};\n@%p bra L;\n"))))
    }),
    ("branches over one instruction", 10_000, |n| {
        branching(&each(n, |at| {
            format!("setp.eq.s32 %p, %r, {at};\n@%p bra L{at};\nst.global.u32 [%a], %r;\nL{at}:\n")
        }))
    }),
    ("branches around branches", 5_000, |n| {
        let inward = each(n, |at| {
            format!(
                "setp.eq.s32 %p, %r, {at};\n@%p bra L{};\nst.global.u32 [%a+{}], %r;\n",
                n - at - 1,
                4 * at
            )
        });
        branching(&(inward + &each(n, |at| format!("L{at}:\nst.global.u32 [%a], %r;\n"))))
    }),
    ("loops after loops", 10_000, |n| {
        branching(&each(n, |at| {
            format!("L{at}:\nadd.s32 %r, %r, 1;\nsetp.lt.s32 %p, %r, {at};\n@%p bra L{at};\n")
        }))
    }),
    ("loops in loops", 2_000, |n| {
        let heads = each(n, |at| format!("L{at}:\nadd.s32 %r, %r, 1;\n"));
        let ends = each(n, |at| format!("setp.lt.s32 %p, %r, {at};\n@%p bra L{};\n", n - at - 1));
        branching(&(heads + &ends))
    }),
    ("a loop that never ends", 1_000_000, |n| {
        branching(&format!("L:\n{}bra L;\n", "add.s32 %r, %r, 1;\n".repeat(n)))
    }),
    ("branches anywhere", 5_000, |n| {
        branching(&each(n, |at| {
            let to = at.wrapping_mul(2_654_435_761) % n;
            format!("L{at}:\nadd.s32 %r, %r, {at};\nsetp.lt.s32 %p, %r, {at};\n@%p bra L{to};\n")
        }))
    }),
    ("branches anywhere and barriers", 2_000, |n| {
        branching(&each(n, |at| {
            let to = at.wrapping_mul(2_654_435_761) % n;
            format!("L{at}:\nadd.s32 %r, %r, {at};\nbar.sync 0;\nsetp.lt.s32 %p, %r, {at};\n@%p bra L{to};\n")
        }))
    }),
    ("targets of a branch", 100_000, |n| {
        let list = each(n, |at| format!(", L{at}"));
        let labels = each(n, |at| format!("L{at}:\n"));
        branching(&format!("T: .branchtargets L{list};\nbrx.idx %r, T;\nL:\n{labels}"))
    }),
    ("cases of a branch", 10_000, |n| {
        let list = each(n, |at| format!(", L{at}"));
        let labels = each(n, |at| format!("L{at}: st.global.u32 [%a+{}], %r; bra E;\n", 4 * at));
        branching(&format!("T: .branchtargets L{list};\nbrx.idx %r, T;\nL:\n{labels}E:\n"))
    }),
    ("one table for many branches", 2_000, |n| {
        let list = each(n, |at| format!(", L{at}"));
        let labels = each(n, |at| format!("L{at}: add.s32 %r, %r, 1; brx.idx %r, T;\n"));
        branching(&format!("T: .branchtargets L{list};\nbrx.idx %r, T;\nL:\n{labels}"))
    }),
    ("registers through loops", 3_000, |n| {
        let moved = each(n, |at| format!("add.s32 %v{at}, %v{}, 1;\n", (at + 1) % n));
        let stores = each(n, |at| format!("st.global.u32 [%a+{}], %v{at};\n", 4 * at));
        let begun = each(n, |at| format!("mov.u32 %v{at}, {at};\n"));
        branching(&format!(
            ".reg .b32 %v<{n}>;\n{begun}L:\n{moved}add.s32 %r, %r, 1;\nsetp.lt.s32 %p, %r, 100;\n@%p bra L;\n{stores}"
        ))
    }),
    ("registers through branches", 700, |n| {
        let begun = each(n, |at| format!("mov.u32 %v{at}, {at};\n"));
        let branches = each(n, |at| {
            format!(
                "setp.eq.s32 %p, %r, {at};\n@%p bra L{at};\nadd.s32 %v{at}, %v{}, %v{at};\nst.global.u32 [%a], %v{at};\nL{at}:\n",
                (at * 7) % n
            )
        });
        let stores = each(n, |at| format!("st.global.u32 [%a+{}], %v{at};\n", 4 * at));
        branching(&format!(".reg .b32 %v<{n}>;\n{begun}{branches}{stores}"))
    }),
    ("one value for each path", 10_000, |n| {
        branching(&each(n, |at| {
            format!(
                "setp.eq.s32 %p, %r, {at};\n@%p bra A{at};\nadd.s32 %r, %r, {at};\nbra B{at};\nA{at}:\nxor.b32 %r, %r, {at};\nB{at}:\n"
            )
        }))
    }),
    ("small ifs in both arms of an if", 10_000, |n| {
        let arm = |tag: &str| {
            each(n, |at| {
                format!("setp.ne.u32 %p, %r, {at};\n@%p bra {tag}{at};\nadd.s32 %s, %s, {at};\n{tag}{at}:\n")
            })
        };
        branching(&format!(
            ".reg .b32 %s;\nmov.u32 %s, 0;\nsetp.gt.u32 %p, %r, 100;\n@%p bra E;\n{}bra J;\nE:\n{}J:\nadd.s32 %r, %r, %s;\n",
            arm("A"),
            arm("B")
        ))
    }),
    ("empty blocks in a loop", 10_000, |n| {
        let blocks = |tag: &str| each(n, |at| format!("@%p bra {tag}{at};\n{tag}{at}:\n"));
        branching(&format!(
            ".reg .b32 %u, %v;\nsetp.gt.u32 %p, %r, 5;\nL:\n{}@%p bra S;\n{}S:\nmov.b32 %v, %u;\nadd.u32 %u, %v, %r;\nadd.u32 %r, %r, 1;\nsetp.lt.u32 %p, %r, 100;\n@%p bra L;\nst.global.u32 [%a+4], %u;\n",
            blocks("A"),
            blocks("B")
        ))
    }),
    ("counters of loops in loops", 200, |n| {
        let heads = each(n, |at| format!("mov.u32 %i{at}, 0;\nL{at}:\nadd.s32 %r, %r, %i{at};\n"));
        let ends = each(n, |at| {
            let at = n - at - 1;
            format!("add.s32 %i{at}, %i{at}, 1;\nsetp.lt.s32 %p, %i{at}, {at};\n@%p bra L{at};\n")
        });
        branching(&format!(".reg .b32 %i<{n}>;\n{heads}{ends}"))
    }),
    ("selections", 25_000, |n| branching(&"setp.lt.s32 %p, %r, 5;\nselp.b32 %r, %r, 7, %p;\n".repeat(n))),
    ("different constants", 50_000, |n| {
        branching(&each(n, |at| format!("xor.b32 %r, %r, {};\n", at.wrapping_mul(2_654_435_761) as u32)))
    }),
    ("matrix products", 5_000, |n| {
        let body = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r,%r,%r,%r}, {%r,%r}, {%f0,%f1,%f2,%f3};\n";
        branching(&format!(
            ".reg .f32 %f<4>;\nmov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;\n{}st.global.f32 [%a], %f0;\n",
            body.repeat(n)
        ))
    }),
];

/// A kernel whose code ends with a store of `%r`.
fn stored(declared: &str, begin: &str, body: &str) -> Vec<u8> {
    kernel(&format!(
        "{declared} .reg .b64 %a; ld.param.u64 %a, [out];\n{begin}{body}st.global.u32 [%a], %r;\n"
    ))
}

/// A kernel with a predicate `%p` to branch on, a thread's number in `%r`, and an address in `%a`.
fn branching(body: &str) -> Vec<u8> {
    stored(".reg .pred %p; .reg .b32 %r;", "mov.u32 %r, %tid.x;\n", body)
}
