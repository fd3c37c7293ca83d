//! `cargo run -p ptxc-opcodes -- DIR`: writes the modules as files, and says which steps ptxas does not take.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use ptxc_opcodes::{FAMILIES, Module, Oracle, Target, modules};
use rayon::prelude::*;

/// Writes PTX from which ptxas makes every opcode and form. With ptxas at hand, beside each file the cubin.
#[derive(Parser)]
struct Cli {
    /// The folder for the files.
    folder: PathBuf,
    /// A target, such as sm_90a; may be given several times (default: all).
    #[arg(long)]
    target: Vec<Target>,
    /// A family, such as integer; may be given several times (default: all).
    #[arg(long)]
    family: Vec<String>,
}

impl Cli {
    /// The modules that are asked for.
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

    /// Writes a module with what ptxas makes of it; how many of its steps ptxas refuses.
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
