//! The lanes that wait for each other at `BSYNC`.
//!
//! Lanes that execute a `BSSY` together open a *region*, which has a number. Each lane has its own
//! view of each convergence barrier: the region that it is in. So the arms of a divergent branch, a
//! function and its caller, and an inner and an outer region may use the same barrier at the same
//! time. A lane at `BSYNC` waits for the live lanes that are still in its region. `BREAK`, `BSYNC`
//! and another `BSSY` of the barrier remove a lane from the region.
//!
//! `BMOV` moves a region to a register and back, also into another barrier; meanwhile the lane
//! stays in the region. The register gets the number of the region. The hardware stores a mask of
//! lanes there, which nothing reads. `BREAK` does not change such a mask, so it is an error while
//! other lanes have saved the region.
//!
//! A lane that sleeps or yields ends its regions: the lanes that wait at their `BSYNC` go on.

use super::{LANES, lanes_of};

/// The number of convergence barriers.
pub(super) const BARRIERS: u8 = 16;

/// A region as a lane sees it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Region {
    /// The number; 0 means no region.
    pub(super) number: u32,
    /// Where the lanes continue; after the `BSYNC` if it is not known.
    pub(super) goes_on_at: Option<u32>,
}

impl Region {
    pub(super) fn is_none(self) -> bool {
        self.number == 0
    }
}

/// A region that a lane has saved in a register.
#[derive(Clone, Copy, Debug)]
struct Saved {
    lane: u32,
    /// The barrier that held it.
    from: u8,
    number: u32,
}

/// The regions in which the lanes of a warp are.
#[derive(Clone, Debug)]
pub(crate) struct Regions {
    current: Box<[[Region; LANES]; BARRIERS as usize]>,
    /// The regions that lanes have saved, in the order in which they were saved.
    saved: Vec<Saved>,
    /// The regions that have ended while lanes had saved them.
    ended: Vec<u32>,
    /// The number of the last region.
    last: u32,
    /// Whether a lane has restored a region to a barrier other than the one that held it.
    has_moved: bool,
}

impl Default for Regions {
    fn default() -> Regions {
        let current = Box::new([[Region::default(); LANES]; BARRIERS as usize]);
        Regions { current, saved: Vec::new(), ended: Vec::new(), last: 0, has_moved: false }
    }
}

impl Regions {
    /// Makes the lanes of a group meet at `BSYNC` of the barrier and continue at `target`.
    pub fn open(&mut self, lanes: u32, barrier: u8, target: u32) {
        self.last = self.last.wrapping_add(1).max(1);
        let region = Region { number: self.last, goes_on_at: Some(target) };
        lanes_of(lanes).for_each(|lane| self.current[barrier as usize][lane as usize] = region);
    }

    /// Removes lanes from their current regions.
    pub(super) fn leave(&mut self, lanes: u32, barrier: u8) {
        lanes_of(lanes).for_each(|lane| self.current[barrier as usize][lane as usize] = Region::default());
    }

    /// Frees a barrier for these lanes, which stay in their regions. Returns the number of each
    /// lane's region.
    pub fn save(&mut self, lanes: u32, barrier: u8) -> [u32; LANES] {
        let mut numbers = [0; LANES];
        for lane in lanes_of(lanes) {
            let Region { number, .. } = std::mem::take(&mut self.current[barrier as usize][lane as usize]);
            self.saved.push(Saved { lane, from: barrier, number });
            numbers[lane as usize] = number;
        }
        numbers
    }

    /// Whether other lanes have saved the region that a barrier holds for one of these lanes.
    pub fn is_saved_by_others(&self, lanes: u32, barrier: u8) -> bool {
        lanes_of(lanes).any(|lane| {
            let number = self.of(barrier, lane).number;
            number != 0 && self.saved.iter().any(|saved| saved.number == number && saved.lane != lane)
        })
    }

    /// Ends all regions of these lanes, for every lane.
    pub(super) fn end_all(&mut self, lanes: u32) {
        let is_own = |lane: u32| lanes >> lane & 1 == 1;
        let held = self.current.iter().flat_map(|all| lanes_of(lanes).map(|lane| all[lane as usize].number));
        let saved = self.saved.iter().filter(|saved| is_own(saved.lane)).map(|saved| saved.number);
        let mut numbers: Vec<u32> = held.chain(saved).filter(|&number| number != 0).collect();
        numbers.sort_unstable();
        numbers.dedup();
        for region in self.current.iter_mut().flatten() {
            if numbers.binary_search(&region.number).is_ok() {
                *region = Region::default();
            }
        }
        numbers.retain(|number| self.saved.iter().any(|saved| saved.number == *number));
        self.ended.extend(numbers);
    }

    /// Restores the regions with these numbers to a barrier. The lanes continue after the `BSYNC`.
    ///
    /// # Errors
    /// A lane has not saved a region with its number.
    pub(super) fn restore(&mut self, lanes: u32, barrier: u8, numbers: &[u32; LANES]) -> Result<(), u32> {
        for lane in lanes_of(lanes) {
            let number = numbers[lane as usize];
            let is_wanted = |saved: &Saved| (saved.lane, saved.number) == (lane, number);
            let place = self.saved.iter().rposition(is_wanted).ok_or(lane)?;
            self.has_moved |= self.saved.remove(place).from != barrier;
            let number = if self.ended.contains(&number) { 0 } else { number };
            self.current[barrier as usize][lane as usize] = Region { number, goes_on_at: None };
        }
        Ok(())
    }

    /// The region that a barrier holds for a lane.
    pub(super) fn of(&self, barrier: u8, lane: u32) -> Region {
        self.current[barrier as usize][lane as usize]
    }

    /// The lanes in `among` that are in the same region as `lane`. This barrier or another one may
    /// hold the region for them, or they have saved it. The set is empty if the lane is not in a
    /// region.
    pub(super) fn members(&self, barrier: u8, lane: u32, among: u32) -> u32 {
        let region = self.of(barrier, lane);
        if region.is_none() {
            return 0;
        }
        let number = region.number;
        let is_in = |&other: &u32| {
            let holds = |lanes: &[Region; LANES]| lanes[other as usize].number == number;
            holds(&self.current[barrier as usize])
                || self.saved.iter().any(|saved| (saved.lane, saved.number) == (other, number))
                || self.has_moved && self.current.iter().any(holds)
        };
        lanes_of(among).filter(is_in).fold(0, |all, other| all | 1 << other)
    }
}
