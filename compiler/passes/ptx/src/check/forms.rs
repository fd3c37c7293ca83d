//! The form of its instruction that an opcode has, or the error in an opcode that matches no form.
//!
//! In: an opcode. Out: the rows of the [table](super::table) that have exactly its modifiers, each
//! with the choices made. If no row matches, the closest row (fewest extra or missing modifiers)
//! decides the finding: a modifier that no form has, two that exclude each other, one that
//! conflicts with the others, or one that is missing.
//!
//! Cost: rows of the mnemonic times modifiers, once for each distinct opcode of a function.

use ptxc_syntax::ast::Opcode;
use smallvec::SmallVec;

use super::codes;
use super::env::ModuleEnv;
use super::needs::{PtxTarget, PtxVersion};
use super::suggest::Suggestions;
use super::table::{AddressSpace, Choice, Group, Kind, Lanes, Modifier, Presence, Row, TABLE, TypeOf, trace};
use super::types::Scalar;
use crate::diagnostic::Diagnostic;

/// A form with the choices that an opcode makes.
#[derive(Clone, Debug)]
pub struct Form {
    /// The row.
    pub row: &'static Row,
    /// For each group of the row the written choice, with the part of the opcode that writes it.
    chosen: SmallVec<[Option<(u8, u8)>; 8]>,
}

impl Form {
    /// The modifier of a group: the written one, or else the default.
    pub fn choice(&self, group: usize) -> Option<&'static Choice> {
        let group_row = &self.row.groups[group];
        match (self.chosen[group], group_row.presence) {
            (Some((choice, _)), _) => Some(&group_row.choices[usize::from(choice)]),
            (None, Presence::Default(choice)) => Some(&group_row.choices[usize::from(choice)]),
            (None, _) => None,
        }
    }

    /// The part of the opcode that is the modifier of a group; beyond the last part if none is
    /// written.
    pub fn part(&self, group: usize) -> usize {
        self.chosen[group].map_or(usize::MAX, |(_, part)| usize::from(part))
    }

    /// Whether a modifier is written.
    pub fn says(&self, modifier: Modifier) -> bool {
        self.written().any(|(choice, _)| choice.modifier == Some(modifier))
    }

    /// Whether a modifier of the group is written.
    pub fn has(&self, group: usize) -> bool {
        self.chosen[group].is_some()
    }

    /// The modifiers that are written, each with the number of its part.
    pub fn written(&self) -> impl Iterator<Item = (&'static Choice, usize)> {
        let row = self.row;
        self.chosen.iter().enumerate().filter_map(move |(group, chosen)| {
            chosen.map(|(choice, part)| (&row.groups[group].choices[usize::from(choice)], usize::from(part)))
        })
    }

    /// The vector that the instruction moves, if it has `.v2` or the like: the type of an element,
    /// the number of elements, and the part of the opcode with that modifier.
    pub fn vector(&self) -> Option<(Scalar, u32, usize)> {
        self.row.operands.iter().find_map(|operand| {
            let Kind::Value(value) = &operand.kind else { return None };
            let Lanes::Group(group) = value.lanes else { return None };
            let (_, part) = self.chosen[group]?;
            let count = self.choice(group)?.text.trim_start_matches(|c: char| !c.is_ascii_digit());
            Some((self.scalar(value.ty)?, count.parse().ok()?, usize::from(part)))
        })
    }

    /// The state space that the opcode names for the first address with a choice of spaces.
    pub fn space(&self) -> Option<&'static str> {
        self.row.operands.iter().find_map(|operand| match operand.kind {
            Kind::Address(AddressSpace::Group(group)) => self.choice(group).map(|choice| choice.text),
            _ => None,
        })
    }

    /// The type of an operand; `None` if the table's type is not a type of registers.
    pub fn scalar(&self, ty: TypeOf) -> Option<Scalar> {
        match ty {
            TypeOf::Fixed(scalar) => Some(scalar),
            TypeOf::Group(group) => self.choice(group)?.scalar,
            TypeOf::Wide(group) => self.choice(group)?.scalar?.wide(),
        }
    }
}

/// A row compared with an opcode.
struct Fit {
    form: Form,
    /// Parts (by number) without a place in the row.
    left: SmallVec<[usize; 4]>,
    /// Required groups without a modifier.
    missing: SmallVec<[usize; 4]>,
}

/// The most parts without a place that are listed: longer lists help no reader, and an opcode may
/// have a million parts.
const MOST_LEFT: usize = 16;

/// Compares a row with an opcode; stops after `most_left` parts without a place.
fn fit(row: &'static Row, opcode: &Opcode, most_left: usize) -> Fit {
    let mut list: SmallVec<[Option<(u8, u8)>; 8]> = SmallVec::from_elem(None, row.groups.len());
    let chosen = &mut list[..];
    let mut left = SmallVec::new();
    let mut parts = (1..).zip(opcode.modifiers()).peekable();
    for (group, slot) in row.groups.iter().zip(&mut *chosen).take(row.leading) {
        if let Some(&(part, text)) = parts.peek()
            && let Some(choice) = position(group, text)
        {
            *slot = Some((choice, part.min(255) as u8));
            parts.next();
        }
    }
    let mut last_in_order = 0;
    for (part, text) in parts {
        let free = row.groups.iter().enumerate().skip(row.leading);
        let place = free
            .filter(|(group, row_group)| {
                chosen[*group].is_none() && !(row_group.keeps_order && *group < last_in_order)
            })
            .find_map(|(group, row_group)| position(row_group, text).map(|choice| (group, choice)));
        match place {
            Some((group, choice)) => {
                chosen[group] = Some((choice, part.min(255) as u8));
                if row.groups[group].keeps_order {
                    last_in_order = group;
                }
            }
            None => left.push(part),
        }
        if left.len() > most_left {
            break;
        }
    }
    let mut missing = SmallVec::new();
    for (group, row_group) in row.groups.iter().enumerate() {
        let absent = chosen[group].is_none();
        match row_group.presence {
            Presence::Required if absent => missing.push(group),
            Presence::With(other) if absent && chosen[other].is_some() => missing.push(group),
            Presence::With(other) if !absent && chosen[other].is_none() => missing.push(other),
            _ => {}
        }
    }
    Fit { form: Form { row, chosen: list }, left, missing }
}

fn position(group: &Group, text: &str) -> Option<u8> {
    group.choices.iter().position(|choice| text == choice.text).map(|choice| choice as u8)
}

/// The forms that have exactly the modifiers of the opcode, in a module of that version and target;
/// several only if the operands decide.
pub fn forms(opcode: &Opcode, version: PtxVersion, target: PtxTarget) -> impl Iterator<Item = Form> {
    // Most rows of an instruction lack one of the modifiers or demand another; the traces show that
    // quickly.
    let traces = opcode.modifiers().fold(0, |all, part| all | trace(part));
    let may_fit = move |row: &&Row| {
        row.is_seen(version, target)
            && traces & !row.traces == 0
            && row.demanded.iter().all(|&demanded| demanded == 0 || demanded & traces != 0)
    };
    let rows = TABLE.forms(opcode.mnemonic()).iter().filter(may_fit);
    let fits = rows.map(|row| fit(row, opcode, 0));
    fits.filter(|fit| fit.left.is_empty() && fit.missing.is_empty()).map(|fit| fit.form)
}

/// The error in an opcode that matches no form of any instruction in the module.
pub fn explain(opcode: &Opcode, env: &ModuleEnv, suggestions: &mut Suggestions, out: &mut Vec<Diagnostic>) {
    if let Some(finding) = super::atomics::explain(opcode) {
        return out.push(finding);
    }
    let mnemonic = opcode.mnemonic();
    let rows = TABLE.forms(mnemonic).iter().filter(|row| row.is_seen(env.version, env.target));
    let fits: Vec<Fit> = rows.map(|row| fit(row, opcode, MOST_LEFT)).collect();
    // Among equally close rows, prefer the one that fits the earlier modifiers: the operation
    // matters more than the type.
    let best = fits.iter().min_by_key(|fit| {
        (2 * fit.left.len() + fit.missing.len(), std::cmp::Reverse(fit.left.first().copied()))
    });
    let Some(best) = best else {
        let finding = Diagnostic::error(
            codes::UNKNOWN_INSTRUCTION,
            opcode.part_id(0),
            format!("unknown instruction `{mnemonic}`"),
        );
        let mut finding = finding.label("no instruction of PTX has this name");
        finding.help = match super::foreign::instruction(opcode) {
            Some(own) => Some(format!("PTX calls it `{own}`")),
            None => {
                let near = suggestions.nearest(mnemonic, TABLE.mnemonics());
                near.map(|near| format!("did you mean `{near}`?"))
            }
        };
        out.push(finding);
        return;
    };
    let before = out.len();
    for &part in &best.left {
        out.push(surplus(opcode, part, best, &fits, suggestions));
    }
    if out.len() == before {
        missing(opcode, best, &fits, out);
    }
}

/// The longest form that a note shows in full; a longer one fills several lines.
const LONG_FORM: usize = 120;

/// A modifier without a place in the closest form.
fn surplus(
    opcode: &Opcode,
    part: usize,
    best: &Fit,
    fits: &[Fit],
    suggestions: &mut Suggestions,
) -> Diagnostic {
    let (mnemonic, text, node) = (opcode.mnemonic(), opcode.part(part), opcode.part_id(part));
    let row = best.form.row;
    let form = format!("the closest form is `{row}`");
    let known =
        fits.iter().any(|fit| fit.form.row.groups.iter().any(|group| position(group, text).is_some()));
    if !known {
        let all = fits.iter().flat_map(|fit| fit.form.row.groups).flat_map(|group| group.choices);
        if let Some(finding) = wrong_vector(opcode, part, all.clone().map(|choice| choice.text)) {
            return finding;
        }
        // The modifiers that the form lacks are the likeliest intention.
        let missing = best.missing.iter().flat_map(|&group| row.groups[group].choices);
        let near = match super::foreign::modifier(text) {
            Some(own) => Some(own).filter(|own| all.clone().any(|choice| choice.text == *own)),
            None => suggestions.nearest(text, missing.chain(all).map(|choice| choice.text)),
        };
        let finding = Diagnostic::error(
            codes::UNKNOWN_MODIFIER,
            node,
            format!("`{mnemonic}` has no modifier `.{text}`"),
        )
        .label("unknown modifier");
        // Beside the suggestion, a form with dozens of modifiers adds nothing.
        return match near {
            Some(near) if form.len() > LONG_FORM => finding.help(format!("did you mean `.{near}`?")),
            Some(near) => finding.note(form).help(format!("did you mean `.{near}`?")),
            None => finding.note(form),
        };
    }
    let rival = row.groups.iter().zip(&best.form.chosen).find_map(|(group, chosen)| {
        position(group, text)?;
        chosen.map(|(choice, part)| (group.choices[usize::from(choice)].text, usize::from(part)))
    });
    if let Some((other, other_part)) = rival {
        let message = if text == other {
            format!("`.{text}` is written twice")
        } else {
            format!("`.{other}` and `.{text}` exclude each other")
        };
        return Diagnostic::error(codes::CONTRADICTORY_MODIFIERS, node, message)
            .label("one too many")
            .also(opcode.part_id(other_part), "the other one")
            .note(form);
    }
    let in_name = row.groups[..row.leading].iter().any(|group| position(group, text).is_some());
    if in_name {
        let name = format!("`.{text}` must directly follow `{mnemonic}`");
        return Diagnostic::error(codes::MISPLACED_MODIFIER, node, name)
            .label("misplaced")
            .note(format!("the form is `{row}`"));
    }
    let with: String = best.form.written().map(|(choice, _)| format!(".{}", choice.text)).collect();
    Diagnostic::error(codes::MODIFIER_NOT_HERE, node, format!("`{mnemonic}{with}` does not allow `.{text}`"))
        .label("conflicts with the other modifiers")
        .note(form)
        .help(match best.missing[..] {
            [group] if best.left.len() == 1 => {
                let choices = row.groups[group].choices.iter().map(|choice| format!("`.{}`", choice.text));
                format!("write {} instead", choices.collect::<Vec<_>>().join(" or "))
            }
            _ => format!("remove `.{text}`"),
        })
}

/// The finding about a vector modifier such as `.v3` with a number of elements that no form has.
fn wrong_vector<'c>(opcode: &Opcode, part: usize, all: impl Iterator<Item = &'c str>) -> Option<Diagnostic> {
    let elements = |text: &str| text.strip_prefix('v')?.parse::<u32>().ok();
    let (mnemonic, text) = (opcode.mnemonic(), opcode.part(part));
    let count = elements(text)?;
    let mut known: Vec<u32> = all.filter_map(elements).collect();
    known.sort_unstable();
    known.dedup();
    let last = known.pop()?;
    let list: Vec<String> = known.iter().map(|count| format!("`.v{count}`")).collect();
    let list = match list.is_empty() {
        true => format!("`.v{last}`"),
        false => format!("{} or `.v{last}`", list.join(", ")),
    };
    let message = format!("`{mnemonic}` has no vectors of {count} elements");
    let finding = Diagnostic::error(codes::UNKNOWN_MODIFIER, opcode.part_id(part), message);
    Some(
        finding
            .label(format!("`.{text}` is not one of {list}"))
            .help("split the access into such vectors and single elements"),
    )
}

/// The modifiers that the closest form needs.
fn missing(opcode: &Opcode, best: &Fit, fits: &[Fit], out: &mut Vec<Diagnostic>) {
    let Some(&group) = best.missing.first() else { return };
    // All forms that lack equally many modifiers contribute their choices.
    let lacking = fits.iter().filter(|fit| fit.left.is_empty() && fit.missing.len() == best.missing.len());
    let mut choices: Vec<&str> = Vec::new();
    for fit in lacking {
        if let Some(&group) = fit.missing.first() {
            choices.extend(fit.form.row.groups[group].choices.iter().map(|choice| choice.text));
        }
    }
    let mut seen = rustc_hash::FxHashSet::default();
    choices.retain(|choice| seen.insert(*choice));
    let is_type = best.form.row.groups[group].choices.iter().all(|choice| choice.scalar.is_some());
    let last = opcode.part_id(opcode.part_count() - 1);
    let list: Vec<String> = choices.iter().map(|choice| format!("`.{choice}`")).collect();
    let message = match &list[..] {
        [only] => format!("`{opcode}` lacks {only}"),
        _ if is_type => format!("`{opcode}` lacks a type"),
        _ => format!("`{opcode}` lacks a modifier: one of {}", list.join(", ")),
    };
    let finding = Diagnostic::error(codes::MISSING_MODIFIER, last, message)
        .label("incomplete")
        .note(format!("the closest form is `{}`", best.form.row));
    out.push(match &list[..] {
        [only] => finding.help(format!("add {only}")),
        _ if is_type => finding.help(format!("add one of {}", list.join(", "))),
        _ => finding,
    });
}
