//! The words that NVIDIA's assembler emits, and the texts of its disassembler. They are used for
//! checks only, and are never part of the product.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection};
use ptxc_machine::Arch;
use ptxc_opcodes::{FAMILIES, Module, Target, modules};
use ptxc_sass::{Coded, Control, Inst, Op, bits};
use rayon::prelude::*;

/// Instruction words, each with nvdisasm's text; a branch target is relative to the word's place in
/// the list.
pub type Words = Vec<(u128, String)>;

/// The folder of ptxas and nvdisasm.
pub struct Oracle(PathBuf);

impl Oracle {
    /// The folder that `ORACLE` names, if it holds the programs.
    pub fn find() -> Option<Oracle> {
        let folder = PathBuf::from(std::env::var_os("ORACLE")?);
        (folder.join("ptxas").is_file() && folder.join("nvdisasm").is_file()).then_some(Oracle(folder))
    }

    /// The distinct instruction words that ptxas emits for those files that can be compiled for the
    /// architecture.
    ///
    /// # Errors
    /// ptxas refuses a file, or its output cannot be read.
    pub fn words(&self, files: &[PathBuf], arch: Arch) -> Result<BTreeSet<u128>, String> {
        let of_file = |path: &PathBuf| -> Result<BTreeSet<u128>, String> {
            let Some(target) = target_of(path, arch) else { return Ok(BTreeSet::new()) };
            let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
            let cubin = folder.path().join("k.cubin");
            let mut ptxas = Command::new(self.0.join("ptxas"));
            ptxas.arg(format!("-arch={target}")).arg(path).arg("-o").arg(&cubin);
            let output = ptxas.output().map_err(|error| error.to_string())?;
            if !output.status.success() {
                return Err(format!("{}: {}", path.display(), first_line(&output.stderr)));
            }
            let bytes = std::fs::read(&cubin).map_err(|error| error.to_string())?;
            words_of(&bytes).map_err(|why| format!("{}: {why}", path.display()))
        };
        let sets: Result<Vec<BTreeSet<u128>>, String> = files.par_iter().map(of_file).collect();
        Ok(sets?.into_iter().flatten().collect())
    }

    /// The distinct instruction words that ptxas emits for one of `stride` generated modules for the
    /// architecture.
    ///
    /// # Errors
    /// ptxas refuses a module.
    pub fn generated(&self, arch: Arch, stride: usize) -> Result<BTreeSet<u128>, String> {
        let oracle = ptxc_opcodes::Oracle::find().ok_or("no ptxas")?;
        let targets = Target::ALL.into_iter().filter(|target| target.number() == arch.number());
        let pairs = targets.flat_map(|target| FAMILIES.iter().map(move |family| (family, target)));
        let made: Result<Vec<_>, String> = pairs.map(|(family, target)| modules(family, target)).collect();
        let of_module = |module: &Module| -> Result<BTreeSet<u128>, String> {
            let compiled = oracle.compile(module)?;
            if let Some((step, message)) = compiled.refused.first() {
                return Err(format!("{}: {step}: {message}", module.name));
            }
            compiled.cubin.map_or(Ok(BTreeSet::new()), |cubin| words_of(&cubin))
        };
        let made: Vec<Module> = of_arch(made?.into_iter().flatten().collect(), arch, stride);
        let sets: Result<Vec<BTreeSet<u128>>, String> = made.par_iter().map(of_module).collect();
        Ok(sets?.into_iter().flatten().collect())
    }

    /// The output of nvdisasm for words that follow each other from address 0 on. Words that it
    /// does not accept are omitted, and the words after them move up.
    ///
    /// # Errors
    /// nvdisasm fails.
    pub fn disassemble(&self, words: &BTreeSet<u128>, arch: Arch) -> Result<Words, String> {
        let words: Vec<u128> = words.iter().copied().collect();
        let texts = self.texts(&words, arch)?;
        let taken = words.iter().zip(&texts).filter(|(_, text)| text.is_some());
        let known: Vec<u128> = taken.map(|(&word, _)| word).collect();
        let texts = if known.len() == words.len() { texts } else { self.texts(&known, arch)? };
        Ok(known.into_iter().zip(texts).map(|(word, text)| (word, text.unwrap_or_default())).collect())
    }

    /// The text of nvdisasm for each of the words; `None` for words that it does not accept.
    ///
    /// # Errors
    /// nvdisasm fails for a reason other than a word.
    pub fn texts(&self, words: &[u128], arch: Arch) -> Result<Vec<Option<String>>, String> {
        let nop = Coded { inst: Inst::new(Op::NOP), control: Control::plain(), loc: u32::MAX };
        let nop = bits::encode(&nop, 0, arch, |_| None).map_err(|why| why.to_string())?;
        let mut refused = BTreeSet::new();
        loop {
            let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
            let path = folder.path().join("words.bin");
            let taken = |(index, &word): (usize, &u128)| if refused.contains(&index) { nop } else { word };
            let bytes: Vec<u8> = words.iter().enumerate().map(taken).flat_map(u128::to_le_bytes).collect();
            std::fs::write(&path, bytes).map_err(|error| error.to_string())?;
            let name = arch.to_string().replace("sm_", "SM");
            let name = if arch == Arch::Sm90 { format!("{name}a") } else { name };
            let output = Command::new(self.0.join("nvdisasm")).arg("-b").arg(name).arg(&path).output();
            let output = output.map_err(|error| error.to_string())?;
            let before = refused.len();
            refused.extend(addresses(&String::from_utf8_lossy(&output.stderr)).map(|address| address / 16));
            if refused.len() == before {
                if !output.status.success() {
                    return Err(first_line(&output.stderr));
                }
                let mut texts = read_raw(&String::from_utf8_lossy(&output.stdout), words.len());
                for &index in &refused {
                    if let Some(text) = texts.get_mut(index) {
                        *text = None;
                    }
                }
                return Ok(texts);
            }
        }
    }
}

/// One of `stride` items, different ones for the next architecture.
pub(crate) fn of_arch<T>(items: Vec<T>, arch: Arch, stride: usize) -> Vec<T> {
    let turn = Arch::ALL.iter().position(|&other| other == arch).unwrap_or(0);
    ptxc_sample::in_turn(items, turn, stride).collect()
}

fn first_line(messages: &[u8]) -> String {
    String::from_utf8_lossy(messages).lines().next().unwrap_or("no message").to_string()
}

/// The target for ptxas, if a file can be compiled for the architecture.
fn target_of(path: &Path, arch: Arch) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.trim().strip_prefix(".target"))?;
    let target = line.trim().strip_prefix("sm_")?;
    let digits: String = target.chars().take_while(char::is_ascii_digit).collect();
    let number: u32 = digits.parse().ok()?;
    let ours: u32 = arch.to_string().strip_prefix("sm_")?.parse().ok()?;
    match target[digits.len()..].starts_with('a') {
        true => (number == ours).then(|| format!("sm_{number}a")),
        false => (number <= ours).then(|| arch.to_string()),
    }
}

/// The hexadecimal addresses in messages.
fn addresses(messages: &str) -> impl Iterator<Item = usize> + '_ {
    let parts = messages.split("address 0x").skip(1);
    parts.filter_map(|part| {
        let digits = part.split(|c: char| !c.is_ascii_hexdigit()).next()?;
        usize::from_str_radix(digits, 16).ok()
    })
}

/// The instruction words in the code sections of a cubin.
fn words_of(cubin: &[u8]) -> Result<BTreeSet<u128>, String> {
    let file = ElfFile64::<Endianness>::parse(cubin).map_err(|why| why.to_string())?;
    let mut words = BTreeSet::new();
    for section in file.sections() {
        if section.name().is_ok_and(|name| name.starts_with(".text")) {
            let data = section.data().map_err(|why| why.to_string())?;
            words.extend(data.as_chunks::<16>().0.iter().map(|&bytes| u128::from_le_bytes(bytes)));
        }
    }
    Ok(words)
}

/// The instructions in nvdisasm's text of a raw file: `/*0010*/  MOV R1, R2 ;`.
fn read_raw(text: &str, count: usize) -> Vec<Option<String>> {
    let mut texts = vec![None; count];
    for line in text.lines() {
        let parts = line.trim().strip_prefix("/*").and_then(|line| line.split_once("*/"));
        let Some((offset, rest)) = parts else { continue };
        let Ok(offset) = usize::from_str_radix(offset, 16) else { continue };
        if let Some(text) = texts.get_mut(offset / 16) {
            *text = Some(rest.trim().trim_end_matches([';', ' ']).to_string());
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listings_and_messages_are_read() {
        let text = "\t.headerflags\t@\"…\"\n        /*0000*/                   MOV R1, R2 ;\n        /*0010*/ @P0 EXIT ;\n";
        assert_eq!(read_raw(text, 2), [Some("MOV R1, R2".to_string()), Some("@P0 EXIT".to_string())]);
        let messages =
            "nvdisasm error : Unrecognized operation for functional unit 'uC' at address 0x00000020\n";
        assert_eq!(addresses(messages).collect::<Vec<_>>(), [32]);
    }
}
