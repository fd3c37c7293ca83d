//! Reads the rows of the table; the language is described in `check::table`.
//!
//! Only the build script runs this code; the program has the rows as data. Rows consist of slices
//! that live as long as the program, so the build script never frees what it reads.

use super::super::needs::{Needs, PtxTarget, PtxVersion};
use super::super::scalar::Scalar;
use super::names::{Mnemonic, Modifier};
use super::row::{
    AddressSpace, Choice, Group, Kind, Lanes, Operand, OperandPresence, Presence, Range, Row, TypeOf, Value,
    trace,
};

/// The state spaces that an address may be in, independent of the modifiers.
const SPACES: [&str; 5] = ["shared", "global", "const", "local", "param"];

/// Modifiers that keep their order, other than types and state spaces: layouts of the first and the
/// second matrix, formats in registers and in memory, types that no register has.
const ORDERED: [&str; 10] =
    ["row", "col", "b8x16", "b6x16_p32", "b4x16_p64", "e3m2", "e2m3", "e2m1", "ue8m0", "ue4m3"];

/// The error in a line of the table.
pub type Wrong = String;

/// The definitions at the head of a file that its rows refer to.
#[derive(Default)]
pub struct Definitions {
    sets: Vec<(&'static str, Vec<Choice>)>,
    ranges: Vec<(&'static str, &'static Range)>,
}

impl Definitions {
    /// Whether a line is a definition instead of a row.
    pub fn is_one(line: &str) -> bool {
        (line.starts_with("set ") || line.starts_with("range ")) && line.contains('=')
    }

    /// Reads a line `set NAME = x, y` or `range NAME = 0..15 "a barrier number" rule "…" help "…"`.
    pub fn read(&mut self, line: &'static str) -> Result<(), Wrong> {
        if let Some((name, list)) = line.strip_prefix("set ").and_then(|rest| rest.split_once('=')) {
            let choices = self.choices(list)?;
            self.sets.push((name.trim(), choices));
        }
        if let Some((name, rest)) = line.strip_prefix("range ").and_then(|rest| rest.split_once('=')) {
            let mut parts = rest.split('"').map(str::trim);
            let (numbers, noun) = parts.next().zip(parts.next()).ok_or("a range ends in its noun")?;
            let (mut rule, mut help) = (None, None);
            while let Some(word) = parts.next().filter(|word| !word.is_empty()) {
                let text = parts.next().ok_or_else(|| format!("`{word}` has no text"))?;
                match word {
                    "rule" => rule = Some(text),
                    "help" => help = Some(text),
                    _ => return Err(format!("`{word}` is neither rule nor help")),
                }
            }
            let (numbers, except) = match numbers.trim().split_once(" but ") {
                Some((numbers, except)) => (numbers, Some(number(except)?)),
                None => (numbers, None),
            };
            let (numbers, multiple) = match numbers.trim().split_once(" by ") {
                Some((numbers, multiple)) => (numbers, number(multiple)?),
                None => (numbers.trim(), 1),
            };
            let (least, greatest) = numbers.split_once("..").ok_or("a range is LEAST..GREATEST")?;
            let (least, greatest) = (number(least)?, number(greatest)?);
            let range = Box::leak(Box::new(Range { noun, least, greatest, multiple, except, rule, help }));
            self.ranges.push((name.trim(), range));
        }
        Ok(())
    }

    /// The row of a family that a line defines for one of its mnemonics; `line` is the text after
    /// the mnemonics.
    pub fn row(
        &self,
        family: &'static str,
        mnemonic: &'static str,
        line: &'static str,
    ) -> Result<Row, Wrong> {
        let mut columns = line.split(" | ").map(str::trim_end);
        let opcode = columns.next().unwrap_or("");
        let operands = columns.next().unwrap_or("").trim();
        let conditions = columns.next().unwrap_or("").trim();
        if columns.next().is_some() {
            return Err("a row has at most three columns".into());
        }
        let (leading, rest) = opcode.split_once(' ').unwrap_or((opcode, ""));
        let mut groups = Vec::new();
        self.groups(leading, &mut groups)?;
        let leading = groups.len();
        for token in rest.split_whitespace() {
            self.groups(token, &mut groups)?;
        }
        let Conditions { needs, until, before, splits } = conditions_of(conditions)?;
        let operands = (!operands.is_empty()).then(|| operands.split(','));
        let operands = operands.into_iter().flatten().map(|text| self.operand(text.trim(), &groups));
        let operands: Vec<Operand> = operands.collect::<Result<_, _>>()?;
        let modifiers = groups.iter().flat_map(|group| group.choices);
        let traces = modifiers.fold(0, |all, choice| all | trace(choice.text));
        let required = groups.iter().filter(|group| group.presence == Presence::Required);
        let mut demanded = [0; 4];
        for (group, traces) in required.zip(&mut demanded) {
            *traces = group.choices.iter().fold(0, |all, choice| all | trace(choice.text));
        }
        let words =
            groups[..leading].iter().filter(|group| group.is_name()).map(|group| group.choices[0].text);
        let name = std::iter::once(mnemonic).chain(words).collect::<Vec<_>>().join(".");
        let instruction = Mnemonic::named(&name);
        let (groups, operands) = (groups.leak(), operands.leak());
        Ok(Row {
            family,
            mnemonic,
            instruction,
            groups,
            traces,
            demanded,
            leading,
            operands,
            needs,
            until,
            before,
            splits,
        })
    }

    fn choices(&self, list: &'static str) -> Result<Vec<Choice>, Wrong> {
        let mut choices = Vec::new();
        for item in list.split(',').map(str::trim) {
            if let Some(name) = item.strip_prefix('$') {
                let (_, set) =
                    self.sets.iter().find(|set| set.0 == name).ok_or_else(|| format!("no set {name}"))?;
                choices.extend(set);
                continue;
            }
            let mut parts = item.split('@');
            let text = parts.next().unwrap_or("");
            if text.is_empty() {
                return Err(format!("an empty modifier in {list}"));
            }
            let scalar = Scalar::parse(text);
            let modifier = if scalar.is_none() { Modifier::named(text) } else { None };
            choices.push(Choice { text, scalar, modifier, needs: needs_of(parts)? });
        }
        Ok(choices)
    }

    /// `.x`, `.x?`, `.{x,y}`, `.t:{x,y}=x`, `.x?t`, several of them without spaces.
    fn groups(&self, mut text: &'static str, groups: &mut Vec<Group>) -> Result<(), Wrong> {
        while !text.is_empty() {
            let rest = text.strip_prefix('.').ok_or_else(|| format!("expected a dot before {text}"))?;
            // A dot inside braces belongs to a version, as in `v8@8.8`.
            let brace = rest.find('{').filter(|&at| rest.find('.').is_none_or(|dot| at < dot));
            let (label, list, tail) = match brace {
                Some(open) => {
                    let label = match &rest[..open] {
                        "" => None,
                        label => Some(label.strip_suffix(':').ok_or("a label ends in a colon")?),
                    };
                    let close = rest.find('}').ok_or("a brace is not closed")?;
                    (label, &rest[open + 1..close], &rest[close + 1..])
                }
                None => {
                    let end = single_end(rest);
                    (None, &rest[..end], &rest[end..])
                }
            };
            let choices = self.choices(list)?;
            let (presence, tail) = if let Some(tail) = tail.strip_prefix('?') {
                match tail.split_at(tail.find('.').unwrap_or(tail.len())) {
                    ("", tail) => (Presence::Optional, tail),
                    (label, tail) => (Presence::With(labelled(groups, label)?), tail),
                }
            } else if let Some(tail) = tail.strip_prefix('=') {
                let (name, tail) = tail.split_at(tail.find('.').unwrap_or(tail.len()));
                let index = choices.iter().position(|choice| choice.text == name);
                let index = index.ok_or_else(|| format!("the default {name} is not an alternative"))?;
                (Presence::Default(index as u8), tail)
            } else {
                (Presence::Required, tail)
            };
            let is_space = |text: &str| ["global", "shared"].contains(&text.split("::").next().unwrap_or(""));
            let keeps_order = |choice: &Choice| {
                choice.scalar.is_some() || is_space(choice.text) || ORDERED.contains(&choice.text)
            };
            let keeps_order = choices.iter().all(keeps_order);
            groups.push(Group { keeps_order, label, choices: choices.leak(), presence });
            text = tail;
        }
        Ok(())
    }

    fn operand(&self, text: &'static str, groups: &[Group]) -> Result<Operand, Wrong> {
        let group = |label: &str| labelled(groups, label);
        let (text, presence) = match text.split_once('?') {
            _ if text.contains('|') => (text, OperandPresence::Always),
            None => (text, OperandPresence::Always),
            Some((text, "")) => (text, OperandPresence::Optional),
            Some((text, label)) => (text, OperandPresence::With(group(label)?)),
        };
        let (written, text) = match text.strip_prefix('>') {
            Some(text) => (true, text),
            None => (false, text),
        };
        let kind = match text {
            "any" => Kind::Any,
            "_" => Kind::Discard,
            "label" => Kind::Label,
            "list" => Kind::TargetList,
            "call" => Kind::Call,
            "[texture]" => Kind::Texture,
            "[any]" => Kind::Address(AddressSpace::Any),
            "[tensor]" => Kind::Address(AddressSpace::Tensor),
            _ if text.starts_with('[') => {
                let space = text[1..].strip_suffix(']').ok_or("a bracket is not closed")?;
                Kind::Address(match SPACES.contains(&space) {
                    true => AddressSpace::Fixed(space),
                    false => AddressSpace::Group(group(space)?),
                })
            }
            "#" => Kind::Constant(None),
            _ if text.starts_with('#') => Kind::Constant(Some(self.range(&text[1..])?)),
            _ if text.starts_with('{') => {
                let inner = text[1..].strip_suffix('}').ok_or("a brace is not closed")?;
                Kind::Pack(type_of(inner, &group)?)
            }
            _ => Kind::Value(self.value(text, &group)?),
        };
        Ok(Operand { written, presence, kind })
    }

    fn range(&self, name: &str) -> Result<&'static Range, Wrong> {
        let found = self.ranges.iter().find(|range| range.0 == name);
        found.map(|range| range.1).ok_or_else(|| format!("no range {name}"))
    }

    /// `[!]TYPE[flags][*LANES][|TYPE[?]][:RANGE]`
    fn value(
        &self,
        text: &'static str,
        group: &impl Fn(&str) -> Result<usize, Wrong>,
    ) -> Result<Value, Wrong> {
        let (text, range) = match text.split_once(':') {
            Some((text, range)) => (text, Some(self.range(range)?)),
            None => (text, None),
        };
        let (text, second) = match text.split_once('|') {
            Some((text, second)) => {
                let (second, optional) =
                    second.strip_suffix('?').map_or((second, false), |second| (second, true));
                (text, Some((type_of(second, group)?, optional)))
            }
            None => (text, None),
        };
        let (text, lanes) = match text.split_once('*') {
            Some((text, "")) => (text, Lanes::Any),
            Some((text, lanes)) => match lanes.parse() {
                Ok(count) => (text, Lanes::Fixed(count)),
                Err(_) if lanes.contains('/') => {
                    let (label, divisor) = lanes.split_once('/').ok_or("a slash")?;
                    (text, Lanes::Columns(group(label)?, number(divisor)? as u32))
                }
                Err(_) => match lanes.trim_start_matches(|c: char| c.is_ascii_digit()) {
                    label if label.len() == lanes.len() => (text, Lanes::Group(group(label)?)),
                    label => {
                        let factor = lanes[..lanes.len() - label.len()].parse();
                        (text, Lanes::Multiple(group(label)?, factor.map_err(|_| "a factor is too large")?))
                    }
                },
            },
            None => (text, Lanes::One),
        };
        let (text, negated) = text.strip_prefix('!').map_or((text, false), |text| (text, true));
        let name = text.trim_end_matches(['~', '&', '%', '_', '.']);
        let flags = &text[name.len()..];
        Ok(Value {
            ty: type_of(name, group)?,
            wider: flags.contains('~'),
            symbol: flags.contains('&'),
            special: flags.contains('%'),
            discard: flags.contains('_'),
            selected: flags.contains('.'),
            negated,
            lanes,
            second,
            range,
        })
    }
}

/// The mnemonics of a line, separated by commas, and the text after them.
pub fn mnemonics(line: &'static str) -> Result<(&'static str, &'static str), Wrong> {
    match line.strip_prefix('{') {
        None => Ok(line.split_at(line.find(['.', ' ']).unwrap_or(line.len()))),
        Some(inner) => inner.split_once('}').ok_or_else(|| "a brace is not closed".into()),
    }
}

/// The group with a label.
fn labelled(groups: &[Group], label: &str) -> Result<usize, Wrong> {
    let found = groups.iter().position(|group| group.label == Some(label));
    found.ok_or_else(|| format!("no modifier is labelled {label}"))
}

/// The end of a modifier without braces: the next modifier, or `?` or `=`. The dot of a version, as
/// in `.ftz@1.4`, is between digits after an `@`.
fn single_end(text: &str) -> usize {
    let mut in_need = false;
    for (at, c) in text.char_indices() {
        match c {
            '?' | '=' => return at,
            '@' => in_need = true,
            '.' if !in_need => return at,
            '.' => in_need = false,
            _ => {}
        }
    }
    text.len()
}

fn type_of(name: &str, group: &impl Fn(&str) -> Result<usize, Wrong>) -> Result<TypeOf, Wrong> {
    if let Some(scalar) = Scalar::parse(name) {
        return Ok(TypeOf::Fixed(scalar));
    }
    match name.strip_prefix("wide-") {
        Some(label) => group(label).map(TypeOf::Wide),
        None => group(name).map(TypeOf::Group),
    }
}

fn number(text: &str) -> Result<i64, Wrong> {
    text.trim().parse().map_err(|_| format!("{text} is not a number"))
}

fn version(text: &str) -> Option<PtxVersion> {
    let (major, minor) = text.split_once('.')?;
    Some(PtxVersion(major.parse().ok()?, minor.parse().ok()?))
}

/// The combined requirements of these words: `7.8`, `sm_90`, `sm_90a/sm_100f`.
fn needs_of<'t>(words: impl Iterator<Item = &'t str>) -> Result<Needs, Wrong> {
    let (mut oldest, mut targets) = (None, Vec::new());
    for word in words {
        if let Some(version) = version(word) {
            oldest = Some(version);
            continue;
        }
        for name in word.split('/') {
            let target = PtxTarget::parse(name);
            targets.push(target.ok_or_else(|| format!("{name} is neither a version nor a target"))?);
        }
    }
    Ok(Needs { version: oldest, targets: targets.leak() })
}

/// The third column of a row.
struct Conditions {
    needs: Needs,
    until: Option<(PtxVersion, u32)>,
    before: Option<(PtxVersion, u32)>,
    splits: bool,
}

/// `ptx 6.0 sm_30 until 6.4 sm_70`, `ptx 1.0 sm_13 before 1.4` or `ptx 8.1 sm_90 split`
fn conditions_of(text: &'static str) -> Result<Conditions, Wrong> {
    let (text, splits) = text.strip_suffix(" split").map_or((text, false), |text| (text, true));
    let part =
        |text: &'static str, word| text.split_once(word).map_or((text, None), |(now, end)| (now, Some(end)));
    let (text, before) = part(text, "before");
    let (now, until) = part(text, "until");
    let needs = needs_of(now.split_whitespace().filter(|&word| word != "ptx"))?;
    let end = |text: &'static str| {
        let end = needs_of(text.split_whitespace())?;
        match (end.version, end.targets) {
            (Some(version), [target]) => Ok((version, target.number)),
            _ => Err("`until` and `before` take a version and a target".to_string()),
        }
    };
    let (until, before) = (until.map(end).transpose()?, before.map(end).transpose()?);
    Ok(Conditions { needs, until, before, splits })
}
