//! The initial content of variables, from their declarations.
//!
//! In: the initialiser of a declarator, with the type and dimensions of the variable. Out: its
//! bytes, and the addresses in it.
//!
//! ```text
//! .const .u16 m[2][3] = {{1}, {2, 3}};     =>     01 00 00 00 00 00  02 00 03 00
//! ```
//!
//! Lists follow the dimensions, with a vector as one more dimension; elements that a list omits are
//! zero. Integers are truncated to their type. As in ptxas, a float variable needs float constants.
//! Linear in the initialiser; the parser limits the depth of lists.

use ptxc_ir::{Initial, InitialAddress};
use ptxc_syntax::ast::{Expr, Initialiser, SymbolAddress, Type};
use ptxc_syntax::const_eval::Constant;

use super::opaque;

/// An initialiser that does not fit its variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Misfit;

/// The content that an initialiser gives to an array of `dimensions` elements of `lanes` times
/// `ty`.
pub(super) fn content(
    initialiser: &Initialiser,
    ty: Type,
    lanes: u32,
    dimensions: &[u64],
) -> Result<Initial, Misfit> {
    let element = ty.bytes().ok_or(Misfit)?;
    if matches!(ty, Type::Texref | Type::Samplerref | Type::Surfref) {
        // The driver keeps the object itself; the variable is its handle.
        return if lanes == 1 { objects(initialiser, ty, dimensions) } else { Err(Misfit) };
    }
    let mut levels = dimensions.to_vec();
    if lanes > 1 {
        levels.push(lanes.into());
    }
    let mut writer = Writer { ty, element, lanes, content: Initial::default() };
    writer.level(initialiser, &levels, 0)?;
    let used = writer.content.bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    writer.content.bytes.truncate(used);
    Ok(writer.content)
}

/// The content of the handles of an array of opaque objects: none. One list of fields may stand for
/// the first object.
fn objects(initialiser: &Initialiser, ty: Type, dimensions: &[u64]) -> Result<Initial, Misfit> {
    let fits = |part: &Initialiser| match part {
        Initialiser::Fields(fields) => opaque::fits(ty, fields),
        Initialiser::List(list) => list.is_empty(),
        Initialiser::Constant(_) | Initialiser::Address(_) => false,
    };
    let all_fit = match (initialiser, dimensions) {
        (Initialiser::List(list), [count]) => list.len() as u64 <= *count && list.iter().all(fits),
        (part, [] | [_]) => fits(part),
        _ => false,
    };
    if all_fit { Ok(Initial::default()) } else { Err(Misfit) }
}

struct Writer {
    ty: Type,
    element: u32,
    lanes: u32,
    content: Initial,
}

impl Writer {
    /// Writes the initialiser of a part of the variable with these dimensions, at byte `at`.
    fn level(&mut self, initialiser: &Initialiser, dimensions: &[u64], at: u32) -> Result<(), Misfit> {
        match (initialiser, dimensions) {
            // A vector has all of its elements.
            (Initialiser::List(list), [count]) if self.lanes > 1 && list.len() as u64 != *count => {
                Err(Misfit)
            }
            (Initialiser::List(list), [count, inner @ ..]) if list.len() <= *count as usize => {
                // Parts of an array without elements may have any size; nothing is written there.
                let stride = inner.iter().fold(self.element, |size, &count| size.wrapping_mul(count as u32));
                for (index, part) in list.iter().enumerate() {
                    self.level(part, inner, at + index as u32 * stride)?;
                }
                Ok(())
            }
            (Initialiser::Constant(expr), []) => self.constant(expr, at),
            (Initialiser::Address(address), []) => self.address(address, at),
            _ => Err(Misfit),
        }
    }

    fn constant(&mut self, expr: &Expr, at: u32) -> Result<(), Misfit> {
        let value = expr.evaluate().map_err(|_| Misfit)?;
        // Untyped bits take numbers of both kinds.
        let takes_floats = self.ty.spelling().starts_with(['f', 'b']);
        let is_float = self.ty.spelling().starts_with('f');
        let bits = match (value, self.element) {
            _ if matches!(self.ty, Type::F16 | Type::F16x2) => return Err(Misfit),
            (Constant::F64(bits), 4) if takes_floats => (f64::from_bits(bits) as f32).to_bits().into(),
            (Constant::F32(bits), 8) if is_float => f64::from(f32::from_bits(bits)).to_bits(),
            (Constant::F64(bits), _) if takes_floats => bits,
            (Constant::F32(bits), _) if takes_floats => bits.into(),
            (Constant::S64(value), _) if !is_float => value as u64,
            (Constant::U64(value), _) if !is_float => value,
            _ => return Err(Misfit),
        };
        let is_negative = matches!(value, Constant::S64(..0));
        let sign = if is_negative { u64::MAX } else { 0 };
        self.put(&(u128::from(bits) | u128::from(sign) << 64).to_le_bytes(), at);
        Ok(())
    }

    fn put(&mut self, bytes: &[u8], at: u32) {
        let (start, end) = (at as usize, (at + self.element) as usize);
        let content = &mut self.content.bytes;
        if content.len() < end {
            content.resize(end, 0);
        }
        for (to, from) in content[start..end].iter_mut().zip(bytes) {
            *to = *from;
        }
    }

    fn address(&mut self, address: &SymbolAddress, at: u32) -> Result<(), Misfit> {
        // `0xFF00(sym)`: one byte of the address.
        let shift = match &address.mask {
            None => 0,
            Some(mask) => {
                let mask = mask.evaluate().ok().and_then(Constant::integer_bits).ok_or(Misfit)?;
                let shift = mask.trailing_zeros();
                if self.ty != Type::U8 || !shift.is_multiple_of(8) || mask != 0xff << shift {
                    return Err(Misfit);
                }
                shift as u8
            }
        };
        if address.mask.is_none() && !matches!(self.ty, Type::U32 | Type::U64) {
            return Err(Misfit);
        }
        let addend = match &address.offset {
            None => 0,
            Some(expr) => expr.evaluate().ok().and_then(Constant::integer_bits).ok_or(Misfit)? as i64,
        };
        self.content.addresses.push(InitialAddress {
            at,
            bytes: self.element as u8,
            shift,
            symbol: address.symbol.name.to_string(),
            generic: address.generic,
            addend,
        });
        Ok(())
    }
}

/// The dimensions of an array; an open first dimension has as many elements as its list. `None` if
/// a dimension is not a constant.
pub(super) fn dimensions(written: &[Option<Expr>], initialiser: Option<&Initialiser>) -> Option<Vec<u64>> {
    let size = |(index, dimension): (usize, &Option<Expr>)| match (dimension, initialiser) {
        (Some(expr), _) => expr.evaluate().ok()?.integer_bits(),
        (None, Some(Initialiser::List(list))) if index == 0 => Some(list.len() as u64),
        (None, _) => Some(0),
    };
    written.iter().enumerate().map(size).collect()
}

#[cfg(test)]
mod tests {
    use ptxc_syntax::ast::Item;
    use ptxc_syntax::items::ItemKind;

    use super::super::env;
    use super::*;

    fn variable(text: &str) -> env::Variable {
        let Some(Item::Declaration(declaration)) = ptxc_syntax::parse_item(text, ItemKind::Variable).value
        else {
            panic!("{text} is not a declaration")
        };
        env::variables(&declaration, &mut 0).remove(0).variable.unwrap()
    }

    fn bytes(text: &str) -> Result<Vec<u8>, Misfit> {
        let content = variable(text).content?;
        Ok(content.map_or(Vec::new(), |content| content.bytes.clone()))
    }

    #[test]
    fn lists_follow_the_dimensions() {
        assert_eq!(bytes(".const .u16 m[2][3] = {{1}, {2, 3}};"), Ok(vec![1, 0, 0, 0, 0, 0, 2, 0, 3]));
        assert_eq!(bytes(".const .v2 .u8 v[2] = {{1, 2}, {3, 4}};"), Ok(vec![1, 2, 3, 4]));
        assert_eq!(bytes(".const .s16 s = -2;"), Ok(vec![0xfe, 0xff]));
        assert_eq!(bytes(".const .u32 open[] = {1, 2};"), Ok(vec![1, 0, 0, 0, 2]));
        assert_eq!(variable(".const .u32 open[] = {1, 2};").size, 8);
        for wrong in [
            ".const .u32 m[2][2] = {1, 2, 3, 4};",
            ".const .u32 a[2] = {1, 2, 3};",
            ".const .u32 a = {1};",
            ".const .f32 f = 1;",
        ] {
            assert_eq!(bytes(wrong), Err(Misfit), "{wrong}");
        }
    }

    #[test]
    fn floats_round_to_their_type() {
        assert_eq!(
            bytes(".const .f32 f[3] = {0f3f800000, 2.5, -1.5};").unwrap()[3..12],
            [0x3f, 0, 0, 0x20, 0x40, 0, 0, 0xc0, 0xbf]
        );
        assert_eq!(bytes(".const .f64 f = 0.1;"), Ok(0.1f64.to_le_bytes().to_vec()));
    }

    #[test]
    fn addresses_stand_beside_the_bytes() {
        let list = variable(".global .u64 list[3] = {7, generic(other)+8, 0};").content.unwrap().unwrap();
        assert_eq!(list.bytes, [7]);
        let [address] = &list.addresses[..] else { panic!("{list:?}") };
        assert_eq!((address.at, address.bytes, address.addend, address.generic), (8, 8, 8, true));
        let part = variable(".global .u8 part[2] = {0xFF00(other), 1};").content.unwrap().unwrap();
        assert_eq!((part.addresses[0].shift, part.addresses[0].bytes, &part.bytes[..]), (8, 1, &[0, 1][..]));
    }
}
