//! Places the buffers of a case in device memory, and its arguments in the parameter block.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{Argument, Case};
use crate::error::SimError;
use crate::memory::{GridMemory, write_le};
use crate::tensor_map::TensorMap;

impl Case {
    /// Places the buffers in global memory and the arguments in the parameter block; the workspace of a
    /// cooperative grid follows the buffers. The parameters are given by name, size, and offset in
    /// bytes.
    pub(crate) fn place<'a>(
        &self,
        params: impl ExactSizeIterator<Item = (&'a str, u32, u32)>,
    ) -> Result<GridMemory, SimError> {
        if params.len() != self.args.len() {
            let (params, args) = (params.len(), self.args.len());
            let what = format!("{} has {params} parameters, but the case has {args} arguments", self.entry);
            return Err(SimError::Case(what));
        }
        let mut placing = Placing::default();
        for (arg, (name, size, offset)) in self.args.iter().zip(params) {
            if size == 0 && name_image(&mut placing.memory, arg) {
                continue;
            }
            if size != arg.size() {
                let what = format!("parameter {name} has {size} bytes, but its argument has {}", arg.size());
                return Err(SimError::Case(what));
            }
            let end = (offset + size) as usize;
            if placing.memory.params.len() < end {
                placing.memory.params.resize(end, 0);
            }
            placing.argument(arg, offset as usize..end);
        }
        let mut memory = placing.finish()?;
        if self.cooperative {
            // The header `cooperative_groups.h` of CUDA reads its address from `%envreg1`, the high word,
            // and `%envreg2`, and uses two words: a size and the barrier.
            let address = memory.global.allocate("the workspace of the cooperative grid", vec![0; 8]);
            memory.environment[1] = (address >> 32) as u32;
            memory.environment[2] = address as u32;
        }
        for image in &self.images {
            name_image(&mut memory, image);
        }
        Ok(memory)
    }
}

/// The memory with the arguments so far.
#[derive(Default)]
struct Placing<'c> {
    memory: GridMemory,
    /// The addresses of the buffers, by name.
    buffers: BTreeMap<&'c str, u64>,
    /// The tensor maps and addresses, and their places. Their buffers may come later.
    later: Vec<(&'c Argument, Range<usize>)>,
}

impl<'c> Placing<'c> {
    /// Puts an argument at its bytes of the parameter block.
    fn argument(&mut self, arg: &'c Argument, place: Range<usize>) {
        let memory = &mut self.memory;
        match arg {
            Argument::TensorMap(_) | Argument::Address { .. } => self.later.push((arg, place)),
            Argument::Scalar { bits, .. } => write_le(&mut memory.params[place], *bits),
            Argument::Bytes(bytes) => memory.params[place].copy_from_slice(bytes),
            Argument::Struct(bytes, parts) => {
                memory.params[place.clone()].copy_from_slice(bytes);
                for part in parts {
                    let start = place.start + part.at as usize;
                    self.argument(&part.argument, start..start + part.argument.size() as usize);
                }
            }
            Argument::Buffer(buffer) => {
                let address = memory.global.allocate(&buffer.name, buffer.init.clone());
                self.buffers.insert(buffer.name.as_str(), address);
                write_le(&mut memory.params[place], address);
            }
            Argument::Image(buffer, texels) => {
                let address = memory.global.allocate(&buffer.name, buffer.init.clone());
                write_le(&mut memory.params[place], memory.images.add(texels.clone(), address));
            }
            Argument::Sampler(_, sampler) => {
                write_le(&mut memory.params[place], memory.images.add_sampler(*sampler));
            }
        }
    }

    /// Puts the tensor maps and addresses at their places.
    fn finish(mut self) -> Result<GridMemory, SimError> {
        for (arg, place) in std::mem::take(&mut self.later) {
            let memory = &mut self.memory;
            let address_of = |of: &str, what: &str| {
                let missing = || SimError::Case(format!("{what}: no argument is a buffer {of}"));
                self.buffers.get(of).copied().ok_or_else(missing)
            };
            match arg {
                Argument::Address { of, offset } => {
                    let address = address_of(of, "an address")?.wrapping_add(*offset);
                    write_le(&mut memory.params[place], address);
                }
                Argument::TensorMap(tensor) => {
                    let address = address_of(&tensor.of, &format!("tensor map {}", tensor.name))?;
                    let bytes = TensorMap { address, ..tensor.map }.to_bytes();
                    match tensor.in_memory {
                        true => {
                            let address = memory.global.allocate(&tensor.name, bytes.to_vec());
                            write_le(&mut memory.params[place], address);
                        }
                        false => memory.params[place].copy_from_slice(&bytes),
                    }
                }
                Argument::Scalar { .. } | Argument::Bytes(_) | Argument::Struct(..) => {}
                Argument::Buffer(_) | Argument::Image(..) | Argument::Sampler(..) => {}
            }
        }
        Ok(self.memory)
    }
}

/// Gives an image or a sampler the name by which the module knows it; `false` for other arguments.
fn name_image(memory: &mut GridMemory, arg: &Argument) -> bool {
    match arg {
        Argument::Image(buffer, texels) => {
            let address = memory.global.allocate(&buffer.name, buffer.init.clone());
            let handle = memory.images.add(texels.clone(), address);
            memory.images.name_image(&buffer.name, handle);
            true
        }
        Argument::Sampler(name, sampler) => {
            let handle = memory.images.add_sampler(*sampler);
            memory.images.name_sampler(name, handle);
            true
        }
        Argument::Scalar { .. } | Argument::Bytes(_) | Argument::Struct(..) => false,
        Argument::Buffer(_) | Argument::Address { .. } | Argument::TensorMap(_) => false,
    }
}
