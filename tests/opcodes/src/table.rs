//! The tables: which templates there are, for which targets.
//!
//! A table is a text file for a family of instructions. Its lines are
//!
//! | line | means |
//! |---|---|
//! | `# …` | a comment |
//! | `let int = s32\|u32` | `$int` stands for this text in the lines below |
//! | `[sm_80]` | templates for sm_80 and all that is newer; for sm_90a are only those of sections `[sm_90a]` |
//! | `[sm_75..sm_89]`, `[sm_80, sm_90]`, `[sm_80 only]` | from one to another; these alone |
//! | `[sm_80 ptx 7.0]` | in a module of this `.version`, other than [`VERSION`] |
//! | `[sm_80 independent]` | with samplers apart from textures |
//! | `[sm_80 each 8]` | with so many steps a kernel, other than [`EACH`] |
//! | `! …` | a line in front of the kernels: of all the table, or if it follows a section's head, of the section |
//! | `% …` | a directive of the kernels, as `% .reqntid 128, 1, 1` |
//! | else | a [template](crate::template) of an instruction, or several with `;` between them |

use crate::target::Target;
use crate::template::expand;

/// The `.version` of modules, unless a section names another.
pub const VERSION: &str = "9.0";
/// The steps of a kernel, unless a section says another number.
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

/// What the templates of a section have in common.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// The targets that have it.
    pub targets: Vec<Target>,
    /// The `.version` of its modules.
    pub version: String,
    /// Whether textures and samplers are named apart.
    pub independent: bool,
    /// Steps a kernel.
    pub each: usize,
    /// Lines in front of its kernels.
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
    /// A line can't be read.
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
                // Of two names of which one begins with the other, the longer one is meant.
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

/// Replaces names by what they stand for.
fn substitute(line: &str, lets: &[(String, String)]) -> String {
    lets.iter().fold(line.to_string(), |line, (name, text)| line.replace(name, text))
}

/// Reads what stands behind `[`.
fn head_of(head: &str) -> Result<Section, String> {
    let (head, rest) = head.split_once(']').ok_or("a `[` without its `]`")?;
    if !rest.trim().is_empty() {
        return Err(format!("{rest} behind a section's head"));
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
    /// The instructions that its templates stand for.
    ///
    /// # Errors
    /// A template can't be read.
    pub fn steps(&self) -> Result<Vec<String>, String> {
        let mut steps = Vec::new();
        for template in &self.templates {
            steps.extend(expand(template).map_err(|error| format!("{template}: {error}"))?);
        }
        Ok(steps)
    }
}
