//! What is wrong with a `red` or `atom` that is no form of it: the rule that it breaks and what to write instead.
//!
//! ```text
//! red.global.inc.s32      `.inc` has no `.s32`: it exists for `.u32`
//! red.acquire.gpu.…       acquiring needs a value that was read
//! red.local.add.u32       only memory that others see is updated atomically
//! atom.volatile.…         an atomic update is strong by itself
//! red.exch.b32            a swap gives the old content back
//! red.shared.….v2.f32     vectors are in global memory
//! red.….v8.f32            vectors have 16 bytes at most
//! ```
//!
//! In: the opcode. Out: a diagnostic, or none where the closest form says enough. The types of each operation are those of
//! the instruction table.

use ptxc_syntax::ast::Opcode;
use smallvec::SmallVec;

use super::codes;
use super::table::TABLE;
use super::types::Scalar;
use crate::diagnostic::Diagnostic;

/// The operations, as modifiers.
const OPERATIONS: &[&str] = &["and", "or", "xor", "add", "inc", "dec", "min", "max", "exch", "cas"];

/// Says what rule an opcode breaks.
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

/// What no vector has: memory that is not global, more than 16 bytes, an operation but the sum on `f32`.
fn wrong_vector(opcode: &Opcode) -> Option<Diagnostic> {
    let mnemonic = opcode.mnemonic();
    let parts: SmallVec<[&str; 8]> = opcode.parts().collect();
    let place = |wanted: &dyn Fn(&str) -> bool| parts.iter().rposition(|part| wanted(part));
    let is_word = |text: &str| matches!(text, "f32" | "f16x2" | "bf16x2");
    let (index, note, help) = if let Some(index) = place(&|text| text.starts_with("shared")) {
        let note = format!(
            "vectors are updated in `.global` memory, and at generic addresses there (PTX ISA, {mnemonic})"
        );
        (index, note, "update the elements one by one")
    } else if let (Some(index), Some(_)) = (place(&|text| text == "v8"), place(&is_word)) {
        let note =
            "a vector has at most 16 bytes: `.v8` is of 16-bit types, those of 32 bits have `.v2` and `.v4`";
        (index, note.to_string(), "write two updates of `.v4`")
    } else if let (Some(index), Some(_)) =
        (place(&|text| matches!(text, "min" | "max")), place(&|text| text == "f32"))
    {
        let note = "vectors of `.f32` are added; `.min` and `.max` exist for vectors of halves";
        (index, note.to_string(), "update the elements in loops around `atom.cas` of their bits")
    } else {
        return None;
    };
    let text = parts[index];
    let message = format!("`{mnemonic}` of a vector takes no `.{text}`");
    let found = Diagnostic::error(codes::MODIFIER_NOT_HERE, opcode.part_id(index), message);
    Some(found.label("not with a vector").note(note).help(help))
}

/// A modifier that no form of the instruction has.
fn misplaced(opcode: &Opcode, is_red: bool, index: usize, text: &str) -> Option<Diagnostic> {
    let mnemonic = opcode.mnemonic();
    let (note, help) = match text {
        "acquire" | "acq_rel" if is_red => (
            "acquiring needs a value that was read, and `red` gives none back (PTX ISA, red: `.sem` is `.relaxed` or `.release`)"
                .to_string(),
            format!(
                "write `atom.{text}` with a register for what was there, or `red.release`, or a `fence.acq_rel` behind the `red`"
            ),
        ),
        "sc" => (
            "updates are `.relaxed`, `.acquire`, `.release` or both; only a fence is sequentially consistent".to_string(),
            "put a `fence.sc` in front of it".to_string(),
        ),
        "volatile" | "weak" | "mmio" => (
            format!("`{mnemonic}` is a strong access by itself: `.relaxed` unless it says more"),
            format!("leave out `.{text}`"),
        ),
        "local" => (
            "only `.global` and `.shared` memory is updated atomically; no other thread sees `.local` memory".to_string(),
            "load, compute and store".to_string(),
        ),
        "const" | "param" => (
            format!("only `.global` and `.shared` memory is updated; nothing writes to `.{text}` memory"),
            "name the memory of the address, or none for a generic address".to_string(),
        ),
        "exch" | "cas" if is_red => (
            "a reduction combines what is there with an operand; a swap is for the old content".to_string(),
            format!("write `atom.{text}`, with `_` in place of a register that nobody reads"),
        ),
        _ => return None,
    };
    Some(
        Diagnostic::error(
            codes::UNKNOWN_MODIFIER,
            opcode.part_id(index),
            format!("`{mnemonic}` has no modifier `.{text}`"),
        )
        .label("unknown here")
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
        // Vectors of them have extremes; the closest form says so.
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
            format!("`.{op}` of `{mnemonic}` takes no `.{ty}`"),
        )
        .label("the operation has no such type")
        .note(format!("`{mnemonic}.{op}` exists for {}", list.join(", ")))
        .help(help),
    )
}
