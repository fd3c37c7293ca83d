//! NVIDIA's assembler and disassembler, and their inputs.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

use ptxc_machine::Arch;
use ptxc_sample::{in_turn, stride};
use rayon::prelude::*;

/// The places of the tools and the corpus.
pub struct Oracle {
    tools: PathBuf,
    corpus: PathBuf,
}

/// One instruction of a disassembly.
pub struct Line {
    /// Its text without the semicolon.
    pub text: String,
    /// Bits 64 to 127 of its encoding.
    pub high: u64,
    /// Whether there is a label before it.
    pub labelled: bool,
}

/// The oracle, if it is installed and the corpus is next to the repository; otherwise prints a
/// note.
pub fn oracle() -> Option<Oracle> {
    let found = find();
    if found.is_none() {
        eprintln!("skipped: no ptxas, nvdisasm or corpus here");
    }
    found
}

fn find() -> Option<Oracle> {
    let tools = match std::env::var_os("ORACLE") {
        Some(folder) => PathBuf::from(folder),
        None => {
            let python = Path::new(&std::env::var_os("HOME")?).join(".cache/ptxc-oracle/lib");
            let version = std::fs::read_dir(python).ok()?.flatten().next()?.path();
            version.join("site-packages/nvidia/cu13/bin")
        }
    };
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus/ptx");
    (tools.join("ptxas").is_file() && corpus.is_dir()).then_some(Oracle { tools, corpus })
}

/// One of this many kernels is checked, a different one on each architecture.
const STRIDE: usize = 12;

/// The listings that tests have already requested, by kernel and architecture.
type Listings = HashMap<(PathBuf, Arch), Arc<OnceLock<String>>>;

static LISTINGS: LazyLock<Mutex<Listings>> = LazyLock::new(Mutex::default);

/// The suffix of the architecture for a file that is only for that very architecture.
fn accelerated(ptx: &Path) -> &'static str {
    let text = std::fs::read_to_string(ptx).unwrap_or_default();
    let target = text.lines().find_map(|line| line.trim().strip_prefix(".target"));
    if target.is_some_and(|target| target.contains("90a")) { "a" } else { "" }
}

/// The architectures for checks of whole files, whose layout hardly depends on them: sm_80 and sm_90 in
/// a sample.
pub fn architectures() -> impl Iterator<Item = Arch> {
    in_turn(Arch::ALL, 1, stride(3))
}

impl Oracle {
    /// The listing of a kernel for an architecture, with encodings, after the tools have compiled
    /// it.
    pub fn listing(&self, ptx: &Path, arch: Arch) -> String {
        let known = LISTINGS
            .lock()
            .expect("no test panics with it")
            .entry((ptx.to_path_buf(), arch))
            .or_default()
            .clone();
        known.get_or_init(|| self.compile(ptx, arch)).clone()
    }

    /// A tool by its name.
    pub fn tool(&self, name: &str) -> PathBuf {
        self.tools.join(name)
    }

    /// Compiles a kernel to a cubin.
    pub fn assemble(&self, ptx: &Path, arch: Arch, options: &[&str], cubin: &Path) {
        let status = Command::new(self.tool("ptxas"))
            .args([&format!("-arch={arch}{}", accelerated(ptx)), "-w"])
            .args(options)
            .arg(ptx)
            .arg("-o")
            .arg(cubin)
            .status()
            .expect("ptxas runs");
        assert!(status.success(), "ptxas refuses {}", ptx.display());
    }

    fn compile(&self, ptx: &Path, arch: Arch) -> String {
        static SERIAL: AtomicUsize = AtomicUsize::new(0);
        let name = ptx.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let cubin = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.{serial}.cubin"));
        self.assemble(ptx, arch, &[], &cubin);
        let output = Command::new(self.tools.join("nvdisasm"))
            .args(["-hex", "-c"])
            .arg(&cubin)
            .output()
            .expect("nvdisasm runs");
        std::fs::remove_file(&cubin).expect("the cubin is there");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The instructions of a kernel.
    pub fn disassemble(&self, ptx: &Path, arch: Arch) -> Vec<Line> {
        let text = self.listing(ptx, arch);
        let mut found = Vec::new();
        let mut pending = None;
        let mut labelled = true;
        for line in text.lines().map(str::trim) {
            labelled |= line.ends_with(':');
            let Some(rest) = line.strip_prefix("/*") else { continue };
            let high = rest.trim_start().strip_prefix("0x").and_then(|rest| rest.strip_suffix("*/"));
            if let Some(digits) = high {
                let high = u64::from_str_radix(digits.trim(), 16).expect("hexadecimal");
                let text = pending.take().expect("the lower half comes first");
                found.push(Line { text, high, labelled: std::mem::take(&mut labelled) });
            } else if let Some((_, rest)) = rest.split_once("*/") {
                let Some((instruction, _)) = rest.split_once(';') else { continue };
                pending = Some(instruction.trim().trim_start_matches('{').trim().to_string());
            }
        }
        found
    }

    /// The indices of those instruction words that the disassembler refuses.
    pub fn refused(&self, words: &[u128], arch: Arch) -> Vec<usize> {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("words.{arch}.bin"));
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        std::fs::write(&file, bytes).expect("the folder takes files");
        let machine = format!("SM{}", arch.number());
        let output = Command::new(self.tools.join("nvdisasm"))
            .args(["-b", &machine])
            .arg(&file)
            .output()
            .expect("nvdisasm runs");
        std::fs::remove_file(&file).expect("the file is there");
        let complaints = String::from_utf8_lossy(&output.stderr);
        let places = complaints.lines().map(|line| {
            let address = line.rsplit_once("at address 0x").map(|(_, digits)| digits.trim());
            let address = address.and_then(|digits| usize::from_str_radix(digits, 16).ok());
            address.unwrap_or_else(|| panic!("no address in {line}")) / 16
        });
        places.collect()
    }

    /// A sample of [`kernels`](Self::kernels).
    pub fn sample(&self, folders: &[&str], arch: Arch) -> Vec<PathBuf> {
        let (stride, first) =
            (stride(STRIDE), Arch::ALL.iter().position(|&other| other == arch).unwrap_or(0));
        in_turn(self.kernels(folders, arch), first, stride).collect()
    }

    /// The same sample, with its listings, which all processors make beforehand: each start of
    /// nvdisasm takes half a second.
    pub fn listed_sample(&self, folders: &[&str], arch: Arch) -> Vec<PathBuf> {
        let sample = self.sample(folders, arch);
        sample.par_iter().for_each(|ptx| {
            self.listing(ptx, arch);
        });
        sample
    }

    /// The kernels in folders of the corpus for an architecture, or for the closest earlier one
    /// that the corpus has, sorted.
    pub fn kernels(&self, folders: &[&str], arch: Arch) -> Vec<PathBuf> {
        let targets: &[&str] = match arch {
            Arch::Sm75 => &[".sm_75.ptx"],
            Arch::Sm80 | Arch::Sm86 | Arch::Sm89 => &[".sm_80.ptx", "_80.ptx"],
            Arch::Sm90 => &[".sm_90.ptx", ".sm_90a.ptx", "_90.ptx"],
            other => panic!("the corpus has no files for {other}"),
        };
        let folders = folders.iter().filter_map(|folder| std::fs::read_dir(self.corpus.join(folder)).ok());
        let files = folders.flatten().flatten();
        let wanted = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            targets.iter().any(|target| name.ends_with(target))
        };
        let mut files: Vec<_> = files.map(|entry| entry.path()).filter(wanted).collect();
        files.sort();
        files
    }
}
