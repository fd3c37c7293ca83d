//! The known facts at the start of a block as a list, and their meeting where paths join.
//!
//! A place that holds a constant also holds each component that is known to be that constant. This
//! is not recorded while the component is known to be constant. It is recorded when two paths meet
//! and one of them does not know the constant:
//!
//! ```text
//! R4: 0, and %r5 is 0      meets      R4: %r5                  =>     R4: %r5
//! R4: 0, and %r5 is 0      meets      R4: 1, and %r5 is 1      =>     R4: %r5
//! ```

use super::state::{Place, Value, named_by_constant};

/// A block's entry state in a form that compares and meets: all lists ascend.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Frozen {
    /// The contents of places.
    pub content: Vec<(Place, Value)>,
    /// Components that are known to be a constant, or to equal the component of a definition that
    /// gives the same value whenever it runs.
    pub constants: Vec<(u32, Value)>,
    /// Components that may be anything.
    pub undefined: Vec<u32>,
}

/// Memory for meetings of states, which serves all blocks of a function.
pub(super) struct Meeting<'a> {
    /// By component, whether it is a predicate.
    is_predicate: &'a [bool],
    /// The number of the meeting.
    number: u32,
    /// By component, the last meeting in which it was known to be a constant, or allowed to be
    /// anything, on the first path.
    known: Vec<u32>,
}

impl<'a> Meeting<'a> {
    /// Memory for the states of a function with these components.
    pub fn new(is_predicate: &'a [bool]) -> Meeting<'a> {
        Meeting { is_predicate, number: 0, known: vec![0; is_predicate.len()] }
    }

    /// Keeps the facts that hold on the other path, too; returns whether any were removed.
    pub fn meet(&mut self, entry: &mut Frozen, other: &Frozen) -> bool {
        if entry == other {
            return false;
        }
        let before = (entry.content.len(), entry.constants.len(), entry.undefined.len());
        let mut gained = self.gained(entry, other);
        retain_common(&mut entry.content, &other.content, |&(place, value)| {
            other.implies(place, value, self.is_predicate)
        });
        let kept = entry.content.len();
        if !gained.is_empty() {
            entry.content.append(&mut gained);
            entry.content.sort_unstable();
            entry.content.dedup();
        }
        retain_common(&mut entry.constants, &other.constants, |_| false);
        retain_common(&mut entry.undefined, &other.undefined, |_| false);
        before != (kept, entry.constants.len(), entry.undefined.len())
    }

    /// The facts that hold on both paths but are not recorded on one of them: they follow from the
    /// known constant of a component, or the component may be anything.
    fn gained(&mut self, entry: &Frozen, other: &Frozen) -> Vec<(Place, Value)> {
        let is_predicate = self.is_predicate;
        let mut gained = Vec::new();
        if entry.constants.is_empty() && entry.undefined.is_empty() {
            return gained;
        }
        self.number += 1;
        let constants = entry.constants.iter().map(|&(component, _)| component);
        for component in constants.chain(entry.undefined.iter().copied()) {
            self.known[component as usize] = self.number;
        }
        for &(place, value) in &other.content {
            let Some(component) = value.component() else { continue };
            if self.known[component as usize] == self.number && entry.implies(place, value, is_predicate) {
                gained.push((place, value));
            }
        }
        // Facts that follow on both paths for different reasons.
        for &(component, constant) in &entry.constants {
            let (theirs, anything) = (other.constant(component), other.is_undefined(component));
            if theirs != Some(constant) && (theirs.is_some() || anything) {
                entry.name(component, constant, is_predicate, |place, value| {
                    if anything || other.implies(place, value, is_predicate) {
                        gained.push((place, value));
                    }
                });
            }
        }
        for &(component, constant) in &other.constants {
            if entry.is_undefined(component) && entry.constant(component) != Some(constant) {
                other.name(component, constant, is_predicate, |place, value| gained.push((place, value)));
            }
        }
        gained
    }
}

impl Frozen {
    /// Calls `visit` for each place that holds a component because the component is known to be a
    /// constant.
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

    /// Whether a place holds a value, even if that is not recorded.
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

/// Keeps the items that another list has, too, and those that are kept `anyway`. Both lists ascend.
fn retain_common<T: Ord + Copy>(list: &mut Vec<T>, other: &[T], anyway: impl Fn(&T) -> bool) {
    let common = list.iter().zip(other).take_while(|(item, other)| item == other).count();
    let mut rest = other[common..].iter().peekable();
    let mut kept = common;
    for at in common..list.len() {
        let item = list[at];
        while rest.next_if(|&&other| other < item).is_some() {}
        if rest.peek() == Some(&&item) || anyway(&item) {
            list[kept] = item;
            kept += 1;
        }
    }
    list.truncate(kept);
}
