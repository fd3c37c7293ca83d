//! The text of laid-out code, for `--print-after` and `ptxc opt`.
//!
//! ```text
//! code @k sm_90 entry {
//!     shared 64
//! .L_x_0:
//!     S2R R0, SR_TID.X
//!     @P0 BRA `(.L_x_0)
//! .L_x_1: freq=512
//!     EXIT
//! }
//! ```
//!
//! The header and the instructions are those of [machine IR](crate::mir::text). A block that ends
//! in an indexed branch has `table=0x40`, the place of its jump table in bytes.

use std::fmt;

use ptxc_ir::text::ParseError;
use ptxc_sass::Op;
use ptxc_sass::table::Transfer;

use super::{Code, CodeBlock};
use crate::mir::text::{Lines, read_header, read_inst, write_header, write_inst};

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_header(f, "code", &self.header, "")?;
        for (number, block) in self.blocks.iter().enumerate() {
            write!(f, ".L_x_{number}:")?;
            if number > 0 || block.frequency != 1024 {
                write!(f, " freq={}", block.frequency)?;
            }
            if let Some(table) = block.table {
                write!(f, " table={table:#x}")?;
            }
            f.write_str("\n")?;
            for minst in &block.insts {
                f.write_str("    ")?;
                write_inst(f, minst, self.header.arch)?;
                f.write_str("\n")?;
            }
        }
        f.write_str("}\n")
    }
}

/// Reads all functions of a text of laid-out code.
///
/// # Errors
/// All lines that cannot be parsed, in order.
pub fn parse(text: &str) -> Result<Vec<Code>, Vec<ParseError>> {
    let mut lines = Lines::new(text);
    let mut functions = Vec::new();
    while lines.peek().is_some() {
        match read_header(&mut lines, "code") {
            Some((head, false)) => {
                let mut code = Code { header: head.header, blocks: Vec::new() };
                read_blocks(&mut lines, &mut code);
                functions.push(code);
            }
            _ => lines.skip_function(),
        }
    }
    if lines.errors.is_empty() { Ok(functions) } else { Err(lines.errors) }
}

fn read_blocks(lines: &mut Lines<'_>, code: &mut Code) {
    let mut named = Vec::new();
    loop {
        let Some(line) = lines.next() else {
            let end = lines.end();
            return lines.error(end, "the function lacks its `}`");
        };
        if line.text == "}" {
            break;
        }
        if line.text.starts_with(".L_x_") {
            match head(line.text) {
                Some((number, block)) if number == code.blocks.len() => code.blocks.push(block),
                _ => lines.error(line, format!("expected `.L_x_{}:`", code.blocks.len())),
            }
            continue;
        }
        let header = &code.header;
        let Some(block) = code.blocks.last_mut() else {
            lines.error(line, "expected `.L_x_0:`");
            continue;
        };
        match read_inst(line.text, header.arch, &header.functions) {
            Ok(minst) => {
                named.extend(minst.inst.labels().map(|label| (label.0 as usize, line)));
                let is_branch = ends_block(minst.inst.op);
                let is_body = !is_branch && block.body == block.insts.len();
                block.insts.push(minst);
                block.body += usize::from(is_body);
            }
            Err(message) => lines.error(line, message),
        }
    }
    for (number, line) in named {
        if number >= code.blocks.len() {
            lines.error(line, format!("`.L_x_{number}` is named and never defined"));
        }
    }
    if code.blocks.is_empty() {
        let end = lines.end();
        lines.error(end, format!("`{}` has no blocks", code.header.name));
    }
}

/// `.L_x_1: freq=512 table=0x40`.
fn head(text: &str) -> Option<(usize, CodeBlock)> {
    let (number, rest) = text.strip_prefix(".L_x_")?.split_once(':')?;
    let mut block = CodeBlock { insts: Vec::new(), body: 0, table: None, frequency: 1024 };
    for word in rest.split_whitespace() {
        match word.split_once('=')? {
            ("freq", count) => block.frequency = count.parse().ok()?,
            ("table", place) => block.table = Some(u32::from_str_radix(place.strip_prefix("0x")?, 16).ok()?),
            _ => return None,
        }
    }
    Some((number.parse().ok()?, block))
}

/// Whether layout puts the instruction after the body of a block.
fn ends_block(op: Op) -> bool {
    matches!(op, Op::BRA | Op::BRX | Op::EXIT | Op::RET) || op.row().transfer == Transfer::ByLanes
}
