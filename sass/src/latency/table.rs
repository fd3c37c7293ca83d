//! The data files, read into dense arrays at compile time: they are ready when a program starts.

use ptxc_machine::{Arch, PerArch, per_arch};

use super::{Dependence, Latency, Port, Source};
use crate::data_file::{Reader, packed};
use crate::register::RegFile;

/// A line of a data file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// How the consumer depends on the producer.
    pub dependence: Dependence,
    /// Whether the consumer reads the register as its guard.
    pub guard: bool,
    /// The register file.
    pub file: RegFile,
    /// The source of the value; for [`Dependence::War`], the reader.
    pub producer: Port,
    /// The destination of the value; for [`Dependence::War`], the writer.
    pub consumer: Port,
    /// The distance.
    pub latency: Latency,
    /// The number of pairs in the mined corpus.
    pub observations: u32,
    /// The number of these pairs that were at their least distance.
    pub at_minimum: u32,
}

const PORTS: usize = Port::ALL.len();
const FILES: usize = RegFile::ALL.len();
/// Read after write as an operand, the same as a guard, write after read, write after write.
const KINDS: usize = 4;

/// By the [`kind`] of the dependence, by file, and by the [`Port`] of producer and consumer.
type Cells = [[[[Latency; PORTS]; PORTS]; FILES]; KINDS];

/// By whether the access is a write, by file and by [`Port`] of the producer.
type Settled = [[[Latency; PORTS]; FILES]; 2];

/// The figures of an architecture.
struct Figures {
    /// The figures of pairs.
    cells: Cells,
    /// The greatest over all consumers that the file names.
    settled: Settled,
    /// The greatest legal figure of all [`Dependence::War`].
    overwriting: u8,
}

static ALL: PerArch<&Figures> = per_arch!(ARCH => {
    static FIGURES: Figures = Figures::new(text(ARCH));
    &FIGURES
});

#[inline]
fn of_arch(arch: Arch) -> &'static Figures {
    ALL.get(arch)
}

const fn text(arch: Arch) -> &'static [u8] {
    arch.facts().data.latencies.as_bytes()
}

impl Figures {
    const fn new(text: &'static [u8]) -> Figures {
        let mut cells = [[[[Latency::UNKNOWN; PORTS]; PORTS]; FILES]; KINDS];
        let mut overwriting = Latency::UNKNOWN.legal;
        let mut reader = Reader::new(text);
        while let Some(e) = entry(&mut reader) {
            let kind = kind(e.dependence, e.guard);
            let (producer, consumer) = match kind {
                READS => (e.producer, e.consumer),
                _ => (merge_halves(e.producer), merge_halves(e.consumer)),
            };
            cells[kind][e.file as usize][producer as usize][consumer as usize] = e.latency;
            if matches!(e.dependence, Dependence::War) && e.latency.legal > overwriting {
                overwriting = e.latency.legal;
            }
        }
        spread_halves(&mut cells);
        let mut settled = [[[Latency::UNKNOWN; PORTS]; FILES]; 2];
        let mut file = 0;
        while file < FILES {
            let mut port = 0;
            while port < PORTS {
                let (reg_file, producer) = (RegFile::ALL[file], Port::ALL[port]);
                settled[false as usize][file][port] = greatest(&cells, OVERWRITING, reg_file, producer);
                settled[true as usize][file][port] = greatest(&cells, USING, reg_file, producer);
                port += 1;
            }
            file += 1;
        }
        Figures { cells, settled, overwriting }
    }
}

/// The dependences that may follow a read.
const OVERWRITING: &[(Dependence, bool)] = &[(Dependence::War, false)];
/// The dependences that may follow a write.
const USING: &[(Dependence, bool)] =
    &[(Dependence::Raw, false), (Dependence::Raw, true), (Dependence::Waw, false)];

/// The greatest figures of a producer over all consumers that the cells know.
const fn greatest(cells: &Cells, kinds: &[(Dependence, bool)], file: RegFile, producer: Port) -> Latency {
    let mut most: Option<Latency> = None;
    let mut pair = 0;
    while pair < kinds.len() * PORTS {
        let (dependence, guard) = kinds[pair / PORTS];
        let latency = cells[kind(dependence, guard)][file as usize][producer as usize][pair % PORTS];
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

/// Every line of an architecture's file.
pub fn entries(arch: Arch) -> Vec<Entry> {
    let mut reader = Reader::new(text(arch));
    std::iter::from_fn(|| entry(&mut reader)).collect()
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
    of_arch(arch).cells[kind(dependence, guard)][file as usize][producer as usize][consumer as usize]
}

/// The greatest figures of a producer over all consumers that a file names.
pub(super) fn settled(arch: Arch, written: bool, file: RegFile, producer: Port) -> Latency {
    of_arch(arch).settled[usize::from(written)][file as usize][producer as usize]
}

/// The greatest legal figure of an overwriting.
pub(super) fn overwriting(arch: Arch) -> u8 {
    of_arch(arch).overwriting
}

/// The kind of a read of an operand.
const READS: usize = 0;

#[inline]
const fn kind(dependence: Dependence, guard: bool) -> usize {
    match dependence {
        Dependence::Raw => READS + guard as usize,
        Dependence::War => 2,
        Dependence::Waw => 3,
    }
}

/// Only reads tell the high half of c apart, and only results the high half of d: elsewhere both
/// halves have the same figures.
const fn spread_halves(cells: &mut Cells) {
    let (low, high) = (Port::ImadWide as usize, Port::ImadWideHigh as usize);
    let mut kind = READS + 1;
    while kind < KINDS {
        let mut file = 0;
        while file < FILES {
            let of_file = &mut cells[kind][file];
            let mut port = 0;
            while port < PORTS {
                of_file[port][high] = of_file[port][low];
                port += 1;
            }
            of_file[high] = of_file[low];
            file += 1;
        }
        kind += 1;
    }
}

const fn merge_halves(port: Port) -> Port {
    if matches!(port, Port::ImadWideHigh) { Port::ImadWide } else { port }
}

/// The next line; `None` at the end.
const fn entry(reader: &mut Reader) -> Option<Entry> {
    if reader.is_at_end() {
        return None;
    }
    let (dependence, guard) = match reader.word() {
        RAW => (Dependence::Raw, false),
        RAW_GUARD => (Dependence::Raw, true),
        WAR => (Dependence::War, false),
        WAW => (Dependence::Waw, false),
        _ => panic!("no dependence"),
    };
    let file = match reader.word() {
        R => RegFile::Gpr,
        P => RegFile::Pred,
        UR => RegFile::Ugpr,
        UP => RegFile::Upred,
        _ => panic!("no register file"),
    };
    let (producer, consumer) = (Port::of_name(reader.word()), Port::of_name(reader.word()));
    let (Some(producer), Some(consumer)) = (producer, consumer) else { panic!("no port") };
    let (safe, legal) = (reader.byte(), reader.byte());
    assert!(legal <= safe);
    let source = match reader.word() {
        MINED => Source::Mined,
        TABLE => Source::Table,
        BOUND => Source::Bound,
        _ => panic!("no source"),
    };
    let latency = Latency { safe, legal, source };
    let (observations, at_minimum) = (reader.number(b','), reader.number(b'\n'));
    Some(Entry { dependence, guard, file, producer, consumer, latency, observations, at_minimum })
}

/// The words of the files.
const RAW: u128 = packed("raw");
const RAW_GUARD: u128 = packed("raw-guard");
const WAR: u128 = packed("war");
const WAW: u128 = packed("waw");
const R: u128 = packed("R");
const P: u128 = packed("P");
const UR: u128 = packed("UR");
const UP: u128 = packed("UP");
const MINED: u128 = packed("mined");
const TABLE: u128 = packed("table");
const BOUND: u128 = packed("bound");
