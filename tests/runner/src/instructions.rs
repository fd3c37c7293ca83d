//! An instruction for every row of the instruction table, and for every modifier of a row.
//!
//! In: a [`Row`]. Out: instructions as text, over the registers and variables of [`REGISTERS`], the
//! parameter `n` and the label `END`.

use std::fmt::Write as _;

use ptxc_ptx::check::table::{
    AddressSpace, Group, Kind, Lanes, OperandPresence, Presence, Row, TypeOf, columns_of,
};
use ptxc_ptx::check::types::{Class, Scalar};

/// Registers of every type, eight of each.
pub const REGISTERS: &str = ".reg .pred p<9>; .reg .b8 b8r<9>; .reg .b16 b16r<9>; .reg .b32 b32r<299>; \
    .reg .b64 b64r<99>; .reg .u32 u32r<299>; .reg .f32 f32r<299>; .reg .f64 f64r<99>; .reg .u16 u16r<9>; \
    .reg .u64 u64r<9>; .reg .f16 f16r<3>; \
    .reg .v4 .f32 vector; .shared .align 16 .b8 tile[64];";

/// The name of a register of a type.
pub fn register(ty: Scalar, number: usize) -> String {
    let bits = ty.bits().max(8);
    match ty.class() {
        Class::Predicate => format!("p{number}"),
        Class::Float => format!("f{bits}r{number}"),
        Class::Integer if bits > 8 => format!("u{bits}r{number}"),
        _ => format!("b{bits}r{number}"),
    }
}

/// A row with a modifier for some of its groups.
#[derive(Clone)]
pub struct Sample<'a> {
    row: &'a Row,
    chosen: Vec<Option<&'static str>>,
    /// Whether modifiers of free order are written in reverse, followed by those that keep their
    /// order.
    backwards: bool,
}

impl<'a> Sample<'a> {
    /// The row with its required modifiers, the first of each group.
    pub fn least(row: &'a Row) -> Sample<'a> {
        let first = |group: &Group| (group.presence == Presence::Required).then(|| group.choices[0].text);
        Sample { row, chosen: row.groups.iter().map(first).collect(), backwards: false }
    }

    /// The row with these modifiers, one for each group; `None` if one is missing that another needs.
    pub fn of(row: &'a Row, chosen: Vec<Option<&'static str>>) -> Option<Sample<'a>> {
        let sound = row.groups.iter().zip(&chosen).all(|(group, choice)| match group.presence {
            Presence::Required => choice.is_some(),
            Presence::With(other) => choice.is_some() == chosen[other].is_some(),
            Presence::Optional | Presence::Default(_) => true,
        });
        sound.then_some(Sample { row, chosen, backwards: false })
    }

    /// The same with the modifiers of free order in reverse, followed by the others.
    pub fn backwards(self) -> Sample<'a> {
        Sample { backwards: true, ..self }
    }

    /// The same sample with another modifier in a group.
    fn with(&self, group: usize, text: Option<&'static str>) -> Sample<'a> {
        let mut sample = self.clone();
        sample.chosen[group] = text;
        sample
    }

    fn scalar(&self, ty: TypeOf) -> Option<Scalar> {
        let named = |group: usize| Scalar::parse(self.chosen[group]?);
        match ty {
            TypeOf::Fixed(scalar) => Some(scalar),
            TypeOf::Group(group) => named(group),
            TypeOf::Wide(group) => named(group)?.wide(),
        }
    }

    fn opcode(&self) -> String {
        let (leading, free) = self.chosen.split_at(self.row.leading);
        let groups = &self.row.groups[self.row.leading..];
        let mut free: Vec<(&Group, &str)> =
            groups.iter().zip(free).filter_map(|(group, text)| Some((group, (*text)?))).collect();
        if self.backwards {
            free.reverse();
            let (in_order, mut others): (Vec<_>, Vec<_>) =
                free.into_iter().partition(|(group, _)| group.keeps_order);
            others.extend(in_order.into_iter().rev());
            free = others;
        }
        let parts = std::iter::once(self.row.mnemonic).chain(leading.iter().flatten().copied());
        parts.chain(free.into_iter().map(|(_, text)| text)).collect::<Vec<_>>().join(".")
    }

    /// The instruction; `None` if the sample does not know the form of an operand.
    pub fn text(&self) -> Option<String> {
        self.text_with_texture(None)
    }

    /// The same, with this text for a texture or a tensor with its coordinates.
    pub fn text_with_texture(&self, texture: Option<&str>) -> Option<String> {
        let text = self.opcode();
        let mut number = 0;
        let mut next = |ty: Scalar| {
            number += 1;
            // Tensor instructions have many results and sources, so names repeat after the last
            // register.
            let names = match ty.bits() {
                32 => 280,
                64 => 60,
                _ => 8,
            };
            register(ty, number % names)
        };
        let mut operands = Vec::new();
        for operand in self.row.operands {
            match operand.presence {
                OperandPresence::With(group) if self.chosen[group].is_none() => continue,
                OperandPresence::Optional => continue,
                _ => {}
            }
            operands.push(match &operand.kind {
                Kind::Value(value) => {
                    let ty = self.scalar(value.ty)?;
                    let lanes = match value.lanes {
                        Lanes::One => 0,
                        Lanes::Fixed(count) => count,
                        Lanes::Any => return None,
                        Lanes::Group(group) => match self.chosen[group] {
                            Some(choice) => choice.get(1..)?.parse().ok()?,
                            None => 0,
                        },
                        Lanes::Columns(group, divisor) => columns_of(self.chosen[group]?)? / divisor,
                        Lanes::Multiple(group, factor) => {
                            factor * self.chosen[group]?.get(1..)?.parse::<u32>().ok()?
                        }
                    };
                    let mut text = match lanes {
                        0 => next(ty),
                        _ => format!("{{{}}}", (0..lanes).map(|_| next(ty)).collect::<Vec<_>>().join(", ")),
                    };
                    if let Some((second, false)) = value.second {
                        write!(text, "|{}", next(self.scalar(second)?)).ok()?;
                    }
                    text
                }
                Kind::Constant(range) => range.map_or(1, |range| range.greatest).to_string(),
                Kind::Address(AddressSpace::Fixed("shared")) => "[tile]".to_string(),
                Kind::Address(AddressSpace::Group(group)) => match self.chosen[*group] {
                    Some(choice) if choice.starts_with("shared") => "[tile]".to_string(),
                    Some(choice) if choice.starts_with("param") => "[n]".to_string(),
                    _ => "[b64r9]".to_string(),
                },
                Kind::Address(AddressSpace::Tensor) => "[b32r9]".to_string(),
                Kind::Address(_) => "[b64r9]".to_string(),
                Kind::Pack(ty) => {
                    let half = Scalar::parse(&format!("b{}", self.scalar(*ty)?.bits() / 2))?;
                    format!("{{{}, {}}}", next(half), next(half))
                }
                Kind::Label => "END".to_string(),
                Kind::Discard => "_".to_string(),
                Kind::Texture => texture?.to_string(),
                Kind::TargetList | Kind::Call | Kind::Any => return None,
            });
        }
        Some(format!("{text} {};", operands.join(", ")))
    }
}

/// Samples of a row: its required modifiers, and each alternative in turn.
pub fn samples(row: &Row) -> Vec<Sample<'_>> {
    let least = Sample::least(row);
    let mut list = vec![least.clone()];
    for (index, group) in row.groups.iter().enumerate() {
        for choice in group.choices {
            let mut sample = least.with(index, Some(choice.text));
            // A modifier that depends on another one comes with the first choice of that one, and
            // vice versa.
            for (other, row_group) in row.groups.iter().enumerate() {
                if let Presence::With(with) = row_group.presence
                    && (with == index || other == index)
                {
                    sample.chosen[with].get_or_insert(row.groups[with].choices[0].text);
                    sample.chosen[other].get_or_insert(row_group.choices[0].text);
                }
            }
            list.push(sample);
        }
    }
    list
}
