//! Atomic updates of memory, and queries for the memory that an address lies in.

use ptxc_machine::Archs;

use super::memory::{
    BY_UNIFORM, DATA, EVICT_NORMAL, EXTENDED, GLOBAL_ADDRESS, NO_POLICY, ONLY_EXTENDED, ORDERS, ORDERS_75,
    PLAIN, POLICY, SCOPE, SHARED_ADDRESS, UNIFORM, UNIFORM_OF_STORES,
};
use super::place::{AddressPlace, Fixed, Form, Joint, Place, Shape};
use super::row::{
    Completion, Effects, Kinds, LatencyClass, Memory, ModKind, Modifier, Pipe, Returns, Row, Scoreboards,
    Slot, Space, Spelling, Width,
};

const ATOMIC: Row = Row {
    pipe: Pipe::Lsu,
    latency: LatencyClass::MioSlow,
    completion: Completion::Variable,
    effects: Effects { reads_memory: true, writes_memory: true, ..Effects::NONE },
    ..Row::BASE
};

const PD: Slot = Slot::def("pd", Kinds::P).optional().at(81, 3);
const D: Slot = Slot::def("d", Kinds::R).width(Width::Size).place(Place::D);
const ADDRESS: Slot = Slot::read("addr", Kinds::MEM).place(Place::Address(AddressPlace::PLAIN));
const COMPARE: Slot = Slot::read("compare", Kinds::R).width(Width::Size).never_zero(Archs::TURING).at(32, 8);
/// The value that a compare-and-swap stores.
const SWAP: Slot = Slot::read("data", Kinds::R).width(Width::Size).at(64, 8);
/// The address of a compare-and-swap is always 64 bits.
const WIDE: Modifier = Modifier::new(ModKind::Extended, &[".E"]);
const IS_WIDE: Fixed = Fixed::new(72, 1, 1);
const ORDER: Modifier = Modifier::new(ModKind::Order, &["", ".STRONG"]);
const SIZE_AND_TYPE: &[ModKind] = &[ModKind::Size, ModKind::DataType];
/// Before sm_90 one operation has all types.
const TYPES: Joint = Joint::new(
    SIZE_AND_TYPE,
    73,
    3,
    &[
        (&["", ""], 0),
        (&["", ".S32"], 1),
        (&[".64", ""], 2),
        (&["", ".F32.FTZ.RN"], 3),
        (&["", ".F16x2.RN"], 4),
        (&["", ".S64"], 5),
        (&["", ".F64.RN"], 6),
    ],
)
.on(Archs::TURING_TO_ADA);
const INTEGERS: Joint = Joint::new(
    SIZE_AND_TYPE,
    73,
    3,
    &[(&["", ""], 0), (&["", ".S32"], 1), (&[".64", ""], 2), (&["", ".S64"], 3), (&[".128", ""], 4)],
)
.on(Archs::HOPPER);
/// Floats have operations of their own since sm_90.
const FLOATS: &[Joint] = &[
    Joint::new(
        SIZE_AND_TYPE,
        73,
        4,
        &[
            (&["", ".F16x2.RN"], 0),
            (&["", ".F16x4.RN"], 1),
            (&["", ".F16x8.RN"], 2),
            (&["", ".BF16x2.RN"], 3),
            (&["", ".BF16x4.RN"], 4),
            (&["", ".BF16x8.RN"], 5),
            (&["", ".F32.FTZ.RN"], 9),
            (&["", ".F32x2.FTZ.RN"], 10),
            (&["", ".F32x4.FTZ.RN"], 11),
            (&["", ".F32.RN"], 12),
            (&["", ".F32x2.RN"], 13),
            (&["", ".F32x4.RN"], 14),
            (&["", ".F64.RN"], 15),
        ],
    ),
    Joint::new(&[ModKind::Atomic], 88, 2, &[(&[".ADD"], 0), (&[".MIN"], 1), (&[".MAX"], 2)]),
];
const JOINTS: &[Joint] = &[ORDERS_75, ORDERS, TYPES, INTEGERS];
/// The uniform part, if another field has the bit that tells the width of the register beside it.
const UNIFORM_OF_ATOMICS: AddressPlace = AddressPlace::PLAIN.uniform(64).wide(70);
/// Until sm_89 an address with a descriptor has a general register.
const AT_BASE: &[(&str, Place)] =
    &[("addr", Place::Address(UNIFORM_OF_ATOMICS.needs_base(Archs::TURING_TO_ADA)))];
/// An address of 64 bits with a descriptor.
const DESCRIBED: Form = Form::same(&[("addr", Shape::AddressDescribed)]).with(&[ONLY_EXTENDED]);
const WITH_RESULT: &[Fixed] = &[BY_UNIFORM, Fixed::new(70, 2, 3)];
const WITHOUT_RESULT: &[Fixed] = &[BY_UNIFORM, Fixed::new(90, 1, 1), Fixed::new(71, 1, 1)];
/// On sm_75 the absent swap operand is RZ.
const NO_SWAP: Fixed = Fixed::new(64, 8, 0xff).on(Archs::TURING);
const ATOMIC_OP: Modifier =
    Modifier::new(ModKind::Atomic, &[".ADD", ".MIN", ".MAX", ".INC", ".DEC", ".AND", ".OR", ".XOR", ".EXCH"])
        .at(87, 4);
/// The operations of an update without a result: all except exchange.
const REDUCTION: Modifier =
    Modifier::new(ModKind::Atomic, &[".ADD", ".MIN", ".MAX", ".INC", ".DEC", ".AND", ".OR", ".XOR"])
        .at(87, 3);
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
    (".F32x2.FTZ.RN", Archs::HOPPER),
    (".F32x4.FTZ.RN", Archs::HOPPER),
    (".F16x4.RN", Archs::HOPPER),
    (".F16x8.RN", Archs::HOPPER),
    (".BF16x2.RN", Archs::HOPPER),
    (".BF16x4.RN", Archs::HOPPER),
    (".BF16x8.RN", Archs::HOPPER),
    (".F32.RN", Archs::HOPPER),
    (".F32x2.RN", Archs::HOPPER),
    (".F32x4.RN", Archs::HOPPER),
]);
const ATOMIC_SIZE: Modifier = Modifier::new(ModKind::Size, &["", ".64", ".128"])
    .limited(&[(".128", Archs::HOPPER)])
    .at(73, 3)
    .codes(&[0, 2, 4]);
/// `.CAST.SPIN` is for loops that store a value computed from the old one, and gives 1 if it
/// stored. `ATOMG` has no such form: with the bit that tells `ATOM.E.CAST.SPIN` from `ATOM.E.CAS`
/// set, nvdisasm still reads `ATOMG.E.CAS`.
const CAS: Modifier = Modifier::new(ModKind::Atomic, &[".CAS", ".CAST.SPIN"]).at(87, 2).codes(&[0, 3]);

pub(super) static ATOMG: Row = Row {
    mnemonic: "ATOMG",
    summary: "atomic update of global memory; d is the old value",
    slots: &[PD, D, GLOBAL_ADDRESS.place(Place::Address(UNIFORM_OF_ATOMICS)), DATA],
    mods: &[EXTENDED, ATOMIC_OP, ATOMIC_SIZE, ATOMIC_TYPE, ORDER, SCOPE, POLICY],
    joint: JOINTS,
    forms: &[
        PLAIN.with(&[NO_POLICY]).fixed(&[NO_SWAP]),
        PLAIN.opcode(0x3a3).joint(FLOATS).on(Archs::HOPPER),
        UNIFORM.opcode(0x9a8).with(&[NO_POLICY]),
        UNIFORM.opcode(0x9a3).joint(FLOATS).on(Archs::HOPPER),
        DESCRIBED.opcode(0x9a8).places(AT_BASE).fixed(WITH_RESULT).on(Archs::AMPERE_TO_HOPPER),
        DESCRIBED.opcode(0x9a3).fixed(WITH_RESULT).joint(FLOATS).on(Archs::HOPPER),
    ],
    fixed: &[EVICT_NORMAL],
    opcode: 0x3a8,
    memory: Memory::In(Space::Global),
    estimate: Some(500),
    ..ATOMIC
};

/// The sizes of an update without a result: no 128 bits.
const REDUCTION_SIZE: Modifier = Modifier::new(ModKind::Size, &["", ".64"]);

pub(super) static REDG: Row = Row {
    mnemonic: "REDG",
    summary: "atomic update of global memory without a result",
    slots: &[GLOBAL_ADDRESS.place(Place::Address(UNIFORM_OF_STORES)), DATA],
    mods: &[EXTENDED, REDUCTION, REDUCTION_SIZE, ATOMIC_TYPE, ORDER, SCOPE, POLICY],
    joint: JOINTS,
    forms: &[
        PLAIN.with(&[NO_POLICY]),
        PLAIN.opcode(0x9a6).joint(FLOATS).on(Archs::HOPPER),
        UNIFORM.with(&[NO_POLICY]),
        UNIFORM.opcode(0x9a6).joint(FLOATS).on(Archs::HOPPER),
        DESCRIBED.fixed(WITHOUT_RESULT).on(Archs::AMPERE_TO_HOPPER),
        DESCRIBED.opcode(0x9a6).fixed(WITHOUT_RESULT).joint(FLOATS).on(Archs::HOPPER),
    ],
    fixed: &[EVICT_NORMAL],
    completion: Completion::LateRead,
    spellings: &[Spelling { archs: Archs::TURING_TO_ADA, mnemonic: "RED", opcode: 0 }],
    opcode: 0x98e,
    scoreboards: Scoreboards::READ,
    memory: Memory::In(Space::Global),
    ..ATOMIC
};

const UPDATE: (ModKind, &[&str]) =
    (ModKind::Atomic, &[".ADD", ".MIN", ".MAX", ".INC", ".DEC", ".AND", ".OR", ".XOR", ".EXCH"]);
const COUNT: (ModKind, &[&str]) = (ModKind::Atomic, &[".POPC.INC.32"]);
const WORD: (ModKind, &[&str]) = (ModKind::Size, &[""]);
const UNTYPED: (ModKind, &[&str]) = (ModKind::DataType, &[""]);
const COUNTS: &[Joint] = &[
    Joint::new(&[ModKind::Atomic], 87, 4, &[(&[".POPC.INC.32"], 10)]).on(Archs::TURING_TO_ADA),
    Joint::new(&[ModKind::Atomic], 87, 4, &[(&[".POPC.INC.32"], 11)]).on(Archs::HOPPER),
];

pub(super) static ATOMS: Row = Row {
    mnemonic: "ATOMS",
    summary: "atomic update of shared memory; d is the old value; `.POPC.INC.32` adds 1 and takes no data",
    slots: &[
        D,
        SHARED_ADDRESS.place(Place::Address(AddressPlace::PLAIN.uniform(64).scale(78))),
        DATA.optional().hidden_with(".POPC.INC.32"),
    ],
    mods: &[
        Modifier::new(
            ModKind::Atomic,
            &[".ADD", ".MIN", ".MAX", ".INC", ".DEC", ".AND", ".OR", ".XOR", ".EXCH", ".POPC.INC.32"],
        )
        .limited(&[(".POPC.INC.32", Archs::AMPERE_TO_HOPPER)])
        .at(87, 4),
        ATOMIC_SIZE,
        Modifier::new(ModKind::DataType, &["", ".S32"]),
    ],
    joint: &[Joint::new(
        SIZE_AND_TYPE,
        73,
        3,
        &[(&["", ""], 0), (&["", ".S32"], 1), (&[".64", ""], 2), (&[".128", ""], 4)],
    )],
    forms: &[
        PLAIN.with(&[UPDATE]).fixed(&[NO_SWAP]),
        UNIFORM.opcode(0x98c).with(&[UPDATE]),
        // The count is another operation, which always has a uniform register.
        PLAIN
            .opcode(0xf8c)
            .with(&[COUNT, WORD, UNTYPED])
            .joint(COUNTS)
            .places(&[("data", Place::Absent)])
            .fixed(&[BY_UNIFORM, Fixed::new(64, 6, 0x3f)]),
        UNIFORM.opcode(0xf8c).with(&[COUNT, WORD, UNTYPED]).joint(COUNTS).places(&[("data", Place::Absent)]),
    ],
    opcode: 0x38c,
    memory: Memory::In(Space::Shared),
    returns: Returns::Shared,
    estimate: Some(60),
    ..ATOMIC
};

pub(super) static ATOM: Row = Row {
    mnemonic: "ATOM",
    summary: "atomic update at a generic address; d is the old value; pd = whether the address allowed it",
    slots: &[PD, D, GLOBAL_ADDRESS.place(Place::Address(UNIFORM_OF_ATOMICS)), DATA],
    mods: &[EXTENDED, ATOMIC_OP, ATOMIC_SIZE, ATOMIC_TYPE, ORDER, SCOPE, POLICY],
    joint: JOINTS,
    forms: &[
        PLAIN.opcode(0x38a).with(&[NO_POLICY]).fixed(&[NO_SWAP]),
        PLAIN.opcode(0x3a2).joint(FLOATS).on(Archs::HOPPER),
        UNIFORM.with(&[NO_POLICY]),
        UNIFORM.opcode(0x9a2).joint(FLOATS).on(Archs::HOPPER),
        DESCRIBED.places(AT_BASE).fixed(WITH_RESULT).on(Archs::AMPERE_TO_HOPPER),
        DESCRIBED.opcode(0x9a2).fixed(WITH_RESULT).joint(FLOATS).on(Archs::HOPPER),
    ],
    fixed: &[EVICT_NORMAL],
    opcode: 0x98a,
    memory: Memory::In(Space::Generic),
    tells_space_early: true,
    ..ATOMIC
};

pub(super) static ATOMG_CAS: Row = Row {
    mnemonic: "ATOMG",
    summary: "global memory = data if it is `compare`; d is the old value",
    slots: &[PD, D, ADDRESS, COMPARE, SWAP],
    mods: &[EXTENDED, Modifier::new(ModKind::Atomic, &[".CAS"]), ATOMIC_SIZE, ORDER, SCOPE],
    joint: &[ORDERS_75, ORDERS],
    fixed: &[EVICT_NORMAL],
    opcode: 0x3a9,
    memory: Memory::In(Space::Global),
    takes_descriptor: false,
    ..ATOMIC
};

pub(super) static ATOMS_CAS: Row = Row {
    mnemonic: "ATOMS",
    summary: "shared memory = data if it is `compare`; d is the old value",
    slots: &[
        D,
        Slot::read("addr", Kinds::MEM.or(Kinds::MEM_SCALED))
            .place(Place::Address(AddressPlace::PLAIN.scale(78))),
        COMPARE,
        SWAP,
    ],
    mods: &[CAS, ATOMIC_SIZE],
    opcode: 0x38d,
    memory: Memory::In(Space::Shared),
    returns: Returns::Shared,
    ..ATOMIC
};

pub(super) static ATOM_CAS: Row = Row {
    mnemonic: "ATOM",
    summary: "memory at a generic address = data if it is `compare`; d is the old value",
    slots: &[PD, D, ADDRESS, COMPARE, SWAP],
    mods: &[EXTENDED, CAS, ATOMIC_SIZE, ORDER, SCOPE],
    joint: &[ORDERS_75, ORDERS],
    fixed: &[EVICT_NORMAL],
    opcode: 0x38b,
    memory: Memory::In(Space::Generic),
    tells_space_early: true,
    takes_descriptor: false,
    ..ATOMIC
};

pub(super) static QSPC: Row = Row {
    mnemonic: "QSPC",
    summary: "pd = whether a generic address lies in shared (S), the cluster's shared (D), global (G) or local (L) memory",
    slots: &[
        Slot::def("pd", Kinds::P).at(81, 3),
        Slot::def("d", Kinds::R).place(Place::D),
        GLOBAL_ADDRESS.place(Place::Address(AddressPlace::PLAIN.uniform(32).wide(90))),
    ],
    mods: &[
        EXTENDED,
        Modifier::new(ModKind::Mode, &[".S", ".D", ".G", ".L"])
            .limited(&[(".D", Archs::HOPPER)])
            .at(73, 2)
            .codes(&[2, 3, 0, 1]),
    ],
    forms: &[PLAIN, UNIFORM.opcode(0x9aa)],
    // NVIDIA's assembler waits for a QSPC instead of an earlier load from shared memory or shuffle.
    returns: Returns::Shared,
    effects: Effects::NONE,
    opcode: 0x3aa,
    takes_descriptor: false,
    ..ATOMIC
};

pub(super) static ATOM_COUNT: Row = Row {
    mnemonic: "ATOM",
    summary: "memory at a generic address = itself plus 1; d is the old value",
    slots: &[PD, D, GENERIC_AT_UNIFORM],
    mods: &[WIDE, Modifier::new(ModKind::Atomic, &[".POPC.INC.32"]), ORDER, SCOPE],
    joint: &[ORDERS],
    fixed: &[IS_WIDE, EVICT_NORMAL, BY_UNIFORM, Fixed::new(87, 4, 10)],
    archs: Archs::AMPERE_TO_ADA,
    opcode: 0xf8a,
    memory: Memory::In(Space::Generic),
    tells_space_early: true,
    ..ATOMIC
};

pub(super) static ATOM_ARRIVE: Row = Row {
    mnemonic: "ATOM",
    summary: "one arrival at the mbarrier at a generic address; d is its state before",
    slots: &[PD, Slot::def("d", Kinds::R).width(Width::Fixed(2)).place(Place::D), GENERIC_AT_UNIFORM],
    mods: &[WIDE, Modifier::new(ModKind::Atomic, &[".ARRIVE.64"]), ORDER, SCOPE],
    joint: &[ORDERS],
    fixed: &[IS_WIDE, EVICT_NORMAL, BY_UNIFORM, Fixed::new(87, 4, 9), Fixed::new(73, 3, 2)],
    archs: Archs::AMPERE_TO_ADA,
    effects: Effects { fence: true, ..ATOMIC.effects },
    opcode: 0xf8a,
    tells_space_early: true,
    ..ATOMIC
};

/// A generic address that always has a uniform part, at least URZ.
const GENERIC_AT_UNIFORM: Slot = Slot::read("addr", Kinds::MEM.or(Kinds::MEM_AT_UR))
    .names_uniform()
    .place(Place::Address(UNIFORM_OF_ATOMICS));

pub(super) static LDGMC: Row = Row {
    mnemonic: "LDGMC",
    summary: "load from all places of a multicast address and reduce; `.F32ADD` adds halves as binary32",
    slots: &[D, GENERIC_AT_UNIFORM],
    mods: &[
        WIDE,
        Modifier::new(ModKind::Atomic, &[".ADD", ".MIN", ".MAX", ".AND", ".OR", ".XOR", ".F32ADD"]),
        Modifier::new(
            ModKind::DataType,
            &[
                ".32",
                ".S32",
                ".64",
                ".S64",
                ".F16x2.RN",
                ".F16x4.RN",
                ".F16x8.RN",
                ".BF16x2.RN",
                ".BF16x4.RN",
                ".BF16x8.RN",
                ".F32.RN",
                ".F32x2.RN",
                ".F32x4.RN",
                ".F64.RN",
            ],
        ),
        Modifier::new(ModKind::Order, &[".STRONG"]),
        Modifier::new(ModKind::Scope, &[".SYS"]),
    ],
    forms: &[
        Form::same(&[]).joint(&[
            Joint::new(
                &[ModKind::DataType],
                73,
                3,
                &[(&[".32"], 0), (&[".S32"], 1), (&[".64"], 2), (&[".S64"], 3)],
            ),
            Joint::new(
                &[ModKind::Atomic],
                87,
                4,
                &[
                    (&[".ADD"], 0),
                    (&[".MIN"], 1),
                    (&[".MAX"], 2),
                    (&[".AND"], 5),
                    (&[".OR"], 6),
                    (&[".XOR"], 7),
                ],
            ),
        ]),
        Form::same(&[]).opcode(0x9a5).joint(&[
            Joint::new(
                &[ModKind::DataType],
                73,
                4,
                &[
                    (&[".F16x2.RN"], 0),
                    (&[".F16x4.RN"], 1),
                    (&[".F16x8.RN"], 2),
                    (&[".BF16x2.RN"], 3),
                    (&[".BF16x4.RN"], 4),
                    (&[".BF16x8.RN"], 5),
                    (&[".F32.RN"], 12),
                    (&[".F32x2.RN"], 13),
                    (&[".F32x4.RN"], 14),
                    (&[".F64.RN"], 15),
                ],
            ),
            Joint::new(
                &[ModKind::Atomic],
                88,
                2,
                &[(&[".ADD"], 0), (&[".MIN"], 1), (&[".MAX"], 2), (&[".F32ADD"], 3)],
            ),
        ]),
    ],
    fixed: &[IS_WIDE, BY_UNIFORM, Fixed::new(77, 4, 10)],
    archs: Archs::HOPPER,
    effects: Effects { reads_memory: true, ..Effects::NONE },
    opcode: 0x9a4,
    memory: Memory::In(Space::Global),
    ..ATOMIC
};
