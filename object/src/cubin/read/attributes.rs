//! Reads the attributes of a file and of its functions.
//!
//! Those that the contents have no field for are kept as they are. Linear in the attributes.

use object::LittleEndian as LE;
use object::SymbolIndex;
use ptxc_sass::kept::{Attribute, AttributeValue, Mark};
use ptxc_sass::text::is_name;

use super::{Reader, Result};
use crate::cubin::attribute::{self as eiattr, attributes, compat};
use crate::cubin::contents::{Abi, IndirectBranch, Param};
use crate::cubin::elf::SymbolId;
use crate::cubin::error::CubinError;
use crate::cubin::kernel_info::{compatibility, image_of, kernel_attributes};
use crate::cubin::notes;

impl Reader<'_> {
    /// Reads the attributes of the file.
    pub(super) fn module_attributes(&mut self, data: &[u8]) -> Result<()> {
        self.spend(data.len())?;
        for attribute in attributes(data) {
            let (code, value) = attribute?;
            let of_symbol = matches!(
                code,
                eiattr::REGCOUNT | eiattr::FRAME_SIZE | eiattr::MIN_STACK_SIZE | eiattr::MAX_STACK_SIZE
            );
            let of_symbol =
                of_symbol || matches!(code, eiattr::SAMPLER_INIT | eiattr::SAMPLER_FORCE_UNNORMALIZED);
            let pair = value.word(0).zip(value.word(1)).filter(|_| of_symbol);
            let owner = pair.and_then(|(symbol, number)| Some((self.function_of(symbol)?, number)));
            match (code, owner) {
                (eiattr::REGCOUNT, Some((function, number))) => {
                    self.cubin.functions[function].registers = number;
                }
                (eiattr::FRAME_SIZE, Some((function, number))) => {
                    let function = &mut self.cubin.functions[function];
                    function.frame_bytes = function.frame_bytes.max(number);
                }
                (eiattr::MIN_STACK_SIZE, Some((function, number))) => {
                    self.cubin.functions[function].stack_bytes = number;
                }
                _ => {
                    let value = match pair {
                        Some((symbol, number)) => {
                            let name = self.symbol_name(symbol as usize)?;
                            AttributeValue::Of(self.text(name)?, number)
                        }
                        None => notes::kept(code, &value, &mut |_| None),
                    };
                    self.cubin.attributes.push(Attribute { code, value });
                }
            }
        }
        Ok(())
    }

    /// Reads the attributes of a function.
    pub(super) fn attributes_of(&mut self, number: usize, data: &[u8]) -> Result<()> {
        let mut params: Vec<(u32, Param)> = Vec::new();
        for attribute in attributes(data) {
            let (code, value) = attribute?;
            // The data that attributes repeat in the contents is as large as the attributes.
            if let eiattr::Value::Bytes(bytes) = value {
                self.spend(bytes.len())?;
            }
            let function = &mut self.cubin.functions[number];
            let launch = &mut function.launch;
            let mut named = 0usize;
            match (code, value) {
                (eiattr::KPARAM_INFO | eiattr::KPARAM_INFO_V2, value) => {
                    let (Some(place), Some(size)) = (value.word(1), value.word(2)) else {
                        return Err(CubinError::malformed("a parameter without size"));
                    };
                    let image = image_of(size).filter(|_| code == eiattr::KPARAM_INFO);
                    if let (Some(kind), Some(symbol)) = (image, value.word(0)) {
                        let name = self.symbol_name(symbol as usize)?;
                        let image = Some((kind, self.text(name)?));
                        params.push((place & 0xffff, Param { image, offset: place >> 16, size: 0 }));
                        continue;
                    }
                    let size = if code == eiattr::KPARAM_INFO {
                        notes::keep_parameter(function, place & 0xffff, size);
                        size >> 18
                    } else {
                        size
                    };
                    params.push((place & 0xffff, Param { image: None, offset: place >> 16, size }));
                }
                (eiattr::EXIT_INSTR_OFFSETS, value) => function.exits.extend(value.words()),
                (eiattr::INDIRECT_BRANCH_TARGETS, value) => branches(value.words(), &mut function.branches),
                (eiattr::MAXREG_COUNT, eiattr::Value::Half(count)) => function.max_registers = count.into(),
                (eiattr::NUM_BARRIERS, eiattr::Value::Byte(count)) => function.barriers = count.into(),
                (eiattr::CRS_STACK_SIZE, value) => function.call_stack = value.word(0),
                (eiattr::REQNTID, value) => launch.threads = value.three(),
                (eiattr::MAX_THREADS, value) => launch.max_threads = value.three(),
                (eiattr::CTA_PER_CLUSTER, value) => launch.cluster = value.three(),
                (eiattr::EXPLICIT_CLUSTER, _) => launch.explicit_cluster = true,
                (eiattr::MAX_CLUSTER_RANK, value) => launch.max_cluster_rank = value.word(0),
                (code, value) => {
                    let symbols = &self.symbols;
                    let mut name_of = |index: u32| {
                        let symbol = symbols.symbol(SymbolIndex(index as usize)).ok()?;
                        let name = symbols.symbol_name(LE, symbol).ok()?;
                        named = named.saturating_add(name.len());
                        String::from_utf8(name.to_vec()).ok().filter(|name| is_name(name))
                    };
                    let before = function.marks.len();
                    notes::keep(function, code, &value, &mut name_of);
                    named = named.saturating_add(size_of::<Mark>() * (function.marks.len() - before));
                }
            }
            self.spend(named)?;
        }
        params.sort_by_key(|(ordinal, _)| *ordinal);
        params.dedup_by_key(|(ordinal, _)| *ordinal);
        self.cubin.functions[number].params = params.into_iter().map(|(_, param)| param).collect();
        Ok(())
    }

    /// Reads the attributes about architectures that can run the file.
    pub(super) fn compatibility(&mut self, data: &[u8]) -> Result<()> {
        self.spend(data.len())?;
        for attribute in attributes(data) {
            let (code, value) = attribute?;
            if code == compat::ACCELERATOR_TARGET {
                self.cubin.accelerated = value != eiattr::Value::Byte(0);
            } else {
                let value = notes::kept(code, &value, &mut |_| None);
                self.cubin.compatibility.push(Attribute { code, value });
            }
        }
        Ok(())
    }

    /// Drops the attributes that the writer would make itself.
    pub(super) fn drop_usual_attributes(&mut self) {
        let Some(facts) = &self.cubin.arch.facts().cubin else { return };
        let mut functions = std::mem::take(&mut self.cubin.functions);
        for function in &mut functions {
            let usual = kernel_attributes(&self.cubin, facts, function, None, &|_| SymbolId::Null);
            notes::drop_usual(&mut function.attributes, &function.marks, &usual, &notes::KNOWN);
        }
        self.cubin.functions = functions;
        if let Some(version) = facts.compatible_version.filter(|_| self.cubin.abi == Abi::V8) {
            let usual = compatibility(&self.cubin, version);
            notes::drop_usual(&mut self.cubin.compatibility, &[], &usual, &[compat::ACCELERATOR_TARGET]);
        }
    }
}

/// Reads a list of branches: offset, zero, number of targets, targets.
fn branches(words: impl Iterator<Item = u32>, found: &mut Vec<IndirectBranch>) {
    let mut words = words;
    while let (Some(offset), Some(_), Some(count)) = (words.next(), words.next(), words.next()) {
        let targets = words.by_ref().take(count as usize);
        match found.last_mut().filter(|last| last.offset == offset) {
            Some(last) => last.targets.extend(targets),
            None => found.push(IndirectBranch { offset, targets: targets.collect() }),
        }
    }
}
