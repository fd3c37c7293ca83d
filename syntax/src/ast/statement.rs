//! The statements of a function body, and the directives that may also be outside of bodies.

use std::fmt;

use super::declaration::{Declaration, Parameter};
use super::expression::Expr;
use super::function::Directive;
use super::operand::Operand;
use super::{Ident, Pragma};
use crate::name::Name;
use crate::span::NodeId;

/// One statement of a body.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Statement {
    /// The position, without the `;`.
    pub id: NodeId,
    /// The kind, with its content.
    pub kind: StatementKind,
}

/// The kinds of statements.
///
/// A body is flat: a block in braces is an [`Open`](StatementKind::Open), its statements and a
/// [`Close`](StatementKind::Close). The parser guarantees that they balance, so a walk needs a
/// stack of scopes but no recursion, however deeply the text nests.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum StatementKind {
    /// `@p add.s32 %r1, %r2, 3;`
    Instruction(Instruction),
    /// `L:`
    Label(Name),
    /// `{`
    Open,
    /// `}`
    Close,
    /// `.reg .b32 %r<9>;` or a variable.
    Declaration(Box<Declaration>),
    /// `.loc 1 20 5`
    Location(Box<Location>),
    /// `.pragma "nounroll";`
    Pragma(Pragma),
    /// `ts: .branchtargets L0, L1;`
    BranchTargets(TargetList),
    /// `ts: .calltargets f, g;`
    CallTargets(TargetList),
    /// `proto: .callprototype (.param .b32 _) _ (.param .b64 _);`
    CallPrototype(Box<Prototype>),
    /// `.file 1 "kernel.cu"`
    File(Box<File>),
    /// `.section .debug_str { … }`
    Section(Section),
}

/// An instruction of any kind.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Instruction {
    /// The predicate that must hold for the instruction to take effect.
    pub guard: Option<Guard>,
    /// Mnemonic and modifiers.
    pub opcode: Opcode,
    /// The operands in the order written, destinations first.
    pub operands: Box<[Operand]>,
}

/// `@p` or `@!p`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Guard {
    /// The whole guard.
    pub id: NodeId,
    /// Whether it is `@!p`.
    pub negated: bool,
    /// The predicate register.
    pub register: Name,
}

/// A mnemonic with its modifiers in the order written: `ld`, `global`, `L2::128B`, `v4`, `f32`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Opcode {
    /// The node of the mnemonic; the parts after it have the next ids, see
    /// [`part_id`](Self::part_id).
    pub id: NodeId,
    /// The length of the mnemonic in bytes.
    mnemonic: u32,
    /// The mnemonic, then the modifiers with a dot before each; there are no other dots.
    text: Name,
}

impl Opcode {
    /// The opcode with this text, which has no spaces or comments.
    pub(crate) fn new(id: NodeId, text: Name) -> Opcode {
        let mnemonic = text.bytes().position(|byte| byte == b'.').unwrap_or(text.len()) as u32;
        Opcode { id, mnemonic, text }
    }

    /// The whole opcode, such as `ld.global.f32`.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The mnemonic, then the modifiers without their dots.
    pub fn parts(&self) -> impl DoubleEndedIterator<Item = &str> + Clone {
        self.text.split('.')
    }

    /// The number of its parts.
    pub fn part_count(&self) -> usize {
        1 + self.text.bytes().filter(|&byte| byte == b'.').count()
    }

    /// A part; 0 is the mnemonic. Empty if there are fewer parts.
    pub fn part(&self, index: usize) -> &str {
        self.parts().nth(index).unwrap_or_default()
    }

    /// The first part, such as `ld`.
    pub fn mnemonic(&self) -> &str {
        &self.text[..self.mnemonic as usize]
    }

    /// The parts after the mnemonic, such as `global`, `f32`.
    pub fn modifiers(&self) -> impl Iterator<Item = &str> + Clone {
        // Parts are a few bytes long, too short to start a new search for each.
        let mut rest = self.text.get(self.mnemonic as usize + 1..);
        std::iter::from_fn(move || {
            let part = rest?;
            let Some(end) = part.bytes().position(|byte| byte == b'.') else { return rest.take() };
            rest = Some(&part[end + 1..]);
            Some(&part[..end])
        })
    }

    /// Whether `modifier` (without its dot) is among the modifiers.
    pub fn has(&self, modifier: &str) -> bool {
        // Parts are a few bytes long, too short to start a new search for each.
        let parts = self.text.as_bytes().split(|&byte| byte == b'.');
        parts.skip(1).any(|part| part == modifier.as_bytes())
    }

    /// The node of part number `index`.
    pub fn part_id(&self, index: usize) -> NodeId {
        NodeId(self.id.0 + index as u32)
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// `.loc FILE LINE COLUMN`, the source line of the statements that follow.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Location {
    /// Number of a `.file`.
    pub file: u64,
    /// From 1.
    pub line: u64,
    /// From 1; 0 for unknown.
    pub column: u64,
    /// Where an inlined function was called.
    pub inlined: Option<Inlined>,
}

/// `function_name LABEL+OFFSET, inlined_at FILE LINE COLUMN`
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Inlined {
    /// A label in `.debug_str`.
    pub function_name: Ident,
    /// The offset from the label.
    pub offset: Option<Expr>,
    /// Number of a `.file`.
    pub file: u64,
    /// From 1.
    pub line: u64,
    /// From 1; 0 for unknown.
    pub column: u64,
}

/// The list of `.branchtargets` or `.calltargets`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TargetList {
    /// The label before the directive, by which `brx.idx` or `call` names the list.
    pub name: Ident,
    /// Labels or functions. The range `L<3>` of labels is written out as `L0`, `L1`, `L2`.
    pub targets: Vec<Ident>,
}

/// The signature of `.callprototype`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Prototype {
    /// The label before the directive, by which `call` names the prototype.
    pub name: Ident,
    /// The results.
    pub returns: Vec<Parameter>,
    /// The parameters.
    pub parameters: Vec<Parameter>,
    /// `.noreturn`, `.abi_preserve` and the like.
    pub directives: Vec<Directive>,
}

/// `.file INDEX "NAME", TIMESTAMP, SIZE`
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct File {
    /// The whole directive.
    pub id: NodeId,
    /// The number that `.loc` uses.
    pub index: u64,
    /// The raw text between the quotes.
    pub name: Name,
    /// Modification time, if given, and size in bytes, if given too.
    pub stamp: Option<(u64, Option<u64>)>,
}

/// A section of debugging data, kept unchanged.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Section {
    /// The whole directive.
    pub id: NodeId,
    /// The name, with its dot if it has one, such as `.debug_info`.
    pub name: Name,
    /// The content.
    pub lines: Vec<SectionLine>,
}

/// One line of a section.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum SectionLine {
    /// `L:`
    Label(Name),
    /// `.b32 1, 2`
    Data {
        /// Bytes of each value: 1, 2, 4 or 8.
        width: u8,
        /// The values; at least one.
        values: Vec<SectionValue>,
    },
}

/// A value in a section: a sum of terms, such as `end-start` or `.debug_abbrev`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SectionValue {
    /// The first term, which is always present.
    pub first: SectionTerm,
    /// The other terms; the flag says whether a term is subtracted.
    pub rest: Vec<(bool, SectionTerm)>,
}

/// One term of a section's value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum SectionTerm {
    /// A constant.
    Constant(Expr),
    /// A label, or a section with its dot.
    Symbol(Name),
}
