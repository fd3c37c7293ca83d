//! A finished kernel: instructions in their final order with control codes.

use std::sync::Arc;

use ptxc_machine::Arch;

use crate::control::Control;
pub use crate::image_kind::ImageKind;
use crate::inst::Inst;
use crate::kept::{Kept, KeptRelocation};
use crate::operand::Label;
use crate::register::PReg;
use crate::symbol::{Addend, CodeRelocation};
use crate::table::Op;
use crate::variable::Variable;

/// An instruction with its control field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coded {
    /// The instruction.
    pub inst: Inst<PReg>,
    /// Its control field.
    pub control: Control,
    /// The node of the function's syntax tree that it came from; `u32::MAX` if there is none.
    pub loc: u32,
}

/// The source line of the code from an instruction on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// The index of the instruction.
    pub inst: u32,
    /// The index of the file in [`Program::files`].
    pub file: u32,
    /// The line, from 1.
    pub line: u32,
}

/// A word of code that is not a known instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownWord {
    /// Its index among the instructions.
    pub inst: u32,
    /// Its bits.
    pub word: u128,
}

impl UnknownWord {
    /// The `NOP` that stands for it. If its control field is illegal, that of the `NOP` is plain.
    pub fn stand_in(self) -> Coded {
        let control = Control::of_word((self.word >> 64) as u64).unwrap_or_default();
        // Reuse flags refer to operands, which are not known.
        let control = Control { reuse: 0, ..control };
        Coded { inst: Inst::new(Op::NOP), control, loc: u32::MAX }
    }
}

/// A function in a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramFunction {
    /// Its name as a symbol.
    pub name: String,
    /// The index of its first instruction; `None` if its code is not part of the program yet.
    pub start: Option<u32>,
}

/// A kernel parameter as the header comment shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamInfo {
    /// The PTX name.
    pub name: String,
    /// Size in bytes.
    pub size: u32,
    /// Offset from the start of the parameter block, in bytes.
    pub offset: u32,
    /// The kind of a texture, sampler or surface, which has no bytes in the parameter block.
    pub image: Option<ImageKind>,
}

impl ParamInfo {
    /// The offset of a parameter without bytes in the parameter block, in NVIDIA's files.
    pub const NO_PLACE: u32 = 0xffff;
}

/// A number that the driver puts into a word of constant bank 0, after the parameters.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ImageWord {
    /// The place of the word in bytes from the start of the parameter block.
    pub offset: u32,
    /// The kind of the number.
    pub kind: ImageKind,
    /// The name of the texture, sampler or surface.
    pub name: String,
}

/// A jump table: in constant bank 2, for each target of an indexed branch, in order, the byte
/// offset of the target from the kernel's first instruction, as a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JumpTable {
    /// Its place in the bank, in bytes.
    pub offset: u32,
    /// The index of the branch that uses it.
    pub branch: u32,
}

/// Numbers that a kernel's instructions read from constant bank 2, besides its jump tables.
/// NVIDIA's compiler emits them up to sm_89.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Literals {
    /// The place of the first one in the bank, in bytes.
    pub offset: u32,
    /// The words.
    pub words: Vec<u32>,
}

/// The constant bank of the jump tables and literals.
pub const JUMP_TABLE_BANK: u8 = 2;
/// The greatest size of a constant bank, in bytes.
pub const CONSTANT_BANK_BYTES: u32 = 1 << 16;

/// Registers that a launch allocates in addition to those that the code names.
pub const EXTRA_REGISTERS: u32 = 2;

/// The resources that a kernel needs from the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// General registers per thread: the highest one named plus one.
    pub registers: u32,
    /// Uniform registers per warp.
    pub uniform_registers: u32,
    /// Static shared memory of the kernel, in bytes, without the system's part.
    pub shared_bytes: u32,
    /// 1 if the kernel also has shared memory whose size the launch sets; else 0.
    pub dynamic_shared: u32,
    /// Local memory per thread, in bytes.
    pub local_bytes: u32,
    /// 1 if the thread may need more local memory than that, because functions call themselves or
    /// are called through addresses, and only the launch can know how much; else 0.
    pub open_stack: u32,
    /// CTA barriers; 16 if a barrier's name is not known.
    pub barriers: u32,
    /// Spilled registers: values stored to local memory for want of registers.
    pub spills: u32,
    /// CTAs in a cluster along x, as the kernel demands; 0 if it demands no clusters.
    pub cluster_x: u32,
    /// The same along y.
    pub cluster_y: u32,
    /// The same along z.
    pub cluster_z: u32,
    /// 1 if a launch must name the size of clusters, else 0.
    pub explicit_cluster: u32,
    /// Threads of a CTA along x, as the kernel demands; 0 if it demands no size.
    pub threads_x: u32,
    /// The same along y.
    pub threads_y: u32,
    /// The same along z.
    pub threads_z: u32,
    /// The most threads of a CTA along x; 0 if the kernel sets no limit. Only the product of the
    /// three limits counts.
    pub max_threads_x: u32,
    /// The same along y.
    pub max_threads_y: u32,
    /// The same along z.
    pub max_threads_z: u32,
    /// The most registers of a thread that the kernel's directives allow; 0 if they set no limit.
    pub max_registers: u32,
    /// The registers of a thread at the launch, if warps change their number as they run; else 0.
    pub launch_registers: u32,
}

impl Resources {
    /// The names of the fields in the text of a program, in its order.
    pub const NAMES: [&'static str; 20] = [
        "registers",
        "uniform",
        "shared",
        "dynamic-shared",
        "local",
        "open-stack",
        "barriers",
        "spills",
        "cluster-x",
        "cluster-y",
        "cluster-z",
        "explicit-cluster",
        "threads-x",
        "threads-y",
        "threads-z",
        "max-threads-x",
        "max-threads-y",
        "max-threads-z",
        "max-registers",
        "launch-registers",
    ];

    /// The size of a cluster in CTAs that the kernel demands.
    pub fn cluster(&self) -> Option<[u32; 3]> {
        (self.cluster_x != 0).then_some([self.cluster_x, self.cluster_y, self.cluster_z])
    }

    /// The size of a CTA in threads that the kernel demands.
    pub fn threads(&self) -> Option<[u32; 3]> {
        (self.threads_x != 0).then_some([self.threads_x, self.threads_y, self.threads_z])
    }

    /// The most threads of a CTA that the kernel allows.
    pub fn max_threads(&self) -> Option<[u32; 3]> {
        (self.max_threads_x != 0).then_some([self.max_threads_x, self.max_threads_y, self.max_threads_z])
    }

    /// The registers that a launch on the architecture allocates per thread: those that the kernel states,
    /// or two more than the code
    /// names, unless the kernel's directives or the largest CTA that it allows leave no room for
    /// them.
    pub fn launch_registers(&self, arch: Arch) -> u32 {
        if self.launch_registers != 0 {
            return self.launch_registers;
        }
        let most = u32::from(arch.facts().registers.general);
        let limits = &arch.facts().limits;
        let by_directive = (self.max_registers != 0).then_some(self.max_registers);
        let by_threads = self.threads().or(self.max_threads()).map(|shape| {
            let threads = shape.iter().map(|&side| u64::from(side.max(1))).fold(1, u64::saturating_mul);
            let warps = threads.div_ceil(32);
            let unit = u64::from(limits.register_unit);
            (u64::from(limits.registers_a_lane) / warps / unit * unit).min(u64::from(most)) as u32
        });
        let limit = by_directive.into_iter().chain(by_threads).min().unwrap_or(most);
        self.registers.saturating_add(EXTRA_REGISTERS).min(limit).max(self.registers)
    }

    /// The field of a name in the text of a program.
    pub fn by_name(&mut self, name: &str) -> Option<&mut u32> {
        let fields = [
            &mut self.registers,
            &mut self.uniform_registers,
            &mut self.shared_bytes,
            &mut self.dynamic_shared,
            &mut self.local_bytes,
            &mut self.open_stack,
            &mut self.barriers,
            &mut self.spills,
            &mut self.cluster_x,
            &mut self.cluster_y,
            &mut self.cluster_z,
            &mut self.explicit_cluster,
            &mut self.threads_x,
            &mut self.threads_y,
            &mut self.threads_z,
            &mut self.max_threads_x,
            &mut self.max_threads_y,
            &mut self.max_threads_z,
            &mut self.max_registers,
            &mut self.launch_registers,
        ];
        Self::NAMES.iter().zip(fields).find(|(known, _)| **known == name).map(|(_, field)| field)
    }
}

/// A finished kernel, followed by the code of the functions that it calls; or the code of one
/// function, not linked yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The kernel's name.
    pub name: String,
    /// The architecture.
    pub arch: Arch,
    /// Whether it runs on exactly that architecture only: `sm_90a`.
    pub accelerated: bool,
    /// Whether it runs in trap mode, as the trap handler does, and not as a user's kernel.
    pub trap_handler: bool,
    /// Whether it is a device function in a section of its own, which cannot be launched.
    pub device_function: bool,
    /// The instructions; instruction `i` is at byte `16 * i`.
    pub insts: Vec<Coded>,
    /// For each [`Label`], the index of its instruction; one past the last is allowed.
    pub labels: Vec<u32>,
    /// The functions that its code names; the first is its own.
    pub functions: Vec<ProgramFunction>,
    /// How often each instruction runs for one run of the kernel's entry, in units of 1/1024.
    pub frequency: Vec<u64>,
    /// The resources that it needs.
    pub resources: Resources,
    /// Its parameters.
    pub params: Vec<ParamInfo>,
    /// The words with numbers of textures, samplers and surfaces.
    pub image_words: Vec<ImageWord>,
    /// The variables of the module that it names, and those that they point to.
    pub variables: Vec<Variable>,
    /// Its jump tables, in the order of their places.
    pub tables: Vec<JumpTable>,
    /// Its literals in constant bank 2, in the order of their places.
    pub literals: Vec<Literals>,
    /// The operands that a loader fills in, at most one per instruction, in the order of the
    /// instructions.
    pub relocations: Vec<CodeRelocation>,
    /// Relocations of the code that no operand shows, by ascending offset in bytes.
    pub kept_relocations: Vec<KeptRelocation>,
    /// The words that are not known instructions, by ascending index. A `NOP` with their control
    /// field stands for each of them in `insts`.
    pub unknown: Vec<UnknownWord>,
    /// The source lines of its instructions, by ascending index, if it was read from a file that has
    /// them. A line holds for all instructions up to the next one.
    pub lines: Vec<SourceLine>,
    /// The source files that lines name.
    pub files: Vec<String>,
    /// The parts of its file that are kept as they are; all programs of a file share them.
    pub kept: Arc<Kept>,
}

impl Program {
    /// The word at an index, if it is not a known instruction.
    pub fn unknown_word(&self, index: u32) -> Option<u128> {
        let place = self.unknown.binary_search_by_key(&index, |unknown| unknown.inst).ok()?;
        Some(self.unknown[place].word)
    }

    /// The frequency of code that runs once for each entry of the kernel.
    pub const ONCE: u64 = 1024;

    /// The words of a jump table: byte offsets of instructions. A target without instruction is
    /// offset 0.
    pub fn table_words(&self, table: JumpTable) -> impl Iterator<Item = u32> + '_ {
        let branch = self.insts.get(table.branch as usize);
        let labels = branch.into_iter().flat_map(|coded| coded.inst.labels());
        labels.map(|label| self.labels.get(label.0 as usize).map_or(0, |index| index * Self::INST_BYTES))
    }

    /// The content of constant bank [`JUMP_TABLE_BANK`].
    pub fn table_bank(&self) -> Vec<u8> {
        let mut bank = Vec::new();
        let mut put = |offset: u32, words: &mut dyn Iterator<Item = u32>| {
            for (index, word) in words.enumerate() {
                let start = offset as usize + 4 * index;
                bank.resize(bank.len().max(start + 4), 0);
                bank[start..start + 4].copy_from_slice(&word.to_le_bytes());
            }
        };
        for Literals { offset, words } in &self.literals {
            put(*offset, &mut words.iter().copied());
        }
        for &table in &self.tables {
            put(table.offset, &mut self.table_words(table));
        }
        bank
    }

    /// The size of an instruction, in bytes.
    pub const INST_BYTES: u32 = 16;
}

impl Program {
    /// Drops labels that no instruction names and numbers the rest in the order of their places.
    /// Labels of one place become one label.
    pub fn number_labels(&mut self) {
        let names = |coded: &Coded| coded.inst.labels().next().is_some();
        // Few instructions name labels, and finding these takes as long as reading all instructions
        // once.
        let naming: Vec<usize> = (0..self.insts.len()).filter(|&index| names(&self.insts[index])).collect();
        let labels = naming.iter().flat_map(|&index| self.insts[index].inst.labels());
        let added = self.relocations.iter().filter_map(|one| match one.symbol.addend {
            Addend::Label(label) => Some(label),
            Addend::Bytes(_) => None,
        });
        let mut places: Vec<u32> = labels.chain(added).map(|label| label.0).collect();
        for place in &mut places {
            *place = self.labels[*place as usize];
        }
        places.sort_unstable();
        places.dedup();
        let renumber = |label: &mut Label| {
            let place = self.labels[label.0 as usize];
            label.0 = places.partition_point(|&other| other < place) as u32;
        };
        for index in naming {
            self.insts[index].inst.labels_mut().for_each(renumber);
        }
        for relocation in &mut self.relocations {
            if let Addend::Label(label) = &mut relocation.symbol.addend {
                renumber(label);
            }
        }
        self.labels = places;
    }
}
