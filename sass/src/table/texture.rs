//! Reads of textures: filtered reads, single texels, gathers, reads with derivatives, and queries
//! about a texture.
//!
//! A handle of 32 bits names the texture and the sampler. It is in a constant bank (`0x0, 0x58` is
//! word 0x58 of bank 0), in a pair of uniform registers (`UR4, 0x0`), or, with `.B`, in the first
//! register of the second source. [`image`](super::image) tells what the registers of an access
//! hold.

use ptxc_machine::Archs;

use super::kinds::ImageOperand;
use super::memory::CACHE;
use super::place::{Bits, Fixed, Form, Place, Shape, Signs};
use super::row::{
    Completion, Effects, ImmFormat, Kinds, LatencyClass, Memory, ModKind, Modifier, Pipe, Returns, Row, Slot,
    Space, Stand, Width,
};

const TEXTURE: Row = Row {
    pipe: Pipe::Tex,
    latency: LatencyClass::MioFast,
    completion: Completion::Variable,
    effects: Effects { reads_memory: true, ..Effects::NONE },
    ..Row::BASE
};

/// Whether the texel is resident, for textures that are only partly in memory.
const PD: Slot = Slot::def("pd", Kinds::P).hidden().at(81, 3);
const HIGH: Slot = Slot::def("high", Kinds::R).width(Width::Image(ImageOperand::High)).at(64, 8);
const LOW: Slot = Slot::def("d", Kinds::R).width(Width::Image(ImageOperand::Low)).place(Place::D);
const A: Slot = Slot::read("a", Kinds::R)
    .width(Width::Image(ImageOperand::First))
    .never_zero(Archs::TURING_TO_HOPPER)
    .at(24, 8);
const B: Slot = Slot::read("b", Kinds::R).width(Width::Image(ImageOperand::Second)).at(32, 8);
/// The text omits an empty second source.
const NO_B: Slot = B.hidden();
/// The constant bank of the handle, or a pair of uniform registers with it.
pub(super) const IN_UNIFORM: Slot = Slot::read("texture", Kinds::IMM.or(Kinds::UR))
    .width(Width::Fixed(2))
    .never_zero(Archs::TURING_TO_HOPPER);
/// The word of the bank, or of the memory that the uniform registers name.
pub(super) const WORD: Slot = Slot::read("word", Kinds::IMM);

const fn immediate(lo: u8, len: u8) -> Place {
    Place::Number(Bits::new(lo, len), Signs::NONE)
}

/// The places for a handle in a constant bank.
pub(super) const IN_BANK_AT: &[(&str, Place)] = &[("texture", immediate(54, 5)), ("word", immediate(40, 14))];
/// The places for a handle in uniform registers.
pub(super) const IN_UNIFORM_AT: &[(&str, Place)] =
    &[("texture", immediate(40, 6)), ("word", immediate(46, 8))];
/// Bit 91: there is a uniform register.
pub(super) const BY_UNIFORM: &[Fixed] = &[Fixed::new(91, 1, 1)];
/// The forms with the handle in a constant bank, or in uniform registers.
macro_rules! forms {
    ($bank:literal, $uniform:literal) => {
        &[
            Form::same(&[("texture", Shape::Immediate)]).opcode($bank).places(IN_BANK_AT),
            Form::same(&[("texture", Shape::Register)])
                .opcode($uniform)
                .places(IN_UNIFORM_AT)
                .fixed(BY_UNIFORM),
        ]
    };
}
pub(super) use forms;
/// Bit 59: the handle is in a register.
const BY_REGISTER: &[Fixed] = &[Fixed::new(59, 1, 1)];

/// Divides the sources evenly.
const EVENLY: Modifier = Modifier::new(ModKind::Variant, &["", ".SCR"]).at(60, 1);
const EVENLY_B: Modifier = Modifier::new(ModKind::Variant, &[".B", ".SCR.B"]).at(60, 1);
const HALVES: Modifier = Modifier::new(ModKind::DataType, &["", ".F16.RN", ".F16.RZ"]).at(79, 2);
/// The level: by derivatives between lanes, the lowest, with a bias, or the given one; not below a
/// given least level.
const LEVEL: Modifier =
    Modifier::new(ModKind::Mode, &["", ".LZ", ".LB", ".LL", ".LC", ".LB.LC", ".LC.FDV"]).at(87, 3);
const LEVEL_OF_TEXEL: Modifier = Modifier::new(ModKind::Mode, &[".LZ", ".LL"]).at(87, 3).codes(&[1, 3]);
const OFFSET: Modifier = Modifier::new(ModKind::Sources, &["", ".AOFFI"]).at(76, 1);
const SOURCES: Modifier =
    Modifier::new(ModKind::Sources, &["", ".AOFFI", ".DC", ".AOFFI.DC"]).at(76, 1).and_at(78, 1);
const SOURCES_OF_FOUR: Modifier =
    Modifier::new(ModKind::Sources, &["", ".AOFFI", ".PTP", ".DC", ".AOFFI.DC", ".PTP.DC"])
        .at(76, 3)
        .codes(&[0, 1, 2, 4, 5, 6]);
const NODEP: Modifier = Modifier::new(ModKind::Hint, &["", ".NODEP"]).at(90, 1);
const HINTS: Modifier =
    Modifier::new(ModKind::Hint, &["", ".NDV", ".NODEP", ".NDV.NODEP"]).at(77, 1).and_at(90, 1);
/// The wanted components, a bit each; all components by default.
const COMPONENTS: Modifier = Modifier::new(
    ModKind::Components,
    &[
        "", "0x0", "0x1", "0x2", "0x3", "0x4", "0x5", "0x6", "0x7", "0x8", "0x9", "0xa", "0xb", "0xc", "0xd",
        "0xe",
    ],
)
.at(72, 4)
.codes(&[15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14])
.stand(Stand::Last);

const fn shapes(values: &'static [&'static str], codes: &'static [u16]) -> Modifier {
    Modifier::new(ModKind::Shape, values).at(61, 3).codes(codes).stand(Stand::Last)
}

const SHAPES: Modifier =
    shapes(&["1D", "2D", "3D", "CUBE", "ARRAY_1D", "ARRAY_2D", "ARRAY_CUBE"], &[0, 1, 2, 3, 4, 5, 7]);
const SHAPES_OF_TEXELS: Modifier = shapes(&["1D", "2D", "3D", "ARRAY_1D", "ARRAY_2D"], &[0, 1, 2, 4, 5]);
const SHAPES_OF_FOUR: Modifier = shapes(&["2D", "CUBE", "ARRAY_2D", "ARRAY_CUBE"], &[1, 3, 5, 7]);
const SHAPES_WITH_DERIVATIVES: Modifier = shapes(&["1D", "2D", "ARRAY_1D", "ARRAY_2D"], &[0, 1, 4, 5]);

const BOUND: &[Slot] = &[PD, HIGH, LOW, A, NO_B, IN_UNIFORM, WORD];
const UNBOUND: &[Slot] = &[PD, HIGH, LOW, A, B.never_zero(Archs::TURING_TO_HOPPER)];

pub(super) static TEX: Row = Row {
    mnemonic: "TEX",
    summary: "read a texture through its sampler",
    slots: BOUND,
    mods: &[EVENLY, HALVES, LEVEL, SOURCES, CACHE, HINTS, SHAPES, COMPONENTS],
    forms: forms!(0xb60, 0xf60),
    opcode: 0xb60,
    memory: Memory::In(Space::Global),
    returns: Returns::Texture,
    ..TEXTURE
};

pub(super) static TEX_B: Row = Row {
    summary: "read a texture, whose handle is in a register, through its sampler",
    slots: UNBOUND,
    mods: &[EVENLY_B, HALVES, LEVEL, SOURCES, CACHE, HINTS, SHAPES, COMPONENTS],
    forms: &[],
    fixed: BY_REGISTER,
    opcode: 0x361,
    memory: Memory::In(Space::Global),
    returns: Returns::Texture,
    ..TEX
};

/// `.MS`: from one of the samples of a texel; `.CL`: places outside are moved to the border.
const SAMPLE: Modifier = Modifier::new(
    ModKind::Hint,
    &["", ".MS", ".CL", ".MS.CL", ".NODEP", ".MS.NODEP", ".CL.NODEP", ".MS.CL.NODEP"],
)
.at(78, 1)
.and_at(77, 1)
.and_at(90, 1);

pub(super) static TLD: Row = Row {
    mnemonic: "TLD",
    summary: "read a texel of a texture, as it is",
    mods: &[EVENLY, HALVES, LEVEL_OF_TEXEL, OFFSET, CACHE, SAMPLE, SHAPES_OF_TEXELS, COMPONENTS],
    forms: forms!(0xb66, 0xf66),
    opcode: 0xb66,
    memory: Memory::In(Space::Global),
    returns: Returns::Texture,
    ..TEX
};

pub(super) static TLD_B: Row = Row {
    summary: "read a texel of a texture whose handle is in a register, as it is",
    slots: UNBOUND,
    mods: &[EVENLY_B, HALVES, LEVEL_OF_TEXEL, OFFSET, CACHE, SAMPLE, SHAPES_OF_TEXELS, COMPONENTS],
    forms: &[],
    fixed: BY_REGISTER,
    opcode: 0x367,
    memory: Memory::In(Space::Global),
    returns: Returns::Texture,
    ..TLD
};

const COMPONENT: Modifier = Modifier::new(ModKind::Mode, &[".R", ".G", ".B", ".A"]).at(87, 2);
const COMPONENT_B: Modifier = Modifier::new(ModKind::Mode, &[".R.B", ".G.B", ".B.B", ".A.B"]).at(87, 2);

pub(super) static TLD4: Row = Row {
    mnemonic: "TLD4",
    summary: "read one component of the four texels between which a filter would choose",
    mods: &[EVENLY, COMPONENT, HALVES, SOURCES_OF_FOUR, CACHE, NODEP, SHAPES_OF_FOUR, COMPONENTS],
    forms: forms!(0xb63, 0xf63),
    opcode: 0xb63,
    memory: Memory::In(Space::Global),
    returns: Returns::Texture,
    ..TEX
};

pub(super) static TLD4_B: Row = Row {
    summary: "read one component of four texels of a texture whose handle is in a register",
    slots: UNBOUND,
    mods: &[EVENLY, COMPONENT_B, HALVES, SOURCES_OF_FOUR, CACHE, NODEP, SHAPES_OF_FOUR, COMPONENTS],
    forms: &[],
    fixed: BY_REGISTER,
    opcode: 0x364,
    memory: Memory::In(Space::Global),
    returns: Returns::Texture,
    ..TLD4
};

const LEAST: Modifier = Modifier::new(ModKind::Mode, &["", ".LC"]).at(87, 1);

pub(super) static TXD: Row = Row {
    mnemonic: "TXD",
    slots: &[PD, HIGH, LOW, A, B, IN_UNIFORM, WORD],
    summary: "read a texture at the level of the derivatives given",
    mods: &[HALVES, LEAST, OFFSET, CACHE, NODEP, SHAPES_WITH_DERIVATIVES, COMPONENTS],
    forms: forms!(0xb6c, 0xf6c),
    opcode: 0xb6c,
    memory: Memory::In(Space::Global),
    returns: Returns::Texture,
    ..TEX
};

pub(super) static TXD_B: Row = Row {
    mnemonic: "TXD.B",
    summary: "read a texture, whose handle is in a register, at the level of the derivatives given",
    slots: &[PD, HIGH, LOW, A, B],
    forms: &[],
    fixed: BY_REGISTER,
    opcode: 0x36d,
    memory: Memory::In(Space::Global),
    returns: Returns::Texture,
    ..TXD
};

const QUERY: Slot = Slot::read("query", Kinds::IMM)
    .imm(ImmFormat::Named(&["TEX_HEADER_DIMENSION", "TEX_HEADER_TEXTURE_TYPE", "TEX_HEADER_SAMPLER_POS"]))
    .place(immediate(62, 2));
/// The wanted words of the answer; always printed.
const WORDS: Modifier = Modifier::new(
    ModKind::Components,
    &[
        "0x0", "0x1", "0x2", "0x3", "0x4", "0x5", "0x6", "0x7", "0x8", "0x9", "0xa", "0xb", "0xc", "0xd",
        "0xe", "0xf",
    ],
)
.default_to(15)
.at(72, 4)
.stand(Stand::Last);

pub(super) static TXQ: Row = Row {
    mnemonic: "TXQ",
    summary: "query the size, the kind or the sample positions of a texture",
    slots: &[HIGH, LOW, A, QUERY, IN_UNIFORM, WORD],
    mods: &[NODEP, WORDS],
    forms: forms!(0xb6f, 0xf6f),
    effects: Effects::NONE,
    opcode: 0xb6f,
    returns: Returns::Texture,
    memory: Memory::None,
    ..TEX
};

pub(super) static TXQ_B: Row = Row {
    mnemonic: "TXQ.B",
    summary: "query the size, the kind or the sample positions of a texture whose handle is in a register",
    slots: &[HIGH, LOW, A, QUERY],
    forms: &[],
    fixed: BY_REGISTER,
    opcode: 0x370,
    returns: Returns::Texture,
    ..TXQ
};
