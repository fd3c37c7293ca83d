//! The text of a whole cubin, and the cubin of a text.
//!
//! In: a [`Cubin`]. Out: SASS text with its kernels, its variables and the parts that are kept as
//! they are. The other direction assembles a text that was read. Both are linear in the file.

use std::fmt;
use std::sync::Arc;

use ptxc_sass::Program;
use ptxc_sass::kept::{Attribute, AttributeValue, Home, Kept, KeptRelocation, Notes};
use ptxc_sass::program::SourceLine;
use ptxc_sass::text::{
    self, Kernel, Style, is_name, write_debug, write_module_attributes, write_program, write_variables,
};
use ptxc_sass::variable::{Section, Variable};
use rustc_hash::FxHashSet;

use super::assemble::{Module, Source, assemble, kernel};
use super::attribute as eiattr;
use super::contents::{Abi, Cubin, Function, Line};
use super::error::CubinError;
use super::program::{externals, program, variables};
use super::relocation::RelocationKind;
use super::write::SHARED_ALIGN;

/// The text of a cubin, and the programs in it: the functions named in `names`, or all functions if
/// it is empty; then the variables and the debug sections of the file.
///
/// # Errors
/// A function that does not exist, and code that is no program.
pub fn write_text(
    cubin: &Cubin,
    names: &[String],
    style: &Style,
) -> Result<(String, Vec<Program>), CubinError> {
    for name in names {
        cubin.function(name)?;
    }
    let chosen = cubin.functions.iter().filter(|one| names.is_empty() || names.contains(&one.name));
    let programs: Result<Vec<_>, _> = chosen.map(|one| program(cubin, &one.name)).collect();
    let mut programs = programs?;
    let kept = Arc::new(kept(cubin, &programs));
    check_names(&kept)?;
    programs.iter_mut().for_each(|program| program.kept = kept.clone());
    let mut parts = Vec::new();
    // Writing to a string fails only if a formatter fails, and these do not.
    let mut add = |write: &dyn Fn(&mut String) -> fmt::Result| {
        let mut part = String::new();
        let written = write(&mut part);
        debug_assert!(written.is_ok());
        parts.extend((!part.is_empty()).then_some(part));
    };
    add(&|out| {
        if kept.relocatable {
            out.push_str(".elftype @\"ET_REL\"\n");
        }
        if programs.is_empty() {
            let variant = if cubin.accelerated { "a" } else { "" };
            out.push_str(&format!(".target {}{variant}\n", cubin.arch));
        }
        write_module_attributes(&kept, out)
    });
    for program in &programs {
        add(&|out| write_program(program, style, None, out));
    }
    let variables = variables(cubin)?;
    let variables: Vec<&Variable> = variables.iter().collect();
    add(&|out| write_variables(&variables, &kept, out));
    add(&|out| write_debug(&kept.sections, out));
    Ok((parts.join("\n"), programs))
}

/// The parts of a file that neither its programs nor its variables hold.
pub fn kept(cubin: &Cubin, programs: &[Program]) -> Kept {
    let mut kept = Kept {
        relocatable: cubin.relocatable,
        sections: cubin.debug.to_vec(),
        attributes: cubin.attributes.clone(),
        compatibility: cubin.compatibility.clone(),
        symbols: cubin.symbols.clone(),
        ..Kept::default()
    };
    let globals = cubin.variables.iter().filter(|one| one.section == Section::Global);
    let globals: FxHashSet<&str> = globals.map(|one| &*one.name).collect();
    let outside: FxHashSet<u64> = externals(cubin).into_values().map(u64::from).collect();
    let mut named = FxHashSet::default();
    for one in &cubin.addresses {
        if outside.contains(&one.at) {
            continue;
        }
        let is_whole = one.kind == RelocationKind::ABS_64 && one.addend == 0;
        let is_variable = is_whole && globals.contains(&*one.target);
        if !is_variable || !named.insert(&*one.target) {
            let (at, kind, symbol) = (one.at, one.kind.0, one.target.clone());
            kept.addresses.push(KeptRelocation { at, kind, symbol, addend: one.addend });
        }
    }
    for variable in &cubin.variables {
        let is_global = variable.section == Section::Global;
        let home = Home {
            has_content: is_global && variable.has_content,
            offset: is_global.then_some(variable.offset),
            has_address: is_global && named.contains(&*variable.name),
            binding: variable.binding,
        };
        kept.homes.insert(variable.name.clone(), home);
    }
    let pointers = cubin.variables.iter().flat_map(|variable| &variable.relocations);
    let pointed: FxHashSet<&str> = pointers.map(|one| one.target.as_str()).collect();
    let words = programs.iter().flat_map(|program| &program.image_words);
    let of_words: FxHashSet<&str> = words.map(|word| word.name.as_str()).collect();
    let is_kept = |name: &str| pointed.contains(name) || !of_words.contains(name);
    let images = cubin.images.iter().filter(|image| is_kept(&image.name));
    kept.images = images.map(|image| (image.kind, image.name.clone())).collect();
    for program in programs {
        let Ok(function) = cubin.function(&program.name) else { continue };
        let notes = notes(function, program);
        if notes != Notes::default() {
            kept.kernels.insert(program.name.clone(), notes);
        }
    }
    kept
}

/// Checks that the text can hold the names in the parts that are kept.
fn check_names(kept: &Kept) -> Result<(), CubinError> {
    let of_kernels = kept.kernels.values().flat_map(|notes| &notes.attributes);
    let of_attributes = kept.attributes.iter().chain(of_kernels).flat_map(|one| match &one.value {
        AttributeValue::Symbols(names) => &names[..],
        AttributeValue::Of(name, _) => std::slice::from_ref(name),
        _ => &[],
    });
    let of_symbols = kept.symbols.iter().flat_map(|one| [&one.name, &one.section]);
    let of_sections = kept.sections.iter().flat_map(|section| &section.relocations);
    let relocations = kept.addresses.iter().chain(of_sections).map(|one| &one.symbol);
    let relocations = relocations.filter(|name| !name.is_empty());
    let sections = kept.sections.iter().map(|section| &section.name);
    let images = kept.images.iter().map(|(_, name)| name);
    let names = of_attributes.chain(of_symbols).chain(relocations).chain(sections);
    let names = names.chain(kept.homes.keys()).chain(images);
    match names.into_iter().find(|name| !is_name(name)) {
        Some(name) => Err(CubinError::Unsupported(format!("the name `{}`", name.escape_debug()))),
        None => Ok(()),
    }
}

/// The attributes that the assembler would not make of a program.
fn notes(function: &Function, program: &Program) -> Notes {
    let mut notes = Notes {
        attributes: function.attributes.clone(),
        marks: function.marks.clone(),
        binding: function.binding,
        shared_align: (function.shared_align > 0).then_some(function.shared_align),
    };
    notes.marks.sort_by_key(|mark| mark.inst);
    let source = Source { program, lines: Vec::new() };
    // Bare code says nothing about what it needs, not even about registers.
    let own = kernel(&source, Abi::V8, None).ok().filter(|_| function.registers > 0);
    let Some(own) = own else { return notes };
    let absent = |code| Attribute { code, value: AttributeValue::Absent };
    if notes.marks == own.marks {
        notes.marks.clear();
    } else if notes.marks.is_empty() {
        notes.attributes.push(absent(eiattr::SYSCALL_OFFSETS));
    }
    let is_externs = |one: &&Attribute| one.code == eiattr::EXTERNS;
    match (function.attributes.iter().find(is_externs), own.attributes.iter().find(is_externs)) {
        (theirs, own) if theirs == own => notes.attributes.retain(|one| one.code != eiattr::EXTERNS),
        (None, Some(_)) => notes.attributes.push(absent(eiattr::EXTERNS)),
        _ => {}
    }
    match (function.shared_bytes, own.shared_bytes) {
        (None, Some(_)) => notes.shared_align = Some(0),
        (Some(_), None) => notes.shared_align = notes.shared_align.or(Some(SHARED_ALIGN)),
        _ => {}
    }
    if function.call_stack.is_none() && own.call_stack.is_some() {
        notes.attributes.push(absent(eiattr::CRS_STACK_SIZE));
    }
    let mut differs = |code, theirs: Option<u32>, own: Option<u32>| {
        if let Some(word) = theirs.filter(|_| theirs != own) {
            notes.attributes.push(Attribute { code, value: AttributeValue::Words(vec![word]) });
        }
    };
    differs(eiattr::REGCOUNT, Some(function.registers), Some(own.registers));
    differs(eiattr::FRAME_SIZE, Some(function.frame_bytes), Some(own.frame_bytes));
    if function.is_kernel {
        differs(eiattr::MIN_STACK_SIZE, Some(function.stack_bytes), Some(own.stack_bytes));
    }
    differs(eiattr::CRS_STACK_SIZE, function.call_stack, own.call_stack);
    differs(eiattr::MAX_CLUSTER_RANK, function.launch.max_cluster_rank, own.launch.max_cluster_rank);
    notes
}

/// Assembles a text.
///
/// # Errors
/// A text for several architectures, or of an object for a linker; and whatever
/// [`assemble`](super::assemble()) refuses.
pub fn assemble_text(text: &text::Module, abi: Abi) -> Result<Cubin, CubinError> {
    let text::Module { kernels, variables, target, kept } = text;
    let arch = kernels.first().map(|kernel| kernel.program.arch).or(target.map(|(arch, _)| arch));
    let Some(arch) = arch else {
        return Err(CubinError::Unsupported("a text without kernels and architecture".to_string()));
    };
    if kernels.iter().any(|kernel| kernel.program.arch != arch) {
        return Err(CubinError::Architectures);
    }
    if kept.relocatable {
        return Err(CubinError::Relocatable);
    }
    // All kernels of a text have the same list of files, if they have lines.
    let files = kernels.iter().map(|kernel| &kernel.program.files).find(|files| !files.is_empty());
    let files = files.cloned().unwrap_or_default();
    let sources: Vec<Source<'_>> =
        kernels.iter().map(|Kernel { program, .. }| Source { program, lines: lines(program) }).collect();
    let mut module = Module { files, kept: kept.clone(), ..Module::of(arch, abi) };
    module.accelerated = target.is_some_and(|(_, accelerated)| accelerated);
    // Variables with a place in the file need no kernel that names them.
    let is_loose = |one: &&Variable| kernels.is_empty() || !has_address(one, kept);
    module.variables = variables.iter().filter(is_loose).cloned().collect();
    for (name, home) in &kept.homes {
        module.bindings.insert(name.clone(), home.binding);
    }
    assemble(&sources, module)
}

/// Whether constant bank 4 holds the address of a variable, if it is a global one.
pub(super) fn has_address(variable: &Variable, kept: &Kept) -> bool {
    variable.section == Section::Constant
        || kept.homes.get(&variable.name).is_none_or(|home| home.offset.is_none() || home.has_address)
}

/// The source lines of a program, as a cubin holds them.
fn lines(program: &Program) -> Vec<Line> {
    let line = |line: &SourceLine| Line {
        offset: line.inst * Program::INST_BYTES,
        file: line.file,
        line: line.line,
    };
    let inside = program.lines.iter().filter(|line| (line.inst as usize) < program.insts.len());
    inside.map(line).collect()
}
