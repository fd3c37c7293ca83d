//! A file as a cubin: its kernels as bits, and the source lines that they come from.
//!
//! A kernel's instructions know the nodes of the syntax trees that they come from: those of their
//! own function or of a callee. The line of a node is that of the `.loc` before it; `.file` gives
//! the name of the source file. The instructions of a runtime routine belong to the line of the
//! call.

#![allow(missing_docs, reason = "salsa generates methods that carry no documentation")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ptxc_codegen::func_code::FuncCode;
use ptxc_object::cubin::{Cubin, CubinError, Line, Module, Source, assemble, write};
use ptxc_ptx::diagnostic::{Diagnostic, source_node};
use ptxc_sass::Program;
use ptxc_syntax::ast::{Item, StatementKind};
use ptxc_syntax::items::ItemKind;
use ptxc_syntax::{NodeId, parse_item};
use rustc_hash::FxHashMap;

use crate::db::Db;
use crate::images;
use crate::input::items::{Func, items};
use crate::input::{Options, SourceFile};
use crate::module::{ast, header};
use crate::output::{kernels, locate};
use crate::prototypes::prototypes;
use crate::render::Located;
use crate::stages::arch;
use crate::stages::outline::{device_callees, named_callee};
use crate::variables::{bindings, outside_variables, unnamed};

/// The bytes of a file's cubin, with all its kernels. Kernels with errors are missing from it, so
/// check
/// [`diagnostics`](crate::diagnostics) first.
#[salsa::tracked(returns(ref))]
pub fn cubin(db: &dyn Db, file: SourceFile, options: Options) -> Arc<Result<Vec<u8>, CubinError>> {
    Arc::new(cubin_of(db, file, options, &coded_kernels(db, file, options)))
}

fn coded_kernels(db: &dyn Db, file: SourceFile, options: Options) -> Vec<(Func, &FuncCode)> {
    kernels(db, file, options).into_iter().filter_map(|(func, code)| Some((func, code?))).collect()
}

/// The contents of a file's cubin, for a linker.
#[salsa::tracked(returns(ref))]
pub fn object(db: &dyn Db, file: SourceFile, options: Options) -> Arc<Result<Cubin, CubinError>> {
    Arc::new(contents(db, file, options, &coded_kernels(db, file, options)))
}

/// The bytes of a cubin with some of a file's kernels.
///
/// # Errors
/// Anything that a cubin can't hold.
pub fn cubin_of(
    db: &dyn Db,
    file: SourceFile,
    options: Options,
    kernels: &[(Func, &FuncCode)],
) -> Result<Vec<u8>, CubinError> {
    write(&contents(db, file, options, kernels)?)
}

fn contents(
    db: &dyn Db,
    file: SourceFile,
    options: Options,
    kernels: &[(Func, &FuncCode)],
) -> Result<Cubin, CubinError> {
    let with_lines = options.line_info(db);
    let files = if with_lines { source_files(db, file) } else { SourceFiles::default() };
    let sources: Vec<Source<'_>> = kernels
        .iter()
        .map(|&(func, code)| {
            let lines = if with_lines { lines(db, func, &code.program, &files) } else { Vec::new() };
            Source { program: &code.program, lines }
        })
        .collect();
    let codes: Vec<&FuncCode> = kernels.iter().map(|&(_, code)| code).collect();
    let module = Module {
        files: files.names,
        variables: unnamed(db, file, &codes, options.relocatable(db)),
        bindings: bindings(db, file),
        relocatable: options.relocatable(db),
        outside: declared(db, file),
        outside_variables: outside_variables(db, file),
        prototypes: if options.relocatable(db) { prototypes(db, file) } else { BTreeMap::new() },
        has_samplers: header(db, file).has_samplers,
        images: images::declared(db, file),
        attributes: images::samplers(db, file),
        ..Module::of(arch(db, file, options), options.abi(db))
    };
    assemble(&sources, module)
}

/// The functions that a file declares and does not define.
fn declared(db: &dyn Db, file: SourceFile) -> BTreeSet<String> {
    let functions = items(db, file).functions.iter().filter(|func| !func.has_body(db));
    functions.map(|func| func.name(db).to_string()).collect()
}

/// The error as a finding, at the place of the instruction that it is about.
pub fn finding(db: &dyn Db, file: SourceFile, options: Options, error: &CubinError) -> Located {
    let mut place = None;
    if let CubinError::Code { function, offset, .. } = error {
        for (func, code) in kernels(db, file, options) {
            let Some(code) = code.filter(|code| code.program.name == *function) else { continue };
            let index = (offset / Program::INST_BYTES) as usize;
            let owner =
                owners(db, func, &code.program).into_iter().rfind(|(start, _)| *start as usize <= index);
            let Some((_, Some(owner))) = owner else { continue };
            let coded = code.program.insts.get(index);
            place =
                coded.and_then(|coded| source_node(ptxc_ir::SourceLoc(coded.loc))).map(|node| (owner, node));
        }
    }
    let place = place.or_else(|| Some((*items(db, file).functions.first()?, NodeId(0))));
    let diagnostic = |node| match error {
        CubinError::Unsupported(what) => Diagnostic::unsupported(node, format!("{what} in a cubin")),
        other => Diagnostic::unsupported(node, "the encoding of this code").note(other.to_string()),
    };
    match place {
        Some((func, node)) => locate(db, func, &diagnostic(node)),
        None => Located {
            code: ptxc_ptx::diagnostic::UNSUPPORTED.to_string(),
            severity: ptxc_ptx::diagnostic::Severity::Error,
            message: error.to_string(),
            primary: (ptxc_syntax::Span::new(0, 0), String::new()),
            secondary: Vec::new(),
            notes: Vec::new(),
            help: None,
        },
    }
}

/// The `.file`s of a module.
#[derive(Default)]
struct SourceFiles {
    names: Vec<String>,
    /// The place of a file's name, by its number.
    places: FxHashMap<u64, u32>,
}

impl SourceFiles {
    fn add(&mut self, index: u64, name: &str) {
        let place = self.names.len() as u32;
        if let std::collections::hash_map::Entry::Vacant(vacant) = self.places.entry(index) {
            vacant.insert(place);
            self.names.push(name.to_string());
        }
    }
}

fn source_files(db: &dyn Db, file: SourceFile) -> SourceFiles {
    let mut files = SourceFiles::default();
    let items = items(db, file);
    for item in items.others.iter().filter(|item| item.kind == ItemKind::File) {
        if let Some(Item::File(file)) = parse_item(&item.text, item.kind).value {
            files.add(file.index, &file.name);
        }
    }
    for &func in &items.functions {
        for statement in ast(db, func).body.iter().flatten() {
            if let StatementKind::File(file) = &statement.kind {
                files.add(file.index, &file.name);
            }
        }
    }
    files
}

/// The functions that the code of a program belongs to, each with the index of its first
/// instruction; `None` is a routine.
fn owners(db: &dyn Db, func: Func, program: &Program) -> Vec<(u32, Option<Func>)> {
    let mut owners = vec![(0, Some(func))];
    for function in program.functions.iter().skip(1) {
        let owner = named_callee(db, func.file(db), &function.name);
        let owner = owner.filter(|owner| device_callees(db, func).contains(owner));
        owners.extend(function.start.map(|start| (start, owner)));
    }
    owners.sort_by_key(|(start, _)| *start);
    owners
}

/// The source lines of a program's instructions, with an entry at each change of the line.
fn lines(db: &dyn Db, func: Func, program: &Program, files: &SourceFiles) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let owners = owners(db, func, program);
    let ends = owners.iter().skip(1).map(|(start, _)| *start).chain([program.insts.len() as u32]);
    for (&(start, owner), end) in owners.iter().zip(ends) {
        let Some(owner) = owner else { continue };
        let of_nodes = lines_of_nodes(db, owner, files);
        for index in start..end.max(start) {
            let Some(coded) = program.insts.get(index as usize) else { break };
            let Some(&(file, line)) = of_nodes.get(&coded.loc) else { continue };
            if lines.last().is_none_or(|last| (last.file, last.line) != (file, line)) {
                lines.push(Line { offset: index * Program::INST_BYTES, file, line });
            }
        }
    }
    lines
}

/// The file and line of each statement of a function that follows a `.loc`.
fn lines_of_nodes(db: &dyn Db, func: Func, files: &SourceFiles) -> FxHashMap<u32, (u32, u32)> {
    let mut of_nodes = FxHashMap::default();
    let mut current = None;
    for statement in ast(db, func).body.iter().flatten() {
        match &statement.kind {
            StatementKind::Location(location) => {
                let place = files.places.get(&location.file).copied();
                current = place.zip(u32::try_from(location.line).ok());
            }
            _ => {
                of_nodes.extend(current.map(|line| (statement.id.0, line)));
            }
        }
    }
    of_nodes
}
