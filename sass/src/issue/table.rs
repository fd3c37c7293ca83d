//! The data files: how often each pipe takes an instruction.

use std::sync::LazyLock;

use ptxc_machine::{Arch, PerArch, per_arch};

use crate::table::Pipe;

/// A line of a data file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipeTiming {
    /// The pipe.
    pub pipe: Pipe,
    /// The units that an instruction may go to, by their numbers on this architecture.
    pub units: Vec<u8>,
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
    pub source: String,
}

static ALL: PerArch<LazyLock<Vec<PipeTiming>>> =
    per_arch!(ARCH => LazyLock::new(|| read(ARCH.facts().data.issue)));

/// Every pipe of an architecture, in the order of [`Pipe::ALL`].
pub fn pipes(arch: Arch) -> &'static [PipeTiming] {
    ALL.get(arch)
}

/// One pipe of an architecture.
pub fn pipe_timing(arch: Arch, pipe: Pipe) -> &'static PipeTiming {
    &pipes(arch)[pipe as usize]
}

/// Reads a file.
///
/// # Panics
/// If a line is malformed, or the pipes are not those of [`Pipe::ALL`] in their order. A test of
/// the crate excludes both: the files are part of the crate.
fn read(text: &str) -> Vec<PipeTiming> {
    let mut units: Vec<&str> = Vec::new();
    let lines = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    let pipes: Vec<PipeTiming> =
        lines.map(|line| entry(line, &mut units).unwrap_or_else(|| panic!("issue data: {line}"))).collect();
    assert!(
        pipes.iter().map(|timing| timing.pipe).eq(Pipe::ALL.iter().copied()),
        "issue data: order of pipes"
    );
    pipes
}

fn entry<'a>(line: &'a str, known: &mut Vec<&'a str>) -> Option<PipeTiming> {
    let mut fields = line.splitn(7, ',');
    let name = fields.next()?;
    let pipe = Pipe::ALL.iter().copied().find(|pipe| pipe.name() == name)?;
    let mut number = |unit: &'a str| {
        let index = known.iter().position(|other| *other == unit).unwrap_or_else(|| {
            known.push(unit);
            known.len() - 1
        });
        index as u8
    };
    let units = fields.next()?.split('/').map(&mut number).collect();
    let mut figure = || fields.next()?.parse().ok();
    let (interval, queue, delay) = (figure()?, figure()?, figure()?);
    let shared = match fields.next()? {
        "-" => false,
        "lsu" => true,
        _ => return None,
    };
    let source = fields.next()?.to_string();
    Some(PipeTiming { pipe, units, interval, queue, delay, shared, source })
}
