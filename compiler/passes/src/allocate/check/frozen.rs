//! What is known at the start of a block, as a list: what remains where paths meet.
//!
//! A place that holds a constant also holds each component that is known to be that constant. This is not written
//! down while the component is known to be constant, but where paths meet of which one does not know it:
//!
//! ```text
//! R4: 0, and %r5 is 0      meets      R4: %r5                  =>     R4: %r5
//! R4: 0, and %r5 is 0      meets      R4: 1, and %r5 is 1      =>     R4: %r5
//! ```

use super::state::{Place, Value, named_by_constant};

/// A block's entry state in a form that compares and meets: all lists ascend.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Frozen {
    /// What places hold.
    pub content: Vec<(Place, Value)>,
    /// Components that are known to be a constant, or the component of a definition that gives the same
    /// whenever it runs.
    pub constants: Vec<(u32, Value)>,
    /// Components that may be anything.
    pub undefined: Vec<u32>,
}

impl Frozen {
    /// Keeps what holds on the other path too; whether that took something away.
    pub fn meet(&mut self, other: &Frozen, is_predicate: &[bool]) -> bool {
        if self == other {
            return false;
        }
        let before = (self.content.len(), self.constants.len(), self.undefined.len());
        let mut gained = self.gained(other, is_predicate);
        retain_common(&mut self.content, &other.content, |&(place, value)| {
            other.implies(place, value, is_predicate)
        });
        let kept = self.content.len();
        if !gained.is_empty() {
            self.content.append(&mut gained);
            self.content.sort_unstable();
            self.content.dedup();
        }
        retain_common(&mut self.constants, &other.constants, |_| false);
        retain_common(&mut self.undefined, &other.undefined, |_| false);
        before != (kept, self.constants.len(), self.undefined.len())
    }

    /// What holds on both paths without being written down here: it follows from what a component is known to be, or
    /// the component may be anything.
    fn gained(&self, other: &Frozen, is_predicate: &[bool]) -> Vec<(Place, Value)> {
        let mut gained = Vec::new();
        if self.constants.is_empty() && self.undefined.is_empty() {
            return gained;
        }
        let implied = |&&(place, value): &&(Place, Value)| self.implies(place, value, is_predicate);
        gained.extend(other.content.iter().filter(implied));
        // What follows on either path, for another reason on each.
        for &(component, constant) in &self.constants {
            let (theirs, anything) = (other.constant(component), other.is_undefined(component));
            if theirs != Some(constant) && (theirs.is_some() || anything) {
                self.name(component, constant, is_predicate, |place, value| {
                    if anything || other.implies(place, value, is_predicate) {
                        gained.push((place, value));
                    }
                });
            }
        }
        for &(component, constant) in &other.constants {
            if self.is_undefined(component) && self.constant(component) != Some(constant) {
                other.name(component, constant, is_predicate, |place, value| gained.push((place, value)));
            }
        }
        gained
    }

    /// Calls `visit` for each place that holds a component because that is known to be a constant.
    fn name(
        &self,
        component: u32,
        constant: Value,
        is_predicate: &[bool],
        mut visit: impl FnMut(Place, Value),
    ) {
        for &(place, value) in &self.content {
            for (held, name) in named_by_constant(place, component, constant, is_predicate) {
                if held == value {
                    visit(place, name);
                }
            }
        }
    }

    /// Whether a place holds a value although that may not be written down.
    fn implies(&self, place: Place, value: Value, is_predicate: &[bool]) -> bool {
        let Some(component) = value.component() else { return false };
        self.is_undefined(component)
            || self.constant(component).is_some_and(|constant| {
                let mut names = named_by_constant(place, component, constant, is_predicate).into_iter();
                names.any(|(held, name)| name == value && self.content.binary_search(&(place, held)).is_ok())
            })
    }

    fn constant(&self, component: u32) -> Option<Value> {
        let index = self.constants.binary_search_by_key(&component, |&(component, _)| component);
        index.ok().map(|index| self.constants[index].1)
    }

    fn is_undefined(&self, component: u32) -> bool {
        self.undefined.binary_search(&component).is_ok()
    }
}

/// Keeps what another list has too, and what is kept `anyway`. Both lists ascend.
fn retain_common<T: Ord>(list: &mut Vec<T>, other: &[T], anyway: impl Fn(&T) -> bool) {
    let mut rest = other.iter().peekable();
    list.retain(|item| {
        while rest.next_if(|&other| other < item).is_some() {}
        rest.peek() == Some(&item) || anyway(item)
    });
}
