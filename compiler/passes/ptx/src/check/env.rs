//! The part of its module that a function can see.
//!
//! A [`ModuleEnv`] holds the header and only those module-scope names that the function mentions,
//! so a change of any other name does not affect the function.

use std::sync::Arc;

use indexmap::IndexMap;
use ptxc_ir::Layout;
use ptxc_ir::symbol::{self, Initial};
use ptxc_syntax::Name;
use ptxc_syntax::ast::{Declaration, Declarator, Function, Linkage, Parameter, Prototype, Space, Type};
use rustc_hash::{FxHashMap, FxHashSet};

use super::initial::{self, Misfit};
pub use super::needs::{PtxTarget, PtxVersion, TargetKind};

/// A variable of the module.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Variable {
    /// Its state space.
    pub space: Space,
    /// The type of an element.
    pub ty: Type,
    /// Size in bytes; 0 for an open array, whose size is set at launch.
    pub size: u64,
    /// Alignment in bytes.
    pub align: u32,
    /// Its visibility to other modules.
    pub linkage: Option<Linkage>,
    /// Its initial content; `None` without an initialiser.
    pub content: Result<Option<Arc<Initial>>, Misfit>,
    /// Its place in bytes, given by [`place`] to the constant and global variables of a module. For
    /// a constant variable it is the place in the module's constant bank; for a global variable it
    /// is the place of its address in the module's table of addresses. A shared variable that
    /// device functions name has a place in shared memory, the same for all kernels that call
    /// functions. So has a texture, sampler or surface: its word among the parameters.
    pub place: Option<u32>,
}

impl Variable {
    /// The place after its last byte in a window or bank if it begins at `start`, in bytes; at most
    /// 2^32 - 1. Only a variable in global memory may be larger than a window.
    pub fn end_from(&self, start: u32) -> u32 {
        symbol::end_from(start, self.size)
    }

    /// Whether it is a texture, sampler or surface.
    pub fn is_image(&self) -> bool {
        is_image(self.ty)
    }
}

/// Whether a type is that of a texture, sampler or surface.
pub fn is_image(ty: Type) -> bool {
    matches!(ty, Type::Texref | Type::Samplerref | Type::Surfref)
}

/// A parameter or result as a caller sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Formal {
    /// The type of an element.
    pub ty: Type,
    /// Whether it is an array.
    pub is_array: bool,
    /// Size in bytes; 0 for an array of open size.
    pub size: u32,
    /// Alignment in bytes.
    pub align: u32,
}

impl Formal {
    /// The form of a parameter as a caller sees it; its size is also 0 if the declared size is too
    /// large or not a constant.
    pub fn of(parameter: &Parameter) -> Formal {
        let (size, align) = parameter_layout(parameter).unwrap_or((0, 1));
        Formal { ty: parameter.specifiers.ty, is_array: !parameter.dimensions.is_empty(), size, align }
    }

    /// Its size and alignment.
    pub fn layout(&self) -> Layout {
        Layout { bytes: self.size, align: self.align }
    }

    /// Whether it takes an array of any size: `.param .b8 a[]`.
    pub fn is_variadic(&self) -> bool {
        self.is_array && self.size == 0 && self.ty == Type::B8
    }
}

/// The form that a call of a function must have.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Signature {
    /// The function's own name; an alias has another name.
    pub name: Name,
    /// Whether it is a kernel, which can't be called.
    pub is_entry: bool,
    /// The results.
    pub returns: Vec<Formal>,
    /// The parameters.
    pub parameters: Vec<Formal>,
}

impl Signature {
    /// The form that a `.callprototype` gives to calls.
    pub fn of_prototype(prototype: &Prototype) -> Signature {
        Signature {
            name: prototype.name.name.clone(),
            is_entry: false,
            returns: prototype.returns.iter().map(Formal::of).collect(),
            parameters: prototype.parameters.iter().map(Formal::of).collect(),
        }
    }
}

/// The module as one function sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleEnv {
    /// `.version`.
    pub version: PtxVersion,
    /// `.target`.
    pub target: PtxTarget,
    /// `.address_size`, in bits.
    pub address_bits: u32,
    /// Whether `.target` has the option `map_f64_to_f32`.
    pub maps_double: bool,
    /// Whether `.target` has the option `texmode_independent`, so that samplers are objects of their
    /// own.
    pub has_samplers: bool,
    /// Variables that the function mentions.
    pub variables: IndexMap<Name, Variable>,
    /// The names in the module of the constant and global variables that the function declares, by
    /// their numbers among its variables. The variables are among `variables` too.
    pub own: FxHashMap<usize, Name>,
    /// The names that the function mentions and that are declared only after it, so that it can't
    /// use them.
    pub later: FxHashSet<Name>,
    /// Functions that the function mentions.
    pub signatures: IndexMap<Name, Signature>,
    /// The places in constant bank 4, in bytes, of the addresses of the functions among them that
    /// another module or the driver defines.
    pub external: IndexMap<Name, u32>,
    /// The start, in bytes, of the shared variables that a device function, or a kernel that calls
    /// device functions, declares itself. Shared variables that device functions name lie before
    /// it.
    pub shared_start: u32,
    /// The place of the parameter block in its constant bank, in bytes: parameters are aligned in the
    /// bank.
    pub parameter_base: u32,
}

impl ModuleEnv {
    /// A module of the newest version for sm_90 without names.
    pub fn empty() -> ModuleEnv {
        ModuleEnv {
            version: PtxVersion::NEWEST,
            target: PtxTarget { number: 90, kind: TargetKind::Baseline },
            address_bits: 64,
            maps_double: false,
            has_samplers: false,
            later: FxHashSet::default(),
            variables: IndexMap::new(),
            own: FxHashMap::default(),
            signatures: IndexMap::new(),
            external: IndexMap::new(),
            shared_start: 0,
            parameter_base: 0,
        }
    }
}

/// The largest alignment of a variable, in bytes: this many bytes may be unused before it in a file
/// of machine code.
pub const MOST_ALIGNMENT: u32 = 1 << 24;

/// The most bytes of a parameter, or of a variable that has content or lies in a window.
const MOST_BYTES: u64 = 1 << 31;

/// The most bytes of a variable that the loader fills with zeros: the address space of the machine.
const MOST_ZEROS: u64 = 1 << 47;

/// The most addresses of global variables that fit their constant bank.
pub const MOST_ADDRESSES: usize = 8192;

/// Gives the constant and global variables of a module their places, in order. Constants lie one
/// after the other in constant bank 3, as ptxas lays them out; the address of each global variable
/// takes 8 bytes of constant bank 4. Constants of other modules come last: an object leaves their
/// place to the linker, and a program has zeros there. The place is `None` if the bank would be
/// larger than 2^31 bytes.
///
/// If there are more global variables than the bank has room for, only those that `is_used` get a
/// place there.
pub fn place<'a>(
    variables: impl Iterator<Item = (&'a Name, &'a mut Variable)>,
    is_used: &dyn Fn(&Name) -> bool,
) {
    let (mut constants, mut addresses) = (0u32, 0u32);
    let mut add_constant = |variable: &mut Variable| {
        let start = constants.checked_next_multiple_of(variable.align);
        let end = variable.end_from(start.unwrap_or(u32::MAX));
        variable.place = start.filter(|_| end <= 1 << 31);
        constants = end;
    };
    let mut outside = Vec::new();
    for (name, variable) in variables {
        match variable.space {
            // Textures, samplers and surfaces are not in memory.
            _ if variable.is_image() => {}
            Space::Const if variable.linkage == Some(Linkage::Extern) => outside.push(variable),
            Space::Const => add_constant(variable),
            Space::Global if is_used(name) => {
                variable.place = Some(addresses);
                addresses += 8;
            }
            _ => {}
        }
    }
    outside.into_iter().for_each(add_constant);
}

/// Size of an object in bytes: elements times dimensions. `None` if the size exceeds `most` bytes.
fn object_size(element: u32, dimensions: &[u64], most: u64) -> Option<u64> {
    dimensions
        .iter()
        .try_fold(u64::from(element), |size, &count| size.checked_mul(count).filter(|&size| size <= most))
}

/// The most variables that ranges such as `.local .b32 z<9>` may declare in a function, or between
/// functions.
pub const MOST_IN_RANGES: u32 = 1 << 16;

/// A name that a declaration declares.
#[derive(Clone, Debug)]
pub struct Declared<'a> {
    /// The part of the declaration.
    pub declarator: &'a Declarator,
    /// The name.
    pub name: Name,
    /// The variable; `None` if its size is not a constant or exceeds [`MOST_BYTES`]. Zeros in
    /// global memory may have [`MOST_ZEROS`].
    pub variable: Option<Variable>,
}

/// The variables of a declaration with their sizes. `room` is the number of variables that ranges
/// may still declare; a range that needs more has one entry without a variable.
pub fn variables<'a>(declaration: &'a Declaration, room: &mut u32) -> Vec<Declared<'a>> {
    let mut found = Vec::new();
    for declarator in &declaration.declarators {
        let (name, variable) = (&declarator.name.name, variable(declaration, declarator));
        let Some(range) = &declarator.range else {
            found.push(Declared { declarator, name: name.clone(), variable });
            continue;
        };
        match constant_u32(range).filter(|count| count <= room) {
            Some(count) => {
                *room -= count;
                found.extend((0..count).map(|number| {
                    let name = Name::new(&format!("{name}{number}"));
                    Declared { declarator, name, variable: variable.clone() }
                }));
            }
            None => found.push(Declared { declarator, name: name.clone(), variable: None }),
        }
    }
    found
}

fn variable(declaration: &Declaration, declarator: &Declarator) -> Option<Variable> {
    let specifiers = &declaration.specifiers;
    let lanes = specifiers.vector.map_or(1, |vector| vector.lanes());
    let element = specifiers.ty.bytes().unwrap_or(0) * lanes;
    let align = match &specifiers.align {
        Some(expr) => constant_u32(expr).filter(|align| align.is_power_of_two() && *align <= MOST_ALIGNMENT),
        None => Some(element.max(1)),
    };
    let dimensions = initial::dimensions(&declarator.dimensions, declarator.initialiser.as_ref())?;
    let is_zero = specifiers.space == Space::Global && declarator.initialiser.is_none();
    let size = object_size(element, &dimensions, if is_zero { MOST_ZEROS } else { MOST_BYTES })?;
    let content = declarator
        .initialiser
        .as_ref()
        .map(|initialiser| initial::content(initialiser, specifiers.ty, lanes, &dimensions).map(Arc::new));
    Some(Variable {
        space: specifiers.space,
        ty: specifiers.ty,
        size,
        align: align?,
        linkage: declaration.linkage,
        content: content.transpose(),
        place: None,
    })
}

/// A variable in place of one whose declaration has an error that has been reported, so that its
/// uses are not errors as well.
pub fn stand_in(declaration: &Declaration) -> Variable {
    let specifiers = &declaration.specifiers;
    Variable {
        space: specifiers.space,
        ty: specifiers.ty,
        size: 0,
        align: specifiers.ty.bytes().unwrap_or(1),
        linkage: declaration.linkage,
        content: Ok(None),
        place: None,
    }
}

/// The value of a constant expression that is a number of 32 bits.
pub fn constant_u32(expr: &ptxc_syntax::ast::Expr) -> Option<u32> {
    u32::try_from(expr.evaluate().ok()?.integer_bits()?).ok()
}

/// Size and alignment of a parameter in bytes.
pub fn parameter_layout(parameter: &Parameter) -> Option<(u32, u32)> {
    let specifiers = &parameter.specifiers;
    let lanes = specifiers.vector.map_or(1, |vector| vector.lanes());
    let element = specifiers.ty.bytes()? * lanes;
    let size = object_size(element, &initial::dimensions(&parameter.dimensions, None)?, MOST_BYTES)?;
    let size = u32::try_from(size).ok()?;
    let align = match &specifiers.align {
        Some(expr) => constant_u32(expr).filter(|align| align.is_power_of_two())?,
        None => element,
    };
    Some((size, align))
}

/// The offset of a parameter of a size and alignment in the parameter block, given the end of the one
/// before it and the place of the block in its bank; all in bytes. ptxas aligns parameters in the bank,
/// where tensor copies want tensor maps to be aligned.
pub fn parameter_start(end: u32, align: u32, base: u32) -> Option<u32> {
    Some(base.checked_add(end)?.checked_next_multiple_of(align.max(1))? - base)
}

/// The signature of a function.
pub fn signature(function: &Function) -> Signature {
    let list = |parameters: &[Parameter]| parameters.iter().map(Formal::of).collect();
    Signature {
        name: function.name.name.clone(),
        is_entry: function.kind == ptxc_syntax::ast::FunctionKind::Entry,
        returns: list(&function.returns),
        parameters: list(&function.parameters),
    }
}
