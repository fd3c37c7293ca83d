//! The results of NVIDIA's ptxas for forms. It is used for checks only, and is never part of the
//! product.
//!
//! Many kernels go into one file. ptxas reports the line of each error, so one run finds all
//! kernels that it refuses, and a second run compiles the rest. If an error has no line, the file
//! is cut in two until it is a single kernel. [`signature`](crate::signature) reads nvdisasm's
//! text. Answers are kept in a file for each architecture, by a hash of the kernel's text and the
//! program's version, so that only changed kernels are compiled again.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ptxc_machine::Arch;
use rayon::prelude::*;

use crate::form::Form;
use crate::kernel::{entry, header};
use crate::outcome::Outcome;
use crate::signature::Signature;

/// The number of kernels in a file.
const BATCH: usize = 250;

/// ptxas and nvdisasm.
#[derive(Clone, Debug)]
pub struct Oracle {
    folder: PathBuf,
    version: String,
}

/// The folder that `ORACLE` names, else the usual one; `None` if the usual one is absent.
pub fn folder() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("ORACLE") {
        return Some(folder.into());
    }
    let python = Path::new(&std::env::var_os("HOME")?).join(".cache/ptxc-oracle/lib");
    let version = std::fs::read_dir(python).ok()?.flatten().next()?.path();
    Some(version.join("site-packages/nvidia/cu13/bin"))
}

impl Oracle {
    /// The programs in the folder that `ORACLE` names, else in the usual place; `None` if there are
    /// none.
    pub fn find() -> Option<Oracle> {
        let folder = folder()?;
        let output = Command::new(folder.join("ptxas")).arg("--version").output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let version = text.lines().find(|line| line.contains("release"))?.trim().to_string();
        Some(Oracle { folder, version })
    }

    /// The version that ptxas reports.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The results of ptxas for forms, in order. `kept` is a folder for answers, which is created
    /// if necessary.
    ///
    /// # Errors
    /// The programs do not run, or their output cannot be read.
    pub fn ask(&self, arch: Arch, forms: &[Form], kept: &Path) -> Result<Vec<Outcome>, String> {
        let file = kept.join(format!("{arch}.txt"));
        let mut answers: BTreeMap<String, Outcome> = std::fs::read_to_string(&file)
            .unwrap_or_default()
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .map(|(key, text)| (key.to_string(), Outcome::parse(text)))
            .collect();
        let keys: Vec<String> = forms.iter().map(|form| self.key(arch, form)).collect();
        let mut unknown: BTreeMap<(u32, u32), Vec<&Form>> = BTreeMap::new();
        let mut asked = std::collections::HashSet::new();
        for (form, key) in forms.iter().zip(&keys) {
            if !answers.contains_key(key) && asked.insert(key) {
                unknown.entry(form.version).or_default().push(form);
            }
        }
        let batches: Vec<&[&Form]> = unknown.values().flat_map(|forms| forms.chunks(BATCH)).collect();
        std::fs::create_dir_all(kept).map_err(|error| error.to_string())?;
        let log = std::fs::OpenOptions::new().create(true).append(true).open(&file);
        let log = std::sync::Mutex::new(log.map_err(|error| format!("{}: {error}", file.display()))?);
        let found: Result<Vec<Vec<(String, Outcome)>>, String> = batches
            .par_iter()
            .map(|batch| {
                let outcomes = self.batch(arch, batch)?;
                let found: Vec<_> = batch.iter().map(|form| self.key(arch, form)).zip(outcomes).collect();
                let mut text = String::new();
                for (key, outcome) in &found {
                    // Writing to a string cannot fail.
                    let _ = writeln!(text, "{key}\t{outcome}");
                }
                // Answers are written after each batch, so that a run that is cut short is not
                // lost.
                let mut log = log.lock().map_err(|_| "another batch failed".to_string())?;
                log.write_all(text.as_bytes()).map_err(|error| error.to_string())?;
                Ok(found)
            })
            .collect();
        answers.extend(found?.into_iter().flatten());
        keys.iter()
            .map(|key| answers.get(key).cloned().ok_or_else(|| format!("no answer for {key}")))
            .collect()
    }

    /// The key of an answer.
    fn key(&self, arch: Arch, form: &Form) -> String {
        let mut hasher = DefaultHasher::new();
        (&self.version, arch.number(), form.version, entry(form, "k").0).hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }

    /// The outcomes of forms that share a file.
    fn batch(&self, arch: Arch, forms: &[&Form]) -> Result<Vec<Outcome>, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let mut outcomes: Vec<Option<Outcome>> = vec![None; forms.len()];
        loop {
            let left: Vec<usize> = (0..forms.len()).filter(|&index| outcomes[index].is_none()).collect();
            if left.is_empty() {
                break;
            }
            let mut text = header(forms[0].version, arch);
            let mut ends = Vec::new();
            for &index in &left {
                text.push_str(&entry(forms[index], &format!("k{index}")).0);
                ends.push(text.matches('\n').count());
            }
            let (ptx, cubin) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
            std::fs::write(&ptx, text).map_err(|error| error.to_string())?;
            let output = self.compile(&ptx, arch, &cubin)?;
            if output.status.success() {
                let mut kernels = self.disassemble(&cubin)?;
                for index in left {
                    let name = format!("k{index}");
                    let signature =
                        kernels.remove(&name).ok_or_else(|| format!("nvdisasm left out {name}"))?;
                    outcomes[index] = Some(Outcome::Code(signature));
                }
                break;
            }
            let messages = [output.stdout, output.stderr].concat();
            let messages = String::from_utf8_lossy(&messages);
            let mut accused = std::collections::BTreeMap::new();
            for message in messages.lines().filter(|line| line.contains("error") || line.contains("fatal")) {
                let Some((line, what)) = located(message) else { continue };
                let at = ends.partition_point(|&end| end < line);
                let Some(&index) = left.get(at) else { continue };
                accused.entry(index).or_insert(what);
            }
            if let ([index], Some(what)) = (&left[..], accused.values().next()) {
                outcomes[*index] = Some(Outcome::Refused(what.clone()));
                break;
            }
            // With many kernels, a message can name a line of another kernel, so each is compiled
            // alone.
            for &index in accused.keys() {
                outcomes[index] = self.batch(arch, &[forms[index]])?.pop();
            }
            if accused.is_empty() {
                if let [index] = left[..] {
                    let first = messages.lines().next().unwrap_or("no message");
                    outcomes[index] = Some(Outcome::Refused(without_names(first)));
                } else {
                    let (first, second) = left.split_at(left.len() / 2);
                    for part in [first, second] {
                        let forms: Vec<&Form> = part.iter().map(|&index| forms[index]).collect();
                        for (&index, outcome) in part.iter().zip(self.batch(arch, &forms)?) {
                            outcomes[index] = Some(outcome);
                        }
                    }
                }
            }
        }
        outcomes
            .into_iter()
            .map(|outcome| outcome.ok_or_else(|| "a form without outcome".to_string()))
            .collect()
    }

    /// The instructions of a whole file for an architecture, without offsets and semicolons.
    ///
    /// # Errors
    /// ptxas's message about the file, or the programs do not run.
    pub fn instructions(&self, ptx: &str, arch: Arch) -> Result<Vec<String>, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let (source, cubin) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
        std::fs::write(&source, ptx).map_err(|error| error.to_string())?;
        let output = self.compile(&source, arch, &cubin)?;
        if !output.status.success() {
            return Err([output.stdout, output.stderr]
                .map(|text| String::from_utf8_lossy(&text).into_owned())
                .concat());
        }
        Ok(self.text(&cubin)?.lines().filter_map(instruction).map(str::to_string).collect())
    }

    /// The text of nvdisasm for encodings on an architecture, without semicolons.
    ///
    /// # Errors
    /// nvdisasm does not run, or cannot read one of the encodings.
    pub fn read(&self, codes: &[u128], arch: Arch) -> Result<Vec<String>, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let binary = folder.path().join("codes.bin");
        let bytes: Vec<u8> = codes.iter().flat_map(|code| code.to_le_bytes()).collect();
        std::fs::write(&binary, bytes).map_err(|error| error.to_string())?;
        let output = Command::new(self.folder.join("nvdisasm"))
            .args(["-b", &format!("SM{}", arch.number())])
            .arg(&binary)
            .output()
            .map_err(|error| format!("nvdisasm: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let read: Vec<String> = text.lines().filter_map(instruction).map(str::to_string).collect();
        match read.len() == codes.len() {
            true => Ok(read),
            false => Err(format!("nvdisasm, for {arch}: {}", String::from_utf8_lossy(&output.stderr))),
        }
    }

    fn compile(&self, ptx: &Path, arch: Arch, cubin: &Path) -> Result<Output, String> {
        let mut ptxas = Command::new(self.folder.join("ptxas"));
        ptxas.args(["-w".to_string(), format!("-arch={arch}")]).arg(ptx).arg("-o").arg(cubin);
        ptxas.output().map_err(|error| format!("ptxas: {error}"))
    }

    /// The signatures of a cubin's kernels by name.
    fn disassemble(&self, cubin: &Path) -> Result<HashMap<String, Signature>, String> {
        let text = self.text(cubin)?;
        let sections = text.split("//--------------------- .text.").skip(1);
        Ok(sections
            .map(|section| {
                let name = section.chars().take_while(|c| !c.is_whitespace()).collect();
                (name, Signature::of(section.lines().filter_map(instruction)))
            })
            .collect())
    }

    /// The output of nvdisasm for a cubin.
    fn text(&self, cubin: &Path) -> Result<String, String> {
        let output = Command::new(self.folder.join("nvdisasm"))
            .arg("-c")
            .arg(cubin)
            .output()
            .map_err(|error| format!("nvdisasm: {error}"))?;
        if !output.status.success() {
            return Err(format!("nvdisasm: {}", String::from_utf8_lossy(&output.stderr)));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// The instruction on a line of nvdisasm's text.
fn instruction(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("/*")?;
    let (offset, rest) = rest.split_once("*/")?;
    u64::from_str_radix(offset, 16).ok()?;
    Some(rest.split(';').next()?.trim()).filter(|text| !text.is_empty())
}

/// The line of an error, and its message.
fn located(message: &str) -> Option<(usize, String)> {
    let (_, rest) = message.split_once(", line ")?;
    let (line, what) = rest.split_once(';')?;
    let what = what.split_once(':').map_or(what, |(_, what)| what);
    Some((line.trim().parse().ok()?, without_names(what)))
}

/// A message without the text in quotation marks.
fn without_names(message: &str) -> String {
    let mut parts = message.trim().split('\'');
    let mut out = parts.next().unwrap_or_default().to_string();
    while let (Some(_), Some(after)) = (parts.next(), parts.next()) {
        out.push('…');
        out.push_str(after);
    }
    out.replace("; ", ", ")
}
