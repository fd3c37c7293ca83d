//! The effect of an edge on a state.
//!
//! In: the state at the end of a block, the contents that the parameters of the target receive, and
//! the components that the input reads after the edge. Out: the state at the start of the target as
//! a list. The state itself stays unchanged, so the next edge can begin with it, too.
//!
//! ```text
//! R4: %r5    jump mb1(%r5) to mb1(%r9), where %r5 is read no more     =>     R4: %r9
//! ```
//!
//! A place keeps only the components that are read after the edge, besides constants and values
//! that may be rematerialized.

use super::frozen::Frozen;
use super::state::{Place, State, Value};
use crate::mir::{MInst, VReg};

/// The content that a component receives.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content {
    Component(u32),
    Imm(u32),
    Undefined,
}

/// Memory for crossing edges, which serves all edges of a function.
pub(super) struct Crossing<'a> {
    /// By component, its definition if that gives the same value whenever it runs. Parameters and
    /// copies have none.
    steady: &'a [Option<&'a MInst<VReg>>],
    /// The number of the edge that is crossed.
    edge: u32,
    /// By component, its fate on edges.
    fates: Vec<Fate>,
    /// Parameters, each with the next one that receives the same content.
    received: Vec<(u32, Option<u32>)>,
    /// The state after the edge.
    after: Frozen,
}

/// The fate of a component on edges.
#[derive(Clone, Copy, Default)]
struct Fate {
    /// The last edge after which it is read.
    kept: u32,
    /// The last edge on which a parameter received it, and the first such parameter in the list.
    received: u32,
    first: u32,
}

impl<'a> Crossing<'a> {
    /// Memory for the edges of a function with these components.
    pub fn new(steady: &'a [Option<&'a MInst<VReg>>]) -> Crossing<'a> {
        Crossing {
            steady,
            edge: 0,
            fates: vec![Fate::default(); steady.len()],
            received: Vec::new(),
            after: Frozen::default(),
        }
    }

    /// Begins an edge.
    pub fn begin(&mut self) {
        self.edge += 1;
        self.received.clear();
        self.after.content.clear();
        self.after.constants.clear();
        self.after.undefined.clear();
    }

    /// Marks a component that is read after the edge.
    pub fn read(&mut self, component: u32) {
        self.fates[component as usize].kept = self.edge;
    }

    /// Marks a component that is read after the edge and receives new content on it. Must be called
    /// after all calls of [`read`](Self::read).
    pub fn receive(&mut self, state: &State, to: u32, content: Content) {
        self.fates[to as usize].kept = 0;
        match content {
            Content::Component(from) => {
                let fate = &mut self.fates[from as usize];
                let next = (fate.received == self.edge).then_some(fate.first);
                (fate.received, fate.first) = (self.edge, self.received.len() as u32);
                self.received.push((to, next));
                let constant = state.constant(from, self.steady[from as usize].is_some());
                self.after.constants.extend(constant.map(|value| (to, value)));
                self.after.undefined.extend(state.is_undefined(from).then_some(to));
            }
            Content::Imm(bits) => self.after.constants.push((to, Value::Imm(bits))),
            Content::Undefined => self.after.undefined.push(to),
        }
    }

    /// Ends the edge; returns the state after it.
    pub fn end(&mut self, state: &State) -> &mut Frozen {
        let Crossing { fates, edge, after, .. } = self;
        let is_kept = |component: u32| fates[component as usize].kept == *edge;
        after.constants.extend(state.constants().filter(|&(component, _)| is_kept(component)));
        after.constants.sort_unstable();
        after.constants.dedup();
        after.undefined.extend(state.undefined().filter(|&component| is_kept(component)));
        after.undefined.sort_unstable();
        after.undefined.dedup();
        state.for_each_held(|place, values| {
            let start = self.after.content.len();
            values.iter().for_each(|&value| self.carry(place, value));
            if self.after.content.len() > start + 1 {
                self.after.content[start..].sort_unstable();
            }
        });
        &mut self.after
    }

    /// Carries the content of a place across the edge.
    fn carry(&mut self, place: Place, value: Value) {
        let content = &mut self.after.content;
        let Some(component) = value.component() else { return content.push((place, value)) };
        let fate = self.fates[component as usize];
        // A steady value stays also as a number, since a component that is known to equal it may be
        // read later.
        if fate.kept == self.edge || self.steady[component as usize].is_some() {
            content.push((place, value));
        }
        if fate.received != self.edge {
            return;
        }
        let mut next = Some(fate.first);
        while let Some(at) = next {
            let (to, after) = self.received[at as usize];
            let as_number = matches!(value, Value::Truth(_));
            content.push((place, if as_number { Value::Truth(to) } else { Value::Component(to) }));
            next = after;
        }
    }
}
