//! Attributes: the records of `.nv.info`, `.nv.info.K` and `.nv.compat`.
//!
//! A record is a format, a code, and a value: nothing, a byte, 16 bits, or a length of 16 bits
//! followed by that many bytes. The codes are those that NVIDIA's `cuobjdump -elf` names; their
//! meaning was found in files of NVIDIA's compiler.
//!
//! ```text
//! 04 1c 08 00  c0 00 00 00  30 01 00 00     EXIT_INSTR_OFFSETS: 0xc0, 0x130
//! ```

use rustc_hash::FxHashSet;

use super::elf::SymbolId;
use super::error::CubinError;

/// The index of the section symbol of constant bank 0; offset and size of the parameters in it.
pub const PARAM_CBANK: u8 = 0x0a;
/// `.maxntid`: three words.
pub const MAX_THREADS: u8 = 0x05;
/// The content of a sampler: its symbol, and a byte for each coordinate and for the filter.
pub const SAMPLER_INIT: u8 = 0x09;
/// A sampler whose coordinates count texels: its symbol, 1.
pub const SAMPLER_FORCE_UNNORMALIZED: u8 = 0x13;
/// The constant bank with the numbers of textures.
pub const BINDLESS_TEXTURE_BANK: u8 = 0x15;
/// The constant bank with the numbers of surfaces.
pub const BINDLESS_SURFACE_BANK: u8 = 0x16;
/// The functions of other files that the code calls: their symbols.
pub const EXTERNS: u8 = 0x0f;
/// `.reqntid`: three words.
pub const REQNTID: u8 = 0x10;
/// A function's stack frame: its symbol, bytes.
pub const FRAME_SIZE: u8 = 0x11;
/// The stack that a kernel needs, including all functions that it calls: its symbol, bytes.
pub const MIN_STACK_SIZE: u8 = 0x12;
/// A parameter: 0, ordinal and offset, size.
pub const KPARAM_INFO: u8 = 0x17;
/// Bytes of all parameters.
pub const CBANK_PARAM_SIZE: u8 = 0x19;
/// The greatest number of registers that the kernel was compiled for.
pub const MAXREG_COUNT: u8 = 0x1b;
/// The byte offsets of each `EXIT`.
pub const EXIT_INSTR_OFFSETS: u8 = 0x1c;
/// The byte offsets of reads of the CTA's index.
pub const S2RCTAID_OFFSETS: u8 = 0x1d;
/// The stack of call returns; all ones if its depth is unknown.
pub const CRS_STACK_SIZE: u8 = 0x1e;
/// The byte offsets of loads with a cache modifier.
pub const LD_CACHEMOD_OFFSETS: u8 = 0x25;
/// The byte offsets of atomics with the scope of the system.
pub const ATOM_SYS_OFFSETS: u8 = 0x27;
/// The byte offsets of instructions that synchronize a group of lanes.
pub const COOP_GROUP_OFFSETS: u8 = 0x28;
/// The byte offsets of emulated atomics on halves.
pub const ATOMF16_EMUL_OFFSETS: u8 = 0x2d;
/// Emulated atomics on 16 bits: the byte offset and two words for each.
pub const ATOM16_EMUL_REG_MAP: u8 = 0x2e;
/// The greatest stack: a symbol, bytes.
pub const MAX_STACK_SIZE: u8 = 0x23;
/// A function's registers: its symbol, the number.
pub const REGCOUNT: u8 = 0x2f;
/// The byte offsets of operations on the whole warp.
pub const WARP_WIDE_OFFSETS: u8 = 0x31;
/// For each branch that uses a table: its offset, 0, the number of targets, their offsets.
pub const INDIRECT_BRANCH_TARGETS: u8 = 0x34;
/// The name of a workaround; present on sm_80 to sm_89.
pub const SW2861232_WAR: u8 = 0x35;
/// Workarounds that the compiler has applied.
pub const SW_WAR: u8 = 0x36;
/// The version of the toolkit's interface.
pub const CUDA_API_VERSION: u8 = 0x37;
/// Operations on mbarriers: the byte offset and three words for each.
pub const MBARRIER_OFFSETS: u8 = 0x39;
/// `.reqnctapercluster`: three words.
pub const CTA_PER_CLUSTER: u8 = 0x3d;
/// `.explicitcluster`.
pub const EXPLICIT_CLUSTER: u8 = 0x3e;
/// `.maxclusterrank`.
pub const MAX_CLUSTER_RANK: u8 = 0x3f;
/// The registers of instructions: the byte offset and two words for each.
pub const INSTR_REG_MAP: u8 = 0x40;
/// Loads with bytes that nothing uses: the byte offset and a mask for each.
pub const UNUSED_LOAD_BYTES: u8 = 0x44;
/// A parameter of 16 KiB or more: 0, ordinal and offset, size.
pub const KPARAM_INFO_V2: u8 = 0x45;
/// The byte offsets of calls of the system's functions.
pub const SYSCALL_OFFSETS: u8 = 0x46;
/// The byte offsets of fences with the scope of the system.
pub const MEMBAR_SYS_OFFSETS: u8 = 0x47;
/// The number of CTA barriers.
pub const NUM_BARRIERS: u8 = 0x4c;
/// Samplers have handles of their own.
pub const TEXMODE_INDEPENDENT: u8 = 0x4d;
/// A mask of sparse matrix instructions.
pub const SPARSE_MMA_MASK: u8 = 0x50;
/// A version of the instruction set.
pub const MERCURY_ISA_VERSION: u8 = 0x5f;

/// The codes in `.nv.compat`.
pub mod compat {
    /// Whether the code runs only on this very architecture (`sm_90a`).
    pub const ACCELERATOR_TARGET: u8 = 0x09;
    /// Whether it is for an internal architecture of NVIDIA.
    pub const INTERNAL_TARGET: u8 = 0x0c;
    /// The class of the instruction set.
    pub const ISA_CLASS: u8 = 0x02;
    /// The version of the instruction set.
    pub const ISA_VERSION: u8 = 0x0d;
    /// Whether it uses tensor maps of the first version.
    pub const TENSORMAP_V1: u8 = 0x03;
}

const NONE: u8 = 1;
const BYTE: u8 = 2;
const HALF: u8 = 3;
const SIZED: u8 = 4;

/// The greatest number of words in an attribute.
pub(super) const MOST_WORDS: usize = u16::MAX as usize / 4;

/// A list of attributes under construction.
#[derive(Default)]
pub(super) struct Attributes {
    /// The bytes, with 0 for the index of each symbol.
    pub(super) bytes: Vec<u8>,
    /// The places of the symbols' indices.
    pub(super) symbols: Vec<(usize, SymbolId)>,
}

impl Attributes {
    /// An attribute without value.
    pub(super) fn flag(&mut self, code: u8) {
        self.bytes.extend([NONE, code, 0, 0]);
    }

    pub(super) fn byte(&mut self, code: u8, value: u8) {
        self.bytes.extend([BYTE, code, value, 0]);
    }

    pub(super) fn half(&mut self, code: u8, value: u16) {
        self.bytes.extend([HALF, code]);
        self.bytes.extend(value.to_le_bytes());
    }

    /// An attribute of words. A list that is too long for one attribute is split into several.
    pub(super) fn words(&mut self, code: u8, words: &[u32]) {
        for part in words.chunks(MOST_WORDS) {
            self.bytes.extend([SIZED, code]);
            self.bytes.extend((4 * part.len() as u16).to_le_bytes());
            part.iter().for_each(|word| self.bytes.extend(word.to_le_bytes()));
        }
    }

    /// An attribute of bytes; those beyond the length that an attribute can have are dropped.
    pub(super) fn raw(&mut self, code: u8, bytes: &[u8]) {
        let bytes = &bytes[..bytes.len().min(u16::MAX.into())];
        self.bytes.extend([SIZED, code]);
        self.bytes.extend((bytes.len() as u16).to_le_bytes());
        self.bytes.extend(bytes);
    }

    /// An attribute of the indices of symbols.
    pub(super) fn symbols(&mut self, code: u8, symbols: &[SymbolId]) {
        for part in symbols.chunks(MOST_WORDS) {
            self.words(code, &vec![0; part.len()]);
            let start = self.bytes.len() - 4 * part.len();
            self.symbols.extend((start..).step_by(4).zip(part.iter().copied()));
        }
    }

    /// The list without the attributes of these codes.
    pub(super) fn without(&self, codes: &FxHashSet<u8>) -> Attributes {
        let mut list = Attributes::default();
        let mut symbols = self.symbols.iter().peekable();
        let mut rest = &self.bytes[..];
        while let Ok((code, _, after)) = next(rest) {
            let (start, end) = (self.bytes.len() - rest.len(), self.bytes.len() - after.len());
            let is_kept = !codes.contains(&code);
            while let Some(&(at, symbol)) = symbols.next_if(|(at, _)| *at < end) {
                if is_kept {
                    list.symbols.push((list.bytes.len() + at - start, symbol));
                }
            }
            if is_kept {
                list.bytes.extend(&self.bytes[start..end]);
            }
            rest = after;
        }
        list
    }

    /// An attribute of a symbol's index and a word.
    pub(super) fn symbol_word(&mut self, code: u8, symbol: SymbolId, word: u32) {
        self.words(code, &[0, word]);
        self.symbols.push((self.bytes.len() - 8, symbol));
    }

    /// An attribute of a symbol's index and two words.
    pub(super) fn symbol_pair(&mut self, code: u8, symbol: SymbolId, words: [u32; 2]) {
        self.words(code, &[0, words[0], words[1]]);
        self.symbols.push((self.bytes.len() - 12, symbol));
    }
}

/// The value of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    None,
    Byte(u8),
    Half(u16),
    Bytes(&'a [u8]),
}

impl Value<'_> {
    /// A word of it, by its index.
    pub(super) fn word(&self, index: usize) -> Option<u32> {
        match self {
            Value::Bytes(bytes) => bytes.chunks_exact(4).nth(index).map(word),
            _ => None,
        }
    }

    /// All words of it.
    pub(super) fn words(&self) -> impl Iterator<Item = u32> {
        let bytes = if let Value::Bytes(bytes) = *self { bytes } else { &[] };
        bytes.chunks_exact(4).map(word)
    }

    /// Its first three words.
    pub(super) fn three(&self) -> Option<[u32; 3]> {
        Some([self.word(0)?, self.word(1)?, self.word(2)?])
    }
}

fn word(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte))
}

/// Reads attributes, each as code and value, up to the first error.
pub(super) fn attributes(data: &[u8]) -> impl Iterator<Item = Result<(u8, Value<'_>), CubinError>> {
    let mut rest = data;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let found = next(rest);
        rest = found.as_ref().map_or(&[], |(_, _, after)| *after);
        Some(found.map(|(code, value, _)| (code, value)))
    })
}

fn next(data: &[u8]) -> Result<(u8, Value<'_>, &[u8]), CubinError> {
    let [format, code, low, high, rest @ ..] = data else {
        return Err(CubinError::malformed("an attribute ends too early"));
    };
    let number = u16::from_le_bytes([*low, *high]);
    match *format {
        NONE => Ok((*code, Value::None, rest)),
        BYTE => Ok((*code, Value::Byte(*low), rest)),
        HALF => Ok((*code, Value::Half(number), rest)),
        SIZED => {
            let (value, rest) = rest
                .split_at_checked(usize::from(number))
                .ok_or_else(|| CubinError::malformed(format!("attribute {code:#04x} ends too early")))?;
            Ok((*code, Value::Bytes(value), rest))
        }
        other => Err(CubinError::malformed(format!("attribute {code:#04x} has format {other}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_attributes_read_back() {
        let mut written = Attributes::default();
        written.flag(EXPLICIT_CLUSTER);
        written.byte(NUM_BARRIERS, 16);
        written.half(MAXREG_COUNT, 0xff);
        written.words(EXIT_INSTR_OFFSETS, &[0xc0, 0x130]);
        written.symbol_word(REGCOUNT, SymbolId::Local(3), 24);
        assert_eq!(written.symbols, [(28, SymbolId::Local(3))]);
        let read: Result<Vec<_>, _> = attributes(&written.bytes).collect();
        let read = read.unwrap();
        assert_eq!(read[..3], [(0x3e, Value::None), (0x4c, Value::Byte(16)), (0x1b, Value::Half(0xff))]);
        assert_eq!(read[3].1.words().collect::<Vec<_>>(), [0xc0, 0x130]);
        assert_eq!(read[4].1.word(1), Some(24));
    }

    #[test]
    fn attributes_are_removed_with_their_symbols() {
        let mut written = Attributes::default();
        written.symbols(EXTERNS, &[SymbolId::Local(1), SymbolId::Global(2)]);
        written.flag(EXPLICIT_CLUSTER);
        written.symbol_word(REGCOUNT, SymbolId::Local(3), 24);
        let mut expected = Attributes::default();
        expected.symbol_word(REGCOUNT, SymbolId::Local(3), 24);
        let rest = written.without(&FxHashSet::from_iter([EXTERNS, EXPLICIT_CLUSTER]));
        assert_eq!((rest.bytes, rest.symbols), (expected.bytes, expected.symbols));
    }

    #[test]
    fn truncated_attributes_give_one_error() {
        for length in [1, 3, 5, 7] {
            let data = &[SIZED, EXIT_INSTR_OFFSETS, 4, 0, 1, 2, 3, 4][..length];
            assert!(attributes(data).next().unwrap().is_err());
            assert_eq!(attributes(data).count(), 1);
        }
        assert!(attributes(&[9, 0, 0, 0]).next().unwrap().is_err());
    }

    #[test]
    fn long_lists_are_cut() {
        let mut written = Attributes::default();
        written.words(EXIT_INSTR_OFFSETS, &vec![7; 20_000]);
        let values: Vec<_> =
            attributes(&written.bytes).map(|value| value.unwrap().1.words().count()).collect();
        assert_eq!(values, [16_383, 3_617]);
    }
}
