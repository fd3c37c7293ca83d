//! Kernels and device functions.

use super::Ident;
use super::declaration::{Attribute, Linkage, Parameter};
use super::expression::Expr;
use super::statement::Statement;
use crate::name::Name;
use crate::span::NodeId;

/// Whether a function is launched or called.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FunctionKind {
    /// `.entry`, a kernel.
    Entry,
    /// `.func`
    Func,
}

/// A kernel or a device function.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Function {
    /// The head, up to the body.
    pub id: NodeId,
    /// How other modules see it.
    pub linkage: Option<Linkage>,
    /// `.entry` or `.func`.
    pub kind: FunctionKind,
    /// `.attribute(…)`
    pub attributes: Vec<Attribute>,
    /// The results of a `.func`.
    pub returns: Vec<Parameter>,
    /// Its name; empty if the text has none.
    pub name: Ident,
    /// The parameters.
    pub parameters: Vec<Parameter>,
    /// `.maxntid …` and the like, in order.
    pub directives: Vec<Directive>,
    /// The statements, flat; none for a declaration.
    pub body: Option<Vec<Statement>>,
}

/// A directive between the parameters and the body.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Directive {
    /// The whole directive.
    pub id: NodeId,
    /// Which one.
    pub kind: DirectiveKind,
    /// Its numbers; [`DirectiveKind::arity`] limits how many.
    pub values: Vec<Expr>,
    /// The raw texts of `.pragma`, or of a `.language` that is given by name instead of by number.
    pub strings: Vec<Name>,
}

/// The directives of functions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DirectiveKind {
    /// `.maxntid x, y, z`: the most threads in a CTA.
    MaxNTid,
    /// `.reqntid x, y, z`: the exact shape of a CTA.
    ReqNTid,
    /// `.minnctapersm n`
    MinNCtaPerSm,
    /// `.maxnctapersm n`, deprecated.
    MaxNCtaPerSm,
    /// `.maxnreg n`
    MaxNReg,
    /// `.local_maxnreg n`: the same for the function alone, not for those that it calls.
    LocalMaxNReg,
    /// `.explicitcluster`
    ExplicitCluster,
    /// `.reqnctapercluster x, y, z`
    ReqNCtaPerCluster,
    /// `.maxclusterrank n`
    MaxClusterRank,
    /// `.blocksareclusters`
    BlocksAreClusters,
    /// `.noreturn`
    NoReturn,
    /// `.abi_preserve n`
    AbiPreserve,
    /// `.abi_preserve_control n`
    AbiPreserveControl,
    /// `.language 1` or `.language "Tile IR"`: the source language of the function.
    Language,
    /// `.pragma "…";`
    Pragma,
}

impl DirectiveKind {
    /// Every directive.
    pub const ALL: [DirectiveKind; 15] = [
        DirectiveKind::MaxNTid,
        DirectiveKind::ReqNTid,
        DirectiveKind::MinNCtaPerSm,
        DirectiveKind::MaxNCtaPerSm,
        DirectiveKind::MaxNReg,
        DirectiveKind::LocalMaxNReg,
        DirectiveKind::ExplicitCluster,
        DirectiveKind::ReqNCtaPerCluster,
        DirectiveKind::MaxClusterRank,
        DirectiveKind::BlocksAreClusters,
        DirectiveKind::NoReturn,
        DirectiveKind::AbiPreserve,
        DirectiveKind::AbiPreserveControl,
        DirectiveKind::Language,
        DirectiveKind::Pragma,
    ];

    /// Without the dot.
    pub const fn spelling(self) -> &'static str {
        match self {
            DirectiveKind::MaxNTid => "maxntid",
            DirectiveKind::ReqNTid => "reqntid",
            DirectiveKind::MinNCtaPerSm => "minnctapersm",
            DirectiveKind::MaxNCtaPerSm => "maxnctapersm",
            DirectiveKind::MaxNReg => "maxnreg",
            DirectiveKind::LocalMaxNReg => "local_maxnreg",
            DirectiveKind::ExplicitCluster => "explicitcluster",
            DirectiveKind::ReqNCtaPerCluster => "reqnctapercluster",
            DirectiveKind::MaxClusterRank => "maxclusterrank",
            DirectiveKind::BlocksAreClusters => "blocksareclusters",
            DirectiveKind::NoReturn => "noreturn",
            DirectiveKind::AbiPreserve => "abi_preserve",
            DirectiveKind::AbiPreserveControl => "abi_preserve_control",
            DirectiveKind::Language => "language",
            DirectiveKind::Pragma => "pragma",
        }
    }

    /// Whether a function of that kind can have the directive. A `.pragma` after the declaration of
    /// a device function belongs to the module.
    pub const fn is_of(self, function: FunctionKind) -> bool {
        match self {
            DirectiveKind::NoReturn | DirectiveKind::AbiPreserve | DirectiveKind::AbiPreserveControl => {
                matches!(function, FunctionKind::Func)
            }
            DirectiveKind::LocalMaxNReg | DirectiveKind::Language | DirectiveKind::Pragma => true,
            _ => matches!(function, FunctionKind::Entry),
        }
    }

    /// The least and the greatest number of values.
    pub const fn arity(self) -> (usize, usize) {
        match self {
            DirectiveKind::MaxNTid | DirectiveKind::ReqNTid | DirectiveKind::ReqNCtaPerCluster => (1, 3),
            DirectiveKind::MinNCtaPerSm
            | DirectiveKind::MaxNCtaPerSm
            | DirectiveKind::MaxNReg
            | DirectiveKind::LocalMaxNReg
            | DirectiveKind::MaxClusterRank
            | DirectiveKind::AbiPreserve
            | DirectiveKind::AbiPreserveControl
            | DirectiveKind::Language => (1, 1),
            DirectiveKind::ExplicitCluster
            | DirectiveKind::BlocksAreClusters
            | DirectiveKind::NoReturn
            | DirectiveKind::Pragma => (0, 0),
        }
    }
}
