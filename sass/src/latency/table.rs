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

/// The number of those of [`Figures::settled`].
const SETTLED: usize = 2 * FILES * PORTS;

/// The figures of an architecture.
struct Figures {
    /// Those of pairs, by [`cell`].
    cells: [Latency; CELLS],
    /// The greatest of a producer over all consumers that the file names, by [`settled_cell`].
    settled: [Latency; SETTLED],
}

static SM_75: Figures = figures(text(Arch::Sm75));
static SM_80: Figures = figures(text(Arch::Sm80));
static SM_86: Figures = figures(text(Arch::Sm86));
static SM_89: Figures = figures(text(Arch::Sm89));
static SM_90: Figures = figures(text(Arch::Sm90));

#[inline]
fn of_arch(arch: Arch) -> &'static Figures {
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

const fn figures(text: &'static [u8]) -> Figures {
    let mut figures = Figures { cells: [Latency::UNKNOWN; CELLS], settled: [Latency::UNKNOWN; SETTLED] };
    let mut reader = Reader::new(text);
    while let Some(e) = reader.entry() {
        figures.cells[cell(e.dependence, e.guard, e.file, e.producer, e.consumer)] = e.latency;
    }
    let mut place = 0;
    while place < FILES * PORTS {
        let (file, producer) = (RegFile::ALL[place / PORTS], Port::ALL[place % PORTS]);
        let read = greatest(&figures.cells, &[(Dependence::War, false)], file, producer);
        let kinds = [(Dependence::Raw, false), (Dependence::Raw, true), (Dependence::Waw, false)];
        let written = greatest(&figures.cells, &kinds, file, producer);
        figures.settled[settled_cell(false, file, producer)] = read;
        figures.settled[settled_cell(true, file, producer)] = written;
        place += 1;
    }
    figures
}

/// The greatest figures of a producer over all consumers that a file names for dependences of these kinds.
const fn greatest(
    cells: &[Latency; CELLS],
    kinds: &[(Dependence, bool)],
    file: RegFile,
    producer: Port,
) -> Latency {
    let mut most: Option<Latency> = None;
    let mut pair = 0;
    while pair < kinds.len() * PORTS {
        let (dependence, guard) = kinds[pair / PORTS];
        let latency = cells[cell(dependence, guard, file, producer, Port::ALL[pair % PORTS])];
        most = match most {
            _ if latency.is_unknown() => most,
            None => Some(latency),
            Some(other) => Some(Latency {
                safe: if latency.safe > other.safe { latency.safe } else { other.safe },
                legal: if latency.legal > other.legal { latency.legal } else { other.legal },
                source: Source::Bound,
            }),
        };
        pair += 1;
    }
    match most {
        Some(latency) => latency,
        None => Latency::UNKNOWN,
    }
}

const fn settled_cell(written: bool, file: RegFile, producer: Port) -> usize {
    (written as usize * FILES + file as usize) * PORTS + producer as usize
}

/// Every line of an architecture's file.
pub fn entries(arch: Arch) -> Vec<Entry> {
    let mut reader = Reader::new(text(arch));
    std::iter::from_fn(|| reader.entry()).collect()
}

#[inline]
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
    of_arch(arch).settled[settled_cell(written, file, producer)]
}

#[inline]
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
