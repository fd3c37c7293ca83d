//! The results of NVIDIA's ptxas for modules. It is used for checks only, and is never part of the
//! product.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::module::Module;

/// ptxas.
#[derive(Clone, Debug)]
pub struct Oracle(PathBuf);

/// The result for a module.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The module, with the steps that ptxas accepts.
    pub module: Module,
    /// The steps that it refuses, with its messages.
    pub refused: Vec<(String, String)>,
    /// The object file; `None` if no step of the module is left.
    pub cubin: Option<Vec<u8>>,
}

impl Oracle {
    /// The program in the folder that `ORACLE` names; `None` if it is not there.
    pub fn find() -> Option<Oracle> {
        let program = PathBuf::from(std::env::var_os("ORACLE")?).join("ptxas");
        program.is_file().then_some(Oracle(program))
    }

    /// Compiles a module. Steps that ptxas refuses are omitted.
    ///
    /// # Errors
    /// ptxas cannot be run.
    pub fn compile(&self, module: &Module) -> Result<Compiled, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let mut refused = Vec::new();
        let (module, cubin) = self.attempt(module.clone(), folder.path(), &mut refused)?;
        Ok(Compiled { module, refused, cubin })
    }

    fn attempt(
        &self,
        mut module: Module,
        folder: &Path,
        refused: &mut Vec<(String, String)>,
    ) -> Result<(Module, Option<Vec<u8>>), String> {
        while !module.steps.is_empty() {
            let messages = match self.ask(&module, folder)? {
                Ok(cubin) => return Ok((module, Some(cubin))),
                Err(messages) => messages,
            };
            let mut accused: BTreeMap<usize, String> = BTreeMap::new();
            for message in messages.lines() {
                let Some((line, what)) = located(message) else { continue };
                if line <= module.frame_lines() {
                    return Err(format!("{}: {message}", module.name));
                }
                if let Some(at) = module.steps.iter().position(|step| step.lines.contains(&line)) {
                    accused.entry(at).or_insert(what);
                }
            }
            if accused.is_empty() && module.steps.len() == 1 {
                accused.insert(0, messages.lines().next().unwrap_or("no message").to_string());
            }
            if accused.is_empty() {
                // A message without a line refers to one of the halves.
                let middle = module.steps.len() / 2;
                let (first, _) = self.attempt(module.with(|at| at < middle), folder, refused)?;
                let (second, _) = self.attempt(module.with(|at| at >= middle), folder, refused)?;
                let kept = first.steps.len() + second.steps.len();
                if kept == module.steps.len() {
                    return Err(format!("{}: {messages}", module.name));
                }
                let taken: BTreeSet<String> =
                    [first.steps, second.steps].concat().into_iter().map(|step| step.text).collect();
                module = module.with(|at| taken.contains(&module.steps[at].text));
                continue;
            }
            for (&at, what) in &accused {
                refused.push((module.steps[at].text.clone(), what.clone()));
            }
            module = module.with(|at| !accused.contains_key(&at));
        }
        Ok((module, None))
    }

    /// The cubin of a module, or ptxas's messages.
    fn ask(&self, module: &Module, folder: &Path) -> Result<Result<Vec<u8>, String>, String> {
        let (ptx, cubin) = (folder.join("k.ptx"), folder.join("k.cubin"));
        std::fs::write(&ptx, &module.text).map_err(|error| error.to_string())?;
        let output = Command::new(&self.0)
            .arg("-w")
            .arg(format!("-arch={}", module.target))
            .arg(&ptx)
            .arg("-o")
            .arg(&cubin)
            .output()
            .map_err(|error| format!("ptxas: {error}"))?;
        if output.status.success() {
            return std::fs::read(&cubin).map(Ok).map_err(|error| error.to_string());
        }
        let messages = [output.stdout, output.stderr].concat();
        Ok(Err(String::from_utf8_lossy(&messages).into_owned()))
    }
}

/// The line of an error, and its message.
fn located(message: &str) -> Option<(usize, String)> {
    let (_, rest) = message.split_once(", line ")?;
    let (line, what) = rest.split_once(';')?;
    let what = what.split_once(':').map_or(what, |(_, what)| what);
    Some((line.trim().parse().ok()?, what.trim().to_string()))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::kernel::header;
    use crate::target::Target;

    #[test]
    fn messages_name_lines() {
        let message = "ptxas k.ptx, line 12; error   : Unknown modifier '.nan'";
        assert_eq!(located(message), Some((12, "Unknown modifier '.nan'".to_string())));
        assert_eq!(located("ptxas fatal   : Ptx assembly aborted due to errors"), None);
    }

    #[test]
    fn refused_steps_are_left_out_and_named() {
        let Some(oracle) = Oracle::find() else {
            // Prints to standard error directly, because the test harness hides the output of
            // `eprintln!`.
            let _ = writeln!(std::io::stderr(), "SKIPPED: refusals of ptxas; ORACLE names no folder with it");
            return;
        };
        let steps = ["add.u32 rw, w0, w1", "add.u32 rw, w0, x1", "sub.u32 rw, w0, w1"].map(str::to_string);
        let module = |head: &str| {
            Module::new("m".to_string(), Target::Sm75, (head.to_string(), String::new()), &steps)
        };
        let compiled = oracle.compile(&module(&header("9.0", Target::Sm75, false))).expect("ptxas answers");
        assert!(compiled.cubin.is_some());
        assert_eq!(compiled.module.steps.len(), 2);
        assert_eq!(compiled.refused.len(), 1);
        assert_eq!(compiled.refused[0].0, steps[1]);
        let wrong = oracle.compile(&module(&header("6.0", Target::Sm75, false)));
        assert!(wrong.is_err_and(|message| message.contains("version")), "the frame is at fault");
    }
}
