//! The syntax tree.
//!
//! The tree holds no positions: every node that a diagnostic may want to point at has a
//! [`NodeId`], which the [`SpanMap`](crate::SpanMap) of its item turns into a byte range. `==` on trees
//! therefore means *the same program text up to spaces, comments and line breaks*.
//!
//! The parser does not check meaning. An instruction is a guard, an opcode with its modifiers in
//! the order written, and operands; a later pass decides whether `add.f32` accepts four operands.

pub mod declaration;
pub mod expression;
pub mod function;
pub mod operand;
pub mod statement;

pub use declaration::{
    Attribute, Declaration, Declarator, Field, FieldValue, Initialiser, Linkage, Parameter, Pointer, Space,
    Specifiers, SymbolAddress, Type, Vector,
};
pub use expression::{BinaryOp, CastType, Expr, IntLiteral, Radix, UnaryOp};
pub use function::{Directive, DirectiveKind, Function, FunctionKind};
pub use operand::{Address, Operand, OperandKind, SymbolOffset};
pub use statement::{
    File, Guard, Inlined, Instruction, Location, Opcode, Prototype, Section, SectionLine, SectionTerm,
    SectionValue, Statement, StatementKind, TargetList,
};

use crate::name::Name;
use crate::span::NodeId;

/// A whole PTX file.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Module {
    /// The top-level items in order of appearance. Each item has its own node ids, starting at 0.
    pub items: Vec<Item>,
}

/// One top-level item.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Item {
    /// `.version 9.0`
    Version(Version),
    /// `.target sm_90a, debug`
    Target(Target),
    /// `.address_size 64`
    AddressSize(AddressSize),
    /// `.file 1 "kernel.cu"`
    File(File),
    /// `.section .debug_info { … }`
    Section(Section),
    /// `.pragma "…";`
    Pragma(Pragma),
    /// A variable, or several of one type.
    Declaration(Declaration),
    /// A kernel or a device function, defined or only declared.
    Function(Function),
    /// `.alias a, b;`
    Alias(Alias),
}

/// A name with its own position.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Ident {
    /// The position.
    pub id: NodeId,
    /// The name.
    pub name: Name,
}

/// `.version MAJOR.MINOR`: the PTX language version the file is written for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Version {
    /// The whole directive.
    pub id: NodeId,
    /// The part before the point.
    pub major: u32,
    /// The part after the point.
    pub minor: u32,
}

/// `.target NAME, NAME…`: the target architecture, then options such as `texmode_independent` or `debug`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Target {
    /// The whole directive.
    pub id: NodeId,
    /// At least one name.
    pub names: Vec<Ident>,
}

/// `.address_size 32` or `64`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AddressSize {
    /// The whole directive.
    pub id: NodeId,
    /// In bits.
    pub bits: u32,
}

/// `.pragma "a", "b";`
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Pragma {
    /// The whole directive.
    pub id: NodeId,
    /// The raw text between the quotes of each string.
    pub strings: Vec<Name>,
}

/// `.alias name, aliasee;`
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Alias {
    /// The whole directive.
    pub id: NodeId,
    /// The new name.
    pub name: Ident,
    /// The function that the name is an alias of.
    pub aliasee: Ident,
}
