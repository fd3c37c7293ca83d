//! The rows and columns of a latency file: latency classes, with the halves of wide products and
//! the sizes of matrices apart.

use super::Side;
use super::timing::timing;
use crate::data_file::packed;
use crate::register::Register;
use crate::slot_name;
use crate::table::{LatencyClass, Op, SlotName};

macro_rules! ports {
    ($($(#[$meta:meta])* $name:ident = $text:literal,)*) => {
        /// The place where a value leaves a functional unit, or enters one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Port { $($(#[$meta])* $name,)* }

        impl Port {
            /// Every port.
            pub const ALL: &'static [Port] = &[$(Port::$name,)*];

            /// Its name in the data files.
            pub const fn name(self) -> &'static str {
                match self { $(Port::$name => $text,)* }
            }

            /// The port with a packed name.
            pub(super) const fn of_name(name: u128) -> Option<Port> {
                $(if name == const { packed($text) } {
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
    /// [`LatencyClass::ImadWide`]: the low word of the result; operands except the high word of c.
    ImadWide = "imad-wide",
    /// [`LatencyClass::ImadWide`]: the high word of the result; the high word of c, read two cycles
    /// late.
    ImadWideHigh = "imad-wide-hi",
    /// [`LatencyClass::Half`].
    Half = "half",
    /// [`LatencyClass::HalfSingle`].
    HalfSingle = "half-single",
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
    /// [`LatencyClass::Gmma`].
    Gmma = "gmma",
}

impl Port {
    /// The port of a class; for [`LatencyClass::ImadWide`] the port of low words, for
    /// [`LatencyClass::Mma`] the port of operands.
    pub const fn of_class(class: LatencyClass) -> Port {
        match class {
            LatencyClass::Alu => Port::Alu,
            LatencyClass::Fma => Port::Fma,
            LatencyClass::ImadWide => Port::ImadWide,
            LatencyClass::Half => Port::Half,
            LatencyClass::HalfSingle => Port::HalfSingle,
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
            LatencyClass::Gmma => Port::Gmma,
        }
    }

    /// The port where a result leaves. The two results of `ELECT` leave at different ports.
    /// `IMAD.HI` has only the high word. The time of a matrix product depends on the size of a,
    /// whatever its elements are.
    #[inline]
    pub fn of_producer<R: Register>(side: Side<'_, R>) -> Port {
        let timing = timing(side.inst.op);
        if !timing.has_other_ports || !is_named(side, slot_name!("d")) {
            return timing.port;
        }
        match timing.port {
            Port::ImadWide => {
                let is_high = side.component == 1 || side.inst.slot_width(usize::from(side.slot)) == 1;
                if is_high { Port::ImadWideHigh } else { Port::ImadWide }
            }
            Port::Mma => match side.inst.slot_index(slot_name!("a")).map(|slot| side.inst.slot_width(slot)) {
                Some(1) => Port::MmaOf1,
                Some(2) => Port::MmaOf2,
                _ => Port::Mma,
            },
            _ => of_other(side),
        }
    }

    /// The port where an operand enters, or where a result leaves that overwrites a register which
    /// another instruction reads or writes.
    #[inline]
    pub fn of_consumer<R: Register>(side: Side<'_, R>) -> Port {
        let timing = timing(side.inst.op);
        if !timing.has_other_ports {
            return timing.port;
        }
        match timing.port {
            Port::ImadWide if side.component == 1 && is_named(side, slot_name!("c")) => Port::ImadWideHigh,
            _ => of_other(side),
        }
    }
}

/// Whether the slot has that name.
fn is_named<R: Register>(side: Side<'_, R>, name: SlotName) -> bool {
    side.inst.row().slots.get(usize::from(side.slot)).is_some_and(|slot| slot.name == name.text())
}

/// The port of an instruction that has only one, or of `ELECT`: the number of the elected lane is
/// there as soon as the result of `UMOV`, long before the predicate.
fn of_other<R: Register>(side: Side<'_, R>) -> Port {
    if side.inst.op == Op::ELECT && is_named(side, slot_name!("d")) {
        Port::Umov
    } else {
        timing(side.inst.op).port
    }
}
