//! A kernel that applies one instruction to arrays, and its executions.

use std::path::PathBuf;

use ptxc_compiler::output::kernels;
use ptxc_compiler::stages::{built, ssa};
use ptxc_compiler::{Database, Options, SourceFile, diagnostics};
use ptxc_semantics::Format;
use ptxc_sim::case::{Argument, Buffer, Elem, Tolerance};
use ptxc_sim::{Case, Report, run_sass, run_ssa};

/// An instruction under test.
pub struct Instruction<'a> {
    /// PTX code: `%a`, `%b` and `%c` are operands, `%d` is the result; `%p` is a predicate, `%x`
    /// and `%y` are 64-bit registers.
    pub body: &'a str,
    /// Bits of an operand, 16, 32 or 64.
    pub from: u32,
    /// Bits of the result, 16, 32 or 64.
    pub to: u32,
}

/// Threads in a CTA of a launch.
pub const THREADS: u32 = 128;

/// The launch of `k(in, out)` with `threads` threads, a multiple of [`THREADS`], on the input and
/// zeroed bytes of output.
pub fn launch(threads: u32, input: Vec<u8>, output_bytes: usize) -> Case {
    let buffer = |name: &str, init: Vec<u8>| {
        let (elem, tolerance) = (Elem::U8, Tolerance::Exact);
        Argument::Buffer(Buffer { name: name.to_string(), elem, init, expect: None, tolerance })
    };
    Case {
        images: Vec::new(),
        ptx: PathBuf::new(),
        entry: "k".to_string(),
        grid: [threads / THREADS, 1, 1],
        block: [THREADS, 1, 1],
        dynamic_smem: 0,
        ending: Default::default(),
        cluster: None,
        cooperative: false,
        args: vec![buffer("in", input), buffer("out", vec![0; output_bytes])],
    }
}

impl Instruction<'_> {
    fn text(&self) -> String {
        let Instruction { body, from, to } = self;
        let (from_bytes, to_bytes) = (from / 8, to / 8);
        let loads: String = ["a", "b", "c"]
            .iter()
            .enumerate()
            .map(|(n, name)| format!("\tld.global.b{from} %{name}, [%rd1+{}];\n", n as u32 * from_bytes))
            .collect();
        format!(
            "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{{
	.reg .b{from} %a, %b, %c;
	.reg .b{to} %d;
	.reg .b32 %r<4>;
	.reg .b64 %rd<4>, %x, %y;
	.reg .pred %p;
	mov.u32 %r1, %tid.x;
	mov.u32 %r2, %ctaid.x;
	mad.lo.u32 %r1, %r2, {THREADS}, %r1;
	ld.param.u64 %rd1, [in];
	ld.param.u64 %rd2, [out];
	mad.wide.u32 %rd1, %r1, {}, %rd1;
	mad.wide.u32 %rd2, %r1, {to_bytes}, %rd2;
{loads}	{body}
	st.global.b{to} [%rd2], %d;
	ret;
}}
",
            3 * from_bytes
        )
    }

    /// Applies the instruction to operands and compares the results with the reference, bit by bit.
    pub fn check(&self, operands: &[[u64; 3]], reference: impl Fn([u64; 3]) -> u64) {
        self.check_with(operands, reference, |a, b| a == b);
    }

    /// The same for float results: all NaNs are equal.
    pub fn check_floats(&self, format: Format, operands: &[[u64; 3]], reference: impl Fn([u64; 3]) -> u64) {
        self.check_with(operands, reference, |a, b| a == b || format.is_nan(a) && format.is_nan(b));
    }

    fn check_with(
        &self,
        operands: &[[u64; 3]],
        reference: impl Fn([u64; 3]) -> u64,
        same: impl Fn(u64, u64) -> bool,
    ) {
        let count = operands.len().next_multiple_of(THREADS as usize);
        let bytes = |value: u64, bits: u32| value.to_le_bytes().into_iter().take(bits as usize / 8);
        let padded = || (0..count).map(|n| operands.get(n).copied().unwrap_or([1; 3]));
        let input: Vec<u8> = padded().flatten().flat_map(|a| bytes(a, self.from)).collect();
        let case = launch(count as u32, input, count * self.to as usize / 8);
        let expected: Vec<u64> = operands.iter().map(|&a| reference(a)).collect();
        let compare = |who: &str, report: Report| {
            let words = report.outcomes[1].content.chunks(self.to as usize / 8);
            for ((word, &expected), operands) in words.zip(&expected).zip(operands) {
                let got = word.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
                let what = || format!("{who}: {}: {operands:x?}: {got:#x}, not {expected:#x}", self.body);
                assert!(same(got, expected), "{}", what());
            }
        };
        let simulator = ptxc_sim::Options { step_limit: u64::MAX, ..ptxc_sim::Options::default() };
        for opt in [2, 0] {
            let db = Database::default();
            let file = SourceFile::new(&db, "k.ptx".into(), self.text());
            let options = Options::new(&db, None, opt, true, "balanced".into(), 255, false);
            let found = diagnostics(&db, file, options);
            assert!(found.is_empty(), "{}: {found:?}", self.body);
            let kernels = kernels(&db, file, options);
            let [(func, Some(code))] = kernels[..] else { panic!("{}: no code", self.body) };
            let run_ssa =
                |func: &ptxc_ir::Function| run_ssa(&case, func, &[], &simulator).expect("the SSA runs");
            if let (2, Some(func)) = (opt, &built(&db, func).value) {
                compare("as built", run_ssa(func));
            }
            if let (2, Some(func)) = (opt, &ssa(&db, func, options).value) {
                compare("simplified", run_ssa(func));
            }
            for mufu_error in [0, 1, 2] {
                let simulator =
                    ptxc_sim::Options { mufu_error, seed: mufu_error.into(), ..simulator.clone() };
                let report = run_sass(&case, &code.program, &simulator).expect("the SASS runs");
                compare(&format!("SASS at -O{opt}, MUFU off by {mufu_error}"), report);
            }
        }
    }
}
