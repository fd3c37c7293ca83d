//! Accesses to surfaces.
//!
//! ```text
//! v4, v5 = surface_load.a2d.clamp.b8 v0, v1, v2, v3
//!     =>   SULD.D.BA.2D_ARRAY.64.STRONG.SM %r4, [%r8], 0x0, 0x58      %r8: v2, v3, v1
//! ```
//!
//! The place is a tuple, in which the layer comes last. Accesses without a texel count bytes
//! (`.BA`). [`handle`](Lower::handle) describes handles.

use ptxc_ir::{AtomicOp, CacheOp, Inst as IrInst, Op as IrOp, Outside, Shape, SurfaceAccess, Type, Value};
use ptxc_sass::{Choices, Inst, Op, Operand, RegFile, choice};

use super::lower::Lower;
use super::texture::{Handle, Source};
use crate::mir::VReg;

/// A modifier value that all accesses share.
macro_rules! any_surface {
    ($kind:ident = $text:literal) => {
        choice!(SULD | SULD_R | SUST | SUST_R | SUST_P | SUST_P_R | SURED | SURED_R, $kind = $text)
    };
}

/// The same for accesses of a number of bytes.
macro_rules! bytes {
    ($text:literal) => {
        choice!(SULD | SULD_R | SUST | SUST_R, Size = $text)
    };
}

impl Lower<'_> {
    pub(super) fn lower_surface(&mut self, inst: IrInst) {
        let data = &self.func.insts[inst];
        let (surface, update) = match data.op {
            IrOp::SurfaceLoad(surface) | IrOp::SurfaceStore(surface) => (surface, None),
            IrOp::SurfaceRed { op, surface } => (surface, Some(op)),
            _ => return,
        };
        let Some(parts) = surface.parts(&data.args) else {
            return self.unsupported(&data.op, "its operands");
        };
        let Some(handle) = self.handle(&data.op, parts.handle, None) else { return };
        let sources: Vec<Source> =
            parts.place.iter().copied().chain(parts.layer).map(Source::Value).collect();
        let place = self.neighbours(&sources);
        let is_bound = matches!(handle, Handle::Operands(_));
        let op = match (&data.op, surface.texel, is_bound) {
            (IrOp::SurfaceLoad(_), _, true) => Op::SULD,
            (IrOp::SurfaceLoad(_), _, false) => Op::SULD_R,
            (IrOp::SurfaceStore(_), true, true) => Op::SUST_P,
            (IrOp::SurfaceStore(_), true, false) => Op::SUST_P_R,
            (IrOp::SurfaceStore(_), false, true) => Op::SUST,
            (IrOp::SurfaceStore(_), false, false) => Op::SUST_R,
            (_, _, true) => Op::SURED,
            (_, _, false) => Op::SURED_R,
        };
        let mut made = Inst::new(op).with(shape(surface.shape)).with(outside(surface.outside));
        let value = match data.op {
            IrOp::SurfaceLoad(_) => Operand::reg(self.reg_of(self.func.results(inst)[0])),
            IrOp::SurfaceStore(_) => self.words_of(parts.data),
            _ => self.stored(parts.data[0]),
        };
        match update {
            None => {
                made = made.with(size(surface));
                for choice in order(surface.cache) {
                    made = made.with(choice);
                }
            }
            Some(update) => {
                let Some([update, kind]) = update_of(update, surface.texel, data.ty) else {
                    return self.unsupported(&data.op, format!("an update by {update}"));
                };
                made = made.with(update).with(kind);
                made = made.with(if surface.texel {
                    choice!(SURED | SURED_R, Variant = "")
                } else {
                    choice!(SURED | SURED_R, Variant = ".BA")
                });
                made = made.with(any_surface!(Order = ".STRONG")).with(any_surface!(Scope = ".SYS"));
            }
        }
        let handle: Vec<Operand<VReg>> = match handle {
            Handle::Operands(operands) => operands.to_vec(),
            Handle::Word(word) => vec![Operand::reg(self.neighbours(&[Source::Of(word)]))],
        };
        let at = Operand::reg(place);
        let pair = match data.op {
            IrOp::SurfaceLoad(_) => [value, at],
            _ => [at, value],
        };
        made = made.ops(pair.into_iter().chain(handle));
        if let Some(guard) = parts.guard {
            let guard = self.pred(guard);
            made = match guard.as_reg() {
                Some(reg) => made.guarded(reg, guard.flags.not),
                // A constant: it never fails, or the access does not exist.
                None if guard.flags.not => return,
                None => made,
            };
        }
        self.emit(made);
    }

    /// The words of a store, in neighbouring registers.
    fn words_of(&mut self, words: &[Value]) -> Operand<VReg> {
        match *words {
            [word] => self.gpr_value(word),
            _ => {
                let tuple = self.mir.new_vreg(RegFile::Gpr, words.len() as u8);
                for (n, &word) in (0..).zip(words) {
                    self.place(word, tuple.offset(n));
                }
                Operand::reg(tuple)
            }
        }
    }
}

fn shape(shape: Shape) -> Choices {
    match shape {
        Shape::Line => any_surface!(Shape = ".1D"),
        Shape::Lines => any_surface!(Shape = ".1D_ARRAY"),
        Shape::Planes | Shape::SamplePlanes | Shape::Cubes => any_surface!(Shape = ".2D_ARRAY"),
        Shape::Plane | Shape::Samples | Shape::Cube => any_surface!(Shape = ".2D"),
        Shape::Volume => any_surface!(Shape = ".3D"),
    }
}

fn outside(outside: Outside) -> Choices {
    match outside {
        Outside::Trap => any_surface!(Mode = ".TRAP"),
        Outside::Clamp => any_surface!(Mode = ""),
        Outside::Zero => any_surface!(Mode = ".IGN"),
    }
}

fn size(surface: SurfaceAccess) -> Choices {
    match (surface.texel, surface.size) {
        (true, 1) => choice!(SUST_P | SUST_P_R, Components = ".R"),
        (true, 2) => choice!(SUST_P | SUST_P_R, Components = ".RG"),
        (true, _) => choice!(SUST_P | SUST_P_R, Components = ""),
        (false, 1) => bytes!(".U8"),
        (false, 2) => bytes!(".U16"),
        (false, 4) => bytes!(""),
        (false, 8) => bytes!(".64"),
        (false, _) => bytes!(".128"),
    }
}

/// The order, the scope and the cache hint of a load or store.
fn order(cache: CacheOp) -> Vec<Choices> {
    let scope = match cache {
        CacheOp::Cg | CacheOp::Cv | CacheOp::Wt => any_surface!(Scope = ".SYS"),
        _ => any_surface!(Scope = ".SM"),
    };
    let mut list = vec![any_surface!(Order = ".STRONG"), scope];
    if cache == CacheOp::Cs {
        list.push(any_surface!(Cache = ".EF"));
    }
    list
}

/// The update and its type.
fn update_of(op: AtomicOp, texel: bool, ty: Type) -> Option<[Choices; 2]> {
    macro_rules! sured {
        ($text:literal) => {
            choice!(SURED | SURED_R, $text)
        };
    }
    macro_rules! kind {
        ($text:literal) => {
            choice!(SURED | SURED_R, DataType = $text)
        };
    }
    let is_wide = ty == Type::B64;
    let update = match op {
        AtomicOp::Add => sured!(".ADD"),
        AtomicOp::Umin | AtomicOp::Smin => sured!(".MIN"),
        AtomicOp::Umax | AtomicOp::Smax => sured!(".MAX"),
        AtomicOp::And => sured!(".AND"),
        AtomicOp::Or => sured!(".OR"),
        _ => return None,
    };
    let is_extreme = matches!(op, AtomicOp::Umin | AtomicOp::Umax | AtomicOp::Smin | AtomicOp::Smax);
    let kind = match (is_extreme, matches!(op, AtomicOp::Smin | AtomicOp::Smax), is_wide) {
        (true, _, false) if texel => kind!(".SD32"),
        (true, _, true) if texel => kind!(".SD64"),
        (true, true, false) => kind!(".S32"),
        (true, true, true) => kind!(".S64"),
        (_, _, true) => kind!(".U64"),
        (_, _, false) => kind!(""),
    };
    Some([update, kind])
}
