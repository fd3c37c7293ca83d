//! A kernel with one instruction in many settings: the operand with a sign, the sign, the source of
//! its value, and the source of the other operands.
//!
//! Thread `t` has operand `k` at `in + IN_BYTES t + 8 k`. Parameter `k` and word `k` of the
//! constant variable have the same value for all threads. Each result has 8 bytes of its own.

use std::fmt::Write;

use ptxc_ptx::check::types::{Class, Scalar};

use crate::sample::{Operand, Sample, TARGET, VERSION, register_type};

/// Threads of the launch.
pub(super) const THREADS: u32 = 32;
/// Bytes of operands per thread.
pub(super) const IN_BYTES: u32 = 64;
/// The number of operands that can be parameters.
pub(super) const PARAMETERS: usize = 6;

/// A kernel.
pub(super) struct Kernel {
    /// The text.
    pub(super) text: String,
    /// The number of settings.
    pub(super) settings: usize,
    /// The type of each result, and the instruction.
    pub(super) results: Vec<(Scalar, String)>,
}

impl Kernel {
    /// Bytes of results per thread.
    pub(super) fn out_bytes(&self) -> u32 {
        8 * self.results.len() as u32
    }

    /// The operands of all threads.
    pub(super) fn input(&self) -> Vec<u8> {
        (0..u64::from(THREADS * IN_BYTES / 8)).flat_map(|index| number(index).to_le_bytes()).collect()
    }

    /// The value of a parameter.
    pub(super) fn parameter(&self, index: usize) -> u64 {
        number(1000 + index as u64)
    }
}

/// A pseudo-random number that is not a NaN in any format at any position: of the upper two bits of
/// the exponent in each half, at most one is set.
fn number(index: u64) -> u64 {
    let mut bits = (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits ^= bits >> 29;
    bits = bits.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits ^= bits >> 32;
    match index % 5 {
        0 => bits & 0x8000_0000_8000_0000 | 0x3ff8_0000_3fc0_3e00,
        1 => bits & 0x7,
        _ => bits & !(0x2000_2000_2000_2000 & bits >> 1),
    }
}

/// The source of a value.
#[derive(Clone, Copy, PartialEq)]
enum From {
    Memory,
    Parameter,
    Constant,
}

/// The source of the value with the sign, and that of the others.
const PLACES: [(From, From); 5] = [
    (From::Memory, From::Memory),
    (From::Memory, From::Parameter),
    (From::Parameter, From::Memory),
    (From::Constant, From::Memory),
    (From::Constant, From::Parameter),
];

/// Instructions that apply a sign to a value of a type.
fn signs(ty: Scalar) -> &'static [&'static str] {
    match (ty.class(), ty.name(), ty.bits()) {
        (Class::Predicate, ..) => &["not.pred"],
        (_, "f64", _) => &["neg.f64", "abs.f64"],
        (_, "f32", _) => &["neg.f32", "abs.f32"],
        (_, "f16", _) => &["neg.f16", "abs.f16"],
        (_, "bf16", _) => &["neg.bf16", "abs.bf16"],
        (_, "f16x2", _) => &["neg.f16x2", "abs.f16x2"],
        (_, "bf16x2", _) => &["neg.bf16x2", "abs.bf16x2"],
        (Class::Bits | Class::Integer, _, 8 | 16) => &["neg.s16", "not.b16", "abs.s16"],
        (Class::Bits, _, 32) => &["neg.s32", "not.b32", "abs.s32", "neg.f32", "neg.f16x2"],
        (_, _, 32) => &["neg.s32", "not.b32", "abs.s32"],
        (Class::Bits | Class::Integer, _, 64) => &["neg.s64", "not.b64", "abs.s64"],
        _ => &[],
    }
}

#[derive(Default)]
struct Writer {
    declarations: String,
    body: String,
    registers: usize,
    settings: usize,
    results: Vec<(Scalar, String)>,
}

impl Writer {
    fn line(&mut self, line: &str) {
        self.body.push('\t');
        self.body.push_str(line);
        self.body.push('\n');
    }

    fn register(&mut self, ty: Scalar) -> String {
        let name = format!("%v{}", self.registers);
        self.registers += 1;
        let _ = writeln!(self.declarations, "\t.reg {} {name};", register_type(ty));
        name
    }

    /// Loads operand number `place` into a register.
    fn load(&mut self, ty: Scalar, place: usize, from: From) -> String {
        let name = self.register(ty);
        let (space, address) = match from {
            From::Memory => ("global", format!("%in+{}", 8 * place)),
            From::Parameter => ("param", format!("p{place}")),
            From::Constant => ("const", format!("words+{}", 8 * place)),
        };
        if ty.class() == Class::Predicate {
            self.line(&format!("ld.{space}.u32 %word, [{address}];"));
            self.line("and.b32 %word, %word, 1;");
            self.line(&format!("setp.ne.u32 {name}, %word, 0;"));
        } else {
            self.line(&format!("ld.{space}.b{} {name}, [{address}];", ty.bits().max(16)));
        }
        name
    }

    /// Stores a result at the next place.
    fn store(&mut self, ty: Scalar, name: &str, line: &str) {
        let offset = 8 * self.results.len();
        self.results.push((ty, line.to_string()));
        if ty.class() == Class::Predicate {
            self.line(&format!("selp.u32 %word, 1, 0, {name};"));
            self.line(&format!("st.global.u32 [%out+{offset}], %word;"));
        } else {
            self.line(&format!("st.global.b{} [%out+{offset}], {name};", ty.bits().max(16)));
        }
    }

    /// The instruction with one or all of these operands signed.
    fn setting(&mut self, sample: &Sample, signed: &[(usize, &str)], (own, others): (From, From)) {
        let (mut texts, mut written) = (Vec::new(), Vec::new());
        let mut place = 0;
        for (index, operand) in sample.operands.iter().enumerate() {
            let sign = signed.iter().find(|(at, _)| *at == index).map(|&(_, sign)| sign);
            let from = if sign.is_some() { own } else { others };
            match *operand {
                Operand::Source(..) if sample.is_mask(index) => texts.push("0xffffffff".to_string()),
                Operand::Source(ty, _) => {
                    let name = self.source(ty, place, from, sign);
                    place += 1;
                    texts.push(name);
                }
                Operand::SourcePair(ty) => {
                    let names = [0, 1].map(|half| self.source(ty, place + half, from, sign));
                    place += 2;
                    texts.push(format!("{{{}, {}}}", names[0], names[1]));
                }
                Operand::Constant(greatest) => texts.push((greatest / 2).to_string()),
                Operand::Dest(ty, second) => {
                    let name = self.register(ty);
                    written.push((ty, name.clone()));
                    match second {
                        None => texts.push(name),
                        Some(second) => {
                            let other = self.register(second);
                            texts.push(format!("{name}|{other}"));
                            written.push((second, other));
                        }
                    }
                }
                Operand::DestPair(ty) => {
                    let names = [self.register(ty), self.register(ty)];
                    texts.push(format!("{{{}, {}}}", names[0], names[1]));
                    written.extend(names.map(|name| (ty, name)));
                }
            }
        }
        if matches!(sample.mnemonic(), "addc" | "subc" | "madc") {
            self.line("ld.global.u32 %word, [%in+56];");
            self.line("add.cc.u32 %word, %word, 0x80000000;");
        }
        let line = format!("{} {};", sample.opcode, texts.join(", "));
        self.line(&line);
        let all: Vec<&str> = signed.iter().map(|&(_, sign)| sign).collect();
        let named = format!("{line} signed {}", all.join(", "));
        for (ty, name) in written {
            self.store(ty, &name, &named);
        }
        self.settings += 1;
    }

    fn source(&mut self, ty: Scalar, place: usize, from: From, sign: Option<&str>) -> String {
        let plain = self.load(ty, place, from);
        let Some(sign) = sign else { return plain };
        let name = self.register(ty);
        self.line(&format!("{sign} {name}, {plain};"));
        name
    }

    fn finish(self) -> Kernel {
        let Writer { declarations, body, settings, results, .. } = self;
        let parameters: Vec<String> = (0..PARAMETERS).map(|index| format!(".param .u64 p{index}")).collect();
        let words: Vec<String> =
            (0..PARAMETERS as u64).map(|index| number(2000 + index).to_string()).collect();
        let out = 8 * results.len();
        let text = format!(
            ".version {VERSION}\n.target {TARGET}\n.address_size 64\n\
             .const .align 8 .u64 words[{PARAMETERS}] = {{{}}};\n\
             .visible .entry signs(.param .u64 in, {}, .param .u64 out)\n{{\n\
             \t.reg .b32 %word, %thread;\n\t.reg .b64 %in, %out, %offset;\n{declarations}\
             \tmov.u32 %thread, %tid.x;\n\
             \tld.param.u64 %in, [in];\n\tmad.wide.u32 %in, %thread, {IN_BYTES}, %in;\n\
             \tld.param.u64 %out, [out];\n\tmad.wide.u32 %out, %thread, {out}, %out;\n\
             {body}\tret;\n}}\n",
            words.join(", "),
            parameters.join(", "),
        );
        Kernel { text, settings, results }
    }
}

/// The kernel of an instruction without signs, in all settings.
pub(super) fn plain(sample: &Sample) -> Kernel {
    let mut writer = Writer::default();
    PLACES.iter().for_each(|&places| writer.setting(sample, &[], places));
    writer.finish()
}

/// The kernel of an instruction with signs.
pub(super) fn signed(sample: &Sample) -> Kernel {
    let mut writer = Writer::default();
    let sources: Vec<(usize, &[&str])> = (0..sample.operands.len())
        .filter(|&index| !sample.is_mask(index))
        .filter_map(|index| match sample.operands[index] {
            Operand::Source(ty, _) | Operand::SourcePair(ty) => Some((index, signs(ty))),
            _ => None,
        })
        .collect();
    for &(index, signs) in &sources {
        for &sign in signs {
            PLACES.iter().for_each(|&places| writer.setting(sample, &[(index, sign)], places));
        }
    }
    // All at once: the last sign of each.
    let all: Vec<(usize, &str)> =
        sources.iter().filter_map(|&(index, signs)| Some((index, *signs.last()?))).collect();
    if all.len() > 1 {
        PLACES.iter().for_each(|&places| writer.setting(sample, &all, places));
    }
    writer.finish()
}
