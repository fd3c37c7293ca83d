//! Limits on the size of a function that is lowered.
//!
//! The time of most passes is linear in the size of the function; some take a few times as long if
//! there are many blocks. A hundred thousand instructions take two seconds and half a gigabyte. A
//! limit on instructions and blocks therefore limits time and memory. The limits are far above the
//! sizes that compilers write.

use ptxc_ir::Function;
use ptxc_ptx::diagnostic::Diagnostic;
use ptxc_syntax::NodeId;

/// The most instructions of a function as written.
pub const WRITTEN: usize = 1_000_000;
/// The most instructions after legalization, when each exists on the machine. A division becomes
/// dozens of them.
pub const LEGAL: usize = 2_000_000;
/// The most blocks, as written or after legalization.
const BLOCKS: usize = 200_000;
/// The most edges of all `brx.idx` together: each branch that names a table has as many edges as
/// the table has entries, and a table is one line of text.
const TABLE_EDGES: usize = 40_000;

/// Checks that a function is small enough to be lowered and has at most `most` instructions.
///
/// # Errors
/// The limit that it exceeds.
pub fn check(func: &Function, most: usize) -> Result<(), Vec<Diagnostic>> {
    let blocks = func.layout.len();
    let insts: usize = func.layout.iter().map(|&block| func.blocks[block].insts.len()).sum();
    let edges = func.layout.iter().map(|&block| func.edges(block).len());
    let edges: usize = edges.filter(|&edges| edges > 2).sum();
    let excess = [
        (insts, most, "instructions"),
        (blocks, BLOCKS, "blocks"),
        (edges, TABLE_EDGES, "targets of indexed branches"),
    ];
    match excess.iter().find(|(count, most, _)| count > most) {
        None => Ok(()),
        Some((count, most, what)) => {
            let message = format!("a function of {count} {what} (more than {most})");
            Err(vec![Diagnostic::unsupported(NodeId(0), message)])
        }
    }
}

#[cfg(test)]
mod tests {
    use ptxc_ir::text::parse_function;

    use super::*;

    #[test]
    fn a_function_of_too_many_instructions_is_refused() {
        let of = |count: usize| {
            let body = "    fence.sc.cta\n".repeat(count);
            parse_function(&format!("func @f entry {{\nblock0:\n{body}    exit\n}}\n"))
                .expect("it is a function")
        };
        assert_eq!(check(&of(99), 100), Ok(()));
        let found = check(&of(100), 100).expect_err("it is too large");
        assert_eq!(found[0].message, "a function of 101 instructions (more than 100) is not supported yet");
    }
}
