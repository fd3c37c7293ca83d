//! The names of values and blocks while a text is read. A name may be used before it is defined.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::ParseError;

/// The names of values or blocks in a function.
#[derive(Default)]
pub(super) struct Names<'t> {
    numbers: FxHashMap<&'t str, usize>,
    names: Vec<Name<'t>>,
    definitions: usize,
}

pub(super) struct Name<'t> {
    pub text: &'t str,
    /// Where it is first mentioned.
    pub span: Range<usize>,
    /// Its place among the definitions.
    defined: Option<usize>,
}

impl<'t> Names<'t> {
    /// The provisional number of a name.
    pub fn mention(&mut self, text: &'t str, span: Range<usize>) -> usize {
        *self.numbers.entry(text).or_insert_with(|| {
            self.names.push(Name { text, span, defined: None });
            self.names.len() - 1
        })
    }

    pub fn define(&mut self, text: &'t str, span: Range<usize>) -> Result<usize, ParseError> {
        let number = self.mention(text, span.clone());
        let name = &mut self.names[number];
        if name.defined.is_some() {
            return Err(ParseError { span, message: format!("`{text}` is defined twice") });
        }
        name.defined = Some(self.definitions);
        self.definitions += 1;
        Ok(number)
    }

    /// The names that are used but never defined.
    pub fn undefined(&self) -> impl Iterator<Item = &Name<'t>> {
        self.names.iter().filter(|name| name.defined.is_none())
    }

    /// The final number of each provisional number. A name that consists of `prefix` and a number
    /// keeps that number, unless the greatest number is far beyond the count of names; the other
    /// names follow in order of definition.
    pub fn numbers(&self, prefix: &str) -> Vec<usize> {
        let canonical = |name: &Name<'_>| {
            let digits = name.text.strip_prefix(prefix)?;
            let number: u32 = digits.parse().ok()?;
            (number.to_string() == digits).then_some(number as usize)
        };
        let mut fixed: Vec<Option<usize>> = self.names.iter().map(canonical).collect();
        let mut next = fixed.iter().flatten().max().map_or(0, |greatest| greatest + 1);
        if next > 64 * self.names.len() + 4096 {
            fixed.fill(None);
            next = 0;
        }
        let mut others: Vec<usize> = (0..self.names.len()).filter(|&n| fixed[n].is_none()).collect();
        others.sort_by_key(|&n| self.names[n].defined);
        for n in others {
            fixed[n] = Some(next);
            next += 1;
        }
        fixed.into_iter().flatten().collect()
    }
}
