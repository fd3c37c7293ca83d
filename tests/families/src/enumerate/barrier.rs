//! `bar`, `barrier`, `bar.warp.sync`.

use super::everywhere;
use crate::form::{Family, Form, Setting};

/// The opcodes before `.sync`, and the part after it.
const SPELLINGS: [(&str, &str); 6] = [
    ("bar", ""),
    ("bar.cta", ""),
    ("barrier", ""),
    ("barrier", ".aligned"),
    ("barrier.cta", ""),
    ("barrier.cta", ".aligned"),
];

/// A barrier's name: constant, loaded, parameter, a register with a constant.
const NAMES: [&str; 4] = ["1", "bn", "ubn", "kbn"];
/// A thread count.
const COUNTS: [&str; 5] = ["", "64", "bc", "ubc", "kbc"];

/// Kind, type, destination.
const REDUCTIONS: [(&str, &str, &str); 3] =
    [("popc", "u32", "rw"), ("and", "pred", "rp"), ("or", "pred", "rp")];

pub(super) fn forms(forms: &mut Vec<Form>) {
    for (name, aligned) in SPELLINGS {
        let is_alias = name.contains(".cta");
        for id in NAMES {
            // The repeated name stands for one register as both operands.
            for count in COUNTS.into_iter().chain([id]) {
                if is_alias && (id, count) != ("bn", "bc") {
                    continue;
                }
                let operands = if count.is_empty() { id.to_string() } else { format!("{id}, {count}") };
                everywhere(forms, Family::Barrier, &format!("{name}.sync{aligned} {operands}"));
                everywhere(forms, Family::Barrier, &format!("{name}.arrive{aligned} {operands}"));
                for (op, ty, d) in REDUCTIONS {
                    let text = format!("{name}.red.{op}{aligned}.{ty} {d}, {operands}");
                    everywhere(forms, Family::Barrier, &format!("{text}, p0"));
                    if count.is_empty() {
                        for p in ["!p0", "up", "kp"] {
                            forms.push(Form::new(Family::Barrier, format!("{text}, {p}")));
                        }
                        let text =
                            format!("{name}.red.{op}{aligned}.{ty} {}, {operands}, p0", d.replace('r', "d"));
                        forms.push(Form::new(Family::Barrier, text));
                    }
                }
            }
        }
        if !is_alias {
            near(forms, name, aligned);
        }
    }
    for mask in ["0xffffffff", "0xffff", "1", "0", "m", "um", "km"] {
        everywhere(forms, Family::Barrier, &format!("bar.warp.sync {mask}"));
    }
    for wrong in ["bar.warp.sync", "bar.warp.sync.aligned 1", "bar.warp.sync 1, 2", "bar.warp.arrive 1"] {
        forms.push(Form::new(Family::Barrier, wrong));
    }
}

/// Forms that are not legal, and forms at the limits.
fn near(forms: &mut Vec<Form>, name: &str, aligned: &str) {
    let mut add = |text: String| forms.push(Form::new(Family::Barrier, text));
    for id in ["0", "15", "16", "255", "-1", "0x100000001"] {
        add(format!("{name}.sync{aligned} {id}"));
        add(format!("{name}.arrive{aligned} {id}, 32"));
        add(format!("{name}.red.popc{aligned}.u32 rw, {id}, p0"));
    }
    for count in [
        "0", "1", "16", "31", "32", "33", "48", "1024", "1056", "2048", "4064", "4095", "4096", "4128",
        "8192", "-32",
    ] {
        add(format!("{name}.sync{aligned} 1, {count}"));
        add(format!("{name}.arrive{aligned} 1, {count}"));
        add(format!("{name}.red.and{aligned}.pred rp, 1, {count}, p0"));
    }
    add(format!("{name}.sync{aligned}"));
    add(format!("{name}.arrive{aligned}"));
    add(format!("{name}.sync{aligned} 1, 32, 32"));
    add(format!("{name}.sync{aligned} p0"));
    add(format!("{name}.sync{aligned} x0"));
    add(format!("{name}.sync{aligned} h0"));
    add(format!("{name}.sync{aligned} 1, p0"));
    add(format!("{name}.sync{aligned}.u32 1"));
    add(format!("{name}.red.popc{aligned}.u32 rp, 1, p0"));
    add(format!("{name}.red.popc{aligned}.pred rp, 1, p0"));
    add(format!("{name}.red.popc{aligned}.u32 rx, 1, p0"));
    add(format!("{name}.red.popc{aligned}.s32 rw, 1, p0"));
    add(format!("{name}.red.popc{aligned} rw, 1, p0"));
    add(format!("{name}.red.and{aligned}.pred rw, 1, p0"));
    add(format!("{name}.red.and{aligned}.u32 rw, 1, p0"));
    add(format!("{name}.red.or{aligned} rp, 1, p0"));
    add(format!("{name}.red.xor{aligned}.pred rp, 1, p0"));
    add(format!("{name}.red.and{aligned}.pred rp, 1"));
    add(format!("{name}.red.and{aligned}.pred rp, 1, w0"));
    add(format!("{name}.red.and{aligned}.pred rp, p0"));
    if name.starts_with("bar.") || name == "bar" {
        add(format!("{name}.sync.aligned 1"));
        add(format!("{name}.red.popc.aligned.u32 rw, 1, p0"));
    }
    forms.push(Form::new(Family::Barrier, format!("{name}.sync{aligned} 1")).at(Setting::Divergent));
}
