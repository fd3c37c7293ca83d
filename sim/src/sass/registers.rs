//! The registers of a warp, and the engine's access to operands.
//!
//! The code that runs for each instruction consists of short loops over all lanes, without calls
//! and without conditions that depend on the lane. The compiler turns them into vector code when
//! they are inlined where the operation is known.

use ptxc_sass::{PReg, RegFile, Register};
use ptxc_semantics::{F32, F64, float};

use super::warpgroup::Places;
use crate::hazard::Tracks;
use crate::random::Random;
use crate::unwritten::Unwritten;
use crate::warp::{LANES, lanes_of};
use crate::warpgroup::Flights;

/// A 32-bit value of each lane.
pub(super) type Lanes = [u32; LANES];

/// The source of a 32-bit operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A general register.
    Lane(u8),
    /// A uniform register.
    Uniform(u8),
    /// A value that is the same for all lanes.
    Value(u32),
}

/// A 32-bit source operand with its signs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    /// Its source.
    pub origin: Origin,
    /// `-`: two's complement, or the inverted sign of a float.
    pub neg: bool,
    /// `|…|`.
    pub abs: bool,
    /// `~`.
    pub not: bool,
}

/// The destination of a 32-bit result.
#[derive(Clone, Copy, Debug)]
pub(super) enum Dest {
    /// No destination.
    Zero,
    /// A general register.
    Lane(u8),
    /// A uniform register.
    Uniform(u8),
}

/// A predicate operand.
#[derive(Clone, Copy, Debug)]
pub(super) struct PredSource {
    index: PredIndex,
    /// All ones for `!`.
    flip: u32,
}

impl PredSource {
    /// A predicate register or PT, with or without `!`.
    pub fn new(register: Option<PReg>, not: bool) -> PredSource {
        PredSource { index: register.map_or(ALWAYS, PredIndex::new), flip: if not { u32::MAX } else { 0 } }
    }
}

/// A predicate register: P0 to P6 from 0, UP0 to UP6 from 8.
#[derive(Clone, Copy, Debug)]
pub(super) struct PredIndex(u8);

impl PredIndex {
    /// The index of a predicate register.
    pub fn new(register: PReg) -> PredIndex {
        PredIndex(register.index() | if register.file() == RegFile::Upred { UNIFORM } else { 0 })
    }
}

/// The bit that marks a uniform predicate.
const UNIFORM: u8 = 8;
/// The index of PT.
const ALWAYS: PredIndex = PredIndex(7);

/// The destination of a predicate result; `None` is PT.
pub(super) type PredDest = Option<PredIndex>;

/// The registers of a warp.
pub(super) struct Registers {
    /// R0 to R254.
    r: Box<[Lanes; 256]>,
    /// UR0 to UR62.
    u: [u32; 256],
    /// The predicates by their index, one bit per lane; a uniform predicate has all bits or none.
    p: [u32; 16],
    /// The halves of the return addresses, the low one first: used only to save words.
    pub returns: [Lanes; 2],
    /// For each register, by its dense number, the lanes that have written it; for uniform
    /// registers all lanes.
    written: Vec<u32>,
    /// The lanes that have not written it but chosen an unwritten word for it.
    chosen: Vec<u32>,
    /// The bits of general registers that come from unwritten memory.
    pub unwritten: Unwritten,
    /// The source of values that the hardware leaves undefined.
    pub random: Random,
    /// The products of a warpgroup that are under way.
    pub flights: Flights<Places>,
    /// The accesses in flight of the warp, if hazards are checked.
    pub tracks: Option<Box<Tracks>>,
}

/// The content of a register.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content {
    /// A general register.
    Lanes(Lanes),
    /// A uniform register, or a predicate with one bit per lane.
    Word(u32),
}

impl Registers {
    /// Registers with random content, all of them unwritten.
    pub fn new(random: &mut Random) -> Registers {
        let mut random = Random::new(random.next());
        let mut r = Box::new([[0; LANES]; 256]);
        for pair in r.as_flattened_mut().chunks_exact_mut(2) {
            let bits = random.next();
            pair.copy_from_slice(&[bits as u32, (bits >> 32) as u32]);
        }
        let mut p: [u32; 16] = std::array::from_fn(|_| random.next() as u32);
        for uniform in &mut p[usize::from(UNIFORM)..] {
            *uniform = if *uniform & 1 == 1 { u32::MAX } else { 0 };
        }
        p[ALWAYS.0 as usize] = u32::MAX;
        Registers {
            r,
            u: std::array::from_fn(|_| random.next() as u32),
            p,
            returns: std::array::from_fn(|_| std::array::from_fn(|_| random.next() as u32)),
            written: vec![0; PReg::COUNT],
            chosen: vec![0; PReg::COUNT],
            unwritten: Unwritten::default(),
            random,
            flights: Flights::default(),
            tracks: None,
        }
    }

    /// The content of a register.
    pub fn content(&self, register: PReg) -> Content {
        match register.file() {
            RegFile::Gpr => Content::Lanes(self.r[register.index() as usize]),
            RegFile::Ugpr => Content::Word(self.u[register.index() as usize]),
            RegFile::Pred | RegFile::Upred => Content::Word(self.p[PredIndex::new(register).0 as usize]),
        }
    }

    /// Sets the content of a register, as returned by [`content`](Self::content).
    pub fn set_content(&mut self, register: PReg, content: Content) {
        match content {
            Content::Lanes(lanes) => self.r[register.index() as usize] = lanes,
            Content::Word(word) if register.file() == RegFile::Ugpr => {
                self.u[register.index() as usize] = word
            }
            Content::Word(word) => self.p[PredIndex::new(register).0 as usize] = word,
        }
    }

    /// Sets a register to random content; some lanes of it unless it is uniform.
    pub fn scramble(&mut self, register: PReg, lanes: u32) {
        let mut content = self.content(register);
        let bits = self.random.next() as u32;
        match &mut content {
            Content::Lanes(values) => {
                for lane in lanes_of(lanes) {
                    values[lane as usize] = self.random.next() as u32;
                }
            }
            Content::Word(word) => match register.file() {
                RegFile::Upred => *word = if bits & 1 == 1 { u32::MAX } else { 0 },
                RegFile::Ugpr => *word = bits,
                _ => *word = *word & !lanes | bits & lanes,
            },
        }
        self.set_content(register, content);
    }

    /// An operand without its signs.
    #[inline]
    fn raw(&self, source: Source) -> Lanes {
        match source.origin {
            Origin::Lane(index) => self.r[index as usize],
            Origin::Uniform(index) => [self.u[index as usize]; LANES],
            Origin::Value(value) => [value; LANES],
        }
    }

    /// An operand read as an integer.
    #[inline]
    pub fn int(&self, source: Source) -> Lanes {
        let lanes = self.raw(source);
        match (source.not, source.neg) {
            (false, false) => lanes,
            (false, true) => lanes.map(u32::wrapping_neg),
            (true, false) => lanes.map(|a| !a),
            (true, true) => lanes.map(|a| a.wrapping_add(1)),
        }
    }

    /// An operand read as a binary32.
    #[inline]
    pub fn float(&self, source: Source) -> Lanes {
        let mut lanes = self.raw(source);
        if source.abs {
            lanes = lanes.map(|a| float::abs(F32, a.into()) as u32);
        }
        if source.neg {
            lanes = lanes.map(|a| float::neg(F32, a.into()) as u32);
        }
        lanes
    }

    /// A register pair as 64 bits per lane, without its signs.
    #[inline]
    fn pair(&self, [low, high]: [Source; 2]) -> [u64; LANES] {
        let (low, high) = (self.raw(low), self.raw(high));
        std::array::from_fn(|lane| u64::from(high[lane]) << 32 | u64::from(low[lane]))
    }

    /// A register pair read as a 64-bit integer.
    #[inline]
    pub fn wide(&self, pair: [Source; 2]) -> [u64; LANES] {
        let mut lanes = self.pair(pair);
        if pair[0].not {
            lanes = lanes.map(|a| !a);
        }
        if pair[0].neg {
            lanes = lanes.map(u64::wrapping_neg);
        }
        lanes
    }

    /// A register pair read as a binary64.
    pub fn double(&self, pair: [Source; 2]) -> [u64; LANES] {
        let mut lanes = self.pair(pair);
        if pair[0].abs {
            lanes = lanes.map(|a| float::abs(F64, a));
        }
        if pair[0].neg {
            lanes = lanes.map(|a| float::neg(F64, a));
        }
        lanes
    }

    /// Writes a 64-bit result lane by lane.
    #[inline]
    pub fn write_wide(&mut self, dests: &[Dest], lanes: u32, value: impl Fn(usize) -> u64) {
        for (word, &dest) in dests.iter().enumerate() {
            self.write(dest, lanes, |lane| (value(lane) >> (32 * word)) as u32);
        }
    }

    /// Writes a result lane by lane; a uniform register gets the value of the first lane.
    #[inline]
    pub fn write(&mut self, dest: Dest, lanes: u32, mut value: impl FnMut(usize) -> u32) {
        match dest {
            Dest::Zero => {}
            Dest::Lane(index) => {
                let register = &mut self.r[index as usize];
                if lanes == u32::MAX {
                    for (lane, word) in register.iter_mut().enumerate() {
                        *word = value(lane);
                    }
                    return;
                }
                for lane in lanes_of(lanes) {
                    register[lane as usize] = value(lane as usize);
                }
            }
            Dest::Uniform(index) => self.u[index as usize] = value(lanes.trailing_zeros() as usize),
        }
    }

    /// The lanes in which a predicate holds; all or none for a uniform one.
    #[inline]
    pub fn pred(&self, source: PredSource) -> u32 {
        self.p[usize::from(source.index.0 & 15)] ^ source.flip
    }

    /// Writes a predicate for `lanes`; a uniform predicate gets the value of the first lane.
    #[inline]
    pub fn write_pred(&mut self, dest: PredDest, lanes: u32, holds: u32) {
        let Some(PredIndex(index)) = dest else { return };
        let register = &mut self.p[usize::from(index & 15)];
        *register = match index & UNIFORM {
            0 => *register & !lanes | holds & lanes,
            _ if holds >> lanes.trailing_zeros() & 1 == 1 => u32::MAX,
            _ => 0,
        };
    }

    /// Records that lanes have written a register.
    pub fn mark_written(&mut self, register: PReg, lanes: u32) {
        self.written[register.dense()] |= if register.file().is_uniform() { u32::MAX } else { lanes };
    }

    /// Records that lanes have chosen an unwritten word for a register, or computed it from one.
    pub fn mark_chosen(&mut self, register: PReg, lanes: u32) {
        self.written[register.dense()] &= !lanes;
        self.chosen[register.dense()] |= lanes;
    }

    /// The lanes among `lanes` that have chosen an unwritten word for a register.
    pub fn chosen(&self, register: PReg, lanes: u32) -> u32 {
        self.unwritten(register, lanes) & self.chosen[register.dense()]
    }

    /// The lanes among `lanes` that have not written a register.
    pub fn unwritten(&self, register: PReg, lanes: u32) -> u32 {
        lanes & !self.written[register.dense()]
    }
}
