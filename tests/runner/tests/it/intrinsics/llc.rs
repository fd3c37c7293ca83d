//! Modules of LLVM IR, and what LLVM, ptxas and the compiler say about them.

use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;

use ptxc_tests::oracle::ptxas;

/// The programs.
pub struct Llc {
    llc: String,
    ptxas: Option<PathBuf>,
}

/// A kernel, and the declaration and text that it needs.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// What the kernel tests.
    pub name: String,
    /// A declaration, which other kernels may share.
    pub declaration: String,
    /// The definition.
    pub text: String,
}

/// A module for a target.
#[derive(Clone, Debug)]
pub struct Module {
    /// Its name; no other module has it.
    pub name: String,
    /// The target.
    pub target: String,
    /// The version, as LLVM spells it.
    pub version: String,
    /// The optimization level of LLVM.
    pub level: &'static str,
    /// Text before the kernels.
    pub head: String,
    /// The kernels. Of several, those that cannot be compiled are looked for.
    pub kernels: Vec<Kernel>,
}

/// The result for a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The compiler lowers it, or accepts it for a target without code generation.
    Lowered,
    /// LLVM cannot compile it for this target, or ptxas refuses it.
    Refused,
    /// The compiler does not lower it: its messages.
    Left(Vec<String>),
    /// The IR is wrong.
    Invalid(String),
}

impl Module {
    /// A module that is not made of kernels.
    pub fn whole(name: &str, text: &str, target: &str, version: &str, level: &'static str) -> Module {
        Module {
            name: format!("{name}-{target}{level}"),
            target: target.to_string(),
            version: version.to_string(),
            level,
            head: text.to_string(),
            kernels: Vec::new(),
        }
    }

    fn text(&self) -> String {
        let mut declarations: Vec<&str> = self.kernels.iter().map(|kernel| &*kernel.declaration).collect();
        declarations.sort_unstable();
        declarations.dedup();
        let kernels: String = self.kernels.iter().map(|kernel| &*kernel.text).collect();
        format!("{}{}{kernels}", self.head, declarations.concat())
    }

    /// The two halves of the kernels, as modules.
    fn halves(&self) -> [Module; 2] {
        let (first, second) = self.kernels.split_at(self.kernels.len() / 2);
        [(first, "a"), (second, "b")].map(|(kernels, half)| Module {
            name: format!("{}{half}", self.name),
            kernels: kernels.to_vec(),
            ..self.clone()
        })
    }
}

impl Llc {
    /// The programs, or nothing with a line on stderr.
    pub fn find() -> Option<Llc> {
        let llc = std::env::var("LLC").unwrap_or_else(|_| "llc-22".into());
        if Command::new(&llc).arg("--version").output().is_err() {
            // The test harness hides the output of `eprintln!`.
            let _ = writeln!(std::io::stderr(), "skipped: no {llc}; Debian's package llvm-22 has it");
            return None;
        }
        Some(Llc { llc, ptxas: ptxas() })
    }

    /// Whether ptxas is installed. Without it, the compiler must accept everything and need not lower it.
    pub fn has_ptxas(&self) -> bool {
        self.ptxas.is_some()
    }

    /// The results for a module, or for each part of it if LLVM or ptxas refuses a part.
    pub fn verdicts(&self, module: &Module) -> Vec<(String, Verdict)> {
        let verdict = self.verdict(module);
        if matches!(verdict, Verdict::Refused) && module.kernels.len() > 1 {
            return module.halves().iter().flat_map(|half| self.verdicts(half)).collect();
        }
        let first = module.kernels.first().map_or(String::new(), |kernel| format!(" ({}…)", kernel.name));
        vec![(format!("{}{first}", module.name), verdict)]
    }

    fn verdict(&self, module: &Module) -> Verdict {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("llvm-{}", module.name));
        let [ir, ptx, cubin] = ["ll", "ptx", "cubin"].map(|extension| file.with_extension(extension));
        std::fs::write(&ir, module.text()).expect("the folder for tests can be written");
        let output = Command::new(&self.llc)
            .args(["-disable-symbolication", "-march=nvptx64", module.level])
            .args([format!("-mcpu={}", module.target), format!("-mattr=+{}", module.version)])
            .args([&ir, Path::new("-o"), &ptx])
            .output()
            .expect("llc runs");
        let messages = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            let first = messages.lines().next().unwrap_or_default();
            // The parser names a place in the file.
            let is_invalid = first.contains(".ll:");
            return if is_invalid { Verdict::Invalid(first.to_string()) } else { Verdict::Refused };
        }
        let written = std::fs::read_to_string(&ptx).expect("llc writes PTX");
        // LLVM calls a name that it does not know like any function.
        if let Some(line) = written.lines().find(|line| line.contains("llvm.nvvm")) {
            return Verdict::Invalid(format!("not an intrinsic of this LLVM: {line}"));
        }
        let mut objects: &[&str] = &[];
        if let Some(ptxas) = &self.ptxas {
            let run = |options: &[&str]| {
                let mut command = Command::new(ptxas);
                command.arg(format!("-arch={}", module.target)).args(options).args([
                    &ptx,
                    Path::new("-o"),
                    &cubin,
                ]);
                command.output().expect("ptxas runs")
            };
            let mut output = run(objects);
            if String::from_utf8_lossy(&output.stderr).contains("Unresolved extern") {
                // The module calls functions of another one.
                objects = &["-c"];
                output = run(objects);
            }
            if !output.status.success() {
                return Verdict::Refused;
            }
        }
        self.ours(module, &ptx, &cubin, objects)
    }

    /// Lowers a module; checks it only, if there is no code for its target or no ptxas.
    fn ours(&self, module: &Module, ptx: &Path, cubin: &Path, objects: &[&str]) -> Verdict {
        let [ptx, cubin] = [ptx, cubin].map(|path| path.to_str().expect("a name in Unicode"));
        let number: String = module.target.chars().filter(char::is_ascii_digit).collect();
        let mut words = vec!["ptxc"];
        if self.ptxas.is_some() && number.len() == 2 {
            words.extend(["lower", ptx, "--arch", &module.target, "-j", "1", "-o", cubin]);
            words.extend(objects);
        } else {
            words.extend(["check", ptx]);
        }
        let words: Vec<String> = words.into_iter().map(str::to_string).collect();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let run = || ptxc::run(&words, &mut std::io::empty(), &mut out, &mut err);
        let status = catch_unwind(AssertUnwindSafe(run));
        let messages = String::from_utf8_lossy(&err);
        match status {
            Ok(0) => Verdict::Lowered,
            Ok(_) => Verdict::Left(
                messages.lines().filter(|line| line.starts_with("error")).map(str::to_string).collect(),
            ),
            Err(_) => Verdict::Left(vec!["panicked".to_string()]),
        }
    }
}
