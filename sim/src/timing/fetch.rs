//! Instruction fetch: a cache in each sub-core, one shared cache, and lines fetched ahead.
//!
//! Straight-line code is present in time: lines are fetched ahead of it, and the launch brings the
//! first lines of a kernel. A jump finds its line in the sub-core's cache or among the lines
//! fetched ahead, or waits for the cache of the SM or the second-level cache. Source of the
//! structure: Huerta et al. 2025, section 5.2.

use super::cache::{Cache, Found};
use super::params::{Draw, Params};

/// The instruction caches of an SM.
#[derive(Debug)]
pub(super) struct Fetch {
    params: &'static Params,
    cores: Vec<Core>,
    shared: Cache,
}

#[derive(Debug)]
struct Core {
    cache: Cache,
    /// The line that was last fetched on demand.
    last: u64,
}

impl Fetch {
    /// Empty caches, except for the first lines.
    pub fn new(params: &'static Params) -> Fetch {
        let cache = |bytes| Cache::new(bytes, params.fetch_line, 1, params.fetch_ways);
        let cores = (0..params.sub_cores).map(|_| Core { cache: cache(params.fetch_l0_bytes), last: 0 });
        Fetch { params, cores: cores.collect(), shared: cache(params.fetch_l1_bytes) }
    }

    /// Instructions per line.
    pub fn line_insts(&self) -> u32 {
        self.params.fetch_line / ptxc_sass::Program::INST_BYTES
    }

    /// The time when a line is present for a warp that needs it at `at` and comes from line `from`,
    /// if from any.
    pub fn fetch(&mut self, core: usize, from: Option<u64>, line: u64, at: u64, draw: &mut Draw) -> u64 {
        let core = &mut self.cores[core];
        let ahead = core.last..=core.last + u64::from(self.params.fetch_stream);
        let goes_on = from.is_none_or(|from| line == from + 1);
        let found = core.cache.look_up(line, 0);
        let ready = match found {
            Found::At(cycle) => cycle.max(at),
            Found::Missing if goes_on || ahead.contains(&line) => {
                self.shared.fill(line, 0, at);
                at
            }
            Found::Missing => match self.shared.look_up(line, 0) {
                Found::At(cycle) => cycle.max(at) + draw.pick(self.params.fetch_l1),
                Found::Missing => {
                    let ready = at + draw.pick(self.params.fetch_l2);
                    self.shared.fill(line, 0, ready);
                    ready
                }
            },
        };
        core.last = line;
        if found == Found::Missing {
            core.cache.fill(line, 0, ready);
        }
        ready
    }
}

#[cfg(test)]
mod tests {
    use ptxc_machine::Arch;

    use super::super::params::{Latencies, params};
    use super::*;

    #[test]
    fn far_jumps_wait_once_for_each_cache() {
        let params = params(Arch::Sm90);
        let (mut fetch, mut draw) = (Fetch::new(params), Draw::new(Latencies::Typical));
        let mut wait = |core, from, line| fetch.fetch(core, from, line, 100, &mut draw) - 100;
        for line in 0..1000u64 {
            assert_eq!(wait(0, line.checked_sub(1), line), 0, "straight on");
        }
        assert_eq!(wait(0, Some(999), 990), 0, "back in a loop");
        assert_eq!(wait(0, Some(990), 5000), u64::from(params.fetch_l2.typical));
        assert_eq!(wait(1, Some(0), 4), 0, "fetched ahead");
        assert_eq!(wait(2, Some(0), 800), u64::from(params.fetch_l1.typical), "another sub-core had it");
    }
}
