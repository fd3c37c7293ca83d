//! The data files, read into dense arrays.

use std::sync::OnceLock;

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

/// The lines of an architecture's file that stand for figures.
fn lines(arch: Arch) -> impl Iterator<Item = &'static str> {
    let text = match arch {
        Arch::Sm75 => include_str!("../../data/latency_sm_75.csv"),
        Arch::Sm80 => include_str!("../../data/latency_sm_80.csv"),
        Arch::Sm86 => include_str!("../../data/latency_sm_86.csv"),
        Arch::Sm89 => include_str!("../../data/latency_sm_89.csv"),
        Arch::Sm90 => include_str!("../../data/latency_sm_90.csv"),
    };
    text.lines().filter(|line| !line.starts_with('#')).skip(1)
}

/// The figures of an architecture by [`cell`]; read when first asked for.
///
/// # Panics
/// If a line is malformed, which a test of the crate excludes: the files are part of it.
fn cells(arch: Arch) -> &'static [Latency] {
    static CELLS: [OnceLock<Vec<Latency>>; Arch::ALL.len()] = [const { OnceLock::new() }; Arch::ALL.len()];
    CELLS[arch as usize].get_or_init(|| {
        let mut cells = vec![Latency::UNKNOWN; KINDS * FILES * PORTS * PORTS];
        for line in lines(arch) {
            let e = entry(line).unwrap_or_else(|| panic!("latency data: {line}"));
            cells[cell(e.dependence, e.guard, e.file, e.producer, e.consumer)] = e.latency;
        }
        cells
    })
}

/// Every line of an architecture's file.
///
/// # Panics
/// If a line is malformed.
pub fn entries(arch: Arch) -> Vec<Entry> {
    lines(arch).map(|line| entry(line).unwrap_or_else(|| panic!("latency data: {line}"))).collect()
}

pub(super) fn lookup(
    arch: Arch,
    dependence: Dependence,
    guard: bool,
    file: RegFile,
    producer: Port,
    consumer: Port,
) -> Latency {
    cells(arch)[cell(dependence, guard, file, producer, consumer)]
}

/// The greatest figures of a producer over all consumers that a file names.
pub(super) fn settled(arch: Arch, written: bool, file: RegFile, producer: Port) -> Latency {
    let kinds: &[(Dependence, bool)] = match written {
        true => &[(Dependence::Raw, false), (Dependence::Raw, true), (Dependence::Waw, false)],
        false => &[(Dependence::War, false)],
    };
    let cells = cells(arch);
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
    let mut port = || Port::of_name(fields.next()?);
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
