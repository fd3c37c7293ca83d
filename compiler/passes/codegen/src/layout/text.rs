//! The text of laid-out code, for `--print-after`.

use std::fmt;

use super::Code;

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "code @{} {{", self.name)?;
        for (number, block) in self.blocks.iter().enumerate() {
            writeln!(f, ".L_x_{number}:    // runs {}/1024 times", block.frequency)?;
            for minst in &block.insts {
                writeln!(f, "    {minst}")?;
            }
        }
        writeln!(f, "}}")
    }
}
