//! The directives and declarations that not every version and target of PTX has: one row each.
//!
//! The instructions have such rows in `instructions/*.txt`. Source: NVIDIA's ptxas 13.5, tested
//! with every version and target. `tests/runner/tests/it/directives_oracle.rs` repeats the test.

use ptxc_syntax::NodeId;
use ptxc_syntax::ast::DirectiveKind;

use super::codes::REMOVED;
use super::needs::{Needs, PtxTarget, PtxVersion, TargetKind};
use super::requirements::{target_too_old, version_too_old};
use crate::diagnostic::Diagnostic;

/// A directive, or a part of a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feature {
    /// For messages.
    pub what: &'static str,
    /// The first version and the first target.
    pub needs: Needs,
    /// The first version without it, and what to write instead.
    pub until: Option<(PtxVersion, &'static str)>,
}

const fn since(major: u32, minor: u32, what: &'static str) -> Feature {
    let needs = Needs { version: Some(PtxVersion(major, minor)), targets: &[] };
    Feature { what, needs, until: None }
}

/// A target and the later ones.
const fn from(number: u32) -> [PtxTarget; 1] {
    [PtxTarget { number, kind: TargetKind::Baseline }]
}

const SM_20: &[PtxTarget] = &from(20);
const SM_30: &[PtxTarget] = &from(30);
const SM_35: &[PtxTarget] = &from(35);
const SM_50: &[PtxTarget] = &from(50);
const SM_75: &[PtxTarget] = &from(75);
const SM_80: &[PtxTarget] = &from(80);
const SM_90: &[PtxTarget] = &from(90);

impl Feature {
    const fn on(mut self, targets: &'static [PtxTarget]) -> Feature {
        self.needs.targets = targets;
        self
    }

    const fn until(mut self, major: u32, minor: u32, instead: &'static str) -> Feature {
        self.until = Some((PtxVersion(major, minor), instead));
        self
    }

    /// Reports the feature if a module's version or target lacks it.
    pub fn check(&self, node: NodeId, (version, target): (PtxVersion, PtxTarget), out: &mut Vec<Diagnostic>) {
        let what = self.what;
        if let Some((removed, instead)) = self.until.filter(|(removed, _)| version >= *removed) {
            out.push(
                Diagnostic::error(REMOVED, node, format!("{what} was removed in PTX {removed}"))
                    .label(format!("the module has `.version {version}`"))
                    .help(instead),
            );
        } else if let Some(needed) = self.needs.version.filter(|_| !self.needs.has_version(version)) {
            out.push(version_too_old(what, needed, version, node));
        } else if !self.needs.has_target(target) {
            out.push(target_too_old(what, &self.needs, target, node));
        }
    }
}

/// `.weak`
pub const WEAK: Feature = since(3, 1, "`.weak`");
/// `.common`
pub const COMMON: Feature = since(5, 0, "`.common`");
/// `.alias`
pub const ALIAS: Feature = since(6, 3, "`.alias`").on(SM_30);
/// `.attribute(.managed)`
pub const MANAGED: Feature = since(4, 0, "`.attribute(.managed)`").on(SM_30);
/// `.attribute(.unified)`
pub const UNIFIED: Feature = since(8, 0, "`.attribute(.unified)`").on(SM_90);

/// `.entry k(.param …)`; older kernels declare their parameters in the body.
pub const PARAMETER_LIST: Feature = since(1, 4, "a list of parameters of a kernel");
/// `.entry k;`
pub const KERNEL_DECLARATION: Feature = since(3, 0, "a declaration of a kernel");
/// `.func f(.param …)`
pub const FUNCTION_PARAMETER: Feature = since(2, 0, "a `.param` parameter of a device function").on(SM_20);
/// `.func f(.param .b8 a[])`
pub const OPEN_PARAMETER: Feature = since(6, 0, "a parameter without a size").on(SM_30);
/// `.ptr`
pub const POINTER: Feature = since(2, 2, "`.ptr`");
/// `.ptr .texref`
pub const OPAQUE_POINTER: Feature = since(4, 3, "a `.ptr` to an opaque object");
/// `.hidden`
pub const HIDDEN: Feature = since(8, 8, "`.hidden`");

/// `.texref`, `.samplerref`, `.surfref`
pub const OPAQUE: Feature = since(1, 5, "an opaque object");
/// `.tex .u32 t`
pub const TEXTURE_SPACE: Feature =
    since(1, 0, "`.tex`").until(1, 5, "declare the texture as a `.global .texref` variable");
/// `.const[0]`
pub const FIRST_BANK: Feature =
    since(1, 0, "the number of a constant bank").until(2, 2, "remove the number and its brackets");
/// `.const[1]`
pub const BANK: Feature =
    since(1, 5, "the number of a constant bank").until(2, 2, "remove the number and its brackets");
/// `channel_data_type = 1`
pub const CHANNEL_DATA_TYPE: Feature = since(2, 1, "`channel_data_type`");
/// `channel_order = 1`
pub const CHANNEL_ORDER: Feature = since(2, 1, "`channel_order`");
/// `force_unnormalized_coords = 1`
pub const UNNORMALIZED: Feature = since(2, 2, "`force_unnormalized_coords`");

/// `.global .u64 p = g`
pub const ADDRESS: Feature = since(2, 1, "an address as an initial value");
/// `.global .u64 p = f`
pub const FUNCTION_ADDRESS: Feature = since(2, 1, "the address of a function as an initial value").on(SM_20);
/// `.global .u64 p = k`
pub const KERNEL_ADDRESS: Feature = since(3, 1, "the address of a kernel as an initial value").on(SM_35);
/// `generic(g)`
pub const GENERIC: Feature = since(3, 1, "`generic()`");
/// `0xff(g)`
pub const MASK: Feature = since(7, 1, "a byte of an address as an initial value");

/// `.callprototype`
pub const CALL_PROTOTYPE: Feature = since(2, 1, "`.callprototype`").on(SM_20);
/// `.calltargets`
pub const CALL_TARGETS: Feature = since(2, 1, "`.calltargets`").on(SM_20);
/// `.branchtargets`
pub const BRANCH_TARGETS: Feature = since(6, 0, "`.branchtargets`").on(SM_30);

/// `.pragma`
pub const PRAGMA: Feature = since(2, 0, "`.pragma`");
/// `.pragma "used_bytes_mask 0xf"`
pub const USED_BYTES_MASK: Feature = since(8, 3, "the pragma `used_bytes_mask`").on(SM_50);
/// `.pragma "enable_smem_spilling"`
pub const SHARED_SPILLING: Feature = since(8, 7, "the pragma `enable_smem_spilling`").on(SM_75);
/// `.pragma "frequency 5"`
pub const FREQUENCY: Feature = since(9, 0, "the pragma `frequency`");

/// `.file 1 "x", 1, 2`
pub const FILE_STAMP: Feature = since(3, 2, "the time in a `.file`");
/// `.target sm_90, debug`
pub const DEBUG: Feature = since(3, 0, "the option `debug`");
/// `.target sm_90, texmode_independent`
pub const INDEPENDENT_TEXTURES: Feature = since(1, 5, "the option `texmode_independent`");

/// The directives of functions.
pub const fn of_directive(kind: DirectiveKind) -> Feature {
    match kind {
        DirectiveKind::MaxNTid => since(1, 3, "`.maxntid`"),
        DirectiveKind::ReqNTid => since(2, 1, "`.reqntid`"),
        DirectiveKind::MinNCtaPerSm => since(2, 0, "`.minnctapersm`"),
        DirectiveKind::MaxNCtaPerSm => since(1, 3, "`.maxnctapersm`").until(2, 1, "write `.minnctapersm`"),
        DirectiveKind::MaxNReg => since(1, 3, "`.maxnreg`"),
        DirectiveKind::LocalMaxNReg => since(8, 8, "`.local_maxnreg`"),
        DirectiveKind::ExplicitCluster => since(7, 8, "`.explicitcluster`").on(SM_90),
        DirectiveKind::ReqNCtaPerCluster => since(7, 8, "`.reqnctapercluster`").on(SM_90),
        DirectiveKind::MaxClusterRank => since(7, 8, "`.maxclusterrank`").on(SM_90),
        DirectiveKind::BlocksAreClusters => since(9, 0, "`.blocksareclusters`").on(SM_90),
        DirectiveKind::NoReturn => since(6, 4, "`.noreturn`").on(SM_30),
        DirectiveKind::AbiPreserve => since(9, 0, "`.abi_preserve`").on(SM_80),
        DirectiveKind::AbiPreserveControl => since(9, 0, "`.abi_preserve_control`").on(SM_80),
        DirectiveKind::Language => since(9, 2, "`.language`"),
        DirectiveKind::Pragma => PRAGMA,
    }
}
