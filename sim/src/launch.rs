//! The options of a run, and the shape of its grid.

use ptxc_sass::verify::Order;

use crate::checks::BYTES_PER_BYTE;
use crate::error::SimError;

/// The most CTAs that a cluster may have on any GPU.
const MOST_CTAS: u32 = 16;

/// The number of warps that a multiprocessor has room for.
pub(crate) const WARP_SLOTS: u32 = 64;

/// Bytes of local memory per thread beyond the program's own size, if functions are recursive.
pub(crate) const STACK: u32 = 1 << 13;

/// The choices and limits of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The seed of all choices: interleaving of warps, content of unwritten registers.
    pub seed: u64,
    /// The number of warp instructions after which a run counts as endless.
    pub step_limit: u64,
    /// Whether uses of unwritten bytes of shared and local memory are [findings](crate::Finding). The
    /// run goes on after them.
    pub check_unwritten: bool,
    /// Whether races in shared memory are [findings](crate::Finding).
    pub check_races: bool,
    /// The indices of the instructions whose accesses to shared memory are strong in the source, such
    /// as volatile ones (SASS only). Machine code does not show it. Without the source, race
    /// detection guesses: the first store after a fence counts as a release, and a load beside atomic
    /// updates as strong.
    pub strong: Option<Vec<u32>>,
    /// Whether it is a fault to use unwritten bytes of shared and local memory, and to read registers that
    /// are unwritten in the reading lane (SASS only); `MOV` and `SEL` do not read them but copy them, and
    /// what is computed from such a copy is unwritten too. Without it they hold a pattern that depends on the
    /// seed. Global memory and constants count as written.
    pub check_uninitialised: bool,
    /// The module's constant variables as the linker lays them out in constant bank 3.
    pub constants: Vec<u8>,
    /// The largest error of a result of `MUFU.RCP`, `RSQ`, `SQRT`, `RCP64H` or `RSQ64H`, in units
    /// in the last place. The direction and the amount are random. The last bits of the hardware
    /// are not known, so code for exact results must not depend on them.
    pub mufu_error: u8,
    /// Whether control codes count (SASS only): an instruction that reads a register before they
    /// guarantee its value gets a random value, and the [report](crate::Report::hazards) lists it.
    pub hazards: bool,
    /// The waits that the code relies on (SASS only, with [`hazards`](Options::hazards)).
    pub order: Order,
    /// Whether a group of lanes that has written a uniform register keeps the warp to itself, even
    /// across branches, until it waits, yields or exits (SASS only). If a branch splits the lanes,
    /// one part continues first, then the others. NVIDIA's compiler relies on this: both arms of a
    /// divergent branch use one uniform register. ptxc does not rely on it, and without the option
    /// the simulator reveals a program that does.
    pub holds_uniform: bool,
    /// Whether a region whose convergence barrier has been in a register no longer brings lanes
    /// together (SASS only). On an H100 it sometimes does not. ptxc does not rely on it, and with
    /// the option the simulator reveals a program that does; NVIDIA's compiler relies on it.
    pub loses_saved: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            seed: 0,
            step_limit: 20_000_000,
            check_unwritten: false,
            check_races: false,
            strong: None,
            check_uninitialised: false,
            constants: Vec::new(),
            mufu_error: 0,
            hazards: false,
            order: Order::Own,
            holds_uniform: false,
            loses_saved: false,
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
    /// Whether all CTAs must be resident at once.
    pub cooperative: bool,
    /// Bytes of shared memory per CTA.
    pub shared_bytes: u32,
    /// The bytes of it that the launch asks for in addition to the variables.
    pub dynamic_shared: u32,
    /// Bytes of local memory per thread.
    pub local_bytes: u32,
    /// The checks of memory accesses.
    pub checks: Checks,
}

/// The checks of memory accesses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Checks {
    /// Whether reading unwritten shared or local memory is a fault.
    pub unwritten_is_fault: bool,
    /// Whether it is a finding.
    pub unwritten: bool,
    /// Whether races are findings.
    pub races: bool,
    /// Whether releases are guessed.
    pub guesses_releases: bool,
}

impl Checks {
    /// The checks that the options ask for.
    pub fn of(options: &Options) -> Checks {
        Checks {
            unwritten_is_fault: options.check_uninitialised,
            unwritten: options.check_unwritten,
            races: options.check_races,
            guesses_releases: false,
        }
    }
}

/// The most bytes of shared memory that a CTA may have on any GPU: those of a multiprocessor.
const MOST_SHARED: u32 = 228 << 10;

/// The most bytes of local memory that a thread may have.
pub(crate) const MOST_LOCAL: u32 = 512 << 10;

/// The unit in which CTAs get shared memory, in bytes; ISA, `%total_smem_size`, from sm_80 on.
const SHARED_UNIT: u32 = 128;

impl Shape {
    /// The shared memory that a CTA gets, in bytes, without the system's.
    pub fn total_shared(&self) -> u32 {
        self.shared_bytes.next_multiple_of(SHARED_UNIT)
    }

    /// Bytes of shared and local memory of a CTA, with the records of race detection.
    pub fn memory(&self) -> u64 {
        let records = if self.checks.races { BYTES_PER_BYTE } else { 0 };
        u64::from(self.shared_bytes) * (1 + records) + u64::from(self.local_bytes) * u64::from(self.threads())
    }

    /// Threads in a CTA.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// CTAs in a cluster.
    pub fn cluster_size(&self) -> u32 {
        self.cluster_shape().iter().product()
    }

    /// The shape of the cluster in CTAs: without clusters, each CTA is one.
    pub fn cluster_shape(&self) -> [u32; 3] {
        self.cluster.unwrap_or([1; 3])
    }

    /// The grid, in clusters.
    pub fn clusters(&self) -> [u32; 3] {
        let shape = self.cluster_shape();
        std::array::from_fn(|n| self.grid[n] / shape[n])
    }

    /// The CTA that starts as number `n`, and its rank in its cluster: clusters start one after
    /// another, as a whole.
    pub fn nth_cta(&self, n: u32) -> ([u32; 3], u32) {
        let (cluster, rank) = (n / self.cluster_size(), n % self.cluster_size());
        let shape = self.cluster_shape();
        let (outer, inner) = (unflatten(cluster, self.clusters()), unflatten(rank, shape));
        (std::array::from_fn(|n| outer[n] * shape[n] + inner[n]), rank)
    }

    /// Refuses a cooperative grid with more CTAs than there is room for; others would wait for its end.
    ///
    /// # Errors
    /// The number of CTAs that have room.
    pub fn check_residency(&self, room: u32, place: &str) -> Result<(), SimError> {
        let ctas: u32 = self.grid.iter().product();
        if !self.cooperative || ctas <= room {
            return Ok(());
        }
        let what = format!("a cooperative grid of {ctas} CTAs: {place} has room for {room}");
        Err(SimError::Case(what))
    }

    /// Refuses clusters that do not fill the grid or are larger than on any GPU, and more memory
    /// than a CTA or thread has on any GPU.
    ///
    /// # Errors
    /// The limit that is exceeded.
    pub fn check(&self) -> Result<(), SimError> {
        let memory = [
            ("a CTA", "shared", self.shared_bytes, MOST_SHARED),
            ("a thread", "local", self.local_bytes, MOST_LOCAL),
        ];
        for (whose, space, bytes, most) in memory {
            if bytes > most {
                let what = format!("{bytes} bytes of {space} memory for {whose}: the maximum is {most}");
                return Err(SimError::Case(what));
            }
        }

        let shape = self.cluster_shape();
        if (0..3).any(|n| shape[n] == 0 || !self.grid[n].is_multiple_of(shape[n])) {
            let what = format!("a grid of {:?} CTAs cannot be divided into clusters of {shape:?}", self.grid);
            return Err(SimError::Case(what));
        }
        match self.cluster_size() {
            1..=MOST_CTAS => Ok(()),
            size => Err(SimError::Case(format!("a cluster of {size} CTAs: the maximum is {MOST_CTAS}"))),
        }
    }

    /// The index of a thread in the CTA.
    pub fn tid(&self, thread: u32) -> [u32; 3] {
        unflatten(thread, self.block)
    }
}

/// The coordinates of element `index` of a box, where the first coordinate varies fastest.
pub(crate) fn unflatten(index: u32, [x, y, _]: [u32; 3]) -> [u32; 3] {
    [index % x, index / x % y, index / x / y]
}
