//! A kernel around an instruction: operands from memory, the instruction in several settings,
//! results to memory.
//!
//! Thread `t` has operand `k` at `in + 64 t + 8 k`, and the guard in the first byte after the
//! operands; result `r` goes to `out + 128 t + 8 r`. The settings are: only registers; a constant
//! as the last source; a constant as the first source; and under a guard, where the destination
//! keeps its old value in the other threads. Carries come from an addition before the instruction,
//! and an addition after it shows the carry out.

use std::fmt::Write;

use ptxc_families::sample::{Operand, Sample, TARGET, VERSION};
use ptxc_fuzz::random::Random;
use ptxc_ptx::check::types::{Class, Scalar};

use super::video;

/// Threads of the launch.
pub const THREADS: u32 = 64;
/// Bytes of operands per thread.
pub const IN_BYTES: u32 = 64;
/// Bytes of results per thread.
pub const OUT_BYTES: u32 = 128;
/// The index of the guard among the operands.
pub const GUARD: usize = 7;

/// The kind of an operand in one instance of the instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// The operand with this number in memory.
    Memory(usize),
    /// A constant.
    Constant(u64),
}

/// One setting of the instruction.
#[derive(Clone, Debug)]
pub struct Instance {
    /// The sources in order.
    pub sources: Vec<(Scalar, Bound)>,
    /// The results in order: their type, and the number of their place.
    pub results: Vec<(Scalar, usize)>,
    /// Whether it is under the guard.
    pub guarded: bool,
}

/// A kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The text.
    pub text: String,
    /// The settings in it.
    pub instances: Vec<Instance>,
}

/// The source that is a constant.
#[derive(Clone, Copy, PartialEq)]
enum Setting {
    Registers,
    LastConstant,
    FirstConstant,
    Guarded,
}

struct Writer<'a> {
    declarations: String,
    body: String,
    registers: usize,
    results: usize,
    /// The bits of the narrowest register: ptxas takes 8-bit types of conversions from and to bf16 in such registers only.
    narrowest: u32,
    random: &'a mut Random,
}

impl Writer<'_> {
    fn line(&mut self, line: &str) {
        self.body.push('\t');
        self.body.push_str(line);
        self.body.push('\n');
    }

    fn register(&mut self, ty: Scalar) -> String {
        let name = format!("%v{}", self.registers);
        self.registers += 1;
        let kind = match ty.class() {
            Class::Predicate => "pred".to_string(),
            _ => format!("b{}", ty.bits().max(self.narrowest)),
        };
        let _ = writeln!(self.declarations, "\t.reg .{kind} {name};");
        name
    }

    /// Loads operand number `place` into a register.
    fn load(&mut self, ty: Scalar, place: usize) -> String {
        let name = self.register(ty);
        let offset = 8 * place;
        if ty.class() == Class::Predicate {
            self.line(&format!("ld.global.u32 %word, [%in+{offset}];"));
            self.line("and.b32 %word, %word, 1;");
            self.line(&format!("setp.ne.u32 {name}, %word, 0;"));
        } else {
            self.line(&format!("ld.global.b{} {name}, [%in+{offset}];", ty.bits().max(self.narrowest)));
        }
        name
    }

    /// Stores a result at the next place.
    fn store(&mut self, ty: Scalar, name: &str) -> usize {
        let place = self.results;
        self.results += 1;
        let offset = 8 * place;
        if ty.class() == Class::Predicate {
            self.line(&format!("selp.u32 %word, 1, 0, {name};"));
            self.line(&format!("st.global.u32 [%out+{offset}], %word;"));
        } else {
            self.line(&format!("st.global.b{} [%out+{offset}], {name};", ty.bits().max(self.narrowest)));
        }
        place
    }

    /// A constant of the type, at most `greatest` if that is given, as bits and as text; `None` if
    /// PTX accepts no constant.
    fn constant(&mut self, ty: Scalar, greatest: Option<u64>) -> Option<(u64, String)> {
        if let Some(greatest) = greatest {
            let value = self.random.below(greatest as usize + 1) as u64;
            return Some((value, value.to_string()));
        }
        match ty.class() {
            Class::Bits | Class::Integer if ty.bits() <= 64 => {
                let bits = match self.random.below(3) {
                    0 => self.random.below(ty.bits() as usize + 2) as u64,
                    _ => self.random.word(ty.bits().max(8)),
                };
                let signed = ty.name().starts_with('s');
                let shift = 64 - ty.bits();
                let text = match signed {
                    true => (((bits << shift) as i64) >> shift).to_string(),
                    false => bits.to_string(),
                };
                Some((bits, text))
            }
            Class::Float if ty.bits() == 32 => {
                let bits = self.random.pick(&[
                    0x3fc0_0000u32,
                    0xc0a0_0000,
                    0,
                    0x8000_0000,
                    0x7f80_0000,
                    0x4f00_0000,
                ]);
                Some((bits.into(), format!("0f{bits:08X}")))
            }
            _ => None,
        }
    }

    fn instance(&mut self, sample: &Sample, setting: Setting) -> Option<Instance> {
        let sources: Vec<usize> = (0..sample.operands.len())
            .filter(|&index| matches!(sample.operands[index], Operand::Source(..)))
            .collect();
        let wants = match setting {
            Setting::Registers | Setting::Guarded => None,
            Setting::LastConstant => Some(*sources.last()?),
            Setting::FirstConstant if sources.len() < 2 => return None,
            Setting::FirstConstant => Some(sources[0]),
        };
        // Only a register has parts, and a SIMD video instruction reads parts of every source.
        if wants.is_some_and(|index| sample.mark(index) != ("", ""))
            || wants.is_some() && video::is_simd(sample)
        {
            return None;
        }
        let (mut written, mut read) = (Vec::new(), Vec::new());
        let mut texts = Vec::new();
        let mut place = 0;
        for (index, operand) in sample.operands.iter().enumerate() {
            match *operand {
                Operand::Source(ty, greatest) => {
                    let mask = sample.is_mask(index);
                    let constant = match (mask, wants == Some(index)) {
                        (true, _) => Some((0xffff_ffff, "0xffffffff".to_string())),
                        (_, true) => Some(self.constant(ty, greatest)?),
                        _ => None,
                    };
                    let (bound, text) = match constant {
                        Some((bits, text)) => (Bound::Constant(bits), text),
                        None => (Bound::Memory(place), self.load(ty, place)),
                    };
                    place += 1;
                    read.push((ty, bound));
                    let (before, after) = sample.mark(index);
                    texts.push(format!("{before}{text}{after}"));
                }
                Operand::SourcePair(ty) => {
                    let names = [self.load(ty, place), self.load(ty, place + 1)];
                    read.extend([(ty, Bound::Memory(place)), (ty, Bound::Memory(place + 1))]);
                    place += 2;
                    texts.push(format!("{{{}, {}}}", names[0], names[1]));
                }
                Operand::Constant(greatest) => {
                    let value = self.random.below(greatest as usize + 1) as u64;
                    let ty = Scalar::parse("u32").expect("a type");
                    read.push((ty, Bound::Constant(value)));
                    texts.push(value.to_string());
                }
                Operand::Dest(ty, second) => {
                    let name = if setting == Setting::Guarded { self.load(ty, 6) } else { self.register(ty) };
                    written.push((ty, name.clone()));
                    match second {
                        None => texts.push(name + sample.mark(index).1),
                        Some(second_ty) => {
                            let other = if setting == Setting::Guarded {
                                self.load(second_ty, 6)
                            } else {
                                self.register(second_ty)
                            };
                            texts.push(format!("{name}|{other}"));
                            written.push((second_ty, other));
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
        let guarded = setting == Setting::Guarded;
        let parts = sample.parts();
        let takes_carry = matches!(parts[0], "addc" | "subc" | "madc");
        let gives_carry = parts.contains(&"cc");
        if takes_carry {
            // The least significant bit of the operand after the last one becomes the carry.
            self.line("ld.global.u32 %word, [%in+40];");
            self.line("and.b32 %word, %word, 1;");
            self.line("add.cc.u32 %word, %word, 0xffffffff;");
        }
        let guard = if guarded { "@%guard " } else { "" };
        self.line(&format!("{guard}{} {};", sample.opcode, texts.join(", ")).replace(" ;", ";"));
        let word = Scalar::parse("u32").expect("a type");
        if gives_carry && !guarded {
            self.line("addc.u32 %carry, 0, 0;");
        }
        let mut results: Vec<_> = written.iter().map(|(ty, name)| (*ty, self.store(*ty, name))).collect();
        if gives_carry && !guarded {
            results.push((word, self.store(word, "%carry")));
        }
        Some(Instance { sources: read, results, guarded })
    }
}

/// The kernel of an instruction.
pub fn kernel(sample: &Sample, random: &mut Random) -> Kernel {
    let is_exact = sample.mnemonic() == "cvt" && sample.opcode.contains(".bf16");
    let narrowest = if is_exact { 8 } else { 16 };
    let mut writer = Writer {
        declarations: String::new(),
        body: String::new(),
        registers: 0,
        results: 0,
        narrowest,
        random,
    };
    let convergent = matches!(
        sample.mnemonic(),
        "shfl" | "vote" | "match" | "redux" | "elect" | "activemask" | "nanosleep"
    );
    let mut settings = vec![Setting::Registers, Setting::LastConstant, Setting::FirstConstant];
    if !convergent && !matches!(sample.operands[0], Operand::DestPair(_)) {
        settings.push(Setting::Guarded);
    }
    let instances = settings.into_iter().filter_map(|setting| writer.instance(sample, setting)).collect();
    let Writer { declarations, body, results, .. } = writer;
    assert!(8 * results as u32 <= OUT_BYTES, "the results fit");
    let text = format!(
        ".version {VERSION}\n.target {TARGET}\n.address_size 64\n\
         .visible .entry forms(.param .u64 in, .param .u64 out)\n{{\n\
         \t.reg .b32 %word, %thread, %carry;\n\t.reg .b64 %in, %out, %offset;\n\t.reg .pred %guard;\n{declarations}\
         \tmov.u32 %thread, %tid.x;\n\
         \tld.param.u64 %in, [in];\n\tmul.wide.u32 %offset, %thread, {IN_BYTES};\n\tadd.u64 %in, %in, %offset;\n\
         \tld.param.u64 %out, [out];\n\tmul.wide.u32 %offset, %thread, {OUT_BYTES};\n\tadd.u64 %out, %out, %offset;\n\
         \tld.global.u32 %word, [%in+{}];\n\tand.b32 %word, %word, 1;\n\tsetp.ne.u32 %guard, %word, 0;\n\
         {body}\tret;\n}}\n",
        8 * GUARD
    );
    Kernel { text, instances }
}
