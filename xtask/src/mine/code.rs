//! Reads a listing with encodings, or machine code, as straight lines of code.
//!
//! A straight line ends at a label, at an instruction that branches or joins lanes, at an
//! instruction without a row in the table, and at a stall of 0, which lasts until everything is
//! done.

use std::collections::BTreeMap;

use ptxc_machine::Arch;
use ptxc_sass::text::parse_inst;
use ptxc_sass::{Coded, Control, Inst, LatencyClass, Op, PReg, Program};

/// An instruction of a straight line.
pub(super) struct Issued {
    pub(super) inst: Inst<PReg>,
    pub(super) control: Control,
    /// The sum of the stalls before it in the line.
    pub(super) time: u32,
}

/// The contents of a listing.
#[derive(Default)]
pub(super) struct Code {
    pub(super) functions: usize,
    pub(super) instructions: usize,
    pub(super) lines: Vec<Vec<Issued>>,
    /// Instructions that cannot be read, by their first word: their number, and an example.
    pub(super) unread: BTreeMap<String, (usize, String)>,
}

impl Code {
    /// Reads nvdisasm's text.
    pub(super) fn read(arch: Arch, listing: &str) -> Code {
        let mut code = Code::default();
        let mut line = Vec::new();
        let mut time = 0;
        let mut text = None;
        for row in listing.lines().map(str::trim) {
            code.functions += usize::from(row.starts_with(".text."));
            if row.ends_with(':') {
                code.end(&mut line);
            }
            let Some(rest) = row.strip_prefix("/*") else { continue };
            if let Some(digits) =
                rest.trim_start().strip_prefix("0x").and_then(|rest| rest.strip_suffix("*/"))
            {
                let high = u64::from_str_radix(digits.trim(), 16).unwrap_or(0);
                if let Some(text) = text.take() {
                    code.instruction(arch, (text, high), &mut line, &mut time);
                }
            } else if let Some((_, rest)) = rest.split_once("*/") {
                text = rest.split_once(';').map(|(text, _)| text.trim().trim_start_matches('{').trim());
            }
        }
        code.end(&mut line);
        code
    }

    /// Adds the machine code of a function.
    pub(super) fn add(&mut self, program: &Program) {
        let mut line = Vec::new();
        let mut time = 0;
        let mut starts = program.labels.clone();
        starts.extend(program.functions.iter().filter_map(|function| function.start));
        starts.sort_unstable();
        for (index, coded) in (0u32..).zip(&program.insts) {
            if starts.binary_search(&index).is_ok() {
                self.end(&mut line);
            }
            if let Some(word) = program.unknown_word(index) {
                self.instructions += 1;
                let operation = format!("{:#05x}", word & 0xfff);
                self.unread.entry(operation).or_insert((0, format!("{word:#034x}"))).0 += 1;
                self.end(&mut line);
            } else {
                self.issue(coded.clone(), &mut line, &mut time);
            }
        }
        self.functions += 1;
        self.end(&mut line);
    }

    fn instruction(&mut self, arch: Arch, (text, high): (&str, u64), line: &mut Vec<Issued>, time: &mut u32) {
        let text = number_function(text);
        let (Ok((inst, _)), Ok(control)) = (parse_inst(&text, arch), Control::of_word(high)) else {
            let word = text.split(' ').find(|word| !word.starts_with('@')).unwrap_or("").to_string();
            self.instructions += 1;
            self.unread.entry(word).or_insert((0, text)).0 += 1;
            self.end(line);
            return;
        };
        self.issue(Coded { inst, control, loc: u32::MAX }, line, time);
    }

    /// Adds an instruction to a line.
    fn issue(&mut self, Coded { inst, control, .. }: Coded, line: &mut Vec<Issued>, time: &mut u32) {
        self.instructions += 1;
        if line.is_empty() {
            *time = 0;
        }
        let effects = inst.row().effects;
        let gathers = inst.row().latency == LatencyClass::Branch && !matches!(inst.op, Op::NOP | Op::BSSY);
        let leaves = effects.branch || effects.exit || effects.boundary;
        let ends = leaves || gathers || control.stall == 0;
        line.push(Issued { inst, control, time: *time });
        *time += u32::from(control.stall);
        if ends {
            self.end(line);
        }
    }

    fn end(&mut self, line: &mut Vec<Issued>) {
        if !line.is_empty() {
            self.lines.push(std::mem::take(line));
        }
    }
}

/// Replaces the name of a function in an instruction by a number, because a single instruction
/// refers to functions by number.
fn number_function(line: &str) -> String {
    match line.split_once("`(") {
        Some((front, name)) if !name.starts_with(".L_x_") => format!("{front}`($0)"),
        _ => line.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_where_control_may_go_elsewhere() {
        let listing = "\
.text.k:
        /*0000*/   IADD3 R0, R1, R2, RZ ;   /* 0x0 */
                                            /* 0x000fc80000000000 */
        /*0010*/   FOO.BAR R3 ;             /* 0x0 */
                                            /* 0x000fe20000000000 */
.L_x_1:
        /*0020*/   IADD3 R3, R0, R2, RZ ;   /* 0x0 */
                                            /* 0x000fe20000000000 */
        /*0030*/   EXIT ;                   /* 0x0 */
                                            /* 0x000fea0000000000 */
        /*0040*/   NOP ;                    /* 0x0 */
                                            /* 0x000fc00000000000 */
";
        let code = Code::read(Arch::Sm90, listing);
        assert_eq!((code.functions, code.instructions), (1, 5));
        let unread: Vec<_> = code.unread.into_iter().collect();
        assert_eq!(unread, [("FOO.BAR".to_string(), (1, "FOO.BAR R3".to_string()))]);
        let times: Vec<Vec<u32>> =
            code.lines.iter().map(|line| line.iter().map(|i| i.time).collect()).collect();
        assert_eq!(times, [vec![0], vec![0, 1], vec![0]]);
    }
}
