//! The tables: the templates, and their targets.
//!
//! A table is a text file for a family of instructions. It has these kinds of lines:
//!
//! | line | meaning |
//! |---|---|
//! | `# …` | a comment |
//! | `let int = s32\|u32` | `$int` stands for this text in the lines below |
//! | `[sm_80]` | templates for sm_80 and all newer targets; for sm_90a, only sections `[sm_90a]` count |
//! | `[sm_75..sm_89]`, `[sm_80, sm_90]`, `[sm_80 only]` | a range of targets; only these targets |
//! | `[sm_80 ptx 7.0]` | in a module of this `.version` instead of [`VERSION`] |
//! | `[sm_80 independent]` | with samplers separate from textures |
//! | `[sm_80 each 8]` | with this number of steps per kernel instead of [`EACH`] |
//! | `! …` | a line before the kernels: of the whole table, or if it follows a section's head, of the section |
//! | `% …` | a directive of the kernels, such as `% .reqntid 128, 1, 1` |
//! | other | a [template](crate::template) of an instruction, or several with `;` between them |

use crate::target::Target;
use crate::template::expand;

/// The `.version` of modules, unless a section gives another.
pub const VERSION: &str = "9.0";
/// The number of steps per kernel, unless a section gives another.
pub const EACH: usize = 48;

/// A family of instructions with the text of its table.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Its name: `integer`.
    pub name: &'static str,
    text: &'static str,
}

macro_rules! families {
    ($($name:literal)*) => {
        /// Every family.
        pub const FAMILIES: &[Family] =
            &[$(Family { name: $name, text: include_str!(concat!("../tables/", $name, ".txt")) },)*];
    };
}

families! {
    "integer" "float" "double" "half" "convert" "memory" "atomic" "warp" "video" "barrier" "control" "matrix" "texture" "bulk" "warpgroup"
}

/// The common properties of the templates of a section.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// The targets that have it.
    pub targets: Vec<Target>,
    /// The `.version` of its modules.
    pub version: String,
    /// Whether textures and samplers are separate.
    pub independent: bool,
    /// Steps per kernel.
    pub each: usize,
    /// Lines before its kernels.
    pub module: String,
    /// Directives of its kernels.
    pub directives: String,
    /// Its templates, with `$` resolved.
    pub templates: Vec<String>,
}

impl Family {
    /// The sections of its table.
    ///
    /// # Errors
    /// A line cannot be read.
    pub fn sections(&self) -> Result<Vec<Section>, String> {
        let mut lets: Vec<(String, String)> = Vec::new();
        let mut common = String::new();
        let mut sections: Vec<Section> = Vec::new();
        for (number, line) in self.text.lines().enumerate() {
            let line = line.trim();
            let wrong = |what: String| format!("{}, line {}: {what}", self.name, number + 1);
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(head) = line.strip_prefix('[') {
                let mut section = head_of(head).map_err(wrong)?;
                section.module.clone_from(&common);
                sections.push(section);
                continue;
            }
            let line = substitute(line, &lets);
            if let Some((name, text)) = line.strip_prefix("let ").and_then(|rest| rest.split_once('=')) {
                lets.push((format!("${}", name.trim()), text.trim().to_string()));
                // If one name is the beginning of another, the longer one is meant.
                lets.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
                continue;
            }
            match (sections.last_mut(), line.strip_prefix('!'), line.strip_prefix('%')) {
                (Some(section), Some(module), _) => section.module += &format!("{}\n", module.trim()),
                (None, Some(module), _) => common += &format!("{}\n", module.trim()),
                (Some(section), _, Some(directive)) => {
                    section.directives += &format!("{}\n", directive.trim())
                }
                (Some(section), None, None) => section.templates.push(line),
                (None, ..) => return Err(wrong("a template before the first section".to_string())),
            }
        }
        Ok(sections)
    }
}

/// Replaces names by their texts.
fn substitute(line: &str, lets: &[(String, String)]) -> String {
    lets.iter().fold(line.to_string(), |line, (name, text)| line.replace(name, text))
}

/// Parses the text after `[`.
fn head_of(head: &str) -> Result<Section, String> {
    let (head, rest) = head.split_once(']').ok_or("a `[` without its `]`")?;
    if !rest.trim().is_empty() {
        return Err(format!("{rest} after a section's head"));
    }
    let mut section = Section { version: VERSION.to_string(), each: EACH, ..Section::default() };
    let mut words = head.split([' ', ',']).filter(|word| !word.is_empty());
    let alone = head.contains(',') || head.ends_with(" only");
    while let Some(word) = words.next() {
        match word {
            "ptx" => section.version = words.next().ok_or("no version")?.to_string(),
            "each" => {
                let number = words.next().and_then(|word| word.parse().ok());
                section.each = number.filter(|&number| number > 0).ok_or("no number of steps")?;
            }
            "independent" => section.independent = true,
            "only" => {}
            _ => {
                let (first, last) = match word.split_once("..") {
                    Some((first, last)) => (first.parse()?, last.parse()?),
                    None if word == "sm_90a" => (Target::Sm90a, Target::Sm90a),
                    None if alone => (word.parse()?, word.parse()?),
                    None => (word.parse()?, Target::Sm90),
                };
                section.targets.extend(Target::ALL.into_iter().filter(|&t| first <= t && t <= last));
            }
        }
    }
    if section.targets.is_empty() {
        return Err("a section for no target".to_string());
    }
    Ok(section)
}

impl Section {
    /// The instructions that its templates expand to.
    ///
    /// # Errors
    /// A template cannot be read.
    pub fn steps(&self) -> Result<Vec<String>, String> {
        let mut steps = Vec::new();
        for template in &self.templates {
            steps.extend(expand(template).map_err(|error| format!("{template}: {error}"))?);
        }
        Ok(steps)
    }
}
