//! Modules: each is a kernel of some of a section's steps.

use std::ops::RangeInclusive;

use crate::kernel::{entry, header};
use crate::table::Family;
use crate::target::Target;

/// A step and its lines in the module, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The instruction as in its template, with the names of its operands.
    pub text: String,
    /// Its lines.
    pub lines: RangeInclusive<usize>,
}

/// PTX of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// `sm_80-integer-3`.
    pub name: String,
    /// The target that it is compiled for.
    pub target: Target,
    /// The PTX.
    pub text: String,
    /// Its steps.
    pub steps: Vec<Step>,
    /// Its lines before the kernel, and the kernel's directives.
    frame: (String, String),
}

impl Module {
    /// A kernel of steps, with the lines before it and the directives of its `frame`.
    pub(crate) fn new(name: String, target: Target, frame: (String, String), steps: &[String]) -> Module {
        let (kernel, ranges) = entry("k", &frame.1, steps);
        let before = frame.0.matches('\n').count() + 1;
        let lines = ranges.into_iter().map(|(first, last)| first + before..=last + before);
        let steps = steps.iter().cloned().zip(lines).map(|(text, lines)| Step { text, lines }).collect();
        Module { name, target, text: format!("{}{kernel}", frame.0), steps, frame }
    }

    /// The number of its lines before the kernel.
    pub fn frame_lines(&self) -> usize {
        self.frame.0.matches('\n').count()
    }

    /// The same with the steps for whose numbers `keep` returns true.
    pub fn with(&self, keep: impl Fn(usize) -> bool) -> Module {
        let steps = self.steps.iter().enumerate().filter(|(number, _)| keep(*number));
        let steps: Vec<String> = steps.map(|(_, step)| step.text.clone()).collect();
        Module::new(self.name.clone(), self.target, self.frame.clone(), &steps)
    }
}

/// The modules of a family for a target.
///
/// # Errors
/// The family's table cannot be read.
pub fn modules(family: &Family, target: Target) -> Result<Vec<Module>, String> {
    let mut made: Vec<Module> = Vec::new();
    for section in family.sections()? {
        if !section.targets.contains(&target) {
            continue;
        }
        let head = header(&section.version, target, section.independent) + &section.module;
        for steps in section.steps()?.chunks(section.each) {
            let name = format!("{target}-{}-{}", family.name, made.len());
            made.push(Module::new(name, target, (head.clone(), section.directives.clone()), steps));
        }
    }
    Ok(made)
}
