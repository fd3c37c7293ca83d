//! Forms of instructions for textures and surfaces in a function that is called, by both calling conventions.
//!
//! The form is the body of a device function, whose parameters are the handles and the buffers. The kernel
//! that calls it must leave the bytes that the form leaves in a kernel: in one program, and as an object that
//! ptxc links.

use std::fmt::Write as _;

use ptxc_compiler::cubin::object;
use ptxc_compiler::output::kernels;
use ptxc_compiler::{Database, Settings, SourceFile, diagnostics};
use ptxc_object::cubin;
use ptxc_sass::joined::joined;
use ptxc_sim::{Options, run_sass};

use super::images::{Extra, Form, Found, case, contents, forms, header, verdict};

const ARCHS: [&str; 3] = ["sm_75", "sm_80", "sm_90"];

/// The form in a function, and a kernel that calls it.
fn called(form: &Form) -> String {
    let function = form.text.replacen(".visible .entry forms(", ".func called(", 1);
    let start = form.text.find('(').expect("parameters") + 1;
    let end = form.text.find(')').expect("parameters");
    let params = &form.text[start..end];
    let names: Vec<&str> = params.split(',').filter_map(|param| param.split_whitespace().last()).collect();
    let mut text =
        format!("{function}.visible .entry forms({params})\n{{\n\t.reg .b64 %a<{}>;\n", names.len());
    for (number, name) in names.iter().enumerate() {
        let _ = writeln!(text, "\tld.param.u64 %a{number}, [{name}];");
    }
    let arguments: Vec<String> = (0..names.len()).map(|number| format!("%a{number}")).collect();
    let _ = writeln!(text, "\tcall called, ({});\n\tret;\n}}", arguments.join(", "));
    text
}

/// The bytes that a program leaves.
fn in_one_program(form: &Form, text: &str) -> Result<Vec<Vec<u8>>, String> {
    let db = Database::default();
    let file = SourceFile::new(&db, "forms.ptx".into(), text.to_string());
    let options = ptxc_compiler::Options::defaults(&db);
    if let Some(found) = diagnostics(&db, file, options).first() {
        return Err(found.message.clone());
    }
    let [(_, Some(code))] = kernels(&db, file, options)[..] else { return Err("no kernel".into()) };
    contents(run_sass(&case(form), &code.program, &Options::default()))
}

/// The same as an object.
fn linked(form: &Form, text: &str) -> Result<Vec<Vec<u8>>, String> {
    let db = Database::default();
    let file = SourceFile::new(&db, "forms.ptx".into(), text.to_string());
    let options = Settings { relocatable: true, ..Settings::default() }.options(&db);
    if let Some(found) = diagnostics(&db, file, options).first() {
        return Err(found.message.clone());
    }
    let object = object(&db, file, options).as_ref().clone().map_err(|error| error.to_string())?;
    let whole = cubin::link(vec![object]).map_err(|found| found[0].to_string())?;
    let whole =
        cubin::write(&whole).and_then(|bytes| cubin::read(&bytes)).map_err(|error| error.to_string())?;
    let programs = whole.functions.iter().map(|function| cubin::program(&whole, &function.name));
    let mut programs = programs.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
    let kernel = programs.iter_mut().find(|program| program.name == "forms").ok_or("no kernel")?;
    let start = form.text.find('(').map_or(0, |at| at + 1);
    let names = form.text[start..].split([',', ')']).filter_map(|param| param.split_whitespace().last());
    // A file does not have the names of parameters.
    for (param, name) in kernel.params.iter_mut().zip(names) {
        param.name = name.to_string();
    }
    let kernel = programs.iter().find(|program| program.name == "forms").ok_or("no kernel")?;
    let whole = joined(kernel, &programs)?;
    contents(run_sass(&case(form), &whole, &Options::default()))
}

/// Tries one of `stride` forms; returns their number.
pub fn check(stride: usize) -> usize {
    let mut wrong = Vec::new();
    let mut count = 0;
    for apart in [false, true] {
        let mut forms = forms(apart);
        let by_handle = [Extra::Nothing, Extra::Sampler, Extra::Offset].map(|extra| format!(" {extra:?}"));
        forms.retain(|form| form.runs && by_handle.iter().any(|extra| form.name.ends_with(extra)));
        let forms: Vec<Form> = forms.into_iter().step_by(stride).collect();
        for arch in ARCHS {
            let found = super::in_parallel(forms.len(), |index| {
                let form = &forms[index];
                let Found::Lowered(_, expected) = verdict(form, arch, apart) else {
                    return Some(format!("{arch}: {} does not lower", form.name));
                };
                let text = header(arch, apart) + &called(form);
                for (who, found) in
                    [("one program", in_one_program(form, &text)), ("linked", linked(form, &text))]
                {
                    match found {
                        Ok(bytes) if bytes == expected => {}
                        Ok(_) => return Some(format!("{arch}: {}, {who}: other bytes", form.name)),
                        Err(why) => return Some(format!("{arch}: {}, {who}: {why}", form.name)),
                    }
                }
                None
            });
            wrong.extend(found.into_iter().flatten());
        }
        count += forms.len();
    }
    assert!(wrong.is_empty(), "{} problems\n{}", wrong.len(), wrong.join("\n"));
    count
}
