//! An mbarrier: a counter of arrivals and of bytes, with phases, in 8 bytes of shared memory.
//!
//! A phase is complete when it awaits no more arrivals and as many bytes have arrived as were
//! expected. Then the next phase begins. It awaits the number of arrivals given at initialization,
//! minus those that dropped out. PTX does not define the layout in memory. Machine code makes
//! mbarriers and extracts states itself, so the SASS engine uses the layout of the architecture.
//! The layout of the SSA engine has a mark by which the engine recognizes an mbarrier.
//!
//! | | SSA | two words | the `SYNCS` unit |
//! |---|---|---|---|
//! | arrivals that this phase awaits | 0 to 19 | 32 to 62, negated | 43 to 62, negated |
//! | arrivals that the next phase awaits | 20 to 39 | 0 to 30, less than 2^30 | 1 to 20, negated |
//! | bytes expected minus bytes that arrived, signed | 40 to 60 | | 21 to 42 |
//! | parity of the phase | 61 | 63 | 63 |
//! | a mark, 2 | 62, 63 | | |
//!
//! ```text
//! init(2)              phase 0, awaits 2
//! arrive, arrive       phase 1, awaits 2
//! ```

use std::fmt;

use ptxc_machine::MbarrierLayout;

/// The most arrivals, and the most outstanding bytes, in either direction (PTX ISA, "Contents of
/// the mbarrier object").
const MOST: u32 = (1 << 20) - 1;

/// The state of an mbarrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mbarrier {
    /// Arrivals that this phase awaits.
    pending: u32,
    /// Arrivals that the next phase awaits.
    expected: u32,
    /// Bytes expected minus bytes that arrived.
    bytes: i32,
    /// Whether the number of the phase is odd.
    odd: bool,
}

/// What the phase awaits.
impl fmt::Display for Mbarrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mbarrier { pending, expected, bytes, odd } = *self;
        let phase = if odd { "odd" } else { "even" };
        write!(f, "{pending} of {expected} arrivals and {bytes} bytes in a phase of {phase} parity")
    }
}

/// The upper bits of a marked mbarrier.
const MARK: u64 = 2;

/// A message to the programmer.
type Misuse = String;

impl Mbarrier {
    /// An mbarrier that awaits `count` arrivals per phase.
    pub fn new(count: u32) -> Result<Mbarrier, Misuse> {
        match count {
            1..=MOST => Ok(Mbarrier { pending: count, expected: count, bytes: 0, odd: false }),
            _ => Err(format!("an mbarrier for {count} arrivals: there must be 1 to {MOST}")),
        }
    }

    /// The arrivals that the phase still awaits.
    pub fn pending(self) -> u32 {
        self.pending
    }

    /// Whether the number of the phase is odd: when this changes, the phase of this state is
    /// complete.
    pub fn is_odd(self) -> bool {
        self.odd
    }

    /// Whether the last phase with this parity is complete.
    pub fn is_past_parity(self, odd: bool) -> bool {
        self.odd != odd
    }

    /// Adds to the bytes that are expected in this phase.
    pub fn expect(&mut self, bytes: u32) -> Result<(), Misuse> {
        self.count_bytes(i64::from(bytes))
    }

    /// Subtracts bytes that arrived.
    pub fn complete(&mut self, bytes: u32) -> Result<(), Misuse> {
        self.count_bytes(-i64::from(bytes))?;
        self.settle();
        Ok(())
    }

    fn count_bytes(&mut self, more: i64) -> Result<(), Misuse> {
        let bytes = i64::from(self.bytes) + more;
        if bytes.unsigned_abs() > u64::from(MOST) {
            return Err(format!("{bytes} bytes are outstanding at an mbarrier, more than {MOST}"));
        }
        self.bytes = bytes as i32;
        Ok(())
    }

    /// Adds an arrival that this phase awaits.
    pub fn await_one_more(&mut self) -> Result<(), Misuse> {
        if self.pending == MOST {
            return Err(format!("an mbarrier awaits more than {MOST} arrivals"));
        }
        self.pending += 1;
        Ok(())
    }

    /// Counts arrivals, and returns whether they completed the phase.
    pub fn arrive(&mut self, count: u32) -> Result<bool, Misuse> {
        if count == 0 || count > self.pending {
            return Err(format!("{count} arrivals at an mbarrier that awaits {}", self.pending));
        }
        self.pending -= count;
        Ok(self.settle())
    }

    /// Counts arrivals that later phases do not await, and returns whether they completed the
    /// phase.
    pub fn drop_out(&mut self, count: u32) -> Result<bool, Misuse> {
        if count > self.expected {
            return Err(format!("{count} drop out of an mbarrier that expects {}", self.expected));
        }
        self.expected -= count;
        self.arrive(count)
    }

    /// Begins the next phase if this one is complete.
    fn settle(&mut self) -> bool {
        let complete = self.pending == 0 && self.bytes == 0;
        if complete {
            self.pending = self.expected;
            self.odd = !self.odd;
        }
        complete
    }
}

/// The layout of an mbarrier in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Layout {
    /// The layout of the SSA engine, with a mark in the part that programs must not read.
    #[default]
    Marked,
    /// The layout of architectures on which shared atomics implement it (found from the output of
    /// ptxas).
    Words,
    /// The layout of the `SYNCS` unit (found from the output of ptxas, except for the position of
    /// the bytes, on which no code depends).
    Unit,
}

impl Layout {
    /// The layout of an architecture.
    pub fn of_machine(layout: MbarrierLayout) -> Layout {
        match layout {
            MbarrierLayout::Words => Layout::Words,
            MbarrierLayout::Unit => Layout::Unit,
        }
    }

    /// The bits in memory.
    pub fn bits(self, barrier: Mbarrier) -> u64 {
        let Mbarrier { pending, expected, bytes, odd } = barrier;
        let (pending, expected, odd) = (u64::from(pending), u64::from(expected), u64::from(odd));
        match self {
            Layout::Marked => {
                pending | expected << 20 | (bytes as u64 & 0x1f_ffff) << 40 | odd << 61 | MARK << 62
            }
            Layout::Words => {
                // With 0 expected arrivals the first field is one bit longer; with 0 pending
                // arrivals there is no such bit.
                ((1 << 30) - expected) | (((1 << 31) - pending) << 32) | (odd << 63)
            }
            Layout::Unit => {
                let negated = |count: u64| count.wrapping_neg() & u64::from(MOST);
                negated(expected) << 1 | (bytes as u64 & 0x3f_ffff) << 21 | negated(pending) << 43 | odd << 63
            }
        }
    }

    /// The mbarrier with these bits, or an error if they are not an mbarrier.
    pub fn read(self, bits: u64) -> Result<Mbarrier, Misuse> {
        let field = |lo: u32, len: u32| bits >> lo & ((1 << len) - 1);
        let negated = |lo: u32, len: u32| (field(lo, len).wrapping_neg() & ((1 << len) - 1)) as u32;
        let barrier = match self {
            Layout::Marked => Mbarrier {
                pending: field(0, 20) as u32,
                expected: field(20, 20) as u32,
                bytes: ((bits << 3) as i64 >> 43) as i32,
                odd: field(61, 1) == 1,
            },
            Layout::Words => Mbarrier {
                pending: negated(32, 31),
                expected: (1u32 << 30).saturating_sub(field(0, 31) as u32),
                bytes: 0,
                odd: field(63, 1) == 1,
            },
            Layout::Unit => Mbarrier {
                pending: negated(43, 20),
                expected: negated(1, 20),
                bytes: ((bits << 21) as i64 >> 42) as i32,
                odd: field(63, 1) == 1,
            },
        };
        let made = match self {
            Layout::Marked => field(62, 2) == MARK,
            Layout::Words => field(31, 1) == 0 && field(0, 31) <= 1 << 30,
            Layout::Unit => field(0, 1) == 0,
        };
        // Threads that have dropped out are not expected any more, so the number of arrivals may be
        // 0.
        let likely = barrier.pending <= MOST && barrier.expected <= MOST && bits != 0;
        match made && likely {
            true => Ok(barrier),
            false => Err("there is no initialized mbarrier".to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUTS: [Layout; 3] = [Layout::Marked, Layout::Words, Layout::Unit];

    #[test]
    fn phases_follow_each_other() {
        let mut barrier = Mbarrier::new(3).unwrap();
        let first = barrier;
        assert!(
            !barrier.is_past_parity(first.is_odd())
                && barrier.is_past_parity(true)
                && !barrier.is_past_parity(false)
        );
        assert_eq!(barrier.arrive(2), Ok(false));
        assert_eq!((barrier.pending(), barrier.arrive(1)), (1, Ok(true)));
        assert!(
            barrier.is_past_parity(first.is_odd())
                && barrier.is_past_parity(false)
                && !barrier.is_past_parity(true)
        );
        assert_eq!(barrier.pending(), 3);
        assert_eq!(barrier.arrive(3), Ok(true));
        assert!(!barrier.is_past_parity(false));
    }

    #[test]
    fn bytes_hold_a_phase_open_in_either_order() {
        let mut barrier = Mbarrier::new(1).unwrap();
        barrier.expect(64).unwrap();
        assert_eq!(barrier.arrive(1), Ok(false));
        barrier.complete(16).unwrap();
        assert!(!barrier.is_past_parity(false));
        barrier.complete(48).unwrap();
        assert!(barrier.is_past_parity(false));
        // The bytes arrive before they are expected.
        barrier.complete(8).unwrap();
        barrier.expect(8).unwrap();
        assert_eq!(barrier.arrive(1), Ok(true));
    }

    #[test]
    fn a_thread_that_drops_out_is_not_awaited_again() {
        let mut barrier = Mbarrier::new(2).unwrap();
        assert_eq!(barrier.drop_out(1), Ok(false));
        assert_eq!(barrier.arrive(1), Ok(true));
        assert_eq!(barrier.pending(), 1);
        barrier.await_one_more().unwrap();
        assert_eq!(barrier.arrive(2), Ok(true));
        assert_eq!(barrier.pending(), 1);
    }

    #[test]
    fn misuse_is_an_error() {
        assert!(Mbarrier::new(0).is_err() && Mbarrier::new(1 << 20).is_err());
        let mut barrier = Mbarrier::new(1).unwrap();
        assert!(barrier.arrive(2).is_err() && barrier.arrive(0).is_err());
        assert!(barrier.expect(1 << 20).is_err());
        assert!(barrier.drop_out(2).is_err());
        for layout in LAYOUTS {
            assert!(layout.read(0).is_err());
        }
    }

    #[test]
    fn memory_holds_every_state() {
        for layout in LAYOUTS {
            let most = if layout == Layout::Words { 0 } else { MOST };
            for (count, bytes) in [(MOST, most), (1, 0), (7, most.min(5))] {
                let mut barrier = Mbarrier::new(count).unwrap();
                barrier.bytes = -(bytes as i32);
                assert_eq!(layout.read(layout.bits(barrier)), Ok(barrier));
                barrier.bytes = bytes as i32;
                barrier.odd = !barrier.odd;
                assert_eq!(layout.read(layout.bits(barrier)), Ok(barrier));
            }
        }
    }

    /// The bits that ptxas writes to memory for `mbarrier.init` with 5 arrivals.
    #[test]
    fn words_are_those_of_the_machine() {
        let barrier = Mbarrier::new(5).unwrap();
        assert_eq!(Layout::Words.bits(barrier), 0x7fff_fffb_3fff_fffb);
        let x: u64 = 0x10_0000 - 5;
        assert_eq!(Layout::Unit.bits(barrier), x << 1 | x << 11 << 32);
    }
}
