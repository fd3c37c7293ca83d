//! Video instructions: their selectors, masks and signs, and their results by `ptxc-semantics`.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use ptxc_families::sample::{self, Sample};
use ptxc_fuzz::random::Random;
use ptxc_object::cubin::{program, read};
use ptxc_semantics::bits::Limit;
use ptxc_semantics::int::IntCmp;
use ptxc_semantics::video::{
    self, Destination, LaneOperation, Lanes, LanesThen, Mad, Operation, Part, Second, Source, Then,
};
use ptxc_sim::{Options, run_sass};

use super::kernel::Kernel;

/// The selectors of scalar instructions.
const PARTS: [(&str, Part); 7] = [
    ("", Part::Word),
    (".b0", Part::Byte(0)),
    (".b1", Part::Byte(1)),
    (".b2", Part::Byte(2)),
    (".b3", Part::Byte(3)),
    (".h0", Part::Half(0)),
    (".h1", Part::Half(1)),
];

/// The signs of the sources of `vmad`.
const SIGNS: [[&str; 3]; 6] =
    [["", "", ""], ["-", "", ""], ["", "-", ""], ["-", "-", ""], ["", "", "-"], ["-", "-", "-"]];

/// The number of lanes of a SIMD instruction.
fn lanes(sample: &Sample) -> Option<usize> {
    match sample.mnemonic().strip_prefix('v')?.chars().last()? {
        '2' => Some(2),
        '4' => Some(4),
        _ => None,
    }
}

/// Whether it is a SIMD video instruction.
pub fn is_simd(sample: &Sample) -> bool {
    lanes(sample).is_some()
}

/// Every combination of modifiers, once as it is and twice with random selectors and signs.
pub fn samples(random: &mut Random) -> Vec<Sample> {
    let mut samples = Vec::new();
    for plain in sample::video() {
        samples.push(plain.clone());
        for _ in 0..2 {
            let mut marked = plain.clone();
            marked.marks = match lanes(&plain) {
                Some(lanes) => simd_marks(lanes, random),
                None => scalar_marks(&plain, random),
            };
            samples.push(marked);
        }
    }
    samples
}

fn scalar_marks(sample: &Sample, random: &mut Random) -> Vec<(&'static str, String)> {
    let parts = sample.parts();
    let mut part = || random.pick(&PARTS).0.to_string();
    let [to, a, b] = [part(), part(), part()];
    let is_product = sample.mnemonic() == "vmad";
    let combines = ["add", "min", "max"].iter().any(|second| parts.contains(second));
    let merges = sample.operands.len() == 4 && !is_product && !combines;
    let [a_sign, b_sign, c_sign] = match is_product && !parts.contains(&"po") {
        true => random.pick(&SIGNS),
        false => SIGNS[0],
    };
    let to = if merges { to } else { String::new() };
    vec![("", to), (a_sign, a), (b_sign, b), (c_sign, String::new())]
}

fn simd_marks(lanes: usize, random: &mut Random) -> Vec<(&'static str, String)> {
    let letter = if lanes == 2 { 'h' } else { 'b' };
    let mut elements = || match random.chance(25) {
        true => String::new(),
        false => (0..lanes).fold(format!(".{letter}"), |text, _| text + &random.below(2 * lanes).to_string()),
    };
    // ptxas reads `.b1024` as a type.
    let [a, b] = [elements(), elements()].map(|text| text.replace(".b1024", ".b1023"));
    let mask = 1 + random.below((1 << lanes) - 1);
    let named = (0..lanes).rev().filter(|lane| mask >> lane & 1 == 1);
    let mask = named.fold(format!(".{letter}"), |text, lane| text + &lane.to_string());
    vec![("", mask), ("", a), ("", b)]
}

/// The part that a selector names.
fn part(selector: &str) -> Part {
    PARTS.iter().find(|part| part.0 == selector).expect("a selector").1
}

/// The result of the instruction with its first three sources; `None` if it is no video
/// instruction.
pub fn expected(sample: &Sample, sources: &[u64]) -> Option<u32> {
    let parts = sample.parts();
    let has = |name: &str| parts.contains(&name);
    let signs: Vec<bool> =
        parts.iter().filter(|part| matches!(**part, "u32" | "s32")).map(|part| *part == "s32").collect();
    let sets = parts[0].starts_with("vset");
    let (result_signed, [a_signed, b_signed]) = match signs[..] {
        [a, b] if sets => (false, [a, b]),
        [result, a, b] => (result, [a, b]),
        _ => return None,
    };
    let word = |index: usize| sources.get(index).map_or(0, |&bits| bits as u32);
    let comparison = || {
        let all = [
            ("eq", IntCmp::Eq),
            ("ne", IntCmp::Ne),
            ("lt", IntCmp::Lt),
            ("le", IntCmp::Le),
            ("gt", IntCmp::Gt),
            ("ge", IntCmp::Ge),
        ];
        all.iter().find(|(name, _)| has(name)).expect("a comparison").1
    };
    let operation = match parts[0].trim_end_matches(['2', '4']) {
        "vadd" => Operation::Add,
        "vsub" => Operation::Sub,
        "vabsdiff" => Operation::AbsDiff,
        "vmin" => Operation::Min,
        // The others do not ask.
        _ => Operation::Max,
    };
    if let Some(count) = lanes(sample) {
        let operation = match parts[0].trim_end_matches(['2', '4']) {
            "vavrg" => LaneOperation::Average,
            "vset" => LaneOperation::Set(comparison()),
            _ => LaneOperation::Scalar(operation),
        };
        let then = match (has("sat"), has("add")) {
            (true, _) => LanesThen::Saturate(result_signed),
            (_, true) => LanesThen::Accumulate,
            _ => LanesThen::Merge,
        };
        let words = [word(0), word(1), word(2)];
        return Some(match count {
            2 => video::simd::<2>(operation, marked(sample, a_signed, b_signed), words, then),
            _ => video::simd::<4>(operation, marked(sample, a_signed, b_signed), words, then),
        });
    }
    let source =
        |index: usize, signed| Source { word: word(index), part: part(sample.mark(index + 1).1), signed };
    let (a, b) = (source(0, a_signed), source(1, b_signed));
    let then = match (["add", "min", "max"].map(has), sample.mark(0).1) {
        ([true, ..], _) => Then::Combine(Second::Add, word(2)),
        ([_, true, _], _) => Then::Combine(Second::Min, word(2)),
        ([.., true], _) => Then::Combine(Second::Max, word(2)),
        (_, "") => Then::Keep,
        (_, selector) => Then::Merge(part(selector), word(2)),
    };
    let to = Destination { signed: result_signed, saturate: has("sat"), then };
    Some(match parts[0] {
        "vadd" | "vsub" | "vabsdiff" | "vmin" | "vmax" => video::scalar(operation, a, b, to),
        "vshl" | "vshr" => {
            let limit = if has("wrap") { Limit::Wrap } else { Limit::Clamp };
            video::shift(parts[0] == "vshl", limit, a, b, to)
        }
        "vset" => video::set(comparison(), a, b, then),
        "vmad" => {
            let negated = [1, 2, 3].map(|index| sample.mark(index).0 == "-");
            let how = Mad {
                negated_product: negated[0] != negated[1],
                negated_addend: negated[2],
                plus_one: has("po"),
                scale: if has("shr7") {
                    7
                } else if has("shr15") {
                    15
                } else {
                    0
                },
                saturate: has("sat"),
            };
            video::mad(a, b, word(2), how)
        }
        _ => return None,
    })
}

/// The elements that the selectors and the mask name.
fn marked<const LANES: usize>(sample: &Sample, a_signed: bool, b_signed: bool) -> Lanes<LANES> {
    let elements = |index: usize, first: usize| {
        let digits: Vec<u8> = digits(sample, index);
        std::array::from_fn(|lane| digits.get(lane).copied().unwrap_or((first + lane) as u8))
    };
    let mask = digits(sample, 0);
    Lanes {
        a: elements(1, 0),
        b: elements(2, LANES),
        a_signed,
        b_signed,
        mask: std::array::from_fn(|lane| mask.is_empty() || mask.contains(&(lane as u8))),
    }
}

/// The digits of an operand's selector from lane 0 on: its last digit comes first.
fn digits(sample: &Sample, index: usize) -> Vec<u8> {
    sample.mark(index).1.bytes().rev().filter(u8::is_ascii_digit).map(|digit| digit - b'0').collect()
}

/// The known differences of ptxas's code from the PTX ISA, in the order of "Video instructions" in
/// `docs/facts/ptxas.md`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Difference {
    /// `.sat` to `.u32` has no upper limit.
    UpperLimit,
    /// `.sat` to a part turns negative numbers into the greatest one.
    NegativePart,
    /// Shifts do not saturate to a part.
    ShiftedPart,
    /// `.min` and `.max` compare another number than the first result.
    SecondOperation,
    /// `vset` compares `c` as a signed number.
    SetSigned,
    /// `vmad` multiplies words as signed numbers.
    SignedProduct,
}

const DIFFERENCES: [Difference; 6] = [
    Difference::UpperLimit,
    Difference::NegativePart,
    Difference::ShiftedPart,
    Difference::SecondOperation,
    Difference::SetSigned,
    Difference::SignedProduct,
];

/// The difference that ptxas's code may have for these sources.
fn difference(sample: &Sample, sources: &[u64]) -> Option<Difference> {
    let parts = sample.parts();
    let has = |name: &str| parts.contains(&name);
    if is_simd(sample) {
        return None;
    }
    let word = |index: usize| sources.get(index).map_or(0, |&bits| bits as u32);
    let is_high = |word: u32| word >> 31 == 1;
    let [first_signed, second_signed, third_signed] = [1, 2, 3].map(|index| parts.get(index) == Some(&"s32"));
    let wide =
        |index: usize, signed: bool| !signed && sample.mark(index).1.is_empty() && is_high(word(index - 1));
    if parts[0] == "vmad" {
        let is_exact = has("sat") || has("shr7") || has("shr15");
        let negated = [1, 2, 3].map(|index| sample.mark(index).0 == "-");
        let c_signed = second_signed || third_signed || negated[0] != negated[1] || negated[2];
        let is_high = wide(1, second_signed) || wide(2, third_signed) || !c_signed && is_high(word(2));
        return (is_exact && is_high).then_some(Difference::SignedProduct);
    }
    let compares = has("min") || has("max");
    if parts[0] == "vset" {
        return (compares && first_signed && is_high(word(2))).then_some(Difference::SetSigned);
    }
    let number = |index: usize, signed: bool| part(sample.mark(index).1).number(word(index - 1), signed);
    let (a, b) = (number(1, second_signed), number(2, third_signed));
    let count = if has("wrap") { b & 31 } else { b.min(32) };
    let first = match parts[0] {
        "vadd" => a + b,
        "vsub" => a - b,
        "vabsdiff" => (a - b).abs(),
        "vmin" => a.min(b),
        "vmax" => a.max(b),
        // Without a second operation, ptxas keeps 34 bits, too.
        "vshl" if compares => {
            let whole = i128::from(a) << count;
            i64::try_from(whole).unwrap_or(i64::MAX)
        }
        "vshl" => a << 30 << count >> 30,
        _ => a >> count,
    };
    let (bottom, top) = match (first_signed, part(sample.mark(0).1).bits()) {
        (true, bits) => (-1 << (bits - 1), (1 << (bits - 1)) - 1),
        (false, bits) => (0, (1 << bits) - 1),
    };
    let into_part = !sample.mark(0).1.is_empty();
    let shifts = matches!(parts[0], "vshl" | "vshr");
    let least = if first_signed { i32::MIN.into() } else { 0 };
    let saturates = has("sat");
    if saturates && into_part && shifts && !(bottom..=top).contains(&first) {
        Some(Difference::ShiftedPart)
    } else if saturates && into_part && !shifts && first < 0 {
        Some(Difference::NegativePart)
    } else if saturates && !into_part && !shifts && !first_signed && first > top {
        Some(Difference::UpperLimit)
    } else if compares && !(least..=i32::MAX.into()).contains(&first) {
        Some(Difference::SecondOperation)
    } else {
        None
    }
}

/// Runs ptxas's code for the kernels, and compares the results with those of `ptxc-semantics`.
/// Each kernel runs on one of the architectures.
pub fn compare_with_ptxas(ptxas: &Path, samples: &[Sample], kernels: &[Kernel], input: &[u8]) -> String {
    let archs = ["sm_75", "sm_80", "sm_90"];
    let (compared, excepted) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (mut wrong, mut unknown, mut seen) = (Vec::new(), 0, [false; DIFFERENCES.len()]);
    for (first, arch) in archs.iter().enumerate() {
        // Each instruction without marks is followed by two with marks; every architecture gets both.
        let takes = |index: &usize| (index + index / archs.len()) % archs.len() == first;
        let own: Vec<usize> = (0..kernels.len()).filter(takes).collect();
        let text = super::joined(own.iter().map(|&index| (index, &kernels[index])), arch);
        let bytes = super::assembled(ptxas, arch, &[], &text);
        let bytes = bytes.unwrap_or_else(|messages| panic!("{messages}"));
        let cubin = read(&bytes).expect("a cubin");
        let case = super::case(input);
        let options = Options { holds_uniform: true, ..Options::default() };
        let results = super::in_parallel(own.len(), |at| {
            let index = own[at];
            let (sample, kernel) = (&samples[index], &kernels[index]);
            let program = program(&cubin, &format!("forms{index}")).map_err(|error| error.to_string())?;
            let report = run_sass(&case, &program, &options).map_err(|error| error.to_string())?;
            let output = &report.outcomes[1].content;
            let result = |sources: &[u64], wanted| {
                let right = difference(sample, sources) == wanted;
                // Without an expected result, nothing is compared.
                Some(if right { vec![expected(sample, sources)?.into()] } else { Vec::new() })
            };
            let found = DIFFERENCES.map(|known| {
                super::compare(kernel, input, output, |sources, _| result(sources, Some(known))).is_some()
            });
            let counted = |sources: &[u64], _: bool| {
                let counter = if difference(sample, sources).is_some() { &excepted } else { &compared };
                counter.fetch_add(1, Ordering::Relaxed);
                result(sources, None)
            };
            super::compare(kernel, input, output, counted).map_or(Ok(found), Err)
        });
        for (at, result) in results.iter().enumerate() {
            let sample = &samples[own[at]];
            match result {
                Ok(found) => seen.iter_mut().zip(found).for_each(|(seen, found)| *seen |= *found),
                // The third operand of `VABSDIFF4`.
                Err(what) if what.contains("is not supported") && sample.mnemonic() == "vabsdiff4" => {
                    unknown += 1;
                }
                Err(what) => wrong.push(format!("{arch} {} {:?}: {what}", sample.opcode, sample.marks)),
            }
        }
    }
    assert!(wrong.is_empty(), "{} differences\n{}", wrong.len(), wrong.join("\n"));
    for (known, seen) in DIFFERENCES.iter().zip(seen) {
        assert!(seen, "ptxas's code has no difference {known:?} any more");
    }
    format!(
        "{} results agree, {} may differ as documented, {unknown} kernels are not simulated",
        compared.into_inner(),
        excepted.into_inner()
    )
}
