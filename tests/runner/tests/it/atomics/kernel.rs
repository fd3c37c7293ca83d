//! A kernel in which many threads update few locations with one form, and the check of the values
//! that they read.

use std::path::PathBuf;

use ptxc_compiler::output::kernels;
use ptxc_compiler::stages::{built, ssa};
use ptxc_compiler::{Database, Options, SourceFile, diagnostics};
use ptxc_machine::{Arch, Feature};
use ptxc_sim::case::{Argument, Buffer, Elem, Tolerance};
use ptxc_sim::{Case, run_sass, run_ssa};
use ptxc_ssa::legalize::legalize;

use super::forms::Form;
use super::order;

/// Threads of the only CTA.
const THREADS: usize = 80;
/// Locations in global memory; shared memory has the same number.
const CELLS: usize = 8;

/// The memory of the locations, and the space that the instruction names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Global,
    Shared,
    /// `.shared::cluster`, of this CTA.
    Cluster,
    GenericGlobal,
    GenericShared,
    /// Odd threads update shared memory, even ones global memory.
    GenericMixed,
    /// The thread's own memory.
    GenericLocal,
}

impl Place {
    /// The places of an architecture.
    pub fn all(arch: Arch) -> Vec<Place> {
        use Place::*;
        let mut all = vec![Global, Shared, GenericGlobal, GenericShared, GenericMixed, GenericLocal];
        all.extend((arch.has(Feature::Clusters)).then_some(Cluster));
        all
    }

    fn modifier(self) -> &'static str {
        match self {
            Place::Global => ".global",
            Place::Shared => ".shared",
            Place::Cluster => ".shared::cluster",
            _ => "",
        }
    }

    /// Whether a thread's location is in shared memory.
    fn is_shared(self, thread: usize) -> bool {
        match self {
            Place::Shared | Place::Cluster | Place::GenericShared => true,
            Place::GenericMixed => thread % 2 == 1,
            _ => false,
        }
    }
}

/// One kernel.
pub struct Run {
    pub arch: Arch,
    pub form: Form,
    pub place: Place,
}

/// The work of the threads: the location and the two operands of each, and the initial contents.
struct Work {
    cells: Vec<usize>,
    operands: Vec<[u128; 2]>,
    initial: Vec<u128>,
}

impl Run {
    /// `k(cells, operands, places, old)`: shared memory begins as the second half of `cells` and is
    /// copied back to it.
    fn text(&self) -> String {
        let Run { arch, form, place } = self;
        let bytes = form.ty.bits / 8;
        let (register, ty) = match form.ty.bits {
            16 => ("h", "b16"),
            32 => ("r", "b32"),
            64 => ("rd", "b64"),
            _ => ("q", "b128"),
        };
        let q = if form.ty.bits == 128 { ".reg .b128 %q<4>;" } else { "" };
        let access = |verb: &str, space: &str, value: String, address: &str| match (verb, form.ty.bits) {
            ("ld", 128) => format!(
                "ld{space}.v2.b64 {{%rd20, %rd21}}, {address};\n\tmov.b128 {value}, {{%rd20, %rd21}};\n"
            ),
            ("st", 128) => format!(
                "mov.b128 {{%rd20, %rd21}}, {value};\n\tst{space}.v2.b64 {address}, {{%rd20, %rd21}};\n"
            ),
            ("ld", _) => format!("ld{space}.{ty} {value}, {address};\n"),
            _ => format!("st{space}.{ty} {address}, {value};\n"),
        };
        let value = |n: u32| format!("%{register}{}", n + 12 * u32::from(register != "q"));
        let load_a = access("ld", ".global", value(1), "[%rd6]");
        let load_b = access("ld", ".global", value(2), &format!("[%rd6+{bytes}]"));
        let name = match place {
            Place::Shared | Place::Cluster => "%r4",
            Place::Global => "%rd5",
            _ => "%rd7",
        };
        let own = if *place == Place::GenericLocal {
            format!(
                "{}\t{}\tcvta.local.u64 %rd7, %rd9;\n",
                access("ld", ".global", value(3), "[%rd5]"),
                access("st", ".local", value(3), "[mine+16]"),
            )
        } else {
            String::new()
        };
        let own_back = if *place == Place::GenericLocal {
            format!(
                "{}\t{}",
                access("ld", ".local", value(3), "[mine+16]"),
                access("st", ".global", value(3), "[%rd5]"),
            )
        } else {
            String::new()
        };
        let generic = match place {
            Place::GenericShared => "cvt.u64.u32 %rd8, %r4;\n\tcvta.shared.u64 %rd7, %rd8;\n",
            Place::GenericMixed => {
                "cvt.u64.u32 %rd8, %r4;\n\tcvta.shared.u64 %rd7, %rd8;\n\t\
                 and.b32 %r7, %r1, 1;\n\tsetp.eq.u32 %p1, %r7, 1;\n\tselp.b64 %rd7, %rd7, %rd5, %p1;\n"
            }
            _ => "mov.b64 %rd7, %rd5;\n",
        };
        let update = match (form.gives_old, form.op) {
            (false, _) => format!("red{}.{} [{name}], {};\n", place.modifier(), form.modifiers(), value(1)),
            (true, "cas") => format!(
                "atom{}.{} {}, [{name}], {}, {};\n",
                place.modifier(),
                form.modifiers(),
                value(3),
                value(1),
                value(2)
            ),
            (true, _) => format!(
                "atom{}.{} {}, [{name}], {};\n",
                place.modifier(),
                form.modifiers(),
                value(3),
                value(1)
            ),
        };
        let old = if form.gives_old { access("st", ".global", value(3), "[%rd10]") } else { String::new() };
        let copy_in =
            access("ld", ".global", value(3), "[%rd11]") + "\t" + &access("st", ".shared", value(3), "[%r6]");
        let copy_out =
            access("ld", ".shared", value(3), "[%r6]") + "\t" + &access("st", ".global", value(3), "[%rd11]");
        format!(
            "\
.version 8.4
.target {arch}
.address_size 64
.visible .entry k(.param .u64 cells, .param .u64 operands, .param .u64 places, .param .u64 old)
{{
	.reg .b16 %h<16>; .reg .b32 %r<16>; .reg .b64 %rd<22>; .reg .pred %p<3>; {q}
	.shared .align 16 .b8 shared_cells[{shared_bytes}];
	.local .align 16 .b8 mine[48];
	mov.u32 %r1, %tid.x;
	ld.param.u64 %rd1, [cells];
	ld.param.u64 %rd2, [operands];
	ld.param.u64 %rd3, [places];
	ld.param.u64 %rd4, [old];
	// Shared memory: a location a thread.
	mov.u32 %r5, shared_cells;
	mad.lo.u32 %r6, %r1, {bytes}, %r5;
	mad.wide.u32 %rd11, %r1, {bytes}, %rd1;
	add.u64 %rd11, %rd11, {shared_bytes};
	setp.ge.u32 %p2, %r1, {CELLS};
	@%p2 bra filled;
	{copy_in}filled:
	bar.sync 0;
	mad.wide.u32 %rd6, %r1, 4, %rd3;
	ld.global.u32 %r2, [%rd6];
	mad.wide.u32 %rd5, %r2, {bytes}, %rd1;
	mad.lo.u32 %r4, %r2, {bytes}, %r5;
	mad.wide.u32 %rd10, %r1, {bytes}, %rd4;
	mad.wide.u32 %rd6, %r1, {pair}, %rd2;
	{load_a}	{load_b}	mov.u64 %rd9, mine;
	add.u64 %rd9, %rd9, 16;
	{generic}	{own}	{update}	{old}	{own_back}	bar.sync 0;
	@%p2 bra done;
	{copy_out}done:
	ret;
}}
",
            pair = 2 * bytes,
            shared_bytes = CELLS as u32 * bytes,
        )
    }

    /// Random work on few locations, or on one; in local memory on one per thread.
    fn work(&self, spread: usize) -> Work {
        let mut state = 0x9e37_79b9_7f4a_7c15_u128 + spread as u128;
        let mut random = move || {
            state = state.wrapping_mul(0xda94_2042_e4dd_58b5_9b01_f1a9_e3b5_c8d7).wrapping_add(1);
            state >> 32 ^ state << 70
        };
        let local = self.place == Place::GenericLocal;
        let count = 2 * CELLS + if local { THREADS } else { 0 };
        let initial = (0..count).map(|_| self.form.operand(random())).collect();
        let operands =
            (0..THREADS).map(|_| [self.form.operand(random()), self.form.operand(random())]).collect();
        let cells =
            (0..THREADS).map(|n| if local { 2 * CELLS + n } else { random() as usize % spread }).collect();
        Work { cells, operands, initial }
    }

    fn case(&self, work: &Work) -> Case {
        let bytes = self.form.ty.bits as usize / 8;
        let flat = |values: &mut dyn Iterator<Item = u128>| -> Vec<u8> {
            values.flat_map(|value| value.to_le_bytes().into_iter().take(bytes)).collect()
        };
        let buffer = |name: &str, init: Vec<u8>| {
            let (elem, tolerance) = (Elem::U8, Tolerance::Exact);
            Argument::Buffer(Buffer { name: name.to_string(), elem, init, expect: None, tolerance })
        };
        let places = work.cells.iter().flat_map(|&cell| (cell as u32).to_le_bytes()).collect();
        Case {
            images: Vec::new(),
            ptx: PathBuf::new(),
            entry: "k".to_string(),
            grid: [1; 3],
            block: [THREADS as u32, 1, 1],
            dynamic_smem: 0,
            ending: Default::default(),
            cluster: None,
            cooperative: false,
            args: vec![
                buffer("cells", flat(&mut work.initial.iter().copied())),
                buffer("operands", flat(&mut work.operands.iter().flatten().copied())),
                buffer("places", places),
                buffer("old", vec![0; THREADS * bytes]),
            ],
        }
    }

    /// Whether an order of the updates explains the results of a run.
    fn judge(&self, work: &Work, report: &ptxc_sim::Report) -> Result<(), String> {
        let bytes = self.form.ty.bits as usize / 8;
        let read = |content: &[u8], n: usize| {
            let value = &content[n * bytes..][..bytes];
            value.iter().rev().fold(0, |value, &byte| value << 8 | u128::from(byte))
        };
        let cell_of =
            |thread: usize| work.cells[thread] + if self.place.is_shared(thread) { CELLS } else { 0 };
        for cell in 0..work.initial.len() {
            let threads = (0..THREADS).filter(|&thread| cell_of(thread) == cell);
            let (initial, last) = (work.initial[cell], read(&report.outcomes[0].content, cell));
            let mut sum = initial;
            let mut updates = Vec::new();
            for thread in threads {
                let [a, b] = work.operands[thread];
                sum = self.form.apply(sum, a, b);
                let old = read(&report.outcomes[3].content, thread);
                updates.push((old, self.form.apply(old, a, b)));
            }
            if self.form.gives_old {
                order::explain(initial, last, &updates).map_err(|why| format!("location {cell}: {why}"))?;
            } else if last != sum {
                return Err(format!("location {cell}: {last:#x}, not {sum:#x}"));
            }
        }
        Ok(())
    }

    /// Compiles the kernel and runs it: as built and as legalized on the SSA engine, as SASS on the
    /// other.
    pub fn check(&self) -> Result<(), String> {
        let Run { arch, form, place } = self;
        let fail = |what: String| format!("{arch} {place:?} {} {}: {what}", form.modifiers(), form.gives_old);
        let levels: &[u8] = if *arch == Arch::Sm90 { &[2, 0] } else { &[2] };
        for &opt in levels {
            let db = Database::default();
            let file = SourceFile::new(&db, "k.ptx".into(), self.text());
            let options = Options::new(&db, None, opt, true, "balanced".into(), 255, false);
            let found = diagnostics(&db, file, options);
            if !found.is_empty() {
                return Err(fail(format!("{found:?}")));
            }
            let kernels = kernels(&db, file, options);
            let [(func, Some(code))] = kernels[..] else { return Err(fail("no code".to_string())) };
            for (seed, spread) in [(0, 1), (1, CELLS)] {
                let work = self.work(spread);
                let case = self.case(&work);
                let simulator = ptxc_sim::Options { seed, hazards: true, ..ptxc_sim::Options::default() };
                let judge = |who: &str, report: Result<ptxc_sim::Report, ptxc_sim::SimError>| {
                    let report = report.map_err(|error| fail(format!("{who}: {error}")))?;
                    self.judge(&work, &report).map_err(|why| fail(format!("{who} at -O{opt}: {why}")))
                };
                // The built and simplified form is the same for every architecture.
                if let (true, Some(func)) = (*arch == Arch::Sm90, &built(&db, func).value) {
                    judge("as built", run_ssa(&case, func, &[], &simulator))?;
                }
                if let (2, Some(func)) = (opt, &ssa(&db, func, options).value) {
                    let mut legal = func.clone();
                    legalize(&mut legal, *arch);
                    judge("legalized", run_ssa(&case, &legal, &[], &simulator))?;
                }
                let report = run_sass(&case, &code.program, &simulator);
                if let Ok(report) = &report
                    && let Some(hazard) = report.hazards.first()
                {
                    return Err(fail(format!("a hazard: {hazard:?}")));
                }
                judge("SASS", report)?;
            }
        }
        Ok(())
    }
}
