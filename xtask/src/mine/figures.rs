//! Computes figures from distances.
//!
//! In: the distances of every pair of instructions. Out: a [`Figure`] for every cell of the latency table that two
//! instructions of the architecture can meet in.
//!
//! The rules, where `least` is the least distance in the cell and `usual` the least distance that
//! was seen [`FEW`] times:
//!
//! - If `least` is `usual`, or the cell was seen [`ENOUGH`] times, `safe` is `usual`. For a result
//!   that is read, `safe` is instead the greatest need of the members. A member is an instruction
//!   of either class, combined with all instructions of the other class. It has shown its need if
//!   it was seen [`ENOUGH`] times, [`FEW`] of them at its own least distance.
//! - If the cell was seen less often, `safe` is a bound, see below, or `least` if that is more and
//!   the cell was seen [`SOME`] times.
//! - `legal` is `least`. In a cell that was seen fewer than [`ENOUGH`] times, something else may
//!   have kept the instructions apart: there `legal` is the least distance of the producer, and one
//!   cycle for an anti- or output dependence.
//! - If the cell was not seen, `safe` is a bound, and `legal` is as in a cell that was seen too
//!   seldom.
//!
//! The bound of a cell is the maximum of the following. The first is the greatest figure of its
//! producer for that dependence, over the cells that were seen [`SOME`] times and [`FEW`] times at
//! their least. The second is the greatest figure of its consumer for results of the two most
//! common pipes. For a predicate, the greatest figure to a guard also counts. Below sm_90, the
//! figure of sm_90, which is mined best, also counts, plus the cycles that the consumer needs more
//! than on sm_90 for a result of the integer pipe.

use std::collections::{BTreeMap, BTreeSet};

use ptxc_machine::Arch;
use ptxc_sass::latency::{Dependence, Entry, Latency, Port, Source, entries, reads_at_issue};
use ptxc_sass::{Completion, Inst, Kinds, LatencyClass, Op, PReg, RegFile, Role};

use super::observe::{FARTHEST, Pair, Pairs};

/// A distance that is seen this often is not an accident.
const FEW: u32 = 3;
/// A cell that is seen this often says something about its least distance.
const SOME: u32 = 10;
/// A cell that is seen this often has shown its least distance.
const ENOUGH: u32 = 30;

/// A cell of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cell {
    pub(super) dependence: Dependence,
    pub(super) guard: bool,
    pub(super) file: RegFile,
    pub(super) producer: Port,
    pub(super) consumer: Port,
}

impl Cell {
    /// The cell of a pair of instructions. Only an operand that is read distinguishes the two words
    /// of a wide result.
    pub(super) fn of(pair: &Pair) -> Cell {
        let (producer, consumer) = (pair.producer.0, pair.consumer.0);
        let whole = pair.dependence != Dependence::Raw || pair.guard;
        let merge = |port| if whole && port == Port::ImadWideHigh { Port::ImadWide } else { port };
        Cell {
            dependence: pair.dependence,
            guard: pair.guard,
            file: pair.file,
            producer: merge(producer),
            consumer: merge(consumer),
        }
    }

    /// The cell of a line of a data file.
    pub(super) fn of_entry(entry: &Entry) -> Cell {
        Cell {
            dependence: entry.dependence,
            guard: entry.guard,
            file: entry.file,
            producer: entry.producer,
            consumer: entry.consumer,
        }
    }

    /// The key of the cells that have the same producer.
    fn row(&self) -> (Dependence, bool, RegFile, Port) {
        (self.dependence, self.guard, self.file, self.producer)
    }

    /// The key of the cells that have the same producer and a guard as the consumer.
    fn guard_row(&self) -> (Dependence, bool, RegFile, Port) {
        (self.dependence, true, self.file, self.producer)
    }
}

/// The figures of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Figure {
    pub(super) latency: Latency,
    /// The least distance that was seen.
    least: Option<u8>,
    pub(super) observations: u32,
    pub(super) at_minimum: u32,
}

/// The figures of every cell.
pub(super) type Figures = BTreeMap<Cell, Figure>;

/// How often each distance was seen.
type Counts = [u32; FARTHEST as usize + 1];

/// The distances of a cell, and of each of its members. A member is identified by whether it
/// produces, and by its operation.
#[derive(Debug)]
pub(super) struct Seen {
    counts: Counts,
    members: BTreeMap<(bool, Op), Counts>,
}

impl Seen {
    const NOTHING: Seen = Seen { counts: [0; FARTHEST as usize + 1], members: BTreeMap::new() };

    /// The distances of every cell that was seen.
    pub(super) fn gather(pairs: &Pairs) -> BTreeMap<Cell, Seen> {
        let mut seen: BTreeMap<Cell, Seen> = BTreeMap::new();
        for (pair, distances) in pairs {
            let cell = seen.entry(Cell::of(pair)).or_insert(Seen::NOTHING);
            add(&mut cell.counts, &distances.counts);
            for member in [(true, pair.producer.1), (false, pair.consumer.1)] {
                let counts = cell.members.entry(member).or_insert(Seen::NOTHING.counts);
                add(counts, &distances.counts);
            }
        }
        seen
    }

    pub(super) fn least(&self) -> u32 {
        least(&self.counts)
    }

    fn total(&self) -> u32 {
        self.counts.iter().sum()
    }

    fn at_least(&self) -> u32 {
        self.counts[self.least() as usize]
    }

    /// The least distance that is not an accident.
    fn usual(&self) -> Option<u32> {
        self.counts.iter().position(|&count| count >= FEW).map(|distance| distance as u32)
    }

    /// Whether the cell was seen often enough to show its least distance.
    pub(super) fn is_shown(&self) -> bool {
        self.total() >= ENOUGH
    }

    /// Whether the cell has shown its least distance.
    fn is_known(&self) -> bool {
        self.total() >= SOME && self.at_least() >= FEW
    }

    /// The distance that each member has shown to need.
    ///
    /// An instruction that also reads a predicate with the result is not a witness: the predicate
    /// may be the carry of the result's other half, and may be written later.
    pub(super) fn needs(&self) -> impl Iterator<Item = (bool, Op, u32)> + '_ {
        self.members.iter().filter_map(|(&(produces, op), counts)| {
            let least = least(counts);
            if !produces && reads_carry(op) {
                return None;
            }
            let shown = counts.iter().sum::<u32>() >= ENOUGH && counts[least as usize] >= FEW;
            shown.then_some((produces, op, least))
        })
    }

    /// The greatest need of the members, as far as they have shown it.
    fn most(&self, dependence: Dependence) -> u32 {
        let needs = self.needs().filter(|_| dependence == Dependence::Raw).map(|(_, _, need)| need);
        needs.max().unwrap_or(0).max(self.least())
    }
}

/// Whether an operation continues another one by its predicate, such as a carry.
fn reads_carry(op: Op) -> bool {
    let name = format!("{op:?}");
    let continues = name.split('_').any(|part| matches!(part, "X" | "EX"));
    continues || op.row().slots.iter().any(|slot| slot.default_not)
}

fn add(sum: &mut Counts, more: &Counts) {
    sum.iter_mut().zip(more).for_each(|(sum, count)| *sum += count);
}

/// The least distance that was seen.
fn least(counts: &Counts) -> u32 {
    counts.iter().position(|&count| count > 0).unwrap_or(0) as u32
}

/// The figures of every cell.
pub(super) fn figures(arch: Arch, pairs: &Pairs) -> Figures {
    let seen = Seen::gather(pairs);
    // The least figure of each producer, and its greatest figure over the cells that were seen
    // often enough.
    let mut rows: BTreeMap<_, (u32, u32)> = BTreeMap::new();
    for (cell, seen) in &seen {
        let row = rows.entry(cell.row()).or_insert((seen.least(), 0));
        row.0 = row.0.min(seen.least());
        if seen.is_known() {
            row.1 = row.1.max(seen.most(cell.dependence));
        }
    }
    let most = u32::from(Latency::UNKNOWN.safe);
    let best: BTreeMap<Cell, u32> = match arch {
        Arch::Sm90 => BTreeMap::new(),
        _ => entries(Arch::Sm90).iter().map(|e| (Cell::of_entry(e), u32::from(e.latency.safe))).collect(),
    };
    // How many cycles later than on sm_90 a consumer may read a result of the integer pipe.
    let later = |consumer| {
        let (dependence, file, producer) = (Dependence::Raw, RegFile::Gpr, Port::Alu);
        let cell = Cell { dependence, guard: false, file, producer, consumer };
        let here = seen.get(&cell).filter(|seen| seen.is_known()).map(|seen| seen.most(dependence));
        here.unwrap_or(0).saturating_sub(best.get(&cell).copied().unwrap_or(0))
    };
    let bound = |cell: &Cell| {
        let common = |producer| seen.get(&Cell { producer, ..*cell }).filter(|seen| seen.is_known());
        let common = [Port::Alu, Port::Fma].into_iter().filter_map(common);
        let row = |row| rows.get(&row).map_or(0, |&(_, highest)| highest);
        let greatest = common.map(|seen| seen.most(cell.dependence)).max().unwrap_or(0);
        let greatest = greatest.max(row(cell.row())).max(row(cell.guard_row()));
        let elsewhere = best.get(cell).map_or(0, |&there| there + later(cell.consumer));
        if row(cell.row()).max(elsewhere) == 0 { most } else { greatest.max(elsewhere) }
    };
    let limit = |cycles: u32| cycles.clamp(1, most) as u8;
    let figure = |cell: &Cell| {
        let lowest = match cell.dependence {
            Dependence::Raw => rows.get(&cell.row()).map_or(1, |&(lowest, _)| lowest),
            Dependence::War | Dependence::Waw => 1,
        };
        let Some(seen) = seen.get(cell) else {
            let latency = Latency { safe: limit(bound(cell)), legal: limit(lowest), source: Source::Bound };
            return Figure { latency, least: None, observations: 0, at_minimum: 0 };
        };
        let usual = seen.usual().filter(|&usual| usual == seen.least() || seen.total() >= ENOUGH);
        let safe = match usual {
            Some(usual) => seen.most(cell.dependence).max(usual),
            None if seen.total() >= SOME => bound(cell).max(seen.least()),
            None => bound(cell),
        };
        let legal = if seen.total() >= ENOUGH { seen.least() } else { lowest };
        let source = if usual.is_some() { Source::Mined } else { Source::Bound };
        let latency = Latency { safe: limit(safe), legal: limit(legal), source };
        let least = Some(limit(seen.least()));
        Figure { latency, least, observations: seen.total(), at_minimum: seen.at_least() }
    };
    cells(arch).into_iter().map(|cell| (cell, figure(&cell))).collect()
}

/// Restores the figures in use for cells where these are based on more observations, or where
/// nothing was seen. The safe distance is at most what either has shown to be safe; the legal
/// distance is at most the least distance of either.
pub(super) fn merge(arch: Arch, figures: &mut Figures) {
    for entry in entries(arch) {
        let cell = Cell::of_entry(&entry);
        match figures.get_mut(&cell) {
            Some(new) if new.observations > entry.observations && new.latency.source == Source::Mined => {
                if entry.observations > 0 {
                    new.latency.legal = new.latency.legal.min(entry.latency.legal);
                }
                if entry.latency.source == Source::Mined {
                    new.latency.safe = new.latency.safe.min(entry.latency.safe);
                }
            }
            Some(new) => {
                let legal = entry.latency.legal.min(new.least.unwrap_or(entry.latency.legal));
                new.latency = Latency { legal, ..entry.latency };
                (new.observations, new.at_minimum) = (entry.observations, entry.at_minimum);
            }
            None => {
                let Entry { latency, observations, at_minimum, .. } = entry;
                figures.insert(cell, Figure { latency, least: None, observations, at_minimum });
            }
        }
    }
}

/// The figures in use, except that `legal` is the least distance that was seen, where that is less. Cells that the file
/// does not have get figures if these are mined: a bound would only raise what the producer needs before unknown code.
pub(super) fn lowered(arch: Arch, pairs: &Pairs) -> Figures {
    let seen = Seen::gather(pairs);
    let mut figures = figures(arch, pairs);
    figures.retain(|_, figure| figure.latency.source == Source::Mined);
    for entry in entries(arch) {
        let Entry { mut latency, mut observations, mut at_minimum, .. } = entry;
        let cell = Cell::of_entry(&entry);
        if let Some(seen) = seen.get(&cell).filter(|seen| seen.least() < u32::from(latency.legal)) {
            latency.legal = seen.least().max(1) as u8;
            (observations, at_minimum) = (observations + seen.total(), seen.at_least());
        }
        figures.insert(cell, Figure { latency, least: None, observations, at_minimum });
    }
    figures
}

/// Every cell that two instructions of an architecture can have.
fn cells(arch: Arch) -> BTreeSet<Cell> {
    let mut cells = BTreeSet::new();
    for file in RegFile::ALL {
        let ports = |holds: &dyn Fn(Op) -> bool| ports(file, |op| op.row().archs.contains(arch) && holds(op));
        let writers = ports(&|op| writes(arch, op, file));
        let settled = ports(&|op| writes(arch, op, file) && completion(arch, op) == Completion::Fixed);
        let readers = ports(&|op| reads(arch, op, file));
        let early = |op: Op| {
            let inst: Inst<PReg> = Inst::new(op);
            (reads(arch, op, file) || is_guarded(op, file)) && reads_at_issue(arch, &inst, file)
        };
        let guarded = ports(&|op| is_guarded(op, file));
        let mut add = |dependence, guard, producers: &BTreeSet<Port>, consumers: &BTreeSet<Port>| {
            for (&producer, &consumer) in producers.iter().flat_map(|p| consumers.iter().map(move |c| (p, c)))
            {
                cells.insert(Cell { dependence, guard, file, producer, consumer });
            }
        };
        let is_general = file == RegFile::Gpr;
        let sized = sizes(&settled, is_general);
        add(Dependence::Raw, false, &halves(&sized, is_general), &halves(&readers, is_general));
        add(Dependence::Raw, true, &settled, &guarded);
        add(Dependence::War, false, &ports(&early), &writers);
        add(Dependence::Waw, false, &sized, &writers);
    }
    cells
}

/// The ports of the operations for which `holds` is true, for registers of a file, with one port
/// for both words of a wide product.
fn ports(file: RegFile, holds: impl Fn(Op) -> bool) -> BTreeSet<Port> {
    let port = |op: &Op| match (op, file) {
        (Op::ELECT, RegFile::Ugpr) => Port::Umov,
        _ => Port::of_class(op.row().latency),
    };
    Op::ALL.iter().filter(|&&op| holds(op)).map(port).collect()
}

/// The same ports, with a separate port for the high words of wide products.
fn halves(ports: &BTreeSet<Port>, wanted: bool) -> BTreeSet<Port> {
    let high = (wanted && ports.contains(&Port::ImadWide)).then_some(Port::ImadWideHigh);
    ports.iter().copied().chain(high).collect()
}

/// The same ports, with separate ports for the results of products of small matrices.
fn sizes(ports: &BTreeSet<Port>, wanted: bool) -> BTreeSet<Port> {
    let small = (wanted && ports.contains(&Port::Mma)).then_some([Port::MmaOf2, Port::MmaOf1]);
    ports.iter().copied().chain(small.into_iter().flatten()).collect()
}

fn completion(arch: Arch, op: Op) -> Completion {
    let inst: Inst<PReg> = Inst::new(op);
    inst.completion(arch)
}

fn writes(arch: Arch, op: Op, file: RegFile) -> bool {
    let kinds = Kinds::of_file(file);
    op.row().slots.iter().any(|slot| slot.role == Role::Def && slot.accepts(kinds, arch))
}

fn reads(arch: Arch, op: Op, file: RegFile) -> bool {
    let address = match file {
        RegFile::Gpr => [Kinds::MEM, Kinds::CONST_AT_R],
        RegFile::Ugpr => [Kinds::MEM_AT_UR, Kinds::CONST_AT_UR],
        RegFile::Pred | RegFile::Upred => [Kinds::of_file(file); 2],
    };
    let all = [Kinds::of_file(file), address[0], address[1]];
    let slots = op.row().slots.iter().filter(|slot| slot.role == Role::Use);
    slots.flat_map(|slot| all.map(|kind| slot.accepts(kind, arch))).any(|takes| takes)
}

/// Whether a predicate of the file may be the guard: a uniform predicate guards operations that are
/// done once per warp.
fn is_guarded(op: Op, file: RegFile) -> bool {
    match file {
        RegFile::Pred => true,
        RegFile::Upred => {
            matches!(op.row().latency, LatencyClass::Udp | LatencyClass::Umov | LatencyClass::Branch)
                || op == Op::S2UR
        }
        RegFile::Gpr | RegFile::Ugpr => false,
    }
}
