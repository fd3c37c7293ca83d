//! The meaning of an instruction as far as the version and the target of its module decide it.
//!
//! The targets before sm_20 have no subnormal numbers of single precision: every instruction that
//! computes with `.f32` flushes them, as if it had `.ftz`. The PTX ISA states this under the notes
//! on subnormal numbers of each instruction.

use crate::check::decoded::Decoded;
use crate::check::env::{ModuleEnv, PtxVersion};
use crate::check::scalar::Scalar;
use crate::check::table::Mnemonic;

/// The first target with subnormal numbers of single precision.
const SUBNORMAL_NUMBERS: u32 = 20;

/// The last version in which a conversion to or from 64 bits keeps subnormal numbers.
const WIDE_CONVERSIONS_KEEP: PtxVersion = PtxVersion(1, 4);

/// What the version and the target of a module make of its instructions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dialect {
    /// Whether single precision has no subnormal numbers.
    flushes: bool,
    /// Whether conversions to and from 64 bits are an exception to that.
    wide_conversions_keep: bool,
    /// Whether `.target` has `map_f64_to_f32`: instructions in double precision compute in single
    /// precision.
    maps_double: bool,
}

impl Dialect {
    pub fn of(env: &ModuleEnv) -> Dialect {
        Dialect {
            flushes: env.target.number < SUBNORMAL_NUMBERS,
            wide_conversions_keep: env.version <= WIDE_CONVERSIONS_KEEP,
            maps_double: env.maps_double,
        }
    }

    /// Whether an instruction flushes subnormal numbers of single precision without `.ftz`.
    pub fn flushes(self, opcode: &Decoded) -> bool {
        let keeps = self.wide_conversions_keep
            && opcode.instruction == Mnemonic::Cvt
            && opcode.types.iter().any(|ty| ty.bits() == 64);
        self.flushes && !keeps && opcode.types.contains(&Scalar::F32)
    }

    /// Whether an instruction in double precision would have to compute in single precision.
    pub fn demotes(self, opcode: &Decoded) -> bool {
        self.maps_double && opcode.types.contains(&Scalar::F64)
    }
}
