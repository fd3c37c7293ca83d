//! Source positions, stored separately from the tree.
//!
//! Every node that a diagnostic may point at carries a [`NodeId`]: its number in order of
//! appearance within one top-level item. A [`SpanMap`] turns the number into a byte range *relative
//! to the start of that item's text*. Two texts that differ only in spaces and comments therefore
//! give equal trees and different maps, and a function that merely moves within its file gives an
//! equal tree and an equal map.

use std::ops::Range;

/// A half-open range of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// The offset after the last byte.
    pub end: u32,
}

impl Span {
    /// The bytes from `start` up to, not including, `end`.
    pub const fn new(start: u32, end: u32) -> Self {
        Span { start, end }
    }

    /// The same bytes, counted from a point `base` bytes earlier.
    pub const fn shifted(self, base: u32) -> Self {
        Span { start: self.start + base, end: self.end + base }
    }

    /// As a range that indexes a `str`.
    pub const fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Number of bytes.
    pub const fn len(self) -> u32 {
        self.end - self.start
    }

    /// Whether the span has no bytes: a point, such as the place of a missing `;`.
    pub const fn is_empty(self) -> bool {
        self.end == self.start
    }
}

/// The id of one node of one top-level item; the key of its [`SpanMap`]. Ids start at 0, are dense
/// and grow in order of appearance (a node precedes its parts).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct NodeId(pub u32);

/// The positions of the nodes of one top-level item, relative to the start of its text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SpanMap {
    spans: Vec<Span>,
}

impl SpanMap {
    /// The span of `id`, or an empty span at 0 if the id belongs to another item.
    pub fn get(&self, id: NodeId) -> Span {
        self.spans.get(id.0 as usize).copied().unwrap_or_default()
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether the item has no node.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Makes room for that many more nodes.
    pub(crate) fn reserve(&mut self, count: usize) {
        self.spans.reserve(count);
    }

    /// Gives the next node the span `span`.
    pub(crate) fn push(&mut self, span: Span) -> NodeId {
        let id = NodeId(self.spans.len() as u32);
        self.spans.push(span);
        id
    }

    /// Sets the end of a node once its last token is known.
    pub(crate) fn set_end(&mut self, id: NodeId, end: u32) {
        let span = &mut self.spans[id.0 as usize];
        span.end = end.max(span.start);
    }

    /// Forgets the nodes from number `len` on, which belong to a statement with an error. The nodes
    /// of the tree are then numbered as if the statement did not exist.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.spans.truncate(len);
    }
}

/// The span maps of all items of a module.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ModuleSpans {
    /// For each item of [`Module::items`](crate::ast::Module::items), the offset of its text in the file
    /// and its map.
    pub items: Vec<(u32, SpanMap)>,
}

impl ModuleSpans {
    /// The span, counted from the start of the file, of node `id` of item number `item`.
    pub fn get(&self, item: usize, id: NodeId) -> Span {
        match self.items.get(item) {
            Some((base, map)) => map.get(id).shifted(*base),
            None => Span::default(),
        }
    }
}
