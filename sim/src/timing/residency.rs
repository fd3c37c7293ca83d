//! How many CTAs an SM holds at once.

use ptxc_sass::Program;

use super::params::Params;
use super::report::Residency;
use crate::error::SimError;
use crate::launch::Shape;
use crate::warp::LANES;

/// The most CTAs of a launch that fit, and why no more.
///
/// # Errors
/// If not even one fits.
pub(super) fn residency(program: &Program, shape: &Shape, params: &Params) -> Result<Residency, SimError> {
    let warps = shape.threads().div_ceil(LANES as u32);
    let registers =
        (program.resources.registers.max(1) * LANES as u32).next_multiple_of(params.register_unit);
    let shared = (shape.shared_bytes + params.shared_reserved).next_multiple_of(params.shared_unit);
    let grid: u32 = shape.grid.iter().product();
    let limits = [
        (grid, "the grid"),
        (params.ctas, "CTA slots"),
        (params.warps / warps, "warp slots"),
        (params.registers / (registers * warps), "registers"),
        (params.shared_bytes.checked_div(shared).unwrap_or(u32::MAX), "shared memory"),
    ];
    let (ctas, limited_by) = limits.into_iter().min_by_key(|&(ctas, _)| ctas).unwrap_or((0, "nothing"));
    if ctas == 0 && grid > 0 {
        return Err(SimError::Case(format!("a CTA does not fit on an SM: {limited_by}")));
    }
    Ok(Residency { ctas, warps: ctas * warps, limited_by })
}

#[cfg(test)]
mod tests {
    use ptxc_sass::Arch;
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
                variables: Vec::new(),
                tables: Vec::new(),
                literals: Vec::new(),
                relocations: Vec::new(),
            };
            let shape = Shape {
                cluster: None,
                grid: [grid, 1, 1],
                block: [threads, 1, 1],
                shared_bytes,
                local_bytes: 0,
                check_uninitialised: false,
            };
            residency(&program, &shape, params(Arch::Sm90)).map(|found| (found.ctas, found.limited_by))
        };
        assert_eq!(of(32, 16, 0, 1000), Ok((32, "CTA slots")));
        assert_eq!(of(256, 16, 0, 1000), Ok((8, "warp slots")));
        assert_eq!(of(256, 64, 0, 1000), Ok((4, "registers")));
        assert_eq!(of(256, 16, 64 << 10, 1000), Ok((3, "shared memory")));
        assert_eq!(of(256, 16, 0, 2), Ok((2, "the grid")));
        assert!(of(1024, 255, 0, 1).is_err());
    }
}
