//! `shfl`, `vote`, `match`, `redux`, `elect`, `activemask`.

use super::everywhere;
use crate::form::{Family, Form, Setting};

/// Masks of lanes: all, some, loaded, from a parameter.
const MASKS: [&str; 4] = ["0xffffffff", "0xffff", "m", "um"];

pub(super) fn forms(forms: &mut Vec<Form>) {
    shuffles(forms);
    votes(forms);
    others(forms);
}

fn shuffles(forms: &mut Vec<Form>) {
    let add = |forms: &mut Vec<Form>, text: String| forms.push(Form::new(Family::Warp, text));
    for mode in ["up", "down", "bfly", "idx"] {
        for d in ["rw", "rw|rp"] {
            for lane in ["1", "40", "w1", "uw"] {
                for clamp in ["0x1f", "0", "w2", "uw"] {
                    for mask in MASKS {
                        add(forms, format!("shfl.sync.{mode}.b32 {d}, w0, {lane}, {clamp}, {mask}"));
                    }
                    add(forms, format!("shfl.{mode}.b32 {d}, w0, {lane}, {clamp}"));
                }
            }
            for lane in ["0", "31", "32", "-1", "kw"] {
                add(forms, format!("shfl.sync.{mode}.b32 {d}, w0, {lane}, 0x1c03, 0xffffffff"));
            }
            for a in ["uw", "kw", "7"] {
                add(forms, format!("shfl.sync.{mode}.b32 {d}, {a}, 1, 0x1f, 0xffffffff"));
            }
            add(forms, format!("shfl.sync.{mode}.b32 {d}, w0, 1, 0x1f, km"));
            add(forms, format!("shfl.sync.{mode}.b32 {d}, w0, 1, 0x1f, 0"));
            for d in ["rw|dp", "dw|rp", "dw", "_|rp", "rw|_"] {
                add(forms, format!("shfl.sync.{mode}.b32 {d}, w0, 1, 0x1f, 0xffffffff"));
            }
        }
        for (lane, clamp) in [("1", "0x1f"), ("w1", "0x1f"), ("1", "w2"), ("w1", "w2")] {
            for mask in MASKS {
                for setting in [Setting::Divergent, Setting::BothArms] {
                    for d in ["rw", "rw|rp"] {
                        let text = format!("shfl.sync.{mode}.b32 {d}, w0, {lane}, {clamp}, {mask}");
                        forms.push(Form::new(Family::Warp, text).at(setting));
                    }
                }
            }
        }
        near_shuffles(forms, mode);
        add(forms, format!("shfl.{mode}.sync.b32 rw, w0, 1, 0x1f, 0xffffffff"));
        // Old modules used them without `.sync`.
        for version in [(6, 3), (6, 4), (7, 0), (7, 8)] {
            let old = Form::new(Family::Warp, format!("shfl.{mode}.b32 rw|rp, w0, w1, 0x1f"));
            forms.push(old.version(version));
        }
    }
}

fn near_shuffles(forms: &mut Vec<Form>, mode: &str) {
    let mut add = |text: String| forms.push(Form::new(Family::Warp, text));
    for ty in ["u32", "s32", "f32", "b64", "b16"] {
        add(format!("shfl.sync.{mode}.{ty} rw, w0, 1, 0x1f, 0xffffffff"));
    }
    add(format!("shfl.sync.{mode} rw, w0, 1, 0x1f, 0xffffffff"));
    add(format!("shfl.sync.{mode}.b32 rw, w0, 1, 0x1f"));
    add(format!("shfl.sync.{mode}.b32 rw, w0, 1, 0xffffffff"));
    add(format!("shfl.{mode}.b32 rw, w0, 1"));
    add(format!("shfl.sync.{mode}.b32 rx, x0, 1, 0x1f, 0xffffffff"));
    add(format!("shfl.sync.{mode}.b32 rw|rw0, w0, 1, 0x1f, 0xffffffff"));
    add(format!("shfl.sync.{mode}.b32 rw, w0, p0, 0x1f, 0xffffffff"));
    add(format!("shfl.sync.{mode}.b32 rw, h0, 1, 0x1f, 0xffffffff"));
    add(format!("shfl.sync.{mode}.b32 rw, w0, 1, 0x1f, x0"));
}

fn votes(forms: &mut Vec<Form>) {
    for (op, ty, d) in
        [("all", "pred", "rp"), ("any", "pred", "rp"), ("uni", "pred", "rp"), ("ballot", "b32", "rw")]
    {
        for p in ["p0", "!p0", "up", "kp"] {
            for mask in MASKS {
                everywhere(forms, Family::Warp, &format!("vote.sync.{op}.{ty} {d}, {p}, {mask}"));
            }
            forms.push(Form::new(Family::Warp, format!("vote.{op}.{ty} {d}, {p}")));
            forms.push(Form::new(Family::Warp, format!("vote.{op}.{ty} {d}, {p}")).version((6, 3)));
            forms.push(Form::new(Family::Warp, format!("vote.{op}.{ty} {d}, {p}")).version((6, 4)));
        }
        let mut add = |text: String| forms.push(Form::new(Family::Warp, text));
        add(format!("vote.sync.{op}.{ty} {d}, p0, km"));
        add(format!("vote.sync.{op}.{ty} {}, p0, 0xffffffff", d.replace('r', "d")));
        add(format!("vote.sync.{op}.{ty} {d}, p0"));
        add(format!("vote.sync.{op}.{ty} {d}, w0, 0xffffffff"));
        add(format!("vote.sync.{op} {d}, p0, 0xffffffff"));
        add(format!("vote.sync.{op}.u32 {d}, p0, 0xffffffff"));
        add(format!("vote.sync.{op}.pred rw, p0, 0xffffffff"));
        add(format!("vote.sync.{op}.b32 rp, p0, 0xffffffff"));
        add(format!("vote.{op}.sync.{ty} {d}, p0, 0xffffffff"));
    }
    forms.push(Form::new(Family::Warp, "vote.sync.pred rp, p0, 0xffffffff"));
    forms.push(Form::new(Family::Warp, "vote.sync.none.pred rp, p0, 0xffffffff"));
}

fn others(forms: &mut Vec<Form>) {
    for mask in MASKS.into_iter().chain(["km"]) {
        for (ty, operands) in [("b32", ["w0", "uw", "7"]), ("b64", ["x0", "ux", "7"])] {
            for a in operands {
                for op in ["any", "all"] {
                    everywhere(forms, Family::Warp, &format!("match.{op}.sync.{ty} rw, {a}, {mask}"));
                }
                everywhere(forms, Family::Warp, &format!("match.all.sync.{ty} rw|rp, {a}, {mask}"));
            }
        }
        for (op, ty) in redux() {
            for a in ["w0", "uw", "7"] {
                everywhere(forms, Family::Warp, &format!("redux.sync.{op}.{ty} rw, {a}, {mask}"));
            }
        }
        for d in ["rw|rp", "_|rp", "dw|rp", "rw|dp"] {
            everywhere(forms, Family::Warp, &format!("elect.sync {d}, {mask}"));
        }
    }
    everywhere(forms, Family::Warp, "activemask.b32 rw");
    forms.push(Form::new(Family::Warp, "activemask.b32 dw"));
    for wrong in [
        "match.any.sync.b32 rw|rp, w0, 0xffffffff",
        "match.any.sync.u32 rw, w0, 0xffffffff",
        "match.any.sync.b16 rw, h0, 0xffffffff",
        "match.any.b32 rw, w0, 0xffffffff",
        "match.sync.any.b32 rw, w0, 0xffffffff",
        "match.sync.b32 rw, w0, 0xffffffff",
        "match.all.sync.b64 rw, w0, 0xffffffff",
        "match.all.sync.b32 rw, w0",
        "redux.sync.add.b32 rw, w0, 0xffffffff",
        "redux.sync.and.u32 rw, w0, 0xffffffff",
        "redux.sync.min.f32 rw, w0, 0xffffffff",
        "redux.sync.mul.u32 rw, w0, 0xffffffff",
        "redux.sync.add.u64 rx, x0, 0xffffffff",
        "redux.add.u32 rw, w0, 0xffffffff",
        "redux.sync.add.u32 rw, w0",
        "activemask.u32 rw",
        "activemask rw",
        "activemask.b32 rp",
        "activemask.b64 rx",
        "elect.sync rw, 0xffffffff",
        "elect.sync rp, 0xffffffff",
        "elect.sync.b32 rw|rp, 0xffffffff",
        "elect rw|rp, 0xffffffff",
        "elect.sync rw|rp",
    ] {
        forms.push(Form::new(Family::Warp, wrong));
    }
}

/// The operations of `redux` with their types.
fn redux() -> impl Iterator<Item = (&'static str, &'static str)> {
    let numbers = ["add", "min", "max"].into_iter().flat_map(|op| [(op, "u32"), (op, "s32")]);
    numbers.chain(["and", "or", "xor"].map(|op| (op, "b32")))
}
