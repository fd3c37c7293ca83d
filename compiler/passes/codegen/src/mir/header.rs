//! The facts about a function that are the same for machine IR and for laid-out code.

use ptxc_ir::{FunctionKind, LaunchBounds, Param};
use ptxc_machine::Arch;
use ptxc_sass::program::ImageWord;
use ptxc_sass::variable::Variable;

/// Name, architecture, and the resources and names that the function uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The function's name.
    pub name: String,
    /// Whether it is launched or called. A called function begins with a `NOP` whose call site has
    /// the parameters as results, in the places where the caller left them.
    pub kind: FunctionKind,
    /// The architecture that its instructions are for.
    pub arch: Arch,
    /// The functions that the code names, as symbols; the first is the function's own. Names of
    /// [numbers](is_number) are among them.
    pub functions: Vec<String>,
    /// The functions whose addresses a linker puts into the code.
    pub pointed_to: Vec<String>,
    /// Its parameters.
    pub params: Vec<Param>,
    /// The words with numbers of textures, samplers and surfaces.
    pub image_words: Vec<ImageWord>,
    /// The variables of the module that it names, and the variables that these point to.
    pub variables: Vec<Variable>,
    /// Static shared memory in bytes, without the bytes that the system keeps.
    pub shared_bytes: u32,
    /// Whether it also has shared memory whose size the launch sets.
    pub dynamic_shared: bool,
    /// Local memory in bytes; before allocation without spills.
    pub local_bytes: u32,
    /// Bytes at the lower end of its part of local memory for functions that it calls.
    pub outgoing_bytes: u32,
    /// Whether it takes local memory below its part as it runs.
    pub open_stack: bool,
    /// The kernel's demands on a launch.
    pub bounds: LaunchBounds,
    /// The number of CTA barriers; 16 if a barrier's number is not known.
    pub barriers: u32,
    /// The size of the jump tables in their constant bank, in bytes.
    pub table_bytes: u32,
    /// Words that the allocator stores to local memory.
    pub spills: u32,
    /// The registers that a thread has when the kernel is launched, if their number changes; else 0. Set
    /// by the allocator.
    pub launch_registers: u32,
    /// Whether lanes that call the function together return together.
    pub returns_together: bool,
    /// Whether a function outside of the module may run while it does.
    pub leaves_module: bool,
    /// Whether it is a device function of the platform's calling convention.
    pub platform: bool,
    /// The greatest alignment of its variables in local memory, in bytes, if it has that convention; else
    /// 0. Callers promise less than others.
    pub stack_align: u32,
    /// Whether a linker completes its code: all functions that it calls except for routines have the
    /// platform's convention.
    pub relocatable: bool,
}

impl Header {
    /// The header of a kernel that needs nothing.
    pub fn new(name: impl Into<String>, arch: Arch) -> Header {
        let name = name.into();
        Header {
            kind: FunctionKind::Entry,
            arch,
            functions: vec![name.clone()],
            name,
            pointed_to: Vec::new(),
            params: Vec::new(),
            image_words: Vec::new(),
            variables: Vec::new(),
            shared_bytes: 0,
            dynamic_shared: false,
            local_bytes: 0,
            outgoing_bytes: 0,
            open_stack: false,
            bounds: LaunchBounds::default(),
            barriers: 0,
            table_bytes: 0,
            spills: 0,
            launch_registers: 0,
            returns_together: false,
            leaves_module: false,
            platform: false,
            stack_align: 0,
            relocatable: false,
        }
    }

    /// The functions that the code names, except for its own.
    pub fn callees(&self) -> impl DoubleEndedIterator<Item = &String> {
        self.functions.iter().skip(1).filter(|name| !is_number(name))
    }
}

/// The constant bank that stands for bank 0 in operands whose place a linker decides. The offset is
/// [`LINKED_STRIDE`] times the number of a name among [`Header::functions`].
pub const LINKED_BANK: u8 = 31;

/// The distance of such offsets, which is too long for neighbours to be read together.
pub const LINKED_STRIDE: u32 = 8;

/// Whether a name stands for a number that only the driver knows: no function's name begins with a
/// dot.
pub fn is_number(name: &str) -> bool {
    name.starts_with('.')
}
