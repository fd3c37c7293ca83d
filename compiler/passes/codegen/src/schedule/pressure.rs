//! Register pressure while a region is scheduled.
//!
//! In: the values that nodes read and define, each with its file, and the values that are needed
//! after the region. Out: the number of registers that hold a needed value at the present point,
//! and the change to that number if a node came next. A value is a single register (or predicate)
//! from one definition to its last use; it dies with the last of its uses in the region unless it
//! lives on. The change by each node is kept up to date: when one of the two last readers of a
//! value issues, the other is the one that ends it. Readers follow the definition, so the number
//! that a definition adds never changes. The cost of a step is linear in the values that its node
//! reads.

use ptxc_sass::RegFile;

/// A number for each register file.
pub(super) type ByFile = [i32; RegFile::ALL.len()];

/// Marks a missing node.
pub(super) const NOBODY: u32 = u32::MAX;

/// A value of a region.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    file: RegFile,
    /// Whether it is needed after the region.
    pub(super) lives_on: bool,
    /// The node that defines it; [`NOBODY`] if it comes from before the region.
    definer: u32,
    /// The last node that was added as its reader.
    last_reader: u32,
    /// The number of nodes that read it and have not issued.
    uses: u32,
    /// The exclusive or of the numbers of these nodes: if only one is left, its number.
    readers: u32,
}

impl Value {
    fn dies_with_next_use(&self) -> bool {
        self.uses == 1 && !self.lives_on
    }
}

/// The values of a region and the present pressure.
#[derive(Clone, Debug, Default)]
pub(super) struct Tracker {
    pub(super) values: Vec<Value>,
    /// The values that nodes read, node by node, each once.
    reads: Vec<u32>,
    /// For each node, the end of its part of `reads`.
    ends: Vec<u32>,
    /// For each node that has not issued, the change of the pressure if it were next.
    changes: Vec<ByFile>,
    live: ByFile,
}

impl Tracker {
    pub(super) fn clear(&mut self) {
        let Tracker { values, reads, ends, changes, live: _ } = self;
        values.clear();
        reads.clear();
        ends.clear();
        changes.clear();
    }

    /// Reserves room for this number of nodes, with a few values each.
    pub(super) fn reserve(&mut self, nodes: usize) {
        self.values.reserve(2 * nodes);
        self.reads.reserve(3 * nodes);
        self.ends.reserve(nodes);
        self.changes.reserve(nodes);
    }

    /// A new value.
    pub(super) fn add_value(&mut self, file: RegFile, definer: u32) -> u32 {
        let value = Value { file, lives_on: false, definer, last_reader: NOBODY, uses: 0, readers: 0 };
        self.values.push(value);
        self.values.len() as u32 - 1
    }

    /// Records that a node reads a value. Nodes come one after the other.
    pub(super) fn add_read(&mut self, node: u32, value: u32) {
        let last = &mut self.values[value as usize].last_reader;
        if std::mem::replace(last, node) != node {
            self.reads.push(value);
        }
    }

    /// Ends the list of values that a node reads.
    pub(super) fn end_node(&mut self) {
        self.ends.push(self.reads.len() as u32);
    }

    fn reads_of(&self, node: usize) -> std::ops::Range<usize> {
        let start = node.checked_sub(1).map_or(0, |before| self.ends[before]);
        start as usize..self.ends[node] as usize
    }

    /// Starts with nothing issued and `live` registers that hold a needed value.
    pub(super) fn start(&mut self, live: ByFile) {
        self.live = live;
        for value in &mut self.values {
            (value.uses, value.readers) = (0, 0);
        }
        let mut at = 0;
        for (node, &end) in self.ends.iter().enumerate() {
            while at < end as usize {
                let value = &mut self.values[self.reads[at] as usize];
                value.uses += 1;
                value.readers ^= node as u32;
                at += 1;
            }
        }
        self.changes.clear();
        self.changes.resize(self.ends.len(), ByFile::default());
        for value in &self.values {
            if value.definer != NOBODY && (value.uses > 0 || value.lives_on) {
                self.changes[value.definer as usize][value.file as usize] += 1;
            }
            if value.dies_with_next_use() {
                self.changes[value.readers as usize][value.file as usize] -= 1;
            }
        }
    }

    #[inline]
    pub(super) fn now(&self, file: RegFile) -> u32 {
        self.live[file as usize].max(0) as u32
    }

    #[inline]
    pub(super) fn change(&self, node: usize, file: RegFile) -> i32 {
        self.changes[node][file as usize]
    }

    pub(super) fn issue(&mut self, node: usize) {
        for (live, change) in self.live.iter_mut().zip(self.changes[node]) {
            *live += change;
        }
        for at in self.reads_of(node) {
            let value = &mut self.values[self.reads[at] as usize];
            value.uses -= 1;
            value.readers ^= node as u32;
            if value.dies_with_next_use() {
                self.changes[value.readers as usize][value.file as usize] -= 1;
            }
        }
    }
}
