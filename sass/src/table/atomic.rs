//! Atomic updates of memory, and the question which memory an address lies in.

use super::archs::{Archs, Spelling};
use super::row::{Completion, Effects, Kinds, LatencyClass, ModKind, Modifier, Pipe, Row, Slot, Width};
use crate::arch::Arch;

const ATOMIC: Row = Row {
    mnemonic: "",
    summary: "",
    slots: &[],
    mods: &[],
    pipe: Pipe::Lsu,
    latency: LatencyClass::MioSlow,
    completion: Completion::Variable,
    min_stall: 1,
    effects: Effects { reads_memory: true, writes_memory: true, ..Effects::NONE },
    archs: Archs::ALL,
    spellings: &[],
    opcode: 0,
};

const PD: Slot = Slot::def("pd", Kinds::P).optional();
const D: Slot = Slot::def("d", Kinds::R).width(Width::Size);
const ADDRESS: Slot = Slot::read("addr", Kinds::MEM);
/// A global address has a uniform part, a pair, on sm_75, where no descriptor takes its place.
const GLOBAL_ADDRESS: Slot = Slot::read("addr", Kinds::MEM.or(Kinds::MEM_AT_UR))
    .limited(&[(Kinds::MEM_AT_UR, Archs::only(Arch::Sm75))]);
/// Shared memory, but for compare-and-swap, has addresses with a uniform part; before sm_90 the register may be
/// multiplied.
const SHARED_ADDRESS: Slot = Slot::read("addr", Kinds::MEM.or(Kinds::MEM_AT_UR).or(Kinds::MEM_SCALED))
    .limited(&[(Kinds::MEM_SCALED, Archs::before(Arch::Sm90))]);
const DATA: Slot = Slot::read("data", Kinds::R).width(Width::Size);
const COMPARE: Slot = Slot::read("compare", Kinds::R).width(Width::Size);
const EXTENDED: Modifier = Modifier::new(ModKind::Extended, &[".E", ""]);
/// The address of a compare-and-swap is always 64 bits.
const WIDE: Modifier = Modifier::new(ModKind::Extended, &[".E"]);
const ORDER: Modifier = Modifier::new(ModKind::Order, &["", ".CONSTANT", ".STRONG", ".WEAK"]);
const SCOPE: Modifier = Modifier::new(ModKind::Scope, &["", ".SM", ".GPU", ".SYS"]).spelled(&[(
    ".SM",
    Archs::only(Arch::Sm75),
    ".CTA",
)]);
const ATOMIC_OP: Modifier =
    Modifier::new(ModKind::Atomic, &[".ADD", ".MIN", ".MAX", ".INC", ".DEC", ".AND", ".OR", ".XOR", ".EXCH"]);
const ATOMIC_TYPE: Modifier = Modifier::new(
    ModKind::DataType,
    &[
        "",
        ".S32",
        ".F32.FTZ.RN",
        ".F64.RN",
        ".S64",
        ".F32x2.FTZ.RN",
        ".F32x4.FTZ.RN",
        ".F16x2.RN",
        ".F16x4.RN",
        ".F16x8.RN",
        ".BF16x2.RN",
        ".BF16x4.RN",
        ".BF16x8.RN",
        ".F32.RN",
        ".F32x2.RN",
        ".F32x4.RN",
    ],
)
.limited(&[
    (".F32.RN", Archs::since(Arch::Sm90)),
    (".F32x2.RN", Archs::since(Arch::Sm90)),
    (".F32x4.RN", Archs::since(Arch::Sm90)),
]);
const ATOMIC_SIZE: Modifier = Modifier::new(ModKind::Size, &["", ".64", ".128"]);
/// `.CAST.SPIN` is for loops that store what they computed from the old value, and gives 1 where it stored. `ATOMG` has no
/// such form: with the bit that tells `ATOM.E.CAST.SPIN` from `ATOM.E.CAS` set, nvdisasm still reads `ATOMG.E.CAS`.
const CAS: Modifier = Modifier::new(ModKind::Atomic, &[".CAS", ".CAST.SPIN"]);

pub(super) static ATOMG: Row = Row {
    mnemonic: "ATOMG",
    summary: "atomic update of global memory; d is the old value",
    slots: &[PD, D, GLOBAL_ADDRESS, DATA],
    mods: &[EXTENDED, ATOMIC_OP, ATOMIC_SIZE, ATOMIC_TYPE, ORDER, SCOPE],
    opcode: 0x3a8,
    ..ATOMIC
};

pub(super) static REDG: Row = Row {
    mnemonic: "REDG",
    summary: "atomic update of global memory without a result",
    slots: &[GLOBAL_ADDRESS, DATA],
    mods: &[EXTENDED, ATOMIC_OP, ATOMIC_SIZE, ATOMIC_TYPE, ORDER, SCOPE],
    completion: Completion::LateRead,
    spellings: &[Spelling { archs: Archs::before(Arch::Sm90), mnemonic: "RED", opcode: 0 }],
    opcode: 0x98e,
    ..ATOMIC
};

pub(super) static ATOMS: Row = Row {
    mnemonic: "ATOMS",
    summary: "atomic update of shared memory; d is the old value; `.POPC.INC.32` adds 1 and takes no data",
    slots: &[D, SHARED_ADDRESS, DATA.optional().hidden_with(".POPC.INC.32")],
    mods: &[
        Modifier::new(
            ModKind::Atomic,
            &[".ADD", ".MIN", ".MAX", ".INC", ".DEC", ".AND", ".OR", ".XOR", ".EXCH", ".POPC.INC.32"],
        )
        .limited(&[(".POPC.INC.32", Archs::since(Arch::Sm80))]),
        ATOMIC_SIZE,
        Modifier::new(ModKind::DataType, &["", ".S32"]),
    ],
    opcode: 0x38c,
    ..ATOMIC
};

pub(super) static ATOM: Row = Row {
    mnemonic: "ATOM",
    summary: "atomic update at a generic address; d is the old value; pd = whether the address allowed it",
    slots: &[PD, D, ADDRESS, DATA],
    mods: &[EXTENDED, ATOMIC_OP, ATOMIC_SIZE, ATOMIC_TYPE, ORDER, SCOPE],
    opcode: 0x98a,
    ..ATOMIC
};

pub(super) static ATOMG_CAS: Row = Row {
    mnemonic: "ATOMG",
    summary: "global memory = data if it is `compare`; d is the old value",
    slots: &[PD, D, ADDRESS, COMPARE, DATA],
    mods: &[WIDE, Modifier::new(ModKind::Atomic, &[".CAS"]), ATOMIC_SIZE, ORDER, SCOPE],
    opcode: 0x3a9,
    ..ATOMIC
};

pub(super) static ATOMS_CAS: Row = Row {
    mnemonic: "ATOMS",
    summary: "shared memory = data if it is `compare`; d is the old value",
    slots: &[D, ADDRESS, COMPARE, DATA],
    mods: &[CAS, ATOMIC_SIZE],
    opcode: 0x38d,
    ..ATOMIC
};

pub(super) static ATOM_CAS: Row = Row {
    mnemonic: "ATOM",
    summary: "memory at a generic address = data if it is `compare`; d is the old value",
    slots: &[PD, D, ADDRESS, COMPARE, DATA],
    mods: &[WIDE, CAS, ATOMIC_SIZE, ORDER, SCOPE],
    opcode: 0x38b,
    ..ATOMIC
};

pub(super) static QSPC: Row = Row {
    mnemonic: "QSPC",
    summary: "pd = whether a generic address lies in shared (S), the cluster's shared (D), global (G) or local (L) memory",
    slots: &[Slot::def("pd", Kinds::P), Slot::def("d", Kinds::R), ADDRESS],
    mods: &[WIDE, Modifier::new(ModKind::Mode, &[".S", ".D", ".G", ".L"])],
    effects: Effects::NONE,
    opcode: 0x3aa,
    ..ATOMIC
};
