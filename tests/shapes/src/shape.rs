//! The shape of an instruction: the properties that decide whether a machine has the instruction at
//! all, without its operation's details.
//!
//! It is read from text, ours or nvdisasm's, so that both are treated alike:
//!
//! ```text
//!   @P0 IMAD.WIDE.U32 R4, R5.reuse, 0x4, -R6 ;
//! ```
//!
//! has the shape `IMAD.WIDE.U32 R, R, imm, R`: the opcode with modifiers, and the kinds of
//! operands. A sign, absolute value bars or the choice of a half is a separate shape,
//! `IMAD R, R, imm, R: 4 -R`, without the modifiers: they do not decide whether an operand accepts
//! a sign, and the product of both would have shapes that no program needs.
//!
//! Guards, reuse flags, numbers of registers and values of constants are omitted. So are the
//! descriptors of addresses, which nvdisasm does not show for all code: `LDG.E R, desc[UR][R.64]`
//! is `LDG.E R, [R.64]`, and so is `LDG.E.POLICY`, if the descriptor is that of a cache policy. The
//! name of a special register stays, because not all machines have all of them.

/// The shapes of an instruction without offset and semicolon: its own, and one for each operand
/// with a sign or half.
pub fn shapes(text: &str) -> Vec<String> {
    let text = text.trim();
    let text = text.split_once("(*").map_or(text, |(front, _)| front.trim_end());
    let text = if text.starts_with('@') {
        text.split_once(' ').map_or("", |(_, rest)| rest.trim_start())
    } else {
        text
    };
    let (opcode, operands) = text.split_once(' ').unwrap_or((text, ""));
    let opcode = opcode.replace(".POLICY", "");
    let operands: Vec<&str> =
        operands.split(", ").map(str::trim).filter(|operand| !operand.is_empty()).collect();
    let kinds: Vec<(String, String)> = operands.iter().map(|operand| kind(operand)).collect();
    let bare = kinds.iter().map(|(bare, _)| bare.as_str()).collect::<Vec<_>>().join(", ");
    let mut all = vec![format!("{opcode} {bare}").trim_end().to_string()];
    let base = opcode.split('.').next().unwrap_or(&opcode);
    for (index, (bare_kind, signed)) in kinds.iter().enumerate() {
        if bare_kind != signed && bare_kind != CONSTANT {
            all.push(format!("{base} {bare}: {} {signed}", index + 1));
        }
    }
    all
}

/// A constant in the instruction.
const CONSTANT: &str = "imm";

/// The halves of a register, as they are written after it.
const HALVES: [&str; 4] = [".H0_H0", ".H1_H1", ".H0", ".H1"];

/// The kind of an operand, and the kind with its sign and half.
fn kind(text: &str) -> (String, String) {
    let text = text.replace(".reuse", "");
    let unsigned = text.trim_start_matches(['-', '~', '!', '|']);
    let unsigned = unsigned.split('|').next().unwrap_or(unsigned);
    let half =
        HALVES.iter().find(|half| text.ends_with(**half) || text.ends_with(&format!("{half}|"))).copied();
    let unsigned = match unsigned.split_once("][") {
        Some((front, address)) if front.starts_with("desc[") => format!("[{address}"),
        _ => unsigned.to_string(),
    };
    let unsigned = unsigned.as_str();
    let whole = half.map_or(unsigned, |half| unsigned.strip_suffix(half).unwrap_or(unsigned));
    let bare = words(whole);
    let sign: String = text.chars().take_while(|c| "-~!|".contains(*c)).collect();
    let closing = if sign.contains('|') { "|" } else { "" };
    let signed = format!("{sign}{bare}{}{closing}", half.unwrap_or(""));
    (bare, signed)
}

/// A text with its registers by kind and without its constants: constants added to an address are
/// removed, others become `imm`.
fn words(text: &str) -> String {
    if text.starts_with(['`', '(', '.']) {
        return "L".to_string();
    }
    if text.starts_with('{') {
        return CONSTANT.to_string();
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length =
            rest.find(|c: char| !c.is_ascii_alphanumeric() && !"_.".contains(c)).unwrap_or(rest.len());
        if rest.starts_with('`') {
            out.push('L');
            break;
        }
        if length == 0 {
            out.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let (word, after) = rest.split_at(length);
        rest = after;
        let (name, suffix) = word.split_once('.').map_or((word, ""), |(name, _)| (name, &word[name.len()..]));
        match file(name) {
            Some(file) => {
                out.push_str(file);
                out.push_str(suffix);
            }
            None if name.starts_with("SR") || name.starts_with('c') => out.push_str(word),
            None => {
                while out.ends_with(['+', '-']) {
                    out.pop();
                }
                // After a register, a constant is an offset; elsewhere it is an operand.
                if out.is_empty() || out.ends_with('[') {
                    out.push_str(CONSTANT);
                }
            }
        }
    }
    out
}

/// The file of a register.
fn file(word: &str) -> Option<&'static str> {
    ["UR", "UP", "SB", "R", "P", "B"].into_iter().find(|file| {
        word.strip_prefix(file).is_some_and(|number| {
            number == "Z"
                || number == "T"
                || (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_lose_their_numbers_and_constants_their_values() {
        let of = |text: &str| shapes(text).swap_remove(0);
        assert_eq!(of("@!P0 IMAD.WIDE.U32 R4, R5.reuse, 0x4, RZ"), "IMAD.WIDE.U32 R, R, imm, R");
        assert_eq!(of("LDG.E R5, desc[UR4][R2.64+0x4]"), "LDG.E R, [R.64]");
        assert_eq!(of("LDG.E.POLICY R5, desc[UR4][R2.64+0x4]"), "LDG.E R, [R.64]");
        assert_eq!(of("STS [R2.X4+-0x10], RZ"), "STS [R.X4], R");
        assert_eq!(of("LDS R0, [UR4+0x10]"), "LDS R, [UR]");
        assert_eq!(of("FADD R0, R1, -1.5"), "FADD R, R, imm");
        assert_eq!(of("MOV R0, c[0x0][0x160]"), "MOV R, c[imm][imm]");
        assert_eq!(of("LDC.64 R0, c[0x3][R2+0x10]"), "LDC.64 R, c[imm][R]");
        assert_eq!(of("S2R R0, SR_TID.X"), "S2R R, SR_TID.X");
        assert_eq!(of("BRA.DIV UR4, `(.L_x_1)"), "BRA.DIV UR, L");
        assert_eq!(of("BRX R2 -0x10 (*\"BRANCH_TARGETS .L_x_1,.L_x_2\"*)"), "BRX R");
        assert_eq!(of("EXIT"), "EXIT");
    }

    #[test]
    fn signs_and_halves_are_shapes_of_their_own() {
        assert_eq!(
            shapes("FADD.FTZ R0, -R1, |R2|"),
            ["FADD.FTZ R, R, R", "FADD R, R, R: 2 -R", "FADD R, R, R: 3 |R|"]
        );
        assert_eq!(shapes("HADD2 R0, -R1.H0_H0, R2")[1], "HADD2 R, R, R: 2 -R.H0_H0");
        assert_eq!(
            shapes("PLOP3.LUT P0, PT, P1, !PT, PT, 0x80, 0x0")[1],
            "PLOP3 P, P, P, P, P, imm, imm: 4 !P"
        );
    }
}
