//! "Did you mean": the nearest known name by edit distance.
//!
//! The distance is that of Wagner and Fischer (1974), with a swap of neighbours counted as one
//! edit. A comparison costs the product of two lengths; a budget for the whole function keeps a
//! file full of mistakes linear.

/// The longest name that is compared, in bytes.
const LONGEST: usize = 64;

/// Finds near names as long as its budget lasts.
pub struct Suggestions {
    budget: u32,
}

impl Default for Suggestions {
    fn default() -> Self {
        Suggestions { budget: 20_000 }
    }
}

impl Suggestions {
    /// The candidates in a list, if the budget covers all of them; otherwise the budget is used up.
    pub fn afford<'a>(&mut self, candidates: impl Iterator<Item = &'a str>) -> Option<Vec<&'a str>> {
        let limit = self.budget as usize;
        let list: Vec<&str> = candidates.take(limit + 1).collect();
        if list.len() > limit {
            self.budget = 0;
            return None;
        }
        Some(list)
    }

    /// The candidate nearest to `name`, if it is near enough: a third of the letters may differ, at
    /// most three. Among equally near candidates the first wins.
    pub fn nearest<'a>(&mut self, name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
        let limit = (name.len().div_ceil(3)).min(3);
        let mut best: Option<(usize, &str)> = None;
        for candidate in candidates {
            self.budget = self.budget.checked_sub(1)?;
            if candidate.len().abs_diff(name.len()) > limit || candidate.len().max(name.len()) > LONGEST {
                continue;
            }
            let distance = distance(name.as_bytes(), candidate.as_bytes());
            if distance > 0 && distance <= limit && best.is_none_or(|(least, _)| distance < least) {
                best = Some((distance, candidate));
            }
        }
        best.map(|(_, candidate)| candidate)
    }
}

/// The number of letters to change, insert, delete or swap with a neighbour.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut rows = [[0usize; LONGEST + 1]; 3];
    for (column, cell) in rows[1].iter_mut().enumerate() {
        *cell = column;
    }
    for (i, &x) in a.iter().enumerate() {
        let [two_up, up, row] = &mut rows;
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let mut least = (up[j] + usize::from(x != y)).min(up[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && x == b[j - 1] && a[i - 1] == y {
                least = least.min(two_up[j - 1] + 1);
            }
            row[j + 1] = least;
        }
        rows.rotate_left(1);
    }
    rows[1][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, edits) in [
            ("", "", 0),
            ("add", "add", 0),
            ("ad", "add", 1),
            ("dad", "add", 1),
            ("shfl", "shf", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(a.as_bytes(), b.as_bytes()), edits, "{a} {b}");
            assert_eq!(distance(b.as_bytes(), a.as_bytes()), edits, "{b} {a}");
        }
    }

    #[test]
    fn only_near_names_and_only_within_the_budget() {
        let mut suggestions = Suggestions::default();
        assert_eq!(suggestions.nearest("fmaa", ["mul", "fma", "mad"].into_iter()), Some("fma"));
        assert_eq!(suggestions.nearest("frobnicate", ["mul", "fma", "mad"].into_iter()), None);
        let long = "x".repeat(100);
        assert_eq!(suggestions.nearest(&long, [long.as_str()].into_iter()), None);
        let mut spent = Suggestions { budget: 1 };
        assert_eq!(spent.nearest("ad", ["ab", "add"].into_iter()), None);
    }
}
