//! How results are announced: checks whether the instruction table and the assembler agree on the
//! instructions that use a scoreboard.
//!
//! For each result in a straight line, the check looks at the first reader: was there a wait for
//! the scoreboard that the producer sets, a wait for another scoreboard, or no wait? An instruction
//! of fixed latency in the table must set no scoreboard, and a result of variable latency must
//! never be read without a wait. A wait for another scoreboard is a wait for a later instruction
//! that returns after the producer.

use std::collections::BTreeMap;

use ptxc_machine::Arch;
use ptxc_sass::{AccessRole, Completion, Op, PReg};

use super::code::Issued;
use super::observe::are_complementary;

/// The counts of one row of the instruction table.
#[derive(Clone, Debug, Default)]
pub(super) struct Announced {
    /// Instructions with a write scoreboard, and without.
    pub(super) set: [u32; 2],
    /// First readers after a wait for the producer's scoreboard, after another wait, and without a
    /// wait.
    pub(super) read: [u32; 3],
    /// A producer and its reader that disagree with the table.
    pub(super) example: String,
}

impl Announced {
    /// Whether the assembler's code contradicts the table.
    pub(super) fn disagrees(&self, completion: Completion) -> bool {
        match completion {
            Completion::Fixed | Completion::LateRead | Completion::LateUniformRead | Completion::Group => {
                self.set[0] > 0
            }
            Completion::Variable => self.read[2] > 0,
        }
    }
}

/// Adds the counts of a line.
pub(super) fn observe(arch: Arch, line: &[Issued], found: &mut BTreeMap<Op, Announced>) {
    // The last producer of each register that has not been read yet, and the last wait for each
    // scoreboard.
    let mut unread: BTreeMap<PReg, usize> = BTreeMap::new();
    let mut waits: [Option<usize>; 8] = [None; 8];
    for (index, here) in line.iter().enumerate() {
        for scoreboard in here.control.waits() {
            waits[usize::from(scoreboard)] = Some(index);
        }
        let accesses = here.inst.accesses();
        let registers = |def: bool| {
            accesses
                .iter()
                .filter(move |access| (access.role == AccessRole::Def) == def)
                .flat_map(|access| (0..access.width).filter_map(|component| access.reg.offset(component)))
        };
        for reg in registers(false) {
            let Some(at) = unread.remove(&reg) else { continue };
            let from = &line[at];
            let is_later = |wait: Option<usize>| wait.is_some_and(|wait| wait > at);
            let own = from.control.write_barrier.is_some_and(|own| is_later(waits[usize::from(own)]));
            let kind = if own { 0 } else { 2 - usize::from(waits.iter().any(|&wait| is_later(wait))) };
            if are_complementary(&from.inst, &here.inst) {
                continue;
            }
            let announced = found.entry(from.inst.op).or_default();
            announced.read[kind] += 1;
            if kind == 2 && from.inst.completion(arch) == Completion::Variable {
                announced.example = format!("{} -> {}", from.inst, here.inst);
            }
        }
        let mut defines = false;
        for reg in registers(true) {
            unread.insert(reg, index);
            defines = true;
        }
        if defines {
            let announced = found.entry(here.inst.op).or_default();
            announced.set[usize::from(here.control.write_barrier.is_none())] += 1;
            if here.control.write_barrier.is_some() && here.inst.completion(arch) == Completion::Fixed {
                announced.example = here.inst.to_string();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ptxc_sass::Control;
    use ptxc_sass::text::parse_inst;

    use super::*;

    #[test]
    fn a_result_that_is_read_without_a_wait_shows() {
        let lines = [
            ("LDS R2, [R3]", Some(1), 0),
            ("LDS R4, [R3+0x4]", Some(2), 0),
            ("IADD3 R5, R2, R4, RZ", None, 2),
        ];
        let line: Vec<Issued> = lines
            .iter()
            .map(|&(text, write_barrier, wait_mask)| {
                let (inst, _) = parse_inst(text, Arch::Sm80).expect(text);
                Issued { inst, control: Control { write_barrier, wait_mask, ..Control::plain() }, time: 0 }
            })
            .collect();
        let mut found = BTreeMap::new();
        observe(Arch::Sm80, &line, &mut found);
        // The only wait for the second load is a wait for the first load's scoreboard.
        assert_eq!((found[&Op::LDS].set, found[&Op::LDS].read), ([2, 0], [1, 1, 0]));
        let mut found = BTreeMap::new();
        let bare: Vec<Issued> = line
            .into_iter()
            .map(|issued| Issued { control: Control { wait_mask: 0, ..issued.control }, ..issued })
            .collect();
        observe(Arch::Sm80, &bare, &mut found);
        assert_eq!(found[&Op::LDS].read, [0, 0, 2]);
        assert!(found[&Op::LDS].disagrees(Completion::Variable));
    }
}
