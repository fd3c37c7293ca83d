//! The windows of generic addresses, and the space that each of them is for.
//!
//! The machine places its windows where no allocation of global memory is. The places here are our
//! own choice; a program reads them from special registers and constant banks.

use super::{MODULE_BANK, Space};

/// Generic address of the first byte of the shared window.
pub const SHARED_WINDOW: u64 = 0x7f00_0000_0000;
/// Generic address of the first byte of the local window.
pub const LOCAL_WINDOW: u64 = 0x7e00_0000_0000;
/// Generic address of the first byte of the module's constant variables.
pub const CONSTANT_WINDOW: u64 = 0x7d00_0000_0000;
/// Generic address of the first kernel parameter. Parameters are aligned in their bank, where they begin
/// at 0x210 on sm_90, the first architecture on which instructions ask for an alignment of more than
/// 16 bytes.
pub const PARAMETER_WINDOW: u64 = 0x7c00_0000_0210;
/// The most bytes that the parameters of a kernel may have; ISA, "Kernel Function Parameters".
pub(crate) const MOST_PARAMETER_BYTES: u64 = 32_764;
/// Generic address at which the parameters end.
pub const PARAMETER_END: u64 = PARAMETER_WINDOW + MOST_PARAMETER_BYTES;
/// Size in bytes of the windows of local and constant memory, and of the part of each CTA of a
/// cluster in the shared window.
pub const WINDOW_BYTES: u64 = 1 << 24;
/// Size of the shared window in bytes: the parts of the largest possible cluster.
pub const SHARED_WINDOW_BYTES: u64 = 16 * WINDOW_BYTES;
/// The lowest bit of the rank of the CTA in a shared address.
pub(crate) const RANK_SHIFT: u32 = WINDOW_BYTES.trailing_zeros();

/// The space that a generic address lies in, and the address there; other spaces are unchanged.
pub(crate) fn resolve(space: Space, address: u64) -> (Space, u64) {
    match space {
        Space::Generic if address.wrapping_sub(SHARED_WINDOW) < SHARED_WINDOW_BYTES => {
            (Space::Shared, address - SHARED_WINDOW)
        }
        Space::Generic if in_window(address, LOCAL_WINDOW) => (Space::Local, address - LOCAL_WINDOW),
        Space::Generic if in_window(address, CONSTANT_WINDOW) => {
            (Space::Constant(MODULE_BANK), address - CONSTANT_WINDOW)
        }
        Space::Generic if (PARAMETER_WINDOW..=PARAMETER_END).contains(&address) => {
            (Space::Param, address - PARAMETER_WINDOW)
        }
        Space::Generic => (Space::Global, address),
        other => (other, address),
    }
}

fn in_window(address: u64, window: u64) -> bool {
    address.wrapping_sub(window) < WINDOW_BYTES
}
