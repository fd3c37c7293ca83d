//! Linking: a kernel and the functions that it calls become one program.
//!
//! In: the code of each function by itself ([`FuncCode`](crate::func_code::FuncCode)). Out: one
//! [`Program`] with the kernel's code first, so that addresses count from it, followed by the code
//! of each callee, once, under its name. At the [call sites](fill_clobbers) of a compiled function,
//! a [`Summary`] of the registers that it clobbers replaces the assumptions of the
//! [ABI](crate::abi).
//!
//! ```text
//! kernel:   MOV R2, `(.L_x_0)          MOV R2, 0x20
//!           CALL `($1)            =>   CALL `($u64.divrem)
//! .L_x_0:   EXIT                       EXIT
//!                                  $u64.divrem:
//!                                      …
//!                                      RET R2 `(kernel)
//! ```
//! Return addresses, which were labels, become numbers. Linear in the code.

use ptxc_machine::Feature;
use ptxc_sass::{
    FunctionIndex, Inst, Label, Op, Operand, OperandKind, PReg, Program, ProgramFunction, RegFile, Register,
    choice, slot_name,
};

use crate::abi;
use crate::explain::Explain;
use crate::func_code::{Callees, Summaries, Summary};
use crate::mir::{Mir, RegSet, VReg, is_call};

/// The registers that a function and its callees clobber, and the resources that they need. An
/// unknown callee, which calls the function in turn or is called through an address, counts as any
/// function. The program does not show where its lanes return, so the caller says it.
pub fn summary(program: &Program, callees: &Summaries, returns_together: bool) -> Summary {
    let mut clobbers = RegSet::default();
    for coded in &program.insts {
        for def in coded.inst.defs() {
            clobbers.insert_tuple(def.reg, def.width);
        }
    }
    let mut below = 0;
    let mut open_stack = program.resources.open_stack != 0;
    let mut unknown = Summary { clobbers: abi::unknown_clobbers(), open_stack: true, ..Summary::default() };
    if program.arch.has(Feature::OncePerWarpOperations) {
        abi::bulk_copies().for_each(|reg| unknown.clobbers.insert(reg));
    }
    let named = program.functions.iter().skip(1).map(|function| callees.get(&function.name).copied());
    let indirect = program.insts.iter().any(|coded| coded.inst.op == Op::CALL_INDIRECT);
    let outside = program.insts.iter().any(|coded| coded.inst.op == Op::CALL_ABSOLUTE);
    let external = Summary { clobbers: abi::platform::clobbers(), open_stack: true, ..Summary::default() };
    let named = named.chain(indirect.then_some(None)).map(|callee| callee.unwrap_or(unknown));
    for callee in named.chain(outside.then_some(external)) {
        clobbers = clobbers.union(callee.clobbers);
        below = below.max(callee.stack);
        open_stack |= callee.open_stack;
    }
    clobbers.remove(abi::stack_pointer());
    // Every lane that reads the descriptor has written the same value to it, and any cache policy
    // works. Answers are read in the block that writes them, and so are the registers of routines
    // that run once per warp. The clobbers tell callers whether there are bulk copies.
    abi::uniform_of_callees().for_each(|reg| clobbers.remove(reg));
    Summary { clobbers, stack: program.resources.local_bytes + below, open_stack, returns_together }
}

/// Replaces the clobbers at the call sites of a function by those of the known callees, limited to
/// registers below the limit that the whole program is compiled for.
pub fn fill_clobbers(mir: &mut Mir<VReg>, callees: &Summaries, max_regs: u32) {
    let summaries: Vec<Option<Summary>> =
        mir.header.functions.iter().map(|symbol| callees.get(symbol).copied()).collect();
    for block in mir.blocks.values_mut() {
        for minst in &mut block.insts {
            let Some(site) = minst.call.as_mut().filter(|_| is_call(minst.inst.op)) else { continue };
            let target = minst.inst.get(slot_name!("target")).map(|target| target.kind);
            let known = match target {
                Some(OperandKind::Function(FunctionIndex(index))) => {
                    summaries.get(index as usize).copied().flatten()
                }
                _ => None,
            };
            match known {
                Some(summary) => {
                    // The call may leave the module, in the callee or in a function that it calls.
                    let uniform = site.clobbers.iter().filter(|reg| reg.file() == RegFile::Ugpr);
                    site.clobbers = summary.clobbers.union(uniform.collect());
                    site.clobbers.insert(abi::return_address());
                    site.uses_stack = summary.stack > 0 || summary.open_stack;
                }
                None => site.uses_stack = true,
            }
            // Every callee was compiled for this number of registers.
            let beyond = (max_regs as u8..RegFile::Gpr.count()).map(PReg::r);
            beyond.for_each(|reg| site.clobbers.remove(reg));
        }
    }
}

/// Links a kernel and its callees.
///
/// # Errors
/// The name of a callee that is not there.
pub fn link(kernel: Program, explain: Explain, callees: &Callees) -> Result<(Program, Explain), String> {
    let mut linked = Linked { functions: kernel.functions.clone(), program: kernel, explain };
    linked.functions.truncate(1);
    let names = std::mem::take(&mut linked.program.functions);
    linked.functions[0].start = Some(0);
    // Lists the functions that follow, in the order in which they are first named. The kernel keeps
    // its labels, and its function is the first.
    let numbers = linked.numbers(0, &names);
    if names.len() > 1 {
        linked.program.insts.iter_mut().for_each(|coded| renumber(&mut coded.inst, 0, &numbers));
    }
    let mut next = 1;
    let mut below = 0;
    loop {
        linked.name_functions_pointed_to(callees);
        if next == linked.functions.len() {
            break;
        }
        let symbol = linked.functions[next].name.clone();
        let code = callees.get(&symbol).ok_or(symbol)?;
        linked.functions[next].start = Some(linked.program.insts.len() as u32);
        let program = &code.program;
        linked.append(next, program);
        let start = linked.functions[next].start.unwrap_or(0) as usize;
        linked.explain.append(&code.explain, start);
        let needs = &mut linked.program.resources;
        needs.registers = needs.registers.max(program.resources.registers);
        needs.uniform_registers = needs.uniform_registers.max(program.resources.uniform_registers);
        needs.spills += program.resources.spills;
        needs.shared_bytes = needs.shared_bytes.max(program.resources.shared_bytes);
        needs.dynamic_shared |= program.resources.dynamic_shared;
        needs.barriers = needs.barriers.max(program.resources.barriers);
        linked.program.variables.extend(program.variables.iter().cloned());
        linked.program.image_words.extend(program.image_words.iter().cloned());
        below = below.max(code.summary.map_or(0, |summary| summary.stack));
        needs.open_stack |= u32::from(code.summary.is_some_and(|summary| summary.open_stack));
        next += 1;
    }
    linked.program.resources.local_bytes += below;
    let Linked { mut program, functions, explain } = linked;
    program.functions = functions;
    program.variables.sort_unstable();
    program.variables.dedup();
    program.image_words.sort_unstable();
    program.image_words.dedup();
    resolve_shared_end(&mut program);
    resolve_addresses(&mut program);
    Ok((program, explain))
}

/// A partly linked program.
struct Linked {
    program: Program,
    functions: Vec<ProgramFunction>,
    explain: Explain,
}

impl Linked {
    /// Adds the functions whose addresses variables hold.
    fn name_functions_pointed_to(&mut self, callees: &Callees) {
        for variable in &self.program.variables {
            for pointer in &variable.pointers {
                let target = &pointer.target;
                let is_new = || self.functions.iter().all(|known| known.name != *target);
                if callees.contains_key(target) && is_new() {
                    self.functions.push(ProgramFunction { name: target.clone(), start: None });
                }
            }
        }
    }

    /// The numbers of the functions that a function names; the first is its own. New functions are
    /// added.
    fn numbers(&mut self, own: usize, names: &[ProgramFunction]) -> Vec<u32> {
        let numbers = names.iter().enumerate().map(|(index, function)| {
            let known = match index {
                0 => Some(own),
                _ => self.functions.iter().position(|known| known.name == function.name),
            };
            known.unwrap_or_else(|| {
                self.functions.push(ProgramFunction { name: function.name.clone(), start: None });
                self.functions.len() - 1
            }) as u32
        });
        numbers.collect()
    }

    /// Adds the code of a function at the end, with new numbers for its labels and functions.
    fn append(&mut self, number: usize, function: &Program) {
        let numbers = self.numbers(number, &function.functions);
        let start = self.program.insts.len() as u32;
        let first_label = self.program.labels.len() as u32;
        self.program.insts.extend(function.insts.iter().cloned().map(|mut coded| {
            renumber(&mut coded.inst, first_label, &numbers);
            coded
        }));
        self.program.labels.extend(function.labels.iter().map(|label| label + start));
        // Those of a part name numbers of the driver, not labels.
        self.program.relocations.extend(function.relocations.iter().cloned().map(|mut relocation| {
            relocation.inst += start;
            relocation
        }));
        self.program.frequency.extend(&function.frequency);
    }
}

/// Renumbers the labels of an instruction from `first_label` on, and the functions that it names by
/// `numbers`.
fn renumber(inst: &mut Inst<PReg>, first_label: u32, numbers: &[u32]) {
    let takes_address = inst.op == Op::MOV;
    let returns = inst.op != Op::CALL;
    for operand in &mut inst.operands {
        match &mut operand.kind {
            OperandKind::Label(label) => label.0 += first_label,
            // Addresses count from the start of the program.
            OperandKind::Function(function) if takes_address => {
                function.0 = numbers[function.0 as usize];
            }
            OperandKind::Function(function) if returns => function.0 = 0,
            OperandKind::Function(function) => function.0 = numbers[function.0 as usize],
            _ => {}
        }
    }
}

/// The end of static shared memory, at each alignment that the code asks for, becomes a number. All
/// functions of the program see the same dynamic array there.
fn resolve_shared_end(program: &mut Program) {
    let static_end = program.resources.shared_bytes;
    // Where the address has the number of the CTA in its cluster, the code adds it and the bytes
    // that the system keeps.
    let kept = match program.arch.has(Feature::RankedSharedAddresses) {
        true => 0,
        false => program.arch.facts().limits.reserved_shared,
    };
    for coded in program.insts.iter_mut().filter(|coded| coded.inst.op == Op::MOV) {
        for operand in &mut coded.inst.operands {
            if let OperandKind::SharedEnd(align) = operand.kind {
                let end = static_end.checked_next_multiple_of(align.max(1)).unwrap_or(u32::MAX);
                program.resources.shared_bytes = program.resources.shared_bytes.max(end);
                *operand = Operand::imm(end.wrapping_add(kept));
            }
        }
    }
}

/// Labels and functions in `MOV` become the byte addresses of their instructions.
fn resolve_addresses(program: &mut Program) {
    let (labels, functions) = (&program.labels, &program.functions);
    for coded in program.insts.iter_mut().filter(|coded| coded.inst.op == Op::MOV) {
        for operand in &mut coded.inst.operands {
            let place = match operand.kind {
                OperandKind::Label(Label(label)) => labels.get(label as usize).copied(),
                OperandKind::Function(FunctionIndex(index)) => functions[index as usize].start,
                _ => continue,
            };
            *operand = Operand::imm(Program::INST_BYTES * place.unwrap_or(0));
        }
    }
    program.number_labels();
}

/// Whether code leaves the registers of the warp alone, since it may run while the rest of the warp
/// is elsewhere. It may load the descriptor of global memory to its place, which holds nothing
/// else. The same holds for the answers of routines in which lanes meet, and for the registers of
/// routines that run once per warp.
pub fn keeps_warp_registers(program: &Program) -> bool {
    let [low, _] = abi::descriptor();
    let at = program.arch.facts().banks.global_descriptor;
    let descriptor = at.map(|offset| {
        Inst::new(Op::ULDC).with(choice!(ULDC, ".64")).ops([Operand::reg(low), Operand::constant(0, offset)])
    });
    let is_descriptor = |reg: PReg| abi::descriptor().contains(&reg);
    let of_callees = || abi::uniform_of_callees().chain(abi::bulk_copies());
    let may_write = |reg: PReg| of_callees().any(|known| known == reg) && !is_descriptor(reg);
    // Other modules expect that functions of the platform's convention write some.
    let is_free = |reg: PReg| program.device_function && abi::platform::uniform().any(|free| free == reg);
    let is_kept = |reg: PReg| reg.file().is_uniform() && !may_write(reg) && !is_free(reg);
    let writes = |inst: &Inst<PReg>| inst.defs().any(|def| is_kept(def.reg));
    let keeps = |inst: &Inst<PReg>| !writes(inst) || descriptor.as_ref() == Some(inst);
    program.insts.iter().all(|coded| keeps(&coded.inst))
}
