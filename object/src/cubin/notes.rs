//! The attributes of a file that [`Function`] has no field for: read, and written again.
//!
//! Attributes that list places in the code become [marks](Mark) of instructions, so that they move
//! with the code. All others are kept as they are. Symbols become names. Linear in the attributes.

use ptxc_sass::kept::{Attribute, AttributeValue, Mark};
use ptxc_sass::program::Program;
use rustc_hash::{FxHashMap, FxHashSet};

use super::attribute::{self as eiattr, Attributes, Value};
use super::contents::Function;
use super::elf::SymbolId;

/// Attributes that list places in the code, each with the words of an entry, its place included.
/// The widths were found in files of NVIDIA's compiler.
const PLACES: [(u8, usize); 12] = [
    (eiattr::S2RCTAID_OFFSETS, 1),
    (eiattr::LD_CACHEMOD_OFFSETS, 1),
    (eiattr::ATOM_SYS_OFFSETS, 1),
    (eiattr::COOP_GROUP_OFFSETS, 1),
    (eiattr::ATOMF16_EMUL_OFFSETS, 1),
    (eiattr::ATOM16_EMUL_REG_MAP, 3),
    (eiattr::WARP_WIDE_OFFSETS, 1),
    (eiattr::MBARRIER_OFFSETS, 4),
    (eiattr::INSTR_REG_MAP, 3),
    (eiattr::UNUSED_LOAD_BYTES, 2),
    (eiattr::SYSCALL_OFFSETS, 1),
    (eiattr::MEMBAR_SYS_OFFSETS, 1),
];

/// Attributes that [`Function`] has fields for.
pub(super) const KNOWN: [u8; 14] = [
    eiattr::PARAM_CBANK,
    eiattr::MAX_THREADS,
    eiattr::REQNTID,
    eiattr::KPARAM_INFO,
    eiattr::KPARAM_INFO_V2,
    eiattr::CBANK_PARAM_SIZE,
    eiattr::MAXREG_COUNT,
    eiattr::EXIT_INSTR_OFFSETS,
    eiattr::CRS_STACK_SIZE,
    eiattr::INDIRECT_BRANCH_TARGETS,
    eiattr::CTA_PER_CLUSTER,
    eiattr::EXPLICIT_CLUSTER,
    eiattr::MAX_CLUSTER_RANK,
    eiattr::NUM_BARRIERS,
];

/// Keeps an attribute of a function, unless the function has a field for it.
pub(super) fn keep(
    function: &mut Function,
    code: u8,
    value: &Value<'_>,
    name_of: &mut impl FnMut(u32) -> Option<String>,
) {
    if KNOWN.contains(&code) {
        return;
    }
    let width = PLACES.iter().find(|(one, _)| *one == code).map(|(_, width)| *width);
    if let Some(marks) = width.and_then(|width| marks(code, value, width, function.code.len())) {
        function.marks.extend(marks);
        return;
    }
    function.attributes.push(Attribute { code, value: kept(code, value, name_of) });
}

/// The value of an attribute as it is kept.
pub(super) fn kept(
    code: u8,
    value: &Value<'_>,
    name_of: &mut impl FnMut(u32) -> Option<String>,
) -> AttributeValue {
    match *value {
        Value::None => AttributeValue::None,
        Value::Byte(byte) => AttributeValue::Byte(byte),
        Value::Half(half) => AttributeValue::Half(half),
        Value::Bytes(bytes) if !bytes.len().is_multiple_of(4) => AttributeValue::Bytes(bytes.to_vec()),
        Value::Bytes(_) => {
            let words: Vec<u32> = value.words().collect();
            let names = || words.iter().map(|&symbol| name_of(symbol)).collect::<Option<Vec<_>>>();
            match (code == eiattr::EXTERNS).then(names).flatten() {
                Some(names) => AttributeValue::Symbols(names),
                None => AttributeValue::Words(words),
            }
        }
    }
}

/// The entries of a list of places; `None` if one of them is not an instruction of the code.
fn marks(code: u8, value: &Value<'_>, width: usize, code_bytes: usize) -> Option<Vec<Mark>> {
    let words: Vec<u32> = value.words().collect();
    let is_whole = matches!(value, Value::Bytes(bytes) if bytes.len() == 4 * words.len());
    if !is_whole || !words.len().is_multiple_of(width) {
        return None;
    }
    let entry = |words: &[u32]| {
        let (&place, rest) = words.split_first()?;
        let is_place = place.is_multiple_of(Program::INST_BYTES) && (place as usize) < code_bytes;
        is_place.then(|| Mark { code, inst: place / Program::INST_BYTES, words: rest.to_vec() })
    };
    words.chunks(width).map(entry).collect()
}

/// Drops the attributes that the writer would make itself.
/// Attributes that the writer would make and the file lacks are noted as absent.
pub(super) fn drop_usual(attributes: &mut Vec<Attribute>, marks: &[Mark], usual: &Attributes, known: &[u8]) {
    let mut no_name = |_| None;
    let usual: Vec<Attribute> = eiattr::attributes(&usual.bytes)
        .flatten()
        .map(|(code, value)| Attribute { code, value: kept(code, &value, &mut no_name) })
        .collect();
    let of =
        |list: &[Attribute], code| list.iter().filter(|one| one.code == code).cloned().collect::<Vec<_>>();
    let codes: FxHashSet<u8> = attributes.iter().map(|one| one.code).collect();
    let same: FxHashSet<u8> =
        codes.into_iter().filter(|&code| of(attributes, code) == of(&usual, code)).collect();
    let mut seen: FxHashSet<u8> = attributes.iter().map(|one| one.code).collect();
    seen.extend(marks.iter().map(|mark| mark.code));
    attributes.retain(|one| !same.contains(&one.code));
    for one in usual.iter().filter(|one| !known.contains(&one.code)) {
        if seen.insert(one.code) {
            attributes.push(Attribute { code: one.code, value: AttributeValue::Absent });
        }
    }
}

/// Replaces those attributes of a list that are kept, and adds the others that are kept.
pub(super) fn merge(
    list: Attributes,
    attributes: &[Attribute],
    marks: &[Mark],
    symbol: &mut impl FnMut(&str) -> SymbolId,
) -> Attributes {
    let is_whole =
        |one: &&Attribute| !matches!(one.value, AttributeValue::Parameter(..) | AttributeValue::Of(..));
    let replaced = attributes.iter().filter(is_whole).map(|one| one.code);
    let replaced: FxHashSet<u8> = replaced.chain(marks.iter().map(|mark| mark.code)).collect();
    let mut list = if replaced.is_empty() { list } else { list.without(&replaced) };
    let mut seen = FxHashSet::default();
    for code in marks.iter().map(|mark| mark.code).filter(|&code| seen.insert(code)) {
        let words: Vec<u32> = marks
            .iter()
            .filter(|mark| mark.code == code)
            .flat_map(|mark| [mark.inst * Program::INST_BYTES].into_iter().chain(mark.words.iter().copied()))
            .collect();
        list.words(code, &words);
    }
    for Attribute { code, value } in attributes {
        match value {
            AttributeValue::None => list.flag(*code),
            AttributeValue::Byte(byte) => list.byte(*code, *byte),
            AttributeValue::Half(half) => list.half(*code, *half),
            AttributeValue::Words(words) => list.words(*code, words),
            AttributeValue::Bytes(bytes) => list.raw(*code, bytes),
            AttributeValue::Symbols(names) => {
                let names = names.iter().map(|name| symbol(name)).collect::<Vec<_>>();
                list.symbols(*code, &names);
            }
            AttributeValue::Of(name, word) => list.symbol_word(*code, symbol(name), *word),
            AttributeValue::Absent | AttributeValue::Parameter(..) => {}
        }
    }
    list
}

/// The facts about parameters besides their places and sizes, by their numbers, if they are not
/// [the usual ones](USUAL_PARAMETER).
pub(super) fn parameter_facts(function: &Function) -> FxHashMap<u32, u32> {
    let facts = function.attributes.iter().filter_map(|one| match one.value {
        AttributeValue::Parameter(number, facts) => Some((number, facts & 0x3ffff)),
        _ => None,
    });
    facts.collect()
}

/// The usual facts about a parameter: its constant bank is not named, and all bits about pointer
/// targets are clear.
pub(super) const USUAL_PARAMETER: u32 = 0x1f000;

/// Keeps the facts about a parameter, unless they are the usual ones.
pub(super) fn keep_parameter(function: &mut Function, ordinal: u32, size_and_facts: u32) {
    let facts = size_and_facts & 0x3ffff;
    if facts != USUAL_PARAMETER {
        let value = AttributeValue::Parameter(ordinal, facts);
        function.attributes.push(Attribute { code: eiattr::KPARAM_INFO, value });
    }
}
