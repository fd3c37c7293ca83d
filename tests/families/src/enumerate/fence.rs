//! `membar`, `fence`, `barrier.cluster`, `griddepcontrol`.

use super::everywhere;
use crate::form::{Family, Form};

pub(super) fn forms(forms: &mut Vec<Form>) {
    let mut texts: Vec<String> = Vec::new();
    for level in ["cta", "gl", "sys", "gpu", "cluster", "proxy.alias", "proxy.async"] {
        texts.push(format!("membar.{level}"));
    }
    for semantics in ["", ".sc", ".acq_rel", ".acquire", ".release", ".relaxed"] {
        for scope in ["", ".cta", ".cluster", ".gpu", ".sys", ".gl"] {
            texts.push(format!("fence{semantics}{scope}"));
        }
    }
    for kind in [
        "alias",
        "async",
        "async.global",
        "async.shared::cta",
        "async.shared::cluster",
        "async.shared",
        "async.local",
        "generic",
        "tensormap::generic.release",
    ] {
        texts.push(format!("fence.proxy.{kind}"));
    }
    for scope in ["cta", "cluster", "gpu", "sys"] {
        texts.push(format!("fence.proxy.tensormap::generic.release.{scope}"));
        texts.push(format!("fence.proxy.tensormap::generic.acquire.{scope} [ga], 128"));
        texts.push(format!("fence.proxy.tensormap::generic.acquire.{scope} [gu], 128"));
        texts.push(format!("fence.proxy.tensormap::generic.acquire.{scope} [ga], 64"));
        texts.push(format!("fence.proxy.tensormap::generic.acquire.{scope} [ga]"));
        texts.push(format!("fence.proxy.tensormap::generic.acq_rel.{scope}"));
        texts.push(format!("fence.acquire.sync_restrict::shared::cluster.{scope}"));
        texts.push(format!("fence.release.sync_restrict::shared::cta.{scope}"));
        texts.push(format!("fence.release.sync_restrict::shared::cluster.{scope}"));
        texts.push(format!("fence.mbarrier_init.release.{scope}"));
        texts.push(format!("fence.mbarrier_init.acquire.{scope}"));
        texts.push(format!("fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.{scope}"));
        texts.push(format!("fence.proxy.async::generic.release.sync_restrict::shared::cta.{scope}"));
    }
    for aligned in ["", ".aligned"] {
        for semantics in ["", ".release", ".relaxed", ".acquire", ".acq_rel"] {
            texts.push(format!("barrier.cluster.arrive{semantics}{aligned}"));
            texts.push(format!("barrier.cluster.wait{semantics}{aligned}"));
        }
    }
    for text in [
        "barrier.cluster.sync",
        "barrier.cluster.arrive 1",
        "griddepcontrol.wait",
        "griddepcontrol.launch_dependents",
        "griddepcontrol",
        "griddepcontrol.wait 1",
        "membar",
        "membar.gl 1",
        "fence.sc.acq_rel.gpu",
        "fence.gpu.sc",
        "fence.sc.gpu 1",
    ] {
        texts.push(text.to_string());
    }
    for text in texts {
        everywhere(forms, Family::Fence, &text);
    }
}
