//! Notes about vector updates that are split for an architecture.
//!
//! In: the SSA of a function as it was built. Out: notes, one for each instruction, in the order of
//! the blocks:
//!
//! ```text
//! note[E0119]: `red.global.add.v4.f32` needs sm_90; for sm_80 it is split into 4 updates of one `f32` each
//! ```
//!
//! [`split`] decides the split; the legalization rule calls it, too. ptxas rejects these programs:
//! [`check_strictly`](crate::check::check_strictly) finds the same instructions. Linear.

use ptxc_ir::{AtomicOp, Function, InstData, Op, Type};
use ptxc_machine::Arch;
use ptxc_ssa::legalize::{Split, split};
use ptxc_syntax::ast;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::check::codes::SPLIT_VECTOR;
use crate::check::env::ModuleEnv;
use crate::diagnostic::{Diagnostic, source_node};

/// The first target whose hardware updates vectors.
const NATIVE: u32 = 90;

/// The notes of a function that is compiled for `arch`.
pub fn split_notes(func: &Function, source: &ast::Function, env: &ModuleEnv, arch: Arch) -> Vec<Diagnostic> {
    if env.target.number >= NATIVE && arch.number() >= NATIVE {
        return Vec::new();
    }
    let is_vector = |data: &InstData| match data.op {
        // Updates that keep subnormals are already an error there, for vectors and for scalars.
        Op::Atomic { op: AtomicOp::FaddNoftz, .. } | Op::Red { op: AtomicOp::FaddNoftz, .. } => false,
        Op::Atomic { access, .. } | Op::Red { access, .. } => access.lanes > 1,
        _ => false,
    };
    let mut vectors: Vec<&InstData> = Vec::new();
    for &block in &func.layout {
        for &inst in &func.blocks[block].insts {
            let data = &func.insts[inst];
            if is_vector(data) {
                vectors.push(data);
            }
        }
    }
    if vectors.is_empty() {
        return Vec::new();
    }
    let opcodes: FxHashMap<_, _> = source
        .body
        .iter()
        .flatten()
        .filter_map(|statement| match &statement.kind {
            ast::StatementKind::Instruction(instruction) => Some((statement.id, &instruction.opcode)),
            _ => None,
        })
        .collect();
    let mut seen = FxHashSet::default();
    let mut notes = Vec::new();
    for data in vectors {
        let Some(node) = source_node(data.loc).filter(|&node| seen.insert(node)) else { continue };
        let Some(opcode) = opcodes.get(&node) else { continue };
        let (Op::Atomic { op, access } | Op::Red { op, access }) = data.op else { continue };
        let what = match split(op, data.ty, access.lanes, arch) {
            Some(parts) => format!("for {arch} it is split into {}", describe(parts)),
            None => format!("{arch} has it, so it stays whole"),
        };
        let note = Diagnostic::remark(
            SPLIT_VECTOR,
            opcode.part_id(0),
            format!("`{opcode}` needs sm_{NATIVE}; {what}"),
        );
        let note = if env.target.number < NATIVE {
            note.label(format!("the module has `.target {}`", env.target))
        } else {
            note.label(format!("compiled for {arch}"))
        };
        notes.push(
            note.note(
                "each element of a vector is updated atomically, not the vector (PTX ISA, red and atom)",
            )
            .note("ptxas rejects it there")
            .help("use --strict to make this an error"),
        );
    }
    notes
}

/// `4 updates of one f32 each`.
fn describe(split: Split) -> String {
    let Split { parts, ty, is_native } = split;
    let element = match ty {
        Type::F16x2 => "two `f16`".to_string(),
        Type::BF16x2 => "two `bf16`".to_string(),
        one => format!("one `{one}`"),
    };
    match (is_native, parts) {
        (true, 1) => format!("one update of {element}"),
        (true, _) => format!("{parts} updates of {element} each"),
        (false, 1) => format!("one loop that compares and swaps {element}"),
        (false, _) => format!("{parts} loops that compare and swap {element} each"),
    }
}
