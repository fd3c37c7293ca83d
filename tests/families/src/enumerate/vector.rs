//! `red` and `atom` on vectors.

use crate::form::{Family, Form, Setting};

const SPACES: [(&str, &str, &str); 2] = [(".global", "ga", "gu"), ("", "na", "nu")];

/// `{w0, w1}`
fn vector(letter: &str, count: usize) -> String {
    format!("{{{}}}", (0..count).map(|index| format!("{letter}{index}")).collect::<Vec<_>>().join(", "))
}

/// The instruction; `red` if there is no result.
fn text(
    qualifiers: &str,
    op: &str,
    (count, ty): (usize, &str),
    result: Option<&str>,
    address: &str,
    policy: &str,
) -> String {
    let letter = if ty == "f16" || ty == "bf16" { "h" } else { "w" };
    let noftz = if ty == "f32" { "" } else { ".noftz" };
    let hint = if policy.is_empty() { "" } else { ".L2::cache_hint" };
    let policy = if policy.is_empty() { String::new() } else { format!(", {policy}") };
    let (mnemonic, d) = match result {
        Some(kind) => ("atom", format!("{}, ", vector(&format!("{kind}{letter}"), count))),
        None => ("red", String::new()),
    };
    format!(
        "{mnemonic}{qualifiers}.{op}{noftz}{hint}.v{count}.{ty} {d}[{address}], {}{policy}",
        vector(letter, count)
    )
}

pub(super) fn forms(forms: &mut Vec<Form>) {
    for result in [None, Some("r"), Some("d")] {
        for op in ["add", "min", "max"] {
            for ty in ["f32", "f16", "bf16", "f16x2", "bf16x2"] {
                for count in [2, 4, 8] {
                    of_operation(forms, op, (count, ty), result);
                }
            }
        }
    }
    near(forms);
}

/// Whether PTX has an operation on a vector of this kind.
fn exists(op: &str, (count, ty): (usize, &str)) -> bool {
    match ty {
        "f32" => op == "add" && count < 8,
        "f16" | "bf16" => true,
        _ => count < 8,
    }
}

/// Orders and scopes that every operation is tried with; `add.v2.f32` is tried with every pair.
const ORDERS: [(&str, &str); 5] =
    [("", ""), (".relaxed", ".cta"), (".release", ".gpu"), (".acq_rel", ".sys"), (".acquire", ".cluster")];

fn of_operation(forms: &mut Vec<Form>, op: &str, vector: (usize, &str), result: Option<&str>) {
    let mut add = |setting, text: String| forms.push(Form::new(Family::Vector, text).at(setting));
    add(Setting::Converged, text(".global", op, vector, result, "ga", ""));
    add(Setting::Divergent, text(".global", op, vector, result, "ga", ""));
    if !exists(op, vector) || result == Some("d") {
        return;
    }
    for (space, each, one) in SPACES {
        let mut orders = ORDERS.to_vec();
        if op == "add" && vector == (2, "f32") {
            for semantics in ["", ".relaxed", ".release", ".acquire", ".acq_rel"] {
                orders.extend(["", ".cta", ".cluster", ".gpu", ".sys"].map(|scope| (semantics, scope)));
            }
        }
        for (semantics, scope) in orders {
            let qualifiers = format!("{semantics}{scope}{space}");
            add(Setting::Converged, text(&qualifiers, op, vector, result, each, ""));
        }
        for setting in Setting::ALL {
            add(setting, text(space, op, vector, result, each, ""));
        }
        add(Setting::Converged, text(space, op, vector, result, one, ""));
        add(Setting::Converged, text(space, op, vector, result, &format!("{each}+16"), ""));
        add(Setting::Converged, text(space, op, vector, result, each, "pol"));
    }
    add(Setting::Converged, text(".global", op, vector, result, "ga", "fpol"));
    for space in [".shared", ".shared::cta", ".shared::cluster"] {
        add(Setting::Converged, text(space, op, vector, result, "sa", ""));
    }
    // The orders in the examples of the documentation.
    let usual = text(".global", op, vector, result, "ga", "");
    let (count, ty) = vector;
    let noftz = if ty == "f32" { "" } else { ".noftz" };
    let middle = format!(".{op}{noftz}.v{count}.{ty} ");
    add(Setting::Converged, usual.replacen(&middle, &format!(".v{count}.{ty}.{op}{noftz} "), 1));
    add(Setting::Converged, usual.replacen(&middle, &format!(".v{count}.{op}{noftz}.{ty} "), 1));
}

fn near(forms: &mut Vec<Form>) {
    for wrong in [
        "red.global.add.v2.u32 [ga], {w0, w1}",
        "red.global.add.v2.s32 [ga], {w0, w1}",
        "red.global.add.v2.f64 [ga], {x0, x1}",
        "red.global.and.v2.b32 [ga], {w0, w1}",
        "red.global.inc.v2.u32 [ga], {w0, w1}",
        "red.global.add.v3.f32 [ga], {w0, w1, w2}",
        "red.global.add.v16.f16 [ga], {h0, h1, h2, h3, h4, h5, h6, h7}",
        "red.global.add.noftz.v2.f32 [ga], {w0, w1}",
        "red.global.add.v2.f16 [ga], {h0, h1}",
        "red.global.add.v2.bf16x2 [ga], {w0, w1}",
        "red.global.add.v2.f32 [ga], {w0, w1, w2}",
        "red.global.add.v4.f32 [ga], {w0, w1}",
        "red.global.add.v2.f32 [ga], w0",
        "red.global.add.f32 [ga], {w0, w1}",
        "red.global.add.v2.f32 [ga], {x0, x1}",
        "red.global.add.noftz.v2.f16 [ga], {w0, w1}",
        "red.global.add.v2.f32 {rw0, rw1}, [ga], {w0, w1}",
        "red.global.v2.f32.add {rw0, rw1}, [ga], {w0, w1}",
        "red.global.v2.f16x2.max.noftz {rw0, rw1}, [ga], {w0, w1}",
        "red.acquire.gpu.global.add.v2.f32 [ga], {w0, w1}",
        "red.local.add.v2.f32 [ga], {w0, w1}",
        "atom.global.add.v2.f32 [ga], {w0, w1}",
        "atom.global.add.v2.f32 rw0, [ga], {w0, w1}",
        "atom.global.exch.v2.f32 {rw0, rw1}, [ga], {w0, w1}",
        "atom.global.cas.v2.b32 {rw0, rw1}, [ga], {w0, w1}, {w2, w3}",
        "atom.global.add.v2.f32 {rw0, _}, [ga], {w0, w1}",
        "atom.global.add.v2.f32 _, [ga], {w0, w1}",
        "atom.global.add.v2.f32 {_, _}, [ga], {w0, w1}",
        "red.global.add.v2.f32 [ga], {w0, 0f3f800000}",
        "red.global.add.noftz.v2.f16x2 [ga], {w0, 5}",
        "red.global.min.f16 [ga], h0",
        "red.global.min.noftz.f16 [ga], h0",
        "red.global.min.noftz.f16x2 [ga], w0",
        "red.global.max.noftz.bf16 [ga], h0",
        "red.global.max.noftz.bf16x2 [ga], w0",
        "red.global.add.noftz.L2::cache_hint.v2.f16 [ga], {h0, h1}",
        "red.global.add.v2.f32 [ga], {w0, w1}, pol",
    ] {
        forms.push(Form::new(Family::Vector, wrong));
    }
}
