//! Sums of two to four terms with every choice of signs.
//!
//! The hardware raises an illegal instruction if the first two operands of `IADD3` are both negated,
//! or both complemented in `IADD3.X`. Every sum is compiled and executed, and no word of the code may
//! have both signs.

use std::path::PathBuf;

use ptxc_compiler::output::kernels;
use ptxc_compiler::{Database, Options, SourceFile, diagnostics};
use ptxc_machine::Arch;
use ptxc_ptx::diagnostic::Severity;
use ptxc_sass::{Program, bits};
use ptxc_sim::case::{Argument, Buffer, Elem, Tolerance};
use ptxc_sim::{Case, run_sass};

const THREADS: usize = 32;
/// The sums of a kernel.
const SUMS: usize = 400;

/// A term of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Term {
    /// An element that the thread has loaded.
    Loaded(usize),
    /// A parameter, which is the same for all threads.
    Param,
    Constant,
    /// 1 if a condition holds, else 0.
    Choice,
}

const TERMS: [Term; 6] =
    [Term::Loaded(0), Term::Loaded(1), Term::Loaded(2), Term::Param, Term::Constant, Term::Choice];
const PARAM: u64 = 0x1234_5678_9abc_def1;
const CONSTANT: u64 = 5;

impl Term {
    fn register(self) -> String {
        match self {
            Term::Loaded(n) => format!("%x{n}"),
            Term::Param => "%p0".to_string(),
            Term::Constant => CONSTANT.to_string(),
            Term::Choice => "%c0".to_string(),
        }
    }

    fn value(self, loaded: [u64; 3]) -> u64 {
        match self {
            Term::Loaded(n) => loaded[n],
            Term::Param => PARAM,
            Term::Constant => CONSTANT,
            Term::Choice => u64::from(loaded[0] as u8 > 100),
        }
    }
}

/// A sum: terms, each with its sign, and whether the last ones are added first.
#[derive(Clone, Debug)]
struct Sum {
    terms: Vec<(Term, bool)>,
    from_the_right: bool,
}

impl Sum {
    /// Every sum of two and three terms, and some of four different terms.
    fn all() -> Vec<Sum> {
        let mut all = Vec::new();
        for count in 2..=4 {
            for choice in 0..TERMS.len().pow(count) {
                let terms: Vec<Term> =
                    (0..count).map(|n| TERMS[choice / TERMS.len().pow(n) % TERMS.len()]).collect();
                if count == 4 && (choice % 5 != 0 || (1..4).any(|n| terms[..n].contains(&terms[n]))) {
                    continue;
                }
                for signs in 0..1 << count {
                    let signed = terms.iter().enumerate().map(|(n, &term)| (term, signs >> n & 1 != 0));
                    let from_the_right = (choice + signs) % 2 == 0;
                    all.push(Sum { terms: signed.collect(), from_the_right });
                }
            }
        }
        all
    }

    /// The instructions that leave the sum in `%s0`.
    fn text(&self, bits: u32) -> String {
        let mut terms = self.terms.clone();
        if self.from_the_right {
            terms.reverse();
        }
        let (first, is_negative) = terms[0];
        let start = if is_negative { format!("neg.s{bits}") } else { format!("mov.b{bits}") };
        let mut text = format!("\t{start} %s0, {};\n", first.register());
        for &(term, is_negative) in &terms[1..] {
            let name = if is_negative { "sub" } else { "add" };
            text += &format!("\t{name}.s{bits} %s0, %s0, {};\n", term.register());
        }
        text
    }

    fn value(&self, loaded: [u64; 3]) -> u64 {
        let signed = self.terms.iter().map(|&(term, is_negative)| match is_negative {
            true => term.value(loaded).wrapping_neg(),
            false => term.value(loaded),
        });
        signed.fold(0, u64::wrapping_add)
    }
}

/// A kernel that computes sums of this many bits.
fn kernel(name: &str, sums: &[Sum], bits: u32) -> String {
    let bytes = bits / 8;
    let body: String = sums
        .iter()
        .enumerate()
        .map(|(n, sum)| format!("{}\tst.global.b{bits} [%rd3+{}], %s0;\n", sum.text(bits), n as u32 * bytes))
        .collect();
    format!(
        "\
.visible .entry {name}(.param .u64 loaded, .param .u64 out, .param .b64 word)
{{
	.reg .b32 %t<2>;
	.reg .b{bits} %x<3>, %p<1>, %c<1>, %s<1>;
	.reg .b64 %rd<4>;
	.reg .pred %q;
	mov.u32 %t0, %tid.x;
	ld.param.u64 %rd1, [loaded];
	ld.param.u64 %rd3, [out];
	ld.param.b{bits} %p0, [word];
	mad.wide.u32 %rd1, %t0, 24, %rd1;
	mad.wide.u32 %rd3, %t0, {stride}, %rd3;
	ld.global.b{bits} %x0, [%rd1];
	ld.global.b{bits} %x1, [%rd1+8];
	ld.global.b{bits} %x2, [%rd1+16];
	ld.global.u8 %t1, [%rd1];
	setp.gt.u32 %q, %t1, 100;
	selp.b{bits} %c0, 1, 0, %q;
{body}	ret;
}}
",
        stride = SUMS as u32 * bytes,
    )
}

/// Checks the words of a program: no sum has a sign on both of its first two operands.
fn check_words(program: &Program) {
    for (index, coded) in (0u32..).zip(&program.insts) {
        let place = |label: ptxc_sass::Label| program.labels.get(label.0 as usize).map(|at| at * 16);
        let word = bits::encode(coded, index * 16, program.arch, place).expect("the instruction has bits");
        let is_sum = matches!(word & 0x1ff, 0x010 | 0x090);
        let has_immediate = word >> 9 & 7 == 4;
        let both = word >> 72 & 1 != 0 && word >> 63 & 1 != 0;
        assert!(!is_sum || has_immediate || !both, "{}: {}", program.arch, coded.inst);
    }
}

#[test]
fn sums_with_every_choice_of_signs_are_legal_and_right() {
    let sums = Sum::all();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let loaded: Vec<[u64; 3]> = (0..THREADS).map(|_| [random(), random(), random()]).collect();
    for bits in [32, 64] {
        let bytes = bits as usize / 8;
        let texts = sums.chunks(SUMS).enumerate().map(|(n, sums)| kernel(&format!("k{n}"), sums, bits));
        let text = texts.collect::<String>();
        let text = format!(".version 8.0\n.target sm_75\n.address_size 64\n{text}");
        let runs: &[(Arch, u8)] = match bits {
            32 => &[(Arch::Sm75, 3), (Arch::Sm86, 3), (Arch::Sm90, 3), (Arch::Sm90, 0)],
            _ => &[(Arch::Sm75, 3), (Arch::Sm90, 3)],
        };
        for &(arch, opt) in runs {
            let db = Database::default();
            let file = SourceFile::new(&db, "k.ptx".into(), text.clone());
            let options = Options::new(&db, Some(arch), opt, true, "balanced".into(), 255, false);
            let errors = diagnostics(&db, file, options);
            let errors: Vec<_> = errors.iter().filter(|found| found.severity == Severity::Error).collect();
            assert!(errors.is_empty(), "{arch}: {} errors, such as {:?}", errors.len(), errors[0]);
            for (n, (_, code)) in kernels(&db, file, options).into_iter().enumerate() {
                let program = &code.expect("without errors there is code").program;
                check_words(program);
                let buffer = |name: &str, init: Vec<u8>| {
                    let (elem, tolerance) = (Elem::U8, Tolerance::Exact);
                    Argument::Buffer(Buffer { name: name.to_string(), elem, init, expect: None, tolerance })
                };
                let case = Case {
                    images: Vec::new(),
                    ptx: PathBuf::new(),
                    entry: format!("k{n}"),
                    grid: [1, 1, 1],
                    block: [THREADS as u32, 1, 1],
                    dynamic_smem: 0,
                    ending: Default::default(),
                    cluster: None,
                    cooperative: false,
                    args: vec![
                        buffer(
                            "loaded",
                            loaded.iter().flatten().flat_map(|word| word.to_le_bytes()).collect(),
                        ),
                        buffer("out", vec![0; THREADS * SUMS * bytes]),
                        Argument::Scalar { elem: Elem::U64, bits: PARAM },
                    ],
                };
                let report = run_sass(&case, program, &ptxc_sim::Options::default())
                    .unwrap_or_else(|error| panic!("{arch}: {error}"));
                let out = &report.outcomes[1].content;
                for (thread, &loaded) in loaded.iter().enumerate() {
                    for (index, sum) in sums.chunks(SUMS).nth(n).into_iter().flatten().enumerate() {
                        let at = (thread * SUMS + index) * bytes;
                        let expected = &sum.value(loaded).to_le_bytes()[..bytes];
                        assert_eq!(&out[at..at + bytes], expected, "{arch} -O{opt} {bits} bits: {sum:?}");
                    }
                }
            }
        }
    }
}
