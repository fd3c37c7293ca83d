//! What is launched and how: the options of a run and the shape of its grid.

use ptxc_sass::verify::Order;

use crate::error::SimError;

/// CTAs in a cluster at most, of any GPU.
const MOST_CTAS: u32 = 16;

/// Warps that a multiprocessor has room for.
pub(crate) const WARP_SLOTS: u32 = 64;

/// Bytes of local memory a thread beyond what the program says, where functions call themselves.
pub(crate) const STACK: u32 = 1 << 13;

/// How a run chooses and when it gives up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The seed of all choices: interleaving of warps, content of registers that nobody has written.
    pub seed: u64,
    /// The number of warp instructions after which a run counts as endless.
    pub step_limit: u64,
    /// Whether it is a fault to read what nobody has written: bytes of shared and local memory, and registers in
    /// the lane that reads them (SASS only). Without it such places hold a pattern that depends on the seed.
    /// Global memory and constants count as written.
    pub check_uninitialised: bool,
    /// The module's constant variables as the linker lays them out in constant bank 3.
    pub constants: Vec<u8>,
    /// By how many units in the last place a result of `MUFU.RCP`, `RSQ`, `SQRT`, `RCP64H` or `RSQ64H` may be off,
    /// in a direction and by an amount chosen at random. The hardware's last bits are not known; code that wants
    /// exact results must not depend on them.
    pub mufu_error: u8,
    /// Whether control codes count (SASS only): an instruction that reads a register before they guarantee that it may
    /// gets a random value, and the [report](crate::Report::hazards) says so.
    pub hazards: bool,
    /// Which waits the code counts on (SASS only, with [`hazards`](Options::hazards)).
    pub order: Order,
    /// Whether a group of lanes that has written a uniform register keeps the warp to itself, across branches too, until it
    /// waits, yields or exits (SASS only). If a branch parts the lanes, one part goes on first, then the others. NVIDIA's
    /// compiler counts on it: both arms of a divergent branch use one uniform register. Ours does not, and without the
    /// option a program that did would show.
    pub holds_uniform: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            seed: 0,
            step_limit: 20_000_000,
            check_uninitialised: false,
            constants: Vec::new(),
            mufu_error: 0,
            hazards: false,
            order: Order::Own,
            holds_uniform: false,
        }
    }
}

/// The shape of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// CTAs in the grid.
    pub grid: [u32; 3],
    /// CTAs in a cluster, if the launch makes clusters.
    pub cluster: Option<[u32; 3]>,
    /// Threads in a CTA.
    pub block: [u32; 3],
    /// Bytes of shared memory a CTA.
    pub shared_bytes: u32,
    /// Bytes of local memory a thread.
    pub local_bytes: u32,
    /// Whether reading shared or local memory that nobody has written is a fault.
    pub check_uninitialised: bool,
}

/// Bytes of shared memory of a multiprocessor: a CTA of no GPU has more.
const MOST_SHARED: u32 = 228 << 10;

/// Bytes of local memory that a thread has at most.
const MOST_LOCAL: u32 = 512 << 10;

impl Shape {
    /// Bytes of shared and local memory of a CTA.
    pub fn memory(&self) -> u64 {
        u64::from(self.shared_bytes) + u64::from(self.local_bytes) * u64::from(self.threads())
    }

    /// Threads in a CTA.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// CTAs in a cluster.
    pub fn cluster_size(&self) -> u32 {
        self.cluster_shape().iter().product()
    }

    /// The cluster, in CTAs: without clusters, each CTA is one.
    pub fn cluster_shape(&self) -> [u32; 3] {
        self.cluster.unwrap_or([1; 3])
    }

    /// The grid, in clusters.
    pub fn clusters(&self) -> [u32; 3] {
        let shape = self.cluster_shape();
        std::array::from_fn(|n| self.grid[n] / shape[n])
    }

    /// The CTA that starts as the n-th one, and its rank in its cluster: clusters start one after another, whole.
    pub fn nth_cta(&self, n: u32) -> ([u32; 3], u32) {
        let (cluster, rank) = (n / self.cluster_size(), n % self.cluster_size());
        let shape = self.cluster_shape();
        let (outer, inner) = (unflatten(cluster, self.clusters()), unflatten(rank, shape));
        (std::array::from_fn(|n| outer[n] * shape[n] + inner[n]), rank)
    }

    /// Refuses clusters that do not fill the grid, those that are larger than any GPU's, and more memory than a CTA or thread
    /// of any GPU has.
    ///
    /// # Errors
    /// Says which.
    pub fn check(&self) -> Result<(), SimError> {
        let memory = [
            ("a CTA", "shared", self.shared_bytes, MOST_SHARED),
            ("a thread", "local", self.local_bytes, MOST_LOCAL),
        ];
        for (whose, space, bytes, most) in memory {
            if bytes > most {
                let what = format!("{bytes} bytes of {space} memory for {whose}: {most} are the most");
                return Err(SimError::Case(what));
            }
        }

        let shape = self.cluster_shape();
        if (0..3).any(|n| shape[n] == 0 || !self.grid[n].is_multiple_of(shape[n])) {
            let what = format!("a grid of {:?} CTAs is not made of clusters of {shape:?}", self.grid);
            return Err(SimError::Case(what));
        }
        match self.cluster_size() {
            1..=MOST_CTAS => Ok(()),
            size => Err(SimError::Case(format!("a cluster of {size} CTAs: {MOST_CTAS} are the most"))),
        }
    }

    /// The index of a thread of the CTA.
    pub fn tid(&self, thread: u32) -> [u32; 3] {
        unflatten(thread, self.block)
    }
}

/// The coordinates of the n-th element of a box, the first coordinate fastest.
pub(crate) fn unflatten(index: u32, [x, y, _]: [u32; 3]) -> [u32; 3] {
    [index % x, index / x % y, index / x / y]
}
