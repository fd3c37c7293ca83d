//! The contents of a cubin, independent of their form in ELF.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ptxc_machine::Arch;
pub use ptxc_sass::kept::Binding;
use ptxc_sass::kept::{Attribute, AttributeValue, DebugSection, KeptSymbol, Mark};
use ptxc_sass::program::{ImageKind, Resources};
use ptxc_sass::variable::Section;
use rustc_hash::FxHashSet;

use super::attribute as eiattr;
use super::error::CubinError;
use super::relocation::{Relocation, RelocationKind};

/// The layout of a file's header and attributes: NVIDIA's tools changed both with CUDA 13.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Abi {
    /// The layout of the tools of CUDA 11 and 12.
    V7,
    /// The layout of CUDA 13, and the only one in which its disassembler reads the control flow.
    #[default]
    V8,
}

/// The prototypes that a linker knows of a function, as texts: `#`, the result, the parameters, each as a letter for
/// its type, and the number of elements of an array. The letters are `v` (no result), `b`, `h`, `i`, `l` and `x` (1, 2,
/// 4, 8 and 16 bytes), `f` and `d` (floating-point numbers).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prototype {
    /// Its own.
    pub own: String,
    /// Those of its indirect calls.
    pub indirect: Vec<String>,
}

/// A shared or constant variable that an object does not define.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutsideVariable {
    /// The memory that it is in.
    pub section: Section,
    /// Its alignment in bytes.
    pub align: u32,
    /// Its size in bytes. That of a shared variable is open if it is 0: it is the dynamic shared
    /// memory of a launch.
    pub size: u64,
}

impl OutsideVariable {
    /// Whether it is the dynamic shared memory of a launch.
    pub fn is_dynamic(&self) -> bool {
        self.section == Section::Shared && self.size == 0
    }
}

/// A module: its kernels, and the variables that they share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cubin {
    /// The architecture.
    pub arch: Arch,
    /// Whether it runs only on that very architecture (`sm_90a`).
    pub accelerated: bool,
    /// The layout of the file.
    pub abi: Abi,
    /// Its kernels, and device functions with their own sections, in the order of the file.
    pub functions: Vec<Function>,
    /// Its variables in constant bank 3 and in global memory, by section and offset.
    pub variables: Vec<GlobalVariable>,
    /// Its textures, samplers and surfaces.
    pub images: Vec<Image>,
    /// Bytes of constant bank 4, which holds addresses.
    pub address_bytes: u64,
    /// The addresses that the loader writes into constant bank 4, by ascending offset.
    pub addresses: Vec<Relocation>,
    /// The source files that lines name.
    pub files: Vec<String>,
    /// The debug sections that are kept as they are. The line table is among them if it has more
    /// than the files and lines here.
    pub debug: Arc<Vec<DebugSection>>,
    /// Whether it is an object for a linker.
    pub relocatable: bool,
    /// The functions of other files that it may name.
    pub outside: BTreeSet<String>,
    /// The prototypes of an object's device functions, and of those that it declares.
    pub prototypes: BTreeMap<String, Prototype>,
    /// The shared and constant variables of other files, and shared ones of open size, that an
    /// object may name.
    pub outside_variables: BTreeMap<String, OutsideVariable>,
    /// Attributes of the whole file that are kept as they are.
    pub attributes: Vec<Attribute>,
    /// Symbols of variables in shared memory, which only debug information names.
    pub symbols: Vec<KeptSymbol>,
    /// Attributes about the architectures that can run it, which are kept as they are.
    pub compatibility: Vec<Attribute>,
}

impl Cubin {
    /// A kernel or device function by its name.
    ///
    /// # Errors
    /// The cubin has no such function.
    pub fn function(&self, name: &str) -> Result<&Function, CubinError> {
        let found = self.functions.iter().find(|function| function.name == name);
        found.ok_or_else(|| CubinError::Missing(name.to_string()))
    }

    /// Checks that no two functions have the same name, because the names of sections contain it.
    pub(super) fn check_names(&self) -> Result<(), CubinError> {
        let mut names = FxHashSet::default();
        match self.functions.iter().find(|function| !names.insert(&*function.name)) {
            Some(twice) => Err(CubinError::malformed(format!("the code of `{}` occurs twice", twice.name))),
            None => Ok(()),
        }
    }
}

/// A kernel, or a device function with its own section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Whether it can be launched.
    pub is_kernel: bool,
    /// Its instructions, 16 bytes each, followed by those of the functions in `parts`.
    pub code: Vec<u8>,
    /// The functions after its own code, by ascending offset.
    pub parts: Vec<Part>,
    /// Its parameters, in order.
    pub params: Vec<Param>,
    /// General registers per thread that a launch reserves.
    pub registers: u32,
    /// The greatest number of registers that it was compiled for.
    pub max_registers: u32,
    /// CTA barriers.
    pub barriers: u32,
    /// Bytes of static shared memory, without the bytes that the system reserves; `None` if it has
    /// no section for it.
    pub shared_bytes: Option<u64>,
    /// The alignment of its shared memory, in bytes; 0 for the usual one.
    pub shared_align: u64,
    /// Bytes of its own stack frame.
    pub frame_bytes: u32,
    /// Bytes of stack that it needs with all functions that it calls, as far as they are known.
    pub stack_bytes: u32,
    /// The stack of call returns: `None` if it calls nothing, all ones if the depth of calls is
    /// unknown.
    pub call_stack: Option<u32>,
    /// Its requirements for a launch.
    pub launch: Launch,
    /// Its constant banks, by ascending number. Bank 0 ends with the parameters.
    pub banks: Vec<Bank>,
    /// Byte offsets of its `EXIT`s.
    pub exits: Vec<u32>,
    /// The kinds of sparse matrix products in its code, as a mask; 0 where files do not say it. Bit
    /// 4 is `HMMA.SP`, bit 5 `IMMA.SP`. Source: ptxas.
    pub sparse_products: u16,
    /// Branches that use a table.
    pub branches: Vec<IndirectBranch>,
    /// The addresses that the loader writes into its instructions.
    pub relocations: Vec<Relocation>,
    /// Source lines of its instructions, by ascending offset.
    pub lines: Vec<Line>,
    /// How other files see it.
    pub binding: Binding,
    /// Attributes that are kept as they are.
    pub attributes: Vec<Attribute>,
    /// Entries of attributes that list places in the code.
    pub marks: Vec<Mark>,
}

impl Function {
    /// The functions that it calls and that are not part of its code, each once: those whose addresses
    /// a linker or loader puts into calls, and those of the driver that it calls through constant bank 4.
    pub fn calls(&self, arch: Arch) -> Vec<&str> {
        let call = arch.facts().cubin.as_ref().map(|facts| RelocationKind(facts.call_loaded));
        let mut names: Vec<&str> = Vec::new();
        let in_code = self.relocations.iter().filter(|one| Some(one.kind) == call);
        let externs = self.attributes.iter().filter(|one| one.code == eiattr::EXTERNS);
        let externs = externs.flat_map(|one| match &one.value {
            AttributeValue::Symbols(names) => &names[..],
            _ => &[],
        });
        let mut seen = FxHashSet::default();
        let all = in_code.map(|one| one.target.as_str()).chain(externs.map(String::as_str));
        names.extend(all.filter(|name| seen.insert(*name)));
        names
    }

    /// A constant bank by its number.
    pub fn bank(&self, number: u8) -> Option<&Bank> {
        self.banks.iter().find(|bank| bank.number == number)
    }
}

/// A kernel's requirements for a launch; false and `None` if it has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// The exact shape of a CTA, in threads.
    pub threads: Option<[u32; 3]>,
    /// The greatest shape of a CTA, in threads.
    pub max_threads: Option<[u32; 3]>,
    /// The shape of a cluster, in CTAs.
    pub cluster: Option<[u32; 3]>,
    /// Whether a launch must name the shape of a cluster.
    pub explicit_cluster: bool,
    /// The greatest number of CTAs in a cluster.
    pub max_cluster_rank: Option<u32>,
}

impl Launch {
    /// The requirements in `resources`.
    pub fn of(resources: &Resources) -> Launch {
        Launch {
            threads: resources.threads(),
            max_threads: resources.max_threads(),
            cluster: resources.cluster(),
            explicit_cluster: resources.explicit_cluster != 0,
            max_cluster_rank: None,
        }
    }

    /// Writes the requirements to `resources`, which do not hold the greatest number of CTAs in a
    /// cluster.
    pub fn to(&self, resources: &mut Resources) {
        let [x, y, z] = self.threads.unwrap_or_default();
        (resources.threads_x, resources.threads_y, resources.threads_z) = (x, y, z);
        let [x, y, z] = self.max_threads.unwrap_or_default();
        (resources.max_threads_x, resources.max_threads_y, resources.max_threads_z) = (x, y, z);
        let [x, y, z] = self.cluster.unwrap_or_default();
        (resources.cluster_x, resources.cluster_y, resources.cluster_z) = (x, y, z);
        resources.explicit_cluster = u32::from(self.explicit_cluster);
    }
}

/// A function after a kernel's own code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// The start of its code, in bytes from the start of the kernel.
    pub offset: u32,
    /// Bytes of its code.
    pub size: u32,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// The kind and name of a texture, sampler or surface, which has no bytes in the parameter block.
    pub image: Option<(ImageKind, String)>,
    /// Offset in the parameter block, in bytes.
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
}

impl Param {
    /// The end of the last parameter in the parameter block, in bytes.
    pub fn end(params: &[Param]) -> u32 {
        let placed = params.iter().filter(|param| param.image.is_none());
        placed.map(|param| param.offset.saturating_add(param.size)).max().unwrap_or(0)
    }
}

/// A texture, sampler or surface of the module, which the driver knows by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: ImageKind,
}

/// A constant bank of one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bank {
    /// Its number.
    pub number: u8,
    /// Its content before a launch.
    pub bytes: Vec<u8>,
    /// The addresses that the loader writes into it.
    pub relocations: Vec<Relocation>,
}

/// A branch that uses a table, and all its possible targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndirectBranch {
    /// Its byte offset.
    pub offset: u32,
    /// The byte offsets of its targets, in the order of the table.
    pub targets: Vec<u32>,
}

/// The source line of the code from an instruction on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Line {
    /// The byte offset of the instruction.
    pub offset: u32,
    /// The index of the file.
    pub file: u32,
    /// The line, from 1.
    pub line: u32,
}

/// A variable of the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlobalVariable {
    /// Constant bank 3 or global memory.
    pub section: Section,
    /// Whether the file has its content; a variable without content is zero.
    pub has_content: bool,
    /// Its offset among the variables of the section with or without content, in bytes.
    pub offset: u64,
    /// Its name.
    pub name: String,
    /// How other files see it.
    pub binding: Binding,
    /// Its size in bytes.
    pub size: u64,
    /// Its alignment, as far as the file shows it.
    pub align: u64,
    /// Its content: as many bytes as its size, or none.
    pub bytes: Vec<u8>,
    /// Addresses that the loader writes into it.
    pub relocations: Vec<Relocation>,
}
