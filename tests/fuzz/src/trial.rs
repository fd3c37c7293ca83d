//! A trial: all that a seed stands for.

use crate::execute::{Failure, Other, Settings, execute, execute_beside};
use crate::launch::case;
use crate::program::{Family, Program};
use crate::random::Random;
use crate::{generate, launch};

/// A kernel, its launch, how it is compiled and run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// The kernel.
    pub program: Program,
    /// The seed of what memory holds before the launch.
    pub data: u64,
    /// How it is compiled and executed.
    pub settings: Settings,
}

impl Trial {
    /// The trial of a seed in a family, the same on every machine.
    pub fn new(family: Family, seed: u64) -> Trial {
        let mut random = Random::new(seed);
        let sizes = match family {
            Family::Plain => [5, 10, 20, 40, 80],
            Family::Calls | Family::Flow => [3, 6, 10, 16, 30],
        };
        let size = random.pick(&sizes);
        let program = generate::program(&mut random, family, size);
        let data = random.bits();
        let mut settings = Settings::random(&mut random);
        // Parameters of a function take up to 40 registers, and the address, the stack and alignment some more: with fewer
        // registers the answer is E0901.
        if family == Family::Calls {
            settings.max_regs = settings.max_regs.max(48);
        }
        // What may be fused is not, so that all engines round as often; what is not exact is the same everywhere.
        settings.fmad &= !program.contracts;
        if program.approximates {
            settings.mufu_error = 0;
        }
        Trial { program, data, settings }
    }

    /// The kernel's text.
    pub fn text(&self) -> String {
        self.program.text()
    }

    /// Compiles and runs it.
    ///
    /// # Errors
    /// What went wrong.
    pub fn run(&self) -> Result<(), Failure> {
        execute(&self.text(), &case(self.program.shape, self.data), &self.settings)
    }

    /// Compiles and runs it, also as another compiler has it.
    ///
    /// # Errors
    /// What went wrong.
    pub fn run_beside(&self, other: &Other<'_>) -> Result<(), Failure> {
        let case = case(self.program.shape, self.data);
        execute_beside(&self.text(), &case, &self.settings, Some(other))
    }

    /// A line that says how it is run.
    pub fn conditions(&self) -> String {
        let launch::Shape { grid, block } = self.program.shape;
        format!("{}, grid {grid:?}, block {block:?}, data {}", self.settings, self.data)
    }
}
