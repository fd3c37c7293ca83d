//! Reads of textures, and the handles of textures and surfaces.
//!
//! ```text
//! v5, v6, v7, v8, v9 = texture.level.2d v0, v1, v2, v3
//!     =>   TEX.SCR.LL %r8, %r10, %r2, %r4, 0x0, 0x58, 2D       before sm_90: v0 is a parameter
//!          TEX.LL %r8, %r10, %r2, %r4, %ur0, 0x0, 2D           sm_90
//! ```
//!
//! A handle is the low word of 64 bits. It is in a constant bank, else in a general register, and
//! on sm_90 always in a uniform one, with the handle of the sampler in the next. Before sm_90 the
//! handle of a sampler is in the upper 12 bits of that of the texture. The operands are two tuples:
//! the layer and the coordinates; the handle in a register, the level, the sample, the offset and
//! the number to compare with. Before sm_90 up to four operands are divided evenly (`.SCR`). The
//! sources of `TXD` are divided otherwise.
//!
//! Only the components that are used are read. They are two tuples as well: the first two, and the
//! rest. A filtered read of a row is one of a plane with the second coordinate 0. A read at the
//! least level has the level −32, below the least of any sampler.

use ptxc_ir::{Dimension, Fetch, Inst as IrInst, Op as IrOp, Sampling, Shape, Value};
use ptxc_machine::Feature;
use ptxc_sass::{Choices, Inst, Op, Operand, RegFile, choice, slot};

use super::lower::Lower;
use super::source::Src;
use crate::mir::VReg;

/// The level below the least of any sampler: −32.
const LEAST_LEVEL: u32 = 0xc200_0000;

/// A handle as operands of an instruction.
pub(super) enum Handle {
    /// Two operands: a constant bank or uniform registers, and a number.
    Operands([Operand<VReg>; 2]),
    /// A word among the other sources.
    Word(Src),
}

/// A modifier value that all reads of textures share.
macro_rules! any_texture {
    ($kind:ident = $text:literal) => {
        choice!(TEX | TEX_B | TLD | TLD_B | TLD4 | TLD4_B | TXD | TXD_B, $kind = $text)
    };
}

/// The same for `TEX` and `TLD`.
macro_rules! tex_or_tld {
    ($kind:ident = $text:literal) => {
        choice!(TEX | TEX_B | TLD | TLD_B, $kind = $text)
    };
}

impl Lower<'_> {
    /// The handle of a texture, or of a surface.
    pub(super) fn handle(&mut self, op: &IrOp, handle: Value, sampler: Option<Value>) -> Option<Handle> {
        let is_surface = !matches!(op, IrOp::Texture(_) | IrOp::ImageSize(_));
        let words = [self.half(handle, 0), sampler.map_or(Src::Imm(0), |sampler| self.half(sampler, 0))];
        if self.arch.has(Feature::UniformHandles) {
            if ![Some(handle), sampler].into_iter().flatten().all(|value| self.lanes_agree(value)) {
                self.unsupported(op, "a handle for which lanes have no turns");
                return None;
            }
            let count = if is_surface { 1 } else { 2 };
            return Some(Handle::Operands([self.uniform_sources(&words[..count]), Operand::imm(0)]));
        }
        let bank = match words {
            [Src::Bank(at), Src::Imm(0)] if sampler.is_none() && at.offset % 4 == 0 => Some(at),
            _ => None,
        };
        if let Some(at) = bank {
            return Some(Handle::Operands([at.bank.into(), at.offset / 4].map(Operand::imm)));
        }
        Some(Handle::Word(words[0]))
    }

    /// The handle of a sampler in the upper 12 bits of that of a texture, in a register.
    fn joined_handle(&mut self, texture: Src, sampler: Src) -> VReg {
        let [moved, joined] = [self.temp(), self.temp()];
        let (texture, sampler) = (self.gpr(texture), self.gpr(sampler));
        let shift = Inst::new(Op::SHF).with(choice!(SHF, ".L", ".U32"));
        self.emit(shift.ops([Operand::reg(moved), sampler, Operand::imm(20), Operand::rz()]));
        // The low bits of the texture, the others of the sampler.
        let sources = [texture, Operand::imm(0xf_ffff), Operand::reg(moved), Operand::imm(0xe2)];
        let [a, b, c, table] = sources;
        self.emit(Inst::new(Op::LOP3).ops([Operand::reg(joined), a, b, c, table]));
        joined
    }

    /// Sources in neighbouring registers, which the instruction may not replace by RZ.
    pub(super) fn neighbours(&mut self, sources: &[Source]) -> VReg {
        if let [Source::Of(Src::Word(value, component))] = *sources {
            return self.reg_of(value).offset(component);
        }
        let tuple = self.mir.new_vreg(RegFile::Gpr, sources.len() as u8);
        for (n, source) in (0..).zip(sources) {
            let to = tuple.offset(n);
            match *source {
                Source::Value(value) => self.place(value, to),
                Source::Of(from) => self.copy_to(to, from),
                Source::Made(from) => {
                    self.emit(Inst::new(Op::MOV).ops([Operand::reg(to), Operand::reg(from)]));
                }
            }
        }
        tuple
    }

    /// The registers of the results of a read: two tuples, for the components that are used.
    pub(super) fn components(&mut self, inst: IrInst, sampling: Sampling) {
        let words = &self.func.results(inst)[..usize::from(sampling.words())];
        let used: Vec<Value> = words.iter().copied().filter(|&word| self.use_count(word) > 0).collect();
        // Halves take two components to a word, and each tuple has at most two components.
        let most = if sampling.half { 1 } else { 2 };
        for part in used.chunks(most) {
            let tuple = self.mir.new_vreg(RegFile::Gpr, part.len() as u8);
            for (n, &word) in (0..).zip(part) {
                self.set_reg(word, tuple.offset(n));
            }
        }
    }

    pub(super) fn lower_texture(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let IrOp::Texture(sampling) = data.op else { return };
        let Some(parts) = sampling.parts(&data.args) else {
            return self.unsupported(&data.op, "its operands");
        };
        let is_gradient = sampling.fetch == Fetch::Gradient;
        let Some(handle) = self.handle(&data.op, parts.handle, parts.sampler) else { return };
        // A filtered read of a row is one of a plane.
        let is_row = sampling.shape == Shape::Line && !sampling.fetch.is_texel();
        let shape = if is_row { Shape::Plane } else { sampling.shape };
        let mut first: Vec<Source> = parts.layer.into_iter().map(Source::Value).collect();
        first.extend(parts.place.iter().copied().map(Source::Value));
        if is_row {
            first.push(Source::Of(Src::Imm(0)));
        }
        let level = match sampling.fetch {
            Fetch::Least => Some(Source::Of(Src::Imm(LEAST_LEVEL))),
            _ => parts.level.filter(|&level| self.src(level) != Src::Imm(0)).map(Source::Value),
        };
        let word = match (&handle, parts.sampler) {
            (Handle::Operands(_), _) => None,
            (&Handle::Word(texture), Some(sampler)) => {
                let sampler = self.half(sampler, 0);
                Some(Source::Made(self.joined_handle(texture, sampler)))
            }
            (&Handle::Word(texture), None) => Some(Source::Of(texture)),
        };
        let later = [parts.sample, parts.offset, parts.compare];
        let later = later.into_iter().flatten().map(Source::Value);
        let mut second: Vec<Source> = word.into_iter().chain(level).chain(later).collect();
        let mut splits = false;
        if is_gradient {
            (first, second) = self.gradient_sources(word, first, parts.gradient, parts.layer, parts.offset);
            if is_row {
                second.extend([Source::Of(Src::Imm(0)); 2]);
            }
        } else if !self.arch.has(Feature::UniformHandles) && first.len() + second.len() <= 4 {
            splits = true;
            first.append(&mut second);
            second = first.split_off(first.len().div_ceil(2));
        }
        let is_bound = matches!(handle, Handle::Operands(_));
        let op = match (sampling.fetch, is_bound) {
            (Fetch::Gradient, true) => Op::TXD,
            (Fetch::Gradient, false) => Op::TXD_B,
            (Fetch::Texel | Fetch::TexelOfLevel, true) => Op::TLD,
            (Fetch::Texel | Fetch::TexelOfLevel, false) => Op::TLD_B,
            (Fetch::Least | Fetch::Level, true) => Op::TEX,
            (Fetch::Least | Fetch::Level, false) => Op::TEX_B,
            (_, true) => Op::TLD4,
            (_, false) => Op::TLD4_B,
        };
        let a = Operand::reg(self.neighbours(&first));
        let b = if second.is_empty() { Operand::rz() } else { Operand::reg(self.neighbours(&second)) };
        let words = &self.func.results(inst)[..usize::from(sampling.words())];
        let (mut mask, mut registers) = (0, Vec::new());
        for (n, &word) in words.iter().enumerate() {
            if self.use_count(word) == 0 {
                continue;
            }
            mask |= if sampling.half { 3 << (2 * n) } else { 1 << n };
            registers.push(self.reg_of(word));
        }
        let per_tuple = if sampling.half { 1 } else { 2 };
        let tuple = |n: usize| registers.get(n * per_tuple).map_or(Operand::rz(), |&reg| Operand::reg(reg));
        let is_missing = self.def(self.func.results(inst)[words.len()]);
        let mut made = Inst::new(op);
        for choice in modifiers(op, sampling, level.is_some(), splits, shape) {
            made = made.with(choice);
        }
        made = made.with(mask_of(mask));
        made = match handle {
            Handle::Operands([bank, number]) if is_gradient => {
                made.ops([tuple(1), tuple(0), a, b, bank, number])
            }
            Handle::Operands([bank, number]) => made.ops([tuple(1), tuple(0), a, bank, number]),
            Handle::Word(_) => made.ops([tuple(1), tuple(0), a, b]),
        };
        if is_bound && !is_gradient {
            made = made.slot(slot!(TEX | TLD | TLD4, "b"), b);
        }
        let pd = slot!(TEX | TEX_B | TLD | TLD_B | TLD4 | TLD4_B | TXD | TXD_B, "pd");
        self.emit(made.slot(pd, is_missing));
    }

    /// The sources of a read with derivatives: handle, coordinates, layer and offset; derivatives.
    fn gradient_sources(
        &mut self,
        word: Option<Source>,
        first: Vec<Source>,
        gradient: &[Value],
        layer: Option<Value>,
        offset: Option<Value>,
    ) -> (Vec<Source>, Vec<Source>) {
        let coordinates = first.into_iter().skip(usize::from(layer.is_some()));
        let mut sources: Vec<Source> = word.into_iter().chain(coordinates).collect();
        if let Some(offset) = offset {
            // The layer is in the low half of the word, the offset in the upper half.
            let [moved, joined] = [self.temp(), self.temp()];
            let offset = self.gpr_value(offset);
            let layer = layer.map_or(Operand::rz(), |layer| self.gpr_value(layer));
            let shift = Inst::new(Op::SHF).with(choice!(SHF, ".L", ".U32"));
            self.emit(shift.ops([Operand::reg(moved), offset, Operand::imm(16), Operand::rz()]));
            let parts = [Operand::reg(joined), Operand::reg(moved), Operand::imm(0xfff_0000), layer];
            let [to, a, b, c] = parts;
            self.emit(Inst::new(Op::LOP3).ops([to, a, b, c, Operand::imm(0xe2)]));
            sources.push(Source::Made(joined));
        } else {
            sources.extend(layer.map(Source::Value));
        }
        (sources, gradient.iter().copied().map(Source::Value).collect())
    }

    /// `TXQ`: a size of a texture or surface.
    pub(super) fn lower_image_size(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let IrOp::ImageSize(dimension) = data.op else { return };
        let Some(handle) = self.handle(&data.op, data.args[0], None) else { return };
        let to = Operand::reg(self.reg_of(self.func.result(inst)));
        let words = match dimension {
            Dimension::Width => choice!(TXQ | TXQ_B, Components = "0x1"),
            Dimension::Height => choice!(TXQ | TXQ_B, Components = "0x2"),
            Dimension::Depth => choice!(TXQ | TXQ_B, Components = "0x4"),
        };
        let level = Source::Value(data.args[1]);
        let query = Operand::imm(0);
        let made = match handle {
            Handle::Operands([bank, number]) => {
                let a = Operand::reg(self.neighbours(&[level]));
                Inst::new(Op::TXQ).ops([Operand::rz(), to, a, query, bank, number])
            }
            Handle::Word(word) => {
                let a = Operand::reg(self.neighbours(&[Source::Of(word), level]));
                Inst::new(Op::TXQ_B).ops([Operand::rz(), to, a, query])
            }
        };
        self.emit(made.with(words));
    }
}

/// A word that goes into a tuple of sources.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// A value, whose definition may write the place in the tuple.
    Value(Value),
    /// Any source.
    Of(Src),
    /// A register.
    Made(VReg),
}

fn modifiers(op: Op, sampling: Sampling, has_level: bool, splits: bool, shape: Shape) -> Vec<Choices> {
    let Sampling { fetch, half, offset, compare, .. } = sampling;
    let mut list = Vec::new();
    match fetch {
        Fetch::Least | Fetch::Level | Fetch::Texel | Fetch::TexelOfLevel => {
            list.push(if has_level { tex_or_tld!(Mode = ".LL") } else { tex_or_tld!(Mode = ".LZ") });
        }
        Fetch::Gradient => {}
        Fetch::GatherR | Fetch::GatherG | Fetch::GatherB | Fetch::GatherA => {
            let bound = [
                choice!(TLD4, Mode = ".R"),
                choice!(TLD4, Mode = ".G"),
                choice!(TLD4, Mode = ".B"),
                choice!(TLD4, Mode = ".A"),
            ];
            let unbound = [
                choice!(TLD4_B, Mode = ".R.B"),
                choice!(TLD4_B, Mode = ".G.B"),
                choice!(TLD4_B, Mode = ".B.B"),
                choice!(TLD4_B, Mode = ".A.B"),
            ];
            let component = fetch.gathered().unwrap_or(0);
            list.push(if op == Op::TLD4 { bound[component] } else { unbound[component] });
        }
    }
    if splits {
        list.push(match op {
            Op::TEX_B | Op::TLD_B => choice!(TEX_B | TLD_B, Variant = ".SCR.B"),
            Op::TLD4_B => choice!(TLD4_B, Variant = ".SCR"),
            _ => choice!(TEX | TLD | TLD4, Variant = ".SCR"),
        });
    }
    if half {
        list.push(any_texture!(DataType = ".F16.RN"));
    }
    match (offset, compare) {
        (true, true) => list.push(choice!(TEX | TEX_B | TLD4 | TLD4_B, Sources = ".AOFFI.DC")),
        (true, false) => list.push(any_texture!(Sources = ".AOFFI")),
        (false, true) => list.push(choice!(TEX | TEX_B | TLD4 | TLD4_B, Sources = ".DC")),
        (false, false) => {}
    }
    match fetch {
        Fetch::Texel if sampling.shape.has_samples() => list.push(choice!(TLD | TLD_B, Hint = ".MS")),
        Fetch::TexelOfLevel => list.push(choice!(TLD | TLD_B, Hint = ".CL")),
        _ => {}
    }
    list.push(match shape {
        Shape::Line => choice!(TLD | TLD_B | TXD | TXD_B | TEX | TEX_B, Shape = "1D"),
        Shape::Plane | Shape::Samples => any_texture!(Shape = "2D"),
        Shape::Volume => choice!(TLD | TLD_B | TEX | TEX_B, Shape = "3D"),
        Shape::Cube => choice!(TEX | TEX_B | TLD4 | TLD4_B, Shape = "CUBE"),
        Shape::Lines => choice!(TLD | TLD_B | TXD | TXD_B | TEX | TEX_B, Shape = "ARRAY_1D"),
        Shape::Planes | Shape::SamplePlanes => any_texture!(Shape = "ARRAY_2D"),
        Shape::Cubes => choice!(TEX | TEX_B | TLD4 | TLD4_B, Shape = "ARRAY_CUBE"),
    });
    list
}

/// The modifier for the components of a mask.
fn mask_of(mask: u8) -> Choices {
    match mask {
        0x0 => any_texture!(Components = "0x0"),
        0x1 => any_texture!(Components = "0x1"),
        0x2 => any_texture!(Components = "0x2"),
        0x3 => any_texture!(Components = "0x3"),
        0x4 => any_texture!(Components = "0x4"),
        0x5 => any_texture!(Components = "0x5"),
        0x6 => any_texture!(Components = "0x6"),
        0x7 => any_texture!(Components = "0x7"),
        0x8 => any_texture!(Components = "0x8"),
        0x9 => any_texture!(Components = "0x9"),
        0xa => any_texture!(Components = "0xa"),
        0xb => any_texture!(Components = "0xb"),
        0xc => any_texture!(Components = "0xc"),
        0xd => any_texture!(Components = "0xd"),
        0xe => any_texture!(Components = "0xe"),
        _ => any_texture!(Components = ""),
    }
}
