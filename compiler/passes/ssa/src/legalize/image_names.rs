//! Gives textures, samplers and surfaces that have names their words in constant bank 0.
//!
//! ```text
//! symbol @t texture …                                         word +16 @t
//! v1 = symbol.b64 @t                                    =>    v1 = param.b64 16
//! v3, … = texture.least.2d v1, v2, …                          v3, … = texture.least.2d v1, v2, …
//!
//! v1 = symbol.b64 @t                                          v1 = param.b32 16
//! store.global.b64 v2, v1                               =>    v3 = or.b32 v1, 0x80000000      // before sm_90
//!                                                             v4 = pack.b64 v3, 0x20000000
//!                                                             store.global.b64 v2, v4
//! ```
//!
//! The driver fills a word with the number of its object. As a handle, only the low half of 64 bits
//! counts, so the value may begin with the word. As in ptxas's code, the upper half of an address
//! tells the kind of the object, and before sm_90 bit 31 of the lower half is set.
//!
//! Before sm_90 a word has the number of a sampler in its upper 12 bits. A texture that is read with
//! the sampler shares its word, so the instruction has one handle. A device function reads the two
//! words instead: their places are the same in all kernels of the module, and there is no place for
//! each pair.
//!
//! The words follow the parameters, in the order of first use. In code for a linker, the linker places
//! them, one for each object, and `symbol.b32` is the content of a word:
//!
//! ```text
//! v1 = symbol.b64 @t                                    =>    v4 = symbol.b32 @t
//! v3, … = texture.least.2d v1, v2, …                          v5 = pack.b64 v4, 0
//!                                                             v3, … = texture.least.2d v5, v2, …
//! ```
//! Linear.

use ptxc_ir::symbol::ImageWord;
use ptxc_ir::{Function, Op, Sampling, Space, Symbol, Type, Value, ValueDef};
use ptxc_machine::{Arch, Feature};
use rustc_hash::FxHashMap;

use super::emitter::{Emitter, rewrite, use_counts};
use super::lane_turns::handles_of;

/// The place of a sampler's number in a word, before sm_90.
const UPPER_SAMPLER: u64 = 20;
/// The bit that ptxas sets in addresses before sm_90.
const ADDRESS_BIT: u64 = 0x8000_0000;

/// The words so far.
struct Words {
    /// Whether samplers are in the low bits of words of their own.
    has_samplers: bool,
    /// The end of the parameters and of the words so far.
    end: u32,
    /// The number of objects whose words a linker places.
    linked: u32,
    places: FxHashMap<(Symbol, Option<Symbol>), u32>,
}

impl Words {
    /// The place of the word of an object, or of a texture and a sampler.
    fn place(&mut self, func: &mut Function, symbol: Symbol, sampler: Option<Symbol>) -> u32 {
        if let Some(&place) = self.places.get(&(symbol, sampler)) {
            return place;
        }
        let place = func.symbols[symbol].offset.unwrap_or_else(|| {
            self.end += 4;
            self.end - 4
        });
        for symbol in std::iter::once(symbol).chain(sampler) {
            func.image_words.push(ImageWord { offset: place, symbol });
        }
        self.places.insert((symbol, sampler), place);
        place
    }
}

/// Gives names their words.
pub fn image_names(func: &mut Function, arch: Arch) -> bool {
    let ends = func.params.iter().filter(|param| param.size > 0).map(|param| param.offset + param.size);
    let end = ends.max().unwrap_or(0).next_multiple_of(4);
    let has_samplers = arch.has(Feature::UniformHandles);
    let mut words = Words { has_samplers, end, linked: 0, places: FxHashMap::default() };
    let mut uses = use_counts(func);
    for data in func.layout.iter().flat_map(|&block| &func.blocks[block].insts).map(|&inst| &func.insts[inst])
    {
        for handle in &data.args[..handles_of(&data.op)] {
            uses[handle.as_u32() as usize] -= 1;
        }
    }
    rewrite(func, |emitter, inst| {
        let op = emitter.func.insts[inst].op;
        if let Some(symbol) = named(emitter.func, emitter.func.results(inst).first().copied()) {
            let result = emitter.func.result(inst);
            // Handles are replaced where they are used.
            if uses[result.as_u32() as usize] > 0 {
                let address = address(emitter, &mut words, symbol);
                emitter.rename(result, address);
            }
            return true;
        }
        let count = handles_of(&op);
        if count == 0 {
            return false;
        }
        let first = emitter.func.insts[inst].args[..count].to_vec();
        let names: Vec<Option<Symbol>> =
            first.iter().map(|&handle| named(emitter.func, Some(handle))).collect();
        if names.iter().all(Option::is_none) {
            return false;
        }
        if let (Op::Texture(sampling), &[Some(texture), Some(sampler)]) = (op, &names[..])
            && !words.has_samplers
            && [texture, sampler].iter().all(|&symbol| may_share(emitter.func, symbol))
        {
            let place = words.place(emitter.func, texture, Some(sampler));
            let handle = emitter.value(Op::Param { offset: place }, Type::B64, &[]);
            let data = &mut emitter.func.insts[inst];
            data.op = Op::Texture(Sampling { sampler: false, ..sampling });
            data.args.remove(1);
            data.args[0] = handle;
            emitter.keep(inst);
            return true;
        }
        for (index, symbol) in names.into_iter().enumerate() {
            let Some(symbol) = symbol else { continue };
            emitter.func.insts[inst].args[index] = handle(emitter, &mut words, symbol);
        }
        emitter.keep(inst);
        true
    })
}

/// The texture, sampler or surface whose address a value is.
fn named(func: &Function, value: Option<Value>) -> Option<Symbol> {
    let ValueDef::Result(inst, _) = func.def(value?) else { return None };
    let Op::SymbolAddr(symbol) = func.insts[inst].op else { return None };
    let is_address = func.insts[inst].ty == Type::B64;
    (func.symbols[symbol].space.is_image() && is_address).then_some(symbol)
}

/// Whether a texture may share a word with a sampler.
fn may_share(func: &Function, symbol: Symbol) -> bool {
    let data = &func.symbols[symbol];
    data.offset.is_none() && !data.is_linked_word()
}

/// The handle of an object.
fn handle(emitter: &mut Emitter, words: &mut Words, symbol: Symbol) -> Value {
    let is_upper = emitter.func.symbols[symbol].space == Space::Sampler && !words.has_samplers;
    if is_upper || emitter.func.symbols[symbol].is_linked_word() {
        let number = number(emitter, words, symbol);
        let zero = emitter.constant(Type::B32, 0);
        return emitter.value(Op::Pack, Type::B64, &[number, zero]);
    }
    let place = words.place(emitter.func, symbol, None);
    emitter.value(Op::Param { offset: place }, Type::B64, &[])
}

/// The content of the word of an object.
fn word(emitter: &mut Emitter, words: &mut Words, symbol: Symbol) -> Value {
    let data = &mut emitter.func.symbols[symbol];
    if !data.is_linked_word() {
        let place = words.place(emitter.func, symbol, None);
        return emitter.value(Op::Param { offset: place }, Type::B32, &[]);
    }
    if data.offset.is_none() {
        data.offset = Some(words.linked);
        words.linked += 1;
    }
    emitter.value(Op::SymbolAddr(symbol), Type::B32, &[])
}

/// The number of an object.
fn number(emitter: &mut Emitter, words: &mut Words, symbol: Symbol) -> Value {
    let word = word(emitter, words, symbol);
    if emitter.func.symbols[symbol].space != Space::Sampler || words.has_samplers {
        return word;
    }
    let shift = emitter.constant(Type::B32, UPPER_SAMPLER);
    emitter.value(Op::Shr, Type::B32, &[word, shift])
}

/// The address of an object.
fn address(emitter: &mut Emitter, words: &mut Words, symbol: Symbol) -> Value {
    let mut low = number(emitter, words, symbol);
    if !words.has_samplers {
        let bit = emitter.constant(Type::B32, ADDRESS_BIT);
        low = emitter.value(Op::Or, Type::B32, &[low, bit]);
    }
    let kind = emitter.func.symbols[symbol].space.image_bit();
    let high = emitter.constant(Type::B32, kind.into());
    emitter.value(Op::Pack, Type::B64, &[low, high])
}

#[cfg(test)]
mod tests {
    use ptxc_ir::FunctionKind;
    use ptxc_ir::text::parse_function;

    use super::*;

    const TEXT: &str = "func @k entry {
    param \"n\" 4 +0
    symbol @t texture size 8 align 8
    symbol @s sampler size 8 align 8
block0:
    v0 = symbol.b64 @t
    v1 = symbol.b64 @s
    v2 = const.b32 0
    v3, v4, v5, v6, v7 = texture.least.2d.sampler v0, v1, v2, v2
    ret
 }
";

    #[test]
    fn a_pair_shares_a_word_before_sm_90() {
        let texture = |arch| {
            let mut func = parse_function(TEXT).expect("a function");
            assert_eq!(func.kind, FunctionKind::Entry);
            assert!(image_names(&mut func, arch));
            let words: Vec<(u32, String)> = func
                .image_words
                .iter()
                .map(|word| (word.offset, func.symbols[word.symbol].name.clone()))
                .collect();
            let args = func.insts.values().find_map(|data| match data.op {
                Op::Texture(_) => Some(data.args.len()),
                _ => None,
            });
            (words, args)
        };
        let named =
            |list: &[(u32, &str)]| list.iter().map(|&(at, name)| (at, name.to_string())).collect::<Vec<_>>();
        let (words, args) = texture(Arch::Sm80);
        assert_eq!((words, args), (named(&[(4, "t"), (4, "s")]), Some(3)));
        let (words, args) = texture(Arch::Sm90);
        assert_eq!((words, args), (named(&[(4, "t"), (8, "s")]), Some(4)));
    }

    #[test]
    fn a_linker_places_the_words_of_an_object() {
        for arch in [Arch::Sm80, Arch::Sm90] {
            let mut func = parse_function(&TEXT.replace("size 8", "size 4")).expect("a function");
            assert!(image_names(&mut func, arch));
            assert!(func.image_words.is_empty());
            let numbers: Vec<_> = func.symbols.values().map(|symbol| symbol.offset).collect();
            assert_eq!(numbers, [Some(0), Some(1)]);
            let words = func.layout.iter().flat_map(|&block| &func.blocks[block].insts);
            let words = words.filter(|&&inst| {
                let data = &func.insts[inst];
                matches!(data.op, Op::SymbolAddr(_)) && data.ty == Type::B32
            });
            assert_eq!(words.count(), 2);
            assert_eq!(ptxc_ir::verify(&func, ptxc_ir::Level::Built), Ok(()));
        }
    }
}
