//! A small random number generator: equal seeds give equal kernels on every machine.

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `count`, which is not zero.
    pub fn below(&mut self, count: usize) -> usize {
        (self.bits() % count as u64) as usize
    }

    /// True `percent` times in a hundred.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// An element of a list that is not empty.
    pub fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// Bits that are difficult for arithmetic: small numbers, powers of two, their neighbours,
    /// infinities.
    pub fn word(&mut self, width: u32) -> u64 {
        let bits = match self.below(8) {
            0 => self.bits() % 5,
            1 => (self.bits() % 5).wrapping_neg(),
            2 => 1 << self.below(width as usize),
            3 => (1u64 << self.below(width as usize)).wrapping_sub(1),
            4 if width == 32 => {
                self.pick(&[0x3f80_0000, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0x8000_0000, 1])
            }
            5 if width == 32 => u64::from(((self.bits() % 2001) as f32 / 8.0 - 125.0).to_bits()),
            _ => self.bits(),
        };
        bits & (u64::MAX >> (64 - width))
    }

    /// Bits of a double that are difficult for arithmetic: numbers of single precision and their
    /// neighbours, any bits.
    pub fn double(&mut self) -> u64 {
        match self.below(4) {
            0 => self.bits(),
            1 => f64::from(f32::from_bits(self.word(32) as u32)).to_bits().wrapping_add(self.word(64) % 3),
            2 => ((self.bits() % 2001) as f64 / 8.0 - 125.0).to_bits(),
            _ => self.pick(&[
                0,
                1 << 63,
                1,
                0x3ff0_0000_0000_0000,
                0x7ff0_0000_0000_0000,
                0x000f_ffff_ffff_ffff,
            ]),
        }
    }
}
