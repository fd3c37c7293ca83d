//! The results of an instruction, directly from `ptxc-semantics`, for the instructions that are
//! defined there as a whole. The compiler builds many of them from simpler operations, and both
//! engines would share an error in that.

use ptxc_semantics::bits::{self, Limit, PrmtMode};
use ptxc_semantics::int::{self, IntCmp};
use ptxc_semantics::narrow::{self, ByteFormat};
use ptxc_semantics::{BF16, F16, IntType, Rounding, U32, packed, pairs};

/// The result of the instruction with these modifiers on these sources; `None` if there is no
/// reference.
pub fn expected(parts: &[&str], sources: &[u64], carry: bool) -> Option<Vec<u64>> {
    let has = |name: &str| parts.contains(&name);
    if let Some(result) = packed_or_narrow(parts, sources) {
        return Some(vec![result]);
    }
    let ty = parts.iter().rev().find_map(|part| integer(part))?;
    let word = |index: usize| sources[index] as u32;
    let limit = if has("wrap") { Limit::Wrap } else { Limit::Clamp };
    let one = |value: u64| Some(vec![value]);
    match parts[0] {
        "bfe" => one(bits::bfe(ty, sources[0], word(1), word(2))),
        "bfi" => one(bits::bfi(ty, sources[0], sources[1], word(2), word(3))),
        "bfind" => one(bits::bfind(ty, sources[0], has("shiftamt")).into()),
        "brev" => one(bits::brev(ty, sources[0])),
        "popc" => one(bits::popc(ty, sources[0]).into()),
        "clz" => one(bits::clz(ty, sources[0]).into()),
        "bmsk" => one(bits::bmsk(word(0), word(1), limit).into()),
        "szext" => one(bits::szext(ty.is_signed(), word(0), word(1), limit).into()),
        "fns" => one(bits::fns(word(0), word(1), word(2) as i32).into()),
        "lop3" if !has("or") && !has("and") => {
            one(bits::lop3(word(0), word(1), word(2), word(3) as u8).into())
        }
        "prmt" => {
            let modes = [
                ("f4e", PrmtMode::F4e),
                ("b4e", PrmtMode::B4e),
                ("rc8", PrmtMode::Rc8),
                ("ecl", PrmtMode::Ecl),
                ("ecr", PrmtMode::Ecr),
                ("rc16", PrmtMode::Rc16),
            ];
            let mode = modes.iter().find(|(name, _)| has(name)).map_or(PrmtMode::Index, |&(_, mode)| mode);
            one(bits::prmt(mode, word(0), word(1), word(2)).into())
        }
        "shl" => one(bits::shl(ty, sources[0], word(1))),
        "shr" => one(bits::shr(ty, sources[0], word(1))),
        "shf" if has("l") => one(bits::shf_l(word(0), word(1), word(2), limit).into()),
        "shf" => one(bits::shf_r(word(0), word(1), word(2), limit).into()),
        "cnot" => one(u64::from(sources[0] & ty.mask() == 0)),
        "dp4a" | "dp2a" => {
            let signs: Vec<bool> =
                parts.iter().filter_map(|part| integer(part)).map(IntType::is_signed).collect();
            let (a, b, c) = (word(0), word(1), word(2));
            one(match parts[0] {
                "dp4a" => bits::dp4a(signs[0], signs[1], a, b, c),
                _ => bits::dp2a(signs[0], signs[1], has("hi"), a, b, c),
            }
            .into())
        }
        "sad" => one(int::sad(ty, sources[0], sources[1], sources[2])),
        "mul24" | "mad24" => {
            let multiply = if has("hi") { int::mul24_hi } else { int::mul24_lo };
            let product = u64::from(multiply(ty.is_signed(), word(0), word(1)));
            one(match sources.get(2) {
                None => product,
                Some(&c) if has("sat") => int::add_sat(ty, product, c),
                Some(&c) => int::add(ty, product, c),
            })
        }
        "mul" if has("hi") => one(int::mul_hi(ty, sources[0], sources[1])),
        "mul" if has("lo") => one(int::mul_lo(ty, sources[0], sources[1])),
        "mul" if has("wide") => one(int::mul_wide(ty, sources[0], sources[1])),
        "mad" | "madc" if !has("wide") => {
            let multiply = if has("hi") { int::mul_hi } else { int::mul_lo };
            let product = multiply(ty, sources[0], sources[1]);
            if has("sat") {
                return one(int::add_sat(ty, product, sources[2]));
            }
            let carry = parts[0] == "madc" && carry;
            let (sum, carry) = int::add_carry(ty, product, sources[2], carry);
            Some(if has("cc") { vec![sum, carry.into()] } else { vec![sum] })
        }
        "mad" => one(int::mad_wide(ty, sources[0], sources[1], sources[2])),
        "add" | "addc" => {
            if has("sat") {
                return one(int::add_sat(ty, sources[0], sources[1]));
            }
            let (sum, carry) = int::add_carry(ty, sources[0], sources[1], parts[0] == "addc" && carry);
            Some(if has("cc") { vec![sum, carry.into()] } else { vec![sum] })
        }
        "sub" | "subc" => {
            if has("sat") {
                return one(int::sub_sat(ty, sources[0], sources[1]));
            }
            // The carry flag is set if there is no borrow.
            let (sum, carry) =
                int::add_carry(ty, sources[0], !sources[1] & ty.mask(), parts[0] == "sub" || carry);
            Some(if has("cc") { vec![sum, carry.into()] } else { vec![sum] })
        }
        "min" | "max" if has("relu") && ty == IntType::new(32, true) => {
            let choose = if parts[0] == "min" { int::min } else { int::max };
            one(int::max(ty, choose(ty, sources[0], sources[1]), 0))
        }
        "slct" => None,
        "setp" | "set" if parts.len() >= 3 => compared(parts, ty, sources),
        _ => None,
    }
}

/// Two integers in a word, multiply-adds with a bound, and conversions to and from formats of few
/// bits.
fn packed_or_narrow(parts: &[&str], sources: &[u64]) -> Option<u64> {
    let has = |name: &str| parts.contains(&name);
    let word = |index: usize| sources[index] as u32;
    let relu = has("relu");
    let rounding = if has("rz") { Rounding::Zero } else { Rounding::Nearest };
    let &[.., before_last, last] = parts else { return None };
    let byte_format = |name: &str| match name {
        "e4m3x2" => Some(ByteFormat::E4m3),
        "e5m2x2" => Some(ByteFormat::E5m2),
        _ => None,
    };
    let result = match (parts[0], last) {
        (name, "u16x2" | "s16x2") => {
            let signed = last == "s16x2";
            let (a, b) = (word(0), word(1));
            let result = match name {
                "add" => pairs::add(a, b),
                "min" => pairs::min(signed, a, b),
                "max" => pairs::max(signed, a, b),
                _ => return None,
            };
            if relu { pairs::relu(result) } else { result }
        }
        ("fma", "f16" | "bf16" | "f16x2" | "bf16x2") if has("oob") => {
            let format = if last.starts_with('b') { BF16 } else { F16 };
            let result = packed::fma_oob(format, word(0), word(1), word(2));
            let result = if relu { packed::relu(format, result) } else { result };
            if last.ends_with("x2") { result } else { result & 0xffff }
        }
        ("cvt", "f32") if before_last == "tf32" && has("rna") => {
            narrow::single_to_tf32_away(word(0), has("satfinite"))
        }
        ("cvt", "f32") if before_last == "tf32" => narrow::single_to_tf32(word(0), rounding, relu),
        ("cvt", "s32" | "b32") if parts[1] == "pack" => {
            let (kind, bits) = parts[3].split_at(1);
            let to = IntType::new(bits.parse().ok()?, kind == "s");
            narrow::pack_saturated(to, word(0), word(1), sources.get(2).map_or(0, |&c| c as u32))
        }
        ("cvt", "f32") => narrow::bytes_of_singles(byte_format(before_last)?, word(1), word(0), relu),
        ("cvt", "f16x2") => narrow::bytes_of_halves(byte_format(before_last)?, word(0), relu),
        ("cvt", _) if before_last == "f16x2" => narrow::halves_of_bytes(byte_format(last)?, word(0), relu),
        _ => return None,
    };
    Some(result.into())
}

/// Comparisons of integers, with predicates as results or with masks.
fn compared(parts: &[&str], ty: IntType, sources: &[u64]) -> Option<Vec<u64>> {
    let signed = ty.is_signed();
    let cmp = match parts[1] {
        "eq" => IntCmp::Eq,
        "ne" => IntCmp::Ne,
        "lt" | "lo" => IntCmp::Lt,
        "le" | "ls" => IntCmp::Le,
        "gt" | "hi" => IntCmp::Gt,
        "ge" | "hs" => IntCmp::Ge,
        _ => return None,
    };
    integer(parts[parts.len() - 1])?;
    let ty = IntType::new(ty.bits(), signed);
    let holds = int::compare(ty, cmp, sources[0], sources[1]);
    let join = |value: bool| match (parts[2], sources.get(2).map(|bits| bits & 1 == 1)) {
        ("and", Some(other)) => value & other,
        ("or", Some(other)) => value | other,
        ("xor", Some(other)) => value ^ other,
        _ => value,
    };
    if parts[0] == "setp" {
        return Some(vec![join(holds).into(), join(!holds).into()]);
    }
    let yes = match parts[parts.len() - 2] {
        "u32" | "s32" => U32.mask(),
        "f32" => 0x3f80_0000,
        "f16" => 0x3c00,
        "bf16" => 0x3f80,
        _ => return None,
    };
    Some(vec![if join(holds) { yes } else { 0 }])
}

/// The integer type that a modifier names; untyped bits are unsigned.
fn integer(part: &str) -> Option<IntType> {
    let (kind, bits) = part.split_at_checked(1)?;
    let bits: u32 = bits.parse().ok().filter(|bits| matches!(bits, 8 | 16 | 32 | 64))?;
    match kind {
        "s" => Some(IntType::new(bits, true)),
        "u" | "b" => Some(IntType::new(bits, false)),
        _ => None,
    }
}
