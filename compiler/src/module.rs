//! The module as its functions see it: header, names, signatures.
//!
//! These queries are the firewall between functions. They return no positions, and each query looks
//! up one name, so a function depends only on the names that it mentions.

#![allow(missing_docs, reason = "salsa generates methods that carry no documentation")]

use std::sync::Arc;

use indexmap::IndexMap;
use ptxc_ptx::check::env::{
    self, Declared, ModuleEnv, PtxTarget, PtxVersion, Signature, TargetKind, Variable,
};
use ptxc_ptx::check::own_variables::OwnVariable;
use ptxc_ptx::check::targets;
use ptxc_syntax::ast::{Function, Item, Linkage, Space, StatementKind};
use ptxc_syntax::codes::{self, Code};
use ptxc_syntax::items::ItemKind;
use ptxc_syntax::{Name, NodeId, Parsed, parse_function, parse_item, parse_signature};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::db::Db;
use crate::input::SourceFile;
use crate::input::items::{Func, items, places};
use crate::old_kernels;

mod image_places;
mod names;
mod target;

use image_places::{image_words, mentions_image};
use names::mentioned;
pub use target::arch_of_target;
use target::parameter_base;

/// The version with a calling convention. Before it, functions were parts of their kernels, and a
/// thread's registers and local variables could be declared for all of them.
pub(crate) const ABI: PtxVersion = PtxVersion(3, 0);

/// The header of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// `.version`; the newest one if the file has none.
    pub version: PtxVersion,
    /// The first `.target` that names an architecture; sm_90 if the file has none.
    pub target: PtxTarget,
    /// `.address_size`; 64 if the file has none.
    pub address_bits: u32,
    /// Whether `.target` has the option `map_f64_to_f32`.
    pub maps_double: bool,
    /// Whether `.target` has the option `texmode_independent`.
    pub has_samplers: bool,
}

/// The header of a file.
#[salsa::tracked(returns(ref))]
pub fn header(db: &dyn Db, file: SourceFile) -> Header {
    let mut header = Header {
        version: PtxVersion::NEWEST,
        target: PtxTarget { number: 90, kind: TargetKind::Baseline },
        address_bits: 64,
        maps_double: false,
        has_samplers: false,
    };
    for item in &items(db, file).others {
        if !matches!(item.kind, ItemKind::Version | ItemKind::Target | ItemKind::AddressSize) {
            continue;
        }
        match parse_item(&item.text, item.kind).value {
            Some(Item::Version(version)) => header.version = PtxVersion(version.major, version.minor),
            Some(Item::Target(target)) => {
                if let Some(found) = target.names.iter().find_map(|name| PtxTarget::parse(&name.name)) {
                    header.target = found;
                }
                let has = |option| target.names.iter().any(|name| name.name == option);
                header.maps_double |= has(targets::MAP_F64_TO_F32);
                header.has_samplers |= has(targets::INDEPENDENT_TEXTURES);
            }
            Some(Item::AddressSize(size)) => header.address_bits = size.bits,
            _ => {}
        }
    }
    header
}

/// The variables of a file with their places in the module: those that it declares outside its
/// functions, then the constant and global variables of its functions.
pub(crate) fn module_variables(db: &dyn Db, file: SourceFile) -> &IndexMap<Name, Variable> {
    &declared_variables(db, file).0
}

/// The constant and global variables that a function declares in its body.
#[salsa::tracked(returns(ref))]
pub(crate) fn own_variables(db: &dyn Db, func: Func) -> Vec<OwnVariable> {
    // Most functions declare none, and their trees are not needed.
    match may_declare(func.code(db), ".global") || may_declare(func.code(db), ".const") {
        true => ptxc_ptx::check::own_variables::own_variables(ast(db, func)),
        false => Vec::new(),
    }
}

/// Whether a function's text may declare variables in a state space, given with its dot. Instructions
/// also have such words, but after other letters.
fn may_declare(code: &str, space: &str) -> bool {
    let follows = |at: usize| code[..at].chars().next_back().is_none_or(|c| !c.is_ascii_alphanumeric());
    code.match_indices(space).any(|(at, _)| follows(at))
}

/// The variables of a file. For each that it declares outside its functions, which come first, the
/// list has the first item that declares it, as an index into the items other than functions.
#[salsa::tracked(returns(ref))]
fn declared_variables(db: &dyn Db, file: SourceFile) -> (IndexMap<Name, Variable>, Vec<u32>) {
    let mut found: IndexMap<Name, Variable> = IndexMap::new();
    let mut first = Vec::new();
    let mut room = env::MOST_IN_RANGES;
    for (item, index) in items(db, file).others.iter().zip(0..) {
        if item.kind != ItemKind::Variable {
            continue;
        }
        let Some(Item::Declaration(declaration)) = parse_item(&item.text, item.kind).value else { continue };
        for Declared { name, variable, .. } in env::variables(&declaration, &mut room) {
            let variable = variable.unwrap_or_else(|| env::stand_in(&declaration));
            // A definition may follow a declaration, so the entry is completed.
            let entry = found.entry(name).or_insert_with(|| {
                first.push(index);
                variable.clone()
            });
            if entry.linkage == Some(Linkage::Extern) {
                *entry = variable;
            }
        }
    }
    let own = items(db, file).functions.iter().flat_map(|&func| own_variables(db, func));
    found.extend(own.map(|own| (own.name.clone(), own.variable.clone())));
    if !has_many_globals(&found) {
        env::place(found.iter_mut(), &|_| true);
    } else {
        let used = used_names(db, file, &found);
        env::place(found.iter_mut(), &|name| used.contains(name));
    }
    (found, first)
}

/// Whether a file has so many global variables that only those that functions mention have addresses.
fn has_many_globals(variables: &IndexMap<Name, Variable>) -> bool {
    variables.values().filter(|variable| variable.space == Space::Global).count() > env::MOST_ADDRESSES
}

/// The same for the functions of the file, which look it up.
#[salsa::tracked(returns(copy))]
fn places_used_names(db: &dyn Db, file: SourceFile) -> bool {
    has_many_globals(module_variables(db, file))
}

/// The part of a function's body that decides the places of its module's variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mentions {
    /// The constant and global variables that it declares.
    own: Vec<(Name, Variable)>,
    /// Its shared memory, if it is a device function.
    shared: Option<SharedUse>,
    /// Whether it is a device function that mentions a texture, a sampler or a surface.
    has_image: bool,
    /// The names that it mentions, if they decide which global variables have addresses.
    names: Vec<Name>,
    /// Whether its text has syntax errors, if other declarations are compared with it.
    is_damaged: bool,
}

/// The part of a function's body that decides the places of its module's variables.
pub(crate) fn mentions(db: &dyn Db, func: Func) -> Mentions {
    let file = func.file(db);
    let is_device = func.kind(db) == ItemKind::Func;
    let own = own_variables(db, func).iter().map(|own| (own.name.clone(), own.variable.clone()));
    Mentions {
        own: own.collect(),
        shared: is_device.then(|| shared_use(db, func).clone()),
        has_image: is_device && mentions_image(db, func),
        names: if places_used_names(db, file) { mentioned(db, func).clone() } else { Vec::new() },
        is_damaged: function_names(db, file).again.contains(func.name(db)) && is_damaged(db, func),
    }
}

/// The device functions that a file declares and does not define, with the places of their addresses
/// in constant bank 4, after those of global variables, in bytes.
#[salsa::tracked(returns(ref))]
fn external_functions(db: &dyn Db, file: SourceFile) -> IndexMap<Name, u32> {
    let names = function_names(db, file);
    let mut found = IndexMap::new();
    let globals = module_variables(db, file).values().filter(|variable| variable.space == Space::Global);
    let mut next = globals.filter_map(|variable| Some(variable.place? + 8)).max().unwrap_or(0);
    for &func in &items(db, file).functions {
        let name = func.name(db);
        let is_here = names.defined.contains_key(name) || names.aliases.contains_key(name);
        if func.kind(db) == ItemKind::Func && !is_here && !found.contains_key(name) {
            found.insert(name.clone(), next);
            next += 8;
        }
    }
    found
}

/// The number of functions before each item other than a function.
#[salsa::tracked(returns(ref))]
fn functions_before(db: &dyn Db, file: SourceFile) -> Vec<u32> {
    let places = places(db, file);
    let mut functions = places.functions.iter().peekable();
    let mut count = 0;
    let before = places.others.iter().map(|item| {
        while functions.next_if(|function| *function < item).is_some() {
            count += 1;
        }
        count
    });
    before.collect()
}

/// The number of functions before the first declaration of a variable, a function or an alias. As
/// in C, a function sees only what is declared before it, and itself.
#[salsa::tracked(returns(copy))]
fn declared_after<'db>(db: &'db dyn Db, file: SourceFile, name: ModuleName<'db>) -> Option<u32> {
    let name = name.name(db);
    let (variables, first) = declared_variables(db, file);
    let item = variables.get_index_of(name).and_then(|index| first.get(index).copied());
    let variable = item.and_then(|item| functions_before(db, file).get(item as usize).copied());
    let function = function_names(db, file).first.get(name).map(|&index| index as u32);
    variable.into_iter().chain(function).min()
}

/// The names that functions mention, and those whose addresses variables hold.
fn used_names(db: &dyn Db, file: SourceFile, variables: &IndexMap<Name, Variable>) -> FxHashSet<Name> {
    let mut used = FxHashSet::default();
    for &func in &items(db, file).functions {
        used.extend(mentioned(db, func).iter().cloned());
    }
    for content in variables.values().filter_map(|variable| variable.content.as_ref().ok()?.as_deref()) {
        used.extend(content.addresses.iter().map(|address| Name::from(address.symbol.as_str())));
    }
    for &func in &items(db, file).functions {
        used.extend(own_variables(db, func).iter().map(|own| own.name.clone()));
    }
    used
}

/// A name of a module.
#[salsa::interned(debug)]
pub struct ModuleName<'db> {
    /// The name.
    #[returns(ref)]
    pub name: Name,
}

/// The variable of that name, if the file declares one.
#[salsa::tracked(returns(clone))]
pub fn symbol<'db>(db: &'db dyn Db, file: SourceFile, name: ModuleName<'db>) -> Option<Variable> {
    module_variables(db, file).get(name.name(db)).cloned()
}

/// The functions of a file by their names, as indices into the functions of the items.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct FunctionNames {
    /// The first function of each name.
    first: IndexMap<Name, usize>,
    /// The first definition of each name.
    defined: IndexMap<Name, usize>,
    /// The functions that `.alias` directives define other names for.
    aliases: IndexMap<Name, Name>,
    /// The names that several functions have, or that an `.alias` has.
    again: FxHashSet<Name>,
}

#[salsa::tracked(returns(ref))]
fn function_names(db: &dyn Db, file: SourceFile) -> FunctionNames {
    let mut names = FunctionNames::default();
    for (position, func) in items(db, file).functions.iter().enumerate() {
        if *names.first.entry(func.name(db).clone()).or_insert(position) != position {
            names.again.insert(func.name(db).clone());
        }
        if func.has_body(db) {
            names.defined.entry(func.name(db).clone()).or_insert(position);
        }
    }
    for item in items(db, file).others.iter().filter(|item| item.kind == ItemKind::Alias) {
        if let Some(Item::Alias(alias)) = parse_item(&item.text, item.kind).value {
            names.again.extend([alias.name.name.clone(), alias.aliasee.name.clone()]);
            names.aliases.insert(alias.name.name, alias.aliasee.name);
        }
    }
    names
}

/// The signature of the function of that name, if the file has one.
#[salsa::tracked(returns(clone))]
pub fn signature<'db>(db: &'db dyn Db, file: SourceFile, name: ModuleName<'db>) -> Option<Signature> {
    let name = name.name(db);
    let name = function_names(db, file).aliases.get(name).unwrap_or(name);
    let position = *function_names(db, file).first.get(name)?;
    let func = items(db, file).functions.get(position)?;
    Some(env::signature(&parse_signature(func.code(db)).value))
}

/// The function of that name, if the file defines one.
#[salsa::tracked(returns(copy))]
pub fn definition<'db>(db: &'db dyn Db, file: SourceFile, name: ModuleName<'db>) -> Option<Func> {
    let position = *function_names(db, file).defined.get(name.name(db))?;
    items(db, file).functions.get(position).copied()
}

/// A function parsed from its [`code`](Func::code): the tree, the errors, and the spans in that
/// text.
#[salsa::tracked(returns(ref), no_eq)]
fn tree(db: &dyn Db, func: Func) -> Arc<Parsed<Function>> {
    Arc::new(with_parameters(db, func, parse_function(func.code(db))))
}

/// A function parsed from its present text: tree, spans relative to the text, errors. Only
/// diagnostics ask for it. If spaces or comments have changed, the function is parsed again.
#[salsa::tracked(returns(ref), no_eq)]
pub fn parsed(db: &dyn Db, func: Func) -> Arc<Parsed<Function>> {
    match Arc::ptr_eq(func.text(db), func.code(db)) {
        true => tree(db, func).clone(),
        false => Arc::new(with_parameters(db, func, parse_function(func.text(db)))),
    }
}

/// A function whose parameters are in its list, wherever its version of PTX has them declared.
fn with_parameters(db: &dyn Db, func: Func, mut parsed: Parsed<Function>) -> Parsed<Function> {
    let is_old = || header(db, func.file(db)).version < old_kernels::PARAMETER_LISTS;
    if old_kernels::declares_parameters(&parsed.value) && is_old() {
        old_kernels::list_parameters(&mut parsed.value);
    }
    parsed
}

/// A function's tree. It has no positions, so it stays the same while only spaces and comments
/// change.
pub fn ast(db: &dyn Db, func: Func) -> &Function {
    &tree(db, func).value
}

/// Whether a function's text has syntax errors, so that its tree lacks statements.
pub fn is_damaged(db: &dyn Db, func: Func) -> bool {
    !tree(db, func).errors.is_empty()
}

/// The words that skipped text of a function may declare. A declaration such as `%r<9>` stands for
/// every name that begins with `%r`.
#[derive(Default)]
pub(crate) struct Lost {
    words: FxHashSet<Name>,
    stems: FxHashSet<Name>,
    /// Whether the skipped text may declare any name.
    any: bool,
}

/// Errors after which any name may be missing: blocks that end in the wrong place, and text that is
/// not read at all.
const HIDING: [Code; 4] =
    [codes::UNTERMINATED_COMMENT, codes::UNCLOSED_BODY, codes::UNMATCHED_BRACE, codes::BODY_TOO_LARGE];

impl Lost {
    /// Finds them. Skipped text that begins with an instruction declares only a label there.
    pub(crate) fn of(db: &dyn Db, func: Func) -> Lost {
        let (text, tree, mut lost) = (func.code(db), tree(db, func), Lost::default());
        lost.any = tree.errors.iter().any(|error| HIDING.contains(&error.code));
        for part in &tree.lost {
            let text = &text[part.range()];
            let lists = [".branchtargets", ".calltargets", ".callprototype"];
            // The label that names such a list is missing.
            lost.any |= lists.iter().any(|list| text.starts_with(list));
            let mut last: Option<Name> = None;
            for token in ptxc_syntax::tokens(text) {
                let word = &text[token.range()];
                match (word, &last) {
                    ("<", Some(stem)) => drop(lost.stems.insert(stem.clone())),
                    _ => {
                        last = Some(Name::new(word));
                        lost.words.extend(last.clone());
                    }
                }
                if !text.starts_with('.') {
                    break;
                }
            }
        }
        lost
    }

    /// Whether the text of an operand mentions one of the words.
    pub(crate) fn explains(&self, operand: &str) -> bool {
        self.any
            || ptxc_syntax::tokens(operand).any(|token| {
                let word = &operand[token.range()];
                self.words.contains(word)
                    || self.stems.contains(word.trim_end_matches(|c: char| c.is_ascii_digit()))
            })
    }
}

/// The text of a node of a function.
pub(crate) fn text_of(db: &dyn Db, func: Func, node: NodeId) -> &str {
    func.code(db).get(tree(db, func).spans.get(node).range()).unwrap_or_default()
}

/// The shared memory of device functions. It is the same in all kernels that call any of them,
/// because a function is compiled once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct SharedArea {
    /// The places of the module's variables that device functions mention.
    variables: IndexMap<Name, u32>,
    /// The start of the variables that each function declares itself.
    own: IndexMap<Name, u32>,
    /// The end of all these variables.
    end: u32,
}

/// Whether a file declares shared variables outside its functions.
#[salsa::tracked(returns(copy))]
fn has_shared(db: &dyn Db, file: SourceFile) -> bool {
    module_variables(db, file).values().any(|variable| variable.space == Space::Shared)
}

/// The shared memory of a function, without its callees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SharedUse {
    /// The names of the module's variables that it mentions, except arrays of open size.
    variables: Vec<Name>,
    /// The bytes of the variables that it declares itself, in any order.
    own: u32,
    /// The alignment of these variables.
    align: u32,
}

#[salsa::tracked(returns(ref))]
pub(crate) fn shared_use(db: &dyn Db, func: Func) -> SharedUse {
    // Most functions use none, and after an edit elsewhere salsa looks only at their texts.
    if !has_shared(db, func.file(db)) && !may_declare(func.code(db), ".shared") {
        return SharedUse { variables: Vec::new(), own: 0, align: 1 };
    }
    let is_shared = |name: &&Name| {
        let variable = symbol(db, func.file(db), ModuleName::new(db, (*name).clone()));
        variable.is_some_and(|found| found.space == Space::Shared && found.size > 0)
    };
    let variables = mentioned(db, func).iter().filter(is_shared).cloned().collect();
    let (mut own, mut align, mut room) = (0u32, 1, env::MOST_IN_RANGES);
    for statement in ast(db, func).body.iter().flatten() {
        let StatementKind::Declaration(declaration) = &statement.kind else { continue };
        if declaration.specifiers.space != Space::Shared {
            continue;
        }
        let declared = env::variables(declaration, &mut room).into_iter();
        for variable in declared.filter_map(|declared| declared.variable) {
            own = variable.end_from(own).saturating_add(variable.align - 1);
            align = align.max(variable.align);
        }
    }
    SharedUse { variables, own, align }
}

/// Places the shared variables of device functions, in the order of the file. Arrays of open size
/// have no place.
#[salsa::tracked(returns(ref))]
fn shared_area(db: &dyn Db, file: SourceFile) -> Arc<SharedArea> {
    let mut area = SharedArea::default();
    for &func in items(db, file).functions.iter().filter(|func| func.kind(db) == ItemKind::Func) {
        let used = shared_use(db, func);
        for name in &used.variables {
            if !area.variables.contains_key(name)
                && let Some(variable) = symbol(db, file, ModuleName::new(db, name.clone()))
                && let Some(at) = area.end.checked_next_multiple_of(variable.align)
            {
                area.variables.insert(name.clone(), at);
                area.end = variable.end_from(at);
            }
        }
        if used.own > 0 {
            let start = area.end.checked_next_multiple_of(used.align).unwrap_or(area.end);
            area.own.insert(func.name(db).clone(), start);
            area.end = start.saturating_add(used.own);
        }
    }
    Arc::new(area)
}

/// The part of its module that a function can see.
#[salsa::tracked(returns(ref))]
pub fn environment(db: &dyn Db, func: Func) -> Arc<ModuleEnv> {
    let file = func.file(db);
    let header = header(db, file);
    let mut env = ModuleEnv {
        version: header.version,
        target: header.target,
        address_bits: header.address_bits,
        maps_double: header.maps_double,
        has_samplers: header.has_samplers,
        later: FxHashSet::default(),
        variables: IndexMap::new(),
        own: FxHashMap::default(),
        signatures: IndexMap::new(),
        external: IndexMap::new(),
        shared_start: 0,
        parameter_base: parameter_base(db, file),
    };
    let shared = shared_area(db, file);
    env.shared_start = match func.kind(db) {
        ItemKind::Func => shared.own.get(func.name(db)).copied().unwrap_or(shared.end),
        _ => shared.end,
    };
    for name in mentioned(db, func) {
        let key = ModuleName::new(db, name.clone());
        if declared_after(db, file, key).is_some_and(|functions| functions > func.index(db)) {
            env.later.insert(name.clone());
            continue;
        }
        if let Some(mut variable) = symbol(db, file, key) {
            if variable.space == Space::Shared {
                variable.place = shared.variables.get(name).copied();
            }
            if variable.is_image() {
                variable.place = image_words(db, file).get(name).copied();
            }
            env.variables.insert(name.clone(), variable);
        }
        if let Some(signature) = signature(db, file, key) {
            if let Some(&place) = external_functions(db, file).get(&signature.name) {
                env.external.insert(signature.name.clone(), place);
            }
            env.signatures.insert(name.clone(), signature);
        }
    }
    for own in own_variables(db, func) {
        if let Some(variable) = symbol(db, file, ModuleName::new(db, own.name.clone())) {
            env.own.insert(own.index, own.name.clone());
            env.variables.insert(own.name.clone(), variable);
        }
    }
    add_pointed_to(db, file, &mut env);
    Arc::new(env)
}

/// Adds the variables and functions whose addresses other variables hold.
fn add_pointed_to(db: &dyn Db, file: SourceFile, env: &mut ModuleEnv) {
    let mut next = 0;
    while let Some((_, variable)) = env.variables.get_index(next) {
        next += 1;
        let Ok(Some(content)) = &variable.content else { continue };
        for address in content.clone().addresses.iter() {
            let name = Name::from(address.symbol.as_str());
            if env.variables.contains_key(&name) || env.signatures.contains_key(&name) {
                continue;
            }
            let key = ModuleName::new(db, name.clone());
            if let Some(found) = symbol(db, file, key) {
                env.variables.insert(name, found);
            } else if let Some(found) = signature(db, file, key) {
                env.signatures.insert(name, found);
            }
        }
    }
}
