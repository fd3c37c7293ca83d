//! `red` and `atom` on one element.

use crate::form::{Family, Form, Setting};

/// An operation on a type, and whether it must be written with `.noftz`.
struct Operation {
    op: &'static str,
    ty: &'static str,
    noftz: bool,
    /// Whether `red` has it too.
    red: bool,
}

/// The letter of a type's operands: `w0`, `x0`, `h0`, `q0`.
fn letter(ty: &str) -> char {
    match ty.trim_start_matches(|c: char| c.is_ascii_alphabetic()) {
        "64" => 'x',
        "128" => 'q',
        "16" => 'h',
        _ => 'w',
    }
}

/// The operations of PTX.
fn operations() -> Vec<Operation> {
    let mut list = Vec::new();
    let mut add = |op, types: &[&'static str], noftz, red| {
        list.extend(types.iter().map(|&ty| Operation { op, ty, noftz, red }));
    };
    for op in ["and", "or", "xor"] {
        add(op, &["b32", "b64"], false, true);
    }
    add("exch", &["b32", "b64", "b128"], false, false);
    add("cas", &["b16", "b32", "b64", "b128"], false, false);
    add("add", &["u32", "s32", "u64", "f32", "f64"], false, true);
    add("add", &["f16", "f16x2", "bf16", "bf16x2"], true, true);
    add("inc", &["u32"], false, true);
    add("dec", &["u32"], false, true);
    for op in ["min", "max"] {
        add(op, &["u32", "s32", "u64", "s64"], false, true);
    }
    list
}

/// State spaces, with the addresses of an element per thread and of one for all threads.
const SPACES: [(&str, &str, &str); 5] = [
    (".global", "ga", "gu"),
    ("", "na", "nu"),
    (".shared", "sa", "su"),
    (".shared::cta", "sa", "su"),
    (".shared::cluster", "sa", "su"),
];
const SCOPES: [&str; 5] = ["", ".cta", ".cluster", ".gpu", ".sys"];
const SEMANTICS: [&str; 5] = ["", ".relaxed", ".acquire", ".release", ".acq_rel"];

/// The parts of an instruction.
struct Writer<'a> {
    forms: &'a mut Vec<Form>,
    operation: &'a Operation,
    is_red: bool,
}

impl Writer<'_> {
    fn text(
        &self,
        qualifiers: &str,
        hint: Option<&str>,
        result: &str,
        address: &str,
        source: &str,
    ) -> String {
        let Operation { op, ty, noftz, .. } = self.operation;
        let mnemonic = if self.is_red { "red" } else { "atom" };
        let noftz = if *noftz { ".noftz" } else { "" };
        let level = if hint.is_some() { ".L2::cache_hint" } else { "" };
        let result = if self.is_red { String::new() } else { format!("{result}, ") };
        let second = if *op == "cas" { format!(", {}1", letter(ty)) } else { String::new() };
        let policy = hint.map_or_else(String::new, |policy| format!(", {policy}"));
        format!(
            "{mnemonic}{qualifiers}.{op}{noftz}{level}.{ty} {result}[{address}], {source}{second}{policy}"
        )
    }

    fn add(&mut self, setting: Setting, text: String) {
        self.forms.push(Form::new(Family::Atomic, text).at(setting));
    }
}

pub(super) fn forms(forms: &mut Vec<Form>) {
    let operations = operations();
    for is_red in [true, false] {
        for operation in &operations {
            if is_red && !operation.red {
                continue;
            }
            of_operation(&mut Writer { forms, operation, is_red });
        }
    }
    near(forms, &operations);
}

/// Orders and scopes that every operation is tried with; the [common](is_common) operations are
/// tried with every pair.
const ORDERS: [(&str, &str); 8] = [
    ("", ""),
    ("", ".cta"),
    ("", ".sys"),
    (".relaxed", ".cluster"),
    (".release", ".gpu"),
    (".acquire", ".sys"),
    (".acq_rel", ".gpu"),
    (".acq_rel", ".cta"),
];

/// Operations that represent the others of their kind: native everywhere, compare-and-swap, a loop,
/// 64 bits.
fn is_common(operation: &Operation) -> bool {
    matches!((operation.op, operation.ty), ("add", "u32" | "f16") | ("cas", "b32") | ("exch", "b64"))
}

fn of_operation(writer: &mut Writer<'_>) {
    let letter = letter(writer.operation.ty);
    let (result, unread, source) = (format!("r{letter}"), format!("d{letter}"), format!("{letter}0"));
    for (space, each, one) in SPACES {
        if is_common(writer.operation) {
            for (semantics, scope) in SEMANTICS.iter().flat_map(|sem| SCOPES.map(|scope| (*sem, scope))) {
                let qualifiers = format!("{semantics}{scope}{space}");
                writer.add(Setting::Converged, writer.text(&qualifiers, None, &result, each, &source));
            }
        }
        for (semantics, scope) in ORDERS {
            let qualifiers = format!("{semantics}{scope}{space}");
            writer.add(Setting::Converged, writer.text(&qualifiers, None, &result, each, &source));
        }
        if space == ".shared::cta" {
            continue;
        }
        for setting in Setting::ALL {
            writer.add(setting, writer.text(space, None, &result, each, &source));
        }
        for setting in [Setting::Converged, Setting::Divergent] {
            writer.add(setting, writer.text(space, None, &result, one, &source));
            writer.add(setting, writer.text(space, None, &unread, each, &source));
        }
        // An acquire depends on the value that was read, used or not.
        if !writer.is_red && is_common(writer.operation) {
            let qualifiers = format!(".acquire.gpu{space}");
            writer.add(Setting::Converged, writer.text(&qualifiers, None, &unread, each, &source));
        }
        let offsets: &[&str] = if is_common(writer.operation) { &["16", "-16", "4096"] } else { &["16"] };
        for offset in offsets {
            let address = format!("{each}+{offset}");
            writer.add(Setting::Converged, writer.text(space, None, &result, &address, &source));
        }
        if !writer.is_red {
            writer.add(Setting::Converged, writer.text(space, None, "_", each, &source));
        }
        let (uniform, constant) = match letter {
            'w' => ("uw", "kw"),
            'x' => ("ux", "kx"),
            _ => ("3", "3"),
        };
        for source in [uniform, constant, "3"] {
            writer.add(Setting::Converged, writer.text(space, None, &result, each, source));
        }
        writer.add(Setting::Converged, writer.text(space, None, &result, one, uniform));
        writer.add(Setting::Converged, writer.text(space, Some("pol"), &result, each, &source));
        if !space.contains("shared") {
            for policy in ["pol", "fpol"] {
                let qualifiers = format!(".release.gpu{space}");
                writer
                    .add(Setting::Converged, writer.text(&qualifiers, Some(policy), &result, each, &source));
            }
            writer.add(Setting::Converged, writer.text(space, Some("fpol"), &result, one, &source));
            writer.add(Setting::Divergent, writer.text(space, Some("pol"), &result, each, &source));
        }
    }
    writer.add(Setting::Converged, writer.text("", None, &result, "xa", &source));
    let named =
        [(".shared", "tile"), (".shared", "tile+32"), (".shared::cluster", "tile+32"), (".global", "cell")];
    for (space, name) in named {
        writer.add(Setting::Converged, writer.text(space, None, &result, name, &source));
    }
}

/// Forms that are not legal: every operation on every type, with and without `.noftz`, and operands
/// that do not fit.
fn near(forms: &mut Vec<Form>, operations: &[Operation]) {
    let ops = ["and", "or", "xor", "exch", "cas", "add", "inc", "dec", "min", "max", "sub"];
    let types = [
        "b8", "b16", "b32", "b64", "b128", "u16", "u32", "u64", "s16", "s32", "s64", "f16", "f16x2", "bf16",
        "bf16x2", "f32", "f64",
    ];
    for op in ops {
        for ty in types {
            for noftz in [false, true] {
                let operation = Operation { op, ty, noftz, red: true };
                for is_red in [true, false] {
                    let writer = Writer { forms: &mut Vec::new(), operation: &operation, is_red };
                    let letter = if ty == "b8" { 'h' } else { letter(ty) };
                    let text =
                        writer.text(".global", None, &format!("r{letter}"), "ga", &format!("{letter}0"));
                    forms.push(Form::new(Family::Atomic, text));
                }
            }
        }
    }
    for operation in operations.iter().filter(|operation| is_common(operation)) {
        let letter = letter(operation.ty);
        let other = if letter == 'w' { 'x' } else { 'w' };
        for is_red in [true, false] {
            let writer = Writer { forms: &mut Vec::new(), operation, is_red };
            let (result, source) = (format!("r{letter}"), format!("{letter}0"));
            let text = writer.text(".global", None, &result, "ga", &source);
            let texts = [
                writer.text(".global", None, &format!("r{other}"), "ga", &source),
                writer.text(".global", None, &result, "ga", &format!("{other}0")),
                writer.text(".global", None, &result, "ga", "p0"),
                writer.text(".global", None, &result, "p0", &source),
                writer.text(".local", None, &result, "ga", &source),
                writer.text(".const", None, &result, "ga", &source),
                writer.text(".param", None, &result, "ga", &source),
                writer.text(".volatile.global", None, &result, "ga", &source),
                writer.text(".weak.global", None, &result, "ga", &source),
                writer.text(".sc.gpu.global", None, &result, "ga", &source),
                writer.text(".global.relaxed.gpu", None, &result, "ga", &source),
                writer.text(".gpu.relaxed.global", None, &result, "ga", &source),
                writer.text(".relaxed.acquire.gpu.global", None, &result, "ga", &source),
                writer.text(".cta.gpu.global", None, &result, "ga", &source),
                writer.text(".global", None, &result, "tile", &source),
                writer.text(".shared", None, &result, "cell", &source),
                format!("{text}, w7"),
                format!("{text}, pol"),
                text.rsplit_once(',').map_or_else(String::new, |(head, _)| head.to_string()),
                text.replacen(&format!(".{} ", operation.ty), " ", 1),
                text.replacen(&format!(".{}", operation.op), "", 1),
                text.replacen(".noftz", "", 1),
                text.replacen(
                    &format!(".{} ", operation.ty),
                    &format!(".L2::cache_hint.{} ", operation.ty),
                    1,
                ),
                format!(
                    "{}, w7",
                    text.replacen(
                        &format!(".{} ", operation.ty),
                        &format!(".L2::cache_hint.{} ", operation.ty),
                        1
                    )
                ),
            ];
            forms.extend(texts.into_iter().map(|text| Form::new(Family::Atomic, text)));
        }
    }
}
