//! Memory in the `.param` space of a device function or of a call, represented as values.
//!
//! Such memory usually has no address, and PTX accesses it at constant offsets. So a parameter is a
//! sequence of *pieces*, and each piece is a variable for the construction of SSA, like a register.
//! If a device function takes the address of its parameter or result (`mov.b64 %rd1, p`), the pieces
//! are in the thread's own memory (`Place::Memory`); ISA, "Device Function Parameters", and ptxas. A
//! piece has 8 bytes if the parameter's alignment has at least 8, otherwise 4. The pieces depend
//! only on the size and alignment of the parameter, so a caller and every function with the same
//! prototype agree.
//!
//! ```text
//! .param .align 4 .b8 p[8];                  pieces: b32 +0, b32 +4
//! st.param.f32 [p+4], %f1;            =>     piece 1 is the bits of %f1
//! ld.param.u8 %rs1, [p+5];            =>     bits 8 to 15 of piece 1
//! .param .b64 q;                             piece: b64 +0
//! .param .b8 a[];                            piece: b32, the address of an array in local memory
//! ```
//! An array of any size is in the caller's local memory, and its address is passed. So is a large
//! parameter; for a large result, the caller passes the address of memory for it.

use ptxc_ir::{Access, MemType, Op, Space, Symbol, Type, Value};
use ptxc_syntax::ast;
use rustc_hash::FxHashMap;

use super::form::{Translated, Unsupported};
use super::translator::Translator;
use crate::check::env::{Formal, Signature};
use crate::check::scope::Register;

/// A part of a parameter that is one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Its offset in bytes.
    pub offset: u32,
    /// `b32` or `b64`; `pred` for a predicate, which is always a register.
    pub ty: Type,
}

/// The pieces of a parameter, in order.
pub(super) fn pieces(formal: Formal) -> Translated<Vec<Piece>> {
    if formal.ty == ast::Type::Pred {
        return Ok(vec![Piece { offset: 0, ty: Type::Pred }]);
    }
    if formal.is_variadic() || formal.layout().is_large() {
        return Ok(vec![Piece { offset: 0, ty: Type::B32 }]);
    }
    if formal.size == 0 {
        return Err(Unsupported);
    }
    let mut list = Vec::new();
    let mut offset = 0;
    while offset < formal.size {
        let ty = if formal.align >= 8 && formal.size - offset >= 8 { Type::B64 } else { Type::B32 };
        list.push(Piece { offset, ty });
        offset += ty.bits() / 8;
    }
    Ok(list)
}

/// The types of the values that a call passes, and of those that it returns: the addresses for large
/// results, then the pieces of the parameters, and the pieces of the other results.
pub(super) fn types(signature: &Signature) -> Translated<(Vec<Type>, Vec<Type>)> {
    let (large, small): (Vec<Formal>, Vec<Formal>) =
        signature.returns.iter().partition(|formal| formal.layout().is_large());
    let mut params = vec![Type::B32; large.len()];
    for &formal in &signature.parameters {
        params.extend(pieces(formal)?.iter().map(|piece| piece.ty));
    }
    let mut results = Vec::new();
    for formal in small {
        results.extend(pieces(formal)?.iter().map(|piece| piece.ty));
    }
    Ok((params, results))
}

/// Where the pieces of a parameter are.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// In variables of the construction; this is that of the first piece, and the others follow.
    Variables(Register),
    /// In local memory.
    Memory(Symbol),
    /// In local memory of a caller, whose address is in this variable.
    Pointed(Register),
}

/// The size of an array of any size: no access reaches its end.
const OPEN: u32 = 1 << 31;

/// The alignment of memory whose address is passed, in bytes: the most of an access.
const COPY_ALIGN: u32 = 16;

/// A parameter that is a sequence of pieces.
#[derive(Clone, Debug)]
pub(super) struct Image {
    place: Place,
    /// The size of the parameter in bytes.
    size: u32,
    /// The alignment of its memory in bytes.
    align: u32,
    pieces: Vec<Piece>,
}

impl Image {
    /// The pieces, in order.
    pub fn pieces(&self) -> impl Iterator<Item = Piece> + '_ {
        self.pieces.iter().copied()
    }

    /// Whether it is in local memory of a caller.
    pub fn is_pointed(&self) -> bool {
        matches!(self.place, Place::Pointed(_))
    }

    /// The size of the parameter in bytes.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Whether one access to local memory reaches that many bytes.
    fn has_access(&self, offset: u32, bytes: u32) -> bool {
        bytes <= 4 || offset.is_multiple_of(bytes) && bytes <= self.align
    }

    /// The piece that holds a byte, and its variable.
    fn piece_at(&self, offset: u32) -> Translated<(Register, Piece)> {
        let Place::Variables(first) = self.place else { return Err(Unsupported) };
        if offset >= self.size {
            return Err(Unsupported);
        }
        let index = self.pieces.partition_point(|piece| piece.offset <= offset) - 1;
        Ok((Register(first.0 + index as u32), self.pieces[index]))
    }
}

/// The memory of large arguments and results of calls. A block of statements leaves its memory to later
/// blocks, so many calls need no more than one.
#[derive(Debug, Default)]
pub(super) struct LargeImages {
    /// The memory of each open block, except the outermost one.
    open: Vec<Vec<(SizeAndAlign, Image)>>,
    /// The memory that no open block has.
    free: FxHashMap<SizeAndAlign, Vec<Image>>,
}

/// The size and the alignment of a parameter in bytes.
type SizeAndAlign = (u32, u32);

impl LargeImages {
    /// A block of statements begins.
    pub fn open(&mut self) {
        self.open.push(Vec::new());
    }

    /// The innermost block ends.
    pub fn close(&mut self) {
        for (kind, image) in self.open.pop().into_iter().flatten() {
            self.free.entry(kind).or_default().push(image);
        }
    }
}

impl Translator<'_> {
    /// Memory for a large argument or result of calls, for the block of statements that declares it.
    pub fn large_image(&mut self, name: &str, formal: Formal) -> Translated<Image> {
        let kind = (formal.size, formal.align);
        let image = match self.large.free.get_mut(&kind).and_then(Vec::pop) {
            Some(image) => image,
            None => self.new_image_to_pass(name, formal)?,
        };
        if let Some(block) = self.large.open.last_mut() {
            block.push((kind, image.clone()));
        }
        Ok(image)
    }

    /// Variables for the pieces of a parameter.
    pub fn new_image(&mut self, formal: Formal) -> Translated<Image> {
        let pieces = pieces(formal)?;
        let first = self.new_variables(pieces.len() as u32);
        let Formal { size, align, .. } = formal;
        Ok(match formal.is_variadic() {
            true => Image { place: Place::Pointed(first), size: OPEN, align: COPY_ALIGN, pieces },
            false if formal.layout().is_large() => {
                Image { place: Place::Pointed(first), size, align, pieces }
            }
            false => Image { place: Place::Variables(first), size, align, pieces },
        })
    }

    /// The address of a parameter in local memory; `None` if it is in variables.
    pub fn address_of_image(&mut self, image: &Image) -> Option<Value> {
        match image.place {
            Place::Memory(symbol) => Some(self.emit(Op::SymbolAddr(symbol), Type::B32, &[])),
            Place::Pointed(variable) => Some(self.read_variable(variable, Type::B32)),
            Place::Variables(_) => None,
        }
    }

    /// Copies a parameter of a call to local memory; returns the address.
    pub fn copy_to_memory(&mut self, image: &Image) -> Translated<Value> {
        if image.size == OPEN {
            return Err(Unsupported);
        }
        // The function may load vectors of it.
        let formal = Formal { ty: ast::Type::B8, is_array: true, size: image.size, align: COPY_ALIGN };
        let copy = self.new_image_in_memory("$variadic", formal)?;
        self.copy_image(image, &copy)?;
        self.address_of_image(&copy).ok_or(Unsupported)
    }

    /// The address of a parameter in local memory of this function: of the parameter itself, unless it
    /// belongs to a caller, which may still need it, or it `is_taken`.
    pub fn address_to_pass(&mut self, image: &Image, is_taken: bool) -> Translated<Value> {
        match image.place {
            Place::Memory(_) if !is_taken && image.align >= COPY_ALIGN => {
                self.address_of_image(image).ok_or(Unsupported)
            }
            _ => self.copy_to_memory(image),
        }
    }

    /// Copies a parameter to another of its size.
    pub fn copy_image(&mut self, from: &Image, to: &Image) -> Translated {
        let mut offset = 0;
        while offset < from.size {
            let bytes = if offset + 8 <= from.size { 8 } else { 4 };
            let value = self.load_image(from, offset, bytes, false)?;
            self.store_image(to, offset, bytes, value)?;
            offset += bytes;
        }
        Ok(())
    }

    /// Memory for a parameter of this size whose address this function passes.
    pub fn new_image_to_pass(&mut self, name: &str, formal: Formal) -> Translated<Image> {
        self.new_image_in_memory(name, Formal { align: formal.align.max(COPY_ALIGN), ..formal })
    }

    /// Local memory for the pieces of a parameter whose address is taken.
    pub fn new_image_in_memory(&mut self, name: &str, formal: Formal) -> Translated<Image> {
        let pieces = pieces(formal)?;
        if pieces.iter().any(|piece| piece.ty == Type::Pred) {
            return Err(Unsupported);
        }
        // Whole pieces are stored, so the last one may reach beyond the parameter.
        let size = formal.size.next_multiple_of(4);
        let align = formal.align.max(4);
        let symbol = self.new_local_memory(name, size, align);
        Ok(Image { place: Place::Memory(symbol), size: formal.size, align, pieces })
    }

    /// Reads a piece of a parameter.
    pub fn read_piece(&mut self, image: &Image, piece: Piece) -> Translated<Value> {
        match image.place {
            Place::Pointed(variable) => return Ok(self.read_variable(variable, piece.ty)),
            Place::Memory(_) => return self.load_image(image, piece.offset, piece.ty.bits() / 8, false),
            Place::Variables(_) => {}
        }
        match image.piece_at(piece.offset)? {
            (variable, own) if own == piece => Ok(self.read_variable(variable, own.ty)),
            _ => self.load_image(image, piece.offset, piece.ty.bits() / 8, false),
        }
    }

    /// Writes a piece of a parameter.
    pub fn write_piece(&mut self, image: &Image, piece: Piece, value: Value) -> Translated {
        match image.place {
            Place::Pointed(variable) => {
                self.write_variable(variable, value);
                return Ok(());
            }
            Place::Memory(_) => return self.store_image(image, piece.offset, piece.ty.bits() / 8, value),
            Place::Variables(_) => {}
        }
        match image.piece_at(piece.offset)? {
            (variable, own) if own == piece => {
                self.write_variable(variable, value);
                Ok(())
            }
            _ => self.store_image(image, piece.offset, piece.ty.bits() / 8, value),
        }
    }

    /// Loads an integer of 1 to 16 bytes; fewer than 4 bytes are extended to `b32`.
    pub fn load_image(&mut self, image: &Image, offset: u32, bytes: u32, signed: bool) -> Translated<Value> {
        if !offset.is_multiple_of(bytes.min(4))
            || offset.checked_add(bytes).is_none_or(|end| end > image.size.next_multiple_of(4))
        {
            return Err(Unsupported);
        }
        if image.has_access(offset, bytes)
            && let Some(address) = self.address_of_image(image)
        {
            let (access, ty) = local_access(offset, bytes, signed)?;
            return Ok(self.emit(Op::Load(access), ty, &[address]));
        }
        match bytes {
            8 | 16 => {
                if let Ok((variable, piece)) = image.piece_at(offset)
                    && piece == (Piece { offset, ty: Type::B64 })
                    && bytes == 8
                {
                    return Ok(self.read_variable(variable, Type::B64));
                }
                let low = self.load_image(image, offset, bytes / 2, false)?;
                let high = self.load_image(image, offset + bytes / 2, bytes / 2, false)?;
                let ty = Type::int(8 * bytes).ok_or(Unsupported)?;
                Ok(self.emit(Op::Pack, ty, &[low, high]))
            }
            4 => self.load_word(image, offset),
            1 | 2 => {
                let word = self.load_word(image, offset & !3)?;
                let (place, bits) = (8 * (offset & 3), 8 * bytes);
                let left = self.constant(Type::B32, (32 - place - bits).into());
                let right = self.constant(Type::B32, (32 - bits).into());
                let top = self.emit(Op::Shl, Type::B32, &[word, left]);
                Ok(self.emit(if signed { Op::Sar } else { Op::Shr }, Type::B32, &[top, right]))
            }
            _ => Err(Unsupported),
        }
    }

    /// Stores the low bytes of a value as an integer of 1 to 16 bytes.
    pub fn store_image(&mut self, image: &Image, offset: u32, bytes: u32, value: Value) -> Translated {
        if !offset.is_multiple_of(bytes.min(4))
            || offset.checked_add(bytes).is_none_or(|end| end > image.size.next_multiple_of(4))
        {
            return Err(Unsupported);
        }
        if image.has_access(offset, bytes)
            && let Some(address) = self.address_of_image(image)
        {
            let (access, ty) = local_access(offset, bytes, false)?;
            let value = self.extend(value, ty, false)?;
            self.inst(Op::Store(access), ty, &[address, value]);
            return Ok(());
        }
        match bytes {
            8 | 16 => {
                if let Ok((variable, piece)) = image.piece_at(offset)
                    && piece == (Piece { offset, ty: Type::B64 })
                    && bytes == 8
                {
                    self.write_variable(variable, value);
                    return Ok(());
                }
                let (low, high) = self.emit_pair(Op::Unpack, self.ty(value), &[value]);
                self.store_image(image, offset, bytes / 2, low)?;
                self.store_image(image, offset + bytes / 2, bytes / 2, high)
            }
            4 => self.store_word(image, offset, value),
            1 | 2 => {
                let at = offset & !3;
                let mut value = self.extend(value, Type::B32, false)?;
                // Bytes of the word beyond the parameter are unused.
                if image.size - at > bytes {
                    let (place, field) = (8 * (offset & 3), (1u64 << (8 * bytes)) - 1);
                    let mask = self.constant(Type::B32, field);
                    let rest = self.constant(Type::B32, !(field << place));
                    let count = self.constant(Type::B32, place.into());
                    let low = self.emit(Op::And, Type::B32, &[value, mask]);
                    let new = self.emit(Op::Shl, Type::B32, &[low, count]);
                    let word = self.load_word(image, at)?;
                    let old = self.emit(Op::And, Type::B32, &[word, rest]);
                    value = self.emit(Op::Or, Type::B32, &[old, new]);
                }
                self.store_word(image, at, value)
            }
            _ => Err(Unsupported),
        }
    }

    fn load_word(&mut self, image: &Image, offset: u32) -> Translated<Value> {
        let (variable, piece) = image.piece_at(offset)?;
        let value = self.read_variable(variable, piece.ty);
        if piece.ty == Type::B32 {
            return Ok(value);
        }
        let (low, high) = self.emit_pair(Op::Unpack, piece.ty, &[value]);
        Ok(if offset == piece.offset { low } else { high })
    }

    fn store_word(&mut self, image: &Image, offset: u32, value: Value) -> Translated {
        let (variable, piece) = image.piece_at(offset)?;
        let mut value = value;
        if piece.ty == Type::B64 {
            let old = self.read_variable(variable, piece.ty);
            let (low, high) = self.emit_pair(Op::Unpack, piece.ty, &[old]);
            let words = if offset == piece.offset { [value, high] } else { [low, value] };
            value = self.emit(Op::Pack, piece.ty, &words);
        }
        self.write_variable(variable, value);
        Ok(())
    }
}

/// The access to a parameter in local memory, and the type of the value.
fn local_access(offset: u32, bytes: u32, signed: bool) -> Translated<(Access, Type)> {
    let (elem, ty) = match (bytes, signed) {
        (1, false) => (MemType::B8, Type::B32),
        (1, true) => (MemType::S8, Type::B32),
        (2, false) => (MemType::B16, Type::B32),
        (2, true) => (MemType::S16, Type::B32),
        (4, _) => (MemType::B32, Type::B32),
        (8, _) => (MemType::B64, Type::B64),
        (16, _) => (MemType::B128, Type::B128),
        _ => return Err(Unsupported),
    };
    // An access is aligned to its size.
    let offset = Some(offset).filter(|offset| offset.is_multiple_of(bytes)).ok_or(Unsupported)?;
    Ok((Access { offset: offset as i32, ..Access::weak(Space::Local, elem) }, ty))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(size: u32, align: u32) -> Vec<(u32, u32)> {
        let formal = Formal { ty: ast::Type::B8, is_array: true, size, align };
        pieces(formal).unwrap().iter().map(|piece| (piece.offset, piece.ty.bits())).collect()
    }

    #[test]
    fn pieces_follow_size_and_alignment() {
        assert_eq!(offsets(1, 1), [(0, 32)]);
        assert_eq!(offsets(8, 8), [(0, 64)]);
        assert_eq!(offsets(8, 4), [(0, 32), (4, 32)]);
        assert_eq!(offsets(20, 16), [(0, 64), (8, 64), (16, 32)]);
        assert_eq!(offsets(13, 8), [(0, 64), (8, 32), (12, 32)]);
        // An array of any size is an address.
        assert_eq!(offsets(0, 1), [(0, 32)]);
        assert_eq!(
            pieces(Formal { ty: ast::Type::B32, is_array: true, size: 0, align: 4 }),
            Err(Unsupported)
        );
        // A large parameter is one, too.
        assert_eq!(offsets((1 << 12) + 1, 8), [(0, 32)]);
        assert_eq!(offsets(1 << 12, 8).len(), 1 << 9);
    }
}
