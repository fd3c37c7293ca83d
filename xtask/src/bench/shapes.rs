//! Kernels of any size, in the shapes that stress different passes.

use std::fmt::Write;

/// A shape: its name, and the function that makes a kernel of that many instructions.
pub(super) type Shape = (&'static str, fn(usize) -> String);

/// The shapes.
pub(super) const SHAPES: [Shape; 4] =
    [("straight line", straight), ("branches", branches), ("nested ifs", nest), ("loops", loops)];

fn kernel(predicates: usize, body: &str) -> String {
    format!(
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 data, .param .u32 count)\n{{\n\
         \t.reg .pred %p<{}>;\n\t.reg .b32 %r<9>;\n\t.reg .f32 %f<9>;\n\t.reg .b64 %rd<4>;\n\tld.param.u64 %rd1, [data];\n\
         \tld.param.u32 %r3, [count];\n\tmov.u32 %r1, %tid.x;\n\tld.global.f32 %f1, [%rd1];\n\tld.global.f32 %f2, [%rd1+4];\n\
         {body}\tst.global.u32 [%rd1], %r1;\n\tst.global.f32 [%rd1+4], %f1;\n\tret;\n}}\n",
        predicates + 1
    )
}

/// Multiply-adds with loads and stores, without a branch.
pub(super) fn straight(instructions: usize) -> String {
    let mut body = String::new();
    for number in 0..instructions / 4 {
        let at = number * 4 % 4096;
        let part = writeln!(
            body,
            "\tld.global.f32 %f3, [%rd1+{at}];\n\tfma.rn.f32 %f1, %f1, %f2, %f3;\n\tfma.rn.f32 %f2, %f2, %f3, %f1;\n\
             \tst.global.f32 [%rd1+{at}], %f2;"
        );
        part.expect("writing to a string does not fail");
    }
    kernel(0, &body)
}

/// Divergent branches, one per five instructions: two blocks each.
pub(super) fn branches(instructions: usize) -> String {
    let count = instructions / 5;
    let mut body = String::new();
    for number in 0..count {
        let part = writeln!(
            body,
            "\tsetp.lt.u32 %p{number}, %r1, {number};\n\t@%p{number} bra L{number};\n\tmad.lo.s32 %r1, %r1, %r1, 5;\n\
             \tst.global.u32 [%rd1+{}], %r1;\nL{number}:\n\txor.b32 %r1, %r1, {number};",
            number * 4 % 4096
        );
        part.expect("writing to a string does not fail");
    }
    kernel(count, &body)
}

/// Nested divergent ifs, one per seven instructions, each with code before and after the next.
pub(super) fn nest(instructions: usize) -> String {
    let count = instructions / 7;
    let mut body = String::new();
    for number in 0..count {
        let part = writeln!(
            body,
            "\tsetp.gt.u32 %p{number}, %r1, {number};\n\t@%p{number} bra N{number};\n\tadd.s32 %r3, %r3, {number};\n\
             \tst.global.u32 [%rd1+{}], %r3;",
            number * 4 % 4096
        );
        part.expect("writing to a string does not fail");
    }
    for number in (0..count).rev() {
        let part = writeln!(
            body,
            "N{number}:\n\txor.b32 %r3, %r3, {number};\n\tst.global.u32 [%rd1+{}], %r3;",
            number * 4 % 4096
        );
        part.expect("writing to a string does not fail");
    }
    kernel(count, &body)
}

/// Nests of loops, twenty deep, one nest after another.
pub(super) fn loops(instructions: usize) -> String {
    let nests = instructions.div_ceil(100);
    let mut body = String::new();
    for nest in 0..nests {
        for level in 0..20 {
            let part =
                writeln!(body, "N{nest}_{level}:\n\tadd.s32 %r1, %r1, {level};\n\txor.b32 %r1, %r1, %r3;");
            part.expect("writing to a string does not fail");
        }
        for level in (0..20).rev() {
            let predicate = nest * 20 + level;
            let part = writeln!(
                body,
                "\tmul.lo.s32 %r1, %r1, 5;\n\tsetp.lt.s32 %p{predicate}, %r1, %r3;\n\t@%p{predicate} bra N{nest}_{level};"
            );
            part.expect("writing to a string does not fail");
        }
    }
    kernel(nests * 20, &body)
}
