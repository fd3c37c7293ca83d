//! Objects of ptxc and of NVIDIA's ptxas, linked by nvlink in all combinations: the linked kernel gives
//! the expected values in the simulator.
//!
//! Random signatures cover the calling convention: scalars of every size, structures of several
//! alignments, parameters and results in registers and on the stack, arrays of any size, calls under divergence, through a table of
//! addresses, and from one module into the other and back, shared variables of each, and constants of
//! one. Values are computed here from the definition of the program, not by any of the compilers. The
//! same program is also linked by ptxc, and compiled as one module, whose SSA runs as well.
//! Without NVIDIA's programs only ptxc's own object is made and read again.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use ptxc_compiler::input::items::items;
use ptxc_compiler::output::kernels;
use ptxc_compiler::stages::ssa;
use ptxc_compiler::whole::{Whole, whole};
use ptxc_compiler::{Database, Settings, SourceFile, compile, diagnostics};
use ptxc_families::oracle;
use ptxc_fuzz::random::Random;
use ptxc_object::cubin::read;
use ptxc_sample::stride;
use ptxc_sass::joined::joined;
use ptxc_sim::{Case, Options, run_sass, run_ssa};
use rayon::prelude::*;

const THREADS: u32 = 40;
const FUNCTIONS: usize = 24;
const ARCHS: [&str; 3] = ["sm_75", "sm_80", "sm_90"];
/// One of this many pairs of a program and an architecture is tried.
const STRIDE: usize = 12;

/// A parameter or result.
#[derive(Clone, Copy, Debug)]
enum Shape {
    /// A scalar of that many bytes.
    Scalar(u32),
    /// A structure with a size and an alignment.
    Struct(u32, u32),
    /// The same for a last parameter of any size.
    Open(u32, u32),
}

impl Shape {
    fn bytes(self) -> u32 {
        match self {
            Shape::Scalar(bytes) | Shape::Struct(bytes, _) | Shape::Open(bytes, _) => bytes,
        }
    }

    fn declare(self, name: &str) -> String {
        match self {
            Shape::Scalar(bytes) => format!(".param .b{} {name}", 8 * bytes),
            Shape::Struct(bytes, align) | Shape::Open(bytes, align) => {
                format!(".param .align {align} .b8 {name}[{bytes}]")
            }
        }
    }

    /// The declaration in a function or a prototype.
    fn formal(self, name: &str) -> String {
        match self {
            Shape::Open(_, align) => format!(".param .align {align} .b8 {name}[]"),
            Shape::Scalar(_) | Shape::Struct(..) => self.declare(name),
        }
    }

    /// The sizes of its parts that are accessed one by one.
    fn units(self) -> Vec<u32> {
        match self {
            Shape::Scalar(8) => vec![4, 4],
            Shape::Scalar(bytes) => vec![bytes],
            Shape::Struct(bytes, _) | Shape::Open(bytes, _) => vec![4; bytes as usize / 4],
        }
    }
}

struct Signature {
    params: Vec<Shape>,
    result: Option<Shape>,
    /// Only odd lanes call it.
    parted: bool,
    /// It calls the function before it, which is in the other module.
    nested: bool,
    /// It is called through a table of addresses.
    indirect: bool,
    /// It has a shared variable, with a word for each thread, which its callees must leave alone.
    shared: bool,
}

fn signatures(random: &mut Random) -> Vec<Signature> {
    let shapes = [
        Shape::Scalar(1),
        Shape::Scalar(2),
        Shape::Scalar(4),
        Shape::Scalar(8),
        Shape::Struct(4, 4),
        Shape::Struct(8, 8),
        Shape::Struct(12, 4),
        Shape::Struct(16, 8),
        Shape::Struct(16, 16),
        Shape::Struct(52, 4),
        Shape::Struct(72, 8),
        Shape::Struct(96, 16),
    ];
    (0..FUNCTIONS)
        .map(|_| {
            let mut params = Vec::new();
            let mut words = 0;
            for _ in 0..random.below(7) {
                let shape = shapes[random.below(shapes.len())];
                words += shape.bytes().div_ceil(4);
                // Later ones are on the stack.
                if words <= 60 {
                    params.push(shape);
                }
            }
            // ptxc passes the address of a large one, ptxas its words on the stack.
            if random.below(24) == 0 {
                let large = [Shape::Struct(4100, 4), Shape::Struct(4104, 8), Shape::Struct(4128, 16)];
                params.insert(random.below(params.len() + 1), large[random.below(3)]);
            }
            if random.below(4) == 0 {
                params.push([Shape::Open(4, 4), Shape::Open(24, 8), Shape::Open(80, 16)][random.below(3)]);
            }
            let results = [
                None,
                Some(Shape::Scalar(4)),
                Some(Shape::Scalar(8)),
                Some(Shape::Struct(32, 16)),
                Some(Shape::Struct(64, 8)),
                // More than 255 words, and rarely so large that ptxc passes an address.
                Some(if random.below(6) == 0 { Shape::Struct(4112, 16) } else { Shape::Struct(1040, 4) }),
            ];
            let result = results[random.below(results.len())];
            let [parted, nested, indirect, shared] = [3, 3, 2, 3].map(|of| random.below(of) == 0);
            Signature { params, result, parted, nested, indirect, shared }
        })
        .collect()
}

/// The value of a part of an argument: a mask of its size applies.
fn argument(function: usize, param: usize, unit: usize, seed: u32) -> u32 {
    seed.wrapping_mul(17 + unit as u32).wrapping_add((function * 101 + param * 13 + unit) as u32)
}

fn mask(bytes: u32) -> u32 {
    if bytes == 4 { u32::MAX } else { (1 << (8 * bytes)) - 1 }
}

/// The word of a function in the constant table, with which its sum begins.
fn constant(function: usize) -> u32 {
    1000 - 7 * function as u32
}

/// The words that a function returns if it is called with arguments of that seed.
fn value(all: &[Signature], function: usize, seed: u32) -> Vec<u32> {
    let one = &all[function];
    let mut sum = constant(function);
    for (param, shape) in one.params.iter().enumerate() {
        for (unit, bytes) in shape.units().into_iter().enumerate() {
            let word = argument(function, param, unit, seed) & mask(bytes);
            sum = sum.wrapping_mul(31).wrapping_add(word);
        }
    }
    if one.nested && function > 0 {
        for word in value(all, function - 1, sum) {
            sum = sum.wrapping_mul(33).wrapping_add(word);
        }
    }
    let words = one.result.map_or(0, Shape::bytes) / 4;
    (0..words).map(|word| sum.wrapping_add(7 * word)).collect()
}

/// A call with arguments made from `seed`, whose results are added to `sum`.
fn call(out: &mut String, all: &[Signature], function: usize, seed: &str, sum: &str) {
    let one = &all[function];
    out.push_str("{ .reg .b32 v, w; .reg .b64 d;\n");
    let mut names = Vec::new();
    for (param, shape) in one.params.iter().enumerate() {
        let name = format!("a{param}");
        let _ = writeln!(out, "{};", shape.declare(&name));
        let part = |unit: usize, to: &str| {
            let added = argument(function, param, unit, 0);
            format!("mad.lo.u32 {to}, {seed}, {}, {added};", 17 + unit)
        };
        if matches!(shape, Shape::Scalar(8)) {
            let (low, high) = (part(0, "v"), part(1, "w"));
            let _ = writeln!(out, "{low} {high} mov.b64 d, {{v, w}}; st.param.b64 [{name}], d;");
        } else {
            let mut offset = 0;
            for (unit, bytes) in shape.units().into_iter().enumerate() {
                let made = part(unit, "v");
                let _ = writeln!(out, "{made} st.param.b{} [{name}+{offset}], v;", 8 * bytes);
                offset += bytes;
            }
        }
        names.push(name);
    }
    let list = names.join(", ");
    let mut target = format!("f{function}");
    let mut prototype = String::new();
    if one.indirect {
        let unnamed = |shape: &Shape| shape.formal("_");
        let params: Vec<String> = one.params.iter().map(unnamed).collect();
        let result = one.result.map_or("_".to_string(), |result| format!("({}) _", result.declare("_")));
        let _ = writeln!(out, "proto: .callprototype {result} ({});", params.join(", "));
        let _ = writeln!(out, ".reg .b64 fn; ld.global.b64 fn, [table+{}];", 8 * function);
        (target, prototype) = ("fn".to_string(), ", proto".to_string());
    }
    let Some(result) = one.result else {
        let _ = writeln!(out, "call {target}, ({list}){prototype}; }}");
        return;
    };
    let _ = writeln!(out, "{}; call (got), {target}, ({list}){prototype};", result.declare("got"));
    if matches!(result, Shape::Scalar(8)) {
        out.push_str("ld.param.b64 d, [got]; mov.b64 {v, w}, d;\n");
        for word in ["v", "w"] {
            let _ = writeln!(out, "mad.lo.u32 {sum}, {sum}, 33, {word};");
        }
    } else {
        for word in 0..result.bytes() / 4 {
            let _ = writeln!(out, "ld.param.b32 v, [got+{}]; mad.lo.u32 {sum}, {sum}, 33, v;", 4 * word);
        }
    }
    out.push_str("}\n");
}

fn head(all: &[Signature], function: usize) -> String {
    let one = &all[function];
    let result = one.result.map_or(String::new(), |result| format!("({}) ", result.declare("r")));
    let params: Vec<String> =
        one.params.iter().enumerate().map(|(index, shape)| shape.formal(&format!("p{index}"))).collect();
    format!(".func {result}f{function} ({})", params.join(", "))
}

fn define(out: &mut String, all: &[Signature], function: usize) {
    let one = &all[function];
    let _ = writeln!(out, ".visible {}\n{{ .reg .b32 s, x, y; .reg .b64 q;", head(all, function));
    let at = 4 * function;
    let _ = match function % 3 {
        0 => writeln!(out, "mov.u64 q, constants; ld.const.u32 s, [q+{at}];"),
        _ => writeln!(out, "ld.const.u32 s, [constants+{at}];"),
    };
    for (param, shape) in one.params.iter().enumerate() {
        if matches!(shape, Shape::Scalar(8)) {
            let _ = writeln!(out, "ld.param.b64 q, [p{param}]; mov.b64 {{x, y}}, q;");
            out.push_str("mad.lo.u32 s, s, 31, x; mad.lo.u32 s, s, 31, y;\n");
            continue;
        }
        let mut offset = 0;
        for bytes in shape.units() {
            let _ = writeln!(out, "ld.param.u{} x, [p{param}+{offset}]; mad.lo.u32 s, s, 31, x;", 8 * bytes);
            offset += bytes;
        }
    }
    if one.shared {
        let _ = writeln!(out, ".shared .b32 own[{THREADS}]; .reg .b32 z, at, t; mov.u32 t, %tid.x;");
        out.push_str("mov.u32 at, own; mad.lo.u32 at, t, 4, at; st.shared.u32 [at], s; mov.u32 z, s;\n");
    }
    if one.nested && function > 0 {
        out.push_str("mov.u32 y, s;\n");
        call(out, all, function - 1, "y", "s");
    }
    if one.shared {
        out.push_str("ld.shared.u32 t, [at]; sub.u32 t, t, z; add.u32 s, s, t;\n");
    }
    match one.result {
        None => {}
        Some(Shape::Scalar(8)) => {
            out.push_str("add.u32 x, s, 7; mov.b64 q, {s, x}; st.param.b64 [r], q;\n");
        }
        Some(result) => {
            for word in 0..result.bytes() / 4 {
                let _ = writeln!(out, "add.u32 x, s, {}; st.param.b32 [r+{}], x;", 7 * word, 4 * word);
            }
        }
    }
    out.push_str("ret; }\n");
}

/// The part of the program that a module has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The kernel and the odd functions.
    Odd,
    /// The even functions.
    Even,
    All,
}

/// A module of the program.
fn module(all: &[Signature], part: Part) -> String {
    let mut text = String::from(".version 8.0\n.target sm_75\n.address_size 64\n");
    let is_here = |function: &usize| match part {
        Part::Odd => function % 2 == 1,
        Part::Even => function.is_multiple_of(2),
        Part::All => true,
    };
    let names: Vec<String> = (0..all.len()).map(|function| format!("f{function}")).collect();
    for function in 0..all.len() {
        let linkage = if is_here(&function) { ".visible" } else { ".extern" };
        let _ = writeln!(text, "{linkage} {};", head(all, function));
    }
    let _ = match part {
        Part::Even => writeln!(text, ".extern .global .u64 table[{FUNCTIONS}];"),
        _ => writeln!(text, ".visible .global .u64 table[{FUNCTIONS}] = {{{}}};", names.join(", ")),
    };
    let list: Vec<String> = (0..FUNCTIONS).map(|function| constant(function).to_string()).collect();
    let _ = match part {
        Part::Odd => {
            writeln!(text, ".extern .const .u32 constants[{FUNCTIONS}];\n.const .u32 odd[3] = {{1, 2, 3}};")
        }
        _ => writeln!(text, ".visible .const .u32 constants[{FUNCTIONS}] = {{{}}};", list.join(", ")),
    };
    (0..all.len()).filter(is_here).for_each(|function| define(&mut text, all, function));
    if part != Part::Even {
        text.push_str(
            ".visible .entry k(.param .u64 out)\n{ .reg .b64 p, o; .reg .b32 t, s, at; .reg .pred c;\n",
        );
        // The variable of the kernel counts the calls.
        let _ = writeln!(text, ".shared .b32 own[{THREADS}];");
        text.push_str("mov.u32 t, %tid.x; mov.u32 at, own; mad.lo.u32 at, t, 4, at;\n");
        text.push_str("st.shared.u32 [at], 0;\n");
        text.push_str("ld.param.u64 p, [out]; mov.u32 t, %tid.x; mul.wide.u32 o, t, 4; add.u64 p, p, o;\n");
        for (function, one) in all.iter().enumerate() {
            text.push_str("mov.u32 s, 1;\n");
            let count = "{ .reg .b32 n; ld.shared.u32 n, [at]; add.u32 n, n, 1; st.shared.u32 [at], n; }\n";
            text.push_str(count);
            if one.parted {
                let _ = writeln!(text, "and.b32 s, t, 1; setp.eq.u32 c, s, 0; @c bra L{function};");
            }
            call(&mut text, all, function, "t", "s");
            let _ = writeln!(text, "L{function}:\nst.global.u32 [p+{}], s;", 4 * function * THREADS as usize);
        }
        let last = 4 * FUNCTIONS * THREADS as usize;
        let _ = writeln!(text, "ld.shared.u32 s, [at]; st.global.u32 [p+{last}], s;");
        text.push_str("ret; }\n");
    }
    text
}

fn case(all: &[Signature]) -> Case {
    let mut bytes = String::new();
    for (function, one) in all.iter().enumerate() {
        for thread in 0..THREADS {
            let mut sum = 1u32;
            if one.parted && thread % 2 == 0 {
                sum = 0;
            } else {
                for word in value(all, function, thread) {
                    sum = sum.wrapping_mul(33).wrapping_add(word);
                }
            }
            for byte in sum.to_le_bytes() {
                let _ = write!(bytes, "{byte:02x}");
            }
        }
    }
    let count = (FUNCTIONS as u32).to_le_bytes();
    for byte in std::iter::repeat_n(count, THREADS as usize).flatten() {
        let _ = write!(bytes, "{byte:02x}");
    }
    let text = format!(
        r#"{{"ptx": "k.ptx", "entry": "k", "grid": [1, 1, 1], "block": [{THREADS}, 1, 1], "args": [
        {{"kind": "buffer", "name": "out", "elem": "u32", "init": {{"zeros": {}}}, "expect": {{"hex": "{bytes}"}},
          "tolerance": "exact"}}]}}"#,
        bytes.len() / 2
    );
    Case::parse(&text, Path::new("")).expect("the case is well-formed")
}

/// Runs the whole program, as one module, on both engines.
fn alone(text: &str, case: &Case, seed: u64) {
    let simulator = Options { seed, ..Options::default() };
    for opt in [0, 3] {
        let db = Database::default();
        let file = SourceFile::new(&db, "k.ptx".into(), text.to_string());
        let options = Settings { opt, ..Settings::default() }.options(&db);
        let found = diagnostics(&db, file, options);
        assert!(found.is_empty(), "{}\n{text}", found[0].message);
        let [(func, Some(code))] = kernels(&db, file, options)[..] else { panic!("no kernel: {text}") };
        let report = run_sass(case, &code.program, &simulator).unwrap_or_else(|error| panic!("{error}"));
        assert!(report.passed(), "wrong values at -O{opt} in\n{text}");
        let functions = items(&db, file).functions.iter().filter(|&&one| one != func && one.has_body(&db));
        let form = |func| ssa(&db, func, options).value.clone().expect("SSA");
        let callees: Vec<_> = functions.map(|&one| form(one)).collect();
        let report =
            run_ssa(case, &form(func), &callees, &simulator).unwrap_or_else(|error| panic!("{error}"));
        assert!(report.passed(), "wrong values of the SSA at -O{opt} in\n{text}");
    }
}

/// The modules, linked by ptxc itself.
fn linked_here(texts: &[String; 2]) -> Vec<u8> {
    let db = Database::default();
    let options = Settings { relocatable: true, ..Settings::default() }.options(&db);
    let files = texts.each_ref().map(|text| {
        let file = SourceFile::new(&db, "k.ptx".into(), text.clone());
        let found = diagnostics(&db, file, options);
        assert!(found.is_empty(), "{}\n{text}", found[0].message);
        file
    });
    let bytes = whole(&db, Whole::new(&db, files.into()), options);
    bytes.as_ref().clone().unwrap_or_else(|found| panic!("{}", found[0]))
}

fn ours(text: &str, opt: u8) -> Vec<u8> {
    let settings = Settings { relocatable: true, opt, ..Settings::default() };
    let compiled = compile(text, settings).unwrap_or_else(|found| panic!("{}\n{text}", found[0].message));
    compiled.cubin().expect("the object can be written")
}

fn theirs(folder: &Path, path: &Path, arch: &str) -> Vec<u8> {
    let object = path.with_extension("theirs.o");
    let mut ptxas = Command::new(folder.join("ptxas"));
    let output =
        ptxas.args(["-arch", arch, "-c"]).arg(path).arg("-o").arg(&object).output().expect("ptxas runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read(object).expect("ptxas writes an object")
}

fn link(folder: &Path, arch: &str, objects: [&[u8]; 2], scratch: &Path) -> Vec<u8> {
    let paths: Vec<PathBuf> = (0..2).map(|number| scratch.join(format!("{number}.o"))).collect();
    for (path, object) in paths.iter().zip(objects) {
        std::fs::write(path, object).expect("the object can be written");
    }
    let cubin = scratch.join("linked.cubin");
    let mut nvlink = Command::new(folder.join("nvlink"));
    let output =
        nvlink.args(["-arch", arch]).args(&paths).arg("-o").arg(&cubin).output().expect("nvlink runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read(cubin).expect("nvlink writes a cubin")
}

/// Links the modules by nvlink, as objects of either compiler in all combinations and as our objects
/// at -O0, and checks each program.
fn by_nvlink(
    folder: &Path,
    scratch: &Path,
    arch: &str,
    texts: &[String; 2],
    own: &[Vec<u8>; 2],
    check: &dyn Fn(&str, &[u8]),
) {
    let other = texts.each_ref().map(|text| {
        let path = scratch.join("module.ptx");
        std::fs::write(&path, text).expect("the text can be written");
        theirs(folder, &path, arch)
    });
    let plain = texts.each_ref().map(|text| ours(text, 0));
    for (who, objects) in [
        ("both ours", [&own[0], &own[1]]),
        ("ours with theirs", [&own[0], &other[1]]),
        ("theirs with ours", [&other[0], &own[1]]),
        ("both theirs", [&other[0], &other[1]]),
        ("both ours, -O0", [&plain[0], &plain[1]]),
    ] {
        let linked = link(folder, arch, objects.map(|object| &object[..]), scratch);
        check(&format!("{who}, for {arch}"), &linked);
    }
}

fn run(who: &str, cubin: &[u8], case: &Case, seed: u64) {
    let cubin = read(cubin).expect("the cubin can be read");
    let programs: Vec<_> = cubin
        .functions
        .iter()
        .map(|function| ptxc_object::cubin::program(&cubin, &function.name).expect("a program"))
        .collect();
    let kernel = programs.iter().find(|program| program.name == case.entry).expect("the kernel is there");
    let whole = joined(kernel, &programs).expect("functions without tables");
    // NVIDIA's compiler relies on parts of a warp that keep their uniform registers.
    let options = Options { seed, holds_uniform: who.contains("theirs"), ..Options::default() };
    let report =
        run_sass(case, &whole, &options).unwrap_or_else(|error| panic!("{who}, seed {seed}: {error}"));
    assert!(report.passed(), "{who}, seed {seed}: wrong values");
}

#[test]
fn objects_of_both_compilers_call_each_other() {
    let folder = oracle::folder().filter(|folder| folder.join("nvlink").exists());
    let jobs: Vec<(u64, &str)> = (1..=5).flat_map(|seed| ARCHS.map(|arch| (seed, arch))).collect();
    let jobs: Vec<(u64, &str)> = jobs.into_iter().step_by(stride(STRIDE)).collect();
    jobs.into_par_iter().for_each(|(seed, arch)| {
        let all = signatures(&mut Random::new(seed));
        let case = case(&all);
        let [whole, texts @ ..] =
            [Part::All, Part::Odd, Part::Even].map(|part| module(&all, part).replace("sm_75", arch));
        alone(&whole, &case, seed);
        run(&format!("linked by ptxc for {arch}"), &linked_here(&texts), &case, seed);
        let own = texts.each_ref().map(|text| ours(text, 3));
        let Some(folder) = &folder else {
            eprintln!("skipped: nvlink is not installed");
            assert!(own.iter().all(|object| read(object).is_ok_and(|cubin| cubin.relocatable)));
            return;
        };
        let scratch = tempfile::tempdir().expect("a folder for files");
        by_nvlink(folder, scratch.path(), arch, &texts, &own, &|who, cubin| run(who, cubin, &case, seed));
    });
}

/// Both modules name a texture, and one has its address in a variable.
#[test]
fn objects_of_both_compilers_share_textures_and_surfaces() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read_text = |path: &str| std::fs::read_to_string(tests.join(path)).expect("a file of the tests");
    let cases = ["linked/images.json", "linked/images-parameter.json"]
        .map(|path| Case::parse(&read_text(path), &tests).expect("the case is well-formed"));
    let run = |who: &str, cubin: &[u8]| cases.iter().for_each(|case| run(who, cubin, case, 1));
    let folder = oracle::folder().filter(|folder| folder.join("nvlink").exists());
    let scratch = tempfile::tempdir().expect("a folder for files");
    for arch in ARCHS {
        let texts = ["lit/linking/images.ptx", "lit/linking/images-functions.ptx"]
            .map(|path| read_text(path).replace("sm_75", arch));
        run(&format!("linked by ptxc for {arch}"), &linked_here(&texts));
        let own = texts.each_ref().map(|text| ours(text, 3));
        let Some(folder) = &folder else { continue };
        by_nvlink(folder, scratch.path(), arch, &texts, &own, &run);
    }
}
