//! The inputs of a seed, each by its number.

use fastrand::Rng;

use super::kernels::{self, Kernel};
use super::ways::{ALWAYS, SOMETIMES};
use super::{extremes, mutation};

/// One input of this many is an extreme of a random size; the others are mutated kernels.
const EXTREMES_APART: u32 = 200;
/// One kernel of this many goes through one more way.
const WAYS_APART: u32 = 4;

/// The source of inputs.
#[derive(Debug)]
pub(super) struct Source {
    /// The kernels.
    pub(super) kernels: Vec<Kernel>,
    /// The seed of all random choices.
    pub(super) seed: u64,
}

/// An input.
#[derive(Debug)]
pub(super) struct Input {
    seed: u64,
    number: u64,
    /// A description.
    what: String,
    /// Whether it is an extreme. Its name tells the extreme property, so there is nothing to
    /// reduce.
    pub(super) is_extreme: bool,
    /// Its bytes.
    pub(super) text: Vec<u8>,
    /// The numbers of the ways that it goes through.
    pub(super) ways: Vec<u8>,
}

impl Source {
    /// The input of a number. The first ones are the extremes at their full size.
    pub(super) fn input(&self, number: u64) -> Input {
        let mut first = Rng::with_seed(self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number);
        // The generators of adjacent seeds start with similar numbers.
        let mut rng = first.fork();
        let always = 0..ALWAYS.len() as u8;
        let sometimes = always.end + rng.u8(..SOMETIMES.len() as u8);
        let full = usize::try_from(number).ok().and_then(extremes::full);
        let another = full.is_none() && rng.u32(..WAYS_APART) == 0;
        let is_extreme = full.is_some() || rng.u32(..EXTREMES_APART) == 0;
        let (what, text) = match full {
            Some(extreme) => extreme,
            None if is_extreme => extremes::any(&mut rng),
            None => self.mutated(&mut rng),
        };
        let ways = always.chain(another.then_some(sometimes)).collect();
        Input { seed: self.seed, number, what, is_extreme, text, ways }
    }

    fn mutated(&self, rng: &mut Rng) -> (String, Vec<u8>) {
        let (name, mut text) = kernels::choose(&self.kernels, rng);
        let (_, other) = kernels::choose(&self.kernels, rng);
        let done = mutation::mutate(&mut text, &other, rng);
        (format!("{name}: {done}"), text)
    }
}

impl Input {
    /// The number and the description of the input.
    pub(super) fn label(&self) -> String {
        format!("input {} ({})", self.number, self.what)
    }

    /// The name of a file for the input.
    pub(super) fn file_name(&self, addition: &str) -> String {
        format!("{}-{}{addition}.ptx", self.seed, self.number)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_number_determines_an_input() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/lit/kernels");
        let source = Source { kernels: kernels::read(&[folder]).expect("there are kernels"), seed: 5 };
        let first = extremes::count() as u64;
        let of = |number: u64| {
            let input = source.input(number);
            (input.what, input.text, input.ways)
        };
        assert!((first..first + 100).all(|number| of(number) == of(number)));
        let different = (first..first + 100).filter(|&number| of(number).1 != of(number + 1).1);
        assert!(different.count() > 95);
    }
}
