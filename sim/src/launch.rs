//! What is launched and how: the options of a run and the shape of its grid.

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
        }
    }
}

/// The shape of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// CTAs in the grid.
    pub grid: [u32; 3],
    /// Threads in a CTA.
    pub block: [u32; 3],
    /// Bytes of shared memory a CTA.
    pub shared_bytes: u32,
    /// Bytes of local memory a thread.
    pub local_bytes: u32,
    /// Whether reading shared or local memory that nobody has written is a fault.
    pub check_uninitialised: bool,
}

impl Shape {
    /// Threads in a CTA.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
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
