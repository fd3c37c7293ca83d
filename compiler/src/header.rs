//! The findings in a module outside its functions: version, target, address size, variables.
//!
//! They are recomputed for every report: these items are short, and no other query depends on them.

use ptxc_ptx::check::codes::{
    BAD_SIZE, NARROW_ADDRESSES, OUTSIDE_A_FUNCTION, REDECLARED, TARGET_BEFORE_VERSION, UNKNOWN_TARGET,
    UNKNOWN_VERSION, VERSION_TOO_OLD,
};
use ptxc_ptx::check::env::{self, PtxTarget, PtxVersion, Variable, variables};
use ptxc_ptx::check::names::predicate_storage;
use ptxc_ptx::check::scope::misplaces_predicate;
use ptxc_ptx::check::{declarations, initialisers, targets};
use ptxc_ptx::diagnostic::{Diagnostic, Severity};
use ptxc_syntax::ast::{Declaration, Item, Linkage, Space, Target, Type};
use ptxc_syntax::codes::{Code, MALFORMED_HEADER};
use ptxc_syntax::items::ItemKind;
use ptxc_syntax::{Name, Parsed, Span, parse_item};

use crate::addresses::{self, Functions};
use crate::db::Db;
use crate::declared::name_of;
use crate::directives::{self, Directives};
use crate::input::SourceFile;
use crate::input::items::{items, places};
use crate::locate::{MOST_FINDINGS, locate_in, syntax_error};
use crate::module::{ABI, Header, header, own_variables};
use crate::redeclared::Variables;
use crate::render::Located;

/// The first version with `.address_size`.
const ADDRESS_SIZES: PtxVersion = PtxVersion(2, 3);

/// The first target with double precision.
const DOUBLE_PRECISION: u32 = 13;

/// Every finding in a file that is not in a function.
pub(crate) fn findings(db: &dyn Db, file: SourceFile) -> Vec<Located> {
    let (items, header) = (items(db, file), header(db, file));
    let mut found = Vec::new();
    for (kind, name) in [(ItemKind::Version, ".version"), (ItemKind::Target, ".target")] {
        if items.others.iter().all(|item| item.kind != kind) {
            found.push(missing(name));
        }
    }
    let offsets = &places(db, file).others;
    let first =
        offsets.first().copied().into_iter().chain(items.functions.first().map(|func| func.offset(db)));
    let first = first.min();
    let variables = items.others.iter().zip(offsets).filter(|(item, _)| item.kind == ItemKind::Variable);
    let body =
        variables.map(|(_, &offset)| offset).chain(items.functions.first().map(|func| func.offset(db))).min();
    let is_header = |kind| matches!(kind, ItemKind::Version | ItemKind::Target | ItemKind::AddressSize);
    let content = items.others.iter().zip(offsets).filter(|(item, _)| !is_header(item.kind));
    let content = content.map(|(_, &offset)| offset);
    let content = content.chain(items.functions.first().map(|func| func.offset(db))).min();
    let mut sizes = items.others.iter().zip(offsets).filter(|(item, _)| item.kind == ItemKind::AddressSize);
    let first_size = sizes.next().map(|(_, &offset)| offset);
    let target = items.others.iter().zip(offsets).find(|(item, _)| item.kind == ItemKind::Target);
    let target = target.map(|(_, &offset)| offset);
    let mut options = TargetOptions::default();
    let (mut constants, mut contents) = (Constants::default(), Contents::default());
    let mut declared = Variables::default();
    let mut room = env::MOST_IN_RANGES;
    let mut directives = Directives::default();
    let mut functions = Functions::new(db, file);
    for (item, &offset) in items.others.iter().zip(offsets) {
        // Each character may be an item of its own, so the number of findings is bounded here.
        if found.len() > MOST_FINDINGS {
            break;
        }
        let parsed = parse_item(&item.text, item.kind);
        found.extend(parsed.errors.iter().map(|error| syntax_error(error, offset)));
        let whole = Span::new(offset, offset + item.text.len() as u32);
        match &parsed.value {
            Some(Item::Version(version)) => {
                found.extend(unknown_version(PtxVersion(version.major, version.minor), whole));
                if first.is_some_and(|first| first < offset) {
                    found.push(
                        error(MALFORMED_HEADER, "`.version` must be the first directive of a file", whole)
                            .help("move it to the top"),
                    );
                }
            }
            Some(Item::AddressSize(_)) if target.is_none_or(|target| offset < target) => {
                found.push(
                    error(MALFORMED_HEADER, "`.address_size` must follow `.target`", whole)
                        .help("write `.version`, `.target` and `.address_size` in this order"),
                );
            }
            Some(Item::AddressSize(_)) if body.is_some_and(|body| body < offset) => {
                found.push(
                    error(
                        MALFORMED_HEADER,
                        "`.address_size` must precede all variables and functions",
                        whole,
                    )
                    .help("move it after `.target`"),
                );
            }
            Some(Item::AddressSize(_)) if first_size.is_some_and(|first| first < offset) => {
                found.push(
                    error(MALFORMED_HEADER, "a file has one `.address_size`", whole).help("remove this one"),
                );
            }
            Some(Item::Target(_))
                // An `.address_size` before the first target has its own error.
                if content.is_some_and(|content| content < offset)
                    || first_size.is_some_and(|size| target.is_some_and(|first| first < size && size < offset)) =>
            {
                found.push(
                    error(MALFORMED_HEADER, "`.target` must directly follow `.version`", whole)
                        .help("write every target and option at the top, after `.version`"),
                );
            }
            Some(item @ (Item::Section(_) | Item::File(_) | Item::Pragma(_))) => {
                let mut findings = Vec::new();
                directives.check(item, header, &mut findings);
                found.extend(findings.iter().map(|finding| locate_in(&parsed.spans, offset, finding)));
            }
            Some(Item::Target(target)) if !options.are_sound(target) => {
                found.push(
                    error(MALFORMED_HEADER, "the options of `.target` contradict each other", whole)
                        .help("write a target such as `sm_90` first, and at most one mode of textures"),
                );
            }
            Some(Item::Target(target)) => {
                for name in &target.names {
                    let span = parsed.spans.get(name.id).shifted(offset);
                    if name.name == targets::MAP_F64_TO_F32 && header.target.number >= DOUBLE_PRECISION {
                        found.push(mapped_double(header.target, span));
                    } else {
                        found.extend(misplaced_target(&name.name, header.version, span));
                    }
                    let mut findings = Vec::new();
                    directives::option(name, header, &mut findings);
                    found.extend(findings.iter().map(|finding| locate_in(&parsed.spans, offset, finding)));
                    let has_section = || items.others.iter().any(|item| item.kind == ItemKind::Section);
                    if name.name == targets::DEBUG && findings.is_empty() && !has_section() {
                        let message = "the option `debug` is for modules with debug sections";
                        found.push(error(MALFORMED_HEADER, message, span).help("remove it"));
                    }
                }
            }
            Some(Item::AddressSize(_)) if header.version < ADDRESS_SIZES => {
                let message = format!("`.address_size` needs PTX {ADDRESS_SIZES} or later");
                found.push(
                    error(VERSION_TOO_OLD, message, whole)
                        .label(format!("the module has `.version {}`", header.version))
                        .help("remove it"),
                );
            }
            Some(Item::AddressSize(size)) if size.bits == 32 => {
                let message = format!("code for {} needs 64-bit addresses", header.target);
                found.push(error(NARROW_ADDRESSES, message, whole).help("write `.address_size 64`"));
            }
            Some(Item::Declaration(declaration)) => {
                let sizes = (&mut constants, &mut contents);
                let names = (&mut declared, &mut room);
                let known = found.len();
                variable_findings(header, declaration, &parsed, offset, names, sizes, &mut found);
                functions.advance(offset);
                if found.len() == known {
                    let mut findings = Vec::new();
                    let names = (&declared, &functions);
                    addresses::check((db, file), declaration, names, header, &mut findings);
                    found.extend(findings.iter().map(|finding| locate_in(&parsed.spans, offset, finding)));
                }
            }
            _ => {}
        }
    }
    for func in &items.functions {
        for own in own_variables(db, *func).iter().filter(|own| own.variable.space == Space::Const) {
            found.extend(constants.add(&own.name, &own.variable, name_of(db, *func)));
        }
        for own in own_variables(db, *func) {
            found.extend(contents.add(&own.name, &own.variable, name_of(db, *func)));
        }
        if let Some(variable) = declared.get(func.name(db)) {
            let message = format!("`{}` is a function and a variable of this module", func.name(db));
            found.push(
                error(REDECLARED, message, variable.span).label("the variable").help("rename one of them"),
            );
        }
    }
    found
}

/// The options in the `.target` directives so far.
#[derive(Default)]
struct TargetOptions {
    architecture: bool,
    textures: Option<Name>,
}

impl TargetOptions {
    /// Whether the architecture comes first, and all modes of textures are the same.
    fn are_sound(&mut self, target: &Target) -> bool {
        target.names.iter().all(|name| {
            if !targets::OPTIONS.contains(&name.name.as_str()) {
                self.architecture = true;
            } else if name.name.starts_with("texmode") {
                return *self.textures.get_or_insert(name.name.clone()) == name.name && self.architecture;
            }
            self.architecture
        })
    }
}

/// The most bytes of constants in a module: the size of a constant bank.
const CONSTANT_BANK: u64 = 1 << 16;

/// The constants of a module, which share a bank.
#[derive(Default)]
struct Constants {
    bytes: u64,
}

impl Constants {
    /// Adds a constant; the first one that overflows the bank is an error.
    fn add(&mut self, name: &Name, variable: &Variable, span: Span) -> Option<Located> {
        let fits = self.bytes <= CONSTANT_BANK;
        self.bytes = self.bytes.next_multiple_of(variable.align.max(1).into()) + variable.size;
        if !fits || self.bytes <= CONSTANT_BANK {
            return None;
        }
        let message = format!("with `{name}`, the constants of this module take {} bytes", self.bytes);
        Some(
            error(BAD_SIZE, message, span)
                .label(format!("a module has room for {CONSTANT_BANK}"))
                .help("declare large tables as `.global`"),
        )
    }
}

/// The most bytes of content that the machine code of a module can have.
const MOST_CONTENT: u64 = 1 << 28;

/// The content of a module's variables, which becomes part of its machine code.
#[derive(Default)]
struct Contents {
    bytes: u64,
}

impl Contents {
    /// Adds a variable with an initialiser; the first one that exceeds the limit is an error.
    fn add(&mut self, name: &Name, variable: &Variable, span: Span) -> Option<Located> {
        if !matches!(variable.content, Ok(Some(_))) {
            return None;
        }
        let fits = self.bytes <= MOST_CONTENT;
        self.bytes += variable.size;
        if !fits || self.bytes <= MOST_CONTENT {
            return None;
        }
        let message =
            format!("with `{name}`, the initialised variables of this module take {} bytes", self.bytes);
        Some(
            error(BAD_SIZE, message, span)
                .label(format!("a module has room for {MOST_CONTENT}"))
                .help("remove the initialiser, and fill the variable with a copy or a kernel"),
        )
    }
}

/// The error in the place or the type of a declaration between functions.
fn misplaced(
    declaration: &Declaration,
    version: PtxVersion,
    parsed: &Parsed<Option<Item>>,
    offset: u32,
) -> Option<Located> {
    let specifiers = &declaration.specifiers;
    let name = &declaration.declarators.first()?.name;
    let at = |finding| locate_in(&parsed.spans, offset, &finding);
    // The error about registers comes with the code, see `registers`.
    if version < ABI && matches!(specifiers.space, Space::Local | Space::Reg) {
        return None;
    }
    if matches!(specifiers.space, Space::Reg | Space::Local | Space::Param) {
        let message =
            format!("`{}` in `.{}` is declared outside a function", name.name, specifiers.space.spelling());
        let finding =
            Diagnostic::error(OUTSIDE_A_FUNCTION, name.id, message).label("no thread owns it").help(
                "declare it in each function that uses it, or as a `.global` variable that all threads share",
            );
        return Some(at(finding));
    }
    misplaces_predicate(specifiers).then(|| at(predicate_storage(name.id, &name.name)))
}

/// The registers that old modules declare for all of their functions; they have no code.
pub(crate) fn registers(db: &dyn Db, file: SourceFile) -> Vec<Located> {
    let mut found = Vec::new();
    if header(db, file).version >= ABI {
        return found;
    }
    for (item, &offset) in items(db, file).others.iter().zip(&places(db, file).others) {
        if item.kind != ItemKind::Variable || found.len() > MOST_FINDINGS {
            continue;
        }
        let parsed = parse_item(&item.text, item.kind);
        let Some(Item::Declaration(declaration)) = &parsed.value else { continue };
        let first = declaration.declarators.first().filter(|_| declaration.specifiers.space == Space::Reg);
        if let Some(name) = first.map(|declarator| &declarator.name) {
            let what = format!("the register `{}` outside a function", name.name);
            let finding = Diagnostic::unsupported(name.id, what);
            let finding = finding.help("declare it in each function that uses it");
            found.push(locate_in(&parsed.spans, offset, &finding));
        }
    }
    found
}

/// The errors in the variables of a declaration.
fn variable_findings(
    header: &Header,
    declaration: &Declaration,
    parsed: &Parsed<Option<Item>>,
    offset: u32,
    (declared, room): (&mut Variables, &mut u32),
    (constants, contents): (&mut Constants, &mut Contents),
    found: &mut Vec<Located>,
) {
    if let Some(finding) = misplaced(declaration, header.version, parsed, offset) {
        found.push(finding);
        return;
    }
    let mut misfits = Vec::new();
    // In a module without samplers, ptxas accepts only arrays of them.
    let single = declaration.declarators.iter().find(|declarator| declarator.dimensions.is_empty());
    if let Some(single) = single.filter(|_| declaration.specifiers.ty == Type::Samplerref)
        && !header.has_samplers
    {
        misfits.push(declarations::no_samplers(single.name.id));
    }
    declarations::in_module(declaration, (header.version, header.target), &mut misfits);
    initialisers::check(declaration, (header.version, header.target), &mut misfits);
    found.extend(misfits.into_iter().map(|misfit| locate_in(&parsed.spans, offset, &misfit)));
    let too_coarse = declaration.specifiers.align.as_ref().and_then(env::constant_u32);
    let too_coarse = too_coarse.filter(|align| *align > env::MOST_ALIGNMENT);
    for one in variables(declaration, room) {
        let (name, declarator) = (&one.name, one.declarator);
        let span = parsed.spans.get(declarator.name.id).shifted(offset);
        if let Some(conflict) = declared.add(declaration, &one, span) {
            let mut finding = locate_in(&parsed.spans, offset, &conflict.finding);
            finding.secondary.push((conflict.first, conflict.label.into()));
            found.push(finding);
            continue;
        }
        if let Some(align) = too_coarse {
            let message = format!("`{name}` can't be aligned to {align} bytes");
            let finding = error(BAD_SIZE, message, span);
            found.push(finding.label(format!("{} is the largest alignment", env::MOST_ALIGNMENT)));
            continue;
        }
        let Some(variable) = &one.variable else {
            let message = format!("the size of `{name}` is not a valid constant");
            found.push(error(BAD_SIZE, message, span).label("not a positive constant, or too large"));
            continue;
        };
        if declaration.linkage == Some(Linkage::Extern) {
            continue;
        }
        if variable.size == 0 && declaration.linkage.is_none() && variable.space != Space::Reg {
            let message = format!("`{name}` has no size");
            found.push(
                error(BAD_SIZE, message, span)
                    .label("an array of no elements")
                    .help("declare an array whose size the launch sets as `.extern .shared`"),
            );
        }
        if variable.space == Space::Const {
            found.extend(constants.add(name, variable, span));
        }
        found.extend(contents.add(name, variable, span));
    }
}

/// A version that PTX does not have, or does not have yet.
fn unknown_version(version: PtxVersion, span: Span) -> Option<Located> {
    if version.is_known() {
        return None;
    }
    let newest = PtxVersion::NEWEST;
    let help = match version > newest {
        true => format!("write at most `.version {newest}`, the newest version that ptxc knows"),
        false => format!("write a version such as `.version 8.0`; ptxc knows versions up to {newest}"),
    };
    Some(error(UNKNOWN_VERSION, format!("unknown PTX version {version}"), span).help(help))
}

/// `map_f64_to_f32` for a target with double precision.
fn mapped_double(target: PtxTarget, span: Span) -> Located {
    let message = format!("`{}` is for targets before sm_{DOUBLE_PRECISION}", targets::MAP_F64_TO_F32);
    error(UNKNOWN_TARGET, message, span)
        .label(format!("{target} has double precision"))
        .help("remove it, and write `.f32` where single precision is meant")
}

/// A name in `.target` that PTX does not have, or does not have in that version.
fn misplaced_target(name: &str, version: PtxVersion, span: Span) -> Option<Located> {
    if targets::OPTIONS.contains(&name) {
        return None;
    }
    let target = PtxTarget::parse(name);
    let (code, message, help) = match target.map(|target| (target, targets::first_version(target))) {
        // An unknown version has no targets.
        Some((_, Some(needed))) if version >= needed || !version.is_known() => return None,
        Some((target, Some(needed))) => (
            TARGET_BEFORE_VERSION,
            format!("PTX {version} has no target `{target}`"),
            format!("write `.version {needed}` or a later one"),
        ),
        found => {
            let nearest = found.map(|(target, _)| targets::nearest(target.number).to_string());
            let help = nearest
                .map_or("write a target such as `sm_90`".into(), |near| format!("did you mean `{near}`?"));
            (UNKNOWN_TARGET, format!("unknown target `{name}`"), help)
        }
    };
    Some(error(code, message, span).help(help))
}

fn missing(directive: &str) -> Located {
    let example = if directive == ".version" { ".version 8.0" } else { ".target sm_90" };
    let mut finding = error(MALFORMED_HEADER, format!("the file has no `{directive}`"), Span::new(0, 0))
        .help(format!("write a line such as `{example}` at the top"));
    finding.notes.push("a PTX file begins with `.version` and `.target`".into());
    finding
}

fn error(code: Code, message: impl Into<String>, span: Span) -> Located {
    Located {
        code: code.to_string(),
        severity: Severity::Error,
        message: message.into(),
        primary: (span, String::new()),
        secondary: Vec::new(),
        notes: Vec::new(),
        help: None,
    }
}

impl Located {
    fn label(mut self, label: impl Into<String>) -> Located {
        self.primary.1 = label.into();
        self
    }

    fn help(mut self, help: impl Into<String>) -> Located {
        self.help = Some(help.into());
        self
    }
}
