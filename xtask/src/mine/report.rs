//! Prints the findings.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ptxc_machine::Arch;
use ptxc_sass::latency::{Dependence, Latency, Source, entries};
use ptxc_sass::{Inst, Op, PReg};

use super::completion::Announced;
use super::figures::{Cell, Figures, Seen};
use super::observe::{Pair, Pairs};
use super::spacing::Spacing;

fn dependence(cell: &Cell) -> &'static str {
    match (cell.dependence, cell.guard) {
        (Dependence::Raw, false) => "raw",
        (Dependence::Raw, true) => "raw-guard",
        (Dependence::War, _) => "war",
        (Dependence::Waw, _) => "waw",
    }
}

fn source(source: Source) -> &'static str {
    match source {
        Source::Mined => "mined",
        Source::Table => "table",
        Source::Bound => "bound",
        Source::Scoreboard => "scoreboard",
    }
}

fn name(cell: &Cell) -> String {
    let (producer, consumer) = (cell.producer.name(), cell.consumer.name());
    format!("{},{},{producer},{consumer}", dependence(cell), cell.file.prefix())
}

/// The text of a data file.
pub(super) fn file(arch: Arch, figures: &Figures) -> String {
    let mut text = format!(
        "# {arch}: least distance between issues, in cycles (the sum of the stalls from the producer on).\n\
         # dependence, register file, producer class, consumer class, safe, legal, source, pairs seen, pairs seen at \
         their minimum\n\
         # See docs/facts/latency.md for the classes, the sources and how far each figure is to be trusted.\n\
         # Written by `cargo xtask mine {arch}`.\n\
         dependence,file,producer,consumer,safe,legal,source,observations,at_minimum\n"
    );
    for (cell, figure) in figures {
        let latency = figure.latency;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{},{},{},{},{},{}",
            name(cell),
            latency.safe,
            latency.legal,
            source(latency.source),
            figure.observations,
            figure.at_minimum
        );
    }
    text
}

/// The differences between the figures and those in use.
pub(super) fn differences(arch: Arch, found: &Figures) -> String {
    let mut text = String::new();
    let mut known = BTreeMap::new();
    for entry in entries(arch) {
        known.insert(Cell::of_entry(&entry), entry);
    }
    for (cell, figure) in found {
        let new = figure.latency;
        let old = known.get(cell).map(|entry| entry.latency);
        let before = match old {
            Some(old) if (old.safe, old.legal) == (new.safe, new.legal) => continue,
            Some(old) => format!("{}/{} {}", old.safe, old.legal, source(old.source)),
            None => "nothing".to_string(),
        };
        let _ = writeln!(
            text,
            "{}: {before} -> {}/{} {} ({} of {})",
            name(cell),
            new.safe,
            new.legal,
            source(new.source),
            figure.at_minimum,
            figure.observations
        );
    }
    for cell in known.keys().filter(|cell| !found.contains_key(cell)) {
        let _ = writeln!(text, "{}: gone", name(cell));
    }
    text
}

/// Every pair of operations.
pub(super) fn pairs(pairs: &Pairs) -> String {
    let mut text = String::from("cell,first,second,pairs,least,at least,example\n");
    for (pair, distances) in pairs {
        let cell = name(&Cell::of(pair)).replace(',', " ");
        let (first, second, least) = (pair.producer.1, pair.consumer.1, distances.least());
        let (all, at_least) = (distances.total(), distances.counts[least as usize]);
        let example = &distances.example;
        let _ = writeln!(text, "{cell},{first:?},{second:?},{all},{least},{at_least},\"{example}\"");
    }
    text
}

/// Pairs that are closer than the figures in use demand.
pub(super) fn closer(arch: Arch, pairs: &Pairs) -> String {
    let legal: BTreeMap<Cell, u8> =
        entries(arch).iter().map(|entry| (Cell::of_entry(entry), entry.latency.legal)).collect();
    let mut text = String::from("cell,first,second,legal,least,closer,pairs,example\n");
    for (pair, distances) in pairs {
        let cell = Cell::of(pair);
        let legal = legal.get(&cell).copied().unwrap_or(Latency::UNKNOWN.legal);
        let close: u32 = distances.counts[..usize::from(legal)].iter().sum();
        if close > 0 {
            let (first, second) = (pair.producer.1, pair.consumer.1);
            let (least, all) = (distances.least(), distances.total());
            let example = &distances.example;
            let cell = name(&cell).replace(',', " ");
            let _ = writeln!(text, "{cell},{first:?},{second:?},{legal},{least},{close},{all},\"{example}\"");
        }
    }
    text
}

/// The instructions that need more than the least distance of their cell.
pub(super) fn members(pairs: &Pairs) -> String {
    let mut text = String::new();
    for (cell, seen) in Seen::gather(pairs).iter().filter(|(cell, _)| cell.dependence == Dependence::Raw) {
        for (produces, op, need) in seen.needs().filter(|&(_, _, need)| need > seen.least()) {
            let member = |pair: &Pair| {
                Cell::of(pair) == *cell && op == if produces { pair.producer.1 } else { pair.consumer.1 }
            };
            let example = pairs.iter().find(|(pair, distances)| member(pair) && distances.least() == need);
            let _ = writeln!(
                text,
                "{}: {} in the cell, {op:?} {} {need}: {}",
                name(cell),
                seen.least(),
                if produces { "produces after" } else { "reads after" },
                example.map_or("", |(_, distances)| distances.example.as_str())
            );
        }
    }
    text
}

/// How well figures from some files predict others: pairs of the others that are closer than legal,
/// and cells with another least distance, among those that both halves saw often enough.
pub(super) fn holdout(figures: &Figures, mined: &Pairs, held_out: &Pairs) -> String {
    let mut text = String::new();
    let (mut pairs, mut below) = (0, 0);
    for (pair, distances) in held_out {
        let cell = Cell::of(pair);
        let Some(figure) = figures.get(&cell) else { continue };
        pairs += distances.total();
        let close: u32 = distances.counts[..usize::from(figure.latency.legal)].iter().sum();
        if close > 0 {
            below += close;
            let legal = figure.latency.legal;
            let _ = writeln!(text, "{}: {close} closer than {legal}: {}", name(&cell), distances.example);
        }
    }
    let (first, second) = (Seen::gather(mined), Seen::gather(held_out));
    let (mut cells, mut differ) = (0, 0);
    for (cell, here) in &first {
        let Some(there) = second.get(cell).filter(|there| here.is_shown() && there.is_shown()) else {
            continue;
        };
        cells += 1;
        if here.least() != there.least() {
            differ += 1;
            let _ = writeln!(
                text,
                "{}: at least {} cycles, in the other half {}",
                name(cell),
                here.least(),
                there.least()
            );
        }
    }
    let _ = writeln!(
        text,
        "{below} of {pairs} pairs closer than legal; least distances of {differ} of {cells} cells differ"
    );
    text
}

/// Scoreboards and waits, instruction by instruction.
pub(super) fn scoreboards(arch: Arch, found: &BTreeMap<Op, Announced>) -> String {
    let mut text = String::new();
    for (&op, announced) in found {
        let inst: Inst<PReg> = Inst::new(op);
        let completion = inst.completion(arch);
        let ([set, unset], [own, other, none]) = (announced.set, announced.read);
        let _ = write!(
            text,
            "{}{op:?} {completion:?}: {set} with a write scoreboard, {unset} without; read after a wait for it {own}, \
             after another {other}, after none {none}",
            if announced.disagrees(completion) { "! " } else { "  " }
        );
        let _ = match announced.example.as_str() {
            "" => writeln!(text),
            example => writeln!(text, "; {example}"),
        };
    }
    text
}

/// Stalls, scoreboards and distances from barriers.
pub(super) fn spacing(found: &BTreeMap<Op, Spacing>) -> String {
    let mut text = String::new();
    for (op, spacing) in found {
        let list = |counts: &[u32]| {
            let seen = counts.iter().enumerate().filter(|(_, count)| **count > 0);
            seen.map(|(value, count)| format!("{value}:{count}")).collect::<Vec<_>>().join(" ")
        };
        let [write, read, both] = spacing.scoreboards;
        let _ = writeln!(
            text,
            "{op:?}: {} seen; scoreboards: {write} write, {read} read, {both} both; stalls {}; after BAR {}; first \
             wait {}",
            spacing.seen,
            list(&spacing.stalls),
            list(&spacing.after_barrier),
            list(&spacing.first_wait)
        );
    }
    text
}
