//! Fills templates: one statement at a time.

use super::{Flow, Generator, Mix};
use crate::launch::OWN_BYTES;
use crate::program::{Family, Piece, Statement};
use crate::template::{
    ARGUMENTS, ATOMIC, COMPUTED, CONVERTED, CTA, DOUBLE, FLOAT, INTEGER, MATRICES, MEMORY, PACKED,
    PARAMETERS, Role, SERVICES, SHARED_BY_ALL, SHUFFLE, SPECIAL, SURFACES, TEXTURES, Template, Templates,
    Token, WARP,
};

/// Spaces and the addresses of the thread's own memory in them.
const SPACES: &[(&str, &str)] = &[
    (".global", "%own"),
    (".global", "%own"),
    (".shared", "%sh"),
    (".shared", "%sh"),
    (".local", "%lo"),
    ("", "%gown"),
    ("", "%gsh"),
    ("", "%glo"),
];

/// The properties that hold throughout a statement.
struct Filling {
    /// The uniformity of destinations, and the minimum uniformity of sources.
    flow: Flow,
    space: &'static str,
    base: &'static str,
    written: Vec<String>,
    pieces: Vec<Piece>,
    /// The number of its label.
    label: Option<usize>,
}

impl Generator<'_> {
    /// A statement for a place where control is as uniform as `flow`.
    pub(super) fn statement(&mut self, flow: Flow) -> Statement {
        // If only some lanes of a warp are active, registers that must be the same in all lanes
        // cannot be written.
        let uniform = if self.lanes.is_some() { Flow::Thread } else { flow };
        if let Some((templates, written)) = self.own_templates(flow, uniform) {
            let template = self.template(templates, &|_| true);
            let mut statement = self.fill(template, written, false);
            let is_of_warp = std::ptr::eq(templates, &raw const MATRICES);
            if !template.whole && !is_of_warp && self.random.chance(20) {
                statement.guard = Some(self.guard(written));
            }
            return statement;
        }
        // In the other families, lanes that act together have masks.
        let plain = !self.family.has_masks();
        let together = !self.exits || !plain;
        let (integer, float) = match self.mix {
            Mix::Everything => (58..84, 40..58),
            Mix::Integer => (42..96, 40..42),
            Mix::Float => (90..96, 35..90),
            Mix::Memory => (80..90, 77..80),
        };
        let kind = self.random.below(100);
        let all = [INTEGER.len() * 2, FLOAT.len(), DOUBLE.len()];
        let (templates, written): (&Templates, Flow) = match kind {
            0..=4 if together && flow == Flow::Cta && self.lanes.is_none() => (&CTA, Flow::Thread),
            5..=10 if plain && together && flow >= Flow::Warp => (&WARP, Flow::Thread),
            11..=13 if plain && self.has_whole_warps(flow) => (&SHUFFLE, Flow::Thread),
            14..=16 if self.function.is_none() => (&SHARED_BY_ALL, Flow::Thread),
            17..=21 => (&COMPUTED, Flow::Thread),
            22..=24 => (&ATOMIC, Flow::Thread),
            25 => (&SPECIAL, Flow::Thread),
            kind if integer.contains(&kind) => (&INTEGER, if kind % 3 == 0 { Flow::Thread } else { uniform }),
            kind if float.contains(&kind) => (if kind % 3 == 0 { &DOUBLE } else { &FLOAT }, Flow::Thread),
            26..=76 => (&MEMORY, Flow::Thread),
            _ => match self.random.below(all.iter().sum()) {
                at if at < all[0] => (&INTEGER, Flow::Thread),
                at if at < all[0] + all[1] => (&FLOAT, Flow::Thread),
                _ => (&DOUBLE, Flow::Thread),
            },
        };
        let in_function = self.function.is_some();
        // The content of these variables belongs to the kernel.
        let here = |template: &Template| !in_function || !template.names(&["%in", "%next", "%tally"]);
        let template = self.template(templates, &here);
        let collective = [&CTA, &WARP, &SHUFFLE].into_iter().any(|file| std::ptr::eq(file, templates));
        let atomic = std::ptr::eq(templates, &raw const ATOMIC);
        let mut statement = self.fill(template, written, atomic);
        let may_be_guarded = !collective && (self.may_dispute || !template.disputed_if_guarded);
        if may_be_guarded && self.random.chance(20) {
            self.disputed |= template.disputed_if_guarded;
            statement.guard = Some(self.guard(written));
        }
        statement
    }

    /// Whether all lanes of each warp execute the next statement together.
    fn has_whole_warps(&self, flow: Flow) -> bool {
        !self.exits && flow >= Flow::Warp && self.lanes.is_none() && self.shape.whole_warps()
    }

    /// The templates of the family's own statements, and the uniformity of their destinations; `None`
    /// for any other statement.
    fn own_templates(&mut self, flow: Flow, uniform: Flow) -> Option<(&'static Templates, Flow)> {
        let percent = match self.family {
            Family::Plain | Family::Calls | Family::Flow => return None,
            Family::Packed => 65,
            Family::Images => 50,
            Family::Matrices => 40,
            Family::Parameters => 40,
            Family::Services => 30,
        };
        if !self.random.chance(percent) {
            return None;
        }
        let uniform = if self.random.chance(33) { Flow::Thread } else { uniform };
        Some(match self.family {
            Family::Packed if self.target >= 80 && self.random.chance(6) => (&CONVERTED, Flow::Thread),
            Family::Packed => (&PACKED, uniform),
            Family::Images if self.random.chance(40) => (&SURFACES, Flow::Thread),
            Family::Images => (&TEXTURES, Flow::Thread),
            Family::Matrices if self.has_whole_warps(flow) => (&MATRICES, Flow::Thread),
            Family::Matrices => return None,
            Family::Services => (&SERVICES, Flow::Thread),
            // A function gets another array from each thread.
            _ if self.function.is_some() => (&ARGUMENTS, Flow::Thread),
            _ => (&PARAMETERS, uniform),
        })
    }

    /// A template that this kernel may use.
    pub(super) fn template(
        &mut self,
        templates: &'static [Template],
        here: &dyn Fn(&Template) -> bool,
    ) -> &'static Template {
        loop {
            let index = self.random.below(templates.len());
            let template = &templates[index];
            let may = (!template.contracts || self.may_contract)
                && (!template.approximates || self.may_approximate)
                && (!template.disputed || self.may_dispute)
                && (!template.everyone || !self.exits)
                && template.least <= self.target
                && here(template);
            if may {
                self.contracts |= template.contracts;
                self.approximates |= template.approximates;
                self.disputed |= template.disputed;
                return template;
            }
        }
    }

    pub(super) fn fill(&mut self, template: &Template, flow: Flow, atomic: bool) -> Statement {
        let (mut space, mut base) = self.random.pick(SPACES);
        // The address that the caller passed, which may be local.
        if self.function.is_some() && !atomic && self.random.chance(20) {
            (space, base) = ("", "%near");
        }
        while atomic && base.contains("lo") {
            (space, base) = self.random.pick(SPACES);
        }
        // The block of the heap that the kernel begins with.
        if self.family == Family::Services && self.function.is_none() && self.random.chance(25) {
            (space, base) = ("", "%heap");
        }
        let mut filling = Filling { flow, space, base, written: Vec::new(), pieces: Vec::new(), label: None };
        self.tokens(&template.tokens, &mut filling);
        Statement { guard: None, pieces: filling.pieces }
    }

    fn tokens(&mut self, tokens: &[Token], filling: &mut Filling) {
        for token in tokens {
            let piece = match token {
                Token::Text(text) => Piece::Text(text.clone()),
                Token::Choice(choices) => {
                    let index = self.random.below(choices.len());
                    match (plain(&choices[index]), choices.iter().find_map(|choice| plain(choice))) {
                        (Some(chosen), Some(simplest)) => Piece::Choice { chosen, simplest },
                        _ => {
                            self.tokens(&choices[index], filling);
                            continue;
                        }
                    }
                }
                Token::Space => Piece::Text(filling.space.to_string()),
                Token::Address(bytes) => {
                    let offset = self.random.below((OWN_BYTES / bytes) as usize) as u32 * bytes;
                    filling.pieces.push(Piece::Text(filling.base.to_string()));
                    Piece::Choice { chosen: format!("+{offset}"), simplest: "+0".to_string() }
                }
                Token::Group => Piece::Group,
                Token::Label => {
                    let label = *filling.label.get_or_insert_with(|| {
                        self.labels += 1;
                        self.labels
                    });
                    Piece::Text(format!("J{label}"))
                }
                Token::Lanes => Piece::Text(format!("{:#x}", self.lanes.unwrap_or(u32::MAX))),
                Token::Lane => {
                    let lanes = match self.lanes {
                        Some(lanes) => lanes,
                        None if self.shape.whole_warps() => u32::MAX,
                        None => 1,
                    };
                    let number = self.random.below(lanes.count_ones() as usize);
                    let lane = (0..32).filter(|lane| lanes >> lane & 1 == 1).nth(number);
                    let simplest = lanes.trailing_zeros().to_string();
                    Piece::Choice { chosen: lane.unwrap_or(0).to_string(), simplest }
                }
                Token::Operand(Role::Write, flavour, class) => {
                    let flow = match flavour {
                        Some('u') if self.lanes.is_none() => Flow::Cta,
                        Some('w') if self.lanes.is_none() => Flow::Warp,
                        Some(_) => Flow::Thread,
                        None => filling.flow,
                    };
                    Piece::Write(self.destination(*class, flow, &mut filling.written))
                }
                Token::Operand(role, _, class) => self.source(*role, *class, filling.flow),
            };
            filling.pieces.push(piece);
        }
    }

    /// A register that the statement does not write yet; if a class has too few of them, the choice
    /// repeats.
    pub(super) fn destination(&mut self, class: char, flow: Flow, written: &mut Vec<String>) -> String {
        let mut name = self.variable(class, flow);
        for _ in 0..40 {
            if !written.contains(&name) {
                break;
            }
            name = self.variable(class, Flow::Thread);
        }
        written.push(name.clone());
        name
    }

    pub(super) fn source(&mut self, role: Role, class: char, flow: Flow) -> Piece {
        let constants: &[&str] = match class {
            'f' => &["0f00000000", "0f3f800000"],
            'e' => &["0d0000000000000000", "0d3ff0000000000000"],
            _ => &["0", "1"],
        };
        if role == Role::Value && self.random.chance(35) {
            let simpler = constants.iter().map(ToString::to_string).collect();
            return Piece::Read { operand: self.constant(class), simpler };
        }
        let operand = self.register(class, flow);
        // The first counter need not be as uniform as this one.
        let pool = operand.trim_end_matches(|c: char| c.is_ascii_digit());
        let first = if pool == "%c" { "%zero".to_string() } else { format!("{pool}0") };
        let mut simpler = Vec::new();
        if role == Role::Value {
            simpler.extend(constants.iter().map(ToString::to_string));
        }
        simpler.push(first);
        Piece::Read { operand, simpler }
    }

    fn constant(&mut self, class: char) -> String {
        match class {
            'f' => format!("0f{:08x}", self.random.word(32)),
            'e' => format!("0d{:016x}", self.random.double()),
            'd' => format!("{}", self.random.word(64) as i64),
            'h' => format!("{}", self.random.word(16) as i16),
            _ => format!("{}", self.random.word(32) as i32),
        }
    }
}

/// The text of a choice without blanks.
fn plain(tokens: &[Token]) -> Option<String> {
    match tokens {
        [] => Some(String::new()),
        [Token::Text(text)] => Some(text.clone()),
        _ => None,
    }
}
