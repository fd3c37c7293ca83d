//! The data files, read into dense arrays.

use std::sync::LazyLock;

use super::{Dependence, Latency, Port, Source};
use crate::arch::Arch;
use crate::register::RegFile;

/// A line of a data file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// How the consumer depends on the producer.
    pub dependence: Dependence,
    /// Whether the consumer reads it as its guard.
    pub guard: bool,
    /// The register file.
    pub file: RegFile,
    /// Where the value comes from; for [`Dependence::War`], the reader.
    pub producer: Port,
    /// Where it goes; for [`Dependence::War`], the writer.
    pub consumer: Port,
    /// The distance.
    pub latency: Latency,
    /// How many pairs the mined corpus had.
    pub observations: u32,
    /// How many of them were at their least distance.
    pub at_minimum: u32,
}

const PORTS: usize = Port::ALL.len();
const FILES: usize = RegFile::ALL.len();
/// Read after write as an operand, the same as a guard, write after read, write after write.
const KINDS: usize = 4;

struct Table {
    cells: Vec<Latency>,
    entries: Vec<Entry>,
}

static SM_75: LazyLock<Table> = LazyLock::new(|| Table::read(include_str!("../../data/latency_sm_75.csv")));
static SM_80: LazyLock<Table> = LazyLock::new(|| Table::read(include_str!("../../data/latency_sm_80.csv")));
static SM_86: LazyLock<Table> = LazyLock::new(|| Table::read(include_str!("../../data/latency_sm_86.csv")));
static SM_89: LazyLock<Table> = LazyLock::new(|| Table::read(include_str!("../../data/latency_sm_89.csv")));
static SM_90: LazyLock<Table> = LazyLock::new(|| Table::read(include_str!("../../data/latency_sm_90.csv")));

fn of_arch(arch: Arch) -> &'static Table {
    match arch {
        Arch::Sm75 => &SM_75,
        Arch::Sm80 => &SM_80,
        Arch::Sm86 => &SM_86,
        Arch::Sm89 => &SM_89,
        Arch::Sm90 => &SM_90,
    }
}

/// Every line of an architecture's file.
pub fn entries(arch: Arch) -> &'static [Entry] {
    &of_arch(arch).entries
}

pub(super) fn lookup(
    arch: Arch,
    dependence: Dependence,
    guard: bool,
    file: RegFile,
    producer: Port,
    consumer: Port,
) -> Latency {
    of_arch(arch).cells[cell(dependence, guard, file, producer, consumer)]
}

/// The greatest figures of a producer over all consumers that a file names.
pub(super) fn settled(arch: Arch, written: bool, file: RegFile, producer: Port) -> Latency {
    let kinds: &[(Dependence, bool)] = match written {
        true => &[(Dependence::Raw, false), (Dependence::Raw, true), (Dependence::Waw, false)],
        false => &[(Dependence::War, false)],
    };
    let cells = &of_arch(arch).cells;
    let consumers = Port::ALL.iter();
    let found = kinds.iter().flat_map(|&(dependence, guard)| {
        consumers.clone().map(move |&consumer| cells[cell(dependence, guard, file, producer, consumer)])
    });
    let known = found.filter(|latency| *latency != Latency::UNKNOWN);
    let most = known.reduce(|a, b| Latency {
        safe: a.safe.max(b.safe),
        legal: a.legal.max(b.legal),
        source: Source::Bound,
    });
    most.unwrap_or(Latency::UNKNOWN)
}

fn cell(dependence: Dependence, guard: bool, file: RegFile, producer: Port, consumer: Port) -> usize {
    let kind = match dependence {
        Dependence::Raw => usize::from(guard),
        Dependence::War => 2,
        Dependence::Waw => 3,
    };
    // Only what a consumer reads knows the high half of c, and only a result the high half of d.
    let (producer, consumer) = match dependence {
        Dependence::Raw if !guard => (producer, consumer),
        Dependence::Raw => (merge_halves(producer), merge_halves(consumer)),
        Dependence::War | Dependence::Waw => (merge_halves(producer), merge_halves(consumer)),
    };
    ((kind * FILES + file as usize) * PORTS + producer as usize) * PORTS + consumer as usize
}

fn merge_halves(port: Port) -> Port {
    if port == Port::ImadWideHigh { Port::ImadWide } else { port }
}

impl Table {
    /// Reads a file.
    ///
    /// # Panics
    /// If a line is malformed, which a test of the crate excludes: the files are part of it.
    fn read(text: &str) -> Table {
        let lines = text.lines().filter(|line| !line.starts_with('#')).skip(1);
        let entries: Vec<Entry> =
            lines.map(|line| entry(line).unwrap_or_else(|| panic!("latency data: {line}"))).collect();
        let mut cells = vec![Latency::UNKNOWN; KINDS * FILES * PORTS * PORTS];
        for e in &entries {
            cells[cell(e.dependence, e.guard, e.file, e.producer, e.consumer)] = e.latency;
        }
        Table { cells, entries }
    }
}

fn entry(line: &str) -> Option<Entry> {
    let mut fields = line.split(',');
    let (dependence, guard) = match fields.next()? {
        "raw" => (Dependence::Raw, false),
        "raw-guard" => (Dependence::Raw, true),
        "war" => (Dependence::War, false),
        "waw" => (Dependence::Waw, false),
        _ => return None,
    };
    let file = fields.next()?;
    let file = RegFile::ALL.into_iter().find(|f| f.prefix() == file)?;
    let mut port = || {
        let name = fields.next()?;
        Port::ALL.iter().copied().find(|port| port.name() == name)
    };
    let (producer, consumer) = (port()?, port()?);
    let safe = fields.next()?.parse().ok()?;
    let legal = fields.next()?.parse().ok()?;
    let source = match fields.next()? {
        "mined" => Source::Mined,
        "table" => Source::Table,
        "bound" => Source::Bound,
        _ => return None,
    };
    let observations = fields.next()?.parse().ok()?;
    let at_minimum = fields.next()?.parse().ok()?;
    let latency = Latency { safe, legal, source };
    Some(Entry { dependence, guard, file, producer, consumer, latency, observations, at_minimum })
}
