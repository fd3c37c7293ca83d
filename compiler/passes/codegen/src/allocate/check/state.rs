//! The values that places hold at one point: the checker's abstract state.
//!
//! Places and components are small numbers, so the state is tables by their numbers. One [`State`]
//! serves all blocks of a function: a block's entry is kept as a list ([`Frozen`]), which is
//! expanded into the tables before the block is walked. Places outside of the list cost nothing.

use ptxc_sass::PReg;
use smallvec::SmallVec;

use super::frozen::Frozen;

/// A register, or a word of the stack frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Place(u32);

impl Place {
    pub fn register(reg: PReg) -> Place {
        Place(reg.dense() as u32)
    }

    /// The place of the register `n` places later in the same file; that register must exist.
    pub fn neighbour(self, n: u32) -> Place {
        Place(self.0 + n)
    }

    /// A word of the frame by its byte offset, which is a multiple of 4.
    pub fn word(offset: u32) -> Place {
        Place(PReg::COUNT as u32 + offset / 4)
    }

    /// Whether the place is a uniform register or predicate.
    pub fn is_uniform(self) -> bool {
        let uniform = PReg::ur(0).dense() as u32..PReg::p(0).dense() as u32;
        let predicates = PReg::up(0).dense() as u32..PReg::COUNT as u32;
        uniform.contains(&self.0) || predicates.contains(&self.0)
    }

    /// Whether the place is a predicate.
    pub fn holds_truth(self) -> bool {
        (PReg::p(0).dense() as u32..PReg::COUNT as u32).contains(&self.0)
    }
}

/// A value that a place may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Value {
    /// The content of a component of the input's virtual registers.
    Component(u32),
    /// A predicate of the input as the number 0 or 1.
    Truth(u32),
    /// A constant; for a predicate 0 or 1.
    Imm(u32),
    /// The stack pointer from the driver.
    Stack,
    /// The stack pointer minus the frame.
    Frame,
    /// What a register held when the function was called, which it must hold when the function returns.
    Kept(PReg),
}

impl Value {
    /// The component whose content or truth it is.
    pub fn component(self) -> Option<u32> {
        match self {
            Value::Component(component) | Value::Truth(component) => Some(component),
            Value::Imm(_) | Value::Stack | Value::Frame | Value::Kept(_) => None,
        }
    }
}

/// Several values that are known to be the same.
pub(super) type Values = SmallVec<[Value; 2]>;

/// The state at a point.
#[derive(Debug)]
pub(super) struct State {
    /// By place, its content.
    content: Vec<Values>,
    /// A bit for each place: whether it holds anything.
    held: Vec<u64>,
    /// By component, the places that hold its content or its truth; the list may also have places
    /// that have been overwritten.
    holders: Vec<SmallVec<[Place; 2]>>,
    /// The components with holders; the list may also have components that have lost theirs.
    named: Vec<u32>,
    /// By component, the constant that it is known to be, or the component of a definition that
    /// gives the same value whenever it runs.
    constant: Vec<Option<Value>>,
    /// The components with a constant; the list may also have components that have lost theirs.
    constants: Vec<u32>,
    /// By component, whether it may be anything.
    undefined: Vec<bool>,
    /// The components that may be anything; the list may also have components for which this no
    /// longer holds.
    undefineds: Vec<u32>,
}

impl State {
    /// The state in which nothing is known about these numbers of components and words of the
    /// frame.
    pub fn new(components: usize, words: usize) -> State {
        let places = PReg::COUNT + words;
        let mut state = State {
            content: Vec::new(),
            held: vec![0; places.div_ceil(64)],
            holders: Vec::new(),
            named: Vec::new(),
            constant: vec![None; components],
            constants: Vec::new(),
            undefined: vec![false; components],
            undefineds: Vec::new(),
        };
        state.content.resize_with(places, Values::new);
        state.holders.resize_with(components, SmallVec::new);
        state
    }

    /// Sets the state to the one at the entry of a block.
    pub fn thaw(&mut self, entry: &Frozen) {
        self.clear();
        for &(place, value) in &entry.content {
            self.content[place.0 as usize].push(value);
            self.hold(place, value);
        }
        for &(component, value) in &entry.constants {
            self.constant[component as usize] = Some(value);
            self.constants.push(component);
        }
        for &component in &entry.undefined {
            self.undefined[component as usize] = true;
            self.undefineds.push(component);
        }
    }

    fn clear(&mut self) {
        for (index, word) in self.held.iter_mut().enumerate() {
            bits(index, std::mem::take(word), |place| self.content[place.0 as usize].clear());
        }
        self.named.drain(..).for_each(|component| self.holders[component as usize].clear());
        self.constants.drain(..).for_each(|component| self.constant[component as usize] = None);
        self.undefineds.drain(..).for_each(|component| self.undefined[component as usize] = false);
    }

    /// Calls `visit` for each place that holds something, in order, with its content.
    pub fn for_each_held(&self, mut visit: impl FnMut(Place, &[Value])) {
        for (index, &word) in self.held.iter().enumerate() {
            bits(index, word, |place| visit(place, self.content(place)));
        }
    }

    /// The content of a place.
    pub fn content(&self, place: Place) -> &[Value] {
        &self.content[place.0 as usize]
    }

    /// A copy of the content of a place.
    pub fn get(&self, place: Place) -> Values {
        Values::from_slice(self.content(place))
    }

    /// The content of a place, with the components that are known to equal one of its values.
    pub fn get_all(&self, place: Place, is_predicate: &[bool]) -> Values {
        let mut values = self.get(place);
        for (component, constant) in self.constants() {
            let names = named_by_constant(place, component, constant, is_predicate);
            for (_, name) in names.iter().filter(|&&(value, _)| self.has(place, value)) {
                if !values.contains(name) {
                    values.push(*name);
                }
            }
        }
        values
    }

    /// Whether a place holds the content of a component.
    #[inline]
    pub fn holds(&self, place: Place, component: u32) -> bool {
        let values = self.content(place);
        values.first() == Some(&Value::Component(component))
            || values.contains(&Value::Component(component))
            || self.undefined[component as usize]
            || self.constant[component as usize].is_some_and(|value| values.contains(&value))
    }

    /// Whether a place holds exactly this value.
    pub fn has(&self, place: Place, value: Value) -> bool {
        self.content(place).contains(&value)
    }

    /// Records that a place holds a value.
    fn hold(&mut self, place: Place, value: Value) {
        self.held[place.0 as usize / 64] |= 1 << (place.0 % 64);
        if let Some(component) = value.component() {
            let holders = &mut self.holders[component as usize];
            if holders.is_empty() {
                self.named.push(component);
            }
            holders.push(place);
        }
    }

    /// Adds to the content of a place.
    fn add(&mut self, place: Place, value: Value) {
        let values = &mut self.content[place.0 as usize];
        if !values.contains(&value) {
            values.push(value);
            self.hold(place, value);
        }
    }

    /// Overwrites a place.
    pub fn write(&mut self, place: Place, values: &[Value]) {
        self.empty(place);
        values.iter().for_each(|&value| self.add(place, value));
    }

    /// Overwrites a place with a component, and with other values that are known to be the same.
    pub fn put(&mut self, place: Place, component: u32, same: &[Value]) {
        self.empty(place);
        self.content[place.0 as usize].push(Value::Component(component));
        self.hold(place, Value::Component(component));
        same.iter().for_each(|&value| self.add(place, value));
    }

    /// Makes a place hold nothing.
    fn empty(&mut self, place: Place) {
        self.content[place.0 as usize].clear();
        self.held[place.0 as usize / 64] &= !(1 << (place.0 % 64));
    }

    /// Forgets a component, which is about to be redefined.
    pub fn forget(&mut self, component: u32) {
        self.constant[component as usize] = None;
        self.undefined[component as usize] = false;
        if self.holders[component as usize].is_empty() {
            return;
        }
        for place in std::mem::take(&mut self.holders[component as usize]) {
            let values = &mut self.content[place.0 as usize];
            values.retain(|value| value.component() != Some(component));
            if values.is_empty() {
                self.held[place.0 as usize / 64] &= !(1 << (place.0 % 64));
            }
        }
    }

    /// Gives a component the content of another one. `is_steady` tells whether the definition of
    /// the latter gives the same value whenever it runs.
    pub fn assign(&mut self, to: u32, from: u32, is_steady: bool) {
        let constant = self.constant(from, is_steady);
        let undefined = self.is_undefined(from);
        let places = self.holders[from as usize].clone();
        if to != from {
            self.forget(to);
        }
        for place in places {
            for (held, renamed) in
                [(Value::Component(from), Value::Component(to)), (Value::Truth(from), Value::Truth(to))]
            {
                if self.has(place, held) {
                    self.add(place, renamed);
                }
            }
        }
        if let Some(constant) = constant {
            self.constant[to as usize] = Some(constant);
            self.constants.push(to);
        }
        if undefined {
            self.undefined[to as usize] = true;
            self.undefineds.push(to);
        }
    }

    /// The known value of a component: a constant, or itself if its definition gives the same value
    /// whenever it runs.
    pub fn constant(&self, component: u32, is_steady: bool) -> Option<Value> {
        self.constant[component as usize].or(is_steady.then_some(Value::Component(component)))
    }

    /// Whether a component may be anything.
    pub fn is_undefined(&self, component: u32) -> bool {
        self.undefined[component as usize]
    }

    /// The components that are known to be a constant, in no order and some of them repeatedly.
    pub fn constants(&self) -> impl Iterator<Item = (u32, Value)> {
        let all = self.constants.iter();
        all.filter_map(|&component| Some((component, self.constant[component as usize]?)))
    }

    /// The components that may be anything, in no order and some of them repeatedly.
    pub fn undefined(&self) -> impl Iterator<Item = u32> {
        self.undefineds.iter().copied().filter(|&component| self.is_undefined(component))
    }
}

/// The further values of a place that holds some values, if a component is known to be a constant:
/// `(value, name)`.
pub(super) fn named_by_constant(
    place: Place,
    component: u32,
    constant: Value,
    is_predicate: &[bool],
) -> SmallVec<[(Value, Value); 2]> {
    let as_number = is_predicate[component as usize] && !place.holds_truth();
    let name = if as_number { Value::Truth(component) } else { Value::Component(component) };
    let mut names = SmallVec::from_slice(&[(constant, name)]);
    if let Value::Component(from) = constant {
        names.push((Value::Truth(from), Value::Truth(component)));
    }
    names
}

/// Calls `visit` for the places of the bits that are set in the word of that number.
#[inline]
fn bits(index: usize, mut word: u64, mut visit: impl FnMut(Place)) {
    while word != 0 {
        visit(Place(64 * index as u32 + word.trailing_zeros()));
        word &= word - 1;
    }
}
