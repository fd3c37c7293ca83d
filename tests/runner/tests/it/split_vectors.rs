//! Vector updates that are split, compared with those that are not.
//!
//! Every `red` and `atom` of a vector is compiled for each architecture: for sm_90 as one
//! instruction, for the others as the sequence that it is split into. They run on random bits, and
//! the final memory and the returned values must be the same everywhere, and the same as those of
//! the SSA form as built. In the kernels where all threads update four vectors, the final memory
//! must be the same under any order of the warps, because the numbers are chosen so that the order
//! does not matter.

use std::path::PathBuf;

use ptxc_compiler::output::kernels;
use ptxc_compiler::stages::{built, ssa};
use ptxc_compiler::{Database, Options, SourceFile, diagnostics};
use ptxc_machine::Arch;
use ptxc_ptx::diagnostic::Severity;
use ptxc_sim::case::{Argument, Buffer, Elem, Tolerance};
use ptxc_sim::{Case, Report, run_sass, run_ssa};

const THREADS: usize = 64;
/// The bytes of a thread in each buffer: the largest vector.
const BYTES: usize = 16;

/// A vector update.
#[derive(Clone, Copy, Debug)]
struct Update {
    op: &'static str,
    ty: &'static str,
    lanes: usize,
    /// `atom`, or else `red`.
    has_result: bool,
    space: &'static str,
}

impl Update {
    fn all() -> Vec<Update> {
        let mut all = Vec::new();
        let types: [(&str, &[&str], &[usize]); 5] = [
            ("f32", &["add"], &[2, 4]),
            ("f16", &["add", "min", "max"], &[2, 4, 8]),
            ("bf16", &["add", "min", "max"], &[2, 4, 8]),
            ("f16x2", &["add", "min", "max"], &[2, 4]),
            ("bf16x2", &["add", "min", "max"], &[2, 4]),
        ];
        for (ty, ops, sizes) in types {
            for (&op, &lanes) in ops.iter().flat_map(|op| sizes.iter().map(move |lanes| (op, lanes))) {
                // Every second form has a generic address, so that each type has both.
                let generic = all.len() / 2 % 2 == 1;
                for (has_result, space) in [(false, generic), (true, !generic)] {
                    let space = if space { "" } else { ".global" };
                    all.push(Update { op, ty, lanes, has_result, space });
                }
            }
        }
        all
    }

    fn is_half(self) -> bool {
        matches!(self.ty, "f16" | "bf16")
    }

    /// The kernel `name(operands, memory, old)`; `shared` threads have one vector of memory
    /// together.
    fn kernel(self, name: &str, shared: bool) -> String {
        let Update { op, ty, lanes, has_result, space } = self;
        let list = |prefix: &str| {
            let names: Vec<String> = (0..lanes).map(|lane| format!("%{prefix}{lane}")).collect();
            format!("{{{}}}", names.join(", "))
        };
        let prefixes = if self.is_half() { ["h", "g"] } else { ["r", "d"] };
        let [operand, old] = prefixes.map(list);
        let noftz = if ty == "f32" { "" } else { ".noftz" };
        let update = match has_result {
            true => format!("atom{space}.{op}{noftz}.v{lanes}.{ty} {old}, [%rd2], {operand};"),
            false => format!("red{space}.{op}{noftz}.v{lanes}.{ty} [%rd2], {operand};"),
        };
        let words = if self.is_half() { lanes / 2 } else { lanes };
        let split: String =
            (0..words).map(|n| format!("\tmov.b32 {{%h{}, %h{}}}, %r{n};\n", 2 * n, 2 * n + 1)).collect();
        let join: String =
            (0..words).map(|n| format!("\tmov.b32 %d{n}, {{%g{}, %g{}}};\n", 2 * n, 2 * n + 1)).collect();
        let store: String =
            (0..words).map(|n| format!("\tst.global.b32 [%rd3+{}], %d{n};\n", 4 * n)).collect();
        let (before, after) = if self.is_half() { (split, join + &store) } else { (String::new(), store) };
        let after = if has_result { after } else { String::new() };
        let mask = if shared { "3" } else { "-1" };
        format!(
            "\
.visible .entry {name}(.param .u64 operands, .param .u64 memory, .param .u64 old)
{{
	.reg .b16 %h<8>, %g<8>;
	.reg .b32 %r<4>, %d<4>, %t<2>;
	.reg .b64 %rd<4>;
	mov.u32 %t0, %tid.x;
	and.b32 %t1, %t0, {mask};
	ld.param.u64 %rd1, [operands];
	ld.param.u64 %rd2, [memory];
	ld.param.u64 %rd3, [old];
	mad.wide.u32 %rd1, %t0, {BYTES}, %rd1;
	mad.wide.u32 %rd2, %t1, {BYTES}, %rd2;
	mad.wide.u32 %rd3, %t0, {BYTES}, %rd3;
	ld.global.v4.b32 {{%r0, %r1, %r2, %r3}}, [%rd1];
{before}	{update}
{after}	ret;
}}
"
        )
    }

    /// One of a few small whole numbers, whose sums are exact in any order; `n` selects it.
    fn small(self, n: u64) -> [u8; 4] {
        let number = [0.0, 1.0, 2.0, -1.0_f32][n as usize % 4];
        let bits = match self.ty {
            "f32" => number.to_bits(),
            "bf16" | "bf16x2" => {
                let half = number.to_bits() >> 16;
                half | half << 16
            }
            _ => {
                let half = [0, 0x3c00, 0x4000, 0xbc00][n as usize % 4];
                half | half << 16
            }
        };
        bits.to_le_bytes()
    }
}

/// A launch with operands and the initial content of memory.
fn launch(entry: &str, operands: Vec<u8>, memory: Vec<u8>) -> Case {
    let buffer = |name: &str, init: Vec<u8>| {
        let (elem, tolerance) = (Elem::U8, Tolerance::Exact);
        Argument::Buffer(Buffer { name: name.to_string(), elem, init, expect: None, tolerance })
    };
    let old = vec![0; THREADS * BYTES];
    Case {
        images: Vec::new(),
        ptx: PathBuf::new(),
        entry: entry.to_string(),
        grid: [1, 1, 1],
        block: [THREADS as u32, 1, 1],
        dynamic_smem: 0,
        ending: Default::default(),
        cluster: None,
        cooperative: false,
        args: vec![buffer("operands", operands), buffer("memory", memory), buffer("old", old)],
    }
}

/// Pseudo-random numbers (xorshift, Marsaglia 2003).
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Runs every update on all engines and architectures; `inputs` returns the operands and the
/// initial memory.
fn compare(shared: bool, inputs: impl Fn(Update, &mut u64) -> [Vec<u8>; 2]) {
    let updates = Update::all();
    let name = |n: usize| format!("k{n}");
    let text: String =
        updates.iter().enumerate().map(|(n, update)| update.kernel(&name(n), shared)).collect();
    let text = format!(".version 8.1\n.target sm_75\n.address_size 64\n{text}");
    let mut state = 0x9e37_79b9_7f4a_7c15;
    let cases: Vec<Case> = updates
        .iter()
        .enumerate()
        .map(|(n, &update)| {
            let [operands, memory] = inputs(update, &mut state);
            launch(&name(n), operands, memory)
        })
        .collect();
    let mut expected: Vec<Option<Vec<Vec<u8>>>> = vec![None; cases.len()];
    let contents = |report: Report| -> Vec<Vec<u8>> {
        // The returned values depend on the order if threads share a vector.
        let buffers = if shared { 1..2 } else { 1..3 };
        report.outcomes[buffers].iter().map(|outcome| outcome.content.clone()).collect()
    };
    for arch in Arch::ALL {
        let db = Database::default();
        let file = SourceFile::new(&db, "k.ptx".into(), text.clone());
        let options = Options::new(&db, Some(arch), 3, true, "balanced".into(), 255, false);
        let errors = diagnostics(&db, file, options);
        let errors: Vec<_> = errors.iter().filter(|found| found.severity == Severity::Error).collect();
        assert!(errors.is_empty(), "{arch}: {} errors, such as {:?}", errors.len(), errors[0]);
        for (n, (func, code)) in kernels(&db, file, options).into_iter().enumerate() {
            let (update, case) = (updates[n], &cases[n]);
            let mut check = |who: &str, found: Vec<Vec<u8>>| match &expected[n] {
                Some(expected) => assert_eq!(&found, expected, "{arch}, {who}: {update:?}"),
                None => expected[n] = Some(found),
            };
            for seed in 0..3 {
                let simulator = ptxc_sim::Options { seed, hazards: true, ..ptxc_sim::Options::default() };
                if arch == Arch::Sm75 {
                    for (who, stage) in
                        [("as built", built(&db, func)), ("simplified", ssa(&db, func, options))]
                    {
                        let func = stage.value.as_ref().expect("without errors there is SSA");
                        check(who, contents(run_ssa(case, func, &[], &simulator).expect("the SSA runs")));
                    }
                }
                let program = &code.expect("without errors there is code").program;
                let report = run_sass(case, program, &simulator)
                    .unwrap_or_else(|error| panic!("{arch}: {update:?}: {error}"));
                assert!(report.passed(), "{arch}: {update:?}: {report}");
                check("SASS", contents(report));
            }
        }
    }
    // Each update has changed something.
    for ((update, case), expected) in updates.iter().zip(&cases).zip(expected) {
        let Argument::Buffer(memory) = &case.args[1] else { unreachable!("the second argument is a buffer") };
        assert_ne!(expected.expect("it ran")[0], memory.init, "{update:?}");
    }
}

#[test]
fn random_bits_give_the_same_on_all_architectures() {
    compare(false, |_, state| {
        [(); 2].map(|()| (0..THREADS * BYTES / 8).flat_map(|_| random(state).to_le_bytes()).collect())
    });
}

#[test]
fn threads_that_meet_leave_the_same_in_any_order() {
    compare(true, |update, state| {
        [(); 2].map(|()| (0..THREADS * BYTES / 4).flat_map(|_| update.small(random(state) >> 32)).collect())
    });
}
