//! The data files, read at compile time: how often each pipe takes an instruction.

use ptxc_machine::{Arch, PerArch, per_arch};

use super::UNITS;
use crate::data_file::{Reader, packed};
use crate::table::Pipe;

/// A line of a data file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipeTiming {
    /// The pipe.
    pub pipe: Pipe,
    /// The units that an instruction may go to, by their numbers on this architecture; twice the
    /// same if there is only one.
    pub units: [u8; 2],
    /// Cycles for which the unit is busy.
    pub interval: u8,
    /// Instructions that can wait for the unit without holding up issue; 0 if the unit must be
    /// free.
    pub queue: u8,
    /// Cycles from issue to leaving the queue when nothing is in the way.
    pub delay: u8,
    /// Whether all sub-cores send through one port of the SM.
    pub shared: bool,
    /// The source of the figures.
    pub source: &'static str,
}

const PIPES: usize = Pipe::ALL.len();

static ALL: PerArch<[PipeTiming; PIPES]> =
    per_arch!(ARCH => const { read(ARCH.facts().data.issue.as_bytes()) });

/// Every pipe of an architecture, in the order of [`Pipe::ALL`].
pub fn pipes(arch: Arch) -> &'static [PipeTiming] {
    ALL.get(arch)
}

/// One pipe of an architecture.
pub fn pipe_timing(arch: Arch, pipe: Pipe) -> &'static PipeTiming {
    &pipes(arch)[pipe as usize]
}

/// Reads a file. A malformed line does not compile, and neither does a file whose pipes are not
/// those of [`Pipe::ALL`] in their order.
const fn read(text: &'static [u8]) -> [PipeTiming; PIPES] {
    let mut reader = Reader::new(text);
    let mut known = [0; UNITS];
    let mut pipes = [entry(&mut reader, Pipe::ALL[0], &mut known); PIPES];
    let mut index = 1;
    while index < PIPES {
        pipes[index] = entry(&mut reader, Pipe::ALL[index], &mut known);
        index += 1;
    }
    assert!(reader.is_at_end(), "more lines than pipes");
    pipes
}

/// Reads the next line, which must be that of the pipe. `known` has the names of the units so far.
const fn entry(reader: &mut Reader, pipe: Pipe, known: &mut [u128; UNITS]) -> PipeTiming {
    assert!(reader.word() == packed(pipe.name()), "another pipe expected");
    let (first, has_second) = reader.part();
    let second = if has_second { reader.word() } else { first };
    let units = [number(first, known), number(second, known)];
    let (interval, queue, delay) = (reader.byte(), reader.byte(), reader.byte());
    let shared = match reader.word() {
        NONE => false,
        LSU => true,
        _ => panic!("no port of the SM"),
    };
    PipeTiming { pipe, units, interval, queue, delay, shared, source: reader.rest_of_line() }
}

/// The number of a unit: units count in the order in which the file names them.
const fn number(unit: u128, known: &mut [u128; UNITS]) -> u8 {
    let mut index = 0;
    while known[index] != unit && known[index] != 0 {
        index += 1;
    }
    known[index] = unit;
    index as u8
}

/// The words of the files.
const NONE: u128 = packed("-");
const LSU: u128 = packed("lsu");
