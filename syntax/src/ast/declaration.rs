//! Variables, registers and parameters.

use super::Ident;
use super::expression::Expr;
use crate::name::Name;
use crate::span::NodeId;

/// How other modules see a symbol.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Linkage {
    /// `.extern`: defined elsewhere.
    Extern,
    /// `.visible`
    Visible,
    /// `.weak`
    Weak,
    /// `.common`
    Common,
}

impl Linkage {
    /// Every linkage.
    pub const ALL: [Linkage; 4] = [Linkage::Extern, Linkage::Visible, Linkage::Weak, Linkage::Common];

    /// Without the dot.
    pub const fn spelling(self) -> &'static str {
        match self {
            Linkage::Extern => "extern",
            Linkage::Visible => "visible",
            Linkage::Weak => "weak",
            Linkage::Common => "common",
        }
    }
}

/// A state space.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Space {
    /// `.reg`
    Reg,
    /// `.sreg`
    Sreg,
    /// `.const`
    Const,
    /// `.global`
    Global,
    /// `.local`
    Local,
    /// `.param`
    Param,
    /// `.shared`
    Shared,
    /// `.tex`, deprecated.
    Tex,
}

impl Space {
    /// Every space.
    pub const ALL: [Space; 8] = [
        Space::Reg,
        Space::Sreg,
        Space::Const,
        Space::Global,
        Space::Local,
        Space::Param,
        Space::Shared,
        Space::Tex,
    ];

    /// Without the dot.
    pub const fn spelling(self) -> &'static str {
        match self {
            Space::Reg => "reg",
            Space::Sreg => "sreg",
            Space::Const => "const",
            Space::Global => "global",
            Space::Local => "local",
            Space::Param => "param",
            Space::Shared => "shared",
            Space::Tex => "tex",
        }
    }
}

/// A type that a declaration can have.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "each is documented by its spelling")]
pub enum Type {
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    F32,
    F64,
    Pred,
    Texref,
    Samplerref,
    Surfref,
}

impl Type {
    /// Every type.
    pub const ALL: [Type; 21] = [
        Type::B8,
        Type::B16,
        Type::B32,
        Type::B64,
        Type::B128,
        Type::U8,
        Type::U16,
        Type::U32,
        Type::U64,
        Type::S8,
        Type::S16,
        Type::S32,
        Type::S64,
        Type::F16,
        Type::F16x2,
        Type::F32,
        Type::F64,
        Type::Pred,
        Type::Texref,
        Type::Samplerref,
        Type::Surfref,
    ];

    /// Without the dot.
    pub const fn spelling(self) -> &'static str {
        match self {
            Type::B8 => "b8",
            Type::B16 => "b16",
            Type::B32 => "b32",
            Type::B64 => "b64",
            Type::B128 => "b128",
            Type::U8 => "u8",
            Type::U16 => "u16",
            Type::U32 => "u32",
            Type::U64 => "u64",
            Type::S8 => "s8",
            Type::S16 => "s16",
            Type::S32 => "s32",
            Type::S64 => "s64",
            Type::F16 => "f16",
            Type::F16x2 => "f16x2",
            Type::F32 => "f32",
            Type::F64 => "f64",
            Type::Pred => "pred",
            Type::Texref => "texref",
            Type::Samplerref => "samplerref",
            Type::Surfref => "surfref",
        }
    }

    /// Size in bytes of one value in memory; none for predicates. An opaque reference type has 8
    /// bytes.
    pub const fn bytes(self) -> Option<u32> {
        match self {
            Type::B8 | Type::U8 | Type::S8 => Some(1),
            Type::B16 | Type::U16 | Type::S16 | Type::F16 => Some(2),
            Type::B32 | Type::U32 | Type::S32 | Type::F16x2 | Type::F32 => Some(4),
            Type::B64 | Type::U64 | Type::S64 | Type::F64 => Some(8),
            Type::Texref | Type::Samplerref | Type::Surfref => Some(8),
            Type::B128 => Some(16),
            Type::Pred => None,
        }
    }
}

/// The number of elements of a vector type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Vector {
    /// `.v2`
    V2,
    /// `.v4`
    V4,
    /// `.v8`
    V8,
}

impl Vector {
    /// Every vector size.
    pub const ALL: [Vector; 3] = [Vector::V2, Vector::V4, Vector::V8];

    /// Without the dot.
    pub const fn spelling(self) -> &'static str {
        match self {
            Vector::V2 => "v2",
            Vector::V4 => "v4",
            Vector::V8 => "v8",
        }
    }

    /// Number of elements.
    pub const fn lanes(self) -> u32 {
        match self {
            Vector::V2 => 2,
            Vector::V4 => 4,
            Vector::V8 => 8,
        }
    }
}

/// The words before the names of a declaration.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Specifiers {
    /// The state space.
    pub space: Space,
    /// The number in `.const[2]`.
    pub bank: Option<Expr>,
    /// `.align N`, in bytes.
    pub align: Option<Expr>,
    /// `.attribute(…)`
    pub attributes: Vec<Attribute>,
    /// `.v4`
    pub vector: Option<Vector>,
    /// The type of one element.
    pub ty: Type,
    /// `.ptr …`, of kernel parameters that are pointers.
    pub pointer: Option<Pointer>,
}

/// `.ptr .global .align 8`: the memory that a kernel parameter points to.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Pointer {
    /// The space of the memory; generic if absent.
    pub space: Option<Space>,
    /// The type of the object, if the parameter is the handle of a texture, a sampler or a surface:
    /// `.ptr .texref`.
    pub reference: Option<Type>,
    /// The alignment of the memory, in bytes.
    pub align: Option<Expr>,
}

impl Pointer {
    /// Whether the memory may be in that space, which comes before its alignment.
    pub(crate) fn may_be_in(&self, space: Space) -> bool {
        self.align.is_none() && matches!(space, Space::Const | Space::Global | Space::Local | Space::Shared)
    }
}

/// One entry of `.attribute(.managed, .unified(19, 95))`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Attribute {
    /// Without the dot.
    pub name: Ident,
    /// The arguments in parentheses.
    pub arguments: Vec<Expr>,
}

/// One or several registers or variables of one type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Declaration {
    /// The whole declaration, without the `;`.
    pub id: NodeId,
    /// How other modules see the symbols.
    pub linkage: Option<Linkage>,
    /// Space and type.
    pub specifiers: Specifiers,
    /// At least one name.
    pub declarators: Vec<Declarator>,
}

/// One name of a declaration.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Declarator {
    /// The name.
    pub name: Ident,
    /// `<N>`: declares `name0` up to `name(N-1)` instead.
    pub range: Option<Expr>,
    /// Array dimensions, outermost first; an empty one is open.
    pub dimensions: Vec<Option<Expr>>,
    /// The initial content.
    pub initialiser: Option<Initialiser>,
}

/// The initial content of a variable.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Initialiser {
    /// A constant.
    Constant(Expr),
    /// The address of a symbol.
    Address(Box<SymbolAddress>),
    /// `{…}`, one level of an array or a vector; the parser limits how deeply lists nest.
    List(Vec<Initialiser>),
    /// `{addr_mode_0 = wrap, width = 4}`: the fields of a texture, a sampler or a surface.
    Fields(Vec<Field>),
}

impl Initialiser {
    /// The addresses in it, in the order of the text. An explicit stack replaces recursion.
    pub fn addresses(&self) -> impl Iterator<Item = &SymbolAddress> {
        let mut rest = vec![self];
        std::iter::from_fn(move || {
            while let Some(part) = rest.pop() {
                match part {
                    Initialiser::List(list) => rest.extend(list.iter().rev()),
                    Initialiser::Address(address) => return Some(&**address),
                    Initialiser::Constant(_) | Initialiser::Fields(_) => {}
                }
            }
            None
        })
    }
}

/// One field of the initialiser of a texture, a sampler or a surface.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Field {
    /// The name.
    pub name: Ident,
    /// The value.
    pub value: FieldValue,
}

/// The value of a [`Field`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum FieldValue {
    /// `wrap`
    Name(Ident),
    /// A number.
    Constant(Expr),
}

/// `sym`, `sym+4`, `generic(sym)+4`, `0xFF00(sym)`
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SymbolAddress {
    /// `0xFF00` in `0xFF00(sym)`: only this byte of the address, shifted down.
    pub mask: Option<Expr>,
    /// Whether this is the generic address, not the address within the space of the symbol.
    pub generic: bool,
    /// The variable or function.
    pub symbol: Ident,
    /// The offset in bytes.
    pub offset: Option<Expr>,
}

/// A parameter or a result of a function.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Parameter {
    /// The whole parameter.
    pub id: NodeId,
    /// Whether `.hidden` precedes it: a parameter of a kernel that a host library adds.
    pub hidden: bool,
    /// Space and type.
    pub specifiers: Specifiers,
    /// The name, `_` in a prototype.
    pub name: Name,
    /// Array dimensions; an empty one is open.
    pub dimensions: Vec<Option<Expr>>,
}
