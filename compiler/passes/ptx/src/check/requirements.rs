//! Whether the module's `.version` and `.target` have what an instruction needs.

use ptxc_syntax::ast::Instruction;

use super::codes;
use super::env::{ModuleEnv, PtxTarget, PtxVersion, TargetKind};
use super::forms::Form;
use super::needs::Needs;
use super::table::{Mnemonic, Modifier, Row};
use crate::diagnostic::Diagnostic;

/// How strictly targets are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// An instruction that legalization splits for earlier targets is not an error there.
    Splits,
    /// Every instruction needs the target that PTX states.
    Strict,
}

/// Checks the form and each modifier that is written; at most one finding for each of version and
/// target.
pub fn check(
    form: &Form,
    instruction: &Instruction,
    env: &ModuleEnv,
    strictness: Strictness,
    out: &mut Vec<Diagnostic>,
) {
    let opcode = &instruction.opcode;
    if let Some(finding) = lacks(form, instruction, env) {
        return out.push(finding);
    }
    if form.row.instruction == Mnemonic::Mad {
        return versions(form, instruction, env, strictness, out);
    }
    if let Some((version, target)) = form.row.until {
        let Superseded { what, why, instead } = superseded(form.row);
        if env.version < version || env.target.number < target {
            let message = format!("{what} is deprecated");
            out.push(
                Diagnostic::warning(codes::DEPRECATED, opcode.part_id(0), message).note(why).help(instead),
            );
            return versions(form, instruction, env, strictness, out);
        }
        let message = format!("{what} was removed for sm_{target} and later in PTX {version}");
        out.push(
            Diagnostic::error(codes::REMOVED, opcode.part_id(0), message)
                .label(format!("the module has PTX {} and {}", env.version, env.target))
                .help(instead),
        );
        return;
    }
    match form.row.instruction {
        Mnemonic::Ld | Mnemonic::St => {
            wide_access(form, instruction, env, out);
        }
        Mnemonic::Mov | Mnemonic::Ldu | Mnemonic::StAsync => {
            if let Some((element, count, part)) =
                form.vector().filter(|(ty, count, _)| ty.bits() * count > 128)
            {
                let bits = element.bits() * count;
                let message = format!("`{opcode}` moves {bits} bits");
                out.push(
                    Diagnostic::error(codes::VECTOR_SIZE, opcode.part_id(part), message)
                        .label("too many elements for this type")
                        .note("a vector has at most 128 bits"),
                );
            }
        }
        _ => {}
    }
    versions(form, instruction, env, strictness, out);
}

/// The error about a modifier that old versions of PTX lack, and that later versions demand.
fn lacks(form: &Form, instruction: &Instruction, env: &ModuleEnv) -> Option<Diagnostic> {
    /// The first version in which `wmma` says that all threads of the warp execute it.
    const ALIGNED: PtxVersion = PtxVersion(6, 3);
    let opcode = &instruction.opcode;
    let (what, help, since) = match form.row.instruction {
        Mnemonic::Mad => {
            let (version, target) = form.row.until?;
            if env.version < version || env.target.number < target {
                return None;
            }
            (
                "a rounding",
                "write `.rn` for the usual rounding",
                format!("PTX {version} for sm_{target} and later"),
            )
        }
        _ if form.row.mnemonic.starts_with("wmma") => {
            if env.version < ALIGNED || form.says(Modifier::Aligned) {
                return None;
            }
            ("`.aligned`", "add `.aligned` after `.sync`", format!("PTX {ALIGNED}"))
        }
        _ => return None,
    };
    let last = opcode.part_id(opcode.part_count() - 1);
    let finding = Diagnostic::error(codes::MISSING_MODIFIER, last, format!("`{opcode}` lacks {what}"));
    Some(finding.label("incomplete").note(format!("it is required since {since}")).help(help))
}

/// A form that later versions of PTX do not have.
struct Superseded {
    what: String,
    why: &'static str,
    instead: String,
}

fn superseded(row: &Row) -> Superseded {
    let mnemonic = row.mnemonic;
    match row.instruction {
        Mnemonic::WmmaMma => Superseded {
            what: "`wmma.mma` of floats with `.satfinite`".into(),
            why: "the tensor cores saturate integers only",
            instead: "remove `.satfinite`".into(),
        },
        _ => Superseded {
            what: format!("`{mnemonic}` without `.sync`"),
            why: "it exchanges data with the threads that happen to run together, and on sm_70 and later the threads of a warp may diverge",
            instead: format!("write `{mnemonic}.sync` with a mask of the threads as its last operand"),
        },
    }
}

/// Whether version and target are new enough for the form and each modifier that is written.
fn versions(
    form: &Form,
    instruction: &Instruction,
    env: &ModuleEnv,
    strictness: Strictness,
    out: &mut Vec<Diagnostic>,
) {
    let opcode = &instruction.opcode;
    // Nearly every instruction has all that it needs, so names are made only for the others.
    let whole = std::iter::once((&form.row.needs, None));
    let parts = form.written().map(|(choice, part)| (&choice.needs, Some((choice.text, part))));
    // The form comes first; the needs of its modifiers are not excused.
    let mut excused = form.row.splits && strictness == Strictness::Splits;
    let (mut version, mut target) = (false, false);
    for (needs, modifier) in whole.chain(parts) {
        let what = || match modifier {
            None => (format!("`{opcode}`"), opcode.part_id(0)),
            Some((text, part)) => (format!("`.{text}` of `{opcode}`"), opcode.part_id(part)),
        };
        if !version && let Some(needed) = needs.version.filter(|_| !needs.has_version(env.version)) {
            version = true;
            let (what, node) = what();
            out.push(version_too_old(&what, needed, env.version, node));
        }
        if !std::mem::take(&mut excused) && !target && !has_target(needs, env) {
            target = true;
            let (what, node) = what();
            out.push(target_too_old(&what, needs, env.target, node));
        }
    }
}

/// Whether the module's target has what something needs. With `map_f64_to_f32`, the targets before
/// sm_13 have the instructions in double precision, which are the only ones that need sm_13.
fn has_target(needs: &Needs, env: &ModuleEnv) -> bool {
    const DOUBLE: PtxTarget = PtxTarget { number: 13, kind: TargetKind::Baseline };
    needs.has_target(env.target) || (env.maps_double && needs.targets == [DOUBLE])
}

/// Loads and stores of vectors: up to 128 bits anywhere, 256 bits from PTX 8.8 and sm_100 on, never
/// more.
fn wide_access(form: &Form, instruction: &Instruction, env: &ModuleEnv, out: &mut Vec<Diagnostic>) {
    let opcode = &instruction.opcode;
    let Some((element, count, part)) = form.vector() else { return };
    let (bits, node) = (element.bits() * count, opcode.part_id(part));
    if bits > 256 || (bits > 128 && !matches!(element.bits(), 32 | 64)) {
        let message = format!("`{opcode}` moves {bits} bits");
        out.push(
            Diagnostic::error(codes::VECTOR_SIZE, node, message)
                .label("too many elements for this type")
                .note("a vector has at most 128 bits; `.v8` of 32 bits and `.v4` of 64 bits have 256"),
        );
    } else if bits > 128 {
        if let Some(space) = form.space().filter(|&space| space != "global") {
            let message = format!("`{opcode}` moves {bits} bits, which only `.global` allows");
            out.push(
                Diagnostic::error(codes::VECTOR_SIZE, node, message)
                    .label(format!("`.{space}` allows at most 128")),
            );
        }
        let what = format!("a vector of {bits} bits");
        let needed = PtxVersion(8, 8);
        if env.version < needed {
            out.push(version_too_old(&what, needed, env.version, node));
        }
        const TARGET: PtxTarget = PtxTarget { number: 100, kind: TargetKind::Baseline };
        let needs = Needs { version: None, targets: &[TARGET] };
        if !needs.has_target(env.target) {
            out.push(target_too_old(&what, &needs, env.target, node));
        }
    }
}

/// `what` needs a newer `.version`.
pub fn version_too_old(
    what: &str,
    needed: PtxVersion,
    present: PtxVersion,
    node: ptxc_syntax::NodeId,
) -> Diagnostic {
    Diagnostic::error(codes::VERSION_TOO_OLD, node, format!("{what} needs PTX {needed} or later"))
        .label(format!("the module has `.version {present}`"))
        .help(format!("write `.version {needed}`"))
}

/// `what` needs another `.target`.
pub fn target_too_old(
    what: &str,
    needs: &Needs,
    present: PtxTarget,
    node: ptxc_syntax::NodeId,
) -> Diagnostic {
    let names: Vec<String> = needs.targets.iter().map(|target| target.to_string()).collect();
    let list = names.join(" or ");
    let later =
        if needs.targets.iter().all(|target| target.kind == TargetKind::Baseline) { " or later" } else { "" };
    let finding = Diagnostic::error(codes::TARGET_TOO_OLD, node, format!("{what} needs {list}{later}"))
        .label(format!("the module has `.target {present}`"));
    match (&names[..], needs.targets.first().map(|target| target.kind)) {
        ([first, ..], Some(TargetKind::Baseline)) => {
            finding.help(format!("write `.target {first}` if the code need not run on older machines"))
        }
        ([first, ..], _) => {
            finding.help(format!("write `.target {first}` if the code need not run on other machines"))
        }
        _ => finding,
    }
}
