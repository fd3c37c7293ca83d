//! Matching an input against check lines.

use std::collections::BTreeMap;
use std::ops::Range;

use super::pattern::squeeze;
use super::{Directive, Failure, Kind};

/// Checks an input.
pub fn check(directives: &[Directive], input: &str) -> Result<(), Failure> {
    let text: String = input.lines().map(|line| squeeze(line) + "\n").collect();
    let mut matcher = Matcher { text: &text, variables: BTreeMap::new(), position: 0 };
    let cuts = matcher.find_labels(directives)?;
    let mut rest = directives;
    let mut end_of_parts = cuts.iter().map(|cut| cut.start).chain([text.len()]);
    let mut label = cuts.iter();
    loop {
        let count = rest.iter().position(|d| d.kind == Kind::Label).unwrap_or(rest.len());
        let end = end_of_parts.next().unwrap_or(text.len());
        matcher.check_part(&rest[..count], end)?;
        rest = &rest[count..];
        match label.next() {
            Some(cut) => matcher.position = cut.end,
            None => return Ok(()),
        }
        rest = &rest[1..];
    }
}

struct Matcher<'a> {
    text: &'a str,
    variables: BTreeMap<String, String>,
    position: usize,
}

impl Matcher<'_> {
    fn failure(&self, directive: &Directive, message: String) -> Failure {
        let input_line = self.text[..self.position].matches('\n').count() + 1;
        Failure { check_line: directive.line, message, input_line }
    }

    /// Finds every label from front to back, before other checks are matched.
    fn find_labels(&mut self, directives: &[Directive]) -> Result<Vec<Range<usize>>, Failure> {
        let mut cuts = Vec::new();
        for directive in directives.iter().filter(|d| d.kind == Kind::Label) {
            let found = self.find(directive, self.position..self.text.len())?;
            let found =
                found.ok_or_else(|| self.failure(directive, format!("no label `{}`", directive.text)))?;
            self.position = found.end;
            cuts.push(found);
        }
        self.position = 0;
        Ok(cuts)
    }

    /// Searches a range and keeps the variables of a match.
    fn find(&mut self, directive: &Directive, range: Range<usize>) -> Result<Option<Range<usize>>, Failure> {
        let regex = directive.regex(&self.variables).map_err(|why| self.failure(directive, why))?;
        let Some(captures) = regex.captures(&self.text[range.clone()]) else { return Ok(None) };
        for name in directive.defines() {
            if let Some(value) = captures.name(name) {
                self.variables.insert(name.to_string(), value.as_str().to_string());
            }
        }
        Ok(captures.get(0).map(|found| range.start + found.start()..range.start + found.end()))
    }

    fn expect(&mut self, directive: &Directive, range: Range<usize>) -> Result<Range<usize>, Failure> {
        let found = self.find(directive, range)?;
        found.ok_or_else(|| self.failure(directive, format!("no match for `{}`", directive.text)))
    }

    /// Checks the lines between two labels against the input up to `end`.
    fn check_part(&mut self, directives: &[Directive], end: usize) -> Result<(), Failure> {
        let mut nots: Vec<&Directive> = Vec::new();
        let mut index = 0;
        while index < directives.len() {
            let directive = &directives[index];
            index += 1;
            if directive.kind == Kind::Not {
                nots.push(directive);
                continue;
            }
            let start = self.position;
            let found = match directive.kind {
                Kind::Dag => {
                    let group = directives[index - 1..].iter().take_while(|d| d.kind == Kind::Dag).count();
                    let found = self.check_group(&directives[index - 1..index - 1 + group], end)?;
                    index += group - 1;
                    found
                }
                Kind::Next | Kind::Empty => {
                    let line = self.next_line(end);
                    let found = if directive.kind == Kind::Empty {
                        self.text[line.clone()].is_empty().then(|| line.clone())
                    } else {
                        self.find(directive, line.clone())?
                    };
                    found.ok_or_else(|| {
                        let got = &self.text[line];
                        self.failure(directive, format!("the next line is `{got}`, not `{}`", directive.text))
                    })?
                }
                Kind::Same => {
                    let stop = self.text[start..end].find('\n').map_or(end, |n| start + n);
                    self.expect(directive, start..stop)?
                }
                Kind::Count(count) => {
                    let mut first = None;
                    for _ in 0..count {
                        let found = self.expect(directive, self.position..end)?;
                        self.position = found.end;
                        first.get_or_insert(found.start);
                    }
                    first.unwrap_or(start)..self.position
                }
                _ => self.expect(directive, start..end)?,
            };
            self.check_absent(&nots, start..found.start)?;
            nots.clear();
            self.position = found.end;
        }
        self.check_absent(&nots, self.position..end)
    }

    /// Matches neighbouring `CHECK-DAG` lines without overlap. Returns the range from the first to
    /// the last match.
    fn check_group(&mut self, group: &[Directive], end: usize) -> Result<Range<usize>, Failure> {
        let mut taken: Vec<Range<usize>> = Vec::new();
        for directive in group {
            let mut from = self.position;
            loop {
                let found = self.expect(directive, from..end)?;
                match taken.iter().find(|other| other.start < found.end && found.start < other.end) {
                    Some(other) => from = other.end,
                    None => {
                        taken.push(found);
                        break;
                    }
                }
            }
        }
        let first = taken.iter().map(|range| range.start).min().unwrap_or(self.position);
        let last = taken.iter().map(|range| range.end).max().unwrap_or(self.position);
        Ok(first..last)
    }

    fn check_absent(&mut self, nots: &[&Directive], range: Range<usize>) -> Result<(), Failure> {
        for directive in nots {
            if range.start < range.end && self.find(directive, range.clone())?.is_some() {
                return Err(self.failure(directive, format!("`{}` occurs", directive.text)));
            }
        }
        Ok(())
    }

    /// The line after the one in which the last match ended, without its line feed.
    fn next_line(&self, end: usize) -> Range<usize> {
        let start = self.text[self.position..end].find('\n').map_or(end, |n| self.position + n + 1);
        let stop = self.text[start..end].find('\n').map_or(end, |n| start + n);
        start..stop
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn run(checks: &str, input: &str) -> Result<(), Failure> {
        check(&parse(checks, &["CHECK"]).unwrap(), input)
    }

    #[test]
    fn plain_lines_match_in_order() {
        assert!(run("// CHECK: a\n// CHECK: b", "x a\ny b\n").is_ok());
        assert_eq!(run("// CHECK: b\n// CHECK: a", "x a\ny b\n").unwrap_err().check_line, 2);
    }

    #[test]
    fn next_same_and_empty_look_at_one_line() {
        assert!(
            run("; CHECK: one\n; CHECK-SAME: two\n; CHECK-NEXT: three\n; CHECK-EMPTY:", "one two\nthree\n\n")
                .is_ok()
        );
        assert!(run("; CHECK: one\n; CHECK-NEXT: three", "one\ntwo\nthree\n").is_err());
        assert!(run("; CHECK: one\n; CHECK-SAME: two", "one\ntwo\n").is_err());
        assert!(run("; CHECK: one\n; CHECK-EMPTY:", "one\ntwo\n").is_err());
    }

    #[test]
    fn absence_is_bounded_by_the_matches_around_it() {
        assert!(run("// CHECK: a\n// CHECK-NOT: x\n// CHECK: b", "a\nb\nx\n").is_ok());
        assert!(run("// CHECK: a\n// CHECK-NOT: x\n// CHECK: b", "a\nx\nb\n").is_err());
        assert!(run("// CHECK: a\n// CHECK-NOT: x", "a\nb\nx\n").is_err());
    }

    #[test]
    fn variables_carry_over() {
        let checks = "// CHECK: [[D:R[0-9]+]], R1\n// CHECK: use [[D]] {{[a-z]+$}}";
        assert!(run(checks, "FADD R3, R1\nuse R3 now\n").is_ok());
        assert!(run(checks, "FADD R3, R1\nuse R4 now\n").is_err());
    }

    #[test]
    fn brackets_and_braces_may_stand_around_patterns() {
        let checks = "// CHECK: load [[[A:v[0-9]+]]]\n// CHECK: [[[A]] + {{[0-9]{2}}}]";
        assert!(run(checks, "load [v1]\nload [v1 + 16]\n").is_ok());
        assert!(run(checks, "load [v1]\nload [v1 + 4]\n").is_err());
        assert!(run(checks, "load [v1]\nload [v2 + 16]\n").is_err());
    }

    #[test]
    fn groups_match_in_any_order_without_overlap() {
        assert!(run("// CHECK-DAG: b\n// CHECK-DAG: a\n// CHECK: c", "a\nb\nc\n").is_ok());
        assert!(run("// CHECK-DAG: a\n// CHECK-DAG: a\n// CHECK: c", "a\nc\n").is_err());
    }

    #[test]
    fn labels_bound_the_search() {
        let checks = "// CHECK-LABEL: f:\n// CHECK: add\n// CHECK-LABEL: g:\n// CHECK: sub";
        assert!(run(checks, "f:\nadd\ng:\nsub\n").is_ok());
        assert!(run(checks, "f:\nsub\ng:\nadd\nsub\n").is_err());
    }

    #[test]
    fn counts_match_one_after_the_other() {
        assert!(run("// CHECK-COUNT-2: LDG", "LDG\nx\nLDG\n").is_ok());
        assert!(run("// CHECK-COUNT-3: LDG", "LDG\nx\nLDG\n").is_err());
    }

    #[test]
    fn a_file_without_checks_is_an_error() {
        assert!(parse("// nothing here", &["CHECK"]).is_err());
        assert!(parse("// CHECK: [[1X:a]]", &["CHECK"]).is_err());
        assert!(parse("// CHECK: a\n// CHECK-NXT: b", &["CHECK"]).is_err());
    }
}
