//! Tables with an entry for each architecture.

use std::array;

use crate::arch::Arch;

/// A value for each architecture, including the invented one.
#[derive(Clone, Copy, Debug)]
pub struct PerArch<T>([T; Arch::VARIANTS.len()]);

impl<T> PerArch<T> {
    /// The values in the order of the variants of [`Arch`], for [`per_arch!`](crate::per_arch).
    pub const fn new(values: [T; Arch::VARIANTS.len()]) -> PerArch<T> {
        PerArch(values)
    }

    /// The value that the function gives for each architecture.
    pub fn from_fn(mut value: impl FnMut(Arch) -> T) -> PerArch<T> {
        PerArch(array::from_fn(|index| value(Arch::VARIANTS[index])))
    }

    /// The value for an architecture.
    #[inline]
    pub const fn get(&self, arch: Arch) -> &T {
        &self.0[arch.index()]
    }
}

/// Makes a [`PerArch`] of an expression in a constant or a static, where closures cannot be called.
/// The name before the arrow is a constant, the architecture.
///
/// ```
/// use ptxc_machine::{Arch, PerArch, per_arch};
///
/// static PLACES: PerArch<u32> = per_arch!(ARCH => ARCH.facts().banks.param_base);
/// assert_eq!(*PLACES.get(Arch::Sm75), 0x160);
/// ```
#[macro_export]
macro_rules! per_arch {
    ($arch:ident => $value:expr) => {
        $crate::per_arch!(@list $arch, $value, Sm75, Sm80, Sm86, Sm89, Sm90, Invented)
    };
    (@list $arch:ident, $value:expr, $($variant:ident),*) => {
        $crate::PerArch::new([$({
            #[allow(dead_code)]
            const $arch: $crate::Arch = $crate::Arch::$variant;
            $value
        }),*])
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_architecture_has_its_own_entry() {
        const ARCHS: PerArch<Arch> = per_arch!(ARCH => ARCH);
        for arch in Arch::VARIANTS {
            assert_eq!(*ARCHS.get(arch), arch);
            assert_eq!(*PerArch::from_fn(|arch| arch).get(arch), arch);
        }
    }
}
