//! The output has the same bytes with any number of jobs, in a second run, from any directory, and
//! from the first compilation or one after edits.

use std::path::Path;
use std::process::Command;

use ptxc_compiler::{Session, Settings};
use ptxc_sass::text::Style;

/// A module with kernels of several kinds: loops, calls, divisions, shared memory, constants, a
/// warning.
fn module() -> String {
    let mut text = String::from(
        ".version 8.0\n.target sm_90\n.address_size 64\n.global .align 4 .u32 counter = 5;\n.const .align 4 .f32 table[4] = {1.0, 2.0, 3.0, 4.0};\n\
         .func (.reg .u32 %out) twice(.reg .u32 %in)\n{\n\tadd.u32 %out, %in, %in;\n\tret;\n}\n",
    );
    for number in 0..24 {
        let body = match number % 4 {
            0 => {
                "\tdiv.u32 %r2, %r1, %r3;\n\tdiv.rn.f32 %f2, %f1, 0f40400000;\n\tcvt.rzi.u32.f32 %r4, %f2;\n\tadd.u32 %r2, %r2, %r4;\n"
            }
            1 => "\tcall (%r2), twice, (%r1);\n",
            2 => "LOOP:\n\tadd.u32 %r2, %r2, %r3;\n\tsetp.lt.u32 %p1, %r2, %r1;\n\t@%p1 bra LOOP;\n",
            _ => "\tbar.sync 0;\n\tmov.u64 %rd2, counter;\n\tatom.global.add.u32 %r2, [%rd2], %r1;\n",
        };
        text += &format!(
            ".visible .entry kernel{number}(.param .u64 p, .param .u32 n)\n{{\n\t.reg .pred %p<2>;\n\t.reg .b32 %r<9>;\n\t.reg .f32 %f<9>;\n\
             \t.reg .b64 %rd<9>;\n\tld.param.u64 %rd1, [p];\n\tld.param.u32 %r3, [n];\n\tmov.u32 %r1, %tid.x;\n\tmov.u32 %r2, {number};\n\
             \tld.const.f32 %f1, [table+4];\n{body}\tst.global.u32 [%rd1], %r2;\n\tret;\n}}\n"
        );
    }
    text
}

/// The output of the program, started in a folder.
fn written(folder: &Path, words: &[&str]) -> Vec<u8> {
    let out = folder.join("out");
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptxc"));
    let output =
        command.current_dir(folder).args(words).args(["-o", "out"]).output().expect("the program starts");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    std::fs::read(out).expect("it has written")
}

#[test]
fn jobs_places_and_times_do_not_matter() {
    let (first, second) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let deep = second.path().join("a/b");
    std::fs::create_dir_all(&deep).expect("a folder in it");
    for folder in [first.path(), &deep] {
        std::fs::write(folder.join("k.ptx"), module()).expect("it is written");
    }
    for form in ["sass", "cubin", "json", "ir", "mir", "dot"] {
        let emit = format!("--emit={form}");
        let words = |jobs| ["lower", "k.ptx", "--jobs", jobs, &emit];
        let expected = written(first.path(), &words("1"));
        assert!(expected.len() > 1000, "{form}");
        for (folder, jobs) in [(first.path(), "1"), (first.path(), "2"), (&deep, "7"), (&deep, "16")] {
            assert!(
                written(folder, &words(jobs)) == expected,
                "{form} with {jobs} jobs in {}",
                folder.display()
            );
        }
    }
}

#[test]
fn earlier_compilations_do_not_matter() {
    let text = module();
    let sass = |session: &Session| session.sass(&Style::default());
    let mut cold = Session::new("k.ptx", text.as_str(), Settings::default());
    cold.update().expect("the compilation is not cancelled");
    // Another text, which the edits turn into the wanted text, kernel by kernel.
    let mut warm =
        Session::new("k.ptx", text.replace("mov.u32 %r2, ", "mov.u32 %r2, 7"), Settings::default());
    warm.update().expect("the compilation is not cancelled");
    for number in (0..24).rev() {
        let wrong = format!("mov.u32 %r2, 7{number};");
        let at = warm.text().find(&wrong).expect("it is there");
        warm.edit(at..at + wrong.len(), &format!("mov.u32 %r2, {number};"));
        if number % 3 == 0 {
            warm.update().expect("the compilation is not cancelled");
        }
    }
    assert_eq!(warm.text(), text);
    assert_eq!(sass(&warm), sass(&cold));
    assert!(sass(&cold).len() > 1000);
}
