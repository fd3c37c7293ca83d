//! The launch of a kernel: the number of threads, and the initial content of memory.

use std::path::PathBuf;

use ptxc_sim::Case;
use ptxc_sim::case::{Argument, Buffer, Elem, Tolerance};

use crate::images;
use crate::program::{Family, Program};
use crate::random::Random;
pub use crate::shape::Shape;

/// Words of the buffer that all threads read; a power of two.
pub const INPUT_WORDS: u32 = 64;
/// Bytes of the buffer that all threads update.
pub const SHARED_BY_ALL_BYTES: u32 = 64;
/// The bytes that each thread owns in each of global, shared and local memory.
pub const OWN_BYTES: u32 = 64;
/// Bytes of each thread's dump of its registers.
pub const DUMP_BYTES: u32 = 256;

/// The case of a generated kernel: its buffers with random content, its scalars, and the further
/// parameters of its family.
pub fn case(program: &Program, data: u64) -> Case {
    let shape = program.shape;
    let mut random = Random::new(data);
    let all = shape.threads() * shape.grid.iter().product::<u32>();
    let mut args = Vec::new();
    let sizes = [
        ("in", 4 * INPUT_WORDS),
        ("acc", SHARED_BY_ALL_BYTES),
        ("own", all * OWN_BYTES),
        ("dump", all * DUMP_BYTES),
    ];
    for (name, bytes) in sizes {
        let word = |_| if name == "dump" { 0 } else { random.word(32) as u32 };
        args.push(buffer(name, (0..bytes / 4).map(word)));
    }
    args.push(Argument::Scalar { elem: Elem::U32, bits: random.word(32) });
    args.push(Argument::Scalar { elem: Elem::U64, bits: random.word(64) });
    args.push(Argument::Scalar { elem: Elem::F32, bits: random.word(32) });
    match program.family {
        Family::Parameters => {
            for bytes in [64, 12] {
                let words = (0..bytes / 4).flat_map(|_| (random.word(32) as u32).to_le_bytes());
                args.push(Argument::Bytes(words.collect()));
            }
            args.push(Argument::Scalar { elem: Elem::U8, bits: random.word(8) });
            args.push(Argument::Scalar { elem: Elem::U16, bits: random.word(16) });
        }
        Family::Images => args.extend(images::arguments(all, &mut random)),
        _ => {}
    }
    Case {
        images: Vec::new(),
        ptx: PathBuf::from("fuzz.ptx"),
        entry: "fuzz".to_string(),
        grid: shape.grid,
        block: shape.block,
        dynamic_smem: 0,
        ending: Default::default(),
        cluster: None,
        cooperative: false,
        args,
    }
}

/// A launch of a kernel `k(p, n)` with a word of `p` for each thread, as for the kernels of
/// `tests/flow`.
pub fn flow_case(random: &mut Random) -> Case {
    let p = buffer("p", (0..4096).map(|_| random.word(32) as u32));
    let n = Argument::Scalar { elem: Elem::U32, bits: random.bits() % 100 };
    Case {
        images: Vec::new(),
        ptx: PathBuf::from("flow.ptx"),
        entry: "k".to_string(),
        grid: [1, 1, 1],
        block: [random.pick(&[32, 64, 96]), 1, 1],
        dynamic_smem: 0,
        ending: Default::default(),
        cluster: None,
        cooperative: false,
        args: vec![p, n],
    }
}

fn buffer(name: &str, words: impl Iterator<Item = u32>) -> Argument {
    Argument::Buffer(Buffer {
        name: name.to_string(),
        elem: Elem::U32,
        init: words.flat_map(u32::to_le_bytes).collect(),
        expect: None,
        tolerance: Tolerance::Exact,
    })
}
