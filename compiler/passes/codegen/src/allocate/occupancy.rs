//! The registers that are taken at each point.
//!
//! For each point a bit mask says which registers of a file are taken. Points are grouped in tiles
//! of [`TILE`]. Each tile has a mask of the registers that are taken throughout it, and a mask of
//! those that are taken anywhere in it. So a long live range is looked up and entered tile by tile,
//! and only in its first and its last one point by point:
//!
//! ```text
//! points        |........|........|........|
//! R4 is taken      ###### ######## ##              at points of the first and the last, throughout the second
//! ```

use ptxc_sass::RegFile;

use super::live::Segment;

/// The registers of a file, a bit each.
pub(super) type Mask = [u64; 4];

/// The number of points in a tile.
const TILE: usize = 32;

/// 64 registers of a file.
#[derive(Default)]
struct Word {
    /// By point, the registers that are taken there; ranges that pass through the whole tile are
    /// only in `whole`.
    each: Vec<u64>,
    /// By tile, the registers that are taken through all of it, from the previous tile to the next.
    whole: Vec<u64>,
    /// By tile, the registers that are taken at some of its points.
    any: Vec<u64>,
}

impl Word {
    fn new(points: usize) -> Word {
        let tiles = points.div_ceil(TILE);
        Word { each: vec![0; points], whole: vec![0; tiles], any: vec![0; tiles] }
    }

    /// The registers that are taken somewhere in a segment.
    fn busy(&self, Segment { start, end }: Segment) -> u64 {
        let join = |all: u64, taken: &[u64]| taken.iter().fold(all, |all, taken| all | taken);
        let (start, end) = (start as usize, end as usize);
        let (first, last) = (start / TILE, (end - 1) / TILE);
        if first == last {
            return join(self.whole[first], &self.each[start..end]);
        }
        let mut busy = join(self.whole[first], &self.each[start..(first + 1) * TILE]);
        busy = join(busy, &self.any[first + 1..last]);
        join(busy | self.whole[last], &self.each[last * TILE..end])
    }

    /// Takes registers throughout a segment.
    fn take(&mut self, registers: u64, Segment { start, end }: Segment) {
        let enter = |taken: &mut [u64]| taken.iter_mut().for_each(|taken| *taken |= registers);
        let (start, end) = (start as usize, end as usize);
        let (first, last) = (start / TILE, (end - 1) / TILE);
        enter(&mut self.any[first..=last]);
        if first == last {
            return enter(&mut self.each[start..end]);
        }
        enter(&mut self.each[start..(first + 1) * TILE]);
        enter(&mut self.whole[first + 1..last]);
        enter(&mut self.each[last * TILE..end]);
    }
}

/// The registers that are taken at each point.
pub(super) struct Occupancy {
    points: usize,
    /// For each file, as many times 64 registers as have been needed.
    files: [Vec<Word>; 4],
    /// The registers of each file that are taken everywhere.
    pub reserved: [Mask; 4],
}

impl Occupancy {
    /// No register is taken at any of `points` points.
    pub fn new(points: usize) -> Occupancy {
        Occupancy { points, files: Default::default(), reserved: [[0; 4]; 4] }
    }

    /// The registers that are taken at a point.
    pub fn at(&self, file: RegFile, point: u32) -> Mask {
        self.busy(file, &[Segment { start: point, end: point + 1 }])
    }

    /// The registers that are taken somewhere in some segments.
    pub fn busy(&self, file: RegFile, segments: &[Segment]) -> Mask {
        let mut mask = self.reserved[file as usize];
        for (mask, word) in mask.iter_mut().zip(&self.files[file as usize]) {
            for &segment in segments {
                *mask |= word.busy(segment);
            }
        }
        mask
    }

    /// Takes a register throughout some segments.
    pub fn take(&mut self, file: RegFile, register: u8, segments: &[Segment]) {
        let (words, index) = (&mut self.files[file as usize], register as usize / 64);
        while words.len() <= index {
            words.push(Word::new(self.points));
        }
        for &segment in segments {
            words[index].take(1 << (register % 64), segment);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_say_what_points_would() {
        let mut occupancy = Occupancy::new(200);
        let mut points = [[0u64; 4]; 200];
        let segments = [(3, 4), (0, 32), (31, 33), (32, 64), (5, 140), (64, 200), (190, 200), (100, 101)];
        for (register, &(start, end)) in [0u8, 1, 63, 64, 70, 128, 200, 254].iter().zip(&segments) {
            occupancy.take(RegFile::Gpr, *register, &[Segment { start, end }]);
            for point in &mut points[start as usize..end as usize] {
                point[*register as usize / 64] |= 1 << (register % 64);
            }
        }
        for start in 0..200 {
            for end in start + 1..=200 {
                let mut expected = [0; 4];
                for point in &points[start..end] {
                    expected.iter_mut().zip(point).for_each(|(all, taken)| *all |= taken);
                }
                let segment = Segment { start: start as u32, end: end as u32 };
                assert_eq!(occupancy.busy(RegFile::Gpr, &[segment]), expected, "{start}..{end}");
            }
        }
    }
}
