//! Variables read back from the data of constant bank 3, constant bank 4 and global memory.
//!
//! In: the lines of such sections, as [`write_variables`](super::write_variables) makes them or as
//! `nvdisasm` prints them. Out: [`Variable`]s. A section has a location: labels name it, `/*0010*/`
//! sets it, `.align` rounds it up, and data advances it. A variable ends at the next label, which
//! may be a local one (`.L_3:`). Linear in the text.

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use super::debug;
use super::error::{ErrorCode, TextError};
use super::source::Line;
use crate::kept::{Binding, Home, Kept, KeptRelocation};
use crate::variable::{MOST_BYTES, Pointer, Section, Variable};

/// The most bytes of content that a text may give, beyond zeros at the ends of variables.
const MOST_CONTENT: usize = 1 << 26;

/// The variables that have been read so far.
#[derive(Default)]
pub(super) struct DataReader {
    variables: Vec<(Variable, Range<usize>)>,
    /// Whether the last variable may continue.
    is_open: bool,
    /// The place of the next byte, in bytes from the beginning of the section.
    location: u64,
    /// The alignment of the next variable.
    align: u32,
    /// Bytes of content so far.
    content: usize,
    /// The place of the next address in constant bank 4.
    next_address: u32,
    /// The addresses in constant bank 4.
    addresses: Vec<KeptRelocation>,
    /// Whether the section is that of global variables with content.
    has_content: bool,
    /// The places of global variables in the file that the text tells.
    homes: FxHashMap<String, (bool, u64)>,
}

/// One item in a list of data.
enum Item {
    /// A number of the size of the directive.
    Number(u64),
    /// An address.
    Pointer(Pointer),
}

impl DataReader {
    /// Leaves the section for another, which may be that of global variables with content.
    pub(super) fn leave(&mut self, has_content: bool) {
        self.is_open = false;
        self.has_content = has_content;
        self.location = 0;
        self.align = 0;
        self.next_address = 0;
    }

    /// A line of constant bank 3 or global memory.
    pub(super) fn line(&mut self, line: &Line<'_>, section: Section, errors: &mut Vec<TextError>) {
        if let Err(message) = self.data(line, section) {
            errors.push(TextError::new(ErrorCode::Data, line.span(), message));
        }
    }

    fn data(&mut self, line: &Line<'_>, section: Section) -> Result<(), String> {
        let code = line.code;
        if let Some(name) = code.strip_suffix(':').filter(|name| !name.contains(char::is_whitespace)) {
            self.is_open = !name.starts_with('.');
            if !self.is_open {
                return Ok(());
            }
            self.location = line.offset.map_or(self.location, u64::from);
            let align = match std::mem::take(&mut self.align) {
                // The text does not tell the alignment; the location gives an upper bound.
                0 => 1 << self.location.trailing_zeros().min(4),
                align => align,
            };
            if let (Section::Global, Some(offset)) = (section, line.offset) {
                self.homes.insert(name.to_string(), (self.has_content, u64::from(offset)));
            }
            let place = if section == Section::Constant { self.location } else { 0 };
            let place = u32::try_from(place).map_err(|_| "the section is too large")?;
            let (name, bytes, pointers) = (name.to_string(), Vec::new(), Vec::new());
            let variable = Variable { section, place, name, size: 0, align, bytes, pointers };
            self.variables.push((variable, line.span()));
            return Ok(());
        }
        let (word, rest) = code.split_once([' ', '\t']).unwrap_or((code, ""));
        let rest = rest.trim();
        match word {
            ".type" | ".size" | ".sectionflags" | ".global" | ".other" => Ok(()),
            ".align" => {
                let align = number(rest).and_then(|align| u32::try_from(align).ok());
                let align = align.filter(|align| align.is_power_of_two() && *align <= 1 << 16);
                self.align = align.ok_or_else(|| format!("`{rest}` is no alignment"))?;
                let location = self.location.checked_next_multiple_of(self.align.into());
                self.location = location.ok_or("the section is too large")?;
                Ok(())
            }
            ".zero" => self.advance(number(rest).ok_or_else(|| format!("`{rest}` is no number of bytes"))?),
            ".byte" => self.list(rest, 1),
            ".short" => self.list(rest, 2),
            ".word" => self.list(rest, 4),
            ".dword" => self.list(rest, 8),
            _ => Err(format!("`{word}` is no directive for data")),
        }
    }

    /// Zeros, in the variable if one is open.
    fn advance(&mut self, bytes: u64) -> Result<(), String> {
        let end = self.location.checked_add(bytes).filter(|&end| end <= MOST_BYTES);
        self.location = end.ok_or("the section is too large")?;
        if let Some((variable, _)) = self.variables.last_mut().filter(|_| self.is_open) {
            variable.size += bytes;
        }
        Ok(())
    }

    fn list(&mut self, list: &str, size: u8) -> Result<(), String> {
        for text in list.split(',').map(str::trim) {
            let item =
                item(text, size).ok_or_else(|| format!("`{text}` is no {size}-byte number or address"))?;
            let Some((variable, _)) = self.variables.last_mut().filter(|_| self.is_open) else {
                return Err("the data belongs to no variable".to_string());
            };
            let at = variable.size as usize;
            match item {
                Item::Number(0) => {}
                Item::Number(bits) => {
                    let end = at + usize::from(size);
                    self.content += end - variable.bytes.len().min(end);
                    if self.content > MOST_CONTENT {
                        return Err(format!("there are more than {MOST_CONTENT} bytes of data"));
                    }
                    variable.bytes.resize(end, 0);
                    variable.bytes[at..].copy_from_slice(&bits.to_le_bytes()[..usize::from(size)]);
                }
                Item::Pointer(pointer) => {
                    let at = u32::try_from(at).map_err(|_| "the variable has content beyond 4 GiB")?;
                    variable.pointers.push(Pointer { at, ..pointer });
                }
            }
            self.advance(size.into())?;
        }
        Ok(())
    }

    /// A line of constant bank 4: the name of the variable or function whose address is there.
    pub(super) fn address(&mut self, line: &Line<'_>, errors: &mut Vec<TextError>) {
        let code = line.code;
        if code.ends_with(':') || code.starts_with(".align") || code.starts_with(".sectionflags") {
            return;
        }
        let place = line.offset.unwrap_or(self.next_address);
        let name = code.strip_prefix(".dword").map(str::trim);
        let name = name.filter(|name| !name.is_empty() && !name.contains(char::is_whitespace));
        let plain = |name: &str| KeptRelocation {
            at: place.into(),
            kind: KeptRelocation::ADDRESS,
            symbol: name.to_string(),
            addend: 0,
        };
        let other = || debug::relocation(code.strip_prefix(".reloc")?, place.into());
        let Some(address) = name.map(plain).or_else(other) else {
            let message = "constant bank 4 has lines `.dword VARIABLE`";
            return errors.push(TextError::new(ErrorCode::Data, line.span(), message));
        };
        self.next_address = place.saturating_add(8);
        self.addresses.push(address);
    }

    /// The places of the addresses of these variables, and of the bank's end. All other addresses
    /// are kept.
    fn places(
        addresses: Vec<KeptRelocation>,
        names: &FxHashSet<String>,
        kept: &mut Kept,
    ) -> (FxHashMap<String, u32>, u32) {
        let mut places = FxHashMap::default();
        let mut end = 0u64;
        for one in addresses {
            end = end.max(one.at + 8);
            let is_variable = one.is_whole() && names.contains(&one.symbol);
            match u32::try_from(one.at) {
                Ok(at) if is_variable && !places.contains_key(&one.symbol) => {
                    places.insert(one.symbol, at);
                }
                _ => kept.addresses.push(one),
            }
        }
        (places, u32::try_from(end.next_multiple_of(8)).unwrap_or(u32::MAX))
    }

    /// All variables, by section and place. They may point to each other and to these functions.
    pub(super) fn finish(
        self,
        functions: &FxHashSet<&str>,
        bindings: &FxHashMap<String, Binding>,
        kept: &mut Kept,
        errors: &mut Vec<TextError>,
    ) -> Vec<Variable> {
        let names: FxHashSet<String> =
            self.variables.iter().map(|(variable, _)| variable.name.clone()).collect();
        let global = |variable: &Variable| variable.section == Section::Global;
        let globals = self.variables.iter().map(|(variable, _)| variable).filter(|one| global(one));
        let globals: FxHashSet<String> = globals.map(|variable| variable.name.clone()).collect();
        let (places, mut free) = DataReader::places(self.addresses, &globals, kept);
        // The symbol of a function after a kernel has the kernel's name before its own.
        let after_kernel = |name: &str| {
            let parts = name.strip_prefix('$').and_then(|rest| rest.split_once('$'));
            parts.is_some_and(|(kernel, own)| functions.contains(kernel) && functions.contains(own))
        };
        let images: FxHashSet<String> = kept.images.iter().map(|(_, name)| name.clone()).collect();
        let is_known = |name: &str| {
            names.contains(name) || functions.contains(name) || images.contains(name) || after_kernel(name)
        };
        let mut variables = Vec::with_capacity(self.variables.len());
        // Another name is that of a function of another module.
        let mut seen = FxHashSet::default();
        kept.addresses.retain(|one| {
            let place = u32::try_from(one.at).ok().filter(|_| one.is_whole() && !is_known(&one.symbol));
            let external = place.filter(|_| seen.insert(one.symbol.clone()));
            variables.extend(external.map(|place| Variable::external(&one.symbol, place)));
            external.is_none()
        });
        for (mut variable, span) in self.variables {
            while variable.bytes.last() == Some(&0) {
                variable.bytes.pop();
            }
            let lost = variable.pointers.iter().find(|pointer| !is_known(&pointer.target));
            if let Some(Pointer { target, .. }) = lost {
                let message = format!(
                    "`{}` points to `{target}`, which is neither a variable nor a function here",
                    variable.name
                );
                errors.push(TextError::new(ErrorCode::Data, span.clone(), message));
            }
            let home = self.homes.get(&variable.name).copied();
            let binding = bindings.get(&variable.name).copied();
            let has_address = places.contains_key(&variable.name);
            if home.is_some() || binding.is_some() {
                let (has_content, offset) = home.map_or((false, None), |(content, at)| (content, Some(at)));
                let home = Home { has_content, offset, has_address, binding: binding.unwrap_or_default() };
                kept.homes.insert(variable.name.clone(), home);
            }
            if variable.section == Section::Global {
                match places.get(&variable.name) {
                    Some(&place) => variable.place = place,
                    // No code names the variable.
                    None if home.is_some() => {
                        variable.place = free;
                        free = free.saturating_add(8);
                    }
                    None => {
                        let message = format!("the address of `{}` is not in constant bank 4", variable.name);
                        let error = TextError::new(ErrorCode::Data, span, message);
                        errors.push(
                            error.help(format!("`.dword {}` in the section `.nv.constant4:`", variable.name)),
                        );
                    }
                }
            }
            variables.push(variable);
        }
        variables.sort_unstable();
        variables
    }
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// A number, or an address: `x`, `generic(x)+0x8`, `fun@R_CUDA_G64(x)`, `(x) >> 8 & 0xff`.
fn item(text: &str, size: u8) -> Option<Item> {
    if let Some(number) = number(text) {
        let fits = size == 8 || number >> (8 * size) == 0;
        return fits.then_some(Item::Number(number));
    }
    let (text, shift) = match text.strip_suffix(" & 0xff").filter(|_| size == 1) {
        Some(rest) => {
            let (text, shift) = rest.strip_prefix('(')?.rsplit_once(") >> ")?;
            (text, shift.parse().ok().filter(|shift| *shift < 64)?)
        }
        None => (text, 0),
    };
    let inside = |prefix| text.strip_prefix(prefix).and_then(|rest: &str| rest.split_once(')'));
    let (generic, name, rest) = match inside("generic(").or_else(|| inside("fun@R_CUDA_G64(")) {
        Some((name, rest)) => (true, name, rest),
        None => {
            let end = text.find(['+', '-']).unwrap_or(text.len());
            (false, &text[..end], &text[end..])
        }
    };
    let addend = match rest.as_bytes().first() {
        None => 0,
        Some(b'+') => i64::try_from(number(&rest[1..])?).ok()?,
        Some(b'-') => 0i64.checked_sub_unsigned(number(&rest[1..])?)?,
        Some(_) => return None,
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%' | '.');
    let fits = matches!(size, 1 | 4 | 8) && !name.is_empty() && name.chars().all(is_name);
    let target = name.to_string();
    fits.then_some(Item::Pointer(Pointer { at: 0, bytes: size, shift, target, generic, addend }))
}
