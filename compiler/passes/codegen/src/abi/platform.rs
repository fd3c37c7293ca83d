//! The calling convention of the platform, which functions of other modules and of the driver have.
//!
//! In: the sizes and alignments of parameters or results. Out: their places. The facts were observed
//! in the output of ptxas 13.5 for sm_75 to sm_90 (`docs/abi.md` has the evidence).
//!
//! ```text
//! (b32, b64, 12 bytes, b8, 72 bytes)  ->  R4, R6-R7, R8-R10, R5, the stack at [R1]
//! ```

use ptxc_ir::{Layout, Type};
use ptxc_sass::{PReg, RegFile};

use super::Home;
use crate::mir::RegSet;

/// The first general register for parameters and results.
const FIRST: u8 = 4;
/// The number of general registers for parameters and results.
const COUNT: u8 = 12;

/// The pair with the return address, which is the whole address of an instruction.
pub fn return_address() -> [PReg; 2] {
    [20, 21].map(PReg::r)
}

/// The pair with the address of a function that is called by address. It holds no parameter, and is
/// not the pair with the return address, which the caller writes while it still needs the target.
pub fn target() -> [PReg; 2] {
    [2, 3].map(PReg::r)
}

/// The registers that the callee may clobber. Of the general registers it preserves R1, R2, R16 to
/// R31, and of the higher ones the upper four of each eight; R20 and R21 hold the return address.
/// Predicates hold nothing after the call.
pub fn clobbers() -> RegSet {
    let is_kept = |number: u8| matches!(number, 1 | 2 | 16..=31) || number >= 32 && number & 4 != 0;
    let general = (0..RegFile::Gpr.count()).filter(|&number| !is_kept(number)).map(PReg::r);
    general.chain(return_address()).chain((0..RegFile::Pred.count()).map(PReg::p)).collect()
}

/// The pair of uniform registers in which a function has the descriptor of global memory. Others use it for
/// other values, so [layout](crate::layout) loads it wherever it is needed.
pub fn descriptor() -> [PReg; 2] {
    [4, 5].map(PReg::ur)
}

/// The uniform registers that a function of another module may write. It preserves the others by the
/// rule of the higher general registers.
///
/// These registers exist once per warp, and part of a warp may be in the function while the rest
/// runs other blocks of the caller. So they hold no value of the caller that is live anywhere in a
/// divergent region with such a call, except [undisturbed](crate::allocate) ones.
pub fn uniform_of_others() -> RegSet {
    let is_kept = |number: u8| number >= 32 && number & 4 != 0;
    (0..RegFile::Ugpr.count()).filter(|&number| !is_kept(number)).map(PReg::ur).collect()
}

/// The uniform registers that a function may write. Other parts of the warp may do so at any branch, so
/// a function reads them in the block that has written them.
pub fn uniform() -> impl Iterator<Item = PReg> {
    (4..16).map(PReg::ur)
}

/// The first general register of each parameter or result: the first free registers at a multiple
/// of its alignment that have room for all of it, also before registers that are in use. `None`
/// stands for a place on the stack.
fn starts(layouts: &[Layout]) -> Vec<Option<u8>> {
    let mut taken = 0u16;
    let place = |layout: &Layout| {
        if layout.is_open() {
            return None;
        }
        let words = u8::try_from(layout.bytes.div_ceil(4)).ok().filter(|&words| words <= COUNT)?;
        let step = (layout.align.min(16) / 4).max(1) as usize;
        let mask = (1u16 << words) - 1;
        let start = (0..=COUNT - words).step_by(step).find(|start| taken >> start & mask == 0)?;
        taken |= mask << start;
        Some(FIRST + start)
    };
    layouts.iter().map(place).collect()
}

/// The register in which a function keeps the stack pointer of its caller, from which it has its parameters
/// on the stack, while it aligns its own.
pub fn incoming() -> PReg {
    PReg::r(0)
}

/// The address of a result in memory, which is the first parameter.
pub const ADDRESS: Layout = Layout { bytes: 4, align: 4 };

/// Whether all of these parameters or results are in registers.
pub fn fit(layouts: &[Layout]) -> bool {
    starts(layouts).iter().all(Option::is_some)
}

/// The homes of parameters: registers, or the stack from `bytes` up, where each takes whole words at a
/// multiple of its alignment. An array of any size, the last parameter, begins where the others end.
pub fn homes(layouts: &[Layout], bytes: &mut u32) -> Vec<Home> {
    let place = |(layout, start): (&Layout, Option<u8>)| match start {
        Some(_) => Home::Register,
        None => on_stack(layout, bytes),
    };
    layouts.iter().zip(starts(layouts)).map(place).collect()
}

/// The homes of results that are all in memory.
pub fn in_memory(layouts: &[Layout], bytes: &mut u32) -> Vec<Home> {
    layouts.iter().map(|layout| on_stack(layout, bytes)).collect()
}

fn on_stack(layout: &Layout, bytes: &mut u32) -> Home {
    let start = bytes.next_multiple_of(layout.align.max(4));
    if layout.is_open() {
        *bytes = start;
        return Home::Array(start);
    }
    *bytes = start.saturating_add(layout.bytes.next_multiple_of(4));
    Home::Stack(start)
}

/// The values of parameters or results, each with the index of its layout and its offset there in
/// bytes. A layout has as many values, of 8 or 4 bytes, as it has room for. The values of an array of
/// any size have numbers in place of offsets. A large one has one value, its address. `None` if the
/// values do not fit.
fn values(layouts: &[Layout], types: &[Type]) -> Option<Vec<(usize, u32)>> {
    let mut list = Vec::with_capacity(types.len());
    let mut types = types.iter();
    for (index, layout) in layouts.iter().enumerate() {
        if layout.is_open() {
            // The address, and in a call the size.
            list.extend((0..).zip(types.by_ref().take(2)).map(|(number, _)| (index, number)));
        }
        if layout.is_large() {
            types.next().filter(|&&ty| ty == Type::B32)?;
            list.push((index, 0));
            continue;
        }
        let mut offset = 0;
        while offset < layout.bytes {
            let bytes = types.next().filter(|&&ty| ty != Type::Pred)?.bits().div_ceil(32) * 4;
            list.push((index, offset));
            offset += bytes;
        }
    }
    types.next().is_none().then_some(list)
}

/// The homes of the values of parameters or results with these homes. `None` if the values do not fit
/// the layouts.
pub fn pieces(layouts: &[Layout], homes: &[Home], types: &[Type]) -> Option<Vec<Home>> {
    let home = |(index, offset): (usize, u32)| match homes[index] {
        Home::Stack(start) if layouts[index].is_large() => Home::Large(start, layouts[index]),
        Home::Stack(start) => Home::Stack(start + offset),
        Home::Array(_) if offset > 0 => Home::ArrayBytes,
        home => home,
    };
    Some(values(layouts, types)?.into_iter().map(home).collect())
}

/// The registers of the values of parameters or results. `None` if one of them is on the stack, or if the
/// values do not fit the layouts.
pub fn places(layouts: &[Layout], types: &[Type]) -> Option<Vec<PReg>> {
    let starts = starts(layouts);
    let place = |(index, offset): (usize, u32)| Some(PReg::r(starts[index]? + (offset / 4) as u8));
    values(layouts, types)?.into_iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registers(layouts: &[(u32, u32)]) -> Vec<Option<u8>> {
        let layouts: Vec<Layout> = layouts.iter().map(|&(bytes, align)| Layout { bytes, align }).collect();
        starts(&layouts)
    }

    #[test]
    fn parameters_fill_the_first_gap() {
        let all = [(4, 4), (8, 8), (16, 16), (12, 4), (1, 1), (72, 8), (4, 4)];
        let found = registers(&all);
        assert_eq!(found, [Some(4), Some(6), Some(8), Some(12), Some(5), None, Some(15)]);
        assert_eq!(registers(&[(8, 8), (12, 4), (4, 1), (3, 1), (16, 8)]), [4, 6, 9, 10, 12].map(Some));
        assert_eq!(registers(&[(48, 16)]), [Some(4)]);
        assert_eq!(registers(&[(52, 4), (4, 4)]), [None, Some(4)]);
    }

    #[test]
    fn the_stack_has_the_rest() {
        // As in a function that ptxas 13.5 compiled for sm_80.
        let all = [(48, 8), (1, 1), (2, 2), (1, 1), (50, 2), (2, 2), (5, 1), (8, 8), (1, 1), (16, 16)];
        let layouts: Vec<Layout> = all.iter().map(|&(bytes, align)| Layout { bytes, align }).collect();
        let mut bytes = 0;
        let found = homes(&layouts, &mut bytes);
        let expected = [0, 4, 8, 0xc, 0x40, 0x44, 0x50, 0x58, 0x60].map(Home::Stack);
        assert_eq!((found[0], &found[1..], bytes), (Home::Register, &expected[..], 0x70));
        assert!(!fit(&[Layout { bytes: 52, align: 4 }]) && fit(&layouts[..1]));
    }

    #[test]
    fn an_array_of_any_size_is_behind_the_other_parameters() {
        let layouts = [(60, 4), (8, 8), (0, 16)].map(|(bytes, align)| Layout { bytes, align });
        let mut bytes = 0;
        let found = homes(&layouts, &mut bytes);
        assert_eq!((&found[..], bytes), (&[Home::Stack(0), Home::Register, Home::Array(0x40)][..], 0x40));
        let types = [&[Type::B32; 15][..], &[Type::B64, Type::B32]].concat();
        let homes = pieces(&layouts, &found, &types).unwrap();
        assert_eq!(homes[14..], [Home::Stack(0x38), Home::Register, Home::Array(0x40)]);
        let of_call = pieces(&layouts, &found, &[&types[..], &[Type::B32]].concat()).unwrap();
        assert_eq!(of_call[16..], [Home::Array(0x40), Home::ArrayBytes]);
    }

    #[test]
    fn values_follow_their_layouts() {
        let layouts = [Layout { bytes: 4, align: 4 }, Layout { bytes: 12, align: 8 }];
        let types = [Type::B32, Type::B64, Type::B32];
        assert_eq!(places(&layouts, &types), Some([4, 6, 8].map(PReg::r).to_vec()));
        assert_eq!(places(&layouts, &types[..2]), None);
    }

    #[test]
    fn what_callees_keep() {
        let clobbers = clobbers();
        let kept = [1, 2, 16, 19, 22, 31, 36, 39, 182].map(PReg::r);
        assert!(kept.into_iter().all(|reg| !clobbers.contains(reg)));
        let lost = [0, 3, 4, 15, 20, 21, 32, 35, 40, 176].map(PReg::r);
        assert!(lost.into_iter().all(|reg| clobbers.contains(reg)));
        let uniform = uniform_of_others();
        assert!([4, 15, 32, 35, 56].into_iter().all(|number| uniform.contains(PReg::ur(number))));
        assert!([36, 39, 44, 62].into_iter().all(|number| !uniform.contains(PReg::ur(number))));
    }
}
