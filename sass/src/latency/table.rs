//! The data files, read into dense arrays by the compiler of this crate: a program has them when it starts.

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

const CELLS: usize = KINDS * FILES * PORTS * PORTS;

static SM_75: [Latency; CELLS] = cells(text(Arch::Sm75));
static SM_80: [Latency; CELLS] = cells(text(Arch::Sm80));
static SM_86: [Latency; CELLS] = cells(text(Arch::Sm86));
static SM_89: [Latency; CELLS] = cells(text(Arch::Sm89));
static SM_90: [Latency; CELLS] = cells(text(Arch::Sm90));

/// The figures of an architecture by [`cell`].
fn of_arch(arch: Arch) -> &'static [Latency; CELLS] {
    match arch {
        Arch::Sm75 => &SM_75,
        Arch::Sm80 => &SM_80,
        Arch::Sm86 => &SM_86,
        Arch::Sm89 => &SM_89,
        Arch::Sm90 => &SM_90,
    }
}

const fn text(arch: Arch) -> &'static [u8] {
    match arch {
        Arch::Sm75 => include_bytes!("../../data/latency_sm_75.csv"),
        Arch::Sm80 => include_bytes!("../../data/latency_sm_80.csv"),
        Arch::Sm86 => include_bytes!("../../data/latency_sm_86.csv"),
        Arch::Sm89 => include_bytes!("../../data/latency_sm_89.csv"),
        Arch::Sm90 => include_bytes!("../../data/latency_sm_90.csv"),
    }
}

const fn cells(text: &'static [u8]) -> [Latency; CELLS] {
    let mut cells = [Latency::UNKNOWN; CELLS];
    let mut reader = Reader::new(text);
    while let Some(e) = reader.entry() {
        cells[cell(e.dependence, e.guard, e.file, e.producer, e.consumer)] = e.latency;
    }
    cells
}

/// Every line of an architecture's file.
pub fn entries(arch: Arch) -> Vec<Entry> {
    let mut reader = Reader::new(text(arch));
    std::iter::from_fn(|| reader.entry()).collect()
}

pub(super) fn lookup(
    arch: Arch,
    dependence: Dependence,
    guard: bool,
    file: RegFile,
    producer: Port,
    consumer: Port,
) -> Latency {
    of_arch(arch)[cell(dependence, guard, file, producer, consumer)]
}

/// The greatest figures of a producer over all consumers that a file names.
pub(super) fn settled(arch: Arch, written: bool, file: RegFile, producer: Port) -> Latency {
    let kinds: &[(Dependence, bool)] = match written {
        true => &[(Dependence::Raw, false), (Dependence::Raw, true), (Dependence::Waw, false)],
        false => &[(Dependence::War, false)],
    };
    let cells = of_arch(arch);
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

const fn cell(dependence: Dependence, guard: bool, file: RegFile, producer: Port, consumer: Port) -> usize {
    let kind = match dependence {
        Dependence::Raw => guard as usize,
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

const fn merge_halves(port: Port) -> Port {
    if matches!(port, Port::ImadWideHigh) { Port::ImadWide } else { port }
}

/// What is left of a file. A malformed line does not compile.
struct Reader {
    text: &'static [u8],
}

impl Reader {
    /// Behind the comments and the heading.
    const fn new(text: &'static [u8]) -> Reader {
        let mut reader = Reader { text };
        while let [b'#', ..] = reader.text {
            reader.field(b'\n');
        }
        reader.field(b'\n');
        reader
    }

    /// What stands in front of the next `end`, which is skipped.
    const fn field(&mut self, end: u8) -> &'static [u8] {
        let mut length = 0;
        while self.text[length] != end {
            length += 1;
        }
        let (field, rest) = self.text.split_at(length);
        self.text = rest.split_at(1).1;
        field
    }

    /// The next line; `None` at the end.
    const fn entry(&mut self) -> Option<Entry> {
        if self.text.is_empty() {
            return None;
        }
        let (dependence, guard) = match self.field(b',') {
            b"raw" => (Dependence::Raw, false),
            b"raw-guard" => (Dependence::Raw, true),
            b"war" => (Dependence::War, false),
            b"waw" => (Dependence::Waw, false),
            _ => panic!("no dependence"),
        };
        let file = match self.field(b',') {
            b"R" => RegFile::Gpr,
            b"P" => RegFile::Pred,
            b"UR" => RegFile::Ugpr,
            b"UP" => RegFile::Upred,
            _ => panic!("no register file"),
        };
        let (producer, consumer) = (Port::of_name(self.field(b',')), Port::of_name(self.field(b',')));
        let (Some(producer), Some(consumer)) = (producer, consumer) else { panic!("no port") };
        let (safe, legal) = (number(self.field(b',')), number(self.field(b',')));
        assert!(safe < 256 && legal <= safe);
        let source = match self.field(b',') {
            b"mined" => Source::Mined,
            b"table" => Source::Table,
            b"bound" => Source::Bound,
            _ => panic!("no source"),
        };
        let latency = Latency { safe: safe as u8, legal: legal as u8, source };
        let (observations, at_minimum) = (number(self.field(b',')), number(self.field(b'\n')));
        Some(Entry { dependence, guard, file, producer, consumer, latency, observations, at_minimum })
    }
}

const fn number(digits: &[u8]) -> u32 {
    let (mut value, mut at) = (0, 0);
    while at < digits.len() {
        assert!(digits[at].is_ascii_digit(), "no number");
        value = value * 10 + (digits[at] - b'0') as u32;
        at += 1;
    }
    value
}
