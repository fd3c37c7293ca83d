//! An mbarrier: a counter of arrivals and of bytes, with phases, in 8 bytes of shared memory.
//!
//! A phase is complete when nobody is awaited any more and as many bytes have come as were expected; then the next
//! one begins, with as many arrivals as were asked for when the barrier was made, less those that dropped out. How the
//! hardware lays it out is not documented, nor used by programs; here it is
//!
//! | bits | what |
//! |---|---|
//! | 0 to 19 | arrivals that this phase awaits |
//! | 20 to 39 | arrivals that the next phase awaits |
//! | 40 to 60 | bytes expected less bytes that came, signed |
//! | 61 | parity of the phase |
//! | 62, 63 | a mark: 2 |
//!
//! ```text
//! init(2)              phase 0, awaits 2
//! arrive, arrive       phase 1, awaits 2
//! ```

/// The most arrivals, and the most bytes under way, in either direction (PTX ISA, "Contents of the mbarrier object").
const MOST: u32 = (1 << 20) - 1;

/// The state of an mbarrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mbarrier {
    /// Arrivals that this phase awaits.
    pending: u32,
    /// Arrivals that the next phase awaits.
    expected: u32,
    /// Bytes expected less those that came.
    bytes: i32,
    /// Whether the number of the phase is odd.
    odd: bool,
}

/// What the programmer is told.
type Misuse = String;

impl Mbarrier {
    /// One that awaits so many arrivals a phase.
    pub fn new(count: u32) -> Result<Mbarrier, Misuse> {
        match count {
            1..=MOST => Ok(Mbarrier { pending: count, expected: count, bytes: 0, odd: false }),
            _ => Err(format!("an mbarrier for {count} arrivals: there must be 1 to {MOST}")),
        }
    }

    /// As it lies in memory.
    pub fn bits(self) -> u64 {
        u64::from(self.pending)
            | u64::from(self.expected) << 20
            | (self.bytes as u64 & 0x1f_ffff) << 40
            | u64::from(self.odd) << 61
            | 2 << 62
    }

    /// What lies in memory; an error if that is no mbarrier.
    pub fn of_bits(bits: u64) -> Result<Mbarrier, Misuse> {
        if bits >> 62 != 2 {
            return Err("there is no mbarrier that has been initialised".to_string());
        }
        Ok(Mbarrier {
            pending: bits as u32 & MOST,
            expected: (bits >> 20) as u32 & MOST,
            bytes: ((bits << 3) as i64 >> 43) as i32,
            odd: bits >> 61 & 1 == 1,
        })
    }

    /// Arrivals that the phase awaits.
    pub fn pending(self) -> u32 {
        self.pending
    }

    /// Whether the phase of an earlier state is complete.
    pub fn is_past(self, state: Mbarrier) -> bool {
        self.odd != state.odd
    }

    /// Whether the last phase with this parity is complete.
    pub fn is_past_parity(self, odd: bool) -> bool {
        self.odd != odd
    }

    /// So many more bytes are expected in this phase.
    pub fn expect(&mut self, bytes: u32) -> Result<(), Misuse> {
        self.count_bytes(i64::from(bytes))
    }

    /// So many bytes have come.
    pub fn complete(&mut self, bytes: u32) -> Result<(), Misuse> {
        self.count_bytes(-i64::from(bytes))?;
        self.settle();
        Ok(())
    }

    fn count_bytes(&mut self, more: i64) -> Result<(), Misuse> {
        let bytes = i64::from(self.bytes) + more;
        if bytes.unsigned_abs() > u64::from(MOST) {
            return Err(format!("{bytes} bytes are under way to an mbarrier, more than {MOST}"));
        }
        self.bytes = bytes as i32;
        Ok(())
    }

    /// One arrival more is awaited in this phase.
    pub fn await_one_more(&mut self) -> Result<(), Misuse> {
        if self.pending == MOST {
            return Err(format!("an mbarrier awaits more than {MOST} arrivals"));
        }
        self.pending += 1;
        Ok(())
    }

    /// So many arrivals; says whether they completed the phase.
    pub fn arrive(&mut self, count: u32) -> Result<bool, Misuse> {
        if count == 0 || count > self.pending {
            return Err(format!("{count} arrivals at an mbarrier that awaits {}", self.pending));
        }
        self.pending -= count;
        Ok(self.settle())
    }

    /// So many arrivals that later phases do not await; says whether they completed the phase.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_follow_each_other() {
        let mut barrier = Mbarrier::new(3).unwrap();
        let first = barrier;
        assert!(!barrier.is_past(first) && barrier.is_past_parity(true) && !barrier.is_past_parity(false));
        assert_eq!(barrier.arrive(2), Ok(false));
        assert_eq!((barrier.pending(), barrier.arrive(1)), (1, Ok(true)));
        assert!(barrier.is_past(first) && barrier.is_past_parity(false) && !barrier.is_past_parity(true));
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
        // The bytes come before they are expected.
        barrier.complete(8).unwrap();
        barrier.expect(8).unwrap();
        assert_eq!(barrier.arrive(1), Ok(true));
    }

    #[test]
    fn who_drops_out_is_not_awaited_again() {
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
        assert!(Mbarrier::of_bits(0).is_err());
    }

    #[test]
    fn memory_holds_every_state() {
        let mut barrier = Mbarrier::new(MOST).unwrap();
        for bytes in [MOST, 0, 5] {
            barrier.bytes = -(bytes as i32);
            assert_eq!(Mbarrier::of_bits(barrier.bits()), Ok(barrier));
            barrier.bytes = bytes as i32;
            barrier.odd = !barrier.odd;
            assert_eq!(Mbarrier::of_bits(barrier.bits()), Ok(barrier));
        }
    }
}
