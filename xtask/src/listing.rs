//! Reads the text of a kernel, of ptxc or of nvdisasm, for a comparison: its length, its part that
//! is code of called routines, and its loops. Both texts are read by the same rules, so that
//! neither has an advantage.
//!
//! ```text
//! .L_x_1:
//!         /*0010*/                   CALL.REL.NOINC `(.L_x_3) ;
//!         /*0020*/               @P0 BRA `(.L_x_1) ;
//!         /*0030*/                   EXIT ;
//! .L_x_3:
//!         /*0040*/                   RET.REL.NODEC R2 `(k) ;
//! ```
//!
//! are three instructions of the kernel itself, the first two of them in a loop, and one of a
//! routine.
//!
//! - Padding does not count: `NOP`, and the branch to itself that ptxas puts after the last
//!   instruction.
//! - Routines follow the kernel: their code begins at the first label that a call names, or at the
//!   section's second function.
//! - A loop is counted by its head, an instruction to which a depth-first search returns while the
//!   instruction is on the search's path. The instructions in loops are those that can be reached
//!   from themselves (strongly connected components, by Kosaraju's algorithm), wherever the
//!   compiler put them.
//!
//! Cost: linear in the length of the text.

use std::collections::{BTreeSet, HashMap};

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use serde::Serialize;

/// Figures of a kernel's code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Listing {
    /// Instructions of the kernel itself.
    pub(crate) instructions: usize,
    /// Instructions of the routines that it calls.
    pub(crate) called: usize,
    /// Loops of the kernel itself.
    pub(crate) loops: usize,
    /// Instructions of the kernel itself that lie in loops.
    pub(crate) in_loops: usize,
}

impl Listing {
    /// Reads the text of one kernel.
    pub(crate) fn read(text: &str) -> Listing {
        let mut code = Code::default();
        text.lines().for_each(|line| code.line(line.trim()));
        code.drop_branch_to_itself();
        let own = code.own();
        let (loops, in_loops) = code.loops(own);
        Listing { instructions: own, called: code.insts.len() - own, loops, in_loops }
    }
}

/// Instructions and labels.
#[derive(Default)]
struct Code<'a> {
    insts: Vec<&'a str>,
    labels: HashMap<&'a str, usize>,
    functions: Vec<&'a str>,
}

impl<'a> Code<'a> {
    fn line(&mut self, line: &'a str) {
        if let Some(rest) = line.strip_prefix(".type") {
            let mut words = rest.split([',', ' ', '\t']).filter(|word| !word.is_empty());
            if let (Some(name), Some("@function")) = (words.next(), words.next()) {
                self.functions.push(name);
            }
        } else if let Some(label) = line.strip_suffix(':') {
            self.labels.insert(label, self.insts.len());
        } else if let Some(inst) = instruction(line)
            && !inst.split(' ').any(|word| word == "NOP")
        {
            self.insts.push(inst);
        }
    }

    fn drop_branch_to_itself(&mut self) {
        let last = self.insts.len().checked_sub(1);
        if last.is_some_and(|last| self.targets(last).any(|target| target == last)) {
            self.insts.pop();
        }
    }

    /// The possible targets of a branch.
    fn targets(&self, inst: usize) -> impl Iterator<Item = usize> + '_ {
        let is_branch = ["BRA", "BRX", "JMP", "JMX"].contains(&family(self.insts[inst]));
        let names = self.insts[inst].split(|c: char| !(c.is_alphanumeric() || "._$".contains(c)));
        names.filter(move |_| is_branch).filter_map(|name| self.labels.get(name).copied())
    }

    /// The number of the kernel's own instructions.
    fn own(&self) -> usize {
        let calls = self.insts.iter().filter(|inst| family(inst) == "CALL");
        let called = calls.filter_map(|inst| inst.split_once("`(")?.1.split(')').next());
        let routines = called.chain(self.functions.iter().skip(1).copied());
        routines.filter_map(|name| self.labels.get(name).copied()).min().unwrap_or(self.insts.len())
    }

    /// The number of loops among the first instructions, and of instructions in them.
    fn loops(&self, own: usize) -> (usize, usize) {
        let mut graph = DiGraph::<(), ()>::with_capacity(own, 2 * own);
        let nodes: Vec<NodeIndex> = (0..own).map(|_| graph.add_node(())).collect();
        for (index, inst) in self.insts[..own].iter().enumerate() {
            for target in self.targets(index).filter(|&target| target < own) {
                graph.add_edge(nodes[index], nodes[target], ());
            }
            if !ends_path(inst) && index + 1 < own {
                graph.add_edge(nodes[index], nodes[index + 1], ());
            }
        }
        let components = kosaraju_scc(&graph);
        let in_loops = components.iter().filter(|component| match component[..] {
            [only] => graph.contains_edge(only, only),
            _ => true,
        });
        (heads(&graph), in_loops.map(Vec::len).sum())
    }
}

/// The number of nodes to which a depth-first search from the first node returns.
fn heads(graph: &DiGraph<(), ()>) -> usize {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let Some(entry) = graph.node_indices().next() else { return 0 };
    let mut states = vec![State::New; graph.node_count()];
    let mut heads = BTreeSet::new();
    states[entry.index()] = State::Open;
    let mut stack = vec![(entry, graph.neighbors(entry))];
    while let Some((node, successors)) = stack.last_mut() {
        match successors.next() {
            None => {
                states[node.index()] = State::Done;
                stack.pop();
            }
            Some(next) if states[next.index()] == State::New => {
                states[next.index()] = State::Open;
                stack.push((next, graph.neighbors(next)));
            }
            Some(next) if states[next.index()] == State::Open => drop(heads.insert(next)),
            Some(_) => {}
        }
    }
    heads.len()
}

/// The text of an instruction: `@P0 BRA …` of `/*0050*/  @P0 BRA … ; /* 0x… */`.
fn instruction(line: &str) -> Option<&str> {
    let (address, rest) = line.strip_prefix("/*")?.split_once("*/")?;
    let (inst, _) = rest.split_once(';')?;
    u32::from_str_radix(address, 16).ok().map(|_| inst.trim())
}

/// The mnemonic without modifiers: `BRA` of `@P0 BRA.U …`.
fn family(inst: &str) -> &str {
    let mut words = inst.split_whitespace();
    let word = words.find(|word| !word.starts_with('@')).unwrap_or("");
    word.split('.').next().unwrap_or("")
}

/// Whether no thread continues after an instruction: an unconditional branch, exit or return.
fn ends_path(inst: &str) -> bool {
    match family(inst) {
        _ if inst.starts_with('@') => false,
        "EXIT" | "RET" | "BRX" | "JMX" => true,
        // A condition is written between the mnemonic and the target: `BRA.DIV UR7, …`.
        "BRA" | "JMP" => !inst.contains(','),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THEIRS: &str = "\
        .type           k,@function
        .size           k,(.L_x_4 - k)
k:
.text.k:
        /*0000*/                   MOV R1, c[0x0][0x28] ;  /* 0x00 */
                                                           /* 0x00 */
.L_x_1:
        /*0010*/                   CALL.REL.NOINC `($slow) ;
        /*0020*/               @P0 BRA `(.L_x_1) ;
        /*0030*/                   EXIT ;
        .type           $slow,@function
        .size           $slow,(.L_x_4 - $slow)
$slow:
        /*0040*/                   RET.REL.NODEC R2 `(k) ;
.L_x_2:
        /*0050*/                   BRA `(.L_x_2);
        /*0060*/                   NOP;
";

    #[test]
    fn sections_are_split_at_called_routines() {
        let expected = Listing { instructions: 4, called: 1, loops: 1, in_loops: 2 };
        assert_eq!(Listing::read(THEIRS), expected);
    }

    #[test]
    fn a_branch_back_to_code_elsewhere_is_not_a_loop() {
        let text = "\
        /*0000*/  @P0 BRA `(.L_x_2) ;
.L_x_1:
        /*0010*/  EXIT ;
.L_x_2:
        /*0020*/  MOV R0, R1 ;
        /*0030*/  BRA `(.L_x_1) ;
";
        let expected = Listing { instructions: 4, called: 0, loops: 0, in_loops: 0 };
        assert_eq!(Listing::read(text), expected);
    }

    #[test]
    fn loops_may_be_in_pieces_and_nested() {
        // The loop at 2 goes through 6 and 7; the loop at 3 is inside it.
        let text = "\
        /*0000*/  MOV R0, R1 ;
        /*0010*/  BRA `(.L_x_1) ;
.L_x_1:
        /*0020*/  MOV R0, R1 ;
.L_x_2:
        /*0030*/  @P0 BRA `(.L_x_2) ;
        /*0040*/  @P1 BRA `(.L_x_3) ;
        /*0050*/  EXIT ;
.L_x_3:
        /*0060*/  MOV R0, R1 ;
        /*0070*/  BRA `(.L_x_1) ;
";
        let expected = Listing { instructions: 8, called: 0, loops: 2, in_loops: 5 };
        assert_eq!(Listing::read(text), expected);
    }
}
