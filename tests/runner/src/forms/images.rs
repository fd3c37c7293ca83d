//! Every form of every instruction for textures and surfaces, in a kernel of its own.
//!
//! The checker's instruction table defines the opcodes; each has some forms with other operands.
//! Each kernel runs as built, simplified, and as SASS of each architecture. All must leave the same
//! bytes. If ptxas is there, its code must too, and its texture and surface instructions must have
//! the same mnemonics and modifiers.

use std::fmt::Write as _;
use std::path::Path;

use ptxc_compiler::output::kernels;
use ptxc_compiler::stages::{built, ssa};
use ptxc_compiler::{Database, Options, SourceFile, diagnostics};
use ptxc_families::sample;
use ptxc_fuzz::random::Random;
use ptxc_object::cubin::{program, read};
use ptxc_sass::table::Pipe;
use ptxc_sass::{ModKind, Program};
use ptxc_sim::{Case, Report, SimError, run_sass, run_ssa};

/// The architectures.
const ARCHS: [&str; 5] = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90"];

/// Words of input of each thread.
const WORDS: usize = 8;
/// Bytes of output of each thread.
const OUT: usize = 24;

/// A kernel, and the description of its image.
pub(super) struct Form {
    pub(super) name: String,
    pub(super) text: String,
    /// Whether the simulator has its effect.
    pub(super) runs: bool,
    /// Whether ptxas has the same instructions, or the same reads by other levels.
    compares: Compares,
    /// Whether ptxas's code runs in the simulator, and leaves the same bytes.
    runs_theirs: bool,
    /// The arguments of the case before the buffers, and its images.
    args: String,
    images: String,
}

/// What ptxas's code has in common with ptxc's.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Compares {
    /// The textures and surfaces are accessed by the same instructions.
    All,
    /// The level is computed, so ptxas's code reads at derivatives in a quad, and on sm_90 calls a function
    /// of the driver.
    Reads,
    Nothing,
}

/// The operands beside the usual ones.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Extra {
    Nothing,
    Offset,
    Compare,
    Resident,
    Sampler,
    /// The texture, sampler or surface is a variable of the module.
    Name,
    /// It is a parameter of the kernel.
    Parameter,
}

/// The variables of each module.
const VARIABLES: &str = ".global .texref texture;\n.global .surfref surface;\n";
/// Another one of a module with separate samplers.
const SAMPLER: &str = ".global .samplerref sampler;\n";

/// The parts of an opcode: a modifier of one of these spellings.
fn one_of<'a>(parts: &[&'a str], words: &[&str]) -> Option<&'a str> {
    parts.iter().copied().find(|part| words.contains(part))
}

const SHAPES: [&str; 9] = ["1d", "2d", "3d", "a1d", "a2d", "cube", "acube", "2dms", "a2dms"];

/// The coordinates in braces; `c` is the prefix of their registers, `%l` the layer.
fn coordinates(shape: &str, c: &str) -> String {
    let list = match shape {
        "1d" => format!("{c}0"),
        "2d" => format!("{c}0, {c}1"),
        "3d" | "cube" => format!("{c}0, {c}1, {c}2, {c}2"),
        "a1d" => format!("%l, {c}0"),
        "a2d" => format!("%l, {c}0, {c}1, {c}1"),
        "acube" => format!("%l, {c}0, {c}1, {c}2"),
        "2dms" => format!("%l, {c}0, {c}1, {c}1"),
        _ => format!("%l, %l, {c}0, {c}1"),
    };
    format!("{{{list}}}")
}

fn per_coordinate(shape: &str, prefix: &str) -> String {
    let list = match shape {
        "1d" | "a1d" => format!("{prefix}0"),
        "2d" | "a2d" | "2dms" | "a2dms" => format!("{prefix}0, {prefix}1"),
        _ => format!("{prefix}0, {prefix}1, {prefix}2, {prefix}2"),
    };
    format!("{{{list}}}")
}

/// The bytes of an image, and its description.
fn image(shape: &str, elem: &str, channels: usize, rest: &str, random: &mut Random) -> String {
    let (size, faces, layers) = match shape {
        "1d" => ("[9]", 1, None),
        "2d" => ("[9, 7]", 1, None),
        "3d" => ("[5, 4, 6]", 1, None),
        "cube" => ("[8, 8]", 6, None),
        "a1d" => ("[9]", 1, Some(3)),
        "acube" => ("[8, 8]", 6, Some(2)),
        _ => ("[6, 7]", 1, Some(3)),
    };
    let sizes: Vec<usize> =
        size.trim_matches(['[', ']']).split(", ").map(|one| one.parse().expect("a size")).collect();
    let levels = if rest.contains("levels") { 2 } else { 1 };
    let count = |level: usize| sizes.iter().map(|&size| (size >> level).max(1)).product::<usize>();
    let texels = (0..levels).map(count).sum::<usize>() * faces * layers.unwrap_or(1);
    let mut bytes = String::new();
    for _ in 0..texels * channels {
        let number = random.below(200) as i32 - 100;
        let bytes_of = match elem {
            "f32" => (number as f32 / 8.0).to_le_bytes().to_vec(),
            "u8" => vec![number as u8],
            _ => number.to_le_bytes().to_vec(),
        };
        bytes_of.iter().for_each(|byte| write!(bytes, "{byte:02x}").expect("a string"));
    }
    let layers = layers.map_or(String::new(), |layers| format!(r#""layers": {layers}, "#));
    format!(
        r#"{{"kind": "image", "name": "t", "shape": "{shape}", "size": {size}, {layers}"elem": "{elem}", "channels": {channels}, {rest}"init": {{"hex": "{bytes}"}}, "expect": null, "tolerance": "exact"}}"#
    )
}

/// The registers for `count` values of 16, 32 or 64 bits, and the stores of their content.
fn results(count: usize, bits: u32) -> (String, String) {
    let name = |n: usize| format!("%d{bits}_{n}");
    let list: Vec<String> = (0..count).map(name).collect();
    let mut stores = String::new();
    for (n, name) in list.iter().enumerate() {
        let _ = writeln!(stores, "\tst.global.b{bits} [%out+{}], {name};", n * bits as usize / 8);
    }
    (if count == 1 { list[0].clone() } else { format!("{{{}}}", list.join(", ")) }, stores)
}

/// The form of an opcode with some operands; `None` if there is none.
fn form(opcode: &str, extra: Extra, apart: bool, number: usize, random: &mut Random) -> Option<Form> {
    let parts: Vec<&str> = opcode.split('.').collect();
    let shape = one_of(&parts, &SHAPES).unwrap_or("2d");
    let vector = match one_of(&parts, &["v2", "v4"]) {
        Some("v2") => 2,
        Some(_) => 4,
        None => 1,
    };
    let types: Vec<&str> = parts
        .iter()
        .copied()
        .filter(|part| {
            matches!(part.as_bytes(), [b'u' | b's' | b'b' | b'f', rest @ ..] if rest.first().is_some_and(u8::is_ascii_digit))
        })
        .collect();
    let bits_of = |ty: &str| match ty.trim_start_matches(char::is_alphabetic) {
        "8" | "16" => 16,
        "64" => 64,
        _ => 32,
    };
    let mut runs = true;
    let (body, own) = match parts[0] {
        "tex" | "tld4" => {
            let texels = types.get(1) == Some(&"s32");
            let (destination, mut stores) = results(vector, bits_of(types[0]));
            let mut operands = vec![];
            let place = if texels { coordinates(shape, "%i") } else { coordinates(shape, "%f") };
            let sampler = if apart { "%sampler, " } else { "" };
            operands.push(format!("[%t, {sampler}{place}]"));
            if parts.contains(&"level") {
                operands.push(if texels { "%l".into() } else { "%f3".into() });
            }
            if parts.contains(&"grad") {
                operands.extend([per_coordinate(shape, "%g"), per_coordinate(shape, "%h")]);
            }
            let mut destination = destination;
            match extra {
                Extra::Offset => operands.push(per_coordinate(shape, "%o")),
                Extra::Compare => operands.push("%f3".into()),
                Extra::Resident => {
                    destination += "|%p";
                    stores += "\tselp.b32 %word, 1, 0, %p;\n\tst.global.b32 [%out+16], %word;\n";
                }
                Extra::Nothing | Extra::Sampler | Extra::Name | Extra::Parameter => {}
            }
            runs = !shape.ends_with("ms") && extra != Extra::Compare;
            let float = matches!(types[0], "f32" | "f16" | "f16x2");
            let sampler = match float {
                true => {
                    r#"{"filter": "linear", "mip_filter": "linear", "address": ["mirror", "clamp", "border"]}"#
                }
                false => r#"{"address": ["clamp", "border", "clamp"]}"#,
            };
            let rest = match apart {
                true => r#""levels": 2, "#.to_string(),
                false => format!(r#""levels": 2, "sampler": {sampler}, "#),
            };
            let shape = if shape.ends_with("ms") { "2d" } else { shape };
            let mut own = image(shape, if float { "f32" } else { "s32" }, 4, &rest, random);
            if apart {
                let sampler = sampler.trim_start_matches('{');
                let _ = write!(own, r#", {{"kind": "sampler", "name": "sampler", {sampler}"#);
            }
            (format!("\t{opcode} {destination}, {};\n{stores}", operands.join(", ")), own)
        }
        "txq" | "suq" => {
            let level = if parts.contains(&"level") { ", 1" } else { "" };
            let of_sampler = opcode.contains("mode_") || opcode.contains("_mode") || opcode.contains("force");
            let name = if apart && of_sampler { "%sampler" } else { "%t" };
            let sampler =
                r#""filter": "linear", "address": ["mirror", "clamp", "border"], "normalized": true}"#;
            let (shape, mut rest) = (if opcode.contains("array") { "a2d" } else { "2d" }, String::new());
            if parts[0] == "txq" && !apart {
                rest = format!(r#""sampler": {{{sampler}, "#);
            }
            let mut own =
                image(shape, "u8", 2, &format!(r#""levels": 2, "normalized": true, {rest}"#), random);
            if apart {
                let _ = write!(own, r#", {{"kind": "sampler", "name": "sampler", {sampler}"#);
            }
            (format!("\t{opcode} %word, [{name}]{level};\n\tst.global.b32 [%out], %word;\n"), own)
        }
        "istypep" => {
            let sampler = if apart { r#", {"kind": "sampler", "name": "sampler"}"# } else { "" };
            let own = image(shape, "f32", 4, "", random) + sampler;
            let store = "\tselp.b32 %word, 1, 0, %p;\n\tst.global.b32 [%out], %word;\n";
            (format!("\t{opcode} %p, %t;\n{store}"), own)
        }
        "suld" | "sust" | "sured" => {
            let texel = parts[1] == "p";
            let bits: usize = types[0].trim_start_matches(char::is_alphabetic).parse().expect("a size");
            let (elem, channels) = match (parts[0], bits) {
                ("sured", 64) if texel => ("s32", 2),
                ("sured", _) if texel => ("s32", 1),
                _ => ("u8", 4),
            };
            // Inside, unless the form says what to do outside; aligned.
            let shift = if texel { 0 } else { (bits * vector / 8).ilog2() };
            let outer = if parts.contains(&"trap") { "and.b32 %i0, %i0, 1;" } else { "sub.s32 %i0, %i0, 2;" };
            let mut body = format!("\t{outer}\n\tshl.b32 %i0, %i0, {shift};\n");
            let place = coordinates(shape, "%i");
            let (values, stores) = results(vector, bits_of(types[0]));
            if parts[0] == "suld" {
                let _ = write!(body, "\t{opcode} {values}, [%t, {place}];\n{stores}");
            } else {
                for name in values.trim_matches(['{', '}']).split(", ") {
                    let _ = match bits {
                        64 => writeln!(body, "\tmov.b64 {name}, {{%i3, %word}};"),
                        32 => writeln!(body, "\tmov.b32 {name}, %word;"),
                        _ => writeln!(body, "\tcvt.u16.u32 {name}, %word;"),
                    };
                    body.push_str("\tmul.lo.u32 %word, %word, 77;\n");
                }
                let _ = writeln!(body, "\t{opcode} [%t, {place}], {values};");
            }
            let rest = if texel && parts[0] == "sust" { r#""normalized": true, "# } else { "" };
            (body, image(shape, elem, channels, rest, random))
        }
        _ => return None,
    };
    let is_gradient = parts[0] == "tex" && parts.contains(&"grad");
    let is_computed = is_gradient && (["3d", "cube", "acube"].contains(&shape) || extra == Extra::Compare);
    let is_whole = is_gradient && types.get(1) == Some(&"s32");
    // A sampler's handle may be put together in other registers. ptxas drops the comparison with a row, and
    // reads whole coordinates as floats; there the shape of a row differs.
    let compares = match (is_computed, shape) {
        _ if apart => Compares::Nothing,
        (_, "1d") if is_computed || is_whole => Compares::Nothing,
        (true, _) => Compares::Reads,
        (false, _) => Compares::All,
    };
    let is_surface = matches!(parts[0], "suq" | "suld" | "sust" | "sured") || opcode.ends_with("surfref");
    // ptxas writes wrong code, or crashes, if two kernels have such a parameter of one name.
    let own_names = [format!("t{number}"), format!("s{number}")];
    let (name, sampler) = match (extra, is_surface) {
        (Extra::Name, true) => ("surface", "sampler"),
        (Extra::Name, false) => ("texture", "sampler"),
        (Extra::Parameter, _) => (own_names[0].as_str(), own_names[1].as_str()),
        _ => ("t", "s"),
    };
    let own = own.replacen(r#""name": "t""#, &format!(r#""name": "{name}""#), 1);
    let own = own.replacen(r#""name": "sampler""#, &format!(r#""name": "{sampler}""#), 1);
    let (ty, sampler_ty) = match extra {
        Extra::Parameter => (if is_surface { ".surfref" } else { ".texref" }, ".samplerref"),
        _ => (".u64", ".u64"),
    };
    let has_sampler = own.contains(r#""kind": "sampler""#);
    let params = match (extra, has_sampler) {
        (Extra::Name, _) => String::new(),
        (_, false) => format!(".param {ty} {name}, "),
        (_, true) => format!(".param {ty} {name}, .param {sampler_ty} {sampler}, "),
    };
    let (load, body) = match extra {
        // `istypep` accepts only registers.
        Extra::Name | Extra::Parameter if parts[0] == "istypep" => {
            let name = if opcode.ends_with("samplerref") && apart { sampler } else { name };
            (format!("\tmov.u64 %t, {name};\n{ADDRESS}"), body)
        }
        Extra::Name | Extra::Parameter => {
            (String::new(), body.replace("%sampler", sampler).replace("[%t", &format!("[{name}")))
        }
        _ => {
            let sampler = if has_sampler { "\tld.param.u64 %sampler, [s];\n" } else { "" };
            (format!("{sampler}\tld.param.u64 %t, [t];\n"), body)
        }
    };
    let (own, images) = if extra == Extra::Name { (String::new(), own) } else { (own + ",", String::new()) };
    let text = format!(
        ".visible .entry forms({params}.param .u64 in, .param .u64 out)\n{{\n\
         \t.reg .b64 %t, %sampler, %in, %out, %wide;\n\t.reg .b32 %l, %word, %thread;\n\t.reg .pred %p;\n\
         \t.reg .f32 %f<4>, %g<3>, %h<3>;\n\t.reg .b32 %i<4>, %o<3>, %d32_<4>;\n\t.reg .b16 %d16_<4>;\n\
         \t.reg .b64 %d64_<4>;\n\
         \tld.param.u64 %in, [in];\n\tld.param.u64 %out, [out];\n\
         \tmov.u32 %thread, %tid.x;\n\tmul.wide.u32 %wide, %thread, {};\n\tadd.u64 %in, %in, %wide;\n\
         \tmul.wide.u32 %wide, %thread, {OUT};\n\tadd.u64 %out, %out, %wide;\n\
         \tld.global.v4.f32 {{%f0, %f1, %f2, %f3}}, [%in];\n\tld.global.v4.b32 {{%i0, %i1, %i2, %i3}}, [%in+16];\n\
         \tand.b32 %l, %thread, 1;\n\tmov.b32 %word, %i3;\n\
         \tmul.f32 %g0, %f0, 0f3D800000;\n\tmul.f32 %g1, %f1, 0f3D800000;\n\tmul.f32 %g2, %f2, 0f3D800000;\n\
         \tmov.f32 %h0, %f2;\n\tmov.f32 %h1, %f0;\n\tmov.f32 %h2, %f1;\n\
         \tsub.s32 %o0, %l, 1;\n\tadd.s32 %o1, %l, 1;\n\tsub.s32 %o2, 1, %l;\n{load}{body}\tret;\n}}\n",
        4 * WORDS
    );
    Some(Form {
        name: format!("{opcode} {extra:?}"),
        text,
        runs,
        compares,
        runs_theirs: runs && !is_computed && !is_whole,
        args: own,
        images,
    })
}

/// Stores an address without the bit that only some architectures set.
const ADDRESS: &str = "\tand.b64 %wide, %t, 0xffffffff7fffffff;\n\tst.global.b64 [%out+8], %wide;\n";

/// All forms: those of a module, with samplers of their own or not.
pub(super) fn forms(apart: bool) -> Vec<Form> {
    let mut random = Random::new(7);
    let mut list = Vec::new();
    // A texture without a sampler of its own does not have the property.
    let lacks = |form: &Form| !apart && form.name == "txq.force_unnormalized_coords.b32 Name";
    for (number, opcode) in sample::opcodes("texture").into_iter().enumerate() {
        let extras: &[Extra] = match opcode.split('.').next() {
            Some("tex" | "tld4") if !apart => &[
                Extra::Nothing,
                Extra::Offset,
                Extra::Compare,
                Extra::Resident,
                Extra::Name,
                Extra::Parameter,
            ],
            Some("suld" | "sust" | "sured") if apart => &[Extra::Name],
            _ if apart => &[Extra::Sampler, Extra::Name, Extra::Parameter],
            _ => &[Extra::Nothing, Extra::Name, Extra::Parameter],
        };
        for &extra in extras {
            // A parameter differs from a variable only in its symbol.
            if extra == Extra::Parameter && number % 8 != 0 {
                continue;
            }
            let form = form(&opcode, extra, apart, list.len(), &mut random);
            list.extend(form.filter(|form| !is_missing(&form.name) && !lacks(form)));
        }
    }
    list
}

pub(super) fn header(arch: &str, apart: bool) -> String {
    let (mode, sampler) = if apart { (", texmode_independent", SAMPLER) } else { ("", "") };
    format!(".version {}\n.target {arch}{mode}\n.address_size 64\n{VARIABLES}{sampler}", sample::VERSION)
}

pub(super) fn case(form: &Form) -> Case {
    let mut random = Random::new(9);
    let mut input = String::new();
    for thread in 0..32 {
        for word in 0..WORDS {
            let bits = match word {
                3 => (random.below(16) as f32 / 4.0 - 1.0).to_bits(),
                0..3 => (random.below(64) as f32 / 8.0 - 1.0).to_bits(),
                7 => random.below(1 << 20) as u32,
                _ => (thread as u32 >> (2 * (word - 4))) % 4,
            };
            bits.to_le_bytes().iter().for_each(|byte| write!(input, "{byte:02x}").expect("a string"));
        }
    }
    let text = format!(
        r#"{{"ptx": "forms.ptx", "entry": "forms", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [{}
        {{"kind": "buffer", "name": "in", "elem": "u8", "init": {{"hex": "{input}"}}, "expect": null, "tolerance": "exact"}},
        {{"kind": "buffer", "name": "out", "elem": "u8", "init": {{"zeros": {}}}, "expect": null, "tolerance": "exact"}}], "images": [{}]}}"#,
        form.args,
        32 * OUT,
        form.images
    );
    Case::parse(&text, Path::new("")).unwrap_or_else(|why| panic!("{}: {why}", form.name))
}

/// The reads of textures without the modifiers that depend on the level, each once.
fn reads(program: &Program) -> Vec<String> {
    let of_textures = program
        .insts
        .iter()
        .map(|coded| &coded.inst)
        .filter(|inst| inst.row().pipe == Pipe::Tex && inst.row().mnemonic.starts_with("TEX"));
    let kinds = [ModKind::Sources, ModKind::Shape, ModKind::Components];
    let mut list: Vec<String> =
        of_textures.map(|inst| kinds.map(|kind| inst.modifier(kind)).join("|")).collect();
    list.sort();
    list.dedup();
    list
}

/// The mnemonics and modifiers of the instructions for textures and surfaces.
fn core(program: &Program) -> Vec<String> {
    let of_images = program.insts.iter().map(|coded| &coded.inst).filter(|inst| inst.row().pipe == Pipe::Tex);
    let kinds = [
        ModKind::Variant,
        ModKind::DataType,
        ModKind::Mode,
        ModKind::Sources,
        ModKind::Hint,
        ModKind::Shape,
        ModKind::Components,
        ModKind::Size,
        ModKind::Atomic,
        ModKind::Cache,
        ModKind::Order,
        ModKind::Scope,
    ];
    let mut list: Vec<String> = of_images
        .map(|inst| {
            let modifiers: Vec<&str> = kinds.iter().map(|&kind| inst.modifier(kind)).collect();
            format!("{} {}", inst.row().mnemonic, modifiers.join("|"))
        })
        .collect();
    list.sort();
    list
}

/// The content of all buffers after a run.
pub(super) fn contents(result: Result<Report, SimError>) -> Result<Vec<Vec<u8>>, String> {
    let report = result.map_err(|error| error.to_string())?;
    Ok(report.outcomes.into_iter().map(|outcome| outcome.content).collect())
}

/// The outcome of a form on an architecture.
pub(super) enum Found {
    /// No instruction of PTX.
    Refused,
    /// It ends in `E0900`.
    Unlowered,
    /// It lowers, to this program, which leaves these bytes.
    Lowered(Box<Program>, Vec<Vec<u8>>),
    Wrong(String),
}

pub(super) fn verdict(form: &Form, arch: &str, apart: bool) -> Found {
    let db = Database::default();
    let file = SourceFile::new(&db, "forms.ptx".into(), header(arch, apart) + &form.text);
    let options = Options::defaults(&db);
    let found = diagnostics(&db, file, options);
    if found.iter().any(|found| found.code != "E0900" && found.code.starts_with('E')) {
        return Found::Refused;
    }
    if !found.is_empty() {
        return Found::Unlowered;
    }
    let kernels = kernels(&db, file, options);
    let [(func, Some(code))] = kernels[..] else { return Found::Wrong("no code".into()) };
    let (Some(as_built), Some(simplified)) = (&built(&db, func).value, &ssa(&db, func, options).value) else {
        return Found::Wrong("code without SSA".into());
    };
    let program = Box::new(code.program.clone());
    if !form.runs {
        return Found::Lowered(program, Vec::new());
    }
    let (case, simulator) = (case(form), ptxc_sim::Options::default());
    let run = || -> Result<Vec<Vec<u8>>, String> {
        let expected =
            contents(run_ssa(&case, as_built, &[], &simulator)).map_err(|why| format!("SSA: {why}"))?;
        let others = [
            ("simplified SSA", run_ssa(&case, simplified, &[], &simulator)),
            ("SASS", run_sass(&case, &code.program, &simulator)),
        ];
        for (who, result) in others {
            let found = contents(result).map_err(|why| format!("{who}: {why}"))?;
            if found != expected {
                return Err(format!("{who} leaves other bytes"));
            }
        }
        Ok(expected)
    };
    match run() {
        Ok(bytes) => Found::Lowered(program, bytes),
        Err(what) => Found::Wrong(what),
    }
}

/// Whether PTX has no such form: cubes have float coordinates and no offsets, texels with several
/// samples whole coordinates and no levels.
fn is_missing(name: &str) -> bool {
    let has = |word: &str| name.split(['.', ' ']).any(|part| part == word);
    let is_cube = has("cube") || has("acube");
    let has_samples = has("2dms") || has("a2dms");
    let is_texel = name.rsplit_once(".s32 ").is_some();
    is_cube && (is_texel || has("Offset"))
        || has_samples && (!is_texel || ["level", "grad"].into_iter().any(has))
        || is_texel && has("Compare")
        || has("3d") && has("Compare")
        || has("v4") && has("b64")
}

/// Compares the kernels with ptxas's code; returns the problems.
fn compare_with_ptxas(ptxas: &Path, arch: &str, apart: bool, lowered: &[(&Form, Found)]) -> Vec<String> {
    let mut text = header(arch, apart);
    for (index, (form, _)) in lowered.iter().enumerate() {
        text += &form.text.replacen("forms(", &format!("forms{index}("), 1);
    }
    let cubin = match super::assembled(ptxas, arch, &[], &text) {
        Ok(bytes) => read(&bytes).expect("a cubin"),
        Err(messages) => return vec![messages],
    };
    let options = ptxc_sim::Options { holds_uniform: true, ..ptxc_sim::Options::default() };
    let found = super::in_parallel(lowered.len(), |index| {
        let (form, Found::Lowered(own, bytes)) = &lowered[index] else { return None };
        let theirs = match program(&cubin, &format!("forms{index}")) {
            Ok(theirs) => theirs,
            Err(error) => return Some(format!("{}: {error}", form.name)),
        };
        // An addition has no sign.
        let known = |line: String| line.replace("|.S32|", "||");
        let [ours, others] =
            [core(own), core(&theirs)].map(|list| list.into_iter().map(known).collect::<Vec<_>>());
        let (ours, others) = match form.compares {
            Compares::All => (ours, others),
            Compares::Reads if others.is_empty() => (Vec::new(), Vec::new()),
            Compares::Reads => (reads(own), reads(&theirs)),
            Compares::Nothing => (Vec::new(), Vec::new()),
        };
        if ours != others && !form.name.starts_with("sured") {
            return Some(format!("{arch}: {}: {ours:?}, but ptxas: {others:?}", form.name));
        }
        if !form.runs_theirs {
            return None;
        }
        match contents(run_sass(&case(form), &theirs, &options)) {
            Ok(found) if found == *bytes => None,
            Ok(_) => Some(format!("{arch}: {}: ptxas's code leaves other bytes", form.name)),
            Err(why) => Some(format!("{arch}: {}: ptxas's code: {why}", form.name)),
        }
    });
    found.into_iter().flatten().collect()
}

/// Runs all forms; returns a summary.
pub fn check(ptxas: Option<&Path>, stride: usize) -> String {
    let mut wrong = Vec::new();
    let mut lowered_forms = 0;
    for apart in [false, true] {
        let all = forms(apart);
        for (turn, arch) in ARCHS.into_iter().enumerate() {
            let forms: Vec<&Form> = ptxc_sample::in_turn(&all, turn, stride).collect();
            let found = super::in_parallel(forms.len(), |index| verdict(forms[index], arch, apart));
            let mut lowered = Vec::new();
            for (form, found) in forms.into_iter().zip(found) {
                match &found {
                    Found::Refused => wrong.push(format!("{arch}: {} is no PTX", form.name)),
                    Found::Unlowered => wrong.push(format!("{arch}: {} does not lower", form.name)),
                    Found::Wrong(what) => wrong.push(format!("{arch}: {}: {what}", form.name)),
                    Found::Lowered(..) => {
                        lowered_forms += 1;
                        lowered.push((form, found));
                    }
                }
            }
            if let Some(ptxas) = ptxas {
                wrong.extend(compare_with_ptxas(ptxas, arch, apart, &lowered));
            }
        }
    }
    assert!(wrong.is_empty(), "{} problems\n{}", wrong.len(), wrong.join("\n"));
    format!("{lowered_forms} forms lower")
}
