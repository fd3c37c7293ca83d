//! `cargo run -p ptxc-opcodes -- DIR`: writes the modules as files, and reports the steps that
//! ptxas refuses.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use ptxc_opcodes::{FAMILIES, Module, Oracle, Target, modules};
use rayon::prelude::*;

/// Write PTX from which ptxas makes every opcode and form. If ptxas is available, also write the
/// cubin next to each file.
#[derive(Parser)]
struct Cli {
    /// The folder for the files.
    folder: PathBuf,
    /// Only this target, such as sm_90a; may be repeated (default: all).
    #[arg(long)]
    target: Vec<Target>,
    /// Only this family, such as integer; may be repeated (default: all).
    #[arg(long)]
    family: Vec<String>,
}

impl Cli {
    /// The requested modules.
    fn modules(&self) -> Result<Vec<Module>, String> {
        if let Some(name) = self.family.iter().find(|name| FAMILIES.iter().all(|family| family.name != *name))
        {
            return Err(format!("no family {name}"));
        }
        let mut made = Vec::new();
        for family in FAMILIES {
            for target in Target::ALL {
                let by_family = self.family.is_empty() || self.family.iter().any(|name| name == family.name);
                if by_family && (self.target.is_empty() || self.target.contains(&target)) {
                    made.extend(modules(family, target)?);
                }
            }
        }
        Ok(made)
    }

    fn run(&self) -> Result<usize, String> {
        std::fs::create_dir_all(&self.folder).map_err(|error| error.to_string())?;
        let oracle = Oracle::find();
        if oracle.is_none() {
            println!("SKIPPED: cubins; ORACLE names no folder with ptxas");
        }
        let made = self.modules()?;
        let refused = made.par_iter().map(|module| self.write(module, oracle.as_ref()));
        let refused: Result<Vec<usize>, String> = refused.collect();
        let (count, steps) = (made.len(), made.iter().map(|module| module.steps.len()).sum::<usize>());
        let refused = refused?.into_iter().sum();
        println!("{count} modules, {steps} steps, {refused} refused");
        Ok(refused)
    }

    /// Writes a module with the cubin of ptxas, and returns the number of its steps that ptxas
    /// refuses.
    fn write(&self, module: &Module, oracle: Option<&Oracle>) -> Result<usize, String> {
        let save = |extension: &str, bytes: &[u8]| {
            let path = self.folder.join(format!("{}.{extension}", module.name));
            std::fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))
        };
        let Some(oracle) = oracle else { return save("ptx", module.text.as_bytes()).map(|()| 0) };
        let compiled = oracle.compile(module)?;
        if let Some(cubin) = compiled.cubin {
            save("ptx", compiled.module.text.as_bytes())?;
            save("cubin", &cubin)?;
        }
        for (step, message) in &compiled.refused {
            println!("{}\t{step}\t{message}", module.name);
        }
        Ok(compiled.refused.len())
    }
}

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
