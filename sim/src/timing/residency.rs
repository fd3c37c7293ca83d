//! The number of CTAs that an SM holds at the same time.

use ptxc_sass::Program;

use super::params::Params;
use super::report::Residency;
use crate::error::SimError;
use crate::launch::Shape;
use crate::warp::LANES;

/// The number of CTAs that an SM holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    /// For the launch.
    pub residency: Residency,
    /// For a launch with any number of CTAs.
    pub occupancy: Residency,
}

/// The number of CTAs of a launch that fit, and the resource that limits it.
///
/// # Errors
/// Not even one CTA fits.
pub(super) fn room(program: &Program, shape: &Shape, params: &Params) -> Result<Room, SimError> {
    let warps = shape.threads().div_ceil(LANES as u32);
    let registers = (program.resources.launch_registers(program.arch) * LANES as u32)
        .next_multiple_of(params.register_unit);
    let shared = (shape.shared_bytes + params.shared_reserved).next_multiple_of(params.shared_unit);
    // Each CTA of a cluster is on an SM of its own.
    let grid: u32 = shape.grid.iter().product::<u32>() / shape.cluster_size();
    let limits = [
        (params.ctas, "CTA slots"),
        (params.warps / warps, "warp slots"),
        (params.registers / (registers * warps), "registers"),
        (params.shared_bytes.checked_div(shared).unwrap_or(u32::MAX), "shared memory"),
    ];
    let (ctas, limited_by) = limits.into_iter().min_by_key(|&(ctas, _)| ctas).unwrap_or((0, "nothing"));
    if ctas == 0 {
        return Err(SimError::Case(format!("a CTA does not fit on an SM: {limited_by}")));
    }
    let occupancy = Residency { ctas, warps: ctas * warps, limited_by };
    let residency = match grid <= ctas {
        true => Residency { ctas: grid, warps: grid * warps, limited_by: "the grid" },
        false => occupancy,
    };
    Ok(Room { residency, occupancy })
}

#[cfg(test)]
mod tests {
    use ptxc_machine::Arch;
    use ptxc_sass::program::Resources;

    use super::super::params::params;
    use super::*;

    #[test]
    fn the_scarcest_resource_decides() {
        let of = |threads, registers, shared_bytes, grid| {
            let program = Program {
                name: String::new(),
                arch: Arch::Sm90,
                accelerated: false,
                trap_handler: false,
                device_function: false,
                insts: Vec::new(),
                labels: Vec::new(),
                functions: Vec::new(),
                frequency: Vec::new(),
                resources: Resources { registers, ..Resources::default() },
                params: Vec::new(),
                image_words: Vec::new(),
                variables: Vec::new(),
                tables: Vec::new(),
                literals: Vec::new(),
                relocations: Vec::new(),
                kept_relocations: Vec::new(),
                unknown: Vec::new(),
                lines: Vec::new(),
                files: Vec::new(),
                kept: Default::default(),
            };
            let shape = Shape {
                cluster: None,
                grid: [grid, 1, 1],
                block: [threads, 1, 1],
                cooperative: false,
                shared_bytes,
                dynamic_shared: 0,
                local_bytes: 0,
                checks: Default::default(),
            };
            room(&program, &shape, params(Arch::Sm90)).map(|Room { residency, occupancy }| {
                assert!(residency == occupancy || residency.limited_by == "the grid", "{residency:?}");
                (residency.ctas, residency.limited_by, occupancy.warps)
            })
        };
        assert_eq!(of(32, 16, 0, 1000), Ok((32, "CTA slots", 32)));
        assert_eq!(of(256, 16, 0, 1000), Ok((8, "warp slots", 64)));
        assert_eq!(of(256, 62, 0, 1000), Ok((4, "registers", 32)));
        assert_eq!(of(256, 63, 0, 1000), Ok((3, "registers", 24)), "a launch sets two more aside");
        assert_eq!(of(256, 16, 64 << 10, 1000), Ok((3, "shared memory", 24)));
        assert_eq!(of(256, 16, 0, 2), Ok((2, "the grid", 64)));
        assert!(of(1024, 255, 0, 1).is_err());
    }
}
