//! A finding of a run, for a report.

use std::fmt;

use crate::thread::Thread;

/// The number of findings that a list shows.
const SHOWN: usize = 16;

/// The kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingKind {
    /// A use of bytes that no thread has written.
    Unwritten,
    /// Two accesses of the same bytes that nothing orders. At least one of them is a write.
    Race,
}

impl FindingKind {
    /// Its name in messages and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            FindingKind::Unwritten => "unwritten",
            FindingKind::Race => "race",
        }
    }
}

/// What an access of a finding does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// An asynchronous copy writes.
    Copy,
    /// A store.
    Write,
    /// An atomic update.
    Atomic,
    /// A load.
    Read,
    /// An asynchronous copy reads.
    CopyFrom,
    /// An instruction uses what a load has read.
    Use,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::Copy => "copy to it",
            Role::Write => "write",
            Role::Atomic => "atomic update",
            Role::Read => "read",
            Role::CopyFrom => "copy from it",
            Role::Use => "use",
        })
    }
}

/// An access of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// What the access does.
    pub role: Role,
    /// The thread.
    pub thread: Thread,
    /// The index of the instruction: of the program, or of the nodes of the SSA engine.
    pub pc: u32,
    /// The instruction as text.
    pub text: String,
    /// The name of its function, and the number of the node of the syntax tree that it comes from;
    /// `None` if it comes from none.
    pub source: Option<(String, u32)>,
    /// Its line in the source, as text, once a caller that has the source has filled it in.
    pub line: Option<String>,
}

impl Side {
    /// An instruction; its role and its thread follow.
    pub(crate) fn new(pc: u32, text: String) -> Side {
        let thread = Thread { cta: [0; 3], tid: [0; 3] };
        Side { role: Role::Read, thread, pc, text, source: None, line: None }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} by {} at `{}`", self.role, self.thread, self.text)?;
        self.line.iter().try_for_each(|line| write!(f, " ({line})"))
    }
}

/// A read of unwritten memory, or a race.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The kind.
    pub kind: FindingKind,
    /// Whether the memory is shared; otherwise it is local.
    pub is_shared: bool,
    /// `%ctaid` of the CTA that the memory belongs to.
    pub cta: [u32; 3],
    /// The first byte, in the shared memory of the CTA or the local memory of the thread.
    pub address: u64,
    /// The number of bytes of the access.
    pub bytes: u32,
    /// The variable and the offset in it, once a caller that knows the variables has filled it in.
    pub variable: Option<(String, u64)>,
    /// The accesses in the first occurrence: the read, and the use if it is another instruction; or both
    /// sides of the race, writes first.
    pub sides: Vec<Side>,
    /// The number of occurrences.
    pub count: u64,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let memory = if self.is_shared { "shared" } else { "local" };
        match self.kind {
            FindingKind::Unwritten => write!(f, "unwritten {memory} memory: ")?,
            FindingKind::Race => write!(f, "race in {memory} memory: ")?,
        }
        let plural = if self.bytes == 1 { "" } else { "s" };
        write!(f, "{} byte{plural} at {:#x}", self.bytes, self.address)?;
        if let Some((name, offset)) = &self.variable {
            write!(f, " (`{name}` + {offset})")?;
        }
        if self.sides.iter().any(|side| side.thread.cta != self.cta) {
            let [x, y, z] = self.cta;
            write!(f, " of CTA ({x}, {y}, {z})")?;
        }
        for (n, side) in self.sides.iter().enumerate() {
            let link = match (n, self.kind) {
                (0, _) => ":",
                (_, FindingKind::Unwritten) => ",",
                (_, FindingKind::Race) => ", not ordered with",
            };
            write!(f, "{link} {side}")?;
        }
        write!(f, "; {} time{}", self.count, if self.count == 1 { "" } else { "s" })
    }
}

/// Lists findings, one per line.
pub(crate) fn show_findings(f: &mut fmt::Formatter<'_>, findings: &[Finding]) -> fmt::Result {
    for finding in findings.iter().take(SHOWN) {
        writeln!(f, "{finding}")?;
    }
    match findings.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => writeln!(f, "and {more} more findings"),
    }
}
