//! Reads binary16 from textures as binary32, except where NVIDIA's code does not.
//!
//! ```text
//! v3, v4, v5 = texture.least.3d.half v0, …      v6, v7, v8, v9, v5 = texture.least.3d v0, …
//!                                          =>   v10 = floats_to_halves.f16x2.rn v6, v7      // v3
//!                                               v11 = floats_to_halves.f16x2.rn v8, v9      // v4
//! ```
//!
//! `.F16` stands only beside `.SCR` in ptxas's code, so only before sm_90 and with at most four
//! operands. Reads with derivatives never have it. Linear.

use ptxc_ir::{Fetch, Function, Inst, Op, Rounding, Sampling, Shape, Type, Value, ValueDef};
use ptxc_machine::{Arch, Feature};

use super::emitter::{Emitter, rewrite};

/// Reads binary16 from textures as binary32 where the instruction cannot convert.
pub fn half_textures(func: &mut Function, arch: Arch) -> bool {
    rewrite(func, |emitter, inst| match emitter.func.insts[inst].op {
        Op::Texture(sampling) if sampling.half && !converts(emitter.func, inst, sampling, arch) => {
            read_singles(emitter, inst, sampling);
            true
        }
        _ => false,
    })
}

/// Whether the instruction can give binary16.
fn converts(func: &Function, inst: Inst, sampling: Sampling, arch: Arch) -> bool {
    const MOST_OPERANDS: usize = 4;
    let args = &func.insts[inst].args;
    let is_row = sampling.shape == Shape::Line && !sampling.fetch.is_texel();
    let is_param = |handle: Value| match func.def(handle) {
        ValueDef::Result(made, _) => match func.insts[made].op {
            Op::Param { .. } => true,
            // The word of a name that a linker places.
            Op::Pack => {
                matches!(func.def_inst(func.insts[made].args[0]).map(|word| word.op), Some(Op::SymbolAddr(_)))
            }
            _ => false,
        },
        ValueDef::Param(..) => false,
    };
    // A handle outside of a constant bank takes an operand, and so does the least level.
    let handle = usize::from(sampling.sampler || !args.first().is_some_and(|&handle| is_param(handle)));
    let handles = 1 + usize::from(sampling.sampler);
    let more = usize::from(is_row) + usize::from(sampling.fetch == Fetch::Least) + handle;
    !arch.has(Feature::UniformHandles)
        && sampling.fetch != Fetch::Gradient
        && args.len() - handles + more <= MOST_OPERANDS
}

fn read_singles(emitter: &mut Emitter, inst: Inst, sampling: Sampling) {
    let data = emitter.func.insts[inst].clone();
    let old = emitter.func.results(inst).to_vec();
    let read = emitter.inst(Op::Texture(Sampling { half: false, ..sampling }), data.ty, &data.args);
    let words = emitter.func.results(read).to_vec();
    for (&result, pair) in old.iter().zip(words.chunks_exact(2)) {
        let mut single = |word| emitter.value(Op::Bitcast, Type::F32, &[word]);
        let parts = [single(pair[0]), single(pair[1])];
        let convert = Op::FloatsToHalves { round: Rounding::Nearest, relu: false, finite: false };
        let halves = emitter.value(convert, Type::F16x2, &parts);
        let word = emitter.value(Op::Bitcast, Type::B32, &[halves]);
        emitter.rename(result, word);
    }
    if let (Some(&result), Some(&is_missing)) = (old.last(), words.last()) {
        emitter.rename(result, is_missing);
    }
}
