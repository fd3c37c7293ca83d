//! The rows and columns of a latency file: latency classes, with the halves of wide products and the sizes of
//! matrices apart.

use super::Side;
use crate::register::Register;
use crate::table::{LatencyClass, Op};

/// Whether two texts are the same; `==` of them is not for constants.
const fn equal(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

macro_rules! ports {
    ($($(#[$meta:meta])* $name:ident = $text:literal,)*) => {
        /// Where a value leaves a functional unit, or where it enters one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Port { $($(#[$meta])* $name,)* }

        impl Port {
            /// Every port.
            pub const ALL: &'static [Port] = &[$(Port::$name,)*];

            /// Its name in the data files.
            pub const fn name(self) -> &'static str {
                match self { $(Port::$name => $text,)* }
            }

            /// The port with a name.
            pub(super) const fn of_name(name: &[u8]) -> Option<Port> {
                $(if equal(name, $text.as_bytes()) {
                    return Some(Port::$name);
                })*
                None
            }
        }
    };
}

ports! {
    /// [`LatencyClass::Alu`].
    Alu = "alu",
    /// [`LatencyClass::Fma`].
    Fma = "fma",
    /// [`LatencyClass::ImadWide`]: the low word of the result; operands but the high word of c.
    ImadWide = "imad-wide",
    /// [`LatencyClass::ImadWide`]: the high word of the result; the high word of c, read two cycles late.
    ImadWideHigh = "imad-wide-hi",
    /// [`LatencyClass::Half`].
    Half = "half",
    /// [`LatencyClass::HalfAlu`].
    HalfAlu = "half-alu",
    /// [`LatencyClass::HalfMma`].
    HalfMma = "half-mma",
    /// [`LatencyClass::Fp64`].
    Fp64 = "fp64",
    /// [`LatencyClass::MioFast`].
    MioFast = "mio-fast",
    /// [`LatencyClass::MioSlow`].
    MioSlow = "mio-slow",
    /// [`LatencyClass::Branch`].
    Branch = "branch",
    /// [`LatencyClass::Barrier`].
    Barrier = "barrier",
    /// [`LatencyClass::Udp`].
    Udp = "udp",
    /// [`LatencyClass::Umov`].
    Umov = "umov",
    /// [`LatencyClass::R2ur`].
    R2ur = "r2ur",
    /// [`LatencyClass::Cs2r`].
    Cs2r = "cs2r",
    /// [`LatencyClass::Mma`]: operands, and results where a lane holds four registers of a.
    Mma = "mma",
    /// [`LatencyClass::Mma`]: results where a lane holds two registers of a.
    MmaOf2 = "mma-2",
    /// [`LatencyClass::Mma`]: results where a lane holds one register of a.
    MmaOf1 = "mma-1",
}

impl Port {
    /// The port of a class; for [`LatencyClass::ImadWide`], the one of low words, for [`LatencyClass::Mma`] the one of
    /// operands.
    pub const fn of_class(class: LatencyClass) -> Port {
        match class {
            LatencyClass::Alu => Port::Alu,
            LatencyClass::Fma => Port::Fma,
            LatencyClass::ImadWide => Port::ImadWide,
            LatencyClass::Half => Port::Half,
            LatencyClass::HalfAlu => Port::HalfAlu,
            LatencyClass::HalfMma => Port::HalfMma,
            LatencyClass::Fp64 => Port::Fp64,
            LatencyClass::MioFast => Port::MioFast,
            LatencyClass::MioSlow => Port::MioSlow,
            LatencyClass::Branch => Port::Branch,
            LatencyClass::Barrier => Port::Barrier,
            LatencyClass::Udp => Port::Udp,
            LatencyClass::Umov => Port::Umov,
            LatencyClass::R2ur => Port::R2ur,
            LatencyClass::Cs2r => Port::Cs2r,
            LatencyClass::Mma => Port::Mma,
        }
    }

    /// Where a result leaves; each of `ELECT`'s leaves elsewhere. `IMAD.HI` has the high word alone. Products of matrices take their time by the size of a,
    /// whatever its elements are.
    pub fn of_producer<R: Register>(side: Side<'_, R>) -> Port {
        let slot = usize::from(side.slot);
        let port = Port::of_class(side.inst.row().latency);
        // Few classes ask, and names are long to compare.
        let is_result = || side.inst.row().slots.get(slot).is_some_and(|slot| slot.name == "d");
        if port == Port::ImadWide && is_result() && (side.component == 1 || side.inst.slot_width(slot) == 1) {
            return Port::ImadWideHigh;
        }
        if is_elected_lane(side) {
            return Port::Umov;
        }
        if port == Port::Mma && is_result() {
            let a = side.inst.row().slots.iter().position(|slot| slot.name == "a");
            return match a.map(|slot| side.inst.slot_width(slot)) {
                Some(1) => Port::MmaOf1,
                Some(2) => Port::MmaOf2,
                _ => Port::Mma,
            };
        }
        port
    }

    /// Where an operand enters, or where the result is written that overwrites what another one reads or writes.
    pub fn of_consumer<R: Register>(side: Side<'_, R>) -> Port {
        let port = Port::of_class(side.inst.row().latency);
        let is_addend =
            || side.inst.row().slots.get(usize::from(side.slot)).is_some_and(|slot| slot.name == "c");
        if port == Port::ImadWide && side.component == 1 && is_addend() {
            return Port::ImadWideHigh;
        }
        if is_elected_lane(side) {
            return Port::Umov;
        }
        port
    }
}

/// Whether this is the number of the lane that `ELECT` elects: it is there as soon as what `UMOV` makes, long before the
/// predicate.
fn is_elected_lane<R: Register>(side: Side<'_, R>) -> bool {
    let slot = || side.inst.row().slots.get(usize::from(side.slot));
    side.inst.op == Op::ELECT && slot().is_some_and(|slot| slot.name == "d")
}
