//! The stages Control and Allocate, the register ports, and the reuse cache.

use super::{BANKS, Read};

/// Cycles within which an instruction reads its operands.
const WINDOW: u32 = 3;
/// Operand slots of the reuse cache.
const SLOTS: usize = 3;

/// The state after issue: the instruction in stage Allocate, and the cycles of the ports that are
/// taken.
///
/// Instruction `k` issues at `t`, is in Control at `t + 1`, and in Allocate from
/// `max(t + 2, a + 1)` on, where `a` is the cycle in which the previous instruction reserved its
/// reads. So the next one may issue, and be in Control a cycle later, one cycle before `k` enters
/// Allocate.
#[derive(Clone, Debug, Default)]
pub(super) struct Ports {
    /// When the last instruction reserved its reads.
    allocated: u64,
    /// The earliest issue of the next instruction.
    next_issue: u64,
    /// For each bank, the taken cycles after `allocated`, the next one lowest.
    taken: [u32; BANKS],
    /// The warp and register that each slot of each bank keeps.
    kept: [[Option<(u32, u8)>; SLOTS]; BANKS],
}

impl Ports {
    /// The earliest cycle in which stage Control will be free for another instruction.
    pub fn next_issue(&self) -> u64 {
        self.next_issue
    }

    /// Sends an instruction that issues at `at` through the stages.
    pub fn allocate(&mut self, warp: u32, reads: &[Read], at: u64) {
        let mut counts = [0u32; BANKS];
        for read in reads {
            let bank = usize::from(read.register) % BANKS;
            if !self.is_kept(warp, read, bank) {
                counts[bank] += 1;
            }
        }
        let enters = (at + 2).max(self.allocated + 1);
        self.next_issue = enters - 1;
        self.advance(enters);
        // Wide operands of matrix instructions need more than the window has.
        let window = counts.iter().fold(WINDOW, |window, &count| window.max(count));
        let fits = |taken: u32, count: u32| {
            let cycles = u32::MAX >> (u32::BITS - window);
            (!taken & cycles).count_ones() >= count
        };
        while !self.taken.iter().zip(counts).all(|(&taken, count)| fits(taken, count)) {
            self.advance(self.allocated + 1);
        }
        for (taken, count) in self.taken.iter_mut().zip(counts) {
            for _ in 0..count {
                *taken |= !*taken & taken.wrapping_add(1);
            }
        }
    }

    /// Whether the register is in the cache; a read of its bank and slot ends what was kept there.
    pub(super) fn is_kept(&mut self, warp: u32, read: &Read, bank: usize) -> bool {
        let Some(entry) = read.slot.and_then(|slot| self.kept[bank].get_mut(usize::from(slot))) else {
            return false;
        };
        let hit = *entry == Some((warp, read.register));
        *entry = read.keep.then_some((warp, read.register));
        hit
    }

    fn advance(&mut self, to: u64) {
        let cycles = u32::try_from(to - self.allocated).unwrap_or(u32::MAX);
        for taken in &mut self.taken {
            *taken = taken.checked_shr(cycles).unwrap_or(0);
        }
        self.allocated = to;
    }
}
