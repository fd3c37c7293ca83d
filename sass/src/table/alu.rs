//! Integer addition, logic, shifts, comparison and selection.

use ptxc_machine::Archs;

use super::Op;
use super::place::{Bits, Fixed, Form, Joint, Place, Shape, Signs};
use super::row::{
    Completion, ImmFormat, Kinds, LatencyClass, ModKind, Modifier, Pipe, Row, Slot, Spelling, Stand,
};

/// The common part of the rows of this family.
const ALU: Row =
    Row { pipe: Pipe::Alu, latency: LatencyClass::Alu, completion: Completion::Fixed, ..Row::BASE };

const D: Slot = Slot::def("d", Kinds::R).place(Place::D);
const A: Slot = Slot::read("a", Kinds::R).reuse(0).place(Place::A);
const B: Slot =
    Slot::read("b", Kinds::R.or(Kinds::UR).or(Kinds::IMM).or(Kinds::CONST)).reuse(1).place(Place::B);
const C: Slot =
    Slot::read("c", Kinds::R.or(Kinds::UR).or(Kinds::IMM).or(Kinds::CONST)).reuse(2).place(Place::C);
const CR: Slot = Slot::read("c", Kinds::R).reuse(2).place(Place::C);
const IMM: Kinds = Kinds::IMM;
const P_IN: Slot = Slot::read("ps", Kinds::P).not().optional().at(87, 3);
const P_OUT: Slot = Slot::def("pd", Kinds::P).at(81, 3);
const P_OUT_2: Slot = Slot::def("pe", Kinds::P).at(84, 3);
/// The predicate fields of a form without predicates, all ones.
pub(super) const NO_CARRIES: &[Fixed] =
    &[Fixed::new(77, 4, 0xf), Fixed::new(87, 4, 0xf), Fixed::new(74, 1, 0)];
pub(super) const COMPARE: Modifier =
    Modifier::new(ModKind::Compare, &[".F", ".LT", ".EQ", ".LE", ".GT", ".NE", ".GE", ".T"]).at(76, 3);
pub(super) const COMBINE: Modifier = Modifier::new(ModKind::Combine, &[".AND", ".OR", ".XOR"]).at(74, 2);
/// How a `LOP3` combines a predicate with the test whether its result is zero.
pub(super) const PAND: Modifier = Modifier::new(ModKind::Combine, &["", ".PAND"]).at(80, 1);
/// Takes both counts of a `BMSK`, or the count of a `SGXT`, modulo 32.
pub(super) const MODULO: Modifier = Modifier::new(ModKind::Variant, &["", ".W"]).at(75, 1);
pub(super) const UNSIGNED: Modifier = Modifier::new(ModKind::Sign, &[".U32", ""]).default_to(1).at(73, 1);

/// At most one of a and b may be negated: the hardware raises an illegal instruction for `-a + -b`,
/// while `-a + c + -b` is legal. See `docs/facts/encoding.md`.
pub(super) static IADD3: Row = Row {
    mnemonic: "IADD3",
    summary: "d = a + b + c; pd and pe are the carries",
    slots: &[
        D,
        P_OUT.hidden(),
        P_OUT_2.hidden(),
        A.neg().sole_sign(),
        B.neg().sole_sign().imm(ImmFormat::Signed),
        CR.neg(),
    ],
    forms: Form::B,
    fixed: NO_CARRIES,
    opcode: 0x210,
    uniform: Some(Op::UIADD3),
    ..ALU
};

/// At most one of a and b may be complemented, as in [`IADD3`].
pub(super) static IADD3_X: Row = Row {
    mnemonic: "IADD3.X",
    summary: "d = a + b + c + ps + pt: the upper part of a long addition; `~` complements an operand",
    slots: &[
        D,
        P_OUT.hidden(),
        P_OUT_2.hidden(),
        A.not().sole_sign(),
        B.not().sole_sign().imm(ImmFormat::Signed),
        CR.not(),
        Slot::read("ps", Kinds::P).not().at(87, 3),
        Slot::read("pt", Kinds::P).default_not().at(77, 3),
    ],
    forms: Form::B,
    fixed: &[Fixed::new(74, 1, 1)],
    opcode: 0x210,
    uniform: Some(Op::UIADD3_X),
    ..ALU
};

pub(super) static LOP3: Row = Row {
    mnemonic: "LOP3.LUT",
    summary: "d = the bitwise function of a, b, c whose truth table is `lut`; pd = d != 0 or ps, and ps (`.PAND`)",
    slots: &[
        P_OUT.hidden(),
        D,
        A,
        B,
        CR,
        Slot::read("lut", IMM).at(72, 8),
        Slot::read("ps", Kinds::P).default_not().at(87, 3),
    ],
    mods: &[PAND],
    forms: Form::B,
    opcode: 0x212,
    uniform: Some(Op::ULOP3),
    ..ALU
};

pub(super) static ISETP: Row = Row {
    mnemonic: "ISETP",
    summary: "pd = (a compared with b) combined with ps; pe = the negated comparison, combined in the same way",
    slots: &[P_OUT, P_OUT_2.optional(), A, B.imm(ImmFormat::Signed), P_IN],
    mods: &[COMPARE, UNSIGNED, COMBINE],
    forms: Form::B,
    fixed: &[Fixed::new(68, 3, 7)],
    opcode: 0x20c,
    uniform: Some(Op::UISETP),
    ..ALU
};

pub(super) static ISETP_EX: Row = Row {
    mnemonic: "ISETP",
    summary: "as ISETP on the upper half of a longer integer; pt is the comparison of the lower half",
    slots: &[
        P_OUT,
        P_OUT_2.optional(),
        A,
        B.imm(ImmFormat::Signed),
        P_IN,
        Slot::read("pt", Kinds::P).not().hidden().required().shown_on(Archs::AMPERE_TO_HOPPER).at(68, 3),
    ],
    mods: &[COMPARE, UNSIGNED, COMBINE, Modifier::new(ModKind::Variant, &[".EX"])],
    forms: Form::B,
    fixed: &[Fixed::new(72, 1, 1)],
    opcode: 0x20c,
    uniform: Some(Op::UISETP_EX),
    ..ALU
};

pub(super) static SHF: Row = Row {
    mnemonic: "SHF",
    summary: "d = the funnel c:a shifted by b: its low word (`.L` with low half) or its high one (`.HI`)",
    slots: &[D, A, B, C],
    mods: FUNNEL,
    forms: Form::BC,
    opcode: 0x219,
    uniform: Some(Op::USHF),
    ..ALU
};

/// The modifiers of a funnel shift.
pub(super) const FUNNEL: &[Modifier] = &[
    Modifier::new(ModKind::Mode, &[".L", ".R"]).at(76, 1),
    Modifier::new(ModKind::Combine, &["", ".W"]).at(75, 1),
    Modifier::new(ModKind::DataType, &[".U32", ".S32", ".U64", ".S64"]).codes(&[3, 2, 1, 0]).at(73, 2),
    Modifier::new(ModKind::Variant, &["", ".HI"]).at(80, 1),
];

pub(super) static LEA: Row = Row {
    mnemonic: "LEA",
    summary: "d = (a << shift) + b; pd is the carry",
    slots: &[D, P_OUT.hidden(), A.neg(), B.neg(), SHIFT],
    forms: Form::B,
    fixed: &[NO_C, NO_CARRY],
    opcode: 0x211,
    uniform: Some(Op::ULEA),
    ..ALU
};

pub(super) static LEA_X: Row = Row {
    mnemonic: "LEA.X",
    summary: "d = (a << shift) + b + ps; pd is the carry; `~` complements",
    slots: &[D, P_OUT.hidden(), A.not(), B.not(), SHIFT, Slot::read("ps", Kinds::P).not().at(87, 3)],
    forms: Form::B,
    fixed: &[NO_C, EXTENDED],
    opcode: 0x211,
    uniform: Some(Op::ULEA_X),
    ..ALU
};

/// The shift of a `LEA`, in bits.
pub(super) const SHIFT: Slot = Slot::read("shift", IMM).at(75, 5);
/// The upper word of the shifted pair.
const SHIFTED_HIGH: Slot = Slot::read("c", Kinds::R.or(Kinds::IMM)).reuse(2).place(Place::C);
/// The forms of a `LEA` that shifts a pair. If the upper word is an immediate, b moves to its place and has no sign.
const OF_PAIR: &[Form] = &[
    Form::B[0],
    Form::upper(&[("b", Shape::Register), ("c", Shape::Immediate)], 2)
        .with(&[(ModKind::Variant, &[""])])
        .places(&[
            ("b", Place::Number(Bits::new(64, 8), Signs::NONE)),
            ("c", Place::Number(Place::WIDE, Signs::NONE)),
        ]),
    Form::B[1],
    Form::B[2],
    Form::B[3],
];
/// The third operand of a `LEA` that has none.
const NO_C: Fixed = Fixed::new(64, 8, 0xff);
/// The predicate that a `LEA` without carry reads, all ones.
pub(super) const NO_CARRY: Fixed = Fixed::new(87, 4, 0xf);
/// The word of the shifted pair that a `LEA` adds to.
pub(super) const HIGH: Fixed = Fixed::new(80, 1, 1);
/// Whether a `LEA` adds a carry.
pub(super) const EXTENDED: Fixed = Fixed::new(74, 1, 1);
/// Whether a `LEA.HI` extends the sign of its first operand.
pub(super) const SX32: Modifier = Modifier::new(ModKind::Variant, &["", ".SX32"]).at(73, 1);

pub(super) static LEA_HI: Row = Row {
    mnemonic: "LEA.HI",
    summary: "d = (c:a >> (32 - shift)) + b; with `.SX32` the sign of a stands for c",
    slots: &[D, P_OUT.hidden(), A.neg(), B.neg(), SHIFTED_HIGH.hidden_with(".SX32"), SHIFT],
    mods: &[SX32],
    forms: OF_PAIR,
    fixed: &[NO_CARRY, HIGH],
    opcode: 0x211,
    uniform: Some(Op::ULEA_HI),
    ..ALU
};

pub(super) static LEA_HI_X: Row = Row {
    mnemonic: "LEA.HI.X",
    summary: "d = (c:a >> (32 - shift)) + b + ps; with `.SX32` the sign of a stands for c; `~` complements",
    slots: &[
        D,
        P_OUT.hidden(),
        A.not(),
        B.not(),
        SHIFTED_HIGH.optional().hidden_with(".SX32"),
        SHIFT,
        Slot::read("ps", Kinds::P).not().at(87, 3),
    ],
    mods: &[SX32],
    forms: OF_PAIR,
    fixed: &[HIGH, EXTENDED],
    opcode: 0x211,
    uniform: Some(Op::ULEA_HI_X),
    ..ALU
};

pub(super) static MOV: Row = Row {
    mnemonic: "MOV",
    summary: "d = b",
    slots: &[D, B],
    forms: Form::B,
    fixed: &[Fixed::new(72, 4, 0xf)],
    opcode: 0x202,
    uniform: Some(Op::UMOV),
    ..ALU
};

pub(super) static SEL: Row = Row {
    mnemonic: "SEL",
    summary: "d = ps ? a : b",
    slots: &[D, A, B, CHOICE],
    forms: Form::B,
    opcode: 0x207,
    uniform: Some(Op::USEL),
    ..ALU
};

/// The predicate that chooses between two operands.
const CHOICE: Slot = Slot::read("ps", Kinds::P).not().at(87, 3);

pub(super) static PRMT: Row = Row {
    mnemonic: "PRMT",
    summary: "d = four bytes of c:a chosen by the nibbles of b",
    slots: &[D, A, B, C],
    mods: &[PERMUTE],
    forms: Form::BC,
    opcode: 0x216,
    uniform: Some(Op::UPRMT),
    ..ALU
};

/// The meaning of the selector of a permutation.
pub(super) const PERMUTE: Modifier =
    Modifier::new(ModKind::Mode, &["", ".F4E", ".B4E", ".RC8", ".ECL", ".ECR", ".RC16"]).at(72, 3);

pub(super) static IABS: Row = Row {
    mnemonic: "IABS",
    summary: "d = |b|",
    slots: &[D, B.imm(ImmFormat::Signed)],
    forms: Form::B,
    opcode: 0x213,
    ..ALU
};

pub(super) static IMNMX: Row = Row {
    mnemonic: "VIMNMX",
    summary: "d = ps ? min(a, b) : max(a, b); `.RELU` makes a negative result zero",
    slots: &[D, A, B.imm(ImmFormat::Signed), CHOICE],
    mods: &[UNSIGNED, RELU],
    joint: &[Joint::new(&[ModKind::Sign], 72, 1, &[(&[".U32"], 0), (&[""], 1)]).on(Archs::HOPPER)],
    spellings: &[Spelling { archs: Archs::TURING_TO_ADA, mnemonic: "IMNMX", opcode: 0x217 }],
    forms: Form::B,
    fixed: &[NO_CHOICES.on(Archs::HOPPER)],
    opcode: 0x248,
    ..ALU
};

/// The predicate results that a `VIMNMX` lacks.
const NO_CHOICES: Fixed = Fixed::new(81, 6, 0x3f);
const RELU: Modifier =
    Modifier::new(ModKind::Sat, &["", ".RELU"]).limited(&[(".RELU", Archs::HOPPER)]).at(76, 1);
const VECTOR_SIGN: Modifier = UNSIGNED.at(72, 1);
const PAIR_SIGN: Modifier = Modifier::new(ModKind::Sign, &[".U16x2", ".S16x2"]).at(72, 1);
const PAIR: Fixed = Fixed::new(73, 1, 1);

pub(super) static VIMNMX_16X2: Row = Row {
    mnemonic: "VIMNMX",
    summary: "d = ps ? min(a, b) : max(a, b), on each half of a word; `.RELU` makes negative results zero",
    slots: &[D, A, B.imm(ImmFormat::Signed), CHOICE],
    mods: &[PAIR_SIGN, RELU],
    archs: Archs::HOPPER,
    forms: Form::B,
    fixed: &[NO_CHOICES, PAIR],
    opcode: 0x248,
    ..ALU
};

pub(super) static VIMNMX3: Row = Row {
    mnemonic: "VIMNMX3",
    summary: "d = ps ? min(a, b, c) : max(a, b, c); `.RELU` makes a negative result zero",
    slots: &[D, A, B, CR, CHOICE],
    mods: &[VECTOR_SIGN, RELU],
    archs: Archs::HOPPER,
    forms: Form::B,
    opcode: 0x20f,
    ..ALU
};

pub(super) static VIMNMX3_16X2: Row = Row {
    mnemonic: "VIMNMX3",
    summary: "d = ps ? min(a, b, c) : max(a, b, c), on each half of a word; `.RELU` makes negative results zero",
    slots: &[D, A, B, CR, CHOICE],
    mods: &[PAIR_SIGN, RELU],
    archs: Archs::HOPPER,
    forms: Form::B,
    fixed: &[PAIR],
    opcode: 0x20f,
    ..ALU
};

pub(super) static VIADDMNMX: Row = Row {
    mnemonic: "VIADDMNMX",
    summary: "d = ps ? min(a + b, c) : max(a + b, c); `.RELU` makes a negative result zero",
    slots: &[D, A, B.neg(), C, CHOICE],
    mods: &[VECTOR_SIGN, RELU],
    archs: Archs::HOPPER,
    forms: Form::BC,
    opcode: 0x246,
    ..ALU
};

pub(super) static VIADDMNMX_16X2: Row = Row {
    mnemonic: "VIADDMNMX",
    summary: "d = ps ? min(a + b, c) : max(a + b, c), on each half of a word; `.RELU` makes negative results zero",
    slots: &[D, A, B.neg(), C, CHOICE],
    mods: &[PAIR_SIGN, RELU],
    archs: Archs::HOPPER,
    forms: Form::BC,
    fixed: &[PAIR],
    opcode: 0x246,
    ..ALU
};

pub(super) static VABSDIFF: Row = Row {
    mnemonic: "VABSDIFF",
    summary: "d = |a - b| + c",
    slots: &[D, A, B, C],
    mods: &[UNSIGNED],
    forms: Form::BC,
    fixed: &[NO_RESULT],
    opcode: 0x214,
    ..ALU
};

/// The predicate result that these instructions lack.
const NO_RESULT: Fixed = Fixed::new(81, 3, 7);

pub(super) static VABSDIFF4: Row = Row {
    mnemonic: "VABSDIFF4",
    summary: "d = |a - b| on each byte, plus c, or their sum plus c (`.ACC`)",
    slots: &[D, A, B, C],
    mods: &[
        Modifier::new(ModKind::Sign, &[".U8", ""]).default_to(1).at(73, 1),
        Modifier::new(ModKind::Variant, &["", ".ACC"]).at(75, 1),
    ],
    forms: Form::BC,
    fixed: &[NO_RESULT],
    opcode: 0x215,
    ..ALU
};

pub(super) static SGXT: Row = Row {
    mnemonic: "SGXT",
    summary: "d = the lowest b bits of a, extended by their sign, or by zeros (`.U32`); `.W` takes b modulo 32",
    slots: &[D, A, B],
    mods: &[MODULO, UNSIGNED],
    forms: Form::B,
    opcode: 0x21a,
    ..ALU
};

pub(super) static BMSK: Row = Row {
    mnemonic: "BMSK",
    summary: "d = b ones from bit a on; `.W` takes both modulo 32",
    slots: &[D, A, B],
    mods: &[MODULO],
    forms: Form::B,
    opcode: 0x21b,
    ..ALU
};

pub(super) static PLOP3: Row = Row {
    mnemonic: "PLOP3.LUT",
    summary: "pd, pe = two functions of three predicates, each with its truth table",
    slots: &[
        P_OUT,
        P_OUT_2.optional(),
        Slot::read("pa", Kinds::P).not().at(87, 3),
        Slot::read("pb", Kinds::P).not().at(77, 3),
        Slot::read("pc", Kinds::P.or(Kinds::UP)).not().at(68, 3),
        FIRST_TABLE,
        SECOND_TABLE,
    ],
    forms: &[
        Form::same(&[("pc", Shape::Register)]),
        Form::same(&[("pc", Shape::Uniform)]).fixed(&[Fixed::new(67, 1, 1)]),
    ],
    opcode: 0x81c,
    ..ALU
};

/// The truth table of the first result of a `PLOP3`.
pub(super) const FIRST_TABLE: Slot =
    Slot::read("lut", IMM).place(Place::Split(Bits::new(64, 3), Bits::new(72, 5)));
/// The truth table of the second result.
pub(super) const SECOND_TABLE: Slot = Slot::read("lut2", IMM).at(16, 8);

pub(super) static PLOP3_SIGN: Row = Row {
    mnemonic: "PLOP3.LUT",
    summary: "pd, pe = two functions of whether a, b and c are negative, each with its truth table",
    slots: &[
        P_OUT,
        P_OUT_2.optional(),
        A.marked(SIGN),
        Slot::read("b", Kinds::R.or(Kinds::UR).or(Kinds::CONST)).reuse(1).place(Place::B).marked(SIGN),
        CR.marked(SIGN),
        Slot::read("lut", IMM).at(72, 8),
        SECOND_TABLE,
    ],
    forms: Form::B,
    opcode: 0x21f,
    ..ALU
};

/// The suffix of a number whose sign counts.
pub(crate) const SIGN: &str = ".SIGN";

pub(super) static MOV_LANES: Row = Row {
    mnemonic: "MOV",
    summary: "d = b in those lanes of each four whose bit is set in the mask, at the end",
    slots: &[D, B],
    mods: &[Modifier::new(
        ModKind::Mode,
        &[
            "0x0", "0x1", "0x2", "0x3", "0x4", "0x5", "0x6", "0x7", "0x8", "0x9", "0xa", "0xb", "0xc", "0xd",
            "0xe",
        ],
    )
    .at(72, 4)
    .stand(Stand::Last)],
    forms: Form::B,
    opcode: 0x202,
    ..ALU
};

pub(super) static FSWZADD: Row = Row {
    mnemonic: "FSWZADD",
    summary: "d = a + b, in each lane of four with signs of its own (`P`, `N`, `Z`); `.NDV` where the lanes may differ",
    slots: &[
        D,
        A,
        Slot::read("b", Kinds::R).reuse(2).at(64, 8),
        Slot::read("signs", IMM).imm(ImmFormat::Swizzle).at(32, 8),
    ],
    mods: &[
        Modifier::new(ModKind::Ftz, &["", ".FTZ"]).at(80, 1),
        Modifier::new(ModKind::Round, &["", ".RM", ".RP", ".RZ"]).at(78, 2),
        Modifier::new(ModKind::Variant, &["", ".NDV"]).at(77, 1),
    ],
    opcode: 0x822,
    ..ALU
};
