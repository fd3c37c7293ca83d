//! `mbarrier` and `cp.async.mbarrier.arrive`.

use crate::form::{Family, Form, Setting};

const SPACES: [&str; 5] = ["", ".shared", ".shared::cta", ".shared::cluster", ".global"];

pub(super) fn forms(forms: &mut Vec<Form>) {
    let mut texts: Vec<String> = Vec::new();
    for space in SPACES {
        of_space(&mut texts, space);
    }
    // Operands of every kind.
    let shared = ".shared::cta";
    for count in ["1", "uw", "w0"] {
        texts.push(format!("mbarrier.init{shared}.b64 [sa], {count}"));
        texts.push(format!("mbarrier.expect_tx{shared}.b64 [sa], {count}"));
        for op in ["arrive", "arrive_drop", "arrive.expect_tx", "arrive_drop.expect_tx", "arrive.noComplete"]
        {
            for d in ["rx", "dx", "_"] {
                for address in ["phase", "sa", "sa+8"] {
                    texts.push(format!("mbarrier.{op}{shared}.b64 {d}, [{address}], {count}"));
                }
            }
        }
    }
    for (op, state) in WAITS {
        for address in ["sa", "sa+8"] {
            texts.push(format!("mbarrier.{op}{shared}.b64 rp, [{address}], {state}"));
            texts.push(format!("mbarrier.{op}{shared}.b64 rp, [{address}], {state}, w1"));
            texts.push(format!("mbarrier.{op}{shared}.b64 dp, [{address}], {state}"));
        }
    }
    for op in ["inval", "arrive", "arrive_drop"] {
        let d = if op == "inval" { "" } else { "rx, " };
        texts.push(format!("mbarrier.{op}{shared}.b64 {d}[sa]"));
    }
    texts.push("mbarrier.pending_count.b64 rw, x0".to_string());
    texts.push("mbarrier.pending_count.b64 rw, w0".to_string());
    texts.push("mbarrier.init.shared.b32 [phase], 1".to_string());
    texts.push("mbarrier.init.shared.b64 [phase]".to_string());
    texts.push("mbarrier.arrive.shared.b64 rw, [phase]".to_string());
    for text in texts {
        forms.push(Form::new(Family::Mbarrier, text));
    }
    for text in [
        "mbarrier.init.shared.b64 [phase], 96",
        "mbarrier.arrive.shared.b64 rx, [phase]",
        "mbarrier.arrive.shared.b64 dx, [phase]",
        "mbarrier.test_wait.shared.b64 rp, [phase], x0",
        "mbarrier.try_wait.shared.b64 rp, [phase], x0",
        "mbarrier.arrive.expect_tx.shared.b64 rx, [phase], 64",
    ] {
        for setting in [Setting::Divergent, Setting::BothArms] {
            forms.push(Form::new(Family::Mbarrier, text).at(setting));
        }
    }
}

/// Waits with the state or parity that they accept.
const WAITS: [(&str, &str); 6] = [
    ("test_wait", "x0"),
    ("test_wait.parity", "w0"),
    ("test_wait.parity", "1"),
    ("try_wait", "x0"),
    ("try_wait.parity", "w0"),
    ("try_wait.parity", "0"),
];

/// Every operation with every order, in one spelling of the space.
fn of_space(texts: &mut Vec<String>, space: &str) {
    texts.push(format!("mbarrier.init{space}.b64 [phase], 96"));
    texts.push(format!("mbarrier.inval{space}.b64 [phase]"));
    texts.push(format!("cp.async.mbarrier.arrive{space}.b64 [phase]"));
    texts.push(format!("cp.async.mbarrier.arrive.noinc{space}.b64 [phase]"));
    for op in ["expect_tx", "complete_tx"] {
        for semantics in ["", ".relaxed.cta", ".relaxed.cluster", ".relaxed", ".release.cta"] {
            texts.push(format!("mbarrier.{op}{semantics}{space}.b64 [phase], 64"));
        }
    }
    for op in ["arrive", "arrive_drop"] {
        for semantics in [
            "",
            ".release.cta",
            ".release.cluster",
            ".relaxed.cta",
            ".relaxed.cluster",
            ".release",
            ".acquire.cta",
        ] {
            for d in ["rx", "_"] {
                texts.push(format!("mbarrier.{op}{semantics}{space}.b64 {d}, [phase]"));
                texts.push(format!("mbarrier.{op}{semantics}{space}.b64 {d}, [phase], 1"));
                texts.push(format!("mbarrier.{op}.expect_tx{semantics}{space}.b64 {d}, [phase], 64"));
                texts.push(format!("mbarrier.{op}.noComplete{semantics}{space}.b64 {d}, [phase], 1"));
            }
        }
    }
    for (op, state) in WAITS {
        for semantics in
            ["", ".acquire.cta", ".acquire.cluster", ".relaxed.cta", ".relaxed.cluster", ".release.cta"]
        {
            texts.push(format!("mbarrier.{op}{semantics}{space}.b64 rp, [phase], {state}"));
        }
        texts.push(format!("mbarrier.{op}{space}.b64 rp, [phase], {state}, 1000"));
    }
}
