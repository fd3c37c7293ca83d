//! The rules of debug sections, which depend on the version of PTX.
//!
//! | since | a section may contain |
//! |---|---|
//! | 2.0 | bytes, words and the addresses of symbols |
//! | 3.2 | symbols with an offset |
//! | 7.0 | labels |
//! | 7.5 | differences of labels, and negative numbers |

use ptxc_ptx::check::env::PtxVersion;
use ptxc_ptx::check::requirements::version_too_old;
use ptxc_ptx::diagnostic::Diagnostic;
use ptxc_syntax::Name;
use ptxc_syntax::ast::{Expr, Section, SectionLine, SectionTerm, SectionValue, UnaryOp};
use ptxc_syntax::codes::MALFORMED_SECTION;
use ptxc_syntax::const_eval::Constant;
use rustc_hash::FxHashSet;

const SECTIONS: PtxVersion = PtxVersion(2, 0);
const SUMS: PtxVersion = PtxVersion(3, 2);
const LABELS: PtxVersion = PtxVersion(7, 0);
const DIFFERENCES: PtxVersion = PtxVersion(7, 5);

/// Checks a section; at most one finding of each kind.
pub(crate) fn check(section: &Section, version: PtxVersion, out: &mut Vec<Diagnostic>) {
    let mut needed: Option<(&str, PtxVersion)> = None;
    let mut need = |what, since: PtxVersion| {
        if version < since && needed.is_none_or(|(_, known)| known < since) {
            needed = Some((what, since));
        }
    };
    need("a section", SECTIONS);
    let mut labels: FxHashSet<&Name> = FxHashSet::default();
    let mut wrong = None;
    for line in &section.lines {
        match line {
            SectionLine::Label(name) => {
                need("a label in a section", LABELS);
                if !labels.insert(name) {
                    wrong.get_or_insert_with(|| {
                        format!("the label `{name}` is defined twice in this section")
                    });
                }
            }
            SectionLine::Data { width, values } => {
                for value in values {
                    if value.rest.iter().any(|(subtracted, _)| !*subtracted) {
                        need("an offset in a section", SUMS);
                    }
                    if value.rest.iter().any(|(subtracted, _)| *subtracted) {
                        need("a difference of labels in a section", DIFFERENCES);
                    }
                    if is_negative(value) {
                        need("a negative number in a section", DIFFERENCES);
                    }
                    if let Some(message) = misfit(value, *width) {
                        wrong.get_or_insert(message);
                    }
                }
            }
        }
    }
    if let Some((what, since)) = needed {
        out.push(version_too_old(what, since, version, section.id));
    }
    if let Some(message) = wrong {
        out.push(Diagnostic::error(MALFORMED_SECTION, section.id, message));
    }
}

fn is_negative(value: &SectionValue) -> bool {
    let SectionTerm::Constant(Expr::Unary(operand)) = &value.first else { return false };
    operand.0 == UnaryOp::Neg
}

/// The message about a value that its width can't hold.
fn misfit(value: &SectionValue, width: u8) -> Option<String> {
    let SectionTerm::Constant(constant) = &value.first else {
        let text = format!("a `.b{}` can't hold an address", u32::from(width) * 8);
        return (width < 4).then_some(text);
    };
    if !value.rest.is_empty() {
        return None;
    }
    let bits = u32::from(width) * 8;
    let fits = match constant.evaluate().ok()? {
        Constant::S64(number) if bits < 64 && number < 0 => number >= -1 << (bits - 1),
        // ptxas accepts greater words and drops their upper bits, as it does in other constants.
        Constant::S64(number) if bits < 32 => number < 1 << bits,
        Constant::S64(_) | Constant::U64(_) => true,
        Constant::F32(_) | Constant::F64(_) => return Some("a section has no floating-point numbers".into()),
    };
    (!fits).then(|| format!("a value of this section does not fit `.b{bits}`"))
}
