//! Which places hold which values at one point: the checker's abstract state.

use ptxc_sass::PReg;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// A register, or a word of the stack frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Place(u32);

impl Place {
    pub fn register(reg: PReg) -> Place {
        Place(reg.dense() as u32)
    }

    /// A word of the frame by its byte offset, which is a multiple of 4.
    pub fn word(offset: u32) -> Place {
        Place(PReg::COUNT as u32 + offset / 4)
    }

    /// The uniform registers and predicates.
    pub fn is_uniform(self) -> bool {
        let uniform = PReg::ur(0).dense() as u32..PReg::p(0).dense() as u32;
        let predicates = PReg::up(0).dense() as u32..PReg::COUNT as u32;
        uniform.contains(&self.0) || predicates.contains(&self.0)
    }
}

/// What a place may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Value {
    /// The content of a component of the input's virtual registers.
    Component(u32),
    /// A predicate of the input as the number 0 or 1.
    Truth(u32),
    /// A constant; for a predicate 0 or 1.
    Imm(u32),
    /// The stack pointer as the driver gives it.
    Stack,
    /// The stack pointer less the frame.
    Frame,
}

/// Several values that are known to be the same.
pub(super) type Values = SmallVec<[Value; 2]>;

/// A block's entry state in a form that compares and meets: ascending.
pub(super) type Frozen = (Vec<(Place, Value)>, Vec<(u32, Value)>, Vec<u32>);

/// The state at a point.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    content: FxHashMap<Place, Values>,
    holders: FxHashMap<Value, SmallVec<[Place; 2]>>,
    /// Components that are known to be a constant, or the component of a definition that gives the same
    /// whenever it runs.
    constants: FxHashMap<u32, Value>,
    /// Components that may be anything.
    undefined: FxHashSet<u32>,
}

impl State {
    pub fn new((content, constants, undefined): &Frozen) -> State {
        let mut state = State::default();
        state.content.reserve(content.len());
        state.holders.reserve(content.len());
        // Ascending, so that what one place holds stands together.
        for values in content.chunk_by(|a, b| a.0 == b.0) {
            let place = values[0].0;
            state.content.insert(place, values.iter().map(|&(_, value)| value).collect());
            for &(_, value) in values {
                state.holders.entry(value).or_default().push(place);
            }
        }
        state.constants = constants.iter().copied().collect();
        state.undefined = undefined.iter().copied().collect();
        state
    }

    /// What is known of components that are `live`, and which places hold constants or what may be computed
    /// again (`steady`).
    pub fn freeze(&self, live: impl Fn(u32) -> bool, steady: impl Fn(u32) -> bool) -> Frozen {
        let mut content: Vec<(Place, Value)> = Vec::new();
        let matters = |value: &Value| match *value {
            Value::Component(component) => live(component) || steady(component),
            Value::Truth(component) => live(component),
            Value::Imm(_) | Value::Stack | Value::Frame => true,
        };
        for (&place, values) in &self.content {
            content.extend(values.iter().filter(|value| matters(value)).map(|&value| (place, value)));
        }
        content.sort_unstable();
        let known = self.constants.iter().filter(|&(&component, _)| live(component));
        let mut constants: Vec<(u32, Value)> = known.map(|(&component, &value)| (component, value)).collect();
        constants.sort_unstable();
        let mut undefined: Vec<u32> = self.undefined.iter().copied().filter(|&c| live(c)).collect();
        undefined.sort_unstable();
        (content, constants, undefined)
    }

    /// What a place holds.
    pub fn get(&self, place: Place) -> Values {
        self.content.get(&place).cloned().unwrap_or_default()
    }

    /// Whether a place holds the content of a component.
    pub fn holds(&self, place: Place, component: u32) -> bool {
        let values = self.content.get(&place);
        let has = |value: Value| values.is_some_and(|values| values.contains(&value));
        self.undefined.contains(&component)
            || has(Value::Component(component))
            || self.constants.get(&component).is_some_and(|&value| has(value))
    }

    /// Whether a place holds exactly this value.
    pub fn has(&self, place: Place, value: Value) -> bool {
        self.content.get(&place).is_some_and(|values| values.contains(&value))
    }

    /// Adds to what a place holds.
    pub fn add(&mut self, place: Place, value: Value) {
        let values = self.content.entry(place).or_default();
        if !values.contains(&value) {
            values.push(value);
            self.holders.entry(value).or_default().push(place);
        }
    }

    /// Overwrites a place.
    pub fn write(&mut self, place: Place, values: &[Value]) {
        for value in self.content.remove(&place).unwrap_or_default() {
            if let Some(places) = self.holders.get_mut(&value) {
                places.retain(|&mut other| other != place);
            }
        }
        values.iter().for_each(|&value| self.add(place, value));
    }

    /// Forgets a component: it is about to be defined anew.
    pub fn forget(&mut self, component: u32) {
        for value in [Value::Component(component), Value::Truth(component)] {
            for place in self.holders.remove(&value).unwrap_or_default() {
                if let Some(values) = self.content.get_mut(&place) {
                    values.retain(|&mut other| other != value);
                }
            }
        }
        self.constants.remove(&component);
        self.undefined.remove(&component);
    }

    fn sorted_constants(&self) -> Vec<(u32, Value)> {
        let mut constants: Vec<(u32, Value)> = self.constants.iter().map(|(&c, &value)| (c, value)).collect();
        constants.sort_unstable();
        constants
    }

    /// Gives components new content at once: each that of another component, a constant, or anything.
    /// `is_steady` tells of a component that its definition gives the same whenever it runs.
    pub fn assign(&mut self, list: &[(u32, Content)], is_steady: impl Fn(u32) -> bool) {
        let mut additions: Vec<(Place, Value)> = Vec::new();
        let mut constants = Vec::new();
        let mut undefined = Vec::new();
        for &(to, content) in list {
            match content {
                Content::Component(from) => {
                    for (held, renamed) in [
                        (Value::Component(from), Value::Component(to)),
                        (Value::Truth(from), Value::Truth(to)),
                    ] {
                        let places = self.holders.get(&held).into_iter().flatten();
                        additions.extend(places.map(|&place| (place, renamed)));
                    }
                    let known = self.constants.get(&from).copied();
                    let steady = is_steady(from).then_some(Value::Component(from));
                    constants.extend(known.or(steady).map(|value| (to, value)));
                    if self.undefined.contains(&from) {
                        undefined.push(to);
                    }
                }
                Content::Imm(bits) => constants.push((to, Value::Imm(bits))),
                Content::Undefined => undefined.push(to),
            }
        }
        list.iter().for_each(|&(to, _)| self.forget(to));
        additions.into_iter().for_each(|(place, value)| self.add(place, value));
        self.constants.extend(constants);
        self.undefined.extend(undefined);
    }

    /// Notes, wherever a constant is held, the components that are known to be that constant, so that a
    /// meet with a path on which they are not constant keeps them.
    pub fn spread_constants(&mut self, is_predicate: impl Fn(u32) -> bool) {
        for (component, constant) in self.sorted_constants() {
            let mut additions: Vec<(Place, Value)> = Vec::new();
            for &place in self.holders.get(&constant).into_iter().flatten() {
                let as_number = is_predicate(component) && !place.holds_truth();
                let value = if as_number { Value::Truth(component) } else { Value::Component(component) };
                additions.push((place, value));
            }
            if let Value::Component(from) = constant {
                let places = self.holders.get(&Value::Truth(from)).into_iter().flatten();
                additions.extend(places.map(|&place| (place, Value::Truth(component))));
            }
            additions.into_iter().for_each(|(place, value)| self.add(place, value));
        }
    }

    /// The places that hold something, in order.
    pub fn places(&self) -> Vec<Place> {
        let mut list: Vec<Place> = self.content.keys().copied().collect();
        list.sort_unstable();
        list
    }
}

impl Place {
    /// Whether the place is a predicate.
    fn holds_truth(self) -> bool {
        (PReg::p(0).dense() as u32..PReg::COUNT as u32).contains(&self.0)
    }
}

/// What a component receives.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content {
    Component(u32),
    Imm(u32),
    Undefined,
}

/// Keeps of `into` what holds on the other path too; whether that took something away.
pub(super) fn meet(into: &mut Frozen, other: &Frozen) -> bool {
    if into == other {
        return false;
    }
    let before = (into.0.len(), into.1.len(), into.2.len());
    // A component that may be anything on one path is held wherever the other path holds it.
    let anything = |set: &[u32], value: Value| match value {
        Value::Component(c) | Value::Truth(c) => set.binary_search(&c).is_ok(),
        _ => false,
    };
    let mut extra: Vec<(Place, Value)> = Vec::new();
    if !into.2.is_empty() {
        let gained = |&&(_, value): &&(Place, Value)| anything(&into.2, value) && !anything(&other.2, value);
        extra.extend(other.0.iter().filter(gained));
    }
    into.0.retain(|&(place, value)| {
        other.0.binary_search(&(place, value)).is_ok() || anything(&other.2, value)
    });
    let kept = into.0.len();
    if !extra.is_empty() {
        into.0.append(&mut extra);
        into.0.sort_unstable();
        into.0.dedup();
    }
    into.1.retain(|pair| other.1.binary_search(pair).is_ok());
    into.2.retain(|component| other.2.binary_search(component).is_ok());
    before != (kept, into.1.len(), into.2.len())
}
