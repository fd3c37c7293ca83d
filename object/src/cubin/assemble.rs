//! Assembles programs to the contents of a cubin.
//!
//! In: the finished kernels of one module. Out: a [`Cubin`] with their code as bits, their
//! requirements for a launch, and the variables that they name.
//!
//! - **Code**: a kernel's own code, followed by the functions that it calls. Calls and returns name
//!   offsets of the section. A branch to itself and `NOP`s follow, up to the next multiple of 128
//!   bytes, which is a line of the instruction cache, as in NVIDIA's code.
//! - **Registers**: NVIDIA's compiler announces two registers more than the code names. So does
//!   this assembler, as far as the launch bounds leave room for them.
//! - **Variables**: a constant variable is at its place in constant bank 3. The loader writes the
//!   address of a global variable to its place in bank 4, and fills in the addresses that variables
//!   hold. The address of a function is relative to the kernel that calls it, so it needs no
//!   loader, but all kernels must have the function at the same place.
//!
//! Linear in the code, except for sorting the variables.

mod code;
mod images;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ptxc_machine::Arch;
use ptxc_sass::kept::{Attribute, AttributeValue, Kept, Mark};
use ptxc_sass::program::{JUMP_TABLE_BANK, Program};
use ptxc_sass::symbol::Addend;
use ptxc_sass::table::{Op, Transfer};
use ptxc_sass::variable::{MOST_BYTES, Pointer, Section, Variable, union};
use rustc_hash::{FxHashMap, FxHashSet};

use super::attribute as eiattr;
use super::contents::{
    Abi, Bank, Binding, Cubin, Function, GlobalVariable, Image, IndirectBranch, Launch, Line,
    OutsideVariable, Part, Prototype,
};
use super::error::CubinError;
use super::read::LINE_TABLE;
use super::relocation::{Relocation, RelocationKind};
use super::text::has_address;
use super::write::SHARED_ALIGN;
use super::{frame, line};
pub use code::encode;
use code::{pad, within_bank};
pub use images::sampler_attributes;

/// The most bytes of variables with content, which the file holds.
const MOST_CONTENT: u64 = 1 << 30;

/// The most bytes between two variables with content, besides those that an alignment needs.
const MOST_GAP: u64 = 1 << 12;

/// A kernel that is put into a cubin.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    /// The kernel with the functions that it calls.
    pub program: &'a Program,
    /// The source lines of its instructions, by ascending offset; empty for a file without lines.
    pub lines: Vec<Line>,
}

/// The facts about a module other than its kernels.
#[derive(Clone, Debug)]
pub struct Module {
    /// The architecture of all kernels.
    pub arch: Arch,
    /// The layout of the file.
    pub abi: Abi,
    /// The names of the source files; lines refer to them by index.
    pub files: Vec<String>,
    /// Variables that no kernel names, because the host may ask for them. Those in global memory
    /// have no address in bank 4.
    pub variables: Vec<Variable>,
    /// The variables whose names other files do not see, or see as weak; all others are global.
    pub bindings: BTreeMap<String, Binding>,
    /// The parts of another file that are kept as they are. If there are none, those of the kernels
    /// are taken.
    pub kept: Arc<Kept>,
    /// Whether the file is for this very architecture only, whatever the kernels say.
    pub accelerated: bool,
    /// Whether the file is an object for a linker.
    pub relocatable: bool,
    /// The functions of other files that an object may name.
    pub outside: BTreeSet<String>,
    /// The prototypes of an object's device functions, and of those that it declares.
    pub prototypes: BTreeMap<String, Prototype>,
    /// The shared and constant variables of other files, and shared ones of open size, that an
    /// object may name.
    pub outside_variables: BTreeMap<String, OutsideVariable>,
    /// Whether samplers have handles of their own (`texmode_independent`).
    pub has_samplers: bool,
    /// Its textures, samplers and surfaces, whether kernels name them or not.
    pub images: Vec<Image>,
    /// Attributes of the file about them.
    pub attributes: Vec<Attribute>,
}

impl Module {
    /// A module of kernels, without source files and with only those variables that the kernels
    /// name.
    pub fn of(arch: Arch, abi: Abi) -> Module {
        Module {
            arch,
            abi,
            files: Vec::new(),
            variables: Vec::new(),
            bindings: BTreeMap::new(),
            kept: Arc::default(),
            accelerated: false,
            relocatable: false,
            outside: BTreeSet::new(),
            prototypes: BTreeMap::new(),
            outside_variables: BTreeMap::new(),
            has_samplers: false,
            images: Vec::new(),
            attributes: Vec::new(),
        }
    }
}

/// Assembles kernels.
///
/// # Errors
/// An instruction without encoding, and an address that a cubin cannot hold: that of a function
/// which kernels have at different places, that of a name which is not in the module, or a part of
/// an address that no relocation writes.
pub fn assemble(sources: &[Source<'_>], module: Module) -> Result<Cubin, CubinError> {
    // Programs of one text share what it keeps.
    let of_text = sources.first().map(|source| &source.program.kept);
    let kept = of_text.filter(|_| *module.kept == Kept::default()).unwrap_or(&module.kept).clone();
    let kept = &*kept;
    let mut functions = Vec::new();
    for source in sources {
        let mut function = kernel(source, module.abi, Some(kept))?;
        if let Some(&binding) = module.bindings.get(&function.name).filter(|_| module.relocatable) {
            function.binding = binding;
        }
        functions.push(function);
    }
    if module.relocatable {
        name_externs(&mut functions, module.arch);
    }
    let mut named = union(sources.iter().map(|source| &source.program.variables[..]));
    named.retain(|variable| has_address(variable, kept));
    let others = union([&module.variables[..]]);
    let all: Vec<(&Variable, bool)> = named
        .into_iter()
        .map(|variable| (variable, true))
        .chain(others.into_iter().map(|variable| (variable, false)))
        .collect();
    let places: FxHashMap<&str, &Variable> =
        all.iter().map(|&(variable, _)| (&*variable.name, variable)).collect();
    let image_names: FxHashSet<&str> = module.images.iter().map(|image| image.name.as_str()).collect();
    let mut variables = Vec::new();
    let mut addresses = Vec::new();
    let mut layout = Layout::new(all.iter().map(|(variable, _)| *variable), kept);
    let mut content = 0;
    for (variable, is_named) in all {
        let has_content = has_content(variable, kept);
        let align = u64::from(variable.align.max(1));
        let home = kept.homes.get(&variable.name);
        within_bank(
            "constants and addresses",
            match variable.section {
                Section::Constant => variable.size.saturating_add(variable.place.into()),
                Section::Global if is_named => u64::from(variable.place) + 8,
                Section::Global | Section::Shared => 0,
                Section::External => u64::from(variable.place) + 8,
            },
        )?;
        let offset = match variable.section {
            Section::External => {
                let (at, kind) = (u64::from(variable.place), RelocationKind::ABS_64);
                addresses.push(Relocation { at, kind, target: variable.name.clone(), addend: 0 });
                continue;
            }
            Section::Constant => u64::from(variable.place),
            Section::Shared => 0,
            Section::Global => {
                let offset = layout.place(variable, has_content)?;
                if is_named || home.is_some_and(|home| home.has_address) {
                    let (at, kind) = (u64::from(variable.place), RelocationKind::ABS_64);
                    addresses.push(Relocation { at, kind, target: variable.name.clone(), addend: 0 });
                }
                offset
            }
        };
        let mut bytes = Vec::new();
        if has_content {
            content += variable.size.min(MOST_CONTENT + 1);
            if content > MOST_CONTENT {
                let what = format!("more than {MOST_CONTENT} bytes of variables with content");
                return Err(CubinError::Unsupported(what));
            }
            bytes.clone_from(&variable.bytes);
            bytes.resize(variable.size as usize, 0);
        }
        let mut relocations = Vec::new();
        for pointer in &variable.pointers {
            let form = (home.is_some(), module.relocatable);
            if image_names.contains(pointer.target.as_str()) {
                relocations.push(images::address(pointer)?);
                continue;
            }
            match address(variable, pointer, &places, sources, form, &module.prototypes)? {
                Address::Known(value) => put(&mut bytes, pointer, value),
                Address::OfLoader(relocation) => relocations.push(relocation),
            }
        }
        variables.push(GlobalVariable {
            section: variable.section,
            has_content,
            offset,
            name: variable.name.clone(),
            binding: match module.bindings.get(&variable.name) {
                Some(&binding) => binding,
                // A variable of a function.
                None if variable.section == Section::Shared => Binding::Local,
                None => Binding::default(),
            },
            size: variable.size,
            align,
            bytes,
            relocations,
        });
    }
    addresses.extend(kept.addresses.iter().map(|one| Relocation {
        at: one.at,
        kind: RelocationKind(one.kind),
        target: one.symbol.clone(),
        addend: one.addend,
    }));
    within_bank("addresses", addresses.iter().map(|one| one.at.saturating_add(8)).max().unwrap_or(0))?;
    addresses.sort_unstable();
    variables.sort_by_key(|one| (one.section, !one.has_content, one.offset));
    let address_bytes = addresses.iter().map(|one| one.at + 8).max().unwrap_or(0);
    let accelerated = module.accelerated || sources.iter().any(|source| source.program.accelerated);
    let mut cubin = Cubin {
        arch: module.arch,
        accelerated,
        abi: module.abi,
        functions,
        variables,
        images: images::named(sources, module.images, kept),
        address_bytes,
        addresses,
        files: module.files,
        debug: Arc::default(),
        relocatable: module.relocatable,
        outside: module.outside,
        prototypes: module.prototypes,
        outside_variables: module.outside_variables,
        attributes: kept.attributes.clone(),
        compatibility: kept.compatibility.clone(),
        symbols: kept.symbols.clone(),
    };
    cubin.attributes.extend(module.attributes);
    let code = eiattr::TEXMODE_INDEPENDENT;
    if module.has_samplers && !cubin.attributes.iter().any(|attribute| attribute.code == code) {
        cubin.attributes.push(Attribute { code, value: AttributeValue::None });
    }
    let mut debug = kept.sections.clone();
    debug.retain(|section| match &*section.name {
        LINE_TABLE => line::agrees(section, &cubin),
        frame::NAME => frame::agrees(section, &cubin.functions),
        _ => true,
    });
    cubin.debug = Arc::new(debug);
    Ok(cubin)
}

/// Whether the file has the content of a variable.
fn has_content(variable: &Variable, kept: &Kept) -> bool {
    variable.section == Section::Constant
        || !variable.bytes.is_empty()
        || !variable.pointers.is_empty()
        || kept.homes.get(&variable.name).is_some_and(|home| home.has_content)
}

/// The places of global variables among those with and without content.
struct Layout<'a> {
    /// The places that the variables had in another file, if they still fit.
    homes: FxHashMap<&'a str, u64>,
    /// The ends of the variables with and without content.
    ends: [u64; 2],
}

impl<'a> Layout<'a> {
    fn new(variables: impl Iterator<Item = &'a Variable>, kept: &Kept) -> Layout<'a> {
        let placed =
            variables.filter(|variable| variable.section == Section::Global).filter_map(|variable| {
                let offset = kept.homes.get(&variable.name)?.offset?;
                Some((has_content(variable, kept), offset, variable))
            });
        let mut placed: Vec<_> = placed.collect();
        placed.sort_by_key(|&(content, offset, variable)| (content, offset, variable.size));
        let mut homes = FxHashMap::default();
        let mut ends = [0u64; 2];
        for (content, offset, variable) in placed {
            let end = &mut ends[usize::from(content)];
            let align = u64::from(variable.align.max(1));
            // A variable that has grown in the text, or is aligned otherwise, moves to the end. So
            // does one after a gap that the file would have to hold.
            let gap = offset.checked_sub(*end).filter(|_| offset.is_multiple_of(align));
            if gap.is_some_and(|gap| !content || gap <= align.max(MOST_GAP)) {
                *end = offset.saturating_add(variable.size);
                homes.insert(&*variable.name, offset);
            }
        }
        Layout { homes, ends }
    }

    /// The place of a variable.
    fn place(&mut self, variable: &Variable, has_content: bool) -> Result<u64, CubinError> {
        let end = &mut self.ends[usize::from(has_content)];
        let offset = self.homes.get(&*variable.name).copied();
        let offset = offset.unwrap_or_else(|| end.next_multiple_of(u64::from(variable.align.max(1))));
        *end = (*end).max(offset.saturating_add(variable.size));
        let most = if has_content { MOST_CONTENT } else { MOST_BYTES };
        if *end > most {
            let what = format!("more than {most} bytes of variables");
            return Err(CubinError::Unsupported(what));
        }
        Ok(offset)
    }
}

/// An address in the content of a variable.
enum Address {
    Known(u64),
    OfLoader(Relocation),
}

fn address(
    holder: &Variable,
    pointer: &Pointer,
    places: &FxHashMap<&str, &Variable>,
    sources: &[Source<'_>],
    (is_exact, relocatable): (bool, bool),
    prototypes: &BTreeMap<String, Prototype>,
) -> Result<Address, CubinError> {
    let unsupported = |what: String| Err(CubinError::Unsupported(what));
    let Pointer { target, addend, .. } = pointer;
    let at = u64::from(pointer.at);
    // The loader decides where a function with a section of its own is.
    let is_function = sources.iter().any(|source| source.program.name == *target);
    let is_outside = relocatable && !is_exact && !places.contains_key(target.as_str());
    if is_exact || is_function || is_outside {
        let piece = || format!("a part of the address of `{target}`");
        let in_table = relocatable && prototypes.contains_key(target) && has_function_table(sources);
        let kind = match (pointer.bytes, pointer.shift) {
            (8, 0) if in_table => Some(RelocationKind::UNIFIED_64),
            _ if in_table => None,
            _ => RelocationKind::of_data(pointer.bytes, pointer.shift, pointer.generic),
        };
        let kind = kind.ok_or_else(|| CubinError::Unsupported(piece()))?;
        return Ok(Address::OfLoader(Relocation { at, kind, target: target.clone(), addend: *addend }));
    }
    let Some(variable) = places.get(target.as_str()) else {
        // Each kernel with the variable also has the function, or cannot call it.
        let users = sources.iter().filter(|source| source.program.variables.contains(holder));
        let mut starts: Vec<u32> = users
            .flat_map(|source| &source.program.functions)
            .filter(|function| function.name == *target)
            .filter_map(|function| function.start)
            .collect();
        starts.dedup();
        return match starts[..] {
            [start] => {
                Ok(Address::Known(u64::from(start * Program::INST_BYTES).wrapping_add_signed(*addend)))
            }
            [] => unsupported(format!("the address of `{target}` in `{}`", holder.name)),
            _ => unsupported(format!(
                "the address of the function `{target}`, which kernels have at different places,"
            )),
        };
    };
    if variable.section == Section::Constant && !pointer.generic {
        return Ok(Address::Known(u64::from(variable.place).wrapping_add_signed(*addend)));
    }
    let kind = match (pointer.bytes, pointer.shift) {
        (8, 0) => RelocationKind::GENERIC_64,
        (4, 0) => RelocationKind::GENERIC_32,
        (1, shift) if shift % 8 == 0 && shift < 64 => RelocationKind::generic_byte(shift / 8),
        (bytes, shift) => {
            let piece = format!("{bytes} bytes, {shift} bits up, of the address of `{target}`");
            return unsupported(piece);
        }
    };
    Ok(Address::OfLoader(Relocation { at, kind, target: target.clone(), addend: *addend }))
}

/// Whether the address of a function is its number in a table of the linker: on sm_90.
fn has_function_table(sources: &[Source<'_>]) -> bool {
    let facts = sources.first().and_then(|source| source.program.arch.facts().cubin.as_ref());
    facts.is_some_and(|facts| facts.call_absolute.is_some())
}

/// Writes an address that is already known.
fn put(bytes: &mut [u8], pointer: &Pointer, value: u64) {
    let value = value.checked_shr(u32::from(pointer.shift)).unwrap_or(0);
    let at = bytes.iter_mut().skip(pointer.at as usize).take(usize::from(pointer.bytes));
    at.zip(value.to_le_bytes()).for_each(|(place, byte)| *place = byte);
}

/// The kinds of sparse matrix products in a program, as a mask.
fn sparse_products(program: &Program) -> u16 {
    if !program.arch.facts().cubin.is_some_and(|cubin| cubin.has_sparse_mma_mask) {
        return 0;
    }
    program.insts.iter().fold(0, |mask, coded| {
        mask | match coded.inst.op {
            Op::HMMA_SP => 1 << 4,
            Op::IMMA_SP => 1 << 5,
            _ => 0,
        }
    })
}

/// Assembles one kernel.
pub(super) fn kernel(source: &Source<'_>, abi: Abi, kept: Option<&Kept>) -> Result<Function, CubinError> {
    let program = source.program;
    let needs = &program.resources;
    let mut code = encode(program)?;
    pad(program, &mut code)?;
    let own: Vec<(u32, &str)> = {
        // A callee that is named by its place had no symbol in its file.
        let named = program.functions.iter().skip(1).filter(|one| !one.name.starts_with("$0x"));
        let starts = named.filter_map(|one| Some((one.start?, &*one.name)));
        let mut list: Vec<_> = starts.collect();
        list.sort_unstable();
        list
    };
    let ends = own.iter().skip(1).map(|(start, _)| *start).chain([program.insts.len() as u32]);
    let parts = own.iter().zip(ends).map(|(&(start, name), end)| Part {
        name: name.to_string(),
        offset: start * Program::INST_BYTES,
        size: end.saturating_sub(start) * Program::INST_BYTES,
    });
    let placed = program.params.iter().filter(|param| param.image.is_none());
    let ends = placed.map(|param| param.offset.saturating_add(param.size));
    let end =
        ends.chain(program.image_words.iter().map(|word| word.offset.saturating_add(4))).max().unwrap_or(0);
    within_bank("parameters", end.saturating_add(program.arch.facts().banks.param_base).into())?;
    let table_ends = program.tables.iter().map(|table| table.offset.saturating_add(4));
    within_bank("jump tables", table_ends.max().unwrap_or(0).into())?;
    let ends = program.literals.iter().map(|one| one.offset.saturating_add(4 * one.words.len() as u32));
    within_bank("literals", ends.max().unwrap_or(0).into())?;
    let mut banks = Vec::new();
    if !program.device_function {
        let bytes = vec![0; (program.arch.facts().banks.param_base + end) as usize];
        let relocations = images::words(program);
        banks.push(Bank { number: 0, bytes, relocations });
    }
    let tables = program.table_bank();
    if !tables.is_empty() {
        banks.push(Bank { number: JUMP_TABLE_BANK, bytes: tables, relocations: Vec::new() });
    }
    let insts = || program.insts.iter().zip((0u32..).step_by(Program::INST_BYTES as usize));
    let calls = insts().any(|(coded, _)| coded.inst.row().transfer == Transfer::Call);
    let call_stack = calls.then_some(match abi {
        // The older layout cannot state that the depth is unknown.
        Abi::V8 if needs.open_stack != 0 => u32::MAX,
        _ => 0,
    });
    // Like ptxas, a kernel without variables there claims nothing, not even the bytes that the system
    // reserves, whatever its instructions are: a generic atomic operation has a path for shared memory.
    let has_shared = needs.shared_bytes > 0 || needs.dynamic_shared != 0;
    let branch = |table: &ptxc_sass::program::JumpTable| IndirectBranch {
        offset: table.branch * Program::INST_BYTES,
        targets: program.table_words(*table).collect(),
    };
    let mut function = Function {
        name: program.name.clone(),
        is_kernel: !program.device_function,
        code,
        parts: parts.collect(),
        params: program.params.iter().map(images::param).collect(),
        registers: needs.launch_registers(program.arch),
        max_registers: if needs.max_registers == 0 {
            program.arch.facts().registers.general.into()
        } else {
            needs.max_registers
        },
        barriers: needs.barriers,
        shared_bytes: has_shared.then_some(u64::from(needs.shared_bytes)),
        shared_align: 0,
        frame_bytes: needs.local_bytes,
        stack_bytes: needs.local_bytes,
        call_stack,
        launch: Launch::of(needs),
        banks,
        exits: insts().filter(|(coded, _)| coded.inst.op == Op::EXIT).map(|(_, offset)| offset).collect(),
        sparse_products: sparse_products(program),
        branches: program.tables.iter().map(branch).collect(),
        relocations: relocations(program)?,
        lines: source.lines.clone(),
        binding: Binding::default(),
        attributes: Vec::new(),
        marks: Vec::new(),
    };
    outside_calls(program, &mut function);
    if let Some(notes) = kept.and_then(|kept| kept.kernels.get(&program.name)) {
        function.binding = notes.binding;
        match notes.shared_align {
            Some(0) if function.shared_bytes == Some(0) => function.shared_bytes = None,
            None | Some(0) => {}
            Some(align) => {
                function.shared_bytes.get_or_insert(0);
                function.shared_align = if align == SHARED_ALIGN { 0 } else { align };
            }
        }
        if !notes.marks.is_empty() {
            function.marks.clone_from(&notes.marks);
        }
        for one in &notes.attributes {
            annotate(&mut function, one, needs.registers);
        }
    }
    Ok(function)
}

/// Notes which functions outside of the module a program calls, and where: the driver looks for its
/// own services there.
fn outside_calls(program: &Program, function: &mut Function) {
    let external = program.variables.iter().filter(|variable| variable.section == Section::External);
    let names: Vec<String> = external.map(|variable| variable.name.clone()).collect();
    if names.is_empty() {
        return;
    }
    let calls = (0..).zip(&program.insts).filter(|(_, coded)| coded.inst.op == Op::CALL_ABSOLUTE);
    let marks = calls.map(|(inst, _)| Mark { code: eiattr::SYSCALL_OFFSETS, inst, words: Vec::new() });
    function.marks.extend(marks);
    function.attributes.push(Attribute { code: eiattr::EXTERNS, value: AttributeValue::Symbols(names) });
}

/// Notes which functions of other files each function calls.
fn name_externs(functions: &mut [Function], arch: Arch) {
    let here: FxHashSet<String> = functions.iter().map(|function| function.name.clone()).collect();
    for function in functions {
        let called = function.calls(arch).into_iter();
        let names: Vec<String> = called.filter(|name| !here.contains(*name)).map(str::to_string).collect();
        if !names.is_empty() {
            let value = AttributeValue::Symbols(names);
            function.attributes.push(Attribute { code: eiattr::EXTERNS, value });
        }
    }
}

/// Adds an attribute of the text to a function.
fn annotate(function: &mut Function, attribute: &Attribute, named_registers: u32) {
    let word = match &attribute.value {
        AttributeValue::Words(words) if words.len() == 1 => Some(words[0]),
        _ => None,
    };
    match (attribute.code, word) {
        (eiattr::CRS_STACK_SIZE, None) if attribute.value == AttributeValue::Absent => {
            function.call_stack = None;
        }
        (eiattr::SYSCALL_OFFSETS, None) if attribute.value == AttributeValue::Absent => {
            function.marks.clear();
        }
        // The text tells which functions they are.
        (eiattr::EXTERNS, _) => {
            function.attributes.retain(|one| one.code != eiattr::EXTERNS);
            if attribute.value != AttributeValue::Absent {
                function.attributes.push(attribute.clone());
            }
        }
        // The code may have been changed since, and must have its registers.
        (eiattr::REGCOUNT, Some(word)) => function.registers = word.max(named_registers),
        (eiattr::FRAME_SIZE, Some(word)) => function.frame_bytes = word,
        (eiattr::MIN_STACK_SIZE, Some(word)) => function.stack_bytes = word,
        (eiattr::CRS_STACK_SIZE, Some(word)) => function.call_stack = Some(word),
        (eiattr::MAX_CLUSTER_RANK, Some(word)) => function.launch.max_cluster_rank = Some(word),
        _ => function.attributes.push(attribute.clone()),
    }
}

/// The addresses that the loader writes into the instructions.
fn relocations(program: &Program) -> Result<Vec<Relocation>, CubinError> {
    let mut list = Vec::with_capacity(program.relocations.len());
    for one in &program.relocations {
        let symbol = &one.symbol;
        let op = program.insts.get(one.inst as usize).map(|coded| coded.inst.op);
        let kind = op.and_then(|op| RelocationKind::of_code(symbol.value, symbol.bits, op, program.arch));
        let place = match symbol.addend {
            Addend::Bytes(bytes) => Some(bytes),
            Addend::Label(label) => {
                program.labels.get(label.0 as usize).map(|index| i64::from(index * Program::INST_BYTES))
            }
        };
        let (Some(kind), Some(addend)) = (kind, place) else {
            let what = format!("the use of `{}` in `{}`", symbol.name, program.name);
            return Err(CubinError::Unsupported(what));
        };
        let at = u64::from(one.inst) * u64::from(Program::INST_BYTES);
        list.push(Relocation { at, kind, target: symbol.name.clone(), addend });
    }
    list.extend(program.kept_relocations.iter().map(|one| Relocation {
        at: one.at,
        kind: RelocationKind(one.kind),
        target: one.symbol.clone(),
        addend: one.addend,
    }));
    list.sort_unstable();
    Ok(list)
}
