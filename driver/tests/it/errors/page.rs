//! A page of `docs/errors`, and the example in it.
//!
//! ````text
//! ```sh
//! ptxc lower example.ptx       only if it is not `ptxc check example.ptx`
//! ```
//! ```ptx
//! …                            the example
//! ```
//! ```text
//! …                            the messages of the program
//! ```
//! ```ptx
//! …                            the repaired example
//! ```
//! ````

use std::path::PathBuf;

use super::{read, repository};

/// A page as it stands in the repository.
pub struct Page {
    pub code: String,
    pub text: String,
}

/// The example of a page.
pub struct Example {
    /// The words of the command.
    command: Vec<String>,
    pub broken: String,
    pub repaired: String,
}

/// A block of code: its language, and the byte range of its lines in the page.
struct Block<'a> {
    language: &'a str,
    start: usize,
    end: usize,
}

impl Page {
    /// All pages, sorted by code.
    pub fn all() -> Vec<Page> {
        let codes = ptxc::explain::PAGES.iter().map(|page| page.code);
        codes
            .map(|code| Page {
                code: code.into(),
                text: read(&repository(&format!("docs/errors/{code}.md"))),
            })
            .collect()
    }

    pub fn path(&self) -> PathBuf {
        repository(&format!("docs/errors/{}.md", self.code))
    }

    /// The title: what is wrong, in a few words.
    pub fn title(&self) -> &str {
        let line = self.text.lines().next().unwrap_or_default();
        line.split_once(": ").map_or(line, |(_, title)| title)
    }

    /// The lines after the title up to an empty one, joined into one line.
    pub fn first_paragraph(&self) -> String {
        let lines = self.text.lines().skip(2).take_while(|line| !line.is_empty());
        lines.collect::<Vec<_>>().join(" ")
    }

    /// The example, if the page has one.
    pub fn example(&self) -> Option<Example> {
        let blocks = self.blocks();
        let language = blocks.iter().map(|block| block.language).find(|language| is_program(language))?;
        let mut programs = blocks.iter().filter(|block| block.language == language);
        let mut program = || programs.next().map(|block| self.text[block.start..block.end].to_string());
        let (broken, repaired) = (program()?, program()?);
        let shell = blocks.iter().find(|block| block.language == "sh");
        let command = match (shell, language) {
            (Some(block), _) => self.text[block.start..block.end].trim().to_string(),
            (None, "sass") => "ptxc verify example.sass".into(),
            (None, _) => "ptxc check example.ptx".into(),
        };
        Some(Example { command: command.split(' ').map(String::from).collect(), broken, repaired })
    }

    /// The page with `said` as the messages of the program.
    pub fn with_said(&self, said: &str) -> String {
        match self.blocks().iter().find(|block| block.language == "text") {
            Some(block) => format!("{}{said}{}", &self.text[..block.start], &self.text[block.end..]),
            None => self.text.clone(),
        }
    }

    fn blocks(&self) -> Vec<Block<'_>> {
        let mut blocks: Vec<Block<'_>> = Vec::new();
        let (mut at, mut is_code) = (0, false);
        for line in self.text.split_inclusive('\n') {
            if let Some(language) = line.strip_prefix("```") {
                is_code = !is_code;
                match blocks.last_mut() {
                    Some(last) if !is_code => last.end = at,
                    _ => blocks.push(Block { language: language.trim(), start: at + line.len(), end: at }),
                }
            }
            at += line.len();
        }
        assert!(!is_code, "{}: a block of code does not end", self.code);
        blocks
    }
}

fn is_program(language: &str) -> bool {
    ["ptx", "sass", "ir"].contains(&language)
}

impl Example {
    /// Runs the page's command on a text and returns its messages.
    pub fn run(&self, text: &str) -> String {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let words = self.command.iter().map(|word| match word.strip_prefix("example.") {
            Some(_) => {
                let path = folder.path().join(word);
                std::fs::write(&path, text).expect("the file can be written");
                path.display().to_string()
            }
            None => word.clone(),
        });
        let (words, mut out, mut err) = (words.collect::<Vec<String>>(), Vec::new(), Vec::new());
        ptxc::run(&words, &mut std::io::empty(), &mut out, &mut err);
        let said = String::from_utf8_lossy(&err).replace(&format!("{}/", folder.path().display()), "");
        // The last line has the number of errors, and refers to this page.
        let is_sum =
            |line: &&str| line.contains(" in example.") && line.starts_with(|c: char| c.is_ascii_digit());
        let findings = said.lines().take_while(|line| !is_sum(line)).collect::<Vec<_>>().join("\n");
        if findings.trim().is_empty() { String::new() } else { findings.trim_end().to_string() + "\n" }
    }
}
