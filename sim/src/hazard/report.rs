//! The hazards of a run, each pair of instructions once.

use std::fmt;

use ptxc_sass::verify::{self, HazardKind};
use ptxc_sass::{PReg, Program};
use rustc_hash::FxHashMap;

use super::Early;
use crate::warp::lanes_of;

/// The number of hazards that a list shows.
const SHOWN_HAZARDS: usize = 16;

/// The place in the grid where an event happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// `%ctaid`.
    pub cta: [u32; 3],
    /// The warp in the CTA.
    pub warp: u32,
    /// Its lanes, one bit each.
    pub lanes: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.cta;
        write!(f, "CTA ({x}, {y}, {z}) warp {} ", self.warp)?;
        match self.lanes.count_ones() {
            1 => write!(f, "lane {}", lanes_of(self.lanes).next().unwrap_or(0)),
            _ => write!(f, "lanes {:#010x}", self.lanes),
        }
    }
}

/// A dependence that the control codes of an executed path do not protect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hazard {
    /// The rule, the indices of the instructions, the register, and the greatest lack.
    pub what: verify::Hazard,
    /// The instruction that comes too soon, as text.
    pub consumer: String,
    /// The instruction that it follows too soon, as text.
    pub producer: String,
    /// The place of the first occurrence.
    pub place: Place,
    /// The number of occurrences.
    pub count: u64,
}

impl fmt::Display for Hazard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: `{}`", self.what, self.consumer)?;
        if self.what.consumer != self.what.producer {
            write!(f, " after `{}`", self.producer)?;
        }
        write!(f, ", first in {}", self.place)?;
        if self.count > 1 { write!(f, ", {} times", self.count) } else { Ok(()) }
    }
}

/// The identity of a hazard: consumer, producer, rule, register.
type Key = (u32, u32, HazardKind, Option<PReg>);

/// The hazards found so far. There are at most as many as pairs of nearby instructions, however
/// long a program runs.
#[derive(Debug, Default)]
pub(super) struct Found {
    list: FxHashMap<Key, Entry>,
    /// The number of instruction executions with hazards: distinguishes two registers of one
    /// execution from two executions.
    instance: u64,
}

#[derive(Debug)]
struct Entry {
    what: verify::Hazard,
    place: Place,
    count: u64,
    instance: u64,
}

impl Found {
    /// Adds the hazards of one instruction of a warp.
    pub fn add(&mut self, consumer: u32, place: Place, early: &[Early]) {
        self.instance += 1;
        for &Early { producer, kind, register, lanes, lack } in early {
            let what = verify::Hazard { consumer, producer, kind, reg: register, lack };
            let place = Place { lanes, ..place };
            let (count, instance) = (0, self.instance - 1);
            let key = (consumer, producer, kind, register);
            let entry = self.list.entry(key).or_insert(Entry { what, place, count, instance });
            if entry.instance != self.instance {
                (entry.count, entry.instance) = (entry.count + 1, self.instance);
            }
            entry.what.lack = worse(entry.what.lack, lack);
        }
    }

    /// The hazards, in the order of the consumers.
    pub fn list(&self, program: &Program) -> Vec<Hazard> {
        let text =
            |pc: u32| program.insts.get(pc as usize).map(|coded| coded.inst.to_string()).unwrap_or_default();
        let mut list: Vec<Hazard> = self
            .list
            .values()
            .map(|entry| Hazard {
                what: entry.what.clone(),
                consumer: text(entry.what.consumer),
                producer: text(entry.what.producer),
                place: entry.place,
                count: entry.count,
            })
            .collect();
        list.sort_by_key(|hazard| hazard.what.clone());
        list
    }
}

/// The worse of two lacks of a pair of instructions: the one with fewer cycles.
fn worse(a: verify::Lack, b: verify::Lack) -> verify::Lack {
    let missing = |lack| match lack {
        verify::Lack::Cycles { need, have } => need.saturating_sub(have),
        verify::Lack::Wait(_) | verify::Lack::Group | verify::Lack::Rule => u8::MAX,
    };
    if missing(b) > missing(a) { b } else { a }
}

/// Lists hazards, one per line.
pub(crate) fn show_hazards(f: &mut fmt::Formatter<'_>, hazards: &[Hazard]) -> fmt::Result {
    hazards.iter().take(SHOWN_HAZARDS).try_for_each(|hazard| writeln!(f, "hazard: {hazard}"))?;
    match hazards.len().saturating_sub(SHOWN_HAZARDS) {
        0 => Ok(()),
        more => writeln!(f, "and {more} more hazards"),
    }
}
