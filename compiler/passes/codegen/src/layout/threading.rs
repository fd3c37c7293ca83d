//! Jump threading: edges into empty blocks go straight to the targets of these.
//!
//! In: machine IR. Out: for every block the block that an edge to it should name. A block is empty
//! if it has no instructions and ends in a jump; a cycle of empty blocks (an endless loop) keeps
//! one of them.
//!
//! ```text
//! mb1: branch %p0, mb2, mb3          mb1: branch %p0, mb4, mb3
//! mb2: jump mb4                 =>
//! ```
//! Each block is visited once: linear.

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use ptxc_sass::PReg;

use crate::mir::{MBlockId, Mir, Term};

/// For each block, the final target of an edge to it.
pub(super) fn destinations(mir: &Mir<PReg>) -> SecondaryMap<MBlockId, PackedOption<MBlockId>> {
    let mut destination: SecondaryMap<MBlockId, PackedOption<MBlockId>> = SecondaryMap::new();
    let mut on_path = SecondaryMap::new();
    let mut path = Vec::new();
    for &start in &mir.layout {
        let mut block = start;
        let end = loop {
            if let Some(known) = destination[block].expand() {
                break known;
            }
            if on_path[block] {
                break block;
            }
            match &mir.blocks[block].term {
                Term::Jump(edge) if mir.blocks[block].insts.is_empty() => {
                    on_path[block] = true;
                    path.push(block);
                    block = edge.block;
                }
                _ => {
                    destination[block] = Some(block).into();
                    break block;
                }
            }
        };
        for block in path.drain(..) {
            on_path[block] = false;
            destination[block] = Some(end).into();
        }
    }
    destination
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::tests::{block, edge, mir};

    #[test]
    fn chains_and_cycles_of_empty_blocks() {
        let mir = mir(vec![
            block(&[], Term::Jump(edge(1))),
            block(&[], Term::Jump(edge(2))),
            block(&["x"], Term::Jump(edge(3))),
            block(&[], Term::Jump(edge(4))),
            block(&[], Term::Jump(edge(3))),
        ]);
        let to = destinations(&mir);
        let to: Vec<u32> = mir.layout.iter().map(|&b| to[b].unwrap().as_u32()).collect();
        assert_eq!(to[..3], [2, 2, 2]);
        assert_eq!(to[3], to[4], "one block of the cycle stays");
        assert!(to[3] == 3 || to[3] == 4);
    }
}
