//! The registers of a warp, and operands as the engine reads and writes them.

use ptxc_sass::{PReg, RegFile, Register};
use ptxc_semantics::{F32, F64, float};

use crate::random::Random;
use crate::warp::{LANES, lanes_of};

/// A 32-bit value of each lane.
pub(super) type Lanes = [u32; LANES];

/// Where a 32-bit operand comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A general register.
    Lane(u8),
    /// A uniform register.
    Uniform(u8),
    /// The same for everybody.
    Value(u32),
}

/// A 32-bit source operand with its signs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    /// Where it comes from.
    pub origin: Origin,
    /// `-`: two's complement, or the float's sign turned.
    pub neg: bool,
    /// `|…|`.
    pub abs: bool,
    /// `~`.
    pub not: bool,
}

/// Where a 32-bit result goes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Dest {
    /// Nowhere.
    Zero,
    /// A general register.
    Lane(u8),
    /// A uniform register.
    Uniform(u8),
}

/// A predicate operand; `register` is `None` for PT.
#[derive(Clone, Copy, Debug)]
pub(super) struct PredSource {
    /// The register.
    pub register: Option<PReg>,
    /// `!`.
    pub not: bool,
}

/// Where a predicate result goes; `None` is PT.
pub(super) type PredDest = Option<PReg>;

/// The registers of a warp.
pub(super) struct Registers {
    /// R0 to R254.
    r: Vec<Lanes>,
    /// P0 to P6, a bit each lane.
    p: [u32; 7],
    /// UR0 to UR62.
    u: [u32; 63],
    /// UP0 to UP6.
    up: [bool; 7],
    /// For each register, by its dense number, the lanes that have written it; all lanes for uniform ones.
    written: Vec<u32>,
    /// Source of what the hardware leaves open.
    pub random: Random,
}

impl Registers {
    /// Registers with random content, of which nothing counts as written.
    pub fn new(random: &mut Random) -> Registers {
        let mut random = Random::new(random.next());
        let mut word = || random.next() as u32;
        Registers {
            r: (0..RegFile::Gpr.count()).map(|_| std::array::from_fn(|_| word())).collect(),
            p: std::array::from_fn(|_| word()),
            u: std::array::from_fn(|_| word()),
            up: std::array::from_fn(|_| word() & 1 == 1),
            written: vec![0; PReg::COUNT],
            random,
        }
    }

    /// An operand without its signs.
    fn raw(&self, source: Source) -> Lanes {
        match source.origin {
            Origin::Lane(index) => self.r[index as usize],
            Origin::Uniform(index) => [self.u[index as usize]; LANES],
            Origin::Value(value) => [value; LANES],
        }
    }

    /// An operand read as an integer.
    pub fn int(&self, source: Source) -> Lanes {
        let mut lanes = self.raw(source);
        if source.not {
            lanes = lanes.map(|a| !a);
        }
        if source.neg {
            lanes = lanes.map(u32::wrapping_neg);
        }
        lanes
    }

    /// An operand read as a binary32.
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

    /// An operand read as two halves, each with its sign.
    pub fn halves(&self, source: Source) -> Lanes {
        let lanes = self.raw(source);
        if source.neg { lanes.map(|a| a ^ 0x8000_8000) } else { lanes }
    }

    /// A register pair as 64 bits a lane, without its signs.
    fn pair(&self, [low, high]: [Source; 2]) -> [u64; LANES] {
        let (low, high) = (self.raw(low), self.raw(high));
        std::array::from_fn(|lane| u64::from(high[lane]) << 32 | u64::from(low[lane]))
    }

    /// A register pair read as a 64-bit integer.
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
    pub fn write_wide(&mut self, dests: &[Dest], lanes: u32, value: impl Fn(usize) -> u64) {
        for (word, &dest) in dests.iter().enumerate() {
            self.write(dest, lanes, |lane| (value(lane) >> (32 * word)) as u32);
        }
    }

    /// Writes a result lane by lane; into a uniform register the value of the first lane.
    pub fn write(&mut self, dest: Dest, lanes: u32, mut value: impl FnMut(usize) -> u32) {
        match dest {
            Dest::Zero => {}
            Dest::Lane(index) => {
                let register = &mut self.r[index as usize];
                for lane in lanes_of(lanes) {
                    register[lane as usize] = value(lane as usize);
                }
            }
            Dest::Uniform(index) => self.u[index as usize] = value(lanes.trailing_zeros() as usize),
        }
    }

    /// The lanes in which a predicate holds; all or none for a uniform one.
    pub fn pred(&self, source: PredSource) -> u32 {
        let holds = match source.register {
            None => u32::MAX,
            Some(register) if register.file() == RegFile::Pred => self.p[register.index() as usize],
            Some(register) => {
                if self.up[register.index() as usize] {
                    u32::MAX
                } else {
                    0
                }
            }
        };
        if source.not { !holds } else { holds }
    }

    /// Writes a predicate: those of `lanes` in which it holds; into a uniform one that of the first lane.
    pub fn write_pred(&mut self, dest: PredDest, lanes: u32, holds: u32) {
        match dest {
            None => {}
            Some(register) if register.file() == RegFile::Pred => {
                let register = &mut self.p[register.index() as usize];
                *register = *register & !lanes | holds & lanes;
            }
            Some(register) => self.up[register.index() as usize] = holds >> lanes.trailing_zeros() & 1 == 1,
        }
    }

    /// Remembers that lanes have written a register.
    pub fn mark_written(&mut self, register: PReg, lanes: u32) {
        self.written[register.dense()] |= if register.file().is_uniform() { u32::MAX } else { lanes };
    }

    /// A lane among `lanes` that has not written a register.
    pub fn unwritten(&self, register: PReg, lanes: u32) -> Option<u32> {
        lanes_of(lanes & !self.written[register.dense()]).next()
    }
}
