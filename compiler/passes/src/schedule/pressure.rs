//! Register pressure while a region is scheduled.
//!
//! In: for each node the values that it reads and defines, each with its file, and which values are needed
//! after the region. Out: how many registers hold a needed value at the present point, and by how much that
//! would change if a node came next. A value is a single register (or predicate) from one definition to its
//! last use; it dies with the last of its uses in the region unless it lives on. Each step costs the accesses
//! of its node.

use ptxc_sass::RegFile;
use smallvec::SmallVec;

/// A value of a region.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    pub(super) file: RegFile,
    /// Nodes of the region that read it and have not issued.
    pub(super) uses: u32,
    /// Whether it is needed after the region.
    pub(super) lives_on: bool,
}

/// What a node does to values, as numbers into [`Tracker::values`]; each number once.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeValues {
    pub(super) uses: SmallVec<[u32; 6]>,
    pub(super) defs: SmallVec<[u32; 4]>,
}

/// The values of a region and the pressure now.
#[derive(Clone, Debug, Default)]
pub(super) struct Tracker {
    pub(super) values: Vec<Value>,
    pub(super) nodes: Vec<NodeValues>,
    pub(super) live: [i32; RegFile::ALL.len()],
}

impl Tracker {
    pub(super) fn now(&self, file: RegFile) -> u32 {
        self.live[file as usize].max(0) as u32
    }

    pub(super) fn change(&self, node: usize, file: RegFile) -> i32 {
        let mut change = 0;
        for &value in &self.nodes[node].uses {
            let value = &self.values[value as usize];
            if value.file == file && value.uses == 1 && !value.lives_on {
                change -= 1;
            }
        }
        for &value in &self.nodes[node].defs {
            let value = &self.values[value as usize];
            if value.file == file && (value.uses > 0 || value.lives_on) {
                change += 1;
            }
        }
        change
    }

    pub(super) fn issue(&mut self, node: usize) {
        let Tracker { nodes, values, live, .. } = self;
        for &value in &nodes[node].defs {
            let value = &values[value as usize];
            live[value.file as usize] += i32::from(value.uses > 0 || value.lives_on);
        }
        for &value in &nodes[node].uses {
            let value = &values[value as usize];
            live[value.file as usize] -= i32::from(value.uses == 1 && !value.lives_on);
        }
        for &value in &nodes[node].uses {
            values[value as usize].uses -= 1;
        }
    }
}
