//! Dependences between instructions, and the parts of the control fields that protect them.
//!
//! In: a [`Program`] and its [blocks](crate::blocks). Out: the [edges](Edge), by their later
//! instruction. This is for people and tools that look at finished code; the [hazard
//! check](crate::verify) finds hazards on its own.
//!
//! ```
//! use ptxc_sass::blocks::blocks;
//! use ptxc_sass::dependences::{Kind, Protection, dependences};
//! use ptxc_sass::text::{ReadOptions, parse_programs};
//!
//! let text = ".target sm_90\n.text.k:\n\
//!     [B------:R-:W0:-:S02] S2R R0, SR_TID.X ;\n\
//!     [B0-----:R-:W-:-:S05] IADD3 R1, R0, R0, RZ ;\n";
//! let kernels = parse_programs(text, &ReadOptions::default()).unwrap();
//! let program = &kernels[0].program;
//! let edges = dependences(program, &blocks(program));
//! assert_eq!((edges[0].from, edges[0].to, edges[0].kind), (0, 1, Kind::Raw));
//! assert_eq!(edges[0].protection, Protection::Scoreboard { scoreboard: 0, wait: 1 });
//! ```
//!
//! Within a block there is an edge from each access of a register to the accesses that must come
//! after it, up to the next instruction that surely writes the register. An edge enters another
//! block, or the next iteration of a loop, only from an access that is *under way* at the end of
//! its block: younger than its fixed latency, or not waited for. Accesses that have settled need no
//! edge. Memory has edges within blocks, where [`may_swap`] forbids the other order.
//!
//! Three bounds keep the cost linear for any input: [`CLOSE`] limits the earlier accesses that a
//! guarded write, or a read after guarded writes, depends on; [`CARRIED`] limits the accesses under
//! way at the end of a block; [`SWEEPS`] limits the passes over the code until the accesses at the
//! ends of blocks no longer change.

use std::collections::BTreeMap;

use smallvec::SmallVec;

use crate::blocks::Block;
use crate::control::Control;
use crate::inst::{AccessRole, Inst};
use crate::issue::DRAIN;
use crate::latency::{Dependence, Side, Source, latency, settled};
use crate::memory_order::may_swap;
use crate::program::Program;
use crate::register::PReg;

/// The most accesses of a register that are kept apart if none of them hides the others, and the
/// most memory accesses that an instruction is compared with.
pub const CLOSE: usize = 32;

/// The most accesses that are under way at the end of a block.
pub const CARRIED: usize = 512;

/// The most passes over the code.
pub const SWEEPS: usize = 12;

/// More than every fixed latency, in cycles.
const HORIZON: i64 = 64;

/// How an instruction depends on an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// It reads what the other writes.
    Raw,
    /// It overwrites what the other reads.
    War,
    /// It overwrites what the other writes.
    Waw,
    /// Both reach memory, or a barrier, and may not change places.
    Memory,
}

impl Kind {
    /// `raw`, `war`, `waw` or `memory`.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Raw => "raw",
            Kind::War => "war",
            Kind::Waw => "waw",
            Kind::Memory => "memory",
        }
    }

    const fn of_register(self) -> Option<Dependence> {
        match self {
            Kind::Raw => Some(Dependence::Raw),
            Kind::War => Some(Dependence::War),
            Kind::Waw => Some(Dependence::Waw),
            Kind::Memory => None,
        }
    }
}

/// The protection of a dependence between two instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Protection {
    /// Stall counts.
    Stall {
        /// Cycles between the two issues by the stall counts, on the shortest path.
        cycles: u32,
        /// The least distance that is known to be legal.
        legal: u8,
        /// The distance that the scheduler keeps.
        safe: u8,
    },
    /// A wait for a scoreboard that the earlier one sets.
    Scoreboard {
        /// Its number.
        scoreboard: u8,
        /// The instruction that waits: the later one, or one before it.
        wait: u32,
    },
    /// Only their order.
    Order,
}

/// A dependence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The earlier instruction, by its index.
    pub from: u32,
    /// The later one.
    pub to: u32,
    /// How it depends.
    pub kind: Kind,
    /// The registers, ascending.
    pub registers: SmallVec<[PReg; 2]>,
    /// The protection of the dependence.
    pub protection: Protection,
    /// Whether it comes from another block, or from another iteration of a loop.
    pub carried: bool,
}

/// An access of a register.
#[derive(Clone, Copy, Debug)]
struct Access {
    inst: u32,
    slot: u8,
    component: u8,
    /// Its issue, in cycles from the start of this block; negative if it issued before the block.
    time: i64,
}

/// The known accesses of a register in a block.
#[derive(Clone, Debug, Default)]
struct Accesses {
    /// The writes that may be the last.
    writes: SmallVec<[Access; 1]>,
    /// The reads after the last write that surely happened.
    reads: SmallVec<[Access; 2]>,
}

/// An access that is under way at the end of a block: the register, whether it is a write, the
/// instruction, the slot and the component.
type Key = (u16, bool, u32, u8, u8);
/// Those accesses, with their ages in cycles.
type UnderWay = BTreeMap<Key, i64>;

/// The dependences of a program, by their later instruction, then by the earlier one.
pub fn dependences(program: &Program, blocks: &[Block]) -> Vec<Edge> {
    let mut walk = Walk {
        program,
        registers: vec![Accesses::default(); PReg::COUNT],
        touched: Vec::new(),
        waits: Default::default(),
        memory: Vec::new(),
        start: 0,
        time: 0,
    };
    let mut entries: Vec<UnderWay> = vec![UnderWay::new(); blocks.len()];
    let mut stale = vec![true; blocks.len()];
    for _ in 0..SWEEPS {
        for (number, block) in blocks.iter().enumerate() {
            if !std::mem::replace(&mut stale[number], false) {
                continue;
            }
            walk.block(block, &entries[number], &mut None);
            let left = walk.under_way();
            for next in &block.successors {
                let next = next.block as usize;
                stale[next] |= join(&mut entries[next], &left);
            }
        }
        if !stale.contains(&true) {
            break;
        }
    }
    let mut edges = Some(Vec::new());
    for (block, entry) in blocks.iter().zip(&entries) {
        walk.block(block, entry, &mut edges);
    }
    edges.unwrap_or_default()
}

/// Adds the accesses that another path brings; returns whether anything changed.
fn join(entry: &mut UnderWay, left: &UnderWay) -> bool {
    let mut changed = false;
    for (&key, &age) in left {
        let has_room = entry.len() < CARRIED;
        match entry.get_mut(&key) {
            Some(known) if *known <= age => {}
            Some(known) => {
                *known = age;
                changed = true;
            }
            None if has_room => {
                entry.insert(key, age);
                changed = true;
            }
            None => {}
        }
    }
    changed
}

/// The state of a walk through a block.
struct Walk<'p> {
    program: &'p Program,
    /// By [`PReg::dense`].
    registers: Vec<Accesses>,
    /// The registers with known accesses.
    touched: Vec<u16>,
    /// For each scoreboard the instructions of the block that wait for it.
    waits: [Vec<u32>; Control::SCOREBOARDS as usize],
    /// The instructions of the block that reach memory.
    memory: Vec<u32>,
    /// The block's first instruction.
    start: u32,
    /// Cycles since its issue.
    time: i64,
}

impl Walk<'_> {
    fn block(&mut self, block: &Block, entry: &UnderWay, edges: &mut Option<Vec<Edge>>) {
        for register in self.touched.drain(..) {
            self.registers[usize::from(register)] = Accesses::default();
        }
        self.waits.iter_mut().for_each(Vec::clear);
        self.memory.clear();
        (self.start, self.time) = (block.start, 0);
        for (&(register, write, inst, slot, component), &age) in entry {
            let access = Access { inst, slot, component, time: -age - 1 };
            self.add(register, write, access);
        }
        for index in block.range() {
            self.issue(index as u32, edges);
        }
    }

    fn add(&mut self, register: u16, write: bool, access: Access) {
        self.touched.push(register);
        let accesses = &mut self.registers[usize::from(register)];
        if write { accesses.writes.push(access) } else { accesses.reads.push(access) }
    }

    /// Issues an instruction: adds edges from the known accesses, and makes its own accesses known.
    fn issue(&mut self, index: u32, edges: &mut Option<Vec<Edge>>) {
        let coded = &self.program.insts[index as usize];
        for scoreboard in coded.control.waits() {
            self.waits[usize::from(scoreboard)].push(index);
        }
        let accesses = coded.inst.accesses();
        if let Some(edges) = edges {
            let first = edges.len();
            for access in &accesses {
                let write = access.role == AccessRole::Def;
                for component in 0..access.width {
                    let Some(register) = access.reg.offset(component) else { continue };
                    let own = Access { inst: index, slot: access.slot, component, time: self.time };
                    self.depends(own, register, write, coded.inst.guard.is_some(), edges);
                }
            }
            self.memory(index, edges);
            merge(edges, first);
        }
        let is_sure = coded.inst.guard.is_none();
        for write in [false, true] {
            for access in accesses.iter().filter(|access| (access.role == AccessRole::Def) == write) {
                for component in 0..access.width {
                    let Some(register) = access.reg.offset(component) else { continue };
                    let register = register.dense() as u16;
                    if write && is_sure {
                        self.registers[usize::from(register)] = Accesses::default();
                    }
                    let own = Access { inst: index, slot: access.slot, component, time: self.time };
                    self.add(register, write, own);
                }
            }
        }
        self.time += i64::from(if coded.control.stall == 0 { DRAIN } else { coded.control.stall });
    }

    /// Adds an edge from each access that this one must follow.
    fn depends(&self, own: Access, register: PReg, write: bool, guarded: bool, edges: &mut Vec<Edge>) {
        let known = &self.registers[register.dense()];
        let mut add = |kind: Kind, earlier: &[Access]| {
            let most = if guarded || kind != Kind::War { CLOSE } else { usize::MAX };
            for earlier in earlier.iter().rev().take(most) {
                edges.push(Edge {
                    from: earlier.inst,
                    to: own.inst,
                    kind,
                    registers: SmallVec::from_slice(&[register]),
                    protection: self.protection(kind, earlier, &own),
                    carried: earlier.time < 0,
                });
            }
        };
        if write {
            add(Kind::War, &known.reads);
            add(Kind::Waw, &known.writes);
        } else {
            add(Kind::Raw, &known.writes);
        }
    }

    fn side(&self, access: &Access) -> Side<'_, PReg> {
        let inst = &self.program.insts[access.inst as usize].inst;
        Side { inst, slot: access.slot, component: access.component }
    }

    fn protection(&self, kind: Kind, earlier: &Access, own: &Access) -> Protection {
        let Some(dependence) = kind.of_register() else { return Protection::Order };
        let found = latency(self.program.arch, dependence, self.side(earlier), self.side(own));
        if found.source != Source::Scoreboard {
            // The times of accesses from before the block are one cycle earlier than their ages
            // say, which keeps them below 0.
            let before = i64::from(earlier.time < 0);
            let cycles = u32::try_from(own.time - earlier.time - before).unwrap_or(0);
            return Protection::Stall { cycles, legal: found.legal, safe: found.safe };
        }
        self.waited(earlier, kind == Kind::War).unwrap_or(Protection::Order)
    }

    /// The first wait after an access that covers it: a wait for the scoreboard of its
    /// instruction's results or, if the end of reading is enough, of its operands.
    fn waited(&self, access: &Access, reading: bool) -> Option<Protection> {
        let control = &self.program.insts[access.inst as usize].control;
        let scoreboards = [control.write_barrier, control.read_barrier.filter(|_| reading)];
        let waits = scoreboards.into_iter().flatten().filter_map(|scoreboard| {
            let waits = self.waits.get(usize::from(scoreboard))?;
            let after = match access.time < 0 {
                true => 0,
                false => waits.partition_point(|&wait| wait <= access.inst),
            };
            waits.get(after).map(|&wait| Protection::Scoreboard { scoreboard, wait })
        });
        waits.min_by_key(|found| match found {
            Protection::Scoreboard { wait, .. } => *wait,
            _ => u32::MAX,
        })
    }

    /// Adds the edges of memory.
    fn memory(&mut self, index: u32, edges: &mut Vec<Edge>) {
        let inst = &self.program.insts[index as usize].inst;
        if !reaches_memory(inst) {
            return;
        }
        for &earlier in self.memory.iter().rev().take(CLOSE) {
            if may_swap(&self.program.insts[earlier as usize].inst, inst) {
                continue;
            }
            let access = Access { inst: earlier, slot: 0, component: 0, time: 0 };
            let protection = self.waited(&access, true).unwrap_or(Protection::Order);
            let registers = SmallVec::new();
            edges.push(Edge {
                from: earlier,
                to: index,
                kind: Kind::Memory,
                registers,
                protection,
                carried: false,
            });
        }
        self.memory.push(index);
    }

    /// The accesses that are under way after the last instruction.
    fn under_way(&mut self) -> UnderWay {
        self.touched.sort_unstable();
        self.touched.dedup();
        let mut found = UnderWay::new();
        for &register in &self.touched {
            let accesses = &self.registers[usize::from(register)];
            let both = [(true, &accesses.writes[..]), (false, &accesses.reads[..])];
            for (write, access) in
                both.into_iter().flat_map(|(write, list)| list.iter().map(move |one| (write, one)))
            {
                let age = self.time - access.time - i64::from(access.time < 0);
                if found.len() < CARRIED && self.is_under_way(access, write, age) {
                    let key = (register, write, access.inst, access.slot, access.component);
                    let known = found.entry(key).or_insert(age);
                    *known = age.min(*known);
                }
            }
        }
        found
    }

    fn is_under_way(&self, access: &Access, write: bool, age: i64) -> bool {
        let settled = settled(self.program.arch, self.side(access), write);
        match settled.source {
            Source::Scoreboard => {
                let control = &self.program.insts[access.inst as usize].control;
                let is_announced =
                    control.write_barrier.is_some() || !write && control.read_barrier.is_some();
                is_announced && self.waited(access, !write).is_none()
            }
            _ => age < HORIZON.min(i64::from(settled.safe)),
        }
    }
}

fn reaches_memory(inst: &Inst<PReg>) -> bool {
    let effects = inst.row().effects;
    effects.reads_memory || effects.writes_memory || effects.fence
}

/// Merges edges with the same instructions and kind, from the edge `first` on, and sorts them.
fn merge(edges: &mut Vec<Edge>, first: usize) {
    let key = |edge: &Edge| (edge.from, edge.kind, edge.carried);
    let mut added = edges.split_off(first);
    added.sort_by_key(|edge| (key(edge), edge.registers.first().map(|register| register.dense())));
    for edge in added {
        match edges.get_mut(first..).and_then(<[Edge]>::last_mut) {
            Some(same) if key(same) == key(&edge) => {
                for register in edge.registers {
                    if same.registers.last() != Some(&register) {
                        same.registers.push(register);
                    }
                }
                same.protection = stricter(same.protection, edge.protection);
            }
            _ => edges.push(edge),
        }
    }
}

/// The stricter of two protections of the same instructions.
fn stricter(a: Protection, b: Protection) -> Protection {
    let slack = |protection: Protection| match protection {
        Protection::Stall { cycles, safe, .. } => i64::from(cycles) - i64::from(safe),
        Protection::Scoreboard { .. } => i64::MIN,
        Protection::Order => i64::MAX,
    };
    if slack(b) < slack(a) { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::blocks;
    use crate::text::{ReadOptions, parse_programs};

    /// The edges of a text, each as `from kind to: registers, protection`.
    fn of(text: &str) -> Vec<String> {
        let text = format!(".target sm_90\n.text.k:\n{text}");
        let kernels = parse_programs(&text, &ReadOptions::default()).unwrap();
        let program = &kernels[0].program;
        let edges = dependences(program, &blocks(program));
        let shown = edges.iter().map(|edge| {
            let registers: Vec<String> = edge.registers.iter().map(ToString::to_string).collect();
            let how = match edge.protection {
                Protection::Stall { cycles, safe, .. } => format!("{cycles} of {safe} cycles"),
                Protection::Scoreboard { scoreboard, wait } => format!("SB{scoreboard} at {wait}"),
                Protection::Order => "order".to_string(),
            };
            let carried = if edge.carried { " carried" } else { "" };
            format!("{} {}{carried} {}: {} {how}", edge.from, edge.kind.name(), edge.to, registers.join(","))
        });
        shown.collect()
    }

    #[test]
    fn a_pair_is_one_edge_and_its_wait_is_found() {
        let found = of("[B------:R-:W0:-:S02] LDG.E.64 R2, desc[UR4][R4.64] ;\n\
             [B0-----:R-:W-:-:S04] IADD3 R6, R2, R3, RZ ;\n\
             [B------:R0:W-:-:S02] STG.E desc[UR4][R4.64], R6 ;\n\
             [B0-----:R-:W-:-:S05] IADD3 R6, R2, 0x1, RZ ;\n");
        let expected = [
            "0 raw 1: R2,R3 SB0 at 1",
            "0 memory 2:  SB0 at 1",
            "1 raw 2: R6 4 of 5 cycles",
            "0 raw 3: R2 SB0 at 1",
            "1 waw 3: R6 6 of 2 cycles",
            "2 war 3: R6 SB0 at 3",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn only_what_is_under_way_comes_into_another_block() {
        let found = of("[B------:R-:W-:-:S01] IADD3 R1, R0, 0x1, RZ ;\n\
             [B------:R-:W-:Y:S15] IADD3 R2, R0, 0x1, RZ ;\n\
             [B------:R-:W1:-:S02] LDS R3, [R0] ;\n\
             [B------:R-:W-:-:S01] IADD3 R4, R0, 0x1, RZ ;\n\
             .L_x_0:\n\
             [B-1----:R-:W-:-:S04] IADD3 R3, R3, R2, R4 ;\n\
             [B------:R-:W-:-:S05] @P0 BRA `(.L_x_0) ;\n\
             [B------:R-:W-:-:S05] EXIT ;\n");
        let expected = [
            "2 raw carried 4: R3 SB1 at 4",
            "2 waw carried 4: R3 SB1 at 4",
            "3 raw carried 4: R4 1 of 4 cycles",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_guarded_write_hides_nothing() {
        let found = of("[B------:R-:W-:-:S05] IADD3 R1, R0, 0x1, RZ ;\n\
             [B------:R-:W-:-:S05] @P0 IADD3 R1, R0, 0x2, RZ ;\n\
             [B------:R-:W-:-:S05] IADD3 R2, R1, 0x1, RZ ;\n");
        let expected =
            ["0 waw 1: R1 5 of 2 cycles", "0 raw 2: R1 10 of 4 cycles", "1 raw 2: R1 5 of 4 cycles"];
        assert_eq!(found, expected);
    }

    #[test]
    fn long_blocks_take_time_in_proportion() {
        let line = "[B------:R-:W-:-:S05] @P0 IADD3 R1, R1, R2, R3 ;\n";
        let (one, ten) = (of(&line.repeat(500)).len(), of(&line.repeat(5_000)).len());
        assert!(ten < 11 * one, "{one} edges, then {ten}");
    }
}
