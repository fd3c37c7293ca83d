//! The causes of stalls.

use std::ops::{AddAssign, Index, IndexMut};

use serde::ser::{Serialize, SerializeMap, Serializer};

macro_rules! causes {
    ($($(#[$meta:meta])* $name:ident = $text:literal,)*) => {
        /// The cause why a warp does not issue in a cycle. If several causes overlap, each counts
        /// for the cycles that remain after the causes before it have passed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Cause { $($(#[$meta])* $name,)* }

        impl Cause {
            /// Every cause.
            pub const ALL: &'static [Cause] = &[$(Cause::$name,)*];

            /// Its name in reports.
            pub const fn name(self) -> &'static str {
                match self { $(Cause::$name => $text,)* }
            }
        }
    };
}

causes! {
    /// The stall count of the previous instruction has not passed: fixed latencies, and the pace of
    /// branches.
    Dependence = "dependence",
    /// A scoreboard is taken: a result of variable latency is not available, or operands are not
    /// read.
    Scoreboard = "scoreboard",
    /// A fence waits for earlier accesses.
    Fence = "fence",
    /// Other warps have not arrived at the CTA barrier.
    Barrier = "barrier",
    /// Other threads have not arrived at the barrier of the cluster.
    Cluster = "cluster-barrier",
    /// An mbarrier lacks arrivals or bytes.
    Mbarrier = "mbarrier",
    /// Other lanes of the warp have not arrived.
    Convergence = "convergence",
    /// The warp sleeps.
    Sleep = "sleep",
    /// The instruction is not fetched.
    Fetch = "instruction-fetch",
    /// A constant operand is not cached.
    Constant = "constant-cache",
    /// The unit is busy.
    Pipe = "pipe-busy",
    /// The queue of the unit is full.
    Queue = "queue-full",
    /// Operands of earlier instructions wait for a register port.
    Port = "register-port",
    /// The warp was ready, but the sub-core issued for another warp.
    NotSelected = "not-selected",
}

impl Cause {
    /// The number of causes.
    pub const COUNT: usize = Cause::ALL.len();
}

/// Cycles by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stalls([u64; Cause::COUNT]);

impl Stalls {
    /// The total.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The causes that occurred, with their cycles.
    pub fn iter(&self) -> impl Iterator<Item = (Cause, u64)> + '_ {
        Cause::ALL.iter().map(|&cause| (cause, self[cause])).filter(|(_, cycles)| *cycles > 0)
    }
}

impl Index<Cause> for Stalls {
    type Output = u64;

    fn index(&self, cause: Cause) -> &u64 {
        &self.0[cause as usize]
    }
}

impl IndexMut<Cause> for Stalls {
    fn index_mut(&mut self, cause: Cause) -> &mut u64 {
        &mut self.0[cause as usize]
    }
}

impl AddAssign<&Stalls> for Stalls {
    fn add_assign(&mut self, other: &Stalls) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine += theirs;
        }
    }
}

/// A map from the names of the causes that occurred to their cycles.
impl Serialize for Stalls {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (cause, cycles) in self.iter() {
            map.serialize_entry(cause.name(), &cycles)?;
        }
        map.end()
    }
}
