//! A trial: everything that a seed determines.

use crate::execute::{Failure, Other, Settings, execute, execute_beside};
use crate::launch::case;
use crate::program::{Family, Program};
use crate::random::Random;
use crate::{generate, launch};

/// A kernel, its launch, and the options to compile and run it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// The kernel.
    pub program: Program,
    /// The seed of the initial content of memory.
    pub data: u64,
    /// The options to compile and execute it.
    pub settings: Settings,
}

impl Trial {
    /// The trial of a seed in a family for `sm_90`, the same on every machine.
    pub fn new(family: Family, seed: u64) -> Trial {
        Trial::for_target(family, seed, 90)
    }

    /// The trial of a seed in a family for the target `sm_{target}`.
    pub fn for_target(family: Family, seed: u64, target: u32) -> Trial {
        let mut random = Random::new(seed);
        let sizes = match family {
            Family::Plain => [5, 10, 20, 40, 80],
            Family::Packed | Family::Images | Family::Matrices => [4, 8, 15, 25, 50],
            Family::Calls | Family::Flow | Family::Parameters | Family::Services => [3, 6, 10, 16, 30],
        };
        let size = random.pick(&sizes);
        let program = generate::program(&mut random, family, target, size);
        let data = random.bits();
        let mut settings = Settings::random(&mut random);
        // Parameters of a function take up to 40 registers, and the address, the stack and
        // alignment take some more: with fewer registers the compiler reports E0901.
        if family.has_functions() {
            settings.max_regs = settings.max_regs.max(48);
        }
        // At -O0, ptxas loads a result before the function stores it if the function takes its address.
        let by_address = program.functions.iter().any(|function| function.stirs.is_some());
        if settings.opt == 0 && by_address && !program.disputed {
            settings.opt = 1;
        }
        // Operations that may be fused are not, so that all engines round equally often. Inexact
        // results are the same in all engines.
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

    /// Compiles and runs the trial.
    ///
    /// # Errors
    /// The failure.
    pub fn run(&self) -> Result<(), Failure> {
        execute(&self.text(), &case(&self.program, self.data), &self.settings)
    }

    /// Compiles and runs the trial, also with another compiler.
    ///
    /// # Errors
    /// The failure.
    pub fn run_beside(&self, other: &Other<'_>) -> Result<(), Failure> {
        let case = case(&self.program, self.data);
        execute_beside(&self.text(), &case, &self.settings, Some(other))
    }

    /// A line with the options of the run.
    pub fn conditions(&self) -> String {
        let launch::Shape { grid, block } = self.program.shape;
        format!("{}, grid {grid:?}, block {block:?}, data {}", self.settings, self.data)
    }
}
