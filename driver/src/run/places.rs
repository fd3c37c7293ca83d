//! The source lines, variables and strong accesses of a kernel, for the findings of its runs.
//!
//! In: the SSA of the kernel and its callees, with the numbers of syntax nodes, or a program that was
//! read from a file. Out: for a finding, the line of each side and the variable that it touches. For
//! the SASS engine, the instructions whose accesses to shared memory are strong in the source, which
//! machine code does not show.

use std::collections::{BTreeMap, BTreeSet};

use ptxc_compiler::input::items::Func;
use ptxc_compiler::ptx::diagnostic::{Diagnostic, source_node};
use ptxc_compiler::{Database, SourceFile, output::locate};
use ptxc_ir::{Function, Op, SourceLoc, Space};
use ptxc_sass::Program;
use ptxc_sass::text::Kernel;
use ptxc_sim::{Finding, Side, guessed_loads};

/// A place of the source: a function and the number of a node of its syntax tree.
type Node = (String, u32);

/// A shared variable: its name, its first byte and its size; arrays of unknown size have size 0.
struct Variable {
    name: String,
    start: u64,
    size: u64,
}

/// A file and its functions, for the lines of nodes.
struct Source {
    db: Database,
    file: SourceFile,
    funcs: Vec<(String, Func)>,
}

/// What is known about the places of a kernel.
#[derive(Default)]
pub(super) struct Places {
    /// The file that the kernel was compiled from.
    source: Option<Source>,
    /// The lines of instructions of a program that was read, by index.
    insts: BTreeMap<u32, String>,
    /// The nodes whose accesses are strong.
    strong: BTreeSet<Node>,
    /// The shared variables, in the order of their first bytes.
    variables: Vec<Variable>,
}

impl Places {
    /// The places of a kernel and the functions that it calls, with their SSA.
    pub(super) fn of_ptx(db: Database, file: SourceFile, funcs: Vec<Func>, ssa: &[&Function]) -> Places {
        let mut places = Places::default();
        for function in ssa {
            let guesses = guessed_loads(function);
            for inst in function.layout.iter().flat_map(|&block| &function.blocks[block].insts) {
                let data = &function.insts[*inst];
                let is_strong = match &data.op {
                    Op::Load(_) if guesses.contains(inst) => true,
                    Op::Load(access) | Op::Store(access) => access.is_strong(),
                    // Some become a load and a loop around an update, or a load of a part.
                    Op::Atomic { .. } | Op::Red { .. } | Op::TryAtomic { .. } => true,
                    Op::MbarrierState { .. } | Op::MbarrierParity { .. } => true,
                    _ => false,
                };
                if is_strong && data.loc != SourceLoc::NONE {
                    places.strong.insert((function.name.clone(), data.loc.0));
                }
            }
            places.add_variables(function);
        }
        places.variables.sort_by(|a, b| (a.start, a.size, &a.name).cmp(&(b.start, b.size, &b.name)));
        places.variables.dedup_by(|a, b| a.name == b.name);
        let funcs = funcs.into_iter().map(|func| (func.name(&db).to_string(), func)).collect();
        places.source = Some(Source { db, file, funcs });
        places
    }

    fn add_variables(&mut self, ssa: &Function) {
        for data in ssa.symbols.values().filter(|data| data.space == Space::Shared) {
            let Some(start) = data.offset else { continue };
            let (start, size) = (start.into(), data.size);
            self.variables.push(Variable { name: data.name.clone(), start, size });
        }
    }

    /// The places of a program that was read: the lines of its source if the file has them, else
    /// those of the text.
    pub(super) fn of_sass(path: &str, text: &str, kernel: &Kernel) -> Places {
        let mut places = Places::default();
        let program = &kernel.program;
        let mut lines = program.lines.iter().peekable();
        let mut current = None;
        let (mut at, mut line) = (0, 1);
        for (index, span) in (0..).zip(&kernel.spans) {
            while let Some(next) = lines.next_if(|next| next.inst <= index) {
                let file = program.files.get(next.file as usize);
                current = file.map(|file| format!("{file}:{}", next.line));
            }
            let newlines = text.as_bytes().get(at..span.start).unwrap_or_default();
            line += newlines.iter().filter(|&&byte| byte == b'\n').count();
            at = span.start.max(at);
            let own = (!program.files.is_empty()).then(|| current.clone()).flatten();
            places.insts.insert(index, own.unwrap_or_else(|| format!("{path}:{line}")));
        }
        places
    }

    /// The indices of the instructions of a program whose accesses are strong in the source; `None`
    /// without a source.
    pub(super) fn strong(&self, program: &Program) -> Option<Vec<u32>> {
        self.source.as_ref()?;
        let mut starts: Vec<(u32, &str)> = program
            .functions
            .iter()
            .filter_map(|function| Some((function.start?, function.name.as_str())))
            .collect();
        starts.sort_unstable();
        let is_strong = |index: u32, loc: u32| {
            let after = starts.partition_point(|(start, _)| *start <= index);
            let name = after.checked_sub(1).map_or(program.name.as_str(), |place| starts[place].1);
            self.strong.contains(&(name.to_string(), loc))
        };
        let insts = (0..).zip(&program.insts).filter(|(index, coded)| is_strong(*index, coded.loc));
        Some(insts.map(|(index, _)| index).collect())
    }

    /// Completes findings with lines and variables.
    pub(super) fn complete(&self, findings: &mut [Finding]) {
        for finding in findings {
            if finding.is_shared {
                finding.variable = self.variable(finding.address);
            }
            for side in &mut finding.sides {
                side.line = self.line(side);
            }
        }
    }

    fn line(&self, side: &Side) -> Option<String> {
        let of_node = || {
            let (name, node) = side.source.as_ref()?;
            let Source { db, file, funcs } = self.source.as_ref()?;
            let (_, func) = funcs.iter().find(|(other, _)| other == name)?;
            let node = source_node(SourceLoc(*node))?;
            let at = locate(db, *func, &Diagnostic::unsupported(node, "")).primary.0.start;
            let before = file.text(db).as_bytes().get(..at as usize)?;
            let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
            Some(format!("{}:{line}", file.path(db)))
        };
        self.insts.get(&side.pc).cloned().or_else(of_node)
    }

    /// The shared variable at a byte, and the offset in it.
    fn variable(&self, address: u64) -> Option<(String, u64)> {
        let before = self.variables.partition_point(|variable| variable.start <= address);
        let variable = self.variables[..before]
            .iter()
            .rev()
            .find(|variable| variable.size == 0 || address < variable.start + variable.size)?;
        Some((variable.name.clone(), address - variable.start))
    }
}
