//! The ways in which a text of any kind is put through `ptxc`: command lines that read it from standard input.
//!
//! Shared by the targets of the fuzzer and by `cargo xtask mutate`, so that both ask the same of an input: no panic, and 0
//! or 1 as exit code.

/// A command line: the name of the way, and the words after `ptxc`.
#[derive(Debug)]
pub struct Way {
    /// What it is called in reports.
    pub name: &'static str,
    /// The words after the name of the program.
    pub words: &'static [&'static str],
}

/// What every kernel goes through.
pub const ALWAYS: &[Way] = &[
    Way { name: "lower", words: &["lower", "-j1", "-", "-o", "-"] },
    Way { name: "check", words: &["check", "-j1", "-"] },
];

/// Of which a kernel goes through one now and then.
pub const SOMETIMES: &[Way] = &[
    Way { name: "cubin", words: &["lower", "-j1", "-", "-o", "-", "--emit=cubin"] },
    Way { name: "cubin with lines", words: &["lower", "-j1", "-", "-o", "-", "--emit=cubin", "--lineinfo"] },
    Way { name: "ir", words: &["lower", "-j1", "-", "-o", "-", "--emit=ir,mir"] },
    Way { name: "ast", words: &["lower", "-j1", "-", "-o", "-", "--emit=ast"] },
    Way { name: "json", words: &["lower", "-j1", "-", "-o", "-", "--emit=json"] },
    Way { name: "dot", words: &["lower", "-j1", "-", "-o", "-", "--emit=dot"] },
    Way { name: "explained", words: &["lower", "-j1", "-", "-o", "-", "--explain", "--control=nv"] },
    Way { name: "O0", words: &["lower", "-j1", "-", "-o", "-", "-O0"] },
    Way { name: "O1 sm_75", words: &["lower", "-j1", "-", "-o", "-", "-O1", "--arch=sm_75"] },
    Way { name: "sm_80", words: &["lower", "-j1", "-", "-o", "-", "--arch=sm_80", "--fmad=false"] },
    Way { name: "16 registers", words: &["lower", "-j1", "-", "-o", "-", "--max-regs=16"] },
    Way { name: "random order", words: &["lower", "-j1", "-", "-o", "-", "--heuristic=random:1"] },
    Way { name: "serial", words: &["lower", "-j1", "-", "-o", "-", "--sync=serial", "--aggregate-atomics"] },
    Way { name: "strict", words: &["lower", "-j1", "-", "-o", "-", "--strict", "--message-format=json"] },
    Way { name: "check sm_75", words: &["check", "-j1", "-", "--arch=sm_75", "--strict"] },
];

impl Way {
    /// Runs `ptxc` in this process; its exit code.
    pub fn run(&self, input: &[u8]) -> i32 {
        let words = std::iter::once("ptxc").chain(self.words.iter().copied());
        let words: Vec<String> = words.map(str::to_string).collect();
        ptxc::run(&words, &mut &input[..], &mut std::io::sink(), &mut std::io::sink())
    }
}
