//! The formats of texels: the words that their bytes stand for, and back.

use crate::convert;
use crate::format::{F16, F32, Mode};

/// A component of a texel in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// An unsigned integer of that many bits: 8, 16 or 32.
    Unsigned(u8),
    /// A signed integer.
    Signed(u8),
    /// A binary16.
    Half,
    /// A binary32.
    Single,
}

impl Channel {
    /// The size in bytes.
    pub const fn bytes(self) -> u32 {
        match self {
            Channel::Unsigned(bits) | Channel::Signed(bits) => bits as u32 / 8,
            Channel::Half => 2,
            Channel::Single => 4,
        }
    }

    /// Whether it is a float.
    pub const fn is_float(self) -> bool {
        matches!(self, Channel::Half | Channel::Single)
    }
}

/// The format of a texel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TexelFormat {
    /// The type of its components.
    pub channel: Channel,
    /// The number of components: 1, 2 or 4.
    pub count: u8,
    /// Whether integers stand for numbers from 0 or -1 to 1.
    pub normalized: bool,
}

impl TexelFormat {
    /// The size of a texel in bytes.
    pub const fn bytes(&self) -> u32 {
        self.channel.bytes() * self.count as u32
    }

    /// Whether the words of a texel are binary32.
    pub const fn reads_float(&self) -> bool {
        self.channel.is_float() || self.normalized
    }

    /// The words of a texel in memory.
    pub fn read(&self, bytes: &[u8]) -> [u32; 4] {
        let one = if self.reads_float() { 1.0f32.to_bits() } else { 1 };
        let mut words = [0, 0, 0, one];
        let size = self.channel.bytes() as usize;
        let count = usize::from(self.count.min(4));
        for (word, bytes) in words.iter_mut().zip(bytes.chunks(size)).take(count) {
            let bits = bytes.iter().rev().fold(0, |all, &byte| all << 8 | u32::from(byte));
            *word = self.word(bits);
        }
        words
    }

    fn word(&self, bits: u32) -> u32 {
        let number = match self.channel {
            Channel::Single => return bits,
            Channel::Half => return convert::float_to_float(F16, F32, bits.into(), Mode::IEEE) as u32,
            Channel::Unsigned(_) => i64::from(bits),
            Channel::Signed(width) => {
                let unused = 32 - u32::from(width.min(32));
                i64::from((bits << unused) as i32 >> unused)
            }
        };
        if !self.normalized {
            return number as u32;
        }
        // The most negative number is below -1.
        let exact = number as f64 / self.greatest() as f64;
        (exact.max(-1.0) as f32).to_bits()
    }

    /// The greatest integer of a component.
    const fn greatest(&self) -> i64 {
        match self.channel {
            Channel::Unsigned(bits) => (1 << bits) - 1,
            Channel::Signed(bits) => (1 << (bits - 1)) - 1,
            Channel::Half | Channel::Single => 1,
        }
    }

    /// Writes the components of a texel to memory: floats are converted to halves or to normalized
    /// integers, integers are clamped to the range of the format. Missing components are 0.
    pub fn write(&self, words: &[u32], bytes: &mut [u8]) {
        let size = self.channel.bytes() as usize;
        let components = bytes.chunks_mut(size).take(usize::from(self.count));
        for (number, bytes) in components.enumerate() {
            let bits = self.bits(words.get(number).copied().unwrap_or(0));
            bytes.copy_from_slice(&bits.to_le_bytes()[..size]);
        }
    }

    fn bits(&self, word: u32) -> u32 {
        let greatest = self.greatest();
        match self.channel {
            Channel::Single => word,
            Channel::Half => convert::float_to_float(F32, F16, word.into(), Mode::IEEE) as u32,
            Channel::Unsigned(_) if !self.normalized => i64::from(word).min(greatest) as u32,
            Channel::Signed(_) if !self.normalized => {
                i64::from(word as i32).clamp(-greatest - 1, greatest) as u32
            }
            Channel::Unsigned(_) | Channel::Signed(_) => {
                let least = if matches!(self.channel, Channel::Signed(_)) { -1.0 } else { 0.0 };
                // A NaN becomes 0.
                let number = f64::from(f32::from_bits(word)).clamp(least, 1.0) * greatest as f64;
                number.round_ties_even() as i64 as u32
            }
        }
    }
}
