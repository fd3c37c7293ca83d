//! What the outside knows of a function: how it is launched or called, with what, and by which lanes.

use crate::memory::Space;
use crate::types::Type;

/// Whether a function is launched or called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    /// A kernel (`.entry`).
    Entry,
    /// A device function (`.func`).
    Device,
}

/// A kernel parameter in the parameter block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Param {
    /// Its PTX name.
    pub name: String,
    /// Size in bytes.
    pub size: u32,
    /// Offset in the parameter block, in bytes.
    pub offset: u32,
    /// The kind of a texture, sampler or surface. It has no bytes in the parameter block; its symbol has
    /// the same name.
    pub image: Option<Space>,
}

/// The kind of a callee.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CalleeKind {
    /// A routine of the compiler's own, which touches no memory and nothing convergent: a pure function.
    Routine,
    /// A device function of the program.
    Device,
    /// Not a function, but the prototype of calls through an address, with the layouts of the
    /// parameters and results.
    Prototype(Box<Layouts>),
    /// A function of another module or of the driver, with the calling convention of the platform.
    External(Box<External>),
}

/// The facts about a function that is not part of the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct External {
    /// The place of its address in constant bank 4, in bytes, where the loader writes it; `None` if
    /// a linker puts the address into the code.
    pub address: Option<u32>,
    /// Its parameters and results.
    pub layouts: Layouts,
}

/// Parameters and results as they are declared. The calling convention of the platform places these,
/// and not the values that a call passes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Layouts {
    /// The parameters.
    pub params: Vec<Layout>,
    /// The results.
    pub results: Vec<Layout>,
}

/// Size and alignment of a parameter or result, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Its size; 0 for an array of any size, the last parameter. Its value is its address in local
    /// memory; a call by the convention of the platform also passes its size in bytes. A large
    /// parameter is an address, too, and so is a large result: the addresses of such results are the
    /// first parameters.
    pub bytes: u32,
    /// Its alignment.
    pub align: u32,
}

impl Layout {
    /// The most bytes of a parameter or result that is values.
    const MOST_IN_VALUES: u32 = 1 << 12;

    /// Whether it is in local memory of the caller, and its value is its address there.
    pub fn is_large(self) -> bool {
        self.bytes > Self::MOST_IN_VALUES
    }

    /// Whether it is an array of any size.
    pub fn is_open(self) -> bool {
        self.bytes == 0
    }
}

/// A function that is called: the facts that a caller knows about it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Callee {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: CalleeKind,
    /// The types of its parameters.
    pub params: Vec<Type>,
    /// The types of its results.
    pub results: Vec<Type>,
    /// The guarantees about the lanes of a warp that call it.
    pub lanes: CalleeLanes,
    /// The parameters and results that are on the stack.
    pub stack: CalleeStack,
}

impl Callee {
    /// The types of the arguments of a call.
    pub fn arguments(&self) -> impl Iterator<Item = Type> + '_ {
        self.params.iter().copied().chain(self.stack.moves.then_some(Type::B32))
    }
}

/// The stack at a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CalleeStack {
    /// The bytes of parameters and results that begin at the stack pointer.
    pub bytes: u32,
    /// Whether the last argument of a call, a `b32` that is no parameter, is the stack pointer of the
    /// callee, a multiple of 16. The 16 bytes above [`bytes`](Self::bytes) are free at the call. Otherwise
    /// the stack pointer is that of the caller.
    pub moves: bool,
}

/// The guarantees about lanes that call a function together. By default there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CalleeLanes {
    /// Lanes that call the function together return together, except those that exit.
    pub together: bool,
    /// No lane in the function waits for lanes that did not call it together with that lane.
    pub independent: bool,
    /// Neither the function nor a callee of it is outside of the module.
    pub inside: bool,
}

impl CalleeLanes {
    /// The guarantees of a function that only computes its results.
    pub const PURE: CalleeLanes = CalleeLanes { together: true, independent: true, inside: true };
}

/// Launch bounds from the kernel's directives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LaunchBounds {
    /// `.reqntid`: exact CTA size.
    pub required_threads: Option<[u32; 3]>,
    /// `.maxntid`: greatest CTA size.
    pub max_threads: Option<[u32; 3]>,
    /// `.maxnreg`: greatest number of registers a thread.
    pub max_registers: Option<u32>,
    /// `.minnctapersm`: CTAs that an SM should hold.
    pub min_ctas: Option<u32>,
    /// `.reqnctapercluster`: exact cluster size.
    pub cluster: Option<[u32; 3]>,
    /// `.explicitcluster`: a launch names the cluster size.
    pub explicit_cluster: bool,
}
