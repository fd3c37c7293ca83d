//! Every special register compiles for every architecture that has it, and reads the same value on
//! both engines of the simulator.
//!
//! If `ORACLE` names the folder of ptxas, it must accept exactly the kernels that ptxc accepts.

use std::path::{Path, PathBuf};
use std::process::Command;

use ptxc_compiler::output::kernels;
use ptxc_compiler::stages::built;
use ptxc_compiler::{Database, Options, SourceFile, diagnostics};
use ptxc_ptx::check::special;
use ptxc_sim::{Case, run_sass, run_ssa};

const TARGETS: [&str; 5] = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90"];

/// A kernel that stores a special register.
fn kernel(name: &str, target: &str) -> String {
    let bits = special::find(name).expect("a special register").ty.bits();
    let copy = match bits {
        1 => format!("mov.pred q, {name}; selp.u32 r, 1, 0, q; st.global.u32 [o], r;"),
        32 => format!("mov.b32 r, {name}; st.global.u32 [o], r;"),
        _ => format!("mov.b64 x, {name}; st.global.u64 [o], x;"),
    };
    format!(
        ".version 8.5\n.target {target}\n.address_size 64\n.visible .entry k(.param .u64 out) {{\n\
         .reg .pred q; .reg .b32 r; .reg .b64 o, x; .shared .b32 s[33]; ld.param.u64 o, [out];\n{copy} ret; }}\n"
    )
}

fn case() -> Case {
    let text = r#"{"ptx": "k.ptx", "entry": "k", "grid": [1, 1, 1], "block": [1, 1, 1], "cooperative": true, "args":
        [{"kind": "buffer", "name": "out", "elem": "u8", "init": {"zeros": 8}, "expect": null, "tolerance": "exact"}]}"#;
    Case::parse(text, Path::new("")).expect("the case is well-formed")
}

/// Registers whose values depend on the time or the architecture do not count.
fn is_fixed(name: &str) -> bool {
    !["%clock", "%globaltimer", "%nwarpid", "%reserved_smem"].iter().any(|prefix| name.starts_with(prefix))
}

fn ptxas() -> Option<PathBuf> {
    let program = PathBuf::from(std::env::var_os("ORACLE")?).join("ptxas");
    program.is_file().then_some(program)
}

#[test]
fn all_special_registers_compile_and_agree() {
    let (case, simulator) = (case(), ptxc_sim::Options::default());
    let mut lowered = 0;
    for target in TARGETS {
        for name in special::scalars() {
            let text = kernel(&name, target);
            let db = Database::default();
            let file = SourceFile::new(&db, "k.ptx".into(), text.clone());
            let options = Options::defaults(&db);
            let found = diagnostics(&db, file, options);
            assert!(found.iter().all(|one| one.code == "E0111"), "{target} {name}: {:?}", found[0].message);
            if !found.is_empty() {
                continue;
            }
            let kernels = kernels(&db, file, options);
            let [(func, Some(code))] = kernels[..] else { panic!("{target} {name}: no code") };
            lowered += 1;
            if !is_fixed(&name) {
                continue;
            }
            let ssa = built(&db, func).value.as_ref().expect("code has SSA");
            let content = |result: Result<ptxc_sim::Report, ptxc_sim::SimError>| match result {
                Ok(report) => report.outcomes[0].content.clone(),
                Err(error) => panic!("{target} {name}: {error}"),
            };
            let [one, other] =
                [run_ssa(&case, ssa, &[], &simulator), run_sass(&case, &code.program, &simulator)];
            assert_eq!(content(one), content(other), "{target} {name}");
        }
    }
    // 103 names on every target; five for reserved shared memory from sm_80 on, the clusters on sm_90.
    assert!(lowered > 450, "{lowered}");
}

/// A kernel with all special registers of a target is accepted, and a kernel with any other is not.
#[test]
fn ptxas_has_the_same_special_registers() {
    let Some(ptxas) = ptxas() else { return };
    let accepts = |text: &str, target: &str| {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("special.ptx");
        std::fs::write(&file, text).expect("the folder for tests can be written");
        let arch = format!("-arch={target}");
        let output = Command::new(&ptxas).args([&arch, "-O0", "-o", "/dev/null"]).arg(&file).output();
        output.expect("ptxas runs").status.success()
    };
    for target in TARGETS {
        let (mut header, mut bodies) = (String::new(), String::new());
        for (number, name) in special::scalars().iter().enumerate() {
            let text = kernel(name, target);
            let db = Database::default();
            let file = SourceFile::new(&db, "k.ptx".into(), text.clone());
            if diagnostics(&db, file, Options::defaults(&db)).is_empty() {
                let (head, body) = text.split_once(".visible").expect("an entry");
                header = head.to_string();
                bodies.push_str(&format!(".visible{}", body.replacen(" k(", &format!(" k{number}("), 1)));
            } else {
                assert!(!accepts(&text, target), "ptxas accepts {name} for {target}");
            }
        }
        assert!(accepts(&format!("{header}{bodies}"), target), "ptxas rejects a register for {target}");
    }
}
