//! Errors in a `red` or `atom` that matches no form: the rule that it breaks, and what to write
//! instead.
//!
//! ```text
//! red.global.inc.s32      `.inc` has no `.s32`: it exists for `.u32`
//! red.acquire.gpu.…       `.acquire` needs a value that was read
//! red.local.add.u32       only memory that other threads see has atomic updates
//! atom.volatile.…         an atomic update is always a strong access
//! red.exch.b32            a swap returns the old value
//! red.shared.….v2.f32     vectors are in global memory
//! red.….v8.f32            vectors have at most 16 bytes
//! ```
//!
//! In: the opcode. Out: a diagnostic, or `None` if the closest form says enough. The types of each
//! operation come from the instruction table.

use ptxc_syntax::ast::Opcode;
use smallvec::SmallVec;

use super::codes;
use super::table::TABLE;
use super::types::Scalar;
use crate::diagnostic::Diagnostic;

/// The operations, as modifiers.
const OPERATIONS: &[&str] = &["and", "or", "xor", "add", "inc", "dec", "min", "max", "exch", "cas"];

/// Reports the rule that an opcode breaks.
pub fn explain(opcode: &Opcode) -> Option<Diagnostic> {
    let mnemonic = opcode.mnemonic();
    let is_red = match mnemonic {
        "red" => true,
        "atom" => false,
        _ => return None,
    };
    let parts = || opcode.parts().enumerate().skip(1);
    if parts().any(|(_, part)| part == "async") {
        return None;
    }
    if parts().any(|(_, part)| matches!(part, "v2" | "v4" | "v8")) {
        return wrong_vector(opcode);
    }
    parts()
        .find_map(|(index, part)| misplaced(opcode, is_red, index, part))
        .or_else(|| wrong_type(opcode, parts().map(|(_, part)| part)))
}

/// An error in a vector update: memory that is not global, more than 16 bytes, or an operation
/// other than the sum for `f32`.
fn wrong_vector(opcode: &Opcode) -> Option<Diagnostic> {
    let mnemonic = opcode.mnemonic();
    let parts: SmallVec<[&str; 8]> = opcode.parts().collect();
    let place = |wanted: &dyn Fn(&str) -> bool| parts.iter().rposition(|part| wanted(part));
    let is_word = |text: &str| matches!(text, "f32" | "f16x2" | "bf16x2");
    let (index, note, help) = if let Some(index) = place(&|text| text.starts_with("shared")) {
        let note = format!(
            "a vector update needs an address in `.global` memory, or a generic address there (PTX ISA, {mnemonic})"
        );
        (index, note, "update the elements one by one")
    } else if let (Some(index), Some(_)) = (place(&|text| text == "v8"), place(&is_word)) {
        let note =
            "a vector has at most 16 bytes: 16-bit types allow `.v8`, 32-bit types only `.v2` and `.v4`";
        (index, note.to_string(), "write two updates of `.v4`")
    } else if let (Some(index), Some(_)) =
        (place(&|text| matches!(text, "min" | "max")), place(&|text| text == "f32"))
    {
        let note = "vectors of `.f32` only have `.add`; `.min` and `.max` need vectors of halves";
        (index, note.to_string(), "update each element in a loop around `atom.cas` of its bits")
    } else {
        return None;
    };
    let text = parts[index];
    let message = format!("`{mnemonic}` of a vector does not allow `.{text}`");
    let found = Diagnostic::error(codes::MODIFIER_NOT_HERE, opcode.part_id(index), message);
    Some(found.label("not allowed with a vector").note(note).help(help))
}

/// A modifier that no form of the instruction has.
fn misplaced(opcode: &Opcode, is_red: bool, index: usize, text: &str) -> Option<Diagnostic> {
    let mnemonic = opcode.mnemonic();
    let (note, help) = match text {
        "acquire" | "acq_rel" if is_red => (
            "`.acquire` needs a value that was read, and `red` returns none (PTX ISA, red: `.sem` is `.relaxed` or `.release`)"
                .to_string(),
            format!(
                "write `atom.{text}` with a register for the old value, or `red.release`, or a `fence.acq_rel` after the `red`"
            ),
        ),
        "sc" => (
            "updates are `.relaxed`, `.acquire`, `.release` or `.acq_rel`; only a fence is sequentially consistent".to_string(),
            "put a `fence.sc` before it".to_string(),
        ),
        "volatile" | "weak" | "mmio" => (
            format!("`{mnemonic}` is always a strong access, by default `.relaxed`"),
            format!("remove `.{text}`"),
        ),
        "local" => (
            "only `.global` and `.shared` memory has atomic updates; no other thread sees `.local` memory".to_string(),
            "use a load, an arithmetic instruction and a store".to_string(),
        ),
        "const" | "param" => (
            format!("only `.global` and `.shared` memory has atomic updates; nothing writes to `.{text}` memory"),
            "write the state space of the address, or no state space for a generic address".to_string(),
        ),
        "exch" | "cas" if is_red => (
            "a reduction combines the old value with an operand; a swap returns the old value".to_string(),
            format!("write `atom.{text}`, with `_` as the destination if the old value is not needed"),
        ),
        _ => return None,
    };
    Some(
        Diagnostic::error(
            codes::UNKNOWN_MODIFIER,
            opcode.part_id(index),
            format!("`{mnemonic}` has no modifier `.{text}`"),
        )
        .label("unknown modifier")
        .note(note)
        .help(help),
    )
}

/// A type that the operation lacks.
fn wrong_type<'a>(opcode: &Opcode, parts: impl Iterator<Item = &'a str> + Clone) -> Option<Diagnostic> {
    let operation = parts.clone().find(|part| OPERATIONS.contains(part))?;
    let parts: SmallVec<[&str; 8]> = opcode.parts().collect();
    let index = parts.iter().rposition(|part| Scalar::parse(part).is_some())?;
    let (op, ty) = (operation, parts[index]);
    if matches!(op, "min" | "max") && (ty.starts_with("f16") || ty.starts_with("bf16")) {
        // Vectors of them have minima and maxima; the closest form says so.
        return None;
    }
    let rows = TABLE.forms(opcode.mnemonic()).iter().filter(|row| {
        let has = |text: &str| {
            row.groups.iter().any(|group| group.choices.iter().any(|choice| choice.text == text))
        };
        has(op) && !has("v2") && !has("async")
    });
    let groups = rows.flat_map(|row| row.groups).flat_map(|group| group.choices);
    let types: Vec<&str> =
        groups.filter(|choice| choice.scalar.is_some()).map(|choice| choice.text).collect();
    if types.is_empty() || types.contains(&ty) {
        return None;
    }
    let list: Vec<String> = types.iter().map(|ty| format!("`.{ty}`")).collect();
    let help = match (op, ty) {
        ("add", "s64") => "write `.u64`: the sum of signed numbers has the same bits".to_string(),
        ("inc" | "dec", "s32" | "b32") => "write `.u32`: a counter has no sign".to_string(),
        ("add", "b32" | "b64") => format!("write `.u{}`", &ty[1..]),
        ("min" | "max", "b32" | "b64") => {
            format!("write `.u{0}` or `.s{0}`: the order of numbers depends on their sign", &ty[1..])
        }
        ("and" | "or" | "xor" | "exch" | "cas", _) if types.contains(&format!("b{}", &ty[1..]).as_str()) => {
            format!("write `.b{}`: only the bits matter", &ty[1..])
        }
        _ => "update it in a loop around `atom.cas` of its bits".to_string(),
    };
    let mnemonic = opcode.mnemonic();
    Some(
        Diagnostic::error(
            codes::MODIFIER_NOT_HERE,
            opcode.part_id(index),
            format!("`.{op}` of `{mnemonic}` does not support `.{ty}`"),
        )
        .label("unsupported type")
        .note(format!("`{mnemonic}.{op}` exists for {}", list.join(", ")))
        .help(help),
    )
}
