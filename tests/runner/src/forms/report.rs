//! The page of the book with the counts of all forms.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::combinations::TARGETS;
use super::cores::Comparison;

/// How many instructions of a family a target has, and how many of them become code.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    /// The check accepts them.
    pub accepted: usize,
    /// ptxas refuses them.
    pub refused: usize,
    /// They become code.
    pub lowered: usize,
}

/// What `cargo xtask forms` found.
#[derive(Default)]
pub struct Report {
    /// By family and target.
    pub combinations: BTreeMap<&'static str, [Count; TARGETS.len()]>,
    /// The most combinations of a row that were tried.
    pub most: usize,
    /// The number of forms that were executed, by target.
    pub executed: Vec<(String, usize)>,
    /// The comparisons with ptxas's code, by target.
    pub compared: Vec<(String, Comparison)>,
    /// What the checks of textures and surfaces found.
    pub images: String,
}

impl Report {
    /// The page as Markdown.
    pub fn page(&self) -> String {
        let mut text = format!(
            "# Forms\n\n\
             This page counts the forms of PTX instructions that ptxc compiles. `cargo xtask forms --write`\n\
             generates it: the command tries every form and compares with ptxas. Without `--write` it only\n\
             lists the problems, of which there must be none.\n\n\
             ## Combinations of modifiers\n\n\
             Every row of the instruction table, with every combination of its modifiers, but at most about\n\
             {} of a row. A cell shows how many combinations ptxc compiles, of how many the target has. The rest\n\
             ends in `E0900` and is listed in `tests/runner/tests/it/unlowered.txt`.\n\n",
            self.most
        );
        let mut line = |cells: &[String]| {
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        };
        let head = std::iter::once("family".to_string()).chain(TARGETS.map(str::to_string));
        line(&head.collect::<Vec<_>>());
        line(&vec!["---".to_string(); TARGETS.len() + 1]);
        let mut sums = [Count::default(); TARGETS.len()];
        for (family, counts) in &self.combinations {
            for (sum, count) in sums.iter_mut().zip(counts) {
                sum.accepted += count.accepted;
                sum.refused += count.refused;
                sum.lowered += count.lowered;
            }
            line(&std::iter::once(family.to_string()).chain(counts.map(cell)).collect::<Vec<_>>());
        }
        line(&std::iter::once("all".to_string()).chain(sums.map(cell)).collect::<Vec<_>>());
        let refused: usize = sums.iter().map(|sum| sum.refused).sum();
        let _ = write!(
            text,
            "\nptxas refuses {refused} of these instructions; [the tests of the check](tests.md) explain them.\n\n\
             ## Execution\n\n\
             Scalar, warp and video instructions, with operands from registers and constants and under a guard.\n\
             Each runs as built, simplified and as SASS, on numbers at the limits of its types and on random\n\
             ones, and is compared with a reference if `ptxc-semantics` defines the instruction as a whole. The\n\
             code of ptxas runs in the same simulator. The *core* is the set of mnemonics without moves, accesses\n\
             of operands and ordinary integer instructions.\n\n"
        );
        let mut line = |cells: &[String]| {
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        };
        line(
            &["", "forms", "ptxas's code gives the same", "not simulated", "same core", "other core"]
                .map(str::to_string),
        );
        line(&["---", "---", "---", "---", "---", "---"].map(str::to_string));
        for (target, count) in &self.executed {
            let compared = self.compared.iter().find(|(name, _)| name == target);
            let others = match compared {
                Some((_, one)) => [one.ran, one.not_run, one.same, one.reasons.values().sum()]
                    .map(|count| count.to_string()),
                None => [(); 4].map(|()| "–".to_string()),
            };
            line(&[[target.clone(), count.to_string()].as_slice(), &others].concat());
        }
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        for (why, count) in self.compared.iter().flat_map(|(_, one)| &one.reasons) {
            *reasons.entry(why).or_default() += count;
        }
        if !reasons.is_empty() {
            text.push_str(
                "\nThe reasons for other cores, with the number of kernels on all architectures:\n\n",
            );
        }
        for (why, count) in reasons {
            let _ = writeln!(text, "- {why} ({count})");
        }
        let _ = write!(
            text,
            "\n## Other families\n\n\
             - Textures and surfaces: {}.\n\
             - Barriers, fences, mbarriers, atomics and warp operations: [instruction families](families.md).\n",
            self.images
        );
        text
    }
}

fn cell(count: Count) -> String {
    match count.accepted {
        0 => "–".to_string(),
        all => format!("{}/{all}", count.lowered),
    }
}
