//! Saves the registers that a call destroys around the call.
//!
//! In: a call, and the registers that are taken before and after it. Out: for each general register
//! that is needed after the call but destroyed by it, a register that is free there, or a word of
//! the frame:
//!
//! ```text
//!     CALL f clobbers(R2-R9)    R3, R8 live     =>     MOV R12, R3 ; STL [R1], R8
//!                                                      CALL f clobbers(R2-R9)
//!                                                      MOV R3, R12 ; LDL R8, [R1]
//! ```
//!
//! So the copies are next to the call, mostly in a slow path that rarely runs, and the value is in
//! one register everywhere else (the caller-save pass of GCC, `caller-save.cc`, places them
//! likewise). The lowest free registers are taken, so those that the function uses anyway come
//! before others; a few more registers cost less than local memory and a stack pointer, so memory
//! is used only if the budget has no registers left. Calls share their words of the frame. Cost:
//! linear in the registers.

use ptxc_sass::{Inst, PReg, RegFile};

use super::live::Call;
use super::moves;

/// The instructions around a call.
#[derive(Default)]
pub(super) struct Saves {
    pub before: Vec<Inst<PReg>>,
    pub after: Vec<Inst<PReg>>,
    /// Words of the frame.
    pub words: u32,
}

/// The registers around a call, as masks with a bit for each general register.
pub(super) struct AtCall<'a> {
    pub call: &'a Call,
    /// The registers that are taken before it.
    pub early: [u64; 4],
    /// The registers that are taken after it, its results included.
    pub late: [u64; 4],
    /// Its results.
    pub results: [u64; 4],
    /// The number of registers that the warp has there.
    pub limit: u16,
    /// The start of the words of the frame, in bytes above the stack pointer.
    pub frame: u32,
}

/// The saves of a call.
pub(super) fn saves(at: &AtCall<'_>) -> Saves {
    let clobbers = at.call.clobbers.mask(RegFile::Gpr);
    let has = |mask: &[u64; 4], index: u8| mask[usize::from(index) / 64] >> (index % 64) & 1 != 0;
    let limit = at.limit.min(RegFile::Gpr.count().into()) as u8;
    let lost =
        (0..limit).filter(|&index| has(&at.late, index) && has(&clobbers, index) && !has(&at.results, index));
    let free = |&index: &u8| {
        !(has(&at.early, index) || has(&at.late, index) || has(&clobbers, index) || has(&at.results, index))
    };
    let mut places = (0..limit).filter(free).map(PReg::r);
    let mut saves = Saves::default();
    let mut to_memory = Vec::new();
    for reg in lost.map(PReg::r) {
        match places.next() {
            Some(place) => {
                saves.before.push(moves::copy(place, reg));
                saves.after.push(moves::copy(reg, place));
            }
            None => to_memory.push(reg),
        }
    }
    let mut rest = &to_memory[..];
    while let Some(&first) = rest.first() {
        let size = [4, 2].into_iter().find(|&size| is_tuple(rest, size)).unwrap_or(1);
        saves.words = saves.words.next_multiple_of(size.into());
        let offset = at.frame + 4 * saves.words;
        let frame = PReg::r(1);
        saves.before.push(moves::store(first, size, frame, offset));
        saves.after.push(moves::load(first, size, frame, offset));
        saves.words += u32::from(size);
        rest = &rest[usize::from(size)..];
    }
    saves
}

/// Whether the first `size` registers are an aligned tuple.
fn is_tuple(regs: &[PReg], size: u8) -> bool {
    let Some(tuple) = regs.get(..usize::from(size)) else { return false };
    let neighbours = tuple.windows(2).all(|pair| pair[0].offset(1) == Some(pair[1]));
    neighbours && tuple[0].index().is_multiple_of(size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mir::RegSet;

    /// The saves around a call that destroys R2 to R13, with R3 and R7 to R11 needed after it.
    fn around(limit: u16) -> (Vec<String>, Vec<String>, u32) {
        let clobbers = (2..14).map(PReg::r).collect::<RegSet>();
        let call = Call { point: 7, clobbers, frequency: 1 };
        let saves = saves(&AtCall {
            call: &call,
            early: [1 << 1 | 1 << 4 | 1 << 15, 0, 0, 0],
            late: [1 << 1 | 1 << 2 | 1 << 3 | 1 << 7 | 0xf << 8 | 1 << 14, 0, 0, 0],
            results: [1 << 2, 0, 0, 0],
            limit,
            frame: 32,
        });
        let text = |list: &[Inst<PReg>]| list.iter().map(Inst::to_string).collect::<Vec<_>>();
        (text(&saves.before), text(&saves.after), saves.words)
    }

    #[test]
    fn registers_first_then_words_of_the_frame() {
        let (before, after, words) = around(16);
        assert_eq!(before, ["MOV R0, R3", "STL [R1+0x20], R7", "STL.128 [R1+0x30], R8"]);
        assert_eq!(after, ["MOV R3, R0", "LDL R7, [R1+0x20]", "LDL.128 R8, [R1+0x30]"]);
        assert_eq!(words, 8);
    }

    #[test]
    fn no_memory_while_the_budget_has_registers() {
        let (before, after, words) = around(255);
        let places = ["R0", "R16", "R17", "R18", "R19", "R20"];
        let lost = ["R3", "R7", "R8", "R9", "R10", "R11"];
        let moves = |to: [&str; 6], from: [&str; 6]| {
            to.iter().zip(from).map(|(to, from)| format!("MOV {to}, {from}")).collect::<Vec<_>>()
        };
        assert_eq!(before, moves(places, lost));
        assert_eq!(after, moves(lost, places));
        assert_eq!(words, 0);
    }
}
