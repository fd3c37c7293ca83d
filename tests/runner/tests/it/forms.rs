//! Samples of `cargo xtask forms`: every scalar, warp and video instruction, and textures and
//! surfaces. `PTXC_FORMS=shf` tries only opcodes that contain the word, and prints the SASS of forms
//! that disagree. If `ORACLE` names the folder of ptxas, it must accept every kernel, and its code
//! must compute the same.

use std::collections::BTreeSet;
use std::io::Write as _;

use ptxc_families::sample;
use ptxc_fuzz::random::Random;
use ptxc_sample::stride;
use ptxc_tests::forms::execute::{Forms, Verdict, verdict};
use ptxc_tests::forms::kernel::{Kernel, kernel};
use ptxc_tests::forms::{cores, image_functions, images, operands, video};
use ptxc_tests::oracle::ptxas;

/// One of this many forms is tried. It shares no divisor with the numbers of types and of modifiers, as far as
/// these are small.
const STRIDE: usize = 7;

/// The architectures before that of [`sample::TARGET`].
const OLDER: [&str; 4] = ["sm_75", "sm_80", "sm_86", "sm_89"];

/// Prints to standard error directly, because the test harness hides the output of `println!`.
fn say(what: std::fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "{what}");
}

/// Packed integers and conversions to and from formats of few bits have other code on older
/// architectures, or do not exist there.
#[test]
fn forms_of_few_bits_compute_what_they_should_on_older_architectures() {
    let mut samples = sample::all();
    samples.retain(|sample| {
        let of_few_bits = |part: &&str| matches!(*part, "tf32" | "e4m3x2" | "e5m2x2" | "pack");
        sample.mnemonic() == "cvt" && sample.parts().iter().any(of_few_bits)
    });
    let mut random = Random::new(2);
    let input = operands(&mut random);
    let (mut wrong, mut counts) = (Vec::new(), Vec::new());
    for arch in OLDER {
        let mut count = 0;
        for sample in &samples {
            let mut kernel = kernel(sample, &mut random);
            kernel.text = kernel.text.replacen(sample::TARGET, arch, 1);
            match verdict(sample, &kernel, &input) {
                Verdict::Agrees(..) => count += 1,
                Verdict::Absent => {}
                Verdict::Wrong(what) | Verdict::Unlowered(what) => {
                    wrong.push(format!("{arch}: {}: {what}", sample.opcode));
                }
            }
        }
        counts.push(count);
    }
    assert!(wrong.is_empty(), "{} problems\n{}", wrong.len(), wrong.join("\n"));
    // `cvt.pack` exists everywhere, TF32 from sm_80 on, and bytes from sm_89 on.
    assert_eq!(counts, [8, 10, 10, 22], "forms on {OLDER:?}");
}

#[test]
fn every_form_lowers_and_computes_what_it_should_or_is_listed() {
    let only = std::env::var("PTXC_FORMS").unwrap_or_default();
    let forms = Forms::of(&only, if only.is_empty() { stride(STRIDE) } else { 1 });
    let verdicts = forms.execute(sample::TARGET);
    let mut wrong = forms.problems(sample::TARGET, &verdicts, &mut BTreeSet::new());
    say(format_args!("{} forms", forms.samples.len()));
    if let Some(ptxas) = ptxas() {
        let compared = cores::compare_with_ptxas(&ptxas, sample::TARGET, &forms, &verdicts);
        let reasons: usize = compared.reasons.values().sum();
        say(format_args!(
            "{} kernels of ptxas leave the same, {} are not simulated; {} have the same core, {reasons} another one for a reason",
            compared.ran, compared.not_run, compared.same
        ));
        wrong.extend(compared.wrong);
    }
    assert!(wrong.is_empty(), "{} problems\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn images_are_accessed_as_by_ptxas_code() {
    let found = images::check(ptxas().as_deref(), stride(40));
    say(format_args!("textures and surfaces: {found}"));
}

#[test]
fn images_are_accessed_in_functions() {
    let count = image_functions::check(stride(30));
    say(format_args!("textures and surfaces in functions: {count} forms"));
}

/// ptxas's code for video instructions, in the simulator: it shares nothing with ptxc's lowering.
#[test]
fn video_instructions_compute_what_ptxas_code_computes() {
    let Some(ptxas) = ptxas() else { return };
    let mut random = Random::new(2);
    let input = operands(&mut random);
    // Three samples for each form, one after another: a stride of four tries every form in one of four.
    let samples: Vec<_> = video::samples(&mut random).into_iter().step_by(stride(4)).collect();
    let kernels: Vec<Kernel> = samples.iter().map(|sample| kernel(sample, &mut random)).collect();
    let found = video::compare_with_ptxas(&ptxas, &samples, &kernels, &input);
    say(format_args!("{} kernels of ptxas, {found}", samples.len()));
}
