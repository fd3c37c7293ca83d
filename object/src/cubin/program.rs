//! Converts the contents of a cubin to a program.
//!
//! In: a [`Cubin`] and the name of a kernel in it. Out: a [`Program`]: its instructions, labels at
//! the targets of branches, the functions after its own code, its jump tables, parameters and the
//! module's variables. Parameters are named by their ordinals, because a cubin does not have their
//! names. Registers and uniform registers are counted; everything else is taken from the file.
//!
//! Linear in the code and the variables, except for sorting the places that branches name.

use std::collections::BTreeMap;
use std::sync::Arc;

use ptxc_machine::Arch;
use ptxc_sass::bits;
use ptxc_sass::kept::KeptRelocation;
use ptxc_sass::operand::{FunctionIndex, Label, Operand, OperandKind};
use ptxc_sass::program::{
    CONSTANT_BANK_BYTES, Coded, EXTRA_REGISTERS, ImageWord, JUMP_TABLE_BANK, JumpTable, Literals, ParamInfo,
    Program, ProgramFunction, Resources, SourceLine, UnknownWord,
};
use ptxc_sass::register::PReg;
use ptxc_sass::symbol::{Addend, CodeRelocation, Symbol};
use ptxc_sass::table::Transfer;
use ptxc_sass::text::{counted_resources, is_name};
use ptxc_sass::variable::{Pointer, Section, Variable};
use rustc_hash::{FxHashMap, FxHashSet};

use super::contents::{Cubin, Function, GlobalVariable, IndirectBranch, Line};
use super::error::CubinError;
use super::relocation::{Relocation, RelocationKind};
use super::write::part_symbol;

/// The program of a kernel.
///
/// # Errors
/// The kernel or function does not exist, or a relocation has a wrong place or a kind that no operand has.
pub fn program(cubin: &Cubin, name: &str) -> Result<Program, CubinError> {
    let function = cubin.function(name)?;
    let (mut insts, mut unknown) = decode(cubin, function)?;
    let branches = with_targets(function, &insts);
    let mut targets = Targets::new(function, &branches, insts.len() as u32);
    for (index, coded) in insts.iter_mut().enumerate() {
        targets.name(coded, index as u32)?;
    }
    let branches = targets.tables(&mut insts, &mut unknown)?;
    let (mut relocations, kept_relocations) = targets.relocations(&insts, cubin.arch)?;
    let (labels, functions) = targets.finish(&mut insts, &mut relocations);
    let (tables, literals) = table_bank(function, branches)?;
    let mut resources = counted_resources(&insts, cubin.arch);
    resources.barriers = function.barriers;
    if !unknown.is_empty() {
        // Words that are not known may name more registers.
        resources.registers = resources.registers.max(function.registers.saturating_sub(EXTRA_REGISTERS));
    }
    describe(function, &mut resources)?;
    if insts.iter().any(|inst| inst.inst.granted_registers().is_some()) {
        resources.launch_registers = function.registers;
    }
    let params = function.params.iter().enumerate();
    Ok(Program {
        name: function.name.clone(),
        arch: cubin.arch,
        accelerated: cubin.accelerated,
        trap_handler: false,
        device_function: !function.is_kernel,
        insts,
        labels,
        functions,
        frequency: Vec::new(),
        resources,
        params: params
            .map(|(ordinal, one)| ParamInfo {
                name: one.image.as_ref().map_or_else(|| format!("p{ordinal}"), |(_, name)| name.clone()),
                size: one.size,
                offset: one.offset,
                image: one.image.as_ref().map(|(kind, _)| *kind),
            })
            .collect(),
        image_words: image_words(cubin, function),
        variables: variables(cubin)?,
        tables,
        literals,
        relocations,
        kept_relocations,
        unknown,
        lines: function.lines.iter().map(source_line).collect(),
        kept: Arc::default(),
        files: if function.lines.is_empty() { Vec::new() } else { cubin.files.clone() },
    })
}

/// The words after the parameters that get numbers of textures, samplers and surfaces.
fn image_words(cubin: &Cubin, function: &Function) -> Vec<ImageWord> {
    let start = u64::from(cubin.arch.facts().banks.param_base);
    let relocations = function.bank(0).map_or(&[][..], |bank| &bank.relocations);
    let word = |one: &Relocation| {
        let offset = u32::try_from(one.at.checked_sub(start)?).ok()?;
        Some(ImageWord { offset, kind: one.kind.image()?, name: one.target.clone() })
    };
    relocations.iter().filter_map(word).collect()
}

/// The instructions of a function, with branch targets as places in the code, and the words that are
/// no known instructions. A branch to a place where no instruction begins is one of those.
fn decode(cubin: &Cubin, function: &Function) -> Result<(Vec<Coded>, Vec<UnknownWord>), CubinError> {
    let (words, rest) = function.code.as_chunks::<{ Program::INST_BYTES as usize }>();
    if !rest.is_empty() {
        return Err(CubinError::malformed(format!(
            "the code of `{}` ends within an instruction",
            function.name
        )));
    }
    let offsets = (0u32..).step_by(Program::INST_BYTES as usize);
    let mut unknown = Vec::new();
    let count = words.len() as u32;
    let begins = |operand: &Operand<PReg>| match operand.kind {
        OperandKind::Code(target) => place_at(i64::from(target), count).is_some(),
        _ => true,
    };
    let decode = |(word, offset): (&[u8; 16], u32)| {
        let word = u128::from_le_bytes(*word);
        let coded = bits::decode(word, offset, cubin.arch).ok();
        coded.filter(|coded| coded.inst.operands.iter().all(begins)).unwrap_or_else(|| {
            let word = UnknownWord { inst: offset / Program::INST_BYTES, word };
            unknown.push(word);
            word.stand_in()
        })
    };
    let insts = words.iter().zip(offsets).map(decode).collect();
    Ok((insts, unknown))
}

/// The instruction at a byte offset in code with that many instructions, or its end.
fn place_at(offset: i64, count: u32) -> Option<u32> {
    let bytes = i64::from(Program::INST_BYTES);
    let place = u32::try_from(offset / bytes).ok().filter(|&place| place <= count && offset >= 0);
    place.filter(|_| offset % bytes == 0)
}

fn source_line(line: &Line) -> SourceLine {
    SourceLine { inst: line.offset / Program::INST_BYTES, file: line.file, line: line.line }
}

/// Sets the resources that a launch needs, from the file.
fn describe(function: &Function, resources: &mut Resources) -> Result<(), CubinError> {
    let shared = u32::try_from(function.shared_bytes.unwrap_or(0));
    let too_large = |_| CubinError::malformed(format!("`{}` wants too much shared memory", function.name));
    resources.shared_bytes = shared.map_err(too_large)?;
    // Only such a kernel claims shared memory of no size.
    resources.dynamic_shared = u32::from(function.shared_bytes == Some(0));
    // The stack that its callees need is unknown if they call one another recursively.
    let is_open = function.stack_bytes == u32::MAX;
    resources.local_bytes =
        if is_open { function.frame_bytes } else { function.frame_bytes.max(function.stack_bytes) };
    resources.open_stack = u32::from(is_open || function.call_stack == Some(u32::MAX));
    if function.max_registers < 255 {
        resources.max_registers = function.max_registers;
    }
    function.launch.to(resources);
    Ok(())
}

/// Names for the places that instructions jump to.
struct Targets<'a> {
    function: &'a Function,
    /// Its branches that use a table.
    branches: &'a [IndirectBranch],
    /// The number of instructions.
    count: u32,
    /// The places of labels, by instruction; they are sorted at the end.
    labels: Vec<u32>,
    functions: Vec<ProgramFunction>,
    function_at: FxHashMap<u32, u32>,
}

impl<'a> Targets<'a> {
    fn new(function: &'a Function, branches: &'a [IndirectBranch], count: u32) -> Targets<'a> {
        let mut functions = vec![ProgramFunction { name: function.name.clone(), start: Some(0) }];
        let mut function_at = FxHashMap::default();
        function_at.insert(0, 0);
        for part in &function.parts {
            let start = part.offset / Program::INST_BYTES;
            function_at.entry(start).or_insert(functions.len() as u32);
            functions.push(ProgramFunction { name: part.name.clone(), start: Some(start) });
        }
        Targets { function, branches, count, labels: Vec::new(), functions, function_at }
    }

    /// The instruction at a byte offset.
    fn place(&self, offset: i64, from: u32) -> Result<u32, CubinError> {
        place_at(offset, self.count).ok_or_else(|| CubinError::Code {
            function: self.function.name.clone(),
            offset: from * Program::INST_BYTES,
            why: format!("its target {offset:#x} is not the start of an instruction"),
        })
    }

    /// Replaces places by functions (for calls) or labels; until `finish`, the number of a label is
    /// the index of its instruction.
    fn name(&mut self, coded: &mut Coded, index: u32) -> Result<(), CubinError> {
        let names_function = matches!(coded.inst.row().transfer, Transfer::Call | Transfer::Return);
        for operand in &mut coded.inst.operands {
            let OperandKind::Code(offset) = operand.kind else { continue };
            let place = self.place(i64::from(offset), index)?;
            operand.kind = if names_function {
                let next = self.functions.len() as u32;
                let number = *self.function_at.entry(place).or_insert(next);
                if number == next {
                    // A callee without a symbol is named by its place.
                    let name = format!("${:#x}", place * Program::INST_BYTES);
                    self.functions.push(ProgramFunction { name, start: Some(place) });
                }
                OperandKind::Function(FunctionIndex(number))
            } else {
                self.labels.push(place);
                OperandKind::Label(Label(place))
            };
        }
        Ok(())
    }

    /// Gives indexed branches the targets that the file lists; returns these branches with the
    /// offsets of their targets. The targets of an unknown word have no meaning, and a branch with a
    /// target where no instruction begins becomes an unknown word.
    fn tables(
        &mut self,
        insts: &mut [Coded],
        unknown: &mut Vec<UnknownWord>,
    ) -> Result<Vec<(u32, &'a [u32])>, CubinError> {
        let mut branches = Vec::new();
        let mut lost: FxHashSet<u32> = unknown.iter().map(|unknown| unknown.inst).collect();
        for branch in self.branches {
            let index = self.place(i64::from(branch.offset), 0)?;
            if lost.contains(&index) {
                continue;
            }
            let coded = insts.get_mut(index as usize).filter(|coded| coded.inst.is_indexed_branch());
            let Some(coded) = coded else {
                let message = format!("there is no indexed branch at {:#x}", branch.offset);
                return Err(CubinError::malformed(message));
            };
            let places = branch.targets.iter().map(|&target| place_at(i64::from(target), self.count));
            let Some(places) = places.collect::<Option<Vec<u32>>>() else {
                let words = self.function.code.as_chunks::<{ Program::INST_BYTES as usize }>().0;
                let word = words.get(index as usize).map_or(0, |word| u128::from_le_bytes(*word));
                let word = UnknownWord { inst: index, word };
                *coded = word.stand_in();
                unknown.push(word);
                lost.insert(index);
                continue;
            };
            coded.inst.operands.extend(places.iter().map(|&place| Operand::label(Label(place))));
            self.labels.extend(places);
            branches.push((index, &branch.targets[..]));
        }
        unknown.sort_unstable_by_key(|unknown| unknown.inst);
        Ok(branches)
    }

    /// The addresses that the loader writes into instructions, and the relocations that no operand
    /// shows. Places in this function become labels, as for branch targets.
    fn relocations(
        &mut self,
        insts: &[Coded],
        arch: Arch,
    ) -> Result<(Vec<CodeRelocation>, Vec<KeptRelocation>), CubinError> {
        let mut kept = Vec::new();
        let mut list: Vec<CodeRelocation> = Vec::with_capacity(self.function.relocations.len());
        for one in &self.function.relocations {
            let malformed = |why: &str| {
                let (name, at) = (&self.function.name, one.at);
                CubinError::malformed(format!("{} at {at:#x} of `{name}`: {why}", one.kind))
            };
            let bytes = u64::from(Program::INST_BYTES);
            let place = u32::try_from(one.at / bytes).ok().filter(|_| one.at % bytes == 0);
            let place = place.and_then(|place| Some((place, insts.get(place as usize)?)));
            let (inst, coded) = place.ok_or_else(|| malformed("no instruction begins there"))?;
            // The relocations are sorted by place.
            if list.last().is_some_and(|last| last.inst == inst) {
                return Err(malformed("the instruction has another relocation"));
            }
            let slot = bits::loaded_slot(&coded.inst, arch);
            let slot = slot.and_then(|slot| Some((slot, coded.inst.operands.get(slot)?.kind)));
            let symbol = one.kind.in_code(coded.inst.op, arch);
            // A relocation that changes an instruction may have no symbol; an operand has one.
            let is_nameless = one.target.is_empty() && symbol.is_none();
            if !is_name(&one.target) && !is_nameless {
                return Err(CubinError::Unsupported(format!("the name `{}`", one.target.escape_debug())));
            }
            let (Some((slot, kind)), Some((value, bits))) = (slot, symbol) else {
                let (at, kind) = (one.at, one.kind.0);
                kept.push(KeptRelocation { at, kind, symbol: one.target.clone(), addend: one.addend });
                continue;
            };
            if kind != OperandKind::Imm(0) {
                return Err(malformed("its place is not zero"));
            }
            let addend = match self.place(one.addend, inst) {
                Ok(place) if one.addend != 0 && one.target == self.function.name => {
                    self.labels.push(place);
                    Addend::Label(Label(place))
                }
                _ => Addend::Bytes(one.addend),
            };
            let symbol = Symbol { name: one.target.clone(), addend, value, bits };
            list.push(CodeRelocation { inst, slot: slot as u8, symbol });
        }
        Ok((list, kept))
    }

    /// Numbers labels in the order of their places.
    fn finish(
        self,
        insts: &mut [Coded],
        relocations: &mut [CodeRelocation],
    ) -> (Vec<u32>, Vec<ProgramFunction>) {
        let mut labels = self.labels;
        labels.sort_unstable();
        labels.dedup();
        let number = |place: &mut u32| *place = labels.partition_point(|other| other < place) as u32;
        insts.iter_mut().flat_map(|coded| coded.inst.labels_mut()).for_each(|label| number(&mut label.0));
        for relocation in relocations {
            if let Addend::Label(Label(place)) = &mut relocation.symbol.addend {
                number(place);
            }
        }
        (labels, self.functions)
    }
}

/// The most instructions between the load of a target and its branch.
const LOAD_DISTANCE: usize = 64;

/// The most words of tables that are compared with targets in one function, however many branches
/// it has. Branches after that keep their zeros.
const MOST_COMPARED: usize = 1 << 24;

/// The branches of a function that use a table. Older versions of NVIDIA's compiler list most targets
/// as zero; then the targets are those of the table, which a load before the branch names. Without
/// such a load, it is the first table whose words are places of instructions and agree with the
/// targets that are listed.
fn with_targets(function: &Function, insts: &[Coded]) -> Vec<IndirectBranch> {
    let bank = function.bank(JUMP_TABLE_BANK).map_or(&[][..], |bank| &bank.bytes);
    let words = bank.as_chunks::<4>().0;
    let mut branches = function.branches.clone();
    let mut left = MOST_COMPARED;
    for branch in branches.iter_mut().filter(|branch| branch.targets.contains(&0)) {
        let index = (branch.offset / Program::INST_BYTES) as usize;
        let Some(before) = insts.get(index.saturating_sub(LOAD_DISTANCE)..index) else { continue };
        let loads = before.iter().rev().flat_map(|coded| &coded.inst.operands);
        let start = loads.filter_map(|operand| match operand.kind {
            OperandKind::IndexedConst { bank: JUMP_TABLE_BANK, offset, .. } => usize::try_from(offset).ok(),
            _ => None,
        });
        let fits = |table: &[[u8; 4]]| {
            let mut pairs = table.iter().zip(&branch.targets);
            pairs.all(|(word, &target)| {
                let word = u32::from_le_bytes(*word);
                let is_place =
                    word.is_multiple_of(Program::INST_BYTES) && (word as usize) < function.code.len();
                is_place && (target == 0 || target == word)
            })
        };
        let count = branch.targets.len();
        let first = || {
            let seen = words.windows(count).len().min(left / count);
            let found = words.windows(count).take(seen).position(fits);
            left -= count * found.map_or(seen, |place| place + 1);
            found
        };
        let Some(start) = start.map(|offset| offset / 4).next().or_else(first) else { continue };
        let Some(table) = words.get(start..start.saturating_add(count)) else { continue };
        for (target, word) in branch.targets.iter_mut().zip(table) {
            *target = u32::from_le_bytes(*word);
        }
    }
    branches
}

/// Finds the table of each branch in its bank: the first place with the targets in order. Words
/// outside of all tables are literals.
fn table_bank(
    function: &Function,
    branches: Vec<(u32, &[u32])>,
) -> Result<(Vec<JumpTable>, Vec<Literals>), CubinError> {
    let words: Vec<u32> = match function.bank(JUMP_TABLE_BANK) {
        Some(bank) if bank.bytes.len() > CONSTANT_BANK_BYTES as usize => {
            let message = format!("the bank of the jump tables of `{}` is too large", function.name);
            return Err(CubinError::malformed(message));
        }
        Some(bank) => bank.bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect(),
        None => Vec::new(),
    };
    let mut starts: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
    for (place, &word) in words.iter().enumerate() {
        starts.entry(word).or_default().push(place);
    }
    let mut found = Vec::new();
    let mut is_literal = vec![true; words.len()];
    // Equal tables share one search.
    let mut known: FxHashMap<&[u32], Option<usize>> = FxHashMap::default();
    for (branch, targets) in branches {
        let place = *known.entry(targets).or_insert_with(|| {
            let candidates = targets.first().and_then(|first| starts.get(first));
            candidates.into_iter().flatten().copied().find(|&place| words[place..].starts_with(targets))
        });
        let Some(place) = place else {
            let offset = branch * Program::INST_BYTES;
            let message = format!("the branch of `{}` at {offset:#x} has no table", function.name);
            return Err(CubinError::malformed(message));
        };
        is_literal[place..place + targets.len()].fill(false);
        found.push(JumpTable { offset: 4 * place as u32, branch });
    }
    found.sort_by_key(|table| (table.offset, table.branch));
    let mut literals: Vec<Literals> = Vec::new();
    for (place, &word) in words.iter().enumerate().filter(|&(place, _)| is_literal[place]) {
        let offset = 4 * place as u32;
        match literals.last_mut() {
            Some(last) if last.offset + 4 * last.words.len() as u32 == offset => last.words.push(word),
            _ => literals.push(Literals { offset, words: vec![word] }),
        }
    }
    Ok((found, literals))
}

/// The functions of other modules whose addresses are in bank 4, with the place of the first address
/// of each.
pub(super) fn externals(cubin: &Cubin) -> BTreeMap<&str, u32> {
    let variables = cubin.variables.iter().map(|one| one.name.as_str());
    let functions = cubin.functions.iter();
    let parts = functions
        .clone()
        .flat_map(|function| function.parts.iter().map(move |part| part_symbol(&function.name, &part.name)));
    let parts: FxHashSet<String> = parts.collect();
    let known: FxHashSet<&str> = variables
        .chain(functions.map(|one| one.name.as_str()))
        .chain(parts.iter().map(|one| &**one))
        .collect();
    let mut found = BTreeMap::new();
    for one in &cubin.addresses {
        let is_whole = one.kind == RelocationKind::ABS_64 && one.addend == 0 && !one.target.is_empty();
        if let Ok(at) = u32::try_from(one.at)
            && is_whole
            && !known.contains(&*one.target)
        {
            found.entry(&*one.target).or_insert(at);
        }
    }
    found
}

/// The variables of a module, and functions of other modules. Global variables whose address is not
/// in bank 4 get a place after the others.
pub(super) fn variables(cubin: &Cubin) -> Result<Vec<Variable>, CubinError> {
    let places: FxHashMap<&str, u64> = {
        let whole = |one: &&super::Relocation| one.kind == RelocationKind::ABS_64 && one.addend == 0;
        cubin.addresses.iter().rev().filter(whole).map(|one| (&*one.target, one.at)).collect()
    };
    let mut free = cubin.address_bytes.next_multiple_of(8);
    let mut list: Vec<Variable> =
        externals(cubin).into_iter().map(|(name, place)| Variable::external(name, place)).collect();
    for variable in &cubin.variables {
        let place = match variable.section {
            Section::Constant | Section::Shared => variable.offset,
            Section::Global | Section::External => {
                places.get(&*variable.name).copied().unwrap_or_else(|| {
                    free += 8;
                    free - 8
                })
            }
        };
        let misplaced =
            || CubinError::malformed(format!("`{}` is too far from the start of its section", variable.name));
        let number = |value: u64| u32::try_from(value).map_err(|_| misplaced());
        let content = variable.bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        list.push(Variable {
            section: variable.section,
            place: number(place)?,
            name: variable.name.clone(),
            size: variable.size,
            align: number(variable.align)?,
            bytes: variable.bytes[..content].to_vec(),
            pointers: pointers(variable)?,
        });
    }
    list.sort_unstable();
    Ok(list)
}

fn pointers(variable: &GlobalVariable) -> Result<Vec<Pointer>, CubinError> {
    let pointer = |one: &super::Relocation| {
        let Some((bytes, shift, generic)) = one.kind.data() else {
            let what = format!("{} in the variable `{}`", one.kind, variable.name);
            return Err(CubinError::Unsupported(what));
        };
        let within = one.at.checked_add(u64::from(bytes)).is_some_and(|end| end <= variable.size);
        let at = u32::try_from(one.at).ok().filter(|_| within);
        let outside = || CubinError::malformed(format!("an address beyond the end of `{}`", variable.name));
        Ok(Pointer {
            at: at.ok_or_else(outside)?,
            bytes,
            shift,
            target: one.target.clone(),
            generic,
            addend: one.addend,
        })
    };
    variable.relocations.iter().map(pointer).collect()
}
