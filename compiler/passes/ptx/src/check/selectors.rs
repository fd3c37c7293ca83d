//! The selectors and minus signs of video instructions.
//!
//! In: a video instruction. Out: findings about selectors that name no part of the operand, and
//! about minus signs. The check of each operand has accepted any selector and any sign where the
//! table allows one.

use ptxc_syntax::ast::{Operand, OperandKind};

use super::codes;
use super::names::Thing;
use super::operands::Operands;
use super::table::{Mnemonic, Modifier};
use crate::diagnostic::Diagnostic;

/// The family of the instructions that have selectors.
const FAMILY: &str = "video";

/// Whether a selector names a byte or half of a word.
fn is_part(selector: &str) -> bool {
    matches!(selector, "b0" | "b1" | "b2" | "b3" | "h0" | "h1")
}

/// The digits of a selector for that many lanes.
fn digits(selector: &str, lanes: u8) -> Option<&str> {
    selector.strip_prefix(if lanes == 2 { 'h' } else { 'b' })
}

/// Whether a selector names an element of two words for each lane.
fn is_elements(selector: &str, lanes: u8) -> bool {
    let is_element = |digit: u8| (b'0'..b'0' + 2 * lanes).contains(&digit);
    digits(selector, lanes)
        .is_some_and(|digits| digits.len() == usize::from(lanes) && digits.bytes().all(is_element))
}

/// Whether a selector names lanes in descending order.
fn is_mask(selector: &str, lanes: u8) -> bool {
    digits(selector, lanes).map(str::as_bytes).is_some_and(|digits| {
        let is_lane = |digit: &u8| (b'0'..b'0' + lanes).contains(digit);
        !digits.is_empty() && digits.iter().all(is_lane) && digits.windows(2).all(|pair| pair[0] > pair[1])
    })
}

impl Operands<'_, '_> {
    /// Checks the selectors and signs of a video instruction; nothing for other instructions.
    pub(super) fn selectors(&mut self) {
        if self.form.row.family != FAMILY {
            return;
        }
        let lanes = match self.form.row.mnemonic.as_bytes().last() {
            Some(b'2') => Some(2),
            Some(b'4') => Some(4),
            _ => None,
        };
        let operands = &self.instruction.operands;
        for (index, operand) in operands.iter().enumerate() {
            let inner = match &operand.kind {
                OperandKind::Minus(inner) => inner,
                _ => operand,
            };
            let OperandKind::Selected(selected) = &inner.kind else { continue };
            if !self.is_scalar(&selected.0) {
                continue;
            }
            let selector = &selected.1;
            let (is_right, wanted) = match lanes {
                None => (is_part(selector), "`.b0` to `.b3`, `.h0` or `.h1`"),
                Some(2) if index == 0 => (is_mask(selector, 2), "`.h0`, `.h1` or `.h10`"),
                Some(2) => (is_elements(selector, 2), "`.h` with two digits from 0 to 3"),
                Some(lanes) if index == 0 => {
                    (is_mask(selector, lanes), "`.b` with digits from 3 to 0 in descending order")
                }
                Some(lanes) => (is_elements(selector, lanes), "`.b` with four digits from 0 to 7"),
            };
            if !is_right {
                let message = format!("`{}` expects {wanted} here, found `.{selector}`", self.opcode());
                let finding = Diagnostic::error(codes::OPERAND_KIND, inner.id, message);
                self.out.push(finding.label("wrong selector"));
            } else if index == 3 && self.form.row.instruction == Mnemonic::Vmad {
                self.wrong_kind(inner, "a whole register");
            }
        }
        if let [to, _, _] = &operands[..]
            && let OperandKind::Selected(selected) = &to.kind
            && self.is_scalar(&selected.0)
        {
            let message = format!("`{}` expects 4 operands if it writes a part of a register", self.opcode());
            let finding = Diagnostic::error(codes::OPERAND_COUNT, to.id, message);
            self.out.push(
                finding
                    .label("a part of the result")
                    .help("add the register whose other bits the result has"),
            );
        }
        self.signs();
    }

    /// Whether a name is that of a register that is no vector: a selector of a vector names an
    /// element.
    fn is_scalar(&self, name: &str) -> bool {
        matches!(self.names.find(name), Some(Thing::Register(_, None)))
    }

    /// Checks the minus signs.
    fn signs(&mut self) {
        let is_negated = |operand: &&Operand| matches!(operand.kind, OperandKind::Minus(_));
        let operands = &self.instruction.operands;
        // The table allows a sign before the addend of `vmad` only.
        let signs = if self.form.row.instruction == Mnemonic::Vmad { 4 } else { 3 };
        let Some(first) = operands.iter().take(signs).find(is_negated) else { return };
        let finding = |message| Diagnostic::error(codes::OPERAND_KIND, first.id, message);
        let negated = |index: usize| operands.get(index).is_some_and(|operand| is_negated(&operand));
        let product = negated(1) != negated(2);
        if self.form.row.instruction != Mnemonic::Vmad || negated(0) {
            let message = format!("`{}` does not negate its operands", self.opcode());
            self.out.push(finding(message).label("negated"));
        } else if self.form.says(Modifier::Po) && (product || negated(3)) {
            let message = format!("`{}` does not negate its operands", self.opcode());
            self.out
                .push(finding(message).label("negated").note("`.po` adds 1 to the sum of positive terms"));
        } else if product && negated(3) {
            let message = format!("`{}` negates either the product or the addend", self.opcode());
            self.out.push(
                finding(message).label("the product is negated").also(operands[3].id, "and so is this"),
            );
        }
    }
}
